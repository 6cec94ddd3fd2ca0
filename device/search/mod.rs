//! Many independent searches side by side, and their restarts.
//!
//! A *search* is one run of CMA-ES from one starting point. A *lane* runs one search after the other:
//! lane `l` of `L` runs the searches `l`, `l + L`, `l + 2 L` and so on. A search's index decides its
//! start and its random numbers; with what its lane has done before, also its population and its
//! first deviation. On a GPU a lane is a block of threads, on a CPU it is one thread; a [`Team`] is
//! whichever it is. All arithmetic is here once and in one defined order, so a search gives the same
//! bits everywhere.
//!
//! | file | holds |
//! |---|---|
//! | [`schedule`] | what each search is |
//! | [`state`] | the numbers of a lane, and where each lies |
//! | [`team`] | the threads of a lane |
//! | [`words`] | the memory of a lane |
//! | [`area`] | the box |
//! | [`cmaes`] | a generation of CMA-ES |
//! | [`mod@line`] | STEP, a search along each axis across the box |
//! | [`kernel`] | the kernel: generations until a lane has used up its evaluations |

pub mod area;
pub mod cmaes;
pub mod kernel;
pub mod lane;
pub mod line;
pub mod schedule;
pub mod state;
pub mod team;
pub mod words;

pub use state::{Ended, Layout, State};
pub use team::Team;
pub use words::Words;
