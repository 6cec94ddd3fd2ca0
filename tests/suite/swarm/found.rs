//! What swarms find on the CPU, and what must never become a best.

use std::ops::ControlFlow;

use flockwork::{
    Error,
    backend::{Backend, Cpu, Number, Plan},
    math::{Real, Scalar},
    objective::{
        Ackley, Context, Data, Dimensions, Goal, Info, LennardJones, Objective, Optimum, Point,
        Rastrigin, Rosenbrock, Sphere,
    },
    swarm::{Options, Outcome, Precision, Problem, minimize},
};

fn search(problem: &Problem, options: &Options) -> Result<Outcome, Error> {
    minimize(problem, options, &Cpu::new(0).unwrap(), |_| ControlFlow::Continue(()))
}

/// Runs with seeds 1 to 4; each must come within `within` of the known minimum, in value and in
/// every coordinate.
#[track_caller]
fn solves<O: Objective>(
    objective: O,
    dims: u32,
    particles: u32,
    iterations: u32,
    within: [f64; 2],
) {
    for seed in 1..=4 {
        let problem = Problem::new(objective, dims).unwrap().shifted(seed).unwrap();
        let options = Options {
            particles,
            iterations,
            seed,
            precision: Some(Precision::F64),
            ..Options::default()
        };
        let outcome = search(&problem, &options).unwrap();
        let known = problem.optimum().unwrap();
        let [value, distance] = within;
        assert!(
            (0.0..=value).contains(&(outcome.value - known.value)),
            "{}, seed {seed}: {:e}",
            O::INFO.name,
            outcome.value
        );
        for (x, expected) in outcome.position.iter().zip(known.position.unwrap()) {
            assert!((x - expected).abs() <= distance, "{}: {x} for {expected}", O::INFO.name);
        }
    }
}

#[test]
fn the_sphere_in_30_dimensions() {
    solves(Sphere, 30, 512, 1500, [1e-6, 1e-3]);
}

#[test]
fn rastrigin_in_4_dimensions() {
    solves(Rastrigin, 4, 1024, 400, [1e-9, 1e-5]);
}

#[test]
fn ackley_in_10_dimensions() {
    solves(Ackley, 10, 1024, 600, [1e-9, 1e-8]);
}

#[test]
fn rosenbrock_in_4_dimensions() {
    solves(Rosenbrock, 4, 1024, 2500, [1e-9, 1e-4]);
}

/// The lowest energy found by swarms with seeds 1, 2, 3, ...; stops at the first that comes within
/// 1e-4 of the known one.
fn cluster(atoms: u32, particles: u32, iterations: u32, seeds: u64) -> (f64, f64) {
    let problem = Problem::new(LennardJones, 3 * atoms).unwrap();
    let known = problem.optimum().unwrap().value;
    // Large enough for these clusters; for a smaller box the minimum is not known in general.
    let problem =
        problem.with_bounds(vec![-1.8; 3 * atoms as usize], vec![1.8; 3 * atoms as usize]).unwrap();
    let mut lowest = f64::INFINITY;
    for seed in 1..=seeds {
        let options = Options {
            particles,
            iterations,
            seed,
            precision: Some(Precision::F64),
            ..Options::default()
        };
        let outcome = search(&problem, &options).unwrap();
        lowest = lowest.min(outcome.value);
        println!("{atoms} atoms, seed {seed}: {} of {known}", outcome.value);
        assert!(outcome.value > known - 1e-6, "below the lowest energy known: {}", outcome.value);
        if outcome.value < known + 1e-4 {
            break;
        }
    }
    (lowest, known)
}

#[test]
fn a_cluster_of_7_atoms() {
    let (lowest, known) = cluster(7, 2048, 1000, 4);
    assert!(lowest < known + 1e-4, "{lowest} for {known}");
}

/// The value of a test function where `x_0` is negative, and elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// NaN, and the sphere.
    HalfNan,
    /// NaN everywhere.
    AllNan,
    /// Infinity everywhere.
    AllInfinite,
    /// NaN and infinity.
    NanAndInfinite,
    /// 1 everywhere.
    Flat,
    /// 0 and -0: equal.
    Zeros,
}

