//! Fits: the order of summation, the same bits everywhere, weights, losses, and errors.

use std::ops::ControlFlow;

use flockwork::{
    backend::{Backend, Cpu, Plan, Simd},
    fit::{
        self, Data, Fit, Linear, Logistic, Loss, Polynomial, PowerLaw, Resample, Saturation, Status,
    },
    formula::Formula,
    math::{Real, Scalar},
    swarm::{Options, Precision, Problem, Search},
};

/// Rows of a saturating quantity with errors.
fn rows(count: u32) -> Data {
    let pair = |i: u32| {
        let x = f64::from(i % 97) * 0.1;
        let error = f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24) - 0.5;
        (x, 5.0 * (1.0 - (-0.7 * x).exp()) + 0.2 * error)
    };
    Data::pairs((0..count).map(pair)).unwrap()
}

/// The sum, written down plainly: chunks of 256 rows from left to right, then level by level.
fn oracle<S: Scalar>(terms: impl Iterator<Item = (S, S)>) -> S {
    let terms: Vec<(S, S)> = terms.collect();
    let chunk = |chunk: &[(S, S)]| chunk.iter().fold(S::ZERO, |sum, &(a, b)| a.fma(b, sum));
    let mut level: Vec<S> = terms.chunks(256).map(chunk).collect();
    while level.len() > 1 {
        level =
            level.chunks(2).map(|pair| if let [a, b] = *pair { a + b } else { pair[0] }).collect();
    }
    level.first().copied().unwrap_or(S::ZERO)
}

/// The sum at several points, as the swarm sees it.
fn sums<T: flockwork::backend::Number>(fit: &Fit, points: &[f64], cpu: &Cpu) -> Vec<T> {
    let problem = fit.problem().unwrap();
    let options = Options { particles: 70, precision: Some(T::PRECISION), ..Options::default() };
    let plan = Plan::<T>::new(&problem, &options).unwrap();
    let mut swarm = cpu.swarm(problem.function(), plan).unwrap();
    let points: Vec<T> = points.iter().map(|&x| T::nearest(x)).collect();
    swarm.evaluate(&points).unwrap()
}

fn every_cpu() -> Vec<Cpu> {
    let mut cpus: Vec<Cpu> = (1..=3).map(|threads| Cpu::new(threads).unwrap()).collect();
    for simd in [Simd::Baseline, Simd::Avx2] {
        cpus.extend(Cpu::with_simd(2, simd).ok());
    }
    cpus
}

#[test]
fn the_sum_has_one_order() {
    fn check<T: flockwork::backend::Number>(count: u32, weighted: bool) {
        let data = rows(count);
        let weights: Vec<f64> = (0..count).map(|i| f64::from((i + 1) % 5)).collect();
        let fit = Fit::new(Saturation, data.clone()).unwrap();
        let fit = if weighted { fit.weighted(weights.clone()).unwrap() } else { fit };
        // More than a tile of points, and a part of one.
        let points: Vec<f64> = (0..67).flat_map(|i| [4.0 + 0.03 * f64::from(i), 0.5]).collect();
        let expected: Vec<T> = points
            .chunks_exact(2)
            .map(|p| {
                let [limit, rate] = [p[0], p[1]].map(T::nearest);
                let residual = |row: usize| {
                    let x = T::nearest(data.arguments(row)[0]);
                    let one = T::nearest(1.0);
                    let predicted = limit * (one - Real::exp(-(rate * x)));
                    let r = T::nearest(data.target(row)) - predicted;
                    let weight = if weighted { T::nearest(weights[row]) } else { one };
                    (weight * r, r)
                };
                oracle((0..count as usize).map(residual))
            })
            .collect();
        for cpu in every_cpu() {
            let found: Vec<T> = sums(&fit, &points, &cpu);
            assert!(found == expected, "{count} rows on {}", cpu.description());
        }
    }
    for count in [1, 255, 256, 257, 1000, 20_000] {
        check::<f64>(count, false);
        check::<f32>(count, count < 1000);
    }
    check::<f64>(700, true);
}

