//! The GPU's kernels for shortest paths, run by the emulator, give the CPU's bits.

use std::ops::ControlFlow;

use flockwork::{
    Error,
    backend::{Cpu, Emulated, Strategy},
    paths::{Graph, Length, PathOptions},
};

use crate::common::paths::{Kind, random, same_in_all, same_with, undirected};

/// With each strategy, and so much shared memory for a block: room to note which pivots made a
/// distance less, and none.
fn both_strategies(seed: u64) -> [Emulated; 2] {
    let emulated = Emulated::new(seed, 32);
    [
        emulated.with_strategy(Strategy::Streaming).with_shared_memory(96 << 10),
        emulated.with_strategy(Strategy::Resident).with_shared_memory(80 << 10),
    ]
}

fn check(n: usize, degree: f64, kind: Kind, seed: u64) {
    let graph = random(n, degree, kind, seed);
    for emulated in both_strategies(seed) {
        let what = format!("{kind:?}, {n} vertices, degree {degree}, {emulated:?}");
        same_in_all(&graph, kind, &emulated, &what).unwrap();
    }
}

/// In one type.
fn check_in<W: Length + PartialEq>(graph: &Graph, emulated: Emulated, paths: bool) {
    let what = format!("{} vertices, paths {paths}, {emulated:?}", graph.vertices());
    same_with::<W>(graph, &emulated, PathOptions { paths }, &what).unwrap();
}

#[test]
fn one_round() {
    for n in [0, 1, 63, 65, 128] {
        check(n, 4.0, Kind::Whole, n as u64);
    }
}

#[test]
fn two_rounds() {
    check(129, 3.0, Kind::Real, 1);
    let signed = random(200, 6.0, Kind::Signed, 2);
    for emulated in both_strategies(2) {
        for paths in [false, true] {
            check_in::<i32>(&signed, emulated, paths);
        }
    }
}

/// A round between others. Fewer rounds have every type with either strategy, with and without
/// paths; here is each of these once.
#[test]
fn three_rounds() {
    let ties = random(260, 2.5, Kind::Ties, 4);
    let [streaming, resident] = both_strategies(4);
    check_in::<f32>(&ties, streaming, true);
    check_in::<u16>(&ties, streaming, false);
    check_in::<i32>(&ties, resident, true);
    check_in::<f64>(&ties, resident, false);
}

#[test]
#[ignore = "takes minutes"]
fn many_rounds() {
    check(700, 3.0, Kind::Real, 5);
    check(640, 300.0, Kind::Signed, 6);
}

fn check_undirected(n: usize, degree: f64, kind: Kind, seed: u64) {
    let graph = undirected(n, degree, kind, seed);
    let what = format!("undirected, {kind:?}, {n} vertices, degree {degree}, seed {seed}");
    // The resident kernel makes nothing of it.
    let emulated = Emulated::new(seed, 32).with_strategy(Strategy::Streaming);
    same_in_all(&graph, kind, &emulated, &what).unwrap();
}

#[test]
fn undirected_of_one_round() {
    for n in [0, 1, 2, 63, 64, 65, 127, 128] {
        check_undirected(n, 4.0, Kind::Whole, n as u64);
    }
}

/// Each size in one type, with and without paths: one round has every type in every size.
#[test]
fn undirected_of_two_rounds() {
    let streaming = |seed| Emulated::new(seed, 32).with_strategy(Strategy::Streaming);
    for paths in [false, true] {
        check_in::<f64>(&undirected(129, 3.0, Kind::Real, 129), streaming(129), paths);
        check_in::<i32>(&undirected(191, 3.0, Kind::Whole, 191), streaming(191), paths);
        check_in::<u16>(&undirected(193, 3.0, Kind::Ties, 193), streaming(193), paths);
        check_in::<f32>(&undirected(256, 3.0, Kind::Real, 256), streaming(256), paths);
    }
}

#[test]
fn undirected_of_three_rounds() {
    let streaming = |seed| Emulated::new(seed, 32).with_strategy(Strategy::Streaming);
    let (real, ties) = (undirected(257, 40.0, Kind::Real, 1), undirected(260, 2.5, Kind::Ties, 2));
    check_in::<f64>(&real, streaming(1), true);
    check_in::<f32>(&real, streaming(1), false);
    check_in::<u16>(&ties, streaming(2), false);
    check_in::<i32>(&ties, streaming(2), true);
}

#[test]
#[ignore = "takes minutes"]
fn undirected_of_many_rounds() {
    for (n, degree) in [(385, 4.0), (512, 500.0), (700, 3.0)] {
        check_undirected(n, degree, Kind::Ties, n as u64);
    }
}

