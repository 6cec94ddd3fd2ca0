//! The swarm on its way over the map of a function.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use super::axis::{Axis, count, number};
use super::canvas::{Anchor, Canvas, FAINT_INK, INK, Point, Rgb, Style, WHITE};
use super::map::{self, BANDS, Map};
use super::raster::{Raster, mixed};
use super::{file, glyphs};
use crate::{Error, Result};

/// A moment of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Iterations done.
    pub iteration: u32,
    /// The lowest value so far.
    pub best: f64,
    /// Where it was found.
    pub best_position: [f64; 2],
    /// Where the particles are.
    pub positions: Vec<[f32; 2]>,
}

/// What [`animation`] draws.
#[derive(Clone, Copy)]
pub struct Animation<'a> {
    /// Stands above the picture; cut where it is too long.
    pub title: &'a str,
    /// Names of the two coordinates.
    pub axes: [&'a str; 2],
    /// The box's lower bounds.
    pub lower: [f64; 2],
    /// The box's upper bounds.
    pub upper: [f64; 2],
    /// The function, which is computed once for each pixel of the map (at most 520 · 520 times).
    pub value: &'a dyn Fn(f64, f64) -> f64,
    /// Where the function is known to be lowest.
    pub optimum: Option<[f64; 2]>,
    /// In the order of the iterations; of many, 150 evenly apart are shown.
    pub frames: &'a [Frame],
    /// How long each is shown: at least 20 ms, below which viewers slow down.
    pub delay: Duration,
}

impl fmt::Debug for Animation<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter
            .debug_struct("Animation")
            .field("title", &self.title)
            .field("axes", &self.axes)
            .field("lower", &self.lower)
            .field("upper", &self.upper)
            .field("optimum", &self.optimum)
            .field("frames", &self.frames.len())
            .field("delay", &self.delay)
            .finish_non_exhaustive()
    }
}

/// Draws the particles of a run over the map of a function of two variables, as an endless GIF.
///
/// Particles are dots; the tail of each points to where it was a frame of `frames` before, if that has
/// as many. The best is a cross, the known optimum a ring. Each colour of the map covers the same area,
/// so that narrow valleys and huge walls are seen alike; the bar beside it has the values. Particles
/// outside the box and coordinates that are not finite are left out.
///
/// # Errors
/// [`Error::Format`] for another ending of the file's name than `.gif`, [`Error::Bounds`] if the box
/// is none, [`Error::Option`] without a frame, [`Error::File`] if the file cannot be written.
///
/// ```
/// use flockwork::plot::{Animation, Frame, animation};
///
/// let frame = |iteration: u32| {
///     let x = 4.0 * 0.5_f32.powi(iteration as i32);
///     let best_position = [f64::from(x), 0.0];
///     Frame { iteration, best: f64::from(x * x), best_position, positions: vec![[x, 0.0], [0.0, -x]] }
/// };
/// let frames: Vec<_> = (0..5).map(frame).collect();
/// let picture = Animation {
///     title: "Sphere",
///     axes: ["x", "y"],
///     lower: [-5.0; 2],
///     upper: [5.0; 2],
///     value: &|x, y| x * x + y * y,
///     optimum: Some([0.0; 2]),
///     frames: &frames,
///     delay: std::time::Duration::from_millis(80),
/// };
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("sphere.gif");
/// animation(&path, &picture)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn animation(path: &Path, data: &Animation) -> Result<()> {
    file::extension(path, &["gif"])?;
    for (dimension, (&lower, &upper)) in data.lower.iter().zip(&data.upper).enumerate() {
        // An infinite or undefined bound makes an infinite or undefined difference.
        if !(upper - lower).is_finite() || lower >= upper {
            return Err(Error::Bounds { dimension, lower, upper });
        }
    }
    if data.frames.is_empty() {
        return Err(Error::Option {
            option: "frames",
            value: "empty".to_owned(),
            accepted: "at least one".to_owned(),
        });
    }
    let scene = Scene::new(data);
    file::write_whole(path, |output| scene.write(output))
}

