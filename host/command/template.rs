//! The text of a command: its words, and the places for the variables in them.
//!
//! Words are split and quoted as in a shell, but there is no shell: nothing else has a meaning, and a
//! variable's value is never split.

/// A piece of a word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece<P> {
    Text(String),
    Place(P),
}

/// A word of a command: pieces one after the other.
pub(super) type Word<P> = Vec<Piece<P>>;

/// What stands in a place, once the variables are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// A coordinate.
    One(usize),
    /// All coordinates, as words of their own.
    All,
}

/// Splits a text into words with the names in their places. The error ends the sentence that begins
/// with "the command".
pub(super) fn parse(text: &str) -> Result<Vec<Word<String>>, String> {
    let words: Vec<_> = split(text)?.iter().map(|word| places(word)).collect::<Result<_, _>>()?;
    if words.is_empty() {
        return Err("is empty; it must begin with the program to run".to_owned());
    }
    Ok(words)
}

/// What only a shell understands.
const OPERATORS: [&str; 11] = ["|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "2>&1", "&>"];

/// Splits a text at spaces outside of quotes. In single quotes everything stands for itself, in double
/// quotes everything but `\"`, `\\`, `\$` and `` \` ``; elsewhere a backslash quotes what follows.
fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    // The present word, and whether any of it was quoted.
    let mut word: Option<(String, bool)> = None;
    let mut letters = text.chars().peekable();
    let end = |word: Option<(String, bool)>, words: &mut Vec<String>| -> Result<(), String> {
        let Some((word, is_quoted)) = word else { return Ok(()) };
        let is_shells = OPERATORS.contains(&&*word)
            || word.starts_with("$(")
            || word.starts_with("${")
            || word.starts_with('`')
            || word.starts_with('$') && word[1..].starts_with(|c: char| c.is_alphabetic());
        if !is_quoted && is_shells {
            return Err(format!(
                "has {word}, which only a shell understands, and none is used: quote it, or put it \
                 all in one as in sh -c '...'"
            ));
        }
        words.push(word);
        Ok(())
    };
    while let Some(letter) = letters.next() {
        if letter.is_whitespace() {
            end(word.take(), &mut words)?;
            continue;
        }
        let (word, is_quoted) = word.get_or_insert_default();
        match letter {
            '\'' | '"' => {
                *is_quoted = true;
                loop {
                    match letters.next() {
                        None => return Err(format!("has a {letter} that is never closed")),
                        Some(next) if next == letter => break,
                        Some('\\') if letter == '"' => match letters.peek() {
                            Some(&next @ ('"' | '\\' | '$' | '`')) => {
                                word.push(next);
                                letters.next();
                            }
                            _ => word.push('\\'),
                        },
                        Some(next) => word.push(next),
                    }
                }
            }
            '\\' => {
                *is_quoted = true;
                word.push(letters.next().ok_or("ends with a backslash that quotes nothing")?);
            }
            letter => word.push(letter),
        }
    }
    end(word, &mut words)?;
    Ok(words)
}

/// Finds the names in braces; two braces are one that stands for itself.
fn places(word: &str) -> Result<Word<String>, String> {
    let (mut pieces, mut plain) = (Vec::new(), String::new());
    let mut rest = word;
    while let Some(at) = rest.find(['{', '}']) {
        plain.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            plain.push_str(brace);
            rest = after;
            continue;
        }
        let braces = "write {{ and }} for braces that stand for themselves";
        if brace == "}" {
            return Err(format!("has a }} in the word {word} without a {{; {braces}"));
        }
        let Some(close) = rest.find('}') else {
            return Err(format!("has a {{ in the word {word} that is never closed; {braces}"));
        };
        if !plain.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
        }
        pieces.push(Piece::Place(rest[..close].trim().to_owned()));
        rest = &rest[close + 1..];
    }
    plain.push_str(rest);
    // An empty word, as '' is, is a word too.
    if !plain.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    Ok(pieces)
}

/// Which coordinate each place stands for: of variables with names, or of `x[0]`, `x[1]` and so on.
pub(super) fn resolve(
    words: &[Word<String>],
    names: Option<&[String]>,
    dims: usize,
) -> Result<Vec<Word<Place>>, String> {
    let mut is_used = vec![false; dims];
    let mut find = |name: &str, is_alone: bool| -> Result<Place, String> {
        let place = match names {
            Some(names) => names.iter().position(|known| known == name).map(Place::One),
            None if name == "x" && is_alone => Some(Place::All),
            None => {
                let index = name.strip_prefix("x[").and_then(|rest| rest.strip_suffix(']'));
                let index = index.and_then(|index| index.trim().parse().ok());
                index.filter(|&index| index < dims).map(Place::One)
            }
        };
        match place {
            Some(Place::One(index)) => is_used[index] = true,
            Some(Place::All) => is_used.fill(true),
            None => {
                let known = match names {
                    Some(names) => in_braces(names),
                    None if dims == 1 => "{x[0]}".to_owned(),
                    None => format!("{{x[0]}} to {{x[{}]}}, and {{x}} for all as a word", dims - 1),
                };
                return Err(format!(
                    "has {{{name}}}, and there are {known}; write {{{{ and }}}} for braces that \
                     stand for themselves"
                ));
            }
        }
        Ok(place.expect("it was found"))
    };
    let mut resolved = Vec::new();
    for word in words {
        let is_alone = word.len() == 1;
        let piece = |piece: &Piece<String>| {
            Ok(match piece {
                Piece::Text(text) => Piece::Text(text.clone()),
                Piece::Place(name) => Piece::Place(find(name, is_alone)?),
            })
        };
        resolved.push(word.iter().map(piece).collect::<Result<Vec<_>, String>>()?);
    }
    let missing: Vec<String> = (0..dims)
        .filter(|&index| !is_used[index])
        .map(|index| names.map_or_else(|| format!("x[{index}]"), |names| names[index].clone()))
        .collect();
    if !missing.is_empty() {
        let them = in_braces(&missing);
        return Err(format!("does not have {them}: the program would never know the value"));
    }
    Ok(resolved)
}

