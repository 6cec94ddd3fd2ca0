//! Versions of CUDA and of the hardware.

use std::fmt;

/// A version of CUDA, such as `13.0`: one that a driver supports, or that is required.
///
/// ```
/// use flockwork::cuda::Version;
///
/// let driver = Version::new(12, 4);
/// assert!(driver >= Version::new(11, 8));
/// assert_eq!((driver.major(), driver.minor(), driver.to_string().as_str()), (12, 4, "12.4"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub(super) u32);

impl Version {
    /// Version `major.minor`.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self(1000 * major + 10 * minor)
    }

    /// The number before the point.
    pub const fn major(self) -> u32 {
        self.0 / 1000
    }

    /// The number after the point.
    pub const fn minor(self) -> u32 {
        self.0 % 1000 / 10
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major(), self.minor())
    }
}

/// A version of the hardware's instruction set, such as `9.0` (target `sm_90`).
///
/// ```
/// use flockwork::cuda::Capability;
///
/// let hopper = Capability { major: 9, minor: 0 };
/// assert_eq!(hopper.target(), 90);
/// assert!(hopper > Capability::of_target(86));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Capability {
    /// The architecture.
    pub major: u32,
    /// The variant within it.
    pub minor: u32,
}

impl Capability {
    /// The capability that PTX for `sm_<target>` needs.
    pub const fn of_target(target: u32) -> Self {
        Self { major: target / 10, minor: target % 10 }
    }

    /// The number in the target's name: 90 for `sm_90`.
    pub const fn target(self) -> u32 {
        10 * self.major + self.minor
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_read_as_they_are_written() {
        assert_eq!(Version(13000).to_string(), "13.0");
        assert_eq!(Version(12080), Version::new(12, 8));
        assert!(Version::new(11, 8) < Version::new(12, 0));
    }

    #[test]
    fn targets_and_capabilities_are_two_writings() {
        let hopper = Capability::of_target(90);
        assert_eq!((hopper.to_string().as_str(), hopper.target()), ("9.0", 90));
        assert!(Capability::of_target(86) < Capability::of_target(100));
    }
}
