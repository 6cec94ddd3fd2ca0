//! Derivatives of formulas: on the CPU beside dual numbers, and as PTX beside the CPU.

use std::{collections::HashMap, slice};

#[cfg(feature = "cuda")]
use flockwork_device::kernel::Constants;
use flockwork_device::{
    formula::Unary,
    math::{Dual, Scalar},
};

use super::{
    Filling, Formula, Program,
    ptx_tests::{MODELS, assert_same, interpreted, owned, run_lines},
    run,
};

const DIRECTIONS: usize = 8;

/// A number below `most` for each call.
struct Draws(u64);

impl Draws {
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }

    /// From -3 to 3, now and then a whole number.
    fn number(&mut self) -> f64 {
        let number = self.below(6001) as f64 / 1000.0 - 3.0;
        if self.below(4) == 0 { number.round() } else { number }
    }

    /// An expression of a, b, c and x.
    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 || self.below(8) == 0 {
            return match self.below(6) {
                nth @ 0..4 => ["a", "b", "c", "x"][nth].to_owned(),
                4 => format!("{}", self.below(5)),
                _ => format!("{}", self.below(300) as f64 / 64.0),
            };
        }
        let mut inner = || self.expression(depth - 1);
        let (first, second, third, fourth) = (inner(), inner(), inner(), inner());
        match self.below(14) {
            0..3 => format!("({first} + {second})"),
            3 => format!("({first} - {second})"),
            4..6 => format!("({first})*({second})"),
            6 => format!("({first})/({second})"),
            7 => format!("({first})^({second})"),
            8 => format!("({first})^{}", self.below(5)),
            9 => {
                let (two, function) = (self.below(3), ["min", "max", "atan2"]);
                format!("{}({first}, {second})", function[two])
            }
            10 => format!("if({first} < {second}, {third}, {fourth})"),
            _ => {
                let function = Unary::ALL[self.below(Unary::ALL.len())].word();
                format!("{function}({first})")
            }
        }
    }
}

/// The value and the derivatives at a point with dual numbers; `None` if something on the way is no
/// number.
fn with_duals<S: Scalar>(program: &Program<S>, x: &[S], variables: usize) -> Option<(S, Vec<S>)> {
    let mut rows = vec![[Dual::<S, DIRECTIONS>::constant(S::ZERO)]; program.rows];
    program.place_constants(&mut rows);
    for (nth, (row, &x)) in rows.iter_mut().zip(x).enumerate() {
        *row = [if nth < variables { Dual::along(x, nth) } else { Dual::constant(x) }];
    }
    for instruction in program.once.iter().chain(&program.each) {
        run(slice::from_ref(instruction), &mut rows, 1);
        let numbers = rows[instruction.to as usize][0];
        let mut all = [numbers.value].into_iter().chain(numbers.slope);
        if !all.all(|number| number.abs() < S::INFINITY) {
            return None;
        }
    }
    let [result] = rows[program.result];
    Some((result.value, result.slope[..variables].to_vec()))
}

/// The same by the program with derivatives.
fn with_slopes<S: Scalar>(program: &Program<S>, x: &[S]) -> (S, Vec<S>) {
    let mut rows = vec![[S::ZERO]; program.rows];
    program.place_constants(&mut rows);
    for (row, &x) in rows.iter_mut().zip(x) {
        *row = [x];
    }
    run(&program.once, &mut rows, 1);
    run(&program.each, &mut rows, 1);
    (rows[program.result][0], program.slopes.iter().map(|&slope| rows[slope][0]).collect())
}

/// Compares a formula's derivatives at some points; how many were comparable.
fn compared<S: Scalar>(text: &str, draws: &mut Draws) -> usize {
    let (parameters, columns) = (owned(&["a", "b", "c"]), owned(&["x"]));
    let formula = Formula::parse(text).unwrap();
    let plain = formula.program::<S>(Some(&parameters), 0, &columns).unwrap();
    let program = formula.program_with_slopes::<S>(&parameters, &columns).unwrap();
    let mut count = 0;
    for _ in 0..8 {
        let x: Vec<S> = (0..4).map(|_| S::nearest(draws.number())).collect();
        let Some((value, slopes)) = with_duals(&plain, &x, 3) else { continue };
        let (got, got_slopes) = with_slopes(&program, &x);
        let what = format!("{text} at {x:?}");
        assert_same(got, value, &what);
        for (got, expected) in got_slopes.into_iter().zip(slopes) {
            // A zero that is left out may have had the other sign.
            assert_same(got + S::ZERO, expected + S::ZERO, &format!("a slope of {what}"));
        }
        count += 1;
    }
    count
}

