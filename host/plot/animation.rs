//! An animation of the swarm over a map of the function.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::colors::colormaps::ViridisRGB;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::{Axis, count, number};
use super::convergence::side_by_side;
use super::{FAINT_INK, INK, drawable, file, fit, text, width};
use crate::{Error, Result};

/// The particles at one moment.
///
/// ```
/// use flockwork::plot::Frame;
///
/// let frame = Frame { iteration: 3, positions: vec![[0.5, 1.0], [2.0, 0.0]], ..Frame::default() };
/// assert_eq!(frame.positions.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Number of iterations done.
    pub iteration: u32,
    /// The lowest value so far.
    pub best: f64,
    /// The position of the lowest value.
    pub best_position: [f64; 2],
    /// The particles' positions.
    pub positions: Vec<[f32; 2]>,
}

/// The contents of an animation.
///
/// ```
/// use flockwork::plot::{Animation, Frame, animation};
///
/// // A function to be maximised is drawn negated.
/// let picture = Animation {
///     title: "A hill",
///     axes: ["east", "north"],
///     lower: [-1.0; 2],
///     upper: [1.0; 2],
///     value: &|x, y| -(-x * x - y * y).exp(),
///     optimum: None,
///     frames: &[Frame { positions: vec![[0.5, 0.5]], ..Frame::default() }],
///     delay: std::time::Duration::from_millis(50),
/// };
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("hill.gif");
/// animation(&path, &picture)?;
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Animation<'a> {
    /// The title; shortened if it is too long.
    pub title: &'a str,
    /// Names of the two coordinates.
    pub axes: [&'a str; 2],
    /// The box's lower bounds.
    pub lower: [f64; 2],
    /// The box's upper bounds.
    pub upper: [f64; 2],
    /// The function, which is evaluated at most 1040 · 1040 times for the map.
    pub value: &'a dyn Fn(f64, f64) -> f64,
    /// The known position of the minimum.
    pub optimum: Option<[f64; 2]>,
    /// Frames in the order of iterations. At most 150 of them, evenly spaced, are shown, or as many
    /// as fit into a file of 6 MB, but at least 20.
    pub frames: &'a [Frame],
    /// How long each frame is shown: at least 20 ms, below which viewers slow down.
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

/// Animates the particles of a run over a map of a function of two variables, as an endless GIF.
///
/// Particles are dots; the tail of each points to its position in the previous frame of `frames`,
/// if that has the same number of particles. The best is a cross, the known optimum a ring. Each
/// colour of the map covers the same area, so that narrow valleys and steep walls are equally
/// visible; the bar beside the map shows the values. Particles outside the box and coordinates that
/// are not finite are left out.
///
/// # Errors
/// [`Error::Format`] for a file name ending other than `.gif`, [`Error::Bounds`] if the bounds are
/// invalid, [`Error::Option`] without a frame, [`Error::File`] if the file cannot be written.
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
        // An infinite or NaN bound makes the difference infinite or NaN.
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
    let [title, x, y] = &[data.title, data.axes[0], data.axes[1]].map(drawable);
    let data = &Animation { title, axes: [x, y], ..*data };
    let scene = Scene::new(data).map_err(failed)?;
    let mut most = MOST_FRAMES;
    let bytes = loop {
        let bytes = scene.encoded(most).map_err(failed)?;
        if bytes.len() <= MOST_BYTES || most == LEAST_FRAMES {
            break bytes;
        }
        // Frames differ in size, so aim a little lower.
        let fitting = data.frames.len().min(most) * (MOST_BYTES / 10 * 9) / bytes.len();
        most = fitting.clamp(LEAST_FRAMES, most - 1);
    };
    file::write_whole(path, &bytes)
}

/// The most frames shown.
const MOST_FRAMES: usize = 150;
/// If the file is larger than this, as with thousands of restless particles, fewer frames are
/// shown, but at least this many.
const MOST_BYTES: usize = 6_000_000;
const LEAST_FRAMES: usize = 20;
/// Dots per pixel in each direction, for smooth edges.
const FINE: usize = 2;
/// Length of the map's longer side in pixels, and minimum length of the shorter one.
const SIDE: f64 = 520.0;
const LEAST_SIDE: f64 = 300.0;
const MARGIN: i32 = 16;
/// Height above the map (title and caption) and below it (ticks, axis name and legend).
const HEAD: i32 = 64;
const FOOT: i32 = 84;
const BAR: i32 = 14;
const TITLE: f64 = 17.0;
const CAPTION: f64 = 14.0;
const LABEL: f64 = 12.0;
const TICK: f64 = 11.0;
/// Number of colours from the lowest to the highest value, and between contour lines.
const BANDS: usize = 32;
const BANDS_BETWEEN_LINES: usize = 4;
const CONTOUR_OPACITY: f64 = 0.45;
/// Greatest length of a tail in pixels.
const TAIL: f64 = 16.0;
/// With more particles than this, tails would hide the map and make the file large.
const MOST_TAILS: usize = 1000;
/// How long the last frame is shown, in hundredths of a second.
const LAST_DELAY: u16 = 200;

