//! The log of a run, as lines of JSON: its statement, a line for each sample, its result.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use flockwork::{Error, swarm::Sample};
use serde::Serialize;
use serde_json::json;

/// A log being written. After a write error it writes no more, but the run goes on.
pub struct Log {
    path: PathBuf,
    file: BufWriter<File>,
    failed: Option<Error>,
}

impl Log {
    /// Creates a log whose first line is the statement of the run.
    pub fn create(path: &Path, run: &serde_json::Value) -> anyhow::Result<Self> {
        let path = path.to_owned();
        let file = match File::create(&path) {
            Ok(file) => BufWriter::new(file),
            Err(source) => return Err(Error::File { path, source }.into()),
        };
        let mut log = Self { path, file, failed: None };
        log.lines(&[run]);
        Ok(log)
    }

    pub fn samples(&mut self, samples: &[Sample]) {
        if !samples.is_empty() {
            self.lines(samples);
        }
    }

    /// Writes the last line: the result as in the report, without the samples logged above.
    pub fn result(&mut self, result: &impl Serialize) {
        let mut result = json!(result);
        if let Some(object) = result.as_object_mut() {
            object.remove("history");
        }
        self.lines(&[json!({ "result": result })]);
    }

    fn lines(&mut self, lines: &[impl Serialize]) {
        if self.failed.is_some() {
            return;
        }
        let written = lines
            .iter()
            .try_for_each(|line| {
                serde_json::to_writer(&mut self.file, line)?;
                self.file.write_all(b"\n")
            })
            .and_then(|()| self.file.flush());
        self.failed = written.err().map(|source| Error::File { path: self.path.clone(), source });
    }

    /// Returns the first write error, if there was one.
    pub fn finish(self) -> anyhow::Result<()> {
        self.failed.map_or(Ok(()), |error| Err(error.into()))
    }
}
