//! `flockwork paths`: all shortest distances in a graph.

use std::{
    borrow::Cow,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Args;
use flockwork::{
    Error,
    backend::{AnyBackend, Backend, Cpu},
    io::{self, First, GraphHints, NpyElement, ReadGraph},
    paths::{AnyDistances, Distances, Graph, PathOptions, Weight, Weights},
};
use serde_json::{Value, json};

use super::{
    interrupt,
    machine::{Device, GpuMemory},
    outputs::{self, Format},
    parse::{choice, whole},
    progress,
};

#[derive(Args)]
pub struct Arguments {
    /// The graph file, or - for standard input: DIMACS (.gr), Matrix Market (.mtx), an edge list
    /// (FROM TO WEIGHT on each line, separated by blanks or commas), a dense matrix (.npy; infinity
    /// or False means no edge), or a SciPy sparse matrix (.npz). The format is told by the first
    /// bytes; all may be compressed by gzip.
    graph: PathBuf,
    /// Number of the first vertex in the file. auto: as the format says, or, for an edge list, 0 if
    /// a 0 occurs and 1 otherwise.
    #[arg(long, value_parser = choice(First::ALL, First::name), default_value_t = First::default())]
    first: First,
    /// Number of vertices, for an edge list that does not mention all of them.
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    vertices: Option<usize>,
    /// Keep only vertices that occur in an edge, for numbers with large gaps and for names. Queries
    /// and results use the file's numbers and names; the rows of matrices are in the order of
    /// `vertex_names` in the JSON: numbers ascending, names in order of occurrence.
    #[arg(long, conflicts_with_all = ["first", "vertices"])]
    renumber: bool,
    /// A weight that means no edge, such as 0, -1 or 2147483647 in dense matrices.
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    no_edge: Option<f64>,
    /// Take every edge in both directions; of several between two vertices the lightest counts.
    #[arg(long)]
    undirected: bool,
    /// The type to compute in. `auto` uses u16 or i32 if all weights are whole and every distance
    /// is sure to fit, otherwise f64.
    #[arg(
        long,
        short = 'w',
        value_parser = choice(Weights::ALL, Weights::name),
        default_value_t = Weights::default()
    )]
    weights: Weights,
    #[command(flatten)]
    device: Device,
    #[command(flatten)]
    gpu_memory: GpuMemory,
    /// Write all distances: a matrix of the type computed in. Where there is no path it holds
    /// infinity or, for integers, the largest number of the type.
    #[arg(long, value_name = "FILE.npy", help_heading = "Results")]
    distances: Option<PathBuf>,
    /// Write all predecessors: an i4 matrix of vertices from 0, with -9999 where there is none (as
    /// in SciPy).
    #[arg(long, value_name = "FILE.npy", help_heading = "Results")]
    predecessors: Option<PathBuf>,
    /// Print a shortest path between vertices as the file numbers or names them; may be given
    /// several times. A name that contains a comma goes in double quotes, as in CSV: --query
    /// '"Paris, Texas",Dallas'.
    #[arg(long, value_name = "FROM,TO", value_parser = pair, help_heading = "Results")]
    query: Vec<(String, String)>,
    /// Print the eccentricity of each vertex: its greatest distance to a vertex that it reaches.
    #[arg(long, help_heading = "Results")]
    eccentricity: bool,
    /// Print the closeness of each vertex: (r / (n - 1)) * r / (sum of the distances to the r other
    /// vertices that it reaches).
    #[arg(long, help_heading = "Results")]
    closeness: bool,
    /// Print the result as one JSON object.
    #[arg(long, help_heading = "Results")]
    json: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let both = || {
        let (from, to) = match in_quotes(text.trim()) {
            Some((from, rest)) => (from, rest.strip_prefix(',')?.trim()),
            None => {
                let (from, to) = text.split_once(',')?;
                (from.trim().to_owned(), to.trim())
            }
        };
        let to = match in_quotes(to) {
            Some((to, rest)) => rest.is_empty().then_some(to)?,
            None => to.to_owned(),
        };
        (!from.is_empty() && !to.is_empty()).then_some((from, to))
    };
    both().ok_or_else(|| {
        format!(
            "{text:?} is no pair of vertices; expected two, such as 0,17; a name that contains a comma goes in \
             double quotes"
        )
    })
}

