//! Closures that get all points of a generation at once.

use std::{
    panic::resume_unwind,
    path::Path,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use flockwork_device::{math::Scalar, swarm::view::View};

#[cfg(feature = "cuda")]
use super::{Cuda, Plan, Swarm};
use super::{
    Evaluator, Function, FunctionIn, Judged, Number, Simd,
    function::{Named, evaluate_called, evaluate_called_tile},
};
use crate::{Error, Result};

/// Points to be evaluated, one row for each.
///
/// ```
/// use flockwork::swarm::Points;
///
/// let points = Points::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3);
/// assert_eq!((points.len(), points.dims()), (2, 3));
/// assert_eq!(points.row(1), [4.0, 5.0, 6.0]);
/// assert_eq!(points.rows().map(|x| x.iter().sum::<f64>()).collect::<Vec<_>>(), [6.0, 15.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Points<'a> {
    numbers: &'a [f64],
    dims: usize,
}

impl<'a> Points<'a> {
    /// Rows of `dims` numbers each, one after the other.
    ///
    /// # Panics
    /// If `dims` is 0 or does not divide how many numbers there are.
    pub fn new(numbers: &'a [f64], dims: usize) -> Self {
        assert!(dims > 0 && numbers.len().is_multiple_of(dims), "{} by {dims}", numbers.len());
        Self { numbers, dims }
    }

    /// How many points.
    pub fn len(&self) -> usize {
        self.numbers.len() / self.dims
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// How many coordinates each has.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// One of them.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn row(&self, index: usize) -> &'a [f64] {
        &self.numbers[index * self.dims..][..self.dims]
    }

    /// All of them, in order.
    pub fn rows(&self) -> std::slice::ChunksExact<'a, f64> {
        self.numbers.chunks_exact(self.dims)
    }

    /// Their coordinates, one point after the other: a matrix by rows.
    ///
    /// ```
    /// use flockwork::swarm::Points;
    ///
    /// assert_eq!(Points::new(&[1.0, 2.0], 1).as_slice(), [1.0, 2.0]);
    /// ```
    pub fn as_slice(&self) -> &'a [f64] {
        self.numbers
    }

    /// As a matrix of `ndarray`, a point a row.
    ///
    /// ```
    /// use flockwork::swarm::Points;
    ///
    /// let points = Points::new(&[1.0, 2.0, 3.0, 4.0], 2);
    /// assert_eq!(points.ndarray().column(1).sum(), 6.0);
    /// ```
    #[cfg(feature = "ndarray")]
    pub fn ndarray(&self) -> ndarray::ArrayView2<'a, f64> {
        ndarray::ArrayView2::from_shape((self.len(), self.dims), self.numbers).expect("so many")
    }

    /// As a matrix of `nalgebra`, a point a column.
    ///
    /// ```
    /// use flockwork::swarm::Points;
    ///
    /// let points = Points::new(&[1.0, 2.0, 3.0, 4.0], 2);
    /// assert_eq!(points.nalgebra().row(1).sum(), 6.0);
    /// ```
    #[cfg(feature = "nalgebra")]
    pub fn nalgebra(&self) -> nalgebra::DMatrixView<'a, f64> {
        nalgebra::DMatrixView::from_slice(self.numbers, self.dims, self.len())
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl<E> Sealed for Result<(), E> {}
}

/// What a closure of [`Problem::from_batch`](crate::swarm::Problem::from_batch) returns: nothing, or whether
/// it failed.
///
/// ```
/// use flockwork::swarm::Batched;
///
/// assert!(().failure().is_none());
/// let failed: Result<(), std::num::ParseIntError> = "x".parse::<i32>().map(|_| ());
/// assert!(failed.failure().is_some_and(|error| error.is::<std::num::ParseIntError>()));
/// ```
pub trait Batched: sealed::Sealed {
    /// What went wrong, if something did.
    fn failure(self) -> Option<Failure>;
}

/// An error of the caller's code.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Batched for () {
    fn failure(self) -> Option<Failure> {
        None
    }
}

impl<E: Into<Failure>> Batched for Result<(), E> {
    fn failure(self) -> Option<Failure> {
        self.err().map(Into::into)
    }
}

/// Evaluates all points of a generation: consecutive points, and a slice for their values.
type Call = dyn FnMut(&[f64], &mut [f64]) -> Option<Failure> + Send;

