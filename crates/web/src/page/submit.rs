//! Submitting a job: a script with `#SBATCH` and `#TRADEWIND` lines, read as the command line reads
//! it, fields that win over these lines, and what the job could get, in place.

use askama::Template;
use axum::Form;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use tradewind_daemon::live::{Ask, Reply};
use tradewind_io::submission::document;

use super::alternatives::{self, Alternative};
use super::reply::{PageResult, go, show as page};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::context::Context;
use crate::documents::Credits;
use crate::extract::{self, Large, Selection};
use crate::failure::{Answer, ErrorResponse};
use crate::routes::advice::{self, Standing};
use crate::routes::submission;
use crate::views::{jobs, sites};

/// What a new form has.
const SCRIPT: &str = "#!/bin/sh\n#SBATCH --nodes=1\n#SBATCH --time=10\nhostname\n";

/// What is filled in, as it was typed. Empty fields are left to the script.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SubmitForm {
    script: String,
    /// The script's file name.
    file: String,
    pub(super) name: String,
    pub(super) nodes: String,
    pub(super) time: String,
    account: String,
    array: String,
    dependency: String,
    output: String,
    error: String,
    pub(super) budget: String,
    pub(super) site: String,
    hold: String,
    /// The clock of moments in the script.
    zone: String,
    /// `check`, `offers`, `take` or `submit`.
    act: String,
    /// The offer that is accepted.
    quote: String,
}

impl SubmitForm {
    /// Options as on the command line: the field, its option, what is filled in.
    fn options(&self) -> [(&'static str, &'static str, &str); 10] {
        [
            ("name", "--job-name", &self.name),
            ("nodes", "--nodes", &self.nodes),
            ("time", "--time", &self.time),
            ("account", "--account", &self.account),
            ("array", "--array", &self.array),
            ("dependency", "--dependency", &self.dependency),
            ("output", "--output", &self.output),
            ("error", "--error", &self.error),
            ("budget", "--budget", &self.budget),
            ("site", "--clusters", &self.site),
        ]
    }

    /// The document of the submission: a script with options.
    fn document(&self) -> Vec<u8> {
        let script = self.script.replace("\r\n", "\n");
        let script = match script.starts_with("#!") {
            true => script,
            false => format!("#!/bin/sh\n{script}"),
        };
        let said = self.options().into_iter().filter(|(.., value)| !value.trim().is_empty());
        let mut options: Vec<Vec<String>> = said
            .map(|(_, option, value)| vec![option.to_owned(), value.trim().to_owned()])
            .collect();
        if !self.hold.is_empty() {
            options.push(vec!["--hold".to_owned()]);
        }
        let mut all = json!({"script": script, "options": options});
        if let Some(fields) = all.as_object_mut() {
            for (name, said) in [("file", &self.file), ("time_zone", &self.zone)] {
                if !said.trim().is_empty() {
                    fields.insert(name.to_owned(), json!(said.trim()));
                }
            }
        }
        all.to_string().into_bytes()
    }

    /// The field that a refusal is about, as far as it says.
    fn field(&self, problem: &crate::documents::Problem) -> Option<&'static str> {
        let said = format!("{} {}", problem.field.as_deref().unwrap_or_default(), problem.message);
        let mut filled = self.options().into_iter().filter(|(.., value)| !value.is_empty());
        let named = |option: &str| {
            let name = option.trim_start_matches('-');
            let mut words = said.split(|it: char| !it.is_ascii_alphanumeric() && it != '-');
            words.any(|word| word.trim_start_matches('-') == name)
        };
        filled.find(|(_, option, _)| named(option)).map(|(field, ..)| field)
    }
}

/// Which job is submitted again.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Again {
    again: Option<u64>,
}

#[derive(Template)]
#[template(path = "page/submit.html")]
struct SubmitPage {
    shell: Shell,
    filled: SubmitForm,
    sites: Vec<String>,
    projects: Vec<String>,
    /// The job that is submitted again.
    again: Option<u64>,
    answer: FormAnswer,
}

/// What the market says to what is filled in.
#[derive(Debug, Default)]
struct FormAnswer {
    wrong: Option<FormError>,
    /// What was read: name and value.
    read: Vec<(&'static str, String)>,
    warnings: Vec<String>,
    offers: Vec<Alternative>,
    /// Why there is no offer.
    none: Option<String>,
    /// The offers may be accepted.
    binding: bool,
    /// Who pays, and what there is to spend.
    purse: Option<(String, Credits)>,
}

#[derive(Debug, Clone)]
struct FormError {
    field: Option<&'static str>,
    message: String,
    hint: String,
}

impl SubmitPage {
    fn is_wrong(&self, field: &str) -> bool {
        self.answer.wrong.as_ref().is_some_and(|it| it.field == Some(field))
    }

