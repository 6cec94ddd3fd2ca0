//! The PTX of formulas, without a GPU: its layout, its text, and what it calculates.

use std::collections::HashMap;
#[cfg(feature = "cuda")]
use std::{fs, path::Path};

use flockwork_device::{
    formula::{Binary, Unary, defined, one, template::Joined, two},
    math::Scalar,
    objective::{Goal, Reach, sum::Fold},
};

use super::{
    Comparison, Filling, Formula, Layout, Program, RowLayout, Scope, layout::Node,
    machine::Operation, ptx::Line, run,
};

const RASTRIGIN: &str = "10*n + sum(i in 0..n: x[i]^2 - 10*cos(2*pi*x[i]))";
const ROSENBROCK: &str = "sum(i in 0..n-1: 100*(x[i+1] - x[i]^2)^2 + (1 - x[i])^2)";

/// Formulas of every layout, with every operation.
fn formulas() -> Vec<(String, usize)> {
    let mut formulas = vec![
        (RASTRIGIN.to_owned(), 30),
        (ROSENBROCK.to_owned(), 10),
        ("sum(i in 0..n: (i + 1)*x[i]^2)".to_owned(), 9),
        ("sqrt(1 + sum(i in 0..n: (x[i] - i/n)^2/(2 + i)))".to_owned(), 40),
        ("sum(i in 1..n: (x[i-1] + i)*(i - x[i])^2)".to_owned(), 70),
        ("-20*exp(-0.2*sqrt(sum(i in 0..n: x[i]^2)/n)) - exp(sum(i in 0..n: cos(2*pi*x[i]))/n) + 20 + e".to_owned(), 13),
        ("(x[0] - 1)^2 + (x[1] + 2)^2".to_owned(), 2),
        ("if(x[0] < x[1] and x[2] >= 0, min(x[3], x[4]), max(x[1], x[2]) == 0)".to_owned(), 21),
        ("x[0]^x[1] + atan2(x[2], x[3])".to_owned(), 5),
        ("1".to_owned(), 3),
        ("x[0]".to_owned(), 1),
        ("log(x[0])".to_owned(), 1),
    ];
    for function in Unary::ALL {
        let word = function.word();
        formulas.push((format!("sum(i in 0..n: {word}(x[i]/2))"), 6));
        formulas.push((format!("{word}(x[1]) + {word}(x[0]/3)"), 3));
    }
    formulas
}

fn layout<S: Scalar>(text: &str, dims: usize) -> Layout<S> {
    Formula::parse(text).unwrap().layout(None, dims).unwrap()
}

#[test]
fn sums_of_like_terms_are_dealt_out() {
    let reach = |text, dims| layout::<f64>(text, dims).reach();
    assert_eq!(reach(RASTRIGIN, 5), Reach::Own);
    assert_eq!(reach(ROSENBROCK, 5), Reach::Next);
    assert_eq!(reach("sum(i in 1..n: (x[i] - x[i-1])^2)", 5), Reach::Next);
    assert_eq!(reach("1/(1 + sum(i in 0..n: abs(x[i]))^2)", 5), Reach::Own);
    // Coefficients that differ, of which one is 1 and left out.
    assert_eq!(reach("sum(i in 0..n: (i + 1)*x[i]^2)", 5), Reach::Own);
    assert_eq!(reach("sum(i in 0..n: x[i]^2/(i + 1))", 5), Reach::Own);
    assert_eq!(reach("sum(i in 0..n: (i - x[i])*(2*i + 3 + x[i]))", 5), Reach::Own);
    // Two sums, other coordinates, terms that are not alike, and no sum at all.
    for other in [
        "sum(i in 0..n: x[i]^2) + sum(i in 0..n: x[i])",
        "sum(i in 0..n: x[i]*x[0])",
        "sum(i in 0..n: x[n-1-i]^2*(1 + i))",
        "sum(i in 0..n: x[i]^(i + 1))",
        "sum(i in 0..n-2: x[i]^2)",
        "x[0]*sum(i in 0..n: x[i]^2)",
        "x[0]^2 + x[1]^2 + x[2]^2 + x[3]^2 + x[4]^2",
        "product(i in 0..n: x[i])",
    ] {
        assert_eq!(reach(other, 5), Reach::All, "{other}");
    }
}

#[test]
fn what_differs_from_term_to_term_is_a_table() {
    let Layout::Sum { data, term, .. } = layout::<f64>("sum(i in 0..n: (i + 1)*x[i]^2/(2 + i))", 3)
    else {
        panic!("no sum")
    };
    assert_eq!(data, [1.0, 2.0, 3.0, 2.0, 3.0, 4.0]);
    let columns = term.0.iter().filter(|node| matches!(node, Node::Datum(_))).count();
    assert_eq!(columns, 2);
    assert!(layout::<f64>(RASTRIGIN, 9).data().is_empty());
}

