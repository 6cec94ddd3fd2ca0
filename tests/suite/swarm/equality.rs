//! Same seed, same bits: on the CPU with any vector width and number of threads, and with the GPU's
//! kernels in the emulator. `tests/gpu` has the same comparisons on a real GPU.

use flockwork::{
    backend::{Cooperation, Emulated, Strategy},
    registry::OBJECTIVES,
};
use flockwork_device::{
    objective::Reach,
    swarm::kernels::{resident, time_sliced},
};

use crate::common::{
    Case, Variant, all_same_bits, all_same_bits_of, cpu, cpus, problem, same_bits, same_bits_of,
    same_bits_on_all_of, variants,
};

#[test]
fn every_kernel_in_the_emulator() {
    let sizes = [
        Case { particles: 1, dims: 1, looks: &[1, 10] },
        Case { particles: 33, dims: 7, looks: &[1, 10] },
        Case { particles: 200, dims: 65, looks: &[1, 3] },
    ];
    for (seed, case) in sizes.into_iter().enumerate() {
        for (threads, strategy) in [
            (32, None),
            (128, None),
            (32, Some(Strategy::Streaming)),
            (64, Some(Strategy::Streaming)),
        ] {
            let emulated = Emulated::new(seed as u64, threads).with_strategy(strategy);
            all_same_bits(case, &cpu(), &emulated).unwrap();
        }
    }
}

/// In few enough dimensions that what particles share stays in registers, with several particles
/// per thread.
#[test]
fn every_function_in_few_dimensions() {
    for dims in 1..=3 {
        for (threads, particles) in [(32, 200), (64, 333)] {
            let case = Case { particles, dims, looks: &[1, 2, 12] };
            let emulated = Emulated::new(u64::from(dims), threads);
            let emulated = emulated.with_shared_memory(2 << 20).with_strategy(Strategy::Resident);
            all_same_bits(case, &cpu(), &emulated).unwrap();
        }
    }
}

/// 2 to 25 dimensions have a function of the benchmark each, in one kernel.
#[test]
fn every_function_of_the_benchmark_in_the_emulator() {
    let mut functions = Vec::new();
    for dims in 2..26 {
        let case = Case { particles: 33, dims, looks: &[1, 3] };
        functions.push(problem("bbob", dims).data()[0]);
        same_bits("bbob", case, &cpu(), &Emulated::new(u64::from(dims), 32)).unwrap();
    }
    functions.sort_by(f64::total_cmp);
    assert!(functions.into_iter().eq((1..25).map(f64::from)));
}

/// With as much shared memory as whoever shares particles wants.
fn sharing(seed: u64, cooperation: Cooperation) -> Emulated {
    Emulated::new(seed, 32).with_shared_memory(2 << 20).with_cooperation(cooperation)
}

/// With one and with many runs of terms, the last of them shorter. (Every fourth iteration is
/// recorded; fewer than four at once do not justify the way to the chip.)
#[test]
fn every_function_whoever_shares_a_particle() {
    let sizes = [
        Case { particles: 5, dims: 1, looks: &[1, 10] },
        Case { particles: 33, dims: 7, looks: &[1, 8] },
        Case { particles: 70, dims: 65, looks: &[1, 8] },
        Case { particles: 3, dims: 300, looks: &[1, 8] },
    ];
    for (seed, case) in sizes.into_iter().enumerate() {
        for cooperation in [Cooperation::Mod, Cooperation::Warp, Cooperation::Block] {
            all_same_bits(case, &cpu(), &sharing(seed as u64, cooperation)).unwrap();
        }
    }
}

/// Some particles on the chip, the others in device memory.
#[test]
fn every_function_in_tiers() {
    let sizes = [
        (Case { particles: 600, dims: 7, looks: &[1, 12] }, 12 << 10),
        (Case { particles: 200, dims: 65, looks: &[1, 8] }, 64 << 10),
    ];
    for (seed, (case, room)) in sizes.into_iter().enumerate() {
        for threads in [32, 64] {
            let emulated = Emulated::new(seed as u64, threads).with_shared_memory(room);
            all_same_bits(case, &cpu(), &emulated.with_strategy(Strategy::Tiered)).unwrap();
        }
    }
}

