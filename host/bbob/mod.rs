//! The noiseless functions of the Black-Box Optimization Benchmark: 24 functions, each in any number
//! of instances that differ in the place of the optimum, its value and the rotations.
//!
//! An instance has the values of the same instance in COCO, the platform of the benchmark, for the
//! generators are the same. Functions, instances and dimensions are numbered as there; the box is -5
//! to 5 in each dimension.
//!
//! Hansen, Finck, Ros and Auger 2009, *Real-parameter black-box optimization benchmarking 2009:
//! noiseless functions definitions*, INRIA RR-6829.
//!
//! ```
//! use flockwork::{bbob, swarm::Search};
//!
//! // Function 1, the sphere, in its first instance and three dimensions.
//! let outcome = Search::new(bbob::problem(1, 1, 3)?).f64().particles(64).iterations(300).run()?;
//! assert!(outcome.value - bbob::optimum(1, 1, 3)?.value < 1e-8);
//! # Ok::<(), flockwork::Error>(())
//! ```

mod instance;
mod random;

use flockwork_device::objective::{Bbob, Objective};

use crate::{
    Error, Result,
    swarm::{KnownOptimum, Problem},
};
use instance::Instance;

/// The greatest number of an instance: beyond, seeds leave the range of the benchmark's generator.
pub const MOST_INSTANCE: u32 = 200_000;

/// The most dimensions. The fewest are 2.
pub const MOST_DIMS: u32 = flockwork_device::objective::bbob::MOST;

/// A function of the benchmark, for people.
///
/// ```
/// use flockwork::bbob::{FUNCTIONS, Group};
///
/// let katsuura = FUNCTIONS[22];
/// assert_eq!((katsuura.number, katsuura.name), (23, "Katsuura"));
/// assert_eq!(katsuura.group, Group::WeaklyStructured);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number, from 1.
    pub number: u32,
    /// Its published name.
    pub name: &'static str,
    /// Its published group.
    pub group: Group,
}

/// What functions of the benchmark have in common.
///
/// ```
/// use flockwork::bbob::{FUNCTIONS, Group};
///
/// let separable = FUNCTIONS.iter().filter(|entry| entry.group == Group::Separable);
/// assert_eq!(separable.map(|entry| entry.number).max(), Some(5));
/// assert_eq!(Group::Separable.to_string(), "separable");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Sums of functions of one coordinate, roughly: 1 to 5.
    Separable,
    /// Low or moderate conditioning: 6 to 9.
    Moderate,
    /// High conditioning and one valley: 10 to 14.
    IllConditioned,
    /// Many valleys with adequate global structure: 15 to 19.
    MultiModal,
    /// Many valleys with weak global structure: 20 to 24.
    WeaklyStructured,
}

impl std::fmt::Display for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Separable => "separable",
            Self::Moderate => "moderate",
            Self::IllConditioned => "ill-conditioned",
            Self::MultiModal => "multi-modal",
            Self::WeaklyStructured => "weakly structured",
        })
    }
}

/// All functions, in the order of their numbers.
pub const FUNCTIONS: [Entry; 24] = {
    const NAMES: [&str; 24] = [
        "Sphere",
        "Ellipsoidal",
        "Rastrigin",
        "Bueche-Rastrigin",
        "Linear Slope",
        "Attractive Sector",
        "Step Ellipsoidal",
        "Rosenbrock, original",
        "Rosenbrock, rotated",
        "Ellipsoidal, rotated",
        "Discus",
        "Bent Cigar",
        "Sharp Ridge",
        "Different Powers",
        "Rastrigin, rotated",
        "Weierstrass",
        "Schaffers F7",
        "Schaffers F7, ill-conditioned",
        "Griewank-Rosenbrock F8F2",
        "Schwefel",
        "Gallagher's 101 Peaks",
        "Gallagher's 21 Peaks",
        "Katsuura",
        "Lunacek bi-Rastrigin",
    ];
    let mut entries = [Entry { number: 0, name: "", group: Group::Separable }; 24];
    let mut nth = 0;
    while nth < 24 {
        let number = nth as u32 + 1;
        let group = match number {
            1..=5 => Group::Separable,
            6..=9 => Group::Moderate,
            10..=14 => Group::IllConditioned,
            15..=19 => Group::MultiModal,
            _ => Group::WeaklyStructured,
        };
        entries[nth] = Entry { number, name: NAMES[nth], group };
        nth += 1;
    }
    entries
};

