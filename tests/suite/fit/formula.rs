//! Fits of formulas: what built-in models find, exact derivatives, columns by name, the command line.

use std::fs;

use flockwork::{
    backend::{Cpu, Simd},
    fit::{Data, Fit, Fitted, Loss},
    formula::Formula,
};

use crate::common::program::{fails, json, succeeds};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A small error that is the same each time.
fn error(nth: u32) -> f64 {
    f64::from(nth.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24) - 0.5
}

fn decay() -> Data {
    let signal = |t: f64| 3.0 * (-0.4 * t).exp() + 1.5;
    let rows =
        (0..60).map(|nth| (0.2 * f64::from(nth), signal(0.2 * f64::from(nth)) + 0.05 * error(nth)));
    Data::pairs(rows).unwrap()
}

fn of(formula: &str, data: Data) -> Fit {
    Fit::from_formula(&Formula::parse(formula).unwrap(), data).unwrap()
}

/// Estimates, standard errors and the sum agree.
#[track_caller]
fn assert_alike(formula: &Fitted, model: &Fitted, names: &[(&str, &str)]) {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b.abs();
    assert!(close(formula.value, model.value), "{} and {}", formula.value, model.value);
    for &(own, other) in names {
        let find = |fitted: &Fitted, name: &str| {
            let one = fitted.parameters.iter().find(|one| one.name == name).expect(name);
            (one.value, one.error)
        };
        let (own, other) = (find(formula, own), find(model, other));
        assert!(close(own.0, other.0) && close(own.1, other.1), "{own:?} and {other:?}");
    }
}

#[test]
fn a_formula_finds_what_the_built_in_model_finds() {
    let formula = of("amp*exp(-rate*x) + base", decay());
    let model = Fit::named("offset_exponentials", decay()).unwrap();
    let names = [("amp", "amplitude1"), ("rate", "rate1"), ("base", "offset")];
    assert_alike(&formula.run().unwrap(), &model.run().unwrap(), &names);
    // With weights and another loss.
    let weights: Vec<f64> = (0..60).map(|nth| 1.0 + f64::from(nth % 4)).collect();
    let both = [formula, model].map(|fit| {
        let fit = fit.weighted(weights.clone()).unwrap().loss(Loss::Huber, 0.02).unwrap();
        fit.run().unwrap()
    });
    assert_alike(&both[0], &both[1], &names);
}

#[test]
fn what_is_linear_is_solved_directly() {
    let rows = (0..90).map(|nth| {
        let (a, b) = (f64::from(nth % 9), f64::from(nth / 9));
        (a, b, 1e6 - 250.0 * a + 0.003 * b * b + 1e-4 * error(nth))
    });
    let (mut arguments, mut targets) = (Vec::new(), Vec::new());
    for (a, b, y) in rows {
        arguments.extend([a, b]);
        targets.push(y);
    }
    let data = Data::new(2, arguments, targets).unwrap();
    let fitted = of("p + q*x1 + r*x2^2", data.clone()).run().unwrap();
    assert_eq!(fitted.outcome.evaluations, 0);
    for (name, expected) in [("p", 1e6), ("q", -250.0), ("r", 0.003)] {
        let value = fitted.value(name).unwrap();
        assert!((value - expected).abs() < 1e-4 * expected.abs().max(1.0), "{name} is {value}");
    }
    // Far outside of where parameters are looked for first, and linear only if the other is held.
    let fitted = of("p*(1 + q*x1) + r*x2^2", data).run().unwrap();
    assert!((fitted.value("p").unwrap() - 1e6).abs() < 1.0, "{fitted:?}");
    assert!((fitted.value("q").unwrap() + 250e-6).abs() < 1e-9, "{fitted:?}");
}

