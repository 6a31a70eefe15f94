//! The figures and the text of papers 001 and 002.

use super::cycles::CYCLES;
use super::{claims, example, figures, gains, published, whole_study};
use crate::case::Case;
use crate::findings::{Findings, Number, Published};
use crate::study::Study;
use crate::tally::Tally;

/// Of both papers.
pub(in crate::papers) static ALL: [&Study; 13] = [
    &example::OF_001,
    &FIG4,
    &FIG5,
    &FIG6,
    &TEXT,
    &whole_study::WHOLE,
    &example::OF_002,
    &FIG12,
    &FIG13,
    &FIG14,
    &FIG15,
    &FIG16,
    &TEXT_002,
];

static FIG4: Study = Study {
    id: "001-fig4",
    title: "Least time: mean time and cost of a job with ALP and AMP",
    experiment: &CYCLES,
    findings: fig4,
};

fn fig4(_: &Case, tally: &Tally) -> Findings {
    static NUMBERS: [Published; 6] = [
        published::least_time_alp_time("figure 4 (a)"),
        published::least_time_amp_time("figure 4 (a)"),
        published::percent_faster("section 5"),
        published::least_time_alp_cost("figure 4 (b)"),
        published::least_time_amp_cost("figure 4 (b)"),
        published::percent_dearer("section 5"),
    ];
    of_a_figure(FIG4.title, &NUMBERS, tally)
}

static FIG5: Study = Study {
    id: "001-fig5",
    title: "Least time: the first 300 counted experiments one by one",
    experiment: &CYCLES,
    findings: single_experiments,
};

fn single_experiments(_: &Case, tally: &Tally) -> Findings {
    let figure = Some(figures::experiments(FIG5.title, tally));
    Findings { claims: claims::of_single_experiments(tally), figure, ..Findings::default() }
}

static FIG6: Study = Study {
    id: "001-fig6",
    title: "Least cost: mean cost and time of a job with ALP and AMP",
    experiment: &CYCLES,
    findings: fig6,
};

fn fig6(_: &Case, tally: &Tally) -> Findings {
    static NUMBERS: [Published; 6] = [
        published::least_cost_alp_cost("figure 6 (a)"),
        published::least_cost_amp_cost("figure 6 (a)"),
        published::percent_cheaper("section 5"),
        published::least_cost_alp_time("figure 6 (b)"),
        published::least_cost_amp_time("figure 6 (b)"),
        published::percent_faster_at_least_cost("section 5"),
    ];
    of_a_figure(FIG6.title, &NUMBERS, tally)
}

static TEXT: Study = Study {
    id: "001-text",
    title: "Alternatives, counts and claims of the text; what exact searches add",
    experiment: &CYCLES,
    findings: text,
};

fn text(_: &Case, tally: &Tally) -> Findings {
    static NUMBERS: [Published; 11] = published::of_the_text("section 5");
    Findings {
        numbers: numbers(&NUMBERS, tally),
        claims: claims::of_the_text(tally),
        gains: gains::all(tally),
        notes: gains::notes(tally),
        ..Findings::default()
    }
}

static FIG12: Study = Study {
    id: "002-fig12",
    title: "Least time: mean time of a job with ALP and AMP",
    experiment: &CYCLES,
    findings: fig12,
};

fn fig12(_: &Case, tally: &Tally) -> Findings {
    static NUMBERS: [Published; 3] = [
        published::least_time_alp_time("figure 12"),
        published::least_time_amp_time("figure 12"),
        published::percent_faster("section 5"),
    ];
    of_a_figure(FIG12.title, &NUMBERS, tally)
}

static FIG13: Study = Study {
    id: "002-fig13",
    title: "Least time: mean cost of a job with ALP and AMP",
    experiment: &CYCLES,
    findings: fig13,
};

fn fig13(_: &Case, tally: &Tally) -> Findings {
    static NUMBERS: [Published; 3] = [
        published::least_time_alp_cost("figure 13"),
        published::least_time_amp_cost("figure 13"),
        published::percent_dearer("section 5"),
    ];
    of_a_figure(FIG13.title, &NUMBERS, tally)
}

static FIG14: Study = Study {
    id: "002-fig14",
    title: "Least time: the first 300 counted experiments one by one",
    experiment: &CYCLES,
    findings: single_experiments,
};

static FIG15: Study = Study {
    id: "002-fig15",
    title: "Least cost: mean cost of a job with ALP and AMP",
    experiment: &CYCLES,
    findings: fig15,
};

fn fig15(_: &Case, tally: &Tally) -> Findings {
    static NUMBERS: [Published; 3] = [
        published::least_cost_alp_cost("figure 15"),
        published::least_cost_amp_cost("figure 15"),
        published::percent_cheaper("section 5"),
    ];
    of_a_figure(FIG15.title, &NUMBERS, tally)
}

static FIG16: Study = Study {
    id: "002-fig16",
    title: "Least cost: mean time of a job with ALP and AMP",
    experiment: &CYCLES,
    findings: fig16,
};

fn fig16(_: &Case, tally: &Tally) -> Findings {
    static NUMBERS: [Published; 3] = [
        published::least_cost_alp_time("figure 16"),
        published::least_cost_amp_time("figure 16"),
        published::percent_faster_at_least_cost("section 5"),
    ];
    of_a_figure(FIG16.title, &NUMBERS, tally)
}

static TEXT_002: Study = Study {
    id: "002-text",
    title: "Alternatives, counts and claims of the text",
    experiment: &CYCLES,
    findings: text_002,
};

fn text_002(_: &Case, tally: &Tally) -> Findings {
    static NUMBERS: [Published; 11] = published::of_the_text("section 5");
    let claims = claims::of_the_text(tally);
    Findings { numbers: numbers(&NUMBERS, tally), claims, ..Findings::default() }
}

fn of_a_figure(title: &str, published: &'static [Published], tally: &Tally) -> Findings {
    let numbers = numbers(published, tally);
    let figure = Some(figures::bars(title, &numbers));
    Findings { numbers, figure, ..Findings::default() }
}

fn numbers(published: &'static [Published], tally: &Tally) -> Vec<Number> {
    published.iter().map(|one| one.against(tally)).collect()
}
