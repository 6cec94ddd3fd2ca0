//! The usual iteration of a single swarm, many times in one launch, with the particles in the shared
//! memory of the multiprocessors.
//!
//! [`Synchrony`] says how blocks learn of each other's best:
//!
//! - **Synchronous**: after each iteration all blocks meet ([`Rendezvous`]), so that the next one knows the
//!   best of all. The same bits as one launch of [`step`](super::step) for each iteration. The whole
//!   swarm is on the chip at once.
//! - **Asynchronous**: after the queue-lock swarm of cuPSO (arXiv 2205.01313), blocks do not wait. A block
//!   publishes what it finds, and learns what others have published, as it goes ([`Mailbox`]). What a
//!   particle is attracted by depends on how fast the others are: the result is not the same twice.
//!   Here the whole swarm is on the chip too; if it does not fit, or dimensions make fours, particles are
//!   [time-sliced](super::time_sliced).
//!
//! Where a swarm that meets does not fit on the chip as a whole, it is *tiered*: each block holds as many of its
//! particles as fit, all the time, and moves the others in device memory, as [`step`](super::step) does.
//!
//! An iteration in which nobody finds anything better than what the block knows costs one barrier of
//! the block (asynchronous), or two and the rendezvous (synchronous).

use core::{marker::PhantomData, mem::offset_of};

use super::{
    chunks::{self, CHUNK, Chunks, Share},
    in_memory::{Home, InMemory},
    known_best::{
        ASK_EVERY, IMPROVED, Inbox, KnownBest, NEWER, Scratch, block_best, each_dimension,
    },
    mailbox::Mailbox,
    publish::{Board, Part},
    rendezvous::{Found, Rendezvous},
    team::{GROUP, Role, Sheet, Team},
};
use crate::{
    gpu::{
        block,
        memory::{ReadOnly, ReadWrite},
        shared::Shared,
        thread,
        warp::{self, Shuffle},
    },
    kernel::{Constants, Kernel, Kernels, Launch, Local, Name},
    math::{Partial, Scalar},
    objective::{Objective, Point, Reach, evaluation::term_of, sum::of_runs},
    swarm::{
        best::Candidate,
        layout::{self, Quads},
        step::{self, Common, Near, State, Stepped},
        update::{Bound, Coefficients},
    },
};

/// How blocks learn of each other's best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Synchrony {
    /// After each iteration, all at once.
    Synchronous = 0,
    /// As they go.
    Asynchronous = 1,
}

/// What the kernel is passed.
///
/// Nobody is fresh in `home` before the launch. The buffers have these lengths: `inertia` the
/// iterations, or nothing; `start` dims; `rendezvous` as documented there, if synchronous; if not
/// `mailbox` as documented there, `block_best_positions` dims for each block, `block_best_fitness` and
/// `block_best_particle` one for each block. `start` may be the memory of `board.global_best`. No block is without
/// a chunk.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<O, T> {
    /// What all particles share; the iteration is the first of the launch.
    pub common: Common<O, T>,
    // Side by side with another constant: of two numbers that are loaded as one, the assembler knows both.
    /// How blocks learn of each other's best.
    pub synchrony: Synchrony,
    /// Whether the inertia weight is not the same in all iterations: 0 or 1.
    pub varies: u32,
    /// Whether all dimensions have the same bounds, but for the shift: 0 or 1. Only [`TimeSliced`](super::time_sliced::TimeSliced)
    /// ask.
    pub alike: u32,
    /// Iterations of the launch: at least 1.
    pub iterations: u32,
    /// Chunks of particles that a block holds at once: at least 1, and all of its own, unless [`Tiered`] or in
    /// [`TimeSliced`](super::time_sliced::TimeSliced).
    pub capacity: u32,
    /// Iterations of each of these turns: at least 1.
    pub stay: u32,
    /// Meetings on `rendezvous` since its buffers were zero.
    pub round: u32,
    /// The bounds of the first dimension: of all, if `alike`, but for the shift.
    pub any_bound: Bound<T>,
    /// Inertia weight of each iteration, if it varies; else nothing.
    pub inertia: ReadOnly<T>,
    /// The swarm.
    pub home: Home<T>,
    /// The swarm's best position after the previous launch.
    pub start: ReadWrite<T>,
    /// Where blocks meet.
    pub rendezvous: Rendezvous<T>,
    /// Where blocks tell each other without waiting.
    pub mailbox: Mailbox<T>,
    /// Receives what each block of an asynchronous launch took last for the swarm's best position.
    pub block_best_positions: ReadWrite<T>,
    /// Receives its fitness.
    pub block_best_fitness: ReadWrite<T>,
    /// Receives the particle that had it.
    pub block_best_particle: ReadWrite<u32>,
    /// Where the best is published in the end.
    pub board: Board<T>,
    /// Who works for a chunk, in [`Shared`](Iterations); else [`Team::ALONE`].
    pub team: Team,
}

