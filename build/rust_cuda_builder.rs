//! Compiles the device crate with `cuda_builder`.

use std::{
    any::Any,
    env,
    ffi::OsString,
    fs,
    os::unix::fs::symlink,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    process::Command,
};

use cuda_builder::{CudaBuilder, NvvmArch};

use super::{CONFIG, NEEDS, TARGETS};
use crate::compile::{Device, has_lineage, is_for_the_outer_build, slim, update};

/// The library that rustc loads, and the variable with the folders in which CudaBuilder looks for it.
const BACK_END: &str = "librustc_codegen_nvvm.so";
const SEARCHED: &str = "LD_LIBRARY_PATH";

/// The block's shared memory, as `device/gpu/ptx.rs` declares it. An array of `cuda_std` would have 16 bytes, which
/// count as static and which a launch that takes all there is would lack.
const SHARED: &str = ".extern .shared .align 16 .b8 flockwork_shared[];";

/// Compiles the device crate, leaves `CPU.ptx` in `out`, and returns the compiler's name.
pub fn compile(root: &Path, device: &Device, out: &Path) -> Result<String, String> {
    let [target] = TARGETS else { unreachable!("one target") };
    let package = package(root, device, out)?;
    let version = version()?;
    show_back_end(out)?;
    // Its cargo must not inherit this build's settings. CudaBuilder itself may look for its back end from the
    // folder of the manifest.
    let inherited = |name: &OsString| !is_for_the_outer_build(name) || name == "CARGO_MANIFEST_DIR";
    let outer: Vec<_> =
        env::vars_os().map(|(name, _)| name).filter(|name| !inherited(name)).collect();
    // SAFETY: a build script has one thread.
    unsafe {
        outer.iter().for_each(|name| env::remove_var(name));
        // The environment overrides the user's cargo configuration.
        env::set_var("RUSTC_WRAPPER", "");
        env::set_var("RUSTC_WORKSPACE_WRAPPER", "");
    }
    let builder = CudaBuilder::new(&package)
        .arch(NvvmArch::Compute75)
        // Every operation must round as the source says, and math functions are the source's own.
        .fma_contraction(false)
        .override_libm(false)
        .ftz(false)
        .fast_sqrt(false)
        .fast_div(false)
        .build_args(&arguments(root));
    // It panics if it does not find its back end.
    let ptx = panic::catch_unwind(AssertUnwindSafe(|| builder.build()))
        .map_err(|panic| said(&*panic))
        .and_then(|built| built.map_err(|e| e.to_string()))
        .map_err(|why| {
            format!("Rust-CUDA cannot compile the GPU kernels: {why} (see above). It takes {NEEDS}")
        })?;
    let text = fs::read_to_string(&ptx).map_err(|e| format!("{}: {e}", ptx.display()))?;
    let text = with_shared_memory(&slim(&text));
    if !text.lines().any(|line| line == format!(".target {}", target.cpu)) {
        return Err(format!("{} is not for {}", ptx.display(), target.cpu));
    }
    let file = out.join(format!("{}.ptx", target.cpu));
    fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(format!("Rust-CUDA with {version}"))
}

/// Puts the back end under the name that CudaBuilder looks for into a folder of `LD_LIBRARY_PATH`. There cargo has
/// the folder of what the build script depends on, but a library from a git repository has a hash in its name.
fn show_back_end(out: &Path) -> Result<(), String> {
    let folders = env::var_os(SEARCHED).unwrap_or_default();
    let mut newest = None;
    for folder in env::split_paths(&folders) {
        if folder.join(BACK_END).exists() {
            return Ok(());
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let hash =
                name.strip_prefix("librustc_codegen_nvvm-").and_then(|n| n.strip_suffix(".so"));
            let when = entry.metadata().and_then(|about| about.modified()).ok();
            if let (Some(hash), Some(when)) = (hash, when) {
                newest = newest.max(Some((when, hash.to_owned(), entry.path())));
            }
        }
    }
    // CudaBuilder says that it found none.
    let Some((_, hash, library)) = newest else { return Ok(()) };
    // The hash in the path, so that cargo compiles anew with another back end.
    let folder = out.join("back-end").join(hash);
    let link = folder.join(BACK_END);
    let _ = fs::remove_file(&link);
    fs::create_dir_all(&folder)
        .and_then(|()| symlink(&library, &link))
        .map_err(|e| format!("{}: {e}", link.display()))?;
    let all = env::join_paths([folder].into_iter().chain(env::split_paths(&folders)));
    // SAFETY: a build script has one thread.
    unsafe { env::set_var(SEARCHED, all.map_err(|e| e.to_string())?) };
    Ok(())
}

