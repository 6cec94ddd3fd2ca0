//! cuPSO: the swarm's best by reductions and by queues, in one dimension and in 120.

use std::time::{Duration, Instant};

use flockwork_device::{
    gpu::memory::ReadOnly,
    lineage::cupso::{ATTRACTION, BOUND, INERTIA, MAX_VELOCITY, moved, uniforms},
    math::Scalar,
    objective::{Context, Cubic, evaluation::evaluate},
    random::{Draw, Key, Purpose, philox},
};

use super::{Check, Ours, Report, Request, Row, Table, Tell, Work, wrong_kernel};
#[cfg(feature = "cuda")]
use crate::backend::{Cuda, lineage::cupso::THREADS};
#[cfg(any(feature = "cuda", test))]
use crate::backend::{
    Machine,
    lineage::cupso::{Running, Version},
};
use crate::{
    Error, Result,
    backend::{AnyBackend, Backend, Cpu, Spread, Strategy, lineage::cupso::State},
    bench::{Care, Measurement, iteration_of, long_enough},
    swarm::{Coefficients, Mode, Options, Precision, Problem, Rule},
};

pub(super) const WORK: Work = Work {
    name: "cupso",
    title: "cuPSO: GPU Parallelization for Particle Swarm Optimization Algorithms",
    source: "Chuan-Chi Wang, Chun-Yen Ho, Chia-Heng Tu, Shih-Hao Hung, 2022, https://arxiv.org/abs/2205.01313 \
             and https://github.com/wang2346581/cuPSO",
    tables: &[ONE_DIMENSION, MANY_DIMENSIONS],
    measure,
};

const ONE_DIMENSION: Table = Table {
    name: "tables 3 and 4",
    caption: "particles in 1 dimension, f64, the cubic; published are 100,000 iterations, divided by their number; \
              here as many are done as take 15 ms, five times",
    gpu: Some(PUBLISHED_ON),
    unit: "an iteration",
};

const MANY_DIMENSIONS: Table = Table {
    name: "table 5",
    caption: "particles in 120 dimensions, f64, the cubic; published are 800 to 5,000 iterations, divided by their \
              number; here as many are done as take 15 ms, five times",
    gpu: Some(PUBLISHED_ON),
    unit: "an iteration",
};

/// Where the published figures were taken, table 2.
const PUBLISHED_ON: &str = "GTX 1080 Ti";

/// The plain loop on one thread of the CPU.
const SERIAL: &str = "serial";

/// The kernels whose seconds [`TABLE_3`] has, in its order.
const PUBLISHED_KERNELS: [&str; 5] = [SERIAL, "reduction", "loop unrolling", "queue", "queue lock"];

/// Table 3: particles, and the seconds that 100,000 iterations took.
const TABLE_3: [(u32, [f64; 5]); 7] = [
    (32, [0.100, 0.413, 0.394, 0.368, 0.216]),
    (64, [0.187, 0.419, 0.402, 0.368, 0.219]),
    (128, [0.385, 0.447, 0.408, 0.371, 0.220]),
    (256, [0.825, 0.455, 0.419, 0.371, 0.222]),
    (512, [1.503, 0.467, 0.422, 0.391, 0.223]),
    (1_024, [3.042, 0.491, 0.439, 0.394, 0.227]),
    (2_048, [6.277, 0.508, 0.451, 0.409, 0.230]),
];

/// Table 4, where it goes on from table 3: particles, and the seconds that 100,000 iterations took, serially and with
/// the queue lock.
const TABLE_4: [(u32, [f64; 2]); 6] = [
    (4_096, [12.410, 0.265]),
    (8_192, [23.850, 0.316]),
    (16_384, [47.355, 0.417]),
    (32_768, [94.629, 0.643]),
    (65_536, [200.536, 1.026]),
    (131_072, [378.671, 2.759]),
];

