//! One process: what it prints, and how it ends.

use std::{
    io::{self, Read},
    path::Path,
    process::{Child, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use super::{group, number};

/// How often a wait looks whether it should end.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How long the pipes of a process that has ended may stay open: a descendant that left the group may
/// hold them.
const LINGER: Duration = Duration::from_secs(1);

/// How much is kept of the end of what a program prints.
const KEPT: usize = 1 << 16;

/// How an evaluation ended.
#[derive(Clone, Debug)]
pub(super) enum Ended {
    Value(f64),
    Failed(Failure),
    /// It was killed because the run is over.
    Stopped,
}

/// Why a program gave no value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure {
    /// In a few words.
    pub what: String,
    /// The end of what it wrote to its standard error.
    pub errors: String,
}

impl Failure {
    /// In a line: the words, and the last line of the standard error.
    pub fn line(&self) -> String {
        let last = self.errors.lines().rev().find(|line| !line.trim().is_empty());
        match last {
            Some(last) => format!("{}: {}", self.what, start(last.trim(), 200)),
            None => self.what.clone(),
        }
    }

    /// Over several lines: the words, and the last lines of the standard error.
    pub fn lines(&self) -> String {
        const SHOWN: usize = 8;
        let lines: Vec<&str> = self.errors.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(SHOWN)..];
        let mut text = self.what.clone();
        for line in last {
            text.push_str("\n  ");
            text.push_str(&start(line.trim_end(), 200));
        }
        text
    }
}

/// The first letters of a text.
pub(super) fn start(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

/// The end of what a program writes to a pipe.
#[derive(Clone, Default)]
pub(super) struct Tail(Arc<Mutex<Vec<u8>>>);

impl Tail {
    /// Reads to the end, then drops what it is given.
    pub fn read(&self, mut pipe: impl Read, at_end: mpsc::Sender<()>) {
        let mut buffer = [0; 8192];
        loop {
            match pipe.read(&mut buffer) {
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
                Ok(count) => {
                    let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.extend_from_slice(&buffer[..count]);
                    if kept.len() > 2 * KEPT {
                        let before = kept.len() - KEPT;
                        kept.drain(..before);
                    }
                }
            }
        }
        // Nobody may be waiting any more.
        let _ = at_end.send(());
    }

    pub fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}

/// A process that is killed with its descendants where it is forgotten.
pub(super) struct Running {
    pub child: Child,
    is_over: bool,
}

impl Running {
    pub fn start(words: &[String], directory: Option<&Path>, input: Stdio) -> io::Result<Self> {
        let mut command = std::process::Command::new(&words[0]);
        command.args(&words[1..]).stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(directory) = directory {
            // Otherwise the program's name would be looked for there in another way.
            if std::env::current_dir().ok().as_deref() != Some(directory) {
                command.current_dir(directory);
            }
        }
        group::lead(&mut command);
        Ok(Self { child: command.spawn()?, is_over: false })
    }

    pub fn has_ended(&mut self) -> io::Result<bool> {
        group::has_ended(&mut self.child)
    }

    /// Kills it unless it has ended, and whatever it left behind.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        if !self.is_over {
            group::kill(&mut self.child);
            self.is_over = true;
        }
        self.child.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // There is nobody to tell.
        let _ = self.end();
    }
}

/// How a process that ended badly did so, in words.
pub(super) fn told(status: ExitStatus) -> String {
    status.to_string()
}

