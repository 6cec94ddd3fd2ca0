//! Every registered function against values that were computed elsewhere, with 40 digits.

use std::{vec, vec::Vec};

use super::{Context, Data, Info, Minimum, Objective, evaluation::evaluate};
use crate::{
    gpu::memory::ReadOnly,
    math::Scalar,
    registry::{OBJECTIVES, Visitor, with_objective},
};

/// The function called `name` at a point, with data.
fn value<T: Scalar>(name: &str, x: &[f64], data: &[f64]) -> f64 {
    struct At<T>(Vec<T>, Vec<T>);
    impl<T: Scalar> Visitor for At<T> {
        type Output = f64;

        fn visit<O: Objective>(self, objective: O) -> f64 {
            // SAFETY: the data live until the end of this call.
            let data = unsafe { ReadOnly::new(self.1.as_ptr(), self.1.len()) };
            let context = Context { dims: self.0.len() as u32, data };
            evaluate(&objective, &self.0, &context).to_f64()
        }
    }
    let convert = |list: &[f64]| list.iter().map(|&v| T::nearest(v)).collect();
    match with_objective(name, At::<T>(convert(x), convert(data))) {
        Ok(value) => value,
        Err(_) => panic!("{name} is not registered"),
    }
}

#[track_caller]
fn assert_close<T: Scalar>(name: &str, got: f64, expected: f64, relative: f64) {
    let off = (got - expected).abs();
    assert!(
        off <= relative * expected.abs(),
        "{name} in {} is {got:e} and should be {expected:e}: off by {:e} of it",
        T::NAME,
        off / expected.abs()
    );
}

/// Five numbers without pattern, exact in both precisions.
const FIVE: [f64; 5] = [0.5, -1.25, 3.0, 0.125, -2.75];

/// Forty, so that the terms are summed as a tree.
fn forty() -> Vec<f64> {
    (0..40).map(|k| f64::from(k % 7 - 3) * 0.375 + f64::from(k) / 64.0).collect()
}

/// Three rows of two coefficients, then three targets; at (0.5, -0.25) the residuals are 1.25, -2.5
/// and 4.25.
const TABLE: [f64; 9] = [1.0, 1.0, 2.0, -4.0, 0.0, 5.0, 1.5, -0.5, 3.0];

/// Points and values of a function, with its data.
fn known(name: &str) -> Vec<(Vec<f64>, f64, &'static [f64])> {
    let both =
        |five, forty_value| vec![(FIVE.to_vec(), five, &[][..]), (forty(), forty_value, &[])];
    match name {
        "sphere" => both(18.390_625, 26.401_367_187_5),
        "rastrigin" => both(61.319_557_188_134_525, 429.118_583_818_294_7),
        "rosenbrock" => both(9_083.149_414_062_5, 5_959.652_769_804_001),
        "ackley" => both(7.937_867_598_344_81, 4.724_474_617_761_345),
        "lennard_jones" => {
            let atoms = [0.0, 0.0, 0.0, 1.25, 0.0, 0.5, -0.75, 1.0, 0.25, 0.5, 0.625, -1.0];
            vec![(atoms.to_vec(), -2.234_739_723_599_542_3, &[])]
        }
        "calibration" => {
            vec![(vec![0.5, -0.25], 1.25 * 1.25 + 2.5 * 2.5 + 4.25 * 4.25, &TABLE)]
        }
        _ => panic!("{name} has no known values here: add some"),
    }
}

#[test]
fn every_function_has_its_known_values() {
    for info in OBJECTIVES {
        for (x, expected, data) in known(info.name) {
            assert_eq!(data.is_empty(), info.data == Data::None);
            assert_close::<f64>(info.name, value::<f64>(info.name, &x, data), expected, 3e-15);
            assert_close::<f32>(info.name, value::<f32>(info.name, &x, data), expected, 1e-6);
        }
    }
}

