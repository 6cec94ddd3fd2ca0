//! Where a particle's coordinate lies in memory.
//!
//! Particles are kept in tiles of 64: a tile holds dimension 0 of its 64 particles, then dimension 1
//! of the same 64, and so on. A warp reads 128 or 256 contiguous bytes for each dimension and walks
//! through memory in order; a CPU core finds a whole tile in one piece, with particles along its
//! SIMD lanes (64, since the compiler vectorizes loops of that length well for AVX2 as for AVX-512).
//! The last tile is padded with particles that exist in memory only.
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

/// Index of one coordinate of a slot.
#[inline(always)]
pub const fn index(slot: usize, dimension: usize, dims: usize) -> usize {
    first(slot, dims) + dimension * TILE
}
