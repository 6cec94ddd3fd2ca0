//! Islands: what migrates compared with a plain oracle, and what must not matter: threads, machines,
//! interruptions.

use std::{ops::ControlFlow, path::Path, time::Duration};

use flockwork::{
    backend::{Backend, Best, Migrant, Number, Plan, Snapshot, Swarm},
    formula::Formula,
    objective::{Rastrigin, Sphere},
    swarm::{
        AskTell, Checkpoint, Islands, Migration, Mode, Neighbourhood, Options, Outcome, Polish,
        Precision, Problem, Progress, Restart, Rule, Saved, Search, Start, Stop, StopReason,
        Variation, minimize, minimize_many,
    },
};

use super::{assert_same, cpu, refused, run, watch, wavy_problem};

const BOTH: [Precision; 2] = [Precision::F32, Precision::F64];

fn islands(count: u32, every: u32, migration: Migration) -> Option<Islands> {
    Some(Islands { every, migration, ..Islands::of(count) })
}

fn options(islands: Option<Islands>) -> Options {
    Options { particles: 40, iterations: 60, islands, ..Options::default() }
}

fn hilly() -> Problem {
    Problem::new(Rastrigin, 5).unwrap().shifted(3).unwrap()
}

#[test]
fn one_island_is_a_swarm() {
    let single = options(None);
    let outcome = run(&hilly(), &options(islands(1, 5, Migration::Random))).unwrap();
    assert_eq!(outcome.island, Some(0));
    assert_same(&outcome, &run(&hilly(), &single).unwrap(), "one island");
}

/// The best, or the worst, of some particles in the stated order.
fn chosen<T: Number>(state: &Snapshot<T>, part: std::ops::Range<usize>, is_best: bool) -> usize {
    let fitness = |particle: usize| state.best_fitness[particle].to_f64();
    let mut order: Vec<usize> = part.collect();
    order.sort_by(|&a, &b| fitness(a).total_cmp(&fitness(b)).then(a.cmp(&b)));
    if is_best { order[0] } else { *order.last().unwrap() }
}

fn part(nth: usize, parts: usize, particles: usize) -> std::ops::Range<usize> {
    nth * particles / parts..(nth + 1) * particles / parts
}

fn plain_emigrants<T: Number>(state: &Snapshot<T>, count: usize, dims: usize) -> Vec<Migrant<T>> {
    let particles = state.best_fitness.len();
    let emigrant = |nth| {
        let particle = chosen(state, part(nth, count, particles), true);
        let position = state.personal_bests[particle * dims..][..dims].to_vec();
        Migrant { fitness: state.best_fitness[particle], position }
    };
    (0..count).map(emigrant).collect()
}

fn plain_immigrate<T: Number>(state: &mut Snapshot<T>, migrants: &[Migrant<T>], dims: usize) {
    let particles = state.best_fitness.len();
    for (nth, Migrant { fitness, position }) in migrants.iter().enumerate() {
        let particle = chosen(state, part(nth, migrants.len(), particles), false);
        if *fitness < state.best_fitness[particle] {
            state.best_fitness[particle] = *fitness;
            state.stale[particle] = 0;
            state.personal_bests[particle * dims..][..dims].copy_from_slice(position);
        }
    }
    let particle = chosen(state, 0..particles, true);
    state.bests = vec![Best {
        value: state.best_fitness[particle],
        particle: particle as u32,
        position: state.personal_bests[particle * dims..][..dims].to_vec(),
    }];
}

