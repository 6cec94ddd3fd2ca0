//! A formula as PTX, written into the holes of a kernel.
//!
//! Registers that begin with `%hole_` are the hole's; see [`template`](flockwork_device::formula::template).
//! `%v` and `%q` hold values and truths, `%held`, `%column` and `%once` coordinates or parameters,
//! arguments of a row, and what depends on the parameters alone from hole to hole: no compiler names
//! registers so.

#[cfg(feature = "cuda")]
use std::sync::Arc;
use std::{collections::HashMap, fmt::Write as _, iter};

use flockwork_device::{
    fit::{kernels::many, many::MOST_PARAMETERS},
    formula::Unary,
    math::Scalar,
};

use super::{
    layout::{Code, Layout, Node, RowLayout},
    machine::{Binary, Operation},
};

/// What a hole is given that sees four numbers.
const GIVEN: [&str; 4] = ["%hole_x", "%hole_y", "%hole_z", "%hole_w"];
/// The kernel that has the operations.
const OPERATIONS: &str = "formula_operations_";
/// The most lines that the copies of an operation may take in a kernel. Beyond that it is called.
const MOST_COPIED: usize = 4000;

/// A piece of a hole's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(String),
    /// An operation of the kernels: its result and its operands.
    Operation {
        word: &'static str,
        to: String,
        from: Vec<String>,
    },
}

/// A formula for the kernels of a template, in one precision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filling {
    /// `f32` or `f64`.
    precision: &'static str,
    /// The declaration of what is held from hole to hole.
    registers: String,
    /// The fewest blocks that a multiprocessor should hold at once, if the kernel does not say.
    blocks: Option<u32>,
    pub(super) holes: Vec<(&'static str, Vec<Line>)>,
}

impl Filling {
    /// The holes' texts.
    pub fn new<S: Scalar>(layout: &Layout<S>) -> Self {
        let mut registers = String::new();
        let holes = match layout {
            Layout::Sum { term, terms, finish, .. } => {
                let given = |nth| GIVEN[nth as usize].to_owned();
                let mut writer = Writer::<S>::new(&given);
                writer.table(term, *terms);
                let to = writer.code(term);
                writer.result(&to);
                vec![
                    ("term", writer.lines()),
                    ("finish", finished(finish, &|_| "%hole_sum".into())),
                ]
            }
            Layout::Point { code, dims } => {
                registers = format!(".reg .{} %held<{dims}>;", Writer::<S>::WORD);
                let held = |nth| format!("%held{nth}");
                vec![("take", take::<S>("%held", (0, *dims))), ("finish", finished(code, &held))]
            }
        };
        Self { precision: S::NAME, registers, blocks: None, holes }
    }

    /// The holes' texts of a model.
    pub fn of_row<S: Scalar>(layout: &RowLayout<S>) -> Self {
        let (registers, begin, row) = Self::parts_of_row(layout, 0);
        let holes = vec![
            ("take", take::<S>("%held", (0, layout.parameters))),
            ("once", begin),
            ("more", take::<S>("%column", (1, layout.columns))),
            ("row", row),
        ];
        Self { precision: S::NAME, registers, blocks: None, holes }
    }

    /// The holes' texts of a model with derivatives, in the kernel of many fits.
    pub fn of_slopes<S: Scalar>(layout: &RowLayout<S>) -> Self {
        let (registers, begin, row) = Self::parts_of_row(layout, MOST_PARAMETERS);
        let word = Writer::<S>::WORD;
        let held = (0..layout.parameters)
            .map(|nth| Line::Text(format!("mov.{word} %held{nth},%hole_p{nth};")));
        let holes = vec![
            ("begin", held.chain(begin).collect()),
            ("more", take::<S>("%column", (1, layout.columns))),
            ("slopes", row),
        ];
        let blocks = many::blocks(layout.parameters as usize, S::WORDS);
        Self { precision: S::NAME, registers, blocks, holes }
    }

