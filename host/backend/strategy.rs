//! How a GPU runs a swarm's iterations: the strategies, and the one rule that picks among them.
//!
//! [`choose`] is a pure function of the swarm, the machine's capacities and what was asked for. It
//! takes the first candidate that fits from an ordered table ([`candidates`]); if none fits, the
//! swarm streams. Each threshold stands beside the measurement that justifies it.

use flockwork_device::{
    gpu::warp,
    math::Scalar,
    objective::Reach,
    swarm::{
        kernels::{
            resident::{shared_bytes, sheet_words},
            step_cooperative,
            team::Team,
            time_sliced,
        },
        layout::Order,
        step::are_few,
    },
};

use crate::{Error, Result, names::named};

named! {
    /// How a swarm's iterations are run. The choice does not change a bit of the result, except
    /// that a swarm with [`Mode::Asynchronous`](crate::swarm::Mode) depends on timing.
    ///
    /// The back end chooses; to ask for a strategy, use
    /// [`AnyBackend::with_strategy`](crate::backend::AnyBackend::with_strategy). All but
    /// [`Strategy::General`] require swarms whose move and evaluation are one kernel: the rule,
    /// neighbourhood, edge and randomness of [`Options::for_rule`](crate::swarm::Options::for_rule)
    /// with [`Rule::Inertia`](crate::swarm::Rule), continuous variables and no rotation.
    ///
    /// For shortest paths, [`Strategy::Resident`] closes a matrix in one cooperative launch
    /// (distances only; the default for small graphs). Any other strategy takes several launches
    /// per pivot block.
    ///
    /// ```
    /// use flockwork::backend::{AnyBackend, Choice, Strategy};
    ///
    /// let strategy: Strategy = "streaming".parse()?;
    /// let backend = AnyBackend::select(Choice::Auto, 1)?.with_strategy(strategy);
    /// println!("{}", backend.reason());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub enum Strategy("strategy") {
        /// On the CPU: tiles of 64 particles in SIMD lanes.
        Cpu = "cpu",
        /// Two launches per iteration, a move and an evaluation: works for any swarm.
        General = "general",
        /// One fused launch per iteration, with the particles in device memory.
        Streaming = "streaming",
        /// One launch for many iterations: as many particles as fit stay on the chip, the others
        /// stream. An error if all of them fit, or none.
        Tiered = "tiered",
        /// One launch for many iterations with all particles on the chip. An error if they do not
        /// fit.
        Resident = "resident",
        /// Asynchronous, with all particles on the chip: blocks do not wait for each other.
        Asynchronous = "asynchronous",
        /// Asynchronous, with more particles than fit on the chip: each warp keeps some there for
        /// many iterations, then takes turns with others.
        TimeSliced = "time-sliced",
    }
}

named! {
    /// How many threads of a GPU cooperate on a particle that is on the chip. The choice does not
    /// change a bit of the result.
    ///
    /// Hošala's thesis compares such layouts for particles in device memory: see `flockwork bench
    /// lineage hosala`.
    ///
    /// ```
    /// use flockwork::backend::{AnyBackend, Choice, Cooperation};
    ///
    /// let cooperation: Cooperation = "warp".parse()?;
    /// let backend = AnyBackend::select(Choice::Auto, 1)?.with_cooperation(cooperation);
    /// println!("{}", backend.reason());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    #[derive(Default)]
    pub enum Cooperation("cooperation") {
        /// Chosen by the numbers of particles, dimensions and terms.
        #[default]
        Auto = "auto",
        /// One thread for each particle.
        Thread = "thread",
        /// Several warps for 32 particles: each lane of a warp has a particle, and the warps share
        /// the dimensions.
        Mod = "mod",
        /// One warp for each particle; its lanes share the dimensions.
        Warp = "warp",
        /// One block for each particle, or several of its warps; the threads share the dimensions.
        Block = "block",
    }
}

/// What a caller asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The strategy; `None` to choose automatically.
    pub strategy: Option<Strategy>,
    /// Threads per particle on the chip.
    pub cooperation: Cooperation,
    /// Threads per block.
    pub threads: Option<u32>,
}

/// The input of [`choose`].
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The work of an iteration.
    pub load: Workload,
    /// Whether move and evaluation may be one kernel.
    pub is_fusible: bool,
    /// Whether particles do not wait for each other.
    pub is_asynchronous: bool,
    /// The most that the machine offers any kernel.
    pub room: Capacity,
    /// What was asked for.
    pub asked: Asked,
}