/// The double-quoted name at the start of a text, and the text after it.
fn in_quotes(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('"')?;
    let mut name = String::new();
    loop {
        let (part, after) = rest.split_once('"')?;
        name += part;
        // A doubled quote stands for one.
        match after.strip_prefix('"') {
            Some(after) => rest = after,
            None => return Some((name, after.trim_start())),
        }
        name.push('"');
    }
}

/// A name as it is spelled in a query.
fn as_asked(name: &str) -> Cow<'_, str> {
    match name.contains(',') || name.starts_with('"') {
        true => format!("\"{}\"", name.replace('"', "\"\"")).into(),
        false => name.into(),
    }
}

/// The file's names or numbers of vertices.
struct Labels {
    first: usize,
    names: Option<Vec<String>>,
    /// Whether all names are numbers, which JSON shows without quotes.
    numbers: bool,
}

impl Labels {
    fn new(first: usize, names: Option<Vec<String>>) -> Self {
        let numbers = names.iter().flatten().all(|name| name.parse::<u64>().is_ok());
        Self { first, names, numbers }
    }

    fn text(&self, vertex: usize) -> String {
        match &self.names {
            Some(names) => names[vertex].clone(),
            None => (vertex + self.first).to_string(),
        }
    }

    fn json(&self, vertex: usize) -> Value {
        let text = self.text(vertex);
        match text.parse::<u64>() {
            Ok(number) if self.numbers => json!(number),
            _ => json!(text),
        }
    }

    fn find(&self, label: &str, vertices: usize) -> Option<usize> {
        match &self.names {
            Some(names) => names.iter().position(|name| name == label),
            None => {
                let vertex = label.parse::<usize>().ok()?.checked_sub(self.first)?;
                (vertex < vertices).then_some(vertex)
            }
        }
    }

    /// A list of the vertices, for messages.
    fn known(&self, vertices: usize) -> String {
        match (vertices, &self.names) {
            (0, _) => "there are none".to_owned(),
            (1.., Some(names)) if vertices <= 10 => {
                let names: Vec<_> = names.iter().map(|name| as_asked(name)).collect();
                format!("they are {}", names.join(", "))
            }
            (n, Some(names)) => {
                format!("they are {n}, {} to {}", as_asked(&names[0]), as_asked(&names[n - 1]))
            }
            (n, None) => format!("they are {} to {}", self.first, n - 1 + self.first),
        }
    }
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let devices = arguments.device.devices()?;
    outputs::check(
        &[("the graph", Some(&arguments.graph))],
        &[
            ("--distances", arguments.distances.as_deref(), Format::Npy),
            ("--predecessors", arguments.predecessors.as_deref(), Format::Npy),
        ],
    )?;
    let began = Instant::now();
    let hints = GraphHints {
        first: arguments.first,
        vertices: arguments.vertices,
        undirected: arguments.undirected,
        renumber: arguments.renumber,
        no_edge: arguments.no_edge,
        all_pairs: true,
    };
    let ReadGraph { graph, first, names, conflicts, assumed_columns, .. } =
        io::read_graph(&arguments.graph, hints)?;
    let reading = began.elapsed().as_secs_f64();
    // Queries that cannot be answered are refused before anything is computed.
    let labels = Labels::new(first, names);
    let mut queries = Vec::new();
    for (from, to) in &arguments.query {
        let find = |label: &str| {
            labels.find(label, graph.vertices()).ok_or_else(|| {
                let known = labels.known(graph.vertices());
                let [from, to, label] = [&**from, to, label].map(as_asked);
                anyhow::anyhow!("--query {from},{to}: there is no vertex {label}; {known}")
            })
        };
        queries.push((find(from)?, find(to)?));
    }
    let threads = arguments.device.threads;
    let cpu = Cpu::new(threads)?;
    let backend = arguments.gpu_memory.limit(graph.select(devices, threads)?);
    let options =
        PathOptions { paths: arguments.predecessors.is_some() || !arguments.query.is_empty() };
    interrupt::listen()?;
    let bar = progress::blocks(arguments.json);
    let watch = |done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
        if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let distances = AnyDistances::compute(&graph, arguments.weights, &backend, options, watch);
    bar.finish_and_clear();
    let found = Found {
        arguments,
        graph: &graph,
        labels,
        conflicts,
        assumed_columns,
        queries,
        backend: &backend,
        cpu: &cpu,
        reading,
    };
    match distances.map_err(|error| found.told(error))? {
        AnyDistances::F32(distances) => found.report(&distances, f32::INFINITY),
        AnyDistances::F64(distances) => found.report(&distances, f64::INFINITY),
        AnyDistances::I32(distances) => found.report(&distances, i32::MAX),
        AnyDistances::U16(distances) => found.report(&distances, u16::MAX),
    }
}

