//! Grid Engine's commands, word by word.

use std::time::Duration;

use jiff::Timestamp;
use tradewind_model::{Span, Time};

use super::Pool;
use crate::site::files::folder_name;
use crate::site::managed::bundle::Words;
use crate::site::{Aside, Order, Tag};

/// Between our limit, which the task's own script keeps, and the manager's, which is for the case
/// that the script cannot.
const MARGIN: Span = Span(5);

/// On the node: the job's number, and its hosts, each as often as it gives units.
pub(super) const WORDS: Words = Words {
    id: "echo \"$JOB_ID\"",
    nodes: "if [ -r \"${PE_HOSTFILE-}\" ]; then \
            while read -r host slots _; do \
            while [ \"$slots\" -gt 0 ]; do \
            echo \"$host\"; slots=$((slots - ${TRADEWIND_SLOTS:-1})); \
            done; done <\"$PE_HOSTFILE\"; \
            else uname -n; fi",
    signal: "",
};

/// Comes first in the script: Grid Engine runs a job again, in spite of `-r n`, that ends with 99,
/// and halts one that ends with 100. What the task ended with stands in its folder.
pub(super) const CODES: &str = "trap 'case $? in 99|100) trap - EXIT; exit 98 ;; esac' EXIT\n";

/// The name of a task's job.
pub(super) fn job_name(tag: &Tag) -> String {
    folder_name(&tag.to_string())
}

/// The same of a ticket's tag.
pub(super) fn name_of(tag: &str) -> String {
    folder_name(tag)
}

/// The name of a job's reservation in the pool at this place of the site.
pub(super) fn reservation_name(market: &str, job: u64, pool: usize) -> String {
    folder_name(&format!("tw-{market}-{job}.{pool}"))
}

/// Whether [`reservation_name`] has made this name for one of these markets.
pub(super) fn is_reservation_of<'a>(
    name: &str,
    markets: impl IntoIterator<Item = &'a (impl AsRef<str> + ?Sized + 'a)>,
) -> bool {
    markets.into_iter().any(|market| {
        let rest = name.strip_prefix(&folder_name(&format!("tw-{}-", market.as_ref())));
        let parts = rest.and_then(|rest| rest.split_once('.'));
        parts.is_some_and(|(job, pool)| job.parse::<u64>().is_ok() && pool.parse::<u32>().is_ok())
    })
}

/// How long the manager lets a task run.
pub(super) fn hard_limit(order: &Order, grace: Duration) -> Span {
    let grace = i64::try_from(grace.as_secs() + 1).unwrap_or(i64::MAX);
    let gather = order.gather.unwrap_or(Span(0));
    Span(order.limit.0.saturating_add(gather.0).saturating_add(grace).saturating_add(MARGIN.0))
}

/// What a submission needs besides its order.
#[derive(Debug, Clone, Copy)]
pub(super) struct QsubWords<'a> {
    pub order: &'a Order,
    pub pool: &'a Pool,
    /// Of a unit.
    pub slots: u32,
    /// See [`hard_limit`].
    pub limit: Span,
    /// It is to start not before; `None`: at once.
    pub begin: Option<Time>,
    /// The number of the reservation that it runs in.
    pub reservation: Option<&'a str>,
    /// Memory and other resources, as `-l` takes them.
    pub resources: &'a [String],
    /// The site's own.
    pub options: &'a [String],
}

/// `qsub`, with the script on its standard input: with `-b y` it would flatten quotes. The site's
/// options come first, so ours win.
pub(super) fn qsub(one: &QsubWords<'_>) -> Vec<String> {
    let mut words: Vec<String> = vec!["qsub".to_owned()];
    words.extend(one.options.iter().cloned());
    // No line of a script is an option; the output of the script itself is of no use.
    let fixed = "-terse -S /bin/sh -o /dev/null -j y -wd / -r n -R y -w e -C";
    words.extend(fixed.split(' ').map(str::to_owned));
    words.push(String::new());
    words.extend(["-N".to_owned(), job_name(&one.order.tag)]);
    words.extend(["-v".to_owned(), format!("TRADEWIND_SLOTS={}", one.slots)]);
    words.extend(["-l".to_owned(), format!("h_rt={}", one.limit.0)]);
    words.extend(requests(one.resources));
    words.extend(places(one.pool, one.order.nodes, one.slots));
    if let Some(begin) = one.begin {
        words.extend(["-a".to_owned(), moment(begin)]);
    }
    if let Some(reservation) = one.reservation {
        words.extend(["-ar".to_owned(), reservation.to_owned()]);
    }
    words
}

