//! The benchmark's functions against values of another implementation, in `data/bbob.csv`, which
//! `scripts/bbob-reference` writes.

use std::ops::ControlFlow;

use flockwork::{
    bbob::{self, FUNCTIONS},
    bench::bbob::{Case, Course, Run, TARGETS, Task, Trial, measure, noted},
    swarm::{Options, Problem, Searches},
};

use super::{refused, value_at};

/// Numbers of a row: function, instance, dimensions; the least value, the sum of the optimum's
/// coordinates, and the values at three points.
fn rows() -> impl Iterator<Item = Vec<f64>> {
    let lines = include_str!("../../../data/bbob.csv").lines().skip(2);
    lines.map(|line| line.split(',').map(|number| number.parse().unwrap()).collect())
}

/// The points of a row, some of them beyond the box, as the script draws them.
fn points(function: u32, instance: u32, dims: u32) -> Vec<Vec<f64>> {
    let mut state = 1_000_000 * u64::from(function) + 1000 * u64::from(instance) + u64::from(dims);
    let mut coordinate = |_| {
        state = state * 48_271 % 2_147_483_647;
        state as f64 / 2_147_483_647.0 * 11.0 - 5.5
    };
    (0..3).map(|_| (0..dims).map(&mut coordinate).collect()).collect()
}

/// The function in a box that has all points.
fn widened(function: u32, instance: u32, dims: u32) -> Problem {
    let n = dims as usize;
    bbob::problem(function, instance, dims)
        .unwrap()
        .with_bounds(vec![-6.0; n], vec![6.0; n])
        .unwrap()
}

/// How far a value may be from the reference's, in units of the greater of 1 and its distance from
/// the least value.
fn tolerance(function: u32) -> f64 {
    match function {
        // Both round what waves and saws then magnify: by 3^11 (16), by as much as the square of a
        // fourth power of coordinates (19), by 2^32 (23).
        16 | 19 | 23 => 2e-11,
        _ => 1e-12,
    }
}

#[test]
fn values_are_those_of_another_implementation() {
    let mut compared = 0;
    let mut wrong = String::new();
    for row in rows() {
        let (function, instance, dims) = (row[0] as u32, row[1] as u32, row[2] as u32);
        let problem = widened(function, instance, dims);
        for (point, expected) in points(function, instance, dims).iter().zip(&row[5..]) {
            let value = value_at(&problem, point);
            let unit = (expected - row[3]).abs().max(1.0);
            let off = (value - expected).abs() / unit;
            if off.is_nan() || off > tolerance(function) {
                wrong += &format!("{}: {value:e}, not {expected:e}: {off:e}\n", problem.name());
            }
            compared += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(compared, 24 * 4 * 6 * 3);
}

#[test]
fn optima_are_those_of_another_implementation() {
    for row in rows() {
        let (function, instance, dims) = (row[0] as u32, row[1] as u32, row[2] as u32);
        let problem = bbob::problem(function, instance, dims).unwrap();
        let known = bbob::optimum(function, instance, dims).unwrap();
        let place = known.position.unwrap();
        assert_eq!(known.value, row[3], "{problem:?}");
        assert!((place.iter().sum::<f64>() - row[4]).abs() < 1e-10, "{problem:?}: {place:?}");
        let value = value_at(&problem, &place);
        assert!((value - known.value).abs() <= 1e-10, "{problem:?}: {value:e}");
    }
}

/// Beside it everything is worse, near and far.
#[test]
fn optima_are_optima() {
    for entry in FUNCTIONS {
        let problem = bbob::problem(entry.number, 3, 5).unwrap();
        let known = bbob::optimum(entry.number, 3, 5).unwrap();
        let place = known.position.unwrap();
        for (nth, point) in points(entry.number, 3, 100).concat().chunks_exact(5).enumerate() {
            let near = 0.1_f64.powi(nth as i32 % 7);
            let beside: Vec<f64> =
                place.iter().zip(point).map(|(x, y)| (x + near * y).clamp(-5.0, 5.0)).collect();
            let value = value_at(&problem, &beside);
            assert!(value >= known.value, "{problem:?}: {value:e} at {beside:?}");
        }
    }
}

#[test]
fn what_is_out_of_range_is_refused() {
    for (function, instance, dims, parts) in [
        (0, 1, 5, ["0", "from 1 to 24"]),
        (25, 1, 5, ["25", "from 1 to 24"]),
        (1, 0, 5, ["instance", "from 1 to 200000"]),
        (1, 200_001, 5, ["200001", "from 1 to 200000"]),
        (1, 1, 1, ["not for 1", "2 to 64"]),
        (24, 1, 65, ["not for 65", "2 to 64"]),
    ] {
        let problem = refused(bbob::problem(function, instance, dims));
        assert!(parts.iter().all(|part| problem.contains(part)), "{problem}");
        assert_eq!(refused(bbob::optimum(function, instance, dims)), problem);
    }
    for instance in [199_999, bbob::MOST_INSTANCE] {
        assert!(FUNCTIONS.iter().all(|entry| bbob::optimum(entry.number, instance, 64).is_ok()));
    }
    let message = refused(Problem::named("bbob", 5));
    assert!(message.contains("bbob::problem"), "{message}");
    let table = flockwork::fit::synthetic(5, 20, 1).unwrap();
    assert!(refused(Problem::named_from_data("bbob", table)).contains("bbob::problem"));
}

/// Runs are told in the order of the cases and do not depend on the number of threads.
#[test]
fn measured_runs_do_not_depend_on_threads() {
    let cases: Vec<Case> = [1, 5, 8]
        .into_iter()
        .flat_map(|function| [1, 2].map(|instance| Case { function, instance, dims: 2 }))
        .collect();
    let measured = |threads| {
        let mut runs = Vec::new();
        let trial = Trial { budget: 1500, threads, ..Trial::default() };
        let searches = Options { searches: Some(Searches::default()), ..Options::default() };
        measure(&cases, trial, &noted(&searches), |run| {
            runs.push(Run { seconds: 0.0, ..run });
        })
        .unwrap();
        runs
    };
    let runs = measured(1);
    assert_eq!(runs.iter().map(|run| run.case).collect::<Vec<_>>(), cases);
    assert_eq!(runs, measured(3));
    for run in runs {
        assert!(run.evaluations <= 3000 && run.error >= 0.0, "{run:?}");
        assert_eq!(run.solved_after.is_some(), run.reached.len() == TARGETS, "{run:?}");
    }
}

/// Any method can be measured: here one that tries the middle of the box and then the optimum.
#[test]
fn another_method_can_be_measured() {
    let knowing = |task: Task| {
        let mut course = Course::default();
        let known = bbob::optimum(2, 4, 3)?.position.unwrap();
        for point in [vec![0.0; 3], known] {
            course.evaluated(value_at(task.problem, &point));
        }
        assert_eq!((task.budget, task.problem.dims()), (30, 3));
        Ok(course)
    };
    let case = Case { function: 2, instance: 4, dims: 3 };
    let trial = Trial { budget: 10, ..Trial::default() };
    let mut told = 0;
    measure(&[case; 9], trial, &knowing, |run| {
        told += 1;
        assert_eq!((run.solved_after, run.reached.len()), (Some(2), TARGETS));
        if told == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    assert_eq!(told, 4);
    let wrong = [case, Case { function: 25, ..case }];
    assert!(refused(measure(&wrong, trial, &knowing, |_| {})).contains("from 1 to 24"));
}
