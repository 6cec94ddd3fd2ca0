//! Errors between this program and a GPU, in sentences.

use std::ffi::CStr;
use std::fmt;
use std::ptr;

use thiserror::Error;

use super::binding::{self, LIBRARY_VARIABLE};
use super::version::{Capability, Version};

/// The result of everything in [`super`].
pub type Result<T> = std::result::Result<T, CudaError>;

/// An error of the GPU or its driver.
///
/// ```
/// use flockwork::{Error, backend::{Backend, Cuda}, cuda::CudaError};
///
/// match Cuda::open(0) {
///     Ok(gpu) => println!("{}", gpu.description()),
///     Err(Error::Cuda(CudaError::NoLibrary { .. } | CudaError::NoDevice)) => println!("no GPU"),
///     Err(other) => println!("there may be one, but {other}"),
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CudaError {
    /// The driver's library was not found.
    #[error(
        "no NVIDIA driver: {} could not be loaded ({reason}); install the driver, or name its \
         library in {LIBRARY_VARIABLE}",
        .tried.join(", ")
    )]
    NoLibrary {
        /// The names that were tried.
        tried: Vec<String>,
        /// The loader's message.
        reason: String,
    },

    /// The driver lacks something this program needs.
    #[error(
        "the NVIDIA driver is too old: it supports CUDA {found}, but CUDA {needed} is needed{}",
        release(*.needed)
    )]
    DriverTooOld {
        /// The version the driver supports.
        found: Version,
        /// The version needed.
        needed: Version,
    },

    /// There is a driver, but no GPU visible to this program.
    #[error(
        "the NVIDIA driver found no GPU: `nvidia-smi -L` lists those of this machine, and \
         CUDA_VISIBLE_DEVICES may hide some"
    )]
    NoDevice,

    /// No GPU has the given number.
    #[error("there is no GPU {ordinal}: this machine has {count}, numbered from 0")]
    NoSuchDevice {
        /// The number given.
        ordinal: u32,
        /// How many there are.
        count: u32,
    },

    /// The GPU is older than every set of kernels in this program.
    #[error(
        "{device} has compute capability {capability}, and this program holds {}",
        oldest_target(*.oldest)
    )]
    NoImage {
        /// The GPU's name.
        device: String,
        /// Its compute capability.
        capability: Capability,
        /// The lowest target among the program's kernels, if it has any.
        oldest: Option<u32>,
    },

    /// The program has no kernel of that name.
    #[error("this program holds no kernel `{name}` for compute capability {target} and later")]
    NoKernel {
        /// The name.
        name: String,
        /// The target of the kernels searched.
        target: Capability,
    },

    /// The driver rejected a kernel's PTX.
    #[error("the driver rejected the kernel `{kernel}`: {source}{}", quoted(.log))]
    Compilation {
        /// The kernel's name.
        kernel: String,
        /// The message of the driver's compiler, if any.
        log: String,
        /// The driver's error.
        source: DriverError,
    },

    /// A kernel's entry takes other parameters than its `Arguments`.
    #[error(
        "kernel `{kernel}` takes a parameter of {taken} bytes and is passed one of {passed}: the \
         kernels in this program are not those its launches were compiled for"
    )]
    Arguments {
        /// The kernel's name.
        kernel: String,
        /// The size in bytes of the parameter it takes.
        taken: usize,
        /// The size in bytes of the parameter passed.
        passed: usize,
    },

    /// A launch was refused.
    #[error("kernel `{kernel}` was not launched: {source}")]
    Launch {
        /// The kernel's name.
        kernel: String,
        /// The reason.
        source: LaunchError,
    },

    /// Objects of different GPUs were used together.
    #[error("{what} belongs to a different GPU from the stream it was used on")]
    OtherGpu {
        /// What was used.
        what: &'static str,
    },

    /// There is not enough GPU memory.
    #[error(
        "out of GPU memory: asked for {}, but only {} of {} are free",
        Bytes(*.asked), Bytes(*.free), Bytes(*.total)
    )]
    OutOfMemory {
        /// Bytes requested.
        asked: u64,
        /// Bytes free.
        free: u64,
        /// Bytes in total.
        total: u64,
    },

    /// There is not enough host memory.
    #[error("out of memory: asked for {}", Bytes(*.asked))]
    OutOfHostMemory {
        /// Bytes requested.
        asked: u64,
    },

    /// A buffer whose size in bytes overflows.
    #[error("a buffer of {length} elements of {element} bytes is larger than any memory")]
    TooLarge {
        /// Number of elements requested.
        length: usize,
        /// Bytes per element.
        element: usize,
    },

    /// A copy past a buffer's end, or between buffers of different lengths.
    #[error("elements {start} to {end} were requested of a buffer of {length}")]
    OutOfBounds {
        /// The first element.
        start: usize,
        /// One past the last.
        end: usize,
        /// The buffer's length.
        length: usize,
    },

    /// Any other error of the driver.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

