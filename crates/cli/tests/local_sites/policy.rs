//! Which policy decides after a restart.

use std::fs;
use std::process::{Command, Stdio};

use crate::market::{Market, PROGRAM, SITE, until};

#[test]
fn a_policy_of_the_configuration_that_does_not_decide_is_named() {
    let mut market = Market::start(tempfile::tempdir().unwrap(), SITE);
    market.stop();
    let folder = market.folder.path();
    let (config, told) = (folder.join("tradewind.toml"), folder.join("told"));
    fs::write(&config, format!("market.policy = 'multi-queue'\n{SITE}")).unwrap();
    let mut up = Command::new(PROGRAM);
    up.args(["up", "--listen", "127.0.0.1:0", "--config"]).arg(&config);
    up.arg("--state").arg(market.state()).stdout(Stdio::null());
    let mut daemon = up.stderr(fs::File::create(&told).unwrap()).spawn().unwrap();
    let said = "the policy `easy` decides, and not `multi-queue` of the configuration";
    until("it is said", || fs::read_to_string(&told).unwrap().contains(said));
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}
