//! Fits: where they search, how they end, and which bounds they obey.

use std::ops::ControlFlow;

use flockwork::{
    backend::Cpu,
    fit::{Data, Fit, Status},
    swarm::{Progress, StopReason},
};

fn two_decays() -> Fit {
    let signal = |x: f64| 3.0 * (-0.4 * x).exp() + 5.0 * (-2.5 * x).exp();
    let rows = (0..200).map(|i| 0.05 * f64::from(i)).map(|x| (x, signal(x)));
    Fit::named("exponentials", Data::pairs(rows).unwrap()).unwrap().size("terms", 2).unwrap()
}

#[test]
fn an_observer_that_ends_a_fit_ends_what_comes_after_the_swarm() {
    let fit = two_decays().with(|options| options.iterations = 20);
    let cpu = Cpu::new(2).unwrap();
    let whole = fit.run_on(&cpu, |_| ControlFlow::Continue(())).unwrap();
    let look = |progress: &Progress| match progress.iteration {
        0..20 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let ended = fit.run_on(&cpu, look).unwrap();
    assert_eq!(ended.outcome.stopped, StopReason::Interrupted);
    assert_eq!(ended.outcome.position, whole.outcome.position);
    // One descent instead of dozens.
    assert!(2 * ended.descents < whole.descents, "{} {}", ended.descents, whole.descents);
    assert!(ended.value <= ended.outcome.value);
}

#[test]
fn a_limit_of_time_holds_for_what_comes_after_the_swarm() {
    let fit = two_decays().with(|options| {
        options.iterations = 20;
        options.stop.seconds = Some(1e-9);
    });
    let ended = fit.run().unwrap();
    assert_eq!(ended.outcome.stopped, StopReason::Time);
    let whole = two_decays().with(|options| options.iterations = 20).run().unwrap();
    assert!(2 * ended.descents < whole.descents, "{} {}", ended.descents, whole.descents);
}

#[test]
fn a_linear_parameter_needs_no_box() {
    // Coefficients a thousand times as large as the target itself, which results from their
    // cancellation.
    let rows = (0..40).map(|i| (2000.0 + f64::from(i), f64::from(i * i) - 30.0 * f64::from(i)));
    let fit = Fit::named("polynomial", Data::pairs(rows).unwrap()).unwrap();
    let fitted = fit.with(|options| options.iterations = 5).run().unwrap();
    assert!(fitted.value < 1e-6, "{}", fitted.value);
    assert!((fitted.value("c2").unwrap() - 1.0).abs() < 1e-6);
    assert!((fitted.value("c1").unwrap() / -4030.0 - 1.0).abs() < 1e-6);
    for estimate in &fitted.parameters {
        assert!(!estimate.is_at_bound() && estimate.error.is_finite(), "{estimate:?}");
    }

    let x = |i: u32| [f64::from(i % 7), f64::from(i % 3)];
    let arguments = (0..30).flat_map(x);
    let target = |i: u32| 1485.0 * x(i)[0] + 12786.0 * x(i)[1];
    let data = Data::new(2, arguments, (0..30).map(target)).unwrap();
    let fit = Fit::named("linear", data).unwrap().with(|options| options.iterations = 5);
    let fitted = fit.clone().run().unwrap();
    assert!((fitted.value("b2").unwrap() - 12786.0).abs() < 1e-6);
    // A given bound holds.
    let bounded = fit.bounds("b2", 0.0, 50.0).unwrap().run().unwrap();
    assert_eq!(bounded.value("b2"), Some(50.0));
}

#[test]
fn a_logistic_over_years_is_found() {
    let signal = |year: f64| 300.0 / (1.0 + (330.0 - 0.165 * year).exp());
    let rows = (0..60).map(|i| 1900.0 + 2.0 * f64::from(i)).map(|year| (year, signal(year)));
    let fit = Fit::named("logistic", Data::pairs(rows).unwrap()).unwrap();
    let fitted = fit.with(|options| options.iterations = 20).run().unwrap();
    assert!((fitted.value("shift").unwrap() - 330.0).abs() < 1e-3, "{:?}", fitted.values());
    assert!((fitted.value("rate").unwrap() - 0.165).abs() < 1e-6);
}

#[test]
fn a_period_is_of_two_samples_at_least() {
    let rows = (0..100).map(f64::from).map(|x| (1900.0 + x, (0.571 * x).sin()));
    let fit = Fit::named("cycles", Data::pairs(rows).unwrap()).unwrap();
    assert_eq!(fit.all_bounds_of()[1].0, 2.0);
    let fitted = fit.with(|options| options.iterations = 20).run().unwrap();
    let period = std::f64::consts::TAU / 0.571;
    assert!((fitted.value("period1").unwrap() - period).abs() < 1e-6, "{:?}", fitted.values());
}

#[test]
fn what_cannot_be_fitted_is_named() {
    let data = || Data::pairs([(1.0, 2.0), (2.0, 3.0), (3.0, 5.0)]).unwrap();
    let fit = || Fit::named("exponentials", data()).unwrap();
    let message = |error: Option<flockwork::Error>| error.unwrap().to_string();
    let equal = message(fit().bounds("rate1", 0.01, 0.01).err());
    assert!(equal.contains("rate1") && equal.contains("--fix rate1=0.01"), "{equal}");
    let zeros = message(fit().weighted(vec![0.0; 3]).err());
    assert!(zeros.contains("weight"), "{zeros}");
    let all = fit().fixed("rate1", 1.0).unwrap().fixed("amplitude1", 1.0).unwrap();
    let all = message(all.run().err());
    assert!(all.contains("--fix") && all.contains("rate1"), "{all}");
    let negative = Data::pairs([(-1.0, 2.0), (2.0, 3.0)]).unwrap();
    let negative = Fit::named("power_law", negative).unwrap();
    let whole = negative.clone().fixed("exponent", 2.0).unwrap().run().unwrap();
    assert!((whole.value("factor").unwrap() - 14.0 / 17.0).abs() < 1e-9);
    let negative = message(negative.run().err());
    assert!(negative.contains("-1") && negative.contains("power"), "{negative}");
}

/// 3,000 rows of a decay.
fn decay() -> Fit {
    let error = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24) - 0.5;
    let pair = |i: u32| {
        let x = 0.002 * f64::from(i);
        (x, 3.0 * (-0.7 * x).exp() + 0.1 * error(i))
    };
    Fit::named("exponentials", Data::pairs((0..3000).map(pair)).unwrap()).unwrap()
}

