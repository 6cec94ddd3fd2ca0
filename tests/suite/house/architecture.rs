//! Checks that the imports in `host/` agree with the layers listed in docs/architecture/layers.md.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// The modules of each line of the list, from top to bottom.
fn layers() -> Vec<Vec<String>> {
    let document = read(&root().join("docs/architecture/layers.md"));
    let (_, after) = document.split_once("```layers\n").expect("a list of layers");
    let (list, _) = after.split_once("```").expect("an end of the list");
    list.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// A file's code without comments, strings that contain `//`, and the tests at its end, which may
/// import anything.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod ").next().expect("the first piece");
    text.lines().map(|line| line.split("//").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// The first names after `crate::` and `flockwork::`: `io` and `swarm` for `crate::{io::Table,
/// swarm}`. Types and functions of the crate root are not included.
fn imported(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for root in ["crate::", "flockwork::"] {
        for (at, _) in code.match_indices(root) {
            let inside_a_name =
                code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
            if inside_a_name {
                continue;
            }
            let rest = &code[at + root.len()..];
            match rest.strip_prefix('{') {
                None => names.push(name(rest)),
                Some(list) => names.extend(items(list).iter().map(|item| name(item))),
            }
        }
    }
    names.retain(|name| name.starts_with(|c: char| c.is_lowercase()));
    names
}

/// The items of a brace list, given the text after the opening brace.
fn items(list: &str) -> Vec<String> {
    let (mut depth, mut found) = (0, vec![String::new()]);
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => found.push(String::new()),
            _ => {}
        }
        found.last_mut().expect("one at least").push(c);
    }
    found
}

fn name(path: &str) -> String {
    let path = path.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
    path.chars().take_while(|&c| c.is_alphanumeric() || c == '_').collect()
}

#[test]
fn nothing_points_back() {
    let layers = layers();
    let depth: BTreeMap<&str, usize> = layers
        .iter()
        .enumerate()
        .flat_map(|(depth, names)| names.iter().map(move |name| (&**name, depth)))
        .collect();
    let host = root().join("host");
    let mut files = Vec::new();
    sources(&host, &mut files);
    let (mut faults, mut compared) = (Vec::new(), 0);
    for file in files {
        let inside = file.strip_prefix(&host).unwrap();
        let first = inside.iter().next().unwrap().to_str().unwrap();
        let module = first.trim_end_matches(".rs");
        if matches!(module, "lib" | "main") {
            continue;
        }
        let Some(own) = depth.get(module) else {
            faults.push(format!("host/{module} is in no line of the list"));
            continue;
        };
        for other in imported(&code(&read(&file))) {
            // Names that are not in host/ belong to the device crate.
            let Some(others) = depth.get(&*other) else { continue };
            compared += 1;
            if other != module && others <= own {
                faults.push(format!("{} knows {other}, which is not below it", inside.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(compared > 200, "only {compared} imports were found");
}

#[test]
fn imports_are_read() {
    let code = code(
        "use crate::{\n    Error, backend::{Cpu, machine::{Queue}},\n    swarm,\n}; // crate::fit\n\
         fn f() { crate::plot::draw(); Acrate::no(); flockwork_device::math::x(); }\n\
         #[cfg(test)]\nmod tests { use crate::cli; }",
    );
    assert_eq!(imported(&code), ["backend", "swarm", "plot"]);
}
