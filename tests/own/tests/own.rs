//! Types of a crate of its own have the bits of flockwork's: on the CPU, in the emulator, on a GPU.
//!
//! Where there is no GPU, or the build left the kernels out, its tests are listed as ignored, with the reason.

use flockwork::{
    backend::{AnyBackend, Backend, Choice, Cooperation, Cpu, Emulated, Strategy},
    fit::{Data, Fit, Fitted, Model, Saturation},
    math::Real,
    objective::{Context, Info, Kernels, Objective, Point, Rastrigin, Rosenbrock},
    swarm::{Options, Outcome, Precision, Problem, Rule, Search, Searches},
};
use libtest_mimic::{Arguments, Failed, Trial};
use own::{
    functions::{Ripples, Valley},
    model::Approach,
};

fn problem<O: Objective>(objective: O, dims: u32) -> Problem {
    Problem::new(objective, dims).unwrap().shifted(3).unwrap()
}

/// Everything that has bits.
fn told(outcome: &Outcome) -> String {
    let Outcome { value, position, evaluations, restarts, agreement, history, .. } = outcome;
    format!("{value:?} {position:?} {evaluations} {restarts} {agreement:?} {history:?}")
}

fn same(one: &str, other: &str) -> Result<(), Failed> {
    if one == other { Ok(()) } else { Err(format!("{one:.1000}\n{other:.1000}").into()) }
}

/// The CPU's and the emulator's.
fn without_a_gpu<Own: Objective, BuiltIn: Objective>(
    own: Own,
    built_in: BuiltIn,
) -> Result<(), Failed> {
    for precision in [Precision::F32, Precision::F64] {
        for &rule in Rule::ALL {
            let options = Options {
                particles: 70,
                iterations: 12,
                precision: Some(precision),
                history: Some(1),
                ..Options::for_rule(rule)
            };
            let of = |problem: Problem, backend: &AnyBackend| {
                Ok::<_, Failed>(told(&problem.optimize(&options, backend)?))
            };
            let cpu = AnyBackend::select(Choice::Cpu, 0)?;
            let wanted = of(problem(built_in, 5), &cpu)?;
            same(&of(problem(own, 5), &cpu)?, &wanted)?;
            let emulated = Emulated::new(3, 32).with(own);
            same(&told(&problem(own, 5).optimize(&options, &emulated)?), &wanted)?;
        }
    }
    let search = |problem| search(problem, 8, 4000);
    let wanted = told(&search(problem(built_in, 4)).run_on(&Cpu::new(0)?, |_| {})?);
    same(&told(&search(problem(own, 4)).run_on(&Cpu::new(0)?, |_| {})?), &wanted)?;
    let emulated = Emulated::new(5, 32).with(own);
    same(&told(&search(problem(own, 4)).run_on(&emulated, |_| {})?), &wanted)
}

fn search(problem: Problem, lanes: u32, evaluations: u64) -> Search {
    let searches = Searches { lanes: Some(lanes), ..Searches::default() };
    Search::new(problem).searches(searches).evaluations(evaluations).history(1)
}

fn gpu<O: Objective>(objective: O) -> flockwork::Result<AnyBackend> {
    problem(objective, 5).select(Choice::Cuda, 0)
}

/// A GPU's, with every strategy and cooperation that suits the swarm.
fn swarms_on_a_gpu<Own: Objective, BuiltIn: Objective>(
    own: Own,
    built_in: BuiltIn,
) -> Result<(), Failed> {
    let ways = [
        (None, None),
        (Some(Strategy::General), None),
        (Some(Strategy::Streaming), None),
        (Some(Strategy::Tiered), None),
        (Some(Strategy::Resident), None),
        (None, Some(Cooperation::Mod)),
        (None, Some(Cooperation::Warp)),
        (None, Some(Cooperation::Block)),
    ];
    let mut compared = 0;
    for (particles, dims) in [(33, 7), (1000, 129), (70_001, 3), (400_001, 9), (3001, 40)] {
        for precision in [Precision::F32, Precision::F64] {
            let options = Options {
                particles,
                iterations: 30,
                precision: Some(precision),
                history: Some(10),
                ..Options::for_rule(Rule::Inertia)
            };
            let cpu = problem(built_in, dims).optimize(&options, &Cpu::new(0)?)?;
            for (strategy, cooperation) in ways {
                let mut gpu = gpu(own)?.with_strategy(strategy);
                if let Some(cooperation) = cooperation {
                    gpu = gpu.with_cooperation(cooperation);
                }
                // What does not suit the swarm is refused, and for both alike.
                let theirs = problem(built_in, dims).optimize(&options, &gpu);
                match problem(own, dims).optimize(&options, &gpu) {
                    Ok(ours) => {
                        same(&told(&ours), &told(&theirs?))?;
                        same(&told(&ours), &told(&cpu))?;
                        compared += 1;
                    }
                    Err(refusal) => {
                        let theirs = theirs.err().map(|error| error.to_string());
                        same(&refusal.to_string(), &theirs.unwrap_or_default())?;
                    }
                }
            }
        }
    }
    if compared < 40 { Err(format!("only {compared} swarms ran").into()) } else { Ok(()) }
}

