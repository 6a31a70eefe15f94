//! What a log says about itself and its machine.

/// The keys of SWF 2.2 in the format's order. `Queue`, `Partition` and `Note` may repeat, as any
/// other key may.
pub const STANDARD_KEYS: [&str; 26] = [
    "Version",
    "Computer",
    "Installation",
    "Acknowledge",
    "Information",
    "Conversion",
    "MaxJobs",
    "MaxRecords",
    "Preemption",
    "UnixStartTime",
    "TimeZone",
    "TimeZoneString",
    "StartTime",
    "EndTime",
    "MaxNodes",
    "MaxProcs",
    "MaxRuntime",
    "MaxMemory",
    "AllowOveruse",
    "MaxQueues",
    "Queues",
    "Queue",
    "MaxPartitions",
    "Partitions",
    "Partition",
    "Note",
];

/// The lines that begin with `;`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    /// `Key: value` lines in order; a key may repeat. Text before the first key has an empty key.
    pub entries: Vec<(String, String)>,
}

impl Header {
    /// Takes one line, without its `;`. Lines without a key continue the value before.
    pub(super) fn add(&mut self, line: &str) {
        if let Some((key, value)) = entry(line) {
            self.entries.push((key.to_owned(), value.to_owned()));
            return;
        }
        let text = line.trim();
        match self.entries.last_mut() {
            _ if text.is_empty() => {}
            Some((_, value)) if value.is_empty() => text.clone_into(value),
            Some((_, value)) => {
                value.push(' ');
                value.push_str(text);
            }
            None => self.entries.push((String::new(), text.to_owned())),
        }
    }

    /// The first value of `key`, in whatever case it is written.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.entries.iter().find(|(name, _)| name.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value.as_str())
    }

    /// All values of `key`, in order.
    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        let found = self.entries.iter().filter(move |(name, _)| name.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value.as_str())
    }

    /// Puts `value` in place of all values of `key`: where the first one stands or, if there is
    /// none, where the format's order has it. Line breaks become spaces.
    pub fn set(&mut self, key: &str, value: &str) {
        let value = one_line(value);
        let is = |(name, _): &(String, String)| name.eq_ignore_ascii_case(key);
        if let Some(at) = self.entries.iter().position(is) {
            self.entries[at].1 = value;
            let mut index = 0;
            self.entries.retain(|entry| {
                index += 1;
                index <= at + 1 || !is(entry)
            });
            return;
        }
        let at = self.place_for(key);
        self.entries.insert(at, (key.to_owned(), value));
    }

    /// Takes all values of `key` out.
    pub fn remove(&mut self, key: &str) {
        self.entries.retain(|(name, _)| !name.eq_ignore_ascii_case(key));
    }

    /// Adds a `Note` at the end.
    pub fn note(&mut self, text: &str) {
        self.entries.push(("Note".to_owned(), one_line(text)));
    }

    /// After the last entry that the format's order has before `key`, and after leading text.
    fn place_for(&self, key: &str) -> usize {
        let own = rank(key).unwrap_or(STANDARD_KEYS.len());
        let before = |name: &str| name.is_empty() || rank(name).is_some_and(|rank| rank < own);
        self.entries.iter().rposition(|(name, _)| before(name)).map_or(0, |at| at + 1)
    }

    /// The whole number with which the value of `key` begins: `338 (batch partition)` is 338.
    pub fn number(&self, key: &str) -> Option<i64> {
        let value = self.get(key)?;
        let digits = value.strip_prefix('-').unwrap_or(value);
        let length = digits.bytes().take_while(u8::is_ascii_digit).count();
        value[..value.len() - digits.len() + length].parse().ok()
    }

    fn count(&self, key: &str) -> Option<u32> {
        self.number(key).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0)
    }

    /// Processors of the machine.
    pub fn max_procs(&self) -> Option<u32> {
        self.count("MaxProcs")
    }

    /// Why [`Header::max_procs`] is none, in words.
    pub fn no_max_procs(&self) -> String {
        match self.get("MaxProcs") {
            None => "no MaxProcs in the header".to_owned(),
            Some(value) => {
                format!("the header's MaxProcs is `{value}`, which is no number of processors")
            }
        }
    }

    /// Machines with one or more processors each.
    pub fn max_nodes(&self) -> Option<u32> {
        self.count("MaxNodes")
    }

    /// The moment 0 of the log, in seconds since 1970.
    pub fn unix_start(&self) -> Option<i64> {
        self.number("UnixStartTime")
    }

    /// The time zone, by name or else by its offset in seconds.
    pub fn time_zone(&self) -> Option<&str> {
        self.get("TimeZoneString").or(self.get("TimeZone"))
    }

    /// Queues by number, as `Queue: 1 express` names them.
    pub fn queues(&self) -> Vec<(i64, &str)> {
        self.numbered("Queue")
    }

    /// Partitions by number, as `Partition: 1 batch` names them.
    pub fn partitions(&self) -> Vec<(i64, &str)> {
        self.numbered("Partition")
    }

    fn numbered<'a>(&'a self, key: &'a str) -> Vec<(i64, &'a str)> {
        let split = |value: &'a str| {
            let (number, name) = value.split_once(char::is_whitespace).unwrap_or((value, ""));
            Some((number.parse().ok()?, name.trim()))
        };
        self.all(key).filter_map(split).collect()
    }
}

/// The key and the value of a line that has them. Keys are single words with a capital first
/// letter, or standard ones in any case: what else has a colon (`see: …`, `http://…`) is text.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let key = key.trim();
    let word = !key.is_empty() && key.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
    let known = key.starts_with(|c: char| c.is_ascii_uppercase()) || rank(key).is_some();
    (word && known && !value.starts_with("//")).then_some((key, value.trim()))
}

fn rank(key: &str) -> Option<usize> {
    STANDARD_KEYS.iter().position(|name| name.eq_ignore_ascii_case(key))
}

fn one_line(text: &str) -> String {
    text.split(char::is_control).collect::<Vec<_>>().join(" ").trim().to_owned()
}
