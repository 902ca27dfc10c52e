"""Finds the version of a page in which each of its blocks got its words. Start reading at `Blame`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

from octavo.documents.blocks import EMPTY_PAGE, Block, Document
from octavo.documents.diff import diff, new_keys
from octavo.documents.diff_nodes import NodeFactory

V = TypeVar("V")

_WHOLE_KINDS = frozenset({"row", "card", "figure", "prompt"})
"""Kinds of blocks that count as one block, although they have children."""
_MIN_MOVED_LENGTH = 25
"""Minimum number of characters of a text that is searched for on other pages."""
_MIN_PART_LENGTH = 12
"""Minimum number of characters of a text that counts as a part of a split block."""
_MIN_SPLIT_SHARE = 0.9
"""Minimum share of a block's characters that its parts must have, so that the block counts as split."""


@dataclass(frozen=True, slots=True)
class Origin(Generic[V]):
    """The version in which a block got its words, and the page and key of the block there."""

    version: V
    page_id: str
    block_key: str


@dataclass(frozen=True, slots=True)
class _Ancestor:
    """Earliest known origin of a block of the newest version: the block `block_key` in the oldest compared version."""

    page_id: str
    block_key: str
    text: str
    """The text of the block in the newest version, without links."""
    is_part: bool = False
    """True if a later version split this block, and the block of the newest version is one of its parts."""


class Blame(Generic[V]):
    """The origins of the blocks of a page, found by comparing older versions."""

    def __init__(self, page_id: str, document: Document) -> None:
        """`document` is the newest version of the page with the ID `page_id`."""
        self.blocks = tuple(blocks_with_words(document))
        """The blocks of the page that have words, in the order of the page."""
        self.origins: dict[str, Origin[V]] = {}
        """The known origins, by the key of the block in the newest version."""
        self._documents = {page_id: document}
        self._ancestors = {block.key: _Ancestor(page_id, block.key, _text(block)) for block in self.blocks}
        self._added_blocks: dict[str, tuple[_Ancestor, str]] = {}
        """(ancestor, words) of each long block that the last compared version added, by key in the newest version."""

    @property
    def page_ids(self) -> frozenset[str]:
        """The IDs of the pages that are needed to compare the next older version. Empty if all origins are known."""
        return frozenset(ancestor.page_id for ancestor in self._ancestors.values())

    def compare(self, version: V, older_pages: Mapping[str, Document | None]) -> bool:
        """Compare `version` with the version before, and find the blocks whose words `version` added. `older_pages` has
        the earlier version of each page in `page_ids`, by ID, or None for a page that `version` created. Return whether
        `trace_to_other_pages` may find some of these blocks on other pages."""
        self._added_blocks = {}
        for page_id, document in older_pages.items():
            if page_id in self.page_ids:
                self._compare_page(version, page_id, document if document is not None else EMPTY_PAGE)
        return bool(self._added_blocks)

    def trace_to_other_pages(self, pages: Mapping[str, tuple[Document, Document | None]]) -> None:
        """Find blocks that the last compared version moved here from other pages, and do not count them as added.
        `pages` has other pages before and after this version, by ID. The second document is None for a deleted page."""
        for page_id, (before, after) in pages.items():
            new_texts = {_text_with_links(block) for block in blocks_with_words(after)} if after is not None else set()
            moved_keys = {
                words: block.key
                for block in blocks_with_words(before)
                if (words := _text_with_links(block)) not in new_texts
            }
            for key, (ancestor, words) in list(self._added_blocks.items()):
                if words in moved_keys:
                    del self._added_blocks[key], self.origins[key]
                    self._ancestors[key] = replace(ancestor, page_id=page_id, block_key=moved_keys[words])
                    self._documents[page_id] = before

    def finish(self, version: V) -> None:
        """Record the oldest version as the origin of all blocks whose origin is not found yet."""
        for key in list(self._ancestors):
            self._set_origin(key, version)

    def _set_origin(self, key: str, version: V) -> None:
        ancestor = self._ancestors.pop(key)
        self.origins[key] = Origin(version, ancestor.page_id, ancestor.block_key)

    def _compare_page(self, version: V, page_id: str, older_page: Document) -> None:
        newer_page, self._documents[page_id] = self._documents[page_id], older_page
        if newer_page.source == older_page.source:
            return  # Only the title or other options changed, so no block has new words.
        finder = _AncestorFinder(older_page, newer_page)
        for key, ancestor in [each for each in self._ancestors.items() if each[1].page_id == page_id]:
            if (older_ancestor := finder.ancestor_of(ancestor)) is not None:
                self._ancestors[key] = older_ancestor
                continue
            words = finder.new_words(ancestor.block_key)
            self._set_origin(key, version)
            if len(ancestor.text) >= _MIN_MOVED_LENGTH and not ancestor.is_part:
                self._added_blocks[key] = ancestor, words


