use proptest::prelude::*;

use super::*;

#[test]
fn arrays_are_lists_ranges_and_steps() {
    for (text, indices, at_once) in [
        ("0-3", vec![0, 1, 2, 3], None),
        ("1,3,5-7", vec![1, 3, 5, 6, 7], None),
        ("0-9:4%2", vec![0, 4, 8], Some(2)),
        ("5", vec![5], None),
        ("4,2-4", vec![2, 3, 4], None),
    ] {
        assert_eq!(array(text), Ok(Array { indices, at_once }), "{text}");
    }
    for text in ["", "a", "3-1", "1-", "-1", "0-9:0", "5:2", "1%0", "1%", "1,,2", "0-99999999999"] {
        assert!(array(text).is_err(), "{text}");
    }
    assert!(array("0-100000").unwrap_err().message.contains("more than 100000"));
    assert!(array("0-4294967295").is_err());
    // Each range once more is as much work again.
    assert!(array("0-99999,0-99999").unwrap_err().message.contains("more than 100000"));
    assert!(array("0-4999,0-4999").is_ok());
    assert!(array("4294967295").is_ok());
}

#[test]
fn dependencies_must_all_be_met() {
    let of = |when, job| Dependency { when, job };
    let all = vec![of(When::Ok, 12), of(When::Ok, 13), of(When::Begun, 4)];
    assert_eq!(dependencies("afterok:12:13,after:4"), Ok(all));
    let all = vec![of(When::Corresponding, 1), of(When::Singleton, 0)];
    assert_eq!(dependencies("aftercorr:1,singleton"), Ok(all));
    for (text, hint) in [
        ("afterok:1?afterok:2", "separate them by `,`"),
        ("expand:1", "use `after`"),
        ("singleton:1", "write `singleton`"),
        ("afterko:1", "did you mean `afterok`?"),
        ("afterok", "write `afterok:12`"),
        ("afterok:", "write `afterok:12:13`"),
        ("afterok:0", "write `afterok:12:13`"),
        ("after:1+5", "delays"),
        ("afterok:1_2", "tasks of an array"),
        ("12", "known here"),
        ("", "known here"),
    ] {
        let wrong = dependencies(text).unwrap_err();
        assert!(wrong.hint.contains(hint), "{text}: {wrong:?}");
    }
}

#[test]
fn constraints_become_attributes() {
    let flag = |name: &str| (name.to_owned(), Attribute::Flag(true));
    let class = |names: &[&str]| (CLASS.to_owned(), one_of(names));
    for (text, expected) in [
        ("gpu", vec![flag("gpu")]),
        ("gpu&ib", vec![flag("gpu"), flag("ib")]),
        ("slow|fast", vec![class(&["fast", "slow"])]),
        ("gpu&(slow|fast)", vec![flag("gpu"), class(&["fast", "slow"])]),
    ] {
        assert_eq!(constraint(text), Ok(expected.into_iter().collect()), "{text}");
    }
    for text in ["", "a&", "a&b|c", "[a|b]", "a*2", "(a", "a b", "(a|b)&(c|d)", "a,b", "!a"] {
        assert!(constraint(text).is_err(), "{text}");
    }
}

#[test]
fn variables_go_along_when_asked_for_but_never_the_clients_own() {
    let here = [("A", "1"), ("B", "2"), ("TRADEWIND_TOKEN", "secret"), ("BASH_FUNC_x%%", "()")];
    let here: BTreeMap<String, String> =
        here.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let read = |text: &str| export(text, &here).map(|all| format!("{all:?}"));
    assert_eq!(read("NONE").unwrap(), "{}");
    assert_eq!(read("ALL,B=3,C=x=y").unwrap(), r#"{"A": "1", "B": "3", "C": "x=y"}"#);
    assert_eq!(read("A").unwrap(), r#"{"A": "1"}"#);
    for text in ["", "NIL", "D", "1=2", "a b=2", "A,"] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn mail_is_of_few_types() {
    let of = |begin, end, fail| Some(Mail { to: None, begin, end, fail });
    assert_eq!(mail("BEGIN,end", None), Ok(of(true, true, false)));
    assert_eq!(mail("ALL", None), Ok(of(true, true, true)));
    assert_eq!(mail("NONE", None), Ok(None));
    for text in ["", "REQUEUE", "TIME_LIMIT_80", "ARRAY_TASKS"] {
        assert!(mail(text, None).unwrap_err().message.contains("not supported"), "{text}");
    }
}

#[test]
fn mail_goes_to_one_plain_address() {
    let long = format!("a@{}", "b".repeat(253));
    for text in ["ana", "ana@site.example", "a.b+c=d@x-y.z", "_a", "x1~y-z@10.0.0.1"] {
        assert_eq!(address(text).as_deref(), Ok(text));
    }
    for text in [
        "",
        "a@b, c@d",
        "a@b;c@d",
        "a b",
        "|/bin/sh",
        "/tmp/file",
        "-oX/tmp/f",
        "a@b\nBcc: c",
        "a@@b",
        "a@b@c",
        "@b",
        "a@",
        "a@-b",
        "<a@b>",
        "\"a\"@b",
        "a!b",
        "a%b@c",
        ":include:/x",
        "ü@b",
        "a(b)@c",
        "\\x",
        &long,
    ] {
        assert!(address(text).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn arrays_come_back(
        indices in proptest::collection::btree_set(0u32..200, 1..40),
        at_once in proptest::option::of(1u32..50),
    ) {
        let it = Array { indices: indices.into_iter().collect(), at_once };
        prop_assert_eq!(array(&array_text(&it)), Ok(it));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,30}|[-0-9:,%?&|()a-fALNO=]{0,30}") {
        let _ = (array(&text), dependencies(&text), constraint(&text), names(&text));
        let _ = (export(&text, &BTreeMap::new()), mail(&text, None));
    }
}

#[test]
fn licences_are_named_once_with_numbers() {
    let all: BTreeMap<String, u32> =
        [("abaqus".to_owned(), 4), ("matlab@flexlm".to_owned(), 1)].into();
    for text in ["abaqus:4,matlab@flexlm", "matlab@flexlm:1;abaqus:4"] {
        assert_eq!(licences(text), Ok(all.clone()), "{text}");
    }
    for (text, hint) in [
        ("abaqus:0", "abaqus:4,matlab"),
        ("abaqus:16777217", "abaqus:4,matlab"),
        ("aba qus", "abaqus:4,matlab"),
        ("", "abaqus:4,matlab"),
        ("abaqus:1,abaqus:2", "name each once"),
        ("abaqus|matlab", "separate them by `,`"),
    ] {
        assert!(licences(text).unwrap_err().hint.contains(hint), "{text}");
    }
}

#[test]
fn data_has_an_amount_and_a_place() {
    assert_eq!(data_in("2T@alpha"), Ok((2 << 40, "alpha".to_owned())));
    assert_eq!(data_in("1.5 GB@store"), Ok((3 << 29, "store".to_owned())));
    assert_eq!(data_out("100G@beta"), Ok((100 << 30, Some("beta".to_owned()))));
    assert_eq!(data_out("100G"), Ok((100 << 30, None)));
    for text in ["2T", "2T@", "@alpha", "0G@alpha", "2@alpha", "-1G@alpha", "", "99999999T@a"] {
        assert!(data_in(text).unwrap_err().hint.contains("2T@alpha"), "{text}");
    }
    for text in ["100G@", "0G", "x", ""] {
        assert!(data_out(text).unwrap_err().message.contains("no amount of data"), "{text}");
    }
}
