//! A blocked Floyd-Warshall: all-pairs shortest paths by tiles.
//!
//! As published, a graph is undirected, of 61 edges for every 100 pairs, with whole weights from 1 to 20 in `i32`.
//! The kernels take any graph without negative weights, and make nothing of the symmetry; neither does what they
//! are compared with.

mod processor;
mod published;

use std::time::{Duration, Instant};

use flockwork_device::paths::Weight;
use rayon::prelude::*;

use self::published::FIGURES;
use super::{Check, Ours, Report, Request, Row, Table, Tell, Work, wrong_kernel};
#[cfg(any(feature = "cuda", test))]
use crate::backend::lineage::floyd_warshall::{Ready, Version, path};
#[cfg(any(feature = "cuda", test))]
use crate::backend::machine::Machine;
use crate::{
    Result,
    backend::{AnyBackend, Cpu, Spread},
    bench::paths::{Asked, Repeated, look, repeated, scattered},
    paths::Solver,
};

pub(super) const WORK: Work = Work {
    name: "floyd_warshall",
    title: "Blocked Floyd-Warshall, v1_0 to v2_2",
    source: "F. Zuccato and E. Lena, A CUDA implementation of Blocked All Pairs Shortest Path, 2022, \
             https://github.com/zucchi99/Blocked-AllPairsShortestPath; after G. Venkataraman, S. Sahni and \
             S. Mukhopadhyaya, A blocked all-pairs shortest-paths algorithm, 2003",
    tables: &TABLES,
    measure,
};

/// As the report says, for all figures.
const GPU: Option<&str> = Some("Tesla K80");

const fn kernels(name: &'static str, caption: &'static str) -> Table {
    Table {
        name,
        caption,
        gpu: GPU,
        unit: "the kernels of a run (published: by NVIDIA's profiler)",
    }
}

const fn runs(name: &'static str, caption: &'static str) -> Table {
    Table { name, caption, gpu: GPU, unit: "a run: allocation, both copies and the kernels" }
}

const TABLES: [Table; 10] = [
    Table {
        name: "cpu",
        caption: "the forms for a processor, one thread; ours, too, with one",
        gpu: None,
        unit: "a run",
    },
    kernels("kernels 8", "tiles of 8 x 8"),
    runs("runs 8", "tiles of 8 x 8 (figure 4.1)"),
    kernels("kernels 16", "tiles of 16 x 16"),
    runs("runs 16", "tiles of 16 x 16"),
    kernels("kernels 24", "tiles of 24 x 24"),
    runs("runs 24", "tiles of 24 x 24"),
    kernels("kernels 32", "tiles of 32 x 32"),
    runs("runs 32", "tiles of 32 x 32"),
    Table {
        name: "large",
        caption: "more vertices than published; tiles of 32 x 32",
        gpu: None,
        unit: "the kernels of a run",
    },
];

/// What a table of a tile's size is: its number of rows, its table of kernels and its table of runs.
const PAIRS: [(u32, &Table, &Table); 4] = [
    (8, &TABLES[1], &TABLES[2]),
    (16, &TABLES[3], &TABLES[4]),
    (24, &TABLES[5], &TABLES[6]),
    (32, &TABLES[7], &TABLES[8]),
];

/// v1_0 is not run for more vertices: nothing was published of it, and it is a launch of n^2 threads for each
/// tile of each round.
#[cfg(any(feature = "cuda", test))]
const MOST_OF_V1_0: u32 = 480;

/// Numbers of vertices of the last table, and what is run for them: what takes less than a few seconds.
#[cfg(any(feature = "cuda", test))]
const LARGE: [(u32, &[Version]); 3] = [
    (4096, &[Version::V1_4, Version::V2_0, Version::V2_2]),
    (8192, &[Version::V2_0, Version::V2_2]),
    (16384, &[Version::V2_2]),
];

/// Repetitions: at most so many, one if it is to be brief, and no more after so long.
const REPETITIONS: usize = 9;
const LONG: Duration = Duration::from_millis(400);

fn repetitions(request: &Request<'_>) -> usize {
    if request.is_published() { REPETITIONS } else { 1 }
}

/// Numbers of vertices for tiles of so many rows.
fn sizes(request: &Request<'_>, edge: u32) -> Vec<u32> {
    if request.is_published() {
        let rows = FIGURES.iter().filter(|(known, _)| *known == edge).flat_map(|(_, rows)| *rows);
        rows.map(|&(vertices, ..)| vertices).collect()
    } else {
        vec![if edge == 32 { 64 } else { 48 }]
    }
}