/// A single warp that does not wait for others, with any number of fours of dimensions and any runs
/// of terms, in boxes with equal and with different sides.
#[test]
fn every_function_in_turns() {
    for (nth, dims) in [6, 9, 12, 18, 21, 33, 36, 48, 129, 132, 261].into_iter().enumerate() {
        let emulated = Emulated::new(u64::from(dims), 32).with_cooperation(Cooperation::Thread);
        let emulated = emulated.with_shared_memory(1 << 20);
        let case = Case { particles: 17, dims, looks: &[1, 6] };
        let apart = Variant { apart: true, uneven: nth % 2 == 1, ..Variant::usual() };
        all_same_bits_of(&apart, case, &cpu(), &emulated).unwrap();
    }
}

/// Four threads per particle, one particle after the other, forth and back, with any number of
/// fours of dimensions and any runs of terms, the last of them short or whole.
#[test]
fn every_function_by_four_threads() {
    for (nth, dims) in [37, 46, 64, 129, 260].into_iter().enumerate() {
        let emulated = Emulated::new(u64::from(dims), [32, 64][nth % 2]);
        let emulated = emulated.with_strategy(Strategy::Streaming);
        let case = Case { particles: 70 - 7 * nth as u32, dims, looks: &[1, 2, 4] };
        let variant = Variant { uneven: nth == 1, ..Variant::usual() };
        all_same_bits_of(&variant, case, &cpu(), &emulated).unwrap();
    }
}

#[test]
fn four_threads_under_many_schedules() {
    for seed in 0..60 {
        let particles = 1 + 13 * (seed as u32 % 17);
        let case = Case { particles, dims: 37 + 5 * (seed as u32 % 29), looks: &[1, 7] };
        let objective = ["rastrigin", "rosenbrock", "ackley", "griewank"][seed as usize % 4];
        let emulated = Emulated::new(seed, [32, 64][seed as usize % 2]);
        let emulated = emulated.with_strategy(Strategy::Streaming);
        same_bits(objective, case, &cpu(), &emulated).unwrap();
    }
}

/// All particles on the chip without their personal bests, which do not fit: a single warp has the
/// only time slice.
#[test]
fn every_function_in_the_only_turn() {
    let apart = Variant { apart: true, ..Variant::usual() };
    for dims in [6, 9, 15, 42] {
        // The words kept by a function whose sum has up to two.
        let kept = |words| time_sliced::kept_words(Reach::Own, (dims, words), dims);
        let rooms = [
            time_sliced::shared_bytes::<f32>(32, dims, 1, kept(2)),
            time_sliced::shared_bytes::<f64>(32, dims, 1, kept(4)),
        ];
        let whole = |threads| resident::shared_bytes::<f32>(threads, dims, 1, None);
        assert!(whole(32) > rooms[0], "{dims} dimensions fit as a whole");
        for room in rooms.map(Option::unwrap) {
            let emulated = Emulated::new(u64::from(room), 32).with_shared_memory(room);
            let emulated = emulated.with_cooperation(Cooperation::Thread);
            let case = Case { particles: 29, dims, looks: &[1, 12] };
            all_same_bits_of(&apart, case, &cpu(), &emulated).unwrap();
        }
    }
}

/// With more chunks than the threads of a block serve at once.
#[test]
fn whole_runs_of_one_chunk_after_the_other() {
    for seed in 0..4 {
        for (particles, dims, threads) in [(70, 65, 64), (200, 65, 128), (150, 101, 64)] {
            let case = Case { particles, dims, looks: &[1, 12] };
            let emulated = Emulated::new(seed, threads).with_strategy(Strategy::Resident);
            let emulated = emulated.with_shared_memory(2 << 20);
            for objective in ["rastrigin", "ackley"] {
                same_bits(objective, case, &cpu(), &emulated).unwrap();
            }
        }
    }
}

