//! `flockwork fit` and `bench fit` on the command line.

use std::{fs, io::Read, process::Stdio};

use crate::common::program::{fails, json, program, succeeds};

/// A file of rows x, y with y = 2 + 3 x plus a small error.
fn line(folder: &tempfile::TempDir) -> String {
    let path = folder.path().join("line.csv");
    let row = |i: u32| {
        let x = f64::from(i) * 0.25;
        format!("{x},{}\n", 2.0 + 3.0 * x + 0.01 * (f64::from(i * 7 % 5) - 2.0))
    };
    fs::write(&path, format!("x,y\n{}", (0..40).map(row).collect::<String>())).unwrap();
    path.to_str().unwrap().to_owned()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn help_says_what_there_is() {
    let help = succeeds("fit --help");
    for expected in ["--gram", "--model", "--loss", "michaelis_menten", "Levenberg-Marquardt"] {
        assert!(help.contains(expected), "{expected:?} is not in: {help}");
    }
    assert!(succeeds("fit --list").contains("saturation"));
}

#[test]
fn a_line_is_found() {
    let folder = folder();
    let file = line(&folder);
    let usual = format!("fit {file} --model polynomial --degree 1 -b cpu");
    let text = succeeds(&usual);
    assert!(text.contains("polynomial, 40 rows"), "{text}");
    let values = |command: &str| -> Vec<f64> {
        let object = json(command);
        let parameters = object["result"]["parameters"].as_array().unwrap();
        parameters.iter().map(|p| p["value"].as_f64().unwrap()).collect()
    };
    let found = values(&usual);
    assert!((found[0] - 2.0).abs() < 0.02 && (found[1] - 3.0).abs() < 0.01, "{found:?}");
    let by_gram = values(&format!("{usual} --gram"));
    for (a, b) in found.iter().zip(&by_gram) {
        assert!((a - b).abs() < 1e-9, "{found:?} and {by_gram:?}");
    }
    // The swarm comes close; Levenberg-Marquardt goes the rest of the way.
    let unpolished = values(&format!("{usual} --polish none"));
    assert_ne!(found, unpolished);
    for (a, b) in found.iter().zip(&unpolished) {
        assert!((a - b).abs() < 0.1, "{found:?} and {unpolished:?}");
    }
    let fixed = values(&format!("{usual} --fix c0=2.5"));
    assert!(fixed[0] == 2.5 && fixed[1] < 3.0, "{fixed:?}");
}

#[test]
fn rates_are_of_what_is_read() {
    let folder = folder();
    let alone = format!("fit {} --model polynomial --degree 1 -b cpu", line(&folder));
    // Without a swarm there is no rate.
    assert!(!succeeds(&alone).contains(" a second"));
    let usual = format!("{alone} --iterations 50");
    let rates = |command: &str| {
        let object = json(command);
        ["evaluations_per_second", "rows_per_second"].map(|rate| object[rate].as_f64())
    };
    let [points, rows] = rates(&usual);
    assert!((rows.unwrap() / points.unwrap() / 40.0 - 1.0).abs() < 1e-12, "{points:?} {rows:?}");
    assert!(succeeds(&usual).contains(" rows a second\n"));
    // With the Gram matrix, evaluating a point reads no rows.
    let by_gram = format!("{usual} --gram");
    let [points, rows] = rates(&by_gram);
    assert!(points.unwrap() > 0.0 && rows.is_none(), "{points:?} {rows:?}");
    let text = succeeds(&by_gram);
    assert!(text.contains(" points a second by the Gram matrix\n"), "{text}");
    assert!(!text.contains("rows a second"), "{text}");
}

#[test]
fn an_interrupted_fit_goes_on() {
    let folder = folder();
    let file = line(&folder);
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (save, log) = (path("fit.flockwork"), path("fit.jsonl"));
    for gram in ["", " --gram"] {
        let fit = format!("fit {file} --model polynomial --degree 1 -b cpu{gram}");
        let whole = json(&format!("{fit} --iterations 60 --seed 5"));
        // Saved halfway, as by an interrupted run.
        succeeds(&format!("{fit} --iterations 25 --seed 5 --save {save}"));
        let rest = json(&format!("{fit} --resume {save} --iterations 60 --log {log} --history 10"));
        for part in ["parameters", "value", "iterations", "descents"] {
            assert!(!whole["result"][part].is_null(), "{part} is reported");
            assert_eq!(rest["result"][part], whole["result"][part], "{part}{gram}");
        }
        let lines = fs::read_to_string(&log).unwrap();
        assert!(lines.starts_with("{\"columns\":[\"x\",\"y\"]"), "{lines}");
        assert!(lines.lines().count() > 3, "{lines}");
        // A run with other data, another model, or another way to sum cannot be resumed.
        let other = folder.path().join("other.csv");
        fs::write(&other, "x,y\n1,2\n2,4\n3,7\n").unwrap();
        let other = other.to_str().unwrap();
        let differs =
            ["the run is about \"fit of polynomial\"", "its model, bounds, data, weights"];
        fails(&format!("fit {other} --model polynomial --degree 1 --resume {save}"), &differs);
        fails(&format!("fit {file} --model linear --resume {save}"), &differs);
        fails(&format!("{fit} --resume {save} --fix c0=1"), &differs);
        let otherwise =
            if gram.is_empty() { format!("{fit} --gram") } else { fit.replace(gram, "") };
        fails(&format!("{otherwise} --resume {save}"), &differs);
        fails(&format!("{fit} --resume {save} --particles 9"), &["only its limits can be changed"]);
        fails(&format!("{fit} --resume {file}"), &["line.csv"]);
        fails(&format!("{fit} --save {file}"), &["the data and --save name the same file"]);
        fails(&format!("{fit} --save {other}"), &["no saved run"]);
        fails(&format!("{fit} --resume {save} --log {save}"), &["the saved fit itself"]);
    }
}

#[test]
fn what_makes_no_sense_gets_a_sentence() {
    let folder = folder();
    let file = line(&folder);
    for (arguments, expected) in [
        (format!("fit {file} --model polynomail"), "there is no model called \"polynomail\""),
        (format!("fit {file} --model saturation --gram"), "gram is requested for saturation"),
        (
            format!("fit {file} --model linear --gram --loss huber --loss-scale 1"),
            "with the loss squares",
        ),
        (format!("fit {file} --model linear --gram --precision f32"), "gram is requested in f32"),
        (format!("fit {file} --model linear --loss huber"), "--loss huber needs --loss-scale"),
        (format!("fit {file} --model linear --y z"), "z"),
        ("bench fit --case f77".to_owned(), "there are f5, f9, f10"),
    ] {
        fails(&arguments, &[expected]);
    }
}

#[test]
fn a_reader_may_stop_before_the_end() {
    let mut bench = program()
        .args(["bench", "swarm", "-b", "cpu", "--size", "32x1", "--size", "32x2", "--size", "32x3"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 1];
    let mut reader = bench.stdout.take().unwrap();
    reader.read_exact(&mut first).unwrap();
    drop(reader);
    let ended = bench.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && !errors.contains("panicked"), "{:?} {errors}", ended.status);
}

#[test]
fn nothing_is_measured_once_nobody_reads() {
    // The second size is refused when its turn comes: the function takes two or more dimensions.
    let bench = |is_read: bool| {
        let mut command = program();
        command.args(["bench", "swarm", "-b", "cpu", "--json", "--function", "rosenbrock"]);
        command.args(["--size", "32x2", "--size", "32x1"]);
        let mut bench = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        if !is_read {
            drop(bench.stdout.take());
        }
        bench.wait_with_output().unwrap()
    };
    let read = bench(true);
    assert!(!read.status.success() && !read.stdout.is_empty(), "{read:?}");
    let ended = bench(false);
    assert!(ended.status.success() && ended.stderr.is_empty(), "{ended:?}");
}

/// Decays of a table, one data set shorter than the others.
fn samples() -> String {
    let mut table = "sample,time,signal,weight\n".to_owned();
    for (sample, rate, rows) in [("b, first", 0.5, 12), ("a", 1.5, 9), ("c", 0.8, 12)] {
        for row in 0..rows {
            let time = 0.5 * f64::from(row);
            let noise = 0.01 * f64::from(row * 7 % 5 - 2);
            let signal = 3.0 * (-rate * time).exp() + 0.5 + noise;
            table += &format!("\"{sample}\",{time},{signal},1\n");
        }
    }
    table
}

#[test]
fn a_data_set_for_each_group() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("samples.csv"), samples()).unwrap();
    let fit = format!("fit {} --group sample --x time --y signal -b cpu", path("samples.csv"));
    let model = format!("{fit} --model offset_exponentials");
    let text = succeeds(&format!("{model} --table {} --plot {}", path("t.csv"), path("p.svg")));
    for wanted in ["3 data sets of 9 to 12 rows, f64", "3 converged", "t.csv"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    let table = fs::read_to_string(path("t.csv")).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("set,offset,amplitude1,rate1,offset_error,"), "{table}");
    assert!(lines[1].starts_with("\"b, first\",0.") && lines[1].ends_with(",12,converged"));
    assert!(lines[2].starts_with("a,0.") && lines[2].ends_with(",9,converged"), "{table}");
    let rate: f64 = lines[2].split(',').nth(3).unwrap().parse().unwrap();
    assert!((rate - 1.5).abs() < 0.1, "{rate}");
    let picture = fs::read_to_string(path("p.svg")).unwrap();
    assert!(picture.contains("rate1") && picture.contains("worst: "), "a picture");

    // The same by a formula, with starting values and weights.
    let formula = format!(
        "{fit} --formula base+amp*exp(-rate*time) --weight weight --table {} \
         --initial base=0 --initial amp=1 --initial rate=1",
        path("t.npy")
    );
    let told = json(&formula);
    assert!(told["ended"]["converged"] == 3 && told["sets"] == 3, "{told}");
    let (shape, numbers) = flockwork::io::read_stack::<f64>(path("t.npy").as_ref()).unwrap();
    assert_eq!(shape, [3, 10]);
    assert!((numbers[10 + 2] - rate).abs() < 1e-4 && numbers[10 + 9] == 1.0);

    // A data set whose numbers are all missing keeps its place.
    let holes = "g,x,y\nb,0,NA\na,0,1\na,1,2\na,2,3\nb,1,\nc,0,2\nc,1,4\nc,3,8\n";
    fs::write(path("holes.csv"), holes).unwrap();
    let told = json(&format!(
        "fit {} --group g --x x --y y --skip-missing --model polynomial --degree 1 -b cpu --table {}",
        path("holes.csv"),
        path("h.csv")
    ));
    assert!(told["sets"] == 3 && told["ended"]["too_few_rows"] == 1, "{told}");
    let table = fs::read_to_string(path("h.csv")).unwrap();
    let first: Vec<&str> = table.lines().filter_map(|line| line.split(',').next()).collect();
    assert_eq!(first, ["set", "b", "a", "c"], "{table}");
}

