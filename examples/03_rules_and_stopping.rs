//! Rules, neighbourhoods, stopping criteria, restarts, a history, and an observer.
//!
//! cargo run --release --example 03_rules_and_stopping

use flockwork::{
    Result,
    objective::Griewank,
    swarm::{Neighbourhood, Problem, Restart, Rule, Search, StopReason},
};

/// Compares the rules on one problem, then restarts one of them until it has found the minimum.
pub fn main() -> Result<()> {
    let problem = Problem::new(Griewank, 6)?.shifted(3)?.rotated(4)?;

    // `rule` sets the coefficients, neighbourhood and boundary handling that the rule was published
    // with.
    println!("{:16} {:>12} {:>12} {:>10}", "rule", "best", "evaluations", "spread");
    for &rule in Rule::ALL {
        let outcome = Search::new(problem.clone())
            .rule(rule)
            .particles(50)
            .iterations(2000)
            // Stops when the value is reached, and before this number of evaluations is exceeded.
            .target(1e-3)
            .evaluations(50_000)
            .history(10)
            .run()?;
        // The last sample of the history tells the swarm's final state.
        let spread = outcome.history.last().map_or(f64::NAN, |sample| sample.spread);
        println!(
            "{:16} {:12.3e} {:12} {spread:10.1e}",
            rule.name(),
            outcome.value,
            outcome.evaluations
        );
    }

    // Small swarms on a ring; whenever one has come to rest, a new and larger one follows.
    let search = Search::new(problem)
        .neighbourhood(Neighbourhood::Ring(2))
        .particles(30)
        .iterations(20_000)
        .target(1e-3)
        .restart(Restart { patience: 100, growth: 1.5, ..Restart::default() })
        .max_velocity(0.3)
        // Options without a method of their own are fields of `Options`.
        .with(|options| options.stop.seconds = Some(30.0));
    let mut restarts = 0;
    // Called about twenty times a second; a closure that returns `ControlFlow` may stop the run.
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
