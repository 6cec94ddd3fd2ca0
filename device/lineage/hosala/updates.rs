//! The update of velocities and positions, by where a thread has the state of its random numbers: in device memory
//! ([`InMemory`], GLOB), in registers, made anew by each launch ([`InRegisters`], REG), or nowhere, as this project
//! draws them ([`WithoutState`]).
//!
//! A thread moves a particle in all dimensions, by the thesis's formula 2.4 with two random numbers for each
//! dimension, and without sides of the box:
//! v = w v + c1 r1 (p - x) + c2 r2 (g - x), then x = x + v. The particle that has the swarm's best is known by its
//! index, and its own best is read where it lies.

use core::marker::PhantomData;

use crate::{
    gpu::{
        memory::{ReadOnly, ReadWrite},
        thread,
    },
    kernel::{Kernel, Name},
    math::Scalar,
    random::{Draw, Key, Purpose},
};

/// Xorwow (Marsaglia: "Xorshift RNGs", Journal of Statistical Software 8, 2003), the usual generator of GPU
/// libraries then and now: five words of a shift register, not all zero, and a counter.
///
/// ```
/// use flockwork_device::lineage::hosala::updates::Xorwow;
///
/// let mut generator = Xorwow([1, 2, 3, 4, 5, 6]);
/// assert_ne!(generator.word(), generator.word());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xorwow(pub [u32; Self::WORDS]);

impl Xorwow {
    /// Words of its state.
    pub const WORDS: usize = 6;

    /// The paper's first state, of which each word is changed by some bits of the seed, the iteration and the
    /// particle. The thesis takes the clock and the thread's index.
    ///
    /// ```
    /// use flockwork_device::lineage::hosala::updates::Xorwow;
    ///
    /// assert_ne!(Xorwow::seeded([1, 0], 1, 7), Xorwow::seeded([1, 0], 1, 8));
    /// ```
    #[inline(always)]
    pub fn seeded(key: Key, iteration: u32, particle: u32) -> Self {
        const FIRST: [u32; Xorwow::WORDS] =
            [123_456_789, 362_436_069, 521_288_629, 88_675_123, 5_783_321, 6_615_241];
        // Odd factors: other seeds give other words.
        let low = (key[0] ^ particle).wrapping_mul(0x9E37_79B1);
        let high = (key[1] ^ iteration).wrapping_mul(0x85EB_CA77);
        let [x, y, z, w, v, counter] = FIRST;
        let sum = low.wrapping_add(high);
        Self([
            x.wrapping_add(low),
            y ^ low,
            z.wrapping_add(high),
            w ^ high,
            v.wrapping_add(sum),
            counter.wrapping_add(sum),
        ])
    }

    /// The next 32 bits.
    ///
    /// ```
    /// use flockwork_device::lineage::hosala::updates::Xorwow;
    ///
    /// // All zero but the counter, which it counts on.
    /// assert_eq!(Xorwow([0, 0, 0, 0, 0, 7]).word(), 7 + 362_437);
    /// ```
    #[inline(always)]
    pub fn word(&mut self) -> u32 {
        let Self([x, y, z, w, v, counter]) = *self;
        let mixed = x ^ (x >> 2);
        let next = (v ^ (v << 4)) ^ (mixed ^ (mixed << 1));
        let counter = counter.wrapping_add(362_437);
        *self = Self([y, z, w, v, next, counter]);
        next.wrapping_add(counter)
    }

    /// A uniform in [0, 1): a multiple of 2^-52, of two words.
    #[inline(always)]
    fn uniform(&mut self) -> f64 {
        let high = u64::from(self.word());
        let bits = high << 32 | u64::from(self.word());
        f64::from_bits(bits >> 12 | 1.0_f64.to_bits()) - 1.0
    }
}

/// What the kernels are passed. `positions`, `velocities` and `own_bests` have an element for each particle and
/// dimension, all particles of a dimension side by side; so have `states` for each word of a state.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments {
    /// Number of particles; a thread each.
    pub particles: u32,
    /// Number of dimensions.
    pub dims: u32,
    /// The particle whose own best is the swarm's.
    pub best: u32,
    /// Counts from 1.
    pub iteration: u32,
    /// The seed, of those that take none from memory.
    pub key: Key,
    /// w, c1 and c2.
    pub coefficients: [f64; 3],
    /// Positions.
    pub positions: ReadWrite<f64>,
    /// Velocities.
    pub velocities: ReadWrite<f64>,
    /// Own best positions.
    pub own_bests: ReadOnly<f64>,
    /// The states of the particles' generators, of [`InMemory`] alone.
    pub states: ReadWrite<u32>,
}

