//! Random matrices that tests close on machines, compared with the CPU.

use std::ops::ControlFlow;

use super::Entry;
use crate::{
    backend::Cpu,
    paths::{Closed, Closes, Closing, Kernels},
};

/// A matrix of random weights, some of them missing, and what the CPU makes of it.
pub(super) struct Trial<W> {
    n: usize,
    entries: Vec<W>,
    symmetric: bool,
    expected: Closed<W>,
}

impl<W: Kernels + Entry> Trial<W> {
    /// For `n` vertices, with vias if they are wanted.
    pub fn new(n: usize, symmetric: bool, vias: bool, seed: u64) -> Self {
        let mut entries = vec![<W as Entry>::UNREACHABLE; n * n];
        let mut bits = seed;
        for row in 0..n {
            entries[row * n + row] = W::ZERO;
            for column in (0..if symmetric { row } else { n }).filter(|&column| column != row) {
                bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if bits >> 60 == 0 {
                    let weight = W::nearest((bits >> 40 & 15) as f64);
                    entries[row * n + column] = weight;
                    if symmetric {
                        entries[column * n + row] = weight;
                    }
                }
            }
        }
        let closing = Closing { n, entries: entries.clone(), symmetric, vias };
        let watch = &mut |_, _| ControlFlow::Continue(());
        let expected = Cpu::new(1).unwrap().close(closing, watch).unwrap();
        Self { n, entries, symmetric, expected }
    }

    /// What is to be closed.
    pub fn closing(&self) -> Closing<W> {
        let (entries, vias) = (self.entries.clone(), self.expected.vias.is_some());
        Closing { n: self.n, entries, symmetric: self.symmetric, vias }
    }

    /// Checks that distances and vias are the CPU's.
    pub fn is_same(&self, found: &Closed<W>, how: &str) {
        let Self { n, symmetric, expected, .. } = self;
        let what = format!("{n} vertices, {how}, symmetric: {symmetric}");
        assert!(found.entries == expected.entries, "{what}: other distances");
        assert!(found.vias == expected.vias, "{what}: other vias");
    }
}
