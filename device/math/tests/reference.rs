//! What the functions should give, computed with far more digits than the result has.

use std::f64::consts;

/// A value with its error left out: `high + low` times 2^`exponent`, good to some 100 bits.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    pub number: DoubleDouble,
    pub exponent: i32,
}

impl Value {
    pub fn squared(self) -> Self {
        Self { number: self.number.times(self.number), exponent: 2 * self.exponent }
    }

    /// Whether it is less than 16 times the least normal `f64`.
    pub fn is_tiny(self) -> bool {
        self.number.high == 0.0 || self.exponent + binade(self.number.high) < -1018
    }
}

/// An unevaluated sum of two doubles, `|low|` at most half a unit in the last place of `high`.
#[derive(Clone, Copy, Debug)]
pub struct DoubleDouble {
    pub high: f64,
    pub low: f64,
}

impl DoubleDouble {
    const fn new(high: f64, low: f64) -> Self {
        Self { high, low }
    }

    /// `a + b` without error (Knuth).
    fn sum(a: f64, b: f64) -> Self {
        let high = a + b;
        let b_part = high - a;
        Self::new(high, (a - (high - b_part)) + (b - b_part))
    }

    /// `a * b` without error, where nothing underflows.
    fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        Self::new(high, a.mul_add(b, -high))
    }

    fn plus(self, other: Self) -> Self {
        let high = Self::sum(self.high, other.high);
        let low = Self::sum(self.low, other.low);
        let first = Self::sum(high.high, high.low + low.high);
        Self::sum(first.high, first.low + low.low)
    }

    fn times(self, other: Self) -> Self {
        let p = Self::product(self.high, other.high);
        Self::sum(p.high, p.low + (self.high * other.low + self.low * other.high))
    }

    fn over(self, divisor: f64) -> Self {
        let quotient = self.high / divisor;
        let product = Self::product(quotient, divisor);
        let rest = ((self.high - product.high) - product.low) + self.low;
        Self::sum(quotient, rest / divisor)
    }

    fn divided_by(self, divisor: Self) -> Self {
        let quotient = self.high / divisor.high;
        let rest = self.plus(divisor.times(Self::new(-quotient, 0.0)));
        let next = rest.high / divisor.high;
        let rest = rest.plus(divisor.times(Self::new(-next, 0.0)));
        Self::sum(quotient, next).plus(Self::new(rest.high / divisor.high, 0.0))
    }

    fn negated(self) -> Self {
        Self::new(-self.high, -self.low)
    }

    fn minus(self, other: Self) -> Self {
        self.plus(other.negated())
    }

    /// 2^`exponent` times this; no error where nothing underflows.
    fn scaled(self, exponent: i32) -> Self {
        Self::new(scaled(self.high, exponent), scaled(self.low, exponent))
    }

    fn sqrt(self) -> Self {
        let root = self.high.sqrt();
        if root == 0.0 {
            return Self::new(0.0, 0.0);
        }
        let rest = self.minus(Self::product(root, root));
        Self::sum(root, rest.high / (2.0 * root))
    }
}

const ONE: DoubleDouble = DoubleDouble::new(1.0, 0.0);
const PI: DoubleDouble = DoubleDouble::new(consts::PI, 1.224_646_799_147_353_2e-16);

/// ln 2 in three parts: multiples of the first two by numbers below 2^11 have no error.
const LN_2: [f64; 3] =
    [0.693_147_180_559_890_3, 5.497_923_018_707_21e-14, 1.161_222_722_936_253_2e-26];

/// `first` and what follows it: each term is the one before times `step` over `divisor(1)`,
/// `divisor(2)` and so on.
fn series(first: DoubleDouble, step: DoubleDouble, divisor: impl Fn(f64) -> f64) -> DoubleDouble {
    // Smallest first; 30 terms are more than any argument here needs.
    let mut terms = [first; 30];
    let mut count = 1;
    while count < terms.len() && terms[count - 1].high.abs() > 1e-33 * first.high.abs() {
        terms[count] = terms[count - 1].times(step).over(divisor(count as f64));
        count += 1;
    }
    terms[..count].iter().rev().fold(DoubleDouble::new(0.0, 0.0), |sum, &term| term.plus(sum))
}

