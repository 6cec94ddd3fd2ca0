//! Measurements: the time of an iteration, compared with the least it could take.
//!
//! ```no_run
//! use flockwork::{backend::{AnyBackend, Choice}, bench::{self, Trial}, objective::Rastrigin};
//! use flockwork::swarm::{Mode, Precision, Problem};
//!
//! let backend = AnyBackend::select(Choice::Auto, 0)?;
//! for &(particles, dims) in bench::SIZES {
//!     let problem = Problem::new(Rastrigin, dims)?.shifted(1)?;
//!     let (precision, mode) = (Precision::F32, Mode::Synchronous);
//!     let trial = Trial { particles, precision, mode, history: None };
//!     let measured = bench::iteration(&problem, trial, &backend)?;
//!     println!("{particles} x {dims}: {:.1} us", 1e6 * measured.seconds);
//! }
//! # Ok::<(), flockwork::Error>(())
//! ```

pub mod bbob;
mod fit;
#[cfg(feature = "lineage")]
pub mod lineage;
mod many;
pub mod paths;

use std::time::Duration;

use flockwork_device::swarm::layout::{self, TILE};
use serde::{Deserialize, Serialize};

pub use fit::{FITS, FitCase, FitMeasurement, Processor, allowed, fit, processor};
pub use many::{Begin, IMAGES, ManyMeasurement, ManyModel, many};

use crate::{
    Error, Result,
    backend::{AnyBackend, Backend, Cpu, Number, Plan, Spread, Strategy, Swarm},
    swarm::{Mode, Options, Precision, Problem, Rule},
};

/// The sizes, particles by dimensions, in this project's tables.
pub const SIZES: &[(u32, u32)] = &[
    (40, 10),
    (2_048, 1),
    (65_536, 1),
    (131_072, 10),
    (65_536, 32),
    (65_536, 100),
    (1_048_576, 2),
    (1_048_576, 16),
    (1_048_576, 64),
];

/// The sizes, particles by dimensions, for comparing [`Cooperation`](crate::backend::Cooperation)s:
/// all fit on an H200's chip.
pub const SHARED: &[(u32, u32)] = &[
    (32, 512),
    (64, 1_024),
    (256, 240),
    (256, 1_024),
    (1_024, 128),
    (1_024, 1_024),
    (4_096, 64),
    (4_096, 256),
    (16_384, 64),
];

/// What to measure.
///
/// ```
/// use flockwork::{bench::Trial, swarm::{Mode, Precision}};
///
/// let (precision, mode) = (Precision::F64, Mode::Synchronous);
/// let trial = Trial { particles: 500, precision, mode, history: Some(20) };
/// assert_eq!(trial.history, Some(20));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Trial {
    /// Number of particles.
    pub particles: u32,
    /// The arithmetic.
    pub precision: Precision,
    /// Synchronous or asynchronous.
    pub mode: Mode,
    /// Record the swarm every this many iterations.
    pub history: Option<u32>,
}

/// The time of one iteration of one swarm.
///
/// ```
/// use flockwork::{backend::Strategy, bench::Measurement, swarm::Precision};
///
/// let measured = Measurement {
///     particles: 1000,
///     dims: 10,
///     precision: Precision::F32,
///     strategy: Strategy::Cpu,
///     seconds: 1e-4,
///     range: (0.9e-4, 1.2e-4),
///     bytes: 1000 * 10 * 5 * 4,
/// };
/// println!("{:.1} GB/s", measured.bytes as f64 / measured.seconds / 1e9);
/// assert_eq!(measured.range.0.min(measured.seconds), measured.range.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Number of particles.
    pub particles: u32,
    /// Number of dimensions.
    pub dims: u32,
    /// The arithmetic.
    pub precision: Precision,
    /// How the iterations were run.
    pub strategy: Strategy,
    /// Median over the repetitions, in seconds.
    pub seconds: f64,
    /// Smallest and largest of the repetitions, in seconds.
    pub range: (f64, f64),
    /// Bytes that an iteration must read and write if the swarm's state is in memory: position and
    /// velocity in and out, personal best in.
    pub bytes: u64,
}

