//! Whole runs: the same as on the CPU, resumed, several at once, and without what they must not
//! leave behind.

use std::{ops::ControlFlow, time::Duration};

use flockwork::{
    backend::{Backend, Cuda, Gpus, Plan, Strategy},
    cuda::live_allocations,
    objective::{Context, Info, Objective, Point, Rastrigin, Sphere},
    swarm::{
        Checkpoint, Coefficients, Islands, Method, Migration, Options, Outcome, Polish, Precision,
        Preset, Problem, Progress, Restart, Rule, Search, Start, Stop, Variation, minimize,
        minimize_many,
    },
};
use libtest_mimic::{Failed, Trial};

use crate::common::cpu;

pub fn trials() -> Vec<Trial> {
    let mut trials = whole_runs();
    trials.push(Trial::test("a_run_leaves_no_allocation", no_leak));
    trials.push(Trial::test("a_swarm_too_large_gets_a_sentence", too_large));
    trials.push(Trial::test("an_unregistered_function_gets_a_sentence", unregistered));
    trials.push(Trial::test("a_run_finds_the_minimum", finds_the_minimum));
    trials.push(Trial::test("islands_on_all_gpus", islands_on_all));
    trials
}

/// Islands dealt out to all GPUs, with particles in each order of memory.
fn islands_on_all() -> Result<(), Failed> {
    for (dims, particles) in [(12, 3000), (80, 500)] {
        let problem = Problem::new(Rastrigin, dims)?.shifted(1)?;
        let islands = Islands { migration: Migration::All, ..Islands::of(4) };
        let search = Search::new(problem).particles(particles).iterations(220).islands(islands);
        let expected = search.clone().run_on(&cpu(), |_| {})?;
        let all = Cuda::open_several(&Gpus::All)?;
        for strategy in [Strategy::General, Strategy::Streaming] {
            let found = search.clone().run_on(&all.clone().with_strategy(strategy), |_| {})?;
            if (&found.position, found.island) != (&expected.position, expected.island) {
                return Err(format!("{strategy}, {dims} dimensions: another best").into());
            }
        }
        let found = search.run_on(&all, |_| {})?;
        if found.position != expected.position {
            return Err(format!("{dims} dimensions: another best").into());
        }
    }
    Ok(())
}

/// Whole runs with everything around a swarm: the same on both back ends.
fn whole_runs() -> Vec<Trial> {
    let usual = Options { particles: 300, iterations: 400, seed: 5, ..Options::default() };
    let restart = Restart { patience: 40, growth: 1.5, ..Restart::default() };
    let runs = [
        ("history", Options { history: Some(7), ..usual.clone() }),
        ("frames", Options { frames: Some(50), ..usual.clone() }),
        ("latin_hypercube", Options { start: Start::LatinHypercube, ..usual.clone() }),
        ("sobol", Options { start: Start::Sobol, ..usual.clone() }),
        ("opposition", Options { start: Start::Opposition, ..usual.clone() }),
        ("points", Options { start: Start::Points(vec![vec![0.5; 6]; 9]), ..usual.clone() }),
        ("restarts", Options { restart: Some(restart), ..usual.clone() }),
        (
            "conditions",
            Options {
                stop: Stop {
                    patience: Some(60),
                    spread_tolerance: Some(1e-4),
                    evaluations: Some(90_000),
                    ..Stop::default()
                },
                ..usual.clone()
            },
        ),
        (
            "islands",
            Options {
                islands: Some(Islands { every: 30, ..Islands::of(5) }),
                history: Some(45),
                ..usual.clone()
            },
        ),
        ("comprehensive", Options { particles: 300, ..Options::for_rule(Rule::Comprehensive) }),
    ];
    let polish = |method| Options {
        polish: Some(Polish::new(method)),
        stop: Stop { evaluations: Some(60_000), ..Stop::default() },
        ..usual.clone()
    };
    let thorough = Options {
        stop: Stop { evaluations: Some(20_000), check_every: 5, ..Stop::default() },
        ..Options::preset(Preset::Thorough)
    };
    let mut trials = Vec::new();
    for (name, options) in runs.into_iter().chain([
        ("polls", polish(Method::Pattern)),
        ("coordinate_descent", polish(Method::Adaptive)),
        ("lines", polish(Method::Line)),
        ("cma_es", polish(Method::Covariance)),
        ("all_that_is_thorough", thorough),
    ]) {
        for precision in [Precision::F32, Precision::F64] {
            let options = Options { precision: Some(precision), ..options.clone() };
            let one = options.clone();
            trials.push(Trial::test(format!("same_run_with_{name}_{precision}"), move || {
                same_run(&one)
            }));
            trials.push(Trial::test(format!("resumed_with_{name}_{precision}"), move || {
                resumed(&options)
            }));
        }
    }
    trials.push(Trial::test("many_swarms_are_those_of_runs_of_their_own", many));
    trials
}

fn run(problem: &Problem, options: &Options, gpu: bool) -> Result<Outcome, Failed> {
    let go = |_: &Progress| ControlFlow::Continue(());
    Ok(if gpu {
        minimize(problem, options, &Cuda::open(0)?, go)?
    } else {
        minimize(problem, options, &cpu(), go)?
    })
}

