//! Where a particle's coordinate lies in memory.
//!
//! Particles are kept in tiles of 64: a tile holds dimension 0 of its 64 particles, then dimension 1
//! of the same 64, and so on. A warp reads 128 or 256 contiguous bytes for each dimension and walks
//! through memory in order; a CPU core finds a whole tile in one piece, with particles along its
//! SIMD lanes (64, since the compiler vectorizes loops of that length well for AVX2 as for AVX-512).
//! The last tile is padded with particles that exist in memory only.
//!
//! On a GPU the usual iteration of a swarm has the same numbers of a tile in another order, *in quads*: of each
//! four dimensions those that 16 bytes hold (four `f32`, two `f64`) lie side by side, particle after particle. So a
//! load brings what took four, and memory is read in longer pieces. The dimensions that make no four lie in rows
//! as otherwise, and four dimensions of a tile take the same place in either order.
//!
//! Several swarms of equal size that are advanced together follow one another, each from a tile of
//! its own on. A particle's place among all of them is its *slot*.

/// Particles in a tile: two warps.
pub const TILE: usize = 64;

/// The most particles a swarm may have: the last block, of up to 1,024 threads, still counts its
/// threads in 32 bits.
pub const MOST_PARTICLES: u32 = u32::MAX - 1023;

/// Number of tiles for `particles` particles.
pub const fn tiles(particles: usize) -> usize {
    particles.div_ceil(TILE)
}

/// Number of slots of a swarm of `particles` particles: whole tiles.
#[inline(always)]
pub const fn stride(particles: usize) -> usize {
    tiles(particles) * TILE
}

/// Number of elements of an array that holds `dims` coordinates for each of `particles`.
pub const fn elements(particles: usize, dims: usize) -> usize {
    stride(particles) * dims
}

/// Index of dimension 0 of a slot; dimension `d` follows `d * TILE` later.
#[inline(always)]
pub const fn first(slot: usize, dims: usize) -> usize {
    (slot / TILE) * TILE * dims + slot % TILE
}

/// As [`first`] in quads.
#[inline(always)]
pub const fn first_quad<T>(slot: usize, dims: usize) -> usize {
    (slot / TILE) * TILE * dims + slot % TILE * quad_width::<T>()
}

/// Numbers that lie side by side in quads: as many as 16 bytes hold.
#[inline(always)]
pub const fn quad_width<T>() -> usize {
    16 / size_of::<T>()
}

/// As [`index`] in quads.
#[inline(always)]
pub const fn index_in_quads<T>(slot: usize, dimension: usize, dims: usize) -> usize {
    let width = quad_width::<T>();
    if dimension < dims - dims % 4 {
        let group = dimension - dimension % width;
        first_quad::<T>(slot, dims) + group * TILE + dimension % width
    } else {
        index(slot, dimension, dims)
    }
}

/// Index of one coordinate of a slot.
#[inline(always)]
pub const fn index(slot: usize, dimension: usize, dims: usize) -> usize {
    first(slot, dims) + dimension * TILE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quads_are_the_same_numbers_in_another_order() {
        fn check<T>(dims: usize) {
            let mut taken = std::vec![false; elements(130, dims)];
            for slot in 0..stride(130) {
                for dimension in 0..dims {
                    let place = index_in_quads::<T>(slot, dimension, dims);
                    assert!(!std::mem::replace(&mut taken[place], true), "{slot} {dimension}");
                    // Four dimensions of a tile stay where they are as a whole.
                    let four = |place| (place - slot / TILE * TILE * dims) / TILE / 4;
                    assert_eq!(four(place), four(index(slot, dimension, dims)));
                }
            }
            assert!(taken.iter().all(|&taken| taken));
        }
        for dims in 1..=13 {
            check::<f32>(dims);
            check::<f64>(dims);
        }
        assert_eq!(index_in_quads::<f32>(65, 6, 10), 640 + 256 + 4 + 2);
        assert_eq!(index_in_quads::<f64>(65, 6, 10), 640 + 384 + 2);
        assert_eq!(index_in_quads::<f32>(65, 9, 10), index(65, 9, 10));
    }
}
