//! Polishing within runs: budgets, boxes, the same bits everywhere, and after resuming.

use std::{
    ops::ControlFlow,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use flockwork::{
    Result,
    backend::{Backend, Cpu, Emulated},
    objective::{Rastrigin, Rosenbrock, Sphere},
    swarm::{
        Checkpoint, Large, Method, Neighbourhood, Options, Outcome, Polish, Precision, Preset,
        Problem, Progress, Restart, Rule, Search, Stop, StopReason, Variable, minimize,
    },
};

fn search(problem: &Problem, options: &Options, backend: &impl Backend) -> Outcome {
    minimize(problem, options, backend, |_| ControlFlow::Continue(())).unwrap()
}

fn cpu(threads: usize) -> Cpu {
    Cpu::new(threads).unwrap()
}

/// A small swarm that is polished soon.
fn options(method: Method) -> Options {
    Options {
        particles: 24,
        iterations: 60,
        precision: Some(Precision::F64),
        neighbourhood: Some(Neighbourhood::VonNeumann),
        stop: Stop { check_every: 5, ..Stop::default() },
        polish: Some(Polish { patience: 10, ..Polish::new(method) }),
        ..Options::for_rule(Rule::Inertia)
    }
}

/// Small and large swarms alternating, with few evaluations.
fn in_turn(method: Method) -> Options {
    let large =
        Large { particles: 32, growth: 1.5, length: 5, share: 0.7, polish: Method::Covariance };
    Options {
        iterations: 1 << 20,
        stop: Stop { evaluations: Some(20_000), check_every: 5, ..Stop::default() },
        restart: Some(Restart {
            patience: 20,
            length: Some(30),
            large: Some(large),
            ..Restart::default()
        }),
        polish: Some(Polish {
            line_evaluations: 40,
            then_line: !matches!(method, Method::Pattern | Method::Line),
            ..Polish::new(method)
        }),
        ..options(method)
    }
}

/// What must be equal in two outcomes.
fn bits(outcome: &Outcome) -> (u64, Vec<u64>, u32, u64, u32, StopReason) {
    let position = outcome.position.iter().map(|x| x.to_bits()).collect();
    let Outcome { value, iterations, evaluations, restarts, stopped, .. } = outcome;
    (value.to_bits(), position, *iterations, *evaluations, *restarts, *stopped)
}

#[test]
fn a_polished_swarm_is_better_than_a_plain_one() {
    let valley = Problem::new(Rosenbrock, 6).unwrap().shifted(2).unwrap();
    let bowl = Problem::new(Sphere, 6).unwrap().shifted(2).unwrap();
    for (method, problem, within) in [
        (Method::Pattern, &bowl, 1e-4),
        (Method::Line, &bowl, 1e-8),
        (Method::Adaptive, &valley, 1e-8),
        (Method::Covariance, &valley, 1e-8),
    ] {
        let mut options = options(method);
        if method == Method::Pattern {
            // Few enough that iterations often find nothing.
            (options.particles, options.iterations, options.stop.check_every) = (5, 200, 1);
        }
        let polished = search(problem, &options, &cpu(1));
        options.polish = None;
        let plain = search(problem, &options, &cpu(1));
        assert!(polished.value < plain.value, "{method}: {} {}", polished.value, plain.value);
        assert!(polished.value < within, "{method}: {:e}", polished.value);
    }
}

/// Also counts the points and checks where they are.
#[test]
fn never_outside_the_box_nor_beyond_the_budget() {
    for budget in [24, 25, 100, 1_234, 9_999] {
        for &method in Method::ALL {
            let count = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&count);
            let problem = Problem::from_fn(vec![-2.0, 1.0, -9.0], vec![1.0, 4.0, -8.5], move |x| {
                counted.fetch_add(1, Ordering::Relaxed);
                assert!((-2.0..=1.0).contains(&x[0]) && (1.0..=4.0).contains(&x[1]));
                assert!((-9.0..=-8.5).contains(&x[2]));
                (x[0] - 1.0).powi(2) + (x[1] - 0.9).powi(2) * 1e3 + x[2] * (x[0] + 5.0)
            })
            .unwrap();
            for mut options in [options(method), in_turn(method)] {
                count.store(0, Ordering::Relaxed);
                options.stop.evaluations = Some(budget);
                let outcome = search(&problem, &options, &cpu(1));
                let counted = count.load(Ordering::Relaxed);
                assert_eq!(outcome.evaluations, counted, "{method}");
                assert!(counted <= budget, "{method}: {counted} of {budget}");
            }
        }
    }
}

#[test]
fn stops_at_its_target_between_two_batches() {
    let problem = Problem::new(Sphere, 8).unwrap().shifted(2).unwrap();
    for method in [Method::Adaptive, Method::Covariance] {
        let mut options = options(method);
        options.stop.target = Some(1e-3);
        let outcome = search(&problem, &options, &cpu(1));
        assert_eq!(outcome.stopped, StopReason::Target);
        assert!((1e-5..=1e-3).contains(&outcome.value), "{}", outcome.value);
    }
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let problem = Problem::new(Rastrigin, 5).unwrap().shifted(2).unwrap().rotated(4).unwrap();
    for &method in Method::ALL {
        for options in [options(method), in_turn(method)] {
            let one = search(&problem, &options, &cpu(1));
            assert_eq!(bits(&one), bits(&search(&problem, &options, &cpu(3))), "{method}");
        }
    }
}

