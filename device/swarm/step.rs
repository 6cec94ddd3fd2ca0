//! The usual iteration of one particle in one pass: moved, evaluated and compared with its own best
//! while its coordinates are at hand.
//!
//! It does the same operations in the same order as [`rule::advance`](super::rule::advance) by
//! [`Rule::Inertia`](super::settings::Rule) with the global best as guide,
//! [`Edge::Absorb`](super::edge::Edge) and continuous variables, followed by
//! [`view::evaluate`](super::view::evaluate) without a rotation: the same bits, in one launch and
//! with each coordinate loaded once.

use super::{
    best::competing,
    update::{Advance, Bound, Coefficients},
    view::View,
};
use crate::{
    math::{PerLane, Scalar},
    objective::{Objective, Point, evaluation::Evaluation},
    random::{Draw, Key, Purpose},
};

/// What all particles share in one iteration.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Common<O, S> {
    /// The function.
    pub objective: O,
    /// How it sees positions: neither rotated nor with variables that are not continuous.
    pub view: View<S>,
    /// Number of particles.
    pub particles: u32,
    /// Counts from 1.
    pub iteration: u32,
    /// The run's seed.
    pub key: Key,
    /// The coefficients of this iteration.
    pub coefficients: Coefficients<S>,
}

impl<S> Common<(), S> {
    /// The same for a function.
    pub fn of<O>(self, objective: O) -> Common<O, S> {
        let Self { view, particles, iteration, key, coefficients, .. } = self;
        Common { objective, view, particles, iteration, key, coefficients }
    }
}

/// The state of one particle.
pub trait State<T> {
    /// Position in one dimension.
    fn position(&self, dimension: u32) -> T;
    /// Velocity in one dimension.
    fn velocity(&self, dimension: u32) -> T;
    /// Own best position in one dimension.
    fn own_best(&self, dimension: u32) -> T;
    /// The swarm's best position in one dimension.
    fn guide(&self, dimension: u32) -> T;
    /// Own best fitness.
    fn best_fitness(&self) -> T;
    /// Stores position and velocity in one dimension.
    fn set_motion(&mut self, dimension: u32, position: T, velocity: T);
    /// Stores own best position in one dimension.
    fn set_own_best(&mut self, dimension: u32, position: T);
    /// Stores own best fitness.
    fn set_best_fitness(&mut self, fitness: T);
}

/// The position in a state as the function sees it: moved by the shift.
struct Shifted<'a, S, T> {
    view: &'a View<S>,
    state: &'a T,
}

impl<S: Scalar, T: State<S>> Point<S> for Shifted<'_, S, T> {
    #[inline(always)]
    fn at(&self, dimension: u32) -> S {
        let inside = dimension < self.view.dims;
        #[cfg(not(target_arch = "nvptx64"))]
        assert!(inside, "coordinate {dimension} of a point with {} was asked for", self.view.dims);
        if !inside {
            return S::of(f64::NAN);
        }
        // SAFETY: below `dims`; the bounds by the promise given to `step`.
        let bound = unsafe { self.view.bound(dimension) };
        self.state.position(dimension) - bound.shift
    }
}

/// Moves a particle once, evaluates it, and renews its own best if it improved. Returns its best
/// fitness.
///
/// # Safety
/// `common.view` is as documented.
#[inline(always)]
pub unsafe fn step<O: Objective, T: Scalar>(
    common: &Common<O, T>,
    state: &mut impl State<T>,
    particle: u32,
) -> T {
    let Common { key, iteration, .. } = *common;
    let draw = Draw { key, iteration, particle, group: 0, purpose: Purpose::Velocity, nth: 0 };
    let fitness = motion(common, state, draw);
    let before = state.best_fitness();
    if fitness < before {
        for dimension in 0..common.view.dims {
            state.set_own_best(dimension, state.position(dimension));
        }
        state.set_best_fitness(fitness);
    }
    fitness.least(before)
}

/// What an iteration needs of the state.
#[derive(Clone, Copy)]
struct Motion<T> {
    position: T,
    velocity: T,
    own_best: T,
}