/// What must be equal, as text.
fn told(outcome: &Outcome) -> String {
    format!(
        "{:?} {:?} {} {} {} {:?} {:?} {:?}",
        outcome.value,
        outcome.position,
        outcome.iterations,
        outcome.evaluations,
        outcome.restarts,
        outcome.stopped,
        outcome.history,
        outcome.frames
    )
}

fn equal(one: &Outcome, other: &Outcome) -> Result<(), Failed> {
    let (one, other) = (told(one), told(other));
    if one == other { Ok(()) } else { Err(format!("{one:.2000}\n{other:.2000}").into()) }
}

fn same_run(options: &Options) -> Result<(), Failed> {
    let problem = Problem::new(Rastrigin, 6)?.shifted(3)?;
    equal(&run(&problem, options, false)?, &run(&problem, options, true)?)
}

/// Started on one back end, interrupted, and resumed on the other.
fn resumed(options: &Options) -> Result<(), Failed> {
    let problem = Problem::new(Rastrigin, 6)?.shifted(3)?;
    let whole = run(&problem, options, false)?;
    let folder = tempfile::tempdir()?;
    for on_gpu in [false, true] {
        let path = folder.path().join(format!("{on_gpu}"));
        let stop = |progress: &Progress| match progress.iteration {
            0..90 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        };
        let search = Search::new(problem.clone()).options(options.clone());
        let search = search.save(&path, Duration::from_secs(1000));
        if on_gpu {
            search.run_on(&Cuda::open(0)?, stop)?;
        } else {
            search.run_on(&cpu(), stop)?;
        }
        let saved = Checkpoint::read(&path)?;
        let go = |_: &Progress| ControlFlow::Continue(());
        let rest = if on_gpu {
            saved.resume(&problem, &cpu(), None, go)?
        } else {
            saved.resume(&problem, &Cuda::open(0)?, None, go)?
        };
        equal(&whole, &rest)?;
    }
    Ok(())
}

fn many() -> Result<(), Failed> {
    let problem = Problem::new(Rastrigin, 6)?.shifted(3)?;
    let options = Options { particles: 77, iterations: 120, ..Options::default() };
    let variations: Vec<Variation> = (0..50)
        .map(|seed| {
            let coefficients =
                Coefficients { social: 1.2 + 0.01 * seed as f64, ..Coefficients::CONSTRICTION };
            Variation { seed, coefficients: Some(coefficients) }
        })
        .collect();
    let gpu = Cuda::open(0)?;
    let together = minimize_many(&problem, &options, &variations, &gpu)?;
    for (Variation { seed, coefficients }, outcome) in variations.into_iter().zip(together) {
        equal(
            &run(&problem, &Options { seed, coefficients, ..options.clone() }, false)?,
            &outcome,
        )?;
    }
    Ok(())
}

fn no_leak() -> Result<(), Failed> {
    let before = live_allocations();
    for precision in [Precision::F32, Precision::F64] {
        let options = Options { precision: Some(precision), iterations: 20, ..Options::default() };
        let gpu = Cuda::open(0)?;
        minimize(&Problem::new(Sphere, 8)?, &options, &gpu, |_| ControlFlow::Continue(()))?;
    }
    let after = live_allocations();
    if before == after { Ok(()) } else { Err(format!("{before:?} became {after:?}").into()) }
}

fn too_large() -> Result<(), Failed> {
    let gpu = Cuda::open(0)?;
    let options = Options { particles: 1 << 31, ..Options::default() };
    let problem = Problem::new(Rastrigin, 1000)?;
    let plan = Plan::<f64>::new(&problem, &options)?;
    let before = live_allocations();
    match gpu.swarm(problem.function(), plan) {
        Ok(_) => Err("48 TB were allocated".into()),
        Err(error) if error.to_string().contains("memory") && before == live_allocations() => {
            Ok(())
        }
        Err(error) => Err(format!("{error}").into()),
    }
}

#[derive(Clone, Copy, Default)]
struct Unregistered;

impl Objective for Unregistered {
    const INFO: Info = Info { name: "unregistered", ..Sphere::INFO };
    type Partial<T: flockwork::math::Real> = T;
    fn term<T: flockwork::math::Real>(
        &self,
        index: u32,
        x: &impl Point<T>,
        _: &Context<T::Scalar>,
    ) -> T {
        x.at(index)
    }
    fn finish<T: flockwork::math::Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}

fn unregistered() -> Result<(), Failed> {
    let problem = Problem::new(Unregistered, 3)?;
    let plan = Plan::<f32>::new(&problem, &Options::default())?;
    match Cuda::open(0)?.swarm(problem.function(), plan) {
        Ok(_) => Err("it ran".into()),
        Err(error) if error.to_string().contains("register it") => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn finds_the_minimum() -> Result<(), Failed> {
    let problem = Problem::new(Rastrigin, 6)?.shifted(3)?;
    let options = Options {
        particles: 16_384,
        iterations: 500,
        precision: Some(Precision::F64),
        ..Options::default()
    };
    let outcome = minimize(&problem, &options, &Cuda::open(0)?, |_| ControlFlow::Continue(()))?;
    let minimum = problem.optimum().unwrap().position.unwrap();
    for (found, expected) in outcome.position.iter().zip(minimum) {
        if (found - expected).abs() > 1e-6 {
            return Err(format!("{:?}", outcome).into());
        }
    }
    Ok(())
}
