//! Helpers shared by the tests of all back ends.

#![allow(dead_code, reason = "each test program uses its part of it")]

pub mod asynchronous;
pub mod fits;
pub mod many;
pub mod paths;
pub mod program;

use std::{fmt::Write as _, slice};

use flockwork::{
    backend::{Backend, Cpu, Emulated, Number, Plan, Simd, Snapshot, Swarm},
    bbob, fit,
    math::Scalar,
    objective::{Data, Objective},
    registry::{self, OBJECTIVES, Visitor},
    swarm::{Mode, Options, Problem, Rule, Variation},
};

/// A comparison: a swarm's size, and the iterations after which to compare.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub particles: u32,
    pub dims: u32,
    pub looks: &'static [u32],
}

/// Variations of a comparison: other options, another problem, several swarms.
#[derive(Clone)]
pub struct Variant {
    pub name: String,
    pub options: Options,
    pub rotated: bool,
    pub mixed: bool,
    /// The box has different sides in different dimensions.
    pub uneven: bool,
    pub swarms: u32,
    /// Take the general iteration even if the specialised one would do.
    pub general: bool,
    /// The other swarm is asynchronous; it computes the same if it has one part and a single warp.
    pub apart: bool,
}

impl Variant {
    pub fn usual() -> Self {
        Self::of("usual", Options::for_rule(Rule::Inertia))
    }

    pub fn of(name: &str, options: Options) -> Self {
        let name = name.to_owned();
        Self {
            name,
            options,
            rotated: false,
            mixed: false,
            uneven: false,
            swarms: 1,
            general: false,
            apart: false,
        }
    }
}

/// A back end for each objective function.
pub trait Machine {
    /// A swarm for a function by name; the emulator has the kernels of all functions compiled.
    fn swarm_of<T: Number>(
        &self,
        objective: &str,
        problem: &Problem,
        plan: Plan<T>,
    ) -> flockwork::Result<Box<dyn Swarm<T>>>;

    /// The same for a function type; the emulator compiles only its kernels.
    fn swarm<O: Objective, T: Number>(
        &self,
        _: O,
        problem: &Problem,
        plan: Plan<T>,
    ) -> flockwork::Result<Box<dyn Swarm<T>>> {
        self.swarm_of(O::INFO.name, problem, plan)
    }

    fn description(&self) -> String;
}

/// Back ends that need not know the function's type.
macro_rules! machines {
    ($($backend:ty),*) => {$(
        impl Machine for $backend {
            fn swarm_of<T: Number>(
                &self,
                _: &str,
                problem: &Problem,
                plan: Plan<T>,
            ) -> flockwork::Result<Box<dyn Swarm<T>>> {
                Backend::swarm(self, problem.function(), plan)
            }
            fn description(&self) -> String {
                Backend::description(self)
            }
        }
    )*};
}
machines!(Cpu);
#[cfg(feature = "cuda")]
machines!(flockwork::backend::Cuda);

impl Machine for Emulated {
    fn swarm<O: Objective, T: Number>(
        &self,
        objective: O,
        problem: &Problem,
        plan: Plan<T>,
    ) -> flockwork::Result<Box<dyn Swarm<T>>> {
        self.with(objective).swarm(problem.function(), plan)
    }
    fn swarm_of<T: Number>(
        &self,
        objective: &str,
        problem: &Problem,
        plan: Plan<T>,
    ) -> flockwork::Result<Box<dyn Swarm<T>>> {
        struct Make<'a, T>(&'a Emulated, &'a Problem, Plan<T>);
        impl<T: Number> Visitor for Make<'_, T> {
            type Output = flockwork::Result<Box<dyn Swarm<T>>>;
            fn visit<O: Objective>(self, objective: O) -> Self::Output {
                self.0.swarm(objective, self.1, self.2)
            }
        }
        registry::with_objective(objective, Make(self, problem, plan))
            .unwrap_or_else(|_| panic!("{objective} exists"))
    }
    fn description(&self) -> String {
        format!("{self:?}")
    }
}

