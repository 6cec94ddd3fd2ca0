//! Fits: every model, and linear models in every placement of particles in a warp, have the CPU's
//! bits.

use std::ops::ControlFlow;

use flockwork::{
    backend::{Cpu, Cuda, Gpus},
    cuda::live_allocations,
    fit::{self, MODELS},
    swarm::{Precision, Progress},
};
use libtest_mimic::{Failed, Trial};

use crate::common::{
    fits::{
        Case, cases, equal, fit as fit_of, fit_of_formula, same_fit, same_fits, same_named,
        same_sums, same_swarm,
    },
    many::{ManyCase, Weights, many_cases, many_of_formula, same_many_named, same_many_of_formula},
};

/// A name, a formula, and its number of columns.
const FORMULAS: [(&str, &str, u32); 7] = [
    ("damped", "amp*exp(-rate*x1)*cos(2*pi*f*x1 + phase) + base", 1),
    ("surface", "a + b*x1 + c*x2^2", 2),
    ("once", "exp(a)*x1 + if(x1 < b, erf(a)*x1, a^2)", 1),
    ("constant", "a^2 + 1", 1),
    ("many", "a*x1 + b*x2 + c*x3 + d*x4 + g*x5 + a*b*x6 + h/x7 + x8^c - k*tanh(x9)", 9),
    ("four", "k*x1*x2*x3*x4", 4),
    ("gamma", "gamma(a*x1) + x2^x3", 3),
];

/// Formulas of many fits: a name, a formula, and its number of columns.
const MANY_FORMULAS: [(&str, &str, u32); 7] = [
    ("decay", "a*exp(-x/tau) + b", 1),
    ("spot", "amp*exp(-((x1 - x0)^2 + (x2 - y0)^2)/(2*sigma^2)) + base", 2),
    ("eight", "p1*exp(-p2*x) + p3*exp(-p4*x) + p5*sin(p6*x + p7) + p8", 1),
    ("wide", "a*x1 + b*x2 + c*x3 + d*x4 + g*x5 + a*b*x6 + h/x7 + x8^c - k*tanh(x9)", 9),
    ("functions", "erf(a*x)*abs(b) + atan2(b, x)*min(a, x) + if(x < c, log1p(a^2), x^c)", 1),
    ("turns", "a*sinpi(b*x) + cospi(c)*tan(x/8) + asin(b/9)*acos(c/9) + atan(a)*cosh(c)", 1),
    ("once", "exp(-a)*sqrt(b^2 + 1)*x", 1),
];

