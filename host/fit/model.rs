//! Models as a fit holds them: of a type, or closures.

use std::sync::Arc;

use flockwork_device::{
    fit::{Info, Model, Shape, predict},
    math::Scalar,
    registry,
    swarm::{layout::TILE, view::View},
};

use super::rows::{self, OnRows, Setup, gather, judge, over_groups};
use crate::backend::{Evaluator, Judged, Number, Simd, function::why_none};
#[cfg(feature = "cuda")]
use crate::{
    Result,
    backend::{Cuda, Plan, Swarm},
    fit::Fit,
};

/// A model: a type that implements [`Model`], or a closure.
pub(super) trait AnyModel: ModelIn<f32> + ModelIn<f64> + Send + Sync {
    /// The author's description; `None` for a closure.
    fn info(&self) -> Option<Info>;

    /// Why it has no GPU kernels; `None` if it has some.
    fn why_no_kernels(&self) -> Option<String>;

    /// Whether a parameter is one of those that the prediction depends on linearly, the others being
    /// held.
    fn is_linear(&self, parameter: usize, shape: &Shape) -> bool {
        self.info().is_some_and(|info| (info.linear)(parameter as u32, shape))
    }

    /// Whether its derivatives are exact, not differences.
    fn has_derivatives(&self) -> bool {
        true
    }

    /// What tells it from other models of its name.
    fn text(&self) -> &str {
        ""
    }

    /// The predicted value.
    fn predict(&self, parameters: &[f64], arguments: &[f64], shape: &Shape) -> f64;

    /// The sum over an aligned group of rows at one point.
    fn sum(&self, simd: Simd, setup: &Setup<f64>, parameters: &[f64], range: (usize, usize))
    -> f64;

    /// Derivatives and residuals of a range of rows: see [`rows::linearise`].
    fn linearise(
        &self,
        simd: Simd,
        setup: &Setup<f64>,
        parameters: &[f64],
        free: &[usize],
        range: (usize, usize),
        block: &mut [f64],
    );
}

/// A model in one precision.
pub(super) trait ModelIn<T> {
    /// The sum over all rows as the swarm's objective function. `data` are the rows in `f64`.
    fn evaluator(&self, simd: Simd, setup: Setup<T>, data: &Arc<[f64]>) -> Box<dyn Evaluator<T>>;

    /// A swarm on a GPU.
    #[cfg(feature = "cuda")]
    fn on_gpu(
        &self,
        gpu: &Cuda,
        fit: &Fit,
        setup: Setup<T>,
        plan: Plan<T>,
    ) -> Result<Box<dyn Swarm<T>>>;
}

pub(super) struct Typed<M>(pub M);

/// Why a type has no GPU kernels; `None` if it has some.
pub(super) fn why_no_kernels<M: Model>() -> Option<String> {
    // A type that is built in, not one that has the name of one.
    if registry::is_registered_model::<M>() {
        return None;
    }
    why_none::<M>(M::KERNELS)
}

/// Why a closure has none.
const CLOSURE: &str = "it is a closure";

impl<M: Model> AnyModel for Typed<M> {
    fn info(&self) -> Option<Info> {
        Some(M::INFO)
    }

    fn why_no_kernels(&self) -> Option<String> {
        why_no_kernels::<M>()
    }

    fn predict(&self, parameters: &[f64], arguments: &[f64], shape: &Shape) -> f64 {
        predict(&self.0, parameters, arguments, shape)
    }

    fn sum(
        &self,
        simd: Simd,
        setup: &Setup<f64>,
        parameters: &[f64],
        range: (usize, usize),
    ) -> f64 {
        let mut sum = 0.0;
        rows::single(simd, &self.0, setup, parameters, range, &mut sum);
        sum
    }

    fn linearise(
        &self,
        simd: Simd,
        setup: &Setup<f64>,
        parameters: &[f64],
        free: &[usize],
        range: (usize, usize),
        block: &mut [f64],
    ) {
        rows::linearise(simd, &self.0, setup, parameters, free, range, block);
    }
}

impl<M: Model, T: Number> ModelIn<T> for Typed<M> {
    fn evaluator(&self, simd: Simd, setup: Setup<T>, _: &Arc<[f64]>) -> Box<dyn Evaluator<T>> {
        Box::new(OnRows { model: self.0, simd, setup })
    }

