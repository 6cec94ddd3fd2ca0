//! What a search has been told.

use std::time::Instant;

use super::{Outcome, Problem, StopReason, outcome::sign};
use crate::{Error, Result};

/// The best value that a search has been told, by a caller or by a function. One that is ended early need
/// not know it yet: its own result is that of its last complete generation or round.
///
/// ```
/// use flockwork::{Error, swarm::{Problem, Told}};
///
/// let problem = Problem::elsewhere(vec![-1.0; 2], vec![1.0; 2])?;
/// let mut told = Told::new(&problem);
/// told.note(&[0.5, 0.0], 3.0);
/// told.note(&[0.0, 2.0], 1.0);
/// // The second point is outside the box.
/// assert_eq!((told.count(), told.best()), (2, Some((3.0, &[0.5, 0.0][..]))));
/// assert_eq!(told.completes(Err(Error::Interrupted))?.value, 3.0);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Debug)]
pub struct Told {
    problem: Problem,
    begun: Instant,
    count: u64,
    best: Option<(f64, Vec<f64>)>,
}

impl Told {
    /// Nothing yet.
    pub fn new(problem: &Problem) -> Self {
        Self { problem: problem.clone(), begun: Instant::now(), count: 0, best: None }
    }

    /// The value at a point.
    pub fn note(&mut self, point: &[f64], value: f64) {
        self.count += 1;
        let is_better = self.best.as_ref().is_none_or(|(best, _)| self.is_better(value, *best));
        if value.is_finite() && is_better && self.counts(point) {
            self.best = Some((value, point.to_vec()));
        }
    }

    fn is_better(&self, value: f64, other: f64) -> bool {
        let sign = sign(self.problem.goal());
        sign * value < sign * other
    }

    /// Whether a point may be a result: in the box, and satisfying the constraints as they are stated,
    /// however wide a search has made them.
    fn counts(&self, point: &[f64]) -> bool {
        let mut bounds = self.problem.lower().iter().zip(self.problem.upper()).zip(point);
        bounds.all(|((lower, upper), x)| (lower..=upper).contains(&x))
            && self.problem.constraints().are_satisfied(point)
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The best finite value of a point that may be a result, and that point.
    pub fn best(&self) -> Option<(f64, &[f64])> {
        self.best.as_ref().map(|(value, point)| (*value, &**point))
    }

    /// The result of a search that has ended, no worse than what it was told.
    ///
    /// # Errors
    /// The search's own, but for those that say that nothing was found where something was.
    pub fn completes(&self, ended: Result<Outcome>) -> Result<Outcome> {
        let Some((value, position)) = self.best.clone() else { return ended };
        let outcome = match ended {
            Err(Error::Interrupted | Error::NoFiniteFitness { .. }) => {
                Outcome::interrupted(value, position, self.count, self.begun.elapsed())
            }
            Ok(outcome)
                if outcome.stopped == StopReason::Interrupted
                    && (outcome.value.is_nan() || self.is_better(value, outcome.value)) =>
            {
                Outcome { value, found: value, position, ..outcome }
            }
            ended => return ended,
        };
        Ok(outcome.limited(&self.problem))
    }
}
