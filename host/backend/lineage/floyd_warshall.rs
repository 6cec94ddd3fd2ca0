//! The published versions of a blocked Floyd-Warshall: their launches, in their order.

use std::time::{Duration, Instant};

use flockwork_device::{
    kernel::Kernel,
    lineage::floyd_warshall::{
        Arguments, Column, ColumnShared, ColumnTransposed, Cross, CrossOfAll, Diagonal,
        DiagonalPadded, DiagonalShared, Divisor, Everywhere, One, PITCH, Rest, RestOfAll,
        RestShared, RestTransposed, Row, RowShared, RowTransposed, padding,
    },
    paths::Weight,
};

use super::super::machine::Machine;
use crate::Result;

/// A version, by its name in the change log. The report calls v1_1 to v1_4 1.0 to 1.3 and v2_2 2.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V1_0,
    V1_1,
    V1_1Pitch,
    V1_2,
    V1_3,
    V1_3Pitch,
    V1_4,
    V2_0,
    V2_1f,
    V2_2,
}

impl Version {
    pub const ALL: [Self; 10] = [
        Self::V1_0,
        Self::V1_1,
        Self::V1_1Pitch,
        Self::V1_2,
        Self::V1_3,
        Self::V1_3Pitch,
        Self::V1_4,
        Self::V2_0,
        Self::V2_1f,
        Self::V2_2,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::V1_0 => "v1_0",
            Self::V1_1 => "v1_1",
            Self::V1_1Pitch => "v1_1_pitch",
            Self::V1_2 => "v1_2",
            Self::V1_3 => "v1_3",
            Self::V1_3Pitch => "v1_3_pitch",
            Self::V1_4 => "v1_4",
            Self::V2_0 => "v2_0",
            Self::V2_1f => "v2_1f",
            Self::V2_2 => "v2_2",
        }
    }

    /// Whether it finds the distances.
    pub const fn is_right(self) -> bool {
        !matches!(self, Self::V1_0 | Self::V2_1f)
    }

    /// The step of a [`path`] for which the error of those that are wrong shows. v1_0 needs one that leads from
    /// each vertex to the one before, whose row of the matrix must have come as far as its own pivot; v2_1f one
    /// that leaves a tile and comes back.
    pub const fn fails_for(self, vertices: usize) -> usize {
        if matches!(self, Self::V1_0) { vertices - 1 } else { 7 }
    }

    /// From an entry of a matrix to the one below.
    fn stride(self, vertices: u32) -> u32 {
        let whole = PITCH / size_of::<u32>() as u32;
        match self {
            Self::V1_1Pitch | Self::V1_3Pitch => vertices.next_multiple_of(whole),
            _ => vertices,
        }
    }
}

/// A single path through all vertices, which visits 0 and then always the vertex that is `step` further, modulo
/// their number, with which `step` has no factor in common: its edges, and all distances.
pub(crate) fn path(vertices: usize, step: usize) -> (Vec<i32>, Vec<i32>) {
    let mut places = vec![0; vertices];
    (0..vertices).for_each(|place| places[place * step % vertices] = place);
    let mut distances = vec![i32::UNREACHABLE; vertices * vertices];
    for (row, &from) in distances.chunks_exact_mut(vertices).zip(&places) {
        for (distance, &to) in row.iter_mut().zip(&places).filter(|(_, to)| **to >= from) {
            *distance = (to - from) as i32;
        }
    }
    let edge = |&distance: &i32| if distance <= 1 { distance } else { i32::UNREACHABLE };
    (distances.iter().map(edge).collect(), distances)
}

/// What a version took and found.
pub(crate) struct Published {
    /// The launches, by the machine's clock.
    pub launches: Duration,
    /// From the host's memory to there: a new buffer, both copies and the launches, by the host's clock.
    pub whole: Duration,
    /// Row by row.
    pub distances: Vec<i32>,
}

/// A version whose kernels are ready.
pub(crate) struct Ready<M: Machine> {
    version: Version,
    kernels: Kernels<M>,
}

