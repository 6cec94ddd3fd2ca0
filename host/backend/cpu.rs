//! The CPU: tiles of 64 particles along SIMD lanes, tiles across threads.
//!
//! The step is the device crate's, compiled three times: for AVX-512, for AVX2, and for what every
//! processor of the architecture has; the best is chosen at run time. All three give the same bits.

use std::{fmt, sync::Arc};

use flockwork_device::{
    gpu::memory::ReadOnly,
    math::{Lanes, Scalar},
    objective::Objective,
    swarm::{
        best::Candidate,
        layout::{self, TILE},
        step::{self, Common, State},
    },
};
use rayon::{
    iter::{IndexedParallelIterator, ParallelIterator},
    slice::ParallelSliceMut,
};

use super::{Backend, Best, BoundWords, Plan, Snapshot, Swarm, by_particle, zeroed};
use crate::{Error, Result, memory};

/// Below so many coordinates and terms an iteration is done by the calling thread: waking others
/// takes longer.
const WORTH_SHARING: usize = 32 * 1024;

/// More threads than any machine has cores; so many start in a moment.
const MOST_THREADS: usize = 1024;

/// Which vector instructions to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Simd {
    /// What every processor of the architecture has.
    Baseline,
    /// AVX2 with fused multiply-add.
    Avx2,
    /// AVX-512 (F, BW, DQ, VL).
    Avx512,
}

impl Simd {
    /// The widest that this processor has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
            {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Self::Avx2;
            }
        }
        Self::Baseline
    }
}

impl fmt::Display for Simd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Baseline => "baseline instructions",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        })
    }
}

/// The CPU as a back end.
pub struct Cpu {
    pool: Arc<rayon::ThreadPool>,
    simd: Simd,
}

impl Cpu {
    /// With so many threads, 0 for one per core.
    pub fn new(threads: usize) -> Result<Self> {
        Self::with_simd(threads, Simd::detect())
    }

    /// With given vector instructions; an error if this processor lacks them.
    pub fn with_simd(threads: usize, simd: Simd) -> Result<Self> {
        if simd > Simd::detect() {
            return Err(Error::Option {
                option: "simd",
                value: simd.to_string(),
                accepted: format!("what this processor has: {}", Simd::detect()),
            });
        }
        if threads > MOST_THREADS {
            return Err(Error::Option {
                option: "threads",
                value: threads.to_string(),
                accepted: format!("at most {MOST_THREADS}, or 0 for one per core"),
            });
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|why| Error::Option {
            option: "threads",
            value: threads.to_string(),
            accepted: format!("a number of threads that the system can start ({why})"),
        })?;
        Ok(Self { pool: Arc::new(pool), simd })
    }
}

impl Backend for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn description(&self) -> String {
        let threads = self.pool.current_num_threads();
        let plural = if threads == 1 { "" } else { "s" };
        format!("{threads} thread{plural}, {}", self.simd)
    }

    fn swarm<O: Objective, T: Scalar>(&self, plan: Plan<O, T>) -> Result<Box<dyn Swarm<T>>> {
        let dims = plan.dims() as usize;
        let particles = plan.particles as usize;
        memory::check(plan.state_bytes())?;
        let elements = layout::elements(particles, dims);
        Ok(Box::new(CpuSwarm {
            pool: Arc::clone(&self.pool),
            simd: self.simd,
            positions: zeroed(elements)?,
            velocities: zeroed(elements)?,
            own_bests: zeroed(elements)?,
            best_fitness: zeroed(layout::tiles(particles) * TILE)?,
            guide: zeroed(dims)?,
            champion: Candidate::NONE,
            iteration: 0,
            plan,
        }))
    }
}

struct CpuSwarm<O, T> {
    pool: Arc<rayon::ThreadPool>,
    simd: Simd,
    plan: Plan<O, T>,
    positions: Vec<T>,
    velocities: Vec<T>,
    own_bests: Vec<T>,
    best_fitness: Vec<T>,
    guide: Vec<T>,
    champion: Candidate<T>,
    iteration: u32,
}

/// What to do with a tile.
#[derive(Clone, Copy)]
enum Phase {
    Start,
    Step { iteration: u32 },
}

