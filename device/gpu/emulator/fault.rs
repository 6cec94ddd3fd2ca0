//! What can be wrong with a launch, as sentences.

use core::{error::Error, fmt, panic::Location};
use std::string::String;

use crate::gpu::warp;

/// A place in the source of a kernel.
pub(super) type Site = &'static Location<'static>;

/// A thread of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Index of its block in the grid.
    pub block: u32,
    /// Its index in the block.
    pub thread: u32,
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (warp, lane) = (self.thread / warp::LANES, self.thread % warp::LANES);
        write!(f, "block {}, thread {} (warp {warp}, lane {lane})", self.block, self.thread)
    }
}

/// One thread's load or store, for the report of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Who.
    pub thread: Thread,
    /// Whether it was a store (or an atomic read-modify-write).
    pub store: bool,
    /// Where in the source.
    pub site: Site,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.store { "stored" } else { "loaded" };
        write!(f, "{} {verb} it at {}", self.thread, self.site)
    }
}

/// A thread that waits in a collective word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Who.
    pub thread: Thread,
    /// The word, as `block::barrier`.
    pub word: &'static str,
    /// Where in the source.
    pub site: Site,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} waits in `{}` at {}", self.thread, self.word, self.site)
    }
}

/// Why a launch could not be run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The launch itself is impossible.
    Launch {
        /// What is wrong and what is accepted.
        reason: String,
    },
    /// A thread panicked: an index past the end of a buffer, an overflow, an assertion.
    Panic {
        /// Who.
        thread: Thread,
        /// The place in the source and the panic's message.
        message: String,
    },
    /// An access behind the end of the launch's shared memory.
    SharedBounds {
        /// Who, and where.
        access: Access,
        /// Its first byte.
        offset: u32,
        /// Its length in bytes.
        length: u32,
        /// What the launch has.
        available: u32,
    },
    /// A load of shared memory that no thread of the block has stored.
    SharedUninitialised {
        /// Who, and where.
        access: Access,
        /// First byte of the word.
        offset: u32,
    },
    /// Two threads of a block accessed one word of shared memory, one of them with a store, with
    /// nothing that orders the two accesses.
    SharedRace {
        /// The earlier access, in the order of this run.
        first: Access,
        /// The later.
        second: Access,
        /// First byte of the word.
        offset: u32,
    },
    /// Two threads accessed one word of device memory, one of them with a store and one of them
    /// not atomically, and nothing can have ordered the two accesses.
    GlobalRace {
        /// The earlier access, in the order of this run.
        first: Access,
        /// The later.
        second: Access,
    },
    /// A thread loaded through a read-only buffer what this launch had stored.
    ReadOnlyChanged {
        /// The store.
        first: Access,
        /// The load.
        second: Access,
    },
    /// A thread returned while others wait for it.
    Left {
        /// Who returned.
        gone: Thread,
        /// One of those who wait.
        waiting: Waiting,
    },
    /// Threads that must meet in one collective word came to different ones.
    Diverged {
        /// The first to wait.
        first: Waiting,
        /// The one who came elsewhere.
        second: Waiting,
    },
    /// Threads wait, and none can run.
    Deadlock {
        /// One of those who wait.
        thread: Thread,
    },
    /// Threads run, but nothing changes any more.
    Livelock {
        /// One of those who run.
        thread: Thread,
        /// Where it spins, if it says so.
        site: Option<Site>,
        /// For how many switches nothing has changed.
        steps: u64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Launch { reason } => write!(f, "the launch is impossible: {reason}"),
            Self::Panic { thread, message } => write!(f, "{thread} panicked at {message}"),
            Self::SharedBounds { access, offset, length, available } => write!(
                f,
                "bytes {offset}..{} of shared memory were accessed, but the launch has {available} \
                 ({access}); `Kernel::shared_bytes` must cover every array",
                u64::from(*offset) + u64::from(*length),
            ),
            Self::SharedUninitialised { access, offset } => write!(
                f,
                "shared memory at byte {offset} was read before any thread of the block had \
                 stored it ({access}); it holds nothing at the start of a block"
            ),
            Self::SharedRace { first, second, offset } => {
                let between =
                    if first.thread.thread / warp::LANES == second.thread.thread / warp::LANES {
                        "`warp::sync` or `block::barrier` (a shuffle or ballot orders no memory)"
                    } else {
                        "`block::barrier`"
                    };
                write!(
                    f,
                    "race in shared memory at byte {offset}: {first}, then {second}, with no \
                     barrier between; they need a {between} between them"
                )
            }
            Self::GlobalRace { first, second } => write!(
                f,
                "race in device memory on one word: {first}, then {second}, and nothing orders \
                 the two; they need a barrier or a release and an acquire between them, or both \
                 must be atomic"
            ),
            Self::ReadOnlyChanged { first, second } => write!(
                f,
                "a read-only buffer was changed during the launch: {first}, then {second}; pass \
                 memory that the kernel stores to as `ReadWrite` only"
            ),
            Self::Left { gone, waiting } => write!(
                f,
                "{gone} returned while {waiting}, which needs every thread of its {}; no thread \
                 may return before its last collective word",
                group(waiting.word)
            ),
            Self::Diverged { first, second } => write!(
                f,
                "threads that must meet went apart: {first}, but {second}; collective words must \
                 stand where all threads of the {} pass, outside divergent branches",
                group(second.word)
            ),
            Self::Deadlock { thread } => write!(
                f,
                "deadlock: {thread} and all others wait, and nobody can run; each collective word \
                 must be reached by all of its threads"
            ),
            Self::Livelock { thread, site, steps } => {
                write!(f, "livelock: {thread} spins")?;
                if let Some(site) = site {
                    write!(f, " at {site}")?;
                }
                write!(
                    f,
                    ", and for {steps} switches no thread has stored anything or passed a \
                     barrier; what it waits for never comes (blocks that wait for each other need \
                     a cooperative launch)"
                )
            }
        }
    }
}

/// Whom the collective word `word` gathers.
fn group(word: &str) -> &'static str {
    if word.starts_with("block") { "block" } else { "warp" }
}

impl Error for Fault {}
