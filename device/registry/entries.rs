//! The entries of the PTX: every kernel of the lists.

#[cfg(feature = "rust-cuda")]
use crate::kernel::Kernel;
#[cfg(feature = "lineage")]
use crate::lineage::{boudoudouh, cupso, floyd_warshall, hosala};
use crate::{
    fit, for_each_model, for_each_model_template, for_each_objective, for_each_template, objective,
    paths::kernels::cell, registry::families::*,
};

macro_rules! export_families {
    ([$($family:ident: $kernel:ident),*] $module:ident: $objective:ident) => { $(
        export_one!($kernel<objective::$objective, f32>, $family $module f32);
        export_one!($kernel<objective::$objective, f64>, $family $module f64);
    )* };
}

macro_rules! export_searches {
    ([$($family:ident: $kernel:ident),*] $module:ident: $objective:ident) => { $(
        export_one!($kernel<objective::$objective, f64>, $family $module f64);
    )* };
}

macro_rules! export {
    ($($module:ident: $objective:ident,)*) => { $(
        for_each_family!(export_families $module: $objective);
        for_each_search_family!(export_searches $module: $objective);
    )* };
}

for_each_objective!(export);
for_each_template!(export);

macro_rules! export_model_families {
    ([$($family:ident: $kernel:ident),*] $module:ident: $model:ident) => { $(
        export_one!($kernel<fit::$model, f32>, $family $module f32);
        export_one!($kernel<fit::$model, f64>, $family $module f64);
    )* };
}

macro_rules! export_models {
    ($($module:ident: $model:ident,)*) => { $(
        for_each_model_family!(export_model_families $module: $model);
    )* };
}

for_each_model!(export_models);

for_each_model_template!(export_models);

macro_rules! export_plain {
    ([$($family:ident: $kernel:ident),*]) => { $(
        export_one!($kernel<f32>, $family f32);
        export_one!($kernel<f64>, $family f64);
    )* };
}

for_each_plain_family!(export_plain);

macro_rules! export_double {
    ([$($family:ident: $kernel:ident),*]) => { $(
        export_one!($kernel<f64>, $family f64);
    )* };
}

for_each_double_family!(export_double);

macro_rules! export_weights {
    ([$($family:ident: $kernel:ident),*] $cells:tt) => { $(
        export_weights!(@ $family $kernel $cells);
    )* };
    (@ $family:ident $kernel:ident [$($name:ident: $cell:ident),*]) => { $(
        export_one!($kernel<cell::$cell>, $family $name);
    )* };
}

for_each_weight_family!(export_weights);

macro_rules! export_published {
    ([$($entry:ident: $kernel:ty),* $(,)?]) => { $(
        export_one!($kernel, $entry);
    )* };
}

for_each_published_kernel!(export_published);
