//! Pictures of a run, from plain numbers: [`convergence`] draws the best value against the
//! iterations, [`animation`] the particles over the contour map of a function of two variables.
//!
//! Nothing here knows swarms or back ends, and nothing of the system is needed: lines and letters are
//! drawn by this module itself, the letters from outlines in `glyphs.txt`. A picture is written whole
//! or not at all.

mod animation;
mod axis;
mod canvas;
mod convergence;
mod file;
mod glyphs;
mod map;
mod raster;
mod svg;

pub use animation::{Animation, Frame, animation};
pub use convergence::{Convergence, Sample, convergence};