#[inline(always)]
fn load<T: Scalar>(state: &impl State<T>, dimension: u32) -> Motion<T> {
    Motion {
        position: state.position(dimension),
        velocity: state.velocity(dimension),
        own_best: state.own_best(dimension),
    }
}

/// Draws random numbers and moves the particle in every dimension, and evaluates where that leads.
#[inline(always)]
fn motion<O: Objective, T: Scalar>(
    common: &Common<O, T>,
    state: &mut impl State<T>,
    mut draw: Draw,
) -> T {
    let dims = common.view.dims;
    let context = common.view.context();
    let mut evaluation = Evaluation::<O, T>::new(&common.objective, &context);
    let mut dimension = 0;
    // A GPU thread waits long for memory: the loads of four dimensions go out before the first
    // store, past which nothing could move them.
    while dims - dimension >= 4 {
        // SAFETY: below `dims`, as the loop's condition says. Without the check the compiler sees
        // that the four addresses differ by constants.
        let later = |ahead: u32| unsafe { dimension.unchecked_add(ahead) };
        let load = |ahead| load(&*state, later(ahead));
        let loaded = (load(0), load(1), load(2), load(3));
        let [first, second] = next_uniforms(&mut draw);
        place::<O, T, 0>(common, state, &mut evaluation, dimension, loaded.0, first);
        if T::PAIRS_PER_BLOCK == 2 {
            place::<O, T, 1>(common, state, &mut evaluation, later(1), loaded.1, second);
            let [third, fourth] = next_uniforms(&mut draw);
            place::<O, T, 2>(common, state, &mut evaluation, later(2), loaded.2, third);
            place::<O, T, 3>(common, state, &mut evaluation, later(3), loaded.3, fourth);
        } else {
            let second = next_uniforms(&mut draw)[0];
            place::<O, T, 1>(common, state, &mut evaluation, later(1), loaded.1, second);
            let third = next_uniforms(&mut draw)[0];
            place::<O, T, 2>(common, state, &mut evaluation, later(2), loaded.2, third);
            let fourth = next_uniforms(&mut draw)[0];
            place::<O, T, 3>(common, state, &mut evaluation, later(3), loaded.3, fourth);
        }
        dimension += 4;
    }
    while dimension < dims {
        let [first, second] = next_uniforms(&mut draw);
        for nth in 0..T::PAIRS_PER_BLOCK {
            if dimension < dims {
                let random = if nth == 0 { first } else { second };
                let loaded = load(&*state, dimension);
                place::<O, T, ANY>(common, state, &mut evaluation, dimension, loaded, random);
                dimension += 1;
            }
        }
    }
    let value = evaluation.finish(&Shifted { view: &common.view, state: &*state });
    competing(common.view.sign * value)
}

/// The uniforms of the next block of random bits.
#[inline(always)]
fn next_uniforms<T: Scalar>(draw: &mut Draw) -> [(T, T); 2] {
    let pairs = T::uniforms(*draw);
    draw.group += 1;
    pairs
}

/// In place of a dimension's remainder by 4, which is not known.
const ANY: u32 = u32::MAX;

/// Moves the particle in one dimension, whose remainder by 4 is `OFFSET`, and hands the position to the
/// evaluation.
///
/// What all particles share, the guide and the bound, is read here and not ahead: it comes from the
/// cache, and would cost registers.
#[inline(always)]
fn place<O: Objective, T: Scalar, const OFFSET: u32>(
    common: &Common<O, T>,
    state: &mut impl State<T>,
    evaluation: &mut Evaluation<'_, O, T>,
    dimension: u32,
    loaded: Motion<T>,
    (r1, r2): (T, T),
) {
    // SAFETY: below `dims`; the bounds by the promise given to `step`.
    let bound: Bound<T> = unsafe { common.view.bound(dimension) };
    let guide = state.guide(dimension);
    let advance = Advance { coefficients: common.coefficients, bound };
    let Motion { position, velocity, own_best } = loaded;
    let [position, velocity] = advance.apply([position, velocity, own_best, guide, r1, r2]);
    state.set_motion(dimension, position, velocity);
    if OFFSET == ANY {
        evaluation.push(dimension, position - bound.shift);
    } else {
        evaluation.push_of_four::<OFFSET>(dimension, position - bound.shift);
    }
}
