//! The machine's GPUs, listed without opening one.

use std::ffi::{CStr, c_char};
use std::fmt;

use super::driver::{self, call};
use super::error::{Bytes, CudaError, Result};
use super::sys::{self, CUdevice_P2PAttribute as PeerAttribute, CUdevice_attribute as Attribute};
use super::version::{Capability, Version};

/// Whether this machine has usable GPUs, and if not, why.
///
/// ```
/// use flockwork::cuda::{Availability, availability};
///
/// if let Availability::Unavailable { driver: Some(version), reason } = availability() {
///     println!("there is a driver for CUDA {version}, but {reason}");
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// There is a driver and it lists at least one GPU.
    Available {
        /// The version of CUDA that the driver supports.
        driver: Version,
        /// The GPUs, by ordinal.
        devices: Vec<Device>,
    },
    /// There is no usable GPU.
    Unavailable {
        /// The version of CUDA that the driver supports, if there is a driver.
        driver: Option<Version>,
        /// The reason.
        reason: CudaError,
    },
}

/// Looks for a driver and its GPUs.
///
/// ```
/// use flockwork::cuda::{Availability, availability};
///
/// let gpus = match availability() {
///     Availability::Available { devices, .. } => devices,
///     Availability::Unavailable { .. } => Vec::new(),
/// };
/// assert!(gpus.iter().zip(0..).all(|(gpu, number)| gpu.ordinal == number));
/// ```
pub fn availability() -> Availability {
    let found = driver::start().and_then(|driver| Ok((driver, devices()?)));
    match found {
        Ok((driver, devices)) => Availability::Available { driver, devices },
        Err(reason) => Availability::Unavailable { driver: driver::version().ok(), reason },
    }
}

/// The GPUs of this machine, by ordinal; at least one.
///
/// # Errors
/// As for [`driver::start`], or the driver's error; [`CudaError::NoDevice`] if there are no GPUs.
pub fn devices() -> Result<Vec<Device>> {
    match count()? {
        0 => Err(CudaError::NoDevice),
        count => (0..count).map(Device::describe).collect(),
    }
}

/// How two GPUs are joined.
///
/// ```
/// use flockwork::cuda::{Availability, Link, availability, link};
///
/// if let Availability::Available { devices, .. } = availability()
///     && let [one, other, ..] = &devices[..]
/// {
///     let through_memory = link(one.ordinal, other.ordinal)? == Link::Host;
///     println!("{}", if through_memory { "through main memory" } else { "directly" });
/// }
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Each reads and writes the other's memory, with atomic operations: so it is with NVLink.
    Atomic,
    /// Each reads and writes the other's memory: so it is on one PCI Express bus.
    Direct,
    /// What passes between them goes through main memory.
    Host,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Atomic => "read and write each other's memory, also atomically",
            Self::Direct => "read and write each other's memory",
            Self::Host => "copy through main memory",
        })
    }
}

/// How two different GPUs are joined.
///
/// # Errors
/// [`CudaError::NoSuchDevice`], or the driver's error.
pub fn link(one: u32, other: u32) -> crate::Result<Link> {
    let (from, to) = (raw(one)?, raw(other)?);
    let has = |attribute: PeerAttribute| {
        let mut value = 0;
        // SAFETY: `value` is written before the call returns; the devices came from the driver.
        unsafe { call!(cuDeviceGetP2PAttribute(&mut value, attribute, from, to)) }
            .map_err(CudaError::from)?;
        Ok::<bool, CudaError>(value != 0)
    };
    if !has(PeerAttribute::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED)? {
        return Ok(Link::Host);
    }
    let atomic = has(PeerAttribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED)?;
    Ok(if atomic { Link::Atomic } else { Link::Direct })
}

/// The number of GPUs visible to this program.
pub fn count() -> Result<u32> {
    driver::start()?;
    let mut count = 0;
    // SAFETY: `count` is written before the call returns.
    unsafe { call!(cuDeviceGetCount(&mut count)) }?;
    Ok(count.max(0) as u32)
}

/// Properties of a GPU, known before it is opened.
///
/// ```
/// use flockwork::cuda::{Availability, availability};
///
/// if let Availability::Available { devices, .. } = availability() {
///     let largest = devices.iter().max_by_key(|gpu| gpu.memory).expect("at least one");
///     println!("{largest}");
///     assert!(largest.multiprocessors > 0);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Device {
    /// Its number in the driver's list, from 0.
    pub ordinal: u32,
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    /// Its compute capability.
    pub capability: Capability,
    /// Bytes of memory.
    pub memory: u64,
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// The most threads resident on a multiprocessor at once.
    pub threads_per_multiprocessor: u32,
    /// Number of 32-bit registers of a multiprocessor.
    pub registers_per_multiprocessor: u32,
    /// Bytes of shared memory of a multiprocessor.
    pub shared_per_multiprocessor: u32,
    /// The most bytes of shared memory of a block.
    pub shared_per_block: u32,
    /// Bytes of the second-level cache.
    pub l2_cache: u32,
    /// Whether it supports cooperative launches, whose blocks may wait for each other.
    pub cooperative: bool,
}

impl Device {
    /// Describes the GPU with number `ordinal`.
    ///
    /// # Errors
    /// [`CudaError::NoSuchDevice`], or the driver's error.
    pub(super) fn describe(ordinal: u32) -> Result<Self> {
        let raw = raw(ordinal)?;
        let attribute = |attribute: Attribute| {
            let mut value = 0;
            // SAFETY: `value` is written before the call returns; `raw` came from the driver.
            unsafe { call!(cuDeviceGetAttribute(&mut value, attribute, raw)) }?;
            Ok::<u32, CudaError>(value.max(0) as u32)
        };
        let mut name = [0 as c_char; 128];
        let mut memory = 0;
        // SAFETY: the driver writes at most the 128 bytes announced, the last of them 0.
        unsafe { call!(cuDeviceGetName(name.as_mut_ptr(), name.len() as i32, raw)) }?;
        // SAFETY: `memory` is written before the call returns.
        unsafe { call!(cuDeviceTotalMem_v2(&mut memory, raw)) }?;
        // SAFETY: the string ends within the array, which outlives its use here.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        Ok(Self {
            ordinal,
            name,
            capability: Capability {
                major: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                minor: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            },
            memory: memory as u64,
            multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            threads_per_multiprocessor: attribute(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
            )?,
            registers_per_multiprocessor: attribute(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
            )?,
            shared_per_multiprocessor: attribute(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
            )?,
            shared_per_block: attribute(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            )?,
            l2_cache: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
            cooperative: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? != 0,
        })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}, compute capability {}, {}, {} multiprocessors",
            self.ordinal,
            self.name,
            self.capability,
            Bytes(self.memory),
            self.multiprocessors
        )
    }
}

/// The driver's handle of the GPU with number `ordinal`.
pub(super) fn raw(ordinal: u32) -> Result<sys::CUdevice> {
    let count = count()?;
    if count == 0 {
        return Err(CudaError::NoDevice);
    }
    if ordinal >= count {
        return Err(CudaError::NoSuchDevice { ordinal, count });
    }
    let mut device = 0;
    // SAFETY: `device` is written before the call returns; the ordinal is in range.
    unsafe { call!(cuDeviceGet(&mut device, ordinal as i32)) }?;
    Ok(device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_gpus_says_what_is_missing() {
        match availability() {
            Availability::Available { devices, .. } => assert!(!devices.is_empty()),
            Availability::Unavailable { reason, .. } => assert!(!reason.to_string().is_empty()),
        }
    }
}
