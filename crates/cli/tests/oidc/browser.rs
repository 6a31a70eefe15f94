//! What a browser does, as far as signing in goes: cookies, forms, and where it is sent.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::stage::Stage;

/// A browser with cookies of one market.
pub(crate) struct Browser {
    agent: ureq::Agent,
    url: String,
    pub(crate) cookies: BTreeMap<String, String>,
}

/// What it got.
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) to: String,
    pub(crate) text: String,
}

impl Browser {
    pub(crate) fn new(stage: &Stage) -> Browser {
        let agent = ureq::Agent::config_builder().max_redirects(0).http_status_as_error(false);
        let (agent, url) = (agent.build().new_agent(), stage.url.clone());
        Browser { agent, url, cookies: BTreeMap::new() }
    }

    fn cookies(&self) -> String {
        let all: Vec<String> =
            self.cookies.iter().map(|(name, it)| format!("{name}={it}")).collect();
        all.join("; ")
    }

    fn got(&mut self, mut answer: ureq::http::Response<ureq::Body>) -> Got {
        for set in answer.headers().get_all("set-cookie") {
            let pair = set.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            match value {
                "" => drop(self.cookies.remove(name)),
                _ => drop(self.cookies.insert(name.to_owned(), value.to_owned())),
            }
        }
        let to = answer.headers().get("location").map(|it| it.to_str().unwrap().to_owned());
        let status = answer.status().as_u16();
        let text = answer.body_mut().read_to_string().unwrap();
        Got { status, to: to.unwrap_or_default(), text }
    }

    /// Goes to a path of the market's, or a whole address there.
    pub(crate) fn get(&mut self, path: &str) -> Got {
        let path = path.strip_prefix(&self.url).unwrap_or(path);
        let request = self.agent.get(format!("{}{path}", self.url));
        let answer = request.header("Cookie", self.cookies()).call().unwrap();
        self.got(answer)
    }

    pub(crate) fn post(&mut self, path: &str, form: &[(&str, &str)]) -> Got {
        let request = self.agent.post(format!("{}{path}", self.url));
        let request = request.header("Origin", &self.url).header("Cookie", self.cookies());
        let answer = request.send_form(form.iter().copied()).unwrap();
        self.got(answer)
    }

    /// Begins to sign in; returns the provider's address.
    pub(crate) fn begin(&mut self, next: &str) -> String {
        let got = self.get(&format!("/signin/oidc?next={next}"));
        assert_eq!(got.status, 303, "{}", got.text);
        got.to
    }

    /// Signs in with the provider, from beginning to end.
    pub(crate) fn sign_in(&mut self, stage: &Stage, user: &str) -> Got {
        let address = self.begin("/jobs");
        let back = stage.provider.consent(&address, user);
        self.get(&back)
    }

    pub(crate) fn me(&mut self) -> Value {
        serde_json::from_str(&self.get("/v1/me").text).unwrap()
    }
}
