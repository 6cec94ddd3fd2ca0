//! The part of NVIDIA's `cuda.h` that this program uses, under its names.
//!
//! Only declarations: [`binding`](super::binding) finds the functions, and the rest of
//! [`super`] calls them. What C declares as an enum is a number here, since a driver may return one
//! that no header had when this was written. Tests compare the declarations with those of `cust`.

#![allow(non_camel_case_types, non_snake_case, reason = "NVIDIA's names")]

// With the names of C's types, whoever has all of this module can use `functions`.
pub use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};

/// What every function returns: a [`Code`](super::error::Code).
pub type CUresult = u32;

/// The driver is not initialised; also what a function returns that is not there.
pub const CUDA_ERROR_NOT_INITIALIZED: CUresult = 3;

/// A flag of `cuMemHostRegister`: pinned for every GPU of the process.
pub const CU_MEMHOSTREGISTER_PORTABLE: c_uint = 1;

/// A flag of `cuEventCreate`: it records no times.
pub const CU_EVENT_DISABLE_TIMING: c_uint = 2;

/// Memory of a GPU, in [`CUDA_MEMCPY3D_PEER`].
pub const CU_MEMORYTYPE_DEVICE: c_uint = 2;

/// The handle of the default stream.
pub const CU_STREAM_LEGACY: usize = 1;

/// A GPU.
pub type CUdevice = c_int;

/// An address in a GPU's memory.
pub type CUdeviceptr = c_ulonglong;

