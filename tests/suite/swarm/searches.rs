//! Searches by CMA-ES: what they find, when they end, that they are the same on every machine and
//! after a resume.

use std::{ops::ControlFlow, path::Path, time::Duration};

use flockwork::{
    backend::Backend,
    objective::{Levy, Rastrigin, Sphere},
    swarm::{
        Checkpoint, Edge, Neighbourhood, Options, Outcome, Precision, Problem, Progress, Restart,
        Search, Searches, StopReason, Variable,
    },
};

use super::{cpu, watch};

fn searches(lanes: u32) -> Searches {
    Searches { lanes: Some(lanes), ..Searches::default() }
}

fn of(problem: &Problem, lanes: u32, evaluations: u64) -> Search {
    Search::new(problem.clone()).searches(searches(lanes)).evaluations(evaluations)
}

fn run_on(search: &Search, backend: &impl Backend) -> Outcome {
    search.clone().run_on(backend, watch).unwrap()
}

/// Same course, same result.
#[track_caller]
fn assert_same(one: &Outcome, other: &Outcome, what: &str) {
    let key = |o: &Outcome| {
        let position: Vec<u64> = o.position.iter().map(|x| x.to_bits()).collect();
        (o.value.to_bits(), position, o.evaluations, o.restarts, o.iterations, o.agreement)
    };
    assert_eq!(key(one), key(other), "{what}");
    assert_eq!(one.stopped, other.stopped, "{what}");
    let course = |o: &Outcome| -> Vec<_> {
        o.history.iter().map(|s| (s.iteration, s.evaluations, s.best.to_bits())).collect()
    };
    assert_eq!(course(one), course(other), "{what}");
}

#[test]
fn the_minimum_of_moved_and_turned_functions_is_found() {
    for name in ["ellipsoid", "rosenbrock", "rastrigin", "griewank", "ackley", "levy", "zakharov"] {
        for (lanes, rotate) in [(1, false), (1, true), (4, true)] {
            let mut problem = Problem::named(name, 8).unwrap().shifted(3).unwrap();
            if rotate {
                problem = problem.rotated(4).unwrap();
            }
            let outcome = run_on(&of(&problem, lanes, 1_000_000), &cpu(2));
            assert!(outcome.value < 1e-8, "{name}, {lanes} lanes: {}", outcome.value);
        }
    }
}

/// Sums over the axes with exponentially many minima: solved along the axes.
#[test]
fn sums_over_the_axes_are_solved_by_the_line_search() {
    for name in ["schwefel", "rastrigin", "styblinski_tang"] {
        let problem = Problem::named(name, 20).unwrap().shifted(5).unwrap();
        let known = problem.optimum().unwrap().value;
        let outcome = run_on(&of(&problem, 1, 40_000).target(known + 1e-6), &cpu(1));
        assert_eq!(outcome.stopped, StopReason::Target, "{name}: {}", outcome.value);
    }
}

#[test]
fn a_minimum_on_the_side_of_the_box_is_found_to_the_last_bit() {
    let slope = |x: &[f64]| x[0] - 2.0 * x[1] + (x[2] - 0.25) * (x[2] - 0.25);
    let problem = Problem::from_fn(vec![-1.0; 3], vec![1.0; 3], slope).unwrap();
    let outcome = run_on(&of(&problem, 1, 100_000), &cpu(1));
    assert_eq!(outcome.position[..2], [-1.0, 1.0]);
    assert!((outcome.position[2] - 0.25).abs() < 1e-7, "{:?}", outcome.position);
}

/// Parameters at a bound are usual where a model is calibrated. Neither a slope nor a valley that ends
/// on the side may keep a search from the minimum along the other axes.
#[test]
fn minima_on_sides_and_in_corners_take_no_longer_than_others() {
    let bowl = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
    // What is needed for a minimum inside.
    let usual = |dims: usize| {
        let inside = Problem::from_fn(vec![-4.0; dims], vec![5.0; dims], bowl).unwrap();
        run_on(&of(&inside, 1, 1_000_000), &cpu(1)).evaluations
    };
    for dims in [2, 10] {
        let most = 2 * usual(dims);
        for on_sides in [1, dims / 2, dims] {
            for lowest in [0.5, 0.0] {
                let lower = (0..dims).map(|d| if d < on_sides { lowest } else { -4.0 });
                let problem = Problem::from_fn(lower, vec![5.0; dims], bowl).unwrap();
                let outcome = run_on(&of(&problem, 1, most), &cpu(1));
                let least = lowest * lowest * on_sides as f64;
                let what = format!("{on_sides} of {dims} at {lowest}: {outcome:?}");
                assert!(outcome.value - least < 1e-14, "{what}");
                assert_eq!(outcome.stopped, StopReason::Agreement, "{what}");
            }
        }
    }
}

