//! What a program's operations do, in whatever numbers: one, those of a tile side by side, or numbers
//! with derivatives.

use flockwork_device::math::Real;

use super::{program::Instruction, syntax::Unary};

/// An operation of two numbers. Truths are 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Atan2,
    Least,
    Greatest,
    Less,
    LessOrEqual,
    Equal,
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Operation {
    Negative,
    One(Unary),
    Two(Binary),
    /// The second where the first is true, else the third.
    Choose,
}

#[inline(always)]
pub(super) fn one<V: Real>(operation: Unary, a: V) -> V {
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

#[inline(always)]
pub(super) fn two<V: Real>(operation: Binary, a: V, b: V) -> V {
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

#[inline(always)]
pub(super) fn choose<V: Real>(condition: V, yes: V, no: V) -> V {
    V::select(V::of(0.0).less(condition), yes, no)
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

/// Runs instructions on the first parts of the rows, each of which holds `WIDE` times as many numbers as
/// lie in a `V`.
#[inline(always)]
pub(crate) fn run<V: Real, const WIDE: usize>(
    code: &[Instruction],
    rows: &mut [[V; WIDE]],
    parts: usize,
) {
    macro_rules! each {
        ($instruction:ident, $f:expr $(, $nth:literal)+) => {
            for part in 0..parts.min(WIDE) {
                let value = $f($(rows[$instruction.from[$nth] as usize][part]),+);
                rows[$instruction.to as usize][part] = value;
            }
        };
    }
    // An arm for each operation, so that the loop over the row stands inside.
    macro_rules! arms {
        ($instruction:ident: $($unary:ident)*; $($binary:ident)*) => {
            match $instruction.operation {
                Operation::Negative => each!($instruction, |a: V| -a, 0),
                $( Operation::One(Unary::$unary) => {
                    each!($instruction, |a| one(Unary::$unary, a), 0);
                } )*
                $( Operation::Two(Binary::$binary) => {
                    each!($instruction, |a, b| two(Binary::$binary, a, b), 0, 1);
                } )*
                Operation::Choose => each!($instruction, |c, a, b| choose(c, a, b), 0, 1, 2),
            }
        };
    }
    for instruction in code {
        arms!(instruction:
            Sqrt Abs Sign Floor Ceil Round Exp ExpM1 Ln Ln1p Log2 Log10 Sin Cos Tan Asin Acos Atan Sinh
            Cosh Tanh Erf Gamma SinPi CosPi;
            Add Subtract Multiply Divide Power Atan2 Least Greatest Less LessOrEqual Equal);
    }
}
