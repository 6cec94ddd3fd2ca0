//! Swarms. First the library on the CPU: whether the engine does what its documentation says, with
//! rules compared with plain oracles, and what it finds. Then the GPU's kernels in the emulator,
//! which give the CPU's bits; then the command line.

mod bbob;
mod command;
mod constraints;
mod edges;
mod elsewhere;
mod few;
mod formula;
mod found;
mod functions;
mod history;
mod islands;
mod many;
mod polish;
mod problems;
mod rules;
mod saved;
mod searches;
mod starts;
mod stopping;

// What runs in the emulator does not depend on GPU support; to compile all kernels once more without
// it takes minutes.
#[cfg(feature = "cuda")]
mod asynchronous;
#[cfg(feature = "cuda")]
mod equality;
#[cfg(feature = "cuda")]
mod strategies;

mod cli;

use std::ops::ControlFlow;

use flockwork::{
    Error, Result,
    backend::{Backend, Cpu, Number, Plan, Swarm},
    swarm::{Options, Outcome, Problem, Progress, minimize},
};

/// An observer that only watches.
fn watch(_: &Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn cpu(threads: usize) -> Cpu {
    Cpu::new(threads).unwrap()
}

/// Runs on one thread.
fn run(problem: &Problem, options: &Options) -> Result<Outcome> {
    minimize(problem, options, &cpu(1), watch)
}

/// A swarm on one thread, not started.
fn swarm<T: Number>(problem: &Problem, options: &Options) -> Box<dyn Swarm<T>> {
    let plan = Plan::new(problem, options).unwrap();
    cpu(1).swarm(problem.function(), plan).unwrap()
}

/// The value at a point.
fn value_at(problem: &Problem, point: &[f64]) -> f64 {
    let sign = match problem.goal() {
        flockwork::swarm::Goal::Minimise => 1.0,
        flockwork::swarm::Goal::Maximise => -1.0,
    };
    let options =
        Options { precision: Some(flockwork::swarm::Precision::F64), ..Options::default() };
    sign * swarm::<f64>(problem, &options).evaluate(point).unwrap()[0]
}

/// A wavy bowl with coupled variables; its minimum is near the middle.
fn wavy(x: &[f64]) -> f64 {
    let bowl: f64 = x.iter().map(|x| (x - 0.3) * (x - 0.3) + (3.0 * x).sin()).sum();
    bowl + 0.5 * x.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>()
}

fn wavy_problem(dims: usize) -> Problem {
    Problem::from_fn(vec![-4.0; dims], vec![5.0; dims], wavy).unwrap()
}

/// Checks that two outcomes are of the same run, apart from times.
#[track_caller]
fn assert_same(one: &Outcome, other: &Outcome, what: &str) {
    let bits = |all: &[f64]| all.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(one.value.to_bits(), other.value.to_bits(), "{what}: value");
    assert_eq!(bits(&one.position), bits(&other.position), "{what}: position");
    assert_eq!(one.iterations, other.iterations, "{what}: iterations");
    assert_eq!(one.evaluations, other.evaluations, "{what}: evaluations");
    assert_eq!(one.restarts, other.restarts, "{what}: restarts");
    assert_eq!(one.stopped, other.stopped, "{what}: reason");
    // As text, since NaN does not equal itself.
    assert_eq!(format!("{:?}", one.history), format!("{:?}", other.history), "{what}: history");
    assert_eq!(one.frames, other.frames, "{what}: frames");
}

/// The message of an error.
#[track_caller]
fn refused<T>(result: Result<T>) -> String {
    match result {
        Ok(_) => panic!("it was accepted"),
        Err(error) => {
            assert!(!matches!(error, Error::Memory { .. }), "{error}");
            error.to_string()
        }
    }
}

#[test]
fn what_users_hold_can_be_sent_to_other_threads() {
    fn send<T: Send>() {}
    send::<flockwork::swarm::Search>();
    send::<Outcome>();
    send::<Problem>();
    send::<flockwork::swarm::AskTell>();
    send::<flockwork::swarm::Checkpoint>();
    send::<Options>();
    send::<Cpu>();
    send::<flockwork::backend::AnyBackend>();
    send::<Error>();
}
