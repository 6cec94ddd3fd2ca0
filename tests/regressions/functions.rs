//! Functions that are what their sources say.
