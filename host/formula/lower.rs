//! A formula's expressions as values, once it is known what its names mean and how many variables
//! there are. Ranges are written out, whole numbers calculated exactly.

use flockwork_device::{formula::Unary, math::Scalar, objective::sum::run_length};

use super::{
    layout::{Layout, RowLayout, Sum},
    machine::Binary,
    mistake::Mistake,
    program::{Graph, Place, Program},
    slopes::MOST_VALUES,
    syntax::{CONSTANTS, Function, Id, Join, Node, Operator, Syntax},
};

/// The most operations that a formula may take, its ranges written out.
const MOST_OPERATIONS: usize = 1 << 20;
/// The most expressions that are looked at for that, many times those that are left of them.
const MOST_STEPS: usize = 1 << 24;
/// Whole exponents up to this are products.
const MOST_PRODUCTS: i64 = 64;
/// How deep a product is searched for pi.
const PI_LEVELS: u32 = 32;

/// What names mean.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'a> {
    pub variables: Variables<'a>,
    /// The data's columns, whose numbers stand behind the variables.
    pub columns: &'a [String],
}

/// The variables of a formula.
#[derive(Clone, Copy, Debug)]
pub(super) enum Variables<'a> {
    Named(&'a [String]),
    /// So many elements of `x`.
    Elements(u32),
}

impl Names<'_> {
    fn variables(&self) -> u32 {
        match self.variables {
            Variables::Named(names) => names.len() as u32,
            Variables::Elements(count) => count,
        }
    }

    /// The input of that name.
    fn input(&self, name: &str) -> Option<u32> {
        let at = |names: &[String]| names.iter().position(|own| own == name).map(|at| at as u32);
        let variable = match self.variables {
            Variables::Named(names) => at(names),
            Variables::Elements(_) => None,
        };
        variable.or_else(|| at(self.columns).map(|at| self.variables() + at))
    }

    /// All that may be named.
    fn known(&self) -> String {
        let mut known: Vec<String> = match self.variables {
            Variables::Named(names) => names.to_vec(),
            Variables::Elements(0) => vec!["n".to_owned()],
            Variables::Elements(count) => vec![format!("x[0] to x[{}]", count - 1), "n".to_owned()],
        };
        known.extend(self.columns.iter().cloned());
        known.extend(CONSTANTS.iter().map(|(name, _)| (*name).to_owned()));
        known.join(", ")
    }
}

/// The formula as instructions.
pub(super) fn program<S: Scalar>(syntax: &Syntax, names: Names<'_>) -> Result<Program<S>, Mistake> {
    let mut lower = Lower::new(syntax, names, Graph::new());
    let place = lower.whole_formula()?;
    let variables = names.variables();
    Ok(lower.graph.program(place, variables, variables + names.columns.len() as u32))
}

/// The formula for a GPU; there are no columns.
#[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "for GPUs"))]
pub(super) fn layout<S: Scalar>(syntax: &Syntax, names: Names<'_>) -> Result<Layout<S>, Mistake> {
    let mut lower = Lower::new(syntax, names, Graph::new());
    let place = lower.whole_formula()?;
    Ok(lower.graph.layout(place, names.variables(), &lower.sums))
}

/// The formula with its derivatives by the variables, as instructions.
pub(super) fn program_with_slopes<S: Scalar>(
    syntax: &Syntax,
    names: Names<'_>,
) -> Result<Program<S>, Mistake> {
    let mut lower = Lower::new(syntax, names, Graph::new());
    let place = lower.whole_formula()?;
    let variables = names.variables();
    let slopes = lower.slopes(place)?;
    let inputs = variables + names.columns.len() as u32;
    Ok(lower.graph.program_with(place, &slopes, variables, inputs))
}

/// The formula for a GPU, as a model.
#[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "for GPUs"))]
pub(super) fn row_layout<S: Scalar>(
    syntax: &Syntax,
    names: Names<'_>,
) -> Result<RowLayout<S>, Mistake> {
    let mut lower = Lower::new(syntax, names, Graph::new());
    let place = lower.whole_formula()?;
    Ok(lower.graph.row_layout(&[place], names.variables(), names.columns.len() as u32))
}

