//! Searches by CMA-ES: the same as on the CPU, for every function, and resumed on either.

use std::{ops::ControlFlow, time::Duration};

use flockwork::{
    backend::{Cuda, Gpus},
    registry::OBJECTIVES,
    swarm::{Checkpoint, Outcome, Problem, Progress, Search, Searches},
};
use libtest_mimic::{Failed, Trial};

use crate::common::{cpu, problem};

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for info in OBJECTIVES {
        trials.push(Trial::test(format!("same_searches_of_{}", info.name), || {
            same(&problem(info.name, 7), 12, 30_000)?;
            same(&problem(info.name, 30), 9, 60_000)
        }));
    }
    trials.push(Trial::test("same_searches_turned_in_many_lanes", || {
        let problem = Problem::named("rastrigin", 24)?.shifted(1)?.rotated(2)?;
        same(&problem, 256, 600_000)
    }));
    // In so many dimensions less and less of a generation finds room in shared memory, and in the last one
    // of its largest populations cannot be ranked there.
    for (name, dims, lanes, evaluations) in [
        ("ellipsoid", 52, 16, 100_000),
        ("rosenbrock", 80, 16, 60_000),
        ("sphere", 620, 8, 6_000),
        ("ackley", 2048, 2, 200),
        ("rastrigin", 10, 8, 1_500_000),
    ] {
        trials.push(Trial::test(format!("same_searches_in_{dims}_dimensions"), move || {
            same(&Problem::named(name, dims)?.shifted(1)?.rotated(2)?, lanes, evaluations)
        }));
    }
    trials.push(Trial::test("searches_resume_on_the_other_machine", resumed));
    trials.push(Trial::test("same_searches_on_all_gpus", on_all));
    trials
}

fn of(problem: &Problem, lanes: u32, evaluations: u64) -> Search {
    let searches = Searches { lanes: Some(lanes), ..Searches::default() };
    Search::new(problem.clone()).searches(searches).evaluations(evaluations).history(1)
}

fn go(_: &Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn equal(one: &Outcome, other: &Outcome) -> Result<(), Failed> {
    let told = |o: &Outcome| {
        let ends = (o.iterations, o.evaluations, o.restarts, o.stopped, o.agreement);
        format!("{:?} {:?} {ends:?} {:?}", o.value, o.position, o.history)
    };
    let (one, other) = (told(one), told(other));
    if one == other { Ok(()) } else { Err(format!("{one:.2000}\n{other:.2000}").into()) }
}

fn same(problem: &Problem, lanes: u32, evaluations: u64) -> Result<(), Failed> {
    let search = of(problem, lanes, evaluations);
    let gpu = Cuda::open(0)?;
    for threads in [64, 256] {
        let gpu = gpu.clone().with_block_threads(threads);
        equal(&search.clone().run_on(&cpu(), go)?, &search.clone().run_on(&gpu, go)?)?;
    }
    Ok(())
}

/// Dealt out to all GPUs, whole or begun on one of them; and what cannot be is refused.
fn on_all() -> Result<(), Failed> {
    let problem = Problem::named("rastrigin", 24)?.shifted(1)?.rotated(2)?;
    let (one, all) = (Cuda::open(0)?, Cuda::open_several(&Gpus::All)?);
    for lanes in [3, 256] {
        let search = of(&problem, lanes, 600_000);
        equal(&search.clone().run_on(&one, go)?, &search.clone().run_on(&all, go)?)?;
    }
    let swarm = Search::new(problem).with(|o| o.iterations = 3).run_on(&all, go);
    match (all.gpus().len(), swarm.map_err(|error| error.to_string())) {
        (1, Ok(_)) => {}
        (2.., Err(why)) if why.contains("it must be one GPU") => {}
        (gpus, other) => return Err(format!("{gpus} GPUs: {:?}", other.map(|_| ())).into()),
    }
    let formula = "sum(i in 0..n-1: (x[i]-0.3)^4 - cos(9*x[i]))".parse()?;
    let problem = Problem::from_formula_of_x(&formula, vec![-2.0; 6], vec![3.0; 6])?;
    let search = of(&problem, 64, 300_000);
    equal(&search.clone().run_on(&one, go)?, &search.run_on(&all, go)?)
}

/// Interrupted on one machine after a few rounds, and resumed on the other.
fn resumed() -> Result<(), Failed> {
    let problem = Problem::named("levy", 10)?.shifted(1)?.rotated(2)?;
    let search = of(&problem, 24, 400_000);
    let whole = search.clone().run_on(&cpu(), go)?;
    let folder = tempfile::tempdir()?;
    for on_gpu in [false, true] {
        let path = folder.path().join(format!("{on_gpu}"));
        let stop = |progress: &Progress| match progress.evaluations {
            0..100_000 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        };
        let saving = search.clone().save(&path, Duration::from_secs(1000));
        let rest = if on_gpu {
            saving.run_on(&Cuda::open(0)?, stop)?;
            Checkpoint::read(&path)?.resume(&problem, &cpu(), None, go)?
        } else {
            saving.run_on(&cpu(), stop)?;
            Checkpoint::read(&path)?.resume(&problem, &Cuda::open(0)?, None, go)?
        };
        equal(&whole, &rest)?;
    }
    Ok(())
}
