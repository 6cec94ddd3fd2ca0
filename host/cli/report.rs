//! The result of a run, as text and as JSON.

use std::path::Path;

use flockwork::{
    backend::{AnyBackend, Backend},
    command::Command,
    formula::Formula,
    objective::Goal,
    swarm::{
        Agreement, Constraint, Edge, Islands, Options, Outcome, Precision, Problem, Relation,
        StopReason, Variable,
    },
};
use serde_json::{Value, json};

use super::shown::Shown;

/// A run's problem, options and back end.
pub struct Run<'a> {
    pub problem: &'a Problem,
    pub options: &'a Options,
    pub backend: &'a AnyBackend,
}

/// What the goal seeks, in a word.
pub fn sought(goal: Goal) -> &'static str {
    match goal {
        Goal::Minimise => "minimum",
        Goal::Maximise => "maximum",
    }
}

impl Run<'_> {
    /// The run in one line, as a title.
    pub fn title(&self) -> String {
        let (problem, options) = (self.problem, self.options);
        if let Some(searches) = options.searches {
            let lanes = match searches.lanes {
                Some(1) | None => "one after the other".to_owned(),
                Some(lanes) => format!("{lanes} side by side"),
            };
            return format!(
                "{}, {} dimensions, searches by CMA-ES, {lanes}, f64, seed {}",
                problem.name(),
                problem.dims(),
                options.seed
            );
        }
        let swarms = match options.islands {
            Some(islands) => format!("{} islands of ", islands.count),
            None => String::new(),
        };
        format!(
            "{}, {} dimensions, {swarms}{} particles, {}, seed {}",
            problem.name(),
            problem.dims(),
            options.particles,
            options.settled_for(problem).precision.map_or("", |precision| precision.name()),
            options.seed
        )
    }

    /// What is known before the run.
    pub fn statement(&self) -> Value {
        let Self { problem, options, backend } = self;
        let known = problem.optimum();
        let variable = |variable: &Variable| match variable {
            Variable::Continuous => "continuous",
            Variable::Integer => "integer",
            Variable::Periodic => "periodic",
        };
        let mut statement = json!({
            "function": problem.name(),
            "formula": problem.formula().map(Formula::text),
            "command": problem.command().map(Command::text),
            "names": problem.names(),
            "goal": sought(problem.goal()),
            "dims": problem.dims(),
            "lower": problem.lower(),
            "upper": problem.upper(),
            "variables": problem.variables().iter().map(variable).collect::<Vec<_>>(),
            "shift": problem.shift(),
            "shift_seed": problem.shift_seed(),
            "rotation_seed": problem.rotation_seed(),
            "known_optimum": known.as_ref().map(|known| known.value),
            "known_optimum_position": known.and_then(|known| known.position),
            "options": options,
            "backend": {
                "name": backend.name(),
                "description": backend.description(),
                "reason": backend.reason(),
            },
        });
        let constraints = problem.constraint_texts();
        if !constraints.is_empty() {
            statement["subject_to"] = json!(constraints);
            statement["equal_within"] = json!(problem.tolerance());
        }
        statement
    }

    pub fn json(&self, outcome: &Outcome) -> String {
        let mut object = self.statement();
        object["evaluations_per_second"] = json!(outcome.evaluations_per_second());
        object["result"] = json!(outcome);
        if !outcome.constraints.is_empty() {
            object["feasible"] = json!(outcome.is_feasible());
        }
        if let Some(tally) = self.problem.tally() {
            object["programs"] = json!(tally);
        }
        format!("{object}\n")
    }

    /// A line saying that a position is outside the box, if it is.
    fn outside(&self, position: &[f64]) -> Option<String> {
        let Self { problem, options, .. } = self;
        let is_single = options.settled_for(problem).precision == Some(Precision::F32);
        // In f32 the bounds are rounded, too.
        let rounded = |bound: f64| if is_single { f64::from(bound as f32) } else { bound };
        let is_outside = |d: usize| {
            let (lower, upper) = (problem.lower()[d], problem.upper()[d]);
            position[d] < lower.min(rounded(lower)) || position[d] > upper.max(rounded(upper))
        };
        let first = (0..position.len()).find(|&d| is_outside(d))?;
        let (x, lower, upper) = (position[first], problem.lower()[first], problem.upper()[first]);
        let more = match (first + 1..position.len()).filter(|&d| is_outside(d)).count() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let why = match options.edge {
            Edge::None => " (--edge none lets particles leave it)",
            _ => "",
        };
        Some(format!(
            "outside     the box: {} is {x:.6}, the bounds are {lower} and {upper}{more}{why}",
            problem.names().map_or_else(|| format!("x{first}"), |names| names[first].clone())
        ))
    }

    /// A line about the programs that failed, if any did.
    fn failures(&self) -> Option<String> {
        let tally = self.problem.tally()?;
        let first = tally.first_failure?;
        Some(format!(
            "failed      at {} of {} points; the first: {first}",
            tally.failed, tally.evaluated
        ))
    }

    /// The report. `files` are the files written; `saved` is where the run was saved.
    pub fn text(&self, outcome: &Outcome, files: &[&Path], saved: Option<&Path>) -> String {
        let Self { problem, backend, .. } = self;
        let known = problem.optimum();
        let sought = sought(problem.goal());
        let outside = self.outside(&outcome.position);
        let restarts = match outcome.restarts {
            _ if outcome.agreement.is_some() => String::new(),
            0 => String::new(),
            1 => ", after 1 restart".to_owned(),
            restarts => format!(", after {restarts} restarts"),
        };
        let what = match (outcome.agreement.is_some(), outcome.iterations) {
            (true, 1) => "round",
            (true, _) => "rounds",
            (false, 1) => "iteration",
            (false, _) => "iterations",
        };
        let target = match (outcome.stopped, self.options.stop.target) {
            (StopReason::Target, Some(target)) => format!(": {target:e}"),
            _ => String::new(),
        };
        let migration = match self.options.islands {
            Some(Islands { count, every, migrants, migration }) if count > 1 => {
                format!(", {migration} migration of {migrants} every {every}")
            }
            _ => String::new(),
        };
        let mut lines = vec![
            self.title(),
            format!(
                "back end    {}: {} ({})",
                backend.name(),
                backend.description(),
                backend.reason()
            ),
            format!(
                "done        {} {what}{migration}, {:.4e} evaluations in {:.3} s: {:.4e} a second \
                 (start-up {:.3} s)",
                outcome.iterations,
                outcome.evaluations as f64,
                outcome.elapsed.as_secs_f64(),
                outcome.evaluations_per_second(),
                outcome.startup.as_secs_f64()
            ),
            format!("ended       {}{target}{restarts}", outcome.stopped.sentence()),
            match &known {
                _ if !outcome.is_feasible() => {
                    "best value  none: no point with a value was found that satisfies all constraints".to_owned()
                }
                Some(known) => {
                    let within = if outside.is_some() { " in the box" } else { "" };
                    let (value, known) = (outcome.value, known.value);
                    format!("best value  {value:e} (known {sought}{within} {known:e})")
                }
                None => format!("best value  {:e}", outcome.value),
            },
            match outcome.is_feasible() {
                true => format!("at          {}", point(problem, &outcome.position)),
                false => format!("closest at  {}", point(problem, &outcome.position)),
            },
        ];
        let agreement = outcome.agreement.filter(|_| outcome.is_feasible());
        if let Some(Agreement { ended, agreeing }) = agreement {
            lines.insert(
                5,
                match ended {
                    0 => "how sure    no search had ended".to_owned(),
                    _ => format!("how sure    {agreeing} of {ended} searches ended at this value"),
                },
            );
        }
        if let (Some(island), Some(islands)) = (outcome.island, self.options.islands) {
            let last = islands.count - 1;
            lines.insert(5, format!("found by    island {island} of 0 to {last}"));
        }
        if outcome.evaluations_on_cpu > 0 {
            let which = match outcome.evaluations_on_cpu == outcome.evaluations_timed {
                true => "all of them".to_owned(),
                false => format!("the first {:.4e}", outcome.evaluations_on_cpu as f64),
            };
            let line =
                format!("            {which} on the CPU, while the driver compiled the kernel");
            lines.insert(3, line);
        }
        let mut constraints = outcome.constraints.iter().map(limit);
        lines.extend(constraints.next().map(|first| format!("subject to  {first}")));
        lines.extend(constraints.map(|next| format!("            {next}")));
        lines.extend(outside);
        lines.extend(self.failures());
        if let Some(position) = known.and_then(|known| known.position) {
            lines.push(format!("{sought} at  {}", point(problem, &position)));
        }
        if !files.is_empty() {
            let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
            lines.push(format!("written     {}", names.join(", ")));
        }
        let early = matches!(outcome.stopped, StopReason::Interrupted | StopReason::Time);
        if let Some(file) = saved {
            let how = if early { "; resume with" } else { "; continue with" };
            let file = file.display();
            lines.push(format!("saved       {file}{how}: flockwork resume {file}"));
        }
        lines.join("\n") + "\n"
    }
}

