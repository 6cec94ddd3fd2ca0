//! Who moves a particle and evaluates the function there: a thread ([`PerThread`], THREAD), a block
//! ([`PerBlock`], BLOCK), or a lane in each warp of a block ([`Mod`], MOD).
//!
//! An iteration is one such launch, and the two of [`reductions`](super::reductions) that find the swarm's
//! best. A particle is moved as this project's swarms move it (inertia weight, global best, at the sides of
//! the box [`Edge::Absorb`](crate::swarm::edge::Edge)), with the same random numbers: positions and velocities
//! are the same bits. Terms are summed in an order that depends on the threads; [`PerThread`] sums them from
//! the first to the last, as the project does up to 32 of them. The error of the others' sums is below n u
//! times the sum of the terms' magnitudes, u = 2^-24 or 2^-53, n the number of terms.

use core::marker::PhantomData;

use crate::{
    gpu::{
        block,
        memory::{ReadOnly, ReadWrite},
        shared::Shared,
        thread, warp,
    },
    kernel::{Kernel, Name},
    math::{PerLane, Scalar},
    objective::{Context, CoupledSines, Objective, Point, Rastrigin, Sphere, SumOfSines},
    random::{Draw, Key, Purpose},
    swarm::{
        best::competing,
        update::{Advance, Bound, Coefficients},
    },
};

/// A function that is a plain sum of terms, one for each coordinate or for each two neighbours.
pub trait Sum: Copy + Send + Sync + 'static {
    /// The function.
    type Objective: Objective;

    /// One of its terms.
    fn term<T: Scalar>(index: u32, x: &impl Point<T>, context: &Context<T>) -> T;
}

macro_rules! sums {
    ($($objective:ident),*) => { $(
        impl Sum for $objective {
            type Objective = Self;

            #[inline(always)]
            fn term<T: Scalar>(index: u32, x: &impl Point<T>, context: &Context<T>) -> T {
                Objective::term(&Self, index, x, context)
            }
        }
    )* };
}
sums!(SumOfSines, CoupledSines, Rastrigin, Sphere);

/// What the kernels are passed. `positions`, `velocities` and `own_bests` have an element for each particle
/// and dimension, `fitness` and `best_fitness` for each particle, `guide` for each dimension.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<T> {
    /// Number of particles.
    pub particles: u32,
    /// Number of dimensions.
    pub dims: u32,
    /// How far apart particles lie, and dimensions.
    pub steps: [u32; 2],
    /// The seed.
    pub key: Key,
    /// Counts from 1.
    pub iteration: u32,
    /// The coefficients.
    pub coefficients: Coefficients<T>,
    /// The box, the same in each dimension.
    pub bound: Bound<T>,
    /// Positions.
    pub positions: ReadWrite<T>,
    /// Velocities.
    pub velocities: ReadWrite<T>,
    /// Own best positions.
    pub own_bests: ReadWrite<T>,
    /// Receives the fitness of where each particle is now.
    pub fitness: ReadWrite<T>,
    /// Own best fitness.
    pub best_fitness: ReadWrite<T>,
    /// The swarm's best position.
    pub guide: ReadOnly<T>,
}

/// Where a particle is.
struct At<'a, T> {
    arguments: &'a Arguments<T>,
    particle: u32,
}

impl<T: Scalar> Point<T> for At<'_, T> {
    #[inline(always)]
    fn at(&self, dimension: u32) -> T {
        // SAFETY: who makes one promises that the particle exists and its position is stored; terms ask for
        // the function's own dimensions.
        unsafe { self.arguments.positions.load(self.arguments.index(self.particle, dimension)) }
    }
}

// SAFETY (all accesses below): the particle and the dimension exist by the caller's promise, and the buffers
// are as documented.
impl<T: Scalar> Arguments<T> {
    #[inline(always)]
    fn index(&self, particle: u32, dimension: u32) -> usize {
        let [of_particle, of_dimension] = self.steps;
        particle as usize * of_particle as usize + dimension as usize * of_dimension as usize
    }

    /// Moves a particle in every `step`-th dimension from `first` on.
    ///
    /// # Safety
    /// The particle exists, and nobody else moves it there.
    #[inline(always)]
    unsafe fn advance(&self, particle: u32, first: u32, step: u32) {
        let Self { key, iteration, .. } = *self;
        let draw = Draw { key, iteration, particle, group: 0, purpose: Purpose::Velocity, nth: 0 };
        let advance = Advance { coefficients: self.coefficients, bound: self.bound };
        let mut bits = [0; 4];
        let mut dimension = first;
        while dimension < self.dims {
            let nth = dimension % T::PAIRS_PER_BLOCK;
            // With every dimension in turn, the second half of a block is still there.
            if nth == 0 || step > 1 {
                bits = Draw { group: dimension / T::PAIRS_PER_BLOCK, ..draw }.block();
            }
            let (raised1, raised2) = T::raised_pair(bits, nth);
            let index = self.index(particle, dimension);
            // SAFETY: see above.
            unsafe {
                let [position, velocity] = advance.apply([
                    self.positions.load(index),
                    self.velocities.load(index),
                    self.own_bests.load(index),
                    self.guide.at(dimension as usize),
                    raised1,
                    raised2,
                ]);
                self.positions.store(index, position);
                self.velocities.store(index, velocity);
            }
            dimension += step;
        }
    }

    /// The sum of every `step`-th term from `first` on.
    ///
    /// # Safety
    /// The particle exists, and nobody moves it meanwhile.
    #[inline(always)]
    unsafe fn sum<O: Sum>(&self, particle: u32, first: u32, step: u32) -> T {
        let context = Context::new(self.dims, ReadOnly::empty());
        let terms = O::Objective::default().terms(&context);
        let at = At { arguments: self, particle };
        let mut sum = T::ZERO;
        let mut index = first;
        while index < terms {
            sum = sum + O::term(index, &at, &context);
            index += step;
        }
        sum
    }

