//! The words themselves: the same functions as those of the PTX back end.
//!
//! A word that other lanes can observe first lets the scheduler switch, then acts as one piece,
//! since nothing else runs in the meantime.

use core::panic::Location;

use super::{
    fault::Site,
    schedule::{self, Collective, FACTORS, SharedAccess, here, machine},
};
use crate::{
    gpu::{
        atomic::{Order, Scope},
        warp,
    },
    math::Scalar,
};

#[inline(never)]
pub fn thread_index() -> u32 {
    here("thread::index").thread.thread
}

#[inline(never)]
pub fn block_threads() -> u32 {
    here("thread::block_threads").threads
}

#[inline(never)]
pub fn block_index() -> u32 {
    here("thread::block_index").thread.block
}

#[inline(never)]
pub fn grid_blocks() -> u32 {
    here("thread::grid_blocks").blocks
}

/// Waits for the warp and returns this lane's result.
fn collective(word: Collective, value: u32, argument: u32, site: Site) -> u32 {
    let here = here(word.name());
    assert!(
        argument < warp::LANES,
        "`{}` was asked for lane or distance {argument}; it must be below 32, since the hardware \
         looks at the lowest five bits only",
        word.name()
    );
    schedule::visible();
    if !machine(|m| m.meet_warp(&here, word, value, argument, site)) {
        schedule::pause();
    }
    machine(|m| Ok(m.warp_result(&here)))
}

#[track_caller]
pub fn shuffle_xor(value: u32, mask: u32) -> u32 {
    collective(Collective::ShuffleXor, value, mask, Location::caller())
}

#[track_caller]
pub fn shuffle_down(value: u32, delta: u32) -> u32 {
    collective(Collective::ShuffleDown, value, delta, Location::caller())
}

#[track_caller]
pub fn shuffle_up(value: u32, delta: u32) -> u32 {
    collective(Collective::ShuffleUp, value, delta, Location::caller())
}

#[track_caller]
pub fn shuffle_index(value: u32, source: u32) -> u32 {
    collective(Collective::Shuffle, value, source, Location::caller())
}

#[track_caller]
pub fn ballot(predicate: bool) -> u32 {
    collective(Collective::Ballot, predicate.into(), 0, Location::caller())
}

#[track_caller]
pub fn warp_sync() {
    collective(Collective::Sync, 0, 0, Location::caller());
}

/// As [`matrix::multiply_add`](crate::gpu::matrix::multiply_add) says it. Orders no accesses to memory.
#[track_caller]
pub fn multiply_add<T: Scalar, const STEPS: usize>(
    a: &[[T; 2]; STEPS],
    b: &[T; STEPS],
    c: [T; 4],
) -> [T; 4] {
    let (here, site) = (here("matrix::multiply_add"), Location::caller());
    let numbers = a.iter().flatten().chain(b).map(|x| x.to_f64());
    let mut mine = [0.0; FACTORS];
    mine.iter_mut().zip(numbers).for_each(|(place, number)| *place = number);
    machine(|m| {
        m.leave(&here, mine);
        Ok(())
    });
    collective(Collective::Matrix, 0, 0, site);
    let (g, t) = (here.lane() / 4, here.lane() % 4);
    let sums = machine(|m| {
        let mut sums = c;
        for k in 0..4 * STEPS {
            let left = m.left(&here, 4 * g + k % 4);
            let left = [left[k / 4 * 2], left[k / 4 * 2 + 1]];
            let right = [2 * t, 2 * t + 1]
                .map(|column| m.left(&here, 4 * column + k % 4)[2 * STEPS + k / 4]);
            for (nth, sum) in sums.iter_mut().enumerate() {
                *sum = T::nearest(left[nth / 2]).fma(T::nearest(right[nth % 2]), *sum);
            }
        }
        Ok(sums)
    });
    // Nobody leaves anything else before all have looked.
    collective(Collective::Matrix, 0, 0, site);
    sums
}

#[track_caller]
pub fn block_barrier() {
    let (here, site) = (here("block::barrier"), Location::caller());
    schedule::visible();
    if !machine(|m| m.meet_block(&here, false, site)) {
        schedule::pause();
    }
}

#[track_caller]
pub fn block_any(predicate: bool) -> bool {
    let (here, site) = (here("block::any"), Location::caller());
    schedule::visible();
    if !machine(|m| m.meet_block(&here, predicate, site)) {
        schedule::pause();
    }
    let mut any = false;
    machine(|m| {
        any = m.said_in_block(&here);
        Ok(())
    });
    any
}

/// A turn of a waiting loop: others run.
#[track_caller]
pub fn spin() {
    let (here, site) = (here("spin"), Location::caller());
    machine(|m| {
        m.spins(&here, site);
        Ok(())
    });
    schedule::pause();
}

pub fn fence(_: Scope) {
    let here = here("atomic::fence");
    schedule::visible();
    machine(|m| {
        m.orders(&here, Order::AcquireRelease);
        Ok(())
    });
}

/// What one instruction moves: here any plain data.
pub trait Access: Copy + 'static {}
impl<T: Copy + 'static> Access for T {}

