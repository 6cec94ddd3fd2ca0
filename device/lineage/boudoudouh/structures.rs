//! v2 to v4: an array of structures, a particle each.

use super::{
    Coefficients, Coordinate, Entry, NONE, PUBLISHED, draw, fitness, least, least_bytes, plus,
    powers, squares,
};
use crate::{
    gpu::{
        memory::{ReadOnly, ReadWrite},
        shared::Shared,
        thread, unroll,
    },
    kernel::{Kernel, Name},
    random::Key,
};

/// Where the parts of a particle's structure lie, in words of four bytes. A vector is its length and its
/// coordinates; behind three of them come two fitnesses and, aligned to eight bytes, the state of a generator,
/// which the kernels here do not need and step over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structure {
    dims: u32,
}

impl Structure {
    /// With so many dimensions.
    #[inline(always)]
    pub const fn new(dims: u32) -> Self {
        Self { dims }
    }

    /// Its words.
    #[inline(always)]
    pub const fn words(self) -> usize {
        // 3 (dims + 1) + 2, rounded up to a whole number of 8 bytes, and 8 bytes.
        (3 * self.dims as usize + 6) / 2 * 2 + 2
    }

    /// Where the number of dimensions lies, as bits.
    pub const LENGTH: usize = 0;

    /// Where the position begins.
    pub const POSITION: usize = 1;

    /// Where the velocity begins.
    #[inline(always)]
    pub const fn velocity(self) -> usize {
        self.dims as usize + 2
    }

    /// Where the own best begins.
    #[inline(always)]
    pub const fn own_best(self) -> usize {
        2 * self.dims as usize + 3
    }

    /// Where its fitness lies.
    #[inline(always)]
    pub const fn best_fitness(self) -> usize {
        3 * self.dims as usize + 3
    }

    /// Where the fitness of the position lies.
    #[inline(always)]
    pub const fn fitness(self) -> usize {
        3 * self.dims as usize + 4
    }
}

/// What the kernels are passed that move particles.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments {
    /// Number of particles.
    pub particles: u32,
    /// Number of dimensions.
    pub dims: u32,
    /// The iteration, for random numbers.
    pub iteration: u32,
    /// The seed.
    pub key: Key,
    /// For v2; the others have [`PUBLISHED`].
    pub coefficients: Coefficients,
    /// The particles: [`Structure::words`] each.
    pub structures: ReadWrite<f32>,
    /// The swarm's best position.
    pub best: ReadOnly<f32>,
    /// The target.
    pub target: ReadOnly<f32>,
}

impl Arguments {
    /// A particle's words.
    #[inline(always)]
    fn particle(&self, particle: u32) -> (Structure, ReadWrite<f32>) {
        let structure = Structure::new(self.dims);
        (structure, self.structures.skip(particle as usize * structure.words()))
    }

    /// The new velocity of one coordinate.
    ///
    /// # Safety
    /// The particle's words and dimension exist, and no other thread writes this coordinate.
    #[inline(always)]
    unsafe fn velocity(
        &self,
        coefficients: &Coefficients,
        (structure, words): (Structure, ReadWrite<f32>),
        dim: usize,
        random: (f32, f32),
    ) -> f32 {
        // SAFETY: the caller's promise.
        unsafe {
            let coordinate = Coordinate {
                position: words.load(Structure::POSITION + dim),
                velocity: words.load(structure.velocity() + dim),
                own_best: words.load(structure.own_best() + dim),
                best: self.best.at(dim),
            };
            coefficients.velocity(coordinate, random)
        }
    }

    /// Keeps the fitness, and the position if it is the particle's best.
    ///
    /// # Safety
    /// The words are a particle's, and no other thread uses them.
    #[inline(always)]
    unsafe fn judge(&self, (structure, words): (Structure, ReadWrite<f32>), sums: (f32, f32)) {
        let fitness = fitness(sums);
        // SAFETY: the caller's promise.
        unsafe {
            words.store(structure.fitness(), fitness);
            if fitness < words.load(structure.best_fitness()) {
                words.store(structure.best_fitness(), fitness);
                for dim in 0..self.dims as usize {
                    let position = words.load(Structure::POSITION + dim);
                    words.store(structure.own_best() + dim, position);
                }
            }
        }
    }
}

/// v2: a thread for each dimension of a particle, `block_threads / dims` particles a block, neighbouring threads
/// at neighbouring particles.
pub struct NewVelV2;