/// The quadrant of `x` half-turns and what is left, at most a quarter, without error: x is
/// quadrant / 2 + rest, give or take whole turns.
pub fn reduced(x: f64) -> (u32, f64) {
    // Halving and doubling have no error, nor has the subtraction of numbers so close.
    let turn = x - 2.0 * (x * 0.5).round();
    let quadrant = (turn * 2.0).round();
    (quadrant.rem_euclid(4.0) as u32, turn - quadrant * 0.5)
}

/// sin(pi x) and cos(pi x).
pub fn sin_cos_pi(x: f64) -> (Value, Value) {
    let (quadrant, rest) = reduced(x);
    // Far from the range where products lose their low part; the sine is proportional there.
    let shift = if rest != 0.0 && rest.abs() < 1e-100 { 600 } else { 0 };
    let scaled = if shift == 0 { rest } else { rest * 2_f64.powi(shift) };
    let angle = PI.times(DoubleDouble::new(scaled, 0.0));
    let (sine, cosine) = if shift == 0 {
        let square = angle.times(angle).negated();
        (
            series(angle, square, |k| 2.0 * k * (2.0 * k + 1.0)),
            series(ONE, square, |k| 2.0 * k * (2.0 * k - 1.0)),
        )
    } else {
        (angle, ONE)
    };
    let sine = Value { number: sine, exponent: -shift };
    let cosine = Value { number: cosine, exponent: 0 };
    turned(quadrant, sine, cosine)
}

/// Sine and cosine `quadrant` right angles further on.
fn turned(quadrant: u32, sine: Value, cosine: Value) -> (Value, Value) {
    let negative = |v: Value| Value { number: v.number.negated(), ..v };
    match quadrant & 3 {
        0 => (sine, cosine),
        1 => (cosine, negative(sine)),
        2 => (negative(sine), negative(cosine)),
        _ => (negative(cosine), sine),
    }
}

/// sin x and cos x of radians, for |x| below 2^30.
pub fn sin_cos(x: f64) -> (Value, Value) {
    /// pi/2 in parts of 23 bits: multiples of them by numbers below 2^30 have no error.
    const HALF_PI: [f64; 8] = [
        1.570_796_251_296_997,
        7.549_789_415_861_596e-8,
        5.390_300_835_891_87e-15,
        2.022_265_958_410_353_3e-21,
        2.903_855_540_388_854e-28,
        4.335_905_044_391_569_4e-35,
        2.067_031_553_599_288_4e-43,
        5.562_267_408_088_962e-50,
    ];
    let one = Value { number: ONE, exponent: 0 };
    let n = (x * consts::FRAC_2_PI).round();
    if n == 0.0 && x.abs() < 1e-100 {
        // Where nothing is subnormal.
        let sine = DoubleDouble::new(x * 2_f64.powi(600), 0.0);
        return (Value { number: sine, exponent: -600 }, one);
    }
    // From the largest on: the sum shrinks as fast as the parts do, and stays exact.
    let angle = HALF_PI.iter().fold(DoubleDouble::new(x, 0.0), |rest, &part| {
        rest.plus(DoubleDouble::new(-n * part, 0.0))
    });
    let square = angle.times(angle).negated();
    let sine = series(angle, square, |k| 2.0 * k * (2.0 * k + 1.0));
    let cosine = series(ONE, square, |k| 2.0 * k * (2.0 * k - 1.0));
    let value = |number| Value { number, exponent: 0 };
    turned(n.rem_euclid(4.0) as u32, value(sine), value(cosine))
}

/// e^x for arguments whose result is no further out than twice the range of `f64`.
pub fn exp(x: f64) -> Value {
    exp_of(DoubleDouble::new(x, 0.0))
}

