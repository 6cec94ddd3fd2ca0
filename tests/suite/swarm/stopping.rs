//! Stopping criteria and restarts.

use std::ops::ControlFlow;

use flockwork::{
    objective::{Rastrigin, Sphere},
    swarm::{
        Options, Outcome, Problem, Progress, Restart, Rule, Search, Start, Stop, StopReason,
        minimize,
    },
};

use super::{assert_same, cpu, refused, run, watch, wavy, wavy_problem};

/// Runs on one and on three threads; both must end alike.
#[track_caller]
fn run_both(problem: &Problem, options: &Options) -> Outcome {
    let one = run(problem, options).unwrap();
    let three = minimize(problem, options, &cpu(3), watch).unwrap();
    assert_same(&one, &three, "on three threads");
    one
}

fn options(stop: Stop) -> Options {
    Options { particles: 50, iterations: 400, stop, ..Options::default() }
}

#[test]
fn every_condition_ends_a_run_for_its_reason() {
    let problem = wavy_problem(3);
    let stop = Stop { check_every: 10, ..Stop::default() };
    let whole = run_both(&problem, &options(stop));
    assert_eq!((whole.stopped, whole.iterations), (StopReason::Iterations, 400));
    assert_eq!(whole.evaluations, 50 * 401);
    let near = whole.value + 1e-3;
    let cases = [
        (Stop { evaluations: Some(1234), ..stop }, StopReason::Evaluations),
        (Stop { target: Some(near), ..stop }, StopReason::Target),
        (Stop { fitness_tolerance: Some(1e-2), ..stop }, StopReason::FitnessTolerance),
        (Stop { spread_tolerance: Some(1e-3), ..stop }, StopReason::SpreadTolerance),
        (Stop { patience: Some(30), ..stop }, StopReason::Patience),
        // The first criterion to be met decides.
        (
            Stop { target: Some(near), evaluations: Some(20_000), patience: Some(300), ..stop },
            StopReason::Target,
        ),
        (
            Stop { target: Some(-1e9), spread_tolerance: Some(1e-3), ..stop },
            StopReason::SpreadTolerance,
        ),
        (Stop { target: Some(near), evaluations: Some(150), ..stop }, StopReason::Evaluations),
    ];
    for (stop, reason) in cases {
        let outcome = run_both(&problem, &options(stop));
        assert_eq!(outcome.stopped, reason, "{stop:?}");
        assert!(outcome.iterations < 400);
        assert_eq!(outcome.evaluations, 50 * (u64::from(outcome.iterations) + 1));
        if reason != StopReason::Evaluations {
            assert_eq!(outcome.iterations % 10, 0, "{stop:?}");
        }
        if let Some(most) = stop.evaluations {
            assert!(outcome.evaluations <= most, "{stop:?}");
        }
        if reason == StopReason::Target {
            assert!(outcome.value <= near);
        }
    }
    let budget = run(&problem, &options(Stop { evaluations: Some(1234), ..stop })).unwrap();
    assert_eq!(budget.evaluations, 1200, "as many iterations as fit");
    // The start meets the target.
    let at_once = run_both(&problem, &options(Stop { target: Some(1e9), ..stop }));
    assert_eq!((at_once.stopped, at_once.iterations), (StopReason::Target, 0));
}

/// A run ends at the first check where a tolerance is met.
#[test]
fn a_run_ends_at_the_first_check_that_meets_the_condition() {
    let problem = wavy_problem(3);
    let mut asked = options(Stop { check_every: 5, ..Stop::default() });
    asked.history = Some(5);
    let history = run(&problem, &asked).unwrap().history;
    let first = |meets: &dyn Fn(&flockwork::swarm::Sample) -> bool| {
        history.iter().find(|sample| meets(sample)).unwrap().iteration
    };
    asked.stop.spread_tolerance = Some(0.01);
    assert_eq!(run_both(&problem, &asked).iterations, first(&|s| s.spread <= 0.01));
    asked.stop.spread_tolerance = None;
    asked.stop.fitness_tolerance = Some(0.05);
    assert_eq!(run_both(&problem, &asked).iterations, first(&|s| s.mean - s.best <= 0.05));
    asked.stop.fitness_tolerance = None;
    asked.stop.target = Some(history[10].best);
    assert_eq!(run_both(&problem, &asked).iterations, first(&|s| s.best <= history[10].best));
    asked.stop.target = None;
    asked.stop.patience = Some(15);
    let at = run_both(&problem, &asked).iterations as usize / 5;
    assert_eq!(history[at].best, history[at - 3].best);
    for before in 3..at {
        assert_ne!(
            history[before].best,
            history[before - 3].best,
            "it stagnated at {before} already"
        );
    }
}

