//! Many fits on a CPU: a fit in each SIMD lane, and chunks of fits on each thread.
//!
//! Where the data sets have the same arguments, lanes are data sets; where each has its own, lanes are
//! starting points of one data set. A lane whose descent has ended takes the next.

use std::time::Instant;

use rayon::prelude::*;

use flockwork_device::{
    fit::{
        kernels::many::{WORDS, placed},
        many::{Bounds, Descent, End, Normal, STRANDS, Settings, hopeless},
    },
    math::{Dual, Lanes, Real},
};

use super::{
    Job, Watch,
    held::Room,
    model::{Pass, Side, WIDE},
};
use crate::{
    Result,
    backend::{Cpu, Number, Simd, in_each, narrow},
};

/// Data sets that a thread takes at a time, but for those with many starting points.
const CHUNK: usize = 4 * WIDE;
/// Descents that it takes at a time at most, or those of one data set: a run ends only between chunks.
const DESCENTS: usize = 16 * CHUNK;
/// How long a round between two looks at the watch should take, in seconds.
const ROUND: f64 = 0.1;

pub(super) fn solve<T: Number>(
    cpu: &Cpu,
    job: &Job<'_, T>,
    room: &mut Room<T>,
    watch: &mut Watch<'_>,
) -> Result<()> {
    T::in_each::<Solve>((cpu, job, room, watch))
}

in_each! {
    Solve<'a, T>: fn(
        cpu: &'a Cpu,
        job: &'a Job<'a, T>,
        room: &'a mut Room<T>,
        watch: &'a mut Watch<'a>,
    ) -> Result<()> = solve_in
}

fn solve_in<T: Number>(
    cpu: &Cpu,
    job: &Job<'_, T>,
    room: &mut Room<T>,
    watch: &mut Watch<'_>,
) -> Result<()> {
    let (sets, width) = (job.stack.sets(), job.width());
    let (numbers, words) = (room.numbers.numbers_mut(), room.words.numbers_mut());
    numbers.fill(T::nearest(f64::NAN));
    words.fill(End::NotFitted as u32);
    let at_once = (DESCENTS / job.starts.max(1) as usize).clamp(1, CHUNK);
    let chunks = numbers.chunks_mut(at_once * width).zip(words.chunks_mut(at_once * WORDS));
    let mut chunks: Vec<_> = chunks.enumerate().collect();
    let mut round = cpu.pool().current_num_threads();
    let mut done = 0;
    let mut left = &mut chunks[..];
    while !left.is_empty() {
        let (some, others) = left.split_at_mut(round.min(left.len()));
        left = others;
        let begun = Instant::now();
        cpu.install(|| {
            some.par_iter_mut().for_each(|(nth, (numbers, words))| {
                let chunk = Chunk { simd: cpu.simd(), job, first: *nth * at_once };
                match job.settings.parameters {
                    ..=8 => chunk.run::<8>(numbers, words),
                    _ => chunk.run::<32>(numbers, words),
                }
            });
        });
        if begun.elapsed().as_secs_f64() < ROUND {
            round *= 2;
        }
        done += some.iter().map(|(_, (_, words))| words.len() / WORDS).sum::<usize>();
        if watch(done, sets).is_break() {
            break;
        }
    }
    Ok(())
}

in_each! {
    Linearise<'a, T>: fn(
        cpu: &'a Cpu,
        job: &'a Job<'a, T>,
        sets: &'a [usize],
        points: &'a [T],
        sums: &'a mut [T],
    ) -> () = sums_in
}

/// The sums over the rows of some data sets, each at a point of its own, one after the other: `sums` gets the
/// value of each, its gradient, its matrix's rows up to the diagonal, and the number of rows ([`sums_width`]).
pub(super) fn sums<T: Number>(
    cpu: &Cpu,
    job: &Job<'_, T>,
    sets: &[usize],
    points: &[T],
    sums: &mut [T],
) {
    T::in_each::<Linearise>((cpu, job, sets, points, sums));
}

/// Numbers that [`sums`] gives of a data set.
pub(super) fn sums_width(parameters: usize) -> usize {
    2 + parameters + parameters * (parameters + 1) / 2
}

