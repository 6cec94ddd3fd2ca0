//! Every word against a plain oracle, and planted bugs, each of which must be caught.

use std::{format, string::ToString, vec, vec::Vec};

use super::{Emulator, Fault, Report, intrinsics::spin};
use crate::{
    gpu::{
        atomic::{Integer, Order, Scope, fence},
        block, grid,
        matrix::{self, multiply_add},
        memory::{ReadOnly, ReadWrite, Word},
        shared::Shared,
        thread, warp,
    },
    kernel::{Kernel, Name},
};

const fn name(family: &'static str) -> Name {
    Name { family, objective: "", precision: "" }
}

/// A kernel from a body, which is unsafe code over `$arguments`. Indices are below the lengths
/// unless the test plants the contrary, which the emulator catches.
macro_rules! kernel {
    ($kernel:ident, $family:literal, |$arguments:ident: $type:ty| $body:block $(, $more:item)*) => {
        struct $kernel;
        impl Kernel for $kernel {
            type Arguments = $type;
            const NAME: Name = name($family);
            $($more)*
            unsafe fn run($arguments: &$type) {
                // SAFETY: checked by the emulator, see above.
                unsafe { $body }
            }
        }
    };
}

fn writable<T>(values: &mut [T]) -> ReadWrite<T> {
    // SAFETY: the tests keep the values for the launch and touch them only after it.
    unsafe { ReadWrite::new(values.as_mut_ptr(), values.len()) }
}

fn readable<T>(values: &[T]) -> ReadOnly<T> {
    // SAFETY: the tests keep the values for the launch.
    unsafe { ReadOnly::new(values.as_ptr(), values.len()) }
}

fn launch<K: Kernel>(
    emulator: Emulator,
    blocks: u32,
    threads: u32,
    arguments: K::Arguments,
) -> Result<Report, Fault> {
    // SAFETY: the tests pass buffers that outlive the call.
    unsafe { emulator.launch::<K>(blocks, threads, &arguments) }
}

fn run<K: Kernel>(seed: u64, blocks: u32, threads: u32, arguments: K::Arguments) -> Report {
    launch::<K>(Emulator::new(seed), blocks, threads, arguments)
        .unwrap_or_else(|fault| panic!("seed {seed}: {fault}"))
}

fn fault<K: Kernel>(seed: u64, blocks: u32, threads: u32, arguments: K::Arguments) -> Fault {
    let emulator = Emulator::new(seed).step_limit(20_000);
    match launch::<K>(emulator, blocks, threads, arguments) {
        Err(fault) => fault,
        Ok(_) => panic!("seed {seed}: `{}` passed, though it has a bug", K::NAME),
    }
}

const SEEDS: core::ops::Range<u64> = 0..32;
const DEVICE: Scope = Scope::Device;

// ---- the words ----

/// Factors and sums of two products, one after the other.
#[derive(Clone, Copy)]
struct Factors {
    a: ReadOnly<f64>,
    b: ReadOnly<f64>,
    c: ReadOnly<f64>,
    result: ReadWrite<f64>,
}

/// The columns of the left factor of the products under test.
const INNER: usize = 8;

kernel!(Product, "product", |f: Factors| {
    let (g, t) = (warp::lane() as usize / 4, warp::lane() as usize % 4);
    let columns = matrix::COLUMNS as usize;
    let index = [(g, 2 * t), (g, 2 * t + 1), (g + 8, 2 * t), (g + 8, 2 * t + 1)]
        .map(|(row, column)| row * columns + column);
    let a = [0, 1].map(|s| [0, 8].map(|down| f.a.at((g + down) * INNER + 4 * s + t)));
    let b = [0, 1].map(|s| f.b.at((4 * s + t) * columns + g));
    let once = multiply_add(&a, &b, index.map(|i| f.c.at(i)));
    let twice = multiply_add(&a, &b, once);
    for (i, value) in index.into_iter().zip(twice) {
        f.result.store(i, value);
    }
});

