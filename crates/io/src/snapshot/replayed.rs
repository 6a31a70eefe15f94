//! The side model for jobs that are replayed on pools.

use tradewind_model::{Pools, SiteId, Span, Terms, Time};

use super::offers::Offers;
use super::side::{Ask, Side};

/// A job of a log that is to be replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asker<'a> {
    /// As `jobs.csv` has it: the job's number, or `LOG!number` with several logs.
    pub name: &'a str,
    /// When it is submitted.
    pub submit: Time,
    /// Nodes that it wants.
    pub tasks: u32,
    /// How long it asks to run on the reference node.
    pub work: Span,
    /// How long it ran, as the log has it.
    pub run: Span,
    /// Whose it is.
    pub user: i64,
    /// Where it is submitted, if at a site of the grid.
    pub home: Option<SiteId>,
}

/// Gives jobs their terms. Deterministic: the same job has the same terms in whatever log, as long
/// as it keeps its name.
#[derive(Debug, Clone)]
pub struct ReplayedTerms<'a> {
    side: &'a Side,
    seed: u64,
    offers: Offers,
    /// Pools whose prices change: what they offer depends on when a job is submitted.
    changing: Option<Pools>,
}

impl<'a> ReplayedTerms<'a> {
    /// Terms for jobs on these pools. Drawn performances are those that there are, and market
    /// prices those of the pools; of prices that change the mean over the time that a job asks for,
    /// from its submission on.
    pub fn new(side: &'a Side, seed: u64, pools: &Pools) -> ReplayedTerms<'a> {
        let changing = pools.rates().is_some().then(|| pools.clone());
        ReplayedTerms { side, seed, offers: Offers::given(pools), changing }
    }

    /// The job's terms: what the side file gives for it, the rest drawn if the file has a model,
    /// else nothing; `None` if there is nothing to say. Linear in the pools.
    pub fn terms(&self, job: &Asker<'_>) -> Option<Terms> {
        let given = self.side.jobs.get(job.name);
        let bid_factor = self.side.bid_factors.get(&job.user).copied();
        let own = Terms { user: job.user, home: job.home, bid_factor, ..Terms::NONE };
        if !self.side.drawn {
            let terms = given.map(|given| given.over(own.clone()));
            return terms.or_else(|| (job.home.is_some() || bid_factor.is_some()).then_some(own));
        }
        let key = job.name.parse::<i64>().map_or_else(|_| hash(job.name), |n| n as u64);
        let Asker { submit: arrival, tasks, work, run, .. } = *job;
        let ask = Ask { key, tasks, work: work.max(Span(1)), run, arrival };
        let given = given.cloned().unwrap_or_default();
        let then = self.changing.as_ref().map(|pools| Offers::from(pools, arrival, ask.work));
        let offers = then.as_ref().unwrap_or(&self.offers);
        let drawn = self.side.draw(self.seed, &ask, given.min_performance, offers);
        Some(given.over(Terms { user: own.user, home: own.home, bid_factor, ..drawn }))
    }
}

/// Hash FNV-1a of the name.
fn hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tradewind_model::{Criterion, Money, Performance, Pool, Price, Rates, Ratio, Series};

    use super::*;
    use crate::input::Input;
    use crate::snapshot::side::parse;

    fn side(text: &str) -> Side {
        parse(&Input::new("side.toml", text)).unwrap()
    }

