//! From partial sums to personal bests and the swarm's best.

use core::marker::PhantomData;

use super::pile::{self, Pile};
use crate::{
    gpu::{block, memory::ReadOnly, shared::Shared, thread, warp},
    kernel::{Kernel, Launch, Name},
    math::Scalar,
    swarm::{
        best::Candidate,
        kernels::{
            evaluate::{self, Outcome},
            motion,
            publish::{self, Part},
        },
        layout::{self, TILE},
    },
};

/// What the kernel is passed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<T> {
    /// The swarm, and what is done with the fitness.
    pub swarm: evaluate::Arguments<(), T>,
    /// Sums of groups of rows: group after group, a number for each slot.
    pub partials: ReadOnly<T>,
    /// Number of groups.
    pub groups: u32,
    /// Number of slots that were evaluated.
    pub slots: u32,
    /// The logarithm to base 2 of how many groups a warp combines.
    pub level: u32,
    /// Whether the block of a swarm that is done last moves its particles: 1, or 0 for no. By
    /// [`Rule::Inertia`](crate::swarm::settings::Rule::Inertia), the swarm's best as the global best.
    pub moves: u32,
    /// The next move.
    pub motion: motion::Arguments<T>,
}

/// Combines partial sums in the defined order; the sums are the values of the function. What follows is as
/// in [`Evaluate`](evaluate::Evaluate).
///
/// For each swarm, blocks for 32 particles each. All warps of a block have the same particles, and each
/// combines an aligned group of 2^level partial sums: there are as many warps as that takes. In the end the
/// particles may be moved, which saves the next launch where they are few.
pub struct Judge<T>(PhantomData<T>);

/// Warps of a block, at most: with more, their nodes would not fit into the shared memory of every GPU.
pub const MOST_WARPS: u32 = 16;

/// Partial sums that are loaded at once, while there are so many; then some.
const MANY: u32 = 32;
const SOME: u32 = 8;

/// The shared memory of a block.
struct Memory<T> {
    /// Of each warp the sums of the particles.
    totals: Shared<T>,
    /// The nodes of each thread: a level after the other.
    nodes: Shared<T>,
    /// Of each particle whether its personal best is renewed.
    renewed: Shared<u32>,
}

impl<T: Scalar> Memory<T> {
    #[inline(always)]
    fn of(threads: u32, level: u32) -> Self {
        let start = publish::shared_bytes::<T>(threads).next_multiple_of(16);
        let totals = Shared::at(start, threads);
        let nodes = Shared::at(totals.end(), (level + 1) * threads);
        Self { totals, nodes, renewed: Shared::at(nodes.end(), warp::LANES) }
    }
}

impl<T: Scalar> Kernel for Judge<T> {
    type Arguments = Arguments<T>;

    const NAME: Name = Name { family: "fit_judge", objective: "", precision: T::NAME };

    const LAUNCH: Launch = Launch { threads: Some(512), ..Launch::DEFAULT };

    fn shared_bytes(threads: u32, arguments: &Self::Arguments) -> u32 {
        Memory::<T>::of(threads, arguments.level).renewed.end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Arguments { swarm, level, groups, .. } = arguments;
        let view = &swarm.view;
        // There is a swarm at least; the compiler cannot know.
        let blocks = (thread::grid_blocks() / swarm.swarms.max(1)).max(1);
        let part = Part {
            swarm: thread::block_index() / blocks,
            blocks,
            particle: thread::block_index() % blocks * warp::LANES + warp::lane(),
            stride: layout::stride(swarm.particles as usize),
        };
        let exists = part.particle < swarm.particles;
        // The last one stands for those that are not there.
        let slot = part.slot(part.particle.min(swarm.particles - 1));
        let memory = Memory::of(thread::block_threads(), *level);
        // SAFETY: the slot exists where it is used, and each group; places in shared memory are the
        // thread's own until the barrier.
        unsafe {
            // On its way while the partial sums are combined.
            let before = evaluate::best(swarm, slot);
            let first = warp::index() << level;
            let count = groups.saturating_sub(first).min(1 << level);
            if count > 0 {
                let pile = Pile::new(memory.nodes, thread::block_threads(), thread::index());
                let at = |nth: u32| {
                    let group = (first + nth) as usize;
                    arguments.partials.at(group * arguments.slots as usize + slot)
                };
                let eight = |done: u32| [0, 1, 2, 3, 4, 5, 6, 7].map(|nth| at(done + nth));
                let sum =
                    |[a, b, c, d, e, f, g, h]: [T; 8]| ((a + b) + (c + d)) + ((e + f) + (g + h));
                let mut done = 0;
                while done + MANY <= count {
                    let [a, b, c, d] = [0, 8, 16, 24].map(|further| eight(done + further));
                    // All are on their way before the first is needed.
                    warp::sync();
                    let many = (sum(a) + sum(b)) + (sum(c) + sum(d));
                    pile.push(MANY.ilog2(), done, many);
                    done += MANY;
                }
                while done + SOME <= count {
                    let some = eight(done);
                    warp::sync();
                    pile.push(SOME.ilog2(), done, sum(some));
                    done += SOME;
                }
                while done < count {
                    pile.push(0, done, at(done));
                    done += 1;
                }
                memory.totals.store(thread::index() as usize, pile.finish(count));
            }
            block::barrier();
            let mut mine = Candidate::NONE;
            if exists && warp::index() == 0 {
                let warps = groups.div_ceil(1 << level);
                let sum = pile::combined::<T, { MOST_WARPS as usize }>(
                    memory.totals,
                    warp::LANES,
                    warp::lane(),
                    warps,
                );
                let first = layout::first(slot, view.dims as usize);
                let position =
                    |dimension: u32| swarm.positions.load(first + dimension as usize * TILE);
                let (fitness, is_renewed) =
                    evaluate::settle(swarm, slot, (before, view.fitness(sum, &position)));
                mine = Candidate { fitness, particle: part.particle };
                memory.renewed.store(warp::lane() as usize, u32::from(is_renewed));
            }
            block::barrier();
            // A particle's dimensions one after the other would wait for each.
            if exists && memory.renewed.load(warp::lane() as usize) == 1 {
                let mut dimension = warp::index();
                while dimension < view.dims {
                    evaluate::renew(swarm, slot, dimension);
                    dimension += thread::block_threads() / warp::LANES;
                }
            }
            if swarm.outcome != Outcome::Told {
                let personal_best = |slot, dimension| {
                    swarm.personal_bests.load(layout::index(
                        slot,
                        dimension as usize,
                        view.dims as usize,
                    ))
                };
                // All threads of all blocks come here, since all see the same outcome.
                let last =
                    swarm.board.publish(part, mine, view.dims, swarm.iteration, personal_best);
                if last && arguments.moves == 1 {
                    // The global best has been written.
                    block::barrier();
                    let bests = (swarm.personal_bests, swarm.board.global_best);
                    motion::advance_together(&arguments.motion, bests, part);
                }
            }
        }
    }
}
