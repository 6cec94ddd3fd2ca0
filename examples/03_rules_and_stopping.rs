//! Rules, neighbourhoods, conditions to stop, restarts, a history, and an observer.
//!
//! cargo run --release --example 03_rules_and_stopping

use flockwork::{
    Result,
    objective::Griewank,
    swarm::{Neighbourhood, Problem, Restart, Rule, Search, StopReason},
};

/// Compares the rules on one problem, and then lets one of them restart until it has found the minimum.
pub fn main() -> Result<()> {
    let problem = Problem::new(Griewank, 6)?.shifted(3)?.rotated(4)?;

    // `rule` takes the coefficients, neighbourhood and edges that a rule was published with.
    println!("{:16} {:>12} {:>12} {:>10}", "rule", "best", "evaluations", "spread");
    for &rule in Rule::ALL {
        let outcome = Search::new(problem.clone())
            .rule(rule)
            .particles(50)
            .iterations(2000)
            // Ends when the value is reached, or before there are more evaluations than this.
            .target(1e-3)
            .evaluations(50_000)
            .history(10)
            .run()?;
        // The last sample of the history says how the swarm stood.
        let spread = outcome.history.last().map_or(f64::NAN, |sample| sample.spread);
        println!(
            "{:16} {:12.3e} {:12} {spread:10.1e}",
            rule.name(),
            outcome.value,
            outcome.evaluations
        );
    }

    // Small swarms on a ring, a new and larger one whenever the last has come to rest.
    let search = Search::new(problem)
        .neighbourhood(Neighbourhood::Ring(2))
        .particles(30)
        .iterations(20_000)
        .target(1e-3)
        .restart(Restart { patience: 100, growth: 1.5, ..Restart::default() })
        .max_velocity(0.3)
        // Whatever has no method of its own is a field of `Options`.
        .with(|options| options.stop.seconds = Some(30.0));
    let mut restarts = 0;
    // About twenty times a second. A closure that returns `ControlFlow` may also end the run.
    let outcome = search.run_watched(|progress| {
        if progress.restarts > restarts {
            restarts = progress.restarts;
            println!("swarm {}: best so far {:.3e}", restarts + 1, progress.value);
        }
    })?;
    println!(
        "{:.3e} after {} restarts: {}",
        outcome.value,
        outcome.restarts,
        outcome.stopped.sentence()
    );
    assert_eq!(outcome.stopped, StopReason::Target);
    Ok(())
}
