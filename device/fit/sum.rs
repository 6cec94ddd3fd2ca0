//! The defined order of a sum over data rows.
//!
//! Rows are taken in chunks of [`CHUNK`] consecutive ones. Within a chunk terms are added from left to
//! right, the first to zero. The chunks' sums are combined as a balanced binary tree over the index of
//! the chunk: level by level 0 with 1, 2 with 3, and so on; an odd last one passes to the next level
//! unchanged. So an aligned group of 2^k chunks can be summed by whoever has its rows, and the bits
//! depend on the number of rows alone.
//!
//! Error: a squared residual is added by one fused operation, so each of the `P` terms goes through at
//! most `CHUNK` roundings in its chunk and ceil(log2(P / CHUNK)) in the tree. All terms are positive:
//! the sum's relative error is below (256 + log2(P / 256)) u to first order, u = 2^-24 or 2^-53; that
//! is 1.7e-5 for ten million rows in `f32`, where a plain sum may lose everything.
//!
//! ```
//! use flockwork_device::fit::sum::Tree;
//!
//! let mut tree = Tree::new();
//! for chunk in [1.0, 2.0, 3.0, 4.0, 5.0] {
//!     tree.push(chunk);
//! }
//! // ((1 + 2) + (3 + 4)) + 5
//! assert_eq!(tree.finish(), 15.0);
//! ```

use crate::math::Partial;

/// Rows in a chunk.
pub const CHUNK: usize = 256;

/// Levels of the tree: enough for 2^32 rows.
pub const LEVELS: usize = 25;

/// How many chunks so many rows make.
///
/// ```
/// use flockwork_device::fit::sum::chunks;
///
/// assert_eq!([0, 1, 256, 257].map(chunks), [0, 1, 1, 2]);
/// ```
#[inline(always)]
pub const fn chunks(rows: usize) -> usize {
    rows.div_ceil(CHUNK)
}

/// The sums of consecutive chunks, combined as they come.
///
/// ```
/// use flockwork_device::fit::sum::Tree;
///
/// // Two aligned groups of four chunks, summed apart: the same bits as all eight at once.
/// let chunk = |index: u32| 1.0 / f64::from(index + 1);
/// let group = |first| {
///     let mut tree = Tree::new();
///     (first..first + 4).for_each(|index| tree.push(chunk(index)));
///     tree.finish()
/// };
/// let mut all = Tree::new();
/// (0..8).for_each(|index| all.push(chunk(index)));
/// assert_eq!(all.finish(), group(0) + group(4));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Tree<P> {
    chunks: u32,
    /// `nodes[k]` holds 2^k chunks if bit k of `chunks` is set.
    nodes: [P; LEVELS],
}

impl<P: Partial> Default for Tree<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Partial> Tree<P> {
    /// Without any chunk.
    ///
    /// ```
    /// assert_eq!(flockwork_device::fit::sum::Tree::<f32>::new().finish(), 0.0);
    /// ```
    #[inline(always)]
    pub fn new() -> Self {
        Self { chunks: 0, nodes: [P::none(); LEVELS] }
    }

    /// The next chunk's sum.
    #[inline(always)]
    pub fn push(&mut self, chunk: P) {
        let mut carry = chunk;
        let mut level = 0;
        while self.chunks >> level & 1 == 1 {
            carry = self.nodes[level].combine(carry);
            level += 1;
        }
        self.nodes[level] = carry;
        self.chunks += 1;
    }

    /// All chunks combined; [`Partial::none`] if there were none.
    #[inline(always)]
    pub fn finish(self) -> P {
        let mut result = P::none();
        let mut empty = true;
        for level in 0..LEVELS {
            if self.chunks >> level & 1 == 1 {
                result = if empty { self.nodes[level] } else { self.nodes[level].combine(result) };
                empty = false;
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use std::{vec, vec::Vec};

    use super::*;

    /// The order written down plainly: level by level.
    fn oracle(chunks: &[f32]) -> f32 {
        let mut level = chunks.to_vec();
        while level.len() > 1 {
            level = level
                .chunks(2)
                .map(|pair| pair.iter().copied().reduce(|a, b| a + b).unwrap_or(0.0))
                .collect();
        }
        level.first().copied().unwrap_or(0.0)
    }

    #[test]
    fn follows_the_defined_order_for_every_count() {
        let values: Vec<f32> = (0..3000_u32)
            .map(|i| 1.0 / (i.wrapping_mul(2_654_435_761) % 1009 + 1) as f32)
            .collect();
        for n in (0..300).chain([511, 512, 513, 1000, 1024, 2047, 3000]) {
            let mut tree = Tree::new();
            values[..n].iter().for_each(|&v| tree.push(v));
            assert_eq!(tree.finish().to_bits(), oracle(&values[..n]).to_bits(), "{n} chunks");
        }
    }

    #[test]
    fn room_for_as_many_rows_as_an_index_has() {
        assert!(chunks(u32::MAX as usize) < 1 << LEVELS);
        assert_eq!(vec![0; chunks(CHUNK * 3 + 1)].len(), 4);
    }
}