impl<T> Arguments<(), T> {
    /// The same for a function.
    pub fn of<O>(self, objective: O) -> Arguments<O, T> {
        Arguments {
            common: self.common.of(objective),
            synchrony: self.synchrony,
            alike: self.alike,
            any_bound: self.any_bound,
            iterations: self.iterations,
            capacity: self.capacity,
            stay: self.stay,
            round: self.round,
            varies: self.varies,
            inertia: self.inertia,
            home: self.home,
            start: self.start,
            rendezvous: self.rendezvous,
            mailbox: self.mailbox,
            block_best_positions: self.block_best_positions,
            block_best_fitness: self.block_best_fitness,
            block_best_particle: self.block_best_particle,
            board: self.board,
            team: self.team,
        }
    }
}

/// Many iterations of one swarm, on the chip. `SHARED`: several threads share a particle, as
/// [`Arguments::team`] says. `TIERED`: blocks hold only some of their particles, and meet.
pub struct Iterations<O, T, const SHARED: bool, const TIERED: bool>(PhantomData<(O, T)>);

/// A thread for each particle.
pub type Resident<O, T> = Iterations<O, T, false, false>;

/// Several threads for each.
pub type Cooperative<O, T> = Iterations<O, T, true, false>;

/// A thread for each, and some in device memory, which are fresh afterwards if they say so.
pub type Tiered<O, T> = Iterations<O, T, false, true>;

impl<O: Objective, T: Scalar, const SHARED: bool, const TIERED: bool>
    Iterations<O, T, SHARED, TIERED>
{
    /// Words of the terms of a chunk.
    #[inline(always)]
    const fn sheet_words(team: Team, terms: u32) -> u32 {
        sheet_words(team, O::REACH, terms, <O::Partial<T> as Shuffle>::WORDS)
    }
}

/// Shared memory in bytes of a block of `threads` threads that holds so many chunks; `None` if that is
/// more than 32 bits count. If threads share particles: their team, and the words of its terms.
pub fn shared_bytes<T: Scalar>(
    threads: u32,
    dims: u32,
    capacity: u32,
    shared: Option<(Team, u32)>,
) -> Option<u32> {
    // Nothing overflows below.
    if dims > 1 << 20 || shared.is_some_and(|(_, words)| words > 1 << 24) {
        return None;
    }
    let (chunk, sheets) = match shared {
        Some((team, words)) => (team.chunk_numbers(dims), sheets(0, threads, team, words).end()),
        None => (chunks::chunk_numbers(dims), 0),
    };
    let bytes = u64::from(capacity) * u64::from(chunk) * size_of::<T>() as u64;
    if bytes > u64::from(u32::MAX / 2) {
        return None;
    }
    Some(Scratch::<T>::of(threads, dims).end() + sheets + bytes as u32)
}

/// Words of the terms of a chunk, from an objective's terms and the words of each.
pub const fn sheet_words(team: Team, reach: Reach, terms: u32, words: u32) -> u32 {
    if terms > 1 << 16 {
        return u32::MAX;
    }
    sheet(team, reach, terms).places() * words
}

/// The sheet of a chunk.
#[inline(always)]
const fn sheet(team: Team, reach: Reach, terms: u32) -> Sheet {
    Sheet::new(team, terms, matches!(reach, Reach::Own))
}

/// Room for the terms of all teams of a block, so many words each, from a byte of shared memory on.
#[inline(always)]
const fn sheets(start: u32, threads: u32, team: Team, words: u32) -> Shared<u32> {
    Shared::at(start, (threads / team.threads() * words).next_multiple_of(4))
}

