use proptest::prelude::*;
use tradewind_model::PoolId;

use super::*;

fn csv(text: &str) -> Result<Vec<Planned>, String> {
    parse(&Input::new("broken.csv", text), &Targets::of(&Pools::cluster(8)))
        .map_err(|wrong| wrong.to_string())
}

#[test]
fn a_table_is_read() {
    let table = "from,until,nodes,cause,node,notice,pool\n\
                 100,2h,,,3,,\n\
                 1d,2d,,maintenance,,1h,cluster\n\
                 -5,5,2,local,,,\n";
    let all = csv(table).unwrap();
    let pool = PoolId(0);
    let closure = |nodes, from, until, cause| {
        let (from, until) = (Time(from), Time(until));
        Outage { pool, nodes, from, until, cause }
    };
    let expected = [
        (closure(1, 100, 7_200, Cause::Failure(3)), Known::Ahead(Span::ZERO)),
        (closure(8, 86_400, 172_800, Cause::Maintenance), Known::Ahead(Span(3_600))),
        (closure(2, -5, 5, Cause::Local), Known::Always),
    ];
    assert_eq!(all, expected.map(|(what, known)| Planned { what, known, repeat: None }));
}

#[test]
fn mistakes_have_their_rows() {
    let found = csv("pool,from,until\nclustre,0,1\n,5,1\n,0,\n").unwrap_err();
    assert!(found.contains("broken.csv:2: row 1.pool: unknown pool `clustre`"), "{found}");
    assert!(found.contains("did you mean `cluster`?"), "{found}");
    assert!(found.contains("broken.csv:3: row 2: `from` 5 is not before `until` 1"), "{found}");
    assert!(found.contains("broken.csv:4: row 3: `until` is missing"), "{found}");
    assert!(csv("from,until,why\n0,1,rust\n").unwrap_err().contains("unknown column `why`"));
}

proptest! {
    /// Against counting nodes one by one.
    #[test]
    fn parts_of_a_cut_pool_add_up(
        sizes in proptest::collection::vec(1u32..9, 1..6),
        nodes in 1u32..40,
        first in 0u32..50,
    ) {
        let total: u32 = sizes.iter().sum();
        let nodes = nodes.min(total);
        let queue_of: Vec<u32> =
            (0u32..).zip(&sizes).flat_map(|(queue, &size)| vec![queue; size as usize]).collect();
        let target = Target {
            name: "p".to_owned(),
            site: SiteId(0),
            kind: Kind::Pool,
            first: PoolId(3),
            nodes: sizes.clone(),
        };
        let taken = |cause| target.split(nodes, cause);
        for (pool, taken, _) in taken(Cause::Local) {
            let size = sizes[pool.index() - 3];
            prop_assert!(taken <= size && taken.abs_diff(nodes * size / total) <= 1);
        }
        prop_assert_eq!(taken(Cause::Local).iter().map(|part| part.1).sum::<u32>(), nodes);
        if sizes.len() == 1 {
            return Ok(());
        }
        let from = first.min(total - nodes);
        let mut broken = Vec::new();
        for (pool, taken, cause) in taken(Cause::Failure(first)) {
            let Cause::Failure(within) = cause else { panic!("a failure stays one") };
            let before: u32 = sizes[..pool.index() - 3].iter().sum();
            broken.extend((before + within..before + within + taken).map(|node| {
                (node, pool.0 - 3 == queue_of[node as usize])
            }));
        }
        prop_assert_eq!(broken, (from..from + nodes).map(|node| (node, true)).collect::<Vec<_>>());
    }
}
