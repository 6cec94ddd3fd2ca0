//! Compiles the device crate with stock rustc's own PTX back end.

use std::{
    env,
    ffi::OsStr,
    fmt, fs, iter,
    path::{Path, PathBuf},
    process::Command,
};

use crate::embed::write;

/// A PTX target of the kernels.
pub struct Target {
    /// rustc's name for it.
    pub cpu: &'static str,
    /// The compute capability: 10 times major plus minor.
    pub capability: u32,
    /// The PTX version, which decides how old a driver may be.
    pub feature: &'static str,
}

/// The targets of the kernels. sm_70 introduced independent thread scheduling and the scoped memory
/// model, which the kernels rely on, so it is the lowest possible; PTX 7.0 requires driver 450 or
/// later. Every later GPU runs it. Add a higher target once a kernel uses a feature that only it
/// has.
pub const TARGETS: &[Target] = &[Target { cpu: "sm_70", capability: 70, feature: "+ptx70" }];

/// The oldest compiler known to compile the device crate correctly.
const OLDEST: (u32, u32) = (1, 95);

const FLAGS: &[&str] = &[
    "-Zunstable-options",
    // This pass may duplicate a barrier (rust-lang/rust#137086).
    "-Zmir-enable-passes=-JumpThreading",
    // No bitcode linker: fat LTO and --emit=asm leave one self-contained PTX text.
    "-Clinker=true",
    "-Clinker-flavor=llbc",
];

/// Where a build leaves what it compiled, in its folder.
const DEPENDENCIES: &str = "nvptx64-nvidia-cuda/release/deps";

/// What decides how the compiled text is cut and packed.
const PACKING: [(&str, &[u8]); 2] = [
    ("build/packing.rs", include_bytes!("packing.rs")),
    ("build/ptx.rs", include_bytes!("ptx.rs")),
];

/// The device crate's sources where this build has them.
pub struct Device {
    root: PathBuf,
}

impl Device {
    /// In this folder.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Writes a manifest for it alone into `folder`, without the workspace or the dependencies that it has
    /// on the host.
    fn manifest(&self, folder: &Path) -> Result<PathBuf, String> {
        let text = format!(
            "[package]\nname = \"flockwork-device\"\nedition = \"2024\"\n[lib]\npath = {:?}\n\
             [workspace]\n[features]\nentries = []\nlineage = []\nrust-cuda = []\n\
             [lints.rust]\nwarnings = \"allow\"\n",
            self.root.join("lib.rs").display().to_string()
        );
        let file = folder.join("Cargo.toml");
        update(&file, &text)?;
        Ok(file)
    }
}

/// Writes a file of a generated crate unless it has this text already, so that cargo sees no change; returns
/// whether it did.
pub fn update(file: &Path, text: &str) -> Result<bool, String> {
    let change = !fs::read_to_string(file).is_ok_and(|before| before == text);
    if change {
        let folder = file.parent().expect("a file lies in a folder");
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(file, text))
            .map_err(|e| format!("{}: {e}", file.display()))?;
    }
    Ok(change)
}

/// A rustc that has the sources of its own `core`.
pub struct Compiler {
    /// The executable.
    pub rustc: PathBuf,
    /// For example `rustc 1.96.0`.
    pub version: String,
    /// Everything in its description of itself that may affect the PTX, in lines.
    pub identity: String,
    /// The folder of its sources.
    sources: PathBuf,
}

impl Compiler {
    /// The active toolchain's compiler, or the system's.
    pub fn find() -> Result<Self, String> {
        let active = env::var_os("RUSTC").map_or_else(|| "rustc".into(), PathBuf::from);
        let system = ["/usr/bin/rustc", "/usr/local/bin/rustc"].map(PathBuf::from);
        let installed: Vec<_> =
            system.into_iter().filter(|rustc| rustc.exists() && *rustc != active).collect();
        let mut refusals = Vec::new();
        for candidate in iter::once(&active).chain(&installed) {
            match Self::probe(candidate) {
                Ok(compiler) => return Ok(compiler),
                Err(why) => refusals.push(why),
            }
        }
        Err(format!("no compiler for them was found: {}", refusals.join("; ")))
    }