/// What the lines of a hole calculate; registers keep their values from hole to hole.
pub(super) fn interpreted<S: Scalar>(
    lines: &[Line],
    values: &mut HashMap<String, S>,
    given: (u32, &[S]),
) -> S {
    run_lines(lines, values, given);
    values["%hole_to"]
}

/// Runs the lines of a hole.
pub(super) fn run_lines<S: Scalar>(
    lines: &[Line],
    values: &mut HashMap<String, S>,
    (index, data): (u32, &[S]),
) {
    let number = |text: &str, values: &HashMap<String, S>| match text.split_at_checked(2) {
        Some(("0f", bits)) => {
            S::nearest(f64::from(f32::from_bits(u32::from_str_radix(bits, 16).unwrap())))
        }
        Some(("0d", bits)) => S::nearest(f64::from_bits(u64::from_str_radix(bits, 16).unwrap())),
        _ => *values.get(text).unwrap_or_else(|| panic!("{text} has no value")),
    };
    let mut truths: HashMap<String, bool> = HashMap::new();
    let mut at = 0;
    while at < lines.len() {
        let text = match &lines[at] {
            Line::Operation { word, to, from } => {
                let from: Vec<S> = from.iter().map(|from| number(from, values)).collect();
                let value = match from[..] {
                    [a] => one(*Unary::ALL.iter().find(|one| one.word() == *word).unwrap(), a),
                    [a, b] => {
                        two(*Binary::ALL.iter().find(|two| two.word() == *word).unwrap(), a, b)
                    }
                    _ => panic!("{word} of {} numbers", from.len()),
                };
                values.insert(to.clone(), value);
                at += 1;
                continue;
            }
            Line::Text(text) => text.strip_suffix(';').unwrap_or(text),
        };
        at += 1;
        let (instruction, operands) = text.split_once(' ').unwrap_or((text, ""));
        let operands: Vec<&str> = operands.split(',').collect();
        let label = |label: &str| {
            lines.iter().position(|line| *line == Line::Text(format!("{label}:"))).unwrap()
        };
        let parts: Vec<&str> = instruction.split('.').collect();
        let value = match parts[..] {
            // Declarations, the address of the table, and labels.
            ["", ..] | ["mul", "wide", _] | ["add", "s64"] | ["cvta", ..] => continue,
            [name] if name.ends_with(':') => continue,
            ["bra"] => {
                at = label(operands[0]);
                continue;
            }
            ["@%q"] => {
                if truths["%q"] {
                    at = label(operands[0].strip_prefix("bra ").unwrap());
                }
                continue;
            }
            ["setp", "ge", "u32"] => {
                assert_eq!(operands[1], "%hole_index");
                truths.insert(operands[0].to_owned(), index >= operands[2].parse().unwrap());
                continue;
            }
            ["setp", "lt", _] => {
                let is_less = number(operands[1], values) < number(operands[2], values);
                truths.insert(operands[0].to_owned(), is_less);
                continue;
            }
            ["ld", "global", "nc", _] => {
                let offset = operands[1].strip_prefix("[%vat+").unwrap().strip_suffix(']').unwrap();
                data[offset.parse::<usize>().unwrap() / size_of::<S>() + index as usize]
            }
            ["selp", _] => {
                number(if truths[operands[3]] { operands[1] } else { operands[2] }, values)
            }
            ref parts => {
                let from: Vec<S> = operands[1..].iter().map(|from| number(from, values)).collect();
                match (parts, &from[..]) {
                    (["mov", _], &[a]) => a,
                    (["neg", _], &[a]) => -a,
                    (["abs", _], &[a]) => a.abs(),
                    (["sqrt", "rn", _], &[a]) => a.sqrt(),
                    (["add", "rn", _], &[a, b]) => a + b,
                    (["sub", "rn", _], &[a, b]) => a - b,
                    (["mul", "rn", _], &[a, b]) => a * b,
                    (["div", "rn", _], &[a, b]) => a / b,
                    (["fma", "rn", _], &[a, b, c]) => a.fma(b, c),
                    _ => panic!("{text} is unknown"),
                }
            }
        };
        values.insert(operands[0].to_owned(), value);
    }
}

