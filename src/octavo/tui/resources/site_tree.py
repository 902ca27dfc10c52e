"""The structure of a site: its parts as rows, and the results of moving a part or setting the default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from octavo.api.operation import Model
from octavo.api.site_structure import (
    OtherPart,
    Part,
    Pointer,
    Position,
    SectionGroup,
    SiteSection,
    SiteSpace,
    SiteStructure,
    Sort,
)

Movable = SiteSection | SectionGroup | SiteSpace


class PartRow(Model):
    """A row of the structure: a part, its depth, and the titles of all parts in it for the filter."""

    part: Part
    depth: int = 0
    child_titles: str = ""

    @property
    def id(self) -> str:
        """The ID of the part."""
        return self.part.id


def title_of(part: Part) -> str:
    """Return the title of a part."""
    space = part.space.title if isinstance(part, SiteSpace) and part.space is not None else ""
    return part.title or space or part.id or "Untitled"


def noun_of(part: Part) -> str:
    """Return the noun for a part."""
    match part:
        case SiteSection():
            return "section"
        case SectionGroup():
            return "group"
        case SiteSpace():
            return "space"
    return part.object.removeprefix("site-").replace("-", " ") or "part"


def children_of(part: Part) -> tuple[Part, ...]:
    """Return the direct children of a part with the ID of their parent, which some servers omit."""
    match part:
        case SiteSection():
            return tuple(each.model_copy(update={"section": part.id}) for each in part.site_spaces)
        case SectionGroup():
            held = part.children or part.sections
            return tuple(_in_group(each, part.id) for each in held)
    return ()


def _in_group(part: Part, group: str | None) -> Part:
    return part.model_copy(update={"section_group": group}) if isinstance(part, SiteSection | SectionGroup) else part


def part_rows(structure: SiteStructure) -> tuple[PartRow, ...]:
    """Return a row for each part, in the order of the site."""
    parts = list(walk(structure))
    titles = [title_of(part) for part, _ in parts]
    ends, within = [len(parts)] * len(parts), list[int]()
    for at, (_, depth) in enumerate(parts):
        while within and parts[within[-1]][1] >= depth:
            ends[within.pop()] = at
        within.append(at)
    found: dict[str, PartRow] = {}
    for at, (part, depth) in enumerate(parts):
        child_titles = " ".join(titles[at + 1 : ends[at]])
        found.setdefault(part.id, PartRow.model_construct(part=part, depth=depth, child_titles=child_titles))
    return tuple(found.values())


def walk(structure: SiteStructure) -> Iterator[tuple[Part, int]]:
    """Return all parts with their depth, each before its children."""
    waiting: list[tuple[Part, int]] = [(part, 0) for part in reversed(structure.structure)]
    while waiting:
        part, depth = waiting.pop()
        yield part, depth
        waiting += [(each, depth + 1) for each in reversed(children_of(part))]


def parent_id(part: Part) -> str | None:
    """Return the ID of a part's parent. None at the top level."""
    return part.section if isinstance(part, SiteSpace) else getattr(part, "section_group", None)


def pointer(part: Movable) -> Pointer:
    """Return the reference to a part for the move operation."""
    return Pointer(type=part.object, id=part.id)


def movable_children(structure: SiteStructure, holder: str | None) -> list[Movable]:
    """Return the movable children of a part, or of the site."""
    if holder is None:
        found: Sequence[Part] = structure.structure
    else:
        found = next((children_of(part) for part, _ in walk(structure) if part.id == holder), ())
    return [part for part in found if not isinstance(part, OtherPart)]


def step_position(structure: SiteStructure, part: Movable, step: Literal[-1, 1]) -> Position | None:
    """Return the position after moving a part up (-1) or down (1). None at the first or last place."""
    row = movable_children(structure, parent_id(part))
    ids = [each.id for each in row]
    to = ids.index(part.id) + step if part.id in ids else -1
    if not 0 <= to < len(row):
        return None
    return Position(before=pointer(row[to])) if step < 0 else Position(after=pointer(row[to]))


