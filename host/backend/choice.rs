//! The choice of a run's back end, and the reason for it.

#[cfg(feature = "cuda")]
use super::Cuda;
use super::{
    Backend, Cooperation, Cpu, Function, Lanes, Number, Plan, SearchSchedule, Strategy, Swarm,
};
use crate::{Error, Result, names::named};

named! {
    /// Which back end to use.
    ///
    /// ```
    /// use flockwork::backend::{AnyBackend, Backend, Choice};
    ///
    /// let backend = AnyBackend::select(Choice::Auto, 2)?;
    /// println!("{}: {}", backend.description(), backend.reason());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    #[derive(Default)]
    pub enum Choice("backend") {
        /// The CPU.
        Cpu = "cpu",
        /// The first NVIDIA GPU; an error if there is none.
        Cuda = "cuda",
        /// The first NVIDIA GPU if there is one and the function has kernels for it; otherwise the
        /// CPU.
        #[default]
        Auto = "auto",
    }
}

/// The choice that was made, and in words the reason for the back end.
///
/// ```
/// use flockwork::backend::{AnyBackend, Choice, Reason};
///
/// let AnyBackend::Cpu(_, reason) = AnyBackend::select(Choice::Cpu, 1)? else { unreachable!() };
/// let reason: Reason = reason;
/// assert_eq!(reason.to_string(), "asked for");
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Whether the choice was automatic, so that another back end may stand in.
    automatic: bool,
    text: String,
}

impl Reason {
    fn new(choice: Choice, text: String) -> Self {
        Self { automatic: choice == Choice::Auto, text }
    }

    /// The reason for an automatic choice.
    pub(crate) fn automatic(text: String) -> Self {
        Self::new(Choice::Auto, text)
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.text)
    }
}

/// A back end chosen at run time.
///
/// A GPU found by [`Choice::Auto`] leaves functions without kernels (closures, your own objective
/// types) to the CPU; a GPU that was asked for refuses them.
///
/// ```
/// use flockwork::backend::{AnyBackend, Choice};
///
/// match AnyBackend::select(Choice::Auto, 2)? {
///     AnyBackend::Cpu(_, why) => println!("on two threads: {why}"),
///     _ => println!("on a GPU"),
/// }
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum AnyBackend {
    /// The CPU, and the reason for it.
    Cpu(Cpu, Reason),
    /// A GPU, and the reason for it.
    #[cfg(feature = "cuda")]
    Cuda(Cuda, Reason),
}

