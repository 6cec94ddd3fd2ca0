//! `flockwork generate`: data sets.

use std::path::PathBuf;

use clap::Subcommand;
use flockwork::{fit, io};

#[derive(Subcommand)]
pub enum Command {
    /// A table for `optimize calibration`, whose minimum is 0 at (1, ..., 1).
    Calibration {
        /// Number of parameters n.
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
        dims: u32,
        /// Number of data rows P.
        #[arg(long)]
        rows: usize,
        /// Seed of the coefficients.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// The file to write: n * P coefficients, row by row, then P targets, little-endian f64.
        file: PathBuf,
    },
}

pub fn run(command: &Command) -> anyhow::Result<()> {
    let Command::Calibration { dims, rows, seed, file } = command;
    let table = fit::synthetic(*dims, *rows, *seed)?;
    io::write_hosala(file, &table)?;
    super::print(&format!("{}: {rows} rows of {dims} coefficients and a target\n", file.display()))
}