fn in_braces(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let mut text: Vec<_> = names.iter().take(SHOWN).map(|name| format!("{{{name}}}")).collect();
    if names.len() > SHOWN {
        text.push(format!("{} more", names.len() - SHOWN));
    }
    text.join(", ")
}

/// The words for a point.
pub(super) fn filled(words: &[Word<Place>], point: &[f64]) -> Vec<String> {
    let mut all = Vec::with_capacity(words.len());
    for word in words {
        if let [Piece::Place(Place::All)] = word[..] {
            all.extend(point.iter().map(|&x| super::number::text(x)));
            continue;
        }
        let mut text = String::new();
        for piece in word {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Place(Place::One(index)) => {
                    text.push_str(&super::number::text(point[*index]))
                }
                Piece::Place(Place::All) => unreachable!("it is a word of its own"),
            }
        }
        all.push(text);
    }
    all
}

/// The words as a shell would take them, to be shown.
pub(super) fn shown(words: &[String]) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=+,:@%".contains(c);
    let quoted = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|&name| name.to_owned()).collect()
    }

    fn with(text: &str, all: &[&str], point: &[f64]) -> Result<Vec<String>, String> {
        let words = resolve(&parse(text)?, Some(&names(all)), all.len())?;
        Ok(filled(&words, point))
    }

    #[test]
    fn words_are_quoted_as_in_a_shell() {
        for (text, expected) in [
            ("a b\t c\n", &["a", "b", "c"][..]),
            ("  'a  b' ", &["a  b"]),
            (r#"x'a'"b"c"#, &["xabc"]),
            (r#"'a"b' "a'b""#, &["a\"b", "a'b"]),
            (r#"a\ b \' \\ \""#, &["a b", "'", "\\", "\""]),
            (r#""a\"b\\c\d\$e""#, &["a\"b\\c\\d$e"]),
            (r"'a\b'", &[r"a\b"]),
            ("a '' \"\"", &["a", "", ""]),
            ("a '|' \\; \"$HOME\" x|y 5$ *", &["a", "|", ";", "$HOME", "x|y", "5$", "*"]),
        ] {
            assert_eq!(split(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_command_gets_a_sentence() {
        for (text, expected) in [
            ("", "is empty"),
            (" \t", "is empty"),
            ("a 'b", "has a ' that is never closed"),
            ("a \"b\\\"", "has a \" that is never closed"),
            ("a \\", "ends with a backslash"),
            ("a | b", "has |, which only a shell understands"),
            ("a $HOME", "has $HOME, which only a shell"),
            ("a $(b)", "has $(b), which only a shell"),
            ("a > b", "sh -c '...'"),
            ("a {b", "has a { in the word {b that is never closed; write {{ and }}"),
            ("a b}", "has a } in the word b} without a {"),
            ("a {dose (mg)}", "has a { in the word {dose that is never closed"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }

    #[test]
    fn values_take_the_places_of_names() {
        assert_eq!(
            with("p --a={a} {b}{b} '{a} {b}'", &["a", "b"], &[0.1, -2.0]).unwrap(),
            ["p", "--a=0.1", "-2-2", "0.1 -2"]
        );
        assert_eq!(with("p {{{a}}} {{}}", &["a"], &[1.5]).unwrap(), ["p", "{1.5}", "{}"]);
        assert_eq!(with("p '{dose (mg)}'", &["dose (mg)"], &[3.0]).unwrap(), ["p", "3"]);
        let words = parse("p {x[2]},{x[0]} {x[1]} {x}").unwrap();
        let words = resolve(&words, None, 3).unwrap();
        assert_eq!(filled(&words, &[1.0, 2.0, 3.0]), ["p", "3,1", "2", "1", "2", "3"]);
    }

    #[test]
    fn every_name_is_known_and_every_variable_used() {
        let message = with("p {a} {c}", &["a", "b"], &[0.0; 2]).unwrap_err();
        assert!(message.contains("has {c}, and there are {a}, {b}; write {{ and }}"), "{message}");
        let message = with("p {a}", &["a", "b"], &[0.0; 2]).unwrap_err();
        assert!(message.contains("does not have {b}"), "{message}");
        let of_x = |text: &str| resolve(&parse(text).unwrap(), None, 3).unwrap_err();
        assert!(of_x("p {x[3]}").contains("there are {x[0]} to {x[2]}"));
        assert!(of_x("p {x[0]} {x[2]}").contains("does not have {x[1]}"));
        assert!(of_x("p -{x}").contains("has {x}, and there are"));
    }

    #[test]
    fn words_are_shown_as_they_may_be_typed() {
        let words = names(&["./a.out", "--x=1e-7", "it's", "", "a b"]);
        assert_eq!(shown(&words), r"./a.out --x=1e-7 'it'\''s' '' 'a b'");
        assert_eq!(split(&shown(&words)).unwrap(), words);
    }
}
