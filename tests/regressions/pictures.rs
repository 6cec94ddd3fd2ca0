//! Pictures and logs say what the report says.

use std::{fs, path::Path};

use serde_json::Value;

use crate::program::json;

/// What the log's last line, which is the result, and the picture's subtitle say.
fn told(folder: &Path, line: &str) -> (Value, Value, String) {
    let (log, svg) = (folder.join("run.jsonl"), folder.join("run.svg"));
    let object =
        json(&format!("{line} --backend cpu --log {} --plot {}", log.display(), svg.display()));
    let log = fs::read_to_string(log).unwrap();
    let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    (object["result"].clone(), last["result"].clone(), fs::read_to_string(svg).unwrap())
}

#[test]
fn a_polished_value_is_in_the_log_and_in_the_picture() {
    let folder = tempfile::tempdir().unwrap();
    let line = "optimize rastrigin -d 3 --preset thorough --evaluations 20000";
    let (mut result, last, svg) = told(folder.path(), line);
    let history = result.as_object_mut().unwrap().remove("history").unwrap();
    assert_eq!(last, result);
    // As it was when a polish began, and when that ended.
    let history = history.as_array().unwrap();
    assert!(history.windows(2).any(|two| {
        two[0]["iteration"] == two[1]["iteration"]
            && two[1]["best"].as_f64().unwrap() < two[0]["best"].as_f64().unwrap()
    }));
    let value = format!("{:e}", result["value"].as_f64().unwrap());
    let (mantissa, _) = value.split_once('e').unwrap();
    assert!(svg.contains(&format!("best value {mantissa}·10")), "{value}");
}

#[test]
fn a_maximum_has_its_sign_in_the_picture() {
    let folder = tempfile::tempdir().unwrap();
    let (result, last, svg) = told(folder.path(), "optimize cubic -d 5 -i 200");
    assert_eq!(last["value"], result["value"]);
    assert_eq!(result["value"], 4.5e6);
    assert!(svg.contains("best value 4.5·10⁶ after") && svg.contains("optimum (4.5·10⁶) − value"));
}
