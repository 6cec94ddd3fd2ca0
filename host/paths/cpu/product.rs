//! The min-plus product of two matrices.

use flockwork_device::paths::PIVOT;
use rayon::prelude::*;

use super::kernel::{Kernels, TILE};
use crate::backend::Cpu;

/// A block of numbers, row by row.
#[derive(Clone, Copy)]
pub struct Block<'a, W> {
    pub rows: usize,
    pub columns: usize,
    pub entries: &'a [W],
}

/// For each row i of `left` and column j of `right` the minimum over k of `left[i][k] +
/// right[k][j]`, row by row.
pub fn min_plus<W: Kernels>(cpu: &Cpu, left: Block<'_, W>, right: Block<'_, W>) -> Vec<W> {
    cpu.pool().install(|| {
        let (rows, columns) = (left.rows, right.columns);
        let inner = left.columns.div_ceil(PIVOT);
        let right = tiles(right);
        let left = tiles(left);
        let mut product = vec![W::UNREACHABLE; rows * columns];
        if product.is_empty() {
            return product;
        }
        let bands = product.par_chunks_mut(PIVOT * columns).enumerate();
        bands.for_each_init(
            || vec![W::UNREACHABLE; TILE],
            |tile, (i, band)| {
                for (j, column) in (0..columns).step_by(PIVOT).enumerate() {
                    tile.fill(W::UNREACHABLE);
                    for k in 0..inner {
                        let left = &left[(i * inner + k) * TILE..];
                        let right = &right[(k * columns.div_ceil(PIVOT) + j) * TILE..];
                        W::relax(cpu.simd(), tile, left, right, None);
                    }
                    let width = PIVOT.min(columns - column);
                    for (row, from) in band.chunks_exact_mut(columns).zip(tile.chunks_exact(PIVOT))
                    {
                        for (to, from) in row[column..][..width].iter_mut().zip(from) {
                            *to = from.settled();
                        }
                    }
                }
            },
        );
        product
    })
}

/// Converts rows to tiles.
fn tiles<W: Kernels>(matrix: Block<'_, W>) -> Vec<W> {
    let Block { rows, columns, entries } = matrix;
    let across = columns.div_ceil(PIVOT);
    let mut tiles = vec![W::UNREACHABLE; rows.div_ceil(PIVOT) * across * TILE];
    tiles.par_chunks_mut(TILE).enumerate().for_each(|(nth, tile)| {
        let (i, j) = (nth / across * PIVOT, nth % across * PIVOT);
        let width = PIVOT.min(columns - j);
        for (row, to) in (i..rows).zip(tile.chunks_exact_mut(PIVOT)) {
            to[..width].copy_from_slice(&entries[row * columns + j..][..width]);
        }
    });
    tiles
}
