//! The iteration on the CPU.

use std::sync::Arc;

use flockwork_device::{
    math::Partial,
    random::Key,
    swarm::{
        best::Candidate,
        layout::{self, TILE},
        migration,
        rule::Move,
        settings::Settings,
        survey::{self, SUMS, Sums},
        topology::Graph,
        view::View,
    },
};

use super::{
    Evaluator, Judged, Simd, WORTH_SHARING,
    asynchronous::{Course, Mailbox},
    flock::{Motion, Moved, Surroundings, move_tile},
    on_threads,
    personal_bests::{Renewal, renew, tile_best},
    tiles::{Tile, Tiles},
};
use crate::{
    Error, Result,
    backend::{
        Best, FourWords, Migrant, Number, Plan, Record, Snapshot, Swarm, by_particle,
        check_advance, check_begun, check_better, check_immigrants, check_implant, check_migrants,
        check_points, check_start, check_stride, into_tiles, until_record,
    },
    memory,
};

/// A swarm in the host's memory.
pub struct CpuSwarm<T> {
    pool: Arc<rayon::ThreadPool>,
    simd: Simd,
    evaluator: Option<Box<dyn Evaluator<T>>>,
    plan: Plan<T>,
    keys: Vec<Key>,
    tunings: Vec<FourWords<T>>,
    positions: Vec<T>,
    velocities: Vec<T>,
    personal_bests: Vec<T>,
    best_fitness: Vec<T>,
    fitness: Vec<T>,
    stale: Vec<u32>,
    exemplars: Vec<u32>,
    candidates: Vec<Candidate<T>>,
    /// The global best position of each swarm.
    global_bests: Vec<T>,
    best_candidates: Vec<Candidate<T>>,
    /// For each swarm, the last iteration that did not improve its global best.
    failed: Vec<u32>,
    iteration: u32,
    /// Whether it has started, or continues from a state.
    begun: bool,
    history: Option<u32>,
    /// The global best known to each thread of an asynchronous swarm.
    block_bests: Vec<Best<T>>,
    emigrants: Vec<Migrant<T>>,
    records: Vec<Record>,
}

/// Copies the coordinates of the particles in these slots, a row for each.
fn read_slots<T: Copy>(positions: &[T], slots: &[usize], dims: usize, points: &mut [T]) {
    let mut rest = points;
    // Those beside each other in a tile, dimension by dimension: so memory is read in order.
    for run in slots.chunk_by(|&one, &next| next == one + 1 && !next.is_multiple_of(TILE)) {
        let (rows, others) = rest.split_at_mut(run.len() * dims);
        rest = others;
        let first = layout::first(run[0], dims);
        for dimension in 0..dims {
            let from = &positions[first + dimension * TILE..][..run.len()];
            for (row, &x) in rows.chunks_exact_mut(dims).zip(from) {
                row[dimension] = x;
            }
        }
    }
}

fn evaluated_elsewhere() -> Error {
    Error::Unsuitable {
        objective: "a function that is evaluated elsewhere".to_owned(),
        why: "cannot be evaluated here",
    }
}

impl<T: Number> CpuSwarm<T> {
    pub(super) fn new(
        pool: Arc<rayon::ThreadPool>,
        simd: Simd,
        evaluator: Option<Box<dyn Evaluator<T>>>,
        plan: Plan<T>,
    ) -> Result<Self> {
        memory::check(plan.state_bytes())?;
        let (slots, dims) = (plan.slots(), plan.dims() as usize);
        let swarms = plan.members.len();
        let exemplars = if plan.learns() { slots * dims } else { 0 };
        Ok(Self {
            pool,
            simd,
            evaluator,
            keys: plan.keys(),
            tunings: plan.tunings(),
            positions: memory::zeroed(slots * dims)?,
            velocities: memory::zeroed(slots * dims)?,
            personal_bests: memory::zeroed(slots * dims)?,
            best_fitness: memory::zeroed(slots)?,
            fitness: memory::zeroed(slots)?,
            stale: memory::zeroed(slots)?,
            exemplars: memory::zeroed(exemplars)?,
            candidates: vec![Candidate::NONE; slots / TILE],
            global_bests: memory::zeroed(swarms * dims)?,
            best_candidates: vec![Candidate::NONE; swarms],
            failed: vec![0; swarms],
            iteration: 0,
            begun: false,
            history: None,
            block_bests: Vec::new(),
            emigrants: Vec::new(),
            records: Vec::new(),
            plan,
        })
    }

