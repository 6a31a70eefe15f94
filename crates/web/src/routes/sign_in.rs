//! Signing in from a command, with a code that is confirmed in any browser.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tradewind_daemon::audit::AuditKind;
use tradewind_daemon::live::projects::MemberRole;
use tradewind_daemon::live::rights::{Actor, Role, SignedIn, TokenHash, TokenTerms};
use tradewind_daemon::live::{Ask, ProjectChange, Reply};
use tradewind_model::Span;

use super::openapi::Refusals;
use super::tokens;
use crate::auth::new_secret;
use crate::context::Context;
use crate::documents::{DeviceAnswer, DeviceQuestion, DeviceSignIn, NewSession, SignInWays};
use crate::extract::Document;
use crate::failure::{Answer, ErrorResponse};
use crate::guard;
use crate::oidc::{Identity, Oidc, Polled, Provider, Refused};

/// Seconds that are added when questions come too often.
const SLOWER: i64 = 5;
/// The longest device code that is passed on: bytes.
const MAX_CODE: usize = 4_096;

/// A token that was issued for a sign-in.
pub(crate) struct Issued {
    pub(crate) id: u64,
    pub(crate) secret: String,
    pub(crate) hash: TokenHash,
    /// Seconds since 1970.
    pub(crate) expires: Option<i64>,
}

/// Issues a token to a user whom the provider has identified: as long as a session, no longer.
pub(crate) async fn admit(context: &Context, who: Identity, note: &str) -> Answer<Issued> {
    let oidc = provider(context)?;
    let (secret, hash) = new_secret().map_err(ErrorResponse::unavailable)?;
    let longest = context.sign_in.session_longest.as_secs();
    let lifetime = Some(Span(i64::try_from(longest).unwrap_or(i64::MAX)));
    let provider = oidc.provider().issuer.clone();
    let Identity { user, role, projects } = who;
    tracing::info!(%provider, %user, ?role, "signed in");
    context.audit.note(&user, AuditKind::SignIn, format!("with {provider}"), "done");
    let (member, groups) = (user.clone(), projects.clone());
    let terms = TokenTerms { lifetime, signed_in: Some(SignedIn { provider, projects }) };
    let ask = Ask::Admit { user, role, hash, note: note.to_owned(), terms };
    let before = signed_in(context, &member).await?;
    let Reply::Number(id) = context.ask(door(), ask).await? else {
        return Err(ErrorResponse::unavailable("the market said nothing"));
    };
    let after = signed_in(context, &member).await?;
    for token in before.into_iter().filter(|it| !after.contains(it)) {
        let what = format!("token {token} of {member} revoked by another sign-in");
        context.audit.note(&door().user, AuditKind::Rights, what, "done");
    }
    follow_groups(context, oidc.provider(), &member, &groups).await?;
    let expires = context.look(move |live| live.state().tokens().get(&id)?.expires).await?;
    Ok(Issued { id, secret, hash, expires: expires.map(|it| it.0) })
}

/// Makes the user a member of the projects that the provider's groups stand for, and no member of
/// the others of these: `projects` says which. Managers stay; projects that groups do not decide on
/// are left alone, and those that do not exist are named in the log.
async fn follow_groups(
    context: &Context,
    provider: &Provider,
    user: &str,
    projects: &[String],
) -> Answer<()> {
    let decided: BTreeSet<String> = provider.projects.values().cloned().collect();
    let (of, wanted) = (user.to_owned(), projects.to_vec());
    let look = context.look(move |live| {
        let all = &live.state().projects();
        let wish = |project: String| {
            let is_wanted = wanted.contains(&project);
            let Some(it) = all.get(&project) else {
                if is_wanted {
                    tracing::warn!(
                        project,
                        user = of,
                        "a group stands for a project that is not there"
                    );
                }
                return None;
            };
            let (user, role) = (of.clone(), MemberRole::Member);
            match (it.has(&of), is_wanted) {
                (false, true) => Some((project, ProjectChange::Join { user, role })),
                (true, false) if !it.is_managed_by(&of) => {
                    Some((project, ProjectChange::Leave { user }))
                }
                _ => None,
            }
        };
        decided.into_iter().filter_map(wish).collect::<Vec<_>>()
    });
    for (project, wish) in look.await? {
        context.ask(door(), Ask::Project { project, wish }).await?;
    }
    Ok(())
}

fn provider(context: &Context) -> Answer<&Oidc> {
    context.oidc.as_ref().ok_or_else(|| {
        let (status, hint) = (StatusCode::NOT_FOUND, "an administrator issues tokens");
        ErrorResponse::new(status, "unknown", "this market has no provider of identities", hint)
    })
}

