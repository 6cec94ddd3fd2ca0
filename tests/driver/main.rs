//! The path to a GPU, with a driver that has none: `stand_in.rs`. What it is given (kernels by
//! name, shapes, arguments, graphs, memory) must lead to the CPU's bits.

#[path = "../common/program.rs"]
#[allow(dead_code, reason = "other test programs use more of it")]
mod program;

#[cfg(not(feature = "cuda"))]
fn main() {
    println!("no tests of the driver: this build has no GPU support (feature `cuda`)");
}

#[cfg(feature = "cuda")]
fn main() -> std::process::ExitCode {
    driver::main()
}

#[cfg(feature = "cuda")]
mod driver {
    use std::{env, fs, ops::ControlFlow, path::Path, process::ExitCode};

    use flockwork::{
        backend::{AnyBackend, Backend, Choice, Cpu, Cuda, Gpus, Number, Plan, Snapshot, Strategy},
        fit::{Data, Fit},
        paths::{Graph, PathOptions},
        swarm::{AskTell, AskTellOnGpu, Checkpoint, Outcome, Precision, StopReason, ValuesOnGpu},
        swarm::{Function, Mode, Neighbourhood, Options, Problem, Rule, Search, minimize},
    };
    use libtest_mimic::{Arguments, Failed, Trial};
    use serde_json::Value;

    use crate::program::{json, program, text};

