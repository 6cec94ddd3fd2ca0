//! Several threads for a particle: who does what, and where it lies.
//!
//! Particles that lie side by side are a *chunk*, and the threads that work for one are a *team*: one thread for
//! each of its particles and each *part*. A thread moves its particle in every so many-th group of four dimensions
//! (a draw of random numbers serves as many) or run of terms, and makes every so many-th of the function's terms or
//! those of its coordinates. 32 particles and some parts make it the layout that Hošala's thesis calls MOD (the lanes of
//! a warp are particles, and warps share the dimensions); one particle makes it a warp or a block per particle.
//!
//! Terms go through shared memory ([`Sheet`]), where each run of the sum's defined order
//! ([`objective::sum`](crate::objective::sum)) is made by one thread, and what the runs make is put together by
//! every thread for itself: the same operations in the same order as one thread would do them, so the same bits.
//!
//! Where a chunk has fewer particles than lanes are served at once, rows are skewed by one in four: groups that
//! lanes beside each other work for lie in different banks.

use crate::{
    gpu::{thread, warp},
    objective::sum::{LEFT_TO_RIGHT, RUNS_AT_ONCE, run_length},
};

/// Dimensions that a draw of random numbers, or two, serves, and that a step takes at a time.
pub const GROUP: u32 = 4;

/// The threads that work for a chunk of particles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Team {
    /// Particles of a chunk: a power of two up to 32.
    pub particles: u32,
    /// Threads for each of them.
    pub parts: u32,
}

impl Team {
    /// A thread for each particle, a warp for a chunk.
    pub const ALONE: Self = Self { particles: warp::LANES, parts: 1 };

    /// Threads of a team.
    #[inline(always)]
    pub const fn threads(self) -> u32 {
        self.particles * self.parts
    }

    /// The row of a dimension.
    #[inline(always)]
    pub const fn row(self, dimension: u32) -> u32 {
        dimension + if self.is_skewed() { dimension / GROUP } else { 0 }
    }

    /// Whether rows are skewed.
    #[inline(always)]
    const fn is_skewed(self) -> bool {
        // Half a warp is served at once where numbers are loaded two by two.
        self.particles < warp::LANES / 2
    }

    /// Rows of so many dimensions.
    #[inline(always)]
    const fn rows(self, dims: u32) -> u32 {
        self.row(dims.next_multiple_of(4))
    }

    /// Numbers from one row of positions and velocities to the next.
    #[inline(always)]
    pub const fn motion_row(self) -> u32 {
        2 * self.particles
    }

    /// Numbers from one row of personal bests to the next.
    #[inline(always)]
    pub const fn personal_best_row(self) -> u32 {
        self.particles
    }

    /// Where the personal bests begin: behind positions and velocities.
    #[inline(always)]
    pub const fn personal_bests(self, dims: u32) -> u32 {
        self.rows(dims) * self.motion_row()
    }

    /// Where the personal best fitness lies.
    #[inline(always)]
    pub const fn fitness(self, dims: u32) -> u32 {
        self.personal_bests(dims) + self.rows(dims) * self.personal_best_row()
    }

    /// Numbers that a chunk takes in `dims` dimensions.
    #[inline(always)]
    pub const fn chunk_numbers(self, dims: u32) -> u32 {
        // Pairs are loaded as such.
        (self.fitness(dims) + self.particles).next_multiple_of(2)
    }
}

/// Where the terms of a team's chunk lie, and what their runs make: in words, each word of all of them before
/// the next word.
///
/// Where terms come one by one with the coordinates, in several runs and in no fewer than there are parts, and whole
/// runs of rows suit the banks ([`Sheet::new`]), a thread goes through whole runs, and no term need lie anywhere.
#[derive(Clone, Copy, Debug)]
pub struct Sheet {
    /// Particles of the chunk.
    particles: u32,
    /// Terms of each.
    terms: u32,
    /// Terms of a run.
    run: u32,
    /// 2^32 over that, rounded up: a GPU takes some fifteen instructions for a quotient and one for a product.
    by_run: u32,
    /// Whether a thread goes through whole runs.
    whole_runs: bool,
}

