"""Where a page gets what does not stand in its text."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from octavo.tui.render import highlight
from octavo.tui.render.caches import AsyncCache
from octavo.tui.render.styles import Styles

if TYPE_CHECKING:
    from octavo.documents import links
    from octavo.documents.openapi import Operation, Specification
    from octavo.tui.render.half_block_pictures import ThumbnailQuery
    from octavo.tui.render.link_targets import LinkTargets, LinkTitle, TitleQuery
    from octavo.tui.render.styled_lines import Line
    from octavo.tui.terminal.scaled_picture import ScaledPicture


class DiagramQuery(NamedTuple):
    """What to draw: the source without its settings and remarks, and whether with ASCII only."""

    source: str
    ascii: bool


@dataclass(frozen=True)
class DrawnDiagram:
    """Drawings of one diagram, each as its lines, the roomiest first. Without any, `problem` says why."""

    drawings: tuple[tuple[str, ...], ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class OperationQuery:
    """What a block shows of a specification."""

    specification: Specification
    variant: str
    """operation, webhook, schemas or file."""
    method: str = ""
    path: str = ""
    """Of a webhook its name."""
    schemas: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundOperation:
    """What was found of it: nothing, when the specification has no such operation."""

    operation: Operation | None


@dataclass(frozen=True, slots=True)
class OperationLayout:
    """How what is wanted is to be set."""

    query: OperationQuery
    width: int
    styles: Styles


@dataclass
class DeferredContent:
    """What is found after the first paint, by what it is. What is None is never asked for."""

    tokens: AsyncCache[highlight.CodeQuery, highlight.Tokens] | None = field(
        default_factory=lambda: AsyncCache(highlight.highlight_code)
    )
    """Code in the colours of its language."""
    diagrams: AsyncCache[DiagramQuery, DrawnDiagram] | None = None
    """Diagrams as text."""

    thumbnails: AsyncCache[ThumbnailQuery, ScaledPicture] | None = None
    """Pictures of the page, small, where they are wanted within it."""
    specifications: AsyncCache[str | links.Target, Specification] | None = None
    """Descriptions of interfaces, by the name they are filed under or what their address leads to."""
    operations: AsyncCache[OperationQuery, FoundOperation] | None = None
    """What blocks show of those descriptions."""
    details: AsyncCache[OperationLayout, list[Line]] | None = None
    """The same set into lines, where it is opened."""
    specifications_of: tuple[str, int] | None = None
    """The organization they are filed in, and how often one was read anew by then."""
    titles: AsyncCache[TitleQuery, LinkTitle] | None = None
    """What links lead to that leave the space, and files."""
    targets: LinkTargets | None = None
    """Where the links of the page on show lead. Its pages it knows at once, for all else it has `titles`."""

    def __iter__(self) -> Iterator[AsyncCache[Any, Any]]:
        return (cache for cache in vars(self).values() if isinstance(cache, AsyncCache))

    def for_thread(self) -> DeferredContent:
        """Return the same sources for another thread: what it misses is known to nobody else."""
        other = copy(self)
        for name, cache in vars(self).items():
            if isinstance(cache, AsyncCache):
                setattr(other, name, cache.for_thread())
        if self.targets is not None:
            other.targets = self.targets.with_titles(other.titles)
        return other

    def take_missing(self, of: DeferredContent | None = None) -> list[tuple[AsyncCache[Any, Any], Any]]:
        """What was asked since the last time and is not known: who was asked, and for what. `of`: the sources that these
        were made of for a thread, of which each is named."""
        taken = [(asked, key) for cache, asked in zip(self, of or self, strict=True) for key in cache.missing]
        for cache in self:
            cache.missing.clear()
        return taken