type Rgb = [u8; 3];
type Sheet<'a> = DrawingArea<BitMapBackend<'a>, Shift>;
type Drawn = std::result::Result<(), Box<dyn std::error::Error + Send + Sync>>;

const DARK: RGBColor = RGBColor(0x14, 0x0c, 0x1c);
const BEST: RGBColor = RGBColor(0xff, 0x3b, 0x30);
/// Where the function is NaN.
const NO_VALUE: RGBColor = RGBColor(0xb8, 0xb8, 0xb8);

fn band(index: usize) -> RGBColor {
    ViridisRGB::get_color(index as f64 / (BANDS - 1) as f64)
}

fn mixed(a: RGBColor, b: RGBColor, part: f64) -> RGBColor {
    let channel =
        |a: u8, b: u8| (f64::from(a) + part * (f64::from(b) - f64::from(a))).round() as u8;
    RGBColor(channel(a.0, b.0), channel(a.1, b.1), channel(a.2, b.2))
}

/// Converts pixels of the picture to dots of the drawing.
fn dots(pixels: i32) -> i32 {
    pixels * FINE as i32
}

fn style(size: f64) -> TextStyle<'static> {
    text(size * FINE as f64)
}

/// Everything that all frames have in common.
struct Scene<'a> {
    data: &'a Animation<'a>,
    /// Width and height in pixels.
    size: [usize; 2],
    /// Three bytes per dot.
    background: Vec<u8>,
    /// Left, top, width and height of the map in dots.
    map: [i32; 4],
}

impl<'a> Scene<'a> {
    fn new(data: &'a Animation<'a>) -> io::Result<Self> {
        let [width, height] = [0, 1].map(|axis| data.upper[axis] - data.lower[axis]);
        // The box's own proportions, unless that would make the picture a strip.
        let side = |this: f64, other: f64| (SIDE * (this / other).min(1.0)).max(LEAST_SIDE) as i32;
        let (width, height) = (side(width, height), side(height, width));
        let axis = |axis: usize| Axis::exact(data.lower[axis], data.upper[axis]);
        let axes = [
            axis(0).marked(|labels| side_by_side(labels, width + 40)),
            axis(1).marked(|labels| labels.len() as i32 * 45 <= height),
        ];
        let left = MARGIN + widest(&axes[1].labels()) / FINE as i32 + 36;

        let map = [dots(left), dots(HEAD), dots(width), dots(height)];
        let values = values(data, map[2], map[3]);
        let mut limits: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        limits.sort_by(f64::total_cmp);
        // Each band covers the same area, however many powers of ten the values span.
        let limit = |band: usize| limits.get(limits.len() * band / BANDS).copied();
        let ends = [limits.first().copied(), limits.last().copied()];
        let limits: Vec<f64> = (1..BANDS).filter_map(limit).collect();
        let lines = (1..BANDS).filter(|band| band % BANDS_BETWEEN_LINES == 0);
        let mut levels: Vec<(usize, f64)> =
            lines.filter_map(|band| Some((band, *limits.get(band - 1)?))).collect();
        if let [Some(least), Some(greatest)] = ends {
            levels.insert(0, (0, least));
            levels.push((BANDS, greatest));
        }
        levels.dedup_by_key(|level| level.1);
        let levels: Vec<(usize, String)> =
            levels.into_iter().map(|(band, level)| (band, number(level, 3))).collect();
        let names: Vec<String> = levels.iter().map(|level| level.1.clone()).collect();
        let right = 16 + BAR + 8 + (widest(&names) / FINE as i32).max(30) + MARGIN;

        let size = [left + width + right, HEAD + height + FOOT];
        let mut scene = Self {
            data,
            size: size.map(|side| side as usize),
            background: vec![255; 3 * (dots(size[0]) * dots(size[1])) as usize],
            map,
        };
        let mut background = std::mem::take(&mut scene.background);
        scene.draw_on(&mut background, |sheet| scene.furnish(sheet, &axes, &levels, right))?;
        scene.background = background;
        scene.colour(&values, &limits);
        Ok(scene)
    }

