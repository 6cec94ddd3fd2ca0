//! Times compared as bars.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::axis::{Axis, number};
use super::page::{
    self, BLUE, FORMATS, GRID, HEAD, LABEL, LABELS, MARGIN, ORANGE, Page, TICK, WIDTH,
};
use super::{FAINT_INK, file, fit, text, width};
use crate::{Error, Result};

/// The contents of a bar chart.
///
/// ```
/// use flockwork::plot::{Bar, Bars, bars};
///
/// let bar = |label, value| Bar { label, value, is_ours: false };
/// let sizes = [("2048", vec![bar("reduction", 6e-6), bar("queue", 3e-6)])];
/// let groups = &sizes.map(|(name, bars)| (name.to_owned(), bars));
/// let picture = Bars { title: "An iteration", subtitle: "", label: "seconds", groups };
/// assert!(bars("times.jpeg".as_ref(), &picture).is_err(), "an SVG or a PNG");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bars<'a> {
    /// The title; shortened if it is too long.
    pub title: &'a str,
    /// The subtitle, in smaller type.
    pub subtitle: &'a str,
    /// What the values are.
    pub label: &'a str,
    /// Groups of bars, each with a name.
    pub groups: &'a [(String, Vec<Bar<'a>>)],
}

/// A bar.
///
/// ```
/// use flockwork::plot::Bar;
///
/// let bar = Bar { label: "queue", value: 3e-6, is_ours: false };
/// assert!(bar.value > 0.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar<'a> {
    /// Its name, shown beside it.
    pub label: &'a str,
    /// Its length, greater than zero.
    pub value: f64,
    /// Whether it has the other colour.
    pub is_ours: bool,
}

/// Draws bars below each other, each with its value, as an SVG or a PNG by the file's name. The
/// axis is logarithmic if the longest bar is more than ten times as long as the shortest.
///
/// ```
/// use flockwork::plot::{Bar, Bars, bars};
///
/// let times = |one, other| {
///     let ours = Bar { label: "ours", value: other, is_ours: true };
///     vec![Bar { label: "queue", value: one, is_ours: false }, ours]
/// };
/// let groups = &[("32".to_owned(), times(3e-6, 1e-6)), ("2048".to_owned(), times(4e-6, 1e-6))];
/// let picture = Bars { title: "An iteration", subtitle: "", label: "seconds", groups };
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("times.svg");
/// bars(&path, &picture)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Format`] for another file name ending, [`Error::Option`] if there are no bars or a
/// value is not greater than zero, [`Error::File`] if the file cannot be written.
pub fn bars(path: &Path, data: &Bars) -> Result<()> {
    let extension = file::extension(path, FORMATS)?;
    page::save(path, extension, &Chart::new(data)?)
}

/// Height of a bar with the space below it, and height between groups.
const EACH: u32 = 22;
const BETWEEN: u32 = 16;
/// The greatest width of a name, which is shortened to it.
const LONGEST: i32 = 300;

/// A line: its distance from the top, a text at the left, and possibly a bar.
struct Line<'a> {
    top: u32,
    name: String,
    bar: Option<Bar<'a>>,
}

/// Everything about the picture that does not depend on its format.
struct Chart<'a> {
    data: &'a Bars<'a>,
    axis: Axis,
    /// Where bars start.
    low: f64,
    lines: Vec<Line<'a>>,
    height: u32,
}

impl<'a> Chart<'a> {
    fn new(data: &'a Bars<'a>) -> Result<Self> {
        let bars = || data.groups.iter().flat_map(|(_, bars)| bars);
        let is_wrong = |bar: &&Bar| !(bar.value > 0.0 && bar.value.is_finite());
        if let Some(bar) = bars().find(is_wrong) {
            return Err(Error::Option {
                option: "bars",
                value: format!("a list with {:?}, whose value is {}", bar.label, bar.value),
                accepted: "a list of values greater than zero".to_owned(),
            });
        }
        let values = || bars().map(|bar| bar.value);
        let least = values().fold(f64::INFINITY, f64::min);
        let greatest = values().fold(0.0, f64::max);
        let is_wide = greatest > 10.0 * least;
        // Bars start at zero, so that their lengths have the ratio of the values, or at a power of
        // ten below all.
        let low = if is_wide { 10_f64.powf((least * 0.9).log10().floor()) } else { 0.0 };
        let axis = Axis::new([low, greatest].into_iter(), is_wide, 0.14);
        let axis = axis.filter(|_| least.is_finite()).ok_or_else(|| Error::Option {
            option: "bars",
            value: "an empty list".to_owned(),
            accepted: "a list with at least one bar; otherwise there is nothing to draw".to_owned(),
        })?;
        let axis = axis.marked(|labels| labels.len() <= 9);
        let (mut lines, mut top) = (Vec::new(), 0);
        for (name, bars) in data.groups.iter().filter(|(_, bars)| !bars.is_empty()) {
            lines.push(Line { top, name: name.clone(), bar: None });
            for bar in bars {
                top += EACH;
                lines.push(Line { top, name: bar.label.to_owned(), bar: Some(*bar) });
            }
            top += EACH + BETWEEN;
        }
        Ok(Self { data, axis, low, lines, height: top })
    }
}

