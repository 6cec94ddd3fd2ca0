//! Drawing on pixels, with smooth edges.

use std::io::{self, Write};
use std::ops::Range;

use super::canvas::{Anchor, Canvas, Point, Rgb, Style, WHITE};
use super::glyphs;

/// Rows that one row of pixels is cut into for the edges of filled shapes.
const SUBROWS: u32 = 8;

/// A grid of pixels, white at first.
#[derive(Clone)]
pub(super) struct Raster {
    width: usize,
    height: usize,
    /// Pixels in a unit of the picture.
    scale: f64,
    pixels: Vec<Rgb>,
    /// How much of each pixel the line being drawn covers; zero between two drawings.
    cover: Vec<f32>,
    /// Only here anything is drawn.
    clip: [Range<usize>; 2],
}

impl Raster {
    /// `width` and `height` in units of the picture.
    pub(super) fn new(width: f64, height: f64, scale: f64) -> Self {
        let (width, height) = ((width * scale).round() as usize, (height * scale).round() as usize);
        Self {
            width,
            height,
            scale,
            pixels: vec![WHITE; width * height],
            cover: vec![0.0; width * height],
            clip: [0..width, 0..height],
        }
    }

    pub(super) fn size(&self) -> [usize; 2] {
        [self.width, self.height]
    }

    pub(super) fn pixels(&self) -> &[Rgb] {
        &self.pixels
    }

    /// Makes this the same picture as another one of the same size.
    pub(super) fn copy_from(&mut self, other: &Self) {
        self.pixels.copy_from_slice(&other.pixels);
    }

    /// Restricts what follows to these columns and rows of pixels.
    pub(super) fn clip(&mut self, columns: Range<usize>, rows: Range<usize>) {
        self.clip =
            [columns.start..columns.end.min(self.width), rows.start..rows.end.min(self.height)];
    }

    pub(super) fn clip_nothing(&mut self) {
        self.clip = [0..self.width, 0..self.height];
    }

    /// Colours one pixel.
    pub(super) fn set(&mut self, column: usize, row: usize, colour: Rgb) {
        self.pixels[row * self.width + column] = colour;
    }

    /// Lines with round ends, which replace `opacity` of what was there. Where they meet they cover it
    /// once.
    pub(super) fn lines(
        &mut self,
        lines: impl IntoIterator<Item = [Point; 2]>,
        width: f64,
        colour: Rgb,
        opacity: f64,
    ) {
        let radius = (width * self.scale / 2.0).max(0.3);
        let mut touched = [0..0, 0..0];
        for line in lines {
            let [a, b] = line.map(|point| point.map(|coordinate| coordinate * self.scale));
            let columns = self.reach(0, a[0].min(b[0]) - radius, a[0].max(b[0]) + radius);
            let rows = self.reach(1, a[1].min(b[1]) - radius, a[1].max(b[1]) + radius);
            for row in rows.clone() {
                for column in columns.clone() {
                    let distance = distance([column as f64 + 0.5, row as f64 + 0.5], a, b);
                    let cover = &mut self.cover[row * self.width + column];
                    *cover = cover.max((radius + 0.5 - distance).clamp(0.0, 1.0) as f32);
                }
            }
            if !columns.is_empty() && !rows.is_empty() {
                touched = [joined(&touched[0], &columns), joined(&touched[1], &rows)];
            }
        }
        let [columns, rows] = touched;
        for row in rows {
            for column in columns.clone() {
                let cover = std::mem::take(&mut self.cover[row * self.width + column]);
                self.blend(column, row, colour, f64::from(cover) * opacity);
            }
        }
    }

    /// A circle: where the distance from the line with this radius is at most half the width.
    pub(super) fn ring(&mut self, centre: Point, radius: f64, width: f64, colour: Rgb) {
        self.around(centre, radius + width / 2.0, colour, |distance, scale| {
            width * scale / 2.0 - (distance - radius * scale).abs()
        });
    }

    /// Fills pixels around a point, as far as `inside`, of the distance and the scale, is above zero.
    fn around(&mut self, centre: Point, reach: f64, colour: Rgb, inside: impl Fn(f64, f64) -> f64) {
        let [x, y] = centre.map(|coordinate| coordinate * self.scale);
        let reach = reach * self.scale;
        for row in self.reach(1, y - reach, y + reach) {
            for column in self.reach(0, x - reach, x + reach) {
                let distance = (column as f64 + 0.5 - x).hypot(row as f64 + 0.5 - y);
                let cover = (inside(distance, self.scale) + 0.5).clamp(0.0, 1.0);
                self.blend(column, row, colour, cover);
            }
        }
    }