impl Kernel for NewVelV2 {
    type Arguments = Arguments;

    const NAME: Name = Name { family: "boudoudouh_v2_new_vel", objective: "", precision: "f32" };

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let width = thread::block_threads() / arguments.dims;
        let particle = thread::block_index() * width + thread::index() % width;
        let dim = (thread::index() / width) as usize;
        if particle < arguments.particles {
            let words = arguments.particle(particle);
            let random = draw(arguments.key, arguments.iteration, particle);
            // SAFETY: particle and dimension exist, and are this thread's alone; buffers as documented.
            unsafe {
                let velocity = arguments.velocity(&arguments.coefficients, words, dim, random);
                words.1.store(words.0.velocity() + dim, velocity);
            }
        }
    }
}

/// v2: a thread for each particle; what it changes goes through memory each time, and squares through a power.
pub struct NewPosV2;

impl Kernel for NewPosV2 {
    type Arguments = Arguments;

    const NAME: Name = Name { family: "boudoudouh_v2_new_pos", objective: "", precision: "f32" };

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let particle = thread::global_index();
        if particle < arguments.particles {
            let (structure, words) = arguments.particle(particle);
            let mut sums = (0.0, 0.0);
            // SAFETY: the particle exists and is this thread's alone; buffers as documented.
            unsafe {
                let dims = words.load(Structure::LENGTH).to_bits() as usize;
                for dim in 0..dims {
                    let at = Structure::POSITION + dim;
                    let velocity = words.load(structure.velocity() + dim);
                    let position = arguments.coefficients.position(words.load(at), velocity);
                    words.store(at, position);
                    sums = plus(sums, powers(position, arguments.target.at(dim)));
                }
                arguments.judge((structure, words), sums);
            }
        }
    }
}

/// v3: a thread for each particle, which goes through the dimensions.
pub struct NewVelV3;

impl Kernel for NewVelV3 {
    type Arguments = Arguments;

    const NAME: Name = Name { family: "boudoudouh_v3_new_vel", objective: "", precision: "f32" };

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let particle = thread::global_index();
        if particle < arguments.particles {
            let words = arguments.particle(particle);
            let random = draw(arguments.key, arguments.iteration, particle);
            for dim in 0..arguments.dims as usize {
                // SAFETY: the particle exists and is this thread's alone; buffers as documented.
                unsafe {
                    let velocity = arguments.velocity(&PUBLISHED, words, dim, random);
                    words.1.store(words.0.velocity() + dim, velocity);
                }
            }
        }
    }
}

/// Each thread's own place in shared memory.
#[inline(always)]
fn scratch() -> (Shared<f32>, usize) {
    (Shared::at(0, thread::block_threads()), thread::index() as usize)
}

/// v3: the position that a thread is at lies in shared memory, where only this thread uses it.
pub struct NewPosV3;

impl Kernel for NewPosV3 {
    type Arguments = Arguments;

    const NAME: Name = Name { family: "boudoudouh_v3_new_pos", objective: "", precision: "f32" };

    fn shared_bytes(threads: u32, _: &Arguments) -> u32 {
        Shared::<f32>::at(0, threads).end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let particle = thread::global_index();
        if particle < arguments.particles {
            let (structure, words) = arguments.particle(particle);
            let (scratch, own) = scratch();
            let mut sums = (0.0, 0.0);
            for dim in 0..arguments.dims as usize {
                let at = Structure::POSITION + dim;
                // SAFETY: the particle exists and is this thread's alone, as is its place in the scratch;
                // buffers as documented.
                unsafe {
                    let velocity = words.load(structure.velocity() + dim);
                    scratch.store(own, PUBLISHED.position(words.load(at), velocity));
                    sums = plus(sums, squares(scratch.load(own), arguments.target.at(dim)));
                    words.store(at, scratch.load(own));
                }
            }
            // SAFETY: as above.
            unsafe { arguments.judge((structure, words), sums) };
        }
    }
}

/// v4: velocity and position together. The number of dimensions is even; what the original has the compiler write
/// out for its constant number is written out for eight dimensions, or for two, in turn.
pub struct NewVelPosV4;

