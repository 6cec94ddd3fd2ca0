//! What a safe caller can get wrong: an error that says what, where and what is accepted, and never
//! an access out of bounds.

use flockwork::{
    backend::{Backend, Best, Cpu, Emulated, Plan, Snapshot, Swarm},
    bench::{self, Trial},
    fit::{Data, Fit, Linear, Resample, Saturation},
    io::{self, Table},
    objective::{Rosenbrock, Sphere},
    paths::{self, Graph, Matrix},
    points,
    swarm::{Mode, Options, Precision, Preset, Problem, Rule, Start, Variable, Variation},
};

const PARTICLES: usize = 100;

fn refused<R>(result: flockwork::Result<R>, what: &str) {
    let Err(why) = result else { panic!("accepted; there should be an error about {what:?}") };
    let said = why.to_string();
    assert!(said.contains(what), "{said:?} says nothing about {what:?}");
}

fn sphere() -> Problem {
    Problem::new(Sphere, 2).unwrap()
}

fn options() -> Options {
    Options { particles: PARTICLES as u32, ..Options::default() }
}

/// A swarm on the CPU, and one of the GPU's kernels.
fn swarms(options: &Options) -> [Box<dyn Swarm<f64>>; 2] {
    let problem = sphere();
    let plan = || Plan::new(&problem, options).unwrap();
    let kernels = Emulated::new(1, 32).with(Sphere);
    [
        Cpu::new(1).unwrap().swarm(problem.function(), plan()).unwrap(),
        kernels.swarm(problem.function(), plan()).unwrap(),
    ]
}

type Call = fn(&mut dyn Swarm<f64>) -> flockwork::Result<()>;

#[test]
fn a_swarm_that_has_not_started_refuses_all_but_records_and_evaluations() {
    let calls: [(&str, Call); 8] = [
        ("advance", |swarm| swarm.advance(1)),
        ("timed", |swarm| swarm.timed(1).map(drop)),
        ("bests", |swarm| swarm.bests().map(drop)),
        ("best", |swarm| swarm.best().map(drop)),
        ("held", |swarm| swarm.block_bests().map(drop)),
        ("survey", |swarm| swarm.survey().map(drop)),
        ("implant", |swarm| swarm.implant(0, &[0.0; 2], 0.0)),
        ("snapshot", |swarm| swarm.snapshot().map(drop)),
    ];
    for mut swarm in swarms(&options()) {
        for (name, call) in calls {
            let said = call(&mut *swarm).unwrap_err().to_string();
            assert!(said.starts_with("start is not called"), "{name}: {said}");
        }
        assert_eq!(swarm.iteration(), 0);
        assert!(swarm.take_records().unwrap().is_empty());
        assert_eq!(swarm.evaluate(&[1.0; 4]).unwrap(), [2.0; 2]);
        swarm.start(None).unwrap();
        for (name, call) in calls {
            call(&mut *swarm).unwrap_or_else(|why| panic!("{name}: {why}"));
        }
    }
}

