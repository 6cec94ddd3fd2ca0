//! Hosala's thesis: particle swarms that calibrate models, on GPUs of the Fermi and Kepler generations.
//!
//! Sizes and figures are those of its tables 3 and 5 to 9. Its graphs show curves without numbers, so that their rows
//! have the sizes alone.

#[cfg(any(feature = "cuda", test))]
mod kernels;
#[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "most figures are of kernels"))]
mod published;
mod reference;

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use flockwork_device::{
    lineage::hosala::layouts::Sum,
    objective::{CoupledSines, Rastrigin, Sphere, SumOfSines},
};
use published::{FUNCTIONS_OF_GRAPHS, PARTICLES_OF_GRAPHS, ROWS_OF_F10, TABLES_6_TO_8};
#[cfg(any(feature = "cuda", test))]
use published::{
    TABLE_3, TABLE_3_KERNELS, TABLE_4, TABLE_4_KERNELS, TABLE_5, TABLE_5_KERNELS, TABLE_9,
    TABLE_9_KERNELS, TABLES_6_TO_8_KERNELS, seconds,
};
use reference::Plain;

use super::{Check, Ours, Report, Request, Row, Table, Tell, Work, wrong_kernel};
use crate::{
    Error, Result,
    backend::{AnyBackend, Backend, Cpu, Number, Plan, Spread},
    bench::{Care, iteration_of},
    fit::{Data, Fit, Linear, synthetic},
    swarm::{Options, Precision, Problem, Rule},
};

/// Where the figures of tables 3 to 8 were taken.
const GTX_660_TI: Option<&str> = Some("GTX 660 Ti");

const REDUCTIONS: Table = Table {
    name: "table 3",
    caption: "the best of so many particles, found by blocks of 256 threads; published is the blocks' launch",
    gpu: GTX_660_TI,
    unit: "all launches that it takes",
};

const UPDATES: Table = Table {
    name: "table 4",
    caption: "velocities and positions, particles x dimensions, f64 (published of 65,536 particles in a number of \
              dimensions that is not said)",
    gpu: GTX_660_TI,
    unit: "an update",
};

const LAYOUTS: Table = Table {
    name: "table 5",
    caption: "who moves and evaluates a particle, f4 (sphere), particles x dimensions; published is the evaluation \
              alone",
    gpu: GTX_660_TI,
    unit: "an iteration",
};

const SUMS: Table = Table {
    name: "tables 6 to 8",
    caption: "sums of squares of a linear model, f5<parameters, rows>, particles; ours is an iteration, the others \
              the sums alone",
    gpu: GTX_660_TI,
    unit: "the sums, or an iteration",
};

const LOADS: Table = Table {
    name: "table 9",
    caption: "f10 with loads through the read-only cache and without, particles; published is an iteration",
    gpu: Some("K20"),
    unit: "the sums, or an iteration",
};

const GRAPHS: Table = Table {
    name: "graphs 1 to 8",
    caption: "the CPU's threads and the GPU, f64, particles x dimensions; of f6 to f10 the sums, and ours an iteration \
              (the graphs have no numbers)",
    gpu: None,
    unit: "an iteration, or the sums",
};

pub(super) const WORK: Work = Work {
    name: "hosala",
    title: "Hosala: particle swarms on GPUs for calibration",
    source: "M. Hosala, solving the global optimization problem with GPUs, thesis, Charles University, Prague, 2014",
    tables: &[REDUCTIONS, UPDATES, LAYOUTS, SUMS, LOADS, GRAPHS],
    measure,
};

/// Particles by dimensions.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sized {
    particles: u32,
    dims: u32,
}

const fn sized(particles: u32, dims: u32) -> Sized {
    Sized { particles, dims }
}

/// What was measured.
#[derive(Clone, Debug)]
struct Measured {
    kernel: &'static str,
    times: Spread,
    checked: Check,
}

impl Measured {
    fn report(
        self,
        table: &Table,
        size: &str,
        ours: Option<Ours>,
        published: Option<f64>,
    ) -> Report {
        let Self { kernel, times, checked } = self;
        Report::Row(Row { ours, published, ..Row::new(&WORK, table, size, kernel, times, checked) })
    }
}