#[test]
fn many_sizes_under_many_schedules() {
    for seed in 0..60 {
        let dims = 2 + 11 * (seed as u32 % 23);
        let case = Case { particles: 1 + 7 * (seed as u32 % 13), dims, looks: &[1, 9] };
        let objective = ["rastrigin", "rosenbrock", "ackley", "griewank"][seed as usize % 4];
        let cooperation = Cooperation::ALL[seed as usize % 5];
        same_bits(objective, case, &cpu(), &sharing(seed, cooperation)).unwrap();
    }
}

/// Blocks meet after every iteration, in many orders.
#[test]
fn blocks_that_wait_know_the_same_best_under_many_schedules() {
    for seed in 0..60 {
        let particles = 33 + 7 * (seed as u32 % 11);
        let case = Case { particles, dims: 1 + seed as u32 % 5, looks: &[1, 25] };
        let objective = ["sphere", "rastrigin", "rosenbrock"][seed as usize % 3];
        let dims = case.dims.max(2);
        let emulated = Emulated::new(seed, [32, 64][seed as usize % 2]);
        same_bits(objective, Case { dims, ..case }, &cpu(), &emulated).unwrap();
    }
}

#[test]
fn a_thousand_particles_in_the_emulator() {
    let case = Case { particles: 1000, dims: 129, looks: &[1, 2] };
    same_bits("rastrigin", case, &cpu(), &Emulated::new(7, 256)).unwrap();
}

#[test]
fn a_thousand_iterations_in_the_emulator() {
    let case = Case { particles: 33, dims: 7, looks: &[1, 10, 1000] };
    same_bits("rosenbrock", case, &cpu(), &Emulated::new(3, 32)).unwrap();
    // Each iteration is a launch: what a launch leaves to the next shows soon or never.
    let case = Case { looks: &[1, 10, 200], ..case };
    let streaming = Emulated::new(5, 32).with_strategy(Strategy::Streaming);
    same_bits("rosenbrock", case, &cpu(), &streaming).unwrap();
    // A single particle converges within a hundred.
    let case = Case { particles: 1, dims: 1, looks: &[1, 10, 120] };
    all_same_bits(case, &cpu(), &Emulated::new(4, 32)).unwrap();
}

#[test]
fn any_number_of_threads_and_vector_width() {
    let (one, others) = cpus();
    for case in [
        Case { particles: 1, dims: 1, looks: &[1, 10, 300] },
        Case { particles: 33, dims: 7, looks: &[1, 10, 100] },
        // Enough to be shared among threads.
        Case { particles: 300, dims: 129, looks: &[1, 10] },
    ] {
        for info in OBJECTIVES {
            same_bits_on_all_of(&Variant::usual(), info.name, case, &one, &others).unwrap();
        }
    }
}

/// Rosenbrock reads neighbouring coordinates, Lennard-Jones any: rotation and rounding must reach
/// both.
#[test]
fn every_rule_neighbourhood_and_edge_in_the_emulator() {
    let mut wrong = String::new();
    for (nth, variant) in variants().iter().enumerate() {
        let objective = ["rosenbrock", "lennard_jones", "rastrigin"][nth % 3];
        let case = Case { particles: 77, dims: 5, looks: &[1, 2, 12] };
        let emulated = Emulated::new(nth as u64, 64);
        if let Err(what) = same_bits_of(variant, objective, case, &cpu(), &emulated) {
            wrong += &format!("{what}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_rule_on_any_number_of_threads_and_vector_width() {
    let (one, others) = cpus();
    for (nth, variant) in variants().iter().enumerate() {
        let objective = ["ackley", "lennard_jones"][nth % 2];
        let case = Case { particles: 300, dims: 12, looks: &[1, 10] };
        same_bits_on_all_of(variant, objective, case, &one, &others).unwrap();
        // Enough to be shared among threads.
        let case = Case { particles: 2800, dims: 12, looks: &[1, 3] };
        same_bits_of(variant, objective, case, &one, others.last().unwrap()).unwrap();
    }
}
