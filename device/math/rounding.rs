//! Rounding to integers.

#[cfg(all(target_arch = "nvptx64", feature = "rust-cuda"))]
use super::rust_cuda as machine;

#[cfg(all(target_arch = "nvptx64", not(feature = "rust-cuda")))]
mod machine {
    // SAFETY: the signatures are those of LLVM's intrinsics, which have no preconditions.
    unsafe extern "C" {
        #[link_name = "llvm.rint.f32"]
        pub safe fn nearest_f32(x: f32) -> f32;
        #[link_name = "llvm.rint.f64"]
        pub safe fn nearest_f64(x: f64) -> f64;
    }
}

macro_rules! rounding {
    ($nearest:ident, $round:ident, $floor:ident, $type:ident, integers: $integers:literal) => {
        /// The integer nearest to `size`, which is not negative; ties to even, exact, infinity is itself. One instruction
        /// of a GPU, whose rate is an eighth of the others' but which leaves their units alone.
        #[inline(always)]
        pub fn $nearest(size: $type) -> $type {
            #[cfg(target_arch = "nvptx64")]
            return machine::$nearest(size);
            // A sum in the binade that begins here is rounded to an integer, and from here on all numbers are.
            #[cfg(not(target_arch = "nvptx64"))]
            {
                const INTEGERS: $type = $integers;
                let rounded = (size + INTEGERS) - INTEGERS;
                if size < INTEGERS { rounded } else { size }
            }
        }

        /// The nearest integer, ties to even; exact. The sign of a zero is not specified.
        #[inline(always)]
        pub fn $round(x: $type) -> $type {
            // From here on all numbers are integers, so a sum in the binade that begins here is
            // rounded to one.
            const INTEGERS: $type = $integers;
            let sign = x.to_bits() & (-0.0 as $type).to_bits();
            let shift = $type::from_bits(INTEGERS.to_bits() | sign);
            let rounded = (x + shift) - shift;
            if x.abs() < INTEGERS { rounded } else { x }
        }

        /// The greatest integer that is not greater; exact. The sign of a zero is not specified.
        #[inline(always)]
        pub fn $floor(x: $type) -> $type {
            let rounded = $round(x);
            rounded - if rounded > x { 1.0 } else { 0.0 }
        }
    };
}

rounding!(nearest_f32, round_f32, floor_f32, f32, integers: 8_388_608.0);
rounding!(nearest_f64, round_f64, floor_f64, f64, integers: 4_503_599_627_370_496.0);
