//! Arguments that say how the swarm searches.

use std::path::Path;

use anyhow::{Context, bail};
use clap::Args;
use flockwork::{
    io,
    swarm::{
        Coefficients, Edge, Method, Mode, Neighbourhood, Options, Polish, Precision, Preset,
        Problem, Randomness, Restart, Rule, Schedule, Start,
    },
};

use super::parse::{by_rule, choice, speed, whole};

#[derive(Args)]
pub struct SwarmArguments {
    /// A set of options; options given beside it override its own. It is either a rule as
    /// published, with 40 particles; the standard swarm of 2006 (robust); or small and large swarms
    /// with restarts and polishing, for a million evaluations or as many as --evaluations allows
    /// (thorough) [default: default].
    #[arg(
        long,
        value_parser = choice(Preset::ALL, Preset::name),
        conflicts_with = "rule",
        help_heading = SWARM
    )]
    preset: Option<Preset>,
    #[arg(
        long,
        short = 'p',
        help_heading = SWARM,
        help = format!(
            "Number of particles [default: {}; 40 or fewer in presets]. Unless options, --rule or another \
             --preset say otherwise, swarms of fewer than {} particles have two random informants, and \
             --randomness per-particle if there are at least dimensions x dimensions particles, \
             otherwise the inertia and coefficients of standard-2011",
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
    /// Whether all particles finish an iteration before the next begins (synchronous) or move on
    /// independently (asynchronous). Asynchronous results depend on timing [default: synchronous].
    #[arg(long, value_parser = choice(Mode::ALL, Mode::name), help_heading = SWARM)]
    mode: Option<Mode>,
    /// Where the particles start: uniform in the box; in a Latin hypercube; at Sobol points; at the
    /// better of a uniform point and its opposite (opposition); or at the points in FILE, text (a
    /// point a line) or .npy, with any further particles uniform [default: uniform].
    #[arg(
        long,
        value_name = "uniform|latin-hypercube|sobol|opposition|FILE",
        help_heading = SWARM
    )]
    start: Option<String>,
    #[command(flatten)]
    rule: RuleArguments,
    #[command(flatten)]
    restart: RestartArguments,
    /// Refine the result by a local method when the swarm stops improving, or before a restart: a
    /// pattern search along the axes (pattern), adaptive coordinate descent (adaptive), a line
    /// search along each axis for separable sums (line), CMA-ES (covariance), or none, whatever the
    /// preset says [default: the preset's, usually none].
    #[arg(
        long,
        value_name = "METHOD",
        value_parser = finish,
        help_heading = "Polishing and restarts"
    )]
    polish: Option<Finish>,
}

/// The value of `--polish`. clap would take an `Option` in an `Option` to mean that METHOD is
/// optional.
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
        format!("expected one of {}, none", names.join(", "))
    })
}

const SWARM: &str = "Swarm";

#[derive(Args)]
#[command(next_help_heading = "Rule (defaults: those that each rule was published with)")]
struct RuleArguments {
    /// How particles move: with an inertia weight or constriction; fully informed by all
    /// neighbours; the standard swarm of 2011; bare bones; comprehensive learning [default:
    /// inertia, or the preset's].
    #[arg(long, value_parser = choice(Rule::ALL, Rule::name))]
    rule: Option<Rule>,
    #[arg(
        long,
        allow_negative_numbers = true,
        help = by_rule("Inertia weight; with a schedule, its first value", |o| {
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
        help = by_rule("Cognitive coefficient: pull towards the personal best", |o| {
            coefficients(o).cognitive.to_string()
        })
    )]
    cognitive: Option<f64>,
    #[arg(
        long,
        allow_negative_numbers = true,
        help = by_rule("Social coefficient: pull towards the best of the informants", |o| {
            coefficients(o).social.to_string()
        })
    )]
    social: Option<f64>,
    #[arg(
        long,
        value_parser = choice(Schedule::ALL, Schedule::name),
        help = by_rule(
            "How the inertia weight changes: not at all; linearly to its last value; or at random \
             between the two in each iteration",
            |o| o.schedule.to_string()
        )
    )]
    schedule: Option<Schedule>,
    #[arg(
        long,
        value_parser = choice(Randomness::ALL, Randomness::name),
        help = by_rule("Whether each particle or each of its dimensions draws random coefficients", |o| {
            o.randomness.iter().map(ToString::to_string).collect()
        })
    )]
    randomness: Option<Randomness>,
    #[arg(
        long,
        visible_alias = "neighborhood",
        value_name = "global|ring:K|von-neumann|random:K",
        help = by_rule(
            "Which particles inform each other: all; K neighbours on each side of a ring; the four \
             neighbours on a grid; K drawn at random",
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
            "Greatest speed in each dimension, as a share of the box per iteration, or `none`",
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
            "With the rule comprehensive, a particle chooses new exemplars after this many iterations \
             without improvement [default: {}]",
            Options::default().patience
        ),
        value_parser = whole::<u32>
    )]
    patience: Option<u32>,
}

