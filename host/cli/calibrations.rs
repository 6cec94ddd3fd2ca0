//! The calibrations of Hosala's thesis (2014), under the names in its table 1: f5 is the function
//! `calibration`, and f6 to f10 are cases of it.

use std::path::PathBuf;

/// The function they are cases of.
const FUNCTION: &str = "calibration";

/// One of f6 to f10.
pub struct Case {
    pub name: &'static str,
    /// Coefficients per row: n.
    pub dims: u32,
    /// Rows: P.
    pub rows: usize,
    /// The box is from -side to side in each dimension.
    pub side: f64,
    /// The minimum with the thesis's own data.
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

/// A line for the list of functions.
pub const SUMMARY: &str = "f5 is calibration; f6 to f10 are its cases in Hosala's thesis, with their own sizes and \
                           intervals.";

/// Finds a case by name.
pub fn find(name: &str) -> Option<&'static Case> {
    CASES.iter().find(|case| case.name == name)
}

/// The function a name stands for: f5 to f10 mean `calibration`, any other name itself.
pub fn function(name: &str) -> &str {
    if name == "f5" || find(name).is_some() { FUNCTION } else { name }
}

/// The thesis's file name for these numbers of coefficients and rows.
pub fn file(dims: u32, rows: usize) -> PathBuf {
    format!("FunctionRsj_ConfigData_{dims}_{rows}.bin").into()
}
