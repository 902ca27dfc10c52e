"""A merged page: its text, and conflicts that the user must resolve. Also reads conflicts from conflict markers."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from octavo.documents.source_blocks import SourceBlock
from octavo.documents.source_reader import find_markers

ChoiceKind: TypeAlias = Literal["main", "request", "both", "words", "own"]
MAIN_LABEL = "main"
SIDES: tuple[ChoiceKind, ChoiceKind] = ("main", "request")
NEVER_BOTH = frozenset({"head", "field", "front", "moved"})
"""Kinds of conflicts that cannot be resolved by keeping the texts of both sides."""

Context: TypeAlias = tuple[str, str]
"""Text to show before and after the text of a conflict, such as the head of its table."""
NO_CONTEXT: Context = ("", "")


@dataclass(frozen=True)
class MergeChoice:
    """The choice of a user for a conflict. The kind `words` is the merge word by word."""

    kind: ChoiceKind
    text: str = ""
    """The text that the user wrote, if the kind is `own`."""


@dataclass(eq=False)
class Conflict:
    """Text that both sides changed differently. `main` or `request` is None if that side has no text."""

    kind: str
    """The kind of block, or `blocks` (several), `head` (of a container or table), `columns`, `moved` or `fields`."""
    base: str | None
    """The text in the base. Empty if both sides added their text. None if the base is unknown."""
    main: str | None
    request: str | None
    both: str | None = None
    """The text if the user keeps both sides. None if no text would be left. Not used for the kinds in `NEVER_BOTH`."""
    merged_text: str | None = None
    """The text merged word by word. None if it cannot be merged."""
    is_merged_by_default: bool = False
    """True if `merged_text` is used as long as the user makes no choice."""
    context: Context = NO_CONTEXT
    base_text_page_id: str | None = None
    """The ID of the page to which main moved the text of the base. None if main did not move the text."""
    deciding_conflict: Conflict | None = None
    """Another conflict of the same moved text, whose choice also resolves this conflict. None if there is none."""
    moved_blocks: frozenset[SourceBlock] = frozenset()
    """Blocks that a side moved here or away from here, or that count as moved (step 5 of page_merge.py)."""

    def text(self, choice: MergeChoice) -> str | None:
        """Return the text that replaces the conflict if the user makes `choice`. None to leave no text."""
        if choice.kind != "own":
            merged_text = self.both if self.merged_text is None else self.merged_text
            return {"main": self.main, "request": self.request, "both": self.both, "words": merged_text}[choice.kind]
        if self.deciding_conflict is not None:
            return None if self.kind == "moved" else self.main
        return choice.text.strip("\n") or None

    def in_context(self, text: str | None) -> str:
        """Return `text` as readable Markdown: with the table head if it is a row, else not indented. Empty for None."""
        if not text:
            return ""
        if self.context != NO_CONTEXT:
            return f"{self.context[0]}{text}{self.context[1]}"
        indent = len(text) - len(text.lstrip(" \t"))
        lines = (line[indent:] if not line[:indent].strip() else line.lstrip(" \t") for line in text.split("\n"))
        return "\n".join(lines)


_Choose: TypeAlias = Callable[[Conflict], MergeChoice | None]
"""A function that returns the choice for a conflict. None if the user has not resolved it."""


@dataclass(eq=False)
class MergedChild:
    """A child of a merged block, with the white space between this and the next child."""

    content: str | Conflict | MergedBlock | MoveEnd
    gap: str


@dataclass(eq=False)
class MergedBlock:
    """A block of a merged page, merged part by part. `head` and `tail` are the text before and after the children."""

    kind: str
    head: str | Conflict
    space_before_children: str
    children: list[MergedChild]
    space_after_children: str
    tail: str
    marker: str = ""
    """Bullet that all merged items of a list get. `1` to number the merged items, because each version numbers its
    items consecutively. Empty to leave the items as they are."""

    @property
    def can_contain_markers(self) -> bool:
        """True if conflict markers may be inside the block. False if they are around it, as for lists and tables."""
        return self.kind in ("page", "container") and not isinstance(self.head, Conflict)


@dataclass(eq=False)
class MoveEnd:
    """The old or new position of moved text. Stands for `conflict` if `is_in_conflict`, else for `children`."""

    children: list[MergedChild]
    conflict: Conflict
    is_in_conflict: bool = False


class Fragment(NamedTuple):
    """A piece of the text of a page. `conflict` is the conflict that it comes from, or None."""

    text: str
    conflict: Conflict | None = None


@dataclass
class MergedPage:
    """A merged page. Its text depends on how the conflicts are resolved."""

    root: MergedBlock
    line_end: str = "\n"

    def with_conflict_at_start(self, conflict: Conflict) -> MergedPage:
        """Return a page that begins with `conflict`, before the content of this page."""
        children = [MergedChild(conflict, "\n\n"), MergedChild(self.root, "")]
        return MergedPage(MergedBlock("page", "", "", children, "", ""), self.line_end)

    @cached_property
    def all_named_conflicts(self) -> list[tuple[str, Conflict]]:
        """Name and conflict of all conflicts, in page order. Conflicts that one choice resolves have the same name."""
        name_counts, names, conflicts_in_order = Counter[str](), dict[Conflict, str](), list(conflicts_in(self.root))
        for conflict in (each for each in conflicts_in_order if each.deciding_conflict is None):
            digest = _digest(conflict)
            name_counts[digest] += 1
            names[conflict] = f"{digest}-{name_counts[digest]}"
        return [(names[each.deciding_conflict or each], each) for each in conflicts_in_order]

    @property
    def named_conflicts(self) -> list[tuple[str, Conflict]]:
        """Name and conflict for each choice that the user can make, in page order."""
        return [(name, each) for name, each in self.all_named_conflicts if each.deciding_conflict is None]

    @property
    def conflicts(self) -> list[Conflict]:
        """The conflicts that the user must resolve. Conflicts that are merged by default are left out."""
        return [each for _, each in self.named_conflicts if not each.is_merged_by_default]

    def text(
        self, choices: Mapping[str, MergeChoice] | None = None, *, request: str = "", main: str = MAIN_LABEL
    ) -> str:
        """Return the text of the page. `choices` has the user's choices by name of the conflict. Without choice, a
        conflict gets its suggested text, else conflict markers with the labels `main` and `request`."""
        suggested_choices = {
            each: MergeChoice("words")
            for _, each in self.all_named_conflicts
            if (each.deciding_conflict or each).is_merged_by_default
        }
        choice_of = {
            each: (choices or {}).get(name, suggested_choices.get(each)) for name, each in self.all_named_conflicts
        }
        assembler = _Assembler(choice_of.__getitem__, labels=(main, request))
        text = "".join(each.text for each in assembler.fragments(self.root) or ())
        return text.replace("\n", "\r\n") if self.line_end == "\r\n" else text

    def text_with_choice(self, kind: ChoiceKind) -> str:
        """Return the text of the page if all conflicts are resolved by a choice of `kind`."""
        return self.text({name: MergeChoice(kind) for name, _ in self.named_conflicts})

    def fragments_of_main(self) -> list[Fragment]:
        """Return the text of the page in pieces, with main's side of each conflict."""
        return _Assembler(lambda _: None).fragments(self.root) or []


