use super::*;
use crate::chart::{Comparison, Measure};

fn estimate(mean: f64) -> Option<Estimate> {
    Some(Estimate { mean, interval: None })
}

fn picture() -> ReportPicture {
    let measure = Measure {
        name: "wait".to_owned(),
        unit: Unit::Seconds,
        better: Better::Lower,
        values: vec![estimate(1.0), estimate(2.0)],
        best: vec![true, false],
    };
    let comparison = Comparison {
        title: "Policies".to_owned(),
        policies: vec!["easy".to_owned(), "fcfs".to_owned()],
        groups: Vec::new(),
        verdict: "the best is bold".to_owned(),
        measures: vec![measure],
    };
    ReportPicture {
        picture: Picture::Comparison(comparison),
        caption: "All <of> them".to_owned(),
        files: vec![FileLink { name: "SVG".to_owned(), path: "comparison.svg".to_owned() }],
    }
}

fn report() -> CampaignReport {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let measure = |name: &str, unit, better| ReportMeasure { name: name.to_owned(), unit, better };
    let row = |policy: &str, load: &str, wait: f64, used: Option<Estimate>| ReportRow {
        place: vec![policy.to_owned(), load.to_owned()],
        values: vec![estimate(wait), used],
        best: vec![wait == 10.0, false],
    };
    CampaignReport {
        title: "Two <b>policies</b> & a \"log\"".to_owned(),
        version: "tradewind 0.1.0".to_owned(),
        command: "tradewind simulate 'a b.swf' --policy easy,fcfs <&>".to_owned(),
        settings: vec![pair("semantics", "textbook"), pair("<script>", "</script>")],
        workloads: vec![WorkloadReport {
            name: "a b.swf".to_owned(),
            facts: vec![pair("jobs", "28,475")],
            notes: vec!["1 job can never run: no run time".to_owned()],
        }],
        axes: vec!["policy".to_owned(), "load".to_owned()],
        measures: vec![
            measure("mean wait", Unit::Seconds, Better::Lower),
            measure("utilisation", Unit::Share, Better::Higher),
        ],
        rows: vec![
            row("easy", "0.7", 10.0, estimate(0.5)),
            row("easy", "0.9", 400.0, estimate(0.9)),
            row("fcfs", "0.7", 90.0, estimate(0.5)),
            row("fcfs", "0.9", 350.0, None),
        ],
        verdicts: vec!["Marked: what is <surely> best.".to_owned()],
        tables: vec![ReportTable {
            title: "Differences".to_owned(),
            note: "In pairs.".to_owned(),
            heads: vec!["measure".to_owned(), "by".to_owned()],
            rows: vec![vec!["mean wait".to_owned(), "-12 % <b>".to_owned()]],
        }],
        pictures: vec![picture()],
        runs: vec![RunReport {
            name: "easy[order=shortest]".to_owned(),
            pictures: vec![DrawnPicture {
                svg: "<svg><text>100 % \"é\" #1</text></svg>\n".to_owned(),
                caption: "Who ran where".to_owned(),
                files: Vec::new(),
            }],
            files: vec![FileLink {
                name: "jobs.csv".to_owned(),
                path: "easy[order=shortest]/a?b#c/jobs.csv".to_owned(),
            }],
            ..RunReport::default()
        }],
        files: vec![FileLink { name: "x".to_owned(), path: "javascript:alert(1)".to_owned() }],
    }
}

#[test]
fn all_text_is_escaped() {
    let page = campaign(&report());
    for raw in ["<b>policies", "<&>", "<of>", "</script></dd>", "<dt><script>"] {
        assert!(!page.contains(raw), "{raw}");
    }
    assert!(page.contains("Two &#60;b&#62;policies") || page.contains("Two &lt;b&gt;policies"));
    assert_eq!(page.matches("<script>").count(), 1);
}

#[test]
fn links_are_relative_addresses() {
    let page = campaign(&report());
    assert!(page.contains("href=\"./easy%5Border%3Dshortest%5D/a%3Fb%23c/jobs.csv\""));
    assert!(page.contains("href=\"./javascript%3Aalert%281%29\""));
}

#[test]
fn nothing_comes_from_elsewhere() {
    let page = campaign(&report());
    let namespace = "http://www.w3.org/2000/svg";
    let page = page.replace(namespace, "");
    assert!(!page.contains("http:") && !page.contains("https:"));
    let drawn = page.matches("src=\"data:image/svg+xml,").count();
    assert_eq!((page.matches("src=").count(), drawn), (1, 1));
    assert!(!page.contains("@import"));
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn what_is_said_to_be_best_is_marked_and_nothing_else() {
    let page = campaign(&report());
    let best: Vec<&str> = page
        .lines()
        .filter(|line| line.contains("number best"))
        .filter_map(|line| line.split("data-key=\"").nth(1)?.split('"').next())
        .collect();
    assert_eq!(best, ["10.0"], "the lowest at load 0.9 is not said to be the best");
    let mut unsure = report();
    unsure.rows.iter_mut().for_each(|row| row.best.clear());
    assert!(!campaign(&unsure).contains("number best"));
}

#[test]
fn verdicts_and_further_tables_are_on_the_page() {
    let page = campaign(&report());
    assert!(page.contains("&#60;surely&#62; best.") || page.contains("&lt;surely&gt; best."));
    assert!(page.contains("<h2>Differences</h2>") && page.contains("In pairs."));
    assert!(page.contains("<td>mean wait</td>") && !page.contains("-12 % <b>"));
}

#[test]
fn a_drawing_is_whole_inside_its_address() {
    let page = campaign(&report());
    let address = page.split("src=\"data:image/svg+xml,").nth(1).unwrap();
    let address = address.split('"').next().unwrap();
    let text = "%3Csvg%3E%3Ctext%3E100 %25 %22%C3%A9%22 %231%3C/text%3E%3C/svg%3E%0A";
    assert_eq!(address, text);
}

#[test]
fn names_inside_pictures_are_of_one_picture() {
    let page = campaign(&report());
    assert_eq!(page.matches("id=\"p1-hatch\"").count(), 1);
    assert_eq!(page.matches("<style>").count(), 1);
    assert_eq!(page.matches("<details>").count(), 1);
}

#[test]
fn every_tag_is_closed() {
    let page = campaign(&report());
    for tag in [
        "table", "tr", "td", "th", "dl", "div", "figure", "details", "svg", "g", "ul", "a", "main",
        "section",
    ] {
        let opened =
            page.matches(&format!("<{tag} ")).count() + page.matches(&format!("<{tag}>")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

#[test]
fn an_empty_campaign_has_a_page() {
    let page = campaign(&CampaignReport::default());
    assert!(page.contains("Nothing ran.") && page.ends_with("</html>\n"), "{page}");
    assert_eq!(page, campaign(&CampaignReport::default()));
}
