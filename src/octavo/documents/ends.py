"""Which tags have an end of their own, as far as that is known while a page is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from markdown_it.token import Token

from octavo.documents.containers import ALWAYS_OPEN
from octavo.documents.tags import Tag

_MAX_DISTANCE = 60
"""A tag that may go without an end is taken to have one only if it comes within so many tokens."""

_OPTIONAL_END = frozenset({"embed", "file", "content-ref", "page-ref"})
_END = re.compile(r"\{%-?[ \t\n]*end(@?[A-Za-z][\w@./:-]*)")


class ClosedTags:
    """The tags of one source that are closed, found in order."""

    def __init__(self, source: str) -> None:
        self._last: dict[str, int] = {}
        for match in _END.finditer(source) if "{%" in source else ():
            self._last[match[1]] = match.start()
        self._closed: dict[int, Tag] = {}
        self._open: dict[str, list[tuple[int, Tag]]] = {}
        self._count = 0

    def has(self, tag: Tag) -> bool:
        """Whether a tag has an end."""
        return id(tag) in self._closed

    def add(self, tokens: Sequence[Token]) -> None:
        """Look for tags in what comes next."""
        for index, token in enumerate(tokens, self._count):
            for each in token.children or () if token.type == "inline" else (token,):
                if each.type == "platform_tag":
                    self._see(each.meta["tag"], index)
        self._count += len(tokens)

    def _see(self, tag: Tag, index: int) -> None:
        if not tag.closes:
            if tag.name not in ALWAYS_OPEN:
                self._open.setdefault(tag.name, []).append((index, tag))
        elif opened := self._open.get(tag.closes):
            begun, closed = opened.pop()
            if index - begun <= _MAX_DISTANCE or tag.closes not in _OPTIONAL_END:
                self._closed[id(closed)] = closed

    def first_open(self, position: int) -> int | None:
        """The number of the first token with a tag that may still be closed by what comes after `position`."""
        waiting: list[int] = []
        for name, opened in self._open.items():
            if opened and self._last.get(name, -1) >= position:
                if name not in _OPTIONAL_END:
                    waiting.append(opened[0][0])
                else:
                    near = takewhile(
                        lambda index: self._count - index <= _MAX_DISTANCE, (index for index, _ in reversed(opened))
                    )
                    waiting += list(near)[-1:]
        return min(waiting, default=None)
