//! Linear models and sums of squares, by the units that multiply matrices.

use core::marker::PhantomData;

use super::{
    Arguments, THREADS, WARPS, Work, padded,
    pile::{self, Pile},
};
use crate::{
    fit::{square, sum::CHUNK, weighted_square},
    gpu::{
        block,
        matrix::{self, multiply_add},
        memory::ReadOnly,
        shared::Shared,
        thread, unroll, warp,
    },
    kernel::{Kernel, Launch, Local, Name, Requires},
    math::Scalar,
};

/// Chunks that a warp goes through side by side: a lane has the rows of one, in their order, in the columns of
/// the products that are its own.
const SIDE_BY_SIDE: u32 = 4;

/// The least level of a launch: the chunks that a warp goes through side by side.
pub const LEAST_LEVEL: u32 = SIDE_BY_SIDE.ilog2();

/// Rows of each chunk that two products take.
const ROWS: u32 = 4;

/// Rows in a line of the cache.
const ROWS_OF_LINE: u32 = 16;

/// How many lines before they are loaded rows are brought into the cache: they come from memory in a time in
/// which a warp computes with some tens of rows.
const LINES_AHEAD: u32 = 4;

/// Numbers of rows and columns in all, up to which they are taken to lie in the second-level cache from one
/// iteration to the next: 16 MiB.
const CACHED: usize = 2 << 20;

/// Sums of squares for a linear model with 4 times `STEPS` arguments or fewer, as
/// [`Squares`](super::squares::Squares), and the same bits: a residual is an element of a matrix product, whose
/// left factor is the negated parameters of 16 particles, whose right factor is rows of data, and to which the
/// targets are added. A warp has `TILES` times 16 particles, whose parameters stay in its registers. It loads
/// `DEPTH` times four rows of each of four chunks while it computes with those before.
///
/// In blocks of [`THREADS`] threads: one for each aligned group of [`chunks`] chunks and each [`tile`]
/// slots. A partial sum of each slot is written for the group.
pub struct Matrix<T, const STEPS: usize, const TILES: usize, const DEPTH: usize>(PhantomData<T>);

/// [`Matrix`] of up to 4 arguments, 16 particles a warp.
pub type Matrix4By16<T> = Matrix<T, 1, 1, 4>;
/// [`Matrix`] of up to 4 arguments, 64 particles a warp.
pub type Matrix4By64<T> = Matrix<T, 1, 4, 1>;
/// [`Matrix`] of up to 8 arguments, 16 particles a warp.
pub type Matrix8By16<T> = Matrix<T, 2, 1, 4>;
/// [`Matrix`] of up to 8 arguments, 64 particles a warp.
pub type Matrix8By64<T> = Matrix<T, 2, 4, 1>;
/// [`Matrix`] of up to 16 arguments, 16 particles a warp.
pub type Matrix16By16<T> = Matrix<T, 4, 1, 2>;
/// [`Matrix`] of up to 16 arguments, 32 particles a warp.
pub type Matrix16By32<T> = Matrix<T, 4, 2, 1>;
/// [`Matrix`] of up to 16 arguments, 64 particles a warp.
pub type Matrix16By64<T> = Matrix<T, 4, 4, 1>;

/// The logarithm to base 2 of how many warps of a block have the same rows, and particles of their own: as
/// many as go, if few are then without particles.
///
/// ```
/// use flockwork_device::fit::kernels::matrix::sharing;
///
/// assert_eq!([64, 128, 2048, 130].map(|slots| sharing(slots, 4)), [0, 1, 2, 0]);
/// ```
#[inline(always)]
pub const fn sharing(slots: u32, tiles: usize) -> u32 {
    let warps = slots.div_ceil(matrix::ROWS * tiles as u32);
    let most = warps + warps / 16;
    if warps.next_multiple_of(4) <= most {
        2
    } else if warps.next_multiple_of(2) <= most {
        1
    } else {
        0
    }
}

/// Slots of a block.
///
/// ```
/// use flockwork_device::fit::kernels::matrix::tile;
///
/// assert_eq!([tile(64, 4), tile(2048, 4), tile(64, 1)], [64, 256, 64]);
/// ```
#[inline(always)]
pub const fn tile(slots: u32, tiles: usize) -> u32 {
    (matrix::ROWS * tiles as u32) << sharing(slots, tiles)
}