impl Measurement {
    /// Particles times dimensions per second.
    ///
    /// ```
    /// # use flockwork::{backend::Strategy, bench::Measurement, swarm::Precision};
    /// # let (precision, range, bytes) = (Precision::F32, (1e-6, 1e-6), 2000);
    /// let (particles, dims, seconds) = (50, 2, 1e-6);
    /// # let strategy = Strategy::Cpu;
    /// let measured = Measurement { particles, dims, precision, strategy, seconds, range, bytes };
    /// assert!((measured.rate() / 1e8 - 1.0).abs() < 1e-12);
    /// ```
    pub fn rate(&self) -> f64 {
        f64::from(self.particles) * f64::from(self.dims) / self.seconds
    }

    /// Median and range.
    #[cfg(feature = "lineage")]
    pub(crate) fn spread(&self) -> Spread {
        Spread { median: self.seconds, range: self.range }
    }
}

/// Number of repetitions per size.
const REPETITIONS: usize = 5;

/// Measures iterations of one swarm, after a check of their result and a warm-up.
///
/// ```
/// use flockwork::{backend::Cpu, bench::{self, Trial}, objective::Sphere};
/// use flockwork::swarm::{Mode, Precision, Problem};
///
/// let (precision, mode) = (Precision::F32, Mode::Synchronous);
/// let trial = Trial { particles: 1000, precision, mode, history: None };
/// let measured = bench::iteration(&Problem::new(Sphere, 2)?, trial, &Cpu::new(1)?)?;
/// let (least, greatest) = measured.range;
/// assert!(least <= measured.seconds && measured.seconds <= greatest);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// [`Error::Wrong`] if the result is wrong: a synchronous one must have the bits that one thread of
/// the CPU computes; an asynchronous best must be where the function has that value.
pub fn iteration(problem: &Problem, trial: Trial, backend: &impl Backend) -> Result<Measurement> {
    let Trial { particles, precision, mode, history } = trial;
    // Forces the fused iteration, however small the swarm.
    let precision = Some(precision);
    let options = Options { particles, precision, mode, ..Options::for_rule(Rule::Inertia) };
    iteration_of(problem, &options, history, backend, Care::USUAL)
}

/// The number of iterations checked before anything is timed, and the least duration of a
/// measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Care {
    pub looked_at: u32,
    pub at_least: Duration,
}

impl Care {
    pub const USUAL: Self = Self { looked_at: 12, at_least: Duration::from_millis(150) };
}

/// Like [`iteration`], for a swarm with other options.
pub(crate) fn iteration_of(
    problem: &Problem,
    options: &Options,
    history: Option<u32>,
    backend: &impl Backend,
    care: Care,
) -> Result<Measurement> {
    match options.precision_for(problem) {
        Precision::F32 => iteration_in::<f32>(problem, options, history, backend, care),
        Precision::F64 => iteration_in::<f64>(problem, options, history, backend, care),
    }
}

fn iteration_in<T: Number>(
    problem: &Problem,
    options: &Options,
    history: Option<u32>,
    backend: &impl Backend,
    Care { looked_at, at_least }: Care,
) -> Result<Measurement> {
    let &Options { particles, mode, .. } = options;
    let plan = Plan::<T>::new(problem, options)?;
    let mut swarm = backend.swarm(problem.function(), plan.clone())?;
    swarm.record_every(history)?;
    swarm.start(None)?;
    swarm.advance(looked_at)?;
    look(problem, mode, &mut *swarm, plan, looked_at)?;
    let batch = long_enough(at_least, 1 << 24, |iterations| swarm.timed(iterations))?;
    let mut seconds = Vec::new();
    for _ in 0..REPETITIONS {
        seconds.push(swarm.timed(batch)?.as_secs_f64() / f64::from(batch));
        swarm.take_records()?;
    }
    let Spread { median: seconds, range } = Spread::of_seconds(seconds);
    let dims = problem.dims();
    Ok(Measurement {
        particles,
        dims,
        precision: T::PRECISION,
        strategy: swarm.strategy(),
        seconds,
        range,
        bytes: (layout::tiles(particles as usize) * TILE) as u64
            * u64::from(dims)
            * 5
            * size_of::<T>() as u64,
    })
}

/// Finds a number of iterations for which `run` takes at least `at_least`; stops at `enough`,
/// however short they are.
fn long_enough(
    at_least: Duration,
    enough: u32,
    mut run: impl FnMut(u32) -> Result<Duration>,
) -> Result<u32> {
    let mut iterations = 1;
    loop {
        // The shorter of two runs: the other may have been delayed by something else.
        let elapsed = run(iterations)?.min(run(iterations)?);
        if elapsed >= at_least || iterations >= enough {
            return Ok(iterations);
        }
        let wanted = at_least.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
        iterations = (f64::from(iterations) * (1.1 * wanted).clamp(1.5, 100.0)).ceil() as u32;
    }
}

