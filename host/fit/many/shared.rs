//! Parameters that all data sets share: one value for all of them, beside each one's own.
//!
//! All data sets make one least squares problem, whose normal equations have a block for each data set and
//! a border for what is shared. An iteration of Levenberg-Marquardt eliminates the blocks one by one and
//! solves what remains of the border (its Schur complement), so it costs a pass over the rows and, beside
//! it, as much as the data sets' own steps. Known as *global analysis*: Knutson, Beechem and Brand,
//! Chemical Physics Letters 102 (1983) 501.
//!
//! Where to begin is found from some of the data sets, those whose targets differ most and as many from all
//! over: each is fitted with a value of its own for what is to be shared, and these values are tried for all
//! of them. With the best of them held fixed, all data sets are
//! fitted as without sharing, on whatever back end; from there the descent goes on with all parameters, on
//! the CPU, in `f64`. Sums over data sets are taken in chunks of [`CHUNK`], one after the other, so the bits
//! do not depend on the number of threads.

use std::ops::ControlFlow;

use rayon::prelude::*;

use flockwork_device::fit::{
    kernels::many::{WORDS, placed},
    many::End,
};

use super::{
    Job, Many, Watch,
    cpu::{sums, sums_width},
    held::{Held, Room},
    is_robust,
    solver::SolvesIn,
    stack::Stack,
};
use crate::{
    Error, Result,
    backend::{Cpu, Number},
};

/// Data sets whose sums are added before those of others.
const CHUNK: usize = 256;
/// Data sets by which it is found where to begin, at most.
const FEW: usize = 32;
/// Values of the shared parameters that are taken from those data sets, and tried for all of them.
const OF_SETS: usize = 7;
/// Values from all over the box, where too few of those data sets have values of their own.
const OF_BOX: usize = 32;
/// The most iterations of a trial.
const TRIAL: u32 = 30;
/// How often all data sets are searched again with the shared values that were found.
const ROUNDS: u32 = 3;
/// The damping of the first step, and that beyond which no step is looked for, as of a single fit.
const DAMPING: f64 = 1e-3;
const MOST_DAMPING: f64 = 1e12;

/// Fits all data sets together, into the room for their results. Returns whether it was ended before.
pub(super) fn run<T: Number>(
    many: &Many<T>,
    backend: &dyn SolvesIn<T>,
    room: &mut Room<T>,
    watch: &mut Watch<'_>,
) -> Result<bool> {
    let cpu = backend.cpu()?;
    let sets = many.stack.sets();
    let differing = differing(&cpu, &many.stack);
    let known = many.known();
    let places = many.starting_points(known.as_deref())?;
    let job = many.job(&places, known.as_deref())?;
    if !job.settings.is_linear() && differing.iter().all(|&differing| differing == 0.0) {
        // Equal targets tell nothing of what is shared: each data set says so.
        let apart = many.apart();
        let job = apart.job(&places, known.as_deref())?;
        let mut flow = ControlFlow::Continue(());
        backend.solve_in(&job, room, &mut |done, all| {
            flow = watch(done, all);
            flow
        })?;
        return Ok(flow.is_break());
    }
    let joint = Joint::new(&cpu, &job, &many.numbers_of_shared());
    let not_fitted = |room: &mut Room<T>| {
        room.numbers.numbers_mut().fill(T::nearest(f64::NAN));
        room.words.numbers_mut().fill(End::NotFitted as u32);
    };
    let Some(mut shared) = joint.beginning(many, &differing, backend, watch)? else {
        not_fitted(room);
        return Ok(true);
    };

    let mut best: Option<(Fitted<T>, Room<T>)> = None;
    let mut interrupted = false;
    for _ in 0..ROUNDS {
        let ended = joint.held(many, &shared, backend, room, watch)?;
        if ended.is_break() {
            interrupted = true;
            break;
        }
        let begun = joint.begun(room);
        if begun.sets.is_empty() {
            break;
        }
        if let Some((fitted, _)) = &best {
            let at_least = begun.sets.len() >= fitted.state.sets.len();
            let state = joint.summed(begun.clone());
            let much = many.tolerance.max(1e-9) * fitted.state.total;
            if !at_least || state.total >= fitted.state.total - much {
                break;
            }
        }
        let fitted = joint.descend(begun, many.iterations, &mut |_| watch(sets - 1, sets));
        interrupted = fitted.interrupted;
        shared = joint.shared_of(&fitted.state);
        best = Some((fitted, room.clone()));
        if interrupted || !many.searches() {
            break;
        }
    }
    match best {
        None if interrupted => not_fitted(room),
        None => joint.forget(room),
        Some((fitted, others)) => {
            *room = others;
            joint.write(&fitted, room);
        }
    }
    if !interrupted {
        let _ = watch(sets, sets);
    }
    Ok(interrupted)
}

