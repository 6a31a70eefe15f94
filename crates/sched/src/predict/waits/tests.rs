use proptest::prelude::*;

use super::*;

/// Numbers that look random: a linear congruence.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> i64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound) as i64
    }
}

/// A job as a test submits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fate {
    question: Question,
    wait: Span,
}

fn fate(at: i64, learned: i64, wait: i64) -> Fate {
    let question = Question {
        at: Time(at),
        learned: Span(learned),
        requested: Span(learned * 2),
        processors: 4,
        request: Span(3_600),
    };
    Fate { question, wait: Span(wait) }
}

/// Submissions and starts in the order of time.
fn replay(forecaster: &mut WaitForecaster, fates: &[Fate]) -> Vec<WaitForecast> {
    let starts = fates.iter().enumerate().map(|(id, it)| (it.question.at + it.wait, 0, id));
    let submissions = fates.iter().enumerate().map(|(id, it)| (it.question.at, 1, id));
    let mut events: Vec<(Time, u8, usize)> = starts.chain(submissions).collect();
    events.sort_unstable();
    let mut said = vec![None; fates.len()];
    for (now, kind, id) in events {
        forecaster.pass_to(now);
        let job = JobId(id as u32);
        match kind {
            0 => drop(forecaster.started(job, now)),
            _ => said[id] = Some(forecaster.submitted(job, fates[id].question)),
        }
    }
    said.into_iter().flatten().collect()
}

fn covered(fates: &[Fate], said: &[WaitForecast]) -> [f64; 3] {
    let within = |level: usize| {
        let all = fates.iter().zip(said);
        all.filter(|(fate, said)| said.ranges[level].has(fate.wait)).count()
    };
    std::array::from_fn(|level| 100.0 * within(level) as f64 / fates.len() as f64)
}

fn assert_holds(fates: &[Fate], said: &[WaitForecast]) {
    let covered = covered(fates, said);
    for (covered, level) in covered.into_iter().zip(LEVELS) {
        assert!((covered - f64::from(level)).abs() <= 1.0, "{level} %: {covered}");
    }
}

/// Waits are the expected ones times a factor, which is drawn for each job.
fn exchangeable(draw: &mut Draw, jobs: usize) -> Vec<Fate> {
    let one = |id: usize| {
        let learned = 100 + draw.below(50_000);
        let factor = 20 + draw.below(200) + draw.below(200);
        fate(id as i64 * 300, learned, 1 + learned * factor / 100)
    };
    (0..jobs).map(one).collect()
}

#[test]
fn coverage_holds_for_waits_that_are_drawn_alike() {
    for seed in 1..=5 {
        let fates = exchangeable(&mut Draw(seed), 6_000);
        assert_holds(&fates, &replay(&mut WaitForecaster::default(), &fates));
    }
}

#[test]
fn coverage_holds_where_many_waits_are_equal() {
    let mut draw = Draw(9);
    let one = |id: usize| {
        let wait = if draw.below(10) < 7 { 1_500 } else { 1_000 + draw.below(2_000) };
        fate(id as i64 * 600, 1_000, wait)
    };
    let fates: Vec<Fate> = (0..8_000).map(one).collect();
    let said = replay(&mut WaitForecaster::default(), &fates);
    assert_holds(&fates, &said);
}

#[test]
fn coverage_holds_when_waits_change() {
    let mut draw = Draw(3);
    let mut fates = exchangeable(&mut draw, 9_000);
    for (id, fate) in fates.iter_mut().enumerate() {
        // Up to a hundred jobs are submitted before one starts.
        fate.question.at = Time(id as i64 * 3_000);
        if (3_000..6_000).contains(&id) {
            fate.wait = Span(fate.wait.0 * 3);
        }
    }
    let said = replay(&mut WaitForecaster::default(), &fates);
    assert_holds(&fates, &said);
}

