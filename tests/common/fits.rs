//! Fits on any back end, compared with the CPU's.

use std::ops::ControlFlow;

use flockwork::{
    Result,
    backend::{Backend, Cpu, Emulated, Number, Plan, Swarm},
    fit::{
        Data, Fit, Fitted, Loss, MODELS, ManySolver, Model, ModelInfo, Resample, Visitor,
        with_model,
    },
    swarm::{Options, Precision, Problem},
};

/// A back end for the fits of each model.
pub trait FitMachine {
    fn of_model<M: Model>(&self, model: M) -> impl Backend + ManySolver;
}

impl FitMachine for Emulated {
    fn of_model<M: Model>(&self, model: M) -> impl Backend + ManySolver {
        self.with_model(model)
    }
}

#[cfg(feature = "cuda")]
impl FitMachine for flockwork::backend::Cuda {
    fn of_model<M: Model>(&self, _: M) -> impl Backend + ManySolver {
        self.clone()
    }
}

/// A number in [0, 1) for each index.
fn share(index: u32) -> f64 {
    f64::from(index.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24)
}

/// Rows with positive arguments, and targets that depend on them slightly.
pub fn data(columns: u32, rows: u32) -> Data {
    let argument = |row: u32, column: u32| 0.25 + 5.0 * share(row * columns + column + 7);
    let arguments = (0..rows).flat_map(|r| (0..columns).map(move |c| argument(r, c)));
    let target = |row: u32| 1.0 + 0.5 * argument(row, 0) + share(row + 12_345);
    Data::new(columns, arguments, (0..rows).map(target)).expect("finite numbers")
}

/// The differences between comparisons.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub rows: u32,
    pub particles: u32,
    pub weighted: bool,
    pub loss: Loss,
    /// Fix every parameter but the first, and the first too if it is the only one.
    pub fixed: bool,
    /// Number of columns, if the model takes that many.
    pub columns: u32,
    pub precision: Precision,
}

impl Case {
    pub const fn of(rows: u32, particles: u32) -> Self {
        Self {
            rows,
            particles,
            weighted: false,
            loss: Loss::Squares,
            fixed: false,
            columns: 1,
            precision: Precision::F64,
        }
    }
}

/// The fit of a case, by the model's name.
pub fn fit(model: &str, case: &Case) -> Fit {
    let info = MODELS.iter().find(|info| info.name == model).expect("a model's name");
    let Case { rows, columns, .. } = *case;
    let columns = (columns..)
        .find(|&n| info.columns.contains(n))
        .or_else(|| (1..columns).find(|&n| info.columns.contains(n)))
        .expect("a model takes some");
    as_in(case, Fit::named(model, data(columns, rows)).unwrap())
}

/// The fit of a case, by a formula of x1, x2 and so on, and of parameters.
pub fn fit_of_formula(formula: &str, case: &Case) -> Fit {
    let names = (1..=case.columns).map(|nth| format!("x{nth}")).chain(["y".to_owned()]).collect();
    let data = data(case.columns, case.rows).named(names).unwrap();
    as_in(case, Fit::from_formula(&formula.parse().unwrap(), data).unwrap())
}

/// A fit with the options of a case.
pub fn as_in(case: &Case, fit: Fit) -> Fit {
    let Case { rows, particles, weighted, loss, fixed, precision, .. } = *case;
    let mut fit = fit.loss(loss, 0.5).unwrap();
    if weighted {
        fit = fit.weighted((0..rows).map(|row| f64::from(row % 4))).unwrap();
    }
    if fixed {
        let bounds = fit.all_bounds_of();
        for (nth, name) in fit.names().into_iter().enumerate().skip(1).step_by(2) {
            let (lower, upper) = bounds[nth];
            fit = fit.fixed(&name, lower + 0.75 * (upper - lower)).unwrap();
        }
    }
    fit.with(|options| {
        *options = Options {
            particles,
            precision: Some(precision),
            iterations: 4,
            seed: 3,
            ..Fit::options()
        };
    })
}

/// Checks that a back end computes the CPU's sums at many points, bit for bit, and then searches
/// like the CPU.
pub fn same_swarm<M: Model>(model: M, case: &Case, machine: &impl FitMachine) -> Result<()> {
    same_sums(&fit(M::INFO.name, case), case, &machine.of_model(model))
}

/// The same, of any fit.
pub fn same_sums(fit: &Fit, case: &Case, backend: &impl Backend) -> Result<()> {
    match case.precision {
        Precision::F32 => same_in::<f32>(fit, case, backend),
        Precision::F64 => same_in::<f64>(fit, case, backend),
    }
}

