//! Every kernel that exists, in one list.
//!
//! Families times objective functions times precisions. The PTX exports, the host's lists and the
//! tests all come from here: nothing is listed twice.
//!
//! ```
//! use flockwork_device::registry::{OBJECTIVES, for_each_kernel};
//!
//! let mut kernels = 0;
//! for_each_kernel(|_| kernels += 1);
//! println!("{} functions, {kernels} kernels", OBJECTIVES.len());
//! assert!(kernels > OBJECTIVES.len());
//! ```

#[macro_use]
mod export;
#[cfg(feature = "lineage")]
#[macro_use]
mod published;

use core::any::TypeId;

#[cfg(feature = "lineage")]
use crate::lineage::{boudoudouh, cupso, floyd_warshall, hosala};

use crate::{
    fit::{self, Model},
    for_each_model, for_each_model_template, for_each_objective, for_each_template,
    kernel::{Facts, Kernel, Name, same},
    objective::{self, Info, Objective},
    paths::kernels::cell,
};
use families::*;

/// The types of the kernels that the lists name.
#[doc(hidden)]
pub mod families {
    pub use crate::{
        fit::kernels::{
            ceiling::{Ceiling, MatrixCeiling},
            judge::Judge,
            many::Many,
            matrix::{
                Matrix4By16, Matrix4By64, Matrix8By16, Matrix8By64, Matrix16By16, Matrix16By32,
                Matrix16By64,
            },
            squares::{
                Squares4By2, Squares4By4, Squares4By4Halved, Squares8By2, Squares8By4,
                Squares8By4Halved, Squares16By2, Squares16By4,
            },
            sums::Sums,
        },
        formula::kernel::Operations,
        paths::kernels::{
            ceiling::InRegisters,
            closure::Closure,
            mirror::Mirror,
            outer::{Outer, OuterVia},
            panels::{Panels, PanelsVia},
            pivots::{ClosePivots, ClosePivotsVia},
        },
        search::kernel::Searches,
        swarm::kernels::{
            evaluate::Evaluate,
            implant::Implant,
            migrate::{Emigrate, Immigrate},
            motion::{Advance, Scatter},
            order::{Arrange, CatchUp},
            resident::{Cooperative, Resident, Tiered},
            step::Step,
            step_cooperative::StepCooperative,
            survey::{SurveySwarm, SurveyTiles},
            time_sliced::TimeSliced,
            told::{Move, MoveCooperative, Settle, Show},
        },
    };
}

/// Calls the macro `$callback` with every kernel family that is made for each objective and
/// precision: `prefix of its name: Type,` each.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_family {
    ($callback:ident $($rest:tt)*) => {
        $callback! {
            [
                swarm_step: Step,
                swarm_step_cooperative: StepCooperative,
                swarm_resident: Resident,
                swarm_cooperative: Cooperative,
                swarm_tiered: Tiered,
                swarm_time_sliced: TimeSliced,
                swarm_evaluate: Evaluate
            ] $($rest)*
        }
    };
}

/// As [`for_each_family`], of the kernels that are made for each objective in `f64` alone.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_search_family {
    ($callback:ident $($rest:tt)*) => {
        $callback! { [search_cmaes: Searches] $($rest)* }
    };
}

/// As [`for_each_family`], of the kernels that are made for each precision and have no objective
/// function inside.
macro_rules! for_each_plain_family {
    ($callback:ident $($rest:tt)*) => {
        $callback! {
            [
                swarm_scatter: Scatter,
                swarm_advance: Advance,
                swarm_implant: Implant,
                swarm_emigrate: Emigrate,
                swarm_immigrate: Immigrate,
                swarm_catch_up: CatchUp,
                swarm_arrange: Arrange,
                swarm_move: Move,
                swarm_move_cooperative: MoveCooperative,
                swarm_show: Show,
                swarm_settle: Settle,
                survey_tiles: SurveyTiles,
                survey_swarm: SurveySwarm,
                formula_operations: Operations,
                fit_judge: Judge,
                fit_ceiling: Ceiling,
                fit_squares_4_by_2: Squares4By2,
                fit_squares_4_by_4: Squares4By4,
                fit_squares_4_by_4_halved: Squares4By4Halved,
                fit_squares_8_by_2: Squares8By2,
                fit_squares_8_by_4: Squares8By4,
                fit_squares_8_by_4_halved: Squares8By4Halved,
                fit_squares_16_by_2: Squares16By2,
                fit_squares_16_by_4: Squares16By4
            ] $($rest)*
        }
    };
}