/// The chunks that a block holds.
#[derive(Clone, Copy)]
struct Window<T, const SHARED: bool> {
    chunks: Chunks<T, SHARED>,
    /// The first of them.
    chunk: u32,
    /// How many there are.
    count: u32,
}

/// What a block keeps in mind between iterations. All threads of the block have the same.
struct Course<T, const SHARED: bool, const TIERED: bool> {
    share: Share,
    window: Window<T, SHARED>,
    /// Synchronous: only what is known.
    inbox: Inbox<T>,
    /// Synchronous: the last iteration without a better best.
    failed: u32,
}

impl<O: Objective, T: Scalar, const SHARED: bool, const TIERED: bool> Kernel
    for Iterations<O, T, SHARED, TIERED>
{
    type Arguments = Arguments<O, T>;

    const NAME: Name = Name {
        family: match (SHARED, TIERED) {
            (true, _) => "swarm_cooperative",
            (false, true) => "swarm_tiered",
            (false, false) => "swarm_resident",
        },
        objective: O::INFO.name,
        precision: T::NAME,
    };
    const KERNELS: Kernels = O::KERNELS;

    const COOPERATIVE: bool = true;

    // Unbounded, a thread would take twice as many registers, and the block would not fill a
    // multiprocessor: what is needed between iterations may lie in local memory.
    const LAUNCH: Launch = {
        let local =
            if SHARED { Local { stack: 768, hot: 8 } } else { Local { stack: 256, hot: 4 } };
        Launch {
            threads: Some(if size_of::<T>() == 8 { 512 } else { 1024 }),
            blocks: Some(1),
            keeps_shared_base: true,
            local: O::HINTS.local(Self::NAME, local),
            ..Launch::DEFAULT
        }
    };

    fn shared_bytes(threads: u32, arguments: &Self::Arguments) -> u32 {
        let Common { objective, view, .. } = &arguments.common;
        let words = Self::sheet_words(arguments.team, objective.terms(&view.context()));
        let shared = SHARED.then_some((arguments.team, words));
        shared_bytes::<T>(threads, arguments.common.view.dims, arguments.capacity, shared)
            .unwrap_or(u32::MAX)
    }

    fn constants(arguments: &Self::Arguments) -> Constants {
        let Arguments { common: Common { view, .. }, synchrony, varies, team, .. } = arguments;
        Constants::NONE
            .with(offset_of!(Self::Arguments, common.view.dims), view.dims)
            .with(offset_of!(Self::Arguments, common.view.box_only), view.box_only)
            .with(offset_of!(Self::Arguments, synchrony), *synchrony as u32)
            .with(offset_of!(Self::Arguments, varies), *varies)
            .with(offset_of!(Self::Arguments, team.particles), team.particles)
            .with(offset_of!(Self::Arguments, team.parts), team.parts)
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Arguments { iterations, capacity, board, .. } = *arguments;
        let home = &arguments.home;
        let particles = arguments.common.particles;
        let dims = arguments.common.view.dims;
        let (this, blocks) = (thread::block_index(), thread::grid_blocks());
        let scratch = Scratch::<T>::of(thread::block_threads(), dims);
        let mut free = scratch.end();
        if SHARED {
            let Common { objective, view, .. } = &arguments.common;
            let words = Self::sheet_words(arguments.team, objective.terms(&view.context()));
            free = sheets(free, thread::block_threads(), arguments.team, words).end();
        }
        let chunks = Chunks::<T, SHARED>::at(free, capacity, dims, arguments.team);
        let all_chunks = particles.div_ceil(chunks.chunk());
        let share = Share::of(this, blocks, all_chunks);
        // SAFETY: as `Arguments` documents, particles, dimensions and blocks have their elements; this
        // thread alone touches its particles, and its block alone the block's. Barriers order each
        // reuse of shared memory and what the block's threads read of each other's.
        unsafe {
            let best = Candidate {
                fitness: board.global_best_fitness.load(0),
                particle: board.global_best_particle.load(0),
            };
            let mut course = Course::<T, SHARED, TIERED> {
                share,
                window: Window { chunks, chunk: share.first, count: capacity.min(share.count) },
                inbox: Inbox {
                    known: KnownBest { best, places: scratch.global_bests, side: 0, dims },
                    seen: 0,
                    pending: false,
                },
                failed: board.failed.load(0),
            };
            let global_best = course.inbox.known.global_best();
            each_dimension(dims, |d| global_best.store(d, arguments.start.load(d)));
            block::barrier();
            let Window { chunks, chunk, count } = course.window;
            chunks.fetch(home, chunk, count);
            if TIERED {
                // Another warp moves them.
                block::barrier();
            }
            // The best of all particles of this thread.
            let mine = course.advance(arguments, iterations);
            chunks.put_back(home, chunk, count);
            let part = Part {
                swarm: 0,
                blocks,
                particle: mine.particle,
                stride: layout::stride(particles as usize),
            };
            let known = &course.inbox.known;
            if !TIERED && arguments.synchrony == Synchrony::Asynchronous {
                return arguments.settle_asynchronous(part, known, mine);
            }
            let global_best = known.global_best();
            board.settle(part, known.best, course.failed, dims, |d| global_best.load(d));
        }
    }
}

