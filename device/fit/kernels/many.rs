//! Many fits at once, from starting points to results in one launch.

use core::{marker::PhantomData, mem::offset_of};

use crate::{
    fit::{
        Model, Row, Rows, Shape,
        many::{
            Bounds, Descent, Estimator, MOST_PARAMETERS, Normal, STRANDS, Settings, each, hopeless,
        },
    },
    gpu::{
        memory::{ReadOnly, ReadWrite},
        thread, warp,
    },
    kernel::{Constants, Kernel, Kernels, Launch, Local, Name},
    math::{Dual, Real, Scalar},
    objective::Point,
};

/// Threads of a block.
pub const THREADS: u32 = 128;

/// Lanes that a fit has: one for each strand of its sums.
pub const TEAM: u32 = STRANDS as u32;

/// Fits that a block is at.
pub const TEAMS: u32 = THREADS / TEAM;

/// Words of a fit's report: the number of its [`End`](crate::fit::many::End), iterations, rows.
pub const WORDS: usize = 3;

/// Fits a model to many data sets. In blocks of [`THREADS`] threads, of which [`TEAM`] lanes have a fit
/// each, and those that are done take another.
///
/// A model has at most [`Model::MOST_PARAMETERS`] parameters here.
pub struct Many<M, T>(PhantomData<(M, T)>);

/// What the kernel is passed.
///
/// With P parameters, R rows and F fits: `arguments` are the columns of row after row, for all fits or,
/// if `own_arguments` is 1, R rows for each; `targets` R for each, a missing one NaN; `weights` R for all,
/// R for each or none, and a row of weight 0 is as if it were missing; `bounds` are P pairs; `begin` P
/// numbers for each start: of all fits, or if `own_begin` is 1 of each. If `searches` is 1, they are
/// places in a box, from 0 to 1, and `boxes` P pairs for all or for each. `results` has room for the
/// parameters, their errors and the sum of each fit, `words` for [`WORDS`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<T> {
    /// The size of the model.
    pub shape: Shape,
    /// Of the fits.
    pub settings: Settings<T>,
    /// Of the descents from starting points, if there are several: the best is continued as `settings`
    /// says. Tolerance, iterations and whether targets are counts may differ.
    pub search: Settings<T>,
    /// Starting points of each fit, at least one.
    pub starts: u32,
    /// Whether they are places in the box.
    pub searches: u32,
    /// Whether each fit has arguments of its own.
    pub own_arguments: u32,
    /// Whether each has weights of its own.
    pub own_weights: u32,
    /// Whether each has a box of its own.
    pub own_boxes: u32,
    /// Whether each has starting points of its own.
    pub own_begin: u32,
    /// Rows of each.
    pub rows: u32,
    /// Number of fits.
    pub fits: u32,
    /// Columns of rows.
    pub arguments: ReadOnly<T>,
    /// A number for each row of each.
    pub targets: ReadOnly<T>,
    /// A number for each row, or nothing.
    pub weights: ReadOnly<T>,
    /// Pairs.
    pub bounds: ReadOnly<T>,
    /// Pairs, or nothing.
    pub boxes: ReadOnly<T>,
    /// Starting points.
    pub begin: ReadOnly<T>,
    /// Receives the numbers.
    pub results: ReadWrite<T>,
    /// Receives the reports.
    pub words: ReadWrite<u32>,
}

/// The arguments of a fit's rows.
struct Held<T> {
    columns: u32,
    /// The first row and those that follow.
    numbers: ReadOnly<T>,
}

impl<T: Scalar> Rows<T> for Held<T> {
    #[inline(always)]
    fn argument(&self, row: usize, column: u32) -> T {
        if column < self.columns {
            // SAFETY: the row is one of the fit's, and has such a column.
            unsafe { self.numbers.at(row * self.columns as usize + column as usize) }
        } else {
            T::nearest(f64::NAN)
        }
    }
    // A prediction does not ask for it.
    #[inline(always)]
    fn target(&self, _: usize) -> T {
        T::nearest(f64::NAN)
    }
    #[inline(always)]
    fn is_weighted(&self) -> bool {
        false
    }
    #[inline(always)]
    fn weight(&self, _: usize) -> T {
        T::of(1.0)
    }
}

