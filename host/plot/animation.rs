//! The swarm on its way over the map of a function.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::axis::{Axis, count, number};
use super::canvas::{Anchor, Canvas, FAINT_INK, INK, Point, Rgb, Style, WHITE};
use super::map::{self, BANDS, Map};
use super::raster::{Raster, joined, mixed};
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
    /// In the order of the iterations; of many, 150 evenly apart are shown, or as many as fit into a
    /// file of 6 MB, but no fewer than 20.
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
    let failed = |source| Error::File { path: path.to_owned(), source };
    let scene = Scene::new(data);
    let mut most = MOST_FRAMES;
    let bytes = loop {
        let bytes = scene.encoded(most).map_err(failed)?;
        if bytes.len() <= MOST_BYTES || most == LEAST_FRAMES {
            break bytes;
        }
        // Frames differ in size: aim a little below.
        let fitting = data.frames.len().min(most) * (MOST_BYTES / 10 * 9) / bytes.len();
        most = fitting.clamp(LEAST_FRAMES, most - 1);
    };
    file::write_whole(path, |output| output.write_all(&bytes))
}

/// Of more frames some are left out.
const MOST_FRAMES: usize = 150;
/// Of frames that make a longer file, as those of thousands of restless particles do, still more are
/// left out, but never so many that fewer than these are shown.
const MOST_BYTES: usize = 6_000_000;
const LEAST_FRAMES: usize = 20;
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
const MOST_TAILS: usize = 1000;
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
        let level_width = widest(&mut levels.iter().map(|level| level.2.as_str())).max(20.0);

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
        let mut free = f64::NEG_INFINITY;
        for tick in &axes[0].ticks {
            let (x, half) =
                (left + tick.position * width, glyphs::width(&tick.label, TICK.size) / 2.0);
            sheet.polyline(&[[x, bottom + 1.0], [x, bottom + 5.0]], 1.0, FAINT_INK);
            // A small box far from zero has long labels.
            if x - half > free + 8.0 {
                sheet.text([x, bottom + 17.0], &tick.label, TICK);
                free = x + half;
            }
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
        sheet.text([bar, top - 7.0], "value", Style { anchor: Anchor::Start, ..TICK });
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
            .then_some([left + x * width, top + (1.0 - y) * height])
    }

    fn draw(&self, sheet: &mut Raster, index: usize) {
        let frame = &self.data.frames[index];
        sheet.copy_from(&self.background);
        let [left, top, width, height] = self.area;
        let [columns, rows] = [[left, width], [top, height]]
            .map(|[start, length]| start as usize..(start + length) as usize);
        sheet.clip(columns, rows);
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
        if let Some(at) = self.data.optimum.and_then(|optimum| self.place(optimum)) {
            draw_optimum(sheet, at);
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

    /// The file, with at most this many frames.
    fn encoded(&self, most: usize) -> io::Result<Vec<u8>> {
        let [width, height] = self.background.size();
        // A side is at most that of the map and some hundreds of pixels.
        let [gif_width, gif_height] = [width, height].map(|side| side as u16);
        let mut palette = Palette::new();
        let failed = |error: gif::EncodingError| match error {
            gif::EncodingError::Io(error) => error,
            other => io::Error::other(other),
        };
        let mut encoder = gif::Encoder::new(Vec::new(), gif_width, gif_height, &palette.bytes())
            .map_err(failed)?;
        encoder.set_repeat(gif::Repeat::Infinite).map_err(failed)?;

        let delay = (self.data.delay.as_millis() / 10).clamp(2, u16::MAX.into()) as u16;
        let background = self.background.pixels().iter().map(|&pixel| palette.nearest(pixel));
        let background: Vec<u8> = background.collect();
        let mut sheet = self.background.clone();
        let mut before: Vec<u8> = Vec::new();
        let indices = shown(self.data.frames.len(), most);
        for (number, &index) in indices.iter().enumerate() {
            self.draw(&mut sheet, index);
            // Most of a frame is background.
            let pixels = sheet.pixels().iter().zip(self.background.pixels()).zip(&background);
            let now: Vec<u8> = pixels
                .map(
                    |((&pixel, &behind), &index)| {
                        if pixel == behind { index } else { palette.nearest(pixel) }
                    },
                )
                .collect();
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
        encoder.into_inner().map_err(failed)
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
fn shown(frames: usize, most: usize) -> Vec<usize> {
    if frames <= most {
        return (0..frames).collect();
    }
    (0..most).map(|index| index * (frames - 1) / (most - 1)).collect()
}

/// The columns and rows in which two pictures differ; at least one pixel.
fn changed(before: &[u8], now: &[u8], width: usize) -> [std::ops::Range<usize>; 2] {
    let height = now.len() / width;
    if before.len() != now.len() {
        return [0..width, 0..height];
    }
    let (mut columns, mut rows) = (0..0, 0..0);
    for (row, (before, now)) in before.chunks(width).zip(now.chunks(width)).enumerate() {
        let differs = |column: &usize| before[*column] != now[*column];
        if let Some(first) = (0..width).find(differs) {
            let last = (0..width).rfind(differs).unwrap_or(first);
            columns = joined(&columns, &(first..last + 1));
            rows = joined(&rows, &(row..row + 1));
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

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    fn bowl(x: f64, y: f64) -> f64 {
        x * x + y * y
    }

    fn data(frames: &[Frame]) -> Animation<'_> {
        Animation {
            title: "Bowl",
            axes: ["x", "y"],
            lower: [-5.0; 2],
            upper: [5.0; 2],
            value: &bowl,
            optimum: None,
            frames,
            delay: Duration::from_millis(70),
        }
    }

    fn frame(iteration: u32, positions: &[[f32; 2]]) -> Frame {
        let best_position = [4.0, -4.0];
        Frame { iteration, best: 1.0, best_position, positions: positions.to_vec() }
    }

    /// The size of a GIF, and its frames as they are seen: pixels and delay.
    fn decoded(data: &Animation) -> ([usize; 2], Vec<(Vec<Rgb>, u16)>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("picture.gif");
        animation(&path, data).unwrap();
        let mut decoder = gif::DecodeOptions::new().read_info(File::open(&path).unwrap()).unwrap();
        assert_eq!(decoder.repeat(), gif::Repeat::Infinite);
        let [width, height] = [decoder.width(), decoder.height()].map(usize::from);
        let palette = decoder.global_palette().unwrap().to_vec();
        let mut screen = vec![[0; 3]; width * height];
        let mut frames = Vec::new();
        while let Some(frame) = decoder.read_next_frame().unwrap() {
            for (index, &colour) in frame.buffer.iter().enumerate() {
                let column = usize::from(frame.left) + index % usize::from(frame.width);
                let row = usize::from(frame.top) + index / usize::from(frame.width);
                if Some(colour) != frame.transparent {
                    let start = 3 * usize::from(colour);
                    screen[row * width + column] = palette[start..start + 3].try_into().unwrap();
                }
            }
            frames.push((screen.clone(), frame.delay));
        }
        ([width, height], frames)
    }

    #[test]
    fn particles_are_where_they_should_be() {
        let first: [[f32; 2]; 3] = [[-3.0, 2.0], [0.5, 0.5], [f32::NAN, 0.0]];
        let second: [[f32; 2]; 3] = [[1.0, 3.0], [0.5, 0.5], [1e30, f32::INFINITY]];
        let frames = [frame(0, &first), frame(7, &second)];
        let data = Animation { optimum: Some([-4.0, -4.0]), ..data(&frames) };
        let scene = Scene::new(&data);
        let (size, shown) = decoded(&data);
        assert_eq!(size, scene.background.size());
        assert_eq!(shown.iter().map(|(_, delay)| *delay).collect::<Vec<_>>(), [7, LAST_DELAY]);
        let at = |frame: usize, x: f64, y: f64| {
            let [x, y] = scene.place([x, y]).unwrap();
            shown[frame].0[y as usize * size[0] + x as usize]
        };
        assert_eq!([at(0, -3.0, 2.0), at(0, 0.5, 0.5)], [WHITE; 2]);
        assert_eq!([at(1, 1.0, 3.0), at(1, 0.5, 0.5)], [WHITE; 2]);
        // The particle left, and the map is as it was.
        let map = |x: f64, y: f64| {
            let [x, y] = scene.place([x, y]).unwrap();
            scene.background.pixels()[y as usize * size[0] + x as usize]
        };
        assert_eq!((at(1, -3.0, 2.0), at(0, 1.0, 3.0)), (map(-3.0, 2.0), map(1.0, 3.0)));
        assert_ne!(at(0, -3.0, 2.0), map(-3.0, 2.0));
        // Its tail points to where it came from.
        let tail = at(1, 1.0 - 4.0 * 0.04, 3.0 - 1.0 * 0.04);
        assert!(tail != map(0.84, 2.96), "{tail:?}");
        assert_eq!(at(0, 4.0, -4.0), BEST);
        // Inside the ring there is the map, and on it is white.
        let pixel = 10.0 / SIDE;
        assert_eq!(at(1, -4.0 + 8.0 * pixel, -4.0), WHITE);
        assert_eq!(at(1, -4.0, -4.0), map(-4.0, -4.0));
        // Colours of the map rise from the middle.
        assert_eq!((map(0.0, 0.0), map(-4.98, 4.98)), (map::colour(0), map::colour(BANDS - 1)));
    }

    #[test]
    fn long_runs_are_thinned_out() {
        assert_eq!(shown(3, MOST_FRAMES), [0, 1, 2]);
        let indices = shown(100_000, MOST_FRAMES);
        assert_eq!((indices.len(), indices[0], indices[149]), (150, 0, 99_999));
        let apart = |pair: &[usize]| pair[1] - pair[0];
        assert!(indices.windows(2).all(|pair| (671..=672).contains(&apart(pair))));
        let frames: Vec<_> = (0..151).map(|i| frame(i, &[[0.02 * i as f32, 0.0]])).collect();
        assert_eq!(decoded(&data(&frames)).1.len(), 150);
    }

    #[test]
    fn equal_frames_are_shown_too() {
        let frames = vec![frame(3, &[]); 4];
        let (_, shown) = decoded(&data(&frames));
        assert_eq!(shown.len(), 4);
        assert!(shown.iter().all(|frame| frame.0 == shown[0].0));
    }

    #[test]
    fn files_are_small() {
        let mut state = 1_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f32 / (1 << 24) as f32 * 10.0 - 5.0
        };
        // Worse than any swarm: particles jump everywhere.
        let frames = (0..40).map(|i| frame(i, &[(); 3000].map(|()| [draw(), draw()])));
        let frames: Vec<_> = frames.collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("picture.gif");
        animation(&path, &data(&frames)).unwrap();
        let size = fs::metadata(&path).unwrap().len() as usize;
        assert!((MOST_BYTES / 2..MOST_BYTES).contains(&size), "{size}");
    }

    #[test]
    fn odd_boxes_and_functions() {
        let frames = [Frame {
            best: f64::NAN,
            best_position: [f64::NAN, f64::INFINITY],
            positions: vec![[f32::MAX; 2], [0.0; 2]],
            ..Frame::default()
        }];
        let boxes = [
            ([-1e300, -1e-300], [1e300, 1e-300]),
            ([1e15, 0.0], [1e15 + 1.0, 1e9]),
            ([-8e307, 5e-324], [8e307, 1e-323]),
            ([1234567.0001, -1.0], [1234567.0002, 0.0]),
        ];
        let values: [&dyn Fn(f64, f64) -> f64; 3] =
            [&|_, _| f64::NAN, &|x, y| x / y, &|x, _| if x > 0.0 { f64::MAX } else { f64::MIN }];
        for ((lower, upper), value) in boxes.into_iter().zip(values.into_iter().cycle()) {
            let optimum = Some([f64::NAN, f64::NEG_INFINITY]);
            let title = &"long ".repeat(40);
            let data = Animation { lower, upper, value, optimum, title, ..data(&frames) };
            assert_eq!(decoded(&data).1.len(), 1);
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_said() {
        let frames = [frame(0, &[])];
        let path = Path::new("nowhere.gif");
        let says = |path: &Path, data: &Animation, text: &str| {
            let error = animation(path, data).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        };
        says(path, &data(&[]), "frames is empty");
        let bad =
            [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (f64::MIN, f64::MAX)];
        for (lower, upper) in bad {
            let data = Animation { lower: [0.0, lower], upper: [1.0, upper], ..data(&frames) };
            says(path, &data, "dimension 1 has the bounds");
        }
        says(Path::new("a.png"), &data(&frames), "a.png: this picture can be written as .gif");
        let folder = tempfile::tempdir().unwrap();
        says(&folder.path().join("none/a.gif"), &data(&frames), "none");
        assert!(!path.exists());
    }

    #[test]
    fn the_palette_has_the_colours_of_the_map() {
        let mut palette = Palette::new();
        assert!(palette.colours.len() <= usize::from(TRANSPARENT), "{}", palette.colours.len());
        for colour in (0..BANDS).map(map::colour).chain([WHITE, DARK, BEST, INK, map::NO_VALUE]) {
            let index = palette.nearest(colour);
            assert_eq!(palette.colours[usize::from(index)], colour);
        }
    }
}
