//! The memory that the threads of a lane share.

use crate::gpu::{memory::ReadWrite, shared::Shared};

/// The memory of a lane: numbers that its threads read and write.
pub trait Words: Copy {
    /// The number at `index`.
    fn at(self, index: u32) -> f64;

    /// Stores the number at `index`.
    fn put(self, index: u32, value: f64);

    /// The index that is stored at `index`, in a number's low bits.
    #[inline(always)]
    #[track_caller]
    fn index(self, index: u32) -> u32 {
        self.at(index).to_bits() as u32
    }

    /// Stores an index at `index`.
    #[inline(always)]
    #[track_caller]
    fn put_index(self, index: u32, value: u32) {
        self.put(index, f64::from_bits(u64::from(value)));
    }
}

/// Device memory that one block has to itself.
#[derive(Clone, Copy, Debug)]
pub struct Owned(ReadWrite<f64>);

impl Owned {
    /// The memory of a lane.
    ///
    /// # Safety
    /// It is as long as the lane's [`Layout`](super::Layout) says, all of it is initialised, and no
    /// other block accesses it during the launch.
    #[inline(always)]
    pub unsafe fn new(memory: ReadWrite<f64>) -> Self {
        Self(memory)
    }
}

impl Words for Owned {
    #[inline(always)]
    #[track_caller]
    fn at(self, index: u32) -> f64 {
        // SAFETY: the lane's state lies within its layout, as promised in `new`; what one thread
        // stores another loads after a barrier of the team.
        unsafe { self.0.load(index as usize) }
    }

    #[inline(always)]
    #[track_caller]
    fn put(self, index: u32, value: f64) {
        // SAFETY: as above.
        unsafe { self.0.store(index as usize, value) }
    }
}

/// The scratch of a block, in its shared memory.
#[derive(Clone, Copy, Debug)]
pub struct InShared(Shared<f64>);

impl InShared {
    /// The scratch of this block.
    ///
    /// # Safety
    /// The array lies inside the launch's shared memory, and nothing else uses it.
    #[inline(always)]
    pub unsafe fn new(scratch: Shared<f64>) -> Self {
        Self(scratch)
    }
}

impl Words for InShared {
    #[inline(always)]
    #[track_caller]
    fn at(self, index: u32) -> f64 {
        // SAFETY: it lies where `new` was promised; who loads a number stays below `SCRATCH`, has
        // stored it, and after another thread's store waits for a barrier of the team.
        unsafe { self.0.load(index as usize) }
    }

    #[inline(always)]
    #[track_caller]
    fn put(self, index: u32, value: f64) {
        // SAFETY: as above.
        unsafe { self.0.store(index as usize, value) }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use core::cell::Cell;

    use super::Words;

    /// Memory of the host.
    #[derive(Clone, Copy, Debug)]
    pub struct Cells<'a>(pub &'a [Cell<f64>]);

    impl Words for Cells<'_> {
        #[inline(always)]
        #[track_caller]
        fn at(self, index: u32) -> f64 {
            self.0[index as usize].get()
        }

        #[inline(always)]
        #[track_caller]
        fn put(self, index: u32, value: f64) {
            self.0[index as usize].set(value);
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::Cells;
