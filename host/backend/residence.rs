//! Whether a swarm's iterations run with its particles on a GPU's chip, and in which shape.

use flockwork_device::{
    gpu::warp,
    math::Scalar,
    objective::Reach,
    swarm::kernels::{
        quartet,
        resident::{shared_bytes, sheet_words},
        team::Team,
        turns,
    },
};

use crate::names::named;

named! {
    /// Where the particles of a synchronous swarm are between iterations on a GPU. The result is the
    /// same to the bit; it is for swarms with the rule, neighbourhood, edge and randomness of
    /// [`Options::default`](crate::swarm::Options), continuous variables and no rotation.
    ///
    /// Tiered swarms have a thread for each particle.
    ///
    /// For shortest paths, whether a matrix is closed by one launch, at whose steps the multiprocessors
    /// wait for each other (resident; without paths only), or by some launches for each pair of pivot
    /// blocks (streaming, tiered); the former for small graphs (auto).
    ///
    /// ```
    /// use flockwork::backend::{AnyBackend, Choice, Residence};
    ///
    /// let residence: Residence = "streaming".parse()?;
    /// let backend = AnyBackend::select(Choice::Auto, 1)?.with_residence(residence);
    /// println!("{}", backend.reason());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    #[derive(Default)]
    pub enum Residence("residence") {
        /// On the chip where they fit, or as many as fit if that is a quarter at least (and three warps'), or else in device
        /// memory.
        #[default]
        Auto = "auto",
        /// In device memory: a launch for each iteration.
        Streaming = "streaming",
        /// As many as fit on the chip, and the others in device memory: one launch for many iterations, at
        /// whose ends the multiprocessors wait for each other. An error if all fit, or none.
        Tiered = "tiered",
        /// On the chip: one launch for many iterations, at whose ends the multiprocessors wait for
        /// each other. An error if they do not fit.
        Resident = "resident",
    }
}

named! {
    /// How many threads of a GPU work for a particle of a swarm that is on the chip, and which. The result is
    /// the same to the bit.
    ///
    /// (Hošala's thesis compares such layouts for particles in device memory: `flockwork bench lineage hosala`.)
    ///
    /// ```
    /// use flockwork::backend::{AnyBackend, Choice, Evaluation};
    ///
    /// let evaluation: Evaluation = "warp".parse()?;
    /// let backend = AnyBackend::select(Choice::Auto, 1)?.with_evaluation(evaluation);
    /// println!("{}", backend.reason());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    #[derive(Default)]
    pub enum Evaluation("evaluation") {
        /// What suits the numbers of particles, dimensions and terms.
        #[default]
        Auto = "auto",
        /// A thread for each particle.
        Thread = "thread",
        /// Some warps for 32 particles: the lanes of a warp are particles, the warps share the dimensions.
        Mod = "mod",
        /// A warp for each particle, whose lanes share the dimensions.
        Warp = "warp",
        /// A block for each particle, or several warps of one, whose threads share the dimensions.
        Block = "block",
    }
}

/// What is to be done in an iteration.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Number of particles.
    pub particles: u32,
    /// Number of dimensions.
    pub dims: u32,
    /// Which coordinates a term of the function reads.
    pub reach: Reach,
    /// Its terms.
    pub terms: u32,
    /// Words of a term.
    pub words: u32,
}

/// What a machine has for a launch of some kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Blocks that are on the chip at once whatever they take: multiprocessors. 0 if blocks cannot wait
    /// for each other.
    pub blocks: u32,
    /// Threads of a block, at most.
    pub threads: u32,
    /// Bytes of shared memory of a block, at most.
    pub shared_bytes: u32,
}

/// The shape of a launch of [`Resident`](flockwork_device::swarm::kernels::resident::Resident) or its like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks.
    pub blocks: u32,
    /// Threads in each.
    pub threads: u32,
    /// Chunks of particles that a block holds at once.
    pub capacity: u32,
    /// The threads that work for a chunk, if several share a particle.
    pub team: Option<Team>,
}

impl Shape {
    /// Who works for a chunk.
    pub fn team(&self) -> Team {
        self.team.unwrap_or(Team::ALONE)
    }
}

/// Threads that a block has at least before there is a second one: two warps for each of a multiprocessor's
/// four schedulers. Fewer where particles with many dimensions do not fit otherwise.
const LEAST_THREADS: [u32; 4] = [256, 128, 64, 32];