#[test]
fn products_of_matrices_are_added_up_in_order() {
    let rows = matrix::ROWS as usize;
    let columns = matrix::COLUMNS as usize;
    let numbers = |count: usize, times: usize| -> Vec<f64> {
        (0..count).map(|i| 1.0 / (i * times % 1009 + 1) as f64 - 0.01).collect()
    };
    let (a, b, c) =
        (numbers(rows * INNER, 17), numbers(INNER * columns, 29), numbers(rows * columns, 31));
    let mut expected = c.clone();
    for _ in 0..2 {
        for (at, sum) in expected.iter_mut().enumerate() {
            let (row, column) = (at / columns, at % columns);
            for k in 0..INNER {
                *sum = a[row * INNER + k].mul_add(b[k * columns + column], *sum);
            }
        }
    }
    for seed in SEEDS {
        let mut result = vec![0.0; rows * columns];
        let (a, b, c) = (readable(&a), readable(&b), readable(&c));
        run::<Product>(seed, 1, 32, Factors { a, b, c, result: writable(&mut result) });
        assert_eq!(result, expected, "seed {seed}");
    }
}

/// Arguments of the shuffles under test, and how many results each lane leaves.
const DISTANCES: [u32; 5] = [0, 1, 5, 16, 31];
const RESULTS: usize = 4 * DISTANCES.len() + 2;

fn passed_in(thread: u32, round: usize) -> u32 {
    thread * 1000 + round as u32
}

kernel!(Shuffles, "test_shuffles", |out: ReadWrite<u32>| {
    let (me, lane) = (thread::global_index(), warp::lane());
    let mut place = me as usize * RESULTS;
    let mut leave = |value| {
        out.store(place, value);
        place += 1;
    };
    for (round, &distance) in DISTANCES.iter().enumerate() {
        let value = passed_in(me, round);
        leave(warp::shuffle_xor(value, distance));
        leave(warp::shuffle_down(value, distance));
        leave(warp::shuffle_up(value, distance));
        leave(warp::shuffle(value, (lane + distance) % 32));
    }
    leave(warp::ballot(me % 3 == 0));
    // Two words: the halves must stay together.
    let wide = warp::shuffle_xor(u64::from(me) << 32 | u64::from(!me), 1);
    leave((wide >> 32) as u32 ^ !(wide as u32));
    warp::sync();
});

#[test]
fn shuffles_and_ballots() {
    for seed in 0..4 {
        let mut out = vec![0; 3 * 96 * RESULTS];
        let report = run::<Shuffles>(seed, 3, 96, writable(&mut out));
        assert_eq!(report.lanes, 3 * 96);
        assert_eq!(report.warp_words, 9 * (4 * DISTANCES.len() as u64 + 1 + 2 + 1));
        for (thread, results) in out.chunks(RESULTS).enumerate() {
            let thread = thread as u32;
            let (base, lane) = (thread / 32 * 32, thread % 32);
            let or_own = |lane: Option<u32>| lane.filter(|&l| l < 32).map_or(thread, |l| base + l);
            for (round, &d) in DISTANCES.iter().enumerate() {
                let expected = [
                    base + (lane ^ d),
                    or_own(lane.checked_add(d)),
                    or_own(lane.checked_sub(d)),
                    base + (lane + d) % 32,
                ];
                assert_eq!(
                    results[4 * round..4 * round + 4],
                    expected.map(|source| passed_in(source, round)),
                    "thread {thread}, distance {d}"
                );
            }
            let votes = (0..32).map(|l| u32::from((base + l) % 3 == 0) << l).sum::<u32>();
            assert_eq!(results[RESULTS - 2..], [votes, 0], "thread {thread}");
        }
    }
}

kernel!(Ask, "test_ask", |a: (u32, ReadWrite<u32>)| {
    let (who, heard) = *a;
    let me = thread::index();
    let mut word = 0;
    // As one thread says it, as nobody does, as all do: each answer is that of its own barrier.
    for says in [me == who, false, true, me == who && me % 2 == 1] {
        word = word << 1 | u32::from(block::any(says));
    }
    heard.store(thread::global_index() as usize, word);
});

#[test]
fn what_any_thread_of_a_block_says_all_hear() {
    for (seed, threads) in [32_u32, 64, 96, 1024].into_iter().enumerate() {
        for who in [0, 31, threads - 1, threads] {
            let mut heard = vec![0; 3 * threads as usize];
            run::<Ask>(seed as u64, 3, threads, (who, writable(&mut heard)));
            let there = u32::from(who < threads);
            let expected = there << 3 | 0b10 | (there & (who % 2));
            assert!(heard.iter().all(|&word| word == expected), "{who} of {threads}: {heard:?}");
        }
    }
}

#[derive(Clone, Copy)]
struct Reduction {
    values: ReadOnly<u32>,
    /// For each block its sum, its least value and the index of that.
    sums: ReadWrite<u64>,
    least: ReadWrite<[u32; 2]>,
    /// For each thread its warp's sum.
    warps: ReadWrite<u32>,
}