    fn job(name: &str) -> Asker<'_> {
        let (submit, work) = (Time(1_000), Span(7_200));
        Asker { name, submit, tasks: 3, work, run: Span(100), user: 8, home: Some(SiteId(0)) }
    }

    /// Four nodes at two credits.
    fn pools() -> Pools {
        let cluster = Pools::cluster(4);
        let mut pool = cluster.as_slice()[0].clone();
        pool.price = Price::credits(2);
        Pools::new(cluster.sites().to_vec(), vec![pool]).unwrap()
    }

    const GIVEN: &str = "[[job]]\njob = 7\nbudget = 5\nvalue = 9\npriority = 2\n\
                         [[job]]\njob = \"kth!7\"\nminimize = \"cost\"\n";

    #[test]
    fn without_a_model_only_what_is_given_counts() {
        let side = side(GIVEN);
        let replayed = ReplayedTerms::new(&side, 1, &pools());
        let own = Terms { user: 8, home: Some(SiteId(0)), ..Terms::NONE };
        let budget = Some(Money::credits(5));
        let seven = Terms { budget, value: Some(Money::credits(9)), priority: 2, ..own.clone() };
        assert_eq!(replayed.terms(&job("7")), Some(seven));
        let other = Terms { criterion: Criterion::Cost, ..own.clone() };
        assert_eq!(replayed.terms(&job("kth!7")), Some(other));
        assert_eq!(replayed.terms(&job("8")), Some(own));
        assert_eq!(replayed.terms(&Asker { home: None, ..job("8") }), None);
    }

    #[test]
    fn a_job_has_the_factor_of_its_user_unless_it_has_one_of_its_own() {
        let of = |text: &str, name: &str| {
            let side = side(text);
            let terms = ReplayedTerms::new(&side, 1, &pools()).terms(&job(name)).unwrap();
            terms.bid_factor.map(Ratio::thousandths)
        };
        let users = "[[user]]\nuser = 8\nbid_factor = 1.5\n[[user]]\nuser = 9\nbid_factor = 7\n\
                     [[job]]\njob = 7\nbid_factor = 0.25\n";
        for model in ["", "[model]\n"] {
            let text = format!("{model}{users}");
            assert_eq!((of(&text, "7"), of(&text, "8")), (Some(250), Some(1_500)));
            assert_eq!(of(&format!("{model}{GIVEN}"), "7"), None);
        }
        let twice = "[[user]]\nuser = 8\nbid_factor = 1\n[[user]]\nuser = 8\nbid_factor = 2\n";
        for wrong in [twice, "[[user]]\nuser = 8\n", "[[user]]\nuser = 8\nbid_factor = 0\n"] {
            let told = parse(&Input::new("side.toml", wrong)).unwrap_err().to_string();
            assert!(told.contains("user["), "{told}");
        }
    }

    #[test]
    fn a_model_draws_what_can_be_met() {
        let side = side(&format!("[model]\nvalue = [2, 3]\n{GIVEN}"));
        let replayed = ReplayedTerms::new(&side, 1, &pools());
        // 3 nodes for 7,200 s at 2 credits.
        let worth = 43_200;
        for name in ["1", "2", "3", "kth!1", "kth!2"] {
            let terms = replayed.terms(&job(name)).unwrap();
            let within = |money: Option<Money>, (low, high): (i64, i64)| {
                let micro = money.unwrap().0;
                micro * 10 >= Money::credits(worth).0 * low
                    && micro * 10 <= Money::credits(worth).0 * high
            };
            assert!(within(terms.budget, (10, 16)) && within(terms.value, (20, 30)));
            let deadline = terms.deadline.unwrap().0 - 1_000;
            assert!((2 * 7_200..=10 * 7_200).contains(&deadline));
            assert!(terms.max_price.is_none_or(|cap| cap >= Price::credits(2)));
            assert_eq!(replayed.terms(&job(name)), Some(terms.clone()), "the same each time");
            let shorter = replayed.terms(&Asker { tasks: 4, ..job(name) }).unwrap();
            assert_eq!(shorter.criterion, terms.criterion, "draws are not shifted");
        }
        assert_eq!(replayed.terms(&job("7")).unwrap().budget, Some(Money::credits(5)));
        let another = ReplayedTerms::new(&side, 2, &pools());
        assert_ne!(another.terms(&job("1")), replayed.terms(&job("1")));
        assert_ne!(replayed.terms(&job("kth!1")), replayed.terms(&job("sdsc!1")));
    }

    #[test]
    fn market_values_are_those_of_the_jobs_own_time_where_prices_change() {
        let step = Series::new(&[(Time(0), 1_000_000), (Time(3_000), 4_000_000)]).unwrap();
        let repeated = step.clone().repeated(Span(6_000)).unwrap();
        let side = side("[model]\nbudget = [1, 1]\ndraw = [\"budget\"]\n");
        for rate in [step, repeated] {
            let rates = Rates::new(vec![Some(Arc::new(rate.clone()))]);
            let pools = pools().with_rates(rates);
            let replayed = ReplayedTerms::new(&side, 1, &pools);
            for submit in [0, 1_000, 2_999, 3_000, 20_001] {
                let asker = Asker { submit: Time(submit), work: Span(900), ..job("1") };
                let budget = replayed.terms(&asker).unwrap().budget.unwrap().0;
                let worth: i64 = (submit..submit + 900).map(|at| 3 * rate.at(Time(at))).sum();
                // The mean is rounded up to a micro-credit per second.
                assert!((worth..worth + 3 * 900).contains(&budget), "{submit}: {budget} {worth}");
            }
        }
    }

    #[test]
    fn values_and_deadlines_may_be_drawn_alone_and_in_other_terms() {
        let text = "[model]\ndraw = [\"deadline\"]\ndeadline_of = \"run\"\nslack = [1, 3]\n\
                    slack_from = 0\nvalue_range = [90000, 160000]\n";
        let (side, pools) = (side(text), pools());
        let replayed = |seed| ReplayedTerms::new(&side, seed, &pools);
        let (mut values, mut slacks) = (Vec::new(), Vec::new());
        for seed in 1..=400 {
            let terms = replayed(seed).terms(&job("1")).unwrap();
            let drawn = Terms { value: terms.value, deadline: terms.deadline, ..Terms::NONE };
            let expected = Terms { user: 8, home: Some(SiteId(0)), ..drawn };
            assert_eq!(terms, expected, "nothing else is asked for");
            values.push(terms.value.unwrap().0);
            // Runs of 100 s that ask for 7,200 s.
            slacks.push(terms.deadline.unwrap().0 - 1_000);
        }
        let spread = |all: &mut Vec<i64>, (low, high): (i64, i64)| {
            all.sort_unstable();
            let near = |at: usize, wanted: i64| (all[at] - wanted).abs() * 10 < high - low;
            assert!(all[0] >= low && all[399] <= high && near(0, low) && near(399, high));
            assert!(near(200, low + (high - low) / 2), "{all:?}");
        };
        spread(&mut values, (90_000_000_000, 160_000_000_000));
        spread(&mut slacks, (100, 300));
        let wide = replayed(1).terms(&Asker { tasks: 9, work: Span(1), ..job("1") }).unwrap();
        assert_eq!(Some(wide), replayed(1).terms(&job("1")), "whatever it asks for");
        let none = replayed(1).terms(&Asker { run: Span(0), ..job("1") }).unwrap();
        assert_eq!(none.deadline, None, "it takes no time");
    }

    #[test]
    fn without_a_minimum_performance_the_slowest_nodes_set_the_price() {
        let cluster = Pools::cluster(4);
        let slow = Pool { price: Price::credits(2), ..cluster.as_slice()[0].clone() };
        let performance = Performance::from_thousandths(2_000).unwrap();
        let fast =
            Pool { name: "fast".to_owned(), performance, price: Price::credits(9), ..slow.clone() };
        let pools = Pools::new(cluster.sites().to_vec(), vec![slow, fast]).unwrap();
        let side = side("[model]\ndraw = [\"budget\"]\nbudget = [1, 1]\n");
        let terms = ReplayedTerms::new(&side, 3, &pools).terms(&job("1")).unwrap();
        assert_eq!((terms.budget, terms.min_performance), (Some(Money::credits(43_200)), None));
    }
}
