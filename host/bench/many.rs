//! Many fits: images of spots with a Gaussian in two dimensions, and decays, from memory and with everything
//! on the GPU, by built-in models and by the same as formulas.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::{
    Error, Result,
    backend::{AnyBackend, Number},
    fit::{End, Many, Stack, predict},
    formula::Formula,
    swarm::Precision,
};
use flockwork_device::fit::{Gaussian2d, Model, OffsetExponentials, Shape};

/// Sizes of images and numbers of them that are measured.
pub const IMAGES: &[(usize, usize)] =
    &[(5, 10_000), (5, 100_000), (5, 1_000_000), (15, 10_000), (15, 100_000), (15, 1_000_000)];

/// The time of many fits.
///
/// ```
/// use flockwork::{backend::{AnyBackend, Choice}, bench, swarm::Precision};
///
/// let cpu = AnyBackend::select(Choice::Cpu, 1)?;
/// let (spots, begin) = (bench::ManyModel::Spots, bench::Begin::Given);
/// let measured = bench::many(spots, 5, 200, Precision::F32, begin, &cpu)?;
/// assert_eq!(measured.fits, 200);
/// assert!(measured.converged > 190 && measured.fits_per_second() > 0.0);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ManyMeasurement {
    /// The model.
    pub model: ManyModel,
    /// Pixels of an image's side, whose square is the number of rows.
    pub side: usize,
    /// Number of images.
    pub fits: usize,
    /// The arithmetic.
    pub precision: Precision,
    /// Where the fits begin.
    pub begin: Begin,
    /// The shortest time from the host's memory to results there, in seconds, into the memory of earlier
    /// ones.
    pub seconds: f64,
    /// The same into new memory for the results, once.
    pub fresh_seconds: f64,
    /// The same with everything in a GPU's memory.
    pub device_seconds: Option<f64>,
    /// The mean number of iterations.
    pub iterations: f64,
    /// How many converged.
    pub converged: usize,
}

impl ManyMeasurement {
    /// Fits a second, from the host's memory.
    pub fn fits_per_second(&self) -> f64 {
        self.fits as f64 / self.seconds
    }
}

/// What is fitted, with five parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ManyModel {
    /// Images of spots, by `gaussian_2d`.
    Spots,
    /// The same, by a formula.
    TypedSpots,
    /// Decays with two rates, by `offset_exponentials`.
    Decays,
    /// The same, by a formula.
    TypedDecays,
}

impl ManyModel {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Spots, Self::TypedSpots, Self::Decays, Self::TypedDecays];

    /// The built-in model's name, or the formula.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Spots => "gaussian_2d",
            Self::TypedSpots => "amplitude*exp(-((x - x0)^2 + (y - y0)^2)/(2*sigma^2)) + offset",
            Self::Decays => "offset_exponentials",
            Self::TypedDecays => "offset + amplitude1*exp(-rate1*x) + amplitude2*exp(-rate2*x)",
        }
    }

    fn of<T: Number>(self, stack: Stack<T>) -> Result<Many<T>> {
        match self {
            Self::Spots => Many::new(Gaussian2d, stack),
            Self::Decays => Many::new(OffsetExponentials, stack)?.size("terms", 2),
            Self::TypedSpots | Self::TypedDecays => {
                Many::from_formula(&Formula::parse(self.text())?, stack)
            }
        }
    }
}

/// Where fits begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Begin {
    /// At values that are given for each.
    Given,
    /// Nowhere: they are looked for.
    Searched,
    /// At given values, for counts by likelihood.
    Poisson,
}

