//! What a fit reports besides its parameters. Expected numbers are from NumPy, SciPy and lmfit.

use std::{fmt::Write, fs, ops::ControlFlow};

use flockwork::{
    backend::Cpu,
    fit::{Data, Fit},
    swarm::{Progress, StopReason},
};
use serde_json::Value;

use crate::common::program::{fails, json, succeeds};

/// A file of rows.
fn table(rows: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.csv");
    fs::write(&path, rows).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

#[track_caller]
fn close(found: &Value, expected: f64) {
    let number = found.as_f64().unwrap_or(f64::NAN);
    assert!((number - expected).abs() <= 2e-6 * expected.abs(), "{found}, not {expected}");
}

fn parameter<'a>(object: &'a Value, name: &str) -> &'a Value {
    let parameters = object["result"]["parameters"].as_array().unwrap();
    parameters.iter().find(|parameter| parameter["name"] == name).unwrap()
}

fn statuses(object: &Value) -> Vec<&str> {
    let parameters = object["result"]["parameters"].as_array().unwrap();
    parameters.iter().map(|parameter| parameter["status"].as_str().unwrap()).collect()
}

const REACTION: &str = "x,y,w\n0.5,1.7,100\n1,2.9,100\n2,4.2,25\n4,5.6,25\n\
                        8,6.8,11.11111111111111\n16,7.3,11.11111111111111\n";

