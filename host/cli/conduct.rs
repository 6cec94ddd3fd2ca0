//! A run from its start to its report.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use anyhow::bail;
use flockwork::{
    Error,
    swarm::{Outcome, Progress, Sample, Saved},
};

use super::{
    interrupt, job::Job, log::Log, pictures, progress::Bar, records::Records, report::Run,
};

/// Runs `go`, passing it where to save and an observer, then prints the report and writes the files
/// asked for; of several processes only the first does. `earlier` holds the samples of a resumed run; the log begins with them.
pub fn conduct(
    run: &Run,
    job: &Job,
    records: &Records,
    saved: Option<Saved>,
    earlier: &[Sample],
    go: impl FnOnce(
        Option<Saved>,
        &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> flockwork::Result<Outcome>,
) -> anyhow::Result<()> {
    interrupt::listen()?;
    if !job.is_first() {
        // The first one decides when to stop.
        return Ok(go(None, &mut |_| ControlFlow::Continue(())).map(|_| ())?);
    }
    let mut log = match &records.log {
        Some(path) => Some(Log::create(path, &run.statement())?),
        None => None,
    };
    if let Some(log) = &mut log {
        log.samples(earlier);
    }
    let kept: Option<PathBuf> = saved.as_ref().map(|saved| saved.path.clone());
    job.watch(kept.as_deref());
    let bar = Bar::new(run.options, records.json);
    let outcome = go(saved, &mut |progress| {
        bar.show(progress);
        if let Some(log) = &mut log {
            log.samples(progress.samples);
        }
        if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish();
    if let (Err(Error::Interrupted), Some(path)) = (&outcome, &kept) {
        let path = path.display();
        bail!("stopped on request before anything was found; go on with: flockwork resume {path}");
    }
    let outcome = outcome?;
    if let Some(log) = &mut log {
        log.result(&outcome);
    }

    // Errors from here on must not lose the result, so the report is printed before they are
    // returned.
    let logged = log.map_or(Ok(()), Log::finish);
    let mut written: Vec<&Path> = Vec::new();
    if logged.is_ok() {
        written.extend(records.log.as_deref());
    }
    let drawn = draw(run, records, &outcome, &mut written);
    let report = if records.json {
        run.json(&outcome)
    } else {
        run.text(&outcome, &written, kept.as_deref())
    };
    super::print(&report)?;
    if !outcome.is_feasible() {
        // What could not be drawn for want of a value is no news.
        bail!("no point with a value was found that satisfies all constraints");
    }
    logged.and(drawn)
}

/// Draws the pictures asked for and adds each one drawn to `written`.
fn draw<'a>(
    run: &Run,
    records: &'a Records,
    outcome: &Outcome,
    written: &mut Vec<&'a Path>,
) -> anyhow::Result<()> {
    if let Some(path) = &records.plot {
        pictures::plot(path, run, outcome)?;
        written.push(path);
    }
    if let Some(path) = &records.animate {
        pictures::animate(path, run, outcome)?;
        written.push(path);
    }
    Ok(())
}
