//! A first run: a built-in function, a search with default options, and its result.
//!
//! cargo run --release --example 01_first_run

use flockwork::{
    Result,
    objective::Rastrigin,
    swarm::{Problem, Search},
};

/// Minimises Rastrigin's function, which has thousands of local minima, in 6 dimensions.
pub fn main() -> Result<()> {
    // In its textbook form the minimum is at the origin; `shifted` moves it to a random place, so
    // that the swarm has no hint.
    let problem = Problem::new(Rastrigin, 6)?.shifted(42)?;
    let known = problem.optimum().expect("Rastrigin's minimum is known");

    // Runs on the first GPU if there is one, otherwise on the CPU: the result is the same, bit for
    // bit.
    let outcome = Search::new(problem).particles(2048).iterations(500).seed(7).run()?;

    println!("found {:.3e}, the minimum is {}", outcome.value, known.value);
    for (x, best) in outcome.position.iter().zip(known.position.expect("at one point")) {
        println!("  x = {x:9.6}   known {best:9.6}");
    }
    println!(
        "{} after {} iterations, {} evaluations, {:.2?}",
        outcome.stopped.sentence(),
        outcome.iterations,
        outcome.evaluations,
        outcome.elapsed
    );
    assert!(outcome.value < 1e-3);
    Ok(())
}
