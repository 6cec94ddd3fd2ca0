//! Reading tables of numbers.

use std::{
    io::Write,
    path::Path,
    process::{Output, Stdio},
};

use serde_json::{Value, json};

use crate::common::program::{program, text};

/// Writes a file and fits a line to it.
fn line(bytes: &[u8], options: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    std::fs::write(&path, bytes).unwrap();
    of_path(&path, options)
}

fn of_path(path: &Path, options: &str) -> Output {
    let mut program = program();
    program.arg("fit").arg(path).args(["-m", "polynomial", "--degree", "1", "--json"]);
    program.args(options.split_whitespace()).stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn object(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Number of rows, and the fitted line, to nine digits.
#[track_caller]
fn read(bytes: &[u8], options: &str) -> (u64, [f64; 2], Value) {
    let object = object(&line(bytes, options));
    let parameter = |n: usize| {
        let value = object["result"]["parameters"][n]["value"].as_f64().unwrap();
        (value * 1e9).round() / 1e9
    };
    (object["result"]["rows"].as_u64().unwrap(), [parameter(0), parameter(1)], object)
}

#[track_caller]
fn refused(bytes: &[u8], options: &str, expected: &[&str]) {
    let output = line(bytes, options);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.len() < 600, "{errors}");
    for part in expected {
        assert!(errors.contains(part), "{part:?} is not in: {errors}");
    }
}

/// y = 1 + 2 x for x from 1 to 3, in many notations.
#[test]
fn one_table_in_many_forms() {
    let utf16: Vec<u8> = "\u{feff}x\ty\r\n1\t3\r\n2\t5\r\n3\t7\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let cases: &[&[u8]] = &[
        b"x,y\n1,3\n2,5\n3,7\n",
        b"x,y\r1,3\r2,5\r3,7\r",
        b"1 3\r2 5\r3 7",
        b"sep=;\nx;y\n1;3\n2;5\n3;7\n",
        b"Zeit;Wert\n1,0;3,0\n2,0;5,0\n3,0;7,0\n",
        b"1,0 3,0\n2,0 5,0\n3,0 7,0\n",
        b"\"x\",\"y\"\n\"1,0\",\"3,00\"\n\"2,0\",\"5,00\"\n\"3,0\",\"7,00\"\n",
        b"x|y\n1|3\n2|5\n3|7\n",
        b"\"Temp; K\",\"Rate\"\n1,3\n2,5\n3,7\n",
        b"1 3 # good, I think\n2 5 # meh; no\n3 7\n",
        b"1,3 # a, \"b\n2,5\n3,7\n",
        b"#x y\n1 3\n2 5\n3 7\n",
        b"x y\n1 1 3\n2 2 5\n3 3 7\n",
        b"\"y\"\n\"1\" 3\n\"2\" 5\n\"3\" 7\n",
        b",x,y\n0,1,3\n1,2,5\n2,3,7\n",
        b"x,y,\n1,3,\n2,5,\n3,7,\n",
        b"x,y\n1,3\n2,5\n3,7\n,\n,\n",
        b"x\ty\n1\t3\n\t\n2\t5\n3\t7\n",
        b"x,y\ns,mV\n1,3\n2,5\n3,7\n",
        b"A title of the table\n\nx,y\n1,3\n2,5\n3,7\n",
        b"x,2019\n1,3\n2,5\n3,7\n",
        b"Temp \xb0C;v\n1;3\n2;5\n3;7\n",
        b"x,y,note\n1,3,\"of two\nlines\"\n2,5,\"\"\"\"\n3,7,\n",
        &utf16,
    ];
    for (nth, bytes) in cases.iter().enumerate() {
        let options = if bytes.ends_with(b"3,7,\n") && bytes.starts_with(b"x,y,note") {
            "--x x --y y"
        } else {
            ""
        };
        let (rows, line, _) = read(bytes, options);
        assert_eq!((rows, line), (3, [1.0, 2.0]), "{nth}: {:?}", String::from_utf8_lossy(bytes));
    }
}

