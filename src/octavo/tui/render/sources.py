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
    from octavo.tui.page.found_late import Diagram, Drawn, Laid, Read, Wanted
    from octavo.tui.page.lines import Line
    from octavo.tui.page.pictures import Thumb
    from octavo.tui.page.targets import Asked, Named, Targets
    from octavo.tui.small_pictures import Small


@dataclass
class Sources:
    """What is found after the first paint, by what it is. What is None is never asked for."""

    tokens: Late[highlight.Code, highlight.Tokens] | None = field(default_factory=lambda: Late(highlight.find))
    """Code in the colours of its language."""
    diagrams: Late[Diagram, Drawn] | None = None
    """Diagrams as text."""

    thumbnails: Late[Thumb, Small] | None = None
    """Pictures of the page, small, where they are wanted within it."""
    specifications: Late[str | links.Target, Specification] | None = None
    """Descriptions of interfaces, by the name they are filed under or what their address leads to."""
    operations: Late[Wanted, Read] | None = None
    """What blocks show of those descriptions."""
    details: Late[Laid, list[Line]] | None = None
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
