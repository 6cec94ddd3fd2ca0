//! Many data sets at once: the library.

use std::ops::ControlFlow;

use flockwork::{
    Error,
    backend::{Choice, Cpu, Simd},
    fit::{Data, End, Fit, Fits, Loss, Many, Stack},
    formula::Formula,
};

use crate::common::many::{ManyCase, equal_fits, many, many_cases, many_of_formula, share};

/// Decays over a background, of as many data sets: amplitude, rate and background of each.
fn decays(sets: usize) -> (Vec<f64>, Vec<f64>, impl Fn(usize) -> [f64; 3]) {
    let x: Vec<f64> = (0..30).map(|row| 0.2 * f64::from(row)).collect();
    let of = |set: usize| {
        [1.0 + 4.0 * share(3 * set), 0.3 + 2.0 * share(3 * set + 1), share(3 * set + 2)]
    };
    let y = (0..sets).flat_map(|set| {
        let [amplitude, rate, base] = of(set);
        let noise = move |row: usize| 0.04 * (share(1_000_000 + set * 30 + row) - 0.5);
        let value =
            move |(row, x): (usize, &f64)| amplitude * (-rate * x).exp() + base + noise(row);
        x.iter().enumerate().map(value).collect::<Vec<_>>()
    });
    (x.clone(), y.collect(), of)
}

fn cpu() -> Cpu {
    Cpu::new(2).unwrap()
}

fn run(many: &Many<f64>) -> Fits<f64> {
    many.run_on(&cpu(), |_, _| {}).unwrap()
}

/// Checks that the fits are those that each data set has by itself.
fn as_single(fits: &Fits<f64>, set: usize, single: Fit, scale: f64) {
    let single = single.run_on(&cpu(), |_| {}).unwrap();
    let close = |a: f64, b: f64, unit: f64| (a - b).abs() <= 1e-5 * unit.abs() + 1e-12;
    assert!(fits.value(set) <= single.value * (1.0 + 1e-9), "{} {}", fits.value(set), single.value);
    for (nth, parameter) in single.parameters.iter().enumerate() {
        let (value, error) = (fits.parameters(set)[nth], fits.errors(set)[nth]);
        assert!(close(value, parameter.value, parameter.error), "{} {value}", parameter.value);
        assert!(close(error, scale * parameter.error, error), "{} {error}", parameter.error);
    }
}

#[test]
fn each_is_fitted_as_by_itself() {
    let (x, y, _) = decays(40);
    let stack = Stack::new(1, x.clone(), y.clone()).unwrap();
    let fits = run(&Many::named("offset_exponentials", stack).unwrap());
    assert_eq!(fits.count(End::Converged), 40);
    for set in [0, 7, 39] {
        let rows = x.iter().zip(&y[set * 30..]).map(|(&x, &y)| (x, y));
        let single = Fit::named("offset_exponentials", Data::pairs(rows).unwrap()).unwrap();
        as_single(&fits, set, single, 1.0);
    }
}

#[test]
fn weights_gaps_and_arguments_of_its_own_are_those_of_each() {
    let (x, y, _) = decays(20);
    // Times of its own for each, weights, and every seventh row missing.
    let times: Vec<f64> = (0..20 * 30).map(|at| x[at % 30] + 0.01 * share(at)).collect();
    let mut targets = y.clone();
    targets.iter_mut().step_by(7).for_each(|target| *target = f64::NAN);
    let weights: Vec<f64> = (0..600).map(|at| (at % 4) as f64).collect();
    let stack = Stack::with_own_arguments(1, 20, times.clone(), targets.clone()).unwrap();
    let stack = stack.weighted(weights.clone()).unwrap();
    for absolute in [false, true] {
        let many = Many::named("offset_exponentials", stack.clone()).unwrap();
        let fits = run(&many.absolute_sigma(absolute));
        for set in [0, 3, 19] {
            let some: Vec<usize> =
                (set * 30..set * 30 + 30).filter(|&at| !targets[at].is_nan()).collect();
            let rows = some.iter().map(|&at| (times[at], targets[at]));
            let single = Fit::named("offset_exponentials", Data::pairs(rows).unwrap()).unwrap();
            let single = single.weighted(some.iter().map(|&at| weights[at])).unwrap();
            as_single(&fits, set, single.absolute_sigma(absolute), 1.0);
            let counted = some.iter().filter(|&&at| weights[at] > 0.0).count();
            assert_eq!(fits.rows(set), counted as u32);
        }
    }
}

