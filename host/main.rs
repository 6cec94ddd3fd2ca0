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
            // The whole chain on one line, without causes that the sentence already contains.
            let mut text = String::new();
            for cause in error.chain().map(ToString::to_string) {
                if !text.ends_with(&cause) {
                    let separator = if text.is_empty() { "" } else { ": " };
                    text = format!("{text}{separator}{cause}");
                }
            }
            eprintln!("error: {}", cli::shortened(&text).trim_end());
            asked.unwrap_or(ExitCode::FAILURE)
        }
    }
}
