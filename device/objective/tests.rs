//! Every registered function against values that were computed elsewhere, with 40 digits.

use std::{f64::consts::FRAC_PI_2, vec, vec::Vec};

use super::{Context, Data, Goal, Info, Objective, Optimum, evaluation::evaluate};
use crate::{
    gpu::memory::ReadOnly,
    math::Scalar,
    random::philox4x32,
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

/// Five of [3, 13].
const IN_HOSALAS_BOX: [f64; 5] = [3.25, 5.5, 12.75, 8.125, 10.5];

/// Forty, so that the terms are summed as a tree.
fn forty() -> Vec<f64> {
    (0..40).map(|k| f64::from(k % 7 - 3) * 0.375 + f64::from(k) / 64.0).collect()
}

/// Three rows of two coefficients, then three targets; at (0.5, -0.25) the residuals are 1.25, -2.5
/// and 4.25.
const TABLE: [f64; 9] = [1.0, 1.0, 2.0, -4.0, 0.0, 5.0, 1.5, -0.5, 3.0];

/// Function 15 of the benchmark: a header, the centre, weights; a rotation and another matrix.
#[rustfmt::skip]
const TURNED_TWICE: [f64; 20] = [
    15.0, -3.25, 0.0, 0.2, 1.0, 0.0, 0.0, 0.0, 1.0, 0.25, 1.0, 1.0,
    0.6, -0.8, 0.8, 0.6, 1.5, 2.0, -0.5, 3.0,
];
/// Functions 6 and 23, with one matrix.
#[rustfmt::skip]
const TURNED: [[f64; 16]; 2] = [
    [6.0, -3.25, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.25, 1.0, -2.0, 1.5, 2.0, -0.5, 3.0],
    [23.0, -3.25, 1.0, 0.0, 1.0, 0.0, 4.25, 0.0, 1.0, 0.25, 1.0, 1.0, 1.5, 2.0, -0.5, 3.0],
];

/// Points and values of a function, with its data.
fn known(name: &str) -> Vec<(Vec<f64>, f64, &'static [f64])> {
    let both =
        |five, forty_value| vec![(FIVE.to_vec(), five, &[][..]), (forty(), forty_value, &[])];
    match name {
        "sphere" => both(18.390_625, 26.401_367_187_5),
        "rastrigin" => both(61.319_557_188_134_525, 429.118_583_818_294_7),
        "rosenbrock" => both(9_083.149_414_062_5, 5_959.652_769_804_001),
        "ackley" => both(7.937_867_598_344_81, 4.724_474_617_761_345),
        "sum_of_sines" => {
            let mut values = both(-0.971_607_798_490_012_6, 13.369_275_864_507_731);
            values.push((IN_HOSALAS_BOX.to_vec(), 0.472_444_259_104_366_44, &[]));
            values
        }
        "coupled_sines" => {
            let mut values = both(-1.157_930_023_748_433_7, 14.410_758_354_432_12);
            values.push((IN_HOSALAS_BOX.to_vec(), 0.764_535_711_605_435_2, &[]));
            values
        }
        "cubic" => both(40_364.664_453_125, 309_685.696_990_966_8),
        "target_distance" => both(581_853.638_378_906_2, 6_473_631.146_844_864),
        "ellipsoid" => both(7_572_043.766_472_842, 2_136_099.877_168_663),
        "griewank" => both(1.034_418_226_515_681_8, 0.829_652_306_645_391_4),
        "levy" => both(4.134_245_683_074_734, 8.545_077_351_090_116),
        "styblinski_tang" => both(-77.714_721_679_687_5, -167.095_556_616_783_14),
        "zakharov" => both(123.523_681_640_625, 640_159_800.708_999_6),
        "dixon_price" => both(2_285.972_656_25, 2_046.397_179_603_576_7),
        // The last two also beyond the interval, where they are continued.
        "schwefel" => {
            let mut values = both(2_095.448_786_951_014, 16_749.916_217_605_947);
            let far = [420.5, -300.0, 612.25, -1_730.5, 500.0, -0.75];
            values.push((far.to_vec(), 1_537.244_716_408_888_3, &[]));
            values
        }
        "michalewicz" => {
            let mut values = both(9.124_674_034_346_896, 2.146_877_862_913_427);
            let inside = [2.5, 1.5, 1.25, 0.5, 3.0];
            values.push((inside.to_vec(), -1.912_669_543_208_246_1, &[]));
            values
        }
        "lennard_jones" => {
            let atoms = [0.0, 0.0, 0.0, 1.25, 0.0, 0.5, -0.75, 1.0, 0.25, 0.5, 0.625, -1.0];
            vec![(atoms.to_vec(), -2.234_739_723_599_542_3, &[])]
        }
        "calibration" => {
            vec![(vec![0.5, -0.25], 1.25 * 1.25 + 2.5 * 2.5 + 4.25 * 4.25, &TABLE)]
        }
        // The second is penalised: it lies beyond the box.
        "bbob" => vec![
            (vec![0.5, -1.25], 55.128_435_822_753_2, &TURNED_TWICE),
            (vec![0.5, -6.25], 31.969_751_904_483_412, &TURNED[1]),
            (vec![0.5, -1.25], 58_744.711_315_475_67, &TURNED[0]),
        ],
        _ => panic!("{name} has no known values here: add some"),
    }
}

#[test]
fn every_function_has_its_known_values() {
    for info in OBJECTIVES {
        for (x, expected, data) in known(info.name) {
            assert_eq!(data.is_empty(), info.data == Data::None);
            // The twentieth powers of sines have twenty times their rounding.
            // Sines of products lose what rounding a product of so many turns does.
            let in_f64 = match info.name {
                "michalewicz" => 1e-14,
                // Powers of sums, sines of what is squared and turned.
                "coupled_sines" | "bbob" => 2e-14,
                _ => 3e-15,
            };
            assert_close::<f64>(info.name, value::<f64>(info.name, &x, data), expected, in_f64);
            // The weights of the ellipsoid are exponentials of up to 13.8.
            let in_f32 = match info.name {
                "ellipsoid" => 2e-6,
                "coupled_sines" | "bbob" => 1e-5,
                _ => 1e-6,
            };
            assert_close::<f32>(info.name, value::<f32>(info.name, &x, data), expected, in_f32);
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

/// The size of what a term subtracts from what, a dimension: the value at the optimum has so many units
/// of rounding. 0: none, it is exact.
fn size_of_terms(name: &str) -> f64 {
    match name {
        "cubic" => 1e6,
        "schwefel" => 420.0,
        "styblinski_tang" => 100.0,
        // The tenth power of a squared sine has ten times its rounding.
        "michalewicz" => 20.0,
        "sum_of_sines" | "coupled_sines" | "dixon_price" => 1.0,
        _ => 0.0,
    }
}

fn optimum_is_where_it_says<T: Scalar>(info: &Info, epsilon: f64) {
    let sign = match info.goal {
        Goal::Minimise => 1.0,
        Goal::Maximise => -1.0,
    };
    for dims in [1, 2, 3, 31, 32, 33, 100, 1000] {
        let optimum = info.optimum;
        if !info.dimensions.contains(dims) || optimum.coordinate(dims, 0).is_none() {
            continue;
        }
        let at: Vec<f64> = (0..dims).map(|d| optimum.coordinate(dims, d).unwrap()).collect();
        let best = optimum.value(dims).unwrap();
        let tolerance = 4.0 * epsilon * size_of_terms(info.name) * f64::from(dims);
        let got = value::<T>(info.name, &at, &[]);
        let name = T::NAME;
        assert!(
            (got - best).abs() <= tolerance,
            "{} in {dims} dimensions, {name}: {got:e} and not {best:e}",
            info.name
        );
        // As far from it as the box is wide, and nearer, in all dimensions or in one.
        let (lower, upper) = info.interval;
        for trial in 0..60 {
            let radius = (upper - lower) * 0.2_f64.powi(trial % 6);
            let mut beside = at.clone();
            for (d, x) in beside.iter_mut().enumerate() {
                let [random, ..] = philox4x32::<7>([d as u32, trial as u32, dims, 0], [9, 0]);
                if trial % 4 == 0 || d as u32 == trial as u32 * 7 % dims {
                    let step = f64::from(random) / 2_f64.powi(31) - 1.0;
                    *x = (*x + step * radius).clamp(lower, upper);
                }
            }
            let other = value::<T>(info.name, &beside, &[]);
            assert!(
                sign * (other - best) >= -tolerance,
                "{} in {dims} dimensions, {name}: {other:e} is better than {best:e}, at {beside:?}",
                info.name
            );
        }
        for (d, step) in [(0, 1e-2), (dims as usize - 1, -1e-2), (dims as usize / 2, 0.7)] {
            let mut beside = at.clone();
            beside[d] += step;
            // The rounding of all terms hides the least of these.
            let worse = sign * (value::<T>(info.name, &beside, &[]) - best);
            let beyond = beside[d] > upper;
            assert!(worse > 0.0 || worse >= -tolerance || beyond, "{}", info.name);
        }
    }
    let dims = 1.max(if info.dimensions.contains(1) { 1 } else { 2 });
    if let Some(coordinate) = info.optimum.coordinate(dims, 0) {
        assert!(info.interval.0 <= coordinate && coordinate <= info.interval.1, "{}", info.name);
    }
}

#[test]
fn every_function_has_its_optimum_where_it_says() {
    for info in OBJECTIVES {
        optimum_is_where_it_says::<f32>(info, f64::from(f32::EPSILON));
        optimum_is_where_it_says::<f64>(info, f64::EPSILON);
    }
}

fn info(name: &str) -> &'static Info {
    OBJECTIVES.iter().find(|info| info.name == name).unwrap()
}

/// Summed from minima found one dimension at a time with 40 digits; the first, second, fifth and
/// tenth are those of the literature.
#[test]
fn michalewiczs_minima_are_those_of_the_literature() {
    let Info { optimum, .. } = info("michalewicz");
    for (dims, expected, last) in [
        (1, -0.801_303_410_098_552_5, 2.202_905_520_172_609_3),
        (2, -1.801_303_410_098_552_5, FRAC_PI_2),
        (5, -4.687_658_179_088_146, 1.720_469_772_565_841_3),
        (10, -9.660_151_715_641_34, FRAC_PI_2),
        (30, -29.630_883_850_324_395, FRAC_PI_2),
        (100, -99.620_194_016_592_88, 1.586_426_449_338_114),
    ] {
        let got = (optimum.value(dims).unwrap(), optimum.coordinate(dims, dims - 1).unwrap());
        assert!((got.0 - expected).abs() < 4e-16 * f64::from(dims) * 4.0, "{dims}: {got:?}");
        assert!((got.1 - last).abs() < 1e-14, "{dims}: {got:?}");
    }
}

/// Textbook holes beyond the interval are filled.
#[test]
fn continued_functions_have_no_better_value_beyond_the_interval() {
    for name in ["schwefel", "michalewicz"] {
        for dims in [1, 2, 5] {
            let best = info(name).optimum.value(dims).unwrap();
            let (lower, upper) = info(name).interval;
            for k in 0..40_000 {
                let mut x: Vec<f64> =
                    (0..dims).map(|d| info(name).optimum.coordinate(dims, d).unwrap()).collect();
                x[k % dims as usize] = (lower - upper) * 4.0 + (upper - lower) * k as f64 * 2e-4;
                let tolerance = 1e-12 * f64::from(dims);
                assert!(value::<f64>(name, &x, &[]) >= best - tolerance, "{name} at {x:?}");
                let tolerance = 2e-4 * f64::from(dims);
                assert!(value::<f32>(name, &x, &[]) >= best - tolerance, "{name} at {x:?}");
            }
            for far in [1e9, -1e9, 1e30, -1e30] {
                let x = vec![far; dims as usize];
                assert!(value::<f64>(name, &x, &[]) > 0.0, "{name} at {far:e}");
                assert!(value::<f32>(name, &x, &[]) > 0.0, "{name} at {far:e}");
            }
        }
    }
}

fn energy<T: Scalar>(atoms: &[[f64; 3]]) -> f64 {
    value::<T>("lennard_jones", atoms.as_flattened(), &[])
}

fn known_energy(atoms: u32) -> f64 {
    let info = OBJECTIVES.iter().find(|info| info.name == "lennard_jones").unwrap();
    let Optimum::Value(known) = info.optimum else { unreachable!() };
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
