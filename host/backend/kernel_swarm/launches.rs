//! The launches of a swarm: the start, an iteration in two launches or in one, many iterations in
//! one.

use flockwork_device::{
    random::philox,
    swarm::{
        kernels::{
            chunks::CHUNK,
            evaluate::{self, Outcome},
            in_memory::Home,
            mailbox::Mailbox,
            motion,
            order::{Behind, Orders},
            rendezvous::Rendezvous,
            resident::{self, Synchrony},
            step,
        },
        layout::{Order, TILE},
        settings::Schedule,
        step::Common,
    },
};

use super::{
    KernelSwarm,
    buffers::{OnChip, written_global_best},
};
use crate::{
    Result,
    backend::{
        Number,
        function_kernels::Then,
        machine::Machine,
        strategy::{ChipKernel, Launch, Shape},
    },
};

/// If a multiprocessor has fewer threads than this, several share the dimensions of a move.
const MOVING_THREADS: u32 = 256;

/// Iterations of a time slice if not all particles fit on the chip at once.
const SLICE: u32 = 32;

impl<M: Machine, T: Number> KernelSwarm<M, T> {
    /// The arguments of a move; `iteration` is 0 for the start.
    pub(super) fn motion(&self, iteration: u32) -> motion::Arguments<T> {
        let (machine, state) = (&*self.machine, &self.buffers);
        // SAFETY: the buffers belong to `self`, which drops or replaces them only after its
        // launches, and launches run one after the other. Moves do not write personal bests,
        // fitness or global bests.
        unsafe {
            motion::Arguments {
                settings: self.plan.settings(state.fixed(machine)),
                iteration,
                progress: self.plan.progress(iteration),
                parts: 1,
                positions: machine.read_write(&state.positions),
                velocities: machine.read_write(&state.velocities),
                personal_bests: machine.read_only(&state.personal_bests),
                best_fitness: machine.read_only(&state.best_fitness),
                stale: machine.read_write(&state.stale),
                exemplars: machine.read_write(&state.exemplars),
                global_best: machine
                    .read_only(&state.global_bests[1 - written_global_best(iteration)]),
                global_best_particle: machine.read_only(&state.global_best_particle),
                failed: machine.read_only(&state.failed),
            }
        }
    }

    /// Initialises the particles without evaluating them.
    pub(super) fn scatter(&mut self) -> Result<()> {
        let arguments = self.motion(0);
        let kernel = self.kernels.scatter.get(&self.machine)?;
        // SAFETY: the buffers have the documented lengths (see `Buffers::new`) and outlive the
        // launch: dropping one waits for it.
        unsafe { self.machine.launch(kernel, self.blocks, self.threads, &arguments) }
    }

    /// Evaluates the particles where they are. If the next iteration `follows` immediately, its
    /// move may be fused into the launch.
    pub(super) fn judge(&mut self, iteration: u32, outcome: Outcome, follows: bool) -> Result<()> {
        let then = Then { motion: self.motion(iteration + 1), is_wanted: follows };
        let arguments = self.evaluation(iteration, outcome);
        let shape = (self.blocks, self.threads);
        // SAFETY: as in `scatter`.
        self.are_moved = unsafe { self.function.evaluate(&self.machine, shape, arguments, then)? };
        Ok(())
    }

    /// The arguments of an evaluation of the particles where they are.
    fn evaluation(&self, iteration: u32, outcome: Outcome) -> evaluate::Arguments<(), T> {
        let (machine, state) = (&*self.machine, &self.buffers);
        // SAFETY: as in `motion`; evaluations do not write positions.
        unsafe {
            evaluate::Arguments {
                objective: (),
                view: self.plan.view(state.fixed(machine)),
                particles: self.plan.particles,
                swarms: self.plan.swarms(),
                iteration,
                outcome,
                positions: machine.read_write(&state.positions),
                image: machine.read_write(&state.image),
                fitness: machine.read_write(&state.fitness),
                personal_bests: machine.read_write(&state.personal_bests),
                best_fitness: machine.read_write(&state.best_fitness),
                stale: machine.read_write(&state.stale),
                board: state.board(machine, iteration),
            }
        }
    }

