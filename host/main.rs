//! The program `flockwork`.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // `{:#}` is the whole chain in one line.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