    /// What the page calls a field.
    fn label(&self, field: &str) -> &'static str {
        match field {
            "name" => "Job name",
            "nodes" => "Nodes",
            "time" => "Time limit",
            "account" => "Project",
            "array" => "Array",
            "dependency" => "Dependency",
            "output" => "Output file",
            "error" => "Error output file",
            "budget" => "Budget",
            _ => "Sites",
        }
    }

    /// The first offer that can be paid.
    fn is_first(&self, it: &Alternative) -> bool {
        self.answer.offers.iter().find(|it| !it.is_too_dear).map(|it| &it.key) == Some(&it.key)
    }
}

/// The form; filled in with what a job was, if it is to run again.
pub(crate) async fn form(
    State(context): State<Context>,
    caller: Caller,
    Selection(Again { again }): Selection<Again>,
) -> PageResult {
    let filled = match again {
        None => SubmitForm { script: SCRIPT.to_owned(), ..SubmitForm::default() },
        Some(number) => again_of(&context, &caller, number).await?,
    };
    page(&shown(&context, &caller, (filled, again), FormAnswer::default()).await?)
}

async fn shown(
    context: &Context,
    caller: &Caller,
    (filled, again): (SubmitForm, Option<u64>),
    answer: FormAnswer,
) -> Answer<SubmitPage> {
    let shell = Shell::new(context, caller, "Submit").await?;
    let user = caller.actor.user.clone();
    let seen = context.look(move |live| {
        let state = live.state();
        let sites = sites::list(state).sites.into_iter().map(|site| site.name).collect();
        (sites, state.projects().of(&user).map(str::to_owned).collect())
    });
    let (sites, projects) = seen.await?;
    Ok(SubmitPage { shell, filled, sites, projects, again, answer })
}

/// Reads what is filled in, looks for offers, or submits it.
pub(crate) async fn act(
    State(context): State<Context>,
    caller: Caller,
    Form(filled): Form<SubmitForm>,
) -> PageResult {
    let body = Large::of(&context, &caller.actor.user, filled.document().into())?;
    let done = match filled.act.as_str() {
        "submit" => taken(&context, &caller, (&body, None)).await.map(Err),
        "take" => taken(&context, &caller, (&body, filled.quote.parse().ok())).await.map(Err),
        "offers" => told(&context, &caller, &body, Standing::Kept).await.map(Ok),
        _ => told(&context, &caller, &body, Standing::Told).await.map(Ok),
    };
    match done {
        Ok(Err(jobs)) => Ok(go(&address(&jobs))),
        Ok(Ok(answer)) => page(&shown(&context, &caller, (filled, None), answer).await?),
        Err(failure) => {
            let (status, problem) = failure.parts();
            let field = filled.field(problem);
            let (message, hint) = (problem.message.clone(), problem.hint.clone());
            let wrong = Some(FormError { field, message, hint });
            let answer = FormAnswer { wrong, ..FormAnswer::default() };
            Ok(page(&shown(&context, &caller, (filled, None), answer).await?)?.at(status))
        }
    }
}

/// The page of a job, or the list of an array's jobs.
fn address(jobs: &[u64]) -> String {
    match jobs {
        [job] => format!("/jobs/{job}"),
        [first, ..] => format!("/jobs?show=all&array={first}"),
        [] => "/jobs".to_owned(),
    }
}

async fn taken(
    context: &Context,
    caller: &Caller,
    (body, quote): (&Large, Option<u64>),
) -> Answer<Vec<u64>> {
    extract::count_submission(context, &caller.actor.user)?;
    let (submission, _) = submission::read_large(context, body).await?;
    let quote = quote.or(submission.quote);
    let submission = std::sync::Arc::new(submission);
    match context.ask(caller.actor.clone(), Ask::Submit { submission, key: None, quote }).await? {
        Reply::Jobs(jobs) => Ok(jobs),
        _ => Err(ErrorResponse::unavailable("the market said nothing")),
    }
}

async fn told(
    context: &Context,
    caller: &Caller,
    body: &Large,
    standing: Standing,
) -> Answer<FormAnswer> {
    let (submission, warnings) = submission::read_large(context, body).await?;
    let read = facts(&document::value(&submission));
    let told = FormAnswer { read, warnings, ..FormAnswer::default() };
    let quotes = match advice::offers(context, caller, body, standing).await {
        Ok(quotes) => quotes,
        Err(failure) if failure.is_unavailable() => {
            return Ok(FormAnswer { none: Some(failure.parts().1.message.clone()), ..told });
        }
        Err(failure) => return Err(failure),
    };
    let (offers, none) = alternatives::quoted(&quotes);
    let why = none.iter().find_map(|it| it.reason.clone()).filter(|_| offers.is_empty());
    let binding = standing == Standing::Kept && offers.iter().any(|it| it.offer.id.is_some());
    let purse = quotes.payer.clone().zip(quotes.funds);
    Ok(FormAnswer { offers, none: why, binding, purse, ..told })
}

