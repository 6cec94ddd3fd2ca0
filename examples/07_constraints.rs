//! Constraints, as formulas and as a closure.
//!
//! cargo run --release --example 07_constraints

use flockwork::{
    Result,
    formula::Formula,
    swarm::{Problem, Relation, Search},
};

/// A can and a beam.
pub fn main() -> Result<()> {
    // The can of 330 ml that takes the least metal, at most 7 cm wide.
    let metal = Formula::parse("2*pi*radius^2 + 2*pi*radius*height")?;
    let can = Problem::from_formula(&metal, &[("radius", 1.0, 10.0), ("height", 1.0, 30.0)])?
        .subject_to(&Formula::parse("pi*radius^2*height >= 330 and 2*radius <= 7")?)?;
    let outcome = Search::new(can).evaluations(20_000).run()?;
    println!("{:.2} square centimetres: {:?}", outcome.value, outcome.position);
    for constraint in &outcome.constraints {
        let what = if constraint.active { "active" } else { "not active" };
        println!("  {}: {what}", constraint.text);
    }
    assert!(outcome.is_feasible() && (outcome.position[0] - 3.5).abs() < 1e-9);

    // The lightest beam that bears a load: a closure for the weight, one for the constraints.
    let beam = Problem::from_fn(vec![1.0; 2], vec![50.0; 2], |x| x[0] * x[1])?;
    let limits = [("stress", Relation::AtMost), ("height over width", Relation::AtMost)];
    let beam = beam.subject_to_fn(&limits, |x, values| {
        values[0] = 6.0 * 50_000.0 / (x[0] * x[1] * x[1]) - 15.0;
        values[1] = x[1] / x[0] - 4.0;
    })?;
    let outcome = Search::new(beam).evaluations(20_000).run()?;
    let [width, height] = outcome.position[..] else { unreachable!("two variables") };
    println!("{width:.3} by {height:.3}");
    assert!(outcome.is_feasible() && (height - 4.0 * width).abs() < 1e-6);
    Ok(())
}
