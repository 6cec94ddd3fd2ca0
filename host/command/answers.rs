//! What programs have answered: in memory, so that no point is asked for twice, and in a journal, so
//! that a resumed run does not ask for it again.
//!
//! A journal is lines of JSON: first what the function is, then a line for each point. It grows as
//! answers come. A last line that is cut off, as where the machine stopped, is left out.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Stated, process::Failure};
use crate::{Error, Result};

/// A point by its bits.
pub(super) type Key = Box<[u64]>;

pub(super) fn key(point: &[f64]) -> Key {
    point.iter().map(|x| x.to_bits()).collect()
}

fn point(key: &Key) -> Vec<f64> {
    key.iter().map(|&bits| f64::from_bits(bits)).collect()
}

/// What is known about a point.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    Value(f64),
    /// Why there is no value, in a line.
    Failed(String),
}

impl Answer {
    /// The value, NaN if there is none that is finite.
    pub fn value(&self) -> f64 {
        match self {
            Self::Value(value) if value.is_finite() => *value,
            Self::Value(_) | Self::Failed(_) => f64::NAN,
        }
    }
}

/// All points asked for, with the order in which they were and their answers, if they have one.
#[derive(Default)]
pub(super) struct Answers {
    known: HashMap<Key, (u64, Option<Answer>)>,
    asked: u64,
    journal: Option<Journal>,
}

struct Journal {
    path: PathBuf,
    file: File,
}

/// How a number that JSON may lack is written.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Number {
    Finite(f64),
    Other(String),
}

impl Number {
    fn of(value: f64) -> Self {
        if value.is_finite() { Self::Finite(value) } else { Self::Other(value.to_string()) }
    }
}

/// A line of a journal.
#[derive(Serialize, Deserialize)]
struct Line {
    point: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Number>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

impl Line {
    fn of(key: &Key, answer: &Answer) -> Self {
        let (value, failed) = match answer {
            Answer::Value(value) => (Some(Number::of(*value)), None),
            Answer::Failed(why) => (None, Some(why.clone())),
        };
        Self { point: point(key), value, failed }
    }

    fn answer(self) -> Option<(Key, Answer)> {
        let answer = match (self.value, self.failed) {
            (_, Some(why)) => Answer::Failed(why),
            (Some(Number::Finite(value)), None) => Answer::Value(value),
            (Some(Number::Other(word)), None) => Answer::Value(word.parse().ok()?),
            (None, None) => return None,
        };
        Some((key(&self.point), answer))
    }
}

/// Where the journal of a run saved at this path is.
pub(super) fn beside(saved: &Path) -> PathBuf {
    let mut name = saved.file_name().map(OsString::from).unwrap_or_default();
    name.push(".answers");
    saved.with_file_name(name)
}

impl Answers {
    /// Notes that a point is asked for; whether it is the first time, and then as which it is.
    pub fn ask(&mut self, key: &Key) -> Option<u64> {
        if self.known.contains_key(key) {
            return None;
        }
        let nth = self.asked;
        self.asked += 1;
        self.known.insert(key.clone(), (nth, None));
        Some(nth)
    }

    pub fn answer(&self, key: &Key) -> Option<&Answer> {
        self.known.get(key)?.1.as_ref()
    }

    /// Keeps an answer.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn keep(&mut self, key: &Key, answer: Answer) -> Result<()> {
        let written = match &mut self.journal {
            None => Ok(()),
            Some(Journal { path, file }) => {
                let line =
                    serde_json::to_string(&Line::of(key, &answer)).unwrap_or_default() + "\n";
                // All at once: of a line either all is there or the end is missing.
                let failed = |source| Error::File { path: path.clone(), source };
                file.write_all(line.as_bytes()).map_err(failed)
            }
        };
        // It is new where the run was cut short in the meantime: what was paid for is kept.
        let next = self.asked;
        self.known.entry(key.clone()).or_insert((next, None)).1 = Some(answer);
        written
    }

    /// Forgets the points that have no answer.
    pub fn forget_unanswered(&mut self) {
        self.known.retain(|_, (_, answer)| answer.is_some());
    }

    /// All answers, in the order in which they were asked for.
    pub fn in_order(&self) -> Vec<(&Key, &Answer)> {
        let known = self.known.iter();
        let mut all: Vec<_> =
            known.filter_map(|(key, (nth, answer))| Some((*nth, key, answer.as_ref()?))).collect();
        all.sort_by_key(|&(nth, ..)| nth);
        all.into_iter().map(|(_, key, answer)| (key, answer)).collect()
    }

