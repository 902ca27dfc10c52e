"""The sources of a page view, with the finders that need nothing but the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.tui.page.late import Late
from octavo.tui.page.sources import Sources

if TYPE_CHECKING:
    from octavo.tui.page.found_late import Diagram, Drawn, Laid, Read, Wanted
    from octavo.tui.page.lines import Line


def sources(*, diagrams: bool = True) -> Sources:
    """Sources that find diagrams, where they are wanted, and what specifications describe."""
    return Sources(
        diagrams=Late(_drawn) if diagrams else None, operations=Late(_described), details=Late(_laid, keep=20)
    )


async def _drawn(diagram: Diagram) -> Drawn:
    from octavo.tui.page import diagrams  # few pages have any

    return await diagrams.find(diagram)


async def _described(wanted: Wanted) -> Read:
    from octavo.tui.page import describing  # as few

    return await describing.find_operation(wanted)


async def _laid(laid: Laid) -> list[Line]:
    from octavo.tui.page import describing  # as few

    return await describing.find_lines(laid)
