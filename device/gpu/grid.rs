//! All blocks of a launch.

use super::{
    atomic::{Order, Scope},
    block,
    memory::ReadWrite,
    target, thread, warp,
};

/// Waits for all threads of the grid and orders their memory accesses before it against those
/// after it. Collective. Deadlocks unless the launch is cooperative
/// ([`crate::kernel::Kernel::COOPERATIVE`]): all blocks must be on the chip at once.
///
/// `arrivals` is one counter, zero before the launch, used by nothing else.
///
/// Each block adds one; the barrier is passed when the count reaches the next multiple of the
/// number of blocks. The counter only grows, so it serves any number of barriers up to
/// 2^32 arrivals and needs no reset in between.
///
/// # Safety
/// `arrivals` has an element 0 that only barriers of this launch access, and each of its blocks
/// makes fewer than 2^32 / `grid_blocks()` calls.
#[inline(always)]
#[track_caller]
pub unsafe fn barrier(arrivals: ReadWrite<u32>) {
    block::barrier();
    if thread::index() == 0 {
        let blocks = thread::grid_blocks();
        // SAFETY: element 0 exists and is accessed atomically only.
        unsafe {
            let before = arrivals.fetch_add(0, 1, Order::AcquireRelease, Scope::Device);
            let target_count = (before / blocks + 1) * blocks;
            while arrivals.atomic_load(0, Order::Acquire, Scope::Device) < target_count {
                target::spin();
            }
        }
    }
    block::barrier();
}

/// Adds one to a counter, for blocks that [`wait`] for it: what this block wrote to device memory before, they
/// read after. Collective over the block.
///
/// # Safety
/// `counters` has an element `index` that only this function and [`wait`] access.
#[inline(always)]
#[track_caller]
pub unsafe fn signal(counters: ReadWrite<u32>, index: usize) {
    // Orders the writes of the whole block before thread 0's release.
    block::barrier();
    if thread::index() == 0 {
        // SAFETY: the element exists and is accessed atomically only.
        unsafe { counters.fetch_add(index, 1, Order::AcquireRelease, Scope::Device) };
    }
}

/// Waits until each of some counters, which only grow, is at least so much: pairs of index and count. Collective
/// over the block, which has a warp for each. Deadlocks unless the launch is cooperative, and other blocks
/// [`signal`] so often without waiting for this one.
///
/// # Safety
/// As [`signal`].
#[inline(always)]
#[track_caller]
pub unsafe fn wait<const N: usize>(counters: ReadWrite<u32>, those: [(usize, u32); N]) {
    // An iterator over the array would lie in local memory.
    #[expect(clippy::needless_range_loop)]
    for nth in 0..N {
        let (index, count) = those[nth];
        // All at once.
        if thread::index() == nth as u32 * warp::LANES {
            // SAFETY: the element exists and is accessed atomically only.
            while unsafe { counters.atomic_load(index, Order::Acquire, Scope::Device) } < count {
                target::spin();
            }
        }
    }
    block::barrier();
}

/// True in every thread of the block that is the last of a team of `blocks` blocks to call this, and
/// false in all others. What any block of the team wrote to device memory before its call, the last
/// block reads after it. Collective over the block; needs no cooperative launch, since nobody waits.
///
/// `arrivals` has a counter for each team, zero before the launch; the last block sets its team's back
/// to zero, ready for the next launch. `flag` is one word of shared memory.
///
/// # Safety
/// `arrivals` has an element `team` and `flag` an element 0, both used by nothing else, and each of the
/// team's blocks calls this once a launch.
#[inline(always)]
#[track_caller]
pub unsafe fn last_block(
    arrivals: ReadWrite<u32>,
    team: u32,
    blocks: u32,
    flag: super::shared::Shared<u32>,
) -> bool {
    // Orders the writes of the whole block before thread 0's release below.
    block::barrier();
    // SAFETY: both elements exist by the caller's promise; the barriers order the flag.
    unsafe {
        if thread::index() == 0 {
            let team = team as usize;
            let before = arrivals.fetch_add(team, 1, Order::AcquireRelease, Scope::Device);
            let last = before + 1 == blocks;
            if last {
                arrivals.atomic_store(team, 0, Order::Relaxed, Scope::Device);
            }
            flag.store(0, u32::from(last));
        }
        block::barrier();
        flag.load(0) == 1
    }
}
