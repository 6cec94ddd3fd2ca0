//! Compiles `device/` to PTX and hands it to `host/` as bytes.
//!
//! See `build/compile.rs` for which compiler does it, `build/ptx.rs` for how the text is cut into
//! one module per kernel, and `docs/architecture.md` for why.

#[path = "build/compile.rs"]
mod compile;
#[path = "build/ptx.rs"]
mod ptx;

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use compile::{Compiler, TARGETS};

/// The PTX that is kept for machines without a fitting compiler.
const KEPT: &str = "data/ptx";
/// Names a compiler for the device build, or says `prebuilt`.
const CHOICE: &str = "FLOCKWORK_DEVICE_RUSTC";

fn main() -> ExitCode {
    for path in ["build.rs", "build", "device", KEPT] {
        println!("cargo::rerun-if-changed={path}");
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

/// Leaves one PTX text per target in `out`, cuts them, and says where they came from.
fn kernels(root: &Path, out: &Path) -> Result<String, String> {
    let choice = env::var(CHOICE).ok();
    let hash = compile::source_hash(&root.join("device"))?;
    fs::write(out.join("device.hash"), &hash).map_err(|e| format!("{}: {e}", out.display()))?;

    let compiler = match choice.as_deref() {
        Some("prebuilt") => Err(format!("{CHOICE}=prebuilt")),
        Some(path) => Ok(Compiler::probe(Path::new(path))
            .map_err(|why| format!("{CHOICE}={path} cannot compile the GPU kernels: {why}"))?),
        None => Compiler::find(),
    };
    let failure = match compiler {
        Ok(compiler) => match compiler.compile(root, out) {
            Ok(()) => {
                embed(out, out)?;
                return Ok(format!(
                    "compiled from device/ by {} ({})",
                    compiler.version,
                    compiler.rustc.display()
                ));
            }
            Err(failure) => failure,
        },
        Err(missing) => missing,
    };

    let kept = root.join(KEPT);
    let kept_hash = fs::read_to_string(kept.join("device.hash")).unwrap_or_default();
    if kept_hash.trim() == hash {
        embed(&kept, out)?;
        return Ok(format!("the ones kept in {KEPT}, which match device/ ({failure})"));
    }
    Err(format!(
        "device/ differs from the kernels kept in {KEPT}, and they cannot be compiled here: \
         {failure}. Install a compiler with matching sources of `core`: on Debian `apt-get \
         install rustc-web rust-web-src`, with rustup `rustup component add rust-src`; or build \
         without GPU support: `--no-default-features`."
    ))
}

/// Cuts the texts in `from` into one module per kernel and writes the table that the program embeds.
fn embed(from: &Path, out: &Path) -> Result<(), String> {
    let mut table = String::from("&[\n");
    for target in TARGETS {
        let path = from.join(format!("{}.ptx", target.cpu));
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let folder = out.join("kernels").join(target.cpu);
        // Kernels that no longer exist must not linger.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let _ = writeln!(table, "    Image {{ target: {}, entries: &[", target.capability);
        for module in ptx::modules(&text).map_err(|e| format!("{}: {e}", path.display()))? {
            let file = folder.join(format!("{}.ptx", module.entry));
            fs::write(&file, &module.text).map_err(|e| format!("{}: {e}", file.display()))?;
            let _ = writeln!(
                table,
                "        ({:?}, include_str!({:?})),",
                module.entry,
                file.display().to_string()
            );
        }
        table.push_str("    ] },\n");
    }
    table.push(']');
    let file = out.join("images.rs");
    fs::write(&file, table).map_err(|e| format!("{}: {e}", file.display()))
}
