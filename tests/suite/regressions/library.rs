//! The library as used from another crate.

use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use flockwork::{
    backend::Cpu,
    objective::Sphere,
    swarm::{Checkpoint, Options, Precision, Preset, Problem, Search, minimize},
};

use crate::common::program::cargo;

/// The programs in Rust of README and of the book: those with a `main`.
fn programs_of_documents() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    let mut programs = Vec::new();
    for page in pages {
        let text = fs::read_to_string(page).unwrap();
        let blocks = text.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        programs.extend(blocks.filter(|block| block.contains("fn main()")).map(str::to_owned));
    }
    programs
}

/// More than README has room for.
const FURTHER: &str = r#"
use flockwork::swarm::{AskTell, Method, Mode, Polish, Precision, Problem, Search};

pub fn main() -> Result<(), flockwork::Error> {
    let bowl = |x: &[f64]| x.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>();
    let problem = || Problem::from_fn(vec![-3.0; 4], vec![3.0; 4], bowl);
    for precision in [Precision::F32, Precision::F64] {
        for mode in [Mode::Synchronous, Mode::Asynchronous] {
            let search = Search::new(problem()?).mode(mode).with(|o| o.precision = Some(precision));
            assert!(search.particles(40).iterations(200).run()?.value < 1e-3);
        }
    }
    for method in [Method::Adaptive, Method::Covariance] {
        let search = Search::new(problem()?).particles(40).iterations(20);
        assert!(search.polish(Polish::new(method)).run()?.value < 1e-3);
    }
    let elsewhere = Problem::elsewhere(vec![-3.0; 4], vec![3.0; 4])?;
    let mut search = AskTell::new(Search::new(elsewhere).particles(40).iterations(5))?;
    while let Some(points) = search.ask() {
        let values: Vec<f64> = points.rows().map(bowl).collect();
        search.tell(&values)?;
    }
    search.outcome()?;
    Ok(())
}
"#;

/// The packages that cargo would upload to a registry.
const PACKAGES: [&str; 4] =
    ["flockwork", "flockwork-device", "flockwork-build", "flockwork-archive"];

/// Those, unpacked in a folder.
fn packages(folder: &Path) -> [PathBuf; 4] {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let done = |command: &mut Command| {
        let out = command.output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    };
    let arguments = ["package", "--offline", "--no-verify", "--allow-dirty"];
    let packing = folder.join("packing");
    done(
        Command::new(env!("CARGO"))
            .args(arguments)
            .args(PACKAGES.map(|name| format!("--package={name}")))
            .current_dir(here)
            .env("CARGO_TARGET_DIR", &packing),
    );
    PACKAGES.map(|name| {
        let name = format!("{name}-{}", env!("CARGO_PKG_VERSION"));
        let unpacked = folder.join(&name);
        let _ = fs::remove_dir_all(&unpacked);
        // `-m`: the files in it are of one day, so cargo would not see that they have changed.
        let archive = packing.join(format!("package/{name}.crate"));
        done(Command::new("tar").arg("-xmzf").arg(archive).arg("-C").arg(folder));
        unpacked
    })
}