kernel!(
    Reduce,
    "test_reduce",
    |a: Reduction| {
        let me = thread::global_index();
        let value = a.values.at(me as usize);
        a.warps.store(me as usize, warp::reduce(value, u32::wrapping_add));
        let scratch = Shared::at(0, block::reduce_scratch::<u64>(thread::block_threads()));
        let sum = block::reduce(u64::from(value), 0, scratch, |x, y| x + y);
        block::barrier();
        let least = block::reduce((value, me), (u32::MAX, u32::MAX), scratch, Ord::min);
        if thread::index() == 0 {
            a.sums.store(thread::block_index() as usize, sum);
            a.least.store(thread::block_index() as usize, least.into());
        }
    },
    fn shared_bytes(threads: u32, _: &Self::Arguments) -> u32 {
        4 * block::reduce_scratch::<u64>(threads)
    }
);

#[test]
fn reductions() {
    for (seed, threads) in [32u32, 64, 96, 256, 1024].into_iter().enumerate() {
        let blocks = 6;
        let values: Vec<u32> =
            (0..blocks * threads).map(|i: u32| (i + 7).wrapping_mul(2_654_435_761) >> 24).collect();
        let (mut sums, mut least) = (vec![0; blocks as usize], vec![[0; 2]; blocks as usize]);
        let mut warps = vec![0; values.len()];
        let arguments = Reduction {
            values: readable(&values),
            sums: writable(&mut sums),
            least: writable(&mut least),
            warps: writable(&mut warps),
        };
        let report = run::<Reduce>(seed as u64, blocks, threads, arguments);
        assert_eq!(report.barriers, u64::from(3 * blocks));
        for (block, mine) in values.chunks(threads as usize).enumerate() {
            assert_eq!(sums[block], mine.iter().map(|&v| u64::from(v)).sum::<u64>());
            let first = block as u32 * threads;
            let expected = mine.iter().copied().zip(first..).min().unwrap();
            assert_eq!(least[block], [expected.0, expected.1], "{threads} threads");
        }
        for (thread, sum) in warps.iter().enumerate() {
            assert_eq!(*sum, values[thread / 32 * 32..][..32].iter().sum::<u32>());
        }
    }
}

const ROUNDS: usize = 4;

#[derive(Clone, Copy)]
struct Grid {
    arrivals: ReadWrite<u32>,
    values: ReadWrite<u32>,
    out: ReadWrite<u32>,
}

kernel!(
    GridBarrier,
    "test_grid_barrier",
    |a: Grid| {
        let (me, all) = (thread::global_index() as usize, thread::global_threads() as usize);
        for round in 0..ROUNDS {
            a.values.store(me, (round * all + me) as u32);
            grid::barrier(a.arrivals);
            // A thread of another block.
            let seen = a.values.load((me + all / 2 + 1) % all);
            a.out.store(round * all + me, seen);
            grid::barrier(a.arrivals);
        }
    },
    const COOPERATIVE: bool = true;
);

#[test]
fn grid_barrier_orders_all_blocks() {
    for seed in 0..8 {
        let all = 6 * 64;
        let (mut arrivals, mut values, mut out) = ([0], vec![0; all], vec![0; ROUNDS * all]);
        let arguments = Grid {
            arrivals: writable(&mut arrivals),
            values: writable(&mut values),
            out: writable(&mut out),
        };
        run::<GridBarrier>(seed, 6, 64, arguments);
        for (i, &seen) in out.iter().enumerate() {
            let (round, me) = (i / all, i % all);
            assert_eq!(seen as usize, round * all + (me + all / 2 + 1) % all);
        }
        assert_eq!(arrivals, [6 * 2 * ROUNDS as u32]);
    }
}

kernel!(
    LastBlock,
    "test_last_block",
    |a: Grid| {
        let me = thread::global_index() as usize;
        a.values.store(me, me as u32);
        if grid::last_block(a.arrivals, 0, thread::grid_blocks(), Shared::at(0, 1))
            && thread::index() == 0
        {
            let sum = (0..a.values.len()).map(|i| a.values.load(i)).sum();
            // Only one block may come here.
            a.out.fetch_add(0, sum, Order::Relaxed, DEVICE);
        }
    },
    fn shared_bytes(_: u32, _: &Self::Arguments) -> u32 {
        4
    }
);