/// A GPU's searches.
fn searches_on_a_gpu<Own: Objective, BuiltIn: Objective>(
    own: Own,
    built_in: BuiltIn,
) -> Result<(), Failed> {
    for (dims, lanes) in [(2, 32), (10, 24), (40, 16)] {
        let cpu = search(problem(built_in, dims), lanes, 60_000).run_on(&Cpu::new(0)?, |_| {})?;
        let ours = search(problem(own, dims), lanes, 60_000).run_on(&gpu(own)?, |_| {})?;
        same(&told(&ours), &told(&cpu))?;
    }
    Ok(())
}

fn data(rows: u32) -> Result<Data, Failed> {
    let x = (0..rows).map(|i| 10.0 * f64::from(i) / f64::from(rows));
    Ok(Data::pairs(x.map(|x| (x, 5.0 - 5.0 * (-0.7 * x).exp() + 0.1 * (37.0 * x).sin())))?)
}

fn fitted<M: Model>(
    model: M,
    rows: u32,
    precision: Precision,
    backend: &impl Backend,
) -> Result<String, Failed> {
    let fit = Fit::new(model, data(rows)?)?.with(|o| {
        (o.particles, o.iterations, o.precision) = (100, 6, Some(precision));
    });
    let Fitted { outcome, .. } = &fit.run_on(backend, |_| {})?;
    Ok(told(outcome))
}

fn fits(rows: u32, backend: &impl Backend) -> Result<(), Failed> {
    for precision in [Precision::F32, Precision::F64] {
        let wanted = fitted(Saturation, rows, precision, &Cpu::new(0)?)?;
        same(&fitted(Approach, rows, precision, backend)?, &wanted)?;
    }
    Ok(())
}

/// Whose kernels are those of another type.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Misnamed;

impl Objective for Misnamed {
    const INFO: Info = Info { name: "misnamed", ..Ripples::INFO };
    const KERNELS: Kernels = Ripples::KERNELS;

    type Partial<T: Real> = T;

    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> T {
        x.at(index)
    }

    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}

fn another_type() -> Result<(), Failed> {
    let problem = problem(Misnamed, 2);
    let options = Options { particles: 32, iterations: 1, ..Options::default() };
    let emulated = problem.optimize(&options, &Emulated::new(1, 32).with(Misnamed));
    for refused in [emulated.err(), problem.select(Choice::Cuda, 1).err()] {
        let message = refused.ok_or("it ran")?.to_string();
        if !message.contains("should be `flockwork::kernels!(Misnamed)`") {
            return Err(message.into());
        }
    }
    Ok(())
}

fn main() {
    let arguments = Arguments::from_args();
    let ignored = gpu(Ripples).err().map(|why| why.to_string());
    let mut trials = vec![
        Trial::test("ripples_without_a_gpu", || without_a_gpu(Ripples, Rastrigin)),
        Trial::test("valley_without_a_gpu", || without_a_gpu(Valley::default(), Rosenbrock)),
        Trial::test("kernels_of_another_type_are_refused", another_type),
        Trial::test("fits_on_the_cpu", || fits(500, &Cpu::new(0)?)),
        Trial::test("fits_in_the_emulator", || {
            fits(300, &Emulated::new(7, 32).with_model(Approach))
        }),
    ];
    let on_a_gpu = [
        Trial::test("ripples_in_swarms", || swarms_on_a_gpu(Ripples, Rastrigin)),
        Trial::test("valley_in_swarms", || swarms_on_a_gpu(Valley::default(), Rosenbrock)),
        Trial::test("ripples_in_searches", || searches_on_a_gpu(Ripples, Rastrigin)),
        Trial::test("valley_in_searches", || searches_on_a_gpu(Valley::default(), Rosenbrock)),
        Trial::test("fits", || fits(20_000, &AnyBackend::select(Choice::Cuda, 0)?)),
    ];
    if let Some(why) = &ignored {
        println!("no GPU tests: {why}");
    }
    trials.extend(
        on_a_gpu
            .into_iter()
            .map(|trial| trial.with_kind("gpu").with_ignored_flag(ignored.is_some())),
    );
    libtest_mimic::run(&arguments, trials).exit();
}
