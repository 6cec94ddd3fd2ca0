//! Every kernel that exists, in one list.
//!
//! Families times objective functions times precisions. The PTX exports, the host's lists and the
//! tests all come from here: nothing is listed twice.

use crate::{
    for_each_objective,
    kernel::{Kernel, Name},
    objective::{self, Info, Objective},
    swarm::kernels::{Start, Step},
};

/// Calls the macro `$callback` with every kernel family that is made for each objective and
/// precision: `prefix of its name: Type,` each.
macro_rules! for_each_family {
    ($callback:ident $($rest:tt)*) => {
        $callback! { [swarm_start: Start, swarm_step: Step] $($rest)* }
    };
}

/// Exports one kernel in the PTX.
#[cfg(target_arch = "nvptx64")]
macro_rules! export_one {
    ($family:ident, $kernel:ident, $module:ident, $objective:ident, $precision:ident) => {
        const _: () = {
            #[unsafe(export_name = concat!(
                        stringify!($family), "_", stringify!($module), "_", stringify!($precision)
                    ))]
            #[allow(improper_ctypes_definitions)]
            unsafe extern "ptx-kernel" fn entry(
                arguments: <$kernel<objective::$objective, $precision> as Kernel>::Arguments,
            ) {
                // SAFETY: the host launches it as `Kernel::run` asks.
                unsafe { <$kernel<objective::$objective, $precision>>::run(&arguments) }
            }
        };
    };
}

#[cfg(target_arch = "nvptx64")]
macro_rules! export_families {
    ([$($family:ident: $kernel:ident),*] $module:ident: $objective:ident) => { $(
        export_one!($family, $kernel, $module, $objective, f32);
        export_one!($family, $kernel, $module, $objective, f64);
    )* };
}

#[cfg(target_arch = "nvptx64")]
macro_rules! export {
    ($($module:ident: $objective:ident,)*) => { $(
        for_each_family!(export_families $module: $objective);
    )* };
}

#[cfg(target_arch = "nvptx64")]
for_each_objective!(export);

macro_rules! names_of {
    ([$($family:ident: $kernel:ident),*] $visit:ident, $objective:ident) => { $(
        $visit(<$kernel<objective::$objective, f32> as Kernel>::NAME);
        $visit(<$kernel<objective::$objective, f64> as Kernel>::NAME);
    )* };
}

/// Calls `visit` with the name of every kernel.
pub fn for_each_kernel(mut visit: impl FnMut(Name)) {
    macro_rules! visit_all {
        ($($module:ident: $objective:ident,)*) => { $(
            for_each_family!(names_of visit, $objective);
        )* };
    }
    for_each_objective!(visit_all);
}

macro_rules! infos {
    ($($module:ident: $objective:ident,)*) => {
        /// Every built-in objective function.
        pub const OBJECTIVES: &[Info] = &[ $( <objective::$objective as Objective>::INFO ),* ];
    };
}
for_each_objective!(infos);

/// Something to do with an objective function that is known by name only at run time.
pub trait Visitor {
    /// What it yields.
    type Output;

    /// Does it.
    fn visit<O: Objective>(self, objective: O) -> Self::Output;
}

/// Does `visitor`'s work with the built-in objective function called `name`; gives the visitor back
/// if there is none of that name.
pub fn with_objective<V: Visitor>(name: &str, visitor: V) -> Result<V::Output, V> {
    macro_rules! find {
        ($($module:ident: $objective:ident,)*) => {
            match name {
                $( stringify!($module) => Ok(visitor.visit(objective::$objective)), )*
                _ => Err(visitor),
            }
        };
    }
    for_each_objective!(find)
}