/// Declares objects of which C knows nothing but the address.
macro_rules! objects {
    ($($(#[$doc:meta])* $handle:ident $object:ident)*) => { $(
        #[doc = concat!("What a [`", stringify!($handle), "`] points to.")]
        #[repr(C)]
        pub struct $object {
            _unknown: [u8; 0],
        }

        $(#[$doc])*
        pub type $handle = *mut $object;
    )* };
}

objects! {
    /// What belongs to a process on a GPU.
    CUcontext CUctx_st
    /// Code on a GPU.
    CUmodule CUmod_st
    /// A kernel in it.
    CUfunction CUfunc_st
    /// A queue of work.
    CUstream CUstream_st
    /// A point in a stream's work.
    CUevent CUevent_st
    /// The definition of a graph.
    CUgraph CUgraph_st
    /// A launch in a graph.
    CUgraphNode CUgraphNode_st
    /// A graph that can be launched.
    CUgraphExec CUgraphExec_st
}

/// A launch as a node of a graph. CUDA 12 has a second version of it, for second versions of the
/// functions that take it.
#[repr(C)]
pub struct CUDA_KERNEL_NODE_PARAMS {
    /// The kernel.
    pub func: CUfunction,
    /// Blocks.
    pub gridDimX: c_uint,
    /// Blocks along the second dimension.
    pub gridDimY: c_uint,
    /// Blocks along the third dimension.
    pub gridDimZ: c_uint,
    /// Threads of a block.
    pub blockDimX: c_uint,
    /// Threads of a block along the second dimension.
    pub blockDimY: c_uint,
    /// Threads of a block along the third dimension.
    pub blockDimZ: c_uint,
    /// Bytes of shared memory of a block, beside those that the kernel declares.
    pub sharedMemBytes: c_uint,
    /// The addresses of the arguments.
    pub kernelParams: *mut *mut c_void,
    /// Another way to pass them.
    pub extra: *mut *mut c_void,
}

/// A copy between the memories of two GPUs, of bytes in rows in layers.
#[repr(C)]
pub struct CUDA_MEMCPY3D_PEER {
    /// Where in a row it begins.
    pub srcXInBytes: usize,
    /// The first row.
    pub srcY: usize,
    /// The first layer.
    pub srcZ: usize,
    /// Zero.
    pub srcLOD: usize,
    /// Which of the next three is meant.
    pub srcMemoryType: c_uint,
    /// An address in the host's memory.
    pub srcHost: *const c_void,
    /// An address in the GPU's memory.
    pub srcDevice: CUdeviceptr,
    /// An array of textures.
    pub srcArray: *mut c_void,
    /// The context that the memory belongs to.
    pub srcContext: CUcontext,
    /// Bytes from one row to the next.
    pub srcPitch: usize,
    /// Rows from one layer to the next.
    pub srcHeight: usize,
    /// The same of where it goes to.
    pub dstXInBytes: usize,
    /// The first row.
    pub dstY: usize,
    /// The first layer.
    pub dstZ: usize,
    /// Zero.
    pub dstLOD: usize,
    /// Which of the next three is meant.
    pub dstMemoryType: c_uint,
    /// An address in the host's memory.
    pub dstHost: *mut c_void,
    /// An address in the GPU's memory.
    pub dstDevice: CUdeviceptr,
    /// An array of textures.
    pub dstArray: *mut c_void,
    /// The context that the memory belongs to.
    pub dstContext: CUcontext,
    /// Bytes from one row to the next.
    pub dstPitch: usize,
    /// Rows from one layer to the next.
    pub dstHeight: usize,
    /// Bytes of a row that are copied.
    pub WidthInBytes: usize,
    /// Rows that are copied.
    pub Height: usize,
    /// Layers that are copied.
    pub Depth: usize,
}

/// Calls the macro `$with` with the enums, each with those of its values that are used.
macro_rules! enums {
    ($with:ident) => {
        $with! {
            /// A property of a GPU.
            CUdevice_attribute {
                CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
                CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
                CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
                CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
                CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
                CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
                CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
                CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
                CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
            }

            /// A property of a pair of GPUs.
            CUdevice_P2PAttribute {
                CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED = 2,
                CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED = 3,
            }

            /// A property of a kernel.
            CUfunction_attribute {
                CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
                CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
                CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
                CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
            }

            /// An option of the driver's compiler.
            CUjit_option {
                CU_JIT_ERROR_LOG_BUFFER = 5,
                CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
            }
        }
    };
}

/// Declares enums as numbers, each a type of its own.
macro_rules! declare {
    ($($(#[$doc:meta])* $name:ident { $($value:ident = $number:literal,)* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub struct $name(pub c_int);

        impl $name {
            $(
                #[doc = concat!("`", stringify!($value), "`.")]
                pub const $value: Self = Self($number);
            )*
        }
    )* };
}
enums!(declare);

/// Calls the macro `$with` with the functions, by the version of CUDA whose header is sure to have
/// them. Each returns a [`CUresult`].
macro_rules! functions {
    ($with:ident) => {
        $with! {
            cuda_11_4 {
                fn cuInit(flags: c_uint);
                fn cuDriverGetVersion(version: *mut c_int);
                fn cuGetErrorName(code: CUresult, name: *mut *const c_char);

                fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
                fn cuDeviceGetAttribute(
                    value: *mut c_int,
                    attribute: CUdevice_attribute,
                    device: CUdevice,
                );
                fn cuDeviceGetCount(count: *mut c_int);
                fn cuDeviceGetName(name: *mut c_char, length: c_int, device: CUdevice);
                fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
                fn cuDeviceGetP2PAttribute(
                    value: *mut c_int,
                    attribute: CUdevice_P2PAttribute,
                    from: CUdevice,
                    to: CUdevice,
                );

                fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
                fn cuDevicePrimaryCtxRelease_v2(device: CUdevice);
                fn cuCtxGetCurrent(context: *mut CUcontext);
                fn cuCtxSetCurrent(context: CUcontext);
                fn cuCtxSynchronize();
                fn cuCtxEnablePeerAccess(other: CUcontext, flags: c_uint);

                fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
                fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
                fn cuMemFree_v2(address: CUdeviceptr);
                fn cuMemHostRegister_v2(memory: *mut c_void, bytes: usize, flags: c_uint);
                fn cuMemHostUnregister(memory: *mut c_void);
                fn cuMemsetD8_v2(to: CUdeviceptr, byte: c_uchar, count: usize);
                fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize);
                fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize);
                fn cuMemcpyHtoDAsync_v2(
                    to: CUdeviceptr,
                    from: *const c_void,
                    bytes: usize,
                    stream: CUstream,
                );
                fn cuMemcpyDtoHAsync_v2(
                    to: *mut c_void,
                    from: CUdeviceptr,
                    bytes: usize,
                    stream: CUstream,
                );
                fn cuMemcpyDtoDAsync_v2(
                    to: CUdeviceptr,
                    from: CUdeviceptr,
                    bytes: usize,
                    stream: CUstream,
                );
                fn cuMemcpy3DPeerAsync(copy: *const CUDA_MEMCPY3D_PEER, stream: CUstream);

                fn cuStreamCreate(stream: *mut CUstream, flags: c_uint);
                fn cuStreamCreateWithPriority(
                    stream: *mut CUstream,
                    flags: c_uint,
                    priority: c_int,
                );
                fn cuStreamDestroy_v2(stream: CUstream);
                fn cuStreamSynchronize(stream: CUstream);
                fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);

                fn cuEventCreate(event: *mut CUevent, flags: c_uint);
                fn cuEventDestroy_v2(event: CUevent);
                fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);
                fn cuEventRecord(event: CUevent, stream: CUstream);
                fn cuEventSynchronize(event: CUevent);

                fn cuModuleLoadDataEx(
                    module: *mut CUmodule,
                    image: *const c_void,
                    count: c_uint,
                    options: *mut CUjit_option,
                    values: *mut *mut c_void,
                );
                fn cuModuleUnload(module: CUmodule);
                fn cuModuleGetFunction(
                    function: *mut CUfunction,
                    module: CUmodule,
                    name: *const c_char,
                );
                fn cuFuncGetAttribute(
                    value: *mut c_int,
                    attribute: CUfunction_attribute,
                    function: CUfunction,
                );
                fn cuFuncSetAttribute(
                    function: CUfunction,
                    attribute: CUfunction_attribute,
                    value: c_int,
                );
                fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
                    blocks: *mut c_int,
                    function: CUfunction,
                    threads: c_int,
                    shared: usize,
                );

                fn cuLaunchKernel(
                    function: CUfunction,
                    blocks_x: c_uint,
                    blocks_y: c_uint,
                    blocks_z: c_uint,
                    threads_x: c_uint,
                    threads_y: c_uint,
                    threads_z: c_uint,
                    shared: c_uint,
                    stream: CUstream,
                    parameters: *mut *mut c_void,
                    extra: *mut *mut c_void,
                );
                fn cuLaunchCooperativeKernel(
                    function: CUfunction,
                    blocks_x: c_uint,
                    blocks_y: c_uint,
                    blocks_z: c_uint,
                    threads_x: c_uint,
                    threads_y: c_uint,
                    threads_z: c_uint,
                    shared: c_uint,
                    stream: CUstream,
                    parameters: *mut *mut c_void,
                );

                fn cuGraphCreate(graph: *mut CUgraph, flags: c_uint);
                fn cuGraphDestroy(graph: CUgraph);
                fn cuGraphAddKernelNode(
                    node: *mut CUgraphNode,
                    graph: CUgraph,
                    before: *const CUgraphNode,
                    count: usize,
                    launch: *const CUDA_KERNEL_NODE_PARAMS,
                );
                fn cuGraphInstantiateWithFlags(
                    executable: *mut CUgraphExec,
                    graph: CUgraph,
                    flags: c_ulonglong,
                );
                fn cuGraphExecKernelNodeSetParams(
                    executable: CUgraphExec,
                    node: CUgraphNode,
                    launch: *const CUDA_KERNEL_NODE_PARAMS,
                );
                fn cuGraphLaunch(executable: CUgraphExec, stream: CUstream);
                fn cuGraphExecDestroy(executable: CUgraphExec);
            }

            cuda_12_4 {
                fn cuFuncGetParamInfo(
                    function: CUfunction,
                    index: usize,
                    offset: *mut usize,
                    size: *mut usize,
                );
            }
        }
    };
}
pub(super) use functions;

