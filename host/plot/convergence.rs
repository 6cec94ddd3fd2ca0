//! The course of a run.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::axis::{Axis, count, exact, number};
use super::page::{
    self, BLUE, FORMATS, HEAD, LABEL, LABELS, LOWER, MARGIN, ORANGE, Page, TICK, UPPER, WIDTH,
};
use super::{FAINT_INK, drawable, file, fit, text, width};
use crate::{Error, Result};

/// The state of a run after an iteration. Unknown values are NaN.
///
/// ```
/// use flockwork::plot::Sample;
///
/// let sample = Sample { spread: 0.25, ..Sample::new(10, 640, 1.5) };
/// assert!(sample.best == 1.5 && sample.mean.is_nan());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Number of iterations done.
    pub iteration: u32,
    /// Number of evaluations so far.
    pub evaluations: u64,
    /// The best value so far; may be infinite while there is none.
    pub best: f64,
    /// Mean of the personal best values.
    pub mean: f64,
    /// Spread of the particles, as a share of the box in each dimension.
    pub spread: f64,
    /// Distance that particles move per iteration, as a share of the box in each dimension.
    pub speed: f64,
}

impl Sample {
    /// A sample with only the best value known.
    pub const fn new(iteration: u32, evaluations: u64, best: f64) -> Self {
        Self { iteration, evaluations, best, mean: f64::NAN, spread: f64::NAN, speed: f64::NAN }
    }
}

/// The contents of a convergence plot.
///
/// ```
/// use flockwork::plot::{Convergence, Sample, convergence};
///
/// let samples = [Sample::new(0, 64, 9.0), Sample::new(1, 128, 4.0)];
/// let picture = Convergence { title: "Two samples", samples: &samples, ..Default::default() };
/// assert!(convergence("two.jpeg".as_ref(), &picture).is_err(), "an SVG or a PNG");
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Convergence<'a> {
    /// The title; shortened if it is too long.
    pub title: &'a str,
    /// The function's best value, if known: then the distance from it is plotted.
    pub optimum: Option<f64>,
    /// Whether the best value is the largest.
    pub is_maximum: bool,
    /// The sample from which the last value was polished, if it was; shown in the subtitle.
    pub polished_from: Option<usize>,
    /// Samples in the order of iterations; at least one must have a finite best value.
    pub samples: &'a [Sample],
}

/// Plots the best value of a run against its iterations, as an SVG or a PNG by the file's name.
///
/// It also plots the mean of the personal best values and, in a second panel, spread and speed,
/// where they are known. The axis at the top counts evaluations, if they grow evenly. An axis is
/// logarithmic if its values are positive and span many powers of ten, or are distances from a
/// known optimum; zeros are then at its lower end. The cost is proportional to the number of
/// samples; lines are thinned out to the picture's resolution.
///
/// # Errors
/// [`Error::Format`] for another file name ending, [`Error::Option`] if no best value is finite,
/// [`Error::File`] if the file cannot be written.
///
/// ```
/// use flockwork::plot::{Convergence, Sample, convergence};
///
/// let samples: Vec<_> =
///     (0..100).map(|i| Sample::new(i, 64 * u64::from(i + 1), 0.8_f64.powi(i as i32))).collect();
/// let optimum = Some(0.0);
/// let picture = Convergence { title: "Sphere", optimum, samples: &samples, ..Default::default() };
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("sphere.svg");
/// convergence(&path, &picture)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convergence(path: &Path, data: &Convergence) -> Result<()> {
    let extension = file::extension(path, FORMATS)?;
    if extension == "svg" {
        return page::save(path, extension, &Chart::new(data)?);
    }
    let data = Convergence { title: &drawable(data.title), ..*data };
    page::save(path, extension, &Chart::new(&data)?)
}

/// If there are fewer samples than this, they are drawn as dots on their line.
const FEW: usize = 40;

const GREEN: RGBColor = RGBColor(0x1b, 0x8a, 0x5a);
const PURPLE: RGBColor = RGBColor(0x8e, 0x44, 0xad);

