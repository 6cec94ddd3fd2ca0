//! Boundary handling in whole runs, and kinds of variables.

use std::collections::BTreeSet;

use flockwork::{
    formula::Formula,
    swarm::{
        Edge, Neighbourhood, Options, Outcome, Precision, Preset, Problem, Rule, Sample, Search,
        Searches, Variable, minimize,
    },
};

use super::{cpu, run, swarm, watch};

/// A slope: the best is in a corner, so the swarm pushes against the boundary.
fn slope() -> Problem {
    Problem::from_fn(vec![-0.1; 3], vec![0.7; 3], |x| x.iter().sum()).unwrap()
}

#[test]
fn particles_stay_in_the_box_whatever_the_rule() {
    for &rule in Rule::ALL {
        for &edge in Edge::ALL {
            let options = Options {
                particles: 40,
                iterations: 60,
                edge,
                max_velocity: 2.0,
                frames: Some(1),
                ..Options::for_rule(rule)
            };
            let outcome = run(&slope(), &options).unwrap();
            assert_eq!(outcome.frames.len(), 61);
            let (lower, upper) = (-0.1_f32, 0.7_f32);
            let inside = |x: &f32| (lower..=upper).contains(x);
            let all = outcome.frames.iter().flat_map(|frame| &frame.positions).all(inside);
            let free = matches!(edge, Edge::None | Edge::Invisible);
            // Bare bones samples ever closer to where personal and neighbourhood best agree; it
            // need not leave the box.
            assert!(all != free || rule == Rule::BareBones, "{rule} {edge}: {all}");
            let found = outcome.position.iter().all(|&x| inside(&(x as f32)));
            assert!(found || edge == Edge::None, "{rule} {edge}");
            // Bare bones and comprehensive learning take longer to reach the corner.
            let quick = !matches!(rule, Rule::BareBones | Rule::Comprehensive);
            if quick && matches!(edge, Edge::Clamp | Edge::Absorb | Edge::Bounce) {
                let at_corner = outcome.position.iter().all(|x| (x + 0.1).abs() < 1e-6);
                assert!(at_corner, "{rule} {edge}: {:?}", outcome.position);
            }
        }
    }
}

#[test]
fn what_is_outside_and_invisible_never_becomes_a_best() {
    let options =
        Options { particles: 50, edge: Edge::Invisible, max_velocity: 1.0, ..Options::default() };
    let problem = slope();
    let mut swarm = swarm::<f64>(&problem, &options);
    swarm.start(None).unwrap();
    let mut outside = 0;
    for _ in 0..50 {
        swarm.advance(1).unwrap();
        let snapshot = swarm.snapshot().unwrap();
        let inside = |x: &f64| (-0.1..=0.7).contains(x);
        outside += snapshot.positions.iter().filter(|x| !inside(x)).count();
        assert!(snapshot.personal_bests.iter().all(inside));
        assert!(snapshot.bests[0].position.iter().all(inside));
    }
    assert!(outside > 100, "{outside}");
}

/// "Not evaluated outside" holds for closures too, which may be undefined there.
#[test]
fn an_invisible_particle_is_not_evaluated_outside() {
    let problem = Problem::from_fn(vec![-1.0; 2], vec![1.0; 2], |x| {
        assert!(x.iter().all(|x| (-1.0..=1.0).contains(x)), "asked for {x:?}");
        x.iter().sum()
    });
    let options = Options {
        particles: 70,
        iterations: 60,
        edge: Edge::Invisible,
        max_velocity: 1.0,
        ..Options::default()
    };
    let outcome = run(&problem.unwrap(), &options).unwrap();
    assert!(outcome.value < -1.9, "{}", outcome.value);
}

/// The minimum of the circle is at its seam, which particles approach from both sides.
#[test]
fn a_periodic_variable_is_found_at_its_seam() {
    for &rule in Rule::ALL {
        let problem = Problem::from_fn(vec![0.0; 2], vec![360.0; 2], |x| {
            x.iter().map(|x| 1.0 - (x - 359.9).to_radians().cos()).sum()
        })
        .unwrap()
        .with_variables(vec![Variable::Periodic; 2])
        .unwrap();
        let options = Options {
            particles: 40,
            iterations: 200,
            frames: Some(1),
            history: Some(100),
            ..Options::for_rule(rule)
        };
        let outcome = run(&problem, &options).unwrap();
        for x in &outcome.position {
            assert!((x - 359.9).abs() < 0.5 || x + 360.0 - 359.9 < 0.5, "{rule}: {x}");
        }
        let mut positions = outcome.frames.iter().flat_map(|frame| &frame.positions);
        assert!(positions.all(|x| (0.0..=360.0).contains(x)), "{rule}");
        // A swarm gathered on both sides of the seam is gathered.
        let last = outcome.history.last().unwrap();
        let within = if rule == Rule::Standard2011 { 0.1 } else { 0.01 };
        assert!(last.spread < within || rule == Rule::Comprehensive, "{rule}: {}", last.spread);
    }
}

