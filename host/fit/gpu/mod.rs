//! The kernels of fits, behind the interface of kernels with an objective function inside.

mod emulated;

use std::sync::Arc;

use bytemuck::Pod;
use flockwork_device::{
    fit::{
        Kind, Model,
        kernels::{
            self, Arguments, FIXED, THREADS,
            judge::{self, Judge},
            matrix::{
                self, Matrix4By16, Matrix4By64, Matrix8By16, Matrix8By64, Matrix16By16,
                Matrix16By32, Matrix16By64,
            },
            squares::{
                self, Squares4By2, Squares4By4, Squares4By4Halved, Squares8By2, Squares8By4,
                Squares8By4Halved, Squares16By2, Squares16By4,
            },
            sums::{self, Sums},
        },
        sum,
    },
    kernel::Kernel,
    math::Scalar,
    objective::{Context, Reach},
    swarm::{
        kernels::{evaluate, resident, step},
        layout::{self, Order},
        settings::{Rule, Settings},
        topology,
    },
};

#[cfg(feature = "cuda")]
use flockwork_device::fit::kernels::ceiling::{self, Ceiling, MatrixCeiling};

use super::Setup;
#[cfg(feature = "cuda")]
use super::{Fit, model::why_no_kernels};
use crate::{
    Error, Result,
    backend::{
        Number, Plan, Precision, Strategy,
        function_kernels::{FunctionKernels, Shape, Then},
        kernel_swarm::KernelSwarm,
        machine::{Machine, OnDemand},
        strategy::{Asked, Capacity, ChipKernel},
    },
    memory,
};
#[cfg(feature = "cuda")]
use crate::{
    backend::{Cuda, Swarm, check_function},
    cuda::Filling,
};

pub use emulated::EmulatedFit;

/// Threads of the blocks that move a fit's particles; blocks that judge them have as many
/// particles.
const BLOCK: u32 = 32;

/// Most moves of a thread in a judging block, one after the other.
const MOST_MOVES: u32 = 2;

/// Most groups of rows per slot: the partial sums of a few particles are combined by few
/// multiprocessors.
const MOST_GROUPS: usize = 2048;

/// Most bytes of partial sums, if there are enough slots to need them.
const MOST_BYTES: usize = 256 << 20;

/// Warps that each multiprocessor should have before a warp takes on more work.
const WARPS_EACH: usize = 8;

/// Rows of numbers as the kernels read them: column by column, each padded with zeros to a whole
/// chunk, in words of 16 bytes.
pub(crate) fn by_column<T: Number>(numbers: &[T], width: usize, rows: usize) -> Result<Vec<T>> {
    /// Rows transposed at once, so that they stay in the cache.
    const SOME: usize = 64;
    let padded = kernels::padded(rows);
    let mut columns = memory::zeroed::<T>(padded * width)?;
    for (nth, some) in numbers[..rows * width].chunks(SOME * width).enumerate() {
        for column in 0..width {
            let to = &mut columns[column * padded + nth * SOME..];
            for (to, row) in to.iter_mut().zip(some.chunks_exact(width)) {
                *to = row[column];
            }
        }
    }
    Ok(columns)
}

/// The numbers as words of 16 bytes.
pub(crate) fn words<T: Pod>(numbers: &[T]) -> &[[u32; 4]] {
    bytemuck::cast_slice(numbers)
}

#[cfg(feature = "cuda")]
impl Cuda {
    /// A swarm for a fit of a model of this type.
    pub(super) fn swarm_of_fit<M: Model, T: Number>(
        &self,
        fit: &Fit,
        setup: Setup<T>,
        plan: Plan<T>,
    ) -> Result<Box<dyn Swarm<T>>> {
        if let Some(reason) = why_no_kernels::<M>() {
            return Err(Error::ModelOnGpu { model: M::INFO.name.to_owned(), reason });
        }
        self.filled_swarm_of_fit::<M, T>(None, fit, setup, plan)
    }