/// The shape for a swarm that is on the chip as a whole, with these teams; `None` if it does not fit. `threads`
/// in a block, if they are given.
pub fn together<T: Scalar>(
    capacity: Capacity,
    threads: Option<u32>,
    load: &Workload,
    team: Option<Team>,
) -> Option<Shape> {
    // A team is as large as suits, and has a block for itself while there are any.
    let least: &[u32] = if team.is_some() { &[1] } else { &LEAST_THREADS };
    least
        .iter()
        .filter_map(|&least| spread(capacity, threads, load, team, least))
        .find(|&shape| fits::<T>(capacity, shape, load))
}

/// Warps of a multiprocessor whose particles take turns at least: with one, the kernel takes longer than streaming ones.
/// Measured, see benches/README.md.
const LEAST_TAKING_TURNS: u32 = 2;

/// The shape for a swarm whose blocks do not wait for each other and whose particles take turns on the chip, a chunk for
/// each warp; `None` if there is no room for one, or for so few that it gains nothing, unless `threads` are given.
pub fn turns<T: Scalar>(
    capacity: Capacity,
    threads: Option<u32>,
    load: &Workload,
) -> Option<Shape> {
    let most = threads.unwrap_or(1024).min(capacity.threads) / warp::LANES;
    let kept = turns::kept_words(load.reach, (load.terms, load.words), load.dims);
    let fits = |warps: &u32| {
        turns::shared_bytes::<T>(most * warp::LANES, load.dims, *warps, kept)
            .is_some_and(|bytes| bytes <= capacity.shared_bytes)
    };
    let mut warps = (1..=most).rev().find(fits)?;
    // A block with fewer warps has fewer chunks, before there is a second one.
    let least = (warps * warp::LANES).min(LEAST_THREADS[0]);
    let shape = spread(capacity, threads, load, None, least)?;
    if warps < shape.capacity && warps > 8 {
        // None of a multiprocessor's four schedulers has more warps than another, once each has some.
        warps -= warps % 4;
    }
    let warps = warps.min(shape.capacity);
    if threads.is_none() && warps < shape.capacity && warps < LEAST_TAKING_TURNS {
        return None;
    }
    // The fewer threads, the more registers each has.
    let threads = threads.map_or(warps * warp::LANES, |_| shape.threads);
    Some(Shape { threads, capacity: warps, ..shape })
}

/// Dimensions up to which a thread for each particle in device memory is as fast as four: measured, see
/// benches/README.md.
const FEW_FOR_FOUR: u32 = 36;

/// Threads for each multiprocessor up to which four have a particle whatever a term reads: measured likewise.
const STREAMING_THREADS: u64 = 1024;

/// Whether four threads have a particle in device memory, not one. Where a term reads any coordinate, they read from memory
/// what the others of them have moved: that gains something for few particles only.
pub fn by_fours(room: Capacity, reach: Reach, particles: u32, dims: u32) -> bool {
    let threads = u64::from(room.blocks.max(1)) * STREAMING_THREADS;
    let are_few = u64::from(particles) * u64::from(quartet::PARTS) <= threads;
    dims > FEW_FOR_FOUR && (reach != Reach::All || are_few)
}

/// The part of its shared memory, one of so many, that a block with some of its particles on the chip leaves to the
/// first-level cache, through which the others come.
const LEFT_TO_CACHE: u32 = 7;

/// The part of a swarm, one of so many, that fits on the chip at least where [`tiered`] gains something: measured, see
/// benches/README.md.
const WORTH_A_TIER: u64 = 4;

/// So many warps' particles fit on a multiprocessor at least where [`tiered`] gains something: with few particles of many
/// dimensions four threads for each are faster. Measured likewise.
const WORTH_CHUNKS: u32 = 3;

/// The shape for a swarm of which a part is on the chip, a thread for each particle; `None` if all fits, or nothing; or
/// so little that it gains nothing, unless that is `wanted`.
pub fn tiered<T: Scalar>(
    capacity: Capacity,
    threads: Option<u32>,
    load: &Workload,
    wanted: bool,
) -> Option<Shape> {
    if together::<T>(capacity, threads, load, None).is_some() {
        return None;
    }
    let shared_bytes = capacity.shared_bytes - capacity.shared_bytes / LEFT_TO_CACHE;
    let left = Capacity { shared_bytes, ..capacity };
    let whole = spread(capacity, threads, load, None, LEAST_THREADS[0])?;
    let fitting = most_fitting::<T>(left, whole, load);
    let is_worth_it =
        u64::from(fitting) * WORTH_A_TIER >= u64::from(whole.capacity) && fitting >= WORTH_CHUNKS;
    (fitting > 0 && fitting < whole.capacity && (wanted || is_worth_it))
        .then_some(Shape { capacity: fitting, ..whole })
}