/// The options of a comparison, and the differences between its swarms.
fn options(variant: &Variant, case: Case) -> (Options, Vec<Variation>) {
    let options = Options {
        particles: case.particles,
        seed: 0x1234_5678_9abc,
        iterations: 20,
        ..variant.options.clone()
    };
    let variations = (0..variant.swarms).map(|nth| {
        let mut coefficients = options.coefficients.unwrap();
        coefficients.social -= 0.01 * f64::from(nth);
        let seed = options.seed + u64::from(nth);
        Variation { seed, coefficients: Some(coefficients) }
    });
    let variations = variations.collect();
    (options, variations)
}

/// The problem of a case: the function, shifted if possible, with the dimensions rounded up to a
/// number it takes.
pub fn problem(objective: &str, dims: u32) -> Problem {
    let info = OBJECTIVES.iter().find(|info| info.name == objective).expect("a function's name");
    if info.data == Data::Rows {
        let table = fit::synthetic(dims, 70, 5).unwrap();
        return Problem::named_from_data(objective, table).unwrap();
    }
    if info.data == Data::Instance {
        let dims = dims.clamp(2, bbob::MOST_DIMS);
        // Another function for each number of dimensions.
        return bbob::problem(1 + (dims * 7 + 1) % 24, 1, dims).unwrap();
    }
    let dims = (dims..).find(|&d| info.dimensions.contains(d)).unwrap();
    let problem = Problem::named(objective, dims).unwrap();
    if problem.can_shift() { problem.shifted(11).unwrap() } else { problem }
}

/// Makes some variables integer and some periodic.
fn mixed(problem: Problem) -> Problem {
    use flockwork::swarm::Variable::{Continuous, Integer, Periodic};
    let outward = |x: &f64| if *x < 0.0 { x.floor() } else { x.ceil() };
    let lower: Vec<f64> = problem.lower().iter().map(outward).collect();
    let upper: Vec<f64> = problem.upper().iter().map(outward).collect();
    let kinds = [Continuous, Integer, Periodic].into_iter().cycle();
    let variables = kinds.take(problem.lower().len()).collect();
    problem.with_bounds(lower, upper).unwrap().with_variables(variables).unwrap()
}

/// Makes some dimensions slightly narrower than the one before.
fn uneven(problem: Problem) -> Problem {
    let narrower = |sides: &[f64]| -> Vec<f64> {
        sides.iter().enumerate().map(|(nth, side)| side * (1.0 - 0.01 * (nth % 7) as f64)).collect()
    };
    let (lower, upper) = (narrower(problem.lower()), narrower(problem.upper()));
    problem.with_bounds(lower, upper).unwrap()
}

/// Runs a case on both back ends in both precisions; the error tells where the first bit differs.
pub fn same_bits(
    objective: &str,
    case: Case,
    one: &impl Machine,
    other: &impl Machine,
) -> Result<(), String> {
    same_bits_of(&Variant::usual(), objective, case, one, other)
}

/// Like [`same_bits`], for other options or problems.
pub fn same_bits_of(
    variant: &Variant,
    objective: &str,
    case: Case,
    one: &impl Machine,
    other: &impl Machine,
) -> Result<(), String> {
    same_bits_on_all_of(variant, objective, case, one, slice::from_ref(other))
}

/// Like [`same_bits_of`], on several others, beside which the one runs once.
pub fn same_bits_on_all_of(
    variant: &Variant,
    objective: &str,
    case: Case,
    one: &impl Machine,
    others: &[impl Machine],
) -> Result<(), String> {
    same_bits_in::<f32>(variant, objective, case, one, others)?;
    same_bits_in::<f64>(variant, objective, case, one, others)
}

