//! Panels below each other under a title, as SVG or PNG.

use std::io;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::axis::Axis;
use super::{FAINT_INK, file, fit, text};
use crate::{Error, Result};

pub const WIDTH: u32 = 960;
pub const HEAD: u32 = 62;
/// Heights of the upper and the lower panel.
pub const UPPER: u32 = 440;
pub const LOWER: u32 = 230;
pub const MARGIN: u32 = 20;
/// Height of the tick labels and axis name above or below a panel.
pub const LABELS: u32 = 46;
/// plotters draws in whole pixels only, so an SVG has this many in each of its units.
pub const SVG_SCALE: u32 = 10;
pub const PNG_SCALE: u32 = 2;
/// Dots per pixel of a PNG in each direction: plotters does not smooth the edges of wide lines and
/// circles.
const PNG_FINE: u32 = 2;
pub const TITLE: f64 = 19.0;
pub const LABEL: f64 = 13.0;
pub const TICK: f64 = 12.0;

pub const BLUE: RGBColor = RGBColor(0x1f, 0x5f, 0xb4);
pub const ORANGE: RGBColor = RGBColor(0xe0, 0x7b, 0x16);
pub const GRID: RGBColor = RGBColor(0xe4, 0xe4, 0xe4);

/// The formats that [`save`] supports, by file name ending.
pub const FORMATS: &[&str] = &["svg", "png"];

/// A picture, independent of its format.
pub trait Page {
    /// Its size in pixels.
    fn size(&self, scale: u32) -> (u32, u32);

    /// The title and the subtitle; both are shortened if they are too long.
    fn head(&self) -> [&str; 2];

    /// Draws everything below the head; `pieces` is set if every pixel counts, as in a PNG.
    fn draw_on<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        scale: u32,
        pieces: bool,
    ) -> std::result::Result<(), DrawingAreaErrorKind<DB::ErrorType>>;

    fn svg(&self) -> io::Result<Vec<u8>> {
        let (mut svg, size) = (String::new(), self.size(SVG_SCALE));
        self.draw(SVGBackend::with_string(&mut svg, size), SVG_SCALE, false)?;
        let (width, height) = self.size(1);
        let units = format!("width=\"{width}\" height=\"{height}\"");
        let pixels = format!("width=\"{}\" height=\"{}\"", size.0, size.1);
        Ok(svg.replacen(&pixels, &units, 1).into_bytes())
    }

    fn png(&self) -> io::Result<Vec<u8>> {
        let (width, height) = self.size(PNG_SCALE);
        let size = self.size(PNG_SCALE * PNG_FINE);
        let mut dots = vec![0; 3 * size.0 as usize * size.1 as usize];
        self.draw(BitMapBackend::with_buffer(&mut dots, size), PNG_SCALE * PNG_FINE, true)?;
        let pixels = means(&dots, width as usize, PNG_FINE as usize);
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.write_header()?.write_image_data(&pixels)?;
        Ok(bytes)
    }

    fn draw<DB: DrawingBackend>(&self, backend: DB, scale: u32, pieces: bool) -> io::Result<()> {
        let root = backend.into_drawing_area();
        let drawn = begin(&root, self.head(), scale)
            .and_then(|()| self.draw_on(&root, scale, pieces))
            .and_then(|()| root.present());
        drawn.map_err(|error| io::Error::other(error.to_string()))
    }
}

/// The pixels of a picture of this width: each the mean of `fine` times `fine` dots.
fn means(dots: &[u8], width: usize, fine: usize) -> Vec<u8> {
    let mut pixels = Vec::with_capacity(dots.len() / (fine * fine));
    let mut sums = vec![0_usize; 3 * width];
    for rows in dots.chunks_exact(3 * width * fine * fine) {
        sums.fill(0);
        for (place, &dot) in rows.iter().enumerate() {
            let column = place / 3 % (width * fine) / fine;
            sums[3 * column + place % 3] += usize::from(dot);
        }
        pixels.extend(sums.iter().map(|sum| (sum / (fine * fine)) as u8));
    }
    pixels
}

/// Starts a page: white, with its head.
fn begin<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    [title, subtitle]: [&str; 2],
    scale: u32,
) -> std::result::Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let scaled = |length: u32| (length * scale) as i32;
    let style = |size: f64| text(size * f64::from(scale));
    root.fill(&WHITE)?;
    let lines = [
        (title, style(TITLE), MARGIN / 2),
        (subtitle, style(LABEL).color(&FAINT_INK), MARGIN / 2 + 28),
    ];
    for (line, style, y) in lines {
        let line = fit(line, &style, scaled(WIDTH - 2 * MARGIN));
        root.draw_text(&line, &style, (scaled(MARGIN), scaled(y)))?;
    }
    Ok(())
}

/// A panel with an axis on each side.
pub type Panel<'a, DB> = ChartContext<'a, DB, Cartesian2d<Axis, Axis>>;

/// What drawing on a panel may fail with.
pub type Drawn<DB> =
    std::result::Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Draws a panel's axes, named, and its grid.
pub fn mesh<DB: DrawingBackend>(
    panel: &mut Panel<DB>,
    [across, up]: [&str; 2],
    scale: u32,
) -> Drawn<DB> {
    let style = |size: f64| text(size * f64::from(scale));
    panel
        .configure_mesh()
        .x_desc(across)
        .y_desc(up)
        .label_style(style(TICK))
        .axis_desc_style(style(LABEL))
        .bold_line_style(GRID.stroke_width(scale))
        .axis_style(FAINT_INK.stroke_width(scale))
        .set_all_tick_mark_size((5 * scale) as i32)
        .draw()
}

/// Enters a line into a panel's legend.
pub fn name<DB: DrawingBackend>(
    panel: &mut Panel<DB>,
    name: &str,
    stroke: ShapeStyle,
    scale: u32,
) -> Drawn<DB> {
    let length = (24 * scale) as i32;
    // The legend needs no points.
    panel
        .draw_series(LineSeries::new(None, stroke))?
        .label(name)
        .legend(move |(x, y)| PathElement::new([(x, y), (x + length, y)], stroke));
    Ok(())
}

/// Draws a panel's legend.
pub fn legend<'a, DB: DrawingBackend + 'a>(
    panel: &mut Panel<'a, DB>,
    position: SeriesLabelPosition,
    scale: u32,
) -> Drawn<DB> {
    panel
        .configure_series_labels()
        .position(position)
        .label_font(text(LABEL * f64::from(scale)))
        .legend_area_size((32 * scale) as i32)
        .margin((8 * scale) as i32)
        .background_style(WHITE.mix(0.85))
        .draw()
}

/// Writes a picture in the format given by `extension`, one of [`FORMATS`].
pub fn save(path: &Path, extension: &str, page: &impl Page) -> Result<()> {
    let bytes = if extension == "svg" { page.svg() } else { page.png() };
    let bytes = bytes.map_err(|source| Error::File { path: path.to_owned(), source })?;
    file::write_whole(path, &bytes)
}