/// The edges of an undirected graph, as a matrix.
fn graph(n: usize) -> Vec<i32> {
    (0..n * n)
        .into_par_iter()
        .map(|at| {
            let (row, column) = (at / n, at % n);
            let bits = scattered(row.min(column), row.max(column));
            match (row == column, bits % 100 <= 60) {
                (true, _) => 0,
                (false, true) => 1 + ((bits >> 32) % 20) as i32,
                (false, false) => i32::UNREACHABLE,
            }
        })
        .collect()
}

/// A graph, its distances and what this project takes for them.
struct Case {
    n: u32,
    given: Vec<i32>,
    expected: Vec<i32>,
    /// By the GPU's clock, or the host's.
    seconds: f64,
    /// With copies.
    #[cfg_attr(
        not(any(feature = "cuda", test)),
        expect(dead_code, reason = "only runs on a GPU are compared with it")
    )]
    with_copies: f64,
}

impl Case {
    /// Where the distances come from three nested loops, this project's are compared with them; else they are
    /// this project's. Some are looked for by another search in any case.
    fn new(n: u32, by_loops: bool, solver: &impl Solver) -> Result<Self> {
        let given = graph(n as usize);
        let asked = Asked { n: n as usize, symmetric: false, vias: false };
        let Repeated { relaxing, with_copies, entries } =
            repeated(asked, &given, solver, |found| look(n as usize, &given, found))?;
        let case = Self { n, given, expected: entries, seconds: relaxing.median, with_copies };
        if by_loops {
            let mut distances = case.given.clone();
            processor::classic(n as usize, &mut distances);
            case.check("the classic loops", &n.to_string(), &distances)?;
        }
        Ok(case)
    }

    /// Compares a result with the distances.
    fn check(&self, kernel: &str, size: &str, found: &[i32]) -> Result<()> {
        let differ = |at: &usize| found[*at] != self.expected[*at];
        (0..self.expected.len()).find(differ).map_or(Ok(()), |at| {
            let (from, to) = (at / self.n as usize, at % self.n as usize);
            let found = format!("{} from {from} to {to}", found[at]);
            Err(wrong_kernel(&WORK, kernel, size, found, self.expected[at].to_string()))
        })
    }

    /// What is wrong in the result of a version that is known to be.
    #[cfg(any(feature = "cuda", test))]
    fn known_error(&self, kernel: &str, size: &str, found: &[i32]) -> Result<String> {
        let Some((wrong, most)) = too_long(found, &self.expected) else {
            // What is found are paths, if not the shortest; less than the shortest is an error nobody knows of.
            return self.check(kernel, size, found).map(|()| String::new());
        };
        let by = if wrong == 0 { String::new() } else { format!(", by up to {most}") };
        Ok(format!("{wrong} of {} distances too long{by}", found.len()))
    }
}

/// How many distances are too long, and by how much at most; nothing if one is too short.
#[cfg(any(feature = "cuda", test))]
fn too_long(found: &[i32], expected: &[i32]) -> Option<(usize, i32)> {
    let pairs = || found.iter().zip(expected);
    pairs().all(|(found, expected)| found >= expected).then(|| {
        let longer = pairs().map(|(found, expected)| found - expected).filter(|&by| by > 0);
        longer.fold((0, 0), |(wrong, most), by| (wrong + 1, by.max(most)))
    })
}

fn measure(request: &Request<'_>, backend: &AnyBackend, tell: Tell<'_>) -> Result<()> {
    if request.wants(&TABLES[0]) {
        on_processor(request, tell)?;
    }
    match backend {
        AnyBackend::Cpu(..) => tell(Report::Note(
            "floyd_warshall: v1_0 to v2_2 are kernels, for which a GPU is needed".to_owned(),
        )),
        #[cfg(feature = "cuda")]
        AnyBackend::Cuda(cuda, _) => on_machine(request, &cuda.machine()?, cuda, tell),
    }
}

