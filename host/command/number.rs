//! Numbers as programs are told them and as they print them.

/// The shortest decimal text that reads back to the same bits.
pub(super) fn text(x: f64) -> String {
    let size = x.abs();
    match size == 0.0 || (1e-5..1e16).contains(&size) {
        true => format!("{x}"),
        false => format!("{x:e}"),
    }
}

/// The last number in what a program printed; `nan` and `inf` are numbers too.
pub(super) fn last(printed: &str) -> Option<f64> {
    let is_apart = |c: char| !(c.is_alphanumeric() || "+-._".contains(c));
    printed.split(is_apart).rev().find_map(number)
}

fn number(word: &str) -> Option<f64> {
    // The end of a sentence.
    let word = word.strip_suffix('.').unwrap_or(word);
    word.parse().ok().or_else(|| {
        // Fortran's exponents.
        let is_digit = |c: char| c.is_ascii_digit() || "+-.".contains(c);
        let has_digits = word.starts_with(is_digit) && word.ends_with(|c: char| c.is_ascii_digit());
        has_digits.then(|| word.replace(['D', 'd'], "e").parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_reads_back_to_the_same_bits() {
        for (x, expected) in [
            (0.1, "0.1"),
            (3.0, "3"),
            (-2.5, "-2.5"),
            (-0.0, "-0"),
            (1e-5, "0.00001"),
            (1e-7, "1e-7"),
            (1.5e300, "1.5e300"),
            (123_456_789.0, "123456789"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
        ] {
            assert_eq!(text(x), expected);
        }
        let mut bits = 1_u64;
        for _ in 0..2000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let x = f64::from_bits(bits);
            if x.is_finite() {
                assert_eq!(text(x).parse::<f64>().unwrap().to_bits(), bits);
            }
        }
    }

    #[test]
    fn the_last_number_counts() {
        for (printed, expected) in [
            ("1.5", 1.5),
            ("a 1 b 2\nc", 2.0),
            ("f(x) = 3e-5\n", 3e-5),
            ("[1.0, -2.0]", -2.0),
            ("{\"loss\": 0.25}", 0.25),
            ("the value is 7.", 7.0),
            ("cost=.5;", 0.5),
            ("4 iterations in 2s", 4.0),
            ("value 5 of run_7 at v1.2.3", 5.0),
            ("  -0.1234D-02", -0.1234e-2),
            ("1 inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
        ] {
            assert_eq!(last(printed), Some(expected), "{printed}");
        }
        assert!(last("1 nan").unwrap().is_nan());
        for printed in ["", "\n", "no number", "2s", "0x10", "1_000", "d", "1.2.3", "-"] {
            assert_eq!(last(printed), None, "{printed}");
        }
    }
}
