"""What stands where on a site: its structure as rows below one another, and what moves a part to another place. Pure."""

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


class Standing(Model):
    """A part of a site, how deep it stands, and the words of what stands in it: a filter that finds those keeps it."""

    part: Part
    depth: int = 0
    inside: str = ""

    @property
    def id(self) -> str:
        """The id of the part."""
        return self.part.id


def title_of(part: Part) -> str:
    """What a part is called."""
    space = part.space.title if isinstance(part, SiteSpace) and part.space is not None else ""
    return part.title or space or part.id or "Untitled"


def kind_of(part: Part) -> str:
    """What it is called that it is."""
    match part:
        case SiteSection():
            return "section"
        case SectionGroup():
            return "group"
        case SiteSpace():
            return "space"
    return part.object.removeprefix("site-").replace("-", " ") or "part"


def parts_in(part: Part) -> tuple[Part, ...]:
    """What stands in a part, each saying so: not all servers repeat it."""
    match part:
        case SiteSection():
            return tuple(each.model_copy(update={"section": part.id}) for each in part.site_spaces)
        case SectionGroup():
            held = part.children or part.sections
            return tuple(_held(each, part.id) for each in held)
    return ()


def _held(part: Part, group: str | None) -> Part:
    return part.model_copy(update={"section_group": group}) if isinstance(part, SiteSection | SectionGroup) else part


def standings(structure: SiteStructure) -> tuple[Standing, ...]:
    """All parts, each before what stands in it."""
    parts = list(walk(structure))
    titles = [title_of(part) for part, _ in parts]
    ends, within = [len(parts)] * len(parts), list[int]()
    for at, (_, depth) in enumerate(parts):
        while within and parts[within[-1]][1] >= depth:
            ends[within.pop()] = at
        within.append(at)
    found: dict[str, Standing] = {}
    for at, (part, depth) in enumerate(parts):
        inside = " ".join(titles[at + 1 : ends[at]])
        found.setdefault(part.id, Standing.model_construct(part=part, depth=depth, inside=inside))
    return tuple(found.values())


def walk(structure: SiteStructure) -> Iterator[tuple[Part, int]]:
    """All parts with their depth, each before what stands in it, however deep."""
    waiting: list[tuple[Part, int]] = [(part, 0) for part in reversed(structure.structure)]
    while waiting:
        part, depth = waiting.pop()
        yield part, depth
        waiting += [(each, depth + 1) for each in reversed(parts_in(part))]


def holder_of(part: Part) -> str | None:
    """The id of what a part stands in. None: it stands at the root."""
    return part.section if isinstance(part, SiteSpace) else getattr(part, "section_group", None)


def pointer(part: Movable) -> Pointer:
    """What names a part to the operation that moves it."""
    return Pointer(type=part.object, id=part.id)


def row_of(structure: SiteStructure, holder: str | None) -> list[Movable]:
    """What stands in a part, or at the root, as far as it can be moved."""
    if holder is None:
        found: Sequence[Part] = structure.structure
    else:
        found = next((parts_in(part) for part, _ in walk(structure) if part.id == holder), ())
    return [part for part in found if not isinstance(part, OtherPart)]


def a_step(structure: SiteStructure, part: Movable, step: Literal[-1, 1]) -> Position | None:
    """The place one further up (-1) or down (1) in its row. None: there is none."""
    row = row_of(structure, holder_of(part))
    ids = [each.id for each in row]
    to = ids.index(part.id) + step if part.id in ids else -1
    if not 0 <= to < len(row):
        return None
    return Position(before=pointer(row[to])) if step < 0 else Position(after=pointer(row[to]))


def place_of(structure: SiteStructure, part: Movable) -> Position | None:
    """Where it stands now: what brings it back there. None: it stands there alone, and no neighbour says where that is."""
    row = row_of(structure, holder_of(part))
    ids = [each.id for each in row]
    at = ids.index(part.id) if part.id in ids else 0
    if at > 0:
        return Position(after=pointer(row[at - 1]))
    return Position(before=pointer(row[1])) if len(row) > 1 else None


