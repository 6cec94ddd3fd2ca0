//! How a swarm's iterations are launched on a GPU: the strategies, and the one rule that picks.
//!
//! [`choose`] is a pure function of the swarm, the machine's capacities and what was asked for. It goes
//! through an ordered table of candidates ([`candidates`]) and takes the first that fits; what fits no
//! candidate streams. Each threshold stands here with the measurement that it rests on.

use flockwork_device::{
    gpu::warp,
    math::Scalar,
    objective::Reach,
    swarm::{
        kernels::{
            quartet,
            resident::{shared_bytes, sheet_words},
            team::Team,
            turns,
        },
        layout::Order,
        step::are_few,
    },
};

use crate::{Error, Result, names::named};

named! {
    /// How a swarm's iterations are done. Which strategy it is changes no bit of the result, except that
    /// a swarm with [`Mode::Asynchronous`](crate::swarm::Mode) depends on timing.
    ///
    /// The back end chooses; ask for one with
    /// [`AnyBackend::with_strategy`](crate::backend::AnyBackend::with_strategy). All but
    /// [`Strategy::General`] are for swarms whose move and evaluation are one kernel: the rule,
    /// neighbourhood, edge and randomness of [`Options::for_rule`](crate::swarm::Options::for_rule) with
    /// [`Rule::Inertia`](crate::swarm::Rule), continuous variables and no rotation.
    ///
    /// Shortest paths take [`Strategy::Resident`] for one cooperative launch that closes a matrix
    /// (distances only; the default for small graphs), and any other for some launches a pivot block.
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
        /// On the CPU: tiles of 64 particles along SIMD lanes.
        Cpu = "cpu",
        /// Two launches an iteration, a move and an evaluation: any swarm.
        General = "general",
        /// One fused launch an iteration, with the particles in device memory.
        Streaming = "streaming",
        /// One launch for many iterations: as many particles as fit stay on the chip, the others stream.
        /// An error if all fit, or none.
        Tiered = "tiered",
        /// One launch for many iterations, with all particles on the chip. An error if they do not fit.
        Resident = "resident",
        /// Asynchronous, with all particles on the chip: blocks do not wait for each other.
        Asynchronous = "asynchronous",
        /// Asynchronous, with more particles than the chip holds: each warp keeps some there for many
        /// iterations, and then takes others.
        TimeSliced = "time-sliced",
    }
}

named! {
    /// How many threads of a GPU cooperate on a particle that is on the chip. The result is the same to
    /// the bit.
    ///
    /// (Hošala's thesis compares such layouts for particles in device memory: `flockwork bench lineage
    /// hosala`.)
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

/// What a caller asks of the launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The strategy, or whatever suits.
    pub strategy: Option<Strategy>,
    /// Threads for a particle on the chip.
    pub cooperation: Cooperation,
    /// Threads of a block.
    pub threads: Option<u32>,
}

/// What [`choose`] decides on.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// An iteration's work.
    pub load: Workload,
    /// Whether a move and an evaluation may be one kernel.
    pub is_fusible: bool,
    /// Whether particles do not wait for each other.
    pub is_asynchronous: bool,
    /// What the machine has for a launch of any kernel.
    pub room: Capacity,
    /// What was asked for.
    pub asked: Asked,
}

/// How iterations are launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launch {
    /// Two launches an iteration.
    General,
    /// One launch an iteration, with the particles in this order: in quads a thread has one, in sixteens
    /// four threads do.
    Streaming(Order),
    /// One launch for many iterations.
    OnChip(ChipKernel, Shape),
}

impl Launch {
    /// What it is called.
    pub fn strategy(self, is_asynchronous: bool) -> Strategy {
        match self {
            Self::General => Strategy::General,
            Self::Streaming(_) => Strategy::Streaming,
            Self::OnChip(kernel, _) => kernel.strategy(is_asynchronous),
        }
    }
}

/// Which kernel has particles on the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChipKernel {
    /// [`Resident`](flockwork_device::swarm::kernels::resident::Resident): a thread for each particle.
    Resident,
    /// [`Together`](flockwork_device::swarm::kernels::resident::Together): several threads for each.
    Cooperative,
    /// [`Tiered`](flockwork_device::swarm::kernels::resident::Tiered).
    Tiered,
    /// [`Turns`](flockwork_device::swarm::kernels::turns::Turns).
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

