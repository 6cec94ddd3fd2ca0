//! Progress bars on a terminal.

use std::{borrow::Cow, io::IsTerminal};

use flockwork::swarm::{Options, Progress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The length of the bar.
const PARTS: f64 = 10_000.0;

pub struct Bar<'a> {
    options: &'a Options,
    bar: ProgressBar,
}

impl<'a> Bar<'a> {
    pub fn new(options: &'a Options, quiet: bool) -> Self {
        let target = target(quiet);
        let style = ProgressStyle::with_template("{bar:40} {prefix}, {eta} left, best {msg}")
            .expect("a valid template");
        let bar = ProgressBar::with_draw_target(Some(PARTS as u64), target).with_style(style);
        Self { options, bar }
    }

    pub fn show(&self, progress: &Progress) {
        let (share, what) = nearest_limit(self.options, progress);
        self.bar.set_message(format!("{:.6e}", progress.value));
        self.bar.set_prefix(what);
        self.bar.set_position((share * PARTS) as u64);
    }

    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// Where a bar is drawn. Without a terminal it would only clutter a log.
fn target(quiet: bool) -> ProgressDrawTarget {
    if quiet || !std::io::stderr().is_terminal() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    }
}

/// A bar that counts blocks of vertices.
pub fn blocks(quiet: bool) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} blocks of vertices, {eta} left")
        .expect("a valid template");
    ProgressBar::with_draw_target(None, target(quiet)).with_style(style)
}

/// A bar that counts data sets.
pub fn data_sets(all: usize, quiet: bool) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} data sets, {eta} left")
        .expect("a valid template");
    ProgressBar::with_draw_target(Some(all as u64), target(quiet)).with_style(style)
}

/// A line of text saying what is being done.
#[cfg(feature = "lineage")]
pub fn line() -> ProgressBar {
    let style = ProgressStyle::with_template("{msg}").expect("a valid template");
    ProgressBar::with_draw_target(None, target(false)).with_style(style)
}

/// Of iterations, evaluations and time, the limit the run is nearest to: the share done, and a
/// label.
fn nearest_limit(options: &Options, progress: &Progress) -> (f64, Cow<'static, str>) {
    let stop = &options.stop;
    let seconds = progress.elapsed.as_secs_f64();
    let share = |done: f64, all: f64| if all > 0.0 { (done / all).min(1.0) } else { 1.0 };
    let iterations = share(f64::from(progress.iteration), f64::from(progress.iterations));
    let mut nearest = match options.searches {
        None => (iterations, format!("{}/{} iterations", progress.iteration, progress.iterations)),
        Some(_) => (0.0, format!("{} searches ended", progress.restarts)),
    };
    if let Some(most) = stop.evaluations {
        let evaluations = share(progress.evaluations as f64, most as f64);
        if evaluations > nearest.0 {
            nearest = (evaluations, format!("{}/{most} evaluations", progress.evaluations));
        }
    }
    if let Some(most) = stop.seconds {
        let time = share(seconds, most);
        if time > nearest.0 {
            nearest = (time, format!("{seconds:.1}/{most} seconds"));
        }
    }
    (nearest.0, nearest.1.into())
}
