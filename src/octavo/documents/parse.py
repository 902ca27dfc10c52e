"""Platform markdown, read into a tree of blocks. Never fails, loses no words, takes time linear in the length."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from markdown_it.token import Token

from octavo.documents import front_matter
from octavo.documents.blocks import NOTHING, Block, Diagnostic, Document
from octavo.documents.build import Builder
from octavo.documents.chunks import NO_FENCE, STRETCH, Chunks
from octavo.documents.cleaning import cleaned
from octavo.documents.cooperative import Pausing, breathe
from octavo.documents.ends import Ends
from octavo.documents.limits import LARGEST, MOST_LINES, in_page
from octavo.documents.normalize import Sealer
from octavo.documents.tree import Draft

if TYPE_CHECKING:
    from octavo.documents.conflicts import Markers

_NAME = re.compile(r'["\\{%}]')
_AT_A_TIME = 500
_INK = re.compile(r"[^\n]")
_FENCE_IN_CODE = re.compile(r"^([ \t>]*)\u200b+(?=```|~~~)", re.MULTILINE)
"""A fence behind a character that shows nothing, as editors write one that is part of the code."""


def parse(markdown: str) -> Document:
    """The page that `markdown` is. What is wrong with it is repaired and said in its diagnostics."""
    reading = Reading(markdown)
    reading.read()
    return reading.document


class Reading:
    """A page that is read a while at a time (`read`): what is read of it is as it is in the whole."""

    def __init__(self, markdown: str, stretch: int = STRETCH) -> None:
        """`stretch`: about how many characters are parsed at a time."""
        self.source = ""
        """What is read, safe to show: known before any block is."""
        self._given = markdown
        self.blocks: list[Block] = []
        """The blocks that are read. None of them changes any more."""
        self._diagnostics: list[Diagnostic] = []
        self._sealer = Sealer()
        self._headings = 0
        """How many headings there are in the blocks that are read."""
        self._yaml = ""
        self._metadata: Mapping[str, Any] = NOTHING
        self._document: Document | None = None
        self._stretch, self._enough = stretch, math.inf
        self._work = Pausing(self._read)

    @property
    def is_done(self) -> bool:
        """Whether all of it is read."""
        return self._work.is_done

    def read(self, seconds: float = math.inf, blocks: float = math.inf) -> bool:
        """Read on for about so long, or until so many blocks are read. True when there are more than before, or all."""
        if self.is_done:
            return False
        count, self._enough = len(self.blocks), blocks
        self._work.go_on(seconds)
        return self._work.is_done or len(self.blocks) > count

    def end(self) -> None:
        """Read no more of it."""
        self._work.end()

    @property
    def document(self) -> Document:
        """The page as far as it is read."""
        known = self._document
        if known is not None and (self.is_done or len(known.blocks) == len(self.blocks)):
            return known
        headings = tuple(self._sealer.headings[: None if self.is_done else self._headings])
        metadata = self._metadata
        title = metadata.get("title") if isinstance(metadata.get("title"), str) else None
        title = title or next((heading.title for heading in headings if heading.level == 1), "")
        diagnostics = tuple(sorted(self._diagnostics, key=lambda diagnostic: diagnostic.line))
        document = Document(title, tuple(self.blocks), self.source, diagnostics, headings, self._yaml, metadata)
        if self.is_done:
            self._document = document
        return document

    def _read(self) -> None:
        given = self._given
        marked = cleaned(_FENCE_IN_CODE.sub(rf"\1{NO_FENCE}", given) if "\u200b" in given else given)
        self.source = source = marked.replace(NO_FENCE, "")
        self._given = given = ""
        breathe()
        if len(source) > LARGEST or source.count("\n") > MOST_LINES:
            self._document = _as_source(source)
            self.blocks += self._document.blocks
            return
        self._yaml, start = front_matter.split(marked)
        try:
            self._metadata = front_matter.read(self._yaml)
        except front_matter.Unreadable as wrong:
            self.blocks += self._sealer.take([self._unread_front_matter(str(wrong))])
        body = "\n" * marked.count("\n", 0, start) + marked[start:] if start else marked
        breathe()
        body = _with_conflict_tags(body)
        breathe()
        chunks, ends, said = Chunks(body, self._stretch, in_page(len(source))), Ends(body), self._diagnostics
        chunks.diagnostics = said
        builder = Builder(said, ends)
        waiting: deque[tuple[int, list[Token]]] = deque()
        count = 0
        for chunk in chunks.blocks():
            ends.add(chunk.tokens)
            waiting.append((count, chunk.tokens))
            count += len(chunk.tokens)
            first_open = ends.first_open(chunk.end)
            while waiting and (first_open is None or waiting[0][0] + len(waiting[0][1]) <= first_open):
                tokens = waiting.popleft()[1]
                builder.add(tokens)
                _let_go(tokens)
                self.blocks += self._sealer.take(builder.tree.take_finished())
                self._headings = len(self._sealer.headings)
                if len(self.blocks) >= self._enough:
                    self._work.pause()
        for _, tokens in waiting:
            builder.add(tokens)
            _let_go(tokens)
        last = source.count("\n") + 1
        unfinished = builder.tree.finish(last).children
        if beyond := _INK.search(body, chunks.rest):
            first = body.count("\n", 0, beyond.start())
            end = len(source)
            while source[end - 1] == "\n":
                end -= 1
            rest = source[_line(source, first) : end]
            said.append(Diagnostic(first, "The rest of the page is too large to format, so it is shown as source."))
            attrs = {"language": "markdown", "source": True}
            unfinished = [*unfinished, Draft("code", attrs, text=rest, first=first, last=last)]
        self.blocks += self._sealer.take(unfinished)

    def _unread_front_matter(self, why: str) -> Draft:
        """Return a block that shows the front matter as its writers have it."""
        said = f"Could not read the front matter: {why}."
        self._diagnostics.append(Diagnostic(0, said))
        attrs = {"language": "yaml", "title": said}
        return Draft("code", attrs, text=self._yaml.removesuffix("\n"), last=self._yaml.count("\n") + 2)


def _let_go(tokens: list[Token]) -> None:
    """Have no more of the tokens of a block: to let go of all of a long one at once takes long."""
    while tokens:
        del tokens[-_AT_A_TIME:]
        breathe()


def _as_source(source: str) -> Document:
    block = Block(
        "code",
        {"language": "markdown", "source": True},
        text=source,
        lines=(0, source.count("\n") + 1),
        key="source",
    )
    return Document(
        "", (block,), source, (Diagnostic(0, "This page is too large to format, so it is shown as source."),)
    )


def _line(text: str, number: int) -> int:
    """Where a line of a text begins, without all others in a list: that takes more memory than the text."""
    start = 0
    for line in range(number):
        if line % _AT_A_TIME == 0:
            breathe()
        start = text.index("\n", start) + 1
    return start


def _with_conflict_tags(body: str) -> str:
    """The marks of conflicts as tags, line by line, so that each side is read as blocks of its own."""
    if "<<<<<<< " not in body:
        return body
    from octavo.documents.conflicts import markers  # hardly any page has any

    lines = body.split("\n")
    for conflict in markers(body):
        _mark(lines, conflict)
    return "\n".join(lines)


def _mark(lines: list[str], conflict: Markers) -> None:
    ours, theirs = (_NAME.sub("", name) for name in (conflict.ours, conflict.theirs))
    lines[conflict.first] = f'{{% conflict %}}{{% conflict-side name="{ours}" %}}'
    lines[conflict.middle] = f'{{% endconflict-side %}}{{% conflict-side name="{theirs}" %}}'
    lines[conflict.last] = "{% endconflict-side %}{% endconflict %}"