/// Few columns, which have specialised code, and more; full tiles and parts of one.
#[test]
fn linear_models_have_the_same_order_whatever_their_columns() {
    fn check<T: flockwork::backend::Number>(columns: u32, count: u32, weighted: bool) {
        let data = near_columns(columns, count, 0.7);
        let weights: Vec<f64> = (0..count).map(|i| f64::from((i + 1) % 5)).collect();
        let fit = Fit::new(Linear, data.clone()).unwrap();
        let fit = if weighted { fit.weighted(weights.clone()).unwrap() } else { fit };
        let dims = columns as usize;
        let points: Vec<f64> = (0..67 * dims).map(|i| 0.5 + 0.01 * (i % 89) as f64).collect();
        let expected: Vec<T> = points
            .chunks_exact(dims)
            .map(|point| {
                let residual = |row: usize| {
                    let pairs = point.iter().zip(data.arguments(row));
                    let target = T::nearest(data.target(row));
                    let r =
                        pairs.fold(target, |r, (&b, &x)| (-T::nearest(b)).fma(T::nearest(x), r));
                    (if weighted { T::nearest(weights[row]) * r } else { r }, r)
                };
                oracle((0..count as usize).map(residual))
            })
            .collect();
        for cpu in every_cpu() {
            let found: Vec<T> = sums(&fit, &points, &cpu);
            let size = format!("{columns} columns, {count} rows, weighted: {weighted}");
            assert!(found == expected, "{size}, on {}", cpu.description());
        }
    }
    for columns in (1..=10).chain([16, 19]) {
        for weighted in [false, true] {
            check::<f64>(columns, 1030, weighted);
            check::<f32>(columns, 515, weighted);
        }
    }
    // Several groups of rows, each of which prefetches the next.
    check::<f64>(5, 30_001, false);
    check::<f32>(17, 20_000, false);
}

#[test]
fn the_linear_model_is_the_calibration_function() {
    // Up to one chunk the two orders agree: there is one run of terms each.
    let table = fit::synthetic(3, 32, 5).unwrap();
    let of_objective =
        Problem::from_data(flockwork::objective::Calibration, table.clone()).unwrap();
    let of_model = Fit::new(Linear, Data::from_table(&table).unwrap()).unwrap().problem().unwrap();
    // In the same box.
    let (lower, upper) = (of_model.lower().to_vec(), of_model.upper().to_vec());
    let of_objective = of_objective.with_bounds(lower, upper).unwrap();
    let search = |problem| {
        let search = Search::new(problem).particles(64).iterations(60);
        search.with(|options| options.precision = Some(Precision::F64)).run().unwrap()
    };
    let (a, b) = (search(of_objective), search(of_model));
    let apart = a.position.iter().zip(&b.position).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(apart < 1e-3, "{:?} {:?}", a.position, b.position);
}

#[test]
fn calibrations_of_the_thesis() {
    for (dims, rows) in [(4, 1000), (8, 4096), (16, 2000)] {
        let data = Data::from_table(&fit::synthetic(dims, rows, 1).unwrap()).unwrap();
        for precision in [Precision::F32, Precision::F64] {
            let fit = Fit::new(Linear, data.clone()).unwrap().with(|options| {
                options.precision = Some(precision);
                options.iterations = 30;
            });
            let fitted = fit.run().unwrap();
            assert!(fitted.value < 1e-20, "{dims} {rows}: {}", fitted.value);
            assert!(
                fitted.values().iter().all(|x| (x - 1.0).abs() < 1e-12),
                "{:?}",
                fitted.values()
            );
        }
    }
}

#[test]
fn the_same_bits_on_any_number_of_threads_and_every_width() {
    // More rows than one thread sums alone.
    let fit = Fit::new(Saturation, rows(21_000)).unwrap();
    let fit = fit.starts(2).with(|options| {
        options.particles = 40;
        options.iterations = 6;
    });
    let run = |cpu: &Cpu| fit.run_on(cpu, |_| ControlFlow::Continue(())).unwrap();
    let first = run(&Cpu::new(1).unwrap());
    for cpu in every_cpu() {
        let other = run(&cpu);
        let what = cpu.description();
        assert_eq!(first.parameters, other.parameters, "{what}");
        assert_eq!(first.outcome.position, other.outcome.position, "{what}");
        assert_eq!((first.value, first.descents), (other.value, other.descents), "{what}");
    }
    assert!((first.value("rate").unwrap() - 0.7).abs() < 0.01);
}

