//! Particles whose fitness somebody else tells: what shows where they are, and what takes the values. No
//! function inside.
//!
//! The usual iteration is a [`Move`] and a [`Settle`]; a particle that improves is only marked as fresh, as in
//! [`in_memory`](super::in_memory). Any other one is an [`Advance`](super::motion::Advance), a [`Show`] and a [`Settle`].

use core::marker::PhantomData;

use super::{
    evaluate::{self, publish_best, take},
    in_memory::InMemory,
    publish::{self, Part},
    rounds::Rounds,
    step::{self, Step},
    step_cooperative::StepCooperative,
};
use crate::{
    gpu::{
        block,
        memory::{ReadOnly, ReadWrite},
        shared::Shared,
        thread, unroll, warp,
    },
    kernel::{Constants, Kernel, Launch, Name},
    math::{Real, Scalar},
    objective::{Context, Data, Dimensions, Goal, Info, Objective, Optimum, Point},
    swarm::{
        self,
        best::Candidate,
        layout::{self, Arrangement, Order, Quads, Sixteens, TILE},
        step::{Common, Motion, State},
        view::View,
    },
};

/// Dimensions of a tile that are in shared memory at once: two sectors of device memory in `f32`.
const WIDTH: usize = 16;

/// Numbers from one particle to the next in shared memory: one more than the dimensions, so that the
/// lanes of a warp read different banks.
const PITCH: usize = WIDTH + 1;

/// What [`Show`] is passed.
///
/// `positions` has `dims` numbers for each slot; `points` for each particle of each swarm.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ShowArguments<T> {
    /// How the function sees positions; without a rotation.
    pub view: View<T>,
    /// Number of particles of each swarm.
    pub particles: u32,
    /// In which order positions lie.
    pub order: Order,
    /// Positions, in tiles.
    pub positions: ReadWrite<T>,
    /// Receives the coordinates as the function sees them, particle after particle.
    pub points: ReadWrite<T>,
}

/// Writes the positions particle by particle, as the function sees them: a block of any number of threads for
/// each tile of each swarm.
pub struct Show<T>(PhantomData<T>);

impl<T: Scalar> Kernel for Show<T> {
    type Arguments = ShowArguments<T>;

    const NAME: Name = Name { family: "swarm_show", objective: "", precision: T::NAME };

    fn shared_bytes(_: u32, _: &Self::Arguments) -> u32 {
        tile::<T>().end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let ShowArguments { view, particles, order, positions, points } = arguments;
        let (dims, particles) = (view.dims as usize, *particles as usize);
        let (of_tile, threads) = (tile::<T>(), thread::block_threads() as usize);
        let tiles = layout::tiles(particles);
        let nth = thread::block_index() as usize;
        // There is one at least; the compiler cannot know.
        let (swarm, first) = (nth / tiles.max(1), nth % tiles.max(1) * TILE);
        let row = swarm * particles + first;
        let mut start = 0;
        while start < dims {
            let width = if dims - start < WIDTH { dims - start } else { WIDTH };
            let mut index = thread::index() as usize;
            while index < TILE * width {
                // Four loads on their way at a time: each alone would be waited for.
                let mut read = [T::ZERO; 4];
                unroll!(NTH in [0 1 2 3] {
                    let index = index + NTH * threads;
                    if index < TILE * width {
                        let slot = nth * TILE + index % TILE;
                        let place = order.index::<T>(slot, start + index / TILE, dims);
                        // SAFETY: slot and dimension exist; buffers as documented.
                        read[NTH] = unsafe { positions.load(place) };
                    }
                });
                unroll!(NTH in [0 1 2 3] {
                    let index = index + NTH * threads;
                    if index < TILE * width {
                        let (lane, offset) = (index % TILE, index / TILE);
                        // SAFETY: as above, and the place exists.
                        unsafe {
                            let seen = view.moved((start + offset) as u32, read[NTH]);
                            of_tile.store(lane * PITCH + offset, seen);
                        }
                    }
                });
                index += 4 * threads;
            }
            block::barrier();
            let mut index = thread::index() as usize;
            while index < TILE * WIDTH {
                let (lane, offset) = (index / WIDTH, index % WIDTH);
                if offset < width && first + lane < particles {
                    // SAFETY: the particle exists; this place was stored before the barrier.
                    unsafe {
                        let seen = of_tile.load(lane * PITCH + offset);
                        points.store((row + lane) * dims + start + offset, seen);
                    }
                }
                index += threads;
            }
            block::barrier();
            start += WIDTH;
        }
    }
}