#[test]
fn vectors_and_threads_change_no_bit() {
    let fit = of("amp*exp(-rate*x)*cos(pi*x*f) + base", decay()).with(|options| {
        options.particles = 100;
        options.iterations = 20;
    });
    let on = |cpu: &Cpu| {
        let fitted = fit.run_on(cpu, |_| {}).unwrap();
        (fitted.values(), fitted.value.to_bits(), fitted.outcome.found.to_bits())
    };
    let plain = on(&Cpu::with_simd(1, Simd::Baseline).unwrap());
    for simd in [Simd::Avx2, Simd::Avx512] {
        let Ok(cpu) = Cpu::with_simd(2, simd) else { continue };
        assert_eq!(on(&cpu), plain, "{simd}");
    }
}

/// More rows than a chunk of a sum, and no multiple of anything.
#[test]
fn a_sum_over_many_rows_is_that_of_a_closure() {
    let rows: Vec<(f64, f64)> = (0..3001)
        .map(|nth| (0.01 * f64::from(nth), (0.01 * f64::from(nth)).sin() + error(nth)))
        .collect();
    let data = || Data::pairs(rows.iter().copied()).unwrap();
    let line = |fit: Fit| {
        let bounds = [("a", -1.0, 1.0), ("b", -1.0, 1.0)];
        let fit = bounds.iter().fold(fit, |fit, &(name, l, u)| fit.bounds(name, l, u).unwrap());
        let fit = fit.polish(false).with(|options| {
            options.particles = 70;
            options.iterations = 10;
        });
        let fitted = fit.run().unwrap();
        (fitted.values(), fitted.outcome.value.to_bits())
    };
    let closure =
        Fit::from_fn(&[("a", -1.0, 1.0), ("b", -1.0, 1.0)], data(), |p, x| p[0] * x[0] + p[1]);
    assert_eq!(line(of("a*x + b", data())), line(closure.unwrap()));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let why = |text: &str| {
        Fit::from_formula(&Formula::parse(text).unwrap(), decay()).err().unwrap().to_string()
    };
    assert!(why("2*x").contains("has no parameters"));
    assert!(why("a*y").contains("names the target"));
    assert!(
        why("a*x[0]").contains("x has no elements here; there are a, x, pi, e"),
        "{}",
        why("a*x[0]")
    );
}