    /// What is held from hole to hole, what depends on the parameters alone, and the results of a row:
    /// with so many derivatives, of which those that are not there are zero.
    fn parts_of_row<S: Scalar>(
        layout: &RowLayout<S>,
        slopes: usize,
    ) -> (String, Vec<Line>, Vec<Line>) {
        let RowLayout { code, once, results, parameters, columns } = layout;
        let given = |nth: u32| match nth.checked_sub(*parameters) {
            None => format!("%held{nth}"),
            Some(column) => GIVEN
                .get(column as usize)
                .map_or_else(|| format!("%column{column}"), |given| (*given).to_owned()),
        };
        let (first, rest) = code.0.split_at(*once);
        let mut writer = Writer::<S>::new(&given);
        writer.prefix = "%once";
        let mut places = Vec::with_capacity(code.0.len());
        writer.nodes(first, &mut places);
        let (kept, begin) = (writer.values, writer.without_values());
        let mut writer = Writer::<S>::new(&given);
        writer.nodes(rest, &mut places);
        let mut results = results.iter().map(|&at| &places[at]);
        if let Some(value) = results.next() {
            writer.result(value);
        }
        let zero = literal(S::ZERO);
        for (nth, slope) in results.chain(iter::repeat(&zero)).take(slopes).enumerate() {
            writer.text(format!("mov.{} %hole_s{nth},{slope};", Writer::<S>::WORD));
        }
        let row = writer.lines();
        let registers = [("held", *parameters), ("column", *columns), ("once", kept)]
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!(".reg .{} %{name}<{count}>;", Writer::<S>::WORD))
            .collect::<Vec<_>>()
            .join("\n");
        (registers, begin, row)
    }

    /// The text of a kernel's module with its holes filled. `kernel` has the texts of others.
    pub fn filled(&self, text: &str, kernel: &dyn Fn(&str) -> Option<String>) -> String {
        let mut uses: HashMap<&'static str, usize> = HashMap::new();
        for (hole, lines) in &self.holes {
            let holes = text.matches(&begins(hole)).count();
            for line in lines {
                if let Line::Operation { word, .. } = line {
                    *uses.entry(word).or_default() += holes;
                }
            }
        }
        let library = match uses.is_empty() {
            true => None,
            false => kernel(&format!("{OPERATIONS}{}", self.precision)),
        };
        let library = library.unwrap_or_default();
        let functions = Functions::new(&library, self.precision, uses);
        let mut filled = text.to_owned();
        for (hole, lines) in &self.holes {
            let inside: String = lines.iter().map(|line| functions.written(line)).collect();
            filled = replaced(&filled, hole, &inside);
        }
        let called = functions.called();
        if let Some(entry) = filled.find(".visible .entry") {
            if let Some(body) = filled[entry..].find("\n{\n").filter(|_| !self.registers.is_empty())
            {
                filled.insert_str(entry + body + "\n{\n".len(), &format!("{}\n", self.registers));
                if let Some(blocks) = self.blocks {
                    filled.insert_str(entry + body, &format!("\n.minnctapersm {blocks}"));
                }
            }
            filled.insert_str(entry, &called);
        }
        filled
    }
}

#[cfg(feature = "cuda")]
impl crate::cuda::Filling for Filling {
    fn key(&self) -> Arc<str> {
        format!("{self:?}").into()
    }

    fn fill(&self, text: &str, kernel: &dyn Fn(&str) -> Option<String>) -> String {
        self.filled(text, kernel)
    }
}

/// The mark before what stands in a hole.
fn begins(hole: &str) -> String {
    format!(".reg .pred %hole_{hole}_begins;\n")
}

/// The text with this inside each such hole.
fn replaced(text: &str, hole: &str, inside: &str) -> String {
    let (begins, ends) = (begins(hole), format!(".reg .pred %hole_{hole}_ends;\n"));
    let mut pieces = text.split(&*begins);
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        filled += inside;
        filled += piece.split_once(&*ends).map_or(piece, |(_, rest)| rest);
    }
    filled
}

/// The operations that the kernels have as functions.
struct Functions<'a> {
    precision: &'static str,
    /// From its name to the lines of its body, and to its whole text.
    texts: HashMap<&'a str, (Vec<&'a str>, &'a str)>,
    /// How often each is used.
    uses: HashMap<&'static str, usize>,
}

