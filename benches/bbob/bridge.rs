//! Runs flockwork once on a function that the parent process evaluates: see `run.py` beside it.
//!
//! Arguments: preset, particles (0 for the preset's), dimensions, seed, evaluations, target. The
//! box is [-5, 5] in each dimension. Writes to standard output the number of points as a 32-bit
//! word, then their coordinates in f64; expects as many values on standard input. A count of 0
//! means the end. All numbers are in the machine's byte order.

use std::{
    io::{self, Read, Write},
    sync::Mutex,
};

use flockwork::{
    Result,
    backend::Cpu,
    swarm::{Options, Precision, Preset, Problem, Stop},
};

/// Both directions of the pipe to the parent.
struct Parent {
    input: io::Stdin,
    output: io::Stdout,
}

impl Parent {
    fn ask(&mut self, count: u32, points: &[f64], values: &mut [f64]) -> io::Result<()> {
        let mut message = count.to_ne_bytes().to_vec();
        message.extend_from_slice(bytemuck::cast_slice(points));
        self.output.write_all(&message)?;
        self.output.flush()?;
        self.input.read_exact(bytemuck::cast_slice_mut(values))
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [preset, particles, dims, seed, evaluations, target] = &arguments[..] else {
        panic!("six arguments: preset particles dims seed evaluations target");
    };
    let number = |text: &str| text.parse::<u64>().expect("a whole number");
    let preset = Options::preset(preset.parse::<Preset>()?);
    let particles = match number(particles) as u32 {
        0 => preset.particles,
        given => given,
    };
    let options = Options {
        particles,
        // The number of iterations that a falling inertia weight is spread over.
        iterations: match preset.restart {
            Some(_) => u32::MAX - 1,
            None => (number(evaluations) / u64::from(particles)).saturating_sub(1) as u32,
        },
        seed: number(seed),
        precision: Some(Precision::F64),
        stop: Stop {
            evaluations: Some(number(evaluations)),
            target: Some(target.parse().expect("a number")),
            ..preset.stop
        },
        ..preset
    };
    let parent = Mutex::new(Parent { input: io::stdin(), output: io::stdout() });
    let dims = number(dims) as usize;
    let problem =
        Problem::from_batch_fn(vec![-5.0; dims], vec![5.0; dims], move |points, values| {
            let mut parent = parent.lock().expect("no other thread has failed");
            // If the parent is gone, there is nobody to report to.
            if parent.ask(values.len() as u32, points, values).is_err() {
                std::process::exit(1);
            }
        })?;
    problem.optimize(&options, &Cpu::new(1)?)?;
    let mut output = io::stdout();
    let end = output.write_all(&0u32.to_ne_bytes()).and_then(|()| output.flush());
    end.expect("the parent listens");
    Ok(())
}