#[test]
fn starting_values_lead_to_the_same_place() {
    let (x, y, of) = decays(50);
    let many = Many::named("offset_exponentials", Stack::new(1, x, y).unwrap()).unwrap();
    let searched = run(&many);
    let shared = run(&many.clone().begin(vec![0.5, 3.0, 1.0]).unwrap());
    let own = (0..50).flat_map(|set| {
        let [amplitude, rate, base] = of(set);
        [base, amplitude, rate]
    });
    let own = run(&many.begin(own.collect()).unwrap());
    for set in 0..50 {
        for fits in [&shared, &own] {
            for (a, b) in searched.parameters(set).iter().zip(fits.parameters(set)) {
                assert!((a - b).abs() < 1e-5 * a.abs(), "{set}: {a} {b}");
            }
        }
    }
    let iterations = |fits: &Fits<f64>| (0..50).map(|set| fits.iterations(set)).sum::<u32>();
    assert!(iterations(&own) < iterations(&shared));
}

#[test]
fn a_formula_is_fitted_as_a_built_in_model() {
    let (x, y, _) = decays(30);
    let stack = Stack::new(1, x, y).unwrap();
    let formula = Formula::parse("base + amp*exp(-rate*x)").unwrap();
    let typed = Many::from_formula(&formula, stack.clone()).unwrap();
    let typed = typed.bounds("rate", 0.0, 20.0).unwrap();
    let built_in = run(&Many::named("offset_exponentials", stack).unwrap());
    let typed = run(&typed);
    for set in 0..30 {
        for (a, b) in typed.parameters(set).iter().zip(built_in.parameters(set)) {
            assert!((a - b).abs() < 1e-5 * a.abs(), "{set}: {a} {b}");
        }
    }
    assert_eq!(typed.names(), ["base", "amp", "rate"]);
}

#[test]
fn a_typed_in_gaussian_is_the_built_in_one() {
    let spot = |image: usize, pixel: usize| {
        let (x, y) = (pixel as f64 % 5.0 - 2.0 - 0.2 * share(image), (pixel / 5) as f64 - 1.9);
        let noise = 3.0 * (share(100 + image * 25 + pixel) - 0.5);
        50.0 * (1.0 + share(7 + image)) * (-(x * x + y * y) / 1.6).exp() + 10.0 + noise
    };
    let targets = (0..40 * 25).map(|at| spot(at / 25, at % 25)).collect();
    let stack = Stack::images(5, 5, targets).unwrap();
    let begin = vec![80.0, 2.0, 2.0, 1.0, 9.0];
    let formula = "amplitude*exp(-((x - x0)^2 + (y - y0)^2)/(2*sigma^2)) + offset";
    let typed = Many::from_formula(&formula.parse().unwrap(), stack.clone()).unwrap();
    let built_in = Many::named("gaussian_2d", stack).unwrap();
    assert_eq!(typed.names(), built_in.names());
    let [typed, built_in] = [typed, built_in].map(|many| run(&many.begin(begin.clone()).unwrap()));
    for set in 0..40 {
        assert_eq!(typed.end(set), End::Converged);
        let pairs = typed.parameters(set).iter().zip(built_in.parameters(set));
        let errors = typed.errors(set).iter().zip(built_in.errors(set));
        for ((a, b), (own, other)) in pairs.zip(errors) {
            assert!(
                (a - b).abs() < 1e-5 * own && (own - other).abs() < 1e-5 * own,
                "{set}: {a} {b}"
            );
        }
    }
}

/// Alone, so that a vector has rows, a data set is fitted as among others.
#[test]
fn formulas_have_the_same_bits_in_lanes_and_along_rows() {
    for rows in [3, 16, 65, 130] {
        for formula in ["a*exp(-x/b) + c", "a + b*x + c*if(x < 2, gamma(x), x^c)"] {
            let case = ManyCase::of(6, rows, 0);
            let shared = many_of_formula::<f64>(formula, 1, &case);
            let together = run(&shared);
            for set in 0..case.sets {
                let x = shared.stack().arguments(set).to_vec();
                let y = shared.stack().targets(set).to_vec();
                let own = Stack::with_own_arguments(1, 1, x, y).unwrap();
                let alone = Many::from_formula(&formula.parse().unwrap(), own).unwrap();
                let begin = (0..3).map(|n| 0.1 + 2.0 * share(3 * set + n + 5)).collect();
                let alone = alone.iterations(8).unwrap().loss(case.loss, 0.5).unwrap();
                let alone = run(&alone.bounds("a", 0.25, 3.0).unwrap().begin(begin).unwrap());
                let bits = |fits: &Fits<f64>, set: usize| {
                    let numbers = fits.parameters(set).iter().chain(fits.errors(set));
                    numbers.map(|number| number.to_bits()).collect::<Vec<_>>()
                };
                assert_eq!(bits(&alone, 0), bits(&together, set), "{formula}, {rows} rows, {set}");
                assert_eq!(alone.iterations(0), together.iterations(set));
            }
        }
    }
}

