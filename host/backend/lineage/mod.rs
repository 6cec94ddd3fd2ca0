//! Published kernels on a machine, for measurements: see [`flockwork_device::lineage`]. One file for each
//! publication, written over [`Machine`](super::machine::Machine), so that the tests run it in the emulator.

pub(crate) mod boudoudouh;
#[cfg(any(feature = "cuda", test))]
pub(crate) mod cupso;
#[cfg(any(feature = "cuda", test))]
pub(crate) mod floyd_warshall;
#[cfg(any(feature = "cuda", test))]
pub(crate) mod hosala;

use std::time::Duration;

/// Times of the same work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    /// The median, in seconds.
    pub median: f64,
    /// Least and greatest, in seconds.
    pub range: (f64, f64),
}

impl Spread {
    /// Of some times, one at least.
    pub fn of(times: impl IntoIterator<Item = Duration>) -> Self {
        let mut seconds: Vec<f64> = times.into_iter().map(|time| time.as_secs_f64()).collect();
        seconds.sort_by(f64::total_cmp);
        let (first, last) = (seconds[0], seconds[seconds.len() - 1]);
        Self { median: seconds[seconds.len() / 2], range: (first, last) }
    }
}