#[test]
fn what_a_swarm_is_given_is_checked() {
    let started: [(&str, Call); 15] = [
        ("once", |swarm| swarm.start(None)),
        ("4294967294 in all", |swarm| swarm.advance(u32::MAX)),
        ("4294967294 in all", |swarm| swarm.timed(u32::MAX).map(drop)),
        ("at least 1", |swarm| swarm.record_every(Some(0))),
        ("whole points", |swarm| swarm.evaluate(&[1.0; 3]).map(drop)),
        ("number of swarms", |swarm| swarm.implant(1, &[0.0; 2], 0.0)),
        ("number of swarms", |swarm| swarm.implant(usize::MAX, &[0.0; 2], 0.0)),
        ("the point to implant has 0", |swarm| swarm.implant(0, &[], 0.0)),
        ("the point to implant has 1", |swarm| swarm.implant(0, &[0.0; 1], 0.0)),
        ("the point to implant has 3", |swarm| swarm.implant(0, &[0.0; 3], 0.0)),
        ("NaN in dimension 1", |swarm| swarm.implant(0, &[0.0, f64::NAN], 0.0)),
        ("inf in dimension 0", |swarm| swarm.implant(0, &[f64::INFINITY, 0.0], 0.0)),
        ("fitness to implant is NaN", |swarm| swarm.implant(0, &[0.0; 2], f64::NAN)),
        ("less than 0.5", |swarm| swarm.implant(0, &[0.5; 2], 0.5)),
        ("less than 0.5", |swarm| swarm.implant(0, &[0.5; 2], f64::INFINITY)),
    ];
    for mut swarm in swarms(&options()) {
        for length in [0, 1, 2 * PARTICLES - 1, 2 * PARTICLES + 2] {
            refused(swarm.start(Some(&vec![0.5; length])), "the list of start points has");
        }
        let mut points = vec![0.5; 2 * PARTICLES];
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            points[7] = value;
            refused(swarm.start(Some(&points)), "in dimension 1 of point 3");
        }
        points[7] = 0.5;
        swarm.start(Some(&points)).unwrap();
        for (what, call) in started {
            refused(call(&mut *swarm), what);
        }
        // What was refused has changed nothing.
        assert_eq!((swarm.iteration(), swarm.best().unwrap().value), (0, 0.5));
        assert!(swarm.evaluate(&[]).unwrap().is_empty());
        let odd = swarm.evaluate(&[f64::NAN, 0.0, f64::INFINITY, 0.0, 1e9, 0.0]).unwrap();
        assert!(!odd[0].is_finite() && !odd[1].is_finite() && odd[2] == 1e18);
        swarm.implant(0, &[0.0, 0.25], 0.0625).unwrap();
        assert_eq!(swarm.best().unwrap().position, [0.0, 0.25]);
        swarm.advance(1).unwrap();
        refused(swarm.start(None), "once");
    }
}

#[test]
fn a_state_that_no_swarm_can_be_in_is_refused() {
    type Change = fn(&mut Snapshot<f64>);
    let changes: [(&str, Change); 22] = [
        ("positions has 199", |state| state.positions.truncate(199)),
        ("velocities has 201", |state| state.velocities.push(0.0)),
        ("personal bests has 0", |state| state.personal_bests.clear()),
        ("best fitness has 99", |state| state.best_fitness.truncate(99)),
        ("ages has 101", |state| state.stale.push(0)),
        ("exemplars has 199", |state| state.exemplars.truncate(199)),
        ("failures has 0", |state| state.failed.clear()),
        ("failures has 2", |state| state.failed.push(0)),
        ("bests has 0", |state| state.bests.clear()),
        ("bests has 2", |state| state.bests.push(state.bests[0].clone())),
        ("best position has 1", |state| state.bests[0].position.truncate(1)),
        ("below 100", |state| state.bests[0].particle = 100),
        ("below 100", |state| state.bests[0].particle = u32::MAX),
        ("100 (number 5", |state| state.exemplars[5] = 100),
        ("4294967295 (number 199", |state| state.exemplars[199] = u32::MAX),
        ("at most 4294967294", |state| state.iteration = u32::MAX),
        ("the state's iteration", |state| state.stale[3] = 4),
        ("the state's iteration", |state| state.stale[99] = u32::MAX),
        ("the state's iteration", |state| state.failed[0] = u32::MAX),
        ("is NaN", |state| state.best_fitness[0] = f64::NAN),
        ("is NaN", |state| state.bests[0].value = f64::NAN),
        ("the state's iteration", |state| state.iteration = 0),
    ];
    let learning = Options { ..Options::for_rule(Rule::Comprehensive) };
    for mut swarm in swarms(&Options { particles: PARTICLES as u32, ..learning }) {
        swarm.start(None).unwrap();
        swarm.advance(3).unwrap();
        let good = swarm.snapshot().unwrap();
        for (what, change) in changes {
            let mut state = good.clone();
            change(&mut state);
            refused(swarm.restore(&state), what);
        }
        assert_eq!(swarm.snapshot().unwrap(), good);
        // Where nothing limits them, particles leave for infinity, and such a run goes on too.
        let mut far = good.clone();
        (far.positions[0], far.velocities[1]) = (f64::NAN, f64::INFINITY);
        far.best_fitness[9] = f64::INFINITY;
        swarm.restore(&far).unwrap();
        swarm.advance(2).unwrap();
        swarm.restore(&good).unwrap();
        refused(swarm.start(None), "once");
    }
    // At the last iteration that there is.
    for mut swarm in swarms(&options()) {
        swarm.start(None).unwrap();
        let mut state = swarm.snapshot().unwrap();
        state.iteration = u32::MAX - 3;
        swarm.restore(&state).unwrap();
        refused(swarm.advance(3), "at most 2");
        swarm.advance(2).unwrap();
        swarm.snapshot().unwrap();
        refused(swarm.advance(1), "at most 0");
        swarm.advance(0).unwrap();
    }
}

