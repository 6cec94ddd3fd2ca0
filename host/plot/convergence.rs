//! The course of a run.

use std::path::Path;

use super::axis::{Axis, Scale, count, number};
use super::canvas::{Anchor, Canvas, FAINT_INK, GRID, INK, Point, Rgb, Style};
use super::raster::Raster;
use super::svg::Svg;
use super::{file, glyphs};
use crate::{Error, Result};

/// The state of a run after an iteration. What is not known is NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Iterations done.
    pub iteration: u32,
    /// Values of the function computed so far.
    pub evaluations: u64,
    /// The lowest value so far; may be infinite while there is none.
    pub best: f64,
    /// Mean of the particles' own lowest values.
    pub mean: f64,
    /// How far the particles are from each other, in units of the coordinates.
    pub spread: f64,
    /// How far the particles move in an iteration, in units of the coordinates.
    pub speed: f64,
}

impl Sample {
    /// A sample of which only the best value is known.
    pub const fn new(iteration: u32, evaluations: u64, best: f64) -> Self {
        Self { iteration, evaluations, best, mean: f64::NAN, spread: f64::NAN, speed: f64::NAN }
    }
}

/// What [`convergence`] draws.
#[derive(Clone, Copy, Debug)]
pub struct Convergence<'a> {
    /// Stands above the picture; cut where it is too long.
    pub title: &'a str,
    /// The lowest value that the function has, if known: then the distance from it is drawn.
    pub optimum: Option<f64>,
    /// In the order of the iterations; any number of them, at least one with a finite best value.
    pub samples: &'a [Sample],
}

/// Draws the best value of a run against its iterations, as an SVG or a PNG by the file's name.
///
/// Beside it the mean of the particles' own best values, and in a second panel the spread and the
/// speed, where they are known. The axis above counts evaluations. The values' axis is logarithmic if
/// the distance from a known optimum is drawn or they span many powers of ten, symmetric about zero
/// where some are zero or negative. Cost: proportional to the samples; lines are thinned out to what
/// the picture can resolve.
///
/// # Errors
/// [`Error::Format`] for another ending of the file's name, [`Error::Option`] if no best value is
/// finite, [`Error::File`] if the file cannot be written.
///
/// ```
/// use flockwork::plot::{Convergence, Sample, convergence};
///
/// let samples: Vec<_> =
///     (0..100).map(|i| Sample::new(i, 64 * u64::from(i + 1), 0.8_f64.powi(i as i32))).collect();
/// let picture = Convergence { title: "Sphere", optimum: Some(0.0), samples: &samples };
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("sphere.svg");
/// convergence(&path, &picture)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convergence(path: &Path, data: &Convergence) -> Result<()> {
    let extension = file::extension(path, &["svg", "png"])?;
    let chart = Chart::new(data)?;
    if extension == "svg" {
        let mut svg = Svg::new(WIDTH, chart.height, data.title);
        chart.draw(&mut svg);
        let text = svg.finish();
        file::write_whole(path, |output| output.write_all(text.as_bytes()))
    } else {
        let mut raster = Raster::new(WIDTH, chart.height, PNG_SCALE);
        chart.draw(&mut raster);
        file::write_whole(path, |output| raster.write_png(output))
    }
}

const WIDTH: f64 = 960.0;
/// Pixels of a PNG in a unit of the picture.
const PNG_SCALE: f64 = 1.5;
const MARGIN: f64 = 20.0;
const TITLE: Style = Style::new(19.0, INK, Anchor::Start);
const SUBTITLE: Style = Style::new(13.0, FAINT_INK, Anchor::Start);
const LABEL: Style = Style::new(13.0, INK, Anchor::Middle);
const TICK: f64 = 12.0;
/// From a base line to the next.
const LINE: f64 = 19.0;
const VALUES_HEIGHT: f64 = 340.0;
const MOTION_HEIGHT: f64 = 170.0;
/// Fewer samples than this are dots on their line.
const FEW: usize = 40;

const BLUE: Rgb = [0x1f, 0x5f, 0xb4];
const ORANGE: Rgb = [0xe0, 0x7b, 0x16];
const GREEN: Rgb = [0x1b, 0x8a, 0x5a];
const PURPLE: Rgb = [0x8e, 0x44, 0xad];