    /// As [`Self::swarm_of_fit`], with this written into the model's kernels.
    pub(super) fn filled_swarm_of_fit<M: Model, T: Number>(
        &self,
        filling: Option<Arc<dyn Filling>>,
        fit: &Fit,
        setup: Setup<T>,
        plan: Plan<T>,
    ) -> Result<Box<dyn Swarm<T>>> {
        check_function(&plan, fit)?;
        let (machine, strategy) = (self.filled_machine(filling)?, self.strategy());
        let numbers = fit.data.on_gpu(self.gpu(), &setup.numbers)?;
        Ok(Box::new(swarm::<M, _, T>(machine, setup, numbers, plan, strategy)?))
    }
}

/// A swarm of a fit in a machine's buffers. `numbers` are the setup's, [`by_column`].
fn swarm<Mo: Model, M: Machine + 'static, T: Number>(
    machine: M,
    setup: Setup<T>,
    numbers: Arc<M::Buffer<[u32; 4]>>,
    plan: Plan<T>,
    strategy: Option<Strategy>,
) -> Result<KernelSwarm<M, T>> {
    if plan.asynchronous {
        return Err(Error::Option {
            option: "mode",
            value: "asynchronous".to_owned(),
            accepted: "synchronous for a fit on a GPU; the CPU has both".to_owned(),
        });
    }
    let sums = Box::new(OnDemand::<M, Sums<Mo, T>>::new());
    let is_linear = Mo::INFO.name == "linear";
    of_sums(machine, setup, numbers, plan, strategy, (sums, is_linear))
}

/// The same, given the kernel that sums for the model, and whether the model is linear.
fn of_sums<M: Machine + 'static, T: Number>(
    machine: M,
    setup: Setup<T>,
    numbers: Arc<M::Buffer<[u32; 4]>>,
    plan: Plan<T>,
    strategy: Option<Strategy>,
    (sums, is_linear): (Box<dyn Summing<M, T>>, bool),
) -> Result<KernelSwarm<M, T>> {
    let kernels = FitKernels::new(&machine, setup, numbers, (sums, is_linear))?;
    // Moves and evaluations are separate launches.
    let plan = plan.in_general();
    let asked = Asked { strategy, ..Asked::default() };
    KernelSwarm::of_kernels(machine, Box::new(kernels), plan, BLOCK, asked)
}

/// A summing kernel of some model, so that the rest is compiled once and not for each model.
trait Summing<M: Machine, T> {
    /// Launches it, or returns an error saying what is too large for it.
    ///
    /// # Safety
    /// As [`Machine::launch`].
    unsafe fn launch(&mut self, machine: &M, blocks: u32, arguments: &Arguments<T>) -> Result<()>;
}

impl<M: Machine, K: Kernel<Arguments = Arguments<T>>, T: Number> Summing<M, T> for OnDemand<M, K> {
    unsafe fn launch(&mut self, machine: &M, blocks: u32, arguments: &Arguments<T>) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { machine.launch(self.get(machine)?, blocks, THREADS, arguments) }
    }
}

/// The kernels of a model over some data.
struct FitKernels<M: Machine, T: Number> {
    numbers: Arc<M::Buffer<[u32; 4]>>,
    weights: M::Buffer<[u32; 4]>,
    sources: M::Buffer<u32>,
    fixed: M::Buffer<T>,
    partials: M::Buffer<T>,
    room: usize,
    setup: Setup<T>,
    /// Whether the model is linear, so that the kernels for sums of squares apply.
    is_linear: bool,
    judge: OnDemand<M, Judge<T>>,
    sums: Box<dyn Summing<M, T>>,
    /// The kernels for sums of squares of a linear model that have been wanted.
    special: Vec<(Summation, Box<dyn Summing<M, T>>)>,
}

/// Which kernel sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Summation {
    /// That for any model and loss.
    Sums,
    /// The one for linear models with at most this many columns.
    Squares(Columns, Lanes),
    /// The same on the matrix units (tensor cores).
    Matrix(Columns, Tiles),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Columns {
    Four,
    Eight,
    Sixteen,
}

