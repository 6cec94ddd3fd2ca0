//! Comparisons as constraints: how far a point is from satisfying them, alone or composed with an
//! objective into one program.

use flockwork_device::{formula::Unary, math::Scalar, objective::Goal};
use serde::{Deserialize, Serialize};

use super::{
    Formula, Layout, Program,
    lower::{Lower, Names, Variables},
    machine::Binary,
    mistake::{Mistake, Span},
    program::{Graph, Place},
    syntax::{Id, Node, Operator},
};
use crate::{
    Result,
    backend::feasible::{most_feasible, violations},
};

/// How the two sides of a constraint compare.
///
/// ```
/// use flockwork::swarm::{Problem, Relation};
///
/// let problem = Problem::from_fn(vec![0.0; 2], vec![1.0; 2], |x| x[0] - x[1])?;
/// let sides = |x: &[f64], values: &mut [f64]| values[0] = x[0] + x[1] - 1.0;
/// assert!(problem.subject_to_fn(&[("total", Relation::Equal)], sides).is_ok());
/// assert_eq!(Relation::AtMost.sign(), "<=");
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// `<=`
    AtMost,
    /// `<`
    Below,
    /// `>=`
    AtLeast,
    /// `>`
    Above,
    /// `==`, within the tolerance of equalities.
    Equal,
}

impl Relation {
    /// As it is written in a formula.
    pub fn sign(self) -> &'static str {
        match self {
            Self::AtMost => "<=",
            Self::Below => "<",
            Self::AtLeast => ">=",
            Self::Above => ">",
            Self::Equal => "==",
        }
    }

    fn of(operator: Operator) -> Option<Self> {
        Some(match operator {
            Operator::LessOrEqual => Self::AtMost,
            Operator::Less => Self::Below,
            Operator::GreaterOrEqual => Self::AtLeast,
            Operator::Greater => Self::Above,
            Operator::Equal => Self::Equal,
            _ => return None,
        })
    }

    /// How far `excess` is beyond what is allowed: the left side less the right, or for `>=` and `>` the
    /// right less the left. Not above 0 where it is allowed; NaN where it is NaN.
    pub(crate) fn violation(self, excess: f64, tolerance: f64) -> f64 {
        match self {
            _ if excess.is_nan() => excess,
            Self::AtMost | Self::AtLeast => excess.max(0.0),
            Self::Below | Self::Above if excess < 0.0 => 0.0,
            Self::Below | Self::Above => excess.max(violations::<f64>().0[0]),
            Self::Equal => (excess.abs() - tolerance).max(0.0),
        }
    }

    /// The left side less the right, or the other way round where that is to be below 0.
    pub(crate) fn excess(self, left: f64, right: f64) -> f64 {
        match self {
            Self::AtMost | Self::Below | Self::Equal => left - right,
            Self::AtLeast | Self::Above => right - left,
        }
    }
}

/// One comparison of a formula.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    /// Its text.
    pub text: String,
    pub relation: Relation,
    /// By how much the sides of an equality may differ: 0 until it is given.
    pub tolerance: f64,
    formula: Formula,
    sides: [Id; 2],
}

/// What the names of formulas mean that are evaluated together.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// `None` for elements of x.
    pub names: Option<&'a [String]>,
    pub dims: usize,
}

