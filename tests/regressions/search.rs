//! Fits: where they look, how they end, and what they obey.

use std::ops::ControlFlow;

use flockwork::{
    backend::Cpu,
    fit::{Data, Fit},
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
    // Coefficients a thousand times as large as the target itself, which they make by cancelling.
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
    let arguments = (0..30).flat_map(x).collect();
    let target = |i: u32| 1485.0 * x(i)[0] + 12786.0 * x(i)[1];
    let data = Data::new(2, arguments, (0..30).map(target).collect()).unwrap();
    let fit = Fit::named("linear", data).unwrap().with(|options| options.iterations = 5);
    let fitted = fit.clone().run().unwrap();
    assert!((fitted.value("b2").unwrap() - 12786.0).abs() < 1e-6);
    // A bound that was asked for holds.
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
    let negative = message(Fit::named("power_law", negative).err());
    assert!(negative.contains("-1") && negative.contains("power"), "{negative}");
}
