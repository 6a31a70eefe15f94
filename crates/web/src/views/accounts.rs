//! Accounts as documents.

use std::collections::BTreeMap;
use std::ops::Bound;

use tradewind_daemon::live::budgets::{self, BudgetHolder};
use tradewind_daemon::live::money::{self, Account, Motive};
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::state::State;
use tradewind_model::{Consumption, Time};

use super::projects;
use crate::clock::present;
use crate::documents::{
    self, AccountList, Budget, BudgetLimits, Consumed, Credits, Kwh, Posting, Statement,
    Thousandths,
};

/// How much of an account a user may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AccountAccess {
    /// No account.
    Nothing,
    /// Its sums, and postings for own jobs.
    Own,
    /// All accounts.
    All,
}

/// Everything: of one's own account, of sites that one owns, of projects that one manages, and
/// what is held for one's jobs. Of projects that one is a member of, sums and own rows.
fn sight(state: &State, actor: &Actor, account: &Account) -> AccountAccess {
    let all = match account {
        _ if actor.role == Role::Administrator => true,
        Account::Bank | Account::Peer(_) => false,
        Account::User(name) => *name == actor.user,
        Account::Held(job) => is_own(state, actor, *job),
        Account::Owner(site) => owns(state, actor, site),
        Account::Project(project) => match projects::may_see_all(state, actor, project) {
            false if projects::may_see(state, actor, project) => return AccountAccess::Own,
            all => all,
        },
    };
    if all { AccountAccess::All } else { AccountAccess::Nothing }
}

fn is_own(state: &State, actor: &Actor, job: u64) -> bool {
    state.jobs.get(&job).is_some_and(|job| job.user == actor.user)
}

/// Whether the caller may see the account's sums.
pub(crate) fn may_see(state: &State, actor: &Actor, account: &Account) -> bool {
    sight(state, actor, account) > AccountAccess::Nothing
}

/// Whether the site is the caller's.
pub(crate) fn owns(state: &State, actor: &Actor, site: &str) -> bool {
    let place = state.market.pools().sites().iter().position(|it| it.name == site);
    let owner = place.and_then(|place| state.owners().get(place));
    owner.is_some_and(|owner| *owner == actor.user)
}

/// Whether any site is the caller's; administrators see what all earn.
pub(crate) fn owns_any(state: &State, actor: &Actor) -> bool {
    actor.role == Role::Administrator || state.owners().contains(&actor.user)
}

/// What is held for the jobs of each payer.
fn held(state: &State) -> BTreeMap<Account, i128> {
    let mut held = BTreeMap::new();
    for (account, balance) in state.accounts().balances() {
        let Account::Held(job) = account else { continue };
        if let Some(job) = state.jobs.get(job) {
            *held.entry(job.payer()).or_default() += balance - i128::from(job.covering.0);
        }
    }
    held
}

/// What is held for jobs that this account pays for, micro-credits.
pub(crate) fn held_of(state: &State, payer: &Account) -> i128 {
    held(state).get(payer).copied().unwrap_or(0)
}

fn line(account: &Account, balance: i128, sums: &AccountSums) -> documents::Account {
    let held = Credits(sums.held.get(account).copied().unwrap_or(0));
    documents::Account {
        account: account.to_string(),
        balance: Credits(balance),
        held,
        consumed: sums.consumed.get(account).copied().and_then(Consumed::of),
        budget: sums.budgets.get(account).copied(),
    }
}

/// What is said of accounts beside their balances.
pub(crate) struct AccountSums {
    held: BTreeMap<Account, i128>,
    consumed: BTreeMap<Account, Consumption>,
    budgets: BTreeMap<Account, Budget>,
}