/// The final states of all islands, by swarms that are stopped, changed and resumed from outside.
fn plainly<T: Number>(problem: &Problem, options: &Options) -> Vec<Snapshot<T>> {
    let Islands { count, every, migrants, .. } = options.islands.unwrap();
    let dims = problem.dims() as usize;
    // The seeds are derived as those of restarts; here they are read off saved runs of one swarm each.
    let seeds = (0..count).map(|island| match island {
        0 => options.seed,
        _ => {
            use flockwork_device::random::{Draw, Purpose, philox};
            let (key, purpose) = (philox::key(options.seed), Purpose::Seeds);
            let draw = Draw { key, iteration: 0, particle: island, group: 0, purpose, nth: 0 };
            let [low, high, ..] = draw.block();
            u64::from(high) << 32 | u64::from(low)
        }
    });
    let begin = |seed| {
        let alone = Options { seed, islands: None, ..options.clone() };
        let plan = Plan::<T>::new(problem, &alone).unwrap();
        let mut swarm = cpu(1).swarm(problem.function(), plan).unwrap();
        swarm.start(None).unwrap();
        swarm
    };
    let mut swarms: Vec<Box<dyn Swarm<T>>> = seeds.map(begin).collect();
    // What arrives in each at the next migration.
    let mut under_way: Vec<Vec<Migrant<T>>> = vec![Vec::new(); count as usize];
    for iteration in 1..=options.iterations {
        swarms.iter_mut().for_each(|swarm| swarm.advance(1).unwrap());
        if !iteration.is_multiple_of(every) {
            continue;
        }
        let mut states: Vec<_> = swarms.iter_mut().map(|swarm| swarm.snapshot().unwrap()).collect();
        for (state, arriving) in states.iter_mut().zip(&under_way) {
            if !arriving.is_empty() {
                plain_immigrate(state, arriving, dims);
            }
        }
        let leaving: Vec<_> =
            states.iter().map(|state| plain_emigrants(state, migrants as usize, dims)).collect();
        for (island, arriving) in (0..).zip(&mut under_way) {
            let sources = options.islands.unwrap().sources(options.seed, iteration, island);
            *arriving =
                sources.iter().flat_map(|&source| leaving[source as usize].clone()).collect();
        }
        for (swarm, state) in swarms.iter_mut().zip(&states) {
            swarm.restore(state).unwrap();
        }
    }
    swarms.iter_mut().map(|swarm| swarm.snapshot().unwrap()).collect()
}

#[test]
fn islands_are_swarms_that_are_changed_as_stated() {
    fn check<T: Number>(precision: Precision, migration: Migration, rule: Rule) {
        let options = Options {
            islands: islands(5, 7, migration),
            precision: Some(precision),
            particles: 40,
            iterations: 40,
            ..Options::for_rule(rule)
        };
        let states = plainly::<T>(&hilly(), &options);
        let value = |state: &Snapshot<T>| state.bests[0].value.to_f64();
        let best = states.iter().map(value).fold(f64::INFINITY, f64::min);
        let outcome = run(&hilly(), &options).unwrap();
        let island = states.iter().position(|state| value(state) == best).unwrap();
        assert_eq!(outcome.found.to_bits(), best.to_bits(), "{precision} {migration} {rule}");
        assert_eq!(outcome.island, Some(island as u32), "{precision} {migration} {rule}");
        let position: Vec<f64> =
            states[island].bests[0].position.iter().map(|x| x.to_f64()).collect();
        assert_eq!(outcome.position, position);
    }
    for &migration in Migration::ALL {
        check::<f32>(Precision::F32, migration, Rule::Inertia);
        check::<f64>(Precision::F64, migration, Rule::Inertia);
    }
    // What has ages and exemplars, and informants that depend on failures.
    check::<f64>(Precision::F64, Migration::Ring, Rule::Comprehensive);
    check::<f32>(Precision::F32, Migration::All, Rule::Standard2011);
}

#[test]
fn migration_changes_what_is_found() {
    let of = |every, migration| run(&hilly(), &options(islands(4, every, migration))).unwrap();
    let never = of(1000, Migration::Ring);
    let all: Vec<Outcome> =
        Migration::ALL.iter().map(|&migration| of(10, migration)).chain([never]).collect();
    for (nth, one) in all.iter().enumerate() {
        for other in &all[nth + 1..] {
            assert_ne!(one.position, other.position);
        }
    }
}