/// Names take precedence, even if they look like functions or numbers.
#[test]
fn names_that_look_like_something_else() {
    let units = b"Time (s),Signal [mV],ln(x)\n1,3,9\n2,5,9\n3,7,9\n";
    let output = {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("units.csv");
        std::fs::write(&path, units).unwrap();
        let mut program = program();
        program.arg("fit").arg(path).args(["-m", "polynomial", "--degree", "1", "--json"]);
        program.args(["--x", "Time (s)", "--y", "Signal [mV]"]).output().unwrap()
    };
    assert_eq!(object(&output)["columns"], json!(["Time (s)", "Signal [mV]"]));
    let (_, line, object) = read(units, "--x 1 --y ln(x)");
    assert_eq!((line, &object["columns"]), ([9.0, 0.0], &json!(["Time (s)", "ln(x)"])));

    let years = b"city,1990,2000\nA,1,3\nB,2,5\nC,3,7\n";
    for options in ["--x 2 --y 3", "--x 1990 --y 2000"] {
        let (rows, line, object) = read(years, options);
        assert_eq!((rows, line), (3, [1.0, 2.0]));
        assert_eq!(object["columns"], json!(["1990", "2000"]));
        assert_eq!(object["left_out"], json!({"line of names, some of them numbers": 1}));
    }
    refused(years, "--x 199", &["there is no column \"199\"; there are city, 1990, 2000"]);
    refused(b"Time,y\n1,2\n", "--x Tiem", &["no column \"Tiem\"; there are Time, y"]);
    refused(b"1,2\n", "--x t", &["no column \"t\"; there are 2, without names"]);
    refused(b"x,x\n1,2\n", "--x x", &["two columns are called \"x\", 1 and 2: give the number"]);
}

/// A first line that may be names or a row is neither dropped nor used.
#[test]
fn a_first_line_that_may_be_either() {
    let either = b"one,2\n1,3\n2,5\n3,7\n";
    refused(either, "", &["line 1 may be the names", "--header yes or --header no"]);
    let (rows, line, object) = read(either, "--header yes");
    assert_eq!((rows, line, &object["columns"]), (3, [1.0, 2.0], &json!(["one", "2"])));
    refused(either, "--header no", &["line 1, column 1 is \"one\", which is no number"]);
    let (rows, ..) = read(b"1,3\n2,5\n3,7\n", "--header yes");
    assert_eq!(rows, 2);
    let (rows, line, _) = read(b"Run 7, of May\n8 9\n1,3\n2,5\n3,7\n", "--skip-lines 2");
    assert_eq!((rows, line), (3, [1.0, 2.0]));
    refused(b"1,3\n", "--skip-lines 2", &["it has 1 lines, and 2 were to be skipped"]);
}

/// A field with # may be a spreadsheet's error, and what is left out is counted.
#[test]
fn missing_numbers() {
    let table = b"x,y\n#N/A,1\n1,3\n#DIV/0!,4\n2,5\n-,1\n9,NA\n9,\n3,7\n# a comment\n";
    refused(table, "", &["line 2, column 1 (x) is \"#N/A\", where a number", "--skip-missing"]);
    let (rows, line, object) = read(table, "--skip-missing");
    assert_eq!((rows, line), (3, [1.0, 2.0]));
    assert_eq!(object["skipped_rows"], 5);
    let kinds = json!({"\"#N/A\"": 1, "\"#DIV/0!\"": 1, "\"-\"": 1, "\"NA\"": 1, "empty": 1});
    assert_eq!(object["left_out"], kinds);
    refused(b"x,y\nNA,1\n", "--skip-missing", &["each of its 1 rows lacks a number"]);
}

#[test]
fn what_is_no_table_is_refused_with_its_line() {
    let cases: &[(&[u8], &[&str])] = &[
        (b"\"1\",\"1,234.5\"\n", &["line 1, column 2 is \"1,234.5\"", "between thousands"]),
        (b"1,234;2\n", &["line 1, column 1 is \"1,234\"", "--decimal-comma"]),
        (b"d,y\n2024-01-02,10\n", &["line 2, column 1 (d)", "but a date or a time"]),
        (b"x,y\n1,2\n3,4\nSource: me\n", &["line 4 has 1 field; the others have 2"]),
        (b"1,2,3\n4,5\n6,7,8\n", &["line 2 has 2 fields; the others have 3"]),
        (b"x,y,z\n1,2,\"a\n3,4,b\n", &["line 2: a quote (\") is opened there and never closed"]),
        (b"2-9,10-19\n1,2\n", &["line 1, column 1 is \"2-9\"", "--header yes takes the line for"]),
        (b"PK\x03\x04 and so on", &["its zip archive is cut short or damaged"]),
        (b"\x1f\x8b\x08 and so on", &["packed by gzip, and cut short or damaged"]),
        (b"\x93NUMPY\x01\x00", &["its NumPy header is cut short or damaged"]),
        (b"# nothing\n", &["it is empty"]),
        (b"x,y\n1,2\n3,\x004\n", &["line 3 has a NUL character"]),
        (b"x,y\n1,2\n'0.1000',2\n", &["line 3, column 1 (x)", "may stand in double quotes"]),
    ];
    for (bytes, expected) in cases {
        refused(bytes, "", expected);
    }
    let long = [b"x,y\n1,", &b"7z".repeat(2500)[..]].concat();
    refused(&long, "", &["line 2, column 2 (y) is \"7z7z", "\"..., which is no number"]);
    let commas = vec![b','; 3 << 20];
    refused(&commas, "", &["line 1 has more than 1048576 fields"]);
}

