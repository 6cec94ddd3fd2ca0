//! What `build/rust_cuda_builder.rs` uses of the real crate, which it checks on the way. It starts cargo with the
//! same arguments and environment, but for the compiler: `rustc` beside this stand-in.

use std::{
    env, error, fmt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

#[derive(Debug, PartialEq)]
pub enum NvvmArch {
    Compute75,
}

#[derive(Debug)]
pub enum CudaBuilderError {
    BuildFailed,
}

impl fmt::Display for CudaBuilderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Build failed")
    }
}

impl error::Error for CudaBuilderError {}

/// Every switch at its default, which for these is the other way than flockwork needs it.
pub struct CudaBuilder {
    package: PathBuf,
    arch: Option<NvvmArch>,
    fma_contraction: bool,
    override_libm: bool,
    fast: bool,
    arguments: Vec<String>,
}

impl CudaBuilder {
    pub fn new(package: impl AsRef<Path>) -> Self {
        let package = package.as_ref().to_owned();
        let (fma_contraction, override_libm) = (true, true);
        Self { package, arch: None, fma_contraction, override_libm, fast: false, arguments: vec![] }
    }

    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.arch = Some(arch);
        self
    }

    pub fn fma_contraction(mut self, on: bool) -> Self {
        self.fma_contraction = on;
        self
    }

    pub fn override_libm(mut self, on: bool) -> Self {
        self.override_libm = on;
        self
    }

    pub fn ftz(mut self, on: bool) -> Self {
        self.fast |= on;
        self
    }

    pub fn fast_sqrt(self, on: bool) -> Self {
        self.ftz(on)
    }

    pub fn fast_div(self, on: bool) -> Self {
        self.ftz(on)
    }

    pub fn build_args(mut self, arguments: &[impl AsRef<str>]) -> Self {
        self.arguments.extend(arguments.iter().map(|a| a.as_ref().to_owned()));
        self
    }

    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        assert_eq!(self.arch, Some(NvvmArch::Compute75));
        assert!(!self.fma_contraction, "products and sums would be fused");
        assert!(!self.override_libm && !self.fast, "functions would be NVIDIA's");
        for inherited in ["CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR", "CARGO_FEATURE_CUDA"] {
            assert!(env::var_os(inherited).is_none(), "{inherited} is of the outer build");
        }
        let manifest =
            env::var_os("CARGO_MANIFEST_DIR").expect("the search for the back end reads it");
        assert!(Path::new(&manifest).join("Cargo.toml").exists());

        let back_end = back_end();
        match env::var("STAND_IN").as_deref() {
            Ok("fails") => return Err(CudaBuilderError::BuildFailed),
            Ok("is missing") => panic!("Could not find librustc_codegen_nvvm.so in library path"),
            _ => {}
        }
        let flags = [
            &format!("-Zcodegen-backend={}", back_end.display()),
            "-Zcrate-attr=feature(register_tool)",
            "-Zcrate-attr=register_tool(nvvm_internal)",
            "-Zcrate-attr=no_std",
            "-Zsaturating_float_casts=false",
            "-Cllvm-args=-arch=compute_75 -fma=0",
        ];
        // What the real back end does in its own way.
        let whole: &[&str] = if env::var("STAND_IN").as_deref() == Ok("compiles") {
            &[
                "--config=profile.release.lto='fat'",
                "--config=profile.release.codegen-units=1",
                "--config=profile.release.panic='abort'",
            ]
        } else {
            &[]
        };
        let built = Command::new("cargo")
            .args(["build", "--lib", "--message-format=json-render-diagnostics"])
            .args(["-Zbuild-std=core,alloc", "--target=nvptx64-nvidia-cuda"])
            .args(&self.arguments)
            .args(whole)
            .arg("--release")
            .arg("--target-dir")
            .arg(self.package.join("target"))
            .current_dir(&self.package)
            // Where the real one has a nightly.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTC", env::var_os("STAND_IN_RUSTC").expect("set by the script"))
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
            .stderr(Stdio::inherit())
            .output()
            .expect("cargo starts");
        if !built.status.success() {
            return Err(CudaBuilderError::BuildFailed);
        }
        let said = String::from_utf8(built.stdout).expect("text");
        let last = said.lines().rfind(|line| line.contains("\"reason\":\"compiler-artifact\""));
        let names = last.expect("an artifact").split('"');
        Ok(names.filter(|name| name.ends_with(".ptx")).last().expect("PTX").into())
    }
}

/// As the real crate finds it: cargo has the folder of a build script's libraries in this variable.
fn back_end() -> PathBuf {
    let folders = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let mut files =
        env::split_paths(&folders).map(|folder| folder.join("librustc_codegen_nvvm.so"));
    files.find(|file| file.is_file()).unwrap_or_else(|| {
        panic!("Could not find librustc_codegen_nvvm.so in library path: {}", folders.display())
    })
}