fn sums_in<T: Number>(cpu: &Cpu, job: &Job<'_, T>, sets: &[usize], points: &[T], sums: &mut [T]) {
    let count = job.settings.parameters as usize;
    let width = sums_width(count);
    cpu.install(|| {
        let points = points.par_chunks(CHUNK * count);
        let chunks = sets.par_chunks(CHUNK).zip(points).zip(sums.par_chunks_mut(CHUNK * width));
        chunks.for_each(|((sets, points), sums)| match count {
            ..=8 => sums_of::<T, 8>(cpu.simd(), job, (sets, points), sums),
            _ => sums_of::<T, 32>(cpu.simd(), job, (sets, points), sums),
        });
    });
}

/// Of a chunk, a data set in each lane, or one after the other if each has its own arguments.
fn sums_of<T: Number, const C: usize>(
    simd: Simd,
    job: &Job<'_, T>,
    (sets, points): (&[usize], &[T]),
    sums: &mut [T],
) {
    let (stack, count) = (job.stack, job.settings.parameters as usize);
    let (rows, width) = (stack.rows(), sums_width(count));
    let zero = Lanes([T::ZERO; WIDE]);
    let mut targets = vec![zero; rows];
    let mut weights = vec![zero; if stack.weights(0).is_empty() { 0 } else { rows }];
    let mut gaps = vec![false; rows];
    let mut block = vec![zero; rows * (count + 1)];
    let mut point = [zero; C];
    let mut strands = Box::new([Normal::<Side<T>, C>::none(); STRANDS]);
    let together = if stack.own_arguments { 1 } else { WIDE };
    let chunks = sets.chunks(together).zip(points.chunks(together * count));
    for ((sets, points), sums) in chunks.zip(sums.chunks_mut(together * width)) {
        // Lanes beyond the last do as the first.
        for lane in 0..WIDE {
            let nth = if lane < sets.len() { lane } else { 0 };
            for (to, &number) in point.iter_mut().zip(&points[nth * count..][..count]) {
                to.0[lane] = number;
            }
            for (to, &target) in targets.iter_mut().zip(stack.targets(sets[nth])) {
                to.0[lane] = target;
            }
            for (to, &weight) in weights.iter_mut().zip(stack.weights(sets[nth])) {
                to.0[lane] = weight;
            }
        }
        mark_gaps(&targets, &weights, &mut gaps);
        let pass = Pass {
            shape: &job.shape,
            rows,
            arguments: stack.arguments(sets[0]),
            lanes: std::array::from_fn(|lane| lane < sets.len()),
            point: &point[..count],
            block: &mut block,
        };
        job.model.linearise(simd, pass);
        let table = Table { targets: &targets, weights: &weights, gaps: &gaps, block: &block };
        judge(simd, &job.settings, &table, &mut strands);
        let normal = &strands[0];
        for (lane, sums) in sums.chunks_mut(width).enumerate() {
            let matrix = (0..count).flat_map(|i| (0..=i).map(move |j| &normal.matrix[i][j]));
            let value = std::iter::once(&normal.value);
            let all = value.chain(&normal.gradient[..count]).chain(matrix).chain([&normal.rows]);
            for (to, of) in sums.iter_mut().zip(all) {
                *to = of.0[lane];
            }
        }
    }
}

/// Marks the rows that are left out in some lane.
fn mark_gaps<T: Number>(targets: &[Side<T>], weights: &[Side<T>], gaps: &mut [bool]) {
    for (row, gap) in gaps.iter_mut().enumerate() {
        let missing = targets[row].0.iter().any(|target| target.to_f64().is_nan());
        let off = weights.get(row).is_some_and(|w| !w.0.iter().all(|&w| w > T::ZERO));
        *gap = missing || off;
    }
}

/// The bounds of all fits.
struct Limits<'a, T>(&'a [T]);

impl<T: Number> Limits<'_, T> {
    fn pair(&self, parameter: usize) -> (T, T) {
        (self.0[2 * parameter], self.0[2 * parameter + 1])
    }
}

impl<T: Number> Bounds<Side<T>> for Limits<'_, T> {
    #[inline(always)]
    fn of(&self, parameter: usize) -> (Side<T>, Side<T>) {
        let (low, high) = self.pair(parameter);
        (Lanes([low; WIDE]), Lanes([high; WIDE]))
    }
}

/// Some consecutive data sets.
struct Chunk<'a, T: Number> {
    simd: Simd,
    job: &'a Job<'a, T>,
    first: usize,
}

