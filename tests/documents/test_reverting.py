"""Single blocks of a page are reverted, and nothing else changes."""

from __future__ import annotations

import pytest

from octavo.documents.source_reader import parse
from octavo.documents.suggestions import UnknownBlock, revert_blocks

THEN = "# A\n\nfirst\n\nsecond\n\nthird\n"
NOW = "# A\n\nFIRST\n\nsecond\n\nadded\n"


def key(markdown: str, words: str) -> str:
    return next(block.key for block in parse(markdown).walk() if block.plain() == words)


def test_block_is_reverted_by_either_key() -> None:
    for chosen in (key(NOW, "FIRST"), key(THEN, "first")):
        assert revert_blocks(THEN, NOW, {chosen}) == "# A\n\nfirst\n\nsecond\n\nadded\n"


def test_reverting_all_blocks_restores_the_page() -> None:
    assert revert_blocks(THEN, NOW, {key(NOW, "FIRST"), key(THEN, "third")}) == THEN


def test_unchanged_block_is_not_reverted() -> None:
    assert revert_blocks(THEN, NOW, {key(NOW, "second")}) == NOW


def test_unknown_block_raises_an_error() -> None:
    with pytest.raises(UnknownBlock, match="nonsense"):
        revert_blocks(THEN, NOW, {"nonsense"})


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\r", "\r\n"])
def test_other_line_separators_do_not_move_the_reverted_lines(separator: str) -> None:
    start = f"a{separator}b{separator}c{separator}d\n\n"
    then, now = start + THEN, start + NOW
    assert revert_blocks(then, now, {key(now, "FIRST")}) == then.replace("third", "added")