/// How iterations are launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launch {
    /// Two launches an iteration.
    General,
    /// One launch per iteration, with the particles in this order: in quads one thread has a
    /// particle, in sixteens four threads share one.
    Streaming(Order),
    /// One launch for many iterations.
    OnChip(ChipKernel, Shape),
}

impl Launch {
    /// The strategy's name.
    pub fn strategy(self, is_asynchronous: bool) -> Strategy {
        match self {
            Self::General => Strategy::General,
            Self::Streaming(_) => Strategy::Streaming,
            Self::OnChip(kernel, _) => kernel.strategy(is_asynchronous),
        }
    }
}

/// The kernels that keep particles on the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChipKernel {
    /// [`Resident`](flockwork_device::swarm::kernels::resident::Resident): one thread per particle.
    Resident,
    /// [`Cooperative`](flockwork_device::swarm::kernels::resident::Cooperative): several threads per
    /// particle.
    Cooperative,
    /// [`Tiered`](flockwork_device::swarm::kernels::resident::Tiered).
    Tiered,
    /// [`TimeSliced`](flockwork_device::swarm::kernels::time_sliced::TimeSliced).
    TimeSliced,
}

impl ChipKernel {
    fn strategy(self, is_asynchronous: bool) -> Strategy {
        match self {
            Self::Tiered => Strategy::Tiered,
            Self::TimeSliced => Strategy::TimeSliced,
            Self::Resident | Self::Cooperative if is_asynchronous => Strategy::Asynchronous,
            Self::Resident | Self::Cooperative => Strategy::Resident,
        }
    }
}

/// A way to keep particles on the chip.
struct Candidate {
    kernel: ChipKernel,
    /// Whether this candidate is tried at its place in the table.
    when: fn(&Case) -> bool,
    /// The launch's shape, given the machine's capacity for the kernel; `None` if the particles do
    /// not fit.
    shape: fn(&Case, Capacity) -> Option<Shape>,
}

/// The candidates in the order in which they are tried: if two fit, the faster one comes first.
fn candidates<T: Scalar>(is_asynchronous: bool) -> Vec<Candidate> {
    use ChipKernel::{Cooperative, Resident, Tiered, TimeSliced};

    let cooperative_first =
        Candidate { kernel: Cooperative, when: Case::cooperates_first, shape: cooperative::<T> };
    let resident = Candidate { kernel: Resident, when: Case::may_be_alone, shape: alone::<T> };
    // Narrow teams, for particles of which 32 do not fit side by side.
    let cooperative_last =
        Candidate { kernel: Cooperative, when: Case::cooperates_last, shape: cooperative::<T> };
    if is_asynchronous {
        let sliced = |when| Candidate { kernel: TimeSliced, when, shape: time_sliced::<T> };
        // The resident kernel keeps the bounds of few dimensions in registers. In more dimensions,
        // time-slicing is faster even if all particles fit.
        let many = sliced(|case| case.may_be_alone() && !are_few(case.load.dims));
        let few = sliced(|case| case.may_be_alone() && are_few(case.load.dims));
        vec![cooperative_first, many, resident, few, cooperative_last]
    } else {
        let tiered = Candidate { kernel: Tiered, when: Case::may_be_alone, shape: tiered::<T> };
        vec![cooperative_first, resident, cooperative_last, tiered]
    }
}

/// How to launch many iterations; for single ones see [`in_memory`]. `capacity` tells what the
/// machine offers a kernel, and is called only for kernels that are candidates.
///
/// # Errors
/// If the request cannot be met, with a sentence that says why and what is possible.
pub fn choose<T: Scalar>(case: &Case, capacity: impl Fn(ChipKernel) -> Capacity) -> Result<Launch> {
    let asked = case.asked_strategy();
    if case.is_fusible {
        for Candidate { kernel, when, shape } in candidates::<T>(case.is_asynchronous) {
            let strategy = kernel.strategy(case.is_asynchronous);
            if asked.is_some_and(|asked| asked != strategy) || !when(case) {
                continue;
            }
            if let Some(shape) = shape(case, capacity(kernel)) {
                return Ok(Launch::OnChip(kernel, shape));
            }
        }
    }
    case.refusal().map_or(Ok(in_memory(case)), Err)
}

/// How to launch one iteration, or a few.
pub fn in_memory(case: &Case) -> Launch {
    if !case.is_fusible || case.asked_strategy() == Some(Strategy::General) {
        Launch::General
    } else if by_fours(case.room, case.load.reach, case.load.particles, case.load.dims) {
        Launch::Streaming(Order::Sixteens)
    } else {
        Launch::Streaming(Order::Quads)
    }
}