/// The same with the derivatives by the parameters.
#[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "for GPUs"))]
pub(super) fn row_layout_with_slopes<S: Scalar>(
    syntax: &Syntax,
    names: Names<'_>,
) -> Result<RowLayout<S>, Mistake> {
    let mut lower = Lower::new(syntax, names, Graph::new());
    let place = lower.whole_formula()?;
    let mut results = vec![place];
    results.extend(lower.slopes(place)?);
    Ok(lower.graph.row_layout(&results, names.variables(), names.columns.len() as u32))
}

/// What an expression is.
#[derive(Clone, Copy, Debug)]
enum Value {
    /// A known whole number.
    Whole(i64),
    Number(Place),
    /// 1 where it is true, 0 elsewhere.
    Truth(Place),
}

pub(super) struct Lower<'a, S> {
    syntax: &'a Syntax,
    names: Names<'a>,
    graph: Graph<S>,
    /// What runs over ranges here, and where it is.
    indices: Vec<(&'a str, i64)>,
    /// The sums over ranges that are in no other range.
    sums: Vec<Sum>,
    steps: usize,
}

impl<'a, S: Scalar> Lower<'a, S> {
    /// Adds values of a formula to a graph.
    pub fn new(syntax: &'a Syntax, names: Names<'a>, graph: Graph<S>) -> Self {
        Self { syntax, names, graph, indices: Vec::new(), sums: Vec::new(), steps: 0 }
    }

    pub fn into_graph(self) -> Graph<S> {
        self.graph
    }

    /// The formula's value.
    pub fn whole_formula(&mut self) -> Result<Place, Mistake> {
        self.number_of(self.syntax.root())
    }

    /// The derivatives of its value by the variables.
    fn slopes(&mut self, value: Place) -> Result<Vec<Place>, Mistake> {
        match self.graph.slopes(value, self.names.variables()) {
            Some(slopes) => Ok(slopes),
            None => self.mistake(
                self.syntax.root(),
                format!("the formula and its derivatives take over {MOST_VALUES} operations"),
            ),
        }
    }

    /// The value of one of its expressions.
    pub fn number_of(&mut self, id: Id) -> Result<Place, Mistake> {
        let value = self.value(id)?;
        Ok(self.number(value))
    }

    fn mistake<T>(&self, id: Id, why: impl Into<String>) -> Result<T, Mistake> {
        let mut why = why.into();
        if !self.indices.is_empty() {
            let at: Vec<_> =
                self.indices.iter().map(|(name, at)| format!("{name} = {at}")).collect();
            why = format!("{why} (here {})", at.join(", "));
        }
        Err(Mistake::new(self.syntax.span(id), why))
    }

    fn number(&mut self, value: Value) -> Place {
        match value {
            Value::Whole(whole) => self.graph.constant(S::nearest(whole as f64)),
            Value::Number(place) | Value::Truth(place) => place,
        }
    }

    fn two(&mut self, binary: Binary, a: Value, b: Value) -> Value {
        let (a, b) = (self.number(a), self.number(b));
        Value::Number(self.graph.two(binary, a, b))
    }

    fn truth(&mut self, id: Id) -> Result<Place, Mistake> {
        match self.value(id)? {
            Value::Truth(place) => Ok(place),
            Value::Whole(_) | Value::Number(_) => {
                self.mistake(id, "expected a condition, such as a < b")
            }
        }
    }

    /// The known whole number that an expression is.
    fn whole(&mut self, id: Id, what: &str) -> Result<i64, Mistake> {
        match self.value(id)? {
            Value::Whole(whole) => Ok(whole),
            Value::Number(_) | Value::Truth(_) => self.mistake(
                id,
                format!("{what} must be a whole number, made of whole numbers, indices and n with + - * // %"),
            ),
        }
    }

