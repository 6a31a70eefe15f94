//! A look ahead: with a permit, a deadline, and an end when the caller no longer waits.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use tradewind_daemon::live::rights::Actor;
use tradewind_daemon::live::{Refusal, Usage};

use crate::api::Advisor;
use crate::blocking::blocking;
use crate::context::Context;
use crate::failure::{Answer, ErrorResponse};
use crate::quiet::quietly;
use crate::turns::{NoTurn, Turn};
use crate::watch::Watch;

/// How much later than the deadline the answer may be: a step of the work is not cut.
const GRACE: Duration = Duration::from_millis(500);

/// A user's question. The client hangs up: its handler is dropped, and this with it; then the work
/// ends at its next step, and the permit comes back.
#[derive(Debug)]
pub(crate) struct AdviceRequest {
    context: Context,
    turn: Arc<Turn>,
    watch: Watch,
}

impl Drop for AdviceRequest {
    fn drop(&mut self) {
        self.watch.cancel();
    }
}

impl AdviceRequest {
    /// Waits for the user's turn, with the deadline of a request.
    ///
    /// # Errors
    /// If too many questions wait, or no permit is free in time.
    pub(crate) async fn begin(context: &Context, who: &Actor) -> Answer<AdviceRequest> {
        let watch = Watch::new(context.limits.advice_time);
        let turn = Arc::new(take(context, who, &watch).await?);
        Ok(AdviceRequest { context: context.clone(), turn, watch })
    }

    /// The same for a page's piece, which others share: the deadline begins with the turn.
    ///
    /// # Errors
    /// If too many questions wait, or the turn does not come for very long.
    pub(crate) async fn piece(context: &Context, who: &Actor) -> Answer<AdviceRequest> {
        let patience = Watch::new(context.limits.advice_time.saturating_mul(PIECES));
        let turn = Arc::new(take(context, who, &patience).await?);
        let watch = Watch::new(context.limits.advice_time);
        Ok(AdviceRequest { context: context.clone(), turn, watch })
    }

    fn no_answer(&self) -> ErrorResponse {
        let wait = self.context.turns.wait(self.turn.user(), NoTurn::Late);
        no_answer(&self.context, wait)
    }

    /// Does the work on a thread that may wait.
    ///
    /// # Errors
    /// What the work says; that there is no answer in time.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Advisor, &Watch) -> Result<T, Refusal> + Send + 'static,
    ) -> Answer<T> {
        self.answer(blocking(self.permitted(work))).await
    }

    /// The same for long work that holds nothing that others wait for: further questions of a user
    /// have a lower priority, so that the first ones of others get the processor before them.
    ///
    /// # Errors
    /// As [`AdviceRequest::ask`]; that there is no thread for it.
    pub(crate) async fn ask_long<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Advisor, &Watch) -> Result<T, Refusal> + Send + 'static,
    ) -> Answer<T> {
        match self.turn.is_further() {
            true => self.answer(quietly(self.permitted(work))).await,
            false => self.ask(work).await,
        }
    }

    /// The work, and then the permit is free.
    fn permitted<T, W: FnOnce(&dyn Advisor, &Watch) -> Result<T, Refusal>>(
        &self,
        work: W,
    ) -> impl FnOnce() -> Result<T, Refusal> + use<T, W> {
        let (turn, watch) = (Arc::clone(&self.turn), self.watch.clone());
        let advisor = Arc::clone(&self.context.advisor);
        move || {
            let said = work(&*advisor, &watch);
            drop(turn);
            said
        }
    }

    async fn answer<T>(&self, done: impl Future<Output = Answer<Result<T, Refusal>>>) -> Answer<T> {
        let late = self.watch.until() + GRACE;
        match tokio::time::timeout_at(late.into(), done).await {
            Ok(Ok(Ok(said))) => Ok(said),
            Ok(Ok(Err(_))) if self.watch.is_over() => Err(self.no_answer()),
            Ok(Ok(Err(refusal))) => Err(refusal.into()),
            Ok(Err(failure)) => Err(failure),
            Err(_) => Err(self.no_answer()),
        }
    }
}

/// A page may have to wait for so many of its own user's pieces.
const PIECES: u32 = 16;

async fn take(context: &Context, who: &Actor, watch: &Watch) -> Answer<Turn> {
    let bounds = context.turns.bounds();
    context.turns.take(who, watch.until()).await.map_err(|why| {
        let wait = context.turns.wait(&who.user, why);
        match why {
            NoTurn::Line(used) => busy("your questions that wait", (used, bounds.waiting), wait),
            NoTurn::Full(used) => busy("questions of all users that wait", (used, used), wait),
            NoTurn::Late => no_answer(context, wait),
        }
    })
}

/// How much of the limit is used, and in how many seconds there will be room.
fn busy(what: &str, (used, allowed): (usize, usize), wait: u64) -> ErrorResponse {
    let (limit, used, allowed) = ("advice_waiting".to_owned(), used as u64, allowed as u64);
    ErrorResponse::short(&format!("too many {what}"), Usage { limit, used, allowed, wait })
}

fn no_answer(context: &Context, wait: u64) -> ErrorResponse {
    let seconds = context.limits.advice_time.as_secs_f64();
    let message = format!("no answer in {seconds} s");
    let hint = format!("try again in {wait} s; a shorter horizon takes less time");
    ErrorResponse::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", message, hint).after(wait)
}
