//! Pictures of a run, from plain numbers: [`convergence()`] plots the best value against the
//! iterations, [`animation()`] shows the particles over a contour map of a function of two
//! variables, [`fitting()`] plots data with the fitted curve, [`bars()`] compares
//! times, [`distributions()`] shows the parameters of many fits, and [`ecdf()`] which share of many
//! targets was reached by when.
//!
//! Nothing here depends on swarms or back ends. [`plotters`] draws with an embedded font
//! (`font.ttf`), so no system fonts are needed. Pictures are written atomically.
//!
//! ```
//! use flockwork::{objective::Ackley, plot, swarm::{Problem, Search}};
//!
//! let outcome = Search::new(Problem::new(Ackley, 3)?).iterations(100).history(1).run()?;
//! let sample = |s: &flockwork::swarm::Sample| plot::Sample {
//!     iteration: s.iteration,
//!     evaluations: s.evaluations,
//!     best: s.best,
//!     mean: s.mean,
//!     spread: s.spread,
//!     speed: s.velocity,
//! };
//! let samples: Vec<_> = outcome.history.iter().map(sample).collect();
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("ackley.png");
//! let picture = plot::Convergence { title: "Ackley", samples: &samples, ..plot::Convergence::default() };
//! plot::convergence(&path, &picture)?;
//! # Ok::<(), flockwork::Error>(())
//! ```

mod animation;
mod axis;
mod bars;
mod convergence;
mod distributions;
mod ecdf;
mod file;
mod fitting;
mod page;

use std::sync::Once;

use ab_glyph::{Font, FontRef};
use plotters::style::{FontStyle, IntoFont, RGBColor, TextStyle, register_font};

pub use animation::{Animation, Frame, animation};
pub use bars::{Bar, Bars, bars};
pub use convergence::{Convergence, Sample, convergence};
pub use distributions::{Distributions, ShownFit, distributions};
pub use ecdf::{Ecdf, Reached, ecdf};
pub use fitting::{Fitting, fitting};

const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const FAINT_INK: RGBColor = RGBColor(0x66, 0x66, 0x66);

/// The font's name, which an SVG requests from its viewer.
const FONT: &str = "DejaVu Sans, sans-serif";

const GLYPHS: &[u8] = include_bytes!("font.ttf");

/// The text as a bitmap can show it: characters without a glyph are replaced by their Unicode
/// numbers. SVG viewers have other fonts.
fn drawable(text: &str) -> String {
    let Ok(font) = FontRef::try_from_slice(GLYPHS) else { return text.to_owned() };
    let mut drawable = String::new();
    let mut follows = false;
    for character in text.chars() {
        let missing = font.glyph_id(character).0 == 0;
        if missing && follows {
            drawable.push(' ');
        }
        match missing {
            true => drawable += &format!("U+{:04X}", u32::from(character)),
            false => drawable.push(character),
        }
        follows = missing;
    }
    drawable
}

/// A text style of this size in pixels.
fn text(size: f64) -> TextStyle<'static> {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let font = register_font(FONT, FontStyle::Normal, GLYPHS);
        assert!(font.is_ok(), "font.ttf is a font");
    });
    // plotters takes 1.24 em as the size of a font.
    TextStyle::from((FONT, size * 1.24).into_font()).color(&INK)
}

/// The width of a text in pixels.
fn width(text: &str, style: &TextStyle) -> i32 {
    style.font.box_size(text).map_or(0, |(width, _)| width as i32)
}

/// The text, shortened by an ellipsis if it is wider than `longest`.
fn fit(text: &str, style: &TextStyle, longest: i32) -> String {
    // No picture has room for more.
    let mut fitting: String = text.chars().take(400).collect();
    while width(&fitting, style) > longest {
        fitting.truncate(fitting.trim_end_matches('…').len());
        if fitting.pop().is_none() {
            break;
        }
        fitting.push('…');
    }
    fitting
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_font_lacks_is_told_by_its_number() {
        assert_eq!(drawable("x − y², é"), "x − y², é");
        assert_eq!(drawable("温度 (°C)"), "U+6E29 U+5EA6 (°C)");
        assert!(width(&drawable("温度"), &text(13.0)) > 20);
    }

    #[test]
    fn long_texts_are_cut() {
        let style = text(13.0);
        assert_eq!(fit("Rastrigin", &style, 200), "Rastrigin");
        let cut = fit(&"long ".repeat(1000), &style, 200);
        assert!(cut.starts_with("long long") && cut.ends_with('…'));
        assert!((190..=200).contains(&width(&cut, &style)));
        assert_eq!(fit("anything", &style, 0), "");
    }
}
