//! What goes over the wire, one file per noun: for the server, and for clients.
//!
//! Amounts are numbers of credits, times whole seconds since 1970, ids whole numbers. Fields that
//! have nothing to say are left out.

mod account;
mod advice;
mod amount;
mod audit;
mod choice;
mod consumed;
mod event;
mod explanation;
mod import;
mod job;
mod limit;
mod market;
mod peer;
mod problem;
mod project;
mod quote;
mod reclaim;
mod report;
mod session;
mod shadow;
mod sign_in;
mod site;
mod start;
mod submission;
mod token;
mod whatif;

pub use account::{Account, AccountList, POSTING_COLUMNS, Posting, Statement, Transfer};
pub use advice::LimitAdvice;
pub use amount::{Credits, Thousandths};
pub use audit::{AUDIT_COLUMNS, AuditList, AuditRow};
pub use choice::{Choice, OtherPool};
pub use consumed::{Budget, BudgetLimits, BudgetLine, CONSUMED_COLUMNS, Consumed, Kwh};
pub use event::Event;
pub use explanation::{Explanation, Relaxation};
pub use import::{
    IMPORT_COLUMNS, ImportKind, ImportRole, ImportRow, ImportTable, Imported, LimitName, Usage,
    UsageList,
};
pub(crate) use job::array_title;
pub use job::{
    ArrayPlace, Booking, ExitStatus, HistoryEntry, Home, Job, JobData, JobList, JobUpdate, Part,
    PeerReceipt, Promise, Submitted, Together,
};
pub use limit::{Limit, Times, TimesBy};
pub use market::{Health, JobCounts, Market, MoneyTotals, Myself, PolicyChoice, Standby};
pub use peer::{
    Peer, PeerAnswers, PeerGlance, PeerLetters, PeerList, PeerQuestion, PeerQuestions, PeerSettled,
    PeerSettlement,
};
pub use problem::{Failure, Problem};
pub use project::{
    LimitChange, MemberRole, Membership, NewProject, Project, ProjectBudget, ProjectForecast,
    ProjectList, ProjectMember, SpendingLimits,
};
pub use quote::{Basis, Offer, OfferedNodes, QueuePlan, Quotes};
pub use reclaim::{ReclaimOrder, Reclaimed};
pub use report::{PeerReport, Report, SiteReport, TogetherReport, UserReport};
pub use session::{Session, SessionList};
pub use shadow::{
    ComparedErrors, ObservedHour, ObservedPolicy, ObservedSite, ObservedWaits, Shadow, StartErrors,
};
pub use sign_in::{DeviceAnswer, DeviceQuestion, DeviceSignIn, NewSession, SignInWays};
pub use site::{
    Delay, Licence, Link, OwnersQueue, Pool, PriceChange, Site, SiteFailure, SiteList, SiteState,
};
pub use start::{Expectation, RangeScore, StartRange, StartRanges, StartsWithin};
pub use submission::{
    Attribute, Dependency, Mail, Passed, ScriptSubmission, Submission, TimeLimit,
};
pub use token::{IssuedToken, NewSecret, NewToken, Role, Token, TokenList};
pub use whatif::{Fate, JobChange, LookedAt, Totals, WhatIf, WhatIfQuestion};
