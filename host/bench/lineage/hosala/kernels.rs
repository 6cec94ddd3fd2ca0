//! The thesis's kernels on a machine, each looked at before it is timed.

use flockwork_device::{
    lineage::hosala::{layouts::Sum, updates::Xorwow},
    math::Scalar,
    random::{Draw, Purpose, philox},
};
use rayon::prelude::*;

use super::{
    Measured, Sized,
    reference::{Particle, Plain},
    summed, unit, wrong,
};
use crate::{
    Result,
    backend::{
        Machine, Number, Spread,
        lineage::hosala::{
            Patience,
            layouts::{Rules, State, layouts},
            reductions,
            sums::{Summed, sums},
            updates,
        },
    },
    bench::lineage::Check,
    swarm::Problem,
};

/// Iterations that are compared with the reference one by one.
pub(super) const LOOKED_AT: u32 = 6;

/// The best of so many candidates: the thesis's three ways and this project's.
pub(super) fn best<M: Machine, T: Number>(
    machine: &M,
    candidates: u32,
    patience: Patience,
) -> Result<([Measured; 3], Measured)> {
    // Few values, so that many are equal and the index decides.
    let value = |index: u32| {
        let draw = Draw {
            key: philox::key(3),
            iteration: 0,
            particle: index,
            group: 0,
            purpose: Purpose::Data,
            nth: 0,
        };
        T::nearest(f64::from(draw.block()[0] % 4096) - 2048.0)
    };
    let fitness: Vec<T> = (0..candidates).into_par_iter().map(value).collect();
    let least = fitness.iter().copied().fold(T::INFINITY, |a, b| if b < a { b } else { a });
    let first = fitness.iter().position(|&fitness| fitness == least).unwrap_or(0) as u32;
    let size = candidates.to_string();
    let look = |reduced: reductions::Reduced<T>| {
        let says = |(fitness, particle): (T, u32)| format!("{fitness} of particle {particle}");
        match reduced.best == (least, first) {
            true => Ok(measured(reduced.name, reduced.times, Check::Equal)),
            false => Err(wrong(reduced.name, &size, says(reduced.best), says((least, first)))),
        }
    };
    let (published, ours) = reductions::reductions(machine, &fitness, patience)?;
    let [shared, vol, shfl] = published.map(look);
    Ok(([shared?, vol?, shfl?], look(ours)?))
}

/// The update of so many particles in so many dimensions: the thesis's two ways and this project's.
pub(super) fn updates<M: Machine>(
    machine: &M,
    Sized { particles, dims }: Sized,
    patience: Patience,
) -> Result<([Measured; 2], Measured)> {
    let key = philox::key(5);
    let draw = |particle, group, purpose| {
        Draw { key, iteration: 1, particle, group, purpose, nth: 0 }.block()
    };
    // Random states; the fifth word is not zero.
    let state = |particle| {
        let ([a, b, c, d], [e, f, ..]) =
            (draw(particle, 0, Purpose::Seeds), draw(particle, 1, Purpose::Seeds));
        [a, b, c, d, e | 1, f]
    };
    let states: Vec<[u32; Xorwow::WORDS]> = (0..particles).into_par_iter().map(state).collect();
    let by_word = |states: &[[u32; Xorwow::WORDS]]| -> Vec<u32> {
        (0..Xorwow::WORDS).flat_map(|word| states.iter().map(move |state| state[word])).collect()
    };
    let length = particles as usize * dims as usize;
    let numbers = |nth: u32| -> Vec<f64> {
        let number = |index: usize| {
            let index = index as u32;
            f64::uniform_pair(draw(index, nth, Purpose::Data), 0).0 * 10.24 - 5.12
        };
        (0..length).into_par_iter().map(number).collect()
    };
    let swarm = updates::Swarm {
        particles,
        dims,
        best: particles / 3,
        key,
        coefficients: [0.729_84, 1.496_17, 1.496_17],
        positions: numbers(0),
        velocities: numbers(1),
        own_bests: numbers(2),
        states: by_word(&states),
    };
    let ([glob, reg], ours) = updates::updates(machine, &swarm, patience)?;

    // The generator once more, from its definition: the newest word is made of the oldest and the one before.
    let uniform = |state: &mut [u32; Xorwow::WORDS]| {
        let mut word = || {
            let mixed = state[0] ^ (state[0] >> 2);
            let newest = state[4] ^ (state[4] << 4) ^ mixed ^ (mixed << 1);
            state.copy_within(1..5, 0);
            state[4] = newest;
            state[5] = state[5].wrapping_add(362_437);
            u64::from(newest.wrapping_add(state[5]))
        };
        let high = word();
        (high << 32 | word()) >> 12
    };
    let by_generators = |states: &mut Vec<[u32; Xorwow::WORDS]>, _: u32| -> Vec<(f64, f64)> {
        let unit = |bits: u64| bits as f64 / 2_f64.powi(52);
        let pair = |state: &mut [u32; Xorwow::WORDS]| {
            let r1 = unit(uniform(state));
            (r1, unit(uniform(state)))
        };
        states.par_iter_mut().map(pair).collect()
    };
    let size = format!("{particles} x {dims}");
    for (updated, from_memory) in [(&glob, true), (&reg, false)] {
        let mut ends = match from_memory {
            true => states.clone(),
            false => (0..particles).map(|p| Xorwow::seeded(key, 1, p).0).collect(),
        };
        follows(&swarm, updated, &size, |dimension| by_generators(&mut ends, dimension))?;
        let kept = if from_memory { by_word(&ends) } else { swarm.states.clone() };
        if updated.states != kept {
            let expected = "the generators'".to_owned();
            return Err(wrong(updated.name, &size, "other states".to_owned(), expected));
        }
    }
    follows(&swarm, &ours, &size, |dimension| {
        let pair = |particle| f64::uniform_pair(draw(particle, dimension, Purpose::Velocity), 0);
        (0..particles).into_par_iter().map(pair).collect()
    })?;
    let of = |updated: updates::Updated| measured(updated.name, updated.times, Check::Equal);
    Ok(([of(glob), of(reg)], of(ours)))
}