macro_rules! test_function {
    ($type:ident, $kind:expr) => {
        #[derive(Clone, Copy, Default)]
        struct $type;

        impl Objective for $type {
            const INFO: Info = Info {
                name: "test_function",
                formula: "",
                source: "",
                interval: (-1.0, 1.0),
                dimensions: Dimensions::AtLeast(1),
                goal: Goal::Minimise,
                optimum: Optimum::Unknown,
                data: Data::None,
            };

            // The sum of squares, and whether anything was negative: the sign of its root.
            type Partial<T: Real> = T;

            fn terms<S: Scalar>(&self, _: &Context<S>) -> u32 {
                1
            }

            fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> T {
                let x = x.at(index);
                let (negative, elsewhere) = match $kind {
                    Kind::HalfNan => (T::of(f64::NAN), x * x),
                    Kind::AllNan => (T::of(f64::NAN), x - x + T::of(f64::NAN)),
                    Kind::AllInfinite => (T::of(f64::INFINITY), T::of(f64::INFINITY)),
                    Kind::NanAndInfinite => (T::of(f64::NAN), T::of(f64::INFINITY)),
                    Kind::Flat => (T::of(1.0), T::of(1.0)),
                    Kind::Zeros => (T::of(-0.0), T::of(0.0)),
                };
                T::select(x.less(T::of(0.0)), negative, elsewhere)
            }

            fn finish<T: Real>(&self, value: T, _: &Context<T::Scalar>) -> T {
                value
            }
        }
    };
}
test_function!(HalfNan, Kind::HalfNan);
test_function!(AllNan, Kind::AllNan);
test_function!(AllInfinite, Kind::AllInfinite);
test_function!(NanAndInfinite, Kind::NanAndInfinite);
test_function!(Flat, Kind::Flat);
test_function!(Zeros, Kind::Zeros);

#[test]
fn what_is_nan_never_becomes_a_best() {
    fn check<T: Number>() {
        let problem = Problem::new(HalfNan, 2).unwrap();
        let options = Options { particles: 333, seed: 3, ..Options::default() };
        let plan = Plan::<T>::new(&problem, &options).unwrap();
        let mut swarm = Cpu::new(0).unwrap().swarm(problem.function(), plan).unwrap();
        swarm.start(None).unwrap();
        for _ in 0..30 {
            let snapshot = swarm.snapshot().unwrap();
            assert!(snapshot.positions.iter().any(|x| x.to_f64() < 0.0), "NaN was met");
            let own = snapshot.best_fitness.iter().zip(snapshot.personal_bests.chunks_exact(2));
            for (fitness, position) in own {
                let fitness = fitness.to_f64();
                let x = position[0].to_f64();
                assert!(!fitness.is_nan());
                assert!(x >= 0.0 || fitness == f64::INFINITY, "{fitness} at {x}");
            }
            let best = &snapshot.bests[0];
            assert!(best.value.to_f64() <= 1.0 && best.position[0].to_f64() >= 0.0);
            let least =
                snapshot.best_fitness.iter().map(|f| f.to_f64()).fold(f64::INFINITY, f64::min);
            assert_eq!(best.value.to_f64(), least);
            swarm.advance(1).unwrap();
        }
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn a_run_without_any_finite_value_is_an_error() {
    fn check<O: Objective>(objective: O) {
        for precision in [Precision::F32, Precision::F64] {
            for particles in [1, 100] {
                let options = Options {
                    particles,
                    iterations: 9,
                    precision: Some(precision),
                    ..Options::default()
                };
                let result = search(&Problem::new(objective, 3).unwrap(), &options);
                let Err(Error::NoFiniteFitness { evaluations, .. }) = result else {
                    panic!("{result:?}");
                };
                assert_eq!(evaluations, u64::from(particles) * 10);
            }
        }
    }
    check(AllNan);
    check(AllInfinite);
    check(NanAndInfinite);
}

#[test]
fn of_equals_the_lower_index_is_the_best() {
    fn check<O: Objective, T: Number>(objective: O) {
        for (particles, threads) in [(1, 1), (1000, 1), (40_000, 4)] {
            let options = Options { particles, ..Options::default() };
            let problem = Problem::new(objective, 2).unwrap();
            let plan = Plan::<T>::new(&problem, &options).unwrap();
            let mut swarm = Cpu::new(threads).unwrap().swarm(problem.function(), plan).unwrap();
            swarm.start(None).unwrap();
            for _ in 0..3 {
                assert_eq!(swarm.best().unwrap().particle, 0, "of {particles}");
                swarm.advance(1).unwrap();
            }
            // Its own position, and of equals the first: nothing better has been found since the
            // start.
            let snapshot = swarm.snapshot().unwrap();
            assert_eq!(snapshot.bests[0].position, snapshot.personal_bests[..2]);
        }
    }
    check::<_, f32>(Flat);
    check::<_, f64>(Flat);
    check::<_, f32>(Zeros);
    check::<_, f64>(Zeros);
}