    fn draw_on(&self, pixels: &mut [u8], draw: impl FnOnce(&Sheet) -> Drawn) -> io::Result<()> {
        let [width, height] = self.size.map(|side| (side * FINE) as u32);
        let sheet = BitMapBackend::with_buffer(pixels, (width, height)).into_drawing_area();
        draw(&sheet).map_err(io::Error::other)?;
        sheet.present().map_err(|error| io::Error::other(error.to_string()))
    }

    /// Draws axes, colour bar and legend.
    fn furnish(
        &self,
        sheet: &Sheet,
        axes: &[Axis; 2],
        levels: &[(usize, String)],
        right: i32,
    ) -> Drawn {
        let [left, top, width, height] = self.map;
        let title = style(TITLE);
        let longest = dots(self.size[0] as i32 - 2 * MARGIN);
        sheet.draw_text(
            &fit(self.data.title, &title, longest),
            &title,
            (dots(MARGIN), dots(10)),
        )?;
        let name = |axis: usize, longest: i32| {
            fit(&axes[axis].title(self.data.axes[axis]), &style(LABEL), longest)
        };
        ChartBuilder::on(sheet)
            .margin_top(top)
            .margin_bottom(dots(FOOT - 42))
            .margin_left(dots(MARGIN))
            .margin_right(dots(right))
            .x_label_area_size(dots(42))
            .y_label_area_size(left - dots(MARGIN))
            .build_cartesian_2d(axes[0].clone(), axes[1].clone())?
            .configure_mesh()
            .disable_mesh()
            .x_desc(name(0, width))
            .y_desc(name(1, height))
            .label_style(style(TICK))
            .axis_desc_style(style(LABEL))
            .axis_style(FAINT_INK.stroke_width(FINE as u32))
            .set_all_tick_mark_size(dots(4))
            .draw()?;

        let bar = left + width + dots(16);
        for row in 0..height {
            let index = ((height - 1 - row) as usize * BANDS) / height as usize;
            let line = [(bar, top + row), (bar + dots(BAR), top + row + 1)];
            sheet.draw(&Rectangle::new(line, band(index).filled()))?;
        }
        let tick = style(TICK).pos(Pos::new(HPos::Left, VPos::Center));
        sheet.draw_text("value", &tick, (bar, top - dots(12)))?;
        for (band, label) in levels {
            let y = top + height - (height * *band as i32) / BANDS as i32;
            let line = [(bar, y), (bar + dots(BAR) - 1, y)];
            let contour = DARK.mix(CONTOUR_OPACITY).stroke_width(FINE as u32);
            sheet.draw(&PathElement::new(line, contour))?;
            sheet.draw_text(label, &tick, (bar + dots(BAR + 6), y))?;
        }

        let (mut x, y) = (left, top + height + dots(60));
        let label = style(LABEL).pos(Pos::new(HPos::Left, VPos::Center));
        let mut name = |sheet: &Sheet, name: &str| -> std::result::Result<(i32, i32), _> {
            let mark = (x + dots(8), y);
            let drawn = sheet.draw_text(name, &label, (x + dots(26), y));
            x += dots(46) + super::width(name, &label);
            drawn.map(|()| mark)
        };
        draw_particle(sheet, name(sheet, "particle")?, 5)?;
        draw_best(sheet, name(sheet, "best so far")?)?;
        if self.data.optimum.is_some() {
            draw_optimum(sheet, name(sheet, "known optimum")?)?;
        }
        Ok(())
    }

    /// Colours the map in the background.
    fn colour(&mut self, values: &[f64], limits: &[f64]) {
        let [left, top, width, height] = self.map.map(|length| length as usize);
        let bands: Vec<Option<usize>> = values
            .iter()
            .map(|&value| (!value.is_nan()).then(|| limits.partition_point(|&limit| limit < value)))
            .collect();
        for (place, &this) in bands.iter().enumerate() {
            let (row, column) = (place / width, place % width);
            let line = |band: Option<usize>| band.map(|band| band / BANDS_BETWEEN_LINES);
            let beside = if column + 1 < width { bands[place + 1] } else { this };
            let below = if row + 1 < height { bands[place + width] } else { this };
            let colour = this.map_or(NO_VALUE, band);
            let on_line = line(this) != line(beside) || line(this) != line(below);
            let colour = if on_line { mixed(colour, DARK, CONTOUR_OPACITY) } else { colour };
            let start = 3 * ((top + row) * self.size[0] * FINE + left + column);
            self.background[start..start + 3].copy_from_slice(&rgb(colour));
        }
    }

