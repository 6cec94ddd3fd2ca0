//! What puts a swarm in device memory in order: personal bests where they belong, and numbers into the order that a kernel
//! takes them in.

use core::marker::PhantomData;

use super::in_memory::Home;
use crate::{
    gpu::{block, memory::ReadWrite, thread, warp},
    kernel::{Kernel, Name},
    math::Scalar,
    swarm::layout::{self, Arrangement, Order, Quads, Sixteens, TILE},
};

/// What [`CatchUp`] is passed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Behind<T> {
    /// Number of particles.
    pub particles: u32,
    /// Number of dimensions.
    pub dims: u32,
    /// Their order.
    pub order: Order,
    /// The swarm; nobody is fresh afterwards.
    pub home: Home<T>,
}

/// Stores the personal bests of fresh particles, so that they can be read. As many threads as particles at least.
pub struct CatchUp<T>(PhantomData<T>);

impl<T: Scalar> Kernel for CatchUp<T> {
    type Arguments = Behind<T>;

    const NAME: Name = Name { family: "swarm_catch_up", objective: "", precision: T::NAME };

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Behind { particles, dims, order, home } = *arguments;
        let particle = thread::global_index();
        let marked = if order == Order::Sixteens { Sixteens::MARKED } else { Quads::MARKED };
        // SAFETY: only where the particle exists, whose coordinates no other thread touches; the lanes
        // of a warp have read their word before one stores it.
        unsafe {
            if particle < particles && home.is_fresh(particle, marked) {
                for dimension in 0..dims {
                    let (slot, dimension) = (particle as usize, dimension as usize);
                    let index = order.index::<T>(slot, dimension, dims as usize);
                    home.personal_bests.store(index, home.positions.load(index));
                }
            }
            warp::sync();
            if warp::lane().is_multiple_of(marked) && particle < particles {
                home.fresh.store((particle / marked) as usize, 0);
            }
        }
    }
}

/// What [`Arrange`] is passed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Orders<T> {
    /// Number of dimensions.
    pub dims: u32,
    /// The order in which they lie.
    pub from: Order,
    /// Another one, in which they are to lie.
    pub to: Order,
    /// What is arranged: each as long as the grid has tiles.
    pub arrays: [ReadWrite<T>; 3],
}

/// Puts the numbers of a swarm into another order, in place. A block of [`TILE`] threads for each tile.
pub struct Arrange<T>(PhantomData<T>);

impl<T: Scalar> Kernel for Arrange<T> {
    type Arguments = Orders<T>;

    const NAME: Name = Name { family: "swarm_arrange", objective: "", precision: T::NAME };

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Orders { dims, from, to, arrays: [positions, velocities, personal_bests] } = *arguments;
        let start = thread::block_index() as usize * TILE * dims as usize;
        let (fours, sixteens) = (dims - dims % 4, dims - dims % 16);
        // What makes no sixteen lies as in quads.
        let quads = |order| if order == Order::Sixteens { Order::Quads } else { order };
        let mut dimension = 0;
        while dimension < fours {
            let place = start + dimension as usize * TILE;
            // SAFETY: so many dimensions of this block's tile, of which no other thread touches any.
            unsafe {
                if dimension < sixteens {
                    rearrange::<T, 4>(positions.skip(place), from, to);
                    rearrange::<T, 4>(velocities.skip(place), from, to);
                    rearrange::<T, 4>(personal_bests.skip(place), from, to);
                    dimension += 16;
                } else {
                    rearrange::<T, 1>(positions.skip(place), quads(from), quads(to));
                    rearrange::<T, 1>(velocities.skip(place), quads(from), quads(to));
                    rearrange::<T, 1>(personal_bests.skip(place), quads(from), quads(to));
                    dimension += 4;
                }
            }
        }
    }
}

/// So many times four dimensions of a tile, by the block's threads, one for each particle; contains a barrier. In sixteens
/// they are four times four.
///
/// # Safety
/// No other thread touches them.
#[inline(always)]
unsafe fn rearrange<T: Scalar, const FOURS: usize>(tile: ReadWrite<T>, from: Order, to: Order) {
    let lane = thread::index() as usize;
    let four_of = |nth: usize, order| match order {
        Order::Quads => (lane * layout::quad_width::<T>() + nth * 4 * TILE, Quads::apart::<T>()),
        _ => (lane * 16 + nth * 4, Sixteens::apart::<T>()),
    };
    // SAFETY: the caller's promise; all is loaded before a barrier, and quads begin at multiples of 16 bytes.
    let load = |nth| unsafe {
        if from == Order::Rows {
            [0, 1, 2, 3].map(|ahead| tile.load(lane + (4 * nth + ahead) * TILE))
        } else {
            let (first, apart) = four_of(nth, from);
            T::load_quad(&tile, first, apart)
        }
    };
    // SAFETY: as above; all is stored behind that barrier.
    let store = |nth, four: [T; 4]| unsafe {
        if to == Order::Rows {
            let [a, b, c, d] = four;
            let row = |ahead| lane + (4 * nth + ahead) * TILE;
            tile.store(row(0), a);
            tile.store(row(1), b);
            tile.store(row(2), c);
            tile.store(row(3), d);
        } else {
            let (first, apart) = four_of(nth, to);
            T::store_quad(&tile, first, apart, four);
        }
    };
    // One by one, lest they lie in local memory.
    if FOURS == 1 {
        let four = load(0);
        block::barrier();
        store(0, four);
    } else {
        const { assert!(FOURS == 1 || FOURS == 4) };
        let (a, b, c, d) = (load(0), load(1), load(2), load(3));
        block::barrier();
        store(0, a);
        store(1, b);
        store(2, c);
        store(3, d);
    }
}
