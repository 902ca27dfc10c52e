"""Finds the block of a page that a thread belongs to, also after the block was edited."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Literal

from octavo.api.comments import Comment
from octavo.documents.blocks import Block, Document
from octavo.documents.sequences import most_similar

_MIN_SIMILARITY, _MIN_LENGTH = 0.6, 20
"""The least similarity of two texts, and the least length of a text, to be taken for the same block."""
_QUOTE = 60
"""Number of characters of a text that are compared."""
_MAX_BLOCKS = 4_000
"""Maximum number of blocks with text. In larger documents, no similar block is searched, because the search would block
the keyboard."""
_EMPTY = Document("", (), "")
WordChange = Literal["", "changed", "gone"]
"""Change of the words of a block since a comment on the block was written. Empty if there is no change."""


class ThreadAnchors:
    """An index from threads to the blocks of a document. The document is walked once for all threads."""

    def __init__(self, document: Document = _EMPTY, *, whole: bool = True) -> None:
        """Create the index. `whole` is True if the document is complete. If not, a missing block does not
        count as deleted, because it may not be loaded yet."""
        self.document = document
        self.whole = whole
        self._exact_keys: dict[tuple[str, str], str] = {}
        self._likely_keys: dict[str, str] = {}

    def for_document(self, document: Document, *, whole: bool) -> ThreadAnchors:
        """Return the index for `document` and `whole`: this index if both are the same, else a new index."""
        is_same = document is self.document and whole == self.whole
        return self if is_same else ThreadAnchors(document, whole=whole)

    def by_exact_block(self, threads: Iterable[Comment]) -> dict[str, list[Comment]]:
        """Return the threads by the key of their block. Threads on the whole page or on a deleted block have the key
        "". A block is found by its key, else by its text, which the thread quotes."""
        return _group(threads, self._exact_key)

    def by_key(self, threads: Iterable[Comment]) -> dict[str, list[Comment]]:
        """Return the same as `by_exact_block`, but find blocks only by their keys."""
        return _group(
            threads, lambda thread: thread.target.node.id if self.has_block_of(thread) and thread.target.node else ""
        )

    def has_block_of(self, thread: Comment) -> bool:
        """Return whether the document has a block with the key of the thread's block."""
        return thread.target.node is not None and thread.target.node.id in self._keys

    def by_likely_block(self, threads: Iterable[Comment]) -> dict[str, list[Comment]]:
        """Return the same as `by_exact_block`, but put threads on edited blocks on the most similar block."""
        return _group(threads, lambda thread: self._exact_key(thread) or self._likely_key(thread))

    def has_other_words(self, thread: Comment) -> bool:
        """Return whether the document has the key of the thread's block with words other than the thread quotes.

        Keys of the platform stay the same after an edit. White space and punctuation are ignored, and the quote may be
        only the beginning of the block.
        """
        node = thread.target.node
        if node is None or not node.preview or node.id not in self._keys:
            return False
        words = _letters(next(block for block in self._blocks if block.key == node.id).plain())
        quote = _letters(node.preview)
        return bool(quote) and not words.startswith(quote)

    def block_change(self, thread: Comment) -> WordChange:
        """Return `changed` or `gone` if the block of a thread was edited or deleted. Empty if neither."""
        if not self.whole or thread.target.node is None or self._exact_key(thread):
            return ""
        return "changed" if self._likely_key(thread) else "gone"

    def outdated_note(self, thread: Comment) -> str:
        """Return the result of `block_change` as a sentence that introduces the original text. Empty if the block is
        unchanged."""
        match self.block_change(thread):
            case "changed":
                return "Outdated: the block was edited. Its text was:"
            case "gone":
                return "Outdated: the block was deleted. Its text was:"
        return ""

    def _exact_key(self, thread: Comment) -> str:
        node = thread.target.node
        if node is None:
            return ""
        cache_key = (node.id, node.preview or "")
        if cache_key not in self._exact_keys:
            self._exact_keys[cache_key] = node.id if node.id in self._keys else self._key_by_text(cache_key[1])
        return self._exact_keys[cache_key]

    def _likely_key(self, thread: Comment) -> str:
        text = (thread.target.node.preview or "") if thread.target.node is not None and self.whole else ""
        if text not in self._likely_keys:
            self._likely_keys[text] = self.most_similar_key(text)
        return self._likely_keys[text]

    def _key_by_text(self, preview: str) -> str:
        """Return the key of the first block that contains this text, or has this text and no other if it is short.
        Empty if none does."""
        quote = _normalize(preview)[:_QUOTE]
        if len(quote) < 4:
            return ""
        is_short = len(quote) < _MIN_LENGTH
        return next((key for key, text in self.leaves if quote == text or (quote in text and not is_short)), "")

    def most_similar_key(self, text: str) -> str:
        """Return the key of the block that is most similar to `text`, the old text of a block. Empty if none is similar."""
        old_text = _normalize(text)
        if len(old_text) < _MIN_LENGTH or len(self.leaves) > _MAX_BLOCKS:
            return ""
        at = most_similar(old_text, [text[: len(old_text)] for _, text in self.leaves], _MIN_SIMILARITY)
        return self.leaves[at][0] if at is not None else ""

    @cached_property
    def _blocks(self) -> list[Block]:
        return list(self.document.walk())

    @cached_property
    def _keys(self) -> frozenset[str]:
        return frozenset(block.key for block in self._blocks)

    @cached_property
    def leaves(self) -> list[tuple[str, str]]:
        """The keys and texts of the blocks that have text of their own."""
        return [(block.key, _normalize(block.plain())) for block in self._blocks if block.runs or block.text]