/// Of more frames some are left out.
const MOST_FRAMES: usize = 150;
/// Longer side of the map in pixels, and the least of the shorter one.
const SIDE: f64 = 520.0;
const LEAST_SIDE: f64 = 300.0;
const MARGIN: f64 = 16.0;
const TITLE: Style = Style::new(17.0, INK, Anchor::Start);
const CAPTION: Style = Style::new(14.0, INK, Anchor::Start);
const LABEL: Style = Style::new(12.0, INK, Anchor::Middle);
const TICK: Style = Style::new(11.0, INK, Anchor::Middle);
const BAR: f64 = 14.0;
const CONTOUR_OPACITY: f64 = 0.3;
/// Longest tail in pixels.
const TAIL: f64 = 16.0;
/// With more particles than this tails would hide the map, and make a large file.
const MOST_TAILS: usize = 2000;
/// How long the last frame is shown, in hundredths of a second.
const LAST_DELAY: u16 = 200;

const DARK: Rgb = [0x14, 0x0c, 0x1c];
const BEST: Rgb = [0xff, 0x3b, 0x30];
const PROGRESS: Rgb = [0x31, 0x68, 0x8e];
const UNDONE: Rgb = [0xdd; 3];

/// Everything that is the same in all frames.
struct Scene<'a> {
    data: &'a Animation<'a>,
    background: Raster,
    /// Left and top of the map, its width and its height: whole pixels.
    area: [f64; 4],
    /// Where the caption and the progress bar are.
    caption: f64,
    progress: f64,
}

impl<'a> Scene<'a> {
    fn new(data: &'a Animation<'a>) -> Self {
        let [width, height] = [0, 1].map(|axis| data.upper[axis] - data.lower[axis]);
        // The box's own proportions, unless the picture became a strip.
        let side = |this: f64, other: f64| (SIDE * (this / other).min(1.0)).round().max(LEAST_SIDE);
        let (width, height) = (side(width, height), side(height, width));

        let axes: [Axis; 2] = [(0, width, 80.0), (1, height, 55.0)].map(|(axis, length, apart)| {
            Axis::exact(data.lower[axis], data.upper[axis], (length / apart) as usize)
        });
        let widest = |labels: &mut dyn Iterator<Item = &str>| {
            labels.map(|label| glyphs::width(label, TICK.size)).fold(0.0, f64::max).ceil()
        };
        let tick_width = widest(&mut axes[1].ticks.iter().map(|tick| tick.label.as_str()));
        let left = MARGIN + LABEL.size + 8.0 + tick_width + 8.0;
        let caption = MARGIN + 14.0 + 24.0;
        let top = caption + 14.0;
        let bar = left + width + 16.0;

        let pixel = |column: f64, row: f64| {
            let part = [(column + 0.5) / width, 1.0 - (row + 0.5) / height];
            let at = |axis: usize| {
                // The difference is finite, as the bounds are.
                data.lower[axis] + part[axis] * (data.upper[axis] - data.lower[axis])
            };
            (data.value)(at(0), at(1))
        };
        let values = (0..height as usize)
            .flat_map(|row| (0..width as usize).map(move |column| (column as f64, row as f64)))
            .map(|(column, row)| pixel(column, row));
        let map = Map::new(width as usize, values.collect());
        let levels: Vec<(usize, f64, String)> =
            map.levels().into_iter().map(|(band, value)| (band, value, number(value, 3))).collect();
        let level_width = widest(&mut levels.iter().map(|level| level.2.as_str()));

        let bottom = top + height;
        let progress = bottom + 74.0;
        let sheet = [bar + BAR + 6.0 + level_width + MARGIN, progress + 6.0 + MARGIN];
        let mut background = Raster::new(sheet[0], sheet[1], 1.0);
        let area = [left, top, width, height];
        for row in 0..height as usize {
            for column in 0..width as usize {
                let colour = map.colour(column, row);
                background.set(left as usize + column, top as usize + row, colour);
            }
        }
        for (_, level, _) in &levels {
            let lines = map.contour(*level).into_iter();
            let lines = lines.map(|line| line.map(|[x, y]| [left + x, top + y]));
            background.lines(lines, 1.0, DARK, CONTOUR_OPACITY);
        }
        let title = glyphs::fit(data.title, TITLE.size, sheet[0] - 2.0 * MARGIN);
        background.text([MARGIN, MARGIN + 14.0], &title, TITLE);
        let scene = Self { data, background, area, caption, progress };
        scene.furnished(&axes, &levels, bar)
    }