impl<O: Objective, T: Scalar> Arguments<O, T> {
    /// The end of an asynchronous launch: the best of all threads' candidates is published, whose personal bests are in device
    /// memory, and what this block took last for the swarm's best is left behind.
    ///
    /// # Safety
    /// Called once by every thread, with arguments as documented, behind a barrier since `known` changed.
    #[inline(always)]
    pub(super) unsafe fn settle_asynchronous(
        &self,
        part: Part,
        known: &KnownBest<T>,
        mine: Candidate<T>,
    ) {
        // Of an opaque number: else all the kernel compares 64 bits, of which the assembler knows no constant.
        let dims = thread::opaque(known.dims);
        let this = thread::block_index() as usize;
        let global_best = known.global_best();
        // SAFETY: of a particle of the swarm, whose personal best was stored before its block arrived.
        let personal_best = |slot, d| unsafe { self.home.stored_personal_best(slot, d, dims) };
        // SAFETY: as documented; each block has its own place.
        unsafe {
            each_dimension(known.dims, |d| {
                self.block_best_positions.store(this * dims as usize + d, global_best.load(d))
            });
            if thread::index() == 0 {
                self.block_best_fitness.store(this, known.best.fitness);
                self.block_best_particle.store(this, known.best.particle);
            }
            let last = self.common.iteration + (self.iterations - 1);
            if self.board.publish(part, mine, known.dims, last, personal_best)
                && thread::index() == 0
            {
                self.mailbox.clear();
            }
        }
    }
}

impl<T: Scalar, const SHARED: bool> Window<T, SHARED> {
    /// A coordinate of the personal best of a particle that is held, or of the block's if [`Tiered`].
    ///
    /// # Safety
    /// It is, and a barrier lies behind its last step.
    #[inline(always)]
    unsafe fn personal_best<const TIERED: bool>(
        &self,
        home: &Home<T>,
        particle: u32,
        dimension: u32,
    ) -> T {
        let chunk = self.chunks.chunk();
        let which = particle / chunk - self.chunk;
        // SAFETY: the caller's promise.
        unsafe {
            if TIERED && which >= self.count {
                return home.personal_best::<Quads>(particle, dimension, self.chunks.dims());
            }
            self.chunks.personal_best(which, particle % chunk, dimension)
        }
    }
}

impl<T: Scalar, const SHARED: bool, const TIERED: bool> Course<T, SHARED, TIERED> {
    /// Does the iterations of the launch with the chunks that are held; returns the best personal best of this thread's
    /// particles.
    ///
    /// # Safety
    /// Called by all threads, with arguments as documented; the chunks are held.
    #[inline(always)]
    unsafe fn advance<O: Objective>(
        &mut self,
        arguments: &Arguments<O, T>,
        iterations: u32,
    ) -> Candidate<T> {
        let mut common = arguments.common;
        let (first, particles) = (common.iteration, common.particles);
        let synchronous = TIERED || arguments.synchrony != Synchrony::Asynchronous;
        let home = &arguments.home;
        let mut mine = Candidate::NONE;
        let mut nth = 0;
        while nth < iterations {
            common.iteration = first + nth;
            // SAFETY: as in `run`.
            unsafe {
                if arguments.varies == 1 {
                    let inertia = arguments.inertia.at(nth as usize);
                    common.coefficients = Coefficients { inertia, ..common.coefficients };
                }
                // Asked before the step and used after it, and not each time: the answer takes long.
                let asks = !synchronous && thread::index() == 0 && nth.is_multiple_of(ASK_EVERY);
                let number = if asks { arguments.mailbox.number() } else { self.inbox.seen };
                mine = if SHARED {
                    self.step_together(&common)
                } else if TIERED {
                    self.step_tiered(&common, home)
                } else if step::are_few(self.inbox.known.dims) {
                    self.step_near(&common)
                } else {
                    self.step_alone(&common)
                };
                if synchronous {
                    let round = arguments.round + nth;
                    let meeting = (&arguments.rendezvous, round);
                    self.meet(meeting, home, particles, mine, common.iteration);
                } else {
                    self.trade(&arguments.mailbox, home, mine, number);
                }
            }
            nth += 1;
        }
        mine
    }