#[test]
fn a_plan_is_for_its_own_function() {
    let plan = |problem: &Problem| Plan::<f64>::new(problem, &options()).unwrap();
    let cpu = Cpu::new(1).unwrap();
    let (sphere, valley) = (sphere(), Problem::new(Rosenbrock, 2).unwrap());
    refused(cpu.swarm(sphere.function(), plan(&valley)), "rosenbrock, which the plan was made for");
    let kernels = Emulated::new(1, 32).with(Sphere);
    refused(kernels.swarm(sphere.function(), plan(&valley)), "rosenbrock");
    refused(kernels.swarm(valley.function(), plan(&valley)), "rosenbrock");
    let closure = |dims| {
        Problem::from_fn(vec![0.0; dims], vec![1.0; dims], |x| x.iter().sum::<f64>()).unwrap()
    };
    refused(cpu.swarm(closure(3).function(), plan(&closure(2))), "number of dimensions is 2");
    // Fits of one model, with other parameters to be found.
    let fit = Fit::new(Saturation, line()).unwrap();
    let [all, fewer] =
        [fit.clone(), fit.fixed("limit", 2.0).unwrap()].map(|f| f.problem().unwrap());
    for (function, plan) in [(&all, plan(&fewer)), (&fewer, plan(&all))] {
        let kernels = Emulated::new(1, 32).with_model(Saturation);
        refused(cpu.swarm(function.function(), plan.clone()), "number of dimensions");
        refused(kernels.swarm(function.function(), plan), "number of dimensions");
    }
    // Of several swarms, none may start from points.
    let options = options();
    let coefficients = options.coefficients;
    let two = [1, 2].map(|seed| Variation { seed, coefficients });
    refused(Plan::<f64>::of_many(&sphere, &options, &[]), "the list of swarms");
    let plan = Plan::<f64>::of_many(&sphere, &options, &two).unwrap();
    for mut swarms in [
        cpu.swarm(sphere.function(), plan.clone()).unwrap(),
        kernels.swarm(sphere.function(), plan).unwrap(),
    ] {
        refused(swarms.start(Some(&[0.5; 200])), "given for 2 swarms");
        swarms.start(None).unwrap();
        refused(swarms.implant(2, &[0.0; 2], 0.0), "number of swarms");
        swarms.implant(1, &[0.0; 2], 0.0).unwrap();
        let bests = swarms.bests().unwrap();
        assert!(bests[0].value > 0.0);
        assert!(matches!(&bests[1], Best { value: 0.0, position, .. } if *position == [0.0; 2]));
    }
}

#[test]
fn blocks_that_no_gpu_has_are_refused() {
    let problem = sphere();
    for threads in [0, 1, 31, 33, 1025, 2048, u32::MAX] {
        let plan = Plan::<f32>::new(&problem, &options()).unwrap();
        let kernels = Emulated::new(1, threads).with(Sphere);
        refused(kernels.swarm(problem.function(), plan), "a multiple of 32 up to 1024");
    }
    refused(Cpu::new(usize::MAX), "at most 1024");
}

