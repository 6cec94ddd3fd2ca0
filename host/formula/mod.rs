//! Formulas: functions and models that are typed in, without a compiler.
//!
//! ```
//! use flockwork::{formula::Formula, swarm::{Problem, Search}};
//!
//! let formula = Formula::parse("(a - 1)^2 + 100*(b - a^2)^2")?;
//! let problem = Problem::from_formula(&formula, &[("a", -2.0, 2.0), ("b", -2.0, 2.0)])?;
//! let outcome = Search::new(problem).run()?;
//! assert!((outcome.position[0] - 1.0).abs() < 1e-6 && outcome.value < 1e-12);
//! # Ok::<(), flockwork::Error>(())
//! ```
//!
//! # The language
//!
//! | | |
//! |---|---|
//! | numbers | `1`, `.5`, `1e-3`, `1_000`; `pi`, `e` |
//! | variables | any names, in backticks where they are none: `` `dose (mg)` ``; or `x[0]`, `x[1]` and so on, with their number `n` |
//! | from weak to strong | `or`, `and`, `not` (also <code>\|\|</code>, `&&`, `!`); `<` `<=` `>` `>=` `==` `!=`; `+` `-`; `*` `/` `//` `%`; `-x`; `^` (also `**`), from right to left |
//! | choices | `if(a < b, a, b)`; a condition that stands for a number is 1 or 0 |
//! | ranges | `sum(i in 0..n: x[i]^2)`, likewise `product`, `min` and `max`; `0..n` is without n, `0..=n` with it; `sum(i in 0..n, j in 0..i: ...)` is a sum of sums |
//! | functions | `sqrt` `abs` `sign` `floor` `ceil` `round` `exp` `expm1` `log` (`ln`) `log1p` `log2` `log10` `sin` `cos` `tan` `asin` `acos` `atan` `atan2` `sinh` `cosh` `tanh` `erf` `gamma` `sinpi` `cospi` `pow` `min` `max` |
//!
//! Precedence is that of Python: `-x^2` is -(x^2), `a < b < c` is `a < b and b < c`, `//` and `%` round
//! down. An index is a whole number, made of whole numbers, other indices and `n` with `+ - * // % ^`.
//!
//! # What is calculated
//!
//! Each operation is rounded on its own, in the run's precision, in the order in which it is written; a
//! sum over a range is put together in the [order of objectives' sums](crate::objective::sum). A power
//! with a whole exponent up to 64 is a product ([`Real::powi`](crate::math::Real::powi)), one with the
//! exponent 0.5 a square root; `sin` and `cos` of a product with `pi` are exact in it
//! ([`Real::sin_cos_pi`](crate::math::Real::sin_cos_pi)). The functions are those of [`crate::math`],
//! where their errors are stated. So the bits are the same on every machine.
//!
//! Ranges are written out, what is the same in several places is calculated once, and what is constant
//! before the run. What is NaN or infinite is infinitely bad: so is what is not defined, such as
//! `sqrt(-1)` and `log(0)`. A comparison with NaN is false, but for `!=`.

mod constraint;
mod dual;
mod function;
#[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "for GPUs"))]
mod layout;
mod lexer;
mod lower;
mod machine;
mod mistake;
mod parser;
mod program;
#[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "for GPUs"))]
mod ptx;
#[cfg(test)]
mod ptx_tests;
mod slopes;
#[cfg(test)]
mod slopes_tests;
mod syntax;
#[cfg(test)]
mod tests;

use std::{fmt, str::FromStr, sync::Arc};

use flockwork_device::math::Scalar;

use crate::{Error, Result};
pub use constraint::Relation;
pub(crate) use constraint::{Comparison, Scope};

pub(crate) use dual::{DIRECTIONS, Dual};
pub(crate) use function::{LANES, NAME, PARTS, Row, Runs, Violations, Written, derived, told};
pub(crate) use layout::{Layout, RowLayout};
use lower::{Names, Variables};
pub(crate) use machine::{run, run_tiles};
use mistake::Mistake;
pub(crate) use program::Program;
#[cfg(any(feature = "cuda", test))]
pub(crate) use ptx::Filling;
use syntax::{CONSTANTS, Node, Syntax};

/// A formula: see the [module's description](self) for what may stand in it.
///
/// ```
/// use flockwork::formula::Formula;
///
/// let formula: Formula = "amp * exp(-rate * t) + base".parse()?;
/// assert_eq!(formula.names(), ["amp", "rate", "t", "base"]);
/// let message = Formula::parse("2*(a + b").unwrap_err().to_string();
/// assert!(message.ends_with("expected \")\", found the end\n  2*(a + b\n          ^"), "{message}");
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone)]
pub struct Formula {
    text: Arc<str>,
    syntax: Arc<Syntax>,
    names: Arc<[String]>,
    has_elements: bool,
}

impl Formula {
    /// Reads a formula.
    ///
    /// ```
    /// use flockwork::formula::Formula;
    ///
    /// assert!(Formula::parse("sum(i in 0..n-1: (1 - x[i])^2 + 100*(x[i+1] - x[i]^2)^2)").is_ok());
    /// assert!(Formula::parse("1 +* 2").is_err());
    /// ```
    ///
    /// # Errors
    /// [`Error::Formula`] if the text is none, with the place and what was expected there.
    pub fn parse(text: &str) -> Result<Self> {
        let (syntax, names) = parser::parse(text).map_err(|mistake| mistake.in_text(text))?;
        let has_elements = syntax.any(|node| matches!(node, Node::Element(_)));
        Ok(Self { text: text.into(), syntax: Arc::new(syntax), names: names.into(), has_elements })
    }

