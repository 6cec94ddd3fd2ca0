//! Lanes dealt out to several GPUs.
//!
//! A lane depends on nothing but the schedule, its own numbers and the limits of a round, so where it runs
//! changes no bit.

use std::{ops::Range, panic::resume_unwind, thread};

use flockwork_device::{
    objective::Objective,
    search::schedule::{Limits, Schedule},
};

use super::{
    Plan,
    kernel_lanes::KernelLanes,
    lanes::{Head, Lanes},
    machine::Machine,
};
use crate::Result;

/// The lanes of a schedule on one or several machines.
pub fn on_machines<M, O>(
    machines: Vec<M>,
    objective: O,
    plan: Plan<f64>,
    schedule: Schedule,
    threads: Option<u32>,
) -> Result<Box<dyn Lanes + Send>>
where
    M: Machine + Send,
    O: Objective,
    KernelLanes<M, O>: Send + 'static,
{
    let mut work: Vec<(M, Range<u32>)> =
        shares(schedule.lanes, machines.len()).zip(machines).map(|(lanes, m)| (m, lanes)).collect();
    let new = |machine, lanes, plan| {
        KernelLanes::new(machine, objective, plan, (schedule, lanes), threads)
    };
    let Some((machine, lanes)) = work.pop() else { unreachable!("a back end has a machine") };
    if work.is_empty() {
        return Ok(Box::new(new(machine, lanes, plan)?));
    }
    work.push((machine, lanes));
    // Side by side, since a driver may have to compile the kernel for each.
    let made = thread::scope(|scope| {
        let made: Vec<_> = work
            .into_iter()
            .map(|(machine, lanes)| {
                let plan = plan.clone();
                let count = lanes.len();
                (count, scope.spawn(|| new(machine, lanes, plan)))
            })
            .collect();
        let part = |(count, thread): (usize, thread::ScopedJoinHandle<'_, _>)| {
            let lanes = thread.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            Ok((count, Box::new(lanes) as Box<dyn Lanes + Send>))
        };
        made.into_iter().map(part).collect::<Result<_>>()
    })?;
    Ok(Box::new(DealtLanes { parts: made }))
}

/// The lanes of each of so many machines. They are neighbours: of eight or more, the populations differ as those
/// of all lanes do.
fn shares(lanes: u32, machines: usize) -> impl Iterator<Item = Range<u32>> {
    let machines = (machines as u32).clamp(1, lanes.max(1));
    let end = move |nth: u32| (u64::from(lanes) * u64::from(nth) / u64::from(machines)) as u32;
    (0..machines).map(move |nth| end(nth)..end(nth + 1))
}

/// The lanes of a run, some on each of several machines, in order.
struct DealtLanes {
    /// The number of lanes in each part, and the part.
    parts: Vec<(usize, Box<dyn Lanes + Send>)>,
}

impl Lanes for DealtLanes {
    fn advance(&mut self, limits: &Limits, goes_on: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        // A GPU only begins here, and is waited for where its heads are read.
        let mut all = true;
        for (_, part) in &mut self.parts {
            all &= part.advance(limits, goes_on)?;
        }
        Ok(all)
    }

    fn heads(&mut self) -> Result<Vec<Head>> {
        let mut heads = Vec::new();
        for (_, part) in &mut self.parts {
            heads.extend(part.heads()?);
        }
        Ok(heads)
    }

    fn snapshot(&mut self) -> Result<Vec<Vec<f64>>> {
        let mut lanes = Vec::new();
        for (_, part) in &mut self.parts {
            lanes.extend(part.snapshot()?);
        }
        Ok(lanes)
    }

    fn restore(&mut self, lanes: &[Vec<f64>]) -> Result<()> {
        let mut rest = lanes;
        for (count, part) in &mut self.parts {
            let (some, others) = rest.split_at(*count);
            part.restore(some)?;
            rest = others;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lane_has_one_machine() {
        for (lanes, machines) in [(1, 1), (1, 4), (9, 2), (256, 3), (256, 8), (7, 7), (5, 6)] {
            let all: Vec<Range<u32>> = shares(lanes, machines).collect();
            assert!(all.len() == machines.min(lanes as usize), "{all:?}");
            assert!(all.iter().all(|share| !share.is_empty()), "{all:?}");
            let one_by_one: Vec<u32> = all.iter().cloned().flatten().collect();
            assert_eq!(one_by_one, (0..lanes).collect::<Vec<_>>());
            let (least, most) =
                (all.iter().map(Range::len).min(), all.iter().map(Range::len).max());
            assert!(most.unwrap() - least.unwrap() <= 1, "{all:?}");
        }
    }
}
