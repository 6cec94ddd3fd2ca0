//! Distances and paths on any back end, compared with the CPU's.

use flockwork::{
    Result,
    backend::Cpu,
    paths::{Graph, Length, PathOptions, Solver, Weights},
    random::stream::PhiloxStream,
};
use rand::{Rng, SeedableRng};

/// The weights of a random graph.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Real numbers.
    Real,
    /// Whole numbers.
    Whole,
    /// Whole numbers below 4: many paths of the same length.
    Ties,
    /// Whole numbers of both signs, and no negative cycle.
    Signed,
}

/// A graph of `n` vertices with about `degree` edges each.
pub fn random(n: usize, degree: f64, kind: Kind, seed: u64) -> Graph {
    let mut generator = PhiloxStream::seed_from_u64(seed);
    let share = (degree / n.max(1) as f64).min(1.0);
    // A potential: gained by leaving a vertex and lost by entering it, so it cancels along any
    // cycle.
    let worth: Vec<f64> = (0..n).map(|_| f64::from(generator.random_range(0..300_u16))).collect();
    let mut edges = Vec::new();
    for from in 0..n {
        for to in (0..n).filter(|&to| to != from) {
            if generator.random_bool(share) {
                let whole = f64::from(generator.random_range(0..100_u16));
                let weight = match kind {
                    Kind::Real => generator.random_range(0.0..1000.0),
                    Kind::Whole => whole,
                    Kind::Ties => whole % 4.0,
                    Kind::Signed => whole + worth[from] - worth[to],
                };
                edges.push((from as u32, to as u32, weight));
            }
        }
    }
    Graph::new(n, edges).expect("weights are finite and vertices exist")
}

/// The same with every edge in both directions; no weight is negative.
pub fn undirected(n: usize, degree: f64, kind: Kind, seed: u64) -> Graph {
    let there = random(n, degree / 2.0, kind, seed);
    let edges = (0..n).flat_map(|from| {
        let edges = there.edges_from(from);
        edges.flat_map(move |(to, weight)| [(from, to, weight.abs()), (to, from, weight.abs())])
    });
    let edges: Vec<_> = edges.map(|(from, to, weight)| (from as u32, to as u32, weight)).collect();
    let graph = Graph::new(n, edges).expect("as the one it is made of");
    assert!(graph.is_symmetric());
    graph
}

/// Checks that a back end finds the CPU's distances and paths, bit for bit.
pub fn same<W: Length + PartialEq>(graph: &Graph, solver: &impl Solver, what: &str) -> Result<()> {
    for paths in [false, true] {
        same_with::<W>(graph, solver, PathOptions { paths }, what)?;
    }
    Ok(())
}

/// The same, with these options.
pub fn same_with<W: Length + PartialEq>(
    graph: &Graph,
    solver: &impl Solver,
    options: PathOptions,
    what: &str,
) -> Result<()> {
    let cpu = Cpu::new(0)?;
    let expected = graph.distances::<W>(&cpu, options)?;
    let found = graph.distances::<W>(solver, options)?;
    assert!(found.matrix() == expected.matrix(), "{what} in {}: other distances", W::NAME);
    if options.paths {
        let (found, expected) = (found.predecessors(&cpu)?, expected.predecessors(&cpu)?);
        assert!(found == expected, "{what} in {}: other paths", W::NAME);
    }
    Ok(())
}

/// The same, in every type that holds the weights.
pub fn same_in_all(graph: &Graph, kind: Kind, solver: &impl Solver, what: &str) -> Result<()> {
    same::<f32>(graph, solver, what)?;
    same::<f64>(graph, solver, what)?;
    if !matches!(kind, Kind::Real) {
        same::<i32>(graph, solver, what)?;
    }
    // Chosen if no distance can overflow it.
    if Weights::Auto.settled(graph) == Weights::U16 {
        same::<u16>(graph, solver, what)?;
    }
    Ok(())
}
