//! cuPSO (Wang, Ho, Tu, Hung, 2022, arXiv 2205.01313; <https://github.com/wang2346581/cuPSO> at 0bdf13e): four
//! ways to find the swarm's best on a GPU, in `f64`, maximising its [`Cubic`].
//!
//! In all of them a thread moves one particle, an iteration is one launch or two, and blocks have 1024 threads.
//!
//! | kernel | an iteration | the best of a block | the best of all |
//! |---|---|---|---|
//! | [`Reduction`] | 2 launches | halving, in a loop with a barrier each | [`ReductionBest`]: one block, likewise |
//! | [`Unrolled`] | 2 launches | halving, written out, without barriers in the last warp | [`UnrolledBest`]: likewise |
//! | [`Queue`] | 2 launches | who beats the swarm's best queues up; thread 0 looks through the queue | [`UnrolledBest`] |
//! | [`QueueLock`] | 1 launch | the same queue | thread 0 of a block whose queue is not empty takes a lock |
//!
//! A queue costs next to nothing once nobody improves, which is soon the rule; a reduction costs the same for
//! ever. The lock spares the second launch.
//!
//! # What is not as published
//! The programs have defects, which are not here:
//!
//! - The lock is taken without a fence behind it and nothing orders it before the reads that follow; a fence
//!   stands only behind the writes. Here it is taken with acquire and released with release order. What other
//!   blocks read meanwhile without the lock, volatile there, is read here by relaxed atomic loads.
//! - The queue's length is an option of theirs; with fewer places than the block has threads, threads write
//!   behind its end. (The program passes the number of threads after all; the shorter queue stands beside it,
//!   commented out.) Here it has a place for each thread.
//! - Threads without a particle, of which 32 particles leave 992, read behind the ends of the arrays, and queue up
//!   if what they find there beats the swarm's best; in the reductions their places in shared memory count
//!   though nobody has written them. Here they find nothing.
//! - The written-out reduction relies on the last warp being in lockstep, which has not been so since Volta. Here
//!   its lanes wait for each other.
//! - Random numbers are drawn from generators seeded anew by the clock in each iteration, both of a particle
//!   mostly with the same seed. Here they are those of [`random`](crate::random), for each dimension two.
//! - Which of equal particles wins depends on where they are. Here the one with the lower index, and the result
//!   of all but [`QueueLock`] is the same to the bit as that of a plain loop.
//!
//! The publication's formula, which is that of [`Cubic`], has the coefficient 1000 where the programs have
//! 10,000, and the absolute value around it; they search the same interval. They are for one dimension; that of
//! the publication's table 5 is not among them. Here coordinates lie dimension by dimension, each with all
//! particles side by side, and the threads of a block copy a best position together.
//!
//! In several dimensions what [`QueueLock`] attracts a particle by may have coordinates of two bests, an old one
//! and the one that is being written; the best that stands there when the launch is over is one particle's own.

use crate::{
    gpu::{
        atomic::{Order, Scope},
        block,
        memory::{ReadOnly, ReadWrite},
        shared::Shared,
        thread, unroll, warp,
    },
    kernel::{Kernel, Name},
    math::Scalar,
    objective::{Context, Cubic, Point, evaluation::Evaluation},
    random::{Draw, Key, Purpose},
};

/// Inertia weight.
pub const INERTIA: f64 = 1.0;
/// Cognitive and social coefficient.
pub const ATTRACTION: f64 = 2.0;
/// The interval is from minus this to this.
pub const BOUND: f64 = 100.0;
/// No coordinate changes by more in an iteration: the interval's length.
pub const MAX_VELOCITY: f64 = 200.0;

/// What the kernels are passed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments {
    /// Number of particles.
    pub particles: u32,
    /// Number of dimensions.
    pub dims: u32,
    /// Counts from 1.
    pub iteration: u32,
    /// Number of blocks that move particles.
    pub blocks: u32,
    /// The seed.
    pub key: Key,
    /// For each dimension the coordinate of each particle.
    pub positions: ReadWrite<f64>,
    /// As the positions.
    pub velocities: ReadWrite<f64>,
    /// As the positions: the best that a particle has seen.
    pub own_positions: ReadWrite<f64>,
    /// The fitness of each particle.
    pub fitness: ReadWrite<f64>,
    /// That of its best position.
    pub own_fitness: ReadWrite<f64>,
    /// The swarm's best: the bits of its fitness, then of its position.
    pub best: ReadWrite<u64>,
    /// For each block the fitness of its best particle; [`QueueLock`] has no use for it.
    pub found_fitness: ReadWrite<f64>,
    /// For each block the index of its best particle; [`QueueLock`] has no use for it.
    pub found_particle: ReadWrite<u32>,
    /// One word, 0: the lock of [`QueueLock`].
    pub lock: ReadWrite<u32>,
}