/// Chunks of a block's group, of which each part has 2^level, at least 2^[`LEAST_LEVEL`].
///
/// ```
/// use flockwork_device::fit::kernels::matrix::chunks;
///
/// assert_eq!([chunks(64, 4, 2), chunks(2048, 4, 3)], [16, 8]);
/// ```
#[inline(always)]
pub const fn chunks(slots: u32, tiles: usize, level: u32) -> u32 {
    (WARPS >> sharing(slots, tiles)) << level
}

/// The shared memory of a block.
struct Memory<T> {
    /// Of each part the sums of the block's slots.
    totals: Shared<T>,
    /// The nodes of each lane, two numbers a level.
    nodes: Shared<T>,
    /// The parameters of the first warp; those of the others follow.
    parameters: Shared<T>,
}

/// Rows that a lane has brought: its parts of the right factors, and the targets and weights of its chunk.
#[derive(Clone, Copy)]
struct Brought<T, const STEPS: usize, const DEPTH: usize> {
    arguments: [[[T; 2]; STEPS]; DEPTH],
    targets: [[T; 4]; DEPTH],
    weights: [[T; 4]; DEPTH],
}

/// Where what a lane brings for a stage lies, in words of two numbers: in the first column, and in that of the
/// targets.
#[derive(Clone, Copy)]
struct At {
    arguments: usize,
    targets: usize,
}

/// Where a warp and its lane are.
struct Place<T> {
    /// First chunk of the warp, and how many there are.
    chunk: u32,
    chunks: u32,
    /// First slot of the warp.
    slot: u32,
    /// Where its parameters are gathered.
    gathered: Shared<T>,
    /// Whether the rows come from memory.
    is_far: bool,
    /// This lane's row in matrices, and its column in a step.
    g: u32,
    t: u32,
}

