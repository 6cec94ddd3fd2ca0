//! The driver, found when the program runs.
//!
//! Nothing links against libcuda. The `cu*` functions that `cust` calls are defined here, as
//! trampolines: each jumps to the address in its slot of a table. A slot starts at a function
//! that answers `CUDA_ERROR_NOT_INITIALIZED`; [`bind`] fills the slots, once, from the driver's
//! library. So the program starts where there is no driver, and says so when one is asked for.
//! A function that an older driver lacks keeps answering `CUDA_ERROR_NOT_INITIALIZED`.
//!
//! The driver's answers are read as numbers: the bindings type them as a Rust enum of the codes
//! of CUDA 11.4, and a code added since would be undefined behaviour. Hence `call!`, which
//! everything in this module's siblings goes through.

use std::env;
use std::error::Error;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use cust::sys::CUresult;
use libloading::Library;

use super::error::{Code, CudaError};

/// Names the driver's library, in place of the ones tried otherwise.
pub const LIBRARY_VARIABLE: &str = "FLOCKWORK_LIBCUDA";

/// Where the library lies: on the loader's path, in Windows' Linux, in a container's mount.
const LIBRARIES: [&str; 3] =
    ["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1"];

/// The oldest driver this program works with.
pub const OLDEST_DRIVER: Version = Version::new(11, 0);

/// A version of CUDA, as `13.0`: what a driver supports, or what something needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u32);

impl Version {
    /// Version `major.minor`.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self(1000 * major + 10 * minor)
    }

    /// The part before the point.
    pub const fn major(self) -> u32 {
        self.0 / 1000
    }

    /// The part after the point.
    pub const fn minor(self) -> u32 {
        self.0 % 1000 / 10
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major(), self.minor())
    }
}

