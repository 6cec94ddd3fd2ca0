//! Tests that need a GPU. Without one they are listed as ignored, and the reason is printed.

#[cfg(feature = "cuda")]
mod common;

#[cfg(not(feature = "cuda"))]
fn main() {
    println!("GPU tests: none, since this build has no GPU support (feature `cuda`)");
}

#[cfg(feature = "cuda")]
fn main() -> std::process::ExitCode {
    gpu::main()
}

#[cfg(feature = "cuda")]
mod gpu {
    use std::{ops::ControlFlow, process::ExitCode, time::Duration};

    use flockwork::{
        Error,
        backend::{Backend, Cooperation, Cuda, Number, Plan, Strategy},
        cuda::{CudaError, live_allocations},
        fit::{self, MODELS},
        objective::{Ackley, Context, Info, Objective, Point, Rastrigin, Rosenbrock, Sphere},
        paths::{Graph, Length, PathOptions},
        registry::OBJECTIVES,
        swarm::{
            Checkpoint, Coefficients, Method, Options, Outcome, Polish, Precision, Preset, Problem,
            Progress, Restart, Rule, Search, Start, Stop, Variation, minimize, minimize_many,
        },
    };
    use libtest_mimic::{Arguments, Failed, Trial};

    use super::common::asynchronous::{keeps_its_promises, options};
    use super::common::fits::{
        Case as FitCase, cases, fit as fit_of, same_fit, same_fits, same_named, same_swarm,
    };
    use super::common::paths::{Kind, random, same_in_all, same_with, undirected};
    use super::common::{Case, Variant, cpu, same_bits, same_bits_of, variants};

    pub fn main() -> ExitCode {
        let mut arguments = Arguments::from_args();
        // Some tests count allocations on the device.
        arguments.test_threads = Some(1);
        // A machine without a GPU is no failure; a GPU that cannot be opened is.
        let unavailable = match Cuda::open(0) {
            Ok(gpu) => {
                println!("GPU tests: {} on {}", trials().len(), gpu.description());
                None
            }
            Err(Error::Cuda(why @ (CudaError::NoLibrary { .. } | CudaError::NoDevice))) => {
                println!("GPU tests: {} skipped: {why}", trials().len());
                Some(why)
            }
            Err(why) => {
                println!("GPU tests: there is a driver, but no GPU can be opened: {why}");
                return ExitCode::FAILURE;
            }
        };
        let trials: Vec<Trial> = trials()
            .into_iter()
            .map(|trial| trial.with_ignored_flag(unavailable.is_some()))
            .collect();
        if unavailable.is_some() && (arguments.ignored || arguments.include_ignored) {
            println!("GPU tests: there is nothing to run them on");
            return ExitCode::FAILURE;
        }
        libtest_mimic::run(&arguments, trials).exit_code()
    }

