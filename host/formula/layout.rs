//! How a formula's work is dealt out on a GPU: as a sum of like terms, of which threads take some each,
//! or by one thread for a point, or for a point's rows of data.

use std::collections::HashMap;

use flockwork_device::{math::Scalar, objective::Reach};

use super::{
    function::{MOST_HELD, MOST_OPERATIONS},
    machine::{Binary, Operation},
    program::{Graph, Place, Value, operands},
};

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Node<S> {
    Constant(S),
    /// What is given: a coordinate, or the sum.
    Given(u32),
    /// What the term's index decides: a column of the table of data.
    Datum(u32),
    Computed(Operation, [usize; 3]),
}

/// Values, operands before what is computed of them; the last is the result.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Code<S>(pub Vec<Node<S>>);

/// A formula for a GPU.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Layout<S> {
    /// A function of a sum.
    Sum {
        /// What a term is given: its coordinate, or also the next.
        reach: Reach,
        term: Code<S>,
        /// Numbers that differ from term to term: column by column, a number for each term.
        data: Vec<S>,
        terms: u32,
        /// Of the sum.
        finish: Code<S>,
    },
    /// A function of all coordinates.
    Point { code: Code<S>, dims: u32 },
}

impl<S: Scalar> Layout<S> {
    /// Which coordinates a part of the work is given.
    pub fn reach(&self) -> Reach {
        match self {
            Self::Sum { reach, .. } => *reach,
            Self::Point { .. } => Reach::All,
        }
    }

    /// The table that terms read.
    pub fn data(&self) -> &[S] {
        match self {
            Self::Sum { data, .. } => data,
            Self::Point { .. } => &[],
        }
    }

    /// How many values its code has.
    pub fn operations(&self) -> usize {
        match self {
            Self::Sum { term, finish, .. } => term.0.len() + finish.0.len(),
            Self::Point { code, .. } => code.0.len(),
        }
    }

    /// How many coordinates one thread must hold.
    pub fn held(&self) -> u32 {
        match self {
            Self::Sum { .. } => 0,
            Self::Point { dims, .. } => *dims,
        }
    }
}

/// A formula of parameters and of a row's arguments, for a GPU.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowLayout<S> {
    /// Given are the parameters and behind them the arguments.
    pub code: Code<S>,
    /// How many of its values, the first ones, depend on the parameters alone.
    pub once: usize,
    /// Which of its values is the prediction, and then, if they are asked for, its derivative by each
    /// parameter.
    pub results: Vec<usize>,
    pub parameters: u32,
    pub columns: u32,
}

impl<S: Scalar> RowLayout<S> {
    /// Why a kernel cannot have it, if it cannot.
    pub fn why_not_on_a_gpu(&self) -> Option<String> {
        let Self { code, parameters, columns, .. } = self;
        let (operations, held) = (code.0.len(), parameters.saturating_add(*columns));
        let needs_digamma = |node: &Node<S>| matches!(node, Node::Computed(Operation::Digamma, _));
        if operations > MOST_OPERATIONS {
            let what = match self.results.len() {
                1 => "the formula takes",
                _ => "the formula and its derivatives take",
            };
            return Some(format!(
                "{what} {operations} operations, and a kernel at most {MOST_OPERATIONS}"
            ));
        }
        if held > MOST_HELD {
            return Some(format!(
                "the formula has {held} parameters and columns, and a kernel takes at most {MOST_HELD}"
            ));
        }
        let derived = "kernels lack the derivative of gamma".to_owned();
        code.0.iter().any(needs_digamma).then_some(derived)
    }
}

/// A sum over a range: its value, and those of its terms.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    pub value: Place,
    pub terms: Vec<Place>,
}

impl<S: Scalar> Graph<S> {
    /// The layout of a value, of so many inputs. `sums` are what may be dealt out.
    pub fn layout(&self, root: Place, inputs: u32, sums: &[Sum]) -> Layout<S> {
        sums.iter().find_map(|sum| self.dealt(root, inputs, sum)).unwrap_or_else(|| {
            let code = self.code(root, None).expect("inputs are allowed");
            Layout::Point { code, dims: inputs }
        })
    }

    /// The layout of a prediction, and of its derivatives if there are any here, of so many parameters
    /// and columns.
    pub fn row_layout(&self, results: &[Place], parameters: u32, columns: u32) -> RowLayout<S> {
        let order = self.order(results, None);
        let varies = self.varying(&order, parameters);
        // In the same order: operands stay before what is computed of them.
        let (mut order, each): (Vec<Place>, Vec<Place>) =
            order.into_iter().partition(|&place| !varies[place as usize]);
        let once = order.len();
        order.extend(each);
        let code = self.code_of(&order, None).expect("inputs are allowed");
        let at: HashMap<Place, usize> =
            order.into_iter().enumerate().map(|(at, place)| (place, at)).collect();
        let results = results.iter().map(|place| at[place]).collect();
        RowLayout { code, once, results, parameters, columns }
    }

