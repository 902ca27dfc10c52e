"""The result of a merge of a page: text that is settled, and the conflicts that a person resolves."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from octavo.documents.merging.source_blocks import SourceBlock

Side: TypeAlias = Literal["main", "this", "both", "words", "own"]
MAIN_LABEL = "main"


@dataclass(frozen=True)
class Choice:
    """How a conflict is resolved: by main's text, the change request's, both, both merged by words, or text of one's own."""

    side: Side
    text: str = ""
    """The text for `own`."""


@dataclass(eq=False)
class Conflict:
    """A place where main and the change request changed the same. A side that has nothing there is None."""

    kind: str
    """What it is about: the kind of a block, `blocks`, `head` (of a container), `columns` or `moved`."""
    base: str | None
    """None if both sides added it, or if the base is not known."""
    main: str | None
    request: str | None
    both: str | None = None
    words: str | None = None
    """Both changes in one text, if they are changes of different words."""
    is_suggested: bool = False
    """Whether `words` is the result as long as nothing else is chosen."""
    context: tuple[str, str] = ("", "")
    """Text before and behind it that makes it readable alone: the head of a table, the fences of code."""
    moved_to: str | None = None
    """The id of the page that holds the text of the base now, if main moved it to another page."""
    decided_with: Conflict | None = None
    """The conflict whose choice decides this one too: the other place of a text that was moved."""
    moves: frozenset[SourceBlock] = frozenset()
    """Blocks of the base that a side moved to or from here."""

    def text(self, choice: Choice) -> str | None:
        """Return the text that a choice makes of it. None if nothing is left."""
        match choice.side:
            case "main":
                return self.main
            case "this":
                return self.request
            case "both":
                return self.both
            case "words":
                return self.both if self.words is None else self.words
            case "own":
                if self.decided_with is not None:
                    return None if self.kind == "moved" else self.main
                return choice.text.strip("\n") or None

    def in_context(self, text: str | None) -> str:
        """Return a text of it as it is read alone: a row below the head of its table, an item that is not indented."""
        if not text:
            return ""
        if self.context != ("", ""):
            return f"{self.context[0]}{text}{self.context[1]}"
        indent = len(text) - len(text.lstrip(" \t"))
        return "\n".join(
            line[indent:] if not line[:indent].strip() else line.lstrip(" \t") for line in text.split("\n")
        )


@dataclass(eq=False)
class Piece:
    """A child of a merged block, and the whitespace before the next child."""

    content: str | Conflict | MergedBlock | MovedPlace
    gap: str


@dataclass(eq=False)
class MergedBlock:
    """A block that all sides have, with what was merged in it."""

    kind: str
    head: str | Conflict
    opening: str
    pieces: list[Piece]
    end: str
    tail: str
    is_numbered: bool = False
    """Whether its items count on from the first in all versions, so that they do in the merged one."""

    @property
    def is_divided(self) -> bool:
        """Whether marks can be in it. A list, a table or code is between marks as a whole."""
        return self.kind in ("page", "container") and not isinstance(self.head, Conflict)


@dataclass(eq=False)
class MovedPlace:
    """A place that text was moved to or from. It is settled, unless another place of that text is in conflict: then both places
    are one decision."""

    settled: list[Piece]
    conflict: Conflict
    is_in_conflict: bool = False


class Fragment(NamedTuple):
    """A part of the text of a page, and the conflict that it stands for."""

    text: str
    conflict: Conflict | None = None


@dataclass
class MergedPage:
    """A merged page. Its text depends on the choices made for its conflicts."""

    root: MergedBlock
    line_end: str = "\n"
    _names: dict[Conflict, str] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of_text(cls, text: str) -> MergedPage:
        """Return a page without conflicts."""
        return cls(MergedBlock("page", text, "", [], "", ""))

    def behind(self, conflict: Conflict) -> MergedPage:
        """Return the page with a conflict before its text."""
        pieces = [Piece(conflict, "\n\n"), Piece(self.root, "")]
        return MergedPage(MergedBlock("page", "", "", pieces, "", ""), self.line_end)

    @cached_property
    def places(self) -> list[tuple[str, Conflict]]:
        """Every place of a conflict in order, with the name of the conflict. The name stays the same while both sides do."""
        seen: dict[str, int] = {}
        for conflict in (each for each in conflicts_in(self.root) if each.decided_with is None):
            digest = _digest(conflict)
            seen[digest] = seen.get(digest, 0) + 1
            self._names[conflict] = f"{digest}-{seen[digest]}"
        return [(self._names[each.decided_with or each], each) for each in conflicts_in(self.root)]

    @property
    def named(self) -> list[tuple[str, Conflict]]:
        """The conflicts in order, each once, with its name."""
        return [(name, each) for name, each in self.places if each.decided_with is None]

    @property
    def conflicts(self) -> list[Conflict]:
        """The conflicts that have to be resolved: those without a suggested result."""
        return [each for _, each in self.named if not each.is_suggested]

    def text(self, choices: Mapping[str, Choice] | None = None, *, request: str = "", main: str = MAIN_LABEL) -> str:
        """Return the text with the choices made, by the names of conflicts. Blocks with other conflicts are between marks that
        name both sides: `main`, and the change request as `request`."""
        text = _Writer(self._choice_by(choices or {}), main, request).block(self.root)
        return text.replace("\n", "\r\n") if self.line_end == "\r\n" else text

    def decided(self, side: Side) -> str:
        """Return the text with the same choice for every conflict."""
        return self.text({name: Choice(side) for name, _ in self.named})

    def fragments(self, choose: Callable[[Conflict], str | None]) -> list[Fragment]:
        """Return the text in order, with `choose` to say what is in the place of each conflict."""
        return assemble(self.root, choose) or []

    def _choice_by(self, choices: Mapping[str, Choice]) -> Callable[[Conflict], Choice | None]:
        names = {each: name for name, each in self.places}

        def choice(conflict: Conflict) -> Choice | None:
            suggested = Choice("words") if (conflict.decided_with or conflict).is_suggested else None
            return choices.get(names[conflict], suggested)

        return choice


