"""What a merge leaves to a person, and the parts of a text it is among."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from octavo.documents.merging.segments import is_blank


@dataclass(frozen=True)
class Conflict:
    """The smallest part that both sides changed, each in its way. A side that has deleted it, or never had it, is empty.

    What only one of them changed within it is in all three texts.
    """

    base: str | None
    """None where it is not known."""
    main: str
    proposed: str
    kind: str = "paragraph"
    """That of `segments`, or "moved": the primary content has it here."""
    frame: tuple[str, str] = field(default=("", ""), compare=False, repr=False)
    """What stands around it where it is read alone: the head of a table, the marks of a code block."""
    moved_to: int | None = field(default=None, compare=False, repr=False)
    """What both sides moved: the number that both its places share. One decision is about both."""
    is_second: bool = field(default=False, compare=False, repr=False)
    """Whether this is the place where the change request has what both moved."""

    def framed(self, text: str) -> str:
        """`text` as it can be read alone: a row below the head of its table, a line as code, an item not indented."""
        text = text.lstrip("\n")
        if not text:
            return ""
        if self.frame != ("", ""):
            return self.frame[0] + (text if text.endswith("\n") or not self.frame[1] else text + "\n") + self.frame[1]
        lines = text.split("\n")
        indent = len(lines[0]) - len(lines[0].lstrip(" \t"))
        return "\n".join(line[indent:] if is_blank(line[:indent]) else line.lstrip(" \t") for line in lines)


Leaf: TypeAlias = "str | Conflict"


@dataclass(frozen=True)
class Undecided:
    """A block with conflicts in it: what of it is decided, and what is not, in order."""

    pieces: tuple[Leaf, ...]

    @property
    def conflicts(self) -> list[Conflict]:
        return [piece for piece in self.pieces if isinstance(piece, Conflict)]

    def side(self, of: Literal["main", "proposed"]) -> str:
        """What one of the sides makes of it."""
        return "".join(piece if isinstance(piece, str) else getattr(piece, of) for piece in self.pieces)


Part: TypeAlias = str | Undecided
"""Text that is decided, or a block that is not."""
