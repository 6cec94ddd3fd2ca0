//! Times the parts of an iteration on the CPU, and whole iterations: `cargo bench --bench parts`.
//!
//! Parts run on one thread, on a tile of 64 particles in 32 dimensions that stays in the cache,
//! with the widest vector instructions of the machine. An item is one dimension of one particle.

use std::fmt;

use divan::{
    Bencher, black_box,
    counter::{BytesCount, ItemsCount},
};
use flockwork::{
    backend::{Backend, Cpu, Number, Plan, Simd, Swarm},
    math::{Lanes, PerLane, Real, Scalar},
    objective::{Context, Objective, Point, Rastrigin, evaluation::Evaluation},
    random::{Draw, Key, Purpose, philox},
    swarm::{Options, Problem, Rule},
};
use flockwork_device::{
    gpu::memory::ReadOnly,
    swarm::{
        layout::TILE,
        update::{Advance, Bound, Coefficients},
    },
};

fn main() {
    println!("vector instructions: {}", Simd::detect());
    divan::main();
}

/// Particles side by side, as the CPU back end processes them.
type Row<T> = Lanes<T, TILE>;

const DIMS: usize = 32;
const KEY: Key = philox::key(1);

/// Code to be compiled for the machine's vector instructions.
trait Work {
    /// Mark it `#[inline(always)]`, so that it is compiled for the caller's instructions.
    fn run(&mut self);
}

/// Runs the work as the CPU back end would.
fn dispatch<W: Work>(work: &mut W) {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn avx2<W: Work>(work: &mut W) {
        work.run();
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn avx512<W: Work>(work: &mut W) {
        work.run();
    }
    match Simd::detect() {
        // SAFETY: the processor has the instructions.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx512 => unsafe { avx512(work) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2 => unsafe { avx2(work) },
        _ => work.run(),
    }
}

fn measure(bencher: Bencher<'_, '_>, mut work: impl Work) {
    bencher.counter(ItemsCount::new(TILE * DIMS)).bench_local(|| dispatch(black_box(&mut work)));
}

/// A tile of different numbers between `low` and `high`.
fn rows<T: Scalar>(low: f64, high: f64) -> Vec<Row<T>> {
    let draw =
        Draw { key: KEY, iteration: 0, particle: 0, group: 0, purpose: Purpose::Data, nth: 0 };
    let row = |group| {
        let [(uniform, _), _] = Row::<T>::uniforms(Draw { group, ..draw });
        Lanes(uniform.0.map(|u| T::nearest(low + (high - low) * u.to_f64())))
    };
    (0..DIMS as u32).map(row).collect()
}

fn velocity_draw(iteration: u32) -> Draw {
    Draw { key: KEY, iteration, particle: 0, group: 0, purpose: Purpose::Velocity, nth: 0 }
}

fn advance<T: Scalar>() -> Advance<T> {
    let pull = T::of(1.496_18);
    Advance {
        coefficients: Coefficients { inertia: T::of(0.729_8), cognitive: pull, social: pull },
        bound: Bound {
            lower: T::of(-5.12),
            upper: T::of(5.12),
            max_velocity: T::of(5.12),
            shift: T::ZERO,
        },
    }
}

/// Philox, and two uniforms from its bits for each dimension.
#[divan::bench(types = [f32, f64])]
fn random_numbers<T: Scalar>(bencher: Bencher<'_, '_>) {
    struct Uniforms<T> {
        iteration: u32,
        pairs: Vec<(Row<T>, Row<T>)>,
    }
    impl<T: Scalar> Work for Uniforms<T> {
        #[inline(always)]
        fn run(&mut self) {
            self.iteration += 1;
            let shared = T::PAIRS_PER_BLOCK as usize;
            for (group, pairs) in self.pairs.chunks_exact_mut(shared).enumerate() {
                let draw = Draw { group: group as u32, ..velocity_draw(self.iteration) };
                let drawn = Row::<T>::raised_uniforms(draw);
                pairs.copy_from_slice(&drawn[..shared]);
            }
        }
    }
    let zero = Row::<T>::of(0.0);
    measure(bencher, Uniforms { iteration: 0, pairs: vec![(zero, zero); DIMS] });
}

/// New velocities and positions from given random numbers.
#[divan::bench(types = [f32, f64])]
fn update<T: Scalar>(bencher: Bencher<'_, '_>) {
    struct Update<T> {
        advance: Advance<T>,
        positions: Vec<Row<T>>,
        velocities: Vec<Row<T>>,
        personal_bests: Vec<Row<T>>,
        global_best: Vec<T>,
        raised: [Vec<Row<T>>; 2],
    }
    impl<T: Scalar> Work for Update<T> {
        #[inline(always)]
        fn run(&mut self) {
            let [raised1, raised2] = &self.raised;
            for d in 0..DIMS {
                let inputs = [
                    self.positions[d],
                    self.velocities[d],
                    self.personal_bests[d],
                    Lanes([self.global_best[d]; TILE]),
                    raised1[d],
                    raised2[d],
                ];
                let [position, velocity] = Real::per_lane(&self.advance, inputs);
                (self.positions[d], self.velocities[d]) = (position, velocity);
            }
        }
    }
    let work = Update {
        advance: advance::<T>(),
        positions: rows(-5.0, 5.0),
        velocities: rows(-1.0, 1.0),
        personal_bests: rows(-5.0, 5.0),
        global_best: vec![T::of(0.5); DIMS],
        raised: [rows(1.0, 2.0), rows(1.0, 2.0)],
    };
    measure(bencher, work);
}

/// Rastrigin's function on a tile: its sine and the sum.
#[divan::bench(types = [f32, f64])]
fn rastrigin<T: Scalar>(bencher: Bencher<'_, '_>) {
    struct Tile<'a, T>(&'a [Row<T>]);
    impl<T: Scalar> Point<Row<T>> for Tile<'_, T> {
        #[inline(always)]
        fn at(&self, dimension: u32) -> Row<T> {
            self.0[dimension as usize]
        }
    }
    struct Evaluate<T> {
        positions: Vec<Row<T>>,
        values: Row<T>,
    }
    impl<T: Scalar> Work for Evaluate<T> {
        #[inline(always)]
        fn run(&mut self) {
            let context = Context::new(DIMS as u32, ReadOnly::empty());
            let mut evaluation = Evaluation::new(&Rastrigin, &context);
            for (dimension, &row) in self.positions.iter().enumerate() {
                evaluation.push(dimension as u32, row);
            }
            self.values = evaluation.finish(&Tile(&self.positions));
        }
    }
    measure(bencher, Evaluate { positions: rows::<T>(-5.0, 5.0), values: Row::of(0.0) });
}

