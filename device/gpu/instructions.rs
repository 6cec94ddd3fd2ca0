//! Instructions for which neither the compiler nor `cuda_std` has a function, with either.

use core::arch::asm;

use crate::math::Scalar;

/// As [`matrix::multiply_add`](super::matrix::multiply_add) says it.
///
/// All lanes call it (its contract), in code that does not branch by lane: inline assembly is not known to be
/// convergent, so callers have a word that is, a warp's barrier, before it in the same piece of code.
#[inline(always)]
pub fn multiply_add<T: Scalar, const STEPS: usize>(
    a: &[[T; 2]; STEPS],
    b: &[T; STEPS],
    c: [T; 4],
) -> [T; 4] {
    const { assert!(size_of::<T>() == size_of::<f64>(), "there are units for f64 alone") };
    let [c0, c1, c2, c3] = c.map(T::to_f64);
    let (w, x, y, z): (f64, f64, f64, f64);
    let a = |step: usize, half: usize| a[step][half].to_f64();
    let b = |step: usize| b[step].to_f64();
    macro_rules! multiply {
        ($shape:literal, [$($a:ident: $step_of_a:literal $half:literal),*], [$($b:ident: $step:literal),*],
         $left:literal, $right:literal) => {
            // SAFETY: calculates with registers; all lanes take part.
            unsafe {
                asm!(
                    concat!("mma.sync.aligned.m16n8", $shape, ".row.col.f64.f64.f64.f64 ",
                        "{{{w}, {x}, {y}, {z}}}, {{", $left, "}}, {{", $right, "}}, {{{c0}, {c1}, {c2}, {c3}}};"),
                    w = out(reg64) w, x = out(reg64) x, y = out(reg64) y, z = out(reg64) z,
                    $( $a = in(reg64) a($step_of_a, $half), )*
                    $( $b = in(reg64) b($step), )*
                    c0 = in(reg64) c0, c1 = in(reg64) c1, c2 = in(reg64) c2, c3 = in(reg64) c3,
                    options(nomem, nostack, preserves_flags)
                )
            }
        };
    }
    match STEPS {
        1 => multiply!("k4", [a0: 0 0, a1: 0 1], [b0: 0], "{a0}, {a1}", "{b0}"),
        2 => multiply!(
            "k8",
            [a0: 0 0, a1: 0 1, a2: 1 0, a3: 1 1],
            [b0: 0, b1: 1],
            "{a0}, {a1}, {a2}, {a3}",
            "{b0}, {b1}"
        ),
        4 => multiply!(
            "k16",
            [a0: 0 0, a1: 0 1, a2: 1 0, a3: 1 1, a4: 2 0, a5: 2 1, a6: 3 0, a7: 3 1],
            [b0: 0, b1: 1, b2: 2, b3: 3],
            "{a0}, {a1}, {a2}, {a3}, {a4}, {a5}, {a6}, {a7}",
            "{b0}, {b1}, {b2}, {b3}"
        ),
        _ => unreachable!("no instruction has so many steps"),
    }
    [w, x, y, z].map(T::nearest)
}

/// Asks for the line that a number lies in.
#[inline(always)]
pub fn prefetch<T>(pointer: *const T) {
    // SAFETY: a hint, which loads nothing.
    unsafe {
        asm!("prefetch.global.L2 [{}];", in(reg64) pointer, options(readonly, nostack, preserves_flags));
    }
}