    /// The layout as a function of this sum, if it is one.
    fn dealt(&self, root: Place, inputs: u32, sum: &Sum) -> Option<Layout<S>> {
        let terms = u32::try_from(sum.terms.len()).ok()?;
        let reach = match inputs.checked_sub(terms)? {
            0 => Reach::Own,
            1 => Reach::Next,
            _ => return None,
        };
        let finish = self.code(root, Some(sum.value))?;
        // A factor of 1 is left out where terms are made: one of the two should have none.
        let models = [sum.terms.len() - 1, 0];
        let (term, data) =
            models.iter().find_map(|&model| Alike::new(self, reach, model).code(&sum.terms))?;
        Some(Layout::Sum { reach, term, data, terms, finish })
    }

    /// A value as code: of the inputs, or of another value alone.
    fn code(&self, root: Place, of: Option<Place>) -> Option<Code<S>> {
        self.code_of(&self.order(&[root], of), of)
    }

    /// These values as code, operands before what is computed of them.
    fn code_of(&self, order: &[Place], of: Option<Place>) -> Option<Code<S>> {
        let mut code = Vec::new();
        let mut at = HashMap::new();
        for &place in order {
            let node = match self.value(place) {
                _ if Some(place) == of => Node::Given(0),
                Value::Constant(value) => Node::Constant(value),
                Value::Input(nth) if of.is_none() => Node::Given(nth),
                Value::Input(_) => return None,
                Value::Computed(operation, from) => {
                    let mut places = [0; 3];
                    for (place, from) in places.iter_mut().zip(operands(&from)) {
                        *place = at[&from];
                    }
                    Node::Computed(operation, places)
                }
            };
            at.insert(place, code.len());
            code.push(node);
        }
        Some(Code(code))
    }
}

/// A value of one term; `None` is the number 1, by which the value of another term is multiplied.
type Part = Option<Place>;

/// Terms that do the same with other coordinates and other constants.
struct Alike<'a, S> {
    graph: &'a Graph<S>,
    reach: Reach,
    /// The term that the others are compared with.
    model: usize,
    code: Vec<Node<S>>,
    data: Vec<Vec<S>>,
    /// What has been found to be alike.
    known: HashMap<Vec<Part>, usize>,
    /// For each value, a number that is the same for those that look alike.
    looks: HashMap<(Place, u32), u64>,
}

/// What constants look like: the least of all looks, as a factor of 1 stands first.
const CONSTANT: u64 = 0;

/// The most values of all terms that are compared.
const MOST_VALUES: usize = 1 << 22;

impl<'a, S: Scalar> Alike<'a, S> {
    fn new(graph: &'a Graph<S>, reach: Reach, model: usize) -> Self {
        let (known, looks) = (HashMap::new(), HashMap::new());
        Self { graph, reach, model, code: Vec::new(), data: Vec::new(), known, looks }
    }

    /// The term, and the table of data; `None` if they are not alike.
    fn code(mut self, terms: &[Place]) -> Option<(Code<S>, Vec<S>)> {
        let terms: Vec<Part> = terms.iter().copied().map(Some).collect();
        self.same(terms)?;
        Some((Code(self.code), self.data.concat()))
    }

    fn push(&mut self, node: Node<S>) -> usize {
        self.code.push(node);
        self.code.len() - 1
    }

    /// Where the value stands that these are in their terms.
    ///
    /// A stack instead of recursion: a formula may be deep.
    fn same(&mut self, root: Vec<Part>) -> Option<usize> {
        let mut stack = vec![(root.clone(), false)];
        while let Some((parts, ready)) = stack.pop() {
            if self.known.contains_key(&parts) {
                continue;
            }
            let compared = self.code.len().saturating_mul(parts.len());
            if compared.max(self.looks.len()) > MOST_VALUES {
                return None;
            }
            let node = match self.alike(&parts)? {
                Found::Node(node) => node,
                Found::Column(column) => {
                    self.data.push(column);
                    Node::Datum(self.data.len() as u32 - 1)
                }
                Found::Computed(operation, operands) if ready => {
                    let mut places = [0; 3];
                    for (place, operand) in places.iter_mut().zip(&operands) {
                        *place = self.known[operand];
                    }
                    Node::Computed(operation, places)
                }
                Found::Computed(_, operands) => {
                    stack.push((parts, true));
                    stack.extend(operands.into_iter().rev().map(|operand| (operand, false)));
                    continue;
                }
            };
            let at = self.push(node);
            self.known.insert(parts, at);
        }
        self.known.get(&root).copied()
    }

