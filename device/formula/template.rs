//! Objective functions and a model with holes.
//!
//! The host chooses the template that suits a formula ([`Reach`]), and fills its holes:
//!
//! | hole | in | given | what is written |
//! |---|---|---|---|
//! | `term` | [`FormulaOwn`], [`FormulaNext`] | `x`, and `y`, the next coordinate, or else `x` again; `index`; `data`, an address | a term of the sum |
//! | `take` | [`FormulaAll`], [`FormulaRow`] | `x`, `y`, `z`, `w`: four coordinates or parameters, zero beyond the last; `index`, which four; `sum`, from `take` to `take` | takes note of them |
//! | `finish` | all functions | `sum`: the terms' sum, or what `take` yields | the value |
//! | `once` | [`FormulaRow`] | nothing | what depends on the parameters alone |
//! | `more` | [`FormulaRow`] | as `take`, arguments of a row from the fifth on; `index` counts from 1 | takes note of them |
//! | `row` | [`FormulaRow`] | `x`, `y`, `z`, `w`: the row's first four arguments, zero beyond the last | the prediction |
//! | `begin` | [`FormulaRow`] with dual numbers | `p0` to `p7`: the parameters, whatever beyond the last | takes note of them, and what depends on them alone |
//! | `slopes` | [`FormulaRow`] with dual numbers | as `row` | the prediction, and in `s0` to `s7` its derivatives by the parameters |
//!
//! What is given are registers with these names behind `%hole_`; the result is put into `%hole_to`. What
//! stands in a hole until it is filled makes a plain function of the template, which the emulator, the
//! CPU and a GPU compute alike: the sum of x_d^2, of x_d x_(d+1), of x_d, and of a row's first four
//! arguments, whose derivatives are zero.
//!
//! Where many fits are made ([`Many`](crate::fit::kernels::many::Many)), the model is asked with dual
//! numbers. A formula then brings its derivatives along as code of its own, which knows what is zero.

#[cfg(target_arch = "nvptx64")]
use core::any::TypeId;

#[cfg(target_arch = "nvptx64")]
use crate::{fit::many::MOST_PARAMETERS, math::Dual};
use crate::{
    fit::{Columns, Model, ModelInfo, Parameter, Range, Row, Rows, Shape, Size},
    gpu::warp::Shuffle,
    math::{Partial, Real},
    objective::{Context, Data, Dimensions, Goal, Hints, Info, Objective, Optimum, Point, Reach},
};

/// Calls the macro `$callback` with the list of all templates: `name: Type,` each.
///
/// ```
/// macro_rules! names {
///     ($($name:ident: $type:ident,)*) => { [$(stringify!($name)),*] };
/// }
/// assert_eq!(flockwork_device::for_each_template!(names).len(), 3);
/// ```
#[macro_export]
macro_rules! for_each_template {
    ($callback:ident) => {
        $callback! {
            formula_own: FormulaOwn,
            formula_next: FormulaNext,
            formula_all: FormulaAll,
        }
    };
}

/// As [`for_each_template`], of the templates that are models.
///
/// ```
/// macro_rules! names {
///     ($($name:ident: $type:ident,)*) => { [$(stringify!($name)),*] };
/// }
/// assert_eq!(flockwork_device::for_each_model_template!(names), ["formula_row"]);
/// ```
#[macro_export]
macro_rules! for_each_model_template {
    ($callback:ident) => {
        $callback! {
            formula_row: FormulaRow,
        }
    };
}

/// A sum of terms, of which the sum of none adds nothing at all: 0 would make +0 of -0.
///
/// ```
/// use flockwork_device::{formula::template::Joined, math::Partial};
///
/// assert!(Joined::none().combine(Joined(-0.0_f64)).0.is_sign_negative());
/// assert_eq!(Joined(1.0).combine(Joined(2.0)), Joined(3.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Joined<T>(pub T);

impl<T: Real> Shuffle for Joined<T> {
    const WORDS: u32 = T::WORDS;

    #[inline(always)]
    fn map_words(self, f: impl FnMut(u32) -> u32) -> Self {
        Self(self.0.map_words(f))
    }
}

impl<T: Real> Partial for Joined<T> {
    #[inline(always)]
    fn none() -> Self {
        Self(T::of(-0.0))
    }

    #[inline(always)]
    fn combine(self, next: Self) -> Self {
        Self(self.0 + next.0)
    }
}