/// Some tiles in a row.
struct Tiles<'a, T> {
    first_particle: u32,
    positions: &'a mut [T],
    velocities: &'a mut [T],
    own_bests: &'a mut [T],
    best_fitness: &'a mut [T],
}

/// One tile.
struct Tile<'a, T> {
    positions: &'a mut [T],
    velocities: &'a mut [T],
    own_bests: &'a mut [T],
    best_fitness: &'a mut [T; TILE],
    guide: ReadOnly<T>,
}

/// A tile's particles side by side.
type Row<T> = Lanes<T, TILE>;

#[inline(always)]
fn row<T: Scalar>(rows: &[T], dimension: u32) -> Row<T> {
    let start = dimension as usize * TILE;
    Lanes(rows[start..start + TILE].try_into().expect("a row has TILE elements"))
}

#[inline(always)]
fn set_row<T: Scalar>(rows: &mut [T], dimension: u32, values: Row<T>) {
    let start = dimension as usize * TILE;
    rows[start..start + TILE].copy_from_slice(&values.0);
}

impl<T: Scalar> State<Row<T>> for Tile<'_, T> {
    #[inline(always)]
    fn position(&self, dimension: u32) -> Row<T> {
        row(self.positions, dimension)
    }
    #[inline(always)]
    fn velocity(&self, dimension: u32) -> Row<T> {
        row(self.velocities, dimension)
    }
    #[inline(always)]
    fn own_best(&self, dimension: u32) -> Row<T> {
        row(self.own_bests, dimension)
    }
    #[inline(always)]
    fn guide(&self, dimension: u32) -> Row<T> {
        // SAFETY: the guide has an element for each dimension.
        Lanes([unsafe { self.guide.at(dimension as usize) }; TILE])
    }
    #[inline(always)]
    fn best_fitness(&self) -> Row<T> {
        Lanes(*self.best_fitness)
    }
    #[inline(always)]
    fn set_motion(&mut self, dimension: u32, position: Row<T>, velocity: Row<T>) {
        set_row(self.positions, dimension, position);
        set_row(self.velocities, dimension, velocity);
    }
    #[inline(always)]
    fn set_own_best(&mut self, dimension: u32, position: Row<T>) {
        set_row(self.own_bests, dimension, position);
    }
    #[inline(always)]
    fn set_best_fitness(&mut self, fitness: Row<T>) {
        *self.best_fitness = fitness.0;
    }
}

/// Does a phase for some tiles and returns their best candidate.
#[inline(always)]
fn advance_tiles<O: Objective, T: Scalar>(
    common: &Common<O, T>,
    guide: ReadOnly<T>,
    phase: Phase,
    tiles: Tiles<'_, T>,
) -> Candidate<T> {
    let tile_elements = common.dims as usize * TILE;
    let mut best = Candidate::NONE;
    let mut first = tiles.first_particle;
    let rows = tiles
        .positions
        .chunks_exact_mut(tile_elements)
        .zip(tiles.velocities.chunks_exact_mut(tile_elements))
        .zip(tiles.own_bests.chunks_exact_mut(tile_elements))
        .zip(tiles.best_fitness.as_chunks_mut::<TILE>().0);
    for (((positions, velocities), own_bests), best_fitness) in rows {
        let mut tile = Tile { positions, velocities, own_bests, best_fitness, guide };
        // SAFETY: the plan has a bound for each dimension, aligned as `BoundWords` is.
        let fitness: Row<T> = unsafe {
            match phase {
                Phase::Start => step::start(common, &mut tile, first),
                Phase::Step { iteration } => step::step(common, &mut tile, iteration, first),
            }
        };
        for (particle, fitness) in (first..common.particles).zip(fitness.0) {
            best = best.better(Candidate { fitness, particle });
        }
        first += TILE as u32;
    }
    best
}