/// How much the targets of each data set differ among themselves: the weighted sum of squares about their
/// mean, 0 where all are equal.
fn differing<T: Number>(cpu: &Cpu, stack: &Stack<T>) -> Vec<f64> {
    let of = |set: usize| {
        let (targets, weights) = (stack.targets(set), stack.weights(set));
        let weight = |row: usize| weights.get(row).map_or(1.0, |weight| weight.to_f64());
        let rows = || {
            let rows = targets.iter().enumerate().map(|(row, y)| (y.to_f64(), weight(row)));
            rows.filter(|(y, weight)| y.is_finite() && *weight > 0.0)
        };
        let (least, greatest) = rows()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (y, _)| {
                (low.min(y), high.max(y))
            });
        if least >= greatest {
            return 0.0;
        }
        let (sum, all) =
            rows().fold((0.0, 0.0), |(sum, all), (y, weight)| (sum + weight * y, all + weight));
        rows().map(|(y, weight)| weight * (y - sum / all).powi(2)).sum()
    };
    cpu.install(|| (0..stack.sets()).into_par_iter().map(of).collect())
}

/// The numbers of a few data sets, in order: those that differ most, and as many from all over. Where most of a
/// plate's wells are empty, the first ones tell what is shared.
fn telling(differing: &[f64], few: usize) -> Vec<usize> {
    let all = differing.len();
    if all <= few {
        return (0..all).collect();
    }
    let mut by_difference: Vec<usize> = (0..all).collect();
    by_difference
        .sort_by(|&one, &other| differing[other].total_cmp(&differing[one]).then(one.cmp(&other)));
    let evenly = few / 2;
    let mut numbers: Vec<usize> = (0..evenly).map(|nth| nth * all / evenly).collect();
    for number in by_difference {
        if numbers.len() == few {
            break;
        }
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    numbers
}

impl<T: Number> Many<T> {
    fn numbers_of_shared(&self) -> Vec<usize> {
        let shared = self.sought.iter().enumerate().filter(|(_, sought)| sought.is_shared);
        shared.map(|(nth, _)| nth).collect()
    }

    /// The same fits, each with parameters of its own.
    fn apart(&self) -> Self {
        let mut many = self.clone();
        many.sought.iter_mut().for_each(|sought| sought.is_shared = false);
        many
    }

    /// Whether a parameter is both fixed and shared.
    pub(super) fn check_shared(&self) -> Result<()> {
        let both = self.sought.iter().find(|sought| sought.is_shared && sought.fixed.is_some());
        let Some(sought) = both else { return Ok(()) };
        Err(Error::Option {
            option: "shared",
            value: sought.name.clone(),
            accepted: "a parameter that is not fixed".to_owned(),
        })
    }
}

/// Points of the data sets that take part, all parameters of one after the other, and the sums there.
#[derive(Clone)]
struct State<T> {
    sets: Vec<usize>,
    points: Vec<T>,
    /// As [`sums`] gives them; empty before a pass.
    sums: Vec<T>,
    total: f64,
}

/// Where a descent ended.
struct Fitted<T> {
    state: State<T>,
    end: End,
    iterations: u32,
    interrupted: bool,
}

/// The problem that all data sets make.
struct Joint<'a, T: Number> {
    cpu: &'a Cpu,
    job: &'a Job<'a, T>,
    count: usize,
    /// The numbers of the parameters that are looked for: of each data set's own, and of the shared ones.
    own: Vec<usize>,
    shared: Vec<usize>,
}

/// The sums of a data set, by parameters.
#[derive(Clone, Copy)]
struct Sums<'a, T> {
    numbers: &'a [T],
    count: usize,
}

impl<T: Number> Sums<'_, T> {
    fn value(&self) -> f64 {
        self.numbers[0].to_f64()
    }

    fn gradient(&self, i: usize) -> f64 {
        self.numbers[1 + i].to_f64()
    }

    fn matrix(&self, i: usize, j: usize) -> f64 {
        let (row, column) = (i.max(j), i.min(j));
        self.numbers[1 + self.count + row * (row + 1) / 2 + column].to_f64()
    }

    fn rows(&self) -> f64 {
        self.numbers[self.numbers.len() - 1].to_f64()
    }
}

/// A symmetric positive definite matrix, decomposed: L below the diagonal and on it.
struct Decomposed {
    lower: Vec<f64>,
    size: usize,
    /// Whether each pivot is more than a share of what stood there before.
    definite: bool,
}

impl Decomposed {
    /// Of the matrix with these elements on and below the diagonal.
    fn of(size: usize, least: f64, element: impl Fn(usize, usize) -> f64) -> Self {
        let mut lower = vec![0.0; size * size];
        let mut definite = true;
        for j in 0..size {
            let whole = element(j, j);
            let mut pivot = whole;
            for k in 0..j {
                pivot -= lower[j * size + k] * lower[j * size + k];
            }
            definite &= pivot > least * whole;
            let root = pivot.sqrt();
            lower[j * size + j] = root;
            for i in j + 1..size {
                let mut sum = element(i, j);
                for k in 0..j {
                    sum -= lower[i * size + k] * lower[j * size + k];
                }
                lower[i * size + j] = sum / root;
            }
        }
        Self { lower, size, definite }
    }

    /// Solves L x = b.
    fn forward(&self, x: &mut [f64]) {
        for i in 0..self.size {
            for k in 0..i {
                x[i] -= self.lower[i * self.size + k] * x[k];
            }
            x[i] /= self.lower[i * self.size + i];
        }
    }

