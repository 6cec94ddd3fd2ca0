//! Swarms and everything around them, on the command line.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

use crate::common::program::{data, fails, json, program, succeeds, text};

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
        ("optimize sphere --bounds 5,-5", &["dimension 0", "5.0 to -5.0", "be below"]),
        ("optimize sphere --bounds 5,5 --periodic 0", &["5.0 to 5.0", "of an angle"]),
        ("optimize sphere --bounds nan,1", &["NaN to 1.0"]),
        ("optimize sphere --bounds 0,inf", &["0.0 to inf"]),
        ("optimize sphere --bounds -1e308,1e308 --precision f64", &["-1e308 to 1e308", "finite"]),
        ("optimize sphere --precision f32 --bounds -1e300,1e300", &["-1e300 to 1e300", "finite"]),
        ("optimize sphere --precision f32 --bounds 1,1.00000000001", &["dimension 0", "precision"]),
        ("optimize sphere --bounds 5", &["--bounds", "-5,5"]),
        ("optimize sphere --bounds a,b", &["--bounds", "\"a\" is not a number"]),
        ("optimize sphere --precision f32 --bounds -1e30,1e30", &["no finite value", "bounds"]),
        ("optimize sphere --iterations 4294967295", &["iterations is 4294967295", "4294967294"]),
        ("optimize sphere --islands 0", &["islands is 0", "1 to 8192"]),
        ("optimize sphere --islands 3 --migrate-every 0", &["migrate_every is 0", "at least 1"]),
        ("optimize sphere --islands 3 --migrants 0", &["migrants is 0", "1 to 512"]),
        ("optimize sphere --islands 3 --migration star", &["--migration", "ring", "random"]),
        ("optimize sphere --migrants 3", &["--islands"]),
        (
            "optimize sphere --islands 3 --method cmaes",
            &["--islands is an option of swarms: leave it out, or --method cmaes"],
        ),
        ("optimize sphere --islands 3 --restart", &["restart is given", "for islands"]),
        ("optimize sphere --islands 3 --preset thorough", &["restart is given", "for islands"]),
        ("optimize sphere --islands 3 --mode asynchronous", &["mode is given", "for islands"]),
        (
            "optimize sphere -d 2 --islands 3 --animate a.gif",
            &["--animate draws one swarm", "--islands"],
        ),
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
        ("optimize sphere --bounds 0,1 --bounds 0,2 --dims 3", &["--bounds is given 2 times", "3"]),
        ("optimize sphere --integer 2", &["--integer names dimension 2", "0 to 1"]),
        ("optimize sphere --periodic 0-9", &["--periodic names dimension 9", "0 to 1"]),
        ("optimize sphere --integer 3-1", &["--integer", "\"3-1\" names no dimensions", "0,2-5"]),
        ("optimize sphere --integer x", &["\"x\" names no dimensions"]),
        ("optimize sphere --integer 4294967296", &["names no dimensions"]),
        ("optimize sphere --integer all --periodic 1", &["dimension 1 cannot be both"]),
        ("optimize rastrigin --integer 0", &["integer variable", "-5.12", "whole numbers"]),
        ("optimize sphere --shift --no-shift", &["--shift", "--no-shift", "cannot be used with"]),
        ("optimize sphere --maximise --minimise", &["--maximise", "cannot be used with"]),
        ("optimize sphere --rule best", &["best", "standard-2011", "bare-bones"]),
        ("optimize sphere --edge wall", &["wall", "invisible"]),
        ("optimize sphere --schedule up", &["up", "linear"]),
        ("optimize sphere --randomness all", &["all", "per-particle"]),
        ("optimize sphere --neighbourhood ring:x", &["ring:x", "von-neumann"]),
        ("optimize sphere --neighbourhood ring:9 -p 10", &["neighbourhood is ring:9", "10"]),
        ("optimize sphere --neighbourhood random:0", &["random:0", "from 1"]),
        ("optimize sphere --rule fully-informed --neighbourhood global", &["ring:K"]),
        ("optimize sphere --rule comprehensive --neighbourhood ring", &["ring:1", "global"]),
        ("optimize sphere --rule bare-bones --inertia 1", &["--inertia", "bare-bones"]),
        ("optimize sphere --rule bare-bones --schedule linear", &["--schedule", "bare-bones"]),
        ("optimize sphere --rule bare-bones --randomness per-particle", &["per-dimension"]),
        ("optimize sphere --rule comprehensive --social 1", &["--social", "comprehensive"]),
        ("optimize sphere --patience 3", &["--patience", "does not apply to the rule inertia"]),
        ("optimize sphere --rule comprehensive --patience 0", &["patience is 0", "at least 1"]),
        ("optimize sphere --schedule linear", &["--schedule linear needs --last-inertia"]),
        ("optimize sphere --last-inertia 0.4", &["--last-inertia needs a schedule"]),
        ("optimize sphere --max-velocity fast", &["--max-velocity", "`none`"]),
        ("optimize sphere --max-velocity -1", &["max_velocity is -1.0", "positive"]),
        ("optimize sphere --start sobl", &["\"sobl\"", "latin-hypercube", "No such file"]),
        ("optimize sphere --start .", &["--start is \".\"", "directory"]),
        ("optimize sphere --evaluations 100 --method swarm", &["evaluations is 100", "1024"]),
        ("optimize sphere --evaluations -5", &["--evaluations", "whole number", "`none`"]),
        ("optimize sphere --evaluations 1.5", &["--evaluations", "whole number"]),
        ("optimize sphere --target much", &["--target", "expected a number", "`none`"]),
        ("optimize sphere --target nan", &["target is NaN", "number"]),
        ("optimize sphere --fitness-tolerance=-1", &["fitness_tolerance is -1.0", "positive"]),
        ("optimize sphere --spread-tolerance=-1", &["spread_tolerance is -1.0"]),
        ("optimize sphere --stop-patience 0", &["stop patience is 0", "at least 1"]),
        ("optimize sphere --seconds=-1", &["seconds is -1.0"]),
        ("optimize sphere --check-every 0", &["check_every is 0", "at least 1"]),
        ("optimize sphere --restart-growth 2", &["--restart"]),
        ("optimize sphere --restart --restart-growth 0.5", &["restart growth is 0.5", "1 or more"]),
        ("optimize sphere --restart --restart-patience 0", &["restart patience is 0"]),
        ("optimize sphere --restart --restart-spread=-1", &["restart spread is -1.0"]),
        ("optimize sphere --restart --restart-particles 4294967295", &["restart particles"]),
        ("optimize sphere --history 0", &["history is 0", "at least 1"]),
        ("optimize sphere --frames 5", &["--animate"]),
        ("optimize sphere --animate a.gif --frames 0", &["frames is 0"]),
        ("optimize sphere --animate a.gif --dims 3", &["--animate", "2 dimensions", "has 3"]),
        ("optimize sphere --animate a.png", &["a.png", "must end in .gif"]),
        ("optimize sphere --plot a.gif", &["a.gif", "must end in .svg or .png"]),
        ("optimize sphere --plot svg", &["must end in .svg or .png"]),
        ("optimize sphere --plot /no/such/a.svg", &["there is no folder /no/such"]),
        ("optimize sphere --log /no/such/a", &["--log is /no/such/a", "no folder"]),
        ("optimize sphere --save .", &["--save is .", "a folder"]),
        ("optimize sphere --save Cargo.toml", &["Cargo.toml", "no saved run", "left alone"]),
        ("optimize sphere --log a --save a", &["--save and --log name the same file"]),
        ("optimize sphere --save-every=-1 --save a", &["--save-every", "0 or more"]),
        ("optimize sphere --save-every inf --save a", &["--save-every", "0 or more"]),
        ("optimize sphere --rows 5", &["--data"]),
        ("resume", &["<FILE>"]),
        ("resume /no/such/run", &["/no/such/run: No such file"]),
        ("resume Cargo.toml", &["Cargo.toml: it is no saved run"]),
        ("resume .", &["."]),
        ("functions nonsense", &["no objective function called \"nonsense\"", "levy"]),
        ("functions lennard_jones --dims 7", &["multiples of 3", "not for 7"]),
        ("functions --dims 7", &["<NAME>"]),
        ("completions cmd", &["cmd", "powershell"]),
        ("optimize", &["<FUNCTION|--formula <TEXT>|--command <TEXT>>"]),
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

