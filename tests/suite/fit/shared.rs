//! Parameters that many data sets share.

use std::ops::ControlFlow;

use flockwork::{
    backend::{Cpu, Emulated, Simd},
    fit::{Data, End, Fit, Fits, Gaussian2d, Loss, Many, OffsetExponentials, Stack},
    formula::Formula,
};

use crate::common::many::{equal_fits, share};

fn cpu() -> Cpu {
    Cpu::new(2).unwrap()
}

fn run(many: &Many<f64>) -> Fits<f64> {
    many.run_on(&cpu(), |_, _| {}).unwrap()
}

const ROWS: usize = 12;
const RATE: f64 = 0.7;

/// Times of each data set, and decays with the same rate: each row has a normal-like error of 0.05.
fn decays(sets: usize, own_times: bool) -> (Vec<f64>, Vec<f64>) {
    let time = |at: usize| {
        let jitter = if own_times { 0.2 * share(at + 4711) } else { 0.0 };
        0.4 * (at % ROWS) as f64 + jitter
    };
    let times: Vec<f64> = (0..sets * ROWS).map(time).collect();
    let signal = |(at, &t): (usize, &f64)| {
        let set = at / ROWS;
        let (scale, base) = (1.0 + 4.0 * share(2 * set), share(2 * set + 1));
        let error: f64 = (0..6).map(|n| share(90_000 + 6 * at + n) - 0.5).sum();
        base + scale * (-RATE * t).exp() + 0.07 * error
    };
    let signals = times.iter().enumerate().map(signal).collect();
    (times, signals)
}

fn formula() -> Formula {
    Formula::parse("base + scale*exp(-rate*x)").unwrap()
}

fn stack(sets: usize, own_times: bool) -> Stack<f64> {
    let (times, signals) = decays(sets, own_times);
    match own_times {
        true => Stack::with_own_arguments(1, sets, times, signals).unwrap(),
        false => Stack::new(1, times[..ROWS].to_vec(), signals).unwrap(),
    }
}

