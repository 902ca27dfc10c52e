"""Operations of interfaces, read and laid out in a thread: an operation may take a second of work."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from octavo.tui.render.source_values import FoundOperation, OperationLayout, OperationQuery

if TYPE_CHECKING:
    from octavo.tui.render.styled_lines import Line

_MOST_CODE = 40
"""How many pieces of code in descriptions are coloured."""


async def find_operation(wanted: OperationQuery) -> FoundOperation:
    """The operation or webhook a block shows."""
    from octavo.tui.render.openapi import operation_of  # what descriptions of interfaces need takes 10 ms to load

    return FoundOperation(await asyncio.to_thread(lambda: operation_of(wanted)))


async def find_lines(laid: OperationLayout) -> list[Line]:
    """All that an opened block shows."""
    from octavo.tui.render import highlight
    from octavo.tui.render.async_cache import AsyncCache
    from octavo.tui.render.layout import set_block
    from octavo.tui.render.layout_context import Folds, LayoutContext
    from octavo.tui.render.openapi import details_of, operation_of
    from octavo.tui.render.sources import Sources

    tokens: AsyncCache[highlight.Code, highlight.Tokens] = AsyncCache(highlight.find)
    setting = LayoutContext(laid.look, Folds(), set_block, sources=Sources(tokens=tokens))

    def lines() -> list[Line]:
        return details_of(setting, laid.wanted, operation_of(laid.wanted), laid.width)

    made = await asyncio.to_thread(lines)
    if tokens.missed:
        for code in tokens.missed[:_MOST_CODE]:
            tokens.want(code)
        while await tokens.work():
            pass
        made = await asyncio.to_thread(lines)
    return made
