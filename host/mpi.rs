//! Processes that `mpirun` has started, which share the islands of a run. With the feature `mpi`, by
//! the crate of that name, which needs an MPI library (Open MPI, MPICH) and libclang to build.
//!
//! The processes meet by messages between two of them, and by a broadcast where all wait for the first.
//! MPI ends all processes when a call fails, as is its custom, so no call returns an error.
//!
//! ```no_run
//! let world = flockwork::mpi::World::join()?;
//! println!("process {} of this machine", world.local_rank());
//! # Ok::<(), flockwork::Error>(())
//! ```

use mpi::{
    Threading,
    environment::{Universe, initialize_with_threading},
    topology::{Communicator as _, SimpleCommunicator},
    traits::{Destination as _, Root as _, Source as _},
};

use crate::{
    Error, Result,
    swarm::{Exchange, Parcel},
};

/// All processes of a job.
///
/// ```no_run
/// use flockwork::{backend::Cpu, mpi::World, objective::Rastrigin};
/// use flockwork::swarm::{Islands, Problem, Search};
///
/// // In each process that `mpirun -n 4` has started.
/// let world = World::join()?;
/// let search = Search::new(Problem::new(Rastrigin, 30)?).islands(Islands::of(8));
/// let outcome = search.run_among(&Cpu::new(1)?, &world, |_| {})?;
/// if world.is_first() {
///     println!("{}", outcome.value);
/// }
/// # Ok::<(), flockwork::Error>(())
/// ```
pub struct World {
    all: SimpleCommunicator,
    local: u32,
    // Last: without it the others are no more.
    _universe: Universe,
}

impl World {
    /// Joins the other processes of the job. In the thread that runs the islands, and once.
    ///
    /// # Errors
    /// If this process has joined before.
    pub fn join() -> Result<Self> {
        let Some((universe, _)) = initialize_with_threading(Threading::Funneled) else {
            return Err(Error::Option {
                option: "MPI",
                value: "joined a second time".to_owned(),
                accepted: "joined once by a process".to_owned(),
            });
        };
        let all = universe.world();
        let local = all.split_shared(all.rank()).rank();
        Ok(Self { all, local: local as u32, _universe: universe })
    }

    /// Whether this is the first process, which writes and talks.
    ///
    /// ```no_run
    /// if flockwork::mpi::World::join()?.is_first() {
    ///     println!("only once");
    /// }
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn is_first(&self) -> bool {
        self.all.rank() == 0
    }

    /// The number of this process among those of its machine, from 0: by it they share the GPUs.
    ///
    /// ```no_run
    /// let world = flockwork::mpi::World::join()?;
    /// println!("of {} GPUs the one with the number {}", 4, world.local_rank() % 4);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn local_rank(&self) -> u32 {
        self.local
    }

    /// Ends all processes of the job at once: those that wait for this one would wait for ever.
    ///
    /// ```no_run
    /// let world = flockwork::mpi::World::join()?;
    /// if std::fs::metadata("input").is_err() {
    ///     world.abort();
    /// }
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn abort(&self) -> ! {
        self.all.abort(1)
    }
}

impl Exchange for World {
    fn rank(&self) -> u32 {
        self.all.rank() as u32
    }

    fn ranks(&self) -> u32 {
        self.all.size() as u32
    }

    fn trade(&self, sent: &[Parcel], wanted: &[(u32, u32)]) -> Result<Vec<Vec<f64>>> {
        mpi::request::scope(|scope| {
            let mut under_way = Vec::with_capacity(sent.len());
            for &Parcel { to, tag, numbers } in sent {
                let to = self.all.process_at_rank(to as i32);
                under_way.push(to.immediate_send_with_tag(scope, numbers, tag as i32));
            }
            let receive = |&(from, tag): &(u32, u32)| {
                let from = self.all.process_at_rank(from as i32);
                from.receive_vec_with_tag::<f64>(tag as i32).0
            };
            let received = wanted.iter().map(receive).collect();
            under_way.into_iter().for_each(|sending| {
                sending.wait();
            });
            Ok(received)
        })
    }

    fn broadcast(&self, mut said: Vec<f64>) -> Result<Vec<f64>> {
        let first = self.all.process_at_rank(0);
        let mut length = said.len() as u64;
        first.broadcast_into(&mut length);
        said.resize(length as usize, 0.0);
        first.broadcast_into(&mut said[..]);
        Ok(said)
    }
}