    /// The text.
    ///
    /// ```
    /// use flockwork::formula::Formula;
    ///
    /// assert_eq!(Formula::parse("a +  b")?.text(), "a +  b");
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names that stand for something else than a constant, a function or an index of a range, in
    /// the order in which they appear; `n` is among them only if there are no `x[0]`, `x[1]` and so on,
    /// whose number it would be.
    ///
    /// ```
    /// use flockwork::formula::Formula;
    ///
    /// assert_eq!(Formula::parse("2*pi*r + sum(i in 0..3: r*i)/h")?.names(), ["r", "h"]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn names(&self) -> Vec<&str> {
        let own = |name: &&str| {
            CONSTANTS.iter().all(|(constant, _)| constant != name)
                && !(self.has_elements && *name == "n")
        };
        self.names.iter().map(String::as_str).filter(own).collect()
    }

    /// All names that stand in it, be they those of constants, but for functions and indices of ranges.
    /// A variable or a column may have the name of a constant, which it then is not.
    ///
    /// ```
    /// use flockwork::formula::Formula;
    ///
    /// let formula = Formula::parse("a*e^2")?;
    /// assert_eq!((formula.names(), formula.mentioned()), (vec!["a"], vec!["a", "e"]));
    /// assert_eq!(formula.at(&[("a", 2.0), ("e", 3.0)])?, 18.0);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn mentioned(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    /// Whether it has `x[0]`, `x[1]` and so on.
    ///
    /// ```
    /// use flockwork::formula::Formula;
    ///
    /// assert!(Formula::parse("x[0] + x[1]")?.has_elements());
    /// assert!(!Formula::parse("x + y")?.has_elements());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn has_elements(&self) -> bool {
        self.has_elements
    }

    /// The value in `f64` where the names have these values.
    ///
    /// ```
    /// use flockwork::formula::Formula;
    ///
    /// assert_eq!(Formula::parse("a^b - 1")?.at(&[("a", 3.0), ("b", 2.0)])?, 8.0);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Formula`] if a name has no value, or the formula makes no sense with these.
    pub fn at(&self, values: &[(&str, f64)]) -> Result<f64> {
        let names: Vec<String> = values.iter().map(|(name, _)| (*name).to_owned()).collect();
        let values: Vec<f64> = values.iter().map(|&(_, value)| value).collect();
        Ok(self.program::<f64>(Some(&names), 0, &[])?.at(&values))
    }

    /// The value in `f64` at the point `x`.
    ///
    /// ```
    /// use flockwork::formula::Formula;
    ///
    /// assert_eq!(Formula::parse("sum(i in 0..n: x[i]^2)")?.at_point(&[1.0, 2.0, 3.0])?, 14.0);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Formula`] if there are other names, or the formula makes no sense in so many
    /// dimensions.
    pub fn at_point(&self, x: &[f64]) -> Result<f64> {
        Ok(self.program::<f64>(None, x.len(), &[])?.at(x))
    }

    /// What `lower` makes of the formula for variables of these names, or for so many elements of x, and
    /// for columns.
    fn lowered<R>(
        &self,
        names: Option<&[String]>,
        elements: usize,
        columns: &[String],
        lower: impl FnOnce(&Syntax, Names<'_>) -> std::result::Result<R, Mistake>,
    ) -> Result<R> {
        let elements = u32::try_from(elements).unwrap_or(u32::MAX);
        let variables = names.map_or(Variables::Elements(elements), Variables::Named);
        lower(&self.syntax, Names { variables, columns })
            .map_err(|mistake| mistake.in_text(&self.text))
    }

    /// The formula for a GPU, for variables of these names, or for so many elements of x.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "for GPUs"))]
    pub(crate) fn layout<S: Scalar>(
        &self,
        names: Option<&[String]>,
        elements: usize,
    ) -> Result<Layout<S>> {
        self.lowered(names, elements, &[], lower::layout)
    }

    /// The formula for a GPU, as a model of these parameters and columns.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "for GPUs"))]
    pub(crate) fn row_layout<S: Scalar>(
        &self,
        parameters: &[String],
        columns: &[String],
    ) -> Result<RowLayout<S>> {
        self.lowered(Some(parameters), 0, columns, lower::row_layout)
    }

    /// The same with the derivatives by the parameters.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "for GPUs"))]
    pub(crate) fn row_layout_with_slopes<S: Scalar>(
        &self,
        parameters: &[String],
        columns: &[String],
    ) -> Result<RowLayout<S>> {
        self.lowered(Some(parameters), 0, columns, lower::row_layout_with_slopes)
    }

    /// The instructions for these parameters and columns, and for the derivatives by the parameters.
    pub(crate) fn program_with_slopes<S: Scalar>(
        &self,
        parameters: &[String],
        columns: &[String],
    ) -> Result<Program<S>> {
        self.lowered(Some(parameters), 0, columns, lower::program_with_slopes)
    }

    /// The instructions for variables of these names, or for so many elements of x; columns stand
    /// behind them.
    pub(crate) fn program<S: Scalar>(
        &self,
        names: Option<&[String]>,
        elements: usize,
        columns: &[String],
    ) -> Result<Program<S>> {
        self.lowered(names, elements, columns, lower::program)
    }
}

impl Program<f64> {
    /// The value at a point.
    pub(crate) fn at(&self, inputs: &[f64]) -> f64 {
        let mut rows = vec![[0.0]; self.rows];
        self.place_constants(&mut rows);
        for (row, &input) in rows.iter_mut().zip(inputs) {
            *row = [input];
        }
        run(&self.once, &mut rows, 1);
        run(&self.each, &mut rows, 1);
        rows[self.result][0]
    }
}

impl FromStr for Formula {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Formula").field(&self.text).finish()
    }
}

impl PartialEq for Formula {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Formula {}