/// Where a part of a tile is in shared memory.
const fn tile<T: Scalar>() -> Shared<T> {
    Shared::at(0, (TILE * PITCH) as u32)
}

/// What [`Settle`] is passed.
///
/// One of the lists has a value for each particle of each swarm, and the other nothing.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SettleArguments<T> {
    /// The particles, and what is done with their fitness; without a function.
    pub evaluation: evaluate::Arguments<(), T>,
    /// The values, in `f32`.
    pub singles: ReadOnly<f32>,
    /// The values, in `f64`.
    pub doubles: ReadOnly<f64>,
    /// In which order positions and personal bests lie.
    pub order: Order,
    /// If it is not empty, receives which particles improved, as [`Home`](super::in_memory::Home) has it, and
    /// personal bests stay as they are. In rows it is empty.
    pub fresh: ReadWrite<u32>,
}

/// Takes the values of all particles where they are, as [`Evaluate`](evaluate::Evaluate) takes a function's. Where
/// particles are marked, threads go through them in turn, as in [`Step`].
pub struct Settle<T>(PhantomData<T>);

impl<T: Scalar> Kernel for Settle<T> {
    type Arguments = SettleArguments<T>;

    const NAME: Name = Name { family: "swarm_settle", objective: "", precision: T::NAME };

    fn shared_bytes(threads: u32, _: &Self::Arguments) -> u32 {
        publish::shared_bytes::<T>(threads)
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let SettleArguments { evaluation, singles, doubles, order, fresh } = arguments;
        let &evaluate::Arguments {
            view,
            particles,
            swarms,
            iteration,
            positions,
            personal_bests,
            best_fitness,
            ..
        } = evaluation;
        let part = Part::of_this_thread(swarms, particles);
        let are_marked = !fresh.is_empty();
        let value = |nth: usize| {
            // SAFETY: there is a value for each particle.
            unsafe {
                if doubles.is_empty() {
                    T::nearest(f64::from(singles.at(nth)))
                } else {
                    T::nearest(doubles.at(nth))
                }
            }
        };
        // SAFETY: slot and dimension exist.
        let position = |slot: usize, dimension: u32| unsafe {
            let index = order.index::<T>(slot, dimension as usize, view.dims as usize);
            positions.load(index)
        };
        let mut mine = Candidate::NONE;
        if are_marked {
            let rounds = Rounds { iteration, particles, parts: 1 };
            let mut round = rounds.first();
            while rounds.has(round) {
                let particle = rounds.particle(round);
                let mut improved = false;
                if particle < particles {
                    let slot = particle as usize;
                    // SAFETY: the slot is this thread's own and exists; buffers as documented.
                    unsafe {
                        let before = best_fitness.load(slot);
                        let fitness = view.fitness(value(slot), &|at| position(slot, at));
                        improved = fitness < before;
                        if improved {
                            best_fitness.store(slot, fitness);
                        }
                        mine = mine.better(Candidate { fitness: fitness.least(before), particle });
                    }
                }
                // SAFETY: all lanes of the warp come here.
                unsafe { mark(fresh, *order, particle, part.stride, improved) };
                round = rounds.after(round);
            }
        } else if part.particle < particles {
            let (nth, slot) = (part.swarm * particles + part.particle, part.slot(part.particle));
            // SAFETY: as above.
            let fitness = unsafe {
                let fitness = view.fitness(value(nth as usize), &|at| position(slot, at));
                take(evaluation, slot, fitness)
            };
            mine = Candidate { fitness, particle: part.particle };
        }
        let personal_best = |slot: usize, dimension: u32| {
            let index = order.index::<T>(slot, dimension as usize, view.dims as usize);
            let marked = marked(*order) as usize;
            // SAFETY: slot, dimension and the word of the slot exist.
            unsafe {
                let is_fresh = are_marked && fresh.load(slot / marked) >> (slot % marked) & 1 == 1;
                // To choose between the buffers, the compiler would put them into local memory.
                if is_fresh { positions.load(index) } else { personal_bests.load(index) }
            }
        };
        // SAFETY: all threads of all blocks come here; the words are stored.
        unsafe { publish_best(evaluation, part, mine, personal_best) };
    }
}

