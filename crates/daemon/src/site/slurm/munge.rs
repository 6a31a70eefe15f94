//! Slurm's commands sign their requests by munge, whose daemon may be missing.

/// What is to be done then.
pub(super) const REMEDY: &str = "start munged on the machine that runs Slurm's commands, with the \
                                 cluster's key in /etc/munge/munge.key (`systemctl start munge`)";

/// Whether a complaint is that munge's daemon does not answer.
pub(super) fn is_missing(complaint: &str) -> bool {
    const SIGNS: [&str; 3] = ["munge.socket", "If munged is up", "auth/munge"];
    SIGNS.iter().any(|sign| complaint.contains(sign))
}

/// Of several lines of a complaint the one that says most: munge's advice comes first and names no
/// cause, the socket that is missing comes second.
pub(in crate::site) fn telling<'l>(lines: impl IntoIterator<Item = &'l str>) -> Option<&'l str> {
    let is_advice = |line: &str| line.contains("If munged is up, restart with");
    let all: Vec<&str> = lines.into_iter().collect();
    all.iter().copied().find(|line| !is_advice(line)).or(all.first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_with_the_cause_is_shown() {
        let said = [
            "sinfo: error: If munged is up, restart with --num-threads=10",
            "sinfo: error: Munge encode failed: Failed to access \"/run/munge/munge.socket.2\": No such file or directory",
            "sinfo: error: slurm_buffers_pack_msg: auth_g_create: REQUEST_NODE_INFO has authentication error",
        ];
        let line = telling(said).unwrap();
        assert!(line.contains("munge.socket.2") && is_missing(line));
        assert_eq!(telling([said[0]]), Some(said[0]));
        assert!(!is_missing("Unable to contact slurm controller (connect failure)"));
    }
}