#[test]
fn a_planted_best_goes_around() {
    // Of a function that no particle of the others finds in so few iterations.
    let needle = |x: &[f64]| if x[0] == 0.5 { -1.0 } else { x[0].abs() + 1.0 };
    let problem = Problem::from_fn(vec![-4.0; 2], vec![5.0; 2], needle).unwrap();
    let mean_after = |islands| {
        let planted = Options {
            particles: 20,
            iterations: 4,
            start: Start::Points(vec![vec![0.5, 0.5]]),
            history: Some(4),
            islands: Some(islands),
            ..Options::default()
        };
        let outcome = run(&problem, &planted).unwrap();
        assert_eq!((outcome.value, outcome.position[0]), (-1.0, 0.5));
        outcome.history.last().unwrap().mean
    };
    let apart = mean_after(Islands { every: 100, ..Islands::of(3) });
    let ring = Islands { every: 4, migrants: 1, migration: Migration::Ring, ..Islands::of(3) };
    // The record of iteration 4 is taken before what left after iteration 2 arrives.
    assert_eq!(apart.to_bits(), mean_after(ring).to_bits());
    let ring = Islands { every: 2, ..ring };
    assert_eq!(apart.to_bits(), mean_after(ring).to_bits());
    let ring = Islands { every: 1, ..ring };
    // One particle of one other island has it instead of something above 1.
    assert!(apart - mean_after(ring) >= 2.0 / 60.0, "{apart}");
}

