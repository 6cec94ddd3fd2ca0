//! Functions that are evaluated elsewhere, or a generation at once: asked and told, borrowed, kept.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
    time::Duration,
};

use flockwork::{
    Error,
    formula::Formula,
    swarm::{
        AskTell, Checkpoint, Edge, Method, Mode, Options, Outcome, Points, Polish, Precision,
        Preset, Problem, Relation, Restart, Rule, Search, Searches, Start, StopReason, Variable,
    },
};
use rayon::prelude::*;

use super::{cpu, refused, watch};

fn wavy(x: &[f64]) -> f64 {
    x.iter().enumerate().map(|(d, x)| (x - 0.3 * d as f64).powi(2) + (3.0 * x).sin()).sum()
}

fn elsewhere(dims: usize) -> Problem {
    Problem::elsewhere(vec![-4.0; dims], vec![5.0; dims]).unwrap()
}

fn here(dims: usize) -> Problem {
    Problem::from_fn(vec![-4.0; dims], vec![5.0; dims], wavy).unwrap()
}

/// What must be the same, to the bit.
fn told(outcome: &Outcome) -> String {
    let Outcome { value, position, evaluations, restarts, stopped, agreement, .. } = outcome;
    format!("{value:?} {position:?} {evaluations} {restarts} {stopped:?} {agreement:?}")
}

/// Tells every value, the last first.
fn answered(mut search: AskTell, function: impl Fn(&[f64]) -> f64) -> flockwork::Result<Outcome> {
    while let Some(points) = search.ask() {
        let values: Vec<f64> = points.rows().map(&function).collect();
        for (index, value) in values.into_iter().enumerate().rev() {
            search.tell_at(index, value)?;
        }
    }
    search.outcome()
}

/// Every kind of search.
fn searches(problem: &Problem) -> Vec<(&'static str, Search)> {
    let search = || Search::new(problem.clone()).seed(5);
    let short = || search().particles(70).iterations(25);
    let restart = Restart { length: Some(10), ..Restart::default() };
    let lanes = Searches { lanes: Some(3), ..Searches::default() };
    vec![
        ("searches", search().evaluations(2500)),
        ("searches in lanes", search().searches(lanes).evaluations(2500)),
        ("a target", search().target(1.5).evaluations(5000)),
        ("one swarm", short()),
        ("f32", short().with(|o| o.precision = Some(Precision::F32))),
        ("a neighbourhood", short().rule(Rule::Standard2011)),
        ("learning", short().rule(Rule::Comprehensive)),
        ("invisible", short().edge(Edge::Invisible)),
        ("restarts", short().iterations(60).restart(restart)),
        ("polished", short().polish(Polish::new(Method::Covariance))),
        ("Sobol", short().start(Start::Sobol)),
        ("thorough", search().options(Options::preset(Preset::Thorough)).evaluations(6000)),
    ]
}

/// However a function is evaluated, a search takes the same steps.
#[test]
fn however_it_is_evaluated_a_search_is_the_same() {
    use Variable::{Continuous, Integer, Periodic};
    let stated = |problem: Problem, kind: &str| match kind {
        "mixed" => problem.maximised().with_variables(vec![Continuous, Integer, Periodic]).unwrap(),
        "constrained" => problem
            .subject_to(&"x[0] + x[1] >= 0.5".parse().unwrap())
            .unwrap()
            .subject_to_fn(&[("ball", Relation::AtMost)], |x, values| {
                values[0] = x.iter().map(|x| x * x).sum::<f64>() - 9.0;
            })
            .unwrap(),
        _ => problem,
    };
    for kind in ["plain", "mixed", "constrained"] {
        let (far, near) = (stated(elsewhere(3), kind), stated(here(3), kind));
        for ((what, asked), (_, run)) in searches(&far).into_iter().zip(searches(&near)) {
            let wanted = run.clone().run_on(&cpu(1), watch);
            let Ok(wanted) = wanted else {
                // A polish may not suit whole numbers, wherever the function is.
                refused(answered(AskTell::new(asked).unwrap(), wavy));
                continue;
            };
            let wanted = told(&wanted);
            let whole = |points: &Points, values: &mut [f64]| {
                points.rows().zip(values).for_each(|(x, value)| *value = wavy(x));
            };
            let borrowed = asked.clone().run_with(whole).unwrap();
            assert_eq!(told(&borrowed), wanted, "{what}, borrowed");
            let asked = answered(AskTell::new(asked).unwrap(), wavy).unwrap();
            assert_eq!(told(&asked), wanted, "{what}, asked and told");
            let kept = Problem::from_batch(vec![-4.0; 3], vec![5.0; 3], whole).unwrap();
            let (_, kept) = searches(&stated(kept, kind))
                .into_iter()
                .find(|(other, _)| *other == what)
                .expect("the same list");
            let kept = kept.run_on(&cpu(2), watch).unwrap();
            assert_eq!(told(&kept), wanted, "{what}, kept");
        }
    }
}

