//! The program as a user runs it. `FLOCKWORK_BIN` names another program than the one just built,
//! `FLOCKWORK_DATA` another data folder.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use serde_json::Value;

pub fn program() -> Command {
    let path = env::var_os("FLOCKWORK_BIN")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_flockwork")), PathBuf::from);
    Command::new(path)
}

pub fn data(name: &str) -> String {
    let folder = env::var_os("FLOCKWORK_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("data"), PathBuf::from);
    folder.join(name).to_str().unwrap().to_owned()
}

/// Runs a command line, split at spaces.
pub fn run(line: &str) -> Output {
    program().args(line.split_whitespace()).stdin(Stdio::null()).output().unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[track_caller]
pub fn succeeds(line: &str) -> String {
    let output = run(line);
    let errors = text(&output.stderr);
    assert!(output.status.success(), "{line}: {:?}\n{errors}", output.status);
    assert!(!errors.contains("panicked"), "{line}: {errors}");
    text(&output.stdout)
}

/// Checks that the program fails with a message containing all of `expected`.
#[track_caller]
pub fn fails(line: &str, expected: &[&str]) {
    let output = run(line);
    let errors = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{line}: {:?}\n{errors}", output.status);
    assert!(!errors.contains("panicked") && errors.starts_with("error: "), "{line}: {errors}");
    for part in expected {
        assert!(errors.contains(part), "{line}: {part:?} is not in: {errors}");
    }
    assert!(output.stdout.is_empty(), "{line}: {}", text(&output.stdout));
}

#[track_caller]
pub fn json(line: &str) -> Value {
    let output = succeeds(&format!("{line} --json"));
    assert_eq!(output.lines().count(), 1, "one line: {output}");
    serde_json::from_str(&output).unwrap()
}

/// Waits until a program listens to Ctrl-C or has ended, however busy the machine is.
#[cfg(target_os = "linux")]
pub fn listens(child: &mut Child) {
    let status = format!("/proc/{}/status", child.id());
    let caught = || {
        let text = std::fs::read_to_string(&status).ok()?;
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    };
    // The bit of SIGINT, number 2.
    while child.try_wait().unwrap().is_none() && caught().is_none_or(|mask| mask & 2 == 0) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// cargo, in a crate outside the workspace: no variable says where CUDA is or what compiles kernels. What is
/// compiled is kept from run to run, and shared by all such crates.
pub fn cargo(crate_folder: &Path, arguments: &[&str]) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    // What the tests' own cargo has set must not reach it.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO_") && name != "CARGO_HOME" {
            cargo.env_remove(name);
        }
    }
    cargo
        .args(arguments)
        .arg("--offline")
        .current_dir(crate_folder)
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_MANIFEST_DIR")).join("target/outside"))
        // It is compiled once, nobody debugs it, and what it runs is little.
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
        .env_remove("FLOCKWORK_DEVICE_RUSTC")
        .env_remove("RUST_MIN_STACK");
    cargo
}
