//! Starts other than uniform in the box.

use flockwork_device::swarm::{settings::Variable, update::Bound};

use super::{Problem, Start};
use crate::{
    Error, Result,
    backend::{Cpu, Number, Plan, Swarm, in_each},
    points,
};

/// Starts a swarm.
pub(super) fn start<T: Number>(
    swarm: &mut dyn Swarm<T>,
    problem: &Problem,
    plan: &Plan<T>,
    how: &Start,
) -> Result<()> {
    let seed = plan.members[0].seed;
    let (particles, dims) = (plan.particles, plan.dims());
    match how {
        Start::Uniform => swarm.start(None),
        Start::LatinHypercube => {
            let unit = points::latin_hypercube(particles, dims, seed)?;
            swarm.start(Some(&scaled(plan, &unit)))
        }
        Start::Sobol => {
            let unit = points::sobol(particles, dims, seed)?;
            swarm.start(Some(&scaled(plan, &unit)))
        }
        Start::Opposition => {
            let mut positions = T::in_each::<Uniform>((plan,))?;
            let mut opposite = positions.clone();
            for (index, x) in opposite.iter_mut().enumerate() {
                let Bound { lower, upper, .. } = bound(plan, index);
                *x = (lower + (upper - *x)).limit(lower, upper);
            }
            let (here, there) = (swarm.evaluate(&positions)?, swarm.evaluate(&opposite)?);
            let n = dims as usize;
            for (particle, (here, there)) in here.into_iter().zip(there).enumerate() {
                if there < here {
                    let row = particle * n..(particle + 1) * n;
                    positions[row.clone()].copy_from_slice(&opposite[row]);
                }
            }
            swarm.start(Some(&positions))
        }
        Start::Points(given) => {
            let mut positions = T::in_each::<Uniform>((plan,))?;
            for (particle, point) in given.iter().enumerate() {
                check(problem, particle, point)?;
                for (d, &x) in point.iter().enumerate() {
                    let Bound { lower, upper, .. } = bound(plan, d);
                    positions[particle * dims as usize + d] = T::nearest(x).limit(lower, upper);
                }
            }
            swarm.start(Some(&positions))
        }
    }
}

/// The bound of coordinate number `index` in a list of points.
fn bound<T: Number>(plan: &Plan<T>, index: usize) -> Bound<T> {
    Bound::from_words(plan.bounds[index % plan.bounds.len()].0)
}

/// Scales points of the unit cube to the box.
fn scaled<T: Number>(plan: &Plan<T>, unit: &[f64]) -> Vec<T> {
    let place = |(index, &u): (usize, &f64)| {
        let Bound { lower, upper, .. } = bound(plan, index);
        T::nearest(u).fma(upper - lower, lower).limit(lower, upper)
    };
    unit.iter().enumerate().map(place).collect()
}

in_each! {
    Uniform<'a, T>: fn(plan: &'a Plan<T>) -> Result<Vec<T>> = uniform
}

/// The positions that [`Start::Uniform`] would give.
fn uniform<T: Number>(plan: &Plan<T>) -> Result<Vec<T>> {
    let mut swarm = Cpu::new(0)?.headless(plan.clone())?;
    swarm.propose(true);
    Ok(swarm.positions())
}

/// Checks that a user's point lies in the box.
fn check(problem: &Problem, index: usize, point: &[f64]) -> Result<()> {
    let expected = problem.lower().len();
    if point.len() != expected {
        return Err(Error::Length { what: "a start point", found: point.len(), expected });
    }
    for (d, &x) in point.iter().enumerate() {
        let (lower, upper) = (problem.lower()[d], problem.upper()[d]);
        let whole = problem.variables()[d] == Variable::Integer;
        if !(lower <= x && x <= upper) || whole && x.fract() != 0.0 {
            let kind = if whole { "a whole number" } else { "a number" };
            return Err(Error::Option {
                option: "start points",
                value: format!("{x:?} in dimension {d} of point {index}"),
                accepted: format!("{kind} from {lower:?} to {upper:?} there"),
            });
        }
    }
    Ok(())
}
