//! What a back end gets: everything that decides the bits of a run, in the run's precision.

use flockwork_device::{
    gpu::memory::ReadOnly,
    math::Scalar,
    objective::Objective,
    random::philox,
    swarm::{layout, step::Common, update::Coefficients},
};

/// The four numbers of a [`Bound`](flockwork_device::swarm::update::Bound), aligned as kernels load them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(16))]
pub struct BoundWords<T>(pub [T; 4]);

/// Everything that decides the bits of a run: made, and checked, from a problem and options by
/// `Plan::new`.
#[derive(Clone, Debug)]
pub struct Plan<O, T> {
    /// The function.
    pub(crate) objective: O,
    /// Number of particles.
    pub(crate) particles: u32,
    /// The run's seed.
    pub(crate) seed: u64,
    /// Coefficients of the velocity update.
    pub(crate) coefficients: Coefficients<T>,
    /// For each dimension.
    pub(crate) bounds: Vec<BoundWords<T>>,
    /// The function's data.
    pub(crate) data: Vec<T>,
}

impl<O: Objective, T: Scalar> Plan<O, T> {
    /// Bytes that a swarm's state takes: positions, velocities and own bests of all tiles, and the
    /// best fitness of each particle.
    pub fn state_bytes(&self) -> u128 {
        let lanes = layout::tiles(self.particles as usize) as u128 * layout::TILE as u128;
        lanes * (3 * u128::from(self.dims()) + 1) * size_of::<T>() as u128
    }

    /// Number of dimensions.
    pub fn dims(&self) -> u32 {
        self.bounds.len() as u32
    }

    /// What the particles share, with the bounds and the data where the back end has put them.
    pub fn common(&self, bounds: ReadOnly<T>, data: ReadOnly<T>) -> Common<O, T> {
        Common {
            objective: self.objective,
            particles: self.particles,
            dims: self.dims(),
            key: philox::key(self.seed),
            coefficients: self.coefficients,
            bounds,
            data,
        }
    }
}