    /// The pixels between two coordinates, widened by the one that a smooth edge may touch.
    fn reach(&self, axis: usize, from: f64, to: f64) -> Range<usize> {
        // A cast of a float saturates, and NaN becomes zero.
        let from = (from - 1.0).floor().max(0.0) as usize;
        let to = (to + 1.0).ceil().max(0.0) as usize;
        let clip = &self.clip[axis];
        from.clamp(clip.start, clip.end)..to.clamp(clip.start, clip.end)
    }

    fn blend(&mut self, column: usize, row: usize, colour: Rgb, cover: f64) {
        if cover.is_nan() || cover <= 0.0 {
            return;
        }
        let pixel = &mut self.pixels[row * self.width + column];
        *pixel = mixed(*pixel, colour, cover);
    }

    /// Fills what closed contours wind around, in pixels.
    fn fill(&mut self, contours: &[Vec<Point>], colour: Rgb) {
        let all = || contours.iter().flatten();
        let span = |axis: usize| {
            let low = all().map(|point| point[axis]).fold(f64::INFINITY, f64::min);
            let high = all().map(|point| point[axis]).fold(f64::NEG_INFINITY, f64::max);
            self.reach(axis, low, high)
        };
        let (columns, rows) = (span(0), span(1));
        let mut crossings: Vec<(f64, i32)> = Vec::new();
        for row in rows {
            let mut cover = vec![0.0; columns.len()];
            for subrow in 0..SUBROWS {
                let y = row as f64 + (f64::from(subrow) + 0.5) / f64::from(SUBROWS);
                crossings.clear();
                for contour in contours {
                    let next = contour.iter().cycle().skip(1);
                    for (&[x0, y0], &[x1, y1]) in contour.iter().zip(next) {
                        if (y0 <= y) != (y1 <= y) {
                            let x = x0 + (y - y0) / (y1 - y0) * (x1 - x0);
                            crossings.push((x, if y1 > y0 { 1 } else { -1 }));
                        }
                    }
                }
                crossings.sort_by(|a, b| a.0.total_cmp(&b.0));
                let mut winding = 0;
                for pair in crossings.windows(2) {
                    winding += pair[0].1;
                    if winding != 0 {
                        add_span(&mut cover, columns.start, pair[0].0, pair[1].0);
                    }
                }
            }
            for (column, cover) in columns.clone().zip(cover) {
                self.blend(column, row, colour, cover / f64::from(SUBROWS));
            }
        }
    }

    /// Writes the picture as a PNG.
    pub(super) fn write_png(&self, output: &mut dyn Write) -> io::Result<()> {
        let [width, height] = [self.width as u32, self.height as u32];
        let mut encoder = png::Encoder::new(output, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(self.pixels.as_flattened())?;
        writer.finish()?;
        Ok(())
    }
}

impl Canvas for Raster {
    fn polyline(&mut self, points: &[Point], width: f64, colour: Rgb) {
        match *points {
            [point] => self.lines([[point; 2]], width, colour, 1.0),
            _ => self.lines(points.windows(2).map(|pair| [pair[0], pair[1]]), width, colour, 1.0),
        }
    }

    fn disc(&mut self, centre: Point, radius: f64, colour: Rgb) {
        self.around(centre, radius, colour, |distance, scale| radius * scale - distance);
    }

    fn text(&mut self, at: Point, text: &str, style: Style) {
        let mut along = match style.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -glyphs::width(text, style.size) / 2.0,
            Anchor::End => -glyphs::width(text, style.size),
        };
        for (piece, raised) in glyphs::pieces(text) {
            let (size, above) = if raised {
                (style.size * glyphs::RAISED_SIZE, style.size * glyphs::RAISED_BY)
            } else {
                (style.size, 0.0)
            };
            for character in piece.chars() {
                let glyph = glyphs::glyph(character);
                let place = |&[x, y]: &Point| {
                    let (x, y) = (along + x * size, y * size - above);
                    let turned = if style.upwards { [y, -x] } else { [x, y] };
                    [(at[0] + turned[0]) * self.scale, (at[1] + turned[1]) * self.scale]
                };
                let place_contour = |contour: &Vec<Point>| contour.iter().map(place).collect();
                let contours: Vec<Vec<Point>> = glyph.contours.iter().map(place_contour).collect();
                self.fill(&contours, style.colour);
                along += glyph.advance * size;
            }
        }
    }
}

/// The least range that contains both.
pub(super) fn joined(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    if a.is_empty() { b.clone() } else { a.start.min(b.start)..a.end.max(b.end) }
}

/// One colour over another.
pub(super) fn mixed(below: Rgb, above: Rgb, cover: f64) -> Rgb {
    std::array::from_fn(|channel| {
        let (below, above) = (f64::from(below[channel]), f64::from(above[channel]));
        (below + (above - below) * cover).round() as u8
    })
}

