//! Lanes on a GPU: a block of threads each.

use std::ops::Range;

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
    /// Those of the schedule that run here.
    lanes: Range<u32>,
    threads: u32,
    fixed: FixedBuffers<M, f64>,
    /// Where the numbers of each lane here begin, and where the last one's end.
    starts: Vec<u64>,
    uploaded_starts: M::Buffer<u64>,
    memory: M::Buffer<f64>,
    heads: M::Buffer<f64>,
}

impl<M: Machine, O: Objective> KernelLanes<M, O> {
    /// These lanes of a schedule.
    pub fn new(
        machine: M,
        objective: O,
        plan: Plan<f64>,
        (schedule, lanes): (Schedule, Range<u32>),
        threads: Option<u32>,
    ) -> Result<Self> {
        let bytes = numbers(&schedule, lanes.clone()) * size_of::<f64>() as u128;
        memory::check(bytes)?;
        if let Some(available) = machine.memory()?
            && bytes > u128::from(available)
        {
            return Err(Error::Option {
                option: "lanes",
                value: schedule.lanes.to_string(),
                accepted: format!(
                    "fewer: {} lanes in {} dimensions take {bytes} bytes, and their GPU has \
                     {available} free",
                    lanes.len(),
                    schedule.dims
                ),
            });
        }
        let mut starts = vec![0];
        let mut end = 0;
        for lane in lanes.clone() {
            end += u64::from(layout(&schedule, lane).length());
            starts.push(end);
        }
        let head = layout(&schedule, 0).head() as usize * lanes.len();
        Ok(Self {
            // Here, so that what the driver takes to compile it counts as start-up.
            kernel: machine.load()?,
            fixed: FixedBuffers::new(&machine, &plan, &[], &[])?,
            uploaded_starts: machine.upload(&starts)?,
            starts,
            memory: machine.zeroed(end as usize)?,
            heads: machine.zeroed(head)?,
            threads: threads.unwrap_or(THREADS).min(THREADS),
            machine,
            objective,
            plan,
            schedule,
            lanes,
        })
    }

    /// Where the numbers of a lane begin, counted from the first one here; of one lane too many, where all
    /// end.
    fn start(&self, nth: usize) -> usize {
        self.starts[nth] as usize
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
                first: self.lanes.start,
                starts: machine.read_only(&self.uploaded_starts),
                memory: machine.read_write(&self.memory),
                heads: machine.read_write(&self.heads),
            }
        };
        let arguments = arguments.of(self.objective);
        let blocks = self.lanes.len() as u32;
        // SAFETY: a block for each lane; `memory` is as long as the lanes' layouts say and is
        // initialised, `heads` has a head for each lane.
        unsafe { machine.launch(&self.kernel, blocks, self.threads, &arguments)? };
        Ok(true)
    }

    fn heads(&mut self) -> Result<Vec<Head>> {
        let layout = layout(&self.schedule, 0);
        let head = layout.head() as usize;
        let all = self.machine.download(&self.heads, head * self.lanes.len())?;
        Ok(all.chunks_exact(head).map(|words| Head::of(layout, words)).collect())
    }

    fn snapshot(&mut self) -> Result<Vec<Vec<f64>>> {
        let length = self.start(self.lanes.len());
        let all = self.machine.download(&self.memory, length)?;
        let lane = |(nth, lane)| {
            let words = &all[self.start(nth)..];
            words[..kept(layout(&self.schedule, lane), words)].to_vec()
        };
        Ok(self.lanes.clone().enumerate().map(lane).collect())
    }

    fn restore(&mut self, lanes: &[Vec<f64>]) -> Result<()> {
        // What lies behind is that of a generation, which is drawn again.
        for (nth, kept) in lanes.iter().enumerate() {
            let start = self.start(nth);
            self.machine.write_at(&mut self.memory, start, kept)?;
        }
        Ok(())
    }
}
