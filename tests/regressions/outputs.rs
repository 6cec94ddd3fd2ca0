//! Signals, output files, and the words of the program.

/// Starts an endless run, sends it signals once it has saved, and gives how it ended.
#[cfg(unix)]
fn signalled(signals: &[&str]) -> (std::process::Output, u64) {
    use std::{process::Stdio, thread, time::Duration};

    let folder = tempfile::tempdir().unwrap();
    let (file, log) = (folder.path().join("run"), folder.path().join("log"));
    let (file, log) = (file.to_str().unwrap(), log.to_str().unwrap());
    let line = format!(
        "optimize rastrigin -d 20 -p 500 -i 2000000000 --backend cpu --threads 1 --history 10 \
         --save {file} --log {log} --json"
    );
    let child = crate::program::program()
        .args(line.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The second line of the log is the first sample: the run listens by then.
    while std::fs::read_to_string(log).unwrap_or_default().lines().count() < 2 {
        thread::sleep(Duration::from_millis(5));
    }
    for signal in signals {
        let pid = child.id().to_string();
        std::process::Command::new("kill").args([signal, &*pid]).status().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let saved = flockwork::swarm::Checkpoint::read(file).unwrap();
    let samples = saved.history().unwrap();
    (output, samples.last().map_or(0, |sample| u64::from(sample.iteration)))
}

#[cfg(unix)]
#[test]
fn a_signal_once_or_twice_ends_a_run_that_is_saved_and_reported() {
    for (signals, status) in [
        (&["-INT"][..], 130),
        (&["-TERM"], 143),
        (&["-HUP"], 129),
        (&["-TERM", "-TERM"], 143),
        (&["-HUP", "-TERM"], 129),
    ] {
        let (output, saved) = signalled(signals);
        let errors = crate::program::text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{signals:?}: {errors}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["result"]["stopped"], "interrupted", "{signals:?}");
        let last = report["result"]["history"].as_array().unwrap().last().unwrap();
        assert_eq!(last["iteration"], saved, "{signals:?}");
        assert!(saved > 0);
    }
}
