//! Every model of the list.

use std::{format, string::String, vec, vec::Vec};

use super::*;
use crate::math::{Dual, Lanes, Scalar};

/// The sizes to try a model with: the usual, and larger ones.
fn shapes(info: &Info) -> Vec<Shape> {
    let columns = match info.columns {
        Columns::Exactly(exactly) => exactly,
        Columns::AtLeast(least) => least + 2,
    };
    let usual = Shape::of(info, columns);
    let mut larger = usual;
    for (size, info) in larger.sizes.iter_mut().zip(info.sizes) {
        *size = (info.usual + 1).min(info.most);
    }
    vec![usual, larger]
}

struct Wide<'a>(&'a [f64]);

impl Point<Lanes<f64, 8>> for Wide<'_> {
    fn at(&self, parameter: u32) -> Lanes<f64, 8> {
        Lanes::splat(self.0[parameter as usize])
    }
}

struct Line(Vec<f64>);

impl Rows<f64> for Line {
    fn argument(&self, _: usize, column: u32) -> f64 {
        self.0[column as usize]
    }
    fn target(&self, _: usize) -> f64 {
        0.5
    }
    fn is_weighted(&self) -> bool {
        false
    }
    fn weight(&self, _: usize) -> f64 {
        1.0
    }
}

struct Check(Vec<f64>, Shape);

impl Visitor for Check {
    type Output = ();

    /// Lanes give the bits of one number, and as many residuals at once those of one at a time.
    fn visit<M: Model>(self, model: M) {
        let Check(parameters, shape) = self;
        let arguments: Vec<f64> = (0..shape.columns).map(|c| 0.75 + f64::from(c)).collect();
        let alone = predict(&model, &parameters, &arguments, &shape);
        assert!(alone.is_finite(), "{}: {alone}", M::INFO.name);
        let rows = Line(arguments);
        let row = Row::new(&rows, 0);
        let wide = model.predict::<Lanes<f64, 8>>(&Wide(&parameters), row, &shape);
        assert_eq!(wide.0, [alone; 8], "{}", M::INFO.name);
        let one = model.residuals::<Lanes<f64, 8>, _, 1>(&Wide(&parameters), [row], &shape);
        let four = model.residuals::<Lanes<f64, 8>, _, 4>(&Wide(&parameters), [row; 4], &shape);
        assert_eq!(four, [one[0]; 4], "{}", M::INFO.name);
        let apart = (one[0].0[0] - (0.5 - alone)).abs();
        assert!(apart <= 1e-15 * (1.0 + alone.abs()), "{}: {apart}", M::INFO.name);
    }
}

struct Linearity(Vec<f64>, Shape);

impl Visitor for Linearity {
    type Output = ();

    /// Twice the change of the linear parameters, together, has twice the effect.
    fn visit<M: Model>(self, model: M) {
        let Linearity(parameters, shape) = self;
        let arguments: Vec<f64> = (0..shape.columns).map(|c| 0.75 + f64::from(c)).collect();
        let moved = |times: f64| {
            let move_one = |(index, x): (usize, &f64)| {
                let linear = (M::INFO.linear)(index as u32, &shape);
                if linear { x + times * (1.0 + 0.3 * index as f64) } else { *x }
            };
            let moved: Vec<f64> = parameters.iter().enumerate().map(move_one).collect();
            predict(&model, &moved, &arguments, &shape)
        };
        let (once, twice) = (moved(1.0) - moved(0.0), moved(2.0) - moved(0.0));
        assert!((twice - 2.0 * once).abs() <= 1e-9 * once.abs(), "{}", M::INFO.name);
    }
}

#[test]
fn models_have_what_they_say() {
    let mut seen: Vec<&str> = Vec::new();
    for info in MODELS {
        assert!(!seen.contains(&info.name), "{} twice", info.name);
        seen.push(info.name);
        for shape in shapes(info) {
            let count = (info.parameters)(&shape);
            let mut names: Vec<String> = Vec::new();
            let mut inside = Vec::new();
            for index in 0..count {
                let parameter = (info.parameter)(index, &shape);
                let name = format!("{parameter}");
                assert!(!names.contains(&name), "{}: {name} twice", info.name);
                names.push(name);
                let (lower, upper) = parameter.range.bounds(3.0, 2.0, (0.1, 2.0));
                assert!(lower < upper, "{}: {} to {upper}", info.name, lower);
                inside.push(lower + 0.55 * (upper - lower));
            }
            if let Some(order) = (info.order)(&shape) {
                assert_eq!(order.first + order.groups * order.length, count, "{}", info.name);
                assert!(order.key < order.length);
            }
            assert!(with_model(info.name, Linearity(inside.clone(), shape)).is_ok());
            let check = with_model(info.name, Check(inside, shape));
            assert!(check.is_ok(), "{} is not found", info.name);
        }
    }
}

