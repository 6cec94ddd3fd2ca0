//! Which kind of search a run is.

use anyhow::bail;
use clap::{Args, ValueEnum};
use flockwork::swarm::{Problem, Searches};

use super::parse::{Limit, count_limit, whole};

/// The kinds of searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Method {
    #[default]
    Auto,
    Swarm,
    Cmaes,
}

#[derive(Args)]
#[command(next_help_heading = "Method")]
pub struct MethodArguments {
    /// How to search: with a particle swarm (swarm); with many independent searches by CMA-ES and
    /// along the axes, with restarts, in f64 (cmaes); or (auto) with a swarm if an option is given
    /// that only a swarm has, or if a variable is whole or periodic, and otherwise by CMA-ES.
    #[arg(long, value_enum, default_value_t)]
    method: Method,
    /// Searches by CMA-ES side by side; the result depends on it [default: 1 on a CPU; on a GPU 256
    /// in up to 64 dimensions, 64 in up to 128, else 16, or what `--evaluations` suffice for].
    #[arg(long, value_name = "N", value_parser = whole::<u32>)]
    lanes: Option<u32>,
    /// Stop when this many searches by CMA-ES have ended at the best value, or `none` [default: 5].
    #[arg(long, value_name = "N", value_parser = count_limit::<u32>, allow_hyphen_values = true)]
    agreeing: Option<Limit<u32>>,
}

impl MethodArguments {
    /// The searches that take the place of a swarm, if any. `of_swarm` is an option that was given
    /// and that only a swarm has.
    pub fn searches(
        &self,
        problem: &Problem,
        of_swarm: Option<&'static str>,
    ) -> anyhow::Result<Option<Searches>> {
        let own = [("--lanes", self.lanes.is_some()), ("--agreeing", self.agreeing.is_some())];
        let own = own.into_iter().find_map(|(option, given)| given.then_some(option));
        let searches = match (self.method, of_swarm) {
            (Method::Swarm, _) => false,
            (Method::Cmaes, Some(option)) => {
                bail!("{option} is an option of swarms: leave it out, or --method cmaes")
            }
            (Method::Cmaes, None) => true,
            (Method::Auto, Some(_)) => false,
            (Method::Auto, None) => own.is_some() || Searches::suit(problem),
        };
        if !searches {
            if let Some(own) = own {
                bail!(
                    "{own} is an option of searches by CMA-ES; {} asks for a swarm",
                    of_swarm.unwrap_or("--method swarm")
                );
            }
            return Ok(None);
        }
        let usual = Searches::default();
        let agreeing = self.agreeing.map_or(usual.agreeing, Limit::value);
        Ok(Some(Searches { lanes: self.lanes, agreeing }))
    }
}
