//! Reading graphs, and asking for distances.

#[cfg(target_os = "linux")]
use crate::program::program;
use crate::program::{fails, json};

/// A path goes into JSON with what is no text replaced.
#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_no_text_goes_into_json() {
    use std::os::unix::ffi::OsStrExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(std::ffi::OsStr::from_bytes(b"bad\xff.gr"));
    std::fs::write(&path, "p sp 2 1\na 1 2 3\n").unwrap();
    let output = program().arg("paths").arg(&path).arg("--json").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(object["graph"].as_str().unwrap().ends_with("bad\u{fffd}.gr"));
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

#[test]
fn numbers_with_large_gaps_are_refused_at_once_or_renumbered() {
    let folder = Folder::new();
    let file = folder.file("snap.txt", "# From\tTo\n1000000000\t5\n5\t7\n");
    fails(&format!("paths {file}"), &["line 2: vertex 1000000000", "--renumber"]);
    let bare = folder.file("bare.gr", "a 5 7 2\na 7 900000000 3\n");
    fails(&format!("paths {bare}"), &["line 2: vertex 900000000", "--renumber"]);
    let found = json(&format!("paths {file} --renumber --query 1000000000,7"));
    assert_eq!(found["vertex_names"], serde_json::json!([5, 7, 1_000_000_000]));
    assert_eq!(found["queries"][0]["path"], serde_json::json!([1_000_000_000, 5, 7]));
    assert_eq!(json(&format!("paths {bare} --renumber --query 5,900000000"))["diameter"], 5.0);
    fails(&format!("paths {file} --renumber --query 6,7"), &["no vertex 6", "5, 7, 1000000000"]);
    fails(&format!("paths {file} --renumber --first 0"), &["--renumber", "--first"]);
    // Beyond what 32 bits hold.
    let far = folder.file("far.csv", "9000000000000000000,3\n3,4\n");
    assert_eq!(json(&format!("paths {far} --renumber"))["vertices"], 3);
}

#[test]
fn vertices_have_names() {
    let folder = Folder::new();
    let cities = folder.file("cities.csv", "Berlin,Hamburg,289\nBerlin,Leipzig,190\n");
    fails(&format!("paths {cities}"), &["line 1: \"Berlin\" is no vertex", "--renumber"]);
    let found = json(&format!("paths {cities} --renumber --query Berlin,Leipzig"));
    assert_eq!(found["vertex_names"], serde_json::json!(["Berlin", "Hamburg", "Leipzig"]));
    assert_eq!(found["queries"][0]["path"], serde_json::json!(["Berlin", "Leipzig"]));
    // No weights and no names of columns.
    let pairs = folder.file("pairs.txt", "A B\nB C\n");
    assert_eq!(json(&format!("paths {pairs} --renumber"))["edges"], 2);
    fails(
        &format!("paths {}", folder.file("one.txt", "A B\n")),
        &["line 1: \"A B\" is taken for a line of names", "--renumber"],
    );
}

#[test]
fn options_hold_for_every_format_or_are_refused() {
    let folder = Folder::new();
    let text = "%%MatrixMarket matrix coordinate real general\n3 3 2\n0 1 2.5\n1 2 4\n";
    let zero = folder.file("zero.mtx", text);
    fails(&format!("paths {zero}"), &["line 3: \"0\" is no vertex", "--first 0"]);
    assert_eq!(json(&format!("paths {zero} --first 0 --query 0,2"))["queries"][0]["length"], 6.5);
    let stated = folder.file("d.gr", "p sp 3 1\na 1 2 7\n");
    fails(&format!("paths {stated} --vertices 10"), &["line 1: ", "3 vertices", "--vertices 10"]);
    fails(&format!("paths {zero} --first 0 --vertices 10"), &["line 2: ", "--vertices 10"]);
}

