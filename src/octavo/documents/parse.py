"""Platform markdown, read into a tree of blocks. Never fails, loses no words, takes time linear in the length."""

from __future__ import annotations

import re

from octavo.api.text import text as safe
from octavo.documents import front_matter
from octavo.documents.blocks import Block, Diagnostic, Document
from octavo.documents.build import build
from octavo.documents.conflicts import Markers, markers
from octavo.documents.folding import fold
from octavo.documents.rules import environment, parser

LARGEST = 5_000_000
"""Pages of more characters, or of more lines than `_MOST_LINES`, are shown as source."""

_MOST_LINES = 200_000
_NAME = re.compile(r'["\\{%}]')


def parse(markdown: str) -> Document:
    """The page that `markdown` is. What is wrong with it is repaired and said in its diagnostics."""
    source = safe(markdown)
    if len(source) > LARGEST or source.count("\n") > _MOST_LINES:
        return _as_source(source)
    yaml, start = front_matter.split(source)
    body = "\n" * source.count("\n", 0, start) + source[start:] if start else source
    body = _with_conflict_tags(body)
    diagnostics: list[Diagnostic] = []
    tokens = parser().parse(body, environment(body, diagnostics))
    blocks, headings = fold(build(tokens, diagnostics, source.count("\n") + 1))
    metadata = front_matter.read(yaml)
    title = metadata.get("title") if isinstance(metadata.get("title"), str) else None
    title = title or next((heading.title for heading in headings if heading.level == 1), "")
    diagnostics.sort(key=lambda diagnostic: diagnostic.line)
    return Document(title, blocks, source, tuple(diagnostics), headings, yaml, metadata)


def _as_source(source: str) -> Document:
    block = Block(
        "code",
        {"language": "markdown", "source": True},
        text=source,
        lines=(0, source.count("\n") + 1),
        key="source",
    )
    return Document("", (block,), source, (Diagnostic(0, "This page is too large to be laid out: shown as source."),))


def _with_conflict_tags(body: str) -> str:
    """The marks of conflicts as tags, line by line, so that each side is read as blocks of its own."""
    if "<<<<<<< " not in body:
        return body
    lines = body.split("\n")
    for conflict in markers(body):
        _mark(lines, conflict)
    return "\n".join(lines)


def _mark(lines: list[str], conflict: Markers) -> None:
    ours, theirs = (_NAME.sub("", name) for name in (conflict.ours, conflict.theirs))
    lines[conflict.first] = f'{{% conflict %}}{{% conflict-side name="{ours}" %}}'
    lines[conflict.middle] = f'{{% endconflict-side %}}{{% conflict-side name="{theirs}" %}}'
    lines[conflict.last] = "{% endconflict-side %}{% endconflict %}"
