"""Loaders of deferred content that need nothing but the page: diagrams, and operations of OpenAPI specifications."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from octavo.lazy_import import lazy
from octavo.tui.render.caches import AsyncCache
from octavo.tui.render.deferred import (
    CodeQuery,
    DeferredContent,
    DiagramQuery,
    DrawnDiagram,
    FoundOperation,
    OperationLayout,
    OperationQuery,
    Tokens,
    highlight_code,
)
from octavo.tui.render.layout import render_block
from octavo.tui.render.layout_context import Folds, LayoutContext

if TYPE_CHECKING:
    from octavo.tui.render.styled_lines import Line

_draw_diagram = lazy("octavo.tui.render.diagrams:draw_diagram")
_find_operation = lazy("octavo.tui.render.openapi:find_operation")
_render_operation_details = lazy("octavo.tui.render.openapi:render_operation_details")

_MOST_HIGHLIGHTED = 40
"""Maximum number of code blocks that are highlighted in the details of one operation."""


def deferred_content(*, diagrams: bool = True) -> DeferredContent:
    """Return the deferred content of a pane, with loaders for operations, and for diagrams if `diagrams`."""
    return DeferredContent(
        diagrams=AsyncCache(_load_diagram) if diagrams else None,
        operations=AsyncCache(load_operation),
        details=AsyncCache(load_operation_lines, capacity=20),
    )


async def _load_diagram(query: DiagramQuery) -> DrawnDiagram:
    drawn: DrawnDiagram = await _draw_diagram(query)
    return drawn


async def load_operation(query: OperationQuery) -> FoundOperation:
    """Find an operation or webhook in a thread."""
    return FoundOperation(await asyncio.to_thread(_find_operation, query))


async def load_operation_lines(layout: OperationLayout) -> list[Line]:
    """Lay out the details of an operation in a thread, and lay them out again once their code is highlighted."""
    tokens: AsyncCache[CodeQuery, Tokens] = AsyncCache(highlight_code)
    context = LayoutContext(layout.styles, Folds(), render_block, deferred=DeferredContent(tokens=tokens))

    def render() -> list[Line]:
        lines: list[Line] = _render_operation_details(
            context, layout.query, _find_operation(layout.query), layout.width
        )
        return lines

    lines = await asyncio.to_thread(render)
    if tokens.missing:
        for code in tokens.missing[:_MOST_HIGHLIGHTED]:
            tokens.request(code)
        while await tokens.load_requested():
            pass
        lines = await asyncio.to_thread(render)
    return lines