    fn trials() -> Vec<Trial> {
        let mut trials = Vec::new();
        let sizes = [
            Case { particles: 1, dims: 1, looks: &[1, 10, 1000] },
            Case { particles: 33, dims: 7, looks: &[1, 10, 1000] },
            Case { particles: 1000, dims: 129, looks: &[1, 10, 1000] },
            Case { particles: 70_001, dims: 3, looks: &[1, 10, 100] },
        ];
        for info in OBJECTIVES {
            for case in sizes {
                let Case { particles, dims, .. } = case;
                // All pairs of 43 atoms, or 70 rows, for this many particles take the CPU too long.
                let slow = info.name == "lennard_jones" && particles == 1000;
                let case = if slow { Case { looks: &[1, 10], ..case } } else { case };
                trials.push(Trial::test(
                    format!("same_bits_as_cpu::{}_{particles}x{dims}", info.name),
                    move || Ok(same_bits(info.name, case, &cpu(), &Cuda::open(0)?)?),
                ));
                trials.push(Trial::test(
                    format!("same_bits_streaming::{}_{particles}x{dims}", info.name),
                    move || {
                        let gpu = Cuda::open(0)?.with_strategy(Strategy::Streaming);
                        Ok(same_bits(info.name, case, &cpu(), &gpu)?)
                    },
                ));
            }
        }
        for info in OBJECTIVES {
            for cooperation in
                [Cooperation::Thread, Cooperation::Mod, Cooperation::Warp, Cooperation::Block]
            {
                let name = format!("same_bits_with_{cooperation}_a_particle::{}", info.name);
                trials.push(Trial::test(name, move || {
                    let gpu = Cuda::open(0)?.with_cooperation(cooperation);
                    for case in [
                        Case { particles: 70, dims: 65, looks: &[1, 300] },
                        Case { particles: 9, dims: 256, looks: &[1, 100] },
                        Case { particles: 3001, dims: 40, looks: &[1, 20] },
                    ] {
                        // All pairs of 85 atoms take the CPU too long, and 32 particles in 256
                        // dimensions too much memory.
                        let slow = info.name == "lennard_jones" && case.particles != 70;
                        if !slow && (cooperation != Cooperation::Mod || case.dims != 256) {
                            same_bits(info.name, case, &cpu(), &gpu)?;
                        }
                    }
                    Ok(())
                }));
            }
        }
        for threads in [32, 64, 128, 256, 512] {
            trials.push(Trial::test(format!("same_bits_in_blocks_of_{threads}"), move || {
                let case = Case { particles: 3001, dims: 33, looks: &[1, 50] };
                let gpu = Cuda::open(0)?.with_block_threads(threads);
                for objective in ["rastrigin", "ackley"] {
                    same_bits(objective, case, &cpu(), &gpu)?;
                }
                Ok(())
            }));
        }
        // Enough that a thread has several particles, in few enough dimensions for registers.
        for dims in 1..=3 {
            trials.push(Trial::test(format!("same_bits_in_few_dimensions_{dims}"), move || {
                let case = Case { particles: 300_001, dims, looks: &[1, 12] };
                for objective in ["rastrigin", "ackley", "sphere"] {
                    same_bits(objective, case, &cpu(), &Cuda::open(0)?)?;
                }
                Ok(())
            }));
        }
        for info in OBJECTIVES {
            trials.push(Trial::test(format!("same_bits_in_tiers::{}", info.name), move || {
                let gpu = Cuda::open(0)?.with_strategy(Strategy::Tiered);
                let few = Case { particles: 400_001, dims: 9, looks: &[1, 12] };
                same_bits(info.name, few, &cpu(), &gpu)?;
                // All pairs of 43 atoms, or 70 rows, for this many particles take the CPU too long.
                if !matches!(info.name, "lennard_jones" | "calibration") {
                    let many = Case { particles: 40_001, dims: 129, looks: &[1, 12] };
                    same_bits(info.name, many, &cpu(), &gpu)?;
                }
                Ok(())
            }));
        }
        for info in OBJECTIVES {
            trials.push(Trial::test(format!("same_bits_in_turns::{}", info.name), move || {
                let gpu = Cuda::open(0)?.with_cooperation(Cooperation::Thread);
                // A single warp, which takes the only turn: with the last two because more do not fit, in f64, and in f32.
                for (nth, dims) in [6, 21, 48, 132, 351, 702].into_iter().enumerate() {
                    let apart = Variant { apart: true, uneven: nth % 2 == 1, ..Variant::usual() };
                    let case = Case { particles: 31, dims, looks: &[1, 12] };
                    same_bits_of(&apart, info.name, case, &cpu(), &gpu)?;
                }
                Ok(())
            }));
        }
        for info in OBJECTIVES {
            trials.push(Trial::test(
                format!("same_bits_by_four_threads::{}", info.name),
                move || {
                    let gpu = Cuda::open(0)?.with_strategy(Strategy::Streaming);
                    // More rounds than one, forth and back, and fewer particles than threads.
                    for (particles, dims, uneven) in
                        [(150_001, 37, false), (3_001, 64, true), (517, 300, false), (1, 46, false)]
                    {
                        // All pairs of atoms, or rows, for this many particles take the CPU too
                        // long.
                        let slow = matches!(info.name, "lennard_jones" | "calibration");
                        let particles = if slow { particles.min(517) } else { particles };
                        let variant = Variant { uneven, ..Variant::usual() };
                        let case = Case { particles, dims, looks: &[1, 2, 11] };
                        same_bits_of(&variant, info.name, case, &cpu(), &gpu)?;
                    }
                    Ok(())
                },
            ));
        }
        // With one warp, with three, and with many.
        for threads in [32, 96, 192, 512] {
            let name = format!("same_bits_streaming_in_blocks_of_{threads}");
            trials.push(Trial::test(name, move || {
                let gpu = Cuda::open(0)?.with_strategy(Strategy::Streaming);
                let gpu = gpu.with_block_threads(threads);
                for (objective, particles) in
                    [("rastrigin", 3001), ("ackley", 3008), ("rosenbrock", 3009)]
                {
                    for dims in [33, 67] {
                        let case = Case { particles, dims, looks: &[1, 50] };
                        same_bits(objective, case, &cpu(), &gpu)?;
                    }
                }
                Ok(())
            }));
        }
        for (nth, variant) in variants().into_iter().enumerate() {
            let objective = ["rosenbrock", "lennard_jones", "rastrigin"][nth % 3];
            let name = format!("same_bits_by_{}_33x7", variant.name.replace([' ', ':', '-'], "_"));
            trials.push(Trial::test(name, move || {
                let gpu = Cuda::open(0)?;
                for case in [
                    Case { particles: 33, dims: 7, looks: &[1, 10, 300] },
                    Case { particles: 2000, dims: 21, looks: &[1, 20] },
                ] {
                    same_bits_of(&variant, objective, case, &cpu(), &gpu)?;
                }
                Ok(())
            }));
        }
        trials.extend(whole_runs());
        for (n, degree) in
            [(1, 1.0), (64, 9.0), (129, 3.0), (1000, 4.0), (1000, 1000.0), (2500, 6.0)]
        {
            for kind in [Kind::Real, Kind::Whole, Kind::Ties, Kind::Signed] {
                let what = format!("same_paths_as_cpu::{kind:?}_{n}_vertices_degree_{degree}");
                trials.push(Trial::test(what.to_lowercase(), move || {
                    let graph = random(n, degree, kind, n as u64);
                    for strategy in [Strategy::Streaming, Strategy::Resident] {
                        let gpu = Cuda::open(0)?.with_strategy(strategy);
                        same_in_all(&graph, kind, &gpu, &what)?;
                    }
                    Ok(())
                }));
            }
        }
        trials.extend(undirected_paths());
        trials.extend(streamed_paths());
        trials.push(Trial::test("paths_leave_no_allocation", paths_no_leak));
        trials.push(Trial::test("paths_in_too_little_memory_get_a_sentence", paths_too_large));
        trials.extend(fits());
        trials.push(Trial::test("a_run_leaves_no_allocation", no_leak));
        trials.push(Trial::test("a_swarm_too_large_gets_a_sentence", too_large));
        trials.push(Trial::test("an_unregistered_function_gets_a_sentence", unregistered));
        trials.push(Trial::test("a_run_finds_the_minimum", finds_the_minimum));
        trials.extend(asynchronous());
        trials
    }

