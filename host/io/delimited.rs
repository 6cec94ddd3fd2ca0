//! Text as records of fields: what separates fields, and which lines are data.
//!
//! A CSV reader would not do: here comments are distinguished from a spreadsheet's errors, blanks
//! may separate fields, it matters whether a field is quoted, and a quote that is never closed must
//! not swallow rows.

use std::borrow::Cow;

use super::input::{lines, quoted};

/// The most fields in a line.
pub const MOST_FIELDS: usize = 1 << 20;

/// The number of records from which a file's format is guessed.
const SAMPLE: usize = 200;

/// The separator of fields and the decimal mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// `None` for blanks.
    pub mark: Option<char>,
    pub decimal_comma: bool,
}

#[derive(Clone, Debug)]
pub struct Field<'a> {
    pub text: Cow<'a, str>,
    pub quoted: bool,
}

#[derive(Clone, Debug)]
pub struct Record<'a> {
    pub line: u64,
    pub fields: Vec<Field<'a>>,
}

/// Why a field has no number.
pub enum Trouble {
    /// It is missing; this is how.
    Missing(String),
    Wrong(String),
}

/// The records of a text, without comments and empty lines.
#[derive(Clone)]
pub struct Records<'a> {
    rest: &'a str,
    line: u64,
    format: Format,
    /// The last comment.
    pub comment: Option<&'a str>,
}

impl<'a> Records<'a> {
    /// The records of a text whose first line has the number `line`.
    pub fn new(text: &'a str, line: u64, format: Format) -> Self {
        Self { rest: text, line, format, comment: None }
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    fn end_line(&mut self) {
        let end = if self.rest.starts_with("\r\n") { 2 } else { self.rest.len().min(1) };
        self.take(end);
        self.line += 1;
    }

    fn skip_blanks(&mut self) {
        let mark = self.format.mark;
        let is_blank = |c: char| Some(c) != mark && !is_end(c) && c.is_whitespace();
        self.rest = self.rest.trim_start_matches(is_blank);
    }

    /// The rest of the field or of the line.
    fn raw(&mut self) -> &'a str {
        let mark = self.format.mark;
        let ends = |c: char| is_end(c) || mark.map_or(c.is_whitespace(), |mark| c == mark);
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        self.take(end).trim()
    }

    fn skip_line(&mut self) {
        let end = self.rest.find(is_end).unwrap_or(self.rest.len());
        self.take(end);
    }

    fn field(&mut self) -> Result<Field<'a>, String> {
        if self.rest.starts_with('"') {
            return self.quoted_field();
        }
        let before = self.rest;
        let raw = self.raw();
        // A comment after a number, but not a name such as `Part #`.
        if let Some((value, _)) = raw.split_once('#')
            && number(value.trim(), self.format.decimal_comma).is_ok()
        {
            self.rest = &before[value.len()..];
            self.skip_line();
            return Ok(Field { text: value.trim().into(), quoted: false });
        }
        Ok(Field { text: raw.into(), quoted: false })
    }

    fn quoted_field(&mut self) -> Result<Field<'a>, String> {
        let line = self.line;
        let mut text = Cow::Borrowed("");
        self.take(1);
        loop {
            let Some(end) = self.rest.find('"') else {
                return Err(format!("line {line}: a quote (\") is opened there and never closed"));
            };
            let part = self.take(end);
            self.line += lines(part).count() as u64 - 1;
            self.take(1);
            match text.is_empty() {
                true => text = part.into(),
                false => text.to_mut().push_str(part),
            }
            if !self.rest.starts_with('"') {
                break;
            }
            self.take(1);
            text.to_mut().push('"');
        }
        self.skip_blanks_within();
        if self.rest.starts_with('#') {
            self.skip_line();
        }
        let after = self.raw();
        if !after.is_empty() {
            text.to_mut().push_str(after);
        }
        let text = match text {
            Cow::Borrowed(text) => text.trim().into(),
            Cow::Owned(text) => text.trim().to_owned().into(),
        };
        Ok(Field { text, quoted: true })
    }

    /// Skips blanks that are not separators.
    fn skip_blanks_within(&mut self) {
        if self.format.mark.is_some() {
            self.skip_blanks();
        }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let line = &self.rest[..self.rest.find(is_end).unwrap_or(self.rest.len())];
            let mark = self.format.mark;
            let is_blank = |c: char| (c.is_whitespace() && Some(c) != mark) || c == '\x1a';
            let line = line.trim_matches(is_blank);
            let comment = comment_begins(line);
            if !line.is_empty() && !comment {
                break;
            }
            if comment {
                self.comment = Some(line);
            }
            self.skip_line();
            self.end_line();
        }
        let line = self.line;
        let mut fields = Vec::new();
        loop {
            self.skip_blanks();
            let blank = self.format.mark.is_none();
            let at_end = self.rest.is_empty() || self.rest.starts_with(is_end);
            if blank && (at_end || comment_begins(self.rest)) {
                self.skip_line();
                self.end_line();
                return Some(Ok(Record { line, fields }));
            }
            match self.field() {
                Ok(field) => fields.push(field),
                Err(message) => {
                    self.rest = "";
                    return Some(Err(message));
                }
            }
            if !blank {
                match self.rest.chars().next() {
                    Some(mark) if Some(mark) == self.format.mark => {
                        self.take(mark.len_utf8());
                    }
                    _ => {
                        self.end_line();
                        return Some(Ok(Record { line, fields }));
                    }
                }
            }
        }
    }
}

