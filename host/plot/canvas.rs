//! What a chart is drawn on, be it an SVG or a grid of pixels.

/// Red, green and blue in sRGB.
pub(super) type Rgb = [u8; 3];

/// x to the right and y down, in units of the picture.
pub(super) type Point = [f64; 2];

pub(super) const WHITE: Rgb = [255; 3];
pub(super) const INK: Rgb = [0x22; 3];
pub(super) const FAINT_INK: Rgb = [0x66; 3];
pub(super) const GRID: Rgb = [0xe4; 3];

/// Which point of a text lies at the position given, along the line of text; across it, it is always
/// the base line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    /// Height of a capital letter is about three quarters of it.
    pub(super) size: f64,
    pub(super) colour: Rgb,
    pub(super) anchor: Anchor,
    /// Reads from the bottom to the top.
    pub(super) upwards: bool,
}

impl Style {
    pub(super) const fn new(size: f64, colour: Rgb, anchor: Anchor) -> Self {
        Self { size, colour, anchor, upwards: false }
    }

    pub(super) const fn upwards(self) -> Self {
        Self { upwards: true, ..self }
    }
}

/// A surface to draw on; later things cover earlier ones.
pub(super) trait Canvas {
    /// A line through the points, with round corners and ends.
    fn polyline(&mut self, points: &[Point], width: f64, colour: Rgb);

    /// A filled circle.
    fn disc(&mut self, centre: Point, radius: f64, colour: Rgb);

    /// One line of text.
    fn text(&mut self, at: Point, text: &str, style: Style);
}
