//! Formulas: the bits of the same arithmetic in Rust, on every machine and after a resume, and the
//! command line.

use std::{fs, ops::ControlFlow, time::Duration};

use flockwork::{
    Error,
    backend::{AnyBackend, Choice, Cpu, Emulated, Simd, Strategy},
    formula::Formula,
    math::Real,
    objective::{FormulaAll, FormulaNext, FormulaOwn, Objective, sum::Fold},
    swarm::{Checkpoint, Options, Precision, Problem, Progress, Search, Searches, Variable},
};

use flockwork_device::{
    formula::{
        Binary, Unary,
        kernel::{self, Operations, Outlined},
        one, two,
    },
    gpu::{
        emulator::Emulator,
        memory::{ReadOnly, ReadWrite},
    },
};

use super::{cpu, run, watch};
use crate::common::program::{fails, json, program, succeeds, text};

const RIPPLES: &str = "sum(i in 0..n: x[i]^2 + (i + 1)*(1 - cos(2*pi*x[i])))";

fn ripples(dims: usize) -> Problem {
    let formula = Formula::parse(RIPPLES).unwrap();
    Problem::from_formula_of_x(&formula, vec![-4.0; dims], vec![5.0; dims]).unwrap()
}

/// The same arithmetic, in the same order.
fn ripples_in_rust(dims: usize) -> Problem {
    let ripples = |x: &[f64]| {
        let mut fold = Fold::new(x.len() as u32);
        for (i, &x) in x.iter().enumerate() {
            fold.push(x * x + (i as f64 + 1.0) * (1.0 - (2.0 * x).cos_pi()));
        }
        fold.finish()
    };
    Problem::from_fn(vec![-4.0; dims], vec![5.0; dims], ripples).unwrap().called("formula")
}

#[test]
fn a_formula_has_the_bits_of_the_same_arithmetic() {
    for dims in [1, 7, 40] {
        for particles in [1, 63, 64, 130] {
            let precision = Some(Precision::F64);
            let options = Options { particles, iterations: 40, precision, ..Options::default() };
            let typed = run(&ripples(dims), &options).unwrap();
            let rust = run(&ripples_in_rust(dims), &options).unwrap();
            assert_eq!(typed.value.to_bits(), rust.value.to_bits(), "{dims} x {particles}");
            assert_eq!(typed.position, rust.position, "{dims} x {particles}");
        }
        let search = |problem| {
            let searches = Searches { lanes: Some(2), ..Searches::default() };
            Search::new(problem).searches(searches).evaluations(20_000).run_on(&cpu(2), watch)
        };
        let (typed, rust) =
            (search(ripples(dims)).unwrap(), search(ripples_in_rust(dims)).unwrap());
        assert_eq!((typed.value.to_bits(), typed.position), (rust.value.to_bits(), rust.position));
    }
}

/// With every function and operator.
#[test]
fn vectors_and_threads_change_no_bit() {
    let everything = "sqrt(abs(a)) + exp(b/9) - log(a^2 + 1)*sin(b) + cos(a*b) + atan(a) + sign(b)*floor(a) \
                      + ceil(b) + round(a*b) + abs(a)^1.7 + min(a, b)*max(a, b, 1) + sinpi(a) + cospi(b) \
                      + if(a < b and not b > 3 or a == b, a // 2, b % 2) + (a <= b) + (a != b) - (a >= 2*b) \
                      + tan(a/4) + asin(a/9) + acos(b/9) + atan2(a, b) + sinh(a/3) + cosh(b/3) + tanh(a) \
                      + expm1(b/5) + log1p(abs(a)) + log2(a^2 + 2) + log10(b^2 + 3) + erf(a) + gamma(b + 6)";
    let formula = Formula::parse(everything).unwrap();
    let problem = Problem::from_formula(&formula, &[("a", -5.0, 5.0), ("b", -5.0, 5.0)]).unwrap();
    for precision in [Precision::F32, Precision::F64] {
        let options = Options {
            particles: 200,
            iterations: 30,
            precision: Some(precision),
            ..Options::default()
        };
        let on = |backend: &Cpu| {
            let search = Search::new(problem.clone()).options(options.clone());
            let outcome = search.run_on(backend, watch).unwrap();
            (outcome.value.to_bits(), outcome.position)
        };
        let plain = on(&Cpu::with_simd(1, Simd::Baseline).unwrap());
        for simd in [Simd::Avx2, Simd::Avx512] {
            // What this processor does not have cannot differ.
            let Ok(backend) = Cpu::with_simd(3, simd) else { continue };
            assert_eq!(on(&backend), plain, "{precision} with {simd}");
        }
    }
}