#[test]
fn a_curve_has_the_statistics_of_lmfit() {
    let (_folder, path) = table(REACTION);
    let object = json(&format!("fit {path} -m michaelis_menten -b cpu --x x --y y --profile"));
    let statistics = &object["result"]["statistics"];
    let first = &object["result"]["parameters"][0];
    let second = &object["result"]["parameters"][1];
    close(&first["value"], 8.2500358174);
    close(&first["error"], 0.0954254264);
    close(&second["error"], 0.0709430613);
    close(&statistics["covariance"]["rows"][0][1], 0.00562790754278882);
    close(&statistics["correlation"]["rows"][1][0], 0.8313289798079563);
    close(&statistics["r_squared"], 0.9989198048354154);
    close(&statistics["adjusted_r_squared"], 0.9986497560442692);
    close(&statistics["log_likelihood"], 7.762983765151187);
    close(&statistics["aic"], -9.525967530302374);
    close(&statistics["aicc"], 2.474032469697626);
    close(&statistics["bic"], -10.150689122618209);
    close(&statistics["lmfit_aic"], -28.553229928756735);
    close(&statistics["lmfit_bic"], -28.969710990300626);
    close(&first["confidence"][0], 7.985092359410652);
    close(&second["confidence"][1], 2.0796433388561995);
    // `conf_interval` of lmfit agrees to the digits that it computes.
    close(&first["profile"][0], 7.991287303653876);
    close(&first["profile"][1], 8.520037927786078);
    close(&second["profile"][0], 1.6957782821748961);
    close(&second["profile"][1], 2.0888186004703733);
    let text =
        succeeds(&format!("fit {path} -m michaelis_menten -b cpu --x x --y y --confidence 0.95"));
    for part in ["+- 0.0954254", "95 % 7.98509 to 8.51498", "0.831329", "R squared 0.998919805"] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

#[test]
fn weights_are_relative_or_variances() {
    let (_folder, path) = table(REACTION);
    let usual = format!("fit {path} -m michaelis_menten -b cpu --weight w");
    let relative = json(&usual);
    close(&relative["result"]["parameters"][0]["error"], 0.1051259627);
    close(&relative["result"]["statistics"]["aic"], -11.845696303885056);
    close(&relative["result"]["statistics"]["r_squared"], 0.9992589896942295);
    let absolute = json(&format!("{usual} --absolute-sigma --profile"));
    let first = &absolute["result"]["parameters"][0];
    close(&first["error"], 0.2851954336);
    close(&first["confidence"][0], 7.686900525144021);
    close(&first["profile"][1], 8.82177114111658);
    close(&absolute["result"]["statistics"]["log_likelihood"], 4.4466133738890665);
    fails(&format!("fit {path} -m linear --absolute-sigma"), &["--weight"]);
    fails(&format!("{usual} --confidence 95"), &["confidence", "between 0 and 1"]);
}

/// Rows of x1, x2, y and a third column made of the first two.
fn plane(third: impl Fn(f64, f64) -> f64) -> String {
    let mut rows = "rooms,age,other,price\n".to_owned();
    for i in 0..24 {
        let (a, b) = (f64::from(i % 5) + 1.0, f64::from(i * 7 % 11));
        let y = 2.0 * a - 0.5 * b + 0.1 * (f64::from(i * 3 % 7) - 3.0);
        writeln!(rows, "{a},{b},{},{y}", third(a, b)).unwrap();
    }
    rows
}

#[test]
fn what_columns_do_not_determine_is_said_of_those_alone() {
    let both = plane(|_, _| 0.0);
    let (_folder, path) = table(&both);
    let alone = json(&format!("fit {path} -m linear -b cpu --x rooms --x age --y price"));
    let with_zeros = json(&format!("fit {path} -m linear -b cpu"));
    assert_eq!(statuses(&with_zeros), ["estimated", "estimated", "undetermined"]);
    for name in ["b1", "b2"] {
        let expected = parameter(&alone, name)["error"].as_f64().unwrap();
        close(&parameter(&with_zeros, name)["error"], expected);
    }
    assert!(parameter(&with_zeros, "b3")["error"].is_null());
    let text = succeeds(&format!("fit {path} -m linear -b cpu"));
    assert_eq!(text.matches("not determined by the data").count(), 1, "{text}");
    // A multiple of a column, and a sum of two.
    let (_folder, path) = table(&plane(|_, b| 3.0 * b));
    let doubled = json(&format!("fit {path} -m linear -b cpu"));
    assert_eq!(statuses(&doubled), ["estimated", "undetermined", "undetermined"]);
    let expected = parameter(&alone, "b1")["error"].as_f64().unwrap();
    close(&parameter(&doubled, "b1")["error"], expected);
    let (_folder, path) = table(&plane(|a, b| 0.1 * a + 0.3 * b));
    let summed = json(&format!("fit {path} -m linear -b cpu"));
    assert_eq!(statuses(&summed), ["undetermined"; 3]);
}

#[test]
fn rows_that_are_all_the_same_determine_nothing() {
    let (_folder, path) = table("x,y\n2,3\n2,3\n2,3\n2,3\n2,3\n");
    let line = json(&format!("fit {path} -m polynomial --degree 1 -b cpu"));
    assert_eq!(statuses(&line), ["undetermined"; 2]);
    let curve = json(&format!("fit {path} -m exponentials --terms 1 -b cpu"));
    assert_eq!(statuses(&curve), ["undetermined"; 2]);
}

#[test]
fn a_missing_error_has_a_reason() {
    let (_folder, path) = table("x,y\n1,2\n2,8.1\n3,17.8\n4,32.3\n");
    let object = json(&format!("fit {path} -m power_law -b cpu --bounds exponent=0,1"));
    assert_eq!(statuses(&object), ["estimated", "at_bound"]);
    assert!(parameter(&object, "exponent")["error"].is_null());
    let object = json(&format!("fit {path} -m power_law -b cpu --fix exponent=2"));
    assert_eq!(statuses(&object), ["estimated", "given"]);
    let object = json(&format!("fit {path} -m power_law -b cpu --loss absolute"));
    assert_eq!(statuses(&object), ["no_curvature"; 2]);
    let text = succeeds(&format!("fit {path} -m power_law -b cpu --loss absolute"));
    assert!(text.contains("no standard errors: absolute residuals"), "{text}");
    let (_folder, path) = table("x,y\n1,2\n2,9\n");
    let object = json(&format!("fit {path} -m power_law -b cpu"));
    assert_eq!(statuses(&object), ["no_degrees_of_freedom"; 2]);
}

#[test]
fn a_power_of_zero_leaves_the_errors() {
    let rows = |zero: &str| format!("x,y\n{zero}1,2.1\n2,5.6\n3,10.5\n4,15.9\n5,22.4\n");
    // A row that affects neither parameter is one more degree of freedom.
    let (_folder, with) = table(&rows("0,0\n"));
    let (_other, without) = table(&rows(""));
    let [with, without] =
        [with, without].map(|path| json(&format!("fit {path} -m power_law -b cpu")));
    for name in ["factor", "exponent"] {
        let expected = parameter(&without, name)["error"].as_f64().unwrap();
        close(&parameter(&with, name)["error"], expected * 0.75_f64.sqrt());
    }
}

#[test]
fn robust_losses_have_sandwich_errors() {
    let off = [0.1, -0.2, 0.15, 0.05, -0.1, 0.2, -0.15, 3.0, 0.1, -0.05, -0.2, 0.1];
    let mut rows = "x,y\n".to_owned();
    for (x, off) in off.iter().enumerate() {
        writeln!(rows, "{x},{}", 2.0 + 0.5 * x as f64 + off).unwrap();
    }
    let (_folder, path) = table(&rows);
    let usual = format!("fit {path} -m polynomial --degree 1 -b cpu --loss-scale 0.2 --loss");
    let expected = [
        ("huber", 0.10312309570198408, 0.017087033333734385, -0.0014498096039506278),
        ("cauchy", 0.09822937551379439, 0.01750237877949657, -0.0012713312576751895),
    ];
    for (loss, first, second, covariance) in expected {
        let object = json(&format!("{usual} {loss}"));
        let found = |value: &Value, expected: f64| {
            let found = value.as_f64().unwrap();
            assert!((found / expected - 1.0).abs() < 1e-5, "{loss}: {found} {expected}");
        };
        found(&parameter(&object, "c0")["error"], first);
        found(&parameter(&object, "c1")["error"], second);
        found(&object["result"]["statistics"]["covariance"]["rows"][0][1], covariance);
        assert!(succeeds(&format!("{usual} {loss}")).contains("M-estimator (sandwich)"));
    }
}

#[test]
fn parameters_of_a_linear_model_name_their_columns() {
    let (_folder, path) = table(&plane(|a, b| a * b));
    let text = succeeds(&format!("fit {path} -m linear -b cpu"));
    assert!(text.contains("b1 (rooms) ") && text.contains("b3 (other) "), "{text}");
    let object = json(&format!("fit {path} -m linear -b cpu"));
    assert_eq!(parameter(&object, "b2")["column"], "age");
    let names = &object["result"]["statistics"]["covariance"]["columns"];
    assert_eq!(*names, serde_json::json!(["rooms", "age", "other"]));
}

#[test]
fn an_observer_that_ends_a_fit_ends_its_profiles() {
    let measured = [(0.5, 1.7), (1.0, 2.9), (2.0, 4.2), (4.0, 5.6), (8.0, 6.8), (16.0, 7.3)];
    let fit = Fit::named("michaelis_menten", Data::pairs(measured).unwrap()).unwrap();
    let fit = fit.profile(true);
    let cpu = Cpu::new(2).unwrap();
    let whole = fit.run_on(&cpu, |_| ControlFlow::Continue(())).unwrap();
    assert!(whole.parameters.iter().all(|parameter| parameter.profile.is_some()));
    // Finite once a descent has ended: the profiles follow.
    let look = |progress: &Progress| match progress.value.is_finite() {
        false => ControlFlow::Continue(()),
        true => ControlFlow::Break(()),
    };
    let ended = fit.run_on(&cpu, look).unwrap();
    assert_eq!(ended.outcome.stopped, StopReason::Certain);
    for (whole, ended) in whole.parameters.iter().zip(&ended.parameters) {
        assert_eq!((whole.value, whole.error), (ended.value, ended.error));
        assert_eq!(ended.profile, None);
    }
}

#[test]
fn a_fit_that_leaves_nothing_has_correlations() {
    let rows: Vec<_> = (0..8).map(f64::from).map(|x| (x, 3.0 + 2.0 * x)).collect();
    let fitted = Fit::named("polynomial", Data::pairs(rows).unwrap()).unwrap();
    let fitted = fitted.size("degree", 1).unwrap().run().unwrap();
    let correlation = fitted.statistics.correlation.rows[1][0];
    // - mean(x) / sqrt(mean(x^2)), whatever y is.
    assert!((correlation + 3.5 / 17.5_f64.sqrt()).abs() < 1e-9, "{correlation}");
}
