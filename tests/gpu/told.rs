//! Swarms whose points the caller evaluates have the CPU's bits, wherever the values come from.

use std::time::Duration;

use flockwork::{
    backend::Cuda,
    swarm::{
        AskTell, AskTellOnGpu, Checkpoint, Edge, Neighbourhood, Options, Outcome, Precision,
        Problem, Rule, Search, StopReason, ValuesOnGpu, Variable,
    },
};
use libtest_mimic::{Failed, Trial};

fn bowl(x: &[f64]) -> f64 {
    x.iter().zip(1..).map(|(x, i)| f64::from(i) * (x - 0.3).powi(2)).sum::<f64>() - x[0].abs()
}

fn search(problem: &Problem, options: &Options) -> Search {
    Search::new(problem.clone()).options(options.clone())
}

/// Evaluates some generations, or all.
fn evaluated(mut swarm: AskTellOnGpu, generations: usize) -> Result<Outcome, Failed> {
    for _ in 0..generations {
        let Some(points) = swarm.ask().cloned() else { break };
        let numbers = points.to_vec()?;
        let values: Vec<f64> = numbers.chunks_exact(points.dims()).map(bowl).collect();
        swarm.tell(&values)?;
    }
    Ok(swarm.outcome()?)
}

fn on_cpu(problem: &Problem, options: &Options) -> Result<Outcome, Failed> {
    let mut here = AskTell::new(search(problem, options))?;
    while let Some(points) = here.ask() {
        let values: Vec<f64> = points.rows().map(bowl).collect();
        here.tell(&values)?;
    }
    Ok(here.outcome()?)
}

fn same(found: &Outcome, expected: &Outcome) -> Result<(), Failed> {
    let seen = |outcome: &Outcome| {
        let Outcome { value, position, iterations, evaluations, restarts, stopped, .. } = outcome;
        (*value, position.clone(), *iterations, *evaluations, *restarts, *stopped)
    };
    if seen(found) == seen(expected) {
        return Ok(());
    }
    Err(format!("{:?}, and on the CPU {:?}", seen(found), seen(expected)).into())
}