def conflicts_in(content: str | Conflict | MergedBlock) -> Iterator[Conflict]:
    """Yield the conflicts of a part of a page, in order."""
    if isinstance(content, Conflict):
        yield content
    elif isinstance(content, MergedBlock):
        yield from conflicts_in(content.head)
        for each, _ in spread(content.pieces):
            yield from conflicts_in(each)


def spread(pieces: Sequence[Piece]) -> Iterator[tuple[str | Conflict | MergedBlock, str]]:
    """Yield what pieces hold, each with the whitespace behind it."""
    for piece in pieces:
        if not isinstance(piece.content, MovedPlace):
            yield piece.content, piece.gap
        elif piece.content.is_in_conflict:
            yield piece.content.conflict, piece.gap
        else:
            yield from spread(piece.content.settled)


def assemble(content: str | Conflict | MergedBlock, choose: Callable[[Conflict], str | None]) -> list[Fragment] | None:
    """Return the text of a part of a page. None if nothing is left of it."""
    if isinstance(content, str):
        return [Fragment(content)]
    if isinstance(content, Conflict):
        text = choose(content)
        return None if text is None else [Fragment(text, content)]
    children = [(each, assemble(each, choose), gap) for each, gap in spread(content.pieces)]
    kept = [fragments for _, fragments, _ in children if fragments is not None]
    if content.kind == "list" and children and not kept:
        return None
    if content.is_numbered:
        _renumber(kept)
    result = assemble(content.head, choose) or []
    if kept or content.tail:
        result.append(Fragment(content.opening))
    for each, fragments, gap in children:
        if fragments is None:
            result += [Fragment("", conflict) for conflict in conflicts_in(each)]
            continue
        result += fragments
        result.append(Fragment(gap if fragments is not kept[-1] else content.end))
    return [*result, Fragment(content.tail)]


def _renumber(items: list[list[Fragment]]) -> None:
    """Count on from the number of the first item."""
    first: int | None = None
    for count, fragments in enumerate(items):
        at = next((n for n, each in enumerate(fragments) if each.text), None)
        found = re.match(r"\s*(\d{1,9})[.)]", fragments[at].text) if at is not None else None
        if at is None or found is None:
            return
        first = int(found[1]) if first is None else first
        text = fragments[at].text
        fragments[at] = fragments[at]._replace(text=text[: found.start(1)] + str(first + count) + text[found.end(1) :])


class _Writer:
    """Writes a page with the choices made, and with marks around what has none."""

    def __init__(self, choice: Callable[[Conflict], Choice | None], main: str, request: str) -> None:
        self._choice, self._labels = choice, (main, request)

    def block(self, block: MergedBlock) -> str:
        """Return the text of a page or a container."""
        texts: list[tuple[str, str, bool]] = []
        for content, gap in spread(block.pieces):
            if is_marked := self._is_marked(content):
                text: str | None = self._marks(content)
            elif isinstance(content, MergedBlock) and content.is_divided:
                text = self.block(content)
            else:
                text = self._side(content, "main")
            if text is not None:
                texts.append((text, gap, is_marked))
        head = self._side(block.head, "main") or ""
        if not texts:
            return head + (block.opening if block.tail else "") + block.tail
        parts = [head, _apart(block.opening) if head and texts[0][2] else block.opening]
        for (text, gap, is_marked), following in zip(texts, [*texts[1:], None], strict=True):
            parts.append(text)
            if following is not None:
                parts.append(_apart(gap) if is_marked or following[2] else gap)
        parts += [_apart(block.end) if block.tail and texts[-1][2] else block.end, block.tail]
        return "".join(parts)

    def _is_marked(self, content: str | Conflict | MergedBlock) -> bool:
        """Return whether both sides of it are written between marks: marks are on lines of their own, around whole blocks."""
        if isinstance(content, MergedBlock):
            return not content.is_divided and any(self._choice(each) is None for each in conflicts_in(content))
        return isinstance(content, Conflict) and self._choice(content) is None

    def _marks(self, content: str | Conflict | MergedBlock) -> str:
        return marks(self._side(content, "main"), self._side(content, "this"), *self._labels)

    def _side(self, content: str | Conflict | MergedBlock, side: Side) -> str | None:
        """Return the text with the choices made, and with one side of the other conflicts."""
        found = assemble(content, lambda each: each.text(self._choice(each) or Choice(side)))
        return None if found is None else "".join(each.text for each in found)


def text_of(content: str | Conflict | MergedBlock, choice: Choice) -> str | None:
    """Return the text of a part of a page with the same choice for every conflict. None if nothing is left of it."""
    found = assemble(content, lambda each: each.text(choice))
    return None if found is None else "".join(each.text for each in found)


def marks(main: str | None, request: str | None, main_label: str, request_label: str) -> str:
    """Return both sides of a conflict between marks. Each mark is alone between blank lines."""
    parts = (f"<<<<<<< {main_label}", main, "=======", request, f">>>>>>> {request_label}")
    return "\n\n".join(part.strip("\n") for part in parts if part and part.strip("\n"))


def _apart(gap: str) -> str:
    return gap if gap.count("\n") > 1 else "\n\n"


def _digest(conflict: Conflict) -> str:
    sides = "\0".join((text or "").strip("\n") for text in (conflict.main, conflict.request))
    return hashlib.sha256(sides.encode("utf-8", "surrogatepass")).hexdigest()[:16]
