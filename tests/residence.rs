//! A swarm's iterations with its particles on the chip and in device memory: the same bits, whichever and
//! in turn. In the emulator; on a real GPU in `gpu.rs`.

mod common;

use common::{Machine, problem};
use flockwork::{
    backend::{Backend, Emulated, Evaluation, Plan, Residence, Snapshot, Way},
    objective::{Objective, Rastrigin, Sphere},
    swarm::{Neighbourhood, Options, Problem, Rule},
};

/// The state after so many iterations, in advances of these lengths.
fn after<O: Objective>(
    objective: O,
    problem: &Problem,
    particles: u32,
    residence: Residence,
    advances: &[u32],
) -> (Snapshot<f32>, Way) {
    let options = Options { particles, ..Options::for_rule(Rule::Inertia) };
    let plan = Plan::<f32>::new(problem, &options).unwrap();
    let emulated = Emulated::new(5, 32).with_residence(residence);
    let mut swarm = Machine::swarm(&emulated, objective, problem, plan).unwrap();
    swarm.start(None).unwrap();
    for &iterations in advances {
        swarm.advance(iterations).unwrap();
    }
    (swarm.snapshot().unwrap(), swarm.way())
}

#[test]
fn both_ways_in_turn_give_the_same_bits() {
    let problem = problem("rastrigin", 6);
    let after = |residence, advances| after(Rastrigin, &problem, 140, residence, advances);
    let (streaming, way) = after(Residence::Streaming, &[60]);
    assert_eq!(way, Way::Streaming);
    // Few iterations at a time are launches of their own, many are one launch.
    for advances in [&[60][..], &[1, 2, 57], &[20, 1, 1, 30, 3, 5]] {
        let (resident, way) = after(Residence::Resident, advances);
        assert_eq!(way, Way::Resident);
        assert!(resident == streaming, "in advances of {advances:?}");
    }
}

/// Then the first particle stays the best.
#[test]
fn both_ways_agree_where_every_value_is_infinite() {
    for dims in 1..=5 {
        let (lower, upper) = (vec![1e25; dims as usize], vec![1e26; dims as usize]);
        let problem = Problem::new(Sphere, dims).unwrap().with_bounds(lower, upper).unwrap();
        let after = |residence| after(Sphere, &problem, 300, residence, &[5]);
        let (resident, way) = after(Residence::Resident);
        assert_eq!(way, Way::Resident);
        assert_eq!((resident.bests[0].particle, resident.bests[0].value), (0, f32::INFINITY));
        assert!(resident == after(Residence::Streaming).0, "{dims} dimensions");
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
    let resident = Emulated::new(1, 32).with_residence(Residence::Resident);
    assert_eq!(
        refused(700, &usual, resident),
        "residence is resident; it must be auto or streaming for 200 particles in 700 dimensions: they \
         do not fit on the chip"
    );
    let ring = Options { neighbourhood: Some(Neighbourhood::Ring(1)), ..usual };
    assert!(refused(2, &ring, resident).contains("only the usual swarm runs there"));
}

#[test]
fn what_cannot_be_shared_gets_a_sentence() {
    let usual = Options { particles: 200, ..Options::for_rule(Rule::Inertia) };
    let warps = Emulated::new(1, 32).with_evaluation(Evaluation::Warp);
    assert_eq!(
        refused(2_000, &usual, warps),
        "evaluation is warp; it must be auto or thread for 200 particles in 2000 dimensions: they do not \
         fit on the chip"
    );
    let streaming = warps.with_residence(Residence::Streaming);
    assert!(refused(70, &usual, streaming).contains("threads share particles on the chip alone"));
    let ring = Options { neighbourhood: Some(Neighbourhood::Ring(1)), ..usual };
    assert!(refused(70, &ring, warps).contains("only the usual swarm runs there"));
}

/// A few particles in so many dimensions that 32 of them do not fit side by side.
#[test]
fn what_does_not_fit_in_full_warps_fits_in_narrower_ones() {
    let options = Options { particles: 20, ..Options::for_rule(Rule::Inertia) };
    let problem = Problem::new(Rastrigin, 400).unwrap();
    let plan = Plan::<f32>::new(&problem, &options).unwrap();
    let machine =
        Emulated::new(3, 32).with_shared_memory(60 << 10).with_evaluation(Evaluation::Auto);
    let mut swarm = Machine::swarm(&machine, Rastrigin, &problem, plan).unwrap();
    swarm.start(None).unwrap();
    swarm.advance(10).unwrap();
    assert_eq!(swarm.way(), Way::Resident);
}