/// Where a particle goes: its velocity and position, from these and its own best, the swarm's best, and two random
/// numbers.
///
/// ```
/// use flockwork_device::lineage::hosala::updates::moved;
///
/// assert_eq!(moved([0.5, 2.0, 2.0], [1.0, 4.0], [2.0, 3.0], (0.5, 0.25)), [4.0, 5.0]);
/// ```
#[inline(always)]
pub fn moved(
    [inertia, cognitive, social]: [f64; 3],
    [position, velocity]: [f64; 2],
    [own_best, best]: [f64; 2],
    (r1, r2): (f64, f64),
) -> [f64; 2] {
    let velocity = inertia * velocity
        + cognitive * r1 * (own_best - position)
        + social * r2 * (best - position);
    [velocity, position + velocity]
}

/// Where random numbers come from.
pub trait Source: Send + Sync + 'static {
    /// The kernel's name.
    const FAMILY: &'static str;

    /// What a thread has while it moves a particle.
    type State;

    /// At the beginning.
    ///
    /// # Safety
    /// The particle exists, and nobody else uses its state.
    unsafe fn open(arguments: &Arguments, particle: u32) -> Self::State;

    /// Two uniforms in [0, 1). Dimensions are asked for from the first to the last.
    fn pair(state: &mut Self::State, dimension: u32) -> (f64, f64);

    /// At the end.
    ///
    /// # Safety
    /// As [`Source::open`].
    unsafe fn close(_: Self::State, _: &Arguments, _particle: u32) {}
}

/// GLOB: the state is loaded, and stored when the last dimension is done.
pub struct InMemory;

impl Source for InMemory {
    const FAMILY: &'static str = "hosala_update_glob";

    type State = Xorwow;

    #[inline(always)]
    unsafe fn open(arguments: &Arguments, particle: u32) -> Xorwow {
        // SAFETY: there are so many words.
        Xorwow([0, 1, 2, 3, 4, 5].map(|word| unsafe {
            arguments.states.load(word * arguments.particles as usize + particle as usize)
        }))
    }

    #[inline(always)]
    fn pair(state: &mut Xorwow, _: u32) -> (f64, f64) {
        let r1 = state.uniform();
        (r1, state.uniform())
    }

    #[inline(always)]
    unsafe fn close(
        Xorwow([x, y, z, w, v, counter]): Xorwow,
        arguments: &Arguments,
        particle: u32,
    ) {
        let states = arguments.states.skip(particle as usize);
        let stride = arguments.particles as usize;
        // SAFETY: as above.
        unsafe {
            states.store(0, x);
            states.store(stride, y);
            states.store(2 * stride, z);
            states.store(3 * stride, w);
            states.store(4 * stride, v);
            states.store(5 * stride, counter);
        }
    }
}

/// REG: each launch makes a state of its own, which nobody keeps.
pub struct InRegisters;

impl Source for InRegisters {
    const FAMILY: &'static str = "hosala_update_reg";

    type State = Xorwow;

    #[inline(always)]
    unsafe fn open(arguments: &Arguments, particle: u32) -> Xorwow {
        Xorwow::seeded(arguments.key, arguments.iteration, particle)
    }

    #[inline(always)]
    fn pair(state: &mut Xorwow, _: u32) -> (f64, f64) {
        let r1 = state.uniform();
        (r1, state.uniform())
    }
}

/// As this project draws: from the seed, the iteration, the particle and the dimension.
pub struct WithoutState;

impl Source for WithoutState {
    const FAMILY: &'static str = "hosala_update_project";

    type State = Draw;

    #[inline(always)]
    unsafe fn open(&Arguments { key, iteration, .. }: &Arguments, particle: u32) -> Draw {
        Draw { key, iteration, particle, group: 0, purpose: Purpose::Velocity, nth: 0 }
    }

    #[inline(always)]
    fn pair(draw: &mut Draw, dimension: u32) -> (f64, f64) {
        // A block of random bits is one pair in f64.
        f64::uniform_pair(Draw { group: dimension, ..*draw }.block(), 0)
    }
}

/// The update.
pub struct Update<S>(PhantomData<S>);

impl<S: Source> Kernel for Update<S> {
    type Arguments = Arguments;

    const NAME: Name = Name { family: S::FAMILY, objective: "", precision: <f64 as Scalar>::NAME };

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let Arguments { particles, dims, best, coefficients, .. } = *arguments;
        let Arguments { positions, velocities, own_bests, .. } = *arguments;
        let particle = thread::global_index();
        if particle < particles {
            // SAFETY: the particle exists, and is this thread's; there is an element for each particle and
            // dimension, and nobody writes own bests.
            unsafe {
                let mut state = S::open(arguments, particle);
                for dimension in 0..dims {
                    let row = dimension as usize * particles as usize;
                    let index = row + particle as usize;
                    let now = [positions.load(index), velocities.load(index)];
                    let bests = [own_bests.at(index), own_bests.at(row + best as usize)];
                    let pair = S::pair(&mut state, dimension);
                    let [velocity, position] = moved(coefficients, now, bests, pair);
                    velocities.store(index, velocity);
                    positions.store(index, position);
                }
                S::close(state, arguments, particle);
            }
        }
    }
}