#[test]
fn an_easy_fit_ends_when_it_is_certain() {
    let fitted = decay().run().unwrap();
    assert_eq!((fitted.outcome.stopped, fitted.iterations), (StopReason::Certain, 0));
    let (agreeing, all) = fitted.agreed.unwrap();
    assert!(2 * agreeing > all, "{agreeing} of {all}");
    assert_eq!(fitted.outcome.evaluations, 0);
    // A requested swarm searches, and ends at the same place.
    let searched = decay().starts(2).with(|options| options.iterations = 10).run().unwrap();
    assert_eq!((searched.agreed, searched.iterations), (None, 10));
    assert!((fitted.value / searched.value - 1.0).abs() < 1e-12);
    for (a, b) in fitted.values().iter().zip(searched.values()) {
        assert!((a / b - 1.0).abs() < 1e-7, "{a} {b}");
    }
    // For a wave every descent ends elsewhere.
    let waves = (0..100).map(f64::from).map(|x| (x, (0.571 * x).sin()));
    let waves = Fit::named("cycles", Data::pairs(waves).unwrap()).unwrap();
    assert_eq!(waves.run().unwrap().agreed, None);
}

#[test]
fn a_certain_fit_has_the_same_bits_on_any_number_of_threads() {
    let run = |threads| {
        let watch = |_: &Progress| ControlFlow::Continue(());
        decay().run_on(&Cpu::new(threads).unwrap(), watch).unwrap()
    };
    let first = run(1);
    assert!(first.agreed.is_some());
    for threads in 2..=3 {
        let other = run(threads);
        assert_eq!(first.parameters, other.parameters, "{threads}");
        assert_eq!((first.agreed, first.descents), (other.agreed, other.descents), "{threads}");
    }
}

