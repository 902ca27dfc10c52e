"""The block tree of a page while it is parsed. Tags may close containers in any order."""

from __future__ import annotations

from typing import Any

from octavo.documents.blocks import Diagnostic, Run

MAX_CONTAINER_DEPTH = 40
"""Maximum nesting of tags and HTML. Deeper containers become siblings."""


class DraftBlock:
    """An unfinished block. Kinds that `blocks.py` does not define are resolved in block_finalizer.py."""

    __slots__ = ("attrs", "children", "first", "is_exact", "key", "kind", "last", "runs", "text", "text_line")

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
        is_exact: bool = False,
    ) -> None:
        """`key` is the key from the platform, or empty. `is_exact` is True if the text contains no Markdown syntax and
        is displayed unchanged."""
        self.kind = kind
        self.attrs = {} if attrs is None else attrs
        self.children = [] if children is None else children
        self.runs, self.text = runs, text
        self.first, self.last = first, last
        self.key, self.is_exact = key, is_exact
        self.text_line = 0
        """The line on which `text` begins, if it is not the first line."""


class BlockTree:
    """Finished and open blocks of a page.

    Each open block has a key, such as `tag:hint`, `html:div` or `markdown:list`. A Markdown container is closed by the
    parser, together with all blocks opened inside it. A tag that closes a container also closes the blocks inside it.
    """

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.root = DraftBlock("document")
        self.diagnostics = diagnostics
        self._open: list[tuple[str, DraftBlock]] = [("", self.root)]
        self._ignored_keys: list[str] = []
        self._markdown: list[DraftBlock | None] = []

    @property
    def top(self) -> DraftBlock:
        """The innermost open block."""
        return self._open[-1][1]

    def report(self, line: int, message: str, tag: str = "") -> None:
        """Add a diagnostic for a line of the source. `tag` is the beginning of a tag without a partner."""
        self.diagnostics.append(Diagnostic(max(line, 0), message, tag))

    def add(self, draft: DraftBlock) -> DraftBlock:
        """Append a finished block to the innermost open block."""
        self.top.children.append(draft)
        return draft

    def open(self, key: str, draft: DraftBlock) -> DraftBlock:
        """Append a block that stays open. The following blocks become its children until it is closed."""
        self.add(draft)
        if key.startswith("markdown:"):
            self._markdown.append(draft)
            self._open.append((key, draft))
        elif len(self._open) < MAX_CONTAINER_DEPTH:
            self._open.append((key, draft))
        else:
            self._ignored_keys.append(key)
            self.report(draft.first, f"{_describe(key)} is nested too deeply: its content is shown after it.")
        return draft

    def close(self, key: str, line: int) -> bool:
        """Close the innermost block with a key and all open blocks inside it. Return False if there is no such
        block."""
        if self._ignored_keys and self._ignored_keys[-1] == key:
            self._ignored_keys.pop()
            return True
        for index in range(len(self._open) - 1, 0, -1):
            if self._open[index][0] == key:
                for inner, draft in self._open[index + 1 :]:
                    if inner.startswith("markdown:"):
                        self.report(line - 1, f"{_describe(inner)} continues past the end of {_describe(key)}.")
                    else:
                        message = f"{_describe(inner)} is not closed before {_describe(key)} ends."
                        self.report(draft.first, message, _tag_start(inner))
                self._close_from(index, line)
                return True
        return False

    def close_markdown(self, line: int) -> None:
        """Close the innermost Markdown container and everything open inside it, unless it was already closed."""
        container = self._markdown.pop()
        if container is None:
            return
        index = next(index for index, (_, draft) in enumerate(self._open) if draft is container)
        for inner, draft in self._open[index + 1 :]:
            self.report(draft.first, f"{_describe(inner)} is not closed.", _tag_start(inner))
        self._ignored_keys.clear()
        self._close_from(index, line)

    def take_finished(self) -> list[DraftBlock]:
        """Return the finished blocks of the top level, and remove them from the tree."""
        children = self.root.children
        count = len(children) - (len(self._open) > 1)
        taken, self.root.children = children[:count], children[count:]
        return taken

    def finish(self, line: int) -> DraftBlock:
        """Close everything that is open, and return the root."""
        for key, draft in self._open[1:]:
            self.report(draft.first, f"{_describe(key)} is not closed.", _tag_start(key))
        self._close_from(1, line)
        self.root.last = line
        return self.root

    def open_sibling(self, name: str, parent: str) -> DraftBlock | None:
        """Return the innermost open tag called `name`. None if there is none, or if a `parent` tag or a Markdown
        container is open inside it."""
        for key, draft in reversed(self._open):
            if key == f"tag:{name}":
                return draft
            if key == f"tag:{parent}" or key.startswith("markdown:"):
                return None
        return None

    def _close_from(self, index: int, line: int) -> None:
        for key, draft in self._open[index:]:
            draft.last = line
            if key.startswith("markdown:"):
                self._markdown = [None if each is draft else each for each in self._markdown]
        del self._open[index:]


def _describe(key: str) -> str:
    source, _, name = key.partition(":")
    if source == "tag":
        return f"{{% {name} %}}"
    return f"<{name}>" if source == "html" else f"The {name}"


def _tag_start(key: str) -> str:
    """Return the beginning of the tag that opened a block. Empty for Markdown."""
    source, _, name = key.partition(":")
    return f"{{% {name}" if source == "tag" else f"<{name}" if source == "html" else ""