    type Done = Result<(), Failed>;
    type Named = (&'static str, fn() -> Done);

    pub fn main() -> ExitCode {
        let folder = Path::new(env!("CARGO_BIN_EXE_flockwork")).parent().expect("a folder");
        let library = folder.join("examples/libstand_in.so");
        // It is missing if the tests were packed for another machine.
        let packed = env::var_os("FLOCKWORK_BIN").is_some();
        if !library.exists() && !packed {
            println!("{} is missing: `cargo build --example stand_in`", library.display());
            return ExitCode::FAILURE;
        }
        let log = tempfile::NamedTempFile::new().expect("a file");
        // SAFETY: there is no other thread yet.
        unsafe {
            env::set_var("FLOCKWORK_LIBCUDA", library);
            env::set_var("STAND_IN_LOG", log.path());
            env::set_var("STAND_IN_GPUS", "3");
        }
        let mut arguments = Arguments::from_args();
        // A test's calls are what it adds to the log.
        arguments.test_threads = Some(1);
        let trials: [Named; 17] = [
            ("iterations_in_memory_are_graphs", graphs),
            ("the_general_iteration_is_a_graph_too", general_graphs),
            ("an_iteration_of_a_fit_is_three_launches_of_a_graph", graphs_of_fits),
            ("few_particles_of_a_fit_move_with_the_judging", moves_with_judging),
            ("another_sequence_of_launches_is_another_graph", other_graphs),
            ("a_driver_without_graphs_is_given_launches", without_graphs),
            ("particles_on_the_chip_have_a_kernel_for_their_block", narrowed),
            ("what_a_kernel_does_is_constant_in_it", constants),
            ("restarts_and_histories_are_those_of_the_cpu", restarts),
            ("searches_are_those_of_the_cpu", searches),
            ("several_gpus_share_searches", several),
            ("told_swarms_are_those_of_the_cpu", told),
            ("whole_fits_are_those_of_the_cpu", fits),
            ("shortest_paths_in_one_launch_and_in_strips", paths),
            ("several_gpus_share_shortest_paths", paths_on_several),
            ("a_kernel_that_does_not_load_gets_a_sentence", not_loaded),
            ("what_has_no_kernels_is_left_to_the_cpu", left_to_the_cpu),
        ];
        let trials = trials.map(|(name, trial)| Trial::test(name, trial).with_ignored_flag(packed));
        libtest_mimic::run(&arguments, trials.into()).exit_code()
    }

    /// Without a request for a GPU, a closure runs on the CPU; with one, it is refused.
    fn left_to_the_cpu() -> Done {
        let problem = Problem::from_fn(vec![-1.0; 2], vec![1.0; 2], |x| x[0] * x[0] + x[1].abs())?;
        let options = Options { particles: 40, iterations: 20, ..Options::default() };
        let on = |backend: &AnyBackend| {
            minimize(&problem, &options, backend, |_| ControlFlow::Continue(()))
        };
        let expected = on(&AnyBackend::select(Choice::Cpu, 1)?)?;
        let found = AnyBackend::select(Choice::Auto, 1)?;
        check(found.name() == "cuda", found.reason(), &[])?;
        check(on(&found)?.position == expected.position, "the bits of the CPU", &[])?;
        let instead = found.for_problem(&problem)?;
        let told = instead.name() == "cpu" && instead.reason().contains("no GPU kernels");
        check(told, instead.reason(), &[])?;
        let search = Search::new(problem.clone()).options(options.clone());
        let searched = search.clone().on(Choice::Auto).run()?;
        check(searched.position == expected.position, "the bits of the CPU", &[])?;
        check(search.on(Choice::Cuda).run().is_err(), "refused where it was asked for", &[])?;
        check(on(&AnyBackend::select(Choice::Cuda, 1)?).is_err(), "refused", &[])
    }

    /// The driver's log during `f`.
    fn log_of<T>(f: impl FnOnce() -> T) -> (T, Vec<String>) {
        let log = env::var("STAND_IN_LOG").expect("set in `main`");
        let before = fs::read_to_string(&log).expect("a log").len();
        let result = f();
        let after = fs::read_to_string(&log).expect("a log");
        (result, after[before..].lines().map(str::to_owned).collect())
    }

    fn count(log: &[String], what: &str) -> usize {
        log.iter().filter(|line| line.starts_with(what)).count()
    }

    fn check(holds: bool, what: &str, log: &[String]) -> Done {
        if holds { Ok(()) } else { Err(format!("not so: {what}; the driver did {log:#?}").into()) }
    }

    /// Advances a swarm on the CPU and with the driver by each of these numbers of iterations,
    /// compares them, and returns the driver's log.
    fn advanced<T: Number>(
        function: &dyn Function,
        plan: &Plan<T>,
        strategy: Option<Strategy>,
        advances: &[u32],
    ) -> Result<Vec<String>, Failed> {
        let gpu = Cuda::open(0)?.with_strategy(strategy);
        let mut here = Cpu::new(1)?.swarm(function, plan.clone())?;
        let mut there = gpu.swarm(function, plan.clone())?;
        here.start(None)?;
        there.start(None)?;
        let (same, log) = log_of(|| -> Result<bool, Failed> {
            for &iterations in advances {
                here.advance(iterations)?;
                there.advance(iterations)?;
                // The specialised iteration does not store what its rule never reads.
                let read = |swarm: Snapshot<T>| {
                    let Snapshot {
                        iteration, positions, velocities, personal_bests, bests, ..
                    } = swarm;
                    (iteration, positions, velocities, personal_bests, bests)
                };
                if read(here.snapshot()?) != read(there.snapshot()?) {
                    return Ok(false);
                }
            }
            Ok(true)
        });
        check(same?, "the bits of the CPU", &log)?;
        check(
            matches!(there.strategy(), Strategy::General | Strategy::Streaming),
            "particles in memory",
            &log,
        )?;
        Ok(log)
    }

    /// A graph is made when a sequence of launches recurs: first 64 single iterations, then three
    /// graphs, and the last twelve single ones, since that sequence is new.
    fn graphs() -> Done {
        let problem = Problem::named("rastrigin", 3)?.shifted(3)?;
        let plan = Plan::<f32>::new(&problem, &swarm(200))?;
        let log = advanced(problem.function(), &plan, Some(Strategy::Streaming), &[268])?;
        check(count(&log, "graph of 64") == 3, "three graphs", &log)?;
        check(count(&log, "graph of") == 3, "no others", &log)?;
        let step = "swarm_step_rastrigin_f32";
        check(count(&log, &format!("launch {step}")) == 76, "76 launches", &log)?;
        check(count(&log, &format!("graph's launch {step}")) == 192, "192 in graphs", &log)
    }

    fn swarm(particles: u32) -> Options {
        Options { particles, ..Options::for_rule(Rule::Inertia) }
    }

    /// Two kernels per iteration.
    fn general_graphs() -> Done {
        let problem = Problem::named("rastrigin", 5)?.shifted(3)?;
        let options = Options { neighbourhood: Some(Neighbourhood::Ring(1)), ..swarm(70) };
        let plan = Plan::<f32>::new(&problem, &options)?;
        let log = advanced(problem.function(), &plan, None, &[256])?;
        check(count(&log, "graph of 128") == 3, "three graphs", &log)
    }

    fn graphs_of_fits() -> Done {
        for (model, kernel) in
            [("logistic", "fit_sums_logistic_f64"), ("linear", "fit_matrix_4_by_16_f64")]
        {
            let fit = Fit::named(model, Data::pairs((0..300).map(growth))?)?;
            let problem = fit.problem()?;
            let plan = Plan::<f64>::new(&problem, fit.swarm_options())?;
            let log = advanced(problem.function(), &plan, None, &[192])?;
            check(count(&log, "graph of 192") == 2, "two graphs", &log)?;
            let launches = count(&log, &format!("graph's launch {kernel}"));
            check(launches == 128, "128 sums in graphs", &log)?;
        }
        Ok(())
    }

    /// With the global best for all particles, the launch that judges few particles also moves
    /// them, except for the first of the iterations launched together.
    fn moves_with_judging() -> Done {
        let fit = Fit::named("linear", Data::pairs((0..300).map(growth))?)?;
        let problem = fit.problem()?;
        let neighbourhood = Some(Neighbourhood::Global);
        for (particles, graph, moves) in [(16, "graph of 129", 3), (600, "graph of 192", 192)] {
            let options = Options { particles, neighbourhood, ..fit.swarm_options().clone() };
            let plan = Plan::<f64>::new(&problem, &options)?;
            let log = advanced(problem.function(), &plan, None, &[192])?;
            check(count(&log, graph) == 2, graph, &log)?;
            let launched = ["launch", "graph's launch"]
                .map(|how| count(&log, &format!("{how} swarm_advance_f64")))
                .iter()
                .sum::<usize>();
            check(launched == moves, &format!("{moves} moves"), &log)?;
        }
        Ok(())
    }

    /// Alternating sequences keep a graph each, and launches get the current arguments.
    fn other_graphs() -> Done {
        let problem = Problem::named("rastrigin", 2)?.shifted(5)?;
        let plan = Plan::<f32>::new(&problem, &swarm(130))?;
        let advances = [20, 9, 20, 9, 9, 20, 3, 3, 20];
        let log = advanced(problem.function(), &plan, Some(Strategy::Streaming), &advances)?;
        check(count(&log, "graph of 20") == 3, "three graphs of 20", &log)?;
        check(count(&log, "graph of 9") == 2, "two of 9", &log)?;
        check(count(&log, "graph of 3") == 0, "none of 3: too few", &log)
    }

    fn growth(i: u32) -> (f64, f64) {
        let x = 0.05 * f64::from(i);
        (x, 3.0 / (1.0 + (5.0 - x).exp()) + 0.01 * f64::from(i % 7))
    }

    /// The program's results, without times and machine.
    fn numbers(mut object: Value) -> Value {
        let timed = |name: &str| name.ends_with("seconds") || name.ends_with("_per_second");
        let fields = object.as_object_mut().expect("an object");
        fields.retain(|name, _| name != "backend" && !timed(name));
        for value in fields.values_mut() {
            if let Some(fields) = value.as_object_mut() {
                fields.retain(|name, _| !timed(name));
            }
        }
        object
    }

    /// Runs the program on the CPU and with the driver, compares the results, and returns the
    /// driver's log.
    fn same(line: &str, on_gpu: &str) -> Result<Vec<String>, Failed> {
        same_on(line, &format!("{on_gpu} --backend cuda"))
    }

    /// As [`same`], where the options ask for a GPU.
    fn same_on(line: &str, on_gpu: &str) -> Result<Vec<String>, Failed> {
        let (found, log) = log_of(|| json(&format!("{line} {on_gpu}")));
        let expected = json(&format!("{line} --backend cpu"));
        let (found, expected) = (numbers(found), numbers(expected));
        if found == expected {
            Ok(log)
        } else {
            Err(format!("{line} {on_gpu}: {found:#}, and on the CPU {expected:#}").into())
        }
    }

    fn without_graphs() -> Done {
        let line = "optimize rastrigin --dims 3 --particles 200 --iterations 140";
        let ((), log) = log_of(|| {
            let output = program()
                .args(line.split_whitespace())
                .args(["--backend", "cuda", "--strategy", "streaming"])
                .env("STAND_IN_WITHOUT_GRAPHS", "1")
                .output();
            assert!(output.expect("it starts").status.success());
        });
        check(count(&log, "launch swarm_step_rastrigin_f32") == 140, "140 launches", &log)?;
        let log = same(line, "--strategy streaming")?;
        let steps = log.iter().filter(|line| line.ends_with("launch swarm_step_rastrigin_f32"));
        check(steps.count() == 140, "a launch for each iteration", &log)
    }

    /// The kernels declare 1024 threads; blocks have fewer.
    fn narrowed() -> Done {
        let line = "optimize rastrigin --dims 3 --particles 200 --iterations 60";
        for (on_gpu, kernel) in [
            ("--strategy resident", "swarm_resident_rastrigin_f32"),
            ("--cooperation warp", "swarm_cooperative_rastrigin_f32"),
        ] {
            let log = same(line, on_gpu)?;
            check(count(&log, &format!("cooperative launch {kernel}")) > 0, on_gpu, &log)?;
            let loaded = log.iter().find_map(|line| line.strip_prefix(&format!("load {kernel} ")));
            let threads = loaded.and_then(|loaded| loaded.split(' ').next());
            let threads = threads.and_then(|threads| threads.parse::<u32>().ok()).unwrap_or(0);
            let narrow = threads > 0 && threads <= 384 && threads.is_multiple_of(128);
            check(narrow, "compiled for the block", &log)?;
        }
        Ok(())
    }

    /// A kernel with particles on the chip is compiled once for each number of dimensions and mode,
    /// which are its specialization constants, and not for what changes from run to run.
    fn constants() -> Done {
        let gpu = Cuda::open(0)?.with_strategy(Strategy::Resident);
        let run = |dims, seed, mode| -> Result<Vec<String>, Failed> {
            let problem = Problem::named("rastrigin", dims)?;
            let options = Options { seed, mode, iterations: 20, ..swarm(200) };
            let (result, log) =
                log_of(|| minimize(&problem, &options, &gpu, |_| ControlFlow::Continue(())));
            result?;
            Ok(log.into_iter().filter(|line| line.starts_with("load swarm_resident")).collect())
        };
        use Mode::{Asynchronous, Synchronous};
        for (dims, seed, mode, loads) in [
            (3, 1, Synchronous, 1),
            (3, 2, Synchronous, 0),
            (5, 2, Synchronous, 1),
            (3, 3, Asynchronous, 1),
            (5, 3, Synchronous, 0),
        ] {
            let log = run(dims, seed, mode)?;
            check(
                log.len() == loads,
                &format!("{loads} kernels: {dims} dimensions, {mode:?}"),
                &log,
            )?;
            check(log.iter().all(|line| line.ends_with(" constants")), "constants in it", &log)?;
        }
        Ok(())
    }

    fn restarts() -> Done {
        let line = "optimize rastrigin --dims 3 --particles 150 --iterations 90 --history 7 \
                    --restart --restart-patience 20";
        same(line, "--strategy streaming").map(|_| ())
    }

    fn searches() -> Done {
        let log = same("optimize rastrigin --dims 3 --lanes 3 --evaluations 4000 --history 1", "")?;
        check(count(&log, "load search_cmaes_rastrigin_f64") == 1, "its kernel", &log)?;
        // Too few for as many lanes as usual: 1, as on the CPU.
        same("optimize rastrigin --dims 3 --evaluations 500 --history 1", "").map(|_| ())
    }

    /// Lanes on each, with their kernels and streams; and what is said of it.
    fn several() -> Done {
        let line = "optimize rastrigin --dims 3 --lanes 5 --evaluations 6000 --history 1";
        for (gpus, count_of) in [("0,2", 2), ("all", 3), ("1", 1)] {
            let log = same_on(line, &format!("--gpus {gpus}"))?;
            let loads = count(&log, "load search_cmaes_rastrigin_f64");
            check(loads == count_of, "its kernel on each", &log)?;
            let launches = count(&log, "launch search_cmaes_rastrigin_f64");
            check(launches > 0 && launches.is_multiple_of(count_of), "a launch on each", &log)?;
        }
        let devices = program().arg("devices").output()?;
        let said = text(&devices.stdout);
        check(
            said.contains("GPU 1 and GPU 2: read and write each other's memory, also atomically"),
            &said,
            &[],
        )?;
        let refused = |arguments: &str, what: &str| -> Done {
            let output = program().args(arguments.split_whitespace()).output()?;
            let why = text(&output.stderr);
            check(!output.status.success() && why.contains(what), &why, &[])
        };
        let swarm = "optimize rastrigin --dims 3 --particles 50";
        refused(&format!("{swarm} --gpus all"), "gpus is 0,1,2; it must be one GPU")?;
        refused(&format!("{line} --gpus 3"), "3")?;
        refused(&format!("{line} --gpus 0,0"), "numbers of different GPUs")?;
        refused(&format!("{line} --gpus 1 --backend cpu"), "leave one out")
    }

    /// The driver's memory is the processor's, so that a test can evaluate points there.
    fn told() -> Done {
        let problem = Problem::elsewhere(vec![-2.0; 3], vec![3.0; 3])?;
        let bowl = |x: &[f64]| x.iter().map(|x| (x - 0.5) * (x - 0.5)).sum::<f64>();
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("run");
        let options = Options { particles: 90, iterations: 15, ..Options::default() };
        let search = || Search::new(problem.clone()).options(options.clone());
        let mut here = AskTell::new(search())?;
        while let Some(points) = here.ask() {
            let values: Vec<f64> = points.rows().map(bowl).collect();
            here.tell(&values)?;
        }
        let expected = here.outcome()?;
        let evaluate = |mut swarm: AskTellOnGpu, most: usize| -> Result<Outcome, Failed> {
            let mut held = Vec::new();
            for _ in 0..most {
                let Some(points) = swarm.ask() else { break };
                let (count, dims) = (points.len(), points.dims());
                let address = points.address() as *const f64;
                // SAFETY: the points are there as long as they are open, and launches have ended.
                let numbers = unsafe { std::slice::from_raw_parts(address, count * dims) };
                let values: Vec<f64> = numbers.chunks_exact(dims).map(bowl).collect();
                let address = values.as_ptr() as u64;
                let stream = Some(0);
                let there = ValuesOnGpu { address, count, precision: Precision::F64, stream };
                // SAFETY: they are held to the end.
                unsafe { swarm.tell_there(there)? };
                held.push(values);
            }
            Ok(swarm.outcome()?)
        };
        let gpu = Cuda::open(0)?;
        let (found, log) = log_of(|| evaluate(AskTellOnGpu::new(search(), &gpu)?, 99));
        let seen =
            |outcome: &Outcome| (outcome.value, outcome.position.clone(), outcome.iterations);
        check(seen(&found?) == seen(&expected), "the bits of the CPU", &log)?;
        check(count(&log, "launch swarm_settle_f64") == 16, "16 times values", &log)?;
        check(count(&log, "graph") == 0, "nothing is launched later", &log)?;
        let saved = search().save(&path, std::time::Duration::ZERO);
        let part = evaluate(AskTellOnGpu::new(saved, &gpu)?, 9)?;
        check(part.stopped == StopReason::Interrupted, "ended early", &[])?;
        let rest = AskTellOnGpu::resume(&Checkpoint::read(&path)?, &problem, &gpu, None)?;
        check(seen(&evaluate(rest, 99)?) == seen(&expected), "resumed", &[])
    }

    fn fits() -> Done {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("growth.csv");
        let row = |i| {
            let (x, y) = growth(i);
            format!("{x},{y}\n")
        };
        fs::write(&file, (0..200).map(row).collect::<String>())?;
        let line = format!(
            "fit {} --model logistic --particles 64 --iterations 20 --starts 3",
            file.display()
        );
        let log = same(&line, "")?;
        check(count(&log, "load fit_sums_logistic_f64") == 1, "its kernel", &log)
    }

    /// In one launch; by launches in two streams that wait for each other; in strips, with three
    /// streams.
    fn paths() -> Done {
        let edge =
            |i: u32| (i % 300, (i.wrapping_mul(2_654_435_761) >> 8) % 300, 1.0 + f64::from(i % 13));
        let graph = Graph::new(300, (0..900).map(edge))?;
        let gpu = Cuda::open(0)?;
        let streaming = gpu.clone().with_strategy(Strategy::Streaming);
        for paths in [false, true] {
            let options = PathOptions { paths };
            // Slightly less than the matrix and its panels need.
            let little = streaming.clone().with_memory(if paths { 2_000_000 } else { 1_400_000 });
            for (gpu, launched) in [
                (&gpu, "cooperative launch paths_closure_i32"),
                (&streaming, "launch paths_outer"),
                (&little, "launch paths_outer"),
            ] {
                let expected = graph.distances::<i32>(&Cpu::new(1)?, options)?;
                let (found, log) = log_of(|| graph.distances::<i32>(gpu, options));
                let found = found?;
                check(found.matrix() == expected.matrix(), "the distances of the CPU", &log)?;
                check(!paths || found.path(0, 299)? == expected.path(0, 299)?, "the path", &log)?;
                check(paths || count(&log, launched) > 0, launched, &log)?;
                let strips = std::ptr::eq(gpu, &little);
                check(strips == (count(&log, "copy in") > 0), "strips are copied", &log)?;
            }
        }
        Ok(())
    }

    /// Each has some rows, and copies the others' panels.
    fn paths_on_several() -> Done {
        let edge =
            |i: u32| (i % 300, (i.wrapping_mul(2_654_435_761) >> 8) % 300, 1.0 + f64::from(i % 13));
        let directed = Graph::new(300, (0..900).map(edge))?;
        let back = |i: u32| {
            let (from, to, weight) = edge(i / 2);
            if i.is_multiple_of(2) { (from, to, weight) } else { (to, from, weight) }
        };
        let undirected = Graph::new(300, (0..1800).map(back))?;
        check(undirected.is_symmetric(), "undirected", &[])?;
        let gpus = Cuda::open_several(&Gpus::All)?.with_strategy(Strategy::Streaming);
        for graph in [&directed, &undirected] {
            for paths in [false, true] {
                let options = PathOptions { paths };
                let expected = graph.distances::<i32>(&Cpu::new(1)?, options)?;
                let (found, log) = log_of(|| graph.distances::<i32>(&gpus, options));
                let found = found?;
                check(found.matrix() == expected.matrix(), "the distances of the CPU", &log)?;
                check(!paths || found.path(0, 299)? == expected.path(0, 299)?, "the path", &log)?;
                check(count(&log, "copy between 0 and 2") > 0, "panels are copied", &log)?;
            }
        }
        Ok(())
    }

    fn not_loaded() -> Done {
        let output = program().args(["optimize", "levy", "--backend", "cuda"]).output()?;
        let errors = text(&output.stderr);
        let named = errors.contains("error: ") && errors.contains("levy_f64");
        let ended = output.status.code() == Some(1) && !errors.contains("panicked");
        check(named && ended, &errors, &[])
    }
}
