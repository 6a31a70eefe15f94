use super::*;

#[test]
fn a_problem_names_file_line_field_and_hint() {
    let it = Diagnostic::error("grid.json", "negative price `-4`")
        .at_line(7)
        .in_field("nodes[2].price")
        .with_hint("prices are 0 or more");
    assert_eq!(
        it.to_string(),
        "error: grid.json:7: nodes[2].price: negative price `-4`\n  hint: prices are 0 or more"
    );
}

#[test]
fn only_fifty_problems_are_printed_and_a_thousand_kept() {
    let mut all = Diagnostics::default();
    for line in 1..=1_500 {
        all.push(Diagnostic::error("log", "bad").at_line(line));
    }
    let text = all.to_string();
    assert_eq!(text.lines().count(), 51);
    assert!(text.ends_with("… and 1450 more"));
    assert_eq!(all.iter().count(), 1_000);
    assert_eq!(all.errors(), 1_500);
}

#[test]
fn misspelt_words_get_a_suggestion_and_others_the_list() {
    let known = ["deadline", "budget"];
    assert_eq!(did_you_mean("dedline", &known), "did you mean `deadline`?");
    assert_eq!(did_you_mean("Budget", &known), "did you mean `budget`?");
    assert_eq!(did_you_mean("colour", &known), "known here: `deadline`, `budget`");
}

#[test]
fn excerpts_are_short_and_printable() {
    assert_eq!(excerpt("a\nb\u{7}"), "a\u{fffd}b\u{fffd}");
    assert_eq!(excerpt(&"é".repeat(50)).chars().count(), 41);
}