#[test]
fn a_maximum_is_found_too() {
    let hill = |x: &[f64]| 3.0 - x.iter().map(|x| (x - 0.5) * (x - 0.5)).sum::<f64>();
    let problem = Problem::from_fn(vec![-1.0; 4], vec![1.0; 4], hill).unwrap().maximised();
    let outcome = run_on(&of(&problem, 1, 100_000), &cpu(1));
    assert!((outcome.value - 3.0).abs() < 1e-12);
    assert_eq!(outcome.stopped, StopReason::Agreement);
    assert!(outcome.agreement.is_some_and(|agreement| agreement.agreeing >= 5));
}

/// Units of the values do not decide what is found.
#[test]
fn values_of_any_size_are_searched_alike() {
    for scale in [1e-200, 1e-6, 1.0, 1e6, 1e200] {
        let valley =
            move |x: &[f64]| scale * (100.0 * (x[1] - x[0] * x[0]).powi(2) + (1.0 - x[0]).powi(2));
        let problem = Problem::from_fn(vec![-5.0; 2], vec![5.0; 2], valley).unwrap();
        let outcome = run_on(&of(&problem, 1, 200_000), &cpu(1));
        assert!(outcome.value < 1e-15 * scale, "{scale:e}: {:e}", outcome.value);
        assert_eq!(outcome.stopped, StopReason::Agreement, "{scale:e}");
    }
}

#[test]
fn threads_and_vector_widths_change_no_bit() {
    let problem = Problem::new(Rastrigin, 5).unwrap().shifted(1).unwrap().rotated(2).unwrap();
    for lanes in [1, 2, 9] {
        let search = of(&problem, lanes, 60_000).history(1);
        let one = run_on(&search, &cpu(1));
        let (usual, others) = crate::common::cpus();
        for backend in others.iter().chain([&usual]) {
            assert_same(&one, &run_on(&search, backend), &backend.description());
        }
    }
}

/// The kernel, lane by lane, against the CPU.
#[cfg(feature = "cuda")]
#[test]
fn the_kernel_in_the_emulator_gives_the_bits_of_the_cpu() {
    use flockwork::{
        backend::Emulated,
        objective::{Ackley, Ellipsoid, Objective, Rosenbrock, Schwefel},
    };

    fn same<O: Objective>(objective: O, dims: u32, lanes: u32, most: u64) {
        for rotate in [false, true] {
            let mut problem = Problem::new(objective, dims).unwrap();
            if problem.optimum().is_some_and(|known| known.position.is_some()) {
                problem = problem.shifted(1).unwrap();
            }
            if rotate {
                problem = problem.rotated(2).unwrap();
            }
            let search = of(&problem, lanes, most).history(1);
            let whole = run_on(&search, &cpu(2));
            for (seed, threads) in [(1, 32), (2, 64)] {
                let emulated = Emulated::new(seed, threads).with(objective);
                assert_same(&whole, &run_on(&search, &emulated), O::INFO.name);
            }
            // Dealt out, also to more GPUs than there are lanes.
            let several = Emulated::new(3, 32).with_gpus(3).with(objective);
            assert_same(&whole, &run_on(&search, &several), O::INFO.name);
        }
    }
    // Begun on the CPU, resumed on several GPUs, and the reverse.
    let problem = Problem::new(Ackley, 3).unwrap().shifted(1).unwrap();
    let search = of(&problem, 5, 3000).history(1);
    let whole = run_on(&search, &cpu(2));
    let several = Emulated::new(5, 32).with_gpus(2).with(Ackley);
    let folder = tempfile::tempdir().unwrap();
    for there_first in [false, true] {
        let path = folder.path().join(format!("{there_first}"));
        let saving = search.clone().save(&path, Duration::from_secs(3600));
        let rest = if there_first {
            saving.run_on(&several, until(1000)).unwrap();
            Checkpoint::read(&path).unwrap().resume(&problem, &cpu(1), None, watch)
        } else {
            saving.run_on(&cpu(1), until(1000)).unwrap();
            Checkpoint::read(&path).unwrap().resume(&problem, &several, None, watch)
        };
        assert_same(&whole, &rest.unwrap(), "resumed elsewhere");
    }

    same(Sphere, 1, 2, 4000);
    same(Ellipsoid, 2, 1, 3000);
    same(Rosenbrock, 3, 3, 4000);
    same(Ackley, 7, 2, 4000);
    same(Levy, 5, 9, 4000);
    same(Schwefel, 4, 1, 2500);
}

/// An observer that ends a run at this many evaluations or soon after.
fn until(evaluations: u64) -> impl FnMut(&Progress) -> ControlFlow<()> {
    move |progress| {
        if progress.evaluations >= evaluations { ControlFlow::Break(()) } else { watch(progress) }
    }
}

