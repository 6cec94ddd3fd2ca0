//! Confidence intervals by profile likelihood, of all data sets side by side.
//!
//! An end of an interval is where the sum, with a parameter held there and the others fitted again, has
//! grown by what the level allows: by the share t²/ν of the least sum, with t of Student's distribution
//! and ν degrees of freedom, or by the square of the normal quantile where standard errors are absolute
//! (Bates and Watts 1988, section 6.1; Venables and Royston's `confint`). It is looked for by the
//! Illinois method on the root of that growth, which is nearly linear. Each of its steps is one batch of
//! fits on the back end, of the data sets whose end is not found.

use std::collections::{HashMap, VecDeque};

use flockwork_device::fit::{
    kernels::many::WORDS,
    many::{End, Settings},
};

use super::{
    Fits, Job, Many, Watch,
    held::{Held, Room},
    is_robust,
    solver::SolvesIn,
};
use crate::{Error, Result, backend::Number, fit::quantile};

/// How often a step away from the estimate may be doubled.
const DOUBLINGS: u32 = 40;
/// The most steps of the Illinois method.
const STEPS: u32 = 60;

/// One end that is looked for.
struct Search<T> {
    set: usize,
    /// What the root of the growth is to be.
    goal: f64,
    least: f64,
    /// The farthest point inside: the parameter, what the root lacks, and all parameters there.
    near: f64,
    below: f64,
    place: Vec<T>,
    /// The nearest point outside, and by how much the root is too large there.
    far: Option<(f64, f64)>,
    /// Where the sum is asked for next.
    next: f64,
    /// What the interval cannot go beyond.
    bound: f64,
    estimate: f64,
    steps: u32,
    /// Which side the last step moved, -1 or 1.
    moved: i32,
}

impl<T: Number> Search<T> {
    /// Takes the sum at `next` and the parameters there; the end, once it is found.
    fn take(&mut self, sum: f64, place: &[T]) -> Option<f64> {
        let close = if size_of::<T>() == 4 { 1e-3 } else { 1e-6 };
        let root = (sum - self.least).max(0.0).sqrt();
        let height = if root.is_nan() { f64::INFINITY } else { root - self.goal };
        if height.abs() <= close * self.goal {
            return Some(self.next);
        }
        self.steps += 1;
        match (height < 0.0, &mut self.far) {
            (true, None) => {
                if self.next == self.bound || self.steps > DOUBLINGS {
                    return Some(f64::NAN);
                }
                (self.near, self.below) = (self.next, height);
                self.place.copy_from_slice(place);
            }
            (false, None) => self.far = Some((self.next, height)),
            (true, Some((_, above))) => {
                (self.near, self.below) = (self.next, height);
                self.place.copy_from_slice(place);
                *above *= if self.moved == -1 { 0.5 } else { 1.0 };
                self.moved = -1;
            }
            (false, far) => {
                *far = Some((self.next, height));
                self.below *= if self.moved == 1 { 0.5 } else { 1.0 };
                self.moved = 1;
            }
        }
        let Some((far, above)) = self.far else {
            // Twice as far from the estimate.
            let twice = self.estimate + 2.0 * (self.next - self.estimate);
            self.next = if self.bound < self.estimate {
                twice.max(self.bound)
            } else {
                twice.min(self.bound)
            };
            return (!self.next.is_finite()).then_some(f64::NAN);
        };
        let share = if above.is_finite() { -self.below / (above - self.below) } else { 0.5 };
        let between = self.near + share * (far - self.near);
        // A number that the model can be given.
        self.next = T::nearest(between).to_f64();
        let is_done = self.next == self.near || self.next == far || self.steps > STEPS;
        // Where numbers overflow no interval ends.
        is_done.then_some(if above.is_finite() { self.next } else { f64::NAN })
    }
}

/// The lower and the upper end for each parameter of each data set, NaN where there is none; and whether the
/// run was ended before all were found.
pub(super) fn profiles<T: Number>(
    many: &Many<T>,
    level: f64,
    backend: &dyn SolvesIn<T>,
    fits: &Fits<T>,
    watch: &mut Watch<'_>,
) -> Result<(Vec<T>, bool)> {
    let (sets, count) = (fits.len(), many.sought.len());
    let known = many.known();
    let places = many.starting_points(known.as_deref())?;
    let job = many.job(&places, known.as_deref())?;
    let mut ends = vec![T::nearest(f64::NAN); 2 * sets * count];
    let is_free = |&nth: &usize| job.settings.is_free(nth);
    let free: Vec<usize> = (0..count).filter(is_free).collect();
    let mut left: VecDeque<(usize, usize)> =
        free.iter().flat_map(|&parameter| [(parameter, 0), (parameter, 1)]).collect();
    let all = left.len().max(1);
    while let Some((parameter, side)) = left.pop_front() {
        // Of what is still to be done, this is a part.
        let done = sets - (sets * (left.len() + 1)).div_ceil(2 * all).min(sets);
        let mut searches = begun(&job, fits, parameter, side, level);
        while !searches.is_empty() {
            let Some(fitted) =
                held(&job, parameter, &searches, backend, &mut |_, _| watch(done, sets))?
            else {
                return Ok((ends, true));
            };
            let width = job.width();
            let mut rows = fitted.numbers.numbers().chunks_exact(width);
            searches.retain_mut(|search| {
                let row = rows.next().expect("a row for each");
                let end = search.take(row[2 * count].to_f64(), &row[..count]);
                if let Some(end) = end {
                    ends[2 * (search.set * count + parameter) + side] = T::nearest(end);
                }
                end.is_none()
            });
        }
    }
    Ok((ends, false))
}

