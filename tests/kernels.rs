//! The compiled GPU kernels inside the program are those of the registry, each in its own module,
//! and small.
#![cfg(feature = "cuda")]

// Its tests use the rest.
#[allow(dead_code, missing_docs)]
#[path = "../build/ptx.rs"]
mod ptx;

use std::collections::BTreeSet;

use flockwork::{kernel_images, registry};

/// Limit for the whole PTX in the program and in the repository. 23 MiB are kernels of swarms, of
/// which each function has seven in each precision; the others are those of shortest paths and
/// fits.
const MOST_BYTES: usize = 30 << 20;
/// Slightly more than today's largest kernel: the driver compiles it when a run starts.
const MOST_BYTES_OF_ONE: usize = 256 << 10;

#[test]
fn every_target_has_exactly_the_kernels_of_the_registry() {
    let mut registered = BTreeSet::new();
    registry::for_each_kernel(|name| assert!(registered.insert(name.to_string()), "{name} twice"));
    assert!(registered.contains("swarm_step_rastrigin_f32"));
    assert!(!kernel_images().is_empty());
    for image in kernel_images() {
        let names: BTreeSet<String> =
            image.entries.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(names, registered, "sm_{}", image.target);
        assert_eq!(names.len(), image.entries.len(), "a name twice in sm_{}", image.target);
    }
    assert!(kernel_images().is_sorted_by_key(|image| image.target));
}

#[test]
fn every_module_has_one_kernel_and_is_small() {
    let mut total = 0;
    for image in kernel_images() {
        for (name, text) in image.entries {
            let what = format!("{name} for sm_{}", image.target);
            assert_eq!(text.matches(".entry ").count(), 1, "{what}");
            assert!(text.contains(&format!(".entry {name}(")), "{what}");
            // Some kernels are for later GPUs than the image: `NEWER` in build/ptx.rs.
            let target =
                text.lines().find_map(|line| line.strip_prefix(".target sm_")).expect(&what);
            let newer = name.ends_with("_u16") || name.starts_with("fit_matrix_");
            assert_eq!(
                target,
                if newer { "90".to_owned() } else { image.target.to_string() },
                "{what}"
            );
            assert!(text.len() < MOST_BYTES_OF_ONE, "{what} has {} bytes", text.len());
            let again = ptx::modules(text).unwrap();
            assert_eq!(again.len(), 1, "{what}");
            assert_eq!(again[0].entry, *name);
            total += text.len();
        }
    }
    println!("{total} bytes of PTX");
    assert!(total < MOST_BYTES, "{total} bytes of PTX");
}
