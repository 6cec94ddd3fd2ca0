//! A matrix as tiles, row by row, each tile contiguous in memory.
//!
//! A band (a row of tiles) takes the same space in either layout, so it is converted in place with
//! a buffer for one band, and the matrix exists only once.

use flockwork_device::paths::PIVOT;
use rayon::prelude::*;

use super::kernel::TILE;

/// Converts rows to tiles: an n x n matrix grows to whole tiles, filled with `padding`.
pub fn into_tiles<T: Copy + Send + Sync>(mut entries: Vec<T>, n: usize, padding: T) -> Vec<T> {
    let side = n.next_multiple_of(PIVOT);
    entries.resize(side * side, padding);
    if side != n {
        // From the last row, since each moves towards the end.
        for row in (0..n).rev() {
            entries.copy_within(row * n..(row + 1) * n, row * side);
            entries[row * side + n..(row + 1) * side].fill(padding);
        }
    }
    if side != 0 {
        entries.par_chunks_mut(PIVOT * side).for_each_init(Vec::new, |scratch, band| {
            scratch.clear();
            scratch.extend_from_slice(band);
            for (nth, tile) in band.chunks_exact_mut(TILE).enumerate() {
                for (row, to) in tile.chunks_exact_mut(PIVOT).enumerate() {
                    to.copy_from_slice(&scratch[row * side + nth * PIVOT..][..PIVOT]);
                }
            }
        });
    }
    entries
}

/// Converts back to rows, applying `finish` to every entry.
pub fn from_tiles<T: Copy + Send + Sync>(
    mut entries: Vec<T>,
    n: usize,
    finish: impl Fn(T) -> T + Sync,
) -> Vec<T> {
    let side = n.next_multiple_of(PIVOT);
    if side != 0 {
        entries.par_chunks_mut(PIVOT * side).for_each_init(Vec::new, |scratch, band| {
            scratch.clear();
            scratch.extend_from_slice(band);
            for (nth, tile) in scratch.chunks_exact(TILE).enumerate() {
                for (row, from) in tile.chunks_exact(PIVOT).enumerate() {
                    let to = &mut band[row * side + nth * PIVOT..][..PIVOT];
                    for (to, &from) in to.iter_mut().zip(from) {
                        *to = finish(from);
                    }
                }
            }
        });
    }
    if side != n {
        for row in 0..n {
            entries.copy_within(row * side..row * side + n, row * n);
        }
    }
    entries.truncate(n * n);
    entries
}

/// Transposes a tile, in blocks that fit in a few cache lines.
pub fn across<T: Copy>(from: &[T], to: &mut [T]) {
    const BLOCK: usize = 16;
    let (from, to) = (&from[..TILE], &mut to[..TILE]);
    for i in (0..PIVOT).step_by(BLOCK) {
        for j in (0..PIVOT).step_by(BLOCK) {
            for j in j..j + BLOCK {
                for i in i..i + BLOCK {
                    to[j * PIVOT + i] = from[i * PIVOT + j];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for n in [0, 1, 5, 63, 64, 65, 130] {
            let rows: Vec<u32> = (0..(n * n) as u32).collect();
            let tiles = into_tiles(rows.clone(), n, u32::MAX);
            let bands = n.div_ceil(PIVOT);
            assert_eq!(tiles.len(), bands * bands * TILE);
            for (at, &value) in tiles.iter().enumerate() {
                let (tile, inside) = (at / TILE, at % TILE);
                let i = tile / bands * PIVOT + inside / PIVOT;
                let j = tile % bands * PIVOT + inside % PIVOT;
                let expected = if i < n && j < n { rows[i * n + j] } else { u32::MAX };
                assert_eq!(value, expected, "n = {n}");
            }
            assert_eq!(from_tiles(tiles, n, |x| x), rows, "n = {n}");
        }
    }

    #[test]
    fn across_twice_is_nothing() {
        let tile: Vec<u32> = (0..TILE as u32).collect();
        let (mut once, mut twice) = (vec![0; TILE], vec![0; TILE]);
        across(&tile, &mut once);
        across(&once, &mut twice);
        assert_eq!(once[3 * PIVOT + 9], tile[9 * PIVOT + 3]);
        assert_eq!(twice, tile);
    }
}