#[test]
fn every_function_bears_the_name_of_its_module() {
    struct Name;
    impl Visitor for Name {
        type Output = &'static str;
        fn visit<O: Objective>(self, _: O) -> &'static str {
            O::INFO.name
        }
    }
    // `with_objective` goes by the module's name.
    for &Info { name, .. } in OBJECTIVES {
        assert_eq!(with_objective(name, Name).ok(), Some(name));
        assert_eq!(OBJECTIVES.iter().filter(|info| info.name == name).count(), 1, "{name} twice");
    }
    assert!(with_objective("no such function", Name).is_err());
}

#[test]
fn every_function_has_its_minimum_where_it_says() {
    for info in OBJECTIVES {
        let Minimum::At { coordinate, value: minimum } = info.minimum else { continue };
        for dims in [1, 2, 3, 31, 32, 33, 100, 1000] {
            if !info.dimensions.contains(dims) {
                continue;
            }
            let at = vec![coordinate; dims as usize];
            // Exactly, not nearly: all of them are 0 there without rounding.
            assert_eq!(value::<f64>(info.name, &at, &[]), minimum, "{} in {dims}", info.name);
            assert_eq!(value::<f32>(info.name, &at, &[]), minimum, "{} in {dims}", info.name);
            for (d, step) in [(0, 1e-3), (dims as usize - 1, -1e-3), (dims as usize / 2, 0.7)] {
                let mut beside = at.clone();
                beside[d] += step;
                assert!(value::<f64>(info.name, &beside, &[]) > minimum, "{}", info.name);
                assert!(value::<f32>(info.name, &beside, &[]) > minimum, "{}", info.name);
            }
        }
        let (lower, upper) = info.interval;
        assert!(lower < coordinate && coordinate < upper, "{}", info.name);
    }
}

fn energy<T: Scalar>(atoms: &[[f64; 3]]) -> f64 {
    value::<T>("lennard_jones", atoms.as_flattened(), &[])
}

fn known_energy(atoms: u32) -> f64 {
    let info = OBJECTIVES.iter().find(|info| info.name == "lennard_jones").unwrap();
    let Minimum::Value(known) = info.minimum else { unreachable!() };
    known(3 * atoms).unwrap()
}

/// Where a function with one valley in the interval is least, by golden section.
fn valley(interval: [f64; 2], f: impl Fn(f64) -> f64) -> f64 {
    let golden = 0.5 * (5_f64.sqrt() - 1.0);
    let [mut low, mut high] = interval;
    while high - low > 1e-9 {
        let step = golden * (high - low);
        if f(high - step) < f(low + step) { high = low + step } else { low = high - step }
    }
    0.5 * (low + high)
}

/// At the distance 2^(1/6) a pair has its least energy, -1.
#[test]
fn clusters_of_two_to_four_atoms() {
    let r = 2_f64.powf(1.0 / 6.0);
    let height = 3_f64.sqrt() / 2.0;
    let tetrahedron = [
        [0.0, 0.0, 0.0],
        [r, 0.0, 0.0],
        [r * 0.5, r * height, 0.0],
        [r * 0.5, r * height / 3.0, r * (2.0_f64 / 3.0).sqrt()],
    ];
    for (atoms, expected) in [(2, -1.0), (3, -3.0), (4, -6.0)] {
        assert_eq!(known_energy(atoms), expected);
        let cluster = &tetrahedron[..atoms as usize];
        assert_close::<f64>("lennard_jones", energy::<f64>(cluster), expected, 1e-14);
        assert_close::<f32>("lennard_jones", energy::<f32>(cluster), expected, 1e-6);
    }
    for factor in [0.99, 1.01] {
        assert!(energy::<f64>(&[[0.0; 3], [0.0, r * factor, 0.0]]) > -1.0);
    }
    // Half of the pair's radius, twice of it: 4 (2^12 - 2^6) and 4 (2^-12 - 2^-6).
    assert_eq!(energy::<f64>(&[[1.0, 0.5, 2.0], [1.0, 0.0, 2.0]]), 16_128.0);
    assert_eq!(energy::<f64>(&[[1.0, 0.5, 2.0], [1.0, 0.5, 4.0]]), -0.061_523_437_5);
}

