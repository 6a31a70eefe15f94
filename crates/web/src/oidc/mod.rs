//! Signing in with a provider of identities that speaks OpenID Connect.
//!
//! `wire` asks the provider, within limits; `discovery` and `keys` keep what it says of itself;
//! `flow` is the code flow of browsers and the device flow of commands; `id_token` decides whether
//! an answer is genuine, and `identity` who that is here. What comes out is a user, a role and
//! projects: the rest of the server knows tokens of its own only.

mod discovery;
mod flow;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod id_token;
mod identity;
mod keys;
mod verifier;
mod wire;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;
use tradewind_daemon::live::rights::Role;

use crate::blocking::blocking;
use crate::failure::{Answer, ErrorResponse};
use discovery::Known;
use wire::Wire;

pub(crate) use flow::{Attempt, Polled};
pub(crate) use identity::{Hint, Identity};

/// Questions to the provider at the same time: one that hangs holds up so many threads at most.
const AT_ONCE: usize = 8;

/// A provider of identities, as the configuration has it.
#[derive(Clone)]
pub struct Provider {
    /// What people call it.
    pub name: String,
    /// Its URL, as its tokens have it.
    pub issuer: String,
    /// Who we are to it.
    pub client_id: String,
    /// What proves it; `None`: a public client.
    pub client_secret: Option<String>,
    /// What is asked for.
    pub scopes: Vec<String>,
    /// The claim that is the user's name.
    pub user_claim: String,
    /// The claim that lists the user's groups.
    pub groups_claim: String,
    /// The role of those in none of the groups; `None`: they get no access.
    pub default_role: Option<Role>,
    /// By group: what its members may do. The strongest counts.
    pub roles: BTreeMap<String, Role>,
    /// By group: the project that its members are in.
    pub projects: BTreeMap<String, String>,
    /// Certificates in PEM to trust for it instead of the usual ones.
    pub authorities: Option<Vec<u8>>,
}

/// Without the secret.
impl Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Provider").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// Why a sign-in is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The provider does not answer as it should: it may pass.
    Provider(String),
    /// The answer is not genuine, or is for another user.
    Proof(String),
    /// The identity is proven, and has no access.
    Person(String),
    /// The same of a user whom we know by name: what earlier sign-ins gave them ends.
    NoRole {
        /// Name of the user.
        user: String,
        /// The reason.
        why: String,
    },
}

impl Refused {
    /// For the log. There is no secret in it.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Refused::Provider(why) | Refused::Proof(why) | Refused::Person(why) => why,
            Refused::NoRole { why, .. } => why,
        }
    }

    /// For the person. How a proof failed is for the log only.
    pub(crate) fn message(&self, name: &str) -> String {
        match self {
            Refused::Provider(_) => {
                format!("{name} does not answer as it should. Try again later.")
            }
            Refused::Proof(_) => {
                format!("What {name} sent is not valid. Sign in again; the market's log has more.")
            }
            Refused::Person(why) | Refused::NoRole { why, .. } => {
                format!("{name} knows you, but you have no access: {why}.")
            }
        }
    }
}

/// The provider, and what is known of it.
#[derive(Debug, Clone)]
pub(crate) struct Oidc(Arc<OidcState>);

#[derive(Debug)]
struct OidcState {
    provider: Provider,
    /// Where browsers come back to.
    back: String,
    /// Where it sends them after signing out.
    door: String,
    wire: Wire,
    known: Mutex<Known>,
    questions: Arc<Semaphore>,
}

impl Oidc {
    /// Where the provider sends browsers back to: a path of ours.
    pub(crate) const BACK: &str = "/signin/oidc/back";

    /// A provider for the market at the origin `url`. It is asked nothing yet.
    ///
    /// # Errors
    /// If its certificates cannot be read.
    pub(crate) fn new(provider: Provider, url: &str) -> Result<Oidc, String> {
        verifier::install();
        let wire = Wire::new(&provider)?;
        let back = format!("{url}{}", Self::BACK);
        let door = format!("{url}/signin");
        let (known, questions) = (Mutex::default(), Arc::new(Semaphore::new(AT_ONCE)));
        Ok(Oidc(Arc::new(OidcState { provider, back, door, wire, known, questions })))
    }

    pub(crate) fn provider(&self) -> &Provider {
        &self.0.provider
    }

    /// Does something that asks the provider, on a thread that may wait.
    async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&OidcState) -> Result<T, Refused> + Send + 'static,
    ) -> Answer<Result<T, Refused>> {
        let permit = Arc::clone(&self.0.questions).try_acquire_owned();
        let permit = permit.map_err(|_| {
            ErrorResponse::unavailable("many sign in at the same time, and the provider is slow")
        })?;
        let inside = Arc::clone(&self.0);
        blocking(move || {
            let done = work(&inside);
            drop(permit);
            done
        })
        .await
    }
}