/// The same as one fit: the scale and the base of each data set have a column that is 1 in its rows.
fn as_one_fit(stack: &Stack<f64>, weights: Option<&[f64]>) -> Fit {
    let sets = stack.sets();
    let columns = sets + 1;
    let (mut arguments, mut targets, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for set in 0..sets {
        for row in 0..stack.rows() {
            let target = stack.targets(set)[row];
            if target.is_nan() {
                continue;
            }
            arguments.extend((0..sets).map(|other| f64::from(u8::from(other == set))));
            arguments.push(stack.arguments(set)[row]);
            targets.push(target);
            kept.extend(weights.map(|weights| weights[set * stack.rows() + row]));
        }
    }
    let sum = |name: &str| {
        let terms: Vec<_> = (1..=sets).map(|n| format!("{name}{n}*x{n}")).collect();
        terms.join(" + ")
    };
    let text = format!("({}) + ({})*exp(-rate*x{columns})", sum("base"), sum("scale"));
    let data = Data::new(columns as u32, arguments, targets).unwrap();
    let fit = Fit::from_formula(&Formula::parse(&text).unwrap(), data).unwrap();
    let fit = fit.bounds("rate", 0.01, 10.0).unwrap();
    if weights.is_some() { fit.weighted(kept).unwrap() } else { fit }
}

/// Checks values and errors against those of that one fit.
fn as_one(fits: &Fits<f64>, single: Fit) {
    let single = single.run_on(&cpu(), |_| {}).unwrap();
    let total: f64 = (0..fits.len()).map(|set| fits.value(set)).sum();
    assert!((total - single.value).abs() <= 1e-9 * single.value, "{total} {}", single.value);
    let names = fits.names().to_vec();
    for set in 0..fits.len() {
        for (nth, name) in names.iter().enumerate() {
            let of_set = if name == "rate" { name.clone() } else { format!("{name}{}", set + 1) };
            let expected = single.parameters.iter().find(|p| p.name == of_set).unwrap();
            let (value, error) = (fits.parameters(set)[nth], fits.errors(set)[nth]);
            let off = (value - expected.value).abs() / expected.error;
            assert!(off < 1e-4, "{of_set}: {value} {}", expected.value);
            let off = (error / expected.error - 1.0).abs();
            assert!(off < 1e-5, "{of_set}: {error} {}", expected.error);
        }
    }
}

#[test]
fn values_and_errors_are_those_of_one_fit_to_all_rows() {
    for own_times in [false, true] {
        let stack = stack(5, own_times);
        let fits =
            run(&Many::from_formula(&formula(), stack.clone()).unwrap().shared("rate").unwrap());
        assert_eq!((fits.count(End::Converged), fits.shared()), (5, &["rate".to_owned()][..]));
        as_one(&fits, as_one_fit(&stack, None));
    }
}

#[test]
fn weights_and_gaps_count() {
    let (times, mut signals) = decays(4, true);
    signals.iter_mut().step_by(5).for_each(|signal| *signal = f64::NAN);
    let weights: Vec<f64> = (0..4 * ROWS).map(|at| 100.0 + (at % 7) as f64 * 50.0).collect();
    let stack = Stack::with_own_arguments(1, 4, times, signals).unwrap();
    let stack = stack.weighted(weights.clone()).unwrap();
    for absolute in [false, true] {
        let many = Many::from_formula(&formula(), stack.clone()).unwrap();
        let fits = run(&many.shared("rate").unwrap().absolute_sigma(absolute));
        as_one(&fits, as_one_fit(&stack, Some(&weights)).absolute_sigma(absolute));
    }
}

#[test]
fn a_thousand_data_sets_tell_one_rate() {
    let many = Many::from_formula(&formula(), stack(1000, false)).unwrap();
    let fits = run(&many.clone().shared("rate").unwrap());
    assert_eq!(fits.count(End::Converged), 1000);
    let nth = fits.names().iter().position(|name| name == "rate").unwrap();
    let (rate, error) = (fits.parameters(0)[nth], fits.errors(0)[nth]);
    assert!(error < 2e-3 && (rate - RATE).abs() < 4.0 * error, "{rate} +- {error}");
    assert!((0..1000).all(|set| fits.parameters(set)[nth] == rate));
    // What the data tell of each one's own is more than without: by errors that do not depend on residuals.
    let many = many.absolute_sigma(true);
    let (apart, fits) = (run(&many), run(&many.clone().shared("rate").unwrap()));
    let scale = fits.names().iter().position(|name| name == "scale").unwrap();
    let better = (0..1000).filter(|&set| fits.errors(set)[scale] < apart.errors(set)[scale]);
    assert!(better.count() > 900);
}

#[test]
fn starting_values_lead_to_the_same_place() {
    let many = Many::from_formula(&formula(), stack(60, false)).unwrap().shared("rate").unwrap();
    let searched = run(&many);
    let values = |set: usize| {
        let of = |name: &String| match &**name {
            "rate" => 0.2 + share(set),
            "scale" => 2.0,
            _ => 0.5,
        };
        many.names().iter().map(of).collect::<Vec<_>>()
    };
    let begun = [values(0), (0..60).flat_map(values).collect()];
    for begin in begun {
        let fits = run(&many.clone().begin(begin).unwrap());
        for set in 0..60 {
            for (a, b) in searched.parameters(set).iter().zip(fits.parameters(set)) {
                assert!((a - b).abs() < 1e-5 * a.abs().max(0.1), "{set}: {a} {b}");
            }
        }
    }
}

#[test]
fn bits_are_the_same_on_any_machine() {
    for own_times in [false, true] {
        let stack = stack(600, own_times);
        let many = Many::named("offset_exponentials", stack).unwrap();
        let rate = many.names().into_iter().find(|name| name.starts_with("rate")).unwrap();
        let many = many.starts(4).unwrap().shared(&rate).unwrap();
        let here = run(&many);
        let plain = Cpu::with_simd(1, Simd::Baseline).unwrap();
        equal_fits(&here, &many.run_on(&plain, |_, _| {}).unwrap(), "one thread");
    }
    let many = Many::named("offset_exponentials", stack(5, false)).unwrap();
    let rate = many.names().into_iter().find(|name| name.starts_with("rate")).unwrap();
    let many = many.starts(2).unwrap().shared(&rate).unwrap();
    let emulated = Emulated::new(2, 64).with_model(OffsetExponentials);
    equal_fits(&run(&many), &many.run_on(&emulated, |_, _| {}).unwrap(), "emulated");
}

#[test]
fn all_may_be_shared_and_some_fixed() {
    let stack = stack(3, false);
    let many = Many::from_formula(&formula(), stack.clone()).unwrap();
    let rows = |set: usize| stack.arguments(set).iter().zip(stack.targets(set));
    let pairs = (0..3).flat_map(rows).map(|(&x, &y)| (x, y));
    let single = Fit::from_formula(&formula(), Data::pairs(pairs).unwrap()).unwrap();
    let single = single.run_on(&cpu(), |_| {}).unwrap();
    let all = many.names().iter().fold(many.clone(), |many, name| many.shared(name).unwrap());
    let fits = run(&all);
    for (nth, expected) in single.parameters.iter().enumerate() {
        let (value, error) = (fits.parameters(2)[nth], fits.errors(2)[nth]);
        assert!((value - expected.value).abs() < 1e-4 * expected.error, "{}", expected.name);
        assert!((error / expected.error - 1.0).abs() < 1e-5, "{}", expected.name);
    }
    assert_eq!(fits.rows(1), ROWS as u32);

    let held = many.clone().fixed("base", 0.4).unwrap().shared("rate").unwrap();
    let fits = run(&held);
    let base = fits.names().iter().position(|name| name == "base").unwrap();
    assert!((0..3).all(|set| (fits.parameters(set)[base], fits.errors(set)[base]) == (0.4, 0.0)));
    assert_eq!(fits.count(End::Converged), 3);
    let message = many.fixed("rate", 0.7).unwrap().shared("rate").unwrap().run().unwrap_err();
    assert!(message.to_string().contains("rate"), "{message}");
}

#[test]
fn a_shared_parameter_stays_within_its_bounds() {
    let many = Many::from_formula(&formula(), stack(40, false)).unwrap();
    let rate = many.names().iter().position(|name| name == "rate").unwrap();
    let fits = run(&many.bounds("rate", 0.8, 3.0).unwrap().shared("rate").unwrap());
    assert_eq!(fits.parameters(0)[rate], 0.8);
    assert!(fits.errors(0)[rate].is_nan() && fits.errors(0)[1 - rate.min(1)].is_finite());
    assert_eq!(fits.count(End::Converged), 40);
}

#[test]
fn data_sets_without_a_fit_take_no_part() {
    let (times, signals) = decays(30, false);
    let few = Stack::new(1, times[..ROWS].to_vec(), signals.clone()).unwrap();
    let expected = run(&Many::from_formula(&formula(), few).unwrap().shared("rate").unwrap());
    // One more that is missing, and one of a single row.
    let mut more = vec![f64::NAN; ROWS];
    more.extend(signals);
    more.extend([1.5].into_iter().chain(std::iter::repeat_n(f64::NAN, ROWS - 1)));
    let stack = Stack::new(1, times[..ROWS].to_vec(), more).unwrap();
    let fits = run(&Many::from_formula(&formula(), stack).unwrap().shared("rate").unwrap());
    assert_eq!((fits.end(0), fits.end(31)), (End::TooFewRows, End::TooFewRows));
    assert!(fits.value(0).is_nan() && fits.value(31).is_nan());
    for set in 0..30 {
        assert_eq!(fits.end(set + 1), End::Converged);
        for (a, b) in expected.parameters(set).iter().zip(fits.parameters(set + 1)) {
            assert!((a - b).abs() < 1e-6 * a.abs().max(0.1), "{set}: {a} {b}");
        }
        for (a, b) in expected.errors(set).iter().zip(fits.errors(set + 1)) {
            assert!((a / b - 1.0).abs() < 1e-5, "{set}: {a} {b}");
        }
    }
    // The rate is known of all.
    let rate = fits.names().iter().position(|name| name == "rate").unwrap();
    assert_eq!(fits.parameters(0)[rate], fits.parameters(1)[rate]);

    let nothing = Stack::new(1, times[..ROWS].to_vec(), vec![f64::NAN; 2 * ROWS]).unwrap();
    let fits = run(&Many::from_formula(&formula(), nothing).unwrap().shared("rate").unwrap());
    assert_eq!(fits.count(End::TooFewRows), 2);
    assert!(fits.parameters(0)[rate].is_nan() && fits.errors(0)[rate].is_nan());
}

#[test]
fn data_sets_that_tell_nothing_alone_do_together() {
    // Two rows each, of which one is needed for the scale: alone, none has a degree of freedom.
    let times = vec![0.0, 1.0];
    let signals = (0..50).flat_map(|set| {
        let scale = 1.0 + share(set);
        let error = |n: usize| 0.01 * (share(1000 + 2 * set + n) - 0.5);
        [scale + error(0), scale * (-RATE).exp() + error(1)]
    });
    let stack = Stack::new(1, times, signals.collect()).unwrap();
    let formula = Formula::parse("scale*exp(-rate*x)").unwrap();
    let many = Many::from_formula(&formula, stack.clone()).unwrap().shared("rate").unwrap();
    let fits = run(&many);
    let rate = fits.names().iter().position(|name| name == "rate").unwrap();
    let (value, error) = (fits.parameters(0)[rate], fits.errors(0)[rate]);
    assert!(error < 2e-3 && (value - RATE).abs() < 4.0 * error, "{value} +- {error}");

    // With as many of its own as it has rows, none tells anything of what is shared.
    let formula = Formula::parse("base + scale*exp(-rate*x)").unwrap();
    let fits = run(&Many::from_formula(&formula, stack).unwrap().shared("rate").unwrap());
    assert_eq!(fits.count(End::Undetermined), 50);
    assert_eq!(
        fits.errors(0)[fits.names().iter().position(|n| n == "rate").unwrap()],
        f64::INFINITY
    );
}

#[test]
fn counts_and_robust_losses_are_shared_too() {
    // Spots of the same width.
    let (side, sets) = (9, 40);
    let pixel = |at: usize| {
        let (set, x, y) = (at / (side * side), (at % side) as f64, (at / side % side) as f64);
        let (x0, y0) = (3.5 + share(3 * set), 3.5 + share(3 * set + 1));
        let height = 40.0 + 60.0 * share(3 * set + 2);
        let square = (x - x0).powi(2) + (y - y0).powi(2);
        let mean = 3.0 + height * (-square / (2.0 * 1.3 * 1.3)).exp();
        (mean + mean.sqrt() * 2.0 * (share(50_000 + at) + share(90_000 + at) - 1.0))
            .round()
            .max(0.0)
    };
    let counts: Vec<f64> = (0..sets * side * side).map(pixel).collect();
    let stack = Stack::images(side, side, counts).unwrap();
    let many = Many::new(Gaussian2d, stack).unwrap().shared("sigma").unwrap();
    let names = many.names();
    let sigma = names.iter().position(|name| name == "sigma").unwrap();
    let fits = run(&many.clone().poisson().unwrap());
    let (value, error) = (fits.parameters(0)[sigma], fits.errors(0)[sigma]);
    assert!(error < 0.02 && (value - 1.3).abs() < 5.0 * error, "{value} +- {error}");
    // It is the lowest: fits with another width held have a higher deviance.
    let deviance = |fits: &Fits<f64>| (0..sets).map(|set| fits.value(set)).sum::<f64>();
    for other in [value - error, value + error] {
        let held = Many::new(Gaussian2d, many.stack().clone()).unwrap();
        let held = run(&held.fixed("sigma", other).unwrap().poisson().unwrap());
        // One standard error off costs 1.
        let cost = deviance(&held) - deviance(&fits);
        assert!((0.8..1.2).contains(&cost), "{cost}");
    }
    let robust = run(&many.loss(Loss::Cauchy, 2.0).unwrap());
    assert!((robust.parameters(0)[sigma] - 1.3).abs() < 0.05);
    assert!(robust.errors(0)[sigma].is_nan());
}

#[test]
fn single_precision_comes_near() {
    let (times, signals) = decays(100, false);
    let narrow = |numbers: &[f64]| numbers.iter().map(|&x| x as f32).collect::<Vec<_>>();
    let stack = Stack::new(1, narrow(&times[..ROWS]), narrow(&signals)).unwrap();
    let many = Many::from_formula(&formula(), stack).unwrap().shared("rate").unwrap();
    let single = many.run_on(&cpu(), |_, _| {}).unwrap();
    let many = Many::from_formula(&formula(), self::stack(100, false)).unwrap();
    let double = run(&many.shared("rate").unwrap());
    for set in [0, 50, 99] {
        for nth in 0..3 {
            let (a, b) = (f64::from(single.parameters(set)[nth]), double.parameters(set)[nth]);
            let error = double.errors(set)[nth];
            assert!((a - b).abs() < 0.02 * error, "{set}: {a} {b} +- {error}");
            let ratio = f64::from(single.errors(set)[nth]) / error;
            assert!((ratio - 1.0).abs() < 1e-2, "{ratio}");
        }
    }
}

#[test]
fn a_run_can_be_ended() {
    let many = Many::from_formula(&formula(), stack(300, false)).unwrap().shared("rate").unwrap();
    let ended = many.run_on(&cpu(), |_, _| ControlFlow::Break(())).unwrap();
    assert!(ended.interrupted());
    assert_eq!(ended.count(End::NotFitted), 300);
    let (mut least, mut last) = (usize::MAX, 0);
    let fits = many.run_on(&cpu(), |done, all| {
        assert!(done <= all && all == 300);
        (least, last) = (least.min(done), done);
    });
    assert!(!fits.unwrap().interrupted() && least < 300 && last == 300);
    // Within the descent of all: what there is is given.
    let whole = many.run_on(&cpu(), |_, _| {}).unwrap();
    let rate = whole.names().iter().position(|name| name == "rate").unwrap();
    let held =
        |done: usize| if done == 299 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let cut = many.clone().begin(vec![0.5, 0.3, 2.0]).unwrap();
    let cut = cut.run_on(&cpu(), |done, _| held(done)).unwrap();
    assert!(cut.interrupted());
    let found = cut.parameters(0)[rate];
    assert!(found.is_nan() || (found - whole.parameters(0)[rate]).abs() < 0.5, "{found}");
}

/// Few wells of a plate have anything in them, in whatever rows they lie.
#[test]
fn what_is_shared_is_found_from_the_data_sets_that_tell_it() {
    let (sets, full) = (300, 6);
    let noise = |at: usize| 0.05 * (0..6).map(|n| share(7 + 6 * at + n) - 0.5).sum::<f64>();
    for seed in 0..12 {
        let is_full = |set: usize| (0..full).any(|n| set == (seed * 37 + n * 41 + 13) % sets);
        let (mut times, mut signals) = (Vec::new(), Vec::new());
        for at in 0..sets * 2 * ROWS {
            let (set, t) = (at / (2 * ROWS), 0.2 * (at % (2 * ROWS)) as f64);
            if set == 0 {
                times.push(t);
            }
            let signal = if is_full(set) { 3.0 * (-RATE * t).exp() } else { 0.0 };
            signals.push(signal + noise(at + 100_003 * seed));
        }
        let stack = Stack::new(1, times, signals).unwrap();
        let many = Many::new(OffsetExponentials, stack).unwrap().shared("rate1").unwrap();
        let fits = run(&many);
        let rate = fits.names().iter().position(|name| name == "rate1").unwrap();
        let (found, error) = (fits.parameters(0)[rate], fits.errors(0)[rate]);
        assert!((found - RATE).abs() < 5.0 * error && error < 0.05, "{seed}: {found} {error}");
    }
}

#[test]
fn equal_targets_tell_nothing_of_what_is_shared() {
    let stack = Stack::new(1, vec![0.0, 1.0, 2.0, 3.0, 4.0], vec![3.0; 15]).unwrap();
    let many = Many::from_formula(&formula(), stack.clone()).unwrap();
    let fits = run(&many.clone().shared("rate").unwrap());
    assert_eq!(fits.count(End::Constant), 3);
    equal_fits(&fits, &run(&many), "apart");
    // A linear model has one answer for them.
    let line = Formula::parse("a + b*x").unwrap();
    let many = Many::from_formula(&line, stack).unwrap().shared("b").unwrap();
    let fits = run(&many);
    assert_eq!(fits.count(End::Converged), 3);
    assert!((fits.parameters(1)[0] - 3.0).abs() < 1e-12);
}