/// Particles that share a word where they are marked.
#[inline(always)]
fn marked(order: Order) -> u32 {
    if order == Order::Sixteens { Sixteens::MARKED } else { Quads::MARKED }
}

/// Marks those of this warp's particles that say so, and no other.
///
/// # Safety
/// All lanes of the warp call it, with particles in order. There is a word for each of `slots`: the swarm and its
/// padding.
#[inline(always)]
unsafe fn mark(fresh: &ReadWrite<u32>, order: Order, particle: u32, slots: usize, improved: bool) {
    let word = warp::ballot(improved);
    let marked = marked(order);
    if (particle as usize) < slots && particle.is_multiple_of(marked) {
        let word = word >> warp::lane() & (u32::MAX >> (warp::LANES - marked));
        // SAFETY: the caller's promise.
        unsafe { fresh.store((particle / marked) as usize, word) };
    }
}

/// A function that is evaluated elsewhere: here each of its values is infinite, so that no particle improves.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Elsewhere;

impl Objective for Elsewhere {
    const INFO: Info = Info {
        name: "elsewhere",
        formula: "",
        source: "",
        interval: (0.0, 1.0),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Minimise,
        optimum: Optimum::Unknown,
        data: Data::None,
    };

    type Partial<T: Real> = T;

    #[inline(always)]
    fn term<T: Real>(&self, _: u32, _: &impl Point<T>, _: &Context<T::Scalar>) -> T {
        T::of(0.0)
    }

    #[inline(always)]
    fn finish<T: Real>(&self, _: T, _: &Context<T::Scalar>) -> T {
        T::splat(T::Scalar::INFINITY)
    }
}

/// What [`Move`] is passed.
///
/// `points` has `dims` numbers for each particle, or nothing.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MoveArguments<T> {
    /// The particles, without a function. Nothing is published.
    pub step: step::Arguments<Elsewhere, T>,
    /// Receives the coordinates, particle after particle: as the function sees them, if no shift moves it.
    pub points: ReadWrite<T>,
}

/// Moves all particles as the usual iteration does, stores the personal bests of those that are fresh, and shows where
/// they are, for which [`Show`] would have to read them again. Takes the swarm in quads.
pub struct Move<T>(PhantomData<T>);

impl<T: Scalar> Kernel for Move<T> {
    type Arguments = MoveArguments<T>;

    const NAME: Name = Name { family: "swarm_move", objective: "", precision: T::NAME };
    const LAUNCH: Launch = <Step<Elsewhere, T> as Kernel>::LAUNCH;

    fn constants(arguments: &Self::Arguments) -> Constants {
        // They lie at the beginning of these arguments too.
        <Step<Elsewhere, T> as Kernel>::constants(&arguments.step)
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let step::Arguments { common, home, global_best, .. } = &arguments.step;
        let &Common { iteration, particles, view, .. } = common;
        let rounds = Rounds { iteration, particles, parts: 1 };
        let mut round = rounds.first();
        while rounds.has(round) {
            let particle = rounds.particle(round);
            if particle < particles {
                let first = particle as usize * view.dims as usize;
                // SAFETY: the particle and its row are this thread's own; the buffers and the view as documented.
                unsafe {
                    let inner =
                        InMemory::<_, _, Quads>::new(home, particle, view.dims, *global_best);
                    let row = arguments.points.skip(first);
                    let is_shown = !arguments.points.is_empty();
                    let are_aligned = view.dims.is_multiple_of(4);
                    let mut state = Shown { inner, row, is_shown, are_aligned, dimension: 0 };
                    swarm::step::step(common, &mut state, particle);
                }
            }
            if particle - warp::lane() < particles {
                // SAFETY: there is a word for each warp of particles.
                unsafe { home.mark(particle, false) };
            }
            round = rounds.after(round);
        }
    }
}