    /// The settings that all particles share in a fused iteration.
    fn common(&self, iteration: u32) -> Common<(), T> {
        Common {
            objective: (),
            view: self.plan.view(self.buffers.fixed(&self.machine)),
            particles: self.plan.particles,
            iteration,
            key: philox::key(self.plan.members[0].seed),
            coefficients: self.plan.coefficients(0, iteration),
        }
    }

    /// A fused iteration: move and evaluation in one launch, with the particles in device memory.
    pub(super) fn step(&mut self, iteration: u32) -> Result<()> {
        let (machine, state) = (&*self.machine, &self.buffers);
        // SAFETY: as in `motion`.
        let arguments = unsafe {
            step::Arguments {
                common: self.common(iteration),
                home: state.home(machine),
                global_best: machine
                    .read_only(&state.global_bests[1 - written_global_best(iteration)]),
                board: state.board(machine, iteration),
            }
        };
        self.is_behind = true;
        let (order, publishers) = (state.order, self.publishers);
        // SAFETY: as in `scatter`; each block has its own elements of `board`.
        unsafe { self.function.step(machine, order, publishers, self.threads, arguments) }
    }

    /// An iteration in two launches, or in one if the previous one has already moved the particles.
    pub(super) fn general(&mut self, iteration: u32, follows: bool) -> Result<()> {
        self.in_rows()?;
        if !self.are_moved {
            let parts = self.parts();
            let arguments = motion::Arguments { parts, ..self.motion(iteration) };
            let kernel = self.kernels.advance.get(&self.machine)?;
            // SAFETY: as in `scatter`; a particle's threads have different dimensions.
            unsafe { self.machine.launch(kernel, self.blocks * parts, self.threads, &arguments)? };
        }
        self.judge(iteration, Outcome::Renewed, follows)
    }

    /// An iteration whose particles somebody else evaluates.
    pub(super) fn told(&mut self, iteration: u32) -> Result<()> {
        let Launch::Streaming(order) = self.launch_of_few else {
            return self.general(iteration, false);
        };
        self.arrange(order)?;
        self.step(iteration)?;
        let arguments = self.evaluation(iteration, Outcome::Renewed);
        let fresh = self.buffers.home(&self.machine).fresh;
        let shape = (self.blocks, self.threads);
        // SAFETY: as in `scatter`.
        unsafe { self.function.settle(&self.machine, shape, arguments, order, fresh) }
    }

    /// Threads that share the move of a particle: several if there are few particles, so that the
    /// dimensions are not computed one after the other.
    fn parts(&self) -> u32 {
        if !self.plan.rule.is_separable() {
            return 1;
        }
        let most = self.plan.dims().div_ceil(T::PAIRS_PER_BLOCK).max(1);
        let threads = self.machine.room().blocks.max(1) * MOVING_THREADS;
        (threads / (self.blocks * self.threads)).clamp(1, most)
    }

