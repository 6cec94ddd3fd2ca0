//! Several weights in one register.
//!
//! The inner loop of min-plus products is two instructions long, and whether a compiler finds them
//! in a loop over arrays is a matter of luck (a factor of twenty was seen between block shapes). So
//! they are named here. All other code is generic over [`Vector`].

use super::super::Weight;

/// Several weights side by side.
///
/// # Safety
/// The functions may be called only where the processor has the instructions: in a function
/// compiled for them and called after a check of the processor. [`Plain`] has no requirements.
pub unsafe trait Vector: Copy {
    /// The type of one lane.
    type Weight: Weight;
    /// The number of lanes.
    const LANES: usize;
    /// The form in which a weight is broadcast to all lanes: at least 32 bits, since 16 take
    /// another instruction.
    type Wide: Copy + Default;

    /// Loads a vector from readable memory, aligned or not.
    unsafe fn load(from: *const Self::Weight) -> Self;
    /// Stores a vector to writable memory, aligned or not.
    unsafe fn store(self, to: *mut Self::Weight);
    fn widen(one: Self::Weight) -> Self::Wide;
    /// Broadcasts a weight to all lanes.
    unsafe fn splat_wide(one: Self::Wide) -> Self;
    /// Broadcasts a weight to all lanes.
    #[inline(always)]
    unsafe fn splat(one: Self::Weight) -> Self {
        // SAFETY: the caller ensures that the instructions exist.
        unsafe { Self::splat_wide(Self::widen(one)) }
    }
    /// [`Weight::plus`] in every lane.
    unsafe fn plus(self, other: Self) -> Self;
    /// [`Weight::least`] in every lane.
    unsafe fn least(self, other: Self) -> Self;
    /// Bit l tells whether lane l of both is the same number.
    unsafe fn same(self, other: Self) -> u64;
}

/// An array, for any processor; the compiler may vectorise it.
#[derive(Clone, Copy)]
pub struct Plain<W, const N: usize>([W; N]);

// SAFETY: it needs no particular instructions.
unsafe impl<W: Weight, const N: usize> Vector for Plain<W, N> {
    type Weight = W;
    const LANES: usize = N;
    type Wide = W;

