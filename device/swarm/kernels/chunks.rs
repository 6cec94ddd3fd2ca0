//! The particles that a block holds in its shared memory.
//!
//! They lie in *chunks*. Where a thread works for a particle alone, those are 32, one for each lane of a warp:
//! dimension after dimension the 32 pairs of position and velocity, and the 32 personal best positions. A thread
//! touches its own particles only, so this memory needs no barriers; lanes beside each other touch words
//! beside each other.
//!
//! Where several threads share a particle ([`Team`]), first all pairs of a chunk lie there and then all own
//! bests.

use super::{
    in_memory::{Home, InMemory},
    team::{GROUP, Role, Team},
};
use crate::{
    gpu::{block, shared::Shared, thread, warp},
    math::Scalar,
    swarm::step::{self, Motion, State},
};

/// Particles in a chunk of those who have a thread each.
pub const CHUNK: u32 = warp::LANES;

/// Numbers that a chunk takes in `dims` dimensions: three for each coordinate of its particles, and their best
/// fitness.
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
    /// Of block `block` of `blocks`, of so many chunks.
    #[inline(always)]
    pub const fn of(block: u32, blocks: u32, chunks: u32) -> Self {
        let (each, more) = (chunks / blocks, chunks % blocks);
        let before = if block < more { block } else { more };
        Self { first: block * each + before, count: each + (block < more) as u32 }
    }

    /// Which block of `blocks` a chunk of so many belongs to.
    #[inline(always)]
    pub const fn owner(chunk: u32, blocks: u32, chunks: u32) -> u32 {
        let (each, more) = (chunks / blocks, chunks % blocks);
        let larger = more * (each + 1);
        if chunk < larger { chunk / (each + 1) } else { more + (chunk - larger) / each }
    }
}

/// Room for some chunks in shared memory, and who works for them: a team of threads where they are `SHARED`.
#[derive(Clone, Copy)]
pub struct Chunks<T, const SHARED: bool> {
    numbers: Shared<T>,
    dims: u32,
    team: Team,
}

impl<T: Scalar, const SHARED: bool> Chunks<T, SHARED> {
    /// Room for `capacity` chunks from byte `start` of the shared memory on.
    #[inline(always)]
    pub fn at(start: u32, capacity: u32, dims: u32, team: Team) -> Self {
        let chunks = Self { numbers: Shared::at(start, 0), dims, team };
        Self { numbers: Shared::at(start, capacity * chunks.chunk_numbers()), ..chunks }
    }

    /// Dimensions of a particle.
    #[inline(always)]
    pub fn dims(&self) -> u32 {
        self.dims
    }

    /// Who works for them.
    #[inline(always)]
    pub fn team(&self) -> Team {
        self.team
    }

    /// Particles in a chunk.
    #[inline(always)]
    pub fn chunk(&self) -> u32 {
        if SHARED { self.team.particles } else { CHUNK }
    }

    #[inline(always)]
    fn chunk_numbers(&self) -> u32 {
        if SHARED { self.team.chunk_numbers(self.dims) } else { chunk_numbers(self.dims) }
    }

    /// The particle that this thread works for in chunk `nth` of those that are held; coordinates of `global_best`
    /// attract it.
    #[inline(always)]
    pub fn particle(self, nth: u32, role: Role, global_best: Shared<T>) -> OnChip<T, SHARED> {
        let (numbers, particle) = (self.chunk_numbers(), role.particle);
        let chunk = self.numbers.part(nth * numbers, numbers);
        // Where its personal bests begin.
        let personal_bests =
            particle + if SHARED { self.team.personal_bests(self.dims) } else { 2 * CHUNK };
        // Two addresses for each particle, not one for each access.
        OnChip {
            motion: chunk.part(2 * particle, numbers - 2 * particle).opaque(),
            personal_best: chunk.part(personal_bests, numbers - personal_bests).opaque(),
            dims: self.dims,
            team: self.team,
            global_best,
        }
    }

    /// Fetches so many chunks from number `first` on. Each thread fetches its own particles, or its part of
    /// them. The padding of the last chunk comes along. Collective, and contains a barrier, if they are shared.
    ///
    /// # Safety
    /// They fit, and `home` has them.
    #[inline(always)]
    pub unsafe fn fetch(self, home: &Home<T>, first: u32, count: u32) {
        self.each_own(first, count, |mut chunks, particle, role| {
            // Of an opaque number, lest everything that follows compare 64 bits, of which the assembler knows no constant.
            // SAFETY: in bounds by the caller's promise; since the last barrier no other thread has touched these
            // particles, or these dimensions of them.
            let there = unsafe { InMemory::at(home, particle, thread::opaque(self.dims)) };
            self.each_piece(role, GROUP, |first, count| {
                let mut chunks = chunks.from(first);
                let mut store = |ahead, motion: Motion<T>| {
                    chunks.set_motion(ahead, motion.position, motion.velocity);
                    chunks.set_personal_best(ahead, motion.personal_best);
                };
                let mut ahead = 0;
                while count - ahead >= 4 {
                    let loaded = there.from(first + ahead).four();
                    store(ahead, loaded[0]);
                    store(ahead + 1, loaded[1]);
                    store(ahead + 2, loaded[2]);
                    store(ahead + 3, loaded[3]);
                    ahead += 4;
                }
                let rest = there.rest(first + ahead);
                for nth in 0..count - ahead {
                    store(ahead + nth, step::load(&rest, nth));
                }
            });
            if !SHARED || role.part == 0 {
                chunks.set_best_fitness(there.best_fitness());
            }
        });
        if SHARED {
            // All threads of a particle compare with its fitness.
            block::barrier();
        }
    }

