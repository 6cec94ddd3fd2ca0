//! Ctrl-C: the first ends the run at the next look and keeps what it found; the second ends the
//! program.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Listens from now on.
pub fn listen() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })?;
    Ok(())
}

/// Whether someone asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