fn on_processor(request: &Request<'_>, tell: Tell<'_>) -> Result<()> {
    let (one, repetitions) = (Cpu::new(1)?, repetitions(request));
    let mut cases: Vec<Case> = Vec::new();
    let mut row = |case: &Case, size: String, kernel, compute: &dyn Fn(&mut [i32])| -> Result<()> {
        let (mut times, began) = (Vec::new(), Instant::now());
        while times.is_empty() || (times.len() < repetitions && began.elapsed() < LONG) {
            let mut distances = case.given.clone();
            let began = Instant::now();
            compute(&mut distances);
            times.push(began.elapsed());
            if times.len() == 1 {
                case.check(kernel, &size, &distances)?;
            }
        }
        let row = Row::new(&WORK, &TABLES[0], size, kernel, Spread::of(times), Check::Equal);
        let ours = Some(Ours { way: "one thread", seconds: case.seconds });
        tell(Report::Row(Row { ours, ..row }))
    };
    for (edge, ..) in PAIRS {
        for n in sizes(request, edge) {
            if !cases.iter().any(|case| case.n == n) {
                let case = Case::new(n, true, &one)?;
                row(&case, n.to_string(), "classic", &|matrix| {
                    processor::classic(n as usize, matrix);
                })?;
                cases.push(case);
            }
        }
    }
    for (edge, ..) in PAIRS {
        for n in sizes(request, edge) {
            for case in cases.iter().filter(|case| case.n == n) {
                row(case, format!("{n}, tiles of {edge}"), "blocked", &|matrix| {
                    processor::blocked(n as usize, edge as usize, matrix);
                })?;
            }
        }
    }
    Ok(())
}

#[cfg(any(feature = "cuda", test))]
fn on_machine<M: Machine>(
    request: &Request<'_>,
    machine: &M,
    solver: &impl Solver,
    tell: Tell<'_>,
) -> Result<()> {
    let mut cases: Vec<Case> = Vec::new();
    for (edge, of_kernels, of_runs) in PAIRS {
        if !request.wants(of_kernels) && !request.wants(of_runs) {
            continue;
        }
        let mut later = Vec::new();
        for n in sizes(request, edge) {
            tell(Report::Progress(format!("tiles of {edge}, {n} vertices")))?;
            if !cases.iter().any(|case| case.n == n) {
                cases.push(Case::new(n, true, solver)?);
            }
            let case = cases.iter().find(|case| case.n == n).expect("made above");
            for version in Version::ALL {
                if version == Version::V1_0 && n > MOST_OF_V1_0 {
                    continue;
                }
                let Measured { launches, whole, checked } =
                    run(machine, version, edge, case, repetitions(request))?;
                let published = published::of(version, edge, n).filter(|_| request.is_published());
                let row = |table: &Table, published, times, seconds| {
                    let (size, checked) = (n.to_string(), checked.clone());
                    let row = Row::new(&WORK, table, size, version.name(), times, checked);
                    Row { published, ours: Some(Ours { way: "i32", seconds }), ..row }
                };
                // Nothing was published of the others' runs.
                if published.is_some() || !request.is_published() {
                    let published = published.map(|(_, run)| run);
                    later.push(row(of_runs, published, whole, case.with_copies));
                }
                if request.wants(of_kernels) {
                    let published = published.map(|(kernels, _)| kernels);
                    tell(Report::Row(row(of_kernels, published, launches, case.seconds)))?;
                }
            }
        }
        if request.wants(of_runs) {
            later.into_iter().try_for_each(|row| tell(Report::Row(row)))?;
        }
    }
    if request.wants(&TABLES[9]) {
        large(request, machine, solver, tell)?;
    }
    Ok(())
}

#[cfg(any(feature = "cuda", test))]
fn large<M: Machine>(
    request: &Request<'_>,
    machine: &M,
    solver: &impl Solver,
    tell: Tell<'_>,
) -> Result<()> {
    let brief: &[(u32, &[Version])] = &[(96, LARGE[0].1)];
    for &(n, versions) in if request.is_published() { &LARGE } else { brief } {
        tell(Report::Progress(format!("{n} vertices")))?;
        let case = Case::new(n, false, solver)?;
        for &version in versions {
            let Measured { launches, checked, .. } =
                run(machine, version, 32, &case, repetitions(request))?;
            let (size, kernel) = (n.to_string(), version.name());
            let row = Row::new(&WORK, &TABLES[9], size, kernel, launches, checked);
            let ours = Some(Ours { way: "i32", seconds: case.seconds });
            tell(Report::Row(Row { ours, ..row }))?;
        }
    }
    Ok(())
}

/// What a version took, and how its result was checked.
#[cfg(any(feature = "cuda", test))]
struct Measured {
    launches: Spread,
    whole: Spread,
    checked: Check,
}