    /// Puts so many chunks back.
    ///
    /// # Safety
    /// As [`Chunks::fetch`], which has fetched them.
    #[inline(always)]
    pub unsafe fn put_back(self, home: &Home<T>, first: u32, count: u32) {
        self.each_own(first, count, |chunks, particle, role| {
            // SAFETY: as in `fetch`.
            let there = unsafe { InMemory::at(home, particle, thread::opaque(self.dims)) };
            self.each_piece(role, GROUP, |first, count| {
                let chunks = chunks.from(first);
                let mut ahead = 0;
                while count - ahead >= 4 {
                    let four = [0, 1, 2, 3].map(|nth| step::load(&chunks, ahead + nth));
                    there.from(first + ahead).put_four(four);
                    ahead += 4;
                }
                let mut rest = there.rest(first + ahead);
                for nth in 0..count - ahead {
                    rest.put(nth, step::load(&chunks, ahead + nth));
                }
            });
            if !SHARED || role.part == 0 {
                there.set_best_fitness(chunks.best_fitness());
            }
        });
    }

    /// Calls `f` with the first of some dimensions that this thread sees to, and how many: all at once, or `piece` at
    /// a time if particles are shared.
    #[inline(always)]
    pub fn each_piece(&self, role: Role, piece: u32, mut f: impl FnMut(u32, u32)) {
        if !SHARED {
            return f(0, self.dims);
        }
        let mut dimension = piece * role.part;
        while dimension < self.dims {
            let left = self.dims - dimension;
            f(dimension, if left < piece { left } else { piece });
            dimension += piece * self.team.parts;
        }
    }

    /// Calls `f` with each particle that this thread works for, its index in the swarm, and what it does for it.
    #[inline(always)]
    fn each_own(self, first: u32, count: u32, f: impl Fn(OnChip<T, SHARED>, u32, Role)) {
        let (role, teams) = (Role::here::<SHARED>(self.team), Role::teams::<SHARED>(self.team));
        if SHARED && role.team >= teams {
            return;
        }
        let mut nth = role.team;
        while nth < count {
            let particle = (first + nth) * self.chunk() + role.particle;
            f(self.particle(nth, role, self.numbers), particle, role);
            nth += teams;
        }
    }

    /// A coordinate of the personal best of a particle in chunk `nth`, whoever's it is.
    ///
    /// # Safety
    /// The chunk is held, and a barrier lies behind the last change of it.
    #[inline(always)]
    pub unsafe fn personal_best(self, nth: u32, particle: u32, dimension: u32) -> T {
        let within = if SHARED {
            self.team.personal_bests(self.dims)
                + self.team.row(dimension) * self.team.personal_best_row()
        } else {
            (3 * dimension + 2) * CHUNK
        };
        // SAFETY: in bounds by the caller's promise.
        unsafe { self.numbers.load((nth * self.chunk_numbers() + within + particle) as usize) }
    }

    /// A coordinate of a particle in chunk `nth`, whoever's it is.
    ///
    /// # Safety
    /// As [`Chunks::personal_best`].
    #[inline(always)]
    pub unsafe fn position(self, nth: u32, particle: u32, dimension: u32) -> T {
        let within = if SHARED {
            self.team.row(dimension) * self.team.motion_row()
        } else {
            3 * dimension * CHUNK
        };
        let index = nth * self.chunk_numbers() + within + 2 * particle;
        // SAFETY: in bounds by the caller's promise.
        unsafe { self.numbers.load(index as usize) }
    }
}

/// One particle whose state lies in shared memory, touched by one thread only, or each dimension by one from barrier to
/// barrier. Where they are `SHARED`, it is seen from the first of four dimensions, and these at most.
#[derive(Clone, Copy)]
pub struct OnChip<T, const SHARED: bool> {
    /// Its chunk from position and velocity in dimension 0 on.
    motion: Shared<T>,
    /// Its chunk from the personal best position in dimension 0 on.
    personal_best: Shared<T>,
    dims: u32,
    team: Team,
    global_best: Shared<T>,
}

impl<T: Scalar, const SHARED: bool> OnChip<T, SHARED> {
    /// How far apart two dimensions of positions and velocities are.
    #[inline(always)]
    fn motion_row(&self) -> u32 {
        if SHARED { self.team.motion_row() } else { 3 * CHUNK }
    }
    /// How far apart two dimensions of personal bests are.
    #[inline(always)]
    fn personal_best_row(&self) -> u32 {
        if SHARED { self.team.personal_best_row() } else { 3 * CHUNK }
    }
    /// Where the personal best fitness lies, from the personal best position in dimension 0 on.
    #[inline(always)]
    fn fitness(&self) -> usize {
        if SHARED {
            return (self.team.fitness(self.dims) - self.team.personal_bests(self.dims)) as usize;
        }
        // Where the motion of one more dimension would begin.
        (self.dims * self.personal_best_row() - 2 * CHUNK) as usize
    }
}

