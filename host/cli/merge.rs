//! `flockwork merge`: the tables of all shards of a run as one.

use std::path::PathBuf;

use flockwork::fit::{Merged, Shard};

#[derive(clap::Args)]
pub struct Arguments {
    /// The file that --table named. Its shards lie beside it, such as fits.1-of-8.csv of fits.csv.
    #[arg(value_name = "FILE.csv|FILE.npy", required = true)]
    tables: Vec<PathBuf>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    for table in &arguments.tables {
        let Merged { shards, rows, .. } = Shard::merge(table)?;
        super::print(&format!("{}: {rows} rows of {shards} shards\n", table.display()))?;
    }
    Ok(())
}
