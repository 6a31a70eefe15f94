//! Snapshots in pages: of a state only what has changed since the last snapshot is written, and it
//! is read back piece by piece.
//!
//! What a state has many of lies in pages by number: lists in JSON, compressed. Everything else is
//! the head, which also has a digest over all pages. The submission that the jobs of an array share
//! is in a page of jobs once. It is in a page of its own, which pages of jobs name by its digest, if
//! the array has jobs in other pages too, or if it is large: such a page is written once, however
//! often the jobs beside it change. The jobs of an array share it again when they are read.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{Read as _, Write as _};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tradewind_io::submission::Submission;
use tradewind_model::{JobId, JobState, Market, MarketState, Terms};

use super::books::{get_job, put_job};
use super::wire::{Decode, DecodeFault, Encode, Fields, parse};
use super::{CodecError, lengths, state, waits};
use crate::live::State;
use crate::live::money::{Account, Accounts, Posting};
use crate::live::state::jobs::JobTable;
use crate::live::state::{Job, Task};
use crate::site::Tag;
use crate::store::{Changes, Page, PageKey};

/// The version of snapshots in pages.
pub const VERSION: u32 = 3;

/// The first version with pages: all submissions are in pages of jobs.
pub const FIRST: u32 = 2;

/// Before those that name them.
const SUBMISSIONS: u8 = 0;
const JOBS: u8 = 1;
const MARKET: u8 = 2;
const NUMBERS: u8 = 3;
const KEYS: u8 = 4;
const TASKS: u8 = 5;
const POSTINGS: u8 = 6;
/// Forecasts of starts that have not come.
const FORECASTS: u8 = 7;
/// What past forecasts have taught: a page for each class of jobs.
const SCORES: u8 = 8;
/// Runs that lengths are learned from.
const RUNS: u8 = 9;

/// Entries of a page that are not jobs, by their numbers.
const ENTRIES: u64 = 256;

/// The pages that a store has.
#[derive(Debug, Clone, Default)]
pub struct Pages {
    /// The digests of their texts.
    digests: BTreeMap<PageKey, [u8; 32]>,
    /// By page of jobs: the submissions with pages of their own that it names.
    named: BTreeMap<u64, Vec<OwnPage>>,
    /// Pages of large submissions that were made before a snapshot needs them.
    made: Vec<MadePage>,
}

/// A submission that has a page of its own, and the digest of that page's text.
type OwnPage = (Arc<Submission>, [u8; 32]);

/// A submission of more bytes has a page of its own.
const LARGE: usize = 16 << 10;

/// The own page of a large submission. To make it takes as long as hundreds of small requests, so
/// that is done on a thread of low priority ([`MadePage::of`]), and not while a snapshot is kept.
#[derive(Debug, Clone)]
pub struct MadePage {
    submission: Arc<Submission>,
    digest: [u8; 32],
    /// Compressed.
    body: Vec<u8>,
}

impl MadePage {
    /// Whether the submission will have a page of its own, whatever jobs it has.
    pub fn is_for(submission: &Submission) -> bool {
        submission.bytes() > LARGE
    }

    /// The page of this submission. Linear in its bytes.
    pub fn of(submission: Arc<Submission>) -> MadePage {
        let mut text = Vec::new();
        submission.put(&mut text);
        MadePage { submission, digest: Sha256::digest(&text).into(), body: compressed(&text) }
    }
}

/// The number of the page that has a submission with this digest.
fn place_of(digest: &[u8; 32]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *digest;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// What a snapshot in the making has so far.
struct Making<'a> {
    known: &'a mut Pages,
    seen: BTreeSet<PageKey>,
    changed: Vec<Page>,
    /// The last submission that got a page of its own.
    shared: Option<OwnPage>,
}

impl Pages {
    /// Takes pages that the next snapshot will need, unless their jobs are gone by then.
    pub fn prepare(&mut self, made: impl Iterator<Item = MadePage>) {
        self.made.extend(made);
    }