/// A kernel whose result is not what it should be.
fn wrong(kernel: &str, size: &str, found: String, expected: String) -> Error {
    wrong_kernel(&WORK, kernel, size, found, expected)
}

/// Half the distance from 1 to the next greater number.
fn unit<T: Number>() -> f64 {
    if T::PRECISION == Precision::F32 { 2_f64.powi(-24) } else { 2_f64.powi(-53) }
}

/// How far sums are from those of plain sums in `f64`, at most as far as both may be off: (rows + columns) u of
/// the sum each. The rows and places are such that they are the same numbers in `f32`.
fn summed<T: Number>(
    kernel: &str,
    size: &str,
    (rows, columns): (usize, u32),
    sums: &[T],
    expected: &[f64],
) -> Result<Check> {
    let bound = (rows as f64 + f64::from(columns)) * (unit::<T>() + unit::<f64>());
    let mut largest = 0.0_f64;
    for (found, expected) in sums.iter().zip(expected) {
        let difference = (found.to_f64() - expected).abs() / expected;
        // Not if it is NaN.
        let is_near = difference <= bound;
        if !is_near {
            return Err(wrong(kernel, size, found.to_string(), expected.to_string()));
        }
        largest = largest.max(difference);
    }
    Ok(if largest == 0.0 { Check::Equal } else { Check::Within(largest) })
}

fn measure(request: &Request<'_>, backend: &AnyBackend, tell: Tell<'_>) -> Result<()> {
    match backend {
        AnyBackend::Cpu(..) => tell(Report::Note(
            "Without a GPU: the reference on the CPU's threads alone; tables 3, 4, 5 and 9 are of kernels."
                .to_owned(),
        ))?,
        #[cfg(feature = "cuda")]
        AnyBackend::Cuda(cuda, _) => on_gpu::small(request, cuda, tell)?,
    }
    fits(request, backend, tell)?;
    graphs(request, backend, tell)
}

/// A linear model over some rows, as the thesis has it.
#[derive(Clone, Copy, Debug)]
struct Case {
    table: &'static Table,
    name: &'static str,
    dims: u32,
    rows: usize,
    particles: u32,
    /// Microseconds of THREAD, WARP_2 and BLOCK_2.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "they are kernels"))]
    published: Option<[f64; 3]>,
}

/// Those of tables 6 to 9 and of graphs 5 to 8; or one for each table, of other sizes.
fn cases(is_published: bool) -> Vec<Case> {
    let f10 = Case {
        table: &LOADS,
        name: "f10",
        dims: 4,
        rows: ROWS_OF_F10,
        particles: 64,
        published: None,
    };
    if !is_published {
        let f5 = Case { table: &SUMS, name: "f5", dims: 8, rows: 3_003, particles: 64, ..f10 };
        let f6 = Case { table: &GRAPHS, name: "f6", dims: 16, rows: 3_088, particles: 128, ..f10 };
        return vec![f5, Case { rows: 3_059, ..f10 }, f6];
    }
    let of_tables = TABLES_6_TO_8.map(|(particles, rows, published)| Case {
        table: &SUMS,
        name: "f5",
        dims: 8,
        rows,
        particles,
        published: Some(published),
    });
    let of_graphs = FUNCTIONS_OF_GRAPHS.into_iter().flat_map(|(name, rows)| {
        PARTICLES_OF_GRAPHS.map(|particles| Case {
            table: &GRAPHS,
            name,
            dims: 16,
            rows,
            particles,
            published: None,
        })
    });
    of_tables
        .into_iter()
        .chain([f10])
        .chain(of_graphs)
        .chain([Case { table: &GRAPHS, ..f10 }])
        .collect()
}

