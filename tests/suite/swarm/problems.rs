//! Problems: maximised, shifted, rotated; and whether every rule solves some.

use flockwork::{
    objective::{Data, Goal, Rastrigin, Sphere},
    random::stream::PhiloxStream,
    registry::OBJECTIVES,
    swarm::{Options, Precision, Problem, Rule, Variable, minimize},
};
use rand::Rng;

use super::{cpu, run, swarm, value_at, watch};

#[test]
fn every_rule_solves_a_shifted_and_rotated_sphere() {
    let problem = Problem::new(Sphere, 10).unwrap().shifted(3).unwrap().rotated(4).unwrap();
    let known = problem.optimum().unwrap().position.unwrap();
    for &rule in Rule::ALL {
        let options = Options {
            particles: 80,
            iterations: 900,
            precision: Some(Precision::F64),
            ..Options::for_rule(rule)
        };
        let outcome = minimize(&problem, &options, &cpu(2), watch).unwrap();
        // Comprehensive learning is slow by design: it keeps exploring.
        let within = if rule == Rule::Comprehensive { 1.0 } else { 1e-6 };
        assert!(outcome.value < within, "{rule}: {:e}", outcome.value);
        for (x, known) in outcome.position.iter().zip(&known) {
            assert!((x - known).powi(2) <= within);
        }
    }
}

#[test]
fn the_greatest_value_where_that_is_sought() {
    let options = Options { particles: 200, iterations: 300, ..Options::default() };
    let cubic = Problem::named("cubic", 3).unwrap();
    assert_eq!(cubic.goal(), Goal::Maximise);
    let outcome = run(&cubic, &options).unwrap();
    assert_eq!((outcome.value, outcome.position), (2_700_000.0, vec![100.0; 3]));
    assert_eq!(cubic.optimum().unwrap().value, 2_700_000.0);
    // The lower end of the box has the smallest value: -1e6 - 8e3 + 1e5 + 8e3 each.
    let least = run(&cubic.minimised(), &options).unwrap();
    assert_eq!((least.value, least.position), (-2_700_000.0, vec![-100.0; 3]));

    let sphere = Problem::new(Sphere, 3).unwrap().maximised();
    assert!(sphere.optimum().is_none());
    let outcome = run(&sphere, &options).unwrap();
    assert_eq!(outcome.value, 30_000.0);
    assert!(outcome.position.iter().all(|x| x.abs() == 100.0));
}

/// The order of the steps that state a problem does not matter.
#[test]
fn a_problem_is_stated_in_any_order() {
    use Variable::{Continuous, Integer, Periodic};
    let kinds = || vec![Integer, Periodic, Continuous];
    let (lower, upper) = (vec![-7.0; 3], vec![9.0; 3]);
    let sphere = || Problem::new(Sphere, 3).unwrap();
    let stated = |problem: &Problem| {
        format!(
            "{problem:?} {:?} {:?} {:?}",
            problem.shift(),
            problem.variables(),
            problem.optimum()
        )
    };
    let one = sphere()
        .with_bounds(lower.clone(), upper.clone())
        .unwrap()
        .with_variables(kinds())
        .unwrap()
        .maximised()
        .shifted(5)
        .unwrap()
        .rotated(6)
        .unwrap();
    let other = sphere()
        .rotated(6)
        .unwrap()
        .shifted(5)
        .unwrap()
        .maximised()
        .with_variables(kinds())
        .unwrap()
        .with_bounds(lower, upper)
        .unwrap();
    assert_eq!(stated(&one), stated(&other));
    assert_eq!(
        stated(&sphere().shifted(5).unwrap()),
        stated(&{ sphere().shifted(5).unwrap().maximised().minimised() })
    );
}

/// Functions that are defined by their formula, in a few dimensions.
fn all() -> impl Iterator<Item = Problem> {
    OBJECTIVES.iter().filter(|info| info.data == Data::None).map(|info| {
        let dims = (6..).find(|&d| info.dimensions.contains(d)).unwrap();
        Problem::named(info.name, dims).unwrap()
    })
}

/// Shifted and rotated, the best value is the same and lies where stated, inside the box, and no
/// random point of the box is better.
#[test]
fn shifted_and_rotated_the_optimum_is_where_it_is_said_to_be() {
    let mut known = 0;
    for plain in all() {
        let Some(before) = plain.optimum() else { panic!("{plain:?}") };
        for seed in 1..4 {
            let shifted = plain.clone().shifted(seed).unwrap();
            let rotated = plain.clone().rotated(seed).unwrap();
            let both = shifted.clone().rotated(seed + 1).unwrap();
            for problem in [plain.clone(), shifted, rotated, both] {
                let Some(optimum) = problem.optimum() else {
                    let turned = problem.rotation_seed().is_some() && !problem.can_shift();
                    assert!(turned, "{problem:?}");
                    continue;
                };
                assert_eq!(optimum.value, before.value, "{problem:?}");
                let sign = if problem.goal() == Goal::Maximise { -1.0 } else { 1.0 };
                let scale = optimum.value.abs().max(1.0);
                if let Some(place) = &optimum.position {
                    known += 1;
                    let value = value_at(&problem, place);
                    let apart = (value - optimum.value).abs();
                    assert!(apart <= 1e-9 * scale, "{problem:?}: {value:e}");
                    for (d, x) in place.iter().enumerate() {
                        let (lower, upper) = (problem.lower()[d], problem.upper()[d]);
                        let rounding = 1e-12 * (upper - lower);
                        let inside = lower - rounding <= *x && *x <= upper + rounding;
                        assert!(inside, "{problem:?}: {x}");
                    }
                }
                let dims = problem.lower().len();
                let mut stream = PhiloxStream::new(seed);
                let points: Vec<f64> = (0..500 * dims)
                    .map(|at| {
                        let (lower, upper) =
                            (problem.lower()[at % dims], problem.upper()[at % dims]);
                        lower + stream.random::<f64>() * (upper - lower)
                    })
                    .collect();
                let values = swarm::<f64>(
                    &problem,
                    &Options { precision: Some(Precision::F64), ..Options::default() },
                )
                .evaluate(&points)
                .unwrap();
                for value in values {
                    let better = value < sign * optimum.value - 1e-9 * scale;
                    assert!(!better, "{problem:?}: {value:e} is better than {:e}", optimum.value);
                }
            }
        }
    }
    assert!(known > 100, "{known}");
}