/// All particles of a swarm in one call; all points of a generation.
#[test]
fn a_call_has_all_points_of_a_generation() {
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&sizes);
    let problem = Problem::from_batch(vec![-1.0; 2], vec![1.0; 2], move |points, values| {
        noted.lock().unwrap().push(points.len());
        points.rows().zip(values).for_each(|(x, value)| *value = x[0] * x[0] + x[1].abs());
    })
    .unwrap();
    let swarm = Search::new(problem.clone()).particles(1000).iterations(9);
    swarm.run_on(&cpu(2), watch).unwrap();
    // What was found is evaluated once more, alone.
    let of_swarm = std::mem::take(&mut *sizes.lock().unwrap());
    assert_eq!(of_swarm.iter().filter(|&&size| size == 1000).count(), 10, "{of_swarm:?}");
    // With constraints, all that satisfy them: of a box's points about half, of a swarm's more and more.
    let half = problem.clone().subject_to(&"x[0] >= 0".parse().unwrap()).unwrap();
    Search::new(half).particles(1000).iterations(9).run_on(&cpu(2), watch).unwrap();
    let of_half = std::mem::take(&mut *sizes.lock().unwrap());
    assert!(of_half.iter().filter(|&&size| size > 300).count() >= 10, "{of_half:?}");
    let outcome = Search::new(problem).evaluations(3000).run().unwrap();
    let of_search = std::mem::take(&mut *sizes.lock().unwrap());
    assert!(of_search.iter().sum::<usize>() as u64 >= outcome.evaluations);
    assert!(of_search.iter().filter(|&&size| size > 4).count() > 50, "{of_search:?}");
}

#[test]
fn an_error_ends_the_run_and_comes_out_unchanged() {
    #[derive(Debug, PartialEq)]
    struct Broken(u32);
    impl std::fmt::Display for Broken {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "the simulator broke at call {}", self.0)
        }
    }
    impl std::error::Error for Broken {}

    let fails_at = |most: u32| {
        let mut calls = 0;
        move |points: &Points, values: &mut [f64]| {
            calls += 1;
            points.rows().zip(values).for_each(|(x, value)| *value = wavy(x));
            if calls < most { Ok(()) } else { Err(Broken(calls)) }
        }
    };
    let comes_out = |error: Error, calls: u32| {
        assert_eq!(error.to_string(), format!("the simulator broke at call {calls}"));
        let Error::Function(failure) = error else { panic!("{error}") };
        assert_eq!(*failure.downcast::<Broken>().unwrap(), Broken(calls));
    };
    for calls in [1, 2, 5] {
        // A target may be met before.
        for (what, search) in searches(&elsewhere(3)) {
            if what != "a target" {
                comes_out(search.run_with(fails_at(calls)).unwrap_err(), calls);
            }
        }
        let kept =
            |calls| Problem::from_batch(vec![-4.0; 3], vec![5.0; 3], fails_at(calls)).unwrap();
        for nth in 0..searches(&elsewhere(3)).len() {
            let (what, search) = searches(&kept(calls)).swap_remove(nth);
            if what == "a target" {
                continue;
            }
            comes_out(search.run_on(&cpu(2), watch).unwrap_err(), calls);
        }
        let asynchronous = Search::new(kept(calls)).particles(300).iterations(500);
        let asynchronous = asynchronous.mode(Mode::Asynchronous).run_on(&cpu(2), watch);
        comes_out(asynchronous.unwrap_err(), calls);
    }
}

