//! The published kernels, in the feature `lineage`: one by one, since what a publication compares is seldom
//! a product of families and precisions.

use crate::{
    kernel::{Kernel, Name},
    lineage::{boudoudouh, cupso, floyd_warshall, hosala},
    objective,
};

/// Calls the macro `$callback` with every published kernel (see [`lineage`](crate::lineage)): the name of its
/// entry and its type, each alone, since what a publication compares is seldom a product of families and
/// precisions. A name begins with that of the publication.
macro_rules! for_each_published_kernel {
    ($callback:ident $($rest:tt)*) => {
        $callback! {
            [
                boudoudouh_v2_new_vel_f32: boudoudouh::NewVelV2,
                boudoudouh_v2_new_pos_f32: boudoudouh::NewPosV2,
                boudoudouh_v2_find_min_fitness_f32: boudoudouh::FindMinStructures,
                boudoudouh_v3_new_vel_f32: boudoudouh::NewVelV3,
                boudoudouh_v3_new_pos_f32: boudoudouh::NewPosV3,
                boudoudouh_v4_new_vel_pos_f32: boudoudouh::NewVelPosV4,
                boudoudouh_v5_new_vel_pos_f32: boudoudouh::NewVelPosV5,
                boudoudouh_v5_calc_fitness_f32: boudoudouh::CalcFitnessV5,
                boudoudouh_v5_find_min_fitness_f32: boudoudouh::FindMinArrays,
                boudoudouh_v6_calc_fitness_f32: boudoudouh::CalcFitnessV6,
                boudoudouh_v7_new_vel_pos_f32: boudoudouh::NewVelPosV7,
                boudoudouh_v7_calc_fitness_f32: boudoudouh::CalcFitnessV7,
                cupso_reduction_f64: cupso::Reduction,
                cupso_reduction_best_f64: cupso::ReductionBest,
                cupso_unrolled_f64: cupso::Unrolled,
                cupso_unrolled_best_f64: cupso::UnrolledBest,
                cupso_queue_f64: cupso::Queue,
                cupso_queue_lock_f64: cupso::QueueLock,
                floyd_warshall_v1_0_i32: floyd_warshall::Everywhere,
                floyd_warshall_v1_1_i32: floyd_warshall::One,
                floyd_warshall_v1_2_diagonal_i32: floyd_warshall::Diagonal,
                floyd_warshall_v1_2_cross_i32: floyd_warshall::CrossOfAll,
                floyd_warshall_v1_2_rest_i32: floyd_warshall::RestOfAll,
                floyd_warshall_v1_3_cross_i32: floyd_warshall::Cross,
                floyd_warshall_v1_3_rest_i32: floyd_warshall::Rest,
                floyd_warshall_v1_4_row_i32: floyd_warshall::Row,
                floyd_warshall_v1_4_column_i32: floyd_warshall::Column,
                floyd_warshall_v2_0_diagonal_i32: floyd_warshall::DiagonalShared,
                floyd_warshall_v2_0_row_i32: floyd_warshall::RowShared,
                floyd_warshall_v2_0_column_i32: floyd_warshall::ColumnShared,
                floyd_warshall_v2_0_rest_i32: floyd_warshall::RestShared,
                floyd_warshall_v2_2_diagonal_i32: floyd_warshall::DiagonalPadded,
                floyd_warshall_v2_2_row_i32: floyd_warshall::RowTransposed,
                floyd_warshall_v2_2_column_i32: floyd_warshall::ColumnTransposed,
                floyd_warshall_v2_2_rest_i32: floyd_warshall::RestTransposed,
                hosala_best_shared_f32: hosala::reductions::OfBlocks<hosala::reductions::InShared, f32>,
                hosala_best_shared_f64: hosala::reductions::OfBlocks<hosala::reductions::InShared, f64>,
                hosala_best_vol_f32: hosala::reductions::OfBlocks<hosala::reductions::Volatile, f32>,
                hosala_best_vol_f64: hosala::reductions::OfBlocks<hosala::reductions::Volatile, f64>,
                hosala_best_shfl_f32: hosala::reductions::OfBlocks<hosala::reductions::Shuffles, f32>,
                hosala_best_shfl_f64: hosala::reductions::OfBlocks<hosala::reductions::Shuffles, f64>,
                hosala_best_project_f32: hosala::reductions::Project<f32>,
                hosala_best_project_f64: hosala::reductions::Project<f64>,
                hosala_update_glob_f64: hosala::updates::Update<hosala::updates::InMemory>,
                hosala_update_reg_f64: hosala::updates::Update<hosala::updates::InRegisters>,
                hosala_update_project_f64: hosala::updates::Update<hosala::updates::WithoutState>,
                hosala_thread_sum_of_sines_f32: hosala::layouts::PerThread<objective::SumOfSines, f32>,
                hosala_thread_sum_of_sines_f64: hosala::layouts::PerThread<objective::SumOfSines, f64>,
                hosala_thread_coupled_sines_f64: hosala::layouts::PerThread<objective::CoupledSines, f64>,
                hosala_thread_rastrigin_f64: hosala::layouts::PerThread<objective::Rastrigin, f64>,
                hosala_thread_sphere_f64: hosala::layouts::PerThread<objective::Sphere, f64>,
                hosala_block_sum_of_sines_f32: hosala::layouts::PerBlock<objective::SumOfSines, f32>,
                hosala_block_sum_of_sines_f64: hosala::layouts::PerBlock<objective::SumOfSines, f64>,
                hosala_block_coupled_sines_f64: hosala::layouts::PerBlock<objective::CoupledSines, f64>,
                hosala_block_rastrigin_f64: hosala::layouts::PerBlock<objective::Rastrigin, f64>,
                hosala_block_sphere_f64: hosala::layouts::PerBlock<objective::Sphere, f64>,
                hosala_mod_sum_of_sines_f32: hosala::layouts::Mod<objective::SumOfSines, f32>,
                hosala_mod_sum_of_sines_f64: hosala::layouts::Mod<objective::SumOfSines, f64>,
                hosala_mod_coupled_sines_f64: hosala::layouts::Mod<objective::CoupledSines, f64>,
                hosala_mod_rastrigin_f64: hosala::layouts::Mod<objective::Rastrigin, f64>,
                hosala_mod_sphere_f64: hosala::layouts::Mod<objective::Sphere, f64>,
                hosala_sum_thread_f32: hosala::sums::PerThread<hosala::sums::Cached, f32>,
                hosala_sum_thread_f64: hosala::sums::PerThread<hosala::sums::Cached, f64>,
                hosala_sum_warp_2_f32: hosala::sums::PerWarp<hosala::sums::Cached, f32>,
                hosala_sum_warp_2_f64: hosala::sums::PerWarp<hosala::sums::Cached, f64>,
                hosala_sum_block_2_f32: hosala::sums::PerBlock<hosala::sums::Cached, f32>,
                hosala_sum_block_2_f64: hosala::sums::PerBlock<hosala::sums::Cached, f64>,
                hosala_plain_thread_f32: hosala::sums::PerThread<hosala::sums::Plain, f32>,
                hosala_plain_thread_f64: hosala::sums::PerThread<hosala::sums::Plain, f64>,
                hosala_plain_warp_2_f32: hosala::sums::PerWarp<hosala::sums::Plain, f32>,
                hosala_plain_warp_2_f64: hosala::sums::PerWarp<hosala::sums::Plain, f64>,
                hosala_plain_block_2_f32: hosala::sums::PerBlock<hosala::sums::Plain, f32>,
                hosala_plain_block_2_f64: hosala::sums::PerBlock<hosala::sums::Plain, f64>
            ] $($rest)*
        }
    };
}

macro_rules! assert_published_names {
    ([$($entry:ident: $kernel:ty),* $(,)?]) => { $(
        const _: () = assert!(
            is_entry(<$kernel as Kernel>::NAME, stringify!($entry)),
            "a published kernel's name is not its list's"
        );
    )* };
}
for_each_published_kernel!(assert_published_names);

/// Whether a kernel of this name is that entry of the PTX: as [`Name`] is displayed.
const fn is_entry(name: Name, entry: &str) -> bool {
    let parts = [name.family, name.objective, name.precision];
    let entry = entry.as_bytes();
    let (mut at, mut part) = (0, 0);
    while part < parts.len() {
        let text = parts[part].as_bytes();
        if part > 0 && !text.is_empty() {
            if at >= entry.len() || entry[at] != b'_' {
                return false;
            }
            at += 1;
        }
        let mut i = 0;
        while i < text.len() {
            if at >= entry.len() || entry[at] != text[i] {
                return false;
            }
            (at, i) = (at + 1, i + 1);
        }
        part += 1;
    }
    at == entry.len()
}
