//! The style sheets keep to one palette and two scales.

use std::collections::BTreeMap;

const SHEETS: [&str; 3] =
    [include_str!("base.css"), include_str!("timeline.css"), include_str!("styleguide.css")];

/// The colours of a block of the palette that begins so, by name: red, green, blue.
fn palette(begin: &str) -> BTreeMap<String, [u8; 3]> {
    let (_, rest) = SHEETS[0].split_once(begin).unwrap();
    let (block, _) = rest.split_once('}').unwrap();
    let colour = |line: &str| {
        let (name, value) = line.trim().strip_prefix("--")?.split_once(": #")?;
        let part = |at: usize| u8::from_str_radix(value.get(at..at + 2)?, 16).ok();
        Some((name.to_owned(), [part(0)?, part(2)?, part(4)?]))
    };
    block.split(';').filter_map(colour).collect()
}

/// As WCAG 2 defines it.
fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
    let light = |rgb: [u8; 3]| {
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        let [red, green, blue] = rgb.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    };
    let (high, low) = (light(one).max(light(other)), light(one).min(light(other)));
    (high + 0.05) / (low + 0.05)
}

#[test]
fn text_is_read_in_both_themes() {
    let light = palette("[data-theme=\"light\"] {");
    let dark = palette("[data-theme=\"dark\"] {");
    let auto = palette(":root:not([data-theme=\"light\"]) {");
    assert_eq!(dark, auto, "the system's dark theme is the chosen one");
    assert_eq!(light.keys().collect::<Vec<_>>(), dark.keys().collect::<Vec<_>>());
    let pairs = [
        ("ink", "paper"),
        ("ink", "panel"),
        ("ink", "bad-paper"),
        ("soft", "paper"),
        ("soft", "panel"),
        ("accent", "paper"),
        ("accent", "panel"),
        ("accent-ink", "accent"),
        ("bad", "paper"),
        ("bad", "panel"),
        ("bad", "bad-paper"),
        ("good", "paper"),
        ("good", "panel"),
        ("s4", "paper"),
        ("s5", "paper"),
        ("s6", "paper"),
        ("s7", "paper"),
    ];
    for (theme, colours) in [("light", &light), ("dark", &dark)] {
        for (text, paper) in pairs {
            let found = contrast(colours[text], colours[paper]);
            assert!(found >= 4.5, "{text} on {paper}, {theme}: {found:.2}");
        }
    }
}

/// The value of each declaration of a property whose name fits.
fn values(fits: impl Fn(&str) -> bool) -> Vec<String> {
    let all = SHEETS.iter().flat_map(|sheet| sheet.split(['{', '}', ';']));
    let declared = all.filter_map(|it| it.trim().split_once(':'));
    declared
        .filter(|(name, _)| fits(name.trim()))
        .map(|(_, value)| value.trim().to_owned())
        .collect()
}

#[test]
fn there_is_one_scale_of_type() {
    for size in values(|name| name == "font-size") {
        let is_of_scale =
            ["xs", "s", "m", "l", "xl"].iter().any(|it| size == format!("var(--{it})"));
        // Charts scale with their pictures.
        assert!(is_of_scale || size.ends_with("px"), "font-size: {size}");
    }
}

#[test]
fn there_is_one_scale_of_space() {
    let scale = [".125", ".25", ".375", ".5", ".75", "1", "1.5", "2"];
    let spaces = |name: &str| {
        name == "gap" || ["padding", "margin"].iter().any(|it| name.split('-').next() == Some(it))
    };
    for value in values(spaces) {
        let rems = value.split([' ', ',', '(', ')']).filter_map(|it| it.strip_suffix("rem"));
        for rem in rems {
            assert!(scale.contains(&rem.trim_start_matches('-')), "{value}");
        }
    }
}
