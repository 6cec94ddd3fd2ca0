//! The model. This file is compiled for the CPU and, by itself, for the GPU: it may use `core`,
//! `flockwork::fit`, `flockwork::objective::Point` and `flockwork::math`. On plain numbers write
//! `Real::sin(number)`: the same bits everywhere, which `number.sin()` of an `f64` has not.

use flockwork::{
    fit::{Columns, Kernels, Model, ModelInfo, Parameter, Range, Row, Rows, Shape},
    math::Real,
    objective::Point,
};

/// The parameters, and the bounds between which each is looked for.
const PARAMETERS: [Parameter; 3] = [
    Parameter::new("height", Range::Plain(0.0, 100.0)),
    Parameter::new("rate", Range::Plain(0.0, 10.0)),
    Parameter::new("base", Range::Plain(-100.0, 100.0)),
];

/// What falls towards a base.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Decay;

impl Model for Decay {
    const INFO: ModelInfo = ModelInfo {
        name: "decay",
        formula: "height exp(-rate x) + base",
        source: "an example",
        columns: Columns::Exactly(1),
        sizes: &[],
        parameters: |_| PARAMETERS.len() as u32,
        parameter: |index, _| PARAMETERS[index as usize],
        // For given others, `height` and `base` are found by linear least squares.
        linear: |index, _| index != 1,
        order: |_| None,
    };

    // What `build.rs` compiled for the GPU.
    const KERNELS: Kernels = flockwork::kernels!(Decay);

    // `T` is one number in a GPU thread, and many side by side on a CPU. So there is no `if` on values:
    // write `T::select(a.less(b), x, y)`.
    #[inline(always)]
    fn predict<T: Real>(
        &self,
        parameters: &impl Point<T>,
        row: Row<'_, impl Rows<T::Scalar>>,
        _: &Shape,
    ) -> T {
        let x = T::splat(row.at(0));
        parameters.at(0) * (-(parameters.at(1) * x)).exp() + parameters.at(2)
    }
}