/// Like [`same_bits`], for every function; the error lists all differences.
pub fn all_same_bits(case: Case, one: &impl Machine, other: &impl Machine) -> Result<(), String> {
    all_same_bits_of(&Variant::usual(), case, one, other)
}

/// Like [`same_bits_of`], for every function; the error lists all differences.
pub fn all_same_bits_of(
    variant: &Variant,
    case: Case,
    one: &impl Machine,
    other: &impl Machine,
) -> Result<(), String> {
    let mut differences = String::new();
    for info in OBJECTIVES {
        if let Err(difference) = same_bits_of(variant, info.name, case, one, other) {
            let _ = writeln!(differences, "{difference}");
        }
    }
    if differences.is_empty() { Ok(()) } else { Err(differences) }
}

fn same_bits_in<T: Number>(
    variant: &Variant,
    objective: &str,
    case: Case,
    one: &impl Machine,
    others: &[impl Machine],
) -> Result<(), String> {
    let mut problem = problem(objective, case.dims);
    if variant.mixed {
        problem = mixed(problem);
    }
    if variant.uneven {
        problem = uneven(problem);
    }
    if variant.rotated {
        problem = problem.rotated(5).unwrap();
    }
    let (options, variations) = options(variant, case);
    let plan = Plan::<T>::of_many(&problem, &options, &variations).unwrap();
    let other_plan = if variant.general {
        plan.clone().in_general()
    } else if variant.apart {
        let options = Options { mode: Mode::Asynchronous, ..options };
        Plan::<T>::of_many(&problem, &options, &variations).unwrap()
    } else {
        plan.clone()
    };
    let mut swarms = vec![one.swarm_of(objective, &problem, plan).map_err(|e| e.to_string())?];
    for other in others {
        let swarm = other.swarm_of(objective, &problem, other_plan.clone());
        swarms.push(swarm.map_err(|e| e.to_string())?);
    }
    compared(swarms, case.looks).map_err(|(nth, what)| {
        let (variant, precision) = (&variant.name, T::NAME);
        let (one, other) = (one.description(), others[nth].description());
        format!(
            "{objective} in {precision}, {variant}, {case:?}: {what} ({one} first, then {other})"
        )
    })
}

/// The first difference between the first swarm and the others, checked after these numbers of
/// iterations; and which of the others it is.
fn compared<T: Number>(
    mut swarms: Vec<Box<dyn Swarm<T>>>,
    looks: &[u32],
) -> Result<(), (usize, String)> {
    let first = |error: flockwork::Error| (0, error.to_string());
    for swarm in &mut swarms {
        swarm.record_every(Some(4)).map_err(first)?;
        swarm.start(None).map_err(first)?;
    }
    for &look in [0].iter().chain(looks) {
        let mut found = Vec::new();
        for swarm in &mut swarms {
            swarm.advance(look - swarm.iteration()).map_err(first)?;
            found.push((swarm.snapshot().map_err(first)?, swarm.take_records().map_err(first)?));
        }
        let (one, records) = &found[0];
        for (nth, (other, other_records)) in found[1..].iter().enumerate() {
            let same_records = if records == other_records {
                Ok(())
            } else {
                Err(format!("the records are {records:?} and {other_records:?}"))
            };
            first_difference(one, other)
                .and(same_records)
                .map_err(|what| (nth, format!("after {look} iterations {what}")))?;
        }
    }
    Ok(())
}

