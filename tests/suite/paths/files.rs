//! Graphs from files: every format, refused inputs, and files damaged at random.

use std::path::Path;

use flockwork::{
    Error,
    backend::Cpu,
    io::{First, GraphHints, ReadGraph, parse_graph, read_graph, write_graph},
    paths::{AnyDistances, Graph, PathOptions, Random, Weights, random},
    random::stream::PhiloxStream,
};
use rand::Rng;

fn map(name: &str) -> std::path::PathBuf {
    let folder = std::env::var_os("FLOCKWORK_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("data"), Into::into);
    folder.join("graphs").join(name)
}

fn parse(bytes: impl AsRef<[u8]>, hints: GraphHints) -> flockwork::Result<ReadGraph> {
    parse_graph(bytes.as_ref(), "some.file".as_ref(), hints)
}

#[track_caller]
fn reads(text: impl AsRef<[u8]>, hints: GraphHints) -> ReadGraph {
    parse(text, hints).unwrap()
}

/// A NumPy file.
fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let dict = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\0", &(dict.len() as u16).to_le_bytes()[..], dict.as_bytes(), data].concat()
}

#[test]
fn the_same_graph_in_every_format() {
    let expected = Graph::new(4, [(0, 1, 5.0), (1, 2, -2.5), (3, 0, 1e6)]).unwrap();
    let hints = GraphHints::default();
    for (text, first) in [
        ("c a comment\np sp 4 3\na 1 2 5\n\na 2 3 -2.5\r\na 4 1 1e6\n", 1),
        ("a 0 1 5\na 1 2 -2.5\na 3 0 1000000", 0),
        ("a 1 2 5\na 2 3 -2.5\na 4 1 1000000", 1),
        (
            "%%MatrixMarket matrix coordinate real general\n% x\n4 4 3\n1 2 5\n2 3 -2.5\n4 1 1e6\n",
            1,
        ),
        ("0 1 5\n1 2 -2.5\n3 0 1e6\n", 0),
        ("\u{feff}from,to,weight\n1, 2, 5\n2,3,-2.5 # down\n% nothing\n4,1,1e6\n", 1),
        ("1;2;5\n2;3;-2.5\n4;1;1e6", 1),
        ("1\t2  5\n2 3 -2.5\n4 1 1e+6\n", 1),
    ] {
        let read = reads(text, hints);
        assert_eq!((&read.graph, read.first), (&expected, first), "{text:?}");
    }
    let none = f64::INFINITY;
    let rows = [
        [0.0, 5.0, none, none],
        [none, 0.0, -2.5, none],
        [none, none, 0.0, none],
        [1e6, none, none, 0.0],
    ];
    let by_column: Vec<f64> = (0..16).map(|at| rows[at % 4][at / 4]).collect();
    for (fortran, values) in [(false, rows.concat()), (true, by_column)] {
        let of =
            |bytes: fn(f64) -> Vec<u8>| values.iter().copied().flat_map(bytes).collect::<Vec<_>>();
        for (descr, data) in [
            ("<f8", of(|v| v.to_le_bytes().to_vec())),
            (">f8", of(|v| v.to_be_bytes().to_vec())),
            ("<f4", of(|v| (v as f32).to_le_bytes().to_vec())),
            (">f4", of(|v| (v as f32).to_be_bytes().to_vec())),
        ] {
            let read = reads(npy(descr, fortran, "(4, 4)", &data), hints);
            assert_eq!((&read.graph, read.first), (&expected, 0), "{descr} {fortran}");
        }
    }
    // Whole numbers; the largest of the type means no edge.
    let expected = Graph::new(2, [(0, 1, 7.0)]).unwrap();
    for (descr, seven, none) in [
        ("|i1", vec![7], i8::MAX.to_le_bytes().to_vec()),
        ("|u1", vec![7], u8::MAX.to_le_bytes().to_vec()),
        ("<i2", 7_i16.to_le_bytes().to_vec(), i16::MAX.to_le_bytes().to_vec()),
        (">u2", 7_u16.to_be_bytes().to_vec(), u16::MAX.to_be_bytes().to_vec()),
        ("<i4", 7_i32.to_le_bytes().to_vec(), i32::MAX.to_le_bytes().to_vec()),
        (">i8", 7_i64.to_be_bytes().to_vec(), i64::MAX.to_be_bytes().to_vec()),
        ("<u8", 7_u64.to_le_bytes().to_vec(), u64::MAX.to_le_bytes().to_vec()),
    ] {
        let zero = vec![0; seven.len()];
        let data = [zero.clone(), seven, none, zero].concat();
        assert_eq!(reads(npy(descr, false, "(2, 2)", &data), hints).graph, expected, "{descr}");
    }
    let minus = [0_i32, -7, i32::MAX, 0].map(i32::to_le_bytes).concat();
    let read = reads(npy("<i4", false, "(2, 2)", &minus), hints);
    assert_eq!(read.graph.weight(0, 1), Some(-7.0));
}

