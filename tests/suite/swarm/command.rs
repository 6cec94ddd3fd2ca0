//! Programs as objective functions, on the command line and in the library.
#![cfg(unix)]

use std::{
    fs,
    path::Path,
    process::{Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use flockwork::{
    Error,
    command::{Command, Protocol, journal_of},
    swarm::{Checkpoint, Options, Problem, Search, StopReason},
};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::program::{self, listens, text};

/// A bowl with its minimum at (0.25, 0.75), in thousandths: shells have no fractions.
const BOWL: &str = r#"
a=$1 b=$2
[ -z "$CALLS" ] || echo "$a $b" >> "$CALLS"
awk -v a="$a" -v b="$b" 'BEGIN { printf "value %.17g\n", (a - 0.25) ^ 2 + 3 * (b - 0.75) ^ 2 }'
"#;

/// Answers lines of points with the same bowl.
const MODEL: &str = r#"
import json, os, sys

for line in sys.stdin:
    points = json.loads(line)["points"]
    if os.environ.get("CALLS"):
        with open(os.environ["CALLS"], "a") as calls:
            calls.write("".join("%r %r\n" % (p["a"], p["b"]) for p in points))
    values = [(p["a"] - 0.25) ** 2 + 3 * (p["b"] - 0.75) ** 2 for p in points]
    print(json.dumps({"values": [v if p["a"] >= 0 else float("nan") for p, v in zip(points, values)]}))
    sys.stdout.flush()
"#;

/// A folder with the two programs.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bowl.sh"), BOWL).unwrap();
    fs::write(folder.path().join("model.py"), MODEL).unwrap();
    folder
}

/// A run in a folder, with these arguments; programs note their calls in the file `calls` there.
fn started(folder: &Path, arguments: &[&str]) -> std::process::Command {
    let mut command = program::program();
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.env("CALLS", folder.join("calls"));
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    started(folder, arguments).output().unwrap()
}

#[track_caller]
fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[track_caller]
fn json(folder: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&succeeds(folder, &[arguments, &["--json"]].concat())).unwrap()
}

#[track_caller]
fn fails(folder: &Path, arguments: &[&str], expected: &[&str]) {
    let output = run(folder, arguments);
    let errors = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?}: {errors}");
    assert!(errors.starts_with("error: ") && output.stdout.is_empty(), "{arguments:?}: {errors}");
    for part in expected {
        assert!(errors.contains(part), "{arguments:?}: {part:?} is not in: {errors}");
    }
}

/// What programs were called with, a line for each call.
fn calls(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("calls")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[track_caller]
fn all_differ(mut calls: Vec<String>) {
    let count = calls.len();
    calls.sort();
    calls.dedup();
    assert!(count > 0 && calls.len() == count, "{count} calls for {} points", calls.len());
}

const OF_BOWL: [&str; 7] =
    ["optimize", "--command", "sh bowl.sh {a} '{b}'", "--var", "a=0,1", "--var", "b=0,1"];

fn of_bowl<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&OF_BOWL[..], more].concat()
}

#[test]
fn a_minimum_is_found_and_no_point_paid_for_twice() {
    let folder = folder();
    let report = succeeds(folder.path(), &of_bowl(&["--target", "1e-6"]));
    assert!(report.contains("searches by CMA-ES") && report.contains("the target was"), "{report}");
    assert!(report.contains("(commands run there)"), "{report}");
    assert!(report.contains("at          a = 0.2") && report.contains(", b = 0.7"), "{report}");
    assert!(!report.contains("failed"), "{report}");
    all_differ(calls(folder.path()));
}

#[test]
fn the_result_does_not_depend_on_how_many_run() {
    let folder = folder();
    let limit = ["--evaluations", "60"];
    let results = ["1", "4"].map(|jobs| {
        let object = json(folder.path(), &of_bowl(&[&limit[..], &["--jobs", jobs]].concat()));
        assert_eq!(object["programs"]["failed"], 0);
        (object["result"]["value"].to_string(), object["result"]["position"].to_string())
    });
    assert_eq!(results[0], results[1]);
    // A swarm, with other threads too.
    let swarm = ["--particles", "12", "--iterations", "3"];
    let results =
        [["--jobs", "1", "--threads", "1"], ["--jobs", "4", "--threads", "3"]].map(|how| {
            let object = json(folder.path(), &of_bowl(&[&swarm[..], &how].concat()));
            assert_eq!(object["result"]["evaluations"], 48);
            (object["result"]["value"].to_string(), object["result"]["position"].to_string())
        });
    assert_eq!(results[0], results[1]);
    // In lines, with the same values.
    let lines = ["--command", "python3 model.py", "--protocol", "lines", "--jobs", "2"];
    let object = json(folder.path(), &of_bowl(&[&swarm[..], &lines].concat()));
    let near = |text: &str| (text.parse::<f64>().unwrap() * 1e9).round();
    assert_eq!(near(&object["result"]["value"].to_string()), near(&results[0].0));
}

