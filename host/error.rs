//! The library's errors, in sentences: what was wrong, where, and what would be accepted.

use std::{fmt, path::PathBuf};

/// An error of the library.
///
/// ```
/// use flockwork::{Error, swarm::Problem};
///
/// let error = Problem::named("sphare", 3).unwrap_err();
/// assert!(error.to_string().starts_with("there is no objective function called \"sphare\""));
/// assert_eq!(format!("{error:?}"), error.to_string());
/// assert!(matches!(error, Error::UnknownObjective { name, .. } if name == "sphare"));
/// ```
///
/// `Debug` writes the sentence too: that is what `main` and `unwrap` print.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option has an invalid value.
    #[error("{option} is {value}; it must be {accepted}")]
    Option {
        /// The option's name, as in [`crate::swarm::Options`].
        option: &'static str,
        /// The value given.
        value: String,
        /// What would be accepted.
        accepted: String,
    },

    /// A swarm to be measured found a wrong result.
    #[error(
        "{particles} particles in {dims} dimensions found the best value {found}; it should be {expected}"
    )]
    Wrong {
        /// Number of particles.
        particles: u32,
        /// Number of dimensions.
        dims: u32,
        /// The value found.
        found: String,
        /// The value expected.
        expected: String,
    },

    /// Distances to be measured are wrong.
    #[error("the distance from {from} to {to} came out as {found}; it should be {expected}")]
    WrongDistance {
        /// The source.
        from: usize,
        /// The target.
        to: usize,
        /// The distance found; infinity for no path.
        found: f64,
        /// The distance expected.
        expected: f64,
    },

    /// A published kernel to be measured has a wrong result.
    #[cfg(feature = "lineage")]
    #[error("the published kernel {kernel} at {size} computed {found}; it should be {expected}")]
    WrongKernel {
        /// The kernel, with the name of its publication.
        kernel: String,
        /// The problem's size.
        size: String,
        /// What it computed, and where.
        found: String,
        /// What is expected.
        expected: String,
    },

    /// No publication with kernels in this build has this name.
    #[cfg(feature = "lineage")]
    #[error("there is no publication called {name:?}; there are: {known}")]
    UnknownWork {
        /// The name given.
        name: String,
        /// All known names.
        known: String,
    },

    /// No objective function has this name.
    #[error("there is no objective function called {name:?}; there are: {known}")]
    UnknownObjective {
        /// The name given.
        name: String,
        /// All known names.
        known: String,
    },

    /// No model has this name.
    #[error("there is no model called {name:?}; there are: {known}")]
    UnknownModel {
        /// The name given.
        name: String,
        /// All known names.
        known: String,
    },

    /// The model has no parameter with this name.
    #[error("the model {model} has no parameter {name:?}; it has: {known}")]
    UnknownParameter {
        /// The name given.
        name: String,
        /// The model.
        model: String,
        /// The names of its parameters.
        known: String,
    },

    /// The model does not take this number of argument columns.
    #[error("the model {model} takes {accepted} argument column(s), and the data have {found}")]
    Columns {
        /// The model.
        model: String,
        /// Number of argument columns in the data.
        found: u32,
        /// The numbers the model takes.
        accepted: String,
    },

    /// A model without kernels was to be fitted on a GPU.
    #[error("the model {model} has no GPU kernels ({reason}); use the CPU")]
    ModelOnGpu {
        /// The model.
        model: String,
        /// Why, and what would give it some.
        reason: String,
    },

    /// A formula has a mistake.
    #[error("the formula has a mistake {message}")]
    Formula {
        /// Where, what, and the text with carets below it.
        message: String,
    },

    /// A command cannot be run, or its program does not do what it should.
    #[error("the command `{command}` {message}")]
    Command {
        /// Its text.
        command: String,
        /// What is wrong, as the end of the sentence, and what the program wrote to its standard error.
        message: String,
    },

    /// A function that only the CPU evaluates was to be evaluated on a GPU.
    #[error("{function} is evaluated on the CPU: leave the back end out, or choose cpu")]
    OnlyOnCpu {
        /// What it is: a formula or a command.
        function: &'static str,
    },

    /// The function is not defined for this number of dimensions.
    #[error("{objective} is defined for {accepted} dimensions, not for {dims}")]
    Dimensions {
        /// The function.
        objective: String,
        /// The number given.
        dims: u32,
        /// The numbers of dimensions it is defined for.
        accepted: String,
    },

    /// The bounds do not describe a box.
    #[error(
        "dimension {dimension} has the bounds {lower:?} to {upper:?}; the lower must be \
         below the upper, or equal to it (but not of an angle), and both and their difference finite in \
         the run's precision"
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
        /// The length required.
        expected: usize,
    },

    /// The function cannot be shifted, needs data, or takes none.
    #[error("{objective} {why}")]
    Unsuitable {
        /// The function.
        objective: String,
        /// The reason, as the end of the sentence.
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

    /// The function had no finite value anywhere.
    #[error(
        "after {evaluations} evaluations {objective} had no finite value, only NaN or infinity; \
         check the bounds and the data"
    )]
    NoFiniteFitness {
        /// The function.
        objective: String,
        /// Number of points tried.
        evaluations: u64,
    },

    /// The function was infinitely good somewhere, so that nothing can be better.
    #[error(
        "after {evaluations} evaluations {objective} was {value} in {precision} at some point; a best \
         value must be finite, so return NaN where the function is not defined"
    )]
    #[non_exhaustive]
    InfiniteBest {
        /// The function.
        objective: String,
        /// The value: negative infinity, or positive infinity when maximising.
        value: f64,
        /// The arithmetic, whose range may have been exceeded.
        precision: &'static str,
        /// Number of points tried.
        evaluations: u64,
    },

    /// A cycle of edges has a negative weight, so going round it once more is always shorter.
    #[error(
        "a cycle of edges weighs {weight}, so paths through it have no shortest length: {}; \
         every cycle must weigh zero or more", cycle(.vertices)
    )]
    NegativeCycle {
        /// The vertices of the cycle in order, each once, numbered from 0 as in the library.
        vertices: Vec<usize>,
        /// The sum of its edges' weights.
        weight: f64,
    },

    /// A cycle of weight zero seems negative because sums are rounded.
    #[error(
        "the distance from vertex {vertex} to itself came out as {distance:e} because sums are \
         rounded in {weights}; use f64, or whole weights (multiplied by a common factor)"
    )]
    RoundedCycle {
        /// A vertex on the cycle, from 0.
        vertex: usize,
        /// Its computed distance to itself.
        distance: f64,
        /// The type of the weights.
        weights: &'static str,
    },

    /// Distances may exceed the range of the type they were to be computed in.
    #[error(
        "distances may be as large as {bound:e}, but {weights} only holds values up to {limit:e}; \
         accepted are {accepted}"
    )]
    Range {
        /// The type asked for.
        weights: &'static str,
        /// No path without repeated vertices weighs more than this.
        bound: f64,
        /// The largest value of the type.
        limit: f64,
        /// What would be accepted.
        accepted: &'static str,
    },

    /// A graph cannot have this edge.
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

    /// The caller asked to stop.
    #[error("stopped on request before the end; there is no result")]
    Interrupted,

    /// Something does not fit in memory.
    #[error("{} of memory are needed{}", size(*.needed), hint(.available))]
    Memory {
        /// Bytes needed.
        needed: u128,
        /// Bytes available, if known.
        available: Option<u64>,
    },

    /// Something does not fit in the GPU's memory.
    #[error(
        "at least {} of GPU memory are needed, but only {} may be used; free some, allow more \
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
        /// The cause.
        source: std::io::Error,
    },

    /// A file's contents are wrong.
    #[error("{}: {message}", path.display())]
    Format {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and what is expected.
        message: String,
    },

    /// The function failed: its own error, as it came.
    #[error(transparent)]
    Function(Box<dyn std::error::Error + Send + Sync>),

    /// The program was built without the back end asked for.
    #[error("this build has no GPU support; build it with the feature `cuda`, or use the CPU")]
    BuiltWithoutCuda,

    /// The objective function has no GPU kernels.
    #[error("{objective} has no GPU kernels ({reason}); use the CPU")]
    NoKernels {
        /// The function.
        objective: String,
        /// Why, and what would give it some.
        reason: String,
    },

    /// The emulator found a fault in a kernel.
    #[error(transparent)]
    Emulator(#[from] flockwork_device::gpu::emulator::Fault),

    /// An error of the GPU or its driver.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Cuda(#[from] crate::cuda::CudaError),
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The vertices of a cycle, ending with the first; a long cycle is abbreviated.
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
    available.map_or(", which cannot be allocated".to_owned(), |bytes| {
        format!(", but only {} are available", size(bytes.into()))
    })
}

fn size(bytes: u128) -> String {
    match bytes {
        0..0x10_0000 => format!("{bytes} bytes"),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0),
    }
}