/// An elementary function over a tile.
struct Map<T, F> {
    from: Vec<Row<T>>,
    to: Vec<Row<T>>,
    function: F,
}

impl<T: Scalar, F: PerLane<T, 1, 1>> Work for Map<T, F> {
    #[inline(always)]
    fn run(&mut self) {
        for (to, &from) in self.to.iter_mut().zip(&self.from) {
            [*to] = Real::per_lane(&self.function, [from]);
        }
    }
}

macro_rules! elementary {
    ($($name:ident, $low:literal to $high:literal;)*) => { $(
        #[divan::bench(types = [f32, f64])]
        fn $name<T: Scalar>(bencher: Bencher<'_, '_>) {
            struct Function;
            impl<T: Scalar> PerLane<T, 1, 1> for Function {
                #[inline(always)]
                fn apply(&self, [x]: [T; 1]) -> [T; 1] {
                    [x.$name()]
                }
            }
            let (from, to) = (rows::<T>($low, $high), rows::<T>(0.0, 0.0));
            measure(bencher, Map { from, to, function: Function });
        }
    )* };
}

elementary! {
    sin_pi_squared, -5.0 to 5.0;
    cos_pi, -5.0 to 5.0;
    exp, -10.0 to 10.0;
    ln, 0.001 to 100.0;
}

/// Iterations of a whole swarm.
struct Size {
    particles: u32,
    dims: u32,
    threads: usize,
    /// Iterations per call.
    iterations: u32,
}

/// Iterations before the measured ones: in the first few, personal bests improve everywhere, later
/// only here and there.
const BEFORE: u32 = 500;

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { particles, dims, threads, .. } = self;
        let plural = if *threads == 1 { "" } else { "s" };
        write!(f, "{particles} x {dims}, {threads} thread{plural}")
    }
}

