//! Work without the interpreter's lock, which Ctrl-C ends.

use std::{
    ops::ControlFlow,
    panic::resume_unwind,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

use pyo3::{exceptions::PyKeyboardInterrupt, prelude::*};

/// How often to look for a signal.
const LOOK_EVERY: Duration = Duration::from_millis(50);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether somebody asked work to stop.
pub type Asked = Arc<AtomicBool>;

/// What joins work to the thread that waits for it.
pub struct Link<'a, M> {
    asked: &'a AtomicBool,
    news: Mutex<Sender<M>>,
    verdicts: Mutex<Receiver<ControlFlow<()>>>,
}

impl<M> Link<'_, M> {
    /// Whether to go on: not once somebody asked to stop.
    pub fn verdict(&self) -> ControlFlow<()> {
        match self.asked.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Tells the waiting thread, which answers whether to go on.
    pub fn tell(&self, news: M) -> ControlFlow<()> {
        let sent = lock(&self.news).send(news);
        match sent.ok().and_then(|()| lock(&self.verdicts).recv().ok()) {
            Some(ControlFlow::Continue(())) => self.verdict(),
            _ => ControlFlow::Break(()),
        }
    }
}

/// Does the work in a thread of its own, while this one waits for signals, which only the interpreter's
/// main thread sees, and attends to what the work [tells](Link::tell) it: so a caller's code runs in the
/// caller's thread. What that code or a signal's handler raises asks the work to stop ([`Link::verdict`]). It
/// comes out then, but for Ctrl-C: the work says in its result that it was interrupted.
pub fn attended<M: Send, R: Send>(
    py: Python<'_>,
    asked: &Asked,
    work: impl FnOnce(&Link<'_, M>) -> R + Send,
    mut attend: impl FnMut(M) -> PyResult<ControlFlow<()>>,
) -> PyResult<R> {
    let (news, heard) = mpsc::channel();
    // The interpreter's lock is given back by a closure that could run in another thread.
    let heard = Mutex::new(heard);
    let (answers, verdicts) = mpsc::channel();
    let link = Link { asked, news: Mutex::new(news), verdicts: Mutex::new(verdicts) };
    thread::scope(|scope| {
        // With the link goes the only sender: its end is the work's, however it ends.
        let worker = scope.spawn(move || work(&link));
        let mut raised = None;
        loop {
            match py.detach(|| lock(&heard).recv_timeout(LOOK_EVERY)) {
                Ok(news) => {
                    let verdict = attend(news).unwrap_or_else(|error| {
                        raised.get_or_insert(error);
                        ControlFlow::Break(())
                    });
                    // The work waits for it, or has ended.
                    let _ = answers.send(verdict);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if let Err(error) = py.check_signals() {
                asked.store(true, Ordering::Relaxed);
                raised.get_or_insert(error);
            }
        }
        let done = py.detach(|| worker.join()).unwrap_or_else(|panic| resume_unwind(panic));
        match raised.filter(|error| !error.is_instance_of::<PyKeyboardInterrupt>(py)) {
            Some(error) => Err(error),
            None => Ok(done),
        }
    })
}

/// The same of work that tells nothing.
pub fn interruptible<R: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Link<'_, ()>) -> R + Send,
) -> PyResult<R> {
    attended(py, &Asked::default(), work, |()| Ok(ControlFlow::Continue(())))
}
