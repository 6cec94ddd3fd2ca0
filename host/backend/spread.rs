//! Median and range of measurements.

use std::time::Duration;

/// Statistics of repeated timings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    /// The median in seconds: the upper one of an even number.
    pub median: f64,
    /// Least and greatest, in seconds.
    pub range: (f64, f64),
}

impl Spread {
    /// From one or more times.
    pub fn of(times: impl IntoIterator<Item = Duration>) -> Self {
        Self::of_seconds(times.into_iter().map(|time| time.as_secs_f64()))
    }

    /// From one or more times in seconds.
    pub fn of_seconds(seconds: impl IntoIterator<Item = f64>) -> Self {
        let mut seconds: Vec<f64> = seconds.into_iter().collect();
        seconds.sort_by(f64::total_cmp);
        let (first, last) = (seconds[0], seconds[seconds.len() - 1]);
        Self { median: seconds[seconds.len() / 2], range: (first, last) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_any_order_have_a_median_and_a_range() {
        let of = |seconds: &[f64]| {
            let Spread { median, range: (least, most) } = Spread::of_seconds(seconds.to_vec());
            [median, least, most]
        };
        assert_eq!(of(&[2.0]), [2.0; 3]);
        assert_eq!(of(&[5.0, 1.0, 9.0]), [5.0, 1.0, 9.0]);
        assert_eq!(of(&[4.0, 1.0, 3.0, 2.0]), [3.0, 1.0, 4.0]);
        let whole = Spread::of([2, 3, 1].map(Duration::from_secs));
        assert_eq!((whole.median, whole.range), (2.0, (1.0, 3.0)));
    }
}
