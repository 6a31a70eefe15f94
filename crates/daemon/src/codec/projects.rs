//! Projects, their members and limits.

use serde_json::Value;

use super::wire::{Fault, Decode, Encode, choice, object};
use crate::live::projects::{
    Change, Limits, Member, MemberRole, Project, Projects, Spent, Warned, Which,
};
use crate::live::used::{Place, Used, Uses};

object!(Project { made, note, members, limits, spent, by_user, days, warned });
object!(Place { month, project, user, site });
object!(Used { parts, node_seconds, charged });
object!(Member { role, since, limits });
object!(Limits { total, month });
object!(Spent { total, month, in_month });
object!(Warned { month, level });
choice!(MemberRole { "member" => Member, "manager" => Manager });
choice!(Which { "total" => Total, "month" => Month });
choice!(Change {
    "made" => Made { by, note, spent },
    "noted" => Noted { note },
    "joined" => Joined { user, role },
    "left" => Left { user },
    "limited" => Limited { user, limits },
    "warned" => Warned { user, which, level, spent, of },
    "eased" => Eased { user, which, level },
});

impl Encode for Uses {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn is_absent(&self) -> bool {
        self.0.is_empty()
    }
}

impl Decode for Uses {
    fn get(value: Value) -> Result<Self, Fault> {
        Decode::get(value).map(Uses)
    }

    fn absent() -> Option<Self> {
        Some(Uses::default())
    }
}

impl Encode for Projects {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    /// States of markets without projects stay as older releases wrote them.
    fn is_absent(&self) -> bool {
        self.0.is_empty()
    }
}

impl Decode for Projects {
    fn get(value: Value) -> Result<Self, Fault> {
        Decode::get(value).map(Projects)
    }

    fn absent() -> Option<Self> {
        Some(Projects::default())
    }
}