#[test]
fn the_result_has_the_value_that_the_swarm_would_see() {
    let fit = Fit::new(Saturation, rows(3000)).unwrap();
    let fitted = fit.run().unwrap();
    let seen: Vec<f64> = sums(&fit, &fitted.values(), &Cpu::new(2).unwrap());
    assert_eq!(seen, [fitted.value]);
}

#[test]
fn weights_count_rows() {
    let data = rows(200);
    let weights: Vec<f64> = (0..200).map(|i| f64::from(i % 3)).collect();
    let mut repeated = Vec::new();
    for (row, &weight) in weights.iter().enumerate() {
        for _ in 0..weight as u32 {
            repeated.push((data.arguments(row)[0], data.target(row)));
        }
    }
    let weighted = Fit::new(Saturation, data).unwrap().weighted(weights).unwrap().run().unwrap();
    let plain = Fit::new(Saturation, Data::pairs(repeated).unwrap()).unwrap().run().unwrap();
    for (a, b) in weighted.values().iter().zip(plain.values()) {
        assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
    }
    assert!((weighted.value / plain.value - 1.0).abs() < 1e-12);
}

#[test]
fn losses_resist_outliers() {
    let spoilt = (0..300).map(|i| {
        let x = f64::from(i) * 0.01;
        let y = 2.0 + 3.0 * x + 0.01 * f64::from(i % 7 - 3);
        (x, if i % 11 == 0 { y + 40.0 } else { y })
    });
    let line =
        Fit::new(Polynomial, Data::pairs(spoilt).unwrap()).unwrap().size("degree", 1).unwrap();
    let error = |fitted: &fit::Fitted| {
        (fitted.value("c0").unwrap() - 2.0).abs().max((fitted.value("c1").unwrap() - 3.0).abs())
    };
    assert!(error(&line.run().unwrap()) > 1.0);
    for (loss, scale) in [(Loss::Absolute, 0.0), (Loss::Huber, 0.05), (Loss::Cauchy, 0.05)] {
        let fitted = line.clone().loss(loss, scale).unwrap().run().unwrap();
        assert!(error(&fitted) < 0.05, "{loss}: {:?}", fitted.values());
        assert!(fitted.value < fitted.sum_of_squares);
    }
}

#[test]
fn several_fits_share_the_data() {
    let fit = Fit::new(Saturation, rows(100)).unwrap();
    let cpu = Cpu::new(0).unwrap();
    let samples = Resample::bootstrap(100, 3, 9);
    let together = fit.run_many(&samples, &cpu).unwrap();
    let alone = fit
        .clone()
        .with(|options| options.seed = samples[1].seed)
        .weighted(samples[1].weights.clone())
        .unwrap()
        .run()
        .unwrap();
    assert_eq!(together[1].parameters, alone.parameters);
    assert_ne!(together[0].parameters, together[1].parameters);
}

#[test]
fn a_function_of_the_users_own_is_fitted_like_a_model() {
    let data = rows(500);
    let parameters = [("limit", -50.0, 50.0), ("rate", -5.0, 5.0)];
    let own = Fit::from_fn(&parameters, data.clone(), |p, x| p[0] * (1.0 - (-p[1] * x[0]).exp()));
    let (own, built_in) =
        (own.unwrap().run().unwrap(), Fit::new(Saturation, data).unwrap().run().unwrap());
    for (a, b) in own.values().iter().zip(built_in.values()) {
        assert!((a / b - 1.0).abs() < 1e-7, "{a} {b}");
    }
}

#[test]
fn fewer_rows_than_parameters() {
    let fit = Fit::new(Logistic, Data::pairs([(1.0, 2.0), (2.0, 3.0)]).unwrap()).unwrap();
    let fitted = fit.run().unwrap();
    assert_eq!(fitted.degrees_of_freedom, 0);
    assert!(fitted.value < 1e-12 && fitted.deviation.is_nan(), "{}", fitted.value);
}