/// A descent to be made: of a data set of the chunk, from a starting point.
#[derive(Clone, Copy)]
struct Item {
    set: usize,
    start: u32,
}

/// The best of a data set's descents.
struct Best<T> {
    value: T,
    start: u32,
    parameters: Vec<T>,
}

/// What became of a descent.
struct Ended<T, const C: usize> {
    value: T,
    parameters: [T; C],
    errors: [T; C],
    end: u32,
    iterations: u32,
    rows: u32,
    given_up: bool,
}

impl<T: Number> Chunk<'_, T> {
    fn run<const C: usize>(&self, numbers: &mut [T], words: &mut [u32]) {
        let Self { job, .. } = self;
        let (count, width) = (job.settings.parameters as usize, job.width());
        let sets = words.len() / WORDS;
        let mut store = |set: usize, ended: &Ended<T, C>| {
            let to = &mut numbers[set * width..][..width];
            for parameter in 0..count {
                let unknown = ended.given_up && job.settings.is_free(parameter);
                let nan = T::nearest(f64::NAN);
                to[parameter] = if unknown { nan } else { ended.parameters[parameter] };
                to[count + parameter] = ended.errors[parameter];
            }
            to[2 * count] = ended.value;
            words[set * WORDS..][..WORDS].copy_from_slice(&[
                ended.end,
                ended.iterations,
                ended.rows,
            ]);
        };
        // Descents from all starting points, of which the best is kept.
        let mut best: Vec<Option<Best<T>>> = (0..sets).map(|_| None).collect();
        let mut given_up = vec![false; sets];
        if job.is_several() {
            let items =
                (0..sets).flat_map(|set| (0..job.starts).map(move |start| Item { set, start }));
            let begin = |item: Item| self.start::<C>(self.first + item.set, item.start);
            self.descend::<C>(&job.search, job.searches, items, &begin, &mut |item, ended| {
                if ended.given_up {
                    given_up[item.set] = true;
                    store(item.set, ended);
                }
                let Item { set, start } = item;
                let is_better = best[set].as_ref().is_none_or(|best| {
                    ended.value < best.value || ended.value == best.value && start < best.start
                });
                if ended.value < T::INFINITY && is_better {
                    let parameters = ended.parameters[..count].to_vec();
                    best[set] = Some(Best { value: ended.value, start, parameters });
                }
            });
        }
        let items = (0..sets).filter(|&set| !given_up[set]).map(|set| Item { set, start: 0 });
        let begin = |item: Item| {
            let mut point = [T::ZERO; C];
            match &best[item.set] {
                Some(best) => point[..count].copy_from_slice(&best.parameters),
                None => point = self.start::<C>(self.first + item.set, 0),
            }
            point
        };
        self.descend::<C>(&job.settings, false, items, &begin, &mut |item, ended| {
            store(item.set, ended);
        });
    }

    /// A starting point of a data set.
    fn start<const C: usize>(&self, set: usize, start: u32) -> [T; C] {
        let job = self.job;
        let count = job.settings.parameters as usize;
        let first = if job.own_begin { set * job.starts as usize } else { 0 };
        let numbers = &job.begin.numbers()[(first + start as usize) * count..][..count];
        let of_set = if job.own_boxes { set * 2 * count } else { 0 };
        let mut point = [T::ZERO; C];
        for (parameter, &number) in numbers.iter().enumerate() {
            let at = of_set + 2 * parameter;
            let place = job.searches.then(|| (job.boxes[at], job.boxes[at + 1]));
            point[parameter] = placed(number, place, Limits(&job.bounds).pair(parameter));
        }
        point
    }

    /// Makes descents, as many at a time as there are lanes.
    fn descend<const C: usize>(
        &self,
        settings: &Settings<T>,
        eliminates: bool,
        items: impl Iterator<Item = Item>,
        begin: &dyn Fn(Item) -> [T; C],
        done: &mut dyn FnMut(Item, &Ended<T, C>),
    ) {
        let (job, stack) = (self.job, self.job.stack);
        let (rows, count) = (stack.rows(), settings.parameters as usize);
        let mut items = items.peekable();
        let mut lanes: [Option<Item>; WIDE] = [None; WIDE];
        let mut is_first = [false; WIDE];
        let zero = Lanes([T::ZERO; WIDE]);
        let eliminates = Lanes([T::of(if eliminates { 1.0 } else { 0.0 }); WIDE]);
        let mut descent = Descent::<Side<T>, C>::from([zero; C], eliminates);
        let mut targets = vec![zero; rows];
        let mut weights = vec![zero; if stack.weights(0).is_empty() { 0 } else { rows }];
        // Rows that are left out in some lane.
        let mut gaps = vec![false; rows];
        let mut block = vec![zero; rows * (count + 1)];
        let mut common = None;
        // Too large for a stack.
        let mut strands = Box::new([Normal::<Side<T>, C>::none(); STRANDS]);
        loop {
            // Lanes that are free take the next items, all of one data set if it has its own arguments.
            let mut fresh = descent;
            let mut taken = zero;
            for lane in 0..WIDE {
                if lanes[lane].is_some() {
                    continue;
                }
                let busy = lanes.iter().any(Option::is_some);
                let fits = |item: &Item| !stack.own_arguments || !busy || common == Some(item.set);
                let Some(item) = items.next_if(fits) else { continue };
                common = Some(item.set);
                lanes[lane] = Some(item);
                is_first[lane] = true;
                taken.0[lane] = T::of(1.0);
                let set = self.first + item.set;
                for (to, &target) in targets.iter_mut().zip(stack.targets(set)) {
                    to.0[lane] = target;
                }
                for (to, &weight) in weights.iter_mut().zip(stack.weights(set)) {
                    to.0[lane] = weight;
                }
                let point = begin(item);
                for (to, number) in fresh.parameters.iter_mut().zip(point) {
                    to.0[lane] = number;
                }
            }
            if taken.0.contains(&T::of(1.0)) {
                let started = Descent::from(fresh.parameters, eliminates);
                descent = started.chosen(taken, &descent);
                mark_gaps(&targets, &weights, &mut gaps);
            }
            let Some(set) = common.filter(|_| lanes.iter().any(Option::is_some)) else { return };

            let arguments = stack.arguments(self.first + set);
            let pass = Pass {
                shape: &job.shape,
                rows,
                arguments,
                lanes: std::array::from_fn(|lane| lanes[lane].is_some()),
                point: &descent.trial[..count],
                block: &mut block,
            };
            job.model.linearise(self.simd, pass);
            let table = Table { targets: &targets, weights: &weights, gaps: &gaps, block: &block };
            judge(self.simd, settings, &table, &mut strands);
            let normal = &strands[0];
            let limits = Limits(&job.bounds);
            let given_up = match is_first.contains(&true) {
                true => hopeless(normal, settings),
                false => zero,
            };
            let mut ends = zero;
            advance(self.simd, &mut descent, normal, settings, &limits, &mut ends);
            for (lane, first) in is_first.iter_mut().enumerate() {
                if *first && given_up.0[lane] != T::ZERO {
                    ends.0[lane] = given_up.0[lane];
                }
            }
            let some = (0..WIDE).any(|lane| lanes[lane].is_some() && ends.0[lane] != T::ZERO);
            if some {
                let mut told = ([zero; C], zero);
                let at = (ends, normal.rows);
                errors(self.simd, &descent, at, settings, &limits, &mut told);
                let (errors, words) = told;
                for lane in 0..WIDE {
                    let Some(item) = lanes[lane].filter(|_| ends.0[lane] != T::ZERO) else {
                        continue;
                    };
                    let given_up = is_first[lane] && given_up.0[lane] != T::ZERO;
                    let value = descent.value.0[lane];
                    let known = !given_up && value < T::INFINITY;
                    let nan = T::nearest(f64::NAN);
                    let of = |numbers: &[Side<T>; C]| numbers.map(|number| number.0[lane]);
                    let ended = Ended {
                        value: if given_up { nan } else { value },
                        parameters: of(&descent.parameters),
                        errors: if known { of(&errors) } else { [nan; C] },
                        end: (if known { words } else { ends }).0[lane].to_u32(),
                        iterations: if given_up { 0 } else { descent.iterations.0[lane].to_u32() },
                        rows: normal.rows.0[lane].to_u32(),
                        given_up,
                    };
                    done(item, &ended);
                    lanes[lane] = None;
                }
            }
            is_first = [false; WIDE];
        }
    }
}

