//! Hošala's thesis: the sum of squares of many rows, shared among threads.

use super::{Report, Request, Tell, Work};
use crate::{Result, backend::AnyBackend};

pub(super) const WORK: Work = Work {
    name: "hosala",
    title: "Hošala's thesis",
    source: "Charles University, 2014",
    tables: &[],
    measure,
};

fn measure(_: &Request<'_>, _: &AnyBackend, tell: Tell<'_>) -> Result<()> {
    tell(Report::Note("hosala: no table is measured yet".to_owned()))
}