/// Tables 6 to 9, and graphs 5 to 8.
fn fits(request: &Request<'_>, backend: &AnyBackend, tell: Tell<'_>) -> Result<()> {
    for case in cases(request.is_published()).into_iter().filter(|case| request.wants(case.table)) {
        let Case { dims, rows, particles, .. } = case;
        tell(Report::Progress(format!("{}, {rows} rows, {particles} particles", case.name)))?;
        let fit = Fit::new(Linear, Data::from_table(&synthetic(dims, rows, 1)?)?)?;
        // Somewhere near the best fit, each a little further.
        let place = |index: u32| 1.0 + f64::from(index % 97) / 64.0;
        let positions: Vec<f64> = (0..particles * dims).map(place).collect();
        let numbers = fit.setup_in::<f64>()?.numbers;
        let expected = reference::squares(dims as usize, &numbers, &positions);
        let of_fit = OfFit { case, fit: &fit, positions, expected };
        #[cfg(feature = "cuda")]
        if let AnyBackend::Cuda(cuda, _) = backend {
            of_fit.on_a_gpu::<f64>(cuda, tell)?;
            if *case.table != GRAPHS {
                of_fit.on_a_gpu::<f32>(cuda, tell)?;
            }
        }
        // Table 9 is about loads of a GPU.
        if *case.table != LOADS {
            of_fit.on_the_cpu(&numbers, &backend.cpu()?, tell)?;
        }
    }
    Ok(())
}

/// What a kernel is called with loads through the read-only cache, and without.
#[cfg(feature = "cuda")]
fn by_loads(kernel: &str) -> (&'static str, &'static str) {
    match kernel {
        "THREAD" => ("THREAD, cached", "THREAD, plain"),
        "WARP_2" => ("WARP_2, cached", "WARP_2, plain"),
        _ => ("BLOCK_2, cached", "BLOCK_2, plain"),
    }
}

struct OfFit<'a> {
    case: Case,
    fit: &'a Fit,
    positions: Vec<f64>,
    expected: Vec<f64>,
}

impl OfFit<'_> {
    fn size(&self, of: &str) -> String {
        let Case { name, dims, rows, particles, .. } = self.case;
        format!("{name}<{dims}, {rows}>, {particles}, {of}")
    }

    /// Reports the plain form on the CPU's threads.
    fn on_the_cpu(&self, numbers: &[f64], cpu: &Cpu, tell: Tell<'_>) -> Result<()> {
        /// With more products than this it would take minutes on few threads, and show nothing new.
        const TOO_MANY: usize = 3_000_000_000;

        let Self { case: Case { table, dims, rows, particles, .. }, fit, positions, .. } = self;
        if *dims as usize * rows * *particles as usize > TOO_MANY {
            return Ok(());
        }
        let problem = fit.problem()?;
        let plan = Plan::<f64>::new(&problem, &reference::options(*particles, Precision::F64))?;
        let evaluated = cpu.swarm(problem.function(), plan)?.evaluate(positions)?;
        let work = || drop(black_box(reference::squares(*dims as usize, numbers, positions)));
        let mut plain = on_cpu(cpu, "CPU", work)?;
        let size = self.size("f64 on the CPU");
        plain.checked = summed("CPU", &size, (*rows, *dims), &self.expected, &evaluated)?;
        let ours = ours(&problem, *particles, Precision::F64, cpu)?;
        tell(plain.report(table, &size, Some(ours), None))
    }

    /// Reports the kernels; of table 9 with both kinds of loads, else with read-only ones, and of graphs BLOCK_2
    /// alone, as the thesis has it.
    #[cfg(feature = "cuda")]
    fn on_a_gpu<T: Number>(&self, cuda: &crate::backend::Cuda, tell: Tell<'_>) -> Result<()> {
        use crate::backend::lineage::hosala::Patience;

        let Self { case, fit, expected, .. } = self;
        let Case { table, dims, rows, particles, published, .. } = *case;
        let size = self.size(T::NAME);
        let positions: Vec<T> = self.positions.iter().map(|&place| T::nearest(place)).collect();
        let numbers = fit.setup_in::<T>()?.numbers;
        let machine = cuda.machine()?;
        let given = (&*size, dims);
        let [cached, plain] =
            kernels::squares(&machine, given, &numbers, &positions, expected, Patience::USUAL)?;
        drop(machine);
        let ours = Some(ours(&fit.problem()?, particles, T::PRECISION, cuda)?);
        let is_double = T::PRECISION == Precision::F64;
        if *table == LOADS {
            for (cached, plain) in cached.into_iter().zip(plain) {
                let (with, without) = by_loads(plain.kernel);
                for measured in
                    [Measured { kernel: with, ..cached }, Measured { kernel: without, ..plain }]
                {
                    let published = seconds(&TABLE_9_KERNELS, &TABLE_9, measured.kernel)
                        .filter(|_| is_double && rows == ROWS_OF_F10);
                    tell(measured.report(table, &size, ours, published))?;
                }
            }
            return Ok(());
        }
        for measured in cached {
            if *table == GRAPHS && measured.kernel != "BLOCK_2" {
                continue;
            }
            let published = published
                .filter(|_| is_double)
                .and_then(|published| seconds(&TABLES_6_TO_8_KERNELS, &published, measured.kernel));
            tell(measured.report(table, &size, ours, published))?;
        }
        Ok(())
    }
}

