//! The compiled GPU kernels inside the program are those of the registry, each in its own module,
//! and small.

use std::collections::{BTreeMap, BTreeSet};

use flockwork::{kernel_images, registry};

/// Limit for the whole PTX in the program and in the repository. 29 MiB are kernels of swarms, of
/// which each function and each template of formulas has seven in each precision, 4 MiB those of
/// searches, one for each of these, 5 MiB those of many fits, one for each model; the others are those of
/// shortest paths and fits.
const MOST_BYTES: usize = 45 << 20;
/// Slightly more than today's largest kernel: the driver compiles it when a run starts.
const MOST_BYTES_OF_ONE: usize = 320 << 10;

#[test]
fn every_target_has_exactly_the_kernels_of_the_registry() {
    let mut registered = BTreeSet::new();
    registry::for_each_kernel(|name| assert!(registered.insert(name.to_string()), "{name} twice"));
    assert!(registered.contains("swarm_step_rastrigin_f32"));
    assert!(!kernel_images().is_empty());
    for image in kernel_images() {
        let names: BTreeSet<String> = image.names().map(str::to_owned).collect();
        assert_eq!(names, registered, "sm_{}", image.target());
        assert_eq!(names.len(), image.names().count(), "a name twice in sm_{}", image.target());
    }
    assert!(kernel_images().is_sorted_by_key(|image| image.target()));
}

#[test]
fn every_module_has_one_kernel_as_it_states_itself_and_is_small() {
    let mut stated = BTreeMap::new();
    registry::for_each_facts(|facts| {
        stated.insert(facts.name.to_string(), facts.launch);
    });
    let mut total = 0;
    for image in kernel_images() {
        for name in image.names() {
            let text = image.text(name).expect("it is there");
            let what = format!("{name} for sm_{}", image.target());
            let number = |directive: &str| -> Option<u32> {
                let line = text.lines().find_map(|line| line.strip_prefix(directive))?;
                let end = line.find(|c: char| !c.is_ascii_digit()).unwrap_or(line.len());
                line[..end].parse().ok()
            };
            assert_eq!(text.matches(".entry ").count(), 1, "{what}");
            assert!(text.contains(&format!(".entry {name}(")), "{what}");
            assert!(!text.contains("facts_"), "{what}");
            let launch = &stated[name];
            // Some kernels are for later GPUs than the image.
            let target = launch.requires.map_or(0, |requires| requires.target).max(image.target());
            assert_eq!(number(".target sm_"), Some(target), "{what}");
            assert_eq!(number(".maxntid "), launch.threads, "{what}");
            assert_eq!(number(".minnctapersm "), launch.blocks, "{what}");
            assert!(text.len() < MOST_BYTES_OF_ONE, "{what} has {} bytes", text.len());
            total += text.len();
        }
    }
    println!("{total} bytes of PTX");
    assert!(total < MOST_BYTES, "{total} bytes of PTX");
}
