//! A swarm on a machine that runs kernels: a GPU, or the emulator.
//!
//! [`strategy::choose`] decides once which kernels the iterations use. This module has the swarm's
//! buffers ([`buffers`]), launches ([`launches`]), records ([`history`]) and migrants under way
//! ([`crossing`]). Nothing waits for the host between iterations.

mod buffers;
mod crossing;
mod history;
mod launches;

use std::{sync::Arc, time::Duration};

use flockwork_device::{
    gpu::{memory::ReadOnly, warp},
    objective::{Context, Objective},
    swarm::{
        kernels::{
            evaluate::{self, Outcome},
            implant::{self, Implant},
            migrate::{Emigrate, Emigration, Immigrate, Immigration},
            motion::{Advance, Scatter},
            order::{Arrange, CatchUp},
            step_cooperative,
        },
        layout::{self, Order},
    },
};

use self::{
    buffers::{Buffers, OnChip, each_swarm, in_slots, needs_image, written_global_best},
    crossing::Crossing,
    history::History,
};
use super::{
    Best, Migrant, Number, Plan, Record, Snapshot, Strategy, Swarm, by_particle,
    function_kernels::{FunctionKernels, KernelsOf, Then},
    into_tiles,
    machine::{Machine, OnDemand},
    strategy::{self, Asked, Case, Launch, Workload},
    until_record,
};
use crate::{Error, Result, memory};

/// The most iterations of one launch with the particles on the chip.
const MOST_ITERATIONS: u32 = 1 << 14;

/// The fewest iterations that are worth loading the particles onto the chip and storing them.
const FEWEST_ITERATIONS: u32 = 4;

/// The most iterations whose launches are batched.
const AT_ONCE: u32 = 64;

/// Threads of a block that looks through a part of the swarm for migrants.
const LOOKING: u32 = 512;

/// The kernels that do not depend on the function.
struct Kernels<M: Machine, T: Number> {
    scatter: OnDemand<M, Scatter<T>>,
    advance: OnDemand<M, Advance<T>>,
    implant: OnDemand<M, Implant<T>>,
    emigrate: OnDemand<M, Emigrate<T>>,
    immigrate: OnDemand<M, Immigrate<T>>,
    catch_up: OnDemand<M, CatchUp<T>>,
    arrange: OnDemand<M, Arrange<T>>,
}

/// A swarm in the buffers of a machine.
pub struct KernelSwarm<M: Machine, T: Number> {
    // The buffers come first: they must be dropped before the machine.
    buffers: Buffers<M, T>,
    /// Additional buffers for launches with particles on the chip, once there has been one.
    chip: Option<OnChip<M, T>>,
    /// Where emigrants and immigrants lie, once there have been some, and how many emigrants.
    emigrants: Option<Crossing<M, T>>,
    immigrants: Option<Crossing<M, T>>,
    emigrated: u32,
    history: History<M, T>,
    kernels: Kernels<M, T>,
    function: Box<dyn FunctionKernels<M, T>>,
    machine: Arc<M>,
    plan: Plan<T>,
    /// The launch for many iterations, and the one for a few.
    launch: Launch,
    launch_of_few: Launch,
    /// Threads per block in launches that are not on the chip, and blocks with one thread per
    /// particle.
    threads: u32,
    blocks: u32,
    /// The most blocks of a launch that finds a global best.
    publishers: u32,
    /// Whether some personal bests are marked but not stored yet.
    is_behind: bool,
    /// Whether the particles are already where the next iteration evaluates them.
    are_moved: bool,
    iteration: u32,
    /// Whether it has started, or continues from a state.
    begun: bool,
}

