//! Shortest paths: the CPU's distances and paths, with all of the memory and with little.

use std::ops::ControlFlow;

use flockwork::{
    Error,
    backend::{Cuda, Gpus, Strategy},
    cuda::live_allocations,
    paths::{Graph, Length, PathOptions},
};
use libtest_mimic::{Failed, Trial};

use crate::common::paths::{Kind, random, same_in_all, same_with, undirected};

pub fn trials() -> Vec<Trial> {
    let mut trials = directed();
    trials.extend(undirected_graphs());
    trials.extend(streamed());
    trials.extend(on_all_gpus());
    trials.push(Trial::test("paths_leave_no_allocation", no_leak));
    trials.push(Trial::test("paths_in_too_little_memory_get_a_sentence", too_large));
    trials
}

fn directed() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (n, degree) in [(1, 1.0), (64, 9.0), (129, 3.0), (1000, 4.0), (1000, 1000.0), (2500, 6.0)] {
        for kind in [Kind::Real, Kind::Whole, Kind::Ties, Kind::Signed] {
            let what = format!("same_paths_as_cpu::{kind:?}_{n}_vertices_degree_{degree}");
            trials.push(Trial::test(what.to_lowercase(), move || {
                let graph = random(n, degree, kind, n as u64);
                for strategy in [Strategy::Streaming, Strategy::Resident] {
                    let gpu = Cuda::open(0)?.with_strategy(strategy);
                    same_in_all(&graph, kind, &gpu, &what)?;
                }
                Ok(())
            }));
        }
    }
    trials
}

/// Symmetric graphs, with half the work.
fn undirected_graphs() -> Vec<Trial> {
    let sizes = [1, 63, 64, 65, 127, 128, 129, 191, 192, 193, 255, 256, 257, 1000, 2500];
    let mut trials = Vec::new();
    for n in sizes {
        for kind in [Kind::Real, Kind::Whole, Kind::Ties] {
            let what = format!("same_paths_as_cpu::undirected_{kind:?}_{n}_vertices");
            trials.push(Trial::test(what.to_lowercase(), move || {
                let graph = undirected(n, 5.0, kind, n as u64);
                let gpu = Cuda::open(0)?.with_strategy(Strategy::Streaming);
                Ok(same_in_all(&graph, kind, &gpu, &what)?)
            }));
        }
    }
    trials
}

/// With a share of the memory that the distances alone need, so that the matrix passes through
/// in strips: as large as possible, or of 128 rows.
fn streamed() -> Vec<Trial> {
    fn compared<W: Length + PartialEq>(graph: &Graph, share: f64) -> Result<(), Failed> {
        for paths in [false, true] {
            let options = PathOptions { paths };
            let gpu = Cuda::open(0)?;
            let least = match graph.distances::<W>(&gpu.clone().with_memory(1), options) {
                Err(Error::GpuMemory { needed, .. }) => needed as u64,
                other => return Err(format!("computed in a byte: {:?}", other.err()).into()),
            };
            let whole = (graph.vertices() as f64).powi(2) * size_of::<W>() as f64;
            let memory = least.max((share * whole) as u64);
            let what = format!("{} vertices in {memory} bytes", graph.vertices());
            same_with::<W>(graph, &gpu.with_memory(memory), options, &what)?;
        }
        Ok(())
    }
    let mut trials = Vec::new();
    for n in [300, 1000, 1025, 3000] {
        for share in [0.0, 0.3, 0.7] {
            let name = format!("same_paths_in_little_memory::{n}_vertices_share_{share}");
            trials.push(Trial::test(name, move || {
                let seed = n as u64;
                compared::<f32>(&random(n, 6.0, Kind::Ties, seed), share)?;
                compared::<f32>(&undirected(n, 6.0, Kind::Ties, seed), share)?;
                compared::<i32>(&random(n, 6.0, Kind::Signed, seed), share)?;
                // Weights below 4: every distance fits in u16.
                compared::<u16>(&random(n, 6.0, Kind::Ties, seed), share)?;
                compared::<u16>(&undirected(n, 6.0, Kind::Ties, seed), share)?;
                compared::<f64>(&random(n, 6.0, Kind::Real, seed), share)?;
                compared::<f64>(&undirected(n, 6.0, Kind::Real, seed), share)
            }));
        }
    }
    // Larger than a CPU can compute in a trial: compared with the GPU itself with all of its
    // memory.
    trials.push(Trial::test("same_distances_in_little_memory::20000_vertices", || {
        let gpu = Cuda::open(0)?;
        for graph in [random(20_000, 9.0, Kind::Real, 1), undirected(20_000, 9.0, Kind::Real, 2)] {
            let whole = graph.distances::<f32>(&gpu, PathOptions::default())?;
            let small = gpu.clone().with_memory(800 << 20);
            let strips = graph.distances::<f32>(&small, PathOptions::default())?;
            if whole.matrix() != strips.matrix() {
                return Err("other distances".into());
            }
        }
        Ok(())
    }));
    trials
}