    /// Adds axes, colour bar and legend to the background.
    fn furnished(mut self, axes: &[Axis; 2], levels: &[(usize, f64, String)], bar: f64) -> Self {
        let [left, top, width, height] = self.area;
        let (right, bottom) = (left + width, top + height);
        let sheet = &mut self.background;
        let frame = |sheet: &mut Raster, [left, top, right, bottom]: [f64; 4]| {
            // Between pixels it would be two pixels wide.
            let [left, top] = [left - 0.5, top - 0.5];
            let [right, bottom] = [right + 0.5, bottom + 0.5];
            let corners = [[left, top], [right, top], [right, bottom], [left, bottom], [left, top]];
            sheet.polyline(&corners, 1.0, FAINT_INK);
        };
        frame(sheet, [left, top, right, bottom]);
        for tick in &axes[0].ticks {
            let x = left + tick.position * width;
            sheet.polyline(&[[x, bottom + 1.0], [x, bottom + 5.0]], 1.0, FAINT_INK);
            sheet.text([x, bottom + 17.0], &tick.label, TICK);
        }
        for tick in &axes[1].ticks {
            let y = bottom - tick.position * height;
            sheet.polyline(&[[left - 5.0, y], [left - 1.0, y]], 1.0, FAINT_INK);
            let style = Style { anchor: Anchor::End, ..TICK };
            sheet.text([left - 8.0, y + TICK.size * 0.36], &tick.label, style);
        }
        let name = |axis: usize, longest: f64| {
            let name = format!("{}{}", self.data.axes[axis], axes[axis].factor_label());
            glyphs::fit(&name, LABEL.size, longest)
        };
        sheet.text([left + width / 2.0, bottom + 34.0], &name(0, width), LABEL);
        let at = [MARGIN + LABEL.size * 0.75, top + height / 2.0];
        sheet.text(at, &name(1, height), LABEL.upwards());

        for row in 0..height as usize {
            let band = ((1.0 - (row as f64 + 0.5) / height) * BANDS as f64) as usize;
            for column in 0..BAR as usize {
                sheet.set(bar as usize + column, top as usize + row, map::colour(band));
            }
        }
        frame(sheet, [bar, top, bar + BAR, bottom]);
        for (band, _, label) in levels {
            let y = bottom - *band as f64 / BANDS as f64 * height;
            sheet.lines([[[bar, y], [bar + BAR, y]]], 1.0, DARK, CONTOUR_OPACITY);
            let style = Style { anchor: Anchor::Start, ..TICK };
            sheet.text([bar + BAR + 6.0, y + TICK.size * 0.36], label, style);
        }

        let y = bottom + 57.0;
        let mut x = left;
        let mut entry = |sheet: &mut Raster, name: &str, mark: &dyn Fn(&mut Raster, Point)| {
            mark(sheet, [x + 8.0, y - 4.0]);
            sheet.text([x + 22.0, y], name, Style { anchor: Anchor::Start, ..LABEL });
            x += 22.0 + glyphs::width(name, LABEL.size) + 22.0;
        };
        entry(sheet, "particle", &|sheet, at| draw_particle(sheet, at, 2.4));
        entry(sheet, "best so far", &draw_best);
        if self.data.optimum.is_some() {
            entry(sheet, "known optimum", &draw_optimum);
        }
        self
    }

    /// Where a point of the box is in the picture; nothing if that is far outside.
    fn place(&self, point: [f64; 2]) -> Option<Point> {
        let [left, top, width, height] = self.area;
        let part = |axis: usize| {
            let length = self.data.upper[axis] - self.data.lower[axis];
            (point[axis] - self.data.lower[axis]) / length
        };
        let (x, y) = (part(0), part(1));
        let near = -0.1..1.1;
        (near.contains(&x) && near.contains(&y))
            .then(|| [left + x * width, top + (1.0 - y) * height])
    }

