//! Formulas against plain Rust, mistakes and their places, and texts that nobody would type.

use std::time::Instant;

use flockwork_device::{math::Real, objective::sum::Fold, random::philox};

use super::{Formula, parser};

fn value(text: &str, values: &[(&str, f64)]) -> f64 {
    let formula = Formula::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"));
    formula.at(values).unwrap_or_else(|why| panic!("{text}: {why}"))
}

/// What is said of a formula of these variables, or of x with three elements.
fn mistake(text: &str) -> String {
    let formula = match Formula::parse(text) {
        Ok(formula) => formula,
        Err(why) => return why.to_string(),
    };
    let result = match formula.has_elements() {
        true => formula.at_point(&[1.0, 2.0, 3.0]),
        false => formula.at(&[("a", 1.0), ("b", 2.0)]),
    };
    result.expect_err(text).to_string()
}

#[test]
fn precedence_is_that_of_python() {
    let (a, b) = (3.0_f64, 5.0_f64);
    let cases = [
        ("1 + 2*3", 7.0),
        ("(1 + 2)*3", 9.0),
        ("2 - 3 - 4", -5.0),
        ("24/4/3", 2.0),
        ("-a^2", -9.0),
        ("2^3^2", 512.0),
        ("2**-1", 0.5),
        ("-2^2 + 8", 4.0),
        ("--a", 3.0),
        ("+a", 3.0),
        ("7//2", 3.0),
        ("-7//2", -4.0),
        ("7%-3", -2.0),
        ("-7.5 % 2", 0.5),
        ("b % a", 2.0),
        ("1/2", 0.5),
        ("a < b", 1.0),
        ("a < b < 4", 0.0),
        ("1 < a < b", 1.0),
        ("a == 3 and not b == 3", 1.0),
        ("a > b or b > a and a > 0", 1.0),
        ("(a > b) + 2*(a < b)", 2.0),
        ("if(a < b, a, b)", 3.0),
        ("if(a >= b, 1/0.0, 7)", 7.0),
        ("!(a <= 3) || a != b", 1.0),
        ("min(a, b, 4)", 3.0),
        ("max(a, b, 4)", 5.0),
        ("a·b − 1", 14.0),
        ("a ≤ 3", 1.0),
        ("pow(a, 2)", 9.0),
        ("a^0", 1.0),
        ("a^-1", 1.0 / 3.0),
        ("4^.5", 2.0),
        ("b^0.5", 5.0_f64.sqrt()),
        ("abs(-a) + floor(2.5) + ceil(2.5) + round(2.5) + sign(-b)", 3.0 + 2.0 + 3.0 + 2.0 - 1.0),
        ("sum(i in 0..4: i)", 6.0),
        ("sum(i in 1..=4: i^2)", 30.0),
        ("product(i in 1..=5: i)", 120.0),
        ("sum(i in 3..1: a)", 0.0),
        ("product(i in 1..1: a)", 1.0),
        ("max(i in 0..5: (i - 2)^2*a)", 12.0),
        ("min(i in 0..5: i - a)", -3.0),
        ("min(i in 0..3, j in 0..i: 10*i + j)", 10.0),
        ("max(i in 0..3, j in i..2: 10*i + j)", 11.0),
        ("sum(i in 0..3, j in 0..=i: 10*i + j)", 0.0 + 10.0 + 11.0 + 20.0 + 21.0 + 22.0),
        ("sum(i in 0..3: if(i > 0 and a/i > 2, i, 10))", 10.0 + 1.0 + 10.0),
        ("2^100", 2.0_f64.powi(100)),
        ("9223372036854775807 + 1", 9223372036854775808.0),
    ];
    let mut wrong = String::new();
    for (text, expected) in cases {
        let found = value(text, &[("a", a), ("b", b)]);
        if found.to_bits() != expected.to_bits() {
            wrong += &format!("{text} is {found:?} instead of {expected:?}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What Python's `%` gives: the exact remainder of the division that rounds towards zero, and the divisor
/// once more where the signs differ.
fn python_remainder(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
}

#[test]
fn remainders_are_exact_and_have_the_divisors_sign() {
    let numbers = [2.76, -2.76, 0.01, -0.01, 1.0, 0.1, -0.3, 1e9, 7.5, 1e-300, 123.456, 3.0];
    for a in numbers {
        for b in numbers {
            let expected = python_remainder(a, b);
            if (a / b).abs() < 2.0_f64.powi(52) {
                assert_eq!(value("a % b", &[("a", a), ("b", b)]), expected, "{a} % {b}");
            }
        }
    }
    // As constants.
    assert_eq!(value("2.76 % 0.01", &[]), python_remainder(2.76, 0.01));
    let formula = Formula::parse("(a % b)*3").unwrap();
    let mut state = 1_u64;
    let mut random = move || {
        // A linear congruential generator (Knuth), its upper half.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    for _ in 0..2000 {
        let a = f64::from(random()) / 1e6 - 2000.0;
        let b = f64::from(random() % 1000) / 100.0 + 0.01;
        let found = formula.at(&[("a", a), ("b", b)]).unwrap();
        assert_eq!(found, python_remainder(a, b) * 3.0, "{a} % {b}");
    }
}

#[test]
fn functions_are_those_of_the_device_crate() {
    let x = 0.37_f64;
    let at = |text: &str| value(text, &[("t", x)]);
    assert_eq!(at("exp(t)"), Real::exp(x));
    assert_eq!(at("log(t)"), Real::ln(x));
    assert_eq!(at("ln(t)"), Real::ln(x));
    assert_eq!(at("sin(t)"), Real::sin(x));
    assert_eq!(at("cos(3*t)"), Real::cos(3.0 * x));
    assert_eq!(at("atan(t)"), Real::atan(x));
    assert_eq!(at("t^1.5"), Real::pow(x, 1.5));
    assert_eq!(at("t^13"), Real::powi(x, 13));
    assert_eq!(at("t^-3"), 1.0 / Real::powi(x, 3));
    assert_eq!(at("t^65"), Real::pow(x, 65.0));
    type Function = fn(f64) -> f64;
    let others: [(&str, Function); 16] = [
        ("sqrt(t)", Real::sqrt),
        ("tan(t)", Real::tan),
        ("asin(t)", Real::asin),
        ("acos(t)", Real::acos),
        ("sinh(t)", Real::sinh),
        ("cosh(t)", Real::cosh),
        ("tanh(t)", Real::tanh),
        ("expm1(t)", Real::exp_m1),
        ("log1p(t)", Real::ln_1p),
        ("log2(t)", Real::log2),
        ("log10(t)", Real::log10),
        ("ceil(t)", Real::ceil),
        ("floor(t)", Real::floor),
        ("erf(t)", Real::erf),
        ("gamma(t)", Real::gamma),
        ("atan2(t, -2)", |t| Real::atan2(t, -2.0)),
    ];
    for (text, function) in others {
        assert_eq!(at(text).to_bits(), function(x).to_bits(), "{text}");
        // What is constant is calculated before the run, by the same function.
        let constant = text.replace("(t", "(0.37");
        assert_eq!(value(&constant, &[]).to_bits(), function(x).to_bits(), "{constant}");
    }
    // pi is exact in sines and cosines.
    assert_eq!(at("cos(2*pi*t)"), (2.0 * x).cos_pi());
    assert_eq!(at("sin(-t*pi/4)"), (-x / 4.0).sin_pi());
    assert_eq!(at("cos(pi)"), -1.0);
    assert_eq!(at("sin(10000000*pi)"), 0.0);
    assert_eq!(at("cos(pi + t)"), Real::cos(std::f64::consts::PI + x));
    // A variable of that name is another thing.
    assert_eq!(value("cos(2*pi)", &[("pi", 1.0)]), Real::cos(2.0));
    assert_eq!(value("e^2", &[("e", 3.0)]), 9.0);
    assert_eq!(value("log(e)", &[]), Real::ln(std::f64::consts::E));
    // In backticks everything is a name.
    assert_eq!(value("`in` + 2*`if`", &[("in", 1.0), ("if", 3.0)]), 7.0);
}

#[test]
fn numbers_that_are_none_compare_as_ieee_754_says() {
    let (nan, infinity) = (f64::NAN, f64::INFINITY);
    for (a, b) in [nan, -infinity, -1.0, 0.0, 2.0, infinity]
        .into_iter()
        .flat_map(|a| [nan, -infinity, -1.0, -0.0, 2.0, infinity].map(|b| (a, b)))
    {
        let at = |text: &str| value(text, &[("a", a), ("b", b)]);
        let truths = [
            ("a < b", a < b),
            ("a <= b", a <= b),
            ("a > b", a > b),
            ("a >= b", a >= b),
            ("a == b", a == b),
            ("a != b", a != b),
        ];
        for (text, truth) in truths {
            assert_eq!(at(text), f64::from(u8::from(truth)), "{text} with {a} and {b}");
        }
        if a.is_nan() || b.is_nan() {
            assert!(at("min(a, b)").is_nan() && at("max(a, b)").is_nan(), "{a} and {b}");
        } else {
            assert_eq!((at("min(a, b)"), at("max(a, b)")), (a.min(b), a.max(b)), "{a} and {b}");
        }
        assert_eq!(at("sign(a)").is_nan(), a.is_nan());
    }
}

#[test]
fn sums_have_the_order_of_objectives() {
    let point = |n: usize| -> Vec<f64> {
        (0..n as u32)
            .map(|i| f64::from(philox::philox4x32::<7>([i, 0, 0, 0], [1, 2])[0]) / 1e9 - 2.0)
            .collect()
    };
    for n in [1, 2, 31, 32, 33, 100, 130, 1000] {
        let x = point(n);
        let mut fold = Fold::new(n as u32);
        x.iter().for_each(|&x| fold.push(x * x - 10.0 * (2.0 * x).cos_pi()));
        let expected = 10.0 * n as f64 + fold.finish();
        let formula = Formula::parse("10*n + sum(i in 0..n: x[i]^2 - 10*cos(2*pi*x[i]))").unwrap();
        assert_eq!(formula.at_point(&x).unwrap(), expected, "{n} dimensions");
        let formula =
            Formula::parse("sum(i in 0..n-1: 100*(x[i+1] - x[i]^2)^2 + (1 - x[i])^2)").unwrap();
        let mut fold = Fold::new(n as u32 - 1);
        for pair in x.windows(2) {
            let (a, b) = (pair[1] - pair[0] * pair[0], 1.0 - pair[0]);
            fold.push(100.0 * (a * a) + b * b);
        }
        assert_eq!(formula.at_point(&x).unwrap(), fold.finish(), "{n} dimensions");
    }
}

#[test]
fn choices_that_are_not_taken_need_make_no_sense() {
    let formula = Formula::parse("sum(i in 0..n: if(i > 0, x[i] - x[i-1], x[0]))").unwrap();
    assert_eq!(formula.at_point(&[2.0, 3.0, 7.0]).unwrap(), 7.0);
    let formula =
        Formula::parse("sum(i in 0..n: x[max(i - 1, 0)]*(i > 0 and x[i-1] > 2))").unwrap();
    assert_eq!(formula.at_point(&[2.0, 3.0, 7.0]).unwrap(), 3.0);
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let shown = [
        ("", "at column 1: the formula is empty\n  \n  ^"),
        ("a +", "at column 4: expected a number, a name or \"(\", found the end\n  a +\n     ^"),
        (
            "a b",
            "at column 3: expected an operator or the end; a product needs *, found \"b\"\n  a b\n    ^",
        ),
        (
            "2a",
            "at column 2: expected an operator or the end; a product needs *, found \"a\"\n  2a\n   ^",
        ),
        ("(a", "at column 3: expected \")\", found the end\n  (a\n    ^"),
        ("a) + b", "at column 2: expected an operator or the end, found \")\"\n  a) + b\n   ^"),
        (
            "a = b",
            "at column 3: '=' means nothing in a formula; two numbers are compared by ==, and a range is `i in 0..n`\n  a = b\n    ^",
        ),
        ("atan2(a)", "at column 1: atan2 takes 2 numbers, not 1\n  atan2(a)\n  ^^^^^^^^"),
        ("sqrt()", "at column 1: sqrt takes one number, not 0\n  sqrt()\n  ^^^^^^"),
        ("a + 1/0", "at column 5: this divides by zero\n  a + 1/0\n      ^^^"),
        (
            "y[0]",
            "at column 2: expected an operator: only x has elements, not y, found \"[\"\n  y[0]\n   ^",
        ),
        ("if(a, 1, 2)", "at column 4: expected a condition, such as a < b\n  if(a, 1, 2)\n     ^"),
        ("a and b", "at column 1: expected a condition, such as a < b\n  a and b\n  ^"),
        (
            "min(i in 2..2: i)",
            "at column 1: the range from 2 to 2 is empty: there is nothing to choose \
                                from\n  min(i in 2..2: i)\n  ^^^^^^^^^^^^^^^^^",
        ),
        ("x[3]", "at column 1: there is no x[3]: n is 3, so the last is x[2]\n  x[3]\n  ^^^^"),
        (
            "1e999 + a",
            "at column 1: 1e999 is beyond the largest number, about 1.8e308\n  1e999 + a\n  ^^^^^",
        ),
    ];
    let mut wrong = String::new();
    for (text, expected) in shown {
        let found = mistake(text);
        if found != format!("the formula has a mistake {expected}") {
            wrong += &format!("{text:?}:\n{found}\ninstead of\n{expected}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let nowhere = |text: &str| Formula::parse(text).unwrap().at_point(&[]).unwrap_err().to_string();
    assert!(nowhere("x[0]").contains("there is no x[0]: n is 0\n"), "{}", nowhere("x[0]"));
    assert!(nowhere("a + x[0]").contains("a has no meaning here; there are n, pi, e"));
    let parts = [
        (
            "sqr(a)",
            "there is no function sqr (do you mean sqrt?); a product needs *. There are sqrt",
        ),
        ("Sin(a)", "(do you mean sin?)"),
        ("f(a)", "there is no function f; a product needs *. There are"),
        ("a/0", "this divides by zero"),
        ("b % (1 - 1)", "this divides by zero"),
        ("`sin`(a)", "expected an operator or the end; a product needs *"),
        ("sum(a)", "expected a range, as in sum(i in 0..n: x[i])"),
        ("sum(i in 0: i)", "expected \"..\" and the range's end, as in 0..n"),
        ("sum(i in 0..a: i)", "the end of a range must be a whole number"),
        ("a + c", "c has no meaning here; there are a, b, pi, e"),
        ("x[0] + c", "c has no meaning here; there are x[0] to x[2], n, pi, e"),
        ("x[0] + x", "x has no meaning here; an element of x is x[0]"),
        ("x[n/2]", "an index must be a whole number"),
        ("sum(i in 0..n: x[i+1])", "there is no x[3]: n is 3, so the last is x[2] (here i = 2)"),
        ("sum(i in 0..10^12: i)", "a range has at most"),
        ("sum(i in 0..10^6, j in 0..10^6: x[0]*j)", "over 1048576 operations"),
        ("sum(i in 0..10^6, j in 0..10^6: 1)", "over 1048576 operations"),
    ];
    for (text, part) in parts {
        let found = mistake(text);
        assert!(found.contains(part), "{text}: {found}");
    }
}

#[test]
fn what_is_deep_or_long_neither_overflows_nor_hangs() {
    let run = || {
        let began = Instant::now();
        let chain = format!("a{}", " + a*2 - 1".repeat(6000));
        assert!(value(&chain, &[("a", 1.0)]).is_finite());
        let nested = format!("{}a{}", "(".repeat(90), ")".repeat(90));
        assert_eq!(value(&nested, &[("a", 1.0)]), 1.0);
        let deep = "1 or 0 < 1 - 2 * 3 ^ (".replace("1 or 0 < ", "0 + ").repeat(45);
        let deep = format!("{deep}a{}", ")".repeat(45));
        assert!(!value(&deep, &[("a", 1.0)]).is_infinite());
        for open in ["(", "-", "2^", "sin(", "not ", "sum(i in 0..1: ", "x[", "if(a<b,"] {
            let text = open.repeat(30_000 / open.len());
            assert!(parser::parse(&text).is_err(), "{open}");
        }
        assert!(
            Formula::parse(&"1+".repeat(40_000)).unwrap_err().to_string().contains("65536 bytes")
        );
        began.elapsed()
    };
    // On a stack as small as those of worker threads.
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap();
    thread.join().expect("no overflow");
}

#[test]
fn nothing_that_is_typed_can_panic() {
    const PIECES: [&str; 48] = [
        "a",
        "b",
        "x",
        "n",
        "i",
        "x[i]",
        "x[0]",
        "[",
        "]",
        "(",
        ")",
        "1",
        "0",
        "2.5",
        "1e3",
        ".",
        "..",
        "..=",
        "+",
        "-",
        "*",
        "/",
        "//",
        "%",
        "^",
        "**",
        "<",
        "<=",
        "==",
        "!",
        "and",
        "or",
        "not",
        "if(",
        "in",
        ",",
        ":",
        "sum(",
        "min(",
        "product(i in 0..3:",
        "sum(i in 0..n:",
        "sqrt(",
        "sin(",
        "pi",
        "`",
        "é",
        " ",
        "e",
    ];
    let mut state = [0_u32; 4];
    let mut read = 0;
    for nth in 0..60_000 {
        let mut text = String::new();
        let length = 1 + nth % 23;
        for place in 0..length {
            state[0] = nth;
            state[1] = place;
            let drawn = philox::philox4x32::<7>(state, [7, 7])[0];
            text += PIECES[drawn as usize % PIECES.len()];
        }
        let Ok(formula) = Formula::parse(&text) else { continue };
        read += 1;
        let _ = formula.at(&[("a", 0.5), ("b", -1.5), ("i", 3.0)]);
        let _ = formula.at_point(&[0.5, -1.5, 2.0]);
        assert_eq!(Formula::parse(formula.text()).unwrap(), formula);
    }
    assert!(read > 1000, "only {read} of the texts were formulas");
}