    /// The head of a snapshot of the state, and the pages that the store has not yet: those of
    /// jobs are looked at only if they were touched. Linear in the state; what is written, in what
    /// has changed.
    pub fn of(&mut self, state: &State, touched: &BTreeSet<u64>) -> (Vec<u8>, Changes) {
        let nothing_is_known = self.digests.is_empty();
        let (seen, changed) = (BTreeSet::new(), Vec::new());
        let mut making = Making { known: self, seen, changed, shared: None };
        making.jobs(&state.jobs, touched);
        let market = MarketState { jobs: Vec::new(), ..making.market(state.market.state()) };
        let numbers = state.jobs.numbers.iter();
        making.lists(NUMBERS, numbers.map(|entry| (u64::from(entry.0.0) / ENTRIES, entry)));
        let mut keys = BTreeMap::<u64, Vec<_>>::new();
        for entry in &state.jobs.keys {
            keys.entry(entry.1 / ENTRIES).or_default().push(entry);
        }
        let keys =
            keys.into_iter().flat_map(|(page, all)| all.into_iter().map(move |it| (page, it)));
        making.lists(KEYS, keys);
        let mut tasks = BTreeMap::<u64, Vec<_>>::new();
        for entry in &state.tasks {
            tasks.entry(entry.0.job / ENTRIES).or_default().push(entry);
        }
        let tasks =
            tasks.into_iter().flat_map(|(page, all)| all.into_iter().map(move |it| (page, it)));
        making.lists(TASKS, tasks);
        let postings = state.accounts().postings();
        making.lists(POSTINGS, postings.map(|entry| (entry.number / ENTRIES, entry)));
        let forecasts = waits::open(&state.waits);
        making.lists(FORECASTS, forecasts.map(|entry| (entry.0 / ENTRIES, entry)));
        making.lists(SCORES, waits::scores(&state.waits).map(|entry| (entry.0, entry)));
        making.lists(RUNS, lengths::runs(&state.lengths).map(|run| (run.0 / ENTRIES, run)));
        let changed = making.finish();
        let mut head = Vec::with_capacity(1 << 14);
        state::put_head(state, &market, &self.digest(), &mut head);
        match nothing_is_known {
            true => (head, Changes::All(changed)),
            false => (head, Changes::Some(changed)),
        }
    }

    /// Over all pages.
    fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for (key, digest) in &self.digests {
            hash.update([key.0]);
            hash.update(key.1.to_be_bytes());
            hash.update(digest);
        }
        hash.finalize().into()
    }
}