impl<T: Scalar, const STEPS: usize, const TILES: usize, const DEPTH: usize>
    Matrix<T, STEPS, TILES, DEPTH>
{
    const COLUMNS: u32 = matrix::STEP * STEPS as u32;
    /// Slots of a warp.
    const SLOTS: u32 = matrix::ROWS * TILES as u32;
    /// Stages of a chunk.
    const STAGES: u32 = CHUNK as u32 / (ROWS * DEPTH as u32);

    #[inline(always)]
    fn memory(level: u32) -> Memory<T> {
        let totals = Shared::at(0, WARPS * Self::SLOTS);
        let nodes = Shared::at(totals.end(), (level + 1 - LEAST_LEVEL) * 2 * THREADS);
        Memory {
            totals,
            nodes,
            parameters: Shared::at(nodes.end(), WARPS * Self::SLOTS * Self::COLUMNS),
        }
    }

    /// Loads two numbers of a column.
    ///
    /// # Safety
    /// They exist.
    #[inline(always)]
    unsafe fn two(numbers: ReadOnly<[u32; 4]>, index: usize) -> [T; 2] {
        // SAFETY: the caller's promise.
        let [a, b, c, d] = unsafe { numbers.at(index) };
        [(a, b), (c, d)].map(|(low, high)| {
            // `f64` is what the kernel is for, and what stays as it is.
            T::nearest(f64::from_bits(u64::from(high) << 32 | u64::from(low)))
        })
    }

    /// This lane's parts of the left factors.
    ///
    /// # Safety
    /// The buffers are as documented, and nobody else uses where they are gathered. All lanes of the warp call it.
    #[inline(always)]
    unsafe fn parameters(arguments: &Arguments<T>, place: &Place<T>) -> [[[T; 2]; STEPS]; TILES] {
        let &Place { slot, gathered, g, t, .. } = place;
        let columns = arguments.shape.columns;
        // SAFETY: a linear model has as many parameters as columns, and the numbers are the warp's own.
        unsafe {
            let by = (warp::lane(), warp::LANES);
            arguments.gather((columns, slot, Self::SLOTS), gathered, by);
        }
        warp::sync();
        // Negated, as they are subtracted.
        let mut parameters = [[[T::ZERO; 2]; STEPS]; TILES];
        unroll!(TILE in [0 1 2 3] {
            if TILE < TILES {
                unroll!(STEP in [0 1 2 3] {
                    if STEP < STEPS {
                        unroll!(HALF in [0 1] {
                            let column = STEP as u32 * matrix::STEP + t;
                            let slot = TILE as u32 * matrix::ROWS + HALF as u32 * 8 + g;
                            if column < columns {
                                // SAFETY: stored before the barrier.
                                parameters[TILE][STEP][HALF] = -unsafe {
                                    gathered.load((column * Self::SLOTS + slot) as usize)
                                };
                            }
                        });
                    }
                });
            }
        });
        parameters
    }

    /// Where a stage is that is the first of its chunks. Chunks beyond the last are replaced by one that exists:
    /// their results are not used.
    #[inline(always)]
    fn first(place: &Place<T>, stage: u32) -> At {
        let &Place { chunk, chunks, g, t, .. } = place;
        let done = stage / Self::STAGES * SIDE_BY_SIDE;
        let row = (chunk + done) as usize * CHUNK;
        let of_chunk = |nth: u32| if done + nth < chunks { nth as usize * CHUNK } else { 0 };
        At {
            arguments: (row + of_chunk(g / 2)) / 2 + (g % 2) as usize,
            targets: (row + of_chunk(t)) / 2,
        }
    }

    /// Where the next stage is, number `stage`, if the one before is there.
    #[inline(always)]
    fn next(at: At, place: &Place<T>, stage: u32) -> At {
        if stage.is_multiple_of(Self::STAGES) {
            return Self::first(place, stage);
        }
        let further = DEPTH * ROWS as usize / 2;
        At { arguments: at.arguments + further, targets: at.targets + further }
    }

    /// What this lane brings for a stage. Columns beyond the last are replaced by the first: their parameters
    /// are zero.
    ///
    /// # Safety
    /// The stage exists and is there, and the buffers are as documented.
    #[inline(always)]
    unsafe fn bring<const WEIGHTED: bool>(
        arguments: &Arguments<T>,
        place: &Place<T>,
        (stage, at): (u32, At),
    ) -> Brought<T, STEPS, DEPTH> {
        let &Place { t, is_far, .. } = place;
        let At { arguments: of_arguments, targets: of_targets } = at;
        // In words of two numbers.
        let column = padded(arguments.rows as usize) / 2;
        let columns = arguments.shape.columns;
        let mut brought = Brought {
            arguments: [[[T::ZERO; 2]; STEPS]; DEPTH],
            targets: [[T::ZERO; 4]; DEPTH],
            weights: [[T::ZERO; 4]; DEPTH],
        };
        // SAFETY: the columns exist, and rows up to the end of a chunk that does.
        unsafe {
            unroll!(NTH in [0 1 2 3] {
                if NTH < DEPTH {
                    let further = NTH * ROWS as usize / 2;
                    unroll!(STEP in [0 1 2 3] {
                        if STEP < STEPS {
                            let mine = STEP as u32 * matrix::STEP + t;
                            let mine = if mine < columns { mine } else { 0 };
                            let index = mine as usize * column + of_arguments + further;
                            brought.arguments[NTH][STEP] = Self::two(arguments.numbers, index);
                        }
                    });
                    let four = |numbers, index: usize| {
                        let [a, b] = Self::two(numbers, index);
                        let [c, d] = Self::two(numbers, index + 1);
                        [a, b, c, d]
                    };
                    let index = columns as usize * column + of_targets + further;
                    brought.targets[NTH] = four(arguments.numbers, index);
                    if WEIGHTED {
                        brought.weights[NTH] = four(arguments.weights, of_targets + further);
                    }
                }
            });
        }
        if is_far && (stage % Self::STAGES * ROWS * DEPTH as u32).is_multiple_of(ROWS_OF_LINE) {
            // Of the first ones none has been asked for.
            let first = if stage == 0 { 1 } else { LINES_AHEAD };
            let mut line = first;
            while line <= LINES_AHEAD {
                let further = (line * ROWS_OF_LINE / 2) as usize;
                unroll!(STEP in [0 1 2 3] {
                    if STEP < STEPS {
                        let mine = STEP as u32 * matrix::STEP + t;
                        let mine = if mine < columns { mine } else { 0 };
                        arguments.numbers.prefetch(mine as usize * column + of_arguments + further);
                    }
                });
                arguments.numbers.prefetch(columns as usize * column + of_targets + further);
                line += 1;
            }
        }
        brought
    }

    /// Adds the rows of a stage to the sums.
    #[inline(always)]
    fn add<const WEIGHTED: bool>(
        brought: &Brought<T, STEPS, DEPTH>,
        parameters: &[[[T; 2]; STEPS]; TILES],
        sums: &mut [[T; 2]; TILES],
        zero: u64,
    ) {
        let copy = |x: T| match TILES {
            1 => x,
            _ => T::nearest(f64::from_bits(x.to_f64().to_bits() | zero)),
        };
        unroll!(NTH in [0 1 2 3] {
            if NTH < DEPTH {
                let [a, b, c, d] = brought.targets[NTH];
                let [copy_of_a, copy_of_b] = [copy(a), copy(b)];
                let [copy_of_c, copy_of_d] = [copy(c), copy(d)];
                // Of a chunk's four rows the first and the third are columns of one product, the others
                // of the other: so a lane loads neighbours.
                let mut right = [[T::ZERO; STEPS]; 2];
                unroll!(STEP in [0 1 2 3] {
                    if STEP < STEPS {
                        right[0][STEP] = brought.arguments[NTH][STEP][0];
                        right[1][STEP] = brought.arguments[NTH][STEP][1];
                    }
                });
                unroll!(TILE in [0 1 2 3] {
                    if TILE < TILES {
                        let (parameters, [one, two]) = (&parameters[TILE], &right);
                        let first = multiply_add(parameters, one, [a, c, copy_of_a, copy_of_c]);
                        let other = multiply_add(parameters, two, [b, d, copy_of_b, copy_of_d]);
                        unroll!(HALF in [0 1] {
                            let residuals = [
                                first[2 * HALF],
                                other[2 * HALF],
                                first[2 * HALF + 1],
                                other[2 * HALF + 1],
                            ];
                            let mut sum = sums[TILE][HALF];
                            unroll!(ROW in [0 1 2 3] {
                                let residual = residuals[ROW];
                                sum = if WEIGHTED {
                                    weighted_square(sum, residual, brought.weights[NTH][ROW])
                                } else {
                                    square(sum, residual)
                                };
                            });
                            sums[TILE][HALF] = sum;
                        });
                    }
                });
            }
        });
    }

    /// The sums of the warp's chunks, for two particles of this lane: of which tile they are, `t` modulo
    /// `TILES` says. Nothing sensible if there are none.
    ///
    /// # Safety
    /// The chunks exist, and the nodes are this lane's own.
    #[inline(always)]
    unsafe fn sum<const WEIGHTED: bool>(
        arguments: &Arguments<T>,
        place: &Place<T>,
        nodes: Shared<T>,
    ) -> [T; 2] {
        let pile =
            |half: usize| Pile::new(nodes, 2 * THREADS, half as u32 * THREADS + thread::index());
        let quads = place.chunks.div_ceil(SIDE_BY_SIDE);
        let stages = quads * Self::STAGES;
        let mut sums = [[T::ZERO; 2]; TILES];
        let mut totals = [T::ZERO; 2];
        // A zero, of which the assembler does not know: of a number that stands twice in a matrix it would make
        // new copies for every product.
        let zero = u64::from(arguments.level >> 31);
        // SAFETY: the caller's promises; a stage is brought if it exists.
        unsafe {
            if stages > 0 {
                let mut at = Self::first(place, 0);
                let parameters = Self::parameters(arguments, place);
                let mut brought = Self::bring::<WEIGHTED>(arguments, place, (0, at));
                let mut stage = 0;
                while stage < stages {
                    let next = stage + 1;
                    let mut following = brought;
                    if next < stages {
                        at = Self::next(at, place, next);
                        following = Self::bring::<WEIGHTED>(arguments, place, (next, at));
                    }
                    // All lanes, and all at once: see `multiply_add`.
                    warp::sync();
                    Self::add::<WEIGHTED>(&brought, &parameters, &mut sums, zero);
                    if next.is_multiple_of(Self::STAGES) {
                        let quad = stage / Self::STAGES;
                        let left = place.chunks - quad * SIDE_BY_SIDE;
                        unroll!(HALF in [0 1] {
                            let mut mine = T::ZERO;
                            unroll!(TILE in [0 1 2 3] {
                                if TILE < TILES {
                                    let four = combined(sums[TILE][HALF], place.t, left);
                                    mine = if place.t % TILES as u32 == TILE as u32 { four } else { mine };
                                }
                            });
                            pile(HALF).push(0, quad, mine);
                        });
                        sums = [[T::ZERO; 2]; TILES];
                    }
                    brought = following;
                    stage = next;
                }
                totals = [pile(0).finish(quads), pile(1).finish(quads)];
            }
        }
        totals
    }
}

