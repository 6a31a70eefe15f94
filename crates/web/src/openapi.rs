//! The API's own description.

use std::collections::BTreeMap;

use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, Modify, OpenApi, ToSchema};

use crate::documents;
use crate::routes::{accounts, advice, events, jobs, market, open, sites, submit, tokens};

/// What may be handed in.
#[derive(Debug, serde::Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes; what is handed in is read by tradewind-io")]
pub(crate) enum Work {
    /// Every field spelt out.
    Document(Box<documents::Submission>),
    /// A script with options.
    Script(documents::ScriptSubmission),
}

/// The answers that are not good ones, alike everywhere.
pub(crate) struct Refusals;

impl IntoResponses for Refusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let all = [
            ("400", "the request cannot be read"),
            ("401", "no token, or one that does not open"),
            ("403", "the token may not do that"),
            ("404", "there is no such thing, or not for the caller"),
            ("409", "it does not fit what is there now"),
            ("413", "the body is too large"),
            ("415", "the body is not JSON"),
            ("422", "the request makes no sense; `field` says where"),
            ("429", "too many requests, or jobs; `Retry-After` says when"),
            ("503", "not now: the journal cannot be written, or the market has stopped"),
        ];
        let response = |what: &str| {
            let schema = Ref::from_schema_name("Failure");
            let content = Content::new(Some(schema));
            ResponseBuilder::new().description(what).content("application/json", content).build()
        };
        all.into_iter().map(|(status, what)| (status.to_owned(), response(what).into())).collect()
    }
}

struct Tokens;

impl Modify for Tokens {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("tw_…");
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme.build()));
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
        jobs::output, jobs::wait, advice::explain, sites::list, sites::price, accounts::list,
        accounts::statement, accounts::transfer, tokens::me, tokens::list, tokens::issue,
        tokens::revoke, market::show, market::policy, market::report, advice::quote,
        advice::whatif, events::stream, open::healthy, open::ready, open::metrics, open::openapi,
    ),
    components(schemas(documents::Failure, documents::Submission, documents::ScriptSubmission)),
    modifiers(&Tokens),
    security(("token" = [])),
)]
struct Description;

/// The description as JSON, as `docs/openapi.json` has it.
pub fn text() -> String {
    let mut text = serde_json::to_string_pretty(&Description::openapi()).unwrap_or_default();
    text.push('\n');
    text
}
