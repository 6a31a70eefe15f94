//! Jobs that wait for others: beside a plain look at all jobs, and in numbers that would hold up a
//! market that looks at all of them for each.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use tradewind_io::submission::{Array, Dependency, When};

use super::*;
use crate::live::state::Job;

/// What a job waits for, by a look at all jobs.
#[derive(Debug, PartialEq, Eq)]
enum Plain {
    No,
    Still,
    InVain,
}

fn plain(state: &State, job: &Job, dependency: Dependency) -> Plain {
    let number = dependency.job;
    let is_over = |it: &Job| matches!(it.phase(), Phase::Over(_));
    let is_good = |it: &Job| it.phase() == Phase::Over(&Finish::Completed);
    if dependency.when == When::Singleton {
        let is_rival = |it: &Job| match it.phase() {
            Phase::Over(_) => false,
            Phase::Held(_) | Phase::Waiting => it.number < job.number,
            _ => it.number != job.number,
        };
        let is_like = |it: &Job| it.user == job.user && it.submission.name == job.submission.name;
        let waits = state.jobs.values().any(|it| is_like(it) && is_rival(it));
        return if waits { Plain::Still } else { Plain::No };
    }
    let of_array = |it: &Job| it.array.is_some_and(|(first, _)| first == number);
    let mut named: Vec<&Job> =
        state.jobs.values().filter(|it| it.number == number || of_array(it)).collect();
    if let (When::Corresponding, Some((_, own))) = (dependency.when, job.array) {
        named.retain(|it| !of_array(it) || it.array.is_some_and(|(_, index)| index == own));
    }
    let all_over = named.iter().all(|it| is_over(it));
    let all_good = named.iter().all(|it| is_good(it));
    match dependency.when {
        When::Begun if named.iter().all(|it| it.began().is_some() || is_over(it)) => Plain::No,
        When::Corresponding if named.is_empty() => Plain::InVain,
        When::Begun => Plain::Still,
        _ if !all_over => Plain::Still,
        When::Ok | When::Corresponding if !all_good => Plain::InVain,
        When::NotOk if all_good => Plain::InVain,
        _ => Plain::No,
    }
}

/// All of it: never met if one is not, else open if one is.
fn plainly(state: &State, job: &Job) -> Plain {
    let all: Vec<Plain> = job.submission.after.iter().map(|it| plain(state, job, *it)).collect();
    match (all.contains(&Plain::InVain), all.contains(&Plain::Still)) {
        (true, _) => Plain::InVain,
        (_, true) => Plain::Still,
        _ => Plain::No,
    }
}

/// A submission that waits for some of the `last` jobs.
fn drawn(draw: &mut Pcg64Mcg, last: u64) -> Submission {
    let whens =
        [When::Ok, When::NotOk, When::Any, When::Begun, When::Corresponding, When::Singleton];
    let mut dependency = || {
        let when = whens[draw.random_range(0..whens.len())];
        let job = if when == When::Singleton { 0 } else { draw.random_range(1..=last) };
        Dependency { when, job }
    };
    let after = (0..if last == 0 { 0 } else { 2 }).map(|_| dependency()).collect::<Vec<_>>();
    let after = after.into_iter().take(draw.random_range(0..3)).collect();
    let array = Array { indices: vec![1, 4, 6], at_once: draw.random::<bool>().then_some(1) };
    Submission {
        name: ["one", "two"][draw.random_range(0..2)].to_owned(),
        held: draw.random_range(0..4) == 0,
        array: draw.random::<bool>().then_some(array),
        after,
        ..job(1, 60)
    }
}

