//! An approach to a limit.

use flockwork::{
    fit::{Columns, Kernels, Model, ModelInfo, Parameter, Range, Row, Rows, Shape},
    math::Real,
    objective::Point,
};

const PARAMETERS: [Parameter; 2] = [
    Parameter::new("limit", Range::Scaled { lower: -100.0, upper: 100.0, y: 1, x: 0 }),
    Parameter::new("rate", Range::Scaled { lower: 0.0, upper: 100.0, y: 0, x: -1 }),
];

/// [`Saturation`](flockwork::fit::Saturation).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Approach;

impl Model for Approach {
    const INFO: ModelInfo = ModelInfo {
        name: "approach",
        formula: "limit (1 - exp(-rate x))",
        source: "Misra 1978",
        columns: Columns::Exactly(1),
        sizes: &[],
        parameters: |_| PARAMETERS.len() as u32,
        parameter: |index, _| PARAMETERS[index as usize],
        linear: |index, _| index == 0,
        order: |_| None,
    };
    const KERNELS: Kernels = flockwork::kernels!(Approach);

    #[inline(always)]
    fn predict<T: Real>(
        &self,
        parameters: &impl Point<T>,
        row: Row<'_, impl Rows<T::Scalar>>,
        _: &Shape,
    ) -> T {
        let x = T::splat(row.at(0));
        parameters.at(0) * (T::of(1.0) - (-(parameters.at(1) * x)).exp())
    }
}
