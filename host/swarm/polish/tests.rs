//! Each method by itself, on functions that it should solve.

use flockwork_device::objective::{Rastrigin, Rosenbrock, Sphere};

use super::*;
use crate::{
    backend::{Backend, Cpu},
    swarm::{Options, Precision},
};

/// An ellipsoid whose axes are `1`, ..., `1000` times as steep.
fn ellipsoid(dims: u32) -> Problem {
    use flockwork_device::objective::Ellipsoid;
    Problem::new(Ellipsoid, dims).unwrap().shifted(3).unwrap().rotated(5).unwrap()
}

/// Polishes the best of a swarm's start: the best found, and the evaluations that took.
fn polished(problem: &Problem, polish: &Polish) -> (f64, u64) {
    let options =
        Options { particles: 20, precision: Some(Precision::F64), seed: 3, ..Options::default() };
    let plan = Plan::<f64>::new(problem, &options).unwrap();
    let mut swarm = Cpu::new(1).unwrap().swarm(problem.function(), plan.clone()).unwrap();
    swarm.start(None).unwrap();
    let mut polisher = Polisher::new(polish, 0, problem).unwrap();
    assert!(polisher.begin(&mut *swarm, &plan, true).unwrap());
    let mut evaluations = 0;
    loop {
        match polisher.step(&mut *swarm, &plan, u64::MAX).unwrap() {
            Step::Done(used) => evaluations += used,
            Step::TooFew => unreachable!(),
            Step::Over => break,
        }
    }
    let (value, point) = polisher.best();
    for (d, x) in point.iter().enumerate() {
        assert!((problem.lower()[d]..=problem.upper()[d]).contains(x), "{x} in dimension {d}");
    }
    polisher.hand_over(&mut *swarm).unwrap();
    assert_eq!(swarm.best().unwrap().value, value);
    // Once is enough.
    assert!(!polisher.begin(&mut *swarm, &plan, false).unwrap());
    (value, evaluations)
}

#[track_caller]
fn solves(method: Method, problem: &Problem, within: f64, most: u64) {
    let (value, evaluations) = polished(problem, &Polish::new(method));
    assert!(value <= within && evaluations <= most, "{method}: {value:e} after {evaluations}");
}

#[test]
fn the_sphere() {
    let problem = Problem::new(Sphere, 10).unwrap().shifted(1).unwrap();
    solves(Method::Adaptive, &problem, 1e-10, 2_000);
    solves(Method::Covariance, &problem, 1e-10, 8_000);
    solves(Method::Line, &problem, 1e-10, 2_020);
}

#[test]
fn a_rotated_ellipsoid_of_condition_a_million() {
    solves(Method::Adaptive, &ellipsoid(8), 1e-10, 12_000);
    solves(Method::Covariance, &ellipsoid(8), 1e-10, 15_000);
}

#[test]
fn rosenbrocks_valley() {
    let problem = Problem::new(Rosenbrock, 8).unwrap().shifted(1).unwrap();
    solves(Method::Adaptive, &problem, 1e-9, 30_000);
    solves(Method::Covariance, &problem, 1e-9, 30_000);
}

#[test]
fn rastrigins_many_minima_axis_by_axis() {
    for seed in 1..=3 {
        let problem = Problem::new(Rastrigin, 12).unwrap().shifted(seed).unwrap();
        solves(Method::Line, &problem, 1e-6, 12 * 202);
    }
}

/// Everything outside is better: the side of the box is what remains.
#[test]
fn an_optimum_at_a_corner_of_the_box() {
    let problem =
        Problem::from_fn(vec![-1.0, 2.0], vec![3.0, 2.5], |x| x[0] - 10.0 * x[1]).unwrap();
    for &method in &[Method::Adaptive, Method::Line, Method::Covariance] {
        solves(method, &problem, -26.0 + 1e-9, 5_000);
    }
}

#[test]
fn what_cannot_be_polished_is_refused() {
    let problem = |kind| {
        let problem = Problem::from_fn(vec![0.0; 2], vec![4.0; 2], |x| x[0] + x[1]).unwrap();
        problem.with_variables(vec![Variable::Continuous, kind]).unwrap()
    };
    let accepts = |method, kind| Polisher::new(&Polish::new(method), 0, &problem(kind)).is_ok();
    for kind in [Variable::Integer, Variable::Periodic] {
        assert!(accepts(Method::Pattern, kind));
        assert!(!accepts(Method::Adaptive, kind));
        assert!(!accepts(Method::Covariance, kind));
    }
    assert!(accepts(Method::Line, Variable::Periodic));
    assert!(!accepts(Method::Line, Variable::Integer));
    for wrong in [
        Polish { patience: 0, ..Polish::default() },
        Polish { tolerance: 0.0, ..Polish::default() },
        Polish { tolerance: f64::NAN, ..Polish::default() },
        Polish { step: 2.0, ..Polish::default() },
        Polish { least_step: 0.0, ..Polish::default() },
        Polish { line_evaluations: 0, ..Polish::default() },
        Polish { then_line: true, ..Polish::new(Method::Line) },
    ] {
        assert!(wrong.check().is_err(), "{wrong:?}");
    }
    Polish::default().check().unwrap();
}

#[test]
fn a_damaged_state_is_an_error() {
    let problem = Problem::new(Sphere, 3).unwrap();
    let options = Options { particles: 5, precision: Some(Precision::F64), ..Options::default() };
    let plan = Plan::<f64>::new(&problem, &options).unwrap();
    let mut swarm = Cpu::new(1).unwrap().swarm(problem.function(), plan.clone()).unwrap();
    swarm.start(None).unwrap();
    for &method in Method::ALL {
        let mut polisher = Polisher::new(&Polish::new(method), 0, &problem).unwrap();
        polisher.begin(&mut *swarm, &plan, true).unwrap();
        polisher.step(&mut *swarm, &plan, 100).unwrap();
        let numbers = polisher.numbers();
        let text = serde_json::to_string(&polisher).unwrap();
        let read = || serde_json::from_str::<Polisher>(&text).unwrap();
        assert_eq!(read().restored(numbers.clone(), 3).unwrap().numbers(), numbers);
        assert!(read().restored(numbers[1..].to_vec(), 3).is_err(), "{method}");
        assert!(read().restored(Vec::new(), 3).is_err());
        if !polisher.interleaves() {
            assert!(read().restored(numbers, 4).is_err());
        }
    }
}