#[test]
fn interrupted_and_resumed_anywhere_a_run_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    // Slow enough that a round is interrupted in its middle.
    let slow = |x: &[f64]| {
        std::thread::sleep(Duration::from_micros(20));
        x.iter().map(|x| x * x - (9.0 * x).cos()).sum::<f64>()
    };
    let slow = Problem::from_fn(vec![-2.0; 3], vec![3.0; 3], slow).unwrap().called("slow");
    let quick = Problem::new(Levy, 4).unwrap().shifted(1).unwrap().rotated(1).unwrap();
    for (problem, lanes) in [(slow, 1), (quick.clone(), 1), (quick, 3)] {
        let search = of(&problem, lanes, 20_000).history(1);
        let whole = run_on(&search, &cpu(1));
        for at in [1, 500, 5000, 15_000] {
            let saving = search.clone().save(&path, Duration::from_secs(3600));
            saving.run_on(&cpu(2), until(at)).unwrap();
            let saved = Checkpoint::read(&path).unwrap();
            let again = flockwork::swarm::Saved {
                path: path.clone(),
                every: Duration::from_secs(3600),
                note: String::new(),
            };
            saved.resume(&problem, &cpu(1), Some(again), until(at + 1000)).unwrap();
            let rest = Checkpoint::read(&path).unwrap();
            let rest = rest.resume(&problem, &cpu(2), None, watch).unwrap();
            assert_same(&rest, &whole, &format!("{}, interrupted at {at}", problem.name()));
        }
        further(&problem, &search, &whole, &path);
    }
}

/// A run that has ended goes on with a higher limit, as if it had had it from the start.
fn further(problem: &Problem, search: &Search, whole: &Outcome, path: &Path) {
    if whole.stopped != StopReason::Evaluations {
        return;
    }
    search.clone().save(path, Duration::from_secs(3600)).run_on(&cpu(1), watch).unwrap();
    let saved = Checkpoint::read(path).unwrap();
    let saved = saved.with_limits(|_, stop| stop.evaluations = Some(30_000));
    let rest = saved.resume(problem, &cpu(1), None, watch).unwrap();
    assert!(rest.evaluations > whole.evaluations && rest.value <= whole.value);
}

#[test]
fn evaluations_are_at_most_as_many_as_asked_for() {
    let problem = Problem::new(Rastrigin, 6).unwrap().rotated(1).unwrap();
    for lanes in [1, 2, 5, 64] {
        for most in [1, 10, 100, 1000, 12_345] {
            let search = of(&problem, lanes, most).with(|o| {
                o.searches = Some(Searches { lanes: Some(lanes), agreeing: None });
            });
            match search.run_on(&cpu(2), watch) {
                Ok(outcome) => {
                    assert!(outcome.evaluations <= most, "{} of {most}", outcome.evaluations);
                    assert_eq!(outcome.stopped, StopReason::Evaluations);
                    // Less than a generation of each lane is left.
                    if lanes < 5 && most >= 1000 {
                        assert!(outcome.evaluations + 500 * u64::from(lanes) >= most.min(12_000));
                    }
                }
                // Too few for one generation.
                Err(why) => assert!(most < 12_345, "{lanes} lanes, {most}: {why}"),
            }
        }
    }
}

#[test]
fn what_searches_cannot_do_is_a_sentence() {
    let whole = Problem::from_fn(vec![0.0; 2], vec![9.0; 2], |x| x[0] + x[1]).unwrap();
    let whole = whole.with_variables(vec![Variable::Integer; 2]).unwrap();
    let why = Search::new(whole).searches(Searches::default()).run().unwrap_err().to_string();
    assert!(why.contains("use a swarm"), "{why}");
    let sphere = Problem::new(Sphere, 2).unwrap();
    for wrong in [
        Searches { lanes: Some(0), agreeing: None },
        Searches { lanes: Some(1 << 20), agreeing: None },
        Searches { lanes: None, agreeing: Some(0) },
    ] {
        let why = Search::new(sphere.clone()).searches(wrong).run().unwrap_err().to_string();
        assert!(why.contains("1 to "), "{why}");
    }
    let nan = Problem::from_fn(vec![0.0; 2], vec![1.0; 2], |_| f64::NAN).unwrap();
    assert!(of(&nan, 1, 5000).run().is_err());
    // What only a swarm has is not ignored.
    type Change = fn(&mut Options);
    let changes: [(&str, Change); 7] = [
        ("particles", |o| o.particles = 40),
        ("precision", |o| o.precision = Some(Precision::F32)),
        ("neighbourhood", |o| o.neighbourhood = Some(Neighbourhood::Ring(2))),
        ("edge", |o| o.edge = Edge::Wrap),
        ("stop patience", |o| o.stop.patience = Some(9)),
        ("restart", |o| o.restart = Some(Restart::default())),
        ("frames", |o| o.frames = Some(9)),
    ];
    for (name, change) in changes {
        let mut options = Options { searches: Some(searches(1)), ..Options::default() };
        options.check().unwrap();
        change(&mut options);
        let why = Search::new(sphere.clone()).options(options).run().unwrap_err().to_string();
        assert!(why.contains(name) && why.contains("searches by CMA-ES"), "{why}");
    }
}

#[test]
fn a_run_of_searches_computes_in_f64() {
    let options = Options { searches: Some(Searches::default()), ..Options::default() };
    let settled = options.settled_for(&Problem::new(Sphere, 2).unwrap());
    assert_eq!(settled.precision, Some(Precision::F64));
}