/// What this project takes for an iteration. With millions of rows, each that is looked at takes a CPU seconds.
fn ours(
    problem: &Problem,
    particles: u32,
    precision: Precision,
    backend: &impl Backend,
) -> Result<Ours> {
    let looked_at = if Fit::behind(problem.function()).is_some() { 1 } else { 12 };
    let care = Care { looked_at, at_least: Duration::from_millis(40) };
    let options =
        Options { particles, precision: Some(precision), ..Options::for_rule(Rule::Inertia) };
    let measured = iteration_of(problem, &options, None, backend, care)?;
    Ok(Ours { way: measured.strategy.name(), seconds: measured.seconds })
}

/// Times something on the CPU's threads; the first time does not count unless it is long. Its check is the
/// caller's.
fn on_cpu(cpu: &Cpu, kernel: &'static str, mut work: impl FnMut() + Send) -> Result<Measured> {
    const LONG: Duration = Duration::from_secs(1);
    const TIMES: usize = 5;
    const AT_LEAST: f64 = 0.02;

    let once = |work: &mut (dyn FnMut() + Send), times: u32| {
        cpu.install(|| {
            let began = Instant::now();
            (0..times).for_each(|_| work());
            began.elapsed() / times
        })
    };
    let first = once(&mut work, 1);
    let mut times = vec![first];
    if first < LONG {
        let batch = (AT_LEAST / first.as_secs_f64()).clamp(1.0, 1e4) as u32;
        times = (0..TIMES).map(|_| once(&mut work, batch)).collect();
    }
    Ok(Measured { kernel, times: Spread::of(times), checked: Check::Equal })
}

/// Graphs 1 to 4.
fn graphs(request: &Request<'_>, backend: &AnyBackend, tell: Tell<'_>) -> Result<()> {
    if !request.wants(&GRAPHS) {
        return Ok(());
    }
    let sizes: &[Sized] = match request.is_published() {
        true => &[
            sized(128, 256),
            sized(512, 256),
            sized(2_048, 256),
            sized(8_192, 256),
            sized(32_768, 256),
        ],
        false => &[sized(70, 9)],
    };
    for &size in sizes {
        graph::<SumOfSines>(size, "f1", backend, tell)?;
    }
    for &size in sizes {
        graph::<CoupledSines>(size, "f2", backend, tell)?;
    }
    for &size in sizes {
        graph::<Rastrigin>(size, "f3", backend, tell)?;
    }
    for &size in sizes {
        graph::<Sphere>(size, "f4", backend, tell)?;
    }
    Ok(())
}

fn graph<O: Sum>(
    Sized { particles, dims }: Sized,
    name: &str,
    backend: &AnyBackend,
    tell: Tell<'_>,
) -> Result<()> {
    let size = format!("{name} {particles} x {dims}");
    tell(Report::Progress(size.clone()))?;
    let problem = Problem::new(O::Objective::default(), dims)?;
    let cpu = backend.cpu()?;
    let mut plain = Plain::<O, f64>::start(&problem, particles)?;
    let checked = look(&mut plain, &problem, &cpu, &size)?;
    let measured = Measured { checked, ..on_cpu(&cpu, "CPU", || plain.iterate())? };
    let ours_on_cpu = ours(&problem, particles, Precision::F64, &cpu)?;
    tell(measured.report(&GRAPHS, &format!("{size} on the CPU"), Some(ours_on_cpu), None))?;
    #[cfg(feature = "cuda")]
    if let AnyBackend::Cuda(cuda, _) = backend {
        on_gpu::layouts::<O, f64>(&GRAPHS, &size, &problem, particles, cuda, &|_| None, tell)?;
    }
    Ok(())
}

