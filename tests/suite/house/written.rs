//! The crates that `flockwork new` writes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use crate::common::program::{cargo, fails, succeeds, text};

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(file: PathBuf) -> String {
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The command, with its crate in `folder` and flockwork from here.
fn new(folder: &Path, name: &str, options: &str) -> String {
    succeeds(&format!(
        "new {} --flockwork {} {options}",
        folder.join(name).display(),
        here().display()
    ))
}

#[test]
fn names_and_sources_are_the_user_s() {
    let folder = tempfile::tempdir().unwrap();
    let said = new(folder.path(), "my-own_bowl", "");
    assert!(said.contains("src/my_own_bowl.rs") && said.contains("cargo run"), "{said}");
    let own = folder.path().join("my-own_bowl");
    let manifest = read(own.join("Cargo.toml"));
    assert!(manifest.contains("name = \"my-own_bowl\""), "{manifest}");
    assert!(manifest.contains(&format!("{:?}", here().join("build"))), "{manifest}");
    assert!(read(own.join("build.rs")).contains("(\"src/my_own_bowl.rs\", \"MyOwnBowl\")"));
    let source = read(own.join("src/my_own_bowl.rs"));
    assert!(source.contains("impl Objective for MyOwnBowl") && source.contains("\"my_own_bowl\""));
    assert!(!source.contains("Ripple"), "{source}");

    new(folder.path(), "leak", "--model");
    let source = read(folder.path().join("leak/src/leak.rs"));
    assert!(source.contains("impl Model for Leak") && !source.contains("ecay {"), "{source}");
    assert!(read(folder.path().join("leak/src/main.rs")).contains("Fit::new(Leak,"));
}

#[test]
fn what_cannot_be_written_is_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| format!("new {}", folder.path().join(name).display());
    new(folder.path(), "bowl", "");
    fails(&at("bowl"), &["bowl exists already"]);
    fails(&at("2d"), &["\"2d\" is no name of a crate"]);
    fails(&at("type"), &["\"type\" means something else in Rust"]);
    fails(&at("problem"), &["would be called Problem, like one of flockwork's"]);
    fails(&at("rows --model"), &["would be called Rows"]);
    fails(&at("a --flockwork /nowhere"), &["--flockwork /nowhere: no Cargo.toml"]);
    let device = here().join("device");
    fails(&format!("{} --flockwork {}", at("a"), device.display()), &["is not flockwork's folder"]);
    assert!(!folder.path().join("a").exists());
}

/// `examples/ripple`, which `cargo test` compiles and tests, is one of them.
#[test]
fn the_example_is_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    new(folder.path(), "ripple", "");
    for file in ["build.rs", "src/main.rs", "src/ripple.rs"] {
        let written = read(folder.path().join("ripple").join(file));
        assert!(written == read(here().join("examples/ripple").join(file)), "{file} differs");
    }
}

#[track_caller]
fn good(output: &Output) -> (String, String) {
    let (said, complaint) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}{complaint}");
    (said, complaint)
}

#[test]
#[ignore = "builds all dependencies once more, and needs a compiler for kernels; .ci/run runs it"]
fn crates_of_ones_own_have_kernels() {
    let folder = tempfile::tempdir().unwrap();
    for (name, options) in [("bowl", ""), ("leak", "--model")] {
        new(folder.path(), name, options);
        let own = folder.path().join(name);
        // The versions already present here.
        fs::copy(here().join("Cargo.lock"), own.join("Cargo.lock")).unwrap();
        let (said, complaint) = good(&cargo(&own, &["run"]).output().unwrap());
        assert!(said.contains("back end") && !complaint.contains("no GPU kernels"), "{complaint}");
        let (said, _) = good(&cargo(&own, &["test"]).output().unwrap());
        assert!(said.contains("test result: ok. 2 passed"), "{said}");
    }

    // A second type, in the same file, and a model beside them.
    let bowl = folder.path().join("bowl");
    let source = read(bowl.join("src/bowl.rs"));
    let (uses, type_and_more) = source.split_once("/// A wavy bowl.").unwrap();
    let second = type_and_more.replace("Bowl", "Basin").replace("\"bowl\"", "\"basin\"");
    fs::write(
        bowl.join("src/bowl.rs"),
        format!("{uses}/// A bowl.{type_and_more}\n/// Another.{second}"),
    )
    .unwrap();
    fs::copy(folder.path().join("leak/src/leak.rs"), bowl.join("src/leak.rs")).unwrap();
    let build = "fn main() {\n    flockwork_build::Kernels::new()\n        \
                 .objective(\"src/bowl.rs\", \"Bowl\")\n        .objective(\"src/bowl.rs\", \"Basin\")\n        \
                 .model(\"src/leak.rs\", \"Leak\")\n        .compile();\n}\n";
    fs::write(bowl.join("build.rs"), build).unwrap();
    let main = read(bowl.join("src/main.rs"));
    let shown = "    for kernels in [Bowl::KERNELS, bowl::Basin::KERNELS, leak::Leak::KERNELS] {\n        \
                 let archives = kernels.archives().expect(\"compiled\");\n        \
                 println!(\"{}: {}\", kernels.type_name(), archives.len());\n    }\n";
    let main = main
        .replace("mod bowl;\n", "mod bowl;\nmod leak;\n")
        .replace(
            "use flockwork::{\n",
            "use flockwork::{\n    fit::Model,\n    objective::Objective,\n",
        )
        .replacen("    let problem", &format!("{shown}    let problem"), 1);
    fs::write(bowl.join("src/main.rs"), main).unwrap();
    let (said, _) = good(&cargo(&bowl, &["run"]).output().unwrap());
    for name in ["Bowl: 1", "Basin: 1", "Leak: 1"] {
        assert!(said.contains(name), "{said}");
    }

    // A mistake is the compiler's message, with its place.
    fs::write(bowl.join("src/leak.rs"), "pub struct Leek;\n").unwrap();
    let output = cargo(&bowl, &["build"]).output().unwrap();
    let complaint = text(&output.stderr);
    assert!(!output.status.success());
    assert!(complaint.contains("the GPU kernels of Bowl, Basin, Leak: rustc 1."), "{complaint}");

    // Without a compiler for kernels the rest works, and a line says why.
    fs::write(
        bowl.join("build.rs"),
        build.replace("        .model(\"src/leak.rs\", \"Leak\")\n", ""),
    )
    .unwrap();
    let main = read(bowl.join("src/main.rs"));
    let main = main.replace("mod leak;\n", "").replace(shown, "").replace("    fit::Model,\n", "");
    fs::write(bowl.join("src/main.rs"), main).unwrap();
    let output = cargo(&bowl, &["run"]).env("FLOCKWORK_DEVICE_RUSTC", "none").output().unwrap();
    let (said, complaint) = good(&output);
    assert!(complaint.contains("no GPU kernels of Bowl, Basin: FLOCKWORK_DEVICE_RUSTC=none"));
    assert!(said.contains("the function has no GPU kernels"), "{said}");
}
