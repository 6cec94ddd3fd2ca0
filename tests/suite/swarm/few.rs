//! Defaults for swarms of few particles.

use std::{ops::ControlFlow, time::Duration};

use flockwork::{
    objective::Rastrigin,
    swarm::{
        Checkpoint, Coefficients, Mode, Neighbourhood, Options, Preset, Problem, Randomness,
        Restart, Rule, Search, Variation, minimize_many,
    },
};

use super::{assert_same, cpu, run, watch};

type Choices = (Option<Coefficients>, Option<Randomness>, Option<Neighbourhood>);

fn choices(options: &Options) -> Choices {
    (options.coefficients, options.randomness, options.neighbourhood)
}

const MANY: Choices =
    (Some(Coefficients::CONSTRICTION), Some(Randomness::PerDimension), Some(Neighbourhood::Global));
const FEW: Choices = (
    Some(Coefficients::CONSTRICTION),
    Some(Randomness::PerParticle),
    Some(Neighbourhood::Random(2)),
);
const VERY_FEW: Choices =
    (Some(Coefficients::STANDARD), Some(Randomness::PerDimension), Some(Neighbourhood::Random(2)));

fn of(particles: u32) -> Options {
    Options { particles, ..Options::default() }
}

#[test]
fn the_number_of_particles_decides_what_is_left_to_the_run() {
    for (particles, dims, expected) in [
        (40, 5, FEW),
        (40, 6, FEW),
        (40, 7, VERY_FEW),
        (40, 20, VERY_FEW),
        (1, 1, FEW),
        (1, 2, VERY_FEW),
        (127, 11, FEW),
        (127, 12, VERY_FEW),
        (127, u32::MAX, VERY_FEW),
        (128, 1, MANY),
        (128, 1000, MANY),
        (65_536, 32, MANY),
    ] {
        let settled = of(particles).settled(dims);
        assert_eq!(choices(&settled), expected, "{particles} particles in {dims} dimensions");
        // Nothing else changes, and nothing is left undecided.
        let (coefficients, randomness, neighbourhood) = expected;
        let all = Options { coefficients, randomness, neighbourhood, ..of(particles) };
        assert_eq!(settled, all);
        assert_eq!(settled.settled(7), settled);
    }
}

#[test]
fn what_was_chosen_holds() {
    let ring = Options { neighbourhood: Some(Neighbourhood::Ring(1)), ..of(40) };
    assert_eq!(choices(&ring.settled(5)), (FEW.0, FEW.1, Some(Neighbourhood::Ring(1))));
    let global = Options { neighbourhood: Some(Neighbourhood::Global), ..of(40) };
    assert_eq!(choices(&global.settled(20)), (VERY_FEW.0, VERY_FEW.1, MANY.2));
    let randomness = Options { randomness: Some(Randomness::PerDimension), ..of(40) };
    assert_eq!(choices(&randomness.settled(5)), (FEW.0, MANY.1, FEW.2));
    let slow = Coefficients { inertia: 0.6, last_inertia: 0.6, ..Coefficients::CONSTRICTION };
    let coefficients = Options { coefficients: Some(slow), ..of(40) };
    assert_eq!(choices(&coefficients.settled(20)), (Some(slow), VERY_FEW.1, VERY_FEW.2));
    // A rule or a preset by name decides everything.
    for &rule in Rule::ALL {
        let published = Options { particles: 40, ..Options::for_rule(rule) };
        assert_eq!(published.settled(5), published, "{rule}");
        assert_eq!(published.settled(20), published, "{rule}");
    }
    for &preset in Preset::ALL {
        let options = Options::preset(preset);
        assert_eq!(options.settled(3) == options, preset != Preset::Default, "{preset}");
    }
    assert_eq!(choices(&Options::for_rule(Rule::Inertia)), MANY);
    // Other rules, and asynchronous swarms, have the defaults of many particles.
    let bare = Options { rule: Rule::BareBones, ..of(40) };
    assert_eq!(choices(&bare.settled(5)), MANY);
    let asynchronous = Options { mode: Mode::Asynchronous, ..of(40) };
    assert_eq!(choices(&asynchronous.settled(5)), MANY);
}

fn ripples(dims: u32) -> Problem {
    Problem::new(Rastrigin, dims).unwrap().shifted(3).unwrap()
}

/// However it is run, it is as if the choices had been spelled out.
#[test]
fn every_way_to_run_takes_the_same() {
    for (dims, expected) in [(4, FEW), (9, VERY_FEW)] {
        let problem = ripples(dims);
        let left = Options { iterations: 60, ..of(40) };
        let (coefficients, randomness, neighbourhood) = expected;
        let written = Options { coefficients, randomness, neighbourhood, ..left.clone() };
        let outcome = run(&problem, &written).unwrap();
        assert_same(&run(&problem, &left).unwrap(), &outcome, "minimize");
        let search = Search::new(problem.clone()).particles(40).iterations(60);
        assert_same(&search.run_on(&cpu(1), watch).unwrap(), &outcome, "a search");
        let one = Variation { seed: left.seed, coefficients: None };
        let many = minimize_many(&problem, &left, &[one], &cpu(1)).unwrap();
        assert_same(&many[0], &outcome, "one of many");
        let elsewhere = Problem::elsewhere(vec![-5.0; dims as usize], vec![5.0; dims as usize]);
        let elsewhere = elsewhere.unwrap();
        let asked = [&left, &written].map(|options| {
            let search = Search::new(elsewhere.clone()).options(options.clone());
            search.run_with(|points, values| {
                points.rows().zip(values).for_each(|(x, value)| *value = x.iter().sum());
            })
        });
        let [one, other] = asked.map(|outcome| outcome.unwrap());
        assert_same(&one, &other, "asked and told");
    }
}

/// With many particles a run is as the rule was published, to the bit.
#[test]
fn large_swarms_are_the_usual_ones() {
    let short = |options| Options { iterations: 30, ..options };
    let published = Options { particles: 1024, ..Options::for_rule(Rule::Inertia) };
    let outcome = run(&ripples(4), &short(published)).unwrap();
    assert_same(&run(&ripples(4), &short(Options::default())).unwrap(), &outcome, "the default");
}

/// A file stores the choices, and a restart with more particles keeps them.
#[test]
fn a_saved_run_goes_on_with_what_was_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.flockwork");
    let length = Some(60);
    let restart = Restart { length, growth: 2.0, most_particles: 300, ..Restart::default() };
    let search = Search::new(ripples(4)).particles(40).iterations(600).restart(restart);
    let whole = search.clone().run_on(&cpu(1), watch).unwrap();
    assert!(whole.restarts > 2, "{}", whole.restarts);
    let halted = |p: &flockwork::swarm::Progress| match p.iteration {
        0..200 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    search.save(&path, Duration::from_secs(60)).run_on(&cpu(1), halted).unwrap();
    let saved = Checkpoint::read(&path).unwrap();
    assert_eq!(choices(saved.options()), FEW);
    let rest = saved.resume(&saved.problem().unwrap(), &cpu(2), None, watch).unwrap();
    assert_eq!((rest.position, rest.value), (whole.position, whole.value));
    assert_eq!((rest.restarts, rest.evaluations), (whole.restarts, whole.evaluations));
}