    /// Symmetric graphs, with half the work.
    fn undirected_paths() -> Vec<Trial> {
        let sizes = [1, 63, 64, 65, 127, 128, 129, 191, 192, 193, 255, 256, 257, 1000, 2500];
        let mut trials = Vec::new();
        for n in sizes {
            for kind in [Kind::Real, Kind::Whole, Kind::Ties] {
                let what = format!("same_paths_as_cpu::undirected_{kind:?}_{n}_vertices");
                trials.push(Trial::test(what.to_lowercase(), move || {
                    let graph = undirected(n, 5.0, kind, n as u64);
                    let gpu = Cuda::open(0)?.with_strategy(Strategy::Streaming);
                    Ok(same_in_all(&graph, kind, &gpu, &what)?)
                }));
            }
        }
        trials
    }

    /// With a share of the memory that the distances alone need, so that the matrix passes through
    /// in strips: as large as possible, or of 128 rows.
    fn streamed_paths() -> Vec<Trial> {
        fn streamed<W: Length + PartialEq>(graph: &Graph, share: f64) -> Result<(), Failed> {
            for paths in [false, true] {
                let options = PathOptions { paths };
                let gpu = Cuda::open(0)?;
                let least = match graph.distances::<W>(&gpu.clone().with_memory(1), options) {
                    Err(Error::GpuMemory { needed, .. }) => needed as u64,
                    other => return Err(format!("computed in a byte: {:?}", other.err()).into()),
                };
                let whole = (graph.vertices() as f64).powi(2) * size_of::<W>() as f64;
                let memory = least.max((share * whole) as u64);
                let what = format!("{} vertices in {memory} bytes", graph.vertices());
                same_with::<W>(graph, &gpu.with_memory(memory), options, &what)?;
            }
            Ok(())
        }
        let mut trials = Vec::new();
        for n in [300, 1000, 1025, 3000] {
            for share in [0.0, 0.3, 0.7] {
                let name = format!("same_paths_in_little_memory::{n}_vertices_share_{share}");
                trials.push(Trial::test(name, move || {
                    let seed = n as u64;
                    streamed::<f32>(&random(n, 6.0, Kind::Ties, seed), share)?;
                    streamed::<f32>(&undirected(n, 6.0, Kind::Ties, seed), share)?;
                    streamed::<i32>(&random(n, 6.0, Kind::Signed, seed), share)?;
                    // Weights below 4: every distance fits in u16.
                    streamed::<u16>(&random(n, 6.0, Kind::Ties, seed), share)?;
                    streamed::<u16>(&undirected(n, 6.0, Kind::Ties, seed), share)?;
                    streamed::<f64>(&random(n, 6.0, Kind::Real, seed), share)?;
                    streamed::<f64>(&undirected(n, 6.0, Kind::Real, seed), share)
                }));
            }
        }
        // Larger than a CPU can compute in a trial: compared with the GPU itself with all of its
        // memory.
        trials.push(Trial::test("same_distances_in_little_memory::20000_vertices", || {
            let gpu = Cuda::open(0)?;
            for graph in
                [random(20_000, 9.0, Kind::Real, 1), undirected(20_000, 9.0, Kind::Real, 2)]
            {
                let whole = graph.distances::<f32>(&gpu, PathOptions::default())?;
                let small = gpu.clone().with_memory(800 << 20);
                let strips = graph.distances::<f32>(&small, PathOptions::default())?;
                if whole.matrix() != strips.matrix() {
                    return Err("other distances".into());
                }
            }
            Ok(())
        }));
        trials
    }

