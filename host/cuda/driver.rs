//! The driver: finding, initialising and calling it.
//!
//! All calls go through `call!`, which names the function in the error.

use std::sync::OnceLock;

use super::binding::{self, NotFound};
use super::error::{Code, CudaError};
use super::version::Version;

/// The oldest supported driver.
pub const OLDEST_DRIVER: Version = Version::new(11, 0);

/// `call!(cuFunction(arguments))`: the call as a `Result<(), DriverError>`. The call is unsafe.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        $crate::cuda::error::Code(($crate::cuda::binding::functions().$function)($($argument),*))
            .check(stringify!($function))
    };
}
pub(super) use call;

/// Finds the driver's library and fills the table; the first outcome is kept.
///
/// # Errors
/// [`CudaError::NoLibrary`] if there is none.
pub fn bind() -> Result<(), CudaError> {
    static BOUND: OnceLock<Result<(), CudaError>> = OnceLock::new();
    BOUND
        .get_or_init(|| {
            binding::find_and_fill()
                .map_err(|NotFound { tried, reason }| CudaError::NoLibrary { tried, reason })
        })
        .clone()
}

/// Binds and initialises the driver; the first outcome is kept.
///
/// # Errors
/// [`CudaError::NoLibrary`], [`CudaError::DriverTooOld`], [`CudaError::NoDevice`], or the driver's
/// error.
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

/// The version of CUDA that the driver supports; needs a driver, but no GPU.
///
/// # Errors
/// [`CudaError::NoLibrary`], or the driver's error.
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
    fn functions_answer_without_a_driver() {
        if bind().is_ok() {
            eprintln!("skipped: there is a driver");
            return;
        }
        // SAFETY: no driver is bound, so the function only answers.
        let error = unsafe { call!(cuInit(0)) }.unwrap_err();
        assert_eq!((error.call, error.code), ("cuInit", Code::NOT_INITIALIZED));
        let (f, stream, none) = (null_mut(), null_mut(), null_mut());
        // SAFETY: as above.
        let error = unsafe { call!(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, none, none)) };
        assert_eq!(error.unwrap_err().code, Code::NOT_INITIALIZED);
    }
}