#[test]
fn periodic_variables_attract_the_short_way() {
    // At rest, with its global best 20 before and thus 340 beyond it, it moves back over the seam.
    let problem = Problem::from_fn(vec![0.0], vec![360.0], |x| (x[0] - 350.0).abs()).unwrap();
    let problem = problem.with_variables(vec![Variable::Periodic]).unwrap();
    let options = Options { particles: 2, ..Options::default() };
    let mut swarm = swarm::<f64>(&problem, &options);
    swarm.start(Some(&[350.0, 10.0])).unwrap();
    let mut state = swarm.snapshot().unwrap();
    state.velocities.fill(0.0);
    swarm.restore(&state).unwrap();
    swarm.advance(1).unwrap();
    let after = swarm.snapshot().unwrap();
    let moved = after.velocities[1];
    assert!((-30.0..0.0).contains(&moved), "{moved}");
    assert_eq!(after.positions[0], 350.0);
}

#[test]
fn integer_variables_are_whole_and_every_value_is_reached_equally() {
    // At the start, ten thousand particles hit the seven values equally often, bounds included.
    let wrong = Problem::from_fn(vec![-3.0, 5.0], vec![3.0, 4.0], |x| x[0] * x[0]).unwrap_err();
    assert!(wrong.to_string().contains("dimension 1 has the bounds 5.0 to 4.0"), "{wrong}");
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = std::sync::Arc::clone(&seen);
    let problem = Problem::from_fn(vec![-3.0; 2], vec![3.0; 2], move |x| {
        kept.lock().unwrap().extend_from_slice(x);
        (x[0] - 2.0).abs() + (x[1] + 3.0).abs()
    })
    .unwrap()
    .with_variables(vec![Variable::Integer; 2])
    .unwrap();
    let options = Options { particles: 7000, iterations: 0, ..Options::default() };
    run(&problem, &options).unwrap();
    let counts: Vec<usize> = (-3..=3)
        .map(|k| seen.lock().unwrap().iter().filter(|&&x| x == f64::from(k)).count())
        .collect();
    assert_eq!(counts.iter().sum::<usize>(), 14_000, "all whole and within the bounds");
    assert!(counts.iter().all(|count| (1800..2200).contains(count)), "{counts:?}");
    for &edge in Edge::ALL {
        seen.lock().unwrap().clear();
        let options = Options { particles: 40, iterations: 40, edge, ..Options::default() };
        let outcome = run(&problem, &options).unwrap();
        assert_eq!((outcome.value, outcome.position), (0.0, vec![2.0, -3.0]), "{edge}");
        let seen: BTreeSet<i64> = seen.lock().unwrap().iter().map(|&x| x as i64).collect();
        assert_eq!(seen, (-3..=3).collect(), "{edge}");
    }
    // A single value is a constant.
    let fixed = problem.with_bounds(vec![-3.0, 2.0], vec![3.0, 2.0]).unwrap();
    let outcome = run(&fixed, &Options { particles: 20, iterations: 20, ..options }).unwrap();
    assert_eq!(outcome.position, [2.0, 2.0]);
}

