//! Signals. SIGINT (Ctrl-C), SIGTERM and SIGHUP ask the run to stop at its next check and keep what
//! it found. Only a second Ctrl-C, at least a second after the first signal, ends the program at
//! once.

use std::{
    process::{ExitCode, exit},
    sync::atomic::{AtomicI32, Ordering},
    thread,
    time::{Duration, Instant},
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

/// The first signal that asked the run to stop; 0 if there was none.
static ASKED: AtomicI32 = AtomicI32::new(0);

/// A second Ctrl-C counts only after this long. One that follows sooner is a repetition of the
/// first: `timeout` sends its signal to the program and then to the whole process group.
const AGAIN: Duration = Duration::from_secs(1);

/// Starts listening for signals.
pub fn listen() -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    if !hangups_are_ignored() {
        signals.add_signal(SIGHUP)?;
    }
    thread::spawn(move || {
        let mut first = None;
        for signal in signals.forever() {
            let began = *first.get_or_insert_with(Instant::now);
            let none = ASKED.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
            if none.is_err() && signal == SIGINT && began.elapsed() >= AGAIN {
                exit(128 + SIGINT);
            }
        }
    });
    Ok(())
}

/// Ignores the signal sent when a file grows beyond the limit (`ulimit -f`), which would end the
/// program. The write fails instead; the error is reported and the partial file removed.
pub fn outlive_file_size_limit() {
    // SAFETY: no handler is installed; the signal is only ignored.
    #[cfg(unix)]
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Whether the program was started to outlive its terminal, as by `nohup`.
fn hangups_are_ignored() -> bool {
    // SAFETY: all zeros are a valid value of this structure; without a new action the call only
    // writes the current one to where the third argument points.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(SIGHUP, std::ptr::null(), &mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
    }
}

/// Whether a signal asked the run to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed) != 0
}

/// The exit status after an orderly stop: the one a shell gives for death by that signal, so that a
/// loop of commands ends too.
pub fn status() -> Option<ExitCode> {
    match ASKED.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(ExitCode::from(128 + signal as u8)),
    }
}