impl<'a> Functions<'a> {
    fn new(library: &'a str, precision: &'static str, uses: HashMap<&'static str, usize>) -> Self {
        let mut texts = HashMap::new();
        // Declarations have no body.
        let mut rest = library;
        while let Some(start) = rest.find(".func ") {
            let line = rest[..start].rfind('\n').map_or(0, |end| end + 1);
            let text = &rest[line..];
            let end = text.find("\n}\n").map_or(text.len(), |end| end + 3);
            let body = text.find("\n{\n").filter(|&body| body < end);
            let declared =
                text.find("\n;\n").filter(|&declared| body.is_none_or(|body| declared < body));
            if let Some(declared) = declared {
                rest = &text[declared..];
                continue;
            }
            if let Some(body) = body
                && let Some(name) = name(&text[..body])
            {
                let lines = text[body + 3..end].lines().filter(|line| *line != "}").collect();
                texts.insert(name, (lines, &text[..end]));
            }
            rest = &text[end..];
        }
        Self { precision, texts, uses }
    }

    fn name(&self, word: &str) -> String {
        format!("formula_{word}_{}", self.precision)
    }

    /// The lines of an operation's function.
    fn body(&self, word: &str) -> &[&'a str] {
        self.texts.get(&*self.name(word)).map_or(&[], |(lines, _)| lines)
    }

    /// Whether an operation is called instead of copied.
    fn is_called(&self, word: &str) -> bool {
        self.uses.get(word).is_some_and(|uses| uses * self.body(word).len() > MOST_COPIED)
    }

    /// The functions that are called.
    fn called(&self) -> String {
        let mut words: Vec<&str> = self.uses.keys().copied().collect();
        words.sort_unstable();
        let called = words.into_iter().filter(|word| self.is_called(word));
        called.map(|word| format!("{}\n", self.texts[&*self.name(word)].1)).collect()
    }

    /// A line as PTX.
    fn written(&self, line: &Line) -> String {
        let (word, to, from) = match line {
            Line::Text(text) => return format!("{text}\n"),
            Line::Operation { word, to, from } => (word, to, from),
        };
        let bits = if self.precision == "f32" { "b32" } else { "b64" };
        let name = self.name(word);
        let mut text = String::from("{\n");
        // Writing to a string cannot fail.
        if self.is_called(word) {
            let _ = writeln!(text, ".param .{bits} %to;");
            for (nth, from) in from.iter().enumerate() {
                let _ = writeln!(
                    text,
                    ".param .{bits} %from{nth};\nst.param.{bits} [%from{nth}],{from};"
                );
            }
            let names: Vec<String> = (0..from.len()).map(|nth| format!("%from{nth}")).collect();
            let _ = writeln!(
                text,
                "call.uni (%to),{name},({});\nld.param.{bits} {to},[%to];\n}}",
                names.join(",")
            );
            return text;
        }
        let body = self.body(word);
        let last = body.iter().rposition(|line| *line == "ret;");
        for (nth, line) in body.iter().enumerate() {
            let _ = if let Some((register, operand)) = parameter(line, &name) {
                let from = from.get(operand).map_or("0", |from| from);
                writeln!(text, "mov.{bits} {register},{from};")
            } else if let Some((_, result)) = line.split_once("[func_retval0],") {
                writeln!(text, "mov.{bits} {to},{result}")
            } else if *line == "ret;" {
                if Some(nth) == last && nth + 1 == body.len() {
                    Ok(())
                } else {
                    writeln!(text, "bra $formula_done;")
                }
            } else {
                writeln!(text, "{line}")
            };
        }
        if text.contains("$formula_done") {
            text += "$formula_done:\n";
        }
        text + "}\n"
    }
}

/// The name of a function in its first lines.
fn name(head: &str) -> Option<&str> {
    let (_, rest) = head.split_once(')')?;
    let rest = rest.trim_start();
    rest.split_once('(').map(|(name, _)| name.trim())
}

/// The register into which a line loads an operand of a function, and which.
fn parameter<'a>(line: &'a str, name: &str) -> Option<(&'a str, usize)> {
    let (load, place) = line.strip_prefix("ld.param.")?.split_once(',')?;
    let (_, register) = load.split_once(' ')?;
    let place = place.strip_prefix('[')?.strip_suffix("];")?.strip_prefix(name)?;
    Some((register, place.strip_prefix("_param_")?.parse().ok()?))
}

