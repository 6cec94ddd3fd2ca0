//! Kernels of Hosala's thesis on a machine: see [`flockwork_device::lineage::hosala`].

pub(crate) mod layouts;

pub(crate) mod reductions;
pub(crate) mod sums;
pub(crate) mod updates;

use std::time::Duration;

use crate::{
    Result,
    backend::{Machine, Spread},
};

/// Threads of a block, where nothing else is said.
const THREADS: u32 = 256;

/// How often something is timed: batches, each of at least so long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub batches: usize,
    pub at_least: Duration,
}

impl Patience {
    /// For figures that are shown.
    #[cfg(feature = "cuda")]
    pub(crate) const USUAL: Self = Self { batches: 5, at_least: Duration::from_millis(20) };

    /// Just once.
    #[cfg(test)]
    pub(crate) const ONCE: Self = Self { batches: 1, at_least: Duration::ZERO };
}

/// Something that takes longer than this is not done again to be timed better.
const LONG: f64 = 0.05;

/// Times launches, which may be made as often as wanted. `first` says how long they took once, when the kernel
/// was already loaded; if that was long, it is what counts.
fn times<M: Machine>(
    machine: &M,
    patience: Patience,
    first: Duration,
    launches: &mut dyn FnMut() -> Result<()>,
) -> Result<Spread> {
    /// Launches in a batch, at most.
    const MOST: f64 = 10_000.0;
    const SHORT: f64 = 2e-3;

    let once = first.as_secs_f64();
    if once > LONG {
        return Ok(Spread::of([first]));
    }
    let mut batch = |size: u32| -> Result<Duration> {
        Ok(machine.timed(&mut || (0..size).try_for_each(|_| launches()))? / size)
    };
    // A single short launch seems longer than one among many.
    let warm = if once < SHORT && patience.batches > 1 { batch(20)? } else { first };
    let each = warm.as_secs_f64().max(1e-7);
    let size = (patience.at_least.as_secs_f64() / each).clamp(1.0, MOST) as u32;
    let batches: Vec<Duration> =
        (0..patience.batches).map(|_| batch(size)).collect::<Result<_>>()?;
    Ok(Spread::of(batches))
}
