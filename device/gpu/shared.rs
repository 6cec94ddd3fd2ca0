//! The block's on-chip memory. Its size is given at launch ([`crate::kernel::Kernel::shared_bytes`]).

use core::marker::PhantomData;

use super::{
    memory::{Quad, Word},
    target,
};

/// An array of `T` in the shared memory of the block.
///
/// Values are plain bits; nothing is initialised. An access by one thread and a later access by
/// another to the same element, one of them a store, need a barrier between them; the emulator
/// reports where it is missing.
#[derive(Clone, Copy, Debug)]
pub struct Shared<T> {
    byte_offset: u32,
    length: u32,
    element: PhantomData<T>,
}

impl<T: Word> Shared<T> {
    /// The array of `length` elements that starts `byte_offset` bytes into the block's shared
    /// memory. The offset must be a multiple of the size of `T`, and the array must end inside the
    /// launch's shared memory: [`Shared::load`] and [`Shared::store`] rely on it.
    #[inline(always)]
    pub const fn at(byte_offset: u32, length: u32) -> Self {
        Self { byte_offset, length, element: PhantomData }
    }

    /// Its first byte.
    #[inline(always)]
    pub const fn start(&self) -> u32 {
        self.byte_offset
    }

    /// Its elements.
    #[inline(always)]
    pub const fn length(&self) -> u32 {
        self.length
    }

    /// First byte behind the array: where the next one may start.
    #[inline(always)]
    pub const fn end(&self) -> u32 {
        self.byte_offset + self.length * size_of::<T>() as u32
    }

    /// The array of `length` of its elements from `start` on.
    #[inline(always)]
    pub const fn part(&self, start: u32, length: u32) -> Self {
        Self::at(self.byte_offset + start * size_of::<T>() as u32, length)
    }

    /// The array without its first `start` elements.
    #[inline(always)]
    pub const fn skip(&self, start: u32) -> Self {
        // A GPU does not look at lengths.
        #[cfg(not(target_arch = "nvptx64"))]
        assert!(start <= self.length, "there are no more");
        self.part(start, self.length.wrapping_sub(start))
    }

    /// The same array, of which the compiler does not know where it begins: places in it are computed from that,
    /// and not each ahead of a loop to wait in registers.
    #[inline(always)]
    pub fn opaque(&self) -> Self {
        Self::at(target::opaque(self.byte_offset), self.length)
    }

    /// Element `index`.
    ///
    /// # Safety
    /// `index` is below the length, the array lies inside the launch's shared memory, and the
    /// element has been stored.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn load(&self, index: usize) -> T {
        #[cfg(not(target_arch = "nvptx64"))]
        assert!(index < self.length as usize, "shared load {index} of {}", self.length);
        // SAFETY: in bounds by the caller's promise.
        unsafe { target::shared_load(self.byte_offset + index as u32 * size_of::<T>() as u32) }
    }

    /// Stores element `index`.
    ///
    /// # Safety
    /// `index` is below the length, and the array lies inside the launch's shared memory.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn store(&self, index: usize, value: T) {
        #[cfg(not(target_arch = "nvptx64"))]
        assert!(index < self.length as usize, "shared store {index} of {}", self.length);
        // SAFETY: in bounds by the caller's promise.
        unsafe {
            target::shared_store(self.byte_offset + index as u32 * size_of::<T>() as u32, value);
        }
    }
}

impl Shared<u32> {
    /// Element `index` as it is by now, which other threads change by atomics. Orders nothing else.
    ///
    /// Concurrent accesses to the element that are not atomic need a barrier between.
    ///
    /// # Safety
    /// As [`Shared::load`].
    #[inline(always)]
    #[track_caller]
    pub unsafe fn atomic_load(&self, index: usize) -> u32 {
        #[cfg(not(target_arch = "nvptx64"))]
        assert!(index < self.length as usize, "shared access {index} of {}", self.length);
        // SAFETY: in bounds by the caller's promise.
        unsafe {
            target::shared_atomic_load(self.byte_offset + index as u32 * size_of::<u32>() as u32)
        }
    }

    /// Adds `value` (wrapping) to element `index` and returns what it was. Orders nothing else.
    ///
    /// Concurrent accesses to the element that are not atomic need a barrier between.
    ///
    /// # Safety
    /// As [`Shared::load`].
    #[inline(always)]
    #[track_caller]
    pub unsafe fn fetch_add(&self, index: usize, value: u32) -> u32 {
        #[cfg(not(target_arch = "nvptx64"))]
        assert!(index < self.length as usize, "shared access {index} of {}", self.length);
        // SAFETY: in bounds by the caller's promise.
        unsafe {
            target::shared_fetch_add(
                self.byte_offset + index as u32 * size_of::<u32>() as u32,
                value,
            )
        }
    }
}

impl<T: Quad> Shared<T> {
    /// Elements `index` and `index + 1`.
    ///
    /// # Safety
    /// As [`Shared::load`] of both; `index` is even, and the array begins at a multiple of their size
    /// together.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn load_two(&self, index: usize) -> [T; 2] {
        #[cfg(not(target_arch = "nvptx64"))]
        assert!(index + 1 < self.length as usize, "shared load {index} of {}", self.length);
        // SAFETY: in bounds and aligned by the caller's promise.
        unsafe { T::shared_load_two(self.byte_offset + index as u32 * size_of::<T>() as u32) }
    }

    /// Elements `index` to `index + 3`.
    ///
    /// # Safety
    /// As [`Shared::load`] of all; `index` is a multiple of 4, and the array begins at a multiple of 16
    /// bytes.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn load_four(&self, index: usize) -> [T; 4] {
        #[cfg(not(target_arch = "nvptx64"))]
        assert!(index + 3 < self.length as usize, "shared load {index} of {}", self.length);
        // SAFETY: in bounds and aligned by the caller's promise.
        unsafe { T::shared_load_four(self.byte_offset + index as u32 * size_of::<T>() as u32) }
    }

    /// Stores elements `index` and `index + 1`.
    ///
    /// # Safety
    /// As [`Shared::load_two`], but for what lies there.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn store_two(&self, index: usize, two: [T; 2]) {
        #[cfg(not(target_arch = "nvptx64"))]
        assert!(index + 1 < self.length as usize, "shared store {index} of {}", self.length);
        // SAFETY: in bounds and aligned by the caller's promise.
        unsafe {
            T::shared_store_two(self.byte_offset + index as u32 * size_of::<T>() as u32, two);
        }
    }

    /// Stores elements `index` to `index + 3`.
    ///
    /// # Safety
    /// As [`Shared::load_four`], but for what lies there.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn store_four(&self, index: usize, four: [T; 4]) {
        #[cfg(not(target_arch = "nvptx64"))]
        assert!(index + 3 < self.length as usize, "shared store {index} of {}", self.length);
        // SAFETY: in bounds and aligned by the caller's promise.
        unsafe {
            T::shared_store_four(self.byte_offset + index as u32 * size_of::<T>() as u32, four);
        }
    }
}