enum Kernels<M: Machine> {
    Everywhere(M::Loaded<Everywhere>),
    One(M::Loaded<One>),
    OfAll(M::Loaded<Diagonal>, M::Loaded<CrossOfAll>, M::Loaded<RestOfAll>),
    Crossing(M::Loaded<Diagonal>, M::Loaded<Cross>, M::Loaded<Rest>),
    Apart(M::Loaded<Diagonal>, M::Loaded<Row>, M::Loaded<Column>, M::Loaded<Rest>),
    Shared {
        /// Whether phase 1 is done for all rounds at once, ahead of them.
        ahead: bool,
        diagonal: M::Loaded<DiagonalShared>,
        row: M::Loaded<RowShared>,
        column: M::Loaded<ColumnShared>,
        rest: M::Loaded<RestShared>,
    },
    Transposed {
        diagonal: M::Loaded<DiagonalPadded>,
        row: M::Loaded<RowTransposed>,
        column: M::Loaded<ColumnTransposed>,
        rest: M::Loaded<RestTransposed>,
    },
}

/// Launches for one matrix.
struct Launching<'a, M> {
    machine: &'a M,
    threads: u32,
    arguments: Arguments,
}

impl<M: Machine> Launching<'_, M> {
    /// A launch, if it has blocks.
    ///
    /// # Safety
    /// The kernel's arguments are of this type, and as it documents them.
    unsafe fn launch<K: Kernel<Arguments = Arguments>>(
        &self,
        kernel: &M::Loaded<K>,
        blocks: u32,
    ) -> Result<()> {
        if blocks == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { self.machine.launch(kernel, blocks, self.threads, &self.arguments) }
    }

    /// A round of a version that has a launch for each tile: phase 1, then phase 2 to the left, above, below and
    /// to the right, then phase 3 by quarters.
    ///
    /// # Safety
    /// As [`Launching::launch`].
    unsafe fn each<K: Kernel<Arguments = Arguments>>(
        &mut self,
        kernel: &M::Loaded<K>,
        blocks: u32,
    ) -> Result<()> {
        let (round, tiles) = (self.arguments.round, self.arguments.tiles.get());
        let (before, after) = (|| (0..round).rev(), || round + 1..tiles);
        let mut relax = |row, column| {
            (self.arguments.row, self.arguments.column) = (row, column);
            // SAFETY: the caller's promise.
            unsafe { self.launch(kernel, blocks) }
        };
        relax(round, round)?;
        before().try_for_each(|column| relax(round, column))?;
        before().try_for_each(|row| relax(row, round))?;
        after().try_for_each(|row| relax(row, round))?;
        after().try_for_each(|column| relax(round, column))?;
        after().try_for_each(|column| before().try_for_each(|row| relax(row, column)))?;
        before().try_for_each(|column| before().try_for_each(|row| relax(row, column)))?;
        before().try_for_each(|column| after().try_for_each(|row| relax(row, column)))?;
        after().try_for_each(|column| after().try_for_each(|row| relax(row, column)))
    }
}

impl<M: Machine> Ready<M> {
    /// Loads a version's kernels.
    pub fn new(machine: &M, version: Version) -> Result<Self> {
        let kernels = match version {
            Version::V1_0 => Kernels::Everywhere(machine.load()?),
            Version::V1_1 | Version::V1_1Pitch => Kernels::One(machine.load()?),
            Version::V1_2 => Kernels::OfAll(machine.load()?, machine.load()?, machine.load()?),
            Version::V1_3 | Version::V1_3Pitch => {
                Kernels::Crossing(machine.load()?, machine.load()?, machine.load()?)
            }
            Version::V1_4 => {
                let (diagonal, row) = (machine.load()?, machine.load()?);
                Kernels::Apart(diagonal, row, machine.load()?, machine.load()?)
            }
            Version::V2_0 | Version::V2_1f => Kernels::Shared {
                ahead: version == Version::V2_1f,
                diagonal: machine.load()?,
                row: machine.load()?,
                column: machine.load()?,
                rest: machine.load()?,
            },
            Version::V2_2 => Kernels::Transposed {
                diagonal: machine.load()?,
                row: machine.load()?,
                column: machine.load()?,
                rest: machine.load()?,
            },
        };
        Ok(Self { version, kernels })
    }