impl Case {
    /// The strategy that was asked for. Asynchronous swarms have their own strategies and ignore
    /// others.
    fn asked_strategy(&self) -> Option<Strategy> {
        let own = |asked: &Strategy| {
            !self.is_asynchronous || matches!(asked, Strategy::Asynchronous | Strategy::TimeSliced)
        };
        self.asked.strategy.filter(own)
    }

    /// Whether threads have to cooperate on particles on the chip.
    fn must_cooperate(&self) -> bool {
        !matches!(self.asked.cooperation, Cooperation::Auto | Cooperation::Thread)
    }

    /// Whether a particle may have a single thread.
    fn may_be_alone(&self) -> bool {
        !self.must_cooperate()
    }

    /// Whether cooperation is faster than one thread per particle, or was asked for.
    fn cooperates_first(&self) -> bool {
        self.must_cooperate()
            || (self.asked.cooperation == Cooperation::Auto && self.parts() >= LEAST_PARTS)
    }

    /// Whether to cooperate only if particles do not fit otherwise.
    fn cooperates_last(&self) -> bool {
        self.asked.cooperation == Cooperation::Auto && self.parts() < LEAST_PARTS
    }

    /// The error if no candidate fits what was asked for.
    fn refusal(&self) -> Option<Error> {
        let Workload { particles, dims, .. } = self.load;
        let asked = self.asked_strategy();
        let why = if !self.is_fusible {
            "only swarms with the inertia rule, the global neighbourhood, absorbing edges, continuous \
             variables and no rotation run there"
        } else if matches!(asked, Some(Strategy::Streaming | Strategy::General)) {
            "that is for particles on the chip"
        } else if asked == Some(Strategy::Tiered) {
            "all of them fit on the chip, or none does"
        } else {
            "they do not fit on the chip"
        };
        let refuse = |option, value: &str, others: &str| {
            let accepted =
                format!("{others} for {particles} particles in {dims} dimensions: {why}");
            Some(Error::Option { option, value: value.to_owned(), accepted })
        };
        let strategy = |strategy: Strategy, others| refuse("strategy", strategy.name(), others);
        let elsewhere = |strategy: Strategy, whose: &str| {
            let accepted = format!("auto, streaming, tiered or resident for {whose}");
            Some(Error::Option { option: "strategy", value: strategy.to_string(), accepted })
        };
        match asked {
            Some(asked @ Strategy::Resident) => strategy(asked, "auto or streaming"),
            Some(asked @ Strategy::Tiered) => strategy(asked, "auto, resident or streaming"),
            Some(asked @ Strategy::Cpu) => elsewhere(asked, "a GPU"),
            Some(asked @ (Strategy::Asynchronous | Strategy::TimeSliced)) => {
                if self.is_asynchronous {
                    strategy(asked, "auto")
                } else {
                    elsewhere(asked, "a synchronous swarm")
                }
            }
            _ if self.must_cooperate() => {
                refuse("cooperation", self.asked.cooperation.name(), "auto or thread")
            }
            _ => None,
        }
    }
}

/// The work of an iteration.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Number of particles.
    pub particles: u32,
    /// Number of dimensions.
    pub dims: u32,
    /// Which coordinates a term of the function reads.
    pub reach: Reach,
    /// Terms of the function.
    pub terms: u32,
    /// Words per term.
    pub words: u32,
}

/// What a machine offers a launch of some kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Multiprocessors: blocks that are on the chip at once, however much each takes. 0 if blocks
    /// cannot wait for each other.
    pub blocks: u32,
    /// The most threads per block.
    pub threads: u32,
    /// The most bytes of shared memory per block.
    pub shared_bytes: u32,
}

/// The shape of a launch with particles on the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks.
    pub blocks: u32,
    /// Threads per block.
    pub threads: u32,
    /// Chunks of particles that a block keeps on the chip at once.
    pub capacity: u32,
    /// The threads that cooperate on a chunk, if several share a particle.
    pub team: Option<Team>,
}

impl Shape {
    /// The threads that work on a chunk.
    pub fn team(&self) -> Team {
        self.team.unwrap_or(Team::ALONE)
    }
}

/// The fewest threads a block has before a second block is started: two warps for each of a
/// multiprocessor's four schedulers. Fewer if particles with many dimensions do not fit otherwise.
const LEAST_THREADS: [u32; 4] = [256, 128, 64, 32];

/// All particles on the chip, one thread each.
fn alone<T: Scalar>(case: &Case, capacity: Capacity) -> Option<Shape> {
    whole::<T>(case, capacity, None)
}

