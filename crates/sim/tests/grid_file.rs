//! From a grid file, a log and a side file to a replay.
#![expect(clippy::unwrap_used, reason = "a replay that fails is a test that fails")]

use std::path::Path;
use std::sync::Arc;

use tradewind_io::grid::{self, GridFile};
use tradewind_io::input::Input;
use tradewind_io::snapshot::side::{self, Asker, ReplayedTerms};
use tradewind_io::swf;
use tradewind_model::Span;
use tradewind_sched::policy::Policy as _;
use tradewind_sched::policy::gridfill::{GridFill, GridFillSettings};
use tradewind_sim::metrics::{self, Value};
use tradewind_sim::models::{FailureModel, LocalLoad, Repair, owners_load};
use tradewind_sim::outage::{self, AnnouncedOutage};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{ReplaySettings, Run, check, run};

const SEED: u64 = 7;

fn example(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    root.join(name).to_str().unwrap().to_owned()
}

/// All that makes nodes go missing, as the file says or draws it.
fn outages(grid: &GridFile, workload: &Workload) -> Vec<AnnouncedOutage> {
    let within = outage::horizon(workload);
    let planned = grid.planned.iter().flat_map(|planned| planned.closures(within));
    let mut all: Vec<AnnouncedOutage> =
        planned.map(|(announced, what)| AnnouncedOutage { announced, what }).collect();
    for (id, pool) in workload.pools.iter() {
        for (_, law) in grid.failures.iter().filter(|(site, _)| *site == pool.site) {
            let repair = match law.repair_sigma {
                Some(sigma) => Repair::Lognormal { mean: law.repair, sigma },
                None => Repair::Exponential(law.repair),
            };
            let faults =
                FailureModel { mtbf: law.mtbf, shape: law.shape, repair, burst: law.burst };
            all.extend(faults.draw(SEED, id, pool.nodes, within));
        }
        for (_, load) in grid.loads.iter().filter(|(site, _)| *site == pool.site) {
            let grid::OwnerLoad { share, steps, tasks: lengths, period } = *load;
            let load = LocalLoad { share, steps, lengths, period };
            all.extend(owners_load(&load, SEED, (id, pool.nodes), within));
        }
    }
    outage::in_order(&workload.pools, all)
}

fn replayed(grid_text: Option<&str>, side_text: &str) -> (Workload, Run) {
    let (grid, _) = match grid_text {
        Some(text) => grid::parse(&Input::new("grid.toml", text)).unwrap(),
        None => grid::load(&example("grid.toml")).unwrap(),
    };
    let side = side::parse(&Input::new("side.toml", side_text)).unwrap();
    let pools = grid.pools(SEED);
    let terms = ReplayedTerms::new(&side, SEED, &pools);
    let log = swf::load(&example("small.swf")).unwrap();
    let job = |job: &swf::Record| {
        let name = job.number.to_string();
        let work = job.requested_time.or(job.run).unwrap_or(Span(1));
        let (submit, tasks, user) = (job.submit, job.held().unwrap_or(1), job.user);
        let home = grid.home("small", 0);
        let terms = terms.terms(&Asker { name: &name, submit, tasks, work, run: work, user, home });
        LogJob {
            number: job.number,
            submit: Some(submit),
            run: job.run,
            processors: job.held(),
            requested: job.requested_time,
            user,
            terms: terms.map(Arc::new),
        }
    };
    let jobs: Vec<LogJob> = log.jobs.iter().map(job).collect();
    let mut workload = prepare(&jobs, Arc::new(pools), Default::default(), Overrun::Kill);
    workload.outages = outages(&grid, &workload);
    let mut policy = GridFill::new(GridFillSettings::default());
    let mut checkers = check::all(policy.promise());
    let run = run(&workload, ReplaySettings::default(), &mut policy, &mut checkers).unwrap();
    (workload, run)
}

#[test]
fn the_example_runs_under_all_checkers() {
    let (workload, run) = replayed(None, "[model]\nvalue = [1, 2]\nslack = [5, 20]\n");
    let measured = metrics::measure(&workload, &run, metrics::MetricOptions::default());
    let number = |name: &str| measured.get(name).map_or(0.0, Value::as_f64);
    assert!(number("jobs") > 100.0 && number("interruptions") > 0.0, "{:?}", measured.entries());
    assert!(number("total_income") > 0.0 && measured.income.iter().all(|income| *income > 0));
    assert_eq!(measured.get("total_cost"), measured.get("total_income"));
    let (used, open) = (number("utilisation"), number("open_utilisation"));
    assert!(used > 0.0 && used < open && open <= 1.0);
    let success = number("deadline_success");
    assert!(success > 0.0 && success <= 1.0 && number("value_ratio") > 0.0);
    let again = replayed(None, "[model]\nvalue = [1, 2]\nslack = [5, 20]\n");
    assert_eq!(again.1, run);
}

#[test]
fn an_owners_load_makes_jobs_wait() {
    let site = "[[site]]\nname = \"a\"\npool = [{ name = \"a\", nodes = 64 }]\n";
    let wait = |text: &str| {
        let (workload, run) = replayed(Some(text), "[[job]]\njob = 1\n");
        metrics::measure(&workload, &run, metrics::MetricOptions::default()).get("mean_wait_s")
    };
    let load = "load = { share = [0.2, 0.2], period = \"6h\", task = [\"1h\", \"2h\"] }\n";
    let (free, loaded) = (wait(site).unwrap(), wait(&format!("{site}{load}")).unwrap());
    assert!(free.as_f64() < loaded.as_f64(), "{free} {loaded}");
}
