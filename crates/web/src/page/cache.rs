//! What the pages keep for all their readers while the server runs.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRef;

use super::board::Boards;
use super::census::LastCensus;
use super::policy::{Compared, Copied};
use super::prices::LastChanges;
use super::runs::Runs;
use super::trial::{TrialBasis, TriedPrice};
use crate::context::Context;

/// What handlers of pages have: the context of all handlers, and what pages keep.
#[derive(Debug, Clone)]
pub(super) struct PageContext {
    context: Context,
    pub(super) cache: Arc<PageCache>,
}

/// What was computed for one reader and is shown to the next.
#[derive(Debug, Default)]
pub(super) struct PageCache {
    pub(super) boards: Boards,
    pub(super) census: LastCensus,
    /// Other prices that were tried, by pool.
    pub(super) trials: Runs<TrialBasis, TriedPrice>,
    /// Policies that were compared, by their names.
    pub(super) compared: Runs<Copied, Compared>,
    /// The last changes of prices, which their owners may undo.
    pub(super) last_prices: LastChanges,
}

impl PageContext {
    pub(super) fn new(context: Context) -> PageContext {
        PageContext { context, cache: Arc::default() }
    }
}

impl Deref for PageContext {
    type Target = Context;
    fn deref(&self) -> &Context {
        &self.context
    }
}

impl FromRef<PageContext> for Context {
    fn from_ref(pages: &PageContext) -> Context {
        pages.context.clone()
    }
}
