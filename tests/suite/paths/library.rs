//! All-pairs shortest paths compared with plain loops: distances to the last bit, and paths edge by
//! edge.

use flockwork::{
    Error,
    backend::{Cpu, Simd},
    paths::{Distances, Edge, Graph, Length, Matrix, PIVOT, PathOptions, Random, Weight, random},
    random::stream::PhiloxStream,
};
use rand::Rng;

/// The literal definition of the result (`flockwork_device::paths`): distances and vias.
fn by_definition<W: Weight>(n: usize, d: &mut [W]) {
    for block in (0..n).step_by(PIVOT) {
        let pivots = block..(block + PIVOT).min(n);
        let inside = |v: usize| pivots.contains(&v);
        for k in pivots.clone() {
            for i in pivots.clone() {
                for j in pivots.clone() {
                    d[i * n + j] = d[i * n + k].plus(d[k * n + j]).least(d[i * n + j]);
                }
            }
        }
        let before = d.to_vec();
        for k in pivots.clone() {
            for j in (0..n).filter(|&j| !inside(j)) {
                for other in pivots.clone() {
                    let row = before[k * n + other].plus(before[other * n + j]);
                    d[k * n + j] = row.least(d[k * n + j]);
                    let column = before[j * n + other].plus(before[other * n + k]);
                    d[j * n + k] = column.least(d[j * n + k]);
                }
            }
        }
        let before = d.to_vec();
        for i in (0..n).filter(|&i| !inside(i)) {
            for k in pivots.clone() {
                for j in (0..n).filter(|&j| !inside(j)) {
                    d[i * n + j] = before[i * n + k].plus(before[k * n + j]).least(d[i * n + j]);
                }
            }
        }
    }
    d.iter_mut().for_each(|entry| *entry = entry.settled());
}

/// The plain triple loop.
fn plainly<W: Weight>(n: usize, d: &mut [W]) {
    for k in 0..n {
        for i in 0..n {
            let to = d[i * n + k];
            for j in 0..n {
                d[i * n + j] = to.plus(d[k * n + j]).least(d[i * n + j]);
            }
        }
    }
    d.iter_mut().for_each(|entry| *entry = entry.settled());
}

fn start<W: Weight>(graph: &Graph) -> Vec<W> {
    let n = graph.vertices();
    let mut d = vec![W::UNREACHABLE; n * n];
    for from in 0..n {
        d[from * n + from] = W::ZERO;
        for (to, weight) in graph.edges_from(from) {
            d[from * n + to] = W::nearest(weight);
        }
    }
    d
}

/// Kinds of random graphs. Weights are whole unless stated otherwise.
const KINDS: usize = 9;

fn graph(n: usize, kind: usize, seed: u64, signed: bool, real: bool) -> Graph {
    let mut stream = PhiloxStream::new(seed);
    let density = [1.0, 0.5, 4.0 / n.max(1) as f64, 1.2 / n.max(1) as f64][seed as usize % 4];
    // Negative weights without negative cycles: differences of a height, plus something positive.
    let heights: Vec<i64> = (0..n).map(|_| stream.random_range(-40..=40)).collect();
    let mut edges = Vec::new();
    for from in 0..n {
        for to in 0..n {
            if from == to || stream.random::<f64>() >= density {
                continue;
            }
            let weight = match kind {
                0 => stream.random_range(1..=100),
                // Many of equal length, and many of length zero.
                1 => stream.random_range(0..=3),
                2 => stream.random_range(0..=1),
                3 => 0,
                // Mainly cycles of weight zero.
                4 if signed => heights[to] - heights[from],
                5 if signed => heights[to] - heights[from] + stream.random_range(0..=2),
                6 if signed => heights[to] - heights[from] + stream.random_range(0..=60),
                // Detours are shorter.
                7 => 1 + (to as i64 - from as i64).pow(2).min(100),
                _ => stream.random_range(1..=20),
            };
            let weight = match real {
                true if kind.is_multiple_of(2) || kind == 5 => {
                    weight as f64 + stream.random::<f64>()
                }
                // Sums lose the small ones.
                true => weight as f64 * 10_f64.powi(stream.random_range(-6..=6)),
                false => weight as f64,
            };
            edges.push(Edge { from: from as u32, to: to as u32, weight });
        }
    }
    // Every third is undirected, unless that would make cycles negative.
    if seed.is_multiple_of(3) && edges.iter().all(|edge| edge.weight >= 0.0) {
        return Graph::undirected(n, edges).unwrap();
    }
    Graph::new(n, edges).unwrap()
}