#[test]
fn what_leaves_one_swarm_arrives_in_another() {
    fn check<T: Number>() {
        let (problem, dims) = (hilly(), 5);
        let swarm = |seed| {
            let options = Options { seed, particles: 30, ..Options::default() };
            let plan = Plan::<T>::new(&problem, &options).unwrap();
            let mut swarm = cpu(2).swarm(problem.function(), plan).unwrap();
            swarm.start(None).unwrap();
            swarm.advance(20).unwrap();
            swarm
        };
        let (mut from, mut to) = (swarm(1), swarm(2));
        from.implant(0, &[T::ZERO; 5], T::nearest(-1.0)).unwrap();
        for count in [1, 7, 30] {
            let (there, mut here) = (from.snapshot().unwrap(), to.snapshot().unwrap());
            from.emigrate(count).unwrap();
            // They are those of when they left.
            assert_eq!(from.snapshot().unwrap(), there);
            from.advance(3).unwrap();
            let migrants = from.emigrants().unwrap();
            from.restore(&there).unwrap();
            assert_eq!(migrants, plain_emigrants(&there, count as usize, dims));
            plain_immigrate(&mut here, &migrants, dims);
            to.immigrate(&migrants).unwrap();
            assert_eq!(to.snapshot().unwrap(), here);
            assert_eq!(to.best().unwrap().position, [T::ZERO; 5]);
        }
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn threads_change_no_bit() {
    for precision in BOTH {
        for &migration in Migration::ALL {
            let options = Options {
                precision: Some(precision),
                history: Some(7),
                particles: 130,
                ..options(islands(6, 9, migration))
            };
            let one = minimize(&hilly(), &options, &cpu(1), watch).unwrap();
            let two = minimize(&hilly(), &options, &cpu(2), watch).unwrap();
            assert_same(&one, &two, migration.name());
            assert_eq!(one.island, two.island);
        }
    }
}

#[test]
fn limits_count_what_all_islands_do() {
    let usual = options(islands(4, 10, Migration::Random));
    let of = |stop: Stop| run(&hilly(), &Options { stop, ..usual.clone() }).unwrap();
    let outcome = of(Stop { evaluations: Some(2000), ..Stop::default() });
    assert_eq!(
        (outcome.stopped, outcome.evaluations, outcome.iterations),
        (StopReason::Evaluations, 1920, 11)
    );
    let outcome = of(Stop { target: Some(1e9), ..Stop::default() });
    assert_eq!((outcome.stopped, outcome.iterations), (StopReason::Target, 0));
    let outcome = of(Stop { seconds: Some(0.0), ..Stop::default() });
    assert_eq!((outcome.stopped, outcome.iterations), (StopReason::Time, 0));
    let late = of(Stop { target: Some(10.0), check_every: 4, ..Stop::default() });
    assert_eq!((late.stopped, late.iterations % 4), (StopReason::Target, 0));
    let found = late.value;
    assert!(late.iterations > 0 && found <= 10.0);
    let outcome = of(Stop { spread_tolerance: Some(0.2), check_every: 1, ..Stop::default() });
    assert_eq!(outcome.stopped, StopReason::SpreadTolerance);
    let outcome = of(Stop { fitness_tolerance: Some(30.0), check_every: 1, ..Stop::default() });
    assert_eq!(outcome.stopped, StopReason::FitnessTolerance);
    let flat = Problem::from_fn(vec![0.0], vec![1.0], |_| 1.0).unwrap();
    let stop = Stop { patience: Some(40), ..Stop::default() };
    let outcome = run(&flat, &Options { stop, ..usual.clone() }).unwrap();
    assert_eq!((outcome.stopped, outcome.iterations), (StopReason::Patience, 40));
    // Of equals the first.
    assert_eq!(outcome.island, Some(0));
}

#[test]
fn history_and_progress_are_those_of_all_islands() {
    let options = Options { history: Some(5), ..options(islands(3, 10, Migration::Ring)) };
    let mut seen = 0;
    let mut look = |progress: &Progress| {
        seen += progress.samples.len();
        assert_eq!(progress.evaluations, 120 * (u64::from(progress.iteration) + 1));
    };
    let outcome = minimize(&hilly(), &options, &cpu(1), &mut look).unwrap();
    assert_eq!((outcome.history.len(), seen), (13, 13));
    for (nth, sample) in (0..).zip(&outcome.history) {
        assert_eq!((sample.iteration, sample.evaluations), (5 * nth, 120 * u64::from(5 * nth + 1)));
        assert!(sample.mean >= sample.best && sample.spread > 0.0);
    }
    assert!(outcome.history.windows(2).all(|two| two[1].best <= two[0].best));
    assert_eq!(outcome.history[12].best, outcome.found);
}

/// An observer that ends a run at an iteration or soon after.
fn until(iteration: u32) -> impl FnMut(&Progress) -> ControlFlow<()> {
    move |progress| {
        if progress.iteration >= iteration { ControlFlow::Break(()) } else { watch(progress) }
    }
}

fn keep(path: &Path) -> Option<Saved> {
    let every = Duration::from_secs(3600);
    Some(Saved { path: path.to_owned(), every, note: "a note".to_owned() })
}

#[test]
fn islands_go_on_as_if_nothing_had_happened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    for (precision, rule, migration) in [
        (Precision::F32, Rule::Inertia, Migration::Random),
        (Precision::F64, Rule::Comprehensive, Migration::Torus),
        (Precision::F64, Rule::Standard2011, Migration::All),
    ] {
        let options = Options {
            particles: 40,
            iterations: 60,
            precision: Some(precision),
            patience: 2,
            history: Some(3),
            islands: islands(6, 7, migration),
            // Something to check after every iteration, so that runs can be interrupted there.
            stop: Stop {
                target: Some(-1e30),
                patience: Some(59),
                check_every: 1,
                ..Stop::default()
            },
            ..Options::for_rule(rule)
        };
        let whole = run(&hilly(), &options).unwrap();
        let search = Search::new(hilly()).options(options);
        for at in [0, 1, 6, 7, 8, 14, 33, 59] {
            let first = search.clone().saved(keep(&path)).run_on(&cpu(2), until(at)).unwrap();
            assert_eq!((first.stopped, first.iterations), (StopReason::Interrupted, at));
            let saved = Checkpoint::read(&path).unwrap();
            assert_eq!((saved.iterations(), saved.note()), (at, "a note"));
            saved.resume(&hilly(), &cpu(1), keep(&path), until(at + 5)).unwrap();
            let saved = Checkpoint::read(&path).unwrap();
            let rest = saved.resume(&hilly(), &cpu(2), None, watch).unwrap();
            assert_same(&rest, &whole, &format!("{rule} interrupted at {at}"));
            assert_eq!(rest.island, whole.island);
        }
    }
    // Further than it was meant to go.
    let short = options(islands(3, 10, Migration::Ring));
    let long = Options { iterations: 100, ..short.clone() };
    Search::new(hilly()).options(short).saved(keep(&path)).run_on(&cpu(1), watch).unwrap();
    let saved = Checkpoint::read(&path).unwrap().with_limits(|iterations, _| *iterations = 100);
    let rest = saved.resume(&hilly(), &cpu(1), None, watch).unwrap();
    assert_same(&rest, &run(&hilly(), &long).unwrap(), "longer");
}

#[test]
fn a_file_of_islands_is_for_its_problem() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let usual = options(islands(3, 10, Migration::Ring));
    Search::new(hilly()).options(usual).saved(keep(&path)).run_on(&cpu(1), until(5)).unwrap();
    let saved = Checkpoint::read(&path).unwrap();
    let other = Problem::new(Rastrigin, 4).unwrap();
    assert!(
        refused(saved.resume(&other, &cpu(1), None, watch)).contains("differs in its function")
    );
}