    /// Checks whether a compiler is suitable; if not, says why.
    pub fn probe(rustc: &Path) -> Result<Self, String> {
        let named = |why: &str| format!("{}: {why}", rustc.display());
        let ask = |arguments: &[&str]| {
            let output =
                Command::new(rustc).args(arguments).output().map_err(|e| named(&e.to_string()))?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr);
                let first = said.lines().next().unwrap_or("it is no Rust compiler");
                return Err(named(first));
            }
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let about = ask(&["--version", "--verbose"])?;
        let identity = |line: &&str| line.starts_with("rustc ") || line.starts_with("LLVM version");
        let identity: Vec<&str> = about.lines().filter(identity).collect();
        let version: Vec<&str> = about.split_whitespace().take(2).collect();
        let &["rustc", number] = &version[..] else {
            return Err(named("it is no Rust compiler"));
        };
        let mut parts = number.split('.').map_while(|n| n.parse::<u32>().ok());
        if (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) < OLDEST {
            let (major, minor) = OLDEST;
            return Err(named(&format!("{} is older than {major}.{minor}", version.join(" "))));
        }
        let sources = Path::new(&ask(&["--print", "sysroot"])?).join("lib/rustlib/src/rust");
        if !sources.join("library/core/src/lib.rs").exists() {
            return Err(named(&format!(
                "{} lacks the sources of `core` ({})",
                version.join(" "),
                sources.display()
            )));
        }
        Ok(Self {
            rustc: rustc.to_owned(),
            version: version.join(" "),
            identity: identity.join("\n") + "\n",
            sources,
        })
    }

    /// Compiles every kernel of the device crate for every target and leaves `CPU.ptx` in `out`.
    pub fn compile(&self, device: &Device, out: &Path) -> Result<(), String> {
        // One folder, so that `core` is compiled once and only the kernels for each target.
        let build = out.join("device");
        let manifest = device.manifest(&build)?;
        let features = if has_lineage() { "entries,lineage" } else { "entries" };
        let remaps = [(device.root().to_owned(), "./device")];
        for target in TARGETS {
            let arguments = [format!("--features={features}"), "--crate-type=cdylib".into()];
            let text = self.ptx(target, &manifest, &arguments, &build, &remaps)?;
            write(&out.join(format!("{}.ptx", target.cpu)), text)?;
        }
        Ok(())
    }

    /// Compiles a crate of kernels that depends on the device crate, `source` being the text of its only
    /// file and `root` the folder that paths in messages are relative to, and returns the PTX for each
    /// target, and the files that it was made of. What is built lies in `out`.
    pub fn compile_crate(
        &self,
        device: &Device,
        source: &str,
        root: &Path,
        out: &Path,
    ) -> Result<(Vec<String>, Vec<PathBuf>), String> {
        let folder = out.join("kernels");
        device.manifest(&out.join("device"))?;
        let manifest = "[package]\nname = \"flockwork-kernels\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n\
                        crate-type = [\"cdylib\"]\n[workspace]\n[dependencies]\n\
                        flockwork-device = { path = \"../device\" }\n";
        update(&folder.join("Cargo.toml"), manifest)?;
        update(&folder.join("lib.rs"), source)?;
        let manifest = folder.join("Cargo.toml");
        let remaps = [(device.root().to_owned(), "flockwork-device"), (root.to_owned(), ".")];
        let build = out.join("target");
        let texts: Result<Vec<String>, String> = TARGETS
            .iter()
            .map(|target| self.ptx(target, &manifest, &[], &build, &remaps))
            .collect();
        let made_of = build.join(DEPENDENCIES).join("flockwork_kernels.d");
        let rules = fs::read_to_string(&made_of).map_err(|e| format!("{}: {e}", made_of.display()));
        Ok((texts?, files_of(&rules?)))
    }

    /// The PTX of a library, which `cargo rustc` compiles for a target with these further arguments.
    fn ptx(
        &self,
        target: &Target,
        manifest: &Path,
        arguments: &[String],
        build: &Path,
        remaps: &[(PathBuf, &str)],
    ) -> Result<String, String> {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        for (name, _) in env::vars_os().filter(|(name, _)| is_for_the_outer_build(name)) {
            cargo.env_remove(name);
        }
        let output = cargo
            .current_dir(manifest.parent().expect("it lies in a folder"))
            .args(["rustc", "--release", "--lib"])
            .args(arguments)
            .arg("--manifest-path")
            .arg(manifest)
            .args(self.vendored())
            .args(["--target", "nvptx64-nvidia-cuda", "-Zbuild-std=core"])
            .arg("--target-dir")
            .arg(build)
            .args(["--", "--emit=asm"])
            .arg(format!("-Ctarget-cpu={}", target.cpu))
            .arg(format!("-Ctarget-feature={}", target.feature))
            .env("RUSTC", &self.rustc)
            // -Zbuild-std and the PTX target are still unstable. The program itself needs neither.
            .env("RUSTC_BOOTSTRAP", "1")
            // The environment overrides the user's cargo configuration.
            .env("RUSTC_WRAPPER", "")
            .env("RUSTC_WORKSPACE_WRAPPER", "")
            .env("CARGO_ENCODED_RUSTFLAGS", self.flags(remaps).join("\x1f"))
            .env("CARGO_BUILD_BUILD_DIR", build)
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3")
            .env("CARGO_PROFILE_RELEASE_LTO", "fat")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
            .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
            .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
            .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "false")
            .env("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "false")
            .output()
            .map_err(|e| format!("cargo: {e}"))?;
        if !output.status.success() {
            let messages = String::from_utf8_lossy(&output.stderr);
            eprintln!("{messages}");
            let mut lines = messages.lines().skip_while(|line| !line.starts_with("error"));
            let first = lines.next().unwrap_or("it gave no reason");
            let place = lines.next().filter(|line| line.trim().starts_with("-->"));
            return Err(format!(
                "{} failed on it: {first}{}",
                self.version,
                place.map_or(String::new(), |place| format!(" {}", place.trim()))
            ));
        }
        let name = manifest.parent().and_then(Path::file_name).expect("it lies in a folder");
        let assembly =
            build.join(DEPENDENCIES).join(format!("flockwork_{}.s", name.to_string_lossy()));
        let ptx =
            fs::read_to_string(&assembly).map_err(|e| format!("{}: {e}", assembly.display()))?;
        // The targets share this file: if cargo considered one of them up to date, the file would belong
        // to the other.
        if !ptx.contains(&format!(".target {}\n", target.cpu)) {
            return Err(format!("{} is not for {}", assembly.display(), target.cpu));
        }
        Ok(slim(&ptx))
    }

    /// cargo looks for the dependencies of `std`, although `core` has none. If the compiler's
    /// sources contain them, it finds them there, and the build needs no network.
    fn vendored(&self) -> Vec<String> {
        let folder = self.sources.join("library/vendor");
        if !folder.is_dir() {
            return Vec::new();
        }
        let source = format!("source.vendored.directory={:?}", folder.display().to_string());
        ["--config", "source.crates-io.replace-with='vendored'", "--config", &source]
            .map(String::from)
            .into()
    }

    /// [`FLAGS`], plus flags that keep this machine's folders out of the PTX.
    fn flags(&self, remaps: &[(PathBuf, &str)]) -> Vec<String> {
        let mut flags: Vec<String> = FLAGS.iter().copied().map(String::from).collect();
        let real = fs::canonicalize(&self.sources).unwrap_or_default();
        let sources = [(&self.sources, "rust"), (&real, "rust")];
        let own = remaps.iter().map(|(folder, name)| (folder, *name));
        for (folder, name) in sources.into_iter().chain(own) {
            flags.push(format!("--remap-path-prefix={}={name}", folder.display()));
        }
        flags
    }
}