#[test]
fn derivatives_are_those_of_dual_numbers() {
    let mut draws = Draws(5);
    for function in Unary::ALL {
        let word = function.word();
        for inner in ["a", "a/4", "a*x", "abs(b) + 1/8", "a*b - c*x"] {
            let text = format!("c*{word}({inner})");
            let some = compared::<f32>(&text, &mut draws) + compared::<f64>(&text, &mut draws);
            // Of a few there is no number where an argument may lie.
            assert!(some > 0 || inner != "a/4", "{text} is nowhere a number");
        }
    }
    for text in [
        "a + x",
        "x - a",
        "a - b",
        "a*b",
        "a*x",
        "a/b",
        "a/x",
        "x/a",
        "2^a",
        "abs(a)^2.5",
        "abs(a)^b",
        "0^abs(a)",
        "a^0*b",
        "atan2(a, b)",
        "atan2(x, a)",
        "atan2(b, x)",
        "min(a, b, c, x)",
        "max(a, 1)",
        "if(a < b, a^2, b)",
        "if(a < x and b > 0, c, 0)",
        "a % b",
        "a // b",
        "(a < b)*c",
        "sum(i in 0..5: a^i*x)",
        "x",
        "3",
    ] {
        let some = compared::<f32>(text, &mut draws) + compared::<f64>(text, &mut draws);
        assert!(some > 0, "{text} is nowhere a number");
    }
    let (mut formulas, mut points) = (0, 0);
    while formulas < 3000 {
        let text = draws.expression(1 + formulas % 5);
        // Ranges of constants only, or divisions by them, are no formulas.
        let sense = Formula::parse(&text).is_ok_and(|formula| {
            formula.program::<f64>(Some(&owned(&["a", "b", "c"])), 0, &owned(&["x"])).is_ok()
        });
        if sense {
            points += compared::<f32>(&text, &mut draws) + compared::<f64>(&text, &mut draws);
        }
        formulas += 1;
    }
    // Half of the points of a formula or more.
    assert!(points > 8 * formulas, "{points} points of {formulas} formulas");
}

#[test]
fn what_is_zero_is_not_calculated_with() {
    let (parameters, columns) = (owned(&["a", "tau", "b"]), owned(&["t"]));
    let formula = Formula::parse("a*exp(-t/tau) + b").unwrap();
    let program = formula.program_with_slopes::<f64>(&parameters, &columns).unwrap();
    // 1/tau; -t, its quotient, the exponential, its product and the sum; less the quotient and its
    // product with 1/tau, the exponential's with that, and that with a.
    assert_eq!((program.once.len(), program.each.len()), (1, 9));
    // By a the exponential, by b a constant.
    assert_eq!(program.constants, [1.0]);
    // Beyond where dual numbers multiply zero by infinity.
    let (_, slopes) = with_slopes(&program, &[2.0, 1e-3, 1.0, -1.0]);
    assert_eq!((slopes[0], slopes[2]), (f64::INFINITY, 1.0));
}

/// Formulas with as many parameters as a kernel takes, and with none of a few operations.
const MORE: [(&[&str], &[&str], &str); 5] = [
    (&["a", "b", "c"], &["x"], "a*min(b, x) + max(a, c)^abs(b) + if(x < c, atan2(a, x), a % b)"),
    (
        &["a", "b"],
        &["x"],
        "a*erf(b*x) + asin(a/4)*acos(x/4) + tanh(b) + log2(a^2) + log10(b^2 + x^2)",
    ),
    (&["a", "b"], &["x"], "x"),
    (
        &["k"],
        &["x"],
        "sinpi(k*x) + cospi(k)*tan(x*k) + atan(k)*sinh(k)*cosh(x*k) + log1p(k^2) + expm1(k)",
    ),
    (
        &["p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"],
        &["x"],
        "p1*exp(-p2*x) + p3*exp(-p4*x) + p5*sin(p6*x + p7) + p8",
    ),
];

/// What the PTX calculates for a row, hole by hole as the kernel does.
fn by_ptx<S: Scalar>(filling: &Filling, parameters: &[S], arguments: &[S]) -> (S, Vec<S>) {
    let [("begin", begin), ("more", more), ("slopes", slopes)] = &filling.holes[..] else {
        panic!("three holes")
    };
    let mut values = HashMap::new();
    for nth in 0..DIRECTIONS {
        // Of those that are not there nothing is known.
        let unknown = S::nearest(f64::NAN);
        let parameter = parameters.get(nth).copied().unwrap_or(unknown);
        values.insert(format!("%hole_p{nth}"), parameter);
    }
    run_lines(begin, &mut values, (0, &[]));
    let give = |values: &mut HashMap<String, S>, four: &[S]| {
        for (nth, name) in ["x", "y", "z", "w"].into_iter().enumerate() {
            let number = four.get(nth).copied().unwrap_or(S::ZERO);
            values.insert(format!("%hole_{name}"), number);
        }
        values.insert("%hole_sum".into(), S::ZERO);
    };
    for (index, four) in (0..).zip(arguments.chunks(4)).skip(1) {
        give(&mut values, four);
        interpreted(more, &mut values, (index, &[]));
    }
    give(&mut values, &arguments[..arguments.len().min(4)]);
    let value = interpreted(slopes, &mut values, (0, &[]));
    (value, (0..DIRECTIONS).map(|nth| values[&format!("%hole_s{nth}")]).collect())
}

