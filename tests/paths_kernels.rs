//! The GPU's kernels for shortest paths, run by the emulator, give the CPU's bits.

mod common;

use common::paths::{Kind, random, same_in_all, undirected};
use flockwork::backend::Emulated;

fn check(n: usize, degree: f64, kind: Kind, seed: u64) {
    let graph = random(n, degree, kind, seed);
    let what = format!("{kind:?}, {n} vertices, degree {degree}, seed {seed}");
    same_in_all(&graph, kind, &Emulated::new(seed, 32), &what).unwrap();
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
    check(200, 6.0, Kind::Signed, 2);
}

#[test]
fn three_rounds() {
    check(260, 2.5, Kind::Ties, 4);
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
    same_in_all(&graph, kind, &Emulated::new(seed, 32), &what).unwrap();
}

#[test]
fn undirected_of_one_round() {
    for n in [0, 1, 2, 63, 64, 65, 127, 128] {
        check_undirected(n, 4.0, Kind::Whole, n as u64);
    }
}

#[test]
fn undirected_of_two_rounds() {
    for (n, kind) in [(129, Kind::Real), (191, Kind::Whole), (193, Kind::Ties), (256, Kind::Real)] {
        check_undirected(n, 3.0, kind, n as u64);
    }
}

#[test]
fn undirected_of_three_rounds() {
    check_undirected(257, 40.0, Kind::Real, 1);
    check_undirected(260, 2.5, Kind::Ties, 2);
}

#[test]
#[ignore = "takes minutes"]
fn undirected_of_many_rounds() {
    for (n, degree) in [(385, 4.0), (512, 500.0), (700, 3.0)] {
        check_undirected(n, degree, Kind::Ties, n as u64);
    }
}
