//! The plan that a back end gets: everything that decides the bits of a run, in its precision.

use flockwork_device::{
    gpu::memory::ReadOnly,
    math::Scalar,
    random::{Key, philox},
    swarm::{
        edge::Edge,
        layout,
        settings::{Randomness, Rule, Schedule, Settings, Tuning},
        topology::{Kind, Topology},
        update::{Bound, Coefficients},
        view::View,
    },
};

/// Four numbers, aligned as kernels load them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(16))]
pub struct FourWords<T>(pub [T; 4]);

/// One swarm of several that are advanced together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member<T> {
    /// Its seed.
    pub seed: u64,
    /// Its coefficients.
    pub tuning: Tuning<T>,
}

/// Everything that decides the bits of a run, except the function. `Plan::new` makes it from a
/// problem and options, and checks it.
///
/// ```
/// use flockwork::backend::{Backend, Cpu, Plan};
/// use flockwork::{objective::Sphere, swarm::{Options, Problem}};
///
/// let problem = Problem::new(Sphere, 3)?;
/// let options = Options { particles: 100, ..Options::default() };
/// let plan = Plan::<f32>::new(&problem, &options)?;
/// assert_eq!((plan.dims(), plan.swarms()), (3, 1));
/// // One plan for any back end and any number of swarms.
/// let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan.clone())?;
/// let mut again = Cpu::new(2)?.swarm(problem.function(), plan.in_general())?;
/// swarm.start(None)?;
/// again.start(None)?;
/// assert_eq!(swarm.best()?, again.best()?);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<T> {
    /// The function's own name: a plan is for no other function.
    pub(crate) objective: String,
    /// Number of particles of each swarm.
    pub(crate) particles: u32,
    /// The swarms.
    pub(crate) members: Vec<Member<T>>,
    pub(crate) rule: Rule,
    pub(crate) topology: Topology,
    pub(crate) edge: Edge,
    pub(crate) randomness: Randomness,
    pub(crate) schedule: Schedule,
    /// Iterations over which the inertia weight changes from its first value to its last.
    pub(crate) iterations: u32,
    pub(crate) patience: u32,
    /// The bound of each dimension: see [`Bound`].
    pub(crate) bounds: Vec<FourWords<T>>,
    /// The kind of each dimension's variable; empty if all are continuous.
    pub(crate) variables: Vec<u32>,
    /// 1, or -1 where the function is maximised.
    pub(crate) sign: T,
    /// The rotation, row-major; empty if there is none.
    pub(crate) rotation: Vec<T>,
    /// What is added after the rotation; empty if there is none.
    pub(crate) pivot: Vec<T>,
    /// The function's data.
    pub(crate) data: Vec<T>,
    /// Whether particles do not wait for each other; requires [`Plan::is_fusible`].
    pub(crate) asynchronous: bool,
    /// For tests: take two launches per iteration even if a fused one would do.
    pub(crate) general: bool,
}

/// Where a back end keeps the data that does not change during a run.
#[derive(Clone, Copy, Debug)]
pub struct Fixed<T> {
    pub(crate) bounds: ReadOnly<T>,
    pub(crate) variables: ReadOnly<u32>,
    pub(crate) keys: ReadOnly<Key>,
    pub(crate) tunings: ReadOnly<T>,
    pub(crate) rotation: ReadOnly<T>,
    pub(crate) pivot: ReadOnly<T>,
    pub(crate) data: ReadOnly<T>,
}

impl<T: Scalar> Plan<T> {
    /// Number of dimensions.
    pub fn dims(&self) -> u32 {
        self.bounds.len() as u32
    }

    /// Number of swarms.
    pub fn swarms(&self) -> u32 {
        self.members.len() as u32
    }

    /// Slots of all swarms.
    pub fn slots(&self) -> usize {
        layout::stride(self.particles as usize) * self.members.len()
    }

    /// Bytes of the state: positions, velocities and personal bests of all tiles, plus each
    /// particle's exemplars and best fitness.
    pub fn state_bytes(&self) -> u128 {
        let slots = layout::tiles(self.particles as usize) as u128
            * layout::TILE as u128
            * self.members.len() as u128;
        let dims = u128::from(self.dims());
        let word = size_of::<T>() as u128;
        let exemplars = if self.learns() { 4 * dims } else { 0 };
        slots * (3 * dims * word + exemplars + 2 * word + 4)
    }

    /// Whether particles choose whom they learn from.
    pub(crate) fn learns(&self) -> bool {
        self.rule == Rule::Comprehensive
    }