#[test]
fn what_is_said_beside_the_file_counts() {
    let hints = GraphHints::default();
    assert_eq!(reads("1 2\n", hints).graph.vertices(), 2);
    let zero = GraphHints { first: First::Zero, ..hints };
    assert_eq!(reads("1 2\n", zero).graph.vertices(), 3);
    assert_eq!(reads("p sp 2 1\na 0 1 4\n", zero).graph.weight(0, 1), Some(4.0));
    let five = GraphHints { vertices: Some(5), ..hints };
    assert_eq!(reads("1 5\n", five).graph.weight(0, 4), Some(1.0));
    assert_eq!(reads("0 4\n", five).graph.vertices(), 5);
    assert_eq!(reads("", five).graph.vertices(), 5);
    let nothing = parse("", hints).unwrap_err().to_string();
    assert!(nothing.contains("there is no edge in it") && nothing.contains("--vertices N"));
    assert_eq!(reads("p sp 0 0\n", hints).graph.vertices(), 0);
    let both = GraphHints { undirected: true, ..hints };
    assert_eq!(reads("0 1 3\n1 0 2\n", both).graph.weight(0, 1), Some(2.0));
    let symmetric = "%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 4\n3 3 9\n";
    assert_eq!(reads(symmetric, hints).graph, Graph::undirected(3, [(0, 1, 4.0)]).unwrap());
    let pattern = "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n";
    assert_eq!(reads(pattern, hints).graph.weight(0, 1), Some(1.0));
}

