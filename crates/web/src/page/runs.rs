//! What takes a while and is computed beside the server, piece by piece: readers see what there is
//! so far, and share what is done.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tradewind_daemon::live::Refusal;
use tradewind_daemon::live::rights::Actor;

use crate::ahead::AdviceRequest;
use crate::api::Advisor;
use crate::context::Context;
use crate::failure::ErrorResponse;
use crate::watch::Watch;

/// Runs that are remembered.
const KEPT: usize = 16;
/// How long a page waits for a run that may be over soon.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// Runs by what was asked.
#[derive(Debug)]
pub(crate) struct Runs<B, T>(Mutex<BTreeMap<String, Arc<Run<B, T>>>>);

impl<B, T> Default for Runs<B, T> {
    fn default() -> Runs<B, T> {
        Runs(Mutex::new(BTreeMap::new()))
    }
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Run<B, T> {
    /// What all pieces have in common.
    pub(crate) basis: B,
    /// What it was asked about: if that is different now, it is useless.
    pub(crate) about: String,
    /// Pieces in all.
    pub(crate) wanted: usize,
    begun: Instant,
    found: Mutex<Vec<T>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<B, T: Clone> Run<B, T> {
    /// One that has just begun.
    pub(crate) fn new(about: String, basis: B, wanted: usize) -> Run<B, T> {
        let (begun, found) = (Instant::now(), Mutex::new(Vec::new()));
        Run { basis, about, wanted, begun, found }
    }

    /// The next piece.
    pub(crate) fn add(&self, piece: T) {
        locked(&self.found).push(piece);
    }

    /// What there is so far.
    pub(crate) fn found(&self) -> Vec<T> {
        locked(&self.found).clone()
    }

    /// Whether all of it is there.
    pub(crate) fn is_over(&self) -> bool {
        locked(&self.found).len() >= self.wanted
    }

    /// Waits until it is over, but not for long.
    pub(crate) async fn soon(&self) {
        while !self.is_over() && self.begun.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl<B, T> Runs<B, T> {
    /// The run for this question, if it is about what is asked now.
    pub(crate) fn get(&self, question: &str, about: &str) -> Option<Arc<Run<B, T>>> {
        let run = locked(&self.0).get(question).cloned();
        run.filter(|run| run.about == about)
    }

    /// The next reader begins a new one.
    pub(crate) fn forget(&self, question: &str) {
        locked(&self.0).remove(question);
    }

    /// Remembers a run, and forgets the oldest of too many.
    pub(crate) fn keep(&self, question: String, run: Arc<Run<B, T>>) {
        let mut all = locked(&self.0);
        all.insert(question, run);
        if all.len() > KEPT {
            let oldest = all.iter().min_by_key(|(_, run)| run.begun).map(|(name, _)| name.clone());
            oldest.and_then(|name| all.remove(&name));
        }
    }
}

/// One result of a forecast, on a thread that may wait; other callers are served
/// before and after it. A mistake of the advisor's is an answer, too: no caller waits for ever.
pub(crate) async fn advised<T: Send + 'static>(
    context: &Context,
    who: &Actor,
    work: impl FnOnce(&dyn Advisor, &Watch) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, String> {
    let ahead = match AdviceRequest::piece(context, who).await {
        Ok(ahead) => ahead,
        Err(failure) => return Err(said(&failure)),
    };
    // A task of its own, as a mistake in it ends it.
    let done = tokio::spawn(async move { ahead.ask(work).await });
    match done.await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(failure)) => Err(said(&failure)),
        Err(_) => Err("the attempt broke off: this is a mistake of the program".to_owned()),
    }
}

pub(crate) fn said(failure: &ErrorResponse) -> String {
    let (_, problem) = failure.parts();
    match problem.hint.as_str() {
        "" => problem.message.clone(),
        hint => format!("{}; {hint}", problem.message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_too_many_is_forgotten() {
        let runs = Runs::default();
        for number in 0..=KEPT {
            let run = Arc::new(Run::new("now".to_owned(), (), 1));
            run.add(number);
            assert!(run.is_over());
            runs.keep(format!("{number:02}"), run);
        }
        assert!(runs.get("00", "now").is_none());
        assert_eq!(runs.get("16", "now").map(|run| run.found()), Some(vec![16]));
        assert!(runs.get("16", "later").is_none(), "it was asked about something else");
        runs.forget("16");
        assert!(runs.get("16", "now").is_none());
    }
}
