//! Saved runs: writing and reading their files.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use flockwork_device::{objective::Goal, random::philox, swarm::settings::Variable};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    Frame, Options, Problem, Sample, Searches,
    constraints::{self, Constraints},
    islands,
    polish::Polisher,
    state::{Course, Ledger, PersonalBest, State},
};
use crate::{
    Error, Result,
    backend::{Best, Ended, Migrant, Number, SearchSchedule, Snapshot, lane_fits},
    command::{Commanded, Stated},
    formula::Formula,
    io::checkpoint::{self, OwnedSection, Section, find},
};

/// Where and how often to save a run.
///
/// ```
/// use std::time::Duration;
/// use flockwork::{objective::Sphere, swarm::{Checkpoint, Problem, Saved, Search}};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("run.flockwork");
/// let note = "the third attempt".to_owned();
/// let saved = Saved { path: path.clone(), every: Duration::from_secs(60), note };
/// Search::new(Problem::new(Sphere, 2)?).iterations(20).saved(Some(saved)).run()?;
/// assert_eq!(Checkpoint::read(&path)?.note(), "the third attempt");
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The file. It is replaced as a whole, or stays as it was.
    pub path: PathBuf,
    /// How often to save during the run; its end is always saved.
    pub every: Duration,
    /// A note to whoever resumes the run.
    pub note: String,
}

/// Whether a run whose evaluations are cut short goes back to before, so that what is missing is not taken
/// for bad: if it may go on later, or counts what it paid for. That costs a copy each time.
pub(super) fn goes_back(problem: &Problem, saved: Option<&Saved>) -> bool {
    problem.function().can_be_cut_short() && (saved.is_some() || problem.command().is_some())
}

/// A problem as a file stores it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Statement {
    function: String,
    /// The built-in function's own name; empty for other functions. Earlier versions did not write
    /// it.
    #[serde(default)]
    objective: Option<String>,
    maximised: bool,
    lower: Vec<f64>,
    upper: Vec<f64>,
    shift_seed: Option<u64>,
    rotation_seed: Option<u64>,
    /// The kind of each dimension's variable: 0 continuous, 1 integer, 2 periodic.
    variables: Vec<u32>,
    /// Hash of the function's data.
    data_hash: u64,
    /// The function, if it is a formula.
    #[serde(default)]
    formula: Option<Text>,
    /// The function, if it is a command.
    #[serde(default)]
    command: Option<Stated>,
    /// What it is subject to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    constraints: Vec<constraints::Stated>,
    /// The tolerance of equalities, if there are constraints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    equal_within: Option<f64>,
}

/// A formula as a file stores it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Text {
    text: String,
    /// The names of its variables, unless they are elements of x.
    names: Option<Vec<String>>,
}

impl Statement {
    fn of(problem: &Problem) -> Self {
        let [lower, upper] = problem.given_bounds().clone();
        let built_in = problem.function().info().name;
        Self {
            function: problem.name().to_owned(),
            objective: Some(if problem.is_built_in() { built_in } else { String::new() }),
            maximised: problem.goal() == Goal::Maximise,
            lower,
            upper,
            shift_seed: problem.shift_seed(),
            rotation_seed: problem.rotation_seed(),
            variables: problem.variables().iter().map(|&v| v as u32).collect(),
            data_hash: problem
                .data_hash()
                .unwrap_or_else(|| xxh3_64(bytemuck::cast_slice(problem.data()))),
            formula: problem.written().map(|written| Text {
                text: written.formula().text().to_owned(),
                names: written.names().map(<[String]>::to_vec),
            }),
            command: problem.commanded().map(Commanded::stated),
            constraints: problem.constraints().stated(),
            equal_within: Some(problem.constraints())
                .filter(|constraints| !constraints.is_empty())
                .map(Constraints::tolerance),
        }
    }
}

/// The textual part of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Header {
    problem: Statement,
    options: Options,
    ledger: Ledger,
    polisher: Option<Polisher>,
    /// What a run of searches has done; its ledger is empty.
    #[serde(default)]
    course: Option<Course>,
    /// What a run of islands has noticed; its ledger is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    islands: Option<islands::Course>,
    iteration: u32,
    /// Whether it has not evaluated its first points yet.
    #[serde(default)]
    is_new: bool,
    note: String,
    /// Number of samples and of frames.
    samples: usize,
    frames: Vec<FrameHeader>,
}

