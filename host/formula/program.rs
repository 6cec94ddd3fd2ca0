//! A formula as a list of operations on rows of numbers.

use std::collections::HashMap;

use flockwork_device::{
    formula::Unary,
    math::{Real, Scalar, digamma},
};

use super::machine::{
    self,
    Binary::{Add, Divide, Less, Multiply, Subtract},
    Instruction, Operation,
};

/// In place of the degree of what is no polynomial.
const NO_DEGREE: u32 = u32::MAX;

/// A value in a [`Graph`].
pub(super) type Place = u32;

/// What a value is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<S> {
    Constant(S),
    /// A variable or a column.
    Input(u32),
    Computed(Operation, [Place; 3]),
}

/// Values that depend on each other, each there once.
#[derive(Debug)]
pub(super) struct Graph<S> {
    values: Vec<Value<S>>,
    constants: HashMap<u64, Place>,
    inputs: HashMap<u32, Place>,
    computed: HashMap<(Operation, [Place; 3]), Place>,
}

/// In place of an operand that an operation does not have.
pub(super) const NONE: Place = Place::MAX;

impl<S: Scalar> Graph<S> {
    pub fn new() -> Self {
        Self {
            values: Vec::new(),
            constants: HashMap::new(),
            inputs: HashMap::new(),
            computed: HashMap::new(),
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    fn push(values: &mut Vec<Value<S>>, value: Value<S>) -> Place {
        values.push(value);
        (values.len() - 1) as Place
    }

    pub fn constant(&mut self, value: S) -> Place {
        // Bits tell zero from minus zero.
        let bits = value.to_f64().to_bits();
        let values = &mut self.values;
        *self.constants.entry(bits).or_insert_with(|| Self::push(values, Value::Constant(value)))
    }

    pub fn input(&mut self, nth: u32) -> Place {
        let values = &mut self.values;
        *self.inputs.entry(nth).or_insert_with(|| Self::push(values, Value::Input(nth)))
    }

    /// The value at a place.
    pub fn value(&self, place: Place) -> Value<S> {
        self.values[place as usize]
    }

    /// The value at a place, if it is constant.
    pub fn constant_at(&self, place: Place) -> Option<S> {
        match self.values[place as usize] {
            Value::Constant(value) => Some(value),
            Value::Input(_) | Value::Computed(..) => None,
        }
    }

    fn computed(&mut self, operation: Operation, from: [Place; 3]) -> Place {
        let values = &mut self.values;
        *self
            .computed
            .entry((operation, from))
            .or_insert_with(|| Self::push(values, Value::Computed(operation, from)))
    }

    pub fn negative(&mut self, a: Place) -> Place {
        match self.constant_at(a) {
            Some(value) => self.constant(-value),
            None => self.computed(Operation::Negative, [a, NONE, NONE]),
        }
    }

    pub fn one(&mut self, function: Unary, a: Place) -> Place {
        match self.constant_at(a) {
            Some(value) => self.constant(machine::one(function, value)),
            None => self.computed(Operation::One(function), [a, NONE, NONE]),
        }
    }

    pub fn two(&mut self, binary: machine::Binary, a: Place, b: Place) -> Place {
        let (known, other) = (self.constant_at(a), self.constant_at(b));
        if let (Some(a), Some(b)) = (known, other) {
            return self.constant(machine::two(binary, a, b));
        }
        // Exact for every number.
        let is_one = |value: Option<S>| value == Some(S::of(1.0));
        match binary {
            Multiply if is_one(known) => return b,
            Multiply | Divide if is_one(other) => return a,
            _ => {}
        }
        // The same in either order.
        let swaps = matches!(binary, Add | Multiply) && b < a;
        let (a, b) = if swaps { (b, a) } else { (a, b) };
        self.computed(Operation::Two(binary), [a, b, NONE])
    }

    /// The product of two values plus a third, rounded once.
    pub fn fused(&mut self, a: Place, b: Place, c: Place) -> Place {
        let constants = [a, b, c].map(|place| self.constant_at(place));
        if let [Some(a), Some(b), Some(c)] = constants {
            return self.constant(a.fma(b, c));
        }
        // A product with 1 is exact.
        let is_one = |value: Option<S>| value == Some(S::of(1.0));
        if is_one(constants[0]) {
            return self.two(Add, b, c);
        }
        if is_one(constants[1]) {
            return self.two(Add, a, c);
        }
        self.computed(Operation::Fused, [a.min(b), a.max(b), c])
    }

    /// What is left of `a` after a division by `b`, from 0 to `b`. `floor` is the whole part of the quotient
    /// as it was rounded: where that reached the next whole number, the remainder, which is exact, has the
    /// wrong sign.
    pub fn remainder(&mut self, a: Place, b: Place, floor: Place) -> Place {
        let less = self.negative(floor);
        let rest = self.fused(less, b, a);
        let zero = self.constant(S::ZERO);
        let (below, above) = (self.two(Less, rest, zero), self.two(Less, zero, rest));
        let is_negative = self.two(Less, b, zero);
        let is_wrong = self.choose(is_negative, above, below);
        let next = self.two(Add, rest, b);
        self.choose(is_wrong, next, rest)
    }

    pub fn digamma(&mut self, a: Place) -> Place {
        match self.constant_at(a) {
            Some(value) => self.constant(digamma(value)),
            None => self.computed(Operation::Digamma, [a, NONE, NONE]),
        }
    }

    pub fn choose(&mut self, condition: Place, yes: Place, no: Place) -> Place {
        match self.constant_at(condition) {
            Some(value) if S::ZERO < value => yes,
            Some(_) => no,
            None if yes == no => yes,
            None => self.computed(Operation::Choose, [condition, yes, no]),
        }
    }
}

/// A formula as instructions: first those that depend on variables alone, which are run once for many
/// rows of data.
///
/// Rows are those of the inputs, then the constants', then what is computed.
#[derive(Clone, Debug)]
pub(crate) struct Program<S> {
    pub inputs: usize,
    pub constants: Vec<S>,
    /// Number of rows.
    pub rows: usize,
    pub once: Vec<Instruction>,
    pub each: Vec<Instruction>,
    /// The row of the result.
    pub result: usize,
    /// The rows of its derivatives by the first variables, if they are asked for.
    pub slopes: Vec<usize>,
    /// Which variables the result depends on linearly, all of them at once, the others being held.
    pub linear: Vec<bool>,
}

impl<S: Scalar> Graph<S> {
    /// The instructions that compute a value. `inputs` are `variables` and behind them columns.
    pub fn program(&self, root: Place, variables: u32, inputs: u32) -> Program<S> {
        self.program_with(root, &[], variables, inputs)
    }

    /// As [`Self::program`], with the value's derivatives.
    pub fn program_with(
        &self,
        root: Place,
        slopes: &[Place],
        variables: u32,
        inputs: u32,
    ) -> Program<S> {
        let results: Vec<Place> = std::iter::once(root).chain(slopes.iter().copied()).collect();
        let order = self.order(&results, None);
        let varies = self.varying(&order, variables);
        let mut constants = Vec::new();
        let mut row = vec![0_u32; self.values.len()];
        for &place in &order {
            match self.values[place as usize] {
                Value::Constant(value) => {
                    row[place as usize] = inputs + constants.len() as u32;
                    constants.push(value);
                }
                Value::Input(nth) => row[place as usize] = nth,
                Value::Computed(..) => {}
            }
        }
        let (once, each): (Vec<Place>, Vec<Place>) =
            order.iter().partition(|&&place| !varies[place as usize]);
        // How often each value is still needed. What is computed once for all rows of data stays, if
        // it is needed there.
        let mut needed = vec![0_u32; self.values.len()];
        for &result in &results {
            needed[result as usize] += 1;
        }
        for &place in &order {
            if let Value::Computed(_, from) = self.values[place as usize] {
                let stays = varies[place as usize];
                for from in operands(&from) {
                    let kept = stays && !varies[from as usize];
                    needed[from as usize] =
                        if kept { u32::MAX } else { needed[from as usize].saturating_add(1) };
                }
            }
        }
        let mut rows = Rows { first: inputs + constants.len() as u32, used: 0, free: Vec::new() };
        let mut emit = |places: &[Place]| {
            let mut code = Vec::new();
            for &place in places {
                let Value::Computed(operation, from) = self.values[place as usize] else {
                    continue;
                };
                let mut read = [0; 3];
                for (read, from) in read.iter_mut().zip(operands(&from)) {
                    *read = row[from as usize];
                }
                for from in operands(&from) {
                    let needed = &mut needed[from as usize];
                    if *needed == u32::MAX {
                        continue;
                    }
                    *needed -= 1;
                    if *needed == 0 && matches!(self.values[from as usize], Value::Computed(..)) {
                        rows.free.push(row[from as usize]);
                    }
                }
                // Each number of a row is read before it is written.
                row[place as usize] = rows.take();
                code.push(Instruction { operation, to: row[place as usize], from: read });
            }
            code
        };
        let (once, each) = (emit(&once), emit(&each));
        let result = row[root as usize] as usize;
        let slopes = slopes.iter().map(|&slope| row[slope as usize] as usize).collect();
        let rows = (rows.first + rows.used) as usize;
        let linear = self.linear(root, if variables < inputs { variables } else { 0 });
        Program { inputs: inputs as usize, constants, rows, once, each, result, slopes, linear }
    }

    /// Which of these values, operands before what is computed of them, depend on inputs behind the
    /// variables.
    pub fn varying(&self, order: &[Place], variables: u32) -> Vec<bool> {
        let mut varies = vec![false; self.values.len()];
        for &place in order {
            varies[place as usize] = match self.values[place as usize] {
                Value::Constant(_) => false,
                Value::Input(nth) => nth >= variables,
                Value::Computed(_, from) => operands(&from).any(|from| varies[from as usize]),
            };
        }
        varies
    }

    /// Which of the first inputs a value depends on linearly, all of them at once, the other inputs
    /// being held: the first of those that are multiplied by each other.
    pub fn linear(&self, root: Place, variables: u32) -> Vec<bool> {
        let order = self.order(&[root], None);
        let mut linear = vec![false; variables as usize];
        for nth in 0..variables as usize {
            linear[nth] = true;
            linear[nth] = self.degree(root, &order, &linear) <= 1;
        }
        linear
    }

    /// The degree of a value in these inputs; [`NO_DEGREE`] where it is no polynomial.
    fn degree(&self, root: Place, order: &[Place], of: &[bool]) -> u32 {
        let mut degrees = vec![0_u32; self.values.len()];
        for &place in order {
            let at = |place: Place| degrees[place as usize];
            degrees[place as usize] = match self.values[place as usize] {
                Value::Constant(_) => 0,
                Value::Input(nth) => u32::from(of.get(nth as usize).copied().unwrap_or(false)),
                Value::Computed(operation, [a, b, c]) => match operation {
                    Operation::Negative => at(a),
                    Operation::Two(Add | Subtract) => at(a).max(at(b)),
                    Operation::Two(Multiply) => at(a).saturating_add(at(b)),
                    Operation::Two(Divide) if at(b) == 0 => at(a),
                    Operation::Choose if at(a) == 0 => at(b).max(at(c)),
                    _ if operands(&[a, b, c]).all(|operand| at(operand) == 0) => 0,
                    _ => NO_DEGREE,
                },
            };
        }
        degrees[root as usize]
    }

    /// The values that some need, and themselves, operands before what is computed of them: depth first,
    /// so that few are at hand at a time. `given` counts as one that needs no others.
    pub fn order(&self, roots: &[Place], given: Option<Place>) -> Vec<Place> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.values.len()];
        let mut stack: Vec<_> = roots.iter().rev().map(|&root| (root, false)).collect();
        while let Some((place, ready)) = stack.pop() {
            if ready {
                order.push(place);
                continue;
            }
            if std::mem::replace(&mut seen[place as usize], true) {
                continue;
            }
            stack.push((place, true));
            if let Value::Computed(_, from) = self.values[place as usize]
                && Some(place) != given
            {
                let mut from: Vec<Place> = operands(&from).collect();
                from.reverse();
                stack.extend(from.into_iter().map(|from| (from, false)));
            }
        }
        order
    }
}

/// The operands that an operation has.
pub(super) fn operands(from: &[Place; 3]) -> impl Iterator<Item = Place> {
    from.iter().copied().filter(|&place| place != NONE)
}

impl<S: Scalar> Program<S> {
    /// Writes the constants into their rows.
    pub fn place_constants<V: Real<Scalar = S>, const WIDE: usize>(&self, rows: &mut [[V; WIDE]]) {
        for (row, &constant) in rows[self.inputs..].iter_mut().zip(&self.constants) {
            *row = [V::splat(constant); WIDE];
        }
    }
}

/// Rows for what is computed.
struct Rows {
    first: u32,
    used: u32,
    free: Vec<u32>,
}

impl Rows {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            self.first + self.used - 1
        })
    }
}