#[test]
fn a_data_set_for_each_row_of_an_array() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let write = |name: &str, rows: usize, columns: usize, of: &dyn Fn(usize, usize) -> f64| {
        let numbers = (0..rows * columns).map(|at| of(at / columns, at % columns));
        flockwork::io::write_npy(path(name).as_ref(), rows, columns, numbers).unwrap();
    };
    let rate = |set: usize| 0.3 + 0.1 * set as f64;
    write("y.npy", 5, 20, &|set, row| 2.0 * (-rate(set) * 0.25 * row as f64).exp());
    write("x.npy", 20, 1, &|row, _| 0.25 * row as f64);
    write("own.npy", 5, 20, &|_, row| 0.25 * row as f64);
    write("start.npy", 5, 2, &|set, nth| if nth == 0 { 1.9 } else { rate(set) + 0.05 });
    let fit = format!("fit {} --many --model exponentials -b cpu", path("y.npy"));
    for more in ["--x x.npy", "--x own.npy", "--x x.npy --initial start.npy --precision f32"] {
        let in_folder = |word: &str| match word.ends_with(".npy") {
            true => path(word),
            false => word.to_owned(),
        };
        let more = more.split(' ').map(in_folder).collect::<Vec<_>>().join(" ");
        let told = json(&format!("{fit} {more}"));
        assert_eq!(told["ended"]["converged"], 5, "{more}: {told}");
        let median = told["parameters"][1]["median"].as_f64().unwrap();
        assert!((median - 0.5).abs() < 1e-4, "{more}: {median}");
    }
    // Images.
    let spot = |image: usize, pixel: usize| {
        let (x, y) = ((pixel % 6) as f64 - 2.5, (pixel / 6) as f64 - 2.0 - 0.1 * image as f64);
        50.0 * (-(x * x + y * y) / 2.0).exp() + 5.0
    };
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5, 6), }";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend((0..90).flat_map(|at| (spot(at / 30, at % 30) as f32).to_le_bytes()));
    fs::write(path("images.npy"), bytes).unwrap();
    let spots = format!("fit {} --many --model gaussian_2d -b cpu", path("images.npy"));
    for more in ["", " --poisson --bounds offset=0.1,100", " --precision f32"] {
        let told = json(&(spots.clone() + more));
        assert_eq!(told["ended"]["converged"], 3, "{told}");
        let y = told["parameters"][2]["median"].as_f64().unwrap();
        assert!((y - 2.1).abs() < 1e-3, "{y}");
    }

    // What does not fit together.
    fails(&format!("fit {} --model exponentials --poisson", path("y.npy")), &["--many or --group"]);
    fails(&format!("{fit} --particles 40"), &["--particles does not apply"]);
    fails(&format!("{fit} --save {}", path("s.fw")), &["--save does not apply"]);
    fails(&format!("{fit} --x {}", path("start.npy")), &["[5, 2]", "(20,)"]);
    fails(&format!("{fit} --initial rate1=1"), &["amplitude1 lack"]);
    fails(&format!("{fit} --initial rate=1"), &["no parameter rate", "amplitude1, rate1"]);
    fails(&format!("{fit} --initial {}", path("y.npy")), &["[5, 20]", "[5, 2]"]);
    fails(&format!("{fit} --y signal"), &["--many reads an array"]);
    fails(&format!("{fit} --formula a*exp(-t/tau)"), &["cannot be used with"]);
    let formula = format!("fit {} --many -b cpu --formula a*exp(-t/tau)", path("y.npy"));
    fails(&formula, &["names none of the arguments", "there are x"]);
    let over = format!("{fit} --x {} --table {}", path("x.npy"), path("x.npy"));
    fails(&over, &["--x and --table name the same file"]);
    fails(&format!("{fit} --starts 4 --initial {}", path("start.npy")), &["give one"]);
    fails(&format!("{fit} --target 1"), &["--target does not apply"]);
    fails(&format!("{fit} --steps 0"), &["--steps"]);
    write("square.npy", 20, 20, &|set, row| 2.0 * (-rate(set % 5) * 0.25 * row as f64).exp());
    let square = format!("fit {} --many --model exponentials -b cpu", path("square.npy"));
    fails(&format!("{square} --x {}", path("square.npy")), &["write it as (20, 20, 1)"]);
    fs::write(path("none.npy"), "a,b").unwrap();
    let none = format!("fit {} --many --model exponentials", path("none.npy"));
    fails(&none, &["none.npy", "it is no NumPy array"]);
    fails(&format!("{fit} --table {}", path("t.txt")), &[".csv or .npy"]);
    fails(&format!("{fit} --group sample"), &["cannot be used with"]);
    write("gap.npy", 2, 20, &|set, row| if set * 20 + row == 27 { f64::NAN } else { 1.0 });
    let gap = format!("fit {} --many --model exponentials -b cpu", path("gap.npy"));
    fails(&gap, &["data set 1, row 7 (from 0) is NaN", "--skip-missing"]);
    let told = succeeds(&format!("{gap} --skip-missing"));
    assert!(told.contains("1 of 40 targets") && told.contains("2 constant"), "{told}");
}

