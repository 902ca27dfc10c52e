"""Where a page gets what does not stand in its text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from octavo.tui.page import highlight
from octavo.tui.page.late import Late

if TYPE_CHECKING:
    from octavo.documents import links
    from octavo.documents.openapi import Specification
    from octavo.tui.page import describing, diagrams
    from octavo.tui.page.lines import Line
    from octavo.tui.page.pictures import Small, Thumb
    from octavo.tui.page.targets import Asked, Named, Targets


async def _drawn(diagram: diagrams.Diagram) -> diagrams.Drawn:
    from octavo.tui.page import diagrams  # few pages have any

    return await diagrams.find(diagram)


async def _described(wanted: describing.Wanted) -> describing.Read:
    from octavo.tui.page import describing  # as few

    return await describing.find_operation(wanted)


async def _laid(laid: describing.Laid) -> list[Line]:
    from octavo.tui.page import describing  # as few

    return await describing.find_lines(laid)


@dataclass
class Sources:
    """What is found after the first paint, by what it is. What is None is never asked for."""

    tokens: Late[highlight.Code, highlight.Tokens] | None = field(default_factory=lambda: Late(highlight.find))
    """Code in the colours of its language."""
    diagrams: Late[diagrams.Diagram, diagrams.Drawn] | None = field(default_factory=lambda: Late(_drawn))
    """Diagrams as text."""

    thumbnails: Late[Thumb, Small] | None = None
    """Pictures of the page, small, where they are wanted within it."""
    specifications: Late[str | links.Target, Specification] | None = None
    """Descriptions of interfaces, by the name they are filed under or what their address leads to."""
    operations: Late[describing.Wanted, describing.Read] | None = field(default_factory=lambda: Late(_described))
    """What blocks show of those descriptions."""
    details: Late[describing.Laid, list[Line]] | None = field(default_factory=lambda: Late(_laid, keep=20))
    """The same set into lines, where it is opened."""
    specifications_of: str | None = None
    """The organization they are filed in."""
    titles: Late[Asked, Named] | None = None
    """What links lead to that leave the space, and files."""
    targets: Targets | None = None
    """Where the links of the page on show lead. Its pages it knows at once, for all else it has `titles`."""

    def __iter__(self) -> Iterator[Late[Any, Any]]:
        return (late for late in vars(self).values() if isinstance(late, Late))

    def take_missed(self) -> list[tuple[Late[Any, Any], Any]]:
        """What was asked since the last time and is not known: who was asked, and for what."""
        taken = [(late, key) for late in self for key in late.missed]
        for late in self:
            late.missed.clear()
        return taken
