//! Large submissions wait until other messages are answered.
//!
//! To write one down takes as long as hundreds of small ones. So each has a turn of its own, after
//! all that came meanwhile: other users wait for one large submission at most.

use std::collections::VecDeque;

use super::handle::Message;
use crate::live::Ask;

/// A submission of more bytes is large.
const LARGE: usize = 64 << 10;

/// Large submissions that wait, first come first.
#[derive(Debug, Default)]
pub(super) struct Large(VecDeque<Message>);

impl Large {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is to be done now: everything that is not large, then the first that is; all of them,
    /// if the engine `stops`.
    pub(super) fn turns(&mut self, batch: Vec<Message>, stops: bool) -> Vec<Vec<Message>> {
        let (large, rest) = batch.into_iter().partition::<Vec<_>, _>(is_large);
        self.0.extend(large);
        let now = if stops { self.0.len() } else { self.0.len().min(1) };
        let each = self.0.drain(..now).map(|it| vec![it]);
        std::iter::once(rest).chain(each).collect()
    }
}

fn is_large(message: &Message) -> bool {
    match message {
        Message::Ask(_, ask, _) => match &**ask {
            Ask::Submit { submission, .. } => submission.bytes() > LARGE,
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::sync_channel;

    use tradewind_io::input::Input;
    use tradewind_io::submission::document;

    use super::*;
    use crate::live::rights::{Actor, Role};

    fn submission(name: &str, bytes: usize) -> Message {
        let text = format!(
            r##"{{"name": "{name}", "script": "#!{}", "nodes": 1, "time": 60}}"##,
            "x".repeat(bytes)
        );
        let submission = document::parse(&Input::new(name, text)).unwrap();
        let actor = Actor { user: "ana".to_owned(), role: Role::User };
        let ask = Ask::Submit { submission: Arc::new(submission), key: None, quote: None };
        Message::Ask(actor, Box::new(ask), sync_channel(1).0)
    }

    fn names(turns: &[Vec<Message>]) -> Vec<Vec<&str>> {
        turns.iter().map(|turn| turn.iter().map(name).collect()).collect()
    }

    fn name(message: &Message) -> &str {
        let Message::Ask(_, ask, _) = message else { return "other" };
        let Ask::Submit { submission, .. } = &**ask else { return "other" };
        &submission.name
    }

    #[test]
    fn large_submissions_wait_for_small_ones_and_come_one_at_a_time() {
        let (large, small) = (|name| submission(name, 2 * LARGE), |name| submission(name, 10));
        let mut waiting = Large::default();
        let turns = waiting.turns(vec![large("a"), small("b"), large("c"), small("d")], false);
        assert_eq!(names(&turns), [vec!["b", "d"], vec!["a"]]);
        let turns = waiting.turns(vec![small("e"), large("f")], false);
        assert_eq!(names(&turns), [vec!["e"], vec!["c"]]);
        assert!(!waiting.is_empty());
        let turns = waiting.turns(vec![large("g")], true);
        assert_eq!(names(&turns), [vec![], vec!["f"], vec!["g"]], "none is lost at the end");
        assert!(waiting.is_empty());
    }
}