/// A rotated function has the values of the function elsewhere.
#[test]
fn a_rotation_keeps_distances_from_the_optimum() {
    for plain in all().filter(Problem::can_shift) {
        let shifted = plain.shifted(3).unwrap();
        let centre = shifted.optimum().unwrap().position.unwrap();
        let step = 0.01 * (shifted.upper()[0] - shifted.lower()[0]);
        let point: Vec<f64> =
            centre.iter().enumerate().map(|(d, x)| x + step * (1.0 + d as f64 / 3.0)).collect();
        let rotated = shifted.clone().rotated(8).unwrap();
        let (before, after) = (value_at(&shifted, &point), value_at(&rotated, &point));
        if shifted.name() == "sphere" {
            let distance: f64 = point.iter().zip(&centre).map(|(x, c)| (x - c) * (x - c)).sum();
            assert!((before - distance).abs() < 1e-9 && (after - distance).abs() < 1e-9);
        } else {
            assert!((before - after).abs() > 1e-6, "{shifted:?}");
        }
    }
}

#[test]
fn the_box_moves_along_with_a_function_whose_optimum_is_not_known() {
    for problem in all().filter(|problem| !problem.can_shift()) {
        let shifted = problem.clone().shifted(2).unwrap();
        assert_ne!(shifted.lower(), problem.lower(), "{problem:?}");
        let mut probe: Vec<f64> = problem.lower().to_vec();
        for (d, x) in probe.iter_mut().enumerate() {
            *x += (0.1 + 0.07 * d as f64 % 0.8) * (problem.upper()[d] - problem.lower()[d]);
        }
        let moved: Vec<f64> = probe.iter().zip(shifted.shift()).map(|(x, s)| x + s).collect();
        let (here, there) = (value_at(&problem, &probe), value_at(&shifted, &moved));
        assert!((here - there).abs() <= 1e-6 * here.abs().max(1.0), "{problem:?}: {here} {there}");
    }
    let closure = super::wavy_problem(2).shifted(2).unwrap();
    let point = [1.0 + closure.shift()[0], 2.0 + closure.shift()[1]];
    assert!((value_at(&closure, &point) - super::wavy(&[1.0, 2.0])).abs() < 1e-12);
}

/// What is stated about an optimum is true in the box that is searched.
#[test]
fn no_optimum_is_stated_that_is_not_one() {
    let sphere = || Problem::new(Sphere, 2).unwrap();
    let outside = sphere().with_bounds(vec![1.0; 2], vec![2.0; 2]).unwrap();
    assert_eq!(outside.optimum(), None);
    assert!(outside.shifted(1).unwrap().optimum().is_some(), "moved into the box");
    // The cubic grows beyond its box.
    let cubic = Problem::named("cubic", 2).unwrap();
    let larger = cubic.with_bounds(vec![-200.0; 2], vec![200.0; 2]).unwrap();
    assert_eq!(larger.optimum(), None);
    // Whole numbers stay whole when a problem is shifted: the optimum is one of its points.
    let whole = sphere().with_variables(vec![Variable::Integer; 2]).unwrap().shifted(3).unwrap();
    let optimum = whole.optimum().unwrap();
    let place = optimum.position.unwrap();
    assert!(place.iter().all(|x| x.fract() == 0.0), "{place:?}");
    assert_eq!(value_at(&whole, &place), 0.0);
    let options = Options { particles: 50, iterations: 200, ..Options::default() };
    assert_eq!(run(&whole, &options).unwrap().position, place);
    // If the box is shifted too, its bounds stay whole.
    let moved = Problem::named("cubic", 2).unwrap();
    let moved = moved.with_variables(vec![Variable::Integer; 2]).unwrap().shifted(3).unwrap();
    let outcome = run(&moved, &options).unwrap();
    assert_eq!(outcome.position, moved.upper());
    assert_eq!(Some(outcome.value), moved.optimum().map(|o| o.value));
}

#[test]
fn a_rotated_problem_with_periodic_and_whole_variables_is_what_was_asked() {
    let problem = Problem::new(Rastrigin, 3)
        .unwrap()
        .with_bounds(vec![-5.0; 3], vec![5.0; 3])
        .unwrap()
        .with_variables(vec![Variable::Integer, Variable::Periodic, Variable::Continuous])
        .unwrap()
        .rotated(2)
        .unwrap();
    // Rounded first, then rotated.
    assert_eq!(value_at(&problem, &[1.4, 2.0, 3.0]), value_at(&problem, &[1.0, 2.0, 3.0]));
    assert_ne!(value_at(&problem, &[1.6, 2.0, 3.0]), value_at(&problem, &[1.0, 2.0, 3.0]));
}
