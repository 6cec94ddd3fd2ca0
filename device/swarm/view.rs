//! How the function sees a particle: whole numbers, moved, turned, and with which sign.

use super::{best::competing, settings::Variable, update::Bound};
use crate::{
    gpu::memory::ReadOnly,
    math::{Real, Scalar, dot_four},
    objective::{Context, Objective, Point, Reach, evaluation::Evaluation, sum::of_lanes},
};

/// How the function sees positions.
///
/// Coordinate d of a position x becomes s_d = x_d - shift_d, rounded before where the variable is a
/// whole number; with a rotation R, the function sees pivot + R s, or else s itself.
///
/// `bounds` holds four numbers for each dimension, aligned to 16 bytes; `variables` a word for each,
/// or nothing if all are continuous; `rotation` dims rows of dims numbers and `pivot` dims numbers, or
/// both nothing.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct View<S> {
    /// Number of dimensions.
    pub dims: u32,
    /// 1 where points outside the box are not evaluated: their fitness is infinite.
    pub box_only: u32,
    /// 1, or -1 for a function that is maximised: the fitness is the value times this.
    pub sign: S,
    /// See [`Bound`].
    pub bounds: ReadOnly<S>,
    /// See [`Variable`].
    pub variables: ReadOnly<u32>,
    /// The rotation, row by row.
    pub rotation: ReadOnly<S>,
    /// What is added after the rotation.
    pub pivot: ReadOnly<S>,
    /// The function's data.
    pub data: ReadOnly<S>,
}

impl<S: Scalar> View<S> {
    /// What the function is given besides the point.
    #[inline(always)]
    pub fn context(&self) -> Context<S> {
        Context::new(self.dims, self.data)
    }

    /// Whether there is a rotation.
    #[inline(always)]
    pub fn is_rotated(&self) -> bool {
        !self.rotation.is_empty()
    }

    /// The bound of one dimension.
    ///
    /// # Safety
    /// `dimension` is below `dims`, and `bounds` is as documented.
    #[inline(always)]
    pub unsafe fn bound(&self, dimension: u32) -> Bound<S> {
        // SAFETY: the caller's promise.
        Bound::from_words(unsafe { self.bounds.four(dimension as usize) })
    }

    /// Coordinate `dimension` before the rotation.
    ///
    /// # Safety
    /// `dimension` is below `dims`, and the buffers are as documented.
    #[inline(always)]
    pub unsafe fn moved<V: Real<Scalar = S>>(&self, dimension: u32, position: V) -> V {
        // SAFETY: the caller's promise.
        unsafe { self.moved_within(dimension, self.bound(dimension), position) }
    }

    /// As [`View::moved`], where the bound of the dimension is at hand.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub unsafe fn moved_within<V: Real<Scalar = S>>(
        &self,
        dimension: u32,
        bound: Bound<S>,
        position: V,
    ) -> V {
        let mut seen = position;
        if !self.variables.is_empty() {
            // SAFETY: as above.
            let word = unsafe { self.variables.at(dimension as usize) };
            if Variable::from_word(word) == Variable::Integer {
                seen = whole(position, &bound);
            }
        }
        seen - V::splat(bound.shift)
    }

    /// What a value is worth at a position: itself, negated where the function is maximised;
    /// infinity where it is NaN, or outside the box if that is not evaluated.
    ///
    /// # Safety
    /// The buffers are as documented.
    #[inline(always)]
    pub unsafe fn fitness<V: Real<Scalar = S>>(&self, value: V, position: &impl Fn(u32) -> V) -> V {
        let mut fitness = competing(V::splat(self.sign) * value);
        if self.box_only == 1 {
            let infinity = V::splat(S::INFINITY);
            for dimension in 0..self.dims {
                // SAFETY: below `dims`.
                let bound = unsafe { self.bound(dimension) };
                let x = position(dimension);
                fitness = V::select(x.less(V::splat(bound.lower)), infinity, fitness);
                fitness = V::select(V::splat(bound.upper).less(x), infinity, fitness);
            }
        }
        fitness
    }
}

/// The whole number that stands for a coordinate. The bounds lie half beyond the least and the
/// greatest, so that each has its equal share.
#[inline(always)]
pub fn whole<V: Real>(position: V, bound: &Bound<V::Scalar>) -> V {
    let half = V::of(0.5);
    let (low, high) = (V::splat(bound.lower) + half, V::splat(bound.upper) - half);
    position.round().limit(low, high)
}

/// Where a rotated point is kept while the function looks at it.
pub trait Image<V>: Point<V> {
    /// Stores one coordinate.
    fn set(&mut self, dimension: u32, value: V);
}

/// A position as the function sees it, with or without a rotation.
struct Seen<'a, S, P, I> {
    view: &'a View<S>,
    position: &'a P,
    image: &'a I,
}

impl<V: Real, P: Point<V>, I: Point<V>> Point<V> for Seen<'_, V::Scalar, P, I> {
    #[inline(always)]
    fn at(&self, dimension: u32) -> V {
        if !exists(dimension, self.view.dims) {
            return V::of(f64::NAN);
        }
        if self.view.is_rotated() {
            return self.image.at(dimension);
        }
        // SAFETY: below `dims`; the buffers by the promise given to `evaluate`.
        unsafe { self.view.moved(dimension, self.position.at(dimension)) }
    }
}

