//! What a kernel is: one trait that the PTX export, the host's launcher and the emulator share.

use core::fmt;

/// A kernel: [`Kernel::run`] is executed by every thread of a launch.
///
/// The host launches `K` by passing a `K::Arguments`, so a launch with arguments of another kernel
/// does not compile. The emulator calls `K::run` itself; the PTX holds it under
/// [`Kernel::NAME`] (see [`crate::registry`]).
pub trait Kernel {
    /// Everything the kernel is passed: one `repr(C)` block of scalars and buffers, copied into the
    /// kernel's parameter space (4 KiB at most).
    type Arguments: Copy + Send + Sync;

    /// The name of its entry in the PTX.
    const NAME: Name;

    /// Whether all blocks must be on the chip at once (for [`crate::gpu::grid::barrier`]).
    const COOPERATIVE: bool = false;

    /// Shared memory in bytes of a block of `threads` threads in a launch with these arguments.
    fn shared_bytes(threads: u32, arguments: &Self::Arguments) -> u32 {
        let _ = (threads, arguments);
        0
    }

    /// Words of these arguments that decide what the kernel does rather than with what, and that many
    /// launches have in common: where a driver compiles the kernel, it may take them for constants.
    fn steady(arguments: &Self::Arguments) -> Steady {
        let _ = arguments;
        Steady::NONE
    }

    /// What each thread does.
    ///
    /// # Safety
    /// Called by every thread of a launch whose block size is a multiple of 32, with
    /// [`Kernel::shared_bytes`] of shared memory, cooperative if [`Kernel::COOPERATIVE`], and with
    /// arguments whose buffers are as long as the kernel documents.
    unsafe fn run(arguments: &Self::Arguments);
}

/// Words of a kernel's arguments and their values: see [`Kernel::steady`].
///
/// ```
/// use flockwork_device::kernel::Steady;
///
/// let steady = Steady::NONE.with(8, 3).with(4, 7);
/// assert_eq!(steady.at(4), Some(7));
/// assert_eq!(steady.at(0), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Steady {
    /// Where each begins, in bytes, and what it is.
    words: [(usize, u32); Self::MOST],
    count: usize,
}

impl Steady {
    /// The most words.
    pub const MOST: usize = 6;

    /// No words.
    pub const NONE: Self = Self { words: [(0, 0); Self::MOST], count: 0 };

    /// These and the 32-bit word that begins at byte `offset` of the arguments.
    ///
    /// # Panics
    /// If there are [`Steady::MOST`] already, or the offset is no multiple of 4.
    pub const fn with(mut self, offset: usize, word: u32) -> Self {
        assert!(offset.is_multiple_of(4), "words begin at multiples of 4 bytes");
        self.words[self.count] = (offset, word);
        self.count += 1;
        self
    }

    /// The word that begins at byte `offset`, if it is one of these.
    pub fn at(&self, offset: usize) -> Option<u32> {
        self.words[..self.count].iter().find(|(at, _)| *at == offset).map(|(_, word)| *word)
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The name of a kernel: its family, and what the family was specialised for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// What it does, as `swarm_step`.
    pub family: &'static str,
    /// The objective function it has inside, as `rastrigin`; empty if none.
    pub objective: &'static str,
    /// Its arithmetic, as `f32`; empty if it has none.
    pub precision: &'static str,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.family)?;
        for part in [self.objective, self.precision] {
            if !part.is_empty() {
                write!(f, "_{part}")?;
            }
        }
        Ok(())
    }
}
