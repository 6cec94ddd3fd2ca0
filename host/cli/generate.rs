//! `flockwork generate`: writes data sets and graphs.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use flockwork::{
    fit, io,
    paths::{Random, random},
};

use super::{
    calibrations,
    outputs::{self, Format},
    parse::{bounds, positive, whole},
};

#[derive(Subcommand)]
pub enum Command {
    /// A table for `optimize calibration`, whose minimum is 0 at (1, ..., 1).
    #[command(visible_alias = "f5")]
    Calibration {
        /// Number of parameters n.
        #[arg(long, value_parser = positive::<u32>)]
        dims: u32,
        /// Number of data rows P.
        #[arg(long, value_parser = whole::<usize>)]
        rows: usize,
        /// Seed of the coefficients.
        #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
        seed: u64,
        /// The file to write: n * P coefficients, row by row, then P targets, little-endian f64
        /// [default: FunctionRsj_ConfigData_N_P.bin].
        file: Option<PathBuf>,
    },
    /// A table of the size of f6 in Hosala's thesis: 16 parameters and 16,384 rows, 2.2 MB.
    F6(Case),
    /// Like f6, with 65,536 rows: 8.9 MB.
    F7(Case),
    /// Like f6, with 272,144 rows: 37 MB.
    F8(Case),
    /// Like f6, with 1,088,576 rows: 148 MB.
    F9(Case),
    /// A table of the size of f10 in Hosala's thesis: 4 parameters and 6,980,011 rows, 279 MB. The
    /// thesis's own data, whose minimum is about 323,428,599, were never published; the minimum of
    /// this table is 0.
    F10(Case),
    /// A random graph: every edge exists with the same probability and has a uniformly drawn
    /// weight.
    Graph {
        /// Number of vertices.
        #[arg(long, short = 'n', default_value_t = Random::default().vertices, value_parser = whole::<usize>)]
        vertices: usize,
        /// Probability of an edge, from 0 to 1.
        #[arg(long, default_value_t = Random::default().density)]
        density: f64,
        /// Smallest and largest weight.
        #[arg(
            long,
            value_name = "LEAST,GREATEST",
            value_parser = bounds,
            default_value = "1,100",
            allow_hyphen_values = true
        )]
        weights: (f64, f64),
        /// Draw real weights instead of whole numbers.
        #[arg(long)]
        real: bool,
        /// Make every edge lead both ways.
        #[arg(long)]
        undirected: bool,
        /// Seed of the edges and weights.
        #[arg(long, default_value_t = Random::default().seed, value_parser = whole::<u64>)]
        seed: u64,
        /// The file to write. Its ending selects the format: .gr (DIMACS), .mtx (Matrix Market),
        /// .npy (a dense matrix), otherwise an edge list (with commas if it is .csv).
        file: PathBuf,
    },
}

#[derive(Args)]
pub struct Case {
    /// Seed of the coefficients.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    seed: u64,
    /// The file to write [default: the thesis's name, FunctionRsj_ConfigData_N_P.bin].
    file: Option<PathBuf>,
}

pub fn run(command: &Command) -> anyhow::Result<()> {
    let of_case = |name: &str, Case { seed, file }: &Case| {
        let case = calibrations::find(name).expect("it is one of them");
        calibration(case.dims, case.rows, *seed, file.as_deref())
    };
    match command {
        Command::Calibration { dims, rows, seed, file } => {
            calibration(*dims, *rows, *seed, file.as_deref())
        }
        Command::F6(given) => of_case("f6", given),
        Command::F7(given) => of_case("f7", given),
        Command::F8(given) => of_case("f8", given),
        Command::F9(given) => of_case("f9", given),
        Command::F10(given) => of_case("f10", given),
        &Command::Graph { vertices, density, weights, real, undirected, seed, ref file } => {
            outputs::check(&[], &[("the file", Some(file), Format::Graph)])?;
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

fn calibration(dims: u32, rows: usize, seed: u64, file: Option<&Path>) -> anyhow::Result<()> {
    let file = file.map_or_else(|| calibrations::file(dims, rows), Path::to_owned);
    outputs::check(&[], &[("the file", Some(&file), Format::Table)])?;
    let table = fit::synthetic(dims, rows, seed)?;
    io::write_hosala(&file, &table)?;
    super::print(&format!("{}: {rows} rows of {dims} coefficients and a target\n", file.display()))
}
