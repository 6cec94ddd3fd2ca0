//! Which particles of a swarm in device memory a thread has, one after the other.

use crate::gpu::thread;

/// The rounds of this block, each by its first particle: forth in one iteration and back in the next, so that it begins
/// with those that are still in the second-level cache. (A block of the next launch is where that of the last one was,
/// as a launch has no more of them than the GPU holds.)
///
/// A block goes on or ends as a whole: where all its threads take the same way, the assembler keeps what they share in
/// registers that they share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounds {
    /// Number of the iteration.
    pub iteration: u32,
    /// Particles of the swarm.
    pub particles: u32,
    /// Threads of a particle.
    pub parts: u32,
}

impl Rounds {
    /// The first one; beyond the swarm if there is none.
    #[inline(always)]
    pub fn first(self) -> u32 {
        let first = thread::block_index() * self.of_a_block();
        let apart = self.apart();
        // SAFETY: a launch has a warp at least. It spares what is done about a quotient by zero, which takes registers.
        unsafe { core::hint::assert_unchecked(apart > 0) };
        let ahead = if self.go_forth() { 0 } else { self.particles };
        first + ahead.saturating_sub(first + 1) / apart * apart
    }

    /// Whether there is a particle of the swarm in the round that begins with this one.
    #[inline(always)]
    pub fn has(self, first: u32) -> bool {
        first < self.particles
    }

    /// The round after the one that begins with `first`; beyond the swarm if there is none.
    #[inline(always)]
    pub fn after(self, first: u32) -> u32 {
        let apart = self.apart();
        if self.go_forth() {
            first.saturating_add(apart)
        } else if first < apart {
            u32::MAX
        } else {
            first - apart
        }
    }

    /// This thread's particle in the round that begins with `first`; it may be beyond the last.
    #[inline(always)]
    pub fn particle(self, first: u32) -> u32 {
        first + thread::index() / self.parts
    }

    #[inline(always)]
    fn go_forth(self) -> bool {
        self.iteration.is_multiple_of(2)
    }

    #[inline(always)]
    fn of_a_block(self) -> u32 {
        thread::block_threads() / self.parts
    }

    /// From one round to the next. Made anew each time, which costs less than a register.
    #[inline(always)]
    fn apart(self) -> u32 {
        thread::grid_blocks() * self.of_a_block()
    }
}