    /// Solves the transpose of L x = b.
    fn back(&self, x: &mut [f64]) {
        for i in (0..self.size).rev() {
            for k in i + 1..self.size {
                x[i] -= self.lower[k * self.size + i] * x[k];
            }
            x[i] /= self.lower[i * self.size + i];
        }
    }
}

/// A data set's block after its elimination.
struct Block {
    /// The numbers of its parameters that move.
    moving: Vec<usize>,
    decomposed: Decomposed,
    /// L^-1 times the columns of the shared parameters, each as long as `moving`.
    border: Vec<f64>,
    /// L^-1 times the gradient.
    right: Vec<f64>,
    /// Whether the data set tells its parameters apart.
    is_told: bool,
}

/// What the data sets leave of the border: a matrix and a right-hand side.
#[derive(Clone)]
struct Border {
    matrix: Vec<f64>,
    right: Vec<f64>,
}

impl Border {
    fn none(size: usize) -> Self {
        Self { matrix: vec![0.0; size * size], right: vec![0.0; size] }
    }

    fn add(&mut self, other: &Self) {
        self.matrix.iter_mut().zip(&other.matrix).for_each(|(sum, more)| *sum += more);
        self.right.iter_mut().zip(&other.right).for_each(|(sum, more)| *sum += more);
    }
}

/// The diagonal elements by which steps are scaled: the greatest so far, of each data set's own parameters
/// and of the shared ones.
struct Scales {
    own: Vec<f64>,
    shared: Vec<f64>,
}

impl<'a, T: Number> Joint<'a, T> {
    fn new(cpu: &'a Cpu, job: &'a Job<'a, T>, shared: &[usize]) -> Self {
        let count = job.settings.parameters as usize;
        let own = (0..count).filter(|nth| job.settings.is_free(*nth) && !shared.contains(nth));
        Self { cpu, job, count, own: own.collect(), shared: shared.to_vec() }
    }

    fn width(&self) -> usize {
        sums_width(self.count)
    }

    fn bounds(&self, parameter: usize) -> (f64, f64) {
        let [low, high] = [0, 1].map(|side| self.job.bounds[2 * parameter + side].to_f64());
        (low, high)
    }

    fn shared_of(&self, state: &State<T>) -> Vec<f64> {
        self.shared.iter().map(|&nth| state.points[nth].to_f64()).collect()
    }

