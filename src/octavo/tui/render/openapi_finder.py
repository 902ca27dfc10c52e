"""Operations of interfaces, read and laid out in a thread: an operation may take a second of work."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from octavo.tui.render.source_values import FoundOperation, OperationLayout, OperationQuery

if TYPE_CHECKING:
    from octavo.tui.render.styled_lines import Line

_MOST_HIGHLIGHTED = 40
"""How many pieces of code in descriptions are coloured."""


async def load_operation(wanted: OperationQuery) -> FoundOperation:
    """The operation or webhook a block shows."""
    from octavo.tui.render.openapi import find_operation  # what descriptions of interfaces need takes 10 ms to load

    return FoundOperation(await asyncio.to_thread(lambda: find_operation(wanted)))


async def load_operation_lines(laid: OperationLayout) -> list[Line]:
    """All that an opened block shows."""
    from octavo.tui.render import highlight
    from octavo.tui.render.caches import AsyncCache
    from octavo.tui.render.layout import render_block
    from octavo.tui.render.layout_context import Folds, LayoutContext
    from octavo.tui.render.openapi import find_operation, render_operation_details
    from octavo.tui.render.sources import DeferredContent

    tokens: AsyncCache[highlight.CodeQuery, highlight.Tokens] = AsyncCache(highlight.highlight_code)
    context = LayoutContext(laid.styles, Folds(), render_block, deferred=DeferredContent(tokens=tokens))

    def lines() -> list[Line]:
        return render_operation_details(context, laid.query, find_operation(laid.query), laid.width)

    made = await asyncio.to_thread(lines)
    if tokens.missing:
        for code in tokens.missing[:_MOST_HIGHLIGHTED]:
            tokens.request(code)
        while await tokens.load_requested():
            pass
        made = await asyncio.to_thread(lines)
    return made
