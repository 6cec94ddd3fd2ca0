//! A swarm in device memory, in quads or sixteens (see [`layout`]), and the particles there as the usual iteration sees
//! them.
//!
//! Where a particle improves, its personal best is where it is. That is not copied at once, which would read
//! all coordinates again: the particle is marked as *fresh*, and the next iteration, which has them at
//! hand, stores them. Until then, or until [`CatchUp`](super::order::CatchUp), `personal_bests` is behind for fresh particles.

use core::marker::PhantomData;

use crate::{
    gpu::{
        memory::{ReadOnly, ReadWrite},
        shared::Shared,
        thread, warp,
    },
    math::Scalar,
    swarm::{
        layout::{self, Arrangement, Order, Quads, Sixteens, TILE},
        step::{Motion, State},
    },
};

/// Where a swarm lies. With `E = layout::elements(particles, dims)`, the buffers have these lengths: `positions`,
/// `velocities`, `personal_bests` E; `best_fitness` the particles rounded up to whole tiles; `fresh` an eighth of that.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Home<T> {
    /// Positions.
    pub positions: ReadWrite<T>,
    /// Velocities.
    pub velocities: ReadWrite<T>,
    /// Personal best positions.
    pub personal_bests: ReadWrite<T>,
    /// Personal best fitness, by particle.
    pub best_fitness: ReadWrite<T>,
    /// For each warp's particles, of which [`Arrangement::MARKED`] says how many they are, which of them are fresh.
    pub fresh: ReadWrite<u32>,
}

impl<T: Scalar> Home<T> {
    /// Whether a particle's personal best is where it is and not where its personal best is stored, where so many are
    /// [marked](Arrangement::MARKED) by a word.
    ///
    /// # Safety
    /// There is a word for its warp, and no other thread stores it without synchronisation in between.
    #[inline(always)]
    pub unsafe fn is_fresh(&self, particle: u32, marked: u32) -> bool {
        // SAFETY: the caller's promise.
        let word = unsafe { self.fresh.load((particle / marked) as usize) };
        word >> (particle % marked) & 1 == 1
    }

    /// A coordinate of the personal best of a particle that is not fresh, in `dims` dimensions, in quads.
    ///
    /// # Safety
    /// As [`Home::personal_best`].
    #[inline(always)]
    pub unsafe fn stored_personal_best(&self, particle: usize, dimension: u32, dims: u32) -> T {
        let index = Order::Quads.index::<T>(particle, dimension as usize, dims as usize);
        // SAFETY: the caller's promise.
        unsafe { self.personal_bests.load(index) }
    }

    /// A coordinate of a particle's personal best, wherever that is, in `dims` dimensions.
    ///
    /// # Safety
    /// Both exist, and no other thread stores any of it without synchronisation in between.
    #[inline(always)]
    pub unsafe fn personal_best<A: Arrangement>(
        &self,
        particle: u32,
        dimension: u32,
        dims: u32,
    ) -> T {
        let index = A::ORDER.index::<T>(particle as usize, dimension as usize, dims as usize);
        // SAFETY: the caller's promise.
        unsafe {
            let is_fresh = self.is_fresh(particle, A::MARKED);
            let buffer = if is_fresh { self.positions } else { self.personal_bests };
            buffer.load(index)
        }
    }

    /// Marks those of this warp's particles as fresh that say so, and no other. Collective for the warp, whose lanes
    /// have its particles in order; orders its memory accesses before against those after.
    ///
    /// # Safety
    /// There is a word for them.
    #[inline(always)]
    pub unsafe fn mark(&self, particle: u32, is_fresh: bool) {
        let word = warp::ballot(is_fresh);
        // All lanes have read the word.
        warp::sync();
        if particle.is_multiple_of(warp::LANES) {
            // SAFETY: the caller's promise.
            unsafe { self.fresh.store((particle / warp::LANES) as usize, word) };
        }
    }

