//! The files that a program embeds.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    compile::Target,
    packing,
    ptx::{self, Facts},
};

/// Cuts a PTX text into one module per kernel and packs those of which `wanted` holds. `facts` has what the
/// kernels state where the text has not.
pub fn packed(
    text: &str,
    facts: Option<&HashMap<String, Facts>>,
    wanted: impl Fn(&Facts) -> bool,
) -> Result<Vec<u8>, String> {
    let facts = facts.map_or_else(|| ptx::facts(text), |facts| Ok(facts.clone()))?;
    let mut modules = ptx::modules(text, &facts)?;
    modules.retain(|module| wanted(&module.facts));
    for module in &mut modules {
        module.text = ptx::renumbered(&module.text);
    }
    packing::write(modules)
}

/// An expression for the archives of these targets: their capabilities and bytes.
pub fn archives(archives: &[(&Target, PathBuf)]) -> String {
    let each: String = archives
        .iter()
        .map(|(target, file)| {
            let file = file.display().to_string();
            format!("({}, include_bytes!({file:?})), ", target.capability)
        })
        .collect();
    format!("&[{each}]")
}

/// Writes a file, or says which cannot be written.
pub fn write(file: &Path, content: impl AsRef<[u8]>) -> Result<(), String> {
    fs::write(file, content).map_err(|e| format!("{}: {e}", file.display()))
}
