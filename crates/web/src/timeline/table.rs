//! Tasks as columns, and their texts each once.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Task, Visibility};

/// A column per property; all but `texts` are of one length. Texts are places in `texts`, of which
/// the first is empty: what the reader may not know.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Table {
    /// Seconds since 1970, of the whole task.
    pub(crate) start: Vec<i64>,
    /// Seconds since 1970: the end of the whole task.
    pub(crate) end: Vec<i64>,
    /// What it is: a [`super::Kind`]'s number; 16 more if it is the reader's own.
    pub(crate) kind: Vec<u8>,
    /// In all rows.
    pub(crate) nodes: Vec<u32>,
    /// The job's number; 0: none, or not for the reader.
    pub(crate) job: Vec<u64>,
    /// Micro-credits per node and second; -1: none is paid, or not for the reader.
    pub(crate) price: Vec<i64>,
    /// Micro-credits that it costs at most, or cost; -1: none are paid, or not for the reader.
    pub(crate) cost: Vec<i64>,
    /// What it is called.
    pub(crate) label: Vec<u32>,
    /// Name of the user, in `texts`.
    pub(crate) user: Vec<u32>,
    /// Why it is there.
    pub(crate) why: Vec<u32>,
    /// All texts of the table, each one once.
    pub(crate) texts: Vec<String>,
}

/// Fills a table.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) table: Table,
    known: BTreeMap<String, u32>,
}

impl Default for Writer {
    fn default() -> Writer {
        let table = Table { texts: vec![String::new()], ..Table::default() };
        Writer { table, known: BTreeMap::from([(String::new(), 0)]) }
    }
}

impl Writer {
    /// The place of the task, with as much as the reader may see.
    pub(super) fn add(&mut self, task: &Task, seen: Visibility) -> u32 {
        let told = |text: &str| if seen.whole { text.to_owned() } else { String::new() };
        let user = task.user.as_deref().unwrap_or_default();
        let [label, user, why] =
            [told(&task.label), told(user), told(&task.why)].map(|text| self.text(text));
        let table = &mut self.table;
        table.start.push(task.start);
        table.end.push(task.end);
        table.kind.push(task.kind as u8 + if seen.mine { 16 } else { 0 });
        table.nodes.push(task.nodes);
        table.job.push(task.job.filter(|_| seen.whole).unwrap_or(0));
        table.price.push(task.price.filter(|_| seen.whole).unwrap_or(-1));
        table.cost.push(task.cost.filter(|_| seen.whole).unwrap_or(-1));
        table.label.push(label);
        table.user.push(user);
        table.why.push(why);
        table.start.len() as u32 - 1
    }

    fn text(&mut self, text: String) -> u32 {
        if let Some(place) = self.known.get(&text) {
            return *place;
        }
        let place = self.table.texts.len() as u32;
        self.table.texts.push(text.clone());
        self.known.insert(text, place);
        place
    }
}