/// A particle whose position is shown wherever it is stored.
#[derive(Clone, Copy)]
struct Shown<T, S> {
    inner: S,
    /// Its row of points, if it is shown.
    row: ReadWrite<T>,
    is_shown: bool,
    /// Whether each four of the row begin at a multiple of 16 bytes.
    are_aligned: bool,
    /// The dimension from which it is seen.
    dimension: u32,
}

impl<T: Scalar, S: State<T>> Shown<T, S> {
    #[inline(always)]
    fn show(&self, dimension: u32, position: T) {
        if self.is_shown {
            // SAFETY: the row has this dimension and is this thread's own.
            unsafe { self.row.store((self.dimension + dimension) as usize, position) }
        }
    }
}

impl<T: Scalar, S: State<T>> State<T> for Shown<T, S> {
    const IN_FOURS: bool = S::IN_FOURS;

    #[inline(always)]
    fn from(&self, dimension: u32) -> Self {
        let inner = self.inner.from(dimension);
        Self { inner, dimension: self.dimension + dimension, ..*self }
    }
    #[inline(always)]
    fn rest(&self, dimension: u32) -> Self {
        Self { inner: self.inner.rest(dimension), dimension, ..*self }
    }
    #[inline(always)]
    fn four(&self) -> [Motion<T>; 4] {
        self.inner.four()
    }
    #[inline(always)]
    fn renewed_four(&mut self, loaded: [Motion<T>; 4]) -> [Motion<T>; 4] {
        self.inner.renewed_four(loaded)
    }
    #[inline(always)]
    fn set_four(&mut self, moved: [[T; 2]; 4]) {
        self.inner.set_four(moved);
        let positions = moved.map(|[position, _]| position);
        if self.is_shown && self.are_aligned {
            let four = self.row.skip(self.dimension as usize);
            // SAFETY: the row has these dimensions and is this thread's own; they are aligned.
            unsafe { T::store_quad(&four, 0, layout::quad_width::<T>(), positions) }
        } else {
            unroll!(NTH in [0 1 2 3] { self.show(NTH as u32, positions[NTH]) });
        }
    }
    #[inline(always)]
    fn position(&self, dimension: u32) -> T {
        self.inner.position(dimension)
    }
    #[inline(always)]
    fn motion(&self, dimension: u32) -> (T, T) {
        self.inner.motion(dimension)
    }
    #[inline(always)]
    fn personal_best(&self, dimension: u32) -> T {
        self.inner.personal_best(dimension)
    }
    #[inline(always)]
    fn renewed(&mut self, dimension: u32, stored: T, position: T) -> T {
        self.inner.renewed(dimension, stored, position)
    }
    #[inline(always)]
    fn global_best(&self, dimension: u32) -> T {
        self.inner.global_best(dimension)
    }
    #[inline(always)]
    fn global_best_of_four(&self) -> [T; 4] {
        self.inner.global_best_of_four()
    }
    #[inline(always)]
    fn best_fitness(&self) -> T {
        self.inner.best_fitness()
    }
    #[inline(always)]
    fn set_motion(&mut self, dimension: u32, position: T, velocity: T) {
        self.inner.set_motion(dimension, position, velocity);
        self.show(dimension, position);
    }
    #[inline(always)]
    fn improve(&mut self, dims: u32, fitness: T) {
        self.inner.improve(dims, fitness);
    }
}

/// The same in sixteens, four threads a particle. It publishes the best that is known, and shows nothing.
pub struct MoveCooperative<T>(PhantomData<T>);

impl<T: Scalar> Kernel for MoveCooperative<T> {
    type Arguments = step::Arguments<Elsewhere, T>;

    const NAME: Name = Name { family: "swarm_move_cooperative", objective: "", precision: T::NAME };
    const LAUNCH: Launch = <StepCooperative<Elsewhere, T> as Kernel>::LAUNCH;

    fn shared_bytes(threads: u32, arguments: &Self::Arguments) -> u32 {
        <StepCooperative<Elsewhere, T> as Kernel>::shared_bytes(threads, arguments)
    }

    fn constants(arguments: &Self::Arguments) -> Constants {
        <StepCooperative<Elsewhere, T> as Kernel>::constants(arguments)
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        // SAFETY: the caller's promise.
        unsafe { <StepCooperative<Elsewhere, T> as Kernel>::run(arguments) }
    }
}
