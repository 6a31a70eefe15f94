//! Snapshots in pages: of a state only what has changed since the last snapshot is written, and it
//! is read back piece by piece.
//!
//! What a state has many of lies in pages by number: lists in JSON, compressed. Everything else is
//! the head, which also has a digest over all pages. The submission that the jobs of an array share
//! is in a page once, and they share it again when they are read.

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
use super::wire::{Fault, Fields, Decode, Encode, parse};
use super::{CodecError, state};
use crate::live::State;
use crate::live::job_table::JobTable;
use crate::live::money::{Account, Accounts, Posting};
use crate::live::state::Task;
use crate::site::Tag;
use crate::store::{Changes, Page, PageKey};

/// The version of snapshots in pages.
pub const VERSION: u32 = 2;

const JOBS: u8 = 1;
const MARKET: u8 = 2;
const NUMBERS: u8 = 3;
const KEYS: u8 = 4;
const TASKS: u8 = 5;
const POSTINGS: u8 = 6;

/// Entries of a page that are not jobs, by their numbers.
const ENTRIES: u64 = 256;

/// The pages that a store has, by the digests of their texts.
#[derive(Debug, Clone, Default)]
pub struct Pages(BTreeMap<PageKey, [u8; 32]>);

/// What a snapshot in the making has so far.
struct Making<'a> {
    known: &'a mut Pages,
    seen: BTreeSet<PageKey>,
    changed: Vec<Page>,
}

impl Pages {
    /// The head of a snapshot of the state, and the pages that the store has not yet: those of
    /// jobs are looked at only if they were touched. Linear in the state; what is written, in what
    /// has changed.
    pub fn of(&mut self, state: &State, touched: &BTreeSet<u64>) -> (Vec<u8>, Changes) {
        let nothing_is_known = self.0.is_empty();
        let mut making = Making { known: self, seen: BTreeSet::new(), changed: Vec::new() };
        making.jobs(&state.jobs, touched);
        let market = MarketState { jobs: Vec::new(), ..making.market(state.market.state()) };
        let numbers = state.numbers.iter();
        making.lists(NUMBERS, numbers.map(|entry| (u64::from(entry.0.0) / ENTRIES, entry)));
        let mut keys = BTreeMap::<u64, Vec<_>>::new();
        for entry in &state.keys {
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
        let postings = state.accounts.postings();
        making.lists(POSTINGS, postings.map(|entry| (entry.number / ENTRIES, entry)));
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
        for (key, digest) in &self.0 {
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
            let end = (page + 1) * JobTable::PAGE;
            if touched.contains(&page) || !self.known.0.contains_key(&key) {
                let mut submissions: Vec<&Arc<Submission>> = Vec::new();
                let mut text = br#"{"jobs":["#.to_vec();
                for (place, (_, job)) in jobs.range(page * JobTable::PAGE..end).enumerate() {
                    let same = submissions.iter().position(|it| Arc::ptr_eq(it, &job.submission));
                    let submission = same.unwrap_or_else(|| {
                        submissions.push(&job.submission);
                        submissions.len() - 1
                    });
                    if place > 0 {
                        text.push(b',');
                    }
                    put_job(job, submission as u64, &mut text);
                }
                text.extend_from_slice(br#"],"submissions":"#);
                submissions.put(&mut text);
                text.push(b'}');
                self.offer(key, &text);
            }
            self.seen.insert(key);
            next = jobs.range(end..).next().map(|(number, _)| number / JobTable::PAGE);
        }
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
        if self.known.0.insert(key, digest) != Some(digest) {
            self.changed.push(Page { key, body: compressed(text) });
        }
    }

    /// Pages that are gone are changes, too.
    fn finish(self) -> Vec<Page> {
        let Making { known, seen, mut changed } = self;
        let gone: Vec<PageKey> = known.0.keys().filter(|it| !seen.contains(it)).copied().collect();
        for key in gone {
            known.0.remove(&key);
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

/// No page has more: whoever damages one cannot fill the memory with it.
const LONGEST: u64 = 1 << 30;

fn text_of(page: &Page) -> Result<Vec<u8>, Fault> {
    let mut text = Vec::new();
    let read = ZlibDecoder::new(&*page.body).take(LONGEST).read_to_end(&mut text);
    read.map_err(|wrong| Fault::new(format!("it cannot be decompressed: {wrong}")))?;
    Ok(text)
}

/// A state in the making, of a head and pages in any order.
pub struct Draft {
    state: State,
    market: MarketState,
    balances: BTreeMap<Account, i128>,
    posted: u64,
    digest: [u8; 32],
    jobs: BTreeMap<u64, crate::live::state::Job>,
    postings: Vec<Posting>,
    pages: Pages,
    submissions: Lately<Submission>,
    terms: Lately<Terms>,
}

impl std::fmt::Debug for Draft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Draft").field("pages", &self.pages.0.len()).finish_non_exhaustive()
    }
}

impl Draft {
    /// Of a snapshot's own body.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn begin(version: u32, head: &[u8]) -> Result<Draft, CodecError> {
        if version != VERSION {
            return Err(CodecError(format!("states of version {version} are not known here")));
        }
        let state::Head { state, market, balances, posted, digest } =
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
            terms: Lately::default(),
        })
    }

    /// Takes a page in.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn add(&mut self, page: &Page) -> Result<(), CodecError> {
        let text = text_of(page)?;
        self.pages.0.insert(page.key, Sha256::digest(&text).into());
        let value = parse(&text)?;
        drop(text);
        match page.key.0 {
            JOBS => self.add_jobs(value)?,
            MARKET => {
                for mut job in Vec::<JobState>::get(value)? {
                    job.demand.terms = job.demand.terms.map(|terms| self.terms.shared(terms));
                    self.market.jobs.push(job);
                }
            }
            NUMBERS => self.state.numbers.extend(Vec::<(JobId, u64)>::get(value)?),
            KEYS => self.state.keys.extend(Vec::<((String, String), u64)>::get(value)?),
            TASKS => self.state.tasks.extend(Vec::<(Tag, Task)>::get(value)?),
            POSTINGS => self.postings.extend(Vec::<Posting>::get(value)?),
            kind => return Err(CodecError(format!("pages of kind {kind} are not known here"))),
        }
        Ok(())
    }

    fn add_jobs(&mut self, value: Value) -> Result<(), Fault> {
        let mut fields = Fields::of(value)?;
        let (jobs, submissions): (Vec<AnyJson>, Vec<Arc<Submission>>) =
            (fields.take("jobs")?, fields.take("submissions")?);
        fields.end()?;
        let submissions: Vec<_> =
            submissions.into_iter().map(|it| self.submissions.shared(it)).collect();
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
        state.accounts = Accounts::of(balances, postings, posted);
        state.jobs = JobTable::from(jobs);
        Ok((state, pages))
    }
}

/// A value that is read later.
struct AnyJson(Value);

impl Decode for AnyJson {
    fn get(value: Value) -> Result<Self, Fault> {
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
