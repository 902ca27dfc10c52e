"""Splits a page into sections for full-text search. A section has the text below a heading, as readers see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from octavo.api.folding import diagram_labels, encode_mention
from octavo.documents.blocks import Block, Run, plain_text
from octavo.documents.links import has_no_own_text
from octavo.documents.source_reader import parse

MAX_SECTION_LENGTH = 4000
"""Maximum number of characters of a section. Longer sections are split, because snippets of long texts are slow."""
_TEXT_ATTRIBUTES = ("title", "alt", "path", "summary", "description", "status")
"""Attributes whose text a block shows."""


class Section(NamedTuple):
    """A section of a page, or a part of a long section."""

    text: str
    headings: tuple[str, ...]
    """Headings above the text, the outermost first. Empty for text before the first heading."""
    anchor: str
    """Anchor of the last heading. Empty for text before the first heading."""


def split_sections(markdown: str, title: str) -> Iterator[Section]:
    """Yield a page's sections, long ones in parts. The first section has the text before the first heading, and may
    be empty. If the first heading repeats `title`, the heading is left out."""
    headings: list[tuple[int, str]] = []
    anchor, lines = "", list[str]()
    for block in parse(markdown).walk():
        if block.kind != "heading":
            lines += [part for line in _visible_text(block).split("\n") for part in _cut(line)]
        elif (text := " ".join(_visible_text(block).split())) != title or anchor:
            yield from _split_section(lines, headings, anchor)
            level = block.attrs["level"]
            headings = [*(each for each in headings if each[0] < level), (level, text)]
            anchor, lines = block.attrs["id"], []
    yield from _split_section(lines, headings, anchor)


def _split_section(lines: Sequence[str], headings: Sequence[tuple[int, str]], anchor: str) -> Iterator[Section]:
    path, part = tuple(heading for _, heading in headings), ""
    for line in lines:
        if part and len(part) + len(line) > MAX_SECTION_LENGTH:
            yield Section(part, path, anchor)
            part = ""
        part = f"{part}\n{line}" if part and line else part or line
    yield Section(part, path, anchor)


def _cut(line: str) -> Iterator[str]:
    """Yield a line in parts of at most `MAX_SECTION_LENGTH` characters, cut at spaces if possible."""
    while len(line) > MAX_SECTION_LENGTH:
        end = line.rfind(" ", 1, MAX_SECTION_LENGTH)
        end = end if end > 0 else MAX_SECTION_LENGTH
        yield line[:end]
        line = line[end:].lstrip()
    yield line


def _visible_text(block: Block) -> str:
    """Return the text of a block without its children. Mentions and formulas have the form that `api.folding` reads."""
    if "mermaid" in (block.attrs.get("language"), str(block.attrs.get("name")).strip("@").partition("/")[0]):
        return "\n".join(filter(None, map(diagram_labels, block.text.split("\n"))))
    if block.kind == "math":
        return f"$$ {' '.join(block.text.split())} $$"
    labels = [block.attrs.get(name) for name in _TEXT_ATTRIBUTES]
    labels += [block.attrs.get("name")] if block.kind in ("api-parameter", "openapi") else []
    labels += [plain_text(column.title) for column in block.attrs.get("columns") or () if not column.hidden]
    if block.kind == "content-ref" and "://" not in (url := block.attrs.get("url") or ""):
        labels.append(encode_mention(url))
    text = block.text or "".join(map(_run_text, block.runs))
    return "\n".join(dict.fromkeys(filter(None, [*labels, text])))


def _run_text(run: Run) -> str:
    if run.link and "://" not in run.link and (run.kind == "mention" or (run.kind == "text" and has_no_own_text(run))):
        return encode_mention(run.link)
    if run.kind == "footnote" and not run.attrs.get("inline"):
        return ""  # the mark, such as `1`, would be a part of the word before
    if run.marks & {"sub", "sup"}:
        return f" {run.text} "
    return f"$${run.text}$$" if run.kind == "math" else run.text
