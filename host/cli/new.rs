//! `flockwork new`: a crate with a function or a model of one's own.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use clap::Args;

#[derive(Args)]
pub struct Arguments {
    /// The folder to write the crate into; its last part is the name of the crate, and of the function
    /// or the model.
    #[arg(value_name = "NAME")]
    path: PathBuf,
    /// Write a model that is fitted to data, not a function that is minimised.
    #[arg(long)]
    model: bool,
    /// Take flockwork from this folder [default: the folder that this program was built in, if it is
    /// still there; otherwise crates.io].
    #[arg(long, value_name = "FOLDER")]
    flockwork: Option<PathBuf>,
}

/// A crate to be written: its files, for a function or a model of the name `name` and the type `type_name`.
struct Template {
    name: &'static str,
    type_name: &'static str,
    build: &'static str,
    main: &'static str,
    source: &'static str,
}

const OBJECTIVE: Template = Template {
    name: "ripple",
    type_name: "Ripple",
    build: include_str!("new/objective/build.rs"),
    main: include_str!("new/objective/main.rs"),
    source: include_str!("new/objective/ripple.rs"),
};
const MODEL: Template = Template {
    name: "decay",
    type_name: "Decay",
    build: include_str!("new/model/build.rs"),
    main: include_str!("new/model/main.rs"),
    source: include_str!("new/model/decay.rs"),
};
const MANIFEST: &str = include_str!("new/manifest.toml");

/// Rust's words, folders of cargo's, and crates that every crate knows: no module may be called so.
const RESERVED: [&str; 66] = [
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "build",
    "const",
    "continue",
    "core",
    "crate",
    "deps",
    "do",
    "dyn",
    "else",
    "enum",
    "examples",
    "extern",
    "false",
    "final",
    "flockwork",
    "flockwork_archive",
    "flockwork_build",
    "flockwork_device",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "incremental",
    "let",
    "lib",
    "loop",
    "macro",
    "main",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc_macro",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "tests",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
];

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let Arguments { path, model, flockwork } = arguments;
    let template = if *model { MODEL } else { OBJECTIVE };
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let (module, type_name) = names(name)?;
    // Comments may have any word.
    let code = |text: &'static str| text.lines().filter_map(|line| line.split("//").next());
    let words = |text: &'static str| {
        let mut words = code(text).flat_map(|line| line.split(|c: char| !c.is_alphanumeric()));
        words.any(|word| word == type_name)
    };
    if type_name != template.type_name && (words(template.main) || words(template.source)) {
        bail!("the type would be called {type_name}, like one of flockwork's: choose another name");
    }
    let (library, build) = match flockwork {
        Some(folder) => sources(folder)?,
        None => sources(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap_or_else(|_| {
            let version = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
            (version.clone(), version)
        }),
    };
    if path.exists() && !fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none()) {
        bail!("{} exists already", path.display());
    }

    let renamed =
        |text: &str| replaced(text, &[(template.type_name, &type_name), (template.name, &module)]);
    let manifest =
        replaced(MANIFEST, &[("NAME", name), ("FLOCKWORK", &library), ("BUILD", &build)]);
    let files = [
        ("Cargo.toml".to_owned(), manifest),
        (".gitignore".to_owned(), "/target\n".to_owned()),
        ("build.rs".to_owned(), renamed(template.build)),
        ("src/main.rs".to_owned(), renamed(template.main)),
        (format!("src/{module}.rs"), renamed(template.source)),
    ];
    for (file, text) in files {
        let file = path.join(file);
        let folder = file.parent().expect("a file lies in a folder");
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&file, text))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let what = if *model { "model" } else { "function" };
    super::print(&format!(
        "{path} has a {what} in src/{module}.rs. To run it, and to test its kernels without a GPU:\n\n  \
         cd {path}\n  cargo run\n  cargo test\n",
        path = path.display(),
    ))
}

/// A text with some of its words replaced. What replaces one is not looked at again.
fn replaced(text: &str, words: &[(&str, &str)]) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    // The first word from here on.
    let next = |rest: &str| {
        words.iter().filter_map(|&(word, by)| Some((rest.find(word)?, word, by))).min()
    };
    while let Some((at, word, by)) = next(rest) {
        replaced += &rest[..at];
        replaced += by;
        rest = &rest[at + word.len()..];
    }
    replaced + rest
}

/// The module and the type of a crate of this name.
fn names(name: &str) -> anyhow::Result<(String, String)> {
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b));
    let module = name.replace('-', "_");
    if !is_name || name.len() > 64 {
        bail!(
            "{name:?} is no name of a crate: it takes small letters, digits, hyphens and underscores, begins \
             with a letter, and has 64 at most"
        );
    }
    if RESERVED.contains(&&*module) || RESERVED.contains(&module.trim_end_matches('_')) {
        bail!("{name:?} means something else in Rust: choose another name");
    }
    let capitalised = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
    };
    let type_name = module.split('_').map(capitalised).collect::<Vec<String>>().concat();
    Ok((module, type_name))
}

/// flockwork and its build in a checkout, as a manifest names them.
fn sources(folder: &Path) -> anyhow::Result<(String, String)> {
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)
        .with_context(|| format!("--flockwork {}: no Cargo.toml", folder.display()))?;
    if !text.lines().any(|line| line == "name = \"flockwork\"") {
        bail!("--flockwork {}: that is not flockwork's folder", folder.display());
    }
    let folder = fs::canonicalize(folder)?;
    let build = folder.join("build");
    if !build.join("Cargo.toml").is_file() {
        bail!("--flockwork {}: it has no folder `build`", folder.display());
    }
    // What is a string of JSON is one of TOML.
    let named = |path: &Path| format!("path = {}", serde_json::json!(path.display().to_string()));
    Ok((named(&folder), named(&build)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_replaced_once() {
        let words = [("Ripple", "Tripple"), ("ripple", "tripple")];
        assert_eq!(replaced("a Ripple, ripple.rs; rip", &words), "a Tripple, tripple.rs; rip");
        assert_eq!(replaced("A B", &[("A", "\"/B/A\""), ("B", "b")]), "\"/B/A\" b");
    }

    #[test]
    fn a_crate_names_its_module_and_its_type() {
        let of = |name| names(name).ok();
        let pair = |module: &str, type_name: &str| Some((module.to_owned(), type_name.to_owned()));
        assert_eq!(of("ripple"), pair("ripple", "Ripple"));
        assert_eq!(of("my-own_bowl2"), pair("my_own_bowl2", "MyOwnBowl2"));
        for refused in ["", "-a", "2d", "Bowl", "a b", "a.b", "ö"] {
            assert_eq!(of(refused), None, "{refused}");
        }
        for refused in ["type", "self", "self-", "core", "tests", "build", "flockwork-device"] {
            assert_eq!(of(refused), None, "{refused}");
        }
        assert!(names(&"a".repeat(64)).is_ok() && names(&"a".repeat(65)).is_err());
        assert!(RESERVED.is_sorted());
    }
}
