//! Derivatives of a formula, as values beside its own.
//!
//! The rules are those of [dual numbers](flockwork_device::math::Dual), operation by operation and
//! rounding by rounding, so the derivatives have their bits. But what does not depend on a variable
//! has no derivative here, instead of one that is zero and calculated with. So two things differ: a
//! zero may have the other sign, and where a number on the way is infinite or NaN, a derivative may be
//! another one than with dual numbers, which multiply zero by infinity.

use flockwork_device::{formula::Unary, math::Scalar};

use super::{
    machine::{Binary, Operation},
    program::{Graph, NONE, Place, Value},
};

/// The most values of a formula with its derivatives.
pub(super) const MOST_VALUES: usize = 1 << 22;

/// The derivative of a value by a variable; `None` is zero, whatever the variables are.
type Slope = Option<Place>;

impl<S: Scalar> Graph<S> {
    /// The derivatives of a value by the first inputs; `None` if they would be more than
    /// [`MOST_VALUES`].
    pub fn slopes(&mut self, root: Place, variables: u32) -> Option<Vec<Place>> {
        let order = self.order(&[root], None);
        let zero = self.constant(S::ZERO);
        let mut slopes: Vec<Slope> = vec![None; self.len()];
        let mut found = Vec::with_capacity(variables as usize);
        for variable in 0..variables {
            for &place in &order {
                let slope = match self.value(place) {
                    Value::Constant(_) => None,
                    Value::Input(nth) => (nth == variable).then(|| self.number(1.0)),
                    Value::Computed(operation, from) => {
                        // An operand that an operation does not have has no derivative.
                        let of = from.map(|from| slopes.get(from as usize).copied().flatten());
                        match of {
                            [None, None, None] => None,
                            _ => self.slope((operation, from), place, of),
                        }
                    }
                };
                let is_zero = |place| self.constant_at(place).is_some_and(|c| c == S::ZERO);
                slopes[place as usize] = slope.filter(|&place| !is_zero(place));
                if self.len() > MOST_VALUES {
                    return None;
                }
            }
            found.push(slopes[root as usize].unwrap_or(zero));
        }
        Some(found)
    }

    fn number(&mut self, number: f64) -> Place {
        self.constant(S::nearest(number))
    }

    /// The derivative of what an operation makes of its operands, given theirs.
    fn slope(
        &mut self,
        (operation, [a, b, _]): (Operation, [Place; 3]),
        value: Place,
        [da, db, dc]: [Slope; 3],
    ) -> Slope {
        use Binary::{Add, Divide, Equal, Greatest, Least, Less, LessOrEqual, Multiply, Subtract};
        match operation {
            Operation::Negative => da.map(|da| self.negative(da)),
            Operation::One(function) => {
                let da = da?;
                let derivative = self.derivative(function, a, value)?;
                Some(self.two(Multiply, derivative, da))
            }
            Operation::Two(Add) => self.joined(Add, da, db),
            Operation::Two(Subtract) => match (da, db) {
                (None, Some(db)) => Some(self.negative(db)),
                _ => self.joined(Subtract, da, db),
            },
            Operation::Two(Multiply) => {
                let by_first = da.map(|da| self.two(Multiply, da, b));
                match (by_first, db) {
                    (by_first, None) => by_first,
                    (None, Some(db)) => Some(self.two(Multiply, a, db)),
                    (Some(by_first), Some(db)) => Some(self.fused(a, db, by_first)),
                }
            }
            Operation::Two(Divide) => {
                let one = self.number(1.0);
                let inverse = self.two(Divide, one, b);
                let height = match (da, db) {
                    (da, None) => da?,
                    (da, Some(db)) => {
                        let less = self.negative(value);
                        match da {
                            Some(da) => self.fused(less, db, da),
                            None => self.two(Multiply, less, db),
                        }
                    }
                };
                Some(self.two(Multiply, height, inverse))
            }
            Operation::Two(Binary::Power) => self.slope_of_power([a, b, value], [da, db]),
            Operation::Two(Binary::Atan2) => self.slope_of_angle([a, b], [da, db]),
            // Where an operand is NaN, so is the value, and the derivative is of no use.
            Operation::Two(Least) => {
                let first = self.two(Less, a, b);
                self.chosen(first, da, db)
            }
            Operation::Two(Greatest) => {
                let first = self.two(Less, b, a);
                self.chosen(first, da, db)
            }
            Operation::Two(Less | LessOrEqual | Equal) => None,
            Operation::Choose => self.chosen(a, db, dc),
            Operation::Fused => {
                let product =
                    self.slope((Operation::Two(Multiply), [a, b, NONE]), value, [da, db, None]);
                self.joined(Add, product, dc)
            }
            // Only derivatives have these, and theirs are not asked for.
            Operation::Digamma => None,
        }
    }

