//! Your own function as a closure, with different kinds of variables.
//!
//! cargo run --release --example 02_own_closure

use std::f64::consts::PI;

use flockwork::{
    Result,
    swarm::{Problem, Search, Variable},
};

/// A closed can that holds 330 ml with as little sheet metal as possible; and a gear train.
pub fn main() -> Result<()> {
    // A closure takes a point and returns a value. It is called from several threads.
    let can = Problem::from_fn(vec![1.0, 1.0], vec![20.0, 40.0], |x| {
        let (radius, height) = (x[0], x[1]);
        let volume = PI * radius * radius * height;
        let sheet = 2.0 * PI * radius * (radius + height);
        // A penalty for missing volume: constraints are part of the function.
        sheet + 10.0 * (330.0 - volume).max(0.0)
    })?
    .called("can");
    let outcome = Search::new(can).particles(256).iterations(400).f64().run()?;
    let [radius, height] = outcome.position[..] else { unreachable!("two variables") };
    println!("a can: radius {radius:.3} cm, height {height:.3} cm, {:.1} cm^2", outcome.value);
    // The best can is as high as it is wide.
    assert!((height / (2.0 * radius) - 1.0).abs() < 0.01);

    // Numbers of teeth are integers: two pairs of wheels with a ratio near 1/6.931 (Sandgren 1990).
    let gear = Problem::from_fn(vec![12.0; 4], vec![60.0; 4], |x| {
        (1.0 / 6.931 - x[0] * x[1] / (x[2] * x[3])).powi(2)
    })?
    .with_variables(vec![Variable::Integer; 4])?;
    let outcome = Search::new(gear).particles(512).iterations(300).f64().run()?;
    println!("a gear: {:?} teeth, error {:.1e}", outcome.position, outcome.value.sqrt());
    assert!(outcome.value < 1e-8);
    Ok(())
}