    #[cfg(feature = "cuda")]
    fn on_gpu(
        &self,
        gpu: &Cuda,
        fit: &Fit,
        setup: Setup<T>,
        plan: Plan<T>,
    ) -> Result<Box<dyn Swarm<T>>> {
        gpu.swarm_of_fit::<M, T>(fit, setup, plan)
    }
}

/// A closure of parameters and arguments.
pub(super) type Predict = dyn Fn(&[f64], &[f64]) -> f64 + Send + Sync;

pub(super) struct Closure(pub Arc<Predict>);

/// The relative step of central differences: the cube root of the rounding error.
const STEP: f64 = 6e-6;

impl AnyModel for Closure {
    fn info(&self) -> Option<Info> {
        None
    }

    fn why_no_kernels(&self) -> Option<String> {
        Some(CLOSURE.to_owned())
    }

    fn has_derivatives(&self) -> bool {
        false
    }

    fn predict(&self, parameters: &[f64], arguments: &[f64], _: &Shape) -> f64 {
        (self.0)(parameters, arguments)
    }

    fn sum(&self, _: Simd, setup: &Setup<f64>, parameters: &[f64], range: (usize, usize)) -> f64 {
        rows::plain(&*self.0, setup, &setup.numbers, parameters, range)
    }

    fn linearise(
        &self,
        _: Simd,
        setup: &Setup<f64>,
        parameters: &[f64],
        free: &[usize],
        (first, count): (usize, usize),
        block: &mut [f64],
    ) {
        let columns = setup.shape.columns as usize;
        let numbers = |nth: usize| &setup.numbers[(first + nth) * (columns + 1)..][..=columns];
        let mut moved = parameters.to_vec();
        for (column, &parameter) in free.iter().enumerate() {
            let value = parameters[parameter];
            let step = if value == 0.0 { STEP } else { STEP * value.abs() };
            let (above, below) = (value + step, value - step);
            for nth in 0..count {
                let arguments = &numbers(nth)[..columns];
                moved[parameter] = above;
                let high = (self.0)(&moved, arguments);
                moved[parameter] = below;
                let low = (self.0)(&moved, arguments);
                block[column * count + nth] = (high - low) / (above - below);
            }
            moved[parameter] = value;
        }
        for nth in 0..count {
            let numbers = numbers(nth);
            let prediction = (self.0)(parameters, &numbers[..columns]);
            block[free.len() * count + nth] = numbers[columns] - prediction;
        }
    }
}

impl<T: Number> ModelIn<T> for Closure {
    fn evaluator(&self, _: Simd, setup: Setup<T>, data: &Arc<[f64]>) -> Box<dyn Evaluator<T>> {
        Box::new(Called { predict: Arc::clone(&self.0), setup, data: Arc::clone(data) })
    }

    #[cfg(feature = "cuda")]
    fn on_gpu(&self, _: &Cuda, fit: &Fit, _: Setup<T>, _: Plan<T>) -> Result<Box<dyn Swarm<T>>> {
        let (model, reason) = (fit.model_name().to_owned(), CLOSURE.to_owned());
        Err(crate::Error::ModelOnGpu { model, reason })
    }
}

struct Called<T> {
    predict: Arc<Predict>,
    setup: Setup<T>,
    data: Arc<[f64]>,
}

impl<T: Scalar> Evaluator<T> for Called<T> {
    fn evaluate(&self, view: &View<T>, mut tile: Judged<'_, T>) {
        let Self { predict, setup, data } = self;
        gather(&setup.fixed, view, tile.positions, tile.image);
        let (parameters, particles) = (&**tile.image, tile.particles);
        let bytes = data.len() / setup.rows.max(1) * size_of::<f64>();
        let sums = over_groups(setup.rows, bytes, &|first, count| {
            let mut sums = [T::ZERO; TILE];
            for (lane, sum) in sums.iter_mut().enumerate().take(particles) {
                let own: Vec<f64> =
                    parameters.iter().skip(lane).step_by(TILE).map(|x| x.to_f64()).collect();
                *sum = rows::plain(&**predict, setup, data, &own, (first, count));
            }
            sums
        });
        judge(view, &mut tile, &sums);
    }

    fn terms(&self, _: &View<T>) -> usize {
        // A call is expensive.
        self.setup.rows.saturating_mul(16)
    }
}