/// Parameters, each with its direction.
struct Directed<'a, V, const D: usize>(&'a [V; D]);

impl<V: Real, const D: usize> Point<Dual<V, D>> for Directed<'_, V, D> {
    #[inline(always)]
    fn at(&self, parameter: u32) -> Dual<V, D> {
        let index = parameter as usize;
        if index < D { Dual::along(self.0[index], index) } else { Dual::constant(V::of(f64::NAN)) }
    }
}

/// Pairs, one for each parameter.
struct Pairs<T> {
    first: usize,
    count: usize,
    numbers: ReadOnly<T>,
}

impl<T: Scalar> Bounds<T> for Pairs<T> {
    #[inline(always)]
    fn of(&self, parameter: usize) -> (T, T) {
        if parameter >= self.count {
            return (-T::INFINITY, T::INFINITY);
        }
        let at = self.first + 2 * parameter;
        // SAFETY: there is a pair for each parameter.
        unsafe { (self.numbers.at(at), self.numbers.at(at + 1)) }
    }
}

impl<T: Scalar> Arguments<T> {
    /// The settings of the last descent, or of those before. Number by number: a choice between the two as
    /// a whole would be one between addresses.
    #[inline(always)]
    fn at_stage(&self, is_last: bool) -> Settings<T> {
        let (last, search) = (&self.settings, &self.search);
        let (poisson, tolerance, iterations) = match is_last {
            true => (last.estimator.poisson, last.tolerance, last.iterations),
            false => (search.estimator.poisson, search.tolerance, search.iterations),
        };
        let estimator = Estimator { loss: last.estimator.loss, poisson };
        Settings { estimator, tolerance, iterations, ..*last }
    }

    /// Bounds of so many parameters.
    #[inline(always)]
    fn limits(&self, count: usize) -> Pairs<T> {
        Pairs { first: 0, count, numbers: self.bounds }
    }

    /// A starting point of a fit.
    #[inline(always)]
    fn start<const D: usize>(&self, (fit, start): (usize, u32), count: usize) -> [T; D] {
        let first = if self.own_begin == 1 { fit * self.starts as usize } else { 0 };
        let first = (first + start as usize) * count;
        let limits = self.limits(count);
        let of_fit = if self.own_boxes == 1 { fit * 2 * count } else { 0 };
        let sides = Pairs { first: of_fit, count, numbers: self.boxes };
        let mut point = [T::ZERO; D];
        each(D, |parameter| {
            if parameter < count {
                // SAFETY: there is a number for each parameter of each start.
                let number = unsafe { self.begin.at(first + parameter) };
                let place = (self.searches == 1).then(|| sides.of(parameter));
                point[parameter] = placed(number, place, limits.of(parameter));
            }
        });
        point
    }

    /// The sums of this lane's rows of a fit at a point.
    #[inline(always)]
    fn strand<M: Model, const D: usize>(
        &self,
        model: &M,
        settings: &Settings<T>,
        (fit, count): (usize, usize),
        point: &[T; D],
    ) -> Normal<T, D> {
        let rows = self.rows as usize;
        let columns = self.shape.columns;
        let first = if self.own_arguments == 1 { fit * rows * columns as usize } else { 0 };
        let held = Held { columns, numbers: self.arguments.skip(first) };
        let is_weighted = !self.weights.is_empty();
        let weights = self.weights.skip(if self.own_weights == 1 { fit * rows } else { 0 });
        let targets = self.targets.skip(fit * rows);
        model.begin(&Directed(point), &self.shape);
        let mut normal = Normal::none();
        let mut row = (warp::lane() % TEAM) as usize;
        while row < rows {
            // SAFETY: the fit has so many rows.
            let (target, weight) = unsafe {
                let target = targets.at(row);
                let weight = if is_weighted { weights.at(row) } else { T::of(1.0) };
                (target, weight)
            };
            if target.partial_cmp(&target).is_some() && weight > T::ZERO {
                let prediction = model.predict(&Directed(point), Row::new(&held, row), &self.shape);
                normal.add(&settings.estimator, target, prediction, weight, count);
            }
            row += STRANDS;
        }
        normal
    }
}

