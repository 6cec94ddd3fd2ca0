//! Migration between islands: the parts of a swarm.
//!
//! A swarm is cut into as many parts of consecutive particles as it sends emigrants, or takes
//! immigrants. Each part sends its best personal best, and the immigrant of that number takes the
//! place of the part's worst, if it is better. So nothing is sorted, on a GPU a block finds what its
//! part has, and the swarm's best is always among the emigrants.

/// The first particle of part `nth` of `parts`, or the end of the one before.
///
/// ```
/// use flockwork_device::swarm::migration::start;
///
/// let starts = [0, 1, 2, 3].map(|nth| start(nth, 3, 10));
/// assert_eq!(starts, [0, 3, 6, 10]);
/// ```
#[inline(always)]
pub const fn start(nth: u32, parts: u32, particles: u32) -> u32 {
    (particles as u64 * nth as u64 / parts as u64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_particle_is_in_one_part_and_no_part_is_empty() {
        for (parts, particles) in [(1, 1), (3, 3), (4, 1023), (7, 65_536), (9, u32::MAX - 1023)] {
            assert_eq!(
                (start(0, parts, particles), start(parts, parts, particles)),
                (0, particles)
            );
            for nth in 0..parts {
                let size = start(nth + 1, parts, particles) - start(nth, parts, particles);
                assert!(size == particles / parts || size == particles.div_ceil(parts));
            }
        }
    }
}