class _AncestorFinder:
    """Finds the block of an older version from which a block of the newer version comes."""

    def __init__(self, older: Document, newer: Document) -> None:
        self._older = {block.key: block for block in blocks_with_words(older)}
        self._newer = {block.key: block for block in blocks_with_words(newer)}
        pairs = new_keys(diff(older, newer))
        self._old_keys = {new: old for old, new in pairs.items() if old in self._older and new in self._newer}
        self._pair_equal_words()

    def _pair_equal_words(self) -> None:
        paired_keys = set(self._old_keys.values())
        unpaired_keys: dict[str, list[str]] = {}
        for key, block in self._older.items():
            if key not in paired_keys:
                unpaired_keys.setdefault(_text_with_links(block), []).append(key)
        for key, block in self._newer.items():
            if unpaired_keys and key not in self._old_keys and (old_keys := unpaired_keys.get(_text_with_links(block))):
                self._old_keys[key] = old_keys.pop(0)

    def new_words(self, key: str) -> str:
        return _text_with_links(self._newer[key])

    def ancestor_of(self, ancestor: _Ancestor) -> _Ancestor | None:
        """Return `ancestor` with its block in the older version. None if the newer version added or edited the text."""
        old_key = self._old_keys.get(ancestor.block_key)
        if old_key is not None:
            old = self._older[old_key]
            is_same = ancestor.text in _text(old) if ancestor.is_part else self._is_unchanged(ancestor.block_key)
            if is_same:
                return replace(ancestor, block_key=old_key)
        split_block_key = self._keys_of_split_blocks.get(ancestor.text)
        return None if split_block_key is None else replace(ancestor, block_key=split_block_key, is_part=True)

    @cached_property
    def _keys_of_split_blocks(self) -> dict[str, str]:
        """Keys of the older blocks that the newer version split, by the text of each part."""
        edited_texts = [_text(block) for key, block in self._newer.items() if not self._is_unchanged(key)]
        unchanged_old_keys = {self._old_keys[key] for key in self._newer if self._is_unchanged(key)}
        texts = [text for text in edited_texts if len(text) >= _MIN_PART_LENGTH]
        split_block_keys: dict[str, str] = {}
        for key, block in self._older.items():
            whole_text = _text(block)
            parts = [text for text in texts if text in whole_text] if key not in unchanged_old_keys else []
            if len(parts) > 1 and sum(map(len, parts)) >= _MIN_SPLIT_SHARE * len(whole_text):
                split_block_keys |= dict.fromkeys(parts, key)
        return split_block_keys

    def _is_unchanged(self, key: str) -> bool:
        old_key = self._old_keys.get(key)
        return old_key is not None and _text_with_links(self._older[old_key]) == _text_with_links(self._newer[key])


def blocks_with_words(document: Document) -> Iterator[Block]:
    """Yield the blocks that have words, such as table rows. A container comes before its children, without them."""
    yield from _with_words(document.blocks)


def _with_words(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        inner = () if block.kind in _WHOLE_KINDS else block.children
        own_block = block._replace(children=()) if inner else block
        if (block.runs or not inner) and _text(own_block):
            yield own_block
        yield from _with_words(inner)


def _text(block: Block) -> str:
    """Return the text of a block, with the names of image files."""
    return NodeFactory().node(block).text


def _text_with_links(block: Block) -> str:
    links = [run.link for each in block.walk() for run in each.runs if run.link]
    return " ".join([_text(block), *links])