#[test]
fn a_target_of_a_maximisation_is_reached_from_below() {
    let problem = Problem::from_fn(vec![-4.0; 3], vec![5.0; 3], |x| -wavy(x)).unwrap().maximised();
    let best = run(&problem, &options(Stop::default())).unwrap().value;
    let stop = Stop { target: Some(best - 1e-2), check_every: 1, ..Stop::default() };
    let outcome = run_both(&problem, &options(stop));
    assert_eq!(outcome.stopped, StopReason::Target);
    assert!(outcome.iterations > 0 && outcome.value >= best - 1e-2 && outcome.value <= best);
    // The same as minimising the negative.
    assert_eq!(run(&wavy_problem(3), &options(Stop::default())).unwrap().value, -best);
}

#[test]
fn time_and_the_observer_end_a_run() {
    let mut options = options(Stop { seconds: Some(0.15), ..Stop::default() });
    options.iterations = u32::MAX - 1;
    let outcome = run(&wavy_problem(3), &options).unwrap();
    assert_eq!(outcome.stopped, StopReason::Time);
    assert!(outcome.iterations < options.iterations);
    options.stop.seconds = Some(0.0);
    assert_eq!(run(&wavy_problem(3), &options).unwrap().iterations, 0);

    options.stop.seconds = None;
    let mut calls = Vec::new();
    let outcome = minimize(&wavy_problem(3), &options, &cpu(1), |progress| {
        calls.push((progress.iteration, progress.evaluations, progress.value));
        if progress.iteration >= 40 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    assert_eq!(outcome.stopped, StopReason::Interrupted);
    assert_eq!(calls[0].0, 0, "called after the start");
    let last = *calls.last().unwrap();
    assert_eq!(last, (outcome.iterations, outcome.evaluations, outcome.value));
    assert!(calls.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1 && a.2 >= b.2), "{calls:?}");
}

/// A closure that only watches returns nothing; one that returns `ControlFlow` changes no bit by it.
#[test]
fn an_observer_may_return_nothing() {
    let (problem, options) = (wavy_problem(2), options(Stop::default()));
    let mut calls = 0;
    let watched = minimize(&problem, &options, &cpu(1), |_| calls += 1).unwrap();
    assert!(calls > 0);
    let asked = minimize(&problem, &options, &cpu(1), |_| ControlFlow::Continue(())).unwrap();
    assert_same(&watched, &asked, "watched and asked");
    let plain = problem.optimize(&options, &cpu(1)).unwrap();
    assert_same(&plain, &asked, "without an observer");
    // One that is chosen when the program runs, as before.
    let dynamic: &mut dyn FnMut(&Progress) -> ControlFlow<()> = &mut |_| ControlFlow::Break(());
    let ended = Search::new(problem).options(options).run_on(&cpu(1), dynamic).unwrap();
    assert_eq!(ended.stopped, StopReason::Interrupted);
}

/// The observer is told every sample, once.
#[test]
fn the_observer_gets_every_sample_once() {
    let mut options = options(Stop::default());
    options.history = Some(7);
    let mut told = Vec::new();
    let outcome = minimize(&wavy_problem(2), &options, &cpu(1), |progress| {
        told.extend_from_slice(progress.samples);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(told, outcome.history);
}

#[test]
fn no_budget_below_the_start_and_no_nonsense() {
    let refuse = |stop| refused(run(&wavy_problem(2), &options(stop)));
    let message = refuse(Stop { evaluations: Some(49), ..Stop::default() });
    assert!(message.contains("at least the 50 that the start takes"), "{message}");
    assert!(refuse(Stop { check_every: 0, ..Stop::default() }).contains("check_every is 0"));
    assert!(refuse(Stop { patience: Some(0), ..Stop::default() }).contains("stop patience is 0"));
    for bad in [-1.0, f64::NAN] {
        assert!(refuse(Stop { seconds: Some(bad), ..Stop::default() }).contains("seconds"));
        assert!(refuse(Stop { spread_tolerance: Some(bad), ..Stop::default() }).contains("spread"));
    }
    assert!(refuse(Stop { target: Some(f64::NAN), ..Stop::default() }).contains("target is NaN"));
}

fn restarting() -> (Problem, Options) {
    let problem = Problem::new(Rastrigin, 8).unwrap().shifted(2).unwrap();
    let options = Options {
        particles: 20,
        iterations: 700,
        restart: Some(Restart {
            patience: 30,
            spread: 1e-2,
            growth: 1.5,
            most_particles: 50,
            ..Restart::default()
        }),
        stop: Stop { check_every: 10, ..Stop::default() },
        history: Some(10),
        frames: Some(50),
        ..Options::for_rule(Rule::Inertia)
    };
    (problem, options)
}

#[test]
fn restarts_keep_the_best_of_all_grow_and_are_counted() {
    let (problem, options) = restarting();
    let outcome = run_both(&problem, &options);
    assert!(outcome.restarts >= 3, "{}", outcome.restarts);
    assert_eq!((outcome.iterations, outcome.stopped), (700, StopReason::Iterations));
    let best = outcome.history.iter().map(|s| s.best).fold(f64::INFINITY, f64::min);
    assert_eq!(outcome.found, best);
    assert!((outcome.value - best).abs() < 1e-6);
    // A restart shows where the same iteration is sampled again, at the start of the next swarm.
    let starts: Vec<_> =
        outcome.history.windows(2).filter(|two| two[0].iteration == two[1].iteration).collect();
    assert_eq!(starts.len(), outcome.restarts as usize);
    let mut sizes = vec![20];
    for two in &starts {
        sizes.push(two[1].evaluations - two[0].evaluations);
    }
    let mut expected: Vec<u64> = vec![20, 30, 45];
    expected.resize(sizes.len(), 50);
    assert_eq!(sizes, expected);
    // All evaluations: the start and the iterations of every swarm.
    let mut ends: Vec<_> = starts.iter().map(|two| two[0].iteration).collect();
    ends.push(700);
    let (mut before, mut evaluations) = (0, 0);
    for (size, end) in sizes.iter().zip(ends) {
        evaluations += size * u64::from(end - before + 1);
        before = end;
    }
    assert_eq!(outcome.evaluations, evaluations);
    // A frame of the start of every swarm.
    for two in &starts {
        let at = two[0].iteration;
        let size = (two[1].evaluations - two[0].evaluations) as usize * 8;
        let of_start =
            |f: &&flockwork::swarm::Frame| f.iteration == at && f.positions.len() == size;
        assert!(outcome.frames.iter().any(|frame| of_start(&frame)), "none of the start at {at}");
    }
    // The swarms differ, whatever their size.
    let alone = Options { restart: None, ..options.clone() };
    assert!(outcome.value <= run(&problem, &alone).unwrap().value);
    let same_size = Options {
        restart: Some(Restart { growth: 1.0, patience: 40, spread: 1e-2, ..Restart::default() }),
        ..options
    };
    let outcome = run_both(&problem, &same_size);
    let firsts: Vec<_> = outcome
        .history
        .windows(2)
        .filter(|two| two[0].iteration == two[1].iteration)
        .map(|two| two[1].best)
        .collect();
    assert!(firsts.len() > 1 && firsts.windows(2).all(|two| two[0] != two[1]), "{firsts:?}");
}

#[test]
fn restarts_respect_the_other_conditions() {
    let (problem, mut options) = restarting();
    for budget in [3000, 3001, 7777, 9990] {
        options.stop.evaluations = Some(budget);
        for start in [Start::Uniform, Start::Opposition, Start::Sobol] {
            options.start = start;
            let outcome = run_both(&problem, &options);
            assert!(outcome.evaluations <= budget, "{} of {budget}", outcome.evaluations);
        }
    }
    options.start = Start::Uniform;
    options.stop.evaluations = None;
    options.stop.patience = Some(150);
    let outcome = run_both(&problem, &options);
    assert_eq!(outcome.stopped, StopReason::Patience);
    assert!(outcome.restarts > 0);
    let message = refused(run(
        &problem,
        &Options {
            restart: Some(Restart { growth: 0.5, ..Restart::default() }),
            ..options.clone()
        },
    ));
    assert!(message.contains("restart growth is 0.5"), "{message}");
    // A saved run cannot hold an infinite one.
    let endless = Restart { spread: f64::INFINITY, ..Restart::default() };
    refused(run(&problem, &Options { restart: Some(endless), ..options }));
}

#[test]
fn a_settled_swarm_is_restarted_by_its_spread() {
    let problem = Problem::new(Sphere, 2).unwrap().shifted(1).unwrap();
    let mut options = Options {
        particles: 30,
        iterations: 600,
        restart: Some(Restart { patience: 10_000, spread: 1e-3, ..Restart::default() }),
        ..Options::default()
    };
    assert!(run_both(&problem, &options).restarts > 2);
    options.restart = Some(Restart { patience: 10_000, spread: 0.0, ..Restart::default() });
    assert_eq!(run_both(&problem, &options).restarts, 0);
}
