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
    // The second line of the log is the first sample, of the start: with the next the run has iterated, and listens.
    while std::fs::read_to_string(log).unwrap_or_default().lines().count() < 3 {
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

#[test]
fn an_output_is_no_input_and_no_other_output_and_can_be_written() {
    use crate::program::fails;

    let folder = tempfile::tempdir().unwrap();
    let name = |file: &str| folder.path().join(file).to_str().unwrap().to_owned();
    let (graph, data) = (name("g.gr"), name("d.csv"));
    let (edges, rows) = ("p sp 2 1\na 1 2 7\n", "x,y\n1,2\n2,4\n3,6.5\n");
    std::fs::write(&graph, edges).unwrap();
    std::fs::write(&data, rows).unwrap();
    let (again, new) = (name("./g.gr"), name("s.npy"));
    for path in [&graph, &again] {
        fails(&format!("paths {graph} --distances {path}"), &["the graph and --distances name"]);
    }
    fails(
        &format!("paths {graph} --distances {new} --predecessors {}", name("./s.npy")),
        &["--distances and --predecessors name the same file"],
    );
    fails(&format!("paths {graph} --distances {}/no/d.npy", name("")), &["there is no folder"]);
    fails(
        &format!("fit {data} -m polynomial --degree 1 --log {data}"),
        &["the data and --log name the same file"],
    );
    assert_eq!(std::fs::read_to_string(&graph).unwrap(), edges);
    assert_eq!(std::fs::read_to_string(&data).unwrap(), rows);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}
