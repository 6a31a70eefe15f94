//! The shape of the files.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, Error};
use tradewind_io::chart::Mark;

use super::Study;
use super::formula::{Definitions, Each, Fault, Formula, Template};
use super::{DataError, Source, kinds};
use crate::experiment::Experiment;
use crate::findings::{Evidence, Published};
use crate::papers;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    causes: BTreeMap<String, String>,
    #[serde(default)]
    define: Definitions,
    /// By parameter: the names of the numbers and the texts of the claims that it was chosen by.
    #[serde(default)]
    chosen: BTreeMap<String, Vec<String>>,
    study: Vec<StudyEntry>,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct StudyEntry {
    id: String,
    title: String,
    #[serde(deserialize_with = "experiment")]
    experiment: &'static Experiment,
    /// Another study of the file, which has what is not given here.
    like: Option<String>,
    /// Of numbers that have none of their own.
    #[serde(default)]
    cause: String,
    #[serde(default)]
    place: String,
    needs: Option<Needs>,
    #[serde(rename = "let", default)]
    definitions: Definitions,
    numbers: Option<Vec<NumberEntry>>,
    claims: Option<Vec<ClaimEntry>>,
    gains: Option<Vec<GainEntry>>,
    notes: Option<Vec<Template>>,
    figure: Option<FigureEntry>,
}

/// What a study says where a log is not there.
#[derive(Debug, Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub(crate) struct Needs {
    /// What is counted if it is there.
    pub(super) series: String,
    /// Of every claim.
    pub(super) measured: String,
    /// Of every claim.
    pub(super) why: Option<String>,
    /// In the place of all notes.
    pub(super) note: Option<String>,
    /// What is left out then.
    #[serde(default)]
    pub(super) without: Vec<FindingsPart>,
}

/// A part of the findings.
#[derive(Debug, Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FindingsPart {
    Numbers,
    Gains,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct NumberEntry {
    name: String,
    /// With the decimals that the paper prints.
    printed: String,
    #[serde(default)]
    unit: String,
    place: Option<String>,
    cause: Option<String>,
    erratum: Option<String>,
    measured: Formula,
    #[serde(default)]
    kind: Evidence,
    /// Names of other numbers of the study.
    #[serde(default)]
    product_of: Vec<String>,
}

/// A claim: exactly one of the rules from `positive` to `holds` judges it.
#[derive(Debug, Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimEntry {
    pub(super) text: String,
    pub(super) measured: Template,
    pub(super) because: Option<String>,
    #[serde(rename = "let", default)]
    pub(super) definitions: Definitions,
    /// An estimate that is above 0.
    pub(super) positive: Option<Formula>,
    /// A share that is 1.
    pub(super) always: Option<Formula>,
    /// Pairs of a case's name and an estimate that is above 0.
    pub(super) everywhere: Option<Formula>,
    /// How many of how many.
    #[serde(rename = "most")]
    pub(super) max: Option<[Formula; 2]>,
    /// Whether it holds,
    pub(super) holds: Option<Formula>,
    /// and whether it holds in the main.
    pub(super) mainly: Option<Formula>,
    /// Proves nothing where it holds: it was built so.
    #[serde(default)]
    pub(super) kind: Evidence,
    /// The parameters that were chosen by it.
    #[serde(skip)]
    pub(super) chose: Vec<String>,
    /// Whether it can be told without the log that the study needs.
    #[serde(default)]
    pub(super) without_log: bool,
}

/// Ours in the place of the paper's.
#[derive(Debug, Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub(crate) struct GainEntry {
    pub(super) each: Option<Each>,
    pub(super) name: Template,
    /// What is measured, and the pairs that measure it: ours first.
    pub(super) pairs: Vec<[Template; 2]>,
    /// The paper's is the first of the pairs.
    #[serde(default)]
    pub(super) swapped: bool,
}

/// A picture of panels, or the plan of the experiment.
#[derive(Debug, Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub(crate) struct FigureEntry {
    /// The study's, if it has none of its own.
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) subtitle: String,
    #[serde(default)]
    pub(super) panels: Vec<PanelEntry>,
}

#[derive(Debug, Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub(crate) struct PanelEntry {
    pub(super) each: Option<Each>,
    pub(super) up: Template,
    /// What is across: numbers of this kind,
    pub(super) numbers: Option<Template>,
    /// or cases of these names.
    pub(super) cases: Option<Formula>,
    pub(super) series: Vec<SeriesEntry>,
}

