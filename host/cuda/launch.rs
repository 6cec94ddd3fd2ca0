//! Launches, checked against the kernel's own declaration.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use flockwork_device::kernel::{Constants, Kernel, Name};

use super::driver::call;
use super::error::{Code, CudaError, LaunchError, MOST_BLOCKS, Result};
use super::gpu::Gpu;
use super::module::{Filling, Information, Loaded, Variant};
use super::stream::Stream;

/// Kernel `K`, loaded on a GPU. Cheap to clone; a launch costs little more than the driver's own.
pub struct LoadedKernel<K> {
    loaded: Arc<Loaded>,
    _kernel: PhantomData<fn() -> K>,
}

impl<K> Clone for LoadedKernel<K> {
    fn clone(&self) -> Self {
        Self { loaded: self.loaded.clone(), _kernel: PhantomData }
    }
}

impl<K> fmt::Debug for LoadedKernel<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.loaded.fmt(f)
    }
}

// There are hundreds of kernels, so code that can be shared is compiled once instead of for each of
// them. It works with the kernel's name, the shape of the launch and the address of the arguments.

/// A launch without its kernel and arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub blocks: u32,
    pub threads: u32,
    /// Bytes of shared memory per block.
    pub shared: u32,
    pub cooperative: bool,
}

impl Gpu {
    /// Loads kernel `K` with these [specialization constants](Kernel::constants), for launches with the
    /// same words in their arguments; the driver compiles it on its first use on this GPU. If `threads` is
    /// given, blocks have at most that many threads (rounded up to a multiple of 128), and each gets as many
    /// registers as that allows. `filling` is written into it.
    ///
    /// # Errors
    /// [`CudaError::NoKernel`], [`CudaError::Compilation`], [`CudaError::DriverTooOld`],
    /// [`CudaError::Arguments`], or an error from the driver.
    pub(crate) fn kernel_for<K: Kernel>(
        &self,
        threads: Option<u32>,
        constants: Constants,
        filling: Option<&dyn Filling>,
    ) -> Result<LoadedKernel<K>> {
        let variant = Variant { threads, constants, filling, own: K::KERNELS };
        let loaded = self.load(K::NAME, K::LAUNCH.threads, size_of::<K::Arguments>(), variant);
        loaded.map(|loaded| LoadedKernel { loaded, _kernel: PhantomData })
    }

    /// Loads the kernel of that name, which states the most threads of a block, and whose arguments take
    /// `passed` bytes.
    fn load(
        &self,
        name: Name,
        most: Option<u32>,
        passed: usize,
        mut variant: Variant<'_>,
    ) -> Result<Arc<Loaded>> {
        variant.threads = variant
            .threads
            .map(|threads| threads.next_multiple_of(128))
            .filter(|&threads| most.is_some_and(|most| threads < most));
        // In its own archive it bears the name of its type.
        let type_name = variant.own.type_name();
        let objective = if type_name.is_empty() { name.objective } else { type_name };
        let name = Name { objective, ..name };
        let loaded = self.modules().get(&name.to_string(), variant)?;
        if let Some(taken) = loaded.parameter
            && taken != passed
        {
            return Err(CudaError::Arguments { kernel: loaded.name.clone(), taken, passed });
        }
        Ok(loaded)
    }
}

impl<K: Kernel> LoadedKernel<K> {
    /// The result of the driver's compilation: registers, local memory, the largest block.
    pub fn information(&self) -> &Information {
        &self.loaded.information
    }

    /// The most blocks of `threads` threads with these arguments that the GPU runs at once: the
    /// limit of a cooperative launch, and the number that fills the GPU.
    ///
    /// # Errors
    /// [`CudaError::Launch`] for a block that cannot be launched, or an error from the driver.
    pub fn resident_blocks(&self, threads: u32, arguments: &K::Arguments) -> Result<u32> {
        self.on(1, threads, arguments).resident_blocks()
    }

