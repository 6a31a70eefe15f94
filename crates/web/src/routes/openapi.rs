//! The API's own description.

use std::collections::BTreeMap;

use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, Modify, OpenApi, ToSchema};

use super::{
    accounts, advice, audit, events, handover, import, jobs, market, open, output, peers, projects,
    sessions, shadow, sign_in, sites, submit, tokens,
};
use crate::documents;

/// What may be submitted.
#[derive(Debug, serde::Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes; submissions are read by tradewind-io")]
pub(crate) enum Work {
    /// Every field spelt out.
    Document(Box<documents::Submission>),
    /// A script with options.
    Script(documents::ScriptSubmission),
}

/// The answers that are not good ones, alike everywhere.
pub(crate) struct Refusals;

/// Status, name in the description, and what it says.
const REFUSALS: [(&str, &str, &str); 11] = [
    ("400", "Malformed", "the request cannot be read"),
    ("401", "Unauthorized", "no token, or an invalid one"),
    ("403", "Forbidden", "the token may not do that"),
    ("404", "Unknown", "there is no such thing, or not for the caller"),
    ("409", "Conflict", "it does not fit what is there now"),
    ("413", "TooLarge", "the body is too large"),
    ("415", "MediaType", "the body is not JSON"),
    ("422", "Invalid", "the request makes no sense; `field` says where"),
    ("429", "Limit", "too many requests; `Retry-After` says when"),
    ("503", "Unavailable", "not now: the journal cannot be written, or the market has stopped"),
    ("default", "Other", "something else is wrong"),
];

impl IntoResponses for Refusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let reference = |name: &str| Ref::new(format!("#/components/responses/{name}")).into();
        REFUSALS.iter().map(|(status, name, _)| ((*status).to_owned(), reference(name))).collect()
    }
}

/// Properties of all paths.
struct Shared;

impl Modify for Shared {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("tw_…");
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme.build()));
        for (_, name, what) in REFUSALS {
            let content = Content::new(Some(Ref::from_schema_name("Failure")));
            let response = ResponseBuilder::new().description(what);
            let response = response.content("application/json", content).build();
            components.responses.insert(name.to_owned(), response.into());
        }
    }
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Tradewind",
        description = "An economic metascheduler. Amounts are credits, times are whole seconds \
                       since 1970, ids are whole numbers. Lists have pages: `limit` entries, and \
                       `next` to be sent as `after`.",
    ),
    paths(
        submit::submit, jobs::list, jobs::show, jobs::cancel, jobs::hold, jobs::release,
        jobs::requeue, jobs::update,
        output::output, jobs::wait, advice::explain, sites::list, sites::price, sites::reclaim, accounts::list,
        accounts::statement, accounts::show_budget, accounts::budget, accounts::transfer, projects::list, projects::create, projects::show,
        import::import, import::export, import::used, projects::limit, projects::add, projects::remove, tokens::me, tokens::list, tokens::issue,
        tokens::revoke, tokens::rotate, sessions::list, sessions::end,
        sign_in::ways, sign_in::begin, sign_in::end, market::show, market::policy, handover::hand_over, market::report,
        audit::list, shadow::show, advice::quote,
        advice::whatif, events::stream, peers::list, peers::settle, peers::letters, peers::jobs, peers::output, open::healthy, open::ready, open::metrics, open::openapi,
    ),
    components(schemas(documents::Failure, documents::Submission, documents::ScriptSubmission)),
    modifiers(&Shared),
    security(("token" = [])),
)]
struct Description;

/// The description as JSON, as `docs/schemas/openapi.json` has it.
pub fn text() -> String {
    let mut text = serde_json::to_string_pretty(&Description::openapi()).unwrap_or_default();
    text.push('\n');
    text
}
