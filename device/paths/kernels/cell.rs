//! What the kernels need of a weight: how four lie in memory, and how they are relaxed.

use core::hint;

use crate::{
    gpu::{
        least,
        memory::Word,
        pair,
        shared::Shared,
        warp::{self, Shuffle},
    },
    kernel::Requires,
};

/// A kind of weight, as kernels calculate with it.
///
/// Distances are loaded and stored four at a time (a *quad*), in one or two *units*: what an instruction
/// moves.
pub trait Cell: Sized + Send + Sync + 'static {
    /// A distance, in registers.
    type Scalar: Word + Shuffle + Send + Sync;
    /// Four distances in registers, where they are relaxed as a row.
    type Quad: Copy;
    /// What lies in memory.
    type Unit: Word + Send + Sync;

    /// How distances lie in shared memory that are added to whole rows: each as instructions take it.
    type Wide: Cell<Scalar = Self::Scalar>;

    /// In the names of its kernels.
    const NAME: &'static str;

    /// What the instructions of its kernels need.
    const REQUIRES: Option<Requires> = None;

    /// Units in a quad: 1 or 2.
    const UNITS: usize;

    /// Whether a thread of [`Outer`](super::outer::Outer) has eight rows of distances, or (where they
    /// are wide) four: its registers are the limit.
    const EIGHT_ROWS: bool;

    /// The quad whose unit `u` is `unit(u)`.
    fn quad(unit: impl FnMut(usize) -> Self::Unit) -> [Self::Scalar; 4];

    /// Calls `put(u, unit)` for each unit of a quad.
    fn units(quad: [Self::Scalar; 4], put: impl FnMut(usize, Self::Unit));

    /// The quad whose unit `u` is `unit(u)`, as a row.
    fn row(unit: impl FnMut(usize) -> Self::Unit) -> Self::Quad;

    /// Calls `put(u, unit)` for each unit of a row.
    fn put(row: Self::Quad, put: impl FnMut(usize, Self::Unit));

    /// The four distances of a row.
    fn apart(row: Self::Quad) -> [Self::Scalar; 4];

    /// The row of four distances.
    fn together(distances: [Self::Scalar; 4]) -> Self::Quad;

    /// The distances 2 `HALF` and 2 `HALF` + 1 of the row that a lane of the warp passed. `lane` is below 32.
    #[inline(always)]
    fn pair_of_lane<const HALF: usize>(row: Self::Quad, lane: u32) -> [Self::Scalar; 2] {
        let row = Self::apart(row);
        [row[2 * HALF], row[2 * HALF + 1]].map(|distance| warp::shuffle(distance, lane))
    }

    /// Rows become columns.
    #[inline(always)]
    fn transposed(rows: [Self::Quad; 4]) -> [Self::Quad; 4] {
        let [a, b, c, d] = rows.map(Self::apart);
        [0, 1, 2, 3].map(|n| Self::together([a[n], b[n], c[n], d[n]]))
    }

    /// The least of each of `best` and `left` plus `right`.
    fn relax_row(best: Self::Quad, left: Self::Scalar, right: Self::Quad) -> Self::Quad;

    /// The least of each of `best` and two sums.
    fn relax_row_two(
        best: Self::Quad,
        left: [Self::Scalar; 2],
        right: [Self::Quad; 2],
    ) -> Self::Quad;

    /// The same shared memory, by distances: `length` of them. Not for [`U16`], which lie there in pairs.
    #[inline(always)]
    fn scalars(units: Shared<Self::Unit>, length: u32) -> Shared<Self::Scalar> {
        Shared::at(units.start(), length)
    }

    /// Number `index` of the distances in shared memory.
    ///
    /// # Safety
    /// It exists and has been stored.
    #[inline(always)]
    unsafe fn one(units: Shared<Self::Unit>, index: usize) -> Self::Scalar {
        let all = Self::scalars(units, (index + 1) as u32);
        // SAFETY: as the caller promises.
        unsafe { all.load(index) }
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

    /// A word whose highest bit says whether `after` is less than `before`, if it is not greater.
    #[inline(always)]
    fn became_less(after: Self::Scalar, before: Self::Scalar) -> u32 {
        u32::from(Self::differ(after, before)) << 31
    }
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

/// u16, in pairs in the halves of a u32; a single one is in both.
pub struct U16;

/// Where a row is four single distances.
macro_rules! singles {
    ($scalar:ty) => {
        type Quad = [$scalar; 4];
        type Wide = Self;

        #[inline(always)]
        fn row(unit: impl FnMut(usize) -> Self::Unit) -> [$scalar; 4] {
            Self::quad(unit)
        }

        #[inline(always)]
        fn put(row: [$scalar; 4], put: impl FnMut(usize, Self::Unit)) {
            Self::units(row, put);
        }

        #[inline(always)]
        fn apart(row: [$scalar; 4]) -> [$scalar; 4] {
            row
        }

        #[inline(always)]
        fn together(distances: [$scalar; 4]) -> [$scalar; 4] {
            distances
        }

        #[inline(always)]
        fn relax_row(best: [$scalar; 4], left: $scalar, right: [$scalar; 4]) -> [$scalar; 4] {
            [0, 1, 2, 3].map(|n| Self::relax(best[n], left, right[n]))
        }

        #[inline(always)]
        fn relax_row_two(
            best: [$scalar; 4],
            left: [$scalar; 2],
            right: [[$scalar; 4]; 2],
        ) -> [$scalar; 4] {
            [0, 1, 2, 3].map(|n| Self::relax_two(best[n], left, [right[0][n], right[1][n]]))
        }
    };
}

macro_rules! narrow {
    ($scalar:ty) => {
        type Scalar = $scalar;
        type Unit = [$scalar; 4];
        const UNITS: usize = 1;
        const EIGHT_ROWS: bool = true;

        singles!($scalar);

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
    const NAME: &'static str = "f32";

    narrow!(f32);

    #[inline(always)]
    fn relax(best: f32, left: f32, right: f32) -> f32 {
        least::float(best, left + right)
    }

    #[inline(always)]
    fn sum(left: f32, right: f32) -> f32 {
        left + right
    }
}

impl Cell for NonNegativeF32 {
    const NAME: &'static str = "nonnegative_f32";

    narrow!(f32);

    #[inline(always)]
    fn relax(best: f32, left: f32, right: f32) -> f32 {
        f32::from_bits(least::unsigned(best.to_bits(), (left + right).to_bits()))
    }

    #[inline(always)]
    fn sum(left: f32, right: f32) -> f32 {
        left + right
    }

    #[inline(always)]
    fn relax_two(best: f32, left: [f32; 2], right: [f32; 2]) -> f32 {
        let [first, second] = [(left[0] + right[0]).to_bits(), (left[1] + right[1]).to_bits()];
        f32::from_bits(least::unsigned(least::unsigned(best.to_bits(), first), second))
    }

    #[inline(always)]
    fn became_less(after: f32, before: f32) -> u32 {
        after.to_bits().wrapping_sub(before.to_bits())
    }
}

impl Cell for I32 {
    const NAME: &'static str = "i32";

    narrow!(u32);

    #[inline(always)]
    fn relax(best: u32, left: u32, right: u32) -> u32 {
        least::signed(left.wrapping_add(right) as i32, best as i32) as u32
    }

    #[inline(always)]
    fn sum(left: u32, right: u32) -> u32 {
        left.wrapping_add(right)
    }

    #[inline(always)]
    fn became_less(after: u32, before: u32) -> u32 {
        // Distances are less than 2^30 in magnitude.
        after.wrapping_sub(before)
    }
}

impl Cell for F64 {
    type Scalar = f64;
    type Unit = [f64; 2];
    const NAME: &'static str = "f64";
    const UNITS: usize = 2;
    const EIGHT_ROWS: bool = false;

    singles!(f64);

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
    type Quad = [u32; 2];
    type Unit = [u32; 2];
    type Wide = I32;
    const NAME: &'static str = "u16";
    // Two sums, and two minima, are one instruction.
    const REQUIRES: Option<Requires> = Some(Requires::SM_90);
    const UNITS: usize = 1;
    const EIGHT_ROWS: bool = true;

    #[inline(always)]
    fn quad(unit: impl FnMut(usize) -> [u32; 2]) -> [u32; 4] {
        Self::apart(Self::row(unit))
    }

    #[inline(always)]
    fn units(quad: [u32; 4], put: impl FnMut(usize, [u32; 2])) {
        Self::put(Self::together(quad), put);
    }

    #[inline(always)]
    fn row(mut unit: impl FnMut(usize) -> [u32; 2]) -> [u32; 2] {
        unit(0)
    }

    #[inline(always)]
    fn put(row: [u32; 2], mut put: impl FnMut(usize, [u32; 2])) {
        put(0, row);
    }

    #[inline(always)]
    fn apart([first, second]: [u32; 2]) -> [u32; 4] {
        [pair::low(first), pair::high(first), pair::low(second), pair::high(second)]
    }

    #[inline(always)]
    fn pair_of_lane<const HALF: usize>(row: [u32; 2], lane: u32) -> [u32; 2] {
        let both = warp::shuffle(row[HALF], lane);
        [pair::low(both), pair::high(both)]
    }

    #[inline(always)]
    fn together([a, b, c, d]: [u32; 4]) -> [u32; 2] {
        [pair::of(a, b), pair::of(c, d)]
    }

    #[inline(always)]
    fn relax_row(best: [u32; 2], left: u32, right: [u32; 2]) -> [u32; 2] {
        [0, 1].map(|n| Self::relax(best[n], left, right[n]))
    }

    #[inline(always)]
    fn relax_row_two(best: [u32; 2], left: [u32; 2], right: [[u32; 2]; 2]) -> [u32; 2] {
        Self::relax_row(Self::relax_row(best, left[0], right[0]), left[1], right[1])
    }

    #[inline(always)]
    unsafe fn one(units: Shared<[u32; 2]>, index: usize) -> u32 {
        let pairs = Shared::<u32>::at(units.start(), (index / 2 + 1) as u32);
        // SAFETY: as the caller promises.
        let pair = unsafe { pairs.load(index / 2) };
        if index & 1 == 0 { pair::low(pair) } else { pair::high(pair) }
    }

    #[inline(always)]
    fn relax(best: u32, left: u32, right: u32) -> u32 {
        pair::least(pair::add(left, right), best)
    }

    #[inline(always)]
    fn sum(left: u32, right: u32) -> u32 {
        pair::add(left, right)
    }

    #[inline(always)]
    fn differ(a: u32, b: u32) -> bool {
        a != b
    }
}
