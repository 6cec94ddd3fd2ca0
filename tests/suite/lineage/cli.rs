//! `flockwork bench lineage` on the command line: what works without a GPU, at sizes that take
//! seconds.

use std::{fs, io::Read, process::Stdio};

use serde_json::Value;

use crate::common::program::{fails, program, succeeds, text};

const WORKS: [&str; 4] = ["boudoudouh", "cupso", "hosala", "floyd_warshall"];

/// The lines of a command's output, each an object.
fn lines(command: &str) -> Vec<Value> {
    let text = succeeds(&format!("{command} --json"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What is wrong with a row of the processor's, if anything.
fn fault(row: &Value) -> Option<&'static str> {
    let number = |value: &Value| value.as_f64().filter(|number| *number > 0.0);
    let Some(seconds) = number(&row["seconds"]) else { return Some("no time") };
    let (Some(least), Some(most)) = (number(&row["range"][0]), number(&row["range"][1])) else {
        return Some("no range");
    };
    if !(least <= seconds && seconds <= most) {
        return Some("a time out of its range");
    }
    // Of the small sizes, only some of cuPSO's were published.
    let published = !row["published"].is_null();
    if published && row["work"] != "cupso" {
        return Some("a published figure at a size that is not the published one");
    }
    if published && !(number(&row["published"]).is_some() && row["published_on"].is_string()) {
        return Some("a published figure without its machine");
    }
    if let Some(ours) = number(&row["ours"]["seconds"]) {
        let ratio = row["ratio"].as_f64().unwrap_or(f64::NAN);
        let is_theirs = (ratio - seconds / ours).abs() <= 1e-9 * ratio;
        if !is_theirs {
            return Some("a ratio that is not that of the times");
        }
    } else if !row["ratio"].is_null() {
        return Some("a ratio to nothing");
    }
    row["checked"].is_null().then_some("a result that nobody looked at")
}

#[test]
fn every_work_says_what_it_has() {
    for work in WORKS {
        let lines = lines(&format!("bench lineage {work} --brief -b cpu"));
        assert!(!lines.is_empty(), "{work} says nothing");
        for line in &lines {
            assert_eq!(line["work"], work, "{line}");
            if line["note"].is_null() {
                assert_eq!(fault(line), None, "{line}");
            }
        }
    }
}

#[test]
fn tables_have_heads_and_rows_and_charts_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let charts = folder.path().join("a/b");
    let command = "bench lineage boudoudouh --brief -b cpu --plot";
    let text = succeeds(&format!("{command} {}", charts.display()));
    for wanted in ["anoir2/psondimension", "### 2 dims: ", "### 64 dims: ", "need a GPU"] {
        assert!(text.contains(wanted), "{wanted:?} is not in: {text}");
    }
    let tables: Vec<&str> = text.split("### ").skip(1).collect();
    assert_eq!(tables.len(), 5, "{text}");
    for table in tables {
        let rows: Vec<&str> = table.lines().filter(|line| line.starts_with('|')).collect();
        let cells = |row: &str| row.matches('|').count();
        assert!(rows.iter().all(|row| cells(row) == cells(rows[0])), "{table}");
        assert!(rows.iter().any(|row| row.contains("main_v7")), "{table}");
        assert!(rows.iter().any(|row| row.contains("flockwork")), "{table}");
    }

    let mut names: Vec<_> =
        fs::read_dir(&charts).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let wanted = [16, 2, 32, 64, 8].map(|dims| format!("boudoudouh-{dims}-dims.svg"));
    assert_eq!(names, wanted.each_ref().map(|name| name.as_str()));
    let chart = fs::read_to_string(charts.join("boudoudouh-16-dims.svg")).unwrap();
    for text in ["<svg", "16 dimensions", "main_v2", "main_v7", "flockwork", "5000 x 16"] {
        assert!(chart.contains(text), "{text:?} is not in: {chart}");
    }
    // A file is in the way, which is reported before anything is measured.
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    fails(&format!("{command} {}", file.display()), &["folder", "file"]);
}

#[test]
fn one_table_of_one_work() {
    let mut command = program();
    command.args(["bench", "lineage", "--table", "8 dims", "--brief", "-b", "cpu", "--json"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let text = text(&output.stdout);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rows: Vec<_> = lines.iter().filter(|line| line["note"].is_null()).collect();
    assert!(rows.len() >= 5, "{text}");
    assert!(rows.iter().all(|row| row["table"] == "8 dims" && row["size"] == "5000 x 8"), "{text}");
    assert!(lines.iter().all(|line| line["work"] == "boudoudouh"), "{text}");
}

#[test]
fn unknown_names_get_a_sentence() {
    fails(
        "bench lineage anything",
        &["anything", "boudoudouh", "cupso", "hosala", "floyd_warshall"],
    );
    fails("bench lineage boudoudouh --table 3", &["--table", "\"3\"", "2 dims", "64 dims"]);
}

#[test]
fn whoever_reads_may_stop() {
    let mut command = program();
    command.args(["bench", "lineage", "boudoudouh", "--brief", "-b", "cpu", "--table", "2 dims"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert!(child.wait().unwrap().success() && errors.is_empty(), "{errors}");
}
