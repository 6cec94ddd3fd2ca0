//! v5 to v7: an array for each quantity, the dimensions of a particle side by side.

use super::{
    Coordinate, Entry, NONE, PUBLISHED, draw, draw_four, fitness, least, least_bytes, plus, squares,
};
use crate::{
    gpu::{
        block,
        memory::{ReadOnly, ReadWrite},
        shared::Shared,
        thread, unroll,
    },
    kernel::{Kernel, Name},
    random::Key,
};

/// What the kernels are passed that move and judge particles. A *lane* is what a thread has of a particle: a
/// coordinate in v5 and v6, four in v7, where two dimensions are filled up with two that count nothing.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments {
    /// Number of particles.
    pub particles: u32,
    /// Number of lanes of a particle: a power of two of at most the threads of a block.
    pub lanes: u32,
    /// How many of a lane's coordinates count.
    pub used: u32,
    /// The iteration, for random numbers.
    pub iteration: u32,
    /// The seed.
    pub key: Key,
    /// The positions, particle by particle.
    pub positions: ReadWrite<f32>,
    /// The velocities.
    pub velocities: ReadWrite<f32>,
    /// The own bests.
    pub own_bests: ReadWrite<f32>,
    /// The fitness of each position.
    pub fitness: ReadWrite<f32>,
    /// The fitness of each own best.
    pub best_fitness: ReadWrite<f32>,
    /// The swarm's best position.
    pub best: ReadOnly<f32>,
    /// The target.
    pub target: ReadOnly<f32>,
}

/// Which part of which particle a thread has.
#[derive(Clone, Copy)]
struct Place {
    particle: u32,
    lane: u32,
    /// Number of the lane among all.
    global: usize,
    exists: bool,
}

impl Arguments {
    #[inline(always)]
    fn place(&self) -> Place {
        let global = thread::global_index();
        let shift = self.lanes.trailing_zeros();
        let particle = global >> shift;
        Place {
            particle,
            lane: global & (self.lanes - 1),
            global: global as usize,
            exists: particle < self.particles,
        }
    }

    /// The sum over a particle's lanes, in the first of them: the upper half is added to the lower, again and
    /// again.
    ///
    /// # Safety
    /// Every thread of the block calls it, and nobody else uses the block's shared memory.
    #[inline(always)]
    unsafe fn sum(&self, lane: u32, terms: (f32, f32)) -> (f32, f32) {
        let own = thread::index();
        let all = Shared::<[f32; 2]>::at(0, thread::block_threads());
        // SAFETY: both places are the particle's, whose lanes are all in this block. Before a barrier a thread
        // stores its own, and after it reads one that nobody stores until the next.
        unsafe {
            all.store(own as usize, [terms.0, terms.1]);
            block::barrier();
            let mut stride = self.lanes / 2;
            while stride > 0 {
                if lane < stride {
                    let [a, b] = all.load(own as usize);
                    let [c, d] = all.load((own + stride) as usize);
                    let (a, b) = plus((a, b), (c, d));
                    all.store(own as usize, [a, b]);
                }
                block::barrier();
                stride /= 2;
            }
            let [a, b] = all.load(own as usize);
            (a, b)
        }
    }

    /// Lets the first lane judge the sum, and tells all whether it is the particle's best.
    ///
    /// # Safety
    /// As [`sum`](Self::sum), right after it; the particle exists where the place says so.
    #[inline(always)]
    unsafe fn judge(&self, place: Place, sums: (f32, f32)) -> bool {
        let own = thread::index();
        let flags = Shared::<[f32; 2]>::at(0, thread::block_threads());
        let particle = place.particle as usize;
        // SAFETY: of a particle's fitness only its first lane knows. The flag is where this lane's sum was, which
        // nobody else reads any more, and is read behind a barrier.
        unsafe {
            if place.lane == 0 && place.exists {
                let fitness = fitness(sums);
                self.fitness.store(particle, fitness);
                let is_better = fitness < self.best_fitness.load(particle);
                if is_better {
                    self.best_fitness.store(particle, fitness);
                }
                flags.store(own as usize, [f32::from(u8::from(is_better)), 0.0]);
            }
            block::barrier();
            place.exists && flags.load((own - place.lane) as usize)[0] != 0.0
        }
    }
}

