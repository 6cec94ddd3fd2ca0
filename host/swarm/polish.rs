//! Something sharper than a swarm to finish with.

use serde::{Deserialize, Serialize};

use super::Problem;
use crate::{
    Result,
    backend::{Number, Plan, Swarm},
};

/// placeholder
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Polish {}

impl Polish {
    pub(crate) fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// placeholder
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Polisher {}

impl Polisher {
    pub fn new(_: &Polish, _: &Problem) -> Result<Self> {
        Ok(Self {})
    }
    pub fn numbers(&self) -> Vec<f64> {
        Vec::new()
    }
    pub fn restored(self, _: Vec<f64>, _: usize) -> Result<Self> {
        Ok(self)
    }
    pub fn is_done(&self) -> bool {
        true
    }
    pub fn polish<T: Number>(
        &mut self,
        _: &mut dyn Swarm<T>,
        _: &Plan<T>,
        _: u32,
        _: u64,
    ) -> Result<u64> {
        Ok(0)
    }
}
