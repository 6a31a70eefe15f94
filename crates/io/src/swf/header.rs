//! What a log says about itself and its machine.

/// The lines that begin with `;`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    /// `Key: value` lines in order; a key may repeat.
    pub entries: Vec<(String, String)>,
}

impl Header {
    /// Takes one line, without its `;`. Lines without a colon go on with the value before.
    pub(super) fn add(&mut self, line: &str) {
        match line.split_once(':') {
            Some((key, value)) if !key.trim().is_empty() && !key.trim().contains(' ') => {
                self.entries.push((key.trim().to_owned(), value.trim().to_owned()));
            }
            _ => {
                if let (Some((_, value)), false) = (self.entries.last_mut(), line.trim().is_empty())
                {
                    value.push(' ');
                    value.push_str(line.trim());
                }
            }
        }
    }

    /// The first value of `key`, in whatever case it is written.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.entries.iter().find(|(name, _)| name.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value.as_str())
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
}
