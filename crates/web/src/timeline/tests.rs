//! What is drawn, against counting it second by second and row by row.

use proptest::prelude::*;

use super::cells::band;
use super::picture::MOST_RECTANGLES;
use super::{Area, Board, Kind, Lane, Picture, Scene, Task, View, Visibility};

const ALL: fn(&Task) -> Visibility = |_| Visibility { mine: false, whole: true };

fn task(pool: usize, nodes: u32, start: i64, end: i64, kind: Kind) -> Task {
    let (names, job, user, price, cost) = (Vec::new(), None, None, None, None);
    let (label, why) = (String::new(), String::new());
    Task { pool, nodes, names, start, end, kind, job, user, label, why, price, cost }
}

fn lane(name: &str, nodes: u32) -> Lane {
    Lane { name: name.to_owned(), nodes, price: None, away: None }
}

fn scene() -> impl Strategy<Value = Scene> {
    let lanes = prop::collection::vec(1u32..9, 1..4);
    let tasks = prop::collection::vec((0usize..4, 1u32..9, 0i64..60, 1i64..30, 0usize..12), 0..25);
    (lanes, tasks).prop_map(|(lanes, tasks)| {
        let pools = lanes.iter().enumerate();
        let pools: Vec<Lane> = pools.map(|(at, nodes)| lane(&format!("p{at}"), *nodes)).collect();
        let make = |(pool, nodes, start, length, kind): (usize, u32, i64, i64, usize)| {
            let pool = pool % lanes.len();
            let nodes = nodes.min(lanes[pool]);
            task(pool, nodes, start, start + length, Kind::ALL[kind])
        };
        Scene { pools, tasks: tasks.into_iter().map(make).collect() }
    })
}

/// Tasks that would not fit at their start are left out.
fn fitting(scene: Scene) -> Scene {
    let mut kept: Vec<Task> = Vec::new();
    let mut tasks = scene.tasks;
    tasks.sort_by_key(|task| (task.start, task.end));
    for new in tasks {
        let nodes = scene.pools[new.pool].nodes;
        let busy = kept.iter().filter(|it| it.pool == new.pool && it.end > new.start);
        if busy.map(|it| it.nodes).sum::<u32>() + new.nodes <= nodes {
            kept.push(new);
        }
    }
    Scene { tasks: kept, ..scene }
}

/// By row and second: the tasks that are drawn there.
fn drawn(board: &Board) -> std::collections::BTreeMap<(u32, i64), Vec<Kind>> {
    let mut all = std::collections::BTreeMap::<_, Vec<_>>::new();
    for block in &board.blocks {
        let task = &board.tasks[block.task as usize];
        for row in block.rows.clone() {
            for at in task.start..task.end {
                all.entry((row, at)).or_default().push(task.kind);
            }
        }
    }
    all
}

/// A site that fails has no end of that: the view of all is that of the jobs.
#[test]
fn nodes_that_are_missing_without_a_known_end_do_not_stretch_the_view_of_all() {
    const DAY: i64 = 86_400;
    let mut job = task(0, 1, 100, 400, Kind::Expected);
    job.job = Some(7);
    let pools = vec![lane("p", 4)];
    let ends = |down: i64, tasks: &[Task]| {
        let down = task(0, 2, 50, 50 + down, Kind::Down);
        let tasks = tasks.iter().cloned().chain([down]).collect();
        Board::new(Scene { pools: pools.clone(), tasks }).ends()
    };
    assert_eq!(ends(3_650 * DAY, std::slice::from_ref(&job)), Some((50, 400)));
    assert_eq!(ends(3 * DAY, &[job]), Some((50, 50 + 3 * DAY)), "an outage with an end");
    assert_eq!(ends(3_650 * DAY, &[]), Some((50, 50)));
}

