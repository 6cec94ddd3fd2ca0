//! Fitting models to data.
//!
//! A [`Fit`] is a [`Model`] over some [`Data`]. A swarm looks for the parameters in a box, without any
//! point to start from, and Levenberg-Marquardt finishes from the best places that it saw. What is
//! minimised is the sum over rows of weight times [`Loss`] of the residual.
//!
//! | file | holds |
//! |---|---|
//! | `data` | rows of data, kept once for all fits |
//! | `statement` | the model, its parameters, bounds, weights, loss and options |
//! | `run` | the search, and what comes after it |
//! | `fitted` | what was found, and how sure it is |
//! | `inference`, `quantile` | errors, covariances, intervals, R squared and likelihood |
//! | `model`, `rows` | models of a type or a closure; the sum over rows along SIMD lanes |
//! | `gpu/` | the sum over rows by a GPU's kernels, and by the emulator's |
//! | `levenberg_marquardt`, `triangle`, `dual` | down from a point: steps, least squares, derivatives |
//! | `units` | numbers whose squares are none |
//! | `origin` | polynomials whose arguments are far from zero |
//! | `gram` | models that are linear in their parameters, reduced to products of columns |
//! | `synthetic` | data whose best fit is known |
//!
//! ```
//! use flockwork::fit::{Data, Fit, MichaelisMenten};
//!
//! // Concentrations, and how fast the reaction was.
//! let measured = [(0.5, 1.7), (1.0, 2.9), (2.0, 4.2), (4.0, 5.6), (8.0, 6.8), (16.0, 7.3)];
//! let fitted = Fit::new(MichaelisMenten, Data::pairs(measured)?)?.run()?;
//! for parameter in &fitted.parameters {
//!     println!("{}: {:.3} +- {:.3}", parameter.name, parameter.value, parameter.error);
//! }
//! assert!((fitted.value("limit").unwrap() - 8.2).abs() < 0.2);
//! # Ok::<(), flockwork::Error>(())
//! ```

mod data;
mod dual;
mod fitted;
mod gpu;
mod gram;
mod inference;
mod levenberg_marquardt;
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
    Columns, Info, MODELS, Model, Order, Parameter, Range, Row, Rows, Shape, Size, Visitor,
    model as models, predict, sum, with_model,
};
pub use gpu::EmulatedFit;
#[cfg(feature = "cuda")]
pub(crate) use gpu::fused_per_second;
pub use gram::Gram;
pub(crate) use rows::Setup;
pub use run::Resample;
pub use statement::{Fit, Loss};
pub use synthetic::synthetic;

macro_rules! models {
    ($($module:ident: $type:ident,)*) => {
        #[doc(inline)]
        pub use flockwork_device::fit::{$($type),*};
    };
}
flockwork_device::for_each_model!(models);
