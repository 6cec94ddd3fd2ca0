//! Which share of many targets was reached by when.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::axis::Axis;
use super::page::{
    self, BLUE, FORMATS, HEAD, LABELS, LOWER, MARGIN, ORANGE, Page, TICK, UPPER, WIDTH,
};
use super::{file, text, width};
use crate::{Error, Result};

/// The contents of a picture of shares.
///
/// ```
/// use flockwork::plot::{Ecdf, Reached, ecdf};
///
/// let lines = [Reached { name: "5-D", at: &[1.0, 20.0, 300.0], of: 4 }];
/// let picture = Ecdf { title: "Targets", subtitle: "", label: "evaluations", lines: &lines };
/// assert!(ecdf("targets.jpeg".as_ref(), &picture).is_err(), "an SVG or a PNG");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ecdf<'a> {
    /// The title; shortened if it is too long.
    pub title: &'a str,
    /// The subtitle, in smaller type.
    pub subtitle: &'a str,
    /// What is counted until a target is reached.
    pub label: &'a str,
    /// A line each, at most five.
    pub lines: &'a [Reached<'a>],
}

/// When targets were reached.
///
/// ```
/// use flockwork::plot::Reached;
///
/// // Three of four targets.
/// let line = Reached { name: "5-D", at: &[1.0, 20.0, 300.0], of: 4 };
/// assert!(line.at.len() <= line.of);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached<'a> {
    /// The line's name.
    pub name: &'a str,
    /// When each target that was reached was reached, greater than zero, in any order.
    pub at: &'a [f64],
    /// How many targets there were.
    pub of: usize,
}

/// Draws the empirical cumulative distribution (ECDF) of when targets were reached, over a logarithmic
/// axis, as an SVG or a PNG by the file's name.
///
/// ```
/// use flockwork::plot::{Ecdf, Reached, ecdf};
///
/// let lines = [Reached { name: "5-D", at: &[1.0, 20.0, 300.0], of: 4 }];
/// let picture = Ecdf { title: "Targets", subtitle: "", label: "evaluations", lines: &lines };
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("targets.svg");
/// ecdf(&path, &picture)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Format`] for another file name ending, [`Error::Option`] if no target was reached, if
/// more were than there are, or if there are too many lines, [`Error::File`] if the file cannot be
/// written.
pub fn ecdf(path: &Path, data: &Ecdf) -> Result<()> {
    let extension = file::extension(path, FORMATS)?;
    page::save(path, extension, &Chart::new(data)?)
}

const COLOURS: [RGBColor; 5] = [
    BLUE,
    ORANGE,
    RGBColor(0x1b, 0x8a, 0x5a),
    RGBColor(0x8e, 0x44, 0xad),
    RGBColor(0x55, 0x55, 0x55),
];

/// Height of the panel.
const HEIGHT: u32 = UPPER + LOWER / 2;

/// Everything about the picture that does not depend on its format.
struct Chart<'a> {
    data: &'a Ecdf<'a>,
    across: Axis,
    up: Axis,
    /// The corners of each line.
    lines: Vec<Vec<(f64, f64)>>,
}

impl<'a> Chart<'a> {
    fn new(data: &'a Ecdf<'a>) -> Result<Self> {
        let wrong = |value: String, accepted: &str| {
            Err(Error::Option { option: "lines", value, accepted: accepted.to_owned() })
        };
        if data.lines.len() > COLOURS.len() {
            return wrong(format!("a list of {}", data.lines.len()), "at most five lines");
        }
        let fits = |line: &Reached| {
            line.at.len() <= line.of && line.at.iter().all(|at| *at > 0.0 && at.is_finite())
        };
        if let Some(line) = data.lines.iter().find(|line| !fits(line)) {
            return wrong(
                format!("{:?}, {} of {}", line.name, line.at.len(), line.of),
                "numbers greater than zero, no more than there are targets",
            );
        }
        let all = || data.lines.iter().flat_map(|line| line.at.iter().copied());
        let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
        let across = Axis::new([low, high].into_iter(), true, 0.0);
        let Some(across) = across.filter(|_| low.is_finite()) else {
            return wrong("no target that was reached".to_owned(), "at least one");
        };
        let across = across.marked(|labels| labels.len() <= 9);
        let up = Axis::exact(0.0, 1.0).marked(|labels| labels.len() <= 6);
        let corners = |line: &Reached| {
            let mut at = line.at.to_vec();
            at.sort_by(f64::total_cmp);
            let share = |count: usize| up.place(count as f64 / line.of.max(1) as f64);
            let mut corners = Vec::new();
            for (before, at) in at.iter().enumerate() {
                let x = across.place(*at);
                corners.extend([(x, share(before)), (x, share(before + 1))]);
            }
            corners.push((across.place(high), share(at.len())));
            corners
        };
        let lines = data.lines.iter().map(corners).collect();
        Ok(Self { data, across, up, lines })
    }
}

