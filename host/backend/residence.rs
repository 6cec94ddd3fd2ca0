//! Whether a swarm's iterations run with its particles on a GPU's chip, and in which shape.

use flockwork_device::{
    math::Scalar,
    swarm::kernels::{
        held::{CHUNK, chunks},
        resident::shared_bytes,
    },
};

use crate::swarm::named;

named! {
    /// Where the particles of a synchronous swarm are between iterations on a GPU. The result is the
    /// same to the bit; it is for swarms with the rule, neighbourhood, edge and randomness of
    /// [`Options::default`](crate::swarm::Options), continuous variables and no rotation.
    ///
    /// For shortest paths, whether a matrix is closed by one launch, at whose steps the multiprocessors
    /// wait for each other (resident; without paths only), or by some launches for each pair of pivot
    /// blocks (streaming); the former for small graphs (auto).
    ///
    /// ```
    /// use flockwork::backend::{AnyBackend, Choice, Residence};
    ///
    /// let residence: Residence = "streaming".parse()?;
    /// let backend = AnyBackend::select(Choice::Auto, 1)?.with_residence(residence);
    /// println!("{}", backend.reason());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    #[derive(Default)]
    pub enum Residence("residence") {
        /// On the chip where they fit, or else in device memory.
        #[default]
        Auto = "auto",
        /// In device memory: a launch for each iteration.
        Streaming = "streaming",
        /// On the chip: one launch for many iterations, at whose ends the multiprocessors wait for
        /// each other. An error if they do not fit.
        Resident = "resident",
    }
}

/// What a machine has for a launch of some kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Blocks that are on the chip at once whatever they take: multiprocessors. 0 if blocks cannot wait
    /// for each other.
    pub blocks: u32,
    /// Threads of a block, at most.
    pub threads: u32,
    /// Bytes of shared memory of a block, at most.
    pub shared_bytes: u32,
}

/// The shape of a launch of [`Resident`](flockwork_device::swarm::kernels::resident::Resident).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks.
    pub blocks: u32,
    /// Threads in each.
    pub threads: u32,
    /// Chunks of particles that a block holds at once.
    pub capacity: u32,
}

/// Threads that a block has at least before there is a second one: two warps for each of a multiprocessor's
/// four schedulers. Fewer where particles with many dimensions do not fit otherwise.
const LEAST_THREADS: [u32; 4] = [256, 128, 64, 32];

/// The shape for a swarm that is on the chip as a whole; `None` if it does not fit. `threads` in a
/// block, if they are given.
pub fn together<T: Scalar>(
    capacity: Capacity,
    threads: Option<u32>,
    particles: u32,
    dims: u32,
) -> Option<Shape> {
    LEAST_THREADS
        .into_iter()
        .filter_map(|least| spread(capacity, threads, particles, least))
        .find(|&shape| fits::<T>(capacity, shape, dims))
}

/// The shape for a swarm whose blocks take their particles onto the chip in turn; `None` if not even 32
/// of them fit.
pub fn apart<T: Scalar>(
    capacity: Capacity,
    threads: Option<u32>,
    particles: u32,
    dims: u32,
) -> Option<Shape> {
    if let Some(shape) = together::<T>(capacity, threads, particles, dims) {
        return Some(shape);
    }
    let whole = spread(capacity, threads, particles, LEAST_THREADS[0])?;
    let warps = whole.threads / CHUNK;
    let (mut fitting, mut beyond) = (0, whole.capacity + 1);
    while beyond - fitting > 1 {
        let middle = fitting + (beyond - fitting) / 2;
        if fits::<T>(capacity, Shape { capacity: middle, ..whole }, dims) {
            fitting = middle;
        } else {
            beyond = middle;
        }
    }
    if fitting == 0 {
        return None;
    }
    if fitting < whole.capacity && fitting > warps {
        // No warp idles while the others go through their last chunk.
        fitting -= fitting % warps;
    }
    Some(Shape { capacity: fitting, ..whole })
}

/// Shares the chunks out among blocks of at least so many threads, unless their number is given.
fn spread(capacity: Capacity, threads: Option<u32>, particles: u32, least: u32) -> Option<Shape> {
    let most = threads.unwrap_or(1024).min(capacity.threads) / CHUNK * CHUNK;
    if capacity.blocks == 0 || most == 0 {
        return None;
    }
    let chunks = chunks(particles);
    let least = threads.unwrap_or(least).min(most) / CHUNK;
    let blocks = (chunks / least).clamp(1, capacity.blocks);
    let each = chunks.div_ceil(blocks);
    // As few as need no more each.
    let blocks = chunks.div_ceil(each);
    let threads = threads.map_or_else(|| (each * CHUNK).min(most), |_| most);
    Some(Shape { blocks, threads, capacity: each })
}

fn fits<T: Scalar>(capacity: Capacity, shape: Shape, dims: u32) -> bool {
    shared_bytes::<T>(shape.threads, dims, shape.capacity)
        .is_some_and(|bytes| bytes <= capacity.shared_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An H200's.
    const LARGE: Capacity = Capacity { blocks: 132, threads: 1024, shared_bytes: 232_448 };

    #[test]
    fn the_swarms_that_should_fit_do() {
        let shape = |particles, dims| together::<f32>(LARGE, None, particles, dims);
        assert_eq!(shape(2_048, 1), Some(Shape { blocks: 8, threads: 256, capacity: 8 }));
        let all = |blocks, threads, capacity| Some(Shape { blocks, threads, capacity });
        assert_eq!(shape(65_536, 1), all(128, 512, 16));
        assert_eq!(shape(131_072, 10), all(128, 1024, 32));
        assert_eq!(shape(1_048_576, 2), all(132, 1024, 249));
        assert_eq!(shape(65_536, 32), all(128, 512, 16));
        // Eight chunks of a block would not fit.
        assert_eq!(shape(1_024, 120), all(8, 128, 4));
        assert_eq!(shape(1_024, 240), all(16, 64, 2));
        assert_eq!(shape(65_536, 100), None);
        assert_eq!(shape(1_048_576, 16), None);
        assert_eq!(shape(u32::MAX, u32::MAX), None);
        assert_eq!(together::<f32>(Capacity { blocks: 0, ..LARGE }, None, 100, 1), None);
    }

    #[test]
    fn what_does_not_fit_as_a_whole_is_held_in_turn() {
        let shape = |particles, dims| apart::<f32>(LARGE, None, particles, dims);
        assert_eq!(shape(1_048_576, 16).unwrap().capacity, 32);
        assert_eq!(shape(1_048_576, 64).unwrap().capacity, 9);
        assert_eq!(shape(65_536, 1).unwrap(), together::<f32>(LARGE, None, 65_536, 1).unwrap());
        assert_eq!(shape(40, 500).unwrap().blocks, 2);
        assert_eq!(shape(40, 1_000), None);
        assert_eq!(shape(u32::MAX, u32::MAX), None);
    }

    #[test]
    fn no_block_is_without_a_chunk() {
        for particles in [1, 31, 33, 100, 1_000, 4_000, 100_000] {
            for threads in [None, Some(32), Some(64), Some(512)] {
                let shape = apart::<f64>(LARGE, threads, particles, 3).unwrap();
                assert!(shape.blocks <= chunks(particles), "{particles}: {shape:?}");
                assert!(threads.is_none_or(|threads| shape.threads == threads));
            }
        }
    }
}