/// A particle moved in one dimension: where it is and how fast, from where and how fast it was, its own best and
/// the swarm's, and two random numbers.
#[inline(always)]
pub fn moved([x, v, own, guide]: [f64; 4], (r1, r2): (f64, f64)) -> [f64; 2] {
    let within = |value: f64, limit: f64| {
        if value < -limit {
            -limit
        } else if value > limit {
            limit
        } else {
            value
        }
    };
    let v = INERTIA * v + ATTRACTION * r1 * (own - x) + ATTRACTION * r2 * (guide - x);
    let v = within(v, MAX_VELOCITY);
    [within(x + v, BOUND), v]
}

/// The two random numbers of a particle for one dimension.
#[inline(always)]
pub fn uniforms(key: Key, iteration: u32, particle: u32, dimension: u32) -> (f64, f64) {
    // In f64 one dimension makes a group.
    let (purpose, group) = (Purpose::Velocity, dimension);
    let draw = Draw { key, iteration, particle, group, purpose, nth: 0 };
    f64::uniform_pair(draw.block(), 0)
}

/// A particle and its fitness.
#[derive(Clone, Copy)]
struct Found {
    fitness: f64,
    particle: u32,
}

impl Found {
    /// Loses against every particle.
    const NOTHING: Self = Self { fitness: f64::NEG_INFINITY, particle: u32::MAX };

    /// Whether its fitness is greater or, if equal, its index lower.
    #[inline(always)]
    fn beats(self, other: Self) -> bool {
        self.fitness > other.fitness
            || (self.fitness == other.fitness && self.particle < other.particle)
    }

    /// The one that beats the other.
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        if other.beats(self) { other } else { self }
    }
}

/// Places for what the threads of a block found, in shared memory.
#[derive(Clone, Copy)]
struct Board {
    fitness: Shared<f64>,
    particle: Shared<u32>,
}

impl Board {
    #[inline(always)]
    const fn of(threads: u32) -> Self {
        let fitness = Shared::at(0, threads);
        Self { fitness, particle: Shared::at(fitness.end(), threads) }
    }

    /// # Safety
    /// There is such a place, which has been stored, and nobody stores it unless a barrier is between.
    #[inline(always)]
    unsafe fn at(&self, place: u32) -> Found {
        let place = place as usize;
        // SAFETY: the caller's promise.
        unsafe { Found { fitness: self.fitness.load(place), particle: self.particle.load(place) } }
    }

    /// # Safety
    /// There is such a place, and nobody else accesses it unless a barrier is between.
    #[inline(always)]
    unsafe fn set(&self, place: u32, found: Found) {
        let place = place as usize;
        // SAFETY: the caller's promise.
        unsafe {
            self.fitness.store(place, found.fitness);
            self.particle.store(place, found.particle);
        }
    }