fn exp_of(x: DoubleDouble) -> Value {
    let n = (x.high * consts::LOG2_E).round();
    let rest = DoubleDouble::sum(x.high - n * LN_2[0], -n * LN_2[1])
        .plus(DoubleDouble::new(x.low, 0.0))
        .plus(DoubleDouble::product(-n, LN_2[2]));
    Value { number: series(ONE, rest, |k| k), exponent: n as i32 }
}

/// ln x of a positive finite number.
pub fn ln(x: f64) -> Value {
    let lift = if x < f64::MIN_POSITIVE { 100 } else { 0 };
    let x = x * 2_f64.powi(lift);
    let above = x.to_bits().wrapping_sub(consts::FRAC_1_SQRT_2.to_bits()) as i64 >> 52;
    let f = scaled(x, -above as i32) - 1.0;
    let k = above as f64 - f64::from(lift);
    plain(LN_2_SUM.times(DoubleDouble::new(k, 0.0)).plus(ln_near_1(f)))
}

const LN_2_SUM: DoubleDouble = DoubleDouble::new(consts::LN_2, 2.319_046_813_846_299_6e-17);

/// ln(1 + f) for |f| below one half, as 2 artanh(f / (2 + f)).
fn ln_near_1(f: f64) -> DoubleDouble {
    let s = DoubleDouble::new(f, 0.0).divided_by(DoubleDouble::sum(2.0, f));
    let square = s.times(s);
    let mut power = s;
    let mut terms = [s; 24];
    for (k, term) in terms.iter_mut().enumerate() {
        *term = power.over(2.0 * k as f64 + 1.0);
        power = power.times(square);
    }
    let half = terms.iter().rev().fold(DoubleDouble::new(0.0, 0.0), |sum, &term| term.plus(sum));
    half.plus(half)
}

fn plain(number: DoubleDouble) -> Value {
    Value { number, exponent: 0 }
}

/// Below, what begins with its argument is its argument.
const LINEAR: f64 = 1e-100;

/// A number, whatever its size, as it is computed with.
fn linear(x: f64) -> Value {
    Value { number: DoubleDouble::new(scaled(x, 600), 0.0), exponent: -600 }
}

/// ln of a positive number.
fn ln_of(x: DoubleDouble) -> DoubleDouble {
    let rest = x.low / x.high;
    ln(x.high).number.plus(DoubleDouble::sum(rest, -0.5 * rest * rest))
}

/// ln(1 + x) of a finite x above -1.
pub fn ln_1p(x: f64) -> Value {
    if x.abs() < LINEAR {
        linear(x)
    } else if x.abs() < 0.4 {
        plain(ln_near_1(x))
    } else {
        plain(ln_of(DoubleDouble::sum(1.0, x)))
    }
}

/// The logarithm to base 2 of a positive finite number.
pub fn log2(x: f64) -> Value {
    plain(ln(x).number.divided_by(LN_2_SUM))
}

/// The logarithm to base 10 of a positive finite number.
pub fn log10(x: f64) -> Value {
    plain(ln(x).number.divided_by(ln(10.0).number))
}

/// e^x - 1 where [`exp`] is good.
pub fn exp_m1(x: f64) -> Value {
    let number = DoubleDouble::new(x, 0.0);
    if x.abs() < LINEAR {
        return linear(x);
    } else if x.abs() < 0.5 {
        return plain(series(number, number, |k| k + 1.0));
    }
    let Value { number, exponent } = exp(x);
    if exponent < 0 {
        plain(number.scaled(exponent).minus(ONE))
    } else {
        Value { number: number.minus(ONE.scaled(-exponent)), exponent }
    }
}