/// A pentagon and an atom above and below its centre.
#[test]
fn seven_atoms_form_a_bipyramid() {
    let bipyramid = |radius: f64, height: f64| {
        let mut atoms = [[0.0; 3]; 7];
        for (k, atom) in atoms[..5].iter_mut().enumerate() {
            let angle = 2.0 * std::f64::consts::PI * k as f64 / 5.0;
            *atom = [radius * angle.cos(), radius * angle.sin(), 0.0];
        }
        atoms[5][2] = height;
        atoms[6][2] = -height;
        atoms
    };
    let best_height =
        |radius| valley([0.4, 0.8], |height| energy::<f64>(&bipyramid(radius, height)));
    let radius = valley([0.8, 1.1], |r| energy::<f64>(&bipyramid(r, best_height(r))));
    let atoms = bipyramid(radius, best_height(radius));
    assert!((energy::<f64>(&atoms) - -16.505_384).abs() < 1e-6, "{}", energy::<f64>(&atoms));
    assert_close::<f32>("lennard_jones", energy::<f32>(&atoms), -16.505_384, 1e-6);
    assert_eq!(known_energy(7), -16.505_384);
}

/// An atom in the centre of an icosahedron.
#[test]
fn thirteen_atoms_form_an_icosahedron() {
    let icosahedron = |radius: f64| {
        let golden = 0.5 * (1.0 + 5_f64.sqrt());
        let unit = radius / (1.0 + golden * golden).sqrt();
        let mut atoms = vec![[0.0; 3]];
        for (a, b) in [(1.0, golden), (1.0, -golden), (-1.0, golden), (-1.0, -golden)] {
            let (a, b) = (a * unit, b * unit);
            atoms.extend([[0.0, a, b], [a, b, 0.0], [b, 0.0, a]]);
        }
        atoms
    };
    let atoms = icosahedron(valley([0.9, 1.3], |radius| energy::<f64>(&icosahedron(radius))));
    assert!((energy::<f64>(&atoms) - -44.326_801).abs() < 1e-6, "{}", energy::<f64>(&atoms));
    assert_close::<f32>("lennard_jones", energy::<f32>(&atoms), -44.326_801, 1e-6);
    assert_eq!(known_energy(13), -44.326_801);
}

#[test]
fn coinciding_atoms_have_infinite_energy() {
    fn check<T: Scalar>() {
        let distances = [0.0, 1e-320, 1e-300, 1e-160, 1e-100, 1e-40, 1e-30];
        for distance in distances {
            let pair = [[1e-5, 0.0, 0.0], [1e-5, distance, 0.0]];
            assert_eq!(energy::<T>(&pair), f64::INFINITY, "{distance:e} in {}", T::NAME);
            let with_others = [pair[0], pair[1], [3.0; 3], [-3.0; 3]];
            assert_eq!(energy::<T>(&with_others), f64::INFINITY, "{distance:e} in {}", T::NAME);
        }
        // As far apart as it gets: no energy, and no NaN.
        let far = if T::NAME == "f32" { 1e30 } else { 1e200 };
        assert_eq!(energy::<T>(&[[-far; 3], [far; 3]]), 0.0);
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn a_tables_order_is_row_by_row_and_then_the_targets() {
    // The residuals one by one: a single row of the table has one coefficient that differs.
    let one_row =
        |a: [f64; 2], b: f64| value::<f64>("calibration", &[0.5, -0.25], &[a[0], a[1], b]);
    let sum = one_row([1.0, 1.0], 1.5) + one_row([2.0, -4.0], -0.5) + one_row([0.0, 5.0], 3.0);
    assert_eq!(sum, value::<f64>("calibration", &[0.5, -0.25], &TABLE));
    assert_eq!(one_row([2.0, -4.0], -0.5), 6.25);
}
