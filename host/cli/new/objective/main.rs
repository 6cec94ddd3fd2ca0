//! Looks for the minimum of the function in `ripple.rs`, on the GPU if there is one.

mod ripple;

use flockwork::{
    Result,
    backend::{Backend, Choice},
    swarm::{Problem, Search},
};
use ripple::Ripple;

fn main() -> Result<()> {
    let problem = Problem::new(Ripple, 16)?;
    let backend = problem.select(Choice::Auto, 0)?;
    println!("back end    {} ({})", backend.description(), backend.reason());
    let outcome = Search::new(problem).run_on(&backend, |_| {})?;
    println!("best value  {:e} after {} evaluations", outcome.value, outcome.evaluations);
    println!("at          {:.6?}", outcome.position);
    Ok(())
}

#[cfg(test)]
mod tests {
    use flockwork::{
        backend::{Cpu, Emulated},
        swarm::{Options, Outcome},
    };

    use super::*;

    fn problem() -> Problem {
        Problem::new(Ripple, 3).unwrap()
    }

    fn on(backend: &impl Backend) -> Outcome {
        let options = Options { particles: 40, iterations: 10, ..Options::default() };
        problem().optimize(&options, backend).unwrap()
    }

    /// The emulator runs the kernels lane by lane, and finds races and accesses out of bounds.
    #[test]
    fn the_kernels_give_the_same_bits_as_the_cpu() {
        let cpu = on(&Cpu::new(0).unwrap());
        let emulated = on(&Emulated::new(1, 32).with(Ripple));
        assert_eq!((emulated.value, emulated.position), (cpu.value, cpu.position));
    }

    #[test]
    fn a_gpu_gives_the_same_bits_as_the_cpu() {
        // There may be no driver, no GPU, or no kernels in this build.
        let Ok(gpu) = problem().select(Choice::Cuda, 0) else { return };
        let (cpu, gpu) = (on(&Cpu::new(0).unwrap()), on(&gpu));
        assert_eq!((gpu.value, gpu.position), (cpu.value, cpu.position));
    }
}