proptest! {
    #[test]
    fn no_task_is_drawn_over_where_there_is_room(scene in scene()) {
        let scene = fitting(scene);
        let board = Board::new(scene.clone());
        for (place, holders) in drawn(&board) {
            prop_assert_eq!(holders.len(), 1, "at {:?}", place);
        }
        let rows: u32 = board.blocks.iter().map(|it| it.rows.end - it.rows.start).sum();
        prop_assert_eq!(rows, scene.tasks.iter().map(|it| it.nodes).sum::<u32>());
    }

    #[test]
    fn all_have_as_many_rows_as_nodes_whatever_the_room(scene in scene()) {
        let board = Board::new(scene);
        for (at, task) in board.tasks.iter().enumerate() {
            let own = board.blocks.iter().filter(|it| it.task as usize == at);
            let rows: u32 = own.map(|it| it.rows.end - it.rows.start).sum();
            prop_assert_eq!(rows, task.nodes);
        }
    }

    #[test]
    fn cells_are_what_counting_gives(
        scene in scene(), from in -5i64..50, span in 1i64..60, columns in 1u32..20, lines in 1u32..9
    ) {
        let board = Board::new(scene);
        let view = View { from, until: from + span, rows: 0..board.rows(), columns, lines };
        let step = ((span + i64::from(columns) - 1) / i64::from(columns)).max(1);
        let groups = lines.min(board.rows());
        let bytes = super::cells::cells(&board, &view, from, step, groups);
        let drawn = drawn(&board);
        for group in 0..groups {
            let band = band(group, &view.rows, groups);
            for column in 0..columns {
                let byte = bytes[(group * columns + column) as usize];
                let begin = from + i64::from(column) * step;
                let mut held = std::collections::BTreeMap::<Kind, i64>::new();
                for row in band.clone() {
                    for at in begin..begin + step {
                        for kind in drawn.get(&(row, at)).into_iter().flatten() {
                            *held.entry(*kind).or_default() += 1;
                        }
                    }
                }
                let (kind, level) = (byte >> 4, byte & 15);
                prop_assert_eq!(held.is_empty(), byte == 0, "nothing may be hidden");
                let alarm = held.keys().any(|kind| kind.is_alarm());
                let of_kind = held.iter().find(|(it, _)| **it as u8 == kind);
                if let Some((kind, seconds)) = of_kind {
                    prop_assert_eq!(kind.is_alarm(), alarm);
                    let rivals = held.iter().filter(|(it, _)| it.is_alarm() == alarm);
                    prop_assert_eq!(rivals.map(|(_, it)| *it).max(), Some(*seconds));
                    let room = i64::from(band.end - band.start) * step;
                    let all: i64 = held.values().sum();
                    prop_assert_eq!(i64::from(level), (all * 15 / room).clamp(1, 15));
                } else {
                    prop_assert!(held.is_empty());
                }
            }
        }
    }

    #[test]
    fn a_picture_shows_whatever_meets_it(
        scene in scene(), from in -5i64..95, span in 1i64..60, first in 0u32..20, rows in 1u32..20
    ) {
        let board = Board::new(scene);
        let until = from + span;
        let view = View { from, until, rows: first..first + rows, columns: 100, lines: 500 };
        let Picture::Rectangles(shown) = board.picture(&view, &ALL) else {
            return Err(TestCaseError::fail("so few are drawn one by one"));
        };
        let meets = |row: u32, at: i64| view.rows.contains(&row) && at >= from && at < until;
        let wanted: usize = board.blocks.iter().filter(|block| {
            let task = &board.tasks[block.task as usize];
            block.rows.clone().any(|row| (task.start..task.end).any(|at| meets(row, at)))
        }).count();
        prop_assert_eq!(shown.row.len(), wanted);
        for (place, task) in shown.task.iter().enumerate() {
            let (block, task) = (shown.row[place], *task as usize);
            let row_of = |it: &&super::board::Block| it.rows.start == block;
            let mut of = board.blocks.iter().filter(row_of).map(|it| &board.tasks[it.task as usize]);
            let (start, end) = (shown.table.start[task], shown.table.end[task]);
            prop_assert!(of.any(|it| (it.start, it.end) == (start, end)), "whole tasks are sent");
        }
    }

    #[test]
    fn a_digest_is_what_counting_gives(
        scene in scene(), from in -5i64..95, span in 1i64..60, first in 0u32..20, rows in 1u32..20
    ) {
        let board = Board::new(scene);
        let area = Area { from, until: from + span, rows: first..first + rows };
        let found = board.digest(&area, 3, &ALL);
        let mut wanted = std::collections::BTreeMap::<Kind, (u32, i64)>::new();
        for (at, task) in board.tasks.iter().enumerate() {
            let own = board.blocks.iter().filter(|it| it.task as usize == at);
            let rows = own.flat_map(|it| it.rows.clone()).filter(|row| area.rows.contains(row));
            let times = (task.start..task.end).filter(|it| (from..from + span).contains(it));
            let held = rows.count() as i64 * times.count() as i64;
            if held > 0 {
                let of = wanted.entry(task.kind).or_default();
                *of = (of.0 + 1, of.1 + held);
            }
        }
        prop_assert_eq!(found.rows.len(), wanted.values().map(|it| it.0).sum::<u32>().min(3) as usize);
        let alarm = wanted.keys().any(|kind| kind.is_alarm());
        if let Some(kind) = found.table.kind.first() {
            let first = Kind::ALL.iter().find(|it| **it as u8 == *kind);
            prop_assert_eq!(first.map(|it| it.is_alarm()), Some(alarm));
        }
        prop_assert_eq!(found.kinds, wanted);
    }

    #[test]
    fn room_is_free_and_lowest_as_long_as_there_is_some(
        scene in scene(), lane in 0usize..3, nodes in 0u32..12, start in 0i64..80, length in 1i64..30
    ) {
        let board = Board::new(scene);
        let Some(own) = board.lanes().get(lane).map(|it| it.rows.clone()) else { return Ok(()) };
        let drawn = drawn(&board);
        let free = |row: &u32| (start..start + length).all(|at| !drawn.contains_key(&(*row, at)));
        let found = board.room(lane, nodes, start, start + length);
        let found: Vec<u32> = found.into_iter().flatten().collect();
        prop_assert_eq!(found.len(), nodes.min(own.end - own.start) as usize);
        prop_assert!(found.iter().all(|row| own.contains(row)) && found.is_sorted());
        let all: Vec<u32> = own.filter(|row| free(row)).collect();
        let lowest = &all[..all.len().min(nodes as usize)];
        prop_assert!(lowest.iter().all(|row| found.contains(row)));
        prop_assert!(found.len() > all.len() || found == lowest);
    }

    #[test]
    fn fewer_rows_show_the_same_tasks(mut scene in scene(), mask in 0u32..512) {
        // One task at the end tells the names of all nodes of its pool: their numbers.
        for (pool, lane) in scene.pools.iter().enumerate() {
            let names = (1..=lane.nodes).map(|number| number.to_string()).collect();
            let last = task(pool, lane.nodes, 100_000, 100_001, Kind::Done);
            scene.tasks.push(Task { names, ..last });
        }
        let board = Board::new(scene);
        let stays = |row: &str| mask & (1 << (row.parse::<u32>().unwrap_or(0) % 9)) != 0;
        let fewer = board.only(|_, row| stays(row));
        let name = |board: &Board, row: u32| {
            let lane = board.lanes().iter().find(|it| it.rows.contains(&row)).unwrap();
            (lane.name.clone(), board.row_name(row).to_owned())
        };
        let by_name = |board: &Board| {
            let all = drawn(board).into_iter().map(|((row, at), kinds)| ((name(board, row), at), kinds));
            all.collect::<std::collections::BTreeMap<_, _>>()
        };
        let mut wanted = by_name(&board);
        wanted.retain(|(it, _), _| stays(&it.1));
        prop_assert_eq!(by_name(&fewer), wanted);
        let rows: u32 = fewer.lanes().iter().map(|it| it.rows.end - it.rows.start).sum();
        prop_assert_eq!(rows, fewer.rows());
    }
}

