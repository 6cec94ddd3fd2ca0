//! The file in which kernels are kept and embedded: PTX modules, compressed.
//!
//! The kernels of one program share most of their text, but the program loads them one by one. So the
//! modules lie in chunks of some two megabytes of text, like beside like, and each chunk is compressed on
//! its own: a tenth of the bytes, and a few milliseconds to read a module. Registers and labels are written
//! as distances ([`relative`]), which makes a third of that.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `FLOCKPT2` |
//! | 4 | the length of the index as it lies here, little endian |
//! | that | the index, compressed |
//! | the rest | the chunks, compressed |
//!
//! The index has a line for each chunk, its compressed bytes; an empty line; and a line for each
//! kernel: its name, the number of its chunk, where its text begins there, the bytes of its text as it lies
//! there, and what it states of itself, as `build/ptx.rs` writes it, all separated by tabs. Both are LZMA with the header of
//! `.lzma` files. `build/packing.rs` writes it.

mod registers;

use std::io::Read;

use lzma_rust2::LzmaReader;

pub use registers::{absolute, relative};

/// The first bytes.
pub const MAGIC: &[u8; 8] = b"FLOCKPT2";

/// More memory than a chunk can ask for, in KiB: a damaged header must not ask for more.
const MOST_MEMORY: u32 = 64 << 10;

/// The kernels of one target.
#[derive(Clone, Debug)]
pub struct Archive<'a> {
    /// The compressed texts.
    pub chunks: Vec<&'a [u8]>,
    /// What lies where.
    pub kernels: Vec<Kernel>,
}

/// A line of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Of its entry.
    pub name: String,
    /// Index of the chunk with its text.
    pub chunk: usize,
    /// Where its text begins in the chunk.
    pub start: usize,
    /// Bytes of text, with distances.
    pub length: usize,
    /// What it states of itself.
    pub facts: String,
}

impl<'a> Archive<'a> {
    /// Reads the index.
    pub fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let damaged = || "no archive of kernels, or a damaged one".to_owned();
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(damaged)?;
        let (length, rest) = rest.split_first_chunk().ok_or_else(damaged)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (index, mut rest) = rest.split_at_checked(length).ok_or_else(damaged)?;
        let index = String::from_utf8(unpacked(index, usize::MAX)?).map_err(|_| damaged())?;
        let (lengths, lines) = index.split_once("\n\n").ok_or_else(damaged)?;

        let mut chunks = Vec::new();
        for length in lengths.lines() {
            let length = length.parse().map_err(|_| damaged())?;
            let chunk;
            (chunk, rest) = rest.split_at_checked(length).ok_or_else(damaged)?;
            chunks.push(chunk);
        }
        let mut kernels = Vec::new();
        for line in lines.lines() {
            let mut fields = line.splitn(5, '\t');
            let mut field = || fields.next().ok_or_else(damaged);
            let name = field()?.to_owned();
            let chunk = field()?.parse().map_err(|_| damaged())?;
            let start = field()?.parse().map_err(|_| damaged())?;
            let length = field()?.parse().map_err(|_| damaged())?;
            let facts = field()?.to_owned();
            if chunk >= chunks.len() {
                return Err(damaged());
            }
            kernels.push(Kernel { name, chunk, start, length, facts });
        }
        Ok(Self { chunks, kernels })
    }

    /// The PTX text of a kernel's module; `None` if there is no such kernel.
    pub fn text(&self, name: &str) -> Option<Result<String, String>> {
        let kernel = self.kernels.iter().find(|kernel| kernel.name == name)?;
        let end = kernel.start.saturating_add(kernel.length);
        let text = unpacked(self.chunks[kernel.chunk], end).and_then(|mut text| {
            let text = text.drain(kernel.start.min(text.len())..).collect();
            String::from_utf8(text).map_err(|e| e.to_string())
        });
        Some(text.and_then(|text| match text.len() == kernel.length {
            true => Ok(absolute(&text)),
            false => Err(format!("{name} is cut off")),
        }))
    }
}

/// The first bytes of what was compressed, at most this many.
fn unpacked(packed: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let reader = LzmaReader::new_mem_limit(packed, MOST_MEMORY, None).map_err(|e| e.to_string())?;
    let mut bytes = Vec::new();
    reader.take(most as u64).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    Ok(bytes)
}
