//! `flockwork paths`, `generate graph` and `bench paths` on the command line.

use std::fs;
#[cfg(target_os = "linux")]
use std::process::{Command, Stdio};

use serde_json::{Value, json};

#[cfg(target_os = "linux")]
use crate::common::program;
use crate::common::program::{data, fails, json, succeeds, text};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn file(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }
}

fn map(name: &str) -> String {
    data(&format!("graphs/{name}"))
}

#[test]
fn a_small_graph_from_end_to_end() {
    let folder = Folder::new();
    let graph = folder.file("small.gr", "p sp 4 4\na 1 2 5\na 2 3 -2\na 1 3 4\na 3 4 1\n");
    let (distances, predecessors) = (folder.path("d.npy"), folder.path("p.npy"));
    let text = succeeds(&format!(
        "paths {graph} --query 1,4 --query 4,1 --eccentricity --closeness --distances {distances} \
         --predecessors {predecessors}"
    ));
    for expected in [
        "4 vertices, 4 edges, directed, weights -2 to 5\n",
        "computed in i32, chosen from the data\n",
        " relaxations a second (reading ",
        "connected   6 of 12 pairs\n",
        "diameter    5\n",
        "mean        1.6666666666666667\n",
        "1 to 4: length 4: 1 -> 2 -> 3 -> 4\n",
        "4 to 1: no path\n",
        "vertex\teccentricity\tcloseness\n1\t5\t0.25\n",
        "4\tnone\t0\n",
        "d.npy: 4 x 4\n",
        "p.npy: 4 x 4\n",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in: {text}");
    }
    let none = i32::MAX;
    let rows = [[0, 5, 3, 4], [none, 0, -2, -1], [none, none, 0, 1], [none, none, none, 0]];
    let bytes = fs::read(distances).unwrap();
    assert_eq!(
        bytes[bytes.len() - 64..],
        rows.concat().into_iter().flat_map(i32::to_le_bytes).collect::<Vec<_>>()
    );
    let none = -9999;
    let rows = [[none, 0, 1, 2], [none, none, 1, 2], [none, none, none, 2], [none; 4]];
    let bytes = fs::read(predecessors).unwrap();
    assert_eq!(
        bytes[bytes.len() - 64..],
        rows.concat().into_iter().flat_map(i32::to_le_bytes).collect::<Vec<_>>()
    );

    let object = json(&format!("paths {graph} --query 1,3 --query 3,1 --closeness"));
    assert_eq!(object["queries"][0], json!({"from": 1, "to": 3, "length": 3.0, "path": [1, 2, 3]}));
    assert_eq!(object["queries"][1]["path"], Value::Null);
    assert_eq!(object["closeness"][0], json!(0.25));
    assert_eq!(object["weights"], "i32");
    for key in ["reachable_pairs", "diameter", "mean_distance", "relaxations_per_second", "seconds"]
    {
        assert!(object[key].is_number(), "{key}");
    }
}

#[test]
fn graphs_of_no_and_of_one_vertex() {
    let folder = Folder::new();
    for (text, vertices) in [("p sp 0 0\n", 0), ("p sp 1 0\n", 1), ("0 0 5\n", 1)] {
        let graph = folder.file("tiny.gr", text);
        let distances = folder.path("tiny.npy");
        let object = json(&format!("paths {graph} --distances {distances} --eccentricity"));
        assert_eq!(object["vertices"], vertices, "{text:?}");
        assert_eq!(object["diameter"], Value::Null);
        assert!(fs::metadata(distances).unwrap().len() >= 64);
    }
}

#[test]
fn a_street_map_in_every_type() {
    let map = map("seattle_23rd.gr");
    fails(&format!("paths {map} --weights u16"), &["u16", "3.2766e4", "accepted are i32"]);
    // What lies among its first vertices, for which no build needs long.
    let folder = Folder::new();
    let whole = fs::read_to_string(&map).unwrap();
    let first = |line: &&str| {
        line.split(' ').skip(1).take(2).all(|vertex| vertex.parse::<u32>().unwrap() < 700)
    };
    let part: Vec<&str> = whole.lines().filter(first).collect();
    let part = folder.file("part.gr", &part.join("\n"));
    let usual = json(&format!("paths {part} --query 369,66"));
    assert_eq!((&usual["vertices"], &usual["weights"]), (&json!(700), &json!("i32")));
    let path = usual["queries"][0]["path"].as_array().unwrap();
    assert!(path.len() > 10 && path[0] == 369 && path[path.len() - 1] == 66);
    for weights in ["f32", "f64"] {
        let other = json(&format!("paths {part} --query 369,66 --weights {weights} --threads 1"));
        for key in ["reachable_pairs", "diameter", "mean_distance", "queries"] {
            assert_eq!(other[key], usual[key], "{weights}: {key}");
        }
    }
}