    /// The place of a point in the drawing; `None` if it is outside the map.
    fn place(&self, point: [f64; 2]) -> Option<(i32, i32)> {
        let [left, top, width, height] = self.map;
        let part = |axis: usize| {
            let length = self.data.upper[axis] - self.data.lower[axis];
            (point[axis] - self.data.lower[axis]) / length
        };
        let (x, y) = (part(0), part(1));
        let inside = 0.0..=1.0;
        (inside.contains(&x) && inside.contains(&y)).then(|| {
            let dot = |part: f64, length: i32| (part * f64::from(length - 1)).round() as i32;
            (left + dot(x, width), top + dot(1.0 - y, height))
        })
    }

    fn draw(&self, sheet: &Sheet, index: usize) -> Drawn {
        let frame = &self.data.frames[index];
        let places = |frame: &Frame| -> Vec<Option<(i32, i32)>> {
            frame.positions.iter().map(|point| self.place(point.map(f64::from))).collect()
        };
        let now = places(frame);
        let before = index.checked_sub(1).map(|before| &self.data.frames[before]);
        let before = before.filter(|before| before.positions.len() == now.len());
        if let Some(before) = before.filter(|_| now.len() <= MOST_TAILS) {
            for (now, before) in now.iter().zip(places(before)) {
                let (Some(now), Some(before)) = (*now, before) else { continue };
                let way = [before.0 - now.0, before.1 - now.1].map(f64::from);
                let part = (TAIL * FINE as f64 / way[0].hypot(way[1])).min(1.0);
                let end = (now.0 + (part * way[0]) as i32, now.1 + (part * way[1]) as i32);
                sheet.draw(&PathElement::new([now, end], WHITE.mix(0.6).stroke_width(3)))?;
            }
        }
        let radius = match now.len() {
            0..=300 => 5,
            301..=2000 => 4,
            2001..=20_000 => 2,
            _ => 1,
        };
        for at in now.into_iter().flatten() {
            draw_particle(sheet, at, radius)?;
        }
        if let Some(at) = self.data.optimum.and_then(|optimum| self.place(optimum)) {
            draw_optimum(sheet, at)?;
        }
        if let Some(at) = self.place(frame.best_position) {
            draw_best(sheet, at)?;
        }
        let caption = style(CAPTION);
        let iteration = |number: u32| format!("iteration {}", count(number.into()));
        let at = (dots(MARGIN), dots(36));
        sheet.draw_text(&iteration(frame.iteration), &caption, at)?;
        // At a fixed place, while iterations get more digits.
        let last = iteration(self.data.frames.last().map_or(0, |last| last.iteration));
        let at = (at.0 + super::width(&last, &caption) + dots(24), at.1);
        sheet.draw_text(&format!("best {}", number(frame.best, 6)), &caption, at)?;
        Ok(())
    }

    /// The pixels of the picture: means of the drawing's dots.
    fn pixels(&self, drawing: &[u8]) -> Vec<Rgb> {
        let [width, height] = self.size;
        let pixel = |row: usize, column: usize| {
            [0, 1, 2].map(|channel| {
                let dot = |down: usize, right: usize| {
                    let place = (row * FINE + down) * width * FINE + column * FINE + right;
                    usize::from(drawing[3 * place + channel])
                };
                let sum: usize = (0..FINE * FINE).map(|at| dot(at / FINE, at % FINE)).sum();
                (sum / (FINE * FINE)) as u8
            })
        };
        (0..height * width).map(|place| pixel(place / width, place % width)).collect()
    }