    fn dims(&self) -> usize {
        self.plan.dims() as usize
    }

    /// What the particles share, and how the function sees them.
    ///
    /// # Safety
    /// Both may be used while nothing changes or drops this swarm's plan, keys and coefficients.
    unsafe fn shared(&self) -> (Settings<T>, View<T>) {
        let plan = &self.plan;
        // SAFETY: the caller's promise.
        let fixed = unsafe { plan.fixed_here(&self.keys, &self.tunings) };
        (plan.settings(fixed), plan.view(fixed))
    }

    /// Runs `work` for all tiles, on several threads if that pays.
    fn each_tile<S>(
        pool: &rayon::ThreadPool,
        tiles: Tiles<'_, T>,
        terms: usize,
        scratch: impl Fn() -> S + Sync,
        work: impl Fn(Tile<'_, T>, &mut S) + Sync,
    ) {
        let threads = pool.current_num_threads();
        let size = tiles.count * TILE * tiles.dims.max(terms);
        let shared = size >= WORTH_SHARING && threads > 1;
        // Several pieces per thread even out differences in speed.
        let most = if shared { tiles.count.div_ceil(4 * threads).max(1) } else { tiles.count };
        on_threads(pool, shared, || tiles.each(most, &scratch, &work));
    }

    /// One or two phases: moves if there is a `motion`, evaluates and updates if there is a
    /// `renewal`.
    fn phase(&mut self, motion: Option<Motion>, renewal: Option<Renewal>) {
        if renewal.is_none() || !self.evaluator.as_ref().is_some_and(|one| one.at_once()) {
            return self.pass(motion, renewal, false);
        }
        if motion.is_some() {
            self.pass(motion, None, false);
        }
        self.evaluate_at_once();
        self.pass(None, renewal, true);
    }

    /// Has all particles evaluated at once.
    fn evaluate_at_once(&mut self) {
        let mut fitness = std::mem::take(&mut self.fitness);
        // SAFETY: nothing below changes plan, keys or coefficients.
        let (_, view) = unsafe { self.shared() };
        let (dims, particles) = (self.dims(), self.plan.particles as usize);
        let stride = layout::stride(particles);
        let swarms = 0..self.plan.members.len();
        let mut slots =
            swarms.flat_map(|swarm| (0..particles).map(move |nth| swarm * stride + nth));
        let read =
            |slots: &[usize], points: &mut [T]| read_slots(&self.positions, slots, dims, points);
        if let Some(evaluator) = &self.evaluator {
            evaluator.evaluate_all(&view, &mut slots, &read, &mut fitness);
        }
        self.fitness = fitness;
    }

    /// As [`Self::phase`]; `given` says that the fitness of all particles is known.
    fn pass(&mut self, motion: Option<Motion>, renewal: Option<Renewal>, given: bool) {
        // SAFETY: nothing below changes plan, keys or coefficients.
        let (settings, view) = unsafe { self.shared() };
        let dims = self.dims();
        let per_swarm = layout::tiles(self.plan.particles as usize);
        let reads_others = motion == Some(Motion::Advance) && self.plan.reads_others();
        assert!(
            !(reads_others && renewal.is_some()),
            "others' personal bests change during the move"
        );
        let iteration = self.iteration;
        let moves: Vec<Move<T>> = (0..self.plan.members.len())
            .map(|swarm| Move {
                key: self.keys[swarm],
                iteration,
                first: 0,
                coefficients: self.plan.coefficients(swarm, iteration),
            })
            .collect();
        let evaluator = self.evaluator.as_deref().filter(|_| !given);
        let terms = evaluator.map_or(0, |evaluator| evaluator.terms(&view));
        let (personal_bests, others, best_fitness, others_fitness): (
            &mut [T],
            &[T],
            &mut [T],
            &[T],
        ) = if reads_others {
            (&mut [], &self.personal_bests, &mut [], &self.best_fitness)
        } else {
            (&mut self.personal_bests, &[], &mut self.best_fitness, &[])
        };
        let (global_bests, best_candidates, failed) =
            (&self.global_bests, &self.best_candidates, &self.failed);
        let tiles = Tiles {
            first: 0,
            count: self.candidates.len(),
            dims,
            positions: &mut self.positions,
            velocities: &mut self.velocities,
            personal_bests,
            best_fitness,
            fitness: &mut self.fitness,
            stale: &mut self.stale,
            exemplars: &mut self.exemplars,
            candidates: &mut self.candidates,
        };
        let simd = self.simd;
        Self::each_tile(&self.pool, tiles, terms, Vec::new, |mut tile, image| {
            let swarm = tile.index / per_swarm;
            let in_swarm = tile.index % per_swarm;
            let first = (in_swarm * TILE) as u32;
            if let Some(motion) = motion {
                let (start, end) = (swarm * per_swarm, (swarm + 1) * per_swarm);
                let rows = TILE * dims;
                let around = Surroundings {
                    global_best: &global_bests[swarm * dims..(swarm + 1) * dims],
                    global_best_particle: best_candidates[swarm].particle,
                    graph: Graph {
                        key: moves[swarm].key,
                        drawn: failed[swarm],
                        particles: settings.particles,
                    },
                    personal_bests: if reads_others {
                        &others[start * rows..end * rows]
                    } else {
                        &[]
                    },
                    best_fitness: if reads_others {
                        &others_fitness[start * TILE..end * TILE]
                    } else {
                        &[]
                    },
                };
                let personal_bests = if reads_others {
                    &others[tile.index * rows..(tile.index + 1) * rows]
                } else {
                    &*tile.personal_bests
                };
                let moved = Moved {
                    positions: tile.positions,
                    velocities: tile.velocities,
                    personal_bests,
                    stale: tile.stale,
                    exemplars: tile.exemplars,
                };
                let by = Move { first, ..moves[swarm] };
                move_tile(simd, &settings, around, moved, by, motion);
            }
            if let Some(renewal) = renewal {
                let mut fitness = [T::ZERO; TILE];
                match evaluator {
                    Some(evaluator) => {
                        let particles = (settings.particles as usize - first as usize).min(TILE);
                        let positions = &*tile.positions;
                        let fitness = &mut fitness;
                        let judged = Judged { positions, particles, fitness, image };
                        evaluator.evaluate(&view, judged);
                    }
                    // Known already.
                    None => fitness.copy_from_slice(tile.fitness),
                }
                renew(simd, &mut tile, &fitness, dims as u32, renewal, first, settings.particles);
            }
        });
        if renewal.is_some() {
            self.publish(iteration);
        }
    }

    /// Runs `iterations` iterations in which threads do not wait for each other.
    fn advance_asynchronously(&mut self, iterations: u32) -> Result<()> {
        let known = self.known().swap_remove(0);
        // SAFETY: nothing below changes plan, keys or coefficients.
        let (settings, view) = unsafe { self.shared() };
        let Some(evaluator) = self.evaluator.as_deref() else { return Err(evaluated_elsewhere()) };
        let mailbox = Mailbox::new(known.clone());
        let (plan, key) = (&self.plan, self.keys[0]);
        let course = Course {
            simd: self.simd,
            settings: &settings,
            view: &view,
            evaluator,
            by: |iteration| {
                let coefficients = plan.coefficients(0, iteration);
                Move { key, iteration, first: 0, coefficients }
            },
            first: self.iteration + 1,
            iterations,
            mailbox: &mailbox,
        };
        let tiles = Tiles {
            first: 0,
            count: self.candidates.len(),
            dims: self.plan.dims() as usize,
            positions: &mut self.positions,
            velocities: &mut self.velocities,
            personal_bests: &mut self.personal_bests,
            best_fitness: &mut self.best_fitness,
            fitness: &mut self.fitness,
            stale: &mut self.stale,
            exemplars: &mut self.exemplars,
            candidates: &mut self.candidates,
        };
        let pieces = tiles.pieces(self.pool.current_num_threads());
        self.block_bests = vec![known; pieces.len()];
        let mut work = pieces.into_iter().zip(&mut self.block_bests);
        let course = &course;
        match (work.len(), work.next()) {
            (1, Some((piece, known))) => {
                on_threads(&self.pool, false, || course.run(piece, known));
            }
            (_, first) => self.pool.scope(|scope| {
                for (piece, known) in first.into_iter().chain(work) {
                    scope.spawn(move |_| course.run(piece, known));
                }
            }),
        }
        self.iteration += iterations;
        self.publish(self.iteration);
        Ok(())
    }

    /// The candidates of a part of the only swarm, for emigration or immigration.
    fn part(&self, nth: usize, parts: usize) -> impl Iterator<Item = Candidate<T>> + '_ {
        let start =
            |nth: usize| migration::start(nth as u32, parts as u32, self.plan.particles) as usize;
        (start(nth)..start(nth + 1)).map(|particle| Candidate {
            fitness: self.best_fitness[particle],
            particle: particle as u32,
        })
    }