/// What options, problems and swarms that are evaluated elsewhere are given.
#[test]
fn what_a_search_is_given_is_checked() {
    let problem = sphere();
    type Change = fn(&mut Options);
    let changes: [(&str, Change); 17] = [
        ("particles is 0", |o| o.particles = 0),
        ("particles is 4294967295", |o| o.particles = u32::MAX),
        ("iterations is 4294967295", |o| o.iterations = u32::MAX),
        ("max_velocity is NaN", |o| o.max_velocity = f64::NAN),
        ("max_velocity", |o| o.max_velocity = -1.0),
        ("check_every is 0", |o| o.stop.check_every = 0),
        ("stop patience is 0", |o| o.stop.patience = Some(0)),
        ("history is 0", |o| o.history = Some(0)),
        ("frames is 0", |o| o.frames = Some(0)),
        ("patience is 0", |o| o.patience = 0),
        ("target is NaN", |o| o.stop.target = Some(f64::NAN)),
        ("seconds is -1.0", |o| o.stop.seconds = Some(-1.0)),
        ("fitness_tolerance is NaN", |o| o.stop.fitness_tolerance = Some(f64::NAN)),
        ("evaluations is 0", |o| o.stop.evaluations = Some(0)),
        ("a start point has 1", |o| o.start = Start::Points(vec![vec![0.0]])),
        ("NaN in dimension 1 of point 1", |o| {
            o.start = Start::Points(vec![vec![0.0; 2], vec![0.0, f64::NAN]]);
        }),
        ("start points is 101", |o| o.start = Start::Points(vec![vec![0.0; 2]; 101])),
    ];
    let cpu = Cpu::new(1).unwrap();
    for (what, change) in changes {
        let mut wrong = options();
        change(&mut wrong);
        refused(problem.optimize(&wrong, &cpu), what);
        let kernels = Emulated::new(1, 32).with(Sphere);
        refused(problem.optimize(&wrong, &kernels), what);
    }
    let bounds =
        |lower: &[f64], upper: &[f64]| Problem::from_fn(lower.to_vec(), upper.to_vec(), |x| x[0]);
    refused(bounds(&[], &[]), "1 or more");
    refused(bounds(&[0.0], &[1.0, 2.0]), "the upper bound has 2");
    refused(bounds(&[f64::NAN], &[1.0]), "dimension 0 has the bounds NaN");
    refused(bounds(&[0.0, 1.0], &[1.0, 0.5]), "dimension 1 has the bounds");
    refused(bounds(&[-f64::MAX], &[f64::MAX]), "their difference finite");
    refused(sphere().with_variables(vec![Variable::Integer]), "has 1 entries");
    refused(Problem::new(Sphere, 0), "0");
    refused(Problem::new(Rosenbrock, 1), "2 or more");
    for (what, particles, history) in [("particles is 0", 0, None), ("at least 1", 1, Some(0))] {
        let (precision, mode) = (Precision::F32, Mode::Synchronous);
        let trial = Trial { particles, precision, mode, history };
        refused(bench::iteration(&problem, trial, &cpu), what);
    }
    let thorough = Options { particles: 0, ..Options::preset(Preset::Thorough) };
    refused(thorough.check(), "particles is 0");
}

fn line() -> Data {
    Data::pairs((1..8).map(|i| (f64::from(i), 2.0 * f64::from(i)))).unwrap()
}

#[test]
fn what_a_fit_is_given_is_checked() {
    refused(Data::new(0, [0.0; 0], [1.0]), "the list of arguments");
    refused(Data::new(2, vec![1.0; 3], vec![1.0; 2]), "has 3 entries; the problem needs 4");
    refused(Data::pairs([(0.0, f64::NAN)]), "target 0 of the data is NaN");
    refused(Data::pairs([(0.0, 0.0), (f64::INFINITY, 1.0)]), "argument 1 of the data is inf");
    refused(line().named(vec![]), "column names has 0");
    let fit = || Fit::new(Saturation, line()).unwrap();
    refused(Fit::new(Saturation, Data::new(2, vec![1.0; 4], vec![1.0; 2]).unwrap()), "takes 1");
    refused(fit().bounds("limit", f64::NAN, 1.0), "for limit");
    refused(fit().bounds("limit", 1.0, 1.0), "for limit");
    refused(fit().bounds("limmit", 0.0, 1.0), "it has: limit");
    refused(fit().all_bounds(&[(0.0, 1.0)]), "the list of bounds has 1");
    refused(fit().fixed("limit", f64::INFINITY), "inf of limit");
    refused(fit().weighted(vec![1.0; 6]), "the list of weights has 6");
    refused(fit().weighted(vec![-1.0; 7]), "-1.0 in row 0");
    refused(fit().weighted(vec![f64::NAN; 7]), "NaN in row 0");
    refused(fit().weighted(vec![0.0; 7]), "0 in all rows");
    for level in [0.0, 1.0, f64::NAN] {
        refused(fit().confidence(level), "a probability between 0 and 1");
    }
    let weights = vec![1.0; 3];
    let wrong = Resample { weights, seed: 1 };
    refused(fit().run_many(&[wrong], &Cpu::new(1).unwrap()), "the list of weights has 3");
    assert!(Resample::bootstrap(0, 2, 1).iter().all(|sample| sample.weights.is_empty()));
    // A back end for fits takes no other function, and one of kernels no fit.
    let plan = Plan::<f64>::new(&sphere(), &options()).unwrap();
    let kernels = Emulated::new(1, 32).with_model(Linear);
    refused(kernels.swarm(sphere().function(), plan), "sphere has no GPU kernels");
    refused(fit().run_on(&Emulated::new(1, 32).with(Sphere), |_| {}), "no GPU kernel");
}

