//! The usual iteration of a single swarm, many times in one launch, with blocks that do not wait for
//! each other: after the queue-lock swarm of cuPSO (arXiv 2205.01313).
//!
//! Each block moves its own particles as [`step`] does, attracted by the best that the block knows: a
//! copy in memory of its own, of one particle's fitness and position. An iteration ends with one
//! barrier if nothing is new. If a particle of the block is better than what the block knows, the
//! block finds its best, copies it and publishes it in the [`Exchange`]; if another block has
//! published something better, the block copies that. What a particle is attracted by depends on how
//! fast the others are: the result is not the same twice.
//!
//! The launch ends as a synchronous iteration does: the last block finds the best of all own bests
//! ([`Board::publish`]).

use core::marker::PhantomData;

use super::{
    exchange::{Exchange, Published},
    publish::{self, Board, Part},
    step::InMemory,
};
use crate::{
    gpu::{
        block,
        memory::{ReadOnly, ReadWrite},
        shared::Shared,
        thread,
        warp::{self, Shuffle},
    },
    kernel::{Kernel, Name},
    math::Scalar,
    objective::Objective,
    swarm::{
        best::Candidate,
        layout,
        step::{self, Common},
        update::Coefficients,
    },
};

/// What the kernel is passed.
///
/// With `E = layout::elements(particles, dims)`, the buffers have these lengths: `positions`,
/// `velocities`, `own_bests` E; `best_fitness` the particles rounded up to whole tiles; `inertia` the
/// iterations, or nothing; `start` dims; `guides` twice dims for each block; `held_fitness` and
/// `held_particle` one for each block. `start` may be the memory of `board.guide`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<O, T> {
    /// What all particles share; the iteration is the first of the launch.
    pub common: Common<O, T>,
    /// Iterations of the launch: at least 1.
    pub iterations: u32,
    /// Inertia weight of each iteration; nothing if all have that of `common`.
    pub inertia: ReadOnly<T>,
    /// Positions, in tiles.
    pub positions: ReadWrite<T>,
    /// Velocities, in tiles.
    pub velocities: ReadWrite<T>,
    /// Own best positions, in tiles.
    pub own_bests: ReadWrite<T>,
    /// Own best fitness, by particle.
    pub best_fitness: ReadWrite<T>,
    /// The swarm's best position after the previous launch.
    pub start: ReadWrite<T>,
    /// For each block the position it knows, and room for the next.
    pub guides: ReadWrite<T>,
    /// Receives the fitness that each block knew last.
    pub held_fitness: ReadWrite<T>,
    /// Receives the particle that had it, and in which half of the block's `guides` its position is.
    pub held_particle: ReadWrite<[u32; 2]>,
    /// Where blocks tell each other.
    pub exchange: Exchange<T>,
    /// Where the best is published in the end.
    pub board: Board<T>,
}

impl<T> Arguments<(), T> {
    /// The same for a function.
    pub fn of<O>(self, objective: O) -> Arguments<O, T> {
        let Self {
            iterations,
            inertia,
            positions,
            velocities,
            own_bests,
            best_fitness,
            start,
            guides,
            held_fitness,
            held_particle,
            exchange,
            board,
            ..
        } = self;
        Arguments {
            common: self.common.of(objective),
            iterations,
            inertia,
            positions,
            velocities,
            own_bests,
            best_fitness,
            start,
            guides,
            held_fitness,
            held_particle,
            exchange,
            board,
        }
    }
}

/// Many iterations of one swarm, block by block.
pub struct Asynchronous<O, T>(PhantomData<(O, T)>);

/// The shared memory of a block, behind that of [`Board::publish`].
struct Scratch {
    /// Two sets of what each warp has to say at the end of an iteration, used in turn: so one barrier
    /// is enough.
    news: Shared<u32>,
    /// For the reduction over the block.
    reduction: Shared<u32>,
    /// The block's best.
    winner: Shared<u32>,
    /// For the exchange.
    word: Shared<u32>,
}

