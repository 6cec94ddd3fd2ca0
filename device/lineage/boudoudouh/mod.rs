//! Boudoudouh's particle swarm in CUDA (2018, <https://github.com/anoir2/psondimension>), versions `main_v2` to
//! `main_v7`, in `f32`.
//!
//! | version | particles | what is new | kernels |
//! |---|---|---|---|
//! | v2 | structures ([`structures`]) | a thread for each velocity, then one for each position; powers by `pow` | [`NewVelV2`], [`NewPosV2`] |
//! | v3 | the same | coefficients are constants, the loop over dimensions is in the kernel, a scratch in shared memory | [`NewVelV3`], [`NewPosV3`] |
//! | v4 | the same | velocity and position in one kernel, written-out loop | [`NewVelPosV4`] |
//! | v5 | arrays ([`arrays`]) | a thread for each coordinate; terms of a particle are summed as a tree in shared memory | [`NewVelPosV5`], [`CalcFitnessV5`] |
//! | v6 | the same | all threads of a particle copy its own best | [`CalcFitnessV6`] |
//! | v7 | the same, in fours | a thread loads four coordinates at once | [`NewVelPosV7`], [`CalcFitnessV7`] |
//!
//! v2 to v4 end an iteration with [`FindMinStructures`], the others with [`FindMinArrays`]: level after level, a
//! block leaves the least of its values.
//!
//! Where the original has a data race, or writes into another particle, the kernels here do not. In v2 each
//! dimension's thread advances the particle's one generator: here random numbers have no state, and all threads
//! of a particle draw the same two. In v5 the own best is copied to a place that lacks the factor of the
//! dimensions. In v6 and v7 some threads of a particle may read its best fitness after others have replaced it.
//! Threads beyond the last particle return before a barrier: here they go along. And the originals from v3 on
//! have constants of type `double` (no `f` behind them), which makes much of their arithmetic double precision:
//! here all of it is `f32`.
//!
//! The sum of a particle's terms is in the order of its version: [`Order`].

pub mod arrays;
pub mod structures;

pub use arrays::{
    CalcFitnessV5, CalcFitnessV6, CalcFitnessV7, FindMinArrays, NewVelPosV5, NewVelPosV7,
};
pub use structures::{
    FindMinStructures, NewPosV2, NewPosV3, NewVelPosV4, NewVelV2, NewVelV3, Structure,
};

use crate::{
    gpu::{block, shared::Shared, thread},
    math::{Real, Scalar},
    random::{Draw, Key, Purpose},
};

/// The coefficients of the rule: arguments in v2, constants after it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Coefficients {
    /// Of the old velocity.
    pub inertia: f32,
    /// Of the way to the own best.
    pub cognitive: f32,
    /// Of the way to the swarm's best.
    pub social: f32,
    /// Of the velocity that is added to a position.
    pub step: f32,
    /// The box is from minus this to this.
    pub side: f32,
    /// No component of a velocity is greater.
    pub fastest: f32,
}

/// Those of the publication.
pub const PUBLISHED: Coefficients =
    Coefficients { inertia: 0.9, cognitive: 2.0, social: 2.0, step: 1.0, side: 1.0, fastest: 2.0 };

#[inline(always)]
fn limited(x: f32, most: f32) -> f32 {
    if x > most {
        most
    } else if x < -most {
        -most
    } else {
        x
    }
}

/// One coordinate of a particle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coordinate {
    /// Where it is.
    pub position: f32,
    /// How fast.
    pub velocity: f32,
    /// The particle's best.
    pub own_best: f32,
    /// The swarm's best.
    pub best: f32,
}

impl Coefficients {
    /// The new velocity as v2 to v4 add it up, from two uniform random numbers.
    #[inline(always)]
    pub fn velocity(&self, x: Coordinate, (r, s): (f32, f32)) -> f32 {
        let (to_own, to_best) = (x.own_best - x.position, x.best - x.position);
        let sum = self.inertia * x.velocity + r * self.cognitive * to_own;
        limited(sum + s * self.social * to_best, self.fastest)
    }