impl<M: Machine + 'static, T: Number> KernelSwarm<M, T> {
    /// Launches that are not on the chip have blocks of `threads` threads, a multiple of 32 up to
    /// 1,024.
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

    /// As [`Self::new`], with given kernels of a function.
    pub fn of_kernels(
        machine: M,
        function: Box<dyn FunctionKernels<M, T>>,
        plan: Plan<T>,
        threads: u32,
        asked: Asked,
    ) -> Result<Self> {
        if !(32..=1024).contains(&threads) || !threads.is_multiple_of(32) {
            return Err(Error::Option {
                option: "block_threads",
                value: threads.to_string(),
                accepted: "a multiple of 32 up to 1024".to_owned(),
            });
        }
        if function.are_told() && plan.asynchronous {
            return Err(Error::Option {
                option: "mode",
                value: "asynchronous".to_owned(),
                accepted: "synchronous where somebody else evaluates the particles".to_owned(),
            });
        }
        let swarms = plan.members.len();
        let blocks = u64::from(plan.particles.div_ceil(threads)) * swarms as u64;
        let blocks = u32::try_from(blocks).ok().filter(|&blocks| blocks < 1 << 31);
        let Some(blocks) = blocks else {
            return Err(Error::Option {
                option: "swarms",
                value: swarms.to_string(),
                accepted: "so many that all together have fewer than 2^31 blocks".to_owned(),
            });
        };
        let case = Case {
            load: workload(&*function, &plan),
            is_fusible: plan.is_fusible(),
            is_asynchronous: plan.asynchronous,
            room: machine.room(),
            asked,
        };
        let launch_of_few = strategy::in_memory(&case);
        let launch = if function.are_told() {
            // Nothing runs for many iterations: that may be refused.
            strategy::choose::<T>(&Case { is_fusible: false, ..case }, |_| case.room)?;
            launch_of_few
        } else {
            strategy::choose::<T>(&case, |kernel| function.capacity(&machine, kernel))?
        };
        // A fused launch has blocks of at least a warp; launches on the chip may have more blocks.
        let parts = if launch_of_few == Launch::Streaming(Order::Sixteens) {
            step_cooperative::PARTS
        } else {
            1
        };
        let smallest = plan.particles.div_ceil(warp::LANES / parts);
        let publishers = blocks.max(smallest).max(case.room.blocks);
        Ok(Self {
            buffers: Buffers::new(&machine, &plan, function.reach(), publishers)?,
            chip: None,
            emigrants: None,
            immigrants: None,
            emigrated: 0,
            history: History::new(),
            kernels: Kernels {
                scatter: OnDemand::new(),
                advance: OnDemand::new(),
                implant: OnDemand::new(),
                emigrate: OnDemand::new(),
                immigrate: OnDemand::new(),
                catch_up: OnDemand::new(),
                arrange: OnDemand::new(),
            },
            function,
            machine: Arc::new(machine),
            plan,
            launch,
            launch_of_few,
            threads,
            blocks,
            publishers,
            is_behind: false,
            are_moved: false,
            iteration: 0,
            begun: false,
        })
    }

    /// The iterations from `first` on in batched launches, one or two per iteration.
    fn few(&mut self, first: u32, iterations: u32) -> Result<()> {
        let end = first + iterations;
        let machine = self.machine.clone();
        if let Launch::Streaming(order) = self.launch_of_few {
            self.arrange(order)?;
            machine.batch(&mut || (first..end).try_for_each(|iteration| self.step(iteration)))
        } else {
            machine.batch(&mut || {
                (first..end).try_for_each(|iteration| self.general(iteration, iteration + 1 < end))
            })
        }
    }

    fn keep_record(&mut self) -> Result<()> {
        self.history.keep(&self.machine, &self.plan, &self.buffers, self.iteration)
    }

    /// The global bests of this many parts, from these buffers.
    fn download_bests(
        &self,
        parts: usize,
        values: &M::Buffer<T>,
        particles: &M::Buffer<u32>,
        positions: &M::Buffer<T>,
    ) -> Result<Vec<Best<T>>> {
        let dims = self.plan.dims() as usize;
        let values = self.machine.download(values, parts)?;
        let particles = self.machine.download(particles, parts)?;
        let positions = self.machine.download(positions, parts * dims)?;
        let bests = values.into_iter().zip(particles).zip(positions.chunks_exact(dims));
        Ok(bests
            .map(|((value, particle), position)| Best {
                value,
                particle,
                position: position.to_vec(),
            })
            .collect())
    }
}