impl Header {
    /// Of a run that has done nothing yet.
    fn of(saved: &Saved, problem: &Problem, options: &Options) -> Self {
        Self {
            problem: Statement::of(problem),
            options: options.clone(),
            ledger: Ledger::default(),
            polisher: None,
            course: None,
            islands: None,
            iteration: 0,
            is_new: false,
            note: saved.note.clone(),
            samples: 0,
            frames: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct FrameHeader {
    iteration: u32,
    particles: usize,
}

/// Writes a run.
pub(super) fn write<T: Number>(
    saved: &Saved,
    problem: &Problem,
    options: &Options,
    state: &State,
    snapshot: &Snapshot<T>,
) -> Result<()> {
    let header = Header {
        ledger: state.ledger.clone(),
        polisher: state.polisher.clone(),
        iteration: snapshot.iteration,
        samples: state.history.len(),
        frames: state
            .frames
            .iter()
            .map(|frame| FrameHeader {
                iteration: frame.iteration,
                particles: frame.positions.len() / problem.lower().len(),
            })
            .collect(),
        ..Header::of(saved, problem, options)
    };
    let best = &snapshot.bests[0];
    let ledger = &state.ledger;
    let mut numbers = vec![ledger.last_seen[0], ledger.last_seen[1]];
    if let Some((value, position)) = &ledger.best {
        numbers.push(*value);
        numbers.extend(position);
    }
    let polished = state.polisher.as_ref().map_or(Vec::new(), Polisher::numbers);
    let (counts, samples) = sampled(&state.history);
    let bests: Vec<f64> = state
        .frames
        .iter()
        .flat_map(|frame| [frame.best].into_iter().chain(frame.best_position.iter().copied()))
        .collect();
    let rows = |of: fn(&Frame) -> &Vec<f32>| -> Vec<f32> {
        state.frames.iter().flat_map(of).copied().collect()
    };
    let seen: Vec<f64> = state
        .personal_bests
        .iter()
        .flatten()
        .flat_map(|(fitness, position)| [*fitness].into_iter().chain(position.iter().copied()))
        .collect();
    let (frame_positions, frame_velocities) = (rows(|f| &f.positions), rows(|f| &f.velocities));
    checkpoint::write(
        &saved.path,
        &header,
        &[
            Section::new("positions", &snapshot.positions),
            Section::new("velocities", &snapshot.velocities),
            Section::new("own_bests", &snapshot.personal_bests),
            Section::new("best_fitness", &snapshot.best_fitness),
            Section::new("stale", &snapshot.stale),
            Section::new("exemplars", &snapshot.exemplars),
            Section::new("failed", &snapshot.failed),
            Section::new("champion_fitness", &[best.value]),
            Section::new("champion_particle", &[best.particle]),
            Section::new("champion_position", &best.position),
            Section::new("ledger", &numbers),
            Section::new("polisher", &polished),
            Section::new("seen", &seen),
            Section::new("sample_counts", &counts),
            Section::new("samples", &samples),
            Section::new("frame_bests", &bests),
            Section::new("frame_positions", &frame_positions),
            Section::new("frame_velocities", &frame_velocities),
        ],
    )
}

/// Writes a run that has not evaluated its first points yet.
pub(super) fn write_new(saved: &Saved, problem: &Problem, options: &Options) -> Result<()> {
    let header = Header { is_new: true, ..Header::of(saved, problem, options) };
    let (counts, samples) = sampled(&[]);
    let sections = [Section::new("sample_counts", &counts), Section::new("samples", &samples)];
    checkpoint::write(&saved.path, &header, &sections)
}

/// The samples as two lists of numbers.
fn sampled(history: &[Sample]) -> (Vec<u64>, Vec<f64>) {
    let counts = history.iter().flat_map(|s| [u64::from(s.iteration), s.evaluations]);
    let values = history.iter().flat_map(|s| [s.best, s.mean, s.spread, s.velocity]);
    (counts.collect(), values.collect())
}

/// Writes a run of searches.
pub(super) fn write_searches(
    saved: &Saved,
    problem: &Problem,
    options: &Options,
    course: &Course,
    lanes: &[Vec<f64>],
) -> Result<()> {
    let header = Header {
        course: Some(course.clone()),
        iteration: course.rounds,
        samples: course.history.len(),
        ..Header::of(saved, problem, options)
    };
    let mut numbers = vec![course.effort, course.allowance, course.best_before, course.best.0];
    numbers.extend(&course.best.1);
    let ended = course.ended.iter().flat_map(|ended| [ended.value, ended.spread]);
    let ended: Vec<f64> = ended.collect();
    let searches = course.ended.iter().flat_map(|e| [u64::from(e.index), e.evaluations]);
    let searches: Vec<u64> = searches.collect();
    let lengths: Vec<u64> = lanes.iter().map(|lane| lane.len() as u64).collect();
    let (counts, samples) = sampled(&course.history);
    checkpoint::write(
        &saved.path,
        &header,
        &[
            Section::new("course", &numbers),
            Section::new("ended", &ended),
            Section::new("ended_searches", &searches),
            Section::new("lane_lengths", &lengths),
            Section::new("lanes", &lanes.concat()),
            Section::new("sample_counts", &counts),
            Section::new("samples", &samples),
        ],
    )
}

/// Writes a run of islands: the sections of a swarm, one island after the other.
pub(super) fn write_islands<T: Number>(
    saved: &Saved,
    problem: &Problem,
    options: &Options,
    course: &islands::Course,
    states: &[islands::State<T>],
) -> Result<()> {
    let header = Header {
        islands: Some(course.clone()),
        iteration: states.first().map_or(0, |state| state.swarm.iteration),
        samples: course.history.len(),
        ..Header::of(saved, problem, options)
    };
    let under_way = Migrant::to_numbers(states.iter().flat_map(|state| &state.arriving));
    let states = || states.iter().map(|state| &state.swarm);
    let all = |of: fn(&Snapshot<T>) -> &Vec<T>| states().flat_map(of).copied().collect();
    let counts =
        |of: fn(&Snapshot<T>) -> &Vec<u32>| states().flat_map(of).copied().collect::<Vec<_>>();
    let bests = || states().flat_map(|state| &state.bests);
    let [positions, velocities]: [Vec<T>; 2] = [all(|s| &s.positions), all(|s| &s.velocities)];
    let [own, fitness]: [Vec<T>; 2] = [all(|s| &s.personal_bests), all(|s| &s.best_fitness)];
    let champions: Vec<T> = bests().map(|best| best.value).collect();
    let champion_particles: Vec<u32> = bests().map(|best| best.particle).collect();
    let champion_positions: Vec<T> = bests().flat_map(|best| best.position.clone()).collect();
    let (sample_counts, samples) = sampled(&course.history);
    checkpoint::write(
        &saved.path,
        &header,
        &[
            Section::new("positions", &positions),
            Section::new("velocities", &velocities),
            Section::new("own_bests", &own),
            Section::new("best_fitness", &fitness),
            Section::new("stale", &counts(|s| &s.stale)),
            Section::new("exemplars", &counts(|s| &s.exemplars)),
            Section::new("failed", &counts(|s| &s.failed)),
            Section::new("champion_fitness", &champions),
            Section::new("champion_particle", &champion_particles),
            Section::new("champion_position", &champion_positions),
            Section::new("migrants", &under_way),
            Section::new("islands", &[course.last_seen]),
            Section::new("sample_counts", &sample_counts),
            Section::new("samples", &samples),
        ],
    )
}

/// A saved run.
///
/// ```
/// use std::{ops::ControlFlow, time::Duration};
/// use flockwork::{objective::Sphere, swarm::{Checkpoint, Problem, Search}};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("run.flockwork");
/// let problem = Problem::new(Sphere, 6)?.shifted(1)?;
/// let search = Search::new(problem).iterations(500);
/// let whole = search.clone().run()?;
///
/// // Interrupted after a while, then resumed: the same bits.
/// let stop = |p: &flockwork::swarm::Progress| match p.iteration {
///     0..100 => ControlFlow::Continue(()),
///     _ => ControlFlow::Break(()),
/// };
/// search.save(&path, Duration::from_secs(60)).run_watched(stop)?;
/// let saved = Checkpoint::read(&path)?;
/// let backend = flockwork::backend::Cpu::new(0)?;
/// let rest = saved.resume(&saved.problem()?, &backend, None, |_| {})?;
/// assert_eq!(rest.position, whole.position);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checkpoint {
    path: PathBuf,
    header: Header,
    sections: Vec<OwnedSection>,
}

impl Checkpoint {
    /// Reads a file.
    ///
    /// # Errors
    /// If the file cannot be read, is not a saved run, is damaged or cut off, or was written by a
    /// newer version.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (header, sections) = checkpoint::read::<Header>(path)?;
        let saved = Self { path: path.to_owned(), header, sections };
        saved.header.options.check()?;
        Ok(saved)
    }

    /// The name of the function.
    pub fn function(&self) -> &str {
        &self.header.problem.function
    }

    /// The options of the run.
    pub fn options(&self) -> &Options {
        &self.header.options
    }

    /// Changes how long the run goes on: limits that do not affect what has been done.
    pub fn with_limits(mut self, change: impl FnOnce(&mut u32, &mut super::Stop)) -> Self {
        let options = &mut self.header.options;
        change(&mut options.iterations, &mut options.stop);
        self
    }

    /// Changes what the run records from here on: the strides of [`Options::history`] and
    /// [`Options::frames`].
    pub fn with_records(mut self, change: impl FnOnce(&mut Option<u32>, &mut Option<u32>)) -> Self {
        let options = &mut self.header.options;
        change(&mut options.history, &mut options.frames);
        self
    }

    /// Iterations done.
    pub fn iterations(&self) -> u32 {
        self.header.ledger.iterations_before + self.header.iteration
    }

    /// The note saved with the run.
    pub fn note(&self) -> &str {
        &self.header.note
    }

    /// The problem, if its function is built in and not defined by data, or is a [`Formula`] or a
    /// [`Command`](crate::command::Command). Otherwise build the problem yourself and pass it to
    /// [`Checkpoint::resume`].
    ///
    /// # Errors
    /// If the function is a closure, a fit or your own objective type, or is defined by data.
    pub fn problem(&self) -> Result<Problem> {
        let Statement { function, objective, lower, upper, .. } = &self.header.problem;
        if let Some(Text { text, names }) = &self.header.problem.formula {
            let formula = Formula::parse(text)?;
            let problem = match names {
                None => Problem::from_formula_of_x(&formula, lower.clone(), upper.clone())?,
                Some(names) => Problem::from_formula(&formula, &self.variables(names))?,
            };
            return self.stated(problem.called(function));
        }
        if let Some(stated) = &self.header.problem.command {
            let command = stated.command()?;
            let problem = match &stated.names {
                None => Problem::from_command_of_x(&command, lower.clone(), upper.clone())?,
                Some(names) => Problem::from_command(&command, &self.variables(names))?,
            };
            return self.stated(problem.called(function));
        }
        let dims = u32::try_from(lower.len()).unwrap_or(u32::MAX);
        let known = objective.as_ref().unwrap_or(function);
        match Problem::named(known, dims) {
            Err(Error::UnknownObjective { .. }) => Err(self.wrong(format!(
                "the run is about {function:?}, which is not built in, and a file cannot hold it: \
                 state the problem again and resume with that"
            ))),
            problem => self.stated(problem?.called(function)),
        }
    }

    /// Names with their bounds.
    fn variables<'a>(&'a self, names: &'a [String]) -> Vec<(&'a str, f64, f64)> {
        let Statement { lower, upper, .. } = &self.header.problem;
        let bounds = lower.iter().zip(upper);
        let variables = names.iter().zip(bounds);
        variables.map(|(name, (&lower, &upper))| (&**name, lower, upper)).collect()
    }