/// Bursts of so many jobs, an hour apart, whose waits are the expected ones times one factor for each.
fn bursts(draw: &mut Draw, bursts: i64, jobs: i64) -> Vec<Fate> {
    let mut fates = Vec::new();
    for burst in 0..bursts {
        let (learned, factor) = (1_000 + draw.below(4_000), 20 + draw.below(80) + draw.below(80));
        for job in 0..jobs {
            let expected = learned + job * 3;
            fates.push(fate(burst * 20_000 + job, expected, 1 + expected * factor / 100));
        }
    }
    fates
}

#[test]
fn coverage_holds_for_bursts_of_jobs() {
    let mut off = [0.0; 3];
    for seed in 1..=6 {
        let fates = bursts(&mut Draw(seed), 150, 60);
        let said = replay(&mut WaitForecaster::default(), &fates);
        let covered = covered(&fates, &said);
        for ((off, covered), level) in off.iter_mut().zip(covered).zip(LEVELS) {
            *off += (covered - f64::from(level)) / 6.0;
        }
    }
    assert!(off.into_iter().all(|off| off.abs() <= 1.0), "{off:?}");
}

/// The first bursts of a market. A range that is made from all jobs that started, as if each were a
/// result of its own, is far too narrow.
#[test]
fn a_burst_is_one_result_so_that_few_bursts_make_wide_ranges() {
    let (mut within, mut jobs) = ([0; 3], 0);
    for seed in 1..=200 {
        let fates = bursts(&mut Draw(seed), 6, 40);
        let said = replay(&mut WaitForecaster::default(), &fates);
        for (fate, said) in fates.iter().zip(said).skip(80) {
            jobs += 1;
            for (within, range) in within.iter_mut().zip(said.ranges) {
                *within += u32::from(range.has(fate.wait));
            }
        }
    }
    let covered = within.map(|within| 100.0 * f64::from(within) / f64::from(jobs));
    let [half, most, nearly_all] = covered;
    assert!(half >= 42.0 && most >= 78.0 && nearly_all >= 94.0, "{covered:?}");
}

/// Nearly all waits are as the look-ahead with requested times says. Of any jobs in a row, also of one
/// burst whose results are not known yet, as many ranges have this moment as are to.
#[test]
fn equal_waits_are_left_out_job_by_job() {
    let mut draw = Draw(10);
    let mut forecaster = WaitForecaster::default();
    let one = |draw: &mut Draw, at: i64| {
        let requested = 3_000 + draw.below(3_000);
        let question = Question { requested: Span(requested), ..fate(at, 1_000, 1).question };
        let wait = if draw.below(20) == 0 { requested - 500 } else { requested };
        Fate { question, wait: Span(wait) }
    };
    let past: Vec<Fate> = (0..1_000).map(|id| one(&mut draw, id * 2_000)).collect();
    replay(&mut forecaster, &past);
    forecaster.pass_to(Time(2_100_000));
    let mut within = Vec::new();
    for job in 0..400 {
        let Fate { question, wait } = one(&mut draw, 2_100_000);
        let said = forecaster.submitted(JobId(10_000 + job), question);
        within.push(said.ranges.map(|range| range.has(wait)));
    }
    for jobs in within.windows(100) {
        for (at, level) in LEVELS.into_iter().enumerate() {
            let covered = jobs.iter().filter(|within| within[at]).count() as i64;
            assert!((covered - i64::from(level)).abs() <= 12, "{level} %: {covered}");
        }
    }
}

#[test]
fn a_job_that_waits_teaches_as_soon_as_a_bound_is_over() {
    let fates = exchangeable(&mut Draw(12), 500);
    let mut forecaster = WaitForecaster::default();
    replay(&mut forecaster, &fates);
    let question = Question { at: Time(10_000_000), ..fates[0].question };
    forecaster.submitted(JobId(5_000), question);
    let (_, open) = forecaster.open_memory().next().unwrap();
    for (at, bound) in open.bounds.into_iter().enumerate() {
        let level = |now: Time| {
            let mut forecaster = forecaster.clone();
            forecaster.pass_to(now);
            forecaster.level_memory().levels[at]
        };
        let over = question.at + bound + Span(i64::from(!levels::LOWER.contains(&at)));
        assert_eq!(level(Time(over.0 - 1)), forecaster.level_memory().levels[at], "bound {at}");
        assert!(level(over) > forecaster.level_memory().levels[at], "bound {at}");
    }
}