#[test]
fn bad_files_get_the_line_and_what_is_accepted() {
    let hints = GraphHints::default();
    let zeros = [0; 64];
    let nan = [0.0, f64::NAN, 0.0, 0.0].map(f64::to_le_bytes).concat();
    let mtx = |rest: &str| format!("%%MatrixMarket matrix coordinate {rest}").into_bytes();
    let cases: &[(Vec<u8>, &str)] = &[
        (
            b"p sp 3 1\na 1 4 7\n".to_vec(),
            "line 2: \"4\" is no vertex; accepted are whole numbers, 1 to 3",
        ),
        (b"p sp 3 1\na 0 2 7\n".to_vec(), "line 2: \"0\" is no vertex"),
        (
            b"p sp 0 1\na 1 1 7\n".to_vec(),
            "line 2: there is no vertex \"1\", since there are none at all",
        ),
        (
            b"p sp 3 2\na 1 2 7\n\n".to_vec(),
            "line 2: it ends here with 1 edges; its line `p` promises 2",
        ),
        (b"p sp 3 1\na 1 2 7\na 1 3 7\n".to_vec(), "line 3: it ends here with 2 edges"),
        (b"p sp 3 1\na 1 2\n".to_vec(), "line 2: it is \"a 1 2\"; expected `a FROM TO WEIGHT`"),
        (b"p sp 3 1\na 1 2 NaN\n".to_vec(), "line 2: the weight is \"NaN\"; accepted are finite"),
        (b"a 1 2 1e999\n".to_vec(), "line 1: the weight is \"1e999\""),
        (b"p sp 3 1\np sp 3 1\n".to_vec(), "line 2: there is a line `p` already, line 1"),
        (b"a 1 2 3\np sp 3 1\n".to_vec(), "line 2: the line `p` must come before"),
        (b"p max 3 1\n".to_vec(), "line 1: it is \"p max 3 1\"; expected `p sp N M`"),
        (b"p sp 9999999999 1\n".to_vec(), "up to 2147483647"),
        (b"c x\na 1 2 3\nq\n".to_vec(), "line 3: it starts with \"q\"; expected `c`, `p` or `a`"),
        (b"a -1 2 3\n".to_vec(), "line 1: \"-1\" is no vertex"),
        (
            b"%%matrixmarket\n".to_vec(),
            "line 1: it is \"%%matrixmarket\"; accepted is `%%MatrixMarket",
        ),
        (mtx("complex general\n"), "line 1: it is"),
        (mtx("real hermitian\n"), "general or symmetric"),
        (mtx("real general\n2 3 1\n1 2 1\n"), "line 2: it is a matrix of 2 rows and 3 columns"),
        (mtx("real general\n2 2\n"), "line 2: it is \"2 2\"; expected rows, columns and entries"),
        (
            mtx("real general\n2 2 2\n1 2 1\n"),
            "line 3: it ends here with 1 entries of 2: it is cut short",
        ),
        (mtx("real general\n2 2 1\n1 2 1\n2 1 1\n"), "line 4: there are more than the 1 entries"),
        (
            mtx("real general\n2 2 1\n1 2\n"),
            "line 3: it is \"1 2\"; expected row, column and weight",
        ),
        (mtx("pattern general\n2 2 1\n1 2 3\n"), "expected row and column"),
        (
            mtx("real general\n2 2 1\n1 3 1\n"),
            "line 3: \"3\" is no vertex; accepted are whole numbers, 1 to 2",
        ),
        (mtx("real general\n"), "line 1: it ends here; expected rows"),
        (b"0 1 2\n0 1\n".to_vec(), "line 2: it has 2 fields; line 1 has 3, and all must"),
        (b"0 1 2 3\n".to_vec(), "line 1: it is \"0 1 2 3\"; expected FROM TO WEIGHT"),
        (
            b"0 1 2\n0 x 1\n".to_vec(),
            "line 2: \"x\" is no vertex; accepted are whole numbers, 0 to",
        ),
        (b"0 1.5 2\n".to_vec(), "line 1: \"1.5\" is no vertex"),
        (b"0 99999999999 2\n".to_vec(), "line 1: \"99999999999\" is no vertex"),
        (b"0 1 inf\n".to_vec(), "line 1: the weight is \"inf\""),
        (b"0,1,\n".to_vec(), "line 1: the weight is \"\""),
        (b"0 1 2\n\xff\0\n".to_vec(), "line 2: it is no text"),
        (npy("<f8", false, "(2, 3)", &zeros[..48]), "2 rows and 3 columns; a graph has as many"),
        (npy("<f8", false, "(2,)", &zeros[..16]), "accepted are two dimensions"),
        (npy("<c8", false, "(2, 2)", &zeros[..32]), "it is an array of <c8; accepted are f2, f4"),
        (npy("<f8", false, "(2, 2)", &zeros[..31]), "it is cut short or damaged"),
        (npy("<f8", false, "(2, 2)", &nan), "row 0, column 1 (from 0) is NaN; accepted are finite"),
    ];
    for (bytes, expected) in cases {
        let shown = String::from_utf8_lossy(bytes);
        let error = parse(bytes, hints).expect_err(&shown);
        assert!(matches!(error, Error::Format { .. }), "{shown:?}: {error}");
        let message = error.to_string();
        assert!(message.starts_with("some.file: "), "{message}");
        assert!(message.contains(expected), "{shown:?}: {message}");
        assert!(message.len() < 400, "{message}");
    }
    let three = GraphHints { vertices: Some(3), ..hints };
    let message = parse("0 1\n1 4\n", three).unwrap_err().to_string();
    assert!(message.contains("line 2: vertex 4 is not among the 3"), "{message}");
    let message = parse("0 1\n1 3\n", three).unwrap_err().to_string();
    assert!(message.contains("vertices from 0 to 3, which are more than the 3"), "{message}");
    let message = read_graph(Path::new("/no/such"), hints).unwrap_err().to_string();
    assert!(message.starts_with("/no/such: "), "{message}");
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, whole) in [(1, true), (2, false)] {
        let kind = Random {
            vertices: 30,
            density: 0.7,
            weights: (-3.0, 9.0),
            whole,
            seed,
            ..Random::default()
        };
        let graph = random(&kind).unwrap();
        for name in ["g.gr", "g.mtx", "g.csv", "g.txt", "g.npy"] {
            let path = folder.path().join(name);
            write_graph(&path, &graph).unwrap();
            assert_eq!(read_graph(&path, GraphHints::default()).unwrap().graph, graph, "{name}");
        }
    }
}

