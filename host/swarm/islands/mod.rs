//! Islands: swarms that search by themselves and now and then exchange their best.
//!
//! | file | holds |
//! |---|---|
//! | `mod` | how many, how often and along which graph |
//! | `exchange` | how processes that share the islands of a run meet |
//! | `run` | the loop: advance, migrate, look, report, stop |
//!
//! What migrates depends on numbers of islands and iterations alone. So the result is the same however
//! the islands are dealt out to GPUs and processes.

mod exchange;
mod run;

use flockwork_device::random::{Draw, Purpose, philox};
use serde::{Deserialize, Serialize};

pub use self::exchange::{Exchange, Parcel};
pub(in crate::swarm) use self::{
    exchange::Alone,
    run::{Course, State, run},
};
use super::Options;
use crate::{Error, Result, names::named};

named! {
    /// Along which graph particles migrate: from which islands an island hears.
    ///
    /// ```
    /// use flockwork::swarm::{Islands, Migration};
    ///
    /// let ring = Islands { migration: Migration::Ring, ..Islands::of(8) };
    /// assert_eq!(ring.sources(1, 50, 0), [7]);
    /// ```
    #[derive(Default)]
    pub enum Migration("migration") {
        /// From the island before.
        Ring = "ring",
        /// From the four neighbours on a grid that is as square as their number permits and wraps
        /// around at its sides; each once.
        Torus = "torus",
        /// From all others.
        All = "all",
        /// From two others, drawn anew for each migration from the run's seed. What one island finds
        /// is everywhere after about log2 of their number, and an island waits for two.
        #[default]
        Random = "random",
    }
}

/// Several swarms in place of one. Each has a seed of its own, derived from the run's and the island's
/// number; island 0 has the run's own. After every so many iterations each sends its best along a
/// graph: it is cut into as many parts of consecutive particles as it sends migrants, and each part
/// sends its best personal best. They arrive after as many iterations more, so that nobody waits for
/// them, and replace the worst of as many parts, where they are better; then the next ones leave.
///
/// [`Options::particles`](super::Options) is the number of each island, and so are iterations.
/// Evaluations are counted over all. Start points are those of island 0.
///
/// ```
/// use flockwork::{objective::Rastrigin, swarm::{Islands, Problem, Search}};
///
/// let problem = Problem::new(Rastrigin, 5)?.shifted(1)?;
/// let search = Search::new(problem).particles(64).iterations(600).islands(Islands::of(4));
/// let outcome = search.run()?;
/// assert!(outcome.value < 1e-3 && outcome.island.is_some_and(|island| island < 4));
/// assert_eq!(outcome.evaluations, 4 * 64 * 601);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Islands {
    /// How many: 1 to [`Islands::MOST`].
    pub count: u32,
    /// Migrants leave after each iteration that is a multiple of this, and arrive after the next one.
    pub every: u32,
    /// How many particles each sends.
    pub migrants: u32,
    /// Along which graph.
    pub migration: Migration,
}

impl Default for Islands {
    /// One island; see [`Islands::of`].
    fn default() -> Self {
        Self { count: 1, every: 50, migrants: 4, migration: Migration::default() }
    }
}

impl Islands {
    /// The most islands of a run.
    pub const MOST: u32 = 1 << 13;

    /// So many islands that send four migrants to two random others every 50 iterations.
    ///
    /// ```
    /// use flockwork::swarm::{Islands, Migration};
    ///
    /// let Islands { count, every, migrants, migration } = Islands::of(8);
    /// assert_eq!((count, every, migrants, migration), (8, 50, 4, Migration::Random));
    /// ```
    pub fn of(count: u32) -> Self {
        Self { count, ..Self::default() }
    }

    /// The islands from which one hears after an iteration of a run with this seed: other ones, each
    /// once, in the order in which their migrants arrive.
    ///
    /// ```
    /// use flockwork::swarm::{Islands, Migration};
    ///
    /// let torus = Islands { migration: Migration::Torus, ..Islands::of(12) };
    /// // Four rows of three: above, below, left, right.
    /// assert_eq!(torus.sources(1, 50, 4), [1, 7, 3, 5]);
    /// let random = Islands::of(100);
    /// assert_eq!(random.sources(1, 50, 4), random.sources(1, 50, 4));
    /// assert_ne!(random.sources(1, 50, 4), random.sources(1, 100, 4));
    /// ```
    pub fn sources(&self, seed: u64, iteration: u32, island: u32) -> Vec<u32> {
        let count = self.count;
        match self.migration {
            _ if count < 2 => Vec::new(),
            Migration::Ring => vec![(island + count - 1) % count],
            Migration::Torus => {
                let width = (1..=count.isqrt()).rev().find(|&width| count.is_multiple_of(width));
                let width = width.unwrap_or(1);
                let height = count / width;
                let (row, column) = (island / width, island % width);
                let neighbours = [
                    (row + height - 1) % height * width + column,
                    (row + 1) % height * width + column,
                    row * width + (column + width - 1) % width,
                    row * width + (column + 1) % width,
                ];
                let mut sources = Vec::with_capacity(4);
                for neighbour in neighbours {
                    if neighbour != island && !sources.contains(&neighbour) {
                        sources.push(neighbour);
                    }
                }
                sources
            }
            Migration::All => (0..count).filter(|&other| other != island).collect(),
            Migration::Random => {
                let (key, purpose) = (philox::key(seed), Purpose::Migration);
                let draw = Draw { key, iteration, particle: island, group: 0, purpose, nth: 0 };
                let [first, second, ..] = draw.block();
                let below = |word: u32, n: u32| ((u64::from(word) * u64::from(n)) >> 32) as u32;
                // How far ahead they are: 1 to count - 1, and another of these.
                let one = 1 + below(first, count - 1);
                if count == 2 {
                    return vec![(island + one) % count];
                }
                let other = 1 + below(second, count - 2);
                let other = if other >= one { other + 1 } else { other };
                [one, other].map(|ahead| (island + ahead) % count).to_vec()
            }
        }
    }