    fn paths_no_leak() -> Result<(), Failed> {
        let graph = random(1000, 5.0, Kind::Ties, 1);
        let before = live_allocations();
        for memory in [u64::MAX, 5 << 20] {
            let gpu = Cuda::open(0)?.with_memory(memory);
            graph.distances::<f32>(&gpu, PathOptions { paths: false })?;
            let stop = |_, _| ControlFlow::Break(());
            let ended = graph.distances_while::<f32>(&gpu, PathOptions { paths: false }, stop);
            // A matrix that fits is done before the first check.
            if ended.is_ok() != (memory == u64::MAX) {
                return Err(format!("ended: {:?}", ended.err()).into());
            }
        }
        let after = live_allocations();
        if before == after { Ok(()) } else { Err(format!("{before:?}, then {after:?}").into()) }
    }

    fn paths_too_large() -> Result<(), Failed> {
        let graph = random(1000, 5.0, Kind::Ties, 1);
        let gpu = Cuda::open(0)?.with_memory(1 << 20);
        match graph.distances::<f32>(&gpu, PathOptions::default()) {
            Err(Error::GpuMemory { needed, available: 0x10_0000 }) if needed > 0x10_0000 => Ok(()),
            other => Err(format!("{:?}", other.map(|distances| distances.vertices())).into()),
        }
    }

