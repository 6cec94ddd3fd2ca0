//! The usual iteration of a single asynchronous swarm, many times in one launch, where particles take turns on the chip if there
//! are more than it has room for. Faster than [`resident`](super::resident) blocks where dimensions make fours.
//!
//! As many warps of a block as fit have room in shared memory for the positions and velocities of 32 particles, a
//! *chunk*. Each fetches some of its block's, does some iterations with them, puts them back and fetches the next. Their
//! personal bests stay in device memory, in quads, from which four dimensions are one load: as long as the same particles are
//! on the chip they come from the second-level cache, and half as many more particles fit. Personal bests and random numbers
//! of the next four dimensions are asked for while these are moved, the first ones of the next iteration with the last
//! ones of this ([`step::step_ahead`]), so that few warps do.
//!
//! Where runs of terms are short, what each pair of them makes is kept in shared memory and put together at the end of
//! the iteration: as they come, that took seven times as many instructions.
//!
//! Warps do not keep pace with each other: while some wait for memory others calculate. A warp that has found something
//! better than what the block knows, or the first one when it sees that another block has published (see
//! [`resident`](super::resident)), *calls* the others, by adding 1 to a word that all look at in each iteration. They
//! come at the end of theirs, and the block learns at once. A warp that is done comes uncalled, and again until all are.

use core::{marker::PhantomData, mem::offset_of};

use super::{
    chunks::{CHUNK, Share},
    in_memory::{InMemory, Nothing},
    known_best::{ASK_EVERY, IMPROVED, Inbox, KnownBest, NEWER, Scratch, each_dimension},
    publish::Part,
    resident::Arguments,
};
use crate::{
    gpu::{
        block,
        shared::Shared,
        thread,
        warp::{self, Shuffle},
    },
    kernel::{Constants, Kernel, Kernels, Launch, Local, Name},
    math::{Partial, Scalar},
    objective::{Objective, Reach},
    swarm::{
        best::Candidate,
        layout,
        step::{self, Ahead, Common, Far, State},
        update::{Bound, Coefficients},
    },
};

/// Many iterations of one swarm whose blocks do not wait for each other, a thread for each particle. Of the arguments
/// `synchrony`, `round`, `rendezvous` and `team` are not looked at; `capacity` is the warps of a block that have a chunk.
pub struct TimeSliced<O, T>(PhantomData<(O, T)>);

/// A warp has called the others.
const CALLED: u32 = 4;
/// A warp has something left to do.
const WORKS: u32 = 8;

/// The shared memory of a block.
struct Room<T> {
    scratch: Scratch<T>,
    /// What each warp has to say, at every other meeting: a word for each, twice.
    said: Shared<u32>,
    /// Calls since the launch began.
    calls: Shared<u32>,
    /// The bounds, four numbers for each dimension; or where they are alike, the shifts.
    bounds: Shared<T>,
    /// What each warp's pairs of runs make: see [`kept_words`].
    kept: Shared<u32>,
    /// Chunk after chunk the 32 pairs of position and velocity: two dimensions side by side in `f32`, which makes 16
    /// bytes of each particle, dimension after dimension in `f64`.
    chunks: Shared<T>,
}

/// Numbers of a dimension of a chunk.
const ROW: u32 = 2 * CHUNK;

/// Dimensions of a particle that lie side by side: as many as 16 bytes hold.
const fn abreast<T>() -> u32 {
    8 / size_of::<T>() as u32
}

impl<T: Scalar> Room<T> {
    #[inline(always)]
    const fn of(threads: u32, dims: u32, capacity: u32, kept_words: u32) -> Self {
        let scratch = Scratch::of(threads, dims);
        let said = Shared::at(scratch.end(), 2 * (threads / warp::LANES));
        let calls = Shared::at(said.end(), 1);
        let bounds = Shared::at(calls.end().next_multiple_of(16), 4 * dims);
        let rows = dims.next_multiple_of(abreast::<T>());
        let kept = Shared::at(bounds.end(), capacity * warp::LANES * kept_words);
        let chunks = Shared::at(kept.end().next_multiple_of(16), capacity * rows * ROW);
        Self { scratch, said, calls, bounds, kept, chunks }
    }
}

/// Words of a particle for what [pairs of runs](step::pairs_of_runs) make, of a function with so many terms, each of so
/// many words.
#[inline(always)]
pub const fn kept_words(reach: Reach, (terms, words): (u32, u32), dims: u32) -> u32 {
    step::pairs_of_runs(reach, terms, dims) * words
}

