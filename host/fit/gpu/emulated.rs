//! The kernels of fits on the emulator, for tests on machines without a GPU.

use std::{marker::PhantomData, sync::Arc};

use flockwork_device::fit::Model;

use crate::{
    Error, Result,
    backend::{
        Backend, Emulated, Function, Number, Plan, Swarm, check_function,
        emulated::EmulatorMachine, function::misnamed, machine::Machine,
    },
    fit::Fit,
};

impl Emulated {
    /// A back end for fits of one model, whose kernels are compiled for the emulator at the call.
    /// Blocks have the size that fit kernels use.
    ///
    /// ```
    /// use flockwork::{backend::{Backend, Emulated}, fit::Logistic};
    ///
    /// let kernels = Emulated::new(3, 32).with_model(Logistic);
    /// assert_eq!(kernels.description(), "an emulated GPU, schedule 3");
    /// ```
    pub fn with_model<M: Model>(self, _: M) -> EmulatedFit<M> {
        EmulatedFit { emulated: self, model: PhantomData }
    }
}

/// The emulator as a back end for fits of one model, with the model's kernels.
///
/// ```
/// use flockwork::backend::{Backend, Cpu, Emulated};
/// use flockwork::fit::{Data, Fit, Saturation};
///
/// let data = Data::pairs([(1.0, 4.0), (2.0, 6.3), (4.0, 8.6), (8.0, 9.8), (16.0, 10.0)])?;
/// let fit = Fit::new(Saturation, data)?.with(|o| (o.particles, o.iterations) = (40, 3));
/// let kernels = fit.run_on(&Emulated::new(1, 32).with_model(Saturation), |_| {})?;
/// assert_eq!(kernels.outcome.position, fit.run_on(&Cpu::new(0)?, |_| {})?.outcome.position);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmulatedFit<M> {
    emulated: Emulated,
    model: PhantomData<M>,
}

impl<M> EmulatedFit<M> {
    pub(in crate::fit) fn machines(&self) -> Vec<EmulatorMachine> {
        self.emulated.machines()
    }
}

impl<M: Model> Backend for EmulatedFit<M> {
    fn name(&self) -> &'static str {
        "emulated"
    }

    fn description(&self) -> String {
        format!("an emulated GPU, schedule {}", self.emulated.schedule())
    }

    fn swarm<T: Number>(
        &self,
        function: &dyn Function,
        plan: Plan<T>,
    ) -> Result<Box<dyn Swarm<T>>> {
        let Some(fit) = Fit::behind(function).filter(|fit| fit.model_name() == M::INFO.name) else {
            let reason = format!("the emulator was given those of {}", M::INFO.name);
            return Err(Error::ModelOnGpu { model: function.info().name, reason });
        };
        if let Some(reason) = misnamed::<M>(M::KERNELS) {
            return Err(Error::ModelOnGpu { model: function.info().name, reason });
        }
        check_function(&plan, function)?;
        let setup = fit.setup_in::<T>()?;
        let width = setup.shape.columns as usize + 1;
        let machine = self.emulated.machine();
        let columns = super::by_column(&setup.numbers, width, setup.rows)?;
        #[expect(clippy::arc_with_non_send_sync, reason = "shared as a GPU's buffer is")]
        let columns = Arc::new(machine.upload(super::words(&columns))?);
        let strategy = self.emulated.strategy();
        Ok(Box::new(super::swarm::<M, _, T>(machine, setup, columns, plan, strategy)?))
    }
}