const SIZES: [Size; 4] = [
    Size { particles: 40, dims: 10, threads: 1, iterations: 100 },
    Size { particles: 2_048, dims: 32, threads: 1, iterations: 1 },
    Size { particles: 65_536, dims: 32, threads: 1, iterations: 1 },
    Size { particles: 65_536, dims: 32, threads: 2, iterations: 1 },
];

/// A swarm for Rastrigin's function, and its problem.
fn swarm<T: Number>(size: &Size) -> flockwork::Result<(Box<dyn Swarm<T>>, Problem)> {
    let problem = Problem::new(Rastrigin, size.dims)?.shifted(1)?;
    let options = Options {
        particles: size.particles,
        precision: Some(T::PRECISION),
        ..Options::for_rule(Rule::Inertia)
    };
    let plan = Plan::<T>::new(&problem, &options)?;
    let mut swarm = Cpu::new(size.threads)?.swarm(problem.function(), plan)?;
    swarm.start(None)?;
    Ok((swarm, problem))
}

/// Whole iterations.
#[divan::bench(types = [f32, f64], args = SIZES)]
fn iteration<T: Number>(bencher: Bencher<'_, '_>, size: &Size) {
    let (mut swarm, _) = swarm::<T>(size).expect("a swarm that fits");
    swarm.advance(BEFORE).expect("iterations");
    let items = size.particles as usize * size.dims as usize * size.iterations as usize;
    bencher
        .counter(ItemsCount::new(items))
        .bench_local(|| swarm.advance(size.iterations).expect("iterations"));
}

/// A straightforward swarm for 40 particles in 10 dimensions: one particle after the other, one
/// dimension after the other.
mod plain {
    use super::*;

    const PARTICLES: usize = 40;
    const DIMS: usize = 10;

    #[derive(Clone, Copy)]
    struct Particle<T> {
        position: [T; DIMS],
        velocity: [T; DIMS],
        personal_best: [T; DIMS],
        best_fitness: T,
    }

    struct PlainSwarm<T> {
        particles: [Particle<T>; PARTICLES],
        shift: [T; DIMS],
        global_best: [T; DIMS],
        best_fitness: T,
        iteration: u32,
        iterations: u32,
    }

    impl<T: Scalar> Work for PlainSwarm<T> {
        #[inline(always)]
        fn run(&mut self) {
            let (advance, shared) = (advance::<T>(), T::PAIRS_PER_BLOCK as usize);
            let context = Context::new(DIMS as u32, ReadOnly::empty());
            for _ in 0..self.iterations {
                self.iteration += 1;
                for (index, p) in self.particles.iter_mut().enumerate() {
                    let draw = Draw { particle: index as u32, ..velocity_draw(self.iteration) };
                    let mut pairs = [(T::ZERO, T::ZERO); 2];
                    let mut fitness = T::ZERO;
                    for d in 0..DIMS {
                        if d % shared == 0 {
                            pairs = T::raised_uniforms(Draw { group: (d / shared) as u32, ..draw });
                        }
                        let (r1, r2) = pairs[d % shared];
                        let (x, v) = (p.position[d], p.velocity[d]);
                        [p.position[d], p.velocity[d]] =
                            advance.apply([x, v, p.personal_best[d], self.global_best[d], r1, r2]);
                        let seen = [p.position[d] - self.shift[d]];
                        fitness = fitness + Rastrigin.term(0, &One(seen[0]), &context);
                    }
                    if fitness < p.best_fitness {
                        (p.best_fitness, p.personal_best) = (fitness, p.position);
                    }
                }
                for p in &self.particles {
                    if p.best_fitness < self.best_fitness {
                        (self.best_fitness, self.global_best) = (p.best_fitness, p.personal_best);
                    }
                }
            }
        }
    }

    /// A point with only one known coordinate.
    struct One<T>(T);

    impl<T: Scalar> Point<T> for One<T> {
        #[inline(always)]
        fn at(&self, _: u32) -> T {
            self.0
        }
    }