#[test]
fn a_linear_fit_is_solved() {
    let rows = (0..50).map(f64::from).map(|x| (x, 1e6 + 3.0 * x - 0.01 * x * x));
    let fit = Fit::named("polynomial", Data::pairs(rows).unwrap()).unwrap();
    let fitted = fit.clone().run().unwrap();
    assert_eq!((fitted.outcome.stopped, fitted.agreed), (StopReason::Certain, None));
    assert!((fitted.value("c2").unwrap() + 0.01).abs() < 1e-9);
    // At a given bound.
    let bounded = fit.bounds("c1", 0.0, 2.0).unwrap().run().unwrap();
    assert_eq!(bounded.value("c1"), Some(2.0));
}

#[test]
fn a_usual_bound_that_is_hit_widens() {
    // The default bounds of the exponent end at 10.
    let rows = (1..40).map(|i| 1.0 + 0.02 * f64::from(i)).map(|x| (x, 2.0 * x.powi(14)));
    let fit = Fit::named("power_law", Data::pairs(rows).unwrap()).unwrap();
    let fitted = fit.clone().with(|options| options.iterations = 10).run().unwrap();
    assert!((fitted.value("exponent").unwrap() - 14.0).abs() < 1e-9, "{:?}", fitted.values());
    assert_eq!(fitted.widened, ["exponent"]);
    // A given bound is not widened.
    let bounded = fit.bounds("exponent", 0.0, 12.0).unwrap().run().unwrap();
    assert_eq!((bounded.value("exponent"), bounded.widened.len()), (Some(12.0), 0));
}

#[test]
fn numbers_whose_squares_or_exponentials_are_none_are_refused() {
    let message = |model: &str, rows: Vec<(f64, f64)>| {
        let fit = Fit::named(model, Data::pairs(rows).unwrap()).unwrap();
        fit.run().map_err(|error| error.to_string()).map(|_| ())
    };
    let rows = |scale: f64, start: f64| {
        let decay = |i: u32| (start + f64::from(i), scale * (-0.1 * f64::from(i)).exp());
        (0..30).map(decay).collect::<Vec<_>>()
    };
    // A closure may be a different function in other units.
    for scale in [1e-200, 1e200] {
        let line = move |p: &[f64], x: &[f64]| scale * (p[0] + p[1] * x[0]);
        let bounds = [("a", -10.0, 10.0), ("b", -10.0, 10.0)];
        let fit = Fit::from_fn(&bounds, Data::pairs(rows(scale, 0.0)).unwrap(), line).unwrap();
        let refused = fit.run().unwrap_err().to_string();
        assert!(refused.contains("magnitude of the target") && refused.contains("power of ten"));
    }
    let refused = message("exponentials", rows(1.0, 1.7e9)).unwrap_err();
    assert!(refused.contains("subtract 1700000000 from the arguments"), "{refused}");
    message("exponentials", rows(1e18, 0.0)).unwrap();
    // Far from zero, but not too far.
    message("exponentials", rows(1.0, 2000.0)).unwrap();
}

#[test]
fn only_the_parameters_that_have_bounds_of_their_own_end_there() {
    let measured = [(0.5, 1.7), (1.0, 2.9), (2.0, 4.2), (4.0, 5.6), (8.0, 6.8), (16.0, 7.3)];
    let fit = Fit::named("michaelis_menten", Data::pairs(measured).unwrap()).unwrap().profile(true);
    let names = fit.names();
    let bounded = fit.clone().bounds(&names[1], 0.0, 1e3).unwrap().run().unwrap();
    let ends = |fitted: &flockwork::fit::Fitted| fitted.parameters[0].profile.unwrap();
    let (a, b) = (ends(&fit.run().unwrap()), ends(&bounded));
    assert!((a.0 - b.0).abs() < 1e-6 && (a.1 - b.1).abs() < 1e-6, "{a:?} {b:?}");
}

