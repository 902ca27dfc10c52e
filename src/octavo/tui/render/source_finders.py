"""The sources of a page view, with the finders that need nothing but the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.tui.render.async_cache import AsyncCache
from octavo.tui.render.sources import Sources

if TYPE_CHECKING:
    from octavo.tui.render.source_values import Diagram, DrawnDiagram, FoundOperation, OperationLayout, OperationQuery
    from octavo.tui.render.styled_lines import Line


def sources(*, diagrams: bool = True) -> Sources:
    """Sources that find diagrams, where they are wanted, and what specifications describe."""
    return Sources(
        diagrams=AsyncCache(_drawn) if diagrams else None,
        operations=AsyncCache(_described),
        details=AsyncCache(_laid, keep=20),
    )


async def _drawn(diagram: Diagram) -> DrawnDiagram:
    from octavo.tui.render import diagrams  # few pages have any

    return await diagrams.find(diagram)


async def _described(wanted: OperationQuery) -> FoundOperation:
    from octavo.tui.render import openapi_finder  # as few

    return await openapi_finder.find_operation(wanted)


async def _laid(laid: OperationLayout) -> list[Line]:
    from octavo.tui.render import openapi_finder  # as few

    return await openapi_finder.find_lines(laid)
