//! What every public type of the library can do, as Rust's API guidelines ask for: checked when this
//! is compiled. <https://rust-lang.github.io/api-guidelines/checklist.html>

use std::{error::Error as StdError, fmt::Debug, fmt::Display, hash::Hash, str::FromStr};

use flockwork::{
    Error,
    backend::{self, AnyBackend, Cpu, Emulated},
    bench, fit, io,
    objective::Sphere,
    paths::{self, Distances},
    plot,
    swarm::{self, Outcome, Problem, Search},
};
use serde::{Serialize, de::DeserializeOwned};

/// C-SEND-SYNC and C-DEBUG.
const fn any<T: Send + Sync + Debug>() {}

/// What can be kept and handed on.
const fn held<T: Send + Sync + Debug + Clone + 'static>() {}

/// What can be compared too.
const fn value<T: Send + Sync + Debug + Clone + PartialEq + 'static>() {}

/// What can be written and read back too.
const fn written<T: Send + Sync + Debug + Clone + PartialEq + Serialize + DeserializeOwned>() {}

/// A choice among names.
const fn named<T>()
where
    T: Send + Sync + Debug + Copy + Eq + Hash + Display + FromStr<Err = Error>,
    T: Serialize + DeserializeOwned + 'static,
{
}

/// C-GOOD-ERR.
const fn good_error<T: StdError + Send + Sync + 'static>() {}

const _: () = {
    good_error::<Error>();

    held::<AnyBackend>();
    value::<backend::Best<f32>>();
    written::<backend::Best<f64>>();
    named::<backend::Choice>();
    named::<backend::Cooperation>();
    held::<Cpu>();
    value::<backend::Devices>();
    value::<backend::Gpus>();
    value::<Emulated>();
    held::<backend::EmulatedWith<Sphere>>();
    value::<backend::Plan<f32>>();
    value::<backend::Reason>();
    written::<backend::Record>();
    value::<backend::Simd>();
    written::<backend::Snapshot<f32>>();
    written::<backend::Snapshot<f64>>();
    named::<backend::Strategy>();

    written::<swarm::Coefficients>();
    held::<swarm::Checkpoint>();
    named::<swarm::Edge>();
    written::<swarm::Frame>();
    value::<swarm::Goal>();
    written::<swarm::KnownOptimum>();
    written::<swarm::Large>();
    named::<swarm::Method>();
    named::<swarm::Mode>();
    written::<swarm::Neighbourhood>();
    written::<swarm::Options>();
    written::<Outcome>();
    written::<swarm::Polish>();
    named::<swarm::Precision>();
    named::<swarm::Preset>();
    held::<Problem>();
    any::<swarm::Progress<'_>>();
    named::<swarm::Randomness>();
    written::<swarm::Restart>();
    named::<swarm::Rule>();
    written::<swarm::Sample>();
    value::<swarm::Saved>();
    named::<swarm::Schedule>();
    held::<Search>();
    written::<swarm::Start>();
    written::<swarm::Stop>();
    written::<swarm::StopReason>();
    value::<swarm::Variable>();
    written::<swarm::Variation>();
    any::<swarm::AskTell>();

    value::<fit::Data>();
    held::<fit::EmulatedFit<fit::Linear>>();
    written::<fit::Estimate>();
    held::<fit::Fit>();
    held::<fit::Fitted>();
    value::<fit::Gram>();
    named::<fit::Loss>();
    written::<fit::Matrix>();
    written::<fit::Prediction>();
    written::<fit::Resample>();
    written::<fit::Statistics>();
    written::<fit::Status>();

    value::<paths::AnyDistances>();
    value::<Distances<f32>>();
    value::<Distances<u16>>();
    written::<paths::Edge>();
    value::<paths::Graph>();
    value::<paths::Matrix<f64>>();
    written::<paths::PathOptions>();
    written::<paths::Random>();
    written::<paths::Summary>();
    named::<paths::Weights>();

    value::<io::Column>();
    value::<io::Columns>();
    named::<io::First>();
    value::<io::GraphHints>();
    value::<io::Hints>();
    named::<io::Layout>();
    value::<io::ReadGraph>();
    value::<io::Table>();
    value::<io::Wanted>();

    written::<bench::Ceilings>();
    written::<bench::Measurement>();
    written::<bench::Trial>();

    any::<plot::Bars<'_>>();
    any::<plot::Bar<'_>>();
    any::<plot::Convergence<'_>>();
    value::<plot::Frame>();
    value::<plot::Sample>();
};

#[cfg(feature = "cuda")]
const _: () = {
    use flockwork::cuda;

    good_error::<cuda::CudaError>();
    good_error::<cuda::LaunchError>();
    good_error::<cuda::DriverError>();
    value::<cuda::Availability>();
    value::<cuda::Capability>();
    value::<cuda::Code>();
    value::<cuda::Device>();
    value::<cuda::Image>();
    value::<cuda::LiveAllocations>();
    value::<cuda::Version>();
    held::<backend::Cuda>();
};

fn through_json<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

#[test]
fn what_is_written_is_read_back() {
    let search = Search::new(Problem::new(Sphere, 3).unwrap()).f64().particles(20).iterations(30);
    let outcome = search.history(10).run().unwrap();
    let read = through_json(&outcome);
    let times = |o: &Outcome| (o.startup.as_secs_f64(), o.elapsed.as_secs_f64());
    assert_eq!(times(&read), times(&outcome));
    let untimed = |outcome: &Outcome| {
        let mut outcome = outcome.clone();
        (outcome.startup, outcome.elapsed) = Default::default();
        outcome
    };
    assert_eq!(untimed(&read), untimed(&outcome));

    // Enough rows for every statistic to be a number.
    let pairs = [(0.0, 1.1), (1.0, 1.9), (2.0, 3.2), (3.0, 3.9), (4.0, 5.2), (5.0, 5.8)];
    let data = fit::Data::pairs(pairs).unwrap();
    let line = fit::Fit::new(fit::Polynomial, data.clone()).unwrap().size("degree", 1).unwrap();
    let fitted = line.clone().profile(true).run().unwrap();
    assert_eq!(through_json(&fitted.statistics), fitted.statistics);
    assert_eq!(through_json(&fitted.parameters), fitted.parameters);
    let next = fitted.predict(&[6.0]);
    assert_eq!(through_json(&next), next);
    // What is not finite is null, and null is NaN.
    let two = fit::Data::pairs([(0.0, 1.0), (1.0, 2.0)]).unwrap();
    let exact = fit::Fit::new(fit::Polynomial, two).unwrap().size("degree", 1).unwrap();
    let exact = exact.run().unwrap();
    let read = through_json(&exact.parameters[0]);
    assert!(read.error.is_nan() && read.confidence.0.is_nan() && read.profile.is_none());
    assert!(through_json(&exact.statistics).covariance.rows[0][0].is_nan());
    assert_eq!(data, data.clone());
    assert_ne!(data, data.clone().named(vec!["a".to_owned(), "b".to_owned()]).unwrap());
}