/// The error with vertices numbered as in the file.
fn renumbered(error: Error, first: usize) -> Error {
    match error {
        Error::NegativeCycle { mut vertices, weight } => {
            vertices.iter_mut().for_each(|vertex| *vertex += first);
            Error::NegativeCycle { vertices, weight }
        }
        Error::RoundedCycle { vertex, distance, weights } => {
            Error::RoundedCycle { vertex: vertex + first, distance, weights }
        }
        Error::Edge { from, to, weight, accepted } => {
            Error::Edge { from: from + first, to: to + first, weight, accepted }
        }
        other => other,
    }
}

/// A hint about a weight that probably stands for no edge, as in dense matrices: the only negative
/// weight, one far beyond all others, or a zero in many places.
fn stand_in(graph: &Graph) -> Option<String> {
    let n = graph.vertices();
    // A sparse graph comes from a list, which leaves out missing edges.
    if n < 2 || graph.edges() < n * (n - 1) / 2 {
        return None;
    }
    let (least, most) = graph.range()?;
    let weights = || (0..n).flat_map(|from| graph.edges_from(from).map(|(_, weight)| weight));
    let among = |what: String, value: f64| {
        Some(format!("{what}; if it means no edge in this file, give --no-edge {value}"))
    };
    if least < 0.0 {
        let is_only = most > least && weights().all(|weight| weight == least || weight >= 0.0);
        return if is_only {
            among(format!("{least} is the only negative weight"), least)
        } else {
            None
        };
    }
    let others = weights().filter(|&weight| weight < most).fold(0.0, f64::max);
    // Such as 9999 among weights of two digits, 2147483647, or 1e9.
    if others > 0.0 && most >= 999.0 && most >= 100.0 * others {
        return among(format!("{most} is far beyond all other weights, up to {others}"), most);
    }
    let zeros = weights().filter(|&weight| weight == 0.0).count();
    if least == 0.0 && 5 * zeros >= n * (n - 1) {
        return among(format!("{zeros} of {} edges weigh 0", graph.edges()), 0.0);
    }
    None
}

/// The results and their context, for the report.
struct Found<'a> {
    arguments: &'a Arguments,
    graph: &'a Graph,
    labels: Labels,
    /// Pairs of vertices of an undirected graph whose edges have different weights.
    conflicts: usize,
    /// Column names that do not tell what the columns are.
    assumed_columns: Option<Vec<String>>,
    /// From and to, in the library's numbering.
    queries: Vec<(usize, usize)>,
    backend: &'a AnyBackend,
    /// Computes what is derived from the result.
    cpu: &'a Cpu,
    /// Seconds.
    reading: f64,
}

