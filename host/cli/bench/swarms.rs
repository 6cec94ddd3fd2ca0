//! Which swarms to time and how to print them, for `bench swarm` and `bench evaluation`.

use clap::Args;
use flockwork::{
    objective::{Objective, Rastrigin},
    swarm::{Precision, Problem},
};

use crate::cli::machine::Machine;

#[derive(Args)]
pub struct Swarms {
    /// Compute in f64 instead of f32.
    #[arg(long)]
    f64: bool,
    /// The function to minimise or maximise.
    #[arg(long, value_name = "NAME", default_value = Rastrigin::INFO.name)]
    pub function: String,
    /// Measure only this size, as PARTICLESxDIMS; may be given several times.
    #[arg(long, value_parser = size)]
    size: Vec<(u32, u32)>,
    /// Print one JSON object per line.
    #[arg(long)]
    pub json: bool,
    // Last, because arguments after it would appear below its heading.
    #[command(flatten)]
    pub machine: Machine,
}

impl Swarms {
    pub fn precision(&self) -> Precision {
        if self.f64 { Precision::F64 } else { Precision::F32 }
    }

    /// The sizes asked for, or all of these.
    pub fn sizes<'a>(&'a self, all: &'a [(u32, u32)]) -> &'a [(u32, u32)] {
        if self.size.is_empty() { all } else { &self.size }
    }

    pub fn problem(&self, dims: u32) -> flockwork::Result<Problem> {
        Problem::named(&self.function, dims)?.shifted(1)
    }
}

fn size(text: &str) -> Result<(u32, u32), String> {
    text.split_once('x')
        .and_then(|(particles, dims)| Some((particles.parse().ok()?, dims.parse().ok()?)))
        .ok_or_else(|| format!("{text:?} is not a size; expected two numbers, such as 65536x32"))
}
