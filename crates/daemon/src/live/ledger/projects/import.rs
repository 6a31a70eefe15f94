//! Users, projects, members and budgets from a table: what it says is so afterwards, and a second
//! time nothing changes.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Money, Time};

use crate::live::answer::{Refusal, RefusalKind};
use crate::live::money::Account;
use crate::live::names::good_name;
use crate::live::record::LedgerRecord;
use crate::live::rights::{Actor, Role};
use crate::live::state::State;
use crate::live::state::ledger::projects::{MemberRole, Project, ProjectEdit, SpendingLimits};
use crate::live::{ApplyError, Live};

/// What a field says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Field<T> {
    /// Nothing: it stays as it is.
    #[default]
    Keep,
    /// That there is none.
    None,
    /// This.
    Be(T),
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountingRow {
    /// A user.
    User {
        /// The name.
        user: String,
        /// What a user who is not known begins with; those who are known keep what they have.
        credits: Option<Money>,
    },
    /// A project.
    Project {
        /// The name.
        project: String,
        /// All that it is ever given: the difference to what it was given is moved from the bank,
        /// or back to it.
        credits: Option<Money>,
        /// The limit over all time.
        total: Field<Money>,
        /// The limit of a month.
        month: Field<Money>,
        /// For people.
        note: Option<String>,
    },
    /// A member of a project.
    Member {
        /// Of which.
        project: String,
        /// Who.
        user: String,
        /// As what; none: no member.
        role: Field<MemberRole>,
        /// The limit over all time.
        total: Field<Money>,
        /// The limit of a month.
        month: Field<Money>,
    },
}

/// What is wrong with a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Which row, from 0.
    pub row: usize,
    /// Which field.
    pub field: &'static str,
    /// What is wrong.
    pub refusal: Refusal,
}

/// Something that a table changes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Effect {
    Change(String, ProjectEdit),
    Move { from: Account, to: Account, amount: Money },
}

/// What a table would change, in its order.
#[derive(Debug, Default)]
pub struct Plan {
    effects: Vec<Effect>,
    /// The same, for people.
    pub words: Vec<String>,
}

/// Projects as they would be after the rows so far.
struct ImportDraft<'a> {
    state: &'a State,
    at: Time,
    by: &'a str,
    projects: BTreeMap<String, Project>,
    /// What accounts have gained or lost by the rows so far.
    moved: BTreeMap<Account, i128>,
    /// Who is known, by then.
    users: BTreeSet<String>,
    plan: Plan,
}