/// A crate outside the workspace. With the packages of a registry it compiles, with the default features, as
/// `cargo add` leaves it, and without. With this folder it runs in cargo's own profile for development: nothing is
/// optimised, and a thread's usual stack is 2 MiB.
#[test]
#[ignore = "builds all dependencies once more; .ci/run runs it"]
fn a_crate_of_ones_own_runs_unoptimised() {
    let folder = tempfile::tempdir().unwrap();
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut programs = programs_of_documents();
    assert!(programs.len() >= 7);
    programs.push(FURTHER.to_owned());
    let mut source = String::new();
    for (nth, program) in programs.iter().enumerate() {
        let program = program.replacen("\nfn main()", "\npub fn main()", 1);
        source += &format!("mod program_{nth} {{\n{program}\n}}\n");
    }
    source += "fn main() {\n";
    for nth in 0..programs.len() {
        source +=
            &format!("std::thread::spawn(|| program_{nth}::main().unwrap()).join().unwrap();\n");
    }
    source += "println!(\"all ran\");\n}\n";
    let target = here.join("target/outside");
    fs::create_dir_all(&target).unwrap();
    let [library, device, build, archive] = packages(&target);
    let patches = format!(
        "[patch.crates-io]\nflockwork-device = {{ path = {device:?} }}\n\
         flockwork-build = {{ path = {build:?} }}\nflockwork-archive = {{ path = {archive:?} }}\n"
    );
    let manifest = |library: &Path, features: &str, patches: &str| {
        format!(
            "[package]\nname = \"outside\"\nedition = \"2024\"\n\
             [dependencies]\nflockwork = {{ path = {library:?}{features} }}\n{patches}[workspace]\n"
        )
    };
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("src/main.rs"), source).unwrap();
    // The versions already present here.
    fs::copy(here.join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
    let few = ", default-features = false";
    // As the crates that `flockwork new` writes, so that it is compiled once for all of them.
    let cuda = ", default-features = false, features = [\"cuda\"]";
    for (library, features, patches, command, ends) in [
        (&library, "", &*patches, "check", ""),
        (&library, few, &patches, "check", ""),
        (&here, cuda, "", "run", "all ran\n"),
    ] {
        fs::write(folder.path().join("Cargo.toml"), manifest(library, features, patches)).unwrap();
        let out = cargo(folder.path(), &[command, "--quiet"])
            .env_remove("CUDA_LIBRARY_PATH")
            .output()
            .unwrap();
        let (said, complaint) =
            (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert!(out.status.success() && said.ends_with(ends), "{command}: {said}{complaint}");
    }
    let lock = fs::read_to_string(folder.path().join("Cargo.lock")).unwrap();
    assert!(!lock.contains("\"cust"), "cust needs a CUDA toolkit");
}

/// In f32 a bowl on top of 1e8 is flat: functions that compute in f64 are searched in f64.
#[test]
fn closures_are_searched_in_f64() {
    let bowl = |x: &[f64]| 1e8 + x[0] * x[0] + x[1] * x[1];
    let problem = || Problem::from_fn(vec![-5.0; 2], vec![5.0; 2], bowl).unwrap();
    let near = |position: &[f64], who: &str| {
        assert!(position.iter().all(|x| x.abs() < 1e-3), "{who}: {position:?}");
    };
    let search = Search::new(problem());
    near(&search.clone().run().unwrap().position, "Search");
    let options = Options::default();
    let cpu = Cpu::new(0).unwrap();
    let outcome = minimize(&problem(), &options, &cpu, |_| ControlFlow::Continue(())).unwrap();
    near(&outcome.position, "minimize");
    let elsewhere = Problem::elsewhere(vec![-5.0; 2], vec![5.0; 2]).unwrap();
    let told = Search::new(elsewhere).options(options.clone()).run_with(|points, values| {
        points.rows().zip(values).for_each(|(x, value)| *value = bowl(x));
    });
    near(&told.unwrap().position, "run_with");
    // f32 is available on request, and the library's own functions support it.
    let single = search.with(|options| options.precision = Some(Precision::F32)).run().unwrap();
    assert_eq!(single.value, 1e8);
    assert!(single.position.iter().any(|x| x.abs() > 1e-2), "{:?}", single.position);
    let precision = |problem: &Problem| options.settled_for(problem).precision;
    assert_eq!(precision(&problem()), Some(Precision::F64));
    assert_eq!(precision(&Problem::new(Sphere, 2).unwrap()), Some(Precision::F32));
}

/// A file cannot hold a closure: it is stated again, and checked by its name.
#[test]
fn a_saved_closure_is_told_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.flockwork");
    let stated = |name: &str, dims: usize, side: f64| {
        let bowl = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
        Problem::from_fn(vec![-side; dims], vec![side; dims], bowl).unwrap().called(name)
    };
    // The name of a built-in function does not turn a closure into it.
    let search = Search::new(stated("sphere", 2, 5.0)).particles(20).iterations(10);
    search.save(&path, Duration::from_secs(60)).run().unwrap();
    let saved = Checkpoint::read(&path).unwrap().with_limits(|iterations, _| *iterations = 20);
    let said = saved.problem().unwrap_err().to_string();
    assert!(said.contains("\"sphere\"") && said.contains("state the problem again"), "{said}");
    let resume = |problem: &Problem| {
        saved.resume(problem, &Cpu::new(1).unwrap(), None, |_| ControlFlow::Continue(()))
    };
    let built_in = Problem::new(Sphere, 2).unwrap();
    let built_in = built_in.with_bounds(vec![-5.0; 2], vec![5.0; 2]).unwrap();
    for other in
        [stated("bowl", 2, 5.0), stated("sphere", 3, 5.0), stated("sphere", 2, 4.0), built_in]
    {
        let said = resume(&other).unwrap_err().to_string();
        assert!(said.contains("\"sphere\" in 2 dimensions"), "{said}");
    }
    assert_eq!(resume(&stated("sphere", 2, 5.0)).unwrap().iterations, 20);
    // A built-in function is found again whatever it is called.
    let search = Search::new(Problem::new(Sphere, 2).unwrap().called("bowl"));
    let search = search.particles(20).iterations(10).save(&path, Duration::from_secs(60));
    search.run().unwrap();
    let saved = Checkpoint::read(&path).unwrap();
    assert_eq!(saved.problem().unwrap().name(), "bowl");
}

