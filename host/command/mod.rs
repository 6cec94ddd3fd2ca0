//! Commands: programs of any kind as objective functions, one process for each point or one that stays.
//!
//! ```
//! # #[cfg(unix)] {
//! use flockwork::{command::Command, swarm::{Problem, Search}};
//!
//! // The program is `sh`; yours may be a simulation.
//! let command = Command::new("sh -c 'echo $(( ({a} - 3) * ({a} - 3) + {b} ))'")?;
//! let problem = Problem::from_command(&command, &[("a", 0.0, 8.0), ("b", 1.0, 4.0)])?;
//! # use flockwork::swarm::Variable;
//! let problem = problem.with_variables(vec![Variable::Integer; 2])?;
//! let outcome = Search::new(problem).particles(16).iterations(20).run()?;
//! assert_eq!((outcome.value, &outcome.position[..]), (1.0, &[3.0, 1.0][..]));
//! # }
//! # Ok::<(), flockwork::Error>(())
//! ```
//!
//! # What is run
//!
//! The text is split into words and quoted as in a shell, but there is no shell: a value can never
//! become another argument or command. `{name}` is replaced by a variable's value, as the shortest
//! decimal text that reads back to the same bits; `{{` and `}}` are braces. Where variables have no
//! names, they are `{x[0]}`, `{x[1]}` and so on, or all of them as words, `{x}`.
//!
//! The value is the last number on the standard output. There may be other text; `nan` and `inf` are
//! numbers. With [`Protocol::Lines`] a program stays and answers lines of JSON.
//!
//! # Failures
//!
//! A program that ends with another status than 0, is killed, prints no number or takes longer than
//! [`Command::timeout`] has no value at that point: it is infinitely bad there, and is counted
//! ([`Problem::tally`](crate::swarm::Problem::tally)). An error ends the run if a program cannot be
//! started, if each of the first 20 points fails, or if an answer in lines is none.
//!
//! # What is paid for
//!
//! A point is evaluated once; if it is asked for again, its value is known. A run that is saved keeps
//! all answers in a journal beside its file, so that a resumed run evaluates none of them again,
//! wherever it was interrupted.
//!
//! # Processes
//!
//! At most [`Command::jobs`] run at a time. The result does not depend on how many, as long as a
//! program prints the same for the same point. On Unix each leads a process group, which is killed with
//! all in it when its time is over, the run ends or stops, or the problem is dropped. A process that is
//! killed itself cannot do that: its programs then run to their end.

mod answers;
mod function;
mod group;
mod lines;
mod number;
mod pool;
mod process;
mod template;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};

pub(crate) use function::{Commanded, NAME};
use template::Word;

use crate::{Error, Result, names::named};

named! {
    /// How a program is told points, and how it tells their values.
    ///
    /// ```
    /// use flockwork::command::Protocol;
    ///
    /// assert_eq!(Protocol::default(), Protocol::Arguments);
    /// ```
    #[derive(Default)]
    pub enum Protocol("protocol") {
        /// It is started for each point, which it finds among its arguments; the last number that it
        /// prints is the value.
        #[default]
        Arguments = "arguments",
        /// It is started once for each job. On its standard input it gets lines such as
        /// `{"points": [{"a": 0.1, "b": 0.2}, ...]}`, with `[0.1, 0.2]` for a point whose variables have
        /// no names. It answers each with a line `{"values": [1.5, ...]}`; `null`, or `"nan"`, is
        /// infinitely bad. At the end its input is closed.
        Lines = "lines",
    }
}