#[test]
fn what_paths_points_and_files_are_given_is_checked() {
    refused(Graph::new(2, [(0, 2, 1.0)]), "vertices are 0 to 1");
    refused(Graph::new(0, [(0, 0, 1.0)]), "the edge from 0 to 0");
    refused(Graph::new(2, [(0, 1, f64::NAN)]), "must be finite");
    refused(Graph::new(usize::MAX, [] as [(u32, u32, f64); 0]), "vertices");
    refused(Graph::from_dense(2, &[0.0; 3]), "the matrix has 3");
    refused(Graph::from_dense(usize::MAX, &[]), "vertices");
    refused(Graph::from_dense(2, &[0.0, f64::NAN, 0.0, 0.0]), "the edge from 0 to 1");
    refused(Matrix::new(2, 2, vec![0.0_f32; 3]), "the matrix has 3");
    refused(Matrix::new(usize::MAX, 2, Vec::<f32>::new()), "the matrix has 0");
    refused(Matrix::new(1, 1, vec![f32::NAN]), "NaN");
    refused(Matrix::new(1, 1, vec![i32::MIN]), "-2147483648");
    let graph = Graph::new(3, [(0, 1, 1.0), (1, 2, 2.0)]).unwrap();
    assert_eq!((graph.weight(usize::MAX, 0), graph.weight(0, usize::MAX)), (None, None));
    assert_eq!(graph.edges_from(usize::MAX).count() + graph.edges_from(3).count(), 0);
    let cpu = Cpu::new(1).unwrap();
    for backend in [&|options| graph.distances::<f32>(&cpu, options), &|options| {
        graph.distances::<f32>(&Emulated::new(1, 32), options)
    }]
        as [&dyn Fn(paths::PathOptions) -> flockwork::Result<paths::Distances<f32>>; 2]
    {
        let distances = backend(paths::PathOptions { paths: true }).unwrap();
        assert_eq!((distances.get(3, 0), distances.get(0, usize::MAX)), (None, None));
        refused(distances.path(3, 0), "vertex is 3");
        refused(distances.path(0, usize::MAX), "below the number of vertices, 3");
        let without = backend(paths::PathOptions { paths: false }).unwrap();
        refused(without.path(0, 1), "paths is false");
        refused(without.predecessors(&cpu), "paths is false");
    }
    let matrix = Matrix::new(2, 2, vec![0.0_f32; 4]).unwrap();
    let narrow = Matrix::new(1, 2, vec![0.0_f32; 2]).unwrap();
    refused(matrix.min_plus(&narrow, &cpu), "1");

    for (points, dims) in [(0, 1), (1, 0)] {
        refused(points::sobol(points, dims, 1), "at least 1");
        refused(points::latin_hypercube(points, dims, 1), "at least 1");
    }
    refused(points::sobol(1, points::SOBOL_DIMS + 1, 1), "at most 1111");
    refused(points::latin_hypercube(u32::MAX, u32::MAX, 1), "memory");
    refused(points::opposite(&[0.0], &[], &[1.0]), "lower bounds has 0");

    refused(Table::new(2, vec![1.0; 3], vec![1.0; 2]), "the list of coefficients has 3");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("matrix.npy");
    for numbers in [vec![], vec![1.0; 5], vec![1.0; 7]] {
        let length = numbers.len();
        refused(io::write_npy(&path, 2, 3, numbers), &format!("has {length} entries"));
        refused(io::write_npy(&path, usize::MAX, 2, vec![1.0; length]), "entries");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    io::write_npy(&path, 2, 3, [1.0; 6]).unwrap();
    refused(io::read_points(&path, 0), "");
    refused(io::read_points(&path, 2), "");
}
