//! How the swarm searches.

use std::path::Path;

use anyhow::{Context, bail};
use clap::Args;
use flockwork::{
    io,
    swarm::{
        Coefficients, Edge, Method, Mode, Neighbourhood, Options, Polish, Precision, Preset,
        Randomness, Restart, Rule, Schedule, Start,
    },
};

use super::parse::{by_rule, choice, speed, whole};

#[derive(Args)]
pub struct SwarmArguments {
    /// Options that go together, of which others given change theirs: a rule as it was published,
    /// with 40 particles; the standard swarm of 2006 (robust); small and large swarms with
    /// restarts and polishing, until a million evaluations or --evaluations are done (thorough).
    #[arg(
        long,
        value_parser = choice(Preset::ALL, Preset::name),
        default_value_t = Preset::Default,
        conflicts_with = "rule",
        help_heading = SWARM
    )]
    preset: Preset,
    #[arg(
        long,
        short = 'p',
        help_heading = SWARM,
        help = format!(
            "Number of particles [default: {}; 40 or fewer in presets]. With fewer than {}, what is \
             not given by options, --rule or another --preset is: two random informants; \
             --randomness per-particle if there are at least dimensions x dimensions particles, \
             else the inertia and the coefficients of standard-2011",
            Options::default().particles,
            Options::MANY
        ),
        value_parser = whole::<u32>
    )]
    particles: Option<u32>,
    /// Seed of all random numbers: the same seed gives the same bits on every back end.
    #[arg(long, short = 's', default_value_t = Options::default().seed, help_heading = SWARM, value_parser = whole::<u64>)]
    pub seed: u64,
    #[arg(
        long,
        value_parser = choice(Precision::ALL, Precision::name),
        help_heading = SWARM,
        help = format!(
            "The arithmetic [default: {}; in the preset thorough f64]",
            Precision::F32
        )
    )]
    precision: Option<Precision>,
    /// Whether particles wait for each other in every iteration. Asynchronous, the result depends on
    /// timing.
    #[arg(
        long,
        value_parser = choice(Mode::ALL, Mode::name),
        default_value_t = Options::default().mode,
        help_heading = SWARM
    )]
    mode: Mode,
    /// Where the particles start: uniform in the box; in a Latin hypercube; at Sobol points; uniform
    /// or at the opposite point, whichever is better (opposition); or at the points of a FILE, text
    /// (a point a line) or .npy, and the others uniform.
    #[arg(
        long,
        value_name = "uniform|latin-hypercube|sobol|opposition|FILE",
        default_value = "uniform",
        help_heading = SWARM
    )]
    start: String,
    #[command(flatten)]
    rule: RuleArguments,
    #[command(flatten)]
    restart: RestartArguments,
    /// Finish with something sharper, where the swarm no longer improves, or before a restart: polls
    /// along the axes (pattern), adaptive coordinate descent (adaptive), a search along each axis for
    /// sums over them (line), CMA-ES (covariance); or nothing, whatever the preset says (none)
    /// [default: the preset's, in most none].
    #[arg(
        long,
        value_name = "METHOD",
        value_parser = finish,
        help_heading = "Polishing and restarts"
    )]
    polish: Option<Finish>,
}

/// What `--polish` says. An `Option` in an `Option` would say to clap that METHOD may be left out.
#[derive(Clone, Copy, PartialEq)]
enum Finish {
    By(Method),
    Never,
}

fn finish(text: &str) -> Result<Finish, String> {
    if text == "none" {
        return Ok(Finish::Never);
    }
    text.parse().map(Finish::By).map_err(|_: flockwork::Error| {
        let names: Vec<_> = Method::ALL.iter().map(|method| method.name()).collect();
        format!("it must be one of {}, none", names.join(", "))
    })
}

const SWARM: &str = "Swarm";

