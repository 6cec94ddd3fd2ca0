//! Starting points of swarms.

use flockwork::{
    objective::Rastrigin,
    swarm::{Options, Precision, Problem, Restart, Start, Variable},
};

use super::{refused, run, swarm, wavy_problem};

/// The initial positions, particle by particle.
fn first(problem: &Problem, options: &Options) -> Vec<Vec<f64>> {
    let options = Options { iterations: 0, frames: Some(1), ..options.clone() };
    let outcome = run(problem, &options).unwrap();
    let row = |row: &[f32]| row.iter().map(|&x| f64::from(x)).collect();
    outcome.frames[0].positions.chunks_exact(problem.lower().len()).map(row).collect()
}

/// The number of points in each of as many slices of a dimension as there are points.
fn slices(problem: &Problem, points: &[Vec<f64>], d: usize) -> Vec<usize> {
    let mut counts = vec![0; points.len()];
    let (lower, upper) = (problem.lower()[d], problem.upper()[d]);
    for point in points {
        let share = (point[d] - lower) / (upper - lower) * points.len() as f64;
        counts[(share as usize).min(points.len() - 1)] += 1;
    }
    counts
}

#[test]
fn a_latin_hypercube_and_sobol_points_fill_every_slice() {
    let problem = wavy_problem(3);
    let usual = Options { particles: 64, seed: 5, ..Options::default() };
    for start in [Start::LatinHypercube, Start::Sobol] {
        let points = first(&problem, &Options { start: start.clone(), ..usual.clone() });
        for d in 0..3 {
            assert_eq!(slices(&problem, &points, d), vec![1; 64], "{start:?}");
        }
        let other = Options { start, seed: 6, ..usual.clone() };
        assert_ne!(points, first(&problem, &other));
    }
    let points = first(&problem, &usual);
    assert!(slices(&problem, &points, 0).contains(&0), "uniform points leave slices empty");
}

#[test]
fn velocities_are_drawn_as_with_a_uniform_start() {
    let problem = wavy_problem(3);
    let velocities = |start| {
        let options =
            Options { particles: 50, iterations: 0, frames: Some(1), start, ..Options::default() };
        run(&problem, &options).unwrap().frames[0].velocities.clone()
    };
    let uniform = velocities(Start::Uniform);
    for start in [Start::LatinHypercube, Start::Sobol, Start::Opposition, Start::Points(Vec::new())]
    {
        assert_eq!(velocities(start.clone()), uniform, "{start:?}");
    }
}

#[test]
fn opposition_is_never_worse_than_uniform() {
    for seed in 1..20 {
        let problem = Problem::new(Rastrigin, 4).unwrap().shifted(seed).unwrap();
        let options = Options { particles: 30, iterations: 0, seed, ..Options::default() };
        let uniform = run(&problem, &options).unwrap();
        let options = Options { start: Start::Opposition, ..options };
        let opposed = run(&problem, &options).unwrap();
        assert!(opposed.value <= uniform.value);
        // Each particle or its opposite.
        let (here, there) =
            (first(&problem, &Options { start: Start::Uniform, ..options.clone() }), {
                first(&problem, &options)
            });
        for (here, there) in here.iter().zip(&there) {
            let mirrored = here.iter().zip(there).zip(problem.lower().iter().zip(problem.upper()));
            let opposite = mirrored.clone().all(|((a, b), (l, u))| (a + b - (l + u)).abs() < 1e-5);
            assert!(here == there || opposite);
        }
    }
}

/// Every evaluation of the start is counted, and no budget is exceeded.
#[test]
fn the_evaluations_of_a_start_are_counted() {
    let calls = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counted = std::sync::Arc::clone(&calls);
    let problem = Problem::from_fn(vec![-1.0; 2], vec![1.0; 2], move |x| {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        x[0] * x[0] + x[1]
    })
    .unwrap();
    for start in [
        Start::Uniform,
        Start::LatinHypercube,
        Start::Sobol,
        Start::Opposition,
        Start::Points(vec![vec![0.5, 0.5]]),
    ] {
        for budget in 10..60 {
            calls.store(0, std::sync::atomic::Ordering::Relaxed);
            let mut options = Options { particles: 10, start: start.clone(), ..Options::default() };
            options.stop.evaluations = Some(budget);
            let Ok(outcome) = run(&problem, &options) else {
                assert!(budget < 30 && start == Start::Opposition, "{start:?} {budget}");
                continue;
            };
            assert!(
                outcome.evaluations <= budget,
                "{start:?}: {} of {budget}",
                outcome.evaluations
            );
            assert_eq!(outcome.evaluations, calls.load(std::sync::atomic::Ordering::Relaxed));
        }
    }
}

