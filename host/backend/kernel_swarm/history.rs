//! Records of a swarm's state, which stay on the machine until they are fetched.

use flockwork_device::swarm::{
    kernels::survey::{self, RECORD, SurveySwarm, SurveyTiles},
    layout::TILE,
    survey::{SUMS, Sums},
};

use super::buffers::{Buffers, written_global_best};
use crate::{
    Result,
    backend::{
        Number, Plan, Record,
        machine::{Machine, OnDemand},
    },
};

/// The most records that stay on the machine before they are fetched.
const MOST_RECORDS: u32 = 1024;

/// The records of a swarm, or of several that are advanced together.
pub struct History<M: Machine, T: Number> {
    /// Iterations that are multiples of this are recorded.
    pub stride: Option<u32>,
    /// Buffers for sums and records, allocated on first use.
    room: Option<(M::Buffer<f64>, M::Buffer<f64>)>,
    /// The iterations of the records that are still on the machine.
    kept: Vec<u32>,
    fetched: Vec<Record>,
    survey_tiles: OnDemand<M, SurveyTiles<T>>,
    survey_swarm: OnDemand<M, SurveySwarm<T>>,
}

impl<M: Machine, T: Number> History<M, T> {
    /// An empty history.
    pub fn new() -> Self {
        Self {
            stride: None,
            room: None,
            kept: Vec::new(),
            fetched: Vec::new(),
            survey_tiles: OnDemand::new(),
            survey_swarm: OnDemand::new(),
        }
    }

    /// Whether a record is due after an iteration.
    pub fn is_due(&self, iteration: u32) -> bool {
        self.stride.is_some_and(|stride| iteration.is_multiple_of(stride))
    }

    /// Keeps a record of the state after an iteration.
    pub fn keep(
        &mut self,
        machine: &M,
        plan: &Plan<T>,
        state: &Buffers<M, T>,
        iteration: u32,
    ) -> Result<()> {
        let (tiles, swarms) = (plan.slots() / TILE, plan.swarms());
        let most = (MOST_RECORDS / swarms).max(1);
        if self.kept.len() as u32 >= most {
            self.fetch(machine, swarms)?;
        }
        let (tile_sums, records) = match &mut self.room {
            Some(room) => room,
            none => none.insert((
                machine.zeroed(4 * tiles)?,
                machine.zeroed(most as usize * swarms as usize * RECORD)?,
            )),
        };
        // SAFETY: the buffers live until the launches below are done: `self` and `state` are
        // dropped, and their buffers replaced, only after the machine's launches. Positions,
        // velocities, fitness and global bests are only read.
        let arguments = unsafe {
            survey::Arguments {
                settings: plan.settings(state.fixed(machine)),
                record: self.kept.len() as u32,
                order: state.order,
                positions: machine.read_only(&state.positions),
                velocities: machine.read_only(&state.velocities),
                best_fitness: machine.read_only(&state.best_fitness),
                global_best: machine.read_only(&state.global_bests[written_global_best(iteration)]),
                global_best_fitness: machine.read_only(&state.global_best_fitness),
                tiles: machine.read_write(tile_sums),
                records: machine.read_write(records),
            }
        };
        // SAFETY: the buffers are as the kernels document, with room for the record; each tile gets
        // a block of `TILE` threads, then each swarm one of `SUMS`.
        unsafe {
            let kernel = self.survey_tiles.get(machine)?;
            machine.launch(kernel, tiles as u32, TILE as u32, &arguments)?;
            let kernel = self.survey_swarm.get(machine)?;
            machine.launch(kernel, swarms, SUMS as u32, &arguments)?;
        }
        self.kept.push(iteration);
        Ok(())
    }

    /// Fetches the records from the machine.
    fn fetch(&mut self, machine: &M, swarms: u32) -> Result<()> {
        let Some((_, records)) = self.room.as_ref().filter(|_| !self.kept.is_empty()) else {
            return Ok(());
        };
        let swarms = swarms as usize;
        let words = machine.download(records, self.kept.len() * swarms * RECORD)?;
        for (nth, record) in words.chunks_exact(RECORD).enumerate() {
            self.fetched.push(Record {
                iteration: self.kept[nth / swarms],
                best: record[0],
                sums: Sums::from_words([record[1], record[2], record[3], record[4]]),
            });
        }
        self.kept.clear();
        Ok(())
    }

    /// All records since the last call.
    pub fn take(&mut self, machine: &M, swarms: u32) -> Result<Vec<Record>> {
        self.fetch(machine, swarms)?;
        Ok(std::mem::take(&mut self.fetched))
    }

    /// Removes and returns the last record of each swarm.
    pub fn take_last(&mut self, machine: &M, swarms: u32) -> Result<Vec<Record>> {
        self.fetch(machine, swarms)?;
        let kept = self.fetched.len() - swarms as usize;
        Ok(self.fetched.split_off(kept))
    }
}