#[test]
fn generated_graphs_are_those_of_their_options() {
    let folder = Folder::new();
    let file = folder.path("random.csv");
    let said =
        succeeds(&format!("generate graph -n 60 --density 0.3 --weights 2,50 --seed 7 {file}"));
    assert!(said.contains("60 vertices, "), "{said}");
    let object = json(&format!("paths {file} --vertices 60 --first 0"));
    let edges = object["edges"].as_u64().unwrap();
    assert!((900..1250).contains(&edges), "{edges}");
    assert!(said.contains(&format!(" {edges} directed edges")), "{said}");
    assert_eq!((&object["least_weight"], &object["greatest_weight"]), (&json!(2.0), &json!(50.0)));
    let first = fs::read(&file).unwrap();
    succeeds(&format!("generate graph -n 60 --density 0.3 --weights 2,50 --seed 7 {file}"));
    assert_eq!(first, fs::read(&file).unwrap());
    succeeds(&format!("generate graph -n 60 --density 0.3 --weights 2,50 --seed 8 {file}"));
    assert_ne!(first, fs::read(&file).unwrap());

    let file = folder.path("real.npy");
    succeeds(&format!("generate graph -n 33 --undirected --real --weights 0,1 {file}"));
    let object = json(&format!("paths {file}"));
    assert_eq!((&object["undirected"], &object["weights"]), (&json!(true), &json!("f64")));
}

#[test]
fn every_option_changes_what_is_computed() {
    let folder = Folder::new();
    let list = folder.file("list.txt", "1 2 5\n2 3 7\n");
    let base = json(&format!("paths {list}"));
    assert_eq!((&base["vertices"], &base["reachable_pairs"]), (&json!(3), &json!(3)));
    assert_eq!(json(&format!("paths {list} --first 0"))["vertices"], 4);
    assert_eq!(json(&format!("paths {list} --vertices 9"))["vertices"], 9);
    assert_eq!(json(&format!("paths {list} --undirected"))["reachable_pairs"], 6);
    assert_eq!(base["weights"], "u16");
    assert_eq!(json(&format!("paths {list} --weights f32"))["weights"], "f32");
    let one = json(&format!("paths {list} --threads 1"));
    assert!(one["backend"]["description"].as_str().unwrap().starts_with("1 thread"));
    // A limit of the GPU's memory does not affect the CPU.
    let small = json(&format!("paths {list} --gpu-memory 1.5GiB"));
    assert_eq!(small["reachable_pairs"], base["reachable_pairs"]);
}

#[test]
fn bad_input_gets_a_sentence() {
    let folder = Folder::new();
    let cycle = folder.file("cycle.gr", "p sp 3 3\na 1 2 1\na 2 3 -5\na 3 1 2\n");
    fails(&format!("paths {cycle}"), &["a cycle of edges weighs -2", "1 -> 2", "zero or more"]);
    let cut = folder.file("cut.gr", "p sp 3 3\na 1 2 1\n");
    fails(&format!("paths {cut}"), &["cut.gr: line 2: ", "promises 3"]);
    let good = folder.file("good.gr", "p sp 3 1\na 1 2 1.5\n");
    fails(&format!("paths {good} --query 0,2"), &["no vertex 0", "they are 1 to 3"]);
    fails(&format!("paths {good} --query 1,4"), &["no vertex 4"]);
    fails(&format!("paths {good} --query 1"), &["--query", "as 0,17"]);
    fails(&format!("paths {good} --weights i32"), &["from 1 to 2", "1.5", "whole numbers"]);
    fails(&format!("paths {good} --weights f16"), &["f16", "u16"]);
    fails(&format!("paths {good} --first 2"), &["--first", "auto"]);
    for wrong in ["0", "-1GiB", "2XiB", "much", "GiB", "nan"] {
        let said = ["--gpu-memory", "as 2GiB, 500MB or 1500000"];
        fails(&format!("paths {good} --gpu-memory={wrong}"), &said);
        fails(&format!("bench paths --gpu-memory={wrong}"), &said);
    }
    fails(&format!("paths {good} --threads 1000000"), &["threads is 1000000"]);
    fails("paths /no/such/file", &["/no/such/file: "]);
    let large = folder.file("large.gr", "p sp 9000000 1\na 1 2 1\n");
    fails(&format!("paths {large}"), &["of memory are needed"]);
    let new = folder.file("new.gr", "");
    fails(&format!("generate graph --density 2 {new}"), &["density is 2", "from 0 to 1"]);
    fails(&format!("generate graph --weights 3,1 {new}"), &["weights is 3,1"]);
    fails("generate graph -n 10 /no/such/file", &["/no/such/file: "]);
    let odd = folder.file("odd.txt", "0 1 9\n");
    // Outputs that cannot be written are refused before any work.
    let expected = ["--distances is /no/such/file", "there is no folder /no/such"];
    fails(&format!("paths {odd} --distances /no/such/file"), &expected);
}

#[test]
fn the_benchmark_states_share_and_rate() {
    let text = succeeds("bench paths --backend cpu --vertices 70 --threads 1");
    assert_eq!(text.lines().filter(|line| line.starts_with("| 70 |")).count(), 12, "{text}");
    let line = succeeds("bench paths --backend cpu --vertices 70 --weights u16 --json");
    let object: Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    assert!(object["relaxations_per_second"].as_f64() > Some(1e6));
    assert!(object["ceiling"].as_f64() > object["relaxations_per_second"].as_f64());
}

/// The first Ctrl-C ends it with a message.
#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_it() {
    let folder = Folder::new();
    // Two seconds on one thread with AVX-512, and many times as long unoptimised.
    let graph = folder.file("large.gr", "p sp 3000 1\na 1 2 0.5\n");
    let mut child = program::program()
        .args(["paths", &graph, "--threads", "1"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    program::listens(&mut child);
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    // It checks after each of twelve passes; without checks it would find the distances.
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(
        text(&output.stderr),
        "error: stopped on request before the end; there is no result\n"
    );
    assert!(output.stdout.is_empty());
}
