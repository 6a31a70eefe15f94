//! Waits and run times as `jobs.csv` of a run has them.

use std::io::Read;

use tradewind_model::Span;

/// The wait and the run time of each job of the logs, in their order; `None`: it did not run.
pub(super) type Stays = Vec<Option<(Span, Span)>>;

/// Those of a table in Batsim's columns; `None` if it is none, or if a number is no time.
pub(super) fn read(table: impl Read) -> Option<Stays> {
    let mut reader = csv::Reader::from_reader(table);
    let heads = reader.headers().ok()?.clone();
    let column = |name: &str| heads.iter().position(|head| head == name);
    let (waited, ran) = (column("waiting_time")?, column("execution_time")?);
    let stay = |row: csv::StringRecord| match (row.get(waited)?, row.get(ran)?) {
        ("", _) | (_, "") => Some(None),
        (waited, ran) => Some(Some((span(waited)?, span(ran)?))),
    };
    reader.into_records().map(|row| stay(row.ok()?)).collect()
}

/// Seconds, rounded.
fn span(text: &str) -> Option<Span> {
    let seconds = text.parse::<f64>().ok()?.round();
    let is_time = (0.0..=Span::MAX.0 as f64).contains(&seconds);
    is_time.then_some(Span(seconds as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_did_not_run_have_no_stay_and_what_is_no_time_is_refused() {
        let of = |row: &str| read(format!("execution_time,waiting_time\n{row}\n").as_bytes());
        assert_eq!(of("10.4,2"), Some(vec![Some((Span(2), Span(10)))]));
        assert_eq!(of(","), Some(vec![None]));
        for row in ["1e300,2", "-1,2", "NaN,2", "2,inf", "2,word"] {
            assert_eq!(of(row), None, "{row}");
        }
        assert_eq!(read("job_id\n1\n".as_bytes()), None);
    }
}