/// Shared memory in bytes of a block of `threads` threads of which so many warps have a chunk, with so many
/// [words](kept_words) for each particle besides; `None` if that is more than 32 bits count.
pub fn shared_bytes<T: Scalar>(
    threads: u32,
    dims: u32,
    capacity: u32,
    kept_words: u32,
) -> Option<u32> {
    // Nothing overflows below.
    if dims > 1 << 20 || capacity > 1 << 10 || kept_words > 1 << 10 {
        return None;
    }
    let rows = dims.next_multiple_of(abreast::<T>());
    let bytes = u64::from(capacity) * u64::from(rows * ROW) * size_of::<T>() as u64;
    (bytes < u64::from(u32::MAX / 2))
        .then(|| Room::<T>::of(threads, dims, capacity, kept_words).chunks.end())
}

impl<O: Objective, T: Scalar> Kernel for TimeSliced<O, T> {
    type Arguments = Arguments<O, T>;

    const NAME: Name =
        Name { family: "swarm_time_sliced", objective: O::INFO.name, precision: T::NAME };
    const KERNELS: Kernels = O::KERNELS;

    const COOPERATIVE: bool = true;

    // As in `Iterations`; a thread has a whole particle, and takes twice as many registers.
    const LAUNCH: Launch = Launch {
        threads: Some(if size_of::<T>() == 8 { 256 } else { 512 }),
        blocks: Some(1),
        keeps_shared_base: true,
        local: O::HINTS.local(Self::NAME, Local { stack: 256, hot: 4 }),
        ..Launch::DEFAULT
    };

    fn shared_bytes(threads: u32, arguments: &Self::Arguments) -> u32 {
        let dims = arguments.common.view.dims;
        shared_bytes::<T>(threads, dims, arguments.capacity, arguments.kept_words())
            .unwrap_or(u32::MAX)
    }