/// Checks the vertices of a path, its edges and their sum.
fn check_path(graph: &Graph, path: &[usize], from: usize, to: usize) -> f64 {
    assert_eq!((path.first(), path.last()), (Some(&from), Some(&to)));
    let mut seen = path.to_vec();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), path.len(), "a vertex comes twice: {path:?}");
    let edges = path.windows(2).map(|edge| graph.weight(edge[0], edge[1]).expect("an edge"));
    edges.sum()
}

fn agrees<W: Length + PartialEq>(graph: &Graph, cpu: &Cpu, real: bool, what: &str) {
    let n = graph.vertices();
    let distances: Distances<W> = graph.distances(cpu, PathOptions::default()).unwrap();
    let without: Distances<W> = graph.distances(cpu, PathOptions { paths: false }).unwrap();
    assert!(distances.matrix() == without.matrix(), "{what}: with and without paths");
    let mut defined = start::<W>(graph);
    by_definition(n, &mut defined);
    assert!(distances.matrix().entries() == defined, "{what}: not as defined");
    let mut plain = start::<W>(graph);
    plainly(n, &mut plain);
    let near = |one: f64, other: f64, scale: f64| {
        let allowed = if W::LIMIT < 1e300 { 1e-4 } else { 1e-12 };
        one == other || (one - other).abs() <= allowed * scale
    };
    let scale = graph.range().map_or(0.0, |(least, most)| most.max(-least)) + 1.0;
    let predecessors = distances.predecessors(cpu).unwrap();
    for from in 0..n {
        // In an order in which the predecessor comes first, or it is no tree.
        let mut through = vec![None; n];
        through[from] = Some(0.0);
        for to in 0..n {
            let entry = distances.row(from)[to];
            let (found, expected) = (entry.to_f64(), plain[from * n + to].to_f64());
            if real {
                assert!(near(found, expected, scale), "{what}: {from} to {to}: {found} {expected}");
            } else {
                assert!(entry == plain[from * n + to], "{what}: {from} to {to}");
            }
            let mut at = to;
            let mut trail = vec![];
            while through[at].is_none() && predecessors[from * n + at] >= 0 {
                assert!(trail.len() < n, "{what}: predecessors go in circles");
                trail.push(at);
                at = predecessors[from * n + at] as usize;
            }
            while let (Some(next), Some(sum)) = (trail.pop(), through[at]) {
                through[next] = Some(sum + graph.weight(at, next).expect("an edge"));
                at = next;
            }
            assert_eq!(through[to].is_some(), entry.reachable(), "{what}: {from} to {to}");
            if let Some(sum) = through[to] {
                let same = if real { near(sum, found, scale) } else { sum == found };
                assert!(same, "{what}: {from} to {to}: edges add up to {sum}, not to {found}");
            }
        }
        for to in [0, n / 2, n - 1] {
            let path = distances.path(from, to).unwrap();
            assert_eq!(path.is_some(), distances.get(from, to).is_some());
            if let Some(path) = path {
                let sum = check_path(graph, &path, from, to);
                let found = distances.row(from)[to].to_f64();
                let same = if real { near(sum, found, scale) } else { sum == found };
                assert!(same, "{what}: {from} to {to}: {sum} {found}");
            }
        }
    }
}

fn all_sizes<W: Length + PartialEq>(real: bool, most: usize, every_kind_up_to: usize) {
    let cpu = Cpu::new(1).unwrap();
    let mut seed = 0;
    for n in 0..=most {
        let kinds = if n <= every_kind_up_to { KINDS } else { 1 };
        for nth in 0..kinds {
            let kind = (n + nth) % KINDS;
            seed += 1;
            let graph = graph(n, kind, seed, W::SIGNED, real);
            let what = format!("{}, n = {n}, kind {kind}, seed {seed}", W::NAME);
            agrees::<W>(&graph, &cpu, real, &what);
        }
    }
}

#[test]
fn f32_with_exact_sums() {
    all_sizes::<f32>(false, 200, 24);
}

#[test]
fn f64_with_exact_sums() {
    all_sizes::<f64>(false, 200, 24);
}

#[test]
fn i32_of_any_sign() {
    all_sizes::<i32>(false, 200, 24);
}

#[test]
fn u16_of_all_sizes() {
    all_sizes::<u16>(false, 200, 24);
}

#[test]
fn f32_with_any_weights() {
    all_sizes::<f32>(true, 140, 12);
}

#[test]
fn f64_with_any_weights() {
    all_sizes::<f64>(true, 140, 12);
}

#[test]
#[ignore = "minutes: every kind for every size"]
fn exhaustive_sizes() {
    all_sizes::<f32>(false, 330, 330);
    all_sizes::<f32>(true, 330, 330);
    all_sizes::<f64>(true, 330, 330);
    all_sizes::<i32>(false, 330, 330);
    all_sizes::<u16>(false, 330, 330);
}