    /// Fits: every model, and linear models in every placement of particles in a warp.
    fn fits() -> Vec<Trial> {
        let mut trials = Vec::new();
        for info in MODELS {
            trials.push(Trial::test(format!("same_fits_as_cpu::{}", info.name), move || {
                let gpu = Cuda::open(0)?;
                for case in cases() {
                    same_named(info.name, &case, &gpu)?;
                }
                // Many chunks, and several blocks for each.
                for precision in [Precision::F32, Precision::F64] {
                    let loss = fit::Loss::Huber;
                    let case =
                        FitCase { precision, loss, weighted: true, ..FitCase::of(9_001, 130) };
                    same_named(info.name, &case, &gpu)?;
                    same_named(info.name, &FitCase { precision, ..FitCase::of(5_000, 64) }, &gpu)?;
                }
                Ok(())
            }));
        }
        // Few chunks and many, for each number of columns.
        for (columns, rows, particles) in [
            (8, 131_072, 64),
            (8, 700_001, 64),
            (8, 300_000, 128),
            (4, 131_073, 33),
            (4, 1_200_000, 64),
            (4, 300_257, 256),
            (16, 100_000, 130),
            (16, 300_001, 128),
            (3, 600_000, 500),
            (20, 50_001, 100),
            (4, 6_980_011, 64),
        ] {
            for precision in [Precision::F32, Precision::F64] {
                let name =
                    format!("same_fits_as_cpu::linear_{columns}_{rows}x{particles}_{precision}");
                trials.push(Trial::test(name, move || {
                    let gpu = Cuda::open(0)?;
                    for weighted in [false, true] {
                        let case = FitCase {
                            precision,
                            columns,
                            weighted,
                            ..FitCase::of(rows, particles)
                        };
                        same_swarm(fit::Linear, &case, &gpu)?;
                    }
                    Ok(())
                }));
            }
        }
        trials.push(Trial::test("same_fits_as_cpu::whole", || {
            let gpu = Cuda::open(0)?;
            for precision in [Precision::F32, Precision::F64] {
                let case = FitCase { precision, ..FitCase::of(700, 256) };
                same_fit(fit::Logistic, &case, &gpu)?;
                same_fit(fit::Gaussians, &FitCase { weighted: true, ..case }, &gpu)?;
                same_fit(fit::Linear, &FitCase { columns: 8, ..case }, &gpu)?;
                same_fits(fit::Linear, &FitCase { columns: 8, ..case }, &gpu)?;
            }
            Ok(())
        }));
        trials.push(Trial::test("rows_stay_on_the_gpu_until_the_data_go", rows_stay));
        trials
    }

    fn rows_stay() -> Result<(), Failed> {
        let before = live_allocations();
        let fit = fit_of("linear", &FitCase { columns: 4, ..FitCase::of(10_000, 64) });
        let (gpu, watch) = (Cuda::open(0)?, |_: &Progress| ControlFlow::Continue(()));
        fit.run_on(&gpu, watch)?;
        let kept = live_allocations();
        // Five columns of 40 chunks.
        let bytes = 5 * 40 * 256 * size_of::<f64>() as u64;
        if (kept.count, kept.bytes) != (before.count + 1, before.bytes + bytes) {
            return Err(format!("{kept:?} after {before:?}, and not one of {bytes} bytes").into());
        }
        // A clone shares the data.
        fit.clone().with(|options| options.seed = 9).run_on(&gpu, watch)?;
        if live_allocations() != kept {
            return Err(format!("{:?} after {kept:?}", live_allocations()).into());
        }
        drop(fit);
        if live_allocations() != before {
            return Err(format!("{:?} left of {before:?}", live_allocations()).into());
        }
        Ok(())
    }

