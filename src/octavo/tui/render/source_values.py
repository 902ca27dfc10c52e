"""What is asked of the sources of a page, and what they answer with: plain values that finders and setters share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from octavo.tui.render.styles import Styles

if TYPE_CHECKING:
    from octavo.documents.openapi import Operation, Specification


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
