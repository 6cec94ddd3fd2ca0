//! One iteration of some neighbouring particles, whatever holds their state.
//!
//! A GPU thread calls it for one particle in device memory, a CPU core for a tile of them along its
//! SIMD lanes: the number type says which (see [`Real`]).

use super::{
    best::competing,
    update::{self, Bound, Coefficients},
};
use crate::{
    gpu::memory::ReadOnly,
    math::{Real, Scalar},
    objective::{Context, Objective, Point, evaluation::Evaluation},
    random::{Draw, Key, Purpose},
};

/// What all particles of a swarm share during a run.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Common<O, S> {
    /// The function.
    pub objective: O,
    /// Number of particles.
    pub particles: u32,
    /// Number of dimensions.
    pub dims: u32,
    /// The run's seed.
    pub key: Key,
    /// The coefficients of the velocity update.
    pub coefficients: Coefficients<S>,
    /// Four numbers for each dimension: see [`Bound`].
    pub bounds: ReadOnly<S>,
    /// The function's data.
    pub data: ReadOnly<S>,
}

impl<O, S: Scalar> Common<O, S> {
    /// The bound of one dimension.
    ///
    /// # Safety
    /// `dimension` is below `dims`, and `bounds` holds four numbers for each dimension, aligned to
    /// 16 bytes.
    #[inline(always)]
    pub unsafe fn bound(&self, dimension: u32) -> Bound<S> {
        // SAFETY: the caller's promise.
        Bound::from_words(unsafe { self.bounds.four(dimension as usize) })
    }

    /// What the function is given besides the point.
    #[inline(always)]
    pub fn context(&self) -> Context<S> {
        Context::new(self.dims, self.data)
    }
}

/// The state of neighbouring particles, as many as `V` has lanes.
pub trait State<V> {
    /// Positions in one dimension.
    fn position(&self, dimension: u32) -> V;
    /// Velocities in one dimension.
    fn velocity(&self, dimension: u32) -> V;
    /// Own best positions in one dimension.
    fn own_best(&self, dimension: u32) -> V;
    /// What attracts the particles in one dimension besides their own best: the swarm's best.
    fn guide(&self, dimension: u32) -> V;
    /// Own best fitness.
    fn best_fitness(&self) -> V;
    /// Stores positions and velocities in one dimension.
    fn set_motion(&mut self, dimension: u32, position: V, velocity: V);
    /// Stores own best positions in one dimension.
    fn set_own_best(&mut self, dimension: u32, position: V);
    /// Stores own best fitness.
    fn set_best_fitness(&mut self, fitness: V);
}

/// The positions in a state as the function sees them: moved by the shift.
struct Shifted<'a, O, S, T> {
    common: &'a Common<O, S>,
    state: &'a T,
}

impl<O, V: Real, T: State<V>> Point<V> for Shifted<'_, O, V::Scalar, T> {
    #[inline(always)]
    fn at(&self, dimension: u32) -> V {
        let inside = dimension < self.common.dims;
        #[cfg(not(target_arch = "nvptx64"))]
        assert!(
            inside,
            "coordinate {dimension} of a point with {} was asked for",
            self.common.dims
        );
        if !inside {
            return V::of(f64::NAN);
        }
        // SAFETY: below `dims`; the bounds by the promise given to `start` or `step`.
        let bound = unsafe { self.common.bound(dimension) };
        self.state.position(dimension) - V::splat(bound.shift)
    }
}

/// Gives the particles `first` and following their first positions and velocities, evaluates them,
/// and makes where they are their own best. Returns their fitness, NaN replaced by infinity.
///
/// # Safety
/// `common.bounds` holds four numbers for each of `common.dims` dimensions, aligned to 16 bytes.
#[inline(always)]
pub unsafe fn start<O: Objective, V: Real>(
    common: &Common<O, V::Scalar>,
    state: &mut impl State<V>,
    first: u32,
) -> V {
    let draw =
        Draw { key: common.key, iteration: 0, particle: first, group: 0, purpose: Purpose::Start };
    let fitness = motion(common, state, draw, &First);
    for dimension in 0..common.dims {
        state.set_own_best(dimension, state.position(dimension));
    }
    state.set_best_fitness(fitness);
    fitness
}

/// Moves the particles `first` and following once, evaluates them, and renews their own best where
/// they improved. Returns their best fitness. `iteration` counts from 1.
///
/// # Safety
/// `common.bounds` holds four numbers for each of `common.dims` dimensions, aligned to 16 bytes.
#[inline(always)]
pub unsafe fn step<O: Objective, V: Real>(
    common: &Common<O, V::Scalar>,
    state: &mut impl State<V>,
    iteration: u32,
    first: u32,
) -> V {
    let draw =
        Draw { key: common.key, iteration, particle: first, group: 0, purpose: Purpose::Velocity };
    let fitness = motion(common, state, draw, &Attracted { coefficients: common.coefficients });
    let before = state.best_fitness();
    let improved = fitness.less(before);
    if V::any(improved) {
        for dimension in 0..common.dims {
            let mut position = state.position(dimension);
            // A lone particle has improved; of several, the others keep what they had.
            if V::LANES > 1 {
                position = V::select(improved, position, state.own_best(dimension));
            }
            state.set_own_best(dimension, position);
        }
        state.set_best_fitness(fitness.least(before));
    }
    fitness.least(before)
}

/// How particles get their next position and velocity in one dimension.
///
/// A trait and not a closure: only what is always inlined is compiled for the caller's vector
/// instructions. Loading is apart from computing so that a GPU thread can have several dimensions'
/// loads under way; a rule reads its own dimension only, since others may have moved already or not.
trait Rule<V: Real> {
    /// What the rule needs of the state.
    type Loaded: Copy;

