//! Islands on several processes: the program under `mpirun`, which must be there.

use std::{
    collections::HashMap,
    fs, iter,
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;

/// The usual run.
const RUN: &str = "optimize rastrigin -d 6 -p 60 -i 400 --islands 8 --migrate-every 7 --history 50";

/// The program, alone or in so many processes.
fn program(processes: Option<u32>, line: &str) -> Command {
    let program = env!("CARGO_BIN_EXE_flockwork");
    let mut command = match processes {
        None => Command::new(program),
        Some(processes) => {
            let mut command = Command::new("mpirun");
            // Open MPI refuses both otherwise; MPICH knows neither.
            command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
            command.args(["-n", &processes.to_string(), program]);
            command
        }
    };
    command.args(line.split_whitespace()).args(["--backend", "cpu", "--threads", "1"]);
    command.stdin(Stdio::null());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn output(processes: Option<u32>, line: &str) -> Output {
    program(processes, line).output().expect("mpirun is there")
}

/// What does not depend on time, of the only line that a run prints.
#[track_caller]
fn result(processes: Option<u32>, line: &str) -> Value {
    let output = output(processes, &format!("{line} --json"));
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    assert_eq!(printed.lines().count(), 1, "one process talks: {printed}");
    let mut object: Value = serde_json::from_str(&printed).unwrap();
    let mut result = object["result"].take();
    for time in ["seconds", "startup_seconds", "evaluations_timed"] {
        result.as_object_mut().unwrap().remove(time);
    }
    result
}

#[test]
fn any_number_of_processes_has_the_bits_of_one() {
    for migration in ["random", "ring", "torus", "all"] {
        let line = format!("{RUN} --migration {migration} --target -1 --spread-tolerance 1e-30");
        let alone = result(None, &line);
        assert_eq!(alone["history"].as_array().unwrap().len(), 9);
        for processes in [1, 2, 3, 8] {
            assert_eq!(result(Some(processes), &line), alone, "{processes} {migration}");
        }
    }
    let line = format!("{RUN} --precision f64 --rule comprehensive --evaluations 50000");
    assert_eq!(result(Some(3), &line), result(None, &line));
}

#[test]
fn another_number_of_processes_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run");
    let file = file.to_str().unwrap();
    let whole = result(None, RUN);
    let half = RUN.replace("-i 400", "-i 203");
    for (first, second) in [(Some(3), Some(8)), (Some(8), None), (None, Some(2))] {
        result(first, &format!("{half} --save {file}"));
        let rest = result(second, &format!("resume {file} --iterations 400"));
        assert_eq!(rest, whole, "{first:?} {second:?}");
    }
}

#[test]
fn what_cannot_be_ends_all_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run");
    let file = file.to_str().unwrap();
    for (processes, line, sentence) in [
        (
            3,
            RUN.replace("--islands 8", "--islands 2"),
            "number of processes is 3; it must be at most 2",
        ),
        (2, format!("{RUN} --save {file}/nowhere"), "there is no folder"),
        (2, RUN.replace("rastrigin", "rastrigan"), "no objective function called"),
        (2, format!("{RUN} --polish pattern"), "polish is given"),
    ] {
        // That it comes back at all says that nobody waits for another for ever.
        let output = output(Some(processes), &line);
        let errors = text(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{line}");
        assert!(errors.contains(sentence) && !errors.contains("panicked"), "{line}: {errors}");
        assert_eq!(errors.matches(sentence).count(), 1, "one process talks: {errors}");
    }
}

/// Starts a run that would take hours and saves often, and waits until it has saved.
fn begun(processes: u32, file: &str) -> Child {
    let line = RUN.replace("-i 400", "-i 4000000000");
    let line = format!("{line} --save {file} --save-every 0").replace("--history 50", "");
    let mut command = program(Some(processes), &line);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("mpirun");
    while !Path::new(file).exists() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended, and saved nothing");
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(500));
    child
}

/// The processes of the program that a launcher has started, itself or through others, in order.
fn started_by(launcher: u32) -> Vec<u32> {
    let (mut parents, mut programs) = (HashMap::new(), Vec::new());
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(status) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // The number, the name in brackets, the state, the parent.
        let Some((head, rest)) = status.rsplit_once(") ") else { continue };
        let Some((number, name)) = head.split_once(" (") else { continue };
        let number: u32 = number.parse().unwrap();
        parents.insert(number, rest.split(' ').nth(1).unwrap().parse::<u32>().unwrap());
        if name == "flockwork" {
            programs.push(number);
        }
    }
    programs.retain(|&program| {
        let mut above = iter::successors(Some(program), |number| parents.get(number).copied());
        above.any(|number| number == launcher)
    });
    programs.sort_unstable();
    programs
}

#[test]
fn a_job_that_lost_a_process_ends_and_goes_on_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run");
    let file = file.to_str().unwrap();
    let child = begun(3, file);
    let processes = started_by(child.id());
    assert_eq!(processes.len(), 3, "{processes:?}");
    // The last one: the first is to say what is saved.
    let lost = processes[2].to_string();
    assert!(Command::new("kill").args(["-9", &lost]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let errors = text(&output.stderr);
    assert!(!output.status.success(), "{errors}");
    // MPICH's launcher leaves the others no time to speak.
    let launcher = Command::new("mpirun").arg("--version").output().unwrap();
    if !text(&launcher.stdout).contains("HYDRA") {
        assert!(errors.contains("the islands are saved as of iteration"), "{errors}");
    }
    let saved = result(None, &format!("resume {file} --no-save --iterations 1"));
    let iterations = saved["iterations"].as_u64().unwrap();
    let line = RUN.replace("-i 400", &format!("-i {iterations}")).replace("--history 50", "");
    assert_eq!(saved, result(None, &line), "what was saved is a run of so many iterations");
    assert_eq!(saved, result(Some(2), &format!("resume {file} --no-save --iterations 1")));
}

#[test]
fn a_job_that_is_asked_to_stop_has_a_result() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run");
    let file = file.to_str().unwrap();
    let child = begun(2, file);
    let first = started_by(child.id())[0].to_string();
    assert!(Command::new("kill").args(["-INT", &first]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let printed = text(&output.stdout);
    assert!(printed.contains("ended       interrupted"), "{printed} {}", text(&output.stderr));
    assert!(printed.contains("resume with: flockwork resume"), "{printed}");
}
