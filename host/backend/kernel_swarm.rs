//! A swarm on a machine that runs kernels: a GPU, or the emulator.
//!
//! A thread for each particle, or several; no host in between. The usual
//! iteration of a single swarm is one launch, or many are one launch with the particles on the chip;
//! anything else is two: a move, and an evaluation.

use std::{sync::Arc, time::Duration};

use bytemuck::Pod;
use flockwork_device::{
    gpu::{memory::ReadOnly, warp},
    objective::{Context, Objective, Reach},
    random::Key,
    swarm::{
        kernels::{
            evaluate::{self, Outcome},
            exchange::Exchange,
            held::CHUNK,
            implant::{self, Implant},
            in_memory::Home,
            motion::{self, Advance, Scatter},
            order::{Arrange, Behind, CatchUp, Orders},
            publish::Board,
            quartet,
            rendezvous::Rendezvous,
            resident::{self, Manner},
            step,
            survey::{self, RECORD, SurveySwarm, SurveyTiles},
        },
        layout::{self, Arrangement, Order, Sixteens, TILE},
        settings::Schedule,
        step::{Common, are_few},
        survey::{SUMS, Sums},
    },
};

use super::{
    Best, Fixed, Number, Plan, Record, Snapshot, Swarm, Way, by_particle,
    function_kernels::{ChipKernel, FunctionKernels, KernelsOf, Then},
    into_tiles,
    machine::{Machine, OnDemand},
    residence::{self, Evaluation, Residence, Shape, Workload},
    until_record,
};
use crate::{Error, Result, memory};

/// Particles that share a word of `fresh`, at least.
const MARKED: usize = Sixteens::MARKED as usize;

/// Records that are kept on the machine before they are fetched.
const MOST_RECORDS: u32 = 1024;

/// The most iterations of a launch with the particles on the chip.
const MOST_ITERATIONS: u32 = 1 << 14;

/// The fewest for which it is worth taking the particles there and back.
const FEWEST_ITERATIONS: u32 = 4;

/// Iterations whose launches are put together, at most.
const AT_ONCE: u32 = 64;

/// Threads a multiprocessor should have before one moves a particle in all dimensions.
const MOVING_THREADS: u32 = 256;

/// Iterations of a turn on the chip, where particles take turns and there is not room for all at once.
const STAY: u32 = 32;

/// The kernels that know nothing of the function.
struct Kernels<M: Machine, T: Number> {
    scatter: OnDemand<M, Scatter<T>>,
    advance: OnDemand<M, Advance<T>>,
    implant: OnDemand<M, Implant<T>>,
    catch_up: OnDemand<M, CatchUp<T>>,
    arrange: OnDemand<M, Arrange<T>>,
    survey_tiles: OnDemand<M, SurveyTiles<T>>,
    survey_swarm: OnDemand<M, SurveySwarm<T>>,
}

/// How many iterations are one launch, and what that takes besides: see [`resident::Arguments`].
struct OnChip<M: Machine, T: Number> {
    kernel: ChipKernel,
    shape: Shape,
    /// Meetings so far.
    round: u32,
    inertia: M::Buffer<T>,
    /// For those who meet.
    words: M::Buffer<u64>,
    shelf: M::Buffer<u32>,
    /// For those who do not.
    sequence: M::Buffer<u32>,
    published: M::Buffer<u32>,
    held_positions: M::Buffer<T>,
    held_fitness: M::Buffer<T>,
    held_particle: M::Buffer<u32>,
    /// Whether a launch has written what blocks hold, for the present state.
    is_held: bool,
}

impl<M: Machine, T: Number> OnChip<M, T> {
    fn new(
        machine: &M,
        (kernel, shape): (ChipKernel, Shape),
        manner: Manner,
        dims: usize,
    ) -> Result<Self> {
        let blocks = shape.blocks as usize;
        let (meeting, trading) = if manner == Manner::Together { (blocks, 0) } else { (0, blocks) };
        let published = if trading == 0 { 0 } else { Exchange::<T>::words(dims) };
        Ok(Self {
            kernel,
            shape,
            round: 0,
            inertia: machine.zeroed(0)?,
            words: machine.zeroed(Rendezvous::<T>::words(meeting))?,
            shelf: machine.zeroed(Rendezvous::<T>::shelf_words(meeting, dims))?,
            sequence: machine.zeroed(1)?,
            published: machine.zeroed(published)?,
            held_positions: machine.zeroed(trading * dims)?,
            held_fitness: machine.zeroed(trading)?,
            held_particle: machine.zeroed(trading)?,
            is_held: false,
        })
    }
}

/// Whether the particles are on the chip during a launch.
enum Place<M: Machine, T: Number> {
    /// Nobody has asked yet.
    Unknown,
    /// They are in device memory.
    Memory,
    /// They are.
    Chip(OnChip<M, T>),
}

/// How a user wants a swarm to be advanced.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    /// Where the particles are between iterations.
    pub residence: Residence,
    /// Who works for one on the chip.
    pub evaluation: Evaluation,
    /// Threads of a block with particles on the chip.
    pub threads: Option<u32>,
}