def conflicts_in(content: str | Conflict | MergedBlock) -> Iterator[Conflict]:
    """Yield the conflicts in merged content, in order."""
    if isinstance(content, Conflict):
        yield content
    elif isinstance(content, MergedBlock):
        yield from conflicts_in(content.head)
        for each, _ in contents_and_gaps(content.children):
            yield from conflicts_in(each)


def contents_and_gaps(children: Sequence[MergedChild]) -> Iterator[tuple[str | Conflict | MergedBlock, str]]:
    """Yield the content of each child, and the space after it. For a `MoveEnd`, yield its conflict if it is in
    conflict, else its children."""
    for child in children:
        if not isinstance(child.content, MoveEnd):
            yield child.content, child.gap
        elif child.content.is_in_conflict:
            yield child.content.conflict, child.gap
        else:
            yield from contents_and_gaps(child.content.children)


class _Assembler:
    """Puts together the text of a page from merged content and the choices for its conflicts."""

    def __init__(self, choose: _Choose, side: ChoiceKind = "main", labels: tuple[str, str] | None = None) -> None:
        self._choose, self._side, self._labels = choose, MergeChoice(side), labels

    def fragments(self, content: str | Conflict | MergedBlock) -> list[Fragment] | None:
        """Return the text of merged content in pieces. None if no text is left."""
        if isinstance(content, str):
            return [Fragment(content)]
        if self._labels is not None and self._is_marked(content):
            main, request = (text_of_side(content, side, self._choose) for side in SIDES)
            return [Fragment(with_markers(main, request, *self._labels))]
        if isinstance(content, Conflict):
            text = content.text(self._choose(content) or self._side)
            return None if text is None else [Fragment(text, content)]
        children = [(each, self.fragments(each), gap) for each, gap in contents_and_gaps(content.children)]
        remaining_children = [
            (fragments, gap, self._is_marked(each)) for each, fragments, gap in children if fragments is not None
        ]
        if content.kind == "list" and children and not remaining_children:
            return None
        if content.marker:
            _set_markers([fragments for fragments, _, _ in remaining_children], content.marker)
        head = self.fragments(content.head) or []
        gaps = iter(self._gaps(content, [(gap, is_marked) for _, gap, is_marked in remaining_children]))
        result = [*head, Fragment(next(gaps))]
        for each, fragments, _ in children:
            if fragments is None:
                result += [Fragment("", conflict) for conflict in conflicts_in(each)]
            else:
                result += [*fragments, Fragment(next(gaps))]
        return [*result, Fragment(content.tail)]

    def _gaps(self, block: MergedBlock, children: list[tuple[str, bool]]) -> Iterator[str]:
        """Yield the white space before the first child and after each child. `children` has pairs: the white space
        after the child, and whether conflict markers are around it. Markers get blank lines around them."""
        if not children:
            yield block.space_before_children if block.tail else ""
            return
        inner_gaps = (gap for gap, _ in children[:-1])
        for number, gap in enumerate([block.space_before_children, *inner_gaps, block.space_after_children]):
            is_inner = (number > 0 or bool(block.head)) and (number < len(children) or bool(block.tail))
            is_by_markers = any(is_marked for _, is_marked in children[max(0, number - 1) : number + 1])
            yield "\n\n" if is_inner and is_by_markers and gap.count("\n") < 2 else gap

    def _is_marked(self, content: str | Conflict | MergedBlock) -> bool:
        """Return whether the whole `content`, not only parts of it, is written between conflict markers."""
        if self._labels is None or (isinstance(content, MergedBlock) and content.can_contain_markers):
            return False
        if isinstance(content, Conflict) and content.main is None and content.request is None:
            return False  # Both sides moved the text away, so there is nothing to mark.
        return any(self._choose(conflict) is None for conflict in conflicts_in(content))


