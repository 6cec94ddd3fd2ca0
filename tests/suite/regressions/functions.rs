//! Functions agree with their sources.

use std::{fs, ops::ControlFlow};

use flockwork::{
    backend::Cpu,
    objective::{
        Context, CoupledSines, Michalewicz, Objective, SumOfSines, TargetDistance,
        evaluation::evaluate,
    },
    swarm::{Options, Problem, Variation, minimize, minimize_many},
};
use flockwork_device::gpu::memory::ReadOnly;
use serde_json::Value;

use crate::common::program::{data, fails, json, program, succeeds};

/// A function's value at a point, in f64.
fn value(function: impl Objective, x: &[f64]) -> f64 {
    evaluate(&function, x, &Context::new(x.len() as u32, ReadOnly::empty()))
}

/// Points in several boxes.
fn points() -> impl Iterator<Item = Vec<f64>> {
    (2..40_usize).map(|n| (0..n).map(|d| ((d * 37 + n * 11) % 101) as f64 / 4.0 - 9.0).collect())
}

#[track_caller]
fn assert_near(found: f64, expected: f64, terms: usize) {
    let bound = 1e-12 * terms as f64 * expected.abs().max(1.0);
    assert!((found - expected).abs() < bound, "{found} and not {expected}");
}

#[test]
fn sines_are_f1_and_f2_of_the_thesis() {
    for x in points() {
        let f1: f64 = x.iter().map(|x| x.sin() + (2.0 * x / 3.0).sin()).sum();
        assert_near(value(SumOfSines, &x), f1, x.len());
        let pairs = x.windows(2);
        let f2: f64 = pairs.map(|x| (x[0] + x[1]).sin() + (2.0 * x[0] * x[1] / 3.0).sin()).sum();
        assert_near(value(CoupledSines, &x), f2, x.len());
    }
    for (function, dims, minimum) in [
        ("sum_of_sines", 1, -1.21598),
        ("sum_of_sines", 5, -5.0 * 1.21598),
        ("coupled_sines", 2, -2.0),
    ] {
        let told: Value =
            serde_json::from_str(&succeeds(&format!("functions {function} -d {dims} --json")))
                .unwrap();
        assert_eq!(told["interval"], serde_json::json!([3.0, 13.0]));
        assert!((told["optimum"]["value"].as_f64().unwrap() - minimum).abs() < 1e-4, "{told}");
        let run =
            format!("optimize {function} -d {dims} -p 256 -i 400 --precision f64 --backend cpu");
        let found = json(&run)["result"]["value"].as_f64().unwrap();
        // Many valleys of f2 are nearly as deep as the deepest.
        let within = if function == "coupled_sines" { 1e-2 } else { 1e-4 };
        assert!((found - minimum).abs() < within, "{function}: {found}");
    }
}

/// Beyond the interval of f1 there are better values, so it is not shifted inside its box, which
/// would let them in.
#[test]
fn what_is_known_of_f1_holds_however_it_is_moved() {
    assert!(value(SumOfSines, &[17.04]) < -1.9);
    for seed in 1..6 {
        for option in ["", "--shift", "--rotate"] {
            let run = format!(
                "optimize sum_of_sines -d 2 {option} --seed {seed} -p 100 -i 100 --backend cpu"
            );
            let run = json(&run);
            let found = run["result"]["value"].as_f64().unwrap();
            let known = run["known_optimum"].as_f64();
            assert!(known.is_none_or(|known| found > known - 1e-5), "{run}");
            assert!(known.is_some() || option == "--rotate", "{run}");
        }
    }
}

#[test]
fn the_distance_to_the_target_is_squared() {
    for x in points() {
        let to_target: f64 = x.iter().map(|x| (x - 25.0).powi(2)).sum();
        let to_origin: f64 = x.iter().map(|x| x * x).sum();
        let expected = to_target * (100.0 * to_origin + 1.0) / 10.0;
        assert_near(value(TargetDistance, &x), expected, x.len());
    }
}

#[test]
fn the_formula_of_a_function_that_is_continued_says_so() {
    // The squared distance from the interval, plus a term that is 0 at its end.
    assert!((value(Michalewicz, &[8.01]) - (8.01 - std::f64::consts::PI).powi(2)).abs() < 1e-12);
    for function in ["michalewicz", "schwefel"] {
        assert!(succeeds(&format!("functions {function}")).contains("beyond the interval"));
    }
}

#[test]
fn cases_of_the_calibration_have_names() {
    let cases = [
        ("f6", 16, 16_384, 100.0),
        ("f7", 16, 65_536, 100.0),
        ("f8", 16, 272_144, 100.0),
        ("f9", 16, 1_088_576, 100.0),
        ("f10", 4, 6_980_011, 1_000.0),
    ];
    for (name, dims, rows, side) in cases {
        let told: Value =
            serde_json::from_str(&succeeds(&format!("functions {name} --json"))).unwrap();
        assert_eq!(told["dimensions"], dims.to_string());
        assert_eq!(
            (told["rows"].as_u64(), &told["interval"]),
            (Some(rows), &serde_json::json!([-side, side]))
        );
        assert_eq!(told["file"], format!("FunctionRsj_ConfigData_{dims}_{rows}.bin"));
        assert!(succeeds(&format!("functions {name}")).contains(&format!("[-{side}, {side}]")));
    }
    assert_eq!(succeeds("functions f5"), succeeds("functions calibration"));
    assert!(succeeds("optimize --help").contains("f6 to f10"));
    fails("functions f6 --dims 4", &["f6 has 16 dimensions, not 4"]);
    fails("functions f11", &["f11", "f5 to f10"]);
}