/// Table 5, 120 dimensions: particles, iterations, and their seconds, serially and with the queue.
const TABLE_5: [(u32, u32, [f64; 2]); 11] = [
    (128, 5_000, [2.392, 0.487]),
    (256, 4_000, [3.543, 0.384]),
    (512, 3_000, [5.305, 0.288]),
    (1_024, 2_000, [7.078, 0.225]),
    (2_048, 2_000, [14.214, 0.255]),
    (4_096, 1_500, [21.593, 0.220]),
    (8_192, 1_000, [29.494, 0.191]),
    (16_384, 1_000, [59.125, 0.294]),
    (32_768, 1_000, [128.349, 0.570]),
    (65_536, 1_000, [237.933, 1.169]),
    (131_072, 800, [379.820, 1.744]),
];

/// The published seconds of an iteration, if there are any.
fn published(dims: u32, particles: u32, kernel: &str) -> Option<f64> {
    let of = |kernels: &[&str], seconds: &[f64], iterations: u32| {
        let nth = kernels.iter().position(|&known| known == kernel)?;
        Some(seconds[nth] / f64::from(iterations))
    };
    if dims == 120 {
        let (_, iterations, seconds) = TABLE_5.iter().find(|row| row.0 == particles)?;
        return of(&[SERIAL, "queue"], seconds, *iterations);
    }
    const ITERATIONS: u32 = 100_000;
    let in_table_3 = TABLE_3.iter().find(|row| row.0 == particles);
    let in_table_4 = TABLE_4.iter().find(|row| row.0 == particles);
    in_table_3
        .and_then(|(_, seconds)| of(&PUBLISHED_KERNELS, seconds, ITERATIONS))
        .or_else(|| of(&[SERIAL, "queue lock"], &in_table_4?.1, ITERATIONS))
}

/// How large a table is.
struct Extent {
    table: &'static Table,
    dims: u32,
    /// Least and greatest number of particles, which doubles from row to row.
    particles: (u32, u32),
    /// For [`Effort::Brief`](super::Effort).
    brief: (u32, u32),
}

const EXTENTS: [Extent; 2] = [
    Extent { table: &ONE_DIMENSION, dims: 1, particles: (32, 131_072), brief: (512, 2_048) },
    Extent { table: &MANY_DIMENSIONS, dims: 120, particles: (128, 131_072), brief: (128, 2_048) },
];

impl Extent {
    fn sizes(&self, is_published: bool) -> impl Iterator<Item = u32> + use<> {
        let (least, most) = if is_published { self.particles } else { self.brief };
        std::iter::successors(Some(least), |size| Some(2 * size)).take_while(move |&s| s <= most)
    }
}

/// The seed.
const KEY: Key = philox::key(1);
/// How often a kernel is measured, and how long a measurement lasts at least.
const REPETITIONS: usize = 5;
const AT_LEAST: Duration = Duration::from_millis(15);
/// The latter where it is only to be seen that all works.
const BRIEFLY: Duration = Duration::from_millis(1);

fn measure(request: &Request<'_>, backend: &AnyBackend, tell: Tell<'_>) -> Result<()> {
    let at_least = if request.is_published() { AT_LEAST } else { BRIEFLY };
    for extent in EXTENTS.iter().filter(|extent| request.wants(extent.table)) {
        let mut lines = Vec::new();
        for particles in extent.sizes(request.is_published()) {
            tell(Report::Progress(format!("{}, {particles} particles", extent.table.name)))?;
            let oracle = Oracle::new(particles, extent.dims)?;
            let own = Own {
                name: "flockwork, one CPU thread",
                ..ours(&oracle, Mode::Synchronous, at_least, &Cpu::new(1)?)?
            };
            tell(Report::Row(serial(&oracle, at_least)?.row(extent, particles, &own)))?;
            tell(Report::Row(own.row(extent, particles)))?;
            lines.extend(match backend {
                AnyBackend::Cpu(..) => None,
                #[cfg(feature = "cuda")]
                AnyBackend::Cuda(cuda, _) => Some(on_gpu(extent, &oracle, at_least, cuda, tell)?),
            });
        }
        if !lines.is_empty() {
            tell(Report::Note(summary(extent, &lines)))?;
        }
    }
    if backend.name() == "cpu" {
        tell(Report::Note("cupso: the reductions and the queues need a GPU".to_owned()))?;
    }
    Ok(())
}

