//! Functions that each type of number has its own code for, over anything that is computed like numbers.

macro_rules! by_type {
    ($($(#[$doc:meta])* $name:ident($($x:ident),+), of $count:literal: $f32:path, $f64:path;)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub(super) fn $name<T: super::Real>($($x: T),+) -> T {
            struct Each;

            impl<S: super::Scalar> super::PerLane<S, $count, 1> for Each {
                // An `f32` by its bits: conversions to `f64` and back may leave something in compiled code. Those of `f64`
                // do nothing.
                #[inline(always)]
                fn apply(&self, [$($x),+]: [S; $count]) -> [S; 1] {
                    [if size_of::<S>() == size_of::<f32>() {
                        let short = |value: S| {
                            let mut word = 0;
                            value.map_words(|bits| {
                                word = bits;
                                bits
                            });
                            f32::from_bits(word)
                        };
                        let result: f32 = $f32($(short($x)),+);
                        S::ZERO.map_words(|_| result.to_bits())
                    } else {
                        S::nearest($f64($($x.to_f64()),+))
                    }]
                }
            }
            let [result] = T::per_lane(&Each, [$($x),+]);
            result
        }
    )* };
}
pub(super) use by_type;
