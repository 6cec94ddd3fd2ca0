//! Data, the fitted curve, and the residuals.

use std::{fmt, path::Path};

use plotters::coord::Shift;
use plotters::prelude::*;

use super::axis::{Axis, count};
use super::convergence::side_by_side;
use super::page::{
    self, BLUE, FORMATS, HEAD, LABEL, LABELS, LOWER, MARGIN, ORANGE, Page, TICK, UPPER, WIDTH,
};
use super::{FAINT_INK, drawable, file, fit, text, width};
use crate::{Error, Result};

/// The contents of a plot of a fit.
///
/// ```
/// use flockwork::plot::{Fitting, fitting};
///
/// let picture = Fitting {
///     title: "A line",
///     subtitle: "slope 2",
///     x_label: "x",
///     y_label: "y",
///     points: &[[0.0, 0.1], [1.0, 1.9]],
///     residuals: &[[0.0, 0.1], [1.0, -0.1]],
///     curve: &|x| 2.0 * x,
///     curve_name: "2 x",
/// };
/// assert!(fitting("line.jpeg".as_ref(), &picture).is_err(), "an SVG or a PNG");
/// ```
#[derive(Clone, Copy)]
pub struct Fitting<'a> {
    /// The title; shortened if it is too long.
    pub title: &'a str,
    /// The subtitle, in smaller type, such as the parameters.
    pub subtitle: &'a str,
    /// The argument's name.
    pub x_label: &'a str,
    /// The target's name.
    pub y_label: &'a str,
    /// The data; at least one pair must be finite.
    pub points: &'a [[f64; 2]],
    /// The residuals, at the same places.
    pub residuals: &'a [[f64; 2]],
    /// The curve.
    pub curve: &'a dyn Fn(f64) -> f64,
    /// The curve's name in the legend, such as `the fitted curve`.
    pub curve_name: &'a str,
}

impl fmt::Debug for Fitting<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter
            .debug_struct("Fitting")
            .field("title", &self.title)
            .field("x_label", &self.x_label)
            .field("y_label", &self.y_label)
            .field("points", &self.points.len())
            .field("curve_name", &self.curve_name)
            .finish_non_exhaustive()
    }
}

/// Plots data and the fitted curve, and the residuals in a second panel, as an SVG or a PNG by the
/// file's name. Of many points in the same spot only one is drawn. The cost is proportional to the
/// number of points.
///
/// ```
/// use flockwork::plot::{Fitting, fitting};
///
/// let points: Vec<[f64; 2]> = (0..50).map(|i| f64::from(i) / 10.0).map(|x| [x, x.sin()]).collect();
/// let residuals: Vec<[f64; 2]> = points.iter().map(|&[x, _]| [x, 0.01 * (9.0 * x).cos()]).collect();
/// let picture = Fitting {
///     title: "A wave",
///     subtitle: "",
///     x_label: "time",
///     y_label: "height",
///     points: &points,
///     residuals: &residuals,
///     curve: &|x| x.sin(),
///     curve_name: "the fitted curve",
/// };
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("wave.svg");
/// fitting(&path, &picture)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Format`] for another file name ending, [`Error::Option`] if no point is finite,
/// [`Error::File`] if the file cannot be written.
pub fn fitting(path: &Path, data: &Fitting) -> Result<()> {
    let extension = file::extension(path, FORMATS)?;
    if extension == "svg" {
        return page::save(path, extension, &Chart::new(data)?);
    }
    let Fitting { title, subtitle, x_label, y_label, curve_name, .. } = *data;
    let [title, subtitle, x_label, y_label, curve_name] =
        &[title, subtitle, x_label, y_label, curve_name].map(drawable);
    let data = Fitting { title, subtitle, x_label, y_label, curve_name, ..*data };
    page::save(path, extension, &Chart::new(&data)?)
}

/// Number of steps in which the curve is drawn.
const STEPS: u32 = 960;

