//! Functions that each type of number has its own code for, over anything that is computed like numbers.

macro_rules! by_type {
    ($($(#[$doc:meta])* $name:ident($($x:ident),+), of $count:literal: $f32:path, $f64:path;)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub(super) fn $name<T: super::Real>($($x: T),+) -> T {
            struct Each;

            impl<S: super::Scalar> super::PerLane<S, $count, 1> for Each {
                // The conversions are without error, and none is left in compiled code.
                #[inline(always)]
                fn apply(&self, [$($x),+]: [S; $count]) -> [S; 1] {
                    [if size_of::<S>() == size_of::<f32>() {
                        S::nearest(f64::from($f32($($x.to_f64() as f32),+)))
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
