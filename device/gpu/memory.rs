//! Device memory.
//!
//! A kernel's buffers are [`ReadOnly`] (nobody writes them during the launch: they go through the
//! read-only cache, the `__ldg` of CUDA C) or [`ReadWrite`]. Both carry their length: the emulator
//! checks every index against it; the GPU does not.

use super::target;

/// What one load or store instruction moves: 4, 8 or 16 bytes of plain data.
///
/// # Safety
/// The type is plain data without padding, for which every bit pattern is valid, aligned to its
/// own size when in device memory.
pub unsafe trait Word: Copy + target::Access {}

macro_rules! words {
    ($($type:ty),*) => { $(
        // SAFETY: plain data without padding, every bit pattern valid.
        unsafe impl Word for $type {}
    )* };
}
words!(u32, u64, f32, f64, [f32; 2], [f32; 4], [f64; 2], [u32; 2], [u32; 4]);

/// A buffer in device memory that nobody writes while the kernel runs.
#[repr(C)]
#[derive(Debug)]
pub struct ReadOnly<T> {
    pointer: *const T,
    length: u64,
}

/// A buffer in device memory that kernels read and write.
#[repr(C)]
#[derive(Debug)]
pub struct ReadWrite<T> {
    pointer: *mut T,
    length: u64,
}

impl<T> Clone for ReadOnly<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for ReadOnly<T> {}
impl<T> Clone for ReadWrite<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for ReadWrite<T> {}

// SAFETY: only an address and a length; every access through them is an unsafe call (or, for
// `ReadOnly::at`, rests on the promise given when it was made).
unsafe impl<T: Sync> Send for ReadOnly<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for ReadOnly<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for ReadWrite<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for ReadWrite<T> {}

impl<T> ReadOnly<T> {
    /// A buffer of `length` elements at `pointer`.
    ///
    /// # Safety
    /// While the value or a copy of it is in use, `length` initialised elements lie at `pointer`
    /// in the memory of the machine that uses it, and nobody writes them.
    pub const unsafe fn new(pointer: *const T, length: usize) -> Self {
        Self { pointer, length: length as u64 }
    }

    /// A buffer without elements.
    pub const fn empty() -> Self {
        Self { pointer: core::ptr::null(), length: 0 }
    }

    /// Number of elements.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.length as usize
    }

    /// Whether there are no elements.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Where its elements lie.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub(crate) const fn address(&self) -> *const T {
        self.pointer
    }

    /// The buffer without its first `start` elements; empty if there are no more.
    #[inline(always)]
    pub const fn skip(self, start: usize) -> Self {
        // A GPU does not look at lengths.
        let whole = cfg!(target_arch = "nvptx64") || start < self.len();
        let skipped = if whole { start } else { self.len() };
        let length = self.length.wrapping_sub(skipped as u64);
        Self { pointer: self.pointer.wrapping_add(skipped), length }
    }
}

impl<T: Word> ReadOnly<T> {
    /// Element `index`.
    ///
    /// # Safety
    /// `index` is below the length (on the host, the emulator included, anything else panics).
    #[inline(always)]
    #[track_caller]
    pub unsafe fn at(&self, index: usize) -> T {
        #[cfg(not(target_arch = "nvptx64"))]
        assert!(index < self.len(), "read-only load {index} of {}", self.len());
        // SAFETY: in bounds by the caller's promise, memory by the promise made in `new`.
        unsafe { target::load_read_only(self.pointer.add(index)) }
    }
}

impl<T: Word> ReadOnly<T> {
    /// Has what lies at `index` brought nearer, for a load some time later: into the cache that all
    /// multiprocessors share. Of an index beyond the last element the last one. An empty buffer must not be
    /// asked for anything.
    #[inline(always)]
    pub fn prefetch(&self, index: usize) {
        let last = self.len() - 1;
        target::prefetch(self.pointer.wrapping_add(if index < last { index } else { last }));
    }
}

impl<T> ReadWrite<T> {
    /// A buffer of `length` elements at `pointer`.
    ///
    /// # Safety
    /// While the value or a copy of it is in use, `length` elements lie at `pointer` in the memory
    /// of the machine that uses it, and only kernels of one launch at a time access them.
    pub const unsafe fn new(pointer: *mut T, length: usize) -> Self {
        Self { pointer, length: length as u64 }
    }

