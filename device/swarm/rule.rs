//! One move of some neighbouring particles, by any rule.
//!
//! A GPU thread calls it for one particle, a CPU core for a tile of them along its SIMD lanes (see
//! [`Real`]). It knows nothing of the function: what it yields are the points to be evaluated next.

use core::ops::Range;

use super::{
    edge,
    settings::{Randomness, Rule, Settings, Variable, way},
    topology::below,
    update::{self, Bound, Coefficients, Start, calmed, limit_speed},
};
use crate::{
    math::{Real, Scalar},
    objective::sum::Fold,
    random::{Draw, Key, Purpose},
};

/// Neighbouring particles of one swarm, as many as `V` has lanes, among all of its particles.
pub trait Flock<V: Real> {
    /// Positions in one dimension.
    fn position(&self, dimension: u32) -> V;
    /// Velocities in one dimension.
    fn velocity(&self, dimension: u32) -> V;
    /// Personal best positions in one dimension.
    fn personal_best(&self, dimension: u32) -> V;
    /// The personal best position of each particle's best informant.
    fn neighbourhood_best(&self, dimension: u32) -> V;
    /// 1 for each particle that is its own best informant, 0 for the others.
    fn is_own_neighbourhood_best(&self) -> V;
    /// The personal best position of each particle's `nth` informant.
    fn informant(&self, nth: u32, dimension: u32) -> V;
    /// The personal best position from which each particle learns in one dimension.
    fn exemplar(&self, dimension: u32) -> V;
    /// Stores positions and velocities in one dimension.
    fn set_motion(&mut self, dimension: u32, position: V, velocity: V);
}

/// A move: which particles of which swarm, and when.
#[derive(Clone, Copy, Debug)]
pub struct Move<S> {
    /// The swarm's seed.
    pub key: Key,
    /// Counts from 1; 0 is the start.
    pub iteration: u32,
    /// Index of the first of the particles in their swarm.
    pub first: u32,
    /// The coefficients of this iteration.
    pub coefficients: Coefficients<S>,
}

impl<S: Scalar> Move<S> {
    #[inline(always)]
    fn draw(&self, purpose: Purpose, group: u32) -> Draw {
        let Self { key, iteration, first, .. } = *self;
        Draw { key, iteration, particle: first, group, purpose, nth: 0 }
    }
}

/// Pairs of uniforms, dimension by dimension; raised to [1, 2) if `RAISED`.
struct Pairs<V, const RAISED: bool = false> {
    draw: Draw,
    randomness: Randomness,
    blocks: u32,
    pairs: [(V, V); 2],
}

impl<V: Real, const RAISED: bool> Pairs<V, RAISED> {
    #[inline(always)]
    fn new<S: Scalar>(by: &Move<S>, purpose: Purpose, randomness: Randomness) -> Self {
        let zero = V::of(0.0);
        Self { draw: by.draw(purpose, 0), randomness, blocks: 0, pairs: [(zero, zero); 2] }
    }

    /// The pair of the next dimension; call it for one after the other, from a multiple of
    /// [`Scalar::PAIRS_PER_BLOCK`] on.
    #[inline(always)]
    fn next(&mut self, dimension: u32) -> (V, V) {
        let per_block = V::Scalar::PAIRS_PER_BLOCK;
        if self.randomness == Randomness::PerParticle {
            if self.blocks == 0 {
                self.pairs = Self::drawn(self.draw);
                self.blocks = 1;
            }
            return self.pairs[0];
        }
        if dimension.is_multiple_of(per_block) {
            self.pairs = Self::drawn(Draw { group: dimension / per_block, ..self.draw });
            self.pairs[0]
        } else {
            self.pairs[1]
        }
    }

    #[inline(always)]
    fn drawn(draw: Draw) -> [(V, V); 2] {
        if RAISED { V::raised_uniforms(draw) } else { V::uniforms(draw) }
    }
}

/// First positions and velocities: see [`Start`].
///
/// # Safety
/// `settings` is as documented.
#[inline(always)]
pub unsafe fn scatter<V: Real>(
    settings: &Settings<V::Scalar>,
    flock: &mut impl Flock<V>,
    by: Move<V::Scalar>,
) {
    let mut pairs = Pairs::<V>::new(&by, Purpose::Start, Randomness::PerDimension);
    for dimension in 0..settings.dims {
        // SAFETY: below `dims`.
        let bound = unsafe { settings.bound(dimension) };
        let (r1, r2) = pairs.next(dimension);
        let [position, velocity] = V::per_lane(&Start { bound }, [r1, r2]);
        flock.set_motion(dimension, position, velocity);
    }
}