/// What a pass over the rows is judged by.
struct Table<'a, T: Number> {
    targets: &'a [Side<T>],
    weights: &'a [Side<T>],
    gaps: &'a [bool],
    /// For each row the prediction and its derivatives.
    block: &'a [Side<T>],
}

narrow! {
    fn judge<T: Number; const C>(
        settings: &Settings<T>,
        table: &Table<'_, T>,
        strands: &mut [Normal<Side<T>, C>; STRANDS],
    ) => judge_inlined
}

/// The sums over all rows, in the defined order: in the first strand.
#[inline(always)]
fn judge_inlined<T: Number, const C: usize>(
    settings: &Settings<T>,
    table: &Table<'_, T>,
    strands: &mut [Normal<Side<T>, C>; STRANDS],
) {
    let Table { targets, weights, gaps, block } = *table;
    let (count, one) = (settings.parameters as usize, Lanes([T::of(1.0); WIDE]));
    let mut slope = [Lanes([T::ZERO; WIDE]); C];
    for (strand, normal) in strands.iter_mut().enumerate() {
        normal.clear(count);
        for row in (strand..targets.len()).step_by(STRANDS) {
            let predicted = &block[row * (count + 1)..][..=count];
            slope[..count].copy_from_slice(&predicted[1..]);
            let prediction = Dual { value: predicted[0], slope };
            let weight = weights.get(row).copied().unwrap_or(one);
            if !gaps[row] {
                normal.add(&settings.estimator, targets[row], prediction, weight, count);
                continue;
            }
            let mut present = one;
            for lane in 0..WIDE {
                let (target, weight) = (targets[row].0[lane], weight.0[lane]);
                if target.to_f64().is_nan() || weight <= T::ZERO {
                    present.0[lane] = T::ZERO;
                }
            }
            let before = *normal;
            normal.add(&settings.estimator, targets[row], prediction, weight, count);
            *normal = normal.chosen(present, &before);
        }
    }
    combine(strands, count);
}