#[test]
fn a_saved_formula_goes_on_with_the_same_bits_and_needs_no_other_statement() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.flockwork");
    let formula = Formula::parse("(u - 1)^2 + cos(5*v) + abs(k - 2)").unwrap();
    let variables = [("u", -3.0, 3.0), ("v", 0.0, 9.0), ("k", 0.0, 7.0)];
    let kinds = vec![Variable::Continuous, Variable::Continuous, Variable::Integer];
    let problem =
        Problem::from_formula(&formula, &variables).unwrap().with_variables(kinds).unwrap();
    let search = Search::new(problem).particles(70).iterations(60);
    let whole = search.clone().run_on(&cpu(1), watch).unwrap();
    let stop = |progress: &Progress| match progress.iteration {
        0..20 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    search.save(&path, Duration::from_secs(60)).run_on(&cpu(1), stop).unwrap();
    let saved = Checkpoint::read(&path).unwrap();
    assert_eq!(saved.formula(), Some(formula.text()));
    let problem = saved.problem().unwrap();
    assert_eq!(problem.names().unwrap(), ["u", "v", "k"]);
    let rest = saved.resume(&problem, &cpu(2), None, watch).unwrap();
    assert_eq!((rest.value.to_bits(), rest.position), (whole.value.to_bits(), whole.position));
    // Another formula is another run.
    let other = Formula::parse("(u - 1)^2 + cos(5*v) + abs(k - 3)").unwrap();
    let kinds = vec![Variable::Continuous, Variable::Continuous, Variable::Integer];
    let other = Problem::from_formula(&other, &variables).unwrap().with_variables(kinds).unwrap();
    let why = saved.resume(&other, &cpu(1), None, watch).unwrap_err().to_string();
    assert!(why.contains("differs in its function"), "{why}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let formula = Formula::parse("a + b").unwrap();
    let why = |variables: &[(&str, f64, f64)]| {
        Problem::from_formula(&formula, variables).unwrap_err().to_string()
    };
    assert!(why(&[("a", 0.0, 1.0)]).contains("b has no meaning here; there are a, pi, e"));
    assert!(why(&[]).contains("not for 0"));
    assert!(why(&[("a", 0.0, 1.0), ("a", 0.0, 1.0)]).contains("\"a\" twice"));
    assert!(why(&[("a", 0.0, 1.0), ("b", 2.0, 1.0)]).contains("2.0 to 1.0 for b"));
    let elements = Formula::parse("x[0] + x[2]").unwrap();
    let none = Problem::from_formula_of_x(&elements, [0.0; 0], [0.0; 0]).unwrap_err();
    assert_eq!(none.to_string(), "formula is defined for 1 or more dimensions, not for 0");
    let why = Problem::from_formula_of_x(&elements, vec![0.0; 2], vec![1.0; 2]).unwrap_err();
    assert!(why.to_string().contains("there is no x[2]"), "{why}");
    // A GPU that was asked for does not leave it to the CPU in silence.
    let problem = ripples(2);
    let long = Formula::parse("sum(i in 0..n: x[i]*x[n-1-i])").unwrap();
    let long = Problem::from_formula_of_x(&long, vec![0.0; 200], vec![1.0; 200]).unwrap();
    assert!(matches!(long.select(Choice::Cuda, 1), Err(Error::OnlyOnCpu { .. })));
    assert!(matches!(long.select(Choice::Auto, 1), Ok(AnyBackend::Cpu(..))));
    assert!(problem.rotated(1).unwrap_err().to_string().contains("cannot be rotated"));
}

#[test]
fn nowhere_finite_is_an_error_and_partly_so_is_none() {
    let half = Formula::parse("sqrt(a) + (a - 2)^2").unwrap();
    let problem = Problem::from_formula(&half, &[("a", -9.0, 9.0)]).unwrap();
    let outcome = Search::new(problem).run_on(&cpu(1), watch).unwrap();
    assert!((outcome.position[0] - 1.8144).abs() < 1e-3, "{outcome:?}");
    let none = Formula::parse("log(-1 - a^2)").unwrap();
    let problem = Problem::from_formula(&none, &[("a", -9.0, 9.0)]).unwrap();
    let why = Search::new(problem).evaluations(1000).run_on(&cpu(1), watch).unwrap_err();
    assert!(why.to_string().contains("had no finite value"), "{why}");
    // What is infinite is no best value.
    let infinite = Formula::parse("if(a < 1, log(0), a)").unwrap();
    let problem = Problem::from_formula(&infinite, &[("a", 0.0, 9.0)]).unwrap();
    let outcome = Search::new(problem).particles(50).run_on(&cpu(1), watch).unwrap();
    assert!((1.0..1.01).contains(&outcome.value), "{outcome:?}");
}

#[test]
fn a_formula_on_the_command_line_is_minimised() {
    let rosenbrock = "sum(i in 0..n-1: 100*(x[i+1]-x[i]^2)^2 + (1-x[i])^2)".replace(' ', "");
    // A range needs a space around `in`.
    let rosenbrock = rosenbrock.replace("iin", "i in ");
    let output = program()
        .args(["optimize", "--formula", &rosenbrock, "-d", "6", "--bounds", "-5,5", "--json"])
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["result"]["value"].as_f64().unwrap() < 1e-12, "{report}");
    assert_eq!(report["formula"], rosenbrock);
    let named = "optimize --formula -(a-1)^2-(b+2)^2-abs(n-3.3) --maximise --var a=0,10 --var b=-5,5 \
                 --var n=1..8";
    let shown = succeeds(named);
    assert!(shown.contains("at          a = 1.000000, b = -2.000000, n = 3\n"), "{shown}");
    let report = json(named);
    assert_eq!(report["names"], serde_json::json!(["a", "b", "n"]));
    assert_eq!(report["variables"][2], "integer");
}