/// A variable whose bounds are equal has this value, whatever moves the others.
#[test]
fn a_variable_without_a_range_is_given() {
    let (lower, upper) = (vec![-3.0, 0.3, -4.0], vec![3.0, 0.3, 5.0]);
    let bowl = |x: &[f64]| (x[0] - 1.0).powi(2) + (x[1] - 7.0).powi(2) + (x[2] + 2.0).powi(2);
    let problem = Problem::from_fn(lower.clone(), upper.clone(), bowl).unwrap();
    let found = |outcome: &Outcome, near: f64, what: &str| {
        let [x, given, z] = outcome.position[..] else { unreachable!() };
        assert!((x - 1.0).abs() < near && (z + 2.0).abs() < near, "{what}: {x} {z}");
        // In f32 it is the nearest number there.
        assert!(given == 0.3 || given == f64::from(0.3_f32), "{what}: {given}");
    };
    for &rule in Rule::ALL {
        for &edge in Edge::ALL {
            let options = Options {
                particles: 40,
                iterations: 200,
                edge,
                history: Some(50),
                ..Options::for_rule(rule)
            };
            let outcome = run(&problem, &options).unwrap();
            found(&outcome, 0.1, &format!("{rule} {edge}"));
            let known = |sample: &Sample| sample.spread.is_finite() && sample.velocity.is_finite();
            assert!(outcome.history.iter().all(known), "{rule} {edge}");
        }
    }
    let unlimited = Options { particles: 40, max_velocity: f64::INFINITY, ..Options::default() };
    found(&run(&problem, &unlimited).unwrap(), 1e-2, "no limit of velocity");
    for &preset in Preset::ALL {
        let mut options = Options::preset(preset);
        options.particles = options.particles.min(40);
        options.stop.evaluations = Some(20_000);
        found(&run(&problem, &options).unwrap(), 1e-2, preset.name());
    }
    let options = Options { precision: Some(Precision::F64), ..unlimited };
    let outcome = minimize(&problem, &options, &cpu(1), watch).unwrap();
    assert_eq!(outcome.position[1], 0.3);
    for lanes in [1, 3] {
        let searches = Searches { lanes: Some(lanes), ..Searches::default() };
        let search = Search::new(problem.clone()).searches(searches);
        let outcome = search.run_on(&cpu(1), watch).unwrap();
        found(&outcome, 1e-6, "searches");
        assert_eq!(outcome.position[1], 0.3);
    }
    // With a constraint, and the descents that follow: the nearest point of the half plane.
    let limit = Formula::parse("x[0] + x[1] + x[2] >= 0.3").unwrap();
    let outcome = Search::new(problem.subject_to(&limit).unwrap()).run_on(&cpu(1), watch).unwrap();
    let [x, given, z] = outcome.position[..] else { unreachable!() };
    assert!((x - 1.5).abs() < 1e-5 && given == 0.3 && (z + 1.5).abs() < 1e-5, "{x} {given} {z}");
    // All of them.
    let point = Problem::from_fn(vec![0.3; 2], vec![0.3; 2], |x| x[0] + x[1]).unwrap();
    let outcome = Search::new(point.clone()).run_on(&cpu(1), watch).unwrap();
    assert_eq!((outcome.value, outcome.position), (0.6, vec![0.3; 2]));
    // Not an angle, nor what only f32 takes for one number.
    assert!(point.with_variables(vec![Variable::Periodic; 2]).is_err());
    let narrow = Problem::from_fn(vec![1.0], vec![1.0 + 1e-12], |x| x[0]).unwrap();
    assert!(
        run(&narrow, &Options { precision: Some(Precision::F32), ..Options::default() }).is_err()
    );
}

#[test]
fn mixed_problems_find_a_known_optimum() {
    let optimum = [1.25, -7.0, 355.0, 12.0];
    for &rule in Rule::ALL {
        let problem = Problem::from_fn(
            vec![-10.0, -20.0, 0.0, 0.0],
            vec![10.0, 20.0, 360.0, 12.0],
            move |x| {
                let around = (x[2] - optimum[2]).to_radians();
                (x[0] - optimum[0]).powi(2)
                    + (x[1] - optimum[1]).powi(2)
                    + 10.0 * (1.0 - around.cos())
                    + (x[3] - optimum[3]).abs()
            },
        )
        .unwrap()
        .with_variables(vec![
            Variable::Continuous,
            Variable::Integer,
            Variable::Periodic,
            Variable::Integer,
        ])
        .unwrap();
        let mut options = Options { particles: 60, iterations: 300, ..Options::for_rule(rule) };
        if rule == Rule::BareBones {
            options.neighbourhood = Some(Neighbourhood::Ring(1));
        }
        let outcome = run(&problem, &options).unwrap();
        assert!(outcome.value < 0.01, "{rule}: {} at {:?}", outcome.value, outcome.position);
        assert_eq!((outcome.position[1], outcome.position[3]), (-7.0, 12.0), "{rule}");
    }
}