impl CudaError {
    /// The reason in brief, for a line that tells why the CPU is used; the error itself tells what
    /// to do about it.
    pub(crate) fn brief(&self) -> String {
        match self {
            Self::NoLibrary { .. } => "no NVIDIA driver".to_owned(),
            Self::NoDevice => "the NVIDIA driver found none".to_owned(),
            other => other.to_string(),
        }
    }
}

/// The reason why a launch was refused.
///
/// ```
/// use flockwork::cuda::LaunchError;
///
/// let error = LaunchError::Threads { threads: 100, most: 1024 };
/// assert!(error.to_string().contains("a multiple of 32 up to 1024"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// No blocks, or more than a grid can have.
    #[error("{blocks} blocks; a grid has 1 to {MOST_BLOCKS}")]
    Blocks {
        /// Number of blocks requested.
        blocks: u32,
    },

    /// The block does not consist of whole warps, or is larger than the kernel's registers allow.
    #[error("{threads} threads in a block; this kernel takes a multiple of 32 up to {most}")]
    Threads {
        /// Number of threads requested.
        threads: u32,
        /// The most threads this kernel can have.
        most: u32,
    },

    /// More shared memory than a block can have.
    #[error("{bytes} bytes of shared memory in a block; this GPU has {most} left for this kernel")]
    SharedMemory {
        /// Bytes requested.
        bytes: u32,
        /// Bytes available.
        most: u32,
    },

    /// The blocks of a cooperative launch do not fit on the chip together.
    #[error("{blocks} blocks must run at once; {most} of {threads} threads fit on this GPU")]
    Cooperative {
        /// Number of blocks requested.
        blocks: u32,
        /// Threads per block.
        threads: u32,
        /// The most blocks that fit.
        most: u32,
    },

    /// The kernel was specialised for other arguments.
    #[error("its specialization constants differ from those it was compiled for")]
    Constants,
}

/// The most blocks of a one-dimensional grid.
pub const MOST_BLOCKS: u32 = i32::MAX as u32;

/// A failed call of the driver.
///
/// Launches and asynchronous copies may fail later than they are called: an error inside a kernel
/// is returned by the next call that waits for it.
///
/// ```
/// use flockwork::{Error, cuda::{Code, CudaError}};
///
/// /// Whether a smaller swarm may help.
/// fn is_too_large(error: &Error) -> bool {
///     match error {
///         Error::Memory { .. } | Error::Cuda(CudaError::OutOfMemory { .. }) => true,
///         Error::Cuda(CudaError::Driver(driver)) => driver.code == Code::OUT_OF_MEMORY,
///         _ => false,
///     }
/// }
/// assert!(is_too_large(&Error::Memory { needed: 1 << 50, available: None }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DriverError {
    /// The driver's function, such as `cuStreamSynchronize`.
    pub call: &'static str,
    /// The code it returned.
    pub code: Code,
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, code } = self;
        write!(f, "{call}: {} ({})", code.name(), code.0)?;
        match code.hint() {
            "" => Ok(()),
            hint => write!(f, ": {hint}"),
        }
    }
}

impl std::error::Error for DriverError {}

/// A code returned by the driver; 0 is success.
///
/// ```
/// use flockwork::cuda::Code;
///
/// assert_eq!(Code(700), Code::ILLEGAL_ADDRESS);
/// assert_eq!(Code(700).name(), "CUDA_ERROR_ILLEGAL_ADDRESS");
/// assert!(Code::NO_DEVICE.hint().contains("CUDA_VISIBLE_DEVICES"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Code(pub u32);

