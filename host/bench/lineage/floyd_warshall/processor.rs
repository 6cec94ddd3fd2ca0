//! The forms for a processor, one thread each: as published, plain loops.

use flockwork_device::paths::Weight;

/// The distance by way of a vertex, if there are both parts.
fn through(first: i32, second: i32) -> i32 {
    let none = i32::UNREACHABLE;
    if first >= none || second >= none { none } else { first + second }
}

/// Row `to` and row `by` of a matrix. They differ.
fn rows(matrix: &mut [i32], n: usize, to: usize, by: usize) -> (&mut [i32], &[i32]) {
    if to < by {
        let (head, tail) = matrix.split_at_mut(by * n);
        (&mut head[to * n..][..n], &tail[..n])
    } else {
        let (head, tail) = matrix.split_at_mut(to * n);
        (&mut tail[..n], &head[by * n..][..n])
    }
}

/// Relaxes entries of a row, from column `first` on, by a pivot and as many entries of its row.
fn relax(matrix: &mut [i32], n: usize, (row, pivot): (usize, usize), first: usize, width: usize) {
    // The pivot's own row does not change: the distance from it to itself is zero.
    if row != pivot {
        let left = matrix[row * n + pivot];
        let (to, by) = rows(matrix, n, row, pivot);
        for (least, &right) in to[first..][..width].iter_mut().zip(&by[first..][..width]) {
            *least = (*least).min(through(left, right));
        }
    }
}

/// Three nested loops.
pub(super) fn classic(n: usize, matrix: &mut [i32]) {
    for pivot in 0..n {
        for row in 0..n {
            relax(matrix, n, (row, pivot), 0, n);
        }
    }
}

/// By tiles of so many rows, of which `n` is a multiple.
pub(super) fn blocked(n: usize, edge: usize, matrix: &mut [i32]) {
    let tiles = n / edge;
    for round in 0..tiles {
        let mut tile = |row: usize, column: usize| {
            for pivot in round * edge..(round + 1) * edge {
                for row in row * edge..(row + 1) * edge {
                    relax(matrix, n, (row, pivot), column * edge, edge);
                }
            }
        };
        let others = || (0..tiles).filter(move |&tile| tile != round);
        tile(round, round);
        others().for_each(|column| tile(round, column));
        others().for_each(|row| tile(row, round));
        others().for_each(|row| others().for_each(|column| tile(row, column)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_find_the_distances_of_a_ring_with_a_branch() {
        // 0 -> 5 -> 10 -> .. around, each step 2, and from 3 to 16, from where no edge goes on.
        let (n, ring, none) = (17, 16, i32::UNREACHABLE);
        let mut weights = vec![none; n * n];
        (0..n).for_each(|at| weights[at * n + at] = 0);
        (0..ring).for_each(|at| weights[at * n + (at + 5) % ring] = 2);
        weights[3 * n + 16] = 7;
        let mut classically = weights.clone();
        classic(n, &mut classically);
        for from in 0..ring {
            for to in 0..ring {
                // 5 * 13 = 65 = 1 modulo 16.
                let steps = (to + ring - from) * 13 % ring;
                assert_eq!(classically[from * n + to], 2 * steps as i32);
            }
            assert_eq!(classically[from * n + 16], classically[from * n + 3] + 7);
            assert_eq!(classically[16 * n + from], none);
        }
        // 17 is its own tile, or 17 tiles.
        for edge in [1, 17] {
            let mut by_tiles = weights.clone();
            blocked(n, edge, &mut by_tiles);
            assert!(by_tiles == classically);
        }
    }
}
