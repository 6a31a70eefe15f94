#!/usr/bin/env python3
"""A preprocessor of mdBook: links the terms of docs/glossary.md, and files that are not pages.

The first time that a page uses a term, the term becomes a link to the glossary, with its meaning
as the title. Some files of the repository's root become chapters. Links to other files outside
docs/ lead to copies below `files/`, which scripts/docs.sh makes.
"""

import html
import json
import pathlib
import posixpath
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
# Files of the root that are chapters, with their titles.
PROJECT = {
    "ARCHITECTURE.md": "Architecture",
    "BENCHMARKS.md": "Benchmarks",
    "CONTRIBUTING.md": "Contributing",
    "SECURITY.md": "Security",
    "CHANGELOG.md": "Changelog",
}
# Words of everyday English, which would be links in every second sentence.
PLAIN = {
    "exact", "exceed", "event", "part", "reason", "record", "task", "value", "wait", "work",
}
# Other forms than the term with or without `s`.
FORMS = {
    "backfilling, conservative": ["conservative backfilling"],
    "backfilling, depth": [],
    "backfilling, EASY": ["EASY"],
    "criterion": ["criterion", "criteria"],
    "policy": ["policy", "policies"],
    "virtual organisation (VO)": ["virtual organisation", "VO"],
    "run time": ["run time", "run times"],
}
ROW = re.compile(r'^\| <a id="([^"]+)"></a>([^|]+?) \| ([^|]+?) \|')
# What is no prose: fences, headings, rows of table heads, comments, code, links, HTML, URLs.
SKIP = re.compile(
    r"(^```.*?^```|^#.*?$|<!--.*?-->|`+[^`]*`+|!?\[[^\]]*\]\([^)]*\)|<[^>]+>|https?://\S+)",
    re.DOTALL | re.MULTILINE,
)
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?\)")


def plain(text):
    """The meaning without Markdown, for a title."""
    return re.sub(r"[*`]|\[([^\]]*)\]\([^)]*\)", lambda found: found.group(1) or "", text)


def terms():
    """Every way to write a term, with its anchor and its meaning."""
    found = {}
    for line in (DOCS / "glossary.md").read_text().splitlines():
        row = ROW.match(line)
        if not row or row.group(2) in PLAIN:
            continue
        anchor, term, meaning = row.groups()
        default = [re.sub(r" \(.*\)", "", term)]
        default += [default[0] + "s"]
        for form in FORMS.get(term, default):
            found.setdefault(form.lower(), (anchor, plain(meaning)))
    return found


def linked(content, folder, known, pattern):
    """The page with the first use of each term as a link."""
    glossary = posixpath.relpath("glossary.html", folder or ".")
    seen = set()

    def link(found):
        anchor, meaning = known[found.group(0).lower()]
        if anchor in seen:
            return found.group(0)
        seen.add(anchor)
        title = html.escape(meaning, quote=True).replace("|", "&#124;")
        return f'<a class="term" href="{glossary}#{anchor}" title="{title}">{found.group(0)}</a>'

    parts = SKIP.split(content)
    return "".join(pattern.sub(link, part) if at % 2 == 0 else part for at, part in enumerate(parts))


def relinked(content, source, folder):
    """A file of the folder `source` as a page of the folder `folder` of the book."""

    def link(found):
        if "://" in found.group(2):
            return found.group(0)
        target = posixpath.normpath(posixpath.join(source, found.group(2)))
        if target in PROJECT:
            target = posixpath.join("project", target)
        elif target.startswith("docs/"):
            target = target.removeprefix("docs/")
        else:
            target = posixpath.join("files", target)
        return f"{found.group(1)}{posixpath.relpath(target, folder or '.')}{found.group(3) or ''})"

    return LINK.sub(link, content)


def walk(items, known, pattern):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if not chapter:
            continue
        if chapter.get("path"):
            folder = posixpath.dirname(chapter["path"])
            text = relinked(chapter["content"], posixpath.join("docs", folder), folder)
            if chapter["path"] not in ("glossary.md", "explanation/reproduction.md"):
                text = linked(text, folder, known, pattern)
            chapter["content"] = text
        walk(chapter["sub_items"], known, pattern)


def project():
    """The chapters of files of the root."""
    yield {"PartTitle": "Project"}
    for name, title in PROJECT.items():
        text = relinked((ROOT / name).read_text(), "", "project")
        path = posixpath.join("project", name)
        yield {
            "Chapter": {
                "name": title,
                "content": text,
                "number": None,
                "sub_items": [],
                "path": path,
                "source_path": None,
                "parent_names": [],
            }
        }


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "supports":
        sys.exit(0 if sys.argv[2] == "html" else 1)
    _, book = json.load(sys.stdin)
    known = terms()
    longest_first = sorted(known, key=len, reverse=True)
    pattern = re.compile(
        r"(?<![\w-])(" + "|".join(map(re.escape, longest_first)) + r")(?![\w-]| Engine)", re.IGNORECASE
    )
    items = book.get("items") or book["sections"]
    walk(items, known, pattern)
    items.extend(project())
    json.dump(book, sys.stdout)


main()
