//! Squares on and below the diagonal, counted without those above it.

/// How many there are in a matrix of `side` by `side`.
pub const fn squares(side: u32) -> u32 {
    side * (side + 1) / 2
}

/// Row and column of square `index`, in a matrix of `side` by `side`.
///
/// Row r and row `side - 1 - r` are always as long together: so they make a rectangle, half as high, and one
/// division finds the place.
#[inline(always)]
pub const fn place(side: u32, index: u32) -> (u32, u32) {
    let (row, column) = (index / (side + 1), index % (side + 1));
    let long = side - row;
    if column < long { (long - 1, column) } else { (row, column - long) }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn every_square_has_one_index() {
        for side in 0..20 {
            let mut places: Vec<_> = (0..squares(side)).map(|index| place(side, index)).collect();
            places.sort_unstable();
            let all = (0..side).flat_map(|row| (0..=row).map(move |column| (row, column)));
            assert!(places.into_iter().eq(all), "side {side}");
        }
    }
}