/// How particles are placed in a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lanes {
    /// Two per lane.
    Two,
    /// Four per lane.
    Four,
    /// Four per lane, each half of the warp on its own chunk.
    FourHalved,
}

impl Lanes {
    /// Particles per lane, and parts of a warp.
    const fn shape(self) -> (usize, usize) {
        match self {
            Self::Two => (2, 1),
            Self::Four => (4, 1),
            Self::FourHalved => (4, 2),
        }
    }

    /// Keeps the multiprocessors busy. The more particles per lane, the less often a number is
    /// read.
    fn for_work(columns: Columns, slots: u32, chunks: usize, multiprocessors: u32) -> Self {
        let enough = multiprocessors.max(1) as usize * WARPS_EACH;
        let warps = |lanes: Self| {
            let (each, parts) = lanes.shape();
            slots.div_ceil(squares::tile(each, parts)) as usize * chunks.div_ceil(parts)
        };
        let whole = slots.div_ceil(64).is_multiple_of(2);
        match whole {
            true if warps(Self::Four) >= enough => Self::Four,
            // The rows of two chunks in flight and sixteen parameters of four particles do not fit
            // in the registers.
            _ if columns == Columns::Sixteen => Self::Two,
            _ if warps(Self::FourHalved) >= enough => Self::FourHalved,
            _ => Self::Two,
        }
    }
}

/// Tiles of 16 particles per warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tiles {
    /// One.
    One,
    /// Two.
    Two,
    /// Four.
    Four,
}

impl Tiles {
    const fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
        }
    }

    /// Time for the lowest level, in fifths of the time that two blocks of 64 particles per warp
    /// take side by side on a multiprocessor; three of 32 take four fifths (16 columns, H200).
    /// Counted in whole rounds, even if few blocks are left for the last.
    fn time(self, slots: u32, chunks: usize, multiprocessors: u32) -> usize {
        let (side_by_side, fifths) = if self == Self::Two { (3, 4) } else { (2, 5) };
        let count = self.count();
        let groups = chunks.div_ceil(matrix::chunks(slots, count, matrix::LEAST_LEVEL) as usize);
        let blocks = groups * slots.div_ceil(matrix::tile(slots, count)) as usize;
        blocks.div_ceil(side_by_side * multiprocessors.max(1) as usize) * fifths
    }

    /// Keeps the multiprocessors busy. The more particles per warp, the less often a row is loaded.
    fn for_work(columns: Columns, slots: u32, chunks: usize, multiprocessors: u32) -> Self {
        let enough = multiprocessors.max(1) as usize * WARPS_EACH;
        let warps = slots.div_ceil(64) as usize * chunks.div_ceil(1 << matrix::LEAST_LEVEL);
        if slots <= 32 || warps < enough {
            return Self::One;
        }
        if columns == Columns::Sixteen
            && Self::Two.time(slots, chunks, multiprocessors)
                < Self::Four.time(slots, chunks, multiprocessors)
        {
            Self::Two
        } else {
            Self::Four
        }
    }
}

impl Summation {
    /// Slots of a block, given their total, and its chunks at level 0.
    const fn block(self, slots: u32) -> (u32, u32) {
        match self {
            Self::Sums => (sums::TILE, sums::chunks(0)),
            Self::Squares(_, lanes) => {
                let (each, parts) = lanes.shape();
                (squares::tile(each, parts), squares::chunks(parts, 0))
            }
            Self::Matrix(_, tiles) => {
                (matrix::tile(slots, tiles.count()), matrix::chunks(slots, tiles.count(), 0))
            }
        }
    }

    /// The lowest level.
    const fn least_level(self) -> u32 {
        match self {
            Self::Sums | Self::Squares(..) => 0,
            Self::Matrix(..) => matrix::LEAST_LEVEL,
        }
    }
}