    /// An iteration of the chunks that are held, a thread for each particle; returns the best of this thread's.
    ///
    /// # Safety
    /// As [`Course::advance`].
    #[inline(always)]
    unsafe fn step_alone<O: Objective>(&self, common: &Common<O, T>) -> Candidate<T> {
        let role = Role::here::<false>(Team::ALONE);
        let mut mine = Candidate::NONE;
        let mut which = role.team;
        while which < self.window.count {
            let particle = (self.window.chunk + which) * self.window.chunks.chunk() + role.particle;
            if particle < common.particles {
                let mut state =
                    self.window.chunks.particle(which, role, self.inbox.known.global_best());
                // SAFETY: the caller's promise.
                let fitness = unsafe { step::step(common, &mut state, particle) };
                // Indices rise, so of equals the first stays.
                if fitness < mine.fitness || mine.particle == u32::MAX {
                    mine = Candidate { fitness, particle };
                }
            }
            which += Role::teams::<false>(Team::ALONE);
        }
        mine
    }

    /// The same of all chunks of the block, those in device memory included.
    ///
    /// # Safety
    /// As [`Course::advance`].
    #[inline(always)]
    unsafe fn step_tiered<O: Objective>(
        &self,
        common: &Common<O, T>,
        home: &Home<T>,
    ) -> Candidate<T> {
        let role = Role::here::<false>(Team::ALONE);
        let (global_best, dims) = (self.inbox.known.global_best(), self.inbox.known.dims);
        let teams = Role::teams::<false>(Team::ALONE);
        let mut mine = Candidate::NONE;
        // Those in device memory take longer: they come first.
        let first = self.window.count + role.team;
        let all = self.share.count + self.window.count;
        // Forth in one iteration and back in the next: what was touched last is in the cache.
        let (mut start, mut way) = (0, 1_u32);
        if !common.iteration.is_multiple_of(2) && first < self.share.count {
            // SAFETY: a block has a warp at least.
            unsafe { core::hint::assert_unchecked(teams > 0) };
            start = 2 * first + (self.share.count - 1 - first) / teams * teams;
            way = way.wrapping_neg();
        }
        let mut nth = first;
        while nth < all {
            let is_held = nth >= self.share.count;
            let which = if is_held {
                nth - self.share.count
            } else {
                start.wrapping_add(way.wrapping_mul(nth))
            };
            let particle = (self.window.chunk + which) * CHUNK + role.particle;
            let mut improved = false;
            // SAFETY: the caller's promise; a particle is this thread's own in all iterations, and there is a word for
            // each chunk.
            unsafe {
                if particle < common.particles {
                    let fitness = if is_held {
                        let mut state = self.window.chunks.particle(which, role, global_best);
                        step::step(common, &mut state, particle)
                    } else {
                        let mut state =
                            InMemory::<_, _, Quads>::new(home, particle, dims, global_best);
                        let fitness = step::step(common, &mut state, particle);
                        improved = state.has_improved();
                        fitness
                    };
                    mine = mine.better(Candidate { fitness, particle });
                }
                if !is_held {
                    home.mark(particle, improved);
                }
            }
            nth += teams;
        }
        mine
    }