    #[inline(always)]
    unsafe fn load(from: *const W) -> Self {
        // SAFETY: the caller ensures that the memory is readable.
        unsafe { Self(from.cast::<[W; N]>().read_unaligned()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut W) {
        // SAFETY: the caller ensures that the memory is writable.
        unsafe { to.cast::<[W; N]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    fn widen(one: W) -> W {
        one
    }
    #[inline(always)]
    unsafe fn splat_wide(one: W) -> Self {
        Self([one; N])
    }
    #[inline(always)]
    unsafe fn plus(mut self, other: Self) -> Self {
        for (one, other) in self.0.iter_mut().zip(other.0) {
            *one = one.plus(other);
        }
        self
    }
    #[inline(always)]
    unsafe fn least(mut self, other: Self) -> Self {
        for (one, other) in self.0.iter_mut().zip(other.0) {
            *one = one.least(other);
        }
        self
    }
    #[inline(always)]
    unsafe fn same(self, other: Self) -> u64 {
        let lanes = self.0.iter().zip(other.0).enumerate();
        lanes.fold(0, |bits, (lane, (one, other))| bits | u64::from(*one == other) << lane)
    }
}

#[cfg(target_arch = "x86_64")]
pub use x86::*;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::{arch::x86_64::*, convert::identity};

    use super::Vector;

    macro_rules! vector {
        (
            $(#[$doc:meta])*
            $name:ident: $register:ident of $weight:ident as $wide:ident by $widen:path,
            $splat:ident, $plus:ident, $least:ident, |$one:ident, $other:ident| $same:expr
        ) => {
            $(#[$doc])*
            #[derive(Clone, Copy)]
            pub struct $name($register);

            // SAFETY: the trait's condition covers every intrinsic called here.
            unsafe impl Vector for $name {
                type Weight = $weight;
                const LANES: usize = size_of::<$register>() / size_of::<$weight>();
                type Wide = $wide;

                #[inline(always)]
                unsafe fn load(from: *const $weight) -> Self {
                    // SAFETY: the caller ensures that the memory is readable; any bits are valid in
                    // a register.
                    unsafe { Self(from.cast::<$register>().read_unaligned()) }
                }
                #[inline(always)]
                unsafe fn store(self, to: *mut $weight) {
                    // SAFETY: the caller ensures that the memory is writable; any bits are valid
                    // weights.
                    unsafe { to.cast::<$register>().write_unaligned(self.0) }
                }
                #[inline(always)]
                fn widen(one: $weight) -> $wide {
                    $widen(one)
                }
                #[inline(always)]
                unsafe fn splat_wide(one: $wide) -> Self {
                    // SAFETY: the caller ensures that the instructions exist.
                    unsafe { Self($splat(one)) }
                }
                #[inline(always)]
                unsafe fn plus(self, other: Self) -> Self {
                    // SAFETY: the caller ensures that the instructions exist.
                    unsafe { Self($plus(self.0, other.0)) }
                }
                #[inline(always)]
                unsafe fn least(self, other: Self) -> Self {
                    // SAFETY: the caller ensures that the instructions exist.
                    unsafe { Self($least(self.0, other.0)) }
                }
                #[inline(always)]
                unsafe fn same(self, other: Self) -> u64 {
                    let ($one, $other) = (self.0, other.0);
                    // SAFETY: the caller ensures that the instructions exist.
                    unsafe { $same }
                }
            }
        };
    }

    vector!(F32x16: __m512 of f32 as f32 by identity,
        _mm512_set1_ps, _mm512_add_ps, _mm512_min_ps,
        |one, other| _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(one, other).into());
    vector!(F64x8: __m512d of f64 as f64 by identity,
        _mm512_set1_pd, _mm512_add_pd, _mm512_min_pd,
        |one, other| _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(one, other).into());
    vector!(I32x16: __m512i of i32 as i32 by identity,
        _mm512_set1_epi32, _mm512_add_epi32, _mm512_min_epi32,
        |one, other| _mm512_cmpeq_epi32_mask(one, other).into());
    vector!(U16x32: __m512i of u16 as i32 by twice,
        _mm512_set1_epi32, _mm512_add_epi16, _mm512_min_epu16,
        |one, other| _mm512_cmpeq_epi16_mask(one, other).into());
    vector!(F32x8: __m256 of f32 as f32 by identity,
        _mm256_set1_ps, _mm256_add_ps, _mm256_min_ps,
        |one, other| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_EQ_OQ>(one, other)) as u64);
    vector!(F64x4: __m256d of f64 as f64 by identity,
        _mm256_set1_pd, _mm256_add_pd, _mm256_min_pd,
        |one, other| _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_EQ_OQ>(one, other)) as u64);
    vector!(I32x8: __m256i of i32 as i32 by identity,
        _mm256_set1_epi32, _mm256_add_epi32, _mm256_min_epi32,
        |one, other| _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(one, other))) as u64);
    vector!(
    /// The comparison has a byte per lane after both 16-byte halves are packed together.
    U16x16: __m256i of u16 as i32 by twice,
        _mm256_set1_epi32, _mm256_add_epi16, _mm256_min_epu16,
    |one, other| {
        let same = _mm256_cmpeq_epi16(one, other);
        let parts = (_mm256_castsi256_si128(same), _mm256_extracti128_si256::<1>(same));
        _mm_movemask_epi8(_mm_packs_epi16(parts.0, parts.1)) as u32 as u64
    });

    /// The weight in both halves.
    #[inline(always)]
    fn twice(one: u16) -> i32 {
        (u32::from(one) * 0x1_0001) as i32
    }
}