#[test]
fn a_gpu_says_which_formulas_it_does_not_take() {
    let refused = |formula: &str| {
        let stack = Stack::new(1, vec![1.0, 2.0], vec![1.0; 2]).unwrap();
        let many = Many::from_formula(&formula.parse().unwrap(), stack).unwrap();
        assert!(many.select(Choice::Cpu, 1).is_ok(), "a CPU takes all");
        many.select(Choice::Cuda, 1).unwrap_err().to_string()
    };
    let nine = refused("a*x + b + c + d + f + g + h + i + j");
    assert!(nine.contains("takes 8 parameters at most, not 9"), "{nine}");
    assert!(refused("a*gamma(b*x)").contains("the derivative of gamma"));
    let long = refused("sum(i in 0..900: exp(a*x*i))");
    assert!(long.contains("operations, and a kernel at most 4096"), "{long}");
}

#[test]
fn counts_are_fitted_by_likelihood() {
    // The most likely line through counts, by Newton's method on the likelihood in long form.
    let x: Vec<f64> = (0..12).map(f64::from).collect();
    let counts = [3.0, 1.0, 4.0, 6.0, 5.0, 9.0, 7.0, 12.0, 10.0, 15.0, 12.0, 0.0];
    let stack = Stack::new(1, x.clone(), counts.to_vec()).unwrap();
    let many = Many::named("polynomial", stack).unwrap().size("degree", 1).unwrap();
    let fits = run(&many.poisson().unwrap().begin(vec![5.0, 0.5]).unwrap());
    let mut at = [5.0, 0.5];
    for _ in 0..50 {
        let (mut gradient, mut matrix) = ([0.0; 2], [[0.0; 2]; 2]);
        for (x, y) in x.iter().zip(counts) {
            let expected = at[0] + at[1] * x;
            let slope = [1.0, *x];
            for i in 0..2 {
                gradient[i] += (y / expected - 1.0) * slope[i];
                for j in 0..2 {
                    matrix[i][j] += y / (expected * expected) * slope[i] * slope[j];
                }
            }
        }
        let determinant = matrix[0][0] * matrix[1][1] - matrix[0][1] * matrix[1][0];
        at[0] += (matrix[1][1] * gradient[0] - matrix[0][1] * gradient[1]) / determinant;
        at[1] += (matrix[0][0] * gradient[1] - matrix[1][0] * gradient[0]) / determinant;
    }
    for (found, expected) in fits.parameters(0).iter().zip(at) {
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }
    let negative = Stack::new(1, vec![0.0, 1.0], vec![1.0, -1.0]).unwrap();
    let message = Many::<f64>::named("polynomial", negative).unwrap().poisson().unwrap_err();
    assert!(message.to_string().contains("-1 at index 1"), "{message}");
}

#[test]
fn each_way_to_end_has_its_word() {
    let x = vec![0.0, 1.0, 2.0, 3.0, 4.0];
    let nan = f64::NAN;
    let targets = [
        [5.0, 3.1, 2.2, 1.4, 1.1],
        [2.0; 5],
        [5.0, nan, nan, nan, 1.0],
        [nan; 5],
        // Before the decay has any weight: amplitude and rate are not told apart.
        [0.0, 0.0, 0.0, 0.0, 1e-30],
    ];
    let stack = Stack::new(1, x.clone(), targets.concat()).unwrap();
    assert_eq!(stack.missing(), 8);
    let many = Many::named("offset_exponentials", stack).unwrap();
    let fits = run(&many);
    let ends: Vec<End> = (0..4).map(|set| fits.end(set)).collect();
    let expected = [End::Converged, End::Constant, End::TooFewRows, End::TooFewRows];
    assert_eq!(ends, expected);
    assert!(fits.parameters(1).iter().all(|x| x.is_nan()) && fits.value(1).is_nan());
    assert_eq!((fits.rows(2), fits.rows(3)), (2, 0));

    let fits = run(&many.clone().begin(vec![1.0, 1.0, 0.1]).unwrap().iterations(1).unwrap());
    assert_eq!(fits.end(0), End::Iterations);
    assert_eq!(fits.iterations(0), 1);
    // exp overflows.
    let fits = run(&many.begin(vec![1.0, 1.0, -1e3]).unwrap());
    assert_eq!(fits.end(0), End::NotFinite);

    // A model that is linear in all parameters fits what is constant, and what is not determined is
    // found out: two columns that are the same.
    let twice: Vec<f64> = x.iter().flat_map(|&x| [x, x]).collect();
    let stack = Stack::new(2, twice, vec![0.0, 1.0, 2.0, 3.1, 4.0]).unwrap();
    let fits = run(&Many::named("linear", stack).unwrap().begin(vec![0.0, 0.0]).unwrap());
    assert_eq!(fits.end(0), End::Undetermined);
    assert_eq!(fits.errors(0), [f64::INFINITY; 2]);
    let stack = Stack::new(1, x, vec![2.0; 5]).unwrap();
    let fits = run(&Many::named("polynomial", stack).unwrap().size("degree", 1).unwrap());
    assert_eq!(fits.end(0), End::Converged);
    assert!((fits.parameters(0)[0] - 2.0).abs() < 1e-12);
}

