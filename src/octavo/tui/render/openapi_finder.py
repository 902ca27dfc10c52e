"""Operations of interfaces, read and set a while at a time: what strangers describe may take a second of work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from octavo.tui.render.source_values import FoundOperation, OperationLayout, OperationQuery

if TYPE_CHECKING:
    from octavo.tui.render.styled_lines import Line

T = TypeVar("T")
_SLICE, _BETWEEN = 0.006, 0.002
"""Seconds of work at a time, and seconds between, in which keys are answered."""
_MOST_CODE = 40
"""How many pieces of code in descriptions are coloured."""


async def find_operation(wanted: OperationQuery) -> FoundOperation:
    """The operation or webhook a block shows."""
    from octavo.tui.render.openapi import operation_of  # what descriptions of interfaces need takes 10 ms to load

    return FoundOperation(await in_short_steps(lambda: operation_of(wanted)))


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

    made = await in_short_steps(lines)
    if tokens.missed:
        for code in tokens.missed[:_MOST_CODE]:
            tokens.want(code)
        while await tokens.work():
            pass
        made = await in_short_steps(lines)
    return made


async def in_short_steps(make: Callable[[], T]) -> T:
    """What work makes that breathes, done between keys."""
    from octavo.documents.cooperative import Pausing  # few pages describe interfaces

    made: list[T] = []
    work = Pausing(lambda: made.append(make()))
    try:
        while not work.is_done:
            work.go_on(_SLICE)
            await asyncio.sleep(_BETWEEN)
    finally:
        work.end()
    return made[0]
