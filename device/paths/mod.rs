//! All-pairs shortest paths: the arithmetic of the blocked algorithm of Floyd and Warshall.
//!
//! # What the result is, to the last bit
//!
//! The matrix of distances D is n x n. It is thought to be padded to whole tiles of [`PIVOT`] x
//! [`PIVOT`] with [`Weight::UNREACHABLE`]. `D[i][j]` starts as the least weight of an edge from i to j,
//! or unreachable; `D[i][i]` as the lesser of zero and the weight of a loop at i. Zero has no sign: -0
//! never occurs. Then, for each block of [`PIVOT`] vertices in turn, the *pivots*:
//!
//! 1. The tile of the pivots by the pivots is closed by the plain triple loop, in place, with
//!    the intermediate vertex k in the outermost loop, ascending: [`tile::close`]. Call it S.
//! 2. The other tiles in its row: `D[k][j]` becomes the least of itself and all `S[k][k']` + `D[k'][j]`,
//!    and those in its column: `D[i][k]` becomes the least of itself and all `D[i][k']` + `S[k'][k]`. The
//!    D on the right is that of before this step: [`tile::relax`].
//! 3. All other tiles: `D[i][j]` becomes the least of itself and all `D[i][k]` + `D[k][j]`, with k over
//!    the pivots and the D on the right that of after step 2: [`tile::relax`] again.
//!
//! Every candidate is one rounded sum of two numbers that are defined without regard to any order, and
//! the least of some numbers does not depend on their order. So in steps 2 and 3 any
//! blocking, any number of threads and any launch shape give the same bits.
//!
//! At the end entries that count as unreachable ([`Weight::reachable`]) become
//! [`Weight::UNREACHABLE`]: see [`Weight::settled`].
//!
//! # Paths
//!
//! Beside D there may be a matrix of intermediate vertices, of `u32`: [`DIRECT`], or the *via* of the
//! entry, a vertex that a shortest path from i to j goes through. It starts as [`DIRECT`] everywhere.
//! Where step 1 finds something strictly less at some k, the via becomes k ([`tile::close_via`]).
//! Where the least after step 2 or 3 is strictly less than the entry was before that step, the via
//! becomes the lowest k of the block whose candidate is that least ([`tile::attaining`]).
//!
//! A path is found by taking the entry apart: from i to k and from k to j, and so on until every part
//! is an edge. That this ends is a matter of *when* the entries last changed. Let (i, j) have last
//! changed at time t, to `D[i][k]` + `D[k][j]` with the values of then.
//!
//! - *Sums are exact* (integers; floating-point numbers whose sums need no rounding). `D[i][j]` is the
//!   true distance; were `D[i][k]` or `D[k][j]` to become less later, `D[i][j]` would not be the least. So
//!   both had their last change before t: the times descend, and the taking apart ends.
//! - *Sums are rounded, but no weight is negative.* Rounding is monotone, so x + y is never less than x
//!   or y. If `D[i][k]` became less after t, it ended strictly less than `D[i][j]`; if not, it is at
//!   most `D[i][j]` and its last change is before t. So the pairs (distance, time) descend in the order
//!   of words in a dictionary, and the taking apart ends. The same with `D[k][j]`.
//! - *Sums are rounded and weights may be negative.* Then it need not end: a cycle of weight zero can
//!   look negative once rounded. The host counts its steps and has another way where they are too many.
//!
//! In step 2 the entries that are read may change in the very same step; this is "later" in the
//! argument. An entry with k = i or k = j is never strictly less, since `D[k][k]` is zero as long as
//! there is no negative cycle.
//!
//! The predecessor of j (the last vertex before it) is deliberately not what is kept. Copied from
//! `D[k][j]` as the plain algorithm does, it would go round in circles in the blocked one wherever a cycle
//! has weight zero: in steps 2 and 3 an entry may lead over a lower pivot than the entry that its own
//! predecessor came from.
//!
//! ```
//! use flockwork_device::paths::{DIRECT, PIVOT, Weight, tile};
//!
//! // Three vertices in a row, in a tile of its own.
//! let mut distances = vec![f32::UNREACHABLE; PIVOT * PIVOT];
//! for i in 0..PIVOT {
//!     distances[i * PIVOT + i] = 0.0;
//! }
//! (distances[1], distances[PIVOT + 2]) = (1.5, 2.0);
//! let mut via = vec![DIRECT; PIVOT * PIVOT];
//! tile::close_via(&mut distances, &mut via, 0);
//! // From vertex 0 to vertex 2 through vertex 1.
//! assert_eq!((distances[2], via[2]), (3.5, 1));
//! assert!(!distances[2 * PIVOT].reachable());
//! ```

pub mod kernels;
pub mod tile;
pub mod weight;

pub use weight::Weight;

/// Vertices in a block of pivots: part of what the result is, since it decides which sums are formed.
pub const PIVOT: usize = 64;

/// The via of an entry that is an edge, or on the diagonal, or unreachable.
pub const DIRECT: u32 = u32::MAX;
