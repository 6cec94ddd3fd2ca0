//! Threads that must be over before the process ends.
//!
//! The driver takes itself down when a process ends. Under a thread that is still in it, the process
//! would abort.

use std::thread::JoinHandle;

/// Lets a thread go on by itself. When the process ends in an orderly way, it waits for the thread.
#[cfg(unix)]
pub(crate) fn wait_for(thread: JoinHandle<()>) {
    use std::sync::{Mutex, Once, PoisonError};

    static THREADS: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());
    static REGISTERED: Once = Once::new();

    extern "C" fn wait() {
        let threads = std::mem::take(&mut *THREADS.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A panic has been told on standard error.
            let _ = thread.join();
        }
    }

    // What was registered last is called first: this is after the driver was opened.
    // SAFETY: the function does not unwind, and lives as long as the process. Where there is no room to
    // register it, the process ends as it would without.
    REGISTERED.call_once(|| _ = unsafe { libc::atexit(wait) });
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    threads.retain(|thread| !thread.is_finished());
    threads.push(thread);
}

/// Waits for a thread.
#[cfg(not(unix))]
pub(crate) fn wait_for(thread: JoinHandle<()>) {
    let _ = thread.join();
}