/// The tree over the sums of up to four chunks, of which lane t of each four has one; so many exist. All four
/// lanes get it.
#[inline(always)]
fn combined<T: Scalar>(sum: T, t: u32, exist: u32) -> T {
    let other = warp::shuffle_xor(sum, 1);
    let pair = match (t | 1) < exist {
        true => sum + other,
        false if t % 2 == 1 => other,
        false => sum,
    };
    let other = warp::shuffle_xor(pair, 2);
    match exist > 2 {
        true => pair + other,
        false if t >= 2 => other,
        false => pair,
    }
}

impl<T: Scalar, const STEPS: usize, const TILES: usize, const DEPTH: usize> Kernel
    for Matrix<T, STEPS, TILES, DEPTH>
{
    type Arguments = Arguments<T>;

    const NAME: Name = Name {
        family: match (STEPS, TILES) {
            (1, 1) => "fit_matrix_4_by_16",
            (1, 4) => "fit_matrix_4_by_64",
            (2, 1) => "fit_matrix_8_by_16",
            (2, 4) => "fit_matrix_8_by_64",
            (4, 1) => "fit_matrix_16_by_16",
            (4, 2) => "fit_matrix_16_by_32",
            (4, 4) => "fit_matrix_16_by_64",
            _ => panic!("no kernel of this size is registered"),
        },
        objective: "",
        precision: T::NAME,
    };

    // Some leave in local memory what they do not calculate with, so that more blocks fit.
    const LAUNCH: Launch = {
        let (blocks, stack) = match (STEPS, TILES) {
            (1, 4) => (3, 0),
            (2, 1) => (2, 8),
            (4, 2) => (3, 32),
            (4, 4) => (2, 16),
            _ => (2, 0),
        };
        Launch {
            threads: Some(THREADS),
            blocks: Some(blocks),
            requires: Some(Requires::SM_90),
            local: Local { stack, hot: 0 },
            ..Launch::DEFAULT
        }
    };

    fn shared_bytes(_: u32, arguments: &Self::Arguments) -> u32 {
        Self::memory(arguments.level).parameters.end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let sharing = sharing(arguments.slots, TILES);
        let (part, parts) = (warp::index() >> sharing, WARPS >> sharing);
        let tile = Self::SLOTS << sharing;
        let work = Work::of_this_block(arguments, tile, part, parts);
        let memory = Self::memory(arguments.level);
        let (g, t) = (warp::lane() / 4, warp::lane() % 4);
        // The first of the warp's slots in the block's.
        let first = (warp::index() % (1 << sharing)) * Self::SLOTS;

        let columns = arguments.shape.columns;
        let each = Self::SLOTS * Self::COLUMNS;
        let place = Place {
            chunk: work.chunk,
            chunks: work.chunks,
            slot: work.slot + first,
            gathered: memory.parameters.part(warp::index() * each, each),
            // With more tiles there are many rows.
            is_far: TILES > 1 || padded(arguments.rows as usize) * (columns as usize + 1) > CACHED,
            g,
            t,
        };
        // SAFETY: the work's chunks exist, and this lane has its nodes for itself.
        let totals = unsafe {
            if arguments.is_weighted() {
                Self::sum::<true>(arguments, &place, memory.nodes)
            } else {
                Self::sum::<false>(arguments, &place, memory.nodes)
            }
        };
        if work.chunks > 0 && t < TILES as u32 {
            unroll!(HALF in [0 1] {
                let slot = first + t * matrix::ROWS + HALF as u32 * 8 + g;
                // SAFETY: part and slot exist; no other thread stores this number.
                unsafe { memory.totals.store((part * tile + slot) as usize, totals[HALF]) };
            });
        }
        block::barrier();
        let mut mine = thread::index();
        while mine < tile {
            let slot = work.slot + mine;
            if slot < arguments.slots {
                // SAFETY: the parts that there are have stored theirs before the barrier; group and slot
                // exist.
                unsafe {
                    let total = pile::combined::<T, { WARPS as usize }>(
                        memory.totals,
                        tile,
                        mine,
                        work.parts,
                    );
                    let place = work.group as usize * arguments.slots as usize + slot as usize;
                    arguments.partials.store(place, total);
                }
            }
            mine += THREADS;
        }
    }
}
