//! Accounts and what moves between them. Every posting takes from one account what it gives to
//! another, so the sum over all accounts is always zero.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use tradewind_model::{Money, Time};

/// Whose money.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Account {
    /// Where money comes from; its balance is minus all that there is.
    Bank,
    /// A user.
    User(String),
    /// A project, for all who submit for it.
    Project(String),
    /// What is held for a job until it is settled.
    Held(u64),
    /// A site's owner, for that site.
    Owner(String),
    /// Another market: what it earned with jobs from here, and what its jobs pay here.
    Peer(String),
}

/// As in `user:ana`, and `bank` or `held:7`.
impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Account::Bank => write!(f, "bank"),
            Account::User(name) => write!(f, "user:{name}"),
            Account::Project(name) => write!(f, "project:{name}"),
            Account::Held(job) => write!(f, "held:{job}"),
            Account::Owner(site) => write!(f, "owner:{site}"),
            Account::Peer(name) => write!(f, "peer:{name}"),
        }
    }
}

impl Account {
    /// The account that is written like this, if there can be one.
    pub fn parse(text: &str) -> Option<Account> {
        let (kind, name) = text.split_once(':').unwrap_or((text, ""));
        let name = (!name.is_empty()).then(|| name.to_owned());
        match (kind, name) {
            ("bank", None) => Some(Account::Bank),
            ("user", Some(name)) => Some(Account::User(name)),
            ("project", Some(name)) => Some(Account::Project(name)),
            ("owner", Some(name)) => Some(Account::Owner(name)),
            ("peer", Some(name)) => Some(Account::Peer(name)),
            ("held", Some(name)) => name.parse().ok().map(Account::Held),
            _ => None,
        }
    }
}

/// Why money moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Motive {
    /// An administrator said so; the note.
    Grant(String),
    /// A job was planned: what it may cost is set aside.
    Hold(u64),
    /// A job has used so much of a site.
    Settle(u64),
    /// What was set aside for a job and not used.
    Refund(u64),
    /// An accepted offer was not kept, and the market pays what the job costs beyond it.
    Cover(u64),
}

/// One movement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posting {
    /// From 1, over all accounts.
    pub number: u64,
    /// When.
    pub at: Time,
    /// Whose balance falls.
    pub from: Account,
    /// Whose balance rises.
    pub to: Account,
    /// By how much, at least 0.
    pub amount: Money,
    /// Why.
    pub motive: Motive,
}

/// All accounts. Balances are exact for ever; of postings the last ones are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Accounts {
    /// Micro-credits; accounts of jobs are there while something is held.
    balances: BTreeMap<Account, i128>,
    postings: VecDeque<Posting>,
    posted: u64,
}

impl Accounts {
    /// As many postings are kept.
    pub const KEPT: usize = 100_000;

    /// The accounts of these balances and postings, `posted` in all so far.
    pub fn of(balances: BTreeMap<Account, i128>, postings: Vec<Posting>, posted: u64) -> Accounts {
        Accounts { balances, postings: postings.into(), posted }
    }

    /// Micro-credits on the account; 0 if it was never used.
    pub fn balance(&self, account: &Account) -> i128 {
        self.balances.get(account).copied().unwrap_or(0)
    }

    /// Every account that was used, in order.
    pub fn balances(&self) -> impl Iterator<Item = (&Account, i128)> {
        self.balances.iter().map(|(account, balance)| (account, *balance))
    }

    /// What is held, by job. Linear in the jobs for which something is.
    pub fn held(&self) -> impl Iterator<Item = (u64, i128)> {
        let all = self.balances.range(Account::Held(0)..=Account::Held(u64::MAX));
        all.filter_map(|(account, balance)| match account {
            Account::Held(job) => Some((*job, *balance)),
            _ => None,
        })
    }

    /// Whether the account was ever used.
    pub fn knows(&self, account: &Account) -> bool {
        self.balances.contains_key(account)
    }

    /// The postings that are kept, oldest first.
    pub fn postings(&self) -> impl DoubleEndedIterator<Item = &Posting> + ExactSizeIterator {
        self.postings.iter()
    }

    /// Postings so far.
    pub fn posted(&self) -> u64 {
        self.posted
    }

    pub(in crate::live::state) fn post(
        &mut self,
        at: Time,
        from: Account,
        to: Account,
        amount: Money,
        motive: Motive,
    ) {
        *self.balances.entry(from.clone()).or_default() -= i128::from(amount.0);
        *self.balances.entry(to.clone()).or_default() += i128::from(amount.0);
        self.posted += 1;
        let number = self.posted;
        self.postings.push_back(Posting { number, at, from, to, amount, motive });
        if self.postings.len() > Self::KEPT {
            self.postings.pop_front();
        }
    }

    /// A job's account is empty and closed.
    pub(in crate::live::state) fn close(&mut self, job: u64) {
        let account = Account::Held(job);
        if self.balance(&account) == 0 {
            self.balances.remove(&account);
        }
    }

    /// The sum over all accounts: zero, unless something is very wrong.
    pub fn sum(&self) -> i128 {
        self.balances.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_loses_another_gets() {
        let (ana, held) = (Account::User("ana".to_owned()), Account::Held(1));
        let mut accounts = Accounts::default();
        let grant = Motive::Grant(String::new());
        accounts.post(Time(0), Account::Bank, ana.clone(), Money(10), grant);
        accounts.post(Time(1), ana.clone(), held.clone(), Money(4), Motive::Hold(1));
        assert_eq!([accounts.balance(&ana), accounts.balance(&held), accounts.sum()], [6, 4, 0]);
        accounts.close(1);
        assert!(accounts.knows(&held), "what is held must not vanish");
    }

    #[test]
    fn an_account_is_read_as_it_was_written() {
        for text in ["bank", "user:ana", "project:x:y", "owner:alpha", "peer:b", "held:7"] {
            assert_eq!(Account::parse(text).map(|it| it.to_string()).as_deref(), Some(text));
        }
        for wrong in ["", "user", "user:", "bank:x", "held:x", "thief:ana"] {
            assert_eq!(Account::parse(wrong), None, "{wrong}");
        }
    }
}
