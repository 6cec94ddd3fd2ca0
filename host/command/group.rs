//! Processes with their descendants: each program that is started leads a process group of its own.

use std::{
    io,
    process::{Child, Command},
};

/// Has the process lead a group of its own, so that a Ctrl-C in the terminal does not reach it: the
/// run decides what happens to it.
pub(super) fn lead(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// Kills a process that leads a group, and all others in it. Its status must not have been taken yet:
/// until then no other process or group can have its number.
pub(super) fn kill(child: &mut Child) {
    #[cfg(unix)]
    if let Ok(number) = libc::pid_t::try_from(child.id()) {
        // SAFETY: the call reads and writes no memory of this process.
        unsafe { libc::kill(-number, libc::SIGKILL) };
    }
    // Where there are no groups; otherwise it is dead already.
    let _ = child.kill();
}

/// Whether a process has ended. Leaves its status to be taken, and with it its number.
#[cfg(unix)]
pub(super) fn has_ended(child: &mut Child) -> io::Result<bool> {
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: all zeros are a valid value of this structure, and the call writes nothing else.
    let (done, number) = unsafe {
        let mut about: libc::siginfo_t = std::mem::zeroed();
        let done = libc::waitid(libc::P_PID, child.id(), &mut about, options);
        (done, about.si_pid())
    };
    match done {
        // The number stays zero while it runs.
        0 => Ok(number != 0),
        _ => match io::Error::last_os_error() {
            why if why.kind() == io::ErrorKind::Interrupted => Ok(false),
            why => Err(why),
        },
    }
}

/// Whether a process has ended.
#[cfg(not(unix))]
pub(super) fn has_ended(child: &mut Child) -> io::Result<bool> {
    Ok(child.try_wait()?.is_some())
}