    /// As [`Course::step_alone`] in a [few](step::are_few) dimensions.
    ///
    /// # Safety
    /// As [`Course::advance`].
    #[inline(always)]
    unsafe fn step_near<O: Objective>(&self, common: &Common<O, T>) -> Candidate<T> {
        let role = Role::here::<false>(Team::ALONE);
        let teams = Role::teams::<false>(Team::ALONE);
        let global_best = self.inbox.known.global_best();
        // SAFETY: the caller's promise; the global best was stored behind a barrier.
        let near = unsafe { Near::new(&common.view, |d| global_best.load(d as usize)) };
        let chunk = self.window.chunks.chunk();
        let all = common.particles;
        let chunks = (self.window.chunk + self.window.count) * chunk;
        let end = if chunks < all { chunks } else { all };
        let mut which = role.team;
        let mut particle = (self.window.chunk + which) * chunk + role.particle;
        // Its first particle is the best until one has a fitness below infinity.
        let mut mine = Candidate {
            particle: if particle < end { particle } else { u32::MAX },
            ..Candidate::NONE
        };
        while particle < end {
            let mut state = self.window.chunks.particle(which, role, global_best);
            let first = || step::uniforms(common, particle, 0);
            // SAFETY: the caller's promise.
            let stepped = unsafe { step::step_near(common, &near, &mut state, particle, first) };
            let Stepped { position, fitness, before } = stepped;
            if fitness < before {
                state.set_best(position, fitness);
            }
            let fitness = fitness.least(before);
            // Indices rise, so of equals the first stays.
            if fitness < mine.fitness {
                mine = Candidate { fitness, particle };
            }
            which += teams;
            particle += teams * chunk;
        }
        mine
    }

    /// The same with several threads for each; each of them returns its particle. Two barriers for each chunk of a team
    /// (one for its last, if threads go through whole runs), or three if terms read more than their own coordinate.
    ///
    /// # Safety
    /// As [`Course::advance`].
    #[inline(always)]
    unsafe fn step_together<O: Objective>(&self, common: &Common<O, T>) -> Candidate<T> {
        let Window { chunks, count, .. } = self.window;
        let team = chunks.team();
        let (role, teams) = (Role::here::<SHARED>(team), Role::teams::<SHARED>(team));
        let context = common.view.context();
        let terms = common.objective.terms(&context);
        let sheet = sheet(team, O::REACH, terms);
        let each = sheet.places();
        let words = each * <O::Partial<T> as Shuffle>::WORDS;
        let room = sheets(self.scratch().end(), thread::block_threads(), team, words);
        // This particle's places differ from their first by constants.
        let mine_from = |place: u32| room.skip(role.team * words + role.particle + place).opaque();
        let (terms_of_mine, made_of_mine) = (mine_from(0), mine_from(sheet.first_made()));
        let put = |room: Shared<u32>, place: u32, partial: O::Partial<T>| {
            let mut word = place;
            partial.map_words(|bits| {
                // SAFETY: asked for by threads of the block's teams, with places of the sheet; see the barriers.
                unsafe { room.store(word as usize, bits) };
                word += each;
                bits
            });
        };
        let take = |room: Shared<u32>, place: u32| {
            let mut word = place;
            O::Partial::<T>::none().map_words(|_| {
                // SAFETY: as in `put`, and what lies there was stored before a barrier.
                let bits = unsafe { room.load(word as usize) };
                word += each;
                bits
            })
        };
        let mut mine = Candidate::NONE;
        let mut first = 0;
        while first < count {
            let which = first + role.team;
            let particle = (self.window.chunk + which) * chunks.chunk() + role.particle;
            let works = role.team < teams && which < count && particle < common.particles;
            let mut state = chunks.particle(which, role, self.inbox.known.global_best());
            let mut before = T::INFINITY;
            if works {
                before = state.best_fitness();
                let mut run = role.part;
                chunks.each_piece(role, sheet.piece(), |first, count| {
                    let mut made = O::Partial::<T>::none();
                    let mut group = first;
                    while group < first + count {
                        let see = |dimension, x| {
                            if matches!(O::REACH, Reach::Own) && dimension < terms {
                                let term = term_of(&common.objective, &context, dimension, x);
                                if sheet.has_whole_runs() {
                                    made = made.combine(term);
                                } else {
                                    put(terms_of_mine, sheet.term(dimension), term);
                                }
                            }
                        };
                        // SAFETY: held; a barrier lies between this thread's moves of these dimensions and their renewal.
                        unsafe { step::group(common, &mut state, particle, group, see) };
                        group += GROUP;
                    }
                    if sheet.has_whole_runs() && run < sheet.places_of_runs() {
                        put(made_of_mine, sheet.made(run), made);
                    }
                    run += team.parts;
                });
                while sheet.has_whole_runs() && run < sheet.places_of_runs() {
                    put(made_of_mine, sheet.made(run), O::Partial::<T>::none());
                    run += team.parts;
                }
            }
            if !matches!(O::REACH, Reach::Own) {
                block::barrier();
                if works {
                    let point =
                        Everywhere { common, chunks: &chunks, which, particle: role.particle };
                    let mut term = role.part;
                    while term < terms {
                        let made = common.objective.term(term, &point, &context);
                        put(terms_of_mine, sheet.term(term), made);
                        term += team.parts;
                    }
                }
            }
            if !sheet.has_whole_runs() {
                block::barrier();
                if works {
                    let mut run = role.part;
                    while run < sheet.places_of_runs() {
                        let (mut term, end) = sheet.terms_of(run);
                        let mut made = O::Partial::<T>::none();
                        while end - term >= 4 {
                            // All four are under way at once.
                            let [a, b, c, d] = [0, 1, 2, 3].map(|ahead| {
                                take(terms_of_mine, sheet.term_within(run, term + ahead))
                            });
                            made = made.combine(a).combine(b).combine(c).combine(d);
                            term += 4;
                        }
                        while term < end {
                            made = made.combine(take(terms_of_mine, sheet.term_within(run, term)));
                            term += 1;
                        }
                        put(made_of_mine, sheet.made(run), made);
                        run += team.parts;
                    }
                }
            }
            block::barrier();
            if works {
                let all = of_runs(sheet.runs(), |run| take(made_of_mine, sheet.made(run)));
                let fitness = step::whole(common, all);
                if fitness < before {
                    chunks.each_piece(role, GROUP, |dimension, count| {
                        state.from(dimension).renew(count);
                    });
                    if role.part == 0 {
                        state.set_best_fitness(fitness);
                    }
                }
                mine = mine.better(Candidate { fitness: fitness.least(before), particle });
            }
            first += teams;
            if sheet.has_whole_runs() && first < count {
                // What the runs made has been taken by all.
                block::barrier();
            }
        }
        mine
    }

