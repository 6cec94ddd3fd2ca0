//! Fitting models to data.
//!
//! A [`Fit`] is a [`Model`] with some [`Data`]. A swarm searches the whole box for the parameters,
//! without a starting point, and Levenberg-Marquardt finishes from the best places it saw. The sum
//! minimised is that of weight times [`Loss`] of the residual, over all rows.
//!
//! | file | holds |
//! |---|---|
//! | `data` | rows of data, stored once for all fits |
//! | `statement` | the model, its parameters, bounds, weights, loss and options |
//! | `run` | the search, and the steps after it |
//! | `fitted` | the result: estimates, errors, statistics |
//! | `inference`, `quantile` | standard errors, covariances, intervals, R squared and likelihood |
//! | `model`, `rows` | models of a type or a closure; the sum over rows with SIMD |
//! | `formula` | a model that is typed in |
//! | `gpu/` | the sum over rows by a GPU's kernels, and by the emulator's |
//! | `levenberg_marquardt`, `triangle`, `dual` | local descent: steps, least squares, derivatives |
//! | `many/` | many data sets at once |
//! | `units` | rescaling of data whose squares overflow or underflow |
//! | `origin` | polynomials with arguments far from zero |
//! | `gram` | models linear in their parameters, reduced to products of columns |
//! | `synthetic` | data whose best fit is known |
//!
//! ```
//! use flockwork::fit::{Data, Fit, MichaelisMenten};
//!
//! // Concentrations, and reaction rates.
//! let measured = [(0.5, 1.7), (1.0, 2.9), (2.0, 4.2), (4.0, 5.6), (8.0, 6.8), (16.0, 7.3)];
//! let fitted = Fit::new(MichaelisMenten, Data::pairs(measured)?)?.run()?;
//! for parameter in &fitted.parameters {
//!     println!("{}: {:.3} +- {:.3}", parameter.name, parameter.value, parameter.error);
//! }
//! assert!((fitted.value("limit").unwrap() - 8.2).abs() < 0.2);
//! # Ok::<(), flockwork::Error>(())
//! ```

mod data;
mod fitted;
mod formula;
mod gpu;
mod gram;
mod inference;
mod levenberg_marquardt;
mod many;
mod model;
mod origin;
mod quantile;
mod rows;
mod run;
mod statement;
mod synthetic;
mod triangle;
mod units;

pub use data::Data;
pub use fitted::{Estimate, Fitted, Matrix, Prediction, Statistics, Status};
pub use flockwork_device::fit::{
    Columns, Info as ModelInfo, Kernels, MODELS, Model, Order, Parameter, Range, Row, Rows, Shape,
    Size, Visitor, model as models, predict, sum, with_model,
};
pub use gpu::EmulatedFit;
#[cfg(feature = "cuda")]
pub(crate) use gpu::fused_per_second;
pub use gram::Gram;
pub use many::{End, Fits, Many, ManySolver, Merged, Shard, Stack};
pub use quantile::student_t;
pub(crate) use rows::Setup;
pub use run::Resample;
pub use statement::{Fit, Loss};
pub use synthetic::synthetic;

/// The earlier name of [`ModelInfo`].
///
/// ```
/// # #[allow(deprecated)]
/// let info: flockwork::fit::Info = flockwork::fit::MODELS[0];
/// assert!(!info.name.is_empty());
/// ```
#[deprecated(note = "it is called `ModelInfo`: `objective::Info` is of functions")]
pub type Info = ModelInfo;

macro_rules! models {
    ($($module:ident: $type:ident,)*) => {
        #[doc(inline)]
        pub use flockwork_device::fit::{$($type),*};
    };
}
flockwork_device::for_each_model!(models);
