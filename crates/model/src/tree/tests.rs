use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone, Copy, PartialEq)]
struct Entry {
    key: i32,
    value: i32,
}

impl Item for Entry {
    type Key = i32;
    /// Number of items and the minimum value: does not commute with anything wrong.
    type Sum = (usize, i32);

    fn key(&self) -> i32 {
        self.key
    }

    fn sum(&self) -> (usize, i32) {
        (1, self.value)
    }

    fn join(first: (usize, i32), second: (usize, i32)) -> (usize, i32) {
        (first.0 + second.0, first.1.min(second.1))
    }
}

/// Finds the first entry after a key with a value of at most so much; counts what it looks at.
struct Find {
    after: i32,
    max: i32,
    found: Option<Entry>,
    looks: usize,
}

impl Scan<Entry> for Find {
    fn part(&mut self, last: i32, sum: (usize, i32)) -> Visit {
        match last <= self.after || sum.1 > self.max {
            true => Visit::Over,
            false => Visit::Into,
        }
    }

    fn item(&mut self, item: &Entry) -> Visit {
        self.looks += 1;
        if item.key <= self.after || item.value > self.max {
            return Visit::Over;
        }
        self.found = Some(*item);
        Visit::Stop
    }
}

#[derive(Default)]
struct All(Vec<Entry>);

impl Scan<Entry> for All {
    fn part(&mut self, _: i32, _: (usize, i32)) -> Visit {
        Visit::Into
    }

    fn item(&mut self, item: &Entry) -> Visit {
        self.0.push(*item);
        Visit::Into
    }
}

/// Sizes and sums are what they should be; returns the depth.
fn sound(node: &TreeNode<Entry>, root: bool) -> usize {
    assert!(node.len() <= node.capacity() && (root || node.len() > 0));
    let TreeNode::Branch(children) = node else { return 1 };
    let depths: Vec<usize> = children.iter().map(|child| sound(&child.node, false)).collect();
    for child in children {
        assert_eq!((Some(child.last), Some(child.sum)), (child.node.last(), child.node.sum()));
    }
    assert!(depths.windows(2).all(|pair| pair[0] == pair[1]));
    depths[0] + 1
}

proptest! {
    #[test]
    fn holds_what_a_map_holds(
        edits in prop::collection::vec((0i32..60, prop::option::of(0i32..100)), 0..300),
        after in -1i32..60, max in 0i32..100,
    ) {
        let (mut tree, mut map) = (Tree::default(), BTreeMap::new());
        for (key, value) in edits {
            tree.edit(key, |there: Option<Entry>| {
                assert_eq!(there.map(|it| it.value), map.get(&key).copied());
                value.map(|value| Entry { key, value })
            });
            match value {
                Some(value) => map.insert(key, value),
                None => map.remove(&key),
            };
            sound(&tree.root, true);
        }
        let entries: Vec<Entry> = map.iter().map(|(&key, &value)| Entry { key, value }).collect();
        let (mut all, mut back) = (All::default(), All::default());
        tree.scan(&mut all);
        tree.scan_back(&mut back);
        back.0.reverse();
        prop_assert_eq!(&all.0, &entries);
        prop_assert_eq!(&back.0, &entries);
        prop_assert_eq!((tree.len(), tree.first()), (entries.len(), entries.first()));
        let min = entries.iter().map(|it| it.value).min();
        prop_assert_eq!(tree.sum(), min.map(|min| (entries.len(), min)));
        let mut find = Find { after, max, found: None, looks: 0 };
        tree.scan(&mut find);
        let expected = entries.iter().find(|it| it.key > after && it.value <= max);
        prop_assert_eq!(find.found.as_ref(), expected);
    }
}

#[test]
fn a_scan_looks_at_a_leaf_or_two_and_removal_leaves_no_crumbs() {
    let mut tree = Tree::default();
    for key in 0..10_000 {
        tree.edit(key, |_| Some(Entry { key, value: 10_000 - key }));
    }
    let mut find = Find { after: 17, max: 3, found: None, looks: 0 };
    tree.scan(&mut find);
    assert_eq!(find.found.map(|it| it.key), Some(9_997));
    assert!(find.looks <= 2 * LEAF, "{} looks", find.looks);
    for key in (0..10_000).filter(|key| key % 50 != 0) {
        tree.edit(key, |_| None);
    }
    assert_eq!(tree.len(), 200);
    let (before, after) = (12, sound(&tree.root, true));
    assert!(after < before, "{after} levels");
}