#[test]
fn a_formula_is_saved_and_resumed_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.fw");
    let file = file.to_str().unwrap();
    let run =
        "optimize --formula (a-1)^2+exp(b)*sin(a*b)^2 --var a=-3,3 --var b=-2,2 --particles 50";
    let whole = json(&format!("{run} --iterations 80"));
    succeeds(&format!("{run} --iterations 30 --save {file}"));
    let rest = json(&format!("resume {file} --iterations 80"));
    assert_eq!(rest["result"]["value"], whole["result"]["value"]);
    assert_eq!(rest["result"]["position"], whole["result"]["position"]);
    assert_eq!(rest["names"], serde_json::json!(["a", "b"]));
}

#[test]
fn mistakes_on_the_command_line_are_shown_and_corrected() {
    fails(
        "optimize --formula a+*b --var a=0,1 --var b=0,1",
        &["at column 3: expected a number", "\n    ^"],
    );
    fails("optimize --formula a+b --var a=0,1", &["need bounds: --var b=LOWER,UPPER"]);
    fails("optimize --formula a --var a=0,1 --var b=0,1", &["--var b is not in the formula"]);
    fails("optimize --formula a --var a", &["\"a\" has no ="]);
    fails("optimize --formula a --var a=1", &["a: ", "expected NAME=LOWER,UPPER"]);
    fails("optimize --formula a --var a=1..2.5", &["a: 1 or 2.5 is no whole number"]);
    fails("optimize --formula x[0]", &["--dims N"]);
    fails("optimize --formula x[0] -d 2", &["--bounds LOWER,UPPER"]);
    fails("optimize --formula x[2] -d 2 --bounds 0,1", &["there is no x[2]"]);
    fails("optimize --formula 1+2", &["no variables: it is 3e0"]);
    fails(
        "optimize sphere -d 2 --subject-to x[0]>=0.5 --backend cuda",
        &["a problem with constraints is evaluated on the CPU"],
    );
    fails(
        "optimize --formula a+b --var a=0,1 --var b=0,1 --subject-to a==b --backend cuda",
        &["a formula with an equality as a constraint is evaluated on the CPU"],
    );
    fails("optimize sphere --formula a --var a=0,1", &["cannot be used with"]);
    fails(
        "optimize --formula a --var a=1,0",
        &["a: the upper bound, 0, is not above the lower, 1"],
    );
    fails("optimize --formula a --var a=0,1 --shift", &["--shift moves built-in functions"]);
    fails("optimize --formula x -d 3 --bounds 0,1", &["for a formula of x[0], x[1] and so on"]);
    fails("optimize --formula a --var a=0,1 --seconds 0", &["seconds is 0"]);
    fails("optimize sphere --var a=0,1", &["--formula"]);
    fails("optimize", &["--formula"]);
    let long = format!("1{}", "+1".repeat(50_000));
    let output = program().args(["optimize", "--formula", &long]).output().unwrap();
    assert!(text(&output.stderr).contains("at most 65536 bytes"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("not.fw");
    fs::write(&file, "a + b").unwrap();
    fails(&format!("resume {}", file.display()), &["not.fw"]);
}

/// The kernels that leave room for formulas, which are plain functions until they are filled.
#[test]
fn templates_have_the_same_bits_in_the_emulator() {
    fn same<O: Objective>(template: O, dims: u32) {
        let problem = Problem::new(template, dims).unwrap();
        let swarm = |precision| {
            Search::new(problem.clone())
                .particles(70)
                .iterations(9)
                .seed(4)
                .with(|options| options.precision = Some(precision))
        };
        let searches = Searches { lanes: Some(2), ..Searches::default() };
        let searches = Search::new(problem.clone()).searches(searches).evaluations(600);
        for search in [swarm(Precision::F32), swarm(Precision::F64), searches] {
            let expected = search.clone().run_on(&cpu(1), watch).unwrap();
            for strategy in [None, Some(Strategy::Streaming)] {
                let machine = Emulated::new(3, 64).with_shared_memory(200 << 10);
                let machine = machine.with_strategy(strategy).with(template);
                let got = search.clone().run_on(&machine, watch).unwrap();
                let name = O::INFO.name;
                assert_eq!(got.value.to_bits(), expected.value.to_bits(), "{name} {strategy:?}");
                assert_eq!(got.position, expected.position, "{name} {strategy:?}");
            }
        }
    }
    same(FormulaOwn, 5);
    same(FormulaNext, 6);
    same(FormulaAll, 9);
}

/// The kernel that applies one operation to many numbers.
#[test]
fn operations_have_the_same_bits_in_the_emulator() {
    fn same<T: Outlined>() {
        let at = |nth: u32| T::nearest((f64::from(nth) - 20.0) / 7.0);
        let a: Vec<T> = (0..70).map(at).collect();
        let b: Vec<T> = (0..70).map(|nth| at((nth * 31 + 5) % 70)).collect();
        let operations = Unary::ALL.len() + Binary::ALL.len();
        for operation in 0..operations {
            let mut to = vec![T::ZERO; 70];
            let arguments = kernel::Arguments {
                operation: operation as u32,
                count: 70,
                // SAFETY: so many numbers lie there while the kernel runs, and nobody else uses `to`.
                a: unsafe { ReadOnly::new(a.as_ptr(), 70) },
                // SAFETY: as above.
                b: unsafe { ReadOnly::new(b.as_ptr(), 70) },
                // SAFETY: as above.
                to: unsafe { ReadWrite::new(to.as_mut_ptr(), 70) },
            };
            let emulator = Emulator::new(operation as u64);
            // SAFETY: as above.
            unsafe { emulator.launch::<Operations<T>>(3, 32, &arguments) }.unwrap();
            for (nth, (&a, &b)) in a.iter().zip(&b).enumerate() {
                let expected = match operation.checked_sub(Unary::ALL.len()) {
                    None => one(Unary::ALL[operation], a),
                    Some(operation) => two(Binary::ALL[operation], a, b),
                };
                let (got, expected) = (to[nth].to_f64(), expected.to_f64());
                let both_nan = got.is_nan() && expected.is_nan();
                assert!(both_nan || got.to_bits() == expected.to_bits(), "{operation} of {a} {b}");
            }
        }
    }
    same::<f32>();
    same::<f64>();
}
