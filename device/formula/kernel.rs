//! The operations of formulas, each a function of its own in the PTX.
//!
//! The host copies a formula's operations from there into the kernels that have a hole for it. The kernel
//! itself applies one operation to many numbers, which is how they are tested.

use core::marker::PhantomData;

use super::{Binary, Unary, for_each_operation};
use crate::{
    gpu::{
        memory::{ReadOnly, ReadWrite},
        thread,
    },
    kernel::{Kernel, Name},
    math::Scalar,
};

/// What the kernel is passed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<T> {
    /// The operation's number: its place in [`Unary::ALL`], or behind those in [`Binary::ALL`].
    pub operation: u32,
    /// How many numbers `a`, `b` and `to` have.
    pub count: u32,
    /// First operands.
    pub a: ReadOnly<T>,
    /// Second operands.
    pub b: ReadOnly<T>,
    /// Receives the results.
    pub to: ReadWrite<T>,
}

/// Applies an operation to many numbers.
pub struct Operations<T>(PhantomData<T>);

impl<T: Outlined> Kernel for Operations<T> {
    type Arguments = Arguments<T>;

    const NAME: Name = Name { family: "formula_operations", objective: "", precision: T::NAME };

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Arguments { operation, count, a, b, to } = *arguments;
        let index = thread::block_index() * thread::block_threads() + thread::index();
        if index < count {
            // SAFETY: below the length; each thread has its own element.
            unsafe {
                let (a, b) = (a.at(index as usize), b.at(index as usize));
                to.store(index as usize, T::applied(operation, a, b));
            }
        }
    }
}

/// A number whose operations are functions of their own.
pub trait Outlined: Scalar {
    /// An operation by its number; the second operand is ignored where there is one. NaN if there is no
    /// such operation.
    ///
    /// ```
    /// use flockwork_device::formula::{Binary, Unary, kernel::Outlined};
    ///
    /// let add = Unary::ALL.len() as u32;
    /// assert_eq!(Binary::ALL[0], Binary::Add);
    /// assert_eq!(f64::applied(add, 1.0, 2.0), 3.0);
    /// ```
    fn applied(operation: u32, a: Self, b: Self) -> Self;
}

macro_rules! outline {
    ($($type:ident)*; [$($one:ident: $Unary:ident),*] [$($two:ident: $Binary:ident),*]) => {
        outline!(@ [$($type)*] [$($one: $Unary),*] [$($two: $Binary),*]);
    };
    (@ [] $ones:tt $twos:tt) => {};
    (@ [$type:ident $($rest:ident)*] [$($one:ident: $Unary:ident),*] [$($two:ident: $Binary:ident),*]) => {
        mod $type {
            use crate::formula::{Binary, Unary};
            $(
                #[inline(never)]
                #[cfg_attr(
                    target_arch = "nvptx64",
                    unsafe(export_name = concat!("formula_", stringify!($one), "_", stringify!($type)))
                )]
                pub extern "C" fn $one(a: $type) -> $type {
                    crate::formula::one(Unary::$Unary, a)
                }
            )*
            $(
                #[inline(never)]
                #[cfg_attr(
                    target_arch = "nvptx64",
                    unsafe(export_name = concat!("formula_", stringify!($two), "_", stringify!($type)))
                )]
                pub extern "C" fn $two(a: $type, b: $type) -> $type {
                    crate::formula::two(Binary::$Binary, a, b)
                }
            )*
        }

        impl Outlined for $type {
            #[inline(always)]
            fn applied(operation: u32, a: Self, b: Self) -> Self {
                $(
                    if operation == Unary::$Unary as u32 {
                        return self::$type::$one(a);
                    }
                )*
                $(
                    if operation == Unary::ALL.len() as u32 + Binary::$Binary as u32 {
                        return self::$type::$two(a, b);
                    }
                )*
                Self::nearest(f64::NAN)
            }
        }
        outline!(@ [$($rest)*] [$($one: $Unary),*] [$($two: $Binary),*]);
    };
}

macro_rules! outline_each {
    ($ones:tt $twos:tt) => { outline!(f32 f64; $ones $twos); };
}
for_each_operation!(outline_each);
