//! Swarms on a GPU whose points the caller evaluates there.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use bytemuck::cast_slice;

use super::{Checkpoint, Outcome, Precision, Problem, Progress, Saved, Search, ask::Engine};
use crate::{
    Error, Result,
    backend::{
        Cuda,
        told::{Handover, ShownOnGpu, ToldOnGpu},
        told_kernels::Values,
    },
    cuda::{Buffer, Event},
};

/// The best value that a swarm has told of, and its point.
type Seen = Mutex<Option<(f64, Vec<f64>)>>;

/// A swarm on a GPU that asks for the values of its points, which another library evaluates there: points and
/// values stay in the GPU's memory, and nobody waits between an iteration and the next but for the values.
///
/// It takes the steps of an [`AskTell`](super::AskTell) with the same options and values, to the bit, and
/// stops, restarts and saves as it does. Its problem is continuous or whole, and has no constraints. Searches
/// other than swarms do not run there.
///
/// An iteration takes two launches beside the caller's own, a move and one that takes the values; a third one
/// shows the points row by row where the swarm is not the usual one, or has many dimensions.
///
/// ```
/// use flockwork::backend::Cuda;
/// use flockwork::swarm::{AskTellOnGpu, Problem, Search};
///
/// if let Ok(gpu) = Cuda::open(0) {
///     let problem = Problem::elsewhere(vec![-5.0; 3], vec![5.0; 3])?;
///     let search = Search::new(problem).particles(64).iterations(100);
///     let mut swarm = AskTellOnGpu::new(search, &gpu)?;
///     while let Some(points) = swarm.ask() {
///         // A kernel would read them at `points.address()`.
///         let numbers = points.to_vec()?;
///         let bowl = |x: &[f64]| x.iter().map(|x| (x - 1.0).powi(2)).sum();
///         let values: Vec<f64> = numbers.chunks_exact(3).map(bowl).collect();
///         swarm.tell(&values)?;
///     }
///     assert!(swarm.outcome()?.value < 1e-6);
/// }
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// Dropped, it ends the search.
pub struct AskTellOnGpu {
    handover: Arc<Handover>,
    /// The search, until it has ended.
    engine: Option<Engine>,
    gpu: Cuda,
    /// The points asked for, until their values are told.
    open: Option<PointsOnGpu>,
    /// Values from the host, as long as they may be read.
    told: Option<Buffer<f64>>,
    best: Arc<Seen>,
}

impl fmt::Debug for AskTellOnGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskTellOnGpu")
            .field("open", &self.open)
            .field("best", &self.best())
            .finish_non_exhaustive()
    }
}

impl AskTellOnGpu {
    /// Begins a swarm, in a thread of its own that waits for values. The function of its problem is not
    /// called.
    ///
    /// # Errors
    /// If the problem has constraints, or the system has no thread. An option that makes no sense is an
    /// error of [`AskTellOnGpu::outcome`], and nothing is asked.
    pub fn new(search: Search, gpu: &Cuda) -> Result<Self> {
        let problem = search.problem().clone();
        Self::begun(&problem, gpu, move |problem, gpu, note| {
            search.for_problem(problem).run_on(gpu, note)
        })
    }