/// A program, its arguments, and how it is run: see the [module's description](self).
///
/// ```
/// # #[cfg(unix)] {
/// use std::time::Duration;
/// use flockwork::{command::Command, swarm::{Problem, Search}};
///
/// let command = Command::new("printf 'the value is %s\\n' {x[0]}")?
///     .jobs(2)
///     .timeout(Duration::from_secs(10));
/// let problem = Problem::from_command_of_x(&command, vec![0.5], vec![2.0])?;
/// let outcome = Search::new(problem).evaluations(40).run()?;
/// assert!((0.5..0.6).contains(&outcome.value));
/// # }
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone)]
pub struct Command {
    text: Arc<str>,
    words: Arc<[Word<String>]>,
    protocol: Protocol,
    jobs: usize,
    timeout: Option<Duration>,
    directory: Option<PathBuf>,
    stop: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

impl Command {
    /// A command from its text, such as `./simulate --x {a}`.
    ///
    /// ```
    /// use flockwork::command::Command;
    ///
    /// assert!(Command::new("python3 'my model.py' {a}").is_ok());
    /// let message = Command::new("./simulate {a} | tail -n 1").unwrap_err().to_string();
    /// assert!(message.contains("has |, which only a shell understands"));
    /// ```
    ///
    /// # Errors
    /// [`Error::Command`] if there is no program, a quote or brace is never closed, or something is not
    /// quoted that only a shell understands.
    pub fn new(text: &str) -> Result<Self> {
        let words = template::parse(text)
            .map_err(|message| Error::Command { command: text.to_owned(), message })?;
        Ok(Self {
            text: text.into(),
            words: words.into(),
            protocol: Protocol::default(),
            jobs: 0,
            timeout: None,
            directory: None,
            stop: None,
        })
    }

    /// How the program is told points; the default is [`Protocol::Arguments`].
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use flockwork::{command::{Command, Protocol}, swarm::{Problem, Search}};
    ///
    /// // The same value for every line of one point.
    /// let text = r#"sh -c 'while read line; do echo "{{\"values\": [1.5]}}"; done'"#;
    /// let command = Command::new(text)?.protocol(Protocol::Lines).jobs(1);
    /// let problem = Problem::from_command(&command, &[("a", 0.0, 1.0)])?;
    /// let outcome = Search::new(problem).particles(1).iterations(3).run()?;
    /// assert_eq!(outcome.value, 1.5);
    /// # }
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// The most programs that run at a time; 0, the default, for one per core. The result does not
    /// depend on it.
    ///
    /// ```
    /// use flockwork::command::Command;
    ///
    /// let command = Command::new("./simulate {a}")?.jobs(8);
    /// println!("{command:?}");
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs;
        self
    }

    /// The longest time for a point; without it, any. A program that takes longer is killed, and is
    /// infinitely bad there.
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use std::time::Duration;
    /// use flockwork::{command::Command, swarm::{Problem, Search}};
    ///
    /// // In the lower half it never ends.
    /// let command = Command::new("sh -c '[ {a} -gt 1 ] || sleep 1000; echo {a}'")?;
    /// let command = command.timeout(Duration::from_secs(5)).jobs(8);
    /// let problem = Problem::from_command(&command, &[("a", 0.0, 3.0)])?;
    /// # let problem = problem.with_variables(vec![flockwork::swarm::Variable::Integer])?;
    /// let outcome = Search::new(problem.clone()).particles(16).iterations(5).run()?;
    /// assert_eq!(outcome.value, 2.0);
    /// assert!(problem.tally().is_some_and(|tally| tally.failed == 2));
    /// # }
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The folder that programs run in, and that a relative path of theirs begins in; without it, the
    /// current one.
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use flockwork::{command::Command, swarm::{Problem, Search}};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// std::fs::write(folder.path().join("value"), "2.5").unwrap();
    /// let command = Command::new("sh -c 'cat value' {x}")?.directory(folder.path());
    /// let problem = Problem::from_command_of_x(&command, vec![0.0], vec![1.0])?;
    /// assert_eq!(Search::new(problem).evaluations(8).run()?.value, 2.5);
    /// # }
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Asked while programs run, about fifty times a second, by several threads: once it is true they
    /// are killed, and the run ends as [`StopReason::Interrupted`](crate::swarm::StopReason) with what
    /// it had found before. The observer of a run is only asked when all of them have ended.
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use flockwork::{Error, command::Command, swarm::{Problem, Search}};
    ///
    /// static ENOUGH: AtomicBool = AtomicBool::new(false);
    /// let command = Command::new("sleep 1000 {a}")?.stop_when(|| ENOUGH.load(Ordering::Relaxed));
    /// let problem = Problem::from_command(&command, &[("a", 0.0, 1.0)])?;
    /// let search = std::thread::spawn(|| Search::new(problem).run());
    /// ENOUGH.store(true, Ordering::Relaxed);
    /// // It had not found anything yet.
    /// assert!(matches!(search.join().unwrap(), Err(Error::Interrupted)));
    /// # }
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn stop_when(mut self, stop: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.stop = Some(Arc::new(stop));
        self
    }