/// How far a point is from the line between two others.
fn distance([x, y]: Point, [ax, ay]: Point, [bx, by]: Point) -> f64 {
    let (dx, dy) = (bx - ax, by - ay);
    let squared = dx * dx + dy * dy;
    let along = ((x - ax) * dx + (y - ay) * dy) / squared;
    // A line without length has no direction.
    let along = if squared > 0.0 { along.clamp(0.0, 1.0) } else { 0.0 };
    (x - ax - along * dx).hypot(y - ay - along * dy)
}

/// Adds the part of each pixel that lies between two x.
fn add_span(cover: &mut [f64], first: usize, from: f64, to: f64) {
    let (from, to) = (from - first as f64, to - first as f64);
    let (start, end) = (from.floor().max(0.0) as usize, to.ceil().max(0.0) as usize);
    let end = end.min(cover.len());
    for (column, cover) in cover.iter_mut().enumerate().take(end).skip(start) {
        let left = column as f64;
        *cover += (to.min(left + 1.0) - from.max(left)).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::canvas::INK;
    use super::*;

    const BLACK: Rgb = [0; 3];

    fn darkness(raster: &Raster) -> f64 {
        raster.pixels.iter().map(|pixel| 1.0 - f64::from(pixel[0]) / 255.0).sum()
    }

    #[test]
    fn areas_are_those_of_geometry() {
        let area = |draw: &dyn Fn(&mut Raster)| {
            let mut raster = Raster::new(50.0, 40.0, 2.0);
            draw(&mut raster);
            darkness(&raster) / 4.0
        };
        let disc = area(&|raster| raster.disc([20.3, 20.7], 10.0, BLACK));
        assert!((disc / (std::f64::consts::PI * 100.0) - 1.0).abs() < 0.01, "{disc}");
        let ring = area(&|raster| raster.ring([20.3, 20.7], 10.0, 2.0, BLACK));
        assert!((ring / (std::f64::consts::PI * 40.0) - 1.0).abs() < 0.01, "{ring}");
        let line =
            area(&|raster| raster.polyline(&[[5.0, 5.0], [35.0, 5.0], [35.0, 25.0]], 3.0, BLACK));
        // Two strips that share a quarter of a square at the corner, and two round ends.
        let quarter = std::f64::consts::PI * 2.25 / 4.0;
        let exact = 150.0 - 2.25 + quarter + 4.0 * quarter;
        assert!((line / exact - 1.0).abs() < 0.02, "{line} {exact}");
        let half = area(&|raster| raster.lines([[[5.0, 5.0], [35.0, 5.0]]], 3.0, BLACK, 0.5));
        let whole = area(&|raster| raster.lines([[[5.0, 5.0], [35.0, 5.0]]], 3.0, BLACK, 1.0));
        assert!((half / whole - 0.5).abs() < 0.01);
    }

    #[test]
    fn the_inside_of_an_o_is_empty() {
        let mut raster = Raster::new(40.0, 40.0, 1.0);
        let width = glyphs::width("O", 40.0);
        raster.text([20.0, 35.0], "O", Style::new(40.0, BLACK, Anchor::Middle));
        let at = |x: usize, y: usize| raster.pixels[y * 40 + x];
        assert_eq!(at(20, 20), WHITE);
        let edge = (20.0 - width / 2.0 + 0.09 * 40.0).round() as usize;
        assert_eq!(at(edge, 20), BLACK);
        // About what the outline of a letter of this size covers.
        assert!((200.0..400.0).contains(&darkness(&raster)), "{}", darkness(&raster));
    }

    #[test]
    fn turned_text_runs_upwards() {
        let mut flat = Raster::new(100.0, 100.0, 1.0);
        let mut turned = flat.clone();
        let style = Style::new(12.0, INK, Anchor::Start);
        flat.text([10.0, 30.0], "Lg⁻¹", style);
        turned.text([30.0, 90.0], "Lg⁻¹", style.upwards());
        let different = (0..100).flat_map(|x| (0..100).map(move |y| (x, y))).filter(|&(x, y)| {
            let (a, b) = (flat.pixels[y * 100 + x], turned.pixels[(99 - x) * 100 + y]);
            a[0].abs_diff(b[0]) > 48
        });
        assert_eq!(different.count(), 0);
    }

    #[test]
    fn nothing_is_drawn_outside() {
        let mut raster = Raster::new(20.0, 20.0, 1.0);
        let far = [-1e300, f64::INFINITY, f64::NAN, 1e9, -5.0];
        for x in far {
            raster.polyline(&[[x, 3.0], [3.0, x]], 1.0, WHITE);
            raster.disc([x, 4.0], 2.0, BLACK);
        }
        raster.clip(5..10, 5..100);
        raster.disc([10.0, 10.0], 30.0, BLACK);
        raster.clip_nothing();
        assert_eq!(darkness(&raster), 75.0);
    }
}