/// Arrays as NumPy writes them, and damaged ones, which NumPy refuses too.
#[test]
fn arrays() {
    let array = |descr: &str, shape: &str, data: &[u8]| {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = (header.len() as u16).to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
    };
    let halves: [u16; 6] = [0x3c00, 0x4200, 0x4000, 0x4500, 0x4200, 0x4700];
    let halves = array("<f2", "(3, 2)", &halves.map(u16::to_le_bytes).concat());
    assert_eq!(read(&halves, "").1, [1.0, 2.0]);
    let whole = array(">i4", "(3, 2)", &[1, 3, 2, 5, 3, 7].map(i32::to_be_bytes).concat());
    assert_eq!(read(&whole, "").1, [1.0, 2.0]);
    assert_eq!(read(&array("|b1", "(2, 2)", &[0, 1, 1, 0]), "").1, [1.0, -1.0]);
    let holes = [1.0, 3.0, f32::NAN, 2.0, 2.0, 5.0].map(f32::to_le_bytes).concat();
    let holes = array("<f4", "(3, 2)", &holes);
    refused(&holes, "", &["row 1, column 0 (from 0) is NaN", "--skip-missing"]);
    let (rows, _, object) = read(&holes, "--skip-missing");
    assert_eq!((rows, &object["left_out"]), (2, &json!({"NaN": 1})));

    let position = whole.windows(5).position(|word| word == b"False").unwrap();
    let mut damaged = whole.clone();
    damaged[position..position + 5].copy_from_slice(b"Urue ");
    refused(&damaged, "", &["fortran_order is neither True nor False"]);
    refused(&array("<f8", "(1000000000000000, 2)", &[0; 16]), "", &["cut short or damaged"]);
    refused(&array("<c16", "(1, 2)", &[0; 32]), "", &["it is an array of <c16; accepted are f2"]);
}

/// As written by numpy.savez and numpy.savez_compressed.
#[test]
fn archives_of_arrays() {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/regressions/files");
    for name in ["stored.npz", "deflated.npz"] {
        let path = files.join(name);
        let object = object(&of_path(&path, "--x t --y level"));
        assert_eq!(object["columns"], json!(["t", "level"]), "{name}");
        assert_eq!(object["result"]["rows"], 3, "{name}");
        assert!((object["result"]["parameters"][1]["value"].as_f64().unwrap() - 2.0).abs() < 1e-9);
        let bytes = std::fs::read(&path).unwrap();
        for damage in [30, 90, bytes.len() / 2, bytes.len() - 3] {
            let mut damaged = bytes.clone();
            damaged.truncate(damage);
            refused(&damaged, "", &["its zip archive is cut short or damaged"]);
        }
    }
}

/// Read once and whole, also from a pipe.
#[test]
fn pipes() {
    let table: String = (0..2000).map(|x| format!("{x}.25,{}.5\n", 2 * x + 1)).collect();
    for path in ["-", "/dev/stdin"] {
        if path != "-" && !cfg!(target_os = "linux") {
            continue;
        }
        let mut child = program()
            .args(["fit", path, "-m", "polynomial", "--degree", "1", "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(table.as_bytes()).unwrap();
        let object = object(&child.wait_with_output().unwrap());
        assert_eq!(object["result"]["rows"], 2000);
        let slope = object["result"]["parameters"][1]["value"].as_f64().unwrap();
        assert!((slope - 2.0).abs() < 1e-6, "{slope}");
    }
}

/// The report lists what was left out.
#[test]
fn the_report_says_what_was_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    std::fs::write(&path, "x,y\ns,mV\n1,3\n2,NA\n3,7\n4,9\n,\n").unwrap();
    let output = program()
        .arg("fit")
        .arg(&path)
        .args(["-m", "polynomial", "--degree", "1", "--skip-missing"])
        .output()
        .unwrap();
    let report = text(&output.stdout);
    let expected = "(left out: 1 \"NA\", 1 line of empty fields, 1 line of units)";
    assert!(report.contains(expected), "{report}");
}
