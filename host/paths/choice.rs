//! The type to compute in.

use super::{Distances, Graph, PathOptions, Solver, Watcher, Weight, check};
use crate::{Result, names::named};

named! {
    /// The type in which distances are computed, or `Auto` to choose it from the graph.
    ///
    /// ```
    /// use flockwork::paths::{Graph, Weights};
    ///
    /// let small = Graph::new(2, [(0, 1, 5.0)])?;
    /// assert_eq!(Weights::Auto.settled(&small), Weights::U16);
    /// let real = Graph::new(2, [(0, 1, 0.5)])?;
    /// assert_eq!(Weights::Auto.settled(&real), Weights::F64);
    /// assert_eq!("i32".parse::<Weights>()?, Weights::I32);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    #[derive(Default)]
    pub enum Weights("weights") {
        /// The fastest type that is exact and cannot overflow: see [`Weights::settled`].
        #[default]
        Auto = "auto",
        /// Single precision: sums are rounded to 24 bits.
        F32 = "f32",
        /// Double precision: sums are rounded to 53 bits.
        F64 = "f64",
        /// Whole numbers; distances of magnitude up to 2^29 - 1.
        I32 = "i32",
        /// Non-negative whole numbers; distances up to 2^15 - 2. Twice as fast as the 32-bit types.
        U16 = "u16",
    }
}

impl Weights {
    /// The type for a graph. `Auto` becomes `u16` or `i32` if all weights are whole and every
    /// distance is sure to fit, otherwise `f64`.
    ///
    /// ```
    /// use flockwork::paths::{Graph, Weights};
    ///
    /// let negative = Graph::new(2, [(0, 1, -5.0)])?;
    /// assert_eq!(Weights::Auto.settled(&negative), Weights::I32);
    /// assert_eq!(Weights::F32.settled(&negative), Weights::F32);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn settled(self, graph: &Graph) -> Self {
        if self != Self::Auto {
            return self;
        }
        if !graph.is_whole() {
            return Self::F64;
        }
        let bound = check::bound(graph, u16::LIMIT);
        let negative = graph.range().is_some_and(|(least, _)| least < 0.0);
        match bound {
            _ if bound <= u16::LIMIT && !negative => Self::U16,
            _ if bound <= i32::LIMIT => Self::I32,
            _ => Self::F64,
        }
    }
}

/// Distances in the chosen type.
///
/// ```
/// use flockwork::{backend::Cpu, paths::{AnyDistances, Graph, PathOptions, Weights}};
///
/// let graph = Graph::new(2, [(0, 1, 5.0)])?;
/// let cpu = Cpu::new(1)?;
/// let AnyDistances::U16(distances) =
///     AnyDistances::compute(&graph, Weights::Auto, &cpu, PathOptions::default(), |_, _| {})?
/// else {
///     panic!("they are whole and small");
/// };
/// assert_eq!(distances.get(0, 1), Some(5));
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum AnyDistances {
    /// In single precision.
    F32(Distances<f32>),
    /// In double precision.
    F64(Distances<f64>),
    /// In 32-bit integers.
    I32(Distances<i32>),
    /// In 16-bit integers.
    U16(Distances<u16>),
}

impl AnyDistances {
    /// [`Graph::distances_while`] in the type given by `weights`.
    ///
    /// ```
    /// use flockwork::{backend::Cpu, paths::{AnyDistances, Graph, PathOptions, Weights}};
    ///
    /// let graph = Graph::new(2, [(0, 1, 5.0)])?;
    /// let (cpu, options) = (Cpu::new(1)?, PathOptions::default());
    /// let distances = AnyDistances::compute(&graph, Weights::F32, &cpu, options, |_, _| {})?;
    /// assert!(matches!(distances, AnyDistances::F32(_)));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Graph::distances_while`].
    pub fn compute(
        graph: &Graph,
        weights: Weights,
        solver: &impl Solver,
        options: PathOptions,
        watch: impl Watcher + Send,
    ) -> Result<Self> {
        Ok(match weights.settled(graph) {
            Weights::F32 => Self::F32(graph.distances_while(solver, options, watch)?),
            Weights::I32 => Self::I32(graph.distances_while(solver, options, watch)?),
            Weights::U16 => Self::U16(graph.distances_while(solver, options, watch)?),
            Weights::F64 | Weights::Auto => {
                Self::F64(graph.distances_while(solver, options, watch)?)
            }
        })
    }
}
