//! `flockwork bench lineage`: the published kernels beside this project's.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::Args;
use flockwork::{
    Error,
    backend::{AnyBackend, Backend},
    bench::lineage::{self, Effort, Report, Request, Row, Table, WORKS, Work},
    plot::{self, Bar, Bars},
};
use indicatif::ProgressBar;

use crate::cli::{machine::Device, progress};

#[derive(Args)]
pub struct Lineage {
    /// Run only this publication; may be given several times [default: all].
    name: Vec<String>,
    #[command(flatten)]
    device: Device,
    /// Run only this table, such as "table 3"; may be given several times [default: all].
    #[arg(long, value_name = "NAME")]
    table: Vec<String>,
    /// Use small sizes, for which no times were published: seconds instead of minutes.
    #[arg(long)]
    brief: bool,
    /// Draw a bar chart (SVG) of each table into this folder, which is created if it does not
    /// exist.
    #[arg(long, value_name = "FOLDER")]
    plot: Option<PathBuf>,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

/// The publications asked for, each with the tables asked for.
fn asked(arguments: &Lineage) -> Result<Vec<&'static Work>, Error> {
    let works: Vec<&Work> = match &*arguments.name {
        [] => WORKS.iter().collect(),
        names => names.iter().map(|name| lineage::work(name)).collect::<Result<_, _>>()?,
    };
    let has = |work: &Work, name: &str| work.tables.iter().any(|table| table.name == name);
    for name in &arguments.table {
        if !works.iter().any(|work| has(work, name)) {
            let tables = |work: &&Work| {
                let names: Vec<_> = work.tables.iter().map(|table| table.name).collect();
                (!names.is_empty()).then(|| format!("{} ({})", names.join(", "), work.name))
            };
            let known: Vec<_> = works.iter().filter_map(tables).collect();
            let accepted = format!("one of {}", known.join(", "));
            return Err(Error::Option { option: "--table", value: format!("{name:?}"), accepted });
        }
    }
    let is_asked = |work: &&Work| {
        arguments.table.is_empty() || arguments.table.iter().any(|name| has(work, name))
    };
    Ok(works.into_iter().filter(is_asked).collect())
}

pub fn run(arguments: &Lineage) -> anyhow::Result<()> {
    let works = asked(arguments)?;
    if let Some(folder) = &arguments.plot {
        // Checked before anything takes long.
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create the folder {}", folder.display()))?;
    }
    let backend = arguments.device.select()?;
    let effort = if arguments.brief { Effort::Brief } else { Effort::Published };
    let request = Request { effort, tables: &arguments.table };
    if !arguments.json {
        say!("{}: {}", backend.name(), backend.description());
        if let Some(clocks) = super::clocks(&backend) {
            say!("{clocks}");
        }
    }
    for work in works {
        let bar = progress::line();
        let mut output = Output { work, arguments, bar: &bar, table: None, rows: Vec::new() };
        if !arguments.json {
            say!("\n## {}\n\n{}", work.title, work.source);
        }
        let measured = lineage::measure(work, &request, &backend, &mut |report| {
            output.tell(report).map_err(|error| Error::File {
                path: PathBuf::from("the standard output"),
                source: error.downcast().unwrap_or_else(io::Error::other),
            })
        });
        bar.finish_and_clear();
        measured?;
        if let Some(folder) = &arguments.plot {
            for table in work.tables {
                let rows: Vec<_> = output.rows.iter().filter(|r| r.table == table.name).collect();
                if !rows.is_empty() {
                    chart(&folder.join(file_name(work, table)), work, table, &rows, &backend)?;
                }
            }
        }
    }
    if let Some(clocks) = super::clocks(&backend).filter(|_| !arguments.json) {
        say!("\n{clocks}");
    }
    Ok(())
}

/// The output for one publication.
struct Output<'a> {
    work: &'static Work,
    arguments: &'a Lineage,
    /// A status line below the rows.
    bar: &'a ProgressBar,
    /// The name of the table whose rows are being printed.
    table: Option<&'static str>,
    /// All rows so far, for the charts.
    rows: Vec<Row>,
}