/// Targets and arguments whose squares overflow or underflow: the parameters, in the user's units,
/// are those of a usual problem in these units.
#[test]
fn numbers_of_any_size_are_fitted_in_their_own_units() {
    // With a ripple that no decay explains.
    let signal = |x: f64| 3.0 * (-0.4 * x).exp() + 1.0 + 0.01 * (7.0 * x).sin();
    let fit = |name: &str, y: f64, x: f64| {
        let rows = (0..40).map(|i| 0.25 * f64::from(i)).map(|at| (x * at, y * signal(at)));
        Fit::named(name, Data::pairs(rows).unwrap()).unwrap()
    };
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-6 * b.abs(), "{a:e}, not {b:e}");
    let usual = fit("offset_exponentials", 1.0, 1.0).run().unwrap();
    for (y, x) in [(1e-200, 1.0), (1e200, 1.0), (1e-300, 1e-7), (1.0, 1e-200), (1e250, 1e180)] {
        let fitted = fit("offset_exponentials", y, x).run().unwrap();
        for (own, of_usual) in fitted.parameters.iter().zip(&usual.parameters) {
            let unit = if own.name.starts_with("rate") { 1.0 / x } else { y };
            close(own.value, unit * of_usual.value);
            close(own.error, unit * of_usual.error);
            close(own.confidence.1, unit * of_usual.confidence.1);
        }
        close(fitted.deviation, y * usual.deviation);
        close(fitted.sum_of_squares, usual.sum_of_squares * (y / fitted.unit).powi(2));
        let (r, of_usual) = (&fitted.statistics, &usual.statistics);
        close(r.r_squared, of_usual.r_squared);
        close(r.log_likelihood, of_usual.log_likelihood - 40.0 * y.ln());
        close(r.aic, of_usual.aic + 80.0 * y.ln());
        let (next, of_usual) = (fitted.predict(&[12.0 * x]), usual.predict(&[12.0]));
        close(next.value, y * of_usual.value);
        close(next.error, y * of_usual.error);
        close(next.prediction.0, y * of_usual.prediction.0);
        close(fitted.residuals()[7], y * usual.residuals()[7]);
    }
    // Given bounds and values are in the user's units.
    let bounded = |y: f64| {
        let fit = fit("offset_exponentials", y, 1.0).fixed("rate1", 0.5).unwrap();
        fit.bounds("amplitude1", 0.0, 2.0 * y).unwrap().run().unwrap()
    };
    let (usual, small) = (bounded(1.0), bounded(1e-200));
    assert!(usual.parameters.iter().any(|parameter| parameter.is_at_bound()));
    for (own, of_usual) in small.parameters.iter().zip(&usual.parameters) {
        let unit = if own.name == "rate1" { 1.0 } else { 1e-200 };
        close(own.value, unit * of_usual.value);
        assert_eq!(own.status, of_usual.status);
    }
}