/// Whether a function asks for a coordinate that there is: elsewhere than on a GPU, where it gets
/// NaN, it panics otherwise.
#[inline(always)]
fn exists(dimension: u32, dims: u32) -> bool {
    let inside = dimension < dims;
    #[cfg(not(target_arch = "nvptx64"))]
    assert!(inside, "coordinate {dimension} of a point with {dims} was asked for");
    inside
}

/// The fitness at some points side by side: the function's value, negated where it is maximised, and
/// infinity where it is NaN.
///
/// With a rotation it takes `dims` squared products more; `image` is used for a function with
/// [`Reach::All`] only.
///
/// # Safety
/// `view` is as documented, and `position` yields a coordinate for each dimension.
#[inline(always)]
pub unsafe fn evaluate<O: Objective, V: Real>(
    objective: &O,
    view: &View<V::Scalar>,
    position: &impl Point<V>,
    image: &mut impl Image<V>,
) -> V {
    let context = view.context();
    let mut evaluation = Evaluation::<O, V>::new(objective, &context);
    let rotated = view.is_rotated();
    let all = matches!(O::REACH, Reach::All);
    if rotated || !all {
        // One loop for both: the function's term stands in it once.
        for dimension in 0..view.dims {
            // SAFETY: below `dims`, and the rows have `dims` numbers each.
            let seen = unsafe {
                if rotated {
                    turned(view, dimension, position)
                } else {
                    view.moved(dimension, position.at(dimension))
                }
            };
            if all {
                image.set(dimension, seen);
            } else {
                evaluation.push(dimension, seen);
            }
        }
    }
    let value = evaluation.finish(&Seen { view, position, image: &*image });
    // SAFETY: the caller's promise.
    unsafe { view.fitness(value, &|dimension| position.at(dimension)) }
}

/// Coordinates of what the function sees of a position, four from `dimension` on, or those of them that
/// there are: `keep` gets each with its value.
///
/// # Safety
/// As [`evaluate`]; `dimension` is below `dims`.
#[inline(always)]
pub unsafe fn seen<V: Real>(
    view: &View<V::Scalar>,
    dimension: u32,
    position: &impl Point<V>,
    mut keep: impl FnMut(u32, V),
) {
    let row = |nth: u32| (dimension + nth).min(view.dims - 1);
    // SAFETY: below `dims`; the caller's promise.
    let moved = |dimension| unsafe { view.moved(dimension, position.at(dimension)) };
    let four = if view.is_rotated() {
        // As `turned`, of four rows at a time.
        // SAFETY: below the lengths that `View` documents.
        let start = |nth| V::splat(unsafe { view.pivot.at(row(nth) as usize) });
        let starts = [start(0), start(1), start(2), start(3)];
        dot_four(view.dims, starts, moved, |dimension, nth| {
            let place = row(nth) as usize * view.dims as usize + dimension as usize;
            // SAFETY: as above.
            V::splat(unsafe { view.rotation.at(place) })
        })
    } else {
        [moved(row(0)), moved(row(1)), moved(row(2)), moved(row(3))]
    };
    let mut keep = |nth: u32, value: V| {
        if dimension + nth < view.dims {
            keep(dimension + nth, value);
        }
    };
    keep(0, four[0]);
    keep(1, four[1]);
    keep(2, four[2]);
    keep(3, four[3]);
}

/// As [`evaluate`], where all that the function sees has been computed by [`seen`], by 2^`level` lanes that
/// lie beside each other and have the same point: [`of_lanes`]. Each gets the fitness. Collective for the
/// warp.
///
/// # Safety
/// As [`evaluate`]; `seen` too yields a coordinate for each dimension.
#[inline(always)]
pub unsafe fn evaluate_by_lanes<O: Objective, V: Real>(
    objective: &O,
    view: &View<V::Scalar>,
    seen: &impl Point<V>,
    position: &impl Point<V>,
    level: u32,
) -> V {
    let context = view.context();
    let point = Existing { dims: view.dims, point: seen };
    let term = |index| objective.term(index, &point, &context);
    let terms = of_lanes(level, objective.terms(&context), term);
    let value = objective.finish(terms, &context);
    // SAFETY: the caller's promise.
    unsafe { view.fitness(value, &|dimension| position.at(dimension)) }
}

/// A point that yields NaN in dimensions that it does not have.
struct Existing<'a, P> {
    dims: u32,
    point: &'a P,
}

impl<V: Real, P: Point<V>> Point<V> for Existing<'_, P> {
    #[inline(always)]
    fn at(&self, dimension: u32) -> V {
        if exists(dimension, self.dims) { self.point.at(dimension) } else { V::of(f64::NAN) }
    }
}

/// One coordinate after the rotation: the sum over the dimensions from left to right, each product
/// fused.
///
/// # Safety
/// As [`evaluate`]; `row` is below `dims`, and there is a rotation.
#[inline(always)]
unsafe fn turned<V: Real>(view: &View<V::Scalar>, row: u32, position: &impl Point<V>) -> V {
    // SAFETY: below the lengths that `View` documents.
    let mut sum = V::splat(unsafe { view.pivot.at(row as usize) });
    let first = row as usize * view.dims as usize;
    for dimension in 0..view.dims {
        // SAFETY: as above.
        let (factor, moved) = unsafe {
            let factor = view.rotation.at(first + dimension as usize);
            (factor, view.moved(dimension, position.at(dimension)))
        };
        sum = V::splat(factor).fma(moved, sum);
    }
    sum
}
