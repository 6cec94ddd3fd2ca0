//! Blocked Floyd-Warshall: all-pairs shortest paths by tiles.

use super::{Report, Request, Tell, Work};
use crate::{Result, backend::AnyBackend};

pub(super) const WORK: Work = Work {
    name: "floyd_warshall",
    title: "Blocked Floyd-Warshall",
    source: "",
    tables: &[],
    measure,
};

fn measure(_: &Request<'_>, _: &AnyBackend, tell: Tell<'_>) -> Result<()> {
    tell(Report::Note("floyd_warshall: no table is measured yet".to_owned()))
}