#[test]
fn a_polynomial_far_from_zero_is_the_one_about_its_middle() {
    let day = 86_400.0;
    for (origin, step, degree) in [(1955.0, 0.125, 5), (1.7e9, day, 3), (-2.5e6, 1.0, 4)] {
        let wave = |i: i32| (f64::from(i) / 9.0).sin() + 0.1 * f64::from(i * i % 7);
        let rows = |from: f64| (-40..=40).map(move |i| (from + step * f64::from(i), wave(i)));
        let fit = |from: f64| {
            let fit = Fit::named("polynomial", Data::pairs(rows(from)).unwrap()).unwrap();
            fit.size("degree", degree).unwrap().profile(true).run().unwrap()
        };
        let (far, near) = (fit(origin), fit(0.0));
        let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-8 * b.abs(), "{a} and {b}");
        close(far.sum_of_squares, near.sum_of_squares);
        close(far.deviation, near.deviation);
        close(far.statistics.aic, near.statistics.aic);
        // The coefficient of the highest power is the same; the next one follows from the binomial
        // theorem.
        let n = degree as usize;
        let [last, before] = [n, n - 1].map(|k| (&far.parameters[k], &near.parameters[k]));
        close(last.0.value, last.1.value);
        close(last.0.error, last.1.error);
        close(last.0.confidence.0, last.1.confidence.0);
        let slope = f64::from(degree) * origin;
        close(before.0.value, before.1.value - slope * last.1.value);
        let covariance = &near.statistics.covariance.rows;
        let variance = covariance[n - 1][n - 1] - 2.0 * slope * covariance[n][n - 1]
            + slope * slope * covariance[n][n];
        close(before.0.error, variance.sqrt());
        for parameter in &far.parameters {
            assert_eq!(parameter.status, Status::Estimated);
            close(parameter.profile.unwrap().1, parameter.confidence.1);
        }
        for i in [-50, -3, 17, 60] {
            let [far, near] = [(&far, origin), (&near, 0.0)]
                .map(|(fitted, from)| fitted.predict(&[from + step * f64::from(i)]));
            close(far.value, near.value);
            close(far.error, near.error);
            close(far.prediction.0, near.prediction.0);
        }
        close(far.residuals()[7], near.residuals()[7]);
    }
}

#[test]
fn too_few_places_far_from_zero_leave_a_polynomial_undetermined() {
    let rows = (0..12).map(|i| (1990.0 + f64::from(i % 3), f64::from(i * i % 5)));
    let fit = Fit::named("polynomial", Data::pairs(rows).unwrap()).unwrap();
    let fitted = fit.size("degree", 4).unwrap().run().unwrap();
    assert!(fitted.parameters.iter().any(|p| p.status == Status::Undetermined));
    assert_eq!(fitted.degrees_of_freedom, 12 - 3);
    assert!(fitted.parameters.iter().all(|p| p.value.is_finite()));
}

#[test]
fn what_grows_is_found_beyond_a_usual_rate_of_zero() {
    for (model, from) in
        [("exponentials", 0.0), ("exponentials", 1949.0), ("offset_exponentials", 0.0)]
    {
        let rows =
            (0..60).map(|i| 0.2 * f64::from(i)).map(|x| (from + x, 100.0 * (0.12 * x).exp()));
        let fitted = Fit::named(model, Data::pairs(rows).unwrap()).unwrap().run().unwrap();
        let rate = fitted.value("rate1").unwrap();
        assert!((rate + 0.12).abs() < 1e-6, "{model}: {rate}");
        assert!(fitted.widened.contains(&"rate1".to_owned()), "{:?}", fitted.widened);
    }
    // A given bound of zero still holds.
    let rows = (0..60).map(|i| 0.2 * f64::from(i)).map(|x| (x, 100.0 * (0.12 * x).exp()));
    let fit = Fit::named("exponentials", Data::pairs(rows).unwrap()).unwrap();
    let fitted = fit.bounds("rate1", 0.0, 5.0).unwrap().run().unwrap();
    assert_eq!(fitted.value("rate1"), Some(0.0));
}

#[test]
fn a_polynomial_takes_arguments_of_any_size() {
    for (degree, unit) in [(12, 1e14), (12, 1e-14), (9, 1e-17), (6, 1e27), (4, 1e-39), (2, 1e78)] {
        let wave = |i: u32| (f64::from(i) / 6.0).sin() + 0.1 * f64::from(i * i % 7);
        let fit = |unit: f64| {
            let x = |i: u32| unit * (1.0 + 0.1 * f64::from(i));
            let rows = (0..56).map(move |i| (x(i), wave(i)));
            let fit = Fit::named("polynomial", Data::pairs(rows).unwrap()).unwrap();
            fit.size("degree", degree).unwrap().run().unwrap()
        };
        let (plain, scaled) = (fit(1.0), fit(unit));
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-6, "{unit}: {a} and {b}");
        close(scaled.sum_of_squares, plain.sum_of_squares);
        close(scaled.statistics.r_squared, plain.statistics.r_squared);
        for (k, (a, b)) in scaled.parameters.iter().zip(&plain.parameters).enumerate() {
            assert_eq!(a.status, Status::Estimated);
            let power = unit.powi(k as i32);
            close(a.value * power, b.value);
            close(a.error * power, b.error);
        }
        let columns = plain.statistics.correlation.rows.iter().flatten();
        for (a, b) in scaled.statistics.correlation.rows.iter().flatten().zip(columns) {
            close(*a, *b);
        }
    }
}