    /// A copy of the library's swarm, from the same start.
    fn like<T: Number>(swarm: &mut dyn Swarm<T>, problem: &Problem) -> PlainSwarm<T> {
        let state = swarm.snapshot().expect("a state");
        let of = |all: &[T], index: usize| -> [T; DIMS] {
            std::array::from_fn(|d| all[index * DIMS + d])
        };
        PlainSwarm {
            particles: std::array::from_fn(|index| Particle {
                position: of(&state.positions, index),
                velocity: of(&state.velocities, index),
                personal_best: of(&state.personal_bests, index),
                best_fitness: state.best_fitness[index],
            }),
            shift: std::array::from_fn(|d| T::nearest(problem.shift()[d])),
            global_best: of(&state.bests[0].position, 0),
            best_fitness: state.bests[0].value,
            iteration: state.iteration,
            iterations: SIZES[0].iterations,
        }
    }

    /// Checks that after some iterations it equals the library's swarm to the last bit.
    fn checked<T: Number>() -> PlainSwarm<T> {
        let (mut swarm, problem) = swarm::<T>(&SIZES[0]).expect("a swarm that fits");
        let mut plain = like(&mut *swarm, &problem);
        dispatch(&mut plain);
        swarm.advance(SIZES[0].iterations).expect("iterations");
        let (best, expected) = (plain.best_fitness, swarm.best().expect("a best").value);
        assert!(best == expected, "{best} instead of {expected}");
        plain
    }

    /// Compiled for the machine's vector instructions, whether or not the compiler uses them.
    #[divan::bench(types = [f32, f64])]
    fn loop_40x10<T: Number>(bencher: Bencher<'_, '_>) {
        let mut plain = checked::<T>();
        let items = PARTICLES * DIMS * SIZES[0].iterations as usize;
        bencher.counter(ItemsCount::new(items)).bench_local(|| dispatch(black_box(&mut plain)));
    }
}

/// Memory bandwidth.
mod memory {
    use rayon::prelude::*;

    use super::*;

    /// Total bytes of three arrays: about the size of a swarm of 65,536 x 32 in f32 and in f64, and
    /// more than any cache has.
    const BYTES: [usize; 3] = [25 << 20, 50 << 20, 2 << 30];

    #[derive(Clone, Copy)]
    struct Arrays {
        bytes: usize,
        threads: usize,
    }

    impl fmt::Display for Arrays {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{} MiB, threads: {}", self.bytes >> 20, self.threads)
        }
    }

    fn all() -> impl Iterator<Item = Arrays> {
        BYTES.into_iter().flat_map(|bytes| [1, 2].map(|threads| Arrays { bytes, threads }))
    }

    /// Runs the work in pieces on this many threads. `moved` bytes count per element of the three
    /// arrays.
    fn measure_pieces(
        bencher: Bencher<'_, '_>,
        arrays: Arrays,
        moved: usize,
        work: impl Fn(&mut [f32], &mut [f32], &[f32]) + Sync,
    ) {
        let Arrays { bytes, threads } = arrays;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let length = bytes / 12;
        let (mut x, mut v, b) = (vec![1.0_f32; length], vec![0.5_f32; length], vec![0.0; length]);
        let piece = length.div_ceil(4 * threads);
        bencher.counter(BytesCount::new(moved * length)).bench_local(|| {
            pool.install(|| {
                let pieces = x.par_chunks_mut(piece).zip(v.par_chunks_mut(piece));
                pieces.zip(b.par_chunks(piece)).for_each(|((x, v), b)| work(x, v, b));
            });
            black_box((&mut x, &mut v));
        });
    }

    /// Reads three arrays and writes two of them in place, like a swarm's positions, velocities and
    /// personal bests.
    #[divan::bench(args = all(), max_time = 3)]
    fn as_a_swarm(bencher: Bencher<'_, '_>, arrays: Arrays) {
        measure_pieces(bencher, arrays, 20, |x, v, b| {
            for ((x, v), b) in x.iter_mut().zip(v).zip(b) {
                *v += b;
                *x += *v * 1e-9;
            }
        });
    }

    /// Copies one array to another.
    #[divan::bench(args = all(), max_time = 3)]
    fn copy(bencher: Bencher<'_, '_>, arrays: Arrays) {
        measure_pieces(bencher, arrays, 8, |x, _, b| x.copy_from_slice(b));
    }
}
