//! Hosala's thesis: particle swarms that calibrate models, on GPUs of the Fermi and Kepler generations.
//!
//! Sizes and figures are those of its tables 3 and 5 to 9. Its graphs show curves without numbers, so that their rows
//! have the sizes alone.

#[cfg(any(feature = "cuda", test))]
mod kernels;
mod reference;

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use flockwork_device::{
    lineage::hosala::layouts::Sum,
    objective::{CoupledSines, SumOfSines},
};
use reference::Plain;

use super::{Check, Ours, Report, Request, Row, Table, Tell, Work, wrong_kernel};
use crate::{
    Error, Result,
    backend::{AnyBackend, Backend, Cpu, Number, Plan, Spread},
    bench::{Care, FITS, FitCase, iteration_of},
    fit::{Data, Fit, Linear, synthetic},
    swarm::{Options, Precision, Problem, Rule},
};

const REDUCTIONS: Table = Table {
    name: "table 3",
    caption: "the best of so many particles, found by blocks of 256 threads (sizes chosen here)",
    gpu: None,
    unit: "all launches that it takes",
};

const RANDOM: Table = Table {
    name: "table 4",
    caption: "two random numbers for each particle and dimension, particles x dimensions, f32 (sizes chosen here)",
    gpu: None,
    unit: "an iteration's numbers",
};

const LAYOUTS: Table = Table {
    name: "table 5",
    caption: "who moves and evaluates a particle, sum of sines, particles x dimensions (sizes chosen here)",
    gpu: None,
    unit: "an iteration",
};

const SUMS: Table = Table {
    name: "tables 6 to 8",
    caption: "sums of squares of a linear model, rows, parameters x particles; published is an iteration by the \
              best kernel, ours an iteration, the others the sums alone",
    gpu: Some("GTX 660 Ti: f5, K20: f10"),
    unit: "the sums, or an iteration",
};

const LOADS: Table = Table {
    name: "table 9",
    caption: "the same with loads through the read-only cache and without",
    gpu: None,
    unit: "the sums",
};

const GRAPHS: Table = Table {
    name: "graphs 1 to 8",
    caption: "the CPU's threads and the GPU, f64, particles x dimensions (sizes chosen here; of f5 to f10 the \
              CPU's rows are in tables 6 to 8)",
    gpu: None,
    unit: "an iteration",
};

pub(super) const WORK: Work = Work {
    name: "hosala",
    title: "Hosala: particle swarms on GPUs for calibration",
    source: "Hosala, thesis, Charles University, Prague, 2014 (its text was not at hand)",
    tables: &[REDUCTIONS, RANDOM, LAYOUTS, SUMS, LOADS, GRAPHS],
    measure,
};