/// A number in [0, 1) for each index.
fn share(index: u64) -> f64 {
    let mut word = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((word ^ word >> 31) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Times many fits of images of this size, of which each has another spot and noise, or of decays at as many
/// times; least squares with a tolerance of 1e-4 and at most 20 iterations, as is usual for them.
pub fn many(
    model: ManyModel,
    side: usize,
    fits: usize,
    precision: Precision,
    begin: Begin,
    backend: &AnyBackend,
) -> Result<ManyMeasurement> {
    match precision {
        Precision::F32 => many_in::<f32>(model, side, fits, begin, backend),
        Precision::F64 => many_in::<f64>(model, side, fits, begin, backend),
    }
}

/// Data sets, and the values that fits of each begin at.
fn data<T: Number>(model: ManyModel, side: usize, fits: usize) -> Result<(Stack<T>, Vec<T>)> {
    match model {
        ManyModel::Spots | ManyModel::TypedSpots => spots(side, fits),
        ManyModel::Decays | ManyModel::TypedDecays => decays(side * side, fits),
    }
}

/// The sum of four uniform numbers, nearly a normal one of variance 1/3, for a row of a data set.
fn noise(set: u64, row: usize) -> f64 {
    let first = (set * 1024 + row as u64 + (1 << 40)) * 4;
    (first..first + 4).map(|index| share(index) - 0.5).sum()
}

fn spots<T: Number>(side: usize, fits: usize) -> Result<(Stack<T>, Vec<T>)> {
    let shape = Shape::of(&Gaussian2d::INFO, 2);
    let centre = (side as f64 - 1.0) / 2.0;
    let mut targets = Vec::with_capacity(fits * side * side);
    let mut starts = Vec::with_capacity(fits * 5);
    for image in 0..fits as u64 {
        let u = |nth: u64| share(16 * image + nth);
        let off = |nth| (u(nth) - 0.5) * side as f64 / 5.0;
        let sigma = side as f64 / 6.0;
        let truth = [
            100.0 * (0.5 + u(0)),
            centre + off(1),
            centre + off(2),
            sigma * (0.8 + 0.4 * u(3)),
            10.0,
        ];
        for pixel in 0..side * side {
            let place = [(pixel % side) as f64, (pixel / side) as f64];
            let value = predict(&Gaussian2d, &truth, &place, &shape);
            let noise = 3.0 * 3.0_f64.sqrt() * noise(image, pixel);
            targets.push(T::nearest((value + noise).max(0.0)));
        }
        let guess = [100.0 * (0.8 + 0.4 * u(4)), centre, centre, sigma, 10.0 + 2.0 * u(5) - 1.0];
        starts.extend(guess.map(T::nearest));
    }
    Ok((Stack::images(side, side, targets)?, starts))
}

fn decays<T: Number>(rows: usize, fits: usize) -> Result<(Stack<T>, Vec<T>)> {
    let shape = Shape { sizes: [2, 0], ..Shape::of(&OffsetExponentials::INFO, 1) };
    let time = |row: usize| 8.0 * row as f64 / rows as f64;
    let mut targets = Vec::with_capacity(fits * rows);
    let mut starts = Vec::with_capacity(fits * 5);
    for set in 0..fits as u64 {
        let u = |nth: u64| share(16 * set + nth);
        let truth = [1.0, 5.0 + 5.0 * u(0), 0.4 + 0.2 * u(1), 5.0 + 5.0 * u(2), 3.0 + 1.0 * u(3)];
        for row in 0..rows {
            let value = predict(&OffsetExponentials, &truth, &[time(row)], &shape);
            targets.push(T::nearest(value + 0.05 * noise(set, row)));
        }
        starts.extend([1.0, 7.0, 0.5, 7.0, 3.5].map(T::nearest));
    }
    let times = (0..rows).map(|row| T::nearest(time(row))).collect();
    Ok((Stack::new(1, times, targets)?, starts))
}

fn many_in<T: Number>(
    model: ManyModel,
    side: usize,
    fits: usize,
    begin: Begin,
    backend: &AnyBackend,
) -> Result<ManyMeasurement> {
    const TIMES: u32 = 5;
    let (stack, starts) = data::<T>(model, side, fits)?;
    let mut many = model.of(stack)?.tolerance(1e-4)?.iterations(20)?;
    if begin != Begin::Searched {
        many = many.begin(starts)?;
    }
    if begin == Begin::Poisson {
        many = many.bounds("offset", 1e-3, 1e4)?.bounds("amplitude", 0.0, 1e6)?.poisson()?;
    }
    // Once for the driver, and for memory that is new.
    let mut results = many.run_on(backend, |_, _| {})?;
    let begun = Instant::now();
    let fresh = many.run_on(backend, |_, _| {})?;
    let fresh_seconds = begun.elapsed().as_secs_f64();
    drop(fresh);
    let mut seconds = f64::INFINITY;
    for _ in 0..TIMES {
        let begun = Instant::now();
        many.run_into(&mut results, backend, |_, _| {})?;
        seconds = seconds.min(begun.elapsed().as_secs_f64());
    }
    let device_seconds = many.timed_on(backend, TIMES)?.as_ref().map(Duration::as_secs_f64);
    let iterations = (0..fits).map(|set| f64::from(results.iterations(set))).sum::<f64>();
    let converged = results.count(End::Converged);
    // A measurement of wrong results is none.
    if converged * 10 < fits * 9 {
        let (option, value) = ("the fits that converged", format!("{converged} of {fits}"));
        return Err(Error::Option { option, value, accepted: "nine tenths".to_owned() });
    }
    Ok(ManyMeasurement {
        model,
        side,
        fits,
        precision: T::PRECISION,
        begin,
        seconds,
        fresh_seconds,
        device_seconds,
        iterations: iterations / fits as f64,
        converged,
    })
}
