//! Kernels: from PTX text to a function on the GPU.
//!
//! The driver compiles a module when it is loaded, which takes some 10 to 100 ms. So each kernel is
//! a separate module, loaded when first used and kept as long as its GPU is open.

use std::collections::HashMap;
use std::ffi::{CString, c_int, c_void};
use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use flockwork_archive::Archive;
use flockwork_device::kernel::{Constants, Kernels};

use super::context::Context;
use super::device::Device;
use super::driver::{self, call};
use super::error::{Code, CudaError, DriverError, Result, cuda_of_ptx};
use super::sys::{self, CUfunction_attribute as Attribute, CUjit_option as JitOption};
use super::text;
use super::version::{Capability, Version};

/// Every kernel, compiled to PTX for one target and all later ones.
///
/// The texts are compressed. Reading one takes up to 10 ms.
///
/// ```
/// for image in flockwork::kernel_images() {
///     println!("{} kernels for sm_{}", image.names().count(), image.target());
///     let name = image.names().next().expect("at least one");
///     let text = image.text(name).expect("it is there");
///     assert!(text.contains(&format!(".entry {name}(")));
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Image {
    target: u32,
    bytes: &'static [u8],
    /// `bytes`, once its index has been read.
    archive: OnceLock<Archive<'static>>,
}

/// Whether they are the same kernels for the same target.
impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        (self.target, self.bytes) == (other.target, other.bytes)
    }
}

impl Eq for Image {}

impl Image {
    /// The kernels of an archive that the build wrote.
    pub(crate) const fn new(target: u32, bytes: &'static [u8]) -> Self {
        Self { target, bytes, archive: OnceLock::new() }
    }

    /// The number in the target's name: 90 for `sm_90`.
    ///
    /// ```
    /// assert!(flockwork::kernel_images().iter().all(|image| image.target() >= 70));
    /// ```
    pub fn target(&self) -> u32 {
        self.target
    }

    /// The kernels' names.
    ///
    /// ```
    /// let newest = flockwork::kernel_images().last().expect("one for each target");
    /// assert!(newest.names().any(|name| name == "swarm_step_rastrigin_f32"));
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.archive().kernels.iter().map(|kernel| &*kernel.name)
    }

    /// The text of a PTX module with a kernel and all that it needs; `None` if there is no such kernel.
    ///
    /// ```
    /// let newest = flockwork::kernel_images().last().expect("one for each target");
    /// let text = newest.text("swarm_step_rastrigin_f32").expect("it is there");
    /// assert!(text.starts_with(".version "));
    /// assert_eq!(newest.text("no_such_kernel"), None);
    /// ```
    pub fn text(&self, name: &str) -> Option<String> {
        Some(self.archive().text(name)?.expect("the build wrote the archive"))
    }

    fn archive(&self) -> &Archive<'static> {
        self.archive.get_or_init(|| Archive::read(self.bytes).expect("the build wrote the archive"))
    }

    /// The one of `images` with the newest target that a GPU of `capability` can run.
    pub(super) fn newest(images: &'static [Self], capability: Capability) -> Option<&'static Self> {
        images
            .iter()
            .filter(|image| image.target <= capability.target())
            .max_by_key(|image| image.target)
    }
}

/// The kernels of a GPU, loaded or not.
pub(super) struct Modules {
    image: &'static Image,
    device: Device,
    context: Arc<Context>,
    /// A kernel's slot is locked while it is loaded, the map only while the slot is looked up. So
    /// each kernel is compiled once, and different ones concurrently.
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
}

type Slot = Mutex<Option<Arc<Loaded>>>;

/// A kernel's name, and how it is compiled.
type Key = (String, Option<u32>, Constants, Option<Arc<str>>, Option<usize>);

/// How a kernel is compiled.
#[derive(Clone, Copy)]
pub(super) struct Variant<'a> {
    /// The most threads of its blocks, if fewer than it declares.
    pub(super) threads: Option<u32>,
    /// Its specialization constants.
    pub(super) constants: Constants,
    /// What is written into it.
    pub(super) filling: Option<&'a dyn Filling>,
    /// Where it is, if it is of a type that is not built in.
    pub(super) own: Kernels,
}

/// What is written into a kernel before the driver compiles it.
pub(crate) trait Filling: Send + Sync {
    /// What tells it from others.
    fn key(&self) -> Arc<str>;

    /// The text of the kernel's module with it. `kernel` has the texts of other kernels.
    fn fill(&self, text: &str, kernel: &dyn Fn(&str) -> Option<String>) -> String;
}

impl Modules {
    pub(super) fn new(image: &'static Image, device: &Device, context: Arc<Context>) -> Self {
        Self { image, device: device.clone(), context, slots: Mutex::default() }
    }

