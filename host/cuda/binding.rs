//! The driver's library, bound at run time.
//!
//! Nothing links against libcuda: [`functions()`] is a table of pointers, which [`find_and_fill`]
//! takes from the driver's library. Before that, and where an older driver lacks a function, the
//! table has one that returns `CUDA_ERROR_NOT_INITIALIZED`. So the program starts without a driver,
//! and reports that when one is needed.

use std::env;
use std::error::Error;
use std::sync::OnceLock;

use libloading::Library;

use super::sys::{self, *};

#[cfg(not(any(unix, windows)))]
compile_error!(
    "the feature `cuda` loads the driver's library when the program runs, which this platform cannot do: \
     build with --no-default-features --features cli"
);

/// An environment variable that names the driver's library, instead of the usual names.
pub const LIBRARY_VARIABLE: &str = "FLOCKWORK_LIBCUDA";

/// The library's usual places: the loader's path, WSL, and a container's mount.
const LIBRARIES: [&str; 3] =
    ["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1"];

/// Declares the table of these functions.
macro_rules! table {
    ($($_since:ident { $(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)* })*) => {
        /// The driver's functions.
        #[allow(non_snake_case, reason = "NVIDIA's names")]
        pub(super) struct Functions {
            $($(pub(super) $name: unsafe extern "C" fn($($type),*) -> CUresult,)*)*
        }

        impl Functions {
            /// The functions of a driver that has none.
            const MISSING: Self = {
                $($(
                    #[allow(non_snake_case, reason = "NVIDIA's names")]
                    unsafe extern "C" fn $name($(_: $type),*) -> CUresult {
                        CUDA_ERROR_NOT_INITIALIZED
                    }
                )*)*
                Self { $($($name,)*)* }
            };

            /// The functions of a library.
            ///
            /// # Safety
            /// Those that it has are declared as in [`sys`]. It stays loaded as long as they are
            /// called.
            unsafe fn of(library: &Library) -> Self {
                Self { $($(
                    // SAFETY: the field's type is the function's; the rest is the caller's promise.
                    $name: unsafe { function(library, stringify!($name)) }
                        .unwrap_or(Self::MISSING.$name),
                )*)* }
            }
        }
    };
}
sys::functions!(table);

/// The function of that name in a library.
///
/// # Safety
/// `F` is the type of a pointer to it, and is not used once the library is unloaded.
unsafe fn function<F: Copy>(library: &Library, name: &str) -> Option<F> {
    // SAFETY: the caller's promise; `Option`, since the loader may hold a null under that name.
    let symbol = unsafe { library.get::<Option<F>>(name) }.ok()?;
    *symbol
}

/// What [`find_and_fill`] found.
static FOUND: OnceLock<Functions> = OnceLock::new();

/// The driver's functions; without a driver, functions that say so.
pub(super) fn functions() -> &'static Functions {
    static MISSING: Functions = Functions::MISSING;
    FOUND.get().unwrap_or(&MISSING)
}

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
            // SAFETY: a library with `cuInit` is NVIDIA's driver, or stands in for it; NVIDIA gives a
            // function that changes another name. It is never unloaded, see below.
            Ok(library) => match unsafe { functions_of(&library) } {
                Ok(functions) => {
                    // If another thread was faster, it found the same library.
                    FOUND.get_or_init(|| functions);
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

/// The functions of the driver's library; refuses any other.
///
/// # Safety
/// As [`Functions::of`], if the library has `cuInit`.
unsafe fn functions_of(library: &Library) -> Result<Functions, String> {
    // SAFETY: it is not called here, and any function's address may be seen as one of this type.
    if unsafe { function::<unsafe extern "C" fn()>(library, "cuInit") }.is_none() {
        return Err("the library is not NVIDIA's driver: it has no cuInit".to_owned());
    }
    // SAFETY: it has `cuInit`, so the caller promises the rest.
    Ok(unsafe { Functions::of(library) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The C library, loaded already.
    fn another_library() -> Option<Library> {
        // SAFETY: its initialisers have run.
        unsafe { Library::new("libc.so.6") }.ok()
    }

    #[test]
    fn a_library_that_is_no_driver_is_refused() {
        let Some(library) = another_library() else {
            return;
        };
        // SAFETY: it has no `cuInit`.
        assert!(unsafe { functions_of(&library) }.is_err_and(|said| said.contains("cuInit")));
    }

    #[test]
    fn a_function_that_a_driver_lacks_says_so() {
        let Some(library) = another_library() else {
            return;
        };
        // SAFETY: it has none of them.
        let functions = unsafe { Functions::of(&library) };
        // SAFETY: so this is the one that only answers.
        let answer = unsafe { (functions.cuCtxSynchronize)() };
        assert_eq!(answer, CUDA_ERROR_NOT_INITIALIZED);
    }
}
