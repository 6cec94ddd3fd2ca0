//! A function of two variables as colours and contour lines.

use super::canvas::{Point, Rgb};
use super::raster::mixed;

/// Colours from the lowest to the highest value.
pub(super) const BANDS: usize = 48;

/// From one contour line to the next, in bands.
const BANDS_BETWEEN_LINES: usize = 6;

/// Pixels from one of a contour line's points to the next.
const STRIDE: usize = 2;

/// Where the function is not a number.
pub(super) const NO_VALUE: Rgb = [0xb8; 3];

/// The colour of a band: ten of matplotlib's viridis, in which equal steps look equal and which grey
/// printers and colour-blind eyes can tell apart.
pub(super) fn colour(band: usize) -> Rgb {
    const VIRIDIS: [Rgb; 10] = [
        [0x44, 0x01, 0x54],
        [0x48, 0x28, 0x78],
        [0x3e, 0x49, 0x89],
        [0x31, 0x68, 0x8e],
        [0x26, 0x82, 0x8e],
        [0x1f, 0x9e, 0x89],
        [0x35, 0xb7, 0x79],
        [0x6e, 0xce, 0x58],
        [0xb5, 0xde, 0x2b],
        [0xfd, 0xe7, 0x25],
    ];
    let place = band as f64 / (BANDS - 1) as f64 * (VIRIDIS.len() - 1) as f64;
    let index = (place as usize).min(VIRIDIS.len() - 2);
    mixed(VIRIDIS[index], VIRIDIS[index + 1], place - index as f64)
}

/// The values of a function at the middles of pixels, row after row from the top.
pub(super) struct Map {
    width: usize,
    values: Vec<f64>,
    /// Between the bands: each band has as many pixels as any other, whatever powers of ten the values
    /// span.
    limits: Vec<f64>,
}

impl Map {
    pub(super) fn new(width: usize, values: Vec<f64>) -> Self {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let limit = |band: usize| sorted.get(sorted.len() * band / BANDS).copied();
        let limits = (1..BANDS).filter_map(limit).collect();
        Self { width, values, limits }
    }

    pub(super) fn colour(&self, column: usize, row: usize) -> Rgb {
        let value = self.values[row * self.width + column];
        if value.is_nan() {
            return NO_VALUE;
        }
        colour(self.limits.partition_point(|&limit| limit < value))
    }

    /// The values that have contour lines, and the bands they lie between: from the lowest.
    pub(super) fn levels(&self) -> Vec<(usize, f64)> {
        let limits = self.limits.iter().copied().enumerate();
        let mut levels: Vec<(usize, f64)> = limits
            .map(|(index, limit)| (index + 1, limit))
            .filter(|(band, _)| band % BANDS_BETWEEN_LINES == 0)
            .collect();
        levels.dedup_by_key(|level| level.1);
        levels
    }

    /// The lines at which the function has this value, in pixels from the upper left corner.
    pub(super) fn contour(&self, level: f64) -> Vec<[Point; 2]> {
        let rows = self.values.len() / self.width;
        let at = |column: usize, row: usize| {
            ([column as f64 + 0.5, row as f64 + 0.5], self.values[row * self.width + column])
        };
        let mut lines = Vec::new();
        for top in (0..rows.saturating_sub(STRIDE)).step_by(STRIDE) {
            for left in (0..self.width.saturating_sub(STRIDE)).step_by(STRIDE) {
                let (right, bottom) = (left + STRIDE, top + STRIDE);
                let corners = [at(left, top), at(right, top), at(right, bottom), at(left, bottom)];
                if !corners.iter().all(|corner| corner.1.is_finite()) {
                    continue;
                }
                let mut crossings = [[0.0; 2]; 4];
                let mut found = 0;
                for (index, &(a, from)) in corners.iter().enumerate() {
                    let (b, to) = corners[(index + 1) % 4];
                    if (from < level) != (to < level) {
                        let part = (level - from) / (to - from);
                        // Their difference may be infinite.
                        let part = if part.is_finite() { part } else { 0.5 };
                        crossings[found] = [0, 1].map(|axis| a[axis] + part * (b[axis] - a[axis]));
                        found += 1;
                    }
                }
                // Two, or all four sides at a saddle, where either way of joining them will do.
                for pair in crossings[..found].chunks_exact(2) {
                    lines.push([pair[0], pair[1]]);
                }
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(value: impl Fn(f64, f64) -> f64) -> Map {
        let place = |index: usize| [(index % 200) as f64 - 99.5, (index / 200) as f64 - 99.5];
        let values = (0..200 * 200).map(|index| value(place(index)[0], place(index)[1]));
        Map::new(200, values.collect())
    }

    #[test]
    fn contour_lines_lie_where_the_function_has_their_value() {
        let map = map(|x, y| x * x + y * y);
        let levels = map.levels();
        assert_eq!(levels.len(), BANDS / BANDS_BETWEEN_LINES - 1);
        for (_, level) in levels {
            let lines = map.contour(level);
            assert!(lines.len() > 20);
            for [x, y] in lines.into_iter().flatten() {
                let value = (x - 100.0).powi(2) + (y - 100.0).powi(2);
                assert!((value.sqrt() - level.sqrt()).abs() < 0.2, "{value} {level}");
            }
        }
    }

    #[test]
    fn colours_rise_with_the_value() {
        let brightness = |band| colour(band).iter().map(|&channel| u32::from(channel)).sum::<u32>();
        assert!((1..BANDS).all(|band| brightness(band) >= brightness(band - 1)));
        let map = map(|x, y| (x * 0.5 + y).exp());
        assert_eq!((map.colour(0, 0), map.colour(199, 199)), (colour(0), colour(BANDS - 1)));
        assert_eq!(map.colour(100, 100), colour(BANDS / 2));
    }

    #[test]
    fn strange_functions() {
        assert_eq!(map(|_, _| f64::NAN).colour(3, 4), NO_VALUE);
        assert!(map(|_, _| f64::NAN).levels().is_empty());
        let flat = map(|_, _| 7.0);
        assert_eq!(flat.colour(3, 4), colour(0));
        assert!(flat.levels().iter().all(|&(_, level)| flat.contour(level).is_empty()));
        let poles = map(|x, _| if x < 0.0 { f64::INFINITY } else { f64::NEG_INFINITY });
        assert!(poles.levels().is_empty());
        let huge = map(|x, y| if x < y { f64::MAX } else { f64::MIN });
        for (_, level) in huge.levels() {
            assert!(
                huge.contour(level).as_flattened().as_flattened().iter().all(|x| x.is_finite())
            );
        }
    }
}
