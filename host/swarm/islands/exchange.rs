//! How processes that share the islands of a run meet.

use flockwork_device::swarm::migration;

use crate::Result;

/// The tags of what [`Exchange::gather`] and [`Exchange::broadcast`] send by themselves. All are
/// below 2^15, as MPI promises.
pub const FIRST_TAG: u32 = 1 << 14;
const GATHERED: u32 = FIRST_TAG;
const SPREAD: u32 = FIRST_TAG + 1;

/// Numbers for another process: see [`Exchange`].
///
/// ```
/// use flockwork::swarm::Parcel;
///
/// let parcel = Parcel { to: 3, tag: 7, numbers: &[0.5, 1.0] };
/// assert_eq!(parcel.numbers.len(), 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parcel<'a> {
    /// The number of the process that gets them.
    pub to: u32,
    /// By which it knows what they are: below 2^15.
    pub tag: u32,
    /// The numbers; their bits must arrive.
    pub numbers: &'a [f64],
}

/// How processes meet that share the islands of a run: see
/// [`Search::run_among`](super::super::Search::run_among). All run the same options, each has some of the
/// islands, and all call the same methods in the same order. Here the processes are threads:
///
/// ```
/// use std::{collections::HashMap, sync::{Condvar, Mutex}, thread};
/// use flockwork::{Result, backend::Cpu, objective::Sphere};
/// use flockwork::swarm::{Exchange, Islands, Parcel, Problem, Search};
///
/// /// What is under way, by sender, receiver and tag.
/// #[derive(Default)]
/// struct Office(Mutex<HashMap<(u32, u32, u32), Vec<Vec<f64>>>>, Condvar);
///
/// struct Clerk<'a>(u32, &'a Office);
///
/// impl Exchange for Clerk<'_> {
///     fn rank(&self) -> u32 {
///         self.0
///     }
///
///     fn ranks(&self) -> u32 {
///         2
///     }
///
///     fn trade(&self, sent: &[Parcel], wanted: &[(u32, u32)]) -> Result<Vec<Vec<f64>>> {
///         let mut under_way = self.1.0.lock().unwrap();
///         for &Parcel { to, tag, numbers } in sent {
///             under_way.entry((self.0, to, tag)).or_default().push(numbers.to_vec());
///         }
///         self.1.1.notify_all();
///         let mut received = Vec::new();
///         for &(from, tag) in wanted {
///             let is_missing = |all: &mut HashMap<_, Vec<_>>| {
///                 all.get(&(from, self.0, tag)).is_none_or(Vec::is_empty)
///             };
///             under_way = self.1.1.wait_while(under_way, is_missing).unwrap();
///             received.push(under_way.get_mut(&(from, self.0, tag)).unwrap().remove(0));
///         }
///         Ok(received)
///     }
/// }
///
/// let search = Search::new(Problem::new(Sphere, 3)?.shifted(1)?).particles(40).iterations(120);
/// let search = search.islands(Islands::of(5));
/// let alone = search.clone().run()?;
/// let office = Office::default();
/// let run = |rank| search.clone().run_among(&Cpu::new(1)?, &Clerk(rank, &office), |_| {});
/// let run = &run;
/// let outcomes = thread::scope(|scope| {
///     let both = [0, 1].map(|rank| scope.spawn(move || run(rank)));
///     both.map(|thread| thread.join().unwrap())
/// });
/// for outcome in outcomes {
///     assert_eq!(outcome?.position, alone.position);
/// }
/// # Ok::<(), flockwork::Error>(())
/// ```
pub trait Exchange {
    /// The number of this process, from 0. The first one is asked when to stop, and alone calls the
    /// observer and writes the file.
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
    /// // The only process is the first.
    /// assert_eq!(Alone.rank(), 0);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    fn rank(&self) -> u32;

    /// How many there are.
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
    /// assert!(Alone.rank() < Alone.ranks());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    fn ranks(&self) -> u32;

    /// Sends to others, and receives what others send to this process, given by their rank and tag, in
    /// that order. What one process sends to another with the same tag arrives in the order in which it
    /// was sent. To send waits for nobody.
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
    /// // Nobody is there to send anything.
    /// assert!(Alone.trade(&[], &[])?.is_empty());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of what carries the messages.
    fn trade(&self, sent: &[Parcel], wanted: &[(u32, u32)]) -> Result<Vec<Vec<f64>>>;

    /// What each process says, by rank; all get all of it.
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
    /// assert_eq!(Alone.gather(vec![0.5, 2.0])?, [[0.5, 2.0]]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Exchange::trade`].
    fn gather(&self, own: Vec<f64>) -> Result<Vec<Vec<f64>>> {
        if self.rank() > 0 {
            self.trade(&[Parcel { to: 0, tag: GATHERED, numbers: &own }], &[])?;
        }
        let mut all = Vec::new();
        if self.rank() == 0 {
            let wanted: Vec<_> = (1..self.ranks()).map(|rank| (rank, GATHERED)).collect();
            let others = self.trade(&[], &wanted)?;
            for said in [own].into_iter().chain(others) {
                all.push(said.len() as f64);
                all.extend(said);
            }
        }
        let all = self.broadcast(all)?;
        let mut rest = &all[..];
        let mut by_rank = Vec::new();
        while let Some((&length, others)) = rest.split_first() {
            let (said, others) = others.split_at(length as usize);
            by_rank.push(said.to_vec());
            rest = others;
        }
        Ok(by_rank)
    }

    /// What the first process says; what the others say is ignored.
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
    /// assert_eq!(Alone.broadcast(vec![0.5])?, [0.5]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Exchange::trade`].
    fn broadcast(&self, said: Vec<f64>) -> Result<Vec<f64>> {
        if self.rank() > 0 {
            return Ok(self.trade(&[], &[(0, SPREAD)])?.swap_remove(0));
        }
        let parcel = |to| Parcel { to, tag: SPREAD, numbers: &said };
        self.trade(&(1..self.ranks()).map(parcel).collect::<Vec<_>>(), &[])?;
        Ok(said)
    }
}

/// The only process.
pub struct Alone;

impl Exchange for Alone {
    fn rank(&self) -> u32 {
        0
    }

    fn ranks(&self) -> u32 {
        1
    }

    fn trade(&self, _: &[Parcel], _: &[(u32, u32)]) -> Result<Vec<Vec<f64>>> {
        Ok(Vec::new())
    }

    fn gather(&self, own: Vec<f64>) -> Result<Vec<Vec<f64>>> {
        Ok(vec![own])
    }
}

/// The islands of a process: neighbours.
pub fn dealt(rank: u32, ranks: u32, islands: u32) -> std::ops::Range<u32> {
    migration::start(rank, ranks, islands)..migration::start(rank + 1, ranks, islands)
}

/// The process that has an island.
pub fn owner(island: u32, ranks: u32, islands: u32) -> u32 {
    (((u64::from(island) + 1) * u64::from(ranks) - 1) / u64::from(islands)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_island_has_one_process_that_knows_it() {
        for (islands, ranks) in [(1, 1), (8, 1), (8, 2), (8, 3), (8, 8), (1000, 7), (7, 5)] {
            let mut seen = 0;
            for rank in 0..ranks {
                for island in dealt(rank, ranks, islands) {
                    assert_eq!((island, owner(island, ranks, islands)), (seen, rank));
                    seen += 1;
                }
            }
            assert_eq!(seen, islands);
        }
    }
}