    fn value(&mut self, id: Id) -> Result<Value, Mistake> {
        self.steps += 1;
        if self.steps > MOST_STEPS || self.graph.len() > MOST_OPERATIONS {
            let why = format!(
                "the formula takes over {MOST_OPERATIONS} operations, its ranges written out"
            );
            self.indices.clear();
            return self.mistake(id, why);
        }
        match self.syntax.node(id) {
            &Node::Number(_, Some(whole)) => Ok(Value::Whole(whole)),
            &Node::Number(number, None) => {
                Ok(Value::Number(self.graph.constant(S::nearest(number))))
            }
            Node::Name(name) => self.name(id, name),
            &Node::Element(index) => self.element(id, index),
            &Node::Negative(inner) => Ok(match self.value(inner)? {
                Value::Whole(whole) if whole != 0 && whole != i64::MIN => Value::Whole(-whole),
                value => {
                    let place = self.number(value);
                    Value::Number(self.graph.negative(place))
                }
            }),
            &Node::Not(inner) => {
                let truth = self.truth(inner)?;
                Ok(Value::Truth(self.not(truth)))
            }
            Node::Binary(..) => self.operators(id),
            Node::Call(function, arguments) => self.call(*function, arguments),
            &Node::Choice([condition, yes, no]) => {
                let truth = self.truth(condition)?;
                // What is not chosen need not make sense: there is no x[-1] where i is 0.
                if let Some(truth) = self.graph.constant_at(truth) {
                    return self.value(if S::ZERO < truth { yes } else { no });
                }
                let (yes, no) = (self.value(yes)?, self.value(no)?);
                let both = matches!((yes, no), (Value::Truth(_), Value::Truth(_)));
                let (yes, no) = (self.number(yes), self.number(no));
                let chosen = self.graph.choose(truth, yes, no);
                Ok(if both { Value::Truth(chosen) } else { Value::Number(chosen) })
            }
            Node::Over { .. } => self.over(id),
        }
    }

    fn name(&mut self, id: Id, name: &str) -> Result<Value, Mistake> {
        if let Some(&(_, at)) = self.indices.iter().rev().find(|(index, _)| *index == name) {
            return Ok(Value::Whole(at));
        }
        if let Some(input) = self.names.input(name) {
            return Ok(Value::Number(self.graph.input(input)));
        }
        if let (Variables::Elements(count), "n") = (self.names.variables, name) {
            return Ok(Value::Whole(i64::from(count)));
        }
        if let Some((_, value)) = CONSTANTS.iter().find(|(constant, _)| *constant == name) {
            return Ok(Value::Number(self.graph.constant(S::nearest(*value))));
        }
        let known = self.names.known();
        let hint = match (self.names.variables, name) {
            (Variables::Elements(_), "x") => "; an element of x is x[0]",
            _ => "",
        };
        self.indices.clear();
        self.mistake(id, format!("{name} has no meaning here{hint}; there are {known}"))
    }

    fn element(&mut self, id: Id, index: Id) -> Result<Value, Mistake> {
        let at = self.whole(index, "an index")?;
        let Variables::Elements(count) = self.names.variables else {
            let known = self.names.known();
            self.indices.clear();
            return self.mistake(id, format!("x has no elements here; there are {known}"));
        };
        match u32::try_from(at).ok().filter(|&at| at < count) {
            Some(at) => Ok(Value::Number(self.graph.input(at))),
            None => {
                let last = match count {
                    0 => String::new(),
                    _ => format!(", so the last is x[{}]", count - 1),
                };
                self.mistake(id, format!("there is no x[{at}]: n is {count}{last}"))
            }
        }
    }

    fn not(&mut self, truth: Place) -> Place {
        let one = self.graph.constant(S::of(1.0));
        self.graph.two(Binary::Subtract, one, truth)
    }

    /// Operators from left to right: a + b + c + ... may be long, so this is no recursion.
    fn operators(&mut self, id: Id) -> Result<Value, Mistake> {
        let mut rest = Vec::new();
        let mut first = id;
        while let &Node::Binary(operator, left, right) = self.syntax.node(first) {
            rest.push((first, operator, left, right));
            first = left;
        }
        let mut value = self.value(first)?;
        while let Some((id, operator, left, right)) = rest.pop() {
            self.steps += 1;
            value = match operator {
                Operator::And | Operator::Or => self.either(operator, (left, value), right)?,
                Operator::Power => self.power(value, right)?,
                _ => {
                    let right = self.value(right)?;
                    self.operated(id, operator, value, right)?
                }
            };
        }
        Ok(value)
    }

