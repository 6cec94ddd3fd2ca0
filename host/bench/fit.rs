//! Fits: the time of a swarm's iteration over many rows, compared with the limits of memory and
//! arithmetic. A GPU's times are by its own clock.

use std::{hint::black_box, time::Instant};

use flockwork_device::math::{Lanes, Real, Scalar};
use rayon::prelude::*;
use serde::Serialize;

use super::{Trial, iteration};
#[cfg(feature = "cuda")]
use crate::backend::Cuda;
use crate::{
    Result,
    backend::{AnyBackend, Backend, Cpu, Number, Simd, dispatched},
    fit::{Data, Fit, Linear, synthetic},
    swarm::{Mode, Precision},
};

/// A linear model with this many parameters and rows.
///
/// ```
/// use flockwork::bench::{FITS, FitCase};
///
/// let f10 = FITS.iter().find(|case| case.name == "f10").unwrap();
/// assert_eq!((f10.dims, f10.rows, f10.particles), (4, 6_980_011, 64));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FitCase {
    /// Its name in Hosala's thesis.
    pub name: &'static str,
    /// Number of parameters.
    pub dims: u32,
    /// Number of rows.
    pub rows: usize,
    /// Number of particles.
    pub particles: u32,
    /// The time of an iteration in `f64` with the thesis's best kernel, in microseconds, and the
    /// GPU, if they are published.
    pub published: Option<(u32, &'static str)>,
    /// The target for an iteration in `f64` on one NVIDIA H200, in microseconds: four fifths of
    /// what plain fused multiply-adds reach, and 20 for the smallest. 0 if there is no target.
    pub wanted_us: u32,
}

/// The thesis's cases, by their sizes, and one with more particles.
pub const FITS: &[FitCase] = &[
    FitCase {
        name: "f5<8, 131072>",
        dims: 8,
        rows: 131_072,
        particles: 64,
        published: Some((2_017, "GTX 660 Ti")),
        wanted_us: 20,
    },
    FitCase {
        name: "f9",
        dims: 16,
        rows: 1_088_576,
        particles: 128,
        published: None,
        wanted_us: 177,
    },
    FitCase {
        name: "f9",
        dims: 16,
        rows: 1_088_576,
        particles: 2_048,
        published: None,
        wanted_us: 2_835,
    },
    FitCase {
        name: "f10",
        dims: 4,
        rows: 6_980_011,
        particles: 64,
        published: Some((58_157, "K20")),
        wanted_us: 170,
    },
];

/// The measured time of a fit's iteration.
///
/// ```
/// use flockwork::bench::{FITS, FitMeasurement};
/// use flockwork::swarm::Precision;
///
/// let (precision, range) = (Precision::F64, (0.9e-3, 1.2e-3));
/// let (read_seconds, arithmetic_seconds) = (2e-4, 8e-4);
/// let measured = FitMeasurement {
///     case: FITS[0], precision, seconds: 1e-3, range, read_seconds, arithmetic_seconds,
/// };
/// assert_eq!(measured.floor(), 8e-4);
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FitMeasurement {
    /// The case.
    pub case: FitCase,
    /// The arithmetic.
    pub precision: Precision,
    /// Median of an iteration, in seconds.
    pub seconds: f64,
    /// Smallest and largest.
    pub range: (f64, f64),
    /// Time to read all rows: on a CPU once for every 64 particles, on a GPU once.
    pub read_seconds: f64,
    /// Time of the fused multiply-adds for each row and particle: one per parameter, in matrix
    /// products where there are units for them, and one for the square. Units of both kinds can
    /// work concurrently.
    pub arithmetic_seconds: f64,
}

impl FitMeasurement {
    /// The larger of the two: no iteration can be faster.
    pub fn floor(&self) -> f64 {
        self.read_seconds.max(self.arithmetic_seconds)
    }
}

/// The limits of the processor's memory and arithmetic, on all threads of a back end.
///
/// ```
/// use flockwork::{backend::Cpu, bench};
///
/// let ceilings = bench::processor::<f32>(&Cpu::new(1)?);
/// assert!(ceilings.reads_per_second > 0.0 && ceilings.fused_per_second > 0.0);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Processor {
    /// Bytes read from memory per second.
    pub reads_per_second: f64,
    /// Fused multiply-adds per second.
    pub fused_per_second: f64,
    /// The same in matrix products, if the processor has units for them; otherwise the same number.
    pub products_per_second: f64,
}

/// Accumulators, and lanes of each: enough for all fused operations that a core has in flight.
const CHAINS: usize = 2;
const WIDE: usize = 64;
const ROUNDS: u32 = 1 << 20;

dispatched! {
    /// Many fused multiply-adds in registers.
    fn chains<T: Scalar>(start: T, end: &mut T) => chains_inlined
}

#[inline(always)]
fn chains_inlined<T: Scalar>(start: T, end: &mut T) {
    let mut chains = [Lanes::<T, WIDE>::splat(start); CHAINS];
    let (factor, addend) = (Lanes::splat(black_box(T::nearest(0.5))), Lanes::splat(start));
    for _ in 0..ROUNDS {
        for chain in &mut chains {
            *chain = chain.fma(factor, addend);
        }
    }
    *end = chains.iter().flat_map(|chain| chain.0).fold(T::ZERO, |sum, x| sum + x);
}

dispatched! {
    /// The sum of a slice, in no particular order.
    fn swept<T: Scalar>(numbers: &[T], sum: &mut T) => swept_inlined
}

#[inline(always)]
fn swept_inlined<T: Scalar>(numbers: &[T], sum: &mut T) {
    let mut sums = [Lanes::<T, 64>::splat(T::ZERO); 1];
    for some in numbers.as_chunks::<64>().0 {
        sums[0] = sums[0] + Lanes(*some);
    }
    *sum = sums[0].0.iter().fold(T::ZERO, |sum, &x| sum + x);
}

