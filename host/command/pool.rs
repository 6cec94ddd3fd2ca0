//! The programs that run at the same time, for all who ask for values.
//!
//! Those who ask wait, and the threads here run the programs: they are not those of the back end, so
//! that nobody waits for himself. A value depends on its point alone, not on who asked first or which
//! program was free.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use super::{
    Command, Protocol, Stated, Tally,
    answers::{Answer, Answers, Key, key},
    lines::{self, Answering},
    process::{self, Ended, Failure, LOOK_EVERY},
    template::{Place, Word, filled, shown},
};
use crate::{Error, Result};

/// If every one of so many first evaluations fails, all probably will.
const FIRST: u64 = 20;

/// A command whose variables are known, and its programs that run.
pub(super) struct Pool {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    command: Command,
    names: Option<Vec<String>>,
    words: Vec<Word<Place>>,
    directory: Option<PathBuf>,
    /// How many programs run at a time: to ask the system takes long.
    jobs: usize,
    state: Mutex<State>,
    /// There is something to do, or nothing more.
    work: Condvar,
    /// There are answers.
    done: Condvar,
}

#[derive(Default)]
struct State {
    answers: Answers,
    queue: VecDeque<Task>,
    /// Evaluations among the first that failed.
    first_failed: u64,
    /// The first evaluation that failed: as which it was asked for, what was run, and why.
    failure: Option<(u64, String, Failure)>,
    halt: Option<Halt>,
    /// Whether the threads end.
    is_closed: bool,
}

/// A point to be evaluated.
struct Task {
    nth: u64,
    key: Key,
    point: Vec<f64>,
}

/// Why no more programs are run.
enum Halt {
    /// It was asked for.
    Asked,
    /// Something went wrong; `None` once it was told.
    Failed(Option<Error>),
}

impl Pool {
    pub fn new(command: Command, names: Option<Vec<String>>, words: Vec<Word<Place>>) -> Self {
        let (directory, jobs) = (command.directory.clone(), command.usual_jobs());
        let (state, work, done) = (Mutex::default(), Condvar::new(), Condvar::new());
        let shared = Arc::new(Shared { command, names, words, directory, jobs, state, work, done });
        Self { shared, threads: Mutex::default() }
    }

    pub fn command(&self) -> &Command {
        &self.shared.command
    }

    pub fn names(&self) -> Option<&[String]> {
        self.shared.names.as_deref()
    }

    pub fn stated(&self) -> Stated {
        self.shared.command.stated(self.shared.names.clone())
    }

    /// Begins a run: what ended the last one is over. Takes the answers beside a saved run, and keeps
    /// those to come beside another.
    pub fn begin(&self, resumed: Option<&Path>, saved: Option<&Path>, dims: usize) -> Result<()> {
        let mut state = self.shared.lock();
        let stated = self.stated();
        if let Some(path) = resumed {
            state.answers.read(path, &stated, dims)?;
        }
        match saved {
            Some(path) => state.answers.write(path, &stated)?,
            None => state.answers.close(),
        }
        state.halt = None;
        Ok(())
    }

    /// Whether values are missing since the run began, because it was asked to stop.
    pub fn was_cut_short(&self) -> Result<bool> {
        match &mut self.shared.lock().halt {
            None => Ok(false),
            Some(Halt::Asked | Halt::Failed(None)) => Ok(true),
            Some(Halt::Failed(error)) => error.take().map_or(Ok(true), Err),
        }
    }

    /// How many points were evaluated, and how many of these failed.
    pub fn tally(&self) -> Tally {
        let state = self.shared.lock();
        let all = state.answers.in_order();
        let mut tally = Tally { evaluated: all.len() as u64, failed: 0, first_failure: None };
        for (key, answer) in all {
            let Answer::Failed(why) = answer else { continue };
            tally.failed += 1;
            if tally.first_failure.is_none() {
                let point: Vec<f64> = key.iter().map(|&bits| f64::from_bits(bits)).collect();
                let words = self.shared.shown(&point);
                tally.first_failure = Some(format!("{words}: {why}"));
            }
        }
        tally
    }