#[test]
fn last_block_sees_all_others() {
    for seed in SEEDS {
        let (mut arrivals, mut values, mut out) = ([0], vec![0; 9 * 32], [0]);
        let arguments = Grid {
            arrivals: writable(&mut arrivals),
            values: writable(&mut values),
            out: writable(&mut out),
        };
        let emulator = Emulator::new(seed).resident_blocks(1 + seed as u32 % 9);
        launch::<LastBlock>(emulator, 9, 32, arguments).unwrap();
        assert_eq!((arrivals, out), ([0], [9 * 32 * (9 * 32 - 1) / 2]), "seed {seed}");
    }
}

/// Elements that the atomics work on: a sum, a minimum, a sum by compare-exchange, a lock and
/// what it guards (by plain accesses).
unsafe fn use_atomics<T>(a: ReadWrite<T>)
where
    T: Integer + Word + Eq + From<u32> + core::ops::Add<Output = T>,
{
    let value = T::from(thread::global_index() + 1);
    // SAFETY: five elements.
    unsafe {
        a.fetch_add(0, value, Order::Relaxed, DEVICE);
        a.fetch_min(1, value, Order::Relaxed, DEVICE);
        let mut seen = a.atomic_load(2, Order::Relaxed, DEVICE);
        loop {
            let sum = seen + value;
            let before = a.compare_exchange(2, seen, sum, Order::Relaxed, DEVICE);
            if before == seen {
                break;
            }
            seen = before;
        }
        while a.exchange(3, T::from(1), Order::Acquire, DEVICE) != T::from(0) {
            spin();
        }
        a.store(4, a.load(4) + value);
        a.atomic_store(3, T::from(0), Order::Release, DEVICE);
    }
}

kernel!(Atomics, "test_atomics", |a: (ReadWrite<u32>, ReadWrite<u64>)| {
    use_atomics(a.0);
    use_atomics(a.1);
});

#[test]
fn atomics() {
    for seed in 0..8 {
        let n = 3 * 64;
        let (mut narrow, mut wide) = ([0, u32::MAX, 0, 0, 0], [0, u64::MAX, 0, 0, 0]);
        run::<Atomics>(seed, 3, 64, (writable(&mut narrow), writable(&mut wide)));
        let sum = n * (n + 1) / 2;
        assert_eq!(narrow, [sum, 1, sum, 0, sum]);
        assert_eq!(wide, narrow.map(u64::from));
    }
}

kernel!(Message, "test_message", |a: (ReadWrite<u32>, ReadWrite<u32>, bool)| {
    let (data, flag, fenced) = *a;
    if thread::global_index() == 0 {
        data.store(0, 41);
        if fenced {
            fence(DEVICE);
        }
        flag.atomic_store(0, 1, Order::Relaxed, DEVICE);
    } else if thread::global_index() == 32 {
        while flag.atomic_load(0, Order::Relaxed, DEVICE) == 0 {
            spin();
        }
        if fenced {
            fence(DEVICE);
        }
        data.store(0, data.load(0) + 1);
    }
});

#[test]
fn fences_order_and_their_lack_is_a_race() {
    for seed in SEEDS {
        let (mut data, mut flag) = ([0], [0]);
        run::<Message>(seed, 2, 32, (writable(&mut data), writable(&mut flag), true));
        assert_eq!(data, [42]);
        let (mut data, mut flag) = ([0], [0]);
        let fault =
            fault::<Message>(seed, 2, 32, (writable(&mut data), writable(&mut flag), false));
        assert!(matches!(fault, Fault::GlobalRace { .. }), "seed {seed}: {fault}");
    }
}

// ---- the schedule ----

kernel!(Tickets, "test_tickets", |a: (ReadWrite<u32>, ReadWrite<u32>)| {
    for _ in 0..4 {
        let ticket = a.0.fetch_add(0, 1, Order::Relaxed, DEVICE);
        a.1.store(ticket as usize, thread::global_index());
    }
});

fn tickets(seed: u64) -> (Report, Vec<u32>) {
    let (mut next, mut order) = ([0], vec![0; 4 * 5 * 64]);
    let report = run::<Tickets>(seed, 5, 64, (writable(&mut next), writable(&mut order)));
    (report, order)
}

#[test]
fn a_seed_is_a_schedule() {
    for seed in SEEDS {
        assert_eq!(tickets(seed), tickets(seed));
        assert_ne!(tickets(seed).1, tickets(seed + 1).1);
    }
}

/// What a particle's fitness is in the tests of a torn best.
fn fitness(position: f32) -> f32 {
    position * position + 1.0
}

