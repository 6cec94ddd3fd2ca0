//! How much memory is available.
//!
//! Linux grants memory that it does not have and kills the program once it uses it. So every amount
//! that depends on user input is compared with the available memory before it is allocated.

use std::fs;

use crate::{Error, Result};

/// Returns an error if `needed` bytes are more than is available now.
pub fn check(needed: u128) -> Result<()> {
    let available = available();
    let most = available.map_or(isize::MAX as u128, u128::from).min(isize::MAX as u128);
    if needed > most { Err(Error::Memory { needed, available }) } else { Ok(()) }
}

/// Bytes available now without swapping; `None` if the system does not tell.
fn available() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| of_machine(&text));
    let group = "/sys/fs/cgroup";
    let number = |file: &str| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    // A container's limit, in either version of control groups; "max" does not parse as a number.
    let limits = [
        (format!("{group}/memory.max"), format!("{group}/memory.current"), ""),
        (
            format!("{group}/memory/memory.limit_in_bytes"),
            format!("{group}/memory/memory.usage_in_bytes"),
            "memory/",
        ),
    ];
    let of_group = limits.iter().filter_map(|(limit, used, folder)| {
        let statistics = fs::read_to_string(format!("{group}/{folder}memory.stat"));
        let reclaimable = statistics.map_or(0, |text| file_pages(&text));
        Some(number(limit)?.saturating_sub(number(used)?.saturating_sub(reclaimable)))
    });
    machine.into_iter().chain(of_group).min()
}

/// Available bytes, from the text of `/proc/meminfo`.
fn of_machine(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Bytes of a control group's usage that are cached files, which are given up on demand.
fn file_pages(text: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix("inactive_file "));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

/// A vector of zeros, or an error that tells the size that could not be allocated.
pub fn zeroed<E: bytemuck::Zeroable + Clone>(length: usize) -> Result<Vec<E>> {
    // Pages that nobody touches cost no time.
    bytemuck::allocation::try_zeroed_vec(length).map_err(|()| Error::Memory {
        needed: length as u128 * size_of::<E>() as u128,
        available: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_linux_says() {
        let text = "MemTotal:       24689764 kB\nMemFree:  1 kB\nMemAvailable:   12345 kB\n";
        assert_eq!(of_machine(text), Some(12345 * 1024));
        assert_eq!(of_machine("MemTotal: 5 kB\n"), None);
        assert_eq!(file_pages("anon 5\ninactive_file 4096\nactive_file 7\n"), 4096);
        assert_eq!(file_pages(""), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn more_than_there_is_is_refused_with_both_figures() {
        let there = available().expect("Linux says it");
        check(1 << 20).unwrap();
        let Err(Error::Memory { needed, available: Some(said) }) = check(u128::from(there) * 4)
        else {
            panic!("four times the available memory was granted");
        };
        assert_eq!(needed, u128::from(there) * 4);
        assert!(said > 0);
    }
}
