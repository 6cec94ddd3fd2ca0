//! Where a particle's coordinate lies in memory.
//!
//! Particles are kept in tiles of 64: a tile holds dimension 0 of its 64 particles, then dimension 1
//! of the same 64, and so on. A warp reads 128 or 256 contiguous bytes for each dimension and walks
//! through memory in order; a CPU core finds a whole tile in one piece, with particles along its
//! SIMD lanes (64, since the compiler vectorizes loops of that length well for AVX2 as for AVX-512).
//! The last tile is padded with particles that exist in memory only.

/// Particles in a tile: two warps.
pub const TILE: usize = 64;

/// The most particles a swarm may have: the last block, of up to 1,024 threads, still counts its
/// threads in 32 bits.
pub const MOST_PARTICLES: u32 = u32::MAX - 1023;

/// Number of tiles for `particles` particles.
pub const fn tiles(particles: usize) -> usize {
    particles.div_ceil(TILE)
}

/// Number of elements of an array that holds `dims` coordinates for each of `particles`.
pub const fn elements(particles: usize, dims: usize) -> usize {
    tiles(particles) * TILE * dims
}

/// Index of dimension 0 of a particle; dimension `d` follows `d * TILE` later.
#[inline(always)]
pub const fn first(particle: usize, dims: usize) -> usize {
    (particle / TILE) * TILE * dims + particle % TILE
}

/// Index of one coordinate of a particle.
#[inline(always)]
pub const fn index(particle: usize, dimension: usize, dims: usize) -> usize {
    first(particle, dims) + dimension * TILE
}