// SAFETY (all accesses below): the chunk is held, so its numbers exist and have been stored; pairs begin at
// an even number of the array; the global best has `dims` numbers, which are stored behind barriers.
impl<T: Scalar, const SHARED: bool> State<T> for OnChip<T, SHARED> {
    const LOOKS_FOR_RUNS: bool = true;

    #[inline(always)]
    fn from(&self, dimension: u32) -> Self {
        let row = if SHARED { self.team.row(dimension) } else { dimension };
        let motion = self.motion.skip(row * self.motion_row());
        let personal_best = self.personal_best.skip(row * self.personal_best_row());
        Self {
            motion,
            personal_best,
            global_best: self.global_best.part(dimension, self.dims - dimension),
            ..*self
        }
    }
    #[inline(always)]
    fn position(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.motion.load((dimension * self.motion_row()) as usize) }
    }
    #[inline(always)]
    fn motion(&self, dimension: u32) -> (T, T) {
        // SAFETY: see above.
        let [position, velocity] =
            unsafe { self.motion.load_two((dimension * self.motion_row()) as usize) };
        (position, velocity)
    }
    #[inline(always)]
    fn personal_best(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.personal_best.load((dimension * self.personal_best_row()) as usize) }
    }
    #[inline(always)]
    fn fours(dims: u32, _: u32) -> u32 {
        dims - dims % 4
    }
    #[inline(always)]
    fn global_best(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.global_best.load(dimension as usize) }
    }
    #[inline(always)]
    fn global_best_of_four(&self) -> [T; 4] {
        // SAFETY: see above; it begins at a multiple of 16 bytes, and so does every fourth number.
        unsafe { self.global_best.load_four(0) }
    }
    #[inline(always)]
    fn best_fitness(&self) -> T {
        // SAFETY: see above.
        unsafe { self.personal_best.load(self.fitness()) }
    }
    #[inline(always)]
    fn set_motion(&mut self, dimension: u32, position: T, velocity: T) {
        let index = dimension * self.motion_row();
        // SAFETY: see above.
        unsafe { self.motion.store_two(index as usize, [position, velocity]) }
    }
    #[inline(always)]
    fn improve(&mut self, dims: u32, fitness: T) {
        self.renew(dims);
        self.set_best_fitness(fitness);
    }
}

// SAFETY (both): as above.
impl<T: Scalar, const SHARED: bool> OnChip<T, SHARED> {
    /// The personal best is this in a [few](crate::swarm::step::are_few) dimensions, with this fitness.
    #[inline(always)]
    pub fn set_best(&mut self, position: [T; 3], fitness: T) {
        self.set_personal_best(0, position[0]);
        if self.dims > 1 {
            self.set_personal_best(1, position[1]);
        }
        if self.dims > 2 {
            self.set_personal_best(2, position[2]);
        }
        self.set_best_fitness(fitness);
    }
    /// The position becomes the personal best, in the first so many dimensions.
    #[inline(always)]
    pub fn renew(&mut self, dims: u32) {
        let mut dimension = 0;
        // A store waits for its load, and so would the next load.
        while dims - dimension >= 4 {
            let [a, b, c, d] = [0, 1, 2, 3].map(|ahead| self.position(dimension + ahead));
            self.set_personal_best(dimension, a);
            self.set_personal_best(dimension + 1, b);
            self.set_personal_best(dimension + 2, c);
            self.set_personal_best(dimension + 3, d);
            dimension += 4;
        }
        while dimension < dims {
            self.set_personal_best(dimension, self.position(dimension));
            dimension += 1;
        }
    }
    /// Stores personal best position in one dimension.
    #[inline(always)]
    fn set_personal_best(&mut self, dimension: u32, position: T) {
        let index = dimension * self.personal_best_row();
        // SAFETY: see above.
        unsafe { self.personal_best.store(index as usize, position) }
    }
    /// Stores personal best fitness.
    #[inline(always)]
    pub fn set_best_fitness(&mut self, fitness: T) {
        let index = self.fitness();
        // SAFETY: see above.
        unsafe { self.personal_best.store(index, fitness) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_belongs_to_one_block() {
        for chunks in [1, 2, 16, 128, 129, 2_189] {
            for blocks in 1..=chunks.min(140) {
                let mut next = 0;
                for block in 0..blocks {
                    let Share { first, count } = Share::of(block, blocks, chunks);
                    assert_eq!(first, next);
                    assert!(count > 0 && count.abs_diff(chunks / blocks) <= 1);
                    for chunk in first..first + count {
                        assert_eq!(Share::owner(chunk, blocks, chunks), block);
                    }
                    next += count;
                }
                assert_eq!(next, chunks);
            }
        }
    }
}
