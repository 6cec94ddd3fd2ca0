//! Published kernels, to be measured beside this project's own; nothing else uses them.
//!
//! | file | publication |
//! |---|---|
//! | [`boudoudouh`] | Boudoudouh, Particle Swarm Optimization in CUDA (2018): six versions of a swarm's iteration |
//! | [`cupso`] | cuPSO (Wang, Ho, Tu, Hung, 2022): reductions and queues for the swarm's best |
//! | [`floyd_warshall`] | Zuccato and Lena, blocked Floyd-Warshall (2022): shortest paths by tiles |
//! | [`hosala`] | Hosala, thesis (Charles University, 2014): reductions, random numbers, layouts, sums of squares |

pub mod boudoudouh;
pub mod cupso;
pub mod floyd_warshall;
pub mod hosala;
