//! A simple reader of Rust sources: which file uses which.
//!
//! It knows `use` and paths that begin with `crate`, `super`, `self` or a submodule, and follows
//! imported names to the file that defines them. It does not know macros and names in strings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A module's place in its crate: `["policy", "grid"]`.
pub(crate) type Module = Vec<String>;

/// The modules of a crate with their texts, without tests.
#[derive(Default)]
pub(crate) struct Modules {
    texts: BTreeMap<Module, String>,
    /// Names that a module imports, and where they come from.
    imports: BTreeMap<Module, BTreeMap<String, Module>>,
}

impl Modules {
    /// The sources of a crate below its folder `src`, without its tests.
    pub(crate) fn below(src: &Path) -> Modules {
        let mut files = Vec::new();
        let mut open = vec![src.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in folder.read_dir().unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => open.push(path),
                    false => files.push(path),
                }
            }
        }
        let files = files.iter().filter(|path| path.extension().is_some_and(|it| it == "rs"));
        let name = |path: &Path| path.strip_prefix(src).unwrap().to_str().unwrap().to_owned();
        Modules::of(files.map(|path| (name(path), std::fs::read_to_string(path).unwrap())))
    }

    /// The modules of these files: paths below `src` with their texts.
    pub(crate) fn of(files: impl Iterator<Item = (String, String)>) -> Modules {
        let mut all = Modules::default();
        for (path, text) in files {
            let mut module: Module =
                path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
            let is_test = |part: &String| part == "tests" || part.ends_with("_tests");
            // Programs beside a library are crates of their own.
            if module.iter().any(is_test) || module[0] == "bin" {
                continue;
            }
            if ["mod", "lib", "main"].contains(&module.last().unwrap().as_str()) {
                module.pop();
            }
            all.texts.insert(module, without_tests(&text).to_owned());
        }
        for module in all.texts.keys() {
            let uses = uses(&tokens(&all.texts[module])).0;
            let absolute = |(name, path)| Some((name, all.absolute(module, path)?));
            let imports = uses.into_iter().filter_map(absolute).collect();
            all.imports.insert(module.clone(), imports);
        }
        all
    }

    /// Each module with its text.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&Module, &str)> {
        self.texts.iter().map(|(module, text)| (module, text.as_str()))
    }

    /// For each module those that it uses. A module may always use what is below it, as a whole
    /// uses its parts: that is left out.
    pub(crate) fn uses(&self) -> BTreeMap<&Module, BTreeSet<&Module>> {
        let of = |module| {
            let all = tokens(&self.texts[module]);
            let (uses, paths) = uses(&all);
            let paths = uses.into_iter().map(|(_, path)| path).chain(paths);
            let used = paths.filter_map(|path| self.defined(&self.absolute(module, path)?));
            used.filter(|other| !other.starts_with(module)).collect()
        };
        self.texts.keys().map(|module| (module, of(module))).collect()
    }

    /// The folder that a module is in: a module with submodules is in theirs.
    pub(crate) fn folder(&self, module: &Module) -> String {
        let has_parts =
            self.texts.keys().any(|it| it.len() > module.len() && it.starts_with(module));
        let folder = if has_parts { &module[..] } else { &module[..module.len() - 1] };
        if folder.is_empty() { ".".to_owned() } else { folder.join("/") }
    }

    /// A path as seen from the crate's root; `None` if it leads to another crate.
    fn absolute(&self, module: &Module, mut path: Vec<&str>) -> Option<Module> {
        let mut from = module.clone();
        match path[0] {
            "crate" => from.clear(),
            "super" | "self" => {
                let climbed = path.iter().take_while(|part| **part == "super").count();
                from.truncate(from.len().saturating_sub(climbed));
                path.insert(0, "self");
                path.drain(..climbed);
            }
            first => {
                let child = [&module[..], &[first.to_owned()]].concat();
                self.texts.contains_key(&child).then_some(())?;
                path.insert(0, "self");
            }
        }
        let rest = path[1..].iter().filter(|part| **part != "self");
        from.extend(rest.map(|part| (*part).to_owned()));
        Some(from)
    }

    /// The module that defines what a path leads to.
    fn defined(&self, path: &[String]) -> Option<&Module> {
        let mut path = path.to_vec();
        // More steps than any name takes: circles of imports end, too.
        for _ in 0..16 {
            let module = (0..=path.len()).rev().map(|length| &path[..length]);
            let (module, _) = module.filter_map(|it| self.texts.get_key_value(it)).next()?;
            let next = path.get(module.len()).and_then(|name| self.imports[module].get(name));
            match next {
                Some(origin) => path = [&origin[..], &path[module.len() + 1..]].concat(),
                None => return Some(module),
            }
        }
        None
    }
}

/// What is before the tests at the end of a file.
fn without_tests(text: &str) -> &str {
    let tests = text.match_indices("\n#[cfg(test)]\n").map(|(at, _)| at);
    let mut blocks = tests.filter(|at| {
        let lines = text[*at..].lines().skip(2);
        lines.skip_while(|line| line.starts_with('#')).take(1).any(|line| line.ends_with('{'))
    });
    blocks.next().map_or(text, |at| &text[..at])
}

/// Words, `::` and single characters, without comments.
fn tokens(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    for line in text.lines() {
        let mut rest = line.split("//").next().unwrap_or_default();
        while let Some(first) = rest.chars().next() {
            let in_word = |it: char| it.is_alphanumeric() || it == '_';
            let length = match first {
                _ if in_word(first) => rest.find(|it| !in_word(it)).unwrap_or(rest.len()),
                ':' if rest.starts_with("::") => 2,
                _ => first.len_utf8(),
            };
            let (token, after) = rest.split_at(length);
            if !first.is_whitespace() {
                all.push(token);
            }
            rest = after;
        }
    }
    all
}

/// A path in a source, as it is written.
type Written<'a> = Vec<&'a str>;

/// What is imported: names with their paths; and all other paths.
fn uses<'a>(tokens: &[&'a str]) -> (Vec<(String, Written<'a>)>, Vec<Written<'a>>) {
    let (mut imported, mut paths) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at] == "use" {
            at = import(tokens, at + 1, &[], &mut imported);
            continue;
        }
        let mut path = vec![tokens[at]];
        while tokens.get(at + 1) == Some(&"::") && tokens.get(at + 2).is_some_and(|it| is_word(it))
        {
            path.push(tokens[at + 2]);
            at += 2;
        }
        if path.len() > 1 {
            paths.push(path);
        }
        at += 1;
    }
    (imported, paths)
}

fn is_word(token: &str) -> bool {
    token.starts_with(|it: char| it.is_alphabetic() || it == '_')
}

/// Reads one tree of `use` from `at` on; the place behind it.
fn import<'a>(
    tokens: &[&'a str],
    mut at: usize,
    before: &[&'a str],
    all: &mut Vec<(String, Written<'a>)>,
) -> usize {
    let mut path = before.to_vec();
    let mut name = None;
    while let Some(token) = tokens.get(at) {
        match *token {
            "::" => {}
            "as" => {
                at += 1;
                name = tokens.get(at).copied();
            }
            "{" => loop {
                at = import(tokens, at + 1, &path, all);
                if tokens.get(at) != Some(&",") {
                    return at + 1;
                }
            },
            "," | "}" | ";" => break,
            word => path.push(word),
        }
        at += 1;
    }
    if path.len() > before.len() {
        let last = path.iter().rev().find(|part| **part != "self").copied().unwrap_or_default();
        all.push((name.unwrap_or(last).to_owned(), path));
    }
    at
}