#[test]
fn failures_are_counted_and_shown() {
    let folder = folder();
    let script = "sh -c 'case {a} in -*) echo 1; echo too small >&2; exit 4; esac; echo {a}'";
    let command = ["optimize", "--command", script, "--var", "a=-1,3", "--particles", "16"];
    let limit = ["--iterations", "6"];
    let report = succeeds(folder.path(), &[&command[..], &limit].concat());
    assert!(report.contains("failed      at ") && report.contains("the first: sh -c"), "{report}");
    assert!(report.contains("exit status: 4: too small\n"), "{report}");
    let object = json(folder.path(), &[&command[..], &limit].concat());
    let programs = &object["programs"];
    let (all, failed) =
        (programs["evaluated"].as_u64().unwrap(), programs["failed"].as_u64().unwrap());
    assert!(0 < failed && failed < all, "{programs}");
    assert!(object["result"]["value"].as_f64().unwrap() >= 0.0);
    // As bad when the largest value is sought.
    let script = script.replace("echo {a}'", "printf %s -{a}'");
    let arguments = ["optimize", "--command", &script, "--var", "a=-1,3", "--maximise"];
    let object = json(folder.path(), &[&arguments[..], &command[5..], &limit].concat());
    assert!(object["result"]["value"].as_f64().unwrap() <= 0.0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_time_limit_ends_a_program_and_what_it_started() {
    let folder = folder();
    let script = "sh -c 'case {k} in 1) sleep 86399.125 & wait; esac; echo {k}'";
    let arguments = ["optimize", "--command", script, "--var", "k=1..3", "--timeout", "3"];
    let object = json(folder.path(), &[&arguments[..], &["-p", "16", "-i", "2"]].concat());
    assert_eq!(
        (&object["result"]["value"], &object["programs"]["failed"]),
        (&2.0.into(), &1.into())
    );
    let first = object["programs"]["first_failure"].as_str().unwrap();
    assert!(first.contains("in 1) sleep") && first.ends_with("it ran longer than 3 s"), "{first}");
    assert_ends("86399.125");
    // In lines, of a batch only those points that take so long.
    let slow = "import json, sys, time\n\
                for line in sys.stdin:\n    points = json.loads(line)['points']\n    \
                [time.sleep(86399) for p in points if p['k'] == 1]\n    \
                print(json.dumps({'values': [p['k'] for p in points]}), flush=True)\n";
    fs::write(folder.path().join("slow.py"), slow).unwrap();
    let arguments =
        ["optimize", "--command", "python3 slow.py", "--protocol", "lines", "--jobs", "2"];
    let rest = ["--var", "k=1..3", "--timeout", "5", "-p", "16", "-i", "2"];
    let object = json(folder.path(), &[&arguments[..], &rest].concat());
    assert_eq!(
        (&object["result"]["value"], &object["programs"]["failed"]),
        (&2.0.into(), &1.into())
    );
}

/// Whether a process runs that has this among its arguments.
#[cfg(target_os = "linux")]
fn is_running(marker: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.into_iter().any(|line| {
        let is_marker = |argument: &[u8]| argument == marker.as_bytes();
        line.split(|&byte| byte == 0).any(is_marker)
    })
}

/// What was killed may take a moment to die. What was not would sleep for a day.
#[cfg(target_os = "linux")]
#[track_caller]
fn assert_ends(marker: &str) {
    let began = Instant::now();
    while is_running(marker) {
        assert!(began.elapsed() < Duration::from_secs(60), "a program outlives the run");
        thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_run_leaves_no_process_and_goes_on_where_it_was() {
    let folder = folder();
    // Beyond the tenth call, each waits with a child of its own until it is killed, unless it may pass.
    let script = "echo \"$1 $2\" >> calls\n\
                  if [ $(wc -l < calls) -gt 10 ] && [ ! -e pass ]; then\n    \
                      echo x >> waiting; sleep $MARK & sleep $MARK; fi\n\
                  echo \"$1 $2\" >> answered\n. ./bowl.sh\n";
    fs::write(folder.path().join("wait.sh"), script).unwrap();
    // In a round of searches, in an iteration, and among the first points of a swarm.
    let methods: [&[&str]; 3] = [
        &[],
        &["--particles", "8", "--iterations", "4"],
        &["--particles", "16", "--iterations", "1"],
    ];
    for (nth, method) in methods.into_iter().enumerate() {
        for name in ["calls", "pass", "waiting", "answered"] {
            let _ = fs::remove_file(folder.path().join(name));
        }
        let mark = format!("8639{nth}.{}", std::process::id());
        let wait = ["--command", "sh wait.sh {a} {b}", "--evaluations", "40", "--jobs", "3"];
        let arguments = of_bowl(&[&wait[..], method].concat());
        let saved = ["--save", "run"];
        let mut command = started(folder.path(), &[&arguments[..], &saved].concat());
        command.env("MARK", &mark).env_remove("CALLS");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        listens(&mut child);
        // Until all that were called have answered or wait: later ones wait, too.
        let lines = |name: &str| {
            let text = fs::read_to_string(folder.path().join(name)).unwrap_or_default();
            text.matches('\n').count()
        };
        let are_waiting = || {
            let (waiting, answered) = (lines("waiting"), lines("run.answers"));
            waiting > 0 && lines("calls") + 1 == answered + waiting && is_running(&mark)
        };
        let began = Instant::now();
        while !are_waiting() && began.elapsed() < Duration::from_secs(300) {
            assert!(child.try_wait().unwrap().is_none());
            thread::sleep(Duration::from_millis(5));
        }
        // SAFETY: it is sent to the child, which has not been waited for.
        unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        assert_ends(&mark);
        // How much it had found depends on how fast the first programs were.
        let (report, errors) = (text(&output.stdout), text(&output.stderr));
        assert!(
            report.contains("ended       interrupted") && nth < 2
                || errors.contains("before anything was found; go on with"),
            "{nth}: {report}{errors}"
        );

        // What was answered is not evaluated again, wherever it is resumed.
        fs::write(folder.path().join("pass"), "").unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let file = folder.path().join("run");
        let resumed = json(elsewhere.path(), &["resume", file.to_str().unwrap(), "--jobs", "2"]);
        let answered = fs::read_to_string(folder.path().join("answered")).unwrap();
        all_differ(answered.lines().map(str::to_owned).collect());
        let mut again = arguments.clone();
        again.extend(["--command", "sh bowl.sh {a} {b}"]);
        let whole = json(folder.path(), &again);
        assert_eq!(resumed["result"]["position"], whole["result"]["position"]);
        assert_eq!(resumed["result"]["value"], whole["result"]["value"]);
        assert_eq!(resumed["programs"]["evaluated"], whole["programs"]["evaluated"]);
    }
}

#[test]
fn a_finished_run_goes_on_without_paying_again() {
    let folder = folder();
    let lines = ["--command", "python3 model.py", "--protocol", "lines", "--jobs", "2"];
    for how in [&lines[..], &[]] {
        let _ = fs::remove_file(folder.path().join("calls"));
        succeeds(
            folder.path(),
            &of_bowl(&[how, &["--evaluations", "24", "--save", "run"]].concat()),
        );
        let before = calls(folder.path()).len();
        let more = ["resume", "run", "--evaluations", "48", "--save", "other"];
        succeeds(folder.path(), &more);
        let after = calls(folder.path());
        assert!(after.len() > before);
        all_differ(after.clone());
        // The new file has all of them.
        let journal = fs::read_to_string(journal_of(&folder.path().join("other"))).unwrap();
        assert_eq!(journal.lines().count(), after.len() + 1);
        succeeds(folder.path(), &["resume", "other", "--no-save"]);
        assert_eq!(calls(folder.path()).len(), after.len());
        // Without the journal the rest is lost, but the run is not.
        fs::remove_file(journal_of(&folder.path().join("other"))).unwrap();
        succeeds(folder.path(), &["resume", "other"]);
    }
}

#[test]
fn bad_commands_get_a_sentence() {
    let folder = folder();
    let var = ["--var", "a=0,1"];
    let cases: &[(&[&str], &[&str])] = &[
        (&["--command", "sh {a} 'x"], &["the command `sh {a} 'x` has a ' that is never closed"]),
        (&["--command", "sh {b}"], &["has {b}, and there are {a}; write {{ and }}"]),
        (&["--command", "sh"], &["does not have {a}"]),
        (&["--command", "sh {a} | tail"], &["has |, which only a shell understands"]),
        (&["--command", "./none {a}"], &["`./none {a}` cannot be run: ./none in ", "No such file"]),
        (&["--command", "no-such-program {a}"], &["cannot be run: no-such-program: No such file"]),
        (
            &["--command", "sh -c 'echo oh no >&2; exit 7' {a}"],
            &["failed at each of the first 20 points", "sh -c 'echo oh", "exit status: 7\n  oh no"],
        ),
        (
            &["--command", "echo none {a}e", "--evaluations", "10"],
            &["failed at each of the first", "it printed no number, but \"none 0."],
        ),
        (
            &["--command", "echo nan {a} nan", "--evaluations", "30"],
            &["command had no finite value"],
        ),
        (&["--command", "echo {a}", "--jobs", "0"], &["--jobs", "from 1 to 4096"]),
        (&["--command", "echo {a}", "--timeout", "0"], &["--timeout", "more than 0"]),
        (&["--command", "echo {a}", "--backend", "cuda"], &["a command is evaluated on the CPU"]),
        (&["--command", "echo {a}", "--formula", "a"], &["cannot be used with"]),
        (&["--command", "echo {a}", "--animate", "x.gif"], &["--animate", "too often"]),
        (&["--formula", "a", "--jobs", "2"], &["--jobs is about the programs of --command"]),
        (&["--command", "cat {a}", "--protocol", "lines"], &["come on its standard input"]),
        (
            &["--command", "cat", "--protocol", "lines"],
            &[
                "`cat` answered a line of ",
                "not {\"values\": [...]}",
                "{\\\"points\\\": [{\\\"a\\\": ",
            ],
        ),
        (
            &["--command", "sh -c 'read x; echo bye >&2; exit 3'", "--protocol", "lines"],
            &["ended before it answered a line of points (exit status: 3)\n  bye"],
        ),
    ];
    for (arguments, expected) in cases {
        fails(folder.path(), &[&["optimize"], *arguments, &var].concat(), expected);
    }
    for (arguments, expected) in [
        (&["--command", "sh {a} {b}"][..], "need bounds: --var a=LOWER,UPPER --var b=LOWER,UPPER"),
        (&["--command", "sh {x}"], "--dims N and --bounds LOWER,UPPER"),
        (&["--command", "sh {x[0]}", "-d", "2", "--bounds", "0,1"], "does not have {x[1]}"),
        (&["--jobs", "2", "sphere"], "--jobs is about the programs of --command"),
        (&["--protocol", "lines", "sphere"], "--command"),
    ] {
        fails(folder.path(), &[&["optimize"], arguments].concat(), &[expected]);
    }
    let saved = ["optimize", "sphere", "-d", "2", "--evaluations", "50", "--save", "run"];
    succeeds(folder.path(), &saved);
    fails(folder.path(), &["resume", "run", "--jobs", "2"], &["--jobs is about the programs"]);
}

#[test]
fn elements_of_x_have_places_too() {
    let folder = folder();
    for command in ["sh bowl.sh {x[0]} {x[1]}", "sh bowl.sh {x}"] {
        let arguments =
            ["optimize", "--command", command, "-d", "2", "--bounds", "0,1", "--evaluations", "30"];
        let report = succeeds(folder.path(), &arguments);
        assert!(report.contains("command, 2 dimensions") && report.contains("at          (0."));
    }
}

#[test]
fn the_library_resumes_without_paying_again() {
    let folder = folder();
    let path = folder.path().join("run");
    let text = "sh -c 'echo {a} >> calls; echo {a}'";
    let command = |jobs| Command::new(text).unwrap().jobs(jobs).directory(folder.path());
    let problem = |jobs| Problem::from_command(&command(jobs), &[("a", 1.0, 2.0)]).unwrap();
    let search = Search::new(problem(1)).evaluations(20);
    let first = search.save(&path, Duration::from_secs(3600)).run().unwrap();
    assert_eq!(first.stopped, StopReason::Evaluations);
    let count = calls(folder.path()).len();
    let saved = Checkpoint::read(&path).unwrap().with_limits(|_, stop| stop.evaluations = Some(30));
    assert!(saved.is_of_command());
    let backend = flockwork::backend::Cpu::new(1).unwrap();
    // Its own, and another with other jobs.
    for problem in [saved.problem().unwrap(), problem(3)] {
        saved.resume(&problem, &backend, None, |_| {}).unwrap();
        assert!(problem.tally().unwrap().evaluated as usize > count);
    }
    let other = Command::new("sh -c 'echo {a}'").unwrap();
    let other = Problem::from_command(&other, &[("a", 1.0, 2.0)]).unwrap();
    let error = saved.resume(&other, &backend, None, |_| {}).unwrap_err();
    assert!(matches!(error, Error::Format { .. }), "{error}");
    let lines = problem(1).with_command(|command| command.protocol(Protocol::Lines));
    assert!(matches!(lines, Err(Error::Command { .. })));
}

#[test]
fn a_swarm_asks_for_many_points_at_once() {
    let problem = Problem::from_command_of_x(
        &Command::new("printf %s {x[0]}").unwrap().jobs(3),
        vec![1.0],
        vec![2.0],
    );
    let options = Options { particles: 150, iterations: 1, ..Options::default() };
    let outcome = Search::new(problem.unwrap()).options(options).run().unwrap();
    assert_eq!(outcome.evaluations, 300);
    assert!(outcome.value < 1.1);
}
