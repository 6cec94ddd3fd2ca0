//! Products of tiles in registers: what `flockwork_device::paths::tile` specifies, as fast as the
//! processor adds.
//!
//! A product of tiles is divided into blocks of several rows by several vectors, whose running
//! minima stay in registers for all [`PIVOT`] intermediate vertices. So an addition and a minimum
//! cost little more than their two instructions: one load per row and per vector, shared by the
//! whole block.

use flockwork_device::paths::PIVOT;

use super::super::Weight;
#[cfg(target_arch = "x86_64")]
use super::vector::{F32x8, F32x16, F64x4, F64x8, I32x8, I32x16, U16x16, U16x32};
use super::vector::{Plain, Vector};
use crate::{backend::Simd, paths::OnKernels};

/// Entries of a tile.
pub const TILE: usize = PIVOT * PIVOT;

/// Where to write vias, and what to find them from.
pub struct Track<'a, W> {
    /// The vias of the tile.
    pub via: &'a mut [u32],
    /// The right factor, transposed.
    pub right_across: &'a [W],
    /// The index of the first pivot among all vertices.
    pub first: u32,
}

impl<W: Weight> Track<'_, W> {
    /// Updates the vias of those entries of a vector that differ from `before`. `place` is the
    /// index of the first one in the tile.
    ///
    /// # Safety
    /// As for [`Vector`]; both pointers are to tiles, and the whole vector is in the first.
    #[inline(always)]
    unsafe fn renew<V: Vector<Weight = W>>(
        &mut self,
        place: usize,
        before: V,
        tile: *const W,
        left: *const W,
    ) {
        let (row, column) = (place / PIVOT, place % PIVOT);
        let via = &mut self.via[place..][..V::LANES];
        // SAFETY: the caller ensures that the instructions exist; row and column are below PIVOT.
        unsafe {
            let (entry, left) = (tile.add(place), left.add(row * PIVOT));
            let mut changed = !V::load(entry).same(before) & (u64::MAX >> (64 - V::LANES));
            while changed != 0 {
                let lane = changed.trailing_zeros() as usize;
                changed &= changed - 1;
                let across = &self.right_across[(column + lane) * PIVOT..][..PIVOT];
                let k = attaining::<V>(entry.add(lane).read(), left, across.as_ptr());
                via[lane] = self.first + k;
            }
        }
    }
}

/// A weight that CPUs and GPUs have kernels for.
pub trait Kernels: OnKernels {
    /// Step 1, with vias if a slice is given; `first` is the index of the first pivot.
    fn close(simd: Simd, tile: &mut [Self], via: Option<&mut [u32]>, first: u32);

    /// Steps 2 and 3: `tile` becomes the minimum of itself and the min-plus product of two tiles.
    fn relax(
        simd: Simd,
        tile: &mut [Self],
        left: &[Self],
        right: &[Self],
        track: Option<Track<'_, Self>>,
    );

    /// Measures the ceiling: additions and minima in registers, a block of them in each of
    /// `rounds`. `seed` has 128 weights. Returns the number of sums and a value that depends on all
    /// of them.
    fn ceiling(simd: Simd, rounds: u32, seed: &[Self]) -> (u64, Self);
}

/// # Safety
/// As for [`Vector`].
#[inline(always)]
unsafe fn close<V: Vector, const VECTORS: usize>(
    tile: &mut [V::Weight],
    via: Option<&mut [u32]>,
    first: u32,
) {
    const { assert!(VECTORS * V::LANES == PIVOT) };
    if let Some(via) = via {
        return flockwork_device::paths::tile::close_via(tile, via, first);
    }
    let tile = tile[..TILE].as_mut_ptr();
    // SAFETY: the caller ensures that the instructions exist. `tile` has PIVOT * PIVOT weights, row
    // and k are below PIVOT, and the vectors of a row are its PIVOT weights.
    unsafe {
        for k in 0..PIVOT {
            let mut through = [V::splat(V::Weight::ZERO); VECTORS];
            for (v, through) in through.iter_mut().enumerate() {
                *through = V::load(tile.add(k * PIVOT + v * V::LANES));
            }
            for row in 0..PIVOT {
                let row = tile.add(row * PIVOT);
                let to = V::splat(row.add(k).read());
                for (v, &from) in through.iter().enumerate() {
                    let entry = row.add(v * V::LANES);
                    to.plus(from).least(V::load(entry)).store(entry);
                }
            }
        }
    }
}