    fn draw(&self, sheet: &mut Raster, index: usize) {
        let frame = &self.data.frames[index];
        sheet.copy_from(&self.background);
        let [left, top, width, height] = self.area;
        let [columns, rows] = [[left, width], [top, height]]
            .map(|[start, length]| start as usize..(start + length) as usize);
        sheet.clip(columns, rows);

        if let Some(at) = self.data.optimum.and_then(|optimum| self.place(optimum)) {
            draw_optimum(sheet, at);
        }
        let particles = frame.positions.len();
        let places = |frame: &Frame| -> Vec<Option<Point>> {
            frame.positions.iter().map(|point| self.place(point.map(f64::from))).collect()
        };
        let now = places(frame);
        let earlier = index.checked_sub(1).map(|earlier| &self.data.frames[earlier]);
        let earlier = earlier.filter(|earlier| earlier.positions.len() == particles);
        if let Some(earlier) = earlier.filter(|_| particles <= MOST_TAILS) {
            let tails = now.iter().zip(places(earlier)).filter_map(|(&now, before)| {
                let (now, before) = (now?, before?);
                let length = (now[0] - before[0]).hypot(now[1] - before[1]);
                let part = (TAIL / length).min(1.0);
                Some([now, [0, 1].map(|axis| now[axis] + part * (before[axis] - now[axis]))])
            });
            sheet.lines(tails, 1.3, WHITE, 0.6);
        }
        let radius = match particles {
            0..=300 => 2.4,
            301..=2000 => 1.8,
            2001..=20_000 => 1.2,
            _ => 0.8,
        };
        for at in now.into_iter().flatten() {
            draw_particle(sheet, at, radius);
        }
        if let Some(at) = self.place(frame.best_position) {
            draw_best(sheet, at);
        }
        sheet.clip_nothing();

        let caption = format!("iteration {}", count(frame.iteration.into()));
        sheet.text([MARGIN, self.caption], &caption, CAPTION);
        // Where it does not move while the iterations get more digits.
        let last = self.data.frames.last().map_or(0, |last| last.iteration);
        let longest = format!("iteration {}", count(last.into()).replace(|_: char| true, "0"));
        let x = MARGIN + glyphs::width(&longest, CAPTION.size) + 24.0;
        sheet.text([x, self.caption], &format!("best {}", number(frame.best, 6)), CAPTION);

        let (y, end) = (self.progress, left + width);
        sheet.polyline(&[[left, y], [end, y]], 4.0, UNDONE);
        let done = f64::from(frame.iteration) / f64::from(last.max(1));
        sheet.polyline(&[[left, y], [left + done.min(1.0) * width, y]], 4.0, PROGRESS);
    }

    fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        let [width, height] = self.background.size();
        // A side is at most that of the map and some hundreds of pixels.
        let [gif_width, gif_height] = [width, height].map(|side| side as u16);
        let mut palette = Palette::new();
        let failed = |error: gif::EncodingError| match error {
            gif::EncodingError::Io(error) => error,
            other => io::Error::other(other),
        };
        let mut encoder =
            gif::Encoder::new(output, gif_width, gif_height, &palette.bytes()).map_err(failed)?;
        encoder.set_repeat(gif::Repeat::Infinite).map_err(failed)?;

        let delay = (self.data.delay.as_millis() / 10).clamp(2, u16::MAX.into()) as u16;
        let mut sheet = self.background.clone();
        let mut before: Vec<u8> = Vec::new();
        let indices = shown(self.data.frames.len());
        for (number, &index) in indices.iter().enumerate() {
            self.draw(&mut sheet, index);
            let now: Vec<u8> = sheet.pixels().iter().map(|&pixel| palette.nearest(pixel)).collect();
            let [columns, rows] = changed(&before, &now, width);
            let pixels = rows.clone().flat_map(|row| {
                let (before, now) = (&before, &now);
                columns.clone().map(move |column| {
                    let place = row * width + column;
                    let same = before.get(place) == Some(&now[place]);
                    if same { TRANSPARENT } else { now[place] }
                })
            });
            let frame = gif::Frame {
                delay: if number + 1 == indices.len() { delay.max(LAST_DELAY) } else { delay },
                dispose: gif::DisposalMethod::Keep,
                transparent: Some(TRANSPARENT),
                left: columns.start as u16,
                top: rows.start as u16,
                width: columns.len() as u16,
                height: rows.len() as u16,
                buffer: pixels.collect(),
                ..gif::Frame::default()
            };
            encoder.write_frame(&frame).map_err(failed)?;
            before = now;
        }
        encoder.into_inner().map_err(failed)?.flush()
    }
}

