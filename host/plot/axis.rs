//! From values to places along an axis, and the marks on it.

use super::glyphs::raised;

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// Evenly.
    Linear,
    /// Every power of ten takes the same room; for positive values.
    Log,
    /// The same beyond a threshold, a power of ten, on both sides of zero; evenly between them.
    SymLog {
        /// The exponent of the threshold.
        exponent: i32,
    },
}

/// Positive values over more than this are spread logarithmically.
const WIDE: f64 = 1e3;

/// Values on both sides of zero need more to be worth the less familiar scale.
const WIDE_BOTH_SIDES: f64 = 1e4;

impl Scale {
    /// The scale that shows these finite values best. `logarithmic` asks for powers of ten however
    /// little they differ, if none is negative.
    pub(super) fn for_values(values: impl Iterator<Item = f64>, logarithmic: bool) -> Self {
        let values: Vec<f64> = values.collect();
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let mut sizes: Vec<f64> =
            values.iter().map(|value| value.abs()).filter(|&size| size > 0.0).collect();
        sizes.sort_by(f64::total_cmp);
        let (Some(&smallest), Some(&largest)) = (sizes.first(), sizes.last()) else {
            return Self::Linear;
        };
        // Linear axes subtract, and must not overflow when they do.
        let huge = largest > f64::MAX / 8.0;
        if lowest >= 0.0 {
            return match logarithmic || huge || largest / smallest > WIDE {
                true if lowest > 0.0 => Self::Log,
                true => Self::SymLog { exponent: exponent(smallest) },
                false => Self::Linear,
            };
        }
        // A value that happens to lie close to zero must not make room for all powers of ten above it.
        let typical = sizes[sizes.len() / 20];
        if largest / typical > WIDE_BOTH_SIDES {
            Self::SymLog { exponent: exponent(typical) }
        } else if huge {
            Self::SymLog { exponent: exponent(largest) - 3 }
        } else {
            Self::Linear
        }
    }

    fn forward(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Log => value.log10(),
            Self::SymLog { exponent } => {
                let over = value.abs().log10() - f64::from(exponent);
                if over > 0.0 {
                    (1.0 + over).copysign(value)
                } else {
                    // Not over 10^exponent, which may be too small for a number.
                    10_f64.powf(over).copysign(value)
                }
            }
        }
    }
}

/// The exponent of the highest power of ten that is not above the value.
fn exponent(value: f64) -> i32 {
    value.log10().floor() as i32
}

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// From 0, the axis' lower end, to 1.
    pub(super) position: f64,
    pub(super) label: String,
}

/// A range of values and the marks in it.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    /// From low to high.
    pub(super) ticks: Vec<Tick>,
    /// A power of ten that the labels leave out, as the axis' title must say.
    pub(super) factor: Option<i32>,
}

impl Axis {
    /// An axis for finite values from `low` to `high`, with some room at both ends and at most about
    /// `most` marks.
    pub(super) fn new(scale: Scale, low: f64, high: f64, most: usize) -> Self {
        match scale {
            Scale::Linear => Self::linear(low, high, most, 0.04),
            Scale::Log => {
                let (low, high) = widened(scale.forward(low), scale.forward(high), 1.0);
                let (ticks, factor) = (log_ticks(low, high, most), None);
                Self { scale, low, high, ticks, factor }
            }
            Scale::SymLog { exponent } => {
                let (low, high) = widened(scale.forward(low), scale.forward(high), 2.0);
                let (ticks, factor) = (symlog_ticks(exponent, low, high, most), None);
                Self { scale, low, high, ticks, factor }
            }
        }
    }

    /// An axis that ends where its values do.
    pub(super) fn exact(low: f64, high: f64, most: usize) -> Self {
        if high > low {
            return Self::linear(low, high, most, 0.0);
        }
        let ticks = vec![Tick { position: 0.5, label: decimal(low, 0) }];
        Self { scale: Scale::Linear, low: low - 1.0, high: low + 1.0, ticks, factor: None }
    }

