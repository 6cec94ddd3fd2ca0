//! Saving and resuming a run; and a function that is evaluated elsewhere.
//!
//! cargo run --release --example 04_save_and_resume

use std::{ops::ControlFlow, time::Duration};

use flockwork::{
    Result,
    backend::Cpu,
    objective::Ackley,
    swarm::{AskTell, Checkpoint, Outcome, Problem, Search},
};

/// Interrupts a run and resumes it; then uses the ask-and-tell interface.
pub fn main() -> Result<()> {
    let problem = Problem::new(Ackley, 5)?.shifted(1)?;
    let search = Search::new(problem).particles(500).iterations(400);
    let whole = search.clone().run()?;

    // The file is replaced atomically every ten seconds and at the end. Here the end comes early:
    // the observer stops the run, as on Ctrl-C.
    let path = std::env::temp_dir().join(format!("flockwork-example-{}", std::process::id()));
    let part = search.save(&path, Duration::from_secs(10)).run_watched(|progress| {
        if progress.iteration < 100 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    println!("interrupted after {} iterations at {:.3e}", part.iterations, part.value);

    // Later, perhaps on another machine. A closure or a function with data must be stated again;
    // other functions are found by the name in the file.
    let saved = Checkpoint::read(&path)?;
    let problem = saved.problem()?;
    let rest = saved.resume(&problem, &Cpu::new(0)?, None, |_| {})?;
    println!("resumed, and done after {} at {:.3e}", rest.iterations, rest.value);
    // The same bits as without the interruption.
    assert_eq!((rest.value, rest.position), (whole.value, whole.position));
    let _ = std::fs::remove_file(path);

    // A function that is evaluated elsewhere, in a simulator or on a cluster: the search asks for points to
    // be evaluated and is told their values, in any order.
    let problem = Problem::elsewhere(vec![0.0; 2], vec![5.0; 2])?;
    let mut search = AskTell::new(Search::new(problem).evaluations(3000))?;
    while let Some(points) = search.ask() {
        let values: Vec<f64> = points.rows().map(simulate).collect();
        for (index, value) in values.into_iter().enumerate().rev() {
            search.tell_at(index, value)?;
        }
    }
    let Outcome { value, position, .. } = search.outcome()?;
    println!("the simulator's best is {value:.3e} at {position:.3?}");
    assert!(value < 1e-6);
    Ok(())
}

/// Stands for an expensive computation.
fn simulate(point: &[f64]) -> f64 {
    let [x, y] = point[..] else { unreachable!("two variables") };
    // Himmelblau 1972: zero at four points, of which (3, 2) is in the box.
    (x * x + y - 11.0).powi(2) + (x + y * y - 7.0).powi(2)
}
