//! Published kernels, to be measured beside this project's own; nothing else uses them.
//!
//! | file | publication |
//! |---|---|
//! | [`hosala`] | Hosala, thesis (Charles University, 2014): sums of squares of a linear model |

pub mod hosala;
