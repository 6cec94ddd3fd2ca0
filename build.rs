//! Compiles `device/` to PTX and hands it to `host/` as bytes.
//!
//! See `build/compile.rs` for which compiler does it, `build/rust_cuda.rs` for the other one,
//! `build/ptx.rs` for how the text is cut into one module per kernel, `build/archive.rs` for how those are
//! compressed, and `docs/architecture/build.md` for why.

/// Reading an archive is the library's.
#[path = "host/cuda/archive.rs"]
#[allow(dead_code, reason = "the library reads the texts")]
mod archive;

#[path = "build/compile.rs"]
mod compile;
#[path = "build/archive.rs"]
mod packing;
#[path = "build/ptx.rs"]
mod ptx;
#[path = "build/rust_cuda.rs"]
mod rust_cuda;

use std::{
    collections::HashMap,
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use archive::Archive;
use compile::{Compiler, TARGETS, Target};

/// The sources of the kernels, except in a package: cargo packs them as a crate of their own.
const DEVICE: &str = "device";
/// The kernels that are kept for machines without a fitting compiler.
const KEPT: &str = "data/ptx";
/// Names a compiler for the device build, or says `prebuilt`.
const CHOICE: &str = "FLOCKWORK_DEVICE_RUSTC";
/// What to do about a missing compiler.
const INSTALL: &str = " Install a compiler with the sources of its `core`: on Debian `apt-get \
    install rustc-web rust-web-src`, with rustup `rustup component add rust-src`; or build without \
    GPU support: `--no-default-features --features cli`.";

fn main() -> ExitCode {
    for path in ["build.rs", "build", DEVICE, "host/cuda/archive.rs"] {
        // Cargo would build again each time if one of them is missing.
        if Path::new(path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    println!("cargo::rerun-if-env-changed={CHOICE}");
    if env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return ExitCode::SUCCESS;
    }
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    match kernels(&root, &out) {
        Ok(origin) => {
            println!("cargo::warning=GPU kernels: {origin}");
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
fn kernels(root: &Path, out: &Path) -> Result<String, String> {
    let choice = env::var_os(CHOICE).unwrap_or_default();
    let wants_rust_cuda = env::var_os("CARGO_FEATURE_RUST_CUDA").is_some();
    if !root.join(DEVICE).exists() {
        if wants_rust_cuda || !(choice.is_empty() || choice == "prebuilt") {
            return Err(format!(
                "this package has the GPU kernels compiled and not their sources: to compile them \
                 take the repository, or else leave out the feature `rust-cuda` and unset {CHOICE}"
            ));
        }
        return packaged(root, out);
    }
    let hash = compile::source_hash(root)?;
    write(&out.join("device.hash"), format!("{hash}\n"))?;
    // What `scripts/update-ptx` knows the compiler by; the kept kernels have none here.
    let _ = fs::remove_file(out.join("compiler"));

    if choice == "prebuilt" {
        return kept(root, out, &hash, &format!("{CHOICE}=prebuilt"), INSTALL);
    }
    if wants_rust_cuda {
        if !choice.is_empty() {
            return Err(format!(
                "{CHOICE} names a compiler for the GPU kernels, and the feature `rust-cuda` asks for \
                 another: unset the one, or leave out the other"
            ));
        }
        let compiler = rust_cuda::compile(root, out)?;
        let facts = kept_facts(root, &hash)?;
        pack(out, rust_cuda::TARGETS, Some(&facts))?;
        embed(out, rust_cuda::TARGETS)?;
        return Ok(format!("compiled from device/ by {compiler}"));
    }
    if choice.is_empty() {
        return match Compiler::find() {
            Ok(compiler) => compiled(root, out, &compiler)
                .or_else(|failure| kept(root, out, &hash, &failure, "")),
            Err(missing) => kept(root, out, &hash, &missing, INSTALL),
        };
    }
    // A compiler that was asked for by name is not replaced silently.
    Compiler::probe(Path::new(&choice))
        .and_then(|compiler| compiled(root, out, &compiler))
        .map_err(|failure| format!("{CHOICE} cannot compile the GPU kernels: {failure}"))
}

/// The kernels compiled from `device/`.
fn compiled(root: &Path, out: &Path, compiler: &Compiler) -> Result<String, String> {
    if compiler.rustc.is_absolute() {
        println!("cargo::rerun-if-changed={}", compiler.rustc.display());
    }
    compiler.compile(root, out)?;
    write(&out.join("compiler"), &compiler.identity)?;
    pack(out, TARGETS, None)?;
    embed(out, TARGETS)?;
    Ok(format!("compiled from device/ by {} ({})", compiler.version, compiler.rustc.display()))
}

/// The kernels kept in [`KEPT`], if they are those of `device/` as it is; `why` they are needed,
/// and what to do if they will not do.
fn kept(root: &Path, out: &Path, hash: &str, why: &str, advice: &str) -> Result<String, String> {
    if kept_are_of(root, hash) {
        for target in TARGETS {
            let mut bytes = kept_archive(root, target)?;
            if !compile::has_lineage() {
                let published = published(root)?;
                let wanted = |name: &str| !published.iter().any(|one| one == name);
                bytes = packing::only(&Archive::read(&bytes)?, wanted)?;
            }
            write(&archive_of(out, target), bytes)?;
        }
        embed(out, TARGETS)?;
        return Ok(format!("the ones kept in {KEPT}, which match device/ ({why})"));
    }
    Err(format!(
        "the GPU kernels kept in {KEPT} are not those of device/ as it is, which was not compiled \
         here: {why}.{advice}"
    ))
}

/// The kernels that came with a package. They are those of the device crate, since the package depends on
/// one version of it exactly. Published ones are among them: the list of their names is in that crate.
fn packaged(root: &Path, out: &Path) -> Result<String, String> {
    for target in TARGETS {
        write(&archive_of(out, target), kept_archive(root, target)?)?;
    }
    embed(out, TARGETS)?;
    Ok(format!("the ones in {KEPT}, which came with the package"))
}

/// What the kernels state, by the ones kept in [`KEPT`]: for another compiler's PTX, which lacks it.
fn kept_facts(root: &Path, hash: &str) -> Result<HashMap<String, ptx::Facts>, String> {
    if !kept_are_of(root, hash) {
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
fn published(root: &Path) -> Result<Vec<String>, String> {
    let path = root.join("device/registry/published.rs");
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

fn write(file: &Path, content: impl AsRef<[u8]>) -> Result<(), String> {
    fs::write(file, content).map_err(|e| format!("{}: {e}", file.display()))
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
        let facts = facts.map_or_else(|| ptx::facts(&text), |facts| Ok(facts.clone()));
        let modules = facts.and_then(|facts| ptx::modules(&text, &facts)).map_err(failed)?;
        write(&archive_of(out, target), packing::write(modules).map_err(failed)?)?;
    }
    Ok(())
}

/// Writes the table of the archives in `out` that the program embeds.
fn embed(out: &Path, targets: &[Target]) -> Result<(), String> {
    let images: String = targets
        .iter()
        .map(|target| {
            let file = archive_of(out, target).display().to_string();
            format!("        Image::new({}, include_bytes!({file:?})),\n", target.capability)
        })
        .collect();
    let count = targets.len();
    let table = format!("{{\n    static ALL: [Image; {count}] = [\n{images}    ];\n    &ALL\n}}\n");
    write(&out.join("images.rs"), table)
}
