//! What a closure that watches a computation says about going on.

use std::ops::ControlFlow;

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl Sealed for std::ops::ControlFlow<()> {}
}

/// What an observer returns: nothing, or whether to go on.
///
/// Whatever takes an observer takes a closure that only watches and returns `()`, and one that
/// returns [`ControlFlow`] and may end the computation early.
///
/// ```
/// use std::ops::ControlFlow;
/// use flockwork::{backend::Cpu, objective::Sphere};
/// use flockwork::swarm::{Options, Problem, StopReason, minimize};
///
/// let (problem, options, cpu) = (Problem::new(Sphere, 2)?, Options::default(), Cpu::new(1)?);
/// let watched = minimize(&problem, &options, &cpu, |progress| println!("{}", progress.value))?;
/// assert_eq!(watched.stopped, StopReason::Iterations);
/// let ended = minimize(&problem, &options, &cpu, |_| ControlFlow::Break(()))?;
/// assert_eq!(ended.stopped, StopReason::Interrupted);
/// # Ok::<(), flockwork::Error>(())
/// ```
pub trait Verdict: sealed::Sealed {
    /// Whether to go on.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use flockwork::Verdict;
    ///
    /// assert_eq!(().into_control_flow(), ControlFlow::Continue(()));
    /// assert_eq!(ControlFlow::Break(()).into_control_flow(), ControlFlow::Break(()));
    /// ```
    fn into_control_flow(self) -> ControlFlow<()>;
}

impl Verdict for () {
    fn into_control_flow(self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Verdict for ControlFlow<()> {
    fn into_control_flow(self) -> Self {
        self
    }
}