/// `qrsub`: the nodes from `from`, which must not be past (`None`: at once), to the end of what is
/// set aside.
pub(super) fn qrsub(
    aside: &Aside,
    name: &str,
    (pool, slots, resources): (&Pool, u32, &[String]),
    from: Option<Time>,
) -> Vec<String> {
    let mut words: Vec<String> = vec!["qrsub".to_owned(), "-N".to_owned(), name.to_owned()];
    if let Some(from) = from {
        words.extend(["-a".to_owned(), moment(from)]);
    }
    words.extend(["-e".to_owned(), moment(aside.until)]);
    words.extend(requests(resources));
    words.extend(places(pool, aside.nodes, slots));
    words
}

/// What the job asks for besides its slots.
fn requests(resources: &[String]) -> impl Iterator<Item = String> + '_ {
    resources.iter().flat_map(|one| ["-l".to_owned(), one.clone()])
}

/// Where, and how many slots. One slot needs no parallel environment.
fn places(pool: &Pool, nodes: u32, slots: u32) -> Vec<String> {
    let mut words = vec!["-q".to_owned(), pool.queues()];
    let slots = u64::from(nodes) * u64::from(slots);
    if let Some(environment) = &pool.environment
        && slots > 1
    {
        words.extend(["-pe".to_owned(), environment.clone(), slots.to_string()]);
    }
    words
}

/// A moment as `-a` reads it in a client whose time zone is UTC: `202611212336.46`.
fn moment(time: Time) -> String {
    let stamp = Timestamp::from_second(time.0).unwrap_or(Timestamp::MAX);
    stamp.strftime("%Y%m%d%H%M.%S").to_string()
}

/// Why `qsub` would not take a job, if it is the cluster that says so. What is wrong between us
/// and the cluster is no answer.
pub(super) fn refusal(complaint: &str) -> Option<String> {
    let rest = complaint.split_once("Unable to run job: ").map(|(_, rest)| rest)?;
    let why = rest.lines().next().unwrap_or_default().trim();
    let between = ["qmaster", "commlib", "gdi", "send error", "receive error"];
    (!between.iter().any(|word| why.contains(word))).then(|| why.to_owned())
}

/// Whether the cluster has not even heard of it.
pub(super) fn is_unheard(complaint: &str) -> bool {
    ["Connection refused", "unable to read qmaster name", "can't resolve", "No route to host"]
        .iter()
        .any(|words| complaint.contains(words))
}

/// Options of a submission that ask for something which only Slurm can give, or which Grid Engine calls
/// otherwise at every site: left out silently, the job would run where it cannot.
pub(super) fn unmet(order: &Order) -> Option<&str> {
    const DEMANDS: [&str; 7] =
        ["mem-per-gpu", "gpus-per-task", "gpus-per-socket", "licenses", "container", "bb", "bbf"];
    let mut names = order.passed_through.iter().map(|(name, _)| name.as_str());
    names.find(|name| DEMANDS.contains(&name.trim_start_matches('-')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_reservations_are_known_again() {
        let markets = ["a-1".to_owned(), "b/c".to_owned()];
        let name = reservation_name("b/c", 12, 0);
        assert_eq!(name, "tw-b%2Fc-12.0");
        assert!(is_reservation_of(&name, &markets));
        assert!(is_reservation_of(&reservation_name("a-1", 7, 3), &markets));
        for other in ["tw-a-1.0", "tw-a-1-x.0", "tw-a-1-7", "owners", "tw-a-1-7-0-0"] {
            assert!(!is_reservation_of(other, &markets), "{other}");
        }
    }

    #[test]
    fn only_the_cluster_refuses() {
        let said = "Unable to run job: Job was rejected because job requests unknown queue \"x\"\nExiting.\n";
        let why = refusal(said).unwrap();
        assert_eq!(why, "Job was rejected because job requests unknown queue \"x\"");
        let down = "error: commlib error: got select error (Connection refused)\n\
                    Unable to run job: unable to send message to qmaster using port 6444 on host \
                    \"ge1\": got send error\nExiting.\n";
        assert!(refusal(down).is_none() && is_unheard(down));
        let hung = "Unable to run job: failed receiving gdi request response for mid=1 (got syncron \
                    message receive timeout error).\nExiting.\n";
        assert!(refusal(hung).is_none() && !is_unheard(hung));
    }

    #[test]
    fn moments_have_seconds() {
        assert_eq!(moment(Time(1_795_304_207)), "202611212336.47");
    }
}
