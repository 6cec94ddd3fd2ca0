//! The asynchronous mode: in the emulator under many schedules, and on the CPU with many threads.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use flockwork::{
    backend::{Cooperation, Cpu, Emulated, Number, Plan, Snapshot},
    objective::{Ackley, Objective, Rastrigin, Rosenbrock, Sphere},
    swarm::{
        Checkpoint, Coefficients, Edge, Mode, Neighbourhood, Options, Precision, Problem,
        Randomness, Rule, Schedule, Search, Variable, Variation, minimize, minimize_many,
    },
};
use flockwork_device::{
    gpu::{
        atomic::{Order, Scope},
        block,
        emulator::{Emulator, Fault},
        memory::ReadWrite,
        shared::Shared,
        thread,
    },
    kernel::{Kernel, Name},
    swarm::{
        best::Candidate,
        kernels::{
            mailbox::{Mailbox, Published},
            resident, time_sliced,
        },
    },
};

use crate::common::{
    Machine,
    asynchronous::{keeps_its_promises, options},
    problem,
};

#[test]
fn blocks_keep_their_promises_under_many_schedules() {
    for seed in 0..320 {
        let machine = Emulated::new(seed, 32);
        let (dims, particles) = (1 + seed as u32 % 40, 40 + seed as u32 % 90);
        let options = options(particles, seed);
        let done = match seed % 4 {
            0 => keeps_its_promises::<_, f32>(Rastrigin, dims, &options, &machine, &[1, 6, 2]),
            1 => keeps_its_promises::<_, f64>(Sphere, dims, &options, &machine, &[5, 1, 5]),
            // Improves in nearly every iteration, in small steps.
            2 => keeps_its_promises::<_, f32>(Sphere, 1 + dims % 3, &options, &machine, &[30]),
            _ => keeps_its_promises::<_, f64>(Ackley, dims, &options, &machine, &[9]),
        };
        done.unwrap();
    }
}

#[test]
fn blocks_of_several_warps_keep_their_promises() {
    for seed in 0..24 {
        let machine = Emulated::new(seed, [64, 96, 128][seed as usize % 3]);
        let options = options(200 + seed as u32, seed);
        keeps_its_promises::<_, f32>(Rosenbrock, 2 + seed as u32 % 5, &options, &machine, &[8, 3])
            .unwrap();
    }
}

#[test]
fn threads_that_share_particles_keep_their_promises() {
    for seed in 0..40 {
        let cooperation =
            [Cooperation::Mod, Cooperation::Warp, Cooperation::Block][seed as usize % 3];
        let machine =
            Emulated::new(seed, 32).with_cooperation(cooperation).with_shared_memory(200 << 10);
        let (dims, particles) = (33 + seed as u32 % 40, 20 + 9 * (seed as u32 % 11));
        let options = options(particles, seed);
        if seed % 4 < 2 {
            keeps_its_promises::<_, f32>(Rastrigin, dims, &options, &machine, &[1, 6, 2]).unwrap();
        } else {
            keeps_its_promises::<_, f64>(Rosenbrock, dims, &options, &machine, &[9, 4]).unwrap();
        }
    }
}

/// More particles than fit on the chip, on several warps of several blocks, time-sliced.
#[test]
fn particles_that_take_turns_keep_their_promises() {
    fn check<O: Objective, T: Number>(objective: O, seed: u64) {
        let threads = [64, 96, 128, 160][seed as usize % 4];
        let (dims, warps) = (4 + seed as u32 % 19, 1 + seed as u32 % 3);
        let particles = 32 * 4 * (2 * warps + 1) + 7 * (seed as u32 % 9);
        let room = time_sliced::shared_bytes::<T>(threads, dims, warps, 0).unwrap();
        // A quarter of them fits, for any number of threads.
        let whole = resident::shared_bytes::<T>(32, dims, particles.div_ceil(4 * 32), None);
        assert!(whole.unwrap() > room, "{particles} x {dims} fit as a whole");
        let machine = Emulated::new(seed, threads).with_shared_memory(room);
        let options = options(particles, seed);
        keeps_its_promises::<_, T>(objective, dims, &options, &machine, &[1, 3, 40, 9]).unwrap();
    }
    for seed in 0..24 {
        match seed % 3 {
            0 => check::<_, f32>(Rastrigin, seed),
            1 => check::<_, f64>(Sphere, seed),
            _ => check::<_, f32>(Rosenbrock, seed),
        }
    }
}

#[test]
fn threads_keep_their_promises() {
    for seed in 0..40 {
        let machine = Cpu::new(1 + seed as usize % 9).unwrap();
        let options = options(1 + 97 * seed as u32 % 2000, seed);
        let dims = 1 + seed as u32 % 40;
        keeps_its_promises::<_, f32>(Sphere, dims, &options, &machine, &[200, 1, 17]).unwrap();
        keeps_its_promises::<_, f64>(Rastrigin, dims, &options, &machine, &[3, 100]).unwrap();
    }
}

