//! Lanes on the CPU: a thread each.

use flockwork_device::{
    search::{
        State,
        area::Area,
        lane,
        schedule::{Limits, Schedule},
        team::Alone,
        words::Cells,
    },
    swarm::{
        layout::{TILE, index},
        view::View,
    },
};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Cpu, Evaluator, Judged, WORTH_SHARING, dispatched};
use crate::{
    Result,
    backend::{
        Function, Number, Plan, check_function,
        lanes::{Head, Lanes, kept, layout, numbers, state},
    },
    memory,
};

pub struct CpuLanes {
    cpu: Cpu,
    evaluator: Box<dyn Evaluator<f64>>,
    plan: Plan<f64>,
    schedule: Schedule,
    lanes: Vec<Vec<f64>>,
}

impl CpuLanes {
    pub fn new(
        cpu: Cpu,
        function: &dyn Function,
        plan: Plan<f64>,
        schedule: Schedule,
    ) -> Result<Self> {
        check_function(&plan, function)?;
        memory::check(numbers(&schedule, 0..schedule.lanes) * size_of::<f64>() as u128)?;
        let lanes = (0..schedule.lanes)
            .map(|lane| memory::zeroed(layout(&schedule, lane).length() as usize))
            .collect::<Result<_>>()?;
        let evaluator = f64::of_function(function).evaluator(cpu.simd());
        Ok(Self { cpu, evaluator, plan, schedule, lanes })
    }
}

impl Lanes for CpuLanes {
    fn advance(&mut self, limits: &Limits, goes_on: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        let (simd, schedule) = (self.cpu.simd(), &self.schedule);
        let evaluator = &*self.evaluator;
        // SAFETY: the plan lives and stays as it is until the end of this function.
        let view = unsafe { self.plan.view_here() };
        let terms = evaluator.terms(&view).max(schedule.dims as usize);
        let all = AtomicBool::new(true);
        let lanes = &mut self.lanes;
        let run = |(lane, words): (usize, &mut Vec<f64>)| {
            let lane = lane as u32;
            let state = state(layout(schedule, lane), words);
            let mut scratch = Scratch::default();
            let mut evaluate = |state: State<Cells<'_>>, count: u32| {
                scratch.evaluate(evaluator, &view, state, count as usize, terms);
                let goes_on = goes_on();
                if !goes_on {
                    all.store(false, Ordering::Relaxed);
                }
                goes_on
            };
            let evaluate = &mut evaluate;
            let job = Job { state, view: &view, schedule, lane, limits, evaluate };
            run_lane(simd, job);
        };
        // What wants all points at once is called by one lane after the other, and in this thread, which is
        // the caller's: it may use the pool's, which must not wait for another call meanwhile.
        match evaluator.at_once() {
            true => lanes.iter_mut().enumerate().for_each(run),
            false => self.cpu.install(|| lanes.par_iter_mut().enumerate().for_each(run)),
        }
        Ok(all.into_inner())
    }

    fn heads(&mut self) -> Result<Vec<Head>> {
        let lanes = (0..).zip(&self.lanes);
        Ok(lanes.map(|(lane, words)| Head::of(layout(&self.schedule, lane), words)).collect())
    }

    fn snapshot(&mut self) -> Result<Vec<Vec<f64>>> {
        let lanes = (0..).zip(&self.lanes);
        let kept =
            lanes.map(|(lane, words)| words[..kept(layout(&self.schedule, lane), words)].to_vec());
        Ok(kept.collect())
    }

    fn restore(&mut self, lanes: &[Vec<f64>]) -> Result<()> {
        for (words, kept) in self.lanes.iter_mut().zip(lanes) {
            words[..kept.len()].copy_from_slice(kept);
        }
        Ok(())
    }
}

/// A tile's values, and where its points are turned.
type Tile = ([f64; TILE], Vec<f64>);

/// Where a generation is copied to be evaluated.
#[derive(Default)]
struct Scratch {
    points: Vec<f64>,
    tiles: Vec<Tile>,
}

impl Scratch {
    /// Evaluates the first points of a lane.
    fn evaluate(
        &mut self,
        evaluator: &dyn Evaluator<f64>,
        view: &View<f64>,
        state: State<Cells<'_>>,
        count: usize,
        terms: usize,
    ) {
        let (layout, rows) = (state.layout, TILE * view.dims as usize);
        let first = layout.points() as usize;
        if evaluator.at_once() {
            let dims = view.dims as usize;
            let read = |slots: &[usize], points: &mut [f64]| {
                for (&slot, point) in slots.iter().zip(points.chunks_exact_mut(dims)) {
                    let words = &state.words.0[first + index(slot, 0, dims)..];
                    for (x, word) in point.iter_mut().zip(words.iter().step_by(TILE)) {
                        *x = word.get();
                    }
                }
            };
            let mut values = vec![f64::INFINITY; count];
            evaluator.evaluate_all(view, &mut (0..count), &read, &mut values);
            for (place, value) in state.words.0[layout.values() as usize..].iter().zip(values) {
                place.set(value);
            }
            return;
        }
        // Of a function that takes long each thread gets an equal share, though it be a part of a tile.
        let threads = rayon::current_num_threads();
        let is_costly = terms >= WORTH_SHARING && threads > 1;
        let each = if is_costly { count.div_ceil(threads).min(TILE) } else { TILE };
        let tiles = count.div_ceil(each);
        let word = |place: usize| state.words.0[first + place].get();
        self.points.clear();
        if each == TILE {
            self.points.extend((0..tiles * rows).map(word));
        } else {
            self.points.resize(tiles * rows, 0.0);
            for point in 0..count {
                let (from, to) = (index(point, 0, view.dims as usize), point / each * rows);
                for d in 0..view.dims as usize {
                    self.points[to + d * TILE + point % each] = word(from + d * TILE);
                }
            }
        }
        self.tiles.resize_with(tiles, || ([0.0; TILE], Vec::new()));
        let work = |(nth, (positions, (fitness, image))): (usize, (&[f64], &mut Tile))| {
            let particles = (count - nth * each).min(each);
            evaluator.evaluate(view, Judged { positions, particles, fitness, image });
        };
        let shared = tiles > 1 && count * terms >= WORTH_SHARING;
        if shared {
            let positions = self.points.par_chunks_exact(rows);
            positions.zip(&mut self.tiles).enumerate().for_each(work);
        } else {
            let positions = self.points.chunks_exact(rows);
            positions.zip(&mut self.tiles).enumerate().for_each(work);
        }
        let values = self.tiles.iter().flat_map(|(fitness, _)| &fitness[..each]);
        for (place, &value) in state.words.0[layout.values() as usize..][..count].iter().zip(values)
        {
            place.set(value);
        }
    }
}

/// One lane's round.
struct Job<'a> {
    state: State<Cells<'a>>,
    view: &'a View<f64>,
    schedule: &'a Schedule,
    lane: u32,
    limits: &'a Limits,
    evaluate: &'a mut dyn FnMut(State<Cells<'_>>, u32) -> bool,
}

dispatched! {
    /// Runs one lane.
    fn run_lane<>(job: Job<'_>) => run_inlined
}

#[inline(always)]
fn run_inlined(job: Job<'_>) {
    let Job { state, view, schedule, lane, limits, evaluate } = job;
    // SAFETY: the view is that of a plan, which has bounds for each dimension.
    let area = unsafe { Area::new(view) };
    // All points of a generation are one batch.
    lane::run(Alone, state, area, schedule, lane, limits, |_, state, batch| {
        evaluate(state, batch.count)
    });
}
