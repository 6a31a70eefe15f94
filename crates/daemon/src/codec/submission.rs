//! What users submit.

use tradewind_io::submission::{
    Append, Array, Conditions, Counted, Dependency, Gather, Mail, OnBreach, OnLost, PeerChoice,
    Shape, Submission, Surroundings, TimeLimit, When, Work,
};

use super::wire::{choice, object};

object!(Submission {
    name,
    work,
    tasks,
    shape,
    time,
    terms,
    project,
    surroundings,
    after,
    array,
    held,
    on_lost,
    on_preempted,
    on_breach,
    gather,
    mail,
    comment,
    quote,
    passed_through,
    stay_home,
});
object!(Shape { nodes, max_nodes, tasks, tasks_per_node, cpus_per_task });
choice!(Work { "script" => Script { text, arguments }, "command" => Command(words) });
choice!(TimeLimit {
    "reference" => Reference(span), "classes" => Classes(limits), "one" => One { limit, counted },
});
choice!(Counted { "default" => Default, "job" => Job(times), "project" => Project(times) });
object!(Conditions {
    min_performance,
    max_price,
    budget,
    value,
    earliest_start,
    deadline,
    criterion,
    priority,
    attributes,
    sites,
    pools,
    spread,
    peers,
    shapes,
    groups,
    licences,
    data,
});
choice!(PeerChoice { "only" => Only(names), "not" => Not(names) });
object!(Surroundings { directory, output, error, input, append, environment });
choice!(Gather { "within" => Within(span), "apart" => Apart });
choice!(Append { "truncate" => Truncate, "append" => Append });
object!(Dependency { when, job });
choice!(When { "ok" => Ok, "not-ok" => NotOk, "any" => Any, "begun" => Begun,
    "corresponding" => Corresponding, "singleton" => Singleton });
object!(Array { indices, at_once });
choice!(OnLost { "fail" => Fail, "rerun" => Rerun, "hold" => Hold });
choice!(OnBreach { "requeue" => Requeue, "cancel" => Cancel, "hold" => Hold });
object!(Mail { to, begin, end, fail });
