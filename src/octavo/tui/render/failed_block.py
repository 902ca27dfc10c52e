"""Handling of bugs in rendering: a block that cannot be rendered is shown as source."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from octavo.documents import suggestions
from octavo.documents.blocks import Block
from octavo.tui.render.block_slices import whole_block
from octavo.tui.render.styled_lines import Line, Piece, box, flatten_emoji
from octavo.tui.render.styles import Styles
from octavo.tui.render.wrap import wrap

T = TypeVar("T")
_SOURCE_LINES = 60
"""Maximum number of source lines in a box. Each slice of a long block may have a box of its own."""
_LONGEST = 20_000
_log = logging.getLogger(__name__)


def run_guarded(work: Callable[[], T], fallback: Callable[[], T]) -> T:
    """Return the result of `work`. If it raises an exception, log the exception and return the result of `fallback`.

    Apart from the keyring, only this function catches `Exception`: a bug in the layout of one block must not hide the
    rest of the page. `MemoryError` is raised again, because the block did not cause it."""
    try:
        return work()
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  # See the docstring.
        _log.exception("Could not show a block.")
    return fallback()


def block_source(source: str, block: Block) -> str:
    """Return the source of a block. Empty if the page has no source."""
    return suggestions.block_source(source, block) if source else ""


def render_failed_block(block: Block, source_of: Callable[[Block], str], styles: Styles, width: int) -> list[Line]:
    """Render a box with the kind of a block and its source, or its text if there is no source."""
    text = run_guarded(lambda: source_of(block) or block.plain(), lambda: "")[:_LONGEST]
    rows = flatten_emoji(text).expandtabs(4).split("\n")
    lines = [Line(part) for row in rows[:_SOURCE_LINES] for part in wrap([Piece(row, styles.text)], width - 4)]
    lines += [Line([Piece(styles.glyphs.more, styles.muted, None, True)])] * (len(rows) > _SOURCE_LINES)
    title = [Piece(f"{styles.glyphs.no} {block.kind}, shown as source", styles.error)]
    why = [Piece("a bug in Octavo", styles.muted, None, True)]
    out = box(lines, width, styles, title=title, right=why)
    for line in out:
        line.block = whole_block(block)
    return out