    /// Returns a kernel, loading it if necessary.
    pub(super) fn get(&self, name: &str, variant: Variant<'_>) -> Result<Arc<Loaded>> {
        let Variant { threads, constants, filling, own } = variant;
        let own = self.own(own);
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            // Types of two crates may have the same name.
            let place = own.map(|bytes| bytes.as_ptr().addr());
            let key = (name.to_owned(), threads, constants, filling.map(Filling::key), place);
            slots.entry(key).or_default().clone()
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = &*slot {
            return Ok(loaded.clone());
        }
        let text = match own {
            Some(bytes) => Image::new(self.image.target, bytes).text(name),
            None => self.image.text(name),
        };
        let mut text = text.ok_or_else(|| CudaError::NoKernel {
            name: name.to_owned(),
            target: Capability::of_target(self.image.target),
        })?;
        if let Some(filling) = filling {
            text = filling.fill(&text, &|name| self.image.text(name));
        }
        if let Some(threads) = threads {
            text = text::narrowed(&text, threads);
        }
        if !constants.is_empty() {
            text = text::with_constants(&text, name, &constants);
        }
        let loaded = Loaded::load(name, &text, constants, &self.device, &self.context)?;
        Ok(slot.insert(Arc::new(loaded)).clone())
    }

    /// The archive for the newest target that this GPU runs.
    fn own(&self, kernels: Kernels) -> Option<&'static [u8]> {
        let archives = kernels.archives().ok()?.iter();
        let runs = archives.filter(|(target, _)| *target <= self.device.capability.target());
        runs.max_by_key(|(target, _)| *target).map(|(_, bytes)| *bytes)
    }

    /// The kernels loaded so far and the time each took, by name.
    pub(super) fn loaded(&self) -> Vec<(String, Duration)> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let mut loaded: Vec<_> = slots
            .iter()
            .filter_map(|((name, ..), slot)| {
                // A kernel that is being loaded does not count.
                let time = slot.try_lock().ok()?.as_ref()?.information.load_time;
                Some((name.clone(), time))
            })
            .collect();
        loaded.sort();
        loaded
    }
}

/// Facts about a kernel from the driver's compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Information {
    /// 32-bit registers per thread.
    pub registers: u32,
    /// Bytes of local memory per thread: arrays that did not fit in registers, and spills.
    pub local_bytes: u32,
    /// Bytes of shared memory per block that the kernel itself declares.
    pub static_shared_bytes: u32,
    /// Bytes of shared memory per block that a launch may add.
    pub most_shared_bytes: u32,
    /// The largest block that its registers allow.
    pub most_threads: u32,
    /// How long the driver took to compile and load it.
    pub load_time: Duration,
}

/// A kernel on the GPU.
pub(super) struct Loaded {
    pub(super) name: String,
    pub(super) function: sys::CUfunction,
    pub(super) information: Information,
    /// Size in bytes of its parameter; `None` if the driver is too old to tell.
    pub(super) parameter: Option<usize>,
    /// Its specialization constants.
    pub(super) constants: Constants,
    /// The multiprocessors of its GPU.
    pub(super) multiprocessors: u32,
    /// Keeps `function` loaded.
    module: Module,
}

// SAFETY: a function's handle may be used by any thread while its module is loaded.
unsafe impl Send for Loaded {}
// SAFETY: as above; nothing here changes.
unsafe impl Sync for Loaded {}

impl Loaded {
    fn load(
        name: &str,
        text: &str,
        constants: Constants,
        device: &Device,
        context: &Arc<Context>,
    ) -> Result<Self> {
        let start = Instant::now();
        context.make_current()?;
        let module = Module::compile(name, text, context)?;
        let entry = CString::new(name).map_err(|_| not_accepted(name, "a zero in its name"))?;
        let mut function = ptr::null_mut();
        // SAFETY: `function` is written before the call returns; the name ends in a zero.
        unsafe { call!(cuModuleGetFunction(&mut function, module.raw, entry.as_ptr())) }
            .map_err(|error| compilation(name, error, String::new()))?;

        let attribute = |attribute: Attribute| {
            let mut value: c_int = 0;
            // SAFETY: `value` is written before the call returns; the module is loaded.
            unsafe { call!(cuFuncGetAttribute(&mut value, attribute, function)) }?;
            Ok::<u32, DriverError>(value.max(0) as u32)
        };
        let static_shared_bytes = attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
        // Without this call a launch could add no more than 48 KiB.
        let most_shared_bytes = device.shared_per_block.saturating_sub(static_shared_bytes);
        // SAFETY: takes no pointers; the module is loaded.
        unsafe {
            call!(cuFuncSetAttribute(
                function,
                Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                most_shared_bytes as c_int,
            ))
        }?;
        let information = Information {
            registers: attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local_bytes: attribute(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            static_shared_bytes,
            most_shared_bytes,
            most_threads: attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            load_time: start.elapsed(),
        };
        let parameter = parameter(function);
        let (name, multiprocessors) = (name.to_owned(), device.multiprocessors);
        Ok(Self { name, function, information, parameter, constants, multiprocessors, module })
    }

    /// The context in which it is loaded.
    pub(super) fn context(&self) -> &Arc<Context> {
        &self.module.context
    }
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded")
            .field("name", &self.name)
            .field("information", &self.information)
            .finish_non_exhaustive()
    }
}

