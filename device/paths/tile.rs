//! Tiles: [`PIVOT`] x [`PIVOT`] entries, row by row.
//!
//! The functions here say what each step computes, in the plainest way; the CPU back end and the kernels
//! compute the same in registers. Each takes slices of [`PIVOT`] * [`PIVOT`] entries and
//! 2^18 sums and minima.

use super::{DIRECT, PIVOT, Weight};

/// Step 1: closes the tile of the pivots by the plain triple loop, in place, k ascending.
///
/// ```
/// use flockwork_device::paths::{PIVOT, Weight, tile};
///
/// let mut distances = vec![u16::UNREACHABLE; PIVOT * PIVOT];
/// for i in 0..PIVOT {
///     distances[i * PIVOT + i] = 0;
///     // A ring.
///     distances[i * PIVOT + (i + 1) % PIVOT] = 3;
/// }
/// tile::close(&mut distances);
/// assert_eq!(distances[63], 63 * 3);
/// assert_eq!(distances[5 * PIVOT + 4], 63 * 3);
/// ```
#[inline(always)]
pub fn close<W: Weight>(tile: &mut [W]) {
    let tile = &mut tile[..PIVOT * PIVOT];
    for k in 0..PIVOT {
        let mut through = [W::UNREACHABLE; PIVOT];
        through.copy_from_slice(&tile[k * PIVOT..][..PIVOT]);
        for row in tile.chunks_exact_mut(PIVOT) {
            let to = row[k];
            for (entry, from) in row.iter_mut().zip(through) {
                *entry = to.plus(from).least(*entry);
            }
        }
    }
}

/// Step 1 with vias; `first` is the index of the first pivot among all vertices.
///
/// ```
/// use flockwork_device::paths::{DIRECT, PIVOT, Weight, tile};
///
/// let mut distances = vec![i32::UNREACHABLE; PIVOT * PIVOT];
/// (0..PIVOT).for_each(|i| distances[i * PIVOT + i] = 0);
/// (distances[1], distances[2], distances[PIVOT + 2]) = (5, 4, -2);
/// let mut via = vec![DIRECT; PIVOT * PIVOT];
/// tile::close_via(&mut distances, &mut via, 640);
/// assert_eq!((distances[2], via[2], via[1]), (3, 641, DIRECT));
/// ```
#[inline(always)]
pub fn close_via<W: Weight>(tile: &mut [W], via: &mut [u32], first: u32) {
    let (tile, via) = (&mut tile[..PIVOT * PIVOT], &mut via[..PIVOT * PIVOT]);
    for k in 0..PIVOT {
        let mut through = [W::UNREACHABLE; PIVOT];
        through.copy_from_slice(&tile[k * PIVOT..][..PIVOT]);
        for (row, via) in tile.chunks_exact_mut(PIVOT).zip(via.chunks_exact_mut(PIVOT)) {
            let to = row[k];
            for ((entry, via), from) in row.iter_mut().zip(via).zip(through) {
                let candidate = to.plus(from);
                *via = if candidate.less(*entry) { first + k as u32 } else { *via };
                *entry = candidate.least(*entry);
            }
        }
    }
}

/// Steps 2 and 3: each entry becomes the least of itself and the min-plus product of two other tiles,
/// `left[i][k] + right[k][j]` over all k.
///
/// ```
/// use flockwork_device::paths::{PIVOT, Weight, tile};
///
/// let none = vec![f64::UNREACHABLE; PIVOT * PIVOT];
/// let (mut tile, mut left, mut right) = (none.clone(), none.clone(), none);
/// (left[7], right[7 * PIVOT + 9]) = (1.0, 0.25);
/// tile::relax(&mut tile, &left, &right);
/// assert_eq!(tile[9], 1.25);
/// ```
#[inline(always)]
pub fn relax<W: Weight>(tile: &mut [W], left: &[W], right: &[W]) {
    let right = &right[..PIVOT * PIVOT];
    for (row, left) in tile.chunks_exact_mut(PIVOT).zip(left.chunks_exact(PIVOT)) {
        for (&to, right) in left.iter().zip(right.chunks_exact(PIVOT)) {
            for (entry, &from) in row.iter_mut().zip(right) {
                *entry = to.plus(from).least(*entry);
            }
        }
    }
}