/// A closure that gets all points of a generation at once, one call at a time.
pub(crate) struct Whole {
    dims: u32,
    shared: Arc<Shared>,
}

struct Shared {
    call: Mutex<Box<Call>>,
    state: Mutex<State>,
    /// Whether the run is saved, and so has to go back if it ends while values are missing.
    is_saved: AtomicBool,
}

/// Whether it has failed.
#[derive(Default)]
enum State {
    #[default]
    Well,
    /// With an error that nobody has been told yet.
    Failed(Failure),
    /// And the run was told, or it was asked to end ([`Error::Interrupted`]).
    Told,
}

impl Whole {
    pub fn new(
        dims: u32,
        call: impl FnMut(&[f64], &mut [f64]) -> Option<Failure> + Send + 'static,
    ) -> Self {
        let (call, state) = (Mutex::new(Box::new(call) as Box<Call>), Mutex::default());
        let shared = Shared { call, state, is_saved: AtomicBool::new(false) };
        Self { dims, shared: Arc::new(shared) }
    }
}

impl Function for Whole {
    fn info(&self) -> Named {
        Named { name: "closure".to_owned(), info: None }
    }

    fn only_dims(&self) -> Option<u32> {
        Some(self.dims)
    }

    fn begin(&self, _: Option<&Path>, saved: Option<&Path>) -> Result<()> {
        *self.shared.state() = State::Well;
        self.shared.is_saved.store(saved.is_some(), Ordering::Relaxed);
        Ok(())
    }

    fn can_be_cut_short(&self) -> bool {
        // Else it need not stop after each generation.
        self.shared.is_saved.load(Ordering::Relaxed)
    }