    /// Whether the function is a [`Command`](crate::command::Command).
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use std::time::Duration;
    /// use flockwork::{command::Command, swarm::{Checkpoint, Problem, Search}};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.flockwork");
    /// let problem = Problem::from_command(&Command::new("echo {a}")?, &[("a", 1.0, 2.0)])?;
    /// Search::new(problem).evaluations(10).save(&path, Duration::from_secs(60)).run()?;
    /// assert!(Checkpoint::read(&path)?.is_of_command());
    /// # }
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn is_of_command(&self) -> bool {
        self.header.problem.command.is_some()
    }

    /// The text of the formula that the function is, if it is one.
    pub fn formula(&self) -> Option<&str> {
        self.header.problem.formula.as_ref().map(|formula| &*formula.text)
    }

    /// Gives a function's problem the bounds, variables, goal, shift, rotation and constraints that were
    /// saved.
    pub fn stated(&self, problem: Problem) -> Result<Problem> {
        let Statement { lower, upper, shift_seed, rotation_seed, variables, maximised, .. } =
            self.header.problem.clone();
        let variables = variables.into_iter().map(Variable::from_word).collect();
        let problem = if maximised { problem.maximised() } else { problem.minimised() };
        let mut problem = problem.with_bounds(lower, upper)?.with_variables(variables)?;
        if let Some(seed) = shift_seed {
            problem = problem.shifted(seed)?;
        }
        if let Some(seed) = rotation_seed {
            problem = problem.rotated(seed)?;
        }
        if !problem.constraints().is_empty() {
            return Ok(problem);
        }
        for stated in &self.header.problem.constraints {
            problem = match stated {
                constraints::Stated::Formula(text) => problem.subject_to(&Formula::parse(text)?)?,
                constraints::Stated::Closure(_) => {
                    return Err(self.wrong(
                        "the run is subject to constraints that a closure calculates, and a file \
                         cannot hold it: state the problem again and resume with that"
                            .to_owned(),
                    ));
                }
            };
        }
        match self.header.problem.equal_within {
            Some(tolerance) => problem.equal_within(tolerance),
            None => Ok(problem),
        }
    }

