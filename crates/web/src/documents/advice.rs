//! Advice on time limits.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::amount::Credits;

/// What the user's own runs say of a time limit that is much longer than they need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "percent": 95, "runs": 57, "used": 2280, "asked": 86_400, "limit": 3600,
    "start": 1_800_010_800, "shorter_start": 1_800_000_000, "cost": 96, "shorter_cost": 4
}))]
pub struct LimitAdvice {
    /// Of 100 such runs, as many are known to use at most `used`.
    pub percent: u32,
    /// The user's own runs that this is known from: of the same width, with the same name or script.
    pub runs: u32,
    /// What they use at most, in seconds of the limit.
    pub used: i64,
    /// The limit that is asked for, in seconds.
    pub asked: i64,
    /// A shorter limit with room to spare, in seconds.
    pub limit: i64,
    /// The earliest window with the limit that is asked for, in Unix seconds; left out if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<i64>,
    /// The earliest window with the shorter limit; left out if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shorter_start: Option<i64>,
    /// What the first of these windows holds until the job ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Credits>,
    /// The same of the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shorter_cost: Option<Credits>,
}

impl LimitAdvice {
    /// By how many seconds the shorter limit starts the job sooner, if it does.
    pub fn sooner(&self) -> Option<i64> {
        let (start, shorter) = (self.start?, self.shorter_start?);
        Some(start - shorter).filter(|sooner| *sooner > 0)
    }

    /// What is held with the shorter limit, and without, if that is less.
    pub fn saved(&self) -> Option<(Credits, Credits)> {
        self.shorter_cost.zip(self.cost).filter(|(shorter, cost)| shorter < cost)
    }

    /// As a sentence, with lengths of time as `length` writes them and amounts as `credits` does.
    pub fn sentence(
        &self,
        length: impl Fn(i64) -> String,
        credits: impl Fn(Credits) -> String,
    ) -> String {
        let used = length(self.used);
        let (percent, runs, asked) = (self.percent, self.runs, length(self.asked));
        let sooner = self.sooner().map(|sooner| format!("start {} sooner", length(sooner)));
        let saved = self.saved().map(|(shorter, cost)| {
            format!("hold {} credits instead of {}", credits(shorter), credits(cost))
        });
        let gains: Vec<String> = sooner.into_iter().chain(saved).collect();
        let limit = length(self.limit);
        let gains = match gains.is_empty() {
            true => format!("{limit} would be enough"),
            false => format!("with {limit} it would {}", gains.join(" and ")),
        };
        format!(
            "jobs like this used at most {used} in {percent} of 100 runs (your last {runs}); it asks \
             for {asked}: {gains}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_gained_is_said() {
        let advice = |shorter_start, shorter_cost| LimitAdvice {
            percent: 95,
            runs: 57,
            used: 2_280,
            asked: 86_400,
            limit: 3_600,
            start: Some(20_000),
            shorter_start,
            cost: Some(Credits(96_000_000)),
            shorter_cost,
        };
        let said = |it: LimitAdvice| it.sentence(|it| format!("{it} s"), |it| it.to_string());
        let known = "jobs like this used at most 2280 s in 95 of 100 runs (your last 57); it asks \
                     for 86400 s: ";
        let all = advice(Some(9_200), Some(Credits(4_000_000)));
        let both = "with 3600 s it would start 10800 s sooner and hold 4 credits instead of 96";
        assert_eq!(said(all), format!("{known}{both}"));
        let cost = said(advice(Some(20_000), Some(Credits(4_000_000))));
        assert_eq!(cost, format!("{known}with 3600 s it would hold 4 credits instead of 96"));
        assert_eq!(said(advice(None, None)), format!("{known}3600 s would be enough"));
    }
}