/// Every vector width and several numbers of threads.
fn machines() -> Vec<Cpu> {
    let widths = [Simd::Baseline, Simd::Avx2, Simd::Avx512];
    let there = widths.into_iter().filter(|&simd| simd <= Simd::detect());
    there.flat_map(|simd| [1, 2, 3].map(|threads| Cpu::with_simd(threads, simd).unwrap())).collect()
}

fn same_everywhere<W: Length + PartialEq>() {
    let machines = machines();
    // The largest for its number of rounds, once: the kinds differ in no size.
    let kinds: [&[usize]; 2] = [&[0, 5, 1], &[5]];
    for (n, seed, real) in [(97, 3, true), (200, 2, true), (321, 6, false), (64, 1, true)] {
        for &kind in kinds[usize::from(n == 321)] {
            let graph = graph(n, kind, seed, W::SIGNED, real && !W::EXACT);
            let first: Distances<W> =
                graph.distances(&machines[0], PathOptions::default()).unwrap();
            let predecessors = first.predecessors(&machines[0]).unwrap();
            for cpu in &machines[1..] {
                let other: Distances<W> = graph.distances(cpu, PathOptions::default()).unwrap();
                assert!(first.matrix() == other.matrix(), "{} n = {n}", W::NAME);
                assert!(predecessors == other.predecessors(cpu).unwrap(), "{} n = {n}", W::NAME);
            }
        }
    }
}

#[test]
fn threads_and_vectors_change_no_bit() {
    same_everywhere::<f32>();
    same_everywhere::<f64>();
    same_everywhere::<i32>();
    same_everywhere::<u16>();
}

fn product<W: Length + PartialEq>() {
    let mut stream = PhiloxStream::new(5);
    for (rows, inner, columns) in
        [(0, 3, 2), (3, 0, 2), (1, 1, 1), (5, 64, 3), (64, 65, 66), (130, 70, 1), (63, 200, 129)]
    {
        let mut matrix = |rows: usize, columns: usize| {
            let mut entry = |_| match stream.random_range(0..5) {
                0 => W::UNREACHABLE,
                _ => W::nearest(stream.random_range(0..1000).into()),
            };
            Matrix::new(rows, columns, (0..rows * columns).map(&mut entry).collect()).unwrap()
        };
        let (left, right) = (matrix(rows, inner), matrix(inner, columns));
        let entry = |at: usize| {
            let (i, j) = (at / columns, at % columns);
            let sums = (0..inner).map(|k| left.row(i)[k].plus(right.row(k)[j]));
            sums.fold(W::UNREACHABLE, |least, sum| sum.least(least)).settled()
        };
        let expected: Vec<W> = (0..rows * columns).map(entry).collect();
        for cpu in &machines() {
            let product = left.min_plus(&right, cpu).unwrap();
            assert_eq!((product.rows(), product.columns()), (rows, columns));
            assert!(product.entries() == expected, "{} {rows} {inner} {columns}", W::NAME);
        }
    }
}

#[test]
fn the_min_plus_product_is_that_of_three_loops() {
    product::<f32>();
    product::<f64>();
    product::<i32>();
    product::<u16>();
    let cpu = Cpu::new(1).unwrap();
    let large = Matrix::new(1, 1, vec![20_000_u16]).unwrap();
    let message = large.min_plus(&large, &cpu).unwrap_err().to_string();
    assert!(message.contains("40000") || message.contains("4e4"), "{message}");
    let wide = Matrix::new(1, 2, vec![1_u16, 2]).unwrap();
    assert!(matches!(wide.min_plus(&wide, &cpu), Err(Error::Length { found: 2, expected: 1, .. })));
}