/// A coordinate of a starting point: the number itself, or if there is a box the number at that place in
/// it; put between the bounds.
#[inline(always)]
pub fn placed<T: Scalar>(number: T, sides: Option<(T, T)>, (low, high): (T, T)) -> T {
    let number = match sides {
        Some((from, to)) => (to - from).fma(number, from),
        None => number,
    };
    number.limit(low, high)
}

/// [`Descent::advance`], of which the emulator has one for all models.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
fn advance<T: Scalar, const D: usize>(
    descent: &mut Descent<T, D>,
    normal: &Normal<T, D>,
    settings: &Settings<T>,
    limits: &Pairs<T>,
    count: usize,
) -> T {
    descent.advance(normal, settings, limits, count)
}

/// [`Descent::errors`], likewise.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
fn errors_of<T: Scalar, const D: usize>(
    descent: &Descent<T, D>,
    (end, rows): (T, T),
    settings: &Settings<T>,
    limits: &Pairs<T>,
    count: usize,
) -> ([T; D], T) {
    descent.errors(end, rows, settings, limits, count)
}

/// Blocks that a multiprocessor should hold, where fits have so many parameters of so many words.
/// Of a template this is asked when a formula is written into its kernel.
///
/// Measured with five parameters in `f32` on one H200: with five blocks, so that a thread has 96
/// registers and leaves what a step alone needs in local memory, 268 million fits of 25 rows a second,
/// with four 261, with as many registers as it asks for (three blocks) 230.
///
/// ```
/// assert_eq!(flockwork_device::fit::kernels::many::blocks(5, 1), Some(5));
/// ```
pub const fn blocks(parameters: usize, words: u32) -> Option<u32> {
    match (parameters, words) {
        (..=5, 1) => Some(5),
        _ => None,
    }
}

/// What does not fit in registers: the state of a descent, while rows are summed.
const fn local(parameters: usize, words: u32) -> Local {
    match (parameters, words) {
        (..=3, _) => Local { stack: 96, hot: 0 },
        (4..=5, _) => Local { stack: 512, hot: 12 },
        (6.., 1) => Local { stack: 640, hot: 16 },
        _ => Local { stack: 2048, hot: 32 },
    }
}

