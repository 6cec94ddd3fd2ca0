//! Drawing as an SVG, whose text stays text.

use std::fmt::Write;

use super::canvas::{Anchor, Canvas, Point, Rgb, Style};
use super::glyphs;

/// Fonts as wide as DejaVu Sans, in which texts are measured, or narrower.
const FONTS: &str = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif";

/// An SVG in the making.
pub(super) struct Svg {
    text: String,
}

impl Svg {
    /// A white sheet; `title` is what screen readers say and pointers show.
    pub(super) fn new(width: f64, height: f64, title: &str) -> Self {
        let mut svg = Self { text: String::new() };
        svg.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\" xml:space=\"preserve\">\n<title>{}</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
            escaped(title)
        ));
        svg
    }

    /// The whole file.
    pub(super) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }

    fn put(&mut self, arguments: std::fmt::Arguments) {
        // Writing to a `String` cannot fail.
        let _ = self.text.write_fmt(arguments);
    }
}

impl Canvas for Svg {
    fn polyline(&mut self, points: &[Point], width: f64, colour: Rgb) {
        self.text.push_str("<polyline points=\"");
        for (index, &[x, y]) in points.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            self.put(format_args!("{space}{},{}", short(x), short(y)));
        }
        self.put(format_args!(
            "\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\" \
             stroke-linecap=\"round\"/>\n",
            hex(colour),
            short(width)
        ));
    }

    fn disc(&mut self, [x, y]: Point, radius: f64, colour: Rgb) {
        self.put(format_args!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>\n",
            short(x),
            short(y),
            short(radius),
            hex(colour)
        ));
    }

    fn text(&mut self, [x, y]: Point, text: &str, style: Style) {
        let (x, y) = (short(x), short(y));
        self.put(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" fill=\"{}\"",
            short(style.size),
            hex(style.colour)
        ));
        match style.anchor {
            Anchor::Start => {}
            Anchor::Middle => self.text.push_str(" text-anchor=\"middle\""),
            Anchor::End => self.text.push_str(" text-anchor=\"end\""),
        }
        if style.upwards {
            self.put(format_args!(" transform=\"rotate(-90 {x} {y})\""));
        }
        self.text.push('>');
        let mut height = 0.0;
        for (piece, raised) in glyphs::pieces(text) {
            // `dy` moves whatever follows, so each piece moves from where the last one was.
            let wanted = if raised { style.size * glyphs::RAISED_BY } else { 0.0 };
            let size = if raised { style.size * glyphs::RAISED_SIZE } else { style.size };
            let by = height - wanted;
            height = wanted;
            if by == 0.0 {
                self.text.push_str(&escaped(&piece));
            } else {
                self.put(format_args!(
                    "<tspan dy=\"{}\" font-size=\"{}\">{}</tspan>",
                    short(by),
                    short(size),
                    escaped(&piece)
                ));
            }
        }
        self.text.push_str("</text>\n");
    }
}

/// Hundredths of a unit are finer than any screen.
fn short(number: f64) -> f64 {
    let rounded = (number * 100.0).round() / 100.0;
    // Not "-0".
    rounded + 0.0
}

fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // Not allowed in XML at all.
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other if other.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}
