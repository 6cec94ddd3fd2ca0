//! The three steps of each pivot block, several pivot blocks in each pass through the matrix.
//!
//! The matrix is larger than a core's caches, and loading a tile for one pivot block takes as long
//! as relaxing it. So a pass takes [`AT_ONCE`] pivot blocks. It performs all three steps of each,
//! in order, for the tiles in their rows and columns, and then goes once through all other tiles
//! and relaxes each by the blocks in order. Every tile sees the same steps in the same order as
//! with one block at a time.

use std::{ops::Range, time::Instant};

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

/// Pivot blocks in a pass.
pub const AT_ONCE: usize = 4;

/// Bytes of a pass's right factors, which stay in a core's cache while left factors and tiles
/// stream by.
const KEPT_BYTES: usize = 256 << 10;

/// Closes a matrix: returns distances, and vias if they were requested, both row by row. `watch` is
/// called after each pass with the number of pivot blocks done and their total, and may stop the
/// computation.
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
            factors: [(); AT_ONCE].map(|()| Factors::new(bands)),
            column_vias: vec![DIRECT; bands * TILE],
            row_vias: vec![DIRECT; bands * TILE],
        };
        let began = Instant::now();
        for first in (0..bands).step_by(AT_ONCE) {
            let end = bands.min(first + AT_ONCE);
            state.pass(first..end);
            if watch(end, bands).is_break() {
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

/// The tiles by which a pivot block relaxes others: those of its column and row after step 2.
struct Factors<W> {
    columns: Vec<W>,
    rows: Vec<W>,
    /// The tiles of `rows`, each transposed: needed for vias.
    rows_across: Vec<W>,
}

impl<W: Kernels> Factors<W> {
    fn new(bands: usize) -> Self {
        let tiles = vec![W::UNREACHABLE; bands * TILE];
        Self { columns: tiles.clone(), rows: tiles.clone(), rows_across: tiles }
    }

    /// Step 3 for one tile; `first` is the first pivot of the block.
    fn relax(&self, simd: Simd, place: &mut Place<'_, W>, first: u32) {
        let (left, right) = (place.i * TILE, place.j * TILE);
        let track = place.via.as_deref_mut().map(|via| Track {
            via,
            right_across: &self.rows_across[right..][..TILE],
            first,
        });
        W::relax(simd, place.tile, &self.columns[left..], &self.rows[right..], track);
    }
}

/// A tile of the matrix, in row `i` and column `j` of tiles.
struct Place<'a, W> {
    i: usize,
    j: usize,
    tile: &'a mut [W],
    via: Option<&'a mut [u32]>,
}

/// The wanted tiles of a matrix, row by row.
fn places<'a, W>(
    entries: &'a mut [W],
    vias: Option<&'a mut Vec<u32>>,
    bands: usize,
    wanted: impl Fn(usize, usize) -> bool,
) -> Vec<Place<'a, W>> {
    let mut vias = vias.map(|vias| vias.chunks_exact_mut(TILE));
    let places = entries.chunks_exact_mut(TILE).enumerate().map(|(nth, tile)| {
        let via = vias.as_mut().and_then(Iterator::next);
        Place { i: nth / bands, j: nth % bands, tile, via }
    });
    places.filter(|place| wanted(place.i, place.j)).collect()
}

struct State<W> {
    simd: Simd,
    /// Tiles in a row.
    bands: usize,
    /// If the matrix is symmetric, tiles above the diagonal are not touched until the end.
    symmetric: bool,
    entries: Vec<W>,
    vias: Option<Vec<u32>>,
    /// For each pivot block of a pass.
    factors: [Factors<W>; AT_ONCE],
    /// The vias of the entries in the current block's [`Factors`].
    column_vias: Vec<u32>,
    row_vias: Vec<u32>,
}

impl<W: Kernels> State<W> {
    fn pass(&mut self, pivots: Range<usize>) {
        for pivot in pivots.clone() {
            self.step(pivot, &pivots);
        }
        let Self { simd, bands, symmetric, entries, vias, factors, .. } = self;
        let mut rest = places(entries, vias.as_mut(), *bands, |i, j| {
            !pivots.contains(&i) && !pivots.contains(&j) && (!*symmetric || j <= i)
        });
        // Several columns at a time, whose right factors are shared by every row.
        let columns = (KEPT_BYTES / (AT_ONCE * TILE * size_of::<W>())).max(1);
        rest.sort_unstable_by_key(|place| (place.j / columns, place.i, place.j));
        rest.par_iter_mut().for_each(|place| {
            for (pivot, factors) in pivots.clone().zip(&*factors) {
                factors.relax(*simd, place, (pivot * PIVOT) as u32);
            }
        });
    }

