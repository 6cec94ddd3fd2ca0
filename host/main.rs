//! The program `flockwork`.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    let done = cli::run();
    // A run that was asked to stop tells so in its exit status.
    let asked = cli::interrupt::status();
    match done {
        Ok(()) => asked.unwrap_or(ExitCode::SUCCESS),
        Err(error) => {
            eprintln!("error: {}", cli::sentence(&error));
            asked.unwrap_or(ExitCode::FAILURE)
        }
    }
}
