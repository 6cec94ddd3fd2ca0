//! Invariants of an asynchronous swarm, however its parts are scheduled.

use flockwork::{
    backend::{Best, Number, Plan, Swarm},
    math::Scalar,
    objective::Objective,
    swarm::{Mode, Options},
};

use super::{Machine, cpu, problem};

/// The options of an asynchronous run.
pub fn options(particles: u32, seed: u64) -> Options {
    Options { particles, seed, mode: Mode::Asynchronous, ..Options::default() }
}

/// Advances a swarm by each of these numbers of iterations, with a check after each; the error
/// tells what is broken.
pub fn keeps_its_promises<O: Objective, T: Number>(
    objective: O,
    dims: u32,
    options: &Options,
    machine: &impl Machine,
    advances: &[u32],
) -> Result<(), String> {
    let problem = problem(O::INFO.name, dims);
    let plan = || Plan::<T>::new(&problem, options).map_err(|e| e.to_string());
    let mut judge = cpu().swarm(objective, &problem, plan()?).map_err(|e| e.to_string())?;
    let mut swarm = machine.swarm(objective, &problem, plan()?).map_err(|e| e.to_string())?;
    let mut run = || -> flockwork::Result<Result<(), String>> {
        swarm.start(None)?;
        let mut before = swarm.best()?;
        for &iterations in advances {
            swarm.advance(iterations)?;
            if let Err(what) = look(&mut *swarm, &mut *judge, &before)? {
                return Ok(Err(format!("after {} iterations {what}", swarm.iteration())));
            }
            before = swarm.best()?;
        }
        let expected: u32 = advances.iter().sum();
        Ok(if swarm.iteration() == expected { Ok(()) } else { Err("iterations".to_owned()) })
    };
    run().map_err(|e| e.to_string()).flatten().map_err(|what| {
        let size = format!("{} x {dims}, seed {}", options.particles, options.seed);
        let how = machine.description();
        format!("{} in {}, {size}, {how}: {what}", O::INFO.name, T::NAME)
    })
}

fn bits<T: Scalar>(numbers: &[T]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_f64().to_bits()).collect()
}

/// Checks a swarm whose best was `before`; `judge` evaluates points.
fn look<T: Number>(
    swarm: &mut dyn Swarm<T>,
    judge: &mut dyn Swarm<T>,
    before: &Best<T>,
) -> flockwork::Result<Result<(), String>> {
    let snapshot = swarm.snapshot()?;
    let (best, dims) = (&snapshot.bests[0], snapshot.bests[0].position.len());
    let values = judge.evaluate(&snapshot.personal_bests)?;
    if let Some(i) = (0..values.len()).find(|&i| values[i] != snapshot.best_fitness[i]) {
        let (value, kept) = (values[i].to_f64(), snapshot.best_fitness[i].to_f64());
        return Ok(Err(format!(
            "particle {i} has {kept:e} at its personal best, where it is {value:e}"
        )));
    }
    let least = values.iter().copied().fold(T::INFINITY, |a, b| if b < a { b } else { a });
    let own = &snapshot.personal_bests[best.particle as usize * dims..][..dims];
    if best.value != least || values[best.particle as usize] != least {
        return Ok(Err(format!("{best:?} is not the least of all personal bests, {least:?}")));
    }
    if bits(own) != bits(&best.position) {
        return Ok(Err(format!("{best:?} is torn: the particle's personal best is at {own:?}")));
    }
    if best.value > before.value {
        return Ok(Err(format!("{best:?} is worse than {before:?} before")));
    }
    let held = swarm.block_bests()?;
    let positions: Vec<T> = held.iter().flat_map(|held| held.position.clone()).collect();
    for (part, (held, value)) in held.iter().zip(judge.evaluate(&positions)?).enumerate() {
        if held.value != value {
            return Ok(Err(format!("part {part} holds {held:?}, torn: it is {value:?} there")));
        }
        if held.value < best.value || held.value > before.value {
            let range = format!("{:?} to {:?}", best.value, before.value);
            return Ok(Err(format!("part {part} holds {held:?}, which is not in {range}")));
        }
    }
    Ok(Ok(()))
}