/// An infinitely good value is reported as such.
#[test]
fn an_infinitely_good_value_is_an_error_of_its_own() {
    let pole = || Problem::from_fn(vec![-1.0], vec![1.0], |x| x[0].abs().ln().min(x[0] * 1e300));
    let search = |problem: Problem| Search::new(problem).particles(20).iterations(5).run();
    let endless = |x: &[f64]| if x[0] < 0.0 { f64::NEG_INFINITY } else { x[0] };
    let problem = || Problem::from_fn(vec![-1.0], vec![1.0], endless).unwrap();
    let said = search(problem()).unwrap_err().to_string();
    assert!(said.contains("-inf in f64") && said.contains("finite"), "{said}");
    let grown = Problem::from_fn(vec![-1.0], vec![1.0], move |x| -endless(x)).unwrap();
    let said = search(grown.maximised()).unwrap_err().to_string();
    assert!(said.contains(" inf in f64"), "{said}");
    // Finite in f64 only.
    assert!(search(pole().unwrap()).is_ok());
    let single = Search::new(pole().unwrap()).particles(20).iterations(5);
    let single = single.with(|options| options.precision = Some(Precision::F32));
    assert!(single.run().unwrap_err().to_string().contains("-inf in f32"));
}

/// Nothing in a preset has the unit of the values: in units of 2^20, which add no rounding, the
/// same points are tried, and the values are the same in these units.
#[test]
fn a_function_in_other_units_is_searched_in_the_same_way() {
    let unit = f64::powi(2.0, -20);
    let search = |function: fn(&[f64]) -> f64, unit: f64| {
        let problem =
            Problem::from_fn(vec![-5.0; 3], vec![4.0; 3], move |x| unit * function(x)).unwrap();
        let search = Search::new(problem).options(Options::preset(Preset::Thorough));
        search.evaluations(12_000).run().unwrap()
    };
    // A valley; many minima; and a minimum at a side of the box, beyond which the function
    // continues to fall.
    let functions: [fn(&[f64]) -> f64; 3] = [
        |x| x.windows(2).map(|w| 100.0 * (w[1] - w[0] * w[0]).powi(2) + (1.0 - w[0]).powi(2)).sum(),
        |x| x.iter().map(|x| x * x + 10.0 - 10.0 * (2.0 * std::f64::consts::PI * x).cos()).sum(),
        |x| (x[0] - 6.0).powi(2) + (x[0] + x[1]).powi(2) + 1e3 * (x[2] - 0.3).powi(2),
    ];
    for (nth, function) in functions.into_iter().enumerate() {
        let (usual, other) = (search(function, 1.0), search(function, unit));
        assert_eq!(usual.position, other.position, "{nth}");
        assert_eq!(usual.value * unit, other.value, "{nth}");
        assert_eq!(
            (usual.evaluations, usual.iterations, usual.restarts),
            (other.evaluations, other.iterations, other.restarts),
            "{nth}"
        );
        assert!(usual.restarts > 0, "{nth}");
    }
}