    /// An error if all that was evaluated failed.
    pub fn why_no_value(&self) -> Option<Error> {
        let state = self.shared.lock();
        let all = state.answers.in_order();
        let is_failed = |(_, answer): &(&Key, &Answer)| matches!(answer, Answer::Failed(_));
        if all.is_empty() || !all.iter().all(is_failed) {
            return None;
        }
        let count = all.len() as u64;
        Some(match &state.failure {
            Some((_, line, failure)) => self.shared.all_failed(count, line, &failure.lines()),
            None => {
                let (key, answer) = all[0];
                let point: Vec<f64> = key.iter().map(|&bits| f64::from_bits(bits)).collect();
                let Answer::Failed(why) = answer else { return None };
                self.shared.all_failed(count, &self.shared.shown(&point), why)
            }
        })
    }

    /// The values at consecutive points. Once the run is cut short, they mean nothing.
    pub fn evaluate(&self, points: &[f64], values: &mut [f64]) {
        let dims = points.len() / values.len().max(1);
        let keys: Vec<Key> = points.chunks_exact(dims.max(1)).map(key).collect();
        let shared = &*self.shared;
        self.start();
        let mut state = shared.lock();
        if state.halt.is_none() {
            for key in &keys {
                if let Some(nth) = state.answers.ask(key) {
                    let point = key.iter().map(|&bits| f64::from_bits(bits)).collect();
                    state.queue.push_back(Task { nth, key: key.clone(), point });
                }
            }
            shared.work.notify_all();
        }
        let is_known = |state: &State| keys.iter().all(|key| state.answers.answer(key).is_some());
        while state.halt.is_none() && !is_known(&state) {
            (state, _) =
                shared.done.wait_timeout(state, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner);
            if state.halt.is_none() && shared.is_asked_to_stop() {
                shared.halt(&mut state, Halt::Asked);
            }
        }
        for (key, value) in keys.iter().zip(values) {
            *value = state.answers.answer(key).map_or(f64::NAN, Answer::value);
        }
    }

