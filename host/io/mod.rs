//! File formats in and out: one file each.

mod calibration;
mod table;

pub use calibration::{Layout, read as read_calibration, write as write_calibration};
pub use table::Table;
