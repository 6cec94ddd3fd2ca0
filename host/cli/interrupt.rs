//! Signals: SIGINT (Ctrl-C), SIGTERM and SIGHUP ask the run to stop at the next look and keep what it
//! found. Only a second Ctrl-C, a second or more after the first, ends the program at once.

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

/// The first signal that asked to stop; 0 if none did.
static ASKED: AtomicI32 = AtomicI32::new(0);

/// One who presses Ctrl-C twice means it. What arrives sooner is the same wish told twice: `timeout`
/// sends its signal to the program and then to the whole group.
const AGAIN: Duration = Duration::from_secs(1);

/// Listens from now on.
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

/// Takes from the signal for a file that grows beyond the limit (`ulimit -f`) its power to end the program:
/// the write fails instead, which is reported, and what was written of the file is removed.
pub fn outlive_file_size_limit() {
    // SAFETY: no handler is set, only that the signal is ignored.
    #[cfg(unix)]
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Whether the program was started to go on after its terminal, as by `nohup`.
fn hangups_are_ignored() -> bool {
    // SAFETY: zeros are a value of this structure; without a new action the call only writes the old one
    // to where the second pointer leads.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(SIGHUP, std::ptr::null(), &mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
    }
}

/// Whether someone asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed) != 0
}

/// How the program ends after it did what it had to: by the signal that asked it to, as a shell counts
/// them, so that a loop of commands ends too.
pub fn status() -> Option<ExitCode> {
    match ASKED.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(ExitCode::from(128 + signal as u8)),
    }
}