    /// The same where four lanes have a particle, of which each says whether it is fresh.
    ///
    /// # Safety
    /// As [`Home::mark`].
    #[inline(always)]
    pub unsafe fn mark_by_fours(&self, particle: u32, is_fresh: bool) {
        // A bit of each four, and these pushed together: two by two, four by four, all eight.
        let mut word = warp::ballot(is_fresh) & 0x1111_1111;
        word = (word | word >> 3) & 0x0303_0303;
        word = (word | word >> 6) & 0x000f_000f;
        word = (word | word >> 12) & 0xff;
        // All lanes have read the word.
        warp::sync();
        if warp::lane() == 0 {
            // SAFETY: the caller's promise.
            unsafe { self.fresh.store((particle / Sixteens::MARKED) as usize, word) };
        }
    }
}

/// The position that attracts, wherever it lies.
pub trait GlobalBest<T>: Copy {
    /// In one dimension.
    ///
    /// # Safety
    /// It exists.
    unsafe fn one(&self, dimension: u32) -> T;
    /// In four, from a multiple of 4 on.
    ///
    /// # Safety
    /// They exist.
    unsafe fn four(&self, dimension: u32) -> [T; 4];
}

impl<T: Scalar> GlobalBest<T> for ReadOnly<T> {
    #[inline(always)]
    unsafe fn one(&self, dimension: u32) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.at(dimension as usize) }
    }
    #[inline(always)]
    unsafe fn four(&self, dimension: u32) -> [T; 4] {
        // SAFETY: the caller's promise; the buffer begins at a multiple of 16 bytes, and so does every fourth number.
        unsafe { self.skip(dimension as usize).four(0) }
    }
}

impl<T: Scalar> GlobalBest<T> for Shared<T> {
    #[inline(always)]
    unsafe fn one(&self, dimension: u32) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.load(dimension as usize) }
    }
    #[inline(always)]
    unsafe fn four(&self, dimension: u32) -> [T; 4] {
        // SAFETY: the caller's promise; the array begins at a multiple of 16 bytes, and so does every fourth number.
        unsafe { self.skip(dimension).load_four(0) }
    }
}

/// One particle whose state lies in device memory, each dimension of one thread. Addresses are made from
/// the arguments where they are needed, which takes fewer registers than to keep them.
#[derive(Clone, Copy)]
pub struct InMemory<'a, T, G, A = Quads> {
    home: &'a Home<T>,
    global_best: G,
    particle: u32,
    dims: u32,
    /// The dimension from which it is seen.
    dimension: u32,
    /// Where that lies in the buffers.
    first: usize,
    /// Whether its personal best is where it is, and has to be stored.
    fresh: bool,
    /// Whether it has improved since.
    improved: bool,
    arrangement: PhantomData<A>,
}

impl<'a, T: Scalar, G: GlobalBest<T>, A: Arrangement> InMemory<'a, T, G, A> {
    /// A particle, which coordinates of `global_best` attract.
    ///
    /// # Safety
    /// It lies in `home`, no other thread touches the same dimension without synchronisation in between, and `global_best` has
    /// `dims` coordinates.
    #[inline(always)]
    pub unsafe fn new(home: &'a Home<T>, particle: u32, dims: u32, global_best: G) -> Self {
        // SAFETY: the caller's promise.
        let fresh = unsafe { home.is_fresh(particle, A::MARKED) };
        let first = A::first::<T>(particle as usize, dims as usize);
        let (dimension, improved, arrangement) = (0, false, PhantomData);
        Self { home, global_best, particle, dims, dimension, first, fresh, improved, arrangement }
    }