/// Takes note of four numbers of so many, the first four being those of this index.
fn take<S: Scalar>(held: &str, (least, count): (u32, u32)) -> Vec<Line> {
    let word = Writer::<S>::WORD;
    let mut lines = vec![".reg .pred %q;".to_owned()];
    // Halves until there is one choice left.
    let mut stack = vec![(least, count.div_ceil(4).max(least + 1))];
    while let Some((first, end)) = stack.pop() {
        if first > least {
            lines.push(format!("$formula_take{first}:"));
        }
        let mut end = end;
        while end - first > 1 {
            let middle = first + (end - first) / 2;
            lines.push(format!("setp.ge.u32 %q,%hole_index,{middle};"));
            lines.push(format!("@%q bra $formula_take{middle};"));
            stack.push((middle, end));
            end = middle;
        }
        for (to, from) in (4 * first..count).zip(GIVEN) {
            lines.push(format!("mov.{word} {held}{to},{from};"));
        }
        if !stack.is_empty() {
            lines.push("bra $formula_taken;".to_owned());
        }
    }
    if count > 4 * (least + 1) {
        lines.push("$formula_taken:".to_owned());
    }
    lines.push(format!("mov.{word} %hole_to,%hole_sum;"));
    lines.into_iter().map(Line::Text).collect()
}

/// The value, NaN where it is infinite: as [`defined`](flockwork_device::formula::defined).
fn finished<S: Scalar>(code: &Code<S>, given: &dyn Fn(u32) -> String) -> Vec<Line> {
    let mut writer = Writer::<S>::new(given);
    let value = writer.code(code);
    let value = writer.in_register(&value);
    let size = writer.value();
    writer.text(format!("abs.{} {size},{value};", S::NAME));
    let truth = writer.truth();
    let infinity = literal(S::INFINITY);
    writer.text(format!("setp.lt.{} {truth},{size},{infinity};", S::NAME));
    let nan = literal(S::nearest(f64::NAN));
    let chosen = writer.value();
    writer.text(format!("selp.{} {chosen},{value},{nan},{truth};", S::NAME));
    writer.result(&chosen);
    writer.lines()
}

/// A number as PTX has it.
fn literal<S: Scalar>(number: S) -> String {
    let number = number.to_f64();
    if S::NAME == "f32" {
        format!("0f{:08X}", (number as f32).to_bits())
    } else {
        format!("0d{:016X}", number.to_bits())
    }
}

/// Writes code.
struct Writer<'a, S> {
    given: &'a dyn Fn(u32) -> String,
    written: Vec<Line>,
    /// What the registers of values are called, before their number.
    prefix: &'static str,
    values: u32,
    truths: u32,
    /// Columns of the table, each in its register.
    columns: Vec<String>,
    number: std::marker::PhantomData<S>,
}

impl<'a, S: Scalar> Writer<'a, S> {
    const WORD: &'static str = if size_of::<S>() == 4 { "b32" } else { "b64" };

    fn new(given: &'a dyn Fn(u32) -> String) -> Self {
        Self {
            given,
            written: Vec::new(),
            prefix: "%v",
            values: 0,
            truths: 0,
            columns: Vec::new(),
            number: std::marker::PhantomData,
        }
    }

    fn text(&mut self, text: String) {
        self.written.push(Line::Text(text));
    }

    fn value(&mut self) -> String {
        self.values += 1;
        format!("{}{}", self.prefix, self.values - 1)
    }

    fn truth(&mut self) -> String {
        self.truths += 1;
        format!("%q{}", self.truths - 1)
    }

    /// Loads what the term's index decides, from a table of so many terms.
    fn table(&mut self, code: &Code<S>, terms: u32) {
        let columns = code.columns();
        if columns == 0 {
            return;
        }
        let bytes = size_of::<S>();
        for line in [
            ".reg .b64 %vat;".to_owned(),
            format!("mul.wide.u32 %vat,%hole_index,{bytes};"),
            "add.s64 %vat,%hole_data,%vat;".to_owned(),
            "cvta.to.global.u64 %vat,%vat;".to_owned(),
        ] {
            self.text(line);
        }
        for column in 0..u64::from(columns) {
            let to = self.value();
            let offset = column * u64::from(terms) * bytes as u64;
            self.text(format!("ld.global.nc.{} {to},[%vat+{offset}];", Self::WORD));
            self.columns.push(to);
        }
    }