/// What all templates say of themselves.
const INFO: Info = Info {
    name: "",
    formula: "",
    source: "written in at run time",
    interval: (-1.0, 1.0),
    dimensions: Dimensions::AtLeast(1),
    goal: Goal::Minimise,
    optimum: Optimum::Unknown,
    data: Data::None,
};

/// Formulas may take many registers.
const HINTS: Hints = Hints { bounded_step: false, ..Hints::DEFAULT };

/// A formula whose sum has a term for each coordinate.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, FormulaOwn, evaluation::evaluate};
///
/// // Until its holes are filled.
/// let context = Context::<f64>::new(2, ReadOnly::empty());
/// assert_eq!(evaluate(&FormulaOwn, &[3.0, 4.0], &context), 25.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct FormulaOwn;

/// A formula whose sum has a term for each pair of neighbours.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, FormulaNext, evaluation::evaluate};
///
/// // Until its holes are filled.
/// let context = Context::<f64>::new(2, ReadOnly::empty());
/// assert_eq!(evaluate(&FormulaNext, &[3.0, 4.0], &context), 12.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct FormulaNext;

/// Any other formula.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, FormulaAll, evaluation::evaluate};
///
/// // Until its holes are filled.
/// let context = Context::<f64>::new(2, ReadOnly::empty());
/// assert_eq!(evaluate(&FormulaAll, &[3.0, 4.0], &context), 7.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct FormulaAll;

impl Objective for FormulaOwn {
    const INFO: Info = Info { name: "formula_own", formula: "sum of x_d^2", ..INFO };
    const HINTS: Hints = HINTS;

    type Partial<T: Real> = Joined<T>;

    #[inline(always)]
    fn term<T: Real>(
        &self,
        index: u32,
        x: &impl Point<T>,
        context: &Context<T::Scalar>,
    ) -> Joined<T> {
        let x = x.at(index);
        Joined(term([x, x], index, context))
    }

    #[inline(always)]
    fn finish<T: Real>(&self, Joined(sum): Joined<T>, _: &Context<T::Scalar>) -> T {
        finish(sum)
    }
}

impl Objective for FormulaNext {
    const INFO: Info = Info {
        name: "formula_next",
        formula: "sum of x_d x_(d+1)",
        dimensions: Dimensions::AtLeast(2),
        ..INFO
    };
    const REACH: Reach = Reach::Next;
    const HINTS: Hints = HINTS;

    type Partial<T: Real> = Joined<T>;

    #[inline(always)]
    fn term<T: Real>(
        &self,
        index: u32,
        x: &impl Point<T>,
        context: &Context<T::Scalar>,
    ) -> Joined<T> {
        Joined(term([x.at(index), x.at(index + 1)], index, context))
    }

    #[inline(always)]
    fn finish<T: Real>(&self, Joined(sum): Joined<T>, _: &Context<T::Scalar>) -> T {
        finish(sum)
    }
}

impl Objective for FormulaAll {
    const INFO: Info = Info { name: "formula_all", formula: "sum of x_d", ..INFO };
    const REACH: Reach = Reach::All;
    const HINTS: Hints = HINTS;

    type Partial<T: Real> = Joined<T>;

    #[inline(always)]
    fn terms<S: crate::math::Scalar>(&self, _: &Context<S>) -> u32 {
        1
    }

    #[inline(always)]
    fn term<T: Real>(&self, _: u32, x: &impl Point<T>, context: &Context<T::Scalar>) -> Joined<T> {
        let at = |dimension| if dimension < context.dims { x.at(dimension) } else { T::of(0.0) };
        let mut sum = T::of(0.0);
        for index in 0..context.dims.div_ceil(4) {
            sum = take([0, 1, 2, 3].map(|ahead| at(4 * index + ahead)), index, sum);
        }
        // Here, since another thread may be given the term.
        Joined(finish(sum))
    }

    #[inline(always)]
    fn finish<T: Real>(&self, Joined(value): Joined<T>, _: &Context<T::Scalar>) -> T {
        value
    }
}

/// A formula of parameters and of a row's arguments.
///
/// ```
/// use flockwork_device::fit::{FormulaRow, Model, Shape, predict};
///
/// // Until its holes are filled.
/// let shape = Shape::of(&FormulaRow::INFO, 2);
/// assert_eq!(predict(&FormulaRow, &[1.0], &[3.0, 4.0], &shape), 7.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct FormulaRow;