/// Shared memory in bytes of what sums.
const fn sum_bytes(threads: u32) -> u32 {
    threads * size_of::<[f32; 2]>() as u32
}

/// v5 and v6: a thread for each coordinate.
pub struct NewVelPosV5;

impl Kernel for NewVelPosV5 {
    type Arguments = Arguments;

    const NAME: Name =
        Name { family: "boudoudouh_v5_new_vel_pos", objective: "", precision: "f32" };

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let Place { particle, lane, global, exists } = arguments.place();
        if exists {
            let random = draw(arguments.key, arguments.iteration, particle);
            // SAFETY: the coordinate exists and is this thread's alone; buffers as documented.
            unsafe {
                let coordinate = Coordinate {
                    position: arguments.positions.load(global),
                    velocity: arguments.velocities.load(global),
                    own_best: arguments.own_bests.load(global),
                    best: arguments.best.at(lane as usize),
                };
                let velocity = PUBLISHED.velocity_by_parts(coordinate, random);
                let position = PUBLISHED.position(coordinate.position, velocity);
                arguments.positions.store(global, position);
                arguments.velocities.store(global, velocity);
            }
        }
    }
}

/// v5: a thread for each coordinate; the first of a particle copies its own best.
pub struct CalcFitnessV5;

impl Kernel for CalcFitnessV5 {
    type Arguments = Arguments;

    const NAME: Name =
        Name { family: "boudoudouh_v5_calc_fitness", objective: "", precision: "f32" };

    fn shared_bytes(threads: u32, _: &Arguments) -> u32 {
        sum_bytes(threads)
    }

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let place = arguments.place();
        // SAFETY: what is accessed exists, and of a particle's fitness and own best only its first lane knows;
        // every thread takes part in the sum.
        unsafe {
            let mut terms = (0.0, 0.0);
            if place.exists {
                let position = arguments.positions.load(place.global);
                terms = squares(position, arguments.target.at(place.lane as usize));
            }
            let sums = arguments.sum(place.lane, terms);
            if place.exists && place.lane == 0 {
                let (particle, fitness) = (place.particle as usize, fitness(sums));
                arguments.fitness.store(particle, fitness);
                if fitness < arguments.best_fitness.load(particle) {
                    arguments.best_fitness.store(particle, fitness);
                    for at in place.global..place.global + arguments.lanes as usize {
                        arguments.own_bests.store(at, arguments.positions.load(at));
                    }
                }
            }
        }
    }
}

/// v6: a thread for each coordinate; each copies its own.
pub struct CalcFitnessV6;

impl Kernel for CalcFitnessV6 {
    type Arguments = Arguments;

    const NAME: Name =
        Name { family: "boudoudouh_v6_calc_fitness", objective: "", precision: "f32" };

    fn shared_bytes(threads: u32, _: &Arguments) -> u32 {
        sum_bytes(threads)
    }

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let place = arguments.place();
        // SAFETY: what is accessed exists, and a coordinate is this thread's alone; every thread takes part in
        // the sum.
        unsafe {
            let (mut position, mut terms) = (0.0, (0.0, 0.0));
            if place.exists {
                position = arguments.positions.load(place.global);
                terms = squares(position, arguments.target.at(place.lane as usize));
            }
            let sums = arguments.sum(place.lane, terms);
            if arguments.judge(place, sums) {
                arguments.own_bests.store(place.global, position);
            }
        }
    }
}

/// v7: a thread for each four coordinates.
pub struct NewVelPosV7;

impl Kernel for NewVelPosV7 {
    type Arguments = Arguments;