/// A closure may use threads of its own, also those that call it; what panics ends the run alone.
#[test]
fn closures_may_use_threads_and_may_panic() {
    let shared = |points: &Points, values: &mut [f64]| {
        let rows: Vec<&[f64]> = points.rows().collect();
        rows.par_iter().zip(values.par_iter_mut()).for_each(|(x, value)| *value = wavy(x));
    };
    for nth in 0..searches(&elsewhere(3)).len() {
        let kept = Problem::from_batch(vec![-4.0; 3], vec![5.0; 3], shared).unwrap();
        let (what, search) = searches(&kept).swap_remove(nth);
        let wanted = searches(&here(3)).swap_remove(nth).1.run_on(&cpu(1), watch).unwrap();
        assert_eq!(told(&search.run_on(&cpu(4), watch).unwrap()), told(&wanted), "{what}");
    }
    // Where tiles or blocks are evaluated one by one, too.
    let constraint = Formula::parse("x[0] >= x[1]").unwrap();
    for _ in 0..20 {
        let kept = Problem::from_batch(vec![-4.0; 3], vec![5.0; 3], shared).unwrap();
        let asynchronous = Search::new(kept.clone()).particles(700).iterations(20);
        asynchronous.mode(Mode::Asynchronous).run_on(&cpu(4), watch).unwrap();
        let constrained = Search::new(kept.subject_to(&constraint).unwrap());
        constrained.particles(700).iterations(10).run_on(&cpu(4), watch).unwrap();
    }
    for calls in [0, 3] {
        let mut left = calls;
        let panics = move |points: &Points, values: &mut [f64]| {
            assert!(left > 0, "as intended");
            left -= 1;
            points.rows().zip(values).for_each(|(x, value)| *value = wavy(x));
        };
        let search = Search::new(elsewhere(3)).particles(100).iterations(20);
        catch_unwind(AssertUnwindSafe(|| search.run_with(panics))).unwrap_err();
        let kept = Problem::from_batch(vec![-4.0; 3], vec![5.0; 3], panics).unwrap();
        let search = Search::new(kept).particles(100).iterations(20);
        catch_unwind(AssertUnwindSafe(|| search.run_on(&cpu(2), watch))).unwrap_err();
    }
}

#[test]
fn a_search_that_is_not_over_ends_when_it_is_left() {
    let begun = |answers: u32| {
        let mut search =
            AskTell::new(Search::new(elsewhere(2)).particles(50).iterations(1000)).unwrap();
        for _ in 0..answers {
            let values: Vec<f64> = search.ask().unwrap().rows().map(wavy).collect();
            search.tell(&values).unwrap();
        }
        search
    };
    assert!(matches!(begun(0).outcome(), Err(Error::Interrupted)));
    let mut search = begun(7);
    let best = search.best().map(|(value, point)| (value, point.to_vec())).unwrap();
    search.ask();
    let outcome = search.outcome().unwrap();
    assert_eq!(outcome.stopped, StopReason::Interrupted);
    assert_eq!((outcome.value, outcome.position), best);
    // Nobody waits for values for ever.
    drop(begun(0));
    drop(begun(3));
    let mut asked = begun(1);
    asked.ask();
    drop(asked);
}

#[test]
fn a_wrong_number_of_values_is_refused_and_harmless() {
    let mut search = AskTell::new(Search::new(elsewhere(2)).particles(10).iterations(50)).unwrap();
    assert_eq!(search.best(), None);
    for message in [refused(search.tell(&[1.0; 10])), refused(search.tell_at(0, 1.0))] {
        assert!(message.contains("before any points were asked for"), "{message}");
    }
    let asked = search.ask().unwrap().as_slice().to_vec();
    assert_eq!(asked, search.ask().unwrap().as_slice(), "the same until they are told");
    for count in [0, 9, 11] {
        let message = refused(search.tell(&vec![1.0; count]));
        assert!(message.contains(&format!("has {count} entries")), "{message}");
    }
    let message = refused(search.tell_at(10, 1.0));
    assert!(message.contains("below 10"), "{message}");
    // A second value replaces the first, until all are told.
    search.tell_at(4, -1e9).unwrap();
    search.tell_at(4, f64::NAN).unwrap();
    assert_eq!(asked, search.ask().unwrap().as_slice());
    let mut values = vec![f64::NAN; 10];
    search.tell(&values).unwrap();
    refused(search.tell(&values));
    assert_ne!(asked, search.ask().unwrap().as_slice());
    values[3] = -2e9;
    let fourth = search.ask().unwrap().row(3).to_vec();
    search.tell(&values).unwrap();
    assert_eq!(search.best(), Some((-2e9, &*fourth)));
}

