//! What plotters leaves to its users: the range of an axis, for any values, and its labels.

use std::ops::Range;

use plotters::coord::ranged1d::{
    BoldPoints, KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter,
};
use plotters::coord::types::RangedCoordf64;

/// Positive values with a ratio greater than this get a logarithmic axis.
const WIDE: f64 = 1e3;

/// A range of values and its ticks. Places on the axis are the values' logarithms, or the values
/// divided by a power of ten.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    logarithmic: bool,
    /// The power of ten.
    factor: i32,
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Axis {
    /// An axis for the finite ones of these values, with some room at both ends and `above` more at
    /// the top, as a part of the axis; `None` if no value is finite. `logarithmic` requests a
    /// logarithmic axis if some values are positive and the others about zero.
    pub(super) fn new(
        values: impl Iterator<Item = f64> + Clone,
        logarithmic: bool,
        above: f64,
    ) -> Option<Self> {
        let values = values.filter(|value| value.is_finite());
        let (low, high) = (values.clone().reduce(f64::min)?, values.clone().reduce(f64::max)?);
        let Some(least) = values.filter(|&value| value > 0.0).reduce(f64::min) else {
            return Some(Self::linear(low, high, [0.04, above]));
        };
        let wide = low >= 0.0 && high / least > WIDE;
        let about_zero = low >= -1e-3 * high;
        if !(wide || (logarithmic && about_zero)) {
            return Some(Self::linear(low, high, [0.04, above]));
        }
        let (low, high) = (least.log10(), high.log10());
        let room = ((high - low) * 0.04).max((1.0 - (high - low)) / 2.0);
        let (low, high) = (low - room, high + room);
        let high = high + (high - low) * above;
        Some(Self { logarithmic: true, factor: 0, low, high, ticks: Vec::new() })
    }

    /// A linear axis for the finite ones of these values; `None` if none is finite.
    pub(super) fn linear_of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        (low <= high).then(|| Self::linear(low, high, [0.04, 0.0]))
    }

    /// An axis that ends where its values do.
    pub(super) fn exact(low: f64, high: f64) -> Self {
        Self::linear(low, high, [0.0, 0.0])
    }

    fn linear(low: f64, high: f64, [room, above]: [f64; 2]) -> Self {
        let size = low.abs().max(high.abs());
        let exponent = if size > 0.0 { size.log10().floor() as i32 } else { 0 };
        let factor = if (-3..6).contains(&exponent) { 0 } else { exponent.div_euclid(3) * 3 };
        // For the smallest numbers the power itself would be zero.
        let factor = factor.max(-300);
        let unit = 10_f64.powi(factor);
        // Only now is their difference certainly finite.
        let (size, low, high) = (size / unit, low / unit, high / unit);
        let room = match high - low {
            0.0 if size == 0.0 => 1.0,
            0.0 => size * 0.1,
            _ if room == 0.0 => 0.0,
            // With less, labels would be indistinguishable.
            spread => (spread * room).max(size * 1e-10),
        };
        let (low, high) = (low - room, high + room);
        let high = high + (high - low) * above;
        Self { logarithmic: false, factor, low, high, ticks: Vec::new() }
    }

    /// Adds as many ticks as fit, judged by their labels.
    pub(super) fn marked(mut self, fits: impl Fn(&[String]) -> bool) -> Self {
        for most in (2..=10).rev() {
            self.ticks = RangedCoordf64::from(self.low..self.high).key_points(BoldPoints(most));
            if self.logarithmic {
                self.ticks.retain(|tick| (tick - tick.round()).abs() < 1e-6);
                if self.ticks.len() < 3 && self.high - self.low < 2.5 {
                    let powers = self.low.floor() as i32..=self.high.floor() as i32;
                    let digits = |power| [1.0, 2.0, 5.0_f64].map(|d| d.log10() + f64::from(power));
                    self.ticks = powers.flat_map(digits).collect();
                }
            }
            self.ticks.retain(|tick| (self.low..=self.high).contains(tick));
            if fits(&self.labels()) {
                break;
            }
        }
        self
    }

    /// Removes ticks that are not at whole numbers.
    pub(super) fn whole(mut self) -> Self {
        self.ticks.retain(|tick| self.factor != 0 || (tick - tick.round()).abs() < 1e-6);
        self
    }

    /// The place of a value on the axis; values beyond an end are placed there.
    pub(super) fn place(&self, value: f64) -> f64 {
        let value = if self.logarithmic {
            value.max(0.0).log10()
        } else {
            value / 10_f64.powi(self.factor)
        };
        value.clamp(self.low, self.high)
    }

    /// The part of the axis below a place.
    pub(super) fn part(&self, place: f64) -> f64 {
        (place - self.low) / (self.high - self.low)
    }

    /// The places of the ticks.
    pub(super) fn ticks(&self) -> &[f64] {
        &self.ticks
    }

    pub(super) fn labels(&self) -> Vec<String> {
        self.ticks.iter().map(|tick| self.label(*tick)).collect()
    }

    fn label(&self, tick: f64) -> String {
        if self.logarithmic {
            let power = (tick + 1e-6).floor();
            let digit = 10_f64.powf(tick - power).round();
            return if self.low > -4.5 && self.high < 5.5 {
                number(digit * 10_f64.powf(power), 1)
            } else if digit > 1.0 {
                format!("{digit}·10{}", raised(power as i32))
            } else {
                format!("10{}", raised(power as i32))
            };
        }
        let step = match self.ticks[..] {
            [first, second, ..] => second - first,
            _ => (self.high - self.low) / 10.0,
        };
        let decimals = (-(step * 1.001).log10().floor()).clamp(0.0, 15.0) as usize;
        let text = format!("{:.decimals$}", tick.abs());
        let text = if decimals == 0 && text.len() > 4 { count(tick.abs() as u64) } else { text };
        // No minus before a zero that comes from rounding.
        let minus = tick < 0.0 && text.contains(|digit| ('1'..='9').contains(&digit));
        if minus { format!("−{text}") } else { text }
    }

    /// The axis's name, with the power of ten that the labels omit.
    pub(super) fn title(&self, name: &str) -> String {
        match self.factor {
            0 => name.to_owned(),
            factor => format!("{name} (×10{})", raised(factor)),
        }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, (start, end): (i32, i32)) -> i32 {
        start + (self.part(*place) * f64::from(end - start)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, tick: &f64) -> String {
        self.label(*tick)
    }
}

