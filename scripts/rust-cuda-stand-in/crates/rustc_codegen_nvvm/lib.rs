//! The library that rustc would load. This one is only there to be found.