/// Every job that waits for others does so by a plain look, too; and the other way round.
fn compare(stage: &Stage, before: &BTreeMap<u64, bool>) {
    let state = stage.live.state();
    for job in state.jobs.values() {
        let now = plainly(state, job);
        let waited = before.get(&job.number).copied().unwrap_or(false);
        match job.phase() {
            Phase::Held(JobHold::Dependency) => assert_eq!(now, Plain::Still, "{}", job.number),
            Phase::Over(Finish::Dependency(_)) if waited => {
                assert_eq!(now, Plain::InVain, "{}", job.number);
            }
            Phase::Over(_) | Phase::Held(JobHold::User) => {}
            // Others of its name may be new in the same step.
            _ if waited && job.submission.after.iter().all(|it| it.when != When::Singleton) => {
                assert_eq!(now, Plain::No, "{}", job.number);
            }
            _ => {}
        }
    }
}

#[test]
fn jobs_wait_as_long_as_a_plain_look_at_all_jobs_says() {
    let mut draw = Pcg64Mcg::seed_from_u64(7);
    for _ in 0..60 {
        let mut stage = Stage::new();
        let mut seen: BTreeMap<Tag, (u32, Seen)> = BTreeMap::new();
        for second in 1..60 {
            let waits = |it: &Job| it.phase() == Phase::Held(&JobHold::Dependency);
            let state = stage.live.state();
            let before = state.jobs.values().map(|it| (it.number, waits(it))).collect();
            let last = state.last_job();
            match draw.random_range(0..6) {
                0 | 1 => drop(stage.submit(later(second), drawn(&mut draw, last))),
                2 if last > 0 => {
                    let job = draw.random_range(1..=last);
                    let ask = match draw.random() {
                        true => Ask::Cancel { job },
                        false => Ask::Release { job },
                    };
                    drop(stage.asked(later(second), ana(), ask));
                }
                _ => {
                    let orders = stage.orders();
                    if orders.is_empty() {
                        continue;
                    }
                    let order = &orders[draw.random_range(0..orders.len())];
                    let (tag, site) = (order.tag.clone(), order.site.0);
                    let since = later(second);
                    let now = match seen.get(&tag) {
                        None => running(since),
                        Some(_) => ended(since, since, Exit::Code(draw.random_range(0..2))),
                    };
                    seen.insert(tag, (site, now));
                    let at_site = seen.iter().filter(|(_, (at, _))| *at == site);
                    let tasks = at_site.map(|(tag, (_, seen))| (tag.clone(), seen.clone()));
                    stage.survey(since, site, tasks.collect(), &[]);
                }
            }
            compare(&stage, &before);
        }
    }
}

fn array(jobs: u32, after: Vec<Dependency>) -> Submission {
    let array = Some(Array { indices: (0..jobs).collect(), at_once: None });
    Submission { array, after, ..job(1, 60) }
}

/// Both wait for three thousand jobs: looked at one by one, that were nine million looks and as many
/// notes.
#[test]
fn arrays_that_wait_for_arrays_or_for_each_other_are_as_much_work_as_their_jobs() {
    let mut stage = Stage::new();
    let held = Submission { held: true, ..array(3_000, vec![]) };
    stage.submit(DAY, held).unwrap();
    for when in [When::Ok, When::Begun, When::Corresponding, When::Singleton] {
        let job = u64::from(when != When::Singleton);
        stage.submit(DAY, array(3_000, vec![Dependency { when, job }])).unwrap();
    }
    let notes = stage.live.index.awaited.size();
    assert!((12_000..=12_010).contains(&notes), "{notes}");
}

#[test]
fn a_job_has_so_many_dependencies_and_an_array_fewer_for_each() {
    let mut stage = Stage::new();
    stage.submit(DAY, Submission { held: true, ..job(1, 60) }).unwrap();
    let after = |count| vec![Dependency { when: When::Any, job: 1 }; count];
    for (jobs, most) in [(None, 1_000), (Some(100), 1_000), (Some(1_000), 100)] {
        let with = |count| match jobs {
            Some(jobs) => array(jobs, after(count)),
            None => Submission { after: after(count), ..job(1, 60) },
        };
        let refused = stage.submit(DAY, with(most + 1)).unwrap_err();
        assert!(refused.message.contains(&format!("{most} are allowed")), "{refused:?}");
        stage.submit(DAY, with(most)).unwrap();
    }
}