    /// As v5 to v7 add it up.
    #[inline(always)]
    pub fn velocity_by_parts(&self, x: Coordinate, (r, s): (f32, f32)) -> f32 {
        let to_own = (x.own_best - x.position) * r * self.cognitive;
        let to_best = (x.best - x.position) * s * self.social;
        limited(x.velocity * self.inertia + (to_own + to_best), self.fastest)
    }

    /// The new position.
    #[inline(always)]
    pub fn position(&self, position: f32, velocity: f32) -> f32 {
        limited(position + self.step * velocity, self.side)
    }
}

/// The squared distances of a coordinate, to the target and to the origin.
#[inline(always)]
pub fn squares(position: f32, target: f32) -> (f32, f32) {
    ((position - target) * (position - target), position * position)
}

/// The same as v2 has it, by a general power.
#[inline(always)]
pub fn powers(position: f32, target: f32) -> (f32, f32) {
    (Real::pow(position - target, 2.0), Real::pow(position, 2.0))
}

/// The function's value from the sums of squared distances.
#[inline(always)]
pub fn fitness((to_target, to_origin): (f32, f32)) -> f32 {
    to_target * (100.0 * to_origin + 1.0) / 10.0
}

/// Both, added.
#[inline(always)]
fn plus(a: (f32, f32), b: (f32, f32)) -> (f32, f32) {
    (a.0 + b.0, a.1 + b.1)
}

/// In which order a particle's terms are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One after the other (v2 to v4).
    Sequence,
    /// As a tree whose upper half is added to the lower, again and again (v5, v6).
    Tree,
    /// Each four one after the other, their sums as such a tree (v7).
    TreeOfFours,
}

/// The bits of a particle's random numbers in an iteration; `nth` is 0, or 1 for the last of four coordinates in
/// v7.
#[inline(always)]
fn block_of(key: Key, iteration: u32, particle: u32, nth: u32) -> [u32; 4] {
    let purpose = Purpose::Velocity;
    Draw { key, iteration, particle, group: 0, purpose, nth }.block()
}

/// The two numbers of a particle in an iteration (v2 to v6).
#[inline(always)]
pub fn draw(key: Key, iteration: u32, particle: u32) -> (f32, f32) {
    f32::uniform_pair(block_of(key, iteration, particle, 0), 0)
}

/// Those of four coordinates (v7): the first two share theirs, as in the original, and of all fours of a particle
/// they are the same.
#[inline(always)]
pub fn draw_four(key: Key, iteration: u32, particle: u32) -> [(f32, f32); 4] {
    let (first, second) =
        (block_of(key, iteration, particle, 0), block_of(key, iteration, particle, 1));
    let xy = f32::uniform_pair(first, 0);
    [xy, xy, f32::uniform_pair(first, 1), f32::uniform_pair(second, 0)]
}

/// A fitness as its bits, and whose it is.
pub type Entry = [u32; 2];

/// What is no particle's.
const NONE: Entry = [f32::INFINITY.to_bits(), u32::MAX];

/// Shared memory in bytes that [`least`] needs.
const fn least_bytes(threads: u32) -> u32 {
    threads * size_of::<Entry>() as u32
}

/// Leaves the least of a block's entries in the first place of its shared memory: the upper half is compared with
/// the lower, again and again, and of equals the lower stays.
///
/// # Safety
/// The block has a power of two of threads and [`least_bytes`] of shared memory that nobody else uses.
#[inline(always)]
unsafe fn least(mine: Entry) -> Shared<Entry> {
    let (thread, threads) = (thread::index(), thread::block_threads());
    let all = Shared::<Entry>::at(0, threads);
    // SAFETY: both places are below the number of threads. Before a barrier a thread stores its own, and after it
    // reads one that nobody stores until the next.
    unsafe {
        all.store(thread as usize, mine);
        let mut stride = threads / 2;
        while stride > 0 {
            block::barrier();
            if thread < stride {
                let (own, other) =
                    (all.load(thread as usize), all.load((thread + stride) as usize));
                if f32::from_bits(own[0]) > f32::from_bits(other[0]) {
                    all.store(thread as usize, other);
                }
            }
            stride /= 2;
        }
    }
    all
}