impl Asked {
    /// Whether it is wanted that threads share particles on the chip.
    fn wants_the_chip(&self) -> bool {
        !matches!(self.evaluation, Evaluation::Auto | Evaluation::Thread)
    }
}

/// A swarm in the buffers of a machine.
pub struct KernelSwarm<M: Machine, T: Number> {
    // The buffers first: they are dropped before the machine.
    bounds: M::Buffer<T>,
    variables: M::Buffer<u32>,
    keys: M::Buffer<Key>,
    tunings: M::Buffer<T>,
    rotation: M::Buffer<T>,
    pivot: M::Buffer<T>,
    data: M::Buffer<T>,
    positions: M::Buffer<T>,
    velocities: M::Buffer<T>,
    own_bests: M::Buffer<T>,
    best_fitness: M::Buffer<T>,
    /// Which own bests are not stored yet, if some may not be.
    fresh: M::Buffer<u32>,
    is_behind: bool,
    /// In which order positions, velocities and own bests lie.
    order: Order,
    /// Whether the particles are already where the next iteration evaluates them.
    are_moved: bool,
    fitness: M::Buffer<T>,
    stale: M::Buffer<u32>,
    exemplars: M::Buffer<u32>,
    image: M::Buffer<T>,
    block_fitness: M::Buffer<T>,
    block_particle: M::Buffer<u32>,
    arrivals: M::Buffer<u32>,
    /// An iteration reads the one of its parity and writes the other.
    guides: [M::Buffer<T>; 2],
    champion_fitness: M::Buffer<T>,
    champion_particle: M::Buffer<u32>,
    failed: M::Buffer<u32>,
    place: Place<M, T>,
    tile_sums: M::Buffer<f64>,
    records: M::Buffer<f64>,
    kernels: Kernels<M, T>,
    function: Box<dyn FunctionKernels<M, T>>,
    machine: Arc<M>,
    plan: Plan<T>,
    threads: u32,
    blocks: u32,
    /// The most blocks of a launch that finds a best.
    publishers: u32,
    /// Whether four threads have a particle in a launch for one iteration.
    by_fours: bool,
    asked: Asked,
    iteration: u32,
    /// Whether it has started, or goes on from a state.
    begun: bool,
    history: Option<u32>,
    has_room: bool,
    /// The iterations of the records that are still on the machine.
    recorded: Vec<u32>,
    fetched: Vec<Record>,
}

