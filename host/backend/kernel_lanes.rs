//! Lanes on a GPU: a block of threads each.

use flockwork_device::{
    gpu::memory::ReadOnly,
    objective::Objective,
    search::{
        Layout,
        kernel::{Arguments, Searches, THREADS},
        lane::Limits,
        schedule::Schedule,
    },
};

use super::{
    Fixed, FourWords, Plan,
    lanes::{Head, Lanes, kept, numbers},
    machine::{Machine, OnDemand},
};
use crate::{Error, Result, memory};

pub struct KernelLanes<M: Machine, O: Objective> {
    machine: M,
    objective: O,
    kernel: OnDemand<M, Searches<O, f64>>,
    plan: Plan<f64>,
    schedule: Schedule,
    threads: u32,
    fixed: FixedBuffers<M>,
    starts: M::Buffer<u64>,
    memory: M::Buffer<f64>,
    heads: M::Buffer<f64>,
}

/// What does not change during a run.
struct FixedBuffers<M: Machine> {
    bounds: M::Buffer<f64>,
    variables: M::Buffer<u32>,
    rotation: M::Buffer<f64>,
    pivot: M::Buffer<f64>,
    data: M::Buffer<f64>,
}

impl<M: Machine, O: Objective> KernelLanes<M, O> {
    pub fn new(
        machine: M,
        objective: O,
        plan: Plan<f64>,
        schedule: Schedule,
        threads: Option<u32>,
    ) -> Result<Self> {
        let bytes = numbers(&schedule) * size_of::<f64>() as u128;
        memory::check(bytes)?;
        if let Some(available) = machine.memory()?
            && bytes > u128::from(available)
        {
            return Err(Error::Option {
                option: "lanes",
                value: schedule.lanes.to_string(),
                accepted: format!(
                    "fewer: {} lanes in {} dimensions take {bytes} bytes, and the GPU has \
                     {available} free",
                    schedule.lanes, schedule.dims
                ),
            });
        }
        let flat = |words: &[FourWords<f64>]| -> Vec<f64> {
            words.iter().flat_map(|words| words.0).collect()
        };
        let fixed = FixedBuffers {
            bounds: machine.upload(&flat(&plan.bounds))?,
            variables: machine.upload(&plan.variables)?,
            rotation: machine.upload(&plan.rotation)?,
            pivot: machine.upload(&plan.pivot)?,
            data: machine.upload(&plan.data)?,
        };
        let mut starts = Vec::new();
        let mut end = 0;
        for lane in 0..schedule.lanes {
            starts.push(end);
            end += u64::from(layout(&schedule, lane).length());
        }
        let head = u64::from(layout(&schedule, 0).head()) * u64::from(schedule.lanes);
        Ok(Self {
            kernel: OnDemand::new(),
            starts: machine.upload(&starts)?,
            memory: machine.zeroed(end as usize)?,
            heads: machine.zeroed(head as usize)?,
            threads: threads.unwrap_or(THREADS).min(THREADS),
            machine,
            objective,
            plan,
            schedule,
            fixed,
        })
    }

    /// Where a lane's numbers begin.
    fn start(&self, lane: u32) -> u64 {
        (0..lane).map(|lane| u64::from(layout(&self.schedule, lane).length())).sum()
    }
}

fn layout(schedule: &Schedule, lane: u32) -> Layout {
    Layout::new(schedule.dims, schedule.lanes, lane)
}

impl<M: Machine, O: Objective> Lanes for KernelLanes<M, O> {
    fn advance(&mut self, limits: &Limits, _: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        let (machine, fixed) = (&self.machine, &self.fixed);
        // SAFETY: the buffers are this object's own, outlive its launches, and no launch writes
        // those that are read only.
        let arguments = unsafe {
            let fixed = Fixed {
                bounds: machine.read_only(&fixed.bounds),
                variables: machine.read_only(&fixed.variables),
                keys: ReadOnly::empty(),
                tunings: ReadOnly::empty(),
                rotation: machine.read_only(&fixed.rotation),
                pivot: machine.read_only(&fixed.pivot),
                data: machine.read_only(&fixed.data),
            };
            Arguments {
                objective: (),
                view: self.plan.view(fixed),
                schedule: self.schedule,
                limits: *limits,
                starts: machine.read_only(&self.starts),
                memory: machine.read_write(&self.memory),
                heads: machine.read_write(&self.heads),
            }
        };
        let kernel = self.kernel.get(machine)?;
        let arguments = arguments.of(self.objective);
        // SAFETY: a block for each lane; `memory` is as long as the lanes' layouts say and is
        // initialised, `heads` has a head for each lane.
        unsafe { machine.launch(kernel, self.schedule.lanes, self.threads, &arguments)? };
        Ok(true)
    }

    fn heads(&mut self) -> Result<Vec<Head>> {
        let layout = layout(&self.schedule, 0);
        let head = layout.head() as usize;
        let all = self.machine.download(&self.heads, head * self.schedule.lanes as usize)?;
        Ok(all.chunks_exact(head).map(|words| Head::of(layout, words)).collect())
    }

    fn snapshot(&mut self) -> Result<Vec<Vec<f64>>> {
        let length = self.start(self.schedule.lanes) as usize;
        let all = self.machine.download(&self.memory, length)?;
        let lane = |lane: u32| {
            let words = &all[self.start(lane) as usize..];
            words[..kept(layout(&self.schedule, lane), words)].to_vec()
        };
        Ok((0..self.schedule.lanes).map(lane).collect())
    }

    fn restore(&mut self, lanes: &[Vec<f64>]) -> Result<()> {
        let mut all: Vec<f64> = memory::zeroed(self.start(self.schedule.lanes) as usize)?;
        for (lane, kept) in (0..).zip(lanes) {
            all[self.start(lane) as usize..][..kept.len()].copy_from_slice(kept);
        }
        self.memory = self.machine.upload(&all)?;
        Ok(())
    }
}