impl NewVelPosV4 {
    /// # Safety
    /// As [`Arguments::velocity`]; the thread has a place in the scratch.
    #[inline(always)]
    unsafe fn one(
        arguments: &Arguments,
        particle: (Structure, ReadWrite<f32>),
        dim: usize,
        random: (f32, f32),
    ) -> (f32, f32) {
        let ((structure, words), (scratch, own)) = (particle, scratch());
        let at = Structure::POSITION + dim;
        // SAFETY: the caller's promise; nobody else uses this place in the scratch.
        unsafe {
            let velocity = arguments.velocity(&PUBLISHED, particle, dim, random);
            words.store(structure.velocity() + dim, velocity);
            scratch.store(own, PUBLISHED.position(words.load(at), velocity));
            words.store(at, scratch.load(own));
            squares(scratch.load(own), arguments.target.at(dim))
        }
    }
}

impl Kernel for NewVelPosV4 {
    type Arguments = Arguments;

    const NAME: Name =
        Name { family: "boudoudouh_v4_new_vel_pos", objective: "", precision: "f32" };

    fn shared_bytes(threads: u32, _: &Arguments) -> u32 {
        Shared::<f32>::at(0, threads).end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let particle = thread::global_index();
        if particle < arguments.particles {
            let words = arguments.particle(particle);
            let random = draw(arguments.key, arguments.iteration, particle);
            let (dims, mut dim, mut sums) = (arguments.dims as usize, 0, (0.0, 0.0));
            // SAFETY: the particle exists and is this thread's alone; buffers as documented.
            unsafe {
                while dim + 8 <= dims {
                    unroll!(NEXT in [0 1 2 3 4 5 6 7] {
                        sums = plus(sums, Self::one(arguments, words, dim + NEXT, random));
                    });
                    dim += 8;
                }
                while dim < dims {
                    unroll!(NEXT in [0 1] {
                        sums = plus(sums, Self::one(arguments, words, dim + NEXT, random));
                    });
                    dim += 2;
                }
                arguments.judge(words, sums);
            }
        }
    }
}

/// What [`FindMinStructures`] is passed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LevelArguments {
    /// Number of dimensions.
    pub dims: u32,
    /// How many entries come in: particles, at the first level.
    pub inputs: u32,
    /// The first block's number: v2 and v3 launch a level in pieces.
    pub offset: u32,
    /// 1 at the first level, whose entries are the particles' fitnesses.
    pub is_first: u32,
    /// 1 at the last level, which has one block: it publishes the best.
    pub is_last: u32,
    /// The particles.
    pub structures: ReadWrite<f32>,
    /// The entries that come in, after the first level.
    pub entries: ReadOnly<Entry>,
    /// Receives the least of each block.
    pub least: ReadWrite<Entry>,
    /// The swarm's best position, and behind it its fitness.
    pub best: ReadWrite<f32>,
}

/// v2 to v4: a level of the reduction to the least fitness, for blocks of a power of two of threads.
pub struct FindMinStructures;

impl Kernel for FindMinStructures {
    type Arguments = LevelArguments;

    const NAME: Name =
        Name { family: "boudoudouh_v2_find_min_fitness", objective: "", precision: "f32" };

    fn shared_bytes(threads: u32, _: &LevelArguments) -> u32 {
        least_bytes(threads)
    }

    #[inline(always)]
    unsafe fn run(arguments: &LevelArguments) {
        let structure = Structure::new(arguments.dims);
        let block = thread::block_index() + arguments.offset;
        let input = block * thread::block_threads() + thread::index();
        let particle = |index: u32| arguments.structures.skip(index as usize * structure.words());
        // SAFETY: what is read exists, since the input does; shared memory as asked for. Of the best, and of the
        // block's place for its least, only the first thread knows.
        unsafe {
            let mine = if input >= arguments.inputs {
                NONE
            } else if arguments.is_first == 1 {
                [particle(input).load(structure.fitness()).to_bits(), input]
            } else {
                arguments.entries.at(input as usize)
            };
            let all = least(mine);
            if thread::index() == 0 {
                let least = all.load(0);
                arguments.least.store(block as usize, least);
                let dims = arguments.dims as usize;
                let value = f32::from_bits(least[0]);
                if arguments.is_last == 1 && value < arguments.best.load(dims) {
                    let words = particle(least[1]);
                    arguments.best.store(dims, value);
                    for dim in 0..dims {
                        arguments.best.store(dim, words.load(Structure::POSITION + dim));
                    }
                }
            }
        }
    }
}