impl Making<'_> {
    fn jobs(&mut self, jobs: &JobTable, touched: &BTreeSet<u64>) {
        let mut next = jobs.keys().next().map(|number| number / JobTable::PAGE);
        while let Some(page) = next {
            let key = (JOBS, page);
            if touched.contains(&page) || !self.known.digests.contains_key(&key) {
                self.page_of_jobs(jobs, page);
            }
            self.seen.insert(key);
            let named = self.known.named.get(&page).into_iter().flatten();
            self.seen.extend(named.map(|(_, digest)| (SUBMISSIONS, place_of(digest))));
            let end = (page + 1) * JobTable::PAGE;
            next = jobs.range(end..).next().map(|(number, _)| number / JobTable::PAGE);
        }
    }

    fn page_of_jobs(&mut self, jobs: &JobTable, page: u64) {
        let (begin, end) = (page * JobTable::PAGE, (page + 1) * JobTable::PAGE);
        let array = |job: &Job| job.array.map(|(first, _)| first);
        let goes_on = jobs.range(end..).next().and_then(|(_, job)| array(job));
        // Whether jobs of the array are in other pages, too.
        let is_wide =
            |job: &Job| array(job).is_some_and(|it| it < begin || it >= end || goes_on == Some(it));
        let has_own = |job: &Job| is_wide(job) || MadePage::is_for(&job.submission);
        let mut submissions: Vec<(&Arc<Submission>, bool)> = Vec::new();
        let mut text = br#"{"jobs":["#.to_vec();
        for (place, (_, job)) in jobs.range(begin..end).enumerate() {
            let same = submissions.iter().position(|(it, _)| Arc::ptr_eq(it, &job.submission));
            let submission = same.unwrap_or_else(|| {
                submissions.push((&job.submission, has_own(job)));
                submissions.len() - 1
            });
            if place > 0 {
                text.push(b',');
            }
            put_job(job, submission as u64, &mut text);
        }
        text.extend_from_slice(br#"],"submissions":["#);
        let before = self.known.named.remove(&page).unwrap_or_default();
        let mut named = Vec::new();
        for (place, (submission, has_own)) in submissions.into_iter().enumerate() {
            if place > 0 {
                text.push(b',');
            }
            match has_own.then(|| self.own_page(submission, &before)).flatten() {
                Some(digest) => {
                    digest.put(&mut text);
                    named.push((Arc::clone(submission), digest));
                }
                None => submission.put(&mut text),
            }
        }
        text.extend_from_slice(b"]}");
        self.known.named.insert(page, named);
        self.offer((JOBS, page), &text);
    }

    /// The digest of the submission's own page, which is written unless the page of jobs named it
    /// `before`. `None`: another submission has that page.
    fn own_page(&mut self, submission: &Arc<Submission>, before: &[OwnPage]) -> Option<[u8; 32]> {
        let mut known = before.iter().chain(&self.shared);
        if let Some((_, digest)) = known.find(|(it, _)| Arc::ptr_eq(it, submission)) {
            return Some(*digest);
        }
        let made = self.known.made.iter().position(|it| Arc::ptr_eq(&it.submission, submission));
        let made = made.map(|place| self.known.made.swap_remove(place));
        let made = made.unwrap_or_else(|| MadePage::of(Arc::clone(submission)));
        let MadePage { submission, digest, body } = made;
        let key = (SUBMISSIONS, place_of(&digest));
        if self.known.digests.get(&key).is_some_and(|known| *known != digest) {
            return None;
        }
        if self.known.digests.insert(key, digest).is_none() {
            self.changed.push(Page { key, body });
        }
        self.shared = Some((submission, digest));
        Some(digest)
    }

    fn market(&mut self, mut market: MarketState) -> MarketState {
        let jobs = std::mem::take(&mut market.jobs);
        self.lists(MARKET, jobs.iter().map(|job| (u64::from(job.job.0) / ENTRIES, job)));
        market
    }

    /// Entries by page, in order.
    fn lists<T: Encode>(&mut self, kind: u8, entries: impl Iterator<Item = (u64, T)>) {
        let mut open: Option<(u64, Vec<u8>)> = None;
        for (page, entry) in entries {
            match &mut open {
                Some((of, text)) if *of == page => text.push(b','),
                _ => {
                    self.close(kind, open.take());
                    open = Some((page, vec![b'[']));
                }
            }
            if let Some((_, text)) = &mut open {
                entry.put(text);
            }
        }
        self.close(kind, open);
    }

    fn close(&mut self, kind: u8, open: Option<(u64, Vec<u8>)>) {
        if let Some((page, mut text)) = open {
            text.push(b']');
            self.offer((kind, page), &text);
            self.seen.insert((kind, page));
        }
    }

    fn offer(&mut self, key: PageKey, text: &[u8]) {
        let digest = Sha256::digest(text).into();
        if self.known.digests.insert(key, digest) != Some(digest) {
            self.changed.push(Page { key, body: compressed(text) });
        }
    }

    /// Pages that are gone are changes, too.
    fn finish(self) -> Vec<Page> {
        let Making { known, seen, mut changed, shared: _ } = self;
        known.made.clear();
        let gone = known.digests.keys().filter(|it| !seen.contains(it)).copied();
        for key in gone.collect::<Vec<_>>() {
            known.digests.remove(&key);
            if key.0 == JOBS {
                known.named.remove(&key.1);
            }
            changed.push(Page { key, body: Vec::new() });
        }
        changed
    }
}

fn compressed(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    // Writing to a vector cannot fail.
    let _ = encoder.write_all(text);
    encoder.finish().unwrap_or_default()
}

/// No page has more: a damaged page cannot fill the memory.
const LONGEST: u64 = 1 << 30;

fn text_of(page: &Page) -> Result<Vec<u8>, DecodeFault> {
    let mut text = Vec::new();
    let read = ZlibDecoder::new(&*page.body).take(LONGEST).read_to_end(&mut text);
    read.map_err(|wrong| DecodeFault::new(format!("it cannot be decompressed: {wrong}")))?;
    Ok(text)
}

/// A state in the making, of a head and pages in any order.
pub struct Draft {
    state: State,
    market: MarketState,
    balances: BTreeMap<Account, i128>,
    posted: u64,
    digest: [u8; 32],
    jobs: BTreeMap<u64, Job>,
    postings: Vec<Posting>,
    pages: Pages,
    submissions: Lately<Submission>,
    /// Those that have pages of their own, by the digests of these.
    shared: BTreeMap<[u8; 32], Arc<Submission>>,
    terms: Lately<Terms>,
}

impl std::fmt::Debug for Draft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Draft").field("pages", &self.pages.digests.len()).finish_non_exhaustive()
    }
}