impl Sheet {
    /// For so many terms of each particle, 2^16 at most, which come one by one with the coordinates or do not.
    #[inline(always)]
    pub const fn new(team: Team, terms: u32, one_by_one: bool) -> Self {
        let run = run_length(terms);
        let are_enough = terms > LEFT_TO_RIGHT && terms.div_ceil(run) >= team.parts;
        // Rows are skewed for groups: lanes beside each other would meet in a bank.
        let in_banks = run == GROUP || !team.is_skewed();
        let whole_runs = one_by_one && are_enough && in_banks;
        Self { particles: team.particles, terms, run, by_run: u32::MAX / run + 1, whole_runs }
    }

    /// Whether a thread goes through whole runs: terms have no places then.
    #[inline(always)]
    pub const fn has_whole_runs(self) -> bool {
        self.whole_runs
    }

    /// Dimensions that a thread goes through at a time: a multiple of 4.
    #[inline(always)]
    pub const fn piece(self) -> u32 {
        if self.whole_runs { self.run } else { GROUP }
    }

    /// Runs of terms of a particle: one at least.
    #[inline(always)]
    pub const fn runs(self) -> u32 {
        let runs = self.terms.div_ceil(self.run);
        if runs == 0 { 1 } else { runs }
    }

    /// Places for what runs make: as [`of_runs`](crate::objective::sum::of_runs) asks for them.
    #[inline(always)]
    pub const fn places_of_runs(self) -> u32 {
        self.runs().next_multiple_of(RUNS_AT_ONCE)
    }

    /// Rows of terms.
    #[inline(always)]
    const fn rows_of_terms(self) -> u32 {
        if self.whole_runs { 0 } else { self.terms + self.runs() }
    }

    /// The terms of a run: from the first on, and behind the last; none if there is no such run.
    #[inline(always)]
    pub const fn terms_of(self, run: u32) -> (u32, u32) {
        let (first, end) = (run * self.run, (run + 1) * self.run);
        let terms = self.terms;
        (if first < terms { first } else { terms }, if end < terms { end } else { terms })
    }

    /// The place of a term of the chunk's first particle; those of the others are behind it. A place is left free
    /// behind each run, so that runs begin in different banks.
    #[inline(always)]
    pub const fn term(self, term: u32) -> u32 {
        self.term_within(self.run_of(term), term)
    }

    /// Which run a term belongs to, of 2^16 terms at most.
    #[inline(always)]
    const fn run_of(self, term: u32) -> u32 {
        // The product is too large by less than 2^16 runs' lengths, 2^11 each at most, of 2^-32.
        ((term as u64 * self.by_run as u64) >> 32) as u32
    }

    /// The same of a term that is known to be of this run.
    #[inline(always)]
    pub const fn term_within(self, run: u32, term: u32) -> u32 {
        (term + run) * self.particles
    }

    /// Where the places of what runs make begin.
    #[inline(always)]
    pub const fn first_made(self) -> u32 {
        self.rows_of_terms() * self.particles
    }

    /// The place from there on of what a run of the first particle makes; those of the others are behind it.
    #[inline(always)]
    pub const fn made(self, run: u32) -> u32 {
        run * self.particles
    }

    /// Number of places.
    #[inline(always)]
    pub const fn places(self) -> u32 {
        (self.rows_of_terms() + self.places_of_runs()) * self.particles
    }
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// Which team of the block it is in; beyond the last one if it is in none.
    pub team: u32,
    /// Its part of the work.
    pub part: u32,
    /// Its particle in the chunk.
    pub particle: u32,
}

impl Role {
    /// This thread's, whose team is [`Team::ALONE`] unless they are `SHARED`.
    #[inline(always)]
    pub fn here<const SHARED: bool>(team: Team) -> Self {
        if !SHARED {
            return Self { team: warp::index(), part: 0, particle: warp::lane() };
        }
        let threads = team.threads();
        let within = thread::index() % threads;
        let particle = within & (team.particles - 1);
        let part = within >> team.particles.trailing_zeros();
        Self { team: thread::index() / threads, part, particle }
    }

