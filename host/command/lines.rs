//! A program that stays, and answers a line of points with a line of values.

use std::{
    io::{self, BufRead, BufReader, Write},
    path::Path,
    process::{ChildStdin, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde::Deserialize;

use super::process::{LOOK_EVERY, Running, STACK_BYTES, Tail, reader, start, told};

/// How long a program may take to end once its standard input is closed.
const GRACE: Duration = Duration::from_secs(2);

/// A program that answers.
pub(super) struct Answering {
    running: Running,
    /// To the thread that writes; `None` once the input is closed.
    lines: Option<mpsc::Sender<String>>,
    answers: mpsc::Receiver<Vec<u8>>,
    errors: Tail,
    errors_end: mpsc::Receiver<()>,
}

/// What became of a line of points.
pub(super) enum Answer {
    Values(Vec<f64>),
    /// The time limit is over.
    Late,
    /// The run is over.
    Stopped,
    /// The end of the sentence that begins with "the command", and the end of the standard error.
    Wrong(String, String),
}

impl Answering {
    pub fn start(words: &[String], directory: Option<&Path>) -> io::Result<Self> {
        let mut running = Running::start(words, directory, Stdio::piped())?;
        let (lines, to_write) = mpsc::channel::<String>();
        let (answered, answers) = mpsc::channel();
        let (at_end, errors_end) = mpsc::channel();
        let errors = Tail::default();
        if let Some(pipe) = running.child.stderr.take() {
            reader(&errors, pipe, at_end)?;
        }
        let on_thread = |work: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().stack_size(STACK_BYTES).spawn(work).map(drop)
        };
        // It may not read while it writes, so neither may wait for the other.
        if let Some(pipe) = running.child.stdin.take() {
            on_thread(Box::new(move || write(pipe, &to_write)))?;
        }
        if let Some(pipe) = running.child.stdout.take() {
            let work = move || {
                let mut pipe = BufReader::new(pipe);
                loop {
                    let mut line = Vec::new();
                    match pipe.read_until(b'\n', &mut line) {
                        Ok(0) | Err(_) => break,
                        Ok(_) => {}
                    }
                    if answered.send(line).is_err() {
                        break;
                    }
                }
            };
            on_thread(Box::new(work))?;
        }
        Ok(Self { running, lines: Some(lines), answers, errors, errors_end })
    }

    /// Asks for the values at `count` points, which the line holds.
    pub fn ask(
        &mut self,
        line: String,
        count: usize,
        limit: Option<Duration>,
        is_over: &dyn Fn() -> bool,
    ) -> io::Result<Answer> {
        if let Some(lines) = &self.lines {
            // An error means that it has ended, which the loop below notices.
            let _ = lines.send(line);
        }
        let began = Instant::now();
        let answer = loop {
            let left = limit.map(|limit| limit.saturating_sub(began.elapsed()));
            if is_over() {
                return Ok(Answer::Stopped);
            }
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(Answer::Late);
            }
            match self.answers.recv_timeout(left.map_or(LOOK_EVERY, |left| left.min(LOOK_EVERY))) {
                Ok(answer) => break answer,
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return self.ended(),
            }
        };
        let answer = String::from_utf8_lossy(&answer);
        Ok(match values(&answer, count) {
            Ok(values) => Answer::Values(values),
            Err(why) => {
                let shown = start(answer.trim_end(), 200);
                Answer::Wrong(format!("{why}: {shown:?}"), self.errors.text())
            }
        })
    }

    /// Says how it ended, although it should not have.
    fn ended(&mut self) -> io::Result<Answer> {
        let until = Instant::now() + GRACE;
        while !self.running.has_ended()? && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        let how = match self.running.has_ended()? {
            true => {
                format!("ended before it answered a line of points ({})", told(self.running.end()?))
            }
            false => "closed its standard output before it answered a line of points".to_owned(),
        };
        self.running.end()?;
        let _ = self.errors_end.recv_timeout(GRACE);
        Ok(Answer::Wrong(how, self.errors.text()))
    }

    /// Closes its input and gives it a while to end by itself.
    pub fn finish(mut self, is_over: &dyn Fn() -> bool) {
        self.lines = None;
        let until = Instant::now() + GRACE;
        while !is_over() && Instant::now() < until && matches!(self.running.has_ended(), Ok(false))
        {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Writes each line as it comes; closes the pipe when there will be no more.
fn write(mut pipe: ChildStdin, lines: &mpsc::Receiver<String>) {
    for line in lines {
        if pipe.write_all(line.as_bytes()).and_then(|()| pipe.flush()).is_err() {
            // It has ended, or no longer reads: the one who waits for its answer finds out.
            break;
        }
    }
}

/// The line that asks for the values at some points.
pub(super) fn question(names: Option<&[String]>, points: &[&[f64]]) -> String {
    let quoted = |name: &String| serde_json::Value::from(&**name).to_string();
    let point = |point: &&[f64]| {
        let numbers = point.iter().map(|x| serde_json::Value::from(*x).to_string());
        match names {
            None => format!("[{}]", numbers.collect::<Vec<_>>().join(", ")),
            Some(names) => {
                let each = names.iter().zip(numbers);
                let each: Vec<_> =
                    each.map(|(name, number)| format!("{}: {number}", quoted(name))).collect();
                format!("{{{}}}", each.join(", "))
            }
        }
    };
    let points: Vec<_> = points.iter().map(point).collect();
    format!("{{\"points\": [{}]}}\n", points.join(", "))
}

#[derive(Deserialize)]
struct Reply {
    values: Vec<Option<Told>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Told {
    Number(f64),
    Word(String),
}

/// The values in a line.
fn values(line: &str, count: usize) -> Result<Vec<f64>, String> {
    let expected = || {
        format!(
            "answered a line of {count} point(s) with a line that is not {{\"values\": [...]}} with as \
             many numbers"
        )
    };
    // Python's json writes what JSON does not have.
    let reply = serde_json::from_str(line).or_else(|_| {
        let quoted = line.replace("-Infinity", "\"-inf\"").replace("Infinity", "\"inf\"");
        serde_json::from_str::<Reply>(&quoted.replace("NaN", "\"nan\""))
    });
    let reply: Reply = reply.map_err(|_| expected())?;
    let value = |told: &Option<Told>| match told {
        None => Some(f64::NAN),
        Some(Told::Number(value)) => Some(*value),
        Some(Told::Word(word)) => word.parse().ok(),
    };
    let values: Option<Vec<f64>> = reply.values.iter().map(value).collect();
    values.filter(|values| values.len() == count).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_lines_of_json() {
        let names = ["a".to_owned(), "\"b\"".to_owned()];
        let points: [&[f64]; 2] = [&[0.1, 2.0], &[1e-7, -0.0]];
        assert_eq!(
            question(Some(&names), &points),
            "{\"points\": [{\"a\": 0.1, \"\\\"b\\\"\": 2.0}, {\"a\": 1e-7, \"\\\"b\\\"\": -0.0}]}\n"
        );
        let line = question(None, &points);
        assert_eq!(line, "{\"points\": [[0.1, 2.0], [1e-7, -0.0]]}\n");
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["points"][1][1].as_f64().unwrap().to_bits(), (-0.0_f64).to_bits());
    }

    #[test]
    fn answers_may_lack_values() {
        let bits = |line: &str, count| {
            values(line, count).map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(bits("{\"values\": [1.5, 2]}\n", 2).unwrap(), ["1.5", "2"]);
        let line = "{\"values\": [null, \"nan\", \"inf\", \"-Infinity\"], \"more\": 1}";
        assert_eq!(bits(line, 4).unwrap(), ["NaN", "NaN", "inf", "-inf"]);
        let line = "{\"values\": [NaN, Infinity, -Infinity, 3]}";
        assert_eq!(bits(line, 4).unwrap(), ["NaN", "inf", "-inf", "3"]);
        for line in
            ["", "1.5", "[1]", "{\"value\": [1]}", "{\"values\": [1, 2]}", "{\"values\": [\"a\"]}"]
        {
            assert!(values(line, 1).unwrap_err().contains("{\"values\": [...]}"), "{line}");
        }
    }
}