#[test]
fn bounds_beyond_all_scores_double_and_stay_in_order() {
    let mut window = window::Window::default();
    (1..=50).for_each(|score| window.add(score << 20));
    let reading = levels::ScoreReading { open: 0, apart: 1_000_000_000, rank: 0, steady: false };
    let read = |level: i64| {
        let mut levels = Levels::default();
        levels.levels[6] = level;
        levels.score(6, &window, reading).map(|quantile| quantile.score)
    };
    let most = 50 << 20;
    assert_eq!(read(levels::WHOLE), Some(most));
    assert_eq!(read(levels::WHOLE * 9 / 8), Some(2 * most));
    assert_eq!(read(levels::WHOLE * 3 / 2), Some(16 * most));
    assert_eq!(read(-levels::WHOLE / 8), Some((1 << 20) / 2));
    let all: Vec<_> = (-40..=120).map(|part| read(levels::WHOLE / 80 * part)).collect();
    assert!(all.is_sorted(), "{all:?}");
}

#[test]
fn ranges_are_within_each_other_and_around_the_median() {
    let fates = exchangeable(&mut Draw(5), 2_000);
    for said in replay(&mut WaitForecaster::default(), &fates) {
        let bounds = said.quantiles().map(|(_, bound)| bound);
        assert!(bounds.is_sorted() && bounds[0] >= Span::ZERO, "{said:?}");
    }
}

/// Half of the jobs wait as long as with requested times, of which learned lengths say next to
/// nothing; of the others both look-aheads say the same, and they wait half as long at most.
#[test]
fn no_bound_is_beyond_what_requested_times_say_where_no_wait_was() {
    let mut draw = Draw(8);
    let mut forecaster = WaitForecaster::default();
    let question = |at: i64, learned: i64, requested: i64| Question {
        learned: Span(learned),
        requested: Span(requested),
        ..fate(at, 1, 1).question
    };
    let fates: Vec<Fate> = (0..2_000_i64)
        .map(|id| {
            let requested = 2_000 + draw.below(1_000);
            let (learned, wait) = match id % 2 {
                0 => (0, requested),
                _ => (requested, 1 + draw.below(requested as u64 / 2)),
            };
            Fate { question: question(id * 5_000, learned, requested), wait: Span(wait) }
        })
        .collect();
    replay(&mut forecaster, &fates);
    // Of a kind that was never seen: scores of all jobs are up to twice what is expected.
    let requested = 900_000;
    let forecast = forecaster.forecast(&question(20_000_000, requested, requested));
    let [.., nearly_all] = forecast.ranges;
    assert!((requested - 60..=requested + 60).contains(&nearly_all.high.0), "{forecast:?}");
}

#[test]
fn a_restart_in_the_middle_changes_nothing() {
    let fates = exchangeable(&mut Draw(6), 1_000);
    let whole = replay(&mut WaitForecaster::default(), &fates);
    let mut first = WaitForecaster::default();
    replay(&mut first, &fates[..500]);
    let mut second = first.clone();
    assert_eq!(replay(&mut first, &fates[500..]), replay(&mut second, &fates[500..]));
    assert_eq!(first, second);
    assert_eq!(whole, replay(&mut WaitForecaster::default(), &fates));
}

/// What a forecaster remembers, written down and read again.
fn restored(forecaster: &WaitForecaster) -> WaitForecaster {
    let mut again = WaitForecaster::default();
    again.restore_levels(&forecaster.level_memory());
    forecaster.score_memory().for_each(|memory| again.restore_scores(memory));
    forecaster.open_memory().for_each(|(job, memory)| again.restore_open(job, &memory));
    again
}