/// A line in a panel.
struct Series {
    name: &'static str,
    colour: Rgb,
    width: f64,
    /// A value for each sample.
    values: Vec<f64>,
}

impl Series {
    fn finite(&self) -> impl Iterator<Item = f64> {
        self.values.iter().copied().filter(|value| value.is_finite())
    }
}

/// Lines that share an axis.
struct Panel {
    label: String,
    series: Vec<Series>,
    axis: Axis,
    top: f64,
    height: f64,
}

impl Panel {
    /// Nothing, if no line has a point.
    fn new(
        label: String,
        mut series: Vec<Series>,
        logarithmic: bool,
        [top, height]: [f64; 2],
    ) -> Option<Self> {
        series.retain(|series| series.finite().next().is_some());
        let all = || series.iter().flat_map(Series::finite);
        let low = all().reduce(f64::min)?;
        let high = all().reduce(f64::max)?;
        let scale = Scale::for_values(all(), logarithmic);
        let axis = Axis::new(scale, low, high, (height / 48.0) as usize);
        let label = label + &axis.factor_label();
        Some(Self { label, series, axis, top, height })
    }
}

/// Everything about the picture that does not depend on its format.
struct Chart<'a> {
    data: &'a Convergence<'a>,
    subtitle: String,
    panels: Vec<Panel>,
    iterations: Axis,
    /// Marks of the axis above, at places along the iterations'.
    evaluations: Vec<(f64, String)>,
    evaluations_label: String,
    /// The panels' left and right side.
    left: f64,
    right: f64,
    height: f64,
}

impl<'a> Chart<'a> {
    fn new(data: &'a Convergence<'a>) -> Result<Self> {
        let samples = data.samples;
        let optimum = data.optimum.filter(|optimum| optimum.is_finite());
        let of = |value: fn(&Sample) -> f64, zero: f64| {
            samples.iter().map(|sample| value(sample) - zero).collect::<Vec<_>>()
        };
        let zero = optimum.unwrap_or(0.0);
        let best = Series { name: "best", colour: BLUE, width: 2.2, values: of(|s| s.best, zero) };
        let last = samples.iter().rev().find(|sample| sample.best.is_finite());
        let (Some(last), Some(_)) = (last, best.finite().next()) else {
            return Err(Error::Option {
                option: "samples",
                value: if samples.is_empty() {
                    "empty".to_owned()
                } else {
                    format!("a list of {} without a finite best value", samples.len())
                },
                accepted: "a list with a finite best value, or there is nothing to draw".to_owned(),
            });
        };
        let mut subtitle = format!(
            "best value {} after {} iterations, {} evaluations",
            number(last.best, 6),
            count(last.iteration.into()),
            count(last.evaluations)
        );
        if let Some(first) = samples.iter().find(|sample| sample.best.is_finite())
            && samples.first() != Some(first)
        {
            subtitle += &format!("; none before iteration {}", count(first.iteration.into()));
        }

        let own = "mean of the particles' own best";
        let mean = Series { name: own, colour: ORANGE, width: 1.6, values: of(|s| s.mean, zero) };
        let label = match optimum {
            Some(optimum) if optimum == 0.0 => "value − optimum (0)".to_owned(),
            Some(optimum) => format!("value − optimum ({})", number(optimum, 6)),
            None => "value".to_owned(),
        };
        let spread =
            Series { name: "spread", colour: GREEN, width: 1.8, values: of(|s| s.spread, 0.0) };
        let speed =
            Series { name: "speed", colour: PURPLE, width: 1.8, values: of(|s| s.speed, 0.0) };
        let top = MARGIN + TITLE.size + LINE + 2.0 * LINE + LINE + 22.0;
        let values = Panel::new(
            label,
            // The best is drawn last, over the others.
            vec![mean, best],
            optimum.is_some(),
            [top, VALUES_HEIGHT],
        );
        let second = top + VALUES_HEIGHT + LINE + 22.0;
        let motion = Panel::new(
            "coordinate units".to_owned(),
            vec![spread, speed],
            false,
            [second, MOTION_HEIGHT],
        );
        let panels: Vec<Panel> = values.into_iter().chain(motion).collect();

        let tick_width = panels.iter().flat_map(|panel| &panel.axis.ticks);
        let tick_width =
            tick_width.map(|tick| glyphs::width(&tick.label, TICK)).fold(0.0, f64::max);
        let left = MARGIN + LABEL.size + 12.0 + tick_width + 8.0;
        let right = WIDTH - MARGIN - 20.0;
        let bottom = panels.last().map_or(0.0, |panel| panel.top + panel.height);

        let marks = ((right - left) / 90.0) as usize;
        let iteration = |sample: &Sample| f64::from(sample.iteration);
        let first_iteration = samples.iter().map(iteration).fold(f64::INFINITY, f64::min);
        let last_iteration = samples.iter().map(iteration).fold(0.0, f64::max);
        let iterations = Axis::exact(first_iteration, last_iteration, marks);
        let (evaluations, evaluations_label) = evaluation_marks(samples, &iterations, marks);
        Ok(Self {
            data,
            subtitle,
            panels,
            iterations,
            evaluations,
            evaluations_label,
            left,
            right,
            height: bottom + 22.0 + LINE + MARGIN,
        })
    }