/// With what is wrong about the values, as any run says it.
#[test]
fn what_is_wrong_comes_out_as_in_any_run() {
    let search = || Search::new(elsewhere(2)).particles(10).iterations(3);
    let nowhere = refused(answered(AskTell::new(search()).unwrap(), |_| f64::NAN));
    assert!(nowhere.contains("no finite value"), "{nowhere}");
    let endless = refused(answered(AskTell::new(search()).unwrap(), |_| f64::NEG_INFINITY));
    assert!(endless.contains("-inf"), "{endless}");
    let wrong = AskTell::new(search().with(|o| o.particles = 0)).unwrap();
    let wrong = refused(answered(wrong, wavy));
    assert!(wrong.contains("particles is 0"), "{wrong}");
}

#[test]
fn constraints_hold_for_what_is_told() {
    let constraint = Formula::parse("x[0] + x[1] >= 1").unwrap();
    let search = |problem: Problem| {
        let problem = problem.subject_to(&constraint).unwrap();
        Search::new(problem).seed(2).evaluations(3000)
    };
    let bowl = |x: &[f64]| x[0] * x[0] + 2.0 * x[1] * x[1];
    let outcome = answered(AskTell::new(search(elsewhere(2))).unwrap(), bowl).unwrap();
    assert!((outcome.value - 2.0 / 3.0).abs() < 1e-6, "{outcome:?}");
    assert!(outcome.is_feasible());

    // An error in the descents that end the run comes out, too: they alone look at points outside.
    let fails_outside = move |points: &Points, values: &mut [f64]| {
        points.rows().zip(values).for_each(|(x, value)| *value = bowl(x));
        if points.rows().all(|x| x[0] + x[1] > 0.9) { Ok(()) } else { Err("outside") }
    };
    let kept = Problem::from_batch(vec![-4.0; 2], vec![5.0; 2], fails_outside).unwrap();
    assert_eq!(refused(search(kept).run()), "outside");
}

#[test]
fn a_saved_search_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    for (nth, (what, search)) in searches(&elsewhere(3)).into_iter().enumerate() {
        let whole = answered(AskTell::new(search.clone()).unwrap(), wavy).unwrap();
        let path = folder.path().join(nth.to_string());
        let mut first = AskTell::new(search.save(&path, Duration::ZERO)).unwrap();
        for _ in 0..9 {
            let Some(points) = first.ask() else { break };
            let values: Vec<f64> = points.rows().map(wavy).collect();
            first.tell(&values).unwrap();
        }
        // In the middle of a generation.
        if first.ask().is_some() {
            first.tell_at(0, 1.0).unwrap();
        }
        drop(first);
        let saved = Checkpoint::read(&path).unwrap();
        let rest = AskTell::resume(&saved, &elsewhere(3), None).unwrap();
        assert_eq!(told(&answered(rest, wavy).unwrap()), told(&whole), "{what}");
    }
}

/// A closure that asks to be ended when it has been called so often, wherever that is.
#[test]
fn a_closure_that_ends_its_run_leaves_nothing_half_done() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let problem = |most: usize| {
        let mut calls = 0;
        let call = move |points: &Points, values: &mut [f64]| {
            calls += 1;
            if calls > most {
                // One of them is there, and better than any is.
                values[0] = -1e9;
                return Err(Error::Interrupted);
            }
            values.iter_mut().zip(points.rows()).for_each(|(value, x)| *value = wavy(x));
            Ok(())
        };
        let problem = Problem::from_batch(vec![-4.0; 3], vec![5.0; 3], call).unwrap();
        problem.called("wavy")
    };
    for nth in 0..searches(&elsewhere(3)).len() {
        let search = |most: usize| searches(&problem(most)).swap_remove(nth);
        let (name, whole) = search(usize::MAX);
        let whole = whole.run().unwrap();
        for most in [1, 2, 7] {
            match search(most).1.run() {
                Ok(part) => assert!(part.value > -1e8, "{name}: {}", part.value),
                Err(error) => assert!(matches!(error, Error::Interrupted), "{name}: {error}"),
            }
            match search(most).1.save(&path, Duration::ZERO).run() {
                Ok(part) if part.stopped != StopReason::Interrupted => continue,
                Ok(_) | Err(Error::Interrupted) => {}
                Err(error) => panic!("{name}: {error}"),
            }
            let checkpoint = Checkpoint::read(&path).unwrap();
            let rest = checkpoint.resume(&problem(usize::MAX), &cpu(1), None, |_| {}).unwrap();
            assert_eq!(told(&rest), told(&whole), "{name}, ended after {most} calls");
        }
    }
}