/// Defines, from the functions' names, their slots and their trampolines.
macro_rules! entries {
    ($($name:ident)*) => {
        /// The slot of each function.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy)]
        enum Entry {
            $($name),*
        }

        /// The names under which the driver's library holds them.
        const NAMES: [&str; [$(Entry::$name),*].len()] = [$(stringify!($name)),*];

        $(trampoline!($name);)*
    };
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
macro_rules! trampoline {
    ($name:ident) => {
        core::arch::global_asm!(
            ".pushsection .text.flockwork_driver, \"ax\", @progbits",
            concat!(".globl ", stringify!($name)),
            // A library made of this one must not offer them to others.
            concat!(".hidden ", stringify!($name)),
            concat!(".type ", stringify!($name), ", @function"),
            concat!(stringify!($name), ":"),
            "jmp qword ptr [rip + {table} + {offset}]",
            concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
            ".popsection",
            table = sym TABLE,
            offset = const Entry::$name as usize * size_of::<AtomicPtr<c_void>>(),
        );
    };
}

#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
macro_rules! trampoline {
    ($name:ident) => {
        // x16 is the register that a call may lose on its way.
        core::arch::global_asm!(
            ".pushsection .text.flockwork_driver, \"ax\", %progbits",
            ".p2align 2",
            concat!(".globl ", stringify!($name)),
            // A library made of this one must not offer them to others.
            concat!(".hidden ", stringify!($name)),
            concat!(".type ", stringify!($name), ", %function"),
            concat!(stringify!($name), ":"),
            "adrp x16, {table} + {offset}",
            "ldr x16, [x16, :lo12:{table} + {offset}]",
            "br x16",
            concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
            ".popsection",
            table = sym TABLE,
            offset = const Entry::$name as usize * size_of::<AtomicPtr<c_void>>(),
        );
    };
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
macro_rules! trampoline {
    ($name:ident) => {};
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!(
    "the feature `cuda` is for Linux on x86-64 and AArch64: build with --no-default-features"
);

// What cust 0.3.2 calls, to the last function, whether this program gets there or not; a link
// error names what is missing after an update.
// Then what `super` alone calls.
entries! {
    cuArray3DCreate_v2 cuArray3DGetDescriptor_v2 cuArrayDestroy cuCtxCreate_v2 cuCtxDestroy_v2
    cuCtxGetApiVersion cuCtxGetCacheConfig cuCtxGetCurrent cuCtxGetDevice cuCtxGetFlags
    cuCtxGetLimit cuCtxGetSharedMemConfig cuCtxGetStreamPriorityRange cuCtxPopCurrent_v2
    cuCtxPushCurrent_v2 cuCtxSetCacheConfig cuCtxSetCurrent cuCtxSetLimit cuCtxSetSharedMemConfig
    cuCtxSynchronize cuDestroyExternalMemory cuDeviceGet cuDeviceGetAttribute cuDeviceGetCount
    cuDeviceGetName cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxReset_v2 cuDevicePrimaryCtxRetain
    cuDevicePrimaryCtxSetFlags_v2 cuDeviceTotalMem_v2 cuDriverGetVersion cuEventCreate
    cuEventDestroy_v2 cuEventElapsedTime cuEventQuery cuEventRecord cuEventSynchronize
    cuExternalMemoryGetMappedBuffer cuFuncGetAttribute cuFuncSetCacheConfig cuFuncSetSharedMemConfig
    cuGetErrorString cuGraphAddKernelNode cuGraphCreate cuGraphDebugDotPrint cuGraphDestroy
    cuGraphGetEdges cuGraphGetNodes cuGraphKernelNodeGetParams cuGraphNodeGetType
    cuImportExternalMemory cuInit cuLaunchHostFunc cuLaunchKernel cuLinkAddData_v2 cuLinkComplete
    cuLinkCreate_v2 cuLinkDestroy cuMemAdvise cuMemAllocAsync cuMemAllocHost_v2 cuMemAllocManaged
    cuMemAlloc_v2 cuMemFreeAsync cuMemFreeHost cuMemFree_v2 cuMemGetInfo_v2 cuMemPrefetchAsync
    cuMemcpy2D_v2 cuMemcpyAtoH_v2 cuMemcpyDtoDAsync_v2 cuMemcpyDtoD_v2 cuMemcpyDtoHAsync_v2
    cuMemcpyDtoH_v2 cuMemcpyHtoA_v2 cuMemcpyHtoDAsync_v2 cuMemcpyHtoD_v2 cuMemsetD16Async
    cuMemsetD16_v2 cuMemsetD32Async cuMemsetD32_v2 cuMemsetD8Async cuMemsetD8_v2
    cuModuleGetFunction cuModuleGetGlobal_v2 cuModuleLoad cuModuleLoadData cuModuleLoadDataEx
    cuModuleUnload cuOccupancyAvailableDynamicSMemPerBlock
    cuOccupancyMaxActiveBlocksPerMultiprocessor cuOccupancyMaxPotentialBlockSize
    cuStreamCreateWithPriority cuStreamDestroy_v2 cuStreamGetFlags cuStreamGetPriority
    cuStreamSynchronize cuStreamWaitEvent cuSurfObjectCreate cuSurfObjectDestroy
    cuSurfObjectGetResourceDesc cuTexObjectCreate cuTexObjectDestroy cuTexObjectGetResourceDesc
    cuTexObjectGetResourceViewDesc

    cuFuncGetParamInfo cuFuncSetAttribute cuGetErrorName cuLaunchCooperativeKernel cuMemHostAlloc
    cuMemcpyPeer cuStreamCreate cuStreamQuery
}

/// The address each trampoline jumps to.
static TABLE: [AtomicPtr<c_void>; NAMES.len()] =
    [const { AtomicPtr::new(not_bound as *mut c_void) }; NAMES.len()];

/// What a slot holds before [`bind`], or after it if the driver lacks the function.
extern "C" fn not_bound() -> c_int {
    Code::NOT_INITIALIZED.0 as c_int
}

/// The functions of the driver, as `call!` finds them: cust's bindings, and what they lack.
pub(super) mod functions {
    pub(in super::super) use cust::sys::*;

    // Shadows the binding of that name, whose `CUresult` cannot hold a code newer than CUDA 11.4.
    unsafe extern "C" {
        pub(in super::super) fn cuGetErrorName(
            code: u32,
            name: *mut *const core::ffi::c_char,
        ) -> CUresult;

        /// Since CUDA 12.4.
        pub(in super::super) fn cuFuncGetParamInfo(
            function: CUfunction,
            index: usize,
            offset: *mut usize,
            size: *mut usize,
        ) -> CUresult;
    }
}

/// A function of the driver, for `call!`.
pub(super) trait DriverFunction {
    /// The same function, its answer typed as the number it is.
    type Numeric;

    /// The same function, its answer typed as the number it is.
    fn numeric(self) -> Self::Numeric;
}

macro_rules! driver_functions {
    ($($argument:ident)*) => {
        driver_functions!(@one $($argument)*);
        driver_functions!(@shorter $($argument)*);
    };
    (@shorter) => {};
    (@shorter $first:ident $($argument:ident)*) => { driver_functions!($($argument)*); };
    (@one $($argument:ident)*) => {
        impl<$($argument),*> DriverFunction for unsafe extern "C" fn($($argument),*) -> CUresult {
            type Numeric = unsafe extern "C" fn($($argument),*) -> u32;

            fn numeric(self) -> Self::Numeric {
                // SAFETY: `CUresult` is `repr(i32)`, returned in the register that a `u32` is;
                // unlike the enum, a `u32` has every value the driver may answer.
                unsafe { core::mem::transmute::<Self, Self::Numeric>(self) }
            }
        }
    };
}
driver_functions!(A B C D E F G H I J K);

/// `call!(cuFunction(arguments))`: the call as a `Result<(), DriverError>`. The call is unsafe.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        let function: unsafe extern "C" fn($(call!(@any $argument)),*) -> cust::sys::CUresult =
            $crate::cuda::driver::functions::$function;
        let function = $crate::cuda::driver::DriverFunction::numeric(function);
        $crate::cuda::error::Code(function($($argument),*)).check(stringify!($function))
    }};
    (@any $argument:expr) => { _ };
}
pub(super) use call;

