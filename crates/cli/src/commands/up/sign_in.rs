//! How people sign in, from the configuration.

use std::time::Duration;

use tradewind_daemon::live::rights::Role;
use tradewind_io::settings::{self, RoleName, Settings};
use tradewind_web::{Provider, SignIn};

use crate::exit::Failure;

/// Settings for the server.
///
/// # Errors
/// If a file that the configuration names cannot be read.
pub(super) fn of(settings: &Settings) -> Result<SignIn, Failure> {
    let said = &settings.sign_in;
    let seconds = |it: tradewind_model::Span| Duration::from_secs(it.0.unsigned_abs());
    Ok(SignIn {
        url: said.url.clone(),
        session_idle: seconds(said.session_idle),
        session_longest: seconds(said.session_longest),
        token_lifetime: said.token_lifetime,
        provider: said.provider.as_ref().map(provider).transpose()?,
    })
}

fn provider(said: &settings::Provider) -> Result<Provider, Failure> {
    let secret = said.client_secret_file.as_ref().map(|path| {
        let text = String::from_utf8(read(path)?).unwrap_or_default();
        match text.trim() {
            "" => Err(Failure::usage(format!("`{path}` has no secret")).hint(HINT)),
            text => Ok(text.to_owned()),
        }
    });
    let role = |it: &RoleName| match it {
        RoleName::User => Role::User,
        RoleName::Owner => Role::Owner,
        RoleName::Administrator => Role::Administrator,
    };
    Ok(Provider {
        name: said.name.clone(),
        issuer: said.issuer.clone(),
        client_id: said.client_id.clone(),
        client_secret: secret.transpose()?,
        scopes: said.scopes.clone(),
        user_claim: said.user_claim.clone(),
        groups_claim: said.groups_claim.clone(),
        default_role: said.default_role.as_ref().map(role),
        roles: said.roles.iter().map(|(group, it)| (group.clone(), role(it))).collect(),
        projects: said.projects.clone(),
        authorities: said.ca_file.as_ref().map(|path| read(path)).transpose()?,
    })
}

const HINT: &str = "`client_secret_file` and `ca_file` of `[sign_in.oidc]` name files that the \
                    daemon's account can read";

fn read(path: &str) -> Result<Vec<u8>, Failure> {
    let failed = |wrong| Failure::usage(format!("failed to read `{path}`: {wrong}")).hint(HINT);
    std::fs::read(path).map_err(failed)
}
