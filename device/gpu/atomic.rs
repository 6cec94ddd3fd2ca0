//! Read-modify-write on device memory, with ordering and scope, and fences.
//!
//! Orderings are those of the C++ and PTX memory models. A scope says who takes part: threads of
//! the same block, of the same GPU, or of the whole system (other GPUs, the host); a wider scope
//! costs more.

use super::{memory::ReadWrite, target};

/// Who takes part in an ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The threads of this block (`.cta`).
    Block,
    /// The threads of this GPU (`.gpu`).
    Device,
    /// All GPUs and the host (`.sys`).
    System,
}

/// What an atomic access orders besides itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nothing.
    Relaxed,
    /// Later accesses of this thread stay behind it.
    Acquire,
    /// Earlier accesses of this thread stay before it.
    Release,
    /// Both.
    AcquireRelease,
}

/// Orders this thread's earlier accesses before its later ones, as seen by `scope`
/// (`fence.acq_rel`; CUDA C's `__threadfence` is the same with [`Scope::Device`], but stronger).
#[inline(always)]
pub fn fence(scope: Scope) {
    target::fence(scope);
}

/// An integer that atomics work on: `u32` or `u64`.
pub trait Integer: Copy + target::Atomic {}
impl Integer for u32 {}
impl Integer for u64 {}

impl<T: Integer> ReadWrite<T> {
    /// Adds `value` (wrapping) to element `index` and returns what it was.
    ///
    /// # Safety
    /// `index` is below the length, and concurrent accesses to the element are atomic too.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn fetch_add(&self, index: usize, value: T, order: Order, scope: Scope) -> T {
        // SAFETY: in bounds by the caller's promise, memory by the promise made in `new`.
        unsafe { target::fetch_add(self.address(index), value, order, scope) }
    }

    /// Lowers element `index` to `value` if that is less, and returns what it was.
    ///
    /// # Safety
    /// As [`ReadWrite::fetch_add`].
    #[inline(always)]
    #[track_caller]
    pub unsafe fn fetch_min(&self, index: usize, value: T, order: Order, scope: Scope) -> T {
        // SAFETY: as in `fetch_add`.
        unsafe { target::fetch_min(self.address(index), value, order, scope) }
    }

    /// Stores `value` in element `index` and returns what it was.
    ///
    /// # Safety
    /// As [`ReadWrite::fetch_add`].
    #[inline(always)]
    #[track_caller]
    pub unsafe fn exchange(&self, index: usize, value: T, order: Order, scope: Scope) -> T {
        // SAFETY: as in `fetch_add`.
        unsafe { target::exchange(self.address(index), value, order, scope) }
    }

    /// Stores `new` in element `index` if it holds `expected`, and returns what it was.
    ///
    /// # Safety
    /// As [`ReadWrite::fetch_add`].
    #[inline(always)]
    #[track_caller]
    pub unsafe fn compare_exchange(
        &self,
        index: usize,
        expected: T,
        new: T,
        order: Order,
        scope: Scope,
    ) -> T {
        // SAFETY: as in `fetch_add`.
        unsafe { target::compare_exchange(self.address(index), expected, new, order, scope) }
    }

    /// Element `index`, read as one piece: [`Order::Relaxed`] or [`Order::Acquire`].
    ///
    /// # Safety
    /// As [`ReadWrite::fetch_add`].
    #[inline(always)]
    #[track_caller]
    pub unsafe fn atomic_load(&self, index: usize, order: Order, scope: Scope) -> T {
        // SAFETY: as in `fetch_add`.
        unsafe { target::atomic_load(self.address(index), order, scope) }
    }

    /// Stores element `index` as one piece: [`Order::Relaxed`] or [`Order::Release`].
    ///
    /// # Safety
    /// As [`ReadWrite::fetch_add`].
    #[inline(always)]
    #[track_caller]
    pub unsafe fn atomic_store(&self, index: usize, value: T, order: Order, scope: Scope) {
        // SAFETY: as in `fetch_add`.
        unsafe { target::atomic_store(self.address(index), value, order, scope) }
    }
}
