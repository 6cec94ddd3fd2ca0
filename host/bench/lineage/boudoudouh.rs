//! Boudoudouh: an iteration of a swarm in CUDA, in six versions.
//!
//! The figures are averages of a launch, from the profiles in RESULTS.md (at 64 dimensions, where two versions have
//! the same profile there, from the tables in README.md), on a GTX 860M. His reduction to the least fitness is
//! many launches: a row here is for all of them.

use std::time::Instant;

use super::{Check, Effort, Ours, Report, Request, Row, Table, Tell, Work, wrong_kernel};
use crate::{
    Result,
    backend::{
        AnyBackend, Backend, Spread, Strategy,
        lineage::boudoudouh::{Setting, State, Version},
    },
    bench::{Trial, iteration},
    swarm::{Mode, Precision, Problem},
};

pub(super) const WORK: Work = Work {
    name: "boudoudouh",
    title: "Boudoudouh: Particle Swarm Optimization, a CUDA implementation",
    source: "Anoir Boudoudouh, 2018, https://github.com/anoir2/psondimension",
    tables: &[
        table("2 dims", "a million particles in 2 dimensions"),
        table("8 dims", "a million particles in 8 dimensions"),
        table("16 dims", "a million particles in 16 dimensions"),
        table("32 dims", "a million particles in 32 dimensions"),
        table("64 dims", "a million particles in 64 dimensions"),
    ],
    measure,
};

const fn table(name: &'static str, caption: &'static str) -> Table {
    Table { name, caption, gpu: Some("GTX 860M"), unit: "an iteration, whole and in parts" }
}

/// Particles, as published.
const PARTICLES: u32 = 1_000_000;
/// Particles where it shall be brief.
const FEW: u32 = 5_000;
/// Iterations whose result is compared.
const LOOKED_AT: u32 = 3;
/// How often something is timed.
#[cfg(feature = "cuda")]
const TIMES: u32 = 20;
/// The seed.
const KEY: [u32; 2] = [2018, 6];

/// What was published of a table, in milliseconds.
#[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "published are kernels"))]
struct Figures {
    dims: u32,
    /// v2 and v3.
    new_vel: [f64; 2],
    /// v2 and v3, and both kernels in one: v4 to v7.
    new_pos: [f64; 6],
    /// v5 to v7.
    calc_fitness: [f64; 3],
    /// All versions: one launch.
    least: [f64; 6],
}

/// Launches of a reduction in each version, by the profiles: their number over that of the iterations.
#[cfg(any(feature = "cuda", test))]
const LAUNCHES: [f64; 6] = [171.0, 165.0, 3.0, 2.0, 2.0, 2.0];

const FIGURES: [Figures; 5] = [
    Figures {
        dims: 2,
        new_vel: [2.9533, 1.9932],
        new_pos: [3.9278, 2.7887, 3.7182, 0.90544, 0.90421, 1.4102],
        calc_fitness: [1.3905, 1.0097, 2.7851],
        least: [6.1650e-3, 6.7950e-3, 168.87e-3, 284.43e-3, 284.02e-3, 284.53e-3],
    },
    Figures {
        dims: 8,
        new_vel: [2.8925, 2.0646],
        new_pos: [4.0275, 2.7416, 3.6341, 3.3565, 3.3970, 2.6565],
        calc_fitness: [4.8982, 5.2786, 1.2972],
        least: [6.1350e-3, 6.7790e-3, 168.66e-3, 264.85e-3, 271.55e-3, 263.86e-3],
    },
    Figures {
        dims: 16,
        new_vel: [30.674, 15.742],
        new_pos: [16.824, 13.967, 74.422, 6.5428, 6.5011, 5.1647],
        calc_fitness: [8.4084, 8.1724, 1.6890],
        least: [6.2140e-3, 6.6070e-3, 199.25e-3, 266.87e-3, 270.76e-3, 266.15e-3],
    },
    Figures {
        dims: 32,
        new_vel: [105.47, 56.252],
        new_pos: [54.639, 32.369, 112.92, 12.738, 12.900, 9.9247],
        calc_fitness: [16.275, 15.892, 3.7124],
        least: [7.9720e-3, 7.0750e-3, 232.88e-3, 271.94e-3, 273.62e-3, 271.97e-3],
    },
    Figures {
        dims: 64,
        new_vel: [164.92, 119.86],
        new_pos: [116.74, 97.727, 251.05, 25.277, 25.295, 19.471],
        calc_fitness: [33.325, 31.651, 8.1882],
        least: [8.3720e-3, 9.7110e-3, 348.98e-3, 286.33e-3, 299.18e-3, 285.62e-3],
    },
];