/// Names the codes; the last column, if not empty, tells what a user can do.
///
/// After an error inside a kernel (700 and the like) every call returns the same code until the
/// process ends, even if the GPU is opened anew.
macro_rules! codes {
    ($($number:literal $name:ident $hint:literal)*) => {
        #[allow(missing_docs, reason = "NVIDIA's names")]
        impl Code {
            $(pub const $name: Self = Self($number);)*
        }

        impl Code {
            /// The driver's name, such as `CUDA_ERROR_ILLEGAL_ADDRESS`.
            pub fn name(self) -> &'static str {
                match self {
                    Self(0) => "CUDA_SUCCESS",
                    $(Self::$name => concat!("CUDA_ERROR_", stringify!($name)),)*
                    _ => self.name_from_driver().unwrap_or("an unknown error"),
                }
            }

            /// What it means and what can be done about it; empty if its name tells everything.
            pub fn hint(self) -> &'static str {
                match self {
                    $(Self::$name => $hint,)*
                    _ => "",
                }
            }
        }
    };
}

codes! {
    1 INVALID_VALUE "an argument is outside what the driver accepts"
    2 OUT_OF_MEMORY "the GPU's memory does not suffice; `nvidia-smi` shows who holds it"
    3 NOT_INITIALIZED "the NVIDIA driver is missing, or too old to have this function"
    4 DEINITIALIZED "the driver is shutting down"
    5 PROFILER_DISABLED ""
    34 STUB_LIBRARY "libcuda is a stub for linking: the library path must name the real driver's"
    46 DEVICE_UNAVAILABLE "another process holds the GPU exclusively, or it is in a prohibited mode"
    100 NO_DEVICE "no GPU is visible; CUDA_VISIBLE_DEVICES may hide it"
    101 INVALID_DEVICE "there is no GPU of this number"
    102 DEVICE_NOT_LICENSED "the GPU lacks its virtual-GPU licence"
    200 INVALID_IMAGE "the kernel's code is damaged"
    201 INVALID_CONTEXT "the GPU's context is gone, or another one is current"
    209 NO_BINARY_FOR_GPU "the kernel was compiled for a newer GPU"
    214 ECC_UNCORRECTABLE "the GPU's memory is failing: its results cannot be trusted"
    215 UNSUPPORTED_LIMIT ""
    216 CONTEXT_ALREADY_IN_USE "another process or thread holds this context"
    217 PEER_ACCESS_UNSUPPORTED "these GPUs cannot read each other's memory"
    218 INVALID_PTX "the driver's compiler rejects the kernel's PTX"
    220 NVLINK_UNCORRECTABLE "the link between the GPUs failed"
    221 JIT_COMPILER_NOT_FOUND "the driver is installed without libnvidia-ptxjitcompiler"
    222 UNSUPPORTED_PTX_VERSION "the driver is older than the kernel's PTX: update the driver"
    223 JIT_COMPILATION_DISABLED "unset CUDA_DISABLE_PTX_JIT: the kernels are compiled when loaded"
    224 UNSUPPORTED_EXEC_AFFINITY ""
    225 UNSUPPORTED_DEVSIDE_SYNC ""
    226 CONTAINED "an earlier error was contained to this process; start it again"
    300 INVALID_SOURCE ""
    301 FILE_NOT_FOUND ""
    302 SHARED_OBJECT_SYMBOL_NOT_FOUND ""
    303 SHARED_OBJECT_INIT_FAILED "a library of the driver could not be loaded"
    304 OPERATING_SYSTEM "a call of the operating system failed; the kernel log may say more"
    400 INVALID_HANDLE "a stream, event or kernel of another GPU, or one that is gone"
    401 ILLEGAL_STATE ""
    402 LOSSY_QUERY ""
    500 NOT_FOUND "the module has no entry of this name"
    600 NOT_READY "the work is still running"
    700 ILLEGAL_ADDRESS "a kernel accessed memory outside its buffers; start the program \
        again; `compute-sanitizer` names the kernel and the line"
    701 LAUNCH_OUT_OF_RESOURCES "the block asks for more threads, registers or shared memory than \
        a multiprocessor has; use smaller blocks"
    702 LAUNCH_TIMEOUT "the kernel ran longer than the display's watchdog allows"
    703 LAUNCH_INCOMPATIBLE_TEXTURING ""
    704 PEER_ACCESS_ALREADY_ENABLED ""
    705 PEER_ACCESS_NOT_ENABLED ""
    708 PRIMARY_CONTEXT_ACTIVE ""
    709 CONTEXT_IS_DESTROYED "the GPU's context is gone: something else in this process reset it"
    710 ASSERT "an assertion inside a kernel failed; start the program again"
    711 TOO_MANY_PEERS ""
    712 HOST_MEMORY_ALREADY_REGISTERED ""
    713 HOST_MEMORY_NOT_REGISTERED ""
    714 HARDWARE_STACK_ERROR "a kernel overran its stack; start the program again"
    715 ILLEGAL_INSTRUCTION "a kernel trapped (a panic in Rust does) or is damaged; start the \
        program again"
    716 MISALIGNED_ADDRESS "a kernel accessed memory off its alignment; start the program again"
    717 INVALID_ADDRESS_SPACE "a kernel used an address of another kind of memory; start the \
        program again"
    718 INVALID_PC "a kernel jumped outside its code; start the program again"
    719 LAUNCH_FAILED "a kernel failed (a trap, which a panic in Rust is, or a bad access of shared \
        memory); start the program again"
    720 COOPERATIVE_LAUNCH_TOO_LARGE "all blocks of this kernel must be on the chip at once: use \
        fewer or smaller ones"
    721 TENSOR_MEMORY_LEAK ""
    800 NOT_PERMITTED "the operation is not permitted here, as while a graph is captured"
    801 NOT_SUPPORTED "this GPU or driver does not support the operation"
    802 SYSTEM_NOT_READY "the machine's GPU services are not up; on NVSwitch machines the fabric \
        manager must run"
    803 SYSTEM_DRIVER_MISMATCH "the driver's library and its kernel module differ in version: \
        reboot, or reinstall the driver; in a container, mount the host's libcuda"
    804 COMPAT_NOT_SUPPORTED_ON_DEVICE "a forward-compatibility libcuda is on the library path and \
        this GPU does not support it: remove it from the path"
    805 MPS_CONNECTION_FAILED "the multi-process service does not answer"
    806 MPS_RPC_FAILURE "the multi-process service does not answer"
    807 MPS_SERVER_NOT_READY "the multi-process service is starting: try again"
    808 MPS_MAX_CLIENTS_REACHED "too many processes share this GPU"
    809 MPS_MAX_CONNECTIONS_REACHED "too many processes share this GPU"
    810 MPS_CLIENT_TERMINATED "the multi-process service ended this process's work"
    811 CDP_NOT_SUPPORTED ""
    812 CDP_VERSION_MISMATCH ""
    900 STREAM_CAPTURE_UNSUPPORTED ""
    901 STREAM_CAPTURE_INVALIDATED ""
    902 STREAM_CAPTURE_MERGE ""
    903 STREAM_CAPTURE_UNMATCHED ""
    904 STREAM_CAPTURE_UNJOINED ""
    905 STREAM_CAPTURE_ISOLATION ""
    906 STREAM_CAPTURE_IMPLICIT ""
    907 CAPTURED_EVENT ""
    908 STREAM_CAPTURE_WRONG_THREAD ""
    909 TIMEOUT ""
    910 GRAPH_EXEC_UPDATE_FAILURE ""
    911 EXTERNAL_DEVICE ""
    912 INVALID_CLUSTER_SIZE "the cluster has more blocks than this kernel and GPU allow"
    913 FUNCTION_NOT_LOADED ""
    914 INVALID_RESOURCE_TYPE ""
    915 INVALID_RESOURCE_CONFIGURATION ""
    999 UNKNOWN "the driver does not know either; the kernel log (`dmesg`, lines with Xid) may say \
        more, and a reboot often helps"
}