/// How far the plain swarm's fitness is from this project's at the same places, after some iterations: for up to 32
/// terms not at all, as both sum them from the first to the last, and then both have the same best; else by 2 n u of
/// the terms' magnitudes at most.
fn look<O: Sum>(
    plain: &mut Plain<O, f64>,
    problem: &Problem,
    cpu: &Cpu,
    size: &str,
) -> Result<Check> {
    const LOOKED_AT: u32 = 12;

    let particles = plain.particles.len() as u32;
    let plan = Plan::<f64>::new(problem, &reference::options(particles, Precision::F64))?;
    let mut swarm = cpu.swarm(problem.function(), plan)?;
    swarm.start(None)?;
    swarm.advance(LOOKED_AT)?;
    (0..LOOKED_AT).for_each(|_| plain.iterate());
    let best = swarm.best()?;
    let found = plain.particles[plain.best as usize].best_fitness;
    let is_same = (found, plain.best, &plain.guide) == (best.value, best.particle, &best.position);
    if plain.dims <= 32 && !is_same {
        let says = |value: f64, particle: u32| format!("{value} of particle {particle}");
        return Err(wrong("CPU", size, says(found, plain.best), says(best.value, best.particle)));
    }
    let positions: Vec<f64> = plain.particles.iter().flat_map(|p| p.position.clone()).collect();
    let bound = 2.0 * f64::from(plain.dims) * unit::<f64>();
    let mut largest = 0.0_f64;
    for (nth, (particle, expected)) in
        plain.particles.iter().zip(swarm.evaluate(&positions)?).enumerate()
    {
        let difference = (particle.fitness - expected).abs() / particle.magnitude;
        // Not if it is NaN.
        let is_near = difference <= bound;
        if !is_near {
            let found = format!("{} of particle {nth}", particle.fitness);
            return Err(wrong("CPU", size, found, expected.to_string()));
        }
        largest = largest.max(difference);
    }
    Ok(if largest == 0.0 { Check::Equal } else { Check::Within(largest) })
}

/// What needs a GPU.
#[cfg(feature = "cuda")]
mod on_gpu {
    use super::*;
    use crate::backend::{Cuda, lineage::hosala::Patience};

    /// Tables 3 to 5.
    pub(super) fn small(request: &Request<'_>, cuda: &Cuda, tell: Tell<'_>) -> Result<()> {
        let published = request.is_published();
        if request.wants(&REDUCTIONS) {
            let sizes: &[u32] = if published {
                &TABLE_3.map(|(candidates, _)| candidates)
            } else {
                &[1_000, 5_000]
            };
            for &candidates in sizes {
                best::<f64>(candidates, cuda, tell)?;
            }
            for &candidates in sizes {
                best::<f32>(candidates, cuda, tell)?;
            }
        }
        if request.wants(&UPDATES) {
            let sizes: &[Sized] = match published {
                true => &[sized(65_536, 2), sized(65_536, 16), sized(65_536, 256)],
                false => &[sized(300, 5)],
            };
            for &size in sizes {
                let Sized { particles, dims } = size;
                let name = format!("{particles} x {dims}");
                tell(Report::Progress(format!("{}, {name}", UPDATES.name)))?;
                let (kernels, ours) = kernels::updates(&cuda.machine()?, size, Patience::USUAL)?;
                let ours = Some(Ours { way: ours.kernel, seconds: ours.times.median });
                for measured in kernels {
                    let figures = seconds(&TABLE_4_KERNELS, &TABLE_4, measured.kernel);
                    tell(measured.report(&UPDATES, &name, ours, figures.filter(|_| published)))?;
                }
            }
        }
        if request.wants(&LAYOUTS) {
            let sizes: &[Sized] =
                if published { &TABLE_5.map(|(size, _)| size) } else { &[sized(70, 40)] };
            for &size in sizes {
                let Sized { particles, dims } = size;
                let problem = Problem::new(Sphere, dims)?;
                let name = format!("{particles} x {dims}");
                tell(Report::Progress(format!("{}, {name}", LAYOUTS.name)))?;
                let figures = |kernel: &str| {
                    let (_, figures) = TABLE_5.iter().find(|(known, _)| *known == size)?;
                    seconds(&TABLE_5_KERNELS, figures, kernel)
                };
                layouts::<Sphere, f64>(&LAYOUTS, &name, &problem, particles, cuda, &figures, tell)?;
            }
        }
        Ok(())
    }

