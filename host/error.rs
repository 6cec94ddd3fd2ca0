//! What can go wrong, in sentences: what was wrong, where, and what would be accepted.

use std::path::PathBuf;

/// An error of the library.
///
/// ```
/// use flockwork::{Error, swarm::Problem};
///
/// let error = Problem::named("sphare", 3).unwrap_err();
/// assert!(error.to_string().starts_with("there is no objective function called \"sphare\""));
/// assert!(matches!(error, Error::UnknownObjective { name, .. } if name == "sphare"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option has a value that makes no sense.
    #[error("{option} is {value}; it must be {accepted}")]
    Option {
        /// The option's name, as in [`crate::swarm::Options`].
        option: &'static str,
        /// The value given.
        value: String,
        /// What would be accepted.
        accepted: String,
    },

    /// A swarm that was to be measured has a wrong result.
    #[error(
        "{particles} particles in {dims} dimensions found the best value {found}; it should be {expected}"
    )]
    Wrong {
        /// Number of particles.
        particles: u32,
        /// Number of dimensions.
        dims: u32,
        /// What was found.
        found: String,
        /// What should have been.
        expected: String,
    },

    /// Distances that were to be measured are wrong.
    #[error("the distance from {from} to {to} came out as {found}; it should be {expected}")]
    WrongDistance {
        /// From which vertex.
        from: usize,
        /// To which vertex.
        to: usize,
        /// What was found; infinity for no path.
        found: f64,
        /// What should have been.
        expected: f64,
    },

    /// A published kernel that was to be measured has a wrong result.
    #[error("the published kernel {kernel} at {size} came to {found}; it should be {expected}")]
    WrongKernel {
        /// The kernel, with the name of its publication.
        kernel: String,
        /// The problem's size.
        size: String,
        /// What was found, and where.
        found: String,
        /// What should have been.
        expected: String,
    },

    /// No publication whose kernels are here has this name.
    #[error("there is no publication called {name:?}; there are: {known}")]
    UnknownWork {
        /// The name given.
        name: String,
        /// All names.
        known: String,
    },

    /// No objective function has this name.
    #[error("there is no objective function called {name:?}; there are: {known}")]
    UnknownObjective {
        /// The name given.
        name: String,
        /// All names.
        known: String,
    },

    /// No model has this name.
    #[error("there is no model called {name:?}; there are: {known}")]
    UnknownModel {
        /// The name given.
        name: String,
        /// All names.
        known: String,
    },

    /// The model has no parameter of this name.
    #[error("the model {model} has no parameter {name:?}; it has: {known}")]
    UnknownParameter {
        /// The name given.
        name: String,
        /// The model.
        model: String,
        /// Those that there are.
        known: String,
    },

    /// The data have another number of columns than the model takes.
    #[error(
        "the model {model} takes so many columns of arguments: {accepted}; the data have {found}"
    )]
    Columns {
        /// The model.
        model: String,
        /// Columns of arguments in the data.
        found: u32,
        /// How many it takes.
        accepted: String,
    },

    /// A fit of a model without kernels was to run on a GPU.
    #[error("the model {model} has no GPU kernels: the built-in models have; use the CPU for it")]
    ModelOnGpu {
        /// The model.
        model: String,
    },

    /// The function is not defined for this number of dimensions.
    #[error("{objective} is defined for {accepted} dimensions, not for {dims}")]
    Dimensions {
        /// The function.
        objective: String,
        /// The number given.
        dims: u32,
        /// What it is defined for.
        accepted: String,
    },

    /// The box is no box.
    #[error(
        "dimension {dimension} has the bounds {lower:?} to {upper:?}; the lower must be less than the \
         upper, and both and their difference finite in the run's precision"
    )]
    Bounds {
        /// Which dimension, from 0.
        dimension: usize,
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
    },

    /// A list has the wrong length.
    #[error("{what} has {found} entries; the problem needs {expected}")]
    Length {
        /// Which list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// What it must be.
        expected: usize,
    },

    /// The function cannot be shifted, or needs data, or takes none.
    #[error("{objective} {why}")]
    Unsuitable {
        /// The function.
        objective: String,
        /// What is the matter, as the end of the sentence.
        why: &'static str,
    },

    /// A number in the data is not finite.
    #[error(
        "{what} {index} of the data is {value:?}; every number must be finite, in the run's precision too"
    )]
    NotFinite {
        /// `coefficient`, `argument` or `target`.
        what: &'static str,
        /// Which one, from 0.
        index: usize,
        /// The value.
        value: f64,
    },

    /// Nowhere did the function have a finite value.
    #[error(
        "after {evaluations} evaluations {objective} had no finite value anywhere (NaN or infinity \
         at every point): there is no best; check the bounds and the data"
    )]
    NoFiniteFitness {
        /// The function.
        objective: String,
        /// How many points were tried.
        evaluations: u64,
    },

    /// Somewhere the function was infinitely good: nothing is better, and there is nothing to search.
    #[error(
        "after {evaluations} evaluations {objective} was {value} in {precision} at some point, where no \
         value can be better: a best value must be finite; where the function is not defined, NaN says so"
    )]
    #[non_exhaustive]
    InfiniteBest {
        /// The function.
        objective: String,
        /// The value: negative infinity, or positive where the greatest value is sought.
        value: f64,
        /// The arithmetic, whose range the value may have left.
        precision: &'static str,
        /// How many points were tried.
        evaluations: u64,
    },

    /// A cycle of edges has a negative weight: going round it once more is always shorter.
    #[error(
        "a cycle of edges weighs {weight}, so there is no shortest path for what it connects: {}; \
         every cycle must weigh zero or more", cycle(.vertices)
    )]
    NegativeCycle {
        /// The vertices of the cycle in order, each once, from 0 as the library counts them.
        vertices: Vec<usize>,
        /// The sum of its edges' weights.
        weight: f64,
    },

    /// A cycle that weighs nothing seems to be negative once sums are rounded.
    #[error(
        "the distance from vertex {vertex} to itself came out as {distance:e} because sums are \
         rounded in {weights}; take f64, or whole numbers (weights multiplied by a common factor)"
    )]
    RoundedCycle {
        /// A vertex on the cycle, from 0.
        vertex: usize,
        /// What its distance to itself came out as.
        distance: f64,
        /// The type of the weights.
        weights: &'static str,
    },

    /// Distances may leave the range of the type that they were to be computed in.
    #[error(
        "distances may be as large as {bound:e}, and {weights} holds them up to {limit:e}; \
         accepted are {accepted}"
    )]
    Range {
        /// The type asked for.
        weights: &'static str,
        /// No path without repeated vertices weighs more than this.
        bound: f64,
        /// What the type holds.
        limit: f64,
        /// What would be accepted.
        accepted: &'static str,
    },

    /// An edge of a graph cannot be had.
    #[error("the edge from {from} to {to} has the weight {weight}; {accepted}")]
    Edge {
        /// Where it starts, from 0.
        from: usize,
        /// Where it ends, from 0.
        to: usize,
        /// Its weight.
        weight: f64,
        /// What would be accepted, as a sentence.
        accepted: String,
    },

    /// Someone asked to stop.
    #[error("stopped before the end, as asked; there is no result")]
    Interrupted,

    /// Something does not fit into memory.
    #[error("{} of memory are needed, which cannot be had{}", size(*.needed), hint(.available))]
    Memory {
        /// Bytes needed.
        needed: u128,
        /// Bytes there are, if known.
        available: Option<u64>,
    },

    /// Something does not fit into a GPU's memory.
    #[error(
        "{} of the GPU's memory are needed at least, and {} may be used; free some, allow more \
         (--gpu-memory), or compute on the CPU",
        size(*.needed),
        size(u128::from(*.available))
    )]
    GpuMemory {
        /// Bytes needed.
        needed: u128,
        /// Bytes that may be used.
        available: u64,
    },

    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What happened.
        source: std::io::Error,
    },

    /// A file holds something else than it should.
    #[error("{}: {message}", path.display())]
    Format {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and what is expected.
        message: String,
    },

    /// The program was built without the back end that was asked for.
    #[error("this build has no GPU support; build it with the feature `cuda`, or use the CPU")]
    BuiltWithoutCuda,

    /// The objective function has no GPU kernel.
    #[error(
        "{objective} has no GPU kernel: register it in device/objective/mod.rs and build again, or \
         use the CPU"
    )]
    NotRegistered {
        /// The function.
        objective: String,
    },

    /// The emulator found a fault in a kernel.
    #[error(transparent)]
    Emulator(#[from] flockwork_device::gpu::emulator::Fault),

    /// The GPU or its driver.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Cuda(#[from] crate::cuda::CudaError),
}

/// The vertices of a cycle, and the first again; only some of a long one.
fn cycle(vertices: &[usize]) -> String {
    const SHOWN: usize = 20;
    let mut text: Vec<_> = vertices.iter().take(SHOWN).map(usize::to_string).collect();
    if vertices.len() > SHOWN {
        text.push(format!("... ({} more)", vertices.len() - SHOWN));
    }
    text.extend(vertices.first().map(usize::to_string));
    text.join(" -> ")
}

fn hint(available: &Option<u64>) -> String {
    available.map_or(String::new(), |bytes| format!(": there are {}", size(bytes.into())))
}

fn size(bytes: u128) -> String {
    match bytes {
        0..0x10_0000 => format!("{bytes} bytes"),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0),
    }
}