/// Measures the kernels at one size, and this project's beside them: a line of the [`summary`].
#[cfg(feature = "cuda")]
fn on_gpu(
    extent: &Extent,
    oracle: &Oracle,
    at_least: Duration,
    cuda: &Cuda,
    tell: Tell<'_>,
) -> Result<String> {
    let particles = word(oracle.particles);
    let synchronous = ours(oracle, Mode::Synchronous, at_least, cuda)?;
    let asynchronous = ours(oracle, Mode::Asynchronous, at_least, cuda)?;
    let mut fastest = ("", f64::INFINITY);
    for measured in on_machine(&cuda.machine()?, THREADS, at_least, oracle)? {
        if measured.times.median < fastest.1 {
            fastest = (measured.kernel, measured.times.median);
        }
        // Its blocks do not wait for each other either.
        let own = if measured.kernel == "queue lock" { &asynchronous } else { &synchronous };
        tell(Report::Row(measured.row(extent, particles, own)))?;
    }
    for own in [&synchronous, &asynchronous] {
        tell(Report::Row(own.row(extent, particles)))?;
    }
    let (kernel, seconds) = fastest;
    Ok(format!(
        "| {particles} | {kernel} | {:.2} | {:.2} ({}) | {:.2} | {:.2} | {:.2} |",
        seconds * 1e6,
        synchronous.seconds() * 1e6,
        synchronous.way(),
        seconds / synchronous.seconds(),
        asynchronous.seconds() * 1e6,
        seconds / asynchronous.seconds(),
    ))
}

/// This project's own iteration, as it was measured.
struct Own {
    name: &'static str,
    measured: Measurement,
    checked: Check,
}

impl Own {
    fn seconds(&self) -> f64 {
        self.measured.seconds
    }

    fn way(&self) -> &'static str {
        self.measured.strategy.name()
    }

    fn ours(&self) -> Ours {
        Ours { way: self.way(), seconds: self.seconds() }
    }

    fn row(&self, extent: &Extent, particles: u32) -> Row {
        let (size, times) = (particles.to_string(), self.measured.spread());
        let row = Row::new(&WORK, extent.table, size, self.name, times, self.checked.clone());
        Row { ours: Some(self.ours()), ..row }
    }
}

/// Measures this project's own iteration, with cuPSO's coefficients, so that particles improve as often. (A
/// velocity ends at the side of the box, where cuPSO keeps it.)
fn ours(oracle: &Oracle, mode: Mode, at_least: Duration, backend: &impl Backend) -> Result<Own> {
    let problem = Problem::new(Cubic, word(oracle.dims))?;
    let particles = word(oracle.particles);
    let coefficients = Coefficients {
        inertia: INERTIA,
        last_inertia: INERTIA,
        cognitive: ATTRACTION,
        social: ATTRACTION,
    };
    let options = Options {
        particles,
        precision: Some(Precision::F64),
        mode,
        coefficients: Some(coefficients),
        max_velocity: MAX_VELOCITY / (2.0 * BOUND),
        ..Options::for_rule(Rule::Inertia)
    };
    let care = Care { at_least, ..Care::USUAL };
    let measured = iteration_of(&problem, &options, None, backend, care)?;
    let name = match measured.strategy {
        Strategy::Cpu => "flockwork, CPU",
        Strategy::General | Strategy::Streaming => "flockwork, streaming",
        Strategy::Tiered => "flockwork, tiered",
        Strategy::Resident => "flockwork, resident",
        Strategy::Asynchronous | Strategy::TimeSliced => "flockwork, asynchronous",
    };
    // As `iteration_of` looks at it.
    let checked = match mode {
        Mode::Synchronous => Check::Equal,
        Mode::Asynchronous => Check::Holds("its best is where the function has that value"),
    };
    Ok(Own { name, measured, checked })
}