#[test]
fn lists_of_other_programs_are_read_by_their_names() {
    let folder = Folder::new();
    for (text, edges, diameter) in [
        ("\"from\",\"to\",\"weight\"\n\"1\",\"2\",\"1.5\"\n\"2\",\"3\",\"0.5\"\n", 2, 2.0),
        (",from,to,weight\n0,1,2,1.5\n1,2,3,0.5\n", 2, 2.0),
        ("weight,target,source\n1.5,2,1\n0.5,3,2\n", 2, 2.0),
        ("Source,Target,Type,Id,Label,Weight\n1,2,Directed,0,,1.5\n", 1, 1.5),
        ("Source,Target,Type,Id,Label,Weight\n1,2,Undirected,0,\"a, b\",1.5\n", 2, 1.5),
        ("1 2 {'weight': 3.0}\n2 3 {'weight': 1.0}\n", 2, 4.0),
    ] {
        let found = json(&format!("paths {}", folder.file("edges.csv", text)));
        assert_eq!(
            (&found["edges"], &found["diameter"]),
            (&edges.into(), &diameter.into()),
            "{text}"
        );
    }
    for (text, said) in [
        ("4 3\n1 2\n2 3\n3 4\n", "line 1: it seems to say that there are 4 vertices and 3 edges"),
        ("4 2\n1 2 5\n2 3 5\n", "line 1: it seems to say that there are 4 vertices and 2 edges"),
        ("1;2;3,5\n", "line 1: the weight is \"3,5\"; accepted are finite numbers"),
        ("a,b,c,d\n1,2,3,4\n", "Accepted are from and to"),
        ("\"1,2,3\n", "line 1: a quote is not closed"),
    ] {
        fails(&format!("paths {}", folder.file("edges.txt", text)), &[said]);
    }
}

#[test]
fn damaged_and_empty_files_are_no_other_format() {
    let folder = Folder::new();
    for (name, text, said) in [
        ("e.gr", "", "nothing but comments"),
        ("c.gr", "c a\nc b\n", "nothing but comments"),
        ("e.mtx", "", "does not begin with `%%MatrixMarket"),
        ("c.mtx", "% x\n", "does not begin with `%%MatrixMarket"),
        (
            "b.mtx",
            " %%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 4\n",
            "very beginning",
        ),
        (
            "o.txt",
            "%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 4\n",
            "very beginning",
        ),
        ("x.mtx", "%%MatrixMarketing matrix coordinate real general\n1 1 0\n", "very beginning"),
    ] {
        fails(&format!("paths {}", folder.file(name, text)), &["line 1: ", said]);
    }
    let dash = folder.file("dash.gr", "c---- roads ----\np sp 3 2\na 1 2 7\na 2 3 1\n");
    assert_eq!(json(&format!("paths {dash}"))["diameter"], 8.0);
    let head = "%%MatrixMarket matrix";
    let skew = format!("{head} coordinate real skew-symmetric\n3 3 2\n2 1 1.5\n3 1 2\n");
    let found = json(&format!("paths {} --query 1,2 --query 2,1", folder.file("s.mtx", skew)));
    assert_eq!(
        (&found["queries"][0]["length"], &found["queries"][1]["length"]),
        (&(-1.5).into(), &1.5.into())
    );
    // Column by column: the second entry is in row 2, column 1.
    let array = format!("{head} array real general\n2 2\n0\n1\n2\n0\n");
    let found = json(&format!("paths {} --query 2,1", folder.file("a.mtx", array)));
    assert_eq!(found["queries"][0]["length"], 1.0);
}

/// A square matrix in NumPy's format.
fn npy(kind: &str, n: usize, data: &[u8]) -> Vec<u8> {
    let head = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({n}, {n}), }}\n");
    [b"\x93NUMPY\x01\0", &(head.len() as u16).to_le_bytes()[..], head.as_bytes(), data].concat()
}

#[test]
fn a_value_of_a_matrix_can_mean_no_edge() {
    let folder = Folder::new();
    for none in [0.0, -1.0, 2147483647.0] {
        let entries = [0.0, 5.0, none, none, 0.0, 7.0, none, none, 0.0].map(f64::to_le_bytes);
        let file = folder.file("m.npy", npy("<f8", 3, &entries.concat()));
        let found = json(&format!("paths {file} --no-edge {none}"));
        assert_eq!((&found["edges"], &found["diameter"]), (&2.into(), &12.0.into()), "{none}");
    }
    let zeros = [0.0, 5.0, 0.0, 0.0, 0.0, 7.0, 4.0, 0.0, 0.0].map(f64::to_le_bytes);
    let found = json(&format!("paths {}", folder.file("z.npy", npy("<f8", 3, &zeros.concat()))));
    assert!(found["hint"].as_str().unwrap().contains("--no-edge 0"));
}

#[test]
fn whole_weights_are_exact_or_refused() {
    let folder = Folder::new();
    let odd = folder.file("odd.csv", "0,1,9007199254740993\n");
    fails(&format!("paths {odd}"), &["line 1: ", "9007199254740993", "2^53"]);
    let even = folder.file("even.csv", "0,1,-9007199254740994\n");
    assert_eq!(json(&format!("paths {even}"))["least_weight"], -9007199254740994.0);
    let entries = [0, 9007199254740993_i64, 1, 0].map(i64::to_le_bytes).concat();
    fails(
        &format!("paths {}", folder.file("odd.npy", npy("<i8", 2, &entries))),
        &["row 0, column 1", "2^53"],
    );
}