/// Models: parameters, columns, and the formula.
pub(super) const MODELS: [(&[&str], &[&str], &str); 9] = [
    (
        &["amp", "rate", "f", "phase", "base"],
        &["t"],
        "amp*exp(-rate*t)*cos(2*pi*f*t + phase) + base",
    ),
    (&["a", "b", "c"], &["u", "v"], "a + b*u + c*v^2"),
    (&["a", "b"], &["t"], "exp(a)*t + if(t < b, erf(a)*t, a^2)"),
    (&["a"], &[], "a^2 + 1"),
    (&[], &["t"], "t"),
    (&["a", "b"], &["t"], "sqrt(abs(a)) + gamma(b)"),
    (
        &["a", "b", "c", "d", "g"],
        &["q", "r", "s", "t", "u", "v", "w", "x1", "y1"],
        "a*q + b*r + c*s + d*t + g*u + a*b*v + w/x1 + y1^c",
    ),
    (&["k"], &["q", "r", "s", "t"], "k*q*r*s*t"),
    (&["k"], &["q", "r", "s", "t", "u"], "k*q*r*s*t*u"),
];

/// Names as a formula takes them.
pub(super) fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn row_layout<S: Scalar>((parameters, columns, text): (&[&str], &[&str], &str)) -> RowLayout<S> {
    Formula::parse(text).unwrap().row_layout(&owned(parameters), &owned(columns)).unwrap()
}

/// The prediction that the PTX calculates for a row, hole by hole as the template does.
fn prediction<S: Scalar>(filling: &Filling, parameters: &[S], arguments: &[S]) -> S {
    let [(_, take), (_, once), (_, more), (_, row)] = &filling.holes[..] else {
        panic!("four holes")
    };
    let mut values = HashMap::new();
    let zero = S::ZERO;
    let give = |values: &mut HashMap<String, S>, four: &[S]| {
        for (nth, name) in ["x", "y", "z", "w"].into_iter().enumerate() {
            values.insert(format!("%hole_{name}"), four.get(nth).copied().unwrap_or(zero));
        }
        values.insert("%hole_sum".into(), zero);
    };
    for (index, four) in (0..).zip(parameters.chunks(4)) {
        give(&mut values, four);
        interpreted(take, &mut values, (index, &[]));
    }
    run_lines(once, &mut values, (0, &[]));
    for (index, four) in (0..).zip(arguments.chunks(4)).skip(1) {
        give(&mut values, four);
        interpreted(more, &mut values, (index, &[]));
    }
    give(&mut values, &arguments[..arguments.len().min(4)]);
    interpreted(row, &mut values, (0, &[]))
}

/// Checks that two numbers have the same bits, or are both NaN.
pub(super) fn assert_same<S: Scalar>(got: S, expected: S, what: &str) {
    let bits = |number: S| number.to_f64().to_bits();
    let both_nan = got.to_f64().is_nan() && expected.to_f64().is_nan();
    assert!(
        both_nan || bits(got) == bits(expected),
        "{what} in {}: {got}, not {expected}",
        S::NAME
    );
}

fn same_model_in<S: Scalar>(model: (&[&str], &[&str], &str)) {
    let (parameters, columns, text) = model;
    let formula = Formula::parse(text).unwrap();
    let program = formula.program::<S>(Some(&owned(parameters)), 0, &owned(columns)).unwrap();
    let filling = Filling::of_row(&row_layout::<S>(model));
    let mut rows = vec![[S::ZERO]; program.rows];
    program.place_constants(&mut rows);
    for point in 0..12_u32 {
        let at = |d: usize| f64::from((point * 977 + d as u32 * 131) % 613) / 61.3 - 3.0;
        let x: Vec<S> = (0..program.inputs).map(|d| S::nearest(at(d))).collect();
        for (row, &x) in rows.iter_mut().zip(&x) {
            *row = [x];
        }
        run(&program.once, &mut rows, 1);
        run(&program.each, &mut rows, 1);
        let expected = rows[program.result][0];
        let (parameters, arguments) = x.split_at(parameters.len());
        let got = prediction(&filling, parameters, arguments);
        assert_same(got, expected, &format!("{text} at {x:?}"));
    }
}

#[test]
fn the_ptx_of_models_calculates_what_the_cpu_does() {
    for model in MODELS {
        same_model_in::<f32>(model);
        same_model_in::<f64>(model);
    }
}

#[test]
fn what_depends_on_parameters_alone_is_calculated_once() {
    let layout = row_layout::<f64>((&["a", "b"], &["t"], "exp(a)*t + sin(b)*cos(t)"));
    let words = |nodes: &[Node<f64>]| -> Vec<&str> {
        let word = |node: &Node<f64>| match node {
            Node::Computed(Operation::One(function), _) => Some(function.word()),
            _ => None,
        };
        nodes.iter().filter_map(word).collect()
    };
    let (once, each) = layout.code.0.split_at(layout.once);
    assert_eq!((words(once), words(each)), (vec!["exp", "sin"], vec!["cos"]));
}