/// As [`for_each_plain_family`], of the kernels that are made for `f64` alone.
macro_rules! for_each_double_family {
    ($callback:ident $($rest:tt)*) => {
        $callback! {
            [
                fit_matrix_ceiling: MatrixCeiling,
                fit_matrix_4_by_16: Matrix4By16,
                fit_matrix_4_by_64: Matrix4By64,
                fit_matrix_8_by_16: Matrix8By16,
                fit_matrix_8_by_64: Matrix8By64,
                fit_matrix_16_by_16: Matrix16By16,
                fit_matrix_16_by_32: Matrix16By32,
                fit_matrix_16_by_64: Matrix16By64
            ] $($rest)*
        }
    };
}

/// As [`for_each_family`], of the kernels that are made for each model and precision.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_model_family {
    ($callback:ident $($rest:tt)*) => {
        $callback! { [fit_sums: Sums, fit_many: Many] $($rest)* }
    };
}

/// As [`for_each_family`], of the kernels that are made for each kind of weight; and the kinds.
macro_rules! for_each_weight_family {
    ($callback:ident $($rest:tt)*) => {
        $callback! {
            [
                paths_ceiling: InRegisters,
                paths_closure: Closure,
                paths_pivots: ClosePivots,
                paths_panels: Panels,
                paths_outer: Outer,
                paths_mirror: Mirror
            ]
            [f32: F32, nonnegative_f32: NonNegativeF32, f64: F64, i32: I32, u16: U16]
            $($rest)*
        }
        $callback! {
            [paths_pivots_via: ClosePivotsVia, paths_panels_via: PanelsVia, paths_outer_via: OuterVia]
            [f32: F32, nonnegative_f32: NonNegativeF32, f64: F64, i32: I32]
            $($rest)*
        }
    };
}

/// Calls the macro `$callback` with every published kernel, of which this build has none.
#[cfg(not(feature = "lineage"))]
macro_rules! for_each_published_kernel {
    ($callback:ident $($rest:tt)*) => {
        $callback! { [] $($rest)* }
    };
}

/// Launches ask for the names that the types state, and the PTX has those that the lists state: they
/// must be the same.
macro_rules! assert_names {
    ([$($family:ident: $kernel:ident),*] $module:ident: $objective:ident) => { $(
        const _: () = {
            let name = <$kernel<objective::$objective, f32> as Kernel>::NAME;
            assert!(same(name.family, stringify!($family)), "a family's name is not its list's");
            assert!(same(name.objective, stringify!($module)), "INFO.name is not the module's");
        };
    )* };
}

macro_rules! assert_search_names {
    ([$($family:ident: $kernel:ident),*] $module:ident: $objective:ident) => { $(
        const _: () = {
            let name = <$kernel<objective::$objective, f64> as Kernel>::NAME;
            assert!(same(name.family, stringify!($family)), "a family's name is not its list's");
        };
    )* };
}

/// What [`Hints`](objective::Hints) say of a kernel is of one that exists.
macro_rules! assert_hints {
    ([$($search:ident: $searches:ident),*] [$($family:ident: $kernel:ident),*] $module:ident: $objective:ident) => {
        const _: () = {
            let hints = <objective::$objective as Objective>::HINTS.local;
            let mut nth = 0;
            while nth < hints.len() {
                let (family, precision, _) = hints[nth];
                let exists = false
                    $(|| same(family, stringify!($family)))*
                    $(|| same(family, stringify!($search)))*;
                assert!(exists, "a hint names a family that no kernel belongs to");
                assert!(same(precision, "f32") || same(precision, "f64"), "no such precision");
                nth += 1;
            }
        };
    };
}

macro_rules! assert_family_hints {
    ($searches:tt $module:ident: $objective:ident) => {
        for_each_family!(assert_hints_of $searches $module: $objective);
    };
}

macro_rules! assert_hints_of {
    ($families:tt $searches:tt $module:ident: $objective:ident) => {
        assert_hints!($searches $families $module: $objective);
    };
}