/// The kernel for sums of squares of a linear model, one for each of [`Lanes::for_work`] and
/// [`Tiles::for_work`].
fn special<M: Machine + 'static, T: Number>(summation: Summation) -> Box<dyn Summing<M, T>> {
    use self::{Columns::*, Lanes as In, Summation::*, Tiles as Of};

    fn on_demand<M: Machine + 'static, T: Number, K: Kernel<Arguments = Arguments<T>> + 'static>()
    -> Box<dyn Summing<M, T>> {
        Box::new(OnDemand::<M, K>::new())
    }
    match summation {
        Squares(Four, In::Two) => on_demand::<M, T, Squares4By2<T>>(),
        Squares(Four, In::Four) => on_demand::<M, T, Squares4By4<T>>(),
        Squares(Four, In::FourHalved) => on_demand::<M, T, Squares4By4Halved<T>>(),
        Squares(Eight, In::Two) => on_demand::<M, T, Squares8By2<T>>(),
        Squares(Eight, In::Four) => on_demand::<M, T, Squares8By4<T>>(),
        Squares(Eight, In::FourHalved) => on_demand::<M, T, Squares8By4Halved<T>>(),
        Squares(Sixteen, In::Two | In::FourHalved) => on_demand::<M, T, Squares16By2<T>>(),
        Squares(Sixteen, In::Four) => on_demand::<M, T, Squares16By4<T>>(),
        Matrix(Four, Of::One) => on_demand::<M, T, Matrix4By16<T>>(),
        Matrix(Four, Of::Four) => on_demand::<M, T, Matrix4By64<T>>(),
        Matrix(Eight, Of::One) => on_demand::<M, T, Matrix8By16<T>>(),
        Matrix(Eight, Of::Four) => on_demand::<M, T, Matrix8By64<T>>(),
        Matrix(Sixteen, Of::One) => on_demand::<M, T, Matrix16By16<T>>(),
        Matrix(Sixteen, Of::Two) => on_demand::<M, T, Matrix16By32<T>>(),
        Matrix(Sixteen, Of::Four) => on_demand::<M, T, Matrix16By64<T>>(),
        Matrix(Four | Eight, Of::Two) => unreachable!("chosen for 16 columns alone"),
        Sums => unreachable!("the kernel of the model itself"),
    }
}

/// How a launch is divided: blocks, groups of rows, and the level of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    blocks: u32,
    groups: u32,
    level: u32,
}

impl Cut {
    /// As fine as the limits allow; `None` if there are more slots than a launch has blocks for.
    fn new(summation: Summation, slots: u32, chunks: usize, bytes: usize) -> Option<Self> {
        let (tile, each) = summation.block(slots);
        let tiles = slots.div_ceil(tile) as usize;
        let most = MOST_GROUPS.min(MOST_BYTES / (slots as usize * bytes)).max(1);
        let groups = |level: u32| chunks.div_ceil((each as usize) << level);
        let level = (summation.least_level()..sum::LEVELS as u32).find(|&level| {
            groups(level) <= most && groups(level).saturating_mul(tiles) < 1 << 31
        })?;
        let groups = groups(level);
        Some(Self { blocks: (groups * tiles) as u32, groups: groups as u32, level })
    }
}

