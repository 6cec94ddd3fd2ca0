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