/// sinh x and cosh x where [`exp`] of both signs is good.
pub fn sinh_cosh(x: f64) -> (Value, Value) {
    let number = DoubleDouble::new(x, 0.0);
    if x.abs() < LINEAR {
        return (linear(x), plain(ONE));
    } else if x.abs() < 0.5 {
        let square = number.times(number);
        return (
            plain(series(number, square, |k| 2.0 * k * (2.0 * k + 1.0))),
            plain(series(ONE, square, |k| 2.0 * k * (2.0 * k - 1.0))),
        );
    }
    let (up, down) = (exp(x.abs()), exp(-x.abs()));
    let exponent = up.exponent - 1;
    let down = down.number.scaled(down.exponent - up.exponent);
    let sinh = up.number.minus(down);
    let sinh = if x < 0.0 { sinh.negated() } else { sinh };
    (Value { number: sinh, exponent }, Value { number: up.number.plus(down), exponent })
}

/// The first over the second.
pub fn quotient((above, below): (Value, Value)) -> Value {
    Value {
        number: above.number.divided_by(below.number),
        exponent: above.exponent - below.exponent,
    }
}

/// The root of 1 - x^2.
fn other_leg(x: f64) -> DoubleDouble {
    DoubleDouble::sum(1.0, -x).times(DoubleDouble::sum(1.0, x)).sqrt()
}

/// arcsin x in [-1, 1].
pub fn asin(x: f64) -> Value {
    if x.abs() < LINEAR {
        return linear(x);
    }
    // The sine of the distance from an angle nearby is that distance.
    let near = x.asin();
    let (sine, cosine) = sin_cos(near);
    let x_cosine = cosine.number.times(DoubleDouble::new(x, 0.0));
    plain(DoubleDouble::new(near, 0.0).plus(x_cosine.minus(other_leg(x).times(sine.number))))
}

/// arccos x in [-1, 1].
pub fn acos(x: f64) -> Value {
    let near = x.acos();
    if near == 0.0 {
        return plain(DoubleDouble::new(0.0, 0.0));
    }
    let (sine, cosine) = sin_cos(near);
    let x_sine = sine.number.times(DoubleDouble::new(x, 0.0));
    plain(DoubleDouble::new(near, 0.0).plus(other_leg(x).times(cosine.number).minus(x_sine)))
}

/// The angle of a point with finite coordinates that are not zero.
pub fn atan2(y: f64, x: f64) -> Value {
    let normal = |v: f64| {
        let lift = if v.abs() < f64::MIN_POSITIVE { 100 } else { 0 };
        let exponent = binade(scaled(v, lift)) - lift;
        (DoubleDouble::new(scaled(v, -exponent), 0.0), exponent)
    };
    let ((height, height_exponent), (width, width_exponent)) = (normal(y), normal(x));
    let exponent = height_exponent - width_exponent;
    if exponent < -300 && x > 0.0 {
        return Value { number: height.divided_by(width), exponent };
    }
    let height = height.scaled(exponent.clamp(-1000, 0));
    let width = width.scaled((-exponent).clamp(-1000, 0));
    // The tangent of the distance from an angle nearby is that distance.
    let near = height.high.atan2(width.high);
    let (sine, cosine) = sin_cos(near);
    let across = height.times(cosine.number).minus(width.times(sine.number));
    let along = width.times(cosine.number).plus(height.times(sine.number));
    plain(DoubleDouble::new(near, 0.0).plus(across.divided_by(along)))
}

/// The error function of a finite number.
pub fn erf(x: f64) -> Value {
    // 2 over the root of pi.
    let factor = DoubleDouble::new(2.0, 0.0).divided_by(PI.sqrt());
    if x.abs() < LINEAR {
        let Value { number, exponent } = linear(x);
        return Value { number: number.times(factor), exponent };
    }
    // What is missing to 1 is below 1e-32 there.
    let number = DoubleDouble::new(x.clamp(-8.5, 8.5), 0.0);
    // e^(-x^2) times the sum of 2^n x^(2n + 1) / (1 3 5 ... (2n + 1)), in which nothing cancels.
    let square = number.times(number);
    let mut term = number;
    let mut sum = number;
    let mut odd = 3.0;
    while term.high.abs() > 1e-33 * sum.high.abs() {
        term = term.times(square).scaled(1).over(odd);
        sum = sum.plus(term);
        odd += 2.0;
    }
    let Value { number: exp, exponent } = exp_of(square.negated());
    Value { number: sum.times(factor).times(exp), exponent }
}