#[test]
fn a_job_that_waits_for_a_beginning_goes_when_the_work_has_begun() {
    let mut stage = Stage::new();
    stage.submit(DAY, job(1, 60)).unwrap();
    let after = vec![Dependency { when: When::Begun, job: 1 }];
    stage.submit(DAY, Submission { after, ..job(1, 60) }).unwrap();
    assert_eq!(stage.phase(2), Phase::Held(&JobHold::Dependency));
    let first = stage.orders().into_iter().find(|it| it.tag.job == 1).unwrap();
    stage.survey(later(3), first.site.0, vec![(first.tag, running(later(2)))], &[]);
    assert_eq!(stage.phase(2), Phase::Running);
}

/// Nanoseconds that this thread has used so far: other load of the machine does not count.
fn processor_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Where the tasks have a limit at once, each end looked at all tasks before it: with ten thousand of
/// them seconds of work for one submission, and twenty times as much as without a limit.
#[test]
fn tasks_that_end_at_once_look_at_no_others() {
    let took = |jobs: u32, at_once: Option<u32>| {
        let mut stage = Stage::new();
        stage.submit(DAY, Submission { held: true, ..array(2, vec![]) }).unwrap();
        let array = Some(Array { indices: (10..10 + jobs).collect(), at_once });
        let after = vec![Dependency { when: When::Corresponding, job: 1 }];
        let begin = processor_time();
        stage.submit(DAY, Submission { array, after, ..job(1, 60) }).unwrap();
        let over =
            stage.live.state().jobs.values().filter(|it| matches!(it.phase(), Phase::Over(_)));
        assert_eq!(over.count(), jobs as usize);
        processor_time() - begin
    };
    let (plain, limited) = (took(6_000, None), took(6_000, Some(1)));
    assert!(limited < plain * 4, "{limited} ns beside {plain} ns");
}

/// Has the job's task run until then; what its site has seen stays there.
fn run(stage: &mut Stage, seen: &mut BTreeMap<Tag, (u32, Seen)>, number: u64, until: i64) {
    let orders = stage.orders();
    let order = orders.iter().find(|it| it.tag.job == number && it.act == Act::Submit).unwrap();
    let (site, tag, since) = (order.site.0, order.tag.clone(), later(until - 5));
    for now in [running(since), ended(since, later(until), Exit::Code(0))] {
        seen.insert(tag.clone(), (site, now));
        let here = seen.iter().filter(|(_, (at, _))| *at == site);
        let tasks = here.map(|(tag, (_, seen))| (tag.clone(), seen.clone())).collect();
        stage.survey(later(until), site, tasks, &[]);
    }
}

/// Of an array, one task at a time: each goes when the one before it is over, in their order. Earlier
/// releases forgot what they have waited for, and has come.
#[test]
fn tasks_of_an_array_go_one_by_one_though_what_they_waited_for_is_forgotten() {
    let mut stage = Stage::with(Settings { keep: Span(100), ..Settings::default() });
    let mut seen = BTreeMap::new();
    stage.submit(DAY, job(1, 60)).unwrap();
    let array = Some(Array { indices: vec![1, 2, 3], at_once: Some(1) });
    let after = vec![Dependency { when: When::Ok, job: 1 }];
    stage.submit(DAY, Submission { array, after, ..job(1, 9_000) }).unwrap();
    run(&mut stage, &mut seen, 1, 10);
    let forgotten = JobRecord::Dropped { job: 1 }.into();
    stage.live.state.apply(later(200), &forgotten).unwrap();
    for (task, next) in [(2, Some(3)), (3, Some(4)), (4, None)] {
        let waiting = (task + 1..5).all(|it| stage.phase(it) == Phase::Held(&JobHold::Array));
        assert!(waiting && stage.phase(task) == Phase::Running, "{task}");
        run(&mut stage, &mut seen, task, 200 + 10 * task as i64);
        assert_eq!(stage.phase(task), Phase::Over(&Finish::Completed));
        assert!(next.is_none_or(|next| stage.phase(next) == Phase::Running), "{task}");
    }
}

