//! The CPU: tiles of 64 particles in SIMD lanes, tiles across threads.
//!
//! Moves, evaluations and personal bests are the device crate's code, compiled three times: for
//! AVX-512, for AVX2, and for the baseline of the architecture. The best is chosen at run time; all
//! three give the same bits.
//!
//! | file | holds |
//! |---|---|
//! | `evaluator` | an objective function or closure over tiles |
//! | `flock` | a tile's particles among the others, as the rules see them |
//! | `tiles` | the arrays of a swarm, split for the threads |
//! | `personal_bests` | the update of a tile's personal bests, and the best of them |
//! | `swarm` | the iteration |
//! | `lanes` | many searches side by side, a thread each |
//! | `asynchronous` | many iterations of threads that do not wait for each other |

mod asynchronous;
mod evaluator;
mod flock;
mod lanes;
mod personal_bests;
mod simd;
mod swarm;
mod tiles;

use std::sync::Arc;

pub use evaluator::{Evaluator, Judged, OnLanes};
pub(super) use lanes::CpuLanes;
pub use simd::Simd;
pub(crate) use simd::{baseline_lanes, dispatched, narrow};
pub use swarm::CpuSwarm;

use super::{
    Backend, Function, Lanes, Number, Plan, SearchSchedule, Swarm, check_function, number::in_each,
};
use crate::{Error, Result};

/// More threads than any machine has cores; this many can be started in a moment.
const MOST_THREADS: usize = 1024;

/// Stack of each thread. Compiled without optimisation, a move of a tile keeps every intermediate
/// row on the stack and takes 3 MB; the default is 2 MiB.
const STACK_BYTES: usize = 16 << 20;

/// Coordinates and terms below which one thread does the work: waking others would take longer.
const WORTH_SHARING: usize = 32 * 1024;

/// Runs `work` on the pool's threads if sharing pays, otherwise on the calling thread. Without
/// optimisation it is always the pool: only its threads are known to have a large enough stack.
fn on_threads<R: Send>(
    pool: &rayon::ThreadPool,
    shared: bool,
    work: impl FnOnce() -> R + Send,
) -> R {
    // Not decided by this crate's optimisation level: generic code is compiled with that of the
    // crate that uses it.
    if shared || cfg!(debug_assertions) { pool.install(work) } else { work() }
}

/// The CPU as a back end. The number of threads and the vector instructions change the speed but
/// not a bit of the result.
///
/// ```
/// use flockwork::{backend::{Backend, Cpu, Simd}, objective::Levy, swarm::{Problem, Search}};
///
/// let search = Search::new(Problem::new(Levy, 4)?).particles(64).iterations(50);
/// let one = Cpu::with_simd(1, Simd::Baseline)?;
/// println!("{}", one.description());
/// let slow = search.clone().run_on(&one, |_| {})?;
/// let fast = search.run_on(&Cpu::new(0)?, |_| {})?;
/// assert_eq!(slow.position, fast.position);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cpu {
    pool: Arc<rayon::ThreadPool>,
    simd: Simd,
}

impl Cpu {
    /// Creates a back end with this many threads, 0 for one per core.
    pub fn new(threads: usize) -> Result<Self> {
        Self::with_simd(threads, Simd::detect())
    }

    /// With given vector instructions; an error if this processor or this build lacks them.
    pub fn with_simd(threads: usize, simd: Simd) -> Result<Self> {
        if simd > Simd::detect() {
            return Err(Error::Option {
                option: "simd",
                value: simd.to_string(),
                accepted: format!("what this processor and this build have: {}", Simd::detect()),
            });
        }
        if threads > MOST_THREADS {
            return Err(Error::Option {
                option: "threads",
                value: threads.to_string(),
                accepted: format!("at most {MOST_THREADS}, or 0 for one per core"),
            });
        }
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK_BYTES).build();
        let pool = pool.map_err(|why| Error::Option {
            option: "threads",
            value: threads.to_string(),
            accepted: format!("a number of threads that the system can start ({why})"),
        })?;
        Ok(Self { pool: Arc::new(pool), simd })
    }

    /// The thread pool.
    pub(crate) fn pool(&self) -> &rayon::ThreadPool {
        &self.pool
    }

    /// The vector instructions in use, which the processor has.
    pub(crate) fn simd(&self) -> Simd {
        self.simd
    }

    /// Runs `work` so that its parallel parts run on this back end's threads.
    pub(crate) fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
    }

    /// A swarm whose points are evaluated by the caller: see [`CpuSwarm::propose`].
    pub(crate) fn headless<T: Number>(&self, plan: Plan<T>) -> Result<CpuSwarm<T>> {
        CpuSwarm::new(Arc::clone(&self.pool), self.simd, None, plan)
    }
}

in_each! {
    MakeSwarm<'a, T>: fn(
        cpu: &'a Cpu,
        function: &'a dyn Function,
        plan: Plan<T>,
    ) -> Result<Box<dyn Swarm<T>>> = swarm
}

/// As [`Backend::swarm`].
fn swarm<T: Number>(
    cpu: &Cpu,
    function: &dyn Function,
    plan: Plan<T>,
) -> Result<Box<dyn Swarm<T>>> {
    check_function(&plan, function)?;
    let evaluator = T::of_function(function).evaluator(cpu.simd);
    let swarm = CpuSwarm::new(Arc::clone(&cpu.pool), cpu.simd, Some(evaluator), plan)?;
    Ok(Box::new(swarm))
}

impl Backend for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn description(&self) -> String {
        let threads = self.pool.current_num_threads();
        let plural = if threads == 1 { "" } else { "s" };
        format!("{threads} thread{plural}, {}", self.simd)
    }

    fn swarm<T: Number>(
        &self,
        function: &dyn Function,
        plan: Plan<T>,
    ) -> Result<Box<dyn Swarm<T>>> {
        T::in_each::<MakeSwarm>((self, function, plan))
    }

    fn lanes(
        &self,
        function: &dyn Function,
        plan: Plan<f64>,
        schedule: SearchSchedule,
    ) -> Result<Box<dyn Lanes>> {
        Ok(Box::new(CpuLanes::new(self.clone(), function, plan, schedule)?))
    }

    fn cpu(&self) -> Result<Cpu> {
        Ok(self.clone())
    }
}
