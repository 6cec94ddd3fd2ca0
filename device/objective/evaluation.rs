//! Evaluating an objective function, coordinate by coordinate or from a stored point.
//!
//! The same code serves a GPU thread with one particle and a CPU core with a tile of particles along
//! its SIMD lanes: see [`Real`].
//!
//! ```
//! use flockwork_device::{
//!     gpu::memory::ReadOnly,
//!     objective::{Context, Rosenbrock, evaluation::evaluate},
//! };
//!
//! let context = Context::<f32>::new(3, ReadOnly::empty());
//! assert_eq!(evaluate(&Rosenbrock, &[1.0, 1.0, 2.0], &context), 100.0);
//! ```

use super::{Context, Objective, Point, Reach, sum::Fold};
use crate::math::{Real, Scalar};

/// One evaluation that takes coordinates as they are made.
///
/// Call [`Evaluation::push`] for each dimension in order, then [`Evaluation::finish`].
///
/// ```
/// use flockwork_device::{
///     gpu::memory::ReadOnly,
///     math::Lanes,
///     objective::{Context, Point, Sphere, evaluation::Evaluation},
/// };
///
/// /// Two particles side by side, in two dimensions.
/// struct Tile([Lanes<f32, 2>; 2]);
///
/// impl Point<Lanes<f32, 2>> for Tile {
///     fn at(&self, dimension: u32) -> Lanes<f32, 2> {
///         self.0[dimension as usize]
///     }
/// }
/// let tile = Tile([Lanes([3.0, 0.0]), Lanes([4.0, 1.0])]);
/// let context = Context::new(2, ReadOnly::empty());
/// let mut evaluation = Evaluation::new(&Sphere, &context);
/// evaluation.push(0, tile.at(0));
/// evaluation.push(1, tile.at(1));
/// assert_eq!(evaluation.finish(&tile).0, [25.0, 1.0]);
/// ```
pub struct Evaluation<'a, O: Objective, V: Real> {
    objective: &'a O,
    context: &'a Context<V::Scalar>,
    terms: u32,
    fold: Fold<O::Partial<V>>,
    previous: V,
}

/// The last one or two coordinates.
struct Window<V> {
    first: u32,
    values: [V; 2],
    /// How many of them a term may read.
    #[cfg(not(target_arch = "nvptx64"))]
    count: u32,
}

impl<V> Window<V> {
    #[inline(always)]
    fn new(first: u32, values: [V; 2], reach: Reach) -> Self {
        #[cfg(target_arch = "nvptx64")]
        let _ = reach;
        Self {
            first,
            values,
            #[cfg(not(target_arch = "nvptx64"))]
            count: if matches!(reach, Reach::Own) { 1 } else { 2 },
        }
    }
}

impl<V: Copy> Point<V> for Window<V> {
    #[inline(always)]
    fn at(&self, dimension: u32) -> V {
        let offset = dimension.wrapping_sub(self.first);
        #[cfg(not(target_arch = "nvptx64"))]
        debug_assert!(
            offset < self.count,
            "term {} read coordinate {dimension}, which the function's REACH does not allow",
            self.first
        );
        if offset == 0 { self.values[0] } else { self.values[1] }
    }
}

/// For a function with [`Reach::Own`]: the term of one coordinate.
///
/// ```
/// use flockwork_device::{
///     gpu::memory::ReadOnly,
///     objective::{Context, Sphere, evaluation::term_of},
/// };
///
/// let context = Context::<f32>::new(9, ReadOnly::empty());
/// assert_eq!(term_of(&Sphere, &context, 4, 3.0_f32), 9.0);
/// ```
#[inline(always)]
pub fn term_of<O: Objective, V: Real>(
    objective: &O,
    context: &Context<V::Scalar>,
    dimension: u32,
    x: V,
) -> O::Partial<V> {
    objective.term(dimension, &Window::new(dimension, [x; 2], Reach::Own), context)
}

/// For a function with [`Reach::Next`]: the term of a coordinate and the next one.
///
/// ```
/// use flockwork_device::{
///     gpu::memory::ReadOnly,
///     objective::{Context, Rosenbrock, evaluation::term_of_two},
/// };
///
/// let context = Context::<f32>::new(9, ReadOnly::empty());
/// assert_eq!(term_of_two(&Rosenbrock, &context, 4, [1.0_f32, 2.0]), 100.0);
/// ```
#[inline(always)]
pub fn term_of_two<O: Objective, V: Real>(
    objective: &O,
    context: &Context<V::Scalar>,
    dimension: u32,
    values: [V; 2],
) -> O::Partial<V> {
    objective.term(dimension, &Window::new(dimension, values, Reach::Next), context)
}