macro_rules! assert_all_names {
    ($($module:ident: $objective:ident,)*) => { $(
        for_each_family!(assert_names $module: $objective);
        for_each_search_family!(assert_search_names $module: $objective);
        for_each_search_family!(assert_family_hints $module: $objective);
    )* };
}
for_each_objective!(assert_all_names);
for_each_template!(assert_all_names);

macro_rules! assert_model_names {
    ([$($family:ident: $kernel:ident),*] $module:ident: $model:ident) => { $(
        const _: () = {
            let name = <$kernel<fit::$model, f32> as Kernel>::NAME;
            assert!(same(name.family, stringify!($family)), "a family's name is not its list's");
            assert!(same(name.objective, stringify!($module)), "INFO.name is not the module's");
        };
    )* };
}

macro_rules! assert_all_model_names {
    ($($module:ident: $model:ident,)*) => { $(
        for_each_model_family!(assert_model_names $module: $model);
    )* };
}
for_each_model!(assert_all_model_names);

macro_rules! assert_plain_names {
    ([$($family:ident: $kernel:ident),*]) => { $(
        const _: () = {
            let name = <$kernel<f32> as Kernel>::NAME;
            assert!(same(name.family, stringify!($family)), "a family's name is not its list's");
            assert!(same(name.objective, ""), "a plain family has no objective function");
        };
    )* };
}
for_each_plain_family!(assert_plain_names);
for_each_double_family!(assert_plain_names);

macro_rules! assert_weight_names {
    ([$($family:ident: $kernel:ident),*] $cells:tt) => { $(
        assert_weight_names!(@ $family $kernel $cells);
    )* };
    (@ $family:ident $kernel:ident [$($name:ident: $cell:ident),*]) => { $(
        const _: () = {
            let name = <$kernel<cell::$cell> as Kernel>::NAME;
            assert!(same(name.family, stringify!($family)), "a family's name is not its list's");
            assert!(same(name.precision, stringify!($name)), "a weight's name is not its list's");
            assert!(same(name.objective, ""), "a plain family has no objective function");
        };
    )* };
}
for_each_weight_family!(assert_weight_names);

// After the lists: macros know what stands before them.
#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
mod entries;

macro_rules! facts_of {
    ([$($family:ident: $kernel:ident),*] $visit:ident, $objective:ident) => { $(
        $visit(Facts::of::<$kernel<objective::$objective, f32>>());
        $visit(Facts::of::<$kernel<objective::$objective, f64>>());
    )* };
}

macro_rules! search_facts {
    ([$($family:ident: $kernel:ident),*] $visit:ident, $objective:ident) => { $(
        $visit(Facts::of::<$kernel<objective::$objective, f64>>());
    )* };
}

macro_rules! model_facts {
    ([$($family:ident: $kernel:ident),*] $visit:ident, $model:ident) => { $(
        $visit(Facts::of::<$kernel<fit::$model, f32>>());
        $visit(Facts::of::<$kernel<fit::$model, f64>>());
    )* };
}

macro_rules! plain_facts {
    ([$($family:ident: $kernel:ident),*] $visit:ident) => { $(
        $visit(Facts::of::<$kernel<f32>>());
        $visit(Facts::of::<$kernel<f64>>());
    )* };
}

macro_rules! double_facts {
    ([$($family:ident: $kernel:ident),*] $visit:ident) => { $(
        $visit(Facts::of::<$kernel<f64>>());
    )* };
}

macro_rules! weight_facts {
    ([$($family:ident: $kernel:ident),*] $cells:tt $visit:ident) => { $(
        weight_facts!(@ $kernel $cells $visit);
    )* };
    (@ $kernel:ident [$($name:ident: $cell:ident),*] $visit:ident) => { $(
        $visit(Facts::of::<$kernel<cell::$cell>>());
    )* };
}

macro_rules! published_facts {
    ([$($entry:ident: $kernel:ty),* $(,)?] $visit:ident) => { $(
        $visit(Facts::of::<$kernel>());
    )* };
}

/// Calls `visit` with the name of every kernel.
///
/// ```
/// use flockwork_device::registry::for_each_kernel;
///
/// let mut of_ackley = 0;
/// for_each_kernel(|name| of_ackley += u32::from(name.to_string().contains("_ackley_")));
/// assert!(of_ackley > 0);
/// ```
pub fn for_each_kernel(mut visit: impl FnMut(Name)) {
    for_each_facts(|facts| visit(facts.name));
}