fn same_in<T: Number>(fit: &Fit, case: &Case, backend: &impl Backend) -> Result<()> {
    let problem = fit.problem()?;
    let plan = Plan::<T>::new(&problem, fit.swarm_options())?;
    let here = Cpu::new(0)?.swarm(problem.function(), plan.clone())?;
    let there = backend.swarm(problem.function(), plan)?;
    let what = format!("{} with {case:?} on {}", fit.model_name(), backend.description());
    compare(&problem, case, &what, [here, there])
}

fn compare<T: Number>(
    problem: &Problem,
    case: &Case,
    what: &str,
    [mut here, mut there]: [Box<dyn Swarm<T>>; 2],
) -> Result<()> {
    let point = |nth: u32| {
        let bounds = problem.lower().iter().zip(problem.upper());
        bounds.enumerate().map(move |(d, (&lower, &upper))| {
            T::nearest(lower + share(97 * nth + d as u32) * (upper - lower))
        })
    };
    let points: Vec<T> = (0..case.particles).flat_map(point).collect();
    let (expected, found) = (here.evaluate(&points)?, there.evaluate(&points)?);
    let bits = |values: &[T]| -> Vec<u64> { values.iter().map(|x| x.to_f64().to_bits()).collect() };
    assert_eq!(bits(&found), bits(&expected), "sums of {what}");
    here.start(None)?;
    there.start(None)?;
    for iterations in [1, 2] {
        here.advance(iterations)?;
        there.advance(iterations)?;
        assert!(here.snapshot()? == there.snapshot()?, "after {} of {what}", here.iteration());
    }
    Ok(())
}

/// Checks that a whole fit on a back end is the CPU's.
pub fn same_fit<M: Model>(model: M, case: &Case, machine: &impl FitMachine) -> Result<()> {
    let watch = |_: &flockwork::swarm::Progress| ControlFlow::Continue(());
    let (fit, backend) = (fit(M::INFO.name, case), machine.of_model(model));
    let (here, there) = (fit.run_on(&Cpu::new(0)?, watch)?, fit.run_on(&backend, watch)?);
    equal(&here, &there, &format!("{} with {case:?}", M::INFO.name));
    Ok(())
}

/// Checks that two results are the same.
pub fn equal(here: &Fitted, there: &Fitted, what: &str) {
    let bits = |fitted: &Fitted| -> Vec<u64> {
        let swarm = fitted.outcome.position.iter().copied().chain([fitted.outcome.value]);
        fitted.values().into_iter().chain([fitted.value]).chain(swarm).map(f64::to_bits).collect()
    };
    assert_eq!(bits(there), bits(here), "{what}");
    assert_eq!(there.descents, here.descents, "{what}");
}

/// Checks that several fits over the same data are the CPU's.
pub fn same_fits<M: Model>(model: M, case: &Case, machine: &impl FitMachine) -> Result<()> {
    let (fit, backend) = (fit(M::INFO.name, case), machine.of_model(model));
    let samples = Resample::bootstrap(case.rows as usize, 3, 5);
    let here = fit.run_many(&samples, &Cpu::new(0)?)?;
    let there = fit.run_many(&samples, &backend)?;
    assert_eq!(here.len(), there.len());
    for (here, there) in here.iter().zip(&there) {
        equal(here, there, &format!("samples of {} with {case:?}", M::INFO.name));
    }
    assert_ne!(here[0].values(), here[1].values(), "different weights, different results");
    Ok(())
}

/// Cases that together use every part of the kernels: ends of chunks and groups, full and
/// half-empty warps, weights, losses, fixed parameters.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for precision in [Precision::F32, Precision::F64] {
        let of = |rows, particles| Case { precision, ..Case::of(rows, particles) };
        cases.extend([
            of(1, 33),
            Case { weighted: true, loss: Loss::Huber, ..of(257, 31) },
            Case { fixed: true, loss: Loss::Cauchy, ..of(255, 1) },
            Case { weighted: true, fixed: true, loss: Loss::Absolute, ..of(300, 64) },
            of(1000, 3),
        ]);
    }
    cases
}

/// Calls `visit` for the model of each name.
pub fn for_each_model<M: FitMachine>(
    machine: &M,
    mut visit: impl FnMut(&'static ModelInfo) -> Vec<Case>,
) -> Result<()> {
    for info in MODELS {
        for case in visit(info) {
            same_named(info.name, &case, machine)?;
        }
    }
    Ok(())
}

/// [`same_swarm`] for a model by name.
pub fn same_named(name: &str, case: &Case, machine: &impl FitMachine) -> Result<()> {
    struct Same<'a, M>(&'a Case, &'a M);
    impl<F: FitMachine> Visitor for Same<'_, F> {
        type Output = Result<()>;
        fn visit<M: Model>(self, model: M) -> Result<()> {
            same_swarm(model, self.0, self.1)
        }
    }
    with_model(name, Same(case, machine)).unwrap_or_else(|_| panic!("there is a model {name}"))
}
