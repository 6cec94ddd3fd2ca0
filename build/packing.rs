//! Writes the file in which kernels are kept and embedded. `archive/lib.rs` describes and reads it.

use std::io::Write;

use flockwork_archive::{Archive, Kernel, MAGIC, absolute, relative};
use lzma_rust2::{LzmaOptions, LzmaWriter};

use crate::ptx::{Facts, Module};

/// A chunk ends before it has more text than this. Half as much costs 5 % more bytes and takes half as
/// long to read: some 12 ms for the last module of a chunk.
pub const MOST_TEXT: usize = 2_000_000;
/// The highest level would save nothing: no chunk is longer than the dictionary.
const LEVEL: u32 = 6;

/// The archive of these modules.
pub fn write(mut modules: Vec<Module>) -> Result<Vec<u8>, String> {
    // Like beside like.
    modules.sort_by_cached_key(|Module { entry, facts, .. }| {
        let Facts { family, precision, objective, .. } = facts;
        [family, precision, objective, entry].map(String::clone)
    });
    let mut chunks = Vec::new();
    let mut lines = String::new();
    let mut text = String::new();
    let mut kind = "";
    for module in &modules {
        let told = relative(&module.text);
        if absolute(&told) != module.text {
            return Err(format!("the text of {} cannot be packed", module.entry));
        }
        // What a build leaves out is of other kinds than what it needs.
        let other = module.entry.split('_').next().unwrap_or_default();
        if !text.is_empty() && (text.len() + told.len() > MOST_TEXT || kind != other) {
            chunks.push(packed(text.as_bytes())?);
            text.clear();
        }
        kind = other;
        lines += &line(&Kernel {
            name: module.entry.clone(),
            chunk: chunks.len(),
            start: text.len(),
            length: told.len(),
            facts: module.facts.to_line(),
        });
        text += &told;
    }
    if !text.is_empty() {
        chunks.push(packed(text.as_bytes())?);
    }
    assembled(&chunks, &lines)
}

/// The archive with the kernels that `wanted` names, and the chunks that they lie in.
pub fn only(archive: &Archive, wanted: impl Fn(&str) -> bool) -> Result<Vec<u8>, String> {
    let mut chunks = Vec::new();
    let mut lines = String::new();
    for (index, chunk) in archive.chunks.iter().enumerate() {
        let inside: Vec<_> =
            archive.kernels.iter().filter(|kernel| kernel.chunk == index).collect();
        if !inside.iter().any(|kernel| wanted(&kernel.name)) {
            continue;
        }
        for kernel in inside {
            if wanted(&kernel.name) {
                lines += &line(&Kernel { chunk: chunks.len(), ..kernel.clone() });
            }
        }
        chunks.push(chunk.to_vec());
    }
    assembled(&chunks, &lines)
}

/// A kernel's line of the index.
fn line(kernel: &Kernel) -> String {
    let Kernel { name, chunk, start, length, facts } = kernel;
    format!("{name}\t{chunk}\t{start}\t{length}\t{facts}\n")
}

fn assembled(chunks: &[Vec<u8>], lines: &str) -> Result<Vec<u8>, String> {
    let lengths: String = chunks.iter().map(|chunk| format!("{}\n", chunk.len())).collect();
    let index = packed(format!("{lengths}\n{lines}").as_bytes())?;
    let mut bytes = MAGIC.to_vec();
    bytes.extend((index.len() as u32).to_le_bytes());
    bytes.extend(index);
    chunks.iter().for_each(|chunk| bytes.extend(chunk));
    Ok(bytes)
}

fn packed(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut options = LzmaOptions::with_preset(LEVEL);
    // Text is aligned to nothing.
    options.pb = 0;
    options.dict_size = options.dict_size.min((bytes.len() as u32).next_power_of_two().max(4096));
    let length = Some(bytes.len() as u64);
    LzmaWriter::new_use_header(Vec::new(), &options, length)
        .and_then(|mut writer| {
            writer.write_all(bytes)?;
            writer.finish()
        })
        .map_err(|e| e.to_string())
}