/// The files that a rule of a makefile names, of which rustc writes one for each: after a colon, nothing.
fn files_of(rules: &str) -> Vec<PathBuf> {
    let file = |line: &str| line.strip_suffix(':').map(|name| name.replace("\\ ", " ").into());
    rules.lines().filter_map(file).collect()
}

/// The text without comments, blank lines, indentation and spaces between operands: a fifth of its
/// size.
pub fn slim(ptx: &str) -> String {
    let mut slim = String::with_capacity(ptx.len());
    for line in ptx.lines() {
        let code = line.split("//").next().unwrap_or_default().trim();
        if !code.is_empty() {
            slim.push_str(&code.replace(" \t", " ").replace(", ", ","));
            slim.push('\n');
        }
    }
    slim
}

/// Whether this build has the published kernels: the device crate's feature of the same name.
pub fn has_lineage() -> bool {
    env::var_os("CARGO_FEATURE_LINEAGE").is_some()
}

/// Whether a variable is set for the program's build by cargo, clippy or a wrapper, and must not
/// reach the device's build. Variables that tell cargo how to reach registries may.
pub fn is_for_the_outer_build(variable: &OsStr) -> bool {
    let name = variable.to_string_lossy();
    let reach = ["CARGO_HOME", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_SOURCE_"];
    name == "RUSTFLAGS"
        || name.starts_with("CARGO") && !reach.iter().any(|prefix| name.starts_with(prefix))
}

/// A number that changes when anything that decides the kernels changes, but for the compiler: the
/// device crate's files, how they are cut and packed, the targets they are compiled for, the flags.
/// FNV-1a, 64 bits, in hexadecimal.
pub fn source_hash(device: &Device) -> Result<String, String> {
    let root = device.root();
    let mut files = Vec::new();
    collect(root, &mut files).map_err(|e| format!("{}: {e}", root.display()))?;
    files.sort();
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    for (name, text) in PACKING {
        hash.add(name.as_bytes());
        hash.add(text);
    }
    hash.add(flockwork_archive::MAGIC);
    for file in files {
        let name = file.strip_prefix(root).expect("found inside");
        hash.add(name.to_string_lossy().replace('\\', "/").as_bytes());
        hash.add(&fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?);
    }
    for target in TARGETS {
        hash.add(target.cpu.as_bytes());
        hash.add(target.feature.as_bytes());
    }
    for flag in FLAGS {
        hash.add(flag.as_bytes());
    }
    Ok(hash.to_string())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            // Not the manifest, which cargo rewrites when it packs a crate.
            files.push(path);
        }
    }
    Ok(())
}

struct Fnv(u64);

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        // The length separates consecutive pieces.
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl fmt::Display for Fnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_crate_are_those_that_rustc_lists() {
        let rules = "/o/kernels.d: lib.rs /a\\ b/c.rs\n\nlib.rs:\n/a\\ b/c.rs:\n\n# env-dep:X=1\n";
        assert_eq!(files_of(rules), [Path::new("lib.rs"), Path::new("/a b/c.rs")]);
    }
}
