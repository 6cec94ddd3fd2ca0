//! Numbers as reports print them.

/// A number to be printed with a fixed count of significant digits.
pub struct Shown(pub f64);

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = f.precision().unwrap_or(6);
        let exponent = if self.0 == 0.0 { 0 } else { self.0.abs().log10().floor() as i32 };
        let text = if (-4..9).contains(&exponent) {
            format!("{:.*}", (digits as i32 - 1 - exponent).max(0) as usize, self.0)
        } else {
            format!("{:.*e}", digits - 1, self.0)
        };
        f.pad_integral(true, "", &text)
    }
}
