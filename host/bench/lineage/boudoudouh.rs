//! Boudoudouh: a particle swarm in CUDA, in six versions.

use super::{Report, Request, Tell, Work};
use crate::{Result, backend::AnyBackend};

pub(super) const WORK: Work = Work {
    name: "boudoudouh",
    title: "Boudoudouh: Particle Swarm Optimization, a CUDA implementation",
    source: "Anoir Boudoudouh, 2018, https://github.com/anoir2/psondimension",
    tables: &[],
    measure,
};

fn measure(_: &Request<'_>, _: &AnyBackend, tell: Tell<'_>) -> Result<()> {
    tell(Report::Note("boudoudouh: no table is measured yet".to_owned()))
}