#[test]
fn what_islands_cannot_have_is_refused() {
    let with = |change: &dyn Fn(&mut Options)| {
        let mut options = options(islands(4, 10, Migration::Random));
        change(&mut options);
        refused(run(&hilly(), &options))
    };
    let of = |change: &dyn Fn(&mut Islands)| {
        with(&|options: &mut Options| change(options.islands.as_mut().unwrap()))
    };
    let only = "given; it must be left as it is for islands, which are synchronous swarms without \
                restarts, polish and frames";
    assert_eq!(with(&|o| o.mode = Mode::Asynchronous), format!("mode is {only}"));
    assert_eq!(with(&|o| o.restart = Some(Restart::default())), format!("restart is {only}"));
    assert_eq!(with(&|o| o.polish = Some(Polish::default())), format!("polish is {only}"));
    assert_eq!(with(&|o| o.frames = Some(5)), format!("frames is {only}"));
    assert_eq!(of(&|i| i.count = 0), "islands is 0; it must be 1 to 8192");
    assert_eq!(of(&|i| i.count = 1 << 20), "islands is 1048576; it must be 1 to 8192");
    assert_eq!(of(&|i| i.every = 0), "migrate_every is 0; it must be at least 1");
    let room = "1 to 20, so that what arrives from 2 of the islands has room among 40 particles";
    assert_eq!(of(&|i| i.migrants = 21), format!("migrants is 21; it must be {room}"));
    assert_eq!(of(&|i| i.migrants = 0), format!("migrants is 0; it must be {room}"));
    let all = |i: &mut Islands| (i.count, i.migration) = (50, Migration::All);
    assert_eq!(
        of(&all),
        "particles is 40; it must be at least 49, a particle for each of the islands that an island \
         hears from"
    );
    assert_eq!(
        with(&|o| o.stop.evaluations = Some(159)),
        "evaluations is 159; it must be at least the 160 that the start takes"
    );
    let usual = options(islands(4, 10, Migration::Random));
    let many = [Variation { seed: 1, coefficients: None }];
    assert_eq!(
        refused(minimize_many(&hilly(), &usual, &many, &cpu(1))),
        "islands is given; it must be left as it is for a swarm that is advanced with others"
    );
    let a = Formula::parse("a^2 + b").unwrap();
    let problem = Problem::from_formula(&a, &[("a", -1.0, 1.0), ("b", -1.0, 1.0)]).unwrap();
    let equal = problem.clone().subject_to(&Formula::parse("a == b").unwrap()).unwrap();
    assert!(refused(run(&equal, &usual)).contains("has a constraint with an equals sign"));
    let less = problem.subject_to(&Formula::parse("a >= b + 0.5").unwrap()).unwrap();
    let outcome = run(&less, &usual).unwrap();
    assert!(outcome.is_feasible() && (outcome.value + 1.0).abs() < 0.1, "{}", outcome.value);
    let elsewhere = Problem::elsewhere(vec![-1.0], vec![1.0]).unwrap();
    let mut asked = AskTell::new(Search::new(elsewhere).options(usual)).unwrap();
    assert!(asked.ask().is_none());
    assert!(refused(asked.outcome()).contains("who serve one swarm: leave out islands"));
}

