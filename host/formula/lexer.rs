//! A formula's text as tokens.

use super::mistake::{Mistake, Span};

/// The smallest pieces of a formula.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A number, and its value as a whole number if it was written as one.
    Number(f64, Option<i64>),
    /// A name.
    Name(String),
    /// What stood in backticks: always the name of a variable or a column.
    Quoted(String),
    /// An operator or a delimiter.
    Sign(&'static str),
    End,
}

/// All signs; of those that begin alike the longer ones come first.
const SIGNS: [&str; 30] = [
    "..=", "**", "//", "..", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "^", "<",
    ">", "!", "(", ")", "[", "]", ",", ":", "\u{2212}", "\u{d7}", "\u{b7}", "\u{2264}", "\u{2265}",
];

/// What a sign from a typeset text means.
fn plain(sign: &'static str) -> &'static str {
    match sign {
        "\u{2212}" => "-",
        "\u{d7}" | "\u{b7}" => "*",
        "\u{2264}" => "<=",
        "\u{2265}" => ">=",
        sign => sign,
    }
}

/// Splits a text into tokens with their places, [`Token::End`] behind them.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Span)>, Mistake> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let begin = at;
        let token = if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        } else if first.is_ascii_digit() || first == '.' && second_is_digit(rest) {
            let length = number_length(rest);
            at += length;
            number(&rest[..length], Span::new(begin, at))?
        } else if first.is_alphabetic() || first == '_' {
            let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
            let name = &rest[..length.unwrap_or(rest.len())];
            at += name.len();
            Token::Name(name.to_owned())
        } else if first == '`' {
            let Some(length) = rest[1..].find('`').filter(|&length| length > 0) else {
                let why = match rest[1..].starts_with('`') {
                    true => "there is no name between the backticks",
                    false => "a name in backticks ends with a backtick",
                };
                return Err(Mistake::new(Span::new(begin, text.len()), why));
            };
            at += length + 2;
            Token::Quoted(rest[1..=length].to_owned())
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            at += sign.len();
            Token::Sign(plain(sign))
        } else {
            let span = Span::new(begin, begin + first.len_utf8());
            let hint = match (first, rest.as_bytes().get(1)) {
                ('=', Some(b'<')) => "; less or equal is <=",
                ('=', Some(b'>')) => "; greater or equal is >=",
                ('=', _) => "; two numbers are compared by ==, and a range is `i in 0..n`",
                _ => "",
            };
            let why = format!("{first:?} means nothing in a formula{hint}");
            return Err(Mistake::new(span, why));
        };
        found.push((token, Span::new(begin, at)));
    }
    found.push((Token::End, Span::new(text.len(), text.len())));
    Ok(found)
}

fn second_is_digit(text: &str) -> bool {
    text[1..].starts_with(|c: char| c.is_ascii_digit())
}

/// The length of the number at the start of a text: `1`, `1.5`, `.5`, `1e-3`, `1_000`. The two points
/// of a range are not part of one.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(|&b| b.is_ascii_digit() || b == b'_') {
            at += 1;
        }
        at
    };
    let mut at = digits(0);
    if bytes.get(at) == Some(&b'.') && bytes.get(at + 1) != Some(&b'.') {
        at = digits(at + 1);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let signed = matches!(bytes.get(at + 1), Some(b'+' | b'-'));
        let first = at + 1 + usize::from(signed);
        if bytes.get(first).is_some_and(u8::is_ascii_digit) {
            at = digits(first);
        }
    }
    at
}

fn number(text: &str, span: Span) -> Result<Token, Mistake> {
    let digits: String = text.chars().filter(|&c| c != '_').collect();
    let value: f64 =
        digits.parse().map_err(|_| Mistake::new(span, format!("{text} is not a number")))?;
    if value.is_infinite() {
        return Err(Mistake::new(
            span,
            format!("{text} is beyond the largest number, about 1.8e308"),
        ));
    }
    Ok(Token::Number(value, digits.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plainly(text: &str) -> Vec<Token> {
        tokens(text).unwrap().into_iter().map(|(token, _)| token).collect()
    }

    #[test]
    fn numbers_end_where_a_range_begins() {
        use Token::{End, Name, Number, Sign};
        assert_eq!(
            plainly("0..n 1.5e-3 .5 2. 1_000"),
            [
                Number(0.0, Some(0)),
                Sign(".."),
                Name("n".to_owned()),
                Number(1.5e-3, None),
                Number(0.5, None),
                Number(2.0, None),
                Number(1000.0, Some(1000)),
                End,
            ]
        );
        // An `e` without an exponent is Euler's number behind a number, which the parser refuses.
        assert_eq!(plainly("2e"), [Number(2.0, Some(2)), Name("e".to_owned()), End]);
    }

    #[test]
    fn names_may_have_any_characters_in_backticks() {
        let expected = [
            Token::Quoted("dose (mg)".to_owned()),
            Token::Sign("**"),
            Token::Name("größe".to_owned()),
        ];
        assert_eq!(plainly("`dose (mg)`**größe")[..3], expected);
        assert!(tokens("`dose").is_err() && tokens("``").is_err());
    }

    #[test]
    fn what_means_nothing_is_shown() {
        let mistake = tokens("a + é $ 3").unwrap_err();
        assert_eq!(
            mistake.shown("a + é $ 3"),
            "at column 7: '$' means nothing in a formula\n  a + é $ 3\n        ^"
        );
    }
}