    /// The code; returns where its result is.
    fn code(&mut self, code: &Code<S>) -> String {
        let mut places = Vec::with_capacity(code.0.len());
        self.nodes(&code.0, &mut places);
        places.pop().unwrap_or_else(|| literal(S::ZERO))
    }

    /// Nodes of a code, the places of the ones before known; adds theirs.
    fn nodes(&mut self, nodes: &[Node<S>], places: &mut Vec<String>) {
        for node in nodes {
            let place = match *node {
                Node::Constant(value) => literal(value),
                Node::Given(nth) => (self.given)(nth),
                Node::Datum(column) => self.columns[column as usize].clone(),
                Node::Computed(operation, from) => {
                    let from: Vec<String> = from[..operation.operands()]
                        .iter()
                        .map(|&from| places[from].clone())
                        .collect();
                    self.computed(operation, from)
                }
            };
            places.push(place);
        }
    }

    fn computed(&mut self, operation: Operation, from: Vec<String>) -> String {
        let precision = S::NAME;
        let instruction = match operation {
            Operation::Negative => "neg",
            Operation::One(Unary::Sqrt) => "sqrt.rn",
            Operation::One(Unary::Abs) => "abs",
            Operation::Two(Binary::Add) => "add.rn",
            Operation::Two(Binary::Subtract) => "sub.rn",
            Operation::Two(Binary::Multiply) => "mul.rn",
            Operation::Two(Binary::Divide) => "div.rn",
            Operation::Two(Binary::Less) => {
                let (truth, to) = (self.truth(), self.value());
                let [one, zero] = [S::of(1.0), S::ZERO].map(literal);
                self.text(format!("setp.lt.{precision} {truth},{};", from.join(",")));
                self.text(format!("selp.{precision} {to},{one},{zero},{truth};"));
                return to;
            }
            Operation::Fused => "fma.rn",
            Operation::Choose => {
                let (truth, to, zero) = (self.truth(), self.value(), literal(S::ZERO));
                self.text(format!("setp.lt.{precision} {truth},{zero},{};", from[0]));
                self.text(format!("selp.{precision} {to},{},{},{truth};", from[1], from[2]));
                return to;
            }
            Operation::One(_) | Operation::Two(_) | Operation::Digamma => {
                let word = match operation {
                    Operation::Two(binary) => binary.word(),
                    Operation::One(function) => function.word(),
                    // In no kernel: `RowLayout::why_not_on_a_gpu` says so before.
                    _ => "digamma",
                };
                let to = self.value();
                self.written.push(Line::Operation { word, to: to.clone(), from });
                return to;
            }
        };
        let to = self.value();
        self.text(format!("{instruction}.{precision} {to},{};", from.join(",")));
        to
    }

    /// Where a value is, as a register.
    fn in_register(&mut self, value: &str) -> String {
        if value.starts_with('%') {
            return value.to_owned();
        }
        let to = self.value();
        self.text(format!("mov.{} {to},{value};", Self::WORD));
        to
    }

    /// The hole's result.
    fn result(&mut self, value: &str) {
        self.text(format!("mov.{} %hole_to,{value};", Self::WORD));
    }

    /// All lines, with the declarations of their registers.
    fn lines(self) -> Vec<Line> {
        let mut lines = Vec::with_capacity(self.written.len() + 2);
        if self.values > 0 {
            let (prefix, values) = (self.prefix, self.values);
            lines.push(Line::Text(format!(".reg .{} {prefix}<{values}>;", Self::WORD)));
        }
        lines.extend(self.without_values());
        lines
    }

    /// All lines, without the declaration of the values' registers.
    fn without_values(self) -> Vec<Line> {
        let mut lines = Vec::with_capacity(self.written.len() + 1);
        if self.truths > 0 {
            lines.push(Line::Text(format!(".reg .pred %q<{}>;", self.truths)));
        }
        lines.extend(self.written);
        lines
    }
}

impl<S> Code<S> {
    /// How many columns of data it asks for.
    fn columns(&self) -> u32 {
        let column = |node: &Node<S>| match node {
            Node::Datum(column) => column + 1,
            _ => 0,
        };
        self.0.iter().map(column).max().unwrap_or(0)
    }
}
