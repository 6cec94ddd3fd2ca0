//! Formulas in the kernels: the bits of the CPU, for every layout, operation and method.

use std::ops::ControlFlow;

use flockwork::{
    backend::{Cuda, Strategy},
    formula::Formula,
    swarm::{Outcome, Precision, Problem, Progress, Search, Searches},
};
use flockwork_device::formula::Unary;
use libtest_mimic::{Failed, Trial};

use crate::common::cpu;

/// A name, a formula, what it is subject to, and a number of dimensions.
const CONSTRAINED: [(&str, &str, &[&str], usize); 4] = [
    ("linear", "(x[0] - 1)^2 + x[1]*x[2]", &["x[0] + x[1] <= 1", "x[2] >= -1"], 3),
    ("product", "log(x[0]) + x[1]^2", &["x[0] > 0 and x[0]*x[1] >= 1"], 2),
    (
        "sums",
        "10*n + sum(i in 0..n: x[i]^2 - 10*cos(2*pi*x[i]))",
        &["sum(i in 0..n: x[i]) >= 3 and max(i in 0..n: x[i]) <= 2"],
        12,
    ),
    ("nowhere", "x[0] + x[1]", &["x[0] >= 2", "x[0] <= 1"], 2),
];

/// A name, a formula, and its numbers of dimensions.
const FORMULAS: [(&str, &str, &[usize]); 7] = [
    ("rastrigin", "10*n + sum(i in 0..n: x[i]^2 - 10*cos(2*pi*x[i]))", &[1, 2, 30, 130]),
    ("rosenbrock", "sum(i in 0..n-1: 100*(x[i+1] - x[i]^2)^2 + (1 - x[i])^2)", &[2, 10, 100]),
    ("weighted", "sqrt(1 + sum(i in 0..n: (i + 1)*(x[i] - i/n)^2/(2 + i)))", &[9, 40]),
    ("weighted_neighbours", "sum(i in 1..n: (x[i-1] + i)*(i - x[i])^2)", &[5, 70]),
    (
        "ackley",
        "-20*exp(-0.2*sqrt(sum(i in 0..n: x[i]^2)/n)) - exp(sum(i in 0..n: cos(2*pi*x[i]))/n)",
        &[3, 13, 128],
    ),
    ("choices", "if(x[0] < x[1] and x[2] >= 0, min(x[3], x[4]), max(x[1], x[2]) == 0)", &[5, 21]),
    ("powers", "abs(x[0])^x[1] + atan2(x[2], x[3]) + x[4]/(x[0] - x[3])", &[5]),
];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (name, formula, dims) in FORMULAS {
        trials.push(Trial::test(format!("same_bits_of_the_formula_{name}"), move || {
            dims.iter().try_for_each(|&dims| same(formula, &[], dims))
        }));
    }
    for (name, formula, constraints, dims) in CONSTRAINED {
        trials.push(Trial::test(format!("same_bits_of_the_constraints_{name}"), move || {
            same(formula, constraints, dims)
        }));
    }
    for function in Unary::ALL {
        let word = function.word();
        trials.push(Trial::test(format!("same_bits_of_the_operation_{word}"), move || {
            let own = format!("sum(i in 0..n: {word}(abs(x[i])/4 + 0.001) + {word}(x[i]/9))");
            same(&own, &[], 3)?;
            same(&format!("{word}(abs(x[0])/4 + 0.01) + {word}(x[1])*x[2]"), &[], 3)
        }));
    }
    trials
}

fn go(_: &Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A formula on the GPU beside the CPU.
fn same(formula: &str, constraints: &[&str], dims: usize) -> Result<(), Failed> {
    let parsed = Formula::parse(formula)?;
    let mut problem = Problem::from_formula_of_x(&parsed, vec![-3.0; dims], vec![4.0; dims])?;
    for constraint in constraints {
        problem = problem.subject_to(&Formula::parse(constraint)?)?;
    }
    let gpu = Cuda::open(0)?;
    let searches = Searches { lanes: Some(6), ..Searches::default() };
    let mut cases =
        vec![(Search::new(problem.clone()).searches(searches).evaluations(20_000), vec![None])];
    for precision in [Precision::F32, Precision::F64] {
        let of = |particles| {
            Search::new(problem.clone())
                .particles(particles)
                .iterations(60)
                .with(|options| options.precision = Some(precision))
        };
        cases.push((of(700), vec![None, Some(Strategy::Streaming), Some(Strategy::Resident)]));
        cases.push((of(20_000).iterations(12), vec![None]));
    }
    for (search, strategies) in cases {
        let expected = search.clone().run_on(&cpu(), go)?;
        for strategy in strategies {
            let gpu = gpu.clone().with_strategy(strategy);
            let got = search.clone().run_on(&gpu, go)?;
            let result = |outcome: &Outcome| {
                let position: Vec<u64> = outcome.position.iter().map(|x| x.to_bits()).collect();
                (outcome.value.to_bits(), position, outcome.evaluations)
            };
            if result(&got) != result(&expected) {
                return Err(format!(
                    "{formula} in {dims} dimensions, {strategy:?}: {got:?}, not {expected:?}"
                )
                .into());
            }
        }
    }
    Ok(())
}
