//! What the tests of every back end share.

#![allow(dead_code, reason = "each test program uses its part of it")]

use std::fmt::Write as _;

use flockwork::{
    backend::{Backend, Cpu, Plan, Simd, Snapshot},
    fit,
    math::Scalar,
    objective::{Data, Objective},
    registry::{self, OBJECTIVES, Visitor},
    swarm::{Options, Problem},
};

/// One comparison: a swarm's size, and after which iterations to look.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub particles: u32,
    pub dims: u32,
    pub looks: &'static [u32],
}

/// The problem of a case: the function, shifted where it can be; the dimensions rounded up to what
/// it is defined for.
pub fn problem<O: Objective>(objective: O, dims: u32) -> Problem<O> {
    if O::INFO.data == Data::Rows {
        return Problem::from_data(objective, fit::synthetic(dims, 70, 5).unwrap()).unwrap();
    }
    let dims = (dims..).find(|&d| O::INFO.dimensions.contains(d)).unwrap();
    let problem = Problem::new(objective, dims).unwrap();
    if problem.can_shift() { problem.shifted(11).unwrap() } else { problem }
}

/// Runs the case for the function called `objective` on both back ends in both precisions; says
/// where the first bit differs.
pub fn same_bits(
    objective: &str,
    case: Case,
    one: &impl Backend,
    other: &impl Backend,
) -> Result<(), String> {
    let compare = Compare { case, one, other };
    registry::with_objective(objective, compare).unwrap_or_else(|_| panic!("{objective} exists"))
}

/// As [`same_bits`], for every function; all differences.
pub fn all_same_bits(case: Case, one: &impl Backend, other: &impl Backend) -> Result<(), String> {
    let mut differences = String::new();
    for info in OBJECTIVES {
        if let Err(difference) = same_bits(info.name, case, one, other) {
            let _ = writeln!(differences, "{difference}");
        }
    }
    if differences.is_empty() { Ok(()) } else { Err(differences) }
}

struct Compare<'a, A, B> {
    case: Case,
    one: &'a A,
    other: &'a B,
}

impl<A: Backend, B: Backend> Visitor for Compare<'_, A, B> {
    type Output = Result<(), String>;

    fn visit<O: Objective>(self, objective: O) -> Self::Output {
        self.compare::<O, f32>(objective)?;
        self.compare::<O, f64>(objective)
    }
}

impl<A: Backend, B: Backend> Compare<'_, A, B> {
    fn compare<O: Objective, T: Scalar>(&self, objective: O) -> Result<(), String> {
        let problem = problem(objective, self.case.dims);
        let options = Options {
            particles: self.case.particles,
            seed: 0x1234_5678_9abc,
            ..Options::default()
        };
        let plan = Plan::<O, T>::new(&problem, &options).unwrap();
        let mut swarms = [
            self.one.swarm(plan.clone()).map_err(|e| e.to_string())?,
            self.other.swarm(plan).map_err(|e| e.to_string())?,
        ];
        for swarm in &mut swarms {
            swarm.start().map_err(|e| e.to_string())?;
        }
        for &look in [0].iter().chain(self.case.looks) {
            let [one, other] = &mut swarms;
            let mut snapshots = [None, None];
            for (swarm, snapshot) in [one, other].into_iter().zip(&mut snapshots) {
                swarm.advance(look - swarm.iteration()).map_err(|e| e.to_string())?;
                *snapshot = Some(swarm.snapshot().map_err(|e| e.to_string())?);
            }
            let [Some(one), Some(other)] = snapshots else { unreachable!() };
            first_difference(&one, &other).map_err(|what| {
                format!(
                    "{} in {}, {:?}: after {look} iterations {what} ({} first, then {})",
                    O::INFO.name,
                    T::NAME,
                    self.case,
                    self.one.description(),
                    self.other.description()
                )
            })?;
        }
        Ok(())
    }
}

fn first_difference<T: Scalar>(one: &Snapshot<T>, other: &Snapshot<T>) -> Result<(), String> {
    let lists = [
        ("position", &one.positions, &other.positions),
        ("velocity", &one.velocities, &other.velocities),
        ("own best", &one.own_bests, &other.own_bests),
        ("best fitness", &one.best_fitness, &other.best_fitness),
        ("guide", &one.best.position, &other.best.position),
    ];
    for (name, a, b) in lists {
        assert_eq!(a.len(), b.len());
        assert!(!a.is_empty());
        let bits = |v: &T| v.to_f64().to_bits();
        if let Some(i) = a.iter().zip(b).position(|(a, b)| bits(a) != bits(b)) {
            return Err(format!("{name} {i} is {:e} and {:e}", a[i].to_f64(), b[i].to_f64()));
        }
    }
    if one.best.value.to_f64().to_bits() != other.best.value.to_f64().to_bits()
        || one.best.particle != other.best.particle
        || one.iteration != other.iteration
    {
        return Err(format!("the bests are {:?} and {:?}", one.best, other.best));
    }
    Ok(())
}

/// The CPU that everything is compared with.
pub fn cpu() -> Cpu {
    Cpu::new(0).unwrap()
}

/// CPUs with every vector width that this processor has, and several numbers of threads.
pub fn all_cpus() -> Vec<Cpu> {
    [Simd::Baseline, Simd::Avx2, Simd::Avx512]
        .into_iter()
        .filter(|&simd| simd <= Simd::detect())
        .flat_map(|simd| [1, 3].map(|threads| Cpu::with_simd(threads, simd).unwrap()))
        .collect()
}