/// Finds the driver's library and fills the table; the first call's outcome stands.
///
/// # Errors
/// [`CudaError::NoLibrary`] if there is none.
pub fn bind() -> Result<(), CudaError> {
    static BOUND: OnceLock<Result<(), CudaError>> = OnceLock::new();
    BOUND.get_or_init(find_and_fill).clone()
}

fn find_and_fill() -> Result<(), CudaError> {
    let tried = match env::var(LIBRARY_VARIABLE) {
        Ok(name) => vec![name],
        Err(_) => LIBRARIES.map(String::from).to_vec(),
    };
    let mut reason = None;
    for name in &tried {
        // SAFETY: loading NVIDIA's driver (or what the user named in its place) runs its
        // initialisers, as linking against it would have.
        match unsafe { Library::new(name) } {
            Ok(library) => match fill(&library) {
                Ok(()) => {
                    // The table points into it from now on.
                    core::mem::forget(library);
                    return Ok(());
                }
                Err(missing) => reason = Some(missing),
            },
            // The first name's reason: the others are long shots.
            Err(error) => reason = reason.or_else(|| Some(loader_said(&error))),
        }
    }
    Err(CudaError::NoLibrary { tried, reason: reason.unwrap_or_default() })
}

/// The loader's own words.
fn loader_said(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// Points every slot at the library's function of that name.
fn fill(library: &Library) -> Result<(), String> {
    let find = |name: &str| {
        // SAFETY: the address is only taken here; the trampolines' callers state its signature.
        unsafe { library.get::<*mut c_void>(name) }.ok().map(|symbol| *symbol)
    };
    if find(NAMES[Entry::cuInit as usize]).is_none() {
        return Err("the library is not NVIDIA's driver: it has no cuInit".to_owned());
    }
    for (slot, name) in TABLE.iter().zip(NAMES) {
        if let Some(address) = find(name) {
            slot.store(address, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Binds and initialises the driver; the first call's outcome stands.
///
/// # Errors
/// [`CudaError::NoLibrary`], [`CudaError::DriverTooOld`], [`CudaError::NoDevice`], or what the
/// driver said.
pub fn start() -> Result<Version, CudaError> {
    static STARTED: OnceLock<Result<Version, CudaError>> = OnceLock::new();
    STARTED
        .get_or_init(|| {
            let found = version()?;
            if found < OLDEST_DRIVER {
                return Err(CudaError::DriverTooOld { found, needed: OLDEST_DRIVER });
            }
            // SAFETY: takes no pointers; the flags must be 0.
            unsafe { call!(cuInit(0)) }.map_err(|error| match error.code {
                Code::NO_DEVICE => CudaError::NoDevice,
                _ => error.into(),
            })?;
            Ok(found)
        })
        .clone()
}

/// The version of CUDA that the driver supports; needs a driver, but no device.
///
/// # Errors
/// [`CudaError::NoLibrary`], or what the driver said.
pub fn version() -> Result<Version, CudaError> {
    bind()?;
    let mut version = 0;
    // SAFETY: `version` is written before the call returns.
    unsafe { call!(cuDriverGetVersion(&mut version)) }?;
    Ok(Version(version.max(0) as u32))
}

#[cfg(test)]
mod tests {
    use core::ptr::null_mut;

    use super::*;

    #[test]
    fn versions_read_as_they_are_written() {
        assert_eq!(Version(13000).to_string(), "13.0");
        assert_eq!(Version(12080), Version::new(12, 8));
        assert!(Version::new(11, 8) < Version::new(12, 0));
    }

    #[test]
    fn trampolines_answer_without_a_driver() {
        if bind().is_ok() {
            eprintln!("skipped: there is a driver");
            return;
        }
        // SAFETY: no driver is bound, so the call ends in `not_bound`.
        let error = unsafe { call!(cuInit(0)) }.unwrap_err();
        assert_eq!((error.call, error.code), ("cuInit", Code::NOT_INITIALIZED));
        let (f, stream, none) = (null_mut(), null_mut(), null_mut());
        // SAFETY: as above; the last five arguments travel on the stack.
        let error = unsafe { call!(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, none, none)) };
        assert_eq!(error.unwrap_err().code, Code::NOT_INITIALIZED);
    }

    #[test]
    fn a_library_that_is_no_driver_is_refused() {
        // SAFETY: the C library, loaded already.
        let Ok(library) = (unsafe { Library::new("libc.so.6") }) else {
            return;
        };
        assert!(fill(&library).unwrap_err().contains("cuInit"));
    }
}