/// Measures the processor's limits in one precision. Takes about a second.
///
/// ```
/// use flockwork::{backend::Cpu, bench};
///
/// let cpu = Cpu::new(0)?;
/// let (single, double) = (bench::processor::<f32>(&cpu), bench::processor::<f64>(&cpu));
/// println!("{:.1} GB/s, {:.1} G/s", single.reads_per_second / 1e9, double.fused_per_second / 1e9);
/// # Ok::<(), flockwork::Error>(())
/// ```
pub fn processor<T: Scalar>(cpu: &Cpu) -> Processor {
    let simd: Simd = cpu.simd();
    cpu.install(|| {
        let threads = rayon::current_num_threads();
        let numbers = vec![T::nearest(1.0); (256 << 20) / size_of::<T>()];
        let best = |work: &(dyn Fn() + Sync)| {
            let time = |_| {
                let began = Instant::now();
                work();
                began.elapsed().as_secs_f64()
            };
            (0..5).map(time).fold(f64::INFINITY, f64::min)
        };
        let read = best(&|| {
            numbers.par_chunks(1 << 16).for_each(|piece| {
                let mut sum = T::ZERO;
                swept(simd, piece, &mut sum);
                black_box(sum);
            });
        });
        let fused = best(&|| {
            (0..threads).into_par_iter().for_each(|_| {
                let mut end = T::ZERO;
                chains(simd, black_box(T::nearest(1.0)), &mut end);
                black_box(end);
            });
        });
        let fused_per_second = f64::from(ROUNDS) * (CHAINS * WIDE * threads) as f64 / fused;
        Processor {
            reads_per_second: size_of_val(&*numbers) as f64 / read,
            fused_per_second,
            products_per_second: fused_per_second,
        }
    })
}

/// A GPU's limits: its copies and its fused multiply-adds.
#[cfg(feature = "cuda")]
fn gpu<T: Number>(backend: &AnyBackend, cuda: &Cuda) -> Result<Processor> {
    /// Blocks per multiprocessor.
    const BLOCKS: u32 = 8;

    let blocks = cuda.gpu().device().multiprocessors * BLOCKS;
    let (fused_per_second, products_per_second) =
        crate::fit::fused_per_second::<_, T>(&cuda.machine()?, blocks)?;
    let reads_per_second =
        super::ceilings(backend)?.map_or(f64::NAN, |ceilings| ceilings.copy_bytes_per_second);
    Ok(Processor { reads_per_second, fused_per_second, products_per_second })
}

/// A back end's limits: for a CPU as [`processor`]; for a GPU the bytes that a copy reads and
/// writes, and the fused multiply-adds of all multiprocessors.
///
/// ```
/// use flockwork::{backend::{AnyBackend, Choice}, bench};
///
/// let ceilings = bench::allowed::<f64>(&AnyBackend::select(Choice::Cpu, 1)?)?;
/// assert!(ceilings.fused_per_second > 0.0);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// If the GPU fails.
pub fn allowed<T: Number>(backend: &AnyBackend) -> Result<Processor> {
    match backend {
        AnyBackend::Cpu(cpu, _) => Ok(processor::<T>(cpu)),
        #[cfg(feature = "cuda")]
        AnyBackend::Cuda(cuda, _) => gpu::<T>(backend, cuda),
    }
}

/// The fit that is measured. Not generic, so that only this library compiles the model's arithmetic.
fn linear_fit(dims: u32, rows: usize) -> Result<Fit> {
    Fit::new(Linear, Data::from_table(&synthetic(dims, rows, 1)?)?)
}

/// Measures the iterations of a fit's swarm, after a check of their result.
///
/// ```
/// use flockwork::{backend::Cpu, bench::{self, FitCase}, swarm::Precision};
///
/// let case = FitCase { name: "small", dims: 3, rows: 1000, particles: 64, published: None, wanted_us: 0 };
/// let cpu = Cpu::new(0)?;
/// let ceilings = bench::processor::<f64>(&cpu);
/// let measured = bench::fit(case, Precision::F64, &cpu, ceilings)?;
/// assert!(measured.seconds > 0.0 && measured.floor() > 0.0);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// [`Error::Wrong`](crate::Error::Wrong) if the result is wrong.
pub fn fit(
    case: FitCase,
    precision: Precision,
    backend: &impl Backend,
    processor: Processor,
) -> Result<FitMeasurement> {
    let FitCase { dims, rows, particles, .. } = case;
    let fit = linear_fit(dims, rows)?;
    let trial = Trial { particles, precision, mode: Mode::Synchronous, history: None };
    let measured = iteration(&fit.problem()?, trial, backend)?;
    let number = if precision == Precision::F32 { size_of::<f32>() } else { size_of::<f64>() };
    let numbers = rows as f64 * (f64::from(dims) + 1.0);
    // A GPU keeps the rows close while all particles are evaluated on them.
    let tiles = if backend.name() == "cpu" { f64::from(particles.div_ceil(64)) } else { 1.0 };
    let each = rows as f64 * f64::from(particles);
    let products = each * f64::from(dims) / processor.products_per_second;
    let squares = each / processor.fused_per_second;
    let units_of_their_own = processor.products_per_second != processor.fused_per_second;
    Ok(FitMeasurement {
        case,
        precision,
        seconds: measured.seconds,
        range: measured.range,
        read_seconds: tiles * numbers * number as f64 / processor.reads_per_second,
        arithmetic_seconds: match units_of_their_own {
            true => products.max(squares),
            false => products + squares,
        },
    })
}
