//! The choice of a run's back end, and the reason for it.

use std::{fmt, str::FromStr};

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

/// Which of a computer's GPUs to use, by their numbers in the list of `flockwork devices`.
///
/// ```
/// use flockwork::backend::Gpus;
///
/// assert_eq!("all".parse::<Gpus>()?, Gpus::All);
/// assert_eq!("0,2".parse::<Gpus>()?, Gpus::These(vec![0, 2]));
/// assert!("0,0".parse::<Gpus>().is_err());
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Gpus {
    /// The first.
    #[default]
    First,
    /// All.
    All,
    /// These: at least one, and none twice.
    These(Vec<u32>),
}

impl Gpus {
    /// An error if it names none, or one of them twice.
    pub(crate) fn check(&self) -> Result<()> {
        let Self::These(ordinals) = self else { return Ok(()) };
        let twice = (1..ordinals.len()).any(|nth| ordinals[..nth].contains(&ordinals[nth]));
        if ordinals.is_empty() || twice {
            return Err(not_gpus(&self.to_string()));
        }
        Ok(())
    }
}

/// The error for text that stands for no GPUs.
fn not_gpus(text: &str) -> Error {
    Error::Option {
        option: "gpus",
        value: format!("{text:?}"),
        accepted: "all, or numbers of different GPUs separated by commas, such as 0,1".to_owned(),
    }
}

impl FromStr for Gpus {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "all" {
            return Ok(Self::All);
        }
        let ordinal = |ordinal: &str| match ordinal.bytes().all(|byte| byte.is_ascii_digit()) {
            true => ordinal.parse().map_err(|_| not_gpus(text)),
            false => Err(not_gpus(text)),
        };
        let gpus = Self::These(text.split(',').map(ordinal).collect::<Result<_>>()?);
        gpus.check()?;
        Ok(gpus)
    }
}

impl fmt::Display for Gpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => f.pad("0"),
            Self::All => f.pad("all"),
            Self::These(ordinals) => {
                f.pad(&ordinals.iter().map(u32::to_string).collect::<Vec<_>>().join(","))
            }
        }
    }
}

/// Where to run: on which back end, and if that is a GPU, on which. A [`Choice`] is one too, with the
/// first GPU.
///
/// As text it is the name of a choice, or `cuda:` and the GPUs: `cuda:0,1`, `cuda:all`.
///
/// ```
/// use flockwork::{backend::{Choice, Devices, Gpus}, objective::Sphere, swarm::Problem};
///
/// assert_eq!("cuda:0,1".parse::<Devices>()?, Devices::cuda(Gpus::These(vec![0, 1])));
/// assert_eq!("auto".parse::<Devices>()?, Choice::Auto.into());
/// let all = Problem::new(Sphere, 2)?.select(Devices::cuda(Gpus::All), 0);
/// // An error where there is no GPU.
/// println!("{:?}", all.map(|backend| backend.reason().to_owned()));
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Devices {
    choice: Choice,
    gpus: Gpus,
}

impl Devices {
    /// These GPUs; where they are not, that is an error.
    pub fn cuda(gpus: Gpus) -> Self {
        Self { choice: Choice::Cuda, gpus }
    }

    /// The same back end on these GPUs, where it is on GPUs.
    ///
    /// ```
    /// use flockwork::backend::{Choice, Devices, Gpus};
    ///
    /// let second = Devices::from(Choice::Auto).on(Gpus::These(vec![1]));
    /// assert_eq!((second.choice(), second.gpus()), (Choice::Auto, &Gpus::These(vec![1])));
    /// ```
    pub fn on(self, gpus: Gpus) -> Self {
        Self { gpus, ..self }
    }

    /// The back end.
    pub fn choice(&self) -> Choice {
        self.choice
    }

    /// Which GPUs, where it is on GPUs.
    pub fn gpus(&self) -> &Gpus {
        &self.gpus
    }
}

impl From<Choice> for Devices {
    fn from(choice: Choice) -> Self {
        Self { choice, gpus: Gpus::First }
    }
}

impl FromStr for Devices {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(("cuda", gpus)) = text.split_once(':') {
            return Ok(Self::cuda(gpus.parse()?));
        }
        text.parse::<Choice>().map(Self::from).map_err(|_| Error::Option {
            option: "device",
            value: format!("{text:?}"),
            accepted: "auto, cpu, cuda, or GPUs as in cuda:0,1 or cuda:all".to_owned(),
        })
    }
}

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.choice, &self.gpus) {
            (Choice::Cuda, gpus) if *gpus != Gpus::First => f.pad(&format!("cuda:{gpus}")),
            (choice, _) => fmt::Display::fmt(&choice, f),
        }
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

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
    /// A GPU or several, and the reason for it.
    #[cfg(feature = "cuda")]
    Cuda(Cuda, Reason),
}

impl AnyBackend {
    /// The back end for a [`Choice`], or for named [`Devices`]; `threads` is the number of CPU threads, 0
    /// for one per core.
    ///
    /// ```
    /// use flockwork::backend::{AnyBackend, Backend, Choice};
    ///
    /// let backend = AnyBackend::select(Choice::Cpu, 3)?;
    /// assert!(backend.description().starts_with("3 threads"));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn select(devices: impl Into<Devices>, threads: usize) -> Result<Self> {
        let Devices { choice, gpus } = devices.into();
        #[cfg(not(feature = "cuda"))]
        let _ = gpus;
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
                let cuda = Cuda::open_several(&gpus)?.with_cpu_threads(threads);
                Ok(Self::Cuda(cuda, Reason::new(choice, "asked for".to_owned())))
            }
            #[cfg(feature = "cuda")]
            Choice::Auto => match Cuda::open_several(&gpus) {
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

    fn island<T: Number>(
        &self,
        number: u32,
        function: &dyn Function,
        plan: Plan<T>,
    ) -> Result<Box<dyn Swarm<T>>> {
        if let Some(cpu) = self.stand_in(function)? {
            return cpu.island(number, function, plan);
        }
        match self {
            Self::Cpu(cpu, _) => cpu.island(number, function, plan),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, _) => cuda.island(number, function, plan),
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