/// A line in a panel.
struct Line {
    name: &'static str,
    colour: RGBColor,
    width: u32,
    /// One value per sample.
    values: Vec<f64>,
}

/// Lines that share an axis.
struct Panel {
    label: String,
    lines: Vec<Line>,
    axis: Axis,
    height: u32,
}

impl Panel {
    /// `None` if no line has a point.
    fn new(label: &str, mut lines: Vec<Line>, logarithmic: bool, height: u32) -> Option<Self> {
        lines.retain(|line| line.values.iter().any(|value| value.is_finite()));
        let all = lines.iter().flat_map(|line| line.values.iter().copied());
        // Space for the legend.
        let above = 28.0 * lines.len() as f64 / f64::from(height - LABELS);
        let axis = Axis::new(all, logarithmic, above)?;
        let axis = axis.marked(|labels| labels.len() as u32 * 30 <= height - LABELS);
        let label = fit(&axis.title(label), &text(LABEL), (height - LABELS) as i32);
        Some(Self { label, lines, axis, height })
    }
}

/// Everything about the picture that does not depend on its format.
struct Chart<'a> {
    data: &'a Convergence<'a>,
    subtitle: String,
    panels: Vec<Panel>,
    iterations: Axis,
    /// Present if they grow evenly with the iterations.
    evaluations: Option<Axis>,
}

impl<'a> Chart<'a> {
    fn new(data: &'a Convergence<'a>) -> Result<Self> {
        let samples = data.samples;
        let optimum = data.optimum.filter(|optimum| optimum.is_finite());
        let of = |value: fn(&Sample) -> f64| -> Vec<f64> { samples.iter().map(value).collect() };
        // The distance from a known maximum is positive, too.
        let from_optimum = |values: Vec<f64>| -> Vec<f64> {
            let Some(optimum) = optimum else { return values };
            let sign = if data.is_maximum { -1.0 } else { 1.0 };
            values.into_iter().map(|value| sign * (value - optimum)).collect()
        };
        let best = from_optimum(of(|sample| sample.best));
        let (Some(first), Some(last)) = (
            best.iter().position(|value| value.is_finite()),
            samples.iter().rfind(|sample| sample.best.is_finite()),
        ) else {
            return Err(Error::Option {
                option: "samples",
                value: if samples.is_empty() {
                    "empty".to_owned()
                } else {
                    format!("a list of {} without a finite best value", samples.len())
                },
                accepted: "a list with a finite best value; otherwise there is nothing to draw"
                    .to_owned(),
            });
        };
        let mut subtitle = format!(
            "best value {} after {} iterations, {} evaluations",
            exact(last.best),
            count(last.iteration.into()),
            count(last.evaluations)
        );
        if let Some(sample) = data.polished_from.and_then(|from| samples.get(from)) {
            subtitle += &format!("; polished from {}", number(sample.best, 6));
        }
        if first > 0 {
            let iteration = count(samples[first].iteration.into());
            subtitle += &format!("; none before iteration {iteration}");
        }
        let reached = best.iter().position(|&value| value <= 0.0).filter(|_| optimum.is_some());
        if let Some(reached) = reached {
            let iteration = count(samples[reached].iteration.into());
            subtitle += &format!("; at the optimum since iteration {iteration}");
        }

        let line = |name, colour, width, values| Line { name, colour, width, values };
        let mean = from_optimum(of(|sample| sample.mean));
        let mean = line("mean of the particles' personal best", ORANGE, 2, mean);
        let label = match optimum {
            Some(optimum) if data.is_maximum => {
                format!("optimum ({}) − value", number(optimum, 6))
            }
            Some(optimum) => format!("value − optimum ({})", number(optimum, 6)),
            None => "value".to_owned(),
        };
        // Later lines are drawn over earlier ones.
        let values = vec![mean, line("best", BLUE, 2, best)];
        // They often nearly coincide: the wide line shows beside the other.
        let spread = line("spread", GREEN, 5, of(|sample| sample.spread));
        let speed = line("speed", PURPLE, 2, of(|sample| sample.speed));
        let values = Panel::new(&label, values, optimum.is_some(), UPPER);
        let motion = Panel::new("share of the box", vec![spread, speed], false, LOWER);

        let axis = |of: fn(&Sample) -> f64| {
            let low = samples.iter().map(of).fold(f64::INFINITY, f64::min);
            let high = samples.iter().map(of).fold(0.0, f64::max);
            let axis = Axis::exact(low, high);
            axis.marked(|labels| side_by_side(labels, WIDTH as i32 - 150)).whole()
        };
        let iterations = axis(|sample| sample.iteration.into());
        let evaluations = axis(|sample| sample.evaluations as f64);
        let even = samples.len() > 1
            && samples.iter().all(|sample| {
                let iteration = iterations.part(iterations.place(sample.iteration.into()));
                let evaluations = evaluations.part(evaluations.place(sample.evaluations as f64));
                (iteration - evaluations).abs() < 2e-3
            });
        Ok(Self {
            data,
            subtitle,
            panels: values.into_iter().chain(motion).collect(),
            iterations,
            evaluations: Some(evaluations).filter(|_| even),
        })
    }