    /// Finds the candidates of some tiles whose personal bests came from elsewhere.
    fn find_candidates(&mut self, tiles: std::ops::Range<usize>) {
        let particles = self.plan.particles;
        let per_swarm = layout::tiles(particles as usize);
        for tile in tiles {
            let first = (tile % per_swarm * TILE) as u32;
            let fitness = &self.best_fitness[tile * TILE..][..TILE];
            self.candidates[tile] = tile_best(fitness, first, particles);
        }
    }

    /// Finds each swarm's global best among its tiles' candidates.
    fn publish(&mut self, iteration: u32) {
        let dims = self.dims();
        let stride = layout::stride(self.plan.particles as usize);
        for (swarm, candidates) in self.candidates.chunks_exact(stride / TILE).enumerate() {
            let best = candidates.iter().copied().fold(Candidate::NONE, Candidate::better);
            let improved = best.fitness < self.best_candidates[swarm].fitness;
            if !improved || iteration == 0 {
                self.failed[swarm] = iteration;
            }
            self.best_candidates[swarm] = best;
            let slot = swarm * stride + best.particle as usize;
            for (d, global_best) in self.global_bests[swarm * dims..][..dims].iter_mut().enumerate()
            {
                *global_best = self.personal_bests[layout::index(slot, d, dims)];
            }
        }
    }

