//! A swarm's iterations with its particles on the chip and in device memory give the same bits,
//! also when alternating. In the emulator; on a real GPU in `tests/gpu`.

use flockwork::{
    backend::{Backend, Cooperation, Cpu, Emulated, Number, Plan, Snapshot, Strategy},
    objective::{Objective, Rastrigin, Sphere},
    swarm::{Neighbourhood, Options, Problem, Rule},
};

use crate::common::{Machine, problem};

/// The state after advances of these numbers of iterations.
fn after<O: Objective>(
    objective: O,
    problem: &Problem,
    particles: u32,
    strategy: Option<Strategy>,
    advances: &[u32],
) -> (Snapshot<f32>, Strategy) {
    let options = Options { particles, ..Options::for_rule(Rule::Inertia) };
    let plan = Plan::<f32>::new(problem, &options).unwrap();
    let emulated = Emulated::new(5, 32).with_strategy(strategy);
    let mut swarm = Machine::swarm(&emulated, objective, problem, plan).unwrap();
    swarm.start(None).unwrap();
    for &iterations in advances {
        swarm.advance(iterations).unwrap();
    }
    (swarm.snapshot().unwrap(), swarm.strategy())
}

#[test]
fn strategies_in_turn_give_the_same_bits() {
    let problem = problem("rastrigin", 6);
    let after = |strategy, advances| after(Rastrigin, &problem, 140, Some(strategy), advances);
    let (streaming, taken) = after(Strategy::Streaming, &[60]);
    assert_eq!(taken, Strategy::Streaming);
    // Few iterations at a time are launches of their own, many are one launch.
    for advances in [&[60][..], &[1, 2, 57], &[20, 1, 1, 30, 3, 5]] {
        let (resident, taken) = after(Strategy::Resident, advances);
        assert_eq!(taken, Strategy::Resident);
        assert!(resident == streaming, "in advances of {advances:?}");
    }
}

/// Iterations in whatever way suits their number, interleaved with operations that need another
/// data layout: points from outside, a better point, snapshots and a start from one.
fn asked_in_between<T: Number>(
    machine: &impl Machine,
    dims: u32,
    particles: u32,
) -> ([Snapshot<T>; 3], Strategy) {
    let problem = problem("rastrigin", dims);
    let options = Options { particles, ..Options::for_rule(Rule::Inertia) };
    let plan = Plan::<T>::new(&problem, &options).unwrap();
    let mut swarm = machine.swarm_of("rastrigin", &problem, plan).unwrap();
    let points: Vec<T> =
        (0..particles * dims).map(|n| T::nearest(f64::from(n % 5) - 2.0)).collect();
    swarm.start(Some(&points)).unwrap();
    swarm.advance(3).unwrap();
    let first = swarm.snapshot().unwrap();
    swarm.advance(2).unwrap();
    swarm.implant(0, &points[..dims as usize], T::ZERO).unwrap();
    swarm.advance(7).unwrap();
    assert_eq!(swarm.evaluate(&points).unwrap().len(), particles as usize);
    swarm.advance(1).unwrap();
    let second = swarm.snapshot().unwrap();
    swarm.restore(&first).unwrap();
    swarm.advance(2).unwrap();
    swarm.advance(5).unwrap();
    let mut all = [first, second, swarm.snapshot().unwrap()];
    for one in &mut all {
        // Ages, which this rule does not use.
        one.stale.clear();
    }
    (all, swarm.strategy())
}

#[test]
fn whoever_asks_between_iterations_finds_what_the_cpu_has() {
    fn check<T: Number>() {
        for (dims, particles) in
            [(1, 130), (4, 100), (6, 200), (8, 129), (11, 64), (33, 70), (45, 77), (64, 64)]
        {
            let (there, _) = asked_in_between::<T>(&Cpu::new(1).unwrap(), dims, particles);
            for strategy in [Some(Strategy::Streaming), None] {
                let emulated = Emulated::new(u64::from(dims), 64).with_strategy(strategy);
                let (here, _) = asked_in_between::<T>(&emulated, dims, particles);
                assert!(here == there, "{dims} dimensions, {strategy:?}");
            }
        }
    }
    check::<f32>();
    check::<f64>();
}