/// Refused before allocation: Linux would grant the memory and then kill the program.
#[test]
fn too_much_memory_gets_a_sentence_with_a_figure() {
    for (line, expected) in [
        ("optimize sphere --backend cpu --particles 4000000000 --dims 1000", "44748.2 GiB"),
        ("optimize sphere --backend cpu --particles 100000000 --dims 1000", "1118.7 GiB"),
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
        (
            format!("{} --precision f32", file("huge_4_256.dat", &huge)),
            &["number 77", "1e300", "finite"],
        ),
        (file("wrong_5_256.dat", &good), &["wrong_5_256.dat", "n = 5 and P = 256", "--dims"]),
        (file("nameless.dat", &good), &["nameless.dat", "does not end in n and P"]),
        (format!("{} --dims 6", file("any.dat", &good)), &["n = 6", "1280 numbers"]),
        (format!("{} --rows 0", file("any.dat", &good)), &["any.dat"]),
    ];
    for (file, expected) in cases {
        fails(&format!("optimize calibration --backend cpu --data {file}"), expected);
    }
    // The shape may be given by options instead of the name.
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
        "backend command dims evaluations_per_second formula function goal known_optimum \
         known_optimum_position lower names options result rotation_seed shift shift_seed upper \
         variables"
    );
    assert_eq!(
        keys(&object["options"]),
        "coefficients edge frames history iterations max_velocity mode neighbourhood particles patience \
         polish precision randomness restart rule schedule searches seed start stop"
    );
    assert_eq!(keys(&object["backend"]), "description name reason");
    assert_eq!(
        keys(&object["result"]),
        "evaluations evaluations_on_cpu evaluations_timed iterations position restarts seconds startup_seconds stopped \
         value"
    );
    assert_eq!(object["function"], "rastrigin");
    assert_eq!(object["options"]["precision"], "f32");
    assert_eq!(object["options"]["seed"], 9);
    assert_eq!(object["backend"]["name"], "cpu");
    assert_eq!(object["backend"]["reason"], "asked for");
    assert_eq!(object["goal"], "minimum");
    assert_eq!(object["result"]["stopped"], "iterations");
    assert_eq!(object["result"]["iterations"], 20);
    assert_eq!(object["result"]["evaluations"], 100 * 21);
    assert_eq!(numbers(&object["result"]["position"]).len(), 3);
    // With a shift, the minimum is at the shift.
    assert_eq!(numbers(&object["known_optimum_position"]), numbers(&object["shift"]));
    assert!(numbers(&object["shift"]).iter().all(|&s| s != 0.0 && s.abs() < 0.8 * 5.12 + 1e-9));
}