    /// The text.
    ///
    /// ```
    /// use flockwork::command::Command;
    ///
    /// assert_eq!(Command::new("./simulate  {a}")?.text(), "./simulate  {a}");
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names in braces, each once, in the order in which they appear.
    ///
    /// ```
    /// use flockwork::command::Command;
    ///
    /// assert_eq!(Command::new("./simulate {b} --a={a} {b} {{c}}")?.names(), ["b", "a"]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for piece in self.words.iter().flatten() {
            if let template::Piece::Place(name) = piece
                && !names.contains(&&**name)
            {
                names.push(&**name);
            }
        }
        names
    }

    /// How many programs run at a time.
    fn usual_jobs(&self) -> usize {
        match self.jobs {
            0 => thread::available_parallelism().map_or(1, Into::into),
            jobs => jobs,
        }
    }

    /// The command as a file keeps it.
    fn stated(&self, names: Option<Vec<String>>) -> Stated {
        Stated {
            command: self.text.to_string(),
            names,
            protocol: self.protocol,
            timeout: self.timeout,
            jobs: self.jobs,
            directory: self.directory.clone(),
        }
    }
}

impl PartialEq for Command {
    fn eq(&self, other: &Self) -> bool {
        self.stated(None) == other.stated(None)
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("text", &self.text)
            .field("protocol", &self.protocol)
            .field("jobs", &self.jobs)
            .field("timeout", &self.timeout)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// A command with its variables as files keep it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stated {
    pub command: String,
    /// The names of the variables, unless they are elements of x.
    pub names: Option<Vec<String>>,
    protocol: Protocol,
    timeout: Option<Duration>,
    jobs: usize,
    directory: Option<PathBuf>,
}

impl Stated {
    /// The command.
    pub fn command(&self) -> Result<Command> {
        Ok(Command {
            protocol: self.protocol,
            jobs: self.jobs,
            timeout: self.timeout,
            directory: self.directory.clone(),
            ..Command::new(&self.command)?
        })
    }

    /// Whether another one has the same values everywhere. How many run at a time does not matter, and
    /// the folder may have moved.
    pub fn is_same_function(&self, other: &Self) -> bool {
        let here = Self { jobs: 0, directory: None, ..self.clone() };
        here == Self { jobs: 0, directory: None, ..other.clone() }
    }
}

/// How many points a command was evaluated at, and how many of these failed; with those of the saved
/// run that was resumed.
///
/// ```
/// # #[cfg(unix)] {
/// use flockwork::{command::Command, swarm::{Problem, Search}};
///
/// // It accepts no number with a sign.
/// let command = Command::new("sh -c 'case {a} in -*) exit 3; esac; echo {a}'")?;
/// let problem = Problem::from_command(&command, &[("a", -1.0, 8.0)])?;
/// let outcome = Search::new(problem.clone()).particles(32).iterations(10).run()?;
/// let tally = problem.tally().expect("it is a command");
/// assert!(outcome.value >= 0.0 && 0 < tally.failed && tally.failed < tally.evaluated);
/// assert!(tally.first_failure.is_some_and(|why| why.ends_with("exit status: 3")));
/// # }
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tally {
    /// Different points that have an answer.
    pub evaluated: u64,
    /// Those at which the program failed.
    pub failed: u64,
    /// The first of those: what was run, and why it failed.
    pub first_failure: Option<String>,
}

/// The file beside a saved run, at `saved`, that keeps the answers of its programs: lines of JSON, the
/// first of which says which command it was.
///
/// ```
/// use std::path::Path;
///
/// let journal = flockwork::command::journal_of(Path::new("runs/one.flockwork"));
/// assert_eq!(journal, Path::new("runs/one.flockwork.answers"));
/// ```
pub fn journal_of(saved: &Path) -> PathBuf {
    answers::beside(saved)
}