    fn either(
        &mut self,
        operator: Operator,
        (left, value): (Id, Value),
        right: Id,
    ) -> Result<Value, Mistake> {
        let Value::Truth(left) = value else {
            return self.mistake(left, "expected a condition, such as a < b");
        };
        let is_and = operator == Operator::And;
        // As with `if`, the second need not make sense where the first decides.
        if let Some(known) = self.graph.constant_at(left)
            && (S::ZERO < known) != is_and
        {
            return Ok(Value::Truth(left));
        }
        let right = self.truth(right)?;
        let binary = if is_and { Binary::Multiply } else { Binary::Greatest };
        Ok(Value::Truth(self.graph.two(binary, left, right)))
    }

    /// An operator on two values, of those that need to know both.
    fn operated(
        &mut self,
        id: Id,
        operator: Operator,
        a: Value,
        b: Value,
    ) -> Result<Value, Mistake> {
        let divides =
            matches!(operator, Operator::Divide | Operator::DivideWhole | Operator::Modulo);
        if divides && matches!(b, Value::Whole(0)) {
            return self.mistake(id, "this divides by zero");
        }
        if let (Value::Whole(a), Value::Whole(b)) = (a, b) {
            let exact = match operator {
                Operator::Add => a.checked_add(b),
                Operator::Subtract => a.checked_sub(b),
                Operator::Multiply => a.checked_mul(b),
                Operator::DivideWhole => a.checked_div_euclid(b).map(|_| floored(a, b)),
                Operator::Modulo => a.checked_rem(b).map(|_| a - b * floored(a, b)),
                _ => None,
            };
            if let Some(exact) = exact {
                return Ok(Value::Whole(exact));
            }
            let truth = match operator {
                Operator::Less => Some(a < b),
                Operator::LessOrEqual => Some(a <= b),
                Operator::Greater => Some(a > b),
                Operator::GreaterOrEqual => Some(a >= b),
                Operator::Equal => Some(a == b),
                Operator::NotEqual => Some(a != b),
                _ => None,
            };
            if let Some(truth) = truth {
                let place = self.graph.constant(S::of(f64::from(u8::from(truth))));
                return Ok(Value::Truth(place));
            }
        }
        let (a, b) = (self.number(a), self.number(b));
        let graph = &mut self.graph;
        let number = match operator {
            Operator::Add => graph.two(Binary::Add, a, b),
            Operator::Subtract => graph.two(Binary::Subtract, a, b),
            Operator::Multiply => graph.two(Binary::Multiply, a, b),
            Operator::Divide => graph.two(Binary::Divide, a, b),
            Operator::DivideWhole | Operator::Modulo => {
                let quotient = graph.two(Binary::Divide, a, b);
                let floor = graph.one(Unary::Floor, quotient);
                if operator == Operator::DivideWhole { floor } else { graph.remainder(a, b, floor) }
            }
            Operator::Less => return Ok(Value::Truth(graph.two(Binary::Less, a, b))),
            Operator::Greater => return Ok(Value::Truth(graph.two(Binary::Less, b, a))),
            Operator::LessOrEqual => return Ok(Value::Truth(graph.two(Binary::LessOrEqual, a, b))),
            Operator::GreaterOrEqual => {
                return Ok(Value::Truth(graph.two(Binary::LessOrEqual, b, a)));
            }
            Operator::Equal => return Ok(Value::Truth(graph.two(Binary::Equal, a, b))),
            Operator::NotEqual => {
                let equal = graph.two(Binary::Equal, a, b);
                return Ok(Value::Truth(self.not(equal)));
            }
            Operator::And | Operator::Or | Operator::Power => unreachable!("not among these"),
        };
        Ok(Value::Number(number))
    }