impl Page for Chart<'_> {
    fn size(&self, scale: u32) -> (u32, u32) {
        (WIDTH * scale, (HEAD + self.height + LABELS + MARGIN) * scale)
    }

    fn head(&self) -> [&str; 2] {
        [self.data.title, self.data.subtitle]
    }

    fn draw_on<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        scale: u32,
        _: bool,
    ) -> std::result::Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let scaled = |length: u32| (length * scale) as i32;
        let style = |size: f64| text(size * f64::from(scale));

        let (names, small) = (style(TICK), style(TICK).color(&FAINT_INK));
        let longest = LONGEST * scale as i32;
        let shown = |line: &Line| fit(&line.name, &names, longest);
        let widest = self.lines.iter().map(|line| width(&shown(line), &names)).max().unwrap_or(0);
        let left = scaled(MARGIN) + widest + scaled(10);
        let right = scaled(WIDTH - MARGIN - 70);
        let (top, bottom) = (scaled(HEAD), scaled(HEAD + self.height));
        let across =
            |place: f64| left + (self.axis.part(place) * f64::from(right - left)).round() as i32;

        for (tick, label) in self.axis.ticks().iter().zip(self.axis.labels()) {
            let x = across(*tick);
            let line = PathElement::new([(x, top), (x, bottom)], GRID.stroke_width(scale));
            root.draw(&line)?;
            let at = (x - width(&label, &small) / 2, bottom + scaled(4));
            root.draw_text(&label, &small, at)?;
        }
        let label = self.axis.title(self.data.label);
        let at = ((left + right - width(&label, &small)) / 2, bottom + scaled(22));
        root.draw_text(&label, &small, at)?;

        let start = across(self.axis.place(self.low));
        for line in &self.lines {
            let y = top + scaled(line.top);
            let Some(bar) = line.bar else {
                root.draw_text(&line.name, &style(LABEL), (scaled(MARGIN), y))?;
                continue;
            };
            root.draw_text(&shown(line), &names, (scaled(MARGIN + 8), y + scaled(2)))?;
            let end = across(self.axis.place(bar.value)).max(start + scaled(1));
            let colour = if bar.is_ours { ORANGE } else { BLUE };
            let ends = [(start, y), (end, y + scaled(EACH - 5))];
            root.draw(&Rectangle::new(ends, colour.mix(0.85).filled()))?;
            let value = number(bar.value, 3);
            root.draw_text(&value, &small, (end + scaled(5), y + scaled(2)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(values: &[(&'static str, f64)]) -> Result<String> {
        let bar =
            |&(label, value): &(&'static str, f64)| Bar { label, value, is_ours: label == "ours" };
        let bars = values.iter().map(bar);
        let groups =
            [("1000 < 2000".to_owned(), bars.collect()), ("nothing".to_owned(), Vec::new())];
        let picture = Bars { title: "a < b", subtitle: "on a GPU", label: "ms", groups: &groups };
        Ok(String::from_utf8(Chart::new(&picture)?.svg().unwrap()).unwrap())
    }

    /// The widths of all bars, in order.
    fn widths(svg: &str) -> Vec<f64> {
        let bars = svg.lines().flat_map(|line| line.split("<rect").skip(1)).skip(1);
        let of = |rectangle: &str| {
            let (_, rest) = rectangle.split_once("width=\"").unwrap();
            rest.split_once('"').unwrap().0.parse().unwrap()
        };
        bars.map(of).collect()
    }

    #[test]
    fn everything_is_named_and_drawn() {
        let svg = svg(&[("queue", 2.0), ("reduction", 4.0), ("ours", 1.0)]).unwrap();
        let texts = ["a &lt; b", "on a GPU", "ms", "queue", "reduction", "ours", "1000 &lt; 2000"];
        for wanted in texts {
            assert!(svg.contains(wanted), "{wanted}");
        }
        assert!(!svg.contains("nothing"), "a group without bars");
        // They start at zero, so lengths are proportional to values.
        let widths = widths(&svg);
        assert_eq!(widths.len(), 3);
        assert!(
            (widths[1] / widths[0] - 2.0).abs() < 0.01
                && (widths[0] / widths[2] - 2.0).abs() < 0.02
        );
    }

    #[test]
    fn many_powers_of_ten_are_spread_evenly() {
        let svg = svg(&[("a", 1e-6), ("b", 1e-4), ("c", 1e-2)]).unwrap();
        let widths = widths(&svg);
        let (first, second) = (widths[1] - widths[0], widths[2] - widths[1]);
        assert!((first / second - 1.0).abs() < 0.01, "{widths:?}");
        assert!(widths[0] > 0.0);
    }

    #[test]
    fn odd_numbers_are_refused() {
        for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = svg(&[("a", 1.0), ("odd", odd)]).unwrap_err().to_string();
            assert!(error.contains("odd"), "{error}");
        }
        assert!(svg(&[]).unwrap_err().to_string().contains("nothing to draw"));
        for same in [1e-300, 1.0, 1e300] {
            assert_eq!(widths(&svg(&[("a", same), ("b", same)]).unwrap()).len(), 2);
        }
    }
}