/// Records why a sign-in was refused, without secrets; what earlier sign-ins gave to a user
/// who has no role any more ends.
pub(crate) async fn refused(context: &Context, refused: &Refused) -> Answer<()> {
    let provider = context.oidc.as_ref().map_or("", |it| it.provider().issuer.as_str());
    tracing::warn!(provider, why = refused.reason(), "a sign-in was refused");
    let who = match refused {
        Refused::NoRole { user, .. } => user,
        _ => "@",
    };
    context.audit.note(who, AuditKind::SignIn, format!("with {provider}"), refused.reason());
    let Refused::NoRole { user, .. } = refused else { return Ok(()) };
    for token in signed_in(context, user).await? {
        tracing::warn!(provider, %user, token, "a user has lost all roles: a token is revoked");
        tokens::expel(context, door(), token).await?;
    }
    match &context.oidc {
        Some(oidc) => follow_groups(context, oidc.provider(), user, &[]).await,
        None => Ok(()),
    }
}

/// The tokens that sign-ins gave to the user.
async fn signed_in(context: &Context, user: &str) -> Answer<BTreeSet<u64>> {
    let user = user.to_owned();
    let had = context.look(move |live| {
        let tokens = live.state().tokens().iter();
        let own = tokens.filter(|(_, it)| it.user == user && it.signed_in.is_some());
        own.map(|(token, _)| *token).collect()
    });
    had.await
}

/// Who issues and revokes the tokens of sign-ins.
fn door() -> Actor {
    Actor { user: "sign-in".to_owned(), role: Role::Administrator }
}

async fn failure(context: &Context, why: &Refused) -> ErrorResponse {
    if let Err(failure) = refused(context, why).await {
        return failure;
    }
    let name = context.oidc.as_ref().map_or("", |it| it.provider().name.as_str());
    let message = why.message(name);
    match why {
        Refused::Provider(_) => ErrorResponse::unavailable(message),
        _ => ErrorResponse::forbidden(message),
    }
}

/// How people sign in here.
#[utoipa::path(
    get, path = "/v1/sign-in", tag = "open", operation_id = "sign_in_ways", security(()),
    responses((status = 200, description = "the ways", body = SignInWays), Refusals),
)]
pub(crate) async fn ways(State(context): State<Context>) -> Json<SignInWays> {
    let provider = context.oidc.as_ref().map(Oidc::provider);
    let (name, issuer) = (provider.map(|it| it.name.clone()), provider.map(|it| it.issuer.clone()));
    Json(SignInWays { provider: name, issuer })
}

/// Begins to sign in with a code that is confirmed in any browser.
#[utoipa::path(
    post, path = "/v1/sign-in/device", tag = "open", operation_id = "begin_sign_in", security(()),
    responses((status = 200, description = "what to confirm, and where", body = DeviceSignIn), Refusals),
)]
pub(crate) async fn begin(
    State(context): State<Context>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
) -> Answer<Json<DeviceSignIn>> {
    guard::admit(&context, peer.ip(), 1)?;
    let oidc = provider(&context)?;
    guard::begin_sign_in(&context, peer.ip())?;
    let device = match oidc.device().await? {
        Ok(device) => device,
        Err(why) => return Err(failure(&context, &why).await),
    };
    let device = device.ok_or_else(|| {
        let message = format!("{} does not sign commands in by a code", oidc.provider().name);
        let hint = "sign in on the pages, or have an administrator issue a token";
        ErrorResponse::new(StatusCode::NOT_FOUND, "unknown", message, hint)
    })?;
    Ok(Json(DeviceSignIn {
        device_code: device.device_code,
        user_code: device.user_code,
        url: device.url,
        whole_url: device.whole_url,
        lasts: device.lasts,
        interval: device.interval,
    }))
}

/// Asks whether the code was confirmed; if so, the answer has a token.
#[utoipa::path(
    post, path = "/v1/sign-in/device/token", tag = "open", operation_id = "end_sign_in",
    request_body = DeviceQuestion, security(()),
    responses(
        (status = 200, description = "a token of a sign-in", body = NewSession),
        (status = 202, description = "not yet: ask again", body = DeviceAnswer),
        Refusals,
    ),
)]
pub(crate) async fn end(
    State(context): State<Context>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Document(DeviceQuestion { device_code }): Document<DeviceQuestion>,
) -> Answer<Response> {
    guard::admit(&context, peer.ip(), 1)?;
    let oidc = provider(&context)?;
    if device_code.is_empty() || device_code.len() > MAX_CODE {
        let message = "this is no code of a sign-in";
        return Err(
            ErrorResponse::invalid(message, "send the one of the answer").in_field("device_code")
        );
    }
    guard::ask_provider(&context, peer.ip())?;
    let later = |slower| (StatusCode::ACCEPTED, Json(DeviceAnswer { slower })).into_response();
    let polled = match oidc.poll(device_code).await? {
        Ok(polled) => polled,
        Err(why) => return Err(failure(&context, &why).await),
    };
    match polled {
        Polled::Pending => Ok(later(0)),
        Polled::SlowDown => Ok(later(SLOWER)),
        Polled::In(who) => {
            let (user, role, projects) = (who.user.clone(), who.role.into(), who.projects.clone());
            let issued = admit(&context, who, "signed in by `tradewind login`").await?;
            let (id, token, expires) = (issued.id, issued.secret, issued.expires);
            let session = NewSession { id, token, user, role, projects, expires };
            Ok(Json(session).into_response())
        }
    }
}
