//! The GPU's kernels for fits, run by the emulator, give the CPU's bits.

use std::ops::ControlFlow;

use flockwork::{
    Error,
    backend::{Backend, Choice, Cpu, Emulated, Plan},
    fit::{Data, Fit, Gaussians, Linear, Logistic, Loss, Many, Polynomial},
    swarm::{Edge, Mode, Neighbourhood, Precision, Progress, Rule, Variation},
};

use flockwork_device::fit::FormulaRow;

use crate::common::{
    fits::{Case, as_in, cases, data, for_each_model, same_fit, same_fits, same_sums, same_swarm},
    many::{
        self, ManyCase, Weights, equal_fits, many, many_cases, same_many_named, same_many_of_all,
        stack,
    },
};

const BOTH: [Precision; 2] = [Precision::F32, Precision::F64];

#[test]
fn every_model_has_the_bits_of_the_cpu() {
    for_each_model(&Emulated::new(11, 32), |_| cases()).unwrap();
}

#[test]
fn many_fits_have_the_bits_of_the_cpu() {
    // A few cases for each model, all of them together for some.
    for schedule in [1, 2] {
        let emulated = Emulated::new(schedule, 32);
        let mut nth = schedule as usize;
        same_many_of_all(&emulated, |info| {
            nth += 1;
            let all = many_cases();
            match info.name {
                "logistic" | "exponentials" => all,
                _ => vec![all[nth % all.len()]],
            }
        })
        .unwrap();
    }
}

#[test]
fn many_fits_pass_through_little_memory() {
    let case = ManyCase { weights: Weights::Own, ..ManyCase::of(50, 12, 3) };
    for bytes in [4_000, 12_000] {
        let emulated = Emulated::new(3, 32).with_memory(bytes);
        same_many_named("logistic", &case, &emulated).unwrap();
        // Dealt out to several GPUs, each with as little.
        for gpus in [2, 3] {
            same_many_named("logistic", &case, &emulated.with_gpus(gpus)).unwrap();
        }
    }
    let many = many::<f64>("logistic", &case);
    let refused =
        many.run_on(&Emulated::new(3, 32).with_memory(100).with_model(Logistic), |_, _| {});
    assert!(matches!(refused, Err(Error::GpuMemory { .. })));
    let other = many.run_on(&Emulated::new(3, 32).with_model(Linear), |_, _| {});
    assert!(other.unwrap_err().to_string().contains("logistic"));
}

#[test]
fn the_template_of_formulas_has_the_bits_of_the_cpu() {
    for case in cases() {
        for columns in [1, 4, 9] {
            let case = Case { columns, fixed: false, ..case };
            let fit = Fit::new(FormulaRow, data(columns, case.rows)).unwrap();
            let emulated = Emulated::new(4, 32).with_model(FormulaRow);
            same_sums(&as_in(&case, fit), &case, &emulated).unwrap();
        }
    }
}

#[test]
fn the_template_of_many_fits_has_the_bits_of_the_cpu() {
    for parameters in [1, 5, 8] {
        for (nth, case) in many_cases().into_iter().enumerate() {
            let stack = stack::<f64>(1 + 4 * (nth as u32 % 2), &case);
            let many = Many::new(FormulaRow, stack).unwrap();
            let many = many::as_in(&case, many.size("parameters", parameters).unwrap());
            let emulated = Emulated::new(nth as u64, 32).with_model(FormulaRow);
            let here = many.run_on(&Cpu::new(1).unwrap(), |_, _| {}).unwrap();
            let there = many.run_on(&emulated, |_, _| {}).unwrap();
            equal_fits(&here, &there, &format!("{parameters} parameters with {case:?}"));
        }
    }
}

#[test]
fn linear_models_of_any_size_have_the_bits_of_the_cpu() {
    for precision in BOTH {
        // Below, at and above the sizes for which there are kernels.
        for (nth, columns) in [1, 3, 4, 5, 8, 9, 16, 17, 40].into_iter().enumerate() {
            let (rows, particles) = [(600, 33), (257, 130), (1, 64), (256, 31)][nth % 4];
            let weighted = nth % 3 == 1;
            let fixed = nth % 3 == 2;
            let case = Case { precision, columns, weighted, fixed, ..Case::of(rows, particles) };
            same_swarm(Linear, &case, &Emulated::new(nth as u64, 32)).unwrap();
            same_swarm(Linear, &case, &Emulated::new(nth as u64, 32).without_matrices()).unwrap();
        }
    }
}

#[test]
fn particles_lie_in_a_warp_as_the_work_suggests() {
    // The emulated GPU has three multiprocessors: two particles per lane up to 24 warps' worth of
    // chunks, then four, with a chunk per half warp unless the particles come in multiples of 128.
    for precision in BOTH {
        for (columns, particles, rows) in [
            (4, 64, 13 * 256 + 1),
            (4, 64, 55 * 256 - 3),
            (4, 128, 25 * 256 + 100),
            (8, 130, 27 * 256 - 1),
            (8, 70, 26 * 256),
            (16, 100, 24 * 256 + 17),
        ] {
            for weighted in [false, true] {
                let case = Case { precision, columns, weighted, ..Case::of(rows, particles) };
                let emulated = Emulated::new(u64::from(rows), 32).without_matrices();
                same_swarm(Linear, &case, &emulated).unwrap();
            }
        }
    }
}

