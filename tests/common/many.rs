//! Many fits on any back end, compared with the CPU's.

use super::fits::FitMachine;
use flockwork::{
    Result,
    backend::{Cpu, Number},
    fit::{Fits, Loss, MODELS, Many, ManySolver, Model, ModelInfo, Stack, Visitor, with_model},
};

/// Which rows have weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weights {
    None,
    Shared,
    Own,
}

/// The differences between comparisons.
#[derive(Clone, Copy, Debug)]
pub struct ManyCase {
    pub sets: usize,
    pub rows: usize,
    pub own_arguments: bool,
    pub weights: Weights,
    pub missing: bool,
    pub poisson: bool,
    pub loss: Loss,
    /// Fix every second parameter.
    pub fixed: bool,
    /// Starting points that are looked for; none if 0, and then each data set has its own.
    pub starts: u32,
}

impl ManyCase {
    pub const fn of(sets: usize, rows: usize, starts: u32) -> Self {
        Self {
            sets,
            rows,
            own_arguments: false,
            weights: Weights::None,
            missing: false,
            poisson: false,
            loss: Loss::Squares,
            fixed: false,
            starts,
        }
    }
}

/// A number in [0, 1) for each index.
pub fn share(index: usize) -> f64 {
    let mut word = (index as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((word ^ word >> 31) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Data sets with positive arguments and targets.
pub fn stack<T: Number>(columns: u32, case: &ManyCase) -> Stack<T> {
    let &ManyCase { sets, rows, own_arguments, weights, missing, .. } = case;
    let width = columns as usize;
    let numbers = rows * width * if own_arguments { sets } else { 1 };
    let argument = |index: usize| 0.25 + 5.0 * share(index + 77);
    let target = |set: usize, row: usize| {
        // One is constant, and one has hardly any row.
        if set == 3 {
            return 2.5;
        }
        let x = argument(row * width);
        let is_missing = missing && (share(set * rows + row) < 0.2 || set == 5 && row > 0);
        let shape = 1.0 + (1.0 + share(set)) * x + 3.0 * (-x * share(set + 1000)).exp();
        if is_missing { f64::NAN } else { shape + share(set * rows + row + 12_345) }
    };
    let of = |x: f64| T::nearest(x);
    let arguments = (0..numbers).map(|index| of(argument(index))).collect();
    let targets = (0..sets * rows).map(|at| of(target(at / rows, at % rows))).collect();
    let stack = match own_arguments {
        true => Stack::with_own_arguments(columns, sets, arguments, targets),
        false => Stack::new(columns, arguments, targets),
    };
    let stack = stack.expect("data sets");
    let count = match weights {
        Weights::None => return stack,
        Weights::Shared => rows,
        Weights::Own => sets * rows,
    };
    // Some of them 0.
    let weight = |index: usize| of((index % 5) as f64 / 2.0);
    stack.weighted((0..count).map(weight).collect()).expect("weights")
}

/// The fits of a case.
pub fn many<T: Number>(model: &str, case: &ManyCase) -> Many<T> {
    let info = MODELS.iter().find(|info| info.name == model).expect("a model's name");
    let columns = (1..).find(|&n| info.columns.contains(n)).expect("a model takes some");
    as_in(case, Many::named(model, stack(columns, case)).unwrap())
}

/// The fits of a case by a formula of x, or of x1, x2 and so on.
pub fn many_of_formula<T: Number>(formula: &str, columns: u32, case: &ManyCase) -> Many<T> {
    let formula = formula.parse().expect("a formula");
    as_in(case, Many::from_formula(&formula, stack(columns, case)).unwrap())
}

/// Fits with the options of a case.
pub fn as_in<T: Number>(case: &ManyCase, many: Many<T>) -> Many<T> {
    let mut many = many.iterations(8).unwrap();
    let names = many.names();
    if case.poisson {
        many = many.poisson().unwrap();
    } else {
        many = many.loss(case.loss, 0.5).unwrap();
    }
    // The first is bounded, and some are fixed.
    many = many.bounds(&names[0], 0.25, 3.0).unwrap();
    if case.fixed {
        for name in names.iter().skip(1).step_by(2) {
            many = many.fixed(name, 0.75).unwrap();
        }
    }
    if case.starts > 0 {
        return many.starts(case.starts).unwrap();
    }
    let values = names.len() * case.sets;
    many.begin((0..values).map(|n| T::nearest(0.1 + 2.0 * share(n + 5))).collect()).unwrap()
}

/// Checks that a back end's results are the CPU's, bit for bit.
pub fn same_many<M: Model, T: Number>(
    _: M,
    case: &ManyCase,
    machine: &impl ManySolver,
) -> Result<()> {
    let many = many::<T>(M::INFO.name, case);
    if many.names().len() > M::MOST_PARAMETERS {
        assert!(many.run_on(machine, |_, _| {}).is_err(), "{} is too large", M::INFO.name);
        return Ok(());
    }
    let here = many.run_on(&Cpu::new(0)?, |_, _| {})?;
    let there = many.run_on(machine, |_, _| {})?;
    equal_fits(&here, &there, &format!("{} with {case:?} in {}", M::INFO.name, T::NAME));
    Ok(())
}

/// Checks that a back end's results for a formula are the CPU's, bit for bit, in both precisions.
pub fn same_many_of_formula(
    formula: &str,
    columns: u32,
    case: &ManyCase,
    machine: &impl ManySolver,
) -> Result<()> {
    fn same<T: Number>(many: &Many<T>, machine: &impl ManySolver, what: &str) -> Result<()> {
        let here = many.run_on(&Cpu::new(0)?, |_, _| {})?;
        equal_fits(&here, &many.run_on(machine, |_, _| {})?, what);
        Ok(())
    }
    let what = format!("{formula} with {case:?}");
    same(&many_of_formula::<f32>(formula, columns, case), machine, &format!("{what} in f32"))?;
    same(&many_of_formula::<f64>(formula, columns, case), machine, &format!("{what} in f64"))
}

/// Checks that two results are the same.
pub fn equal_fits<T: Number>(here: &Fits<T>, there: &Fits<T>, what: &str) {
    let bits = |x: &T| if x.to_f64().is_nan() { u64::MAX } else { x.to_f64().to_bits() };
    assert_eq!(here.len(), there.len(), "{what}");
    for set in 0..here.len() {
        let all = |fits: &Fits<T>| {
            let numbers = fits.parameters(set).iter().chain(fits.errors(set));
            let numbers: Vec<u64> = numbers.map(bits).chain([bits(&fits.value(set))]).collect();
            (numbers, fits.end(set), fits.iterations(set), fits.rows(set))
        };
        let (a, b) = (all(here), all(there));
        assert!(
            a == b,
            "data set {set} of {what}: {:?} {:?} {} {:?}, not {:?} {:?} {} {:?}",
            there.parameters(set),
            there.errors(set),
            there.value(set),
            (b.1, b.2, b.3),
            here.parameters(set),
            here.errors(set),
            here.value(set),
            (a.1, a.2, a.3),
        );
    }
}

/// Cases that together use every part of the kernel.
pub fn many_cases() -> Vec<ManyCase> {
    vec![
        ManyCase::of(21, 13, 0),
        ManyCase { weights: Weights::Shared, missing: true, ..ManyCase::of(9, 11, 3) },
        ManyCase { own_arguments: true, weights: Weights::Own, ..ManyCase::of(7, 9, 2) },
        ManyCase { poisson: true, fixed: true, missing: true, ..ManyCase::of(6, 17, 2) },
        ManyCase { own_arguments: true, loss: Loss::Huber, missing: true, ..ManyCase::of(6, 8, 0) },
        ManyCase { loss: Loss::Cauchy, ..ManyCase::of(5, 40, 0) },
    ]
}

/// [`same_many`] for every model, in both precisions.
pub fn same_many_of_all(
    machine: &impl FitMachine,
    mut cases: impl FnMut(&'static ModelInfo) -> Vec<ManyCase>,
) -> Result<()> {
    for info in MODELS {
        for case in cases(info) {
            same_many_named(info.name, &case, machine)?;
        }
    }
    Ok(())
}

/// [`same_many`] for a model by name, in both precisions.
pub fn same_many_named(name: &str, case: &ManyCase, machine: &impl FitMachine) -> Result<()> {
    struct Same<'a, M>(&'a ManyCase, &'a M);
    impl<F: FitMachine> Visitor for Same<'_, F> {
        type Output = Result<()>;
        fn visit<M: Model>(self, model: M) -> Result<()> {
            let solver = self.1.of_model(model);
            same_many::<M, f32>(model, self.0, &solver)?;
            same_many::<M, f64>(model, self.0, &solver)
        }
    }
    with_model(name, Same(case, machine)).unwrap_or_else(|_| panic!("there is a model {name}"))
}