/// Instance `instance` of function `function` in `dims` dimensions, in the box from -5 to 5. Its name
/// is the benchmark's, such as `bbob_f015_i01_d05`.
///
/// An evaluation costs up to `4 dims^2` operations, and Gallagher's functions (21 and 22) `5 dims`
/// more for each of 101 or 21 peaks. In `f32` the least value, which may be as large as 1000, hides
/// what is smaller than its rounding: use `f64` for targets near it.
///
/// ```
/// use flockwork::bbob;
///
/// let problem = bbob::problem(15, 1, 5)?;
/// assert_eq!((problem.name(), problem.dims()), ("bbob_f015_i01_d05", 5));
/// assert_eq!((problem.lower()[0], problem.upper()[4]), (-5.0, 5.0));
/// let error = bbob::problem(25, 1, 5).unwrap_err().to_string();
/// assert!(error.contains("25") && error.contains("from 1 to 24"), "{error}");
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// If there is no such function, instance (1 to [`MOST_INSTANCE`]) or number of dimensions (2 to [`MOST_DIMS`]).
pub fn problem(function: u32, instance: u32, dims: u32) -> Result<Problem> {
    check(function, instance, dims)?;
    let made = Instance::new(function, instance, dims);
    let name = format!("bbob_f{function:03}_i{instance:02}_d{dims:02}");
    Ok(Problem::from_instance(Bbob, dims, made.numbers)?.called(&name))
}

/// The optimum of an instance: where it is, one point, and the value there, which has two digits
/// after the point. Errors are those of [`problem`]; the cost is that of making the instance,
/// `4 dims^3` operations for the rotations.
///
/// The value at the point is the optimum's up to rounding.
///
/// ```
/// let known = flockwork::bbob::optimum(1, 1, 2)?;
/// let place = known.position.expect("one point");
/// assert_eq!(known.value, 79.48);
/// assert!((place[0] - 0.2528).abs() < 1e-15 && (place[1] + 1.1568).abs() < 1e-15);
/// # Ok::<(), flockwork::Error>(())
/// ```
pub fn optimum(function: u32, instance: u32, dims: u32) -> Result<KnownOptimum> {
    check(function, instance, dims)?;
    let Instance { least, position, .. } = Instance::new(function, instance, dims);
    Ok(KnownOptimum { value: least, position: Some(position) })
}

/// Whether there is such an instance, without making it.
///
/// ```
/// use flockwork::bbob;
///
/// assert!(bbob::check(24, 15, 40).is_ok());
/// assert!(bbob::check(24, 15, 1).is_err());
/// ```
///
/// # Errors
/// As [`problem`].
pub fn check(function: u32, instance: u32, dims: u32) -> Result<()> {
    for (option, value, most) in [
        ("the function of the benchmark", function, FUNCTIONS.len() as u32),
        ("the instance of a function of the benchmark", instance, MOST_INSTANCE),
    ] {
        if !(1..=most).contains(&value) {
            let (value, accepted) = (value.to_string(), format!("from 1 to {most}"));
            return Err(Error::Option { option, value, accepted });
        }
    }
    let accepted = Bbob::INFO.dimensions;
    if !accepted.contains(dims) {
        let objective = Bbob::INFO.name.to_owned();
        return Err(Error::Dimensions { objective, dims, accepted: accepted.to_string() });
    }
    Ok(())
}
