//! Forecasts of starts: levels and scores of ranges in a snapshot's own body, scores of classes and
//! open forecasts in pages.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;
use tradewind_model::{SiteId, Span, Time};
use tradewind_sched::predict::waits::{LevelMemory, OpenMemory, Question, ScoreMemory};

use super::wire::{Decode, DecodeFault, Encode, Fields, Object};
use crate::live::waits::Waits;

/// What is in a snapshot's own body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WaitsHead {
    /// Seven levels, three excesses, and how many jobs have taught; empty: as at the beginning.
    levels: Vec<i64>,
    held: BTreeMap<SiteId, VecDeque<u32>>,
}

/// The scores of a class: its number; layout, end, count, jobs apart, and scores.
pub(super) type Scores = (u64, Vec<i64>);

/// An open forecast: the job, and all numbers of it.
pub(super) type OpenForecast = (u64, Vec<i64>);

impl WaitsHead {
    pub(super) fn of(waits: &Waits) -> WaitsHead {
        let LevelMemory { levels, excess, started } = waits.forecaster.level_memory();
        let is_new = waits.forecaster.level_memory() == Waits::default().forecaster.level_memory();
        let all = levels.into_iter().chain(excess).chain([started as i64]);
        let levels = if is_new { Vec::new() } else { all.collect() };
        WaitsHead { levels, held: waits.held.clone() }
    }

    /// Without what is in pages.
    pub(super) fn waits(self) -> Result<Waits, DecodeFault> {
        let mut waits = Waits { held: self.held, ..Waits::default() };
        if !self.levels.is_empty() {
            let wrong = || DecodeFault::new("expected eleven numbers").within("levels");
            match self.levels[..] {
                [a, b, c, d, e, f, g, x, y, z, started] => {
                    let (levels, excess) = ([a, b, c, d, e, f, g], [x, y, z]);
                    let started = u64::try_from(started).map_err(|_| wrong())?;
                    waits.forecaster.restore_levels(&LevelMemory { levels, excess, started });
                }
                // Of a release whose scores are left out, too.
                [_, _, _, _, _, _, _, _, _, _] => {}
                _ => return Err(wrong()),
            }
        }
        Ok(waits)
    }
}

impl Encode for WaitsHead {
    fn put(&self, out: &mut Vec<u8>) {
        let mut object = Object::begin(out);
        object.field("levels", &self.levels);
        object.field("held", &self.held);
        object.end();
    }

    fn is_absent(&self) -> bool {
        self.levels.is_empty() && self.held.is_empty()
    }
}

impl Decode for WaitsHead {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let mut fields = Fields::of(value)?;
        let (levels, held) = (fields.take("levels")?, fields.take("held")?);
        fields.end()?;
        Ok(WaitsHead { levels, held })
    }

    fn absent() -> Option<Self> {
        Some(WaitsHead { levels: Vec::new(), held: BTreeMap::new() })
    }
}

/// By class.
pub(super) fn scores(waits: &Waits) -> impl Iterator<Item = Scores> {
    waits.forecaster.score_memory().map(|memory| {
        let ScoreMemory { class, until, count, apart, scores } = memory;
        (class, [LAYOUT, until.0, count, apart].into_iter().chain(scores).collect())
    })
}

/// Before the scores of a class. Entries of earlier releases begin with an hour, which is not
/// negative: their classes are others, and they do not say how many jobs waited one after the other.
const LAYOUT: i64 = -2;

/// Takes the scores of a class back in.
pub(super) fn restore_scores(
    waits: &mut Waits,
    (class, numbers): Scores,
) -> Result<(), DecodeFault> {
    match &numbers[..] {
        [LAYOUT, until, count, apart, scores @ ..] => {
            let (until, count, apart) = (Time(*until), *count, *apart);
            let scores = scores.to_vec();
            waits.forecaster.restore_scores(ScoreMemory { class, until, count, apart, scores });
            Ok(())
        }
        [hour, ..] if *hour >= 0 => Ok(()),
        _ => Err(DecodeFault::new("expected a layout, an end, two counts and scores")),
    }
}

/// By job.
pub(super) fn open(waits: &Waits) -> impl Iterator<Item = OpenForecast> {
    waits.forecaster.open_memory().map(|(job, memory)| {
        let OpenMemory { question, bounds, centre, standing, over } = memory;
        let Question { at, learned, requested, processors, request } = question;
        let question = [at.0, learned.0, requested.0, i64::from(processors), request.0];
        let bounds = bounds.map(|bound| bound.0);
        let rest = [centre.0, i64::from(standing), i64::from(over)];
        (job, question.into_iter().chain(bounds).chain(rest).collect())
    })
}

/// Takes an open forecast back in.
pub(super) fn restore_open(
    waits: &mut Waits,
    (job, numbers): OpenForecast,
) -> Result<(), DecodeFault> {
    let wrong = || DecodeFault::new("expected the fifteen numbers of a forecast");
    let [at, learned, requested, processors, request, bounds @ .., centre, standing, over] =
        &numbers[..]
    else {
        return Err(wrong());
    };
    let bounds: [i64; 7] = bounds.try_into().map_err(|_| wrong())?;
    let question = Question {
        at: Time(*at),
        learned: Span(*learned),
        requested: Span(*requested),
        processors: u32::try_from(*processors).map_err(|_| wrong())?,
        request: Span(*request),
    };
    let memory = OpenMemory {
        question,
        bounds: bounds.map(Span),
        centre: Span(*centre),
        standing: u8::try_from(*standing).map_err(|_| wrong())?,
        over: u8::try_from(*over).map_err(|_| wrong())?,
    };
    waits.forecaster.restore_open(job, &memory);
    Ok(())
}

impl Encode for Waits {
    fn put(&self, out: &mut Vec<u8>) {
        let mut object = Object::begin(out);
        object.field("head", &WaitsHead::of(self));
        object.field("scores", &scores(self).collect::<Vec<_>>());
        object.field("open", &open(self).collect::<Vec<_>>());
        object.end();
    }

    fn is_absent(&self) -> bool {
        WaitsHead::of(self).is_absent()
            && scores(self).next().is_none()
            && open(self).next().is_none()
    }
}

impl Decode for Waits {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let mut fields = Fields::of(value)?;
        let mut waits = fields.take::<WaitsHead>("head")?.waits()?;
        for each in fields.take::<Vec<Scores>>("scores")? {
            restore_scores(&mut waits, each)?;
        }
        for each in fields.take::<Vec<OpenForecast>>("open")? {
            restore_open(&mut waits, each)?;
        }
        fields.end()?;
        Ok(waits)
    }

    fn absent() -> Option<Self> {
        Some(Waits::default())
    }
}
