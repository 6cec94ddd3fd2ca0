//! The processor's vector instructions.

use std::fmt;

/// The vector instructions to use.
///
/// ```
/// use flockwork::backend::{Cpu, Simd};
///
/// let widest = Simd::detect();
/// println!("{widest}");
/// assert!(widest >= Simd::Baseline);
/// assert_eq!(Cpu::with_simd(1, Simd::Avx512).is_ok(), widest == Simd::Avx512);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Simd {
    /// The architecture's baseline, which every processor has.
    Baseline,
    /// AVX2 with fused multiply-add.
    Avx2,
    /// AVX-512 (F, BW, DQ, VL). Not in a build with debug assertions, as `cargo build` and `cargo test` make
    /// it without `--release`: results are the same, and compiling a third width takes long.
    Avx512,
}

impl Simd {
    /// The widest that this processor has, and this build.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if cfg!(not(debug_assertions))
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
            {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Self::Avx2;
            }
        }
        Self::Baseline
    }
}

impl fmt::Display for Simd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Baseline => "baseline instructions",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        })
    }
}

/// How many of `lanes` to compute side by side with the baseline's instructions. On x86 these have no fused
/// operation, so each is a call: vectors gain nothing, and a call for each of many lanes is most of what the
/// compiler would have to do.
pub(crate) const fn baseline_lanes(lanes: usize) -> usize {
    if cfg!(target_arch = "x86_64") { 1 } else { lanes }
}

/// Defines a function that calls another, compiled for the given vector instructions; everything
/// that is always inlined into it is compiled for them too. With `; const width` among the parameters the
/// other one's last parameter is the [`Simd`] that it is compiled for, as a `u8`; with `; lanes COUNT` how
/// many of so many lanes it should compute side by side.
macro_rules! dispatched {
    ($(#[$doc:meta])* $visibility:vis fn $name:ident<
        $($generic:ident: $bound:path),* $(; const $width:ident)? $(; lanes $lanes:ident)?
    >($($argument:ident: $type:ty),* $(,)?) => $inner:ident) => {
        $(#[$doc])*
        $visibility fn $name<$($generic: $bound),*>(
            simd: crate::backend::Simd,
            $($argument: $type),*
        ) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2<$($generic: $bound),*>($($argument: $type),*) {
                $inner::<
                    $($generic,)*
                    $({ let $width = crate::backend::Simd::Avx2; $width as u8 },)?
                    $($lanes)?
                >($($argument),*)
            }
            #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            fn avx512<$($generic: $bound),*>($($argument: $type),*) {
                $inner::<
                    $($generic,)*
                    $({ let $width = crate::backend::Simd::Avx512; $width as u8 },)?
                    $($lanes)?
                >($($argument),*)
            }
            match simd {
                // SAFETY: a `Cpu` has a width only if the processor has the instructions.
                #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
                crate::backend::Simd::Avx512 => unsafe { avx512($($argument),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                crate::backend::Simd::Avx2 => unsafe { avx2($($argument),*) },
                _ => $inner::<
                    $($generic,)*
                    $({ let $width = crate::backend::Simd::Baseline; $width as u8 },)?
                    $({ crate::backend::baseline_lanes($lanes) })?
                >($($argument),*),
            }
        }
    };
}
pub(crate) use dispatched;

/// As [`dispatched`], compiled for AVX2 or the baseline: for what would not gain by wider vectors. After a
/// semicolon a length may stand among the parameters, or `lanes COUNT` as there.
macro_rules! narrow {
    ($(#[$doc:meta])* $visibility:vis fn $name:ident<
        $($generic:ident: $bound:path),* $(; const $length:ident)? $(; lanes $lanes:ident)?
    >($($argument:ident: $type:ty),* $(,)?) => $inner:ident) => {
        $(#[$doc])*
        $visibility fn $name<$($generic: $bound,)* $(const $length: usize)?>(
            simd: crate::backend::Simd,
            $($argument: $type),*
        ) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2<$($generic: $bound,)* $(const $length: usize)?>($($argument: $type),*) {
                $inner::<$($generic,)* $($length)? $($lanes)?>($($argument),*)
            }
            match simd {
                // SAFETY: a `Cpu` has a width only if the processor has the instructions, and the
                // wider width includes the narrower.
                #[cfg(target_arch = "x86_64")]
                crate::backend::Simd::Avx2 | crate::backend::Simd::Avx512 => unsafe {
                    avx2::<$($generic,)* $($length)?>($($argument),*)
                },
                _ => $inner::<
                    $($generic,)* $($length)? $({ crate::backend::baseline_lanes($lanes) })?
                >($($argument),*),
            }
        }
    };
}
pub(crate) use narrow;