    /// Runs it on a matrix of `edge * tiles` rows and columns. No weight is negative, and the square of `edge` is a
    /// multiple of 32, 1024 at most; there are fewer than 1600 `tiles`.
    pub fn run(&self, machine: &M, edge: u32, tiles: u32, weights: &[i32]) -> Result<Published> {
        let vertices = edge * tiles;
        let stride = self.version.stride(vertices);
        let width = vertices as usize;
        assert!(weights.len() == width * width && weights.iter().all(|&weight| weight >= 0));
        assert!((edge * edge).is_multiple_of(32) && edge <= 32);
        // CUDA's copies of two dimensions leave out the pitch by themselves; here it is done before and after,
        // and not timed.
        let spread: Vec<u32>;
        let weights: &[u32] = if stride == vertices {
            bytemuck::cast_slice(weights)
        } else {
            let rows = weights.chunks_exact(width);
            spread = rows
                .flat_map(|row| {
                    let pitch = std::iter::repeat_n(0, (stride - vertices) as usize);
                    row.iter().map(|&weight| weight as u32).chain(pitch)
                })
                .collect();
            &spread
        };
        let began = Instant::now();
        let buffer = machine.upload(weights)?;
        let arguments = Arguments {
            stride,
            round: 0,
            row: 0,
            column: 0,
            padding: padding(edge),
            edge: Divisor::new(edge),
            tiles: Divisor::new(tiles),
            others: Divisor::new(tiles - 1),
            // SAFETY: the buffer outlives the launches, of which one at a time is on its way.
            distances: unsafe { machine.read_write(&buffer) },
        };
        let mut launching = Launching { machine, threads: edge * edge, arguments };
        // SAFETY: the buffer has all rows; each kernel has the blocks and threads that it documents.
        let launches = machine.timed(&mut || unsafe { self.launch(&mut launching) })?;
        let found = machine.download(&buffer, weights.len())?;
        drop(buffer);
        let whole = began.elapsed();
        let rows = found.chunks_exact(stride as usize).flat_map(|row| &row[..width]);
        let distances = rows.map(|&distance| distance as i32).collect();
        Ok(Published { launches, whole, distances })
    }