fn first_difference<T: Scalar>(one: &Snapshot<T>, other: &Snapshot<T>) -> Result<(), String> {
    let lists = [
        ("position", &one.positions, &other.positions),
        ("velocity", &one.velocities, &other.velocities),
        ("personal best", &one.personal_bests, &other.personal_bests),
        ("best fitness", &one.best_fitness, &other.best_fitness),
    ];
    for (name, a, b) in lists {
        assert_eq!(a.len(), b.len());
        assert!(!a.is_empty());
        let bits = |v: &T| v.to_f64().to_bits();
        if let Some(i) = a.iter().zip(b).position(|(a, b)| bits(a) != bits(b)) {
            return Err(format!("{name} {i} is {:e} and {:e}", a[i].to_f64(), b[i].to_f64()));
        }
    }
    for (one, other) in one.bests.iter().zip(&other.bests) {
        let bits = |best: &flockwork::backend::Best<T>| {
            let position: Vec<_> = best.position.iter().map(|x| x.to_f64().to_bits()).collect();
            (best.value.to_f64().to_bits(), best.particle, position)
        };
        if bits(one) != bits(other) {
            return Err(format!("the bests are {one:?} and {other:?}"));
        }
    }
    // The specialised iteration does not store what its rule never reads.
    if one.iteration != other.iteration || one.bests.len() != other.bests.len() {
        return Err("the iterations or the numbers of swarms differ".to_owned());
    }
    if one.exemplars != other.exemplars {
        return Err("the exemplars differ".to_owned());
    }
    Ok(())
}

/// Every rule, neighbourhood, boundary handling, schedule and kind of variable, with and without
/// rotation, several swarms at once; and the default options by the general iteration.
pub fn variants() -> Vec<Variant> {
    use flockwork::swarm::{Edge, Neighbourhood, Randomness, Schedule};

    let mut variants = vec![
        Variant {
            general: true,
            ..Variant::of("the general way", Options::for_rule(Rule::Inertia))
        },
        Variant { rotated: true, ..Variant::of("rotated", Options::for_rule(Rule::Inertia)) },
        Variant { mixed: true, ..Variant::of("mixed variables", Options::for_rule(Rule::Inertia)) },
        Variant { swarms: 5, ..Variant::of("five swarms", Options::for_rule(Rule::Inertia)) },
    ];
    let neighbourhoods = [
        Neighbourhood::Global,
        Neighbourhood::Ring(2),
        Neighbourhood::VonNeumann,
        Neighbourhood::Random(3),
    ];
    for (nth, &rule) in Rule::ALL.iter().enumerate() {
        for (mth, neighbourhood) in neighbourhoods.into_iter().enumerate() {
            for randomness in Randomness::ALL {
                // Boundary handling and the rest cycle through their values in parallel.
                let count = nth * 8 + mth * 2 + *randomness as usize;
                let options = Options {
                    neighbourhood: Some(neighbourhood),
                    randomness: Some(*randomness),
                    edge: Edge::ALL[count % Edge::ALL.len()],
                    schedule: Schedule::ALL[count % 3],
                    max_velocity: 0.9,
                    patience: 2,
                    ..Options::for_rule(rule)
                };
                let name = format!(
                    "{rule} {neighbourhood} {randomness} {} {}",
                    options.edge, options.schedule
                );
                let options = Options { particles: 33, ..options };
                if options.check().is_err() {
                    continue;
                }
                let mut variant = Variant::of(&name, options);
                variant.mixed = count % 4 == 1;
                variant.rotated = count % 4 == 2;
                variant.swarms = if count % 5 == 3 { 3 } else { 1 };
                variants.push(variant);
            }
        }
    }
    variants
}

/// The CPU that everything is compared with.
pub fn cpu() -> Cpu {
    Cpu::new(0).unwrap()
}

/// A CPU with one thread and this processor's widest vectors, and others to compare it with: every
/// narrower vector width, and several threads. Threads take whole tiles of particles, and a tile
/// knows its vectors but no threads, so that no combination of the two needs a look of its own.
pub fn cpus() -> (Cpu, Vec<Cpu>) {
    let widest = Simd::detect();
    let of = |threads, simd| Cpu::with_simd(threads, simd).unwrap();
    let narrower = [Simd::Baseline, Simd::Avx2, Simd::Avx512].into_iter();
    let narrower = narrower.filter(|&simd| simd < widest).map(|simd| of(1, simd));
    (of(1, widest), narrower.chain([of(3, widest)]).collect())
}