/// A bound on one side leaves the other as it is without bounds: nothing, or what widens.
#[test]
fn parameters_may_be_bounded_on_one_side() {
    let inf = f64::INFINITY;
    let data = |amp: f64, rate: f64| {
        let row = |nth| (0.5 * f64::from(nth), amp * (-rate * 0.5 * f64::from(nth)).exp() + 2.0);
        Data::pairs((0..20).map(row)).unwrap()
    };
    let formula = Formula::parse("amp*exp(-rate*x) + base").unwrap();
    let fit = |amp, rate| Fit::from_formula(&formula, data(amp, rate)).unwrap();
    let at = |fit: Fit, name: &str| {
        let fitted = fit.run().unwrap();
        let estimate = fitted.parameters.iter().find(|estimate| estimate.name == name).unwrap();
        (estimate.value, estimate.status)
    };
    // Where it is not in the way, the estimate is the one without bounds, far outside the usual box too.
    for (amp, rate) in [(3.0, 0.7), (40_000.0, 0.7), (3e-4, 0.2)] {
        let bounded = fit(amp, rate).bounds("amp", 0.0, inf).unwrap();
        let (value, status) = at(bounded.bounds("rate", 0.0, inf).unwrap(), "amp");
        assert!((value / amp - 1.0).abs() < 1e-6, "{value}, not {amp}");
        assert_eq!(status, Status::Estimated);
    }
    // Where it is, the estimate lies on it.
    let negative = fit(-3.0, 0.7).bounds("amp", 0.0, inf).unwrap();
    let (value, status) = at(negative.bounds("rate", 0.01, inf).unwrap(), "amp");
    assert!(value.abs() < 1e-9 && status != Status::Estimated, "{value} {status:?}");
    let growing = fit(0.5, -0.3).bounds("rate", 0.0, inf).unwrap();
    assert!(growing.run().unwrap().value("rate").unwrap() >= 0.0);
    let (value, _) = at(fit(3.0, 0.7).bounds("rate", -inf, 0.4).unwrap(), "rate");
    assert!((value - 0.4).abs() < 1e-9, "{value}");
    // Beyond all that is searched without bounds, and given twice.
    let (value, _) = at(
        fit(3.0, 60.0).bounds("rate", 1.0, 2.0).unwrap().bounds("rate", 50.0, inf).unwrap(),
        "rate",
    );
    assert!(value >= 50.0, "{value}");
    let law = || {
        Fit::new(
            PowerLaw,
            Data::pairs((1..9).map(|x| (f64::from(x), 2.0 * f64::from(x).powi(3)))).unwrap(),
        )
    };
    let (value, status) = at(law().unwrap().bounds("exponent", 0.0, inf).unwrap(), "exponent");
    assert!((value - 3.0).abs() < 1e-9 && status == Status::Estimated, "{value}");
    let (value, _) = at(law().unwrap().bounds("exponent", -inf, 2.5).unwrap(), "exponent");
    assert!((value - 2.5).abs() < 1e-9, "{value}");
    // A size that is changed afterwards keeps it.
    let line =
        Fit::new(Polynomial, Data::pairs((0..9).map(|x| (f64::from(x), -f64::from(x)))).unwrap())
            .unwrap();
    let line = line.bounds("c1", 0.0, inf).unwrap().size("degree", 1).unwrap();
    assert_eq!(at(line, "c1").0, 0.0);
}

