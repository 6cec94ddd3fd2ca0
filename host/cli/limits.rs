//! The limits that end a run.

use clap::Args;
use flockwork::swarm::{Options, Stop};

use super::parse::{Limit, count_limit, limit, whole};

/// The limits of a run, which ends at the first that it reaches. A resumed run keeps the limits
/// that are not given; `none` removes one.
#[derive(Args)]
#[command(next_help_heading = "When to stop (whichever comes first)")]
pub struct Limits {
    #[arg(
        long,
        short = 'i',
        help = format!(
            "Number of iterations [default: {}; of a resumed run: as saved]",
            Options::default().iterations
        ),
        value_parser = whole::<u32>
    )]
    iterations: Option<u32>,
    /// Greatest number of evaluations, the initial ones included [default: none].
    #[arg(long, value_name = "N", value_parser = count_limit::<u64>, allow_hyphen_values = true)]
    evaluations: Option<Limit<u64>>,
    /// Stop when the best value is this or better [default: none].
    #[arg(long, value_name = "VALUE", value_parser = limit::<f64>, allow_hyphen_values = true)]
    target: Option<Limit<f64>>,
    /// Stop when the mean of the personal bests is this close to the global best [default: none].
    #[arg(long, value_name = "DIFFERENCE", value_parser = limit::<f64>, allow_hyphen_values = true)]
    fitness_tolerance: Option<Limit<f64>>,
    /// Stop when the particles' root mean square distance from the global best, in each dimension
    /// as a share of the box, is at most this [default: none].
    #[arg(long, value_name = "SHARE", value_parser = limit::<f64>, allow_hyphen_values = true)]
    spread_tolerance: Option<Limit<f64>>,
    /// Stop after this many iterations in a row without an improvement of the global best
    /// [default: none].
    #[arg(
        long,
        alias = "stagnation",
        value_name = "ITERATIONS",
        value_parser = count_limit::<u32>,
        allow_hyphen_values = true
    )]
    stop_patience: Option<Limit<u32>>,
    /// Stop after this many seconds [default: none]. With this limit alone, the result depends on
    /// the machine's speed.
    #[arg(long, value_parser = limit::<f64>, allow_hyphen_values = true)]
    seconds: Option<Limit<f64>>,
    #[arg(
        long,
        value_name = "ITERATIONS",
        help = format!(
            "Number of iterations between checks of target, tolerances, patience and restarts \
             [default: {}]",
            Stop::default().check_every
        ),
        value_parser = whole::<u32>
    )]
    check_every: Option<u32>,
}

impl Limits {
    /// A limit that was given and that only a swarm has.
    pub fn of_swarm(&self) -> Option<&'static str> {
        [
            ("--iterations", self.iterations.is_some()),
            ("--fitness-tolerance", self.fitness_tolerance.is_some()),
            ("--spread-tolerance", self.spread_tolerance.is_some()),
            ("--stop-patience", self.stop_patience.is_some()),
            ("--check-every", self.check_every.is_some()),
        ]
        .into_iter()
        .find_map(|(option, given)| given.then_some(option))
    }

    /// A limit that was given and that many fits do not have.
    pub fn not_of_many(&self) -> Option<&'static str> {
        let evaluations = self.evaluations.is_some().then_some("--evaluations");
        self.of_swarm().or(evaluations).or(self.target.is_some().then_some("--target"))
    }

    /// The most seconds, if there is a limit.
    pub fn seconds(&self) -> Option<f64> {
        self.seconds.and_then(|limit| limit.value())
    }

    /// Applies the limits that were given.
    pub fn apply(&self, iterations: &mut u32, stop: &mut Stop) {
        fn set<T: Copy>(place: &mut Option<T>, given: Option<Limit<T>>) {
            if let Some(given) = given {
                *place = given.value();
            }
        }
        *iterations = self.iterations.unwrap_or(*iterations);
        stop.check_every = self.check_every.unwrap_or(stop.check_every);
        set(&mut stop.evaluations, self.evaluations);
        set(&mut stop.target, self.target);
        set(&mut stop.fitness_tolerance, self.fitness_tolerance);
        set(&mut stop.spread_tolerance, self.spread_tolerance);
        set(&mut stop.patience, self.stop_patience);
        set(&mut stop.seconds, self.seconds);
    }
}