impl Model for FormulaRow {
    const INFO: ModelInfo = ModelInfo {
        name: "formula_row",
        formula: "sum of the first four arguments",
        source: "written in at run time",
        columns: Columns::AtLeast(0),
        sizes: &[Size { name: "parameters", usual: 1, least: 0, most: u32::MAX }],
        parameters: |shape| shape.sizes[0],
        parameter: |nth, _| Parameter::nth("p", nth + 1, Range::Plain(-1.0, 1.0)),
        linear: |_, _| false,
        order: |_| None,
    };

    const IS_TEMPLATE: bool = true;

    #[inline(always)]
    fn begin<T: Real>(&self, parameters: &impl Point<T>, shape: &Shape) {
        if begin(parameters) {
            return;
        }
        let count = shape.sizes[0];
        let at = |nth| if nth < count { parameters.at(nth) } else { T::of(0.0) };
        for index in 0..count.div_ceil(4) {
            take([0, 1, 2, 3].map(|ahead| at(4 * index + ahead)), index, T::of(0.0));
        }
        once();
    }

    #[inline(always)]
    fn predict<T: Real>(
        &self,
        _: &impl Point<T>,
        row: Row<'_, impl Rows<T::Scalar>>,
        shape: &Shape,
    ) -> T {
        let at = |nth| if nth < shape.columns { T::splat(row.at(nth)) } else { T::of(0.0) };
        let first = [0, 1, 2, 3].map(at);
        for index in 1..shape.columns.div_ceil(4) {
            more([0, 1, 2, 3].map(|ahead| at(4 * index + ahead)), index);
        }
        of_row(first)
    }
}

/// `f` of these numbers, which on a GPU are of this type: nothing else calculates there.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn of_type<T: Real, S: Real, const COUNT: usize>(
    numbers: [T; COUNT],
    f: impl FnOnce([S; COUNT]) -> S,
) -> Option<T> {
    if TypeId::of::<T>() != TypeId::of::<S>() {
        return None;
    }
    // SAFETY: they are of one and the same type.
    unsafe {
        let numbers = core::mem::transmute_copy::<[T; COUNT], [S; COUNT]>(&numbers);
        Some(core::mem::transmute_copy::<S, T>(&f(numbers)))
    }
}

/// Dual numbers of many fits whose numbers are of this type.
#[cfg(target_arch = "nvptx64")]
type Directed<S> = Dual<S, MOST_PARAMETERS>;

/// The values of dual numbers, if these are such over this type.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn values<T: Real, S: Real, const COUNT: usize>(numbers: [T; COUNT]) -> Option<[S; COUNT]> {
    if TypeId::of::<T>() != TypeId::of::<Directed<S>>() {
        return None;
    }
    // SAFETY: they are of one and the same type.
    let value = |number| unsafe { core::mem::transmute_copy::<T, Directed<S>>(&number).value };
    Some(numbers.map(value))
}

/// The row's prediction with its derivatives from a hole, if numbers are dual ones over this type.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn with_slopes<T: Real, S: Real>(
    first: [T; 4],
    hole: impl FnOnce([S; 4]) -> (S, [S; MOST_PARAMETERS]),
) -> Option<T> {
    let (value, slope) = hole(values(first)?);
    let predicted = Directed { value, slope };
    // SAFETY: they are of one and the same type, or there would be no values.
    Some(unsafe { core::mem::transmute_copy::<Directed<S>, T>(&predicted) })
}

/// A hole that takes note of four numbers.
#[cfg(target_arch = "nvptx64")]
macro_rules! takes {
    ($hole:ident, $type:ident, $bits:ident, $class:ident, $word:literal) => {
        /// Takes note of four numbers.
        #[inline(always)]
        pub fn $hole([x, y, z, w, sum]: [$type; 5], index: u32) -> $type {
            let to: $bits;
            // SAFETY: calculates with registers, some of which the host adds; so it is not pure.
            unsafe {
                asm!(
                    "{{",
                    ".reg .b32 %hole_index;",
                    concat!(
                        ".reg .", $word,
                        " %hole_x, %hole_y, %hole_z, %hole_w, %hole_sum, %hole_to;"
                    ),
                    "mov.b32 %hole_index,{index};",
                    concat!("mov.", $word, " %hole_x,{x};"),
                    concat!("mov.", $word, " %hole_y,{y};"),
                    concat!("mov.", $word, " %hole_z,{z};"),
                    concat!("mov.", $word, " %hole_w,{w};"),
                    concat!("mov.", $word, " %hole_sum,{sum};"),
                    concat!(".reg .pred %hole_", stringify!($hole), "_begins;"),
                    concat!("add.rn.", stringify!($type), " %hole_to,%hole_sum,%hole_x;"),
                    concat!("add.rn.", stringify!($type), " %hole_to,%hole_to,%hole_y;"),
                    concat!("add.rn.", stringify!($type), " %hole_to,%hole_to,%hole_z;"),
                    concat!("add.rn.", stringify!($type), " %hole_to,%hole_to,%hole_w;"),
                    concat!(".reg .pred %hole_", stringify!($hole), "_ends;"),
                    concat!("mov.", $word, " {to},%hole_to;"),
                    "}}",
                    index = in(reg32) index,
                    x = in($class) x.to_bits(),
                    y = in($class) y.to_bits(),
                    z = in($class) z.to_bits(),
                    w = in($class) w.to_bits(),
                    sum = in($class) sum.to_bits(),
                    to = lateout($class) to,
                    options(nomem, nostack, preserves_flags)
                );
            }
            $type::from_bits(to)
        }
    };
}