#[test]
fn names_keep_their_rows_and_are_in_natural_order() {
    let named = |names: &[&str], start, end| Task {
        names: names.iter().map(|it| (*it).to_owned()).collect(),
        ..task(0, names.len() as u32, start, end, Kind::Running)
    };
    let pools = vec![lane("a", 4)];
    let tasks = vec![
        named(&["n10"], 0, 10),
        named(&["n2", "n1"], 5, 9),
        task(0, 2, 6, 8, Kind::Local),
        named(&["n10"], 20, 30),
    ];
    let board = Board::new(Scene { pools, tasks });
    let names: Vec<&str> = (0..4).map(|row| board.row_name(row)).collect();
    assert_eq!(names, ["n1", "n2", "n10", ""]);
    let rows: Vec<_> = board.blocks.iter().map(|it| (it.task, it.rows.clone())).collect();
    // The owner's two nodes: one is free, one must be drawn over.
    assert_eq!(rows, [(0, 2..3), (1, 0..2), (2, 0..1), (2, 3..4), (3, 2..3)]);
}

#[test]
fn very_many_become_cells() {
    let pools = vec![lane("a", 64)];
    let one = |at: i64| task(0, 1, at, at + 40, Kind::Done);
    let mut tasks: Vec<Task> = (0..MOST_RECTANGLES as i64 + 1).map(one).collect();
    tasks.push(task(0, 1, 7_000, 7_001, Kind::Failed));
    let board = Board::new(Scene { pools, tasks });
    let view = View { from: 0, until: 30_000, rows: 0..64, columns: 500, lines: 32 };
    let Picture::Cells(cells) = board.picture(&view, &ALL) else {
        panic!("too many for rectangles")
    };
    assert_eq!((cells.step, cells.groups, cells.from), (64, 32, 0));
    assert_eq!(cells.bytes.len(), (cells.columns * cells.groups) as usize);
    let failed = cells.bytes.iter().filter(|it| **it >> 4 == Kind::Failed as u8).count();
    assert_eq!(failed, 1, "one second among eight hours is seen");
}

