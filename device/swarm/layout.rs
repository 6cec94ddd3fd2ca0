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
//! Where four threads share a particle it is *in sixteens*: of each sixteen dimensions those of a particle lie side by
//! side. So what four threads beside each other load makes a piece of its own, and what they store whole sectors of
//! memory. The dimensions that make no sixteen lie as in quads, and sixteen of a tile take the same place in any order.
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

/// Numbers that lie side by side in quads: as many as 16 bytes hold.
#[inline(always)]
pub const fn quad_width<T>() -> usize {
    16 / size_of::<T>()
}

/// In which order the numbers of a tile lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Order {
    /// Dimension after dimension.
    Rows = 0,
    /// In quads.
    Quads = 1,
    /// In sixteens.
    Sixteens = 2,
}

impl Order {
    /// Index of one coordinate of a slot.
    #[inline(always)]
    pub const fn index<T>(self, slot: usize, dimension: usize, dims: usize) -> usize {
        match self {
            Self::Sixteens if dimension < dims - dims % 16 => {
                let within = dimension % 16;
                Sixteens::first_of(slot, dims) + (dimension - within) * TILE + within
            }
            Self::Quads | Self::Sixteens if dimension < dims - dims % 4 => {
                let within = dimension % quad_width::<T>();
                Quads::first_of::<T>(slot, dims) + (dimension - within) * TILE + within
            }
            _ => index(slot, dimension, dims),
        }
    }
}

/// An [`Order`] that is known when a kernel is compiled, and in which four dimensions are loaded at once.
pub trait Arrangement: Copy {
    /// Which one.
    const ORDER: Order;
    /// Particles that share a word where they are marked: those of a warp.
    const MARKED: u32;
    /// How far apart two numbers of a particle's four are that 16 bytes do not hold together.
    fn apart<T>() -> usize;
    /// Index of dimension 0 of a slot.
    fn first<T>(slot: usize, dims: usize) -> usize;
    /// How far behind dimension 0 a dimension is, which is a multiple of 4.
    fn ahead(dimension: usize) -> usize;
}

/// [`Order::Quads`].
#[derive(Clone, Copy, Debug)]
pub struct Quads;

impl Quads {
    #[inline(always)]
    const fn first_of<T>(slot: usize, dims: usize) -> usize {
        (slot / TILE) * TILE * dims + slot % TILE * quad_width::<T>()
    }
}

impl Arrangement for Quads {
    const ORDER: Order = Order::Quads;
    const MARKED: u32 = 32;
    #[inline(always)]
    fn apart<T>() -> usize {
        TILE * quad_width::<T>()
    }
    #[inline(always)]
    fn first<T>(slot: usize, dims: usize) -> usize {
        Self::first_of::<T>(slot, dims)
    }
    #[inline(always)]
    fn ahead(dimension: usize) -> usize {
        dimension * TILE
    }
}

/// [`Order::Sixteens`], of the dimensions that make them.
#[derive(Clone, Copy, Debug)]
pub struct Sixteens;

impl Sixteens {
    #[inline(always)]
    const fn first_of(slot: usize, dims: usize) -> usize {
        (slot / TILE) * TILE * dims + slot % TILE * 16
    }
}

impl Arrangement for Sixteens {
    const ORDER: Order = Order::Sixteens;
    const MARKED: u32 = 8;
    #[inline(always)]
    fn apart<T>() -> usize {
        quad_width::<T>()
    }
    #[inline(always)]
    fn first<T>(slot: usize, dims: usize) -> usize {
        Self::first_of(slot, dims)
    }
    #[inline(always)]
    fn ahead(dimension: usize) -> usize {
        let within = dimension % 16;
        (dimension - within) * TILE + within
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
    fn all_orders_have_the_same_numbers() {
        fn check<T>(order: Order, together: usize, dims: usize) {
            let mut taken = std::vec![false; elements(130, dims)];
            for slot in 0..stride(130) {
                for dimension in 0..dims {
                    let place = order.index::<T>(slot, dimension, dims);
                    assert!(!std::mem::replace(&mut taken[place], true), "{slot} {dimension}");
                    // So many dimensions of a tile stay where they are as a whole.
                    let piece = |place| (place - slot / TILE * TILE * dims) / TILE / together;
                    assert_eq!(piece(place), piece(index(slot, dimension, dims)));
                }
            }
            assert!(taken.iter().all(|&taken| taken));
        }
        for dims in (1..=13).chain([16, 31, 32, 33, 39, 100]) {
            for (order, together) in [(Order::Rows, 1), (Order::Quads, 4), (Order::Sixteens, 16)] {
                check::<f32>(order, together, dims);
                check::<f64>(order, together, dims);
            }
        }
        assert_eq!(Order::Quads.index::<f32>(65, 6, 10), 640 + 256 + 4 + 2);
        assert_eq!(Order::Quads.index::<f64>(65, 6, 10), 640 + 384 + 2);
        assert_eq!(Order::Quads.index::<f32>(65, 9, 10), index(65, 9, 10));
        assert_eq!(Order::Sixteens.index::<f64>(65, 22, 35), 64 * 35 + 1024 + 16 + 6);
        assert_eq!(Order::Sixteens.index::<f32>(65, 33, 35), index(65, 33, 35));
    }

    #[test]
    fn arrangements_say_the_same_as_their_orders() {
        fn check<A: Arrangement, T>(dims: usize) {
            for (slot, dimension) in (0..130).flat_map(|slot| (0..dims).map(move |d| (slot, d))) {
                let (four, within) = (dimension - dimension % 4, dimension % 4);
                let (pair, last) = (within / quad_width::<T>(), within % quad_width::<T>());
                let place =
                    A::first::<T>(slot, dims) + A::ahead(four) + pair * A::apart::<T>() + last;
                assert_eq!(place, A::ORDER.index::<T>(slot, dimension, dims));
            }
        }
        check::<Quads, f32>(12);
        check::<Quads, f64>(12);
        check::<Sixteens, f32>(48);
        check::<Sixteens, f64>(48);
    }
}