    /// Asynchronous swarms under stress: many blocks, few dimensions, bests that improve all the
    /// time.
    fn asynchronous() -> Vec<Trial> {
        fn stress<O: Objective, T: Number>(
            objective: O,
            dims: u32,
            particles: u32,
            threads: u32,
        ) -> Result<(), Failed> {
            let gpu = Cuda::open(0)?.with_block_threads(threads);
            // Checks often while much is published, then lets it run.
            let advances: Vec<u32> = [1; 40].into_iter().chain([8; 20]).chain([150; 12]).collect();
            for seed in 1..=10 {
                let options = options(particles, seed);
                keeps_its_promises::<O, T>(objective, dims, &options, &gpu, &advances)?;
            }
            let options = options(particles, 11);
            Ok(keeps_its_promises::<O, T>(objective, dims, &options, &gpu, &[20_000])?)
        }
        let mut trials = Vec::new();
        for (dims, particles) in [(1, 20_000), (2, 50_001), (3, 4096), (40, 3000)] {
            for threads in [32, 128, 256] {
                let name = format!("asynchronous_stress_{particles}x{dims}_blocks_of_{threads}");
                trials.push(Trial::test(format!("{name}_f32"), move || {
                    stress::<_, f32>(Sphere, dims, particles, threads)
                }));
                trials.push(Trial::test(format!("{name}_f64"), move || {
                    stress::<_, f64>(Ackley, dims, particles, threads)
                }));
            }
        }
        trials.push(Trial::test("asynchronous_large_swarm", || {
            let advances = [1, 1, 1, 50, 200];
            let gpu = Cuda::open(0)?;
            let options = options(1_000_003, 1);
            Ok(keeps_its_promises::<_, f32>(Rastrigin, 5, &options, &gpu, &advances)?)
        }));
        // Particles are time-sliced; with 160 threads the schedulers have unequal numbers of warps.
        for threads in [None, Some(32), Some(160)] {
            let name = threads.map_or("any".to_owned(), |threads: u32| threads.to_string());
            trials.push(Trial::test(
                format!("asynchronous_turns_in_blocks_of_{name}"),
                move || {
                    let mut gpu = Cuda::open(0)?;
                    if let Some(threads) = threads {
                        gpu = gpu.with_block_threads(threads);
                    }
                    for seed in 1..=3 {
                        let advances = [1, 1, 3, 40, 70];
                        let many = options(100_003, seed);
                        keeps_its_promises::<_, f32>(Sphere, 66, &many, &gpu, &advances)?;
                        keeps_its_promises::<_, f64>(Ackley, 33, &many, &gpu, &advances)?;
                        keeps_its_promises::<_, f32>(Rosenbrock, 37, &many, &gpu, &advances)?;
                    }
                    let few = options(20_000_003, 4);
                    Ok(keeps_its_promises::<_, f32>(Sphere, 2, &few, &gpu, &[1, 1, 60])?)
                },
            ));
        }
        trials.push(Trial::test("asynchronous_solves_rastrigin", || {
            for (seed, precision) in [(1, Precision::F32), (2, Precision::F64), (3, Precision::F64)]
            {
                let problem = Problem::new(Rastrigin, 4)?.shifted(seed)?;
                let options = Options {
                    iterations: 2000,
                    precision: Some(precision),
                    history: Some(100),
                    ..options(8192, seed)
                };
                let go = |_: &Progress<'_>| ControlFlow::Continue(());
                let outcome = minimize(&problem, &options, &Cuda::open(0)?, go)?;
                let minimum = problem.optimum().unwrap().position.unwrap();
                let away = outcome.position.iter().zip(minimum).map(|(x, m)| (x - m).abs());
                if away.fold(0.0, f64::max) > 1e-3 || outcome.history.len() != 21 {
                    return Err(format!("{outcome:?}").into());
                }
            }
            Ok(())
        }));
        trials
    }