def quoted_text(thread: Comment) -> str:
    """Return the beginning of the text of the block of a thread, as in `added_texts`. Empty if there is none."""
    return _normalize((thread.target.node.preview or "") if thread.target.node is not None else "")[:_QUOTE]


class TwoVersionAnchors:
    """Finds the blocks of threads on the old and the new version of a page."""

    def __init__(self, documents: tuple[Document, Document]) -> None:
        self.documents = documents
        self._old, self._new = map(ThreadAnchors, documents)

    def threads(self, threads: Iterable[Comment]) -> dict[str, list[Comment]]:
        """Return the threads by the key of their block. Threads without a block have the key "".

        A block is searched by its key in the new, then the old version, then by its text in both, and last by
        similarity in the new version.
        """
        found: dict[str, list[Comment]] = {}
        rest = list(threads)
        for group in (
            self._new.by_key,
            self._old.by_key,
            self._new.by_exact_block,
            self._old.by_exact_block,
            self._new.by_likely_block,
        ):
            grouped = group(rest)
            rest = grouped.pop("", [])
            for key, in_block in grouped.items():
                found.setdefault(key, []).extend(in_block)
        return {**found, "": rest} if rest else found

    def word_change(self, thread: Comment) -> WordChange:
        """Return the change, in the new version, of the words that a thread is about. Empty if there is no
        change."""
        if self._new.has_other_words(thread):
            return "changed"
        if not self.is_outdated(thread):
            return ""
        return "changed" if self.new_key(thread) else "gone"

    def new_key(self, thread: Comment) -> str:
        """Return the key of the thread's block in the new version, also if its words changed. Empty if it is gone."""
        return next(iter(self._new.by_likely_block([thread])))

    def added_texts(self) -> frozenset[str]:
        """Return the beginnings of the texts that only the new version has, except short texts."""
        old, new = (
            {text[:_QUOTE] for _, text in side.leaves if len(text) >= _MIN_LENGTH} for side in (self._old, self._new)
        )
        return frozenset(new - old)

    def is_outdated(self, thread: Comment) -> bool:
        """Return whether a thread is outdated.

        A thread is not outdated if the new version has its block. Otherwise it is outdated if the server says so, or
        if neither version has the block or its text. The server does not know pending comments: as they were
        written on the new version, they are outdated if they quote a block that this version does not have.
        """
        if thread.target.node is None or self._new.has_block_of(thread):
            return False
        if thread.id.startswith("pending-") and thread.target.node.preview:
            return True
        has_text = "" not in self._new.by_exact_block([thread]) or "" not in self._old.by_exact_block([thread])
        is_outdated_on_server = thread.target.page is not None and thread.target.page.outdated
        return bool(is_outdated_on_server) or not (self._old.has_block_of(thread) or has_text)


def _group(threads: Iterable[Comment], key_of: Callable[[Comment], str]) -> dict[str, list[Comment]]:
    found: dict[str, list[Comment]] = {}
    for thread in threads:
        found.setdefault(key_of(thread), []).append(thread)
    return found


def _normalize(text: str) -> str:
    return " ".join(text.split())


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))