// What an access does but for the value is here, apart from its type: a kernel is compiled with whatever runs
// it, which tests do not optimise.

/// Panics unless the access is aligned to its own size, as the GPU wants it.
#[track_caller]
fn check_alignment(address: usize, bytes: usize) {
    assert!(
        address.is_multiple_of(bytes),
        "an access of {bytes} bytes at address {address:#x}, which must be a multiple of that",
    );
}

/// A load or a store of `bytes` bytes at `address` of device memory is about to be done.
#[inline(never)]
#[track_caller]
fn before_access(address: usize, bytes: usize, store: bool) {
    if let Some(here) = schedule::current() {
        check_alignment(address, bytes);
        schedule::visible();
        if store {
            schedule::progress();
        }
        if here.check_global {
            let site = Location::caller();
            machine(|m| m.global(&here, address, bytes, store, false, site));
        }
    }
}

/// As [`before_access`], through a read-only buffer.
#[inline(never)]
#[track_caller]
fn before_load_read_only(address: usize, bytes: usize) {
    if let Some(here) = schedule::current() {
        check_alignment(address, bytes);
        if here.check_global {
            let site = Location::caller();
            machine(|m| m.global_read_only(&here, address, bytes, site));
        }
    }
}

/// As [`before_access`], for an atomic access. `store`: whether it is of a kind that can store.
#[inline(never)]
#[track_caller]
fn before_atomic(address: usize, bytes: usize, order: Order, store: bool) {
    let (here, site) = (here("atomic"), Location::caller());
    check_alignment(address, bytes);
    schedule::visible();
    if here.check_global {
        machine(|m| {
            // An acquire orders what follows, and a release what precedes, and each this access.
            if matches!(order, Order::Acquire | Order::AcquireRelease) {
                m.orders(&here, Order::Acquire);
            }
            m.global(&here, address, bytes, store, true, site)?;
            if matches!(order, Order::Release | Order::AcquireRelease) {
                m.orders(&here, Order::Release);
            }
            Ok(())
        });
    }
}

/// An access to shared memory is about to be done: where its `bytes` bytes at `offset` lie. They are valid for
/// reads and writes until the lane's next word.
#[inline(never)]
#[track_caller]
fn before_shared(kind: SharedAccess, offset: u32, bytes: usize) -> *mut u8 {
    let (here, site) = (here(kind.word()), Location::caller());
    check_alignment(offset as usize, bytes);
    schedule::visible();
    if kind.changes() {
        schedule::progress();
    }
    machine(|m| Ok(m.shared(&here, offset, bytes, kind, site)?.as_mut_ptr()))
}

/// Nothing is to be gained here.
pub fn opaque(value: u32) -> u32 {
    value
}

/// # Safety
/// `pointer` is valid for reads, and nobody writes there during the launch.
#[inline]
#[track_caller]
pub unsafe fn load_read_only<T: Access>(pointer: *const T) -> T {
    before_load_read_only(pointer.addr(), size_of::<T>());
    // SAFETY: the caller's promise.
    unsafe { pointer.read() }
}

/// Everything is near.
pub fn prefetch<T>(_: *const T) {}

/// # Safety
/// `pointer` is valid for reads.
#[inline]
#[track_caller]
pub unsafe fn load<T: Access>(pointer: *const T) -> T {
    before_access(pointer.addr(), size_of::<T>(), false);
    // SAFETY: the caller's promise.
    unsafe { pointer.read() }
}

/// # Safety
/// `pointer` is valid for writes.
#[inline]
#[track_caller]
pub unsafe fn store<T: Access>(pointer: *mut T, value: T) {
    before_access(pointer.addr(), size_of::<T>(), true);
    // SAFETY: the caller's promise.
    unsafe { pointer.write(value) }
}

/// # Safety
/// What lies at `offset` is a `T` (any bits are, for the types of [`crate::gpu::memory::Word`]).
/// That the bytes lie in the block's shared memory is checked.
#[inline]
#[track_caller]
pub unsafe fn shared_load<T: Access>(offset: u32) -> T {
    let from = before_shared(SharedAccess::Load, offset, size_of::<T>()).cast::<T>();
    // SAFETY: as many bytes lie there, which are a `T` by the caller's promise.
    unsafe { from.read_unaligned() }
}

/// # Safety
/// `T` has no padding. That the bytes lie in the block's shared memory is checked.
#[inline]
#[track_caller]
pub unsafe fn shared_store<T: Access>(offset: u32, value: T) {
    let to = before_shared(SharedAccess::Store, offset, size_of::<T>()).cast::<T>();
    // SAFETY: as many bytes lie there, which are ours to write.
    unsafe { to.write_unaligned(value) };
}

/// # Safety
/// Sound for any argument; the signature is that of real hardware.
#[inline]
#[track_caller]
pub unsafe fn shared_atomic_load(offset: u32) -> u32 {
    let from = before_shared(SharedAccess::AtomicLoad, offset, size_of::<u32>()).cast::<u32>();
    // SAFETY: as many bytes lie there.
    unsafe { from.read_unaligned() }
}

