//! From the words of a command line to values.

use std::str::FromStr;

use anyhow::bail;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use flockwork::swarm::{Options, Rule, Variable};

/// One of the library's choices, by its name.
pub fn choice<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.iter().map(|&one| name(one))).map(move |given| {
        let named = all.iter().copied().find(|&one| name(one) == given);
        named.expect("the parser lets only names pass")
    })
}

/// A limit, or that there is none.
#[derive(Clone, Copy, Debug)]
pub enum Limit<T> {
    None,
    At(T),
}

impl<T> Limit<T> {
    pub fn value(self) -> Option<T> {
        match self {
            Self::None => None,
            Self::At(value) => Some(value),
        }
    }
}

pub fn limit<T: FromStr>(text: &str) -> Result<Limit<T>, String> {
    if text == "none" {
        return Ok(Limit::None);
    }
    let whole = "1.5".parse::<T>().is_err();
    let expected = if whole { "a whole number from 0 on" } else { "a number" };
    let wrong = |_| format!("expected {expected} (not too large), or `none`");
    text.parse().map(Limit::At).map_err(wrong)
}

/// Units of memory.
const UNITS: [(&str, u64); 9] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("", 1),
];

/// A size of memory, as `2GiB` or `1500000`.
pub fn bytes(text: &str) -> Result<u64, String> {
    let end = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).len();
    let (number, unit) = (text[..end].trim_end(), &text[end..]);
    let unit = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|unit| unit.1);
    let wrong = "expected a size of memory above zero, as 2GiB, 500MB or 1500000 (bytes)";
    let (Some(unit), Ok(number)) = (unit, number.parse::<f64>()) else {
        return Err(wrong.to_owned());
    };
    let bytes = number * unit as f64;
    // What is too great for the type is as good as no limit.
    if bytes >= 1.0 { Ok(bytes as u64) } else { Err(wrong.to_owned()) }
}

/// A greatest speed; `none` is infinite.
pub fn speed(text: &str) -> Result<f64, String> {
    let value = limit::<f64>(text)?.value();
    Ok(value.unwrap_or(f64::INFINITY))
}

/// As `-5,5`.
pub fn bounds(text: &str) -> Result<(f64, f64), String> {
    let parse =
        |part: &str| part.trim().parse::<f64>().map_err(|_| format!("{part:?} is not a number"));
    let (lower, upper) = text.split_once(',').ok_or("expected two numbers and a comma, as -5,5")?;
    Ok((parse(lower)?, parse(upper)?))
}

/// Some dimensions: ranges, first and last.
#[derive(Clone, Debug)]
pub struct Dimensions(Vec<(u32, u32)>);

/// As `0,2-5`, or `all`.
pub fn dimensions(text: &str) -> Result<Dimensions, String> {
    if text == "all" {
        return Ok(Dimensions(vec![(0, u32::MAX)]));
    }
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let range = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (range.0 <= range.1).then_some(range)
    };
    let wrong = |part: &str| {
        format!("{part:?} names no dimensions; expected numbers and ranges, as 0,2-5, or `all`")
    };
    let ranges = text.split(',').map(|part| range(part).ok_or_else(|| wrong(part)));
    Ok(Dimensions(ranges.collect::<Result<_, _>>()?))
}

impl Dimensions {
    /// Makes the variables of these dimensions such ones.
    pub fn mark(&self, variables: &mut [Variable], as_one: Variable) -> anyhow::Result<()> {
        let option = if as_one == Variable::Integer { "--integer" } else { "--periodic" };
        let last_there_is = variables.len().saturating_sub(1);
        for &(first, last) in &self.0 {
            let last = if last == u32::MAX { last_there_is } else { last as usize };
            if last > last_there_is {
                bail!("{option} names dimension {last}; the dimensions are 0 to {last_there_is}");
            }
            for (d, variable) in variables.iter_mut().enumerate().take(last + 1) {
                if d < first as usize {
                    continue;
                }
                if *variable != Variable::Continuous && *variable != as_one {
                    bail!("dimension {d} cannot be both --integer and --periodic");
                }
                *variable = as_one;
            }
        }
        Ok(())
    }
}

/// An option's help with its default, which depends on the rule.
pub fn by_rule(text: &str, shown: impl Fn(&Options) -> String) -> String {
    let usual = shown(&Options::for_rule(Rule::Inertia));
    let mut defaults = usual.clone();
    for &rule in Rule::ALL {
        let own = shown(&Options::for_rule(rule));
        if own != usual {
            defaults += &format!("; {rule}: {own}");
        }
    }
    format!("{text} [default: {defaults}]")
}
