//! The GPU's kernels for shortest paths, run by the emulator, give the CPU's bits.

mod common;

use common::paths::{Kind, random, same_in_all};
use flockwork::backend::{Emulated, Residence};

fn check(n: usize, degree: f64, kind: Kind, seed: u64) {
    let graph = random(n, degree, kind, seed);
    let what = format!("{kind:?}, {n} vertices, degree {degree}, seed {seed}");
    for residence in [Residence::Streaming, Residence::Resident] {
        let emulated = Emulated::new(seed, 32).with_residence(residence);
        same_in_all(&graph, kind, &emulated, &format!("{what}, {residence}")).unwrap();
    }
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