#[cfg(any(feature = "cuda", test))]
fn run<M: Machine>(
    machine: &M,
    version: Version,
    edge: u32,
    case: &Case,
    repetitions: usize,
) -> Result<Measured> {
    let ready = Ready::new(machine, version)?;
    let once = || ready.run(machine, edge, case.n / edge, &case.given);
    // The first run is looked at; it is timed as well where one is long enough.
    let first = once()?;
    let size = format!("{}, tiles of {edge}", case.n);
    let checked = if version.is_right() {
        case.check(version.name(), &size, &first.distances)?;
        Check::Equal
    } else {
        // With so many edges few shortest paths have many, and nothing may go wrong.
        let (edges, distances) = path(case.n as usize, version.fails_for(case.n as usize));
        let found = ready.run(machine, edge, case.n / edge, &edges)?.distances;
        let of_path = too_long(&found, &distances).map_or(0, |(wrong, _)| wrong);
        let error = case.known_error(version.name(), &size, &first.distances)?;
        Check::KnownError(format!("{error}; {of_path} where the graph is a single path"))
    };
    let mut runs = vec![first];
    let began = Instant::now();
    while runs.len() <= repetitions && runs[0].whole + began.elapsed() < LONG {
        runs.push(once()?);
    }
    if runs.len() > 1 {
        runs.remove(0);
    }
    let times = |of: fn(&_) -> Duration| Spread::of(runs.iter().map(of));
    Ok(Measured { launches: times(|run| run.launches), whole: times(|run| run.whole), checked })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{backend::Emulated, bench::lineage::Effort};

    #[test]
    fn graphs_are_as_published() {
        let n = 200;
        let given = graph(n);
        let mut edges = 0;
        for row in 0..n {
            assert_eq!(given[row * n + row], 0);
            for column in 0..row {
                let weight = given[row * n + column];
                assert_eq!(weight, given[column * n + row]);
                assert!((1..=20).contains(&weight) || weight == i32::UNREACHABLE);
                edges += usize::from(weight <= 20);
            }
        }
        let share = edges as f64 / (n * (n - 1) / 2) as f64;
        assert!((share - 0.61).abs() < 0.02, "{share}");
    }

    #[test]
    fn every_table_has_its_published_rows() {
        let request = Request { effort: Effort::Published, tables: &[] };
        for (edge, ..) in PAIRS {
            for n in sizes(&request, edge) {
                assert!(n.is_multiple_of(edge));
                let of = |version| published::of(version, edge, n);
                for version in Version::ALL {
                    let figures = of(version);
                    let none = [Version::V1_1Pitch, Version::V1_3Pitch].contains(&version);
                    assert_eq!(figures.is_some(), version.is_right() && !none);
                    // A run is longer than its kernels.
                    assert!(figures.is_none_or(|(kernels, run)| 0.0 < kernels && kernels < run));
                }
                // It did become faster.
                assert!(of(Version::V2_2).unwrap().1 < of(Version::V1_1).unwrap().1);
            }
        }
    }

    #[test]
    fn kernels_are_checked_and_timed() {
        let tables = ["kernels 16", "runs 16", "large"].map(str::to_owned);
        let request = Request { effort: Effort::Brief, tables: &tables };
        let emulated = Emulated::new(5, 32);
        let mut rows = Vec::new();
        on_machine(&request, &emulated.machine(), &emulated, &mut |report| {
            if let Report::Row(row) = report {
                rows.push(row);
            }
            Ok(())
        })
        .unwrap();
        let all = Version::ALL.len();
        assert_eq!(rows.len(), 2 * all + 3);
        assert!(rows[..all].iter().all(|row| row.table == "kernels 16"));
        assert!(rows[all..2 * all].iter().all(|row| row.table == "runs 16"));
        for row in &rows {
            let (least, most) = row.range;
            assert!(0.0 < least && least <= row.seconds && row.seconds <= most, "{row:?}");
            assert!(row.published.is_none() && row.ratio().unwrap() > 0.0);
            match &row.checked {
                Check::Equal => assert!(!["v1_0", "v2_1f"].contains(&row.kernel)),
                Check::KnownError(error) => {
                    assert!(["v1_0", "v2_1f"].contains(&row.kernel));
                    assert!(error.contains("of 2304 distances"), "{error}");
                    assert!(!error.contains("; 0 where"), "{error}");
                }
                Check::Within(_) | Check::Holds(_) => panic!("{row:?}"),
            }
        }
    }

    #[test]
    fn a_wrong_result_is_told() {
        let mut case = Case::new(48, true, &Cpu::new(1).unwrap()).unwrap();
        let right = case.expected.clone();
        assert!(case.known_error("v1_0", "48", &right).unwrap().starts_with("0 of 2304"));
        case.expected[5] -= 1;
        let error = case.check("v1_1", "48", &right).unwrap_err();
        assert!(error.to_string().contains("from 0 to 5"), "{error}");
        let error = case.known_error("v1_0", "48", &right).unwrap();
        assert_eq!(error, "1 of 2304 distances too long, by up to 1");
        // Too short cannot be.
        case.expected[5] += 2;
        assert!(case.known_error("v1_0", "48", &right).is_err());
    }
}
