//! Every example runs and finds what it claims.

#[path = "../../../examples/08_command.rs"]
mod command;
#[path = "../../../examples/07_constraints.rs"]
mod constraints;
#[path = "../../../examples/01_first_run.rs"]
mod first_run;
#[path = "../../../examples/06_formula.rs"]
mod formula;
#[path = "../../../examples/02_own_closure.rs"]
mod own_closure;
#[path = "../../../examples/05_own_objective.rs"]
mod own_objective;
#[path = "../../../examples/03_rules_and_stopping.rs"]
mod rules_and_stopping;
#[path = "../../../examples/04_save_and_resume.rs"]
mod save_and_resume;

macro_rules! run {
    ($($example:ident,)*) => { $(
        #[test]
        fn $example() {
            $example::main().unwrap();
        }
    )* };
}
run! { first_run, own_closure, rules_and_stopping, save_and_resume, own_objective, formula, constraints, command, }

/// No example is missing here.
#[test]
fn all_are_listed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    // `examples/ripple` is a crate with tests of its own.
    let count = std::fs::read_dir(folder).unwrap().count();
    assert_eq!(count, 9);
}
