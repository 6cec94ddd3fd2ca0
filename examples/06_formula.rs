//! A function and a model that are typed in: no Rust of their own, no compiler.
//!
//! cargo run --release --example 06_formula

use flockwork::{
    Result,
    fit::{Data, Fit},
    formula::Formula,
    swarm::{Problem, Search},
};

/// The height and distance of a throw, and the decay of a signal.
pub fn main() -> Result<()> {
    // How far a ball flies that is thrown from a height of 1.8 m with 12 m/s.
    let throw = "12*cos(angle)*(12*sin(angle) + sqrt((12*sin(angle))^2 + 2*9.81*1.8))/9.81";
    let throw = Problem::from_formula(&Formula::parse(throw)?, &[("angle", 0.0, 1.5)])?;
    let outcome = Search::new(throw.maximised()).run()?;
    println!("{:.3} m at {:.2} degrees", outcome.value, outcome.position[0].to_degrees());
    assert!((outcome.position[0].to_degrees() - 41.9).abs() < 0.1);

    // Names of the data's columns are data; all others are parameters.
    let rows = (0..50).map(|i| 0.2 * f64::from(i)).map(|t| (t, 7.0 * (-0.8 * t).exp() + 0.5));
    let data = Data::pairs(rows)?.named(vec!["t".to_owned(), "signal".to_owned()])?;
    let fitted = Fit::from_formula(&Formula::parse("height*exp(-rate*t) + base")?, data)?.run()?;
    for one in &fitted.parameters {
        println!("{:<7} {:.6}", one.name, one.value);
    }
    assert!((fitted.value("rate").unwrap_or(0.0) - 0.8).abs() < 1e-6);

    // A mistake is a sentence that shows its place.
    let mistake = Formula::parse("height*exp(-rate*t").unwrap_err();
    println!("{mistake}");
    Ok(())
}