    /// The same in quads: as the dimensions lie that make no sixteen. Not of one that is seen from a dimension.
    #[inline(always)]
    pub fn in_quads(&self) -> InMemory<'a, T, G> {
        let &Self { home, global_best, particle, dims, dimension, fresh, improved, .. } = self;
        let first = Quads::first::<T>(particle as usize, dims as usize);
        let arrangement = PhantomData;
        InMemory {
            home,
            global_best,
            particle,
            dims,
            dimension,
            first,
            fresh,
            improved,
            arrangement,
        }
    }

    /// Whether it has improved.
    #[inline(always)]
    pub fn has_improved(&self) -> bool {
        self.improved
    }

    /// Personal bests in the first four dimensions; seen from a multiple of 4 only.
    #[inline(always)]
    pub fn personal_bests_of_four(&self) -> [T; 4] {
        // SAFETY: see above.
        unsafe { T::load_quad(&self.home.personal_bests.skip(self.first), 0, A::apart::<T>()) }
    }

    /// Positions and velocities in the first four dimensions; seen from a multiple of 4 only.
    #[inline(always)]
    pub fn motions_of_four(&self) -> [(T, T); 4] {
        let Home { positions, velocities, .. } = *self.home;
        // SAFETY: see above.
        let [positions, velocities] = [positions, velocities]
            .map(|some| unsafe { T::load_quad(&some.skip(self.first), 0, A::apart::<T>()) });
        [0, 1, 2, 3].map(|nth| (positions[nth], velocities[nth]))
    }
}

/// Nothing attracts: for who only fetches, puts back and keeps personal bests.
#[derive(Clone, Copy)]
pub struct Nothing;

impl<T: Scalar> GlobalBest<T> for Nothing {
    #[inline(always)]
    unsafe fn one(&self, _: u32) -> T {
        T::ZERO
    }
    #[inline(always)]
    unsafe fn four(&self, _: u32) -> [T; 4] {
        [T::ZERO; 4]
    }
}

// SAFETY (both): as below.
impl<'a, T: Scalar> InMemory<'a, T, Nothing> {
    /// A particle that is not fresh, or padding of the last tile, to be fetched or put back, or for its personal bests.
    ///
    /// # Safety
    /// It lies in `home`, and no other thread touches what is asked of it as long as this is in use.
    #[inline(always)]
    pub unsafe fn at(home: &'a Home<T>, particle: u32, dims: u32) -> Self {
        let first = Quads::first::<T>(particle as usize, dims as usize);
        let (global_best, dimension, fresh, improved) = (Nothing, 0, false, false);
        let arrangement = PhantomData;
        Self { home, global_best, particle, dims, dimension, first, fresh, improved, arrangement }
    }

    /// Puts the first four dimensions back; seen from a multiple of 4 only.
    #[inline(always)]
    pub fn put_four(mut self, four: [Motion<T>; 4]) {
        self.set_four(four.map(|one| [one.position, one.velocity]));
        let personal_bests = self.home.personal_bests.skip(self.first);
        // SAFETY: see above.
        unsafe {
            T::store_quad(
                &personal_bests,
                0,
                Quads::apart::<T>(),
                four.map(|one| one.personal_best),
            )
        }
    }

    /// Stores personal bests in the first four dimensions; seen from a multiple of 4 only.
    #[inline(always)]
    pub fn set_personal_bests_of_four(&mut self, personal_bests: [T; 4]) {
        let there = self.home.personal_bests.skip(self.first);
        // SAFETY: see above.
        unsafe { T::store_quad(&there, 0, Quads::apart::<T>(), personal_bests) }
    }

    /// Stores personal best in one dimension, which belongs to no four.
    #[inline(always)]
    pub fn set_personal_best(&mut self, dimension: u32, personal_best: T) {
        // SAFETY: see above.
        unsafe { self.home.personal_bests.store(self.first + row(dimension), personal_best) }
    }

    /// Puts one dimension back, which belongs to no four.
    #[inline(always)]
    pub fn put(&mut self, dimension: u32, one: Motion<T>) {
        self.set_motion(dimension, one.position, one.velocity);
        // SAFETY: see above.
        unsafe { self.home.personal_bests.store(self.first + row(dimension), one.personal_best) }
    }

    /// Stores personal best fitness.
    #[inline(always)]
    pub fn set_best_fitness(&self, fitness: T) {
        // SAFETY: see above.
        unsafe { self.home.best_fitness.store(self.particle as usize, fitness) }
    }
}

/// Where a dimension of the first particle lies, or that of four.
#[inline(always)]
const fn row(dimension: u32) -> usize {
    dimension as usize * TILE
}

