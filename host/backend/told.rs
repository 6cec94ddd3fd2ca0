//! Where a swarm on a GPU and the caller who evaluates its points there meet.

use std::{
    hint::spin_loop,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use flockwork_device::{math::Scalar, swarm::view::View};

use super::{
    Cuda, Evaluator, Function, FunctionIn, Judged, Number, Plan, Simd, Swarm,
    cuda::GpuMachine,
    function::Named,
    told_kernels::{Shown, ToldKernels, Values},
};
use crate::{Error, Result};

pub(crate) type ShownOnGpu = Shown<GpuMachine>;

/// How long either side looks for the other before it sleeps. A turn takes some microseconds, and to wake
/// a thread takes the system more than that.
const AWAKE: Duration = Duration::from_micros(400);

/// Hands points over, and their values back.
#[derive(Default)]
pub(crate) struct Handover {
    state: Mutex<State>,
    changed: Condvar,
    /// Counts changes of the state.
    changes: AtomicU64,
}

#[derive(Default)]
struct State {
    /// The points, until the caller takes them.
    shown: Option<ShownOnGpu>,
    /// The values, until the swarm takes them.
    values: Option<Values<GpuMachine>>,
    /// Whether the caller wants no more points.
    is_ended: bool,
    /// Whether nothing more will be shown.
    is_over: bool,
}

impl Handover {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changes.fetch_add(1, Ordering::Release);
        self.changed.notify_all();
    }

    /// Waits until there is what is looked for.
    fn wait_for<R>(&self, mut look: impl FnMut(&mut State) -> Option<R>) -> R {
        let began = Instant::now();
        loop {
            let seen = self.changes.load(Ordering::Acquire);
            let mut state = self.lock();
            if let Some(found) = look(&mut state) {
                return found;
            }
            if began.elapsed() > AWAKE {
                // Given back at once: the loop looks again.
                drop(self.changed.wait(state).unwrap_or_else(PoisonError::into_inner));
                continue;
            }
            drop(state);
            while self.changes.load(Ordering::Acquire) == seen && began.elapsed() <= AWAKE {
                spin_loop();
            }
        }
    }

    /// Shows points and waits for their values; `None` if there will be none.
    fn ask(&self, shown: ShownOnGpu) -> Option<Values<GpuMachine>> {
        self.change(|state| state.shown = Some(shown));
        self.wait_for(|state| match state.values.take() {
            Some(values) => Some(Some(values)),
            None => state.is_ended.then_some(None),
        })
    }

    /// The next points; `None` if there will be none.
    pub fn next(&self) -> Option<ShownOnGpu> {
        self.wait_for(|state| match state.shown.take() {
            Some(shown) => Some(Some(shown)),
            None => (state.is_over || state.is_ended).then_some(None),
        })
    }

    /// Takes the values of the points.
    pub fn tell(&self, values: Values<GpuMachine>) {
        self.change(|state| state.values = Some(values));
    }

    /// The caller wants no more points.
    pub fn end(&self) {
        self.change(|state| state.is_ended = true);
    }

    /// Nothing more will be shown.
    pub fn is_over(&self) {
        self.change(|state| state.is_over = true);
    }
}

/// A function whose values somebody tells on a GPU.
pub(crate) struct ToldOnGpu {
    handover: Arc<Handover>,
    dims: u32,
    name: String,
}

impl ToldOnGpu {
    /// # Safety
    /// The values that are told are as many as the points, and lie where it says until others are told or
    /// the swarm has ended.
    pub unsafe fn new(handover: Arc<Handover>, dims: u32, name: &str) -> Self {
        Self { handover, dims, name: name.to_owned() }
    }
}

impl Function for ToldOnGpu {
    fn info(&self) -> Named {
        Named { name: self.name.clone(), info: None }
    }

    fn only_dims(&self) -> Option<u32> {
        Some(self.dims)
    }

    fn has_kernels(&self) -> bool {
        true
    }

    fn why_on_cpu(&self) -> (&'static str, Error) {
        let error = Error::Option {
            option: "method",
            value: "search".to_owned(),
            accepted: "swarm where the caller evaluates the points on a GPU".to_owned(),
        };
        ("only swarms show their points on a GPU", error)
    }

    fn can_be_cut_short(&self) -> bool {
        true
    }

    fn was_cut_short(&self) -> Result<bool> {
        Ok(self.handover.lock().is_ended)
    }
}

impl<T: Number> FunctionIn<T> for ToldOnGpu {
    fn evaluator(&self, _: Simd) -> Box<dyn Evaluator<T>> {
        Box::new(NotHere)
    }

    fn on_gpu(&self, gpu: &Cuda, plan: Plan<T>) -> Result<Box<dyn Swarm<T>>> {
        let handover = Arc::clone(&self.handover);
        // SAFETY: as `new` was promised; when the caller ends the search, nothing is launched that reads values,
        // and it waits for the swarm.
        let kernels =
            unsafe { ToldKernels::new(Box::new(move |shown| handover.ask(shown)), &plan) };
        gpu.told_swarm(kernels, plan)
    }
}

/// Nobody tells values to the CPU.
struct NotHere;

impl<T: Scalar> Evaluator<T> for NotHere {
    fn evaluate(&self, _: &View<T>, tile: Judged<'_, T>) {
        tile.fitness.fill(T::INFINITY);
    }

    fn terms(&self, _: &View<T>) -> usize {
        1
    }
}