    /// How many teams the block has.
    #[inline(always)]
    pub fn teams<const SHARED: bool>(team: Team) -> u32 {
        thread::block_threads() / if SHARED { team.threads() } else { warp::LANES }
    }
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;

    #[test]
    fn everything_has_a_place_of_its_own() {
        for (particles, dims) in [(1, 1), (1, 1024), (4, 33), (8, 240), (16, 64), (32, 65)] {
            let team = Team { particles, parts: 8 };
            let mut taken = vec![false; team.chunk_numbers(dims) as usize];
            let mut take = |index: u32| {
                assert!(!core::mem::replace(&mut taken[index as usize], true));
            };
            for particle in 0..particles {
                for dimension in 0..dims {
                    let motion = team.row(dimension) * team.motion_row() + 2 * particle;
                    take(motion);
                    take(motion + 1);
                    take(
                        team.personal_bests(dims)
                            + team.row(dimension) * team.personal_best_row()
                            + particle,
                    );
                }
                take(team.fitness(dims) + particle);
            }
            for (terms, one_by_one) in
                [0, 1, 32, 33, 100, 1024].into_iter().flat_map(|n| [(n, false), (n, true)])
            {
                let sheet = Sheet::new(team, terms, one_by_one);
                let whole = sheet.has_whole_runs();
                assert_eq!(whole, one_by_one && (terms > 32 && (terms <= 128 || particles >= 16)));
                let mut taken = vec![false; sheet.places() as usize];
                let mut take = |place: u32| {
                    assert!(!core::mem::replace(&mut taken[place as usize], true));
                };
                let mut next = 0;
                for run in 0..sheet.runs() {
                    let (first, end) = sheet.terms_of(run);
                    assert!(first == next && (end > first || terms == 0));
                    next = end;
                }
                assert!(next == terms && sheet.runs() <= 32);
                for particle in 0..particles {
                    let places = if whole { 0 } else { terms };
                    (0..places).for_each(|term| take(sheet.term(term) + particle));
                    (0..sheet.places_of_runs())
                        .for_each(|run| take(sheet.first_made() + sheet.made(run) + particle));
                }
            }
        }
    }

    #[test]
    fn runs_are_found_without_division() {
        let team = Team { particles: 4, parts: 8 };
        for terms in (0..300).chain([1000, 1023, 1024, 4097, 30_000, 65_535, 65_536]) {
            let sheet = Sheet::new(team, terms, false);
            (0..terms).for_each(|term| assert_eq!(sheet.run_of(term), term / sheet.run, "{terms}"));
        }
    }

    #[test]
    fn lanes_of_a_warp_use_different_banks() {
        for particles in [1, 2, 4, 8, 16, 32] {
            let (team, dims) = (Team { particles, parts: 32 }, 1024);
            let sheet = Sheet::new(team, dims, false);
            let (mut pairs, mut personal_bests, mut runs) = ([0_u32; 16], [0_u32; 32], [0_u32; 32]);
            for lane in 0..32 {
                let (part, particle) = (lane / particles, lane % particles);
                let row = team.row(4 * part);
                let motion = row * team.motion_row() + 2 * particle;
                assert!(motion.is_multiple_of(2));
                pairs[motion as usize / 2 % 16] += 1;
                personal_bests[(row * team.personal_best_row() + particle) as usize % 32] += 1;
                runs[(sheet.term(32 * part) + particle) as usize % 32] += 1;
            }
            assert_eq!(pairs, [2; 16], "{particles}");
            assert_eq!(runs, [1; 32], "{particles}");
            let most = if particles == 16 { 2 } else { 1 };
            assert!(
                personal_bests.iter().all(|&lanes| lanes <= most),
                "{particles}: {personal_bests:?}"
            );
        }
    }
}