    /// A sum or difference of derivatives.
    fn joined(&mut self, binary: Binary, a: Slope, b: Slope) -> Slope {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.two(binary, a, b)),
            (one, other) => one.or(other),
        }
    }

    fn chosen(&mut self, condition: Place, yes: Slope, no: Slope) -> Slope {
        if yes.is_none() && no.is_none() {
            return None;
        }
        let zero = self.constant(S::ZERO);
        Some(self.choose(condition, yes.unwrap_or(zero), no.unwrap_or(zero)))
    }

    /// `at_zero` where a number is zero, `elsewhere` where it is not.
    fn where_zero(&mut self, number: Place, at_zero: Place, elsewhere: Place) -> Place {
        let zero = self.constant(S::ZERO);
        let above = self.two(Binary::Less, zero, number);
        let positive = self.choose(above, elsewhere, at_zero);
        let below = self.two(Binary::Less, number, zero);
        self.choose(below, elsewhere, positive)
    }

    fn slope_of_power(&mut self, [x, y, value]: [Place; 3], [dx, dy]: [Slope; 2]) -> Slope {
        let (zero, one) = (self.constant(S::ZERO), self.number(1.0));
        // A derivative that is zero contributes nothing, even if what it is multiplied by is NaN.
        let from = |graph: &mut Self, slope: Place, derivative: Place| {
            let product = graph.two(Binary::Multiply, slope, derivative);
            graph.where_zero(slope, zero, product)
        };
        let by_base = dx.map(|dx| {
            let less = self.two(Binary::Subtract, y, one);
            let power = self.two(Binary::Power, x, less);
            let product = self.two(Binary::Multiply, y, power);
            let derivative = self.where_zero(y, zero, product);
            from(self, dx, derivative)
        });
        let by_exponent = dy.map(|dy| {
            let logarithm = self.one(Unary::Ln, x);
            let product = self.two(Binary::Multiply, value, logarithm);
            let is_pole = self.two(Binary::Less, y, zero);
            let of_zero = self.choose(is_pole, product, zero);
            let derivative = self.where_zero(x, of_zero, product);
            from(self, dy, derivative)
        });
        self.joined(Binary::Add, by_base, by_exponent)
    }

    /// Of the angle of the point (x, y), which is moved to the distance 1: no square overflows there.
    fn slope_of_angle(&mut self, [y, x]: [Place; 2], [dy, dx]: [Slope; 2]) -> Slope {
        use Binary::{Divide, Greatest, Multiply};
        let sizes = [y, x].map(|place| self.one(Unary::Abs, place));
        let largest = self.two(Greatest, sizes[0], sizes[1]);
        let [height, width] = [y, x].map(|place| self.two(Divide, place, largest));
        let square = self.two(Multiply, width, width);
        let square = self.fused(height, height, square);
        let across = dx.map(|dx| {
            let product = self.two(Multiply, height, dx);
            self.negative(product)
        });
        let turned = match (dy, across) {
            (Some(dy), Some(across)) => self.fused(width, dy, across),
            (Some(dy), None) => self.two(Multiply, width, dy),
            (None, across) => across?,
        };
        let turned = self.two(Divide, turned, square);
        Some(self.two(Divide, turned, largest))
    }

    /// The derivative of a function at `x`, where it has this value; `None` if it is zero.
    fn derivative(&mut self, function: Unary, x: Place, value: Place) -> Slope {
        use Binary::{Add, Divide, Less, Multiply, Subtract};
        use std::f64::consts::{FRAC_2_SQRT_PI, LOG2_E, LOG10_E, PI};
        let one = self.number(1.0);
        let over = |graph: &mut Self, number: f64, by: Place| {
            let number = graph.number(number);
            graph.two(Divide, number, by)
        };
        Some(match function {
            Unary::Sign | Unary::Floor | Unary::Ceil | Unary::Round => return None,
            Unary::Sqrt => over(self, 0.5, value),
            Unary::Abs => {
                let zero = self.constant(S::ZERO);
                let is_below = self.two(Less, x, zero);
                let below = self.number(-1.0);
                self.choose(is_below, below, one)
            }
            Unary::Exp => value,
            Unary::ExpM1 => self.one(Unary::Exp, x),
            Unary::Ln => over(self, 1.0, x),
            Unary::Ln1p => {
                let more = self.two(Add, one, x);
                over(self, 1.0, more)
            }
            Unary::Log2 => over(self, LOG2_E, x),
            Unary::Log10 => over(self, LOG10_E, x),
            Unary::Sin => self.one(Unary::Cos, x),
            Unary::Cos => {
                let sine = self.one(Unary::Sin, x);
                self.negative(sine)
            }
            Unary::Tan => self.fused(value, value, one),
            // (1 - x) (1 + x) does not cancel near 1, as 1 - x^2 does.
            Unary::Asin | Unary::Acos => {
                let (less, more) = (self.two(Subtract, one, x), self.two(Add, one, x));
                let square = self.two(Multiply, less, more);
                let root = self.one(Unary::Sqrt, square);
                over(self, if function == Unary::Asin { 1.0 } else { -1.0 }, root)
            }
            Unary::Atan => {
                let square = self.fused(x, x, one);
                over(self, 1.0, square)
            }
            Unary::Sinh => self.one(Unary::Cosh, x),
            Unary::Cosh => self.one(Unary::Sinh, x),
            // Not 1 less the square, which cancels far out.
            Unary::Tanh => {
                let width = self.one(Unary::Cosh, x);
                let inverse = over(self, 1.0, width);
                self.two(Multiply, inverse, inverse)
            }
            Unary::Erf => {
                let square = self.two(Multiply, x, x);
                let less = self.negative(square);
                let exponential = self.one(Unary::Exp, less);
                let height = self.number(FRAC_2_SQRT_PI);
                self.two(Multiply, height, exponential)
            }
            // Where the value vanishes so does the derivative, be its other factor finite or not.
            Unary::Gamma => {
                let zero = self.constant(S::ZERO);
                let digamma = self.digamma(x);
                let product = self.two(Multiply, value, digamma);
                self.where_zero(value, zero, product)
            }
            Unary::SinPi => {
                let (pi, cosine) = (self.number(PI), self.one(Unary::CosPi, x));
                self.two(Multiply, pi, cosine)
            }
            Unary::CosPi => {
                let (pi, sine) = (self.number(PI), self.one(Unary::SinPi, x));
                let product = self.two(Multiply, pi, sine);
                self.negative(product)
            }
        })
    }
}
