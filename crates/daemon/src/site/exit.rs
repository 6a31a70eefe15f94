//! Waiting for a child process until a deadline.

use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks, at first and at most: most children end at once, others take seconds.
const FIRST: Duration = Duration::from_micros(200);
const LONGEST: Duration = Duration::from_millis(10);

/// How the child ended; `None`: it has not by then, or cannot be waited for.
pub fn wait_until(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    let mut pause = FIRST;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => thread::sleep(pause),
            Ok(None) | Err(_) => return None,
        }
        pause = (pause * 2).min(LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_child_is_waited_for_until_the_deadline() {
        let mut quick = Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
        let status = wait_until(&mut quick, Instant::now() + Duration::from_secs(60));
        assert_eq!(status.and_then(|status| status.code()), Some(3));
        let mut slow = Command::new("sleep").arg("60").spawn().unwrap();
        let deadline = Instant::now() + Duration::from_millis(50);
        assert_eq!(wait_until(&mut slow, deadline), None);
        assert!(Instant::now() >= deadline);
        slow.kill().unwrap();
        slow.wait().unwrap();
    }
}
