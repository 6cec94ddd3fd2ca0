//! Lanes on a GPU: a block of threads each.

use flockwork_device::{
    objective::Objective,
    search::{
        kernel::{Arguments, Searches, THREADS},
        schedule::{Limits, Schedule},
    },
};

use super::{
    Plan,
    fixed::FixedBuffers,
    lanes::{Head, Lanes, kept, layout, numbers},
    machine::Machine,
};
use crate::{Error, Result, memory};

pub struct KernelLanes<M: Machine, O: Objective> {
    machine: M,
    objective: O,
    kernel: M::Loaded<Searches<O, f64>>,
    plan: Plan<f64>,
    schedule: Schedule,
    threads: u32,
    fixed: FixedBuffers<M, f64>,
    /// Where each lane's numbers begin, and where the last one's end.
    starts: Vec<u64>,
    uploaded_starts: M::Buffer<u64>,
    memory: M::Buffer<f64>,
    heads: M::Buffer<f64>,
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
        let mut starts = vec![0];
        let mut end = 0;
        for lane in 0..schedule.lanes {
            end += u64::from(layout(&schedule, lane).length());
            starts.push(end);
        }
        let head = u64::from(layout(&schedule, 0).head()) * u64::from(schedule.lanes);
        Ok(Self {
            // Here, so that what the driver takes to compile it counts as start-up.
            kernel: machine.load()?,
            fixed: FixedBuffers::new(&machine, &plan, &[], &[])?,
            uploaded_starts: machine.upload(&starts)?,
            starts,
            memory: machine.zeroed(end as usize)?,
            heads: machine.zeroed(head as usize)?,
            threads: threads.unwrap_or(THREADS).min(THREADS),
            machine,
            objective,
            plan,
            schedule,
        })
    }

    /// Where a lane's numbers begin; of one lane too many, where all end.
    fn start(&self, lane: u32) -> usize {
        self.starts[lane as usize] as usize
    }
}

impl<M: Machine, O: Objective> Lanes for KernelLanes<M, O> {
    fn advance(&mut self, limits: &Limits, _: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        let machine = &self.machine;
        // SAFETY: the buffers are this object's own, outlive its launches, and no launch writes
        // those that are read only.
        let arguments = unsafe {
            Arguments {
                objective: (),
                view: self.plan.view(self.fixed.addresses(machine)),
                schedule: self.schedule,
                limits: *limits,
                starts: machine.read_only(&self.uploaded_starts),
                memory: machine.read_write(&self.memory),
                heads: machine.read_write(&self.heads),
            }
        };
        let arguments = arguments.of(self.objective);
        // SAFETY: a block for each lane; `memory` is as long as the lanes' layouts say and is
        // initialised, `heads` has a head for each lane.
        unsafe { machine.launch(&self.kernel, self.schedule.lanes, self.threads, &arguments)? };
        Ok(true)
    }

    fn heads(&mut self) -> Result<Vec<Head>> {
        let layout = layout(&self.schedule, 0);
        let head = layout.head() as usize;
        let all = self.machine.download(&self.heads, head * self.schedule.lanes as usize)?;
        Ok(all.chunks_exact(head).map(|words| Head::of(layout, words)).collect())
    }

    fn snapshot(&mut self) -> Result<Vec<Vec<f64>>> {
        let length = self.start(self.schedule.lanes);
        let all = self.machine.download(&self.memory, length)?;
        let lane = |lane: u32| {
            let words = &all[self.start(lane)..];
            words[..kept(layout(&self.schedule, lane), words)].to_vec()
        };
        Ok((0..self.schedule.lanes).map(lane).collect())
    }

    fn restore(&mut self, lanes: &[Vec<f64>]) -> Result<()> {
        // What lies behind is that of a generation, which is drawn again.
        for (lane, kept) in (0..).zip(lanes) {
            let start = self.start(lane);
            self.machine.write_at(&mut self.memory, start, kept)?;
        }
        Ok(())
    }
}