    /// Whether a move reads other particles' personal bests, not just the global best.
    pub(crate) fn reads_others(&self) -> bool {
        self.topology.kind != Kind::Global || self.learns()
    }

    /// Whether the plan's move and evaluation can be one kernel: see
    /// [`step`](flockwork_device::swarm::step).
    pub(crate) fn is_fusible(&self) -> bool {
        !self.general
            && self.members.len() == 1
            && self.rule == Rule::Inertia
            && self.topology.kind == Kind::Global
            && self.edge == Edge::Absorb
            && self.randomness == Randomness::PerDimension
            && self.variables.is_empty()
            && self.rotation.is_empty()
    }

    /// The same plan with the general strategy, which gives the same bits. Not for asynchronous
    /// swarms, which have no general strategy.
    pub fn in_general(mut self) -> Self {
        self.general = true;
        self
    }

    /// The bound of the first dimension, and whether all dimensions have the same one; their shifts
    /// may differ.
    pub(crate) fn any_bound(&self) -> (Bound<T>, bool) {
        let limits = |words: &FourWords<T>| Bound { shift: T::ZERO, ..Bound::from_words(words.0) };
        let alike = self.bounds.iter().all(|other| limits(other) == limits(&self.bounds[0]));
        (Bound::from_words(self.bounds[0].0), alike)
    }

    /// The seeds in the form that kernels take.
    pub(crate) fn keys(&self) -> Vec<Key> {
        self.members.iter().map(|member| philox::key(member.seed)).collect()
    }

    /// The coefficients in the form that kernels take.
    pub(crate) fn tunings(&self) -> Vec<FourWords<T>> {
        self.members.iter().map(|member| FourWords(member.tuning.to_words())).collect()
    }

    /// The share of the requested iterations that are done.
    pub(crate) fn progress(&self, iteration: u32) -> T {
        T::nearest((f64::from(iteration) / f64::from(self.iterations.max(1))).min(1.0))
    }

    /// A swarm's coefficients in this iteration.
    pub(crate) fn coefficients(&self, member: usize, iteration: u32) -> Coefficients<T> {
        let Member { seed, tuning } = self.members[member];
        tuning.at(self.schedule, self.progress(iteration), philox::key(seed), iteration)
    }

    /// How the function sees positions, for code that runs here.
    ///
    /// # Safety
    /// It may be used only while the plan lives and stays as it is.
    pub(crate) unsafe fn view_here(&self) -> View<T> {
        // SAFETY: the caller's promise.
        self.view(unsafe { self.fixed_here(&[], &[]) })
    }

    /// Where the data that does not change lies here, with these keys and coefficients.
    ///
    /// # Safety
    /// It may be used only while plan, keys and coefficients live and stay as they are.
    pub(crate) unsafe fn fixed_here(&self, keys: &[Key], tunings: &[FourWords<T>]) -> Fixed<T> {
        fn words<T>(words: &[FourWords<T>]) -> ReadOnly<T> {
            let length = size_of_val(words) / size_of::<T>();
            // SAFETY: the caller's promise; each element is four numbers without padding.
            unsafe { ReadOnly::new(words.as_ptr().cast(), length) }
        }
        fn all<E>(elements: &[E]) -> ReadOnly<E> {
            // SAFETY: the caller's promise.
            unsafe { ReadOnly::new(elements.as_ptr(), elements.len()) }
        }
        Fixed {
            bounds: words(&self.bounds),
            variables: all(&self.variables),
            keys: all(keys),
            tunings: words(tunings),
            rotation: all(&self.rotation),
            pivot: all(&self.pivot),
            data: all(&self.data),
        }
    }

    /// The settings that all particles share.
    pub(crate) fn settings(&self, fixed: Fixed<T>) -> Settings<T> {
        Settings {
            particles: self.particles,
            swarms: self.swarms(),
            dims: self.dims(),
            rule: self.rule,
            topology: self.topology,
            edge: self.edge,
            randomness: self.randomness,
            schedule: self.schedule,
            patience: self.patience,
            bounds: fixed.bounds,
            variables: fixed.variables,
            keys: fixed.keys,
            tunings: fixed.tunings,
        }
    }

    /// How the function sees positions.
    pub(crate) fn view(&self, fixed: Fixed<T>) -> View<T> {
        View {
            dims: self.dims(),
            box_only: u32::from(self.edge == Edge::Invisible),
            sign: self.sign,
            bounds: fixed.bounds,
            variables: fixed.variables,
            rotation: fixed.rotation,
            pivot: fixed.pivot,
            data: fixed.data,
        }
    }
}