#[test]
fn what_makes_no_sense_gets_a_sentence() {
    let data = || Data::pairs([(1.0, 2.0), (2.0, 3.0)]).unwrap();
    let fit = || Fit::new(Polynomial, data()).unwrap();
    let cases = [
        (fit().size("terms", 2).err(), "a size"),
        (fit().size("degree", 99).err(), "degree is 99; it must be from 0 to 24"),
        (fit().bounds("c9", 0.0, 1.0).err(), "has no parameter \"c9\"; it has: c0, c1, c2"),
        (fit().bounds("c1", 1.0, 1.0).err(), "the box is 1.0 to 1.0 for c1"),
        (fit().bounds("c1", f64::INFINITY, f64::INFINITY).err(), "the box is inf to inf for c1"),
        (fit().bounds("c1", f64::NAN, 1.0).err(), "the box is NaN to 1.0 for c1"),
        (fit().bounds("c1", -1e308, 1e308).err(), "from a number to a greater one"),
        (fit().all_bounds(&[(0.0, 1.0)]).err(), "the list of bounds has 1 entries"),
        (
            fit().bounds("c2", 0.0, 1.0).unwrap().size("degree", 1).err(),
            "has no parameter \"c2\"; it has: c0, c1",
        ),
        (fit().fixed("c1", f64::NAN).err(), "a finite number"),
        (
            fit().bounds("c1", 0.0, 1.0).unwrap().fixed("c1", 2.0).err(),
            "fixed value is 2.0 of c1; it must be a number within its bounds, 0.0 to 1.0",
        ),
        (fit().fixed("c1", -1.0).unwrap().bounds("c1", 0.0, f64::INFINITY).err(), "0.0 to inf"),
        (
            fit().loss(Loss::Cauchy, 1.0).unwrap().profile(true).run().err(),
            "profile is true with the loss cauchy; it must be the loss squares",
        ),
        (fit().weighted(vec![1.0]).err(), "the list of weights has 1 entries"),
        (fit().weighted(vec![1.0, -1.0]).err(), "weight is -1.0 in row 1"),
        (fit().loss(Loss::Huber, 0.0).err(), "loss scale is 0.0"),
        (Fit::named("spline", data()).err(), "no model called \"spline\""),
        (
            Fit::named("degradation", data()).err(),
            "takes 2 argument column(s), and the data have 1",
        ),
        (Data::pairs([(f64::NAN, 1.0)]).err(), "argument 0 of the data is NaN"),
        (Data::new(2, vec![1.0; 3], vec![1.0; 2]).err(), "the list of arguments has 3 entries"),
        (fit().with(|o| o.particles = 0).run().err(), "particles is 0"),
    ];
    for (error, expected) in cases {
        let message = error.expect(expected).to_string();
        assert!(
            expected == "a size" && message.contains("degree") || message.contains(expected),
            "{message}"
        );
    }
    let all = fit().size("degree", 0).unwrap().fixed("c0", 1.0).unwrap();
    assert!(all.run().unwrap_err().to_string().contains("(--fix) is c0"));
    let nowhere = Fit::from_fn(&[("a", 0.0, 1.0)], data(), |_, _| f64::NAN).unwrap();
    assert!(nowhere.run().unwrap_err().to_string().contains("no finite value"));
    let single = Fit::new(Polynomial, Data::pairs([(1e300, 2.0), (2.0, 3.0)]).unwrap()).unwrap();
    let single = single.with(|options| options.precision = Some(Precision::F32)).run();
    assert!(single.unwrap_err().to_string().contains("1e300"));
}

/// Rows with columns that nearly coincide, with a relative difference of `apart`, and a target.
fn near_columns(columns: u32, rows: u32, apart: f64) -> Data {
    let share =
        |index: u32| f64::from(index.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24) - 0.5;
    let argument =
        |row: u32, column: u32| share(row + 9) + 3.0 + apart * share(row * columns + column + 77);
    let arguments = (0..rows).flat_map(|r| (0..columns).map(move |c| argument(r, c)));
    let target =
        |row: u32| (0..columns).map(|c| argument(row, c)).sum::<f64>() + apart * share(row);
    Data::new(columns, arguments, (0..rows).map(target)).unwrap()
}