#[test]
fn a_column_has_any_size() {
    for unit in [1e-200, 1e-160, 1e154, 1e200] {
        let rows = (1..30).map(|i| (f64::from(i) * unit, 3.0 * f64::from(i) + f64::from(i % 3)));
        let fitted = Fit::named("linear", Data::pairs(rows).unwrap()).unwrap().run().unwrap();
        let rows = (1..30).map(|i| (f64::from(i), 3.0 * f64::from(i) + f64::from(i % 3)));
        let plain = Fit::named("linear", Data::pairs(rows).unwrap()).unwrap().run().unwrap();
        let (a, b) = (&fitted.parameters[0], &plain.parameters[0]);
        assert!((a.value * unit / b.value - 1.0).abs() < 1e-12, "{unit}");
        assert!((a.error * unit / b.error - 1.0).abs() < 1e-9, "{unit}: {}", a.error);
        assert!((fitted.sum_of_squares / plain.sum_of_squares - 1.0).abs() < 1e-12);
    }
}

#[test]
fn a_profile_keeps_to_the_bounds_that_hold_the_fit() {
    // With a negative constant the sum would be much smaller.
    let rows = [(1.0, 5.1), (2.0, 4.4), (3.0, 4.1), (4.0, 3.7), (5.0, 3.9), (6.0, 3.4)];
    let fit = Fit::named("michaelis_menten", Data::pairs(rows).unwrap()).unwrap().profile(true);
    let usual = fit.clone().run().unwrap();
    assert_eq!(usual.value("half"), Some(0.0));
    let stated = fit.bounds("half", 0.0, 100.0).unwrap().run().unwrap();
    let [usual, stated] = [&usual, &stated].map(|fitted| fitted.parameters[0].profile.unwrap());
    assert!((usual.0 - stated.0).abs() < 1e-6 && (usual.1 - stated.1).abs() < 1e-6, "{usual:?}");
}

#[test]
fn damped_steps_do_not_creep() {
    // Over years, an exponent is nearly collinear with the factor.
    let rows = (0..40).map(|i| 1950.0 + 0.25 * f64::from(i)).map(|x| (x, (x / 1960.0).powf(46.5)));
    let noisy = rows.enumerate().map(|(i, (x, y))| (x, y * (1.0 + 0.01 * (i as f64 * 1.7).sin())));
    let data = Data::pairs(noisy).unwrap();
    let fit = Fit::named("power_law", data).unwrap();
    let fitted = fit.run().unwrap();
    let exponent = fitted.value("exponent").unwrap();
    // The exponent of the least squares with the factor eliminated, by bisection of the slope.
    let slope = |b: f64| {
        let rows: Vec<_> = (0..40).map(|row| fit.data().arguments(row)[0] / 1960.0).collect();
        let y = |row: usize| fit.data().target(row);
        let power: Vec<f64> = rows.iter().map(|x| x.powf(b)).collect();
        let (mut py, mut pp) = (0.0, 0.0);
        for (row, p) in power.iter().enumerate() {
            py += p * y(row);
            pp += p * p;
        }
        let factor = py / pp;
        let terms = power.iter().zip(&rows).enumerate();
        terms.map(|(row, (p, x))| (factor * p - y(row)) * p * x.ln()).sum::<f64>()
    };
    let (mut low, mut high) = (40.0, 55.0);
    assert!(slope(low) < 0.0 && slope(high) > 0.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if slope(middle) < 0.0 { low = middle } else { high = middle }
    }
    assert!((exponent - low).abs() < 1e-5, "{exponent} and {low}");
    assert!(fitted.parameters[1].error > 1e-3, "{:?}", fitted.parameters[1]);
}