    fn x(&self, position: f64) -> f64 {
        self.left + position * (self.right - self.left)
    }

    fn draw(&self, canvas: &mut dyn Canvas) {
        let middle = self.x(0.5);
        let mut y = MARGIN + TITLE.size * 0.8;
        let longest = WIDTH - 2.0 * MARGIN;
        canvas.text([MARGIN, y], &glyphs::fit(self.data.title, TITLE.size, longest), TITLE);
        y += LINE + 3.0;
        canvas.text([MARGIN, y], &glyphs::fit(&self.subtitle, SUBTITLE.size, longest), SUBTITLE);

        for (index, panel) in self.panels.iter().enumerate() {
            self.draw_grid(canvas, panel);
            self.draw_legend(canvas, panel, index == 0);
            for series in &panel.series {
                self.draw_series(canvas, panel, series);
            }
        }
        if let (Some(first), Some(last)) = (self.panels.first(), self.panels.last()) {
            let label = format!("iteration{}", self.iterations.factor_label());
            canvas.text([middle, last.top + last.height + 22.0 + LINE], &label, LABEL);
            let style = Style::new(TICK, INK, Anchor::Middle);
            for tick in &self.iterations.ticks {
                let at = [self.x(tick.position), last.top + last.height + 19.0];
                canvas.text(at, &tick.label, style);
            }
            canvas.text([middle, first.top - 12.0 - LINE], &self.evaluations_label, LABEL);
            let mut free = f64::NEG_INFINITY;
            for (position, label) in &self.evaluations {
                let (x, half) = (self.x(*position), glyphs::width(label, TICK) / 2.0);
                canvas.polyline(&[[x, first.top - 5.0], [x, first.top]], 1.0, FAINT_INK);
                // Samples need not be evenly apart.
                if x - half > free + 8.0 {
                    canvas.text([x, first.top - 10.0], label, style);
                    free = x + half;
                }
            }
        }
    }

    fn draw_grid(&self, canvas: &mut dyn Canvas, panel: &Panel) {
        let (top, bottom) = (panel.top, panel.top + panel.height);
        let style = Style::new(TICK, INK, Anchor::End);
        for tick in &panel.axis.ticks {
            let y = bottom - tick.position * panel.height;
            canvas.polyline(&[[self.left, y], [self.right, y]], 1.0, GRID);
            canvas.text([self.left - 8.0, y + TICK * 0.36], &tick.label, style);
        }
        for tick in &self.iterations.ticks {
            let x = self.x(tick.position);
            canvas.polyline(&[[x, top], [x, bottom]], 1.0, GRID);
            canvas.polyline(&[[x, bottom], [x, bottom + 5.0]], 1.0, FAINT_INK);
        }
        let (left, right) = (self.left, self.right);
        let frame = [[left, top], [right, top], [right, bottom], [left, bottom], [left, top]];
        canvas.polyline(&frame, 1.0, FAINT_INK);
        let at = [MARGIN + LABEL.size * 0.75, (top + bottom) / 2.0];
        canvas.text(at, &glyphs::fit(&panel.label, LABEL.size, panel.height), LABEL.upwards());
    }

