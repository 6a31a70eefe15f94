//! Jobs that give their nodes back to their owners, and what they keep.

use tradewind_io::submission::OnLost;
use tradewind_model::Time;

use super::Job;
use crate::site::Exit;

impl Job {
    /// Whether it gives its nodes back when its site's owners need them, for a lower price.
    pub fn is_preemptible(&self) -> bool {
        self.submission.on_preempted == Some(OnLost::Rerun) && self.origin.is_none()
    }

    /// Whether it was over before its work was done, after a notice: it lost its nodes by it.
    pub(in crate::live) fn gave_way(&self) -> bool {
        let exits = || self.parts().iter().filter_map(|part| Some(&part.exit.as_ref()?.1));
        let was_told = self.run().is_some_and(|run| run.notice.is_some());
        let left = |exit: &Exit| match exit {
            Exit::Code(code) => *code != 0,
            Exit::Signal(_) | Exit::Withdrawn | Exit::Preempted => true,
            _ => false,
        };
        was_told && exits().count() == self.parts().len() && exits().any(left)
    }

    /// Of a job that gave way: until when its work counts, which it could keep then.
    pub(in crate::live::state) fn kept_until(&self) -> Option<Time> {
        let notice = self.run()?.notice.as_ref();
        notice.filter(|_| self.gave_way()).map(|notice| notice.given)
    }

    /// Whether it gave way without time to keep anything.
    pub(in crate::live::state) fn lost_all(&self) -> bool {
        let notice = self.run().and_then(|run| run.notice.as_ref());
        notice.is_some_and(|it| it.given >= it.ends) && self.gave_way()
    }
}