def _set_markers(items: list[list[Fragment]], marker: str) -> None:
    """Number `items` on from the first if `marker` is `1`, else set the bullet `marker`. Stop at another list type."""
    first: int | None = None
    for count, fragments in enumerate(items):
        index = next((n for n, each in enumerate(fragments) if each.text), None)
        marker_match = re.match(r"(\s*)(?:(\d{1,9})[.)]|[*+-])", fragments[index].text) if index is not None else None
        if index is None or marker_match is None or (marker_match[2] is None) is (marker == "1"):
            return
        text = fragments[index].text
        if marker == "1":
            first = int(marker_match[2]) if first is None else first
            text = text[: marker_match.start(2)] + str(first + count) + text[marker_match.end(2) :]
        else:  # The text of a conflict may have several items.
            text = re.sub(rf"(?m)^({marker_match[1]})[*+-](?=[ \t])", rf"\1{marker}", text)
        fragments[index] = fragments[index]._replace(text=text)


def text_of_side(
    content: str | Conflict | MergedBlock, side: ChoiceKind, choose: _Choose = lambda _: None
) -> str | None:
    """Return merged content as text. If `choose` leaves a conflict open, use `side`. None if no text is left."""
    fragments = _Assembler(choose, side).fragments(content)
    return None if fragments is None else "".join(each.text for each in fragments)


