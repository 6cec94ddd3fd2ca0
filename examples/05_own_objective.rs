//! Your own function as a type: with SIMD on the CPU, and as a GPU kernel.
//!
//! cargo run --release --example 05_own_objective

use flockwork::{
    Result,
    backend::{Cpu, Emulated},
    math::{Real, Scalar},
    objective::{Context, Data, Dimensions, Goal, Info, Objective, Optimum, Point, Reach},
    swarm::{Options, Problem},
};

/// A chain of masses between two posts, joined by springs: which heights have the least energy?
///
/// The type is passed to the kernel as it is: plain data, with C's memory layout.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct HangingChain;

/// Stiffness of a spring, in weights of a mass per unit of length.
const STIFFNESS: f64 = 2.0;

/// The height of a mass at rest, where the forces of two springs balance its weight.
fn at_rest(dims: u32, dimension: u32) -> f64 {
    let (left, right) = (f64::from(dimension + 1), f64::from(dims - dimension));
    -0.5 * left * right / STIFFNESS
}

impl Objective for HangingChain {
    const INFO: Info = Info {
        name: "hanging_chain",
        formula: "sum of k/2 (x_{d+1} - x_d)^2 + x_d",
        source: "an example",
        interval: (-30.0, 30.0),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Minimise,
        optimum: Optimum::Place {
            coordinate: at_rest,
            // At rest, the springs hold half of the energy that the masses have lost.
            value: |dims| (0..dims).map(|d| 0.5 * at_rest(dims, d)).sum(),
        },
        data: Data::None,
    };

    // A term for each spring, one more than there are masses. (A sum over dimensions needs neither
    // of these two: see `device/objective/sphere.rs`.)
    const REACH: Reach = Reach::All;

    fn terms<S: Scalar>(&self, context: &Context<S>) -> u32 {
        context.dims + 1
    }

    // The values of the terms are added up.
    type Partial<T: Real> = T;

    // `T` is one number in a GPU thread, and 64 side by side on a CPU. So there is no `if` on
    // values (use `T::select`), and code must be inlined to be compiled for vector instructions.
    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, context: &Context<T::Scalar>) -> T {
        let post = T::of(0.0);
        let left = if index == 0 { post } else { x.at(index - 1) };
        let right = if index == context.dims { post } else { x.at(index) };
        let stretch = right - left;
        // `fma` rounds once and `a * b + c` twice, on every machine.
        (T::of(0.5 * STIFFNESS) * stretch).fma(stretch, right)
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}

/// Runs it on the CPU, then with the GPU kernels.
pub fn main() -> Result<()> {
    let problem = Problem::new(HangingChain, 8)?.shifted(2)?.rotated(3)?;
    let known = problem.optimum().expect("stated above");

    // It runs on the CPU as it is, with all options.
    let options = Options { particles: 200, iterations: 600, ..Options::default() };
    let outcome = problem.optimize(&options, &Cpu::new(0)?)?;
    println!("the chain's least energy: {:.6}, by the formula {:.6}", outcome.value, known.value);
    assert!((outcome.value - known.value).abs() < 1e-3);

    // For a GPU its kernels are compiled by a build script of one line: `flockwork new NAME` writes a
    // crate that has it (docs/tutorials/objective.md). They can be run before that in the emulator, lane
    // by lane, which also finds races and accesses out of bounds. That is thousands of times slower, so
    // the numbers here are small.
    let options = Options { particles: 50, iterations: 20, ..options };
    let cpu = problem.optimize(&options, &Cpu::new(0)?)?;
    let kernels = Emulated::new(1, 64).with(HangingChain);
    let gpu = problem.optimize(&options, &kernels)?;
    println!("20 iterations on the CPU {:.9}, in GPU kernels {:.9}", cpu.value, gpu.value);
    assert_eq!((cpu.value, cpu.position), (gpu.value, gpu.position));
    Ok(())
}
