//! Swarms have the CPU's bits, however they are computed.

use flockwork::{
    backend::{Cooperation, Cuda, Strategy},
    registry::OBJECTIVES,
};
use libtest_mimic::Trial;

use crate::common::{Case, Variant, cpu, same_bits, same_bits_of, variants};

/// Every function, strategy, cooperation and rule: the bits of the CPU.
pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    let sizes = [
        Case { particles: 1, dims: 1, looks: &[1, 10, 1000] },
        Case { particles: 33, dims: 7, looks: &[1, 10, 1000] },
        Case { particles: 1000, dims: 129, looks: &[1, 10, 1000] },
        Case { particles: 70_001, dims: 3, looks: &[1, 10, 100] },
    ];
    for info in OBJECTIVES {
        for case in sizes {
            let Case { particles, dims, .. } = case;
            // All pairs of 43 atoms, or 70 rows, for this many particles take the CPU too long.
            let slow = info.name == "lennard_jones" && particles == 1000;
            let case = if slow { Case { looks: &[1, 10], ..case } } else { case };
            trials.push(Trial::test(
                format!("same_bits_as_cpu::{}_{particles}x{dims}", info.name),
                move || Ok(same_bits(info.name, case, &cpu(), &Cuda::open(0)?)?),
            ));
            trials.push(Trial::test(
                format!("same_bits_streaming::{}_{particles}x{dims}", info.name),
                move || {
                    let gpu = Cuda::open(0)?.with_strategy(Strategy::Streaming);
                    Ok(same_bits(info.name, case, &cpu(), &gpu)?)
                },
            ));
        }
    }
    for info in OBJECTIVES {
        for cooperation in
            [Cooperation::Thread, Cooperation::Mod, Cooperation::Warp, Cooperation::Block]
        {
            let name = format!("same_bits_with_{cooperation}_a_particle::{}", info.name);
            trials.push(Trial::test(name, move || {
                let gpu = Cuda::open(0)?.with_cooperation(cooperation);
                for case in [
                    Case { particles: 70, dims: 65, looks: &[1, 300] },
                    Case { particles: 9, dims: 256, looks: &[1, 100] },
                    Case { particles: 3001, dims: 40, looks: &[1, 20] },
                ] {
                    // All pairs of 85 atoms take the CPU too long, and 32 particles in 256
                    // dimensions too much memory.
                    let slow = info.name == "lennard_jones" && case.particles != 70;
                    if !slow && (cooperation != Cooperation::Mod || case.dims != 256) {
                        same_bits(info.name, case, &cpu(), &gpu)?;
                    }
                }
                Ok(())
            }));
        }
    }
    for threads in [32, 64, 128, 256, 512] {
        trials.push(Trial::test(format!("same_bits_in_blocks_of_{threads}"), move || {
            let case = Case { particles: 3001, dims: 33, looks: &[1, 50] };
            let gpu = Cuda::open(0)?.with_block_threads(threads);
            for objective in ["rastrigin", "ackley"] {
                same_bits(objective, case, &cpu(), &gpu)?;
            }
            Ok(())
        }));
    }
    // Enough that a thread has several particles, in few enough dimensions for registers.
    for dims in 1..=3 {
        trials.push(Trial::test(format!("same_bits_in_few_dimensions_{dims}"), move || {
            let case = Case { particles: 300_001, dims, looks: &[1, 12] };
            for objective in ["rastrigin", "ackley", "sphere"] {
                same_bits(objective, case, &cpu(), &Cuda::open(0)?)?;
            }
            Ok(())
        }));
    }
    for info in OBJECTIVES {
        trials.push(Trial::test(format!("same_bits_in_tiers::{}", info.name), move || {
            let gpu = Cuda::open(0)?.with_strategy(Strategy::Tiered);
            let few = Case { particles: 400_001, dims: 9, looks: &[1, 12] };
            same_bits(info.name, few, &cpu(), &gpu)?;
            // All pairs of 43 atoms, or 70 rows, for this many particles take the CPU too long.
            if !matches!(info.name, "lennard_jones" | "calibration") {
                let many = Case { particles: 40_001, dims: 129, looks: &[1, 12] };
                same_bits(info.name, many, &cpu(), &gpu)?;
            }
            Ok(())
        }));
    }
    for info in OBJECTIVES {
        trials.push(Trial::test(format!("same_bits_in_turns::{}", info.name), move || {
            let gpu = Cuda::open(0)?.with_cooperation(Cooperation::Thread);
            // A single warp, which takes the only turn: with the last two because more do not fit, in f64, and in f32.
            for (nth, dims) in [6, 21, 48, 132, 351, 702].into_iter().enumerate() {
                let apart = Variant { apart: true, uneven: nth % 2 == 1, ..Variant::usual() };
                let case = Case { particles: 31, dims, looks: &[1, 12] };
                same_bits_of(&apart, info.name, case, &cpu(), &gpu)?;
            }
            Ok(())
        }));
    }
    for info in OBJECTIVES {
        trials.push(Trial::test(format!("same_bits_by_four_threads::{}", info.name), move || {
            let gpu = Cuda::open(0)?.with_strategy(Strategy::Streaming);
            // More rounds than one, forth and back, and fewer particles than threads.
            for (particles, dims, uneven) in
                [(150_001, 37, false), (3_001, 64, true), (517, 300, false), (1, 46, false)]
            {
                // All pairs of atoms, or rows, for this many particles take the CPU too
                // long.
                let slow = matches!(info.name, "lennard_jones" | "calibration");
                let particles = if slow { particles.min(517) } else { particles };
                let variant = Variant { uneven, ..Variant::usual() };
                let case = Case { particles, dims, looks: &[1, 2, 11] };
                same_bits_of(&variant, info.name, case, &cpu(), &gpu)?;
            }
            Ok(())
        }));
    }
    // With one warp, with three, and with many.
    for threads in [32, 96, 192, 512] {
        let name = format!("same_bits_streaming_in_blocks_of_{threads}");
        trials.push(Trial::test(name, move || {
            let gpu = Cuda::open(0)?.with_strategy(Strategy::Streaming);
            let gpu = gpu.with_block_threads(threads);
            for (objective, particles) in
                [("rastrigin", 3001), ("ackley", 3008), ("rosenbrock", 3009)]
            {
                for dims in [33, 67] {
                    let case = Case { particles, dims, looks: &[1, 50] };
                    same_bits(objective, case, &cpu(), &gpu)?;
                }
            }
            Ok(())
        }));
    }
    for (nth, variant) in variants().into_iter().enumerate() {
        let objective = ["rosenbrock", "lennard_jones", "rastrigin"][nth % 3];
        let name = format!("same_bits_by_{}_33x7", variant.name.replace([' ', ':', '-'], "_"));
        trials.push(Trial::test(name, move || {
            let gpu = Cuda::open(0)?;
            for case in [
                Case { particles: 33, dims: 7, looks: &[1, 10, 300] },
                Case { particles: 2000, dims: 21, looks: &[1, 20] },
            ] {
                same_bits_of(&variant, objective, case, &cpu(), &gpu)?;
            }
            Ok(())
        }));
    }
    trials
}
