//! The kernels of a crate of one's own.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
};

use crate::{
    CHOICE, INSTALL,
    compile::{Compiler, Device, TARGETS},
    embed::{archives, packed, write},
};

/// The objective functions and models of a crate whose kernels are to be compiled.
///
/// ```no_run
/// // In `main` of build.rs.
/// flockwork_build::Kernels::new()
///     .objective("src/ripple.rs", "Ripple")
///     .model("src/decay.rs", "Decay")
///     .compile();
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is compiled before `compile`"]
pub struct Kernels {
    types: Vec<Type>,
}

/// A type and the file that it is in.
#[derive(Clone, Debug)]
struct Type {
    file: PathBuf,
    name: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Objective,
    Model,
}

impl Kind {
    /// The device crate's macro that exports the kernels of such a type.
    fn export(self) -> &'static str {
        match self {
            Self::Objective => "export_objective",
            Self::Model => "export_model",
        }
    }
}

impl Kernels {
    /// Of nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// And of the type `name` in `file`, which implements `flockwork::objective::Objective`. The file's
    /// path is relative to the crate's folder.
    ///
    /// The file is compiled for the GPU by itself, without the rest of the crate and without `std`: it may
    /// use `core`, `flockwork` (`flockwork::objective`, `flockwork::math`, `flockwork::fit` and what else the
    /// crate `flockwork_device` has) and its own modules, and several types may share it.
    pub fn objective(self, file: impl Into<PathBuf>, name: impl Into<String>) -> Self {
        self.with(file.into(), name.into(), Kind::Objective)
    }

    /// And of the type `name` in `file`, which implements `flockwork::fit::Model`; otherwise as
    /// [`objective`](Self::objective).
    pub fn model(self, file: impl Into<PathBuf>, name: impl Into<String>) -> Self {
        self.with(file.into(), name.into(), Kind::Model)
    }

    fn with(mut self, file: PathBuf, name: String, kind: Kind) -> Self {
        self.types.push(Type { file, name, kind });
        self
    }

    /// Compiles them for `flockwork::kernels!` to embed. To be called in a build script, of a crate that
    /// depends on `flockwork`.
    ///
    /// Where flockwork has no GPU support, or there is no compiler with the sources of its `core`, the
    /// program has no kernels of these types: they run on the CPU, the build says why in a warning, and so
    /// does an error where a GPU is asked for. `FLOCKWORK_DEVICE_RUSTC` names a compiler, or says `none` to
    /// leave the kernels out.
    ///
    /// Ends the build script where a type cannot be compiled, after a sentence that says why.
    pub fn compile(self) {
        println!("cargo::rerun-if-env-changed={CHOICE}");
        for Type { file, .. } in &self.types {
            println!("cargo::rerun-if-changed={}", file.display());
        }
        if let Err(message) = self.compiled() {
            println!("cargo::error={}", message.replace('\n', " "));
            process::exit(1);
        }
    }