/// A way to have particles on the chip.
struct Candidate {
    kernel: ChipKernel,
    /// Whether it comes at this place of the table.
    when: fn(&Case) -> bool,
    /// Its launch on a machine that has this capacity for the kernel; `None` if the particles do not fit.
    shape: fn(&Case, Capacity) -> Option<Shape>,
}

/// The candidates in the order in which they are tried: the faster one first, where both fit.
fn candidates<T: Scalar>(is_asynchronous: bool) -> Vec<Candidate> {
    use ChipKernel::{Cooperative, Resident, Tiered, TimeSliced};

    let cooperative_first =
        Candidate { kernel: Cooperative, when: Case::cooperates_first, shape: cooperative::<T> };
    let resident = Candidate { kernel: Resident, when: Case::may_be_alone, shape: alone::<T> };
    // Narrow teams where 32 particles side by side do not fit.
    let cooperative_last =
        Candidate { kernel: Cooperative, when: Case::cooperates_last, shape: cooperative::<T> };
    if is_asynchronous {
        let sliced = |when| Candidate { kernel: TimeSliced, when, shape: time_sliced::<T> };
        // The resident kernel keeps the bounds of few dimensions in registers; in more, time-slicing is
        // faster even where all particles fit.
        let many = sliced(|case| case.may_be_alone() && !are_few(case.load.dims));
        let few = sliced(|case| case.may_be_alone() && are_few(case.load.dims));
        vec![cooperative_first, many, resident, few, cooperative_last]
    } else {
        let tiered = Candidate { kernel: Tiered, when: Case::may_be_alone, shape: tiered::<T> };
        vec![cooperative_first, resident, cooperative_last, tiered]
    }
}

/// How to launch many iterations; [`in_memory`] has how to launch one. `capacity` says what the machine
/// has for a kernel, and is asked only for kernels that come into question.
///
/// # Errors
/// If what was asked for cannot be, with a sentence that says why and what can.
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
    /// The strategy that was asked for. Asynchronous swarms have strategies of their own and ignore others.
    fn asked_strategy(&self) -> Option<Strategy> {
        let own = |asked: &Strategy| {
            !self.is_asynchronous || matches!(asked, Strategy::Asynchronous | Strategy::TimeSliced)
        };
        self.asked.strategy.filter(own)
    }

    /// Whether threads are to cooperate on particles on the chip.
    fn must_cooperate(&self) -> bool {
        !matches!(self.asked.cooperation, Cooperation::Auto | Cooperation::Thread)
    }

    /// Whether a particle may have one thread.
    fn may_be_alone(&self) -> bool {
        !self.must_cooperate()
    }

    /// Whether cooperating is faster than a thread for each particle, or has been asked for.
    fn cooperates_first(&self) -> bool {
        self.must_cooperate()
            || (self.asked.cooperation == Cooperation::Auto && self.parts() >= LEAST_PARTS)
    }

    /// Whether it is for particles that do not fit otherwise.
    fn cooperates_last(&self) -> bool {
        self.asked.cooperation == Cooperation::Auto && self.parts() < LEAST_PARTS
    }

    /// Why what was asked for cannot be, if it cannot: no candidate fits.
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

/// The shape of a launch with particles on the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks.
    pub blocks: u32,
    /// Threads in each.
    pub threads: u32,
    /// Chunks of particles that a block holds at once.
    pub capacity: u32,
    /// The threads that cooperate on a chunk, if several share a particle.
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

/// All particles on the chip, a thread for each.
fn alone<T: Scalar>(case: &Case, capacity: Capacity) -> Option<Shape> {
    whole::<T>(case, capacity, None)
}

/// All particles on the chip, several threads for each: the first team that fits.
fn cooperative<T: Scalar>(case: &Case, capacity: Capacity) -> Option<Shape> {
    case.teams::<T>().into_iter().find_map(|team| whole::<T>(case, capacity, Some(team)))
}

/// The shape for a swarm that is on the chip as a whole; `None` if it does not fit.
fn whole<T: Scalar>(case: &Case, capacity: Capacity, team: Option<Team>) -> Option<Shape> {
    // A team is as large as suits, and has a block for itself while there are any.
    let least: &[u32] = if team.is_some() { &[1] } else { &LEAST_THREADS };
    least
        .iter()
        .filter_map(|&least| spread(case, capacity, team, least))
        .find(|&shape| fits::<T>(capacity, shape, &case.load))
}

