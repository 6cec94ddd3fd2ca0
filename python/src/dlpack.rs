//! DLPack, the protocol by which libraries hand arrays to each other without a copy:
//! <https://dmlc.github.io/dlpack/latest/>. What lies in a GPU's memory, and nothing else.

use std::{
    ffi::{CStr, c_int, c_void},
    mem::MaybeUninit,
    ptr,
};

use flockwork::swarm::Precision;
use pyo3::{exceptions::PyBufferError, ffi, intern, prelude::*};

/// The kinds of devices whose memory a GPU's kernels read: CUDA's, and what it manages for both sides.
pub const CUDA: i32 = 2;
pub const CUDA_MANAGED: i32 = 13;

const PLAIN: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";

/// A code of a type: floating point.
const FLOAT: u8 = 2;

#[repr(C)]
struct Device {
    kind: i32,
    ordinal: i32,
}

#[repr(C)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    dimensions: i32,
    data_type: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct Version {
    major: u32,
    minor: u32,
}

#[repr(C)]
struct ManagedVersioned {
    version: Version,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: Tensor,
}

/// A matrix by rows on a GPU, and what keeps it there.
pub struct Matrix<K> {
    pub address: u64,
    pub ordinal: u32,
    pub precision: Precision,
    pub shape: [usize; 2],
    pub keeper: K,
}

/// What a managed tensor points to.
struct Context<K> {
    shape: [i64; 2],
    strides: [i64; 2],
    _keeper: K,
}

fn bits(precision: Precision) -> u8 {
    match precision {
        Precision::F32 => 32,
        Precision::F64 => 64,
    }
}

/// A capsule with a matrix, with the version of the protocol that 1.0 began or as it was before.
pub fn capsule<K: Send + 'static>(
    py: Python<'_>,
    matrix: Matrix<K>,
    is_versioned: bool,
) -> PyResult<Py<PyAny>> {
    let (tensor, context) = tensor(matrix);
    // SAFETY: the names are of what the pointers point to; each destructor frees what was made here, unless
    // whoever took it has renamed the capsule and calls the deleter.
    unsafe {
        let capsule = if is_versioned {
            let managed = managed_versioned::<K>(tensor, context);
            ffi::PyCapsule_New(managed.cast(), VERSIONED.as_ptr(), Some(drop_versioned))
        } else {
            let managed = Box::into_raw(Box::new(Managed {
                tensor,
                context,
                deleter: Some(delete_plain::<K>),
            }));
            ffi::PyCapsule_New(managed.cast(), PLAIN.as_ptr(), Some(drop_plain))
        };
        Ok(Bound::from_owned_ptr_or_err(py, capsule)?.unbind())
    }
}

fn managed_versioned<K>(tensor: Tensor, context: *mut c_void) -> *mut ManagedVersioned {
    Box::into_raw(Box::new(ManagedVersioned {
        version: Version { major: 1, minor: 0 },
        context,
        deleter: Some(delete_versioned::<K>),
        flags: 0,
        tensor,
    }))
}

/// A matrix as a tensor, and its context.
fn tensor<K>(matrix: Matrix<K>) -> (Tensor, *mut c_void) {
    let Matrix { address, ordinal, precision, shape, keeper } = matrix;
    let shape = shape.map(|length| length as i64);
    let context = Box::new(Context { shape, strides: [shape[1], 1], _keeper: keeper });
    let context = Box::into_raw(context);
    // SAFETY: it was made above, and stays until the deleter is called.
    let (shape, strides) =
        unsafe { ((*context).shape.as_mut_ptr(), (*context).strides.as_mut_ptr()) };
    let tensor = Tensor {
        data: address as *mut c_void,
        device: Device { kind: CUDA, ordinal: ordinal as i32 },
        dimensions: 2,
        data_type: DataType { code: FLOAT, bits: bits(precision), lanes: 1 },
        shape,
        strides,
        byte_offset: 0,
    };
    (tensor, context.cast())
}

/// Frees a managed tensor that [`capsule`] made.
unsafe extern "C" fn delete_plain<K>(managed: *mut Managed) {
    // SAFETY: made by `Box::into_raw`, like its context, and deleted once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Context<K>>()));
    }
}