impl<'a> Scope<'a> {
    fn names(self) -> Names<'a> {
        let elements = u32::try_from(self.dims).unwrap_or(u32::MAX);
        let variables = self.names.map_or(Variables::Elements(elements), Variables::Named);
        Names { variables, columns: &[] }
    }

    /// Adds what `build` makes of a formula to a graph.
    fn add<S: Scalar, R>(
        self,
        graph: &mut Graph<S>,
        formula: &Formula,
        build: impl FnOnce(&mut Lower<'_, S>) -> std::result::Result<R, Mistake>,
    ) -> Result<R> {
        let own = std::mem::replace(graph, Graph::new());
        let mut lower = Lower::new(&formula.syntax, self.names(), own);
        let built = build(&mut lower);
        *graph = lower.into_graph();
        built.map_err(|mistake| mistake.in_text(&formula.text))
    }

    fn program<S: Scalar>(self, graph: &Graph<S>, root: Place) -> Program<S> {
        let dims = u32::try_from(self.dims).unwrap_or(u32::MAX);
        graph.program(root, dims, dims)
    }

    /// The total violation: 0 where all constraints are satisfied.
    pub fn violation<S: Scalar>(self, constraints: &[Comparison]) -> Result<Program<S>> {
        let mut graph = Graph::new();
        let root = self.total(&mut graph, constraints)?;
        Ok(self.program(&graph, root))
    }

    /// The objective where all constraints are satisfied, and elsewhere what stands for the violation:
    /// see [`crate::backend::feasible`].
    pub fn constrained<S: Scalar>(
        self,
        objective: (&Formula, Goal),
        constraints: &[Comparison],
    ) -> Result<Program<S>> {
        let (graph, root) = self.composed(objective, constraints)?;
        Ok(self.program(&graph, root))
    }

    /// The same for a GPU: evaluated by a thread for each point.
    pub fn constrained_layout<S: Scalar>(
        self,
        objective: (&Formula, Goal),
        constraints: &[Comparison],
    ) -> Result<Layout<S>> {
        let (graph, root) = self.composed(objective, constraints)?;
        Ok(graph.layout(root, u32::try_from(self.dims).unwrap_or(u32::MAX), &[]))
    }

    fn composed<S: Scalar>(
        self,
        (objective, goal): (&Formula, Goal),
        constraints: &[Comparison],
    ) -> Result<(Graph<S>, Place)> {
        let mut graph = Graph::new();
        let value = self.add(&mut graph, objective, |lower| lower.whole_formula())?;
        let violation = self.total(&mut graph, constraints)?;
        let constant = |graph: &mut Graph<S>, value: f64| graph.constant(S::nearest(value));
        let ([least, most], factor) = violations::<S>();
        let (least, most) = (constant(&mut graph, least), constant(&mut graph, most));
        let factor = constant(&mut graph, factor);
        let limited = graph.two(Binary::Greatest, violation, least);
        let limited = graph.two(Binary::Least, limited, most);
        let root = graph.one(Unary::Sqrt, limited);
        let mut bad = graph.two(Binary::Multiply, root, factor);
        // A value that is infinitely bad is no number, and must not become a finite one.
        let (worst, nothing) = (most_feasible::<S>(), constant(&mut graph, f64::NAN));
        let infinity = constant(&mut graph, f64::INFINITY);
        let good = match goal {
            Goal::Minimise => {
                let worst = constant(&mut graph, worst);
                let is_finite = graph.two(Binary::Less, value, infinity);
                let limited = graph.two(Binary::Least, value, worst);
                graph.choose(is_finite, limited, nothing)
            }
            Goal::Maximise => {
                bad = graph.negative(bad);
                let worst = constant(&mut graph, -worst);
                let infinity = graph.negative(infinity);
                let is_finite = graph.two(Binary::Less, infinity, value);
                let limited = graph.two(Binary::Greatest, value, worst);
                graph.choose(is_finite, limited, nothing)
            }
        };
        let zero = constant(&mut graph, 0.0);
        let is_satisfied = graph.two(Binary::LessOrEqual, violation, zero);
        let root = graph.choose(is_satisfied, good, bad);
        Ok((graph, root))
    }

    fn total<S: Scalar>(self, graph: &mut Graph<S>, constraints: &[Comparison]) -> Result<Place> {
        let mut total = graph.constant(S::ZERO);
        for constraint in constraints {
            let [left, right] = self.add(graph, &constraint.formula, |lower| {
                let [left, right] = constraint.sides;
                Ok([lower.number_of(left)?, lower.number_of(right)?])
            })?;
            let own = violation(graph, constraint, left, right);
            total = if graph.constant_at(total) == Some(S::ZERO) {
                own
            } else {
                graph.two(Binary::Add, total, own)
            };
        }
        Ok(total)
    }

    /// The two sides of a constraint.
    pub fn sides(self, constraint: &Comparison) -> Result<[Program<f64>; 2]> {
        let mut graph = Graph::new();
        let [left, right] = self.add(&mut graph, &constraint.formula, |lower| {
            let [left, right] = constraint.sides;
            Ok([lower.number_of(left)?, lower.number_of(right)?])
        })?;
        Ok([self.program(&graph, left), self.program(&graph, right)])
    }
}