/// Compares with `cust`, whose `sys` was generated from the header of CUDA 11.4. What that header
/// lacks is not compared: `cuFuncGetParamInfo`.
///
/// Almost all of it is compared by the compiler. Nothing refers to one of cust's functions at run
/// time, so nothing has to be linked.
#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::mem::offset_of;

    use cust::sys as theirs;

    use super::*;
    use crate::cuda::Code;

    /// A type that stands for `Theirs` in a declaration: the same number, a pointer of the same kind
    /// to such a type, or what has the same name in C.
    trait Alike<Theirs> {}

    impl<Ours: Alike<Theirs>, Theirs> Alike<*const Theirs> for *const Ours {}
    impl<Ours: Alike<Theirs>, Theirs> Alike<*mut Theirs> for *mut Ours {}

    macro_rules! the_same {
        ($($type:ty)*) => { $(impl Alike<$type> for $type {})* };
    }
    the_same! { i8 u8 i32 u32 u64 usize f32 c_void }

    /// Types, by their names, which are as large.
    macro_rules! by_name {
        ($($name:ident)*) => { $(
            impl Alike<theirs::$name> for $name {}

            const _: () = assert!(
                size_of::<$name>() == size_of::<theirs::$name>()
                    && align_of::<$name>() == align_of::<theirs::$name>(),
                stringify!($name),
            );
        )* };
    }
    by_name! {
        CUresult CUdevice_attribute CUdevice_P2PAttribute CUfunction_attribute CUjit_option CUDA_KERNEL_NODE_PARAMS
        CUDA_MEMCPY3D_PEER
        CUctx_st CUmod_st CUfunc_st CUstream_st CUevent_st CUgraph_st CUgraphNode_st CUgraphExec_st
    }

    /// Functions are alike if what they take and return is.
    macro_rules! functions_are_alike {
        ($($ours:ident $theirs:ident)*) => {
            impl<$($ours: Alike<$theirs>, $theirs),*>
                Alike<unsafe extern "C" fn($($theirs),*) -> theirs::CUresult>
                for unsafe extern "C" fn($($ours),*) -> CUresult
            {
            }
            functions_are_alike!(@shorter $($ours $theirs)*);
        };
        (@shorter) => {};
        (@shorter $ours:ident $theirs:ident $($rest:ident)*) => { functions_are_alike!($($rest)*); };
    }
    functions_are_alike!(A0 B0 A1 B1 A2 B2 A3 B3 A4 B4 A5 B5 A6 B6 A7 B7 A8 B8 A9 B9 A10 B10);

    /// Compiles if they are alike.
    const fn alike<Ours: Alike<Theirs>, Theirs: Copy>(_: Theirs) {}

    macro_rules! compare_functions {
        (
            cuda_11_4 { $(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)* }
            cuda_12_4 { $($_unknown_to_cust:tt)* }
        ) => { $(
            const _: () = alike::<unsafe extern "C" fn($($type),*) -> CUresult, _>(
                theirs::$name as unsafe extern "C" fn($(compare_functions!(@any $argument)),*) -> _,
            );
        )* };
        (@any $argument:ident) => { _ };
    }
    functions!(compare_functions);

    macro_rules! compare_enums {
        ($($(#[$doc:meta])* $name:ident { $($value:ident = $number:literal,)* })*) => { $($(
            const _: () =
                assert!($name::$value.0 == theirs::$name::$value as c_int, stringify!($value));
        )*)* };
    }
    enums!(compare_enums);

    const _: () = assert!(CU_MEMHOSTREGISTER_PORTABLE == theirs::CU_MEMHOSTREGISTER_PORTABLE);

    const _: () =
        assert!(CU_MEMORYTYPE_DEVICE == theirs::CUmemorytype_enum::CU_MEMORYTYPE_DEVICE as c_uint);

    macro_rules! compare_fields {
        ($name:ident { $($field:ident)* }) => {
            const _: () = {
                // Names every field.
                let _ = |$name { $($field: _),* }: $name| ();
                $(assert!(
                    offset_of!($name, $field) == offset_of!(theirs::$name, $field),
                    stringify!($field),
                );)*
            };
        };
    }
    compare_fields! {
        CUDA_KERNEL_NODE_PARAMS {
            func gridDimX gridDimY gridDimZ blockDimX blockDimY blockDimZ sharedMemBytes kernelParams
            extra
        }
    }
    compare_fields! {
        CUDA_MEMCPY3D_PEER {
            srcXInBytes srcY srcZ srcLOD srcMemoryType srcHost srcDevice srcArray srcContext srcPitch
            srcHeight dstXInBytes dstY dstZ dstLOD dstMemoryType dstHost dstDevice dstArray dstContext
            dstPitch dstHeight WidthInBytes Height Depth
        }
    }

    #[test]
    fn codes_are_those_of_the_header() {
        use theirs::CUresult::*;

        assert_eq!(CUDA_ERROR_NOT_INITIALIZED as u32, super::CUDA_ERROR_NOT_INITIALIZED);
        // Those that this program tells apart, and others of each hundred.
        let codes = [
            (CUDA_SUCCESS, Code(0)),
            (CUDA_ERROR_OUT_OF_MEMORY, Code::OUT_OF_MEMORY),
            (CUDA_ERROR_NOT_INITIALIZED, Code::NOT_INITIALIZED),
            (CUDA_ERROR_NO_DEVICE, Code::NO_DEVICE),
            (CUDA_ERROR_INVALID_PTX, Code::INVALID_PTX),
            (CUDA_ERROR_UNSUPPORTED_PTX_VERSION, Code::UNSUPPORTED_PTX_VERSION),
            (CUDA_ERROR_OPERATING_SYSTEM, Code::OPERATING_SYSTEM),
            (CUDA_ERROR_INVALID_HANDLE, Code::INVALID_HANDLE),
            (CUDA_ERROR_NOT_FOUND, Code::NOT_FOUND),
            (CUDA_ERROR_NOT_READY, Code::NOT_READY),
            (CUDA_ERROR_ILLEGAL_ADDRESS, Code::ILLEGAL_ADDRESS),
            (CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, Code::COOPERATIVE_LAUNCH_TOO_LARGE),
            (CUDA_ERROR_NOT_SUPPORTED, Code::NOT_SUPPORTED),
            (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, Code::STREAM_CAPTURE_UNSUPPORTED),
            (CUDA_ERROR_UNKNOWN, Code::UNKNOWN),
        ];
        for (theirs, ours) in codes {
            assert_eq!(theirs as u32, ours.0);
            assert_eq!(format!("{theirs:?}"), ours.name());
        }
    }
}