fn is_there(stage: &Stage, number: u64) -> bool {
    stage.live.state().jobs.contains_key(&number)
}

/// What a job waited for is over for long when its user lets it go: it is known still how that ended,
/// also after a restart. None names it later, and it leaves.
#[test]
fn what_a_held_job_names_stays_until_that_job_is_over() {
    let mut stage = Stage::with(Settings { keep: Span(100), ..Settings::default() });
    let mut seen = BTreeMap::new();
    for name in ["named", "other"] {
        stage.submit(DAY, Submission { name: name.to_owned(), ..job(1, 60) }).unwrap();
    }
    let after = |when| vec![Dependency { when, job: 1 }];
    for when in [When::Ok, When::NotOk] {
        let held = Submission { held: true, after: after(when), ..job(1, 60) };
        stage.submit(DAY, held).unwrap();
    }
    run(&mut stage, &mut seen, 1, 10);
    run(&mut stage, &mut seen, 2, 10);
    stage.step(later(200), Input::Tick);
    assert_eq!((is_there(&stage, 1), is_there(&stage, 2)), (true, false));
    stage.restart(later(210));
    for site in [0, 1] {
        stage.survey(later(220), site, vec![], &[]);
    }
    stage.asked(later(230), ana(), Ask::Release { job: 4 }).unwrap();
    assert_eq!(stage.phase(4), Phase::Over(&Finish::Dependency(1)));
    stage.step(later(240), Input::Tick);
    assert!(is_there(&stage, 1), "3 names it");
    stage.asked(later(250), ana(), Ask::Release { job: 3 }).unwrap();
    assert_eq!(stage.phase(3), Phase::Running);
    run(&mut stage, &mut seen, 3, 260);
    stage.step(later(270), Input::Tick);
    assert_eq!((is_there(&stage, 1), is_there(&stage, 3)), (false, true));
}

/// The first task of an array may be over for long while others go on: who waits for the array waits
/// for these, and learns how the first one ended.
#[test]
fn an_array_stays_until_all_of_it_is_over() {
    let mut stage = Stage::with(Settings { keep: Span(100), ..Settings::default() });
    let mut seen = BTreeMap::new();
    stage.submit(DAY, Submission { array: one_by_one(), ..job(1, 9_000) }).unwrap();
    run(&mut stage, &mut seen, 1, 10);
    stage.step(later(200), Input::Tick);
    assert!(is_there(&stage, 1));
    for when in [When::Any, When::Ok] {
        let after = vec![Dependency { when, job: 1 }];
        stage.submit(later(210), Submission { after, ..job(1, 60) }).unwrap();
    }
    run(&mut stage, &mut seen, 2, 220);
    stage.step(later(400), Input::Tick);
    let waits = |stage: &Stage, number| stage.phase(number) == Phase::Held(&JobHold::Dependency);
    assert!(waits(&stage, 4) && waits(&stage, 5) && is_there(&stage, 2));
    run(&mut stage, &mut seen, 3, 410);
    assert_eq!((stage.phase(4), stage.phase(5)), (Phase::Running, Phase::Running));
    stage.step(later(420), Input::Tick);
    assert_eq!([1, 2, 3].map(|number| is_there(&stage, number)), [true; 3], "4 and 5 name it");
    run(&mut stage, &mut seen, 4, 430);
    run(&mut stage, &mut seen, 5, 440);
    stage.step(later(450), Input::Tick);
    assert_eq!([1, 2, 3].map(|number| is_there(&stage, number)), [false, false, true]);
}

fn one_by_one() -> Option<Array> {
    Some(Array { indices: vec![1, 2, 3], at_once: Some(1) })
}
