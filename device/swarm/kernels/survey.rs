//! How a swarm stands, for the history: two launches that know nothing of the function.

use core::marker::PhantomData;

use crate::{
    gpu::{
        block,
        memory::{ReadOnly, ReadWrite},
        shared::Shared,
        thread, unroll,
        warp::Shuffle,
    },
    kernel::{Kernel, Name},
    math::{Partial, Scalar},
    swarm::{
        layout::{self, Order, TILE},
        settings::Settings,
        survey::{self, SUMS, Sums},
    },
};

/// Numbers in a record: the swarm's best fitness, and [`Sums`].
pub const RECORD: usize = 5;

/// What both kernels are passed.
///
/// With `S` slots in all, the buffers have these lengths: `positions`, `velocities` S times dims;
/// `best_fitness` S; `global_best` dims for each swarm; `global_best_fitness` one for each; `tiles` four for
/// each tile; `records` at least [`RECORD`] for each swarm from number `record` on.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<T> {
    /// What all particles share.
    pub settings: Settings<T>,
    /// Number of the record.
    pub record: u32,
    /// In which order positions and velocities lie.
    pub order: Order,
    /// Positions, in tiles.
    pub positions: ReadOnly<T>,
    /// Velocities, in tiles.
    pub velocities: ReadOnly<T>,
    /// Personal best fitness of each slot.
    pub best_fitness: ReadOnly<T>,
    /// The best position of each swarm.
    pub global_best: ReadOnly<T>,
    /// Its fitness.
    pub global_best_fitness: ReadOnly<T>,
    /// Receives the sums of each tile.
    pub tiles: ReadWrite<f64>,
    /// Receives the records.
    pub records: ReadWrite<f64>,
}

/// Sums over each tile: a block of 64 threads for each.
pub struct SurveyTiles<T>(PhantomData<T>);

/// Sums over all tiles: a block of [`SUMS`] threads for each swarm.
pub struct SurveySwarm<T>(PhantomData<T>);

impl Shuffle for Sums {
    const WORDS: u32 = 4 * <f64 as Shuffle>::WORDS;

    #[inline(always)]
    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
        let [a, b, c, d] = self.to_words();
        Self::from_words([
            a.map_words(&mut f),
            b.map_words(&mut f),
            c.map_words(&mut f),
            d.map_words(&mut f),
        ])
    }
}

fn scratch(threads: u32) -> Shared<u32> {
    Shared::at(0, block::reduce_scratch::<Sums>(threads))
}

impl<T: Scalar> Kernel for SurveyTiles<T> {
    type Arguments = Arguments<T>;

    const NAME: Name = Name { family: "survey_tiles", objective: "", precision: T::NAME };

    fn shared_bytes(threads: u32, _: &Self::Arguments) -> u32 {
        scratch(threads).end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let settings = &arguments.settings;
        let tiles = layout::tiles(settings.particles as usize);
        let (tile, lane) = (thread::block_index() as usize, thread::index() as usize);
        let (swarm, slot) = (tile / tiles, tile * TILE + lane);
        let dims = settings.dims as usize;
        let mut mine = Sums::none();
        // SAFETY: slot, swarm and tile exist, in a launch with a block for each tile; the scratch
        // array is as long as `reduce` asks.
        unsafe {
            if tile % tiles * TILE + lane < settings.particles as usize {
                let fitness = arguments.best_fitness.at(slot);
                mine = survey::of_particle(settings, fitness, |dimension| {
                    let index = arguments.order.index::<T>(slot, dimension as usize, dims);
                    [
                        arguments.positions.at(index),
                        arguments.velocities.at(index),
                        arguments.global_best.at(swarm * dims + dimension as usize),
                    ]
                });
            }
            let threads = thread::block_threads();
            let sums = block::reduce(mine, Sums::none(), scratch(threads), Sums::combine);
            if lane == 0 {
                let words = sums.to_words();
                unroll!(NTH in [0 1 2 3] {
                    arguments.tiles.store(4 * tile + NTH, words[NTH]);
                });
            }
        }
    }
}

impl<T: Scalar> Kernel for SurveySwarm<T> {
    type Arguments = Arguments<T>;

    const NAME: Name = Name { family: "survey_swarm", objective: "", precision: T::NAME };

    fn shared_bytes(threads: u32, _: &Self::Arguments) -> u32 {
        scratch(threads).end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let settings = &arguments.settings;
        let tiles = layout::tiles(settings.particles as usize);
        let (swarm, lane) = (thread::block_index() as usize, thread::index() as usize);
        let mut mine = Sums::none();
        // SAFETY: swarm and tiles exist, in a launch with a block for each swarm; the scratch array
        // is as long as `reduce` asks.
        unsafe {
            let mut tile = lane;
            while tile < tiles {
                let word = |nth| arguments.tiles.load(4 * (swarm * tiles + tile) + nth);
                mine = mine.combine(Sums::from_words([word(0), word(1), word(2), word(3)]));
                tile += SUMS;
            }
            let threads = thread::block_threads();
            let sums = block::reduce(mine, Sums::none(), scratch(threads), Sums::combine);
            if lane == 0 {
                let swarms = settings.swarms as usize;
                let first = (arguments.record as usize * swarms + swarm) * RECORD;
                let best = arguments.global_best_fitness.at(swarm).to_f64();
                arguments.records.store(first, best);
                let words = sums.to_words();
                unroll!(NTH in [0 1 2 3] {
                    arguments.records.store(first + 1 + NTH, words[NTH]);
                });
            }
        }
    }
}