#[test]
fn what_is_written_down_is_all_that_is_remembered() {
    let fates = exchangeable(&mut Draw(7), 1_500);
    let mut forecaster = WaitForecaster::default();
    replay(&mut forecaster, &fates[..700]);
    // Some wait still, and bounds of theirs are over.
    let now = fates[800].question.at;
    for (fate, id) in fates[700..800].iter().zip(700..) {
        forecaster.pass_to(fate.question.at);
        forecaster.submitted(JobId(id), fate.question);
    }
    forecaster.pass_to(now);
    // The upper ones are the first three bits.
    let upper = forecaster.open_memory().filter(|(_, memory)| memory.over & 7 != 0).count();
    let lower = forecaster.open_memory().filter(|(_, memory)| memory.over & !7 != 0).count();
    assert!((1..100).contains(&upper) && lower >= upper, "{upper} {lower}");
    let mut again = restored(&forecaster);
    assert_eq!(again, forecaster);
    assert_eq!(replay(&mut again, &fates[900..]), replay(&mut forecaster, &fates[900..]));
    forecaster.reset();
    assert_eq!(restored(&forecaster), forecaster);
}

#[test]
fn no_number_that_is_read_makes_it_panic() {
    let question = fate(1_000, 600, 1).question;
    let all = ScoreMemory {
        class: 0,
        until: Time(0),
        count: i64::MAX,
        apart: i64::MAX,
        scores: Vec::new(),
    };
    for number in [i64::MIN, -1, 0, i64::MAX] {
        let mut forecaster = WaitForecaster::default();
        let (levels, excess) = ([number; BOUNDS], [number; 3]);
        forecaster.restore_levels(&LevelMemory { levels, excess, started: u64::MAX });
        forecaster.restore_scores(all.clone());
        let said = forecaster.submitted(JobId(0), question);
        assert_eq!(said, WaitForecaster::<JobId>::default().forecast(&question));
        forecaster.restore_scores(ScoreMemory { scores: vec![number; 150], ..all.clone() });
        let said = forecaster.submitted(JobId(1), question).quantiles();
        assert!(said.map(|(_, bound)| bound).is_sorted(), "{said:?}");
        forecaster.started(JobId(1), question.at + Span(700));
    }
}

#[test]
fn a_forecaster_says_whether_it_knows_enough() {
    let fates = exchangeable(&mut Draw(2), 200);
    let mut forecaster = WaitForecaster::default();
    replay(&mut forecaster, &fates[..WaitForecaster::<JobId>::needed() - 1]);
    assert!(!forecaster.is_informed());
    forecaster.submitted(JobId(0), fates[0].question);
    assert_eq!(forecaster.started(JobId(0), fates[0].question.at + Span(9)), None, "a guess");
    assert!(forecaster.is_informed());
    let said = forecaster.submitted(JobId(1), fates[1].question);
    let result = forecaster.started(JobId(1), fates[1].question.at + Span(9));
    assert_eq!(result, Some(WaitResult { forecast: said, wait: Span(9) }));
    forecaster.reset();
    assert!(!forecaster.is_informed());
}

#[test]
fn a_start_that_is_known_late_counts_as_what_it_was() {
    let fates = exchangeable(&mut Draw(11), 300);
    let mut forecaster = WaitForecaster::default();
    replay(&mut forecaster, &fates);
    let mut late = forecaster.clone();
    let question = Question { at: Time(10_000_000), ..fates[0].question };
    let said = forecaster.submitted(JobId(5_000), question);
    late.submitted(JobId(5_000), question);
    let start = question.at + said.median;
    forecaster.pass_to(start);
    forecaster.started(JobId(5_000), start);
    late.pass_to(start + Span(10_000_000));
    late.started(JobId(5_000), start);
    assert!(late.score_memory().eq(forecaster.score_memory()));
    let (late, known) = (late.level_memory(), forecaster.level_memory());
    assert_eq!(late.excess, known.excess);
    // Two steps are rounded where the other has one.
    let differ = late.levels.iter().zip(known.levels).map(|(one, other)| (one - other).abs());
    assert!(differ.max() <= Some(1), "{late:?} {known:?}");
}

