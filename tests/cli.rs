//! The program as a person uses it. `FLOCKWORK_BIN` names another program than the one just built,
//! `FLOCKWORK_DATA` another folder of data.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

fn program() -> Command {
    let path = env::var_os("FLOCKWORK_BIN")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_flockwork")), PathBuf::from);
    Command::new(path)
}

fn data(name: &str) -> String {
    let folder = env::var_os("FLOCKWORK_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("data"), PathBuf::from);
    folder.join(name).to_str().unwrap().to_owned()
}

/// The words of a command line; what is in none of them may have spaces.
fn run(line: &str) -> Output {
    program().args(line.split_whitespace()).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[track_caller]
fn succeeds(line: &str) -> String {
    let output = run(line);
    let errors = text(&output.stderr);
    assert!(output.status.success(), "{line}: {:?}\n{errors}", output.status);
    assert!(!errors.contains("panicked"), "{line}: {errors}");
    text(&output.stdout)
}

/// Fails with a sentence that has all of `expected` in it.
#[track_caller]
fn fails(line: &str, expected: &[&str]) {
    let output = run(line);
    let errors = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{line}: {:?}\n{errors}", output.status);
    assert!(!errors.contains("panicked") && errors.starts_with("error: "), "{line}: {errors}");
    for part in expected {
        assert!(errors.contains(part), "{line}: {part:?} is not in: {errors}");
    }
    assert!(output.stdout.is_empty(), "{line}: {}", text(&output.stdout));
}

#[track_caller]
fn json(line: &str) -> Value {
    let output = succeeds(&format!("{line} --json"));
    assert_eq!(output.lines().count(), 1, "one line: {output}");
    serde_json::from_str(&output).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

#[test]
fn bad_numbers_get_a_sentence() {
    let cases: &[(&str, &[&str])] = &[
        (
            "optimize nonsense",
            &["no objective function called \"nonsense\"", "rastrigin", "sphere"],
        ),
        ("optimize sphere --particles 0", &["particles is 0", "between 1 and 4294966272"]),
        ("optimize sphere --particles 4294967295", &["particles is 4294967295"]),
        ("optimize sphere --particles 4294967296", &["--particles", "4294967296"]),
        ("optimize sphere --particles many", &["--particles", "many"]),
        ("optimize sphere --particles=-1", &["--particles", "-1"]),
        ("optimize sphere --dims 0", &["sphere is defined for 1 or more dimensions, not for 0"]),
        ("optimize rosenbrock --dims 1", &["rosenbrock is defined for 2 or more dimensions"]),
        ("optimize lennard_jones --dims 7", &["multiples of 3 from 6", "not for 7"]),
        ("optimize lennard_jones --dims 300000", &["multiples of 3", "not for 300000"]),
        ("optimize sphere --bounds 5,-5", &["dimension 0", "5.0 to -5.0", "less than"]),
        ("optimize sphere --bounds 5,5", &["5.0 to 5.0"]),
        ("optimize sphere --bounds nan,1", &["NaN to 1.0"]),
        ("optimize sphere --bounds 0,inf", &["0.0 to inf"]),
        ("optimize sphere --bounds -1e308,1e308 --precision f64", &["-1e308 to 1e308", "finite"]),
        ("optimize sphere --bounds -1e300,1e300", &["-1e300 to 1e300", "finite"]),
        ("optimize sphere --bounds 1,1.00000000001", &["dimension 0", "precision"]),
        ("optimize sphere --bounds 5", &["--bounds", "-5,5"]),
        ("optimize sphere --bounds a,b", &["--bounds", "\"a\" is not a number"]),
        ("optimize sphere --bounds -1e30,1e30", &["no finite value", "bounds"]),
        ("optimize sphere --iterations 4294967295", &["iterations is 4294967295", "4294967294"]),
        ("optimize sphere --inertia nan", &["inertia is NaN", "finite"]),
        ("optimize sphere --cognitive inf", &["cognitive is inf", "finite"]),
        ("optimize sphere --social nan", &["social is NaN", "finite"]),
        ("optimize sphere --social 1e300", &["social is 1e300", "f32"]),
        ("optimize sphere --max-velocity 0", &["max_velocity is 0.0", "positive"]),
        ("optimize sphere --max-velocity nan", &["max_velocity is NaN"]),
        ("optimize sphere --max-velocity 1e38", &["max_velocity is 1e38", "f32"]),
        ("optimize sphere --precision f16", &["f16", "f32", "f64"]),
        ("optimize sphere --backend tpu", &["tpu", "cpu", "cuda", "auto"]),
        ("optimize sphere --threads 1000000", &["threads is 1000000", "at most"]),
        ("optimize sphere --seed x", &["--seed"]),
        ("optimize", &["<FUNCTION>"]),
        ("optimise sphere", &["optimise"]),
        ("generate calibration --dims 0 --rows 5 x", &["--dims", "0"]),
        ("generate calibration --dims 5 --rows 0 x", &["rows is 0"]),
        ("generate calibration --dims 5 --rows 9 /no/such/folder/x", &["/no/such/folder/x"]),
    ];
    for (line, expected) in cases {
        let cpu = if line.starts_with("optimize sphere") && !line.contains("--backend") {
            " --backend cpu"
        } else {
            ""
        };
        fails(&format!("{line}{cpu}"), expected);
    }
}

/// Refused before it is asked for: Linux would grant it and then end the program.
#[test]
fn too_much_memory_gets_a_sentence_with_a_figure() {
    for (line, expected) in [
        ("optimize sphere --backend cpu --particles 4000000000 --dims 1000", "44718.4 GiB"),
        ("optimize sphere --backend cpu --particles 100000000 --dims 1000", "1118.0 GiB"),
        ("optimize sphere --backend cpu --particles 4000000000 --dims 4294967295", " GiB"),
        ("generate calibration --dims 1000 --rows 10000000000 x", "74580.3 GiB"),
        ("generate calibration --dims 4294967295 --rows 18446744073709551615 x", " GiB"),
    ] {
        fails(line, &["of memory are needed", expected]);
    }
}

#[test]
fn bad_data_get_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = fs::read(data("f5_4_256.dat")).unwrap();
    assert_eq!(good.len(), 5 * 256 * 8);
    let mut with_nan = good.clone();
    with_nan[8 * 77..8 * 78].copy_from_slice(&f64::NAN.to_le_bytes());
    let mut huge = good.clone();
    huge[8 * 77..8 * 78].copy_from_slice(&1e300_f64.to_le_bytes());

    fails("optimize calibration", &["calibration is defined by data", "--data FILE"]);
    let given = format!("optimize sphere --data {}", data("f5_4_256.dat"));
    fails(&given, &["sphere is defined by its formula", "--data"]);
    let cases: &[(String, &[&str])] = &[
        ("/no/such/file".to_owned(), &["/no/such/file: ", "No such file"]),
        (folder.path().to_str().unwrap().to_owned(), &["directory"]),
        (file("cut_4_256.dat", &good[..good.len() - 3]), &["cut_4_256.dat", "10237 bytes"]),
        (file("short_4_256.dat", &good[..good.len() - 8]), &["1279 numbers", "n = 4 and P = 256"]),
        (file("empty_4_256.dat", &[]), &["0 bytes"]),
        (file("nan_4_256.dat", &with_nan), &["nan_4_256.dat", "byte 616 is NaN"]),
        (file("huge_4_256.dat", &huge), &["number 77", "1e300", "finite"]),
        (file("wrong_5_256.dat", &good), &["wrong_5_256.dat", "n = 5 and P = 256", "--dims"]),
        (file("nameless.dat", &good), &["nameless.dat", "does not end in n and P"]),
        (format!("{} --dims 6", file("any.dat", &good)), &["n = 6", "1280 numbers"]),
        (format!("{} --rows 0", file("any.dat", &good)), &["any.dat"]),
    ];
    for (file, expected) in cases {
        fails(&format!("optimize calibration --backend cpu --data {file}"), expected);
    }
    // What can be said otherwise than by the name.
    succeeds(&format!("optimize calibration --data {} -i 1 --dims 4", file("any.dat", &good)));
    succeeds(&format!("optimize calibration --data {} -i 1 --rows 256", file("any.dat", &good)));
}

#[test]
fn json_has_the_documented_keys_and_nothing_else() {
    let object = json("optimize rastrigin --backend cpu --dims 3 -p 100 -i 20 --seed 9");
    let keys = |value: &Value| {
        let mut keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys.join(" ")
    };
    assert_eq!(
        keys(&object),
        "backend dims evaluations_per_second function iterations_asked known_minimum \
         known_minimum_position lower particles precision result seed shift upper"
    );
    assert_eq!(keys(&object["backend"]), "description name reason");
    assert_eq!(
        keys(&object["result"]),
        "evaluations iterations position seconds startup_seconds stopped value"
    );
    assert_eq!(object["function"], "rastrigin");
    assert_eq!(object["precision"], "f32");
    assert_eq!(object["backend"]["name"], "cpu");
    assert_eq!(object["backend"]["reason"], "asked for");
    assert_eq!(object["seed"], 9);
    assert_eq!(object["result"]["stopped"], "iterations");
    assert_eq!(object["result"]["iterations"], 20);
    assert_eq!(object["result"]["evaluations"], 100 * 21);
    assert_eq!(numbers(&object["result"]["position"]).len(), 3);
    // Where the minimum lies with a shift: where the shift says.
    assert_eq!(numbers(&object["known_minimum_position"]), numbers(&object["shift"]));
    assert!(numbers(&object["shift"]).iter().all(|&s| s != 0.0 && s.abs() < 0.8 * 5.12 + 1e-9));
}

#[test]
fn the_text_says_what_was_found_and_how() {
    let output = succeeds("optimize rosenbrock --backend cpu -p 200 -i 300");
    for part in ["best value  ", "known minimum", "at          (", "a second", "back end    cpu: "]
    {
        assert!(output.contains(part), "{part:?} is not in: {output}");
    }
    assert!(output.contains("(asked for)"), "why this back end: {output}");
    let output = succeeds("optimize sphere -p 64 -i 1");
    assert!(output.contains("GPU"), "why this back end: {output}");
}

/// Without what differs from run to run.
fn timeless(mut object: Value) -> Value {
    object["evaluations_per_second"] = Value::Null;
    object["result"]["seconds"] = Value::Null;
    object["result"]["startup_seconds"] = Value::Null;
    object["backend"] = Value::Null;
    object
}

#[test]
fn the_same_seed_gives_the_same_result() {
    for precision in ["f32", "f64"] {
        let line =
            format!("optimize ackley -d 7 -p 3000 -i 50 --backend cpu --precision {precision}");
        let first = timeless(json(&format!("{line} --seed 5")));
        for again in ["--seed 5", "--seed 5 --threads 1", "--seed 5 --threads 3"] {
            assert_eq!(first, timeless(json(&format!("{line} {again}"))), "{again}");
        }
        let other = json(&format!("{line} --seed 6"));
        assert_ne!(first["result"]["position"], other["result"]["position"]);
    }
}

#[test]
fn without_a_shift_the_minimum_is_where_the_textbooks_have_it() {
    let line = "--no-shift --backend cpu -p 500 -i 400 --precision f64";
    for (function, coordinate) in [("sphere", 0.0), ("ackley", 0.0), ("rosenbrock", 1.0)] {
        let object = json(&format!("optimize {function} {line}"));
        assert_eq!(numbers(&object["known_minimum_position"]), [coordinate; 2]);
        assert_eq!(numbers(&object["shift"]), [0.0; 2]);
        for x in numbers(&object["result"]["position"]) {
            assert!((x - coordinate).abs() < 1e-3, "{function}: {x}");
        }
    }
}

#[test]
fn devices_are_listed_with_or_without_a_gpu() {
    let output = succeeds("devices");
    assert!(output.starts_with("cpu "), "{output}");
    let cuda = output.lines().find_map(|line| line.strip_prefix("cuda  ")).expect(&output);
    assert!(
        cuda.starts_with("GPU 0: ") || cuda.strip_prefix("none: ").is_some_and(|why| why.len() > 9),
        "{output}"
    );
    // What is missing is what a run that insists on a GPU says, too.
    if let Some(why) = cuda.strip_prefix("none: ") {
        fails("optimize sphere --backend cuda", &[why.split(" (").next().unwrap()]);
    } else {
        succeeds("optimize sphere --backend cuda -i 10");
    }
}

#[test]
fn help_lists_every_function() {
    let help = succeeds("optimize --help");
    for info in flockwork::registry::OBJECTIVES {
        assert!(help.contains(info.name) && help.contains(info.formula), "{}", info.name);
    }
    for line in ["--help", "--version", "help optimize", "generate --help"] {
        assert!(!succeeds(line).is_empty());
    }
}

#[test]
fn generated_data_are_fitted_by_all_ones() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f5_3_500.dat");
    let file = file.to_str().unwrap();
    succeeds(&format!("generate calibration --dims 3 --rows 500 {file}"));
    assert_eq!(fs::metadata(file).unwrap().len(), 4 * 500 * 8);
    for file in [file, &data("f5_4_256.dat")] {
        let object =
            json(&format!("optimize calibration --data {file} -p 300 -i 300 --backend cpu"));
        assert!(object["result"]["value"].as_f64().unwrap() < 1e-8);
        for x in numbers(&object["result"]["position"]) {
            assert!((x - 1.0).abs() < 1e-4, "{x}");
        }
    }
}

#[test]
fn the_kept_data_are_those_that_generate_writes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("again.dat");
    succeeds(&format!("generate calibration --dims 4 --rows 256 {}", file.display()));
    assert_eq!(fs::read(file).unwrap(), fs::read(data("f5_4_256.dat")).unwrap());
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_run_with_the_best_so_far() {
    use std::{thread::sleep, time::Duration};

    let line = "optimize rastrigin -d 8 -p 1000 -i 4000000000 --backend cpu --json";
    let child = program()
        .args(line.split(' '))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    sleep(Duration::from_millis(700));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{:?} {}", output.status, text(&output.stderr));
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["result"]["stopped"], "interrupted");
    let iterations = object["result"]["iterations"].as_u64().unwrap();
    assert!(iterations > 0 && iterations < 4_000_000_000);
    assert!(object["result"]["value"].as_f64().unwrap() >= 0.0);
}

/// As with `flockwork devices | head -0`.
#[test]
fn a_reader_that_stops_is_no_error() {
    for line in ["devices", "optimize sphere -p 9 -i 1", "optimize sphere -p 9 -i 1 --json"] {
        let mut child = program()
            .args(line.split(' '))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{line}: {:?} {}", output.status, text(&output.stderr));
        assert!(output.stderr.is_empty(), "{line}: {}", text(&output.stderr));
    }
}