impl Output<'_> {
    fn tell(&mut self, report: Report) -> anyhow::Result<()> {
        let bar = self.bar;
        match report {
            Report::Progress(text) => bar.set_message(format!("{}: {text}", self.work.name)),
            Report::Note(text) => bar.suspend(|| self.note(&text))?,
            Report::Row(row) => {
                bar.suspend(|| self.row(&row))?;
                self.rows.push(row);
            }
        }
        Ok(())
    }

    fn note(&mut self, text: &str) -> anyhow::Result<()> {
        if self.arguments.json {
            say!("{}", serde_json::json!({ "work": self.work.name, "note": text }));
        } else {
            // After a note, the table needs a new head.
            self.table = None;
            say!("\n{text}");
        }
        Ok(())
    }

    fn row(&mut self, row: &Row) -> anyhow::Result<()> {
        let table = self.work.tables.iter().find(|table| table.name == row.table);
        if self.arguments.json {
            let mut object = serde_json::to_value(row)?;
            let gpu = table.and_then(|table| table.gpu).filter(|_| row.published.is_some());
            object["published_on"] = gpu.into();
            object["unit"] = table.map(|table| table.unit).into();
            object["ratio"] = row.ratio().into();
            say!("{object}");
            return Ok(());
        }
        if self.table.replace(row.table) != Some(row.table) {
            head(row.table, table, row.published.is_some())?;
        }
        let cell = |seconds: Option<f64>| seconds.map_or(String::new(), time);
        let ours = row.ours.map_or(String::new(), |o| format!("{} ({})", time(o.seconds), o.way));
        let ratio = row.ratio().map_or(String::new(), |ratio| format!("{ratio:.2}"));
        say!(
            "| {} | {} | {} | {} | {} to {} | {ours} | {ratio} | {} |",
            row.size,
            row.kernel,
            cell(row.published),
            time(row.seconds),
            time(row.range.0),
            time(row.range.1),
            row.checked
        );
        Ok(())
    }
}

fn head(name: &str, table: Option<&Table>, is_published: bool) -> anyhow::Result<()> {
    say!("");
    if let Some(table) = table {
        say!("### {name}: {}; {}\n", table.caption, table.unit);
    }
    let gpu = table.and_then(|table| table.gpu).filter(|_| is_published);
    let gpu = gpu.map_or(String::new(), |gpu| format!(" ({gpu})"));
    say!("| size | kernel | published{gpu} | here | least to most | ours | times ours | result |");
    say!("|---:|:---|---:|---:|---:|---:|---:|:---|");
    Ok(())
}

/// A file name such as `boudoudouh-2-dims.svg`.
fn file_name(work: &Work, table: &Table) -> String {
    let letter = |letter: char| if letter.is_alphanumeric() { letter } else { '-' };
    let words: String = table.name.to_lowercase().chars().map(letter).collect();
    format!("{}-{words}.svg", work.name)
}

/// Draws a table: for each size, the rows that are compared with this project's time, and that
/// time.
fn chart(
    path: &Path,
    work: &Work,
    table: &Table,
    rows: &[&Row],
    backend: &AnyBackend,
) -> anyhow::Result<()> {
    let is_compared = rows.iter().any(|row| row.ours.is_some());
    let mut groups: Vec<(String, Vec<Bar>)> = Vec::new();
    let mut least = f64::INFINITY;
    for row in rows.iter().filter(|row| row.ours.is_some() || !is_compared) {
        least = least.min(row.seconds);
        let at = groups.iter().position(|(size, _)| *size == row.size).unwrap_or_else(|| {
            groups.push((row.size.clone(), Vec::new()));
            groups.len() - 1
        });
        let bars = &mut groups[at].1;
        let is_ours = row.kernel.starts_with(OWN);
        bars.push(Bar { label: row.kernel, value: row.seconds, is_ours });
    }
    for (size, bars) in &mut groups {
        let own = rows.iter().find(|row| row.size == *size && row.ours.is_some());
        if let Some(ours) = own.and_then(|row| row.ours).filter(|_| !bars.iter().any(|b| b.is_ours))
        {
            least = least.min(ours.seconds);
            bars.push(Bar { label: OWN, value: ours.seconds, is_ours: true });
        }
    }
    let (scale, unit) = if least < 1e-3 { (1e6, "microseconds") } else { (1e3, "milliseconds") };
    for bar in groups.iter_mut().flat_map(|(_, bars)| bars) {
        bar.value *= scale;
    }
    let title = format!("{}: {}", work.name, table.caption);
    let subtitle = format!("{}; {}", table.unit, backend.description());
    let (title, subtitle) = (title.as_str(), subtitle.as_str());
    Ok(plot::bars(path, &Bars { title, subtitle, label: unit, groups: &groups })?)
}

/// How the names of this project's rows and bars begin.
const OWN: &str = "flockwork";

/// A time with three significant digits in a suitable unit.
fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "us"),
    };
    let decimals = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        let shown = [0.0, 1.5e-7, 2.346e-5, 9.87e-4, 0.0123, 0.5, 1.0, 12.34, 1234.5].map(time);
        let wanted = [
            "0.00 us", "0.15 us", "23.5 us", "987 us", "12.3 ms", "500 ms", "1.00 s", "12.3 s",
            "1234 s",
        ];
        assert_eq!(shown, wanted);
    }
}