/// All particles on the chip, several threads each: the first team that fits.
fn cooperative<T: Scalar>(case: &Case, capacity: Capacity) -> Option<Shape> {
    case.teams::<T>().into_iter().find_map(|team| whole::<T>(case, capacity, Some(team)))
}

/// The shape for a swarm that is on the chip entirely; `None` if it does not fit.
fn whole<T: Scalar>(case: &Case, capacity: Capacity, team: Option<Team>) -> Option<Shape> {
    // A team has its best size, and a block of its own while there are blocks left.
    let least: &[u32] = if team.is_some() { &[1] } else { &LEAST_THREADS };
    least
        .iter()
        .filter_map(|&least| spread(case, capacity, team, least))
        .find(|&shape| fits::<T>(capacity, shape, &case.load))
}

/// The fewest warps per multiprocessor that are time-sliced: with one, the kernel takes longer than
/// streaming. Measured, see docs/measurements/gpu-swarms.md.
const LEAST_SLICED: u32 = 2;

/// One chunk on the chip for each warp, taking turns with others. `None` if no chunk fits, or so
/// few that time-slicing gains nothing, unless the threads of a block are given.
fn time_sliced<T: Scalar>(case: &Case, capacity: Capacity) -> Option<Shape> {
    let (load, threads) = (&case.load, case.asked.threads);
    let most = threads.unwrap_or(1024).min(capacity.threads) / warp::LANES;
    let kept = time_sliced::kept_words(load.reach, (load.terms, load.words), load.dims);
    let fits = |warps: &u32| {
        time_sliced::shared_bytes::<T>(most * warp::LANES, load.dims, *warps, kept)
            .is_some_and(|bytes| bytes <= capacity.shared_bytes)
    };
    let mut warps = (1..=most).rev().find(fits)?;
    // If only a few warps fit in a block, a second block starts earlier.
    let least = (warps * warp::LANES).min(LEAST_THREADS[0]);
    let shape = spread(case, capacity, None, least)?;
    if warps < shape.capacity && warps > 8 {
        // Load a multiprocessor's four schedulers equally once each has a warp.
        warps -= warps % 4;
    }
    let warps = warps.min(shape.capacity);
    if threads.is_none() && warps < shape.capacity && warps < LEAST_SLICED {
        return None;
    }
    // The fewer threads, the more registers each of them has.
    let threads = threads.map_or(warps * warp::LANES, |_| shape.threads);
    Some(Shape { threads, capacity: warps, ..shape })
}

/// The most dimensions in which one thread per particle in device memory is as fast as four:
/// measured, see docs/measurements/gpu-swarms.md.
const FEW_FOR_FOUR: u32 = 36;

/// The most threads per multiprocessor for which four share a particle whatever a term reads:
/// measured likewise.
const STREAMING_THREADS: u64 = 1024;

/// Whether four threads share a particle in device memory. If a term reads any coordinate, each
/// thread reads from memory what the other three have moved, which pays off for few particles only.
fn by_fours(room: Capacity, reach: Reach, particles: u32, dims: u32) -> bool {
    let threads = u64::from(room.blocks.max(1)) * STREAMING_THREADS;
    let are_few = u64::from(particles) * u64::from(step_cooperative::PARTS) <= threads;
    dims > FEW_FOR_FOUR && (reach != Reach::All || are_few)
}

/// A block with some of its particles on the chip leaves 1 / `LEFT_TO_CACHE` of its shared memory
/// to the first-level cache, through which the other particles pass.
const LEFT_TO_CACHE: u32 = 7;

/// [`tiered`] pays off if at least 1 / `WORTH_A_TIER` of a swarm fits on the chip: measured, see
/// docs/measurements/gpu-swarms.md.
const WORTH_A_TIER: u64 = 4;

/// The fewest chunks that must fit on a multiprocessor for [`tiered`] to pay off: for few particles
/// of many dimensions, four threads per particle are faster. Measured likewise.
const WORTH_CHUNKS: u32 = 3;