#[test]
fn a_forecast_that_is_not_kept_is_the_same_and_changes_nothing() {
    let fates = exchangeable(&mut Draw(8), 500);
    let mut forecaster = WaitForecaster::default();
    replay(&mut forecaster, &fates);
    let before = forecaster.clone();
    let asked = forecaster.forecast(&fates[7].question);
    assert_eq!(forecaster, before);
    assert_eq!(forecaster.submitted(JobId(9_999), fates[7].question), asked);
    forecaster.left(JobId(9_999));
    assert_eq!(forecaster, before);
}

#[test]
fn after_a_reset_what_was_said_before_teaches_nothing() {
    let fates = exchangeable(&mut Draw(4), 800);
    let mut forecaster = WaitForecaster::default();
    replay(&mut forecaster, &fates);
    forecaster.submitted(JobId(5_000), fates[0].question);
    forecaster.reset();
    let fresh = WaitForecaster::default();
    assert_eq!(forecaster.forecast(&fates[1].question), fresh.forecast(&fates[1].question));
    forecaster.pass_to(Time(i64::MAX / 4));
    forecaster.started(JobId(5_000), Time(i64::MAX / 4));
    assert_eq!(forecaster, fresh);
}

#[test]
fn binomial_bounds_need_enough_waits_and_forget_after_a_change() {
    let mut bounds = BinomialBounds::default();
    for wait in 1..=28 {
        bounds.waited(4, None, Span(wait));
    }
    assert_eq!(bounds.range(4), None);
    bounds.waited(4, None, Span(29));
    // The lowest and the highest of 29: 0.9 to the power of 29 is less than 5 %.
    assert_eq!(bounds.range(4), Some(WaitRange { low: Span(1), high: Span(29) }));
    assert_eq!((bounds.range(3), bounds.range(5)), (bounds.range(4), None));
    (0..500).for_each(|_| bounds.waited(4, bounds.clone().range(4), Span(20)));
    for _ in 0..3 {
        bounds.waited(4, bounds.clone().range(4), Span(1_000));
    }
    let after = bounds.range(4).map(|range| range.high);
    assert_eq!(after, Some(Span(1_000)), "the last 29 count");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_comes_later_changes_no_earlier_forecast(
        seed in any::<u64>(),
        cut in 50_usize..250,
        swaps in proptest::collection::vec((0_usize..100, 0_usize..100, 1_i64..1_000_000), 1..20),
    ) {
        let fates = exchangeable(&mut Draw(seed), 300);
        let said = replay(&mut WaitForecaster::default(), &fates);
        let mut other = fates.clone();
        let at = fates[cut].question.at;
        // Jobs that come later are others, and waits that go on end at other times.
        for (one, two, wait) in swaps {
            let later = cut..fates.len();
            let (one, two) = (cut + one % later.len(), cut + two % later.len());
            let (first, second) = (other[one].question.learned, other[two].question.learned);
            (other[one].question.learned, other[two].question.learned) = (second, first);
            other[one].wait = Span(wait);
            for fate in &mut other[..cut] {
                if fate.question.at + fate.wait > at {
                    fate.wait = Span(fate.wait.0 + wait);
                }
            }
        }
        let changed = replay(&mut WaitForecaster::default(), &other);
        prop_assert_eq!(&said[..cut], &changed[..cut]);
    }

    #[test]
    fn a_window_has_the_last_scores_in_order(
        scores in proptest::collection::vec(-50_i64..50, 0..3_000),
    ) {
        let mut window = window::Window::default();
        scores.iter().for_each(|score| window.add(*score));
        let mut last = scores[scores.len().saturating_sub(1_000)..].to_vec();
        last.sort_unstable();
        let held: Vec<i64> = (0..window.len()).filter_map(|at| window.nth(at)).collect();
        prop_assert_eq!(held, last);
    }
}