    /// The end of a synchronous iteration: all blocks learn the best of all.
    ///
    /// # Safety
    /// As [`Course::advance`].
    #[inline(always)]
    unsafe fn meet(
        &mut self,
        (rendezvous, round): (&Rendezvous<T>, u32),
        home: &Home<T>,
        particles: u32,
        mine: Candidate<T>,
        iteration: u32,
    ) {
        let (dims, blocks) = (self.inbox.known.dims, thread::grid_blocks());
        let all_chunks = particles.div_ceil(self.window.chunks.chunk());
        let before = self.inbox.known.best;
        let mut best = before;
        let mut found = None;
        let next = self.inbox.known.next();
        // SAFETY: as in `run`; the best one is a particle held here; the first barrier orders the next step behind this one.
        unsafe {
            if block::any(mine.beats(before)) {
                best = block_best(mine, &self.scratch());
                let index = best.particle - self.share.first * self.window.chunks.chunk();
                found = Some(Found { index, fitness: best.fitness });
                each_dimension(dims, |d| {
                    let coordinate =
                        self.window.personal_best::<TIERED>(home, best.particle, d as u32);
                    if blocks == 1 {
                        next.store(d, coordinate);
                    } else {
                        rendezvous.put(round, dims, d as u32, coordinate);
                    }
                });
                block::barrier();
            }
            if blocks > 1 {
                if thread::index() == 0 {
                    rendezvous.tell(round, found);
                }
                let heard = hear_all(rendezvous, round, self.window.chunks.chunk(), all_chunks);
                if block::any(heard.particle != u32::MAX) {
                    best = block_best(heard, &self.scratch());
                    let owner = Share::owner(
                        best.particle / self.window.chunks.chunk(),
                        blocks,
                        all_chunks,
                    );
                    each_dimension(dims, |d| {
                        next.store(d, rendezvous.take(round, owner, dims, d as u32));
                    });
                    block::barrier();
                }
            }
        }
        if best.fitness == before.fitness {
            self.failed = iteration;
        }
        if best.beats(before) {
            self.inbox.known.adopt(best);
        }
    }