    fn linear(low: f64, high: f64, most: usize, room: f64) -> Self {
        let size = low.abs().max(high.abs());
        let spread = high - low;
        // Below that the labels could not be told apart.
        let (low, high) = if spread > size * 1e-12 {
            (low - spread * room, high + spread * room)
        } else {
            let around = if size == 0.0 { 1.0 } else { (size * 0.1).max(f64::MIN_POSITIVE) };
            let around = if spread == 0.0 { around } else { size * 1e-11 };
            (low - around, high + around)
        };
        let size = low.abs().max(high.abs());
        let factor = Some(exponent(size)).filter(|exponent| !(-3..6).contains(exponent));
        // Multiples of three have names.
        let factor = factor.map(|exponent| exponent.div_euclid(3) * 3);
        // A subnormal step would have no exact multiples.
        let least = ((high - low) / most.max(1) as f64).max(f64::MIN_POSITIVE);
        let (digit, step_exponent) = nice_step(least);
        let step = scaled(digit, step_exponent);
        let count = if high - low >= step {
            let count = (high / step).floor() - (low / step).ceil() + 1.0;
            (count as usize).min(3 * most + 3)
        } else {
            0
        };
        let decimals = (factor.unwrap_or(0) - step_exponent).max(0) as usize;
        let ticks = (0..count).map(|index| {
            let value = ((low / step).ceil() + index as f64) * step;
            let shown = factor.map_or(value, |factor| scaled(value, -factor));
            let position = ((value - low) / (high - low)).clamp(0.0, 1.0);
            Tick { position, label: decimal(shown, decimals) }
        });
        let ticks = ticks.collect();
        Self { scale: Scale::Linear, low, high, ticks, factor }
    }

