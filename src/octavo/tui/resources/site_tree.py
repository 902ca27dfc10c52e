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

MovablePart = SiteSection | SectionGroup | SiteSpace


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
    """Return the children of a part, each with the ID of its parent, which some servers omit."""
    match part:
        case SiteSection():
            return tuple(each.model_copy(update={"section": part.id}) for each in part.site_spaces)
        case SectionGroup():
            children = part.children or part.sections
            return tuple(_in_group(each, part.id) for each in children)
    return ()


def _in_group(part: Part, group: str | None) -> Part:
    return part.model_copy(update={"section_group": group}) if isinstance(part, SiteSection | SectionGroup) else part


def part_rows(structure: SiteStructure) -> tuple[PartRow, ...]:
    """Return a row for each part, in the order of the site."""
    parts = list(walk_parts(structure))
    titles = [title_of(part) for part, _ in parts]
    ends, ancestors = [len(parts)] * len(parts), list[int]()
    for index, (_, depth) in enumerate(parts):
        while ancestors and parts[ancestors[-1]][1] >= depth:
            ends[ancestors.pop()] = index
        ancestors.append(index)
    result: dict[str, PartRow] = {}
    for index, (part, depth) in enumerate(parts):
        child_titles = " ".join(titles[index + 1 : ends[index]])
        result.setdefault(part.id, PartRow.model_construct(part=part, depth=depth, child_titles=child_titles))
    return tuple(result.values())


def walk_parts(structure: SiteStructure) -> Iterator[tuple[Part, int]]:
    """Return all parts with their depth, each before its children."""
    pending: list[tuple[Part, int]] = [(part, 0) for part in reversed(structure.structure)]
    while pending:
        part, depth = pending.pop()
        yield part, depth
        pending += [(each, depth + 1) for each in reversed(children_of(part))]


def parent_id(part: Part) -> str | None:
    """Return the ID of a part's parent. None at the top level."""
    return part.section if isinstance(part, SiteSpace) else getattr(part, "section_group", None)


def pointer_to(part: MovablePart) -> Pointer:
    """Return the reference to a part for the move operation."""
    return Pointer(type=part.object, id=part.id)


def movable_children(structure: SiteStructure, parent: str | None) -> list[MovablePart]:
    """Return the children of a part, or of the site, that can be moved."""
    if parent is None:
        result: Sequence[Part] = structure.structure
    else:
        result = next((children_of(part) for part, _ in walk_parts(structure) if part.id == parent), ())
    return [part for part in result if not isinstance(part, OtherPart)]


def step_position(structure: SiteStructure, part: MovablePart, step: Literal[-1, 1]) -> Position | None:
    """Return the position after moving a part up (-1) or down (1). None at the first or last place."""
    siblings = movable_children(structure, parent_id(part))
    ids = [each.id for each in siblings]
    new_index = ids.index(part.id) + step if part.id in ids else -1
    if not 0 <= new_index < len(siblings):
        return None
    return (
        Position(before=pointer_to(siblings[new_index]))
        if step < 0
        else Position(after=pointer_to(siblings[new_index]))
    )


def current_position(structure: SiteStructure, part: MovablePart) -> Position | None:
    """Return the present position of a part, to undo a move. None if the part has no sibling."""
    siblings = movable_children(structure, parent_id(part))
    ids = [each.id for each in siblings]
    index = ids.index(part.id) if part.id in ids else 0
    if index > 0:
        return Position(after=pointer_to(siblings[index - 1]))
    return Position(before=pointer_to(siblings[1])) if len(siblings) > 1 else None


@dataclass(frozen=True)
class MoveTarget:
    """A possible parent of a part."""

    id: str | None
    """ID of the parent. None for the site itself."""
    title: str
    depth: int
    children: tuple[MovablePart, ...]
    """Children of the parent, without the part that moves."""