/// Moves the particles once: in those dimensions, if the rule [is separable](Rule::is_separable), or else in
/// all.
///
/// # Safety
/// `settings` is as documented. `dimensions` begin with a multiple of [`Scalar::PAIRS_PER_BLOCK`] and end with
/// the last one at most.
#[inline(always)]
pub unsafe fn advance<V: Real>(
    settings: &Settings<V::Scalar>,
    flock: &mut impl Flock<V>,
    by: Move<V::Scalar>,
    dimensions: Range<u32>,
) {
    // SAFETY: the caller's promise, for all five.
    unsafe {
        match settings.rule {
            Rule::Inertia => inertia(settings, flock, by, dimensions),
            Rule::FullyInformed => fully_informed(settings, flock, by, dimensions),
            Rule::Standard2011 => standard_2011(settings, flock, by),
            Rule::BareBones => bare_bones(settings, flock, by, dimensions),
            Rule::Comprehensive => comprehensive(settings, flock, by),
        }
    }
}

/// Moves the particles in one dimension and keeps them in the box.
#[inline(always)]
fn place<V: Real>(
    settings: &Settings<V::Scalar>,
    flock: &mut impl Flock<V>,
    by: &Move<V::Scalar>,
    dimension: u32,
    velocity: V,
    (bound, variable): (Bound<V::Scalar>, Variable),
) {
    let position = flock.position(dimension);
    let [velocity] = V::per_lane(&Limit(bound), [velocity]);
    let (position, velocity) = if variable == Variable::Periodic {
        edge::confine(edge::Edge::Wrap, bound, position, velocity, velocity)
    } else if settings.edge.is_random() {
        let draw = by.draw(Purpose::Edge, dimension);
        let [(random, _), _] = V::uniforms(draw);
        edge::confine(settings.edge, bound, position, velocity, random)
    } else {
        edge::confine(settings.edge, bound, position, velocity, velocity)
    };
    flock.set_motion(dimension, position, calmed(velocity));
}

struct Limit<S>(Bound<S>);

impl<S: Scalar> crate::math::PerLane<S, 1, 1> for Limit<S> {
    #[inline(always)]
    fn apply(&self, [velocity]: [S; 1]) -> [S; 1] {
        [limit_speed(velocity, &self.0)]
    }
}

/// Bound and variable of a dimension.
///
/// # Safety
/// `dimension` is below `dims`, and `settings` is as documented.
#[inline(always)]
unsafe fn limits<S: Scalar>(settings: &Settings<S>, dimension: u32) -> (Bound<S>, Variable) {
    // SAFETY: the caller's promise.
    unsafe { (settings.bound(dimension), settings.variable(dimension)) }
}

/// [`advance`] by [`Rule::Inertia`]: v' = inertia v + cognitive r1 (personal best - x) + social r2 (neighbourhood best - x).
///
/// # Safety
/// As there.
#[inline(always)]
pub(super) unsafe fn inertia<V: Real>(
    settings: &Settings<V::Scalar>,
    flock: &mut impl Flock<V>,
    by: Move<V::Scalar>,
    dimensions: Range<u32>,
) {
    let plain = settings.edge == edge::Edge::Absorb && settings.variables.is_empty();
    let mut pairs = Pairs::<V, true>::new(&by, Purpose::Velocity, settings.randomness);
    for dimension in dimensions {
        // SAFETY: the caller's promise.
        let (bound, variable) = unsafe { limits(settings, dimension) };
        let (r1, r2) = pairs.next(dimension);
        let position = flock.position(dimension);
        let velocity = flock.velocity(dimension);
        let (personal_best, neighbourhood_best) =
            (flock.personal_best(dimension), flock.neighbourhood_best(dimension));
        if plain {
            // The usual case in one loop over the lanes; the same operations.
            let all = update::Advance { coefficients: by.coefficients, bound };
            let inputs = [position, velocity, personal_best, neighbourhood_best, r1, r2];
            let [position, velocity] = V::per_lane(&all, inputs);
            flock.set_motion(dimension, position, velocity);
        } else {
            let pull = update::Pull { coefficients: by.coefficients };
            let to_own = way(personal_best, position, variable, &bound);
            let to_neighbourhood_best = way(neighbourhood_best, position, variable, &bound);
            let [velocity] = V::per_lane(&pull, [velocity, to_own, to_neighbourhood_best, r1, r2]);
            place(settings, flock, &by, dimension, velocity, (bound, variable));
        }
    }
}