fn same_in<S: Scalar>((parameters, columns, text): (&[&str], &[&str], &str)) {
    let (names, columns) = (owned(parameters), owned(columns));
    let formula = Formula::parse(text).unwrap();
    let program = formula.program_with_slopes::<S>(&names, &columns).unwrap();
    let layout = formula.row_layout_with_slopes::<S>(&names, &columns).unwrap();
    if text.contains("gamma(b)") {
        assert!(layout.why_not_on_a_gpu().unwrap().contains("the derivative of gamma"));
        return;
    }
    assert_eq!(layout.why_not_on_a_gpu(), None);
    let filling = Filling::of_slopes(&layout);
    for point in 0..12_u32 {
        let at = |d: usize| f64::from((point * 977 + d as u32 * 131) % 613) / 61.3 - 3.0;
        let x: Vec<S> = (0..program.inputs).map(|d| S::nearest(at(d))).collect();
        let (expected, mut slopes) = with_slopes(&program, &x);
        slopes.resize(DIRECTIONS, S::ZERO);
        let (got, got_slopes) = by_ptx(&filling, &x[..names.len()], &x[names.len()..]);
        assert_same(got, expected, &format!("{text} at {x:?}"));
        for (got, expected) in got_slopes.into_iter().zip(slopes) {
            assert_same(got, expected, &format!("a slope of {text} at {x:?}"));
        }
    }
}

#[test]
fn the_ptx_of_derivatives_calculates_what_the_cpu_does() {
    for model in MODELS.into_iter().chain(MORE) {
        same_in::<f32>(model);
        same_in::<f64>(model);
    }
}

#[test]
fn what_a_kernel_does_not_take_is_said() {
    let columns = owned(&["x"]);
    let why = |text: &str| {
        let formula = Formula::parse(text).unwrap();
        let layout = formula.row_layout_with_slopes::<f64>(&owned(&["a"]), &columns).unwrap();
        layout.why_not_on_a_gpu()
    };
    let long = why("sum(i in 0..900: exp(a*x*i))").unwrap();
    assert!(long.starts_with("the formula and its derivatives take "), "{long}");
    assert!(long.ends_with(", and a kernel at most 4096"), "{long}");
    assert!(why("gamma(a)*x").unwrap().contains("the derivative of gamma"));
    // Where nothing is derived, it has one.
    assert_eq!(why("a*gamma(x)"), None);
}

/// Writes kernels of many fits into the folder `FLOCKWORK_FILLED`, to be tried with `ptxas`.
#[cfg(feature = "cuda")]
#[test]
#[ignore = "writes files into FLOCKWORK_FILLED, for ptxas"]
fn filled_kernels_are_written() {
    let folder = std::env::var_os("FLOCKWORK_FILLED").expect("FLOCKWORK_FILLED names a folder");
    for (nth, model) in MODELS.into_iter().chain(MORE).filter(calculated).enumerate() {
        for name in KERNELS {
            let file = std::path::Path::new(&folder).join(format!("many{nth}_{name}.ptx"));
            std::fs::write(file, filled(model, name)).unwrap();
        }
    }
}

#[cfg(feature = "cuda")]
const KERNELS: [&str; 2] = ["fit_many_formula_row_f32", "fit_many_formula_row_f64"];

/// Whether a kernel of many fits takes a model.
#[cfg(feature = "cuda")]
fn calculated((parameters, _, text): &(&[&str], &[&str], &str)) -> bool {
    !parameters.is_empty() && !text.contains("gamma(b)")
}

/// The text of a kernel with a model, its sizes being constants.
#[cfg(feature = "cuda")]
fn filled((parameters, columns, text): (&[&str], &[&str], &str), name: &str) -> String {
    let image = crate::kernel_images().first().expect("one image");
    let formula = Formula::parse(text).unwrap();
    let (parameters, columns) = (owned(parameters), owned(columns));
    let filling = match name.ends_with("f32") {
        true => Filling::of_slopes(
            &formula.row_layout_with_slopes::<f32>(&parameters, &columns).unwrap(),
        ),
        false => Filling::of_slopes(
            &formula.row_layout_with_slopes::<f64>(&parameters, &columns).unwrap(),
        ),
    };
    let text = filling.filled(&image.text(name).unwrap(), &|name| image.text(name));
    let sizes = Constants::NONE.with(0, columns.len() as u32).with(4, parameters.len() as u32);
    crate::cuda::with_constants(&text, name, &sizes)
}

/// Every hole of the kernel is filled, and with few parameters more blocks are asked for.
#[cfg(feature = "cuda")]
#[test]
fn kernels_of_many_fits_have_no_holes_left() {
    for model in MODELS.into_iter().chain(MORE).filter(calculated) {
        for name in KERNELS {
            let text = filled(model, name);
            for left in ["_begins;", "_ends;", "formula_exp", "[func_retval0],%v"] {
                assert!(!text.contains(left), "{left} in {} in {name}", model.2);
            }
            assert_eq!(text.matches('{').count(), text.matches('}').count(), "{}", model.2);
            let crowded = model.0.len() <= 5 && name.ends_with("f32");
            assert_eq!(text.contains(".minnctapersm 5\n{"), crowded, "{} in {name}", model.2);
        }
    }
}