#[cfg(any(feature = "cuda", test))]
impl Figures {
    /// What was published of a part of an iteration, in seconds.
    fn of(&self, version: Version, part: &str) -> Option<f64> {
        let index = version.index();
        let milliseconds = match part {
            "new_vel" => *self.new_vel.get(index)?,
            "new_pos" | "new_vel_pos" => self.new_pos[index],
            "calc_fitness" => *self.calc_fitness.get(index.checked_sub(3)?)?,
            "find_min_fitness_parallel" => self.least[index] * LAUNCHES[index],
            _ => {
                let parts = ["new_vel", "new_pos", "calc_fitness", "find_min_fitness_parallel"];
                let parts = parts.iter().filter_map(|part| self.of(version, part));
                return Some(parts.sum());
            }
        };
        Some(milliseconds / 1e3)
    }
}

/// What a row calls its kernel.
#[cfg(feature = "cuda")]
fn name(version: Version, part: &str) -> &'static str {
    macro_rules! names {
        ($($version:ident $number:literal),*) => {
            match (version, part) {
                $(
                    (Version::$version, "new_vel") => concat!($number, " new_vel"),
                    (Version::$version, "new_pos") => concat!($number, " new_pos"),
                    (Version::$version, "new_vel_pos") => concat!($number, " new_vel_pos"),
                    (Version::$version, "calc_fitness") => concat!($number, " calc_fitness"),
                    (Version::$version, "find_min_fitness_parallel") => {
                        concat!($number, " find_min_fitness_parallel")
                    }
                    (Version::$version, _) => $number,
                )*
            }
        };
    }
    names!(V2 "main_v2", V3 "main_v3", V4 "main_v4", V5 "main_v5", V6 "main_v6", V7 "main_v7")
}

fn measure(request: &Request<'_>, backend: &AnyBackend, tell: Tell<'_>) -> Result<()> {
    if backend.name() == "cpu" {
        tell(Report::Note(
            "The kernels need a GPU. Here the processor does what they compute, with all threads: main_v4 \
             the same as main_v3, and main_v6 as main_v5."
                .to_owned(),
        ))?;
    }
    let particles = match request.effort {
        Effort::Published => PARTICLES,
        Effort::Brief => FEW,
    };
    for (table, figures) in WORK.tables.iter().zip(&FIGURES) {
        if request.wants(table) {
            let published = request.is_published().then_some(figures);
            of_table(table, (particles, figures.dims), published, backend, tell)?;
        }
    }
    Ok(())
}