    /// The end of an asynchronous iteration: what others have published is learnt, and what this block found is
    /// published. `number` is what thread 0 was told by [`Mailbox::number`].
    ///
    /// # Safety
    /// As [`Course::advance`].
    #[inline(always)]
    unsafe fn trade(
        &mut self,
        mailbox: &Mailbox<T>,
        home: &Home<T>,
        mine: Candidate<T>,
        number: u32,
    ) {
        // SAFETY: as in `meet`; that first barrier is in `news`.
        unsafe {
            let newer = self.inbox.is_new(number);
            let news = self.news(self.inbox.is_beaten_by(mine), newer);
            let (window, dims) = (self.window, self.inbox.known.dims);
            // Rarely needed, and not worth a register.
            let scratch = || Scratch::of(thread::opaque(thread::block_threads()), dims);
            let personal_best = |particle, d| window.personal_best::<TIERED>(home, particle, d);
            self.inbox.learn(mailbox, scratch, news, mine, personal_best);
        }
    }

    /// Where the block's scratch lies: rarely needed, and not worth a register.
    #[inline(always)]
    fn scratch(&self) -> Scratch<T> {
        Scratch::of(thread::opaque(thread::block_threads()), self.inbox.known.dims)
    }

    /// What the threads of the block have to say, all together: [`IMPROVED`] if `better` anywhere,
    /// [`NEWER`] if `newer` in thread 0. Collective, and contains one barrier, or two if there is news.
    ///
    /// # Safety
    /// As [`Course::advance`].
    #[inline(always)]
    unsafe fn news(&self, better: bool, newer: bool) -> u32 {
        if !block::any(better || newer) {
            return 0;
        }
        let warps = thread::block_threads() / warp::LANES;
        let words = self.scratch().news;
        let better = warp::ballot(better) != 0;
        if warp::lane() == 0 {
            let said = (u32::from(better) * IMPROVED) | (u32::from(newer) * NEWER);
            // SAFETY: a word for each warp; the barrier above orders it behind the loads of the last call.
            unsafe { words.store(warp::index() as usize, said) };
        }
        block::barrier();
        let mut heard = 0;
        if warp::lane() < warps {
            // SAFETY: as above; the barrier orders it behind the store.
            heard = unsafe { words.load(warp::lane() as usize) };
        }
        let improved = warp::ballot(heard & IMPROVED != 0) != 0;
        let newer = warp::ballot(heard & NEWER != 0) != 0;
        (u32::from(improved) * IMPROVED) | (u32::from(newer) * NEWER)
    }
}

/// A particle as the function sees it, whoever moved it.
struct Everywhere<'a, O, T, const SHARED: bool> {
    common: &'a Common<O, T>,
    chunks: &'a Chunks<T, SHARED>,
    /// Its chunk.
    which: u32,
    particle: u32,
}

impl<O, T: Scalar, const SHARED: bool> Point<T> for Everywhere<'_, O, T, SHARED> {
    #[inline(always)]
    fn at(&self, dimension: u32) -> T {
        let Self { common, chunks, which, particle } = *self;
        let inside = dimension < common.view.dims;
        #[cfg(not(target_arch = "nvptx64"))]
        assert!(
            inside,
            "coordinate {dimension} of a point with {} was asked for",
            common.view.dims
        );
        if !inside {
            return T::of(f64::NAN);
        }
        // SAFETY: below `dims`; the particle is held, and a barrier lies behind its move.
        let (bound, position) =
            unsafe { (common.view.bound(dimension), chunks.position(which, particle, dimension)) };
        position - bound.shift
    }
}

/// What all blocks tell, the block's threads sharing them: the best of what this thread has heard.
///
/// # Safety
/// As [`Rendezvous::hear`].
#[inline(always)]
unsafe fn hear_all<T: Scalar>(
    rendezvous: &Rendezvous<T>,
    round: u32,
    chunk: u32,
    all_chunks: u32,
) -> Candidate<T> {
    let blocks = thread::grid_blocks();
    let mut best = Candidate::NONE;
    let mut block = thread::index();
    while block < blocks {
        // SAFETY: the caller's promise.
        if let Some(Found { index, fitness }) = unsafe { rendezvous.hear(round, block) } {
            let particle = Share::of(block, blocks, all_chunks).first * chunk + index;
            best = best.better(Candidate { fitness, particle });
        }
        block += thread::block_threads();
    }
    best
}
