//! What a kernel is: one trait that the PTX export, the host's launcher and the emulator share.

use core::fmt;

/// A kernel: [`Kernel::run`] is executed by every thread of a launch.
///
/// The host launches `K` by passing a `K::Arguments`, so a launch with arguments of another kernel
/// does not compile. The emulator calls `K::run` itself; the PTX holds it under
/// [`Kernel::NAME`] (see [`crate::registry`]).
pub trait Kernel {
    /// Everything the kernel is passed: one `repr(C)` block of scalars and buffers, copied into the
    /// kernel's parameter space (4 KiB at most).
    type Arguments: Copy + Send + Sync;

    /// The name of its entry in the PTX.
    const NAME: Name;

    /// Where its machine code is, if not in flockwork itself.
    const KERNELS: Kernels = Kernels::NONE;

    /// Whether all blocks must be on the chip at once (for [`crate::gpu::grid::barrier`]).
    const COOPERATIVE: bool = false;

    /// What its blocks and its machine code are held to. The PTX has it beside the entry, where the
    /// build and `scripts/check-ptx` read it.
    const LAUNCH: Launch = Launch::DEFAULT;

    /// Shared memory in bytes of a block of `threads` threads in a launch with these arguments.
    fn shared_bytes(threads: u32, arguments: &Self::Arguments) -> u32 {
        let _ = (threads, arguments);
        0
    }

    /// The specialization constants: words of these arguments that decide what the kernel does rather
    /// than with what, and that many launches share. A driver that compiles the kernel may fix them.
    fn constants(arguments: &Self::Arguments) -> Constants {
        let _ = arguments;
        Constants::NONE
    }

    /// What each thread does.
    ///
    /// # Safety
    /// Called by every thread of a launch whose block size is a multiple of 32, with
    /// [`Kernel::shared_bytes`] of shared memory, cooperative if [`Kernel::COOPERATIVE`], and with
    /// arguments whose buffers are as long as the kernel documents.
    unsafe fn run(arguments: &Self::Arguments);
}

/// What a kernel's blocks and its machine code are held to: see [`Kernel::LAUNCH`].
///
/// ```
/// use flockwork_device::kernel::{Launch, Local};
///
/// const RESIDENT: Launch = Launch {
///     threads: Some(1024),
///     blocks: Some(1),
///     local: Local { stack: 256, hot: 4 },
///     ..Launch::DEFAULT
/// };
/// assert_eq!((RESIDENT.threads, RESIDENT.requires), (Some(1024), None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The most threads of a block. The driver's compiler gives a thread as many registers as leave
    /// room for such a block; without it, it assumes the largest block there is. A launch with more
    /// threads fails.
    pub threads: Option<u32>,
    /// The fewest blocks of that size that a multiprocessor should hold at once: bounds registers
    /// further. Only beside `threads`.
    pub blocks: Option<u32>,
    /// What its instructions need, if that is more than the target of all kernels.
    pub requires: Option<Requires>,
    /// Whether the address of the block's shared memory is read once and kept: for a kernel that
    /// accesses shared memory all the time and in many places. Since sm_90 the address depends on the
    /// block's rank in its cluster, and the assembler would read it anew at each access, from a
    /// special register that is slow.
    pub keeps_shared_base: bool,
    /// What it may keep in local memory.
    pub local: Local,
}

impl Launch {
    /// No bound, no requirement, and nothing in local memory.
    pub const DEFAULT: Self = Self {
        threads: None,
        blocks: None,
        requires: None,
        keeps_shared_base: false,
        local: Local::NONE,
    };
}

/// The least target of a kernel whose instructions older GPUs or drivers do not know.
///
/// ```
/// use flockwork_device::kernel::Requires;
///
/// assert_eq!((Requires::SM_90.target, Requires::SM_90.ptx), (90, (8, 0)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requires {
    /// The number in the target's name: 90 for `sm_90`.
    pub target: u32,
    /// The version of PTX.
    pub ptx: (u32, u32),
}

impl Requires {
    /// Hopper, and all of its instructions.
    pub const SM_90: Self = Self { target: 90, ptx: (8, 0) };
}

/// What a kernel may keep in local memory, which `scripts/check-ptx` holds it to on every
/// architecture. Where registers are bounded so that a multiprocessor is full, a kernel may have to
/// leave there what its inner loop does not need.
///
/// ```
/// use flockwork_device::kernel::{Launch, Local};
///
/// assert_eq!(Launch::DEFAULT.local, Local { stack: 0, hot: 0 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// The most bytes of a thread's stack.
    pub stack: u32,
    /// The most accesses where it calculates: in all straight pieces of its machine code with many
    /// multiply-adds.
    pub hot: u32,
}

impl Local {
    /// Nothing.
    pub const NONE: Self = Self { stack: 0, hot: 0 };
}

/// A kernel's name and launch, as they stand in the PTX beside its entry.
///
/// ```
/// use flockwork_device::kernel::Facts;
/// use flockwork_device::swarm::kernels::survey::SurveyTiles;
///
/// let facts = Facts::of::<SurveyTiles<f32>>();
/// assert_eq!(facts.name.to_string(), "survey_tiles_f32");
/// assert_eq!(facts.words()[..3], [12, 0, 3]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// [`Kernel::NAME`].
    pub name: Name,
    /// [`Kernel::LAUNCH`].
    pub launch: Launch,
}

impl Facts {
    /// How many words they are in the PTX.
    pub const WORDS: usize = 11;