#[derive(Debug, Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeriesEntry {
    pub(super) each: Option<Each>,
    pub(super) name: Template,
    #[serde(deserialize_with = "mark")]
    pub(super) mark: Mark,
    /// From 0 on, if it is not given.
    pub(super) x: Option<Formula>,
    pub(super) y: Formula,
}

/// What a study is made of.
#[derive(Debug)]
pub(crate) struct Content {
    pub(super) source: Arc<Source>,
    pub(super) needs: Option<Needs>,
    pub(super) definitions: Definitions,
    pub(super) numbers: Vec<Published>,
    pub(super) claims: Vec<ClaimEntry>,
    pub(super) gains: Vec<GainEntry>,
    pub(super) notes: Vec<Template>,
    pub(super) figure: Option<FigureEntry>,
}

fn experiment<'de, D: Deserializer<'de>>(from: D) -> Result<&'static Experiment, D::Error> {
    let id = String::deserialize(from)?;
    let found = papers::EXPERIMENTS.into_iter().find(|experiment| experiment.id == id);
    found.ok_or_else(|| D::Error::custom(format!("there is no experiment `{id}`")))
}

fn mark<'de, D: Deserializer<'de>>(from: D) -> Result<Mark, D::Error> {
    match String::deserialize(from)?.as_str() {
        "line" => Ok(Mark::Line),
        "bars" => Ok(Mark::Bars),
        "points" => Ok(Mark::Points),
        other => Err(D::Error::custom(format!("`{other}` is not `line`, `bars` or `points`"))),
    }
}

/// The studies of a file.
///
/// # Errors
/// What is wrong in it, with its line.
pub(super) fn studies(name: &str, text: &str) -> Result<Vec<Study>, DataError> {
    let source = |definitions| {
        let (name, text) = (name.to_owned(), text.to_owned());
        Source { name, text, definitions }
    };
    let file: File =
        toml::from_str(text).map_err(|error| source(Definitions::default()).error(error.into()))?;
    let source = Arc::new(source(file.define));
    let of = |entry: &StudyEntry| {
        complete(entry, &file.study)
            .and_then(|entry| study(entry, &file.causes, &source))
            .map_err(|message| source.error(placed(text, &entry.id, message)))
    };
    let mut studies = file.study.iter().map(of).collect::<Result<Vec<Study>, DataError>>()?;
    kinds::mark(&mut studies, &file.chosen).map_err(|(name, message)| {
        let offset = text.find(&format!("\n{name} = ")).map(|at| at + 1);
        source.error(Fault { offset, message })
    })?;
    Ok(studies)
}

/// At the study's id.
fn placed(text: &str, id: &str, message: String) -> Fault {
    Fault { offset: text.find(&format!("\"{id}\"")), message }
}

/// With what another study has.
fn complete(entry: &StudyEntry, all: &[StudyEntry]) -> Result<StudyEntry, String> {
    let mut entry = entry.clone();
    let Some(like) = &entry.like else { return Ok(entry) };
    let other = all.iter().find(|other| other.id == *like);
    let other = other.ok_or_else(|| format!("there is no study `{like}`"))?.clone();
    entry.numbers = entry.numbers.or(other.numbers);
    entry.claims = entry.claims.or(other.claims);
    entry.gains = entry.gains.or(other.gains);
    entry.notes = entry.notes.or(other.notes);
    entry.figure = entry.figure.or(other.figure);
    entry.definitions = other.definitions;
    (entry.cause, entry.place) = (other.cause, other.place);
    Ok(entry)
}

type Causes = BTreeMap<String, String>;

fn study(entry: StudyEntry, causes: &Causes, source: &Arc<Source>) -> Result<Study, String> {
    let cause = named(&entry.cause, causes)?;
    let mut numbers = Vec::new();
    for number in entry.numbers.unwrap_or_default() {
        numbers.push(published(number, (&cause, &entry.place), causes)?);
    }
    let mut claims = entry.claims.unwrap_or_default();
    for claim in &mut claims {
        claim.because = claim.because.as_deref().map(|cause| named(cause, causes)).transpose()?;
        claim.check()?;
    }
    let content = Content {
        source: Arc::clone(source),
        needs: entry.needs,
        definitions: entry.definitions,
        numbers,
        claims,
        gains: entry.gains.unwrap_or_default(),
        notes: entry.notes.unwrap_or_default(),
        figure: entry.figure,
    };
    Ok(Study { id: entry.id, title: entry.title, experiment: entry.experiment, content })
}