#[test]
fn migrants_that_cannot_be_are_refused() {
    let problem = Problem::new(Sphere, 2).unwrap();
    let options = Options { particles: 9, ..Options::default() };
    let begin = || {
        let plan = Plan::<f64>::new(&problem, &options).unwrap();
        cpu(1).swarm(problem.function(), plan).unwrap()
    };
    let mut swarm = begin();
    assert_eq!(swarm.emigrants().unwrap(), []);
    assert!(refused(swarm.emigrate(1)).contains("start is not called"));
    assert!(refused(swarm.immigrate(&[])).contains("start is not called"));
    swarm.start(None).unwrap();
    let count = |n: u32| {
        format!("the number of migrants is {n}; it must be 1 to 9, the number of particles")
    };
    assert_eq!(refused(swarm.emigrate(0)), count(0));
    assert_eq!(refused(swarm.emigrate(10)), count(10));
    assert_eq!(refused(swarm.immigrate(&[])), count(0));
    let migrant = |fitness, dims| Migrant { fitness, position: vec![0.0; dims] };
    assert!(refused(swarm.immigrate(&[migrant(0.0, 3)])).contains("has 3 entries"));
    let nan = refused(swarm.immigrate(&[migrant(f64::NAN, 2)]));
    assert_eq!(nan, "the fitness of a migrant is NaN; it must be a number");
    // Not better than anybody.
    let before = swarm.snapshot().unwrap();
    swarm.immigrate(&[migrant(f64::INFINITY, 2)]).unwrap();
    assert_eq!(swarm.snapshot().unwrap(), before);
    let two = [1, 2].map(|seed| Variation { seed, coefficients: None });
    let plan = Plan::<f64>::of_many(&problem, &options, &two).unwrap();
    let mut several = cpu(1).swarm(problem.function(), plan).unwrap();
    several.start(None).unwrap();
    assert!(refused(several.emigrate(1)).contains("must be asked for of one swarm"));
}

#[test]
fn neighbourhoods_and_starts_go_with_islands() {
    let usual = options(islands(3, 5, Migration::Ring));
    for (change, what) in [
        (Options { neighbourhood: Some(Neighbourhood::Ring(1)), ..usual.clone() }, "ring"),
        (Options { start: Start::Sobol, ..usual.clone() }, "sobol"),
        (Options { start: Start::LatinHypercube, ..usual.clone() }, "hypercube"),
        (Options { start: Start::Opposition, ..usual.clone() }, "opposition"),
    ] {
        let outcome = run(&wavy_problem(3), &change).unwrap();
        let each = if what == "opposition" { 63 } else { 61 };
        assert_eq!(outcome.evaluations, 120 * each, "{what}");
        assert_same(&minimize(&wavy_problem(3), &change, &cpu(3), watch).unwrap(), &outcome, what);
    }
}

// As the other tests of kernels: see `mod.rs`.
#[cfg(feature = "cuda")]
mod emulated {
    use flockwork::backend::{Cpu, Emulated, Strategy};

    use super::*;

