//! A lane: one search after the other, as far as its evaluations reach.

use super::{
    area::Area,
    cmaes, line,
    schedule::{Limits, SHARE, Schedule, Turn},
    state::{
        BEGUN, BEST, CAP, EFFORT, ENDED, EVALUATIONS, GENERATION, IN_LARGE, IN_SMALL, INDEX,
        IS_PROBE, IS_SMALL, KEY_0, KEY_1, LANE_BEST, LARGE, LAST, LOG, LOGGED, OWN_EVALUATIONS,
        PHASE, POPULATION, Phase, RESULT, SIGMA, SMALLEST, SPREAD, State,
    },
    team::Team,
    words::Words,
};

/// What a generation costs besides its evaluations, in evaluations: so lanes with small and with
/// large populations take about the same time for the same effort. On one multiprocessor of an H200, in
/// 30 dimensions, a generation of 28 points takes 60,000 to 76,000 cycles and one of 1,792 points 1,350
/// for each.
pub const OVERHEAD: f64 = 32.0;

/// Points that are evaluated together.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// The first of them.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// Whether they lie in the lane's memory, whatever [`Team::scratch`] there is.
    pub in_memory: bool,
}

/// Runs a lane as far as the limits let it, or until its log is full. `evaluate` is called by all
/// threads: it stores the values of some of the lane's points, infinity for those that are no numbers,
/// begins and ends with a barrier, and says whether to go on after that generation.
///
/// The words of a new lane, which is number `lane`, are all zero.
#[inline(always)]
pub fn run<T: Team, W: Words>(
    team: T,
    state: State<W>,
    area: Area<'_>,
    schedule: &Schedule,
    lane: u32,
    limits: &Limits,
    mut evaluate: impl FnMut(T, State<W>, Batch) -> bool,
) {
    let is_new = state.get(BEGUN) == 0.0;
    team.barrier();
    if team.is_first() && is_new {
        state.set(BEGUN, 1.0);
        state.set(INDEX, f64::from(lane));
        state.set(SMALLEST, f64::from(Schedule::smallest(state.layout.dims)));
        state.set(LANE_BEST, f64::INFINITY);
    }
    if team.is_first() && limits.goes_on == 0 {
        // The host has taken the results of the last round.
        state.set(LOGGED, 0.0);
        state.set(CAP, state.get(EVALUATIONS) + limits.evaluations);
    }
    team.barrier();
    let mut goes_on = true;
    while goes_on {
        if state.count(PHASE) == Phase::Begin as u32 {
            if state.count(LOGGED) == LOG {
                return;
            }
            begin(team, state, area, schedule);
        }
        let phase = state.count(PHASE);
        if phase == Phase::Here as u32 || phase == Phase::Probe as u32 {
            cmaes::begin(team, state, phase == Phase::Probe as u32);
        }
        let along_axes = state.count(PHASE) == Phase::Line as u32;
        let count = if along_axes { line::batch(state) } else { state.count(POPULATION) };
        let evaluations = state.get(EVALUATIONS) + f64::from(count);
        if evaluations > state.get(CAP)
            || state.get(EFFORT) >= limits.effort
            || state.get(LANE_BEST) <= limits.target
        {
            return;
        }
        let (mut outside, mut first) = (false, 0);
        if along_axes {
            line::sample(team, state, area);
        }
        goes_on = true;
        while first < count {
            let here = (count - first).min(team.at_once());
            if !along_axes {
                outside |= cmaes::sample(team, state, area, first, here);
            }
            let batch = Batch { first, count: here, in_memory: along_axes };
            goes_on &= evaluate(team, state, batch);
            first += here;
        }
        if team.is_first() {
            state.set(EVALUATIONS, evaluations);
            state.set(EFFORT, state.get(EFFORT) + f64::from(count) + OVERHEAD);
        }
        if along_axes {
            let done = line::learn(team, state, area);
            note_best(team, state);
            if team.is_first() && done {
                state.set(SIGMA, line::DEVIATION);
                state.set(PHASE, f64::from(Phase::Here as u32));
            }
            team.barrier();
            continue;
        }
        cmaes::learn(team, state, area, outside, limits);
        note_best(team, state);
        let is_probe = state.get(IS_PROBE) == 1.0;
        let has_ended = state.get(ENDED) != 0.0;
        if is_probe && has_ended {
            cmaes::end_probe(team, state);
        } else if !is_probe && !has_ended {
            cmaes::prepare_probe(team, state);
        }
        if state.get(ENDED) != 0.0 {
            log(team, state, schedule);
        }
    }
}

