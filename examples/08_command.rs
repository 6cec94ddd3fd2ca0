//! A program as the function, started for each point; here a line of shell.
//!
//! cargo run --release --example 08_command

use std::time::Duration;

use flockwork::{
    Result,
    command::Command,
    swarm::{Problem, Search, Variable},
};

/// What an order costs; the last number that it prints is the value. It fails without pallets.
const COST: &str =
    "sh -c 'echo cost $(( ($1 - 7) * ($1 - 7) + 12 / $2 + 3 * $2 ))' sh {boxes} {pallets}";

/// The cheapest order of whole numbers of boxes and pallets.
pub fn main() -> Result<()> {
    let command = Command::new(COST)?.jobs(2).timeout(Duration::from_secs(10));
    let problem = Problem::from_command(&command, &[("boxes", 0.0, 20.0), ("pallets", 0.0, 9.0)])?
        .with_variables(vec![Variable::Integer; 2])?;
    let outcome = Search::new(problem.clone()).particles(20).iterations(15).run()?;
    let [boxes, pallets] = outcome.position[..] else { unreachable!("two variables") };
    println!("{boxes} boxes on {pallets} pallets cost {}", outcome.value);
    // Failures are counted, and the points infinitely bad.
    let tally = problem.tally().expect("it is a command");
    println!("{} orders were priced, {} cannot be", tally.evaluated, tally.failed);
    assert_eq!((outcome.value, boxes, pallets), (12.0, 7.0, 2.0));
    assert!(0 < tally.failed && tally.failed < tally.evaluated);
    Ok(())
}