/// Warps of a multiprocessor that are time-sliced at least: with one, the kernel takes longer than
/// streaming ones. Measured, see docs/measurements/gpu-swarms.md.
const LEAST_SLICED: u32 = 2;

/// A chunk on the chip for each warp, and others in turn; `None` if there is no room for one, or for so
/// few that it gains nothing, unless the threads of a block are given.
fn time_sliced<T: Scalar>(case: &Case, capacity: Capacity) -> Option<Shape> {
    let (load, threads) = (&case.load, case.asked.threads);
    let most = threads.unwrap_or(1024).min(capacity.threads) / warp::LANES;
    let kept = turns::kept_words(load.reach, (load.terms, load.words), load.dims);
    let fits = |warps: &u32| {
        turns::shared_bytes::<T>(most * warp::LANES, load.dims, *warps, kept)
            .is_some_and(|bytes| bytes <= capacity.shared_bytes)
    };
    let mut warps = (1..=most).rev().find(fits)?;
    // A block with fewer warps has fewer chunks, before there is a second one.
    let least = (warps * warp::LANES).min(LEAST_THREADS[0]);
    let shape = spread(case, capacity, None, least)?;
    if warps < shape.capacity && warps > 8 {
        // None of a multiprocessor's four schedulers has more warps than another, once each has some.
        warps -= warps % 4;
    }
    let warps = warps.min(shape.capacity);
    if threads.is_none() && warps < shape.capacity && warps < LEAST_SLICED {
        return None;
    }
    // The fewer threads, the more registers each has.
    let threads = threads.map_or(warps * warp::LANES, |_| shape.threads);
    Some(Shape { threads, capacity: warps, ..shape })
}

/// Dimensions up to which a thread for each particle in device memory is as fast as four: measured, see
/// docs/measurements/gpu-swarms.md.
const FEW_FOR_FOUR: u32 = 36;

/// Threads for each multiprocessor up to which four have a particle whatever a term reads: measured likewise.
const STREAMING_THREADS: u64 = 1024;

/// Whether four threads have a particle in device memory, not one. Where a term reads any coordinate, they
/// read from memory what the others of them have moved: that gains something for few particles only.
fn by_fours(room: Capacity, reach: Reach, particles: u32, dims: u32) -> bool {
    let threads = u64::from(room.blocks.max(1)) * STREAMING_THREADS;
    let are_few = u64::from(particles) * u64::from(quartet::PARTS) <= threads;
    dims > FEW_FOR_FOUR && (reach != Reach::All || are_few)
}

/// A block with some of its particles on the chip leaves one part in this many of its shared memory to the
/// first-level cache, through which the others come.
const LEFT_TO_CACHE: u32 = 7;

/// [`tiered`] gains something where one part in this many of a swarm, or more, fits on the chip: measured, see
/// docs/measurements/gpu-swarms.md.
const WORTH_A_TIER: u64 = 4;

/// Warps' particles that fit on a multiprocessor at least where [`tiered`] gains something: with few particles
/// of many dimensions four threads for each are faster. Measured likewise.
const WORTH_CHUNKS: u32 = 3;

/// A part of the swarm on the chip, a thread for each particle; `None` if all fits, or nothing; or so little
/// that it gains nothing, unless that is asked for.
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

/// Threads that a multiprocessor has if several share a particle: two warps for each of its schedulers.
const SHARING_THREADS: u32 = 256;

/// The fewest threads for a particle that are worth the barriers that they take.
const LEAST_PARTS: u32 = 8;

/// Particles that a multiprocessor has at most if they are shared: with more, a thread for each fills it.
const SHARED_PARTICLES: u32 = 128;

/// Who cooperates, where threads do. The rule of [`Cooperation::Auto`], from measurements (`flockwork
/// bench evaluation`, docs/measurements/cooperative.md): threads share particles until there are
/// [`SHARING_THREADS`] for each multiprocessor, and at least [`LEAST_PARTS`] share one if a
/// multiprocessor has no more than [`SHARED_PARTICLES`], and a particle four dimensions for each; as
/// many particles lie side by side as make a block of that size, but fewer if a quarter of the
/// multiprocessors had nothing to do. Where that does not fit, a thread for each; where that does not
/// either, narrower teams.
impl Case {
    /// As many threads for a particle as have something to do: no more than groups of dimensions, or terms.
    fn useful_parts(&self) -> u32 {
        let terms = if matches!(self.load.reach, Reach::All) { self.load.terms } else { 0 };
        self.load.dims.div_ceil(4).max(terms).min(1024).next_power_of_two()
    }

