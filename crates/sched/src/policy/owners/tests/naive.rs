//! The site's scheduler second by second, on an array of free nodes.

use super::*;

/// No pool is looked at longer than this.
const SECONDS: usize = 600;

struct Naive<'a> {
    survey: &'a Survey,
    rule: SiteRule,
    /// By pool and second: free nodes.
    free: Vec<Vec<i64>>,
    /// By job: when it started, and where.
    started: Vec<Option<(usize, usize)>>,
    /// Conservative backfilling: by job its reservation.
    reserved: Vec<Option<usize>>,
}

/// When each job starts, and in which pool; jobs have one entry.
pub(super) fn starts(survey: &Survey, rule: SiteRule) -> Vec<Option<(i64, PoolId)>> {
    let row = |pool: &(PoolId, u32)| {
        let mut free = vec![i64::from(pool.1); SECONDS];
        for it in survey.taken.iter().filter(|it| it.share.pool == pool.0) {
            let (from, until) = (it.from.0.max(0), it.until.0.max(0));
            (from..until).for_each(|at| free[at as usize] -= i64::from(it.share.nodes));
        }
        free
    };
    let count = survey.waiting.len();
    let mut naive = Naive {
        survey,
        rule,
        free: survey.pools.iter().map(row).collect(),
        started: vec![None; count],
        reserved: vec![None; count],
    };
    let until = rule.horizon.0.min(SECONDS as i64 / 2) as usize;
    (0..=until).for_each(|now| naive.second(now));
    let pool = |at: usize| survey.pools[at].0;
    naive.started.iter().map(|it| it.map(|(now, at)| (now as i64, pool(at)))).collect()
}

impl Naive<'_> {
    fn length(&self, job: usize) -> usize {
        self.survey.waiting[job].limit.0.max(1) as usize
    }

    fn may_start(&self, job: usize, now: usize) -> bool {
        let it = &self.survey.waiting[job];
        let over = |other: &usize| {
            let start = self.started.get(*other).copied().flatten();
            start.is_some_and(|(start, _)| start + self.length(*other) <= now)
        };
        let eligible = matches!(it.eligible, Eligible::From(from) if from.0 <= now as i64);
        eligible && it.after.iter().all(over)
    }

    /// The jobs that are examined, in order.
    fn tested(&self, now: usize) -> Vec<usize> {
        let waits = |job: &usize| self.started[*job].is_none() && self.may_start(*job, now);
        let wide = |job: &usize| (0..self.free.len()).any(|at| self.suits(*job, at));
        let mut jobs: Vec<usize> = (0..self.started.len()).filter(waits).filter(wide).collect();
        if self.rule.turn == QueueOrder::Shortest {
            jobs.sort_by_key(|job| self.length(*job));
        }
        jobs.truncate(self.rule.tested as usize);
        jobs
    }

    fn suits(&self, job: usize, at: usize) -> bool {
        let ((pool, nodes), it) = (self.survey.pools[at], &self.survey.waiting[job]);
        it.pools.contains(&pool) && it.nodes <= nodes
    }

    fn fits(&self, job: usize, at: usize, start: usize) -> bool {
        let (wanted, row) = (i64::from(self.survey.waiting[job].nodes), &self.free[at]);
        (start..start + self.length(job)).all(|second| row[second] >= wanted)
    }

    fn take(&mut self, job: usize, at: usize, start: usize, sign: i64) {
        let nodes = sign * i64::from(self.survey.waiting[job].nodes);
        for second in start..start + self.length(job) {
            self.free[at][second] -= nodes;
        }
    }

    fn second(&mut self, now: usize) {
        while (0..self.free.len()).any(|at| self.pass(at, now)) {}
    }

    /// Whether jobs started.
    fn pass(&mut self, at: usize, now: usize) -> bool {
        let jobs: Vec<usize> =
            self.tested(now).into_iter().filter(|job| self.suits(*job, at)).collect();
        let before = self.started.iter().flatten().count();
        match self.rule.depth {
            Depth::First(depth) => self.walk(&jobs, at, now, depth as usize),
            Depth::All => self.keep(&jobs, at, now),
        }
        self.started.iter().flatten().count() > before
    }

    fn walk(&mut self, jobs: &[usize], at: usize, now: usize, depth: usize) {
        let mut reservations = Vec::new();
        for &job in jobs {
            if self.fits(job, at, now) {
                self.take(job, at, now, 1);
                self.started[job] = Some((now, at));
            } else if depth == 0 {
                break;
            } else if reservations.len() < depth && self.survey.waiting[job].reserves {
                let start = (now..).find(|start| self.fits(job, at, *start)).unwrap();
                self.take(job, at, start, 1);
                reservations.push((job, start));
            }
        }
        reservations.into_iter().for_each(|(job, start)| self.take(job, at, start, -1));
    }

    /// Every job has a reservation from the moment on at which it joins.
    fn keep(&mut self, jobs: &[usize], at: usize, now: usize) {
        for &job in jobs {
            if self.reserved[job].is_none() {
                let start = (now..).find(|start| self.fits(job, at, *start)).unwrap();
                self.take(job, at, start, 1);
                self.reserved[job] = Some(start);
            }
            if self.reserved[job] == Some(now) {
                self.started[job] = Some((now, at));
            }
        }
    }
}
