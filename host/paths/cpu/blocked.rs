//! The three steps of each block of pivots.

use std::time::Instant;

use flockwork_device::paths::{DIRECT, PIVOT};
use rayon::prelude::*;

use super::{
    super::solver::{Closed, Closing, Watch},
    kernel::{Kernels, TILE, Track},
    tiles::{across, from_tiles, into_tiles},
};
use crate::{
    Error, Result,
    backend::{Cpu, Simd},
};

/// Closes a matrix: distances, and vias if they were wanted, both row by row. `watch` is told after each
/// block of pivots how many of how many are done, and may end it.
pub fn close<W: Kernels>(
    cpu: &Cpu,
    closing: Closing<W>,
    watch: &mut Watch<'_>,
) -> Result<Closed<W>> {
    let Closing { n, entries, symmetric, vias } = closing;
    cpu.pool().install(|| {
        let bands = n.div_ceil(PIVOT);
        let entries = into_tiles(entries, n, W::UNREACHABLE);
        let vias = vias.then(|| vec![DIRECT; entries.len()]);
        let mut state = State {
            simd: cpu.simd(),
            bands,
            symmetric,
            entries,
            vias,
            columns: Panel::new(bands),
            rows: Panel::new(bands),
            rows_across: vec![W::UNREACHABLE; bands * TILE],
        };
        let began = Instant::now();
        for pivot in 0..bands {
            state.step(pivot);
            if watch(pivot + 1, bands).is_break() {
                return Err(Error::Interrupted);
            }
        }
        if symmetric {
            mirror(&mut state.entries, bands);
            if let Some(vias) = &mut state.vias {
                mirror(vias, bands);
            }
        }
        let relaxing = began.elapsed();
        let State { entries, vias, .. } = state;
        let vias = vias.map(|vias| from_tiles(vias, n, |via| via));
        Ok(Closed { entries: from_tiles(entries, n, W::settled), vias, relaxing })
    })
}

/// The tiles of a row or a column: before step 2, and after it.
struct Panel<W> {
    before: Vec<W>,
    after: Vec<W>,
    vias: Vec<u32>,
}

impl<W: Kernels> Panel<W> {
    fn new(bands: usize) -> Self {
        let tiles = vec![W::UNREACHABLE; bands * TILE];
        Self { before: tiles.clone(), after: tiles, vias: vec![DIRECT; bands * TILE] }
    }
}

struct State<W> {
    simd: Simd,
    /// Tiles in a row.
    bands: usize,
    /// Of a symmetric matrix the tiles above the diagonal are left alone until the end.
    symmetric: bool,
    entries: Vec<W>,
    vias: Option<Vec<u32>>,
    columns: Panel<W>,
    rows: Panel<W>,
    /// The tiles of `rows.after` with rows and columns exchanged: needed for vias.
    rows_across: Vec<W>,
}

impl<W: Kernels> State<W> {
    fn step(&mut self, pivot: usize) {
        let first = (pivot * PIVOT) as u32;
        let (bands, simd) = (self.bands, self.simd);
        let at = (pivot * bands + pivot) * TILE;

        // 1.
        let via = self.vias.as_mut().map(|vias| &mut vias[at..][..TILE]);
        W::close(simd, &mut self.entries[at..][..TILE], via, first);
        let closed = self.entries[at..][..TILE].to_vec();

        // 2.
        self.take_panels(pivot);
        self.relax_panels(pivot, &closed);

        // 3. The panels go back to where they were taken from.
        let Self { entries, vias, columns, rows, rows_across, .. } = self;
        let skip = |i: usize, j: usize| (i == pivot && j == pivot) || (self.symmetric && j > i);
        let panel = |i: usize, j: usize| {
            let nth = if i == pivot { j } else { i };
            (if i == pivot { &*rows } else { &*columns }, nth * TILE)
        };
        if let Some(vias) = vias {
            let tiles = entries.par_chunks_mut(TILE).zip(vias.par_chunks_mut(TILE)).enumerate();
            tiles.for_each(|(nth, (tile, via))| {
                let (i, j) = (nth / bands, nth % bands);
                if skip(i, j) {
                } else if i == pivot || j == pivot {
                    let (panel, at) = panel(i, j);
                    tile.copy_from_slice(&panel.after[at..][..TILE]);
                    via.copy_from_slice(&panel.vias[at..][..TILE]);
                } else {
                    let (left, right) = (&columns.after[i * TILE..], &rows.after[j * TILE..]);
                    let right_across = &rows_across[j * TILE..][..TILE];
                    W::relax(simd, tile, left, right, Some(Track { via, right_across, first }));
                }
            });
        } else {
            entries.par_chunks_mut(TILE).enumerate().for_each(|(nth, tile)| {
                let (i, j) = (nth / bands, nth % bands);
                if skip(i, j) {
                } else if i == pivot || j == pivot {
                    let (panel, at) = panel(i, j);
                    tile.copy_from_slice(&panel.after[at..][..TILE]);
                } else {
                    let (left, right) = (&columns.after[i * TILE..], &rows.after[j * TILE..]);
                    W::relax(simd, tile, left, right, None);
                }
            });
        }
    }