/// The via of an entry after step 2 or 3: what it was, if the entry is not strictly less than `before`;
/// else the lowest k for which `left(k) + right(k)` is the entry, counted from `first`.
///
/// ```
/// use flockwork_device::paths::{DIRECT, tile};
///
/// let (left, right) = ([9, 2, 1], [9, 3, 4]);
/// let via = tile::attaining(7, 5, DIRECT, 64, 3, |k| left[k], |k| right[k]);
/// assert_eq!(via, 65);
/// assert_eq!(tile::attaining(5, 5, DIRECT, 64, 3, |k| left[k], |k| right[k]), DIRECT);
/// ```
#[inline(always)]
pub fn attaining<W: Weight>(
    before: W,
    entry: W,
    via: u32,
    first: u32,
    pivots: usize,
    left: impl Fn(usize) -> W,
    right: impl Fn(usize) -> W,
) -> u32 {
    if !entry.less(before) {
        return via;
    }
    let found = (0..pivots).find(|&k| left(k).plus(right(k)) == entry);
    found.map_or(DIRECT, |k| first + k as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// Small integers and some unreachable entries, from a multiplicative generator.
    fn tile<W: Weight>(seed: u64) -> Vec<W> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            state >> 33
        };
        let mut entry = |_| match next() % 4 {
            0 => W::UNREACHABLE,
            _ => W::nearest((next() % 50) as f64),
        };
        (0..PIVOT * PIVOT).map(&mut entry).collect()
    }

    fn agrees<W: Weight>() {
        let mut one = tile::<W>(1);
        (0..PIVOT).for_each(|i| one[i * PIVOT + i] = W::ZERO);
        let mut other = one.clone();
        let mut via = std::vec![DIRECT; PIVOT * PIVOT];
        let start = one.clone();
        close(&mut one);
        close_via(&mut other, &mut via, 0);
        assert!(one == other, "{}", W::NAME);
        for (at, &via) in via.iter().enumerate() {
            let (i, j) = (at / PIVOT, at % PIVOT);
            assert_eq!(via == DIRECT, one[at] == start[at]);
            if via != DIRECT {
                let k = via as usize;
                assert!(one[i * PIVOT + k].plus(one[k * PIVOT + j]) == one[at]);
            }
        }
        // Closed: relaxing with itself changes nothing.
        relax(&mut other, &one, &one);
        assert!(one == other);

        let (left, right) = (tile::<W>(2), tile::<W>(3));
        let before = tile::<W>(4);
        let mut after = before.clone();
        relax(&mut after, &left, &right);
        for (at, &entry) in after.iter().enumerate() {
            let (i, j) = (at / PIVOT, at % PIVOT);
            let sums = (0..PIVOT).map(|k| left[i * PIVOT + k].plus(right[k * PIVOT + j]));
            let least = sums.clone().fold(before[at], |a, b| b.least(a));
            assert!(entry == least);
            let via = attaining(
                before[at],
                entry,
                77,
                1000,
                PIVOT,
                |k| left[i * PIVOT + k],
                |k| right[k * PIVOT + j],
            );
            let lowest = sums.clone().position(|sum| sum == entry).map(|k| k as u32 + 1000);
            let expected = if entry.less(before[at]) { lowest.unwrap() } else { 77 };
            assert_eq!(via, expected);
        }
    }

    #[test]
    fn tiles_of_every_type_agree_with_what_is_written() {
        agrees::<f32>();
        agrees::<f64>();
        agrees::<i32>();
        agrees::<u16>();
    }
}