    /// Resumes a saved one, of this class or of [`AskTell`](super::AskTell). `problem` is as it was, and
    /// `saved` says where it is saved from now on.
    ///
    /// ```
    /// use std::time::Duration;
    /// use flockwork::backend::Cuda;
    /// use flockwork::swarm::{AskTellOnGpu, Checkpoint, Problem, Search};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run");
    /// if let Ok(gpu) = Cuda::open(0) {
    ///     let problem = Problem::elsewhere(vec![-5.0; 2], vec![5.0; 2])?;
    ///     let search = Search::new(problem.clone()).particles(32).iterations(9);
    ///     let mut first = AskTellOnGpu::new(search.save(&path, Duration::ZERO), &gpu)?;
    ///     for _ in 0..4 {
    ///         let values = vec![1.0; first.ask().expect("not over yet").len()];
    ///         first.tell(&values)?;
    ///     }
    ///     assert!(first.outcome()?.iterations < 9);
    ///     let checkpoint = Checkpoint::read(&path)?;
    ///     let mut rest = AskTellOnGpu::resume(&checkpoint, &problem, &gpu, None)?;
    ///     while let Some(points) = rest.ask() {
    ///         let values = vec![1.0; points.len()];
    ///         rest.tell(&values)?;
    ///     }
    ///     assert_eq!(rest.outcome()?.iterations, 9);
    /// }
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`AskTellOnGpu::new`]; and that the file is of another problem is an error of
    /// [`AskTellOnGpu::outcome`].
    pub fn resume(
        checkpoint: &Checkpoint,
        problem: &Problem,
        gpu: &Cuda,
        saved: Option<Saved>,
    ) -> Result<Self> {
        let checkpoint = checkpoint.clone();
        Self::begun(problem, gpu, move |problem, gpu, note| {
            checkpoint.resume(&problem, gpu, saved, note)
        })
    }

    /// Begins what `engine` runs with the problem, whose function is the caller. It tells how far it is.
    fn begun(
        problem: &Problem,
        gpu: &Cuda,
        engine: impl FnOnce(Problem, &Cuda, &mut dyn FnMut(&Progress)) -> Result<Outcome>
        + Send
        + 'static,
    ) -> Result<Self> {
        if !problem.constraints().is_empty() {
            return Err(Error::Option {
                option: "constraints",
                value: "given".to_owned(),
                accepted: "none where the caller evaluates the points on a GPU".to_owned(),
            });
        }
        let handover = Arc::new(Handover::default());
        // SAFETY: `tell` keeps the values or was promised that they stay, until others are told or `end` has
        // returned.
        let function =
            unsafe { ToldOnGpu::new(Arc::clone(&handover), problem.dims(), problem.name()) };
        let problem = problem.with_function(|_| Arc::new(function));
        let over = Arc::clone(&handover);
        let best = Arc::<Seen>::default();
        let (own, noted) = (gpu.clone(), Arc::clone(&best));
        let mut note = move |progress: &Progress| {
            if !progress.position.is_empty() && progress.value.is_finite() {
                let found = (progress.value, progress.position.to_vec());
                *noted.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
            }
        };
        let engine =
            Engine::begin(move || over.is_over(), move || engine(problem, &own, &mut note))?;
        let gpu = gpu.clone();
        Ok(Self { handover, engine: Some(engine), gpu, open: None, told: None, best })
    }

    /// The points to evaluate next, all of an iteration. The same points until their values are told;
    /// `None` once the swarm is over.
    ///
    /// Returns when the GPU has been told to show them, in the default stream: work of other streams has to
    /// wait for that ([`PointsOnGpu::precede`]).
    pub fn ask(&mut self) -> Option<&PointsOnGpu> {
        if self.open.is_none() {
            let shown = self.handover.next()?;
            let ordinal = self.gpu.gpu().device().ordinal;
            self.open = Some(PointsOnGpu { shown: Arc::new(shown), ordinal });
        }
        self.open.as_ref()
    }

    /// Takes a value for each of the points asked for, in their order, from the host. NaN counts as
    /// infinitely bad, and so does any value outside the box where particles are invisible there
    /// ([`Edge::Invisible`](super::Edge)).
    ///
    /// # Errors
    /// If there are more or fewer values than points, no points were asked for, or the GPU fails.
    pub fn tell(&mut self, values: &[f64]) -> Result<()> {
        self.is_asked(values.len())?;
        let told = self.gpu.gpu().upload(values)?;
        let address = told.address();
        self.take(address, Precision::F64, None);
        self.told = Some(told);
        Ok(())
    }

    /// Takes a value for each of the points asked for, in their order, from the GPU's memory.
    ///
    /// ```
    /// use flockwork::backend::Cuda;
    /// use flockwork::swarm::{AskTellOnGpu, Precision, Problem, Search, ValuesOnGpu};
    ///
    /// # if let Ok(gpu) = Cuda::open(0) {
    /// let problem = Problem::elsewhere(vec![0.0], vec![1.0])?;
    /// let search = Search::new(problem).f64().particles(50).iterations(10);
    /// let mut swarm = AskTellOnGpu::new(search, &gpu)?;
    /// while let Some(points) = swarm.ask().cloned() {
    ///     // The function is x itself: the only coordinate of each point is its value.
    ///     let (address, count) = (points.address(), points.len());
    ///     let values = ValuesOnGpu { address, count, precision: Precision::F64, stream: None };
    ///     // SAFETY: there are so many numbers, which nobody writes while `points` lives; the swarm's own
    ///     // stream wrote them.
    ///     unsafe { swarm.tell_there(values)? };
    /// }
    /// assert!(swarm.outcome()?.value < 0.01);
    /// # }
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Safety
    /// So many numbers lie there, in memory of this GPU. They stay there unchanged until other values have been
    /// told and points asked for again, or until [`AskTellOnGpu::outcome`] has returned. The stream, if one is
    /// given, exists.
    ///
    /// # Errors
    /// As [`AskTellOnGpu::tell`].
    pub unsafe fn tell_there(&mut self, values: ValuesOnGpu) -> Result<()> {
        let ValuesOnGpu { address, count, precision, stream } = values;
        self.is_asked(count)?;
        let ready = match stream {
            None => None,
            Some(stream) => {
                let event = self.gpu.gpu().untimed_event()?;
                // SAFETY: the stream exists, as the caller promised.
                unsafe { event.record_in(stream)? };
                Some(event)
            }
        };
        self.take(address, precision, ready);
        self.told = None;
        Ok(())
    }

    /// Refuses values that nobody asked for.
    fn is_asked(&self, found: usize) -> Result<()> {
        let what = "the list of values told";
        match &self.open {
            Some(points) if points.len() == found => Ok(()),
            Some(points) => Err(Error::Length { what, found, expected: points.len() }),
            None => Err(Error::Option {
                option: what,
                value: "given before any points were asked for".to_owned(),
                accepted: "told after `ask`, once".to_owned(),
            }),
        }
    }

    fn take(&mut self, address: u64, precision: Precision, ready: Option<Event>) {
        self.handover.tell(Values { address, precision, ready });
        self.open = None;
    }

    /// The best value and its point, as of the swarm's last look: about twenty times a second it waits for the
    /// GPU.
    pub fn best(&self) -> Option<(f64, Vec<f64>)> {
        self.best.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The result. A swarm that is not over ends here, with the best that it was told
    /// ([`StopReason::Interrupted`](super::StopReason)).
    ///
    /// # Errors
    /// As [`minimize`](super::minimize), and [`Error::Interrupted`] before any finite value was told.
    pub fn outcome(mut self) -> Result<Outcome> {
        self.handover.end();
        self.engine.take().expect("taken here or on drop").outcome()
    }
}

