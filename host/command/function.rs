//! A command as an objective function.

use std::{any::Any, path::Path, sync::Arc};

use super::{Command, Protocol, Stated, Tally, pool::Pool, template};
#[cfg(feature = "cuda")]
use crate::backend::{Cuda, Plan, Swarm};
use crate::{
    Error, Result,
    backend::{
        Evaluator, Function, FunctionIn, Number, Simd,
        function::{Batch, Called, Named},
    },
};

/// What a command is called where a function's name stands.
pub(crate) const NAME: &str = "command";

/// A command whose variables are known.
pub(crate) struct Commanded {
    pool: Arc<Pool>,
    dims: usize,
}

impl Commanded {
    /// `names` is `None` for elements of x.
    pub fn new(command: &Command, names: Option<Vec<String>>, dims: usize) -> Result<Self> {
        let wrong = |message| Error::Command { command: command.text.to_string(), message };
        let words = match command.protocol {
            Protocol::Arguments => template::resolve(&command.words, names.as_deref(), dims),
            Protocol::Lines => template::resolve(&command.words, Some(&[]), 0).map_err(|_| {
                "has a variable in braces, but the points come on its standard input; write {{ and \
                 }} for braces that stand for themselves"
                    .to_owned()
            }),
        };
        let pool = Pool::new(command.clone(), names, words.map_err(wrong)?);
        Ok(Self { pool: Arc::new(pool), dims })
    }

    pub fn command(&self) -> &Command {
        self.pool.command()
    }

    pub fn names(&self) -> Option<&[String]> {
        self.pool.names()
    }

    pub fn stated(&self) -> Stated {
        self.pool.stated()
    }

    pub fn tally(&self) -> Tally {
        self.pool.tally()
    }
}

impl Function for Commanded {
    fn info(&self) -> Named {
        Named { name: NAME.to_owned(), info: None }
    }

    fn only_dims(&self) -> Option<u32> {
        u32::try_from(self.dims).ok()
    }

    fn why_on_cpu(&self) -> (&'static str, Error) {
        ("commands run there", Error::OnlyOnCpu { function: "a command" })
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn begin(&self, resumed: Option<&Path>, saved: Option<&Path>) -> Result<()> {
        self.pool.begin(resumed, saved, self.dims)
    }

    fn can_be_cut_short(&self) -> bool {
        true
    }

    fn was_cut_short(&self) -> Result<bool> {
        self.pool.was_cut_short()
    }

    fn why_no_value(&self) -> Option<Error> {
        self.pool.why_no_value()
    }
}

impl<T: Number> FunctionIn<T> for Commanded {
    fn evaluator(&self, _: Simd) -> Box<dyn Evaluator<T>> {
        let pool = Arc::clone(&self.pool);
        let batch: Arc<Batch> = Arc::new(move |points, values| pool.evaluate(points, values));
        Box::new(Called(batch))
    }

    #[cfg(feature = "cuda")]
    fn on_gpu(&self, _: &Cuda, _: Plan<T>) -> Result<Box<dyn Swarm<T>>> {
        Err(self.why_on_cpu().1)
    }
}
