//! Against folders that look like the kernel's: what is written where. That the kernel keeps limits
//! is not tested here.

use std::fs;

use super::*;

const SELF: &str = "4:memory:/x\n0::/system.slice/tradewind.service/daemon\n";

fn mounts(root: &str, mount: &str) -> String {
    format!(
        "30 25 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
         31 25 0:27 {root} {mount} rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
    )
}

/// A folder with these files of the kernel's.
fn folder(path: &Path, files: &[(&str, &str)]) -> PathBuf {
    fs::create_dir_all(path).unwrap();
    for (name, text) in files {
        fs::write(path.join(name), text).unwrap();
    }
    path.to_owned()
}

/// A delegated cgroup with both controllers, its leaf, and that of the site `a`, in which the kernel
/// makes the cgroup of a test.
fn delegated(mount: &Path, name: &str, site: &Path) -> PathBuf {
    let inner = [(PROCESSES, ""), ("cgroup.type", "domain\n"), (PASSED_ON, "")];
    let has = [(AVAILABLE, "cpuset cpu io memory pids\n")];
    let base = folder(&mount.join(name), &[&inner[..], &has].concat());
    fs::write(base.join("memory.max"), "8589934592\n").unwrap();
    folder(&base.join(LEAF), &inner);
    let own = base.join(super::name(site).unwrap());
    folder(&own, &[&inner[..], &has].concat());
    folder(&own.join(".probe"), &inner);
    base
}

fn text(path: PathBuf) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn the_own_cgroup_is_found() {
    let place = OwnCgroup::among(SELF, &mounts("/", "/sys/fs/cgroup")).unwrap();
    let own = Path::new("/sys/fs/cgroup/system.slice/tradewind.service/daemon");
    assert_eq!((place.mount.as_path(), place.own.as_path()), (Path::new("/sys/fs/cgroup"), own));
    assert_eq!(base(&place), own.parent().unwrap());
    // In a container that sees only a part of the tree.
    let place = OwnCgroup::among("0::/box/a\n", &mounts("/box", "/cg")).unwrap();
    assert_eq!(place.own, Path::new("/cg/a"));
    let place = OwnCgroup::among("0::/\n", &mounts("/", "/cg")).unwrap();
    assert_eq!((place.own.as_path(), base(&place)), (Path::new("/cg"), PathBuf::from("/cg")));
    for (own, mounts) in [
        ("1:cpu:/\n".to_owned(), mounts("/", "/cg")),
        (SELF.to_owned(), mounts("/other", "/cg")),
        ("0::/../a\n".to_owned(), mounts("/", "/cg")),
        (SELF.to_owned(), "31 25 0:27 / /proc rw - proc proc rw\n".to_owned()),
    ] {
        OwnCgroup::among(&own, &mounts).unwrap_err();
    }
}

#[test]
fn a_delegated_cgroup_passes_controllers_on() {
    let temp = tempfile::tempdir().unwrap();
    let site = folder(&temp.path().join("state/a"), &[]);
    let mount = folder(&temp.path().join("cgroup"), &[]);
    let base = delegated(&mount, "unit", &site);
    let place = OwnCgroup { mount: mount.clone(), own: base.clone() };
    let tree = Tree::open(&place, &site, Trust::Owner).unwrap();
    assert_eq!(text(base.join(LEAF).join(PROCESSES)), "0", "the daemon has moved");
    let passed = text(base.join(PASSED_ON));
    assert_eq!(passed, "+memory", "the last of both that were written");
    assert_eq!(text(tree.site.join(PASSED_ON)), "+memory");
    assert_eq!((tree.has, tree.lacks.clone()), (Controllers { cpu: true, memory: true }, None));
    assert_eq!(tree.memory, Some(8 << 30));
    // The next daemon begins in the leaf, or in the cgroup itself.
    let place = OwnCgroup { own: base.join(LEAF), ..place };
    assert_eq!(Tree::open(&place, &site, Trust::Owner).unwrap(), tree);
}

#[test]
fn limits_are_what_was_bought() {
    let temp = tempfile::tempdir().unwrap();
    let site = folder(&temp.path().join("state/a"), &[]);
    let mount = folder(&temp.path().join("cgroup"), &[]);
    let base = delegated(&mount, "unit", &site);
    let tree = Tree::open(&OwnCgroup { mount, own: base }, &site, Trust::Owner).unwrap();
    let limits = TaskLimits { processors: 1_500, memory: 3 << 30 };
    let cell = Cell::new(&tree, "tw-m-1-0-0", limits);
    let files = ["cpu.max", "memory.max", "memory.swap.max"];
    folder(&cell.folder, &files.map(|name| (name, "")));
    cell.make().unwrap();
    let said = files.map(|name| text(cell.folder.join(name)));
    assert_eq!(said, ["150000 100000", "3221225472", "0"]);
    // Too little for the kernel.
    let min = Cell::new(&tree, "b", TaskLimits { processors: 1, memory: 1 });
    assert!(min.limits.contains(&("cpu.max".to_owned(), "1000 100000".to_owned())));
    // A kernel without the file of a limit that must be kept.
    fs::remove_file(cell.folder.join("memory.max")).unwrap();
    let wrong = cell.make().unwrap_err().to_string();
    assert!(wrong.contains("memory.max"), "{wrong}");
}

#[test]
fn its_end_for_want_of_memory_is_seen() {
    let temp = tempfile::tempdir().unwrap();
    let cell = Cell {
        folder: folder(&temp.path().join("a"), &[("memory.events", "max 9\noom 1\noom_kill 0\n")]),
        mount: temp.path().to_owned(),
        limits: Vec::new(),
        is_required: false,
    };
    assert!(!cell.was_out_of_memory() && !cell.is_populated());
    folder(&cell.folder, &[("memory.events", "low 0\noom_kill 3\noom_group_kill 1\n")]);
    folder(&cell.folder, &[("cgroup.events", "populated 1\nfrozen 0\n")]);
    assert!(cell.was_out_of_memory() && cell.is_populated());
}

#[test]
fn what_was_not_delegated_is_left_alone() {
    let temp = tempfile::tempdir().unwrap();
    let site = folder(&temp.path().join("state/a"), &[]);
    let mount = folder(&temp.path().join("cgroup"), &[]);
    let base = delegated(&mount, "session.scope", &site);
    let place = OwnCgroup { mount: mount.clone(), own: base.clone() };
    if rustix::process::geteuid().is_root() {
        let why = Tree::open(&place, &site, Trust::Signs).unwrap_err();
        assert!(why.contains("is not delegated"), "{why}");
        assert_eq!(text(base.join(LEAF).join(PROCESSES)), "");
    }
    // A kernel without controllers: tasks have cgroups, and no limits.
    fs::write(base.join(AVAILABLE), "\n").unwrap();
    let tree = Tree::open(&place, &site, Trust::Owner).unwrap();
    assert_eq!(tree.has, Controllers::default());
    assert!(tree.lacks.as_ref().unwrap().contains("no controller `cpu`"), "{tree:?}");
    // A systemd that would not start the daemon again while jobs run.
    let base = delegated(&mount, "tradewind.service", &site);
    let place = OwnCgroup { mount, own: base.clone() };
    let tree = Tree::open(&place, &site, Trust::Owner).unwrap();
    assert!(tree.lacks.unwrap().contains("DelegateSubgroup"));
    assert_eq!(
        (text(base.join(PASSED_ON)), text(base.join(LEAF).join(PROCESSES))),
        Default::default()
    );
}
