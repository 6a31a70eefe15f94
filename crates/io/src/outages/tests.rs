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
        Closure { pool, nodes, from, until, cause }
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
    assert!(csv("from,until,why\n0,1,rust\n").unwrap_err().contains("unknown key"));
}