    /// Whole runs with everything around a swarm: the same on both back ends.
    fn whole_runs() -> Vec<Trial> {
        let usual = Options { particles: 300, iterations: 400, seed: 5, ..Options::default() };
        let restart = Restart { patience: 40, growth: 1.5, ..Restart::default() };
        let runs = [
            ("history", Options { history: Some(7), ..usual.clone() }),
            ("frames", Options { frames: Some(50), ..usual.clone() }),
            ("latin_hypercube", Options { start: Start::LatinHypercube, ..usual.clone() }),
            ("sobol", Options { start: Start::Sobol, ..usual.clone() }),
            ("opposition", Options { start: Start::Opposition, ..usual.clone() }),
            ("points", Options { start: Start::Points(vec![vec![0.5; 6]; 9]), ..usual.clone() }),
            ("restarts", Options { restart: Some(restart), ..usual.clone() }),
            (
                "conditions",
                Options {
                    stop: Stop {
                        patience: Some(60),
                        spread_tolerance: Some(1e-4),
                        evaluations: Some(90_000),
                        ..Stop::default()
                    },
                    ..usual.clone()
                },
            ),
            ("comprehensive", Options { particles: 300, ..Options::for_rule(Rule::Comprehensive) }),
        ];
        let polish = |method| Options {
            polish: Some(Polish::new(method)),
            stop: Stop { evaluations: Some(60_000), ..Stop::default() },
            ..usual.clone()
        };
        let thorough = Options {
            stop: Stop { evaluations: Some(20_000), check_every: 5, ..Stop::default() },
            ..Options::preset(Preset::Thorough)
        };
        let mut trials = Vec::new();
        for (name, options) in runs.into_iter().chain([
            ("polls", polish(Method::Pattern)),
            ("coordinate_descent", polish(Method::Adaptive)),
            ("lines", polish(Method::Line)),
            ("cma_es", polish(Method::Covariance)),
            ("all_that_is_thorough", thorough),
        ]) {
            for precision in [Precision::F32, Precision::F64] {
                let options = Options { precision: Some(precision), ..options.clone() };
                let one = options.clone();
                trials.push(Trial::test(format!("same_run_with_{name}_{precision}"), move || {
                    same_run(&one)
                }));
                trials.push(Trial::test(format!("resumed_with_{name}_{precision}"), move || {
                    resumed(&options)
                }));
            }
        }
        trials.push(Trial::test("many_swarms_are_those_of_runs_of_their_own", many));
        trials
    }

    fn run(problem: &Problem, options: &Options, gpu: bool) -> Result<Outcome, Failed> {
        let go = |_: &Progress| ControlFlow::Continue(());
        Ok(if gpu {
            minimize(problem, options, &Cuda::open(0)?, go)?
        } else {
            minimize(problem, options, &cpu(), go)?
        })
    }

    /// What must be equal, as text.
    fn told(outcome: &Outcome) -> String {
        format!(
            "{:?} {:?} {} {} {} {:?} {:?} {:?}",
            outcome.value,
            outcome.position,
            outcome.iterations,
            outcome.evaluations,
            outcome.restarts,
            outcome.stopped,
            outcome.history,
            outcome.frames
        )
    }

    fn equal(one: &Outcome, other: &Outcome) -> Result<(), Failed> {
        let (one, other) = (told(one), told(other));
        if one == other { Ok(()) } else { Err(format!("{one:.2000}\n{other:.2000}").into()) }
    }

    fn same_run(options: &Options) -> Result<(), Failed> {
        let problem = Problem::new(Rastrigin, 6)?.shifted(3)?;
        equal(&run(&problem, options, false)?, &run(&problem, options, true)?)
    }

    /// Started on one back end, interrupted, and resumed on the other.
    fn resumed(options: &Options) -> Result<(), Failed> {
        let problem = Problem::new(Rastrigin, 6)?.shifted(3)?;
        let whole = run(&problem, options, false)?;
        let folder = tempfile::tempdir()?;
        for on_gpu in [false, true] {
            let path = folder.path().join(format!("{on_gpu}"));
            let stop = |progress: &Progress| match progress.iteration {
                0..90 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            };
            let search = Search::new(problem.clone()).options(options.clone());
            let search = search.save(&path, Duration::from_secs(1000));
            if on_gpu {
                search.run_on(&Cuda::open(0)?, stop)?;
            } else {
                search.run_on(&cpu(), stop)?;
            }
            let saved = Checkpoint::read(&path)?;
            let go = |_: &Progress| ControlFlow::Continue(());
            let rest = if on_gpu {
                saved.resume(&problem, &cpu(), None, go)?
            } else {
                saved.resume(&problem, &Cuda::open(0)?, None, go)?
            };
            equal(&whole, &rest)?;
        }
        Ok(())
    }

