//! Lanes that begin on the CPU while a GPU's kernel is compiled.
//!
//! The driver takes a second or two for a kernel that it has not seen before. Lanes have the same bits
//! everywhere, so until then the CPU runs them; an easy problem is solved by that time.

use std::{
    panic::resume_unwind,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use flockwork_device::search::lane::Limits;

use super::lanes::{Head, Lanes};
use crate::Result;

/// Makes lanes, on any thread.
pub type MakeLanes = Box<dyn FnOnce() -> Result<Box<dyn Lanes + Send>> + Send>;

/// For so long nothing begins: a kernel that the driver knows is there by then.
const PATIENCE: Duration = Duration::from_millis(20);

/// Lanes that others will replace.
pub struct BegunLanes {
    lanes: Box<dyn Lanes>,
    /// Those that will, until they do.
    others: Option<JoinHandle<Result<Box<dyn Lanes + Send>>>>,
    /// Evaluations of the lanes when they began here.
    before: u64,
    /// Evaluations until they were replaced.
    here: u64,
}

impl BegunLanes {
    /// Begins with `lanes`, and goes on with those that `make` makes.
    pub fn new(lanes: Box<dyn Lanes>, make: MakeLanes) -> Self {
        let others = thread::spawn(make);
        let began = Instant::now();
        while !others.is_finished() && began.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(1));
        }
        Self { lanes, others: Some(others), before: 0, here: 0 }
    }

    /// Goes over to the other lanes if they are there.
    fn replace(&mut self) -> Result<()> {
        let Some(others) = self.others.take_if(|others| others.is_finished()) else {
            return Ok(());
        };
        let mut others = others.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        self.here = self.evaluations()? - self.before;
        others.restore(&self.lanes.snapshot()?)?;
        self.lanes = others;
        Ok(())
    }

    fn evaluations(&mut self) -> Result<u64> {
        Ok(self.lanes.heads()?.iter().map(|head| head.evaluations).sum())
    }
}

impl Lanes for BegunLanes {
    fn advance(&mut self, limits: &Limits, goes_on: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        self.replace()?;
        let are_there = || self.others.as_ref().is_some_and(JoinHandle::is_finished);
        self.lanes.advance(limits, &|| goes_on() && !are_there())
    }

    fn heads(&mut self) -> Result<Vec<Head>> {
        self.lanes.heads()
    }

    fn snapshot(&mut self) -> Result<Vec<Vec<f64>>> {
        self.lanes.snapshot()
    }

    fn restore(&mut self, lanes: &[Vec<f64>]) -> Result<()> {
        self.lanes.restore(lanes)?;
        if self.others.is_some() {
            self.before = self.evaluations()?;
        }
        Ok(())
    }

    fn evaluations_on_cpu(&mut self) -> Result<u64> {
        match self.others {
            Some(_) => Ok(self.evaluations()?.saturating_sub(self.before)),
            None => Ok(self.here),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        atomic::{AtomicU32, Ordering},
        mpsc,
    };

    use flockwork_device::{objective::Rastrigin, random::philox};

    use super::*;
    use crate::{
        backend::{Backend, Cpu, Plan, SearchSchedule, cpu::CpuLanes},
        swarm::{Edge, Options, Problem},
    };

    /// The heads after a few rounds, each with a limit for the effort.
    fn heads(lanes: &mut dyn Lanes, goes_on: &(dyn Fn() -> bool + Sync)) -> Vec<Head> {
        let mut all = Vec::new();
        for round in 1..=4_u32 {
            let mut limits = Limits {
                evaluations: 1e9,
                effort: f64::from(round) * 9000.0,
                target: f64::NEG_INFINITY,
                best: f64::INFINITY,
                feasible: f64::INFINITY,
                goes_on: 0,
            };
            while !lanes.advance(&limits, goes_on).unwrap() {
                limits.goes_on = 1;
            }
            all.extend(lanes.heads().unwrap());
        }
        all
    }

    #[test]
    fn lanes_that_are_replaced_have_the_bits_of_those_that_are_not() {
        let problem = Problem::new(Rastrigin, 4).unwrap();
        let one = Options { particles: 1, edge: Edge::Clamp, ..Options::default() };
        let plan = Plan::<f64>::new(&problem, &one).unwrap();
        let schedule = SearchSchedule { key: philox::key(7), lanes: 9, dims: 4 };
        let cpu = Cpu::new(2).unwrap();
        let expected =
            heads(&mut *cpu.lanes(problem.function(), plan.clone(), schedule).unwrap(), &|| true);
        // The others are there before the first round, after so many generations, or never.
        for after in [0, 1, 40, 200, u32::MAX] {
            let (open, gate) = mpsc::channel::<()>();
            let (problem, plan) = (problem.clone(), plan.clone());
            let begun = cpu.lanes(problem.function(), plan.clone(), schedule).unwrap();
            let make: MakeLanes = Box::new(move || {
                let _ = gate.recv();
                let cpu = Cpu::new(1)?;
                Ok(Box::new(CpuLanes::new(cpu, problem.function(), plan, schedule)?))
            });
            if after == 0 {
                open.send(()).unwrap();
            }
            let mut lanes = BegunLanes::new(begun, make);
            let generations = AtomicU32::new(0);
            let goes_on = || {
                if generations.fetch_add(1, Ordering::Relaxed) + 1 == after {
                    open.send(()).unwrap();
                }
                true
            };
            assert_eq!(heads(&mut lanes, &goes_on), expected, "after {after}");
            let (here, all) = (lanes.evaluations_on_cpu().unwrap(), lanes.evaluations().unwrap());
            assert!(here <= all && (after != u32::MAX || here == all), "{here} of {all}");
        }
    }

    #[test]
    fn an_error_of_the_others_ends_the_lanes() {
        let problem = Problem::new(Rastrigin, 2).unwrap();
        let plan = Plan::<f64>::new(&problem, &Options::default()).unwrap();
        let schedule = SearchSchedule { key: philox::key(1), lanes: 1, dims: 2 };
        let begun = Cpu::new(1).unwrap().lanes(problem.function(), plan, schedule).unwrap();
        let failing = Box::new(|| Err(crate::Error::Interrupted));
        let mut lanes = BegunLanes::new(begun, failing);
        while lanes.others.as_ref().is_some_and(|others| !others.is_finished()) {
            thread::yield_now();
        }
        let limits = Limits {
            evaluations: 1e9,
            effort: 1.0,
            target: f64::NEG_INFINITY,
            best: f64::INFINITY,
            feasible: f64::INFINITY,
            goes_on: 0,
        };
        let error = lanes.advance(&limits, &|| true).unwrap_err();
        assert!(matches!(error, crate::Error::Interrupted));
    }
}