    fn power(&mut self, base: Value, exponent: Id) -> Result<Value, Mistake> {
        let is_half = matches!(self.syntax.node(exponent), Node::Number(0.5, _));
        let exponent = self.value(exponent)?;
        if is_half {
            let base = self.number(base);
            return Ok(Value::Number(self.graph.one(Unary::Sqrt, base)));
        }
        if let (Value::Whole(base), Value::Whole(exponent)) = (base, exponent)
            && let Some(exact) =
                u32::try_from(exponent).ok().and_then(|exponent| base.checked_pow(exponent))
        {
            return Ok(Value::Whole(exact));
        }
        let base = self.number(base);
        let Value::Whole(exponent) = exponent else {
            let exponent = self.number(exponent);
            return Ok(Value::Number(self.graph.two(Binary::Power, base, exponent)));
        };
        if exponent.abs() > MOST_PRODUCTS {
            let exponent = self.graph.constant(S::nearest(exponent as f64));
            return Ok(Value::Number(self.graph.two(Binary::Power, base, exponent)));
        }
        let one = self.graph.constant(S::of(1.0));
        // As `Real::powi` does it.
        let (mut result, mut square, mut digits) = (one, base, exponent.unsigned_abs());
        while digits != 0 {
            if digits & 1 == 1 {
                result = self.graph.two(Binary::Multiply, result, square);
            }
            digits >>= 1;
            if digits != 0 {
                square = self.graph.two(Binary::Multiply, square, square);
            }
        }
        if exponent < 0 {
            result = self.graph.two(Binary::Divide, one, result);
        }
        Ok(Value::Number(result))
    }

    fn call(&mut self, function: Function, arguments: &[Id]) -> Result<Value, Mistake> {
        if let (Function::One(Unary::Sin | Unary::Cos), &[argument]) = (function, arguments)
            && self.has_pi(argument, PI_LEVELS)
        {
            // More accurate, and cheaper.
            let turned =
                if function == Function::One(Unary::Sin) { Unary::SinPi } else { Unary::CosPi };
            let argument = self.without_pi(argument)?;
            let argument = self.number(argument);
            return Ok(Value::Number(self.graph.one(turned, argument)));
        }
        if let (Function::Power, &[base, exponent]) = (function, arguments) {
            let base = self.value(base)?;
            return self.power(base, exponent);
        }
        let mut values = Vec::with_capacity(arguments.len());
        for &argument in arguments {
            values.push(self.value(argument)?);
        }
        Ok(match function {
            Function::One(function) => match (function, values[0]) {
                (Unary::Floor | Unary::Ceil | Unary::Round, whole @ Value::Whole(_)) => whole,
                (Unary::Abs, Value::Whole(whole)) if whole != i64::MIN => Value::Whole(whole.abs()),
                (Unary::Sign, Value::Whole(whole)) => Value::Whole(whole.signum()),
                (_, value) => {
                    let place = self.number(value);
                    Value::Number(self.graph.one(function, place))
                }
            },
            Function::Atan2 => self.two(Binary::Atan2, values[0], values[1]),
            Function::Least => self.joined(Join::Least, &values),
            Function::Greatest => self.joined(Join::Greatest, &values),
            Function::Power => unreachable!("done above"),
        })
    }

    /// Whether pi is a factor of an expression.
    fn has_pi(&self, id: Id, levels: u32) -> bool {
        if levels == 0 {
            return false;
        }
        match self.syntax.node(id) {
            Node::Name(name) => {
                let is_index = self.indices.iter().any(|(index, _)| index == name);
                name == "pi" && !is_index && self.names.input(name).is_none()
            }
            &Node::Negative(inner) => self.has_pi(inner, levels - 1),
            &Node::Binary(Operator::Multiply, left, right) => {
                self.has_pi(left, levels - 1) || self.has_pi(right, levels - 1)
            }
            &Node::Binary(Operator::Divide, left, _) => self.has_pi(left, levels - 1),
            _ => false,
        }
    }

