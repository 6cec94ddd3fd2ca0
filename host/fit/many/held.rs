//! Numbers in the host's memory that pass to a GPU and back.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use bytemuck::Pod;

use crate::{Result, backend::machine::Machine, memory};

/// Memory of fewer bytes is not pinned the first time: that takes as long as some megabytes of a copy.
const WORTH_PINNING: usize = 4 << 20;
/// Nor memory of fewer bytes than this when it is used again.
const WORTH_PINNING_AGAIN: usize = 64 << 10;
/// Memory of fewer bytes is not touched by several threads.
const WORTH_SHARING: usize = 16 << 20;
/// The most of them.
const TOUCHING: usize = 8;
/// Bytes of a page, or less.
const PAGE: usize = 4096;

/// Numbers whose memory stays pinned, once a machine has pinned it, for as long as they live.
pub struct Held<T> {
    /// Before the numbers, so that it is dropped before them.
    pinned: OnceLock<Box<dyn Send + Sync>>,
    /// Whether it has been used before.
    used: AtomicBool,
    memory: Memory<T>,
}

/// Whose memory it is.
enum Memory<T> {
    Own(Vec<T>),
    Lent(Lent<T>),
}

/// Numbers of an owner, which is asked for them once and then only kept.
struct Lent<T> {
    numbers: *const [T],
    /// From a box, so that it is not moved.
    owner: *mut (dyn Send + Sync),
}

// SAFETY: the owner is `Send` and `Sync`, and through the other pointer numbers are only read.
unsafe impl<T: Sync> Send for Lent<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Lent<T> {}

impl<T> Lent<T> {
    fn new(owner: impl AsRef<[T]> + Send + Sync + 'static) -> Self {
        let owner = Box::into_raw(Box::new(owner));
        // SAFETY: it was a box a moment ago, and nobody else has it.
        let numbers: *const [T] = unsafe { &*owner }.as_ref();
        Self { numbers, owner }
    }

    fn numbers(&self) -> &[T] {
        // SAFETY: `as_ref` borrowed the owner, which since then nobody has moved or written: the borrow
        // could go on until the owner is dropped, and that is when `self` is.
        unsafe { &*self.numbers }
    }
}

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        // SAFETY: it comes from a box, and is not used again.
        drop(unsafe { Box::from_raw(self.owner) });
    }
}

impl<T> Held<T> {
    pub fn new(numbers: Vec<T>) -> Self {
        Self::of(Memory::Own(numbers))
    }

    /// The numbers of an owner, where they are.
    pub fn lent(owner: impl AsRef<[T]> + Send + Sync + 'static) -> Self {
        Self::of(Memory::Lent(Lent::new(owner)))
    }

    fn of(memory: Memory<T>) -> Self {
        Self { pinned: OnceLock::new(), used: AtomicBool::new(false), memory }
    }

    pub fn numbers(&self) -> &[T] {
        match &self.memory {
            Memory::Own(numbers) => numbers,
            Memory::Lent(lent) => lent.numbers(),
        }
    }
}

impl<T: Clone> Held<T> {
    /// To be written; of what was lent, a copy.
    pub fn numbers_mut(&mut self) -> &mut [T] {
        if let Memory::Lent(lent) = &self.memory {
            *self = Self::new(lent.numbers().to_vec());
        }
        match &mut self.memory {
            Memory::Own(numbers) => numbers,
            Memory::Lent(_) => unreachable!("copied above"),
        }
    }

    /// The numbers; of what was lent, a copy.
    pub fn into_numbers(mut self) -> Vec<T> {
        // Before its memory goes elsewhere.
        self.pinned.take();
        match self.memory {
            Memory::Own(numbers) => numbers,
            Memory::Lent(lent) => lent.numbers().to_vec(),
        }
    }
}

impl<T: Pod + Send> Held<T> {
    /// So many zeros.
    pub fn zeroed(length: usize) -> Result<Self> {
        memory::check((length * size_of::<T>()) as u128)?;
        let mut numbers = vec![T::zeroed(); length];
        let bytes = length * size_of::<T>();
        if bytes >= WORTH_SHARING {
            // The system gives pages out one by one when they are first written.
            let threads = thread::available_parallelism().map_or(1, usize::from).min(TOUCHING);
            thread::scope(|scope| {
                for part in numbers.chunks_mut(length.div_ceil(threads)) {
                    scope.spawn(|| {
                        part.iter_mut()
                            .step_by((PAGE / size_of::<T>()).max(1))
                            .for_each(|number| *number = std::hint::black_box(T::zeroed()));
                    });
                }
            });
        }
        Ok(Self::new(numbers))
    }

    /// Has a machine pin the memory, if that is worth it.
    pub fn pin<M: Machine>(&self, machine: &M) {
        let bytes = size_of_val(self.numbers());
        let again = self.used.swap(true, Ordering::Relaxed);
        if bytes >= if again { WORTH_PINNING_AGAIN } else { WORTH_PINNING } {
            self.pinned.get_or_init(|| {
                let start = self.numbers().as_ptr().cast_mut().cast();
                // SAFETY: the numbers are not moved, and are dropped after what is returned.
                Box::new(unsafe { machine.pin(start, bytes) })
            });
        }
    }
}

impl<T: Clone> Clone for Held<T> {
    fn clone(&self) -> Self {
        Self::new(self.numbers().to_vec())
    }
}

impl<T> std::fmt::Debug for Held<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held").field("numbers", &self.numbers().len()).finish_non_exhaustive()
    }
}

/// Room for the results of fits.
#[derive(Clone, Debug)]
pub struct Room<T> {
    /// For each data set the parameters, their errors and the sum.
    pub numbers: Held<T>,
    /// For each data set how it ended, iterations and rows.
    pub words: Held<u32>,
}