/// The fastest published kernel beside this project's two ways, a line for each size.
fn summary(extent: &Extent, lines: &[String]) -> String {
    format!(
        "{}: the fastest of cuPSO's kernels at each size beside this project's\n\n\
         | particles | fastest | us | synchronous us | times | asynchronous us | times |\n\
         |---:|:---|---:|---:|---:|---:|---:|\n{}",
        extent.table.name,
        lines.join("\n")
    )
}

/// A version as it was measured: times of an iteration.
#[derive(Debug)]
struct Measured {
    kernel: &'static str,
    times: Spread,
    checked: Check,
}

impl Measured {
    fn row(self, extent: &Extent, particles: u32, own: &Own) -> Row {
        let Self { kernel, times, checked } = self;
        let row = Row::new(&WORK, extent.table, particles.to_string(), kernel, times, checked);
        let published = published(extent.dims, particles, kernel);
        Row { ours: Some(own.ours()), published, ..row }
    }
}

/// Iterations whose result is looked at: fewer of a large swarm.
fn looked_at(particles: usize, dims: usize) -> u32 {
    (30_000_000 / (particles * dims)).clamp(2, 12) as u32
}

/// A plain loop over plain arrays, which shares with the kernels the function and the random numbers alone.
struct Oracle {
    particles: usize,
    dims: usize,
    start: State,
    end: State,
}

/// The columns of so many rows one after the other; in tiles, since a column of a large swarm is spread over as many
/// pages of memory as it has numbers.
fn transposed(numbers: &[f64], rows: usize) -> Vec<f64> {
    const TILE: usize = 32;
    let columns = numbers.len() / rows;
    let mut turned = vec![0.0; numbers.len()];
    for first in (0..rows).step_by(TILE) {
        for left in (0..columns).step_by(TILE) {
            for column in left..columns.min(left + TILE) {
                for row in first..rows.min(first + TILE) {
                    turned[column * rows + row] = numbers[row * columns + column];
                }
            }
        }
    }
    turned
}

fn value(position: &[f64]) -> f64 {
    evaluate(&Cubic, position, &Context::new(word(position.len()), ReadOnly::empty()))
}

/// The value of every particle.
fn values(coordinates: &[f64], dims: usize) -> Vec<f64> {
    transposed(coordinates, dims).chunks_exact(dims).map(value).collect()
}

/// A particle's index as random numbers know it.
fn word(index: usize) -> u32 {
    u32::try_from(index).expect("particles and dimensions are counted in 32 bits")
}

fn pair(purpose: Purpose, iteration: u32, particle: usize, dimension: usize) -> (f64, f64) {
    let (particle, group) = (word(particle), word(dimension));
    f64::uniform_pair(Draw { key: KEY, iteration, particle, group, purpose, nth: 0 }.block(), 0)
}

impl Oracle {
    fn new(particles: u32, dims: u32) -> Result<Self> {
        let (particles, dims) = (particles as usize, dims as usize);
        let (mut positions, mut velocities) = (Vec::new(), Vec::new());
        for dimension in 0..dims {
            for particle in 0..particles {
                let (r1, r2) = pair(Purpose::Start, 0, particle, dimension);
                positions.push(200.0 * r1 - 100.0);
                velocities.push(200.0 * r2);
            }
        }
        let fitness = values(&positions, dims);
        let first = first_greatest(&fitness);
        let position = (0..dims).map(|d| positions[d * particles + first]);
        let start = State {
            best: [fitness[first]].into_iter().chain(position).collect(),
            own_positions: positions.clone(),
            own_fitness: fitness.clone(),
            positions,
            velocities,
            fitness,
        };
        let mut end = start.clone();
        for iteration in 1..=looked_at(particles, dims) {
            step(&mut end, iteration, particles, dims);
        }
        Ok(Self { particles, dims, start, end })
    }

