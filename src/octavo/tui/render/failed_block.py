"""What stands in the place of a block that could not be set, or not be painted: its source, in a box that says so."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from octavo.documents.blocks import Block
from octavo.tui.render.block_slices import whole_of
from octavo.tui.render.styled_lines import Line, Piece, box, steady
from octavo.tui.render.styles import Styles
from octavo.tui.render.wrap import wrap

T = TypeVar("T")
_SOURCE_LINES = 60
"""Lines of a source that are shown: there may be a box for each slice of a long block."""
_LONGEST = 20_000
_log = logging.getLogger(__name__)


def guarded(work: Callable[[], T], instead: Callable[[], T]) -> T:
    """What `work` makes of a block. Where a bug ends it, the bug goes to the log, and what `instead` makes stands there.

    What a bug raises is any `Exception`, so that is what is caught, here and nowhere else in the app: whoever reads a page
    wants the rest of it, and nobody has tried all that strangers write. But for `MemoryError`, which is not about a block;
    `CancelledError`, `KeyboardInterrupt` and `SystemExit` are no `Exception`.
    """
    try:
        return work()
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  # as said above
        _log.exception("Could not show a block.")
    return instead()


def written_in(source: str, block: Block) -> str:
    """How a block stands in a source. Empty where it has none."""
    from octavo.documents.suggestions import block_source  # no frame needs it

    return block_source(source, block) if source else ""


def unset(block: Block, written: Callable[[Block], str], look: Styles, width: int) -> list[Line]:
    """Return a box with the kind of a block and its source, or its text if there is no source."""
    text = guarded(lambda: written(block) or block.plain(), lambda: "")[:_LONGEST]
    rows = steady(text).expandtabs(4).split("\n")
    lines = [Line(part) for row in rows[:_SOURCE_LINES] for part in wrap([Piece(row, look.text)], width - 4)]
    lines += [Line([Piece(look.glyphs.more, look.muted, None, True)])] * (len(rows) > _SOURCE_LINES)
    title = [Piece(f"{look.glyphs.no} {block.kind}, shown as source", look.error)]
    why = [Piece("a bug in Octavo", look.muted, None, True)]
    out = box(lines, width, look, title=title, right=why)
    for line in out:
        line.block = whole_of(block)
    return out
