//! The language of formulas.

use serde::Deserialize;

use super::{Formula, FormulaValue, Scope, Seen, Template};
use crate::case::{Case, Size};
use crate::papers;
use crate::tally::Tally;

#[derive(Deserialize)]
struct Text {
    formula: Option<Formula>,
    template: Option<Template>,
    #[serde(default)]
    define: super::Definitions,
}

fn tally() -> Tally {
    let mut tally = Tally::default();
    for (at, x) in [1.0, 2.0, 3.0].into_iter().enumerate() {
        tally.add("x", x);
        tally.add_pair("pair", 2.0 * x, x);
        tally.add_point("points", at as f64, 10.0 * x);
    }
    tally
}

fn with<T>(toml: &str, of: impl for<'a> FnOnce(&mut Scope<'a>, &'a Text) -> T) -> T {
    let text: Text = toml::from_str(toml).expect(toml);

    let (tally, case) = (tally(), Case::new(papers::EXPERIMENTS[0], 1, Size::Quick));
    let seen = Seen { case: &case, tally: &tally, published: &[] };
    of(&mut Scope::new(seen, vec![&text.define]), &text)
}

fn value(formula: &str) -> Result<FormulaValue, String> {
    let toml = format!(
        "formula = '''{formula}'''\n[define]\ntwice = '2'\n'twice_of(x)' = 'twice * x'\nendless = 'endless'"
    );
    with(&toml, |scope, text| {
        let formula = text.formula.as_ref().expect("a formula");
        scope.read(formula, |value| Ok(value.clone())).map_err(|fault| fault.message)
    })
}

#[track_caller]
fn number(formula: &str, wanted: f64) {
    assert_eq!(
        value(formula).and_then(|it| it.number().map_err(|it| it.message)),
        Ok(wanted),
        "{formula}"
    );
}

#[test]
fn numbers_bind_as_usual() {
    number("1 + 2 * 3 - 4 / 2", 5.0);
    number("(1 + 2) * 3", 9.0);
    number("10 - 2 - 3", 5.0);
    number("-2 * 3", -6.0);
    number("25_000 * 0.5", 12_500.0);
    number("if 1 < 2 and not (2 >= 3) or false then 7 else 8", 7.0);
    number("twice_of(4) + twice", 10.0);
    number("mean(\"x\") + ratio(\"pair\")", 4.0);
}

#[test]
fn lists_are_made_of_lists() {
    number("sum([x * x for x in [1, 2, 3] where x != 2])", 10.0);
    number("sum([a * b for a, b in [[1, 2], [3, 4]]])", 14.0);
    number("at(points(\"points\"), argmax(points(\"points\")))", 30.0);
    number("held([x > 1 for x in range(0, 4)])", 2.0);
    number("rises([1, 2, 2, 3]) + falls([3, 1])", 3.0);
    number("len(crossings([true, true, false, true]))", 2.0);
    number("len(flat([[1], [2, 3]]))", 3.0);
    assert_eq!(
        value("join([\"{x:.1}\" for x in [1, 2]], \", \")"),
        Ok(FormulaValue::Text("1.0, 2.0".to_owned()))
    );
}

#[test]
fn intervals_go_with_estimates_and_not_with_two_of_them() {
    let Ok(FormulaValue::Estimate(one)) = value("10 - mean(\"x\")") else { panic!("an estimate") };
    assert_eq!((one.mean, one.count), (8.0, 3));
    assert!(one.low < 8.0 && one.high > 8.0);
    assert_eq!(value("mean(\"x\") / mean(\"x\")"), Ok(FormulaValue::Number(1.0)));
    number("low(gap(mean(\"x\"), mean(\"x\"))) + high(gap(mean(\"x\"), mean(\"x\")))", 0.0);
}

#[test]
fn texts_have_numbers_in_them() {
    let text = with("template = '{mean(\"x\"):.1} of {len([1, 2])}, {1.5:+.2}'", |scope, text| {
        scope.text(text.template.as_ref().expect("a template"))
    });
    assert_eq!(text.as_deref(), Ok("2.0 of 2, +1.50"));
}

#[test]
fn what_is_wrong_is_said() {
    for (formula, message) in [
        ("unknown", "nothing is known of `unknown`"),
        ("mean(1)", "a text was expected, and here is a number"),
        ("1 and 2", "a truth value was expected, and here is a number"),
        ("mean(\"x\", 1)", "`mean` takes one argument"),
        ("nothing(1, 2)", "there is no function `nothing` of 2 arguments"),
        ("at([1], 1)", "a list of 1 has no item 1"),
        ("endless", "the definition of `endless` has no end"),
        ("twice_of(1, 2)", "`twice_of` takes 1 arguments"),
        ("given(\"nothing\")", "the experiment has no parameter `nothing`"),
        ("if true then 1 else unknown", "nothing is known of `unknown`"),
    ] {
        assert_eq!(value(formula), Err(message.to_owned()), "{formula}");
    }
}

#[test]
fn what_cannot_be_read_is_refused() {
    for (formula, message) in [
        ("1 +", "a name is missing at the end of the formula"),
        ("(1", "`)` is missing at the end of the formula"),
        ("1 2", "the end was expected where `2` stands"),
        ("[x for in y]", "a name was expected where `in y]` stands"),
        ("\"{x:.z}\"", "a number of decimals was expected where `z}\"` stands"),
    ] {
        let error = toml::from_str::<Text>(&format!("formula = '{formula}'")).err();
        let error = super::Fault::from(error.expect(formula)).message;
        assert_eq!(error, message, "{formula}");
    }
}
