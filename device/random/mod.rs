//! Counter-based random numbers: the same on every machine and in every order.
//!
//! A draw is a pure function of (seed, iteration, particle, dimension, purpose). Nothing is stored
//! between draws, so threads, tiles, GPUs and a resumed run all see the same numbers.

pub mod philox;
#[cfg(not(target_arch = "nvptx64"))]
pub mod stream;

pub use philox::{Block, Key, philox4x32};

/// Rounds of Philox4x32 that a swarm uses: the fewest that pass BigCrush (Salmon et al. 2011,
/// table 2), at seven tenths of the cost of the customary ten.
pub const ROUNDS: usize = 7;

/// What a draw is for. Draws for different purposes are independent.
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
}

/// Which random bits are wanted.
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
}

impl Draw {
    /// The bits: the counter is (particle, group, iteration, purpose), the key is the seed.
    #[inline(always)]
    pub fn block(self) -> Block {
        let counter = [self.particle, self.group, self.iteration, self.purpose as u32];
        philox4x32::<ROUNDS>(counter, self.key)
    }
}