    fn best<T: Number>(candidates: u32, cuda: &Cuda, tell: Tell<'_>) -> Result<()> {
        let size = format!("{candidates}, {}", T::PRECISION);
        tell(Report::Progress(format!("{}, {size}", REDUCTIONS.name)))?;
        let (kernels, ours) = kernels::best::<_, T>(&cuda.machine()?, candidates, Patience::USUAL)?;
        let ours = Some(Ours { way: ours.kernel, seconds: ours.times.median });
        let figures = TABLE_3.iter().find(|(known, _)| *known == candidates);
        let figures = figures.filter(|_| T::PRECISION == Precision::F64);
        kernels.into_iter().try_for_each(|measured| {
            let published = figures
                .and_then(|(_, figures)| seconds(&TABLE_3_KERNELS, figures, measured.kernel));
            tell(measured.report(&REDUCTIONS, &size, ours, published))
        })
    }

    /// An iteration in each layout.
    pub(super) fn layouts<O: Sum, T: Number>(
        table: &Table,
        size: &str,
        problem: &Problem,
        particles: u32,
        cuda: &Cuda,
        figures: &dyn Fn(&str) -> Option<f64>,
        tell: Tell<'_>,
    ) -> Result<()> {
        let machine = cuda.machine()?;
        let kernels =
            kernels::iterations::<_, O, T>(&machine, problem, particles, Patience::USUAL)?;
        drop(machine);
        let ours = ours(problem, particles, T::PRECISION, cuda)?;
        kernels.into_iter().try_for_each(|measured| {
            let published = figures(measured.kernel);
            tell(measured.report(table, size, Some(ours), published))
        })
    }
}

#[cfg(test)]
mod tests {
    use flockwork_device::math::Scalar;

    use super::*;
    use crate::backend::{Emulated, lineage::hosala::Patience};

    #[test]
    fn the_best_is_found_whatever_the_schedule() {
        for (seed, candidates) in [(1, 1), (2, 64), (3, 1_000), (4, 1_537)] {
            let machine = Emulated::new(seed, 32).machine();
            let single = kernels::best::<_, f32>(&machine, candidates, Patience::ONCE);
            let (published, ours) = single.unwrap();
            let names = published.map(|m| m.kernel);
            assert_eq!(names, ["SHARED", "VOL", "SHFL"]);
            assert_eq!(
                names.map(|name| seconds(&TABLE_3_KERNELS, &TABLE_3[0].1, name)),
                [Some(12e-6), Some(9e-6), Some(8e-6)]
            );
            assert_eq!(ours.checked, Check::Equal);
            kernels::best::<_, f64>(&machine, candidates, Patience::ONCE).unwrap();
        }
    }

    #[test]
    fn every_update_follows_its_random_numbers() {
        for size in [sized(1, 1), sized(300, 5), sized(256, 8)] {
            let machine = Emulated::new(9, 32).machine();
            let (published, _) = kernels::updates(&machine, size, Patience::ONCE).unwrap();
            let figures = published.map(|m| seconds(&TABLE_4_KERNELS, &TABLE_4, m.kernel));
            assert!(figures.iter().all(Option::is_some));
        }
    }

    fn layouts<O: Sum, T: Number>(particles: u32, dims: u32, seed: u64) -> Vec<Check> {
        let problem = Problem::new(O::Objective::default(), dims).unwrap();
        let machine = Emulated::new(seed, 32).machine();
        let all = kernels::iterations::<_, O, T>(&machine, &problem, particles, Patience::ONCE);
        let all = all.unwrap();
        assert_eq!([0, 1, 2].map(|nth| all[nth].kernel), TABLE_5_KERNELS);
        all.into_iter().map(|measured| measured.checked).collect()
    }