impl AccountSums {
    /// Linear in the jobs for which something is held, and in the usage that is kept.
    pub(crate) fn of(state: &State) -> AccountSums {
        let mut consumed = BTreeMap::<Account, Consumption>::new();
        for (place, sum) in &state.used().0 {
            let payer = match &place.project {
                Some(project) => Account::Project(project.clone()),
                None => Account::User(place.user.clone()),
            };
            *consumed.entry(payer).or_default() += sum.consumed;
            *consumed.entry(Account::Owner(place.site.clone())).or_default() += sum.consumed;
        }
        let held = state.power_held();
        let budget = |(holder, it): (&BudgetHolder, &budgets::Budget)| {
            let account = match holder {
                BudgetHolder::User(name) => Account::User(name.clone()),
                BudgetHolder::Project(name) => Account::Project(name.clone()),
            };
            let held = held.get(holder).copied().unwrap_or_default();
            (account, shown(it, held, present(state)))
        };
        let budgets = state.budgets().0.iter().map(budget).collect();
        AccountSums { held: self::held(state), consumed, budgets }
    }
}

fn shown(it: &budgets::Budget, held: Consumption, now: Time) -> Budget {
    let budgets::PowerLimits { energy, energy_month, carbon, carbon_month } = it.limits;
    Budget {
        limits: BudgetLimits {
            energy_kwh: energy.map(Kwh::from),
            energy_kwh_month: energy_month.map(Kwh::from),
            carbon_g: carbon.map(Thousandths::from),
            carbon_g_month: carbon_month.map(Thousandths::from),
        },
        used: it.used.into(),
        used_this_month: it.used_in_month_of(now).into(),
        held: held.into(),
    }
}

/// Accounts with budgets of energy or carbon that the caller may see.
pub(crate) fn budgets(state: &State, actor: &Actor) -> Vec<documents::Account> {
    let sums = AccountSums::of(state);
    let seen = sums.budgets.keys().filter(|account| may_see(state, actor, account));
    seen.map(|account| line(account, state.accounts().balance(account), &sums)).collect()
}

/// An account with its budget, as it is now.
pub(crate) fn account(state: &State, account: &Account) -> documents::Account {
    line(account, state.accounts().balance(account), &AccountSums::of(state))
}

/// A page of accounts. Those of jobs are left out: they are in the jobs.
pub(crate) fn list(
    state: &State,
    actor: &Actor,
    after: Option<&Account>,
    limit: usize,
) -> AccountList {
    let sums = AccountSums::of(state);
    let all: BTreeMap<&Account, i128> = state.accounts().balances().collect();
    let from = after.map_or(Bound::Unbounded, Bound::Excluded);
    let visible =
        |account: &Account| !matches!(account, Account::Held(_)) && may_see(state, actor, account);
    let mut found = all
        .range::<&Account, _>((from.as_ref(), Bound::Unbounded))
        .filter(|(account, _)| visible(account));
    let page: Vec<documents::Account> = found
        .by_ref()
        .take(limit)
        .map(|(account, balance)| line(account, *balance, &sums))
        .collect();
    let next = found.next().and_then(|_| page.last().map(|it| it.account.clone()));
    AccountList { accounts: page, next }
}

/// An account's balance and the postings after `after` that are for the caller; of these the first
/// `limit`.
pub(crate) fn statement(
    state: &State,
    actor: &Actor,
    account: &Account,
    after: u64,
    limit: usize,
) -> Statement {
    let all = sight(state, actor, account) == AccountAccess::All;
    let is_seen = |it: &money::Posting| all || job(it).is_some_and(|it| is_own(state, actor, it));
    let own = |it: &&money::Posting| {
        it.number > after && (it.from == *account || it.to == *account) && is_seen(it)
    };
    let mut postings = state.accounts().postings().filter(own);
    let page: Vec<Posting> = postings.by_ref().take(limit).map(posting).collect();
    let next = postings.next().and_then(|_| page.last().map(|it| it.number));
    let balance = state.accounts().balance(account);
    Statement { account: line(account, balance, &AccountSums::of(state)), postings: page, next }
}

/// Which postings are wanted, by what readers filter for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PostingFilter {
    /// To or from this one; `None`: of all accounts.
    pub(crate) account: Option<Account>,
    /// Only those for this job.
    pub(crate) job: Option<u64>,
    /// Of this kind: `grant`, `hold`, `settle` or `refund`.
    pub(crate) motive: Option<String>,
    /// Not earlier, seconds since 1970.
    pub(crate) from: Option<i64>,
    /// Only postings before this moment, in Unix seconds.
    pub(crate) until: Option<i64>,
}