    fn looked_at(&self) -> u32 {
        looked_at(self.particles, self.dims)
    }

    fn wrong(&self, kernel: &str, found: &State, expected: &str) -> Error {
        let size = format!("{} x {}", self.particles, self.dims);
        let found = format!(
            "a best of {} after {} iterations, with other bits somewhere",
            found.best[0],
            self.looked_at()
        );
        wrong_kernel(&WORK, kernel, size, found, expected)
    }

    /// Whether all numbers are this one's.
    fn check(&self, kernel: &str, found: &State) -> Result<Check> {
        match *found == self.end {
            true => Ok(Check::Equal),
            false => Err(self.wrong(kernel, found, &format!("a best of {}", self.end.best[0]))),
        }
    }

    /// What is true of a swarm whose best depends on which block came first: it is the greatest own best fitness,
    /// stands where the function has that value and one of the particles was, and is not worse than at the start
    /// or better than the function's maximum.
    #[cfg(any(feature = "cuda", test))]
    fn check_best(&self, kernel: &str, found: &State) -> Result<Check> {
        let dims = self.dims;
        let (best, position) = (found.best[0], &found.best[1..]);
        let greatest = found.own_fitness.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let own = transposed(&found.own_positions, dims);
        let mut pairs = own.chunks_exact(dims).zip(&found.own_fitness);
        let is_own = pairs.any(|(own, fitness)| *fitness == best && own == position);
        let is_evaluated = own.chunks_exact(dims).map(value).eq(found.own_fitness.iter().copied())
            && values(&found.positions, dims) == found.fitness;
        // A maximum of 900,000 a dimension, each term and sum of which is rounded.
        let most = 900_000.0 * dims as f64 * (1.0 + dims as f64 * f64::EPSILON);
        let holds = best == greatest && is_own && is_evaluated;
        match holds && best >= self.start.best[0] && best <= most {
            true => Ok(Check::Holds("its best is the best of all, at that particle's position")),
            false => Err(self.wrong(kernel, found, "the best of all particles, with its position")),
        }
    }
}

/// The first that has the greatest fitness.
fn first_greatest(fitness: &[f64]) -> usize {
    (1..fitness.len()).fold(0, |best, i| if fitness[i] > fitness[best] { i } else { best })
}

/// One iteration of the oracle.
fn step(state: &mut State, iteration: u32, particles: usize, dims: usize) {
    for dimension in 0..dims {
        let guide = state.best[1 + dimension];
        for particle in 0..particles {
            let place = dimension * particles + particle;
            let (r1, r2) = pair(Purpose::Velocity, iteration, particle, dimension);
            let (x, v) = (state.positions[place], state.velocities[place]);
            let own = state.own_positions[place];
            let v = v + 2.0 * r1 * (own - x) + 2.0 * r2 * (guide - x);
            state.velocities[place] = v.clamp(-200.0, 200.0);
            state.positions[place] = (x + state.velocities[place]).clamp(-100.0, 100.0);
        }
    }
    state.fitness = values(&state.positions, dims);
    for particle in 0..particles {
        if state.fitness[particle] > state.own_fitness[particle] {
            state.own_fitness[particle] = state.fitness[particle];
            for place in (particle..dims * particles).step_by(particles) {
                state.own_positions[place] = state.positions[place];
            }
        }
    }
    let first = first_greatest(&state.fitness);
    if state.fitness[first] > state.best[0] {
        state.best[0] = state.fitness[first];
        for dimension in 0..dims {
            state.best[1 + dimension] = state.positions[dimension * particles + first];
        }
    }
}

/// The serial program: one thread, which moves one particle after the other, each with its numbers side by side,
/// and compares each with the swarm's best at once.
struct Serial {
    dims: usize,
    /// Of each particle position, velocity, best position, fitness and best fitness.
    particles: Vec<f64>,
    /// What attracts in this iteration, and the best so far.
    guide: Vec<f64>,
    best: Vec<f64>,
    iteration: u32,
}