#[test]
fn the_bits_depend_on_nothing_but_the_data() {
    for case in many_cases() {
        let case = ManyCase { sets: 70, ..case };
        for model in ["logistic", "gaussians", "polynomial", "hill"] {
            let many = many::<f64>(model, &case);
            let all = run(&many);
            let plain = Cpu::with_simd(1, Simd::Baseline).unwrap();
            equal_fits(&all, &many.run_on(&plain, |_, _| {}).unwrap(), model);
            let single = crate::common::many::many::<f32>(model, &case);
            let here = single.run_on(&cpu(), |_, _| {}).unwrap();
            equal_fits(&here, &single.run_on(&plain, |_, _| {}).unwrap(), model);
        }
    }
}

#[test]
fn a_data_set_does_not_know_of_the_others() {
    let (x, y, _) = decays(300);
    let all = Stack::new(1, x.clone(), y.clone()).unwrap();
    let all = run(&Many::named("offset_exponentials", all).unwrap());
    for set in [0, 17, 299] {
        let alone = Stack::new(1, x.clone(), y[set * 30..][..30].to_vec()).unwrap();
        let alone = run(&Many::named("offset_exponentials", alone).unwrap());
        assert_eq!(alone.parameters(0), all.parameters(set));
        assert_eq!(alone.errors(0), all.errors(set));
    }
}

#[test]
fn large_models_run_on_the_cpu() {
    let x: Vec<f64> = (0..60).map(|row| f64::from(row) / 30.0 - 1.0).collect();
    let y: Vec<f64> = x.iter().flat_map(|x| [x.powi(9) - x, 1.0 + x.powi(11)]).collect();
    let y: Vec<f64> =
        (0..2).flat_map(|set| y.iter().skip(set).step_by(2).copied().collect::<Vec<_>>()).collect();
    let many = Many::named("polynomial", Stack::new(1, x, y).unwrap()).unwrap();
    let many = many.size("degree", 11).unwrap();
    let fits = run(&many);
    for (set, power, value) in [(0, 9, 1.0), (0, 1, -1.0), (1, 0, 1.0), (1, 11, 1.0), (1, 3, 0.0)] {
        let found = fits.parameters(set)[power];
        assert!((found - value).abs() < 1e-4, "{set} {power}: {found}");
    }
    let message = many.select(Choice::Cuda, 1).unwrap_err();
    assert!(message.to_string().contains("takes 8 parameters at most, not 12"), "{message}");
    let (x, y) = (vec![0.0, 1.0], vec![0.0, 1.0]);
    let many = Many::named("exponentials", Stack::new(1, x, y).unwrap()).unwrap();
    assert!(many.size("terms", 12).is_ok());
}

