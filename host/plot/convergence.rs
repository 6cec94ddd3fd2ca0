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
        let axis = Axis::new(scale, low, high, (height / 40.0) as usize);
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
            number(last.best, 9),
            count(last.iteration.into()),
            count(last.evaluations)
        );
        let first = samples.iter().position(|sample| sample.best.is_finite()).unwrap_or(0);
        if first > 0 {
            let iteration = samples[first].iteration;
            subtitle += &format!("; none before iteration {}", count(iteration.into()));
        }

        let own = "mean of the particles' own best";
        let mean = Series { name: own, colour: ORANGE, width: 1.6, values: of(|s| s.mean, zero) };
        let label = match optimum {
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
            vec![speed, spread],
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::canvas::WHITE;
    use super::*;

    fn falling(count: u32) -> Vec<Sample> {
        let value = |i: u32| 0.5_f64.powf(f64::from(i) * 100.0 / f64::from(count));
        let sample = |i: u32| Sample {
            mean: 3.0 * value(i),
            spread: 1.0 + value(i),
            speed: value(i),
            ..Sample::new(i, 1000 * u64::from(i), value(i))
        };
        (0..count).map(sample).collect()
    }

    fn svg(data: &Convergence) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("picture.svg");
        convergence(&path, data).unwrap();
        fs::read_to_string(path).unwrap()
    }

    /// Everything written in an SVG, with raised digits behind a `^`.
    fn texts(svg: &str) -> Vec<String> {
        let texts = svg.split("<text ").skip(1).filter_map(|rest| {
            let body = &rest[rest.find('>')? + 1..rest.find("</text>")?];
            let mut text = String::new();
            let mut pieces = body.split('<');
            text += pieces.next()?;
            for piece in pieces {
                let (tag, rest) = piece.split_once('>')?;
                text += if tag.contains("dy=\"-") { "^" } else { "" };
                text += rest;
            }
            Some(text)
        });
        texts.collect()
    }

    /// The points of the lines of a colour that are in the picture, without those of the legend.
    fn lines(svg: &str, colour: Rgb) -> Vec<Vec<Point>> {
        let [red, green, blue] = colour;
        let stroke = format!("stroke=\"#{red:02x}{green:02x}{blue:02x}\"");
        let lines = svg.lines().filter(|line| line.contains(&stroke)).map(|line| {
            let points = line.split('"').nth(1).unwrap().split(' ');
            let point = |text: &str| {
                let (x, y) = text.split_once(',').unwrap();
                [x.parse().unwrap(), y.parse().unwrap()]
            };
            points.map(point).collect()
        });
        lines.skip(1).collect()
    }

    #[test]
    fn labels_say_what_is_drawn() {
        let samples = falling(101);
        let picture = Convergence { title: "a < b & c", optimum: Some(0.0), samples: &samples };
        let svg = svg(&picture);
        let texts = texts(&svg);
        for wanted in [
            "a &lt; b &amp; c",
            "iteration",
            "evaluations",
            "value − optimum (0)",
            "best",
            "mean of the particles' own best",
            "spread",
            "speed",
            "coordinate units",
            "10^−10",
            "100",
            "20,000",
        ] {
            assert!(texts.iter().any(|text| text == wanted), "{wanted} is not in {texts:?}");
        }
        assert!(
            texts.iter().any(|text| text.contains("after 100 iterations, 100,000 evaluations"))
        );
        assert!(svg.contains("<title>a &lt; b &amp; c</title>") && svg.ends_with("</svg>\n"));
        // Or a space behind a raised digit is lost.
        assert!(svg.contains("xml:space=\"preserve\""));
        // On a logarithmic axis an exponential is a straight line.
        let line = &lines(&svg, BLUE)[0];
        assert_eq!(line.len(), 101);
        let straight = |at: usize| {
            let part = at as f64 / 100.0;
            line[0][1] + part * (line[100][1] - line[0][1])
        };
        assert!((0..101).all(|at| (line[at][1] - straight(at)).abs() < 0.02));
        assert!(line[100][1] > line[0][1] + 250.0);
    }

    #[test]
    fn only_what_is_known_is_drawn() {
        let samples = [Sample::new(0, 10, 3.0), Sample::new(1, 20, 2.0)];
        let svg = svg(&Convergence { title: "", optimum: None, samples: &samples });
        let texts = texts(&svg);
        assert!(texts.iter().any(|text| text == "value"));
        assert!(!texts.iter().any(|text| text.contains("mean") || text.contains("spread")));
        assert!(lines(&svg, BLUE)[0].len() == 2 && !svg.contains("#e07b16"));
    }

    #[test]
    fn gaps_where_there_is_no_value() {
        let mut samples = falling(50);
        for index in [0, 1, 20] {
            samples[index].best = f64::INFINITY;
        }
        samples[22].best = f64::NAN;
        let svg = svg(&Convergence { title: "", optimum: Some(0.0), samples: &samples });
        let lines = lines(&svg, BLUE);
        assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [18, 27]);
        // The point between two gaps.
        assert_eq!(svg.matches("<circle").count(), 1);
        assert!(texts(&svg).iter().any(|text| text.ends_with("none before iteration 2")));
    }

    #[test]
    fn many_samples_are_thinned_out() {
        let mut samples = falling(100_000);
        // A peak of one sample must stay.
        samples[50_000].mean = 1e9;
        let svg = svg(&Convergence { title: "", optimum: Some(0.0), samples: &samples });
        let lines = lines(&svg, ORANGE);
        let top = MARGIN + TITLE.size + 4.0 * LINE + 22.0;
        assert!(lines[0].len() < 9000, "{}", lines[0].len());
        let peak = lines[0].iter().map(|point| point[1]).fold(f64::INFINITY, f64::min);
        assert!((top..top + 30.0).contains(&peak), "{peak}");
        assert!(svg.len() < 1_000_000);
    }

    /// Whatever the numbers, everything is inside the picture and no label on another.
    #[test]
    fn odd_numbers() {
        let inf = f64::INFINITY;
        let cases: [&[f64]; 12] = [
            &[0.0],
            &[5.0; 30],
            &[inf, inf, 1.0],
            &[1e300, 1e-300],
            &[f64::MAX, f64::MIN],
            &[f64::MAX, -inf, 0.0, f64::NAN],
            &[5e-324, 0.0],
            &[-1e-7, 1e7, -3.0],
            &[1e15, 1e15 + 1.0],
            &[123456789.0123, 123456789.0124],
            &[1.0, 0.5, 0.0, 0.0],
            &[-1e6, -1e6 - 1e-3],
        ];
        for values in cases {
            for optimum in [None, Some(0.0), Some(-f64::MAX), Some(f64::NAN), Some(inf), Some(0.3)]
            {
                for (iterations, evaluations) in [(1, 1), (0, 0), (u32::MAX / 50, u64::MAX / 50)] {
                    let samples = values.iter().enumerate().map(|(index, &value)| Sample {
                        mean: value * 2.0,
                        spread: value,
                        speed: -value,
                        ..Sample::new(index as u32 * iterations, index as u64 * evaluations, value)
                    });
                    let samples: Vec<_> = samples.collect();
                    let data =
                        Convergence { title: &"long ".repeat(50), optimum, samples: &samples };
                    let name = format!("{values:?} {optimum:?} {iterations}");
                    let chart = match Chart::new(&data) {
                        Ok(chart) => chart,
                        Err(error) => {
                            // Every difference overflowed.
                            assert!(optimum == Some(-f64::MAX), "{name}: {error}");
                            continue;
                        }
                    };
                    let mut seen = Bounds { height: chart.height, ..Bounds::default() };
                    chart.draw(&mut seen);
                    assert!(seen.texts.len() > 8, "{name}");
                    for (index, a) in seen.texts.iter().enumerate() {
                        for b in &seen.texts[index + 1..] {
                            let apart =
                                (0..2).any(|axis| a.0[axis] >= b.1[axis] || b.0[axis] >= a.1[axis]);
                            assert!(apart, "{name}: {a:?} {b:?}");
                        }
                    }
                }
            }
        }
    }

    /// Notes the boxes of texts and checks that everything is inside.
    #[derive(Default)]
    struct Bounds {
        height: f64,
        texts: Vec<(Point, Point, String)>,
    }

    impl Bounds {
        fn check(&self, [x, y]: Point, what: &str) {
            let inside = (0.0..=WIDTH).contains(&x) && (0.0..=self.height).contains(&y);
            assert!(inside, "{what} at {x} {y}");
        }
    }

    impl Canvas for Bounds {
        fn polyline(&mut self, points: &[Point], _: f64, _: Rgb) {
            points.iter().for_each(|&point| self.check(point, "line"));
        }

        fn disc(&mut self, centre: Point, _: f64, _: Rgb) {
            self.check(centre, "disc");
        }

        fn text(&mut self, at: Point, text: &str, style: Style) {
            let width = glyphs::width(text, style.size);
            let start = match style.anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => -width / 2.0,
                Anchor::End => -width,
            };
            let (above, below) = (style.size * 0.73, style.size * 0.1);
            let (low, high) = if style.upwards {
                ([at[0] - above, at[1] - start - width], [at[0] + below, at[1] - start])
            } else {
                ([at[0] + start, at[1] - above], [at[0] + start + width, at[1] + below])
            };
            self.check(low, text);
            self.check(high, text);
            self.texts.push((low, high, text.to_owned()));
        }
    }

    #[test]
    fn png_shows_the_line_where_it_should_be() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("picture.PNG");
        // Two points: from the upper left to the lower right corner, but for the axis' room.
        let samples = [Sample::new(0, 1, 1.0), Sample::new(10, 2, 0.0)];
        let data = Convergence { title: "Line", optimum: None, samples: &samples };
        convergence(&path, &data).unwrap();
        let decoder = png::Decoder::new(std::io::BufReader::new(fs::File::open(&path).unwrap()));
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        let chart = Chart::new(&data).unwrap();
        let size = [WIDTH, chart.height].map(|side| (side * PNG_SCALE).round() as u32);
        assert_eq!([info.width, info.height], size);
        let at = |[x, y]: Point| {
            let [column, row] = [x, y].map(|place| (place * PNG_SCALE) as usize);
            let start = 3 * (row * info.width as usize + column);
            [pixels[start], pixels[start + 1], pixels[start + 2]]
        };
        let (panel, part) = (&chart.panels[0], 0.3);
        let y = |value: f64| panel.top + panel.height * (1.0 - panel.axis.position(value));
        assert_eq!(at([chart.x(part), y(1.0 - part)]), BLUE);
        assert_eq!(at([chart.x(part), y(1.0 - part) - 9.0]), WHITE);
        assert_eq!(at([chart.x(1.0), y(0.0)]), BLUE);
    }

    #[test]
    fn nothing_to_draw() {
        let path = Path::new("nowhere.svg");
        for (best, value) in [(None, "empty"), (Some(f64::NAN), "a list of 3 without")] {
            let samples: Vec<_> =
                best.into_iter().cycle().take(3).map(|best| Sample::new(1, 1, best)).collect();
            let error =
                convergence(path, &Convergence { title: "", optimum: None, samples: &samples });
            let text = error.unwrap_err().to_string();
            assert!(text.starts_with(&format!("samples is {value}")), "{text}");
        }
        assert!(!path.exists());
    }

    #[test]
    fn unwritable() {
        let data = Convergence { title: "", optimum: None, samples: &falling(3) };
        let folder = tempfile::tempdir().unwrap();
        for name in ["none/a.svg", "none/a.png"] {
            let path = folder.path().join(name);
            let error = convergence(&path, &data).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
        let error = convergence(Path::new("a.pdf"), &data).unwrap_err();
        assert!(
            error.to_string().starts_with("a.pdf: this picture can be written as .svg or .png")
        );
    }
}