    /// Starts the threads, once.
    fn start(&self) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if !threads.is_empty() {
            return;
        }
        for _ in 0..self.shared.jobs {
            let shared = Arc::clone(&self.shared);
            let thread = thread::Builder::new().name("command".to_owned());
            match thread.spawn(move || shared.work()) {
                Ok(thread) => threads.push(thread),
                // With fewer it takes longer.
                Err(_) if !threads.is_empty() => break,
                Err(why) => {
                    let error = self.shared.wrong(format!("has no thread to run in: {why}"));
                    let mut state = self.shared.lock();
                    self.shared.halt(&mut state, Halt::Failed(Some(error)));
                    break;
                }
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.work.notify_all();
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // Its panic has been told.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is made at once, so that a panic leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_asked_to_stop(&self) -> bool {
        self.command.stop.as_ref().is_some_and(|stop| stop())
    }

    fn halt(&self, state: &mut State, why: Halt) {
        state.halt.get_or_insert(why);
        state.queue.clear();
        state.answers.forget_unanswered();
        self.done.notify_all();
        self.work.notify_all();
    }

    fn wrong(&self, message: String) -> Error {
        Error::Command { command: self.command.text.to_string(), message }
    }

    /// What is run for a point, as it may be typed.
    fn shown(&self, point: &[f64]) -> String {
        shown(&filled(&self.words, point))
    }

    fn all_failed(&self, count: u64, line: &str, why: &str) -> Error {
        self.wrong(format!(
            "failed at each of the first {count} points; where a point is only not allowed, let it \
             print nan. The first was\n  {line}\n{why}"
        ))
    }

    /// Whether what runs now should end.
    fn is_over(&self) -> bool {
        let mut state = self.lock();
        if state.halt.is_none() && !state.is_closed && self.is_asked_to_stop() {
            self.halt(&mut state, Halt::Asked);
        }
        state.halt.is_some() || state.is_closed
    }

    /// What a thread does.
    fn work(&self) {
        /// Whoever waits for this thread must learn that it is gone.
        struct Guard<'a>(&'a Shared);
        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                if thread::panicking() {
                    let error = self.0.wrong("could not be run: a thread panicked".to_owned());
                    let mut state = self.0.lock();
                    self.0.halt(&mut state, Halt::Failed(Some(error)));
                }
            }
        }
        let _guard = Guard(self);
        match self.command.protocol {
            Protocol::Arguments => self.run_each(),
            Protocol::Lines => self.ask_one(),
        }
    }

    /// Waits for points: at most an equal share of those that wait. None at the end.
    fn next(&self, most: usize) -> Option<Vec<Task>> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if state.halt.is_none() && !state.queue.is_empty() {
                let share = state.queue.len().div_ceil(self.jobs);
                return Some(state.queue.drain(..share.min(most)).collect());
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Runs the program for each point.
    fn run_each(&self) {
        while let Some(tasks) = self.next(1) {
            for task in tasks {
                let words = filled(&self.words, &task.point);
                let (directory, limit) = (self.directory.as_deref(), self.command.timeout);
                match process::run(&words, directory, limit, &|| self.is_over()) {
                    Ok(ended) => self.note(&task, ended, || shown(&words)),
                    Err(why) => self.not_started(&words[0], &why),
                }
            }
        }
    }

    fn not_started(&self, program: &str, why: &std::io::Error) {
        let place = match &self.directory {
            Some(directory) if program.contains('/') => format!(" in {}", directory.display()),
            _ => String::new(),
        };
        let error = self.wrong(format!("cannot be run: {program}{place}: {why}"));
        self.halt(&mut self.lock(), Halt::Failed(Some(error)));
    }

    /// Notes how an evaluation ended.
    fn note(&self, task: &Task, ended: Ended, line: impl FnOnce() -> String) {
        let mut state = self.lock();
        let answer = match ended {
            Ended::Stopped => return,
            Ended::Value(value) => Answer::Value(value),
            Ended::Failed(failure) => {
                let answer = Answer::from(&failure);
                if state.failure.as_ref().is_none_or(|&(nth, ..)| task.nth < nth) {
                    state.failure = Some((task.nth, line(), failure));
                }
                // What was asked for first is the same in every run, whatever is answered first.
                state.first_failed += u64::from(task.nth < FIRST);
                answer
            }
        };
        // It has no answer where the run was cut short, and is not asked for any more.
        if let Err(error) = state.answers.keep(&task.key, answer) {
            self.halt(&mut state, Halt::Failed(Some(error)));
        }
        if state.first_failed == FIRST
            && let Some((_, line, failure)) = &state.failure
        {
            let error = self.all_failed(FIRST, line, &failure.lines());
            self.halt(&mut state, Halt::Failed(Some(error)));
        }
        self.done.notify_all();
    }

    /// Keeps one program, and asks it for each share.
    fn ask_one(&self) {
        let mut answering: Option<Answering> = None;
        while let Some(tasks) = self.next(usize::MAX) {
            self.ask(&mut answering, &tasks);
        }
        if let Some(answering) = answering {
            // Only a run that goes wrong is in a hurry.
            answering.finish(&|| self.lock().halt.is_some());
        }
    }

    fn ask(&self, kept: &mut Option<Answering>, tasks: &[Task]) {
        let words = filled(&self.words, &[]);
        let answering = match kept {
            Some(answering) => answering,
            None => match Answering::start(&words, self.directory.as_deref()) {
                Ok(answering) => kept.insert(answering),
                Err(why) => return self.not_started(&words[0], &why),
            },
        };
        let points: Vec<&[f64]> = tasks.iter().map(|task| &*task.point).collect();
        let line = lines::question(self.names(), &points);
        let count = tasks.len() as u32;
        let limit = self.command.timeout.map(|each| each.saturating_mul(count));
        let answer = answering.ask(line, tasks.len(), limit, &|| self.is_over());
        let failed = match answer {
            Ok(lines::Answer::Values(values)) => {
                for (task, value) in tasks.iter().zip(values) {
                    self.note(task, Ended::Value(value), String::new);
                }
                return;
            }
            Ok(lines::Answer::Stopped) => {
                // Its answer, if it comes, would be taken for that to another question.
                *kept = None;
                return;
            }
            Ok(lines::Answer::Late) => {
                *kept = None;
                match tasks {
                    [task] => {
                        let seconds = self.command.timeout.unwrap_or_default().as_secs_f64();
                        let what = format!("it took longer than {seconds} s");
                        let failure = Failure { what, errors: String::new() };
                        let point = lines::question(self.names(), &[&task.point]);
                        let line = format!("{}: {}", shown(&words), point.trim_end());
                        self.note(task, Ended::Failed(failure), || line);
                    }
                    // Which of them takes so long must not depend on how they were dealt out.
                    tasks => {
                        for task in tasks {
                            if !self.is_over() {
                                self.ask(kept, std::slice::from_ref(task));
                            }
                        }
                    }
                }
                return;
            }
            Ok(lines::Answer::Wrong(what, errors)) => Failure { what, errors }.lines(),
            Err(why) => format!("cannot be asked: {why}"),
        };
        *kept = None;
        let error = self.wrong(failed);
        self.halt(&mut self.lock(), Halt::Failed(Some(error)));
    }

    fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }
}