impl Code {
    /// Converts the code returned by `call` to a result.
    pub(super) fn check(self, call: &'static str) -> std::result::Result<(), DriverError> {
        match self {
            Self(0) => Ok(()),
            code => Err(DriverError { call, code }),
        }
    }

    /// For codes newer than this program; `None` without a driver.
    fn name_from_driver(self) -> Option<&'static str> {
        let mut name = ptr::null();
        // Without a driver the call returns NOT_INITIALIZED.
        // SAFETY: `name` is written before the call returns.
        let code = unsafe { (binding::functions().cuGetErrorName)(self.0, &mut name) };
        Self(code).check("cuGetErrorName").ok()?;
        if name.is_null() {
            return None;
        }
        // SAFETY: the driver's names are constants of its library, which is never unloaded.
        unsafe { CStr::from_ptr(name) }.to_str().ok()
    }
}

/// A number of bytes, shown as in `1.5 GiB`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.0 < 1024 {
            return write!(f, "{} bytes", self.0);
        }
        let power = self.0.ilog2() / 10;
        let value = self.0 as f64 / (1_u64 << (10 * power)) as f64;
        write!(f, "{value:.1} {}", UNITS[power as usize - 1])
    }
}

/// The version of CUDA that introduced a version of PTX.
pub(super) fn cuda_of_ptx(major: u32, minor: u32) -> Version {
    match (major, minor) {
        (..=6, _) => Version::new(10, 2),
        // PTX 7.0 came with CUDA 11.0, 8.0 with 12.0, and so on, in step until 8.5.
        (8, 6) => Version::new(12, 7),
        (8, 7) => Version::new(12, 8),
        (8, 8..) => Version::new(12, 9),
        _ => Version::new(major + 4, minor),
    }
}