    /// Whether the particle is better than ever before; its fitness is noted.
    ///
    /// # Safety
    /// The particle exists, and no other thread judges it.
    #[inline(always)]
    unsafe fn judge(&self, particle: u32, value: T) -> bool {
        let (index, fitness) = (particle as usize, competing(value));
        // SAFETY: see above.
        unsafe {
            self.fitness.store(index, fitness);
            let improved = fitness < self.best_fitness.load(index);
            if improved {
                self.best_fitness.store(index, fitness);
            }
            improved
        }
    }

    /// The particle's own best is where it is, in every `step`-th dimension from `first` on.
    ///
    /// # Safety
    /// The particle exists, and nobody else uses it there.
    #[inline(always)]
    unsafe fn renew(&self, particle: u32, first: u32, step: u32) {
        let mut dimension = first;
        while dimension < self.dims {
            let index = self.index(particle, dimension);
            // SAFETY: see above.
            unsafe { self.own_bests.store(index, self.positions.load(index)) };
            dimension += step;
        }
    }
}

/// THREAD: a thread for each particle, which goes through all dimensions.
pub struct PerThread<O, T>(PhantomData<(O, T)>);

impl<O: Sum, T: Scalar> Kernel for PerThread<O, T> {
    type Arguments = Arguments<T>;

    const NAME: Name = name::<O, T>("hosala_thread");

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let particle = thread::global_index();
        if particle < arguments.particles {
            // SAFETY: the particle exists, and is this thread's.
            unsafe {
                arguments.advance(particle, 0, 1);
                let sum = arguments.sum::<O>(particle, 0, 1);
                if arguments.judge(particle, sum) {
                    arguments.renew(particle, 0, 1);
                }
            }
        }
    }
}

/// BLOCK: a block for each particle, its threads along the dimensions.
pub struct PerBlock<O, T>(PhantomData<(O, T)>);

/// The reduction's, and whether the particle improved.
const fn scratch<T: Scalar>(threads: u32) -> [Shared<u32>; 2] {
    let reduction = Shared::at(0, block::reduce_scratch::<T>(threads));
    [reduction, Shared::at(reduction.end(), 1)]
}

impl<O: Sum, T: Scalar> Kernel for PerBlock<O, T> {
    type Arguments = Arguments<T>;

    const NAME: Name = name::<O, T>("hosala_block");

    fn shared_bytes(threads: u32, _: &Self::Arguments) -> u32 {
        scratch::<T>(threads)[1].end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let (particle, threads) = (thread::block_index(), thread::block_threads());
        let first = thread::index();
        let [reduction, flag] = scratch::<T>(threads);
        // SAFETY: there is a block for each particle, and each dimension is one thread's while it is stored;
        // barriers are between the moves and the terms, which may need a neighbour's coordinate, and around
        // the flag. The scratch is as long as asked for.
        unsafe {
            arguments.advance(particle, first, threads);
            block::barrier();
            let sum = arguments.sum::<O>(particle, first, threads);
            let sum = block::reduce(sum, T::ZERO, reduction, |a, b| a + b);
            if thread::index() == 0 {
                flag.store(0, u32::from(arguments.judge(particle, sum)));
            }
            block::barrier();
            if flag.load(0) == 1 {
                arguments.renew(particle, first, threads);
            }
        }
    }
}

/// MOD: a block has 32 particles, one in each lane, and its warps share the dimensions: warp w of W those that
/// are w modulo W. So a warp's accesses lie side by side, and a particle still has several threads.
pub struct Mod<O, T>(PhantomData<(O, T)>);

/// Each warp's sums of the 32 particles, and whether each improved.
const fn columns<T: Scalar>(threads: u32) -> (Shared<T>, Shared<u32>) {
    let sums = Shared::at(0, threads);
    (sums, Shared::at(sums.end(), warp::LANES))
}

impl<O: Sum, T: Scalar> Kernel for Mod<O, T> {
    type Arguments = Arguments<T>;

    const NAME: Name = name::<O, T>("hosala_mod");

    fn shared_bytes(threads: u32, _: &Self::Arguments) -> u32 {
        columns::<T>(threads).1.end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let threads = thread::block_threads();
        let (first, warps) = (warp::index(), threads / warp::LANES);
        let lane = warp::lane() as usize;
        let particle = thread::block_index() * warp::LANES + warp::lane();
        let exists = particle < arguments.particles;
        let (sums, flags) = columns::<T>(threads);
        // SAFETY: a dimension of a particle is one thread's while it is stored; barriers as in `PerBlock`,
        // which all threads pass, with a particle or without. The shared memory is as long as asked for.
        unsafe {
            if exists {
                arguments.advance(particle, first, warps);
            }
            block::barrier();
            let sum = if exists { arguments.sum::<O>(particle, first, warps) } else { T::ZERO };
            sums.store(thread::index() as usize, sum);
            block::barrier();
            if first == 0 {
                let mut all = sum;
                for warp in 1..warps {
                    all = all + sums.load((warp * warp::LANES) as usize + lane);
                }
                flags.store(lane, u32::from(exists && arguments.judge(particle, all)));
            }
            block::barrier();
            if flags.load(lane) == 1 {
                arguments.renew(particle, first, warps);
            }
        }
    }
}

const fn name<O: Sum, T: Scalar>(family: &'static str) -> Name {
    Name { family, objective: O::Objective::INFO.name, precision: T::NAME }
}