impl Serial {
    fn new(oracle: &Oracle) -> Self {
        let Oracle { particles, dims, start, .. } = oracle;
        let mut numbers = Vec::with_capacity(particles * (3 * dims + 2));
        let coordinates = [&start.positions, &start.velocities, &start.own_positions]
            .map(|of| transposed(of, *dims));
        for particle in 0..*particles {
            for of in &coordinates {
                numbers.extend(&of[particle * dims..][..*dims]);
            }
            numbers.extend([start.fitness[particle], start.own_fitness[particle]]);
        }
        let (guide, best) = (vec![0.0; *dims], start.best.clone());
        Self { dims: *dims, particles: numbers, guide, best, iteration: 0 }
    }

    fn step(&mut self) {
        self.iteration += 1;
        let dims = self.dims;
        self.guide.copy_from_slice(&self.best[1..]);
        for (index, particle) in self.particles.chunks_exact_mut(3 * dims + 2).enumerate() {
            let (positions, rest) = particle.split_at_mut(dims);
            let (velocities, rest) = rest.split_at_mut(dims);
            let (own, fitness) = rest.split_at_mut(dims);
            for d in 0..dims {
                let random = uniforms(KEY, self.iteration, word(index), word(d));
                let now = [positions[d], velocities[d], own[d], self.guide[d]];
                [positions[d], velocities[d]] = moved(now, random);
            }
            fitness[0] = value(positions);
            if fitness[0] > fitness[1] {
                fitness[1] = fitness[0];
                own.copy_from_slice(positions);
            }
            if fitness[0] > self.best[0] {
                self.best[0] = fitness[0];
                self.best[1..].copy_from_slice(positions);
            }
        }
    }

    fn state(&self) -> State {
        let dims = self.dims;
        let width = 3 * dims + 2;
        let mut all = transposed(&self.particles, self.particles.len() / width);
        let mut split = |first: usize| all.split_off(first * (self.particles.len() / width));
        let (own_fitness, fitness) = (split(width - 1), split(width - 2));
        let (own_positions, velocities) = (split(2 * dims), split(dims));
        State {
            own_fitness,
            fitness,
            own_positions,
            velocities,
            positions: all,
            best: self.best.clone(),
        }
    }
}

/// Measures the serial program.
fn serial(oracle: &Oracle, at_least: Duration) -> Result<Measured> {
    let mut swarm = Serial::new(oracle);
    for _ in 0..oracle.looked_at() {
        swarm.step();
    }
    let checked = oracle.check(SERIAL, &swarm.state())?;
    let times = timed(at_least, |iterations| {
        let began = Instant::now();
        for _ in 0..iterations {
            swarm.step();
        }
        Ok(began.elapsed())
    })?;
    Ok(Measured { kernel: SERIAL, times, checked })
}

/// Measures the kernels on a machine.
#[cfg(any(feature = "cuda", test))]
fn on_machine<M: Machine>(
    machine: &M,
    threads: u32,
    at_least: Duration,
    oracle: &Oracle,
) -> Result<Vec<Measured>> {
    let one = |version: Version| -> Result<Measured> {
        let mut running = Running::new(machine, version, threads, KEY, &oracle.start)?;
        running.timed(oracle.looked_at())?;
        let found = running.state()?;
        // Of one block alone it is defined which particle comes first.
        let checked = match version {
            Version::QueueLock if running.blocks() > 1 => {
                oracle.check_best(version.name(), &found)?
            }
            _ => oracle.check(version.name(), &found)?,
        };
        let times = timed(at_least, |iterations| running.timed(iterations))?;
        Ok(Measured { kernel: version.name(), times, checked })
    };
    Version::ALL.into_iter().map(one).collect()
}