impl Drop for AskTellOnGpu {
    fn drop(&mut self) {
        self.handover.end();
        if let Some(engine) = self.engine.take() {
            engine.abandon();
        }
    }
}

/// Points in a GPU's memory that are to be evaluated: a matrix by rows, a point a row, without gaps. It is not
/// written again as long as this lives.
///
/// ```
/// use flockwork::backend::Cuda;
/// use flockwork::swarm::{AskTellOnGpu, Precision, Problem, Search};
///
/// # if let Ok(gpu) = Cuda::open(0) {
/// let problem = Problem::elsewhere(vec![-5.0; 3], vec![5.0; 3])?;
/// let mut swarm = AskTellOnGpu::new(Search::new(problem).f64().particles(100), &gpu)?;
/// let points = swarm.ask().expect("not over").clone();
/// assert_eq!((points.len(), points.dims(), points.ordinal()), (100, 3, 0));
/// assert_eq!((points.precision(), points.to_vec()?.len()), (Precision::F64, 300));
/// // SAFETY: the default stream exists.
/// unsafe { points.precede(0)? };
/// assert!(points.address() != 0 && points.stream() != 0);
/// # }
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone)]
pub struct PointsOnGpu {
    shown: Arc<ShownOnGpu>,
    ordinal: u32,
}

impl fmt::Debug for PointsOnGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PointsOnGpu")
            .field("len", &self.len())
            .field("dims", &self.dims())
            .field("precision", &self.precision())
            .field("ordinal", &self.ordinal)
            .finish_non_exhaustive()
    }
}

impl PointsOnGpu {
    /// How many points.
    pub fn len(&self) -> usize {
        self.shown.points
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many coordinates each has.
    pub fn dims(&self) -> usize {
        self.shown.dims
    }

    /// The type of the coordinates, in which the swarm computes.
    pub fn precision(&self) -> Precision {
        self.shown.precision
    }

    /// Where they lie in the GPU's memory.
    pub fn address(&self) -> u64 {
        self.shown.address
    }

    /// The number of the GPU.
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// The driver's handle of the stream that writes them and reads their values: the default stream.
    pub fn stream(&self) -> usize {
        self.shown.stream
    }

    /// Makes later work of a stream wait until they are there.
    ///
    /// # Safety
    /// `stream` is the driver's handle of a stream of this GPU that exists; 0 and 1 are the default stream, 2 is
    /// the one of the thread.
    ///
    /// # Errors
    /// An error from the driver.
    pub unsafe fn precede(&self, stream: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        Ok(unsafe { self.shown.ready().precede(stream) }?)
    }

    /// Their coordinates in the host's memory, one point after the other.
    ///
    /// # Errors
    /// An error from the driver.
    pub fn to_vec(&self) -> Result<Vec<f64>> {
        let count = self.len() * self.dims();
        match self.precision() {
            Precision::F32 => {
                let words = self.shown.room.memory.download_range(0..count.div_ceil(2))?;
                Ok(cast_slice::<u64, f32>(&words)[..count].iter().copied().map(f64::from).collect())
            }
            Precision::F64 => {
                let words = self.shown.room.memory.download_range(0..count)?;
                Ok(cast_slice(&words).to_vec())
            }
        }
    }
}

/// Values of points in a GPU's memory, one after the other without gaps: see
/// [`AskTellOnGpu::tell_there`].
///
/// ```
/// use flockwork::swarm::{Precision, ValuesOnGpu};
///
/// let address = 0x7f00_0000_0000;
/// let values = ValuesOnGpu { address, count: 100, precision: Precision::F32, stream: None };
/// assert_eq!(values.count, 100);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValuesOnGpu {
    /// Where they lie.
    pub address: u64,
    /// How many there are.
    pub count: usize,
    /// Their type.
    pub precision: Precision,
    /// The driver's handle of the stream that writes them; `None` if that is the default stream, or the default
    /// stream waits for them already.
    pub stream: Option<usize>,
}