#[test]
fn the_text_says_what_was_found_and_how() {
    let output = succeeds("optimize rosenbrock --backend cpu -p 200 -i 300");
    for part in [
        "ended       all iterations done\n",
        "best value  ",
        "known minimum",
        "at          (",
        "a second",
        "back end    cpu: ",
    ] {
        assert!(output.contains(part), "{part:?} is not in: {output}");
    }
    assert!(output.contains("(asked for)"), "why this back end: {output}");
    let output = succeeds("optimize sphere -p 64 -i 1");
    assert!(output.contains("GPU"), "why this back end: {output}");
}

/// The object without what differs from run to run.
fn timeless(mut object: Value) -> Value {
    object["evaluations_per_second"] = Value::Null;
    object["result"]["seconds"] = Value::Null;
    object["result"]["startup_seconds"] = Value::Null;
    object["result"]["evaluations_timed"] = Value::Null;
    object["result"]["evaluations_on_cpu"] = Value::Null;
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
        assert_eq!(numbers(&object["known_optimum_position"]), [coordinate; 2]);
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
    // A run that insists on a GPU gives the same reason.
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
        assert!(help.contains(info.name), "{}", info.name);
    }
    for line in [
        "--help",
        "resume --help",
        "functions --help",
        "--version",
        "help optimize",
        "generate --help",
    ] {
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

    let folder = Folder::new();
    let log = folder.path("run.jsonl");
    let line =
        "optimize rastrigin -d 8 -p 1000 -i 4000000000 --backend cpu --json --history 100 --log";
    let child = program()
        .args(line.split(' '))
        .arg(&log)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It listens before the first sample.
    while fs::read_to_string(&log).unwrap_or_default().lines().count() < 3 {
        sleep(Duration::from_millis(5));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["result"]["stopped"], "interrupted");
    let iterations = object["result"]["iterations"].as_u64().unwrap();
    assert!(iterations > 0 && iterations < 4_000_000_000);
    assert!(object["result"]["value"].as_f64().unwrap() >= 0.0);
}

/// For example `flockwork devices | head -0`.
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

/// A folder, and paths in it for the command line.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), bytes).unwrap();
        self.name(name)
    }
}

/// What does not depend on the machine or on interruptions.
fn found(object: &Value) -> Value {
    timeless(object.clone())["result"].clone()
}

/// Checks that two runs found the same, bit for bit; a failure tells what differs.
#[track_caller]
fn same(one: &Value, other: &Value, what: &str) {
    let (one, other) = (found(one), found(other));
    for (key, value) in one.as_object().unwrap() {
        assert!(*value == other[key], "{what}: {key} differs: {one:.200} {other:.200}");
    }
    assert!(one == other, "{what}");
}