/// The times of an iteration in some runs, each of so many that it lasts so long.
fn timed(at_least: Duration, mut run: impl FnMut(u32) -> Result<Duration>) -> Result<Spread> {
    let iterations = long_enough(at_least, 1 << 20, &mut run)?;
    let seconds = (0..REPETITIONS)
        .map(|_| Ok(run(iterations)?.as_secs_f64() / f64::from(iterations)))
        .collect::<Result<Vec<_>>>()?;
    Ok(Spread::of_seconds(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Emulated;

    #[test]
    fn kernels_in_the_emulator_are_the_oracle() {
        for (particles, dims, threads) in [(40, 1, 64), (200, 3, 64), (33, 2, 32)] {
            let oracle = Oracle::new(particles, dims).unwrap();
            let machine = Emulated::new(11, 32).machine();
            let measured = on_machine(&machine, threads, Duration::ZERO, &oracle).unwrap();
            let names: Vec<_> = measured.iter().map(|of| of.kernel).collect();
            assert_eq!(names, ["reduction", "loop unrolling", "queue", "queue lock"]);
            for Measured { kernel, times, checked } in measured {
                let is_defined = kernel != "queue lock" || particles <= threads;
                assert_eq!(checked == Check::Equal, is_defined, "{kernel}: {checked}");
                let (least, most) = times.range;
                assert!(0.0 < least && least <= times.median && times.median <= most);
            }
        }
    }

    #[test]
    fn the_serial_program_is_the_oracle() {
        for (particles, dims) in [(1, 1), (40, 1), (70, 5)] {
            let oracle = Oracle::new(particles, dims).unwrap();
            assert_eq!(serial(&oracle, Duration::ZERO).unwrap().checked, Check::Equal);
        }
    }

    #[test]
    fn what_is_wrong_is_found() {
        let oracle = Oracle::new(50, 2).unwrap();
        let right = oracle.end.clone();
        assert_eq!(oracle.check("none", &right).unwrap(), Check::Equal);
        assert!(matches!(oracle.check_best("none", &right), Ok(Check::Holds(_))));
        let spoilt = |spoil: &dyn Fn(&mut State)| {
            let mut wrong = right.clone();
            spoil(&mut wrong);
            wrong
        };
        // The position of another particle; a best that is not the greatest; a fitness of another place.
        let torn = spoilt(&|a| a.best[1] = a.best[1].next_down());
        let lesser = spoilt(&|a| a.best = oracle.start.best.clone());
        let elsewhere = spoilt(&|a| a.fitness[7] += 1.0);
        assert_ne!(right.best, oracle.start.best, "nothing improved");
        for wrong in [torn, lesser, elsewhere] {
            assert!(oracle.check("none", &wrong).is_err());
            let error = oracle.check_best("queue lock", &wrong).unwrap_err().to_string();
            assert!(error.contains("queue lock at 50 x 2"), "{error}");
        }
    }

    #[test]
    fn every_size_has_its_published_figures() {
        for extent in &EXTENTS {
            for particles in extent.sizes(true) {
                let kernels =
                    PUBLISHED_KERNELS.map(|kernel| published(extent.dims, particles, kernel));
                let expected = match extent.dims {
                    1 if particles <= 2_048 => [true; 5],
                    1 => [true, false, false, false, true],
                    _ => [true, false, false, true, false],
                };
                assert_eq!(kernels.map(|seconds| seconds.is_some()), expected, "{particles}");
            }
        }
        // Table 4's speedup of 65,536 particles, and table 5's of 32,768.
        let speedup = |dims, particles, kernel| {
            let of = |kernel| published(dims, particles, kernel).unwrap();
            of(SERIAL) / of(kernel)
        };
        assert!((speedup(1, 65_536, "queue lock") - 195.45).abs() < 0.01);
        assert!((speedup(120, 32_768, "queue") - 225.17).abs() < 0.01);
    }

    #[test]
    fn sizes_are_those_published() {
        let [one, many] = EXTENTS.map(|extent| extent.sizes(true).collect::<Vec<_>>());
        assert_eq!((one.len(), one[0], one[12]), (13, 32, 131_072));
        assert_eq!((many.len(), many[0], many[10]), (11, 128, 131_072));
    }
}
