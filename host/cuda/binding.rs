//! The driver's library, bound at run time.
//!
//! Nothing links against libcuda. The `cu*` functions that `cust` calls are defined here as
//! trampolines: each jumps to the address in its slot of a table. Initially, all slots point to a
//! function that returns `CUDA_ERROR_NOT_INITIALIZED`; [`find_and_fill`] fills them from the
//! driver's library. So the program starts without a driver, and reports that when one is needed. A
//! function that an older driver lacks keeps returning `CUDA_ERROR_NOT_INITIALIZED`.

use std::env;
use std::error::Error;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use cust::sys::CUresult;
use libloading::Library;

/// An environment variable that names the driver's library, instead of the usual names.
pub const LIBRARY_VARIABLE: &str = "FLOCKWORK_LIBCUDA";

/// The library's usual places: the loader's path, WSL, and a container's mount.
const LIBRARIES: [&str; 3] =
    ["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1"];

/// Defines the slots and trampolines of the named functions.
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
            // Libraries made of this one must not export them.
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
        // x16 is a scratch register between caller and callee.
        core::arch::global_asm!(
            ".pushsection .text.flockwork_driver, \"ax\", %progbits",
            ".p2align 2",
            concat!(".globl ", stringify!($name)),
            // Libraries made of this one must not export them.
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
    "the feature `cuda` is for Linux on x86-64 and AArch64: build with --no-default-features --features cli"
);

// All functions that cust 0.3.2 refers to, whether this program calls them or not; after an update,
// a link error names what is missing. Then the functions that only `super` calls.
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

    cuFuncGetParamInfo cuFuncSetAttribute cuGetErrorName cuGraphExecDestroy
    cuGraphExecKernelNodeSetParams cuGraphInstantiateWithFlags cuGraphLaunch
    cuLaunchCooperativeKernel cuMemHostAlloc cuMemHostRegister_v2 cuMemHostUnregister cuMemcpyPeer
    cuStreamCreate cuStreamQuery
}

/// The address that each trampoline jumps to.
static TABLE: [AtomicPtr<c_void>; NAMES.len()] =
    [const { AtomicPtr::new(not_bound as *mut c_void) }; NAMES.len()];

/// CUDA_ERROR_NOT_INITIALIZED.
const NOT_INITIALIZED: c_int = 3;

/// The content of a slot before [`find_and_fill`], or after it if the driver lacks the function.
extern "C" fn not_bound() -> c_int {
    NOT_INITIALIZED
}

/// The driver's functions for `call!`: cust's bindings, and those they lack.
pub(super) mod functions {
    pub(in super::super) use cust::sys::*;

    // Shadows the binding of that name, whose `CUresult` cannot represent codes newer than CUDA
    // 11.4.
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
    /// The type of the same function, returning a number.
    type Numeric;

    /// The same function, returning a number.
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
                // SAFETY: `CUresult` is `repr(i32)`, returned in the same register as a `u32`;
                // unlike the enum, a `u32` can represent every value that the driver may return.
                unsafe { core::mem::transmute::<Self, Self::Numeric>(self) }
            }
        }
    };
}
driver_functions!(A B C D E F G H I J K);

/// The library was not found.
pub(super) struct NotFound {
    /// The names that were tried.
    pub(super) tried: Vec<String>,
    /// The loader's message.
    pub(super) reason: String,
}

/// Finds the driver's library and fills the table.
pub(super) fn find_and_fill() -> Result<(), NotFound> {
    let tried = match env::var(LIBRARY_VARIABLE) {
        Ok(name) => vec![name],
        Err(_) => LIBRARIES.map(String::from).to_vec(),
    };
    let mut reason = None;
    for name in &tried {
        // SAFETY: loading NVIDIA's driver (or the library named by the user) runs its initialisers,
        // as linking against it would have.
        match unsafe { Library::new(name) } {
            Ok(library) => match fill(&library) {
                Ok(()) => {
                    // The table points into the library from now on.
                    core::mem::forget(library);
                    return Ok(());
                }
                Err(missing) => reason = Some(missing),
            },
            // Keep the first name's reason: the others are unlikely to exist.
            Err(error) => reason = reason.or_else(|| Some(loader_said(&error))),
        }
    }
    Err(NotFound { tried, reason: reason.unwrap_or_default() })
}

/// The loader's own message.
fn loader_said(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// Points every slot at the library's function of that name.
fn fill(library: &Library) -> Result<(), String> {
    let find = |name: &str| {
        // SAFETY: the address is only taken here; the trampolines' callers state the signature.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_no_driver_is_refused() {
        // SAFETY: the C library, loaded already.
        let Ok(library) = (unsafe { Library::new("libc.so.6") }) else {
            return;
        };
        assert!(fill(&library).unwrap_err().contains("cuInit"));
    }
}