/// # Safety
/// As for [`Vector`].
#[inline(always)]
unsafe fn relax<V: Vector, const ROWS: usize, const VECTORS: usize>(
    tile: &mut [V::Weight],
    left: &[V::Weight],
    right: &[V::Weight],
    mut track: Option<Track<'_, V::Weight>>,
) {
    const { assert!(PIVOT.is_multiple_of(ROWS) && PIVOT.is_multiple_of(VECTORS * V::LANES)) };
    let tile = tile[..TILE].as_mut_ptr();
    let (left, right) = (left[..TILE].as_ptr(), right[..TILE].as_ptr());
    // If a weight is broadcast from a wide form, that form is prepared for several rows at a time.
    let is_wide = const { size_of::<V::Wide>() != size_of::<V::Weight>() };
    let mut wide = [[V::Wide::default(); PIVOT]; ROWS];
    for i in (0..PIVOT).step_by(ROWS) {
        if is_wide {
            for (r, wide) in wide.iter_mut().enumerate() {
                for (k, wide) in wide.iter_mut().enumerate() {
                    // SAFETY: i + r and k are below PIVOT.
                    *wide = V::widen(unsafe { left.add((i + r) * PIVOT + k).read() });
                }
            }
        }
        for j in (0..PIVOT).step_by(VECTORS * V::LANES) {
            // SAFETY: the caller ensures that the instructions exist. All three have PIVOT * PIVOT
            // weights; k, i + r and the columns of a block from j are below PIVOT, as the sides of
            // a block divide it.
            unsafe {
                let at = |r: usize, v: usize| (i + r) * PIVOT + j + v * V::LANES;
                let mut least = [[V::splat(V::Weight::ZERO); VECTORS]; ROWS];
                for (r, least) in least.iter_mut().enumerate() {
                    for (v, least) in least.iter_mut().enumerate() {
                        *least = V::load(tile.add(at(r, v)));
                    }
                }
                for k in 0..PIVOT {
                    let mut from = [V::splat(V::Weight::ZERO); VECTORS];
                    for (v, from) in from.iter_mut().enumerate() {
                        *from = V::load(right.add(k * PIVOT + j + v * V::LANES));
                    }
                    for (r, (least, wide)) in least.iter_mut().zip(&wide).enumerate() {
                        let to = if is_wide {
                            V::splat_wide(wide[k])
                        } else {
                            V::splat(left.add((i + r) * PIVOT + k).read())
                        };
                        for (least, from) in least.iter_mut().zip(from) {
                            *least = to.plus(from).least(*least);
                        }
                    }
                }
                for (r, least) in least.iter().enumerate() {
                    for (v, least) in least.iter().enumerate() {
                        let entry = tile.add(at(r, v));
                        if let Some(track) = &mut track {
                            let before = V::load(entry);
                            least.store(entry);
                            let place = (i + r) * PIVOT + j + v * V::LANES;
                            track.renew(place, before, tile, left);
                        } else {
                            least.store(entry);
                        }
                    }
                }
            }
        }
    }
}

/// The lowest k for which `left[k] + right[k]` is `entry`; it exists.
///
/// # Safety
/// As for [`Vector`]; both pointers are to [`PIVOT`] weights.
#[inline(always)]
unsafe fn attaining<V: Vector>(
    entry: V::Weight,
    left: *const V::Weight,
    right: *const V::Weight,
) -> u32 {
    // Compare all without a branch: the position of the first match cannot be predicted.
    let mut all = 0;
    for k in (0..PIVOT).step_by(V::LANES) {
        // SAFETY: the caller ensures the instructions and the memory; the lanes divide PIVOT.
        let same =
            unsafe { V::load(left.add(k)).plus(V::load(right.add(k))).same(V::splat(entry)) };
        all |= same << k;
    }
    debug_assert!(all != 0, "the entry has just been computed from these");
    all.trailing_zeros()
}

