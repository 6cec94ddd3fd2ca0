//! Counter-based random numbers: the same on every machine and in every order.
//!
//! A draw is a pure function of (seed, iteration, particle, dimension, purpose). Nothing is stored
//! between draws, so threads, tiles, GPUs and a resumed run all see the same numbers.
//!
//! ```
//! use flockwork_device::math::Scalar;
//! use flockwork_device::random::{Draw, Purpose, philox};
//!
//! let draw = |particle| {
//!     let (key, purpose) = (philox::key(42), Purpose::Velocity);
//!     Draw { key, iteration: 7, particle, group: 0, purpose, nth: 0 }
//! };
//! // Two uniforms for dimension 0 of a particle, in any order of the particles.
//! let (r1, r2) = f32::uniform_pair(draw(3).block(), 0);
//! assert!((0.0..1.0).contains(&r1) && (0.0..1.0).contains(&r2));
//! assert_eq!(draw(3).block(), draw(3).block());
//! assert_ne!(draw(3).block(), draw(4).block());
//! ```

pub mod philox;
#[cfg(not(target_arch = "nvptx64"))]
pub mod stream;

pub use philox::{Block, Key, philox4x32};

/// Rounds of Philox4x32 that a swarm uses: the fewest that pass BigCrush (Salmon et al. 2011,
/// table 2), at seven tenths of the cost of the customary ten.
pub const ROUNDS: usize = 7;

/// What a draw is for. Draws for different purposes are independent.
///
/// ```
/// use flockwork_device::random::{Draw, Purpose, philox};
///
/// let bits = |purpose| {
///     Draw { key: philox::key(1), iteration: 0, particle: 0, group: 0, purpose, nth: 0 }.block()
/// };
/// assert_ne!(bits(Purpose::Start), bits(Purpose::Velocity));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// The two uniforms of a velocity update.
    Velocity = 0,
    /// First positions and velocities.
    Start = 1,
    /// Where a problem's optimum is moved to.
    Shift = 2,
    /// Data sets made by `generate`, and other sequential streams.
    Data = 3,
    /// What happens at the sides of the box.
    Edge = 4,
    /// The inertia weight of an iteration.
    Inertia = 5,
    /// Who informs whom.
    Informants = 6,
    /// The weights of a particle's informants (fully informed swarms).
    Weights = 7,
    /// The radius of a jump (the standard swarm 2011).
    Radius = 8,
    /// From whom a particle learns in which dimension (comprehensive learning).
    Exemplars = 9,
    /// How a problem is rotated.
    Rotation = 10,
    /// The seeds of the swarms after restarts, of islands, and of swarms that run side by side.
    Seeds = 11,
    /// The points of a polish.
    Polish = 12,
    /// A search: its seed, its start and its points.
    Search = 13,
    /// Which islands an island hears from.
    Migration = 14,
}

/// Which random bits are wanted.
///
/// ```
/// use flockwork_device::random::{Draw, Purpose, philox};
///
/// let (key, purpose) = (philox::key(1), Purpose::Informants);
/// let first = Draw { key, iteration: 5, particle: 9, group: 0, purpose, nth: 0 };
/// let second = Draw { nth: 1, ..first };
/// assert_ne!(first.block(), second.block());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// The seed.
    pub key: Key,
    /// The iteration.
    pub iteration: u32,
    /// The particle.
    pub particle: u32,
    /// The group of dimensions that share a block: dimension d is in group d / PAIRS_PER_BLOCK
    /// (two dimensions in f32, one in f64: a block has 128 bits).
    pub group: u32,
    /// What for.
    pub purpose: Purpose,
    /// Which of several draws for the same purpose, below 2^24; 0 where there is one.
    pub nth: u32,
}

impl Draw {
    /// The bits: the counter is (particle, group, iteration, purpose and number), the key is the
    /// seed.
    ///
    /// ```
    /// use flockwork_device::random::{Draw, Purpose, ROUNDS, philox};
    ///
    /// let (key, purpose) = (philox::key(1), Purpose::Start);
    /// let draw = Draw { key, iteration: 2, particle: 3, group: 4, purpose, nth: 0 };
    /// assert_eq!(draw.block(), philox::philox4x32::<ROUNDS>([3, 4, 2, 1], key));
    /// ```
    #[inline(always)]
    pub fn block(self) -> Block {
        philox4x32::<ROUNDS>(self.counter(), self.key)
    }

    /// The same, as [`philox::philox4x32_by_words`] makes them.
    #[inline(always)]
    pub(crate) fn block_by_words(self) -> Block {
        philox::philox4x32_by_words::<ROUNDS>(self.counter(), self.key)
    }

    #[inline(always)]
    const fn counter(self) -> Block {
        let last = self.purpose as u32 | self.nth << 8;
        [self.particle, self.group, self.iteration, last]
    }
}
