//! The law by which a log's jobs become moldable, from text: `downey`, `downey[a=0.5..4,sigma=0..2]`.

use tradewind_io::diagnostics::did_you_mean;
use tradewind_sim::models::Moldable;

use crate::brackets::{self, Named};
use crate::failure::Failure;

const KEYS: [&str; 3] = ["a", "sigma", "reach"];

/// Reads the law.
///
/// # Errors
/// What is wrong with it, as wrong usage.
pub fn read(text: &str) -> Result<Moldable, Failure> {
    let Named { name, parameters } = Named::of("law", text)?;
    if name != "downey" {
        let failure = Failure::usage(format!("there is no speed-up law `{name}`"));
        return Err(failure.hint(did_you_mean(name, &["downey"])));
    }
    let mut law = Moldable::default();
    for (at, (key, value)) in parameters.iter().enumerate() {
        if parameters[..at].iter().any(|(other, _)| other == key) {
            return Err(Failure::usage(format!("law `downey` is given `{key}` twice")));
        }
        match *key {
            "a" => law.parallelism = range(key, value, 0.001)?,
            "sigma" => law.variance = range(key, value, 0.0)?,
            "reach" => law.reach = reach(value)?,
            _ => {
                let failure = Failure::usage(format!("law `downey` has no parameter `{key}`"));
                return Err(failure.hint(did_you_mean(key, &KEYS)));
            }
        }
    }
    Ok(law)
}

/// What is wrong with a law in a campaign file, if anything.
pub fn objection(text: &str) -> Option<(String, String)> {
    brackets::objection(read(text), "write `downey`, or `downey[a=0.5..4,sigma=0..2,reach=4]`")
}

/// `0.5..4`, or one number for both ends.
fn range(key: &str, text: &str, least: f64) -> Result<(f64, f64), Failure> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let number = |text: &str| {
        let plain = text.bytes().all(|c| c.is_ascii_digit() || c == b'.');
        text.parse::<f64>().ok().filter(|it| plain && (least..=Moldable::MAX).contains(it))
    };
    match (number(low.trim()), number(high.trim())) {
        (Some(low), Some(high)) if low <= high => Ok((low, high)),
        _ => {
            let max = Moldable::MAX;
            let failure = Failure::usage(format!("law `downey`: `{key}={text}` is no range"));
            Err(failure.hint(format!("numbers from {least} to {max}, such as `{key}=0.5..4`")))
        }
    }
}

fn reach(text: &str) -> Result<u32, Failure> {
    let number = text.parse().ok();
    let good = |it: &u32| it.is_power_of_two() && (2..=Moldable::MAX_REACH).contains(it);
    number.filter(good).ok_or_else(|| {
        let failure = Failure::usage(format!("law `downey`: `reach={text}` is no power of 2"));
        failure.hint(format!("2, 4, 8, … up to {}", Moldable::MAX_REACH))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laws_are_read_or_refused() {
        assert_eq!(read("downey").ok(), Some(Moldable::default()));
        let law = read("downey[a=1,sigma=0..0.5,reach=8]").ok().unwrap();
        assert_eq!((law.parallelism, law.variance, law.reach), ((1.0, 1.0), (0.0, 0.5), 8));
        for text in [
            "amdahl",
            "downey[",
            "downey[b=1]",
            "downey[a=0]",
            "downey[a=4..1]",
            "downey[a=x]",
            "downey[sigma=-1]",
            "downey[sigma=1e3]",
            "downey[a=1,a=2]",
            "downey[reach=3]",
            "downey[reach=128]",
        ] {
            let (message, hint) = objection(text).unwrap();
            assert!(!message.is_empty() && !hint.is_empty(), "{text}");
        }
    }
}