/// As [`for_each_kernel`], with what every kernel's launches are held to.
///
/// ```
/// use flockwork_device::registry::for_each_facts;
///
/// let mut bounded = 0;
/// for_each_facts(|facts| bounded += u32::from(facts.launch.threads.is_some()));
/// println!("{bounded} kernels state the largest of their blocks");
/// assert!(bounded > 0);
/// ```
pub fn for_each_facts(mut visit: impl FnMut(Facts)) {
    macro_rules! visit_all {
        ($($module:ident: $objective:ident,)*) => { $(
            for_each_family!(facts_of visit, $objective);
            for_each_search_family!(search_facts visit, $objective);
        )* };
    }
    for_each_objective!(visit_all);
    for_each_template!(visit_all);
    macro_rules! visit_models {
        ($($module:ident: $model:ident,)*) => { $(
            for_each_model_family!(model_facts visit, $model);
        )* };
    }
    for_each_model!(visit_models);
    for_each_model_template!(visit_models);
    for_each_plain_family!(plain_facts visit);
    for_each_double_family!(double_facts visit);
    for_each_weight_family!(weight_facts visit);
    for_each_published_kernel!(published_facts visit);
}

macro_rules! infos {
    ($($module:ident: $objective:ident,)*) => {
        /// Every built-in objective function.
        pub const OBJECTIVES: &[Info] = &[ $( <objective::$objective as Objective>::INFO ),* ];
    };
}
for_each_objective!(infos);

/// Something to do with an objective function that is known by name only at run time.
///
/// ```
/// use flockwork_device::{objective::Objective, registry::{Visitor, with_objective}};
///
/// /// How many bytes travel to a kernel.
/// struct Size;
///
/// impl Visitor for Size {
///     type Output = usize;
///
///     fn visit<O: Objective>(self, _: O) -> usize {
///         size_of::<O>()
///     }
/// }
/// assert!(with_objective("sphere", Size).is_ok_and(|size| size == 0));
/// ```
pub trait Visitor {
    /// What it yields.
    type Output;

    /// Does it.
    fn visit<O: Objective>(self, objective: O) -> Self::Output;
}

/// Does `visitor`'s work with the built-in objective function called `name`; gives the visitor back
/// if there is none of that name.
///
/// ```
/// use flockwork_device::objective::{Dimensions, Objective};
/// use flockwork_device::registry::{Visitor, with_objective};
///
/// struct Accepted;
///
/// impl Visitor for Accepted {
///     type Output = Dimensions;
///
///     fn visit<O: Objective>(self, _: O) -> Dimensions {
///         O::INFO.dimensions
///     }
/// }
/// assert!(with_objective("levy", Accepted).is_ok_and(|dims| dims.contains(1)));
/// assert!(with_objective("nothing", Accepted).is_err());
/// ```
pub fn with_objective<V: Visitor>(name: &str, visitor: V) -> Result<V::Output, V> {
    macro_rules! find {
        ($($module:ident: $objective:ident,)*) => {
            match name {
                $( stringify!($module) => Ok(visitor.visit(<objective::$objective>::default())), )*
                _ => Err(visitor),
            }
        };
    }
    for_each_objective!(find)
}

/// Whether `O` is one of the built-in objective functions: whether the kernels that bear its name
/// are its own.
///
/// ```
/// use flockwork_device::{objective::Levy, registry::is_registered};
///
/// assert!(is_registered::<Levy>());
/// ```
pub fn is_registered<O: Objective>() -> bool {
    let sought = TypeId::of::<O>();
    macro_rules! any {
        ($($module:ident: $objective:ident,)*) => {
            [$( TypeId::of::<objective::$objective>() ),*].contains(&sought)
        };
    }
    for_each_objective!(any) || for_each_template!(any)
}

/// Whether `M` is one of the built-in models: whether the kernels that bear its name are its own.
///
/// ```
/// use flockwork_device::{fit::Logistic, registry::is_registered_model};
///
/// assert!(is_registered_model::<Logistic>());
/// ```
pub fn is_registered_model<M: Model>() -> bool {
    let sought = TypeId::of::<M>();
    macro_rules! any {
        ($($module:ident: $model:ident,)*) => {
            [$( TypeId::of::<fit::$model>() ),*].contains(&sought)
        };
    }
    for_each_model!(any) || for_each_model_template!(any)
}