impl AnyBackend {
    /// The back end for a choice; `threads` is the number of CPU threads, 0 for one per core.
    ///
    /// ```
    /// use flockwork::backend::{AnyBackend, Backend};
    ///
    /// let backend = AnyBackend::select("cpu".parse()?, 3)?;
    /// assert!(backend.description().starts_with("3 threads"));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn select(choice: Choice, threads: usize) -> Result<Self> {
        match choice {
            Choice::Cpu => {
                Ok(Self::Cpu(Cpu::new(threads)?, Reason::new(choice, "asked for".to_owned())))
            }
            #[cfg(not(feature = "cuda"))]
            Choice::Cuda => Err(Error::BuiltWithoutCuda),
            #[cfg(not(feature = "cuda"))]
            Choice::Auto => Self::cpu(threads, "this build has no GPU support"),
            #[cfg(feature = "cuda")]
            Choice::Cuda => {
                let cuda = Cuda::open(0)?.with_cpu_threads(threads);
                Ok(Self::Cuda(cuda, Reason::new(choice, "asked for".to_owned())))
            }
            #[cfg(feature = "cuda")]
            Choice::Auto => match Cuda::open(0) {
                Ok(cuda) => {
                    let reason = Reason::new(choice, "a GPU was found".to_owned());
                    let cuda = cuda.with_cpu_threads(threads).beginning_on_cpu();
                    Ok(Self::Cuda(cuda, reason))
                }
                Err(Error::Cuda(why)) => Self::cpu(threads, &format!("no GPU: {}", why.brief())),
                Err(error) => Err(error),
            },
        }
    }

    /// The CPU, and the reason for it; `threads` as for [`AnyBackend::select`].
    pub(crate) fn cpu(threads: usize, why: &str) -> Result<Self> {
        Ok(Self::Cpu(Cpu::new(threads)?, Reason::automatic(why.to_owned())))
    }

    /// The CPU in place of an automatically chosen GPU that has no kernels for the function.
    pub(crate) fn stand_in(&self, function: &dyn Function) -> Result<Option<Cpu>> {
        match self {
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, reason) if reason.automatic && !function.has_kernels() => {
                cuda.cpu().map(Some)
            }
            _ => {
                let _ = function;
                Ok(None)
            }
        }
    }

    /// Sets the threads per block of a GPU.
    ///
    /// ```
    /// use flockwork::backend::{AnyBackend, Backend, Choice};
    ///
    /// let backend = AnyBackend::select(Choice::Cpu, 1)?.with_block_threads(64);
    /// assert_eq!(backend.name(), "cpu");
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn with_block_threads(self, threads: u32) -> Self {
        match self {
            Self::Cpu(..) => {
                let _ = threads;
                self
            }
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, why) => Self::Cuda(cuda.with_block_threads(threads), why),
        }
    }

    /// Sets the strategy of a GPU; `None` to choose automatically.
    ///
    /// ```
    /// use flockwork::backend::{AnyBackend, Backend, Choice, Strategy};
    ///
    /// let backend = AnyBackend::select(Choice::Cpu, 1)?.with_strategy(Strategy::Streaming);
    /// assert_eq!(backend.name(), "cpu");
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn with_strategy(self, strategy: impl Into<Option<Strategy>>) -> Self {
        match self {
            Self::Cpu(..) => {
                let _ = strategy.into();
                self
            }
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, why) => Self::Cuda(cuda.with_strategy(strategy), why),
        }
    }

    /// Sets how many threads of a GPU cooperate on a particle on the chip.
    ///
    /// ```
    /// use flockwork::backend::{AnyBackend, Backend, Choice, Cooperation};
    ///
    /// let backend = AnyBackend::select(Choice::Cpu, 1)?.with_cooperation(Cooperation::Warp);
    /// assert_eq!(backend.name(), "cpu");
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn with_cooperation(self, cooperation: Cooperation) -> Self {
        match self {
            Self::Cpu(..) => {
                let _ = cooperation;
                self
            }
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, why) => Self::Cuda(cuda.with_cooperation(cooperation), why),
        }
    }

    /// Limits the bytes of a GPU's memory for shortest paths.
    ///
    /// ```
    /// use flockwork::backend::{AnyBackend, Backend, Choice};
    ///
    /// let backend = AnyBackend::select(Choice::Cpu, 1)?.with_memory(1 << 30);
    /// assert_eq!(backend.name(), "cpu");
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn with_memory(self, bytes: u64) -> Self {
        match self {
            Self::Cpu(..) => {
                let _ = bytes;
                self
            }
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, why) => Self::Cuda(cuda.with_memory(bytes), why),
        }
    }

    /// Why this back end was chosen.
    ///
    /// ```
    /// use flockwork::backend::{AnyBackend, Choice};
    ///
    /// assert_eq!(AnyBackend::select(Choice::Cpu, 0)?.reason(), "asked for");
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn reason(&self) -> &str {
        match self {
            Self::Cpu(_, why) => &why.text,
            #[cfg(feature = "cuda")]
            Self::Cuda(_, why) => &why.text,
        }
    }
}

impl Backend for AnyBackend {
    fn name(&self) -> &'static str {
        match self {
            Self::Cpu(cpu, _) => cpu.name(),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, _) => cuda.name(),
        }
    }

    fn description(&self) -> String {
        match self {
            Self::Cpu(cpu, _) => cpu.description(),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, _) => cuda.description(),
        }
    }

    fn cpu(&self) -> Result<Cpu> {
        match self {
            Self::Cpu(cpu, _) => cpu.cpu(),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, _) => cuda.cpu(),
        }
    }

    fn swarm<T: Number>(
        &self,
        function: &dyn Function,
        plan: Plan<T>,
    ) -> Result<Box<dyn Swarm<T>>> {
        if let Some(cpu) = self.stand_in(function)? {
            return cpu.swarm(function, plan);
        }
        match self {
            Self::Cpu(cpu, _) => cpu.swarm(function, plan),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, _) => cuda.swarm(function, plan),
        }
    }

    fn lanes(
        &self,
        function: &dyn Function,
        plan: Plan<f64>,
        schedule: SearchSchedule,
    ) -> Result<Box<dyn Lanes>> {
        if let Some(cpu) = self.stand_in(function)? {
            return cpu.lanes(function, plan, schedule);
        }
        match self {
            Self::Cpu(cpu, _) => cpu.lanes(function, plan, schedule),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, _) => cuda.lanes(function, plan, schedule),
        }
    }

    fn usual_lanes(&self, dims: u32) -> u32 {
        match self {
            Self::Cpu(cpu, _) => cpu.usual_lanes(dims),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, _) => cuda.usual_lanes(dims),
        }
    }
}