    /// Keeps only the first, last, highest and lowest of the points in a column half a unit wide:
    /// the others would not change the line.
    fn thinned(&self, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let column =
            |point: &(f64, f64)| (self.iterations.part(point.0) * 2.0 * f64::from(WIDTH)) as u32;
        let mut kept = Vec::new();
        for run in points.chunk_by(|a, b| column(a) == column(b)) {
            let by_height = |&a: &usize, &b: &usize| run[a].1.total_cmp(&run[b].1);
            let lowest = (0..run.len()).min_by(by_height).unwrap_or(0);
            let highest = (0..run.len()).max_by(by_height).unwrap_or(0);
            let mut indices = [0, lowest, highest, run.len() - 1];
            indices.sort_unstable();
            kept.extend(indices.chunk_by(|a, b| a == b).map(|same| run[same[0]]));
        }
        kept
    }
}

impl Page for Chart<'_> {
    fn size(&self, scale: u32) -> (u32, u32) {
        let panels: u32 = self.panels.iter().map(|panel| panel.height).sum();
        (WIDTH * scale, (HEAD + LABELS + panels + MARGIN) * scale)
    }

    fn head(&self) -> [&str; 2] {
        [self.data.title, &self.subtitle]
    }

    fn draw_on<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        scale: u32,
        pieces: bool,
    ) -> std::result::Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let scaled = |length: u32| (length * scale) as i32;
        let style = |size: f64| text(size * f64::from(scale));

        let labels = self.panels.iter().flat_map(|panel| panel.axis.labels());
        let widest = labels.map(|label| width(&label, &style(TICK))).max().unwrap_or(0);
        let (_, mut rest) = root.split_vertically(scaled(HEAD));
        for (index, panel) in self.panels.iter().enumerate() {
            // The first panel has a second axis at the top.
            let top = if index == 0 { LABELS } else { 0 };
            let (area, below) = rest.split_vertically(scaled(panel.height + top));
            rest = below;
            let mut builder = ChartBuilder::on(&area);
            builder
                .margin_left(scaled(MARGIN - 8))
                .margin_right(scaled(MARGIN + 20))
                .x_label_area_size(scaled(LABELS))
                .y_label_area_size(widest + scaled(36));
            if index == 0 {
                builder.top_x_label_area_size(scaled(LABELS));
            }
            // The name would be on the edge of the panel below.
            let is_last = index + 1 == self.panels.len();
            let above = self.evaluations.as_ref().unwrap_or(&self.iterations);
            let mut chart = builder
                .build_cartesian_2d(self.iterations.clone(), panel.axis.clone())?
                .set_secondary_coord(above.clone(), panel.axis.clone());
            let across = if is_last { self.iterations.title("iteration") } else { String::new() };
            page::mesh(&mut chart, [&across, &panel.label], scale)?;
            if let (Some(evaluations), 0) = (&self.evaluations, index) {
                chart
                    .configure_secondary_axes()
                    .x_desc(evaluations.title("evaluations"))
                    .label_style(style(TICK))
                    .axis_desc_style(style(LABEL))
                    .axis_style(FAINT_INK.stroke_width(scale))
                    .set_all_tick_mark_size(scaled(5))
                    .draw()?;
            }
            for &Line { name, colour, width, .. } in panel.lines.iter().rev() {
                page::name(&mut chart, name, colour.stroke_width(width * scale), scale)?;
            }
            for Line { colour, width, values, .. } in &panel.lines {
                let points = self.data.samples.iter().zip(values).map(|(sample, &value)| {
                    let x = self.iterations.place(sample.iteration.into());
                    value.is_finite().then(|| (x, panel.axis.place(value)))
                });
                let points: Vec<Option<(f64, f64)>> = points.collect();
                let line = colour.stroke_width(width * scale);
                for run in points.split(Option::is_none) {
                    let run: Vec<(f64, f64)> = run.iter().copied().flatten().collect();
                    // A line with a single point would be invisible.
                    if run.len() == 1 || points.len() < FEW {
                        let dot = |&at| Circle::new(at, scaled(2 + width / 2), colour.filled());
                        chart.draw_series(run.iter().map(dot))?;
                    }
                    let run = self.thinned(&run);
                    // plotters draws spikes at sharp bends of a wide line in a bitmap.
                    let piece = if pieces { 2 } else { run.len().max(2) };
                    if pieces {
                        let join = |&at| Circle::new(at, width * scale / 2, colour.filled());
                        chart.draw_series(run.iter().map(join))?;
                    }
                    for piece in run.windows(piece) {
                        chart.draw_series(LineSeries::new(piece.iter().copied(), line))?;
                    }
                }
            }
            page::legend(&mut chart, SeriesLabelPosition::UpperRight, scale)?;
        }
        Ok(())
    }
}

