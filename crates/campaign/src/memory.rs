//! The memory of a log's jobs.

use std::sync::Arc;

use tradewind_io::campaign::{MemoryField, Workload as Spec};
use tradewind_io::swf;
use tradewind_model::{Attribute, Pool, Terms};

/// The same terms, with the memory that is counted of the job, if any is: in a grid as what a node has
/// to have.
pub(crate) fn with(
    terms: Option<Arc<Terms>>,
    spec: &Spec,
    (job, users): (&swf::Record, i64),
) -> Option<Arc<Terms>> {
    let memory = spec.memory.and_then(|field| of(field, job));
    let Some(kib) = memory else { return terms };
    let user = job.user.saturating_add(users);
    let mut terms = terms.map_or(Terms { user, ..Terms::NONE }, |terms| Terms::clone(&terms));
    match spec.grid {
        None => terms.memory = memory,
        Some(_) => {
            let wanted = Attribute::Number(i64::from(kib) * 1_000);
            terms.attributes.insert(Pool::MEMORY.to_owned(), wanted);
        }
    }
    Some(Arc::new(terms))
}

/// Memory of each processor of a job in KiB, rounded up; `None` where the log says nothing.
pub(crate) fn of(field: MemoryField, job: &swf::Record) -> Option<u32> {
    let known = |memory: Option<i64>| memory.filter(|memory| *memory > 0);
    let (requested, used) = (known(job.requested_memory), known(job.memory));
    let thousandths = match field {
        MemoryField::Ignore => None,
        MemoryField::Requested => requested.or(used),
        MemoryField::Used => used.or(requested),
    }?;
    let kib = thousandths / 1_000 + i64::from(thousandths % 1_000 > 0);
    Some(u32::try_from(kib).unwrap_or(u32::MAX))
}
