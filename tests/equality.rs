//! Same seed, same bits: on the CPU with any vector width and number of threads, and in the GPU's
//! kernels, run by the emulator. The same comparisons on a real GPU are in `gpu.rs`.

mod common;

use common::{Case, all_cpus, all_same_bits, cpu, same_bits};
use flockwork::backend::Emulated;

#[test]
fn every_kernel_in_the_emulator() {
    let sizes = [
        Case { particles: 1, dims: 1, looks: &[1, 10] },
        Case { particles: 33, dims: 7, looks: &[1, 10] },
        Case { particles: 200, dims: 65, looks: &[1, 3] },
    ];
    for (seed, case) in sizes.into_iter().enumerate() {
        for threads in [32, 128] {
            let emulated = Emulated::new(seed as u64, threads);
            all_same_bits(case, &cpu(), &emulated).unwrap();
        }
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
    let case = Case { particles: 1, dims: 1, looks: &[1, 10, 1000] };
    all_same_bits(case, &cpu(), &Emulated::new(4, 32)).unwrap();
}

#[test]
fn any_number_of_threads_and_vector_width() {
    let reference = cpu();
    for other in all_cpus() {
        for case in [
            Case { particles: 1, dims: 1, looks: &[1, 10, 1000] },
            Case { particles: 33, dims: 7, looks: &[1, 10, 200] },
            Case { particles: 1000, dims: 129, looks: &[1, 10] },
        ] {
            all_same_bits(case, &reference, &other).unwrap();
        }
    }
}
