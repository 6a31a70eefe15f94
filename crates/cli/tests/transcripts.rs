//! Whole sessions: what is typed, what is printed, with which exit code. `TRYCMD=overwrite`
//! rewrites them from what the program does now.

#[test]
fn transcripts() {
    trycmd::TestCases::new()
        .env("LC_ALL", "C.UTF-8")
        .env("NO_COLOR", "1")
        // No market of the person who runs the tests is asked.
        .env("XDG_STATE_HOME", "nowhere")
        .case("tests/cmd/*.trycmd");
}
