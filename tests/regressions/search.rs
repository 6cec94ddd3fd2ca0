//! Fits: where they look, how they end, and what they obey.

use std::ops::ControlFlow;

use flockwork::{
    backend::Cpu,
    fit::{Data, Fit},
    swarm::{Progress, StopReason},
};

fn two_decays() -> Fit {
    let signal = |x: f64| 3.0 * (-0.4 * x).exp() + 5.0 * (-2.5 * x).exp();
    let rows = (0..200).map(|i| 0.05 * f64::from(i)).map(|x| (x, signal(x)));
    Fit::named("exponentials", Data::pairs(rows).unwrap()).unwrap().size("terms", 2).unwrap()
}

#[test]
fn an_observer_that_ends_a_fit_ends_what_comes_after_the_swarm() {
    let fit = two_decays().with(|options| options.iterations = 20);
    let cpu = Cpu::new(2).unwrap();
    let whole = fit.run_on(&cpu, |_| ControlFlow::Continue(())).unwrap();
    let look = |progress: &Progress| match progress.iteration {
        0..20 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let ended = fit.run_on(&cpu, look).unwrap();
    assert_eq!(ended.outcome.stopped, StopReason::Interrupted);
    assert_eq!(ended.outcome.position, whole.outcome.position);
    // One descent instead of dozens.
    assert!(2 * ended.descents < whole.descents, "{} {}", ended.descents, whole.descents);
    assert!(ended.value <= ended.outcome.value);
}

#[test]
fn a_limit_of_time_holds_for_what_comes_after_the_swarm() {
    let fit = two_decays().with(|options| {
        options.iterations = 20;
        options.stop.seconds = Some(1e-9);
    });
    let ended = fit.run().unwrap();
    assert_eq!(ended.outcome.stopped, StopReason::Time);
    let whole = two_decays().with(|options| options.iterations = 20).run().unwrap();
    assert!(2 * ended.descents < whole.descents, "{} {}", ended.descents, whole.descents);
}
