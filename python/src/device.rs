//! Where calls calculate.

use std::sync::{Mutex, PoisonError};

use flockwork::backend::{AnyBackend, Devices};

/// Of each choice of GPUs the back end of the first call: with it the driver keeps their contexts.
static KEPT: Mutex<Vec<(Devices, AnyBackend)>> = Mutex::new(Vec::new());

/// What `select` gives for these devices. GPUs stay open until the process ends, as other libraries keep
/// them: opening one takes a fifth of a second, more than most calls.
pub fn selected(
    devices: Devices,
    select: impl FnOnce(Devices) -> flockwork::Result<AnyBackend>,
) -> flockwork::Result<AnyBackend> {
    let backend = select(devices.clone())?;
    if !matches!(backend, AnyBackend::Cpu(..)) {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.iter().all(|(known, _)| *known != devices) {
            kept.push((devices, backend.clone()));
        }
    }
    Ok(backend)
}