/// v' = inertia v + sum over the informants k of (cognitive + social) / |N| r_k (p_k - x).
#[inline(always)]
unsafe fn fully_informed<V: Real>(
    settings: &Settings<V::Scalar>,
    flock: &mut impl Flock<V>,
    by: Move<V::Scalar>,
    dimensions: Range<u32>,
) {
    let Coefficients { inertia, cognitive, social } = by.coefficients;
    let informants = settings.topology.informants(settings.particles);
    let share = V::splat(cognitive + social) / V::count(informants);
    let per_particle = settings.randomness == Randomness::PerParticle;
    for dimension in dimensions {
        // SAFETY: the caller's promise.
        let (bound, variable) = unsafe { limits(settings, dimension) };
        let position = flock.position(dimension);
        let mut velocity = V::splat(inertia) * flock.velocity(dimension);
        let draw = by.draw(Purpose::Weights, if per_particle { 0 } else { dimension });
        let mut nth = 0;
        while nth < informants {
            let [(r1, r2), _] = V::uniforms(Draw { nth: nth / 2, ..draw });
            let to_first = way(flock.informant(nth, dimension), position, variable, &bound);
            velocity = (share * r1).fma(to_first, velocity);
            if nth + 1 < informants {
                let second = flock.informant(nth + 1, dimension);
                velocity = (share * r2).fma(way(second, position, variable, &bound), velocity);
            }
            nth += 2;
        }
        place(settings, flock, &by, dimension, velocity, (bound, variable));
    }
}

/// A standard normal deviate from two uniforms in [0, 1) (Box and Muller 1958).
#[inline(always)]
fn normal<V: Real>((r1, r2): (V, V)) -> V {
    let radius = (V::of(-2.0) * (V::of(1.0) - r1).ln()).sqrt();
    radius * (r2 + r2).cos_pi()
}

/// From x to the middle of x and the points that `pulls` lead to from it, towards personal best and neighbourhood best;
/// a particle that is its own neighbourhood best counts it once.
#[inline(always)]
fn to_middle<V: Real>(
    flock: &impl Flock<V>,
    pulls: (V, V),
    dimension: u32,
    bound: &Bound<V::Scalar>,
    variable: Variable,
) -> V {
    let position = flock.position(dimension);
    let to_own = pulls.0 * way(flock.personal_best(dimension), position, variable, bound);
    let to_neighbourhood_best =
        pulls.1 * way(flock.neighbourhood_best(dimension), position, variable, bound);
    let both = (to_own + to_neighbourhood_best) / V::of(3.0);
    let half = V::of(0.5);
    V::select(half.less(flock.is_own_neighbourhood_best()), to_own * half, both)
}

/// v' = inertia v + y - x, with y at a random distance, uniform up to |g - x|, in a random direction
/// from g, the middle of x and the points a little beyond personal best and neighbourhood best. Does not depend on the
/// choice of axes.
#[inline(always)]
unsafe fn standard_2011<V: Real>(
    settings: &Settings<V::Scalar>,
    flock: &mut impl Flock<V>,
    by: Move<V::Scalar>,
) {
    let Coefficients { inertia, cognitive, social } = by.coefficients;
    let dims = settings.dims;
    let pulls = (V::splat(cognitive), V::splat(social));
    let (mut distance, mut length) = (Fold::new(dims), Fold::new(dims));
    let mut pairs = Pairs::<V>::new(&by, Purpose::Velocity, Randomness::PerDimension);
    for dimension in 0..dims {
        // SAFETY: below `dims`.
        let (bound, variable) = unsafe { limits(settings, dimension) };
        let middle = to_middle(flock, pulls, dimension, &bound, variable);
        let direction = normal(pairs.next(dimension));
        distance.push(middle * middle);
        length.push(direction * direction);
    }
    let [(random, _), _] = V::uniforms(by.draw(Purpose::Radius, 0));
    let (distance, length) = (distance.finish().sqrt(), length.finish().sqrt());
    let zero = V::of(0.0);
    let scale = V::select(zero.less(length), random * distance / length, zero);
    let mut pairs = Pairs::<V>::new(&by, Purpose::Velocity, Randomness::PerDimension);
    for dimension in 0..dims {
        // SAFETY: below `dims`.
        let (bound, variable) = unsafe { limits(settings, dimension) };
        let middle = to_middle(flock, pulls, dimension, &bound, variable);
        let direction = normal(pairs.next(dimension));
        let jump = direction.fma(scale, middle);
        let velocity = V::splat(inertia).fma(flock.velocity(dimension), jump);
        place(settings, flock, &by, dimension, velocity, (bound, variable));
    }
}