macro_rules! compiled_for {
    ($name:ident, $features:literal) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        fn $name<O: Objective, T: Scalar>(
            common: &Common<O, T>,
            guide: ReadOnly<T>,
            phase: Phase,
            tiles: Tiles<'_, T>,
        ) -> Candidate<T> {
            advance_tiles(common, guide, phase, tiles)
        }
    };
}
compiled_for!(advance_avx2, "avx2,fma");
compiled_for!(advance_avx512, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma");

impl<O: Objective, T: Scalar> CpuSwarm<O, T> {
    fn phase(&mut self, phase: Phase) {
        let simd = self.simd;
        let dims = self.plan.dims() as usize;
        let tile_elements = dims * TILE;
        // SAFETY: both point to vectors of this length that outlive this call and that nobody
        // writes during it.
        let common = unsafe {
            self.plan.common(
                ReadOnly::new(
                    self.plan.bounds.as_ptr().cast::<T>(),
                    self.plan.bounds.len() * size_of::<BoundWords<T>>() / size_of::<T>(),
                ),
                ReadOnly::new(self.plan.data.as_ptr(), self.plan.data.len()),
            )
        };
        // SAFETY: as above; the guide is renewed after all tiles are done.
        let guide = unsafe { ReadOnly::new(self.guide.as_ptr(), self.guide.len()) };
        let advance = |tiles: Tiles<'_, T>| match simd {
            // SAFETY: `with_simd` has seen that the processor has these instructions.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => unsafe { advance_avx512(&common, guide, phase, tiles) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => unsafe { advance_avx2(&common, guide, phase, tiles) },
            _ => advance_tiles(&common, guide, phase, tiles),
        };

        let elements = self.positions.len();
        let terms = common.objective.terms(&common.context()) as usize;
        let work = elements / dims * dims.max(terms);
        let champion = if work < WORTH_SHARING || self.pool.current_num_threads() == 1 {
            advance(Tiles {
                first_particle: 0,
                positions: &mut self.positions,
                velocities: &mut self.velocities,
                own_bests: &mut self.own_bests,
                best_fitness: &mut self.best_fitness,
            })
        } else {
            // Four pieces a thread even out their speeds.
            let tiles = elements / tile_elements;
            let pieces = (4 * self.pool.current_num_threads()).min(tiles);
            let per_piece = tiles.div_ceil(pieces);
            let (positions, velocities, own_bests, best_fitness) = (
                &mut self.positions,
                &mut self.velocities,
                &mut self.own_bests,
                &mut self.best_fitness,
            );
            self.pool.install(|| {
                positions
                    .par_chunks_mut(per_piece * tile_elements)
                    .zip(velocities.par_chunks_mut(per_piece * tile_elements))
                    .zip(own_bests.par_chunks_mut(per_piece * tile_elements))
                    .zip(best_fitness.par_chunks_mut(per_piece * TILE))
                    .enumerate()
                    .map(|(piece, (((positions, velocities), own_bests), best_fitness))| {
                        advance(Tiles {
                            first_particle: (piece * per_piece * TILE) as u32,
                            positions,
                            velocities,
                            own_bests,
                            best_fitness,
                        })
                    })
                    .reduce(|| Candidate::NONE, Candidate::better)
            })
        };
        self.champion = champion;
        for (d, guide) in self.guide.iter_mut().enumerate() {
            *guide = self.own_bests[layout::index(champion.particle as usize, d, dims)];
        }
    }
}

impl<O: Objective, T: Scalar> Swarm<T> for CpuSwarm<O, T> {
    fn start(&mut self) -> Result<()> {
        self.phase(Phase::Start);
        Ok(())
    }

    fn advance(&mut self, iterations: u32) -> Result<()> {
        for _ in 0..iterations {
            self.iteration += 1;
            self.phase(Phase::Step { iteration: self.iteration });
        }
        Ok(())
    }

    fn iteration(&self) -> u32 {
        self.iteration
    }

    fn best(&mut self) -> Result<Best<T>> {
        Ok(Best {
            value: self.champion.fitness,
            particle: self.champion.particle,
            position: self.guide.clone(),
        })
    }

    fn snapshot(&mut self) -> Result<Snapshot<T>> {
        let (particles, dims) = (self.plan.particles as usize, self.plan.dims() as usize);
        Ok(Snapshot {
            iteration: self.iteration,
            positions: by_particle(&self.positions, particles, dims),
            velocities: by_particle(&self.velocities, particles, dims),
            own_bests: by_particle(&self.own_bests, particles, dims),
            best_fitness: self.best_fitness[..particles].to_vec(),
            best: self.best()?,
        })
    }
}
