"""The tree of a page while it grows: what is opened is closed, in whatever order the source has it."""

from __future__ import annotations

from typing import Any

from octavo.documents.blocks import Diagnostic, Run

MAX_CONTAINER_DEPTH = 40
"""Containers of tags and HTML nested deeper become siblings of one another."""


class DraftBlock:
    """A block that is not finished. Kinds beyond those of blocks are resolved when it is: see `folding`."""

    __slots__ = ("attrs", "children", "exact", "first", "key", "kind", "last", "runs", "text", "text_line")

    def __init__(
        self,
        kind: str,
        attrs: dict[str, Any] | None = None,
        children: list[DraftBlock] | None = None,
        runs: tuple[Run, ...] = (),
        text: str = "",
        first: int = 0,
        last: int = 0,
        key: str = "",
        exact: bool = False,
    ) -> None:
        """`key`: the one the platform gives the block, where it says so. `exact`: its words are as they are shown, and hold
        no syntax."""
        self.kind = kind
        self.attrs = {} if attrs is None else attrs
        self.children = [] if children is None else children
        self.runs, self.text = runs, text
        self.first, self.last = first, last
        self.key, self.exact = key, exact
        self.text_line = 0
        """The line that `text` begins on, where that is not the first."""


class BlockTree:
    """Blocks as they come, with those that are still open.

    Each open block has a key: `tag:hint`, `html:div`, `markdown:list`. Markdown's own containers close in order, so
    what is opened in one ends with it at the latest; a tag that closes what they are in closes them early.
    """

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.root = DraftBlock("document")
        self.diagnostics = diagnostics
        self._open: list[tuple[str, DraftBlock]] = [("", self.root)]
        self._surplus: list[str] = []
        self._markdown: list[DraftBlock | None] = []

    @property
    def top(self) -> DraftBlock:
        """The innermost open block."""
        return self._open[-1][1]

    def note(self, line: int, message: str) -> None:
        """Say what is wrong with the source at a line."""
        self.diagnostics.append(Diagnostic(max(line, 0), message))

    def add(self, draft: DraftBlock) -> DraftBlock:
        """Put a finished block at the end of the innermost open one."""
        self.top.children.append(draft)
        return draft

    def open(self, key: str, draft: DraftBlock) -> DraftBlock:
        """Put a block there that takes what follows, until it is closed."""
        self.add(draft)
        if key.startswith("markdown:"):
            self._markdown.append(draft)
            self._open.append((key, draft))
        elif len(self._open) < MAX_CONTAINER_DEPTH:
            self._open.append((key, draft))
        else:
            self._surplus.append(key)
            self.note(draft.first, f"{_describe(key)} is nested too deeply: its content is shown after it.")
        return draft

    def close(self, key: str, line: int) -> bool:
        """Close the innermost block of that key, and what is open in it. False if there is none."""
        if self._surplus and self._surplus[-1] == key:
            self._surplus.pop()
            return True
        for index in range(len(self._open) - 1, 0, -1):
            if self._open[index][0] == key:
                for inner, _ in self._open[index + 1 :]:
                    ends = "continues past the end of" if inner.startswith("markdown:") else "is not closed before"
                    self.note(line - 1, f"{_describe(inner)} {ends} {_describe(key)}.")
                self._cut(index, line)
                return True
        return False

    def leave(self, line: int) -> None:
        """Close the innermost container of markdown, and what is open in it, unless it was closed with what it is in."""
        container = self._markdown.pop()
        if container is None:
            return
        index = next(index for index, (_, draft) in enumerate(self._open) if draft is container)
        for inner, draft in self._open[index + 1 :]:
            self.note(draft.first, f"{_describe(inner)} is not closed.")
        self._surplus.clear()
        self._cut(index, line)

    def take_finished(self) -> list[DraftBlock]:
        """The blocks of the top level that nothing can be added to any more, which the tree forgets."""
        children = self.root.children
        count = len(children) - (len(self._open) > 1)
        taken, self.root.children = children[:count], children[count:]
        return taken

    def finish(self, line: int) -> DraftBlock:
        """Close all that is open. Its root."""
        for key, draft in self._open[1:]:
            self.note(draft.first, f"{_describe(key)} is not closed.")
        self._cut(1, line)
        self.root.last = line
        return self.root

    def sibling_open(self, name: str, parent: str) -> bool:
        """Whether a tag called `name` is open that no `parent` and no markdown container stands within."""
        for key, _ in reversed(self._open):
            if key == f"tag:{name}":
                return True
            if key == f"tag:{parent}" or key.startswith("markdown:"):
                return False
        return False

    def _cut(self, index: int, line: int) -> None:
        for key, draft in self._open[index:]:
            draft.last = line
            if key.startswith("markdown:"):
                self._markdown = [None if each is draft else each for each in self._markdown]
        del self._open[index:]


def _describe(key: str) -> str:
    sort, _, name = key.partition(":")
    if sort == "tag":
        return f"{{% {name} %}}"
    return f"<{name}>" if sort == "html" else f"The {name}"