@dataclass(frozen=True)
class Holder:
    """What a part can be moved into."""

    id: str | None
    """None: the root."""
    title: str
    depth: int
    row: tuple[Movable, ...]
    """What stands there now, without the part itself."""


def holders_for(structure: SiteStructure, part: Movable) -> list[Holder]:
    """Where a part can stand: a space in a section, a section or group at the root or in a group that is not in it."""
    wanted = SiteSection if isinstance(part, SiteSpace) else SectionGroup
    below = {part.id} | {each.id for each, _ in walk(SiteStructure.model_construct(structure=parts_in(part)))}
    found = [
        Holder(each.id, title_of(each), depth, _others(structure, part, each.id))
        for each, depth in walk(structure)
        if isinstance(each, wanted) and each.id not in below
    ]
    if not isinstance(part, SiteSpace) or holder_of(part) is None:
        found.insert(0, Holder(None, "Top level of the site", 0, _others(structure, part, None)))
    return found


def _others(structure: SiteStructure, part: Movable, holder: str | None) -> tuple[Movable, ...]:
    alike = SiteSpace if isinstance(part, SiteSpace) else (SiteSection, SectionGroup)
    return tuple(each for each in row_of(structure, holder) if each.id != part.id and isinstance(each, alike))


def moved(structure: SiteStructure, sort: Sort) -> SiteStructure:
    """The structure once a part was moved. As it is where the part or its neighbour is not there."""
    part = next((each for each, _ in walk(structure) if each.id == sort.item.id), None)
    beside = sort.position.before or sort.position.after
    if part is None or beside is None or all(each.id != beside.id for each, _ in walk(structure)):
        return structure
    step = 0 if sort.position.before else 1

    def arranged(parts: Sequence[Part], holder: str | None) -> tuple[Part, ...]:
        row = [_with(each, arranged(parts_in(each), each.id)) for each in parts if each.id != part.id]
        at = next((index for index, each in enumerate(row) if each.id == beside.id), None)
        if at is not None:
            row.insert(at + step, _in(part, holder))
        return tuple(row)

    return structure.model_copy(update={"structure": arranged(structure.structure, None)})


def _in(part: Part, holder: str | None) -> Part:
    return part.model_copy(update={"section": holder}) if isinstance(part, SiteSpace) else _held(part, holder)


def _with(part: Part, inside: tuple[Part, ...]) -> Part:
    match part:
        case SiteSection():
            return part.model_copy(update={"site_spaces": inside})
        case SectionGroup():
            return part.model_copy(update={"children": inside, "sections": ()})
    return part


def beginning_at(structure: SiteStructure, part: Movable) -> SiteStructure:
    """The structure once a part is the default one where it stands. Of sections there is one on the whole site."""
    holder, is_space = holder_of(part), isinstance(part, SiteSpace)

    def marked(parts: Sequence[Part]) -> tuple[Part, ...]:
        row: list[Part] = []
        for each in parts:
            changed = _with(each, marked(parts_in(each)))
            if _stands_with(changed, is_space, holder):
                changed = changed.model_copy(update={"default": changed.id == part.id})
            row.append(changed)
        return tuple(row)

    return structure.model_copy(update={"structure": marked(structure.structure)})


def default_beside(structure: SiteStructure, part: Movable) -> Movable | None:
    """The default one of those a part is among. None: no other is."""
    is_space, holder = isinstance(part, SiteSpace), holder_of(part)
    chosen = (each for each, _ in walk(structure) if isinstance(each, SiteSpace | SiteSection) and each.default)
    return next((each for each in chosen if each.id != part.id and _stands_with(each, is_space, holder)), None)


def _stands_with(part: Part, is_space: bool, holder: str | None) -> bool:
    """Whether it is one of the spaces of a holder, or one of the sections of the site."""
    return isinstance(part, SiteSpace) and holder_of(part) == holder if is_space else isinstance(part, SiteSection)