/// Whether velocities and positions are what the formula gives with these random numbers, of one dimension of all
/// particles after the other.
fn follows(
    swarm: &updates::Swarm,
    updated: &updates::Updated,
    size: &str,
    mut pairs: impl FnMut(u32) -> Vec<(f64, f64)>,
) -> Result<()> {
    let [inertia, cognitive, social] = swarm.coefficients;
    let particles = swarm.particles as usize;
    for dimension in 0..swarm.dims {
        let row = dimension as usize * particles;
        for (nth, (r1, r2)) in pairs(dimension).into_iter().enumerate() {
            let index = row + nth;
            let (x, v, own) =
                (swarm.positions[index], swarm.velocities[index], swarm.own_bests[index]);
            let best = swarm.own_bests[row + swarm.best as usize];
            let v = inertia * v + cognitive * r1 * (own - x) + social * r2 * (best - x);
            let (found, expected) =
                ((updated.velocities[index], updated.positions[index]), (v, x + v));
            if found != expected {
                let says = |(v, x): (f64, f64)| {
                    format!(
                        "velocity {v} and position {x} of particle {nth} in dimension {dimension}"
                    )
                };
                return Err(wrong(updated.name, size, says(found), says(expected)));
            }
        }
    }
    Ok(())
}

/// An iteration of a swarm in the three layouts.
pub(super) fn iterations<M: Machine, O: Sum, T: Number>(
    machine: &M,
    problem: &Problem,
    particles: u32,
    patience: Patience,
) -> Result<Vec<Measured>> {
    let plain = Plain::<O, T>::start(problem, particles)?;
    let dims = plain.dims;
    let size = format!("{particles} x {dims}");
    // A large swarm needs fewer: each has that many more particles.
    let looked_at = if u64::from(particles) * u64::from(dims) > 1 << 20 { 2 } else { LOOKED_AT };
    let of = |what: fn(&Particle<T>) -> &[T]| -> Vec<T> {
        plain.particles.iter().flat_map(what).copied().collect()
    };
    let best_fitness: Vec<T> = plain.particles.iter().map(|p| p.best_fitness).collect();
    let start = State {
        positions: of(|p| &p.position),
        velocities: of(|p| &p.velocity),
        own_bests: of(|p| &p.own_best),
        fitness: best_fitness.clone(),
        best_fitness,
        guide: plain.guide.clone(),
        best: plain.best,
    };
    let (key, coefficients, bound) = (plain.key, plain.coefficients, plain.bound);
    let rules = Rules { particles, dims, key, coefficients, bound };
    let bound = f64::from(dims) * unit::<T>();
    let mut checks = Vec::new();
    let mut run: (Plain<O, T>, State<T>, f64) = (plain.clone(), start.clone(), 0.0);
    let mut look = |name, nth, state: State<T>| {
        if nth == 1 {
            run = (plain.clone(), start.clone(), 0.0);
        }
        let (before, previous, largest) = &mut run;
        before.iterate();
        let difference =
            compared(before, previous, &state, bound).map_err(|(found, expected)| {
                wrong(name, &size, format!("{found} after iteration {nth}"), expected)
            })?;
        *largest = largest.max(difference);
        if nth == looked_at {
            checks.push(if *largest == 0.0 { Check::Equal } else { Check::Within(*largest) });
        }
        take_over(before, &state);
        *previous = state;
        Ok(())
    };
    let times = layouts::<M, O, T>(machine, rules, &start, (looked_at, patience), &mut look)?;
    Ok(times
        .into_iter()
        .zip(checks)
        .map(|((name, times), check)| measured(name, times, check))
        .collect())
}

