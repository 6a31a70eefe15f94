//! Where to go after signing in: to a page of ours, and nowhere else.

/// The path if it is a plain one of our own, else the first page.
///
/// Browsers drop tabs and line breaks from addresses and read `\` as `/`, so that `/<tab>/evil` is
/// another host's. A plain path has nothing but visible ASCII, and no two slashes in a row.
pub(super) fn own(next: &str) -> &str {
    let path = next.split(['?', '#']).next().unwrap_or_default();
    let is_plain = next.bytes().all(|it| it.is_ascii_graphic() && it != b'\\');
    match is_plain && path.starts_with('/') && !path.contains("//") {
        true => next,
        false => "/",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_reader_is_sent_elsewhere() {
        for wrong in [
            "",
            "jobs",
            "//evil.example",
            "///evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/\\evil.example",
            "\\/evil.example",
            "/\t/evil.example",
            "\t//evil.example",
            "/\n/evil.example",
            "/\r/evil.example",
            "/\u{0}/evil.example",
            "/\u{b}/evil.example",
            "/\u{7f}/evil.example",
            "/\u{85}/evil.example",
            "/\u{a0}/evil.example",
            "/\u{2028}/evil.example",
            "/\u{202e}/evil.example",
            " /jobs",
            "/jobs /7",
            "/.//evil.example",
            "/jobs//evil.example",
        ] {
            assert_eq!(own(wrong), "/", "{wrong:?}");
        }
        for right in ["/", "/jobs/7?x=1", "/jobs?name=a//b&x=%09", "/#top"] {
            assert_eq!(own(right), right);
        }
    }
}