/// The state after these numbers of iterations, in both modes.
fn both<O: Objective, T: Number>(
    objective: O,
    dims: u32,
    options: &Options,
    machine: &impl Machine,
    advances: &[u32],
) -> [Snapshot<T>; 2] {
    let problem = problem(O::INFO.name, dims);
    [Mode::Synchronous, Mode::Asynchronous].map(|mode| {
        let options = Options { mode, ..options.clone() };
        let plan = Plan::<T>::new(&problem, &options).unwrap();
        let mut swarm = machine.swarm(objective, &problem, plan).unwrap();
        swarm.start(None).unwrap();
        for &iterations in advances {
            swarm.advance(iterations).unwrap();
        }
        let mut snapshot = swarm.snapshot().unwrap();
        // Which iterations did not improve the best is only seen at the end of each advance.
        snapshot.failed = Vec::new();
        snapshot
    })
}

/// With a single part nothing depends on timing: every particle does exactly the iterations
/// requested, with their numbers and coefficients.
#[test]
fn a_single_part_does_what_a_synchronous_swarm_does() {
    for schedule in Schedule::ALL {
        let coefficients = Coefficients { last_inertia: 0.4, ..Coefficients::CONSTRICTION };
        let options = Options {
            schedule: *schedule,
            coefficients: Some(coefficients),
            iterations: 20,
            particles: 50,
            ..Options::for_rule(Rule::Inertia)
        };
        let cpu = Cpu::new(3).unwrap();
        let [one, other] = both::<_, f32>(Rastrigin, 7, &options, &cpu, &[5, 1, 14]);
        assert_eq!(one, other);
        let emulated = Emulated::new(3, 64);
        let [one, other] = both::<_, f32>(Sphere, 3, &options, &emulated, &[4, 4]);
        assert_eq!(one, other);
        // In more dimensions the warps do not keep pace, and each is a part.
        let options = Options { particles: 32, ..options };
        let [one, other] = both::<_, f64>(Ackley, 5, &options, &emulated, &[5, 1, 10]);
        assert_eq!(one, other);
        // Its personal bests do not fit, and it has the only time slice.
        let options = Options { iterations: 50, particles: 31, ..options };
        let room = time_sliced::shared_bytes::<f64>(32, 7, 1, 0).unwrap();
        assert!(resident::shared_bytes::<f64>(32, 7, 1, None).unwrap() > room);
        let emulated = Emulated::new(4, 32).with_shared_memory(room);
        // In f64 no two particles are equally good; of equals a synchronous swarm would follow the
        // first.
        let [one, other] = both::<_, f64>(Rastrigin, 7, &options, &emulated, &[40, 1, 9]);
        assert_eq!(one, other);
    }
}

#[test]
fn every_particle_is_evaluated_as_often_as_asked_for() {
    let counted: &AtomicU64 = Box::leak(Box::default());
    let function = |x: &[f64]| {
        counted.fetch_add(1, Ordering::Relaxed);
        x.iter().map(|x| x * x).sum()
    };
    let problem = Problem::from_fn(vec![-1.0; 3], vec![1.0; 3], function).unwrap();
    let options = Options { iterations: 33, ..options(1000, 1) };
    let go = |_: &flockwork::swarm::Progress<'_>| ControlFlow::Continue(());
    let outcome = minimize(&problem, &options, &Cpu::new(4).unwrap(), go).unwrap();
    assert_eq!(outcome.evaluations, 34_000);
    assert_eq!(counted.load(Ordering::Relaxed), 34_000);
}

#[test]
fn it_solves_rastrigin_and_keeps_a_history() {
    for seed in 1..=4 {
        let problem = Problem::new(Rastrigin, 4).unwrap().shifted(seed).unwrap();
        let options = Options {
            iterations: 600,
            precision: Some(Precision::F64),
            history: Some(7),
            ..options(1024, seed)
        };
        let go = |_: &flockwork::swarm::Progress<'_>| ControlFlow::Continue(());
        let outcome = minimize(&problem, &options, &Cpu::new(3).unwrap(), go).unwrap();
        let known = problem.optimum().unwrap();
        assert!((0.0..=1e-9).contains(&(outcome.value - known.value)), "{}", outcome.value);
        let samples: Vec<u32> = outcome.history.iter().map(|sample| sample.iteration).collect();
        assert_eq!(samples, (0..=600).step_by(7).collect::<Vec<_>>());
        assert!(outcome.history.is_sorted_by(|a, b| a.best >= b.best));
    }
    let machine = Emulated::new(5, 32).with(Rastrigin);
    let problem = Problem::new(Rastrigin, 2).unwrap();
    let options = Options { iterations: 10, history: Some(4), ..options(70, 1) };
    let outcome = minimize(&problem, &options, &machine, |_| ControlFlow::Continue(())).unwrap();
    let samples: Vec<u32> = outcome.history.iter().map(|sample| sample.iteration).collect();
    assert_eq!(samples, [0, 4, 8]);
}