impl<M: Machine + 'static, T: Number> FitKernels<M, T> {
    fn new(
        machine: &M,
        setup: Setup<T>,
        numbers: Arc<M::Buffer<[u32; 4]>>,
        (sums, is_linear): (Box<dyn Summing<M, T>>, bool),
    ) -> Result<Self> {
        let mut dimension = 0;
        let source = |fixed: &Option<T>| match fixed {
            Some(_) => FIXED,
            None => {
                dimension += 1;
                dimension - 1
            }
        };
        let sources: Vec<u32> = setup.fixed.iter().map(source).collect();
        let fixed: Vec<T> = setup.fixed.iter().map(|fixed| fixed.unwrap_or(T::ZERO)).collect();
        let weights = match setup.weights.is_empty() {
            true => Vec::new(),
            false => by_column(&setup.weights, 1, setup.rows)?,
        };
        Ok(Self {
            numbers,
            weights: machine.upload(words(&weights))?,
            sources: machine.upload(&sources)?,
            fixed: machine.upload(&fixed)?,
            partials: machine.zeroed(0)?,
            room: 0,
            is_linear,
            setup,
            judge: OnDemand::new(),
            sums,
            special: Vec::new(),
        })
    }

    /// Which kernel sums for this number of slots.
    fn summation(&mut self, machine: &M, slots: u32) -> Result<Summation> {
        let columns = match self.setup.shape.columns {
            0..=4 => Columns::Four,
            5..=8 => Columns::Eight,
            9..=16 => Columns::Sixteen,
            _ => return Ok(Summation::Sums),
        };
        if !self.is_linear || self.setup.loss.kind != Kind::Squares {
            return Ok(Summation::Sums);
        }
        let multiprocessors = machine.capacity(self.judge.get(machine)?).blocks;
        let chunks = sum::chunks(self.setup.rows);
        if T::PRECISION == Precision::F64 && machine.multiplies_matrices() {
            let tiles = Tiles::for_work(columns, slots, chunks, multiprocessors);
            return Ok(Summation::Matrix(columns, tiles));
        }
        Ok(Summation::Squares(columns, Lanes::for_work(columns, slots, chunks, multiprocessors)))
    }
}

impl<M: Machine + 'static, T: Number> FunctionKernels<M, T> for FitKernels<M, T> {
    // It reads positions directly and does not transform them.
    fn reach(&self) -> Reach {
        Reach::Own
    }

    unsafe fn evaluate(
        &mut self,
        machine: &M,
        (blocks, threads): Shape,
        swarm: evaluate::Arguments<(), T>,
        then: Then<T>,
    ) -> Result<bool> {
        debug_assert_eq!(threads, BLOCK, "a block that judges has the particles of one that moves");
        // Whole tiles for all swarms, but a single swarm has no padding.
        let slots = match swarm.swarms {
            1 => swarm.particles as usize,
            swarms => layout::stride(swarm.particles as usize) * swarms as usize,
        };
        let chunks = sum::chunks(self.setup.rows);
        let too_many = || Error::Option {
            option: "particles",
            value: swarm.particles.to_string(),
            accepted: "few enough that a GPU has blocks for all particles and rows".to_owned(),
        };
        let slots = u32::try_from(slots).map_err(|_| too_many())?;
        let summation = self.summation(machine, slots)?;
        let Cut { blocks: blocks_that_sum, groups, level } =
            Cut::new(summation, slots, chunks, size_of::<T>()).ok_or_else(too_many)?;
        let room = groups as usize * slots as usize;
        if room > self.room {
            // Dropping the old buffer waits for the launches that use it.
            self.partials = machine.zeroed(room)?;
            self.room = room;
        }
        let Setup { shape, rows, loss, fixed, .. } = &self.setup;
        let summing = match summation {
            Summation::Sums => &mut self.sums,
            wanted => match self.special.iter().position(|(kept, _)| *kept == wanted) {
                Some(nth) => &mut self.special[nth].1,
                None => {
                    self.special.push((wanted, special(wanted)));
                    &mut self.special.last_mut().expect("pushed above").1
                }
            },
        };
        // SAFETY: the buffers belong to `self`, and launches run one after the other; partial sums are
        // written by one and read by the next. Their lengths are as documented.
        unsafe {
            let arguments = Arguments {
                view: swarm.view,
                shape: *shape,
                loss: *loss,
                parameters: fixed.len() as u32,
                // `Data` has no more rows than a u32 holds.
                rows: *rows as u32,
                slots,
                level,
                sources: machine.read_only(&self.sources),
                fixed: machine.read_only(&self.fixed),
                positions: swarm.positions,
                numbers: machine.read_only(&self.numbers),
                weights: machine.read_only(&self.weights),
                partials: machine.read_write(&self.partials),
            };
            summing.launch(machine, blocks_that_sum, &arguments)?;
            let level = groups.div_ceil(judge::MOST_WARPS).next_power_of_two().ilog2();
            let warps = groups.div_ceil(1 << level);
            let partials = machine.read_only(&self.partials);
            let moves = then.is_wanted && moves_at_once(&then.motion.settings, warps * BLOCK);
            let arguments = judge::Arguments {
                swarm,
                partials,
                groups,
                slots,
                level,
                moves: u32::from(moves),
                motion: then.motion,
            };
            machine.launch(self.judge.get(machine)?, blocks, warps * BLOCK, &arguments)?;
            Ok(moves)
        }
    }

    unsafe fn step(
        &mut self,
        _: &M,
        _: Order,
        _: u32,
        _: u32,
        _: step::Arguments<(), T>,
    ) -> Result<()> {
        unreachable!("the plan of a fit is a general one")
    }

    fn terms(&self, _: &Context<T>) -> (u32, u32) {
        unreachable!("the plan of a fit is a general one")
    }

    fn capacity(&self, _: &M, _: ChipKernel) -> Capacity {
        unreachable!("the plan of a fit is a general one")
    }

    unsafe fn on_chip(
        &mut self,
        _: &M,
        _: ChipKernel,
        _: Shape,
        _: resident::Arguments<(), T>,
    ) -> Result<()> {
        unreachable!("the plan of a fit is a general one")
    }
}