    /// A launch with this many blocks and threads and these arguments, not yet checked.
    pub(crate) fn on<'a>(
        &'a self,
        blocks: u32,
        threads: u32,
        arguments: &'a K::Arguments,
    ) -> Launch<'a> {
        const { assert!(size_of::<K::Arguments>() <= 4096, "a kernel's parameters are 4 KiB") };
        const { assert!(align_of::<K::Arguments>() <= align_of::<u64>()) };
        let shared = K::shared_bytes(threads, arguments);
        Launch {
            kernel: &self.loaded,
            shape: Shape { blocks, threads, shared, cooperative: K::COOPERATIVE },
            constants: K::constants(arguments),
            arguments: ptr::from_ref(arguments).cast(),
            bytes: size_of::<K::Arguments>(),
            _arguments: PhantomData,
        }
    }
}

/// A launch of any kernel, with arguments of the type that it declares.
pub(crate) struct Launch<'a> {
    kernel: &'a Arc<Loaded>,
    shape: Shape,
    /// The words of the arguments that may be constants of the kernel.
    constants: Constants,
    arguments: *const c_void,
    bytes: usize,
    _arguments: PhantomData<&'a ()>,
}

impl<'a> Launch<'a> {
    /// Whether its blocks wait for one another.
    pub(crate) fn is_cooperative(&self) -> bool {
        self.shape.cooperative
    }

    /// The arguments and their bytes, aligned as `u64` or less.
    pub(super) fn arguments(&self) -> (*const c_void, usize) {
        (self.arguments, self.bytes)
    }

    /// The kernel and a shape that it can run in.
    ///
    /// # Errors
    /// [`CudaError::Launch`].
    pub(super) fn checked(&self) -> Result<(&'a Arc<Loaded>, Shape)> {
        self.has_constants()?;
        self.kernel.check(self.shape)?;
        Ok((self.kernel, self.shape))
    }

    fn has_constants(&self) -> Result<()> {
        let constants = &self.kernel.constants;
        if !constants.is_empty() && *constants != self.constants {
            return Err(self.kernel.refused(LaunchError::Constants));
        }
        Ok(())
    }

    fn resident_blocks(&self) -> Result<u32> {
        self.has_constants()?;
        self.kernel.resident_blocks(self.shape)
    }
}

impl Loaded {
    /// Refuses a shape that the kernel cannot run in.
    pub(super) fn check(&self, shape: Shape) -> Result<()> {
        let Information { most_threads, most_shared_bytes, .. } = self.information;
        check(shape, most_threads, most_shared_bytes).map_err(|source| self.refused(source))
    }

    fn resident_blocks(&self, shape: Shape) -> Result<u32> {
        self.check(shape)?;
        self.context().make_current()?;
        let mut blocks: c_int = 0;
        // SAFETY: `blocks` is written before the call returns; the module is loaded.
        unsafe {
            call!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.function,
                shape.threads as c_int,
                shape.shared as usize,
            ))
        }?;
        Ok(blocks.max(0) as u32 * self.multiprocessors)
    }

    fn refused(&self, source: LaunchError) -> CudaError {
        CudaError::Launch { kernel: self.name.clone(), source }
    }
}

/// Refuses a grid or a block that the GPU cannot run.
fn check(
    Shape { blocks, threads, shared, .. }: Shape,
    most_threads: u32,
    most_shared: u32,
) -> std::result::Result<(), LaunchError> {
    if !(1..=MOST_BLOCKS).contains(&blocks) {
        return Err(LaunchError::Blocks { blocks });
    }
    if threads == 0 || !threads.is_multiple_of(32) || threads > most_threads {
        return Err(LaunchError::Threads { threads, most: most_threads });
    }
    if shared > most_shared {
        return Err(LaunchError::SharedMemory { bytes: shared, most: most_shared });
    }
    Ok(())
}

