//! What a program's operations do, in whatever numbers: one, those of a tile side by side, or numbers
//! with derivatives.

use flockwork_device::{
    formula::{Unary, choose},
    math::{Real, digamma},
};

pub(super) use flockwork_device::formula::{Binary, one, two};

use super::function::Row;
use crate::backend::{Number, Simd, dispatched, in_each};

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    Negative,
    One(Unary),
    Two(Binary),
    /// The second where the first is true, else the third.
    Choose,
    /// The first times the second plus the third, rounded once. In remainders and derivatives.
    Fused,
    /// The derivative of the logarithm of the gamma function. In derivatives alone, and not on a GPU.
    Digamma,
}

impl Operation {
    /// How many operands it has.
    pub fn operands(self) -> usize {
        match self {
            Self::Negative | Self::One(_) | Self::Digamma => 1,
            Self::Two(_) => 2,
            Self::Choose | Self::Fused => 3,
        }
    }
}

/// An operation on rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub(super) operation: Operation,
    pub(super) to: u32,
    /// As many as the operation has; the others are 0.
    pub(super) from: [u32; 3],
}

/// Runs instructions on the first parts of rows of tiles: the one place where all operations are compiled
/// for each width of vectors, which takes the compiler seconds.
pub(crate) fn run_tiles<T: Number>(
    simd: Simd,
    code: &[Instruction],
    rows: &mut [Row<T>],
    parts: usize,
) {
    T::in_each::<RunTiles>((simd, code, rows, parts));
}

in_each! {
    RunTiles<'a, T>: fn(
        simd: Simd,
        code: &'a [Instruction],
        rows: &'a mut [Row<T>],
        parts: usize,
    ) -> () = run_tiles_dispatched
}

dispatched! {
    fn run_tiles_dispatched<T: Number>(
        code: &[Instruction],
        rows: &mut [Row<T>],
        parts: usize,
    ) => run_tiles_inlined
}

#[inline(always)]
fn run_tiles_inlined<T: Number>(code: &[Instruction], rows: &mut [Row<T>], parts: usize) {
    run(code, rows, parts);
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
                Operation::Fused => each!($instruction, |a: V, b, c| a.fma(b, c), 0, 1, 2),
                Operation::Digamma => each!($instruction, |a| digamma(a), 0),
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