    fn constants(arguments: &Self::Arguments) -> Constants {
        let Arguments { common, varies, alike, .. } = arguments;
        Constants::NONE
            .with(offset_of!(Self::Arguments, common.view.dims), common.view.dims)
            .with(offset_of!(Self::Arguments, common.view.box_only), common.view.box_only)
            .with(offset_of!(Self::Arguments, varies), *varies)
            .with(offset_of!(Self::Arguments, alike), *alike)
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Arguments { iterations, capacity, stay, alike, any_bound, mailbox, board, .. } =
            *arguments;
        let home = &arguments.home;
        let mut common = arguments.common;
        let (particles, first) = (common.particles, common.iteration);
        let dims = common.view.dims;
        let (this, blocks) = (thread::block_index(), thread::grid_blocks());
        let kept_words = arguments.kept_words();
        let room = Room::<T>::of(thread::block_threads(), dims, capacity, kept_words);
        let share = Share::of(this, blocks, particles.div_ceil(CHUNK));
        let end = share.first + share.count;
        // SAFETY: as `Arguments` documents, particles, dimensions and blocks have their elements; this thread alone
        // touches its particles in a chunk that is its warp's alone, and its block alone the block's. Barriers order
        // each reuse of shared memory and what the block's threads read of each other's; calls are counted by atomics.
        unsafe {
            let best = Candidate {
                fitness: board.global_best_fitness.load(0),
                particle: board.global_best_particle.load(0),
            };
            let known = KnownBest { best, places: room.scratch.global_bests, side: 0, dims };
            let global_best = known.global_best();
            each_dimension(dims, |d| global_best.store(d, arguments.start.load(d)));
            let each_bound = if alike == 1 { 1 } else { 4 };
            each_dimension(each_bound * dims, |d| {
                // The last of four is the shift.
                let nth = if alike == 1 { 4 * d + 3 } else { d };
                room.bounds.store(d, common.view.bounds.at(nth));
            });
            if thread::index() == 0 {
                room.calls.store(0, 0);
            }
            block::barrier();
            let mut inbox = Inbox { known, seen: 0, pending: false };
            // The best of all particles of this thread.
            let mut mine = Candidate::NONE;
            // Calls that were answered, and the meetings.
            let (mut answered, mut meetings) = (0, 0);
            let (lane, nth_warp) = (warp::lane(), warp::index());
            let mut chunk = share.first + nth_warp;
            let mut works = nth_warp < capacity && chunk < end;
            let (rows, before) = (dims.next_multiple_of(abreast::<T>()), 2 * abreast::<T>() * lane);
            let place = Shared::at(
                room.chunks.start() + (nth_warp * rows * ROW + before) * size_of::<T>() as u32,
                rows * ROW - before,
            )
            .opaque();
            let kept = warp::LANES * kept_words;
            let kept = room.kept.part(nth_warp * kept, kept);
            // Iterations of the launch before the present turn, so far, and when it is over.
            let (mut begun, mut nth) = (0, 0);
            let mut until = stay.min(iterations);
            let personal_bests = InMemory::at(home, 0, dims);
            let mut state = Seated::<T> {
                motion: place,
                personal_bests,
                global_best: inbox.known.global_best(),
                bounds: room.bounds,
                kept: kept.skip(if kept_words > 0 { lane } else { 0 }),
                each_bound,
                any_bound,
                dims,
                best_fitness: T::INFINITY,
            };
            let mut ahead = Ahead::NONE;
            loop {
                let mut number = inbox.seen;
                let mut comes = !works;
                if works {
                    let particle = chunk * CHUNK + lane;
                    // Padding moves along, and is nobody's best.
                    let exists = particle < particles;
                    state.global_best = inbox.known.global_best();
                    if nth == begun {
                        state.personal_bests = InMemory::at(home, particle, dims);
                        state.best_fitness = home.best_fitness.load(particle as usize);
                        if exists {
                            mine = mine.better(Candidate { fitness: state.best_fitness, particle });
                        }
                        state.fetch();
                        common.iteration = first + nth;
                        ahead = Ahead::first(&common, &state, particle);
                    }
                    while !comes && nth < until {
                        common.iteration = first + nth;
                        if arguments.varies == 1 {
                            let inertia = arguments.inertia.at(nth as usize);
                            common.coefficients = Coefficients { inertia, ..common.coefficients };
                        }
                        // Asked before the step and used after it: the answer takes long.
                        let asks = thread::index() == 0 && nth.is_multiple_of(ASK_EVERY);
                        number = if asks { mailbox.number() } else { inbox.seen };
                        let before = state.best_fitness;
                        let fitness = step::step_ahead(&common, &mut state, particle, &mut ahead);
                        if fitness < before && exists {
                            mine = mine.better(Candidate { fitness, particle });
                        }
                        nth += 1;
                        let (newer, better) = (inbox.is_new(number), inbox.is_beaten_by(mine));
                        let called = room.calls.atomic_load(0) != answered;
                        let news = newer || better || called;
                        comes = inbox.pending || warp::ballot(news) != 0;
                    }
                    if nth == until {
                        state.put_back();
                        home.best_fitness.store(particle as usize, state.best_fitness);
                        chunk += capacity;
                        if chunk >= end {
                            chunk = share.first + nth_warp;
                            begun = until;
                            until += stay.min(iterations - until);
                            works = begun < iterations;
                        }
                        nth = begun;
                        comes |= !works;
                    }
                }
                if !comes {
                    continue;
                }
                let (newer, better) = (inbox.is_new(number), inbox.is_beaten_by(mine));
                let wants = warp::ballot(better || newer) != 0 || inbox.pending;
                if wants && lane == 0 {
                    room.calls.fetch_add(0, 1);
                }
                // All warps come here as often.
                let better = if warp::ballot(better) == 0 { 0 } else { IMPROVED };
                let newer = if warp::ballot(newer) == 0 { 0 } else { NEWER };
                let called = if wants { CALLED } else { 0 };
                let said = better | newer | called | if works { WORKS } else { 0 };
                let warps = room.said.length() / 2;
                let heard = meet(room.said.part(meetings % 2 * warps, warps), said);
                meetings += 1;
                answered += heard.calls;
                let personal_best =
                    |particle: u32, d| home.stored_personal_best(particle as usize, d, dims);
                let scratch = || Scratch::of(thread::opaque(thread::block_threads()), dims);
                inbox.learn(&mailbox, scratch, heard.news, mine, personal_best);
                if heard.news & WORKS == 0 {
                    break;
                }
            }
            block::barrier();
            let part = Part {
                swarm: 0,
                blocks,
                particle: mine.particle,
                stride: layout::stride(particles as usize),
            };
            arguments.settle_asynchronous(part, &inbox.known, mine);
        }
    }
}

