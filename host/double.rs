//! Numbers as callers have them.

/// A number that `f64` holds exactly: an `f64`, an `f32`, or a reference to one. Lists of bounds, data and
/// weights are taken as anything that iterates over such numbers; a `Vec<f64>` is not copied.
///
/// ```
/// use flockwork::swarm::Problem;
///
/// let slope = |x: &[f64]| x[0] + x[1];
/// let of_arrays = Problem::from_fn([-1.0; 2], [1.0; 2], slope)?;
/// let (lower, upper) = ([-1.0_f32; 2], vec![1.0; 2]);
/// let of_slices = Problem::from_fn(&lower[..], &upper, slope)?;
/// assert_eq!(of_arrays.lower(), of_slices.lower());
/// // Pairs.
/// let (lower, upper): (Vec<f64>, Vec<f64>) = [(-1.0, 1.0), (-1.0, 1.0)].into_iter().unzip();
/// assert_eq!(Problem::from_fn(lower, upper, slope)?.upper(), of_arrays.upper());
/// # Ok::<(), flockwork::Error>(())
/// ```
pub trait Double: sealed::Sealed {
    /// The number.
    fn double(self) -> f64;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for f32 {}
    impl Sealed for &f64 {}
    impl Sealed for &f32 {}
}

impl Double for f64 {
    fn double(self) -> f64 {
        self
    }
}

impl Double for f32 {
    fn double(self) -> f64 {
        f64::from(self)
    }
}

impl Double for &f64 {
    fn double(self) -> f64 {
        *self
    }
}

impl Double for &f32 {
    fn double(self) -> f64 {
        f64::from(*self)
    }
}

/// The numbers of a list.
pub(crate) fn doubles(numbers: impl IntoIterator<Item: Double>) -> Vec<f64> {
    numbers.into_iter().map(Double::double).collect()
}
