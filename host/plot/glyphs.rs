//! The shapes and widths of letters.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::canvas::Point;

/// DejaVu Sans, as outlines: `scripts/update-glyphs` writes the file, `glyphs.LICENSE` is its licence.
const OUTLINES: &str = include_str!("glyphs.txt");

/// Raised characters are smaller by this, and this much of the text's size above the base line.
pub(super) const RAISED_SIZE: f64 = 0.7;
pub(super) const RAISED_BY: f64 = 0.38;

/// Lines that stand for one curve. At the sizes of labels more make no difference.
const CURVE_LINES: u32 = 5;

/// A letter for a text of size 1, with y down from the base line.
#[derive(Debug, Default)]
pub(super) struct Glyph {
    pub(super) advance: f64,
    /// Closed; a point is inside where they wind around it other than zero times.
    pub(super) contours: Vec<Vec<Point>>,
}

/// The shape of a character, or of a sign that says it is missing.
pub(super) fn glyph(character: char) -> &'static Glyph {
    static GLYPHS: OnceLock<HashMap<char, Glyph>> = OnceLock::new();
    static NONE: Glyph = Glyph { advance: 0.0, contours: Vec::new() };
    let glyphs = GLYPHS.get_or_init(|| parse(OUTLINES));
    glyphs.get(&character).or_else(|| glyphs.get(&'\u{fffd}')).unwrap_or(&NONE)
}

/// Cuts a text into pieces that are raised or not, with ordinary digits for raised ones: fonts differ
/// in the heights of their own raised digits, and some lack most of them.
pub(super) fn pieces(text: &str) -> Vec<(String, bool)> {
    let mut pieces: Vec<(String, bool)> = Vec::new();
    for character in text.chars() {
        // A control character would break the line, or the XML.
        let character = if character.is_control() { ' ' } else { character };
        let lowered = lowered(character);
        let (character, raised) = (lowered.unwrap_or(character), lowered.is_some());
        match pieces.last_mut() {
            Some((piece, same)) if *same == raised => piece.push(character),
            _ => pieces.push((character.into(), raised)),
        }
    }
    pieces
}

fn lowered(character: char) -> Option<char> {
    const RAISED: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻";
    const LOWERED: &str = "0123456789−";
    RAISED.chars().zip(LOWERED.chars()).find(|&(raised, _)| raised == character).map(|pair| pair.1)
}

/// A whole number as raised digits.
pub(super) fn raised(number: i32) -> String {
    let raise = |character| match character {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32('⁰' as u32 + (digit as u32 - '0' as u32)).unwrap_or(digit),
    };
    number.to_string().chars().map(raise).collect()
}

/// The length of a text of the size given.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let piece_width = |(piece, raised): &(String, bool)| {
        let advance: f64 = piece.chars().map(|character| glyph(character).advance).sum();
        if *raised { advance * RAISED_SIZE } else { advance }
    };
    size * pieces(text).iter().map(piece_width).sum::<f64>()
}

/// The text, cut so that it is no longer than `longest`.
pub(super) fn fit(text: &str, size: f64, longest: f64) -> String {
    if width(text, size) <= longest {
        return text.to_owned();
    }
    let mut room = longest - width("…", size);
    let kept = text.chars().take_while(|character| {
        room -= width(character.encode_utf8(&mut [0; 4]), size);
        room >= 0.0
    });
    let kept: String = kept.collect();
    format!("{}…", kept.trim_end())
}

/// Reads the outlines. What is not as it should be is left out; a test sees that nothing is.
fn parse(outlines: &str) -> HashMap<char, Glyph> {
    let mut lines = outlines.lines();
    let em = lines.next().and_then(|line| line.strip_prefix("em ")?.parse().ok()).unwrap_or(1.0);
    lines.filter_map(|line| parse_line(line, em)).collect()
}

fn parse_line(line: &str, em: f64) -> Option<(char, Glyph)> {
    let mut fields = line.splitn(3, ' ');
    let character = char::from_u32(u32::from_str_radix(fields.next()?, 16).ok()?)?;
    let advance = fields.next()?.parse::<f64>().ok()? / em;
    let mut contours: Vec<Vec<Point>> = Vec::new();
    let mut rest = fields.next().unwrap_or_default();
    while let Some(operator) = rest.chars().next() {
        let body = &rest[1..];
        let end = body.find(['M', 'L', 'Q']).unwrap_or(body.len());
        let numbers: Vec<f64> =
            body[..end].split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
        rest = &body[end..];
        let point = |index: usize| Some([numbers.get(index)? / em, -numbers.get(index + 1)? / em]);
        match operator {
            'M' => contours.push(vec![point(0)?]),
            'L' => contours.last_mut()?.push(point(0)?),
            _ => {
                let contour = contours.last_mut()?;
                let (start, control, end) = (*contour.last()?, point(0)?, point(2)?);
                contour.extend((1..=CURVE_LINES).map(|line| {
                    let t = f64::from(line) / f64::from(CURVE_LINES);
                    let at = |axis: usize| {
                        let (a, b, c): (f64, f64, f64) = (start[axis], control[axis], end[axis]);
                        (a * (1.0 - t) + 2.0 * b * t) * (1.0 - t) + c * t * t
                    };
                    [at(0), at(1)]
                }));
            }
        }
    }
    Some((character, Glyph { advance, contours }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_outlines_is_read() {
        let glyphs = parse(OUTLINES);
        assert_eq!(glyphs.len() + 1, OUTLINES.lines().count());
        for character in "AZaz09 -+.,:;()×·−…∞ßéΔσ\u{fffd}".chars() {
            let glyph = &glyphs[&character];
            assert!(glyph.advance > 0.2 && glyph.advance < 1.3, "{character:?}: {glyph:?}");
            assert_eq!(glyph.contours.is_empty(), character == ' ', "{character:?}");
            for [x, y] in glyph.contours.iter().flatten() {
                assert!((-0.2..1.3).contains(x) && (-1.1..0.4).contains(y), "{character:?}");
            }
        }
        assert_eq!(glyphs[&'B'].contours.len(), 3);
    }

    #[test]
    fn raised_digits() {
        assert_eq!(raised(-1_023_456_789), "⁻¹⁰²³⁴⁵⁶⁷⁸⁹");
        assert_eq!(
            pieces("2·10⁻³ m"),
            [("2·10".into(), false), ("−3".into(), true), (" m".into(), false)]
        );
        assert!(width("10⁻³", 10.0) < width("10−3", 10.0));
        assert_eq!(pieces("a\n\0b"), [("a  b".into(), false)]);
    }

    #[test]
    fn long_texts_are_cut() {
        let text = "a title ".repeat(100);
        let cut = fit(&text, 12.0, 300.0);
        assert!(cut.ends_with('…') && width(&cut, 12.0) <= 300.0 && width(&cut, 12.0) > 270.0);
        assert_eq!(fit("short", 12.0, 300.0), "short");
        assert_eq!(fit("nothing fits", 12.0, 0.0), "…");
    }

    #[test]
    fn unknown_characters_have_a_shape() {
        assert!(!glyph('\u{4e2d}').contours.is_empty());
    }
}
