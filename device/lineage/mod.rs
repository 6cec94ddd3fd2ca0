//! Published kernels, to be measured beside this project's own; nothing else uses them.
//!
//! | file | publication |
//! |---|---|
//! | [`floyd_warshall`] | Zuccato and Lena, blocked Floyd-Warshall (2022): shortest paths by tiles |
//! | [`hosala`] | Hosala, thesis (Charles University, 2014): sums of squares of a linear model |

pub mod floyd_warshall;
pub mod hosala;
