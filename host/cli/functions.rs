//! `flockwork functions`: the built-in functions.

use anyhow::bail;
use clap::Args;
use flockwork::{
    objective::{Data, Info, Optimum},
    registry::OBJECTIVES,
};
use serde_json::{Value, json};

use super::{
    calibrations::{self, Case},
    parse::whole,
    problem::{fewest_dims, info},
    report::sought,
};

#[derive(Args)]
pub struct Arguments {
    /// The function to describe [default: all].
    name: Option<String>,
    /// Number of dimensions for which to give the optimum [default: 2, or the fewest the function
    /// takes].
    #[arg(long, short = 'd', requires = "name", value_parser = whole::<u32>)]
    dims: Option<u32>,
    /// Print JSON: an object for one function, an array for all.
    #[arg(long)]
    json: bool,
}

/// The largest number of dimensions for which a position is computed: it fits in any machine's
/// memory.
const MOST: u32 = 1_000_000;

/// The functions and their formulas, for `--help`.
pub fn summary() -> String {
    let mut list = String::from("Functions:\n");
    for info in OBJECTIVES {
        list += &format!("  {:<15} {}\n", info.name, info.formula);
    }
    list += &format!("\n{}\n", calibrations::SUMMARY);
    list + "\n`flockwork functions` gives their intervals, optima and sources.\n"
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let text = match &arguments.name {
        None if arguments.json => {
            let all: Vec<_> =
                OBJECTIVES.iter().map(|info| object(info, fewest_dims(info))).collect();
            format!("{}\n", Value::from(all))
        }
        None => {
            let all: Vec<_> =
                OBJECTIVES.iter().map(|info| entry(info, fewest_dims(info))).collect();
            all.join("\n")
        }
        Some(name) => {
            let info = info(name)?;
            if let Some(case) = calibrations::find(name) {
                if let Some(dims) = arguments.dims.filter(|&dims| dims != case.dims) {
                    bail!("{name} has {} dimensions, not {dims}", case.dims);
                }
                let of_case = if arguments.json { case_object } else { case_entry };
                return super::print(&of_case(info, case));
            }
            let dims = arguments.dims.unwrap_or_else(|| fewest_dims(info));
            if !info.dimensions.contains(dims) {
                bail!("{name} is defined for {} dimensions, not for {dims}", info.dimensions);
            }
            if dims > MOST {
                bail!("{name} can be described in up to {MOST} dimensions, not in {dims}");
            }
            if arguments.json { format!("{}\n", object(info, dims)) } else { entry(info, dims) }
        }
    };
    super::print(&text)
}

/// The position of the optimum, if it is a known point.
fn position(info: &Info, dims: u32) -> Option<Vec<f64>> {
    (0..dims).map(|d| info.optimum.coordinate(dims, d)).collect()
}

fn entry(info: &Info, dims: u32) -> String {
    let (lower, upper) = info.interval;
    let sought = sought(info.goal);
    let optimum = match (info.optimum.value(dims), position(info, dims)) {
        (Some(value), Some(at)) => {
            let first = at.first().copied().unwrap_or_default();
            let same = at.iter().all(|&x| x == first);
            let shown: Vec<_> = at.iter().take(8).map(|x| x.to_string()).collect();
            let more = if at.len() > 8 { ", ..." } else { "" };
            let place = match same {
                true => format!("{first} in every dimension"),
                false => format!("({}{more})", shown.join(", ")),
            };
            match info.optimum {
                Optimum::At { .. } => format!("{value}, at {place}"),
                _ => format!("{value}, at {place} (in {dims} dimensions)"),
            }
        }
        (Some(value), None) => format!("{value}, at many points (in {dims} dimensions)"),
        (None, _) if info.data == Data::Rows => "depends on the data".to_owned(),
        (None, _) if info.data == Data::Instance => "depends on function and instance".to_owned(),
        (None, _) => format!("not known in {dims} dimensions"),
    };
    let data = match info.data {
        Data::None => "",
        Data::Rows => "  data        a table of rows: coefficients and a target each (--data)\n",
        Data::Instance => {
            "  data        generated: a function from 1 to 24 and an instance (bench bbob)\n"
        }
    };
    format!(
        "{}\n  formula     {}\n  interval    [{lower}, {upper}] in each dimension\n  dimensions  \
         {}\n  {sought}     {optimum}\n{data}  source      {}\n",
        info.name, info.formula, info.dimensions, info.source
    )
}

fn object(info: &Info, dims: u32) -> Value {
    let (lower, upper) = info.interval;
    json!({
        "name": info.name,
        "formula": info.formula,
        "source": info.source,
        "interval": [lower, upper],
        "dimensions": info.dimensions.to_string(),
        "goal": sought(info.goal),
        "needs_data": info.data == Data::Rows,
        "optimum": {
            "dims": dims,
            "value": info.optimum.value(dims),
            "position": position(info, dims),
        },
    })
}

fn case_entry(info: &Info, case: &Case) -> String {
    let &Case { name, dims, rows, side, minimum } = case;
    let about = match minimum {
        0.0 => "0, at 1 in every dimension".to_owned(),
        _ => format!("about {minimum}"),
    };
    format!(
        "{name}\n  formula     {}\n  interval    [-{side}, {side}] in each dimension\n  dimensions  \
         {dims}\n  minimum     {about}, with the thesis's data\n  data        {rows} rows: {dims} \
         coefficients and a target each (--data {})\n  source      Hosala 2014, {name}\n",
        info.formula,
        calibrations::file(dims, rows).display()
    )
}

fn case_object(info: &Info, case: &Case) -> String {
    let &Case { name, dims, rows, side, minimum } = case;
    let object = json!({
        "name": name,
        "formula": info.formula,
        "source": format!("Hosala 2014, {name}"),
        "interval": [-side, side],
        "dimensions": dims.to_string(),
        "goal": sought(info.goal),
        "needs_data": true,
        "rows": rows,
        "file": calibrations::file(dims, rows),
        // With the thesis's data.
        "optimum": {
            "dims": dims,
            "value": minimum,
            "position": (minimum == 0.0).then(|| vec![1.0; dims as usize]),
        },
    });
    format!("{object}\n")
}