    /// All rounds.
    ///
    /// # Safety
    /// As [`Launching::launch`].
    unsafe fn launch(&self, launching: &mut Launching<'_, M>) -> Result<()> {
        let tiles = launching.arguments.tiles.get();
        let (all, others) = (tiles * tiles, tiles - 1);
        // SAFETY: as in `run`.
        unsafe {
            if let Kernels::Shared { ahead: true, diagonal, .. } = &self.kernels {
                launching.arguments.round = 0;
                launching.launch(diagonal, tiles)?;
            }
            for round in 0..tiles {
                launching.arguments.round = round;
                match &self.kernels {
                    Kernels::Everywhere(kernel) => launching.each(kernel, all)?,
                    Kernels::One(kernel) => launching.each(kernel, 1)?,
                    Kernels::OfAll(diagonal, cross, rest) => {
                        launching.launch(diagonal, 1)?;
                        launching.launch(cross, all)?;
                        launching.launch(rest, all)?;
                    }
                    Kernels::Crossing(diagonal, cross, rest) => {
                        launching.launch(diagonal, 1)?;
                        launching.launch(cross, 2 * others)?;
                        launching.launch(rest, others * others)?;
                    }
                    Kernels::Apart(diagonal, row, column, rest) => {
                        launching.launch(diagonal, 1)?;
                        launching.launch(row, others)?;
                        launching.launch(column, others)?;
                        launching.launch(rest, others * others)?;
                    }
                    Kernels::Shared { ahead, diagonal, row, column, rest } => {
                        if !ahead {
                            launching.launch(diagonal, 1)?;
                        }
                        launching.launch(row, others)?;
                        launching.launch(column, others)?;
                        launching.launch(rest, others * others)?;
                    }
                    Kernels::Transposed { diagonal, row, column, rest } => {
                        launching.launch(diagonal, 1)?;
                        launching.launch(row, others)?;
                        launching.launch(column, others)?;
                        launching.launch(rest, others * others)?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Emulated;

    const NONE: i32 = i32::UNREACHABLE;

    /// Three nested loops.
    fn oracle(vertices: usize, weights: &[i32]) -> Vec<i32> {
        let mut distances = weights.to_vec();
        for k in 0..vertices {
            for i in 0..vertices {
                for j in 0..vertices {
                    let (left, right) = (distances[i * vertices + k], distances[k * vertices + j]);
                    if left < NONE && right < NONE {
                        let least = &mut distances[i * vertices + j];
                        *least = (*least).min(left + right);
                    }
                }
            }
        }
        distances
    }

    /// A directed graph in which some pairs are not connected.
    fn sparse(vertices: usize) -> Vec<i32> {
        let mut state = 1_u32;
        let mut next = |below| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        (0..vertices * vertices)
            .map(|at| {
                let (from, to) = (at / vertices, at % vertices);
                let edge = next(vertices as u32) < 3 && from % 11 != 5;
                if from == to {
                    0
                } else if edge {
                    1 + next(20) as i32
                } else {
                    NONE
                }
            })
            .collect()
    }

    fn run(version: Version, seed: u64, edge: u32, tiles: u32, weights: &[i32]) -> Vec<i32> {
        let emulated = Emulated::new(seed, 32);
        let machine = emulated.machine();
        let found = Ready::new(&machine, version).unwrap().run(&machine, edge, tiles, weights);
        let Published { launches, whole, distances } = found.unwrap();
        assert!(!launches.is_zero() && launches <= whole);
        distances
    }

    fn wrong(found: &[i32], expected: &[i32]) -> usize {
        found.iter().zip(expected).filter(|(found, expected)| found != expected).count()
    }

    #[test]
    fn published_versions_find_all_distances() {
        for (edge, tiles) in [(8, 1), (8, 2), (8, 5), (16, 3), (24, 2), (32, 2)] {
            let vertices = (edge * tiles) as usize;
            for weights in [sparse(vertices), path(vertices, 7).0] {
                let expected = oracle(vertices, &weights);
                assert!(tiles == 1 || wrong(&weights, &expected) > vertices);
                for version in Version::ALL.into_iter().filter(|version| version.is_right()) {
                    let found = run(version, u64::from(edge), edge, tiles, &weights);
                    assert_eq!(wrong(&found, &expected), 0, "{} {edge} x {tiles}", version.name());
                }
            }
        }
    }

    #[test]
    fn any_schedule_gives_the_same() {
        let weights = sparse(24);
        let expected = oracle(24, &weights);
        for version in Version::ALL.into_iter().filter(|version| version.is_right()) {
            for seed in 0..20 {
                let found = run(version, seed, 8, 3, &weights);
                assert_eq!(wrong(&found, &expected), 0, "{} seed {seed}", version.name());
            }
        }
    }

    #[test]
    fn v1_0_is_wrong_where_a_tile_has_threads_of_several_blocks() {
        let (weights, expected) = path(32, Version::V1_0.fails_for(32));
        assert_eq!(oracle(32, &weights), expected);
        // Tiles of 8 by 8, in a matrix with 32 in a row: a block of 64 threads has two rows of a tile.
        for seed in 0..10 {
            let found = run(Version::V1_0, seed, 8, 4, &weights);
            assert!(wrong(&found, &expected) > 0, "seed {seed}");
            // What it finds are the weights of paths, if not of the shortest.
            assert!(found.iter().zip(&expected).all(|(found, expected)| found >= expected));
        }
        // One tile, one block: its barrier is enough.
        let (weights, expected) = path(8, 7);
        for seed in 0..10 {
            assert_eq!(run(Version::V1_0, seed, 8, 1, &weights), expected);
        }
    }

    /// What v2_1f does, without threads: phase 1 of all rounds, then phases 2 and 3 of each.
    fn never_closed_again(edge: usize, tiles: usize, weights: &[i32]) -> Vec<i32> {
        let (vertices, mut distances) = (edge * tiles, weights.to_vec());
        let mut relax = |round: usize, row: usize, column: usize| {
            for k in round * edge..(round + 1) * edge {
                for i in row * edge..(row + 1) * edge {
                    for j in column * edge..(column + 1) * edge {
                        let sum = distances[i * vertices + k] + distances[k * vertices + j];
                        let least = &mut distances[i * vertices + j];
                        *least = (*least).min(sum);
                    }
                }
            }
        };
        (0..tiles).for_each(|tile| relax(tile, tile, tile));
        for round in 0..tiles {
            let others = || (0..tiles).filter(move |&tile| tile != round);
            others().for_each(|tile| relax(round, round, tile));
            others().for_each(|tile| relax(round, tile, round));
            others().for_each(|row| others().for_each(|column| relax(round, row, column)));
        }
        distances
    }

    #[test]
    fn v2_1f_lacks_paths_through_earlier_tiles() {
        let (weights, expected) = path(32, Version::V2_1f.fails_for(32));
        assert_eq!(oracle(32, &weights), expected);
        let found = run(Version::V2_1f, 1, 8, 4, &weights);
        // No schedule makes it better or worse: what is missing is a launch.
        assert_eq!(found, never_closed_again(8, 4, &weights));
        assert_eq!(run(Version::V2_1f, 2, 8, 4, &weights), found);
        assert!(wrong(&found, &expected) > 0);
        assert!(found.iter().zip(&expected).all(|(found, expected)| found >= expected));
        // With one tile there are no earlier ones.
        let (weights, expected) = path(8, 7);
        assert_eq!(run(Version::V2_1f, 1, 8, 1, &weights), expected);
    }
}
