//! Searches whose points the caller evaluates.

use std::{
    fmt,
    panic::resume_unwind,
    sync::Arc,
    thread::{self, JoinHandle},
};

use super::{Checkpoint, Outcome, Points, Problem, Saved, Search, Told};
use crate::{
    Error, Result,
    backend::{
        Cpu,
        whole::{Elsewhere, Exchange},
    },
};

/// A search for a function that lives elsewhere: in a simulator, on a cluster, in another language. It asks
/// for values at points, and the caller tells them, in any order, and however long they take.
///
/// It has every method, start, stop condition and preset of a [`Search`], saves as it does, and takes the
/// same steps as it does with a closure of the same values, to the bit.
///
/// ```
/// use flockwork::swarm::{AskTell, Problem, Search};
///
/// let problem = Problem::elsewhere(vec![-5.0; 3], vec![5.0; 3])?;
/// let mut search = AskTell::new(Search::new(problem).evaluations(3000))?;
/// while let Some(points) = search.ask() {
///     let bowl = |x: &[f64]| x.iter().map(|x| (x - 1.0).powi(2)).sum();
///     let values: Vec<f64> = points.rows().map(bowl).collect();
///     search.tell(&values)?;
/// }
/// assert!(search.outcome()?.value < 1e-9);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// Dropped, it ends the search.
pub struct AskTell {
    exchange: Arc<Exchange>,
    /// The search, until it has ended.
    engine: Option<Engine>,
    dims: usize,
    told: Told,
    /// The points asked for, until all their values are told.
    open: Vec<f64>,
}

impl fmt::Debug for AskTell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let points = self.open.len() / self.dims;
        f.debug_struct("AskTell").field("open", &points).field("best", &self.best()).finish()
    }
}

impl AskTell {
    /// Begins a search. The function of its problem is not called. It runs on the CPU, in a thread of its own
    /// that waits for values.
    ///
    /// # Errors
    /// If the system has no thread for it. An option that makes no sense is an error of
    /// [`AskTell::outcome`], and nothing is asked.
    pub fn new(search: Search) -> Result<Self> {
        let problem = search.problem().clone();
        Self::begun(&problem, move |problem| {
            search.for_problem(problem).run_on(&Cpu::new(0)?, |_| {})
        })
    }

    /// Resumes a saved one. `problem` is as it was, and `saved` says where it is saved from now on.
    ///
    /// ```
    /// use std::time::Duration;
    /// use flockwork::swarm::{AskTell, Checkpoint, Problem, Search};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run");
    /// let problem = Problem::elsewhere(vec![-5.0; 2], vec![5.0; 2])?;
    /// let search = Search::new(problem.clone()).evaluations(400);
    /// let mut first = AskTell::new(search.save(&path, Duration::ZERO))?;
    /// for _ in 0..20 {
    ///     let points = first.ask().expect("not over yet");
    ///     let values: Vec<f64> = points.rows().map(|x| x[0] * x[0] + x[1] * x[1]).collect();
    ///     first.tell(&values)?;
    /// }
    /// drop(first);
    /// let mut rest = AskTell::resume(&Checkpoint::read(&path)?, &problem, None)?;
    /// while let Some(points) = rest.ask() {
    ///     let values: Vec<f64> = points.rows().map(|x| x[0] * x[0] + x[1] * x[1]).collect();
    ///     rest.tell(&values)?;
    /// }
    /// assert!(rest.outcome()?.value < 0.1);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`AskTell::new`]; and that the file is of another problem is an error of [`AskTell::outcome`].
    pub fn resume(
        checkpoint: &Checkpoint,
        problem: &Problem,
        saved: Option<Saved>,
    ) -> Result<Self> {
        let checkpoint = checkpoint.clone();
        Self::begun(problem, move |problem| {
            checkpoint.resume(&problem, &Cpu::new(0)?, saved, |_| {})
        })
    }

    /// Begins what `engine` runs with the problem, whose function is the caller.
    fn begun(
        problem: &Problem,
        engine: impl FnOnce(Problem) -> Result<Outcome> + Send + 'static,
    ) -> Result<Self> {
        let exchange = Arc::new(Exchange::default());
        let (dims, told) = (problem.dims(), Told::new(problem));
        let function = Elsewhere::new(Arc::clone(&exchange), dims, problem.name());
        let problem = problem.with_function(|_| Arc::new(function));
        let over = Arc::clone(&exchange);
        let engine = Engine::begin(move || over.is_over(), move || engine(problem))?;
        let dims = dims as usize;
        Ok(Self { exchange, engine: Some(engine), dims, told, open: Vec::new() })
    }