type Placed = Vec<(f64, f64)>;

/// Everything about the picture that does not depend on its format.
struct Chart<'a> {
    data: &'a Fitting<'a>,
    x: Axis,
    /// The panels: label, axis, height, points and line.
    panels: [(String, Axis, u32, Placed, Placed); 2],
}

impl<'a> Chart<'a> {
    fn new(data: &'a Fitting<'a>) -> Result<Self> {
        let finite = |points: &[[f64; 2]]| -> Vec<[f64; 2]> {
            points.iter().copied().filter(|[x, y]| x.is_finite() && y.is_finite()).collect()
        };
        let (points, residuals) = (finite(data.points), finite(data.residuals));
        let nothing = || Error::Option {
            option: "points",
            value: format!("a list of {} without a finite one", data.points.len()),
            accepted: "a list with a finite point; otherwise there is nothing to draw".to_owned(),
        };
        let x = Axis::linear_of(points.iter().map(|point| point[0])).ok_or_else(nothing)?;
        let x = x.marked(|labels| side_by_side(labels, WIDTH as i32 - 150));
        let (low, high) =
            points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| {
                (low.min(p[0]), high.max(p[0]))
            });
        let curve: Vec<[f64; 2]> = (0..=STEPS)
            .map(|step| low + (high - low) * (f64::from(step) / f64::from(STEPS)))
            .map(|x| [x, (data.curve)(x)])
            .filter(|point| point[1].is_finite())
            .collect();
        // Poles between the points must not flatten the data.
        let (bottom, top) =
            points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| {
                (low.min(p[1]), high.max(p[1]))
            });
        let room = if top > bottom { top - bottom } else { top.abs().max(1.0) };
        let shown = |y: &f64| (bottom - room..=top + room).contains(y);
        let heights = points.iter().chain(&curve).map(|point| point[1]).filter(shown);
        let panel =
            |label: &str, axis: Axis, height: u32, points: &[[f64; 2]], line: &[[f64; 2]]| {
                let axis = axis.marked(|labels| labels.len() as u32 * 30 <= height - LABELS);
                let place = |&[x_at, y]: &[f64; 2]| (x.place(x_at), axis.place(y));
                let points = thinned(points.iter().map(place).collect(), &x, &axis);
                let line = line.iter().map(place).collect();
                let label = fit(&axis.title(label), &text(LABEL), (height - LABELS) as i32);
                (label, axis, height, points, line)
            };
        let above = Axis::linear_of(heights).ok_or_else(nothing)?;
        let left = residuals.iter().map(|point| point[1]).chain([0.0]);
        let below = Axis::linear_of(left).ok_or_else(nothing)?;
        let zero = [[low, 0.0], [high, 0.0]];
        let panels = [
            panel(data.y_label, above, UPPER, &points, &curve),
            panel("residual", below, LOWER, &residuals, &zero),
        ];
        Ok(Self { data, x, panels })
    }
}