impl Scratch {
    #[inline(always)]
    const fn of<T: Scalar>(threads: u32) -> Self {
        let news = Shared::at(publish::shared_bytes::<T>(threads), 2 * threads / warp::LANES);
        let reduction = Shared::at(news.end(), block::reduce_scratch::<Candidate<T>>(threads));
        let winner = Shared::at(reduction.end(), Candidate::<T>::WORDS);
        let word = Shared::at(winner.end(), 1);
        Self { news, reduction, winner, word }
    }
}

/// What a warp has to say: a particle of it is better than what the block knows.
const IMPROVED: u32 = 1;
/// Another block has published.
const NEWER: u32 = 2;

/// What a block knows of the swarm's best.
struct Known<T> {
    best: Candidate<T>,
    /// The block's two places for positions.
    places: ReadWrite<T>,
    /// Which of them holds the position: 0 or 1.
    side: u32,
    dims: u32,
}

impl<T: Scalar> Known<T> {
    /// Where the position lies.
    #[inline(always)]
    fn guide(&self) -> ReadWrite<T> {
        self.places.skip((self.side * self.dims) as usize)
    }

    /// Where the next one is put, while all may still read the present one.
    #[inline(always)]
    fn next(&self) -> ReadWrite<T> {
        self.places.skip(((1 - self.side) * self.dims) as usize)
    }

    /// The position there is this candidate's.
    #[inline(always)]
    fn adopt(&mut self, best: Candidate<T>) {
        self.best = best;
        self.side = 1 - self.side;
    }
}

impl<O: Objective, T: Scalar> Kernel for Asynchronous<O, T> {
    type Arguments = Arguments<O, T>;

    const NAME: Name =
        Name { family: "swarm_asynchronous", objective: O::INFO.name, precision: T::NAME };

    fn shared_bytes(threads: u32) -> u32 {
        Scratch::of::<T>(threads).word.end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Arguments { own_bests, best_fitness, exchange, board, .. } = *arguments;
        let mut common = arguments.common;
        let Common { particles, iteration: first, .. } = common;
        let dims = common.view.dims;
        let threads = thread::block_threads();
        let scratch = Scratch::of::<T>(threads);
        let part = Part::of_this_thread(1, particles);
        let particle = part.particle;
        let exists = particle < particles;
        let rows = [arguments.positions, arguments.velocities, own_bests];
        // SAFETY: as `Arguments` documents, particles, dimensions and blocks have their elements; this
        // thread alone stores its particle's, and its block alone the block's. Barriers order each
        // reuse of shared memory and what the block's threads read of each other's.
        unsafe {
            let mut known = Known {
                best: Candidate {
                    fitness: board.champion_fitness.load(0),
                    particle: board.champion_particle.load(0),
                },
                places: arguments.guides.skip(thread::block_index() as usize * 2 * dims as usize),
                side: 0,
                dims,
            };
            each_dimension(dims, |d| known.guide().store(d, arguments.start.load(d)));
            block::barrier();
            let mut mine = Candidate::NONE;
            if exists {
                mine = Candidate { fitness: best_fitness.load(particle as usize), particle };
            }
            // The number of what this block has read or published last.
            let mut seen = 0;
            // Whether what is known is this block's own and not yet published.
            let mut pending = false;
            let mut nth = 0;
            while nth < arguments.iterations {
                common.iteration = first + nth;
                if !arguments.inertia.is_empty() {
                    let inertia = arguments.inertia.at(nth as usize);
                    common.coefficients = Coefficients { inertia, ..common.coefficients };
                }
                // Asked before the step and used after it: the answer takes long.
                let number = if thread::index() == 0 { exchange.number() } else { seen };
                if exists {
                    let guide = known.guide();
                    let guide = |d: u32| guide.load(d as usize);
                    let mut state = InMemory::new(rows, best_fitness, particle, dims, guide);
                    mine.fitness = step::step(&common, &mut state, particle);
                }
                let better = mine.fitness < known.best.fitness;
                let newer = number != seen && number.is_multiple_of(2);
                let news = news(better, newer, scratch.news, nth % 2 * (threads / warp::LANES));
                if news & NEWER != 0 {
                    let next = known.next();
                    let found = exchange.read(scratch.word, dims, |d, x| next.store(d as usize, x));
                    if let Some((number, candidate)) = found {
                        seen = number;
                        if candidate.fitness < known.best.fitness {
                            known.adopt(candidate);
                            pending = false;
                        }
                    }
                }
                if news & IMPROVED != 0 {
                    let best = winner(mine, &scratch);
                    if best.fitness < known.best.fitness {
                        let next = known.next();
                        let row =
                            own_bests.skip(layout::first(best.particle as usize, dims as usize));
                        each_dimension(dims, |d| next.store(d, row.load(d * layout::TILE)));
                        block::barrier();
                        known.adopt(best);
                        pending = true;
                    }
                }
                if pending {
                    let guide = known.guide();
                    let at = |d: u32| guide.load(d as usize);
                    match exchange.publish(scratch.word, dims, known.best, at) {
                        Published::Done(number) => (seen, pending) = (number, false),
                        Published::Beaten => pending = false,
                        Published::Busy => {}
                    }
                }
                nth += 1;
            }
            if thread::index() == 0 {
                let block = thread::block_index() as usize;
                arguments.held_fitness.store(block, known.best.fitness);
                arguments.held_particle.store(block, [known.best.particle, known.side]);
            }
            let last = first + (arguments.iterations - 1);
            if board.publish(part, mine, own_bests, dims, last) && thread::index() == 0 {
                exchange.clear();
            }
        }
    }
}