/// The first Linux driver that supports a version of CUDA.
fn release(needed: Version) -> String {
    const RELEASES: [(Version, u32); 17] = [
        (Version::new(11, 0), 450),
        (Version::new(11, 1), 455),
        (Version::new(11, 2), 460),
        (Version::new(11, 3), 465),
        (Version::new(11, 4), 470),
        (Version::new(11, 5), 495),
        (Version::new(11, 6), 510),
        (Version::new(11, 8), 520),
        (Version::new(12, 0), 525),
        (Version::new(12, 2), 535),
        (Version::new(12, 3), 545),
        (Version::new(12, 4), 550),
        (Version::new(12, 5), 555),
        (Version::new(12, 6), 560),
        (Version::new(12, 8), 570),
        (Version::new(12, 9), 575),
        (Version::new(13, 0), 580),
    ];
    match RELEASES.iter().find(|(version, _)| *version >= needed) {
        Some((_, driver)) => format!(" (driver {driver} or later); update the driver"),
        None => "; update the driver".to_owned(),
    }
}

fn oldest_target(oldest: Option<u32>) -> String {
    match oldest {
        Some(target) => format!("kernels for {} and later", Capability::of_target(target)),
        None => "no kernels".to_owned(),
    }
}

fn quoted(log: &str) -> String {
    match log.trim() {
        "" => String::new(),
        log => format!("; its compiler wrote:\n{log}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_error_names_call_code_and_remedy() {
        let error = DriverError { call: "cuStreamSynchronize", code: Code::ILLEGAL_ADDRESS };
        let text = CudaError::from(error).to_string();
        assert!(
            text.starts_with("cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700): a kernel")
        );
    }

    #[test]
    fn an_unknown_code_is_still_printed() {
        let error = Code(4_000_000).check("cuInit").unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("cuInit: ") && text.contains("(4000000)"), "{text}");
    }

    #[test]
    fn an_old_driver_is_told_which_one_it_takes() {
        let text =
            CudaError::DriverTooOld { found: Version::new(11, 2), needed: Version::new(11, 7) }
                .to_string();
        assert!(text.contains("CUDA 11.2") && text.contains("CUDA 11.7"), "{text}");
        assert!(text.contains("driver 520"), "{text}");
    }

    #[test]
    fn ptx_versions_map_to_cuda_versions() {
        assert_eq!(cuda_of_ptx(6, 3), Version::new(10, 2));
        assert_eq!(cuda_of_ptx(7, 8), Version::new(11, 8));
        assert_eq!(cuda_of_ptx(8, 5), Version::new(12, 5));
        assert_eq!(cuda_of_ptx(8, 8), Version::new(12, 9));
        assert_eq!(cuda_of_ptx(9, 0), Version::new(13, 0));
    }

    #[test]
    fn bytes_are_readable() {
        assert_eq!(Bytes(1023).to_string(), "1023 bytes");
        assert_eq!(Bytes(1536).to_string(), "1.5 KiB");
        assert_eq!(Bytes(3 << 30).to_string(), "3.0 GiB");
        assert_eq!(Bytes(u64::MAX).to_string(), "16.0 EiB");
    }

    #[test]
    fn a_compiler_log_is_shown() {
        let error = CudaError::Compilation {
            kernel: "step".to_owned(),
            log: "line 3: no".to_owned(),
            source: DriverError { call: "cuModuleLoadDataEx", code: Code::INVALID_PTX },
        };
        assert!(error.to_string().ends_with("its compiler wrote:\nline 3: no"));
    }
}
