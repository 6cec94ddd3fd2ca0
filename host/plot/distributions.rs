//! How parameters of many fits are distributed, and some of the fits.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::axis::Axis;
use super::convergence::side_by_side;
use super::page::{self, BLUE, FORMATS, HEAD, LABEL, LABELS, MARGIN, ORANGE, Page, TICK, WIDTH};
use super::{drawable, file, fit, text, width};
use crate::{Error, Result};

/// The contents of a picture of many fits.
///
/// ```
/// use flockwork::plot::{Distributions, distributions};
///
/// let picture = Distributions {
///     title: "Decays",
///     subtitle: "3 data sets",
///     parameters: &[("rate", &[1.0, 1.5, 1.2])],
///     fits: &[],
/// };
/// assert!(distributions("rates.jpeg".as_ref(), &picture).is_err(), "an SVG or a PNG");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distributions<'a> {
    /// The title; shortened if it is too long.
    pub title: &'a str,
    /// The subtitle, in smaller type.
    pub subtitle: &'a str,
    /// Each parameter's name and its values; a histogram of those that are finite is drawn.
    pub parameters: &'a [(&'a str, &'a [f64])],
    /// Some of the fits.
    pub fits: &'a [ShownFit<'a>],
}

/// A data set and its fit.
///
/// ```
/// use flockwork::plot::ShownFit;
///
/// let shown = ShownFit {
///     name: "best",
///     x_label: "time",
///     points: &[[0.0, 1.0], [1.0, 2.0]],
///     curve: &[[0.0, 1.1], [1.0, 1.9]],
/// };
/// assert_eq!(shown.points.len(), shown.curve.len());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownFit<'a> {
    /// What it is called.
    pub name: &'a str,
    /// The name of what goes to the right.
    pub x_label: &'a str,
    /// The data.
    pub points: &'a [[f64; 2]],
    /// The fitted curve, from the left to the right.
    pub curve: &'a [[f64; 2]],
}

/// Draws a histogram of each parameter and the fits beside each other, as an SVG or a PNG by the file's
/// name.
///
/// ```
/// use flockwork::plot::{Distributions, distributions};
///
/// let rates: Vec<f64> = (0..500).map(|n| 1.0 + (f64::from(n) * 0.7).sin() / 9.0).collect();
/// let parameters = [("rate", &rates[..])];
/// let picture = Distributions { title: "Decays", subtitle: "", parameters: &parameters, fits: &[] };
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("rates.svg");
/// distributions(&path, &picture)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Format`] for another file name ending, [`Error::Option`] if there is nothing to draw,
/// [`Error::File`] if the file cannot be written.
pub fn distributions(path: &Path, data: &Distributions) -> Result<()> {
    let extension = file::extension(path, FORMATS)?;
    let chart = Chart::new(data)?;
    page::save(path, extension, &chart)
}

/// Panels beside each other.
const ACROSS: u32 = 3;
/// Height of a panel.
const HEIGHT: u32 = 250;
/// Bars of a histogram.
const BARS: usize = 40;

/// A panel.
struct Shown {
    x: Axis,
    y: Axis,
    labels: [String; 2],
    bars: Vec<[(f64, f64); 2]>,
    points: Vec<(f64, f64)>,
    line: Vec<(f64, f64)>,
}

/// Everything about the picture that does not depend on its format.
struct Chart {
    head: [String; 2],
    panels: Vec<Shown>,
}

impl Chart {
    fn new(data: &Distributions) -> Result<Self> {
        let histograms =
            data.parameters.iter().filter_map(|(name, values)| histogram(name, values));
        let fits = data.fits.iter().filter_map(shown);
        let panels: Vec<Shown> = histograms.chain(fits).collect();
        if panels.is_empty() {
            return Err(Error::Option {
                option: "parameters",
                value: "none with a finite value".to_owned(),
                accepted: "at least one; otherwise there is nothing to draw".to_owned(),
            });
        }
        Ok(Self { head: [data.title, data.subtitle].map(drawable), panels })
    }
}

/// Room for an axis's labels to the right.
fn marked(axis: Axis) -> Axis {
    axis.marked(|labels| side_by_side(labels, (WIDTH / ACROSS) as i32 - 120))
}

/// Room for an axis's labels upwards.
fn marked_up(axis: Axis) -> Axis {
    axis.marked(|labels| labels.len() as u32 * 30 <= HEIGHT - LABELS)
}

fn named(axis: &Axis, label: &str, room: u32) -> String {
    fit(&axis.title(&drawable(label)), &text(LABEL), room as i32)
}