/// Each GPU with some rows of the matrix.
fn on_all_gpus() -> Vec<Trial> {
    let mut trials = Vec::new();
    for n in [129, 1000, 2500] {
        for kind in [Kind::Real, Kind::Ties, Kind::Signed] {
            let what = format!("same_paths_on_all_gpus::{kind:?}_{n}_vertices");
            trials.push(Trial::test(what.to_lowercase(), move || {
                let gpus = Cuda::open_several(&Gpus::All)?.with_strategy(Strategy::Streaming);
                same_in_all(&random(n, 6.0, kind, n as u64), kind, &gpus, &what)?;
                if !matches!(kind, Kind::Signed) {
                    same_in_all(&undirected(n, 6.0, kind, n as u64), kind, &gpus, &what)?;
                }
                Ok(())
            }));
        }
    }
    // Larger than a CPU can compute in a trial: compared with one GPU.
    trials.push(Trial::test("same_distances_on_all_gpus::20000_vertices", || {
        let (all, one) = (Cuda::open_several(&Gpus::All)?, Cuda::open(0)?);
        for graph in [random(20_000, 9.0, Kind::Ties, 1), undirected(20_000, 9.0, Kind::Ties, 2)] {
            for paths in [false, true] {
                let options = PathOptions { paths };
                let (found, expected) = (
                    graph.distances::<f32>(&all, options)?,
                    graph.distances::<f32>(&one, options)?,
                );
                let same = found.matrix() == expected.matrix();
                if !same || (paths && found.path(0, 19_999)? != expected.path(0, 19_999)?) {
                    return Err(format!("not the same, with paths: {paths}").into());
                }
            }
        }
        let graph = random(10_000, 9.0, Kind::Ties, 3);
        let whole = graph.distances::<u16>(&all, PathOptions { paths: false })?;
        let expected = graph.distances::<u16>(&one, PathOptions { paths: false })?;
        if whole.matrix() != expected.matrix() {
            return Err("other distances in u16".into());
        }
        Ok(())
    }));
    trials
}

fn no_leak() -> Result<(), Failed> {
    let graph = random(1000, 5.0, Kind::Ties, 1);
    let before = live_allocations();
    for memory in [u64::MAX, 5 << 20] {
        let gpu = Cuda::open(0)?.with_memory(memory);
        graph.distances::<f32>(&gpu, PathOptions { paths: false })?;
        let stop = |_, _| ControlFlow::Break(());
        let ended = graph.distances_while::<f32>(&gpu, PathOptions { paths: false }, stop);
        // A matrix that fits is done before the first check.
        if ended.is_ok() != (memory == u64::MAX) {
            return Err(format!("ended: {:?}", ended.err()).into());
        }
    }
    let gpus = Cuda::open_several(&Gpus::All)?.with_strategy(Strategy::Streaming);
    graph.distances::<f32>(&gpus, PathOptions { paths: true })?;
    let after = live_allocations();
    if before == after { Ok(()) } else { Err(format!("{before:?}, then {after:?}").into()) }
}

fn too_large() -> Result<(), Failed> {
    let graph = random(1000, 5.0, Kind::Ties, 1);
    let gpu = Cuda::open(0)?.with_memory(1 << 20);
    match graph.distances::<f32>(&gpu, PathOptions::default()) {
        Err(Error::GpuMemory { needed, available: 0x10_0000 }) if needed > 0x10_0000 => Ok(()),
        other => Err(format!("{:?}", other.map(|distances| distances.vertices())).into()),
    }
}