/// Runs a program to its end, its time limit, or the end of the run.
pub(super) fn run(
    words: &[String],
    directory: Option<&Path>,
    limit: Option<Duration>,
    is_over: &dyn Fn() -> bool,
) -> io::Result<Ended> {
    let mut running = Running::start(words, directory, Stdio::null())?;
    let (output, errors) = (Tail::default(), Tail::default());
    let (at_end, ends) = mpsc::channel();
    if let Some(pipe) = running.child.stdout.take() {
        reader(&output, pipe, at_end.clone())?;
    }
    if let Some(pipe) = running.child.stderr.take() {
        reader(&errors, pipe, at_end)?;
    }
    let began = Instant::now();
    let (mut pause, mut is_late, mut is_stopped) = (Duration::from_micros(50), false, false);
    while !running.has_ended()? {
        is_stopped = is_over();
        let left = limit.map(|limit| limit.saturating_sub(began.elapsed()));
        is_late = left.is_some_and(|left| left.is_zero());
        if is_stopped || is_late {
            break;
        }
        let most = left.map_or(LOOK_EVERY, |left| left.min(LOOK_EVERY));
        // Pipes usually close when the process ends. It may also close them and go on.
        if let Err(mpsc::RecvTimeoutError::Disconnected) = ends.recv_timeout(most) {
            thread::sleep(pause.min(most));
            pause = (2 * pause).min(LOOK_EVERY);
        }
    }
    let status = running.end()?;
    if is_stopped {
        return Ok(Ended::Stopped);
    }
    let until = Instant::now() + LINGER;
    while ends.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok() {}
    let failed = |what: String| Ok(Ended::Failed(Failure { what, errors: errors.text() }));
    if is_late {
        let seconds = limit.unwrap_or_default().as_secs_f64();
        return failed(format!("it ran longer than {seconds} s"));
    }
    if !status.success() {
        return failed(told(status));
    }
    let printed = output.text();
    match number::last(&printed) {
        Some(value) => Ok(Ended::Value(value)),
        None if printed.trim().is_empty() => failed("it printed nothing".to_owned()),
        None => {
            let last = printed.lines().rev().find(|line| !line.trim().is_empty());
            let last = start(last.unwrap_or_default().trim(), 100);
            failed(format!("it printed no number, but {last:?}"))
        }
    }
}

/// Reads a pipe on a thread of its own, so that the program never waits for a reader.
pub(super) fn reader(
    tail: &Tail,
    pipe: impl Read + Send + 'static,
    at_end: mpsc::Sender<()>,
) -> io::Result<()> {
    let tail = tail.clone();
    let work = move || tail.read(pipe, at_end);
    thread::Builder::new().stack_size(STACK_BYTES).spawn(work).map(drop)
}

/// Stack of a thread that only reads or writes.
pub(super) const STACK_BYTES: usize = 128 << 10;

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn ended(script: &str, limit: Option<f64>) -> Ended {
        let words = ["sh", "-c", script].map(str::to_owned);
        run(&words, None, limit.map(Duration::from_secs_f64), &|| false).unwrap()
    }

    #[track_caller]
    fn failure(script: &str, limit: Option<f64>) -> Failure {
        match ended(script, limit) {
            Ended::Failed(failure) => failure,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_program_tells_its_value_or_why_it_has_none() {
        assert!(matches!(ended("echo 1; echo value 2.5", None), Ended::Value(2.5)));
        let failed = failure("echo one >&2; echo two >&2; exit 3", None);
        assert_eq!(failed.line(), "exit status: 3: two");
        assert_eq!(failed.lines(), "exit status: 3\n  one\n  two");
        assert_eq!(failure("kill -9 $$", None).line(), "signal: 9 (SIGKILL)");
        assert_eq!(failure("exit 0", None).line(), "it printed nothing");
        assert_eq!(failure("echo a; echo b", None).line(), "it printed no number, but \"b\"");
        assert_eq!(failure("exec sleep 1000", Some(0.05)).what, "it ran longer than 0.05 s");
    }

    #[test]
    fn a_program_may_print_more_than_a_pipe_holds() {
        let script = "i=0; while [ $i -lt 3000 ]; do
            echo 0123456789012345678901234567890123456789012345678901234567890123456789
            echo e0123456789012345678901234567890123456789012345678901234567890123456789 >&2
            i=$((i+1)); done; echo 7";
        assert!(matches!(ended(script, None), Ended::Value(7.0)));
    }

    #[test]
    fn descendants_and_closed_pipes_keep_nobody_waiting() {
        // It holds the pipes for as long as it lives.
        assert!(matches!(ended("sleep 1000 & echo 4", None), Ended::Value(4.0)));
        assert!(matches!(ended("echo 5; exec >&- 2>&-; sleep 0.1", None), Ended::Value(5.0)));
    }

    #[test]
    fn what_cannot_be_started_is_an_error() {
        let words = ["/no/such/program".to_owned()];
        assert!(run(&words, None, None, &|| false).is_err());
        let is_over = || true;
        let words = ["sleep", "1000"].map(str::to_owned);
        assert!(matches!(run(&words, None, None, &is_over).unwrap(), Ended::Stopped));
    }
}