#[test]
fn negative_cycles_are_reported_with_their_vertices() {
    let cpu = Cpu::new(1).unwrap();
    let mut found = 0;
    for seed in 0..300 {
        let mut stream = PhiloxStream::new(seed);
        let n = stream.random_range(1..60);
        let density = stream.random::<f64>();
        let edges = (0..n * n).filter_map(|at| {
            let weight = stream.random_range(-3..=40) as f64;
            (stream.random::<f64>() < density).then_some((at / n, at % n, weight))
        });
        let graph = Graph::new(n as usize, edges.collect::<Vec<_>>()).unwrap();
        // Exact; a negative entry is on the diagonal if and only if there is a negative cycle.
        let mut plain = vec![f64::INFINITY; (n * n) as usize];
        plain.copy_from_slice(&start::<f64>(&graph));
        plainly(n as usize, &mut plain);
        let negative = (0..n as usize).any(|v| plain[v * n as usize + v] < 0.0);
        for result in [
            graph.distances::<i32>(&cpu, PathOptions::default()).map(|_| ()),
            graph.distances::<f32>(&cpu, PathOptions { paths: false }).map(|_| ()),
            graph.distances::<f64>(&cpu, PathOptions::default()).map(|_| ()),
        ] {
            match result {
                Ok(()) => assert!(!negative, "seed {seed}"),
                Err(Error::NegativeCycle { vertices, weight }) => {
                    assert!(negative, "seed {seed}");
                    let mut sum = 0.0;
                    for (nth, &from) in vertices.iter().enumerate() {
                        let to = vertices[(nth + 1) % vertices.len()];
                        sum += graph.weight(from, to).expect("an edge of the cycle");
                    }
                    assert!(sum == weight && weight < 0.0, "seed {seed}: {sum} {weight}");
                    let mut once = vertices.clone();
                    once.sort_unstable();
                    once.dedup();
                    assert_eq!(once.len(), vertices.len());
                    found += 1;
                }
                Err(other) => panic!("seed {seed}: {other}"),
            }
        }
    }
    assert!((150..750).contains(&found), "{found} of 900");
    let loops = Graph::new(3, [(0, 0, 5.0), (1, 1, -2.0)]).unwrap();
    let message = loops.distances::<i32>(&cpu, PathOptions::default()).unwrap_err().to_string();
    assert!(message.contains("weighs -2") && message.contains("1 -> 1"), "{message}");
}

#[test]
fn what_does_not_fit_a_type_is_refused_with_the_figure() {
    let cpu = Cpu::new(1).unwrap();
    let line = |weight: f64| Graph::new(3, [(0, 1, weight), (1, 2, weight)]).unwrap();
    let said = |error: Result<(), Error>| error.unwrap_err().to_string();
    let u16s = |graph: &Graph| graph.distances::<u16>(&cpu, PathOptions::default());
    let i32s = |graph: &Graph| graph.distances::<i32>(&cpu, PathOptions::default());
    let f32s = |graph: &Graph| graph.distances::<f32>(&cpu, PathOptions::default());
    assert_eq!(u16s(&line(16_383.0)).unwrap().get(0, 2), Some(32_766));
    let message = said(u16s(&line(16_384.0)).map(|_| ()));
    assert!(message.contains("3.2768e4") && message.contains("3.2766e4"), "{message}");
    assert_eq!(i32s(&line(268_435_455.0)).unwrap().get(0, 2), Some((1 << 29) - 2));
    assert!(said(i32s(&line(268_435_456.0)).map(|_| ())).contains("5.36870912e8"));
    assert_eq!(i32s(&line(-268_435_455.0)).unwrap().get(0, 2), Some(2 - (1 << 29)));
    assert!(said(u16s(&line(-1.0)).map(|_| ())).contains("negative"));
    assert!(said(i32s(&line(0.5)).map(|_| ())).contains("whole"));
    assert!(said(f32s(&line(1e38)).map(|_| ())).contains("f32"));
    assert!(said(f32s(&line(1e300)).map(|_| ())).contains("f64"));
    let message = said(
        Graph::new(2_000_000, [(0, 1, 1.0)])
            .unwrap()
            .distances::<f32>(&cpu, PathOptions::default())
            .map(|_| ()),
    );
    assert!(message.contains("GiB of memory are needed"), "{message}");
    // A dense graph whose longest possible path is far longer than any distance.
    let dense = random(&Random { vertices: 700, ..Random::default() }).unwrap();
    assert!(u16s(&dense).is_ok());
}

#[test]
fn cycles_that_only_rounding_makes_negative_end() {
    let cpu = Cpu::new(1).unwrap();
    let (mut fine, mut refused) = (0, 0);
    for seed in 0..150 {
        let mut stream = PhiloxStream::new(seed);
        let n = stream.random_range(2..90_u32);
        let heights: Vec<f64> = (0..n).map(|_| stream.random::<f64>() * 100.0).collect();
        let edges = (0..n * n).filter(|at| at / n != at % n);
        let graph = Graph::new(
            n as usize,
            edges.map(|at| {
                let (from, to) = (at / n, at % n);
                (
                    from,
                    to,
                    heights[to as usize] - heights[from as usize] + 1e-15 * f64::from(seed as u32),
                )
            }),
        )
        .unwrap();
        match graph.distances::<f32>(&cpu, PathOptions::default()) {
            Ok(distances) => {
                fine += 1;
                for to in 0..n as usize {
                    let path = distances.path(0, to).unwrap().expect("all are connected");
                    let sum = check_path(&graph, &path, 0, to);
                    assert!((sum - f64::from(distances.row(0)[to])).abs() < 1e-3);
                }
                assert_eq!(distances.predecessors(&cpu).unwrap().len(), (n * n) as usize);
            }
            Err(Error::RoundedCycle { .. } | Error::NegativeCycle { .. }) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(fine + refused == 150 && refused > 0, "{fine} {refused}");
}
