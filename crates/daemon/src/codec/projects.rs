//! Projects, their members and limits.

use serde_json::Value;

use super::wire::{Decode, DecodeFault, Encode, choice, object};
use crate::live::income::{Earned, Income, PoolMonth};
use crate::live::projects::{
    BudgetWarning, Member, MemberRole, Project, ProjectEdit, Projects, SpendingLimits, Spent, Which,
};
use crate::live::used::{UsageKey, UsageSum, Uses};

object!(Project { made, note, members, limits, spent, by_user, days, warned });
object!(UsageKey { month, project, user, site });
object!(UsageSum { parts, node_seconds, charged, consumed });
object!(PoolMonth { month, pool });
object!(Earned { node_seconds, income, consumed });
object!(Member { role, since, limits });
object!(SpendingLimits { total, month });
object!(Spent { total, month, in_month });
object!(BudgetWarning { month, level });
choice!(MemberRole { "member" => Member, "manager" => Manager });
choice!(Which { "total" => Total, "month" => Month });
choice!(ProjectEdit {
    "made" => Made { by, note, spent },
    "noted" => Noted { note },
    "joined" => Joined { user, role },
    "left" => Left { user },
    "limited" => Limited { user, limits },
    "warned" => BudgetWarning { user, which, level, spent, of },
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
    fn get(value: Value) -> Result<Self, DecodeFault> {
        Decode::get(value).map(Uses)
    }

    fn absent() -> Option<Self> {
        Some(Uses::default())
    }
}

impl Encode for Income {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    /// States of older releases stay as they were written.
    fn is_absent(&self) -> bool {
        self.0.is_empty()
    }
}

impl Decode for Income {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        Decode::get(value).map(Income)
    }

    fn absent() -> Option<Self> {
        Some(Income::default())
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
    fn get(value: Value) -> Result<Self, DecodeFault> {
        Decode::get(value).map(Projects)
    }

    fn absent() -> Option<Self> {
        Some(Projects::default())
    }
}
