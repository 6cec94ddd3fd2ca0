//! `flockwork generate`: data sets and graphs.

use std::path::PathBuf;

use clap::Subcommand;
use flockwork::{
    fit, io,
    paths::{Random, random},
};

use super::parse::bounds;

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
    /// A random graph: each edge is there with the same probability, and has a weight drawn uniformly.
    Graph {
        /// Number of vertices.
        #[arg(long, short = 'n', default_value_t = Random::default().vertices)]
        vertices: usize,
        /// The probability of an edge, from 0 to 1.
        #[arg(long, default_value_t = Random::default().density)]
        density: f64,
        /// The least and the greatest weight.
        #[arg(
            long,
            value_name = "LEAST,GREATEST",
            value_parser = bounds,
            default_value = "1,100",
            allow_hyphen_values = true
        )]
        weights: (f64, f64),
        /// Real weights instead of whole numbers.
        #[arg(long)]
        real: bool,
        /// Every edge leads both ways.
        #[arg(long)]
        undirected: bool,
        /// Seed of edges and weights.
        #[arg(long, default_value_t = Random::default().seed)]
        seed: u64,
        /// The file to write: .gr (DIMACS), .mtx (Matrix Market), .npy (a dense matrix), and a list of
        /// edges otherwise (.csv with commas).
        file: PathBuf,
    },
}

pub fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Calibration { dims, rows, seed, file } => {
            let table = fit::synthetic(*dims, *rows, *seed)?;
            io::write_hosala(file, &table)?;
            super::print(&format!(
                "{}: {rows} rows of {dims} coefficients and a target\n",
                file.display()
            ))
        }
        &Command::Graph { vertices, density, weights, real, undirected, seed, ref file } => {
            let kind = Random { vertices, density, weights, whole: !real, undirected, seed };
            let graph = random(&kind)?;
            io::write_graph(file, &graph)?;
            super::print(&format!(
                "{}: {vertices} vertices, {} directed edges\n",
                file.display(),
                graph.edges()
            ))
        }
    }
}