/// The searches for one end of a parameter's interval, in all data sets that have one.
fn begun<T: Number>(
    job: &Job<'_, T>,
    fits: &Fits<T>,
    parameter: usize,
    side: usize,
    level: f64,
) -> Vec<Search<T>> {
    let count = job.settings.parameters as usize;
    let bounds = |nth: usize| [0, 1].map(|side| job.bounds[2 * nth + side].to_f64());
    // By degrees of freedom, of which there are few.
    let mut factors: HashMap<i64, f64> = HashMap::new();
    let of_set = |set: usize| {
        if !matches!(fits.end(set), End::Converged | End::Iterations) {
            return None;
        }
        let place = fits.parameters(set);
        let is_inside = |nth: usize| {
            let ([low, high], x) = (bounds(nth), place[nth].to_f64());
            low < x && x < high
        };
        let moving = (0..count).filter(|&nth| job.settings.is_free(nth) && is_inside(nth)).count();
        let least = fits.value(set).to_f64();
        let is_relative = job.settings.absolute == 0;
        let freedom = i64::from(fits.rows(set)) - moving as i64;
        let factor = *factors.entry(freedom).or_insert_with(|| {
            quantile::reach(level, if is_relative { freedom as f64 } else { f64::INFINITY })
        });
        let goal = factor * if is_relative { (least / freedom as f64).sqrt() } else { 1.0 };
        let (estimate, bound) = (place[parameter].to_f64(), bounds(parameter)[side]);
        let is_searched = goal > 0.0 && goal.is_finite() && estimate != bound;
        if !is_searched {
            return None;
        }
        // Where the interval by standard errors ends.
        let reach = factor * fits.errors(set)[parameter].to_f64();
        let reach =
            if reach > 0.0 && reach.is_finite() { reach } else { 0.1 * estimate.abs().max(1e-3) };
        let next = match side {
            0 => (estimate - reach).max(bound),
            _ => (estimate + reach).min(bound),
        };
        Some(Search {
            set,
            goal,
            least,
            near: estimate,
            below: -goal,
            place: place.to_vec(),
            far: None,
            next: T::nearest(next).to_f64(),
            bound,
            estimate,
            steps: 0,
            moved: 0,
        })
    };
    (0..fits.len()).filter_map(of_set).collect()
}

/// Fits of the data sets of these searches with a parameter held where each asks; `None` if they were
/// ended before.
fn held<T: Number>(
    job: &Job<'_, T>,
    parameter: usize,
    searches: &[Search<T>],
    backend: &dyn SolvesIn<T>,
    watch: &mut Watch<'_>,
) -> Result<Option<Room<T>>> {
    let sets = searches.len();
    let stack = job.stack.some(searches.iter().map(|search| search.set));
    let begin = searches.iter().flat_map(|search| {
        let held = T::nearest(search.next);
        let of = move |(nth, &x): (usize, &T)| if nth == parameter { held } else { x };
        search.place.iter().enumerate().map(of)
    });
    let begin = Held::new(begin.collect());
    let mut room =
        Room { numbers: Held::zeroed(sets * job.width())?, words: Held::zeroed(sets * WORDS)? };
    let settings =
        |settings: &Settings<T>| Settings { free: settings.free & !(1 << parameter), ..*settings };
    let part = Job {
        model: job.model,
        name: job.name,
        stack: &stack,
        shape: job.shape,
        settings: settings(&job.settings),
        search: settings(&job.search),
        starts: 1,
        searches: false,
        bounds: job.bounds.clone(),
        boxes: Vec::new(),
        own_boxes: false,
        begin: &begin,
        own_begin: true,
    };
    let mut is_ended = watch(0, 0).is_break();
    if !is_ended {
        backend.solve_in(&part, &mut room, &mut |done, all| {
            let verdict = watch(done, all);
            is_ended |= verdict.is_break();
            verdict
        })?;
    }
    Ok((!is_ended).then_some(room))
}

impl<T: Number> Many<T> {
    /// Whether intervals by profile likelihood make sense.
    pub(super) fn check_profile(&self) -> Result<()> {
        let refuse = |value: String, accepted: &str| {
            Err(Error::Option { option: "profile", value, accepted: accepted.to_owned() })
        };
        let Some(level) = self.profile else { return Ok(()) };
        if let Some(shared) = self.sought.iter().find(|sought| sought.is_shared) {
            let value = format!("{level} with {} shared", shared.name);
            return refuse(value, "no shared parameter: what is shared has standard errors");
        }
        match is_robust(&self.estimator) {
            true => refuse(format!("{level} with a robust loss"), "the loss squares, or counts"),
            false => Ok(()),
        }
    }
}