impl Found<'_> {
    /// The error with the file's names of vertices, if they differ from the library's, and a hint.
    fn told(&self, error: Error) -> anyhow::Error {
        let is_of_weights = matches!(error, Error::NegativeCycle { .. } | Error::Edge { .. });
        let error = self.by_name(error);
        match stand_in(self.graph).filter(|_| is_of_weights && self.arguments.no_edge.is_none()) {
            Some(hint) => anyhow::anyhow!("{error}\nhint: {hint}"),
            None => error,
        }
    }

    fn by_name(&self, error: Error) -> anyhow::Error {
        let Some(names) = &self.labels.names else {
            return renumbered(error, self.labels.first).into();
        };
        let at = match &error {
            Error::NegativeCycle { vertices, .. } => vertices.clone(),
            Error::RoundedCycle { vertex, .. } => vec![*vertex],
            Error::Edge { from, to, .. } => vec![*from, *to],
            _ => return error.into(),
        };
        let mut said: Vec<_> =
            at.iter().take(10).map(|&vertex| format!("{vertex} is {}", names[vertex])).collect();
        if at.len() > said.len() {
            said.push("...".to_owned());
        }
        anyhow::anyhow!("{error} (numbered anew from 0: {})", said.join(", "))
    }

    /// Hints about input that may have been misunderstood.
    fn hint(&self, diameter: Option<f64>) -> Option<String> {
        let mut hints = Vec::new();
        if self.arguments.no_edge.is_none() {
            if diameter == Some(0.0) {
                let zero = "every distance is 0; if 0 means no edge in this file, give --no-edge 0";
                hints.push(zero.to_owned());
            } else {
                hints.extend(stand_in(self.graph));
            }
        }
        if self.conflicts > 0 {
            let pairs =
                if self.conflicts == 1 { "pair of vertices has" } else { "pairs of vertices have" };
            hints.push(format!(
                "{} {pairs} undirected edges of different weights; the smallest counts",
                self.conflicts
            ));
        }
        if let Some(names) = &self.assumed_columns {
            let ends = if names.len() == 2 { "from, to" } else { "from, to, weight" };
            hints.push(format!("columns {} taken as {ends}", names.join(", ")));
        }
        (!hints.is_empty()).then(|| hints.join("; "))
    }

    /// `none` is written to files where there is no path.
    fn report<W: Weight + NpyElement>(
        &self,
        distances: &Distances<W>,
        none: W,
    ) -> anyhow::Result<()> {
        let arguments = self.arguments;
        let n = distances.vertices();
        let mut paths = Vec::new();
        for &(from, to) in &self.queries {
            paths.push(distances.path(from, to)?);
        }
        // An error from here on must not lose the result, so the report is printed before it is
        // returned.
        let written = self.write(distances, none);
        let report = if arguments.json {
            self.json(distances, &paths)
        } else {
            self.text(distances, &paths)
        };
        super::print(&report)?;
        for (path, written) in written {
            written?;
            if !arguments.json {
                super::print(&format!("written     {}: {n} x {n}\n", path.display()))?;
            }
        }
        Ok(())
    }

    fn write<W: Weight + NpyElement>(
        &self,
        distances: &Distances<W>,
        none: W,
    ) -> Vec<(&Path, flockwork::Result<()>)> {
        let (arguments, n) = (self.arguments, distances.vertices());
        let mut written = Vec::new();
        if let Some(path) = &arguments.distances {
            let entries = distances.matrix().entries().iter();
            let entries = entries.map(|&entry| if entry.reachable() { entry } else { none });
            written.push((&**path, io::write_npy(path, n, n, entries)));
        }
        if let Some(path) = &arguments.predecessors {
            let predecessors = distances.predecessors(self.cpu);
            let result = predecessors.and_then(|all| io::write_npy(path, n, n, all));
            written.push((&**path, result));
        }
        written
    }

    /// Relaxations per second: n^3 over the time, also where symmetry saves half of them.
    fn rate<W: Weight>(&self, distances: &Distances<W>) -> f64 {
        (distances.vertices() as f64).powi(3) / distances.elapsed().as_secs_f64()
    }

    fn json<W: Weight>(&self, distances: &Distances<W>, paths: &[Option<Vec<usize>>]) -> String {
        let (arguments, graph, summary) = (self.arguments, self.graph, distances.summary());
        let queries = self.queries.iter().zip(paths).map(|(&(from, to), path)| {
            let length = distances.get(from, to).map(Weight::to_f64);
            let path = path.as_ref().map(|path| {
                path.iter().map(|&vertex| self.labels.json(vertex)).collect::<Vec<_>>()
            });
            let (from, to) = (self.labels.json(from), self.labels.json(to));
            json!({ "from": from, "to": to, "length": length, "path": path })
        });
        let mut object = json!({
            "graph": arguments.graph.to_string_lossy(),
            "vertices": graph.vertices(),
            "first_vertex": self.labels.first,
            "edges": graph.edges(),
            "undirected": graph.is_symmetric(),
            "least_weight": graph.range().map(|range| range.0),
            "greatest_weight": graph.range().map(|range| range.1),
            "weights": W::NAME,
            "backend": { "name": self.backend.name(), "description": self.backend.description() },
            "reachable_pairs": summary.pairs,
            "diameter": summary.diameter,
            "mean_distance": summary.mean,
            "seconds": distances.elapsed().as_secs_f64(),
            "reading_seconds": self.reading,
            "relaxations_per_second": self.rate(distances),
            "queries": queries.collect::<Vec<_>>(),
        });
        if let Some(names) = &self.labels.names {
            let names = (0..names.len()).map(|vertex| self.labels.json(vertex));
            object["first_vertex"] = Value::Null;
            object["vertex_names"] = names.collect();
        }
        if let Some(hint) = self.hint(summary.diameter) {
            object["hint"] = json!(hint);
        }
        if arguments.eccentricity {
            object["eccentricity"] = json!(distances.eccentricities());
        }
        if arguments.closeness {
            object["closeness"] = Value::from(distances.closeness());
        }
        format!("{object}\n")
    }

    fn text<W: Weight>(&self, distances: &Distances<W>, paths: &[Option<Vec<usize>>]) -> String {
        let (arguments, graph, summary) = (self.arguments, self.graph, distances.summary());
        let n = graph.vertices();
        let weights = match graph.range() {
            Some((least, most)) => format!("weights {least} to {most}"),
            None => "no edges".to_owned(),
        };
        let kind = if graph.is_symmetric() { "undirected" } else { "directed" };
        let chosen = if arguments.weights == Weights::Auto { ", chosen from the data" } else { "" };
        let number =
            |value: Option<f64>| value.map_or("none".to_owned(), |value| value.to_string());
        let mut text = format!(
            "{}: {n} vertices, {} edges, {kind}, {weights}\n\
             back end    {}: {}; computed in {}{chosen}\n\
             done        in {:.3} s: {:.4e} relaxations a second (reading {:.3} s)\n\
             connected   {} of {} pairs\n\
             diameter    {}\n\
             mean        {}\n",
            arguments.graph.display(),
            graph.edges(),
            self.backend.name(),
            self.backend.description(),
            W::NAME,
            distances.elapsed().as_secs_f64(),
            self.rate(distances),
            self.reading,
            summary.pairs,
            n as u64 * (n as u64).saturating_sub(1),
            number(summary.diameter),
            number(summary.mean),
        );
        if self.labels.names.is_some() {
            text += "renumbered  only the vertices that occur, under the file's names\n";
        }
        if let Some(hint) = self.hint(summary.diameter) {
            text += &format!("hint        {hint}\n");
        }
        for (&(from, to), path) in self.queries.iter().zip(paths) {
            let length = distances.get(from, to);
            let (from, to) = (self.labels.text(from), self.labels.text(to));
            text += &match (path, length) {
                (Some(path), Some(length)) => {
                    let vertices: Vec<_> =
                        path.iter().map(|&vertex| self.labels.text(vertex)).collect();
                    format!("{from} to {to}: length {length}: {}\n", vertices.join(" -> "))
                }
                _ => format!("{from} to {to}: no path\n"),
            };
        }
        if arguments.eccentricity || arguments.closeness {
            let (eccentricities, closeness) = (distances.eccentricities(), distances.closeness());
            let mut columns = vec!["vertex"];
            columns.extend(arguments.eccentricity.then_some("eccentricity"));
            columns.extend(arguments.closeness.then_some("closeness"));
            text += &(columns.join("\t") + "\n");
            for (vertex, (most, close)) in eccentricities.into_iter().zip(closeness).enumerate() {
                let mut fields = vec![self.labels.text(vertex)];
                fields.extend(arguments.eccentricity.then(|| number(most)));
                fields.extend(arguments.closeness.then(|| close.to_string()));
                text += &(fields.join("\t") + "\n");
            }
        }
        text
    }
}