impl Page for Chart<'_> {
    fn size(&self, scale: u32) -> (u32, u32) {
        (WIDTH * scale, (HEAD + HEIGHT + MARGIN) * scale)
    }

    fn head(&self) -> [&str; 2] {
        [self.data.title, self.data.subtitle]
    }

    fn draw_on<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        scale: u32,
        pieces: bool,
    ) -> std::result::Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let scaled = |length: u32| (length * scale) as i32;
        let style = |size: f64| text(size * f64::from(scale));
        let widest = self.up.labels().iter().map(|label| width(label, &style(TICK))).max();
        let (_, rest) = root.split_vertically(scaled(HEAD));
        let (area, _) = rest.split_vertically(scaled(HEIGHT));
        let mut chart = ChartBuilder::on(&area)
            .margin_left(scaled(MARGIN - 8))
            .margin_right(scaled(MARGIN + 20))
            .x_label_area_size(scaled(LABELS))
            .y_label_area_size(widest.unwrap_or(0) + scaled(36))
            .build_cartesian_2d(self.across.clone(), self.up.clone())?;
        let across = self.across.title(self.data.label);
        page::mesh(&mut chart, [&across, "share of the targets"], scale)?;
        for ((line, corners), colour) in self.data.lines.iter().zip(&self.lines).zip(COLOURS) {
            let stroke = colour.stroke_width(2 * scale);
            page::name(&mut chart, line.name, stroke, scale)?;
            // plotters draws spikes at sharp bends of a wide line in a bitmap.
            let piece = if pieces { 2 } else { corners.len().max(2) };
            for piece in corners.windows(piece) {
                chart.draw_series(LineSeries::new(piece.iter().copied(), stroke))?;
            }
        }
        page::legend(&mut chart, SeriesLabelPosition::UpperLeft, scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(at: &[f64], of: usize) -> Result<String> {
        let lines = [Reached { name: "20-D", at, of }, Reached { name: "5-D", at: &[7.0], of: 1 }];
        let picture = Ecdf { title: "a < b", subtitle: "CPU", label: "evaluations", lines: &lines };
        Ok(String::from_utf8(Chart::new(&picture)?.svg().unwrap()).unwrap())
    }

    #[test]
    fn everything_is_named() {
        let svg = svg(&[3.0, 1e4, 20.0], 5).unwrap();
        for wanted in ["a &lt; b", "CPU", "evaluations", "share of the targets", "20-D", "5-D"] {
            assert!(svg.contains(wanted), "{wanted}");
        }
    }

    #[test]
    fn a_line_ends_at_its_share() {
        let lines = [Reached { name: "", at: &[300.0, 1.0, 20.0], of: 4 }];
        let picture = Ecdf { title: "", subtitle: "", label: "", lines: &lines };
        let chart = Chart::new(&picture).unwrap();
        assert_eq!(chart.lines[0].first().unwrap().1, 0.0);
        assert_eq!(chart.lines[0].last().unwrap().1, chart.up.place(0.75));
        assert!(chart.lines[0].is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1));
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        for (at, of) in [(&[1.0, 2.0][..], 1), (&[0.0], 1), (&[f64::NAN], 1), (&[-1.0], 2)] {
            assert!(svg(at, of).is_err());
        }
        let none = Ecdf { title: "", subtitle: "", label: "", lines: &[] };
        assert!(Chart::new(&none).is_err());
    }
}
