//! The particles that a block holds in its shared memory.
//!
//! They lie in *chunks* of 32, one for each lane of a warp: dimension after dimension the 32 pairs of
//! position and velocity, and the 32 own best positions. A thread touches its own particles only, so this
//! memory needs no barriers; lanes beside each other touch words beside each other.

use crate::{
    gpu::{memory::ReadWrite, shared::Shared, thread, warp},
    math::Scalar,
    swarm::{layout, step::State},
};

/// Particles in a chunk.
pub const CHUNK: u32 = warp::LANES;

/// Number of chunks of a swarm.
pub const fn chunks(particles: u32) -> u32 {
    particles.div_ceil(CHUNK)
}

/// Numbers that a chunk takes in `dims` dimensions: three for each coordinate, and the best fitness.
pub const fn chunk_numbers(dims: u32) -> u32 {
    CHUNK * (3 * dims + 1)
}

/// Which chunks belong to a block: they are shared out evenly, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its first.
    pub first: u32,
    /// How many it has.
    pub count: u32,
}

impl Share {
    /// Of block `block` of `blocks`.
    #[inline(always)]
    pub const fn of(block: u32, blocks: u32, particles: u32) -> Self {
        let (each, more) = (chunks(particles) / blocks, chunks(particles) % blocks);
        let before = if block < more { block } else { more };
        Self { first: block * each + before, count: each + (block < more) as u32 }
    }

    /// Which block of `blocks` a particle belongs to.
    #[inline(always)]
    pub const fn owner(particle: u32, blocks: u32, particles: u32) -> u32 {
        let chunk = particle / CHUNK;
        let (each, more) = (chunks(particles) / blocks, chunks(particles) % blocks);
        let larger = more * (each + 1);
        if chunk < larger { chunk / (each + 1) } else { more + (chunk - larger) / each }
    }
}

/// Where a swarm lies in device memory.
#[derive(Clone, Copy, Debug)]
pub struct Home<T> {
    /// Positions, in tiles.
    pub positions: ReadWrite<T>,
    /// Velocities, in tiles.
    pub velocities: ReadWrite<T>,
    /// Own best positions, in tiles.
    pub own_bests: ReadWrite<T>,
    /// Own best fitness, by particle.
    pub best_fitness: ReadWrite<T>,
    /// Number of dimensions.
    pub dims: u32,
}

/// Room for some chunks in shared memory.
#[derive(Clone, Copy)]
pub struct Held<T> {
    numbers: Shared<T>,
    dims: u32,
}

impl<T: Scalar> Held<T> {
    /// Room for `capacity` chunks from byte `start` of the shared memory on.
    #[inline(always)]
    pub fn at(start: u32, capacity: u32, dims: u32) -> Self {
        Self { numbers: Shared::at(start, capacity * chunk_numbers(dims)), dims }
    }

    /// The particle of this lane in chunk `nth` of those that are held; coordinates of `guide` attract
    /// it.
    #[inline(always)]
    pub fn particle(self, nth: u32, guide: Shared<T>) -> OnChip<T> {
        // One address for each particle, not one for each access.
        let start = thread::opaque(nth * chunk_numbers(self.dims));
        OnChip {
            numbers: self.numbers,
            motion: start + 2 * warp::lane(),
            own_best: start + 2 * CHUNK + warp::lane(),
            dims: self.dims,
            guide,
        }
    }

    /// Fetches so many chunks from number `first` on. Each thread fetches its own particles. The
    /// padding of the last chunk comes along.
    ///
    /// # Safety
    /// They fit, and `home` has them.
    #[inline(always)]
    pub unsafe fn fetch(self, home: &Home<T>, first: u32, count: u32) {
        self.each_own(first, count, |mut held, particle| {
            let start = layout::first(particle, home.dims as usize);
            // SAFETY: in bounds by the caller's promise; no other thread touches these particles.
            let load = |dimension: u32| unsafe {
                let index = start + dimension as usize * layout::TILE;
                [
                    home.positions.load(index),
                    home.velocities.load(index),
                    home.own_bests.load(index),
                ]
            };
            let mut store = |dimension, [position, velocity, own_best]: [T; 3]| {
                held.set_motion(dimension, position, velocity);
                held.set_own_best(dimension, own_best);
            };
            let mut dimension = 0;
            // Many loads are under way at once.
            while home.dims - dimension >= 4 {
                let loaded = [0, 1, 2, 3].map(|ahead| load(dimension + ahead));
                store(dimension, loaded[0]);
                store(dimension + 1, loaded[1]);
                store(dimension + 2, loaded[2]);
                store(dimension + 3, loaded[3]);
                dimension += 4;
            }
            while dimension < home.dims {
                store(dimension, load(dimension));
                dimension += 1;
            }
            // SAFETY: as above.
            held.set_best_fitness(unsafe { home.best_fitness.load(particle) });
        });
    }

    /// Puts so many chunks back.
    ///
    /// # Safety
    /// As [`Held::fetch`], which has fetched them.
    #[inline(always)]
    pub unsafe fn put_back(self, home: &Home<T>, first: u32, count: u32) {
        self.each_own(first, count, |held, particle| {
            let mut index = layout::first(particle, home.dims as usize);
            // SAFETY: as in `fetch`.
            unsafe {
                for dimension in 0..home.dims {
                    let (position, velocity) = held.motion(dimension);
                    home.positions.store(index, position);
                    home.velocities.store(index, velocity);
                    home.own_bests.store(index, held.own_best(dimension));
                    index += layout::TILE;
                }
                home.best_fitness.store(particle, held.best_fitness());
            }
        });
    }

