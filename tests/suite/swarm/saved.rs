//! Saved runs: interrupted and resumed anywhere, they are as if uninterrupted.

use std::{ops::ControlFlow, path::Path, time::Duration};

use flockwork::{
    backend::{Backend, Emulated},
    objective::{Rastrigin, Sphere},
    swarm::{
        Checkpoint, Edge, Method, Neighbourhood, Options, Outcome, Polish, Precision, Problem,
        Progress, Restart, Rule, Saved, Schedule, Search, Start, Stop, Variable, minimize,
    },
};

use crate::common::program;

use super::{assert_same, cpu, refused, watch, wavy_problem};

/// An observer that ends a run at an iteration or soon after.
fn until(iteration: u32) -> impl FnMut(&Progress) -> ControlFlow<()> {
    move |progress| {
        if progress.iteration >= iteration { ControlFlow::Break(()) } else { watch(progress) }
    }
}

fn keep(path: &Path) -> Saved {
    Saved { path: path.to_owned(), every: Duration::from_secs(3600), note: "a note".to_owned() }
}

/// Starts a run on one back end and saves it.
fn begin(
    problem: &Problem,
    options: &Options,
    backend: &impl Backend,
    path: &Path,
    at: u32,
) -> Outcome {
    let search = Search::new(problem.clone()).options(options.clone());
    search.save(path, Duration::from_secs(3600)).run_on(backend, until(at)).unwrap()
}

/// Interrupts at several iterations, once and twice, and resumes on other numbers of threads.
#[track_caller]
fn survives(problem: &Problem, options: &Options, what: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let whole = minimize(problem, options, &cpu(1), watch).unwrap();
    for at in [0, 1, 9, 10, 30, 44, 59] {
        let (first, second) = if at % 2 == 0 { (cpu(1), cpu(3)) } else { (cpu(3), cpu(1)) };
        begin(problem, options, &first, &path, at);
        let saved = Checkpoint::read(&path).unwrap();
        assert!(saved.iterations() >= at.min(whole.iterations));
        let again = keep(&path);
        let part = saved.resume(problem, &second, Some(again), until(at + 7)).unwrap();
        let saved = Checkpoint::read(&path).unwrap();
        assert_eq!((saved.iterations(), saved.note()), (part.iterations, "a note"));
        let rest = saved.resume(problem, &first, None, watch).unwrap();
        assert_same(&rest, &whole, &format!("{what}, interrupted at {at}"));
    }
}

fn usual(precision: Precision) -> Options {
    Options {
        particles: 70,
        iterations: 60,
        precision: Some(precision),
        // Something to check after every iteration, so that runs can be interrupted there.
        stop: Stop { target: Some(-1e30), check_every: 1, ..Stop::default() },
        ..Options::default()
    }
}

const BOTH: [Precision; 2] = [Precision::F32, Precision::F64];

#[test]
fn every_rule_goes_on_as_if_nothing_had_happened() {
    for precision in BOTH {
        for &rule in Rule::ALL {
            let published = Options::for_rule(rule);
            let options = Options {
                particles: 70,
                iterations: 60,
                stop: usual(precision).stop,
                precision: Some(precision),
                patience: 2,
                ..published
            };
            survives(&wavy_problem(3), &options, rule.name());
        }
    }
}

#[test]
fn every_option_goes_on_as_if_nothing_had_happened() {
    for precision in BOTH {
        let usual = usual(precision);
        let mixed = wavy_problem(3)
            .with_variables(vec![Variable::Periodic, Variable::Integer, Variable::Continuous])
            .unwrap();
        let restart = Restart { patience: 6, growth: 1.3, ..Restart::default() };
        let cases = [
            ("history", Options { history: Some(7), ..usual.clone() }),
            ("frames", Options { frames: Some(4), ..usual.clone() }),
            ("restarts", Options { restart: Some(restart), ..usual.clone() }),
            (
                "restarts with all",
                Options {
                    restart: Some(restart),
                    history: Some(3),
                    frames: Some(5),
                    start: Start::LatinHypercube,
                    ..usual.clone()
                },
            ),
            ("hypercube", Options { start: Start::LatinHypercube, ..usual.clone() }),
            ("sobol", Options { start: Start::Sobol, ..usual.clone() }),
            ("opposition", Options { start: Start::Opposition, history: Some(1), ..usual.clone() }),
            (
                "points",
                Options { start: Start::Points(vec![vec![0.1, 2.0, 0.3]]), ..usual.clone() },
            ),
            ("unlimited", Options { max_velocity: f64::INFINITY, ..usual.clone() }),
            ("random", Options { neighbourhood: Some(Neighbourhood::Random(3)), ..usual.clone() }),
            ("ring", Options { neighbourhood: Some(Neighbourhood::Ring(2)), ..usual.clone() }),
            ("damp", Options { edge: Edge::Damp, ..usual.clone() }),
            ("invisible", Options { edge: Edge::Invisible, ..usual.clone() }),
            ("linear", Options { schedule: Schedule::Linear, ..usual.clone() }),
            (
                "patience",
                Options { stop: Stop { patience: Some(4), ..usual.stop }, ..usual.clone() },
            ),
            (
                "budget",
                Options {
                    stop: Stop { evaluations: Some(70 * 50 + 3), check_every: 3, ..usual.stop },
                    restart: Some(restart),
                    ..usual.clone()
                },
            ),
        ];
        for (what, options) in cases {
            survives(&mixed, &options, what);
        }
        // With nothing to check, like most runs.
        survives(&wavy_problem(2), &Options { stop: Stop::default(), ..usual.clone() }, "plain");
        let turned = Problem::new(Rastrigin, 4).unwrap().shifted(3).unwrap().rotated(4).unwrap();
        survives(&turned, &usual, "rotated");
        survives(&turned.maximised(), &usual, "rotated and maximised");
    }
}

