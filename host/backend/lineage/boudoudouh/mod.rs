//! Boudoudouh's swarm: its rule on the processor, in the order of each version, and its kernels on a machine. See
//! [`flockwork_device::lineage::boudoudouh`].

#[cfg(any(feature = "cuda", test))]
mod kernels;

use std::fmt;

use flockwork_device::{
    lineage::boudoudouh::{
        Coordinate, Order, PUBLISHED, draw, draw_four, fitness, powers, squares,
    },
    math::Scalar,
    random::{Draw, Key, Purpose},
};
#[cfg(any(feature = "cuda", test))]
pub(crate) use kernels::OnMachine;
use rayon::prelude::*;

/// A version of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(crate) enum Version {
    V2,
    V3,
    V4,
    V5,
    V6,
    V7,
}

impl Version {
    pub const ALL: [Self; 6] = [Self::V2, Self::V3, Self::V4, Self::V5, Self::V6, Self::V7];

    /// Its number in [`ALL`](Self::ALL).
    pub fn index(self) -> usize {
        self as usize
    }

    /// As its author calls it.
    pub const fn name(self) -> &'static str {
        ["main_v2", "main_v3", "main_v4", "main_v5", "main_v6", "main_v7"][self as usize]
    }

    /// In which order it adds.
    pub fn order(self) -> Order {
        match self {
            Self::V2 | Self::V3 | Self::V4 => Order::Sequence,
            Self::V5 | Self::V6 => Order::Tree,
            Self::V7 => Order::TreeOfFours,
        }
    }

    /// Whether both compute the same bits.
    pub fn is_like(self, other: Self) -> bool {
        self.order() == other.order() && (self == Self::V2) == (other == Self::V2)
    }

    /// Threads of a block of the reduction to the least fitness.
    pub fn threads_of_least(self) -> u32 {
        match self {
            Self::V2 => 32,
            Self::V3 | Self::V4 => 256,
            Self::V5 | Self::V6 | Self::V7 => 1024,
        }
    }

    fn fitness(self, position: &[f32], target: &[f32]) -> f32 {
        let term = |(&x, &t): (&f32, &f32)| match self {
            Self::V2 => powers(x, t),
            _ => squares(x, t),
        };
        let plus = |a: (f32, f32), b: (f32, f32)| (a.0 + b.0, a.1 + b.1);
        let terms: Vec<_> = position.iter().zip(target).map(term).collect();
        fitness(match self.order() {
            Order::Sequence => terms.into_iter().fold((0.0, 0.0), plus),
            Order::Tree => tree(terms, plus),
            Order::TreeOfFours => {
                let four = |four: &[_]| four.iter().copied().reduce(plus).expect("not empty");
                tree(terms.chunks(4).map(four).collect(), plus)
            }
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The sum of a power of two of terms: the upper half is added to the lower, again and again.
fn tree<T: Copy>(mut terms: Vec<T>, plus: impl Fn(T, T) -> T) -> T {
    while terms.len() > 1 {
        let half = terms.len() / 2;
        for i in 0..half {
            terms[i] = plus(terms[i], terms[i + half]);
        }
        terms.truncate(half);
    }
    terms[0]
}

/// The least of these and where it is, as blocks of so many threads find it level by level: of equals the one that
/// the tree of a block leaves.
fn least(values: &[f32], threads: u32) -> (f32, u32) {
    let mut entries: Vec<(f32, u32)> = values.iter().copied().zip(0..).collect();
    while entries.len() > 1 {
        let of_block = |block: &[(f32, u32)]| {
            let mut block = block.to_vec();
            block.resize(threads as usize, (f32::INFINITY, u32::MAX));
            tree(block, |a, b| if a.0 > b.0 { b } else { a })
        };
        entries = entries.par_chunks(threads as usize).map(of_block).collect();
    }
    entries[0]
}

/// What all particles share.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub particles: u32,
    /// A power of two.
    pub dims: u32,
    pub key: Key,
    pub target: Vec<f32>,
}

impl Setting {
    /// With a target somewhere in the box.
    pub fn new(particles: u32, dims: u32, key: Key) -> Self {
        let mut setting = Self { particles, dims, key, target: Vec::new() };
        setting.target = (0..dims).map(|dim| setting.uniform(Purpose::Shift, 0, dim).0).collect();
        setting
    }

    /// Two numbers of the box.
    fn uniform(&self, purpose: Purpose, particle: u32, group: u32) -> (f32, f32) {
        let draw = Draw { key: self.key, iteration: 0, particle, group, purpose, nth: 0 };
        let (r, s) = f32::uniform_pair(draw.block(), 0);
        (PUBLISHED.side * (2.0 * r - 1.0), PUBLISHED.side * (2.0 * s - 1.0))
    }
}

/// A swarm, particle by particle.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub iteration: u32,
    pub positions: Vec<f32>,
    pub velocities: Vec<f32>,
    pub own_bests: Vec<f32>,
    pub fitness: Vec<f32>,
    pub best_fitness: Vec<f32>,
    /// The swarm's best position and its fitness.
    pub best: Vec<f32>,
    pub best_value: f32,
}

impl State {
    /// Somewhere in the box, with velocities up to its length.
    pub fn start(setting: &Setting, version: Version) -> Self {
        let dims = setting.dims as usize;
        let (mut positions, mut velocities) = (Vec::new(), Vec::new());
        let number = |i: usize| {
            let (particle, dim) = ((i / dims) as u32, (i % dims) as u32);
            setting.uniform(Purpose::Start, particle, dim)
        };
        (0..setting.particles as usize * dims)
            .into_par_iter()
            .map(|i| (number(i).0, 2.0 * number(i).1))
            .unzip_into_vecs(&mut positions, &mut velocities);
        let fitness: Vec<f32> = positions
            .par_chunks(dims)
            .map(|position| version.fitness(position, &setting.target))
            .collect();
        let (best_value, particle) = least(&fitness, version.threads_of_least());
        let best = positions[particle as usize * dims..][..dims].to_vec();
        let (own_bests, best_fitness) = (positions.clone(), fitness.clone());
        Self {
            iteration: 0,
            positions,
            velocities,
            own_bests,
            fitness,
            best_fitness,
            best,
            best_value,
        }
    }

    /// An iteration as a version does it.
    pub fn advance(&mut self, setting: &Setting, version: Version) {
        let dims = setting.dims as usize;
        self.iteration += 1;
        let (iteration, best) = (self.iteration, &self.best);
        (self.positions.par_chunks_mut(dims), self.velocities.par_chunks_mut(dims))
            .into_par_iter()
            .zip(self.own_bests.par_chunks_mut(dims))
            .zip((&mut self.fitness, &mut self.best_fitness))
            .enumerate()
            .for_each(|(particle, (((position, velocity), own_best), (fitness, best_fitness)))| {
                let particle = particle as u32;
                let pair = draw(setting.key, iteration, particle);
                let four = draw_four(setting.key, iteration, particle);
                for dim in 0..dims {
                    let x = Coordinate {
                        position: position[dim],
                        velocity: velocity[dim],
                        own_best: own_best[dim],
                        best: best[dim],
                    };
                    velocity[dim] = match version.order() {
                        Order::Sequence => PUBLISHED.velocity(x, pair),
                        Order::Tree => PUBLISHED.velocity_by_parts(x, pair),
                        Order::TreeOfFours => PUBLISHED.velocity_by_parts(x, four[dim % 4]),
                    };
                    position[dim] = PUBLISHED.position(position[dim], velocity[dim]);
                }
                *fitness = version.fitness(position, &setting.target);
                if *fitness < *best_fitness {
                    *best_fitness = *fitness;
                    own_best.copy_from_slice(position);
                }
            });
        let (value, particle) = least(&self.fitness, version.threads_of_least());
        if value < self.best_value {
            self.best_value = value;
            self.best.copy_from_slice(&self.positions[particle as usize * dims..][..dims]);
        }
    }

    /// The largest relative difference of a fitness from that in `f64`, and the bound of it for sums in any order:
    /// every operation is rounded once, `pow` within two units, and no term is negative.
    pub fn error(&self, setting: &Setting) -> (f64, f64) {
        let dims = setting.dims as usize;
        let of = |(position, &found): (&[f32], &f32)| {
            let sums = position.iter().zip(&setting.target).fold((0.0, 0.0), |sums, (&x, &t)| {
                let (x, t) = (f64::from(x), f64::from(t));
                (sums.0 + (x - t).powi(2), sums.1 + x * x)
            });
            let exact = sums.0 * (100.0 * sums.1 + 1.0) / 10.0;
            (f64::from(found) - exact).abs() / exact
        };
        let largest = self.positions.par_chunks(dims).zip(&self.fitness).map(of);
        let bound = (2.0 * f64::from(setting.dims) + 16.0) * 2_f64.powi(-24);
        (largest.reduce(|| 0.0, f64::max), bound)
    }

    /// What is different in another swarm, in words; nothing if all bits are the same.
    #[cfg(any(feature = "cuda", test))]
    pub fn difference(&self, found: &Self) -> Option<(String, String)> {
        let dims = self.best.len();
        let vectors = [
            ("position", dims, &self.positions, &found.positions),
            ("velocity", dims, &self.velocities, &found.velocities),
            ("fitness", 1, &self.fitness, &found.fitness),
            ("own best", dims, &self.own_bests, &found.own_bests),
            ("own best fitness", 1, &self.best_fitness, &found.best_fitness),
            ("best of all", dims, &self.best, &found.best),
        ];
        for (what, width, expected, found) in vectors {
            let differs = |(a, b): (&f32, &f32)| a.to_bits() != b.to_bits();
            if let Some(at) = expected.iter().zip(found).position(differs) {
                let (particle, dim) = (at / width, at % width);
                let place = format!("{what} of particle {particle}, dimension {dim}");
                return Some((format!("{place}: {:e}", found[at]), format!("{:e}", expected[at])));
            }
            if expected.len() != found.len() {
                return Some((format!("{} of {what}", found.len()), expected.len().to_string()));
            }
        }
        (self.best_value.to_bits() != found.best_value.to_bits()).then(|| {
            (format!("best fitness {:e}", found.best_value), format!("{:e}", self.best_value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Emulated;

    #[test]
    fn values_are_the_functions() {
        for (version, dims) in Version::ALL.into_iter().flat_map(|v| [2, 8, 64].map(|d| (v, d))) {
            let setting = Setting::new(500, dims, [3, 4]);
            let mut state = State::start(&setting, version);
            let first = state.best_value;
            for _ in 0..30 {
                state.advance(&setting, version);
                let (error, bound) = state.error(&setting);
                assert!(error <= bound, "{version}, {dims} dimensions: {error:e} > {bound:e}");
            }
            assert!(state.best_value < first, "{version}, {dims} dimensions");
            assert_eq!(version.fitness(&state.best, &setting.target), state.best_value);
        }
    }

    #[test]
    fn of_equal_values_the_tree_leaves_one() {
        // The upper half replaces the lower only where it is less: 40 stands in place 8 when 8 = 40 - 32 would
        // be asked, and of 3 and 5, the place below the other's stays.
        let mut values = vec![2.0; 100];
        values[3] = 1.0;
        values[5] = 1.0;
        assert_eq!(least(&values, 32), (1.0, 5));
        assert_eq!(least(&values[..5], 32), (1.0, 3));
        assert_eq!(least(&[7.0], 32), (7.0, 0));
        values[64] = 0.5;
        assert_eq!(least(&values, 32), (0.5, 64));
    }

    #[test]
    fn kernels_compute_the_bits_of_the_rule() {
        for version in Version::ALL {
            for (particles, dims) in [(70, 2), (1100, 2), (75, 8), (37, 16), (33, 64)] {
                let setting = Setting::new(particles, dims, [7, 5]);
                let mut expected = State::start(&setting, version);
                let emulated = Emulated::new(u64::from(particles + dims), 32);
                let machine = emulated.machine();
                let mut swarm = OnMachine::new(&machine, version, &setting, &expected).unwrap();
                for iterations in [1, 2] {
                    for _ in 0..iterations {
                        expected.advance(&setting, version);
                        swarm.advance().unwrap();
                    }
                    let found = swarm.state().unwrap();
                    let difference = expected.difference(&found);
                    assert_eq!(difference, None, "{version}, {particles} x {dims}");
                }
                assert!(expected.own_bests != expected.positions, "nothing was to be kept");
                let times = swarm.timed(1).unwrap();
                assert!(times.iter().all(|(_, spread)| spread.median > 0.0), "{version}");
                let [.., (last, _)] = &times[..] else { panic!("nothing was timed") };
                assert_eq!(*last, "iteration");
            }
        }
    }

    #[test]
    fn a_reduction_has_as_many_launches_as_the_profiles_tell() {
        let launches = Version::ALL.map(|version| kernels::launches_of_least(version, 1_000_000));
        assert_eq!(launches, [171, 165, 3, 2, 2, 2]);
    }
}
