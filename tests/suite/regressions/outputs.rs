//! Signals, output files, and messages of the program.

/// Starts an endless run, sends it signals once it has saved, and returns how it ended.
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
    let mut program = crate::common::program::program();
    // If the tests run under `nohup`, its hangup would stay ignored, as it should.
    // SAFETY: `signal` may be called between fork and exec, and these signals have a default
    // action.
    unsafe {
        use std::os::unix::process::CommandExt;
        program.pre_exec(|| {
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
    let child = program
        .args(line.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The second line of the log is the initial sample; with the next one the run has iterated, and
    // listens.
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
        (&["-INT"][..], &[130][..]),
        (&["-TERM"], &[143]),
        (&["-HUP"], &[129]),
        (&["-TERM", "-TERM"], &[143]),
        // Two that are pending at once may be taken in either order.
        (&["-HUP", "-TERM"], &[129, 143]),
    ] {
        let (output, saved) = signalled(signals);
        let errors = crate::common::program::text(&output.stderr);
        let code = output.status.code().unwrap_or_default();
        assert!(status.contains(&code), "{signals:?}: {code}: {errors}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["result"]["stopped"], "interrupted", "{signals:?}");
        let last = report["result"]["history"].as_array().unwrap().last().unwrap();
        assert_eq!(last["iteration"], saved, "{signals:?}");
        assert!(saved > 0);
    }
}

#[test]
fn an_output_is_no_input_and_no_other_output_and_can_be_written() {
    use crate::common::program::fails;

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

#[test]
fn inputs_of_a_search_and_names_of_another_format_are_left_alone() {
    use crate::common::program::{fails, succeeds};

    let folder = tempfile::tempdir().unwrap();
    let name = |file: &str| folder.path().join(file).to_str().unwrap().to_owned();
    let (points, table, saved) = (name("st.txt"), name("q_2_8.dat"), name("run.fw"));
    std::fs::write(&points, "1 2\n3 4\n").unwrap();
    succeeds(&format!("generate calibration --dims 2 --rows 8 {table}"));
    let small = "-p 20 -i 5 --backend cpu";
    let calibration = format!("optimize calibration --data {table} {small}");
    succeeds(&format!("{calibration} --save {saved}"));
    let kept = [&points, &table, &saved].map(|file| std::fs::read(file).unwrap());
    let again = name("./q_2_8.dat");
    fails(&format!("{calibration} --log {again}"), &["--data and --log name the same file"]);
    fails(&format!("{calibration} --save {table}"), &["--data and --save name the same file"]);
    fails(&format!("resume {saved} --log {table}"), &["--data and --log name the same file"]);
    fails(
        &format!("resume {saved} --log {}", name("./run.fw")),
        &["--log is", "the saved run itself"],
    );
    fails(
        &format!("optimize sphere --start {points} {small} --log {}", name("./st.txt")),
        &["--start and --log name the same file"],
    );
    for (line, said) in [
        (format!("optimize sphere {small} --log {}", name("l.csv")), "lines of JSON"),
        (format!("optimize sphere {small} --save {}", name("s.json")), "no .json file"),
        (format!("optimize sphere {small} --log -"), "--log is -"),
        (format!("generate graph -n 4 {}", name("g.json")), ".gr or .mtx"),
        (format!("generate calibration --dims 2 --rows 8 {}", name("t.csv")), "binary"),
        (format!("generate graph -n 4 {}/no/g.gr", name("")), "there is no folder"),
    ] {
        fails(&line, &[said]);
    }
    let graph = name("g.gr");
    succeeds(&format!("generate graph -n 4 {graph}"));
    fails(&format!("paths {graph} --distances {}", name("d.csv")), &["an .npy file is written"]);
    succeeds(&format!("generate graph -n 4 {}", name("G.CSV")));
    assert!(std::fs::read_to_string(name("G.CSV")).unwrap().starts_with("from,to,weight"));
    for (file, before) in [&points, &table, &saved].into_iter().zip(kept) {
        assert_eq!(std::fs::read(file).unwrap(), before, "{file}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 5);
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_no_output_and_special_files_are() {
    use crate::common::program::{fails, succeeds};

    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (pipe, graph) = (pipe.display(), folder.path().join("g.gr"));
    std::fs::write(&graph, "p sp 2 1\na 1 2 7\n").unwrap();
    let graph = graph.display();
    let small = "optimize sphere -p 20 -i 5 --backend cpu";
    fails(&format!("{small} --log {pipe}"), &["named pipe"]);
    fails(&format!("{small} --save {pipe}"), &["not a regular file"]);
    fails(&format!("paths {graph} --distances {pipe}"), &["named pipe"]);
    fails(&format!("generate graph -n 4 {pipe}"), &["named pipe"]);
    succeeds(&format!("{small} --log /dev/null"));
    succeeds(&format!("paths {graph} --distances /dev/null --predecessors /dev/null"));
    succeeds("generate graph -n 4 /dev/null");
}

#[test]
fn counts_are_written_as_people_write_them() {
    use crate::common::program::{fails, json};

    let few = "optimize sphere --backend cpu";
    for (given, particles, iterations) in
        [("-p 1e3 -i 1_0", 1000, 10), ("-p 2.5e1 -i +3", 25, 3), ("-p 0_4_0 -i 30e-1", 40, 3)]
    {
        if given.contains("e-") {
            fails(&format!("{few} {given}"), &["--iterations", "a whole number from 0"]);
            continue;
        }
        let options = &json(&format!("{few} {given} --evaluations 1_000_000"))["options"];
        assert_eq!(options["particles"], particles, "{given}");
        assert_eq!(options["iterations"], iterations, "{given}");
        assert_eq!(options["stop"]["evaluations"], 1_000_000, "{given}");
    }
    for wrong in ["1.5", "1e-1", "e3", "1e", "_1", "1__0", "x", "1e3.5", "1,000"] {
        fails(&format!("{few} -p {wrong}"), &["--particles", "a whole number", "1e6"]);
        fails(&format!("paths no.gr --vertices {wrong}"), &["--vertices", "a whole number"]);
    }
    for large in ["4294967296", "1e10", "1e99999999", "99999999999999999999999"] {
        fails(&format!("{few} -p {large}"), &["too large: at most 4294967295"]);
    }
    fails(&format!("{few} --evaluations 1.5"), &["whole number", "`none`"]);
    fails("fit no.csv -m linear --starts 0", &["--starts", "from 1"]);
    assert_eq!(
        json(&format!("{few} -p 5 -i 1 -s 18446744073709551615"))["options"]["seed"],
        u64::MAX
    );
}

#[test]
fn sizes_beyond_reason_get_a_sentence() {
    use crate::common::program::{fails, json};

    fails("functions sphere -d 4294967295", &["up to 1000000 dimensions"]);
    fails("functions sphere -d 4294967295 --json", &["up to 1000000 dimensions"]);
    let few = "optimize sphere -p 20 -i 3 --backend cpu";
    for named in ["4294967295", "0,4294967295", "1-4294967295"] {
        fails(&format!("{few} --integer {named}"), &["dimension 4294967295", "0 to 1"]);
    }
    json(&format!("{few} --integer all"));
    let few = "optimize lennard_jones -d 6 -p 50 -i 5 --backend cpu";
    assert!(json(few)["known_optimum"].is_number());
    assert!(json(&format!("{few} --bounds 0,0.5"))["known_optimum"].is_null());
}

#[test]
fn a_saved_fit_says_how_to_go_on() {
    use crate::common::program::{fails, succeeds};

    let folder = tempfile::tempdir().unwrap();
    let name = |file: &str| folder.path().join(file).to_str().unwrap().to_owned();
    let (data, saved) = (name("d.txt"), name("fit.fw"));
    std::fs::write(&data, "1 2\n2 4.5\n3 5.5\n4 8.25\n5 10\n6 11\n").unwrap();
    let fit = format!("fit {data} -m exponentials --backend cpu -p 30");
    let report = succeeds(&format!("{fit} -i 5 --save {saved}"));
    assert!(report.contains(&format!("--resume {saved}")), "{report}");
    succeeds(&format!("fit {data} -m exponentials --backend cpu -i 8 --resume {saved}"));
    let expected = ["saved fit of the model exponentials", "--model exponentials --resume"];
    fails(&format!("resume {saved}"), &expected);
    fails(
        &format!("{fit} --terms 2 --bounds 0,1"),
        &["amplitude1, rate1, amplitude2, rate2", "needs 4"],
    );
    fails(
        &format!("fit {data} -m exponentials --x 1 --x 1"),
        &["takes 1 argument column(s)", "--x"],
    );
}

#[test]
fn a_long_word_is_not_repeated_whole() {
    let word = "x".repeat(5000);
    for line in
        [format!("optimize sphere -p {word}"), format!("fit no.csv -m {word} --size {word}")]
    {
        let errors = crate::common::program::text(&crate::common::program::run(&line).stderr);
        assert!(errors.starts_with("error: ") && errors.len() < 1500, "{}", errors.len());
    }
}

#[test]
fn contradictions_are_refused() {
    use crate::common::program::{fails, json};

    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("d.txt");
    std::fs::write(&data, "1 2\n2 4.5\n3 5.5\n4 8.25\n5 10\n6 11\n").unwrap();
    let fit = format!("fit {} -m exponentials --backend cpu", data.display());
    for (options, expected) in [
        ("--fix rate1=1 --fix rate1=2", ["--fix of rate1", "1.0", "2.0"]),
        (
            "--bounds rate1=0,1 --bounds rate1=0,2",
            ["--bounds of rate1", "0.0 to 1.0", "0.0 to 2.0"],
        ),
        (
            "--bounds 0,9 --bounds 0,1 --bounds rate1=0,2",
            ["--bounds of rate1", "0.0 to 1.0", "0.0 to 2.0"],
        ),
        ("--fix rate1=1 --bounds rate1=2,3", ["rate1", "1.0", "2.0 to 3.0"]),
        ("--terms 2 --size terms=3", ["size terms", "2", "3"]),
        ("--size terms=1 --size terms=2", ["size terms", "1", "2"]),
    ] {
        fails(&format!("{fit} {options}"), &expected);
    }
    json(&format!("{fit} --fix rate1=1 --fix rate1=1 --bounds rate1=0,3 --terms 1 --size terms=1"));
}

#[test]
fn options_without_effect_are_refused() {
    use crate::common::program::fails;

    fails("optimize sphere --save-every 5", &["required", "--save <FILE>"]);
    fails("fit no.csv -m linear --save-every 5", &["required", "--save <FILE>", "--resume <FILE>"]);
    fails("resume no.fw --no-save --save-every 5", &["--no-save", "--save-every"]);
    fails("resume no.fw --save-every 5", &["no.fw: "]);
    fails("fit no.csv -m linear --resume no.fw --save-every 5", &["no.csv: "]);
    for threads in ["33", "0", "1056"] {
        let line = format!("optimize sphere --backend cpu --block-threads {threads}");
        fails(&line, &["--block-threads", "a multiple of 32 from 32 to 1024"]);
    }
    fails("optimize sphere --polish newton", &["pattern, adaptive, line, covariance, none"]);
    fails("optimize sphere --max-velocity 0", &["a positive number, or `none`"]);
}

#[test]
fn what_is_shown_of_a_fit_is_as_fine_as_its_errors() {
    use crate::common::program::{json, succeeds};

    let folder = tempfile::tempdir().unwrap();
    let name = |file: &str| folder.path().join(file).to_str().unwrap().to_owned();
    let (data, picture) = (name("d.csv"), name("fit.svg"));
    let row = |k: u32| {
        let t = (f64::from(k) - 14.3) / 6.0;
        let noise = f64::from(k * 37 % 11) / 100.0;
        format!("{},{}\n", 1_703_400_000 + 1000 * k, 3.0 * (-t * t).exp() + noise)
    };
    std::fs::write(&data, (0..30).map(row).collect::<String>()).unwrap();
    let fit = format!("fit {data} -m gaussians --backend cpu --confidence 0.95");
    let exact = &json(&fit)["result"]["parameters"];
    let text = succeeds(&format!("{fit} --plot {picture}"));
    let picture = std::fs::read_to_string(&picture).unwrap();
    let mut compared = 0;
    for parameter in exact.as_array().unwrap() {
        let name = parameter["name"].as_str().unwrap();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let error = parameter["error"].as_f64().unwrap();
        let near = |word: &str, exact: &serde_json::Value| {
            let rounding = (word.parse::<f64>().unwrap() - exact.as_f64().unwrap()).abs();
            assert!(rounding < 0.01 * error, "{line}: {word} is {rounding} off");
        };
        near(words[1], &parameter["value"]);
        near(words[6], &parameter["confidence"][0]);
        near(words[8], &parameter["confidence"][1]);
        let drawn = picture.split_once(&format!("{name} ")).unwrap().1;
        near(drawn.split([',', '\n', '<']).next().unwrap().trim(), &parameter["value"]);
        compared += usize::from(name == "centre1");
    }
    assert_eq!(compared, 1);
}

#[cfg(target_os = "linux")]
#[test]
fn what_could_not_be_written_is_not_called_written() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("d.txt");
    std::fs::write(&data, "1 2\n2 4.5\n3 5.5\n4 8.25\n5 10\n6 11\n").unwrap();
    let fit = format!("fit {} -m power_law --backend cpu", data.display());
    for line in [&*fit, "optimize sphere -p 20 -i 5 --backend cpu"] {
        let output = crate::common::program::run(&format!("{line} --log /dev/full"));
        let (text, errors) = (
            crate::common::program::text(&output.stdout),
            crate::common::program::text(&output.stderr),
        );
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains("/dev/full"), "{errors}");
        assert!(text.contains("back end") && !text.contains("written"), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_beyond_the_size_limit_is_an_error_that_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("run.fw");
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -f 8 && exec \"$0\" \"$@\""])
        .arg(crate::common::program::program().get_program())
        .args("optimize rastrigin -d 20 -p 2000 -i 3 --backend cpu --save".split_whitespace())
        .arg(&saved)
        .output()
        .unwrap();
    let errors = crate::common::program::text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.starts_with("error: ") && errors.contains("run.fw"), "{errors}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_best_outside_the_box_is_said_to_be_there() {
    use crate::common::program::succeeds;

    let line = "optimize sum_of_sines -p 200 -i 300 --backend cpu";
    let text = succeeds(&format!("{line} --edge none"));
    assert!(text.contains("(known minimum in the box -2.43"), "{text}");
    assert!(text.contains("outside     the box: x") && text.contains("3 and 13"), "{text}");
    let text = succeeds(line);
    assert!(text.contains("(known minimum -2.43") && !text.contains("outside"), "{text}");
}

#[test]
fn the_list_of_models_says_what_usual_bounds_are_for() {
    let list = crate::common::program::succeeds("fit --list");
    let head = list.split_once("\n\n").unwrap().0;
    assert!(
        head.contains("are solved for") && head.contains("are widened if a fit ends at one"),
        "{head}"
    );
}