/// Real files and small ones of each format, damaged at random: the result is a graph, or an error
/// with the file's name and, where there are lines, the line.
#[test]
fn damaged_files_are_no_panic() {
    let map = std::fs::read(map("seattle_23rd.gr")).unwrap();
    let graph = random(&Random { vertices: 12, density: 0.4, ..Random::default() }).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut files = vec![map];
    for name in ["g.gr", "g.mtx", "g.csv", "g.npy"] {
        let path = folder.path().join(name);
        write_graph(&path, &graph).unwrap();
        files.push(std::fs::read(path).unwrap());
    }
    let mut stream = PhiloxStream::new(99);
    let (mut good, mut bad) = (0, 0);
    for round in 0..4000 {
        // The map is large.
        let nth = if round % 40 == 0 { 0 } else { 1 + round % (files.len() - 1) };
        let mut bytes = files[nth].clone();
        for _ in 0..stream.random_range(1..=4) {
            let at = stream.random_range(0..bytes.len());
            match stream.random_range(0..6) {
                0 => bytes.truncate(at + 1),
                1 => bytes[at] = stream.random(),
                2 => bytes[at] = b"0123456789-.eE \n,;#%acp"[stream.random_range(0..23)],
                3 => {
                    bytes.remove(at);
                    bytes.push(b' ');
                }
                4 => bytes.insert(at, b"9 \n-"[stream.random_range(0..4)]),
                _ => {
                    let end = (at + 40).min(bytes.len());
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
            }
        }
        let hints = GraphHints {
            first: First::ALL[round % 3],
            vertices: (round % 5 == 0).then_some(12),
            undirected: round % 7 == 0,
            ..GraphHints::default()
        };
        match parse(&bytes, hints) {
            Ok(read) => {
                good += 1;
                // Whatever was read can be computed with, or is refused.
                if read.graph.vertices() <= 100 {
                    let cpu = Cpu::new(1).unwrap();
                    let watch = |_, _| std::ops::ControlFlow::Continue(());
                    let _ = AnyDistances::compute(
                        &read.graph,
                        Weights::Auto,
                        &cpu,
                        PathOptions::default(),
                        watch,
                    );
                }
            }
            Err(error @ Error::Format { .. }) => {
                bad += 1;
                let message = error.to_string();
                assert!(message.starts_with("some.file: "), "{message}");
                let binary = bytes.starts_with(b"\x93NUMPY");
                assert!(binary || message.contains("line "), "{message}");
            }
            // A damaged number of vertices.
            Err(Error::Memory { .. }) => bad += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(good > 300 && bad > 300, "{good} good, {bad} bad");
}

/// Distances and paths on a street map, compared with Dijkstra's algorithm.
fn street_map(name: &str, vertices: usize, edges: usize, sources: usize) {
    let read = read_graph(&map(name), GraphHints::default()).unwrap();
    let graph = read.graph;
    assert_eq!((read.first, graph.vertices(), graph.edges()), (0, vertices, edges));
    let cpu = Cpu::new(0).unwrap();
    let distances = graph.distances::<i32>(&cpu, PathOptions::default()).unwrap();
    for nth in 0..sources {
        let from = nth * vertices / sources;
        let expected = graph.distances_from(from);
        for (to, &expected) in expected.iter().enumerate() {
            let found = distances.get(from, to).map_or(f64::INFINITY, f64::from);
            assert_eq!(found, expected, "{from} to {to}");
            if to % 7 != nth % 7 {
                continue;
            }
            let path = distances.path(from, to).unwrap();
            assert_eq!(path.is_some(), expected.is_finite());
            let sum = path.map(|path| {
                assert_eq!((path[0], path[path.len() - 1]), (from, to));
                let edges = path.windows(2).map(|edge| graph.weight(edge[0], edge[1]).unwrap());
                edges.sum::<f64>()
            });
            assert_eq!(sum.unwrap_or(f64::INFINITY), expected, "{from} to {to}");
        }
    }
    let summary = distances.summary();
    assert!(summary.pairs > (vertices * vertices / 2) as u64);
    assert!(summary.mean.unwrap() < summary.diameter.unwrap());
}

#[test]
fn a_street_map_as_dijkstra_has_it() {
    street_map("seattle_23rd.gr", 2346, 5170, 12);
}

#[test]
#[ignore = "seconds in release mode"]
fn exhaustive_large_street_map() {
    street_map("seattle_ballard.gr", 7442, 16510, 60);
}
