//! Many fits by the kernel of one or several GPUs: in pieces, so that copies overlap with the work and data
//! larger than a GPU's memory pass through it.

#[cfg(feature = "cuda")]
use std::ops::ControlFlow;
use std::time::Duration;

use flockwork_device::{
    fit::{
        Model,
        kernels::many::{Arguments, Many, TEAMS, THREADS, WORDS},
        many::End,
    },
    gpu::memory::ReadOnly,
    kernel::Kernel,
};

#[cfg(feature = "cuda")]
use super::held::Held;
use super::{Job, Watch, held::Room};
use crate::{
    Error, Result,
    backend::{
        Number,
        machine::{Machine, Queue, Tailored},
    },
};

/// Pieces for each GPU that the data sets are cut into, if they are large enough.
const PIECES: usize = 8;
/// The fewest data sets of a piece: enough for all lanes of a GPU, several times.
const FEWEST: usize = 1 << 16;
/// Fewer data sets than this are left to one GPU; where each is searched, an eighth of it. (On two H200 10,000
/// images of 15 x 15 took 1.4 times as long as on one from given starting values, and 0.76 searched.)
const WORTH_DEALING: usize = 1 << 15;
/// Pieces that are in a GPU's memory at once.
const SLOTS: usize = 2;

/// The shortest time of some repetitions with everything in a machine's memory.
#[cfg(feature = "cuda")]
pub(super) fn timed<Mo: Model, M: Machine, T: Number>(
    machine: &M,
    job: &Job<'_, T>,
    times: u32,
) -> Result<Duration> {
    let watch = &mut |_, _| ControlFlow::Continue(());
    let mut least = Duration::MAX;
    let sets = job.stack.sets();
    let numbers = Held::zeroed(sets * job.width())?;
    let room = &mut Room { numbers, words: Held::zeroed(sets * WORDS)? };
    of_model::<Mo, M, T>(&[machine], job, room, watch, Some((times, &mut least)))?;
    Ok(least)
}

/// What each data set has of an array, or nothing where all share it.
fn own<T>(is_own: bool, numbers: &[T], sets: usize) -> usize {
    if is_own { numbers.len() / sets } else { 0 }
}

/// Buffers for the data sets of a piece.
struct Slot<M: Machine, T: Number> {
    targets: M::Buffer<T>,
    arguments: Option<M::Buffer<T>>,
    weights: Option<M::Buffer<T>>,
    boxes: Option<M::Buffer<T>>,
    begin: Option<M::Buffer<T>>,
    results: M::Buffer<T>,
    words: M::Buffer<u32>,
    /// When the copies to the host are done.
    copied: Option<M::Mark>,
    /// When the kernel is.
    fitted: Option<M::Mark>,
}

/// Fits them on machines that have kernels of this model: at least one.
pub(super) fn on_machines<Mo: Model, M: Machine, T: Number>(
    machines: &[M],
    job: &Job<'_, T>,
    room: &mut Room<T>,
    watch: &mut Watch<'_>,
) -> Result<()> {
    let machines: Vec<&M> = machines.iter().collect();
    of_model::<Mo, M, T>(&machines, job, room, watch, None)
}

/// The same, and timed if that is asked for.
fn of_model<Mo: Model, M: Machine, T: Number>(
    machines: &[&M],
    job: &Job<'_, T>,
    room: &mut Room<T>,
    watch: &mut Watch<'_>,
    timed: Option<(u32, &mut Duration)>,
) -> Result<()> {
    let mut loaded: Vec<_> =
        machines.iter().map(|&m| Loaded(m, Tailored::<M, Many<Mo, T>>::new())).collect();
    let on = loaded.iter_mut().map(|kernel| Place { machine: kernel.0, kernel }).collect();
    in_pieces(on, job, room, watch, timed)
}

/// The kernel of some model, so that the rest is compiled once and not for each model.
trait Fitting<T> {
    /// Launches it.
    ///
    /// # Safety
    /// As [`Machine::launch`].
    unsafe fn launch(&mut self, blocks: u32, passed: &Arguments<T>) -> Result<()>;
}

/// A kernel that is loaded when it is launched.
struct Loaded<'a, M: Machine, K: Kernel>(&'a M, Tailored<M, K>);

impl<T, M: Machine, K: Kernel<Arguments = Arguments<T>>> Fitting<T> for Loaded<'_, M, K> {
    unsafe fn launch(&mut self, blocks: u32, passed: &Arguments<T>) -> Result<()> {
        let Self(machine, kernel) = self;
        let kernel = kernel.get(machine, None, passed)?;
        // SAFETY: the caller's promise.
        unsafe { machine.launch(kernel, blocks, THREADS, passed) }
    }
}

/// A machine with its kernel.
struct Place<'a, M, T> {
    machine: &'a M,
    kernel: &'a mut dyn Fitting<T>,
}