#[test]
fn every_option_changes_the_result() {
    let folder = Folder::new();
    let points = folder.write("points.csv", "1 2 3 4 5\n-1 -2 -3 -4 -5\n");
    let from_points = format!("--start {points}");
    // Options of both runs, and additional options of one.
    let cases: &[(&str, &str)] = &[
        ("", "--particles 41"),
        ("", "--iterations 61"),
        ("", "--seed 2"),
        ("", "--precision f64"),
        ("", "--dims 6"),
        ("", "--bounds -4,4"),
        ("", "--bounds -4,4 --bounds -4,4 --bounds -4,4 --bounds -4,4 --bounds -3,4"),
        ("--bounds -5,5", "--integer 0,2-3"),
        ("", "--periodic 1"),
        ("", "--periodic all"),
        ("", "--rotate"),
        ("--rotate", "--rotate=5"),
        ("", "--shift=5"),
        ("", "--no-shift"),
        ("", "--maximise"),
        ("", "--maximize"),
        ("", "--rule fully-informed"),
        ("", "--rule standard-2011"),
        ("", "--rule bare-bones"),
        ("", "--rule comprehensive"),
        ("--rule comprehensive", "--patience 2"),
        ("", "--inertia 0.6"),
        ("", "--schedule linear --last-inertia 0.4"),
        ("--schedule linear --last-inertia 0.4", "--last-inertia 0.5"),
        ("--schedule linear --last-inertia 0.4", "--schedule random"),
        ("", "--cognitive 1.4"),
        ("", "--social 1.4"),
        ("", "--rule inertia"),
        ("", "--randomness per-dimension"),
        ("--rule inertia", "--randomness per-particle"),
        ("", "--neighbourhood ring:2"),
        ("", "--neighborhood von-neumann"),
        ("", "--neighbourhood random:3"),
        ("", "--edge clamp"),
        ("", "--edge reflect"),
        ("", "--edge damp"),
        ("", "--edge bounce"),
        ("", "--edge wrap"),
        ("", "--edge resample"),
        ("", "--edge invisible"),
        ("", "--edge none"),
        ("", "--max-velocity 0.1"),
        ("--edge none", "--max-velocity none"),
        ("", "--start latin-hypercube"),
        ("", "--start sobol"),
        ("", "--start opposition"),
        ("", &from_points),
        ("--restart --check-every 1", "--restart-patience 5"),
        ("--restart", "--restart-spread 0.3"),
        ("--restart --restart-spread 0.3", "--restart-growth 2"),
        ("--restart --restart-spread 0.3 --restart-growth 2", "--restart-particles 50"),
        ("--iterations 500", "--polish pattern"),
        ("--iterations 500 --polish pattern", "--polish covariance"),
        ("--iterations 500 --polish pattern", "--polish none"),
        ("", "--evaluations 500"),
        ("", "--target 30"),
        ("", "--fitness-tolerance 20"),
        ("", "--spread-tolerance 0.3"),
        ("", "--seconds 0"),
        ("--target 30", "--check-every 3"),
        ("", "--history 7"),
        ("", "--islands 3"),
        ("--islands 4", "--migrate-every 10"),
        ("--islands 4 --migrate-every 10", "--migrants 3"),
        ("--islands 4 --migrate-every 10", "--migration ring"),
        ("--islands 8 --migrate-every 10 --migration all", "--migration torus"),
    ];
    let base = "optimize rastrigin -d 5 -p 40 -i 60 --backend cpu";
    for (shared, own) in cases {
        let (without, with) = (
            json(&format!("{base} {shared}")),
            // If an option is given twice, the last one counts.
            json(&format!("{base} {shared} {own}")),
        );
        assert_ne!(found(&without), found(&with), "{shared} and {own}");
    }
    let stagnant = "optimize sphere -p 20 -i 3000 --backend cpu --no-shift";
    let stopped = json(&format!("{stagnant} --stop-patience 40"));
    assert_eq!(stopped["result"]["stopped"], "patience");
    let down = json("optimize cubic -p 20 -i 30 --backend cpu --minimise");
    let up = json("optimize cubic -p 20 -i 30 --backend cpu");
    assert_eq!([&down["goal"], &up["goal"]], ["minimum", "maximum"]);
    assert_ne!(found(&down), found(&up));
    // If the optimum is at its side, the box is shifted too, and only if requested.
    let moved = json("optimize cubic -p 20 -i 30 --backend cpu --shift");
    assert_ne!(moved["lower"], up["lower"]);
    assert_eq!(numbers(&up["shift"]), [0.0; 2]);
}

#[test]
fn what_ends_a_run_is_said() {
    let line = "optimize sphere -d 3 -p 30 -i 400 --backend cpu";
    for (limit, reason, sentence) in [
        ("", "iterations", "all iterations done"),
        ("--evaluations 1000", "evaluations", "all evaluations done"),
        ("--target 1e-3", "target", "the target was reached"),
        ("--fitness-tolerance 1e-3", "fitness_tolerance", "the personal bests came close enough"),
        ("--spread-tolerance 1e-3", "spread_tolerance", "the particles came close enough"),
        ("--stop-patience 1 --check-every 1", "patience", "the best no longer improved"),
        ("--seconds 0", "time", "the time was over"),
    ] {
        let object = json(&format!("{line} {limit}"));
        assert_eq!(object["result"]["stopped"], reason, "{limit}");
        let text = succeeds(&format!("{line} {limit}"));
        assert!(text.contains(&format!("\nended       {sentence}")), "{limit}: {text}");
        let evaluations = object["result"]["evaluations"].as_u64().unwrap();
        assert!(limit != "--evaluations 1000" || evaluations <= 1000 && evaluations > 960);
        let every = object["options"]["stop"]["check_every"].as_u64().unwrap();
        let iterations = object["result"]["iterations"].as_u64().unwrap();
        assert!(iterations.is_multiple_of(every) || reason == "evaluations", "{limit}");
    }
    let restart = "--rule inertia --restart --restart-patience 1 --check-every 100";
    let text = succeeds(&format!("{line} {restart}"));
    assert!(text.contains("all iterations done, after "), "{text}");
    let text = succeeds("optimize cubic -p 30 -i 20 --backend cpu");
    assert!(text.contains("known maximum 1.8e6") && text.contains("\nmaximum at  (100"), "{text}");
}