/// The value that the PTX calculates, hole by hole as the templates do.
fn value<S: Scalar>(layout: &Layout<S>, x: &[S]) -> S {
    let filling = Filling::new(layout);
    let [(_, first), (_, finish)] = &filling.holes[..] else { panic!("two holes") };
    let mut values = HashMap::new();
    let set = |values: &mut HashMap<String, S>, name: &str, value: S| {
        values.insert(format!("%hole_{name}"), value);
    };
    match layout {
        Layout::Sum { reach, data, terms, .. } => {
            let mut fold = Fold::new(*terms);
            for term in 0..*terms as usize {
                set(&mut values, "x", x[term]);
                let next = if *reach == Reach::Next { term + 1 } else { term };
                set(&mut values, "y", x[next]);
                fold.push(Joined(interpreted(first, &mut values, (term as u32, data))));
            }
            let Joined(sum) = fold.finish();
            set(&mut values, "sum", sum);
        }
        Layout::Point { .. } => {
            set(&mut values, "sum", S::ZERO);
            for (index, four) in x.chunks(4).enumerate() {
                for (nth, name) in ["x", "y", "z", "w"].into_iter().enumerate() {
                    set(&mut values, name, four.get(nth).copied().unwrap_or(S::ZERO));
                }
                interpreted(first, &mut values, (index as u32, &[]));
            }
        }
    }
    interpreted(finish, &mut values, (0, &[]))
}

fn same_in<S: Scalar>(text: &str, dims: usize) {
    let formula = Formula::parse(text).unwrap();
    same(&formula.program::<S>(None, dims, &[]).unwrap(), &layout(text, dims), text, dims);
}

/// Formulas that are subject to constraints.
const CONSTRAINED: [(&str, &str, usize); 4] = [
    ("(x[0] - 1)^2 + x[1]*x[2]", "x[0] + x[1] <= 1 and x[2] >= -1 and x[0]*x[2] < 2", 3),
    ("log(x[0]) + x[1]", "x[0] > 0 and x[0] == x[1] + 0.5", 2),
    (RASTRIGIN, "sum(i in 0..n: x[i]) <= 3 and max(i in 0..n: x[i]) <= 2", 9),
    ("1/(x[0] - x[0])", "sqrt(x[1]) <= 1", 2),
];

fn comparisons(text: &str) -> Vec<Comparison> {
    let mut comparisons = Formula::parse(text).unwrap().comparisons().unwrap();
    comparisons.iter_mut().for_each(|comparison| comparison.tolerance = 0.25);
    comparisons
}

fn same_constrained_in<S: Scalar>((text, constraints, dims): (&str, &str, usize)) {
    let formula = Formula::parse(text).unwrap();
    let constraints = comparisons(constraints);
    let scope = Scope { names: None, dims };
    for goal in [Goal::Minimise, Goal::Maximise] {
        let program = scope.constrained::<S>((&formula, goal), &constraints).unwrap();
        let layout = scope.constrained_layout((&formula, goal), &constraints).unwrap();
        same(&program, &layout, text, dims);
    }
}

#[test]
fn the_ptx_of_constraints_calculates_what_the_cpu_does() {
    for constrained in CONSTRAINED {
        same_constrained_in::<f32>(constrained);
        same_constrained_in::<f64>(constrained);
    }
}

fn same<S: Scalar>(program: &Program<S>, layout: &Layout<S>, text: &str, dims: usize) {
    let mut rows = vec![[S::ZERO]; program.rows];
    program.place_constants(&mut rows);
    for point in 0..12_u32 {
        let at = |d: usize| f64::from((point * 977 + d as u32 * 131) % 613) / 61.3 - 3.0;
        let x: Vec<S> = (0..dims).map(|d| S::nearest(at(d))).collect();
        for (row, &x) in rows.iter_mut().zip(&x) {
            *row = [x];
        }
        run(&program.once, &mut rows, 1);
        let expected = defined(rows[program.result][0]);
        let got = value(layout, &x);
        assert_same(got, expected, &format!("{text} at {x:?}"));
    }
}

#[test]
fn the_ptx_calculates_what_the_cpu_does() {
    for (text, dims) in formulas() {
        same_in::<f32>(&text, dims);
        same_in::<f64>(&text, dims);
    }
}