/// The most chunks that fit in blocks of this shape.
fn most_fitting<T: Scalar>(capacity: Capacity, shape: Shape, load: &Workload) -> u32 {
    let (mut fitting, mut beyond) = (0, shape.capacity + 1);
    while beyond - fitting > 1 {
        let middle = fitting + (beyond - fitting) / 2;
        if fits::<T>(capacity, Shape { capacity: middle, ..shape }, load) {
            fitting = middle;
        } else {
            beyond = middle;
        }
    }
    fitting
}

/// Threads that a multiprocessor has if several share a particle: two warps for each of its schedulers.
const SHARING_THREADS: u32 = 256;

/// As few threads for a particle as are worth the barriers that they take.
const LEAST_PARTS: u32 = 8;

/// Particles that a multiprocessor has at most if they are shared: with more, a thread for each fills it.
const SHARED_PARTICLES: u32 = 128;

/// The teams to try on a machine that has this `room` for any kernel, the one that suits best first; `None` is a
/// thread for each particle. Teams whose particles do not fit there whatever else a kernel takes are left out.
///
/// The rule of [`Evaluation::Auto`], from measurements (`flockwork bench evaluation`, benches/README.md): threads
/// share particles until there are [`SHARING_THREADS`] for each multiprocessor, and at least [`LEAST_PARTS`] share one
/// if a multiprocessor has no more than [`SHARED_PARTICLES`], and a particle four dimensions for each; as many particles lie side by side as make a block of that size, but
/// fewer if a quarter of the multiprocessors had nothing to do. Where that does not fit, a thread for each; where
/// that does not either, narrower teams.
pub fn teams<T: Scalar>(
    evaluation: Evaluation,
    load: &Workload,
    room: Capacity,
) -> Vec<Option<Team>> {
    let team = |particles, parts| Some(Team { particles, parts });
    // More threads than groups of dimensions, or terms, have nothing to do.
    let terms = if matches!(load.reach, Reach::All) { load.terms } else { 0 };
    let useful = load.dims.div_ceil(4).max(terms).min(1024).next_power_of_two();
    let parts = |most: u32| useful.min(most);
    let mut teams = match evaluation {
        Evaluation::Thread => vec![None],
        Evaluation::Mod => [32, 16, 8, 4, 2, 1].map(|most| team(warp::LANES, parts(most))).to_vec(),
        Evaluation::Warp => vec![team(1, parts(warp::LANES))],
        Evaluation::Block => {
            [1024, 512, 256, 128, 64, 32].map(|most| team(1, parts(most))).to_vec()
        }
        Evaluation::Auto => {
            let multiprocessors = room.blocks;
            let threads = SHARING_THREADS * multiprocessors;
            let few = load.particles <= SHARED_PARTICLES * multiprocessors;
            let least = if few { LEAST_PARTS } else { 1 };
            let each = (threads / load.particles.max(1)).clamp(least, SHARING_THREADS);
            let parts = parts(1 << each.ilog2());
            let mut particles = (SHARING_THREADS / parts).clamp(1, warp::LANES);
            while particles > 1 && load.particles.div_ceil(particles) < multiprocessors / 4 {
                particles /= 2;
            }
            let narrower = |parts| {
                let widths = [32, 16, 8, 4, 2, 1].into_iter();
                widths.filter(|&width| width <= particles).map(move |width| team(width, parts))
            };
            if parts >= LEAST_PARTS {
                narrower(parts).chain([None]).collect()
            } else {
                [None].into_iter().chain(narrower(parts.max(2))).collect()
            }
        }
    };
    teams.retain(|team| team.is_none_or(|team| may_fit::<T>(room, load, team)));
    teams
}

/// Whether all chunks of such teams can be on a machine that has so much room for any kernel.
fn may_fit<T: Scalar>(room: Capacity, load: &Workload, team: Team) -> bool {
    let chunks = load.particles.div_ceil(team.particles);
    let threads = team.threads().next_multiple_of(warp::LANES);
    // No block has fewer threads, and not all of them have fewer chunks.
    let least =
        |blocks| Shape { blocks, threads, capacity: chunks.div_ceil(blocks), team: Some(team) };
    room.blocks > 0 && fits::<T>(room, least(room.blocks), load)
}