/// The gamma function of x between -300 and 300 that is not zero and no negative integer.
pub fn gamma(x: f64) -> Value {
    let size = x.abs();
    let itself = if size < LINEAR { linear(size) } else { plain(DoubleDouble::new(size, 0.0)) };
    // Stirling's series of the logarithm from here on; what is passed on the way divides.
    let mut product = ONE;
    let mut factors = 0;
    let mut high = DoubleDouble::new(size, 0.0);
    while high.high < 40.0 {
        // The first may be out of reach of products.
        product = product.times(if factors == 0 { itself.number } else { high });
        factors += 1;
        high = DoubleDouble::sum(f64::from(factors), size);
    }
    /// Bernoulli's numbers 2, 4, ...
    const BERNOULLI: [(f64, f64); 12] = [
        (1.0, 6.0),
        (-1.0, 30.0),
        (1.0, 42.0),
        (-1.0, 30.0),
        (5.0, 66.0),
        (-691.0, 2730.0),
        (7.0, 6.0),
        (-3617.0, 510.0),
        (43867.0, 798.0),
        (-174_611.0, 330.0),
        (854_513.0, 138.0),
        (-236_364_091.0, 2730.0),
    ];
    let inverse = ONE.divided_by(high);
    let square = inverse.times(inverse);
    let mut rest = DoubleDouble::new(0.0, 0.0);
    for (nth, (above, below)) in BERNOULLI.into_iter().enumerate().rev() {
        let twice = 2.0 * (nth as f64 + 1.0);
        let term = DoubleDouble::new(above, 0.0).over(below).over(twice * (twice - 1.0));
        rest = rest.times(square).plus(term);
    }
    let half = DoubleDouble::new(0.5, 0.0);
    let turn = PI.plus(PI);
    let log = high.minus(half).times(ln_of(high)).minus(high);
    let log = log.plus(half.times(ln_of(turn))).plus(rest.times(inverse));
    let Value { number, exponent } = exp_of(log);
    let number = number.divided_by(product);
    // Which is 0 where there is no factor.
    let exponent = exponent - itself.exponent;
    if x > 0.0 {
        return Value { number, exponent };
    }
    let (sine, _) = sin_cos_pi(size);
    let divisor = sine.number.times(number).times(itself.number).negated();
    let exponent = -(sine.exponent + exponent + itself.exponent);
    Value { number: PI.divided_by(divisor), exponent }
}

/// x^y of a positive finite x, where the result is no further out than twice the range of `f64`.
pub fn pow(x: f64, y: f64) -> Value {
    exp_of(ln(x).number.times(DoubleDouble::new(y, 0.0)))
}

/// 2^`exponent` times `x`; no error unless the result is subnormal.
fn scaled(mut x: f64, mut exponent: i32) -> f64 {
    while exponent != 0 {
        let step = exponent.clamp(-1000, 1000);
        x *= 2_f64.powi(step);
        exponent -= step;
    }
    x
}

/// How far `got` is from `exact`, in units in the last place of the `f64` nearest to `exact`.
pub fn ulps(got: f64, exact: Value) -> f64 {
    let Value { number, exponent } = exact;
    if number.high == 0.0 {
        return if got == 0.0 { 0.0 } else { f64::INFINITY };
    }
    if exponent + binade(number.high) >= 1024 {
        return if got == f64::INFINITY.copysign(number.high) { 0.0 } else { f64::INFINITY };
    }
    // Compared at the scale of `number`, where nothing is subnormal; infinity counts as 2^1024.
    let got = if got.is_infinite() {
        scaled(got.signum(), 1024 - exponent)
    } else {
        scaled(got, -exponent)
    };
    let unit = 2_f64.powi((binade(number.high) - 52).max(-1074 - exponent));
    ((got - number.high) - number.low).abs() / unit
}

/// The binary exponent of a normal number.
fn binade(x: f64) -> i32 {
    (x.to_bits() >> 52 & 0x7ff) as i32 - 1023
}