#[test]
fn a_case_is_generated_and_searched_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let inside = |line: &str| {
        let mut program = program();
        let output = program.args(line.split_whitespace()).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let file = folder.path().join("FunctionRsj_ConfigData_16_16384.bin");
    assert!(inside("generate f6").starts_with("FunctionRsj_ConfigData_16_16384.bin: 16384 rows"));
    assert_eq!(fs::metadata(&file).unwrap().len(), 17 * 16_384 * 8);
    inside("generate f6 other.dat --seed 2");
    let other = folder.path().join("other.dat");
    assert_ne!(fs::read(&file).unwrap(), fs::read(&other).unwrap());
    inside("generate f5 --dims 2 --rows 3");
    assert_eq!(
        fs::metadata(folder.path().join("FunctionRsj_ConfigData_2_3.bin")).unwrap().len(),
        72
    );

    // The size is the case's, whatever the file's name, and so is the box.
    let run = "-p 8 -i 2 --backend cpu";
    for file in [&file, &other] {
        let run = json(&format!("optimize f6 --data {} {run}", file.display()));
        assert_eq!(run["function"], "f6");
        assert_eq!(run["lower"], Value::from(vec![-100.0; 16]), "{run}");
        assert_eq!(run["upper"], Value::from(vec![100.0; 16]));
    }
    // A saved run can be resumed.
    let save = folder.path().join("run.fw");
    let line = format!("optimize f6 --data {} {run} --save {}", other.display(), save.display());
    succeeds(&line);
    let resumed = json(&format!("resume {} -i 4 --backend cpu", save.display()));
    assert_eq!(resumed["function"], "f6");

    fails(&format!("optimize f6 {run}"), &["f6", "--data FILE"]);
    let given = format!("optimize f6 --data {}", file.display());
    fails(&format!("{given} --dims 4"), &["f6 has 16 dimensions, not 4"]);
    fails(&format!("{given} --rows 4"), &["f6 has 16384 rows, not 4"]);
    let small = data("f5_4_256.dat");
    fails(
        &format!("optimize f10 --data {small}"),
        &["f10", "n = 4 and P = 6980011", "f5_4_256.dat"],
    );
}

/// The thesis's file names tell the shape, also in a copy's name.
#[test]
fn the_thesis_s_names_of_files_tell_their_sizes() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["FunctionRsj_ConfigData_4_256.bin", "FunctionRsj_ConfigData_4_256(1).bin"] {
        let file = folder.path().join(name);
        fs::copy(data("f5_4_256.dat"), &file).unwrap();
        for function in ["f5", "calibration"] {
            let run =
                format!("optimize {function} --data {} -p 8 -i 2 --backend cpu", file.display());
            let run = json(&run);
            assert_eq!(run["lower"], Value::from(vec![-100.0; 4]), "{run}");
        }
    }
}

/// g(t) = (1 - exp(-t)) / t is 1 at 0, and keeps its digits near it.
#[test]
fn a_yield_curve_begins_at_zero() {
    use flockwork::fit::{Data, Fit, NelsonSiegelSvensson};

    let at = |x: f64| {
        let data = Data::pairs([(x, 1.0), (1.0, 1.0)]).unwrap();
        let fit = Fit::new(NelsonSiegelSvensson, data).unwrap();
        fit.predict(&[0.0, 1.0, 0.0, 0.0, 1.0, 2.0], &[x])
    };
    for (x, expected) in [
        (0.0, 1.0),
        (1e-9, 1.0 - 0.5e-9),
        (0.03, 0.985_148_881_716_396_4),
        (0.0313, 0.984_512_011_944_357_3),
        (1.0, 1.0 - (-1.0_f64).exp()),
    ] {
        assert!((at(x) - expected).abs() < 1e-13, "{x}: {}", at(x));
    }
    // With a maturity of 0 among the rows.
    let curve = |x: f64| 0.04 - 0.01 * at(x / 1.7) + 0.003 * (at(x / 1.7) - (-x / 1.7).exp());
    let rows = (0..40).map(|i| 0.25 * f64::from(i)).map(|x| (x, curve(x)));
    let fit = Fit::new(NelsonSiegelSvensson, Data::pairs(rows).unwrap()).unwrap();
    assert!(fit.run().unwrap().sum_of_squares < 1e-15);
}

#[test]
fn single_precision_finds_no_value_below_the_least() {
    for (name, dims) in [("schwefel", 2), ("schwefel", 12), ("styblinski_tang", 5), ("levy", 4)] {
        let problem = Problem::named(name, dims).unwrap();
        let least = problem.optimum().unwrap().value;
        let options = Options { particles: 256, iterations: 300, ..Options::default() };
        let cpu = Cpu::new(2).unwrap();
        let outcome = minimize(&problem, &options, &cpu, |_| ControlFlow::Continue(())).unwrap();
        assert!(outcome.value >= least - 1e-9, "{name}: {} and {least}", outcome.value);
        let (coefficients, seed) = (None, options.seed);
        let one = [Variation { seed, coefficients }];
        let together = minimize_many(&problem, &options, &one, &cpu).unwrap();
        assert_eq!(together[0].value, outcome.value);
    }
    // The report agrees with the library.
    let object = json("optimize schwefel -d 2 -p 256 -i 300 --seed 3");
    assert!(object["result"]["value"].as_f64().unwrap() >= 0.0);
}

#[test]
fn a_target_is_reached_where_the_report_says_so() {
    // In f32 the swarm sees 0, a value that no f32 position has.
    let line = "optimize rastrigin -d 3 -p 256 -i 400 --check-every 1 --backend cpu --target";
    let never = json(&format!("{line} 0"));
    assert_eq!(never["result"]["stopped"], "iterations");
    let reached = json(&format!("{line} 1e-10"));
    assert_eq!(reached["result"]["stopped"], "target");
    assert!(reached["result"]["value"].as_f64().unwrap() <= 1e-10);
}