/// Whether a kernel's state is what comes of its state before. Motion must be the reference's, which began
/// from there; fitness within `bound` times the magnitude of the terms; and the bests must follow from the
/// kernel's own fitness. The largest difference of fitness, as a share of that magnitude; or what was found, and
/// what was expected.
fn compared<O: Sum, T: Number>(
    reference: &Plain<O, T>,
    previous: &State<T>,
    state: &State<T>,
    bound: f64,
) -> Result<f64, (String, String)> {
    let dims = reference.dims as usize;
    let one = |nth: usize| {
        let particle = &reference.particles[nth];
        let at = nth * dims..(nth + 1) * dims;
        let differ = |what: &str, found: &[T], expected: &[T]| match found
            .iter()
            .zip(expected)
            .position(|(a, b)| a != b)
        {
            None => Ok(()),
            Some(d) => Err((
                format!("{what} {} of particle {nth} in dimension {d}", found[d]),
                expected[d].to_string(),
            )),
        };
        differ("the position", &state.positions[at.clone()], &particle.position)?;
        differ("the velocity", &state.velocities[at.clone()], &particle.velocity)?;
        let (found, expected) = (state.fitness[nth].to_f64(), particle.fitness.to_f64());
        let magnitude = particle.magnitude.to_f64();
        let difference = (found - expected).abs();
        // Not if it is NaN.
        let is_near = difference <= bound * magnitude;
        if !is_near {
            return Err((format!("the fitness {found} of particle {nth}"), expected.to_string()));
        }
        let improved = state.fitness[nth] < previous.best_fitness[nth];
        let newer = if improved { state } else { previous };
        let best = if improved { state.fitness[nth] } else { previous.best_fitness[nth] };
        differ("the best fitness", &[state.best_fitness[nth]], &[best])?;
        let own_bests = if improved { &newer.positions } else { &newer.own_bests };
        differ("the own best", &state.own_bests[at.clone()], &own_bests[at])?;
        Ok(if difference == 0.0 { 0.0 } else { difference / magnitude })
    };
    let largest = (0..reference.particles.len())
        .into_par_iter()
        .map(one)
        .try_reduce(|| 0.0, |a: f64, b| Ok(a.max(b)))?;
    let better = |best: usize, nth| {
        if state.best_fitness[nth] < state.best_fitness[best] { nth } else { best }
    };
    let best = (0..state.best_fitness.len()).reduce(better).unwrap_or(0);
    if state.best as usize != best {
        return Err((format!("the best particle {}", state.best), best.to_string()));
    }
    let own_best = &state.own_bests[best * dims..(best + 1) * dims];
    if state.guide != own_best {
        return Err(("another best position".to_owned(), format!("that of particle {best}")));
    }
    Ok(largest)
}

/// Goes on from a kernel's state.
fn take_over<O: Sum, T: Number>(reference: &mut Plain<O, T>, state: &State<T>) {
    let dims = reference.dims as usize;
    reference.particles.par_iter_mut().enumerate().for_each(|(nth, particle)| {
        particle.fitness = state.fitness[nth];
        particle.best_fitness = state.best_fitness[nth];
        particle.own_best.copy_from_slice(&state.own_bests[nth * dims..(nth + 1) * dims]);
    });
    (reference.best, reference.guide) = (state.best, state.guide.clone());
}

/// The sums of squares of some particles, of which `expected` is known within the error of a plain sum: first
/// those with read-only loads, and then those without.
pub(super) fn squares<M: Machine, T: Number>(
    machine: &M,
    (size, columns): (&str, u32),
    numbers: &[T],
    positions: &[T],
    expected: &[f64],
    patience: Patience,
) -> Result<[Vec<Measured>; 2]> {
    let mut all = [Vec::new(), Vec::new()];
    sums(machine, columns, numbers, positions, patience, &mut |kernel: Summed<T>| {
        let rows = numbers.len() / (columns as usize + 1);
        let check = summed(kernel.name, size, (rows, columns), &kernel.sums, expected)?;
        all[usize::from(!kernel.cached)].push(measured(kernel.name, kernel.times, check));
        Ok(())
    })?;
    Ok(all)
}

fn measured(kernel: &'static str, times: Spread, checked: Check) -> Measured {
    Measured { kernel, times, checked }
}