#[test]
fn the_users_points_are_the_first_particles() {
    let problem = wavy_problem(2);
    let points = vec![vec![0.1, 0.2], vec![-4.0, 5.0], vec![4.999, -3.999]];
    let usual = Options { particles: 8, precision: Some(Precision::F64), ..Options::default() };
    let options = Options { start: Start::Points(points.clone()), ..usual.clone() };
    let found = first(&problem, &options);
    let uniform = first(&problem, &usual);
    for (point, found) in points.iter().zip(&found) {
        let rounded: Vec<f64> = point.iter().map(|&x| f64::from(x as f32)).collect();
        assert_eq!(&rounded, found);
    }
    assert_eq!(found[3..], uniform[3..], "the others are as without");
    // The optimum among them is found at once.
    let best =
        Options { start: Start::Points(vec![vec![-0.31, 0.5]; 8]), iterations: 0, ..options };
    let outcome = run(&problem, &best).unwrap();
    assert_eq!(outcome.position, [-0.31, 0.5]);
    assert_eq!(outcome.value, super::wavy(&[-0.31, 0.5]));
}

#[test]
fn bad_points_get_a_sentence() {
    let problem = wavy_problem(2);
    let refuse = |problem: &Problem, points: Vec<Vec<f64>>| {
        let options = Options { particles: 2, start: Start::Points(points), ..Options::default() };
        refused(run(problem, &options))
    };
    assert!(refuse(&problem, vec![vec![0.0]]).contains("a start point has 1 entries"));
    let outside = refuse(&problem, vec![vec![0.0; 2], vec![0.0, 5.1]]);
    assert!(outside.contains("5.1 in dimension 1 of point 1"), "{outside}");
    assert!(refuse(&problem, vec![vec![f64::NAN, 0.0]]).contains("NaN in dimension 0"));
    let many = refuse(&problem, vec![vec![0.0; 2]; 3]);
    assert!(many.contains("at most as many as there are particles"), "{many}");
    let whole = problem.with_variables(vec![Variable::Continuous, Variable::Integer]).unwrap();
    let fraction = refuse(&whole, vec![vec![0.5, 0.5]]);
    assert!(fraction.contains("a whole number from -4.0 to 5.0"), "{fraction}");
}

/// Points are for the first swarm; later swarms start at random, and may be larger.
#[test]
fn after_a_restart_the_users_points_are_not_used_again() {
    let problem = wavy_problem(2);
    let mut options = Options {
        particles: 6,
        iterations: 60,
        start: Start::Points(vec![vec![1.0; 2]; 6]),
        restart: Some(Restart { patience: 5, growth: 2.0, ..Restart::default() }),
        frames: Some(1),
        ..Options::default()
    };
    options.stop.check_every = 5;
    let outcome = run(&problem, &options).unwrap();
    assert!(outcome.restarts > 0);
    let grown = outcome.frames.iter().find(|frame| frame.positions.len() > 12).unwrap();
    assert_ne!(grown.positions[..2], [1.0, 1.0]);
}

#[test]
fn a_point_found_elsewhere_stays_the_best() {
    // Three tiles of the CPU; nothing found later is better.
    let options = Options { particles: 130, ..Options::default() };
    let problem = Problem::new(Rastrigin, 10).unwrap();
    let mut swarm = swarm::<f64>(&problem, &options);
    swarm.start(None).unwrap();
    swarm.advance(200).unwrap();
    let owner = swarm.best().unwrap().particle;
    swarm.implant(0, &[0.0; 10], 0.0).unwrap();
    for _ in 0..10 {
        swarm.advance(1).unwrap();
        let best = swarm.best().unwrap();
        assert_eq!((best.value, best.particle, best.position), (0.0, owner, vec![0.0; 10]));
    }
    assert_eq!(swarm.snapshot().unwrap().best_fitness[owner as usize], 0.0);
}