fn is_end(c: char) -> bool {
    c == '\n' || c == '\r'
}

fn first_word(text: &str) -> &str {
    text.split([',', ';', '\t', '|', ' ', '\n', '\r']).next().unwrap_or_default()
}

/// Whether a text begins with a comment, not with a spreadsheet's error.
pub fn comment_begins(text: &str) -> bool {
    text.starts_with('#') && !is_error_value(first_word(text))
}

/// Whether a field is a spreadsheet's error: `#N/A`, `#DIV/0!`, `#NAME?`.
fn is_error_value(text: &str) -> bool {
    let Some(name) = text.strip_prefix('#') else { return false };
    let word = name.trim_end_matches(['!', '?']);
    let capitals = word.chars().all(|c| c.is_uppercase() || c.is_ascii_digit() || "/_".contains(c));
    let marked = word.len() < name.len() && !word.is_empty();
    capitals && (marked || ["N/A", "NV", "N/D"].contains(&word))
}

/// The number in a field, which must be finite.
pub fn number(field: &str, decimal_comma: bool) -> Result<f64, Trouble> {
    const MISSING: [&str; 12] =
        ["na", "nan", "null", "none", "n/a", "<na>", "nil", "-", "--", ".", "?", "missing"];
    if field.is_empty() {
        return Err(Trouble::Missing("empty".to_owned()));
    }
    let parsed = match decimal_comma {
        false => field.parse().ok(),
        true if field.contains('.') => None,
        true => field.replacen(',', ".", 1).parse().ok(),
    };
    match parsed {
        Some(value) if f64::is_finite(value) => return Ok(value),
        Some(value) if value.is_infinite() => {
            let field = quoted(field);
            return Err(Trouble::Wrong(format!(
                "{value} ({field}), and every number must be finite"
            )));
        }
        _ => {}
    }
    if MISSING.contains(&&*field.to_ascii_lowercase()) || is_error_value(field) {
        return Err(Trouble::Missing(quoted(field)));
    }
    Err(Trouble::Wrong(format!(
        "{}, which is no number{}",
        quoted(field),
        hint(field, decimal_comma)
    )))
}

/// A hint about what a field that is no number may mean.
fn hint(field: &str, decimal_comma: bool) -> &'static str {
    let has_digit = field.contains(|c: char| c.is_ascii_digit());
    let only =
        |others: &str| has_digit && field.chars().all(|c| c.is_ascii_digit() || others.contains(c));
    let quotes = ['\'', '`', '´', '‘', '’', '“', '”'];
    if has_digit && (field.starts_with(quotes) || field.ends_with(quotes)) {
        ": numbers may stand in double quotes (\") or in none"
    } else if only(",+-eE") && field.matches(',').count() == 1 && !decimal_comma {
        ": give --decimal-comma if its comma is a decimal mark; marks between thousands are not accepted"
    } else if only(",.'+- \u{a0}\u{202f}") && field.contains([',', '\'', ' ', '\u{a0}', '\u{202f}'])
    {
        ": marks between thousands are not accepted"
    } else if only(".+-eE") && decimal_comma {
        " where the decimal mark is a comma"
    } else if only("-/.:TZ+ ") && field.matches(['-', '/', '.', ':']).count() >= 2 {
        " but a date or a time: give it as a number, such as days or seconds, or leave its column out by --x"
    } else {
        ""
    }
}

