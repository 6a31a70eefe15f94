//! An ordered sequence that knows a summary of each of its parts.
//!
//! A B-tree: items lie in leaves, every branch keeps the last key and the sum of each child.
//! While all items fit into one leaf, it is a small sorted vector. Changes are logarithmic in
//! the number of items; a [`Scan`] reads the items in order and passes over every part whose sum
//! says that there is nothing to find.

use std::fmt::Debug;

/// What a [`Tree`] holds.
pub trait Item: Copy + Debug {
    /// Items are ordered by it, and no two in a tree have the same.
    type Key: Copy + Ord + Debug;
    /// What a run of items amounts to.
    type Sum: Copy + Debug;

    /// The item's place in the order.
    fn key(&self) -> Self::Key;

    /// The sum of this item alone.
    fn sum(&self) -> Self::Sum;

    /// The sum of two runs, one right after the other.
    fn join(first: Self::Sum, second: Self::Sum) -> Self::Sum;
}

/// What to do with a part of the sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    /// Pass over it.
    Over,
    /// Look into it.
    Into,
    /// Look at nothing more.
    Stop,
}

/// A reader of items in order.
pub trait Scan<T: Item> {
    /// Whether to look into items of which the last key and the sum are known. An answer of
    /// [`Visit::Over`] is the reader's only chance to take the sum into account.
    fn part(&mut self, last: T::Key, sum: T::Sum) -> Visit;

    /// Looks at one item; [`Visit::Stop`] ends the scan, anything else goes on.
    fn item(&mut self, item: &T) -> Visit;
}

/// Most items in a leaf. In this crate's tests trees are deep long before they are large.
const LEAF: usize = if cfg!(test) { 4 } else { 16 };
/// Most children of a branch.
const FAN: usize = if cfg!(test) { 4 } else { 16 };

/// An ordered sequence of items with summaries.
#[derive(Debug, Clone)]
pub struct Tree<T: Item> {
    root: TreeNode<T>,
    len: usize,
}

#[derive(Debug, Clone)]
enum TreeNode<T: Item> {
    Leaf(Vec<T>),
    Branch(Vec<Child<T>>),
}

/// A node that is not empty.
#[derive(Debug, Clone)]
struct Child<T: Item> {
    last: T::Key,
    sum: T::Sum,
    node: TreeNode<T>,
}

impl<T: Item> Default for Tree<T> {
    fn default() -> Tree<T> {
        Tree { root: TreeNode::Leaf(Vec::new()), len: 0 }
    }
}

impl<T: Item> Tree<T> {
    /// Number of items.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The sum of all items; `None` without any. Constant time for all but the root's children.
    pub fn sum(&self) -> Option<T::Sum> {
        self.root.sum()
    }

    /// The first item.
    pub fn first(&self) -> Option<&T> {
        let mut node = &self.root;
        loop {
            match node {
                TreeNode::Leaf(items) => return items.first(),
                TreeNode::Branch(children) => node = &children.first()?.node,
            }
        }
    }

    /// Puts what `change` makes of the item with this key, `None` for no item, in its place.
    pub fn edit(&mut self, key: T::Key, change: impl FnOnce(Option<T>) -> Option<T>) {
        let mut grown = 0;
        let split = self.root.edit(key, change, &mut grown);
        self.len = self.len.wrapping_add_signed(grown);
        if let Some(right) = split {
            let left = std::mem::replace(&mut self.root, TreeNode::Leaf(Vec::new()));
            let children = Child::new(left).into_iter().chain([right]).collect();
            self.root = TreeNode::Branch(children);
        }
        while let TreeNode::Branch(children) = &mut self.root
            && children.len() <= 1
        {
            self.root = children.pop().map_or(TreeNode::Leaf(Vec::new()), |child| child.node);
        }
    }

    /// Reads the items in order.
    pub fn scan(&self, reader: &mut impl Scan<T>) {
        self.root.scan(reader);
    }

    /// Reads the items from the last to the first.
    pub fn scan_back(&self, reader: &mut impl Scan<T>) {
        self.root.scan_back(reader);
    }
}

impl<T: Item> Child<T> {
    fn new(node: TreeNode<T>) -> Option<Child<T>> {
        Some(Child { last: node.last()?, sum: node.sum()?, node })
    }

    /// Brings key and sum up to date; `false` if nothing is left.
    fn refresh(&mut self) -> bool {
        let (Some(last), Some(sum)) = (self.node.last(), self.node.sum()) else { return false };
        (self.last, self.sum) = (last, sum);
        true
    }
}

impl<T: Item> TreeNode<T> {
    fn last(&self) -> Option<T::Key> {
        match self {
            TreeNode::Leaf(items) => items.last().map(T::key),
            TreeNode::Branch(children) => children.last().map(|child| child.last),
        }
    }

    fn sum(&self) -> Option<T::Sum> {
        match self {
            TreeNode::Leaf(items) => items.iter().map(T::sum).reduce(T::join),
            TreeNode::Branch(children) => children.iter().map(|child| child.sum).reduce(T::join),
        }
    }