/// The least memory with which a graph can be computed: strips of 128 rows.
fn least_memory<W: Length>(graph: &Graph, options: PathOptions) -> u64 {
    match graph.distances::<W>(&Emulated::new(1, 32).with_memory(1), options) {
        Err(Error::GpuMemory { needed, available: 1 }) => needed as u64,
        other => panic!("computed in a byte: {:?}", other.map(|distances| distances.vertices())),
    }
}

/// With `times` as much memory: strips of at least `times` 128 rows, unless the matrix fits.
fn check_streamed<W: Length + PartialEq>(graph: &Graph, times: f64, what: &str) {
    for paths in [false, true] {
        let options = PathOptions { paths };
        let bytes = (times * least_memory::<W>(graph, options) as f64) as u64;
        let emulated = Emulated::new(bytes, 32).with_memory(bytes);
        same_with::<W>(graph, &emulated, options, &format!("{what}, {bytes} bytes")).unwrap();
    }
}

#[test]
fn matrices_larger_than_the_memory() {
    let graph = random(300, 4.0, Kind::Ties, 1);
    check_streamed::<f32>(&graph, 1.0, "ties");
    check_streamed::<u16>(&graph, 1.0, "ties");
    let graph = random(257, 3.0, Kind::Signed, 2);
    check_streamed::<i32>(&graph, 1.0, "signed");
    let graph = random(257, 5.0, Kind::Real, 3);
    check_streamed::<f64>(&graph, 1.0, "real");
}

#[test]
fn undirected_matrices_larger_than_the_memory() {
    let graph = undirected(300, 4.0, Kind::Ties, 1);
    check_streamed::<f32>(&graph, 1.0, "undirected, ties");
    check_streamed::<u16>(&graph, 1.0, "undirected, ties");
    let graph = undirected(257, 5.0, Kind::Real, 3);
    check_streamed::<f64>(&graph, 1.0, "undirected, real");
}

/// Slightly less than a matrix of 896 x 896 distances in f32 and its panels need.
const MEMORY_FOR_TWO_ROUNDS: u64 = 5_000_000;

#[test]
#[ignore = "takes minutes"]
fn strips_of_several_rounds() {
    let (cpu, options) = (Cpu::new(0).unwrap(), PathOptions { paths: false });
    for graph in [random(800, 3.0, Kind::Real, 4), undirected(800, 3.0, Kind::Real, 5)] {
        let emulated = Emulated::new(3, 32).with_memory(MEMORY_FOR_TWO_ROUNDS);
        let mut told = 0;
        let watch = |_, _| {
            told += 1;
            ControlFlow::Continue(())
        };
        let found = graph.distances_while::<f32>(&emulated, options, watch).unwrap();
        let expected = graph.distances::<f32>(&cpu, options).unwrap();
        assert!(found.matrix() == expected.matrix());
        // Four strips in four bands, and the last two at once.
        assert_eq!(told, 15);
    }
}

#[test]
#[ignore = "takes minutes"]
fn many_strips() {
    for n in [640, 769, 900] {
        for times in [1.0, 1.3, 1.7] {
            let what = format!("{n} vertices");
            check_streamed::<f32>(&random(n, 4.0, Kind::Ties, 1), times, &what);
            check_streamed::<i32>(&random(n, 4.0, Kind::Signed, 2), times, &what);
            check_streamed::<f64>(&random(n, 4.0, Kind::Real, 3), times, &what);
            check_streamed::<f32>(&undirected(n, 4.0, Kind::Ties, 4), times, &what);
            check_streamed::<u16>(&undirected(n, 4.0, Kind::Ties, 5), times, &what);
            check_streamed::<f64>(&undirected(n, 4.0, Kind::Real, 6), times, &what);
        }
    }
}

#[test]
fn a_strip_at_a_time_can_be_watched_and_ended() {
    let graph = random(300, 4.0, Kind::Whole, 1);
    let least = least_memory::<i32>(&graph, PathOptions::default());
    let emulated = Emulated::new(1, 32).with_memory(least);
    let mut told = Vec::new();
    let watch = |done, of| {
        told.push((done, of));
        ControlFlow::Continue(())
    };
    graph.distances_while::<i32>(&emulated, PathOptions::default(), watch).unwrap();
    assert!(told.is_sorted() && told.len() > 3, "{told:?}");
    assert_eq!(told.last(), Some(&(3, 3)), "{told:?}");
    let stop = |_, _| ControlFlow::Break(());
    let stopped = graph.distances_while::<i32>(&emulated, PathOptions::default(), stop);
    assert!(matches!(stopped, Err(Error::Interrupted)));
}

#[test]
fn too_little_memory_gets_both_figures() {
    let graph = random(300, 4.0, Kind::Whole, 1);
    let emulated = Emulated::new(1, 32).with_memory(100_000);
    let error = graph.distances::<f32>(&emulated, PathOptions::default()).unwrap_err().to_string();
    assert!(error.contains("MiB") && error.contains("100000 bytes"), "{error}");
}