/// # Safety
/// As for [`Vector`].
#[inline(always)]
unsafe fn ceiling<V: Vector, const ROWS: usize, const VECTORS: usize>(
    rounds: u32,
    seed: &[V::Weight],
) -> (u64, V::Weight) {
    let seed = seed[..2 * PIVOT].as_ptr();
    let mut lanes = [V::Weight::ZERO; PIVOT];
    let mut wide = [V::Wide::default(); 32];
    // SAFETY: the caller ensures that the instructions exist. `seed` has 128 weights, and reads end
    // at most one vector after the 32nd; a vector has at most PIVOT lanes.
    unsafe {
        for (nth, wide) in wide.iter_mut().enumerate() {
            *wide = V::widen(seed.add(nth).read());
        }
        let mut least = [[V::load(seed); VECTORS]; ROWS];
        let mut from = [V::load(seed); VECTORS];
        for (v, from) in from.iter_mut().enumerate() {
            *from = V::load(seed.add(v));
        }
        for round in 0..rounds as usize {
            // The shape of a block of a product, with a constant right factor.
            for (r, least) in least.iter_mut().enumerate() {
                let to = V::splat_wide(wide[(round + r) % 32]);
                for (least, from) in least.iter_mut().zip(from) {
                    *least = to.plus(from).least(*least);
                }
            }
        }
        let all = least.iter().flatten().fold(V::load(seed), |all, &one| all.least(one));
        all.store(lanes.as_mut_ptr());
    }
    let sums = u64::from(rounds) * (ROWS * VECTORS * V::LANES) as u64;
    (sums, lanes[..V::LANES].iter().fold(lanes[0], |all, &one| one.least(all)))
}

/// Kernels from three kinds of vectors: what every processor has, AVX2, AVX-512, each with how many
/// rows and vectors make a block, and vectors in a row of a tile.
macro_rules! kernels {
    ($weight:ident:
        $plain:ty [$plain_rows:literal, $plain_vectors:literal, $plain_row:literal],
        $avx2:ident [$avx2_rows:literal, $avx2_vectors:literal, $avx2_row:literal],
        $avx512:ident [$avx512_rows:literal, $avx512_vectors:literal, $avx512_row:literal]
    ) => {
        impl Kernels for $weight {
            fn close(simd: Simd, tile: &mut [Self], via: Option<&mut [u32]>, first: u32) {
                kernels!(simd, close(tile: &mut [$weight], via: Option<&mut [u32]>, first: u32),
                    $plain [$plain_row], $avx2 [$avx2_row], $avx512 [$avx512_row])
            }

            fn relax(
                simd: Simd,
                tile: &mut [Self],
                left: &[Self],
                right: &[Self],
                track: Option<Track<'_, Self>>,
            ) {
                kernels!(simd, relax(tile: &mut [$weight], left: &[$weight], right: &[$weight],
                    track: Option<Track<'_, $weight>>), $plain [$plain_rows, $plain_vectors],
                    $avx2 [$avx2_rows, $avx2_vectors], $avx512 [$avx512_rows, $avx512_vectors])
            }

            fn ceiling(simd: Simd, rounds: u32, seed: &[Self]) -> (u64, Self) {
                kernels!(simd, ceiling(rounds: u32, seed: &[$weight]) -> (u64, $weight),
                    $plain [$plain_rows, $plain_vectors], $avx2 [$avx2_rows, $avx2_vectors],
                    $avx512 [$avx512_rows, $avx512_vectors])
            }
        }
    };
    ($simd:ident, $inner:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?,
        $plain:ty [$($plain_by:literal),*], $avx2:ident [$($avx2_by:literal),*],
        $avx512:ident [$($avx512_by:literal),*]
    ) => {{
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn avx2($($argument: $type),*) $(-> $result)? {
            // SAFETY: this function is compiled for AVX2.
            unsafe { $inner::<$avx2, $($avx2_by),*>($($argument),*) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
        fn avx512($($argument: $type),*) $(-> $result)? {
            // SAFETY: this function is compiled for AVX-512.
            unsafe { $inner::<$avx512, $($avx512_by),*>($($argument),*) }
        }
        match $simd {
            // SAFETY: a `Cpu` has a width only if the processor has the instructions.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => unsafe { avx512($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => unsafe { avx2($($argument),*) },
            // SAFETY: arrays need no particular instructions.
            _ => unsafe { $inner::<$plain, $($plain_by),*>($($argument),*) },
        }
    }};
}

kernels!(f32: Plain<f32, 4> [4, 2, 16], F32x8 [4, 2, 8], F32x16 [4, 4, 4]);
kernels!(f64: Plain<f64, 2> [4, 2, 32], F64x4 [4, 2, 16], F64x8 [4, 4, 8]);
kernels!(i32: Plain<i32, 4> [4, 2, 16], I32x8 [4, 2, 8], I32x16 [4, 4, 4]);
kernels!(u16: Plain<u16, 8> [4, 2, 8], U16x16 [4, 2, 4], U16x32 [8, 2, 2]);