impl Page for Chart<'_> {
    fn size(&self, scale: u32) -> (u32, u32) {
        (WIDTH * scale, (HEAD + UPPER + LOWER + MARGIN) * scale)
    }

    fn head(&self) -> [&str; 2] {
        [self.data.title, self.data.subtitle]
    }

    fn draw_on<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        scale: u32,
        _: bool,
    ) -> std::result::Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let scaled = |length: u32| (length * scale) as i32;
        let style = |size: f64| text(size * f64::from(scale));

        let labels = self.panels.iter().flat_map(|panel| panel.1.labels());
        let widest = labels.map(|label| width(&label, &style(TICK))).max().unwrap_or(0);
        let (_, mut rest) = root.split_vertically(scaled(HEAD));
        let x_label =
            fit(&self.x.title(self.data.x_label), &style(LABEL), scaled(WIDTH - 2 * MARGIN) / 2);
        for (nth, (label, axis, height, points, line)) in self.panels.iter().enumerate() {
            // Both panels share it, and the upper one's would be on the edge of the lower one.
            let x_label = if nth + 1 == self.panels.len() { x_label.as_str() } else { "" };
            let (area, below) = rest.split_vertically(scaled(*height));
            rest = below;
            let mut chart = ChartBuilder::on(&area)
                .margin_left(scaled(MARGIN - 8))
                .margin_right(scaled(MARGIN + 20))
                .x_label_area_size(scaled(LABELS))
                .y_label_area_size(widest + scaled(36))
                .build_cartesian_2d(self.x.clone(), axis.clone())?;
            page::mesh(&mut chart, [x_label, label], scale)?;
            let dot = |&at: &(f64, f64)| Circle::new(at, scaled(3), BLUE.mix(0.6).filled());
            chart.draw_series(points.iter().map(dot))?;
            let stroke = ORANGE.stroke_width(2 * scale);
            // plotters draws spikes at sharp bends of a wide line in a bitmap.
            for piece in line.windows(2) {
                chart.draw_series(LineSeries::new(piece.iter().copied(), stroke))?;
            }
        }
        let points = count(self.data.points.len() as u64);
        let legend = format!("{points} points; line: {}", self.data.curve_name);
        let small = style(TICK).color(&FAINT_INK);
        let at = (scaled(WIDTH - MARGIN) - width(&legend, &small), scaled(MARGIN / 2 + 4));
        root.draw_text(&legend, &small, at)
    }
}

/// One point for each spot of half a unit.
fn thinned(points: Placed, x: &Axis, y: &Axis) -> Placed {
    let spot = |point: &(f64, f64)| {
        let across = (x.part(point.0) * 2.0 * f64::from(WIDTH)) as u32;
        let up = (y.part(point.1) * 2.0 * f64::from(UPPER)) as u32;
        (across, up)
    };
    let mut seen = std::collections::HashSet::new();
    points.into_iter().filter(|point| seen.insert(spot(point))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(points: &[[f64; 2]], curve: &dyn Fn(f64) -> f64) -> Result<String> {
        let residuals: Vec<[f64; 2]> = points.iter().map(|&[x, y]| [x, y - curve(x)]).collect();
        let picture = Fitting {
            title: "a < b",
            subtitle: "slope 2",
            x_label: "time",
            y_label: "height",
            points,
            residuals: &residuals,
            curve,
            curve_name: "the fitted curve",
        };
        Ok(String::from_utf8(Chart::new(&picture)?.svg().unwrap()).unwrap())
    }

    #[test]
    fn everything_is_named_and_drawn() {
        let points: Vec<[f64; 2]> =
            (0..20).map(f64::from).map(|x| [x, 2.0 * x + x.sin()]).collect();
        let svg = svg(&points, &|x| 2.0 * x).unwrap();
        for wanted in ["a &lt; b", "slope 2", "time", "height", "residual", "20 points"] {
            assert!(svg.contains(wanted), "{wanted}");
        }
        assert_eq!(svg.matches("<circle").count(), 40);
    }

    #[test]
    fn odd_numbers() {
        let curves: [&dyn Fn(f64) -> f64; 3] = [&|x| x, &|x| 1.0 / x, &|_| f64::NAN];
        for points in [
            &[[0.0, 0.0]][..],
            &[[1e300, -1e300], [-1e300, 1e300]],
            &[[1.0, 1e-300], [f64::NAN, 1.0]],
        ] {
            for curve in curves {
                assert!(svg(points, curve).unwrap().contains("<circle"));
            }
        }
        assert!(svg(&[[f64::NAN, 0.0]], &|x| x).is_err());
        assert!(svg(&[], &|x| x).is_err());
    }

    #[test]
    fn many_points_are_thinned_out() {
        let points: Vec<[f64; 2]> =
            (0..300_000).map(f64::from).map(|x| [x % 700.0, x % 10.0]).collect();
        assert!(svg(&points, &|x| x).unwrap().len() < 4_000_000);
    }
}