/// # Safety
/// As [`shared_store`].
#[inline]
#[track_caller]
pub unsafe fn shared_fetch_add(offset: u32, value: u32) -> u32 {
    let at = before_shared(SharedAccess::FetchAdd, offset, size_of::<u32>()).cast::<u32>();
    // SAFETY: as many bytes lie there, which are ours to write: no other lane runs until the next word.
    unsafe {
        let before = at.read_unaligned();
        at.write_unaligned(before.wrapping_add(value));
        before
    }
}

/// An integer that atomics work on.
pub trait Atomic: Copy + Eq + Ord + 'static {
    /// The sum, modulo two to the number of bits.
    fn plus(self, other: Self) -> Self;
}

impl Atomic for u32 {
    #[inline]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

impl Atomic for u64 {
    #[inline]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

/// Replaces the element at `pointer` by `change` of it, if that is `Some`; returns what it was.
/// `store`: whether it is a kind of access that can store.
///
/// # Safety
/// `pointer` is valid for reads and writes.
#[inline]
#[track_caller]
unsafe fn atomic<T: Atomic>(
    pointer: *mut T,
    order: Order,
    store: bool,
    change: impl FnOnce(T) -> Option<T>,
) -> T {
    before_atomic(pointer.addr(), size_of::<T>(), order, store);
    // SAFETY: the caller's promise; no other lane runs until the next word.
    unsafe {
        let before = pointer.read();
        if let Some(after) = change(before) {
            if after != before {
                schedule::progress();
            }
            pointer.write(after);
        }
        before
    }
}

/// # Safety
/// `pointer` is valid, and concurrent accesses to it are atomic.
#[inline]
#[track_caller]
pub unsafe fn fetch_add<T: Atomic>(pointer: *mut T, value: T, order: Order, _: Scope) -> T {
    // SAFETY: the caller's promise.
    unsafe { atomic(pointer, order, true, |before| Some(before.plus(value))) }
}

/// # Safety
/// As [`fetch_add`].
#[inline]
#[track_caller]
pub unsafe fn fetch_min<T: Atomic>(pointer: *mut T, value: T, order: Order, _: Scope) -> T {
    // SAFETY: the caller's promise.
    unsafe { atomic(pointer, order, true, |before| Some(before.min(value))) }
}

/// # Safety
/// As [`fetch_add`].
#[inline]
#[track_caller]
pub unsafe fn exchange<T: Atomic>(pointer: *mut T, value: T, order: Order, _: Scope) -> T {
    // SAFETY: the caller's promise.
    unsafe { atomic(pointer, order, true, |_| Some(value)) }
}

/// # Safety
/// As [`fetch_add`].
#[inline]
#[track_caller]
pub unsafe fn compare_exchange<T: Atomic>(
    pointer: *mut T,
    expected: T,
    new: T,
    order: Order,
    _: Scope,
) -> T {
    // SAFETY: the caller's promise.
    unsafe { atomic(pointer, order, true, |before| (before == expected).then_some(new)) }
}

/// # Safety
/// As [`fetch_add`].
#[inline]
#[track_caller]
pub unsafe fn atomic_load<T: Atomic>(pointer: *mut T, order: Order, _: Scope) -> T {
    assert!(
        matches!(order, Order::Relaxed | Order::Acquire),
        "an atomic load is `Relaxed` or `Acquire`, not `{order:?}`"
    );
    // SAFETY: the caller's promise.
    unsafe { atomic(pointer, order, false, |_| None) }
}

/// # Safety
/// As [`fetch_add`].
#[inline]
#[track_caller]
pub unsafe fn atomic_store<T: Atomic>(pointer: *mut T, value: T, order: Order, _: Scope) {
    assert!(
        matches!(order, Order::Relaxed | Order::Release),
        "an atomic store is `Relaxed` or `Release`, not `{order:?}`"
    );
    // SAFETY: the caller's promise.
    unsafe { atomic(pointer, order, true, |_| Some(value)) };
}

/// Both halves of two words, worked with one by one.
fn halves(a: u32, b: u32, work: impl Fn(u16, u16) -> u16) -> u32 {
    let high = work((a >> 16) as u16, (b >> 16) as u16);
    u32::from(high) << 16 | u32::from(work(a as u16, b as u16))
}

/// Four of the eight bytes of `a` and then `b`, from the lowest on: which, says a digit of `SELECTION` for each.
pub fn permute<const SELECTION: u32>(a: u32, b: u32) -> u32 {
    let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    let byte = |digit: usize| bytes[(SELECTION >> (4 * digit) & 7) as usize];
    u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
}

pub fn least_unsigned(a: u32, b: u32) -> u32 {
    a.min(b)
}

pub fn least_signed(a: i32, b: i32) -> i32 {
    a.min(b)
}

pub fn least_float(a: f32, b: f32) -> f32 {
    a.min(b)
}

pub fn pair_add(a: u32, b: u32) -> u32 {
    halves(a, b, u16::wrapping_add)
}

pub fn pair_least(a: u32, b: u32) -> u32 {
    halves(a, b, u16::min)
}
