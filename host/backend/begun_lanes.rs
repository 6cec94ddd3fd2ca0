//! Lanes that begin on the CPU while a GPU's kernel is compiled.
//!
//! The driver takes a second or two for a kernel that it has not seen before. Lanes have the same bits
//! everywhere, so until then the CPU runs them; an easy problem is solved by that time.

use std::{
    panic::resume_unwind,
    sync::mpsc::{self, Receiver},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use flockwork_device::search::schedule::Limits;

use super::lanes::{Head, Lanes};
use crate::{Result, at_exit};

/// Makes lanes, on any thread.
pub type MakeLanes = Box<dyn FnOnce() -> Result<Box<dyn Lanes + Send>> + Send>;

/// For so long nothing begins: a kernel that the driver knows is there by then.
const PATIENCE: Duration = Duration::from_millis(20);
/// How long to wait before asking again whether they are there.
const NAP: Duration = Duration::from_millis(1);

/// Lanes that others will replace.
pub struct BegunLanes {
    lanes: Box<dyn Lanes>,
    /// Those that will, until they do.
    others: Option<Others>,
    /// Evaluations of the lanes when they began here.
    before: u64,
    /// Evaluations until they were replaced.
    here: u64,
    /// They run for so long.
    most: Duration,
    began: Instant,
}

/// Lanes that a thread is making.
struct Others {
    thread: JoinHandle<()>,
    made: Receiver<Result<Box<dyn Lanes + Send>>>,
}

impl BegunLanes {
    /// Begins with `lanes`, for at most so long, and goes on with those that `make` makes.
    pub fn new(lanes: Box<dyn Lanes>, make: MakeLanes, most: Duration) -> Self {
        let (made, others) = mpsc::channel();
        // Where nobody waits for them any more, they are dropped there.
        let thread = thread::spawn(move || _ = made.send(make()));
        let began = Instant::now();
        while !thread.is_finished() && began.elapsed() < PATIENCE {
            thread::sleep(NAP);
        }
        let others = Some(Others { thread, made: others });
        Self { lanes, others, before: 0, here: 0, most, began }
    }

    /// Goes over to the other lanes if they are there.
    fn replace(&mut self) -> Result<()> {
        let Some(Others { thread, made }) =
            self.others.take_if(|others| others.thread.is_finished())
        else {
            return Ok(());
        };
        if let Err(panic) = thread.join() {
            resume_unwind(panic);
        }
        let mut others = made.recv().expect("the thread has sent them")?;
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
        while let Some(others) = &self.others
            && self.began.elapsed() >= self.most
            && !others.thread.is_finished()
        {
            if !goes_on() {
                return Ok(false);
            }
            thread::sleep(NAP);
        }
        self.replace()?;
        let thread = self.others.as_ref().map(|others| &others.thread);
        let (began, most) = (self.began, self.most);
        let is_over =
            || thread.is_some_and(|thread| thread.is_finished() || began.elapsed() >= most);
        self.lanes.advance(limits, &|| goes_on() && !is_over())
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

impl Drop for BegunLanes {
    fn drop(&mut self) {
        if let Some(Others { thread, made }) = self.others.take() {
            // The result need not wait for the driver; the end of the process must.
            drop(made);
            at_exit::wait_for(thread);
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

    fn limits(effort: f64) -> Limits {
        Limits {
            evaluations: 1e9,
            effort,
            target: f64::NEG_INFINITY,
            best: f64::INFINITY,
            feasible: f64::INFINITY,
            goes_on: 0,
        }
    }

    /// The heads after a few rounds, each with a limit for the effort.
    fn heads(lanes: &mut dyn Lanes, goes_on: &(dyn Fn() -> bool + Sync)) -> Vec<Head> {
        let mut all = Vec::new();
        for round in 1..=4_u32 {
            let mut limits = limits(f64::from(round) * 9000.0);
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
        // The others are there before the first round, after so many generations, or never; and the last
        // time they are waited for at once.
        let (long, at_once) = (Duration::MAX, Duration::ZERO);
        let cases = [(0, long), (1, long), (40, long), (200, long), (u32::MAX, long), (0, at_once)];
        for (after, most) in cases {
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
            let mut lanes = BegunLanes::new(begun, make, most);
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
        let mut lanes = BegunLanes::new(begun, failing, Duration::MAX);
        while lanes.others.as_ref().is_some_and(|others| !others.thread.is_finished()) {
            thread::yield_now();
        }
        let error = lanes.advance(&limits(1.0), &|| true).unwrap_err();
        assert!(matches!(error, crate::Error::Interrupted));
    }
}