/// The size in bytes of the first parameter of `function`, if the driver tells (since CUDA 12.4).
fn parameter(function: sys::CUfunction) -> Option<usize> {
    let (mut offset, mut size) = (0, 0);
    // SAFETY: both are written before the call returns; the module is loaded.
    unsafe { call!(cuFuncGetParamInfo(function, 0, &mut offset, &mut size)) }.ok()?;
    Some(size)
}

/// A loaded module.
#[derive(Debug)]
struct Module {
    raw: sys::CUmodule,
    context: Arc<Context>,
}

impl Module {
    /// Has the driver compile `text`. The context must be current.
    fn compile(name: &str, text: &str, context: &Arc<Context>) -> Result<Self> {
        const LOG_BYTES: usize = 16 << 10;
        let text = CString::new(text).map_err(|_| not_accepted(name, "a zero in its text"))?;
        let mut log = vec![0_u8; LOG_BYTES];
        let mut options =
            [JitOption::CU_JIT_ERROR_LOG_BUFFER, JitOption::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        // The second value is the size itself, not its address.
        let mut values =
            [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(LOG_BYTES)];
        let mut raw = ptr::null_mut();
        // SAFETY: the text ends in a zero; both arrays have the two elements announced; the log has
        // the length announced and outlives the call.
        unsafe {
            call!(cuModuleLoadDataEx(
                &mut raw,
                text.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            ))
        }
        .map_err(|error| {
            if error.code == Code::UNSUPPORTED_PTX_VERSION
                && let Some((found, needed)) = versions(&text.to_string_lossy())
            {
                return CudaError::DriverTooOld { found, needed };
            }
            let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
            compilation(name, error, String::from_utf8_lossy(&log[..end]).into_owned())
        })?;
        Ok(Self { raw, context: context.clone() })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // If either call fails, the context is being destroyed and takes the module with it.
        if self.context.make_current().is_ok() {
            // SAFETY: unloaded once; its function goes with `Loaded`, which holds `self`.
            let _ = unsafe { call!(cuModuleUnload(self.raw)) };
        }
    }
}

fn compilation(kernel: &str, source: DriverError, log: String) -> CudaError {
    CudaError::Compilation { kernel: kernel.to_owned(), log, source }
}

fn not_accepted(kernel: &str, log: &str) -> CudaError {
    let source = DriverError { call: "cuModuleLoadDataEx", code: Code::INVALID_PTX };
    compilation(kernel, source, log.to_owned())
}

/// The driver's version of CUDA and the one that `text` needs, if that is newer.
fn versions(text: &str) -> Option<(Version, Version)> {
    let found = driver::version().ok()?;
    let needed = version_needed(text)?;
    (needed > found).then_some((found, needed))
}

/// The version of CUDA whose driver first accepted the PTX version that `text` declares.
fn version_needed(text: &str) -> Option<Version> {
    let version = text.lines().find_map(|line| line.trim_start().strip_prefix(".version "))?;
    let (major, minor) = version.trim().split_once('.')?;
    Some(cuda_of_ptx(major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    static IMAGES: [Image; 3] = [Image::new(70, b""), Image::new(90, b""), Image::new(80, b"")];

    #[test]
    fn the_newest_image_that_runs_is_taken() {
        let target = |capability| {
            Image::newest(&IMAGES, Capability::of_target(capability)).map(|image| image.target)
        };
        assert_eq!(target(61), None);
        assert_eq!(target(75), Some(70));
        assert_eq!(target(89), Some(80));
        assert_eq!(target(90), Some(90));
        assert_eq!(target(120), Some(90));
    }

    #[test]
    fn the_ptx_says_which_driver_it_needs() {
        let text = "// a comment\n.version 7.8\n.target sm_90\n";
        assert_eq!(version_needed(text), Some(Version::new(11, 8)));
        assert_eq!(version_needed("no PTX"), None);
    }
}