/// Two of a block's four chunks on the chip, the others in device memory.
#[test]
fn tiers_give_the_same_bits_whoever_asks() {
    fn check<T: Number>() {
        for dims in [1, 4, 6, 11, 33] {
            let chunk = 32 * (3 * dims + 1) * size_of::<T>() as u32;
            let (there, _) = asked_in_between::<T>(&Cpu::new(1).unwrap(), dims, 333);
            for threads in [32, 64, 96] {
                let emulated = Emulated::new(u64::from(dims), threads);
                let emulated = emulated.with_shared_memory((2 * chunk + 600) / 6 * 7);
                let emulated = emulated.with_strategy(Strategy::Tiered);
                let (here, taken) = asked_in_between::<T>(&emulated, dims, 333);
                assert_eq!(taken, Strategy::Tiered);
                assert!(here == there, "{dims} dimensions, {threads} threads");
            }
        }
    }
    check::<f32>();
    check::<f64>();
}

/// The first particle then stays the best.
#[test]
fn strategies_agree_where_every_value_is_infinite() {
    for dims in 1..=5 {
        let (lower, upper) = (vec![1e25; dims as usize], vec![1e26; dims as usize]);
        let problem = Problem::new(Sphere, dims).unwrap().with_bounds(lower, upper).unwrap();
        let after = |strategy| after(Sphere, &problem, 300, Some(strategy), &[5]);
        let (resident, taken) = after(Strategy::Resident);
        assert_eq!(taken, Strategy::Resident);
        assert_eq!((resident.bests[0].particle, resident.bests[0].value), (0, f32::INFINITY));
        assert!(resident == after(Strategy::Streaming).0, "{dims} dimensions");
    }
}

fn refused(dims: u32, options: &Options, machine: Emulated) -> String {
    let problem = Problem::new(Sphere, dims).unwrap();
    let plan = Plan::<f64>::new(&problem, options).unwrap();
    match machine.with(Sphere).swarm(problem.function(), plan) {
        Ok(_) => panic!("{dims} dimensions were taken"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_does_not_fit_gets_a_sentence() {
    let usual = Options { particles: 200, ..Options::for_rule(Rule::Inertia) };
    let resident = Emulated::new(1, 32).with_strategy(Strategy::Resident);
    assert_eq!(
        refused(700, &usual, resident),
        "strategy is resident; it must be auto or streaming for 200 particles in 700 dimensions: they \
         do not fit on the chip"
    );
    let tiered = Emulated::new(1, 32).with_strategy(Strategy::Tiered);
    for dims in [2, 700] {
        assert_eq!(
            refused(dims, &usual, tiered),
            format!(
                "strategy is tiered; it must be auto, resident or streaming for 200 particles in {dims} \
                 dimensions: all of them fit on the chip, or none does"
            )
        );
    }
    let ring = Options { neighbourhood: Some(Neighbourhood::Ring(1)), ..usual };
    assert!(refused(2, &ring, resident).contains("only swarms with the inertia rule"));
}

#[test]
fn what_cannot_be_shared_gets_a_sentence() {
    let usual = Options { particles: 200, ..Options::for_rule(Rule::Inertia) };
    let warps = Emulated::new(1, 32).with_cooperation(Cooperation::Warp);
    assert_eq!(
        refused(2_000, &usual, warps),
        "cooperation is warp; it must be auto or thread for 200 particles in 2000 dimensions: they do not \
         fit on the chip"
    );
    let streaming = warps.with_strategy(Strategy::Streaming);
    assert!(refused(70, &usual, streaming).contains("that is for particles on the chip"));
    let ring = Options { neighbourhood: Some(Neighbourhood::Ring(1)), ..usual };
    assert!(refused(70, &ring, warps).contains("only swarms with the inertia rule"));
}

/// A few particles in so many dimensions that 32 of them do not fit side by side.
#[test]
fn what_does_not_fit_in_full_warps_fits_in_narrower_ones() {
    let options = Options { particles: 20, ..Options::for_rule(Rule::Inertia) };
    let problem = Problem::new(Rastrigin, 400).unwrap();
    let plan = Plan::<f32>::new(&problem, &options).unwrap();
    let machine =
        Emulated::new(3, 32).with_shared_memory(60 << 10).with_cooperation(Cooperation::Auto);
    let mut swarm = Machine::swarm(&machine, Rastrigin, &problem, plan).unwrap();
    swarm.start(None).unwrap();
    swarm.advance(10).unwrap();
    assert_eq!(swarm.strategy(), Strategy::Resident);
}