    /// What is left without it.
    fn without_pi(&mut self, id: Id) -> Result<Value, Mistake> {
        match *self.syntax.node(id) {
            Node::Negative(inner) => {
                let value = self.without_pi(inner)?;
                let place = self.number(value);
                Ok(Value::Number(self.graph.negative(place)))
            }
            Node::Binary(Operator::Multiply, left, right) => {
                let on_left = self.has_pi(left, PI_LEVELS);
                let a = if on_left { self.without_pi(left)? } else { self.value(left)? };
                let b = if on_left { self.value(right)? } else { self.without_pi(right)? };
                self.operated(id, Operator::Multiply, a, b)
            }
            Node::Binary(Operator::Divide, left, right) => {
                let (a, b) = (self.without_pi(left)?, self.value(right)?);
                self.operated(id, Operator::Divide, a, b)
            }
            _ => Ok(Value::Whole(1)),
        }
    }

    fn over(&mut self, id: Id) -> Result<Value, Mistake> {
        let syntax = self.syntax;
        let Node::Over { join, index, from, to, includes_last, body } = syntax.node(id) else {
            unreachable!("asked for this only")
        };
        let begin = self.whole(*from, "the beginning of a range")?;
        let mut end = self.whole(*to, "the end of a range")?;
        if *includes_last {
            end = end.saturating_add(1);
        }
        let count = usize::try_from(end.saturating_sub(begin)).unwrap_or(0);
        if count > MOST_OPERATIONS {
            return self.mistake(
                *to,
                format!("a range has at most {MOST_OPERATIONS} numbers, not {count}"),
            );
        }
        if count == 0 && matches!(join, Join::Least | Join::Greatest) {
            if self.indices.is_empty() {
                return self.mistake(
                    id,
                    format!(
                        "the range from {begin} to {end} is empty: there is nothing to choose from"
                    ),
                );
            }
            // Of a range inside another one, such as 0..i where i is 0: nothing is as good as any.
            let nothing = if *join == Join::Least { f64::INFINITY } else { f64::NEG_INFINITY };
            return Ok(Value::Number(self.graph.constant(S::nearest(nothing))));
        }
        let mut values = Vec::with_capacity(count);
        for at in begin..begin.max(end) {
            self.indices.push((index, at));
            let value = self.value(*body);
            self.indices.pop();
            values.push(value?);
        }
        let value = self.joined(*join, &values);
        if *join == Join::Sum && self.indices.is_empty() && count > 0 {
            let terms = values.iter().map(|&value| self.number(value)).collect();
            let value = self.number(value);
            self.sums.push(Sum { value, terms });
        }
        Ok(value)
    }

    /// Values put together in the order that objectives' terms are.
    fn joined(&mut self, join: Join, values: &[Value]) -> Value {
        let wholes: Option<Vec<i64>> = values
            .iter()
            .map(|value| match value {
                Value::Whole(whole) => Some(*whole),
                Value::Number(_) | Value::Truth(_) => None,
            })
            .collect();
        if let Some(mut wholes) = wholes.map(Vec::into_iter) {
            let exact = match join {
                Join::Sum => wholes.try_fold(0_i64, i64::checked_add),
                Join::Product => wholes.try_fold(1_i64, i64::checked_mul),
                Join::Least => wholes.min(),
                Join::Greatest => wholes.max(),
            };
            if let Some(exact) = exact {
                return Value::Whole(exact);
            }
        }
        let binary = match join {
            Join::Sum => Binary::Add,
            Join::Product => Binary::Multiply,
            Join::Least => Binary::Least,
            Join::Greatest => Binary::Greatest,
        };
        let places: Vec<Place> = values.iter().map(|&value| self.number(value)).collect();
        let length = run_length(places.len() as u32) as usize;
        let mut runs: Vec<Place> = places
            .chunks(length)
            .map(|run| {
                let (first, rest) = run.split_first().expect("not empty");
                rest.iter().fold(*first, |all, &next| self.graph.two(binary, all, next))
            })
            .collect();
        while runs.len() > 1 {
            runs = runs
                .chunks(2)
                .map(|pair| match *pair {
                    [a, b] => self.graph.two(binary, a, b),
                    ref last => last[0],
                })
                .collect();
        }
        Value::Number(runs[0])
    }
}

/// The quotient's floor; neither zero nor overflowing.
fn floored(a: i64, b: i64) -> i64 {
    let quotient = a / b;
    quotient - i64::from(a % b != 0 && (a < 0) != (b < 0))
}
