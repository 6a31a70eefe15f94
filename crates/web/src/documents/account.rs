//! Accounts.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::amount::Credits;
use super::consumed::{Budget, Consumed};

/// An account of the ledger, with its balance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"account": "user:ana", "balance": 880, "held": 120}))]
pub struct Account {
    /// `user:NAME`, `project:NAME`, `owner:SITE`, `held:JOB` or `bank`.
    pub account: String,
    /// Balance in credits.
    pub balance: Credits,
    /// What was taken from it and is held for jobs.
    pub held: Credits,
    /// What nodes have consumed for the jobs that it has paid for, of a site's owner at that site,
    /// in the months of which usage is kept; left out where they do not say what they consume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumed: Option<Consumed>,
    /// How much energy and carbon may be used, if that is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
}

/// All accounts that the caller may see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AccountList {
    /// In the order of names.
    pub accounts: Vec<Account>,
    /// There are more: ask for those `after` this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An account and its last postings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Statement {
    /// The account whose postings these are.
    pub account: Account,
    /// By number, oldest first.
    pub postings: Vec<Posting>,
    /// There are more: ask for those `after` this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// One movement of money.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "number": 3, "at": 1_800_000_020, "from": "user:ana", "to": "held:7", "amount": 120,
    "motive": "hold", "job": 7
}))]
pub struct Posting {
    /// From 1, over all accounts.
    pub number: u64,
    /// The moment, in Unix seconds.
    pub at: i64,
    /// Whose balance falls.
    pub from: String,
    /// Whose balance rises.
    pub to: String,
    /// Amount in credits.
    pub amount: Credits,
    /// `grant`, `hold`, `settle` or `refund`.
    pub motive: String,
    /// Id of the job, if the posting is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<u64>,
    /// What an administrator said about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The columns of postings as CSV, here and on the command line.
pub const POSTING_COLUMNS: [&str; 8] =
    ["number", "at", "motive", "jobid", "from", "to", "amount", "note"];

impl Posting {
    /// The posting under [`POSTING_COLUMNS`]: times in seconds since 1970, amounts in credits, and
    /// nothing where nothing is known.
    pub fn cells(&self) -> [String; 8] {
        [
            self.number.to_string(),
            self.at.to_string(),
            self.motive.clone(),
            self.job.map(|job| job.to_string()).unwrap_or_default(),
            self.from.clone(),
            self.to.clone(),
            self.amount.to_string(),
            self.note.clone().unwrap_or_default(),
        ]
    }
}

/// Money to be moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"from": "bank", "to": "user:ana", "amount": 500, "note": "October"}))]
pub struct Transfer {
    /// From which account; `bank` makes money.
    pub from: String,
    /// To which account. It must be known: a user who has submitted, has a token or is a member
    /// of a project, a project, or the owner of a site.
    pub to: String,
    /// Amount in credits, above 0.
    pub amount: Credits,
    /// Free text that says what the transfer is for.
    #[serde(default)]
    #[schema(max_length = 1_000)]
    pub note: String,
    /// Make the user or the project of `to` if it is not known.
    #[serde(default)]
    pub create: bool,
}