    fn sums<'s>(&self, state: &'s State<T>, nth: usize) -> Sums<'s, T> {
        let width = self.width();
        Sums { numbers: &state.sums[nth * width..][..width], count: self.count }
    }

    /// A pass over the rows.
    fn summed(&self, mut state: State<T>) -> State<T> {
        let width = self.width();
        state.sums.resize(state.sets.len() * width, T::ZERO);
        sums(self.cpu, self.job, &state.sets, &state.points, &mut state.sums);
        let chunks = state.sums.chunks(CHUNK * width);
        let of_chunk = |chunk: &[T]| chunk.chunks(width).map(|sums| sums[0].to_f64()).sum::<f64>();
        state.total = chunks.map(of_chunk).sum();
        state
    }

    /// The data sets that have been fitted, where they are.
    fn begun(&self, room: &Room<T>) -> State<T> {
        let (numbers, words) = (room.numbers.numbers(), room.words.numbers());
        let (width, count) = (self.job.width(), self.count);
        let ends = words.chunks_exact(WORDS).map(|words| End::of(words[0]));
        let is_fitted = |(set, end): (usize, Option<End>)| {
            let ended = [End::Converged, End::Iterations, End::Undetermined];
            let value = numbers[set * width + 2 * count];
            (end.is_some_and(|end| ended.contains(&end)) && value < T::INFINITY).then_some(set)
        };
        let sets: Vec<usize> = ends.enumerate().filter_map(is_fitted).collect();
        let points = sets.iter().flat_map(|set| &numbers[set * width..][..count]).copied();
        State { points: points.collect(), sets, sums: Vec::new(), total: f64::INFINITY }
    }

    /// Fits all data sets with the shared parameters held at these values.
    fn held(
        &self,
        many: &Many<T>,
        shared: &[f64],
        backend: &dyn SolvesIn<T>,
        room: &mut Room<T>,
        watch: &mut Watch<'_>,
    ) -> Result<ControlFlow<()>> {
        let mut held = many.apart();
        for (&nth, &value) in self.shared.iter().zip(shared) {
            held.sought[nth].fixed = Some(value);
        }
        if self.own.is_empty() {
            // Nothing is left to be fitted.
            let values: Vec<T> =
                held.sought.iter().map(|s| T::nearest(s.fixed.unwrap_or(f64::NAN))).collect();
            let rows = room.numbers.numbers_mut().chunks_exact_mut(self.job.width());
            for row in rows {
                row.fill(T::ZERO);
                row[..self.count].copy_from_slice(&values);
            }
            for words in room.words.numbers_mut().chunks_exact_mut(WORDS) {
                words.copy_from_slice(&[End::Converged as u32, 0, 0]);
            }
            return Ok(ControlFlow::Continue(()));
        }
        let known = held.known();
        let places = held.starting_points(known.as_deref())?;
        let mut flow = ControlFlow::Continue(());
        let job = held.job(&places, known.as_deref())?;
        backend.solve_in(&job, room, &mut |done, all| {
            let verdict = watch(done.min(all - 1), all);
            if verdict.is_break() {
                flow = verdict;
            }
            verdict
        })?;
        Ok(flow)
    }

    /// Values of the shared parameters to begin with; `None` if the run was ended.
    fn beginning(
        &self,
        many: &Many<T>,
        differing: &[f64],
        backend: &dyn SolvesIn<T>,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Vec<f64>>> {
        let all = many.stack.sets();
        if !many.searches() {
            // The median of what was given, or what was given for all.
            let given = many.begin.numbers().chunks_exact(self.count);
            let given: Vec<&[T]> = given.collect();
            let of = |&nth: &usize| median(given.iter().map(|values| values[nth].to_f64()));
            return Ok(Some(self.shared.iter().map(of).collect()));
        }
        let numbers = telling(differing, FEW);
        let some = numbers.len();
        let mut few = many.clone();
        few.stack = many.stack.some(numbers.iter().copied());
        let mut room = Room {
            numbers: Held::zeroed(some * self.job.width())?,
            words: Held::zeroed(some * WORDS)?,
        };
        let known = few.known();
        let places = few.starting_points(known.as_deref())?;
        let few_job = few.job(&places, known.as_deref())?;
        let joint = Joint::new(self.cpu, &few_job, &self.shared);

        // What each would have alone.
        let mut asked = |_: usize, _: usize| watch(0, all);
        backend.solve_in(&few_job, &mut room, &mut asked)?;
        if asked(0, 0).is_break() {
            return Ok(None);
        }
        let ends = room.words.numbers().chunks_exact(WORDS).map(|words| words[0]);
        let is_fitted = |end| end == End::Converged as u32 || end == End::Iterations as u32;
        let rows = room.numbers.numbers().chunks_exact(self.job.width());
        let fitted = rows.zip(ends).filter(|&(_, end)| is_fitted(end));
        let of_row = |(row, _): (&[T], u32)| -> Vec<f64> {
            self.shared.iter().map(|&nth| row[nth].to_f64()).collect()
        };
        let mut alone: Vec<Vec<f64>> = fitted.map(of_row).collect();
        alone.sort_by(|a, b| a.partial_cmp(b).expect("fitted parameters are numbers"));
        let mut tried = Vec::new();
        if !alone.is_empty() {
            let of = |nth: usize| median(alone.iter().map(|values| values[nth]));
            tried.push((0..self.shared.len()).map(of).collect());
            let most = alone.len().min(OF_SETS);
            tried.extend(
                (0..most).map(|nth| alone[(2 * nth + 1) * alone.len() / (2 * most)].clone()),
            );
        }
        if alone.len() < 4 {
            let starts = places.numbers().chunks_exact(self.count).take(OF_BOX);
            tried.extend(starts.map(|places| {
                let of = |&nth: &usize| joint.in_box(nth, places[nth]).to_f64();
                self.shared.iter().map(of).collect()
            }));
        }
        let usual = tried[0].clone();
        if tried.len() == 1 {
            return Ok(Some(usual));
        }

        // What becomes of all with each of these values.
        let mut best: Option<(usize, f64, Vec<f64>)> = None;
        for values in tried {
            if joint.held(&few, &values, backend, &mut room, &mut asked)?.is_break() {
                return Ok(None);
            }
            let begun = joint.begun(&room);
            let lost = some - begun.sets.len();
            if lost == some {
                continue;
            }
            let fitted = joint.descend(begun, TRIAL.min(many.iterations), &mut |_| asked(0, 0));
            if fitted.interrupted {
                return Ok(None);
            }
            let total = fitted.state.total;
            let is_better = best.as_ref().is_none_or(|(least_lost, least, _)| {
                (lost, total).partial_cmp(&(*least_lost, *least)) == Some(std::cmp::Ordering::Less)
            });
            if is_better {
                best = Some((lost, total, joint.shared_of(&fitted.state)));
            }
        }
        // Where none of them can be fitted, the others may be.
        Ok(Some(best.map_or(usual, |(.., values)| values)))
    }

    /// A place between the farthest sides of a parameter's boxes.
    fn in_box(&self, parameter: usize, place: T) -> T {
        let sides = self.job.boxes.chunks_exact(2 * self.count);
        let sides = sides.map(|sides| (sides[2 * parameter], sides[2 * parameter + 1]));
        let wide = sides.reduce(|(low, high), (lower, higher)| {
            (if lower < low { lower } else { low }, if higher > high { higher } else { high })
        });
        let bounds = [0, 1].map(|side| self.job.bounds[2 * parameter + side]);
        placed(place, wide, (bounds[0], bounds[1]))
    }

    /// Whether a parameter is not held at a bound, given where it is and where it is drawn to.
    fn moves(&self, parameter: usize, x: f64, gradient: f64) -> bool {
        let (low, high) = self.bounds(parameter);
        (low < x || gradient > 0.0) && (x < high || gradient < 0.0)
    }

    /// Eliminates a data set's own parameters, those that `moving` names. `added` is what its diagonal gets.
    fn eliminate(
        &self,
        sums: Sums<'_, T>,
        moving: Vec<usize>,
        least: f64,
        added: impl Fn(usize) -> f64,
    ) -> Block {
        let size = moving.len();
        let decomposed = Decomposed::of(size, least, |i, j| {
            sums.matrix(moving[i], moving[j]) + if i == j { added(moving[i]) } else { 0.0 }
        });
        let mut right: Vec<f64> = moving.iter().map(|&nth| sums.gradient(nth)).collect();
        decomposed.forward(&mut right);
        let mut border = Vec::with_capacity(size * self.shared.len());
        for &shared in &self.shared {
            let from = border.len();
            border.extend(moving.iter().map(|&nth| sums.matrix(nth, shared)));
            decomposed.forward(&mut border[from..]);
        }
        let is_told = decomposed.definite;
        Block { moving, decomposed, border, right, is_told }
    }

    /// What a data set adds to the border when its own parameters are eliminated.
    fn leaves(&self, sums: Sums<'_, T>, block: &Block, border: &mut Border) {
        let (size, own) = (self.shared.len(), block.moving.len());
        if !block.decomposed.definite {
            return;
        }
        let column = |nth: usize| &block.border[nth * own..][..own];
        for (i, &row) in self.shared.iter().enumerate() {
            for (j, &other) in self.shared[..=i].iter().enumerate() {
                let taken: f64 = column(i).iter().zip(column(j)).map(|(a, b)| a * b).sum();
                border.matrix[i * size + j] += sums.matrix(row, other) - taken;
            }
            let taken: f64 = column(i).iter().zip(&block.right).map(|(a, b)| a * b).sum();
            border.right[i] += sums.gradient(row) - taken;
        }
    }

    /// The sum over all data sets of what `add` makes of each, given its number among those that take part.
    fn over_sets(&self, state: &State<T>, add: impl Fn(usize, &mut Border) + Sync) -> Border {
        let sets = state.sets.len();
        let of_chunk = |chunk: usize| {
            let mut border = Border::none(self.shared.len());
            (chunk * CHUNK..sets.min((chunk + 1) * CHUNK)).for_each(|nth| add(nth, &mut border));
            border
        };
        let chunks: Vec<Border> =
            self.cpu.install(|| (0..sets.div_ceil(CHUNK)).into_par_iter().map(of_chunk).collect());
        let mut all = Border::none(self.shared.len());
        chunks.iter().for_each(|chunk| all.add(chunk));
        all
    }

    /// The least damping of a data set's own parameters, where they are not told apart.
    fn floor() -> f64 {
        if size_of::<T>() == 4 { 1e-5 } else { 1e-10 }
    }

    /// Levenberg-Marquardt with all parameters, by the rules of a single fit.
    fn descend(
        &self,
        begun: State<T>,
        most: u32,
        watch: &mut dyn FnMut(u32) -> ControlFlow<()>,
    ) -> Fitted<T> {
        let tolerance = self.job.settings.tolerance.to_f64();
        let mut state = self.summed(begun);
        let own = self.own.len();
        let mut scales =
            Scales { own: vec![0.0; state.sets.len() * own], shared: vec![0.0; self.shared.len()] };
        self.rescale(&state, &mut scales);
        let (mut damping, mut growth, mut iterations) = (DAMPING, 2.0, 0);
        let ended =
            |state, end, iterations, interrupted| Fitted { state, end, iterations, interrupted };
        if !state.total.is_finite() {
            return ended(state, End::NotFinite, 0, false);
        }
        loop {
            let Some((trial, gain)) = self.step(&state, &scales, damping) else {
                return ended(state, End::Converged, iterations, false);
            };
            let trial = self.summed(trial);
            iterations += 1;
            let (fell, small) = (state.total - trial.total, tolerance * state.total);
            let (takes, trusted) = (trial.total < state.total, damping < 1.0);
            let settled = takes && trusted && fell <= small;
            let hopeless = !takes && trusted && gain <= small;
            let stuck = !takes && damping > MOST_DAMPING;
            if takes {
                let bend = 2.0 * fell / gain - 1.0;
                if gain.is_finite() {
                    damping = (damping * (1.0 - bend.powi(3)).clamp(0.1, 2.0)).max(1e-18);
                }
                growth = 2.0;
                state = trial;
                self.rescale(&state, &mut scales);
            } else {
                damping *= growth;
                growth *= 2.0;
            }
            if settled || hopeless || stuck || state.total <= 0.0 {
                return ended(state, End::Converged, iterations, false);
            }
            if iterations >= most {
                return ended(state, End::Iterations, iterations, false);
            }
            if watch(iterations).is_break() {
                return ended(state, End::Iterations, iterations, true);
            }
        }
    }

    /// Renews the scales by the diagonals at a new point.
    fn rescale(&self, state: &State<T>, scales: &mut Scales) {
        let own = self.own.len().max(1);
        for (nth, scales) in scales.own.chunks_mut(own).enumerate() {
            let sums = self.sums(state, nth);
            for (scale, &parameter) in scales.iter_mut().zip(&self.own) {
                *scale = sums.matrix(parameter, parameter).max(*scale);
            }
        }
        for (scale, &parameter) in scales.shared.iter_mut().zip(&self.shared) {
            let of = |nth| self.sums(state, nth).matrix(parameter, parameter);
            *scale = (0..state.sets.len()).map(of).sum::<f64>().max(*scale);
        }
    }

    /// The next point, and by how much the sum is to fall there: infinite if the step is cut off at a bound.
    /// `None` if nothing can move.
    fn step(&self, state: &State<T>, scales: &Scales, damping: f64) -> Option<(State<T>, f64)> {
        let (count, own, size) = (self.count, self.own.len(), self.shared.len());
        let unit = |scale: f64| if scale > 0.0 { scale } else { 1.0 };
        let of_own = damping.max(Self::floor());
        let added = |nth: usize, parameter: usize| {
            let place = self.own.iter().position(|&known| known == parameter).unwrap_or(0);
            of_own * unit(scales.own[nth * own + place])
        };
        let block = |nth: usize| {
            let sums = self.sums(state, nth);
            let point = &state.points[nth * count..][..count];
            let moves = |&&p: &&usize| self.moves(p, point[p].to_f64(), sums.gradient(p));
            let moving: Vec<usize> = self.own.iter().filter(moves).copied().collect();
            self.eliminate(sums, moving, 0.0, |parameter| added(nth, parameter))
        };
        let border = self.over_sets(state, |nth, border| {
            self.leaves(self.sums(state, nth), &block(nth), border);
        });

        // The shared parameters. Whether one is held at a bound, the whole gradient says.
        let gradients: Vec<f64> = self
            .shared
            .iter()
            .map(|&p| (0..state.sets.len()).map(|nth| self.sums(state, nth).gradient(p)).sum())
            .collect();
        let at = self.shared_of(state);
        let moves = |&nth: &usize| self.moves(self.shared[nth], at[nth], gradients[nth]);
        let moving: Vec<usize> = (0..size).filter(moves).collect();
        let shared_added = |nth: usize| damping * unit(scales.shared[nth]);
        let decomposed = Decomposed::of(moving.len(), 0.0, |i, j| {
            let (row, column) = (moving[i], moving[j]);
            border.matrix[row * size + column] + if i == j { shared_added(row) } else { 0.0 }
        });
        let mut solved: Vec<f64> = moving.iter().map(|&nth| border.right[nth]).collect();
        decomposed.forward(&mut solved);
        decomposed.back(&mut solved);
        let mut moved = vec![0.0; size];
        let (mut gain, mut is_whole) = (0.0, decomposed.definite);
        for (&nth, &step) in moving.iter().zip(&solved) {
            let (low, high) = self.bounds(self.shared[nth]);
            let wanted = at[nth] + step;
            is_whole &= (low..=high).contains(&wanted);
            let there = if decomposed.definite { wanted.clamp(low, high) } else { at[nth] };
            // What the numbers that models are given can tell.
            moved[nth] = T::nearest(there).to_f64() - at[nth];
            gain += moved[nth] * (shared_added(nth) * moved[nth] + gradients[nth]);
        }

        // Each data set's own follow.
        let step_of = |nth: usize, to: &mut [T]| {
            let sums = self.sums(state, nth);
            let block = block(nth);
            let mut step = block.right.clone();
            for (shared, &moved) in moved.iter().enumerate() {
                let column = &block.border[shared * step.len()..][..step.len()];
                step.iter_mut().zip(column).for_each(|(step, column)| *step -= column * moved);
            }
            block.decomposed.back(&mut step);
            let (mut gain, mut is_whole) = (0.0, block.decomposed.definite);
            for (&parameter, &step) in block.moving.iter().zip(&step) {
                let (x, (low, high)) = (to[parameter].to_f64(), self.bounds(parameter));
                let wanted = x + step;
                is_whole &= (low..=high).contains(&wanted);
                let there = if block.decomposed.definite { wanted.clamp(low, high) } else { x };
                to[parameter] = T::nearest(there);
                let moved = to[parameter].to_f64() - x;
                gain += moved * (added(nth, parameter) * moved + sums.gradient(parameter));
            }
            for (&parameter, (&x, &moved)) in self.shared.iter().zip(at.iter().zip(&moved)) {
                to[parameter] = T::nearest(x + moved);
            }
            (gain, is_whole, !block.moving.is_empty())
        };
        let mut points = state.points.clone();
        let of_chunk = |(chunk, points): (usize, &mut [T])| {
            let sets = points.chunks_mut(count).enumerate();
            sets.map(|(nth, to)| step_of(chunk * CHUNK + nth, to)).fold(
                (0.0, true, false),
                |(gain, whole, any), (more, is_whole, moves)| {
                    (gain + more, whole & is_whole, any | moves)
                },
            )
        };
        let chunks: Vec<(f64, bool, bool)> = self
            .cpu
            .install(|| points.par_chunks_mut(CHUNK * count).enumerate().map(of_chunk).collect());
        let mut any = !moving.is_empty();
        for (more, whole, moves) in chunks {
            gain += more;
            is_whole &= whole;
            any |= moves;
        }
        let trial =
            State { sets: state.sets.clone(), points, sums: Vec::new(), total: f64::INFINITY };
        any.then_some((trial, if is_whole { gain } else { f64::INFINITY }))
    }

    /// What is shared is not known if no data set takes part.
    fn forget(&self, room: &mut Room<T>) {
        for row in room.numbers.numbers_mut().chunks_exact_mut(self.job.width()) {
            for &parameter in &self.shared {
                row[parameter] = T::nearest(f64::NAN);
                row[self.count + parameter] = T::nearest(f64::NAN);
            }
        }
    }

    /// The least pivot, as a share of what stood there, by which a data set tells its parameters apart.
    fn least() -> f64 {
        if size_of::<T>() == 4 { 2e-6 } else { 1e-13 }
    }

    /// Whether a parameter is between its bounds, whatever the gradient says.
    fn is_inside(&self, parameter: usize, x: f64) -> bool {
        let (low, high) = self.bounds(parameter);
        low < x && x < high
    }

    /// The shared parameters between their bounds, by their places among the shared ones.
    fn shared_inside(&self, state: &State<T>) -> Vec<usize> {
        let at = self.shared_of(state);
        (0..at.len()).filter(|&nth| self.is_inside(self.shared[nth], at[nth])).collect()
    }

    /// A data set's own parameters between their bounds.
    fn own_inside(&self, state: &State<T>, nth: usize) -> Vec<usize> {
        let point = &state.points[nth * self.count..][..self.count];
        let own = self.own.iter().copied();
        own.filter(|&parameter| self.is_inside(parameter, point[parameter].to_f64())).collect()
    }

    /// A data set's block of its own parameters between their bounds.
    fn block_inside(&self, state: &State<T>, nth: usize) -> Block {
        let (sums, moving) = (self.sums(state, nth), self.own_inside(state, nth));
        let block = self.eliminate(sums, moving.clone(), Self::least(), |_| 0.0);
        if block.is_told {
            return block;
        }
        // What the others leave of the border is the same with a little on the diagonal.
        let added = |parameter| Self::floor() * sums.matrix(parameter, parameter).max(1e-300);
        let mut block = self.eliminate(sums, moving, 0.0, added);
        block.is_told = false;
        block
    }

    /// What the data sets' parameters between their bounds leave of the border.
    fn border_inside(&self, state: &State<T>) -> Border {
        self.over_sets(state, |nth, border| {
            self.leaves(self.sums(state, nth), &self.block_inside(state, nth), border);
        })
    }

    /// Writes what a descent found into the room for results.
    fn write(&self, fitted: &Fitted<T>, room: &mut Room<T>) {
        let Fitted { state, end, iterations, .. } = fitted;
        let count = self.count;
        let width = self.job.width();
        let size = self.shared.len();
        let at = self.shared_of(state);
        let (border, moving) = (self.border_inside(state), self.shared_inside(state));
        let whole = |nth: usize| -> f64 {
            let of = |set| self.sums(state, set).matrix(self.shared[nth], self.shared[nth]);
            (0..state.sets.len()).map(of).sum()
        };
        let decomposed =
            Decomposed::of(moving.len(), 0.0, |i, j| border.matrix[moving[i] * size + moving[j]]);
        let is_told = |(place, &nth): (usize, &usize)| {
            let pivot = decomposed.lower[place * moving.len() + place].powi(2);
            pivot > 10.0 * Self::least() * whole(nth)
        };
        let determined = decomposed.definite && moving.iter().enumerate().all(is_told);

        let rows: f64 = (0..state.sets.len()).map(|nth| self.sums(state, nth).rows()).sum();
        let of_own: usize =
            (0..state.sets.len()).map(|nth| self.own_inside(state, nth).len()).sum();
        let freedom = rows - (of_own + moving.len()) as f64;
        let settings = &self.job.settings;
        let is_robust = is_robust(&settings.estimator);
        let unit = match settings.absolute {
            _ if is_robust => f64::NAN,
            0 if freedom > 0.0 => state.total / freedom,
            0 => f64::NAN,
            _ => 1.0,
        };
        let mut shared_errors = vec![f64::NAN; size];
        for (place, &nth) in moving.iter().enumerate() {
            let mut column = vec![0.0; moving.len()];
            column[place] = 1.0;
            decomposed.forward(&mut column);
            let variance = column.iter().map(|x| x * x).sum::<f64>();
            shared_errors[nth] = match (is_robust, determined) {
                (true, _) => f64::NAN,
                (false, false) => f64::INFINITY,
                (false, true) => (variance * unit).sqrt(),
            };
        }
        let numbers = room.numbers.numbers_mut();
        for row in numbers.chunks_exact_mut(width) {
            for (nth, &parameter) in self.shared.iter().enumerate() {
                row[parameter] = T::nearest(at[nth]);
                row[count + parameter] = T::nearest(shared_errors[nth]);
            }
        }
        let words = room.words.numbers_mut();
        for (nth, &set) in state.sets.iter().enumerate() {
            let row = &mut numbers[set * width..][..width];
            let (sums, block) = (self.sums(state, nth), self.block_inside(state, nth));
            row[..count].copy_from_slice(&state.points[nth * count..][..count]);
            for &parameter in &self.own {
                row[count + parameter] = T::nearest(f64::NAN);
            }
            let own = block.moving.len();
            // The columns of the border times the inverse of the block: by how much each follows what is shared.
            let follows: Vec<f64> = (0..size)
                .flat_map(|shared| {
                    let mut column = block.border[shared * own..][..own].to_vec();
                    block.decomposed.back(&mut column);
                    column
                })
                .collect();
            for (place, &parameter) in block.moving.iter().enumerate() {
                let mut column = vec![0.0; own];
                column[place] = 1.0;
                block.decomposed.forward(&mut column);
                let alone = column.iter().map(|x| x * x).sum::<f64>();
                let mut along: Vec<f64> =
                    moving.iter().map(|&shared| follows[shared * own + place]).collect();
                decomposed.forward(&mut along);
                let by_shared = along.iter().map(|x| x * x).sum::<f64>();
                let error = match (is_robust, block.is_told && determined) {
                    (true, _) => f64::NAN,
                    (false, false) => f64::INFINITY,
                    (false, true) => ((alone + by_shared) * unit).sqrt(),
                };
                row[count + parameter] = T::nearest(error);
            }
            row[2 * count] = T::nearest(sums.value());
            let end = match block.is_told && determined {
                true => *end,
                false => End::Undetermined,
            };
            words[set * WORDS..][..WORDS].copy_from_slice(&[
                end as u32,
                *iterations,
                sums.rows() as u32,
            ]);
        }
    }
}