    /// The iterations from `first` on in one launch, with the particles on the chip.
    pub(super) fn on_chip(
        &mut self,
        (kernel, shape): (ChipKernel, Shape),
        first: u32,
        iterations: u32,
    ) -> Result<()> {
        self.catch_up()?;
        self.arrange(Order::Quads)?;
        let synchrony =
            if self.plan.asynchronous { Synchrony::Asynchronous } else { Synchrony::Synchronous };
        let Shape { blocks, threads, capacity, .. } = shape;
        let machine = &*self.machine;
        let chip = match &mut self.chip {
            Some(chip) => chip,
            none => {
                let dims = self.plan.dims() as usize;
                none.insert(OnChip::new(machine, blocks, synchrony, dims)?)
            }
        };
        let varies = self.plan.schedule != Schedule::Constant;
        if varies {
            let numbers = first..first + iterations;
            let inertia = numbers.map(|iteration| self.plan.coefficients(0, iteration).inertia);
            // Dropping the old buffer waits for the launch that reads it.
            chip.inertia = machine.upload(&inertia.collect::<Vec<_>>())?;
        }
        let round = chip.round;
        chip.round = round.wrapping_add(iterations);
        chip.is_held = self.plan.asynchronous;
        self.is_behind = kernel == ChipKernel::Tiered;
        let chunks = self.plan.particles.div_ceil(CHUNK).div_ceil(blocks);
        let stay = if chunks <= capacity { iterations } else { SLICE };
        let last = first + (iterations - 1);
        let (any_bound, alike) = self.plan.any_bound();
        let common = self.common(first);
        let (chip, state) = (self.chip.as_ref().expect("made above"), &self.buffers);
        // SAFETY: as in `motion`; the earlier global best may be the one in `board`.
        let arguments = unsafe {
            resident::Arguments {
                common,
                iterations,
                synchrony,
                capacity,
                stay,
                round,
                varies: u32::from(varies),
                alike: u32::from(alike),
                any_bound,
                inertia: machine.read_only(&chip.inertia),
                home: state.home(machine),
                start: machine.read_write(&state.global_bests[written_global_best(first - 1)]),
                rendezvous: Rendezvous::new(
                    machine.read_write(&chip.words),
                    machine.read_write(&chip.shelf),
                ),
                mailbox: Mailbox::new(
                    machine.read_write(&chip.sequence),
                    machine.read_write(&chip.published),
                ),
                block_best_positions: machine.read_write(&chip.block_best_positions),
                block_best_fitness: machine.read_write(&chip.block_best_fitness),
                block_best_particle: machine.read_write(&chip.block_best_particle),
                board: state.board(machine, last),
                team: shape.team(),
            }
        };
        // SAFETY: as in `scatter`; the shape fits, and `chip` was made for its blocks.
        unsafe { self.function.on_chip(machine, kernel, (blocks, threads), arguments) }
    }

    /// Stores the personal bests that a fused launch has only marked.
    pub(super) fn catch_up(&mut self) -> Result<()> {
        if !self.is_behind {
            return Ok(());
        }
        let (machine, state) = (&*self.machine, &self.buffers);
        let (particles, dims) = (self.plan.particles, self.plan.dims());
        let arguments = Behind { particles, dims, order: state.order, home: state.home(machine) };
        let kernel = self.kernels.catch_up.get(machine)?;
        // SAFETY: as in `scatter`; there is a thread for each particle.
        unsafe { machine.launch(kernel, self.blocks, self.threads, &arguments)? };
        self.is_behind = false;
        Ok(())
    }

    /// Reorders positions, velocities and personal bests, if necessary. Stores the personal bests
    /// first.
    pub(super) fn arrange(&mut self, order: Order) -> Result<()> {
        if self.buffers.order == order {
            return Ok(());
        }
        self.catch_up()?;
        let dims = self.plan.dims();
        // With fewer than four dimensions all orders are the same.
        if dims >= 4 {
            let (machine, state) = (&*self.machine, &self.buffers);
            let Home { positions, velocities, personal_bests, .. } = state.home(machine);
            let arrays = [positions, velocities, personal_bests];
            let arguments = Orders { dims, from: state.order, to: order, arrays };
            let tiles = (self.plan.slots() / TILE) as u32;
            let kernel = self.kernels.arrange.get(machine)?;
            // SAFETY: as in `scatter`; each tile has a block of `TILE` threads.
            unsafe { machine.launch(kernel, tiles, TILE as u32, &arguments)? };
        }
        self.buffers.order = order;
        Ok(())
    }

    /// Stores all personal bests and converts everything to rows.
    pub(super) fn in_rows(&mut self) -> Result<()> {
        self.catch_up()?;
        self.arrange(Order::Rows)
    }
}