    /// Items or children.
    fn len(&self) -> usize {
        match self {
            TreeNode::Leaf(items) => items.len(),
            TreeNode::Branch(children) => children.len(),
        }
    }

    fn capacity(&self) -> usize {
        match self {
            TreeNode::Leaf(_) => LEAF,
            TreeNode::Branch(_) => FAN,
        }
    }

    /// Returns the right half, if the node became too large.
    fn edit(
        &mut self,
        key: T::Key,
        change: impl FnOnce(Option<T>) -> Option<T>,
        grown: &mut isize,
    ) -> Option<Child<T>> {
        match self {
            TreeNode::Leaf(items) => {
                *grown = edit_leaf(items, key, change);
            }
            TreeNode::Branch(children) => {
                let found = children.partition_point(|child| child.last < key);
                let at = found.min(children.len().saturating_sub(1));
                let child = children.get_mut(at)?;
                let split = child.node.edit(key, change, grown);
                let filled = child.refresh();
                match split {
                    Some(right) => children.insert(at + 1, right),
                    None if !filled => {
                        children.remove(at);
                    }
                    None if *grown < 0 => merge(children, at),
                    None => {}
                }
            }
        }
        if self.len() <= self.capacity() { None } else { self.split() }
    }

    /// Cuts a node of two or more in two; returns the right half.
    fn split(&mut self) -> Option<Child<T>> {
        let half = self.len() / 2;
        Child::new(match self {
            TreeNode::Leaf(items) => TreeNode::Leaf(items.split_off(half)),
            TreeNode::Branch(children) => TreeNode::Branch(children.split_off(half)),
        })
    }

    fn scan(&self, reader: &mut impl Scan<T>) -> Visit {
        match self {
            TreeNode::Leaf(items) => visit_items(items.iter(), reader),
            TreeNode::Branch(children) => visit_children(children.iter(), reader, TreeNode::scan),
        }
    }

    fn scan_back(&self, reader: &mut impl Scan<T>) -> Visit {
        match self {
            TreeNode::Leaf(items) => visit_items(items.iter().rev(), reader),
            TreeNode::Branch(children) => {
                visit_children(children.iter().rev(), reader, TreeNode::scan_back)
            }
        }
    }
}

/// By how much the leaf grew.
fn edit_leaf<T: Item>(
    items: &mut Vec<T>,
    key: T::Key,
    change: impl FnOnce(Option<T>) -> Option<T>,
) -> isize {
    let at = items.partition_point(|item| item.key() < key);
    let there = items.get(at).copied().filter(|item| item.key() == key);
    match (there, change(there)) {
        (Some(_), Some(new)) => items[at] = new,
        (Some(_), None) => {
            items.remove(at);
            return -1;
        }
        (None, Some(new)) => {
            items.insert(at, new);
            return 1;
        }
        (None, None) => {}
    }
    0
}

/// Puts a child that has become small together with a neighbour, if both fit into one with room
/// to spare: so that a tree from which much is removed does not consist of crumbs.
fn merge<T: Item>(children: &mut Vec<Child<T>>, at: usize) {
    let small = |child: &Child<T>| child.node.len() * 4 <= child.node.capacity();
    if !children.get(at).is_some_and(small) {
        return;
    }
    let left = if at + 1 < children.len() { at } else { at.saturating_sub(1) };
    let room = |pair: &[Child<T>]| {
        (pair[0].node.len() + pair[1].node.len()) * 4 <= pair[0].node.capacity() * 3
    };
    if !children.get(left..left + 2).is_some_and(room) {
        return;
    }
    let right = children.remove(left + 1);
    match (&mut children[left].node, right.node) {
        (TreeNode::Leaf(items), TreeNode::Leaf(more)) => items.extend(more),
        (TreeNode::Branch(inner), TreeNode::Branch(more)) => inner.extend(more),
        // All leaves are equally deep.
        (TreeNode::Leaf(_), TreeNode::Branch(_)) | (TreeNode::Branch(_), TreeNode::Leaf(_)) => {}
    }
    children[left].refresh();
}

fn visit_items<'t, T: Item + 't>(
    items: impl Iterator<Item = &'t T>,
    reader: &mut impl Scan<T>,
) -> Visit {
    for item in items {
        if reader.item(item) == Visit::Stop {
            return Visit::Stop;
        }
    }
    Visit::Over
}

fn visit_children<'t, T: Item + 't, S: Scan<T>>(
    children: impl Iterator<Item = &'t Child<T>>,
    reader: &mut S,
    into: impl Fn(&TreeNode<T>, &mut S) -> Visit,
) -> Visit
where
    T::Key: 't,
    T::Sum: 't,
{
    for child in children {
        let seen = match reader.part(child.last, child.sum) {
            Visit::Into => into(&child.node, reader),
            answer => answer,
        };
        if seen == Visit::Stop {
            return Visit::Stop;
        }
    }
    Visit::Over
}

#[cfg(test)]
mod tests;