impl<'a, O: Objective, V: Real> Evaluation<'a, O, V> {
    /// Begins an evaluation.
    ///
    /// ```
    /// use flockwork_device::gpu::memory::ReadOnly;
    /// use flockwork_device::objective::{Context, Sphere, evaluation::Evaluation};
    ///
    /// let context = Context::new(0, ReadOnly::empty());
    /// let evaluation = Evaluation::<_, f32>::new(&Sphere, &context);
    /// # struct Nowhere;
    /// # impl flockwork_device::objective::Point<f32> for Nowhere {
    /// #     fn at(&self, _: u32) -> f32 {
    /// #         unreachable!()
    /// #     }
    /// # }
    /// // Of no dimensions: the sum of no terms.
    /// assert_eq!(evaluation.finish(&Nowhere), 0.0);
    /// ```
    #[inline(always)]
    pub fn new(objective: &'a O, context: &'a Context<V::Scalar>) -> Self {
        let terms = objective.terms(context);
        #[cfg(not(target_arch = "nvptx64"))]
        debug_assert!(
            match O::REACH {
                Reach::Own => terms <= context.dims,
                Reach::Next => terms <= context.dims.saturating_sub(1),
                Reach::All => true,
            },
            "{terms} terms in {} dimensions need Reach::All",
            context.dims
        );
        Self { objective, context, terms, fold: Fold::new(terms), previous: V::of(0.0) }
    }

    /// The next coordinate, `dimension`.
    #[inline(always)]
    pub fn push(&mut self, dimension: u32, x: V) {
        self.push_with(dimension, x, true);
    }

    /// As [`Evaluation::push`], for who takes four coordinates at a time: the remainder of `dimension`
    /// by 4 is the constant `OFFSET`, so that it is known where no run of terms ends.
    #[inline(always)]
    pub fn push_of_four<const OFFSET: u32>(&mut self, dimension: u32, x: V) {
        let first = match O::REACH {
            Reach::Own | Reach::All => 0,
            // Term d - 1 comes with coordinate d.
            Reach::Next => 1,
        };
        self.push_with(dimension, x, OFFSET == first);
    }

    /// For a function with [`Reach::Own`]: so many coordinates make up a run, at the end of which
    /// [`Evaluation::close_run`] is due.
    #[inline(always)]
    pub fn run_length(&self) -> u32 {
        self.fold.run_length()
    }

    /// For a function with [`Reach::Own`]: as [`Evaluation::push`], of a coordinate before which no run
    /// ends.
    #[inline(always)]
    pub fn push_within(&mut self, dimension: u32, x: V) {
        self.push_with(dimension, x, false);
    }

    /// For a function with [`Reach::Own`]: a whole run has been pushed, and `dimension` is the next
    /// coordinate.
    #[inline(always)]
    pub fn close_run(&mut self, dimension: u32) {
        if dimension < self.terms {
            self.fold.close_run();
        }
    }

    /// The same in fewer instructions of a GPU and more registers.
    #[inline(always)]
    pub fn close_run_straight(&mut self, dimension: u32) {
        if dimension < self.terms {
            self.fold.close_run_straight();
        }
    }

    /// For a function with [`Reach::Own`]: the run that has been pushed, instead of [`Evaluation::close_run`].
    #[inline(always)]
    pub fn take_run(&mut self) -> O::Partial<V> {
        self.fold.take_run()
    }

    #[inline(always)]
    fn push_with(&mut self, dimension: u32, x: V, may_end_run: bool) {
        let (index, values) = match O::REACH {
            Reach::Own => (dimension, [x; 2]),
            // Wraps at dimension 0, which ends no pair.
            Reach::Next => (dimension.wrapping_sub(1), [self.previous, x]),
            Reach::All => return,
        };
        if index < self.terms {
            let window = Window::new(index, values, O::REACH);
            let term = self.objective.term(index, &window, self.context);
            if may_end_run {
                self.fold.push(term);
            } else {
                self.fold.push_within(term);
            }
        }
        if matches!(O::REACH, Reach::Next) {
            self.previous = x;
        }
    }

    /// The value, now that all coordinates are in `point`.
    #[inline(always)]
    pub fn finish(mut self, point: &impl Point<V>) -> V {
        if matches!(O::REACH, Reach::All) {
            for index in 0..self.terms {
                self.fold.push(self.objective.term(index, point, self.context));
            }
        }
        self.objective.finish(self.fold.finish(), self.context)
    }
}

/// The value of `objective` at one point, in the defined order of terms: what every back end
/// computes, in its plainest form.
///
/// ```
/// use flockwork_device::{
///     gpu::memory::ReadOnly,
///     objective::{Context, Sphere, evaluation::evaluate},
/// };
///
/// let context = Context::<f64>::new(2, ReadOnly::empty());
/// assert_eq!(evaluate(&Sphere, &[3.0, 4.0], &context), 25.0);
/// ```
pub fn evaluate<O: Objective, S: Scalar>(objective: &O, x: &[S], context: &Context<S>) -> S {
    let mut evaluation = Evaluation::<O, S>::new(objective, context);
    for (dimension, &value) in x.iter().enumerate() {
        evaluation.push(dimension as u32, value);
    }
    evaluation.finish(&Slice(x))
}

/// The values of its constraints at a point: see [`Objective::constraints`], which has an example.
pub fn constraints<O: Objective, S: Scalar>(
    objective: &O,
    x: &[S],
    context: &Context<S>,
    values: &mut [S],
) {
    objective.constraints(&Slice(x), context, values);
}

/// A point whose coordinates lie one after the other.
struct Slice<'a, S>(&'a [S]);

impl<S: Copy> Point<S> for Slice<'_, S> {
    fn at(&self, dimension: u32) -> S {
        self.0[dimension as usize]
    }
}
