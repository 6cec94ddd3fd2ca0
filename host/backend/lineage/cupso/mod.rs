//! cuPSO's swarm, and its kernels on a machine: see [`flockwork_device::lineage::cupso`].

#[cfg(any(feature = "cuda", test))]
mod kernels;

#[cfg(feature = "cuda")]
pub(crate) use kernels::THREADS;
#[cfg(any(feature = "cuda", test))]
pub(crate) use kernels::{Running, Version};

/// A swarm at some time: for each dimension the coordinate of each particle, for each particle its fitness, and
/// of the swarm's best the fitness and then the position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub positions: Vec<f64>,
    pub velocities: Vec<f64>,
    pub own_positions: Vec<f64>,
    pub fitness: Vec<f64>,
    pub own_fitness: Vec<f64>,
    pub best: Vec<f64>,
}