/// Shares the chunks out among blocks of at least so many threads, unless their number is given.
fn spread(
    capacity: Capacity,
    threads: Option<u32>,
    load: &Workload,
    team: Option<Team>,
    least: u32,
) -> Option<Shape> {
    let each_team = team.unwrap_or(Team::ALONE).threads();
    let most = threads.unwrap_or(1024).min(capacity.threads) / warp::LANES * warp::LANES;
    if capacity.blocks == 0 || most < each_team {
        return None;
    }
    let chunks = load.particles.div_ceil(team.unwrap_or(Team::ALONE).particles);
    let least = (threads.unwrap_or(least).min(most) / each_team).max(1);
    let blocks = (chunks / least).clamp(1, capacity.blocks);
    let each = chunks.div_ceil(blocks);
    // As few as need no more each.
    let blocks = chunks.div_ceil(each);
    let wanted = || each.saturating_mul(each_team).next_multiple_of(warp::LANES).min(most);
    Some(Shape { blocks, threads: threads.map_or_else(wanted, |_| most), capacity: each, team })
}

fn fits<T: Scalar>(capacity: Capacity, shape: Shape, load: &Workload) -> bool {
    let shared =
        shape.team.map(|team| (team, sheet_words(team, load.reach, load.terms, load.words)));
    shared_bytes::<T>(shape.threads, load.dims, shape.capacity, shared)
        .is_some_and(|bytes| bytes <= capacity.shared_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An H200's.
    const LARGE: Capacity = Capacity { blocks: 132, threads: 1024, shared_bytes: 232_448 };

    fn load(particles: u32, dims: u32) -> Workload {
        Workload { particles, dims, reach: Reach::Own, terms: dims, words: 1 }
    }

    #[test]
    fn the_swarms_that_should_fit_do() {
        let shape = |particles, dims| together::<f32>(LARGE, None, &load(particles, dims), None);
        let all = |blocks, threads, capacity| Some(Shape { blocks, threads, capacity, team: None });
        assert_eq!(shape(2_048, 1), all(8, 256, 8));
        assert_eq!(shape(65_536, 1), all(128, 512, 16));
        assert_eq!(shape(131_072, 10), all(128, 1024, 32));
        assert_eq!(shape(1_048_576, 2), all(132, 1024, 249));
        assert_eq!(shape(65_536, 32), all(128, 512, 16));
        // Eight chunks of a block would not fit.
        assert_eq!(shape(1_024, 120), all(8, 128, 4));
        assert_eq!(shape(1_024, 240), all(16, 64, 2));
        assert_eq!(shape(65_536, 100), None);
        assert_eq!(shape(1_048_576, 16), None);
        assert_eq!(shape(u32::MAX, u32::MAX), None);
        assert_eq!(
            together::<f32>(Capacity { blocks: 0, ..LARGE }, None, &load(100, 1), None),
            None
        );
    }

    #[test]
    fn what_does_not_fit_as_a_whole_takes_turns() {
        let half = Capacity { threads: 512, ..LARGE };
        let shape = |particles, dims| {
            turns::<f32>(half, None, &load(particles, dims))
                .map(|shape| (shape.blocks, shape.threads, shape.capacity))
        };
        assert_eq!(shape(1_048_576, 16), Some((132, 512, 16)));
        assert_eq!(shape(1_048_576, 64), Some((132, 384, 12)));
        assert_eq!(shape(65_536, 100), Some((128, 256, 8)));
        // Few warps of a block have room, and there are more blocks.
        assert_eq!(shape(40, 500), Some((2, 32, 1)));
        assert_eq!(shape(4_000, 700), Some((125, 32, 1)));
        // Two warps gain something, one does not.
        assert_eq!(shape(100_000, 400), Some((131, 64, 2)));
        assert_eq!(shape(100_000, 500), None);
        // All of ten chunks at once.
        assert_eq!(shape(40_000, 64), Some((125, 320, 10)));
        assert_eq!(shape(40, 1_000), None);
        assert_eq!(shape(u32::MAX, u32::MAX), None);
        assert_eq!(shape(u32::MAX, 1).unwrap().0, 132);
        let given = |threads| turns::<f32>(half, Some(threads), &load(1_048_576, 64));
        let all = |threads, capacity| Some(Shape { blocks: 132, threads, capacity, team: None });
        assert_eq!(given(128), all(128, 4));
        // Some warps have nothing to do.
        assert_eq!(given(512), all(512, 12));
    }

    #[test]
    fn what_does_not_fit_as_a_whole_is_tiered_where_that_is_worth_it() {
        let shape = |particles, dims, wanted| {
            tiered::<f32>(LARGE, None, &load(particles, dims), wanted)
                .map(|shape| (shape.blocks, shape.threads, shape.capacity))
        };
        assert_eq!(shape(65_536, 100, false), Some((128, 512, 5)));
        assert_eq!(shape(300_000, 10, false), Some((131, 1024, 50)));
        // Two chunks of eight.
        assert_eq!(shape(32_768, 200, false), None);
        // 24 in a hundred, twelve, and three.
        assert_eq!(shape(262_144, 32, false), None);
        assert_eq!(shape(262_144, 32, true), Some((131, 1024, 15)));
        assert_eq!(shape(1_048_576, 16, false), None);
        assert_eq!(shape(1_048_576, 64, false), None);
        assert_eq!(shape(1_048_576, 64, true), Some((132, 1024, 8)));
        // All, and not even a chunk.
        assert_eq!(shape(65_536, 32, true), None);
        assert_eq!(shape(65_536, 1_000, true), None);
        assert_eq!(shape(u32::MAX, u32::MAX, true), None);
        let none = Capacity { blocks: 0, ..LARGE };
        assert_eq!(tiered::<f32>(none, None, &load(65_536, 100), true), None);
    }

    #[test]
    fn few_particles_of_many_dimensions_are_shared() {
        let first =
            |particles, dims| teams::<f32>(Evaluation::Auto, &load(particles, dims), LARGE)[0];
        let team = |particles, parts| Some(Team { particles, parts });
        assert_eq!(first(64, 1_024), team(1, 256));
        assert_eq!(first(32, 512), team(1, 128));
        assert_eq!(first(1_024, 128), team(8, 32));
        assert_eq!(first(1_024, 1_024), team(8, 32));
        assert_eq!(first(4_096, 64), team(32, 8));
        assert_eq!(first(8_192, 32), team(32, 8));
        assert_eq!(first(16_384, 64), team(32, 8));
        // Too many particles, or too few dimensions.
        assert_eq!(first(20_000, 64), None);
        assert_eq!(first(8_192, 16), None);
        assert_eq!(first(40, 10), None);
        assert_eq!(first(u32::MAX, u32::MAX), None);
        // Too many to share, and not too many for the chip.
        let fitting = teams::<f32>(Evaluation::Auto, &load(20_000, 100), LARGE)
            .into_iter()
            .find_map(|team| together::<f32>(LARGE, None, &load(20_000, 100), team));
        assert_eq!(fitting.unwrap().team, None);
        // No multiprocessor has room for 32 of them.
        let wide = load(1_500, 700);
        assert_eq!(together::<f32>(LARGE, None, &wide, None), None);
        let fitting = teams::<f32>(Evaluation::Auto, &wide, LARGE)
            .into_iter()
            .find_map(|team| together::<f32>(LARGE, None, &wide, team));
        assert!(fitting.unwrap().team.is_some());
    }

    #[test]
    fn teams_without_room_are_not_tried() {
        let all = |particles, dims| teams::<f32>(Evaluation::Auto, &load(particles, dims), LARGE);
        // Not on any chip, so that no kernel need be made ready for them.
        assert_eq!(all(1_048_576, 64), [None]);
        assert_eq!(teams::<f32>(Evaluation::Block, &load(1_048_576, 64), LARGE), []);
        let none = Capacity { blocks: 0, ..LARGE };
        assert_eq!(teams::<f32>(Evaluation::Auto, &load(64, 1_024), none), [None]);
        // Each once.
        let few = all(64, 1_024);
        assert!(few.len() > 1 && few.contains(&None));
        assert!((1..few.len()).all(|nth| !few[..nth].contains(&few[nth])), "{few:?}");
        // What fits is never left out.
        for (particles, dims) in [(1_500, 700), (8_000, 200), (4_096, 256), (65_536, 100)] {
            let load = load(particles, dims);
            for particles in [1, 2, 4, 8, 16, 32] {
                for parts in [1, 8, 32] {
                    let team = Team { particles, parts };
                    if together::<f32>(LARGE, None, &load, Some(team)).is_some() {
                        assert!(may_fit::<f32>(LARGE, &load, team), "{load:?} {team:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn no_block_is_without_a_chunk() {
        for particles in [1, 31, 33, 100, 1_000, 4_000, 100_000] {
            for threads in [None, Some(32), Some(64), Some(512)] {
                let shape = turns::<f64>(LARGE, threads, &load(particles, 3)).unwrap();
                assert!(shape.blocks <= particles.div_ceil(32), "{particles}: {shape:?}");
                assert!(threads.is_none_or(|threads| shape.threads == threads));
            }
        }
    }
}