impl<M: Machine + 'static, T: Number> KernelSwarm<M, T> {
    /// A swarm in blocks of `threads` threads, a multiple of 32 up to 1,024, where its particles are not on the
    /// chip.
    pub fn new<O: Objective>(
        machine: M,
        objective: O,
        plan: Plan<T>,
        threads: u32,
        asked: Asked,
    ) -> Result<Self> {
        let function = Box::new(KernelsOf::<M, O, T>::new(objective));
        Self::of_kernels(machine, function, plan, threads, asked)
    }

    /// The same of kernels for a function, whatever it is.
    pub fn of_kernels(
        machine: M,
        function: Box<dyn FunctionKernels<M, T>>,
        plan: Plan<T>,
        threads: u32,
        asked: Asked,
    ) -> Result<Self> {
        let mut swarm = Self::with(machine, function, plan, threads)?;
        swarm.asked = asked;
        if matches!(asked.residence, Residence::Resident | Residence::Tiered)
            || asked.wants_the_chip()
        {
            // Refused here and not in the middle of a run.
            swarm.settle()?;
        }
        Ok(swarm)
    }

    fn with(
        machine: M,
        function: Box<dyn FunctionKernels<M, T>>,
        plan: Plan<T>,
        threads: u32,
    ) -> Result<Self> {
        if !(32..=1024).contains(&threads) || !threads.is_multiple_of(32) {
            return Err(Error::Option {
                option: "block_threads",
                value: threads.to_string(),
                accepted: "a multiple of 32 up to 1024".to_owned(),
            });
        }
        let dims = plan.dims() as usize;
        let (slots, swarms) = (plan.slots(), plan.members.len());
        let blocks = u64::from(plan.particles.div_ceil(threads)) * swarms as u64;
        let blocks = u32::try_from(blocks).ok().filter(|&blocks| blocks < 1 << 31);
        let Some(blocks) = blocks else {
            return Err(Error::Option {
                option: "swarms",
                value: swarms.to_string(),
                accepted: "so many that all together have fewer than 2^31 blocks".to_owned(),
            });
        };
        let flat = |words: &[super::FourWords<T>]| -> Vec<T> {
            words.iter().flat_map(|words| words.0).collect()
        };
        let exemplars = if plan.learns() { slots * dims } else { 0 };
        let by_fours = plan.is_usual()
            && residence::by_fours(machine.room(), function.reach(), plan.particles, plan.dims());
        // A launch for an iteration has blocks of a warp at least, and with the particles on the chip there may be more than
        // otherwise.
        let parts = if by_fours { quartet::PARTS } else { 1 };
        let smallest = plan.particles.div_ceil(warp::LANES / parts);
        let publishers = blocks.max(smallest).max(machine.room().blocks);
        let turned = !plan.rotation.is_empty() && function.reach() == Reach::All;
        Ok(Self {
            bounds: machine.upload(&flat(&plan.bounds))?,
            variables: machine.upload(&plan.variables)?,
            keys: machine.upload(&plan.keys())?,
            tunings: machine.upload(&flat(&plan.tunings()))?,
            rotation: machine.upload(&plan.rotation)?,
            pivot: machine.upload(&plan.pivot)?,
            data: machine.upload(&plan.data)?,
            positions: machine.zeroed(slots * dims)?,
            velocities: machine.zeroed(slots * dims)?,
            own_bests: machine.zeroed(slots * dims)?,
            best_fitness: machine.zeroed(slots)?,
            fresh: machine.zeroed(if plan.is_usual() { slots / MARKED } else { 0 })?,
            is_behind: false,
            order: Order::Rows,
            are_moved: false,
            fitness: machine.zeroed(0)?,
            stale: machine.zeroed(slots)?,
            exemplars: machine.zeroed(exemplars)?,
            image: machine.zeroed(if turned { slots * dims } else { 0 })?,
            block_fitness: machine.zeroed(publishers as usize)?,
            block_particle: machine.zeroed(publishers as usize)?,
            arrivals: machine.zeroed(swarms)?,
            guides: [machine.zeroed(swarms * dims)?, machine.zeroed(swarms * dims)?],
            champion_fitness: machine.zeroed(swarms)?,
            champion_particle: machine.zeroed(swarms)?,
            failed: machine.zeroed(swarms)?,
            place: Place::Unknown,
            tile_sums: machine.zeroed(0)?,
            records: machine.zeroed(0)?,
            kernels: Kernels {
                scatter: OnDemand::new(),
                advance: OnDemand::new(),
                implant: OnDemand::new(),
                catch_up: OnDemand::new(),
                arrange: OnDemand::new(),
                survey_tiles: OnDemand::new(),
                survey_swarm: OnDemand::new(),
            },
            function,
            machine: Arc::new(machine),
            plan,
            threads,
            blocks,
            publishers,
            by_fours,
            asked: Asked::default(),
            iteration: 0,
            begun: false,
            history: None,
            has_room: false,
            recorded: Vec::new(),
            fetched: Vec::new(),
        })
    }

    /// Which guide the launch of an iteration writes; it reads the other one.
    fn written_guide(iteration: u32) -> usize {
        iteration as usize % 2
    }

    /// Where the machine has what does not change.
    fn fixed(&self) -> Fixed<T> {
        let machine = &self.machine;
        // SAFETY: the buffers belong to `self`, and no launch writes them.
        unsafe {
            Fixed {
                bounds: machine.read_only(&self.bounds),
                variables: machine.read_only(&self.variables),
                keys: machine.read_only(&self.keys),
                tunings: machine.read_only(&self.tunings),
                rotation: machine.read_only(&self.rotation),
                pivot: machine.read_only(&self.pivot),
                data: machine.read_only(&self.data),
            }
        }
    }

    /// Where an iteration publishes its best.
    fn board(&self, iteration: u32) -> Board<T> {
        let machine = &self.machine;
        // SAFETY: the buffers belong to `self`, and launches run one after the other; within one, the
        // guide of the other parity is the one that is read.
        unsafe {
            Board {
                block_fitness: machine.read_write(&self.block_fitness),
                block_particle: machine.read_write(&self.block_particle),
                arrivals: machine.read_write(&self.arrivals),
                guide: machine.read_write(&self.guides[Self::written_guide(iteration)]),
                champion_fitness: machine.read_write(&self.champion_fitness),
                champion_particle: machine.read_write(&self.champion_particle),
                failed: machine.read_write(&self.failed),
            }
        }
    }

    /// The arguments of a move; `iteration` 0 for the start.
    fn motion(&self, iteration: u32) -> motion::Arguments<T> {
        let machine = &self.machine;
        // SAFETY: as in `board`; own bests, fitness, guides and champions are not written by moves.
        unsafe {
            motion::Arguments {
                settings: self.plan.settings(self.fixed()),
                iteration,
                progress: self.plan.progress(iteration),
                parts: 1,
                positions: machine.read_write(&self.positions),
                velocities: machine.read_write(&self.velocities),
                own_bests: machine.read_only(&self.own_bests),
                best_fitness: machine.read_only(&self.best_fitness),
                stale: machine.read_write(&self.stale),
                exemplars: machine.read_write(&self.exemplars),
                guide: machine.read_only(&self.guides[1 - Self::written_guide(iteration)]),
                champion: machine.read_only(&self.champion_particle),
                failed: machine.read_only(&self.failed),
            }
        }
    }

    /// Evaluates the particles where they are. If the next iteration `follows` at once, the particles may be moved
    /// with it.
    fn judge(&mut self, iteration: u32, outcome: Outcome, follows: bool) -> Result<()> {
        let then = Then { motion: self.motion(iteration + 1), is_wanted: follows };
        let machine = &self.machine;
        // SAFETY: as in `board`; positions are not written by evaluations.
        let arguments = unsafe {
            evaluate::Arguments {
                objective: (),
                view: self.plan.view(self.fixed()),
                particles: self.plan.particles,
                swarms: self.plan.swarms(),
                iteration,
                outcome,
                positions: machine.read_write(&self.positions),
                image: machine.read_write(&self.image),
                fitness: machine.read_write(&self.fitness),
                own_bests: machine.read_write(&self.own_bests),
                best_fitness: machine.read_write(&self.best_fitness),
                stale: machine.read_write(&self.stale),
                board: self.board(iteration),
            }
        };
        let shape = (self.blocks, self.threads);
        // SAFETY: the buffers are as long as documented (see `with`) and outlive the launch: dropping
        // one waits for it.
        self.are_moved = unsafe { self.function.evaluate(machine, shape, arguments, then)? };
        Ok(())
    }

    /// What the particles share in a usual iteration.
    fn common(&self, iteration: u32) -> Common<(), T> {
        Common {
            objective: (),
            view: self.plan.view(self.fixed()),
            particles: self.plan.particles,
            iteration,
            key: flockwork_device::random::philox::key(self.plan.members[0].seed),
            coefficients: self.plan.coefficients(0, iteration),
        }
    }

    /// Where the swarm lies.
    fn home(&self) -> Home<T> {
        let machine = &self.machine;
        // SAFETY: as in `board`.
        unsafe {
            Home {
                positions: machine.read_write(&self.positions),
                velocities: machine.read_write(&self.velocities),
                own_bests: machine.read_write(&self.own_bests),
                best_fitness: machine.read_write(&self.best_fitness),
                fresh: machine.read_write(&self.fresh),
            }
        }
    }

    /// The usual iteration, in one launch.
    fn step(&mut self, iteration: u32) -> Result<()> {
        let machine = &self.machine;
        // SAFETY: as in `board`.
        let arguments = unsafe {
            step::Arguments {
                common: self.common(iteration),
                home: self.home(),
                guide: machine.read_only(&self.guides[1 - Self::written_guide(iteration)]),
                board: self.board(iteration),
            }
        };
        self.is_behind = true;
        // SAFETY: as in `judge`; each block has its elements.
        unsafe { self.function.step(machine, self.order, self.publishers, self.threads, arguments) }
    }

    /// In which order that takes the swarm.
    fn streaming_order(&self) -> Order {
        if self.by_fours { Order::Sixteens } else { Order::Quads }
    }

    /// Sees to it that all own bests are stored.
    fn catch_up(&mut self) -> Result<()> {
        if !self.is_behind {
            return Ok(());
        }
        let machine = &self.machine;
        let (particles, dims) = (self.plan.particles, self.plan.dims());
        let arguments = Behind { particles, dims, order: self.order, home: self.home() };
        let kernel = self.kernels.catch_up.get(machine)?;
        // SAFETY: as in `judge`; there is a thread for each particle.
        unsafe { machine.launch(kernel, self.blocks, self.threads, &arguments)? };
        self.is_behind = false;
        Ok(())
    }

    /// Puts positions, velocities and own bests into this order, unless they are. Own bests are stored before.
    fn arrange(&mut self, order: Order) -> Result<()> {
        if self.order == order {
            return Ok(());
        }
        self.catch_up()?;
        let dims = self.plan.dims();
        // Nothing that makes no four lies otherwise.
        if dims >= 4 {
            let machine = &self.machine;
            let Home { positions, velocities, own_bests, .. } = self.home();
            let arrays = [positions, velocities, own_bests];
            let arguments = Orders { dims, from: self.order, to: order, arrays };
            let tiles = (self.plan.slots() / TILE) as u32;
            let kernel = self.kernels.arrange.get(machine)?;
            // SAFETY: as in `judge`; there is a block of `TILE` threads for each tile.
            unsafe { machine.launch(kernel, tiles, TILE as u32, &arguments)? };
        }
        self.order = order;
        Ok(())
    }

    /// Sees to it that all own bests are stored, and everything lies in rows.
    fn in_rows(&mut self) -> Result<()> {
        self.catch_up()?;
        self.arrange(Order::Rows)
    }

    fn manner(&self) -> Manner {
        if self.plan.asynchronous { Manner::Apart } else { Manner::Together }
    }

    /// Decides whether the particles are on the chip during a launch.
    fn settle(&mut self) -> Result<()> {
        if !matches!(self.place, Place::Unknown) {
            return Ok(());
        }
        let (particles, dims) = (self.plan.particles, self.plan.dims());
        let manner = self.manner();
        let Asked { residence, evaluation, .. } = self.asked;
        let may =
            self.plan.is_usual() && (manner == Manner::Apart || residence != Residence::Streaming);
        let shape = if may { self.shape(manner)? } else { None };
        let Some(shape) = shape else {
            let why = if !may && self.plan.is_usual() {
                "that is for particles on the chip"
            } else if may && residence == Residence::Tiered {
                "all of them fit on the chip, or none does"
            } else if may {
                "they do not fit on the chip"
            } else {
                "only the usual swarm runs there"
            };
            let refuse = |option, value, others| {
                let what = format!("{particles} particles in {dims} dimensions: {why}");
                Err(Error::Option { option, value, accepted: format!("{others} for {what}") })
            };
            if residence == Residence::Resident && manner == Manner::Together {
                return refuse("residence", residence.to_string(), "auto or streaming");
            }
            if residence == Residence::Tiered && manner == Manner::Together {
                return refuse("residence", residence.to_string(), "auto, resident or streaming");
            }
            if self.asked.wants_the_chip() {
                return refuse("evaluation", evaluation.to_string(), "auto or thread");
            }
            self.place = Place::Memory;
            return Ok(());
        };
        self.place = Place::Chip(OnChip::new(&*self.machine, shape, manner, dims as usize)?);
        Ok(())
    }

    /// The kernel and the shape of launches with the particles on the chip; `None` if they do not fit.
    fn shape(&mut self, manner: Manner) -> Result<Option<(ChipKernel, Shape)>> {
        let data = &self.plan.data;
        // SAFETY: so many numbers lie there, as long as this is used.
        let data = unsafe { ReadOnly::new(data.as_ptr(), data.len()) };
        let (terms, words) = self.function.terms(&Context::new(self.plan.dims(), data));
        let load = Workload {
            particles: self.plan.particles,
            dims: self.plan.dims(),
            reach: self.function.reach(),
            terms,
            words,
        };
        let Asked { residence, evaluation, threads } = self.asked;
        let tiered = manner == Manner::Together && residence == Residence::Tiered;
        let teams = residence::teams::<T>(evaluation, &load, self.machine.room());
        for &team in teams.iter().filter(|_| !tiered) {
            let kernels: &[ChipKernel] = match (team, manner) {
                (Some(_), _) => &[ChipKernel::Shared],
                (None, Manner::Together) => &[ChipKernel::Alone],
                (None, Manner::Apart) if are_few(load.dims) => {
                    &[ChipKernel::Alone, ChipKernel::Turns]
                }
                // The faster one where both will do.
                (None, Manner::Apart) => &[ChipKernel::Turns, ChipKernel::Alone],
            };
            for &kernel in kernels {
                let capacity = self.function.capacity(&self.machine, kernel)?;
                let shape = match kernel {
                    ChipKernel::Turns => residence::turns::<T>(capacity, threads, &load),
                    _ => residence::together::<T>(capacity, threads, &load, team),
                };
                if let Some(shape) = shape {
                    return Ok(Some((kernel, shape)));
                }
            }
        }
        let may = manner == Manner::Together && residence != Residence::Resident;
        if !may || !teams.contains(&None) {
            return Ok(None);
        }
        let capacity = self.function.capacity(&self.machine, ChipKernel::Tiered)?;
        let shape = residence::tiered::<T>(capacity, threads, &load, tiered);
        Ok(shape.map(|shape| (ChipKernel::Tiered, shape)))
    }

    /// So many iterations from number `first` on in one launch, with the particles on the chip.
    fn on_chip(&mut self, first: u32, iterations: u32) -> Result<()> {
        self.catch_up()?;
        self.arrange(Order::Quads)?;
        let manner = self.manner();
        let Place::Chip(chip) = &mut self.place else { unreachable!("asked for by `advance`") };
        if self.plan.schedule != Schedule::Constant {
            let numbers = first..first + iterations;
            let inertia = numbers.map(|iteration| self.plan.coefficients(0, iteration).inertia);
            // The old buffer is dropped, which waits for the launch that reads it.
            chip.inertia = self.machine.upload(&inertia.collect::<Vec<_>>())?;
        }
        let round = chip.round;
        chip.round = round.wrapping_add(iterations);
        chip.is_held = manner == Manner::Apart;
        let kernel = chip.kernel;
        self.is_behind = kernel == ChipKernel::Tiered;
        let Shape { blocks, threads, capacity, .. } = chip.shape;
        let team = chip.shape.team();
        let chunks = self.plan.particles.div_ceil(CHUNK).div_ceil(blocks);
        let stay = if chunks <= capacity { iterations } else { STAY };
        let Place::Chip(chip) = &self.place else { unreachable!("as above") };
        let machine = &self.machine;
        let last = first + (iterations - 1);
        let (any_bound, alike) = self.plan.any_bound();
        // SAFETY: as in `board`; the guide before may be the one that `board` has.
        let arguments = unsafe {
            resident::Arguments {
                common: self.common(first),
                iterations,
                manner,
                capacity,
                stay,
                round,
                varies: u32::from(self.plan.schedule != Schedule::Constant),
                alike: u32::from(alike),
                any_bound,
                inertia: machine.read_only(&chip.inertia),
                home: self.home(),
                start: machine.read_write(&self.guides[Self::written_guide(first - 1)]),
                rendezvous: Rendezvous::new(
                    machine.read_write(&chip.words),
                    machine.read_write(&chip.shelf),
                ),
                exchange: Exchange::new(
                    machine.read_write(&chip.sequence),
                    machine.read_write(&chip.published),
                ),
                held_positions: machine.read_write(&chip.held_positions),
                held_fitness: machine.read_write(&chip.held_fitness),
                held_particle: machine.read_write(&chip.held_particle),
                board: self.board(last),
                team,
            }
        };
        // SAFETY: as in `judge`; the shape is one that fits.
        unsafe { self.function.resident(machine, kernel, (blocks, threads), arguments) }
    }

    /// Threads that move a particle: more than one where there are few, so that they do not wait for one
    /// dimension after the other.
    fn parts(&self) -> u32 {
        if !self.plan.rule.is_separable() {
            return 1;
        }
        let most = self.plan.dims().div_ceil(T::PAIRS_PER_BLOCK).max(1);
        let threads = self.machine.room().blocks.max(1) * MOVING_THREADS;
        (threads / (self.blocks * self.threads)).clamp(1, most)
    }

    /// Any other iteration, in two launches; or in one, if the one before has moved the particles.
    fn general(&mut self, iteration: u32, follows: bool) -> Result<()> {
        self.in_rows()?;
        if !self.are_moved {
            let parts = self.parts();
            let arguments = motion::Arguments { parts, ..self.motion(iteration) };
            let kernel = self.kernels.advance.get(&self.machine)?;
            // SAFETY: as in `judge`; a particle's parts are of different dimensions.
            unsafe { self.machine.launch(kernel, self.blocks * parts, self.threads, &arguments)? };
        }
        self.judge(iteration, Outcome::Renewed, follows)
    }

    /// Makes room for records.
    fn make_room(&mut self) -> Result<()> {
        let (tiles, swarms) = (self.plan.slots() / TILE, self.plan.members.len());
        let most = (MOST_RECORDS as usize / swarms).max(1);
        self.tile_sums = self.machine.zeroed(4 * tiles)?;
        self.records = self.machine.zeroed(most * swarms * RECORD)?;
        self.has_room = true;
        Ok(())
    }

    /// Keeps a record.
    fn keep_record(&mut self) -> Result<()> {
        if !self.has_room {
            self.make_room()?;
        }
        let swarms = self.plan.swarms();
        let most = (MOST_RECORDS / swarms).max(1);
        if self.recorded.len() as u32 >= most {
            self.fetch()?;
        }
        let machine = &self.machine;
        // SAFETY: as in `board`; positions, velocities, fitness and guides are only read.
        let arguments = unsafe {
            survey::Arguments {
                settings: self.plan.settings(self.fixed()),
                record: self.recorded.len() as u32,
                order: self.order,
                positions: machine.read_only(&self.positions),
                velocities: machine.read_only(&self.velocities),
                best_fitness: machine.read_only(&self.best_fitness),
                guide: machine.read_only(&self.guides[Self::written_guide(self.iteration)]),
                champion_fitness: machine.read_only(&self.champion_fitness),
                tiles: machine.read_write(&self.tile_sums),
                records: machine.read_write(&self.records),
            }
        };
        let tiles = (self.plan.slots() / TILE) as u32;
        // SAFETY: as in `judge`; a block of `TILE` threads for each tile, then one of `SUMS` for each
        // swarm; there is room.
        unsafe {
            let kernel = self.kernels.survey_tiles.get(machine)?;
            machine.launch(kernel, tiles, TILE as u32, &arguments)?;
            let kernel = self.kernels.survey_swarm.get(machine)?;
            machine.launch(kernel, swarms, SUMS as u32, &arguments)?;
        }
        self.recorded.push(self.iteration);
        Ok(())
    }

    /// Brings the records here.
    fn fetch(&mut self) -> Result<()> {
        let swarms = self.plan.members.len();
        let words = self.recorded.len() * swarms * RECORD;
        if words > 0 {
            let words = self.machine.download(&self.records, words)?;
            for (nth, record) in words.chunks_exact(RECORD).enumerate() {
                self.fetched.push(Record {
                    iteration: self.recorded[nth / swarms],
                    best: record[0],
                    sums: Sums::from_words([record[1], record[2], record[3], record[4]]),
                });
            }
            self.recorded.clear();
        }
        Ok(())
    }

    /// What lies in the swarms' slots, without the padding.
    fn each_swarm<E: Pod>(
        &self,
        buffer: &M::Buffer<E>,
        dims: usize,
        untile: impl Fn(&[E]) -> Vec<E>,
    ) -> Result<Vec<E>> {
        let stride = layout::stride(self.plan.particles as usize) * dims;
        let all = self.machine.download(buffer, self.plan.slots() * dims)?;
        Ok(all.chunks_exact(stride.max(1)).flat_map(untile).collect())
    }

    /// The other way round.
    fn in_slots<E: Pod>(&self, rows: &[E], dims: usize) -> Result<M::Buffer<E>> {
        let particles = self.plan.particles as usize;
        let stride = layout::stride(particles) * dims;
        let mut tiled = memory::zeroed::<E>(self.plan.slots() * dims)?;
        for (rows, tiled) in rows.chunks_exact(particles * dims).zip(tiled.chunks_exact_mut(stride))
        {
            into_tiles(rows, tiled, particles, dims);
        }
        self.machine.upload(&tiled)
    }
}

