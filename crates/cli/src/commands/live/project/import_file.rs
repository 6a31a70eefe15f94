//! Users, projects, members and budgets as a file has them.

use tradewind_io::decimal;
use tradewind_web::documents::{
    Credits, IMPORT_COLUMNS, ImportKind, ImportRole, ImportRow, ImportTable, LimitName,
};

use crate::exit::{Exit, Failure, Problem};

/// A row as a CSV file has it.
pub(super) fn cells(it: &ImportRow) -> Vec<String> {
    let amount = |it: Option<Credits>| it.map(|it| it.to_string()).unwrap_or_default();
    let text = |it: &Option<String>| it.clone().unwrap_or_default();
    let kind = match it.kind {
        ImportKind::User => "user",
        ImportKind::Project => "project",
        ImportKind::Member => "member",
    };
    let role = match it.role {
        None => "",
        Some(ImportRole::Member) => "member",
        Some(ImportRole::Manager) => "manager",
        Some(ImportRole::None) => "none",
    };
    vec![
        kind.to_owned(),
        text(&it.project),
        text(&it.user),
        role.to_owned(),
        amount(it.credits),
        amount(it.total),
        amount(it.month),
        text(&it.note),
    ]
}

/// The table in a JSON file.
///
/// # Errors
/// If it is none.
pub(super) fn json(file: &str, text: &str) -> Result<ImportTable, Failure> {
    serde_json::from_str(text).map_err(|wrong| Failure::data(format!("{file}: {wrong}")))
}

/// The table in a CSV file, and the line of each row.
///
/// # Errors
/// What is wrong, with its line.
pub(super) fn csv(file: &str, text: &str) -> Result<(ImportTable, Vec<u64>), Failure> {
    let bad = |line: u64, what: String| Failure::data(format!("{file}:{line}: {what}"));
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let heads = reader.headers().map_err(|wrong| bad(1, wrong.to_string()))?.clone();
    if let Some(head) = heads.iter().find(|head| !IMPORT_COLUMNS.contains(head)) {
        let hint = format!("the columns are: {}", IMPORT_COLUMNS.join(", "));
        return Err(bad(1, format!("there is no column `{}`", head.escape_debug())).hint(hint));
    }
    let twice =
        heads.iter().enumerate().find(|(at, head)| heads.iter().take(*at).any(|it| it == *head));
    if let Some((_, head)) = twice {
        return Err(bad(1, format!("the column `{head}` is there twice")));
    }
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let record = record.map_err(|wrong| {
            let line = wrong.position().map_or(0, csv::Position::line);
            bad(line, "the row has more or fewer fields than the first".to_owned())
        })?;
        let line = record.position().map_or(0, csv::Position::line);
        let cell = |name: &str| {
            let at = heads.iter().position(|head| head == name)?;
            record.get(at).filter(|text| !text.is_empty())
        };
        rows.push(row(cell).map_err(|(field, what)| bad(line, format!("{field}: {what}")))?);
        lines.push(line);
    }
    Ok((ImportTable { rows }, lines))
}

fn row<'a>(cell: impl Fn(&str) -> Option<&'a str>) -> Result<ImportRow, (&'static str, String)> {
    let amount = |name: &'static str| {
        let text = cell(name).filter(|text| *text != "none");
        let read = |text: &str| decimal::parse_credits(text).map(Credits::from);
        text.map(read).transpose().map_err(|wrong| (name, wrong.to_string()))
    };
    let kind = match cell("kind") {
        Some("user") => ImportKind::User,
        Some("project") => ImportKind::Project,
        Some("member") => ImportKind::Member,
        _ => return Err(("kind", "expected `user`, `project` or `member`".to_owned())),
    };
    let role = match cell("role") {
        None => None,
        Some("member") => Some(ImportRole::Member),
        Some("manager") => Some(ImportRole::Manager),
        Some("none") => Some(ImportRole::None),
        Some(_) => return Err(("role", "expected `member`, `manager` or `none`".to_owned())),
    };
    if cell("credits") == Some("none") {
        return Err(("credits", "expected an amount".to_owned()));
    }
    let lifts = [(LimitName::Total, "total"), (LimitName::Month, "month")];
    let lift = lifts.into_iter().filter(|(_, name)| cell(name) == Some("none"));
    Ok(ImportRow {
        kind,
        project: cell("project").map(str::to_owned),
        user: cell("user").map(str::to_owned),
        role,
        credits: amount("credits")?,
        total: amount("total")?,
        month: amount("month")?,
        lift: lift.map(|(limit, _)| limit).collect(),
        note: cell("note").map(str::to_owned),
    })
}

/// `rows[3].role: …` as `FILE:LINE: role: …`.
pub(super) fn located(mut failure: Failure, file: &str, lines: &[u64]) -> Failure {
    for problem in &mut failure.problems {
        let Problem { message, .. } = problem;
        let found = message.strip_prefix("rows[").and_then(|rest| rest.split_once("]."));
        let line = found.and_then(|(at, _)| lines.get(at.parse::<usize>().ok()?));
        if let (Some((_, rest)), Some(line)) = (found, line) {
            *message = format!("{file}:{line}: {rest}");
            failure.exit = Exit::Data;
        }
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(ImportTable, Vec<u64>), String> {
        csv("f.csv", text).map_err(|failure| failure.problems[0].message.clone())
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let head = IMPORT_COLUMNS.join(",");
        let text = format!(
            "{head}\nuser,,ana,,100,,,\nproject,flow,,,1000.5,none,20,\"a, b\"\n\
             member,flow,ana,manager,,,5,\nmember,flow,ben,none,,,,\n"
        );
        let (table, lines) = read(&text).unwrap();
        assert_eq!(lines, [2, 3, 4, 5]);
        assert_eq!(table.rows[1].lift, [LimitName::Total]);
        assert_eq!(table.rows[1].note.as_deref(), Some("a, b"));
        assert_eq!(cells(&table.rows[2]), ["member", "flow", "ana", "manager", "", "", "5", ""]);
        assert_eq!(table.rows[3].role, Some(ImportRole::None));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_column() {
        for (text, said) in [
            ("kind,usr\n", "f.csv:1: there is no column `usr`"),
            ("kind,user,user\n", "f.csv:1: the column `user` is there twice"),
            ("kind,user\nuser,ana\nusr,ben\n", "f.csv:3: kind: expected"),
            ("kind,user,role\nmember,ana,boss\n", "f.csv:2: role: expected"),
            ("kind,project,credits\nproject,p,-1\n", "f.csv:2: credits: "),
            ("kind,project,credits\nproject,p,none\n", "f.csv:2: credits: expected an amount"),
            ("kind,user\nuser\n", "f.csv:2: the row has"),
        ] {
            let wrong = read(text).unwrap_err();
            assert!(wrong.starts_with(said), "{wrong}");
        }
        let failure = located(Failure::negative("rows[1].user: no"), "f.csv", &[2, 4]);
        assert_eq!(
            (failure.problems[0].message.as_str(), failure.exit),
            ("f.csv:4: user: no", Exit::Data)
        );
    }
}
