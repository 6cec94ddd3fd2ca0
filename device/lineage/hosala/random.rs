//! The random numbers of an iteration, from a generator whose state lies in memory or in registers, and from
//! one that has none.
//!
//! A generator with a state (here xorwow, the usual one of GPU libraries then and now) must have one for each
//! thread that draws. All three kernels leave r1 - r2 for each dimension of each particle, two uniforms each,
//! so what they write is the same.

use core::marker::PhantomData;

use crate::{
    gpu::{memory::ReadWrite, thread},
    kernel::{Kernel, Name},
    math::Scalar,
    random::{Draw, Key, Purpose},
};

/// Xorwow (Marsaglia: "Xorshift RNGs", Journal of Statistical Software 8, 2003): five words of a shift
/// register, not all zero, and a counter.
///
/// ```
/// use flockwork_device::lineage::hosala::random::Xorwow;
///
/// let mut generator = Xorwow([1, 2, 3, 4, 5, 6]);
/// assert_ne!(generator.word(), generator.word());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xorwow(pub [u32; Self::WORDS]);

impl Xorwow {
    /// Words of its state.
    pub const WORDS: usize = 6;

    /// The next 32 bits.
    ///
    /// ```
    /// use flockwork_device::lineage::hosala::random::Xorwow;
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

    /// A uniform in [0, 1): a multiple of 2^-23.
    #[inline(always)]
    fn uniform(&mut self) -> f32 {
        f32::from_bits(self.word() >> 9 | 1.0_f32.to_bits()) - 1.0
    }
}

/// What the kernels are passed. `steps` has an element for each particle and dimension, all particles of a
/// dimension side by side; so have `states` for each word of a state.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments {
    /// Number of particles; a thread each.
    pub particles: u32,
    /// Number of dimensions.
    pub dims: u32,
    /// The states of the particles' generators; not used without.
    pub states: ReadWrite<u32>,
    /// The seed, of those without.
    pub key: Key,
    /// And the iteration.
    pub iteration: u32,
    /// Receives r1 - r2.
    pub steps: ReadWrite<f32>,
}

impl Arguments {
    /// # Safety
    /// The particle exists.
    #[inline(always)]
    unsafe fn load(&self, particle: u32) -> Xorwow {
        // SAFETY: there are so many words.
        Xorwow([0, 1, 2, 3, 4, 5].map(|word| unsafe {
            self.states.load(word * self.particles as usize + particle as usize)
        }))
    }

    /// # Safety
    /// The particle exists, and only this thread uses it.
    #[inline(always)]
    unsafe fn store(&self, particle: u32, Xorwow([x, y, z, w, v, counter]): Xorwow) {
        let states = self.states.skip(particle as usize);
        let stride = self.particles as usize;
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

    /// Leaves a number for each dimension.
    ///
    /// # Safety
    /// As [`Arguments::store`].
    #[inline(always)]
    unsafe fn steps(&self, particle: u32, mut step: impl FnMut(u32) -> f32) {
        for dimension in 0..self.dims {
            let index = dimension as usize * self.particles as usize + particle as usize;
            // SAFETY: there is an element for each particle and dimension.
            unsafe { self.steps.store(index, step(dimension)) };
        }
    }
}

/// The state stays in memory: each draw loads it and stores it.
pub struct InMemory(PhantomData<()>);

impl Kernel for InMemory {
    type Arguments = Arguments;

    const NAME: Name =
        Name { family: "hosala_random_memory", objective: "", precision: <f32 as Scalar>::NAME };

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let particle = thread::global_index();
        if particle < arguments.particles {
            let draw = || {
                // SAFETY: the particle exists, and is this thread's.
                unsafe {
                    let mut generator = arguments.load(particle);
                    let uniform = generator.uniform();
                    arguments.store(particle, generator);
                    uniform
                }
            };
            // SAFETY: as above.
            unsafe {
                arguments.steps(particle, |_| {
                    let r1 = draw();
                    r1 - draw()
                });
            }
        }
    }
}

/// The state is loaded once, and stored when the last dimension is done.
pub struct InRegisters(PhantomData<()>);

impl Kernel for InRegisters {
    type Arguments = Arguments;

    const NAME: Name =
        Name { family: "hosala_random_registers", objective: "", precision: <f32 as Scalar>::NAME };

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let particle = thread::global_index();
        if particle < arguments.particles {
            // SAFETY: the particle exists, and is this thread's.
            unsafe {
                let mut generator = arguments.load(particle);
                arguments.steps(particle, |_| {
                    let r1 = generator.uniform();
                    r1 - generator.uniform()
                });
                arguments.store(particle, generator);
            }
        }
    }
}

/// As this project draws: from the seed, the iteration, the particle and the dimension. Nothing is loaded.
pub struct WithoutState(PhantomData<()>);

impl Kernel for WithoutState {
    type Arguments = Arguments;

    const NAME: Name =
        Name { family: "hosala_random_project", objective: "", precision: <f32 as Scalar>::NAME };

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let Arguments { particles, key, iteration, .. } = *arguments;
        let particle = thread::global_index();
        if particle < particles {
            let draw =
                Draw { key, iteration, particle, group: 0, purpose: Purpose::Velocity, nth: 0 };
            let mut block = [0; 4];
            // SAFETY: the particle exists, and is this thread's.
            unsafe {
                arguments.steps(particle, |dimension| {
                    let nth = dimension % f32::PAIRS_PER_BLOCK;
                    if nth == 0 {
                        block = Draw { group: dimension / f32::PAIRS_PER_BLOCK, ..draw }.block();
                    }
                    let (r1, r2) = f32::uniform_pair(block, nth);
                    r1 - r2
                });
            }
        }
    }
}
