//! Shapes of moldable jobs as users write them: `64x1h,32x1:50,16x3:30`, or a range of widths with a
//! speed-up law: `16..64x2h,a=48,sigma=1`.

use tradewind_model::{JobShape, Request, Shapes, Span, SpeedUp};

use crate::diagnostics::excerpt;
use crate::duration;
use crate::fields::{DecimalScale, scaled};

/// What [`parse`] takes, for hints.
pub const FORMS: &str = "write `64x1h,32x1:50,16x3:30` (nodes x time), or `16..64x2h,a=48,sigma=1` \
                         (the time is that on the fewest nodes)";

/// What is wrong, and what to do about it.
pub type WrongShapes = (String, String);

/// Shapes from a text: at least one, and what [`Shapes::new`] takes. Times have a unit (`90s`, `15m`,
/// `24h`, `2d`) or are `HH:MM`, `HH:MM:SS` or `D-HH:MM:SS`; a bare number is refused, since commands
/// differ in what it counts. Of a range with Downey's law there are at most [`SpeedUp::WIDTHS`] widths.
///
/// # Errors
/// The first thing that is wrong.
pub fn parse(text: &str) -> Result<Vec<JobShape>, WrongShapes> {
    let parts = text.split(',').take(Shapes::MAX + 3).map(str::trim);
    let (laws, shapes): (Vec<&str>, Vec<&str>) = parts.partition(|part| part.contains('='));
    let found = match shapes[..] {
        [range] if range.contains("..") => of_range(range, &laws)?,
        _ => match laws.first() {
            Some(law) => {
                let message = format!("`{}` belongs to a range of nodes", excerpt(law));
                return Err((message, FORMS.to_owned()));
            }
            None => listed(text, &shapes)?,
        },
    };
    checked(found)
}

/// The shapes, if they are some.
///
/// # Errors
/// The first thing that is wrong.
pub fn checked(shapes: Vec<JobShape>) -> Result<Vec<JobShape>, WrongShapes> {
    match Shapes::new(&shapes) {
        Ok(_) => Ok(shapes),
        Err(wrong) => Err((wrong.to_string(), wrong.remedy().to_owned())),
    }
}

/// As [`parse`] reads them.
pub fn text(shapes: &[JobShape]) -> String {
    let each = shapes.iter().map(|shape| format!("{}x{}s", shape.nodes, shape.time.0));
    each.collect::<Vec<_>>().join(",")
}

fn listed(text: &str, parts: &[&str]) -> Result<Vec<JobShape>, WrongShapes> {
    let count = text.split(',').take(1_000_000).count();
    if count > Shapes::MAX {
        return checked(vec![JobShape { nodes: 1, time: Span(1) }; count]);
    }
    if text.trim().is_empty() {
        return checked(Vec::new());
    }
    parts.iter().map(|part| one(part)).collect()
}

/// One of a list: `64x1h`.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn one(part: &str) -> Result<JobShape, WrongShapes> {
    let (width, length) = halves(part)?;
    Ok(JobShape { nodes: nodes(width)?, time: time(length)? })
}

/// What stands before and after the `x`.
fn halves(part: &str) -> Result<(&str, &str), WrongShapes> {
    let wrong = || (format!("`{}` is no shape", excerpt(part)), FORMS.to_owned());
    let (width, length) = part.split_once(['x', 'X']).ok_or_else(wrong)?;
    Ok((width.trim(), length.trim()))
}

fn nodes(text: &str) -> Result<u32, WrongShapes> {
    let number = Some(text).filter(|it| !it.is_empty() && it.bytes().all(|c| c.is_ascii_digit()));
    let number = number.map(|it| it.parse().unwrap_or(u32::MAX));
    let number = number.filter(|count| (1..=Request::MAX_TASKS).contains(count));
    number.ok_or_else(|| {
        let message = format!("`{}` is no number of nodes", excerpt(text));
        (message, format!("from 1 to {} are possible", Request::MAX_TASKS))
    })
}

fn time(text: &str) -> Result<Span, WrongShapes> {
    if !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit()) {
        let message = format!("`{}` is a time without a unit", excerpt(text));
        return Err((
            message,
            format!("write `{0}m` for minutes, `{0}h` for hours", excerpt(text)),
        ));
    }
    // Hours and minutes.
    let short = text.matches(':').count() == 1 && !text.contains('-');
    let whole = if short { format!("{text}:00") } else { text.to_owned() };
    let span = duration::parse_span(&whole).ok().filter(|span| *span >= Span(1));
    span.ok_or_else(|| {
        let message = format!("`{}` is no time of a shape", excerpt(text));
        let hint = "write `90s`, `15m`, `24h`, `2d`, `HH:MM`, `HH:MM:SS` or `D-HH:MM:SS`";
        (message, hint.to_owned())
    })
}