macro_rules! holes {
    ($module:ident, $type:ident, $bits:ident, $class:ident, $word:literal, $zero:literal) => {
        #[cfg(target_arch = "nvptx64")]
        mod $module {
            use core::arch::asm;

            /// A term of the coordinates `x` and `y`.
            #[inline(always)]
            pub fn term([x, y]: [$type; 2], index: u32, data: *const $type) -> $type {
                let to: $bits;
                // SAFETY: calculates with registers; what the host writes here reads `data` besides,
                // which nobody writes.
                unsafe {
                    asm!(
                        "{{",
                        ".reg .b32 %hole_index;",
                        ".reg .b64 %hole_data;",
                        concat!(".reg .", $word, " %hole_x, %hole_y, %hole_to;"),
                        "mov.b32 %hole_index,{index};",
                        "mov.b64 %hole_data,{data};",
                        concat!("mov.", $word, " %hole_x,{x};"),
                        concat!("mov.", $word, " %hole_y,{y};"),
                        ".reg .pred %hole_term_begins;",
                        concat!("mul.rn.", stringify!($type), " %hole_to,%hole_x,%hole_y;"),
                        ".reg .pred %hole_term_ends;",
                        concat!("mov.", $word, " {to},%hole_to;"),
                        "}}",
                        index = in(reg32) index,
                        data = in(reg64) data as u64,
                        x = in($class) x.to_bits(),
                        y = in($class) y.to_bits(),
                        to = lateout($class) to,
                        options(pure, nomem, nostack, preserves_flags)
                    );
                }
                $type::from_bits(to)
            }

            takes!(take, $type, $bits, $class, $word);
            takes!(more, $type, $bits, $class, $word);

            /// The value.
            #[inline(always)]
            pub fn finish([sum]: [$type; 1]) -> $type {
                let to: $bits;
                // SAFETY: as `take`.
                unsafe {
                    asm!(
                        "{{",
                        concat!(".reg .", $word, " %hole_sum, %hole_to;"),
                        concat!("mov.", $word, " %hole_sum,{sum};"),
                        ".reg .pred %hole_finish_begins;",
                        concat!("mov.", $word, " %hole_to,%hole_sum;"),
                        ".reg .pred %hole_finish_ends;",
                        concat!("mov.", $word, " {to},%hole_to;"),
                        "}}",
                        sum = in($class) sum.to_bits(),
                        to = lateout($class) to,
                        options(nomem, nostack, preserves_flags)
                    );
                }
                $type::from_bits(to)
            }

            /// A model's prediction.
            #[inline(always)]
            pub fn row([x, y, z, w]: [$type; 4]) -> $type {
                let to: $bits;
                // SAFETY: as `take`.
                unsafe {
                    asm!(
                        "{{",
                        concat!(".reg .", $word, " %hole_x, %hole_y, %hole_z, %hole_w, %hole_to;"),
                        concat!("mov.", $word, " %hole_x,{x};"),
                        concat!("mov.", $word, " %hole_y,{y};"),
                        concat!("mov.", $word, " %hole_z,{z};"),
                        concat!("mov.", $word, " %hole_w,{w};"),
                        ".reg .pred %hole_row_begins;",
                        concat!("add.rn.", stringify!($type), " %hole_to,%hole_x,%hole_y;"),
                        concat!("add.rn.", stringify!($type), " %hole_to,%hole_to,%hole_z;"),
                        concat!("add.rn.", stringify!($type), " %hole_to,%hole_to,%hole_w;"),
                        ".reg .pred %hole_row_ends;",
                        concat!("mov.", $word, " {to},%hole_to;"),
                        "}}",
                        x = in($class) x.to_bits(),
                        y = in($class) y.to_bits(),
                        z = in($class) z.to_bits(),
                        w = in($class) w.to_bits(),
                        to = lateout($class) to,
                        options(nomem, nostack, preserves_flags)
                    );
                }
                $type::from_bits(to)
            }

            /// Takes note of the parameters, and calculates what depends on them alone.
            #[inline(always)]
            pub fn begin([p0, p1, p2, p3, p4, p5, p6, p7]: [$type; 8]) {
                // SAFETY: as `take`.
                unsafe {
                    asm!(
                        "{{",
                        concat!(
                            ".reg .", $word, " %hole_p0, %hole_p1, %hole_p2, %hole_p3, ",
                            "%hole_p4, %hole_p5, %hole_p6, %hole_p7;"
                        ),
                        concat!("mov.", $word, " %hole_p0,{p0};"),
                        concat!("mov.", $word, " %hole_p1,{p1};"),
                        concat!("mov.", $word, " %hole_p2,{p2};"),
                        concat!("mov.", $word, " %hole_p3,{p3};"),
                        concat!("mov.", $word, " %hole_p4,{p4};"),
                        concat!("mov.", $word, " %hole_p5,{p5};"),
                        concat!("mov.", $word, " %hole_p6,{p6};"),
                        concat!("mov.", $word, " %hole_p7,{p7};"),
                        ".reg .pred %hole_begin_begins;",
                        ".reg .pred %hole_begin_ends;",
                        "}}",
                        p0 = in($class) p0.to_bits(),
                        p1 = in($class) p1.to_bits(),
                        p2 = in($class) p2.to_bits(),
                        p3 = in($class) p3.to_bits(),
                        p4 = in($class) p4.to_bits(),
                        p5 = in($class) p5.to_bits(),
                        p6 = in($class) p6.to_bits(),
                        p7 = in($class) p7.to_bits(),
                        options(nomem, nostack, preserves_flags)
                    );
                }
            }

            /// A model's prediction, and its derivatives by the parameters.
            #[inline(always)]
            pub fn slopes([x, y, z, w]: [$type; 4]) -> ($type, [$type; 8]) {
                let to: $bits;
                let (s0, s1, s2, s3): ($bits, $bits, $bits, $bits);
                let (s4, s5, s6, s7): ($bits, $bits, $bits, $bits);
                // SAFETY: as `take`.
                unsafe {
                    asm!(
                        "{{",
                        concat!(".reg .", $word, " %hole_x, %hole_y, %hole_z, %hole_w, %hole_to;"),
                        concat!(
                            ".reg .", $word, " %hole_s0, %hole_s1, %hole_s2, %hole_s3, ",
                            "%hole_s4, %hole_s5, %hole_s6, %hole_s7;"
                        ),
                        concat!("mov.", $word, " %hole_x,{x};"),
                        concat!("mov.", $word, " %hole_y,{y};"),
                        concat!("mov.", $word, " %hole_z,{z};"),
                        concat!("mov.", $word, " %hole_w,{w};"),
                        ".reg .pred %hole_slopes_begins;",
                        concat!("add.rn.", stringify!($type), " %hole_to,%hole_x,%hole_y;"),
                        concat!("add.rn.", stringify!($type), " %hole_to,%hole_to,%hole_z;"),
                        concat!("add.rn.", stringify!($type), " %hole_to,%hole_to,%hole_w;"),
                        concat!("mov.", $word, " %hole_s0,", $zero, ";"),
                        concat!("mov.", $word, " %hole_s1,", $zero, ";"),
                        concat!("mov.", $word, " %hole_s2,", $zero, ";"),
                        concat!("mov.", $word, " %hole_s3,", $zero, ";"),
                        concat!("mov.", $word, " %hole_s4,", $zero, ";"),
                        concat!("mov.", $word, " %hole_s5,", $zero, ";"),
                        concat!("mov.", $word, " %hole_s6,", $zero, ";"),
                        concat!("mov.", $word, " %hole_s7,", $zero, ";"),
                        ".reg .pred %hole_slopes_ends;",
                        concat!("mov.", $word, " {to},%hole_to;"),
                        concat!("mov.", $word, " {s0},%hole_s0;"),
                        concat!("mov.", $word, " {s1},%hole_s1;"),
                        concat!("mov.", $word, " {s2},%hole_s2;"),
                        concat!("mov.", $word, " {s3},%hole_s3;"),
                        concat!("mov.", $word, " {s4},%hole_s4;"),
                        concat!("mov.", $word, " {s5},%hole_s5;"),
                        concat!("mov.", $word, " {s6},%hole_s6;"),
                        concat!("mov.", $word, " {s7},%hole_s7;"),
                        "}}",
                        x = in($class) x.to_bits(),
                        y = in($class) y.to_bits(),
                        z = in($class) z.to_bits(),
                        w = in($class) w.to_bits(),
                        to = lateout($class) to,
                        s0 = lateout($class) s0,
                        s1 = lateout($class) s1,
                        s2 = lateout($class) s2,
                        s3 = lateout($class) s3,
                        s4 = lateout($class) s4,
                        s5 = lateout($class) s5,
                        s6 = lateout($class) s6,
                        s7 = lateout($class) s7,
                        options(nomem, nostack, preserves_flags)
                    );
                }
                let slopes = [s0, s1, s2, s3, s4, s5, s6, s7];
                ($type::from_bits(to), slopes.map($type::from_bits))
            }
        }
    };
}
holes!(single, f32, u32, reg32, "b32", "0f00000000");
holes!(double, f64, u64, reg64, "b64", "0d0000000000000000");

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn term<T: Real>(seen: [T; 2], index: u32, context: &Context<T::Scalar>) -> T {
    let data = context.data_address();
    of_type(seen, |seen| single::term(seen, index, data.cast()))
        .or_else(|| of_type(seen, |seen| double::term(seen, index, data.cast())))
        .unwrap_or(seen[0])
}

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn take<T: Real>([x, y, z, w]: [T; 4], index: u32, sum: T) -> T {
    of_type([x, y, z, w, sum], |seen| single::take(seen, index))
        .or_else(|| of_type([x, y, z, w, sum], |seen| double::take(seen, index)))
        .unwrap_or(sum)
}

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn finish<T: Real>(sum: T) -> T {
    of_type([sum], single::finish).or_else(|| of_type([sum], double::finish)).unwrap_or(sum)
}

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn more<T: Real>([x, y, z, w]: [T; 4], index: u32) {
    if let Some([x, y, z, w]) = values([x, y, z, w]) {
        single::more([x, y, z, w, 0.0], index);
    }
    if let Some([x, y, z, w]) = values([x, y, z, w]) {
        double::more([x, y, z, w, 0.0], index);
    }
    let seen = [x, y, z, w, T::of(0.0)];
    let _ = of_type(seen, |seen| single::more(seen, index))
        .or_else(|| of_type(seen, |seen| double::more(seen, index)));
}