    /// The file's contents, with at most `most` frames.
    fn encoded(&self, most: usize) -> io::Result<Vec<u8>> {
        let width = self.size[0];
        let mut palette = Palette::new();
        let failed = |error: gif::EncodingError| io::Error::other(error.to_string());
        // A side is at most that of the map and some hundreds of pixels.
        let size = self.size.map(|side| side as u16);
        let mut encoder =
            gif::Encoder::new(Vec::new(), size[0], size[1], &palette.bytes()).map_err(failed)?;
        encoder.set_repeat(gif::Repeat::Infinite).map_err(failed)?;
        let delay = (self.data.delay.as_millis() / 10).clamp(2, u16::MAX.into()) as u16;
        let mut drawing = self.background.clone();
        let mut before: Vec<Rgb> = Vec::new();
        let indices = shown(self.data.frames.len(), most);
        for (number, &index) in indices.iter().enumerate() {
            drawing.copy_from_slice(&self.background);
            self.draw_on(&mut drawing, |sheet| self.draw(sheet, index))?;
            let now = self.pixels(&drawing);
            // Leave out what has not changed: rows at the top and bottom, and pixels in between.
            let differs = |place: &usize| before.get(*place) != Some(&now[*place]);
            let first = (0..now.len()).find(differs).map_or(0, |place| place / width);
            let last = (0..now.len()).rfind(differs).map_or(0, |place| place / width);
            let places = first * width..(last + 1) * width;
            let pixel = |place| if differs(&place) { palette.nearest(now[place]) } else { SAME };
            let frame = gif::Frame {
                delay: if number + 1 == indices.len() { delay.max(LAST_DELAY) } else { delay },
                dispose: gif::DisposalMethod::Keep,
                transparent: Some(SAME),
                top: first as u16,
                width: size[0],
                height: (last + 1 - first) as u16,
                buffer: places.map(pixel).collect(),
                ..gif::Frame::default()
            };
            encoder.write_frame(&frame).map_err(failed)?;
            before = now;
        }
        encoder.into_inner().map_err(failed)
    }
}

/// The function's values at the centres of dots, row by row from the top.
fn values(data: &Animation, width: i32, height: i32) -> Vec<f64> {
    let at = |axis: usize, part: f64| {
        // The difference is finite, like the bounds.
        data.lower[axis] + part * (data.upper[axis] - data.lower[axis])
    };
    let part = |place: i32, length: i32| (f64::from(place) + 0.5) / f64::from(length);
    let row = |row: i32| {
        let y = at(1, 1.0 - part(row, height));
        (0..width).map(move |column| (data.value)(at(0, part(column, width)), y))
    };
    (0..height).flat_map(row).collect()
}

/// The width of the widest label, in dots.
fn widest(labels: &[String]) -> i32 {
    labels.iter().map(|label| width(label, &style(TICK))).max().unwrap_or(0)
}

fn draw_particle(sheet: &Sheet, at: (i32, i32), radius: i32) -> Drawn {
    sheet.draw(&Circle::new(at, radius + 2, DARK.filled()))?;
    sheet.draw(&Circle::new(at, radius, WHITE.filled()))?;
    Ok(())
}

/// A ring that leaves room for the cross of the best inside it.
fn draw_optimum(sheet: &Sheet, at: (i32, i32)) -> Drawn {
    sheet.draw(&Circle::new(at, dots(11), DARK.stroke_width(9)))?;
    sheet.draw(&Circle::new(at, dots(11), WHITE.stroke_width(5)))?;
    Ok(())
}

fn draw_best(sheet: &Sheet, (x, y): (i32, i32)) -> Drawn {
    for (colour, width, arm) in [(DARK, 10, dots(6) + 1), (BEST, 5, dots(5) + 1)] {
        for side in [-1, 1] {
            let line = [(x - arm, y - side * arm), (x + arm, y + side * arm)];
            sheet.draw(&PathElement::new(line, colour.stroke_width(width)))?;
        }
    }
    Ok(())
}

/// The indices of the frames shown: the first, the last, and others evenly spaced in between.
fn shown(frames: usize, most: usize) -> Vec<usize> {
    if frames <= most {
        return (0..frames).collect();
    }
    (0..most).map(|index| index * (frames - 1) / (most - 1)).collect()
}

fn rgb(RGBColor(red, green, blue): RGBColor) -> Rgb {
    [red, green, blue]
}

/// The palette index for pixels that have not changed.
const SAME: u8 = 255;

/// The file's colours: those of the map, unchanged, and enough between them and the marks' colours
/// for smooth edges.
struct Palette {
    colours: Vec<Rgb>,
    /// Results of earlier lookups.
    known: HashMap<Rgb, u8>,
}