    /// Refuses a problem other than the run's.
    pub(super) fn check_problem(&self, problem: &Problem) -> Result<()> {
        let mut stated = Statement::of(problem);
        if self.header.problem.objective.is_none() {
            stated.objective = None;
        }
        if let (Some(here), Some(there)) = (&stated.command, &self.header.problem.command)
            && here.is_same_function(there)
        {
            // What else there is to a command may change.
            stated.command = Some(there.clone());
        }
        if stated != self.header.problem {
            let parts = match self.function().starts_with("fit of ") {
                true => {
                    "model, bounds, data, weights, loss, fixed parameters or use of the Gram matrix"
                }
                false => "function, bounds, variables, goal, shift, rotation, constraints or data",
            };
            return Err(self.wrong(format!(
                "the run is about {:?} in {} dimensions; the problem it should go on with, {:?} in \
                 {}, differs in its {parts}",
                self.function(),
                self.header.problem.lower.len(),
                problem.name(),
                problem.dims()
            )));
        }
        Ok(())
    }

    fn wrong(&self, message: String) -> Error {
        Error::Format { path: self.path.clone(), message }
    }

    fn numbers<E: bytemuck::Pod>(&self, name: &str, expected: usize) -> Result<Vec<E>> {
        let section = find(&self.path, &self.sections, name)?;
        section.exactly(expected).map_err(|why| self.wrong(why.to_string()))
    }

