//! Text as a formula: a value or a sentence.
#![no_main]

use flockwork::{Error, formula::Formula};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let said = |error: Error| {
        let said = error.to_string();
        assert!(said.starts_with("the formula has a mistake at column "), "{said}");
    };
    match Formula::parse(text) {
        Ok(formula) => {
            let _ = formula.at(&[("a", 0.5), ("b", -1.5)]).map_err(said);
            let _ = formula.at_point(&[0.5, -1.5, 2.0]).map_err(said);
        }
        Err(error) => said(error),
    }
});
