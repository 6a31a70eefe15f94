use proptest::prelude::*;

use super::*;

fn tree(name: &str, text: &str) -> String {
    match parse(&Input::new(name, text)) {
        Ok(value) => show(&value),
        Err(err) => err.to_string(),
    }
}

/// The tree with lines, for comparison.
fn show(value: &Value<'_>) -> String {
    let text = match &value.kind {
        ValueKind::Null => "null".to_owned(),
        ValueKind::Flag(flag) => flag.to_string(),
        ValueKind::Number(text) => text.to_string(),
        ValueKind::Text(text) => format!("{text:?}"),
        ValueKind::List(items) => {
            format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(" "))
        }
        ValueKind::Table(entries) => {
            let shown = entries.iter().map(|it| format!("{}={}", it.key, show(&it.value)));
            format!("{{{}}}", shown.collect::<Vec<_>>().join(" "))
        }
    };
    format!("{text}@{}", value.line)
}

#[test]
fn json_keeps_lines_and_number_text() {
    let text = "{\n \"a\": [1.50, -2e3],\n \"b\\u00e9\\ud83d\\ude00\": null\n}";
    assert_eq!(tree("x.json", text), "{a=[1.50@2 -2e3@2]@2 bé😀=null@3}@1");
}

#[test]
fn toml_keeps_lines_and_number_text() {
    let text = "a = 1_000.50\nh = 0x10\n[[b]]\nc = [true,\n 'x']\n";
    assert_eq!(tree("x.toml", text), "{a=1000.50@1 h=16@2 b=[{c=[true@4 \"x\"@5]@4}@3]@3}@1");
}

#[test]
fn broken_json_is_located() {
    for (text, expected) in [
        ("{\"a\": 1,\n \"b\": NaN}", "x:2:7: `NaN` is not a JSON value"),
        ("{\"a\": 1,\n", "x:2:1: expected a key in double quotes, but the file ends here"),
        ("{\"a\": \"b", "expected the closing `\"`, but the file ends here"),
        ("{\"a\": 1, \"a\": 2}", "the key `a` is given twice"),
        ("{\"a\": 01}", "needless zero"),
        ("{\"a\": 1} x", "something follows"),
        ("{\"a\": 1.}", "expected a digit, found `}`"),
        ("{\"a\": \"\\ud800\"}", "surrogate"),
        ("{\"a\": \"\\x\"}", "expected an escape"),
        ("{'a': 1}", "expected a key in double quotes, found `\\'`"),
    ] {
        let got = tree("x", text);
        assert!(got.contains(expected) && got.contains("\n  hint: "), "{text}: {got}");
    }
}

#[test]
fn deep_nesting_is_refused_in_both_syntaxes() {
    let deep = "[".repeat(100_000);
    assert!(tree("x.json", &deep).contains("nested deeper"));
    let toml = format!("a = {deep}");
    assert!(tree("x.toml", &toml).starts_with("error"));
}

#[test]
fn all_mistakes_of_toml_are_reported() {
    let got = tree("x.toml", "a = \nb = 1\nc = ]\n");
    assert!(got.contains("x.toml:1:") && got.contains("x.toml:3:"), "{got}");
}

proptest! {
    /// Our reader and serde's accept the same documents (but for repeated keys).
    #[test]
    fn agrees_with_serde_on_what_is_json(text in "[\\[\\]{}\",:0-9eE.\\-+a\\\\ \\nutrfls]{0,24}") {
        let ours = json::parse("x", &text);
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        match (&ours, &theirs) {
            (Err(err), Ok(_)) => prop_assert!(err.message.contains("twice"), "{text}: {err}"),
            (Ok(_), Err(err)) => prop_assert!(false, "{text}: {err}"),
            _ => {}
        }
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC{0,60}") {
        let _ = tree("x.json", &text);
        let _ = tree("x.toml", &text);
    }
}