/// The covariance matrices of all data sets, row by row: see [`Many::covariances`].
pub(super) fn covariances<T: Number>(
    many: &Many<T>,
    cpu: &Cpu,
    (estimates, errors): (&[T], &[T]),
) -> Result<Vec<T>> {
    let known = many.known();
    let places = many.starting_points(known.as_deref())?;
    let job = many.job(&places, known.as_deref())?;
    let joint = Joint::new(cpu, &job, &many.numbers_of_shared());
    let count = joint.count;
    let mut covariances = vec![T::nearest(f64::NAN); errors.len() * count];

    // Those that were fitted.
    let of = |set: usize| &estimates[set * count..][..count];
    let is_fitted = |&set: &usize| of(set).iter().all(|x| x.to_f64().is_finite());
    let at = |sets: Vec<usize>| {
        let points = sets.iter().flat_map(|&set| of(set)).copied().collect();
        joint.summed(State { sets, points, sums: Vec::new(), total: f64::INFINITY })
    };
    let mut state = at((0..estimates.len() / count).filter(is_fitted).collect());
    if !state.total.is_finite() {
        let is_finite = |(nth, &set)| joint.sums(&state, nth).value().is_finite().then_some(set);
        state = at(state.sets.iter().enumerate().filter_map(is_finite).collect());
    }
    if state.sets.is_empty() {
        return Ok(covariances);
    }

    let (border, shared) = (joint.border_inside(&state), joint.shared_inside(&state));
    let size = joint.shared.len();
    let of_set = |nth: usize| {
        let block = joint.block_inside(&state, nth);
        let own = block.moving.len();
        let moving: Vec<usize> = block
            .moving
            .iter()
            .copied()
            .chain(shared.iter().map(|&nth| joint.shared[nth]))
            .collect();
        // With all other data sets eliminated, what is shared has the border, and what this one takes of it.
        let sums = joint.sums(&state, nth);
        let column = |nth: usize| &block.border[nth * own..][..own];
        let decomposed = Decomposed::of(moving.len(), 0.0, |i, j| {
            if j < own {
                return sums.matrix(moving[i], moving[j]);
            }
            let (i, j) = (shared[i - own], shared[j - own]);
            let taken: f64 = column(i).iter().zip(column(j)).map(|(a, b)| a * b).sum();
            border.matrix[i * size + j] + taken
        });
        // The columns of L^-1, of which products make the inverse.
        let columns = |place: usize| {
            let mut column = vec![0.0; moving.len()];
            column[place] = 1.0;
            decomposed.forward(&mut column);
            column
        };
        let columns: Vec<Vec<f64>> = (0..moving.len()).map(columns).collect();
        let product = |i: usize, j: usize| -> f64 {
            columns[i].iter().zip(&columns[j]).map(|(a, b)| a * b).sum()
        };
        let errors = &errors[state.sets[nth] * count..][..count];
        let place = |parameter: usize| moving.iter().position(|&one| one == parameter);
        let of = |row: usize, other: usize| {
            let deviations = errors[row].to_f64() * errors[other].to_f64();
            match (place(row), place(other)) {
                _ if row == other || deviations == 0.0 => deviations,
                (Some(i), Some(j)) if deviations.is_finite() => {
                    product(i, j) / (product(i, i) * product(j, j)).sqrt() * deviations
                }
                _ => f64::NAN,
            }
        };
        let rows = (0..count).flat_map(|row| (0..count).map(move |other| (row, other)));
        rows.map(|(row, other)| T::nearest(of(row, other))).collect::<Vec<T>>()
    };
    let all: Vec<Vec<T>> =
        cpu.install(|| (0..state.sets.len()).into_par_iter().map(of_set).collect());
    for (&set, numbers) in state.sets.iter().zip(&all) {
        covariances[set * count * count..][..count * count].copy_from_slice(numbers);
    }
    Ok(covariances)
}

/// The median of some numbers; the lower one of two.
fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_unstable_by(f64::total_cmp);
    numbers[(numbers.len() - 1) / 2]
}
