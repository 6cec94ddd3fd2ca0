//! Reading graphs, and asking for distances.

#[cfg(target_os = "linux")]
use crate::program::program;

/// A path goes into JSON with what is no text replaced.
#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_no_text_goes_into_json() {
    use std::os::unix::ffi::OsStrExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(std::ffi::OsStr::from_bytes(b"bad\xff.gr"));
    std::fs::write(&path, "p sp 2 1\na 1 2 3\n").unwrap();
    let output = program().arg("paths").arg(&path).arg("--json").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(object["graph"].as_str().unwrap().ends_with("bad\u{fffd}.gr"));
}
