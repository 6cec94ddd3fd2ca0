//! Kernels are packed and found again.

use flockwork_archive::Archive;
use flockwork_build::{
    packing,
    ptx::{Facts, Module},
};

/// Kernels of two kinds, with more text than one chunk takes.
fn modules() -> Vec<Module> {
    let module = |entry: &str, family: &str, precision: &str, bytes: usize| Module {
        entry: entry.to_owned(),
        text: format!("// {entry}\n").repeat(bytes / entry.len()),
        facts: Facts {
            family: family.to_owned(),
            precision: precision.to_owned(),
            threads: Some(256),
            requires: Some((90, (8, 0))),
            ..Facts::default()
        },
    };
    let tenth = packing::MOST_TEXT / 10;
    vec![
        module("swarm_step_b_f64", "swarm_step", "f64", 7 * tenth),
        module("swarm_step_b_f32", "swarm_step", "f32", 3 * tenth),
        module("swarm_step_a_f32", "swarm_step", "f32", 5 * tenth),
        module("paths_outer_f32", "paths_outer", "f32", 1000),
        module("swarm_step_a", "swarm_step", "", 10),
    ]
}

#[test]
fn an_archive_gives_back_what_was_put_in_it() {
    let bytes = packing::write(modules()).unwrap();
    assert!(bytes.len() < 10_000, "{} bytes", bytes.len());
    let archive = Archive::read(&bytes).unwrap();
    assert_eq!(archive.kernels.len(), 5);
    assert_eq!(archive.chunks.len(), 3, "paths, what fits of swarms, the rest");
    for module in modules() {
        let kernel = archive.kernels.iter().find(|kernel| kernel.name == module.entry).unwrap();
        assert_eq!(Facts::from_line(&kernel.facts).unwrap(), module.facts);
        assert_eq!(archive.text(&module.entry), Some(Ok(module.text)));
    }
    // Names count as a whole.
    assert_eq!(archive.text("swarm_step"), None);
    assert_eq!(archive.text("swarm_step_a_f3"), None);
}

#[test]
fn what_is_not_wanted_is_left_out_with_its_chunk() {
    let bytes = packing::write(modules()).unwrap();
    let all = Archive::read(&bytes).unwrap();
    let fewer =
        packing::only(&all, |name| name != "paths_outer_f32" && name != "swarm_step_a").unwrap();
    let archive = Archive::read(&fewer).unwrap();
    assert_eq!(archive.kernels.len(), 3);
    assert_eq!(archive.chunks.len(), 2);
    assert_eq!(archive.text("paths_outer_f32"), None);
    for name in ["swarm_step_a_f32", "swarm_step_b_f32", "swarm_step_b_f64"] {
        assert_eq!(archive.text(name), all.text(name), "{name}");
    }
}

#[test]
fn a_damaged_archive_is_refused() {
    let bytes = packing::write(modules()).unwrap();
    for end in [0, 7, 8, 11, 40, bytes.len() - 1] {
        assert!(Archive::read(&bytes[..end]).is_err(), "cut off after {end} bytes");
    }
    for at in 0..12 {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        assert!(Archive::read(&damaged).is_err(), "byte {at}");
    }
    assert!(Facts::from_line("swarm_step\ta\tf32\t1\t2").is_err());
}