/// Far from where parameters are looked for if nothing is known of them.
#[test]
fn places_and_widths_are_looked_for_where_the_data_are() {
    let mut missed = Vec::new();
    for nth in 0..12_u32 {
        let (height, middle, width) = (
            80.0 + 9.0 * error(nth),
            400.0 + f64::from(nth) * 40.0,
            15.0 + f64::from(nth % 4) * 9.0,
        );
        let at = |x: f64| height * (-((x - middle) / width).powi(2)).exp() + 5.0 + 0.01 * x;
        let rows = (0..120)
            .map(|row| 300.0 + 6.0 * f64::from(row))
            .map(|x| (x, at(x) + 0.5 * error(nth + x as u32)));
        let fitted = of("h*exp(-((x-m)/s)^2) + b + c*x", Data::pairs(rows).unwrap()).run().unwrap();
        if (fitted.value("m").unwrap() - middle).abs() > 1.0 {
            missed.push((middle, width, fitted.value));
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn a_row_in_which_a_formula_is_not_finite_is_named() {
    let data = || Data::pairs([(1.0, 2.0), (0.0, 3.0), (2.0, 2.5), (3.0, 2.0)]).unwrap();
    for text in ["a*log(x) + b", "a/x + b"] {
        let why = of(text, data()).run().unwrap_err().to_string();
        assert!(why.contains("in row 2 of 4, with x = 0, it is not finite"), "{text}: {why}");
    }
}

fn written(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn columns_are_named_on_the_command_line() {
    let folder = folder();
    let mut table = String::from("id,area,note,age,n,price\n");
    let mut plain = String::new();
    for nth in 0..50_u32 {
        let (area, age) = (f64::from(20 + nth * 7 % 40), f64::from(nth % 13));
        let price = 10.0 + 2.5 * area - 0.2 * age * age + 0.1 * error(nth);
        let note = if nth % 5 == 0 { "" } else { "seen" };
        table += &format!("h{nth},{area},{note},{age},{},{price}\n", 1 + nth % 3);
        plain += &format!("{area},{age},{price}\n");
    }
    let table = written(&folder, "houses.csv", &table);
    let report = json(&format!("fit {table} --formula a+b*area+c*age^2 --y price --weight n"));
    let value = |report: &serde_json::Value, nth: usize| {
        report["result"]["parameters"][nth]["value"].as_f64().unwrap()
    };
    assert_eq!(report["columns"], serde_json::json!(["area", "age", "price"]));
    assert_eq!(report["formula"], "a+b*area+c*age^2");
    assert!((value(&report, 1) - 2.5).abs() < 0.01 && (value(&report, 2) + 0.2).abs() < 0.01);
    // Without names.
    let plain = written(&folder, "plain.csv", &plain);
    let report = json(&format!("fit {plain} --formula a+b*x1+c*x2^2"));
    assert!((value(&report, 1) - 2.5).abs() < 0.01 && (value(&report, 2) + 0.2).abs() < 0.01);
    fails(
        &format!("fit {table} --formula a+b*size --y price"),
        &["names none of its arguments", "area"],
    );
    fails(&format!("fit {table} --formula a*area+price"), &["\"price\" is the target"]);
    fails(&format!("fit {table} --formula area*2"), &["has no parameters"]);
    // A column that is no argument is not taken for a parameter.
    let picked = format!("fit {table} --x area --y price --formula a*area+b*age");
    fails(&picked, &["names the column \"age\", which is no argument"]);
    let weighted = format!("fit {table} --y price --weight n --formula a*area+b*n");
    fails(&weighted, &["names the column \"n\", which is no argument"]);
    let report = json(&format!("fit {plain} --x 2 --formula a+b*x"));
    assert_eq!(report["columns"][0], "x");
    let report = json(&format!("fit {plain} --x 2 --x 1 --formula a+b*x2"));
    assert!((value(&report, 1) - 2.5).abs() < 0.5, "{report}");
    // One called as a constant is.
    let constant = written(&folder, "e.csv", "e,dose (mg),y\n1,2,5\n2,1,7\n3,5,11\n4,1,13\n");
    let report = json(&format!("fit {constant} --formula a*e+c"));
    assert_eq!(report["columns"], serde_json::json!(["e", "y"]));
    fails(&format!("fit {constant} --formula a*dose"), &["there are e, `dose (mg)`"]);
    fails(&format!("fit {table} --formula a*area+"), &["at column 8: expected a number"]);
    fails(
        &format!("fit {table} --formula a*area --bounds q=0,1"),
        &["no parameter \"q\"; it has: a"],
    );
    fails(&format!("fit {table} --formula a*area --model linear"), &["cannot be used with"]);
    fails(&format!("fit {table}"), &["--model", "--formula"]);
    let picture = folder.path().join("fit.svg");
    let command =
        format!("fit {plain} --formula a+b*x1 --confidence 0.9 --plot {}", picture.display());
    assert!(succeeds(&command).contains("formula, 50 rows"));
}

#[test]
fn a_saved_fit_of_a_formula_is_resumed_with_that_formula_only() {
    let folder = folder();
    let rows = (0..40).map(|nth| format!("{nth},{}\n", f64::from(nth) * 0.5 + error(nth)));
    let data = written(&folder, "line.csv", &format!("t,y\n{}", rows.collect::<String>()));
    let file = folder.path().join("fit.fw");
    let file = file.display();
    let fit = format!("fit {data} --formula a*t^b+c --particles 60");
    let whole = json(&format!("{fit} --iterations 50"));
    succeeds(&format!("{fit} --iterations 20 --save {file}"));
    let rest = json(&format!("fit {data} --formula a*t^b+c --resume {file} --iterations 50"));
    assert_eq!(rest["result"]["parameters"], whole["result"]["parameters"]);
    fails(&format!("fit {data} --formula a*t^b-c --resume {file}"), &["differs"]);
    fails(&format!("resume {file}"), &["flockwork fit DATA --formula TEXT --resume"]);
}