def move_targets(structure: SiteStructure, part: MovablePart) -> list[MoveTarget]:
    """Return the possible parents of a part: sections for a space, and section groups or the site for other parts."""
    parent_type = SiteSection if isinstance(part, SiteSpace) else SectionGroup
    descendant_ids = {part.id} | {
        each.id for each, _ in walk_parts(SiteStructure.model_construct(structure=children_of(part)))
    }
    result = [
        MoveTarget(each.id, title_of(each), depth, _other_children(structure, part, each.id))
        for each, depth in walk_parts(structure)
        if isinstance(each, parent_type) and each.id not in descendant_ids
    ]
    if not isinstance(part, SiteSpace) or parent_id(part) is None:
        result.insert(0, MoveTarget(None, "Top level of the site", 0, _other_children(structure, part, None)))
    return result


def _other_children(structure: SiteStructure, part: MovablePart, parent: str | None) -> tuple[MovablePart, ...]:
    allowed_types = SiteSpace if isinstance(part, SiteSpace) else (SiteSection, SectionGroup)
    return tuple(
        each for each in movable_children(structure, parent) if each.id != part.id and isinstance(each, allowed_types)
    )


def move_part(structure: SiteStructure, sort: Sort) -> SiteStructure:
    """Return the structure after a move. Unchanged if the part or its new sibling does not exist."""
    part = next((each for each, _ in walk_parts(structure) if each.id == sort.item.id), None)
    neighbour = sort.position.before or sort.position.after
    if part is None or neighbour is None or all(each.id != neighbour.id for each, _ in walk_parts(structure)):
        return structure
    step = 0 if sort.position.before else 1

    def rearranged(parts: Sequence[Part], parent: str | None) -> tuple[Part, ...]:
        siblings = [
            _with_children(each, rearranged(children_of(each), each.id)) for each in parts if each.id != part.id
        ]
        index = next((index for index, each in enumerate(siblings) if each.id == neighbour.id), None)
        if index is not None:
            is_space = isinstance(part, SiteSpace)
            moved = part.model_copy(update={"section": parent}) if is_space else _in_group(part, parent)
            siblings.insert(index + step, moved)
        return tuple(siblings)

    return structure.model_copy(update={"structure": rearranged(structure.structure, None)})


def _with_children(part: Part, children: tuple[Part, ...]) -> Part:
    match part:
        case SiteSection():
            return part.model_copy(update={"site_spaces": children})
        case SectionGroup():
            return part.model_copy(update={"children": children, "sections": ()})
    return part


def set_default(structure: SiteStructure, part: MovablePart) -> SiteStructure:
    """Return the structure after a part became the default. A site has only one default section."""
    parent, is_space = parent_id(part), isinstance(part, SiteSpace)

    def with_default(parts: Sequence[Part]) -> tuple[Part, ...]:
        siblings: list[Part] = []
        for each in parts:
            updated = _with_children(each, with_default(children_of(each)))
            if _is_sibling(updated, is_space, parent):
                updated = updated.model_copy(update={"default": updated.id == part.id})
            siblings.append(updated)
        return tuple(siblings)

    return structure.model_copy(update={"structure": with_default(structure.structure)})


def sibling_default(structure: SiteStructure, part: MovablePart) -> MovablePart | None:
    """Return the present default among the siblings of a part. None if no other part is the default."""
    is_space, parent = isinstance(part, SiteSpace), parent_id(part)
    defaults = (each for each, _ in walk_parts(structure) if isinstance(each, SiteSpace | SiteSection) and each.default)
    return next((each for each in defaults if each.id != part.id and _is_sibling(each, is_space, parent)), None)


def _is_sibling(part: Part, is_space: bool, parent: str | None) -> bool:
    """Return whether a part is a space in the section `parent`. Without `is_space`, whether it is a section."""
    return isinstance(part, SiteSpace) and parent_id(part) == parent if is_space else isinstance(part, SiteSection)