#[test]
fn sums_by_the_gram_matrix_are_as_near_as_stated() {
    let cpu = Cpu::new(0).unwrap();
    for apart in [1.0, 1e-3, 1e-7, 1e-12] {
        for (columns, rows) in [(1, 1), (3, 257), (5, 20_000)] {
            for weighted in [false, true] {
                let fit = Fit::new(Linear, near_columns(columns, rows, apart)).unwrap();
                let fit = match weighted {
                    true => fit.weighted((0..rows).map(|i| 0.3 * f64::from((i + 1) % 4))).unwrap(),
                    false => fit,
                };
                let gram = fit::Gram::of(&fit).unwrap();
                // Far away, near, and where the target was made, where nearly everything cancels.
                let points: Vec<f64> = [-7.0, 1.0 + 1e-6, 1.0]
                    .into_iter()
                    .flat_map(|at| (0..columns).map(move |c| if c == 1 { at } else { 1.0 }))
                    .collect();
                let by_rows = sums::<f64>(&fit, &points, &cpu);
                for (point, by_rows) in points.chunks_exact(columns as usize).zip(by_rows) {
                    let (by_gram, bound) = (gram.sum(point), gram.bound(point));
                    let off = (by_gram - by_rows).abs();
                    assert!(
                        off <= bound,
                        "{columns} x {rows}, {apart:e}: {by_rows:e} off {off:e}, {bound:e}"
                    );
                    // The bound is tight: some roundings of the sum, and of the terms of residuals.
                    let length = 4.0 * f64::from(columns) * f64::from(rows).sqrt() * 7.0;
                    let most = 1e-13 * by_rows + 1e-14 * length * by_rows.sqrt();
                    assert!(bound <= most + (1e-13 * length).powi(2), "{bound:e} of {by_rows:e}");
                }
            }
        }
    }
}

#[test]
fn sums_by_the_gram_matrix_do_not_depend_on_threads() {
    let fit = Fit::new(Linear, near_columns(4, 40_000, 0.1)).unwrap();
    let bits = |cpu: &Cpu| {
        let watch = |_: &flockwork::swarm::Progress| ControlFlow::Continue(());
        let fit = fit.clone().gram(true).with(|o| (o.particles, o.iterations) = (50, 20));
        let fitted = fit.run_on(cpu, watch).unwrap();
        let numbers = fitted.values().into_iter().chain([fitted.value, fitted.outcome.value]);
        numbers.map(f64::to_bits).collect::<Vec<_>>()
    };
    let mut all = every_cpu().into_iter().map(|cpu| bits(&cpu));
    let first = all.next().unwrap();
    assert!(all.all(|other| other == first));
}

#[test]
fn fits_by_the_gram_matrix_end_where_others_do() {
    for (apart, exact) in [(1.0, 1e-9), (1e-4, 1e-6)] {
        let fit = Fit::new(Linear, near_columns(3, 5_000, apart)).unwrap();
        let (with, without) = (fit.clone().gram(true).run().unwrap(), fit.run().unwrap());
        assert!((with.value / without.value - 1.0).abs() < exact);
        for (a, b) in with.values().into_iter().zip(without.values()) {
            assert!((a - b).abs() < exact, "{a} and {b}");
        }
    }
    // Fixed parameters are multiplied like the others.
    let fit = Fit::new(Polynomial, rows(3_000)).unwrap().fixed("c1", 0.5).unwrap();
    let (with, without) = (fit.clone().gram(true).run().unwrap(), fit.run().unwrap());
    assert!((with.value / without.value - 1.0).abs() < 1e-9);
}

#[test]
fn the_gram_matrix_is_for_linear_models_and_squares() {
    let message = |fit: Fit| fit.gram(true).run().err().unwrap().to_string();
    let of_curve = message(Fit::new(Saturation, rows(50)).unwrap());
    assert!(
        of_curve.contains("saturation") && of_curve.contains("linear or polynomial"),
        "{of_curve}"
    );
    let closure = Fit::from_fn(&[("a", 0.0, 1.0)], rows(50), |p, x| p[0] * x[0]).unwrap();
    assert!(message(closure).contains("built-in"));
    let robust = Fit::new(Linear, rows(50)).unwrap().loss(Loss::Huber, 1.0).unwrap();
    assert!(message(robust).contains("the loss huber"));
    let single = Fit::new(Linear, rows(50)).unwrap().with(|o| o.precision = Some(Precision::F32));
    assert!(message(single).contains("in f64"));
    let huge = |x: f64| {
        let data = Data::pairs((0..9).map(|i| (x * f64::from(i), 1.0))).unwrap();
        Fit::new(Linear, data).unwrap().bounds("b1", -1.0, 1.0).unwrap()
    };
    assert!(message(huge(1e140).weighted(vec![1e100; 9]).unwrap()).contains("overflow"));
    // For huge arguments alone, the unit is a different one.
    let found = huge(1e155).gram(true).run().unwrap().values()[0];
    assert!((found * 1e155 - 36.0 / 204.0).abs() < 1e-9, "{found}");
}