    /// The best of each swarm so far; without a value before the first points are evaluated.
    pub(crate) fn known(&self) -> Vec<Best<T>> {
        let bests = self.best_candidates.iter().zip(self.global_bests.chunks_exact(self.dims()));
        bests
            .map(|(best, position)| Best {
                value: best.fitness,
                particle: best.particle,
                position: position.to_vec(),
            })
            .collect()
    }

    /// The next points to evaluate: the initial ones if `start`, otherwise those after a move. For
    /// a swarm whose points are evaluated by the caller.
    pub(crate) fn propose(&mut self, start: bool) {
        if start {
            self.phase(Some(Motion::Scatter), None);
        } else {
            self.iteration += 1;
            self.phase(Some(Motion::Advance), None);
        }
    }

    /// The particles' positions, one after the other.
    pub(crate) fn positions(&self) -> Vec<T> {
        by_particle(&self.positions, self.plan.particles as usize, self.dims())
    }

    /// Records the state of each swarm: see [`survey`].
    fn keep_record(&mut self) {
        // SAFETY: nothing below changes plan, keys or coefficients.
        let (settings, _) = unsafe { self.shared() };
        let dims = self.dims();
        let (particles, tiles) =
            (self.plan.particles as usize, layout::tiles(self.plan.particles as usize));
        for swarm in 0..self.plan.members.len() {
            let global_best = &self.global_bests[swarm * dims..][..dims];
            let of_tile = |tile: usize| {
                let lane_sums = |lane: usize| {
                    if tile * TILE + lane >= particles {
                        return Sums::none();
                    }
                    let slot = (swarm * tiles + tile) * TILE + lane;
                    // SAFETY: there are bounds for each dimension.
                    unsafe {
                        survey::of_particle(&settings, self.best_fitness[slot], |dimension| {
                            let index = layout::index(slot, dimension as usize, dims);
                            let (x, v) = (self.positions[index], self.velocities[index]);
                            [x, v, global_best[dimension as usize]]
                        })
                    }
                };
                let half = |first| survey::tree(std::array::from_fn(|i| lane_sums(first + i)));
                half(0).combine(half(32))
            };
            let column =
                |first| (first..tiles).step_by(SUMS).map(of_tile).fold(Sums::none(), Sums::combine);
            let mut warps = [Sums::none(); 32];
            for (warp, sums) in warps[..SUMS / 32].iter_mut().enumerate() {
                *sums = survey::tree(std::array::from_fn(|lane| column(warp * 32 + lane)));
            }
            let best = self.best_candidates[swarm].fitness.to_f64();
            let record = Record { iteration: self.iteration, best, sums: survey::tree(warps) };
            self.records.push(record);
        }
    }
}

impl<T: Number> Swarm<T> for CpuSwarm<T> {
    fn start(&mut self, points: Option<&[T]>) -> Result<()> {
        check_start(&self.plan, self.begun, points)?;
        self.begun = true;
        self.phase(Some(Motion::Scatter), None);
        if let Some(points) = points {
            let (particles, dims) = (self.plan.particles as usize, self.dims());
            into_tiles(points, &mut self.positions, particles, dims);
        }
        self.phase(None, Some(Renewal::First));
        if self.history.is_some() {
            self.keep_record();
        }
        Ok(())
    }

