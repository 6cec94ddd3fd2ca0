//! Measurements: how long an iteration takes, next to the least it could take.
//!
//! ```no_run
//! use flockwork::{backend::{AnyBackend, Choice}, bench, objective::Rastrigin};
//! use flockwork::swarm::{Precision, Problem};
//!
//! let backend = AnyBackend::select(Choice::Auto, 0)?;
//! for &(particles, dims) in bench::SIZES {
//!     let problem = Problem::new(Rastrigin, dims)?.shifted(1)?;
//!     let measured = bench::iteration(&problem, particles, Precision::F32, None, &backend)?;
//!     println!("{particles} x {dims}: {:.1} us", 1e6 * measured.seconds);
//! }
//! # Ok::<(), flockwork::Error>(())
//! ```

use std::time::{Duration, Instant};

use flockwork_device::swarm::layout::{self, TILE};
use serde::Serialize;

use crate::{
    Result,
    backend::{AnyBackend, Backend, Number, Plan, Swarm},
    swarm::{Options, Precision, Problem},
};

/// The sizes, particles by dimensions, that the tables of this project show.
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

/// The time of one iteration of one swarm.
///
/// ```
/// use flockwork::{bench::Measurement, swarm::Precision};
///
/// let measured = Measurement {
///     particles: 1000,
///     dims: 10,
///     precision: Precision::F32,
///     seconds: 1e-4,
///     range: (0.9e-4, 1.2e-4),
///     bytes: 1000 * 10 * 5 * 4,
/// };
/// println!("{:.1} GB/s", measured.bytes as f64 / measured.seconds / 1e9);
/// assert_eq!(measured.range.0.min(measured.seconds), measured.range.0);
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Measurement {
    /// Number of particles.
    pub particles: u32,
    /// Number of dimensions.
    pub dims: u32,
    /// The arithmetic.
    pub precision: Precision,
    /// Median over the repetitions, in seconds.
    pub seconds: f64,
    /// Least and greatest of the repetitions, in seconds.
    pub range: (f64, f64),
    /// Bytes that an iteration must read and write if the swarm's state lies in memory: position and
    /// velocity in and out, own best in.
    pub bytes: u64,
}

impl Measurement {
    /// Particles times dimensions per second.
    ///
    /// ```
    /// # use flockwork::{bench::Measurement, swarm::Precision};
    /// # let (precision, range, bytes) = (Precision::F32, (1e-6, 1e-6), 2000);
    /// let (particles, dims, seconds) = (50, 2, 1e-6);
    /// let measured = Measurement { particles, dims, precision, seconds, range, bytes };
    /// assert!((measured.rate() / 1e8 - 1.0).abs() < 1e-12);
    /// ```
    pub fn rate(&self) -> f64 {
        f64::from(self.particles) * f64::from(self.dims) / self.seconds
    }
}

/// How often a size is measured, and how long a measurement lasts at least.
const REPETITIONS: usize = 5;
const AT_LEAST: Duration = Duration::from_millis(150);

/// Measures synchronous iterations of one swarm, after a warm-up; `history` has a record kept after so
/// many iterations each.
///
/// ```
/// use flockwork::{backend::Cpu, bench, objective::Sphere, swarm::{Precision, Problem}};
///
/// let problem = Problem::new(Sphere, 2)?;
/// let measured = bench::iteration(&problem, 1000, Precision::F32, None, &Cpu::new(1)?)?;
/// let (least, greatest) = measured.range;
/// assert!(least <= measured.seconds && measured.seconds <= greatest);
/// # Ok::<(), flockwork::Error>(())
/// ```
pub fn iteration(
    problem: &Problem,
    particles: u32,
    precision: Precision,
    history: Option<u32>,
    backend: &impl Backend,
) -> Result<Measurement> {
    match precision {
        Precision::F32 => iteration_in::<f32>(problem, particles, precision, history, backend),
        Precision::F64 => iteration_in::<f64>(problem, particles, precision, history, backend),
    }
}

fn iteration_in<T: Number>(
    problem: &Problem,
    particles: u32,
    precision: Precision,
    history: Option<u32>,
    backend: &impl Backend,
) -> Result<Measurement> {
    let options = Options { particles, precision, ..Options::default() };
    let mut swarm = backend.swarm(problem.function(), Plan::<T>::new(problem, &options)?)?;
    swarm.record_every(history)?;
    swarm.start(None)?;
    swarm.best()?;
    let mut batch = 1;
    loop {
        let elapsed = time(&mut *swarm, batch)?;
        if elapsed >= AT_LEAST || batch >= 1 << 24 {
            break;
        }
        let wanted = AT_LEAST.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
        batch = (f64::from(batch) * (1.1 * wanted).clamp(1.5, 100.0)).ceil() as u32;
    }
    let mut seconds = Vec::new();
    for _ in 0..REPETITIONS {
        seconds.push(time(&mut *swarm, batch)?.as_secs_f64() / f64::from(batch));
    }
    seconds.sort_by(f64::total_cmp);
    let dims = problem.dims();
    Ok(Measurement {
        particles,
        dims,
        precision,
        seconds: seconds[REPETITIONS / 2],
        range: (seconds[0], seconds[REPETITIONS - 1]),
        bytes: (layout::tiles(particles as usize) * TILE) as u64
            * u64::from(dims)
            * 5
            * size_of::<T>() as u64,
    })
}

fn time<T: Number>(swarm: &mut dyn Swarm<T>, iterations: u32) -> Result<Duration> {
    let began = Instant::now();
    swarm.advance(iterations)?;
    swarm.best()?;
    swarm.take_records()?;
    Ok(began.elapsed())
}

/// What a back end's memory and launches allow.
///
/// ```
/// use flockwork::bench::Ceilings;
///
/// let gpu = Ceilings { copy_bytes_per_second: 4e12, launch_seconds: 4e-6 };
/// // The least that an iteration could take which moves so many bytes.
/// let least = (335_544_320.0 / gpu.copy_bytes_per_second).max(gpu.launch_seconds);
/// assert!(least > gpu.launch_seconds);
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ceilings {
    /// Bytes read and written per second by a copy within the device's memory.
    pub copy_bytes_per_second: f64,
    /// Seconds from one launch to the next, back to back: an iteration of the smallest swarm.
    pub launch_seconds: f64,
}

/// Measures a GPU's ceilings; none for the CPU.
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
            let launch = iteration(&smallest, 1, Precision::F32, None, cuda)?;
            Ok(Some(Ceilings {
                copy_bytes_per_second: 2.0 * bytes as f64 / best,
                launch_seconds: launch.seconds,
            }))
        }
    }
}