    fn load(&self, state: &impl State<V>, dimension: u32) -> Self::Loaded;

    /// What all particles share, the guide and the bound, is read here and not ahead: it comes from
    /// the cache, and would cost registers.
    fn apply(
        &self,
        state: &impl State<V>,
        dimension: u32,
        loaded: Self::Loaded,
        random: (V, V),
        bound: &Bound<V::Scalar>,
    ) -> (V, V);
}

/// The start: see [`update::Start`].
struct First;

impl<V: Real> Rule<V> for First {
    type Loaded = ();

    #[inline(always)]
    fn load(&self, _: &impl State<V>, _: u32) {}

    #[inline(always)]
    fn apply(
        &self,
        _: &impl State<V>,
        _: u32,
        (): (),
        random: (V, V),
        bound: &Bound<V::Scalar>,
    ) -> (V, V) {
        let start = update::Start { bound: *bound };
        let [position, velocity] = V::per_lane(&start, [random.0, random.1]);
        (position, velocity)
    }
}

/// An iteration: see [`update::Advance`].
struct Attracted<S> {
    coefficients: Coefficients<S>,
}

/// What an iteration needs of the state.
#[derive(Clone, Copy)]
struct Motion<V: Real> {
    position: V,
    velocity: V,
    own_best: V,
}

impl<V: Real> Rule<V> for Attracted<V::Scalar> {
    type Loaded = Motion<V>;

    #[inline(always)]
    fn load(&self, state: &impl State<V>, dimension: u32) -> Motion<V> {
        Motion {
            position: state.position(dimension),
            velocity: state.velocity(dimension),
            own_best: state.own_best(dimension),
        }
    }

    #[inline(always)]
    fn apply(
        &self,
        state: &impl State<V>,
        dimension: u32,
        loaded: Motion<V>,
        random: (V, V),
        bound: &Bound<V::Scalar>,
    ) -> (V, V) {
        let Motion { position, velocity, own_best } = loaded;
        let guide = state.guide(dimension);
        let advance = update::Advance { coefficients: self.coefficients, bound: *bound };
        let inputs = [position, velocity, own_best, guide, random.0, random.1];
        let [position, velocity] = V::per_lane(&advance, inputs);
        (position, velocity)
    }
}

/// Draws random numbers and applies `rule` for every dimension, and evaluates where it leads.
#[inline(always)]
fn motion<O: Objective, V: Real>(
    common: &Common<O, V::Scalar>,
    state: &mut impl State<V>,
    mut draw: Draw,
    rule: &impl Rule<V>,
) -> V {
    let context = common.context();
    let mut evaluation = Evaluation::<O, V>::new(&common.objective, &context);
    let mut dimension = 0;
    if V::LANES == 1 {
        // A GPU thread waits long for memory: the loads of four dimensions go out before the first
        // store, past which nothing could move them.
        while common.dims - dimension >= 4 {
            // SAFETY: below `dims`, as the loop's condition says. Without the check the compiler
            // sees that the four addresses differ by constants.
            let later = |ahead: u32| unsafe { dimension.unchecked_add(ahead) };
            let load = |ahead| rule.load(&*state, later(ahead));
            let loaded = (load(0), load(1), load(2), load(3));
            let mut move_one = |ahead, random, loaded| {
                let dimension = later(ahead);
                // SAFETY: below `dims`; the bounds by the promise given to `start` or `step`.
                let bound = unsafe { common.bound(dimension) };
                let moved = rule.apply(&*state, dimension, loaded, random, &bound);
                place(state, &mut evaluation, dimension, moved, &bound);
            };
            let [first, second] = next_uniforms(&mut draw);
            move_one(0, first, loaded.0);
            if V::Scalar::PAIRS_PER_BLOCK == 2 {
                move_one(1, second, loaded.1);
                let [third, fourth] = next_uniforms(&mut draw);
                move_one(2, third, loaded.2);
                move_one(3, fourth, loaded.3);
            } else {
                move_one(1, next_uniforms(&mut draw)[0], loaded.1);
                move_one(2, next_uniforms(&mut draw)[0], loaded.2);
                move_one(3, next_uniforms(&mut draw)[0], loaded.3);
            }
            dimension += 4;
        }
    }
    while dimension < common.dims {
        let [first, second] = next_uniforms(&mut draw);
        for nth in 0..V::Scalar::PAIRS_PER_BLOCK {
            if dimension < common.dims {
                let random = if nth == 0 { first } else { second };
                // SAFETY: below `dims`; the bounds by the promise given to `start` or `step`.
                let bound = unsafe { common.bound(dimension) };
                let loaded = rule.load(&*state, dimension);
                let moved = rule.apply(&*state, dimension, loaded, random, &bound);
                place(state, &mut evaluation, dimension, moved, &bound);
                dimension += 1;
            }
        }
    }
    competing(evaluation.finish(&Shifted { common, state: &*state }))
}

/// The uniforms of the next block of random bits.
#[inline(always)]
fn next_uniforms<V: Real>(draw: &mut Draw) -> [(V, V); 2] {
    let pairs = V::uniforms(*draw);
    draw.group += 1;
    pairs
}

/// Stores a new position and velocity and hands the position to the evaluation.
#[inline(always)]
fn place<O: Objective, V: Real>(
    state: &mut impl State<V>,
    evaluation: &mut Evaluation<'_, O, V>,
    dimension: u32,
    (position, velocity): (V, V),
    bound: &Bound<V::Scalar>,
) {
    state.set_motion(dimension, position, velocity);
    evaluation.push(dimension, position - V::splat(bound.shift));
}