    const NAME: Name =
        Name { family: "boudoudouh_v7_new_vel_pos", objective: "", precision: "f32" };

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let Place { particle, lane, global, exists } = arguments.place();
        if exists {
            let random = draw_four(arguments.key, arguments.iteration, particle);
            // SAFETY: the four exist and are this thread's alone; buffers as documented, and each begins where
            // an allocation does.
            unsafe {
                let [positions, velocities] =
                    [arguments.positions, arguments.velocities].map(|some| some.fours());
                let (mut position, mut velocity) =
                    (positions.load(global), velocities.load(global));
                let own_best = arguments.own_bests.fours().load(global);
                let best = arguments.best.four(lane as usize);
                unroll!(I in [0 1 2 3] {
                    if (I as u32) < arguments.used {
                        let coordinate = Coordinate {
                            position: position[I],
                            velocity: velocity[I],
                            own_best: own_best[I],
                            best: best[I],
                        };
                        velocity[I] = PUBLISHED.velocity_by_parts(coordinate, random[I]);
                        position[I] = PUBLISHED.position(position[I], velocity[I]);
                    }
                });
                positions.store(global, position);
                velocities.store(global, velocity);
            }
        }
    }
}

/// v7: a thread for each four coordinates.
pub struct CalcFitnessV7;

impl Kernel for CalcFitnessV7 {
    type Arguments = Arguments;

    const NAME: Name =
        Name { family: "boudoudouh_v7_calc_fitness", objective: "", precision: "f32" };

    fn shared_bytes(threads: u32, _: &Arguments) -> u32 {
        sum_bytes(threads)
    }

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let place = arguments.place();
        // SAFETY: what is accessed exists, and the four are this thread's alone; every thread takes part in the
        // sum; each buffer begins where an allocation does.
        unsafe {
            let (mut position, mut terms) = ([0.0; 4], (0.0, 0.0));
            if place.exists {
                position = arguments.positions.fours().load(place.global);
                let target = arguments.target.four(place.lane as usize);
                unroll!(I in [0 1 2 3] {
                    if (I as u32) < arguments.used {
                        let term = squares(position[I], target[I]);
                        terms = if I == 0 { term } else { plus(terms, term) };
                    }
                });
            }
            let sums = arguments.sum(place.lane, terms);
            if arguments.judge(place, sums) {
                arguments.own_bests.fours().store(place.global, position);
            }
        }
    }
}

/// What [`FindMinArrays`] is passed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LevelArguments {
    /// Numbers of a particle's position.
    pub width: u32,
    /// How many entries come in: particles, at the first level.
    pub inputs: u32,
    /// 1 at the first level, whose entries are the particles' fitnesses.
    pub is_first: u32,
    /// 1 at the last level, which has one block: it publishes the best.
    pub is_last: u32,
    /// The fitness of each position.
    pub fitness: ReadOnly<f32>,
    /// The positions.
    pub positions: ReadOnly<f32>,
    /// The entries that come in, after the first level.
    pub entries: ReadOnly<Entry>,
    /// Receives the least of each block.
    pub least: ReadWrite<Entry>,
    /// The swarm's best position, and behind it its fitness.
    pub best: ReadWrite<f32>,
}

/// v5 to v7: a level of the reduction to the least fitness, for blocks of a power of two of threads.
pub struct FindMinArrays;

impl Kernel for FindMinArrays {
    type Arguments = LevelArguments;

    const NAME: Name =
        Name { family: "boudoudouh_v5_find_min_fitness", objective: "", precision: "f32" };

    fn shared_bytes(threads: u32, _: &LevelArguments) -> u32 {
        least_bytes(threads)
    }

    #[inline(always)]
    unsafe fn run(arguments: &LevelArguments) {
        let input = thread::global_index();
        // SAFETY: what is read exists, since the input does; shared memory as asked for. Of the best, and of the
        // block's place for its least, only the first thread knows.
        unsafe {
            let mine = if input >= arguments.inputs {
                NONE
            } else if arguments.is_first == 1 {
                [arguments.fitness.at(input as usize).to_bits(), input]
            } else {
                arguments.entries.at(input as usize)
            };
            let all = least(mine);
            if thread::index() == 0 {
                let least = all.load(0);
                arguments.least.store(thread::block_index() as usize, least);
                let width = arguments.width as usize;
                let value = f32::from_bits(least[0]);
                if arguments.is_last == 1 && value < arguments.best.load(width) {
                    let position = arguments.positions.skip(least[1] as usize * width);
                    arguments.best.store(width, value);
                    for at in 0..width {
                        arguments.best.store(at, position.at(at));
                    }
                }
            }
        }
    }
}