#[cfg(all(feature = "ndarray", feature = "nalgebra"))]
#[test]
fn points_are_matrices() {
    let numbers: Vec<f64> = (0..12).map(f64::from).collect();
    let points = Points::new(&numbers, 3);
    let (rows, columns) = (points.ndarray(), points.nalgebra());
    assert_eq!((rows.dim(), columns.shape()), ((4, 3), (3, 4)));
    for (nth, x) in points.rows().enumerate() {
        assert_eq!(rows.row(nth).as_slice(), Some(x));
        assert_eq!(columns.column(nth).as_slice(), x);
    }
    // A quadratic form of all points by one product of matrices.
    let form = ndarray::arr2(&[[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 3.0]]);
    let quadratic = move |points: &Points, values: &mut [f64]| {
        let x = points.ndarray();
        let products = &x.dot(&form) * &x;
        products.rows().into_iter().zip(values).for_each(|(row, value)| *value = row.sum());
    };
    let outcome = Search::new(elsewhere(3)).run_with(quadratic).unwrap();
    assert!(outcome.value < 1e-9, "{outcome:?}");
}

/// Interpreters and graphics libraries want their own thread.
#[test]
fn a_closure_for_whole_generations_is_called_in_the_callers_thread() {
    let caller = std::thread::current().id();
    let strays = Arc::new(Mutex::new(0));
    let noted = Arc::clone(&strays);
    let whole = move |points: &Points, values: &mut [f64]| {
        if std::thread::current().id() != caller {
            *noted.lock().unwrap() += 1;
        }
        for (x, value) in points.rows().zip(values) {
            *value = wavy(x);
        }
    };
    let problem = Problem::from_batch(vec![-4.0; 3], vec![5.0; 3], whole).unwrap();
    for search in [
        Search::new(problem.clone()).evaluations(5000),
        Search::new(problem.clone())
            .searches(Searches { lanes: Some(3), agreeing: None })
            .evaluations(9000),
        Search::new(problem).particles(700).iterations(20),
    ] {
        search.run_on(&cpu(2), |_| {}).unwrap();
    }
    assert_eq!(*strays.lock().unwrap(), 0);
}

#[test]
fn a_search_that_is_ended_early_has_the_best_that_it_was_told() {
    for (search, is_maximised) in [
        (Search::new(elsewhere(40)), false),
        (Search::new(elsewhere(3)).particles(64), false),
        (Search::new(elsewhere(3).maximised()), true),
    ] {
        for generations in [0, 1, 3] {
            let mut asked = AskTell::new(search.clone()).unwrap();
            let mut best = f64::NAN;
            for generation in 0..=generations {
                let points: Vec<Vec<f64>> =
                    asked.ask().unwrap().rows().map(<[f64]>::to_vec).collect();
                // Of the last generation only one.
                let count = if generation == generations { 1 } else { points.len() };
                for (index, x) in points.iter().take(count).enumerate() {
                    let value = wavy(x);
                    best = if is_maximised { best.max(value) } else { best.min(value) };
                    asked.tell_at(index, value).unwrap();
                }
            }
            let outcome = asked.outcome().unwrap();
            assert_eq!(outcome.value, best, "{generations}");
            assert_eq!(wavy(&outcome.position), best);
            assert_eq!(outcome.stopped, StopReason::Interrupted);
        }
    }
    assert!(matches!(
        AskTell::new(Search::new(elsewhere(2))).unwrap().outcome(),
        Err(Error::Interrupted)
    ));
}

/// An equality begins wide, so values are asked for that count for nothing in the end.
#[test]
fn what_violates_a_constraint_is_no_result_of_a_search_that_is_ended_early() {
    let formula = Formula::parse("x[0] + x[1] == 1").unwrap();
    for particles in [None, Some(64)] {
        let problem = elsewhere(2).subject_to(&formula).unwrap();
        let search = Search::new(problem);
        let search = match particles {
            Some(particles) => search.particles(particles),
            None => search,
        };
        let mut asked = AskTell::new(search).unwrap();
        for _ in 0..3 {
            let values: Vec<f64> = asked.ask().unwrap().rows().map(wavy).collect();
            asked.tell(&values).unwrap();
        }
        let best = asked.best().map(|(_, x)| x[0] + x[1] - 1.0);
        assert!(best.is_none_or(|side| side.abs() <= 1e-4), "{best:?}");
        match asked.outcome() {
            Ok(outcome) => assert!(outcome.is_feasible() || outcome.value.is_nan(), "{outcome:?}"),
            Err(why) => assert!(matches!(why, Error::Interrupted), "{why}"),
        }
    }
}