/// The work of an iteration.
fn workload<M: Machine, T: Number>(
    function: &dyn FunctionKernels<M, T>,
    plan: &Plan<T>,
) -> Workload {
    let (terms, words) = if plan.is_fusible() {
        // SAFETY: these are the numbers of `plan.data`, which outlives the context.
        let data = unsafe { ReadOnly::new(plan.data.as_ptr(), plan.data.len()) };
        function.terms(&Context::new(plan.dims(), data))
    } else {
        (0, 0)
    };
    let (particles, dims) = (plan.particles, plan.dims());
    Workload { particles, dims, reach: function.reach(), terms, words }
}

impl<M: Machine + 'static, T: Number> Swarm<T> for KernelSwarm<M, T> {
    fn start(&mut self, points: Option<&[T]>) -> Result<()> {
        super::check_start(&self.plan, self.begun, points)?;
        self.begun = true;
        self.in_rows()?;
        self.scatter()?;
        if let Some(points) = points {
            // Dropping the old buffer waits for the launch.
            self.buffers.positions =
                in_slots(&*self.machine, &self.plan, points, self.plan.dims() as usize)?;
        }
        self.judge(0, Outcome::First, false)?;
        if self.history.is_due(0) {
            self.keep_record()?;
        }
        Ok(())
    }

    fn advance(&mut self, iterations: u32) -> Result<()> {
        super::check_advance(self.begun, self.iteration, iterations)?;
        let mut left = iterations;
        while left > 0 {
            let next = self.iteration + 1;
            let most = until_record(self.iteration, left, self.history.stride).min(MOST_ITERATIONS);
            let is_worth_it = self.plan.asynchronous || most >= FEWEST_ITERATIONS;
            let done = match self.launch {
                Launch::OnChip(kernel, shape) if is_worth_it => {
                    self.on_chip((kernel, shape), next, most)?;
                    most
                }
                // What is launched later, nobody can be asked for.
                _ if self.function.are_told() => {
                    self.told(next)?;
                    1
                }
                _ => {
                    let done = most.min(AT_ONCE);
                    self.few(next, done)?;
                    done
                }
            };
            self.iteration += done;
            left -= done;
            if self.history.is_due(self.iteration) {
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

    fn strategy(&self) -> Strategy {
        self.launch.strategy(self.plan.asynchronous)
    }

    fn bests(&mut self) -> Result<Vec<Best<T>>> {
        super::check_begun(self.begun)?;
        let state = &self.buffers;
        self.download_bests(
            self.plan.members.len(),
            &state.global_best_fitness,
            &state.global_best_particle,
            &state.global_bests[written_global_best(self.iteration)],
        )
    }

    fn block_bests(&mut self) -> Result<Vec<Best<T>>> {
        match (&self.chip, self.launch) {
            (Some(chip), Launch::OnChip(_, shape)) if chip.is_held => self.download_bests(
                shape.blocks as usize,
                &chip.block_best_fitness,
                &chip.block_best_particle,
                &chip.block_best_positions,
            ),
            _ => self.bests(),
        }
    }

    fn record_every(&mut self, stride: Option<u32>) -> Result<()> {
        super::check_stride(stride)?;
        self.history.stride = stride;
        Ok(())
    }

    fn take_records(&mut self) -> Result<Vec<Record>> {
        self.history.take(&self.machine, self.plan.swarms())
    }

    fn survey(&mut self) -> Result<Vec<Record>> {
        super::check_begun(self.begun)?;
        self.keep_record()?;
        self.history.take_last(&self.machine, self.plan.swarms())
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
        let turned = needs_image(&self.plan, self.function.reach());
        let (machine, state) = (&*self.machine, &self.buffers);
        let positions = machine.upload(&tiled)?;
        let fitness = machine.zeroed::<T>(slots)?;
        let image = machine.zeroed(if turned { slots * dims } else { 0 })?;
        // SAFETY: as in `motion`; the three buffers live until the download below has waited.
        let arguments = unsafe {
            evaluate::Arguments {
                objective: (),
                view: self.plan.view(state.fixed(machine)),
                particles: count as u32,
                swarms: 1,
                iteration: self.iteration,
                outcome: Outcome::Told,
                positions: machine.read_write(&positions),
                image: machine.read_write(&image),
                fitness: machine.read_write(&fitness),
                personal_bests: machine.read_write(&state.personal_bests),
                best_fitness: machine.read_write(&state.best_fitness),
                stale: machine.read_write(&state.stale),
                board: state.board(machine, self.iteration),
            }
        };
        let blocks = (count as u32).div_ceil(self.threads);
        let then = Then { motion: self.motion(self.iteration), is_wanted: false };
        // SAFETY: as in `scatter`.
        unsafe { self.function.evaluate(machine, (blocks, self.threads), arguments, then)? };
        machine.download(&fitness, count)
    }

    fn implant(&mut self, swarm: usize, point: &[T], fitness: T) -> Result<()> {
        super::check_implant(&self.plan, self.begun, swarm, point, fitness)?;
        let swarms = self.plan.members.len();
        let best = self.machine.download(&self.buffers.global_best_fitness, swarms)?[swarm];
        super::check_better(fitness, best)?;
        self.in_rows()?;
        let (machine, state) = (&*self.machine, &self.buffers);
        let point = machine.upload(point)?;
        // SAFETY: as in `motion`; the point lives until the launch is done, because dropping it
        // waits.
        unsafe {
            let arguments = implant::Arguments {
                dims: self.plan.dims(),
                swarm: swarm as u32,
                stride: layout::stride(self.plan.particles as usize) as u32,
                fitness,
                point: machine.read_only(&point),
                personal_bests: machine.read_write(&state.personal_bests),
                best_fitness: machine.read_write(&state.best_fitness),
                stale: machine.read_write(&state.stale),
                board: state.board(machine, self.iteration),
            };
            let kernel = self.kernels.implant.get(machine)?;
            machine.launch(kernel, 1, 128, &arguments)
        }
    }

    fn emigrate(&mut self, count: u32) -> Result<()> {
        super::check_migrants(&self.plan, self.begun, count as usize)?;
        self.catch_up()?;
        let (machine, state) = (&self.machine, &self.buffers);
        let numbers = count as usize * (1 + self.plan.dims() as usize);
        let emigrants = Crossing::of(&mut self.emigrants, machine, numbers)?;
        // SAFETY: as in `motion`; this launch only reads personal bests, of which `catch_up` has stored
        // all, and the emigrants live as long as `self`. Each part has a block.
        unsafe {
            let arguments = Emigration {
                particles: self.plan.particles,
                dims: self.plan.dims(),
                order: state.order,
                personal_bests: machine.read_only(&state.personal_bests),
                best_fitness: machine.read_only(&state.best_fitness),
                emigrants: machine.read_write(emigrants.buffer()),
            };
            let kernel = self.kernels.emigrate.get(machine)?;
            machine.launch(kernel, count, LOOKING, &arguments)?;
        }
        emigrants.send_out(numbers)?;
        self.emigrated = count;
        Ok(())
    }

    fn emigrants(&mut self) -> Result<Vec<Migrant<T>>> {
        let Some(emigrants) = &mut self.emigrants else { return Ok(Vec::new()) };
        let dims = self.plan.dims() as usize;
        let numbers = emigrants.received(self.emigrated as usize * (1 + dims))?;
        Ok(Migrant::of_numbers(numbers, dims).collect())
    }

    fn immigrate(&mut self, migrants: &[Migrant<T>]) -> Result<()> {
        super::check_immigrants(&self.plan, self.begun, migrants)?;
        self.catch_up()?;
        let (machine, state) = (&self.machine, &self.buffers);
        let numbers = Migrant::to_numbers(migrants);
        let immigrants = Crossing::of(&mut self.immigrants, machine, numbers.len())?;
        immigrants.send_in(&numbers)?;
        let count = migrants.len() as u32;
        // SAFETY: as in `motion`; nobody is fresh after `catch_up`, the immigrants live as long as `self`,
        // and the board has a place for each block.
        unsafe {
            let arguments = Immigration {
                particles: self.plan.particles,
                dims: self.plan.dims(),
                count,
                order: state.order,
                immigrants: machine.read_only(immigrants.buffer()),
                personal_bests: machine.read_write(&state.personal_bests),
                best_fitness: machine.read_write(&state.best_fitness),
                stale: machine.read_write(&state.stale),
                board: state.board(machine, self.iteration),
            };
            let kernel = self.kernels.immigrate.get(machine)?;
            machine.launch(kernel, count.min(self.publishers), LOOKING, &arguments)?;
        }
        immigrants.is_used()?;
        if let Some(chip) = &mut self.chip {
            chip.is_held = false;
        }
        Ok(())
    }

    fn ends_whole(&self) -> bool {
        self.function.are_told()
    }

    fn snapshot(&mut self) -> Result<Snapshot<T>> {
        super::check_begun(self.begun)?;
        self.in_rows()?;
        let (particles, dims) = (self.plan.particles as usize, self.plan.dims() as usize);
        let swarms = self.plan.members.len();
        let (machine, plan, state) = (&*self.machine, &self.plan, &self.buffers);
        let untile = |slots: &[T]| by_particle(slots, particles, dims);
        let rows = |buffer| each_swarm(machine, plan, buffer, dims, untile);
        let exemplars = if plan.learns() {
            let untile = |slots: &[u32]| by_particle(slots, particles, dims);
            each_swarm(machine, plan, &state.exemplars, dims, untile)?
        } else {
            Vec::new()
        };
        Ok(Snapshot {
            iteration: self.iteration,
            positions: rows(&state.positions)?,
            velocities: rows(&state.velocities)?,
            personal_bests: rows(&state.personal_bests)?,
            best_fitness: each_swarm(machine, plan, &state.best_fitness, 1, |slots| {
                slots[..particles].to_vec()
            })?,
            stale: each_swarm(machine, plan, &state.stale, 1, |slots| slots[..particles].to_vec())?,
            exemplars,
            failed: machine.download(&state.failed, swarms)?,
            bests: self.bests()?,
        })
    }

    fn restore(&mut self, snapshot: &Snapshot<T>) -> Result<()> {
        snapshot.check(&self.plan)?;
        let dims = self.plan.dims() as usize;
        self.in_rows()?;
        let (machine, plan, state) = (&*self.machine, &self.plan, &mut self.buffers);
        state.positions = in_slots(machine, plan, &snapshot.positions, dims)?;
        state.velocities = in_slots(machine, plan, &snapshot.velocities, dims)?;
        state.personal_bests = in_slots(machine, plan, &snapshot.personal_bests, dims)?;
        state.best_fitness = in_slots(machine, plan, &snapshot.best_fitness, 1)?;
        state.stale = in_slots(machine, plan, &snapshot.stale, 1)?;
        if plan.learns() {
            state.exemplars = in_slots(machine, plan, &snapshot.exemplars, dims)?;
        }
        state.failed = machine.upload(&snapshot.failed)?;
        let bests = &snapshot.bests;
        let values: Vec<T> = bests.iter().map(|best| best.value).collect();
        let best_particles: Vec<u32> = bests.iter().map(|best| best.particle).collect();
        let global_bests: Vec<T> = bests.iter().flat_map(|best| best.position.clone()).collect();
        state.global_best_fitness = machine.upload(&values)?;
        state.global_best_particle = machine.upload(&best_particles)?;
        state.global_bests[written_global_best(snapshot.iteration)] =
            machine.upload(&global_bests)?;
        self.iteration = snapshot.iteration;
        self.begun = true;
        if let Some(chip) = &mut self.chip {
            chip.is_held = false;
        }
        Ok(())
    }
}