/// What all data sets share, in a machine's memory: nothing where each has its own.
struct Shared<M: Machine, T: Number> {
    bounds: M::Buffer<T>,
    arguments: Option<M::Buffer<T>>,
    weights: Option<M::Buffer<T>>,
    boxes: Option<M::Buffer<T>>,
    begin: Option<M::Buffer<T>>,
}

/// The same for any model; if `timed` is given, all in one piece, whose launch is repeated as often and
/// timed.
fn in_pieces<M: Machine, T: Number>(
    mut places: Vec<Place<'_, M, T>>,
    job: &Job<'_, T>,
    room: &mut Room<T>,
    watch: &mut Watch<'_>,
    mut timed: Option<(u32, &mut Duration)>,
) -> Result<()> {
    let (stack, sets, width) = (job.stack, job.stack.sets(), job.width());
    let rows = stack.rows();
    // Numbers of each data set, of each array.
    let own_arguments = own(stack.own_arguments, &stack.arguments, sets);
    let own_weights = own(stack.own_weights(), &stack.weights, sets);
    let own_boxes = own(job.own_boxes, &job.boxes, sets);
    let own_begin = own(job.own_begin, job.begin.numbers(), sets);
    let numbers = rows + own_arguments + own_weights + own_boxes + own_begin + width;
    let bytes = numbers * size_of::<T>() + WORDS * size_of::<u32>();
    let shared = [
        (own_arguments, stack.arguments.len()),
        (own_weights, stack.weights.len()),
        (own_boxes, job.boxes.len()),
        (own_begin, job.begin.numbers().len()),
    ];
    let shared = shared.into_iter().filter(|&(own, _)| own == 0).map(|(_, length)| length);
    let shared = (shared.sum::<usize>() + job.bounds.len()) * size_of::<T>();
    // Data sets that each has room for, in a slot.
    let mut rooms = Vec::new();
    for Place { machine, .. } in &places {
        let memory = machine.memory()?;
        let free = memory.map_or(u64::MAX, |free| free.saturating_sub(shared as u64));
        rooms.push(usize::try_from(free / (SLOTS * bytes) as u64).unwrap_or(usize::MAX));
    }
    let largest = rooms.iter().copied().max().unwrap_or(0);
    if largest == 0 {
        let mut available = 0;
        for Place { machine, .. } in &places {
            available = available.max(machine.memory()?.unwrap_or(0));
        }
        return Err(Error::GpuMemory { needed: (shared + SLOTS * bytes) as u128, available });
    }
    // Few data sets are fitted before another GPU has begun, and one that is nearly full only delays the others.
    let worth = if job.searches { WORTH_DEALING / 8 } else { WORTH_DEALING };
    let useful = worth.min(largest);
    let mut of = rooms.iter();
    places.retain(|_| of.next().is_some_and(|&room| room >= useful));
    rooms.retain(|&room| room >= useful);
    let dealt = places.len().min(sets.div_ceil(useful));
    places.truncate(dealt);
    let most = rooms[..dealt].iter().copied().min().unwrap_or(largest);
    let piece = match timed {
        Some(_) => sets.min(most),
        None => {
            let largest = sets.div_ceil(PIECES * dealt).max(FEWEST).min(sets.div_ceil(dealt));
            // As many for each machine, of the same size.
            let rounds = sets.div_ceil(largest.min(most) * dealt);
            sets.div_ceil(rounds * dealt)
        }
    };
    let slots = (SLOTS * dealt).min(sets.div_ceil(piece));

    let on_each = |Place { machine, .. }: &Place<'_, M, T>| -> Result<Shared<M, T>> {
        let upload = |is_shared: bool, numbers: &[T]| match is_shared && !numbers.is_empty() {
            true => machine.upload(numbers).map(Some),
            false => Ok(None),
        };
        Ok(Shared {
            bounds: machine.upload(&job.bounds)?,
            arguments: upload(own_arguments == 0, &stack.arguments)?,
            weights: upload(own_weights == 0, &stack.weights)?,
            boxes: upload(own_boxes == 0, &job.boxes)?,
            begin: upload(own_begin == 0, job.begin.numbers())?,
        })
    };
    let shared: Vec<Shared<M, T>> = places.iter().map(on_each).collect::<Result<_>>()?;
    let slot = |nth: usize| -> Result<Slot<M, T>> {
        let machine = places[nth % dealt].machine;
        let own = |each: usize| match each {
            0 => Ok(None),
            each => machine.zeroed::<T>(piece * each).map(Some),
        };
        Ok(Slot {
            targets: machine.zeroed(piece * rows)?,
            arguments: own(own_arguments)?,
            weights: own(own_weights)?,
            boxes: own(own_boxes)?,
            begin: own(own_begin)?,
            results: machine.zeroed(piece * width)?,
            words: machine.zeroed(piece * WORDS)?,
            copied: None,
            fitted: None,
        })
    };
    let mut slots: Vec<Slot<M, T>> = (0..slots).map(slot).collect::<Result<_>>()?;
    // What one pins, all copy from.
    let first = places[0].machine;
    stack.targets.pin(first);
    job.begin.pin(first);
    room.numbers.pin(first);
    room.words.pin(first);
    let (results, words) = (room.numbers.numbers_mut(), room.words.numbers_mut());

    let firsts: Vec<usize> = (0..sets).step_by(piece).collect();
    let mut ended = sets;
    let mut queued = || -> Result<()> {
        for (nth, &first) in firsts.iter().enumerate() {
            let count = piece.min(sets - first);
            let length = slots.len();
            let (slot, shared) = (&mut slots[nth % length], &shared[nth % length % dealt]);
            let Place { machine, kernel } = &mut places[nth % length % dealt];
            if let Some(copied) = &slot.copied {
                machine.reach(copied)?;
                let done = firsts[nth - length] + piece;
                if watch(done, sets).is_break() {
                    ended = first;
                    break;
                }
            }
            if let Some(fitted) = &slot.fitted {
                machine.wait(Queue::In, fitted)?;
            }
            let bring = |buffer: Option<&M::Buffer<T>>, numbers: &[T], each: usize| match buffer {
                Some(buffer) if each > 0 => {
                    let some = &numbers[first * each..][..count * each];
                    // SAFETY: the numbers live longer than the job; the buffer has room for a piece,
                    // and the kernel that used it before is waited for. All copies are waited for
                    // below before anything is dropped.
                    unsafe { machine.copy_in(some.as_ptr().cast(), size_of_val(some), buffer) }
                }
                _ => Ok(()),
            };
            bring(Some(&slot.targets), stack.targets.numbers(), rows)?;
            bring(slot.arguments.as_ref(), &stack.arguments, own_arguments)?;
            bring(slot.weights.as_ref(), &stack.weights, own_weights)?;
            bring(slot.boxes.as_ref(), &job.boxes, own_boxes)?;
            bring(slot.begin.as_ref(), job.begin.numbers(), own_begin)?;
            machine.wait(Queue::Launches, &machine.mark(Queue::In)?)?;
            // SAFETY: the buffers live until all launches are waited for below, and each launch
            // writes only the results of its own slot, which no copy reads any more.
            unsafe {
                let reads = |own: &Option<M::Buffer<T>>, shared: &Option<M::Buffer<T>>| {
                    let buffer = own.as_ref().or(shared.as_ref());
                    buffer.map_or(ReadOnly::empty(), |buffer| machine.read_only(buffer))
                };
                let passed = Arguments {
                    shape: job.shape,
                    settings: job.settings,
                    search: job.search,
                    starts: job.starts,
                    searches: u32::from(job.searches),
                    own_arguments: u32::from(own_arguments > 0),
                    own_weights: u32::from(own_weights > 0),
                    own_boxes: u32::from(own_boxes > 0),
                    own_begin: u32::from(own_begin > 0),
                    rows: rows as u32,
                    fits: count as u32,
                    arguments: reads(&slot.arguments, &shared.arguments),
                    targets: machine.read_only(&slot.targets),
                    weights: reads(&slot.weights, &shared.weights),
                    bounds: machine.read_only(&shared.bounds),
                    boxes: reads(&slot.boxes, &shared.boxes),
                    begin: reads(&slot.begin, &shared.begin),
                    results: machine.read_write(&slot.results),
                    words: machine.read_write(&slot.words),
                };
                let blocks = (count as u32).div_ceil(TEAMS);
                kernel.launch(blocks, &passed)?;
                if let Some((times, least)) = &mut timed {
                    let mut again = || kernel.launch(blocks, &passed);
                    **least = machine.fastest(*times, &mut again)?;
                }
            }
            let fitted = machine.mark(Queue::Launches)?;
            machine.wait(Queue::Out, &fitted)?;
            // SAFETY: there is room for each data set, which nobody uses before the copies are waited
            // for.
            unsafe {
                let to = results[first * width..].as_mut_ptr();
                machine.copy_out(&slot.results, to.cast(), count * width * size_of::<T>())?;
                let to = words[first * WORDS..].as_mut_ptr();
                machine.copy_out(&slot.words, to.cast(), count * WORDS * size_of::<u32>())?;
            }
            slot.fitted = Some(fitted);
            slot.copied = Some(machine.mark(Queue::Out)?);
        }
        Ok(())
    };
    let made = queued();
    // Whatever happened: what is copied to must not be freed before.
    let finished = places.iter().map(|place| place.machine.finish()).fold(Ok(()), Result::and);
    made.and(finished)?;
    results[ended * width..].fill(T::nearest(f64::NAN));
    words[ended * WORDS..].fill(End::NotFitted as u32);
    if ended == sets {
        let _ = watch(sets, sets);
    }
    Ok(())
}