fn of_table(
    table: &'static Table,
    (particles, dims): (u32, u32),
    published: Option<&Figures>,
    backend: &AnyBackend,
    tell: Tell<'_>,
) -> Result<()> {
    #[cfg(not(feature = "cuda"))]
    let _ = published;
    let setting = Setting::new(particles, dims, KEY);
    let row = |kernel, published, spread, ours, checked| {
        let row = Row::new(&WORK, table, size(&setting), kernel, spread, checked);
        Report::Row(Row { published, ours, ..row })
    };
    tell(Report::Progress(format!("{}, this project's iteration", table.name)))?;
    let problem = Problem::named("target_distance", dims)?;
    let (precision, mode) = (Precision::F32, Mode::Synchronous);
    let trial = Trial { particles, precision, mode, history: None };
    let mut own = vec![iteration(&problem, trial, backend)?];
    if own[0].strategy.name() == "resident" {
        let streaming = backend.clone().with_strategy(Strategy::Streaming);
        own.push(iteration(&problem, trial, &streaming)?);
    }
    let ours = Some(Ours { way: own[0].strategy.name(), seconds: own[0].seconds });
    let mut rule: Option<(Version, State)> = None;
    for version in Version::ALL {
        tell(Report::Progress(format!("{}, {version}", table.name)))?;
        // Several versions compute the same.
        let is_known = rule.as_ref().is_some_and(|(other, _)| version.is_like(*other));
        match backend {
            AnyBackend::Cpu(cpu, _) => {
                if is_known {
                    continue;
                }
                let (state, spread) = cpu.install(|| on_processor(&setting, version))?;
                let checked = Check::Within(state.error(&setting).0);
                rule = Some((version, state));
                tell(row(version.name(), None, spread, ours, checked))?;
            }
            #[cfg(feature = "cuda")]
            AnyBackend::Cuda(cuda, _) => {
                let begin = State::start(&setting, version);
                if !is_known {
                    let mut state = begin.clone();
                    (0..LOOKED_AT).for_each(|_| state.advance(&setting, version));
                    within(&setting, version, &state)?;
                    rule = Some((version, state));
                }
                let (_, expected) = rule.as_ref().expect("set above");
                for (part, spread) in on_gpu(cuda, version, &setting, &begin, expected)? {
                    let published = published.and_then(|figures| figures.of(version, part));
                    let ours = ours.filter(|_| part == "iteration");
                    tell(row(name(version, part), published, spread, ours, Check::Equal))?;
                }
            }
        }
    }
    for measured in own {
        let kernel = match measured.strategy.name() {
            "resident" => "flockwork, resident",
            "streaming" => "flockwork, streaming",
            _ => "flockwork",
        };
        tell(row(kernel, None, measured.spread(), ours, Check::Equal))?;
    }
    Ok(())
}

/// As the tables have it.
fn size(setting: &Setting) -> String {
    format!("{} x {}", setting.particles, setting.dims)
}

/// Whether the values are the function's.
fn within(setting: &Setting, version: Version, state: &State) -> Result<()> {
    let (error, bound) = state.error(setting);
    if error <= bound {
        return Ok(());
    }
    let kernel = format!("{version} (its rule on the processor)");
    let found = format!("a fitness that is off by {error:e}");
    let expected = format!("within {bound:e} of the function's value");
    Err(wrong_kernel(&WORK, kernel, size(setting), found, expected))
}

/// Does the rule of a version, looks at its values, and times it.
fn on_processor(setting: &Setting, version: Version) -> Result<(State, Spread)> {
    let mut state = State::start(setting, version);
    let mut times = Vec::new();
    for _ in 0..LOOKED_AT {
        let began = Instant::now();
        state.advance(setting, version);
        times.push(began.elapsed());
        within(setting, version, &state)?;
    }
    Ok((state, Spread::of(times)))
}

/// Runs a version's kernels, compares the swarm with the rule's, and times them.
#[cfg(feature = "cuda")]
fn on_gpu(
    cuda: &crate::backend::Cuda,
    version: Version,
    setting: &Setting,
    start: &State,
    expected: &State,
) -> Result<Vec<(&'static str, Spread)>> {
    let machine = cuda.machine()?;
    let mut swarm =
        crate::backend::lineage::boudoudouh::OnMachine::new(&machine, version, setting, start)?;
    for _ in 0..LOOKED_AT {
        swarm.advance()?;
    }
    if let Some((found, expected)) = expected.difference(&swarm.state()?) {
        return Err(wrong_kernel(&WORK, version, size(setting), found, expected));
    }
    swarm.timed(TIMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iteration_is_the_sum_of_its_parts() {
        for figures in &FIGURES {
            let whole = |version| figures.of(version, "iteration").unwrap() * 1e3;
            let [new_vel, _] = figures.new_vel;
            let least = figures.least[0] * 171.0;
            assert!((whole(Version::V2) - (new_vel + figures.new_pos[0] + least)).abs() < 1e-9);
            let [.., calc_fitness] = figures.calc_fitness;
            let least = figures.least[5] * 2.0;
            let sum = figures.new_pos[5] + calc_fitness + least;
            assert!((whole(Version::V7) - sum).abs() < 1e-9);
            assert!(figures.of(Version::V4, "new_vel").is_none());
            assert!(figures.of(Version::V4, "calc_fitness").is_none());
        }
    }
}