#[derive(Args)]
#[command(next_help_heading = "Rule (defaults: those that each rule was published with)")]
struct RuleArguments {
    /// How particles move: by inertia weight or constriction; drawn by all informants; the standard
    /// swarm of 2011; bare bones; comprehensive learning [default: inertia, or the preset's].
    #[arg(long, value_parser = choice(Rule::ALL, Rule::name))]
    rule: Option<Rule>,
    #[arg(
        long,
        allow_negative_numbers = true,
        help = by_rule("Inertia weight; with a schedule, the first", |o| {
            coefficients(o).inertia.to_string()
        })
    )]
    inertia: Option<f64>,
    #[arg(
        long,
        allow_negative_numbers = true,
        help = by_rule("Inertia weight at the end of a schedule", |o| match o.schedule {
            Schedule::Constant => "none".to_owned(),
            _ => coefficients(o).last_inertia.to_string(),
        })
    )]
    last_inertia: Option<f64>,
    #[arg(
        long,
        allow_negative_numbers = true,
        help = by_rule("Cognitive coefficient: pull towards the particle's own best", |o| {
            coefficients(o).cognitive.to_string()
        })
    )]
    cognitive: Option<f64>,
    #[arg(
        long,
        allow_negative_numbers = true,
        help = by_rule("Social coefficient: pull towards the best of its informants", |o| {
            coefficients(o).social.to_string()
        })
    )]
    social: Option<f64>,
    #[arg(
        long,
        value_parser = choice(Schedule::ALL, Schedule::name),
        help = by_rule(
            "How the inertia weight goes: it stays; in a straight line to the last; or in each \
             iteration a random one between the two",
            |o| o.schedule.to_string()
        )
    )]
    schedule: Option<Schedule>,
    #[arg(
        long,
        value_parser = choice(Randomness::ALL, Randomness::name),
        help = by_rule("What random coefficients are drawn for", |o| {
            o.randomness.iter().map(ToString::to_string).collect()
        })
    )]
    randomness: Option<Randomness>,
    #[arg(
        long,
        visible_alias = "neighborhood",
        value_name = "global|ring:K|von-neumann|random:K",
        help = by_rule(
            "Who informs whom: all particles all others; K neighbours on each side of a ring; the \
             four on a grid; K drawn at random",
            |o| o.neighbourhood.iter().map(ToString::to_string).collect()
        )
    )]
    neighbourhood: Option<Neighbourhood>,
    #[arg(
        long,
        value_parser = choice(Edge::ALL, Edge::name),
        help = by_rule("What happens to a particle that would leave the box", |o| {
            o.edge.to_string()
        })
    )]
    edge: Option<Edge>,
    #[arg(
        long,
        value_name = "SHARE",
        value_parser = speed,
        allow_hyphen_values = true,
        help = by_rule(
            "Greatest speed in each dimension, as a share of the box an iteration; or `none`",
            |o| match o.max_velocity {
                f64::INFINITY => "none".to_owned(),
                speed => speed.to_string(),
            }
        )
    )]
    max_velocity: Option<f64>,
    #[arg(
        long,
        value_name = "ITERATIONS",
        help = format!(
            "Rule comprehensive: a particle chooses anew from whom it learns after so many \
             iterations without improvement [default: {}]",
            Options::default().patience
        ),
        value_parser = whole::<u32>
    )]
    patience: Option<u32>,
}

#[derive(Args)]
#[command(next_help_heading = "Polishing and restarts")]
struct RestartArguments {
    /// Put a new swarm in the place of one that no longer improves; the best of all is the result.
    #[arg(long)]
    restart: bool,
    #[arg(
        long,
        value_name = "ITERATIONS",
        requires = "restart",
        help = format!(
            "After so many iterations without improvement [default: {}]",
            Restart::default().patience
        ),
        value_parser = whole::<u32>
    )]
    restart_patience: Option<u32>,
    #[arg(
        long,
        value_name = "SHARE",
        requires = "restart",
        help = format!(
            "Or when the particles' root mean square distance from the best is below this share \
             of the box [default: {:?}]",
            Restart::default().spread
        )
    )]
    restart_spread: Option<f64>,
    #[arg(
        long,
        value_name = "FACTOR",
        requires = "restart",
        help = format!(
            "The next swarm has so many times the particles [default: {}]",
            Restart::default().growth
        )
    )]
    restart_growth: Option<f64>,
    #[arg(
        long,
        value_name = "N",
        requires = "restart",
        help = format!("But no more than this [default: {}]", Restart::default().most_particles),
        value_parser = whole::<u32>
    )]
    restart_particles: Option<u32>,
}

/// Those of constriction, unless others are given.
fn coefficients(options: &Options) -> Coefficients {
    options.coefficients.unwrap_or(Coefficients::CONSTRICTION)
}

fn set<T>(place: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *place = given;
    }
}

impl SwarmArguments {
    /// The options of a run in so many dimensions, without its limits and records.
    pub fn options(&self, dims: u32) -> anyhow::Result<Options> {
        self.options_from(Options::default(), dims)
    }

    /// The file of points to start at, if that is one.
    pub fn start_file(&self) -> Option<&Path> {
        named_start(&self.start).is_none().then_some(Path::new(&self.start))
    }