    /// Threads for a particle, by the rule.
    fn parts(&self) -> u32 {
        let multiprocessors = self.room.blocks;
        let few = self.load.particles <= SHARED_PARTICLES * multiprocessors;
        let least = if few { LEAST_PARTS } else { 1 };
        let threads = SHARING_THREADS * multiprocessors;
        let each = (threads / self.load.particles.max(1)).clamp(least, SHARING_THREADS);
        self.useful_parts().min(1 << each.ilog2())
    }

    /// The teams to try, the one that suits best first, without those whose particles do not fit on the chip
    /// whatever else a kernel takes there.
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

    /// An H200's, for kernels with blocks of 1,024 threads; those in turns have half as many.
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

    /// The choice in f32 on a machine of this capacity.
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

    /// Blocks, threads and chunks of a launch with a thread for each particle.
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
        // Eight chunks of a block would not fit.
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
        // Asked for, any part will do, but not all or nothing.
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
        // In many dimensions even where all fit: all of ten chunks at once.
        let alone = |particles, dims| {
            launch(cooperating(Cooperation::Thread, asynchronous(particles, dims)))
        };
        assert_eq!(alone(40_000, 64), sliced(125, 320, 10));
        // Few warps of a block have room, and there are more blocks.
        assert_eq!(alone(40, 500), sliced(2, 32, 1));
        assert_eq!(alone(4_000, 700), sliced(125, 32, 1));
        // Two warps gain something, one does not.
        assert_eq!(launch(asynchronous(100_000, 400)), sliced(131, 64, 2));
        assert_eq!(launch(asynchronous(100_000, 500)), SIXTEENS);
        // In few dimensions only where they do not all fit.
        assert_eq!(launch(asynchronous(65_536, 1)), on_chip(ChipKernel::Resident, 128, 512, 16));
        assert!(matches!(
            launch(asynchronous(u32::MAX, 1)),
            Launch::OnChip(ChipKernel::TimeSliced, Shape { blocks: 132, .. })
        ));
        // Blocks of a given size; some of their warps may have nothing to do.
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
        // Too many to share, and not too many for the chip.
        let resident = launch(case(20_000, 100));
        assert!(matches!(resident, Launch::OnChip(ChipKernel::Resident, _)), "{resident:?}");
        // No multiprocessor has room for 32 of them, but for fewer side by side.
        let narrow = launch(case(1_500, 700));
        assert!(matches!(narrow, Launch::OnChip(ChipKernel::Cooperative, _)), "{narrow:?}");
        let alone = launch(cooperating(Cooperation::Thread, case(1_500, 700)));
        assert_eq!(alone, SIXTEENS);
    }

    #[test]
    fn teams_without_room_are_not_tried() {
        // Not on any chip, so that no kernel need be made ready for them.
        assert_eq!(case(1_048_576, 64).teams::<f32>(), []);
        assert_eq!(cooperating(Cooperation::Block, case(1_048_576, 64)).teams::<f32>(), []);
        assert_eq!(Case { room: NONE, ..case(64, 1_024) }.teams::<f32>(), []);
        // Each once.
        let few = case(64, 1_024).teams::<f32>();
        assert!(!few.is_empty());
        assert!((1..few.len()).all(|nth| !few[..nth].contains(&few[nth])), "{few:?}");
        // What fits is never left out.
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
        // Where a term reads all coordinates, for few particles only.
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
        // What is for synchronous swarms means nothing to others; they have two of their own.
        let apart = asynchronous(65_536, 1);
        assert_eq!(launch(asking(Strategy::Streaming, apart)), launch(apart));
        let own = |strategy| launch(asking(strategy, apart)).strategy(true);
        assert_eq!(own(Strategy::Asynchronous), Strategy::Asynchronous);
        assert_eq!(own(Strategy::TimeSliced), Strategy::TimeSliced);
        assert!(
            refused(asking(Strategy::Asynchronous, asynchronous(1_048_576, 64)))
                .starts_with("strategy is asynchronous; it must be auto for 1048576 particles")
        );
        // Several launches an iteration, whatever else would fit.
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