#[test]
fn of_what_is_not_for_the_reader_only_the_rectangle_is_sent() {
    let pools = vec![lane("a", 2)];
    let of = |job: u64, user: &str| Task {
        price: Some(5),
        cost: Some(9),
        why: format!("why of {user}"),
        job: Some(job),
        user: Some(user.to_owned()),
        label: format!("secret of {user}"),
        ..task(0, 1, 0, 9, Kind::Running)
    };
    let board = Board::new(Scene { pools, tasks: vec![of(1, "ana"), of(2, "bob")] });
    let view = View { from: 0, until: 10, rows: 0..2, columns: 10, lines: 100 };
    let ana = |task: &Task| {
        let mine = task.user.as_deref() == Some("ana");
        Visibility { mine, whole: mine }
    };
    let Picture::Rectangles(shown) = board.picture(&view, &ana) else { panic!("two rectangles") };
    let table = shown.table;
    assert_eq!(table.cost, [9, -1]);
    assert_eq!((table.job, table.kind, table.price), (vec![1, 0], vec![22, 6], vec![5, -1]));
    assert_eq!(table.texts, ["", "secret of ana", "ana", "why of ana"]);
    assert_eq!((table.label, table.user, table.why), (vec![1, 0], vec![2, 0], vec![3, 0]));
    let area = Area { from: 0, until: 9, rows: 0..2 };
    let digest = board.digest(&area, 9, &ana);
    assert_eq!(digest.kinds, [(Kind::Running, (2, 18))].into());
    assert_eq!(digest.table.texts.len(), 4, "the same texts are sent");
}
