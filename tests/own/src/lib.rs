//! Functions and a model of a crate of its own, which are those of flockwork under other names.

pub mod functions;
pub mod model;
