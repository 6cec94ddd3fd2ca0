//! cuPSO: a reduction in several forms, and a queue.

use super::{Report, Request, Tell, Work};
use crate::{Result, backend::AnyBackend};

pub(super) const WORK: Work =
    Work { name: "cupso", title: "cuPSO", source: "2022, arXiv 2205.01313", tables: &[], measure };

fn measure(_: &Request<'_>, _: &AnyBackend, tell: Tell<'_>) -> Result<()> {
    tell(Report::Note("cupso: no table is measured yet".to_owned()))
}