impl<O: Objective, T: Scalar> Arguments<O, T> {
    /// See [`kept_words`].
    #[inline(always)]
    fn kept_words(&self) -> u32 {
        let Common { objective, view, .. } = &self.common;
        let terms = (objective.terms(&view.context()), <O::Partial<T> as Shuffle>::WORDS);
        kept_words(O::REACH, terms, view.dims)
    }
}

/// What all warps of a block have said at a meeting.
struct Heard {
    /// What any of them has.
    news: u32,
    /// How many called.
    calls: u32,
}

/// Tells all warps what this one says, the same in all its lanes, and hears what they say. Collective, and contains one
/// barrier.
///
/// # Safety
/// Called by all threads, with a word for each warp in `words`; between two meetings that have the same lies another.
#[inline(always)]
unsafe fn meet(words: Shared<u32>, said: u32) -> Heard {
    // SAFETY: a word for each warp; whoever stores it has passed the barrier of the meeting in between, which the loads
    // of the one before preceded.
    unsafe {
        if warp::lane() == 0 {
            words.store(warp::index() as usize, said);
        }
        block::barrier();
        let mut heard = 0;
        if warp::lane() < words.length() {
            heard = words.load(warp::lane() as usize);
        }
        let any = |what| if warp::ballot(heard & what != 0) == 0 { 0 } else { what };
        let calls = warp::ballot(heard & CALLED != 0).count_ones();
        Heard { news: any(IMPROVED) | any(NEWER) | any(WORKS), calls }
    }
}

/// A particle whose turn it is: position and velocity in shared memory, personal best in device memory; touched by one
/// thread only.
#[derive(Clone, Copy)]
struct Seated<'a, T> {
    /// From its position in the dimension on from which it is seen.
    motion: Shared<T>,
    personal_bests: InMemory<'a, T, Nothing>,
    global_best: Shared<T>,
    bounds: Shared<T>,
    /// Its words of what is kept, each of all lanes before the next.
    kept: Shared<u32>,
    /// Numbers of a dimension in `bounds`: 4, or 1, only the shift, where all else is as in `any_bound`.
    each_bound: u32,
    any_bound: Bound<T>,
    dims: u32,
    best_fitness: T,
}

impl<T: Scalar> Seated<'_, T> {
    /// Where the pair of a dimension lies.
    #[inline(always)]
    const fn index(dimension: u32) -> usize {
        let within = dimension % abreast::<T>();
        ((dimension - within) * ROW + 2 * within) as usize
    }

    /// Fetches position and velocity.
    #[inline(always)]
    fn fetch(&mut self) {
        let fours = self.dims - self.dims % 4;
        let mut dimension = 0;
        while dimension < fours {
            let four = self.personal_bests.from(dimension).motions_of_four();
            self.from(dimension).set_four(four.map(<[T; 2]>::from));
            dimension += 4;
        }
        let home = self.personal_bests.rest(fours);
        while dimension < self.dims {
            let (position, velocity) = home.motion(dimension - fours);
            self.set_motion(dimension, position, velocity);
            dimension += 1;
        }
    }

    /// Puts them back.
    #[inline(always)]
    fn put_back(&self) {
        let fours = self.dims - self.dims % 4;
        let mut dimension = 0;
        while dimension < fours {
            let four = self.from(dimension).motions_of_four();
            self.personal_bests.from(dimension).set_four(four.map(<[T; 2]>::from));
            dimension += 4;
        }
        let mut home = self.personal_bests.rest(fours);
        while dimension < self.dims {
            let (position, velocity) = self.motion(dimension);
            home.set_motion(dimension - fours, position, velocity);
            dimension += 1;
        }
    }
}

