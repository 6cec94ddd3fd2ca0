//! Fits the model in `decay.rs` to data, on the GPU if there is one and it is worth it.

mod decay;

use decay::Decay;
use flockwork::{
    Result,
    backend::{Backend, Choice},
    fit::{Data, Fit},
};

/// Pairs of x and y: replace them by yours.
fn data() -> Result<Data> {
    let x = (0..200).map(|i| 0.05 * f64::from(i));
    // With an error that has no pattern.
    let error = |i: usize| 0.02 * ((i * 7919 % 101) as f64 / 50.0 - 1.0);
    Data::pairs(x.enumerate().map(|(i, x)| (x, 3.0 * (-0.7 * x).exp() + 0.5 + error(i))))
}

fn main() -> Result<()> {
    let fit = Fit::new(Decay, data()?)?;
    let backend = fit.select(Choice::Auto, 0)?;
    println!("back end  {} ({})", backend.description(), backend.reason());
    let fitted = fit.run_on(&backend, |_| {})?;
    for parameter in &fitted.parameters {
        println!("{:8}  {:.6} +- {:.6}", parameter.name, parameter.value, parameter.error);
    }
    println!("residual standard deviation {:.6}", fitted.deviation);
    Ok(())
}

#[cfg(test)]
mod tests {
    use flockwork::{
        backend::{Cpu, Emulated},
        fit::Fitted,
    };

    use super::*;

    fn fit() -> Fit {
        Fit::new(Decay, data().unwrap()).unwrap().with(|o| (o.particles, o.iterations) = (40, 3))
    }

    fn on(backend: &impl Backend) -> Fitted {
        fit().run_on(backend, |_| {}).unwrap()
    }

    /// The emulator runs the kernels lane by lane, and finds races and accesses out of bounds.
    #[test]
    fn the_kernels_give_the_same_bits_as_the_cpu() {
        let emulated = on(&Emulated::new(1, 32).with_model(Decay));
        assert_eq!(emulated.values(), on(&Cpu::new(0).unwrap()).values());
    }

    #[test]
    fn a_gpu_gives_the_same_bits_as_the_cpu() {
        // There may be no driver, no GPU, or no kernels in this build.
        let Ok(gpu) = fit().select(Choice::Cuda, 0) else { return };
        assert_eq!(on(&gpu).values(), on(&Cpu::new(0).unwrap()).values());
    }
}