fn histogram(name: &str, values: &[f64]) -> Option<Shown> {
    let mut values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    values.sort_unstable_by(f64::total_cmp);
    // What is far off must not flatten the others: the middle 99 % and some room.
    let at = |share: f64| values.get(((values.len() - 1) as f64 * share) as usize).copied();
    if values.is_empty() {
        return None;
    }
    let (low, high) = (at(0.005)?, at(0.995)?);
    let room = 0.1 * (high - low);
    let (low, high) = (values[0].max(low - room), values[values.len() - 1].min(high + room));
    let (low, high) = match high - low {
        apart if apart > 0.0 && apart.is_finite() => (low, high),
        _ => (low - 0.5 * low.abs().max(1.0), low + 0.5 * low.abs().max(1.0)),
    };
    let bars = BARS.min((values.len() as f64).sqrt().ceil() as usize * 2).max(5);
    let step = (high - low) / bars as f64;
    let mut counts = vec![0_u32; bars];
    for value in values.iter().filter(|value| (low..=high).contains(*value)) {
        counts[(((value - low) / step) as usize).min(bars - 1)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    let x = marked(Axis::linear_of([low, high].into_iter())?);
    let y = marked_up(Axis::exact(0.0, 1.1 * f64::from(most.max(1))));
    let bar = |(nth, count): (usize, &u32)| {
        let from = low + nth as f64 * step;
        let corner = |at: f64, height: f64| (x.place(at), y.place(height));
        [corner(from, 0.0), corner(from + step, f64::from(*count))]
    };
    let bars = counts.iter().enumerate().map(bar).collect();
    let labels = [named(&x, name, WIDTH / ACROSS - 90), named(&y, "data sets", HEIGHT - LABELS)];
    Some(Shown { x, y, labels, bars, points: Vec::new(), line: Vec::new() })
}

fn shown(data: &ShownFit) -> Option<Shown> {
    let finite = |points: &[[f64; 2]]| -> Vec<[f64; 2]> {
        points.iter().copied().filter(|[x, y]| x.is_finite() && y.is_finite()).collect()
    };
    let (points, curve) = (finite(data.points), finite(data.curve));
    let x = marked(Axis::linear_of(points.iter().map(|point| point[0]))?);
    let heights = points.iter().chain(&curve).map(|point| point[1]);
    let y = marked_up(Axis::linear_of(heights)?);
    let place = |&[across, up]: &[f64; 2]| (x.place(across), y.place(up));
    let labels =
        [named(&x, data.x_label, WIDTH / ACROSS - 90), named(&y, data.name, HEIGHT - LABELS)];
    let (points, line) = (points.iter().map(place).collect(), curve.iter().map(place).collect());
    Some(Shown { x, y, labels, bars: Vec::new(), points, line })
}

impl Page for Chart {
    fn size(&self, scale: u32) -> (u32, u32) {
        let rows = (self.panels.len() as u32).div_ceil(ACROSS);
        (WIDTH * scale, (HEAD + rows * HEIGHT + MARGIN) * scale)
    }

    fn head(&self) -> [&str; 2] {
        [&self.head[0], &self.head[1]]
    }

    fn draw_on<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        scale: u32,
        _: bool,
    ) -> std::result::Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let scaled = |length: u32| (length * scale) as i32;
        let style = |size: f64| text(size * f64::from(scale));
        let (_, mut rest) = root.split_vertically(scaled(HEAD));
        for row in self.panels.chunks(ACROSS as usize) {
            let (line, below) = rest.split_vertically(scaled(HEIGHT));
            rest = below;
            let mut beside = line;
            for Shown { x, y, labels, bars, points, line } in row {
                let (area, others) = beside.split_horizontally(scaled(WIDTH / ACROSS));
                beside = others;
                let widest = y.labels().iter().map(|label| width(label, &style(TICK))).max();
                let mut chart = ChartBuilder::on(&area)
                    .margin_left(scaled(MARGIN - 8))
                    .margin_right(scaled(MARGIN - 8))
                    .x_label_area_size(scaled(LABELS))
                    .y_label_area_size(widest.unwrap_or(0) + scaled(30))
                    .build_cartesian_2d(x.clone(), y.clone())?;
                page::mesh(&mut chart, [&labels[0], &labels[1]], scale)?;
                let bar =
                    |&corners: &[(f64, f64); 2]| Rectangle::new(corners, BLUE.mix(0.6).filled());
                chart.draw_series(bars.iter().map(bar))?;
                let dot = |&at: &(f64, f64)| Circle::new(at, scaled(3), BLUE.mix(0.6).filled());
                chart.draw_series(points.iter().map(dot))?;
                let stroke = ORANGE.stroke_width(2 * scale);
                // plotters draws spikes at sharp bends of a wide line in a bitmap.
                for piece in line.windows(2) {
                    chart.draw_series(LineSeries::new(piece.iter().copied(), stroke))?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(parameters: &[(&str, &[f64])], fits: &[ShownFit]) -> Result<String> {
        let picture = Distributions { title: "a < b", subtitle: "CPU", parameters, fits };
        Ok(String::from_utf8(Chart::new(&picture)?.svg().unwrap()).unwrap())
    }

    #[test]
    fn everything_is_named_and_drawn() {
        let rates: Vec<f64> = (0..1000).map(|n| f64::from(n).sin()).collect();
        let points = [[0.0, 1.0], [1.0, 2.0], [2.0, 2.5]];
        let fits = [ShownFit { name: "worst", x_label: "time", points: &points, curve: &points }];
        let svg = svg(&[("rate", &rates), ("unknown", &[f64::NAN])], &fits).unwrap();
        for wanted in ["a &lt; b", "CPU", "rate", "data sets", "worst", "time"] {
            assert!(svg.contains(wanted), "{wanted}");
        }
        assert!(!svg.contains("unknown"));
        assert_eq!(svg.matches("<circle").count(), 3);
    }

    #[test]
    fn every_value_of_the_middle_is_in_a_bar() {
        let values: Vec<f64> = (0..200).map(|n| f64::from(n % 10)).collect();
        let shown = histogram("n", &values).unwrap();
        let heights: f64 = shown.bars.iter().map(|bar| bar[1].1 - bar[0].1).sum();
        assert_eq!(heights.round(), 200.0);
    }

    #[test]
    fn odd_numbers() {
        for values in [&[5.0][..], &[0.0; 3], &[1e300, -1e300], &[f64::INFINITY, 1.0]] {
            assert!(svg(&[("x", values)], &[]).unwrap().contains("<rect"));
        }
        assert!(svg(&[("x", &[f64::NAN])], &[]).is_err());
        assert!(svg(&[], &[]).is_err());
    }
}