impl Palette {
    fn new() -> Self {
        let between = |a, b, steps: i32| {
            (1..steps).map(move |step| mixed(a, b, f64::from(step) / f64::from(steps)))
        };
        let mut colours = vec![NO_VALUE, BEST, DARK, WHITE, INK, FAINT_INK];
        for band in (0..BANDS).map(band) {
            let dark = [0.0, 0.11, 0.22, 0.34, 0.7].map(|part| mixed(band, DARK, part));
            colours.extend(dark.into_iter().chain([mixed(band, WHITE, 0.6)]));
        }
        for (a, b, steps) in [(INK, WHITE, 16), (DARK, WHITE, 9), (DARK, BEST, 6), (WHITE, BEST, 4)]
        {
            colours.extend(between(a, b, steps));
        }
        debug_assert!(colours.len() <= usize::from(SAME));
        Self { colours: colours.into_iter().map(rgb).collect(), known: HashMap::new() }
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
        let scene = Scene::new(&data).unwrap();
        let (size, shown) = decoded(&data);
        assert_eq!(size, scene.size);
        assert_eq!(shown.iter().map(|(_, delay)| *delay).collect::<Vec<_>>(), [7, LAST_DELAY]);
        let background = scene.pixels(&scene.background);
        let place = |x: f64, y: f64| {
            let (x, y) = scene.place([x, y]).unwrap();
            y as usize / FINE * size[0] + x as usize / FINE
        };
        let at = |frame: usize, x: f64, y: f64| shown[frame].0[place(x, y)];
        let white = [255; 3];
        assert_eq!([at(0, -3.0, 2.0), at(0, 0.5, 0.5)], [white; 2]);
        assert_eq!([at(1, 1.0, 3.0), at(1, 0.5, 0.5)], [white; 2]);
        // The particle has left, and the map is as before.
        let mut palette = Palette::new();
        let mut map = |x: f64, y: f64| {
            let index = palette.nearest(background[place(x, y)]);
            palette.colours[usize::from(index)]
        };
        assert_eq!((at(1, -3.0, 2.0), at(0, 1.0, 3.0)), (map(-3.0, 2.0), map(1.0, 3.0)));
        assert_ne!(at(0, -3.0, 2.0), map(-3.0, 2.0));
        // Its tail points to where it came from.
        let tail = at(1, 1.0 - 4.0 * 0.04, 3.0 - 1.0 * 0.04);
        assert!(tail != map(0.84, 2.96), "{tail:?}");
        assert_eq!(at(0, 4.0, -4.0), rgb(BEST));
        // The map shows inside the ring; the ring is white.
        let pixel = 10.0 / SIDE;
        assert_eq!(at(1, -4.0 + 11.0 * pixel, -4.0), white);
        assert_eq!(at(1, -4.0, -4.0), map(-4.0, -4.0));
        // The map's colours rise from the middle.
        assert_eq!((map(0.0, 0.0), map(-4.98, 4.98)), (rgb(band(0)), rgb(band(BANDS - 1))));
    }

    #[test]
    fn contour_lines_lie_where_the_function_has_their_value() {
        let frames = [frame(0, &[])];
        let data = data(&frames);
        let scene = Scene::new(&data).unwrap();
        let [left, top, width, height] = scene.map.map(|length| length as usize);
        let row = (top + height / 2) * scene.size[0] * FINE + left;
        let colours: Vec<Rgb> =
            (0..BANDS).map(|index| rgb(mixed(band(index), DARK, CONTOUR_OPACITY))).collect();
        let dots = scene.background[3 * row..3 * (row + width)].as_chunks::<3>().0;
        let found: Vec<usize> =
            (width / 2..width).filter(|&column| colours.contains(&dots[column])).collect();
        // Circles, each enclosing an eighth of the square's area more than the one before.
        let radius = |part: f64| (part / std::f64::consts::PI).sqrt() * width as f64;
        let wanted: Vec<f64> = (1..7).map(|line| radius(f64::from(line) / 8.0)).collect();
        for wanted in wanted {
            let near =
                |&&column: &&usize| (column as f64 - width as f64 / 2.0 - wanted).abs() < 2.0;
            assert!(found.iter().find(near).is_some(), "{wanted} {found:?}");
        }
        assert!(found.len() < 12, "{found:?}");
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
        // Worse than any swarm: particles jump anywhere.
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
        assert!(palette.colours.len() <= usize::from(SAME), "{}", palette.colours.len());
        for colour in (0..BANDS).map(band).chain([WHITE, DARK, BEST, INK, NO_VALUE]).map(rgb) {
            let index = palette.nearest(colour);
            assert_eq!(palette.colours[usize::from(index)], colour);
        }
    }
}
