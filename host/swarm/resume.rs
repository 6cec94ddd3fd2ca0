//! Resuming a saved run.

use super::{
    Checkpoint, Exchange, Outcome, Precision, Problem, Progress, Saved, descent, islands,
    run::{Observer, Run},
    saved, searches,
    state::PersonalBest,
};
use crate::{
    Result, Verdict,
    backend::{Backend, Number},
};

impl Checkpoint {
    /// Resumes the run, on any back end: the bits are those of an uninterrupted run, unless it is
    /// [asynchronous](super::Mode). `saved` keeps it in a file again.
    ///
    /// A function that is not built in is recognised only by its name, dimensions, bounds,
    /// variables, goal and shift: give each closure a name of its own ([`Problem::called`]).
    /// Whether a closure of that name still computes the same is up to the caller.
    ///
    /// ```
    /// use std::time::Duration;
    /// use flockwork::{backend::Cpu, swarm::{Checkpoint, Problem, Search}};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.flockwork");
    /// let valley = || Problem::from_fn(vec![-1.0; 2], vec![1.0; 2], |x| x[0] * x[0] + x[1].abs());
    /// let search = Search::new(valley()?.called("valley")).particles(30).iterations(20);
    /// search.save(&path, Duration::from_secs(60)).run()?;
    /// let saved = Checkpoint::read(&path)?.with_limits(|iterations, _| *iterations = 40);
    /// let resume = |problem: &Problem| saved.resume(problem, &Cpu::new(1)?, None, |_| {});
    /// assert!(resume(&valley()?.called("ridge")).is_err());
    /// assert_eq!(resume(&valley()?.called("valley"))?.iterations, 40);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`minimize`](super::minimize); also if `problem` is not the run's.
    pub fn resume<V: Verdict>(
        &self,
        problem: &Problem,
        backend: &impl Backend,
        saved: Option<Saved>,
        mut observe: impl FnMut(&Progress) -> V,
    ) -> Result<Outcome> {
        let observe: &mut Observer<'_> = &mut |progress| observe(progress).into_control_flow();
        Ok(self.resume_noting(false, problem, backend, saved, observe)?.0)
    }

    /// Resumes a run of [`Islands`](super::Islands) together with other processes, as
    /// [`Search::run_among`](super::Search::run_among) runs it. Their number may be another one. Each reads
    /// the file.
    ///
    /// ```
    /// # use flockwork::{Result, swarm::{Exchange, Parcel}};
    /// # struct Alone;
    /// # impl Exchange for Alone {
    /// #     fn rank(&self) -> u32 { 0 }
    /// #     fn ranks(&self) -> u32 { 1 }
    /// #     fn trade(&self, _: &[Parcel], _: &[(u32, u32)]) -> Result<Vec<Vec<f64>>> {
    /// #         Ok(Vec::new())
    /// #     }
    /// # }
    /// use std::time::Duration;
    /// use flockwork::{backend::Cpu, objective::Sphere};
    /// use flockwork::swarm::{Checkpoint, Islands, Problem, Search};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.flockwork");
    /// let problem = Problem::new(Sphere, 2)?;
    /// let search = Search::new(problem.clone()).iterations(30).islands(Islands::of(2));
    /// search.save(&path, Duration::from_secs(60)).run()?;
    /// let saved = Checkpoint::read(&path)?.with_limits(|iterations, _| *iterations = 60);
    /// let rest = saved.resume_among(&problem, &Cpu::new(1)?, &Alone, None, |_| {})?;
    /// assert_eq!(rest.iterations, 60);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Checkpoint::resume`] and [`Search::run_among`](super::Search::run_among).
    pub fn resume_among<V: Verdict>(
        &self,
        problem: &Problem,
        backend: &impl Backend,
        exchange: &impl Exchange,
        saved: Option<Saved>,
        mut observe: impl FnMut(&Progress) -> V,
    ) -> Result<Outcome> {
        let observe: &mut Observer<'_> = &mut |progress| observe(progress).into_control_flow();
        islands::check_shared(self.options())?;
        self.resume_islands(problem, backend, exchange, saved, observe)
    }

    fn resume_islands(
        &self,
        problem: &Problem,
        backend: &impl Backend,
        exchange: &dyn Exchange,
        saved: Option<Saved>,
        observe: &mut Observer<'_>,
    ) -> Result<Outcome> {
        self.check_problem(problem)?;
        let file = saved.as_ref().map(|saved| &*saved.path);
        problem.function().begin(Some(self.path()), file)?;
        islands::run(problem, self.options(), backend, exchange, (Some(self), saved), observe)
    }

    /// As [`Checkpoint::resume`]; optionally notes the personal bests of all swarms' particles.
    pub(crate) fn resume_noting(
        &self,
        note: bool,
        problem: &Problem,
        backend: &impl Backend,
        saved: Option<Saved>,
        observe: &mut Observer<'_>,
    ) -> Result<(Outcome, Vec<PersonalBest>)> {
        if self.is_of_islands() {
            let outcome = self.resume_islands(problem, backend, &islands::Alone, saved, observe)?;
            return Ok((outcome, Vec::new()));
        }
        self.check_problem(problem)?;
        let file = saved.as_ref().map(|saved| &*saved.path);
        problem.function().begin(Some(self.path()), file)?;
        if self.is_of_searches() {
            let resumed = Some(self.searches()?);
            let options = self.options();
            let outcome = searches::run(problem, options, backend, resumed, saved, observe)?;
            return Ok((descent::finish(problem, options, outcome)?, Vec::new()));
        }
        let (outcome, seen) = match self.options().precision_for(problem) {
            Precision::F32 => self.resume_in::<f32>(note, problem, backend, saved, observe),
            Precision::F64 => self.resume_in::<f64>(note, problem, backend, saved, observe),
        }?;
        Ok((descent::finish(problem, self.options(), outcome)?, seen))
    }

    fn resume_in<T: Number>(
        &self,
        note: bool,
        problem: &Problem,
        backend: &impl Backend,
        saved: Option<Saved>,
        observe: &mut Observer<'_>,
    ) -> Result<(Outcome, Vec<PersonalBest>)> {
        if self.is_new() {
            if let Some(saved) = &saved {
                saved::write_new(saved, problem, self.options())?;
            }
            return Run::<_, T>::new(problem, self.options(), backend)?.go(saved, observe);
        }
        let (mut state, snapshot) = self.state::<T>(problem)?;
        state.personal_bests = state.personal_bests.filter(|_| note);
        Run::resumed(problem, self.options(), backend, state, &snapshot)?.go(saved, observe)
    }
}
