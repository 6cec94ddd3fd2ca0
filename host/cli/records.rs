//! What a run leaves behind and shows.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail};
use clap::Args;
use flockwork::swarm::{Options, Saved};

#[derive(Args)]
#[command(next_help_heading = "What to keep and to show")]
pub struct Records {
    /// Keep a sample of the swarm after every N iterations: best, mean, spread, velocity
    /// [default: none; with --log or --plot about 1000 in the run, and no fewer than every 1000
    /// iterations].
    #[arg(long, value_name = "N")]
    history: Option<u32>,
    /// Write each sample to FILE as it comes, as a line of JSON; the first line states the run
    /// [default: none].
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Draw the samples when the run ends [default: none].
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    pub plot: Option<PathBuf>,
    /// Show the particles over the map of the function, which must have 2 dimensions, when the run
    /// ends [default: none].
    #[arg(long, value_name = "FILE.gif")]
    pub animate: Option<PathBuf>,
    /// For --animate, keep where the particles are after every N iterations [default: 100 times in
    /// the run].
    #[arg(long, value_name = "N", requires = "animate")]
    frames: Option<u32>,
    /// Keep the run in FILE, whole or not at all, so that `resume` can go on with it [default: none;
    /// of a saved run: the same file].
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// How often to write that file; it is also written at the end.
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
    /// What the run has to keep for that: the strides of history and frames, which may have been
    /// set before.
    pub fn apply(&self, options: &mut Options) {
        let per_iteration = u64::from(options.particles).max(1);
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

    /// Whether everything can be written, before hours of work; and not over the saved run that goes on.
    pub fn check(&self, dims: u32, resumed: Option<&Path>) -> anyhow::Result<()> {
        if self.animate.is_some() && dims != 2 {
            bail!("--animate draws functions of 2 dimensions; this one has {dims}");
        }
        let outputs: [(_, _, &[&str]); 4] = [
            ("--plot", &self.plot, &["svg", "png"]),
            ("--animate", &self.animate, &["gif"]),
            ("--save", &self.save, &[]),
            ("--log", &self.log, &[]),
        ];
        let given = || outputs.iter().filter_map(|(o, path, e)| Some((*o, path.as_deref()?, *e)));
        for (nth, (option, path, endings)) in given().enumerate() {
            let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
            if !endings.is_empty() && !endings.iter().any(|e| ending.eq_ignore_ascii_case(e)) {
                let accepted: Vec<_> = endings.iter().map(|e| format!(".{e}")).collect();
                let accepted = accepted.join(" or ");
                bail!("{option} is {}; the file's name must end in {accepted}", path.display());
            }
            check_place(path).with_context(|| format!("{option} is {}", path.display()))?;
            if resumed == Some(path) && option != "--save" {
                bail!("{option} is {}, the saved run itself", path.display());
            }
            if let Some((other, ..)) = given().take(nth).find(|(_, other, _)| *other == path) {
                bail!("{other} and {option} name the same file, {}", path.display());
            }
        }
        match &self.save {
            Some(path) => check_overwritten(path),
            None => Ok(()),
        }
    }

    /// How the run is kept in a file, if it is.
    pub fn saved(&self, path: Option<&Path>, note: String) -> Option<Saved> {
        let every = Duration::from_secs_f64(self.save_every);
        path.map(|path| Saved { path: path.to_owned(), every, note })
    }
}

/// Whether there is a folder to write this file to.
pub fn check_place(path: &Path) -> anyhow::Result<()> {
    if path.is_dir() {
        bail!("that is a folder, not a file");
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => bail!("there is no folder {}", folder.display()),
        _ => Ok(()),
    }
}

/// A saved run takes the place of another, but not of a file that is something else.
pub fn check_overwritten(path: &Path) -> anyhow::Result<()> {
    let Ok(file) = File::open(path) else { return Ok(()) };
    let mut first = Vec::new();
    file.take(8).read_to_end(&mut first).with_context(|| path.display().to_string())?;
    if !first.is_empty() && first != b"flockrun" {
        bail!("--save is {}, which is there and no saved run: it is left alone", path.display());
    }
    Ok(())
}