    /// The history up to the save, if [`Options::history`] asked for one.
    ///
    /// # Errors
    /// If the file contradicts itself.
    pub fn history(&self) -> Result<Vec<Sample>> {
        let samples = self.header.samples;
        let counts: Vec<u64> = self.numbers("sample_counts", 2 * samples)?;
        let values: Vec<f64> = self.numbers("samples", 4 * samples)?;
        let sample = |(count, value): (&[u64], &[f64])| Sample {
            iteration: count[0] as u32,
            evaluations: count[1],
            best: value[0],
            mean: value[1],
            spread: value[2],
            velocity: value[3],
        };
        Ok(counts.chunks_exact(2).zip(values.chunks_exact(4)).map(sample).collect())
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it has not evaluated its first points yet.
    pub(super) fn is_new(&self) -> bool {
        self.header.is_new
    }

    /// Whether it is a run of searches.
    pub(super) fn is_of_searches(&self) -> bool {
        self.header.course.is_some()
    }

    /// Whether it is a run of islands.
    pub(super) fn is_of_islands(&self) -> bool {
        self.header.islands.is_some()
    }

    /// What a run of islands has noticed, and the state of each.
    pub(super) fn islands<T: Number>(
        &self,
        problem: &Problem,
    ) -> Result<(islands::Course, Vec<islands::State<T>>)> {
        let options = self.options();
        let (Some(mut course), Some(islands)) = (self.header.islands.clone(), options.islands)
        else {
            return Err(self.wrong("it lacks the number of islands".to_owned()));
        };
        course.last_seen = self.numbers::<f64>("islands", 1)?[0];
        course.history = self.history()?;
        let (dims, count) = (problem.lower().len(), islands.count as usize);
        let particles = options.particles as usize;
        let all = particles * dims;
        let exemplars = if options.rule == super::Rule::Comprehensive { all } else { 0 };
        let floats = |name, each: usize| -> Result<Vec<T>> { self.numbers(name, count * each) };
        let counts = |name, each: usize| -> Result<Vec<u32>> { self.numbers(name, count * each) };
        let (positions, velocities) = (floats("positions", all)?, floats("velocities", all)?);
        let (own, fitness) = (floats("own_bests", all)?, floats("best_fitness", particles)?);
        let (stale, failed) = (counts("stale", particles)?, counts("failed", 1)?);
        let learned = counts("exemplars", exemplars)?;
        let (values, champions) = (floats("champion_fitness", 1)?, counts("champion_particle", 1)?);
        let places = floats("champion_position", dims)?;
        let iteration = self.header.iteration;
        // Those that have left last and not arrived, island after island.
        let heard = |nth| match iteration - iteration % islands.every {
            0 => 0,
            departed => islands.sources(options.seed, departed, nth as u32).len(),
        };
        let migrants: Vec<usize> =
            (0..count).map(|nth| heard(nth) * islands.migrants as usize).collect();
        let under_way: Vec<T> =
            self.numbers("migrants", migrants.iter().sum::<usize>() * (1 + dims))?;
        let mut under_way = Migrant::of_numbers(&under_way, dims);
        let state = |nth: usize| Snapshot {
            iteration,
            positions: positions[nth * all..][..all].to_vec(),
            velocities: velocities[nth * all..][..all].to_vec(),
            personal_bests: own[nth * all..][..all].to_vec(),
            best_fitness: fitness[nth * particles..][..particles].to_vec(),
            stale: stale[nth * particles..][..particles].to_vec(),
            exemplars: learned[nth * exemplars..][..exemplars].to_vec(),
            failed: vec![failed[nth]],
            bests: vec![Best {
                value: values[nth],
                particle: champions[nth],
                position: places[nth * dims..][..dims].to_vec(),
            }],
        };
        let islands = (0..count).map(|nth| islands::State {
            swarm: state(nth),
            arriving: under_way.by_ref().take(migrants[nth]).collect(),
        });
        Ok((course, islands.collect()))
    }

    /// What a run of searches has done, and its lanes.
    pub(super) fn searches(&self) -> Result<(Course, Vec<Vec<f64>>)> {
        let dims = self.header.problem.lower.len();
        let options = self.options();
        let (Some(mut course), Some(Searches { lanes: Some(lanes), .. })) =
            (self.header.course.clone(), options.searches)
        else {
            return Err(self.wrong("it lacks the number of lanes".to_owned()));
        };
        let kept: Vec<f64> =
            self.numbers("course", 4 + dims).or_else(|_| self.numbers("course", 4))?;
        (course.effort, course.allowance, course.best_before) = (kept[0], kept[1], kept[2]);
        course.best = (kept[3], kept[4..].to_vec());
        let section = find(&self.path, &self.sections, "ended")?;
        let numbers: Vec<f64> = section.numbers().map_err(|why| self.wrong(why.to_string()))?;
        let searches: Vec<u64> = self.numbers("ended_searches", numbers.len())?;
        let ended = numbers.chunks_exact(2).zip(searches.chunks_exact(2));
        course.ended = ended
            .map(|(value, search)| Ended {
                index: search[0] as u32,
                value: value[0],
                spread: value[1],
                evaluations: search[1],
            })
            .collect();
        course.history = self.history()?;
        let lengths: Vec<u64> = self.numbers("lane_lengths", lanes as usize)?;
        let all = lengths.iter().try_fold(0_u64, |sum, &length| sum.checked_add(length));
        let all: Vec<f64> = self.numbers("lanes", all.unwrap_or(u64::MAX) as usize)?;
        let schedule = SearchSchedule { key: philox::key(options.seed), lanes, dims: dims as u32 };
        let mut rest = &all[..];
        let mut words = Vec::new();
        for (lane, &length) in (0..).zip(&lengths) {
            let (own, others) = rest.split_at(length as usize);
            if !lane_fits(&schedule, lane, own) {
                return Err(self.wrong(format!("its lane {lane} contradicts itself")));
            }
            words.push(own.to_vec());
            rest = others;
        }
        Ok((course, words))
    }

    pub(super) fn state<T: Number>(&self, problem: &Problem) -> Result<(State, Snapshot<T>)> {
        let header = &self.header;
        let dims = problem.lower().len();
        let particles = header.ledger.particles as usize;
        let all = particles * dims;
        let learns = self.options().rule == super::Rule::Comprehensive;
        let mut ledger = header.ledger.clone();
        // The last check's two values; without a best, nothing else.
        let kept: Vec<f64> =
            self.numbers("ledger", 2 + 1 + dims).or_else(|_| self.numbers("ledger", 2))?;
        ledger.last_seen = [kept[0], kept[1]];
        ledger.best = (kept.len() > 2).then(|| (kept[2], kept[3..].to_vec()));
        let polisher = match header.polisher.clone() {
            None => None,
            Some(polisher) => {
                let section = find(&self.path, &self.sections, "polisher")?;
                let numbers = section.numbers().map_err(|why| self.wrong(why.to_string()))?;
                let restored = polisher.restored(numbers, dims);
                Some(restored.map_err(|why| self.wrong(why.to_string()))?)
            }
        };
        let best = Best {
            value: self.numbers::<T>("champion_fitness", 1)?[0],
            particle: self.numbers::<u32>("champion_particle", 1)?[0],
            position: self.numbers("champion_position", dims)?,
        };
        let snapshot = Snapshot {
            iteration: header.iteration,
            positions: self.numbers("positions", all)?,
            velocities: self.numbers("velocities", all)?,
            personal_bests: self.numbers("own_bests", all)?,
            best_fitness: self.numbers("best_fitness", particles)?,
            stale: self.numbers("stale", particles)?,
            exemplars: self.numbers("exemplars", if learns { all } else { 0 })?,
            failed: self.numbers("failed", 1)?,
            bests: vec![best],
        };
        let (history, frames) = (self.history()?, self.frames(dims)?);
        let personal_bests = self.personal_bests_before(dims)?;
        let personal_bests = Some(personal_bests);
        Ok((State { ledger, polisher, history, frames, personal_bests }, snapshot))
    }

    fn personal_bests_before(&self, dims: usize) -> Result<Vec<PersonalBest>> {
        // Files written before fits could be saved have no such section.
        let Ok(section) = find(&self.path, &self.sections, "seen") else { return Ok(Vec::new()) };
        let numbers: Vec<f64> = section.numbers().map_err(|why| self.wrong(why.to_string()))?;
        let each = numbers.chunks_exact(dims + 1);
        if !each.remainder().is_empty() {
            return Err(self.wrong("its section \"seen\" ends inside a position".to_owned()));
        }
        Ok(each.map(|one| (one[0], one[1..].to_vec())).collect())
    }

    fn frames(&self, dims: usize) -> Result<Vec<Frame>> {
        let headers = &self.header.frames;
        let all: usize = headers.iter().map(|frame| frame.particles * dims).sum();
        let bests: Vec<f64> = self.numbers("frame_bests", headers.len() * (1 + dims))?;
        let positions: Vec<f32> = self.numbers("frame_positions", all)?;
        let velocities: Vec<f32> = self.numbers("frame_velocities", all)?;
        let mut first = 0;
        let frame = |(frame, best): (&FrameHeader, &[f64])| {
            let rows = first..first + frame.particles * dims;
            first = rows.end;
            Frame {
                iteration: frame.iteration,
                best: best[0],
                best_position: best[1..].to_vec(),
                positions: positions[rows.clone()].to_vec(),
                velocities: velocities[rows].to_vec(),
            }
        };
        Ok(headers.iter().zip(bests.chunks_exact(1 + dims)).map(frame).collect())
    }
}
