//! The processes that `mpirun` has started, if they share a run of islands. The first one writes and
//! talks; an error of any ends all, which would otherwise wait for ever.

use std::path::Path;
#[cfg(feature = "mpi")]
use std::{
    path::PathBuf,
    process::exit,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::bail;
use flockwork::{
    backend::AnyBackend,
    swarm::{Checkpoint, Outcome, Problem, Progress, Saved, Search},
};
#[cfg(feature = "mpi")]
use flockwork::{mpi::World, swarm::Exchange as _};

/// Variables in which launchers tell how many processes they have started.
const SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"];

/// Whether a launcher says that this process is one of several.
fn is_launched() -> bool {
    let several = |name| std::env::var(name).ok()?.parse::<u32>().ok().filter(|&size| size > 1);
    SIZES.into_iter().find_map(several).is_some()
}

/// This process, alone or one of several.
pub struct Job {
    #[cfg(feature = "mpi")]
    world: Option<World>,
    /// Whether all have come to the end of the run.
    #[cfg(feature = "mpi")]
    is_over: Arc<AtomicBool>,
}

#[cfg(not(feature = "mpi"))]
impl Job {
    /// This process alone. An error if it is one of several that would all run the same islands.
    pub fn join(has_islands: bool) -> anyhow::Result<Self> {
        if has_islands && is_launched() {
            bail!(
                "a launcher has started several processes, and this build cannot share islands among \
                 them: build it with the feature `mpi`, or start one process"
            );
        }
        Ok(Self {})
    }

    /// Whether this process writes and talks.
    pub fn is_first(&self) -> bool {
        true
    }

    /// Its number among those of this machine.
    pub fn local_rank(&self) -> Option<u32> {
        None
    }

    /// Runs a search.
    pub fn run(
        &self,
        search: Search,
        backend: &AnyBackend,
        observe: impl FnMut(&Progress) -> std::ops::ControlFlow<()>,
    ) -> flockwork::Result<Outcome> {
        search.run_on(backend, observe)
    }

    /// Resumes a run.
    pub fn resume(
        &self,
        file: &Checkpoint,
        problem: &Problem,
        backend: &AnyBackend,
        saved: Option<Saved>,
        observe: impl FnMut(&Progress) -> std::ops::ControlFlow<()>,
    ) -> flockwork::Result<Outcome> {
        file.resume(problem, backend, saved, observe)
    }

    /// Nothing: nobody else is waited for.
    pub fn watch(&self, _: Option<&Path>) {}

    /// Passes on how the run has ended.
    pub fn ended(&self, done: anyhow::Result<()>, _: Option<&Path>) -> anyhow::Result<()> {
        done
    }
}

#[cfg(feature = "mpi")]
impl Job {
    /// Joins the others, if there are any and there are islands to share.
    pub fn join(has_islands: bool) -> anyhow::Result<Self> {
        // PMIx does not tell how many there are.
        let may_be_several = is_launched() || std::env::var_os("PMIX_RANK").is_some();
        let world = if has_islands && may_be_several { Some(World::join()?) } else { None };
        if let Some(world) = &world
            && world.ranks() == 1
            && is_launched()
        {
            bail!(
                "a launcher has started several processes, but MPI knows of one: start them with the \
                 launcher of the MPI library that this program was built with"
            );
        }
        Ok(Self { world, is_over: Arc::default() })
    }

    /// Whether this process writes and talks.
    pub fn is_first(&self) -> bool {
        self.world.as_ref().is_none_or(World::is_first)
    }

    /// Its number among those of this machine.
    pub fn local_rank(&self) -> Option<u32> {
        self.world.as_ref().map(World::local_rank)
    }

    /// Runs a search, with the others if there are any.
    pub fn run(
        &self,
        search: Search,
        backend: &AnyBackend,
        observe: impl FnMut(&Progress) -> std::ops::ControlFlow<()>,
    ) -> flockwork::Result<Outcome> {
        let outcome = match &self.world {
            None => search.run_on(backend, observe),
            Some(world) => search.run_among(backend, world, observe),
        };
        self.is_over.store(outcome.is_ok(), Ordering::Relaxed);
        outcome
    }

    /// Resumes a run, with the others if there are any.
    pub fn resume(
        &self,
        file: &Checkpoint,
        problem: &Problem,
        backend: &AnyBackend,
        saved: Option<Saved>,
        observe: impl FnMut(&Progress) -> std::ops::ControlFlow<()>,
    ) -> flockwork::Result<Outcome> {
        let outcome = match &self.world {
            None => file.resume(problem, backend, saved, observe),
            Some(world) => file.resume_among(problem, backend, world, saved, observe),
        };
        self.is_over.store(outcome.is_ok(), Ordering::Relaxed);
        outcome
    }

    /// Passes on how the run has ended, or ends all processes if the others wait for this one. `file` is
    /// where the run is saved.
    pub fn ended(&self, done: anyhow::Result<()>, file: Option<&Path>) -> anyhow::Result<()> {
        let (Err(error), Some(world)) = (&done, &self.world) else { return done };
        if self.is_over.load(Ordering::Relaxed) {
            return done;
        }
        if !world.is_first() {
            // Of an error that all have, the first speaks, and the launcher ends the others.
            let began = Instant::now();
            while began.elapsed() < AFTER_THE_FIRST {
                if super::interrupt::asked() {
                    exit(1);
                }
                thread::sleep(OFTEN);
            }
        }
        eprintln!(
            "error: process {} of {}: {}; {}",
            world.rank(),
            world.ranks(),
            super::sentence(error),
            kept(file)
        );
        // Launchers pass on what was said, unless the process ends at once.
        thread::sleep(IN_ORDER);
        world.abort();
    }

    /// Says what is saved if a signal asks this process to stop while it waits for one that is no more:
    /// then the launcher ends it soon.
    pub fn watch(&self, file: Option<&Path>) {
        if self.world.as_ref().is_none_or(|world| !world.is_first()) {
            return;
        }
        let (file, is_over) = (file.map(Path::to_owned), Arc::clone(&self.is_over));
        thread::spawn(move || speak_up(file, &is_over));
    }
}

/// How long a process with an error waits for the first to speak of it.
#[cfg(feature = "mpi")]
const AFTER_THE_FIRST: Duration = Duration::from_secs(3);

/// How often a process looks for signals.
#[cfg(feature = "mpi")]
const OFTEN: Duration = Duration::from_millis(20);

/// How long a process that was asked to stop may take to do so in order.
#[cfg(feature = "mpi")]
const IN_ORDER: Duration = Duration::from_millis(400);

#[cfg(feature = "mpi")]
fn speak_up(file: Option<PathBuf>, is_over: &AtomicBool) {
    while !super::interrupt::asked() {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        thread::sleep(OFTEN);
    }
    thread::sleep(IN_ORDER);
    if !is_over.load(Ordering::Relaxed) {
        eprintln!(
            "asked to stop, and still waiting for other processes: if one is gone, the launcher ends \
             this one too; {}",
            kept(file.as_deref())
        );
    }
}

/// What is left of a run that is saved in a file.
#[cfg(feature = "mpi")]
fn kept(file: Option<&Path>) -> String {
    let Some(file) = file else { return "nothing was saved: --save was not given".to_owned() };
    match Checkpoint::read(file) {
        Ok(saved) => {
            let (file, iterations) = (file.display(), saved.iterations());
            format!(
                "the islands are saved as of iteration {iterations}; go on with: flockwork resume {file}"
            )
        }
        Err(_) => format!("nothing was saved yet in {}", file.display()),
    }
}
