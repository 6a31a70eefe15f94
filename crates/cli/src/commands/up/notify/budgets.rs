//! Mails about budgets: to a project's managers, and to the member whose limit it is.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_daemon::engine::{EngineStopped, Handle};
use tradewind_web::Notice;
use tradewind_web::documents::Event;

use super::mail::Mail;

/// The mails that these events call for. Looks at the market at most once.
///
/// # Errors
/// If the market has stopped.
pub(super) fn write(market: &Handle, notices: &[&Notice]) -> Result<Vec<Mail>, EngineStopped> {
    let due = notices.iter().filter(|it| it.kind == "budget");
    let due: Vec<Event> = due.filter_map(|it| serde_json::from_str(&it.text).ok()).collect();
    let names: BTreeSet<String> = due.iter().filter_map(|it| it.project.clone()).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let managers = market.look(move |live| {
        let of = |name: String| {
            let project = live.state().projects.get(&name)?;
            let managers: BTreeSet<String> = project.managers().map(str::to_owned).collect();
            Some((name, managers))
        };
        names.into_iter().filter_map(of).collect::<BTreeMap<String, BTreeSet<String>>>()
    })?;
    Ok(due.iter().flat_map(|event| mails(event, &managers)).collect())
}

fn mails(event: &Event, managers: &BTreeMap<String, BTreeSet<String>>) -> Vec<Mail> {
    let Some(project) = &event.project else { return Vec::new() };
    let mut to = managers.get(project).cloned().unwrap_or_default();
    to.extend(event.user.clone());
    let percent = event.percent.unwrap_or_default();
    let what = event.message.clone().unwrap_or_default();
    let mail = |to: String| Mail {
        to,
        subject: format!("Tradewind: {percent} % of a budget of project {project} is spent"),
        at: event.at,
        lines: vec![
            ("Project", project.clone()),
            ("Budget", what.clone()),
            ("See", format!("tradewind project show {project}")),
        ],
    };
    to.into_iter().map(mail).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn managers_and_the_member_are_notified_once_each() {
        let event = Event {
            kind: "budget".to_owned(),
            project: Some("apollo".to_owned()),
            user: Some("ana".to_owned()),
            percent: Some(80),
            message: Some("ana has spent 8 of 10 credits".to_owned()),
            ..Event::default()
        };
        let of = |names: [&str; 2]| names.map(str::to_owned).into_iter().collect::<BTreeSet<_>>();
        let managers = BTreeMap::from([("apollo".to_owned(), of(["ana", "olga"]))]);
        let mails = mails(&event, &managers);
        let to: Vec<&str> = mails.iter().map(|mail| mail.to.as_str()).collect();
        assert_eq!(to, ["ana", "olga"]);
        assert_eq!(mails[0].subject, "Tradewind: 80 % of a budget of project apollo is spent");
        assert_eq!(mails[0].lines[1].1, "ana has spent 8 of 10 credits");
    }
}