    /// States after migrations between iterations.
    fn migrated<T: Number>(backend: &impl Backend, dims: u32, particles: u32) -> [Snapshot<T>; 2] {
        let problem = Problem::new(Rastrigin, dims).unwrap().shifted(1).unwrap();
        let begin = |seed| {
            let options = Options { seed, particles, ..Options::for_rule(Rule::Inertia) };
            let plan = Plan::<T>::new(&problem, &options).unwrap();
            let mut swarm = backend.swarm(problem.function(), plan).unwrap();
            swarm.start(None).unwrap();
            swarm
        };
        let (mut one, mut other) = (begin(1), begin(2));
        for (iterations, migrants) in [(0, 3), (2, 1), (6, 4), (1, 40)] {
            one.advance(iterations).unwrap();
            other.advance(iterations).unwrap();
            // They cross while both go on.
            one.emigrate(migrants).unwrap();
            other.emigrate(migrants).unwrap();
            one.advance(1).unwrap();
            other.advance(1).unwrap();
            let [there, back] = [&mut one, &mut other].map(|swarm| swarm.emigrants().unwrap());
            other.immigrate(&there).unwrap();
            one.immigrate(&back).unwrap();
        }
        one.advance(5).unwrap();
        other.advance(1).unwrap();
        [one, other].map(|mut swarm| {
            let mut state = swarm.snapshot().unwrap();
            // Ages, which this rule does not use.
            state.stale.clear();
            state
        })
    }

    #[test]
    fn kernels_choose_the_migrants_that_the_cpu_chooses() {
        fn check<T: Number>() {
            for (dims, particles) in [(1, 130), (11, 65), (33, 70)] {
                let cpu = migrated::<T>(&Cpu::new(1).unwrap(), dims, particles);
                for strategy in [Some(Strategy::General), Some(Strategy::Streaming), None] {
                    let emulated = Emulated::new(u64::from(dims), 64).with_strategy(strategy);
                    let kernels = migrated::<T>(&emulated.with(Rastrigin), dims, particles);
                    assert_eq!(kernels, cpu, "{dims} {particles} {strategy:?}");
                }
            }
        }
        check::<f32>();
        check::<f64>();
    }

    #[test]
    fn machines_change_no_bit() {
        for (precision, rule, migration) in [
            (Precision::F32, Rule::Inertia, Migration::Random),
            (Precision::F64, Rule::Inertia, Migration::Ring),
            (Precision::F64, Rule::Comprehensive, Migration::All),
            (Precision::F32, Rule::Standard2011, Migration::Torus),
        ] {
            let options = Options {
                particles: 40,
                iterations: 11,
                precision: Some(precision),
                patience: 2,
                history: Some(5),
                islands: islands(4, 3, migration),
                ..Options::for_rule(rule)
            };
            let expected = run(&hilly(), &options).unwrap();
            for gpus in [1, 3] {
                let emulated = Emulated::new(9, 32).with_gpus(gpus).with(Rastrigin);
                let found = minimize(&hilly(), &options, &emulated, watch).unwrap();
                assert_same(&found, &expected, &format!("{rule} on {gpus}"));
                assert_eq!(found.island, expected.island);
            }
        }
    }

    #[test]
    fn islands_go_on_on_another_back_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let options = Options {
            particles: 64,
            iterations: 30,
            islands: islands(3, 4, Migration::Random),
            stop: Stop { target: Some(-1e30), check_every: 1, ..Stop::default() },
            ..Options::default()
        };
        let whole = run(&hilly(), &options).unwrap();
        let search = Search::new(hilly()).options(options);
        let emulated = Emulated::new(3, 32).with_gpus(2).with(Rastrigin);
        search.saved(keep(&path)).run_on(&emulated, until(13)).unwrap();
        let saved = Checkpoint::read(&path).unwrap();
        assert_same(&saved.resume(&hilly(), &cpu(1), None, watch).unwrap(), &whole, "on the CPU");
        let again = saved.resume(&hilly(), &emulated, None, watch).unwrap();
        assert_same(&again, &whole, "on the emulator");
    }
}