#[derive(Args)]
#[command(next_help_heading = "Polishing and restarts")]
struct RestartArguments {
    /// Replace a swarm that no longer improves by a new one; the best of all swarms is the result.
    #[arg(long)]
    restart: bool,
    #[arg(
        long,
        value_name = "ITERATIONS",
        requires = "restart",
        help = format!(
            "Restart after this many iterations without improvement [default: {}]",
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
            "Restart when the particles' root mean square distance from the global best falls below \
             this share of the box [default: {:?}]",
            Restart::default().spread
        )
    )]
    restart_spread: Option<f64>,
    #[arg(
        long,
        value_name = "FACTOR",
        requires = "restart",
        help = format!(
            "Each new swarm has this many times the particles of the last [default: {}]",
            Restart::default().growth
        )
    )]
    restart_growth: Option<f64>,
    #[arg(
        long,
        value_name = "N",
        requires = "restart",
        help = format!("Greatest number of particles after a restart [default: {}]", Restart::default().most_particles),
        value_parser = whole::<u32>
    )]
    restart_particles: Option<u32>,
}

/// The coefficients, by default those of constriction.
fn coefficients(options: &Options) -> Coefficients {
    options.coefficients.unwrap_or(Coefficients::CONSTRICTION)
}

fn set<T>(place: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *place = given;
    }
}

impl SwarmArguments {
    /// The file of starting points, if `--start` names one.
    pub fn start_file(&self) -> Option<&Path> {
        let start = self.start.as_deref()?;
        named_start(start).is_none().then_some(Path::new(start))
    }

    /// The precision that was given, or this.
    pub fn precision_or(&self, usual: Precision) -> Precision {
        self.precision.unwrap_or(usual)
    }

    /// An option that was given and that only a swarm has, a search being in `f64`.
    pub fn of_swarm(&self) -> Option<&'static str> {
        let single = self.precision == Some(Precision::F32);
        self.of_swarm_alone().or(single.then_some("--precision f32"))
    }

    /// An option that was given and that only a swarm has.
    pub fn of_swarm_alone(&self) -> Option<&'static str> {
        let (rule, restart) = (&self.rule, &self.restart);
        [
            ("--preset", self.preset.is_some()),
            ("--particles", self.particles.is_some()),
            ("--mode", self.mode.is_some()),
            ("--start", self.start.is_some()),
            ("--polish", self.polish.is_some()),
            ("--rule", rule.rule.is_some()),
            ("--inertia", rule.inertia.is_some()),
            ("--last-inertia", rule.last_inertia.is_some()),
            ("--cognitive", rule.cognitive.is_some()),
            ("--social", rule.social.is_some()),
            ("--schedule", rule.schedule.is_some()),
            ("--randomness", rule.randomness.is_some()),
            ("--neighbourhood", rule.neighbourhood.is_some()),
            ("--edge", rule.edge.is_some()),
            ("--max-velocity", rule.max_velocity.is_some()),
            ("--patience", rule.patience.is_some()),
            ("--restart", restart.restart),
        ]
        .into_iter()
        .find_map(|(option, given)| given.then_some(option))
    }

    /// Whether polishing is off, whatever the preset says.
    pub fn never_polishes(&self) -> bool {
        self.polish == Some(Finish::Never)
    }

    /// The options of a run of this problem, without its limits and records; those of `usual` if neither a
    /// rule nor a preset is given.
    pub fn options_from(&self, usual: Options, problem: &Problem) -> anyhow::Result<Options> {
        let mut options = match (self.rule.rule, self.preset) {
            (Some(rule), _) => {
                let Options { particles, iterations, precision, .. } = usual;
                Options { particles, iterations, precision, ..Options::for_rule(rule) }
            }
            (None, None | Some(Preset::Default)) => usual,
            (None, Some(preset)) => Options::preset_for(preset, problem),
        };
        set(&mut options.particles, self.particles);
        options.seed = self.seed;
        set(&mut options.precision, self.precision.map(Some));
        options.mode = self.mode.unwrap_or_default();
        self.rule.apply(&mut options, problem.dims())?;
        if let Some(given) = &self.start {
            options.start = start(given, problem.dims())?;
        }
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
    /// Applies the given options to a run with this many dimensions.
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
                bail!("--last-inertia needs a schedule: --schedule linear or --schedule random")
            }
            (Schedule::Constant, None) => coefficients.last_inertia = coefficients.inertia,
            (_, Some(last)) => coefficients.last_inertia = last,
            (schedule, None) if schedule != published && published == Schedule::Constant => {
                bail!("--schedule {schedule} needs --last-inertia, the last inertia weight")
            }
            _ => {}
        }
        options.coefficients = Some(coefficients);
        set(&mut options.edge, self.edge);
        set(&mut options.max_velocity, self.max_velocity);
        set(&mut options.patience, self.patience);
        Ok(())
    }

    /// Refuses options that would have no effect.
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
                bail!("{option} does not apply to the rule {rule}, which does not use it");
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

/// A start that is no file, by its name in saved runs.
fn named_start(text: &str) -> Option<Start> {
    serde_json::from_value(text.into()).ok()
}

/// The start: a name, or a file of points.
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
