//! flockwork's own kernels: what its `build.rs` calls. No part of the public interface.
//!
//! `compile.rs` says which compiler compiles them, `rust_cuda.rs` does it with the other one, `ptx.rs` cuts
//! the text into one module per kernel, `packing.rs` compresses those, and `docs/architecture/build.md` in
//! the repository says why.

use std::{
    collections::HashMap,
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use flockwork_archive::Archive;

use crate::{
    CHOICE, INSTALL,
    compile::{self, Compiler, Device, TARGETS, Target},
    embed::{archives, packed, write},
    packing, ptx, rust_cuda,
};

/// The kernels that are kept, for machines without a fitting compiler and for builds that change none.
const KEPT: &str = "data/ptx";
/// The published kernels, in the device crate.
const PUBLISHED: &str = "registry/published.rs";
/// What to do about a missing compiler.
const WITHOUT: &str = "; or build without GPU support: `--no-default-features --features cli`.";

/// Leaves the kernels where the program embeds them, and says where they came from.
pub fn build() -> ExitCode {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={CHOICE}");
    let variable = |name: &str| env::var_os(name).map(PathBuf::from).expect("set by cargo");
    let device = Device::at(variable("DEP_FLOCKWORK_DEVICE_ROOT"));
    // What crates with functions of their own are compiled against.
    println!("cargo::metadata=DEVICE={}", device.root().display());
    if env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return ExitCode::SUCCESS;
    }
    println!("cargo::metadata=CUDA=1");
    println!("cargo::rerun-if-changed={}", device.root().display());
    match kernels(&variable("CARGO_MANIFEST_DIR"), &device, &variable("OUT_DIR")) {
        Ok(origin) => {
            println!("cargo::rustc-env=FLOCKWORK_KERNELS={origin}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            println!("cargo::error={}", message.replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}

/// Leaves the kernels in `out`, ready to be embedded, and says where they came from.
fn kernels(root: &Path, device: &Device, out: &Path) -> Result<String, String> {
    let hash = compile::source_hash(device)?;
    write(&out.join("device.hash"), format!("{hash}\n"))?;
    // What `scripts/update-ptx` knows the compiler by; the kept kernels have none here.
    let _ = fs::remove_file(out.join("compiler"));
    let kept = |why: &str| kept(root, device, out, why);

    let choice = env::var_os(CHOICE).unwrap_or_default();
    let is_kept = kept_are_of(root, &hash);
    if choice == "prebuilt" {
        return match is_kept {
            true => kept(&format!(" ({CHOICE}=prebuilt)")),
            false => Err(not_kept(&format!("{CHOICE}=prebuilt. {INSTALL}{WITHOUT}"))),
        };
    }
    if env::var_os("CARGO_FEATURE_RUST_CUDA").is_some() {
        if !choice.is_empty() {
            return Err(format!(
                "{CHOICE} names a compiler for the GPU kernels, and the feature `rust-cuda` asks for \
                 another: unset the one, or leave out the other"
            ));
        }
        let compiler = rust_cuda::compile(root, device, out)?;
        let facts = kept_facts(root, is_kept)?;
        pack(out, rust_cuda::TARGETS, Some(&facts))?;
        embed(out, rust_cuda::TARGETS)?;
        return Ok(compiled_by(&compiler));
    }
    match choice.to_str() {
        // `none` is about kernels that are not kept.
        Some("" | "none") if is_kept => kept(""),
        Some("" | "none" | "compile") => match Compiler::find() {
            Ok(compiler) => compiled(device, out, &compiler).or_else(|failure| match is_kept {
                true => kept(&format!(" ({failure})")),
                false => Err(not_kept(&failure)),
            }),
            Err(missing) if is_kept => kept(&format!(" ({missing})")),
            Err(missing) => Err(not_kept(&format!("{missing}. {INSTALL}{WITHOUT}"))),
        },
        // A compiler that was asked for by name is not replaced silently.
        _ => Compiler::probe(Path::new(&choice))
            .and_then(|compiler| compiled(device, out, &compiler))
            .map_err(|failure| format!("{CHOICE} cannot compile the GPU kernels: {failure}")),
    }
}

/// The kernels compiled from the device crate.
fn compiled(device: &Device, out: &Path, compiler: &Compiler) -> Result<String, String> {
    if compiler.rustc.is_absolute() {
        println!("cargo::rerun-if-changed={}", compiler.rustc.display());
    }
    compiler.compile(device, out)?;
    write(&out.join("compiler"), &compiler.identity)?;
    pack(out, TARGETS, None)?;
    embed(out, TARGETS)?;
    Ok(compiled_by(&format!("{} ({})", compiler.version, compiler.rustc.display())))
}

/// Where kernels that are not kept came from; the build says so.
fn compiled_by(compiler: &str) -> String {
    let origin = format!("compiled from device/ by {compiler}");
    println!("cargo::warning=GPU kernels: {origin}");
    origin
}

/// The kernels kept in [`KEPT`], which are those of the device crate; `why` they and no others.
fn kept(root: &Path, device: &Device, out: &Path, why: &str) -> Result<String, String> {
    for target in TARGETS {
        let mut bytes = kept_archive(root, target)?;
        if !compile::has_lineage() {
            let published = published(device)?;
            let wanted = |name: &str| !published.iter().any(|one| one == name);
            bytes = packing::only(&Archive::read(&bytes)?, wanted)?;
        }
        write(&archive_of(out, target), bytes)?;
    }
    embed(out, TARGETS)?;
    Ok(format!("the ones kept in {KEPT}, which match device/{why}"))
}

/// Why there are no kernels.
fn not_kept(why: &str) -> String {
    format!(
        "the GPU kernels kept in {KEPT} are not those of device/ as it is, which was not compiled here: {why}"
    )
}

/// What the kernels state, by the ones kept in [`KEPT`]: for another compiler's PTX, which lacks it.
fn kept_facts(root: &Path, is_kept: bool) -> Result<HashMap<String, ptx::Facts>, String> {
    if !is_kept {
        return Err(format!(
            "what the kernels state of themselves is taken from {KEPT}, which is not of device/ as it \
             is: run scripts/update-ptx"
        ));
    }
    let [target] = TARGETS else { unreachable!("one target") };
    let bytes = kept_archive(root, target)?;
    let kernels = Archive::read(&bytes)?.kernels;
    kernels
        .into_iter()
        .map(|kernel| Ok((kernel.name, ptx::Facts::from_line(&kernel.facts)?)))
        .collect()
}

/// Whether the kernels in [`KEPT`] are of the `device/` with this hash.
fn kept_are_of(root: &Path, hash: &str) -> bool {
    println!("cargo::rerun-if-changed={KEPT}");
    let kept = fs::read_to_string(root.join(KEPT).join("device.hash")).unwrap_or_default();
    kept.trim() == hash
}

/// The published kernels, which only the feature `lineage` wants, in the order of their list.
fn published(device: &Device) -> Result<Vec<String>, String> {
    let path = device.root().join(PUBLISHED);
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    // A line is `name_of_the_entry: path::to::Kernel,`.
    let name = |line: &str| {
        let (name, kernel) = line.trim().split_once(": ")?;
        let is_name =
            name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        (is_name && kernel.contains("::")).then(|| name.to_owned())
    };
    let names: Vec<String> = text.lines().filter_map(name).collect();
    if names.is_empty() { Err(format!("{} lists no kernels", path.display())) } else { Ok(names) }
}

/// The archive kept for a target.
fn kept_archive(root: &Path, target: &Target) -> Result<Vec<u8>, String> {
    let path = archive_of(&root.join(KEPT), target);
    fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Where the kernels of a target lie in a folder.
fn archive_of(folder: &Path, target: &Target) -> PathBuf {
    folder.join(format!("{}.kernels", target.cpu))
}

/// Cuts the texts in `out` into one module per kernel and compresses them into an archive for each
/// target. `facts` has what the kernels state where the texts have not.
fn pack(
    out: &Path,
    targets: &[Target],
    facts: Option<&HashMap<String, ptx::Facts>>,
) -> Result<(), String> {
    for target in targets {
        let path = out.join(format!("{}.ptx", target.cpu));
        let failed = |e| format!("{}: {e}", path.display());
        let text = fs::read_to_string(&path).map_err(|e| failed(e.to_string()))?;
        write(&archive_of(out, target), packed(&text, facts, |_| true).map_err(failed)?)?;
    }
    Ok(())
}

/// Writes the table of the archives in `out` that the program embeds.
fn embed(out: &Path, targets: &[Target]) -> Result<(), String> {
    let files: Vec<_> = targets.iter().map(|target| (target, archive_of(out, target))).collect();
    write(&out.join("archives.rs"), archives(&files))
}