    /// The lines' names, above the panel where no line can be.
    fn draw_legend(&self, canvas: &mut dyn Canvas, panel: &Panel, first: bool) {
        // Above the first panel there is the second axis too.
        let y = panel.top - if first { 12.0 + LINE + LINE + 3.0 } else { 12.0 };
        let mut x = self.left;
        for series in panel.series.iter().rev() {
            let middle = y - LABEL.size * 0.35;
            canvas.polyline(&[[x, middle], [x + 26.0, middle]], series.width, series.colour);
            x += 34.0;
            canvas.text([x, y], series.name, Style { anchor: Anchor::Start, ..LABEL });
            x += glyphs::width(series.name, LABEL.size) + 28.0;
        }
    }

    fn draw_series(&self, canvas: &mut dyn Canvas, panel: &Panel, series: &Series) {
        let bottom = panel.top + panel.height;
        let points = self.data.samples.iter().zip(&series.values).map(|(sample, &value)| {
            value.is_finite().then(|| {
                let x = self.x(self.iterations.position(sample.iteration.into()));
                [x, bottom - panel.axis.position(value) * panel.height]
            })
        });
        let points: Vec<Option<Point>> = points.collect();
        for run in points.split(Option::is_none) {
            let run: Vec<Point> = run.iter().copied().flatten().collect();
            if run.len() > 1 {
                canvas.polyline(&thinned(&run), series.width, series.colour);
            }
            // A line of one point is none.
            if run.len() == 1 || points.len() < FEW {
                for &point in &run {
                    canvas.disc(point, series.width + 1.2, series.colour);
                }
            }
        }
    }
}

/// Round numbers of evaluations, and where along the iterations they were reached.
fn evaluation_marks(samples: &[Sample], axis: &Axis, most: usize) -> (Vec<(f64, String)>, String) {
    let label = "evaluations".to_owned();
    let known = samples.iter().map(|sample| (sample.evaluations as f64, sample.iteration));
    let known: Vec<(f64, u32)> = known.collect();
    let rises = known.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
    let (Some(&(low, iteration)), Some(&(high, _)), true) = (known.first(), known.last(), rises)
    else {
        return (Vec::new(), String::new());
    };
    if low == high {
        return (vec![(axis.position(iteration.into()), count(low as u64))], label);
    }
    let marks = Axis::exact(low, high, most);
    let place = |tick: &super::axis::Tick| {
        let wanted = low + tick.position * (high - low);
        let after = known.partition_point(|&(evaluations, _)| evaluations < wanted);
        let after = after.clamp(1, known.len() - 1);
        let (start, end) = (known[after - 1], known[after]);
        let part = (wanted - start.0) / (end.0 - start.0).max(1.0);
        let iteration = f64::from(start.1) + part * f64::from(end.1 - start.1);
        (axis.position(iteration), tick.label.clone())
    };
    (marks.ticks.iter().map(place).collect(), label + &marks.factor_label())
}

/// Of the points in a column half a unit wide, the first, the last, the highest and the lowest: the
/// others would not change the line drawn.
fn thinned(points: &[Point]) -> Vec<Point> {
    let column = |point: &Point| (point[0] * 2.0).floor();
    let mut kept = Vec::new();
    for run in points.chunk_by(|a, b| column(a) == column(b)) {
        if run.len() <= 4 {
            kept.extend_from_slice(run);
            continue;
        }
        let by_height = |&a: &usize, &b: &usize| run[a][1].total_cmp(&run[b][1]);
        let highest = (0..run.len()).min_by(by_height).unwrap_or(0);
        let lowest = (0..run.len()).max_by(by_height).unwrap_or(0);
        let mut indices = vec![0, highest.min(lowest), highest.max(lowest), run.len() - 1];
        indices.dedup();
        kept.extend(indices.into_iter().map(|index| run[index]));
    }
    kept
}