#[test]
fn matrices_are_multiplied_as_the_work_suggests() {
    // 16 particles per warp up to 24 warps' worth of four chunks, then 64, or 32 with 16 columns if
    // that takes less time (320 particles, not 40); warps of a block share rows if there are enough
    // particles. The last group has one to four chunks.
    for (columns, particles, rows) in [
        (3, 48, 3 * 1024 + 1),
        (4, 256, 5 * 1024 + 257),
        (7, 128, 11 * 1024 + 600),
        (16, 320, 4 * 1024 + 900),
        (16, 17, 1024),
        (9, 40, 23 * 1024 + 1),
    ] {
        for weighted in [false, true] {
            let case = Case { columns, weighted, ..Case::of(rows, particles) };
            same_swarm(Linear, &case, &Emulated::new(u64::from(rows), 32)).unwrap();
        }
    }
}

#[test]
fn robust_losses_of_linear_models_have_the_bits_of_the_cpu() {
    for loss in [Loss::Absolute, Loss::Huber, Loss::Cauchy] {
        for precision in BOTH {
            let case = Case { loss, precision, columns: 4, weighted: true, ..Case::of(700, 40) };
            same_swarm(Linear, &case, &Emulated::new(5, 32)).unwrap();
        }
    }
}

#[test]
fn whole_fits_are_those_of_the_cpu() {
    let emulated = Emulated::new(2, 32);
    for precision in BOTH {
        let case = Case { precision, ..Case::of(70, 40) };
        same_fit(Logistic, &case, &emulated).unwrap();
        same_fit(Gaussians, &Case { weighted: true, ..case }, &emulated).unwrap();
        same_fit(Linear, &Case { columns: 3, loss: Loss::Huber, ..case }, &emulated).unwrap();
        same_fit(Polynomial, &Case { fixed: true, ..case }, &emulated).unwrap();
    }
    same_fits(Polynomial, &Case::of(60, 33), &emulated).unwrap();
    same_fits(Linear, &Case { columns: 5, ..Case::of(300, 33) }, &emulated).unwrap();
}

#[test]
fn options_of_the_swarm_apply() {
    let watch = |_: &Progress| ControlFlow::Continue(());
    let fit = crate::common::fits::fit("polynomial", &Case::of(80, 50)).polish(false);
    let changes: [fn(&mut flockwork::swarm::Options); 5] = [
        |o| o.rule = Rule::Standard2011,
        |o| o.rule = Rule::Comprehensive,
        |o| {
            o.rule = Rule::FullyInformed;
            o.neighbourhood = Some(Neighbourhood::VonNeumann);
        },
        |o| o.neighbourhood = Some(Neighbourhood::Ring(1)),
        |o| o.edge = Edge::Invisible,
    ];
    let fit = fit.with(|options| options.history = Some(2));
    let plain = fit.run_on(&Cpu::new(0).unwrap(), watch).unwrap();
    for (nth, change) in changes.into_iter().enumerate() {
        let fit = fit.clone().with(change);
        let here = fit.run_on(&Cpu::new(0).unwrap(), watch).unwrap();
        let kernels = Emulated::new(nth as u64, 32).with_model(Polynomial);
        let there = fit.run_on(&kernels, watch).unwrap();
        assert_eq!(here.outcome.position, there.outcome.position, "change {nth}");
        assert_eq!(here.outcome.history, there.outcome.history, "change {nth}");
        assert_ne!(here.outcome.history, plain.outcome.history, "change {nth} changes nothing");
    }
}

#[test]
fn several_swarms_at_once_have_the_bits_of_the_cpu() {
    let fit = crate::common::fits::fit("linear", &Case { columns: 4, ..Case::of(900, 70) });
    let problem = fit.problem().unwrap();
    let options = fit.swarm_options();
    let three = [1, 2, 3].map(|seed| Variation { seed, coefficients: None });
    let plan = Plan::<f64>::of_many(&problem, options, &three).unwrap();
    let mut here = Cpu::new(0).unwrap().swarm(problem.function(), plan.clone()).unwrap();
    let kernels = Emulated::new(8, 32).with_model(Linear);
    let mut there = kernels.swarm(problem.function(), plan).unwrap();
    for swarm in [&mut here, &mut there] {
        swarm.start(None).unwrap();
        swarm.advance(3).unwrap();
    }
    assert!(here.snapshot().unwrap() == there.snapshot().unwrap());
}

#[test]
fn what_a_gpu_does_not_do_gets_a_sentence() {
    let watch = |_: &Progress| ControlFlow::Continue(());
    let emulated = Emulated::new(1, 32);
    let fit = crate::common::fits::fit("logistic", &Case::of(20, 20));
    let asynchronous = fit.clone().with(|options| options.mode = Mode::Asynchronous);
    let message =
        asynchronous.run_on(&emulated.with_model(Logistic), watch).err().unwrap().to_string();
    assert!(message.contains("asynchronous") && message.contains("synchronous for a fit"));
    let other = fit.run_on(&emulated.with_model(Linear), watch).err().unwrap();
    assert!(matches!(other, Error::ModelOnGpu { .. }), "{other}");
    let data = Data::pairs([(0.0, 1.0), (1.0, 2.0)]).unwrap();
    let closure = Fit::from_fn(&[("a", 0.0, 1.0)], data, |p, x| p[0] * x[0]).unwrap();
    let message = closure.select(Choice::Cuda, 1).err().unwrap().to_string();
    assert!(message.contains("closure") && message.contains("use the CPU"), "{message}");
    assert_eq!(closure.select(Choice::Auto, 1).unwrap().name(), "cpu");
}

#[test]
fn small_fits_stay_on_the_cpu() {
    let fit = crate::common::fits::fit("linear", &Case::of(1000, 64));
    let chosen = fit.select(Choice::Auto, 1).unwrap();
    assert_eq!(chosen.name(), "cpu");
    assert!(chosen.reason().contains("too small"), "{}", chosen.reason());
    assert_eq!(fit.select(Choice::Cpu, 1).unwrap().reason(), "asked for");
}
