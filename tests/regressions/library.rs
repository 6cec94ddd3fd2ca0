//! The library as a crate of one's own uses it.
