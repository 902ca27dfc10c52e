"""The sources of a page view, with the finders that need nothing but the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.tui.render.caches import AsyncCache
from octavo.tui.render.sources import DeferredContent

if TYPE_CHECKING:
    from octavo.tui.render.source_values import (
        DiagramQuery,
        DrawnDiagram,
        FoundOperation,
        OperationLayout,
        OperationQuery,
    )
    from octavo.tui.render.styled_lines import Line


def page_deferred(*, diagrams: bool = True) -> DeferredContent:
    """Sources that find diagrams, where they are wanted, and what specifications describe."""
    return DeferredContent(
        diagrams=AsyncCache(_load_diagram) if diagrams else None,
        operations=AsyncCache(_load_operation),
        details=AsyncCache(_load_operation_lines, keep=20),
    )


async def _load_diagram(diagram: DiagramQuery) -> DrawnDiagram:
    from octavo.tui.render import diagrams  # few pages have any

    return await diagrams.draw_diagram(diagram)


async def _load_operation(wanted: OperationQuery) -> FoundOperation:
    from octavo.tui.render import openapi_finder  # as few

    return await openapi_finder.load_operation(wanted)


async def _load_operation_lines(laid: OperationLayout) -> list[Line]:
    from octavo.tui.render import openapi_finder  # as few

    return await openapi_finder.load_operation_lines(laid)