    #[test]
    fn every_layout_moves_particles_alike() {
        for (particles, dims) in [(1, 2), (33, 7), (40, 70)] {
            let checks = [
                layouts::<SumOfSines, f32>(particles, dims, 1),
                layouts::<SumOfSines, f64>(particles, dims, 2),
                layouts::<CoupledSines, f64>(particles, dims, 3),
                layouts::<Rastrigin, f64>(particles, dims, 4),
                layouts::<Sphere, f64>(particles, dims, 5),
            ];
            assert!(checks.iter().all(|checks| checks[0] == Check::Equal), "{checks:?}");
        }
    }

    #[test]
    fn the_plain_form_is_the_project_s_swarm() {
        let cpu = Cpu::new(2).unwrap();
        for (particles, dims) in [(5, 2), (70, 9), (64, 32), (70, 256)] {
            let problem = Problem::new(CoupledSines, dims).unwrap();
            let mut plain = Plain::<CoupledSines, f64>::start(&problem, particles).unwrap();
            let checked = look(&mut plain, &problem, &cpu, "a swarm").unwrap();
            assert!(checked == Check::Equal || dims > 32, "{checked:?}");
        }
    }

    fn sums<T: Number>() {
        let (columns, rows, particles) = (3_u32, 1_000, 9);
        let value = |i: usize| T::nearest(((i * 37) % 101) as f64 / 50.0 - 1.0);
        let numbers: Vec<T> = (0..rows * 4).map(value).collect();
        let positions: Vec<T> = (0..particles * 3).map(|i| value(7 * i)).collect();
        let square = |row: &[T], position: &[T]| {
            let at = |x: &T| Scalar::to_f64(*x);
            let predicted: f64 = row.iter().zip(position).map(|(x, p)| at(x) * at(p)).sum();
            (at(&row[3]) - predicted).powi(2)
        };
        let sum = |position: &[T]| -> f64 {
            numbers.chunks_exact(4).map(|row| square(row, position)).sum()
        };
        let expected: Vec<f64> = positions.chunks_exact(3).map(sum).collect();
        let machine = Emulated::new(4, 32).machine();
        let given = ("some rows", columns);
        let patience = Patience::ONCE;
        let all = kernels::squares(&machine, given, &numbers, &positions, &expected, patience);
        let all = all.unwrap();
        let names = all.map(|all| all.into_iter().map(|m| m.kernel).collect::<Vec<_>>());
        assert_eq!(names, [TABLES_6_TO_8_KERNELS; 2]);
        let cached = seconds(&TABLE_9_KERNELS, &TABLE_9, "BLOCK_2, cached").unwrap();
        assert!((cached - 0.058_157).abs() < 1e-12);
        assert_eq!(TABLE_5[4].0, sized(131_072, 256));
        let plain = reference::squares(3, &numbers, &positions);
        summed("CPU", "some rows", (rows, columns), &plain, &expected).unwrap();
        // Another target, and it is seen.
        let mut other = numbers.clone();
        other[3] = other[3] + T::nearest(1.0);
        let wrong = kernels::squares(&machine, given, &other, &positions, &expected, patience);
        assert!(wrong.is_err_and(|error| error.to_string().contains("hosala THREAD")));
    }

    #[test]
    fn every_kernel_finds_the_sums_within_the_error_of_plain_ones() {
        sums::<f32>();
        sums::<f64>();
    }

    #[test]
    fn a_brief_measurement_on_the_cpu_reports_rows_of_its_tables() {
        let cpu = AnyBackend::cpu(0, "a test").unwrap();
        let request = Request { effort: super::super::Effort::Brief, tables: &[] };
        let (mut rows, mut notes) = (Vec::new(), 0);
        let mut tell = |report| {
            match report {
                Report::Row(row) => rows.push(row),
                Report::Note(_) => notes += 1,
                Report::Progress(_) => {}
            }
            Ok(())
        };
        measure(&request, &cpu, &mut tell).unwrap();
        assert_eq!(notes, 1);
        let of = |table: &Table| rows.iter().filter(|row| row.table == table.name).count();
        assert_eq!([of(&SUMS), of(&GRAPHS), rows.len()], [1, 5, 6]);
        assert!(rows.iter().all(|row| row.ours.is_some() && row.published.is_none()));
    }
}