/// Whether a field's comma may be between thousands: exactly three digits follow it.
pub fn may_be_thousands(field: &str) -> bool {
    let Some((before, after)) = field.trim_start_matches(['+', '-']).split_once(',') else {
        return true;
    };
    after.len() == 3 && (1..=3).contains(&before.len()) && !before.starts_with('0')
}

/// Where the data of a text begin, and the line's number: after `skip` lines, and after a line such
/// as `sep=;`, whose separator is returned too.
pub fn begin(text: &str, skip: usize) -> Result<(&str, u64, Option<char>), String> {
    for (number, line) in lines(text) {
        if line.len() > MOST_FIELDS
            && [',', ';', '\t', '|', ' '].iter().any(|&m| line.matches(m).count() >= MOST_FIELDS)
        {
            return Err(format!(
                "line {number} has more than {MOST_FIELDS} fields, which is the most for a line"
            ));
        }
    }
    let mut rest = Records::new(text, 1, Format { mark: None, decimal_comma: false });
    for skipped in 0..skip {
        if rest.rest.is_empty() {
            return Err(format!("it has {skipped} lines, and {skip} were to be skipped"));
        }
        rest.skip_line();
        rest.end_line();
    }
    let first =
        rest.rest[..rest.rest.find(is_end).unwrap_or(rest.rest.len())].trim_matches([' ', '"']);
    let mut mark = None;
    if let Some(said) = first.strip_prefix("sep=").or_else(|| first.strip_prefix("SEP="))
        && let mut characters = said.chars()
        && let Some(character) = characters.next()
        && characters.next().is_none()
        && !character.is_alphanumeric()
    {
        mark = Some(character);
        rest.skip_line();
        rest.end_line();
    }
    Ok((rest.rest, rest.line, mark))
}

/// The first records of a text; fewer if they are long.
pub fn sample<'a>(text: &'a str, line: u64, format: Format) -> Vec<Record<'a>> {
    let mut room = MOST_FIELDS;
    let records = Records::new(text, line, format).map_while(Result::ok).take(SAMPLE);
    records
        .take_while(|record| {
            let before = room;
            room = room.saturating_sub(record.fields.len());
            before > 0
        })
        .collect()
}

/// The format in which most of a text is numbers.
pub fn format(text: &str, line: u64, mark: Option<char>, decimal_comma: bool) -> Format {
    let marks: &[Option<char>] = match &mark {
        Some(' ') => &[None],
        Some(_) => &[mark],
        None => &[Some(';'), Some('\t'), Some('|'), Some(','), None],
    };
    let format = |mark: &Option<char>, decimal_comma| Format { mark: *mark, decimal_comma };
    // Of equals the first wins: a comma separates numbers unless something else does.
    let (before, after) = marks.split_at(marks.iter().position(|m| *m == Some(',')).unwrap_or(0));
    let mut candidates = Vec::new();
    for marks in [before, after] {
        candidates.extend(marks.iter().map(|mark| format(mark, decimal_comma)));
        if !decimal_comma {
            candidates.extend(marks.iter().map(|mark| format(mark, true)));
        }
    }
    let mut best: Option<((f64, usize), Format)> = None;
    for candidate in candidates {
        let records = sample(text, line, candidate);
        let width = width(&records);
        let mut score = (0.0, 0);
        let mut sure = decimal_comma || !candidate.decimal_comma;
        for record in records.iter().filter(|record| width > 1 && record.fields.len() >= width) {
            let fields = &record.fields[..width];
            let counted = fields.iter().filter(|field| {
                !matches!(number(&field.text, candidate.decimal_comma), Err(Trouble::Wrong(_)))
            });
            score.0 += counted.clone().count() as f64 / width as f64;
            score.1 += 1;
            sure |= counted.into_iter().any(|field| !may_be_thousands(&field.text));
        }
        score.0 /= records.len().max(1) as f64;
        if sure && best.is_none_or(|(before, _)| score > before) {
            best = Some((score, candidate));
        }
    }
    best.map_or(format(&marks[0], decimal_comma), |(_, format)| format)
}