/// Postings that match a filter.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct FoundPostings {
    /// Those of the page.
    pub(crate) page: Vec<Posting>,
    /// How many match in all.
    pub(crate) count: usize,
    /// What of them paid for jobs, micro-credits.
    pub(crate) spent: i128,
}

/// Postings with numbers below `before` that match and that the caller may see, the newest first;
/// `max` at most. Of an account that pays for jobs, what is paid out of its held credits is among
/// them. Linear in the postings that are kept.
pub(crate) fn postings(
    state: &State,
    actor: &Actor,
    wanted: &PostingFilter,
    (before, max): (u64, usize),
) -> FoundPostings {
    let mut seen: BTreeMap<&Account, AccountAccess> = BTreeMap::new();
    let mut found = FoundPostings::default();
    for it in state.accounts().postings().rev() {
        if wanted.from.is_some_and(|from| it.at.0 < from) {
            break;
        }
        let paid_by = wanted.account.as_ref().filter(|account| pays(state, it, account));
        if !fits(it, wanted, paid_by.is_some()) {
            continue;
        }
        let mut may =
            |account| *seen.entry(account).or_insert_with(|| sight(state, actor, account));
        let of_payer = paid_by.map_or(AccountAccess::Nothing, &mut may);
        let is_seen = match may(&it.from).max(may(&it.to)).max(of_payer) {
            AccountAccess::All => true,
            AccountAccess::Own => job(it).is_some_and(|number| is_own(state, actor, number)),
            AccountAccess::Nothing => false,
        };
        if is_seen {
            found.count += 1;
            let paid = matches!(it.motive, Motive::Settle(_)).then_some(it.amount.0);
            found.spent += paid.map_or(0, i128::from);
            if it.number < before && found.page.len() < max {
                found.page.push(posting(it));
            }
        }
    }
    found
}

/// Whether this pays for a job out of what is held of the account's credits.
fn pays(state: &State, it: &money::Posting, account: &Account) -> bool {
    let Motive::Settle(job) = it.motive else { return false };
    state.jobs.get(&job).is_some_and(|job| job.payer() == *account)
}

/// For which job money moved.
fn job(it: &money::Posting) -> Option<u64> {
    match it.motive {
        Motive::Grant(_) => None,
        Motive::Hold(job) | Motive::Settle(job) | Motive::Refund(job) | Motive::Cover(job) => {
            Some(job)
        }
    }
}

fn fits(it: &money::Posting, wanted: &PostingFilter, is_paid: bool) -> bool {
    let (motive, job) = match &it.motive {
        Motive::Grant(_) => ("grant", None),
        Motive::Hold(job) => ("hold", Some(*job)),
        Motive::Settle(job) => ("settle", Some(*job)),
        Motive::Refund(job) => ("refund", Some(*job)),
        Motive::Cover(job) => ("cover", Some(*job)),
    };
    let meets = |account: &Account| it.from == *account || it.to == *account || is_paid;
    wanted.account.as_ref().is_none_or(meets)
        && wanted.motive.as_ref().is_none_or(|of| of == motive)
        && wanted.job.is_none_or(|of| job == Some(of))
        && wanted.until.is_none_or(|until| it.at.0 < until)
}

fn posting(it: &money::Posting) -> Posting {
    let (motive, job, note) = match &it.motive {
        Motive::Grant(note) => ("grant", None, Some(note.clone())),
        Motive::Hold(job) => ("hold", Some(*job), None),
        Motive::Settle(job) => ("settle", Some(*job), None),
        Motive::Refund(job) => ("refund", Some(*job), None),
        Motive::Cover(job) => ("cover", Some(*job), None),
    };
    Posting {
        number: it.number,
        at: it.at.0,
        from: it.from.to_string(),
        to: it.to.to_string(),
        amount: it.amount.into(),
        motive: motive.to_owned(),
        job,
        note: note.filter(|note| !note.is_empty()),
    }
}