/// A best that no later swarm finds, and a history with a swarm that has no finite value.
#[test]
fn nan_and_infinity_come_back_from_a_file() {
    let problem = Problem::from_fn(vec![-1.0; 2], vec![1.0; 2], |x| {
        if x[0] < 0.9999 { f64::NAN } else { f64::INFINITY }
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let options =
        Options { particles: 3, iterations: 20, history: Some(2), ..usual(Precision::F32) };
    let search = Search::new(problem.clone()).options(options);
    search.save(&path, Duration::from_secs(3600)).run_on(&cpu(1), until(5)).unwrap_err();
    let saved = Checkpoint::read(&path).unwrap();
    let error = saved.resume(&problem, &cpu(1), None, watch).unwrap_err().to_string();
    assert!(error.contains("no finite value"), "{error}");
}

#[test]
fn from_the_cpu_into_gpu_kernels_and_back() {
    for precision in BOTH {
        for &rule in Rule::ALL {
            let options = Options {
                particles: 40,
                iterations: 30,
                history: Some(4),
                stop: usual(precision).stop,
                precision: Some(precision),
                patience: 2,
                ..Options::for_rule(rule)
            };
            let problem = Problem::new(Sphere, 3).unwrap().shifted(5).unwrap();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("run");
            let emulated = Emulated::new(3, 32).with(Sphere);
            let whole = minimize(&problem, &options, &cpu(1), watch).unwrap();
            begin(&problem, &options, &cpu(1), &path, 7);
            for (nth, at) in [12, 17].into_iter().enumerate() {
                let saved = Checkpoint::read(&path).unwrap();
                let problem = saved.problem().unwrap();
                let again = Some(keep(&path));
                if nth == 0 {
                    saved.resume(&problem, &emulated, again, until(at)).unwrap();
                } else {
                    saved.resume(&problem, &cpu(3), again, until(at)).unwrap();
                }
            }
            let saved = Checkpoint::read(&path).unwrap();
            let rest = saved.resume(&problem, &emulated, None, watch).unwrap();
            assert_same(&rest, &whole, rule.name());
        }
    }
}

#[test]
fn the_problem_comes_back_from_a_file() {
    use Variable::{Continuous, Integer, Periodic};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let sphere = || Problem::new(Sphere, 3).unwrap();
    let problems = [
        sphere(),
        sphere().shifted(4).unwrap(),
        sphere().maximised().shifted(4).unwrap(),
        sphere().shifted(4).unwrap().maximised(),
        sphere().shifted(4).unwrap().maximised().minimised(),
        sphere().rotated(4).unwrap().shifted(2).unwrap(),
        sphere().shifted(9).unwrap().with_bounds(vec![-1.0; 3], vec![2.0; 3]).unwrap(),
        sphere().with_variables(vec![Continuous, Integer, Periodic]).unwrap().shifted(4).unwrap(),
        sphere().shifted(4).unwrap().with_variables(vec![Continuous, Integer, Periodic]).unwrap(),
        Problem::named("cubic", 3).unwrap().shifted(1).unwrap(),
        Problem::named("cubic", 3).unwrap().minimised().shifted(1).unwrap(),
    ];
    for (nth, problem) in problems.iter().enumerate() {
        let options = usual(Precision::F64);
        let whole = minimize(problem, &options, &cpu(1), watch).unwrap();
        begin(problem, &options, &cpu(1), &path, 20);
        let saved = Checkpoint::read(&path).unwrap();
        let stated = saved.problem().unwrap();
        assert_eq!(format!("{stated:?}"), format!("{problem:?}"), "problem {nth}");
        assert_eq!(stated.shift(), problem.shift(), "problem {nth}");
        let rest = saved.resume(&stated, &cpu(1), None, watch).unwrap();
        assert_same(&rest, &whole, &format!("problem {nth}"));
    }
}

#[test]
fn another_problem_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let problem = Problem::new(Sphere, 3).unwrap().shifted(4).unwrap();
    begin(&problem, &usual(Precision::F32), &cpu(1), &path, 5);
    let saved = Checkpoint::read(&path).unwrap();
    let unshifted = || Problem::new(Sphere, 3).unwrap();
    for other in [
        unshifted(),
        unshifted().shifted(5).unwrap(),
        problem.clone().rotated(1).unwrap(),
        problem.clone().maximised(),
        problem.clone().with_bounds(vec![-1.0; 3], vec![1.0; 3]).unwrap(),
        problem.clone().with_variables(vec![Variable::Periodic; 3]).unwrap(),
        Problem::new(Sphere, 4).unwrap().shifted(4).unwrap(),
        Problem::new(Rastrigin, 3).unwrap().shifted(4).unwrap(),
        wavy_problem(3),
    ] {
        let message = refused(saved.resume(&other, &cpu(1), None, watch));
        assert!(message.contains("the run is about \"sphere\" in 3 dimensions"), "{message}");
    }
}

#[test]
fn a_run_can_be_made_longer() {
    let problem = wavy_problem(3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let long = Options { iterations: 90, history: Some(5), ..usual(Precision::F32) };
    let whole = minimize(&problem, &long, &cpu(1), watch).unwrap();
    let short = Options { iterations: 40, ..long };
    begin(&problem, &short, &cpu(1), &path, u32::MAX);
    let saved = Checkpoint::read(&path).unwrap().with_limits(|iterations, _| *iterations = 90);
    let rest = saved.resume(&problem, &cpu(1), None, watch).unwrap();
    assert_same(&rest, &whole, "longer");
    // A finished run stays finished.
    let saved = Checkpoint::read(&path).unwrap();
    let again = saved.resume(&problem, &cpu(1), None, watch).unwrap();
    assert_eq!((again.iterations, again.evaluations_timed), (40, 0));
    let nonsense = Checkpoint::read(&path).unwrap().with_limits(|_, stop| stop.check_every = 0);
    refused(nonsense.resume(&problem, &cpu(1), None, watch));
}

/// Files of before idle iterations were called patience everywhere.
#[test]
fn older_names_are_read() {
    fn renamed(value: &mut serde_json::Value) -> u32 {
        let serde_json::Value::Object(fields) = value else { return 0 };
        let older = match () {
            _ if fields.contains_key("check_every") => Some("stagnation"),
            _ if fields.contains_key("least_step") => Some("after"),
            _ => None,
        };
        let mut count = fields.values_mut().map(renamed).sum();
        if let Some(older) = older
            && let Some(idle) = fields.remove("patience")
        {
            fields.insert(older.to_owned(), idle);
            count += 1;
        }
        count
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let options = Options {
        particles: 20,
        iterations: 400,
        stop: Stop { patience: Some(90), check_every: 1, ..Stop::default() },
        polish: Some(Polish { patience: 8, ..Polish::new(Method::Line) }),
        ..Options::default()
    };
    let problem = wavy_problem(3);
    let whole = minimize(&problem, &options, &cpu(1), watch).unwrap();
    begin(&problem, &options, &cpu(1), &path, 5);

    // The layout: io::checkpoint.
    let bytes = std::fs::read(&path).unwrap();
    let length = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (all, end) = (length(16), 32 + length(24));
    let mut header = serde_json::from_slice(&bytes[32..end]).unwrap();
    // In the stop, and in the polish of the options and of the polisher.
    assert_eq!(renamed(&mut header), 3, "{header}");
    let header = serde_json::to_vec(&header).unwrap();
    let mut older = bytes[..16].to_vec();
    older.extend((all - (end - 32) + header.len()).to_le_bytes());
    older.extend(header.len().to_le_bytes());
    older.extend(&header);
    older.extend(&bytes[end..all - 8]);
    older.extend(xxhash_rust::xxh3::xxh3_64(&older).to_le_bytes());
    std::fs::write(&path, older).unwrap();

    let saved = Checkpoint::read(&path).unwrap();
    assert_eq!(*saved.options(), options.settled_for(&problem));
    let rest = saved.resume(&problem, &cpu(1), None, |_| {}).unwrap();
    assert_same(&rest, &whole, "with older names");
}

/// Written before the code said "global best" and "personal best": names in files stay.
/// `flockwork optimize rastrigin -d 2 -p 4 -i 10 -b cpu --save earlier.fw` made it.
#[test]
fn a_file_of_an_earlier_version_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let earlier = folder.path().join("earlier.fw");
    std::fs::write(&earlier, include_bytes!("files/earlier.fw")).unwrap();
    let resumed = program::json(&format!("resume {} -i 20 --no-save", earlier.display()));
    let whole = program::json("optimize rastrigin -d 2 -p 4 -i 20 -b cpu");
    for found in ["value", "position", "iterations", "evaluations"] {
        assert!(!whole["result"][found].is_null(), "{found}: {whole}");
        assert_eq!(resumed["result"][found], whole["result"][found], "{found}");
    }
}