/// More than a piece for each GPU, and little memory.
fn in_pieces(gpu: Cuda) -> Result<(), Failed> {
    let case = ManyCase { weights: Weights::Own, ..ManyCase::of(200_000, 9, 0) };
    same_many_named("michaelis_menten", &case, &gpu)?;
    let case = ManyCase { own_arguments: true, missing: true, ..ManyCase::of(30_000, 20, 2) };
    same_many_named("michaelis_menten", &case, &gpu.with_memory(4_000_000))?;
    Ok(())
}

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for info in MODELS {
        trials.push(Trial::test(format!("same_fits_as_cpu::{}", info.name), move || {
            let gpu = Cuda::open(0)?;
            for case in cases() {
                same_named(info.name, &case, &gpu)?;
            }
            // Many chunks, and several blocks for each.
            for precision in [Precision::F32, Precision::F64] {
                let loss = fit::Loss::Huber;
                let case = Case { precision, loss, weighted: true, ..Case::of(9_001, 130) };
                same_named(info.name, &case, &gpu)?;
                same_named(info.name, &Case { precision, ..Case::of(5_000, 64) }, &gpu)?;
            }
            Ok(())
        }));
    }
    for info in MODELS {
        trials.push(Trial::test(format!("same_many_as_cpu::{}", info.name), move || {
            let gpu = Cuda::open(0)?;
            for case in many_cases() {
                same_many_named(info.name, &case, &gpu)?;
            }
            same_many_named(info.name, &ManyCase::of(3_001, 25, 0), &gpu)?;
            Ok(())
        }));
    }
    for (name, formula, columns) in MANY_FORMULAS {
        trials.push(Trial::test(format!("same_many_as_cpu::formula_{name}"), move || {
            let gpu = Cuda::open(0)?;
            for case in many_cases() {
                same_many_of_formula(formula, columns, &case, &gpu)?;
            }
            same_many_of_formula(formula, columns, &ManyCase::of(3_001, 25, 0), &gpu)?;
            Ok(())
        }));
    }
    trials.push(Trial::test("same_many_as_cpu::formula_of_gamma", || {
        let many = many_of_formula::<f64>("a*gamma(b + x)", 1, &ManyCase::of(5, 9, 0));
        let refused = many.run_on(&Cuda::open(0)?, |_, _| {}).map(|_| ());
        match refused.map_err(|error| error.to_string()) {
            Err(why) if why.contains("the derivative of gamma") => Ok(()),
            other => Err(format!("{other:?}").into()),
        }
    }));
    trials.push(Trial::test("same_many_as_cpu::in_pieces", || in_pieces(Cuda::open(0)?)));
    trials.push(Trial::test("same_many_as_cpu::in_pieces_on_all_gpus", || {
        in_pieces(Cuda::open_several(&Gpus::All)?)
    }));
    for (name, formula, columns) in FORMULAS {
        trials.push(Trial::test(format!("same_fits_as_cpu::formula_{name}"), move || {
            let gpu = Cuda::open(0)?;
            let mut all: Vec<Case> = cases();
            for precision in [Precision::F32, Precision::F64] {
                all.push(Case { precision, weighted: true, ..Case::of(9_001, 130) });
            }
            for case in all {
                let case = Case { columns, ..case };
                same_sums(&fit_of_formula(formula, &case), &case, &gpu)?;
            }
            let watch = |_: &Progress| ControlFlow::Continue(());
            let fit = fit_of_formula(formula, &Case { columns, ..Case::of(700, 256) });
            let here = fit.run_on(&Cpu::new(0)?, watch)?;
            equal(&here, &fit.run_on(&gpu, watch)?, formula);
            Ok(())
        }));
    }
    // Few chunks and many, for each number of columns.
    for (columns, rows, particles) in [
        (8, 131_072, 64),
        (8, 700_001, 64),
        (8, 300_000, 128),
        (4, 131_073, 33),
        (4, 1_200_000, 64),
        (4, 300_257, 256),
        (16, 100_000, 130),
        (16, 300_001, 128),
        (3, 600_000, 500),
        (20, 50_001, 100),
        (4, 6_980_011, 64),
    ] {
        for precision in [Precision::F32, Precision::F64] {
            let name = format!("same_fits_as_cpu::linear_{columns}_{rows}x{particles}_{precision}");
            trials.push(Trial::test(name, move || {
                let gpu = Cuda::open(0)?;
                for weighted in [false, true] {
                    let case = Case { precision, columns, weighted, ..Case::of(rows, particles) };
                    same_swarm(fit::Linear, &case, &gpu)?;
                }
                Ok(())
            }));
        }
    }
    trials.push(Trial::test("same_fits_as_cpu::whole", || {
        let gpu = Cuda::open(0)?;
        for precision in [Precision::F32, Precision::F64] {
            let case = Case { precision, ..Case::of(700, 256) };
            same_fit(fit::Logistic, &case, &gpu)?;
            same_fit(fit::Gaussians, &Case { weighted: true, ..case }, &gpu)?;
            same_fit(fit::Linear, &Case { columns: 8, ..case }, &gpu)?;
            same_fits(fit::Linear, &Case { columns: 8, ..case }, &gpu)?;
        }
        Ok(())
    }));
    trials.push(Trial::test("rows_stay_on_the_gpu_until_the_data_go", rows_stay));
    trials
}

fn rows_stay() -> Result<(), Failed> {
    let before = live_allocations();
    let fit = fit_of("linear", &Case { columns: 4, ..Case::of(10_000, 64) });
    let (gpu, watch) = (Cuda::open(0)?, |_: &Progress| ControlFlow::Continue(()));
    fit.run_on(&gpu, watch)?;
    let kept = live_allocations();
    // Five columns of 40 chunks.
    let bytes = 5 * 40 * 256 * size_of::<f64>() as u64;
    if (kept.count, kept.bytes) != (before.count + 1, before.bytes + bytes) {
        return Err(format!("{kept:?} after {before:?}, and not one of {bytes} bytes").into());
    }
    // A clone shares the data.
    fit.clone().with(|options| options.seed = 9).run_on(&gpu, watch)?;
    if live_allocations() != kept {
        return Err(format!("{:?} after {kept:?}", live_allocations()).into());
    }
    drop(fit);
    if live_allocations() != before {
        return Err(format!("{:?} left of {before:?}", live_allocations()).into());
    }
    Ok(())
}
