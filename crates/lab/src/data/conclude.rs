//! A tally beside the data: numbers, claims, gains and notes.

use super::Study;
use super::formula::{Fault, FormulaValue, Result, Scope, Seen};
use super::read::{ClaimEntry, Content, FindingsPart, GainEntry};
use super::{DataError, picture};
use crate::case::Case;
use crate::findings::{Claim, Evidence, Findings, Gain, Number, fitted};
use crate::tally::{Estimate, Tally};
use crate::verdict::Verdict;

impl Study {
    /// What follows from what was counted.
    ///
    /// # Errors
    /// The place in the study's file that says something impossible.
    pub fn findings(&'static self, case: &Case, tally: &Tally) -> Result<Findings, DataError> {
        let seen = Seen { case, tally, published: &self.content.numbers };
        self.content.findings(self, seen).map_err(|fault| self.content.source.error(fault))
    }
}

impl Content {
    fn scope<'a>(&'a self, seen: Seen<'a>) -> Scope<'a> {
        Scope::new(seen, vec![&self.definitions, &self.source.definitions])
    }

    fn findings(&'static self, study: &'static Study, seen: Seen<'_>) -> Result<Findings> {
        let lacks = self.needs.as_ref().filter(|needs| seen.tally.series(&needs.series).count == 0);
        let shown = |part| lacks.is_none_or(|needs| !needs.without.contains(&part));
        let mut found = Findings::default();
        for published in self.numbers.iter().filter(|_| shown(FindingsPart::Numbers)) {
            let measured = self.scope(seen).read(&published.measured, FormulaValue::estimate)?;
            found.numbers.push(Number::new(published, measured));
        }
        let all = found.numbers.clone();
        found.numbers.iter_mut().for_each(|number| number.limit_by(&all));
        for entry in &self.claims {
            found.claims.push(
                match lacks.filter(|_| !entry.without_log) {
                    Some(needs) => {
                        Claim::unknown(&entry.text, &needs.measured, needs.why.as_deref())
                    }
                    None => self.claim(entry, seen)?,
                }
                .of_kind(entry.kind),
            );
        }
        let scope = &mut self.scope(seen);
        for entry in self.gains.iter().filter(|_| shown(FindingsPart::Gains)) {
            let gains =
                scope.every(entry.each.as_ref(), |scope| gains(entry, scope, seen.tally))?;
            found.gains.extend(gains.into_iter().flatten());
        }
        found.notes = match lacks.and_then(|needs| needs.note.as_ref()) {
            Some(note) => vec![note.clone()],
            None => self.notes.iter().map(|note| scope.text(note)).collect::<Result<_>>()?,
        };
        if let Some(figure) = &self.figure {
            found.figure = picture::figure(figure, &study.title, scope, seen.case)?;
        }
        Ok(found)
    }

    fn claim(&'static self, entry: &'static ClaimEntry, seen: Seen<'_>) -> Result<Claim> {
        let tables = vec![&entry.definitions, &self.definitions, &self.source.definitions];
        let scope = &mut Scope::new(seen, tables);
        let measured = scope.text(&entry.measured)?;
        let claim = entry.judged(scope, measured)?;
        Ok(match &entry.because {
            Some(cause) => claim.because(&fitted(&entry.chose, cause)),
            None => claim,
        })
    }
}

impl ClaimEntry {
    /// By its rule, of which there is one.
    fn judged<'a>(&'static self, scope: &mut Scope<'a>, measured: String) -> Result<Claim> {
        let text = &self.text;
        if let Some(difference) = &self.positive {
            let difference = scope.read(difference, FormulaValue::estimate)?;
            return Ok(Claim::positive(text, difference, measured));
        }
        if let Some(share) = &self.always {
            return Ok(Claim::always(text, scope.read(share, FormulaValue::estimate)?, measured));
        }
        if let Some(cases) = &self.everywhere {
            let cases = scope.read(cases, cases_of)?;
            return Ok(Claim::everywhere(text, &cases, &measured));
        }
        if let Some([held, all]) = &self.max {
            let (held, all) =
                (scope.read(held, FormulaValue::number)?, scope.read(all, FormulaValue::number)?);
            return Ok(Claim::new(text, Verdict::of(held, all), measured));
        }
        let mut truth = |formula: &'a Option<super::Formula>| match formula {
            Some(formula) => scope.read(formula, FormulaValue::truth),
            None => Ok(false),
        };
        let (holds, mainly) = (truth(&self.holds)?, truth(&self.mainly)?);
        let verdict = match (holds, self.kind) {
            (true, Evidence::Fitted) => Verdict::Fitted,
            (true, _) => Verdict::Reproduced,
            (false, _) if mainly => Verdict::Trend,
            (false, _) => Verdict::NotReproduced,
        };
        Ok(Claim::new(text, verdict, measured))
    }
}

/// Names and estimates.
fn cases_of(list: &FormulaValue) -> Result<Vec<(String, Estimate)>> {
    let case = |item: &FormulaValue| match item.list()? {
        [name, estimate] => Ok((name.text()?.to_owned(), estimate.estimate()?)),
        _ => Err(Fault::new("a case is a name and an estimate")),
    };
    list.list()?.iter().map(case).collect()
}

fn gains<'a>(entry: &'a GainEntry, scope: &mut Scope<'a>, tally: &Tally) -> Result<Vec<Gain>> {
    let mut gains = Vec::new();
    for [measure, pairs] in &entry.pairs {
        let pairs = tally.pairs(&scope.text(pairs)?);
        let ([ours, paper], ratio) = (pairs.means(), pairs.ratio());
        let (name, measure) = (scope.text(&entry.name)?, scope.text(measure)?);
        gains.push(match entry.swapped {
            true => {
                let ratio = ratio.map(|ratio| 1.0 / ratio);
                Gain { name, measure, paper: ours, ours: paper, ratio }
            }
            false => Gain { name, measure, paper, ours, ratio },
        });
    }
    Ok(gains)
}