#[test]
fn the_same_bits_in_the_gpus_kernels() {
    let problem = Problem::new(Rosenbrock, 3).unwrap().shifted(2).unwrap();
    for &method in Method::ALL {
        for precision in [Precision::F32, Precision::F64] {
            let mut options =
                Options { precision: Some(precision), iterations: 20, ..options(method) };
            options.stop.evaluations = Some(900);
            let polish = Polish { patience: 5, line_evaluations: 20, ..Polish::new(method) };
            options.polish = Some(polish);
            let emulated = Emulated::new(3, 32).with(Rosenbrock);
            let [one, other] =
                [search(&problem, &options, &cpu(1)), search(&problem, &options, &emulated)];
            assert_eq!(bits(&one), bits(&other), "{method} {precision}");
        }
    }
}

/// Interrupted after a number of observer calls and resumed: the result is as if uninterrupted. The
/// observer is called after 50 ms of polishing, so the function is slow.
#[test]
fn resumed_in_the_middle() {
    let slow = |x: &[f64]| {
        std::thread::sleep(Duration::from_micros(150));
        x.windows(2).map(|w| 100.0 * (w[1] - w[0] * w[0]).powi(2) + (1.0 - w[0]).powi(2)).sum()
    };
    let problem = Problem::from_fn(vec![-3.0; 4], vec![3.0; 4], slow).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for &method in Method::ALL {
        let mut options = in_turn(method);
        options.stop.evaluations = Some(3_000);
        let whole = search(&problem, &options, &cpu(1));
        let path = folder.path().join(method.name());
        let seen = Mutex::new(0);
        let stop = |_: &Progress| {
            let mut seen = seen.lock().unwrap();
            *seen += 1;
            if *seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let search = Search::new(problem.clone()).options(options);
        search.save(&path, Duration::from_secs(60)).run_on(&cpu(1), stop).unwrap();
        // And once more on the way.
        for looks in [2, 1_000_000] {
            let saved = Checkpoint::read(&path).unwrap();
            *seen.lock().unwrap() = 3_i32.saturating_sub(looks);
            let again = flockwork::swarm::Saved {
                path: path.clone(),
                every: Duration::from_secs(60),
                note: String::new(),
            };
            let outcome = saved.resume(&problem, &cpu(1), Some(again), stop).unwrap();
            if looks > 3 {
                assert_eq!(bits(&outcome), bits(&whole), "{method}");
            }
        }
    }
}

#[test]
fn polls_integer_and_periodic_variables() -> Result<()> {
    let problem = Problem::from_fn(vec![0.0, -9.0, 0.0], vec![360.0, 9.0, 1.0], |x| {
        -(x[0] - 359.0).to_radians().cos() + (x[1] - 4.0).abs() + x[2]
    })?
    .with_variables(vec![Variable::Periodic, Variable::Integer, Variable::Continuous])?;
    for complete in [false, true] {
        let polish = Polish { complete, ..Polish::new(Method::Pattern) };
        let options = Options { iterations: 400, polish: Some(polish), ..options(Method::Pattern) };
        let outcome = search(&problem, &options, &cpu(1));
        assert!(outcome.value < -1.0 + 1e-9, "{}", outcome.value);
        assert_eq!(outcome.position[1], 4.0);
    }
    Ok(())
}

/// Small and large swarms get the evaluations they should.
#[test]
fn small_and_large_swarms_take_turns() {
    let problem = Problem::new(Rastrigin, 6).unwrap().shifted(2).unwrap().rotated(3).unwrap();
    for share in [0.0, 1.0] {
        let mut options = in_turn(Method::Adaptive);
        let Some(restart) = &mut options.restart else { unreachable!() };
        let Some(large) = &mut restart.large else { unreachable!() };
        large.share = share;
        let outcome = search(&problem, &options, &cpu(1));
        assert!(outcome.restarts > 2, "{}", outcome.restarts);
    }
}

#[test]
fn every_preset_runs_and_thorough_solves_what_a_swarm_does_not() {
    let problem = Problem::new(Rosenbrock, 10).unwrap().shifted(1).unwrap();
    let mut values = Vec::new();
    for &preset in Preset::ALL {
        assert_eq!(preset.name().parse::<Preset>().unwrap(), preset);
        let mut options = Options::preset(preset);
        options.check().unwrap();
        options.particles = options.particles.min(40);
        options.stop.evaluations = Some(30_000);
        values.push(search(&problem, &options, &cpu(1)).value);
    }
    assert!(values[Preset::ALL.len() - 1] < 1e-8, "{values:?}");
    assert!(values[..Preset::ALL.len() - 1].iter().all(|&value| value > 1e-8), "{values:?}");
}