#[test]
fn a_saved_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let problem = Problem::new(Sphere, 5).unwrap().shifted(1).unwrap();
    let search = Search::new(problem).particles(300).iterations(400).mode(Mode::Asynchronous);
    let backend = Cpu::new(2).unwrap();
    let mut value = f64::INFINITY;
    let stop = |progress: &flockwork::swarm::Progress<'_>| {
        value = progress.value;
        if progress.iteration < 50 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    search.save(&path, Duration::from_secs(60)).run_on(&backend, stop).unwrap();
    let saved = Checkpoint::read(&path).unwrap();
    assert_eq!(saved.options().mode, Mode::Asynchronous);
    let problem = saved.problem().unwrap();
    let rest = saved.resume(&problem, &backend, None, |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(rest.iterations, 400);
    assert!(rest.value <= value && rest.value < 1e-6, "{value}, then {}", rest.value);
}

#[test]
fn an_option_file_without_a_mode_is_synchronous() {
    let mut text = serde_json::to_value(Options::default()).unwrap();
    assert_eq!(text["mode"], "synchronous");
    text.as_object_mut().unwrap().remove("mode");
    assert_eq!(serde_json::from_value::<Options>(text).unwrap(), Options::default());
}

#[test]
fn what_it_does_not_cover_gets_a_sentence() {
    let usual = options(100, 1);
    for (changed, named) in [
        (Options { rule: Rule::BareBones, ..usual.clone() }, "rule is bare-bones"),
        (Options { neighbourhood: Some(Neighbourhood::Ring(2)), ..usual.clone() }, "neighbourhood"),
        (Options { edge: Edge::Reflect, ..usual.clone() }, "edge is reflect"),
        (Options { randomness: Some(Randomness::PerParticle), ..usual.clone() }, "randomness"),
    ] {
        let error = changed.check().unwrap_err().to_string();
        assert!(error.contains(named) && error.contains("in the mode asynchronous"), "{error}");
    }
    let plain = Problem::new(Rastrigin, 3).unwrap();
    let refused = |problem: &Problem| Plan::<f32>::new(problem, &usual).unwrap_err().to_string();
    let error = refused(&plain.clone().rotated(1).unwrap());
    assert_eq!(error, "mode is asynchronous; it must be synchronous for a problem with a rotation");
    let integer = plain.clone().with_bounds(vec![-5.0; 3], vec![5.0; 3]).unwrap();
    let error = refused(&integer.with_variables(vec![Variable::Integer; 3]).unwrap());
    assert!(error.contains("integer or periodic"), "{error}");
    let two = [1, 2].map(|seed| Variation { seed, coefficients: None });
    let error = Plan::<f32>::of_many(&plain, &usual, &two).unwrap_err().to_string();
    assert!(error.contains("several swarms"), "{error}");
    let error = minimize_many(&plain, &usual, &two, &Cpu::new(1).unwrap()).unwrap_err();
    assert!(error.to_string().starts_with("mode is given"), "{error}");
}

/// Blocks publish ever better pairs and read those of others. The coordinates follow from the
/// fitness, so that a torn copy shows. Unlocked, they write without excluding others.
struct Gossip<const LOCKED: bool>;

#[derive(Clone, Copy)]
struct GossipArguments {
    mailbox: Mailbox<f64>,
    dims: u32,
    rounds: u32,
    /// Space for a copy for each block.
    copies: ReadWrite<f64>,
    /// How many copies were kept, and how many of those are torn; how often publishing succeeded,
    /// and how often another block was doing so.
    counts: ReadWrite<u32>,
}

fn coordinate(fitness: f64, dimension: u32) -> f64 {
    // All 64 bits differ from one fitness to the next.
    (fitness + 0.1) * f64::from(dimension + 3)
}

impl<const LOCKED: bool> Kernel for Gossip<LOCKED> {
    type Arguments = GossipArguments;

    const NAME: Name = Name { family: "gossip", objective: "", precision: "f64" };

    fn shared_bytes(_: u32, _: &Self::Arguments) -> u32 {
        4
    }