/// `@name` is a cause of the file; anything else is one itself.
fn named(cause: &str, causes: &Causes) -> Result<String, String> {
    let Some(name) = cause.strip_prefix('@') else { return Ok(cause.to_owned()) };
    causes.get(name).cloned().ok_or_else(|| format!("there is no cause `{name}`"))
}

fn published(
    entry: NumberEntry,
    (cause, place): (&str, &str),
    causes: &Causes,
) -> Result<Published, String> {
    let NumberEntry { name, printed, unit, erratum, measured, kind, product_of, .. } = entry;
    let value = printed.parse().map_err(|_| format!("`{printed}` is not a number"))?;
    let decimals = printed.split_once('.').map_or(0, |(_, places)| places.len() as u8);
    let cause = match entry.cause {
        Some(own) => named(&own, causes)?,
        None => cause.to_owned(),
    };
    let place = entry.place.unwrap_or_else(|| place.to_owned());
    let erratum = erratum.map(|text| named(&text, causes)).transpose()?;
    let chose = Vec::new();
    Ok(Published {
        name,
        value,
        decimals,
        unit,
        place,
        cause,
        erratum,
        measured,
        kind,
        chose,
        product_of,
    })
}

impl ClaimEntry {
    /// Exactly one rule.
    fn check(&self) -> Result<(), String> {
        let rules = [
            self.positive.is_some(),
            self.always.is_some(),
            self.everywhere.is_some(),
            self.max.is_some(),
            self.holds.is_some(),
        ];
        match rules.into_iter().filter(|given| *given).count() {
            1 => Ok(()),
            count => Err(format!("the claim `{}` has {count} rules instead of one", self.text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Case, Size};
    use crate::tally::Tally;

    const HEAD: &str = "[[study]]\nid = \"000-x\"\ntitle = \"X\"\nexperiment = \"slices\"\n";

    /// The error of a study with these lines, the first of which is line 5.
    fn error(lines: &str) -> String {
        match studies("x.toml", &format!("{HEAD}{lines}")) {
            Err(error) => error.to_string(),
            Ok(studies) => {
                let studies: &'static [Study] = Vec::leak(studies);
                let case = Case::new(studies[0].experiment, 1, Size::Quick);
                let found = studies[0].findings(&case, &Tally::default());
                found.err().map_or_else(String::new, |error| error.to_string())
            }
        }
    }

    #[test]
    fn errors_name_file_and_line() {
        let claim = "[[study.claims]]\ntext = \"T\"\n";
        for (lines, wanted) in [
            ("titel = 1", "x.toml:5: unknown field `titel`"),
            ("notes = [\n'{1 +}']", "x.toml:6: a name was expected where `}` stands"),
            ("notes = [\n'{unknown}']", "x.toml:6: nothing is known of `unknown`"),
            ("cause = \"@none\"", "x.toml:2: there is no cause `none`"),
            ("like = \"000-y\"", "x.toml:2: there is no study `000-y`"),
            (
                "figure = { panels = [{ up = \"y\", series = [{ name = \"n\", mark = \"dots\", y = \"[]\" }] }] }",
                "x.toml:5: `dots` is not",
            ),
            (
                &format!("{claim}measured = ''"),
                "x.toml:2: the claim `T` has 0 rules instead of one",
            ),
            (&format!("{claim}measured = ''\nholds = '1'"), "x.toml:8: a truth value was expected"),
            (&format!("{claim}measured = ''\neverywhere = '[1]'"), "x.toml:8: a list was expected"),
        ] {
            let error = error(lines);
            assert!(error.starts_with(wanted), "{lines}: {error}");
        }
        let other = HEAD.replace("slices", "slicing");
        let error = studies("x.toml", &other).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("x.toml:4: there is no experiment `slicing`"));
    }

    #[test]
    fn a_study_has_what_another_has() {
        let text = format!(
            "{HEAD}notes = ['one']\n[[study]]\nid = \"000-y\"\ntitle = \"Y\"\nexperiment = \"slices\"\nlike = \"000-x\"\n"
        );
        let all = studies("x.toml", &text).expect(&text);
        assert_eq!(all.iter().map(|study| study.content.notes.len()).collect::<Vec<_>>(), [1, 1]);
    }
}