#[test]
fn a_run_can_be_ended() {
    let (x, y, _) = decays(20_000);
    let many = Many::named("offset_exponentials", Stack::new(1, x, y).unwrap()).unwrap();
    let many = many.begin(vec![0.5, 3.0, 1.0]).unwrap();
    let mut seen = Vec::new();
    let fits = many
        .run_on(&cpu(), |done, all| {
            seen.push((done, all));
            if done > 5_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert!(fits.interrupted());
    let (done, _) = *seen.last().unwrap();
    assert_eq!(fits.count(End::NotFitted), 20_000 - done);
    assert!(fits.parameters(0)[0].is_finite() && fits.parameters(19_999)[0].is_nan());
    assert!(seen.iter().all(|&(_, all)| all == 20_000));
}

#[test]
fn spots_are_found_wherever_zero_is() {
    let spot = |x: f64, y: f64| 40.0 * (-(x * x + y * y) / 2.4).exp() + 3.0;
    for (far_x, far_y) in [(0.0, 0.0), (1000.0, 0.0), (0.0, -5000.0), (1e4, 1e4)] {
        let places = (0..49).map(|pixel| (f64::from(pixel % 7), f64::from(pixel / 7)));
        let arguments = places.clone().flat_map(|(x, y)| [x + far_x, y + far_y]).collect();
        let targets = (0..20).flat_map(|set| {
            let (at_x, at_y) = (2.0 + share(set), 3.0 + share(set + 50));
            let noise = move |pixel: usize| share(set * 49 + pixel + 999);
            let value = move |(pixel, (x, y))| spot(x - at_x, y - at_y) + noise(pixel);
            places.clone().enumerate().map(value).collect::<Vec<_>>()
        });
        let stack = Stack::new(2, arguments, targets.collect()).unwrap();
        let fits = run(&Many::named("gaussian_2d", stack).unwrap());
        for set in 0..20 {
            let sigma = fits.parameters(set)[3].abs();
            assert!((sigma - 1.2_f64.sqrt()).abs() < 0.1, "{far_x} {far_y} {set}: {sigma}");
        }
    }
}

#[test]
fn the_absolute_loss_finds_medians() {
    let stack = Stack::new(1, vec![0.0; 5], vec![1.0, 2.0, 4.0, 8.0, 100.0]).unwrap();
    let many = Many::named("polynomial", stack).unwrap().size("degree", 0).unwrap();
    let fits = run(&many.loss(Loss::Absolute, 0.0).unwrap());
    assert_eq!(fits.end(0), End::Converged);
    assert!((fits.parameters(0)[0] - 4.0).abs() < 1e-3, "{}", fits.parameters(0)[0]);
}

#[test]
fn bounds_and_fixed_values_hold() {
    let (x, y, _) = decays(10);
    let many = Many::named("offset_exponentials", Stack::new(1, x, y).unwrap()).unwrap();
    let bounded = run(&many.clone().bounds("rate1", 2.5, 9.0).unwrap());
    assert!((0..10).all(|set| bounded.parameters(set)[2] >= 2.5));
    let at = (0..10).find(|&set| bounded.parameters(set)[2] == 2.5).expect("one is at its bound");
    assert!(bounded.errors(at)[2].is_nan() && bounded.errors(at)[0].is_finite());
    let fixed = run(&many.clone().fixed("rate1", 1.0).unwrap());
    assert!((0..10).all(|set| fixed.parameters(set)[2] == 1.0 && fixed.errors(set)[2] == 0.0));
    let all = many.fixed("rate1", 1.0).unwrap().fixed("offset", 0.0).unwrap();
    let message = all.fixed("amplitude1", 1.0).unwrap().run_on(&cpu(), |_, _| {}).unwrap_err();
    assert!(message.to_string().contains("it must be at least 1"), "{message}");
}

/// A bound on one side leaves the other as it is without bounds.
#[test]
fn parameters_may_be_bounded_on_one_side() {
    let inf = f64::INFINITY;
    let (x, y, _) = decays(10);
    let many = || {
        Many::named("offset_exponentials", Stack::new(1, x.clone(), y.clone()).unwrap()).unwrap()
    };
    let free = run(&many());
    let same =
        run(&many().bounds("rate1", 0.0, inf).unwrap().bounds("amplitude1", 0.0, inf).unwrap());
    let over = run(&many().bounds("rate1", 2.5, inf).unwrap());
    let under = run(&many().bounds("rate1", -inf, 0.6).unwrap());
    for set in 0..10 {
        for (one, other) in free.parameters(set).iter().zip(same.parameters(set)) {
            assert!((one - other).abs() < 1e-6 * one.abs().max(1.0), "{set}: {one} {other}");
        }
        let rate = free.parameters(set)[2];
        assert!((over.parameters(set)[2] - rate.max(2.5)).abs() < 1e-6, "{set}");
        assert!(under.parameters(set)[2] <= 0.6, "{set}");
    }
    // A formula's parameters, looked for and with starting points; a linear one that would be negative.
    let formula = Formula::parse("a*exp(-x*rate) + b").unwrap();
    let many =
        || Many::from_formula(&formula, Stack::new(1, x.clone(), y.clone()).unwrap()).unwrap();
    let names = many().names();
    let nth = |name: &str| names.iter().position(|known| *known == name).unwrap();
    let bounded = || many().bounds("rate", 0.0, inf).unwrap().bounds("a", -inf, 0.0).unwrap();
    for fits in [run(&bounded()), run(&bounded().begin(vec![-1.0, 1.0, 0.0]).unwrap())] {
        for set in 0..10 {
            assert!(
                fits.parameters(set)[nth("a")] <= 0.0 && fits.parameters(set)[nth("rate")] >= 0.0
            );
        }
    }
    let looked_for = run(&many().bounds("rate", 0.0, inf).unwrap());
    for set in 0..10 {
        let (one, other) = (looked_for.parameters(set)[nth("rate")], free.parameters(set)[2]);
        assert!((one - other).abs() < 1e-6 * other, "{set}: {one} {other}");
    }
    let why = many().bounds("rate", inf, inf).unwrap_err().to_string();
    assert!(why.contains("inf to inf for rate"), "{why}");
}

/// A first step that is cut off at a bound and refused promises nothing, and is not the end.
#[test]
fn a_descent_goes_on_where_its_first_step_is_cut_off() {
    let x: Vec<f64> = (0..25).map(|row| 0.25 * f64::from(row)).collect();
    let of = |tau: f64| x.iter().map(move |x| 2.7 * (-x / tau).exp() - 0.4);
    let taus = [0.9, 1.065, 1.2, 1.4];
    let y: Vec<f64> = taus.iter().flat_map(|&tau| of(tau)).collect();
    let formula = Formula::parse("a*exp(-x/tau) + b").unwrap();
    for (upper, start) in [(1000.0, 3.0), (5.0, 4.9), (5.0, 5.0), (20.0, 20.0)] {
        let stack = Stack::new(1, x.clone(), y.clone()).unwrap();
        let many = Many::from_formula(&formula, stack).unwrap();
        assert_eq!(many.names(), ["a", "tau", "b"]);
        let many = many.bounds("tau", 0.01, upper).unwrap();
        let fits = run(&many.begin(vec![1.0, start, 0.0]).unwrap());
        assert_eq!(fits.count(End::Converged), taus.len(), "{start}");
        for (set, tau) in taus.iter().enumerate() {
            let found = fits.parameters(set)[1];
            assert!((found - tau).abs() < 1e-4, "{start}: {found}, not {tau}");
        }
    }
}

/// Of a formula's parameters nothing is known but the arguments: a peak's place is among them, and its width is a
/// share of what they span.
#[test]
fn peaks_and_steps_are_found_wherever_the_arguments_lie() {
    let peak: Formula = "a*exp(-(x-m)^2/(2*s^2)) + b".parse().unwrap();
    let step: Formula = "a/(1 + exp(-(x-m)/s)) + b".parse().unwrap();
    for (low, high) in [(5.0, 12.0), (-80.0, 40.0), (0.0, 1000.0), (400.0, 700.0), (1900.0, 2020.0)]
    {
        let (span, sets, rows) = (high - low, 20, 90);
        let x: Vec<f64> = (0..rows).map(|i| low + span * f64::from(i) / 89.0).collect();
        let place = |set: usize| low + span * (0.25 + 0.5 * set as f64 / 19.0);
        let noise = |nth: usize| 0.05 * ((nth * 7919 % 101) as f64 / 50.0 - 1.0);
        type Curve = fn(f64) -> f64;
        let curves: [(&Formula, f64, Curve); 2] = [
            (&peak, 0.06, |z| 5.0 * (-z * z / 2.0).exp() + 1.0),
            (&step, 0.04, |z| 5.0 / (1.0 + (-z).exp()) + 1.0),
        ];
        for (formula, width, curve) in curves {
            let y = (0..sets).flat_map(|set| {
                let of = move |x: f64| curve((x - place(set)) / (width * span));
                x.iter().map(move |&x| of(x))
            });
            let y: Vec<f64> = y.enumerate().map(|(nth, y)| y + noise(nth)).collect();
            let stack = Stack::new(1, x.clone(), y).unwrap();
            let fits = Many::from_formula(formula, stack).unwrap().run().unwrap();
            let nth = fits.names().iter().position(|name| name == "m").unwrap();
            for set in 0..sets {
                let found = fits.parameters(set)[nth];
                let apart = (found - place(set)).abs();
                assert!(
                    apart < 0.02 * span,
                    "{}, {low} to {high}: {found} for {}",
                    formula.text(),
                    place(set)
                );
                assert_eq!(fits.end(set), End::Converged);
            }
        }
    }
}

#[test]
fn mistakes_are_told() {
    let message = |result: Result<Stack<f64>, Error>| result.unwrap_err().to_string();
    assert!(message(Stack::new(1, vec![], vec![1.0])).contains("the list of arguments"));
    assert!(message(Stack::new(1, vec![0.0, 1.0], vec![1.0; 3])).contains("the list of targets"));
    assert!(message(Stack::new(0, vec![], vec![])).contains("the list of arguments"));
    assert!(message(Stack::new(1, vec![f64::NAN], vec![1.0])).contains("argument 0"));
    assert!(message(Stack::new(1, vec![1.0], vec![f64::INFINITY])).contains("target 0"));
    assert!(message(Stack::images(0, 4, vec![])).contains("at least one pixel"));
    assert!(message(Stack::with_own_arguments(1, 0, vec![], vec![])).contains("targets"));
    let stack = Stack::new(1, vec![0.0, 1.0, 2.0], vec![1.0, 2.0, 4.0]).unwrap();
    assert!(message(stack.clone().weighted(vec![1.0, -1.0, 0.0])).contains("-1 at index 1"));
    assert!(message(stack.clone().named(vec!["t".to_owned()])).contains("the list of names"));
    let many = Many::named("power_law", stack.clone()).unwrap();
    let message = |result: Result<Many<f64>, Error>| result.unwrap_err().to_string();
    assert!(message(Many::named("powerlaw", stack)).contains("no model called \"powerlaw\""));
    assert!(message(many.clone().bounds("rate", 0.0, 1.0)).contains("factor, exponent"));
    assert!(message(many.clone().bounds("factor", 1.0, 1.0)).contains("1.0 to 1.0 for factor"));
    assert!(message(many.clone().begin(vec![1.0])).contains("starting values"));
    assert!(message(many.clone().begin(vec![1.0, f64::NAN])).contains("starting value 1"));
    assert!(message(many.clone().starts(0)).contains("from 1 to 4096"));
    assert!(message(many.clone().iterations(0)).contains("from 1 to 1000000"));
    assert!(message(many.clone().tolerance(-1.0)).contains("0 or more"));
    assert!(message(many.clone().loss(Loss::Huber, 0.0)).contains("loss scale"));
    assert!(message(many.size("terms", 2)).contains("has none"));
}

#[test]
fn intervals_by_profile_are_those_of_each_alone() {
    let (x, y, _) = decays(12);
    let mut targets = y.clone();
    targets.iter_mut().skip(40).step_by(9).for_each(|target| *target = f64::NAN);
    let weights: Vec<f64> = (0..30).map(|row| 200.0 + 40.0 * (row % 5) as f64).collect();
    let stack = Stack::new(1, x.clone(), targets.clone()).unwrap();
    let stack = stack.weighted(weights.clone()).unwrap();
    for (absolute, level) in [(false, 0.95), (true, 0.8)] {
        let many = Many::named("offset_exponentials", stack.clone()).unwrap();
        let many = many.absolute_sigma(absolute).profile(level).unwrap();
        let fits = run(&many);
        for set in [0, 4, 11] {
            let of = |row: &usize| !targets[set * 30 + row].is_nan();
            let rows: Vec<usize> = (0..30).filter(of).collect();
            let pairs = rows.iter().map(|&row| (x[row], targets[set * 30 + row]));
            let single = Fit::named("offset_exponentials", Data::pairs(pairs).unwrap()).unwrap();
            let single = single.weighted(rows.iter().map(|&row| weights[row])).unwrap();
            let single = single.absolute_sigma(absolute).confidence(level).unwrap().profile(true);
            let single = single.run_on(&cpu(), |_| {}).unwrap();
            for (ends, parameter) in fits.interval(set).unwrap().iter().zip(&single.parameters) {
                let (low, high) = parameter.profile.unwrap();
                let unit = 1e-5 * parameter.error;
                let close = (ends[0] - low).abs() < unit && (ends[1] - high).abs() < unit;
                assert!(close, "{} of {set}: {ends:?}, not {low} to {high}", parameter.name);
            }
        }
        // The bits do not depend on the machine, nor on the others.
        let plain = Cpu::with_simd(1, Simd::Baseline).unwrap();
        let other = many.run_on(&plain, |_, _| {}).unwrap();
        let bits = |fits: &Fits<f64>, set: usize| -> Vec<u64> {
            fits.interval(set).unwrap().iter().flatten().map(|end| end.to_bits()).collect()
        };
        assert!((0..12).all(|set| bits(&fits, set) == bits(&other, set)));
        let alone = Many::named("offset_exponentials", stack.part(4..5).unwrap()).unwrap();
        let alone = run(&alone.absolute_sigma(absolute).profile(level).unwrap());
        assert_eq!(bits(&alone, 0), bits(&fits, 4));
    }
}

#[test]
fn intervals_end_at_bounds_and_where_there_is_nothing() {
    let (x, mut y, _) = decays(3);
    y[30..60].fill(2.0);
    let many = Many::named("offset_exponentials", Stack::new(1, x, y).unwrap()).unwrap();
    let names = many.names();
    assert!(run(&many).interval(0).is_none());
    let free = run(&many.clone().profile(0.95).unwrap());
    // A set that is not fitted has none, and a fixed parameter has none.
    assert!(free.interval(1).unwrap().iter().flatten().all(|end| end.is_nan()));
    let fixed = run(&many.clone().fixed(&names[0], 0.4).unwrap().profile(0.95).unwrap());
    assert!(fixed.interval(0).unwrap()[0].iter().all(|end| end.is_nan()));
    assert!(fixed.interval(0).unwrap()[1].iter().all(|end| end.is_finite()));
    // A bound within the interval leaves no end on its side, and the other one.
    let [low, high] = free.interval(0).unwrap()[2];
    let estimate = free.parameters(0)[2];
    let bound = 0.5 * (low + estimate);
    let bounded = run(&many.clone().bounds(&names[2], bound, 50.0).unwrap().profile(0.95).unwrap());
    let [lower, higher] = bounded.interval(0).unwrap()[2];
    assert!(lower.is_nan() && (higher - high).abs() < 1e-5 * (high - low), "{lower} {higher}");
    // A linear model's are symmetric, by standard errors.
    let stack = Stack::new(1, vec![0.0, 1.0, 2.0, 3.0], vec![1.0, 2.2, 2.9, 4.3]).unwrap();
    let line = Many::named("polynomial", stack).unwrap().size("degree", 1).unwrap();
    let fits = run(&line.profile(0.9).unwrap());
    let factor = flockwork::fit::student_t(0.9, 2.0).unwrap();
    for (nth, [low, high]) in fits.interval(0).unwrap().into_iter().enumerate() {
        let (value, reach) = (fits.parameters(0)[nth], factor * fits.errors(0)[nth]);
        assert!((low - (value - reach)).abs() < 1e-5 * reach, "{low} {value} {reach}");
        assert!((high - (value + reach)).abs() < 1e-5 * reach, "{high} {value} {reach}");
    }
    let one = Many::named("polynomial", many.stack().clone()).unwrap().size("degree", 0).unwrap();
    assert!(run(&one.profile(0.9).unwrap()).interval(0).unwrap()[0].iter().all(|x| x.is_finite()));
    assert!(many.clone().profile(1.0).is_err());
    let robust = many.clone().loss(Loss::Huber, 1.0).unwrap().profile(0.95).unwrap();
    assert!(robust.run_on(&cpu(), |_, _| {}).unwrap_err().to_string().contains("robust"));
    let shared = many.shared(&names[2]).unwrap().profile(0.95).unwrap();
    assert!(shared.run_on(&cpu(), |_, _| {}).unwrap_err().to_string().contains("shared"));
}

#[test]
fn rates_of_formulas_are_found_where_arguments_are_large() {
    let formula: Formula = "a*exp(-k*x) + b".parse().unwrap();
    let (x, y, of) = decays(40);
    for scale in [1e3, 1e5, 1e6] {
        let x = x.iter().map(|x| scale * x).collect();
        let many = Many::from_formula(&formula, Stack::new(1, x, y.clone()).unwrap()).unwrap();
        let rate = many.names().iter().position(|name| name == "k").unwrap();
        let fits = run(&many);
        assert_eq!(fits.count(End::Converged), 40, "{scale}");
        for set in 0..40 {
            let (found, error) = (fits.parameters(set)[rate], fits.errors(set)[rate]);
            let apart = (found - of(set)[1] / scale) / error;
            assert!(apart.abs() < 5.0, "{set} of {scale}: {apart}");
        }
    }
}

#[test]
fn intervals_end_nowhere_where_numbers_overflow() {
    // The data bound the slope from below alone; beyond 5 there are no predictions.
    let formula: Formula = "a + 0.1*tanh(p*x) + 1e308*max(p - 5, 0)".parse().unwrap();
    let x: Vec<f64> = (0..20).map(f64::from).collect();
    let noise = |row: usize| 0.04 * ((row * 7 % 5) as f64 - 2.0);
    let y: Vec<f64> =
        x.iter().enumerate().map(|(row, x)| 2.0 + 0.1 * (0.5 * x).tanh() + noise(row)).collect();
    let data = Data::pairs(x.iter().copied().zip(y.iter().copied())).unwrap();
    let single = Fit::from_formula(&formula, data).unwrap().bounds("p", 0.0, f64::INFINITY);
    let (low, high) = single.unwrap().profile(true).run().unwrap().parameters[1].profile.unwrap();
    assert!(low > 0.0 && high.is_nan(), "{low} {high}");
    let many = Many::from_formula(&formula, Stack::new(1, x, y).unwrap()).unwrap();
    let many = many.bounds("p", 0.0, f64::INFINITY).unwrap().profile(0.95).unwrap();
    let [lower, higher] = run(&many).interval(0).unwrap()[1];
    assert!((lower - low).abs() < 1e-5 && higher.is_nan(), "{lower} {higher}");
}

#[test]
fn intervals_of_counts_are_where_the_deviance_has_grown() {
    // The mean of Poisson counts: 2 (n ln(n/m) - (n - m)) = 3.84 at both ends, summed over the rows.
    let counts = vec![3.0, 7.0, 5.0, 1.0];
    let stack = Stack::new(1, vec![0.0; 4], counts.clone()).unwrap();
    let many = Many::<f64>::named("polynomial", stack).unwrap().size("degree", 0).unwrap();
    let fits = run(&many.poisson().unwrap().profile(0.95).unwrap());
    let sum: f64 = counts.iter().sum();
    let growth = |mean: f64| 2.0 * (4.0 * mean - sum - sum * (4.0 * mean / sum).ln());
    for end in fits.interval(0).unwrap()[0] {
        assert!((growth(end) - 3.841_458_8).abs() < 1e-4, "{end} {}", growth(end));
    }
}