    /// Puts the better of two places into the first.
    ///
    /// # Safety
    /// As [`Board::at`] of both and [`Board::set`] of the first.
    #[inline(always)]
    unsafe fn renew(&self, place: u32, other: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let other = self.at(other);
            if other.beats(self.at(place)) {
                self.set(place, other);
            }
        }
    }

    /// The best of what all threads of a block found, in all of them: half of the places against the other
    /// half, as often as it takes. Collective.
    ///
    /// # Safety
    /// The number of threads is a power of two, and nobody has used the places.
    #[inline(always)]
    unsafe fn reduce(&self, mine: Found) -> Found {
        let thread = thread::index();
        let mut stride = thread::block_threads() / 2;
        // SAFETY: places below the number of threads; a barrier lies between one half's accesses and the next's,
        // which store only what nobody else loads.
        unsafe {
            self.set(thread, mine);
            while stride > 0 {
                block::barrier();
                if thread < stride {
                    self.renew(thread, thread + stride);
                }
                stride /= 2;
            }
            block::barrier();
            self.at(0)
        }
    }

    /// The same, written out, and the last warp by itself. Collective.
    ///
    /// # Safety
    /// As [`Board::reduce`], and there are at most 1024 threads.
    #[inline(always)]
    unsafe fn reduce_unrolled(&self, mine: Found) -> Found {
        let (thread, threads) = (thread::index(), thread::block_threads());
        // SAFETY: as in `reduce`; in the last warp its own barrier lies between.
        unsafe {
            self.set(thread, mine);
            block::barrier();
            unroll!(STRIDE in [512 256 128 64 32] {
                let stride = STRIDE as u32;
                if threads > stride {
                    if thread < stride {
                        self.renew(thread, thread + stride);
                    }
                    block::barrier();
                }
            });
            if thread < warp::LANES {
                unroll!(STRIDE in [16 8 4 2 1] {
                    let stride = STRIDE as u32;
                    if thread < stride {
                        self.renew(thread, thread + stride);
                    }
                    warp::sync();
                });
            }
            block::barrier();
            self.at(0)
        }
    }
}

/// Where a particle is, as it is stored.
struct Stored<'a> {
    arguments: &'a Arguments,
    particle: u32,
}

impl Point<f64> for Stored<'_> {
    #[inline(always)]
    fn at(&self, dimension: u32) -> f64 {
        // SAFETY: whoever makes one has a particle that exists, and asks for its dimensions.
        unsafe { self.arguments.positions.load(self.arguments.place(self.particle, dimension)) }
    }
}

impl Arguments {
    /// Where a coordinate lies.
    #[inline(always)]
    fn place(&self, particle: u32, dimension: u32) -> usize {
        dimension as usize * self.particles as usize + particle as usize
    }

    /// Moves the particle of this thread, which `guide` attracts, and renews its own best. Nothing where the
    /// thread has no particle.
    ///
    /// # Safety
    /// The buffers are as documented, and a particle has one thread.
    #[inline(always)]
    unsafe fn advance(&self, guide: impl Fn(u32) -> f64) -> Found {
        let particle = thread::global_index();
        if particle >= self.particles {
            return Found::NOTHING;
        }
        let context = Context::new(self.dims, ReadOnly::empty());
        let mut evaluation = Evaluation::<Cubic, f64>::new(&Cubic, &context);
        // SAFETY: the particle and its dimensions exist, and no other thread accesses them.
        unsafe {
            for dimension in 0..self.dims {
                let place = self.place(particle, dimension);
                let now = [
                    self.positions.load(place),
                    self.velocities.load(place),
                    self.own_positions.load(place),
                    guide(dimension),
                ];
                let random = uniforms(self.key, self.iteration, particle, dimension);
                let [position, velocity] = moved(now, random);
                self.positions.store(place, position);
                self.velocities.store(place, velocity);
                evaluation.push(dimension, position);
            }
            let fitness = evaluation.finish(&Stored { arguments: self, particle });
            self.fitness.store(particle as usize, fitness);
            if fitness > self.own_fitness.load(particle as usize) {
                self.own_fitness.store(particle as usize, fitness);
                for dimension in 0..self.dims {
                    let place = self.place(particle, dimension);
                    self.own_positions.store(place, self.positions.load(place));
                }
            }
            Found { fitness, particle }
        }
    }

