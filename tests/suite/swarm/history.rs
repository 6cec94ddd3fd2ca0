//! Samples and frames.

use flockwork::{
    backend::Number,
    objective::Rastrigin,
    swarm::{Neighbourhood, Options, Precision, Problem, Variable},
};

use super::{run, swarm, wavy_problem};

#[test]
fn samples_are_taken_when_asked_and_the_best_never_gets_worse() {
    let problem = wavy_problem(3);
    for every in [1, 7, 50, 1000] {
        let options =
            Options { particles: 40, iterations: 100, history: Some(every), ..Options::default() };
        let outcome = run(&problem, &options).unwrap();
        let expected: Vec<u32> = (0..=100).step_by(every as usize).collect();
        let found: Vec<u32> = outcome.history.iter().map(|s| s.iteration).collect();
        assert_eq!(found, expected);
        assert!(outcome.history.iter().all(|s| s.evaluations == 40 * (u64::from(s.iteration) + 1)));
        assert!(outcome.history.is_sorted_by(|a, b| a.best >= b.best));
        assert!(outcome.history.iter().all(|s| s.mean >= s.best));
        let last = outcome.history.last().unwrap();
        assert!(last.iteration < 100 || last.best == outcome.value);
        let silent = run(&problem, &Options { history: None, ..options }).unwrap();
        assert!(silent.history.is_empty());
        assert_eq!((silent.value, silent.position), (outcome.value, outcome.position));
    }
}

/// Compares a swarm's samples with sums over its snapshot.
fn agrees<T: Number>(problem: &Problem, options: &Options) {
    let mut swarm = swarm::<T>(problem, options);
    swarm.record_every(Some(3)).unwrap();
    swarm.start(None).unwrap();
    let dims = problem.lower().len();
    for look in [0, 3, 6, 30] {
        swarm.advance(look - swarm.iteration()).unwrap();
        let record = *swarm.take_records().unwrap().last().unwrap();
        assert_eq!(record.iteration, look);
        let again = swarm.survey().unwrap()[0];
        assert_eq!(record, again);
        assert!(swarm.take_records().unwrap().is_empty(), "a survey is not kept");
        let state = swarm.snapshot().unwrap();
        let all: Vec<f64> = state.best_fitness.iter().map(|f| f.to_f64()).collect();
        let finite = all.iter().filter(|f| f.is_finite());
        assert_eq!(record.sums.finite, finite.clone().count() as f64);
        assert_eq!(record.best, all.iter().copied().fold(f64::INFINITY, f64::min));
        let best = &state.bests[0].position;
        let (mut distance, mut speed) = (0.0, 0.0);
        for (index, (x, v)) in state.positions.iter().zip(&state.velocities).enumerate() {
            let d = index % dims;
            let integer = problem.variables()[d] == Variable::Integer;
            let range = problem.upper()[d] - problem.lower()[d] + f64::from(u8::from(integer));
            let mut apart = (x.to_f64() - best[d].to_f64()).abs();
            if problem.variables()[d] == Variable::Periodic {
                apart = apart.min(range - apart);
            }
            distance += (apart / range).powi(2);
            speed += (v.to_f64() / range).powi(2);
        }
        for (found, expected) in [
            (record.sums.fitness, finite.sum()),
            (record.sums.distance, distance),
            (record.sums.speed, speed),
        ] {
            let close = (found - expected).abs() <= 1e-5 * expected.abs().max(1e-9);
            assert!(close, "after {look}: {found} for {expected}");
        }
    }
}

#[test]
fn spread_velocity_and_mean_are_those_of_the_particles() {
    use Variable::{Continuous, Integer, Periodic};
    let usual = Problem::new(Rastrigin, 5).unwrap().shifted(3).unwrap();
    let half = Problem::from_fn(vec![-4.0; 3], vec![5.0; 3], |x| {
        if x[0] < 0.0 { f64::NAN } else { super::wavy(x) }
    });
    let mixed = wavy_problem(3).with_variables(vec![Periodic, Integer, Continuous]).unwrap();
    for problem in [usual, half.unwrap(), mixed] {
        for neighbourhood in [Neighbourhood::Global, Neighbourhood::Ring(1)] {
            let options =
                Options { particles: 77, neighbourhood: Some(neighbourhood), ..Options::default() };
            agrees::<f32>(&problem, &options);
            agrees::<f64>(&problem, &options);
        }
    }
}

#[test]
fn samples_of_a_run_are_those_of_its_swarm() {
    let problem = Problem::new(Rastrigin, 3).unwrap().shifted(3).unwrap();
    let options = Options {
        particles: 40,
        iterations: 12,
        history: Some(4),
        frames: Some(4),
        ..Options::default()
    };
    let outcome = run(&problem, &options).unwrap();
    assert_eq!(outcome.frames.iter().map(|f| f.iteration).collect::<Vec<_>>(), [0, 4, 8, 12]);
    let range = problem.upper()[0] - problem.lower()[0];
    for (sample, frame) in outcome.history.iter().zip(&outcome.frames) {
        assert_eq!(sample.best, frame.best);
        let apart = frame.positions.iter().enumerate().map(|(at, &x)| {
            let away = (f64::from(x) - frame.best_position[at % 3]) / range;
            away * away
        });
        let spread = (apart.sum::<f64>() / 120.0).sqrt();
        assert!((sample.spread / spread - 1.0).abs() < 1e-5, "{} {spread}", sample.spread);
        let moving = frame.velocities.iter().map(|&v| (f64::from(v) / range).powi(2));
        let velocity = (moving.sum::<f64>() / 120.0).sqrt();
        assert!((sample.velocity / velocity - 1.0).abs() < 1e-5);
    }
    let mut swarm = swarm::<f32>(&problem, &options);
    swarm.start(None).unwrap();
    for frame in &outcome.frames {
        swarm.advance(frame.iteration - swarm.iteration()).unwrap();
        let state = swarm.snapshot().unwrap();
        assert_eq!((&state.positions, &state.velocities), (&frame.positions, &frame.velocities));
    }
}

#[test]
fn samples_of_a_maximisation_have_the_functions_sign() {
    let problem = Problem::named("cubic", 2).unwrap();
    let options = Options {
        particles: 40,
        iterations: 50,
        history: Some(10),
        frames: Some(10),
        precision: Some(Precision::F64),
        ..Options::default()
    };
    let outcome = run(&problem, &options).unwrap();
    assert!(outcome.history.is_sorted_by(|a, b| a.best <= b.best));
    assert!(outcome.history.iter().all(|s| s.mean <= s.best));
    assert_eq!(outcome.history.last().unwrap().best, outcome.value);
    assert_eq!(outcome.frames.last().unwrap().best, outcome.value);
}
