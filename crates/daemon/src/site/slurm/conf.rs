//! Slurm's commands find their cluster by its configuration file.

/// What is to be done if they do not.
pub(super) const REMEDY: &str = "set SLURM_CONF in `environment` of the site to the cluster's own \
                                 slurm.conf, which the account that runs our commands must be able \
                                 to read";

/// Whether a complaint is that the file is not there, cannot be read, or is none.
pub(super) fn is_missing(complaint: &str) -> bool {
    const SIGNS: [&str; 6] = [
        "cannot stat file",
        "Unable to open config file",
        "Parse error in file",
        "Unable to process configuration file",
        "configuration source",
        "resolve_ctls_from_dns_srv",
    ];
    SIGNS.iter().any(|sign| complaint.contains(sign))
}

/// The complaint, with what is to be done if it is about the file.
pub(super) fn told(complaint: String) -> String {
    match is_missing(&complaint) {
        true => format!("{complaint}; {REMEDY}"),
        false => complaint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_the_file_has_a_remedy() {
        for said in [
            "scontrol: error: s_p_parse_file: cannot stat file /a/b: No such file or directory, \
             retrying in 1sec up to 60sec",
            "scontrol: error: Parse error in file /a/b line 1: \"x\"",
            "sinfo: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host",
        ] {
            assert_eq!(told(said.to_owned()), format!("{said}; {REMEDY}"));
        }
        let down = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)";
        assert_eq!(told(down.to_owned()), down);
    }
}