#[test]
fn integer_variables_are_whole_and_no_impossible_optimum_is_claimed() {
    let object = json("optimize sphere -d 3 -p 50 -i 50 --backend cpu --integer 0-1");
    let position = numbers(&object["result"]["position"]);
    assert!(position[0].fract() == 0.0 && position[1].fract() == 0.0 && position[2].fract() != 0.0);
    assert_eq!(object["variables"], serde_json::json!(["integer", "integer", "continuous"]));
    let object = json("optimize sphere -d 3 -p 50 -i 50 --backend cpu --integer all --no-shift");
    assert_eq!(object["known_optimum"], 0.0);
    assert_eq!(numbers(&object["result"]["position"]), [0.0; 3]);
    // A known optimum must be a whole number and inside the user's box.
    for line in ["styblinski_tang --integer all", "sphere --bounds 1,2"] {
        let object = json(&format!("optimize {line} --no-shift -p 50 -i 50 --backend cpu"));
        assert_eq!(object["known_optimum"], Value::Null, "{line}");
    }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_log_agrees_with_the_history() {
    let folder = Folder::new();
    let log = folder.name("log.jsonl");
    let line = "optimize ackley -d 4 -p 50 -i 300 --backend cpu --restart --restart-patience 20";
    for (asked, iterations) in [("--history 7", 7), ("", 1)] {
        let object = json(&format!("{line} --log {log} {asked}"));
        let lines = lines(&folder.path("log.jsonl"));
        let history = object["result"]["history"].as_array().unwrap();
        let (last, samples) = lines[1..].split_last().unwrap();
        assert_eq!(samples, history, "{asked}");
        assert_eq!(last["result"]["value"], object["result"]["value"]);
        assert_eq!(lines[1]["iteration"], 0);
        assert_eq!(lines[2]["iteration"], iterations);
        for key in ["function", "goal", "dims", "lower", "shift", "options", "backend"] {
            assert_eq!(lines[0][key], object[key], "{key}");
        }
        assert!(object["result"]["restarts"].as_u64().unwrap() > 0);
    }
    assert!(json(line)["result"].get("history").is_none());
}

/// Counts the frames of a GIF.
fn frames(path: &Path) -> usize {
    let mut decoder = gif::DecodeOptions::new().read_info(fs::File::open(path).unwrap()).unwrap();
    let mut frames = 0;
    while decoder.read_next_frame().unwrap().is_some() {
        frames += 1;
    }
    frames
}

#[test]
fn pictures_are_written_and_decode() {
    let folder = Folder::new();
    let (svg, png, gif) = (folder.name("a.svg"), folder.name("a.PNG"), folder.name("a.gif"));
    let text = succeeds(&format!(
        "optimize levy -p 30 -i 40 --backend cpu --plot {svg} --animate {gif} --frames 10"
    ));
    assert!(text.contains(&format!("written     {svg}, {gif}")), "{text}");
    let drawing = fs::read_to_string(&svg).unwrap();
    assert!(drawing.starts_with("<svg") && drawing.trim_end().ends_with("</svg>"));
    assert!(drawing.contains("levy"));
    assert_eq!(frames(Path::new(&gif)), 5);

    succeeds(&format!("optimize schwefel -d 3 -p 30 -i 40 --maximise --plot {png} --backend cpu"));
    let mut reader = png::Decoder::new(std::io::BufReader::new(fs::File::open(&png).unwrap()))
        .read_info()
        .unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
}

#[test]
fn a_resumed_run_is_the_uninterrupted_one() {
    let folder = Folder::new();
    let file = folder.name("run.flockwork");
    for options in [
        "rastrigin -d 6 -p 300 --history 5",
        "rosenbrock -d 5 -p 70 --precision f64 --restart --restart-patience 20 --restart-growth 1.5",
        "ackley -d 5 -p 100 --rule comprehensive --schedule constant --rotate --history 3",
        "sphere -d 4 -p 90 --rule standard-2011 --integer 1 --periodic 2 --bounds -7,9 --maximise",
        "styblinski_tang -d 4 -p 90 --neighbourhood random:3 --start sobol --shift=4 --edge damp",
    ] {
        let whole = json(&format!("optimize {options} -i 300 --backend cpu"));
        let line = format!("optimize {options} --backend cpu --threads 2 --save {file}");
        let part = json(&format!("{line} -i 120"));
        assert_eq!(part["result"]["iterations"], 120);
        let resumed = json(&format!("resume {file} -i 300 --backend cpu --threads 1"));
        same(&resumed, &whole, options);
        assert_eq!(resumed["options"], whole["options"], "{options}");
        // The file now holds all of it.
        let again = json(&format!("resume {file} --backend cpu"));
        same(&again, &whole, options);
    }
}

/// Earlier names of options do the same, and are not shown.
#[test]
fn older_names_of_options_work() {
    let line = "optimize sphere -p 20 -i 3000 --backend cpu";
    let older = json(&format!("{line} --stagnation 40"));
    same(&older, &json(&format!("{line} --stop-patience 40")), "--stagnation");
    assert_eq!(older["options"]["stop"]["patience"], 40);
    assert_eq!(older["result"]["stopped"], "patience");
    let help = succeeds("optimize --help");
    assert!(help.contains("--stop-patience") && !help.contains("--stagnation"));
}

#[test]
fn a_run_that_a_condition_ended_stays_ended() {
    let folder = Folder::new();
    let file = folder.name("run.flockwork");
    let line = "optimize rastrigin -d 3 -p 60 -i 500 --backend cpu";
    for limit in
        ["--target 1", "--stop-patience 30", "--spread-tolerance 0.01", "--evaluations 5000"]
    {
        let ended = json(&format!("{line} {limit} --save {file}"));
        let again = json(&format!("resume {file} --backend cpu"));
        same(&again, &ended, limit);
        // Without the condition it continues as if that had never been there.
        let option = limit.split(' ').next().unwrap();
        let on = json(&format!("resume {file} {option} none --backend cpu"));
        same(&on, &json(line), limit);
    }
}

#[test]
fn a_resumed_run_keeps_to_its_file_and_draws_all_of_it() {
    let folder = Folder::new();
    let (file, log, svg, gif) =
        (folder.name("r"), folder.name("l"), folder.name("p.svg"), folder.name("p.gif"));
    let line = "optimize rastrigin -p 40 --backend cpu --history 10";
    succeeds(&format!("{line} -i 100 --save {file}"));
    let before = fs::read(&file).unwrap();
    let resumed =
        json(&format!("resume {file} -i 200 --no-save --log {log} --plot {svg} --backend cpu"));
    assert_eq!(fs::read(&file).unwrap(), before);
    same(&resumed, &json(&format!("{line} -i 200")), "resumed");
    // From the beginning.
    let logged = lines(Path::new(&log));
    let samples = &logged[1..logged.len() - 1];
    assert_eq!(samples, resumed["result"]["history"].as_array().unwrap());
    assert!(fs::read_to_string(&svg).unwrap().starts_with("<svg"));

    let other = folder.name("other");
    succeeds(&format!("resume {file} -i 200 --save {other} --animate {gif} --frames 20"));
    assert_eq!(fs::read(&file).unwrap(), before);
    assert_eq!(frames(Path::new(&gif)), 6, "100, 120, ..., 200");
    let text = succeeds(&format!("resume {other} -i 250"));
    assert!(text.contains(&format!("flockwork resume {other}")), "{text}");
    assert!(json(&format!("resume {other} --backend cpu"))["result"]["iterations"] == 250);
}

#[test]
fn a_resumed_run_finds_its_data() {
    let folder = Folder::new();
    let file = folder.name("run");
    let table = folder.write("table.dat", fs::read(data("f5_4_256.dat")).unwrap());
    let line = "optimize calibration -p 50 --backend cpu --rows 256";
    let whole = json(&format!("{line} -i 60 --data {table}"));
    succeeds(&format!("{line} -i 30 --data {table} --save {file}"));
    let resumed = json(&format!("resume {file} -i 60 --no-save --backend cpu"));
    same(&resumed, &whole, "resumed");

    let moved = folder.name("moved.dat");
    fs::rename(&table, &moved).unwrap();
    fails(&format!("resume {file}"), &["table.dat", "No such file"]);
    let resumed = json(&format!("resume {file} -i 60 --data {moved} --rows 256 --backend cpu"));
    same(&resumed, &whole, "resumed");
    // Remembered from then on.
    same(&json(&format!("resume {file} --backend cpu")), &whole, "remembered");

    let mut other = fs::read(&moved).unwrap();
    other[..8].copy_from_slice(&0.5_f64.to_le_bytes());
    let other = folder.write("other.dat", other);
    fails(&format!("resume {file} --data {other} --rows 256"), &["differs in", "data"]);
    succeeds(&format!("optimize sphere -i 1 --save {file}"));
    fails(&format!("resume {file} --data {moved} --rows 256"), &["sphere", "formula"]);
}

#[test]
fn a_file_that_is_no_whole_saved_run_gets_a_sentence() {
    let folder = Folder::new();
    let good = folder.name("good");
    succeeds(&format!("optimize sphere -p 20 -i 9 --save {good} --backend cpu"));
    let bytes = fs::read(&good).unwrap();
    let (content, _) = bytes.split_at(bytes.len() - 8);
    let summed = |mut content: Vec<u8>| {
        let sum = xxhash_rust::xxh3::xxh3_64(&content);
        content.extend(sum.to_le_bytes());
        content
    };
    assert_eq!(summed(content.to_vec()), bytes);
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 4;
    let mut newer = content.to_vec();
    newer[8..12].copy_from_slice(&99_u32.to_le_bytes());
    let cases: &[(&str, Vec<u8>, &str)] = &[
        ("damaged", damaged, "it is damaged"),
        ("truncated", bytes[..bytes.len() - 100].to_vec(), "cut short"),
        ("stub", bytes[..20].to_vec(), "cut short"),
        ("empty", Vec::new(), "no saved run"),
        ("other", b"something else entirely, and long enough to be one".to_vec(), "no saved run"),
        ("newer", summed(newer), "version 99, written by a newer flockwork"),
    ];
    for (name, bytes, expected) in cases {
        fails(&format!("resume {}", folder.write(name, bytes)), &[name, expected]);
    }
    // Options that do not apply to the saved run.
    fails(&format!("resume {good} --check-every 0"), &["check_every is 0"]);
    fails(&format!("resume {good} --no-save --save x"), &["--no-save", "--save"]);
    fails(&format!("resume {good} --animate x.png"), &["must end in .gif"]);
    fails(&format!("resume {good} --plot x.txt"), &["must end in .svg or .png"]);
    fails(&format!("resume {good} --log {good}"), &["--log is", "the saved run itself"]);
    fails(&format!("resume {good} --seed 4"), &["--seed"]);
    fails(&format!("resume {good} --threads 1000000 --backend cpu"), &["threads is 1000000"]);
}

/// Starts a run, and sends it a signal once `is_time` returns true, or it has ended.
#[cfg(unix)]
fn interrupted(line: &str, mut is_time: impl FnMut() -> bool, signal: &str) -> Output {
    let mut child = program()
        .args(line.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !is_time() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    // It may have ended by then, but its number is not reused before it is waited for.
    let _ = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    child.wait_with_output().unwrap()
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_is_saved_and_logged_and_goes_on() {
    let folder = Folder::new();
    let (file, log) = (folder.name("run"), folder.name("log"));
    let line = "optimize griewank -d 6 -p 500 --backend cpu --history 100";
    let endless = format!("{line} -i 2000000000 --threads 2 --save {file} --log {log} --json");
    // With the sample after the first, the run has iterated, and listens.
    let sampled = || fs::read_to_string(&log).unwrap_or_default().lines().count() >= 3;
    let output = interrupted(&endless, sampled, "-INT");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let part: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(part["result"]["stopped"], "interrupted");
    let logged = lines(Path::new(&log));
    assert_eq!(&logged[1..logged.len() - 1], part["result"]["history"].as_array().unwrap());

    let iterations = part["result"]["iterations"].as_u64().unwrap() + 150;
    let whole = json(&format!("{line} -i {iterations}"));
    let resumed = json(&format!("resume {file} -i {iterations} --threads 1 --backend cpu"));
    same(&resumed, &whole, "resumed");
}

/// Kills runs at random moments, resumes them, and compares the results with uninterrupted runs.
#[cfg(unix)]
fn kill_and_resume(times: u64) {
    use std::os::unix::fs::MetadataExt;

    let kinds = [
        "rastrigin -d 8 -p 200 -i 4000 --restart --restart-patience 200",
        "rosenbrock -d 6 -p 150 -i 4000 --precision f64 --rule standard-2011 --history 50",
        "ackley -d 6 -p 150 -i 4000 --rule comprehensive --start sobol --rotate",
        "levy -d 7 -p 250 -i 6000 --neighbourhood random:3 --target 1e-30 --stop-patience 3000",
    ];
    let whole = kinds.map(|kind| json(&format!("optimize {kind} --backend cpu")));
    let folder = Folder::new();
    // Any spread of moments will do; the system makes them random.
    let mut state = u64::from(std::process::id()) << 20 | 1;
    for time in 0..times {
        let kind = (time % kinds.len() as u64) as usize;
        let file = folder.name(&format!("run-{time}"));
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // After a number of saves, each replacing the one before, and a number of checks after the
        // last.
        let (files, mut looks) = (1 + state % 16, state / 16 % 50);
        let (mut seen, mut last) = (0, None);
        let is_time = || {
            let now = fs::metadata(&file).ok().map(|file| (file.ino(), file.mtime_nsec()));
            if now.is_some() && now != last {
                (seen, last) = (seen + 1, now);
            }
            if seen < files {
                return false;
            }
            looks = looks.saturating_sub(1);
            looks == 0
        };
        let threads = 1 + time % 2;
        interrupted(
            &format!(
                "optimize {} --backend cpu --threads {threads} --save {file} --save-every 0.05",
                kinds[kind]
            ),
            is_time,
            "-KILL",
        );
        let object = json(&format!("resume {file} --backend cpu --threads {}", 3 - threads));
        same(&object, &whole[kind], &format!("{} killed after {seen} files", kinds[kind]));
        let _ = fs::remove_file(&file);
    }
}

#[cfg(unix)]
#[test]
fn killed_runs_go_on() {
    kill_and_resume(8);
}

#[cfg(unix)]
#[test]
#[ignore = "takes minutes"]
fn killed_runs_go_on_for_long() {
    kill_and_resume(200);
}

#[test]
fn functions_are_listed_with_all_about_them() {
    let list = succeeds("functions");
    let all: Value = serde_json::from_str(&succeeds("functions --json")).unwrap();
    assert_eq!(all.as_array().unwrap().len(), flockwork::registry::OBJECTIVES.len());
    for (info, object) in flockwork::registry::OBJECTIVES.iter().zip(all.as_array().unwrap()) {
        assert!(list.lines().any(|line| line == info.name), "{}", info.name);
        for part in [info.formula, info.source, &info.dimensions.to_string()] {
            assert!(list.contains(part), "{part}");
        }
        assert_eq!(object["name"], info.name);
        assert_eq!(object["formula"], info.formula);
        assert_eq!(object["source"], info.source);
        assert_eq!(numbers(&object["interval"]), [info.interval.0, info.interval.1]);
        let one = succeeds(&format!("functions {}", info.name));
        assert!(one.starts_with(info.name) && list.contains(&one), "{one}");
        let one: Value =
            serde_json::from_str(&succeeds(&format!("functions {} --json", info.name))).unwrap();
        assert_eq!(&one, object);
    }
    let one = succeeds("functions styblinski_tang --dims 3");
    assert!(one.contains("minimum     -117.49") && one.contains("in 3 dimensions"), "{one}");
    assert!(succeeds("functions cubic").contains("  maximum     "));
}

#[test]
fn shells_get_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = succeeds(&format!("completions {shell}"));
        assert!(script.contains("flockwork") && script.contains("save-every"), "{shell}");
    }
    for shell in ["bash", "zsh"] {
        let script = succeeds(&format!("completions {shell}"));
        assert!(script.contains("styblinski_tang") && script.contains("nelson_siegel"), "{shell}");
    }
}

/// Under each heading of `--help`, every option tells its default.
#[test]
fn help_has_a_default_for_every_option_that_takes_a_value() {
    let help = succeeds("optimize --help").split("\nFunctions:").next().unwrap().to_owned();
    let mut options = 0;
    for paragraph in help.split("\n  ").filter(|part| part.trim_start().starts_with(['-'])) {
        options += usize::from(paragraph.contains('<'));
    }
    assert!(options > 30, "{options}");
    let words: Vec<_> = help.split_whitespace().collect();
    assert!(words.iter().filter(|word| **word == "[default:").count() > 35, "{help}");
    for heading in
        ["Problem:", "Swarm:", "Rule (", "Polishing and restarts:", "When to stop", "Machine:"]
    {
        assert!(help.contains(&format!("\n{heading}")), "{heading}");
    }
}

#[test]
fn the_benchmarks_functions_are_searched() {
    let line = "bench bbob --functions 1,5 --instances 1-2 --dimensions 2,3 --budget 1500";
    let text = succeeds(line);
    for row in ["| 1 | Sphere | separable | 2/2 | 1.000 |", "| all | | | 4/4 | 1.000 |"] {
        assert_eq!(text.matches(row).count(), 2, "{text}");
    }
    let lines = succeeds(&format!("{line} --json --threads 1"));
    let runs: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(runs.len(), 8);
    assert_eq!((&runs[7]["name"], &runs[7]["dims"]), (&"Linear Slope".into(), &3.into()));
    assert!(runs.iter().all(|run| run["reached"].as_array().is_some_and(|all| all.len() == 51)
        && run["solved_after"].is_u64()));
    fails("bench bbob --functions 1,25", &["25", "from 1 to 24"]);
    fails("bench bbob --instances 3-1", &["3-1", "1,3,10-14"]);
    fails("bench bbob --dimensions 1", &["not for 1", "2 to 64"]);
    fails("optimize bbob", &["24 functions", "bench bbob"]);
}

#[test]
fn searches_take_few_evaluations_and_say_how_few() {
    let few = json("optimize rastrigin -d 20 --evaluations 30 -b cpu");
    let evaluations = few["result"]["evaluations"].as_u64().unwrap();
    assert!((1..=30).contains(&evaluations), "{few}");
    fails(
        "optimize sphere -d 3 --evaluations 2",
        &["evaluations is 2", "at least the 7 of a first generation"],
    );
    // A swarm evaluates all its particles at the start.
    fails("optimize sphere --particles 100 --evaluations 30", &["at least the 100"]);
}

/// Clap would have quoted it.
#[cfg(target_os = "linux")]
#[test]
fn an_argument_that_is_no_text_is_an_error() {
    use std::os::unix::ffi::OsStrExt;

    let broken = std::ffi::OsStr::from_bytes(b"\xff+a");
    let output = program().args(["optimize", "--formula"]).arg(broken).output().unwrap();
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{why}");
    assert!(why.contains("UTF-8"), "{why}");
}

#[test]
fn a_preset_suits_whole_and_periodic_variables() {
    for kind in ["--integer", "--periodic"] {
        let report = succeeds(&format!(
            "optimize sphere -d 2 {kind} all --preset thorough --evaluations 20000"
        ));
        assert!(report.contains("best value"), "{report}");
    }
}

#[test]
fn what_stands_in_the_way_is_named() {
    for (arguments, expected) in [
        (
            &["--formula", "log(a-1)", "--var", "a=0,5", "--subject-to", "a<=0.5"][..],
            "no point with a value",
        ),
        (
            &["--formula", "a", "--var", "a=0,1", "--subject-to", "sqrt(a-5)<=1"],
            "formula, or a constraint on it,",
        ),
        (&["--formula", "a", "--var", "a=0..8388608", "--precision", "f32"], "f64 has them up to"),
        (&["--formula", "a", "--var", "a=0,inf"], "for a"),
        (&["--formula", "5", "--var", "a=0,1"], "which has no variables"),
        (&["--formula", "x[0]", "--var", "a=0,1"], "--dims and --bounds"),
        (&["--formula", "a", "--var", "a=0..3", "--method", "cmaes"], "whole numbers or periodic"),
        (&["--formula", "a =< 1", "--var", "a=0,1"], "less or equal is <="),
        (&["--formula", "``", "--var", "a=0,1"], "no name between the backticks"),
    ] {
        let output = program().arg("optimize").args(arguments).output().unwrap();
        let why = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success(), "{arguments:?}: {why}");
        assert!(why.contains(expected), "{arguments:?}: {why}");
    }
}
