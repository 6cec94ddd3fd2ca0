//! Asynchronous swarms keep what they promise, and solve what they should.

use std::ops::ControlFlow;

use flockwork::{
    backend::{Cuda, Number},
    objective::{Ackley, Objective, Rastrigin, Rosenbrock, Sphere},
    swarm::{Options, Precision, Problem, Progress, minimize},
};
use libtest_mimic::{Failed, Trial};

use crate::common::asynchronous::{keeps_its_promises, options};

/// Under stress: many blocks, few dimensions, bests that improve all the
/// time.
pub fn trials() -> Vec<Trial> {
    fn stress<O: Objective, T: Number>(
        objective: O,
        dims: u32,
        particles: u32,
        threads: u32,
    ) -> Result<(), Failed> {
        let gpu = Cuda::open(0)?.with_block_threads(threads);
        // Checks often while much is published, then lets it run.
        let advances: Vec<u32> = [1; 40].into_iter().chain([8; 20]).chain([150; 12]).collect();
        for seed in 1..=10 {
            let options = options(particles, seed);
            keeps_its_promises::<O, T>(objective, dims, &options, &gpu, &advances)?;
        }
        let options = options(particles, 11);
        Ok(keeps_its_promises::<O, T>(objective, dims, &options, &gpu, &[20_000])?)
    }
    let mut trials = Vec::new();
    for (dims, particles) in [(1, 20_000), (2, 50_001), (3, 4096), (40, 3000)] {
        for threads in [32, 128, 256] {
            let name = format!("asynchronous_stress_{particles}x{dims}_blocks_of_{threads}");
            trials.push(Trial::test(format!("{name}_f32"), move || {
                stress::<_, f32>(Sphere, dims, particles, threads)
            }));
            trials.push(Trial::test(format!("{name}_f64"), move || {
                stress::<_, f64>(Ackley, dims, particles, threads)
            }));
        }
    }
    trials.push(Trial::test("asynchronous_large_swarm", || {
        let advances = [1, 1, 1, 50, 200];
        let gpu = Cuda::open(0)?;
        let options = options(1_000_003, 1);
        Ok(keeps_its_promises::<_, f32>(Rastrigin, 5, &options, &gpu, &advances)?)
    }));
    // Particles are time-sliced; with 160 threads the schedulers have unequal numbers of warps.
    for threads in [None, Some(32), Some(160)] {
        let name = threads.map_or("any".to_owned(), |threads: u32| threads.to_string());
        trials.push(Trial::test(format!("asynchronous_turns_in_blocks_of_{name}"), move || {
            let mut gpu = Cuda::open(0)?;
            if let Some(threads) = threads {
                gpu = gpu.with_block_threads(threads);
            }
            for seed in 1..=3 {
                let advances = [1, 1, 3, 40, 70];
                let many = options(100_003, seed);
                keeps_its_promises::<_, f32>(Sphere, 66, &many, &gpu, &advances)?;
                keeps_its_promises::<_, f64>(Ackley, 33, &many, &gpu, &advances)?;
                keeps_its_promises::<_, f32>(Rosenbrock, 37, &many, &gpu, &advances)?;
            }
            let few = options(20_000_003, 4);
            Ok(keeps_its_promises::<_, f32>(Sphere, 2, &few, &gpu, &[1, 1, 60])?)
        }));
    }
    trials.push(Trial::test("asynchronous_solves_rastrigin", || {
        for (seed, precision) in [(1, Precision::F32), (2, Precision::F64), (3, Precision::F64)] {
            let problem = Problem::new(Rastrigin, 4)?.shifted(seed)?;
            let options = Options {
                iterations: 2000,
                precision: Some(precision),
                history: Some(100),
                ..options(8192, seed)
            };
            let go = |_: &Progress<'_>| ControlFlow::Continue(());
            let outcome = minimize(&problem, &options, &Cuda::open(0)?, go)?;
            let minimum = problem.optimum().unwrap().position.unwrap();
            let away = outcome.position.iter().zip(minimum).map(|(x, m)| (x - m).abs());
            if away.fold(0.0, f64::max) > 1e-3 || outcome.history.len() != 21 {
                return Err(format!("{outcome:?}").into());
            }
        }
        Ok(())
    }));
    trials
}