/// Particles by dimensions.
#[derive(Clone, Copy, Debug)]
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
    fn report(self, table: &Table, size: &str, ours: Option<Ours>) -> Report {
        Report::Row(self.row(table, size, ours))
    }

    fn row(self, table: &Table, size: &str, ours: Option<Ours>) -> Row {
        let Self { kernel, times, checked } = self;
        Row { ours, ..Row::new(&WORK, table, size, kernel, times, checked) }
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

/// Tables 6 to 9.
fn fits(request: &Request<'_>, backend: &AnyBackend, tell: Tell<'_>) -> Result<()> {
    if !request.wants(&SUMS) && !request.wants(&LOADS) {
        return Ok(());
    }
    let brief = |case: &FitCase| FitCase { rows: 3_000 + case.rows % 97, published: None, ..*case };
    let mut loads = Vec::new();
    for case in FITS {
        let case = if request.is_published() { *case } else { brief(case) };
        let FitCase { dims, rows, particles, .. } = case;
        tell(Report::Progress(format!("{}, {rows} rows, {particles} particles", case.name)))?;
        let fit = Fit::new(Linear, Data::from_table(&synthetic(dims, rows, 1)?)?)?;
        // Somewhere near the best fit, each a little further.
        let place = |index: u32| 1.0 + f64::from(index % 97) / 64.0;
        let positions: Vec<f64> = (0..particles * dims).map(place).collect();
        let numbers = f64::setup_of(&fit)?.numbers;
        let expected = reference::squares(dims as usize, &numbers, &positions);
        let wanted = [request.wants(&SUMS), request.wants(&LOADS)];
        let of_fit = OfFit { case, fit: &fit, positions, expected, wanted };
        if wanted[0] {
            of_fit.on_the_cpu(&numbers, &backend.cpu()?, tell)?;
        }
        #[cfg(feature = "cuda")]
        if let AnyBackend::Cuda(cuda, _) = backend {
            of_fit.on_a_gpu::<f32>(cuda, &mut loads, tell)?;
            of_fit.on_a_gpu::<f64>(cuda, &mut loads, tell)?;
        }
    }
    loads.drain(..).try_for_each(tell)
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
    case: FitCase,
    fit: &'a Fit,
    positions: Vec<f64>,
    expected: Vec<f64>,
    /// Tables 6 to 8, and table 9.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "table 9 is for GPUs"))]
    wanted: [bool; 2],
}

impl OfFit<'_> {
    fn size(&self, of: &str) -> String {
        let FitCase { name, dims, rows, particles, .. } = self.case;
        let name = name.split('<').next().unwrap_or(name);
        format!("{name}: {rows}, {dims} x {particles}, {of}")
    }

    /// Reports the plain form on the CPU's threads.
    fn on_the_cpu(&self, numbers: &[f64], cpu: &Cpu, tell: Tell<'_>) -> Result<()> {
        /// With so many particles, it would take minutes on few threads, and show nothing new.
        const TOO_MANY: u32 = 1_000;

        let Self { case: FitCase { dims, rows, particles, .. }, fit, positions, .. } = self;
        if *particles >= TOO_MANY {
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
        tell(plain.report(&SUMS, &size, Some(ours)))
    }

    /// Reports rows of tables 6 to 8, and leaves those of table 9.
    #[cfg(feature = "cuda")]
    fn on_a_gpu<T: Number>(
        &self,
        cuda: &crate::backend::Cuda,
        loads: &mut Vec<Report>,
        tell: Tell<'_>,
    ) -> Result<()> {
        use crate::backend::lineage::hosala::Patience;

        let Self { case, fit, expected, wanted, .. } = self;
        let FitCase { dims, particles, published, .. } = *case;
        let size = self.size(T::NAME);
        let positions: Vec<T> = self.positions.iter().map(|&place| T::nearest(place)).collect();
        let numbers = T::setup_of(fit)?.numbers;
        let machine = cuda.machine()?;
        let given = (&*size, dims);
        let [cached, plain] =
            kernels::squares(&machine, given, &numbers, &positions, expected, Patience::USUAL)?;
        drop(machine);
        let ours = ours(&fit.problem()?, particles, T::PRECISION, cuda)?;
        if wanted[1] {
            for (cached, plain) in cached.iter().zip(plain) {
                let (with, without) = by_loads(plain.kernel);
                let cached = Measured { kernel: with, ..cached.clone() };
                loads.push(cached.report(&LOADS, &size, Some(ours)));
                let plain = Measured { kernel: without, ..plain };
                loads.push(plain.report(&LOADS, &size, Some(ours)));
            }
        }
        if !wanted[0] {
            return Ok(());
        }
        let best = cached.iter().min_by(|a, b| a.times.median.total_cmp(&b.times.median)).cloned();
        cached.into_iter().try_for_each(|kernel| tell(kernel.report(&SUMS, &size, Some(ours))))?;
        let published = published.filter(|_| T::PRECISION == Precision::F64);
        if let (Some((us, _)), Some(best)) = (published, best) {
            let best = Measured { kernel: "the best of them", ..best };
            let published = Some(f64::from(us) / 1e6);
            tell(Report::Row(Row { published, ..best.row(&SUMS, &size, Some(ours)) }))?;
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
    let looked_at = if problem.function().as_fit().is_some() { 1 } else { 12 };
    let care = Care { looked_at, at_least: Duration::from_millis(40) };
    let options = Options { particles, precision, ..Options::for_rule(Rule::Inertia) };
    let measured = iteration_of(problem, &options, None, backend, care)?;
    Ok(Ours { way: measured.way.name(), seconds: measured.seconds })
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

/// Graphs 1 to 8.
fn graphs(request: &Request<'_>, backend: &AnyBackend, tell: Tell<'_>) -> Result<()> {
    if !request.wants(&GRAPHS) {
        return Ok(());
    }
    let sizes: &[Sized] = match request.is_published() {
        true => &[sized(64, 32), sized(1_024, 32), sized(16_384, 32), sized(131_072, 32)],
        false => &[sized(70, 9)],
    };
    for &size in sizes {
        graph::<SumOfSines>(size, "f1", backend, tell)?;
    }
    for &size in sizes {
        graph::<CoupledSines>(size, "f2", backend, tell)?;
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
    look(&mut plain, &problem, &cpu, &size)?;
    let measured = on_cpu(&cpu, "CPU", || plain.iterate())?;
    let ours_on_cpu = ours(&problem, particles, Precision::F64, &cpu)?;
    tell(measured.report(&GRAPHS, &format!("{size} on the CPU"), Some(ours_on_cpu)))?;
    #[cfg(feature = "cuda")]
    if let AnyBackend::Cuda(cuda, _) = backend {
        on_gpu::layouts::<O, f64>(&GRAPHS, &size, &problem, particles, cuda, tell)?;
    }
    Ok(())
}

/// Whether the plain swarm has the best that this project's has after some iterations: up to 32 terms are summed
/// from the first to the last by both.
fn look<O: Sum>(plain: &mut Plain<O, f64>, problem: &Problem, cpu: &Cpu, size: &str) -> Result<()> {
    const LOOKED_AT: u32 = 12;

    let particles = plain.particles.len() as u32;
    let plan = Plan::<f64>::new(problem, &reference::options(particles, Precision::F64))?;
    let mut swarm = cpu.swarm(problem.function(), plan)?;
    swarm.start(None)?;
    swarm.advance(LOOKED_AT)?;
    let best = swarm.best()?;
    (0..LOOKED_AT).for_each(|_| plain.iterate());
    let found = plain.particles[plain.best as usize].best_fitness;
    if (found, plain.best, &plain.guide) == (best.value, best.particle, &best.position) {
        return Ok(());
    }
    let says = |value: f64, particle: u32| format!("{value} of particle {particle}");
    Err(wrong("CPU", size, says(found, plain.best), says(best.value, best.particle)))
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
            let sizes: &[u32] =
                if published { &[1_024, 16_384, 131_072, 1_048_576] } else { &[1_000, 5_000] };
            for &candidates in sizes {
                best::<f32>(candidates, cuda, tell)?;
            }
            for &candidates in sizes {
                best::<f64>(candidates, cuda, tell)?;
            }
        }
        if request.wants(&RANDOM) {
            let sizes: &[Sized] = match published {
                true => &[sized(2_048, 16), sized(65_536, 32), sized(1_048_576, 16)],
                false => &[sized(300, 5)],
            };
            for &size in sizes {
                let Sized { particles, dims } = size;
                let name = format!("{particles} x {dims}");
                tell(Report::Progress(format!("{}, {name}", RANDOM.name)))?;
                let (kernels, ours) = kernels::random(&cuda.machine()?, size, Patience::USUAL)?;
                let ours = Some(Ours { way: ours.kernel, seconds: ours.times.median });
                kernels
                    .into_iter()
                    .try_for_each(|kernel| tell(kernel.report(&RANDOM, &name, ours)))?;
            }
        }
        if request.wants(&LAYOUTS) {
            let doubles: &[Sized] = match published {
                true => &[
                    sized(64, 1_024),
                    sized(1_024, 128),
                    sized(16_384, 32),
                    sized(131_072, 32),
                    sized(131_072, 128),
                ],
                false => &[sized(70, 40)],
            };
            let singles: &[Sized] = match published {
                true => &[sized(1_024, 128), sized(131_072, 32)],
                false => &[sized(70, 9)],
            };
            for &size in doubles {
                layout::<f64>(size, cuda, tell)?;
            }
            for &size in singles {
                layout::<f32>(size, cuda, tell)?;
            }
        }
        Ok(())
    }

    fn best<T: Number>(candidates: u32, cuda: &Cuda, tell: Tell<'_>) -> Result<()> {
        let size = format!("{candidates}, {}", T::PRECISION);
        tell(Report::Progress(format!("{}, {size}", REDUCTIONS.name)))?;
        let (kernels, ours) = kernels::best::<_, T>(&cuda.machine()?, candidates, Patience::USUAL)?;
        let ours = Some(Ours { way: ours.kernel, seconds: ours.times.median });
        kernels.into_iter().try_for_each(|kernel| tell(kernel.report(&REDUCTIONS, &size, ours)))
    }

    fn layout<T: Number>(size: Sized, cuda: &Cuda, tell: Tell<'_>) -> Result<()> {
        let Sized { particles, dims } = size;
        let problem = Problem::new(SumOfSines, dims)?;
        let size = format!("{particles} x {dims}, {}", T::PRECISION);
        tell(Report::Progress(format!("{}, {size}", LAYOUTS.name)))?;
        layouts::<SumOfSines, T>(&LAYOUTS, &size, &problem, particles, cuda, tell)
    }

    /// An iteration in each layout.
    pub(super) fn layouts<O: Sum, T: Number>(
        table: &Table,
        size: &str,
        problem: &Problem,
        particles: u32,
        cuda: &Cuda,
        tell: Tell<'_>,
    ) -> Result<()> {
        let machine = cuda.machine()?;
        let kernels =
            kernels::iterations::<_, O, T>(&machine, problem, particles, Patience::USUAL)?;
        drop(machine);
        let ours = ours(problem, particles, T::PRECISION, cuda)?;
        kernels.into_iter().try_for_each(|kernel| tell(kernel.report(table, size, Some(ours))))
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
            assert_eq!(published.map(|m| m.kernel), ["SHARED", "VOL", "SHFL"]);
            assert_eq!(ours.checked, Check::Equal);
            kernels::best::<_, f64>(&machine, candidates, Patience::ONCE).unwrap();
        }
    }

    #[test]
    fn a_state_draws_the_same_in_memory_and_in_registers() {
        for size in [sized(1, 1), sized(300, 5), sized(256, 8)] {
            let machine = Emulated::new(9, 32).machine();
            kernels::random(&machine, size, Patience::ONCE).unwrap();
        }
    }

    fn layouts<O: Sum, T: Number>(particles: u32, dims: u32, seed: u64) -> Vec<Check> {
        let problem = Problem::new(O::Objective::default(), dims).unwrap();
        let machine = Emulated::new(seed, 32).machine();
        let all = kernels::iterations::<_, O, T>(&machine, &problem, particles, Patience::ONCE);
        let all = all.unwrap();
        assert_eq!([0, 1, 2].map(|nth| all[nth].kernel), ["THREAD", "BLOCK", "MOD"]);
        all.into_iter().map(|measured| measured.checked).collect()
    }

    #[test]
    fn every_layout_moves_particles_alike() {
        for (particles, dims) in [(1, 2), (33, 7), (40, 70)] {
            let checks = [
                layouts::<SumOfSines, f32>(particles, dims, 1),
                layouts::<SumOfSines, f64>(particles, dims, 2),
                layouts::<CoupledSines, f64>(particles, dims, 3),
            ];
            assert!(checks.iter().all(|checks| checks[0] == Check::Equal), "{checks:?}");
        }
    }

    #[test]
    fn the_plain_form_is_the_project_s_swarm() {
        let cpu = Cpu::new(2).unwrap();
        for (particles, dims) in [(5, 2), (70, 9), (64, 32)] {
            let problem = Problem::new(CoupledSines, dims).unwrap();
            let mut plain = Plain::<CoupledSines, f64>::start(&problem, particles).unwrap();
            look(&mut plain, &problem, &cpu, "a swarm").unwrap();
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
        assert_eq!(names, [["THREAD", "WARP_2", "BLOCK_2"]; 2]);
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
        assert_eq!([of(&SUMS), of(&GRAPHS), rows.len()], [3, 2, 5]);
        assert!(rows.iter().all(|row| row.ours.is_some() && row.published.is_none()));
    }
}
