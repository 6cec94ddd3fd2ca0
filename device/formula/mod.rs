//! What a formula is made of: its operations, and the functions that leave room for it in the kernels.
//!
//! A formula is known at run time only. On a CPU its operations are carried out one by one, over many
//! particles each. On a GPU they become a part of the kernel: the kernels of the [`template`]s are
//! compiled with *holes*, pieces of PTX between two marks, and the host writes the formula there before
//! the driver compiles the kernel. What the operations are is compiled here, once
//! ([`kernel`]), and copied from there.

pub mod kernel;
pub mod template;

use crate::math::Real;

/// Calls the macro `$callback` with all operations: `word: Name,` each of those of one number and of
/// those of two.
macro_rules! for_each_operation {
    ($callback:ident) => {
        $callback! {
            [
                sqrt: Sqrt, abs: Abs, sign: Sign, floor: Floor, ceil: Ceil, round: Round, exp: Exp,
                expm1: ExpM1, log: Ln, log1p: Ln1p, log2: Log2, log10: Log10, sin: Sin, cos: Cos,
                tan: Tan, asin: Asin, acos: Acos, atan: Atan, sinh: Sinh, cosh: Cosh, tanh: Tanh,
                erf: Erf, gamma: Gamma, sinpi: SinPi, cospi: CosPi
            ]
            [
                add: Add, subtract: Subtract, multiply: Multiply, divide: Divide, power: Power,
                atan2: Atan2, least: Least, greatest: Greatest, less: Less,
                less_or_equal: LessOrEqual, equal: Equal
            ]
        }
    };
}
use for_each_operation;

macro_rules! enumerate {
    ([$($one:ident: $Unary:ident),*] [$($two:ident: $Binary:ident),*]) => {
        /// A function of one number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Unary {
            $(#[doc = concat!("`", stringify!($one), "`.")] $Unary),*
        }

        impl Unary {
            /// All of them, in the order of the kernel's numbers.
            ///
            /// ```
            /// use flockwork_device::formula::Unary;
            ///
            /// assert_eq!(Unary::ALL[0], Unary::Sqrt);
            /// ```
            pub const ALL: &[Self] = &[$(Self::$Unary),*];

            /// Its name in the PTX, and in formulas.
            ///
            /// ```
            /// assert_eq!(flockwork_device::formula::Unary::Ln1p.word(), "log1p");
            /// ```
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$Unary => stringify!($one)),*
                }
            }
        }

        /// An operation of two numbers. Truths are 0 and 1.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Binary {
            $(#[doc = concat!("`", stringify!($two), "`.")] $Binary),*
        }

        impl Binary {
            /// All of them, in the order of the kernel's numbers.
            ///
            /// ```
            /// use flockwork_device::formula::Binary;
            ///
            /// assert_eq!(Binary::ALL[0], Binary::Add);
            /// ```
            pub const ALL: &[Self] = &[$(Self::$Binary),*];

            /// Its name in the PTX.
            ///
            /// ```
            /// assert_eq!(flockwork_device::formula::Binary::Least.word(), "least");
            /// ```
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$Binary => stringify!($two)),*
                }
            }
        }
    };
}
for_each_operation!(enumerate);

/// A function of one number.
///
/// ```
/// use flockwork_device::{formula::{Unary, one}, math::Real};
///
/// assert_eq!(one(Unary::Sign, -3.0_f64), -1.0);
/// assert_eq!(one(Unary::Exp, 1.0_f32), Real::exp(1.0_f32));
/// ```
#[inline(always)]
pub fn one<V: Real>(operation: Unary, a: V) -> V {
    match operation {
        Unary::Sqrt => a.sqrt(),
        Unary::Abs => a.abs(),
        Unary::Sign => {
            let (zero, one) = (V::of(0.0), V::of(1.0));
            // What is left is zero or NaN.
            V::select(zero.less(a), one, V::select(a.less(zero), -one, a * zero))
        }
        Unary::Floor => a.floor(),
        Unary::Ceil => a.ceil(),
        Unary::Round => a.round(),
        Unary::Exp => a.exp(),
        Unary::ExpM1 => a.exp_m1(),
        Unary::Ln => a.ln(),
        Unary::Ln1p => a.ln_1p(),
        Unary::Log2 => a.log2(),
        Unary::Log10 => a.log10(),
        Unary::Sin => a.sin(),
        Unary::Cos => a.cos(),
        Unary::Tan => a.tan(),
        Unary::Asin => a.asin(),
        Unary::Acos => a.acos(),
        Unary::Atan => a.atan(),
        Unary::Sinh => a.sinh(),
        Unary::Cosh => a.cosh(),
        Unary::Tanh => a.tanh(),
        Unary::Erf => a.erf(),
        Unary::Gamma => a.gamma(),
        Unary::SinPi => a.sin_pi(),
        Unary::CosPi => a.cos_pi(),
    }
}

/// An operation of two numbers.
///
/// ```
/// use flockwork_device::formula::{Binary, two};
///
/// assert_eq!(two(Binary::LessOrEqual, 2.0, 2.0), 1.0);
/// assert_eq!(two(Binary::Equal, f64::NAN, 2.0), 0.0);
/// assert!(two(Binary::Least, f64::NAN, 2.0).is_nan());
/// ```
#[inline(always)]
pub fn two<V: Real>(operation: Binary, a: V, b: V) -> V {
    let truth = |mask| V::select(mask, V::of(1.0), V::of(0.0));
    match operation {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Binary::Divide => a / b,
        Binary::Power => a.pow(b),
        Binary::Atan2 => a.atan2(b),
        // `least` and `greatest` are the second if either is NaN.
        Binary::Least => V::select(a.less(b), a, V::select(is_number(a), b, a)),
        Binary::Greatest => V::select(b.less(a), a, V::select(is_number(a), b, a)),
        Binary::Less => truth(a.less(b)),
        Binary::LessOrEqual => V::select(a.less(b), V::of(1.0), equal(a, b)),
        Binary::Equal => equal(a, b),
    }
}

/// The second where the first is true, that is, above zero; else the third.
///
/// ```
/// assert_eq!(flockwork_device::formula::choose(1.0, 2.0, 3.0), 2.0);
/// ```
#[inline(always)]
pub fn choose<V: Real>(condition: V, yes: V, no: V) -> V {
    V::select(V::of(0.0).less(condition), yes, no)
}

/// NaN where a value is infinite: a logarithm of zero is no best value.
///
/// ```
/// use flockwork_device::formula::defined;
///
/// assert_eq!(defined(1.0), 1.0);
/// assert!(defined(f32::NEG_INFINITY).is_nan());
/// ```
#[inline(always)]
pub fn defined<V: Real>(value: V) -> V {
    V::select(value.abs().less(V::of(f64::INFINITY)), value, V::of(f64::NAN))
}

/// Where it is not NaN.
#[inline(always)]
fn is_number<V: Real>(a: V) -> V::Mask {
    // -infinity is less, infinity is more.
    let infinity = V::of(f64::INFINITY);
    let one = V::of(1.0);
    let below = V::select(a.less(infinity), one, -one);
    V::of(0.0).less(V::select(one.less(a), one, below))
}

#[inline(always)]
fn equal<V: Real>(a: V, b: V) -> V {
    let (zero, one) = (V::of(0.0), V::of(1.0));
    let both = V::select(is_number(a), V::select(is_number(b), one, zero), zero);
    V::select(a.less(b), zero, V::select(b.less(a), zero, both))
}