impl Draft {
    /// Of a snapshot's own body.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn begin(version: u32, head: &[u8]) -> Result<Draft, CodecError> {
        if !(FIRST..=VERSION).contains(&version) {
            return Err(CodecError(format!("states of version {version} are not known here")));
        }
        let state::SnapshotHead { state, market, balances, posted, digest } =
            state::get_head(parse(head)?)?;
        Ok(Draft {
            state,
            market,
            balances,
            posted,
            digest,
            jobs: BTreeMap::new(),
            postings: Vec::new(),
            pages: Pages::default(),
            submissions: Lately::default(),
            shared: BTreeMap::new(),
            terms: Lately::default(),
        })
    }

    /// Takes a page in.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn add(&mut self, page: &Page) -> Result<(), CodecError> {
        let text = text_of(page)?;
        let digest: [u8; 32] = Sha256::digest(&text).into();
        self.pages.digests.insert(page.key, digest);
        let value = parse(&text)?;
        drop(text);
        match page.key.0 {
            SUBMISSIONS => drop(self.shared.insert(digest, Arc::<Submission>::get(value)?)),
            JOBS => self.add_jobs(page.key.1, value)?,
            MARKET => {
                for mut job in Vec::<JobState>::get(value)? {
                    job.demand.terms = job.demand.terms.map(|terms| self.terms.shared(terms));
                    self.market.jobs.push(job);
                }
            }
            NUMBERS => self.state.jobs.numbers.extend(Vec::<(JobId, u64)>::get(value)?),
            KEYS => self.state.jobs.keys.extend(Vec::<((String, String), u64)>::get(value)?),
            TASKS => self.state.tasks.0.extend(Vec::<(Tag, Task)>::get(value)?),
            POSTINGS => self.postings.extend(Vec::<Posting>::get(value)?),
            FORECASTS => {
                for entry in Vec::<waits::OpenForecast>::get(value)? {
                    waits::restore_open(&mut self.state.waits, entry)?;
                }
            }
            SCORES => {
                for entry in Vec::<waits::Scores>::get(value)? {
                    waits::restore_scores(&mut self.state.waits, entry)?;
                }
            }
            RUNS => {
                for run in Vec::<lengths::RunRow>::get(value)? {
                    lengths::restore(&mut self.state.lengths, run)?;
                }
            }
            kind => return Err(CodecError(format!("pages of kind {kind} are not known here"))),
        }
        Ok(())
    }

    fn add_jobs(&mut self, page: u64, value: Value) -> Result<(), DecodeFault> {
        let mut fields = Fields::of(value)?;
        let (jobs, entries): (Vec<AnyJson>, Vec<AnyJson>) =
            (fields.take("jobs")?, fields.take("submissions")?);
        fields.end()?;
        let (mut submissions, mut named) = (Vec::new(), Vec::new());
        for AnyJson(entry) in entries {
            if !entry.is_string() {
                submissions.push(self.submissions.shared(Arc::get(entry)?));
                continue;
            }
            let digest = <[u8; 32]>::get(entry)?;
            let shared = self.shared.get(&digest).cloned();
            let shared = shared.ok_or_else(|| DecodeFault::new("a submission is missing"))?;
            submissions.push(Arc::clone(&shared));
            named.push((shared, digest));
        }
        self.pages.named.insert(page, named);
        for AnyJson(job) in jobs {
            let job = get_job(job, &submissions)?;
            self.jobs.insert(job.number, job);
        }
        Ok(())
    }

    /// The state, and the pages that it is made of.
    ///
    /// # Errors
    /// If a page is missing or is another, or if the parts do not go together.
    pub fn finish(self) -> Result<(State, Pages), CodecError> {
        let Draft { mut state, market, balances, posted, digest, jobs, postings, pages, .. } = self;
        if pages.digest() != digest {
            return Err(CodecError("its pages are not those of its head".to_owned()));
        }
        let market = Market::restore(market);
        state.market = market.map_err(|error| CodecError(format!("market: {error}")))?;
        state.ledger.accounts = Accounts::of(balances, postings, posted);
        state.jobs.table = JobTable::from(jobs);
        state.follow_rules();
        Ok((state, pages))
    }
}

/// A value that is read later.
struct AnyJson(Value);

impl Decode for AnyJson {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        Ok(AnyJson(value))
    }
}

/// Values that were read last: equal ones are one in memory.
struct Lately<T>(VecDeque<Arc<T>>);

impl<T> Default for Lately<T> {
    fn default() -> Self {
        Lately(VecDeque::new())
    }
}

impl<T: PartialEq> Lately<T> {
    /// As many are remembered.
    const KEPT: usize = 8;

    fn shared(&mut self, value: Arc<T>) -> Arc<T> {
        if let Some(known) = self.0.iter().find(|known| **known == value) {
            return Arc::clone(known);
        }
        if self.0.len() == Self::KEPT {
            self.0.pop_front();
        }
        self.0.push_back(Arc::clone(&value));
        value
    }
}
