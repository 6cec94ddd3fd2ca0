//! The program `flockwork`.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The whole chain in one line; some causes are part of the sentence already.
            let mut text = String::new();
            for cause in error.chain().map(ToString::to_string) {
                if !text.ends_with(&cause) {
                    let separator = if text.is_empty() { "" } else { ": " };
                    text = format!("{text}{separator}{cause}");
                }
            }
            eprintln!("error: {text}");
            ExitCode::FAILURE
        }
    }
}