impl Stream {
    /// Queues a launch of `kernel` in the stream: `blocks` blocks of `threads` threads with
    /// [`Kernel::shared_bytes`] of shared memory, cooperative if [`Kernel::COOPERATIVE`].
    ///
    /// # Safety
    /// `arguments` meet the requirements of [`Kernel::run`]: the buffers belong to this GPU and
    /// have the lengths that the kernel documents, they are not dropped before the launch is over,
    /// and meanwhile nothing else accesses what it writes.
    ///
    /// # Errors
    /// [`CudaError::Launch`] for a shape that this kernel cannot run in, or an error from the
    /// driver. Errors inside the kernel are reported by a later call that waits for it.
    pub unsafe fn launch<K: Kernel>(
        &self,
        kernel: &LoadedKernel<K>,
        blocks: u32,
        threads: u32,
        arguments: &K::Arguments,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.queue(&kernel.on(blocks, threads, arguments)) }
    }

    /// Queues a launch in the stream.
    ///
    /// # Safety
    /// As [`Stream::launch`].
    ///
    /// # Errors
    /// As [`Stream::launch`].
    pub(crate) unsafe fn queue(&self, launch: &Launch<'_>) -> Result<()> {
        launch.has_constants()?;
        // SAFETY: these are arguments of this kernel; the rest is the caller's promise.
        unsafe { self.put(launch.kernel, launch.shape, launch.arguments) }
    }

    /// Queues a launch of a kernel in the stream, with the arguments at this address.
    ///
    /// # Safety
    /// As [`Stream::launch`], and the arguments have the type that the kernel declares.
    ///
    /// # Errors
    /// As [`Stream::launch`].
    pub(super) unsafe fn put(
        &self,
        kernel: &Loaded,
        shape: Shape,
        arguments: *const c_void,
    ) -> Result<()> {
        kernel.check(shape)?;
        self.owns(kernel.context(), "the kernel")?;
        self.context().make_current()?;
        let Shape { blocks, threads, shared, cooperative } = shape;
        let (function, stream) = (kernel.function, self.raw());
        // The driver copies the arguments before it returns, and does not write them.
        let mut parameters = [arguments.cast_mut()];
        let parameters = parameters.as_mut_ptr();
        // SAFETY: the entry takes one parameter of the arguments' size (checked by `Gpu::load`), or
        // none, and then the pointer is not used; what it does with them is the caller's promise.
        let launched = unsafe {
            if cooperative {
                call!(cuLaunchCooperativeKernel(
                    function, blocks, 1, 1, threads, 1, 1, shared, stream, parameters
                ))
            } else {
                let extra = ptr::null_mut();
                call!(cuLaunchKernel(
                    function, blocks, 1, 1, threads, 1, 1, shared, stream, parameters, extra
                ))
            }
        };
        launched.map_err(|error| match error.code {
            Code::COOPERATIVE_LAUNCH_TOO_LARGE => {
                match kernel.resident_blocks(Shape { blocks: 1, ..shape }) {
                    Ok(most) => kernel.refused(LaunchError::Cooperative { blocks, threads, most }),
                    Err(_) => error.into(),
                }
            }
            _ => error.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_do_not_run_are_refused() {
        let check = |blocks, threads, most_threads, shared, most_shared| {
            let shape = Shape { blocks, threads, shared, cooperative: false };
            super::check(shape, most_threads, most_shared)
        };
        assert_eq!(check(1, 32, 1024, 0, 0), Ok(()));
        assert_eq!(check(MOST_BLOCKS, 1024, 1024, 64, 64), Ok(()));
        assert_eq!(check(0, 32, 1024, 0, 0), Err(LaunchError::Blocks { blocks: 0 }));
        assert!(check(MOST_BLOCKS + 1, 32, 1024, 0, 0).is_err());
        for threads in [0, 1, 33, 1056] {
            let most = 1024;
            assert_eq!(check(1, threads, most, 0, 0), Err(LaunchError::Threads { threads, most }));
        }
        assert!(check(1, 512, 256, 0, 0).is_err());
        let refused = LaunchError::SharedMemory { bytes: 65, most: 64 };
        assert_eq!(check(1, 32, 1024, 65, 64), Err(refused));
    }
}