/// Part of the swarm on the chip, one thread per particle. `None` if all or none of it fits, or too
/// little to pay off, unless it was asked for.
fn tiered<T: Scalar>(case: &Case, capacity: Capacity) -> Option<Shape> {
    if whole::<T>(case, capacity, None).is_some() {
        return None;
    }
    let shared_bytes = capacity.shared_bytes - capacity.shared_bytes / LEFT_TO_CACHE;
    let left = Capacity { shared_bytes, ..capacity };
    let all = spread(case, capacity, None, LEAST_THREADS[0])?;
    let fitting = most_fitting::<T>(left, all, &case.load);
    let is_worth_it =
        u64::from(fitting) * WORTH_A_TIER >= u64::from(all.capacity) && fitting >= WORTH_CHUNKS;
    let is_asked = case.asked.strategy == Some(Strategy::Tiered);
    (fitting > 0 && fitting < all.capacity && (is_asked || is_worth_it))
        .then_some(Shape { capacity: fitting, ..all })
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

/// Threads per multiprocessor if several share a particle: two warps for each of its schedulers.
const SHARING_THREADS: u32 = 256;

/// The fewest threads per particle that are worth their barriers.
const LEAST_PARTS: u32 = 8;

/// The most particles per multiprocessor for which threads share them: with more, one thread each
/// fills it.
const SHARED_PARTICLES: u32 = 128;

/// Which threads cooperate. The rule of [`Cooperation::Auto`] rests on measurements (`flockwork
/// bench evaluation`, docs/measurements/cooperative.md):
///
/// - Threads share particles until each multiprocessor has [`SHARING_THREADS`].
/// - At least [`LEAST_PARTS`] share a particle if a multiprocessor has at most [`SHARED_PARTICLES`]
///   and there are four dimensions for each thread.
/// - As many particles lie side by side as fill a block of that size; fewer if a quarter of the
///   multiprocessors would otherwise be idle.
/// - If that does not fit: one thread per particle; if that does not fit either, narrower teams.
impl Case {
    /// The most threads per particle that have work: as many as there are groups of dimensions, or
    /// terms.
    fn useful_parts(&self) -> u32 {
        let terms = if matches!(self.load.reach, Reach::All) { self.load.terms } else { 0 };
        self.load.dims.div_ceil(4).max(terms).min(1024).next_power_of_two()
    }

    /// Threads per particle by the rule.
    fn parts(&self) -> u32 {
        let multiprocessors = self.room.blocks;
        let few = self.load.particles <= SHARED_PARTICLES * multiprocessors;
        let least = if few { LEAST_PARTS } else { 1 };
        let threads = SHARING_THREADS * multiprocessors;
        let each = (threads / self.load.particles.max(1)).clamp(least, SHARING_THREADS);
        self.useful_parts().min(1 << each.ilog2())
    }

    /// The teams to try, best first, without those whose particles cannot fit on the chip whatever
    /// else a kernel needs there.
    fn teams<T: Scalar>(&self) -> Vec<Team> {
        let of = |particles, most| Team { particles, parts: self.useful_parts().min(most) };
        let mut teams = match self.asked.cooperation {
            Cooperation::Thread => Vec::new(),
            Cooperation::Mod => [32, 16, 8, 4, 2, 1].map(|most| of(warp::LANES, most)).to_vec(),
            Cooperation::Warp => vec![of(1, warp::LANES)],
            Cooperation::Block => [1024, 512, 256, 128, 64, 32].map(|most| of(1, most)).to_vec(),
            Cooperation::Auto => {
                let parts = self.parts();
                let mut widest = (SHARING_THREADS / parts).clamp(1, warp::LANES);
                while widest > 1 && self.load.particles.div_ceil(widest) < self.room.blocks / 4 {
                    widest /= 2;
                }
                let parts = if parts < LEAST_PARTS { parts.max(2) } else { parts };
                let widths = [32, 16, 8, 4, 2, 1].into_iter().filter(|&width| width <= widest);
                widths.map(|particles| Team { particles, parts }).collect()
            }
        };
        teams.retain(|&team| may_fit::<T>(self.room, &self.load, team));
        teams
    }
}

/// Whether all chunks of such teams can fit on a machine that offers this much to any kernel.
fn may_fit<T: Scalar>(room: Capacity, load: &Workload, team: Team) -> bool {
    let chunks = load.particles.div_ceil(team.particles);
    let threads = team.threads().next_multiple_of(warp::LANES);
    // No block has fewer threads, and at least one has this many chunks.
    let least =
        |blocks| Shape { blocks, threads, capacity: chunks.div_ceil(blocks), team: Some(team) };
    room.blocks > 0 && fits::<T>(room, least(room.blocks), load)
}

/// Distributes the chunks among blocks of at least this many threads, unless their number is given.
fn spread(case: &Case, capacity: Capacity, team: Option<Team>, least: u32) -> Option<Shape> {
    let threads = case.asked.threads;
    let each_team = team.unwrap_or(Team::ALONE).threads();
    let most = threads.unwrap_or(1024).min(capacity.threads) / warp::LANES * warp::LANES;
    if capacity.blocks == 0 || most < each_team {
        return None;
    }
    let chunks = case.load.particles.div_ceil(team.unwrap_or(Team::ALONE).particles);
    let least = (threads.unwrap_or(least).min(most) / each_team).max(1);
    let blocks = (chunks / least).clamp(1, capacity.blocks);
    let each = chunks.div_ceil(blocks);
    // The fewest blocks that need no more chunks each.
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

    /// An H200's, for kernels with blocks of 1,024 threads; time-sliced kernels have half as many.
    const LARGE: Capacity = Capacity { blocks: 132, threads: 1024, shared_bytes: 232_448 };
    const HALF: Capacity = Capacity { threads: 512, ..LARGE };
    /// A GPU whose blocks cannot wait for each other.
    const NONE: Capacity = Capacity { blocks: 0, ..LARGE };

    const BY_DEFAULT: Asked =
        Asked { strategy: None, cooperation: Cooperation::Auto, threads: None };

    fn case(particles: u32, dims: u32) -> Case {
        Case {
            load: Workload { particles, dims, reach: Reach::Own, terms: dims, words: 1 },
            is_fusible: true,
            is_asynchronous: false,
            room: LARGE,
            asked: BY_DEFAULT,
        }
    }

    fn asynchronous(particles: u32, dims: u32) -> Case {
        Case { is_asynchronous: true, ..case(particles, dims) }
    }

    fn asking(strategy: Strategy, case: Case) -> Case {
        Case { asked: Asked { strategy: Some(strategy), ..case.asked }, ..case }
    }

    fn cooperating(cooperation: Cooperation, case: Case) -> Case {
        Case { asked: Asked { cooperation, ..case.asked }, ..case }
    }

    fn in_blocks(threads: u32, case: Case) -> Case {
        Case { asked: Asked { threads: Some(threads), ..case.asked }, ..case }
    }

    /// The f32 launch on a machine of this capacity.
    fn launch(case: Case) -> Launch {
        choose::<f32>(&case, |kernel| match kernel {
            ChipKernel::TimeSliced => HALF,
            _ => case.room,
        })
        .unwrap()
    }

    fn refused(case: Case) -> String {
        choose::<f32>(&case, |_| case.room).unwrap_err().to_string()
    }

    /// A launch with one thread per particle, from its blocks, threads and chunks.
    fn on_chip(kernel: ChipKernel, blocks: u32, threads: u32, capacity: u32) -> Launch {
        Launch::OnChip(kernel, Shape { blocks, threads, capacity, team: None })
    }

    const QUADS: Launch = Launch::Streaming(Order::Quads);
    const SIXTEENS: Launch = Launch::Streaming(Order::Sixteens);

    #[test]
    fn swarms_that_fit_are_resident() {
        use ChipKernel::Resident;

        assert_eq!(launch(case(2_048, 1)), on_chip(Resident, 8, 256, 8));
        assert_eq!(launch(case(65_536, 1)), on_chip(Resident, 128, 512, 16));
        assert_eq!(launch(case(131_072, 10)), on_chip(Resident, 128, 1024, 32));
        assert_eq!(launch(case(1_048_576, 2)), on_chip(Resident, 132, 1024, 249));
        assert_eq!(launch(case(65_536, 32)), on_chip(Resident, 128, 512, 16));
        // Eight chunks per block would not fit.
        let alone =
            |particles, dims| launch(cooperating(Cooperation::Thread, case(particles, dims)));
        assert_eq!(alone(1_024, 120), on_chip(Resident, 8, 128, 4));
        assert_eq!(alone(1_024, 240), on_chip(Resident, 16, 64, 2));
        assert_eq!(launch(case(1_048_576, 16)), QUADS);
        assert_eq!(launch(case(u32::MAX, u32::MAX)), SIXTEENS);
        assert_eq!(launch(Case { room: NONE, ..case(100, 1) }), QUADS);
    }

    #[test]
    fn what_does_not_fit_is_tiered_where_that_is_worth_it() {
        let tiered =
            |blocks, threads, capacity| on_chip(ChipKernel::Tiered, blocks, threads, capacity);
        assert_eq!(launch(case(65_536, 100)), tiered(128, 512, 5));
        assert_eq!(launch(case(300_000, 10)), tiered(131, 1024, 50));
        // Two chunks of eight; 24 in a hundred; twelve; three.
        assert_eq!(launch(case(32_768, 200)), SIXTEENS);
        assert_eq!(launch(case(262_144, 32)), QUADS);
        assert_eq!(launch(case(1_048_576, 16)), QUADS);
        assert_eq!(launch(case(1_048_576, 64)), SIXTEENS);
        // On request any part will do, but not all or nothing.
        let asked = |particles, dims| asking(Strategy::Tiered, case(particles, dims));
        assert_eq!(launch(asked(262_144, 32)), tiered(131, 1024, 15));
        assert_eq!(launch(asked(1_048_576, 64)), tiered(132, 1024, 8));
        for (particles, dims) in [(65_536, 32), (65_536, 1_000), (u32::MAX, u32::MAX)] {
            assert!(
                refused(asked(particles, dims)).contains("all of them fit on the chip, or none")
            );
        }
        assert!(refused(Case { room: NONE, ..asked(65_536, 100) }).contains("or none"));
    }

    #[test]
    fn asynchronous_swarms_are_resident_or_time_sliced() {
        let sliced =
            |blocks, threads, capacity| on_chip(ChipKernel::TimeSliced, blocks, threads, capacity);
        assert_eq!(launch(asynchronous(1_048_576, 16)), sliced(132, 512, 16));
        assert_eq!(launch(asynchronous(1_048_576, 64)), sliced(132, 384, 12));
        assert_eq!(launch(asynchronous(65_536, 100)), sliced(128, 256, 8));
        // In many dimensions even if all particles fit: all ten chunks at once.
        let alone = |particles, dims| {
            launch(cooperating(Cooperation::Thread, asynchronous(particles, dims)))
        };
        assert_eq!(alone(40_000, 64), sliced(125, 320, 10));
        // A block has room for few warps, so there are more blocks.
        assert_eq!(alone(40, 500), sliced(2, 32, 1));
        assert_eq!(alone(4_000, 700), sliced(125, 32, 1));
        // Two warps per multiprocessor pay off, one does not.
        assert_eq!(launch(asynchronous(100_000, 400)), sliced(131, 64, 2));
        assert_eq!(launch(asynchronous(100_000, 500)), SIXTEENS);
        // In few dimensions only if they do not all fit.
        assert_eq!(launch(asynchronous(65_536, 1)), on_chip(ChipKernel::Resident, 128, 512, 16));
        assert!(matches!(
            launch(asynchronous(u32::MAX, 1)),
            Launch::OnChip(ChipKernel::TimeSliced, Shape { blocks: 132, .. })
        ));
        // Blocks of a given size, some of whose warps may be idle.
        let given = |threads| launch(in_blocks(threads, asynchronous(1_048_576, 64)));
        assert_eq!(given(128), sliced(132, 128, 4));
        assert_eq!(given(512), sliced(132, 512, 12));
    }

    #[test]
    fn threads_cooperate_on_few_particles_of_many_dimensions() {
        let team = |particles, dims| match launch(case(particles, dims)) {
            Launch::OnChip(ChipKernel::Cooperative, shape) => {
                shape.team.map(|team| (team.particles, team.parts))
            }
            _ => None,
        };
        assert_eq!(team(64, 1_024), Some((1, 256)));
        assert_eq!(team(32, 512), Some((1, 128)));
        assert_eq!(team(1_024, 128), Some((8, 32)));
        assert_eq!(team(4_096, 64), Some((32, 8)));
        assert_eq!(team(8_192, 32), Some((32, 8)));
        assert_eq!(team(16_384, 64), Some((32, 8)));
        // Too many particles, or too few dimensions.
        assert_eq!(team(20_000, 64), None);
        assert_eq!(team(8_192, 16), None);
        assert_eq!(team(40, 10), None);
        // Too many to share, but few enough for the chip.
        let resident = launch(case(20_000, 100));
        assert!(matches!(resident, Launch::OnChip(ChipKernel::Resident, _)), "{resident:?}");
        // No multiprocessor has room for 32 of them side by side, but for fewer.
        let narrow = launch(case(1_500, 700));
        assert!(matches!(narrow, Launch::OnChip(ChipKernel::Cooperative, _)), "{narrow:?}");
        let alone = launch(cooperating(Cooperation::Thread, case(1_500, 700)));
        assert_eq!(alone, SIXTEENS);
    }

    #[test]
    fn teams_without_room_are_not_tried() {
        // They fit on no chip, so no kernel has to be loaded for them.
        assert_eq!(case(1_048_576, 64).teams::<f32>(), []);
        assert_eq!(cooperating(Cooperation::Block, case(1_048_576, 64)).teams::<f32>(), []);
        assert_eq!(Case { room: NONE, ..case(64, 1_024) }.teams::<f32>(), []);
        // Each team once.
        let few = case(64, 1_024).teams::<f32>();
        assert!(!few.is_empty());
        assert!((1..few.len()).all(|nth| !few[..nth].contains(&few[nth])), "{few:?}");
        // Teams that fit are never left out.
        for (particles, dims) in [(1_500, 700), (8_000, 200), (4_096, 256), (65_536, 100)] {
            let case = case(particles, dims);
            for particles in [1, 2, 4, 8, 16, 32] {
                for parts in [1, 8, 32] {
                    let team = Team { particles, parts };
                    if whole::<f32>(&case, LARGE, Some(team)).is_some() {
                        assert!(may_fit::<f32>(LARGE, &case.load, team), "{case:?} {team:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn an_iteration_in_memory_has_four_threads_a_particle_in_many_dimensions() {
        assert_eq!(in_memory(&case(1_000, 36)), QUADS);
        assert_eq!(in_memory(&case(1_000_000, 37)), SIXTEENS);
        // If a term reads all coordinates, for few particles only.
        let all = |particles| {
            let case = case(particles, 64);
            Case { load: Workload { reach: Reach::All, ..case.load }, ..case }
        };
        assert_eq!(in_memory(&all(132 * 256)), SIXTEENS);
        assert_eq!(in_memory(&all(132 * 256 + 1)), QUADS);
        assert_eq!(in_memory(&Case { is_fusible: false, ..case(1_000, 64) }), Launch::General);
    }

    #[test]
    fn what_is_asked_for_is_taken_or_refused_with_a_reason() {
        let fitting = case(65_536, 32);
        assert_eq!(launch(asking(Strategy::Streaming, fitting)), QUADS);
        assert_eq!(launch(asking(Strategy::General, fitting)), Launch::General);
        assert_eq!(launch(asking(Strategy::Resident, fitting)), launch(fitting));
        assert_eq!(
            refused(asking(Strategy::Resident, case(1_048_576, 64))),
            "strategy is resident; it must be auto or streaming for 1048576 particles in 64 \
             dimensions: they do not fit on the chip"
        );
        assert_eq!(
            refused(asking(Strategy::Cpu, fitting)),
            "strategy is cpu; it must be auto, streaming, tiered or resident for a GPU"
        );
        assert_eq!(
            refused(asking(Strategy::TimeSliced, fitting)),
            "strategy is time-sliced; it must be auto, streaming, tiered or resident for a \
             synchronous swarm"
        );
        // Asynchronous swarms ignore strategies for synchronous ones; they have two of their own.
        let apart = asynchronous(65_536, 1);
        assert_eq!(launch(asking(Strategy::Streaming, apart)), launch(apart));
        let own = |strategy| launch(asking(strategy, apart)).strategy(true);
        assert_eq!(own(Strategy::Asynchronous), Strategy::Asynchronous);
        assert_eq!(own(Strategy::TimeSliced), Strategy::TimeSliced);
        assert!(
            refused(asking(Strategy::Asynchronous, asynchronous(1_048_576, 64)))
                .starts_with("strategy is asynchronous; it must be auto for 1048576 particles")
        );
        // Two launches per iteration, whatever else would fit.
        let general = Case { is_fusible: false, ..fitting };
        assert_eq!(launch(general), Launch::General);
        assert_eq!(launch(asking(Strategy::Streaming, general)), Launch::General);
        let refusal = refused(asking(Strategy::Resident, general));
        assert!(refusal.contains("inertia rule"), "{refusal}");
    }

    #[test]
    fn what_cannot_cooperate_is_refused() {
        let warps = |case| cooperating(Cooperation::Warp, case);
        assert!(matches!(
            launch(warps(case(40, 10))),
            Launch::OnChip(
                ChipKernel::Cooperative,
                Shape { team: Some(Team { particles: 1, .. }), .. }
            )
        ));
        assert_eq!(
            refused(warps(case(1_048_576, 64))),
            "cooperation is warp; it must be auto or thread for 1048576 particles in 64 dimensions: \
             they do not fit on the chip"
        );
        assert!(
            refused(warps(asking(Strategy::Streaming, case(40, 10))))
                .ends_with("that is for particles on the chip")
        );
    }

    #[test]
    fn no_block_is_without_a_chunk() {
        for particles in [1, 31, 33, 100, 1_000, 4_000, 100_000] {
            for threads in [None, Some(32), Some(64), Some(512)] {
                let case = case(particles, 3);
                let case = Case { asked: Asked { threads, ..case.asked }, ..case };
                let shape = time_sliced::<f64>(&case, LARGE).unwrap();
                assert!(shape.blocks <= particles.div_ceil(32), "{particles}: {shape:?}");
                assert!(threads.is_none_or(|threads| shape.threads == threads));
            }
        }
    }
}