/// Whether the block of `threads` threads that finishes last with a swarm moves its particles
/// faster than another launch would: if the kernel supports the swarm's options, and no thread
/// moves more than a few dimensions.
fn moves_at_once<T: Scalar>(settings: &Settings<T>, threads: u32) -> bool {
    let parts = settings.dims.div_ceil(T::PAIRS_PER_BLOCK);
    settings.rule == Rule::Inertia
        && settings.topology.kind == topology::Kind::Global
        && settings.particles.saturating_mul(parts) <= MOST_MOVES * threads
}

/// Fused multiply-adds per second of this many blocks, one by one and in matrix products: the best
/// of several launches of each, after a check of the result. Both are the same if matrix products
/// gain nothing.
#[cfg(feature = "cuda")]
pub(crate) fn fused_per_second<M: Machine, T: Number>(
    machine: &M,
    blocks: u32,
) -> Result<(f64, f64)> {
    /// A few tenths of a second.
    const ROUNDS: u32 = 1 << 16;
    const PRODUCTS: u32 = 1 << 14;

    // The fixed point of x -> x / 2 + 1, where all chains end.
    let of_thread = ceiling::operations(ROUNDS);
    let single = ceiling::<M, Ceiling<T>, T>(machine, blocks, (ROUNDS, 0.5, 16.0), of_thread)?;
    if T::PRECISION != Precision::F64 || !machine.multiplies_matrices() {
        return Ok((single, single));
    }
    // 32 elements of x -> x + 8.
    let end = 32.0 * 8.0 * f64::from(PRODUCTS);
    let of_thread = ceiling::operations_of_products(PRODUCTS) / 32;
    let products =
        ceiling::<M, MatrixCeiling<T>, T>(machine, blocks, (PRODUCTS, 0.5, end), of_thread)?;
    Ok((single, products))
}