    fn was_cut_short(&self) -> Result<bool> {
        let mut state = self.shared.state();
        match std::mem::replace(&mut *state, State::Told) {
            State::Well => {
                *state = State::Well;
                Ok(false)
            }
            State::Failed(failure) => Err(Error::Function(failure)),
            State::Told => Ok(true),
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Shared::call`], where several threads of a pool may call at once. The closure may use threads of
    /// that pool, and while it waits for them this one would take up other work, which calls it again: so
    /// another thread calls it, and this one does nothing meanwhile.
    fn call_in_turns(&self, points: &[f64], values: &mut [f64]) {
        if rayon::current_thread_index().is_none() {
            return self.call(points, values);
        }
        thread::scope(|scope| {
            if let Err(panic) = scope.spawn(|| self.call(points, values)).join() {
                resume_unwind(panic);
            }
        });
    }

    /// The values at consecutive points. Once it has failed, there are none: each is NaN.
    fn call(&self, points: &[f64], values: &mut [f64]) {
        // A closure that has panicked is not called again: the run is over.
        let Ok(mut call) = self.call.lock() else { return };
        if !matches!(&*self.state(), State::Well) {
            return;
        }
        if let Some(failure) = call(points, values) {
            values.fill(f64::NAN);
            *self.state() = match failure.downcast_ref() {
                Some(Error::Interrupted) => State::Told,
                _ => State::Failed(failure),
            };
        }
    }
}

impl<T: Number> FunctionIn<T> for Whole {
    fn evaluator(&self, _: Simd) -> Box<dyn Evaluator<T>> {
        Box::new(CalledWhole(Arc::clone(&self.shared), Mutex::default()))
    }

    #[cfg(feature = "cuda")]
    fn on_gpu(&self, _: &Cuda, _: Plan<T>) -> Result<Box<dyn Swarm<T>>> {
        Err(self.why_on_cpu().1)
    }
}

/// Where a search and the caller who evaluates its points meet.
#[derive(Default)]
pub(crate) struct Exchange {
    meeting: Mutex<Meeting>,
    changed: Condvar,
    /// Held by whoever asks.
    turn: Mutex<()>,
}

#[derive(Default)]
struct Meeting {
    /// The points asked for, until the caller takes them.
    points: Option<Vec<f64>>,
    /// Their values, as far as they are known.
    values: Vec<Option<f64>>,
    missing: usize,
    /// Whether the caller wants no more points.
    is_ended: bool,
    /// Whether nothing more will be asked for.
    is_over: bool,
}

impl Exchange {
    fn lock(&self) -> MutexGuard<'_, Meeting> {
        self.meeting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for<'a>(&'a self, meeting: MutexGuard<'a, Meeting>) -> MutexGuard<'a, Meeting> {
        self.changed.wait(meeting).unwrap_or_else(PoisonError::into_inner)
    }

    /// The next points, once they are asked for; `None` if there will be none.
    pub fn wait(&self) -> Option<Vec<f64>> {
        let mut meeting = self.lock();
        loop {
            if let Some(points) = meeting.points.take() {
                return Some(points);
            }
            if meeting.is_over || meeting.is_ended {
                return None;
            }
            meeting = self.wait_for(meeting);
        }
    }

    /// Takes the value of one of the points; returns whether it was the last that was missing.
    pub fn tell(&self, index: usize, value: f64) -> bool {
        let mut meeting = self.lock();
        if meeting.values[index].replace(value).is_none() {
            meeting.missing -= 1;
        }
        let is_last = meeting.missing == 0;
        if is_last {
            self.changed.notify_all();
        }
        is_last
    }

    /// The caller wants no more points.
    pub fn end(&self) {
        self.lock().is_ended = true;
        self.changed.notify_all();
    }

    /// Nothing more will be asked for.
    pub fn is_over(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    /// Asks for values. Without all of them once the caller has ended it.
    fn ask(&self, points: &[f64], values: &mut [f64]) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut meeting = self.lock();
        if meeting.is_ended {
            return;
        }
        meeting.points = Some(points.to_vec());
        meeting.values = vec![None; values.len()];
        meeting.missing = values.len();
        self.changed.notify_all();
        while meeting.missing > 0 && !meeting.is_ended {
            meeting = self.wait_for(meeting);
        }
        meeting.points = None;
        for (value, told) in values.iter_mut().zip(&meeting.values) {
            *value = told.unwrap_or(f64::NAN);
        }
    }
}

/// A function whose values somebody else tells.
pub(crate) struct Elsewhere {
    exchange: Arc<Exchange>,
    dims: u32,
    name: String,
}

impl Elsewhere {
    pub fn new(exchange: Arc<Exchange>, dims: u32, name: &str) -> Self {
        Self { exchange, dims, name: name.to_owned() }
    }
}

impl Function for Elsewhere {
    fn info(&self) -> Named {
        Named { name: self.name.clone(), info: None }
    }

    fn only_dims(&self) -> Option<u32> {
        Some(self.dims)
    }

    fn can_be_cut_short(&self) -> bool {
        true
    }

    fn was_cut_short(&self) -> Result<bool> {
        Ok(self.exchange.lock().is_ended)
    }
}

impl<T: Number> FunctionIn<T> for Elsewhere {
    fn evaluator(&self, _: Simd) -> Box<dyn Evaluator<T>> {
        Box::new(Asking(Arc::clone(&self.exchange), Mutex::default()))
    }

    #[cfg(feature = "cuda")]
    fn on_gpu(&self, _: &Cuda, _: Plan<T>) -> Result<Box<dyn Swarm<T>>> {
        Err(self.why_on_cpu().1)
    }
}

/// With memory for the points.
struct Asking(Arc<Exchange>, Mutex<Vec<f64>>);

/// With memory for the points.
struct CalledWhole(Arc<Shared>, Mutex<Vec<f64>>);

/// What wants all points at once, as an evaluator.
macro_rules! evaluates_at_once {
    ($type:ident, $ask:ident, $ask_in_turns:ident) => {
        impl<T: Scalar> Evaluator<T> for $type {
            fn evaluate(&self, view: &View<T>, tile: Judged<'_, T>) {
                let ask = |points: &[f64], values: &mut [f64]| self.0.$ask_in_turns(points, values);
                evaluate_called_tile(view, tile, &ask);
            }

            fn terms(&self, _: &View<T>) -> usize {
                // Whoever evaluates them shares the work.
                1
            }

            fn at_once(&self) -> bool {
                true
            }

            fn evaluate_all(
                &self,
                view: &View<T>,
                slots: &mut dyn Iterator<Item = usize>,
                read: &dyn Fn(&[usize], &mut [T]),
                fitness: &mut [T],
            ) {
                let ask = |points: &[f64], values: &mut [f64]| self.0.$ask(points, values);
                // Taken, so that nobody waits for it.
                let memory = || self.1.lock().unwrap_or_else(PoisonError::into_inner);
                let mut points = std::mem::take(&mut *memory());
                evaluate_called(view, slots, read, &ask, fitness, &mut points);
                *memory() = points;
            }
        }
    };
}
evaluates_at_once!(CalledWhole, call, call_in_turns);
evaluates_at_once!(Asking, ask, ask);