    /// The most islands from which one hears at once.
    fn most_sources(&self) -> u32 {
        match self.migration {
            Migration::All => self.count.saturating_sub(1),
            _ => (0..self.count.min(1)).map(|i| self.sources(0, 0, i).len() as u32).sum(),
        }
    }

    /// Checks the numbers, for islands of so many particles.
    pub(super) fn check(&self, particles: u32) -> Result<()> {
        let wrong = |option, value: u32, accepted: String| {
            Err(Error::Option { option, value: value.to_string(), accepted })
        };
        if !(1..=Self::MOST).contains(&self.count) {
            return wrong("islands", self.count, format!("1 to {}", Self::MOST));
        }
        if self.every == 0 {
            return wrong("migrate_every", 0, "at least 1".to_owned());
        }
        let sources = self.most_sources().max(1);
        let most = particles / sources;
        if self.migrants == 0 || self.migrants > most {
            if most == 0 {
                let accepted = format!(
                    "at least {sources}, a particle for each of the islands that an island hears from"
                );
                return wrong("particles", particles, accepted);
            }
            let accepted = format!(
                "1 to {most}, so that what arrives from {sources} of the islands has room among \
                 {particles} particles"
            );
            return wrong("migrants", self.migrants, accepted);
        }
        if self.count.checked_mul(particles).is_none() {
            let accepted =
                format!("at most {} for islands of {particles} particles", u32::MAX / particles);
            return wrong("islands", self.count, accepted);
        }
        Ok(())
    }
}

/// Refuses options of a run that has nothing for several processes to share.
pub(in crate::swarm) fn check_shared(options: &Options) -> Result<()> {
    if options.islands.is_some() {
        return Ok(());
    }
    let (value, accepted) = ("left out".to_owned(), "given where processes share a run".to_owned());
    Err(Error::Option { option: "islands", value, accepted })
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: [u32; 9] = [1, 2, 3, 4, 7, 8, 12, 64, 1000];

    fn of(count: u32, migration: Migration) -> Islands {
        Islands { migration, ..Islands::of(count) }
    }

    /// Coordinates on a grid, by dictionary.
    fn torus_neighbours(count: u32, island: u32) -> Vec<u32> {
        let divides = |width: &u32| count.is_multiple_of(*width) && width * width <= count;
        let width = (1..=count).filter(divides).max().unwrap() as i64;
        let height = i64::from(count) / width;
        let at = |row: i64, column: i64| {
            let (row, column) = (row.rem_euclid(height), column.rem_euclid(width));
            (row * width + column) as u32
        };
        let (row, column) = (i64::from(island) / width, i64::from(island) % width);
        let all =
            [at(row - 1, column), at(row + 1, column), at(row, column - 1), at(row, column + 1)];
        let mut found = Vec::new();
        for one in all {
            if one != island && !found.contains(&one) {
                found.push(one);
            }
        }
        found
    }

    #[test]
    fn graphs_are_what_they_are_called() {
        for count in COUNTS {
            for island in 0..count {
                let of = |migration| of(count, migration).sources(1, 50, island);
                let before = if island == 0 { count - 1 } else { island - 1 };
                let ring = if count == 1 { vec![] } else { vec![before] };
                assert_eq!(of(Migration::Ring), ring, "{count} {island}");
                let others: Vec<u32> = (0..island).chain(island + 1..count).collect();
                assert_eq!(of(Migration::All), others, "{count} {island}");
                assert_eq!(of(Migration::Torus), torus_neighbours(count, island));
                let random = of(Migration::Random);
                assert_eq!(random.len() as u32, 2.min(count - 1));
                assert!(random.iter().all(|&other| other < count && other != island));
                assert!(random.len() < 2 || random[0] != random[1]);
            }
        }
    }

    #[test]
    fn random_sources_are_drawn_evenly_and_anew() {
        let islands = of(5, Migration::Random);
        let mut drawn = [[0; 5]; 5];
        for iteration in 0..4000 {
            for island in 0..5 {
                for source in islands.sources(3, iteration, island) {
                    drawn[island as usize][source as usize] += 1;
                }
            }
        }
        for (island, drawn) in drawn.iter().enumerate() {
            for (source, &times) in drawn.iter().enumerate() {
                // Each of the four others in half of the migrations, but for six deviations of 32.
                let expected = if source == island { 0..1 } else { 1800..2200 };
                assert!(expected.contains(&times), "{island} heard {times} times from {source}");
            }
        }
        assert_ne!(islands.sources(3, 50, 0), islands.sources(4, 50, 0));
    }

    #[test]
    fn no_island_hears_from_more_than_what_has_room() {
        for count in COUNTS {
            for &migration in Migration::ALL {
                let islands = of(count, migration);
                let most = (0..count).map(|island| islands.sources(7, 50, island).len()).max();
                assert_eq!(most, Some(islands.most_sources() as usize), "{count} {migration}");
            }
        }
    }
}