/// Takes note of the parameters and what depends on them alone, if they are dual numbers.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn begin<T: Real>(parameters: &impl Point<T>) -> bool {
    let all = || [0, 1, 2, 3, 4, 5, 6, 7].map(|nth| parameters.at(nth));
    if TypeId::of::<T>() == TypeId::of::<Directed<f32>>() {
        values(all()).map(single::begin).is_some()
    } else if TypeId::of::<T>() == TypeId::of::<Directed<f64>>() {
        values(all()).map(double::begin).is_some()
    } else {
        false
    }
}

/// What depends on a model's parameters alone.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn once() {
    // SAFETY: what the host writes here calculates with registers that it adds; so it is not pure.
    unsafe {
        core::arch::asm!(
            "{{",
            ".reg .pred %hole_once_begins;",
            ".reg .pred %hole_once_ends;",
            "}}",
            options(nomem, nostack, preserves_flags)
        );
    }
}

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn of_row<T: Real>(first: [T; 4]) -> T {
    with_slopes(first, single::slopes)
        .or_else(|| with_slopes(first, double::slopes))
        .or_else(|| of_type(first, single::row))
        .or_else(|| of_type(first, double::row))
        .unwrap_or(first[0])
}

#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
fn term<T: Real>([x, y]: [T; 2], _: u32, _: &Context<T::Scalar>) -> T {
    x * y
}

#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
fn take<T: Real>([x, y, z, w]: [T; 4], _: u32, sum: T) -> T {
    sum + x + y + z + w
}

#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
fn finish<T: Real>(sum: T) -> T {
    sum
}

#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
fn more<T: Real>(_: [T; 4], _: u32) {}

#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
fn once() {}

#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
fn of_row<T: Real>([x, y, z, w]: [T; 4]) -> T {
    x + y + z + w
}

#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
fn begin<T: Real>(_: &impl Point<T>) -> bool {
    false
}
