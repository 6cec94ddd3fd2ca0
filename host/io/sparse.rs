//! Sparse matrices as written by `scipy.sparse.save_npz`: named arrays of indices and data.

use super::{
    list::{First, GraphHints, List, MOST, shown},
    npy, npz,
};
use crate::{memory, paths::Edge};

const ACCEPTED: &str = "accepted are one square matrix, and what scipy.sparse.save_npz writes in the formats \
                        csr, csc and coo";

pub fn read(members: &[npz::Member<'_>], hints: GraphHints) -> Result<List, String> {
    let found =
        |name: &str| members.iter().find(|member| member.0 == name).map(|member| &*member.1);
    let Some(format) = found("format") else {
        let names: Vec<_> = members.iter().take(10).map(|member| shown(&member.0)).collect();
        return Err(format!(
            "it is an archive of {} arrays ({}); {ACCEPTED}",
            members.len(),
            names.join(", ")
        ));
    };
    let format = npy::word(format).map_err(|message| format!("format: {message}"))?;
    let array = |name: &str, kinds| {
        let bytes = found(name).ok_or_else(|| {
            format!(
                "it says that it is a sparse matrix in the format {}, but has no array {name}",
                shown(&format)
            )
        })?;
        let array = npy::columns(bytes, kinds).map_err(|message| format!("{name}: {message}"))?;
        match array.columns {
            1 => Ok(array),
            _ => Err(format!("{name}: it has two dimensions; accepted is one")),
        }
    };
    let whole = |name: &str| array(name, WHOLE);
    // The arrays with the row and the column of each entry.
    let (major, minor) = match &*format {
        "csr" | "csc" => ("indptr", "indices"),
        "coo" => ("row", "col"),
        _ => {
            return Err(format!(
                "it is a sparse matrix in the format {}; {ACCEPTED}",
                shown(&format)
            ));
        }
    };
    let (shape, major, minor) = (whole("shape")?, whole(major)?, whole(minor)?);
    let data = array("data", npy::ALL)?;
    let side = |at: usize| if at < shape.rows { shape.at(at, 0) } else { f64::NAN };
    let n = side(0);
    if shape.rows != 2 || n != side(1) || !(0.0..=MOST as f64).contains(&n) {
        let sides: Vec<_> = (0..shape.rows.min(4)).map(|at| side(at).to_string()).collect();
        return Err(format!(
            "it is an array of shape ({}); a graph has as many rows as columns, up to {MOST}",
            sides.join(", ")
        ));
    }
    let n = n as usize;
    if let Some(said) = hints.vertices.filter(|&said| said != n) {
        return Err(format!(
            "it has {n} rows and therefore {n} vertices; --vertices {said} is only for lists that do not state \
             their number"
        ));
    }
    let entries = data.rows;
    if minor.rows != entries || (format == "coo" && major.rows != entries) {
        return Err(format!(
            "it has {entries} numbers in data, and not as many indices: it is damaged"
        ));
    }
    let vertex = |array: &npy::Array<'_>, at: usize, name: &str| {
        let index = array.at(at, 0);
        if (0.0..n as f64).contains(&index) {
            return Ok(index as u32);
        }
        Err(format!("entry {at} (from 0) of {name} is {index}, and the matrix has {n} rows"))
    };
    // The list while it is read, and the graph, in both directions.
    let both = if hints.undirected { 2 } else { 1 };
    memory::check(both * entries as u128 * (size_of::<Edge>() as u128 + 12))
        .map_err(|error| format!("it has {entries} entries: {error}"))?;
    let mut edges = Vec::with_capacity(entries);
    let first = if hints.first == First::One { 1 } else { 0 };
    let mut add = |from: u32, to: u32, at: usize| {
        let weight = data.at(at, 0);
        if data.is_false(at, 0) || weight == f64::INFINITY {
            return Ok(());
        }
        if !weight.is_finite() {
            return Err(format!(
                "entry {at} (from 0) of data is {weight}; accepted are finite weights, and infinity for no \
                 edge"
            ));
        }
        if !data.is_exact(at, 0) && hints.no_edge != Some(weight) {
            return Err(format!(
                "entry {at} (from 0) of data is a whole number beyond 2^53 that f64 cannot represent"
            ));
        }
        edges.push(Edge { from: from + first, to: to + first, weight });
        Ok(())
    };
    if format == "coo" {
        for at in 0..entries {
            add(vertex(&major, at, "row")?, vertex(&minor, at, "col")?, at)?;
        }
    } else {
        if major.rows != n + 1 || major.at(0, 0) != 0.0 || major.at(n, 0) != entries as f64 {
            return Err(format!(
                "its indptr does not lead from 0 to {entries} in {n} steps: it is damaged"
            ));
        }
        for line in 0..n {
            let (from, to) = (major.at(line, 0), major.at(line + 1, 0));
            if from > to || to > entries as f64 {
                return Err(format!(
                    "entry {} (from 0) of indptr is {to}: it is damaged",
                    line + 1
                ));
            }
            for at in from as usize..to as usize {
                let other = vertex(&minor, at, "indices")?;
                let line = line as u32;
                let (from, to) = if format == "csr" { (line, other) } else { (other, line) };
                add(from, to, at)?;
            }
        }
    }
    Ok(List {
        edges,
        vertices: n,
        first: first as usize,
        symmetric: false,
        names: None,
        taken: None,
    })
}

/// Kinds of indices.
const WHOLE: &[&str] = &["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"];