fn of_range(range: &str, laws: &[&str]) -> Result<Vec<JobShape>, WrongShapes> {
    let (widths, length) = halves(range)?;
    let (least, most) = widths.split_once("..").unwrap_or((widths, widths));
    let (least, most) = (nodes(least.trim())?, nodes(most.trim())?);
    if least > most {
        let message = format!("`{}` begins with the larger number", excerpt(widths));
        return Err((message, FORMS.to_owned()));
    }
    let mut numbers = [None, None];
    for law in laws {
        let (key, value) = law.split_once('=').unwrap_or((law, ""));
        let (at, range) = match key.trim().to_ascii_lowercase().as_str() {
            "a" => (0, 1_000..=SpeedUp::MAX_PARALLELISM as i64),
            "sigma" => (1, 0..=SpeedUp::MAX_VARIANCE as i64),
            _ => {
                let message = format!("`{}` is no part of a speed-up law", excerpt(key));
                return Err((message, "`a` and `sigma` are".to_owned()));
            }
        };
        let number = scaled(value.trim(), &DecimalScale { decimals: 3, range });
        let number = number.map_err(|(message, hint)| (format!("{key}: {message}"), hint))?;
        if numbers[at].replace(number).is_some() {
            return Err((format!("`{}` is given twice", excerpt(key)), FORMS.to_owned()));
        }
    }
    let [Some(a), Some(sigma)] = numbers else {
        let missing = if numbers[0].is_none() { "a" } else { "sigma" };
        let message = format!("a range of nodes needs `{missing}`");
        let hint = "`a` is the average parallelism and `sigma` its variation (Downey, 1997), as in \
                    `16..64x2h,a=48,sigma=1`";
        return Err((message, hint.to_owned()));
    };
    let law = SpeedUp::new(a.unsigned_abs(), sigma.unsigned_abs());
    let law = law.ok_or_else(|| ("no such speed-up law".to_owned(), FORMS.to_owned()))?;
    let known = JobShape { nodes: least, time: time(length)? };
    Ok(law.shapes(&SpeedUp::widths(least, most), known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let shapes = |text: &str| {
            let all = parse(text).unwrap();
            all.iter().map(|it| (it.nodes, it.time.0)).collect::<Vec<_>>()
        };
        let listed = [(64, 3_600), (32, 6_600), (16, 12_600)];
        assert_eq!(shapes("64x1h,32x1:50,16x3:30"), listed);
        assert_eq!(shapes(" 64 x 01:00:00 , 32X110m, 16x0-03:30:00"), listed);
        assert_eq!(shapes("4x90s"), [(4, 90)]);
        let range = shapes("16..64x2h,a=48,sigma=0.5");
        assert_eq!((range[0], range.len()), ((16, 7_200), 8));
        assert!(range.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1));
        assert_eq!(shapes("2..4x1h,sigma=0,a=3"), [(2, 3_600), (3, 2_400)], "4 are no quicker");
        let all = parse(&text(&parse("64x1h,32x1:50").unwrap())).unwrap();
        assert_eq!(all, parse("64x1h,32x1:50").unwrap());
    }

    #[test]
    fn what_is_wrong_is_said_once_with_a_remedy() {
        for (given, message) in [
            ("", "no shape"),
            (",", "`` is no shape"),
            ("64", "`64` is no shape"),
            ("0x1h", "`0` is no number of nodes"),
            ("-2x1h", "`-2` is no number of nodes"),
            ("99999999999x1h", "`99999999999` is no number of nodes"),
            ("4x60", "`60` is a time without a unit"),
            ("4x0s", "`0s` is no time of a shape"),
            ("4x99999999999999999d", "`99999999999999999d` is no time of a shape"),
            ("4x", "`` is no time of a shape"),
            ("4x1h,4x2h", "two shapes of 4 nodes"),
            ("4x1h,8x2h", "8 nodes for 7200 s are never better than 4 nodes for 3600 s"),
            ("64x1h,a=3", "`a=3` belongs to a range of nodes"),
            ("16..64x2h", "a range of nodes needs `a`"),
            ("16..64x2h,a=3", "a range of nodes needs `sigma`"),
            ("64..16x2h,a=3,sigma=1", "`64..16` begins with the larger number"),
            ("16..64x2h,a=0.5,sigma=1", "a: `0.5` is out of range"),
            ("16..64x2h,a=3,b=1", "`b` is no part of a speed-up law"),
            ("16..64x2h,a=3,a=4,sigma=1", "`a` is given twice"),
        ] {
            let (said, hint) = parse(given).unwrap_err();
            assert!(said.starts_with(message), "`{given}`: {said}");
            assert!(!hint.is_empty(), "`{given}`");
        }
        let many = vec!["4x1h"; 100_000].join(",");
        assert_eq!(parse(&many).unwrap_err().0, "100000 shapes, at most 32 are possible");
    }
}
