//! What a job asks for and this machine does not have: it is refused by name, and does not run
//! without it.

use crate::site::resources::megabytes;

/// What this machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) processors: u64,
    /// Bytes.
    pub(super) memory: u64,
}

/// Options that ask for devices, of which a local site gives none.
const DEVICES: [&str; 5] = ["gres", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task"];

/// The first option that cannot be kept, and why.
pub(super) fn lacks(options: &[(String, String)], machine: Machine) -> Option<String> {
    options.iter().find_map(|(name, value)| {
        let name = name.as_str();
        let why = match name {
            _ if DEVICES.contains(&name) && !["none", "0", ""].contains(&value.as_str()) => {
                "a local site has no accelerators and no other devices to give".to_owned()
            }
            "cpus-per-task" if value.parse().is_ok_and(|it: u64| it > machine.processors) => {
                match machine.processors {
                    1 => "this machine has 1 processor".to_owned(),
                    all => format!("this machine has {all} processors"),
                }
            }
            "mem" | "mem-per-cpu" if megabytes(value) > machine.memory >> 20 => {
                format!("this machine has {} MB of memory", machine.memory >> 20)
            }
            _ => return None,
        };
        Some(format!("--{name}={value}: {why}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_does_not_have_is_refused_by_name() {
        let machine = Machine { processors: 2, memory: 4 << 30 };
        let said = |name: &str, value: &str| lacks(&[(name.to_owned(), value.to_owned())], machine);
        for (name, value, why) in [
            ("gres", "gpu:1", "no accelerators"),
            ("gpus", "2", "no accelerators"),
            ("cpus-per-task", "64", "this machine has 2 processors"),
            ("mem", "900G", "this machine has 4096 MB of memory"),
            ("mem-per-cpu", "5G", "this machine has 4096 MB of memory"),
        ] {
            let told = said(name, value).unwrap();
            assert!(
                told.starts_with(&format!("--{name}={value}: ")) && told.contains(why),
                "{told}"
            );
        }
        for (name, value) in [
            ("gres", "none"),
            ("gpus", "0"),
            ("cpus-per-task", "2"),
            ("mem", "4G"),
            ("mem", "0"),
            ("qos", "high"),
        ] {
            assert_eq!(said(name, value), None, "{name}={value}");
        }
    }
}
