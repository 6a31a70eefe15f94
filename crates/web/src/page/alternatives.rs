//! Windows side by side, as the quote's and the job's page list them.

use serde_json::json;

use super::curve::Point;
use crate::documents::{Offer, OfferedNodes, Quotes};

/// A window with a name, to be pointed at in a table, on a curve and on the timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alternative {
    /// A letter, for people.
    pub(crate) name: String,
    /// For the address and the scripts: what it is best by, which exceeds a letter.
    pub(crate) key: String,
    /// What it is best by, in words.
    pub(crate) best: String,
    /// Another one finishes no later and costs no more, and one of both is better.
    pub(crate) beaten: bool,
    /// Pools, nodes and ends as JSON.
    pub(crate) nodes: String,
    /// Who would pay has too little.
    pub(crate) is_too_dear: bool,
    pub(crate) offer: Offer,
}

/// What was quoted, with what can be paid for.
pub(crate) fn quoted(quotes: &Quotes) -> (Vec<Alternative>, Vec<Offer>) {
    let (mut windows, none) = alternatives(quotes.quotes.clone());
    for it in &mut windows {
        it.is_too_dear = quotes.is_too_dear(&it.offer);
    }
    (windows, none)
}

/// One for each window, whatever it is best by, and why there is none by other criteria.
pub(crate) fn alternatives(offers: Vec<Offer>) -> (Vec<Alternative>, Vec<Offer>) {
    let (windows, none): (Vec<Offer>, Vec<Offer>) =
        offers.into_iter().partition(|offer| offer.start.is_some());
    let merged = merged(windows);
    let ends: Vec<Option<(i64, i128)>> = merged.iter().map(measure).collect();
    let beaten = |own: &Option<(i64, i128)>| {
        let Some((x, y)) = own else { return false };
        ends.iter().flatten().any(|(a, b)| a <= x && b <= y && (a < x || b < y))
    };
    let named = merged.iter().zip(&ends).enumerate().map(|(place, (offer, own))| {
        let name = letter(place);
        let share = |it: &OfferedNodes| json!({"pool": it.pool, "nodes": it.nodes, "end": it.end});
        let nodes: Vec<_> = offer.nodes.iter().map(share).collect();
        Alternative {
            key: format!("by-{}", offer.criterion.replace(", ", "+")),
            best: offer.criterion.split(", ").map(in_words).collect::<Vec<_>>().join(", "),
            beaten: beaten(own),
            nodes: json!(nodes).to_string(),
            is_too_dear: false,
            offer: offer.clone(),
            name,
        }
    });
    (named.collect(), none)
}

fn measure(offer: &Offer) -> Option<(i64, i128)> {
    Some((offer.finish?, offer.cost?.0))
}

/// A to Z, then AA and so on.
fn letter(place: usize) -> String {
    let last = char::from(b'A' + (place % 26) as u8);
    match place / 26 {
        0 => last.to_string(),
        before => format!("{}{last}", letter(before - 1)),
    }
}

/// A criterion as people say it.
pub(crate) fn in_words(criterion: &str) -> String {
    match criterion {
        "start" => "earliest start".to_owned(),
        "finish" => "earliest finish".to_owned(),
        "runtime" => "shortest run".to_owned(),
        "cost" => "lowest cost".to_owned(),
        "processor-time" => "least node time".to_owned(),
        other => format!("least {other}"),
    }
}

/// One line for a window, whatever it is best by.
fn merged(quotes: Vec<Offer>) -> Vec<Offer> {
    let mut all: Vec<Offer> = Vec::new();
    for quote in quotes {
        let same = |it: &&mut Offer| {
            (it.start, it.finish, &it.nodes) == (quote.start, quote.finish, &quote.nodes)
        };
        match all.iter_mut().find(same) {
            Some(known) => {
                known.criterion = format!("{}, {}", known.criterion, quote.criterion);
                known.exact &= quote.exact;
            }
            None => all.push(quote),
        }
    }
    all.sort_by_key(|offer| (offer.finish, offer.cost));
    all
}

/// Cost against finish.
pub(crate) fn points(alternatives: &[Alternative]) -> Vec<Point> {
    let point = |it: &Alternative| {
        let (x, y) = measure(&it.offer)?;
        let (name, label) = (it.name.clone(), it.best.clone());
        Some(Point { x, y, name, label, key: it.key.clone() })
    };
    alternatives.iter().filter_map(point).collect()
}

/// The pools of all windows, with commas between.
pub(crate) fn pools(alternatives: &[Alternative]) -> String {
    let names = alternatives.iter().flat_map(|it| &it.offer.nodes).map(|it| it.pool.as_str());
    names.collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(",")
}

impl Alternative {
    /// On the timeline.
    pub(crate) fn text(&self) -> String {
        self.name.clone()
    }

    /// How long it holds its nodes, seconds.
    pub(crate) fn length(&self) -> i64 {
        self.offer.finish.zip(self.offer.start).map_or(0, |(finish, start)| finish - start)
    }
}

/// The limit on these nodes, and what it is in work at performance 1, if that is something else.
pub(crate) fn both(nodes: &OfferedNodes) -> Option<(i64, i64)> {
    nodes.limit.zip(nodes.work)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::Credits;

    fn offer(criterion: &str, finish: i64, cost: i128, pool: &str) -> Offer {
        let nodes = OfferedNodes {
            site: "a".to_owned(),
            pool: pool.to_owned(),
            group: None,
            nodes: 1,
            end: finish,
            limit: None,
            times: None,
            work: None,
            stage_in: None,
            stage_out: None,
            staging_cost: None,
            price: Credits(1),
        };
        Offer {
            criterion: criterion.to_owned(),
            exact: true,
            id: None,
            expected_start: None,
            start: Some(10),
            finish: Some(finish),
            cost: Some(Credits(cost)),
            consumed: None,
            slack: None,
            basis: None,
            expires: None,
            nodes: vec![nodes],
            reason: None,
        }
    }

    #[test]
    fn equal_windows_are_one_and_those_that_are_beaten_are_known() {
        let none = Offer { start: None, ..offer("sum:x", 0, 0, "p") };
        let offers = vec![
            offer("cost", 90, 3, "p"),
            offer("start", 50, 5, "q"),
            offer("finish", 50, 5, "q"),
            offer("runtime", 90, 4, "q"),
            none,
        ];
        let (found, none) = alternatives(offers);
        let told: Vec<_> =
            found.iter().map(|it| (it.name.as_str(), it.best.as_str(), it.beaten)).collect();
        let wanted = [
            ("A", "earliest start, earliest finish", false),
            ("B", "lowest cost", false),
            ("C", "shortest run", true),
        ];
        assert_eq!((told.as_slice(), none.len()), (wanted.as_slice(), 1));
        assert_eq!((pools(&found), letter(27)), ("p,q".to_owned(), "AB".to_owned()));
        assert_eq!(points(&found).len(), 3);
        assert_eq!(found[0].key, "by-start+finish");
    }
}