    /// Copies the tiles in the pivots' column and row.
    fn take_panels(&mut self, pivot: usize) {
        let Self { bands, symmetric, entries, vias, columns, rows, .. } = self;
        for nth in 0..*bands {
            let to = nth * TILE;
            let column = (nth * *bands + pivot) * TILE;
            let row = (pivot * *bands + nth) * TILE;
            // Above the diagonal there is nothing to be had.
            let mirrored = *symmetric && nth < pivot;
            if mirrored {
                across(&entries[row..], &mut columns.before[to..]);
            } else {
                columns.before[to..][..TILE].copy_from_slice(&entries[column..][..TILE]);
            }
            if !*symmetric {
                rows.before[to..][..TILE].copy_from_slice(&entries[row..][..TILE]);
            }
            if let Some(vias) = vias {
                if mirrored {
                    across(&vias[row..], &mut columns.vias[to..]);
                } else {
                    columns.vias[to..][..TILE].copy_from_slice(&vias[column..][..TILE]);
                }
                if !*symmetric {
                    rows.vias[to..][..TILE].copy_from_slice(&vias[row..][..TILE]);
                }
            }
        }
    }

    fn relax_panels(&mut self, pivot: usize, closed: &[W]) {
        let Self { simd, columns, rows, rows_across, vias, symmetric, .. } = self;
        let (simd, symmetric, track) = (*simd, *symmetric, vias.is_some());
        let first = (pivot * PIVOT) as u32;
        let mut closed_across = vec![W::UNREACHABLE; TILE];
        across(closed, &mut closed_across);

        let after = columns.after.par_chunks_mut(TILE).zip(columns.vias.par_chunks_mut(TILE));
        let before = &columns.before;
        after.enumerate().for_each(|(nth, (tile, via))| {
            let before = &before[nth * TILE..][..TILE];
            tile.copy_from_slice(before);
            let track = track.then_some(Track { via, right_across: &closed_across, first });
            W::relax(simd, tile, before, closed, track);
        });

        let after = rows.after.par_chunks_mut(TILE).zip(rows.vias.par_chunks_mut(TILE));
        let (columns, before) = (&*columns, &rows.before);
        after.zip(rows_across.par_chunks_mut(TILE)).enumerate().for_each(
            |(nth, ((tile, via), crossed))| {
                if symmetric {
                    // The row is the column, seen from the other side.
                    let column = &columns.after[nth * TILE..][..TILE];
                    across(column, tile);
                    if track {
                        crossed.copy_from_slice(column);
                        across(&columns.vias[nth * TILE..], via);
                    }
                    return;
                }
                let before = &before[nth * TILE..][..TILE];
                tile.copy_from_slice(before);
                if track {
                    across(before, crossed);
                }
                let tracked = track.then_some(Track { via, right_across: crossed, first });
                W::relax(simd, tile, closed, before, tracked);
                if track {
                    across(tile, crossed);
                }
            },
        );
    }
}

/// Copies what is below the diagonal to above it.
fn mirror<T: Copy + Send + Sync>(tiles: &mut [T], bands: usize) {
    for i in 0..bands {
        for j in 0..i {
            let (before, after) = tiles.split_at_mut((i * bands + j) * TILE);
            across(after, &mut before[(j * bands + i) * TILE..]);
        }
    }
}
