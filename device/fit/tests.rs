//! Every model of the list.

use std::{format, string::String, vec, vec::Vec};

use super::*;
use crate::math::Lanes;

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