/// A constraint at the best point.
fn limit(constraint: &Constraint) -> String {
    let Constraint { text, relation, left, right, active, violation, .. } = constraint;
    let what = match violation {
        violation if violation.is_nan() => "without a value".to_owned(),
        0.0 if *relation == Relation::Equal => {
            format!("satisfied within {:e}", (left - right).abs())
        }
        0.0 if *active => "active".to_owned(),
        0.0 => "not active".to_owned(),
        _ => format!("violated by {violation:e}"),
    };
    let sign = relation.sign();
    format!("{text}: {:.7} {sign} {:.7}, {what}", Shown(*left), Shown(*right))
}

/// The first coordinates of a point; JSON has them all. Of a problem whose variables have names, all
/// with their names.
fn point(problem: &Problem, position: &[f64]) -> String {
    const SHOWN: usize = 8;
    /// Of a box as narrow as this, six decimals do not tell places apart.
    const NARROW: f64 = 1e-2;
    if let Some(names) = problem.names() {
        let shown = |(nth, (name, x)): (usize, (&String, &f64))| {
            let whole = problem.variables()[nth] == Variable::Integer;
            if whole { format!("{name} = {x}") } else { format!("{name} = {:.7}", Shown(*x)) }
        };
        let named = names.iter().zip(position).enumerate().map(shown);
        return named.collect::<Vec<_>>().join(", ");
    }
    let shown = |(nth, x): (usize, &f64)| {
        if problem.upper()[nth] - problem.lower()[nth] < NARROW {
            return format!("{:.7}", Shown(*x));
        }
        let text = format!("{x:.6}");
        // Of no use to anyone: the sign of a number that is rounded to zero.
        if text == "-0.000000" { "0.000000".to_owned() } else { text }
    };
    let mut text: Vec<_> = position.iter().enumerate().take(SHOWN).map(shown).collect();
    if position.len() > SHOWN {
        text.push(format!("... ({} more, see --json)", position.len() - SHOWN));
    }
    format!("({})", text.join(", "))
}