    /// Takes the answers in the journal beside a saved run, if there is one.
    ///
    /// # Errors
    /// If it cannot be read, or is about another function.
    pub fn read(&mut self, saved: &Path, stated: &Stated, dims: usize) -> Result<()> {
        let path = beside(saved);
        let text = match fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(Error::File { path, source }),
        };
        let wrong = |message: String| Error::Format { path: path.clone(), message };
        let mut lines = text.split_inclusive('\n').enumerate();
        let first = lines.next().and_then(|(_, line)| serde_json::from_str::<Stated>(line).ok());
        match first {
            Some(first) if first.is_same_function(stated) => {}
            Some(_) => return Err(wrong("it holds the answers of another command".to_owned())),
            None => {
                let what = "its first line does not say which command its answers are of";
                return Err(wrong(what.to_owned()));
            }
        }
        for (nth, line) in lines {
            let Some((key, answer)) = serde_json::from_str(line).ok().and_then(Line::answer) else {
                if !line.ends_with('\n') {
                    break;
                }
                return Err(wrong(format!("line {} is no point with its answer", nth + 1)));
            };
            if key.len() != dims {
                return Err(wrong(format!(
                    "line {} has a point of {} numbers",
                    nth + 1,
                    key.len()
                )));
            }
            self.ask(&key);
            if let Some((_, place)) = self.known.get_mut(&key) {
                *place = Some(answer);
            }
        }
        Ok(())
    }

    /// Keeps a journal beside a saved run from now on, beginning with all that is known.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self, saved: &Path, stated: &Stated) -> Result<()> {
        let path = beside(saved);
        let mut text = serde_json::to_string(stated).unwrap_or_default() + "\n";
        for (key, answer) in self.in_order() {
            text += &serde_json::to_string(&Line::of(key, answer)).unwrap_or_default();
            text.push('\n');
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).and_then(
            |mut file| {
                file.write_all(text.as_bytes())?;
                file.as_file().sync_all()?;
                file.persist(&path).map_err(|why| why.error)
            },
        );
        let file = file.map_err(|source| Error::File { path: path.clone(), source })?;
        self.journal = Some(Journal { path, file });
        Ok(())
    }

    /// Keeps no journal any more.
    pub fn close(&mut self) {
        self.journal = None;
    }
}

impl From<&Failure> for Answer {
    fn from(failure: &Failure) -> Self {
        Self::Failed(failure.line())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Command;

    #[test]
    fn a_journal_keeps_every_bit_and_survives_a_cut() {
        let folder = tempfile::tempdir().unwrap();
        let saved = folder.path().join("run");
        let stated = Command::new("p {a}").unwrap().stated(None);
        let points = [[0.1, -0.0], [1e-300, 3.0], [0.2, 5e-324], [1.0, 1.0]];
        let answers = [
            Answer::Value(0.1 + 0.2),
            Answer::Value(f64::INFINITY),
            Answer::Failed("exit status: 1: \"no\"".to_owned()),
            Answer::Value(f64::NAN),
        ];
        let mut all = Answers::default();
        assert_eq!(all.ask(&key(&points[0])), Some(0));
        all.keep(&key(&points[0]), answers[0].clone()).unwrap();
        all.write(&saved, &stated).unwrap();
        for (point, answer) in points.iter().zip(&answers).skip(1) {
            assert!(all.ask(&key(point)).is_some());
            all.keep(&key(point), answer.clone()).unwrap();
        }
        let path = beside(&saved);
        let whole = fs::read_to_string(&path).unwrap();
        assert_eq!(whole.lines().count(), 5);
        let mut again = Answers::default();
        again.read(&saved, &stated, 2).unwrap();
        for (point, answer) in points.iter().zip(&answers) {
            assert_eq!(again.ask(&key(point)), None);
            let found = again.answer(&key(point)).unwrap();
            assert!(format!("{found:?}") == format!("{answer:?}"), "{found:?} and {answer:?}");
        }
        assert_eq!(again.in_order()[2].1, &answers[2]);

        fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        let mut cut = Answers::default();
        cut.read(&saved, &stated, 2).unwrap();
        assert_eq!(cut.in_order().len(), 3);
        // In the middle it is no cut.
        let lines: Vec<_> = whole.lines().collect();
        fs::write(&path, [lines[0], "{", lines[1], ""].join("\n")).unwrap();
        let error = Answers::default().read(&saved, &stated, 2).unwrap_err();
        assert!(error.to_string().ends_with("line 2 is no point with its answer"), "{error}");
        let other = Command::new("q {a}").unwrap().stated(None);
        let error = Answers::default().read(&saved, &other, 2).unwrap_err();
        assert!(error.to_string().ends_with("another command"), "{error}");
    }
}