    fn advance(&mut self, iterations: u32) -> Result<()> {
        check_advance(self.begun, self.iteration, iterations)?;
        let mut left = iterations;
        while left > 0 {
            let mut done = 1;
            if self.plan.asynchronous {
                done = until_record(self.iteration, left, self.history);
                self.advance_asynchronously(done)?;
            } else {
                self.iteration += 1;
                if self.plan.reads_others() {
                    self.phase(Some(Motion::Advance), None);
                    self.phase(None, Some(Renewal::Renewed));
                } else {
                    self.phase(Some(Motion::Advance), Some(Renewal::Renewed));
                }
            }
            left -= done;
            if self.history.is_some_and(|stride| self.iteration.is_multiple_of(stride)) {
                self.keep_record();
            }
        }
        Ok(())
    }

    fn iteration(&self) -> u32 {
        self.iteration
    }

    fn bests(&mut self) -> Result<Vec<Best<T>>> {
        check_begun(self.begun)?;
        Ok(self.known())
    }

    fn block_bests(&mut self) -> Result<Vec<Best<T>>> {
        check_begun(self.begun)?;
        Ok(if self.block_bests.is_empty() { self.known() } else { self.block_bests.clone() })
    }

    fn record_every(&mut self, stride: Option<u32>) -> Result<()> {
        check_stride(stride)?;
        self.history = stride;
        Ok(())
    }

    fn take_records(&mut self) -> Result<Vec<Record>> {
        Ok(std::mem::take(&mut self.records))
    }

    fn survey(&mut self) -> Result<Vec<Record>> {
        check_begun(self.begun)?;
        let before = self.records.len();
        self.keep_record();
        Ok(self.records.split_off(before))
    }

    fn evaluate(&mut self, points: &[T]) -> Result<Vec<T>> {
        let dims = self.dims();
        let count = check_points(&self.plan, points)?;
        let Some(evaluator) = self.evaluator.as_deref() else { return Err(evaluated_elsewhere()) };
        // SAFETY: nothing below changes plan, keys or coefficients.
        let (_, view) = unsafe { self.shared() };
        let slots = layout::stride(count);
        let mut positions = memory::zeroed(slots * dims)?;
        into_tiles(points, &mut positions, count, dims);
        let mut all = memory::zeroed(slots)?;
        if evaluator.at_once() {
            let read =
                |slots: &[usize], points: &mut [T]| read_slots(&positions, slots, dims, points);
            evaluator.evaluate_all(&view, &mut (0..count), &read, &mut all);
            all.truncate(count);
            return Ok(all);
        }
        let go = || {
            let mut image = Vec::new();
            let tiles = positions.chunks_exact(TILE * dims).zip(all.as_chunks_mut::<TILE>().0);
            for (tile, (positions, fitness)) in tiles.enumerate() {
                let particles = (count - tile * TILE).min(TILE);
                let judged = Judged { positions, particles, fitness, image: &mut image };
                evaluator.evaluate(&view, judged);
            }
        };
        // An evaluator that shares its terms among threads uses those it runs on.
        on_threads(&self.pool, evaluator.terms(&view) >= WORTH_SHARING, go);
        all.truncate(count);
        Ok(all)
    }

    fn implant(&mut self, swarm: usize, point: &[T], fitness: T) -> Result<()> {
        check_implant(&self.plan, self.begun, swarm, point, fitness)?;
        check_better(fitness, self.best_candidates[swarm].fitness)?;
        let dims = self.dims();
        let stride = layout::stride(self.plan.particles as usize);
        let slot = swarm * stride + self.best_candidates[swarm].particle as usize;
        for (d, &x) in point.iter().enumerate() {
            self.personal_bests[layout::index(slot, d, dims)] = x;
        }
        self.global_bests[swarm * dims..][..dims].copy_from_slice(point);
        self.best_fitness[slot] = fitness;
        self.stale[slot] = 0;
        self.best_candidates[swarm].fitness = fitness;
        self.find_candidates(slot / TILE..slot / TILE + 1);
        Ok(())
    }

    fn emigrate(&mut self, count: u32) -> Result<()> {
        check_migrants(&self.plan, self.begun, count as usize)?;
        let dims = self.dims();
        let best = |nth| self.part(nth, count as usize).fold(Candidate::NONE, Candidate::better);
        let copy = |Candidate { fitness, particle }| {
            let place = |d| layout::index(particle as usize, d, dims);
            Migrant {
                fitness,
                position: (0..dims).map(|d| self.personal_bests[place(d)]).collect(),
            }
        };
        self.emigrants = (0..count as usize).map(best).map(copy).collect();
        Ok(())
    }

