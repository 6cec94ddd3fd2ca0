//! Arguments that make several swarms of one.

use clap::Args;
use flockwork::swarm::{Islands, Migration};

use super::parse::{choice, whole};

#[derive(Args)]
#[command(next_help_heading = "Islands")]
pub struct IslandArguments {
    /// Run N swarms in place of one, each with a seed of its own and as many particles as --particles
    /// says, that now and then send each other their best. The result depends on N, and not on how the
    /// swarms are dealt out to GPUs [default: one swarm].
    #[arg(long, value_name = "N", value_parser = whole::<u32>)]
    islands: Option<u32>,
    #[arg(
        long,
        value_name = "ITERATIONS",
        requires = "islands",
        help = format!(
            "Send after so many iterations; it arrives after as many more [default: {}]",
            Islands::default().every
        ),
        value_parser = whole::<u32>
    )]
    migrate_every: Option<u32>,
    #[arg(
        long,
        value_name = "M",
        requires = "islands",
        help = format!("Send so many particles [default: {}]", Islands::default().migrants),
        value_parser = whole::<u32>
    )]
    migrants: Option<u32>,
    #[arg(
        long,
        value_name = "GRAPH",
        requires = "islands",
        value_parser = choice(Migration::ALL, Migration::name),
        help = format!(
            "From where an island hears: from the one before (ring), from its four neighbours on a grid \
             (torus), from all others (all), or from two others that the seed draws each time (random) \
             [default: {}]",
            Migration::default()
        )
    )]
    migration: Option<Migration>,
}

impl IslandArguments {
    /// The islands that take the place of a swarm, if any.
    pub fn islands(&self) -> Option<Islands> {
        let usual = Islands::of(self.islands?);
        Some(Islands {
            every: self.migrate_every.unwrap_or(usual.every),
            migrants: self.migrants.unwrap_or(usual.migrants),
            migration: self.migration.unwrap_or(usual.migration),
            ..usual
        })
    }

    /// An option that was given and that only swarms have.
    pub fn of_swarm(&self) -> Option<&'static str> {
        self.islands.is_some().then_some("--islands")
    }
}