    /// Number of elements.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.length as usize
    }

    /// Whether there are no elements.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The buffer without its first `start` elements; empty if there are no more. Accesses that
    /// differ by a constant index then differ by a constant in the instruction.
    #[inline(always)]
    pub const fn skip(self, start: usize) -> Self {
        // A GPU does not look at lengths.
        let whole = cfg!(target_arch = "nvptx64") || start < self.len();
        let skipped = if whole { start } else { self.len() };
        let length = self.length.wrapping_sub(skipped as u64);
        Self { pointer: self.pointer.wrapping_add(skipped), length }
    }

    /// The same memory, four elements in one; up to three at the end are left out.
    ///
    /// # Safety
    /// It begins at an address that four elements together are aligned to.
    pub const unsafe fn fours(self) -> ReadWrite<[T; 4]> {
        ReadWrite { pointer: self.pointer.cast(), length: self.length / 4 }
    }

    /// Address of element `index`, for the atomic words.
    #[inline(always)]
    #[track_caller]
    pub(super) fn address(&self, index: usize) -> *mut T {
        #[cfg(not(target_arch = "nvptx64"))]
        assert!(index < self.len(), "access to element {index} of {}", self.len());
        self.pointer.wrapping_add(index)
    }
}

impl<T> ReadWrite<T> {
    /// Address of `N` elements from `index` on, together.
    #[inline(always)]
    #[track_caller]
    fn several<const N: usize>(&self, index: usize) -> *mut [T; N] {
        #[cfg(not(target_arch = "nvptx64"))]
        assert!(
            index + N <= self.len()
                && self.pointer.wrapping_add(index).addr().is_multiple_of(N * size_of::<T>()),
            "access to {N} elements from {index} on of {}",
            self.len()
        );
        self.pointer.wrapping_add(index).cast()
    }
}

impl<T: Word> ReadWrite<T> {
    /// Element `index`.
    ///
    /// # Safety
    /// `index` is below the length (the emulator panics otherwise), the element is initialised,
    /// and no other thread stores it without synchronisation in between.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn load(&self, index: usize) -> T {
        // SAFETY: in bounds by the caller's promise, memory by the promise made in `new`.
        unsafe { target::load(self.address(index)) }
    }

    /// Stores element `index`.
    ///
    /// # Safety
    /// `index` is below the length (the emulator panics otherwise), and no other thread accesses
    /// the element without synchronisation in between.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn store(&self, index: usize, value: T) {
        // SAFETY: in bounds by the caller's promise, memory by the promise made in `new`.
        unsafe { target::store(self.address(index), value) }
    }
}

/// A scalar of which two or four neighbours in shared memory can be loaded and stored at once, and four
/// neighbours in device memory can be loaded, 16 bytes an instruction.
pub trait Quad: Word {
    /// The two that lie at this offset in the block's shared memory.
    ///
    /// # Safety
    /// They do, stored by then, and the offset is a multiple of their size together.
    unsafe fn shared_load_two(offset: u32) -> [Self; 2];

    /// The four that lie there.
    ///
    /// # Safety
    /// They do, stored by then, and the offset is a multiple of 16.
    unsafe fn shared_load_four(offset: u32) -> [Self; 4];

    /// Stores two there.
    ///
    /// # Safety
    /// As above, but for what lies there.
    unsafe fn shared_store_two(offset: u32, two: [Self; 2]);

    /// Stores four there.
    ///
    /// # Safety
    /// As [`Quad::shared_load_four`], but for what lies there.
    unsafe fn shared_store_four(offset: u32, four: [Self; 4]);

    /// The four elements at `pointer`.
    ///
    /// # Safety
    /// Four initialised elements lie at `pointer`, which is aligned to 16 bytes; nobody writes them
    /// during the launch.
    unsafe fn load_four(pointer: *const Self) -> [Self; 4];

    /// Four elements: those of the 16 bytes from element `index` on, and if that is two, those of the 16 bytes `apart`
    /// elements further.
    ///
    /// # Safety
    /// As [`ReadWrite::load`] of each, and both places are multiples of 16 bytes.
    unsafe fn load_quad(buffer: &ReadWrite<Self>, index: usize, apart: usize) -> [Self; 4];

    /// Stores four there.
    ///
    /// # Safety
    /// As [`ReadWrite::store`] of each, and both places are multiples of 16 bytes.
    unsafe fn store_quad(buffer: &ReadWrite<Self>, index: usize, apart: usize, four: [Self; 4]);
}