/// Every hole of every kernel is filled, and nothing of a copied function is left in it.
#[cfg(feature = "cuda")]
#[test]
fn kernels_have_no_holes_left() {
    let image = crate::kernel_images().first().expect("one image");
    let kernel = |name: &str| image.text(name);
    for (text, dims, template) in [
        (RASTRIGIN, 5, "formula_own"),
        (ROSENBROCK, 5, "formula_next"),
        ("erf(x[0])^x[1] + gamma(x[8])", 9, "formula_all"),
    ] {
        let filling = Filling::new(&layout::<f32>(text, dims));
        let names = image.names().filter(|name| name.contains(template) && name.ends_with("f32"));
        let names: Vec<&str> = names.collect();
        assert_eq!(names.len(), 7, "{template}: {names:?}");
        for name in names {
            let filled = filling.filled(&image.text(name).unwrap(), &kernel);
            for left in ["_begins;", "_ends;", "formula_erf", "formula_cospi", "[func_retval0],%v"]
            {
                assert!(!filled.contains(left), "{left} in {name}");
            }
            assert_eq!(filled.matches('{').count(), filled.matches('}').count(), "{name}");
            assert!(filled.contains("%v1"), "{name}");
        }
    }
    for model in MODELS {
        let filling = Filling::of_row(&row_layout::<f64>(model));
        let filled = filling.filled(&image.text("fit_sums_formula_row_f64").unwrap(), &kernel);
        for left in ["_begins;", "_ends;", "formula_erf", "formula_cospi", "[func_retval0],%v"] {
            assert!(!filled.contains(left), "{left} in {}", model.2);
        }
        assert_eq!(filled.matches('{').count(), filled.matches('}').count(), "{}", model.2);
    }
    // Where there are many copies of a long one, it is called.
    let many: Vec<String> = (0..40).map(|i| format!("gamma(x[{i}])")).collect();
    let filling = Filling::new(&layout::<f64>(&many.join(" + "), 40));
    let filled = filling.filled(&image.text("swarm_step_formula_all_f64").unwrap(), &kernel);
    assert_eq!(filled.matches("call.uni (%to),formula_gamma_f64").count(), 40);
    assert_eq!(filled.matches(".func  (.param .b64 func_retval0) formula_gamma_f64").count(), 1);
}

/// Writes the kernels of a few formulas into the folder `FLOCKWORK_FILLED`, to be tried with `ptxas`.
#[cfg(feature = "cuda")]
#[test]
#[ignore = "writes files into FLOCKWORK_FILLED, for ptxas"]
fn filled_kernels_are_written() {
    let folder = std::env::var_os("FLOCKWORK_FILLED").expect("FLOCKWORK_FILLED names a folder");
    let folder = Path::new(&folder);
    let image = crate::kernel_images().first().expect("one image");
    let kernel = |name: &str| image.text(name);
    let write = |of: &str, template: &str, filling: &Filling, precision: &str| {
        for name in image.names() {
            if name.contains(template) && name.ends_with(precision) {
                let text = filling.filled(&image.text(name).expect("it is there"), &kernel);
                fs::write(folder.join(format!("{of}_{name}.ptx")), text).unwrap();
            }
        }
    };
    for (nth, (text, constraints, dims)) in CONSTRAINED.into_iter().enumerate() {
        let formula = Formula::parse(text).unwrap();
        let constraints = comparisons(constraints);
        let (scope, of) = (Scope { names: None, dims }, format!("constrained{nth}"));
        let layout = scope.constrained_layout::<f64>((&formula, Goal::Minimise), &constraints);
        write(&of, "evaluate_formula_all", &Filling::new(&layout.unwrap()), "f64");
    }
    let mut written = std::collections::HashSet::new();
    for (nth, (text, dims)) in formulas().into_iter().enumerate() {
        let of = format!("{nth:02}");
        let layout32 = layout::<f32>(&text, dims);
        let template = match layout32.reach() {
            Reach::Own => "formula_own",
            Reach::Next => "formula_next",
            Reach::All => "formula_all",
        };
        // All kernels of the first one of each template; of the others the smallest.
        let template = match written.insert(template) {
            true => template.to_owned(),
            false => format!("evaluate_{template}"),
        };
        write(&of, &template, &Filling::new(&layout32), "f32");
        write(&of, &template, &Filling::new(&layout::<f64>(&text, dims)), "f64");
    }
    for (nth, model) in MODELS.into_iter().enumerate() {
        let of = format!("model{nth}");
        write(&of, "fit_sums_formula_row", &Filling::of_row(&row_layout::<f32>(model)), "f32");
        write(&of, "fit_sums_formula_row", &Filling::of_row(&row_layout::<f64>(model)), "f64");
    }
}