    /// Calls `f` with each of this thread's particles and its index in the swarm.
    #[inline(always)]
    fn each_own(self, first: u32, count: u32, f: impl Fn(OnChip<T>, usize)) {
        let mut nth = warp::index();
        while nth < count {
            let particle = ((first + nth) * CHUNK + warp::lane()) as usize;
            f(self.particle(nth, self.numbers), particle);
            nth += thread::block_threads() / warp::LANES;
        }
    }

    /// A coordinate of the own best of a particle in chunk `nth`, whoever's it is.
    ///
    /// # Safety
    /// The chunk is held, and a barrier lies behind the last change of it.
    #[inline(always)]
    pub unsafe fn own_best(self, nth: u32, lane: u32, dimension: u32) -> T {
        let index = nth * chunk_numbers(self.dims) + (3 * dimension + 2) * CHUNK + lane;
        // SAFETY: in bounds by the caller's promise.
        unsafe { self.numbers.load(index as usize) }
    }
}

/// One particle whose state lies in shared memory, touched by one thread only.
#[derive(Clone, Copy)]
pub struct OnChip<T> {
    numbers: Shared<T>,
    /// Where position and velocity in dimension 0 lie.
    motion: u32,
    /// Where the own best position in dimension 0 lies.
    own_best: u32,
    dims: u32,
    guide: Shared<T>,
}

/// How far apart two dimensions are.
const ROW: u32 = 3 * CHUNK;

// SAFETY (all accesses below): the chunk is held, so its numbers exist and have been stored; it begins at
// an even number of the array; the guide has `dims` numbers, which are stored behind barriers.
impl<T: Scalar> State<T> for OnChip<T> {
    #[inline(always)]
    fn from(&self, dimension: u32) -> Self {
        let (motion, own_best) = (self.motion + dimension * ROW, self.own_best + dimension * ROW);
        Self { motion, own_best, guide: self.guide.part(dimension, self.dims - dimension), ..*self }
    }
    #[inline(always)]
    fn position(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.numbers.load((self.motion + dimension * ROW) as usize) }
    }
    #[inline(always)]
    fn motion(&self, dimension: u32) -> (T, T) {
        // SAFETY: see above.
        let [position, velocity] =
            unsafe { self.numbers.load_two((self.motion + dimension * ROW) as usize) };
        (position, velocity)
    }
    #[inline(always)]
    fn own_best(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.numbers.load((self.own_best + dimension * ROW) as usize) }
    }
    #[inline(always)]
    fn guide(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.guide.load(dimension as usize) }
    }
    #[inline(always)]
    fn guide_of_four(&self) -> [T; 4] {
        // SAFETY: see above; it begins at a multiple of 16 bytes, and so does every fourth number.
        unsafe { self.guide.load_four(0) }
    }
    #[inline(always)]
    fn best_fitness(&self) -> T {
        // The fitness lies where the motion of one more dimension would begin.
        let index = self.own_best + self.dims * ROW - 2 * CHUNK;
        // SAFETY: see above.
        unsafe { self.numbers.load(index as usize) }
    }
    #[inline(always)]
    fn set_motion(&mut self, dimension: u32, position: T, velocity: T) {
        let index = self.motion + dimension * ROW;
        // SAFETY: see above.
        unsafe { self.numbers.store_two(index as usize, [position, velocity]) }
    }
    #[inline(always)]
    fn improve(&mut self, dims: u32, fitness: T) {
        for dimension in 0..dims {
            self.set_own_best(dimension, self.position(dimension));
        }
        self.set_best_fitness(fitness);
    }
}

// SAFETY (both): as above.
impl<T: Scalar> OnChip<T> {
    /// Stores own best position in one dimension.
    #[inline(always)]
    fn set_own_best(&mut self, dimension: u32, position: T) {
        // SAFETY: see above.
        unsafe { self.numbers.store((self.own_best + dimension * ROW) as usize, position) }
    }
    /// Stores own best fitness.
    #[inline(always)]
    fn set_best_fitness(&mut self, fitness: T) {
        let index = self.own_best + self.dims * ROW - 2 * CHUNK;
        // SAFETY: see above.
        unsafe { self.numbers.store(index as usize, fitness) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_belongs_to_one_block() {
        for particles in [1, 31, 32, 33, 500, 4096, 4097, 70_001] {
            for blocks in 1..=chunks(particles).min(140) {
                let mut next = 0;
                for block in 0..blocks {
                    let Share { first, count } = Share::of(block, blocks, particles);
                    assert_eq!(first, next);
                    assert!(count > 0 && count.abs_diff(chunks(particles) / blocks) <= 1);
                    for chunk in first..first + count {
                        assert_eq!(Share::owner(chunk * CHUNK, blocks, particles), block);
                        assert_eq!(Share::owner(chunk * CHUNK + 31, blocks, particles), block);
                    }
                    next += count;
                }
                assert_eq!(next, chunks(particles));
            }
        }
    }
}