/// The kernel for models of `D` parameters or fewer.
///
/// # Safety
/// As [`Kernel::run`].
#[inline(always)]
unsafe fn run<M: Model, T: Scalar, const D: usize>(arguments: &Arguments<T>) {
    let model = M::default();
    let fits = arguments.fits as usize;
    // A template's number of parameters is a constant for the driver's compiler. Other models are
    // calculated with all `D`, be they there or not.
    let (count, some) = if M::IS_TEMPLATE {
        let count = arguments.shape.sizes[0] as usize;
        (count, count)
    } else {
        (arguments.settings.parameters as usize, D)
    };
    let teams = (thread::grid_blocks() * TEAMS) as usize;
    let mut fit = (thread::global_index() / TEAM) as usize;
    let several = arguments.starts > 1 || arguments.searches == 1;
    let eliminates = if arguments.searches == 1 { T::of(1.0) } else { T::ZERO };

    let mut is_active = fit < fits;
    // A team without a fit goes along with the last one.
    let mut descent =
        Descent::<T, D>::from(arguments.start((fit.min(fits - 1), 0), count), eliminates);
    let mut start = 0;
    // Of the best start.
    let mut best = [T::ZERO; D];
    let mut least = T::INFINITY;
    let mut is_last = !several;
    let mut is_first = true;
    while warp::ballot(is_active) != 0 {
        let settings = arguments.at_stage(is_last);
        let of = (fit.min(fits - 1), some);
        let mut normal = arguments.strand(&model, &settings, of, &descent.trial);
        normal.join(&normal.map(some, |number| warp::shuffle_xor(number, 4)), some);
        normal.join(&normal.map(some, |number| warp::shuffle_xor(number, 2)), some);
        normal.join(&normal.map(some, |number| warp::shuffle_xor(number, 1)), some);
        if is_active {
            let limits = arguments.limits(count);
            let given_up = if is_first { hopeless(&normal, &settings) } else { T::ZERO };
            is_first = false;
            let mut end = given_up;
            if given_up == T::ZERO {
                end = advance(&mut descent, &normal, &settings, &limits, some);
            }
            if end != T::ZERO {
                let mut next = None;
                if given_up == T::ZERO && !is_last {
                    if descent.value < least {
                        least = descent.value;
                        best = descent.parameters;
                    }
                    start += 1;
                    is_last = start == arguments.starts;
                    next = Some(if is_last && least < T::INFINITY {
                        Descent::from(best, T::ZERO)
                    } else if is_last {
                        // None was finite, so neither is the first.
                        Descent::from(arguments.start((fit, 0), count), T::ZERO)
                    } else {
                        Descent::from(arguments.start((fit, start), count), eliminates)
                    });
                }
                if next.is_none() {
                    let (mut errors, mut ended) = ([T::nearest(f64::NAN); D], end);
                    if given_up == T::ZERO && descent.value < T::INFINITY {
                        (errors, ended) =
                            errors_of(&descent, (end, normal.rows), &settings, &limits, some);
                    }
                    if warp::lane().is_multiple_of(TEAM) {
                        // SAFETY: there is room for each fit, which no other thread has.
                        unsafe {
                            let to = fit * (2 * count + 1);
                            each(D, |parameter| {
                                if parameter < count {
                                    let value = descent.parameters[parameter];
                                    let is_known =
                                        given_up == T::ZERO || !settings.is_free(parameter);
                                    let nan = T::nearest(f64::NAN);
                                    let value = if is_known { value } else { nan };
                                    arguments.results.store(to + parameter, value);
                                    let at = to + count + parameter;
                                    arguments.results.store(at, errors[parameter]);
                                }
                            });
                            let value = if given_up == T::ZERO {
                                descent.value
                            } else {
                                T::nearest(f64::NAN)
                            };
                            arguments.results.store(to + 2 * count, value);
                            let words = fit * WORDS;
                            arguments.words.store(words, ended.to_u32());
                            arguments.words.store(words + 1, descent.iterations.to_u32());
                            arguments.words.store(words + 2, normal.rows.to_u32());
                        }
                    }
                    fit += teams;
                    is_active = fit < fits;
                    start = 0;
                    least = T::INFINITY;
                    is_last = !several;
                    is_first = true;
                    let fit = fit.min(fits - 1);
                    next = Some(Descent::from(arguments.start((fit, 0), count), eliminates));
                }
                if let Some(next) = next {
                    descent = next;
                }
            }
        }
    }
}

impl<M: Model, T: Scalar> Kernel for Many<M, T> {
    type Arguments = Arguments<T>;

    const NAME: Name = Name { family: "fit_many", objective: M::INFO.name, precision: T::NAME };
    const KERNELS: Kernels = M::KERNELS;
    const LAUNCH: Launch = Launch {
        threads: Some(THREADS),
        blocks: blocks(M::MOST_PARAMETERS, T::WORDS),
        local: local(M::MOST_PARAMETERS, T::WORDS),
        ..Launch::DEFAULT
    };

    // So the driver's compiler leaves out what a formula has no parameters and columns for.
    fn constants(arguments: &Self::Arguments) -> Constants {
        if !M::IS_TEMPLATE {
            return Constants::NONE;
        }
        Constants::NONE
            .with(offset_of!(Arguments<T>, shape.columns), arguments.shape.columns)
            .with(offset_of!(Arguments<T>, shape.sizes), arguments.shape.sizes[0])
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        const { assert!(M::MOST_PARAMETERS >= 1 && M::MOST_PARAMETERS <= MOST_PARAMETERS) };
        // SAFETY: the caller's promise. The constant leaves one of them.
        unsafe {
            match M::MOST_PARAMETERS {
                1 => run::<M, T, 1>(arguments),
                2 => run::<M, T, 2>(arguments),
                3 => run::<M, T, 3>(arguments),
                4 => run::<M, T, 4>(arguments),
                5 => run::<M, T, 5>(arguments),
                6 => run::<M, T, 6>(arguments),
                7 => run::<M, T, 7>(arguments),
                _ => run::<M, T, 8>(arguments),
            }
        }
    }
}
