//! Closures as functions.

use std::{sync::mpsc, thread, time::Duration};

use flockwork::{
    objective::{Rosenbrock, Sphere},
    swarm::{Options, Precision, Problem, Rule, minimize},
};

use super::{assert_same, cpu, run, watch};

/// If a closure does the same arithmetic as a built-in function, its run is the same.
#[test]
fn a_closure_equals_the_built_in_function() {
    let sphere = Problem::new(Sphere, 6).unwrap();
    let (lower, upper) = (sphere.lower().to_vec(), sphere.upper().to_vec());
    let square = |x: &[f64]| x.iter().fold(0.0, |sum, x| sum + x * x);
    let single = Problem::from_fn(lower.clone(), upper.clone(), square).unwrap();
    let batch = Problem::from_batch_fn(lower, upper, move |points, values| {
        assert!(values.len() <= 64 && points.len() == 6 * values.len());
        for (value, point) in values.iter_mut().zip(points.chunks_exact(6)) {
            *value = square(point);
        }
    });
    let batch = batch.unwrap();
    for &rule in Rule::ALL {
        let options = Options {
            particles: 150,
            iterations: 80,
            precision: Some(Precision::F64),
            history: Some(10),
            ..Options::for_rule(rule)
        };
        let built_in = run(&sphere, &options).unwrap();
        assert_same(&run(&single, &options).unwrap(), &built_in, "single");
        assert_same(&run(&batch, &options).unwrap(), &built_in, "batch");
        let threads = minimize(&batch, &options, &cpu(3), watch).unwrap();
        assert_same(&threads, &built_in, "batch on three threads");
    }
    // Shifted together with the box, and in f32 like the built-in function.
    let precision = Some(Precision::F32);
    let options = Options { particles: 60, iterations: 40, precision, ..Options::default() };
    let known = run(&sphere, &options).unwrap();
    let found = run(&single, &options).unwrap();
    assert!((known.value - found.value).abs() < 1e-3 * known.value.max(1e-3));
}

#[test]
fn nan_in_closures_is_infinitely_bad() {
    let problem = |half: f64| {
        Problem::from_fn(vec![-4.0; 2], vec![4.0; 2], move |x| {
            if x[0] < 0.0 { half } else { (x[0] - 1.0).powi(2) + x[1] * x[1] }
        })
    };
    for half in [f64::NAN, f64::INFINITY] {
        for &rule in Rule::ALL {
            let options = Options { particles: 60, iterations: 150, ..Options::for_rule(rule) };
            let outcome = run(&problem(half).unwrap(), &options).unwrap();
            assert!(outcome.value < 0.05 && outcome.position[0] >= 0.0, "{rule}: {outcome:?}");
        }
    }
    // When maximising, minus infinity and NaN are equally bad.
    for half in [f64::NAN, f64::NEG_INFINITY] {
        let problem = Problem::from_fn(vec![-4.0; 2], vec![4.0; 2], move |x| {
            if x[0] < 0.0 { half } else { -(x[0] - 1.0).powi(2) - x[1] * x[1] }
        });
        let outcome = run(&problem.unwrap().maximised(), &Options::default()).unwrap();
        assert!(outcome.value > -1e-3 && outcome.position[0] >= 0.0);
    }
    let none = Problem::from_fn(vec![-4.0; 2], vec![4.0; 2], |_| f64::NAN).unwrap();
    let options = Options { particles: 10, iterations: 4, ..Options::default() };
    let message = run(&none, &options).unwrap_err().to_string();
    assert!(message.contains("after 50 evaluations closure had no finite value"), "{message}");
    let message = run(&none.called("model"), &options).unwrap_err().to_string();
    assert!(message.contains("model had no finite value"), "{message}");
}

/// A panic in a user's function reaches the caller, and the threads can be used again.
#[test]
fn a_panic_in_a_closure_ends_the_run() {
    for threads in [1, 3] {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let backend = cpu(threads);
            let problem = Problem::from_fn(vec![-1.0; 2], vec![1.0; 2], |x| {
                assert!(x[0] < 0.9, "on purpose");
                x[0]
            });
            let options = Options { particles: 2000, iterations: 50, ..Options::default() };
            let run = || minimize(&problem.unwrap(), &options, &backend, watch).is_ok();
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
            let sphere = Problem::new(Sphere, 2).unwrap();
            let after = minimize(&sphere, &options, &backend, watch).is_ok();
            sender.send((caught.is_err(), after)).unwrap();
        });
        // The timeout only ends a hang.
        let ended = receiver.recv_timeout(Duration::from_secs(1800));
        assert_eq!(ended, Ok((true, true)), "{threads} threads");
    }
}

/// A user's own box for a function that reads neighbouring coordinates.
#[test]
fn any_box_can_be_searched() {
    let problem = Problem::new(Rosenbrock, 3).unwrap();
    let problem = problem.with_bounds(vec![0.5, -2.0, 0.0], vec![1.5, 3.0, 8.0]).unwrap();
    let options = Options { particles: 100, iterations: 500, ..Options::default() };
    let outcome = run(&problem, &options).unwrap();
    assert!(outcome.value < 1e-3, "{}", outcome.value);
    for (d, x) in outcome.position.iter().enumerate() {
        assert!((problem.lower()[d]..=problem.upper()[d]).contains(x));
    }
}
