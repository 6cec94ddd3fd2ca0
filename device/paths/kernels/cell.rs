//! What the kernels need of a weight: how four lie in memory, and how they are relaxed.

use core::hint;

use crate::gpu::{memory::Word, shared::Shared};

/// A kind of weight, as kernels calculate with it.
///
/// Distances are loaded and stored four at a time (a *quad*), in one or two *units*: what an instruction
/// moves.
pub trait Cell: Sized + Send + Sync + 'static {
    /// A distance, in registers.
    type Scalar: Word + Send + Sync;
    /// What lies in memory.
    type Unit: Word + Send + Sync;

    /// The kind whose kernels relax the pivots and the panels, with the same bits: itself, unless only
    /// [`Outer`](super::outer::Outer) is worth kernels of its own.
    type Base: Cell<Scalar = Self::Scalar, Unit = Self::Unit>;

    /// In the names of its kernels.
    const NAME: &'static str;

    /// Units in a quad: 1 or 2.
    const UNITS: usize;

    /// Whether a thread of [`Outer`](super::outer::Outer) has eight rows of distances, or (where they
    /// are wide) four: its registers are the limit.
    const EIGHT_ROWS: bool;

    /// The quad whose unit `u` is `unit(u)`.
    fn quad(unit: impl FnMut(usize) -> Self::Unit) -> [Self::Scalar; 4];

    /// Calls `put(u, unit)` for each unit of a quad.
    fn units(quad: [Self::Scalar; 4], put: impl FnMut(usize, Self::Unit));

    /// The same shared memory, by distances: `length` of them. Not for [`U16`], which lie there in pairs.
    #[inline(always)]
    fn scalars(units: Shared<Self::Unit>, length: u32) -> Shared<Self::Scalar> {
        Shared::at(units.start(), length)
    }

    /// `left + right`.
    fn sum(left: Self::Scalar, right: Self::Scalar) -> Self::Scalar;

    /// The least of `best` and `left + right`.
    fn relax(best: Self::Scalar, left: Self::Scalar, right: Self::Scalar) -> Self::Scalar;

    /// The least of `best` and two sums.
    #[inline(always)]
    fn relax_two(
        best: Self::Scalar,
        left: [Self::Scalar; 2],
        right: [Self::Scalar; 2],
    ) -> Self::Scalar {
        Self::relax(Self::relax(best, left[0], right[0]), left[1], right[1])
    }

    /// Whether two distances differ, for distances that can be (no NaN, no -0).
    fn differ(a: Self::Scalar, b: Self::Scalar) -> bool;
}

/// f32 of any sign.
pub struct F32;

/// f32 of which none is negative: they compare as their bits, of which Hopper takes the least of three
/// in one instruction.
pub struct NonNegativeF32;

/// f64 of any sign.
pub struct F64;

/// i32, whose bits the kernels keep as u32.
pub struct I32;

/// u16, in pairs in the halves of a u32. The panels are made of single ones.
pub struct U16;

macro_rules! narrow {
    ($scalar:ty) => {
        type Scalar = $scalar;
        type Unit = [$scalar; 4];
        const UNITS: usize = 1;
        const EIGHT_ROWS: bool = true;

        #[inline(always)]
        fn quad(mut unit: impl FnMut(usize) -> Self::Unit) -> [$scalar; 4] {
            unit(0)
        }

        #[inline(always)]
        fn units(quad: [$scalar; 4], mut put: impl FnMut(usize, Self::Unit)) {
            put(0, quad);
        }

        #[inline(always)]
        fn differ(a: $scalar, b: $scalar) -> bool {
            a != b
        }
    };
}

impl Cell for F32 {
    type Base = Self;
    const NAME: &'static str = "f32";

    narrow!(f32);

    #[inline(always)]
    fn relax(best: f32, left: f32, right: f32) -> f32 {
        best.min(left + right)
    }

    #[inline(always)]
    fn sum(left: f32, right: f32) -> f32 {
        left + right
    }
}

impl Cell for NonNegativeF32 {
    type Base = F32;
    const NAME: &'static str = "nonnegative_f32";

    narrow!(f32);

    #[inline(always)]
    fn relax(best: f32, left: f32, right: f32) -> f32 {
        f32::from_bits(best.to_bits().min((left + right).to_bits()))
    }

    #[inline(always)]
    fn sum(left: f32, right: f32) -> f32 {
        left + right
    }

    #[inline(always)]
    fn relax_two(best: f32, left: [f32; 2], right: [f32; 2]) -> f32 {
        let [first, second] = [(left[0] + right[0]).to_bits(), (left[1] + right[1]).to_bits()];
        f32::from_bits(best.to_bits().min(first).min(second))
    }
}

impl Cell for I32 {
    type Base = Self;
    const NAME: &'static str = "i32";

    narrow!(u32);

    #[inline(always)]
    fn relax(best: u32, left: u32, right: u32) -> u32 {
        (left.wrapping_add(right) as i32).min(best as i32) as u32
    }

    #[inline(always)]
    fn sum(left: u32, right: u32) -> u32 {
        left.wrapping_add(right)
    }
}

impl Cell for F64 {
    type Scalar = f64;
    type Unit = [f64; 2];
    type Base = Self;
    const NAME: &'static str = "f64";
    const UNITS: usize = 2;
    const EIGHT_ROWS: bool = false;

    #[inline(always)]
    fn quad(mut unit: impl FnMut(usize) -> [f64; 2]) -> [f64; 4] {
        let ([a, b], [c, d]) = (unit(0), unit(1));
        [a, b, c, d]
    }

    #[inline(always)]
    fn units([a, b, c, d]: [f64; 4], mut put: impl FnMut(usize, [f64; 2])) {
        put(0, [a, b]);
        put(1, [c, d]);
    }

    #[inline(always)]
    fn relax(best: f64, left: f64, right: f64) -> f64 {
        let sum = left + right;
        // A comparison and a selection; `min` would also look for NaN, and `if` would branch.
        hint::select_unpredictable(sum < best, sum, best)
    }

    #[inline(always)]
    fn sum(left: f64, right: f64) -> f64 {
        left + right
    }

    #[inline(always)]
    fn differ(a: f64, b: f64) -> bool {
        a != b
    }
}

impl Cell for U16 {
    type Scalar = u32;
    type Unit = [u32; 2];
    type Base = Self;
    const NAME: &'static str = "u16";
    const UNITS: usize = 1;
    const EIGHT_ROWS: bool = true;

    #[inline(always)]
    fn quad(mut unit: impl FnMut(usize) -> [u32; 2]) -> [u32; 4] {
        let [first, second] = unit(0);
        [first & 0xffff, first >> 16, second & 0xffff, second >> 16]
    }

    #[inline(always)]
    fn units([a, b, c, d]: [u32; 4], mut put: impl FnMut(usize, [u32; 2])) {
        put(0, [b << 16 | a, d << 16 | c]);
    }

    #[inline(always)]
    fn relax(best: u32, left: u32, right: u32) -> u32 {
        (left + right).min(best)
    }

    #[inline(always)]
    fn sum(left: u32, right: u32) -> u32 {
        left + right
    }

    #[inline(always)]
    fn differ(a: u32, b: u32) -> bool {
        a != b
    }
}
