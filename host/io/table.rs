//! A table of data rows, each with coefficients and a target.

use crate::{Double, Error, Result, double::doubles};

/// `rows` rows of `dims` coefficients and a target each; all numbers are finite.
///
/// ```
/// use flockwork::io::Table;
///
/// let table = Table::new(2, vec![1.0, 2.0, 3.0, 4.0], vec![10.0, 20.0])?;
/// assert_eq!((table.dims(), table.rows()), (2, 2));
/// assert_eq!(table.coefficients()[2..], [3.0, 4.0]);
/// assert_eq!(table.targets()[1], 20.0);
/// assert!(Table::new(2, vec![1.0, f64::NAN], vec![10.0]).is_err());
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    dims: u32,
    rows: usize,
    /// All coefficients, row by row, then all targets.
    numbers: Vec<f64>,
}

impl Table {
    /// Creates a table from the coefficients, row by row, and the targets.
    pub fn new(
        dims: u32,
        coefficients: impl IntoIterator<Item: Double>,
        targets: impl IntoIterator<Item: Double>,
    ) -> Result<Self> {
        let (mut coefficients, targets) = (doubles(coefficients), doubles(targets));
        let expected = dims as usize * targets.len();
        if coefficients.len() != expected {
            return Err(Error::Length {
                what: "the list of coefficients",
                found: coefficients.len(),
                expected,
            });
        }
        if u32::try_from(targets.len()).is_err() {
            return Err(Error::Option {
                option: "rows",
                value: targets.len().to_string(),
                accepted: "at most 4294967295".to_owned(),
            });
        }
        for (what, list) in [("coefficient", &coefficients), ("target", &targets)] {
            if let Some(index) = list.iter().position(|v| !v.is_finite()) {
                return Err(Error::NotFinite { what, index, value: list[index] });
            }
        }
        let rows = targets.len();
        coefficients.extend(targets);
        Ok(Self { dims, rows, numbers: coefficients })
    }

    /// Coefficients per row.
    pub fn dims(&self) -> u32 {
        self.dims
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// All coefficients, row by row.
    pub fn coefficients(&self) -> &[f64] {
        &self.numbers[..self.rows * self.dims as usize]
    }

    /// The targets.
    pub fn targets(&self) -> &[f64] {
        &self.numbers[self.rows * self.dims as usize..]
    }

    /// The coefficients, row by row, then the targets.
    pub(crate) fn into_numbers(self) -> Vec<f64> {
        self.numbers
    }
}