    /// As [`Arguments::advance`], where nobody writes the swarm's best during the launch.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    unsafe fn advance_together(&self) -> Found {
        // SAFETY: the best has so many coordinates; the rest is the caller's promise.
        unsafe { self.advance(|dimension| f64::from_bits(self.best.load(1 + dimension as usize))) }
    }

    /// Thread 0 leaves what the block found for the second launch.
    ///
    /// # Safety
    /// There is a place for each block.
    #[inline(always)]
    unsafe fn leave(&self, found: Found) {
        if thread::index() == 0 {
            let block = thread::block_index() as usize;
            // SAFETY: the caller's promise.
            unsafe {
                self.found_fitness.store(block, found.fitness);
                self.found_particle.store(block, found.particle);
            }
        }
    }

    /// The best of what this thread looks at of that which the blocks left.
    ///
    /// # Safety
    /// There is a place for each block, which was stored by an earlier launch.
    #[inline(always)]
    unsafe fn left(&self) -> Found {
        let mut best = Found::NOTHING;
        let mut block = thread::index();
        while block < self.blocks {
            // SAFETY: below the number of blocks.
            let found = unsafe {
                Found {
                    fitness: self.found_fitness.load(block as usize),
                    particle: self.found_particle.load(block as usize),
                }
            };
            best = best.or(found);
            block += thread::block_threads();
        }
        best
    }

    /// All threads of the only block copy the particle's fitness and position to the swarm's best, if it is
    /// better. Collective.
    ///
    /// # Safety
    /// The buffers are as documented, and no other block runs.
    #[inline(always)]
    unsafe fn renew_best(&self, found: Found) {
        // SAFETY: all that is accessed exists; a barrier lies between the load of the fitness and its store.
        unsafe {
            let is_better = found.fitness > f64::from_bits(self.best.load(0));
            block::barrier();
            if is_better {
                let mut dimension = thread::index();
                while dimension < self.dims {
                    let coordinate = self.positions.load(self.place(found.particle, dimension));
                    self.best.store(1 + dimension as usize, coordinate.to_bits());
                    dimension += thread::block_threads();
                }
                if thread::index() == 0 {
                    self.best.store(0, found.fitness.to_bits());
                }
            }
        }
    }
}

/// The particles of a block that beat the swarm's best, in the order in which they come.
#[derive(Clone, Copy)]
struct Line {
    places: Board,
    length: Shared<u32>,
    /// A word that thread 0 has for the others.
    word: Shared<u32>,
}

impl Line {
    #[inline(always)]
    const fn of(threads: u32) -> Self {
        let places = Board::of(threads);
        let length = Shared::at(places.particle.end(), 1);
        Self { places, length, word: Shared::at(length.end(), 1) }
    }

    /// Nobody stands in it. Who queues up must do so behind a barrier.
    ///
    /// # Safety
    /// Nobody accesses its length unless a barrier is between.
    #[inline(always)]
    unsafe fn empty(&self) {
        if thread::index() == 0 {
            // SAFETY: the caller's promise.
            unsafe { self.length.store(0, 0) };
        }
    }

    /// Lines up.
    ///
    /// # Safety
    /// A thread does it once; barriers lie between this and what is done to its length or places otherwise.
    #[inline(always)]
    unsafe fn enter(&self, found: Found) {
        // SAFETY: there is a place for each thread, and nobody has the same.
        unsafe {
            let place = self.length.fetch_add(0, 1);
            self.places.set(place, found);
        }
    }

    /// The best of those who stand in it, of whom there are so many; nothing if there are none.
    ///
    /// # Safety
    /// A barrier lies between this and what others do.
    #[inline(always)]
    unsafe fn best(&self, length: u32) -> Found {
        let mut best = Found::NOTHING;
        let mut place = 0;
        while place < length {
            // SAFETY: below the length, so stored.
            best = best.or(unsafe { self.places.at(place) });
            place += 1;
        }
        best
    }
}

const fn name(family: &'static str) -> Name {
    Name { family, objective: "", precision: "f64" }
}

/// Moves the particles, and finds the best of each block by halving, which may be written out.
pub struct Halving<const UNROLLED: bool>;

/// One block: finds the best of what the blocks of an earlier launch found, likewise.
pub struct HalvingBest<const UNROLLED: bool>;

/// [`Halving`] in a loop.
pub type Reduction = Halving<false>;
/// [`HalvingBest`] in a loop.
pub type ReductionBest = HalvingBest<false>;
/// [`Halving`], written out.
pub type Unrolled = Halving<true>;
/// [`HalvingBest`], written out.
pub type UnrolledBest = HalvingBest<true>;

/// The best of what all threads of the block found, at the start of shared memory. Collective.
///
/// # Safety
/// The block's size is a power of two, 1024 at most if `UNROLLED`.
#[inline(always)]
unsafe fn best_of_block<const UNROLLED: bool>(mine: Found) -> Found {
    let board = Board::of(thread::block_threads());
    // SAFETY: the caller's promise; nobody else uses the places.
    unsafe { if UNROLLED { board.reduce_unrolled(mine) } else { board.reduce(mine) } }
}