    fn many() -> Result<(), Failed> {
        let problem = Problem::new(Rastrigin, 6)?.shifted(3)?;
        let options = Options { particles: 77, iterations: 120, ..Options::default() };
        let variations: Vec<Variation> = (0..50)
            .map(|seed| {
                let coefficients =
                    Coefficients { social: 1.2 + 0.01 * seed as f64, ..Coefficients::CONSTRICTION };
                Variation { seed, coefficients: Some(coefficients) }
            })
            .collect();
        let gpu = Cuda::open(0)?;
        let together = minimize_many(&problem, &options, &variations, &gpu)?;
        for (Variation { seed, coefficients }, outcome) in variations.into_iter().zip(together) {
            equal(
                &run(&problem, &Options { seed, coefficients, ..options.clone() }, false)?,
                &outcome,
            )?;
        }
        Ok(())
    }

    fn no_leak() -> Result<(), Failed> {
        let before = live_allocations();
        for precision in [Precision::F32, Precision::F64] {
            let options =
                Options { precision: Some(precision), iterations: 20, ..Options::default() };
            let gpu = Cuda::open(0)?;
            minimize(&Problem::new(Sphere, 8)?, &options, &gpu, |_| ControlFlow::Continue(()))?;
        }
        let after = live_allocations();
        if before == after { Ok(()) } else { Err(format!("{before:?} became {after:?}").into()) }
    }

    fn too_large() -> Result<(), Failed> {
        let gpu = Cuda::open(0)?;
        let options = Options { particles: 1 << 31, ..Options::default() };
        let problem = Problem::new(Rastrigin, 1000)?;
        let plan = Plan::<f64>::new(&problem, &options)?;
        let before = live_allocations();
        match gpu.swarm(problem.function(), plan) {
            Ok(_) => Err("48 TB were allocated".into()),
            Err(error) if error.to_string().contains("memory") && before == live_allocations() => {
                Ok(())
            }
            Err(error) => Err(format!("{error}").into()),
        }
    }

    #[derive(Clone, Copy, Default)]
    struct Unregistered;

    impl Objective for Unregistered {
        const INFO: Info = Info { name: "unregistered", ..Sphere::INFO };
        type Partial<T: flockwork::math::Real> = T;
        fn term<T: flockwork::math::Real>(
            &self,
            index: u32,
            x: &impl Point<T>,
            _: &Context<T::Scalar>,
        ) -> T {
            x.at(index)
        }
        fn finish<T: flockwork::math::Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
            sum
        }
    }

    fn unregistered() -> Result<(), Failed> {
        let problem = Problem::new(Unregistered, 3)?;
        let plan = Plan::<f32>::new(&problem, &Options::default())?;
        match Cuda::open(0)?.swarm(problem.function(), plan) {
            Ok(_) => Err("it ran".into()),
            Err(error) if error.to_string().contains("register it") => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn finds_the_minimum() -> Result<(), Failed> {
        let problem = Problem::new(Rastrigin, 6)?.shifted(3)?;
        let options = Options {
            particles: 16_384,
            iterations: 500,
            precision: Some(Precision::F64),
            ..Options::default()
        };
        let outcome = minimize(&problem, &options, &Cuda::open(0)?, |_| ControlFlow::Continue(()))?;
        let minimum = problem.optimum().unwrap().position.unwrap();
        for (found, expected) in outcome.position.iter().zip(minimum) {
            if (found - expected).abs() > 1e-6 {
                return Err(format!("{:?}", outcome).into());
            }
        }
        Ok(())
    }
}