    /// All three steps of one pivot block of a pass, for the tiles in the pass's rows and columns.
    fn step(&mut self, pivot: usize, pivots: &Range<usize>) {
        let first = (pivot * PIVOT) as u32;
        let at = (pivot * self.bands + pivot) * TILE;

        // 1.
        let via = self.vias.as_mut().map(|vias| &mut vias[at..][..TILE]);
        W::close(self.simd, &mut self.entries[at..][..TILE], via, first);
        let closed = self.entries[at..][..TILE].to_vec();

        // 2.
        let nth = pivot - pivots.start;
        self.make_factors(nth, pivot, &closed);

        // 3. The factors are copied back to where they came from.
        let Self { simd, bands, symmetric, entries, vias, factors, column_vias, row_vias } = self;
        let mut crossing = places(entries, vias.as_mut(), *bands, |i, j| {
            (pivots.contains(&i) || pivots.contains(&j))
                && (i != pivot || j != pivot)
                && (!*symmetric || j <= i)
        });
        let factors = &factors[nth];
        crossing.par_iter_mut().for_each(|place| {
            let (made, vias, at) = match (place.i == pivot, place.j == pivot) {
                (true, _) => (&factors.rows, &*row_vias, place.j * TILE),
                (_, true) => (&factors.columns, &*column_vias, place.i * TILE),
                _ => return factors.relax(*simd, place, first),
            };
            place.tile.copy_from_slice(&made[at..][..TILE]);
            if let Some(via) = &mut place.via {
                via.copy_from_slice(&vias[at..][..TILE]);
            }
        });
    }

    /// Step 2.
    fn make_factors(&mut self, nth: usize, pivot: usize, closed: &[W]) {
        let Self { simd, bands, symmetric, entries, vias, factors, column_vias, row_vias } = self;
        let (simd, bands, symmetric, track) = (*simd, *bands, *symmetric, vias.is_some());
        let Factors { columns, rows, rows_across } = &mut factors[nth];
        let first = (pivot * PIVOT) as u32;
        let mut closed_across = vec![W::UNREACHABLE; TILE];
        across(closed, &mut closed_across);
        let take = |i: usize, j: usize, tile: &mut [W], via: &mut [u32]| {
            // Above the diagonal of a symmetric matrix there is no valid tile, so transpose the one
            // below.
            let mirrored = symmetric && j > i;
            let at = if mirrored { j * bands + i } else { i * bands + j } * TILE;
            let (from, vias) = (&entries[at..][..TILE], vias.as_ref().map(|vias| &vias[at..]));
            if mirrored {
                across(from, tile);
                vias.inspect(|vias| across(vias, via));
            } else {
                tile.copy_from_slice(from);
                vias.inspect(|vias| via.copy_from_slice(&vias[..TILE]));
            }
        };
        let scratch = || vec![W::UNREACHABLE; TILE];

        let tiles = columns.par_chunks_mut(TILE).zip(column_vias.par_chunks_mut(TILE));
        tiles.enumerate().for_each_init(scratch, |before, (i, (tile, via))| {
            take(i, pivot, tile, via);
            before.copy_from_slice(tile);
            let track = track.then_some(Track { via, right_across: &closed_across, first });
            W::relax(simd, tile, before, closed, track);
        });

        let (columns, column_vias) = (&*columns, &*column_vias);
        let tiles = rows.par_chunks_mut(TILE).zip(row_vias.par_chunks_mut(TILE));
        let tiles = tiles.zip(rows_across.par_chunks_mut(TILE)).enumerate();
        tiles.for_each_init(scratch, |before, (j, ((tile, via), crossed))| {
            if symmetric {
                // The row is the transposed column.
                let column = &columns[j * TILE..][..TILE];
                across(column, tile);
                if track {
                    crossed.copy_from_slice(column);
                    across(&column_vias[j * TILE..], via);
                }
                return;
            }
            take(pivot, j, tile, via);
            before.copy_from_slice(tile);
            if track {
                across(before, crossed);
            }
            let tracked = track.then_some(Track { via, right_across: crossed, first });
            W::relax(simd, tile, closed, before, tracked);
            if track {
                across(tile, crossed);
            }
        });
    }
}

/// Copies the tiles below the diagonal, transposed, to above it.
fn mirror<T: Copy + Send + Sync>(tiles: &mut [T], bands: usize) {
    for i in 0..bands {
        for j in 0..i {
            let (before, after) = tiles.split_at_mut((i * bands + j) * TILE);
            across(after, &mut before[(j * bands + i) * TILE..]);
        }
    }
}