/// The same of the other version.
unsafe extern "C" fn delete_versioned<K>(managed: *mut ManagedVersioned) {
    // SAFETY: as above.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Context<K>>()));
    }
}

/// Drops a capsule that nobody has taken.
unsafe extern "C" fn drop_plain(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule of this name points to a managed tensor, which nobody has taken.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, PLAIN.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()).cast::<Managed>();
            if let Some(delete) = (*managed).deleter {
                delete(managed);
            }
        }
    }
}

/// The same of the other version.
unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as above.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            let pointer = ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr());
            let managed = pointer.cast::<ManagedVersioned>();
            if let Some(delete) = (*managed).deleter {
                delete(managed);
            }
        }
    }
}

/// What a library of arrays tells others in C, at once instead of through several calls of Python: version 1.3
/// of the protocol.
#[repr(C)]
struct Exchange {
    version: Version,
    _before: *const c_void,
    _allocator: *const c_void,
    _managed_from_object: *const c_void,
    object_from_managed:
        Option<unsafe extern "C" fn(*mut ManagedVersioned, *mut *mut c_void) -> c_int>,
    tensor_from_object: Option<unsafe extern "C" fn(*mut c_void, *mut Tensor) -> c_int>,
    current_stream: Option<unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int>,
}

/// That of the library that a type of arrays is from. It lives as long as the type.
pub struct Library {
    exchange: *const Exchange,
    _kind: Py<PyAny>,
}

// SAFETY: functions that may be called by any thread that has the interpreter's lock.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// That of a type, if it has one of this version.
    pub fn of(kind: &Bound<'_, PyAny>) -> Option<Self> {
        let capsule = kind.getattr(intern!(kind.py(), "__dlpack_c_exchange_api__")).ok()?;
        const NAME: &CStr = c"dlpack_exchange_api";
        // SAFETY: a capsule of this name points to that, as long as the type lives.
        let exchange = unsafe {
            if ffi::PyCapsule_IsValid(capsule.as_ptr(), NAME.as_ptr()) != 1 {
                return None;
            }
            ffi::PyCapsule_GetPointer(capsule.as_ptr(), NAME.as_ptr()).cast::<Exchange>()
        };
        // SAFETY: as above.
        let version = unsafe { &(*exchange).version };
        let is_known = version.major == 1 && version.minor >= 3;
        is_known.then(|| Self { exchange, _kind: kind.clone().unbind() })
    }

    fn exchange(&self) -> &Exchange {
        // SAFETY: it lives as long as the type.
        unsafe { &*self.exchange }
    }

    /// The stream that the library's work is in now; 0 is the default stream.
    pub fn stream(&self, py: Python<'_>, ordinal: u32) -> PyResult<usize> {
        let Some(current) = self.exchange().current_stream else { return Ok(0) };
        let mut stream = ptr::null_mut();
        // SAFETY: it writes a stream, or returns another number and raises an exception.
        match unsafe { current(CUDA, ordinal as i32, &mut stream) } {
            0 => Ok(stream as usize),
            _ => Err(PyErr::fetch(py)),
        }
    }

    /// Where one of the library's arrays lies; `None` if that is not a GPU's memory.
    pub fn found(&self, array: &Bound<'_, PyAny>) -> PyResult<Option<Found>> {
        let mut tensor = MaybeUninit::<Tensor>::uninit();
        let Some(read) = self.exchange().tensor_from_object else { return Ok(None) };
        // SAFETY: the array is of the library's type; it writes the tensor, whose lists live as long as the
        // array, or returns another number and raises an exception.
        let tensor = unsafe {
            if read(array.as_ptr().cast(), tensor.as_mut_ptr()) != 0 {
                return Err(PyErr::fetch(array.py()));
            }
            tensor.assume_init()
        };
        let kind = tensor.device.kind;
        if kind != CUDA && kind != CUDA_MANAGED {
            return Ok(None);
        }
        // SAFETY: as above.
        unsafe { described(&tensor) }.map(Some)
    }

    /// A matrix as an array of the library's.
    pub fn array<K: Send + 'static>(
        &self,
        py: Python<'_>,
        matrix: Matrix<K>,
    ) -> PyResult<Option<Py<PyAny>>> {
        let Some(make) = self.exchange().object_from_managed else { return Ok(None) };
        let (tensor, context) = tensor(matrix);
        let managed = managed_versioned::<K>(tensor, context);
        let mut array = ptr::null_mut();
        // SAFETY: it takes the tensor and writes an object of its own, or returns another number and raises an
        // exception, and then leaves the tensor to the caller.
        unsafe {
            if make(managed, &mut array) != 0 {
                delete_versioned::<K>(managed);
                return Err(PyErr::fetch(py));
            }
            Ok(Some(Bound::from_owned_ptr_or_err(py, array.cast())?.unbind()))
        }
    }
}

