//! Rounding to integers.

macro_rules! rounding {
    ($round:ident, $floor:ident, $type:ident, integers: $integers:literal) => {
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

rounding!(round_f32, floor_f32, f32, integers: 8_388_608.0);
rounding!(round_f64, floor_f64, f64, integers: 4_503_599_627_370_496.0);