/// Fused multiply-adds per second of a kernel that starts at 1, runs `rounds` rounds and must end
/// at `expected`; each thread performs `of_thread` of them.
#[cfg(feature = "cuda")]
fn ceiling<M: Machine, K: Kernel<Arguments = ceiling::Arguments<T>>, T: Number>(
    machine: &M,
    blocks: u32,
    (rounds, factor, expected): (u32, f64, f64),
    of_thread: u64,
) -> Result<f64> {
    let kernel = machine.load::<K>()?;
    let threads = (blocks * ceiling::THREADS) as usize;
    let ends = machine.zeroed::<T>(threads)?;
    let (start, factor) = (T::nearest(1.0), T::nearest(factor));
    // SAFETY: the buffer has an element for each thread and outlives the launches.
    let arguments = unsafe {
        let ends = machine.read_write(&ends);
        ceiling::Arguments { rounds, start, factor, ends }
    };
    let mut launch = || {
        // SAFETY: as above.
        unsafe { machine.launch(&kernel, blocks, ceiling::THREADS, &arguments) }
    };
    launch()?;
    let found = machine.download(&ends, threads)?;
    if let Some(wrong) = found.iter().find(|end| end.to_f64() != expected) {
        let (found, expected) = (wrong.to_string(), expected.to_string());
        return Err(Error::Wrong { particles: blocks, dims: rounds, found, expected });
    }
    let fastest = machine.fastest(5, &mut launch)?;
    Ok((of_thread * threads as u64) as f64 / fastest.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_turned_into_columns_with_zeros_behind() {
        let numbers: Vec<f64> = (0..3 * 100).map(f64::from).collect();
        let columns = by_column(&numbers, 3, 100).unwrap();
        assert_eq!(columns.len(), 3 * 256);
        for row in 0..100 {
            for column in 0..3 {
                assert_eq!(columns[column * 256 + row], (3 * row + column) as f64);
            }
        }
        assert!(columns[100..256].iter().all(|&x| x == 0.0));
        assert_eq!(words(&columns).len(), columns.len() / 2);
    }

    #[test]
    fn work_is_cut_so_that_a_large_gpu_is_busy() {
        let lanes = |slots, rows| Lanes::for_work(Columns::Four, slots, sum::chunks(rows), 132);
        assert_eq!(lanes(64, 131_072), Lanes::Two);
        assert_eq!(lanes(64, 6_980_011), Lanes::FourHalved);
        assert_eq!(lanes(128, 1_088_576), Lanes::Four);
        assert_eq!(lanes(2048, 1_088_576), Lanes::Four);
        // Two warps of 128 would have 62 empty lanes.
        assert_eq!(lanes(130, 1_088_576), Lanes::FourHalved);
        let cut = |lanes, slots, rows| {
            Cut::new(Summation::Squares(Columns::Four, lanes), slots, sum::chunks(rows), 8).unwrap()
        };
        assert_eq!(cut(Lanes::Two, 64, 131_072), Cut { blocks: 128, groups: 128, level: 0 });
        assert_eq!(
            cut(Lanes::FourHalved, 64, 6_980_011),
            Cut { blocks: 1705, groups: 1705, level: 1 }
        );
        let tiles = |slots, rows| Tiles::for_work(Columns::Four, slots, sum::chunks(rows), 132);
        assert_eq!(tiles(64, 131_072), Tiles::One);
        assert_eq!(tiles(64, 6_980_011), Tiles::Four);
        assert_eq!(tiles(128, 1_088_576), Tiles::Four);
        let wide = |slots| Tiles::for_work(Columns::Sixteen, slots, sum::chunks(1_088_576), 132);
        // 532 blocks in rounds of 264, or 1064 in rounds of 396; 8,512 or 17,024.
        assert_eq!(wide(128), Tiles::Two);
        assert_eq!(wide(2048), Tiles::Four);
        let matrix = Summation::Matrix(Columns::Four, Tiles::Four);
        let cut_matrix = |slots, rows| {
            Cut::new(matrix, slots, sum::chunks(rows), 8).map(|cut| (cut.blocks, cut.level))
        };
        assert_eq!(cut_matrix(64, 6_980_011), Some((1705, 2)));
        // Warps of a block share rows if there are many particles.
        assert_eq!(cut_matrix(2048, 1_088_576), Some((1064 * 8, 2)));
        let many = cut(Lanes::Four, 1 << 20, 6_980_011);
        assert!(many.groups as usize * (8 << 20) <= MOST_BYTES, "{many:?}");
        assert_eq!(cut(Lanes::Two, 1, 1), Cut { blocks: 1, groups: 1, level: 0 });
        assert_eq!(Cut::new(Summation::Sums, u32::MAX, 1 << 24, 8).map(|cut| cut.groups), Some(1));
    }
}