/// An array on a GPU as it lies there.
pub struct Found {
    pub address: u64,
    pub ordinal: u32,
    pub precision: Precision,
    pub shape: Vec<usize>,
    /// Whether its elements lie row after row, without gaps.
    pub is_contiguous: bool,
}

impl Found {
    /// From a shape and strides in elements, of which the last may be left out.
    pub fn new(
        address: u64,
        ordinal: u32,
        precision: Precision,
        shape: Vec<usize>,
        strides: Option<Vec<i64>>,
    ) -> Self {
        let is_contiguous = strides.is_none_or(|strides| {
            let mut step = 1;
            shape.iter().zip(strides).rev().all(|(&length, stride)| {
                let fits = length == 1 || stride == step;
                step *= length as i64;
                fits
            })
        });
        Self { address, ordinal, precision, shape, is_contiguous }
    }
}

/// Where the array in a capsule lies, as long as the capsule lives: nobody else may take it.
pub fn found(capsule: &Bound<'_, PyAny>) -> PyResult<Found> {
    // SAFETY: a capsule with one of these names points to that; it lives while it is looked at.
    let tensor = unsafe {
        if ffi::PyCapsule_IsValid(capsule.as_ptr(), PLAIN.as_ptr()) == 1 {
            let pointer = ffi::PyCapsule_GetPointer(capsule.as_ptr(), PLAIN.as_ptr());
            &(*pointer.cast::<Managed>()).tensor
        } else if ffi::PyCapsule_IsValid(capsule.as_ptr(), VERSIONED.as_ptr()) == 1 {
            let pointer = ffi::PyCapsule_GetPointer(capsule.as_ptr(), VERSIONED.as_ptr());
            &(*pointer.cast::<ManagedVersioned>()).tensor
        } else {
            return Err(PyBufferError::new_err("__dlpack__ returned no capsule of DLPack"));
        }
    };
    // SAFETY: as above.
    unsafe { described(tensor) }
}

/// # Safety
/// The tensor's lists have a number for each dimension; the strides may be missing.
unsafe fn described(tensor: &Tensor) -> PyResult<Found> {
    let DataType { code, bits, lanes } = tensor.data_type;
    let precision = match (code, bits, lanes) {
        (FLOAT, 32, 1) => Precision::F32,
        (FLOAT, 64, 1) => Precision::F64,
        _ => {
            return Err(PyBufferError::new_err(format!(
                "an array on a GPU has elements of {bits} bits of kind {code}; they must be float32 or \
                 float64"
            )));
        }
    };
    let dimensions = usize::try_from(tensor.dimensions).unwrap_or(0);
    // SAFETY: the caller's promise.
    let (shape, strides) = unsafe {
        let numbers = |pointer: *const i64| {
            if dimensions == 0 { &[][..] } else { std::slice::from_raw_parts(pointer, dimensions) }
        };
        let strides = (!tensor.strides.is_null()).then(|| numbers(tensor.strides).to_vec());
        (numbers(tensor.shape).iter().map(|&length| length as usize).collect(), strides)
    };
    let address = tensor.data as u64 + tensor.byte_offset;
    Ok(Found::new(address, tensor.device.ordinal as u32, precision, shape, strides))
}
