//! Reading graphs, and asking for distances.

use crate::common::program::{fails, json, program};

/// A path in JSON has its invalid characters replaced.
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
    // Beyond 32 bits.
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
    // Without weights and column names.
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
        ("1;2;3,5,7\n", "line 1: the weight is \"3,5,7\"; accepted are finite numbers"),
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

/// Compressed by `gzip`.
fn packed(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;

    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

#[test]
fn every_format_is_read_packed_and_from_standard_input() {
    let folder = Folder::new();
    let none = f64::INFINITY;
    let dense = npy("<f8", 2, &[0.0, 2.5, none, 0.0].map(f64::to_le_bytes).concat());
    let market = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 2.5\n";
    for (name, bytes) in [
        ("g.gr", &b"p sp 2 1\na 1 2 2.5\n"[..]),
        ("g.mtx", market),
        ("g.csv", b"0,1,2.5\n"),
        ("g.npy", &dense),
    ] {
        let file = folder.file(&format!("{name}.gz"), packed(bytes));
        assert_eq!(json(&format!("paths {file}"))["diameter"], 2.5, "{name}");
        let mut child = program()
            .args(["paths", "-", "--json"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(object["diameter"], 2.5, "{name}");
    }
    // The name of a compressed file counts, too.
    let file = folder.file("c.gr.gz", packed(b"c nothing\n"));
    fails(&format!("paths {file}"), &["line 1: ", "nothing but comments"]);
}

#[test]
fn names_in_other_encodings_are_read() {
    let folder = Folder::new();
    let file = folder.file("cities.csv", b"K\xf6ln,Bonn,34\n");
    let found = json(&format!("paths {file} --renumber"));
    assert_eq!(found["vertex_names"], serde_json::json!(["K\u{f6}ln", "Bonn"]));
}

#[test]
fn truth_values_and_halves_are_weights() {
    let folder = Folder::new();
    let file = folder.file("b.npy", npy("|b1", 3, &[1, 1, 0, 0, 0, 1, 0, 0, 0]));
    let found = json(&format!("paths {file} --query 0,2"));
    assert_eq!((&found["edges"], &found["queries"][0]["length"]), (&2.into(), &2.0.into()));
    // 0, 2.5; infinity, 0.
    let halves = [0_u16, 0x4100, 0x7c00, 0].map(u16::to_le_bytes).concat();
    let found = json(&format!("paths {}", folder.file("h.npy", npy("<f2", 2, &halves))));
    assert_eq!((&found["edges"], &found["diameter"]), (&1.into(), &2.5.into()));
}

/// A zip archive of arrays, stored: name, type, shape, data.
fn npz(members: &[(&str, &str, &str, Vec<u8>)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, kind, shape, data) in members {
        let head = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = (head.len() as u16).to_le_bytes();
        let array = [b"\x93NUMPY\x01\0", &length[..], head.as_bytes(), data].concat();
        let mut sum = flate2::Crc::new();
        sum.update(&array);
        let name = format!("{name}.npy");
        let at = (file.len() as u32).to_le_bytes();
        // Without compression and time.
        let mut common = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        common.extend(sum.sum().to_le_bytes());
        common.extend((array.len() as u32).to_le_bytes());
        common.extend((array.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        file.extend([b"PK\x03\x04", &*common, name.as_bytes(), &array].concat());
        directory.extend([b"PK\x01\x02\x14\0", &*common, &[0; 10], &at, name.as_bytes()].concat());
    }
    let count = (members.len() as u16).to_le_bytes();
    let (size, at) = (directory.len() as u32, file.len() as u32);
    let end = [b"PK\x05\x06\0\0\0\0", &count[..], &count, &size.to_le_bytes(), &at.to_le_bytes()];
    [file, directory, end.concat(), vec![0, 0]].concat()
}

#[test]
fn sparse_matrices_of_scipy_are_read() {
    let folder = Folder::new();
    let whole = |numbers: &[i32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
    let weights = || [7.0_f64, 0.5, 0.0].iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>();
    let shape = || ("shape", "<i8", "(2,)", [3_i64, 3].map(i64::to_le_bytes).concat());
    let format = |name: &str| ("format", "|S3", "()", name.as_bytes().to_vec());
    // From 0 to 1, from 0 to 2, from 1 to 2; a stored zero is an edge.
    let rows = [
        ("indices", "<i4", "(3,)", whole(&[1, 2, 2])),
        ("indptr", "<i4", "(4,)", whole(&[0, 2, 3, 3])),
        format("csr"),
        shape(),
        ("data", "<f8", "(3,)", weights()),
    ];
    let pairs = [
        ("row", "<i4", "(3,)", whole(&[0, 0, 1])),
        ("col", "<i4", "(3,)", whole(&[1, 2, 2])),
        format("coo"),
        shape(),
        ("data", "<f8", "(3,)", weights()),
    ];
    for members in [&rows[..], &pairs] {
        let file = folder.file("s.npz", npz(members));
        let found = json(&format!("paths {file} --query 0,1 --query 0,2 --query 1,2 --query 2,0"));
        let lengths: Vec<_> = (0..4).map(|i| found["queries"][i]["length"].as_f64()).collect();
        assert_eq!(lengths, [Some(7.0), Some(0.5), Some(0.0), None]);
        assert_eq!(found["edges"], 3);
        fails(&format!("paths {file} --vertices 4"), &["3 rows", "--vertices 4"]);
    }
    // By columns, each edge is reversed.
    let mut columns = rows.clone();
    columns[2] = format("csc");
    let found = json(&format!("paths {} --query 1,0", folder.file("c.npz", npz(&columns))));
    assert_eq!(found["queries"][0]["length"], 7.0);
    let one = [("m", "<f8", "(2, 2)", [0.0, 3.0, 4.0, 0.0_f64].map(f64::to_le_bytes).concat())];
    assert_eq!(json(&format!("paths {}", folder.file("d.npz", npz(&one))))["diameter"], 4.0);
    for (place, member, said) in [
        (0, ("indices", "<i4", "(3,)", whole(&[1, 3, 2])), "entry 1 (from 0) of indices is 3"),
        (1, ("indptr", "<i4", "(4,)", whole(&[0, 4, 3, 3])), "entry 1 (from 0) of indptr is 4"),
        (1, ("indptr", "<i4", "(3,)", whole(&[0, 2, 3])), "its indptr does not lead"),
        (2, format("bsr"), "the format \"bsr\"; accepted are"),
        (3, ("shape", "<i8", "(2,)", [3_i64, 4].map(i64::to_le_bytes).concat()), "shape (3, 4)"),
        (4, ("values", "<f8", "(3,)", weights()), "has no array data"),
    ] {
        let mut members = rows.clone();
        members[place] = member;
        fails(&format!("paths {}", folder.file("x.npz", npz(&members))), &[said]);
    }
}

#[test]
fn a_weight_that_evidently_means_no_edge_is_named() {
    let folder = Folder::new();
    for none in [2147483647.0, 1e9, 99999.0, 0.0] {
        let entries = [0.0, 5.0, none, 6.0, 0.0, 7.0, none, none, 0.0].map(f64::to_le_bytes);
        let file = folder.file("m.npy", npy("<f8", 3, &entries.concat()));
        let hint = json(&format!("paths {file}"))["hint"].as_str().unwrap().to_owned();
        assert!(hint.ends_with(&format!("give --no-edge {none}")), "{none}: {hint}");
        assert!(json(&format!("paths {file} --no-edge {none}"))["hint"].is_null());
    }
    let entries = [0.0, 5.0, -1.0, 6.0, 0.0, 7.0, -1.0, -1.0, 0.0].map(f64::to_le_bytes);
    let text = entries.map(|entry| f64::from_le_bytes(entry).to_string()).join("\n");
    let text = format!("%%MatrixMarket matrix array real general\n3 3\n{text}\n");
    for file in [folder.file("n.npy", npy("<f8", 3, &entries.concat())), folder.file("n.mtx", text)]
    {
        let line = format!("paths {file}");
        let entries = folder.file("plain.csv", "0,1,5\n1,0,6\n1,2,7\n");
        assert!(json(&format!("paths {entries}"))["hint"].is_null());
        let output = program().args(line.split(' ')).output().unwrap();
        let all = [output.stdout, output.stderr].concat();
        assert!(String::from_utf8_lossy(&all).contains("--no-edge -1"), "{all:?}");
    }
}

#[test]
fn sizes_beyond_memory_are_refused_where_they_are_announced() {
    let folder = Folder::new();
    let file = folder.file("n.gr", "c\np sp 1000000000 1\na 1 2 3\n");
    fails(&format!("paths {file}"), &["line 2: it announces 1000000000 vertices"]);
    let file = folder.file("m.gr", "p sp 3 100000000000000\na 1 2 3\n");
    fails(&format!("paths {file}"), &["line 1: ", "100000000000000 edges"]);
    let head = "%%MatrixMarket matrix";
    let file = folder
        .file("n.mtx", format!("{head} coordinate real general\n1000000000 1000000000 1\n1 2 3\n"));
    fails(&format!("paths {file}"), &["line 2: it announces 1000000000 vertices"]);
    let file = folder.file("a.mtx", format!("{head} array real general\n100000000 100000000\n1\n"));
    fails(&format!("paths {file}"), &["line 2: it announces 100000000 vertices"]);
}

#[test]
fn undirected_edges_of_different_weights_are_said() {
    let folder = Folder::new();
    let file = folder.file("und.txt", "1 2 3\n2 1 5\n2 4 1\n4 2 1\n");
    let found = json(&format!("paths {file} --undirected --query 2,1"));
    assert_eq!(found["queries"][0]["length"], 3.0);
    assert!(found["hint"].as_str().unwrap().starts_with("1 pair of vertices has undirected edges"));
    assert!(json(&format!("paths {file}"))["hint"].is_null());
    let entries = [0.0, 3.0, 5.0, 0.0].map(f64::to_le_bytes).concat();
    let file = folder.file("und.npy", npy("<f8", 2, &entries));
    let found = json(&format!("paths {file} --undirected"));
    assert!(found["hint"].as_str().unwrap().starts_with("1 pair"), "{found}");
}

#[test]
fn commas_beside_other_separators_are_decimal_marks() {
    let folder = Folder::new();
    for text in [
        "0 1 2,5\n1 2 3,5\n",
        "0\t1\t2,5\n1\t2\t3,5\n",
        "# a, b\nfrom to weight\n0 1 2,5\n1 2 3,5\n",
        "weight from to\n2,5 0 1\n3,5 1 2\n",
        "0;1;2,5\n1;2;3,5\n",
        "0|1|2,5\n1|2|3,5\n",
        "0,1,\"2,5\"\n1,2,\"3,5\"\n",
        "0 1 +2,50\n1 2 35e-1\n",
    ] {
        let file = folder.file("dc.txt", text);
        for renumber in ["", " --renumber"] {
            let found = json(&format!("paths {file}{renumber} --query 0,1 --query 0,2"));
            assert_eq!(found["vertices"], 3, "{text:?}");
            let length = |query: usize| found["queries"][query]["length"].as_f64();
            assert_eq!((length(0), length(1)), (Some(2.5), Some(6.0)), "{text:?}");
        }
    }
    let names = folder.file("names.txt", "A B ,5\n\"B, C\" A 1,5\n");
    let found = json(&format!("paths {names} --renumber"));
    assert_eq!(found["vertex_names"], serde_json::json!(["A", "B", "B, C"]));
    assert_eq!(found["least_weight"], 0.5);
    for (text, said) in [
        // Possibly between thousands.
        ("A B 1,250\n", "line 1: the weight is \"1,250\", whose comma may be"),
        ("A B 1,250,000\n", "line 1: the weight is \"1,250,000\""),
        ("A B 1,250.5\n", "line 1: the weight is \"1,250.5\""),
        ("A B 2,5\nB C 3.5\n", "line 2: the weight is \"3.5\", and on line 1 it is \"2,5\""),
        ("A B 2,5\nB,C,3\n", "line 2: it has 1 fields; line 1 has 3"),
        ("A 1,2 5\n", "line 1: \"1,2\" is no vertex, as commas are decimal marks here"),
        ("New York Boston 2,5\n", "a name with blanks or commas goes in double quotes"),
    ] {
        fails(&format!("paths {} --renumber", folder.file("dc.txt", text)), &[said]);
    }
    // Commas that are separators still are.
    for text in ["Main St,Oak St,5\n", "Hall 1,Hall 2,5\n", "Hall 1 , Hall 2 , 5\n", "A, B, 5\n"] {
        let found = json(&format!("paths {} --renumber", folder.file("c.csv", text)));
        assert_eq!((&found["vertices"], &found["diameter"]), (&2.into(), &5.0.into()), "{text:?}");
    }
}

#[test]
fn vertices_may_have_the_names_of_lines_in_dimacs() {
    let folder = Folder::new();
    for text in ["a b 2\nb c 3\n", "p q 2\nq r 3\n", "p sp 2\nsp q 3\n", "p 1 2\n1 2 3\n"] {
        let found = json(&format!("paths {} --renumber", folder.file("ab.txt", text)));
        assert_eq!((&found["vertices"], &found["diameter"]), (&3.into(), &5.0.into()), "{text:?}");
    }
    let pairs = folder.file("pairs.txt", "a b\nb c\n");
    assert_eq!(json(&format!("paths {pairs} --renumber"))["edges"], 2);
    fails(
        &format!("paths {}", folder.file("ab.txt", "a b 2\nb c 3\n")),
        &["line 1: \"a\" is no vertex", "--renumber"],
    );
    // Told by the file's name, or by what cannot be an edge list.
    for (name, text) in
        [("ab.gr", "a b 2\n"), ("ab.gr.gz", "a b 2\n"), ("ab.txt", "a 1 2 3\na b 2\n")]
    {
        let file = match name.ends_with("gz") {
            true => folder.file(name, packed(text.as_bytes())),
            false => folder.file(name, text),
        };
        fails(&format!("paths {file} --renumber"), &["expected `a FROM TO WEIGHT`"]);
    }
}

#[test]
fn names_with_commas_are_asked_for_in_quotes() {
    let folder = Folder::new();
    let text = "\"Paris, Texas\",Dallas,2\nDallas,\"a \"\"b\"\", c\",3\n";
    let file = folder.file("cities.csv", text);
    let asked = |query: &str| {
        let line = ["paths", &file, "--renumber", "--json", "--query", query];
        program().args(line).output().unwrap()
    };
    for (query, length) in [
        ("\"Paris, Texas\",Dallas", 2.0),
        (" \"Paris, Texas\" , \"Dallas\"", 2.0),
        ("\"Paris, Texas\",\"a \"\"b\"\", c\"", 5.0),
        // Everything after the first comma is one name.
        ("Dallas,a \"b\", c", 3.0),
    ] {
        let output = asked(query);
        assert!(output.status.success(), "{query}: {}", String::from_utf8_lossy(&output.stderr));
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(found["queries"][0]["length"], length, "{query}");
    }
    for (query, said) in [
        ("Paris, Texas,Dallas", "no vertex Paris; they are \"Paris, Texas\", Dallas, "),
        ("\"Paris, Texas\" Dallas", "a name that contains a comma goes in double quotes"),
        ("Dallas,\"Paris\" x", "a name that contains a comma goes in double quotes"),
    ] {
        let errors = asked(query).stderr;
        assert!(String::from_utf8_lossy(&errors).contains(said), "{query}: {errors:?}");
    }
}

#[test]
fn lines_may_end_in_cr_alone() {
    let folder = Folder::new();
    let market = "%%MatrixMarket matrix coordinate real general\r% x\r3 3 2\r1 2 2.5\r2 3 4\r";
    for (name, text) in [
        ("e.txt", "# from to\r1 2 2.5\r2 3 4\r"),
        ("e.csv", "from,to,weight\r1,2,2.5\r2,3,4"),
        ("e.gr", "c x\rp sp 3 2\ra 1 2 2.5\r\ra 2 3 4\r"),
        ("e.mtx", market),
        ("both.txt", "1 2 2.5\r2 3 4\r\n"),
        ("twice.txt", "1 2 2.5\r\r\n2 3 4\r\r\n"),
    ] {
        let found = json(&format!("paths {}", folder.file(name, text)));
        assert_eq!((&found["vertices"], &found["diameter"]), (&3.into(), &6.5.into()), "{name}");
    }
    fails(
        &format!("paths {}", folder.file("e.txt", "1 2 2.5\r2 x 4\r")),
        &["line 2: \"x\" is no vertex"],
    );
}

#[test]
fn columns_that_do_not_say_what_they_are_are_named() {
    let folder = Folder::new();
    for (text, said) in [
        ("id,name,value\n1,2,3\n", "columns id, name, value taken as from, to, weight"),
        ("x y\n1 2\n", "columns x, y taken as from, to"),
    ] {
        let found = json(&format!("paths {}", folder.file("c.csv", text)));
        assert_eq!(found["hint"], said);
    }
    for text in ["source,target,value\n1,2,3\n", "node1,node2,w\n1,2,3\n", "edges\n1 2 3\n"] {
        let found = json(&format!("paths {}", folder.file("c.csv", text)));
        assert!(found["hint"].is_null(), "{text:?}: {found}");
    }
    // Could be two vertices as well as two column names.
    let found = json(&format!("paths {} --renumber", folder.file("uv.txt", "u v\nx y\n")));
    assert_eq!(found["hint"], "columns u, v taken as from, to");
    let back = folder.file("back.csv", "destination,origin,cost\n1,2,3\n");
    assert_eq!(json(&format!("paths {back} --query 2,1"))["queries"][0]["length"], 3.0);
}