#[test]
fn shards_of_many_fits_merge_to_the_bytes_of_one_run() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let numbers = |rows: usize, columns: usize, of: &dyn Fn(usize, usize) -> f64| {
        (0..rows * columns).map(|at| of(at / columns, at % columns)).collect::<Vec<_>>()
    };
    let write = |name: &str, rows: usize, columns: usize, numbers: Vec<f64>| {
        flockwork::io::write_npy(path(name).as_ref(), rows, columns, numbers).unwrap();
    };
    let rate = |set: usize| 0.3 + 0.1 * set as f64;
    let decay = |set: usize, row: usize| 2.0 * (-rate(set) * 0.25 * row as f64).exp();
    write("y.npy", 7, 12, numbers(7, 12, &decay));
    write("x.npy", 7, 12, numbers(7, 12, &|_, row| 0.25 * row as f64));
    write("start.npy", 7, 2, numbers(7, 2, &|set, nth| if nth == 0 { 1.9 } else { rate(set) }));
    // A name with a comma and a line end, for a table with groups.
    let rows = (0..58).map(|row| {
        let (set, row) = (row / 12, row % 12);
        format!("\"g,\n{set}\",{},{}\n", 0.25 * row as f64, decay(set, row))
    });
    fs::write(path("t.csv"), format!("g,x,y\n{}", rows.collect::<String>())).unwrap();
    let array =
        format!("fit {} --many --x {} --model exponentials -b cpu", path("y.npy"), path("x.npy"));
    let begun = format!("{array} --initial {} --precision f32", path("start.npy"));
    let table = format!("fit {} --group g --x x --y y --model exponentials -b cpu", path("t.csv"));
    // Of a formula each data set is searched among its own arguments, wherever those of others are.
    write("far.npy", 7, 12, numbers(7, 12, &|set, row| (1.0 + 50.0 * set as f64) * row as f64));
    let (y, far) = (path("y.npy"), path("far.npy"));
    let typed = format!("fit {y} --many --x {far} --formula a*exp(-k*x)+b -b cpu");
    for (nth, (fit, ending)) in
        [(&array, "csv"), (&array, "npy"), (&begun, "npy"), (&table, "csv"), (&typed, "csv")]
            .iter()
            .enumerate()
    {
        let (whole, parts) =
            (path(&format!("whole{nth}.{ending}")), path(&format!("p{nth}.{ending}")));
        succeeds(&format!("{fit} --table {whole}"));
        for number in 1..=3 {
            let text = succeeds(&format!("{fit} --shard {number}/3 --table {parts}"));
            assert!(text.starts_with(&format!("shard {number}/3: data sets ")), "{text}");
            let merge = format!("merge {parts}");
            match number {
                3 => assert!(succeeds(&merge).contains("of 3 shards")),
                _ => fails(&merge, &["without its shard", "it must be the table of all 3 shards"]),
            }
        }
        assert!(fs::read(&whole).unwrap() == fs::read(&parts).unwrap(), "{fit} {ending}");
    }
    let told = json(&format!("{array} --shard 2/3 --table {} --json", path("j.csv")));
    assert_eq!(
        (&told["shard"], &told["first"], &told["sets"]),
        (&"2/3".into(), &2.into(), &2.into())
    );
    assert!(told["table"].as_str().unwrap().ends_with("j.2-of-3.csv"), "{told}");

    fails(&format!("{array} --shard 4/3"), &["shard is 4/3", "counted from 1"]);
    fails(&format!("{array} --shard 9/9"), &["take at most 7 shards"]);
    fails(&format!("{array} --shard auto"), &["SLURM_ARRAY_TASK_ID"]);
    fails(
        &format!("fit {} --model exponentials --shard 1/2", path("y.npy")),
        &["--many or --group"],
    );
    fails(&format!("merge {}", path("none.csv")), &["such as none.1-of-8.csv"]);
    fs::write(path("p0.2-of-4.csv"), "").unwrap();
    fails(&format!("merge {}", path("p0.csv")), &["in 3 and in 4 shards"]);
    fs::remove_file(path("p0.2-of-4.csv")).unwrap();
    fs::write(path("p0.2-of-3.csv"), "").unwrap();
    fails(&format!("merge {}", path("p0.csv")), &["it is empty"]);
    let over = format!("{table} --shard 1/2 --table {}", path("t.csv"));
    fails(&over, &["the data and --table name the same file"]);
    fs::write(path("p0.2-of-3.csv"), "set,other\n").unwrap();
    fails(&format!("merge {}", path("p0.csv")), &["with other columns"]);
    // What is cut off, twice there or too little.
    let merge = |table: &str| format!("merge {}", path(table));
    let whole = fs::read(path("p3.2-of-3.csv")).unwrap();
    for (end, why) in [(whole.len() - 1, "cut off"), (whole.len() - 9, "cut off")] {
        fs::write(path("p3.2-of-3.csv"), &whole[..end]).unwrap();
        fails(&merge("p3.csv"), &["p3.2-of-3.csv", why]);
    }
    let header = whole.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    fs::write(path("p3.2-of-3.csv"), &whole[..header]).unwrap();
    fails(&merge("p3.csv"), &["p3.2-of-3.csv with 0 rows", "of 3 rows in 3 shards it has 1"]);
    fs::copy(path("p3.1-of-3.csv"), path("p3.2-of-3.csv")).unwrap();
    fails(&merge("p3.csv"), &["of row 1 is in ", "p3.1-of-3.csv too"]);
    fs::copy(path("p1.1-of-3.npy"), path("p1.2-of-3.npy")).unwrap();
    fails(&merge("p1.npy"), &["p1.2-of-3.npy with the rows of ", "p1.1-of-3.npy"]);
    fs::copy(path("whole1.npy"), path("p1.2-of-3.npy")).unwrap();
    fails(&merge("p1.npy"), &["p1.1-of-3.npy with 2 rows", "of 12 rows in 3 shards it has 4"]);
    fails(&merge("p3.1-of-3.csv"), &["named without the shard: p3.csv"]);
    for seconds in ["nan", "inf"] {
        fails(&format!("{array} --seconds {seconds}"), &["seconds is", "0 or a positive number"]);
    }

    let mut slurm = program();
    slurm.args(format!("{array} --shard auto --table {}", path("s.csv")).split(' '));
    slurm.envs([
        ("SLURM_ARRAY_TASK_ID", "5"),
        ("SLURM_ARRAY_TASK_MIN", "4"),
        ("SLURM_ARRAY_TASK_COUNT", "3"),
    ]);
    assert!(slurm.output().unwrap().status.success());
    assert!(folder.path().join("s.2-of-3.csv").exists());
}