/// The number of fields in most records, without trailing ones that are always empty.
pub fn width(records: &[Record<'_>]) -> usize {
    let mut counts: Vec<(usize, usize)> = Vec::new();
    for record in records {
        match counts.iter_mut().find(|(width, _)| *width == record.fields.len()) {
            Some((_, count)) => *count += 1,
            None => counts.push((record.fields.len(), 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max();
    let first = counts.iter().find(|(_, count)| Some(*count) == most);
    let mut width = first.map_or(0, |(width, _)| *width);
    let is_empty = |at: usize| {
        records.iter().filter_map(|record| record.fields.get(at)).all(|field| field.text.is_empty())
    };
    while width > 1 && is_empty(width - 1) {
        width -= 1;
    }
    width
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMA: Format = Format { mark: Some(','), decimal_comma: false };
    const BLANKS: Format = Format { mark: None, decimal_comma: false };

    fn fields(text: &str, format: Format) -> Vec<(u64, Vec<String>)> {
        let records = Records::new(text, 1, format).map(Result::unwrap);
        let texts = |record: Record<'_>| {
            (record.line, record.fields.into_iter().map(|field| field.text.into_owned()).collect())
        };
        records.map(texts).collect()
    }

    fn told(text: &str) -> Format {
        format(text, 1, None, false)
    }

    /// The number of each line, and its fields.
    type Lines<'a> = &'a [(u64, &'a [&'a str])];

    #[test]
    fn records_and_their_lines() {
        let lists = |expected: Lines<'_>| -> Vec<(u64, Vec<String>)> {
            let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
            expected.iter().map(|(line, list)| (*line, owned(list))).collect()
        };
        let cases: [(&str, Format, Lines<'_>); 9] = [
            ("a,b\r\n\r\n1, 2 \n", COMMA, &[(1, &["a", "b"]), (3, &["1", "2"])]),
            ("1,2\r3,4\r", COMMA, &[(1, &["1", "2"]), (2, &["3", "4"])]),
            ("\"a\nb\",\"c\"\"d\"\n1,\"\"", COMMA, &[(1, &["a\nb", "c\"d"]), (3, &["1", ""])]),
            ("# a\n1,2 # b, c\n,\n", COMMA, &[(2, &["1", "2"]), (3, &["", ""])]),
            ("#N/A,Part #\n#VALUE!,2", COMMA, &[(1, &["#N/A", "Part #"]), (2, &["#VALUE!", "2"])]),
            ("5\" wide,2\n", COMMA, &[(1, &["5\" wide", "2"])]),
            (" 1   2\t3 # c\n\n4\u{a0}5", BLANKS, &[(1, &["1", "2", "3"]), (3, &["4", "5"])]),
            ("\"a b\" 2 #N/A\n\x1a", BLANKS, &[(1, &["a b", "2", "#N/A"])]),
            ("", COMMA, &[]),
        ];
        for (text, format, expected) in cases {
            assert_eq!(fields(text, format), lists(expected), "{text:?}");
        }
        let open = Records::new("1,2\n3,\"4\n5,6\n", 1, COMMA).nth(1).unwrap().unwrap_err();
        assert_eq!(open, "line 2: a quote (\") is opened there and never closed");
    }

    #[test]
    fn separators_and_decimal_marks() {
        for (text, mark, decimal_comma) in [
            ("1,2\n3,4\n", Some(','), false),
            ("1, 2\n3, 4\n", Some(','), false),
            ("x;y\n1,5;2\n3;4\n", Some(';'), true),
            ("A;1,5\nB;2,5\n", Some(';'), true),
            ("1,5 2,5\n3,5 4,5\n", None, true),
            ("1,5\t2\n3\t4\n", Some('\t'), true),
            ("\"1,5\",\"2,5\"\n", Some(','), true),
            ("\"a;b\",c\n1,2\n", Some(','), false),
            ("# a;b;c\n1 2\n", None, false),
            ("x|y\n1|2\n", Some('|'), false),
            // Their commas may be between thousands.
            ("1,234;2\n2,345;3\n", Some(';'), false),
        ] {
            assert_eq!(told(text), Format { mark, decimal_comma }, "{text:?}");
        }
    }
}
