//! Several swarms at once.

use flockwork::{
    backend::{Backend, Emulated},
    objective::Rastrigin,
    swarm::{
        Coefficients, Options, Outcome, Precision, Problem, Restart, Rule, Start, Stop, Variation,
        minimize, minimize_many,
    },
};

use super::{assert_same, cpu, refused, run, watch, wavy_problem};

fn variations(options: &Options, count: u64) -> Vec<Variation> {
    let given = options.coefficients.unwrap_or(Coefficients::CONSTRICTION);
    (0..count)
        .map(|nth| {
            let social = given.social + 0.05 * nth as f64;
            let coefficients = Some(Coefficients { social, ..given });
            Variation { seed: 100 + nth * 7, coefficients }
        })
        .collect()
}

/// Checks that each of several swarms equals a run of its own on the CPU.
fn equals_alone(problem: &Problem, options: &Options, backend: &impl Backend, count: u64) {
    let variations = variations(options, count);
    let many: Vec<Outcome> = minimize_many(problem, options, &variations, backend).unwrap();
    assert_eq!(many.len(), variations.len());
    for (outcome, variation) in many.iter().zip(&variations) {
        let Variation { seed, coefficients } = *variation;
        let alone = Options { seed, coefficients, ..options.clone() };
        let what = format!("{} of seed {seed}", options.rule);
        assert_same(outcome, &run(problem, &alone).unwrap(), &what);
    }
    assert_ne!(many[0].position, many[1].position);
}

#[test]
fn each_of_several_swarms_is_as_it_would_be_alone() {
    let closure = wavy_problem(3);
    let built_in = Problem::new(Rastrigin, 3).unwrap().shifted(1).unwrap().rotated(2).unwrap();
    for precision in [Precision::F32, Precision::F64] {
        for &rule in Rule::ALL {
            let options = Options {
                particles: 70,
                iterations: 40,
                history: Some(9),
                precision: Some(precision),
                patience: 2,
                ..Options::for_rule(rule)
            };
            equals_alone(&closure, &options, &cpu(3), 5);
            equals_alone(&built_in, &options, &cpu(1), 5);
        }
    }
}

#[test]
fn each_of_several_swarms_in_gpu_kernels() {
    let problem = Problem::new(Rastrigin, 3).unwrap().shifted(1).unwrap();
    for &rule in Rule::ALL {
        let options = Options {
            particles: 40,
            iterations: 8,
            history: Some(3),
            patience: 2,
            ..Options::for_rule(rule)
        };
        equals_alone(&problem, &options, &Emulated::new(5, 32).with(Rastrigin), 3);
    }
}

#[test]
fn what_swarms_do_one_by_one_is_refused_for_many() {
    let problem = wavy_problem(2);
    let usual = Options { particles: 10, iterations: 5, ..Options::default() };
    let variations = variations(&usual, 2);
    let asks = [
        ("start", Options { start: Start::Sobol, ..usual.clone() }),
        ("stop", Options { stop: Stop { target: Some(0.0), ..usual.stop }, ..usual.clone() }),
        ("restart", Options { restart: Some(Restart::default()), ..usual.clone() }),
        ("frames", Options { frames: Some(1), ..usual.clone() }),
    ];
    for (what, options) in asks {
        let message = refused(minimize_many(&problem, &options, &variations, &cpu(1)));
        assert!(message.starts_with(&format!("{what} is given")), "{message}");
    }
    let message = refused(minimize_many(&problem, &usual, &[], &cpu(1)));
    assert!(message.contains("the list of swarms has 0"), "{message}");
}

#[test]
fn a_minimize_of_one_is_the_run() {
    let problem = wavy_problem(2);
    let options = Options { particles: 10, iterations: 5, ..Options::default() };
    let variation = Variation { seed: options.seed, coefficients: options.coefficients };
    let one = &minimize_many(&problem, &options, &[variation], &cpu(1)).unwrap()[0];
    assert_same(one, &minimize(&problem, &options, &cpu(1), watch).unwrap(), "one");
}
