"""The public items of the crates that are published, as their sources declare them.

  scripts/public-items.py            compares them with crates/NAME/public-items.txt
  scripts/public-items.py --write    writes these files again

A line that is gone or changed can break callers; a new one cannot. It relies on two things that
`make lint` checks: rustfmt's layout, and that whatever is `pub` can be reached from outside
(`unreachable_pub`). Listed are declarations with fields, variants, methods and derived traits, and
which traits are implemented; not what a trait's own text promises."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATES = ["model", "swf", "sched", "sim"]
COMMENT = re.compile(r"^\s*//")
ITEM = re.compile(r"pub (?:const |unsafe |async )*(fn|struct|enum|trait|mod|use|const|static|type)\b")


def lines_of(path):
    """The code of a file without comments and without its tests."""
    lines = []
    for line in path.read_text().splitlines():
        if line.startswith("#[cfg(test)]") or line.startswith("#[cfg(doctest)]"):
            # A module of tests is the last item of its file, or one of its own.
            lines.append("#[cfg(test)]")
        elif not COMMENT.match(line):
            lines.append(re.sub(r"\s+// .*$", "", line))
    return lines


def end_of(lines, at, closers):
    """The line at which a declaration that begins at `at` ends."""
    for end in range(at, len(lines)):
        if lines[end].rstrip().endswith(closers):
            return end
    return at


def joined(lines):
    text = " ".join(line.strip() for line in lines)
    text = re.sub(r"([(\[<]) ", r"\1", re.sub(r",? ([)\]>])", r"\1", text))
    text = re.sub(r"([( ])mut (\w+:)", r"\1\2", text)
    return re.sub(r"\s+", " ", text).strip()


def head(text):
    """A declaration without its body or value."""
    return re.sub(r"( \{| = .*|;|,)$", "", text).strip()


def body(lines, at, indent):
    """The lines of a block whose first line is `at`."""
    close = " " * indent + "}"
    for end in range(at + 1, len(lines)):
        if lines[end].startswith(close):
            return lines[at + 1:end]
    return []


def members(lines, indent, wanted):
    """Declarations at this depth, each on one line."""
    pad = " " * indent
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith(pad) and not line.startswith(pad + " ") and wanted(line.strip()):
            end = at
            if not line.rstrip().endswith((";", ",", "{ .. }")) or line.count("(") != line.count(")"):
                end = end_of(lines, at, (";", "},", "),", "{", ","))
                if line.rstrip().endswith("{"):
                    closing = (i for i in range(at, len(lines)) if lines[i].startswith(pad + "}"))
                    end = next(closing, at)
                elif line.rstrip().endswith("("):
                    closing = (i for i in range(at + 1, len(lines)) if lines[i].startswith(pad + ")"))
                    end = next(closing, at)
            yield at, joined(lines[at:end + 1])
            at = end
        at += 1


def traits(lines, at):
    """What is derived for the type that is declared at `at`."""
    found = []
    while at > 0 and lines[at - 1].startswith(("#[", "    ", ")]")):
        at -= 1
        found += re.findall(r"derive\((.*?)\)", lines[at])
    return f" [{', '.join(sorted(found))}]" if found else ""


def of_type(lines, at, text, kind):
    """A type or trait with what it consists of."""
    inside = body(lines, at, 0) if lines[at].rstrip().endswith("{") else []
    name = re.search(r"(?:struct|enum|trait) (\w+)", text)[1]
    yield head(text) + (traits(lines, at) if kind != "trait" else "")
    if kind == "struct":
        yield from (f"{name}: {head(it)}" for _, it in members(inside, 4, lambda it: it.startswith("pub ")))
    elif kind == "enum":
        yield from (f"{name}::{it.rstrip(',')}" for _, it in members(inside, 4, lambda it: it[:1].isupper()))
    elif kind == "trait":
        declared = re.compile(r"(fn|type|const) ")
        for _, it in members(inside, 4, declared.match):
            yield f"{name}: {re.sub(r' [{].*$', ' {..}', it).rstrip(';')}"


def of_impl(lines, at):
    """The public methods of a type, or that it implements a trait."""
    end = end_of(lines, at, ("{", "{}"))
    title = head(joined(lines[at:end + 1]).replace("{}", "{"))
    if re.search(r"\bfor\b(?!<)", title):
        yield title
        return
    inside = body(lines, end, 0)
    for at_line, line in enumerate(inside):
        if line.startswith("    pub ") and ITEM.match(line.strip()):
            end = end_of(inside, at_line, ("{", ";", "}"))
            text = re.sub(r" [{].*$", "", joined(inside[at_line:end + 1]))
            yield f"{title}: {head(text)}"


def of_file(path):
    lines = lines_of(path)
    for at, line in enumerate(lines):
        if at and lines[at - 1] == "#[cfg(test)]":
            if line.endswith("{"):
                return
            continue
        found = ITEM.match(line)
        if line.startswith("impl"):
            yield from of_impl(lines, at)
        elif found:
            kind = found[1]
            closers = (";",) if kind in ("use", "const", "static", "type") else ("{", ";", "}")
            text = joined(lines[at:end_of(lines, at, closers) + 1])
            if kind in ("struct", "enum", "trait"):
                yield from of_type(lines, at, text, kind)
            else:
                yield head(re.sub(r" [{].*$", "", text)) if kind == "fn" else re.sub(r" = .*", "", text).rstrip(";")


def items(crate):
    """`module: declaration`, sorted."""
    source = ROOT / "crates" / crate / "src"
    found = []
    for path in sorted(source.rglob("*.rs")):
        parts = path.relative_to(source).with_suffix("").parts
        if {"tests", "testing"} & set(parts):
            continue
        module = "::".join(part for part in parts if part not in ("lib", "mod")) or "crate"
        found += [f"{module}: {item}" for item in of_file(path)]
    return sorted(set(found))


def main():
    write = sys.argv[1:] == ["--write"]
    failed = False
    for crate in CRATES:
        kept = ROOT / "crates" / crate / "public-items.txt"
        now = items(crate)
        if write:
            kept.write_text("\n".join(now) + "\n")
            continue
        before = set(kept.read_text().splitlines())
        gone, new = sorted(before - set(now)), sorted(set(now) - before)
        for item in gone:
            print(f"tradewind-{crate}: may break callers, gone: {item}", file=sys.stderr)
        for item in new:
            print(f"tradewind-{crate}: new: {item}", file=sys.stderr)
        failed |= bool(gone or new)
    if failed:
        print("hint: if this is meant, run `python3 scripts/public-items.py --write`, and say in CHANGELOG.md what "
              "callers must change", file=sys.stderr)
    sys.exit(failed)


main()
