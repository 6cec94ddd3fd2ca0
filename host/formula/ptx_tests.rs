//! The PTX of formulas, without a GPU: its layout, its text, and what it calculates.

use std::{collections::HashMap, fs, path::Path};

use flockwork_device::{
    formula::{Binary, Unary, one, two},
    math::Scalar,
    objective::{Reach, sum::Fold},
};

use super::{
    Filling, Formula, Layout,
    layout::Node,
    machine::Operation,
    ptx::Line,
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
    let Layout::Sum { data, term, .. } = layout::<f64>("sum(i in 0..n: (i + 1)*x[i]^2/(2 + i))", 3) else {
        panic!("no sum")
    };
    assert_eq!(data, [1.0, 2.0, 3.0, 2.0, 3.0, 4.0]);
    let columns = term.0.iter().filter(|node| matches!(node, Node::Datum(_))).count();
    assert_eq!(columns, 2);
    assert!(layout::<f64>(RASTRIGIN, 9).data().is_empty());
}

/// Writes the kernels of a few formulas into `FLOCKWORK_FILLED`, for `scripts/check-ptx`.
#[cfg(feature = "cuda")]
#[test]
#[ignore = "writes files: scripts/check-ptx runs it"]
fn filled_kernels_are_written() {
    let folder = std::env::var_os("FLOCKWORK_FILLED").expect("FLOCKWORK_FILLED names a folder");
    let folder = Path::new(&folder);
    let image = crate::kernel_images().first().expect("one image");
    let kernel = |name: &str| image.text(name);
    let mut write = |of: &str, template: &str, filling: &Filling, precision: &str| {
        for name in image.names() {
            if name.contains(template) && name.ends_with(precision) {
                let text = filling.filled(&image.text(name).expect("it is there"), &kernel);
                fs::write(folder.join(format!("{of}_{name}.ptx")), text).unwrap();
            }
        }
    };
    for (nth, (text, dims)) in formulas().into_iter().enumerate() {
        let of = format!("{nth:02}");
        let layout32 = layout::<f32>(&text, dims);
        let template = match layout32.reach() {
            Reach::Own => "formula_own",
            Reach::Next => "formula_next",
            Reach::All => "formula_all",
        };
        // All kernels of the first ones; of the others the smallest.
        let template = if nth < 8 { template.to_owned() } else { format!("evaluate_{template}") };
        write(&of, &template, &Filling::new(&layout32), "f32");
        write(&of, &template, &Filling::new(&layout::<f64>(&text, dims)), "f64");
    }
}
