//! Swarms whose points the caller evaluates.

use std::fmt;

use super::{Options, Precision, Problem, outcome::sign, run};
use crate::{
    Error, Result,
    backend::{Cpu, CpuSwarm, Number, Plan, Swarm},
};

/// A swarm for a function that lives elsewhere: in a simulator, on a cluster, in another language.
/// It asks for values at points, and the caller tells them.
///
/// It takes the same steps as a run with a closure on the CPU. Stop conditions, restarts and
/// polishing are up to the caller.
///
/// ```
/// use flockwork::swarm::{AskTell, Options, Problem};
///
/// let problem = Problem::elsewhere(vec![-5.0; 3], vec![5.0; 3])?;
/// let mut swarm = AskTell::new(&problem, &Options { particles: 40, ..Options::default() })?;
/// for _ in 0..200 {
///     let values: Vec<f64> = swarm
///         .ask()
///         .chunks_exact(3)
///         .map(|x| x.iter().map(|x| (x - 1.0).powi(2)).sum())
///         .collect();
///     swarm.tell(&values)?;
/// }
/// assert!(swarm.best()?.0 < 1e-9);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Debug)]
pub struct AskTell {
    problem: Problem,
    options: Options,
    state: State,
    /// The points asked for, until their values are told.
    open: Option<Vec<f64>>,
    started: bool,
}

enum State {
    F32(CpuSwarm<f32>, Plan<f32>),
    F64(CpuSwarm<f64>, Plan<f64>),
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (precision, iteration) = match self {
            Self::F32(swarm, _) => ("f32", swarm.iteration()),
            Self::F64(swarm, _) => ("f64", swarm.iteration()),
        };
        write!(f, "a swarm in {precision} after iteration {iteration}")
    }
}

impl AskTell {
    /// A swarm in the box of a problem. The problem's own function is not called.
    ///
    /// # Errors
    /// If an option or the problem makes no sense, or asks for what is up to the caller here: a
    /// start other than uniform, stop conditions, restarts, polishing, a history.
    pub fn new(problem: &Problem, options: &Options) -> Result<Self> {
        options.check_alone("asked and told")?;
        if options.history.is_some() {
            return Err(Error::Option {
                option: "history",
                value: "given".to_owned(),
                accepted: "left as it is where a swarm is asked and told".to_owned(),
            });
        }
        if !problem.constraints().is_empty() {
            return Err(Error::Unsuitable {
                objective: problem.name().to_owned(),
                why: "has constraints, which a swarm that is asked and told does not know of",
            });
        }
        let cpu = Cpu::new(0)?;
        let state = match options.precision_for(problem) {
            Precision::F32 => {
                let plan = Plan::new(problem, options)?;
                State::F32(cpu.headless(plan.clone())?, plan)
            }
            Precision::F64 => {
                let plan = Plan::new(problem, options)?;
                State::F64(cpu.headless(plan.clone())?, plan)
            }
        };
        let (problem, options) = (problem.clone(), options.clone());
        Ok(Self { problem, options, state, open: None, started: false })
    }

    /// The next points to evaluate, `dims` numbers for each particle. Returns the same points until
    /// their values are told.
    pub fn ask(&mut self) -> &[f64] {
        fn points<T: Number>(
            swarm: &mut CpuSwarm<T>,
            plan: &Plan<T>,
            problem: &Problem,
            start: bool,
        ) -> Vec<f64> {
            swarm.propose(start);
            let positions: Vec<f64> = swarm.positions().iter().map(|x| x.to_f64()).collect();
            let rows = positions.chunks_exact(problem.lower().len());
            rows.flat_map(|row| run::reported(problem, plan, row)).collect()
        }
        let Self { problem, state, open, started, .. } = self;
        open.get_or_insert_with(|| {
            let start = !*started;
            *started = true;
            match state {
                State::F32(swarm, plan) => points(swarm, plan, problem, start),
                State::F64(swarm, plan) => points(swarm, plan, problem, start),
            }
        })
    }

    /// Takes one value for each of the points asked for. NaN counts as infinitely bad, and so does
    /// any value outside the box where particles are invisible there
    /// ([`Edge::Invisible`](super::Edge)).
    ///
    /// # Errors
    /// If there are more or fewer values than points, or no points were asked for.
    pub fn tell(&mut self, values: &[f64]) -> Result<()> {
        if self.open.is_none() {
            return Err(Error::Option {
                option: "the list of values told",
                value: "given before any points were asked for".to_owned(),
                accepted: "told after `ask`, once".to_owned(),
            });
        }
        let expected = self.options.particles as usize;
        if values.len() != expected {
            let what = "the list of values told";
            return Err(Error::Length { what, found: values.len(), expected });
        }
        fn accept<T: Number>(swarm: &mut CpuSwarm<T>, values: &[f64]) {
            let values: Vec<T> = values.iter().map(|&value| T::nearest(value)).collect();
            swarm.accept(&values);
        }
        match &mut self.state {
            State::F32(swarm, _) => accept(swarm, values),
            State::F64(swarm, _) => accept(swarm, values),
        }
        self.open = None;
        Ok(())
    }

    /// The best value told so far, and its position.
    ///
    /// # Errors
    /// If no value told was finite, or one was infinitely good.
    pub fn best(&mut self) -> Result<(f64, Vec<f64>)> {
        fn best<T: Number>(
            swarm: &mut CpuSwarm<T>,
            plan: &Plan<T>,
            problem: &Problem,
        ) -> Result<(f64, Vec<f64>)> {
            let best = swarm.known().swap_remove(0);
            if !best.value.to_f64().is_finite() {
                let evaluations = u64::from(plan.particles) * (u64::from(swarm.iteration()) + 1);
                return Err(run::no_best::<T>(problem, best.value.to_f64(), evaluations));
            }
            let position: Vec<f64> = best.position.iter().map(|x| x.to_f64()).collect();
            Ok((best.value.to_f64(), run::reported(problem, plan, &position)))
        }
        let (fitness, position) = match &mut self.state {
            State::F32(swarm, plan) => best(swarm, plan, &self.problem)?,
            State::F64(swarm, plan) => best(swarm, plan, &self.problem)?,
        };
        Ok((sign(self.problem.goal()) * fitness, position))
    }
}