fn draw_particle(sheet: &mut Raster, at: Point, radius: f64) {
    sheet.disc(at, radius + 0.9, DARK);
    sheet.disc(at, radius, WHITE);
}

fn draw_optimum(sheet: &mut Raster, at: Point) {
    sheet.ring(at, 8.0, 4.4, DARK);
    sheet.ring(at, 8.0, 2.2, WHITE);
}

fn draw_best(sheet: &mut Raster, [x, y]: Point) {
    let arm = 5.5;
    let lines =
        [[[x - arm, y - arm], [x + arm, y + arm]], [[x - arm, y + arm], [x + arm, y - arm]]];
    sheet.lines(lines, 5.0, DARK, 1.0);
    sheet.lines(lines, 2.6, BEST, 1.0);
}

/// The frames that are shown: the first, the last, and others evenly between.
fn shown(frames: usize) -> Vec<usize> {
    if frames <= MOST_FRAMES {
        return (0..frames).collect();
    }
    (0..MOST_FRAMES).map(|index| index * (frames - 1) / (MOST_FRAMES - 1)).collect()
}

/// The columns and rows in which two pictures differ; at least one pixel.
fn changed(before: &[u8], now: &[u8], width: usize) -> [std::ops::Range<usize>; 2] {
    let height = now.len() / width;
    if before.len() != now.len() {
        return [0..width, 0..height];
    }
    let (mut columns, mut rows) = (usize::MAX..0, usize::MAX..0);
    for (row, (before, now)) in before.chunks(width).zip(now.chunks(width)).enumerate() {
        let differs = |column: &usize| before[*column] != now[*column];
        if let Some(first) = (0..width).find(differs) {
            let last = (0..width).rfind(differs).unwrap_or(first);
            columns = columns.start.min(first)..columns.end.max(last + 1);
            rows = rows.start.min(row)..row + 1;
        }
    }
    if columns.is_empty() { [0..1, 0..1] } else { [columns, rows] }
}

const TRANSPARENT: u8 = 255;

/// The colours of the file: those of the map as they are, and enough between them and the marks' for
/// smooth edges.
struct Palette {
    colours: Vec<Rgb>,
    /// What was looked up before.
    known: HashMap<Rgb, u8>,
}

impl Palette {
    fn new() -> Self {
        let map = || (0..BANDS).map(map::colour);
        let mut colours: Vec<Rgb> = map().collect();
        colours.extend(map().map(|colour| mixed(colour, DARK, CONTOUR_OPACITY)));
        // Tails and edges of dots.
        for part in [0.35, 0.6, 0.8] {
            colours.extend(map().step_by(3).map(|colour| mixed(colour, WHITE, part)));
        }
        colours.extend(map().step_by(3).map(|colour| mixed(colour, DARK, 0.65)));
        colours.extend([map::NO_VALUE, BEST, PROGRESS, UNDONE, DARK, WHITE, INK, FAINT_INK]);
        colours.extend((1..12).map(|step| mixed(INK, WHITE, f64::from(step) / 12.0)));
        colours.extend((1..8).map(|step| mixed(DARK, WHITE, f64::from(step) / 8.0)));
        colours.extend((1..5).map(|step| mixed(DARK, BEST, f64::from(step) / 5.0)));
        colours.extend((1..3).map(|step| mixed(PROGRESS, WHITE, f64::from(step) / 3.0)));
        debug_assert!(colours.len() <= usize::from(TRANSPARENT));
        Self { colours, known: HashMap::new() }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.colours.as_flattened().to_vec();
        bytes.resize(256 * 3, 0);
        bytes
    }

    fn nearest(&mut self, pixel: Rgb) -> u8 {
        *self.known.entry(pixel).or_insert_with(|| {
            let distance = |colour: &Rgb| -> u32 {
                let channels = colour.iter().zip(&pixel);
                channels.map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2)).sum()
            };
            let colours = self.colours.iter().enumerate();
            colours.min_by_key(|(_, colour)| distance(colour)).map_or(0, |(index, _)| index as u8)
        })
    }
}