/// Checks the best after this many iterations.
fn look<T: Number>(
    problem: &Problem,
    mode: Mode,
    swarm: &mut dyn Swarm<T>,
    plan: Plan<T>,
    iterations: u32,
) -> Result<()> {
    let best = swarm.best()?;
    let wrong = |expected: String| {
        let particles = plan.particles;
        Err(Error::Wrong {
            particles,
            dims: problem.dims(),
            found: best.value.to_string(),
            expected,
        })
    };
    let value = swarm.evaluate(&best.position)?[0];
    if value != best.value {
        return wrong(format!("{value}, the value where it says that it is"));
    }
    if mode == Mode::Synchronous {
        let mut plain = Cpu::new(0)?.swarm(problem.function(), plan.clone())?;
        plain.start(None)?;
        plain.advance(iterations)?;
        let expected = plain.best()?;
        if expected != best {
            return wrong(format!("{} of particle {}", expected.value, expected.particle));
        }
    }
    Ok(())
}

/// The limits of a back end's memory and launches.
///
/// ```
/// use flockwork::bench::Ceilings;
///
/// let gpu = Ceilings { copy_bytes_per_second: 4e12, launch_seconds: 4e-6 };
/// // The least time of an iteration that moves this many bytes.
/// let least = (335_544_320.0 / gpu.copy_bytes_per_second).max(gpu.launch_seconds);
/// assert!(least > gpu.launch_seconds);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// Bytes read and written per second by a copy within the device's memory.
    pub copy_bytes_per_second: f64,
    /// Seconds between back-to-back launches: an iteration of the smallest swarm.
    pub launch_seconds: f64,
}

/// Measures a GPU's ceilings; `None` for the CPU.
///
/// ```
/// use flockwork::{backend::{AnyBackend, Choice}, bench};
///
/// assert!(bench::ceilings(&AnyBackend::select(Choice::Cpu, 1)?)?.is_none());
/// # Ok::<(), flockwork::Error>(())
/// ```
pub fn ceilings(backend: &AnyBackend) -> Result<Option<Ceilings>> {
    match backend {
        AnyBackend::Cpu(..) => Ok(None),
        #[cfg(feature = "cuda")]
        AnyBackend::Cuda(cuda, _) => {
            let gpu = cuda.gpu();
            let bytes = (gpu.free_memory()? / 8).min(4 << 30) as usize;
            let source = gpu.alloc_zeroed::<u8>(bytes)?;
            let mut target = gpu.alloc_zeroed::<u8>(bytes)?;
            let stream = gpu.stream()?;
            let (start, end) = (gpu.event()?, gpu.event()?);
            let mut best = f64::INFINITY;
            for _ in 0..REPETITIONS {
                stream.record(&start)?;
                stream.copy(&source, &mut target)?;
                stream.record(&end)?;
                end.synchronize()?;
                best = best.min(f64::from(end.elapsed_ms(&start)?) / 1e3);
            }
            let smallest = Problem::new(flockwork_device::objective::Sphere, 1)?;
            let (precision, mode) = (Precision::F32, Mode::Synchronous);
            let trial = Trial { particles: 1, precision, mode, history: None };
            let streaming = cuda.clone().with_strategy(Strategy::Streaming);
            let launch = iteration(&smallest, trial, &streaming)?;
            Ok(Some(Ceilings {
                copy_bytes_per_second: 2.0 * bytes as f64 / best,
                launch_seconds: launch.seconds,
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_are_as_many_as_take_so_long() {
        let found = |at_least, each: Duration| {
            long_enough(Duration::from_micros(at_least), 5_000, |iterations| Ok(each * iterations))
        };
        let many = found(20_000, Duration::from_micros(7)).unwrap();
        assert!((2_858..3_300).contains(&many), "{many}");
        assert_eq!(found(7, Duration::from_micros(7)).unwrap(), 1);
        // Regardless of the duration.
        let enough = found(1, Duration::ZERO).unwrap();
        assert!((5_000..500_000).contains(&enough), "{enough}");
        // The shorter of two times decides.
        let mut times = [9, 3, 9, 9].map(Duration::from_micros).into_iter();
        let found = long_enough(Duration::from_micros(5), 100, |_| Ok(times.next().unwrap()));
        assert!(found.unwrap() > 1 && times.next().is_none());
    }
}