/// x' is normal around the middle of personal best and neighbourhood best, with their distance as the deviation.
#[inline(always)]
unsafe fn bare_bones<V: Real>(
    settings: &Settings<V::Scalar>,
    flock: &mut impl Flock<V>,
    by: Move<V::Scalar>,
    dimensions: Range<u32>,
) {
    let mut pairs = Pairs::<V>::new(&by, Purpose::Velocity, Randomness::PerDimension);
    for dimension in dimensions {
        // SAFETY: the caller's promise.
        let (bound, variable) = unsafe { limits(settings, dimension) };
        let deviate = normal(pairs.next(dimension));
        let (position, personal_best) = (flock.position(dimension), flock.personal_best(dimension));
        let apart = way(flock.neighbourhood_best(dimension), personal_best, variable, &bound);
        let middle = apart.fma(V::of(0.5), personal_best);
        let velocity = deviate.fma(apart.abs(), middle) - position;
        place(settings, flock, &by, dimension, velocity, (bound, variable));
    }
}

/// v' = inertia v + cognitive r (exemplar - x).
#[inline(always)]
unsafe fn comprehensive<V: Real>(
    settings: &Settings<V::Scalar>,
    flock: &mut impl Flock<V>,
    by: Move<V::Scalar>,
) {
    let Coefficients { inertia, cognitive, .. } = by.coefficients;
    let mut pairs = Pairs::<V>::new(&by, Purpose::Velocity, settings.randomness);
    for dimension in 0..settings.dims {
        // SAFETY: below `dims`.
        let (bound, variable) = unsafe { limits(settings, dimension) };
        let (random, _) = pairs.next(dimension);
        let to_exemplar =
            way(flock.exemplar(dimension), flock.position(dimension), variable, &bound);
        let kept = V::splat(inertia) * flock.velocity(dimension);
        let velocity = (V::splat(cognitive) * random).fma(to_exemplar, kept);
        place(settings, flock, &by, dimension, velocity, (bound, variable));
    }
}

/// Chooses from whom a particle learns in each dimension: with a probability that grows with its
/// index (0.05 to 0.5) from the better of two others drawn at random, else from itself; in at least
/// one dimension from another. `fitness` tells personal best fitness, `choose(dimension, particle)` takes
/// the choice.
#[inline(always)]
pub fn choose_exemplars<S: Scalar>(
    (dims, particles): (u32, u32),
    (key, iteration, particle): (Key, u32, u32),
    fitness: impl Fn(u32) -> S,
    mut choose: impl FnMut(u32, u32),
) {
    let last = S::count(if particles > 1 { particles - 1 } else { 1 });
    let rank = S::of(10.0) * S::count(particle) / last;
    let one = S::of(1.0);
    let grown = (rank.exp() - one) / (S::of(10.0).exp() - one);
    let probability = S::of(0.45).fma(grown, S::of(0.05));
    let draw = |group, nth| {
        Draw { key, iteration, particle, group, purpose: Purpose::Exemplars, nth }.block()
    };
    // One of the others, by a random word.
    let other = |word| {
        let drawn = below(word, if particles > 1 { particles - 1 } else { 1 });
        if particles > 1 && drawn >= particle { drawn + 1 } else { drawn }
    };
    let mut learns = false;
    for dimension in 0..dims {
        let words = draw(dimension, 0);
        let mut exemplar = particle;
        if S::uniform_pair([words[0], words[1], 0, 0], 0).0 < probability {
            let (one, two) = (other(words[2]), other(words[3]));
            exemplar = if fitness(two) < fitness(one) { two } else { one };
            learns = true;
        }
        choose(dimension, exemplar);
    }
    if !learns {
        let words = draw(0, 1);
        choose(below(words[0], dims), other(words[1]));
    }
}