/// What a submission asks for, for people.
fn facts(all: &Value) -> Vec<(&'static str, String)> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let names = [
        ("name", "Name"),
        ("nodes", "Nodes"),
        ("ntasks", "Tasks"),
        ("project", "Project"),
        ("array", "Array"),
        ("budget", "Budget"),
        ("output", "Output"),
        ("error", "Error output"),
    ];
    let plain = names.into_iter().filter_map(|(field, name)| Some((name, text(all.get(field)?))));
    let mut facts: Vec<(&'static str, String)> = plain.collect();
    if let Some(seconds) = all.get("time").and_then(Value::as_i64) {
        facts.push(("Time limit", words::span(&seconds)));
    }
    let after = after(all);
    if !after.is_empty() {
        facts.push(("Dependency", after));
    }
    if all.get("held") == Some(&Value::Bool(true)) {
        facts.push(("Held", "until you release it".to_owned()));
    }
    facts
}

/// Dependencies as `--dependency` has them.
fn after(all: &Value) -> String {
    let one = |it: &Value| {
        let when = it.get("when")?.as_str()?.to_owned();
        let job = it.get("job").and_then(Value::as_u64);
        Some(job.map_or(when.clone(), |job| format!("{when}:{job}")))
    };
    let all = all.get("after").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(one).collect::<Vec<_>>().join(",")
}

/// The form of a job that is to run again.
pub(super) async fn again_of(
    context: &Context,
    caller: &Caller,
    number: u64,
) -> Answer<SubmitForm> {
    let actor = caller.actor.clone();
    let found = context.see(move |_, moment| {
        let job = jobs::find(moment.state, &actor, number)?;
        Some(jobs::whole(moment, job))
    });
    let job =
        found.await?.ok_or_else(|| ErrorResponse::unknown(format!("you have no job {number}")))?;
    if job.script_dropped.is_some() {
        let message = format!("the script of job {number} was dropped: it has been over for long");
        return Err(ErrorResponse::invalid(message, "submit it from its file"));
    }
    Ok(filled(&job.submission.unwrap_or_default()))
}

/// A form that submits the same again.
fn filled(all: &Value) -> SubmitForm {
    let text = |field: &str| match all.get(field) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let words = all.get("command").and_then(Value::as_array).into_iter().flatten();
    let words: Vec<String> = words.filter_map(Value::as_str).map(quoted).collect();
    let script = match text("script") {
        script if script.is_empty() => format!("#!/bin/sh\nexec {}\n", words.join(" ")),
        script => script,
    };
    let time = all
        .get("time")
        .and_then(Value::as_i64)
        .map(|seconds| format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60));
    let sites = all.get("sites").and_then(Value::as_array).into_iter().flatten();
    SubmitForm {
        script,
        name: text("name"),
        nodes: text("nodes"),
        time: time.unwrap_or_default(),
        account: text("project"),
        array: text("array"),
        dependency: after(all),
        output: text("output"),
        error: text("error"),
        budget: text("budget"),
        site: sites.filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        ..SubmitForm::default()
    }
}

/// A word for the shell.
fn quoted(word: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_./=:,+".contains(it);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::Problem;

    #[test]
    fn fields_are_options_and_win_over_the_script() {
        let filled = SubmitForm {
            script: "echo hi\r\n".to_owned(),
            nodes: " 2 ".to_owned(),
            hold: "yes".to_owned(),
            ..SubmitForm::default()
        };
        let document: Value = serde_json::from_slice(&filled.document()).unwrap();
        let wanted = json!({
            "script": "#!/bin/sh\necho hi\n", "options": [["--nodes", "2"], ["--hold"]]
        });
        assert_eq!(document, wanted);
        let problem = |message: &str| Problem { message: message.to_owned(), ..Problem::default() };
        assert_eq!(filled.field(&problem("`--nodes x`: no number")), Some("nodes"));
        assert_eq!(filled.field(&problem("nowhere are so many")), None);
    }

    #[test]
    fn a_job_that_runs_again_asks_for_the_same() {
        let form = filled(&json!({
            "name": "t", "command": ["sh", "-c", "echo it's"], "nodes": 2, "time": 3_725,
            "array": "0-9%2", "after": [{"when": "afterok", "job": 6}, {"when": "singleton"}],
            "sites": ["alpha"], "budget": 1.5
        }));
        assert_eq!(form.script, "#!/bin/sh\nexec sh -c 'echo it'\\''s'\n");
        let said = [&form.time, &form.array, &form.dependency, &form.site, &form.budget];
        assert_eq!(said, ["1:02:05", "0-9%2", "afterok:6,singleton", "alpha", "1.5"]);
    }
}