    /// Whether nothing shall finish, whatever the preset says.
    pub fn never_polishes(&self) -> bool {
        self.polish == Some(Finish::Never)
    }

    /// The same, where neither a rule nor a preset is given from these.
    pub fn options_from(&self, usual: Options, dims: u32) -> anyhow::Result<Options> {
        let mut options = match (self.rule.rule, self.preset) {
            (Some(rule), _) => {
                let Options { particles, iterations, precision, .. } = usual;
                Options { particles, iterations, precision, ..Options::for_rule(rule) }
            }
            (None, Preset::Default) => usual,
            (None, preset) => Options::preset(preset),
        };
        set(&mut options.particles, self.particles);
        options.seed = self.seed;
        set(&mut options.precision, self.precision.map(Some));
        options.mode = self.mode;
        self.rule.apply(&mut options, dims)?;
        options.start = start(&self.start, dims)?;
        if let Some(restart) = self.restart.restart() {
            options.restart = Some(restart);
        }
        match self.polish {
            Some(Finish::By(method)) => options.polish = Some(Polish::new(method)),
            Some(Finish::Never) => options.polish = None,
            None => {}
        }
        Ok(options)
    }
}

impl RuleArguments {
    /// Sets what was given, for a run in so many dimensions.
    fn apply(&self, options: &mut Options, dims: u32) -> anyhow::Result<()> {
        self.check(options.rule)?;
        let published = options.schedule;
        set(&mut options.schedule, self.schedule);
        set(&mut options.randomness, self.randomness.map(Some));
        set(&mut options.neighbourhood, self.neighbourhood.map(Some));
        let mut coefficients = coefficients(&options.settled(dims));
        set(&mut coefficients.inertia, self.inertia);
        set(&mut coefficients.cognitive, self.cognitive);
        set(&mut coefficients.social, self.social);
        match (options.schedule, self.last_inertia) {
            (Schedule::Constant, Some(_)) => {
                bail!(
                    "--last-inertia needs a schedule that leads there: --schedule linear or random"
                )
            }
            (Schedule::Constant, None) => coefficients.last_inertia = coefficients.inertia,
            (_, Some(last)) => coefficients.last_inertia = last,
            (schedule, None) if schedule != published && published == Schedule::Constant => {
                bail!("--schedule {schedule} needs --last-inertia, the inertia weight at its end")
            }
            _ => {}
        }
        options.coefficients = Some(coefficients);
        set(&mut options.edge, self.edge);
        set(&mut options.max_velocity, self.max_velocity);
        set(&mut options.patience, self.patience);
        Ok(())
    }

    /// Refuses what would have no effect.
    fn check(&self, rule: Rule) -> anyhow::Result<()> {
        let weighted = rule != Rule::BareBones;
        let guided = weighted && rule != Rule::Comprehensive;
        for (option, given, has) in [
            ("--inertia", self.inertia.is_some(), weighted),
            ("--last-inertia", self.last_inertia.is_some(), weighted),
            ("--schedule", self.schedule.is_some(), weighted),
            ("--cognitive", self.cognitive.is_some(), weighted),
            ("--social", self.social.is_some(), guided),
            ("--patience", self.patience.is_some(), rule == Rule::Comprehensive),
        ] {
            if given && !has {
                bail!("{option} does not apply to the rule {rule}, which has no such number");
            }
        }
        Ok(())
    }
}

impl RestartArguments {
    fn restart(&self) -> Option<Restart> {
        let mut restart = Restart::default();
        set(&mut restart.patience, self.restart_patience);
        set(&mut restart.spread, self.restart_spread);
        set(&mut restart.growth, self.restart_growth);
        set(&mut restart.most_particles, self.restart_particles);
        self.restart.then_some(restart)
    }
}

/// A start that is no file, as saved runs spell it.
fn named_start(text: &str) -> Option<Start> {
    serde_json::from_value(text.into()).ok()
}

/// Where a swarm starts: a name as saved runs spell it, or a file of points.
fn start(text: &str, dims: u32) -> anyhow::Result<Start> {
    if let Some(named) = named_start(text) {
        return Ok(named);
    }
    let points = io::read_points(Path::new(text), dims).with_context(|| {
        format!(
            "--start is {text:?}, which is neither uniform, latin-hypercube, sobol, opposition nor \
             a file of points"
        )
    })?;
    Ok(Start::Points(points.chunks_exact(dims as usize).map(<[f64]>::to_vec).collect()))
}