type Done = Result<(), (&'static str, Refusal)>;

fn wrong(field: &'static str, message: impl Into<String>, hint: &str) -> Done {
    Err((field, Refusal::new(RefusalKind::Invalid, message, hint)))
}

impl Live {
    /// What the table would change.
    ///
    /// # Errors
    /// At the first row that makes no sense, or if the caller is no administrator.
    pub fn plan_import(&self, actor: &Actor, rows: &[AccountingRow]) -> Result<Plan, Mistake> {
        if actor.role != Role::Administrator {
            let message = "only an administrator imports";
            let refusal = Refusal::new(RefusalKind::Forbidden, message, "ask an administrator");
            return Err(Mistake { row: 0, field: "", refusal });
        }
        let mut draft = ImportDraft {
            state: &self.state,
            at: self.state.now(),
            by: &actor.user,
            projects: BTreeMap::new(),
            moved: BTreeMap::new(),
            users: self.state.known_users().into_iter().map(str::to_owned).collect(),
            plan: Plan::default(),
        };
        for (row, it) in rows.iter().enumerate() {
            draft.row(it).map_err(|(field, refusal)| Mistake { row, field, refusal })?;
        }
        Ok(draft.plan)
    }

    /// Does what the table says, all or nothing.
    pub(in crate::live) fn import(
        &mut self,
        at: Time,
        actor: &Actor,
        rows: &[AccountingRow],
    ) -> Result<Result<Vec<String>, Refusal>, ApplyError> {
        let plan = match self.plan_import(actor, rows) {
            Ok(plan) => plan,
            Err(mistake) => return Ok(Err(mistake.refusal)),
        };
        let mut touched = BTreeSet::new();
        let mut joined = Vec::new();
        for effect in plan.effects {
            match effect {
                Effect::Change(project, change) => {
                    if let ProjectEdit::Joined { user, .. } = &change {
                        joined.push((project.clone(), user.clone()));
                    }
                    touched.insert(project.clone());
                    self.change(at, &project, change)?;
                }
                Effect::Move { from, to, amount } => {
                    let projects = [&from, &to].into_iter().filter_map(|it| match it {
                        Account::Project(name) => Some(name.clone()),
                        _ => None,
                    });
                    touched.extend(projects);
                    let note = "import".to_owned();
                    self.put(at, LedgerRecord::Moved { from, to, amount, note })?;
                }
            }
        }
        for name in &touched {
            self.turn_away(at, name)?;
            self.recheck_budgets(at, name)?;
        }
        for (project, user) in joined {
            self.let_back(at, &project, &user)?;
        }
        self.afford(at)?;
        self.recheck_funds(
            at,
            |payer| matches!(payer, Account::Project(it) if touched.contains(it)),
        )?;
        Ok(Ok(plan.words))
    }
}

impl ImportDraft<'_> {
    fn row(&mut self, row: &AccountingRow) -> Done {
        match row {
            AccountingRow::User { user, credits } => self.user(user, *credits),
            AccountingRow::Project { project, credits, total, month, note } => {
                self.project(project, note.as_ref())?;
                self.limit(project, None, (*total, *month))?;
                credits.map_or(Ok(()), |credits| self.give(project, credits))
            }
            AccountingRow::Member { project, user, role, total, month } => {
                if self.find(project).is_none() {
                    let hint = "a row of the kind `project` before this one makes it";
                    return wrong("project", format!("there is no project `{project}`"), hint);
                }
                self.member(project, user, *role)?;
                self.limit(project, Some(user), (*total, *month))
            }
        }
    }

    fn find(&mut self, name: &str) -> Option<&mut Project> {
        if !self.projects.contains_key(name) {
            let known = self.state.ledger.projects.get(name)?.clone();
            self.projects.insert(name.to_owned(), known);
        }
        self.projects.get_mut(name)
    }

    fn change(&mut self, name: &str, change: ProjectEdit, words: String) -> Done {
        let at = self.at;
        let known = self.projects.entry(name.to_owned()).or_default();
        match known.apply(at, &change) {
            Ok(()) => {
                self.plan.effects.push(Effect::Change(name.to_owned(), change));
                self.plan.words.push(words);
                Ok(())
            }
            Err(fault) => wrong("project", fault.to_string(), ""),
        }
    }

    fn user(&mut self, user: &str, credits: Option<Money>) -> Done {
        good_name(user).map_err(|refusal| ("user", refusal))?;
        let is_known = !self.users.insert(user.to_owned());
        let credits = credits.filter(|it| *it > Money::ZERO && !is_known);
        let Some(amount) = credits else { return Ok(()) };
        let (from, to) = (Account::Bank, Account::User(user.to_owned()));
        self.plan.effects.push(Effect::Move { from, to, amount });
        self.plan.words.push(format!("user {user} is new, and begins with {amount} credits"));
        Ok(())
    }

    fn project(&mut self, name: &str, note: Option<&String>) -> Done {
        let Some(known) = self.find(name) else {
            good_name(name).map_err(|refusal| ("project", refusal))?;
            let (at, note) = (self.at, note.cloned().unwrap_or_default());
            let made = Project { made: at.0, note: note.clone(), ..Project::default() };
            self.projects.insert(name.to_owned(), made);
            let change = ProjectEdit::Made { by: self.by.to_owned(), note, spent: Vec::new() };
            self.plan.effects.push(Effect::Change(name.to_owned(), change));
            self.plan.words.push(format!("project {name} is new"));
            return Ok(());
        };
        match note.filter(|note| **note != known.note) {
            Some(note) => {
                let words = format!("project {name}: note `{note}`");
                self.change(name, ProjectEdit::Noted { note: note.clone() }, words)
            }
            None => Ok(()),
        }
    }

    fn member(&mut self, name: &str, user: &str, role: Field<MemberRole>) -> Done {
        good_name(user).map_err(|refusal| ("user", refusal))?;
        let before = self.find(name).and_then(|it| it.members.get(user)).map(|it| it.role);
        let user = user.to_owned();
        match (role, before) {
            (Field::None, None) => Ok(()),
            (Field::None, Some(_)) => {
                let words = format!("project {name}: {user} is no member any more");
                self.change(name, ProjectEdit::Left { user }, words)
            }
            (Field::Keep, Some(_)) => Ok(()),
            (Field::Be(role), Some(before)) if role == before => Ok(()),
            (Field::Keep, None) | (Field::Be(_), _) => {
                let role = match role {
                    Field::Be(role) => role,
                    _ => MemberRole::Member,
                };
                let words = format!("project {name}: {user} is a {}", role.name());
                self.change(name, ProjectEdit::Joined { user, role }, words)
            }
        }
    }

    fn limit(
        &mut self,
        name: &str,
        user: Option<&String>,
        wanted: (Field<Money>, Field<Money>),
    ) -> Done {
        let Some(project) = self.find(name) else { return Ok(()) };
        let before = match user {
            None => project.limits,
            Some(user) => match project.members.get(user) {
                Some(member) => member.limits,
                None if wanted == (Field::Keep, Field::Keep) => return Ok(()),
                None => return wrong("total", format!("{user} is no member"), "leave limits out"),
            },
        };
        let limits =
            SpendingLimits { total: wanted.0.or(before.total), month: wanted.1.or(before.month) };
        if limits == before {
            return Ok(());
        }
        let whose = user.map_or(String::new(), |user| format!(" of {user}"));
        let words = format!("project {name}: limit{whose} {}", limits.words());
        self.change(name, ProjectEdit::Limited { user: user.cloned(), limits }, words)
    }

    /// All that the project is ever given is this much.
    fn give(&mut self, name: &str, credits: Money) -> Done {
        let account = Account::Project(name.to_owned());
        let moved = self.moved.get(&account).copied().unwrap_or(0);
        let more = i128::from(credits.0) - self.state.given(name) - moved;
        let amount = Money(i64::try_from(more.abs()).unwrap_or(i64::MAX));
        if more == 0 {
            return Ok(());
        }
        if more < 0 && self.state.ledger.accounts.balance(&account) + moved < -more {
            let message = format!("{account} has too little to give {amount} credits back");
            return wrong("credits", message, "what is spent or held stays given");
        }
        let (from, to, words) = match more > 0 {
            true => {
                (Account::Bank, account.clone(), format!("{account} is given {amount} credits"))
            }
            false => {
                (account.clone(), Account::Bank, format!("{account} gives {amount} credits back"))
            }
        };
        *self.moved.entry(account).or_default() += more;
        self.plan.effects.push(Effect::Move { from, to, amount });
        self.plan.words.push(words);
        Ok(())
    }
}

impl<T> Field<T> {
    fn or(self, before: Option<T>) -> Option<T> {
        match self {
            Field::Keep => before,
            Field::None => None,
            Field::Be(it) => Some(it),
        }
    }
}

impl SpendingLimits {
    /// As in `20 credits in all, 5 credits a month`.
    pub fn words(&self) -> String {
        let of = |limit: Option<Money>, span: &str| limit.map(|it| format!("{it} credits {span}"));
        let all = [of(self.total, "in all"), of(self.month, "a month")];
        let all: Vec<String> = all.into_iter().flatten().collect();
        if all.is_empty() { "none".to_owned() } else { all.join(", ") }
    }
}