/// The strands' sums in the first, as lanes of a warp combine theirs.
#[inline(always)]
fn combine<V: Real, const C: usize>(strands: &mut [Normal<V, C>; STRANDS], count: usize) {
    let mut half = STRANDS / 2;
    while half > 0 {
        for strand in 0..half {
            let other = strands[strand + half];
            strands[strand].join(&other, count);
        }
        half /= 2;
    }
}

narrow! {
    fn advance<T: Number; const C>(
        descent: &mut Descent<Side<T>, C>,
        normal: &Normal<Side<T>, C>,
        settings: &Settings<T>,
        limits: &Limits<'_, T>,
        ends: &mut Side<T>,
    ) => advance_inlined
}

#[inline(always)]
fn advance_inlined<T: Number, const C: usize>(
    descent: &mut Descent<Side<T>, C>,
    normal: &Normal<Side<T>, C>,
    settings: &Settings<T>,
    limits: &Limits<'_, T>,
    ends: &mut Side<T>,
) {
    *ends = descent.advance(normal, settings, limits, settings.parameters as usize);
}

narrow! {
    fn errors<T: Number; const C>(
        descent: &Descent<Side<T>, C>,
        at: (Side<T>, Side<T>),
        settings: &Settings<T>,
        limits: &Limits<'_, T>,
        told: &mut ([Side<T>; C], Side<T>),
    ) => errors_inlined
}

#[inline(always)]
fn errors_inlined<T: Number, const C: usize>(
    descent: &Descent<Side<T>, C>,
    (ends, rows): (Side<T>, Side<T>),
    settings: &Settings<T>,
    limits: &Limits<'_, T>,
    told: &mut ([Side<T>; C], Side<T>),
) {
    *told = descent.errors(ends, rows, settings, limits, settings.parameters as usize);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_that_combine_as_a_warp_does_add_in_the_stated_order() {
        let strands: [f32; STRANDS] = std::array::from_fn(|n| 0.1 + 1.7_f32.powi(n as i32));
        let of = |value: f32| Normal::<f32, 1> { value, ..Normal::none() };
        let mut combined = strands.map(of);
        combine(&mut combined, 1);
        let [s0, s1, s2, s3, s4, s5, s6, s7] = strands;
        let stated = ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7));
        assert_eq!(combined[0].value.to_bits(), stated.to_bits());
    }
}
