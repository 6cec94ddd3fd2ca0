//! How a kernel is exported: here, and in crates with types of their own, which `flockwork-build` compiles.

/// Exports one kernel in the PTX, and beside it what the build must know of it: `build/ptx.rs` reads it, and
/// leaves it out of the kernel's module.
#[doc(hidden)]
#[cfg(all(target_arch = "nvptx64", not(feature = "rust-cuda")))]
#[macro_export]
macro_rules! export_one {
    ($kernel:ty, $($part:ident)*) => {
        $crate::export_with_facts!($kernel, $crate::kernel::Facts::of::<$kernel>(), $($part)*);
    };
}

/// As [`export_one`], given the facts.
#[doc(hidden)]
#[cfg(all(target_arch = "nvptx64", not(feature = "rust-cuda")))]
#[macro_export]
macro_rules! export_with_facts {
    ($kernel:ty, $facts:expr, $($part:ident)*) => {
        const _: () = {
            #[used]
            #[unsafe(export_name = concat!("facts_", $crate::export_name!($($part)*)))]
            static FACTS: [u32; $crate::kernel::Facts::WORDS] = $facts.words();

            #[unsafe(export_name = $crate::export_name!($($part)*))]
            #[allow(improper_ctypes_definitions)]
            unsafe extern "ptx-kernel" fn entry(
                arguments: <$kernel as $crate::kernel::Kernel>::Arguments,
            ) {
                // SAFETY: the host launches it as `Kernel::run` asks.
                unsafe { <$kernel as $crate::kernel::Kernel>::run(&arguments) }
            }
        };
    };
}

/// The name of an entry.
#[doc(hidden)]
#[cfg(all(target_arch = "nvptx64", not(feature = "rust-cuda")))]
#[macro_export]
macro_rules! export_name {
    ($first:ident $($part:ident)*) => {
        concat!(stringify!($first) $(, "_", stringify!($part))*)
    };
}

/// As Rust-CUDA has it: its attribute exports a function under its own name, and passes a `repr(C)` struct
/// by value, as the host launches it. (A slice would become two parameters.) Its linker drops whatever no
/// kernel uses, `#[used]` or not, so the build has the facts from the PTX of the other compiler.
#[cfg(feature = "rust-cuda")]
macro_rules! export_one {
    ($kernel:ty, $first:ident $($part:ident)*) => {
        const _: () = {
            paste::paste! {
                #[cuda_std::kernel]
                #[allow(improper_ctypes_definitions)]
                pub unsafe fn [<$first $(_ $part)*>](arguments: <$kernel as Kernel>::Arguments) {
                    // SAFETY: the host launches it as `Kernel::run` asks.
                    unsafe { <$kernel>::run(&arguments) }
                }
            }
        };
    };
}

#[cfg(all(not(target_arch = "nvptx64"), feature = "rust-cuda"))]
use crate::kernel::Kernel;
// On the host one is enough to check the macro.
#[cfg(all(not(target_arch = "nvptx64"), feature = "rust-cuda"))]
export_one!(crate::registry::families::SurveyTiles<f32>, checked survey_tiles f32);

/// Exports every kernel of a type that implements [`Objective`](crate::objective::Objective) in another
/// crate. Their names have the type's name where those of built-in functions have the function's.
#[doc(hidden)]
#[cfg(all(target_arch = "nvptx64", not(feature = "rust-cuda")))]
#[macro_export]
macro_rules! export_objective {
    ($name:ident: $objective:ty) => {
        for_each_family!(export_own_families $name: $objective);
        for_each_search_family!(export_own_searches $name: $objective);
    };
}

/// As [`export_objective`], of a type that implements [`Model`](crate::fit::Model).
#[doc(hidden)]
#[cfg(all(target_arch = "nvptx64", not(feature = "rust-cuda")))]
#[macro_export]
macro_rules! export_model {
    ($name:ident: $model:ty) => {
        for_each_model_family!(export_own_families $name: $model);
    };
}

#[doc(hidden)]
#[cfg(all(target_arch = "nvptx64", not(feature = "rust-cuda")))]
#[macro_export]
macro_rules! export_own_families {
    ([$($family:ident: $kernel:ident),*] $name:ident: $type:ty) => { $(
        $crate::export_own!($kernel $family $name $type, f32);
        $crate::export_own!($kernel $family $name $type, f64);
    )* };
}

#[doc(hidden)]
#[cfg(all(target_arch = "nvptx64", not(feature = "rust-cuda")))]
#[macro_export]
macro_rules! export_own_searches {
    ([$($family:ident: $kernel:ident),*] $name:ident: $type:ty) => { $(
        $crate::export_own!($kernel $family $name $type, f64);
    )* };
}

#[doc(hidden)]
#[cfg(all(target_arch = "nvptx64", not(feature = "rust-cuda")))]
#[macro_export]
macro_rules! export_own {
    ($kernel:ident $family:ident $name:ident $type:ty, $precision:ident) => {
        $crate::export_with_facts!(
            $crate::registry::families::$kernel<$type, $precision>,
            $crate::kernel::Facts::of::<$crate::registry::families::$kernel<$type, $precision>>()
                .for_type(stringify!($name)),
            $family $name $precision
        );
    };
}
