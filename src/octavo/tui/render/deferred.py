"""Deferred content of a page: all that is loaded after the first paint, and the queries for it."""

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
    from octavo.tui.terminal.graphics import ScaledPicture


class DiagramQuery(NamedTuple):
    """Diagram to draw: its normalized source, and whether only ASCII is allowed."""

    source: str
    ascii: bool


@dataclass(frozen=True)
class DrawnDiagram:
    """Drawings of one diagram, the widest first, or the reason why there is none."""

    drawings: tuple[tuple[str, ...], ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class OperationQuery:
    """Part of an OpenAPI specification that a block refers to."""

    specification: Specification
    variant: str
    """One of operation, webhook, schemas and file."""
    method: str = ""
    path: str = ""
    """Path of the operation, or name of the webhook."""
    schemas: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundOperation:
    """Result of looking up an operation. None if the specification does not have the operation."""

    operation: Operation | None


@dataclass(frozen=True, slots=True)
class OperationLayout:
    """Request to lay out the details of an operation."""

    query: OperationQuery
    width: int
    styles: Styles


@dataclass
class DeferredContent:
    """Content of a page that is loaded after the first paint, by kind. A kind that is None is never loaded."""

    tokens: AsyncCache[highlight.CodeQuery, highlight.Tokens] | None = field(
        default_factory=lambda: AsyncCache(highlight.highlight_code)
    )
    """Tokens of code blocks, for syntax highlighting."""
    diagrams: AsyncCache[DiagramQuery, DrawnDiagram] | None = None
    """Diagrams drawn as text."""

    thumbnails: AsyncCache[ThumbnailQuery, ScaledPicture] | None = None
    """Small images, if the settings show them in pages."""
    specifications: AsyncCache[str | links.Target, Specification] | None = None
    """OpenAPI specifications, by name or by the target of their address."""
    operations: AsyncCache[OperationQuery, FoundOperation] | None = None
    """Operations in those specifications."""
    details: AsyncCache[OperationLayout, list[Line]] | None = None
    """Rendered details of operations that are expanded."""
    specifications_of: tuple[str, int] | None = None
    """Organization of the specifications, and how many refreshes of them had happened."""
    titles: AsyncCache[TitleQuery, LinkTitle] | None = None
    """Titles of link targets outside the space, and of files."""
    targets: LinkTargets | None = None
    """Targets of the links of the page. Pages of the space are known at once, other titles come from `titles`."""

    def __iter__(self) -> Iterator[AsyncCache[Any, Any]]:
        return (cache for cache in vars(self).values() if isinstance(cache, AsyncCache))

    def for_thread(self) -> DeferredContent:
        """Return the same content for use in another thread, with its own lists of missing keys."""
        other = copy(self)
        for name, cache in vars(self).items():
            if isinstance(cache, AsyncCache):
                setattr(other, name, cache.for_thread())
        if self.targets is not None:
            other.targets = self.targets.with_titles(other.titles)
        return other

    def take_missing(self, of: DeferredContent | None = None) -> list[tuple[AsyncCache[Any, Any], Any]]:
        """Return and clear the keys that were missing: each with its cache. `of`: the content that this copy for a
        thread was made of, whose caches are returned."""
        taken = [(asked, key) for cache, asked in zip(self, of or self, strict=True) for key in cache.missing]
        for cache in self:
            cache.missing.clear()
        return taken