/// Calls `f` for all dimensions, the block's threads sharing them.
#[inline(always)]
fn each_dimension(dims: u32, f: impl Fn(usize)) {
    let mut dimension = thread::index();
    while dimension < dims {
        f(dimension as usize);
        dimension += thread::block_threads();
    }
}

/// What the threads of the block have to say, all together: [`IMPROVED`] if `better` anywhere,
/// [`NEWER`] if `newer` in thread 0. Collective, and contains one barrier.
///
/// # Safety
/// `words` has a word for each warp from number `first` on, which nobody uses any more.
#[inline(always)]
unsafe fn news(better: bool, newer: bool, words: Shared<u32>, first: u32) -> u32 {
    let better = warp::ballot(better) != 0;
    if warp::lane() == 0 {
        let said = (u32::from(better) * IMPROVED) | (u32::from(newer) * NEWER);
        // SAFETY: the caller's promise.
        unsafe { words.store((first + warp::index()) as usize, said) };
    }
    block::barrier();
    let mut heard = 0;
    if warp::lane() < thread::block_threads() / warp::LANES {
        // SAFETY: the caller's promise; the barrier orders it behind the store.
        heard = unsafe { words.load((first + warp::lane()) as usize) };
    }
    let improved = warp::ballot(heard & IMPROVED != 0) != 0;
    let newer = warp::ballot(heard & NEWER != 0) != 0;
    (u32::from(improved) * IMPROVED) | (u32::from(newer) * NEWER)
}

/// The best of the block, in every thread. Collective.
///
/// # Safety
/// Called behind a barrier since the last call, with the block's scratch.
#[inline(always)]
unsafe fn winner<T: Scalar>(mine: Candidate<T>, scratch: &Scratch) -> Candidate<T> {
    // SAFETY: the arrays are as long as asked; barriers order each reuse.
    unsafe {
        let best = block::reduce(mine, Candidate::NONE, scratch.reduction, Candidate::better);
        let mut word = 0;
        if thread::index() == 0 {
            best.map_words(|bits| {
                scratch.winner.store(word, bits);
                word += 1;
                bits
            });
        }
        block::barrier();
        let mut word = 0;
        mine.map_words(|_| {
            let bits = scratch.winner.load(word);
            word += 1;
            bits
        })
    }
}