    /// Those of a kernel.
    pub const fn of<K: Kernel>() -> Self {
        Self { name: K::NAME, launch: K::LAUNCH }
    }

    /// As they stand beside the kernel of a type that is not built in: the type's name stands for the
    /// objective function's or the model's.
    #[doc(hidden)]
    pub const fn for_type(self, objective: &'static str) -> Self {
        Self { name: Name { objective, ..self.name }, ..self }
    }

    /// As `build/ptx.rs` reads them: how long the three parts of the name are, the threads and the
    /// blocks (0 for none), the target and the version of PTX (0 for those of all kernels), whether
    /// the base of shared memory is kept, bytes and accesses of local memory.
    pub const fn words(&self) -> [u32; Self::WORDS] {
        const fn or_zero(number: Option<u32>) -> u32 {
            match number {
                Some(number) => {
                    assert!(number > 0, "no bound is 0");
                    number
                }
                None => 0,
            }
        }

        let Self { name, launch } = self;
        assert!(
            launch.threads.is_some() || launch.blocks.is_none(),
            "blocks a multiprocessor are stated beside the threads of a block"
        );
        let (target, (major, minor)) = match launch.requires {
            Some(Requires { target, ptx }) => (target, ptx),
            None => (0, (0, 0)),
        };
        [
            name.family.len() as u32,
            name.objective.len() as u32,
            name.precision.len() as u32,
            or_zero(launch.threads),
            or_zero(launch.blocks),
            target,
            major,
            minor,
            launch.keeps_shared_base as u32,
            launch.local.stack,
            launch.local.hot,
        ]
    }
}

/// The compiled GPU kernels of an objective function or a model of one's own.
///
/// In a crate that `flockwork new` wrote, or whose build script calls `flockwork-build`, the macro
/// `flockwork::kernels!` gives them, with the name of the type; functions that are built in need none.
///
/// ```
/// use flockwork_device::{kernel::Kernels, objective::{Objective, Rastrigin}};
///
/// assert!(Rastrigin::KERNELS.archives().is_err());
/// assert!(Kernels::NONE.archives().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernels {
    type_name: &'static str,
    archives: Result<&'static [(u32, &'static [u8])], &'static str>,
}

impl Kernels {
    /// None. The function runs on the CPU and in the emulator.
    pub const NONE: Self =
        Self { type_name: "", archives: Err("its type states none: see `flockwork new`") };

    /// What the macro gives: the kernels of the type of this name, for each target, or why there are none.
    #[doc(hidden)]
    pub const fn new(
        type_name: &'static str,
        archives: Result<&'static [(u32, &'static [u8])], &'static str>,
    ) -> Self {
        Self { type_name, archives }
    }

    /// The name of the type, which stands in the names of the kernels; empty if there are none.
    ///
    /// ```
    /// assert_eq!(flockwork_device::kernel::Kernels::NONE.type_name(), "");
    /// ```
    pub const fn type_name(&self) -> &'static str {
        self.type_name
    }

    /// For each target, its capability (70 for `sm_70`) and the archive of the kernels.
    ///
    /// # Errors
    /// Why there are none.
    ///
    /// ```
    /// let none = flockwork_device::kernel::Kernels::NONE.archives();
    /// assert!(none.is_err_and(|reason| reason.contains("flockwork new")));
    /// ```
    pub const fn archives(&self) -> Result<&'static [(u32, &'static [u8])], &'static str> {
        self.archives
    }
}

/// Specialization constants: words of a kernel's arguments and their values. See [`Kernel::constants`].
///
/// ```
/// use flockwork_device::kernel::Constants;
///
/// let constants = Constants::NONE.with(8, 3).with(4, 7);
/// assert_eq!(constants.at(4), Some(7));
/// assert_eq!(constants.at(0), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Constants {
    /// Where each begins, in bytes, and what it is.
    words: [(usize, u32); Self::MOST],
    count: usize,
}

impl Constants {
    /// The most words.
    pub const MOST: usize = 6;

    /// No words.
    pub const NONE: Self = Self { words: [(0, 0); Self::MOST], count: 0 };

    /// These and the 32-bit word that begins at byte `offset` of the arguments.
    ///
    /// # Panics
    /// If there are [`Constants::MOST`] already, or the offset is no multiple of 4.
    pub const fn with(mut self, offset: usize, word: u32) -> Self {
        assert!(offset.is_multiple_of(4), "words begin at multiples of 4 bytes");
        self.words[self.count] = (offset, word);
        self.count += 1;
        self
    }

    /// The word that begins at byte `offset`, if it is one of these.
    pub fn at(&self, offset: usize) -> Option<u32> {
        self.words[..self.count].iter().find(|(at, _)| *at == offset).map(|(_, word)| *word)
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The name of a kernel: its family, and what the family was specialised for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// What it does, as `swarm_step`.
    pub family: &'static str,
    /// The objective function it has inside, as `rastrigin`; empty if none.
    pub objective: &'static str,
    /// Its arithmetic, as `f32`; empty if it has none.
    pub precision: &'static str,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.family)?;
        for part in [self.objective, self.precision] {
            if !part.is_empty() {
                write!(f, "_{part}")?;
            }
        }
        Ok(())
    }
}

/// Whether two names are the same, in constants.
pub(crate) const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut equal = a.len() == b.len();
    let mut i = 0;
    while equal && i < a.len() {
        equal = a[i] == b[i];
        i += 1;
    }
    equal
}