    /// Where a value lies: from 0, the axis' lower end, to 1.
    pub(super) fn position(&self, value: f64) -> f64 {
        ((self.scale.forward(value) - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// What belongs behind the axis' title.
    pub(super) fn factor_label(&self) -> String {
        self.factor.map_or(String::new(), |factor| format!(" (×10{})", raised(factor)))
    }
}

/// Some room at both ends, and no less than `least` in all.
fn widened(low: f64, high: f64, least: f64) -> (f64, f64) {
    let room = ((high - low) * 0.04).max((least - (high - low)) / 2.0);
    (low - room, high + room)
}

/// 1, 2 or 5 and a power of ten, whose product is not below the number.
fn nice_step(least: f64) -> (f64, i32) {
    let power = exponent(least);
    let digit = scaled(least, -power) * 0.999;
    [1.0, 2.0, 5.0].into_iter().find(|&nice| nice >= digit).map_or((1.0, power + 1), |n| (n, power))
}

/// value · 10^exponent; the power alone might be out of range.
fn scaled(value: f64, exponent: i32) -> f64 {
    let half = exponent / 2;
    value * 10_f64.powi(half) * 10_f64.powi(exponent - half)
}

/// With a proper minus, and the thousands of long numbers apart.
fn decimal(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let whole = if whole.len() > 4 { grouped(whole) } else { whole.to_owned() };
    // Not a zero that was rounded to.
    let minus = value < 0.0 && text.contains(|digit| ('1'..='9').contains(&digit));
    format!("{}{whole}{rest}", if minus { "−" } else { "" })
}

fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn power(exponent: i32, plain: bool) -> String {
    match (plain, exponent) {
        (true, 0..) => decimal(10_f64.powi(exponent), 0),
        (true, _) => decimal(10_f64.powi(exponent), exponent.unsigned_abs() as usize),
        (false, _) => format!("10{}", raised(exponent)),
    }
}

/// Between marked powers of ten lie this many, so that at most `most` are marked.
fn stride(decades: f64, most: usize) -> i32 {
    let least = decades / most.max(1) as f64;
    let fits = |&stride: &i32| f64::from(stride) >= least;
    [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100].into_iter().find(fits).unwrap_or(200)
}

fn log_ticks(low: f64, high: f64, most: usize) -> Vec<Tick> {
    let stride = stride(high - low, most);
    let (first, last) = (low.ceil() as i32, high.floor() as i32);
    let exponents = (first..=last).filter(|exponent| exponent.rem_euclid(stride) == 0);
    let plain = low > -3.5 && high < 4.5;
    let position = |at: f64| (at - low) / (high - low);
    let mut ticks: Vec<_> = exponents
        .map(|exponent| Tick { position: position(exponent.into()), label: power(exponent, plain) })
        .collect();
    // One power of ten alone tells nothing of the scale.
    if high - low <= 2.0 {
        for exponent in low.floor() as i32..=last {
            for digit in [2, 5] {
                let at = f64::from(exponent) + f64::from(digit).log10();
                if (low..=high).contains(&at) {
                    let label = if plain {
                        let decimals = (-exponent).max(0) as usize;
                        decimal(f64::from(digit) * 10_f64.powi(exponent), decimals)
                    } else {
                        format!("{digit}·{}", power(exponent, false))
                    };
                    ticks.push(Tick { position: position(at), label });
                }
            }
        }
        ticks.sort_by(|a, b| a.position.total_cmp(&b.position));
    }
    ticks
}

fn symlog_ticks(threshold: i32, low: f64, high: f64, most: usize) -> Vec<Tick> {
    let stride = stride(high - low, most);
    let largest = low.abs().max(high.abs());
    let plain = threshold >= -3 && threshold + (largest as i32) < 5;
    let mut places = vec![(0.0, "0".to_owned())];
    for over in 0..largest as i32 {
        let exponent = threshold + over;
        let place = f64::from(over + 1);
        // None so close to zero that its label would touch the zero's.
        if exponent.rem_euclid(stride) == 0 && 2 * (over + 1) > stride {
            let label = power(exponent, plain);
            places.push((-place, format!("−{label}")));
            places.push((place, label));
        }
    }
    places.retain(|(place, _)| (low..=high).contains(place));
    // Zero alone tells nothing of the scale on its other side.
    for (side, sign) in [(-1.0, "−"), (1.0, "")] {
        let empty = !places.iter().any(|(place, _)| place * side > 0.0);
        if empty && (low..=high).contains(&side) && (high - low) * 2.0 < 3.0 * most as f64 {
            places.push((side, format!("{sign}{}", power(threshold, plain))));
        }
    }
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    let tick = |(place, label)| Tick { position: (place - low) / (high - low), label };
    places.into_iter().map(tick).collect()
}

/// A number for a caption: no more digits than given, and powers of ten only where needed.
pub(super) fn number(value: f64, digits: u8) -> String {
    let decimals = usize::from(digits.max(1)) - 1;
    if !value.is_finite() {
        return match value {
            f64::INFINITY => "∞".to_owned(),
            f64::NEG_INFINITY => "−∞".to_owned(),
            _ => "not a number".to_owned(),
        };
    }
    let text = format!("{value:.decimals$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits = |text: &str| {
        let text = if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            text
        };
        text.replace('-', "−")
    };
    match exponent {
        _ if value == 0.0 => "0".to_owned(),
        -4..=6 => {
            let decimals = decimals as i32 - exponent;
            digits(&format!("{value:.*}", decimals.max(0) as usize))
        }
        _ => format!("{}·10{}", digits(mantissa), raised(exponent)),
    }
}

/// A count with its thousands apart.
pub(super) fn count(value: u64) -> String {
    grouped(&value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn scales() {
        let scale =
            |values: &[f64], logarithmic| Scale::for_values(values.iter().copied(), logarithmic);
        assert_eq!(scale(&[1.0, 3.0], false), Scale::Linear);
        assert_eq!(scale(&[1.0, 3.0], true), Scale::Log);
        assert_eq!(scale(&[1e-9, 3.0], false), Scale::Log);
        assert_eq!(scale(&[0.0, 3e-9, 3.0], true), Scale::SymLog { exponent: -9 });
        assert_eq!(scale(&[0.0, 1.0, 3.0], false), Scale::Linear);
        assert_eq!(scale(&[0.0, 0.0], true), Scale::Linear);
        assert_eq!(scale(&[], true), Scale::Linear);
        assert_eq!(scale(&[-3.0, 20.0], true), Scale::Linear);
        assert_eq!(scale(&[-3.0, 2e7], true), Scale::SymLog { exponent: 0 });
        assert_eq!(scale(&[-f64::MAX, f64::MAX], true), Scale::SymLog { exponent: 305 });
    }

    #[test]
    fn linear_marks() {
        assert_eq!(
            labels(&Axis::new(Scale::Linear, -1.0, 1.0, 5)),
            ["−1.0", "−0.5", "0.0", "0.5", "1.0"]
        );
        assert_eq!(
            labels(&Axis::exact(0.0, 300.0, 6)),
            ["0", "50", "100", "150", "200", "250", "300"]
        );
        let millions = Axis::exact(0.0, 12e6, 6);
        assert_eq!(labels(&millions), ["0", "2", "4", "6", "8", "10", "12"]);
        assert_eq!(millions.factor_label(), " (×10⁶)");
        let tiny = Axis::new(Scale::Linear, 1e-9, 4e-9, 4);
        assert_eq!((labels(&tiny), tiny.factor), (vec!["1", "2", "3", "4"], Some(-9)));
        let offset = Axis::new(Scale::Linear, 1000.0001, 1000.0003, 4);
        assert_eq!(labels(&offset), ["1000.0001", "1000.0002", "1000.0003"]);
        let one = Axis::exact(7.0, 7.0, 6);
        assert_eq!((labels(&one), one.position(7.0)), (vec!["7"], 0.5));
    }

    #[test]
    fn logarithmic_marks() {
        let axis = Axis::new(Scale::Log, 1e-30, 1.0, 7);
        assert_eq!(labels(&axis), ["10⁻³⁰", "10⁻²⁵", "10⁻²⁰", "10⁻¹⁵", "10⁻¹⁰", "10⁻⁵", "10⁰"]);
        assert!((axis.position(1e-15) - 0.5).abs() < 1e-12);
        assert_eq!(labels(&Axis::new(Scale::Log, 0.02, 90.0, 7)), ["0.1", "1", "10", "100"]);
        assert_eq!(labels(&Axis::new(Scale::Log, 3e-9, 3e-9, 7)), ["10⁻⁹", "2·10⁻⁹", "5·10⁻⁹"]);
        let axis = Axis::new(Scale::SymLog { exponent: -16 }, 0.0, 10.0, 7);
        assert_eq!(labels(&axis), ["0", "10⁻¹⁵", "10⁻¹²", "10⁻⁹", "10⁻⁶", "10⁻³", "10⁰"]);
        let axis = Axis::new(Scale::SymLog { exponent: 1 }, -39.0, 4e6, 7);
        assert_eq!(labels(&axis), ["−10¹", "0", "10²", "10⁴", "10⁶"]);
    }

    /// Whatever the range, there are marks, in order, apart, inside, and every value has a place.
    #[test]
    fn every_range_has_marks() {
        let ends = [
            0.0,
            1.0,
            -1.0,
            1e-300,
            5e-324,
            -5e-324,
            1e300,
            f64::MAX,
            f64::MIN,
            1.0 + f64::EPSILON,
            123456789.0,
            -1e-7,
            0.1,
            99.99,
            1e15,
            1e15 + 1.0,
        ];
        for low in ends {
            for high in ends.into_iter().filter(|&high| high >= low) {
                for logarithmic in [false, true] {
                    let scale = Scale::for_values([low, high].into_iter(), logarithmic);
                    let axis = Axis::new(scale, low, high, 7);
                    let name = format!("{low:e} to {high:e}: {axis:?}");
                    let subnormal = low.is_subnormal() || high.is_subnormal();
                    assert!(subnormal || !axis.ticks.is_empty(), "{name}");
                    assert!(axis.ticks.len() < 18, "{name}");
                    for pair in axis.ticks.windows(2) {
                        assert!(pair[0].position + 0.02 < pair[1].position, "{name}");
                        assert_ne!(pair[0].label, pair[1].label, "{name}");
                    }
                    for tick in &axis.ticks {
                        assert!((0.0..=1.0).contains(&tick.position), "{name}");
                        assert!(tick.label.chars().count() < 24, "{name}");
                    }
                    for value in [low, high] {
                        assert!((0.0..=1.0).contains(&axis.position(value)), "{name}");
                    }
                    assert!(axis.position(low) <= axis.position(high), "{name}");
                }
            }
        }
    }

    #[test]
    fn numbers_in_captions() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-12.5, "−12.5"),
            (0.000123456789, "0.000123457"),
            (1234567.8, "1234568"),
            (100000.0, "100000"),
            (1.5e-30, "1.5·10⁻³⁰"),
            (-2e300, "−2·10³⁰⁰"),
            (f64::INFINITY, "∞"),
            (f64::NAN, "not a number"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value, 6), text);
        }
        assert_eq!(
            (count(0), count(999), count(1234567)),
            ("0".into(), "999".into(), "1,234,567".into())
        );
    }
}