#[test]
fn the_sum_grows_errors_as_documented() {
    // Ten million squares in f32, against f64: the same rows again and again, so that no memory is
    // needed.
    const ROWS: usize = 10_000_000;
    struct Noise;
    impl Rows<f32> for Noise {
        fn argument(&self, row: usize, _: u32) -> f32 {
            ((row as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32
        }
        fn target(&self, _: usize) -> f32 {
            0.0
        }
        fn is_weighted(&self) -> bool {
            false
        }
        fn weight(&self, _: usize) -> f32 {
            1.0
        }
    }
    struct One;
    impl Point<f32> for One {
        fn at(&self, _: u32) -> f32 {
            1.0
        }
    }
    let shape = Shape::of(&Linear::INFO, 1);
    let sum = evaluate::group::<_, f32, 4>(&Linear, &shape, &Loss::SQUARES, &One, &Noise, 0, ROWS);
    let exact: f64 = (0..ROWS).map(|row| f64::from(Noise.argument(row, 0)).powi(2)).sum();
    let plain: f32 =
        (0..ROWS).map(|row| Noise.argument(row, 0)).fold(0.0, |sum, x| x.mul_add(x, sum));
    let error = |sum: f32| (f64::from(sum) / exact - 1.0).abs();
    let bound = (256.0 + (ROWS as f64 / 256.0).log2().ceil()) * f64::from(f32::EPSILON) / 2.0;
    std::println!("error {:.1e}, bound {bound:.1e}, plain {:.1e}", error(sum), error(plain));
    assert!(error(sum) < bound);
    assert!(error(plain) > 10.0 * error(sum), "the order is worth its trouble");
}

/// Parameters and arguments in one type.
struct Given<T>(Vec<T>);

impl<T: Copy> Point<T> for Given<T> {
    fn at(&self, parameter: u32) -> T {
        self.0[parameter as usize]
    }
}

impl<S: Scalar> Rows<S> for Given<S> {
    fn argument(&self, _: usize, column: u32) -> S {
        self.0[column as usize]
    }
    fn target(&self, _: usize) -> S {
        S::ZERO
    }
    fn is_weighted(&self) -> bool {
        false
    }
    fn weight(&self, _: usize) -> S {
        S::of(1.0)
    }
}

/// A model's value.
fn value<S: Scalar, M: Model>(model: M, parameters: &[f64], arguments: &[f64]) -> f64 {
    let given = |numbers: &[f64]| Given(numbers.iter().map(|&x| S::nearest(x)).collect());
    let rows: Given<S> = given(arguments);
    let shape = Shape::of(&M::INFO, arguments.len() as u32);
    model.predict::<S>(&given(parameters), Row::new(&rows, 0), &shape).to_f64()
}

/// A model's value and slopes.
fn slopes<S: Scalar, M: Model>(model: M, parameters: &[f64], arguments: &[f64]) -> Vec<f64> {
    let along = |(nth, &x): (usize, &f64)| Dual::<S, 8>::along(S::nearest(x), nth);
    let point = Given(parameters.iter().enumerate().map(along).collect());
    let rows = Given(arguments.iter().map(|&x| S::nearest(x)).collect());
    let shape = Shape::of(&M::INFO, arguments.len() as u32);
    let dual = model.predict::<Dual<S, 8>>(&point, Row::new(&rows, 0), &shape);
    [dual.value].into_iter().chain(dual.slope).map(S::to_f64).collect()
}

/// Checks the value in both precisions, the lanes of `f32` at several places, and the slopes against
/// central differences.
fn check_at<M: Model>(model: M, parameters: &[f64], arguments: &[f64], expected: f64) {
    let what = format!("{} of {parameters:?} at {arguments:?}", M::INFO.name);
    let (long, short) = (
        value::<f64, M>(model, parameters, arguments),
        value::<f32, M>(model, parameters, arguments),
    );
    assert!((long / expected - 1.0).abs() < 3e-14, "{what}: {long}, not {expected}");
    assert!((short / expected - 1.0).abs() < 1e-5, "{what}: {short}, not {expected}");

    // Each lane has other parameters, so that choices between branches differ.
    let lane = |nth: usize| -> Vec<f64> {
        parameters.iter().map(|x| x * (1.0 + 0.07 * nth as f64)).collect()
    };
    let wide = |parameter: usize| -> Lanes<f32, 8> {
        Lanes(core::array::from_fn(|nth| lane(nth)[parameter] as f32))
    };
    let point = Given((0..parameters.len()).map(wide).collect());
    let rows = Given(arguments.iter().map(|&x| x as f32).collect());
    let shape = Shape::of(&M::INFO, arguments.len() as u32);
    let lanes = model.predict::<Lanes<f32, 8>>(&point, Row::new(&rows, 0), &shape);
    for (nth, found) in lanes.0.into_iter().enumerate() {
        let alone = value::<f32, M>(model, &lane(nth), arguments) as f32;
        assert_eq!(found.to_bits(), alone.to_bits(), "lane {nth} for {what}");
    }

    let exact = slopes::<f64, M>(model, parameters, arguments);
    assert_eq!(exact[0].to_bits(), long.to_bits(), "{what}");
    for nth in 0..parameters.len() {
        // As small as the other lengths: some of these are a thousandth.
        let step = 1e-5 * parameters[nth].abs().max(1e-2);
        let moved = |by: f64| {
            let mut moved = parameters.to_vec();
            moved[nth] += by;
            value::<f64, M>(model, &moved, arguments)
        };
        let difference = (moved(step) - moved(-step)) / (2.0 * step);
        let apart = (exact[nth + 1] - difference).abs();
        let scale = exact[1..].iter().fold(long.abs(), |most, slope| most.max(slope.abs()));
        assert!(
            apart < 1e-6 * scale,
            "slope {nth} for {what}: {}, not {difference}",
            exact[nth + 1]
        );
    }
}

#[test]
fn spots_and_peaks_have_the_values_of_their_formulas() {
    // By mpmath with 110 digits, as all numbers here that are not exact.
    let at = [2.5, 1.5];
    check_at(Gaussian2d, &[3.0, 1.0, 2.0, 0.75, 0.25], &at, 0.575_104_069_665_687_6);
    let round = [3.0, 1.0, 2.0, 0.75, 0.75, 0.25];
    check_at(Gaussian2dElliptic, &round, &at, 0.575_104_069_665_687_6);
    let wide = [3.0, 1.0, 2.0, 2.0, 0.75, 0.25];
    check_at(Gaussian2dElliptic, &wide, &at, 2.063_284_907_546_304_2);
    let turned = |angle: f64| [3.0, 1.0, 2.0, 2.0, 0.75, 0.25, angle];
    check_at(Gaussian2dRotated, &turned(0.0), &at, 2.063_284_907_546_304_2);
    check_at(Gaussian2dRotated, &turned(0.5), &at, 1.038_115_484_394_46);
    // A quarter turn exchanges the widths; half a turn changes nothing.
    let exchanged = [3.0, 1.0, 2.0, 0.75, 2.0, 0.25, 0.5 - core::f64::consts::FRAC_PI_2];
    check_at(Gaussian2dRotated, &exchanged, &at, 1.038_115_484_394_46);
    let opposite = turned(0.5 - core::f64::consts::PI);
    check_at(Gaussian2dRotated, &opposite, &at, 1.038_115_484_394_46);
    // Counter-clockwise: at a positive angle the longer axis goes up to the right.
    let beside = |y: f64| value::<f64, _>(Gaussian2dRotated, &turned(0.5), &[2.0, 2.0 + y]);
    assert!(beside(0.5) > 1.0 + beside(-0.5));

    let shape = Shape { columns: 1, sizes: [2, 0] };
    let two = [1.0, 0.5, 3.0, 2.25, 0.5, -2.0, 4.0, 0.25];
    let found = predict(&Lorentzians, &two, &[3.0], &shape);
    assert!((found - 3.305_429_864_253_393_5).abs() < 1e-14, "{found}");
    check_at(Lorentzians, &[1.0, 0.5, 3.0, 2.25, 0.5], &[3.0], 2.5 + 3.0 / 3.25);
}

#[test]
fn voigt_has_the_values_of_its_integral() {
    // By mpmath with 110 digits: Re w(z) / (sigma sqrt(2 pi)).
    for (apart, sigma, gamma, expected) in [
        (0.0, 1.0, 1.0, 0.208_709_280_520_367_7),
        (1.5, 1.0, 0.001, 0.129_558_323_476_443_3),
        (4.0, 1.0, 0.001, 0.000_159_798_589_219_519_45),
        (-4.0, 1.0, 0.001, 0.000_159_798_589_219_519_45),
        (5.5, 1.0, 0.000_976_562_5, 1.163_028_037_654_574e-5),
        (8.0, 0.5, 0.25, 0.001_256_999_281_628_835_9),
        (0.75, 2.0, 2.0, 0.100_942_256_572_807_8),
        (3.0, 0.0625, 1.0, 0.031_863_363_080_731_684),
        (0.25, 0.001, 1.0, 0.299_585_559_613_253_4),
        (100.0, 1.0, 0.5, 1.591_987_307_078_355_8e-5),
    ] {
        check_at(Voigt, &[1.0, 0.0, sigma, gamma, 0.0], &[apart], expected);
        let other = value::<f64, _>(Voigt, &[1.0, 0.0, -sigma, -gamma, 0.0], &[-apart]);
        assert!((other / expected - 1.0).abs() < 3e-14, "{other}");
        // The same in other units.
        let small = [1e-9, 0.0, 1e-9 * sigma, 1e-9 * gamma, 0.0];
        let same = value::<f32, _>(Voigt, &small, &[1e-9 * apart]);
        assert!((same / expected - 1.0).abs() < 1e-5, "{same}");
    }
    for apart in [-9.0, -3.0, -0.5, 0.0, 1e-3, 1.0, 2.0, 5.0] {
        let lorentzian = 1.0 / (core::f64::consts::PI * (apart * apart + 1.0));
        let of = |sigma: f64, gamma: f64| [1.0, 0.0, sigma, gamma, 0.0];
        check_at(Voigt, &of(1e-30, 1.0), &[apart], lorentzian);
        let found = value::<f64, _>(Voigt, &of(0.0, 1.0), &[apart]);
        assert!((found / lorentzian - 1.0).abs() < 1e-15);
        let normal = Real::exp(-0.5 * apart * apart) / (2.0 * core::f64::consts::PI).sqrt();
        let found = value::<f64, _>(Voigt, &of(1.0, 0.0), &[apart]);
        assert!((found / normal - 1.0).abs() < 1e-14, "{found} at {apart}");
    }
}

#[test]
fn voigt_has_no_steps_where_it_changes_grids() {
    // Numbers a hair apart, on both sides of each change and of the end of what the rule leaves out.
    let half_step = (core::f64::consts::PI / 48.0).sqrt();
    let check = |apart: f64, gamma: f64| {
        let at = |apart: f64, gamma: f64| {
            value::<f64, _>(
                Voigt,
                &[1.0, 0.0, core::f64::consts::FRAC_1_SQRT_2, gamma, 0.0],
                &[apart],
            )
        };
        let (less, more) = (1.0 - 1e-14, 1.0 + 1e-14);
        let here = at(less * apart, less * gamma);
        for there in [at(more * apart, less * gamma), at(less * apart, more * gamma)] {
            let step = (there / here - 1.0).abs();
            assert!(step < 1e-14 * (4.0 + 4.0 * apart * apart), "{apart}, {gamma}: {step}");
        }
    };
    for nth in 0..36 {
        for gamma in [0.0, 1e-3, 0.1, 1.0, 4.0, 5.0] {
            check(half_step * (f64::from(nth) + 0.5), gamma);
        }
        check(0.25 * f64::from(nth), core::f64::consts::FRAC_PI_2 / half_step);
    }
}

#[test]
fn responses_have_the_values_of_their_formula() {
    // By mpmath with 110 digits.
    for (after, rate, sigma, expected) in [
        (0.0, 1.0, 1.0, 0.261_578_291_865_123_4),
        (-2.0, 0.5, 1.0, 0.019_127_115_762_597_728),
        (1.0, 0.5, 0.25, 0.611_255_149_449_729_9),
        (3.0, 0.5, 0.25, 0.224_880_191_684_164_26),
        (-10.0, 2.0, 1.0, 6.368_533_544_510_253e-24),
        (40.0, 0.5, 0.25, 2.077_319_450_656_766e-9),
        (0.5, 8.0, 2.0, 0.024_452_561_619_906_193),
        (-1.0, 100.0, 0.5, 0.001_037_904_260_610_272_8),
        (20.0, 0.03125, 8.0, 0.545_501_455_187_321_1),
        (1.0, 0.0, 2.0, 0.691_462_461_274_013_1),
    ] {
        check_at(ExponentialResponse, &[1.0, rate, 0.0, sigma, 0.0], &[after], expected);
    }
    // Without an instrument's width, the decay alone.
    let sharp = [3.0, 0.5, 1.0, 0.0, 10.0];
    let decay = 10.0 + 3.0 * Real::exp(-0.5_f64);
    assert!((value::<f64, _>(ExponentialResponse, &sharp, &[2.0]) - decay).abs() < 1e-14);
    assert_eq!(value::<f64, _>(ExponentialResponse, &sharp, &[0.5]), 10.0);
}

#[test]
fn doses_have_the_values_of_hills_formula() {
    // By mpmath with 110 digits.
    for (dose, half, slope, expected) in [
        (1.0, 4.0, 1.5, 2.111_111_111_111_111),
        (100.0, 0.5, 3.0, 10.999_998_750_000_156),
        (0.125, 0.5, 2.5, 1.303_030_303_030_303),
        (0.25, 0.25, 7.0, 6.0),
    ] {
        check_at(Hill, &[1.0, 11.0, half, slope], &[dose], expected);
        // What falls is what rises from the other end.
        check_at(Hill, &[11.0, 1.0, half, slope], &[dose], 12.0 - expected);
    }
    let at = |dose: f64, slope: f64| value::<f64, _>(Hill, &[1.0, 11.0, 2.0, slope], &[dose]);
    assert_eq!([at(0.0, 0.1), at(-1.0, 0.1), at(0.0, -2.0)], [1.0, 1.0, 11.0]);
    assert_eq!([at(1e300, 10.0), at(1e-300, 10.0)], [11.0, 1.0]);
    // Michaelis and Menten's, with one site.
    let shape = Shape::of(&MichaelisMenten::INFO, 1);
    let kinetics = predict(&MichaelisMenten, &[11.0, 2.0], &[3.0], &shape);
    let hill = value::<f64, _>(Hill, &[0.0, 11.0, 2.0, 1.0], &[3.0]);
    assert!((hill - kinetics).abs() < 1e-14);
}

#[test]
fn slopes_are_numbers_where_values_are() {
    fn check<M: Model>(model: M, parameters: &[f64], arguments: &[f64]) {
        for numbers in [
            slopes::<f64, M>(model, parameters, arguments),
            slopes::<f32, M>(model, parameters, arguments),
        ] {
            let what = format!("{} of {parameters:?} at {arguments:?}", M::INFO.name);
            assert!(numbers.iter().all(|x| x.is_finite()), "{what}: {numbers:?}");
        }
    }
    let sizes = [0.0, 1e-10, 1e-3, 0.5, 3.0, 1e8];
    for at in [0.0, 1e-20, 0.25, 0.250_001, 3.0, 1e8] {
        for one in sizes {
            for other in sizes {
                check(Gaussian2d, &[1.0, 0.25, 0.5, one, 0.0], &[at, other]);
                check(Gaussian2dElliptic, &[1.0, 0.25, 0.5, one, other, 0.0], &[at, 0.5]);
                check(Gaussian2dRotated, &[1.0, 0.25, 0.5, one, other, 0.0, 0.3], &[at, 0.7]);
                check(ExponentialResponse, &[1.0, one, 0.25, other, 0.0], &[at]);
                check(Hill, &[1.0, 2.0, one, other], &[at]);
                if one + other > 0.0 {
                    check(Voigt, &[1.0, 0.25, one, other, 0.0], &[at]);
                }
            }
            if (at, one) != (0.25, 0.0) {
                check(Lorentzians, &[0.0, 0.0, 1.0, 0.25, one], &[at]);
            }
        }
    }
}
