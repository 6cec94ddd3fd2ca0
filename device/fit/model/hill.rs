//! Dose and response.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{
    math::{Real, Scalar},
    objective::Point,
};

const PARAMETERS: [Parameter; 4] = [
    Parameter::new("bottom", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
    Parameter::new("top", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
    Parameter::new("half", Range::Scaled { lower: 0.0, upper: 1.0, y: 0, x: 1 }),
    Parameter::new("slope", Range::Plain(0.1, 10.0)),
];

/// The response to a dose: the share of a receptor's sites that are taken, where so many molecules
/// bind together. `half` is the dose of half the effect (EC50 or IC50), `slope` Hill's coefficient; of
/// a response that falls with the dose, `bottom` is the greater. A dose that is not positive counts as
/// none.
///
/// With e = slope ln(x / half), the share is 1 / (1 + exp(-e)), from an exponential that is never more
/// than 1: nothing overflows. Error measured against 50 digits: below 1 unit in the last place of
/// top - bottom.
///
/// Cost: a logarithm, an exponential and two divisions.
///
/// ```
/// use flockwork_device::fit::{Hill, Model, Shape, predict};
///
/// let shape = Shape::of(&Hill::INFO, 1);
/// let value = predict(&Hill, &[1.0, 11.0, 3.0, 2.0], &[6.0], &shape);
/// assert!((value - 9.0).abs() < 1e-12);
/// assert_eq!(predict(&Hill, &[1.0, 11.0, 3.0, 2.0], &[0.0], &shape), 1.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Hill;

impl Model for Hill {
    const INFO: Info = Info {
        name: "hill",
        formula: "bottom + (top - bottom) x^slope / (half^slope + x^slope)",
        source: "Hill 1910",
        columns: Columns::Exactly(1),
        sizes: &[],
        parameters: |_| PARAMETERS.len() as u32,
        parameter: |index, _| PARAMETERS[index as usize],
        linear: |index, _| index < 2,
        order: |_| None,
    };
    const MOST_PARAMETERS: usize = PARAMETERS.len();

    #[inline(always)]
    fn predict<T: Real>(
        &self,
        parameters: &impl Point<T>,
        row: Row<'_, impl Rows<T::Scalar>>,
        _: &Shape,
    ) -> T {
        let (bottom, top, slope) = (parameters.at(0), parameters.at(1), parameters.at(3));
        let (zero, one) = (T::of(0.0), T::of(1.0));
        let x = row.at(0);
        // The logarithm of zero has no slopes, so neither no dose nor a half of zero comes to it.
        let none = T::Scalar::of(0.0);
        let dose = T::Scalar::select(none.less(x), x, T::Scalar::of(1.0));
        let little = T::splat(T::Scalar::NEGLIGIBLE);
        let ratio = (parameters.at(2) / T::splat(dose)).within(little, one / little);
        let e = -slope * ratio.ln();
        let least = (-e.abs()).exp();
        let share = T::select(e.less(zero), least, one) / (least + one);
        let without = T::select(slope.less(zero), one, zero);
        let share = T::select(zero.less(T::splat(x)), share, without);
        (top - bottom).fma(share, bottom)
    }
}