def with_markers(main: str | None, request: str | None, main_label: str, request_label: str) -> str:
    """Return the texts of both sides between conflict markers, with blank lines. None and empty texts are left out."""
    parts = (f"<<<<<<< {main_label}", main, "=======", request, f">>>>>>> {request_label}")
    return "\n\n".join(part.strip("\n") for part in parts if part and part.strip("\n"))


def _digest(conflict: Conflict) -> str:
    sides = "\0".join((text or "").strip("\n") for text in (conflict.main, conflict.request))
    return hashlib.sha256(sides.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class _MarkedContent(NamedTuple):
    """Content that is written between conflict markers, and the white space around it."""

    content: Conflict | MergedBlock
    space_before: str
    space_after: str


def read_marked_page(text: str, original_merge: MergedPage | None = None) -> MergedPage:
    """Read a page with conflict markers. Conflicts that were written from `original_merge` keep their base."""
    lines = text.split("\n")
    contents_by_sides: dict[tuple[str, str], list[_MarkedContent]] = {}
    for each in _contents_between_markers(original_merge.root) if original_merge is not None else ():
        side_texts = [_strip_blank_lines(text_of_side(each.content, side) or "") for side in SIDES]
        contents_by_sides.setdefault((side_texts[0], side_texts[1]), []).append(each)
    children: list[MergedChild] = []
    end = 0
    for markers in find_markers(text):
        main = "\n".join(lines[markers.first + 1 : markers.middle])
        request = "\n".join(lines[markers.middle + 1 : markers.last])
        same_sides = contents_by_sides.get((_strip_blank_lines(main), _strip_blank_lines(request)))
        original_content = same_sides.pop(0) if same_sides else None
        _add_text(
            children,
            "\n".join(lines[end : markers.first]),
            original_content.space_before if original_content is not None else None,
        )
        end = markers.last + 1
        text_start = end
        while text_start < len(lines) - 1 and not lines[text_start].strip():
            text_start += 1
        gap = "\n" + "".join(line + "\n" for line in lines[end:text_start])
        end = text_start
        if original_content is not None:
            children.append(
                MergedChild(original_content.content, original_content.space_after if gap == "\n\n" else gap)
            )
        else:
            sides = [each or None for each in (_strip_blank_lines(main), _strip_blank_lines(request))]
            both = "\n\n".join(side for side in sides if side is not None)
            children.append(MergedChild(Conflict("blocks", None, sides[0], sides[1], both=both), gap))
    _add_text(children, "\n".join(lines[end:]), None)
    ends_with_gap = children and children[-1].gap.startswith("\n") and text.endswith("\n")
    return MergedPage(MergedBlock("page", "", "", children, "\n" if ends_with_gap else "", ""))


def _add_text(children: list[MergedChild], text: str, gap: str | None) -> None:
    """Add the `text` before a conflict, or at the end of the page, to `children`. `gap` is the original white space
    after `text`, or None if unknown. If `text` ends with one blank line, `gap` replaces this line."""
    if not text:
        return
    stripped = text.rstrip("\n")
    actual_gap = text[len(stripped) :] + "\n"
    children.append(MergedChild(stripped, gap if gap is not None and actual_gap == "\n\n" else actual_gap))


def _contents_between_markers(block: MergedBlock) -> Iterator[_MarkedContent]:
    """Yield the parts of a merged block that get conflict markers while they are unresolved, each with the white space
    around it."""
    gap = block.space_before_children
    for number, (content, after) in enumerate(contents := list(contents_and_gaps(block.children)), 1):
        gap_after = after if number < len(contents) else block.space_after_children
        if isinstance(content, Conflict):
            yield _MarkedContent(content, gap, gap_after)
        elif isinstance(content, MergedBlock) and any(conflicts_in(content)):
            if content.can_contain_markers:
                yield from _contents_between_markers(content)
            else:
                yield _MarkedContent(content, gap, gap_after)
        gap = after


def _strip_blank_lines(text: str) -> str:
    lines = text.split("\n")
    filled_numbers = [number for number, line in enumerate(lines) if line.strip()]
    return "\n".join(lines[filled_numbers[0] : filled_numbers[-1] + 1]) if filled_numbers else ""