impl<const UNROLLED: bool> Kernel for Halving<UNROLLED> {
    type Arguments = Arguments;

    const NAME: Name = name(if UNROLLED { "cupso_unrolled" } else { "cupso_reduction" });

    fn shared_bytes(threads: u32, _: &Arguments) -> u32 {
        Board::of(threads).particle.end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        // SAFETY: buffers as documented; the block's size is a power of two, 1024 at most.
        unsafe {
            let found = arguments.advance_together();
            arguments.leave(best_of_block::<UNROLLED>(found));
        }
    }
}

impl<const UNROLLED: bool> Kernel for HalvingBest<UNROLLED> {
    type Arguments = Arguments;

    const NAME: Name = name(if UNROLLED { "cupso_unrolled_best" } else { "cupso_reduction_best" });

    fn shared_bytes(threads: u32, _: &Arguments) -> u32 {
        Board::of(threads).particle.end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        // SAFETY: as in `Halving`.
        unsafe {
            let found = arguments.left();
            arguments.renew_best(best_of_block::<UNROLLED>(found));
        }
    }
}

/// Moves the particles; those that beat the swarm's best queue up, and thread 0 takes the best of them.
pub struct Queue;

impl Kernel for Queue {
    type Arguments = Arguments;

    const NAME: Name = name("cupso_queue");

    fn shared_bytes(threads: u32, _: &Arguments) -> u32 {
        Line::of(threads).word.end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let line = Line::of(thread::block_threads());
        // SAFETY: buffers as documented; barriers lie between what is done to the queue.
        unsafe {
            line.empty();
            let found = arguments.advance_together();
            block::barrier();
            if found.fitness > f64::from_bits(arguments.best.load(0)) {
                line.enter(found);
            }
            block::barrier();
            if thread::index() == 0 {
                arguments.leave(line.best(line.length.load(0)));
            }
        }
    }
}

/// As [`Queue`], and the whole iteration: the blocks themselves renew the swarm's best, one at a time.
pub struct QueueLock;

impl Kernel for QueueLock {
    type Arguments = Arguments;

    const NAME: Name = name("cupso_queue_lock");

    fn shared_bytes(threads: u32, _: &Arguments) -> u32 {
        Line::of(threads).word.end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let line = Line::of(thread::block_threads());
        let (best, lock) = (&arguments.best, &arguments.lock);
        // SAFETY: buffers as documented, the best and the lock accessed atomically only; barriers lie between
        // what is done to the queue. Its length is the same for all threads, and so is the word: they come to
        // the same barriers.
        unsafe {
            let seen = |place: usize| {
                f64::from_bits(best.atomic_load(place, Order::Relaxed, Scope::Device))
            };
            line.empty();
            let found = arguments.advance(|dimension| seen(1 + dimension as usize));
            block::barrier();
            if found.fitness > seen(0) {
                line.enter(found);
            }
            block::barrier();
            let length = line.length.load(0);
            if length == 0 {
                return;
            }
            let is_first = thread::index() == 0;
            let mut winner = Found::NOTHING;
            if is_first {
                winner = line.best(length);
                while lock.compare_exchange(0, 0, 1, Order::Acquire, Scope::Device) != 0 {
                    thread::spin();
                }
                let is_better = winner.fitness > seen(0);
                if !is_better {
                    lock.atomic_store(0, 0, Order::Release, Scope::Device);
                }
                line.word.store(0, if is_better { winner.particle } else { u32::MAX });
            }
            block::barrier();
            let particle = line.word.load(0);
            if particle == u32::MAX {
                return;
            }
            let mut dimension = thread::index();
            while dimension < arguments.dims {
                let coordinate = arguments.positions.load(arguments.place(particle, dimension));
                let place = 1 + dimension as usize;
                best.atomic_store(place, coordinate.to_bits(), Order::Relaxed, Scope::Device);
                dimension += thread::block_threads();
            }
            // What the others stored is before it, and so before the lock's release.
            block::barrier();
            if is_first {
                best.atomic_store(0, winner.fitness.to_bits(), Order::Relaxed, Scope::Device);
                lock.atomic_store(0, 0, Order::Release, Scope::Device);
            }
        }
    }
}

#[cfg(test)]
mod tests;