#[derive(Clone, Copy)]
struct Best {
    fitness: ReadWrite<f32>,
    position: ReadWrite<f32>,
    packed: ReadWrite<u64>,
    torn: ReadWrite<u32>,
}

kernel!(TornBest, "test_torn_best", |best: Best| {
    if thread::index() == 0 {
        for round in 0..8 {
            let mine = (thread::block_index() * 8 + round) as f32;
            best.fitness.store(0, fitness(mine));
            best.position.store(0, mine);
            if best.fitness.load(0) != fitness(best.position.load(0)) {
                best.torn.fetch_add(0, 1, Order::Relaxed, DEVICE);
            }
        }
    }
});

kernel!(PackedBest, "test_packed_best", |best: Best| {
    if thread::index() == 0 {
        for round in 0..8 {
            let mine = 100.0 - (thread::block_index() * 8 + round) as f32;
            let pair = u64::from(fitness(mine).to_bits()) << 32 | u64::from(mine.to_bits());
            best.packed.fetch_min(0, pair, Order::Relaxed, DEVICE);
            let seen = best.packed.atomic_load(0, Order::Relaxed, DEVICE);
            let (f, x) = (f32::from_bits((seen >> 32) as u32), f32::from_bits(seen as u32));
            if f != fitness(x) {
                best.torn.fetch_add(0, 1, Order::Relaxed, DEVICE);
            }
        }
    }
});

/// Of 32 runs, how many show a pair that belongs to no particle.
fn torn_runs<K: Kernel<Arguments = Best>>() -> usize {
    let torn = |seed: &u64| {
        let (mut f, mut x, mut packed, mut torn) = ([fitness(0.0)], [0.0], [u64::MAX], [0]);
        let best = Best {
            fitness: writable(&mut f),
            position: writable(&mut x),
            packed: writable(&mut packed),
            torn: writable(&mut torn),
        };
        launch::<K>(Emulator::new(*seed).tolerate_global_races(), 4, 32, best).unwrap();
        torn != [0]
    };
    SEEDS.filter(torn).count()
}

#[test]
fn a_torn_best_shows_and_a_packed_one_is_never_torn() {
    assert!(torn_runs::<TornBest>() > 0);
    assert_eq!(torn_runs::<PackedBest>(), 0);
}

#[test]
fn a_torn_best_is_a_race() {
    for seed in SEEDS {
        let (mut f, mut x, mut packed, mut torn) = ([0.0], [0.0], [0], [0]);
        let best = Best {
            fitness: writable(&mut f),
            position: writable(&mut x),
            packed: writable(&mut packed),
            torn: writable(&mut torn),
        };
        let fault = fault::<TornBest>(seed, 4, 32, best);
        assert!(matches!(fault, Fault::GlobalRace { .. }), "{fault}");
    }
}

// ---- planted bugs ----

kernel!(
    Neighbour,
    "test_neighbour",
    |with_barrier: bool| {
        let (me, all) = (thread::index() as usize, thread::block_threads() as usize);
        let shared = Shared::<u32>::at(0, all as u32);
        shared.store(me, 0);
        block::barrier();
        shared.store(me, me as u32);
        if *with_barrier {
            block::barrier();
        }
        let seen = shared.load((me + 32) % all);
        assert!(!with_barrier || seen as usize == (me + 32) % all);
    },
    fn shared_bytes(threads: u32, _: &Self::Arguments) -> u32 {
        4 * threads
    }
);

#[test]
fn a_missing_barrier_is_a_race_for_every_seed() {
    for seed in SEEDS {
        run::<Neighbour>(seed, 2, 64, true);
        let fault = fault::<Neighbour>(seed, 2, 64, false);
        let Fault::SharedRace { first, second, .. } = &fault else { panic!("{fault}") };
        assert_ne!(first.thread.thread, second.thread.thread);
        let text = fault.to_string();
        assert!(text.contains("no barrier between"), "{text}");
        assert!(text.contains("need a `block::barrier`") && text.contains("tests.rs"), "{text}");
    }
}

/// Threads that count; how the sum is read.
#[derive(Clone, Copy, PartialEq)]
enum Count {
    Ordered,
    NoBarrierBefore,
    NoBarrierAfter,
    Uninitialised,
}