pub fn trials() -> Vec<Trial> {
    let trial =
        |name: &str, run: fn() -> Result<(), Failed>| Trial::test(format!("told::{name}"), run);
    vec![
        trial("same_bits_as_cpu", || {
            let options = |particles| Options { particles, iterations: 40, ..Options::default() };
            let single = Options { precision: Some(Precision::F32), ..options(3000) };
            let ring = Options {
                neighbourhood: Some(Neighbourhood::Ring(2)),
                edge: Edge::Reflect,
                ..options(777)
            };
            let learning = Options {
                particles: 100,
                iterations: 60,
                ..Options::for_rule(Rule::Comprehensive)
            };
            for (dims, options) in
                [(1, options(5)), (3, options(70_001)), (37, single), (129, ring), (10, learning)]
            {
                let problem = Problem::elsewhere(vec![-2.0; dims], vec![2.0; dims])?;
                let swarm = AskTellOnGpu::new(search(&problem, &options), &Cuda::open(0)?)?;
                same(&evaluated(swarm, usize::MAX)?, &on_cpu(&problem, &options)?)?;
            }
            Ok(())
        }),
        trial("restarts_targets_and_whole_numbers", || {
            let problem = Problem::elsewhere(vec![-9.0; 2], vec![9.0; 2])?
                .with_variables(vec![Variable::Integer, Variable::Continuous])?;
            let mut options = Options { particles: 60, iterations: 4000, ..Options::default() };
            options.restart = Some(flockwork::swarm::Restart::default());
            options.stop.evaluations = Some(90_000);
            let swarm = AskTellOnGpu::new(search(&problem, &options), &Cuda::open(0)?)?;
            let whole = on_cpu(&problem, &options)?;
            same(&evaluated(swarm, usize::MAX)?, &whole)?;
            options.stop.target = Some(whole.value + 1e-3);
            let swarm = AskTellOnGpu::new(search(&problem, &options), &Cuda::open(0)?)?;
            let reached = evaluated(swarm, usize::MAX)?;
            assert_eq!(reached.stopped, StopReason::Target);
            same(&reached, &on_cpu(&problem, &options)?)
        }),
        trial("ends_early_and_resumes", || {
            let folder = tempfile::tempdir()?;
            let path = folder.path().join("run");
            let problem = Problem::elsewhere(vec![-2.0; 5], vec![2.0; 5])?;
            let options = Options { particles: 200, iterations: 50, ..Options::default() };
            let gpu = Cuda::open(0)?;
            let part = search(&problem, &options).save(&path, Duration::ZERO);
            let part = evaluated(AskTellOnGpu::new(part, &gpu)?, 20)?;
            assert_eq!(part.stopped, StopReason::Interrupted);
            assert!(part.iterations < 20, "{}", part.iterations);
            let whole = on_cpu(&problem, &options)?;
            let checkpoint = Checkpoint::read(&path)?;
            let rest = AskTellOnGpu::resume(&checkpoint, &problem, &gpu, None)?;
            same(&evaluated(rest, usize::MAX)?, &whole)?;
            // What is not saved ends with all that it was told.
            let part = AskTellOnGpu::new(search(&problem, &options), &gpu)?;
            assert_eq!(evaluated(part, 20)?.iterations, 19);
            Ok(())
        }),
        trial("values_stay_on_the_gpu", || {
            let problem = Problem::elsewhere(vec![0.5], vec![2.0])?;
            let options = Options { particles: 1000, iterations: 30, ..Options::default() };
            let mut swarm = AskTellOnGpu::new(search(&problem, &options), &Cuda::open(0)?)?;
            let mut held = Vec::new();
            while let Some(points) = swarm.ask().cloned() {
                // The function is x itself.
                let (address, count) = (points.address(), points.len());
                let stream = Some(points.stream()).filter(|_| held.len() % 2 == 0);
                let values = ValuesOnGpu { address, count, precision: Precision::F64, stream };
                // SAFETY: so many numbers lie there, and nobody writes them while the points are held.
                unsafe { swarm.tell_there(values)? };
                held.push(points);
            }
            let found = swarm.outcome()?;
            let mut here = AskTell::new(search(&problem, &options))?;
            while let Some(points) = here.ask() {
                let values: Vec<f64> = points.rows().map(|x| x[0]).collect();
                here.tell(&values)?;
            }
            same(&found, &here.outcome()?)
        }),
        trial("refuses_what_cannot_be", || {
            let gpu = Cuda::open(0)?;
            let problem = Problem::elsewhere(vec![0.5; 2], vec![2.0; 2])?;
            let swarm = || AskTellOnGpu::new(Search::new(problem.clone()).particles(10), &gpu);
            let mut early = swarm()?;
            assert!(early.tell(&[1.0; 10]).is_err());
            assert_eq!(early.ask().map(flockwork::swarm::PointsOnGpu::len), Some(10));
            assert!(early.tell(&[1.0; 9]).is_err());
            early.tell(&[f64::NAN; 10])?;
            assert!(early.outcome().is_err());
            let searches = Search::new(problem.clone()).searches(Default::default());
            let mut searches = AskTellOnGpu::new(searches, &gpu)?;
            assert!(searches.ask().is_none());
            let error = searches.outcome().unwrap_err().to_string();
            assert!(error.contains("swarm"), "{error}");
            let mode = flockwork::swarm::Mode::Asynchronous;
            let mut asynchronous =
                AskTellOnGpu::new(Search::new(problem.clone()).mode(mode), &gpu)?;
            assert!(asynchronous.ask().is_none());
            assert!(asynchronous.outcome().unwrap_err().to_string().contains("synchronous"));
            let bound =
                problem.clone().subject_to(&flockwork::formula::Formula::parse("x[0] <= 1")?)?;
            assert!(AskTellOnGpu::new(Search::new(bound).particles(10), &gpu).is_err());
            Ok(())
        }),
    ]
}