// SAFETY (all accesses below): by the promise given to `new`; quads begin at multiples of 16 bytes.
impl<T: Scalar, G: GlobalBest<T>, A: Arrangement> State<T> for InMemory<'_, T, G, A> {
    const IN_FOURS: bool = true;

    #[inline(always)]
    fn from(&self, dimension: u32) -> Self {
        let first = self.first + A::ahead(dimension as usize);
        Self { dimension: self.dimension + dimension, first, ..*self }
    }
    #[inline(always)]
    fn rest(&self, dimension: u32) -> Self {
        // Made anew, not kept while the fours are done.
        let particle = thread::opaque(self.particle) as usize;
        let first = layout::first(particle, self.dims as usize) + row(dimension);
        Self { dimension, first, ..*self }
    }
    #[inline(always)]
    fn four(&self) -> [Motion<T>; 4] {
        let Home { positions, velocities, personal_bests, .. } = *self.home;
        // SAFETY: see above.
        let [positions, velocities, personal_bests] = [positions, velocities, personal_bests]
            .map(|some| unsafe { T::load_quad(&some.skip(self.first), 0, A::apart::<T>()) });
        let motion = |nth: usize| Motion {
            position: positions[nth],
            velocity: velocities[nth],
            personal_best: personal_bests[nth],
        };
        [motion(0), motion(1), motion(2), motion(3)]
    }
    #[inline(always)]
    fn renewed_four(&mut self, loaded: [Motion<T>; 4]) -> [Motion<T>; 4] {
        if self.fresh {
            let personal_bests = self.home.personal_bests.skip(self.first);
            // SAFETY: see above.
            unsafe {
                T::store_quad(&personal_bests, 0, A::apart::<T>(), loaded.map(|one| one.position))
            }
        }
        loaded.map(|one| Motion {
            personal_best: if self.fresh { one.position } else { one.personal_best },
            ..one
        })
    }
    #[inline(always)]
    fn set_four(&mut self, moved: [[T; 2]; 4]) {
        let Home { positions, velocities, .. } = *self.home;
        // SAFETY: see above.
        unsafe {
            T::store_quad(&positions.skip(self.first), 0, A::apart::<T>(), moved.map(|[x, _]| x));
            T::store_quad(&velocities.skip(self.first), 0, A::apart::<T>(), moved.map(|[_, v]| v));
        }
    }
    #[inline(always)]
    fn position(&self, dimension: u32) -> T {
        let (particle, dims) = (self.particle as usize, self.dims as usize);
        let index = A::ORDER.index::<T>(particle, dimension as usize, dims);
        // SAFETY: see above.
        unsafe { self.home.positions.load(index) }
    }
    #[inline(always)]
    fn motion(&self, dimension: u32) -> (T, T) {
        let index = self.first + row(dimension);
        // SAFETY: see above.
        unsafe { (self.home.positions.load(index), self.home.velocities.load(index)) }
    }
    #[inline(always)]
    fn personal_best(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.home.personal_bests.load(self.first + row(dimension)) }
    }
    #[inline(always)]
    fn renewed(&mut self, dimension: u32, stored: T, position: T) -> T {
        if self.fresh {
            // SAFETY: see above.
            unsafe { self.home.personal_bests.store(self.first + row(dimension), position) }
        }
        if self.fresh { position } else { stored }
    }
    #[inline(always)]
    fn global_best(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.global_best.one(self.dimension + dimension) }
    }
    #[inline(always)]
    fn global_best_of_four(&self) -> [T; 4] {
        // SAFETY: see above.
        unsafe { self.global_best.four(self.dimension) }
    }
    #[inline(always)]
    fn best_fitness(&self) -> T {
        // SAFETY: see above.
        unsafe { self.home.best_fitness.load(self.particle as usize) }
    }
    #[inline(always)]
    fn set_motion(&mut self, dimension: u32, position: T, velocity: T) {
        let index = self.first + row(dimension);
        // SAFETY: see above.
        unsafe {
            self.home.positions.store(index, position);
            self.home.velocities.store(index, velocity);
        }
    }
    #[inline(always)]
    fn improve(&mut self, _: u32, fitness: T) {
        // SAFETY: see above.
        unsafe { self.home.best_fitness.store(self.particle as usize, fitness) }
        self.improved = true;
    }
}