kernel!(
    Tallied,
    "test_tallied",
    |how: Count| {
        let (me, all) = (thread::index(), thread::block_threads());
        let (count, places) = (Shared::<u32>::at(0, 1), Shared::<u32>::at(4, all));
        if me == 0 && *how != Count::Uninitialised {
            count.store(0, 10);
        }
        if *how != Count::NoBarrierBefore {
            block::barrier();
        }
        let place = count.fetch_add(0, 1) - 10;
        places.store(place as usize, me);
        if *how != Count::NoBarrierAfter {
            block::barrier();
        }
        let counted = count.load(0);
        if *how == Count::Ordered {
            assert_eq!(counted, 10 + all);
            let sum = (0..all).fold(0, |sum, place| sum + places.load(place as usize));
            assert_eq!(sum, all * (all - 1) / 2);
        }
    },
    fn shared_bytes(threads: u32, _: &Count) -> u32 {
        4 + 4 * threads
    }
);

#[test]
fn threads_count_in_shared_memory_and_race_with_who_does_not() {
    for seed in SEEDS {
        run::<Tallied>(seed, 2, 96, Count::Ordered);
        for how in [Count::NoBarrierBefore, Count::NoBarrierAfter] {
            let fault = fault::<Tallied>(seed, 2, 96, how);
            let is_expected = matches!(
                fault,
                // Whoever counts first may do so before anything lies there.
                Fault::SharedRace { .. } | Fault::SharedUninitialised { .. }
            );
            assert!(is_expected, "{fault}");
        }
        let fault = fault::<Tallied>(seed, 1, 32, Count::Uninitialised);
        assert!(matches!(fault, Fault::SharedUninitialised { .. }), "{fault}");
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Between {
    Sync,
    Shuffle,
}

kernel!(
    NeighbourLane,
    "test_neighbour_lane",
    |between: Between| {
        let (me, lane) = (thread::index(), warp::lane());
        let shared = Shared::<u32>::at(0, thread::block_threads());
        shared.store(me as usize, me);
        match between {
            Between::Sync => warp::sync(),
            Between::Shuffle => assert_eq!(warp::shuffle(lane, lane), lane),
        }
        assert_eq!(shared.load((me - lane + (lane + 1) % 32) as usize) % 32, (lane + 1) % 32);
    },
    fn shared_bytes(threads: u32, _: &Self::Arguments) -> u32 {
        4 * threads
    }
);

#[test]
fn inside_a_warp_a_sync_orders_memory_and_a_shuffle_does_not() {
    for seed in SEEDS {
        run::<NeighbourLane>(seed, 1, 64, Between::Sync);
        let fault = fault::<NeighbourLane>(seed, 1, 64, Between::Shuffle);
        assert!(matches!(fault, Fault::SharedRace { .. }), "{fault}");
    }
}

kernel!(
    ManyReaders,
    "test_many_readers",
    |writer: u32| {
        let shared = Shared::<u32>::at(0, 1);
        if thread::index() == 0 {
            shared.store(0, 1);
        }
        block::barrier();
        shared.load(0);
        warp::sync();
        // Every reader of this warp is behind the sync; those of the other warps are not.
        if thread::index() == *writer {
            shared.store(0, 2);
        }
    },
    fn shared_bytes(_: u32, _: &Self::Arguments) -> u32 {
        4
    }
);

#[test]
fn readers_of_other_warps_race_with_a_writer() {
    for seed in SEEDS {
        run::<ManyReaders>(seed, 1, 32, 5);
        let fault = fault::<ManyReaders>(seed, 1, 96, 37);
        let Fault::SharedRace { first, second, .. } = fault else { panic!("{fault}") };
        assert_ne!(first.thread.thread / 32, second.thread.thread / 32);
    }
}

#[derive(Clone, Copy, Debug)]
enum Bug {
    BarrierInBranch,
    BarriersOfTwoBranches,
    ShuffleAgainstBallot,
    EarlyReturn,
    EarlyReturnFromWarp,
    SpinForEver,
    SpinWithoutSaying,
    ShuffleTooFar,
    GlobalBounds,
    ReadOnlyBounds,
    SharedBounds,
    SharedArrayTooLong,
    SharedMisaligned,
    Uninitialised,
    GlobalNeighbour,
    ReadOnlyChanged,
    PlainBesideAtomic,
    Overflow,
}

const WORDS: u32 = 64;

kernel!(
    Planted,
    "test_planted",
    |a: (Bug, ReadWrite<u32>, ReadOnly<u32>)| {
        let (bug, out, same) = *a;
        let me = thread::index();
        let shared = Shared::<u32>::at(0, WORDS);
        match bug {
            Bug::BarrierInBranch => {
                if me < 16 {
                    block::barrier();
                }
                warp::sync();
            }
            Bug::BarriersOfTwoBranches => {
                if me < 32 {
                    block::barrier();
                    out.store(0, 1);
                } else {
                    block::barrier();
                }
            }
            Bug::ShuffleAgainstBallot => {
                if me.is_multiple_of(2) {
                    warp::shuffle_xor(me, 2);
                } else {
                    warp::ballot(true);
                }
            }
            Bug::EarlyReturn => {
                if me != 3 {
                    block::barrier();
                }
            }
            Bug::EarlyReturnFromWarp => {
                if me != 3 {
                    warp::reduce(me, u32::min);
                }
            }
            Bug::SpinForEver => {
                while out.atomic_load(0, Order::Acquire, DEVICE) == 0 {
                    spin();
                }
            }
            Bug::SpinWithoutSaying => {
                while out.compare_exchange(0, 1, 2, Order::Relaxed, DEVICE) == 0 {}
            }
            Bug::ShuffleTooFar => {
                warp::shuffle(me, 32);
            }
            Bug::GlobalBounds => out.store(out.len() + me as usize, 1),
            Bug::ReadOnlyBounds => {
                same.at(same.len());
            }
            Bug::SharedBounds => shared.store(WORDS as usize, 1),
            Bug::SharedArrayTooLong => {
                Shared::<u64>::at(0, 1000).store(WORDS as usize / 2, 1);
            }
            Bug::SharedMisaligned => Shared::<u64>::at(4, 1).store(0, 1),
            Bug::Uninitialised => {
                shared.load(me as usize);
            }
            Bug::GlobalNeighbour => {
                out.store(me as usize, me);
                out.load(((me + 1) % thread::block_threads()) as usize);
            }
            Bug::ReadOnlyChanged => {
                out.store(me as usize, me);
                block::barrier();
                same.at(((me + 1) % thread::block_threads()) as usize);
            }
            Bug::PlainBesideAtomic => {
                if me == 7 {
                    out.load(0);
                } else {
                    out.fetch_add(0, 1, Order::Relaxed, DEVICE);
                }
            }
            Bug::Overflow => {
                assert!(me < 60, "sixty are enough");
            }
        }
    },
    fn shared_bytes(_: u32, _: &Self::Arguments) -> u32 {
        4 * WORDS
    }
);

/// Asserts that `bug` ends the launch, for every seed, with a fault for which `expected` is true
/// and whose sentence contains `text`.
fn assert_caught(bug: Bug, text: &str, expected: impl Fn(&Fault) -> bool) {
    for seed in 0..8 {
        let mut out = vec![0; 64];
        let buffer = writable(&mut out);
        // SAFETY: as in `readable`; the kernel that also stores through `out` is a planted bug.
        let same = unsafe { ReadOnly::new(out.as_ptr(), out.len()) };
        let fault = fault::<Planted>(seed, 1, 64, (bug, buffer, same));
        assert!(expected(&fault), "{bug:?}, seed {seed}: {fault:?}");
        assert!(fault.to_string().contains(text), "{bug:?}, seed {seed}: {fault}");
    }
}

/// A pattern as a predicate.
macro_rules! is {
    ($pattern:pat) => {
        |fault: &Fault| matches!(fault, $pattern)
    };
}

#[test]
fn divergence_is_caught() {
    let either = is!(Fault::Diverged { .. } | Fault::Left { .. });
    assert_caught(Bug::BarrierInBranch, "`block::barrier`", either);
    assert_caught(Bug::BarriersOfTwoBranches, "block::barrier", is!(Fault::Diverged { .. }));
    assert_caught(Bug::ShuffleAgainstBallot, "warp::ballot", is!(Fault::Diverged { .. }));
    let gone = "thread 3 (warp 0, lane 3) returned while";
    assert_caught(Bug::EarlyReturn, gone, is!(Fault::Left { .. }));
    assert_caught(Bug::EarlyReturnFromWarp, gone, is!(Fault::Left { .. }));
}

#[test]
fn endless_spins_are_caught() {
    assert_caught(Bug::SpinForEver, "tests.rs", is!(Fault::Livelock { site: Some(_), .. }));
    assert_caught(Bug::SpinWithoutSaying, "20000 switches", is!(Fault::Livelock { .. }));
}

#[test]
fn bad_accesses_are_caught() {
    assert_caught(Bug::GlobalBounds, "of 64", is!(Fault::Panic { .. }));
    assert_caught(Bug::GlobalBounds, "tests.rs", is!(Fault::Panic { .. }));
    assert_caught(Bug::ReadOnlyBounds, "load 64 of 64", is!(Fault::Panic { .. }));
    assert_caught(Bug::SharedBounds, "store 64 of 64", is!(Fault::Panic { .. }));
    let past = "bytes 256..264";
    assert_caught(Bug::SharedArrayTooLong, past, is!(Fault::SharedBounds { .. }));
    assert_caught(Bug::SharedMisaligned, "multiple", is!(Fault::Panic { .. }));
    assert_caught(Bug::Uninitialised, "before", is!(Fault::SharedUninitialised { .. }));
    assert_caught(Bug::ShuffleTooFar, "below 32", is!(Fault::Panic { .. }));
    assert_caught(Bug::Overflow, "sixty are enough", is!(Fault::Panic { .. }));
}

#[test]
fn certain_races_in_device_memory_are_caught() {
    assert_caught(Bug::GlobalNeighbour, "one word", is!(Fault::GlobalRace { .. }));
    assert_caught(Bug::PlainBesideAtomic, "one word", is!(Fault::GlobalRace { .. }));
    assert_caught(Bug::ReadOnlyChanged, "`ReadWrite`", is!(Fault::ReadOnlyChanged { .. }));
}

#[test]
fn impossible_launches_are_refused() {
    for threads in [0, 31, 1056] {
        let fault = fault::<Neighbour>(1, 1, threads, true);
        assert!(fault.to_string().contains(&format!("{threads} threads in a block")));
    }
    // Nothing to do is not a fault.
    assert_eq!(run::<Neighbour>(1, 0, 32, true), Report::default());
}

#[test]
#[should_panic(expected = "`thread::index` was called outside a launch")]
fn intrinsics_outside_a_launch_panic() {
    thread::index();
}

#[test]
fn plain_memory_works_outside_a_launch() {
    let mut values = [1u32, 2];
    let buffer = writable(&mut values);
    // SAFETY: two elements, and one thread.
    unsafe { buffer.store(0, buffer.load(1) + 5) };
    // SAFETY: it has elements.
    assert_eq!(unsafe { readable(&values).at(0) }, 7);
}

/// Adds one when it is dropped, with a word.
struct Counted(ReadWrite<u32>);

impl Drop for Counted {
    fn drop(&mut self) {
        // SAFETY: two elements.
        unsafe { self.0.fetch_add(1, 1, Order::AcquireRelease, DEVICE) };
    }
}

kernel!(Unwound, "test_unwound", |counts: ReadWrite<u32>| {
    let _counted = Counted(*counts);
    counts.fetch_add(0, 1, Order::Relaxed, DEVICE);
    // All wait here but one.
    if thread::index() != 50 {
        block::barrier();
    }
    panic!("the end");
});

#[test]
fn a_fault_unwinds_every_lane_that_began() {
    for seed in SEEDS {
        let mut counts = [0, 0];
        let fault = fault::<Unwound>(seed, 1, 256, writable(&mut counts));
        assert_eq!(fault.to_string().matches("the end").count(), 1, "{fault}");
        let [begun, dropped] = counts;
        // A lane may have been stopped on its way into the first word.
        assert!(begun > 0 && begun <= dropped && dropped <= 256, "{counts:?}");
    }
    // And the next launch is like any other.
    run::<Neighbour>(1, 2, 64, true);
}

kernel!(Switches, "test_switches", |out: ReadWrite<u32>| {
    let mine = thread::global_index() as usize;
    for _ in 0..500 {
        out.store(mine, out.load(mine) + 1);
    }
});

/// `cargo test -- --ignored --nocapture cost` tells what a switch and a word cost.
#[test]
#[ignore = "a measurement"]
fn cost_of_a_switch() {
    for (emulator, checks) in [
        (Emulator::new as fn(u64) -> Emulator, "with"),
        (|seed| Emulator::new(seed).tolerate_global_races(), "without"),
    ] {
        for seed in 0..6 {
            let mut out = vec![0; 8 * 256];
            let start = std::time::Instant::now();
            let report = launch::<Switches>(emulator(seed), 8, 256, writable(&mut out)).unwrap();
            let (time, words) = (start.elapsed().as_nanos() as f64, 1000.0 * report.lanes as f64);
            let switches = report.switches as f64;
            std::println!(
                "{:.1} ns a switch, {:.1} ns a word, {:.1} words between switches, {checks} checks",
                time / switches,
                time / words,
                words / switches
            );
        }
    }
}