    unsafe fn run(arguments: &GossipArguments) {
        let GossipArguments { mailbox, dims, rounds, copies, counts } = *arguments;
        let word = Shared::at(0, 1);
        let (block, blocks) = (thread::block_index(), thread::grid_blocks());
        let mine = copies.skip((block * dims) as usize);
        // SAFETY: the buffers have these elements; a copy belongs to its block.
        let count = |nth: usize| unsafe { counts.fetch_add(nth, 1, Order::Relaxed, Scope::Device) };
        for round in 0..rounds {
            let fitness = f64::from((rounds - round) * blocks + block);
            let candidate = Candidate { fitness, particle: fitness as u32 };
            let at = |dimension| coordinate(fitness, dimension);
            // SAFETY: as above.
            unsafe {
                let published = if LOCKED {
                    mailbox.publish(word, dims, candidate, at)
                } else {
                    publish_unlocked(&mailbox, dims, candidate, at)
                };
                if thread::index() == 0 {
                    match published {
                        Published::Done(_) => drop(count(2)),
                        Published::Busy => drop(count(3)),
                        Published::Beaten => {}
                    }
                }
                let keep = |dimension: u32, x| mine.store(dimension as usize, x);
                if let Some((_, found)) = mailbox.read(word, dims, keep) {
                    let mut torn = found.particle != found.fitness as u32;
                    for dimension in 0..dims {
                        let x = mine.load(dimension as usize);
                        torn |= x.to_bits() != coordinate(found.fitness, dimension).to_bits();
                    }
                    if thread::index() == 0 {
                        count(0);
                        if torn {
                            count(1);
                        }
                    }
                }
                block::barrier();
            }
        }
    }
}

/// Like [`Mailbox::publish`], without excluding others.
///
/// # Safety
/// As for that function.
unsafe fn publish_unlocked(
    mailbox: &Mailbox<f64>,
    dims: u32,
    candidate: Candidate<f64>,
    at: impl Fn(u32) -> f64,
) -> Published {
    let words = mailbox.words;
    let put = |place: usize, bits: u32| {
        // SAFETY: the words exist.
        unsafe { words.atomic_store(place, bits, Order::Relaxed, Scope::Device) };
    };
    let number = |place: usize, value: f64| {
        put(place, value.to_bits() as u32);
        put(place + 1, (value.to_bits() >> 32) as u32);
    };
    if thread::index() == 0 {
        number(0, candidate.fitness);
        put(2, candidate.particle);
    }
    let mut dimension = thread::index();
    while dimension < dims {
        number(3 + 2 * dimension as usize, at(dimension));
        dimension += thread::block_threads();
    }
    block::barrier();
    if thread::index() == 0 {
        // SAFETY: the element exists.
        unsafe { mailbox.sequence.fetch_add(0, 2, Order::AcquireRelease, Scope::Device) };
    }
    Published::Done(0)
}

/// Runs it; returns the counts.
fn gossip<const LOCKED: bool>(seed: u64, blocks: u32, dims: u32) -> Result<[u32; 4], Fault> {
    let mut sequence = [0_u32];
    let mut words = vec![0_u32; Mailbox::<f64>::words(dims as usize)];
    let mut copies = vec![0.0_f64; (blocks * dims) as usize];
    let mut counts = [0_u32; 4];
    // SAFETY: the arrays outlive the launch and have the documented lengths.
    unsafe {
        let arguments = GossipArguments {
            mailbox: Mailbox::new(
                ReadWrite::new(sequence.as_mut_ptr(), 1),
                ReadWrite::new(words.as_mut_ptr(), words.len()),
            ),
            dims,
            rounds: 6,
            copies: ReadWrite::new(copies.as_mut_ptr(), copies.len()),
            counts: ReadWrite::new(counts.as_mut_ptr(), counts.len()),
        };
        let emulator = Emulator::new(seed).resident_blocks(1 + seed as u32 % blocks);
        emulator.launch::<Gossip<LOCKED>>(blocks, 32, &arguments)?;
    }
    Ok(counts)
}

#[test]
fn no_schedule_tears_a_pair() {
    let mut all = [0; 4];
    for seed in 0..400 {
        let (blocks, dims) = (2 + seed as u32 % 5, 1 + seed as u32 * 7 % 40);
        let counts = gossip::<true>(seed, blocks, dims).unwrap_or_else(|e| panic!("{seed}: {e}"));
        assert_eq!(counts[1], 0, "seed {seed}: {counts:?}");
        for (all, count) in all.iter_mut().zip(counts) {
            *all += count;
        }
    }
    let [kept, _, published, busy] = all;
    println!("{kept} copies kept, {published} published, {busy} times busy");
    // Every outcome occurred.
    assert!(kept > 1000 && published > 1000 && busy > 100, "{all:?}");
}

#[test]
fn without_the_lock_pairs_are_torn() {
    let torn = (0..100).filter(|&seed| gossip::<false>(seed, 5, 20).unwrap()[1] > 0).count();
    println!("torn under {torn} of 100 schedules");
    assert!(torn > 10, "torn under {torn} of 100 schedules");
}
