"""Writes `SUMMARY.md`, the table of contents of a folder, as Git Sync does. `table_of_contents.py` reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from octavo.documents import page_trees
from octavo.documents.folders.folder import Entry

HEADING = "# Table of contents"
_TITLE_SIGNS = re.compile(r"[\\\[\]*`<]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|~(?=~)")
_HEADING_END = re.compile(r"(?<!\S)#")
_PATH_SIGNS = re.compile(r'[%#?<>\\\n\r\t"]')


def write_summary(entries: Iterable[Entry]) -> str:
    """Return the text of `SUMMARY.md` with all entries that have a file or a target."""
    lines = [HEADING, ""]
    in_group = False
    for entry in entries:
        if entry.kind == "group":
            lines += ["", _group_heading(entry), ""] if lines[-1] else [_group_heading(entry), ""]
            lines += _items(entry.children, 0)
            in_group = True
            continue
        if in_group:
            lines += ["", "***", ""]
            in_group = False
        lines += _items([entry], 0)
    return "\n".join(lines).rstrip("\n") + "\n"


def _group_heading(entry: Entry) -> str:
    heading = "## " + _HEADING_END.sub(r"\\#", _escape(entry.title))
    if entry.slug and entry.slug != page_trees.page_slug(entry.title):
        heading += f' <a href="#{entry.slug}" id="{entry.slug}"></a>'
    return heading


def _items(entries: Iterable[Entry], depth: int) -> Iterator[str]:
    for entry in entries:
        target = link_path(entry.path.as_posix()) if entry.path is not None else entry.address
        if not target:
            yield from _items(entry.children, depth)
            continue
        short = entry.link_title.replace("\\", "\\\\").replace('"', '\\"')
        title = f' "{short}"' if short else ""
        yield f"{'  ' * depth}* [{_escape(entry.title)}]({target}{title})"
        yield from _items(entry.children, depth + 1)


def link_path(path: str, anchor: str = "") -> str:
    """Return a path as the target of a Markdown link."""
    plain = _PATH_SIGNS.sub(lambda found: f"%{ord(found[0]):02X}", path) + (f"#{anchor}" if anchor else "")
    return f"<{plain}>" if re.search(r"[\s()]", plain) else plain


def _escape(title: str) -> str:
    return _TITLE_SIGNS.sub(r"\\\g<0>", " ".join(title.split())) or "Untitled"