/// An exponent in superscript.
fn raised(number: i32) -> String {
    let raised = |digit| match digit {
        '-' => '⁻',
        '0'..='9' => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize - 48],
        other => other,
    };
    number.to_string().chars().map(raised).collect()
}

/// A number for a caption, with at most `digits` digits, and a power of ten only if needed.
pub(super) fn number(value: f64, digits: usize) -> String {
    let text = format!("{value:.*e}", digits - 1);
    let Some((mantissa, exponent)) = text.split_once('e').filter(|_| value.is_finite()) else {
        return text.replace("inf", "∞").replace('-', "−");
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let plain = (-4..=5).contains(&exponent);
    let rounded: f64 = text.parse().unwrap_or(value);
    let text = match digits as i32 - 1 - exponent {
        _ if !plain => mantissa.to_owned(),
        decimals => format!("{rounded:.*}", decimals.max(0) as usize),
    };
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    let text = text.replace('-', "−");
    if plain { text } else { format!("{text}·10{}", raised(exponent)) }
}

/// A number with all digits needed to tell it from any other, as in the report.
pub(super) fn exact(value: f64) -> String {
    let text = format!("{value:e}");
    let mantissa = text.split('e').next().unwrap_or_default();
    number(value, mantissa.chars().filter(char::is_ascii_digit).count().max(1))
}

/// A count with separated thousands.
pub(super) fn count(value: u64) -> String {
    indicatif::HumanCount(value).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(values: &[f64], logarithmic: bool, most: usize) -> Axis {
        let axis = Axis::new(values.iter().copied(), logarithmic, 0.0).unwrap();
        axis.marked(|labels| labels.len() <= most)
    }

    #[test]
    fn labels() {
        let labels = |values: &[f64], logarithmic| axis(values, logarithmic, 6).labels();
        assert_eq!(labels(&[0.0, 10.0], false), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(&[-0.5, 0.5], false), ["−0.4", "−0.2", "0.0", "0.2", "0.4"]);
        assert_eq!(labels(&[0.0, 50_000.0], false)[1], "10,000");
        assert_eq!(labels(&[0.01, 100.0], true), ["0.01", "0.1", "1", "10", "100"]);
        assert_eq!(labels(&[1e-9, 1.0], true), ["10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "10⁰"]);
        assert_eq!(labels(&[3e-9, 8e-9], true), ["2·10⁻⁹", "5·10⁻⁹", "10⁻⁸"]);
        let large = axis(&[-2e9, 1e9], false, 6);
        assert_eq!((large.title("x").as_str(), large.labels()[0].as_str()), ("x (×10⁹)", "−2"));
    }

    #[test]
    fn scales() {
        let logarithmic = |values: &[f64], asked| axis(values, asked, 6).logarithmic;
        assert!(logarithmic(&[1.0, 2.0], true) && !logarithmic(&[1.0, 2.0], false));
        assert!(logarithmic(&[1.0, 1e4], false) && logarithmic(&[0.0, 1.0, 1e4], false));
        // The known optimum is missed by a rounding error, or there is none.
        assert!(logarithmic(&[5.0, -1e-9], true) && !logarithmic(&[5.0, -5.0], true));
        assert!(!logarithmic(&[0.0, 0.0], true) && !logarithmic(&[-1.0, -1e9], true));
        let zero = axis(&[5.0, 0.0, 1e-3], true, 6);
        assert_eq!((zero.part(zero.place(0.0)), zero.place(-1.0)), (0.0, zero.place(0.0)));
        assert!(zero.place(1e-3) > zero.low && zero.place(5.0) < zero.high);
        assert!(Axis::new([f64::NAN, f64::INFINITY].into_iter(), true, 0.0).is_none());
    }

    #[test]
    fn odd_values() {
        let odd = [0.0, -0.0, 5e-324, -5e-324, 1e-300, 1.0, 1.0 + f64::EPSILON, -7e15, 1e300];
        for low in odd.into_iter().chain([f64::MIN, f64::MAX]) {
            for high in odd.into_iter().chain([f64::MIN, f64::MAX]) {
                for axis in [
                    axis(&[low, high], false, 5),
                    axis(&[low, high], true, 5),
                    Axis::exact(low.min(high), low.max(high)).marked(|labels| labels.len() < 6),
                ] {
                    assert!(axis.ticks.len() <= 5, "{axis:?}");
                    let parts = [low, high].map(|value| axis.part(axis.place(value)));
                    assert!(parts.iter().all(|part| (0.0..=1.0).contains(part)), "{axis:?}");
                }
            }
        }
    }

    #[test]
    fn numbers() {
        let shown = [0.0, 1.0, -2.5, 123_456.7, 1e-9, -1.5e10, 0.000_123_456_7];
        let wanted = ["0", "1", "−2.5", "123457", "1·10⁻⁹", "−1.5·10¹⁰", "0.000123457"];
        assert_eq!(shown.map(|value| number(value, 6)), wanted);
        assert_eq!([884_327.0, 9_016_035.0].map(|value| number(value, 3)), ["884000", "9.02·10⁶"]);
        let odd = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(|value| number(value, 3));
        assert_eq!(odd, ["∞", "−∞", "NaN"]);
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }
}
