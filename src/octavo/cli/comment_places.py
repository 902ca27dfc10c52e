"""Finds the block of a page that `octavo comment` is about: by its key, by words that it contains, or by its line."""

from __future__ import annotations

from collections.abc import Iterator

from octavo.api.folding import fold
from octavo.api.safety import safe_line
from octavo.cli.failures import NOT_FOUND, USAGE, Failure
from octavo.documents.blocks import Block, Document, plain_text

_MOST_NAMED = 6
"""Blocks that a message lists at most."""


def block_with_key(document: Document, key: str, page: str) -> Block:
    """Return the block with a key. Raises Failure if there is none."""
    found = document.find(key)
    if found is None:
        raise Failure(
            f"Could not find block {safe_line(key[:40])} in {page}. Use --quote WORDS or --line N.", NOT_FOUND
        )
    return found


def block_with_words(document: Document, words: str, page: str) -> Block:
    """Return the innermost block that contains words. Raises Failure if none does, or several do."""
    wanted = " ".join(fold(words).split())
    found = [each for each in _blocks_with_text(document) if wanted and wanted in _text(each)]
    if not found:
        raise Failure(
            f"Could not find “{safe_line(words[:60])}” in {page}. Quote words as readers see them.", NOT_FOUND
        )
    if len(found) > 1:
        keys = ", ".join(each.key for each in found[:_MOST_NAMED]) + (", …" if len(found) > _MOST_NAMED else "")
        message = f"“{safe_line(words[:60])}” is in {len(found)} blocks of {page}. Give more words, or --block: {keys}"
        raise Failure(message, USAGE, error="ambiguous")
    return found[0]


def block_at_line(document: Document, number: int, page: str) -> Block:
    """Return the innermost block at a line of the Markdown, counted from 1. Raises Failure if there is none."""
    at = [each for each in _blocks_with_text(document) if each.lines[0] < number <= each.lines[1]]
    if not at:
        raise Failure(f"Could not find a block at line {number} of {page}.", NOT_FOUND)
    return min(at, key=lambda each: each.lines[1] - each.lines[0])


def source_of(document: Document, block: Block) -> str:
    """Return the Markdown of a block."""
    first, end = block.lines
    return "\n".join(document.source.split("\n")[first:end])


def _blocks_with_text(document: Document) -> Iterator[Block]:
    return (each for each in document.walk() if each.key and (each.runs or each.text))


def _text(block: Block) -> str:
    return " ".join(fold(plain_text(block.runs) or block.text).split())
