//! Bytes as a graph's file, in whatever format they seem to be: a graph or a sentence.
#![no_main]

use flockwork::{
    Error,
    backend::Cpu,
    io::{First, GraphHints, parse_graph},
    paths::{AnyDistances, PathOptions, Weights},
};
use libfuzzer_sys::fuzz_target;
use std::ops::ControlFlow;

fuzz_target!(|input: (u8, &[u8])| {
    let (choices, bytes) = input;
    let hints = GraphHints {
        first: First::ALL[usize::from(choices & 3) % First::ALL.len()],
        vertices: (choices & 4 != 0).then_some(9),
        undirected: choices & 8 != 0,
    };
    match parse_graph(bytes, "some.file".as_ref(), hints) {
        Ok(read) if read.graph.vertices() <= 200 => {
            let (cpu, watch) = (Cpu::new(1).unwrap(), |_, _| ControlFlow::Continue(()));
            let _ = AnyDistances::compute(
                &read.graph,
                Weights::Auto,
                &cpu,
                PathOptions::default(),
                watch,
            );
        }
        Ok(_) | Err(Error::Memory { .. }) => {}
        Err(error) => assert!(error.to_string().starts_with("some.file: "), "{error}"),
    }
});