    /// The points to evaluate next, all of a generation: waits until it is known which. The same points until
    /// all of their values are told; `None` once the search is over.
    pub fn ask(&mut self) -> Option<Points<'_>> {
        if self.open.is_empty() {
            self.open = self.exchange.wait()?;
        }
        Some(Points::new(&self.open, self.dims))
    }

    /// Takes a value for each of the points asked for, in their order. NaN counts as infinitely bad, and so
    /// does any value outside the box where particles are invisible there
    /// ([`Edge::Invisible`](super::Edge)).
    ///
    /// # Errors
    /// If there are more or fewer values than points, or no points were asked for.
    pub fn tell(&mut self, values: &[f64]) -> Result<()> {
        self.is_asked()?;
        let expected = self.open.len() / self.dims;
        if values.len() != expected {
            let what = "the list of values told";
            return Err(Error::Length { what, found: values.len(), expected });
        }
        values.iter().enumerate().for_each(|(index, &value)| self.take(index, value));
        Ok(())
    }

    /// Takes the value of one of the points asked for, the row `index` of [`AskTell::ask`]; the next points
    /// are asked for once all have one. A second value of a point replaces the first.
    ///
    /// ```
    /// use flockwork::swarm::{AskTell, Problem, Search};
    ///
    /// let problem = Problem::elsewhere(vec![-5.0; 3], vec![5.0; 3])?;
    /// let mut search = AskTell::new(Search::new(problem).evaluations(100))?;
    /// let rows: Vec<Vec<f64>> = search.ask().unwrap().rows().map(<[f64]>::to_vec).collect();
    /// for (index, x) in rows.iter().enumerate().rev() {
    ///     search.tell_at(index, x.iter().map(|x| x * x).sum())?;
    /// }
    /// assert_ne!(search.ask().unwrap().row(0), rows[0]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such point, or no points were asked for.
    pub fn tell_at(&mut self, index: usize, value: f64) -> Result<()> {
        self.is_asked()?;
        let points = self.open.len() / self.dims;
        if index >= points {
            return Err(Error::Option {
                option: "the index of a value told",
                value: index.to_string(),
                accepted: format!("below {points}, the number of points asked for"),
            });
        }
        self.take(index, value);
        Ok(())
    }

    /// Refuses values that nobody asked for.
    fn is_asked(&self) -> Result<()> {
        if !self.open.is_empty() {
            return Ok(());
        }
        Err(Error::Option {
            option: "the list of values told",
            value: "given before any points were asked for".to_owned(),
            accepted: "told after `ask`, once".to_owned(),
        })
    }

    fn take(&mut self, index: usize, value: f64) {
        self.told.note(&self.open[index * self.dims..][..self.dims], value);
        if self.exchange.tell(index, value) {
            self.open.clear();
        }
    }

    /// The best finite value told so far of a point in the box that satisfies the constraints, and that
    /// point.
    pub fn best(&self) -> Option<(f64, &[f64])> {
        self.told.best()
    }

    /// The result. A search that is not over ends here, with the best that it was told
    /// ([`StopReason::Interrupted`](super::StopReason)).
    ///
    /// ```
    /// use flockwork::swarm::{AskTell, Problem, Search, StopReason};
    ///
    /// let problem = Problem::elsewhere(vec![-5.0; 3], vec![5.0; 3])?;
    /// let mut search = AskTell::new(Search::new(problem))?;
    /// let first = search.ask().unwrap().row(0).to_vec();
    /// search.tell_at(0, 7.0)?;
    /// let outcome = search.outcome()?;
    /// assert_eq!((outcome.value, outcome.position), (7.0, first));
    /// assert_eq!(outcome.stopped, StopReason::Interrupted);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`minimize`](super::minimize), and [`Error::Interrupted`] before any finite value was told.
    pub fn outcome(mut self) -> Result<Outcome> {
        self.exchange.end();
        let ended = self.engine.take().expect("taken here or on drop").outcome();
        self.told.completes(ended)
    }
}

impl Drop for AskTell {
    fn drop(&mut self) {
        self.exchange.end();
        if let Some(engine) = self.engine.take() {
            engine.abandon();
        }
    }
}

/// A search in a thread of its own.
pub(super) struct Engine(JoinHandle<Result<Outcome>>);

impl Engine {
    /// Runs it, and calls `over` when it has ended, however that is.
    pub fn begin(
        over: impl Fn() + Send + 'static,
        run: impl FnOnce() -> Result<Outcome> + Send + 'static,
    ) -> Result<Self> {
        let begun = thread::Builder::new().name("search".to_owned()).spawn(move || {
            let _over = Over(over);
            run()
        });
        begun.map(Self).map_err(|why| Error::Option {
            option: "threads",
            value: "1 more".to_owned(),
            accepted: format!("as many as the system can start ({why})"),
        })
    }

    /// Its result, once it has ended.
    pub fn outcome(self) -> Result<Outcome> {
        self.0.join().unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Waits for its end; nobody wants its result.
    pub fn abandon(self) {
        let _ = self.0.join();
    }
}

/// Says that the search is over when it is dropped.
struct Over<F: Fn()>(F);

impl<F: Fn()> Drop for Over<F> {
    fn drop(&mut self) {
        self.0();
    }
}
