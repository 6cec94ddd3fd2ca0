//! Two distances in a register: twice as many relaxations an instruction, on sm_90 and later.

use core::array;

use super::{COLUMNS, SUPER, Strip, THREADS, Tiled, rows, stream};
use crate::{
    gpu::{pair, shared::Shared, thread, unroll, warp},
    paths::kernels::{
        Arguments,
        cell::{Cell, U16},
    },
};

/// Quads of rows, and octets of columns, in a tile.
const ROW_QUADS: usize = 32;
const OCTETS: usize = COLUMNS as usize / 8;

/// Pivots that are in shared memory at a time: more than of single distances, which take twice as long.
const CHUNK: u32 = 16;

/// One of two buffers in shared memory.
struct Buffer {
    /// A chunk of the left panel, each distance in both halves of a word.
    lefts: Shared<[u32; 4]>,
    /// A chunk of the right panel as it is.
    rights: Shared<[u32; 2]>,
    /// The same, eight distances at a time.
    octets: Shared<[u32; 4]>,
}

#[inline(always)]
fn buffer(number: u32) -> Buffer {
    let (left, right) = (CHUNK * rows::<U16>() / 4, CHUNK * COLUMNS / 4);
    let lefts = Shared::at(number * (16 * left + 8 * right), left);
    let behind = lefts.end();
    Buffer { lefts, rights: Shared::at(behind, right), octets: Shared::at(behind, right / 2) }
}

impl Tiled for U16 {
    fn shared_bytes() -> u32 {
        buffer(1).rights.end()
    }

    const AT_ONCE: u32 = 64;

    #[inline(always)]
    fn in_registers(rounds: u32, quads: [[u32; 4]; 8]) -> [u32; 4] {
        let [mut a, mut b, right, ..] = quads;
        let mut best = [[right; 4]; 2];
        for _ in 0..rounds {
            // Nothing known of them, so all sums are formed anew.
            [a, b] = [a, b].map(|quad| quad.map(thread::opaque));
            unroll!(Q in [0 1] {
                let left = if Q == 0 { a } else { b };
                unroll!(R in [0 1 2 3] {
                    unroll!(N in [0 1 2 3] {
                        best[Q][R][N] = pair::least(pair::add(left[R], right[N]), best[Q][R][N]);
                    });
                });
            });
        }
        let mut least = a;
        unroll!(Q in [0 1] {
            unroll!(R in [0 1 2 3] {
                unroll!(N in [0 1 2 3] { least[N] = pair::least(least[N], best[Q][R][N]); });
            });
        });
        least
    }

    #[inline(always)]
    unsafe fn relax_tile(arguments: &Arguments<Self>, row: u32, column: u32) {
        let lane = warp::lane() as usize;
        let warp = (thread::index() / warp::LANES) as usize;
        let (row, column) = (row as usize, column as usize);
        // As in a tile of single distances; eight columns side by side.
        let row_quad = warp / 2 * 8 + lane / 8;
        let octet = warp % 2 * 8 + lane % 8;
        let side = arguments.side as usize / 4;
        let thread = thread::index() as usize;
        let left = Strip::<Self, { CHUNK as usize }, 2>::new(
            arguments.left,
            side,
            row * ROW_QUADS,
            thread,
        );
        let right = Strip::<Self, { CHUNK as usize }, 2>::new(
            arguments.right,
            side,
            column * 2 * OCTETS,
            thread,
        );
        let start = (row * ROW_QUADS + row_quad) * 4 * side + (column * OCTETS + octet) * 2;
        let distances = arguments.distances.skip(start);
        // SAFETY: these are distances of the tile, and this thread's own; the chunks exist.
        unsafe {
            let at = |side: usize, q: usize, r: usize| (16 * q + r) * side;
            let mut best: [[[u32; 4]; 4]; 2] = array::from_fn(|q| {
                array::from_fn(|r| {
                    let [a, b] = distances.load(at(side, q, r));
                    let [c, d] = distances.load(at(side, q, r) + 1);
                    [a, b, c, d]
                })
            });
            stream(
                SUPER / CHUNK,
                |chunk| (left.fetch(chunk), right.fetch(chunk)),
                |number, (left, right)| {
                    let Buffer { lefts, rights, .. } = buffer(number);
                    unroll!(N in [0 1] {
                        let both = U16::apart(left[N]);
                        let at = N * THREADS as usize + thread::index() as usize;
                        lefts.store(at, both);
                        rights.store(at, right[N]);
                    });
                },
                |_, number| {
                    let Buffer { lefts, octets, .. } = buffer(number);
                    for first in (0..CHUNK as usize).step_by(4) {
                        unroll!(NTH in [0 1 2 3] {
                            let k = first + NTH;
                            let right = octets.load(k * OCTETS + octet);
                            unroll!(Q in [0 1] {
                                let left = lefts.load(k * ROW_QUADS + row_quad + 4 * Q);
                                unroll!(R in [0 1 2 3] {
                                    unroll!(N in [0 1 2 3] {
                                        let sum = pair::add(left[R], right[N]);
                                        best[Q][R][N] = pair::least(sum, best[Q][R][N]);
                                    });
                                });
                            });
                        });
                    }
                },
            );
            let side = thread::opaque(side as u32) as usize;
            unroll!(Q in [0 1] {
                unroll!(R in [0 1 2 3] {
                    let [a, b, c, d] = best[Q][R];
                    distances.store(at(side, Q, R), [a, b]);
                    distances.store(at(side, Q, R) + 1, [c, d]);
                });
            });
        }
    }
}