// SAFETY (all accesses below): the warp has room for its chunk, which `fetch` has stored; pairs begin at an even number
// of the array, and chunks of it at multiples of 16 bytes; there are `kept_words` for each lane; global best and bounds have their numbers for each dimension, stored behind barriers, and begin at multiples
// of 16 bytes.
impl<T: Scalar> State<T> for Seated<'_, T> {
    const IN_FOURS: bool = true;

    #[inline(always)]
    fn from(&self, dimension: u32) -> Self {
        Self {
            motion: self.motion.skip(dimension * ROW),
            personal_bests: self.personal_bests.from(dimension),
            global_best: self.global_best.skip(dimension),
            bounds: self.bounds.skip(self.each_bound * dimension),
            ..*self
        }
    }
    #[inline(always)]
    fn set_four(&mut self, moved: [[T; 2]; 4]) {
        let [a, b, c, d] = moved;
        // SAFETY: see above.
        unsafe {
            if abreast::<T>() == 2 {
                self.motion.store_four(Self::index(0), [a[0], a[1], b[0], b[1]]);
                self.motion.store_four(Self::index(2), [c[0], c[1], d[0], d[1]]);
            } else {
                self.motion.store_two(Self::index(0), a);
                self.motion.store_two(Self::index(1), b);
                self.motion.store_two(Self::index(2), c);
                self.motion.store_two(Self::index(3), d);
            }
        }
    }
    #[inline(always)]
    fn rest(&self, dimension: u32) -> Self {
        Self { personal_bests: self.personal_bests.rest(dimension), ..self.from(dimension) }
    }
    #[inline(always)]
    fn position(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.motion.load(Self::index(dimension)) }
    }
    #[inline(always)]
    fn motion(&self, dimension: u32) -> (T, T) {
        // SAFETY: see above.
        let [position, velocity] = unsafe { self.motion.load_two(Self::index(dimension)) };
        (position, velocity)
    }
    #[inline(always)]
    fn personal_best(&self, dimension: u32) -> T {
        self.personal_bests.personal_best(dimension)
    }
    #[inline(always)]
    fn fours(dims: u32, _: u32) -> u32 {
        dims - dims % 4
    }
    #[inline(always)]
    fn global_best(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.global_best.load(dimension as usize) }
    }
    #[inline(always)]
    fn global_best_of_four(&self) -> [T; 4] {
        // SAFETY: see above.
        unsafe { self.global_best.load_four(0) }
    }
    #[inline(always)]
    fn best_fitness(&self) -> T {
        self.best_fitness
    }
    #[inline(always)]
    fn set_motion(&mut self, dimension: u32, position: T, velocity: T) {
        // SAFETY: see above.
        unsafe { self.motion.store_two(Self::index(dimension), [position, velocity]) }
    }
    #[inline(always)]
    fn improve(&mut self, dims: u32, fitness: T) {
        let fours = dims - dims % 4;
        let mut dimension = 0;
        while dimension < fours {
            let four = self.from(dimension).motions_of_four().map(|(position, _)| position);
            self.personal_bests.from(dimension).set_personal_bests_of_four(four);
            dimension += 4;
        }
        let mut home = self.personal_bests.rest(fours);
        while dimension < dims {
            home.set_personal_best(dimension - fours, self.position(dimension));
            dimension += 1;
        }
        self.best_fitness = fitness;
    }
}

impl<T: Scalar> Far<T> for Seated<'_, T> {
    #[inline(always)]
    fn personal_bests_of_four(&self) -> [T; 4] {
        self.personal_bests.personal_bests_of_four()
    }
    #[inline(always)]
    fn motions_of_four(&self) -> [(T, T); 4] {
        // SAFETY: see above.
        unsafe {
            if abreast::<T>() == 2 {
                let [a, b, c, d] = self.motion.load_four(Self::index(0));
                let [e, f, g, h] = self.motion.load_four(Self::index(2));
                [(a, b), (c, d), (e, f), (g, h)]
            } else {
                [0, 1, 2, 3].map(|ahead| self.motion(ahead))
            }
        }
    }
    #[inline(always)]
    fn bounds_of_four(&self) -> [Bound<T>; 4] {
        // SAFETY: see above.
        unsafe {
            if self.each_bound == 1 {
                let shifts = self.bounds.load_four(0);
                shifts.map(|shift| Bound { shift, ..self.any_bound })
            } else {
                [0, 4, 8, 12].map(|first| Bound::from_words(self.bounds.load_four(first)))
            }
        }
    }
    #[inline(always)]
    fn keep<P: Shuffle>(&mut self, pair: u32, made: P) {
        let mut word = pair * P::WORDS;
        made.map_words(|bits| {
            // SAFETY: see above; the words of all pairs are kept words.
            unsafe { self.kept.store((word * warp::LANES) as usize, bits) };
            word += 1;
            bits
        });
    }
    #[inline(always)]
    fn take<P: Partial>(&self, pair: u32) -> P {
        let mut word = pair * P::WORDS;
        P::none().map_words(|_| {
            // SAFETY: see above; this thread has kept it.
            let bits = unsafe { self.kept.load((word * warp::LANES) as usize) };
            word += 1;
            bits
        })
    }
}
