//! Which rows of the board a reader wants, and in which order.

use serde::Deserialize;
use tradewind_daemon::live::rights::Actor;

use crate::timeline::{Board, Kind, Scene, Task, Visibility};

/// Which rows, as it stands in the address.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RowFilter {
    /// Only these pools, by name; empty: all.
    pools: Vec<String>,
    /// Only pools or nodes in whose name this is; empty: all.
    find: String,
    order: Order,
    /// Only this user's jobs.
    user: Option<String>,
}

/// In which order pools stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Order {
    /// As in the configuration: by site.
    #[default]
    Site,
    /// In the order of names.
    Name,
    /// The cheapest first.
    Price,
    /// Those first of which the largest part is held now.
    Busy,
}

/// Whose jobs are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Whose {
    #[default]
    All,
    Mine,
}

impl RowFilter {
    /// Pools are separated by commas.
    pub(crate) fn new(
        actor: &Actor,
        pools: &str,
        find: &str,
        (order, whose): (Order, Whose),
    ) -> RowFilter {
        let pools = pools.split(',').filter(|name| !name.is_empty()).map(str::to_owned);
        RowFilter {
            pools: pools.collect(),
            find: find.trim().to_lowercase(),
            order,
            user: (whose == Whose::Mine).then(|| actor.user.clone()),
        }
    }

    /// The board of these rows at the moment `now`. O(n log n) for n tasks, and linear in rows.
    pub(crate) fn board(&self, scene: &Scene, now: i64) -> Board {
        let wanted =
            |at: &usize| self.pools.is_empty() || self.pools.contains(&scene.pools[*at].name);
        let mut places: Vec<usize> = (0..scene.pools.len()).filter(wanted).collect();
        self.sort(scene, now, &mut places);
        let mut new = vec![None; scene.pools.len()];
        places.iter().enumerate().for_each(|(to, from)| new[*from] = Some(to));
        let tasks = scene.tasks.iter().filter(|task| self.is_shown(task));
        let tasks = tasks.filter_map(|task| Some(Task { pool: new[task.pool]?, ..task.clone() }));
        let pools = places.into_iter().map(|place| scene.pools[place].clone());
        let board = Board::new(Scene { pools: pools.collect(), tasks: tasks.collect() });
        match self.find.is_empty() {
            true => board,
            false => {
                let has = |name: &str| name.to_lowercase().contains(&self.find);
                board.only(|pool, node| has(pool) || has(node))
            }
        }
    }

    fn is_shown(&self, task: &Task) -> bool {
        // What is no job's has no user, and stays.
        let Some(user) = &self.user else { return true };
        task.user.as_ref().is_none_or(|of| of == user)
    }

    fn sort(&self, scene: &Scene, now: i64, places: &mut [usize]) {
        let lane = |at: &usize| &scene.pools[*at];
        match self.order {
            Order::Site => {}
            Order::Name => places.sort_by(|a, b| lane(a).name.cmp(&lane(b).name)),
            Order::Price => places.sort_by_key(|at| (lane(at).price.is_none(), lane(at).price)),
            Order::Busy => {
                let mut held = vec![0u64; scene.pools.len()];
                let here = |task: &&Task| task.start <= now && task.end > now;
                for task in
                    scene.tasks.iter().filter(here).filter(|task| task.kind != Kind::Expected)
                {
                    held[task.pool] += u64::from(task.nodes);
                }
                let part = |at: &usize| held[*at] * 1_000 / u64::from(lane(at).nodes.max(1));
                places.sort_by_key(|at| std::cmp::Reverse(part(at)));
            }
        }
    }
}

/// All users see that nodes are taken, and by what kind of task; the user only if the reader may.
pub(crate) fn sight(actor: &Actor, task: &Task) -> Visibility {
    let mine = task.user.as_ref().is_some_and(|user| *user == actor.user);
    let whole = task.user.as_ref().is_none_or(|user| actor.may_act_for(user));
    Visibility { mine, whole }
}