    /// What these values are, each in its term.
    fn alike(&mut self, parts: &[Part]) -> Option<Found<S>> {
        let value =
            |part: Part| part.map_or(Value::Constant(S::of(1.0)), |at| self.graph.value(at));
        let constants: Option<Vec<S>> = parts
            .iter()
            .map(|&part| match value(part) {
                Value::Constant(constant) => Some(constant),
                Value::Input(_) | Value::Computed(..) => None,
            })
            .collect();
        if let Some(constants) = constants {
            let bits = |number: S| number.to_f64().to_bits();
            let first = constants[0];
            let all = constants.iter().all(|&constant| bits(constant) == bits(first));
            return Some(if all {
                Found::Node(Node::Constant(first))
            } else {
                Found::Column(constants)
            });
        }
        if let Value::Input(first) = value(parts[0]) {
            let most = u32::from(self.reach == Reach::Next);
            let mut terms = (0_u32..).zip(parts);
            let all = terms.all(|(term, &part)| matches!(value(part), Value::Input(nth) if nth.checked_sub(term) == Some(first)));
            if all && first <= most {
                return Some(Found::Node(Node::Given(first)));
            }
        }
        let (operation, model) = match value(parts[self.model]) {
            Value::Computed(operation, from) => {
                (operation, self.in_order(operation, from, self.model as u32))
            }
            Value::Constant(_) | Value::Input(_) => return None,
        };
        let looks: Vec<u64> =
            model.iter().map(|&from| self.looks_of(from, self.model as u32)).collect();
        let mut lists = vec![Vec::with_capacity(parts.len()); operation.operands()];
        for (term, &part) in (0_u32..).zip(parts) {
            let own = match value(part) {
                Value::Computed(own, from) if own == operation => {
                    Some(self.in_order(operation, from, term))
                }
                _ => None,
            };
            let is_alike = own.as_ref().is_some_and(|own| {
                own.iter().zip(&looks).all(|(&from, &look)| self.looks_of(from, term) == look)
            });
            // A product with 1, or a quotient by 1, of which only the rest is there.
            let whole = self.looks_of(part, term);
            let rest = match operation {
                Operation::Two(Binary::Multiply) if looks == [CONSTANT, whole] => {
                    Some(vec![None, part])
                }
                Operation::Two(Binary::Divide) if looks == [whole, CONSTANT] => {
                    Some(vec![part, None])
                }
                _ => None,
            };
            let from = if is_alike { own } else { rest.or(own) }?;
            for (list, from) in lists.iter_mut().zip(from) {
                list.push(from);
            }
        }
        Some(Found::Computed(operation, lists))
    }

    /// What a part looks like.
    fn looks_of(&mut self, part: Part, term: u32) -> u64 {
        part.map_or(CONSTANT, |place| self.look(place, term))
    }

    /// The operands of an operation, where their order does not matter in the same one in all terms.
    fn in_order(&mut self, operation: Operation, from: [Place; 3], term: u32) -> Vec<Part> {
        let mut from: Vec<Place> = operands(&from).collect();
        if is_commutative(operation) {
            from.sort_by_key(|&place| self.look(place, term));
        }
        from.into_iter().map(Some).collect()
    }

    /// What a value looks like, whatever its constants.
    fn look(&mut self, place: Place, term: u32) -> u64 {
        let mut stack = vec![place];
        while let Some(&next) = stack.last() {
            let look = match self.graph.value(next) {
                Value::Constant(_) => CONSTANT,
                Value::Input(nth) => 1 + u64::from(nth.wrapping_sub(term)),
                Value::Computed(operation, from) => {
                    let before = stack.len();
                    let known = |from: &Place| self.looks.contains_key(&(*from, term));
                    stack.extend(operands(&from).filter(|from| !known(from)));
                    if stack.len() > before {
                        continue;
                    }
                    let mut looks: Vec<u64> =
                        operands(&from).map(|from| self.looks[&(from, term)]).collect();
                    if is_commutative(operation) {
                        looks.sort_unstable();
                    }
                    looks.into_iter().fold(mixed(1 << 40, number(operation)), mixed)
                }
            };
            self.looks.insert((next, term), look);
            stack.pop();
        }
        self.looks[&(place, term)]
    }
}

/// Whether the order of the operands changes nothing.
fn is_commutative(operation: Operation) -> bool {
    matches!(operation, Operation::Two(Binary::Add | Binary::Multiply))
}

fn number(operation: Operation) -> u64 {
    match operation {
        Operation::Negative => 0,
        Operation::Choose => 1,
        Operation::Fused => 2,
        Operation::Digamma => 3,
        Operation::One(function) => 4 + 2 * function as u64,
        Operation::Two(binary) => 5 + 2 * binary as u64,
    }
}

fn mixed(look: u64, more: u64) -> u64 {
    (look ^ more).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// What values of different terms are.
enum Found<S> {
    Node(Node<S>),
    Column(Vec<S>),
    Computed(Operation, Vec<Vec<Part>>),
}