    fn compiled(&self) -> Result<(), String> {
        let variable = |name: &str| env::var_os(name).map(PathBuf::from);
        let missing = |name: &str| format!("{name} is not set: this is for a build script");
        let root = variable("CARGO_MANIFEST_DIR").ok_or_else(|| missing("CARGO_MANIFEST_DIR"))?;
        let out = variable("OUT_DIR").ok_or_else(|| missing("OUT_DIR"))?;
        let folder = out.join("flockwork");
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        self.check(&root)?;
        // Of types that are not named any more.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let file = entry.path();
            if file.extension().is_some_and(|extension| extension == "rs" || extension == "kernels")
            {
                fs::remove_file(&file).map_err(|e| format!("{}: {e}", file.display()))?;
            }
        }
        let left_out = |why: &str| {
            println!("cargo::warning=no GPU kernels of {}: {why}", self.names());
            for Type { name, .. } in &self.types {
                write(&folder.join(format!("{name}.rs")), format!("Err({why:?})\n"))?;
            }
            Ok(())
        };
        let Some(device) = variable("DEP_FLOCKWORK_DEVICE") else {
            return Err(
                "this crate does not depend on `flockwork`: add it to [dependencies]".into()
            );
        };
        println!("cargo::rerun-if-changed={}", device.display());
        if env::var_os("DEP_FLOCKWORK_CUDA").is_none() {
            return left_out("flockwork is built without its feature `cuda`");
        }
        let choice = env::var_os(CHOICE).unwrap_or_default();
        let compiler = match choice.to_str() {
            Some("none") => return left_out(&format!("{CHOICE}=none")),
            // These two are about flockwork's own kernels.
            Some("" | "prebuilt" | "compile") => match Compiler::find() {
                Ok(compiler) => compiler,
                Err(why) => return left_out(&format!("{why}. {INSTALL}")),
            },
            _ => Compiler::probe(Path::new(&choice))
                .map_err(|why| format!("{CHOICE} cannot compile GPU kernels: {why}"))?,
        };
        if compiler.rustc.is_absolute() {
            println!("cargo::rerun-if-changed={}", compiler.rustc.display());
        }
        let device = Device::at(device);
        let (texts, files) =
            compiler
                .compile_crate(&device, &self.source(&root), &root, &folder)
                .map_err(|why| format!("the GPU kernels of {}: {why}", self.names()))?;
        // Modules that are in files of their own.
        for file in files.iter().filter(|file| file.starts_with(&root)) {
            println!("cargo::rerun-if-changed={}", file.display());
        }
        for Type { name, .. } in &self.types {
            let mut files = Vec::new();
            for (target, text) in TARGETS.iter().zip(&texts) {
                let file = folder.join(format!("{name}.{}.kernels", target.cpu));
                write(&file, packed(text, None, |facts| facts.objective == *name)?)?;
                files.push((target, file));
            }
            write(&folder.join(format!("{name}.rs")), format!("Ok({})\n", archives(&files)))?;
        }
        Ok(())
    }

    /// Refuses types that cannot be.
    fn check(&self, root: &Path) -> Result<(), String> {
        if self.types.is_empty() {
            return Err("no types: name some with `objective` or `model`".into());
        }
        for (nth, Type { file, name, .. }) in self.types.iter().enumerate() {
            let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if !is_name {
                return Err(format!(
                    "{name:?} is no name of a type: it takes letters, digits and underscores, without \
                     parameters or a path"
                ));
            }
            if self.types[..nth].iter().any(|other| other.name == *name) {
                return Err(format!("the type {name} is named twice"));
            }
            if !root.join(file).is_file() {
                return Err(format!("there is no file {} in {}", file.display(), root.display()));
            }
        }
        Ok(())
    }

    /// The names of the types, for messages.
    fn names(&self) -> String {
        self.types.iter().map(|one| &*one.name).collect::<Vec<_>>().join(", ")
    }

    /// The crate that exports their kernels.
    fn source(&self, root: &Path) -> String {
        let mut source = String::from(
            "#![no_std]\n#![feature(abi_ptx)]\n#![allow(warnings)]\n#[macro_use]\nextern crate flockwork_device as flockwork;\n",
        );
        let mut files: Vec<&Path> = Vec::new();
        for Type { file, name, kind } in &self.types {
            let nth = files.iter().position(|other| *other == &**file).unwrap_or_else(|| {
                source += &module(&root.join(file), files.len());
                files.push(file);
                files.len() - 1
            });
            source += &format!("{}!({name}: file_{nth}::{name});\n", kind.export());
        }
        source
    }
}

/// A file as the module `file_nth`. Its own modules lie where they lie for the rest of its crate: those of
/// `src/ripple.rs` in `src/ripple`.
fn module(file: &Path, nth: usize) -> String {
    let quoted = |path: &Path| format!("{:?}", path.display().to_string());
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_name = stem.starts_with(|c: char| c.is_ascii_alphabetic())
        && stem.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    match file.parent() {
        // In a module that is a folder; `mod.rs` has its modules beside it however it is named.
        Some(folder) if is_name && stem != "mod" => format!(
            "#[path = {}]\nmod in_{nth} {{ pub mod r#{stem}; }}\nuse in_{nth}::r#{stem} as file_{nth};\n",
            quoted(folder)
        ),
        _ => format!("#[path = {}]\nmod file_{nth};\n", quoted(file)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_module_once_and_each_type_is_exported() {
        let kernels = Kernels::new()
            .objective("src/a.rs", "One")
            .model("src/b.rs", "Two")
            .objective("src/a.rs", "Three");
        let source = kernels.source(Path::new("/somewhere"));
        assert_eq!(source.matches(" as file_").count(), 2, "{source}");
        for line in [
            "#[path = \"/somewhere/src\"]\nmod in_1 { pub mod r#b; }\nuse in_1::r#b as file_1;",
            "export_objective!(One: file_0::One);",
            "export_model!(Two: file_1::Two);",
            "export_objective!(Three: file_0::Three);",
        ] {
            assert!(source.contains(line), "{line} in {source}");
        }
    }

    #[test]
    fn what_cannot_be_compiled_is_refused() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let refusal = |kernels: Kernels| kernels.check(root).unwrap_err();
        assert!(refusal(Kernels::new()).contains("no types"));
        for name in ["", "1a", "a::B", "B<f32>", "Ö"] {
            assert!(refusal(Kernels::new().objective("lib.rs", name)).contains("no name"));
        }
        let twice = Kernels::new().objective("lib.rs", "A").model("own.rs", "A");
        assert!(refusal(twice).contains("twice"));
        let nowhere = refusal(Kernels::new().objective("src/none.rs", "A"));
        assert!(nowhere.contains("no file src/none.rs"), "{nowhere}");
        assert_eq!(Kernels::new().objective("lib.rs", "A").check(root), Ok(()));
    }
}
