//! What a run shows and writes to files.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::bail;
use clap::Args;
use flockwork::swarm::{Options, Saved};

use super::{
    outputs::{self, Format, Named, Output},
    parse::whole,
};

#[derive(Args)]
#[command(next_help_heading = "What to keep and to show")]
pub struct Records {
    /// Record a sample of the swarm every N iterations: best, mean, spread, velocity [default:
    /// none; with --log or --plot about 1000 in the run, at least one every 1000 iterations].
    #[arg(long, value_name = "N", value_parser = whole::<u32>)]
    history: Option<u32>,
    /// Write each sample to FILE as a line of JSON as soon as it is taken; the first line states
    /// the run [default: none].
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Plot the samples when the run ends [default: none].
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    pub plot: Option<PathBuf>,
    /// Animate the particles over a map of the function, which must have 2 dimensions, when the run
    /// ends [default: none].
    #[arg(long, value_name = "FILE.gif")]
    pub animate: Option<PathBuf>,
    /// For --animate, record the particles' positions every N iterations [default: 100 frames in
    /// the run].
    #[arg(long, value_name = "N", requires = "animate", value_parser = whole::<u32>)]
    frames: Option<u32>,
    /// Save the run to FILE, replacing it atomically, so that `resume` can continue it [default:
    /// none; of a resumed run: the same file].
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// How often to save; the run is also saved when it ends.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    save_every: f64,
    /// Print the result as one JSON object.
    #[arg(long)]
    pub json: bool,
}

pub fn seconds(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|&value| Duration::try_from_secs_f64(value).is_ok());
    value.ok_or_else(|| "expected a number of seconds, 0 or more".to_owned())
}

impl Records {
    /// A picture that was asked for and that only a swarm has.
    pub fn of_swarm(&self) -> Option<&'static str> {
        self.animate.is_some().then_some("--animate")
    }

    /// Sets how often the run records samples and frames, as far as that is not set already.
    pub fn apply(&self, options: &mut Options) {
        if options.searches.is_some() {
            // A sample a round: rounds grow.
            if self.log.is_some() || self.plot.is_some() {
                options.history.get_or_insert(1);
            }
            if self.history.is_some() {
                options.history = self.history;
            }
            return;
        }
        let swarms = options.islands.map_or(1, |islands| islands.count.max(1));
        let per_iteration = u64::from(options.particles).max(1) * u64::from(swarms);
        let evaluations = options.stop.evaluations.unwrap_or(u64::MAX);
        let iterations = u64::from(options.iterations).min(evaluations / per_iteration);
        let stride = |times: u64| (iterations / times).max(1) as u32;
        if self.history.is_some() {
            options.history = self.history;
        } else if self.log.is_some() || self.plot.is_some() {
            options.history.get_or_insert(stride(1000).min(1000));
        }
        if self.frames.is_some() {
            options.frames = self.frames;
        } else if self.animate.is_some() {
            options.frames.get_or_insert(stride(100));
        }
    }

    /// Checks, before hours of work, that every output can be written, and that none is an input or
    /// the run being resumed.
    pub fn check(&self, dims: u32, inputs: &[Named], resumed: Option<&Path>) -> anyhow::Result<()> {
        if self.animate.is_some() && dims != 2 {
            bail!("--animate draws functions of 2 dimensions; this one has {dims}");
        }
        let outputs = [
            ("--plot", self.plot.as_deref(), Format::Picture),
            ("--animate", self.animate.as_deref(), Format::Animation),
            ("--save", self.save.as_deref(), Format::Saved),
            ("--log", self.log.as_deref(), Format::Log),
        ];
        if let Some(resumed) = resumed {
            not_over(resumed, "the saved run itself", &outputs)?;
        }
        outputs::check(inputs, &outputs)
    }

    /// Where and how often the run is saved, if it is.
    pub fn saved(&self, path: Option<&Path>, note: String) -> Option<Saved> {
        let every = Duration::from_secs_f64(self.save_every);
        path.map(|path| Saved { path: path.to_owned(), every, note })
    }
}

/// Refuses any output but --save that names the saved run being resumed.
pub fn not_over(resumed: &Path, called: &str, outputs: &[Output]) -> anyhow::Result<()> {
    for &(option, path, format) in outputs {
        if let Some(path) = path
            && format != Format::Saved
            && outputs::same(resumed, path)
        {
            bail!("{option} is {}, {called}", path.display());
        }
    }
    Ok(())
}
