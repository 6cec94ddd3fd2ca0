//! The hardware's words on the host, so that every kernel runs, and its synchronisation bugs show,
//! on a machine without a GPU.
//!
//! [`Emulator::launch`] runs a [`Kernel`] as a GPU would: blocks of lanes with shared memory,
//! barriers, shuffles and atomics. Which lane runs next is drawn from a seed, and lanes are
//! switched before every access that another lane could observe, so that a kernel which lacks a
//! barrier goes wrong here; the same seed gives the same schedule again. The emulator also watches
//! what the lanes do and ends the launch with a [`Fault`], a sentence that names the thread and the
//! line:
//!
//! - an index behind the end of a buffer, or any other panic; an access behind the end of shared
//!   memory, a misaligned vector access, a load of shared memory that was never stored;
//! - a race in shared memory: two threads, one of them storing, with neither a block barrier nor
//!   (inside a warp) a [`warp::sync`] between. A shuffle or a ballot orders no
//!   memory, as on the GPU. This check is exact, whatever the interleaving of this run;
//! - a race in device memory, where it is certain: see "What is not shown";
//! - a store to a buffer that is also read as [`ReadOnly`](super::memory::ReadOnly);
//! - a lane that returned, or came to another collective word, while others wait for it; a barrier
//!   that threads of a block reach at different lines;
//! - a deadlock; a spin that never ends.
//!
//! # What is not shown
//! - Memory is sequentially consistent: a missing fence or a too weak ordering changes no value
//!   here. The race detector sees some of that: in device memory it reports two accesses unless the
//!   earlier thread has since released and the later one has since acquired *something* (or both
//!   passed barriers). It does not check that the two met in the same atomic, nor their scopes.
//! - Lanes make progress one by one, as since Volta: what needs a warp in lockstep goes wrong here,
//!   and a lock that only older GPUs would hang in does not.
//! - Shuffles and ballots are matched by their kind, barriers by their line too.
//! - Speed.
//!
//! # Why coroutines
//! Each lane is a coroutine with a stack of its own, and all of them run on the calling thread.
//! With OS threads the schedule would be the operating system's, not the seed's; a barrier would
//! cost microseconds instead of nanoseconds; and a launch of some thousand lanes would not start.
//! A fault ends the launch by unwinding all lanes, so the program must not be built with
//! `panic = "abort"` if faults are to be reported.
//!
//! # Example
//! ```
//! use flockwork_device::{
//!     gpu::{emulator::Emulator, memory::ReadWrite, thread},
//!     kernel::{Kernel, Name},
//! };
//!
//! struct Squares;
//! impl Kernel for Squares {
//!     type Arguments = ReadWrite<u32>;
//!     const NAME: Name = Name { family: "squares", objective: "", precision: "" };
//!     unsafe fn run(out: &ReadWrite<u32>) {
//!         let i = thread::global_index();
//!         // SAFETY: one element for each thread.
//!         unsafe { out.store(i as usize, i * i) };
//!     }
//! }
//!
//! let mut out = [0; 128];
//! // SAFETY: `out` outlives the launch and has an element for each of its 2 * 64 threads.
//! unsafe {
//!     let buffer = ReadWrite::new(out.as_mut_ptr(), out.len());
//!     Emulator::new(1).launch::<Squares>(2, 64, &buffer).unwrap();
//! }
//! assert_eq!(out[100], 10_000);
//! ```

mod fault;
mod hazard;
pub(super) mod intrinsics;
mod schedule;
mod stack;
#[cfg(test)]
mod tests;

pub use fault::{Access, Fault, Thread, Waiting};

use super::warp;
use crate::kernel::Kernel;

/// Most threads that a block may have.
const MOST_THREADS: u32 = 1024;

/// Runs kernels on the host, with a schedule drawn from a seed.
#[derive(Clone, Copy, Debug)]
pub struct Emulator {
    seed: u64,
    resident_blocks: u32,
    step_limit: u64,
    check_global_races: bool,
}

/// What happened in a launch that came to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Lanes that ran, all blocks together.
    pub lanes: u64,
    /// How often a lane was resumed.
    pub switches: u64,
    /// Block barriers passed, counted once for each block.
    pub barriers: u64,
    /// Shuffles, ballots and warp barriers passed, counted once for each warp and 32-bit word.
    pub warp_words: u64,
    /// A hash of the order in which the lanes ran: equal if the schedule was equal.
    pub schedule: u64,
}

impl Emulator {
    /// An emulator whose schedules are drawn from `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { seed, resident_blocks: 4, step_limit: 10_000_000, check_global_races: true }
    }

    /// How many blocks run at once, their lanes interleaved; 4 unless stated, at least 1. All
    /// blocks of a cooperative kernel do, whatever is set here.
    #[must_use]
    pub const fn resident_blocks(mut self, blocks: u32) -> Self {
        self.resident_blocks = blocks;
        self
    }

    /// After how many switches without a store, a barrier or the like a launch counts as spinning
    /// for ever; 10 million unless stated, about a second.
    #[must_use]
    pub const fn step_limit(mut self, steps: u64) -> Self {
        self.step_limit = steps;
        self
    }

    /// Lets races in device memory pass, for kernels that race by intent, and saves the time of
    /// looking for them. Races in shared memory are reported all the same.
    #[must_use]
    pub const fn tolerate_global_races(mut self) -> Self {
        self.check_global_races = false;
        self
    }

    /// Runs `K` in `blocks` blocks of `threads` threads, which must be a multiple of 32 up to 1024.
    ///
    /// After a [`Fault`] the buffers hold whatever had been stored by then.
    ///
    /// # Safety
    /// The buffers in `arguments` satisfy the promises made when they were built, for the time of
    /// the launch, and are as `K` documents them (see [`Kernel::run`]); nobody else accesses
    /// those that it stores to. Indices and shared memory are checked, so a kernel that breaks
    /// *its* promises about them does no harm.
    pub unsafe fn launch<K: Kernel>(
        &self,
        blocks: u32,
        threads: u32,
        arguments: &K::Arguments,
    ) -> Result<Report, Fault> {
        let most = K::LAUNCH.threads.unwrap_or(MOST_THREADS);
        if threads == 0 || !threads.is_multiple_of(warp::LANES) || threads > most {
            return Err(Fault::Launch {
                reason: std::format!(
                    "{threads} threads in a block; it must be a multiple of 32 from 32 to {most}"
                ),
            });
        }
        let resident = if K::COOPERATIVE { blocks } else { self.resident_blocks.max(1) };
        let shape = schedule::Shape {
            blocks,
            threads,
            resident: resident.min(blocks),
            shared_bytes: K::shared_bytes(threads, arguments),
        };
        // SAFETY: `run` is called by every thread of a launch as its contract says; the buffers
        // are the caller's promise.
        schedule::launch(self, shape, &|| unsafe { K::run(arguments) })
    }
}