impl Quad for f32 {
    #[inline(always)]
    #[track_caller]
    unsafe fn shared_load_two(offset: u32) -> [Self; 2] {
        // SAFETY: the caller's promise.
        unsafe { target::shared_load(offset) }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn shared_store_two(offset: u32, two: [Self; 2]) {
        // SAFETY: the caller's promise.
        unsafe { target::shared_store(offset, two) }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn shared_store_four(offset: u32, four: [Self; 4]) {
        // SAFETY: the caller's promise.
        unsafe { target::shared_store(offset, four) }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn shared_load_four(offset: u32) -> [Self; 4] {
        // SAFETY: the caller's promise.
        unsafe { target::shared_load(offset) }
    }

    #[inline(always)]
    unsafe fn load_four(pointer: *const Self) -> [Self; 4] {
        // SAFETY: the caller's promise.
        unsafe { target::load_read_only(pointer.cast::<[f32; 4]>()) }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_quad(buffer: &ReadWrite<Self>, index: usize, _: usize) -> [Self; 4] {
        // SAFETY: the caller's promise.
        unsafe { target::load(buffer.several::<4>(index)) }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store_quad(buffer: &ReadWrite<Self>, index: usize, _: usize, four: [Self; 4]) {
        // SAFETY: the caller's promise.
        unsafe { target::store(buffer.several::<4>(index), four) }
    }
}

impl Quad for f64 {
    #[inline(always)]
    #[track_caller]
    unsafe fn shared_load_two(offset: u32) -> [Self; 2] {
        // SAFETY: the caller's promise.
        unsafe { target::shared_load(offset) }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn shared_store_two(offset: u32, two: [Self; 2]) {
        // SAFETY: the caller's promise.
        unsafe { target::shared_store(offset, two) }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn shared_store_four(offset: u32, [a, b, c, d]: [Self; 4]) {
        // SAFETY: the caller's promise.
        unsafe {
            target::shared_store(offset, [a, b]);
            target::shared_store(offset + 2 * size_of::<Self>() as u32, [c, d]);
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn shared_load_four(offset: u32) -> [Self; 4] {
        // SAFETY: the caller's promise.
        unsafe {
            let [a, b]: [Self; 2] = target::shared_load(offset);
            let [c, d]: [Self; 2] = target::shared_load(offset + 2 * size_of::<Self>() as u32);
            [a, b, c, d]
        }
    }

    #[inline(always)]
    unsafe fn load_four(pointer: *const Self) -> [Self; 4] {
        // SAFETY: the caller's promise.
        unsafe {
            let [a, b] = target::load_read_only(pointer.cast::<[f64; 2]>());
            let [c, d] = target::load_read_only(pointer.add(2).cast::<[f64; 2]>());
            [a, b, c, d]
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_quad(buffer: &ReadWrite<Self>, index: usize, apart: usize) -> [Self; 4] {
        // SAFETY: the caller's promise.
        unsafe {
            let [a, b] = target::load(buffer.several::<2>(index));
            let [c, d] = target::load(buffer.several::<2>(index + apart));
            [a, b, c, d]
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store_quad(buffer: &ReadWrite<Self>, index: usize, apart: usize, four: [Self; 4]) {
        let [a, b, c, d] = four;
        // SAFETY: the caller's promise.
        unsafe {
            target::store(buffer.several::<2>(index), [a, b]);
            target::store(buffer.several::<2>(index + apart), [c, d]);
        }
    }
}

impl<T: Quad> ReadOnly<T> {
    /// Elements `4 * index` to `4 * index + 3` of a buffer that is aligned to 16 bytes.
    ///
    /// # Safety
    /// They are below the length, and the buffer is so aligned (on the host, the emulator included,
    /// anything else panics).
    #[inline(always)]
    pub unsafe fn four(&self, index: usize) -> [T; 4] {
        #[cfg(not(target_arch = "nvptx64"))]
        assert!(
            index < self.len() / 4 && self.pointer.addr().is_multiple_of(16),
            "read-only load of four at {} of {}",
            4 * index,
            self.len()
        );
        // SAFETY: in bounds and aligned by the caller's promise.
        unsafe { T::load_four(self.pointer.add(4 * index)) }
    }
}