/// Begins the search that is next: its seed, population and start. Collective; ends with a barrier.
#[inline(always)]
fn begin<W: Words>(team: impl Team, state: State<W>, area: Area<'_>, schedule: &Schedule) {
    let (layout, dims) = (state.layout, state.layout.dims);
    let is_small = state.get(IN_SMALL) < SHARE * state.get(IN_LARGE);
    let turn = if is_small {
        Turn::Small { last: state.count(LAST) }
    } else {
        Turn::Large(state.count(LARGE))
    };
    let plan = schedule.plan(state.count(INDEX), turn);
    team.each(dims, |d| state.set(layout.mean() + d, area.uniform(plan.key, d)));
    team.barrier();
    if team.is_first() {
        state.words.put_index(KEY_0, plan.key[0]);
        state.words.put_index(KEY_1, plan.key[1]);
        state.set(OWN_EVALUATIONS, 0.0);
        state.set(IS_SMALL, if is_small { 1.0 } else { 0.0 });
        state.set(BEST, f64::INFINITY);
        state.set(GENERATION, 0.0);
        state.set(POPULATION, f64::from(plan.population));
        state.set(SIGMA, plan.deviation);
        let phase = if plan.line { Phase::Line } else { Phase::Here };
        state.set(PHASE, f64::from(phase as u32));
    }
    team.barrier();
}

/// Logs the search that has ended. Collective; begins and ends with a barrier.
#[inline(always)]
fn log<W: Words>(team: impl Team, state: State<W>, schedule: &Schedule) {
    let (layout, dims) = (state.layout, state.layout.dims);
    let result = layout.log() + state.count(LOGGED) * (RESULT + dims);
    team.each(dims, |d| state.set(result + RESULT + d, state.get(layout.best() + d)));
    team.barrier();
    if team.is_first() {
        let index = state.count(INDEX);
        state.set(result, f64::from(index));
        state.set(result + 1, state.get(BEST));
        state.set(result + 2, state.get(OWN_EVALUATIONS));
        state.set(result + 3, state.get(ENDED));
        state.set(result + 4, state.get(SPREAD));
        state.set(LOGGED, state.get(LOGGED) + 1.0);
        state.set(INDEX, f64::from(index + schedule.lanes));
        let is_small = state.get(IS_SMALL) == 1.0;
        let spent = if is_small { IN_SMALL } else { IN_LARGE };
        state.set(spent, state.get(spent) + state.get(OWN_EVALUATIONS));
        if !is_small {
            state.set(LARGE, state.get(LARGE) + 1.0);
            state.set(LAST, state.get(POPULATION));
        }
        state.set(PHASE, f64::from(Phase::Begin as u32));
    }
    team.barrier();
}

/// Keeps the search's best where it is the lane's best. Collective; ends with a barrier.
#[inline(always)]
fn note_best<W: Words>(team: impl Team, state: State<W>) {
    let (layout, best) = (state.layout, state.get(BEST));
    if best < state.get(LANE_BEST) {
        team.each(layout.dims, |d| {
            state.set(layout.lane_best() + d, state.get(layout.best() + d));
        });
        team.barrier();
        if team.is_first() {
            state.set(LANE_BEST, best);
        }
    }
    team.barrier();
}
