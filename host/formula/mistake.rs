//! What is wrong with a formula, and where.

use crate::Error;

/// A part of a formula's text, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub begin: usize,
    pub end: usize,
}

impl Span {
    pub fn new(begin: usize, end: usize) -> Self {
        Self { begin, end }
    }

    /// From the beginning of the one to the end of the other.
    pub fn to(self, other: Self) -> Self {
        Self { begin: self.begin, end: other.end }
    }
}

/// A mistake in a formula.
#[derive(Clone, Debug)]
pub(super) struct Mistake {
    span: Span,
    why: String,
}

/// Characters of a formula that are shown before a mistake, and behind its beginning.
const SHOWN: usize = 60;

impl Mistake {
    pub fn new(span: Span, why: impl Into<String>) -> Self {
        Self { span, why: why.into() }
    }

    /// The error for the user.
    pub fn in_text(self, text: &str) -> Error {
        Error::Formula { message: self.shown(text) }
    }

    /// The column, what is wrong, and the text with carets below the mistake.
    pub fn shown(&self, text: &str) -> String {
        let before = &text[..self.span.begin];
        let line_begin = before.rfind('\n').map_or(0, |at| at + 1);
        let line_end =
            text[self.span.begin..].find('\n').map_or(text.len(), |at| self.span.begin + at);
        let column = text[line_begin..self.span.begin].chars().count();
        let mut place = format!("at column {}", column + 1);
        if text.contains('\n') {
            place = format!("{place} of line {}", before.matches('\n').count() + 1);
        }
        // A tab would be wider than its caret.
        let line: Vec<char> = text[line_begin..line_end]
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let first = column.saturating_sub(SHOWN);
        let last = line.len().min(column + SHOWN);
        let cut = if first > 0 { "..." } else { "" };
        let part: String = line[first..last].iter().collect();
        let rest = if last < line.len() { "..." } else { "" };
        let length = text[self.span.begin..self.span.end.min(line_end)].chars().count();
        let carets = "^".repeat(length.clamp(1, (last - column).max(1)));
        let space = " ".repeat(cut.len() + column - first);
        format!("{place}: {}\n  {cut}{part}{rest}\n  {space}{carets}", self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_lines_counted() {
        let text = format!("{}?{}", "1+".repeat(100), "+1".repeat(100));
        let shown = Mistake::new(Span::new(200, 201), "wrong").shown(&text);
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(lines[0], "at column 201: wrong");
        assert!(lines[1].len() < 140 && lines[1].starts_with("  ...") && lines[1].ends_with("..."));
        assert_eq!(lines[1].find('?'), lines[2].find('^'));
        let shown = Mistake::new(Span::new(6, 9), "wrong").shown("a +\n\tb * c");
        assert_eq!(shown, "at column 3 of line 2: wrong\n   b * c\n    ^^^");
        // At the end.
        let shown = Mistake::new(Span::new(3, 3), "ended").shown("a +");
        assert_eq!(shown, "at column 4: ended\n  a +\n     ^");
    }
}