/// See [`Relation::violation`].
fn violation<S: Scalar>(
    graph: &mut Graph<S>,
    &Comparison { relation, tolerance, .. }: &Comparison,
    left: Place,
    right: Place,
) -> Place {
    let zero = graph.constant(S::ZERO);
    let (low, high) = match relation {
        Relation::AtLeast | Relation::Above => (right, left),
        _ => (left, right),
    };
    let excess = graph.two(Binary::Subtract, low, high);
    match relation {
        Relation::AtMost | Relation::AtLeast => graph.two(Binary::Greatest, excess, zero),
        Relation::Below | Relation::Above => {
            let least = graph.constant(S::nearest(violations::<S>().0[0]));
            let is_below = graph.two(Binary::Less, excess, zero);
            let beyond = graph.two(Binary::Greatest, excess, least);
            graph.choose(is_below, zero, beyond)
        }
        Relation::Equal => {
            let tolerance = graph.constant(S::nearest(tolerance));
            let apart = graph.one(Unary::Abs, excess);
            let beyond = graph.two(Binary::Subtract, apart, tolerance);
            graph.two(Binary::Greatest, beyond, zero)
        }
    }
}

impl Formula {
    /// The comparisons that it consists of.
    pub(crate) fn comparisons(&self) -> Result<Vec<Comparison>> {
        let syntax = &self.syntax;
        let mut found = Vec::new();
        let mut rest = vec![syntax.root()];
        while let Some(id) = rest.pop() {
            match *syntax.node(id) {
                Node::Binary(Operator::And, left, right) => rest.extend([right, left]),
                Node::Binary(operator, left, right) if Relation::of(operator).is_some() => {
                    let relation = Relation::of(operator).expect("just looked at");
                    let text = self.balanced(syntax.span(id));
                    found.push(Comparison {
                        text,
                        relation,
                        tolerance: 0.0,
                        formula: self.clone(),
                        sides: [left, right],
                    });
                }
                _ => {
                    let why = "expected a constraint: a comparison by <=, <, >=, > or ==, such as \
                               a*b <= 3, or several joined by and; for one of several, compare the \
                               least or the greatest, as in min(a, b) <= 1";
                    return Err(Mistake::new(syntax.span(id), why).in_text(&self.text));
                }
            }
        }
        if let [only] = &mut found[..] {
            self.text.trim().clone_into(&mut only.text);
        }
        Ok(found)
    }

    /// The text of a part, with brackets that open before it or close behind it.
    fn balanced(&self, span: Span) -> String {
        let (mut begin, mut end) = (span.begin, span.end);
        loop {
            let part = &self.text[begin..end];
            let (mut open, mut missing) = (0_u32, 0_u32);
            for c in part.chars() {
                match c {
                    '(' => open += 1,
                    ')' if open == 0 => missing += 1,
                    ')' => open -= 1,
                    _ => {}
                }
            }
            let before = self.text[..begin].rfind('(').filter(|_| missing > 0);
            let behind = self.text[end..].find(')').filter(|_| open > 0);
            match (before, behind) {
                (Some(at), _) => begin = at,
                (None, Some(at)) => end += at + 1,
                (None, None) => return part.to_owned(),
            }
        }
    }
}
