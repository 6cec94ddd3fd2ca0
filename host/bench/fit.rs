//! Fits: how long a swarm takes for an iteration over many rows, next to what memory and arithmetic
//! allow.

use std::{hint::black_box, time::Instant};

use flockwork_device::math::{Lanes, Real, Scalar};
use rayon::prelude::*;
use serde::Serialize;

use super::{Trial, iteration};
use crate::{
    Result,
    backend::{Cpu, Simd, dispatched},
    fit::{Data, Fit, Linear, synthetic},
    swarm::{Mode, Precision},
};

/// A linear model of so many parameters over so many rows.
///
/// ```
/// use flockwork::bench::{FITS, FitCase};
///
/// assert!(FITS.contains(&FitCase { name: "f10", dims: 4, rows: 6_980_011, particles: 64 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FitCase {
    /// As Hosala's thesis calls it.
    pub name: &'static str,
    /// Parameters.
    pub dims: u32,
    /// Rows.
    pub rows: usize,
    /// Particles.
    pub particles: u32,
}

/// The cases of the thesis, by their sizes.
pub const FITS: &[FitCase] = &[
    FitCase { name: "f5<8, 131072>", dims: 8, rows: 131_072, particles: 64 },
    FitCase { name: "f9", dims: 16, rows: 1_088_576, particles: 128 },
    FitCase { name: "f10", dims: 4, rows: 6_980_011, particles: 64 },
];

/// What a fit's iteration takes.
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
    /// Least and greatest.
    pub range: (f64, f64),
    /// What it takes to read all rows once for each 64 particles.
    pub read_seconds: f64,
    /// What the fused multiply-adds take: parameters + 1 for each row and particle.
    pub arithmetic_seconds: f64,
}

impl FitMeasurement {
    /// The larger of the two: no iteration can be faster.
    pub fn floor(&self) -> f64 {
        self.read_seconds.max(self.arithmetic_seconds)
    }
}

/// What the processor's memory and arithmetic allow, on all threads of a back end.
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
    /// Bytes read from memory in a second.
    pub reads_per_second: f64,
    /// Fused multiply-adds in a second.
    pub fused_per_second: f64,
}

/// Accumulators, and lanes of each: enough for all fused operations that a core has under way.
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
    /// The sum of a piece of memory, in no particular order.
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

/// Measures what the processor allows, in one precision. Takes about a second.
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
        Processor {
            reads_per_second: size_of_val(&*numbers) as f64 / read,
            fused_per_second: f64::from(ROUNDS) * (CHAINS * WIDE * threads) as f64 / fused,
        }
    })
}

/// Measures the iterations of a fit's swarm, after a look at their result.
///
/// ```
/// use flockwork::{backend::Cpu, bench::{self, FitCase}, swarm::Precision};
///
/// let case = FitCase { name: "small", dims: 3, rows: 1000, particles: 64 };
/// let cpu = Cpu::new(0)?;
/// let ceilings = bench::processor::<f64>(&cpu);
/// let measured = bench::fit(case, Precision::F64, &cpu, ceilings)?;
/// assert!(measured.seconds > 0.0 && measured.floor() > 0.0);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// [`Error::Wrong`](crate::Error::Wrong) if the result is not what it should be.
pub fn fit(
    case: FitCase,
    precision: Precision,
    cpu: &Cpu,
    processor: Processor,
) -> Result<FitMeasurement> {
    let FitCase { dims, rows, particles, .. } = case;
    let fit = Fit::new(Linear, Data::from_table(&synthetic(dims, rows, 1)?)?)?;
    let trial = Trial { particles, precision, mode: Mode::Synchronous, history: None };
    let measured = iteration(&fit.problem()?, trial, cpu)?;
    let number = if precision == Precision::F32 { size_of::<f32>() } else { size_of::<f64>() };
    let numbers = rows as f64 * (f64::from(dims) + 1.0);
    let tiles = f64::from(particles.div_ceil(64));
    Ok(FitMeasurement {
        case,
        precision,
        seconds: measured.seconds,
        range: measured.range,
        read_seconds: tiles * numbers * number as f64 / processor.reads_per_second,
        arithmetic_seconds: f64::from(particles) * numbers / processor.fused_per_second,
    })
}
