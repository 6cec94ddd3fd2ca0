//! Parsing of argument values.

use std::str::FromStr;

use anyhow::bail;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use flockwork::swarm::{Options, Rule, Variable};

/// A parser for a fixed set of values, by their names.
pub fn choice<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.iter().map(|&one| name(one))).map(move |given| {
        let named = all.iter().copied().find(|&one| name(one) == given);
        named.expect("the parser lets only names pass")
    })
}

/// A whole number from 0, such as 1000000, 1_000_000 or 1e6.
pub fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let wrong = || "expected a whole number from 0, such as 1000000, 1_000_000 or 1e6".to_owned();
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            let exponent = exponent.strip_prefix('+').unwrap_or(exponent);
            let digits = !exponent.is_empty() && exponent.bytes().all(|b| b.is_ascii_digit());
            (mantissa, exponent.parse::<usize>().ok().filter(|_| digits).ok_or_else(wrong)?)
        }
        None => (text.strip_prefix('+').unwrap_or(text), 0),
    };
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    // Digits only, with single underscores between groups.
    let digits = |part: &str| {
        let all = part
            .split('_')
            .all(|group| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit()));
        all.then(|| part.replace('_', ""))
    };
    let (Some(before), Some(after)) = (digits(before), digits(after)) else { return Err(wrong()) };
    let after = after.trim_end_matches('0');
    if after.len() > exponent {
        return Err(wrong());
    }
    let significant = format!("{before}{after}");
    let significant = significant.trim_start_matches('0');
    if significant.is_empty() {
        return T::try_from(0).map_err(|_| wrong());
    }
    let most = u64::MAX >> (64 - 8 * size_of::<T>().min(8));
    let too_large = || format!("it is too large: at most {most} can be given");
    let zeros = exponent - after.len();
    if significant.len().saturating_add(zeros) > 20 {
        return Err(too_large());
    }
    let number = format!("{significant}{}", "0".repeat(zeros)).parse::<u64>();
    number.ok().and_then(|number| T::try_from(number).ok()).ok_or_else(too_large)
}

/// A whole number from 1.
pub fn positive<T: TryFrom<u64> + PartialEq + Default>(text: &str) -> Result<T, String> {
    let number = whole::<T>(text)?;
    match number == T::default() {
        true => Err("expected a whole number from 1".to_owned()),
        false => Ok(number),
    }
}

/// The number of threads in a GPU block.
pub fn block_threads(text: &str) -> Result<u32, String> {
    let threads = whole::<u32>(text)?;
    match threads.is_multiple_of(32) && (32..=1024).contains(&threads) {
        true => Ok(threads),
        false => Err("expected a multiple of 32 from 32 to 1024".to_owned()),
    }
}

/// A limit, or `none`.
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
    text.parse().map(Limit::At).map_err(|_| "expected a number, or `none`".to_owned())
}

/// A limit that is a whole number.
pub fn count_limit<T: TryFrom<u64>>(text: &str) -> Result<Limit<T>, String> {
    if text == "none" {
        return Ok(Limit::None);
    }
    let wrong = |_| "expected a whole number from 0 (not too large), or `none`".to_owned();
    whole(text).map(Limit::At).map_err(wrong)
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

/// A size of memory, such as `2GiB` or `1500000`.
pub fn bytes(text: &str) -> Result<u64, String> {
    let end = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).len();
    let (number, unit) = (text[..end].trim_end(), &text[end..]);
    let unit = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|unit| unit.1);
    let wrong = "expected a size of memory above zero, such as 2GiB, 500MB or 1500000 (bytes)";
    let (Some(unit), Ok(number)) = (unit, number.parse::<f64>()) else {
        return Err(wrong.to_owned());
    };
    let bytes = number * unit as f64;
    // The conversion saturates: a size too large for the type is as good as no limit.
    if bytes >= 1.0 { Ok(bytes as u64) } else { Err(wrong.to_owned()) }
}

/// A speed limit; `none` is infinite.
pub fn speed(text: &str) -> Result<f64, String> {
    let value = limit::<f64>(text)?.value();
    Ok(value.unwrap_or(f64::INFINITY))
}

/// Two bounds, such as `-5,5`.
pub fn bounds(text: &str) -> Result<(f64, f64), String> {
    let parse =
        |part: &str| part.trim().parse::<f64>().map_err(|_| format!("{part:?} is not a number"));
    let (lower, upper) =
        text.split_once(',').ok_or("expected two numbers and a comma, such as -5,5")?;
    Ok((parse(lower)?, parse(upper)?))
}

/// A set of dimensions, as ranges from first to last.
#[derive(Clone, Debug)]
pub struct Dimensions(Vec<(u32, Option<u32>)>);

/// A list such as `0,2-5`, or `all`.
pub fn dimensions(text: &str) -> Result<Dimensions, String> {
    if text == "all" {
        return Ok(Dimensions(vec![(0, None)]));
    }
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first <= last).then_some((first, Some(last)))
    };
    let wrong = |part: &str| {
        format!("{part:?} names no dimensions; expected a list such as 0,2-5, or `all`")
    };
    let ranges = text.split(',').map(|part| range(part).ok_or_else(|| wrong(part)));
    Ok(Dimensions(ranges.collect::<Result<_, _>>()?))
}

impl Dimensions {
    /// Gives the variables of these dimensions the kind `as_one`.
    pub fn mark(&self, variables: &mut [Variable], as_one: Variable) -> anyhow::Result<()> {
        let option = if as_one == Variable::Integer { "--integer" } else { "--periodic" };
        let last_there_is = variables.len().saturating_sub(1);
        for &(first, last) in &self.0 {
            let last = last.map_or(last_there_is, |last| last as usize);
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

/// Whole numbers, each once, in the order given.
#[derive(Clone, Debug)]
pub struct Numbers(Vec<u32>);

/// A list such as `1,3,10-14`.
pub fn numbers(text: &str) -> Result<Numbers, String> {
    /// More than anyone means, and few enough to be listed.
    const MOST: usize = 1_000_000;
    let mut list = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let wrong = || format!("{part:?} names no numbers; expected a list such as 1,3,10-14");
        let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>())
        else {
            return Err(wrong());
        };
        if first > last {
            return Err(wrong());
        }
        if (last - first) as usize >= MOST - list.len().min(MOST) {
            return Err(format!("there are too many: at most {MOST} can be given"));
        }
        list.extend(first..=last);
    }
    let mut known = std::collections::HashSet::new();
    list.retain(|number| known.insert(*number));
    Ok(Numbers(list))
}

impl Numbers {
    /// All of them: at least one.
    pub fn list(&self) -> &[u32] {
        &self.0
    }
}

/// The help of an option whose default depends on the rule.
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
