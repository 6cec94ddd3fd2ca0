//! What does not change during a run, in a machine's memory.

use flockwork_device::random::Key;

use super::{Fixed, FourWords, Number, Plan, machine::Machine};
use crate::Result;

pub struct FixedBuffers<M: Machine, T: Number> {
    bounds: M::Buffer<T>,
    variables: M::Buffer<u32>,
    keys: M::Buffer<Key>,
    tunings: M::Buffer<T>,
    rotation: M::Buffer<T>,
    pivot: M::Buffer<T>,
    data: M::Buffer<T>,
}

impl<M: Machine, T: Number> FixedBuffers<M, T> {
    /// A plan's, with these keys and coefficients.
    pub fn new(
        machine: &M,
        plan: &Plan<T>,
        keys: &[Key],
        tunings: &[FourWords<T>],
    ) -> Result<Self> {
        let flat =
            |words: &[FourWords<T>]| -> Vec<T> { words.iter().flat_map(|words| words.0).collect() };
        Ok(Self {
            bounds: machine.upload(&flat(&plan.bounds))?,
            variables: machine.upload(&plan.variables)?,
            keys: machine.upload(keys)?,
            tunings: machine.upload(&flat(tunings))?,
            rotation: machine.upload(&plan.rotation)?,
            pivot: machine.upload(&plan.pivot)?,
            data: machine.upload(&plan.data)?,
        })
    }

    /// The device addresses.
    ///
    /// # Safety
    /// They may be used only by launches that end before these buffers are dropped.
    pub unsafe fn addresses(&self, machine: &M) -> Fixed<T> {
        // SAFETY: the caller's promise; the buffers are private, and no launch writes them.
        unsafe {
            Fixed {
                bounds: machine.read_only(&self.bounds),
                variables: machine.read_only(&self.variables),
                keys: machine.read_only(&self.keys),
                tunings: machine.read_only(&self.tunings),
                rotation: machine.read_only(&self.rotation),
                pivot: machine.read_only(&self.pivot),
                data: machine.read_only(&self.data),
            }
        }
    }
}
