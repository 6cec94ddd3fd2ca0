//! The calibrations of Hosala's thesis (2014) by the names that its table 1 gives them: f5 is the function
//! `calibration`, and f6 to f10 are cases of it.

use std::path::PathBuf;

/// The function that they are cases of.
const FUNCTION: &str = "calibration";

/// One of f6 to f10.
pub struct Case {
    pub name: &'static str,
    /// Coefficients in a row: n.
    pub dims: u32,
    /// Rows: P.
    pub rows: usize,
    /// The box is from minus this to this in each dimension.
    pub side: f64,
    /// Of the thesis's own data.
    pub minimum: f64,
}

const fn case(name: &'static str, dims: u32, rows: usize, side: f64, minimum: f64) -> Case {
    Case { name, dims, rows, side, minimum }
}

pub const CASES: [Case; 5] = [
    case("f6", 16, 16_384, 100.0, 0.0),
    case("f7", 16, 65_536, 100.0, 0.0),
    case("f8", 16, 272_144, 100.0, 0.0),
    case("f9", 16, 1_088_576, 100.0, 0.0),
    case("f10", 4, 6_980_011, 1_000.0, 323_428_599.0),
];

/// For the list of functions.
pub const SUMMARY: &str = "f5 is calibration; f6 to f10 are its cases in Hosala's thesis, with their own sizes and \
                           intervals.";

/// The case of this name.
pub fn find(name: &str) -> Option<&'static Case> {
    CASES.iter().find(|case| case.name == name)
}

/// The function that a name stands for: f5 to f10 are the calibration, others are functions themselves.
pub fn function(name: &str) -> &str {
    if name == "f5" || find(name).is_some() { FUNCTION } else { name }
}

/// What the thesis calls a file of so many coefficients and rows.
pub fn file(dims: u32, rows: usize) -> PathBuf {
    format!("FunctionRsj_ConfigData_{dims}_{rows}.bin").into()
}