    fn emigrants(&mut self) -> Result<Vec<Migrant<T>>> {
        Ok(self.emigrants.clone())
    }

    fn immigrate(&mut self, migrants: &[Migrant<T>]) -> Result<()> {
        check_immigrants(&self.plan, self.begun, migrants)?;
        let dims = self.dims();
        let mut best = self.best_candidates[0];
        for (nth, Migrant { fitness, position }) in migrants.iter().enumerate() {
            let worst = self.part(nth, migrants.len()).fold(Candidate::least(), Candidate::worse);
            if *fitness < worst.fitness {
                let slot = worst.particle as usize;
                for (d, &x) in position.iter().enumerate() {
                    self.personal_bests[layout::index(slot, d, dims)] = x;
                }
                self.best_fitness[slot] = *fitness;
                self.stale[slot] = 0;
                self.find_candidates(slot / TILE..slot / TILE + 1);
                best = best.better(Candidate { fitness: *fitness, particle: worst.particle });
            }
        }
        self.best_candidates[0] = best;
        for (d, global_best) in self.global_bests.iter_mut().enumerate() {
            *global_best = self.personal_bests[layout::index(best.particle as usize, d, dims)];
        }
        self.block_bests.clear();
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot<T>> {
        check_begun(self.begun)?;
        let (particles, dims) = (self.plan.particles as usize, self.dims());
        let all = particles * self.plan.members.len();
        let rows = |tiled: &[T]| -> Vec<T> {
            let stride = layout::stride(particles) * dims;
            tiled.chunks_exact(stride).flat_map(|t| by_particle(t, particles, dims)).collect()
        };
        let singles = |slots: &[T]| -> Vec<T> {
            let stride = layout::stride(particles);
            slots.chunks_exact(stride).flat_map(|s| s[..particles].to_vec()).collect()
        };
        let stride = layout::stride(particles);
        let stale: Vec<u32> =
            self.stale.chunks_exact(stride).flat_map(|s| s[..particles].to_vec()).collect();
        let exemplars = self.exemplars.chunks_exact(stride * dims.max(1));
        let exemplars = exemplars.flat_map(|t| by_particle(t, particles, dims)).collect();
        debug_assert_eq!(stale.len(), all);
        Ok(Snapshot {
            iteration: self.iteration,
            positions: rows(&self.positions),
            velocities: rows(&self.velocities),
            personal_bests: rows(&self.personal_bests),
            best_fitness: singles(&self.best_fitness),
            stale,
            exemplars,
            failed: self.failed.clone(),
            bests: self.known(),
        })
    }

    fn restore(&mut self, snapshot: &Snapshot<T>) -> Result<()> {
        snapshot.check(&self.plan)?;
        let (particles, dims) = (self.plan.particles as usize, self.dims());
        let stride = layout::stride(particles);
        for swarm in 0..self.plan.members.len() {
            let (from, to) = (swarm * particles, swarm * stride);
            let rows = |source: &[T], target: &mut [T]| {
                let source = &source[from * dims..][..particles * dims];
                into_tiles(source, &mut target[to * dims..][..stride * dims], particles, dims);
            };
            rows(&snapshot.positions, &mut self.positions);
            rows(&snapshot.velocities, &mut self.velocities);
            rows(&snapshot.personal_bests, &mut self.personal_bests);
            self.best_fitness[to..][..particles]
                .copy_from_slice(&snapshot.best_fitness[from..][..particles]);
            self.stale[to..][..particles].copy_from_slice(&snapshot.stale[from..][..particles]);
            if self.plan.learns() {
                let source = &snapshot.exemplars[from * dims..][..particles * dims];
                let target = &mut self.exemplars[to * dims..][..stride * dims];
                into_tiles(source, target, particles, dims);
            }
            let best = &snapshot.bests[swarm];
            self.best_candidates[swarm] =
                Candidate { fitness: best.value, particle: best.particle };
            self.global_bests[swarm * dims..][..dims].copy_from_slice(&best.position);
        }
        self.find_candidates(0..self.candidates.len());
        self.failed.copy_from_slice(&snapshot.failed);
        self.block_bests.clear();
        self.iteration = snapshot.iteration;
        self.begun = true;
        Ok(())
    }
}
