"""Reading a table of contents: the nested lists of a `SUMMARY.md`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from octavo.documents.blocks import Block, Run
from octavo.documents.parse import parse
from octavo.server.folder import ELSEWHERE, Entry, Folder, walk

_ITEM = re.compile(r"(?:[*+-]|\d{1,9}[.)])[ \t]")
_STRETCH = 2_000
"""Lines that are parsed at once: of a list of many thousand pages no more would be laid out than of a page."""
_PAGES = {".md", ".markdown", ".mdx", ""}


def entries(folder: Folder, text: str, summary: Path) -> list[Entry]:
    """The entries of a table of contents. A heading of level 2 or more begins a group, a divider ends it."""
    reading = _Reading(folder, summary)
    root: list[Entry] = []
    into = root
    documents = [parse(stretch) for stretch in _stretches(text)]
    if any(block.attrs.get("source") for document in documents for block in document.walk()):
        folder.report(summary, "has too many nested levels to be read completely. The other pages are listed last.")
    for block in _open(block for document in documents for block in document.blocks):
        if block.kind == "heading" and block.attrs.get("level", 1) > 1:
            group = Entry("group", _words(block.runs) or "Untitled group")
            root.append(group)
            into = group.children
        elif block.kind == "divider":
            into = root
        elif block.kind == "list":
            into += reading.items(block)
    reading.settle(root)
    return [entry for entry in root if entry.kind != "group" or entry.children]


def _stretches(text: str) -> Iterator[str]:
    """A text in stretches of lines, each but the first beginning with an item of the outermost list."""
    lines = text.splitlines(keepends=True)
    start = 0
    for number, line in enumerate(lines):
        if number - start >= _STRETCH and _ITEM.match(line):
            yield "".join(lines[start:number])
            start = number
    yield "".join(lines[start:])


def _open(blocks: Iterable[Block]) -> Iterator[Block]:
    """Blocks with those in quotes and hints in their place, so that what is wrapped is not lost."""
    for block in blocks:
        if block.children and block.kind != "list":
            yield from _open(block.children)
        else:
            yield block


class _Reading:
    def __init__(self, folder: Folder, summary: Path) -> None:
        self._folder = folder
        self._summary = summary

    def items(self, block: Block) -> list[Entry]:
        """The entries of a list, each with those of the lists in its item."""
        result: list[Entry] = []
        for item in block.children:
            runs = tuple(run for child in item.children if child.kind in ("paragraph", "heading") for run in child.runs)
            below = [entry for child in item.children if child.kind == "list" for entry in self.items(child)]
            entry = self._entry(runs)
            if entry is None:
                result += below
            elif entry.kind == "link":
                # Nothing stands below a link, so what was put there follows it.
                result += [entry, *below]
            else:
                entry.children = below
                result.append(entry)
        return result

    def _entry(self, runs: tuple[Run, ...]) -> Entry | None:
        linked = [run for run in runs if run.link]
        if not linked:
            title = _words(runs)
            return Entry("document", title, address=title) if title else None
        address = linked[0].link or ""
        title = _words(run for run in runs if run.link == address) or _words(runs)
        if ELSEWHERE.match(address):
            return Entry("link", title or address, address=address)
        path = self._folder.within(address, self._summary)
        if path is None:
            self._folder.report(unquote(address), "points outside the folder, so its page is empty.")
            return Entry("document", title, address=title)
        if path.suffix.lower() not in _PAGES:
            return Entry("link", title, address=address)
        if not self._folder.holds(path):
            tries = (path / "README.md", path / "index.md", path.with_name(f"{path.name}.md"))
            path = next((each for each in map(self._folder.as_called, tries) if self._folder.holds(each)), path)
        anchor = address.partition("#")[2]
        return Entry("document", title, path=path, address=f"#{anchor}" if anchor else "")

    def settle(self, root: list[Entry]) -> None:
        """Let each file be one page: another entry for it is a link to the page, or to the heading it names."""
        every = list(walk(root))
        owners: dict[Path, Entry] = {}
        for entry in [*(each for each in every if not each.address), *(each for each in every if each.address)]:
            if entry.kind == "document" and entry.path is not None:
                owners.setdefault(entry.path, entry)
        _unite(root, owners)


def _unite(entries: list[Entry], owners: dict[Path, Entry]) -> None:
    for entry in list(entries):
        _unite(entry.children, owners)
        if entry.kind == "document" and entry.path is not None:
            if owners[entry.path] is entry:
                entry.address = ""
                continue
            place = entries.index(entry) + 1
            entries[place:place] = entry.children
            entry.kind, entry.children = "link", []
            entry.address = f"/{entry.path}{entry.address}"


def _words(runs: Iterable[Run]) -> str:
    return " ".join("".join(run.text for run in runs).split())
