//! What a formula says, before its names mean anything.

use flockwork_device::formula::Unary;

use super::mistake::Span;

/// A place in [`Syntax::nodes`].
pub(super) type Id = usize;

/// A formula's expressions. Children stand before their parents, so that a deep formula needs no
/// recursion to be dropped.
#[derive(Clone, Debug, Default)]
pub(super) struct Syntax {
    nodes: Vec<(Node, Span)>,
}

impl Syntax {
    pub fn add(&mut self, node: Node, span: Span) -> Id {
        self.nodes.push((node, span));
        self.nodes.len() - 1
    }

    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id].0
    }

    pub fn span(&self, id: Id) -> Span {
        self.nodes[id].1
    }

    /// Whether one of them is such.
    pub fn any(&self, is: impl Fn(&Node) -> bool) -> bool {
        self.nodes.iter().any(|(node, _)| is(node))
    }

    /// The whole formula.
    pub fn root(&self) -> Id {
        self.nodes.len() - 1
    }
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// A number, and its value as a whole number if it was written as one.
    Number(f64, Option<i64>),
    Name(String),
    /// `x[index]`.
    Element(Id),
    Negative(Id),
    Not(Id),
    Binary(Operator, Id, Id),
    Call(Function, Vec<Id>),
    /// A condition, and what it chooses from.
    Choice([Id; 3]),
    /// Many values put together.
    Over {
        join: Join,
        index: String,
        from: Id,
        to: Id,
        includes_last: bool,
        body: Id,
    },
}

/// What stands between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// The quotient's floor.
    DivideWhole,
    /// What is left of the quotient's floor, with the divisor's sign.
    Modulo,
    Power,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    And,
    Or,
}

impl Operator {
    /// The operator of a sign or word, and how strongly it binds.
    pub fn of(sign: &str) -> Option<(Self, u32)> {
        Some(match sign {
            "or" | "||" => (Self::Or, 1),
            "and" | "&&" => (Self::And, 2),
            "<" => (Self::Less, COMPARES),
            "<=" => (Self::LessOrEqual, COMPARES),
            ">" => (Self::Greater, COMPARES),
            ">=" => (Self::GreaterOrEqual, COMPARES),
            "==" => (Self::Equal, COMPARES),
            "!=" => (Self::NotEqual, COMPARES),
            "+" => (Self::Add, 5),
            "-" => (Self::Subtract, 5),
            "*" => (Self::Multiply, 6),
            "/" => (Self::Divide, 6),
            "//" => (Self::DivideWhole, 6),
            "%" => (Self::Modulo, 6),
            _ => return None,
        })
    }
}

/// How strongly comparisons bind.
pub(super) const COMPARES: u32 = 4;

/// How many values are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    Sum,
    Product,
    Least,
    Greatest,
}

/// A function of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// Of one number.
    One(Unary),
    /// The angle of the point (second, first).
    Atan2,
    Power,
    /// Of one or more numbers.
    Least,
    Greatest,
}

/// Functions of one number that have another name besides their [`Unary::word`].
const OTHER_NAMES: [(&str, Unary); 1] = [("ln", Unary::Ln)];

impl Function {
    /// Functions of several numbers: name, what it is, and how many numbers it takes at least and at
    /// most.
    pub const OTHERS: &[(&str, Self, usize, usize)] = &[
        ("atan2", Self::Atan2, 2, 2),
        ("pow", Self::Power, 2, 2),
        ("min", Self::Least, 1, usize::MAX),
        ("max", Self::Greatest, 1, usize::MAX),
    ];

    /// The names of functions of one number.
    pub fn of_one() -> impl Iterator<Item = (&'static str, Unary)> {
        Unary::ALL.iter().map(|&function| (function.word(), function)).chain(OTHER_NAMES)
    }

    /// A function by its name, and how many numbers it takes at least and at most.
    pub fn named(name: &str) -> Option<(Self, usize, usize)> {
        let one = Self::of_one().find(|(word, _)| *word == name);
        let one = one.map(|(_, function)| (Self::One(function), 1, 1));
        let other = || Self::OTHERS.iter().find(|(word, ..)| *word == name);
        one.or_else(|| other().map(|&(_, function, least, most)| (function, least, most)))
    }
}

/// Numbers with a name.
pub(super) const CONSTANTS: [(&str, f64); 2] =
    [("pi", std::f64::consts::PI), ("e", std::f64::consts::E)];