impl<M: Machine + 'static, T: Number> Swarm<T> for KernelSwarm<M, T> {
    fn start(&mut self, points: Option<&[T]>) -> Result<()> {
        super::check_start(&self.plan, self.begun, points)?;
        self.begun = true;
        self.in_rows()?;
        let arguments = self.motion(0);
        let kernel = self.kernels.scatter.get(&self.machine)?;
        // SAFETY: as in `judge`.
        unsafe { self.machine.launch(kernel, self.blocks, self.threads, &arguments)? };
        if let Some(points) = points {
            // The old buffer is dropped, which waits for the launch.
            self.positions = self.in_slots(points, self.plan.dims() as usize)?;
        }
        self.judge(0, Outcome::First, false)?;
        if self.history.is_some() {
            self.keep_record()?;
        }
        Ok(())
    }

    fn advance(&mut self, iterations: u32) -> Result<()> {
        super::check_begun(self.begun)?;
        let usual = self.plan.is_usual();
        let mut left = iterations;
        while left > 0 {
            let done;
            let next = self.iteration + 1;
            let most = until_record(self.iteration, left, self.history).min(MOST_ITERATIONS);
            let worth = self.plan.asynchronous || most >= FEWEST_ITERATIONS;
            if usual && worth {
                self.settle()?;
            }
            if worth && matches!(self.place, Place::Chip(_)) {
                done = most;
                self.on_chip(next, done)?;
            } else {
                done = most.min(AT_ONCE);
                if usual {
                    self.arrange(self.streaming_order())?;
                }
                let machine = self.machine.clone();
                machine.batch(&mut || {
                    (next..next + done).try_for_each(|iteration| match usual {
                        true => self.step(iteration),
                        false => self.general(iteration, iteration + 1 < next + done),
                    })
                })?;
            }
            self.iteration += done;
            left -= done;
            if self.history.is_some_and(|stride| self.iteration.is_multiple_of(stride)) {
                self.keep_record()?;
            }
        }
        Ok(())
    }

    fn timed(&mut self, iterations: u32) -> Result<Duration> {
        let machine = self.machine.clone();
        machine.timed(&mut || self.advance(iterations))
    }

    fn iteration(&self) -> u32 {
        self.iteration
    }

    fn way(&self) -> Way {
        match &self.place {
            Place::Unknown | Place::Memory => Way::Streaming,
            Place::Chip(_) if self.plan.asynchronous => Way::Asynchronous,
            Place::Chip(chip) if chip.kernel == ChipKernel::Tiered => Way::Tiered,
            Place::Chip(_) => Way::Resident,
        }
    }

    fn bests(&mut self) -> Result<Vec<Best<T>>> {
        let (swarms, dims) = (self.plan.members.len(), self.plan.dims() as usize);
        let values = self.machine.download(&self.champion_fitness, swarms)?;
        let particles = self.machine.download(&self.champion_particle, swarms)?;
        let guides = &self.guides[Self::written_guide(self.iteration)];
        let positions = self.machine.download(guides, swarms * dims)?;
        let bests = values.into_iter().zip(particles).zip(positions.chunks_exact(dims));
        Ok(bests
            .map(|((value, particle), position)| Best {
                value,
                particle,
                position: position.to_vec(),
            })
            .collect())
    }

    fn held(&mut self) -> Result<Vec<Best<T>>> {
        let Place::Chip(chip) = &self.place else { return self.bests() };
        if !chip.is_held {
            return self.bests();
        }
        let (parts, dims) = (chip.shape.blocks as usize, self.plan.dims() as usize);
        let values = self.machine.download(&chip.held_fitness, parts)?;
        let particles = self.machine.download(&chip.held_particle, parts)?;
        let positions = self.machine.download(&chip.held_positions, parts * dims)?;
        let held = values.into_iter().zip(particles).zip(positions.chunks_exact(dims));
        Ok(held
            .map(|((value, particle), position)| Best {
                value,
                particle,
                position: position.to_vec(),
            })
            .collect())
    }

    fn record_every(&mut self, stride: Option<u32>) -> Result<()> {
        self.history = stride;
        Ok(())
    }

    fn take_records(&mut self) -> Result<Vec<Record>> {
        self.fetch()?;
        Ok(std::mem::take(&mut self.fetched))
    }

    fn survey(&mut self) -> Result<Vec<Record>> {
        self.keep_record()?;
        self.fetch()?;
        let kept = self.fetched.len() - self.plan.members.len();
        Ok(self.fetched.split_off(kept))
    }

    fn evaluate(&mut self, points: &[T]) -> Result<Vec<T>> {
        let dims = self.plan.dims() as usize;
        let count = super::check_points(&self.plan, points)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let slots = layout::stride(count);
        let mut tiled = memory::zeroed(slots * dims)?;
        into_tiles(points, &mut tiled, count, dims);
        let turned = !self.plan.rotation.is_empty() && self.function.reach() == Reach::All;
        let machine = &self.machine;
        let positions = machine.upload(&tiled)?;
        let fitness = machine.zeroed::<T>(slots)?;
        let image = machine.zeroed(if turned { slots * dims } else { 0 })?;
        // SAFETY: as in `judge`; the three buffers live until the download below has waited.
        let arguments = unsafe {
            evaluate::Arguments {
                objective: (),
                view: self.plan.view(self.fixed()),
                particles: count as u32,
                swarms: 1,
                iteration: self.iteration,
                outcome: Outcome::Told,
                positions: machine.read_write(&positions),
                image: machine.read_write(&image),
                fitness: machine.read_write(&fitness),
                own_bests: machine.read_write(&self.own_bests),
                best_fitness: machine.read_write(&self.best_fitness),
                stale: machine.read_write(&self.stale),
                board: self.board(self.iteration),
            }
        };
        let blocks = (count as u32).div_ceil(self.threads);
        let then = Then { motion: self.motion(self.iteration), is_wanted: false };
        // SAFETY: as in `judge`.
        unsafe { self.function.evaluate(machine, (blocks, self.threads), arguments, then)? };
        machine.download(&fitness, count)
    }

    fn implant(&mut self, swarm: usize, point: &[T], fitness: T) -> Result<()> {
        super::check_implant(&self.plan, self.begun, swarm, point, fitness)?;
        self.in_rows()?;
        let machine = &self.machine;
        let point = machine.upload(point)?;
        // SAFETY: as in `judge`; the point lives until the launch is done: dropping it waits.
        unsafe {
            let arguments = implant::Arguments {
                dims: self.plan.dims(),
                swarm: swarm as u32,
                stride: layout::stride(self.plan.particles as usize) as u32,
                fitness,
                point: machine.read_only(&point),
                own_bests: machine.read_write(&self.own_bests),
                best_fitness: machine.read_write(&self.best_fitness),
                stale: machine.read_write(&self.stale),
                board: self.board(self.iteration),
            };
            let kernel = self.kernels.implant.get(machine)?;
            machine.launch(kernel, 1, 128, &arguments)
        }
    }

    fn snapshot(&mut self) -> Result<Snapshot<T>> {
        self.in_rows()?;
        let (particles, dims) = (self.plan.particles as usize, self.plan.dims() as usize);
        let swarms = self.plan.members.len();
        let rows = |buffer| self.each_swarm(buffer, dims, |t| by_particle(t, particles, dims));
        let singles = |slots: &[T]| slots[..particles].to_vec();
        let exemplars = if self.plan.learns() {
            self.each_swarm(&self.exemplars, dims, |t| by_particle(t, particles, dims))?
        } else {
            Vec::new()
        };
        Ok(Snapshot {
            iteration: self.iteration,
            positions: rows(&self.positions)?,
            velocities: rows(&self.velocities)?,
            own_bests: rows(&self.own_bests)?,
            best_fitness: self.each_swarm(&self.best_fitness, 1, singles)?,
            stale: self.each_swarm(&self.stale, 1, |slots| slots[..particles].to_vec())?,
            exemplars,
            failed: self.machine.download(&self.failed, swarms)?,
            bests: self.bests()?,
        })
    }

    fn restore(&mut self, snapshot: &Snapshot<T>) -> Result<()> {
        let (particles, dims) = (self.plan.particles as usize, self.plan.dims() as usize);
        snapshot.check(self.plan.members.len(), particles, dims, self.plan.learns())?;
        self.in_rows()?;
        self.positions = self.in_slots(&snapshot.positions, dims)?;
        self.velocities = self.in_slots(&snapshot.velocities, dims)?;
        self.own_bests = self.in_slots(&snapshot.own_bests, dims)?;
        self.best_fitness = self.in_slots(&snapshot.best_fitness, 1)?;
        self.stale = self.in_slots(&snapshot.stale, 1)?;
        if self.plan.learns() {
            self.exemplars = self.in_slots(&snapshot.exemplars, dims)?;
        }
        self.failed = self.machine.upload(&snapshot.failed)?;
        let bests = &snapshot.bests;
        let values: Vec<T> = bests.iter().map(|best| best.value).collect();
        let champions: Vec<u32> = bests.iter().map(|best| best.particle).collect();
        let guides: Vec<T> = bests.iter().flat_map(|best| best.position.clone()).collect();
        self.champion_fitness = self.machine.upload(&values)?;
        self.champion_particle = self.machine.upload(&champions)?;
        self.guides[Self::written_guide(snapshot.iteration)] = self.machine.upload(&guides)?;
        self.iteration = snapshot.iteration;
        self.begun = true;
        if let Place::Chip(chip) = &mut self.place {
            chip.is_held = false;
        }
        Ok(())
    }
}
