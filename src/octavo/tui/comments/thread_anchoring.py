"""Where threads hang on a page, also when what they hung on was edited since. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Literal

from octavo.api.comments import Comment
from octavo.documents.blocks import Block, Document

_ALIKE, _SHORTEST = 0.6, 20
"""How alike words have to be, and how many letters they must have, to be taken for one another."""
_MOST_LEAVES = 4_000
"""Of a page with more blocks of words nobody looks for the one most alike: the keys of the reader would wait for it."""
_NOTHING = Document("", (), "")


class ThreadAnchors:
    """The blocks of a document, by what threads know of them. The document is gone through once, however many threads
    are looked for."""

    def __init__(self, document: Document = _NOTHING, *, whole: bool = True) -> None:
        """`whole`: all of the page is read. What is not found before may be still to come."""
        self.document = document
        self.whole = whole
        self._exact: dict[tuple[str, str], str] = {}
        self._alike: dict[str, str] = {}

    def on(self, document: Document, *, whole: bool) -> ThreadAnchors:
        """Where threads hang on `document`, which may be the same."""
        same = document is self.document and whole == self.whole
        return self if same else ThreadAnchors(document, whole=whole)

    def exact(self, threads: Iterable[Comment]) -> dict[str, list[Comment]]:
        """The threads by the key of the block they hang on; "" for those on the page as a whole or on what is gone.

        A block is known by its key, else by its words, which the target keeps as a preview.
        """
        return _sorted(threads, self._exact_key)

    def named(self, threads: Iterable[Comment]) -> dict[str, list[Comment]]:
        """The same, but a block is known by its key alone."""
        return _sorted(threads, lambda thread: thread.target.node.id if self.has(thread) and thread.target.node else "")

    def has(self, thread: Comment) -> bool:
        """Whether the block a thread hangs on is in it, as it was."""
        return thread.target.node is not None and thread.target.node.id in self._keys

    def likely(self, threads: Iterable[Comment]) -> dict[str, list[Comment]]:
        """The same, but those on what was edited since hang on the block that is most like it."""
        return _sorted(threads, lambda thread: self._exact_key(thread) or self._likely_key(thread))

    def since(self, thread: Comment) -> Literal["", "changed", "gone"]:
        """Return whether the block of a thread was changed or deleted. Empty if neither."""
        if not self.whole or thread.target.node is None or self._exact_key(thread):
            return ""
        return "changed" if self._likely_key(thread) else "gone"

    def said_since(self, thread: Comment) -> str:
        """Return the same as a sentence that introduces the original text. Empty if the block is unchanged."""
        match self.since(thread):
            case "changed":
                return "Outdated: the block was edited. Its text was:"
            case "gone":
                return "Outdated: the block was deleted. Its text was:"
        return ""

    def _exact_key(self, thread: Comment) -> str:
        node = thread.target.node
        if node is None:
            return ""
        wanted = (node.id, node.preview or "")
        if wanted not in self._exact:
            self._exact[wanted] = node.id if node.id in self._keys else self._with(wanted[1])
        return self._exact[wanted]

    def _likely_key(self, thread: Comment) -> str:
        words = (thread.target.node.preview or "") if thread.target.node is not None and self.whole else ""
        if words not in self._alike:
            self._alike[words] = self.like(words)
        return self._alike[words]

    def _with(self, preview: str) -> str:
        """The key of the first block that has these words in it."""
        wanted = _said(preview)[:60]
        if len(wanted) < 4:
            return ""
        return next((key for key, said in self._leaves if wanted in said), "")

    def like(self, words: str) -> str:
        """The key of the block that most likely said `words` before it was edited; "" when none is like it."""
        wanted = _said(words)
        if len(wanted) < _SHORTEST or len(self._leaves) > _MOST_LEAVES:
            return ""
        from octavo.documents.diff_alignment import most_similar  # only threads on what is gone need it

        at = most_similar(wanted, [said[: len(wanted)] for _, said in self._leaves], _ALIKE)
        return self._leaves[at][0] if at is not None else ""

    @cached_property
    def _blocks(self) -> list[Block]:
        return list(self.document.walk())

    @cached_property
    def _keys(self) -> frozenset[str]:
        return frozenset(block.key for block in self._blocks)

    @cached_property
    def _leaves(self) -> list[tuple[str, str]]:
        """The keys of the blocks with words of their own, and the words."""
        return [(block.key, _said(block.plain())) for block in self._blocks if block.runs or block.text]


class BothSides:
    """Where threads hang on a page as it was and as it is."""

    def __init__(self, documents: tuple[Document, Document]) -> None:
        self.documents = documents
        self._old, self._new = map(ThreadAnchors, documents)

    def threads(self, threads: Iterable[Comment]) -> dict[str, list[Comment]]:
        """The threads by block: where each was made, on either side; else where its words stand, as they are or as they
        were; else on what is most like them now; else on the page as a whole."""
        found: dict[str, list[Comment]] = {}
        left = list(threads)
        for look in (self._new.named, self._old.named, self._new.exact, self._old.exact, self._new.likely):
            hung = look(left)
            left = hung.pop("", [])
            for key, among in hung.items():
                found.setdefault(key, []).extend(among)
        return {**found, "": left} if left else found

    def is_outdated(self, thread: Comment) -> bool:
        """Whether what a thread is about is not there any more as it was when it was begun. What a server says of it is
        about one side: of what is only on the other, it says whether it was made there."""
        if thread.target.node is None or self._new.has(thread):
            return False
        by_words = "" not in self._new.exact([thread]) or "" not in self._old.exact([thread])
        says = thread.target.page is not None and thread.target.page.outdated
        return bool(says) or not (self._old.has(thread) or by_words)


def _sorted(threads: Iterable[Comment], key_of: Callable[[Comment], str]) -> dict[str, list[Comment]]:
    found: dict[str, list[Comment]] = {}
    for thread in threads:
        found.setdefault(key_of(thread), []).append(thread)
    return found


def _said(words: str) -> str:
    return " ".join(words.split())
