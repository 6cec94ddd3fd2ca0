//! Every kernel that exists, in one list.
//!
//! Families times objective functions times precisions. The PTX exports, the host's lists and the
//! tests all come from here: nothing is listed twice.

use core::any::TypeId;

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

macro_rules! assert_all_names {
    ($($module:ident: $objective:ident,)*) => { $(
        for_each_family!(assert_names $module: $objective);
    )* };
}
for_each_objective!(assert_all_names);

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut equal = a.len() == b.len();
    let mut i = 0;
    while equal && i < a.len() {
        equal = a[i] == b[i];
        i += 1;
    }
    equal
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
                $( stringify!($module) => Ok(visitor.visit(<objective::$objective>::default())), )*
                _ => Err(visitor),
            }
        };
    }
    for_each_objective!(find)
}

/// Whether `O` is one of the built-in objective functions: whether the kernels that bear its name
/// are its own.
pub fn is_registered<O: Objective>() -> bool {
    let sought = TypeId::of::<O>();
    macro_rules! any {
        ($($module:ident: $objective:ident,)*) => {
            [$( TypeId::of::<objective::$objective>() ),*].contains(&sought)
        };
    }
    for_each_objective!(any)
}