def current_position(structure: SiteStructure, part: Movable) -> Position | None:
    """Return the present position of a part, to undo a move. None if the part has no sibling."""
    row = movable_children(structure, parent_id(part))
    ids = [each.id for each in row]
    at = ids.index(part.id) if part.id in ids else 0
    if at > 0:
        return Position(after=pointer(row[at - 1]))
    return Position(before=pointer(row[1])) if len(row) > 1 else None


@dataclass(frozen=True)
class MoveTarget:
    """A possible parent of a part."""

    id: str | None
    """None for the site itself."""
    title: str
    depth: int
    children: tuple[Movable, ...]
    """Children of the parent without the part itself."""


def move_targets(structure: SiteStructure, part: Movable) -> list[MoveTarget]:
    """Return the possible parents of a part: sections for a space, and section groups or the site for other parts."""
    wanted = SiteSection if isinstance(part, SiteSpace) else SectionGroup
    below = {part.id} | {each.id for each, _ in walk(SiteStructure.model_construct(structure=children_of(part)))}
    found = [
        MoveTarget(each.id, title_of(each), depth, _other_children(structure, part, each.id))
        for each, depth in walk(structure)
        if isinstance(each, wanted) and each.id not in below
    ]
    if not isinstance(part, SiteSpace) or parent_id(part) is None:
        found.insert(0, MoveTarget(None, "Top level of the site", 0, _other_children(structure, part, None)))
    return found


def _other_children(structure: SiteStructure, part: Movable, holder: str | None) -> tuple[Movable, ...]:
    alike = SiteSpace if isinstance(part, SiteSpace) else (SiteSection, SectionGroup)
    return tuple(each for each in movable_children(structure, holder) if each.id != part.id and isinstance(each, alike))


def move_part(structure: SiteStructure, sort: Sort) -> SiteStructure:
    """Return the structure after a move. Unchanged if the part or its new sibling does not exist."""
    part = next((each for each, _ in walk(structure) if each.id == sort.item.id), None)
    beside = sort.position.before or sort.position.after
    if part is None or beside is None or all(each.id != beside.id for each, _ in walk(structure)):
        return structure
    step = 0 if sort.position.before else 1

    def arranged(parts: Sequence[Part], holder: str | None) -> tuple[Part, ...]:
        row = [_with_children(each, arranged(children_of(each), each.id)) for each in parts if each.id != part.id]
        at = next((index for index, each in enumerate(row) if each.id == beside.id), None)
        if at is not None:
            row.insert(at + step, _with_parent(part, holder))
        return tuple(row)

    return structure.model_copy(update={"structure": arranged(structure.structure, None)})


def _with_parent(part: Part, holder: str | None) -> Part:
    return part.model_copy(update={"section": holder}) if isinstance(part, SiteSpace) else _in_group(part, holder)


def _with_children(part: Part, inside: tuple[Part, ...]) -> Part:
    match part:
        case SiteSection():
            return part.model_copy(update={"site_spaces": inside})
        case SectionGroup():
            return part.model_copy(update={"children": inside, "sections": ()})
    return part


def set_default(structure: SiteStructure, part: Movable) -> SiteStructure:
    """Return the structure after a part became the default. A site has only one default section."""
    holder, is_space = parent_id(part), isinstance(part, SiteSpace)

    def marked(parts: Sequence[Part]) -> tuple[Part, ...]:
        row: list[Part] = []
        for each in parts:
            changed = _with_children(each, marked(children_of(each)))
            if _is_sibling(changed, is_space, holder):
                changed = changed.model_copy(update={"default": changed.id == part.id})
            row.append(changed)
        return tuple(row)

    return structure.model_copy(update={"structure": marked(structure.structure)})


def sibling_default(structure: SiteStructure, part: Movable) -> Movable | None:
    """Return the present default among the siblings of a part. None if no other part is the default."""
    is_space, holder = isinstance(part, SiteSpace), parent_id(part)
    chosen = (each for each, _ in walk(structure) if isinstance(each, SiteSpace | SiteSection) and each.default)
    return next((each for each in chosen if each.id != part.id and _is_sibling(each, is_space, holder)), None)


def _is_sibling(part: Part, is_space: bool, holder: str | None) -> bool:
    """Return whether a part is a space of the parent `holder`, or else a section."""
    return isinstance(part, SiteSpace) and parent_id(part) == holder if is_space else isinstance(part, SiteSection)