/// Whether labels fit beside each other.
pub(super) fn side_by_side(labels: &[String], length: i32) -> bool {
    let style = text(TICK);
    labels.iter().map(|label| width(label, &style) + 24).sum::<i32>() <= length
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::page::{PNG_SCALE, SVG_SCALE};
    use super::*;

    type Point = [f64; 2];

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

    fn attribute<'a>(tag: &'a str, name: &str) -> &'a str {
        tag.split_once(&format!(" {name}=\"")).unwrap().1.split('"').next().unwrap()
    }

    /// Everything written in an SVG.
    fn texts(svg: &str) -> Vec<&str> {
        svg.split("<text ").skip(1).map(|rest| rest.lines().nth(1).unwrap()).collect()
    }

    /// The points of the lines of a colour that are in the picture, without that of the legend.
    fn lines(svg: &str, RGBColor(red, green, blue): RGBColor) -> Vec<Vec<Point>> {
        let stroke = format!("stroke=\"#{red:02X}{green:02X}{blue:02X}\"");
        let lines = svg.lines().filter(|line| line.contains(&stroke)).map(|line| {
            let point = |text: &str| {
                let (x, y) = text.split_once(',').unwrap();
                [x, y].map(|number| number.parse::<f64>().unwrap() / f64::from(SVG_SCALE))
            };
            attribute(line, "points").split_whitespace().map(point).collect::<Vec<_>>()
        });
        let mut lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.pop().unwrap().len(), 2);
        lines
    }

    #[test]
    fn labels_say_what_is_drawn() {
        let samples = falling(101);
        let picture = Convergence {
            title: "a < b & c",
            optimum: Some(0.0),
            samples: &samples,
            ..Convergence::default()
        };
        let svg = svg(&picture);
        let texts = texts(&svg);
        for wanted in [
            "a &lt; b &amp; c",
            "iteration",
            "evaluations",
            "value − optimum (0)",
            "best",
            "mean of the particles&apos; personal best",
            "spread",
            "speed",
            "share of the box",
            "10⁻¹⁰",
            "100",
            "20,000",
        ] {
            assert!(texts.contains(&wanted), "{wanted} is not in {texts:?}");
        }
        assert!(
            texts.iter().any(|text| text.contains("after 100 iterations, 100,000 evaluations"))
        );
        assert!(svg.starts_with("<svg width=\"960\"") && svg.ends_with("</svg>\n"));
        // On a logarithmic axis an exponential is a straight line.
        let line = &lines(&svg, BLUE)[0];
        assert_eq!(line.len(), 101);
        let straight = |at: usize| {
            let part = at as f64 / 100.0;
            line[0][1] + part * (line[100][1] - line[0][1])
        };
        assert!((0..101).all(|at| (line[at][1] - straight(at)).abs() < 0.2));
        assert!(line[100][1] > line[0][1] + 250.0);
    }

    #[test]
    fn only_what_is_known_is_drawn() {
        let samples = [Sample::new(0, 10, 3.0), Sample::new(1, 20, 2.0)];
        let svg = svg(&Convergence { title: "", samples: &samples, ..Convergence::default() });
        let texts = texts(&svg);
        assert!(texts.contains(&"value") && !svg.contains("#E07B16"));
        assert!(!texts.iter().any(|text| text.contains("mean") || text.contains("spread")));
        assert_eq!(lines(&svg, BLUE).iter().map(Vec::len).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn uneven_evaluations_have_no_axis() {
        let uneven = [0, 1, 100].map(|n: u32| Sample::new(n.min(2), n.into(), 1.0));
        let svg = svg(&Convergence { title: "", samples: &uneven, ..Convergence::default() });
        let texts = texts(&svg);
        assert!(!texts.contains(&"evaluations"));
        assert!(texts.iter().any(|text| text.ends_with("100 evaluations")));
    }

    #[test]
    fn gaps_where_there_is_no_value() {
        let mut samples = falling(50);
        for index in [0, 1, 20] {
            samples[index].best = f64::INFINITY;
        }
        samples[22].best = f64::NAN;
        samples[49].best = 0.0;
        let svg = svg(&Convergence {
            title: "",
            optimum: Some(0.0),
            samples: &samples,
            ..Convergence::default()
        });
        let lines = lines(&svg, BLUE);
        // The point between two gaps is a dot.
        assert_eq!(svg.matches("<circle").count(), 1);
        assert_eq!(lines.iter().map(Vec::len).filter(|&n| n > 1).collect::<Vec<_>>(), [18, 27]);
        let said = "; none before iteration 2; at the optimum since iteration 49";
        assert!(texts(&svg).iter().any(|text| text.ends_with(said)));
    }

    #[test]
    fn many_samples_are_thinned_out() {
        let mut samples = falling(100_000);
        // A peak of one sample must stay.
        samples[50_000].mean = 1e9;
        let svg = svg(&Convergence {
            title: "",
            optimum: Some(0.0),
            samples: &samples,
            ..Convergence::default()
        });
        let lines = lines(&svg, ORANGE);
        assert!(lines[0].len() < 9000, "{}", lines[0].len());
        let peak = lines[0].iter().map(|point| point[1]).fold(f64::INFINITY, f64::min);
        let top = f64::from(HEAD + LABELS);
        assert!((top..top + 80.0).contains(&peak), "{peak}");
        assert!(svg.len() < 1_000_000);
    }

    /// The box of a text: left, top, right and bottom.
    fn extent(tag: &str) -> [f64; 4] {
        let number = |name| attribute(tag, name).parse::<f64>().unwrap();
        let (x, y, size) = (number("x"), number("y"), number("font-size"));
        let width = f64::from(width(tag.lines().nth(1).unwrap(), &text(size)));
        let start = match attribute(tag, "text-anchor") {
            "start" => 0.0,
            "end" => -width,
            _ => -width / 2.0,
        };
        let base = match attribute(tag, "dy") {
            "0.76em" => 0.76,
            "0.5ex" => 0.27,
            _ => -0.27,
        };
        let [above, below] = [base - 0.73, base + 0.2].map(|part| part * size);
        if tag.contains("rotate(270") {
            [x + above, y - start - width, x + below, y - start]
        } else {
            [x + start, y + above, x + start + width, y + below]
        }
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
                    let title = &"long ".repeat(50);
                    let data =
                        Convergence { title, optimum, samples: &samples, ..Convergence::default() };
                    let name = format!("{values:?} {optimum:?} {iterations}");
                    let chart = match Chart::new(&data) {
                        Ok(chart) => chart,
                        Err(error) => {
                            // Every difference overflowed.
                            assert!(optimum == Some(-f64::MAX), "{name}: {error}");
                            continue;
                        }
                    };
                    let svg = String::from_utf8(chart.svg().unwrap()).unwrap();
                    let (right, bottom) = chart.size(SVG_SCALE);
                    let [right, bottom] = [right, bottom].map(f64::from);
                    let tags: Vec<_> = svg.split("<text").skip(1).collect();
                    let extents: Vec<_> = tags.iter().map(|tag| extent(tag)).collect();
                    assert!(extents.len() > 8, "{name}");
                    for (index, a) in extents.iter().enumerate() {
                        let inside = a[0] >= 0.0 && a[1] >= 0.0 && a[2] <= right && a[3] <= bottom;
                        assert!(inside, "{name}: {a:?} {}", tags[index]);
                        for (other, b) in extents.iter().enumerate().skip(index + 1) {
                            let apart =
                                a[0] >= b[2] || b[0] >= a[2] || a[1] >= b[3] || b[1] >= a[3];
                            assert!(apart, "{name}: {} {}", tags[index], tags[other]);
                        }
                    }
                    for [x, y] in [BLUE, ORANGE, GREEN, PURPLE]
                        .into_iter()
                        .filter(|colour| {
                            svg.contains(&format!("\"#{:02X}{:02X}", colour.0, colour.1))
                        })
                        .flat_map(|colour| lines(&svg, colour))
                        .flatten()
                    {
                        let inside = (0.0..=right / 10.0).contains(&x);
                        assert!(inside && (0.0..=bottom / 10.0).contains(&y), "{name}: {x} {y}");
                    }
                }
            }
        }
    }

    #[test]
    fn png_shows_the_line_where_it_should_be() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("picture.PNG");
        let samples = [Sample::new(0, 1, 1.0), Sample::new(10, 2, 0.0)];
        let data = Convergence { title: "Line", samples: &samples, ..Convergence::default() };
        convergence(&path, &data).unwrap();
        let decoder = png::Decoder::new(std::io::BufReader::new(fs::File::open(&path).unwrap()));
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), Chart::new(&data).unwrap().size(PNG_SCALE));
        // Where the SVG has it.
        let line = lines(&svg(&data), BLUE).remove(0);
        let at = |part: f64, below: f64| {
            let [x, y] = [0, 1].map(|axis| line[0][axis] + part * (line[1][axis] - line[0][axis]));
            let [column, row] = [x, y + below].map(|v| (v * f64::from(PNG_SCALE)).round() as usize);
            let start = 3 * (row * info.width as usize + column);
            RGBColor(pixels[start], pixels[start + 1], pixels[start + 2])
        };
        assert!([0.0, 0.31, 0.77, 1.0].iter().all(|&part| at(part, 0.0) == BLUE));
        assert_eq!([at(0.31, 9.0), at(0.77, -9.0)], [WHITE; 2]);
    }

    #[test]
    fn nothing_to_draw() {
        let path = Path::new("nowhere.svg");
        for (best, value) in [(None, "empty"), (Some(f64::NAN), "a list of 3 without")] {
            let samples: Vec<_> =
                best.into_iter().cycle().take(3).map(|best| Sample::new(1, 1, best)).collect();
            let error = convergence(
                path,
                &Convergence { title: "", samples: &samples, ..Convergence::default() },
            );
            let text = error.unwrap_err().to_string();
            assert!(text.starts_with(&format!("samples is {value}")), "{text}");
        }
        assert!(!path.exists());
    }

    #[test]
    fn unwritable() {
        let data = Convergence { title: "", samples: &falling(3), ..Convergence::default() };
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