/// The text with a declaration of [`SHARED`] behind its header.
fn with_shared_memory(text: &str) -> String {
    if text.contains(SHARED) {
        return text.to_owned();
    }
    let header =
        |line: &&str| [".version", ".target", ".address_size"].iter().any(|d| line.starts_with(d));
    let (mut lines, rest): (Vec<_>, Vec<_>) = text.lines().partition(header);
    lines.push(SHARED);
    lines.extend(rest);
    lines.join("\n") + "\n"
}

/// Additional arguments for its cargo.
fn arguments(root: &Path) -> [String; 5] {
    // CudaBuilder overrides the flags in the environment, but not those of the profile.
    let flags = [
        // This pass of rustc may duplicate a barrier (rust-lang/rust#137086).
        "-Zmir-enable-passes=-JumpThreading".to_owned(),
        // And so may those of LLVM 7, to which barriers and shuffles of `cuda_std` are functions as any other.
        // libNVVM knows them, and optimises the whole.
        "-Cno-prepopulate-passes".to_owned(),
        format!("--remap-path-prefix={}=.", root.display()),
    ];
    [
        "--config".into(),
        root.join(CONFIG).display().to_string(),
        "-Zprofile-rustflags".into(),
        "--config".into(),
        format!("profile.release.rustflags={flags:?}"),
    ]
}

/// Writes the package to build: the device crate alone, as a library of kernels, with the
/// dependencies and, as far as it contains them, the versions of our Cargo.lock.
fn package(root: &Path, source: &Device, out: &Path) -> Result<PathBuf, String> {
    let device = source.root().join("Cargo.toml");
    let text = fs::read_to_string(&device).map_err(|e| format!("{}: {e}", device.display()))?;
    let mut features = vec!["rust-cuda", "entries"];
    features.extend(has_lineage().then_some("lineage"));
    let mut manifest = format!(
        "[package]\nname = \"flockwork-device\"\nedition = \"2024\"\n[lib]\npath = {:?}\n\
         crate-type = [\"cdylib\"]\n[workspace]\n[features]\ndefault = {features:?}\nentries = []\nlineage = []\n",
        source.root().join("lib.rs").display().to_string()
    );
    // The feature's own line and the lines of the dependencies it names.
    let feature = text.lines().find(|line| line.starts_with("rust-cuda = ["));
    let feature = feature.ok_or(format!("{}: no feature `rust-cuda`", device.display()))?;
    manifest += &format!("{feature}\n[dependencies]\n");
    for name in feature.split('"').filter_map(|word| word.strip_prefix("dep:")) {
        let start = format!("{name} = {{");
        let line = text.lines().find(|line| line.starts_with(&start));
        manifest += line.ok_or(format!("{}: no dependency `{name}`", device.display()))?;
        manifest.push('\n');
    }
    let package = out.join("rust-cuda");
    // CudaBuilder makes this build run again whenever the package changes.
    update(&package.join("Cargo.toml"), &manifest)?;
    // cargo removes unused packages from its copy, so a second copy shows whether the original
    // changed.
    if let Ok(lock) = fs::read_to_string(root.join("Cargo.lock"))
        && update(&out.join("Cargo.lock"), &lock)?
    {
        update(&package.join("Cargo.lock"), &lock)?;
    }
    Ok(package)
}

/// The compiler's name and version.
fn version() -> Result<String, String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&rustc)
        .arg("--version")
        .output()
        .map_err(|e| format!("{}: {e}", Path::new(&rustc).display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The message of a panic.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("it gave no reason").to_owned()
}
