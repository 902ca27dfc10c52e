"""The structure of a site: its sections, section groups and spaces, called parts. Also the commands that add a part,
move a part or make it the default."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from octavo.api import site_structure, sites
from octavo.api.operation import Model, Operation, SiteRef
from octavo.api.site_structure import (
    Pointer,
    Position,
    SectionGroup,
    SitePart,
    SiteSection,
    SiteSpace,
    SiteStructure,
    Sort,
    UnknownPart,
)
from octavo.data.writes.direct import SendResult, send_unchecked
from octavo.tui.core.permissions import why_no_permission
from octavo.tui.core.shell import Shell
from octavo.tui.core.write_queue import DirectUndo
from octavo.tui.resources import resource_forms
from octavo.tui.resources.resource import Arguments, Resource
from octavo.tui.resources.resource_commands import CurrentTable, Selection
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.short_texts import as_clause

MovablePart = SiteSection | SectionGroup | SiteSpace


class SitePartRow(Model):
    """A row of the tables Structure and Published content: one part of the site, indented by `depth`."""

    part: SitePart
    depth: int = 0
    titles_inside: str = ""
    """Titles of all parts inside this part. The filter searches them too, so a match is shown below its parents."""

    @property
    def id(self) -> str:
        return self.part.id


def title_of(part: SitePart) -> str:
    """Return the title of a part, else of its space (for a site space), else the ID of the part, else `Untitled`."""
    space = part.space.title if isinstance(part, SiteSpace) and part.space is not None else ""
    return part.title or space or part.id or "Untitled"


def noun_of(part: SitePart) -> str:
    """Return what a part is called in sentences: `section`, `group`, `space`, or a noun made from an unknown type."""
    match part:
        case SiteSection():
            return "section"
        case SectionGroup():
            return "group"
        case SiteSpace():
            return "space"
    return part.object.removeprefix("site-").replace("-", " ") or "part"


def children_of(part: SitePart) -> tuple[SitePart, ...]:
    """Return the parts directly inside a section or group, each with the ID of its parent. Empty for other parts."""
    match part:
        case SiteSection():
            return tuple(site_space.model_copy(update={"section": part.id}) for site_space in part.site_spaces)
        case SectionGroup():
            children = part.children or part.sections
            return tuple(_with_group(child, part.id) for child in children)
    return ()


def _with_group(part: SitePart, group: str | None) -> SitePart:
    return part.model_copy(update={"section_group": group}) if isinstance(part, SiteSection | SectionGroup) else part


def part_rows(structure: SiteStructure) -> tuple[SitePartRow, ...]:
    """Return a row for each part, in the order in which visitors see them."""
    parts = list(walk_parts(structure))
    titles = [title_of(part) for part, _ in parts]
    end_indexes, ancestor_indexes = [len(parts)] * len(parts), list[int]()
    for index, (_, depth) in enumerate(parts):
        while ancestor_indexes and parts[ancestor_indexes[-1]][1] >= depth:
            end_indexes[ancestor_indexes.pop()] = index
        ancestor_indexes.append(index)
    rows_by_id: dict[str, SitePartRow] = {}
    for index, (part, depth) in enumerate(parts):
        titles_inside = " ".join(titles[index + 1 : end_indexes[index]])
        rows_by_id.setdefault(part.id, SitePartRow.model_construct(part=part, depth=depth, titles_inside=titles_inside))
    return tuple(rows_by_id.values())


def walk_parts(structure: SiteStructure) -> Iterator[tuple[SitePart, int]]:
    """Yield every part with its depth, before the parts inside it. The depth is 0 at the top level."""
    remaining_parts: list[tuple[SitePart, int]] = [(part, 0) for part in reversed(structure.structure)]
    while remaining_parts:
        part, depth = remaining_parts.pop()
        yield part, depth
        remaining_parts += [(child, depth + 1) for child in reversed(children_of(part))]


def parent_id(part: SitePart) -> str | None:
    """Return the ID of the section or section group that contains a part. None at the top level."""
    return part.section if isinstance(part, SiteSpace) else getattr(part, "section_group", None)


def pointer_to(part: MovablePart) -> Pointer:
    """Return the type and ID of a part, as the move operation needs them."""
    return Pointer(type=part.object, id=part.id)


def movable_children(structure: SiteStructure, parent_part_id: str | None) -> list[MovablePart]:
    """Return the parts of known types directly inside the part `parent_part_id`. None stands for the top level."""
    if parent_part_id is None:
        children: Sequence[SitePart] = structure.structure
    else:
        children = next((children_of(part) for part, _ in walk_parts(structure) if part.id == parent_part_id), ())
    return [part for part in children if not isinstance(part, UnknownPart)]


def position_after_step(structure: SiteStructure, part: MovablePart, step: Literal[-1, 1]) -> Position | None:
    """Return the position of a part after one step up (-1) or down (1). None if the part cannot move further."""
    siblings = movable_children(structure, parent_id(part))
    ids = [sibling.id for sibling in siblings]
    new_index = ids.index(part.id) + step if part.id in ids else -1
    if not 0 <= new_index < len(siblings):
        return None
    return (
        Position(before=pointer_to(siblings[new_index]))
        if step < 0
        else Position(after=pointer_to(siblings[new_index]))
    )


def current_position(structure: SiteStructure, part: MovablePart) -> Position | None:
    """Return the current position of a part, before or after a sibling. None if the part has no siblings."""
    siblings = movable_children(structure, parent_id(part))
    ids = [sibling.id for sibling in siblings]
    index = ids.index(part.id) if part.id in ids else 0
    if index > 0:
        return Position(after=pointer_to(siblings[index - 1]))
    return Position(before=pointer_to(siblings[1])) if len(siblings) > 1 else None


@dataclass(frozen=True)
class PossibleParent:
    """A section or section group into which a part can be moved, or the top level of the site."""

    id: str | None
    """ID of the section or section group. None for the top level."""
    title: str
    depth: int
    children: tuple[MovablePart, ...]
    """Parts that are already in this parent. The moved part can be placed next to any of them."""


def possible_parents(structure: SiteStructure, part: MovablePart) -> list[PossibleParent]:
    """Return where a part can move: a space to sections, other parts to groups. The top level is first, if allowed."""
    parent_type = SiteSection if isinstance(part, SiteSpace) else SectionGroup
    descendant_ids = {part.id} | {
        each.id for each, _ in walk_parts(SiteStructure.model_construct(structure=children_of(part)))
    }
    parents = [
        PossibleParent(each.id, title_of(each), depth, _other_children(structure, part, each.id))
        for each, depth in walk_parts(structure)
        if isinstance(each, parent_type) and each.id not in descendant_ids
    ]
    if not isinstance(part, SiteSpace) or parent_id(part) is None:
        parents.insert(0, PossibleParent(None, "Top level of the site", 0, _other_children(structure, part, None)))
    return parents


def _other_children(structure: SiteStructure, part: MovablePart, parent: str | None) -> tuple[MovablePart, ...]:
    allowed_types = SiteSpace if isinstance(part, SiteSpace) else (SiteSection, SectionGroup)
    return tuple(
        movable_child
        for movable_child in movable_children(structure, parent)
        if movable_child.id != part.id and isinstance(movable_child, allowed_types)
    )


def move_part(structure: SiteStructure, sort: Sort) -> SiteStructure:
    """Return the structure after `sort` moves a part. Unchanged if this part or its new neighbor is missing, and if the
    neighbor is this part or inside it."""
    part = next((each for each, _ in walk_parts(structure) if each.id == sort.item.id), None)
    neighbor = sort.position.before or sort.position.after
    if part is None or neighbor is None:
        return structure
    offset = 0 if sort.position.before else 1

    def with_new_order(parts: Sequence[SitePart], parent: str | None) -> tuple[SitePart, ...]:
        new_siblings = [
            _with_children(each, with_new_order(children_of(each), each.id)) for each in parts if each.id != part.id
        ]
        index = next((index for index, each in enumerate(new_siblings) if each.id == neighbor.id), None)
        if index is not None:
            is_space = isinstance(part, SiteSpace)
            moved_part = part.model_copy(update={"section": parent}) if is_space else _with_group(part, parent)
            new_siblings.insert(index + offset, moved_part)
        return tuple(new_siblings)

    moved = structure.model_copy(update={"structure": with_new_order(structure.structure, None)})
    return moved if any(each.id == part.id for each, _ in walk_parts(moved)) else structure


def _with_children(part: SitePart, children: tuple[SitePart, ...]) -> SitePart:
    match part:
        case SiteSection():
            return part.model_copy(update={"site_spaces": children})
        case SectionGroup():
            return part.model_copy(update={"children": children, "sections": ()})
    return part


def with_default(structure: SiteStructure, part: MovablePart) -> SiteStructure:
    """Return the structure with `part` as the default: of all sections, or of the site spaces with the same parent."""
    parent, is_space = parent_id(part), isinstance(part, SiteSpace)

    def with_new_default(parts: Sequence[SitePart]) -> tuple[SitePart, ...]:
        siblings: list[SitePart] = []
        for each in parts:
            new_part = _with_children(each, with_new_default(children_of(each)))
            if _shares_default(new_part, is_space, parent):
                new_part = new_part.model_copy(update={"default": new_part.id == part.id})
            siblings.append(new_part)
        return tuple(siblings)

    return structure.model_copy(update={"structure": with_new_default(structure.structure)})


def replaced_default(structure: SiteStructure, part: MovablePart) -> MovablePart | None:
    """Return the part that stops being the default if `part` becomes the default. None if there is no such part."""
    is_space, parent = isinstance(part, SiteSpace), parent_id(part)
    parts = (each for each, _ in walk_parts(structure) if isinstance(each, SiteSpace | SiteSection) and each.default)
    return next((each for each in parts if each.id != part.id and _shares_default(each, is_space, parent)), None)


def _shares_default(part: SitePart, is_space: bool, parent: str | None) -> bool:
    """Return True if `part` is among the parts that have one default: the spaces in `parent`, or all sections."""
    return isinstance(part, SiteSpace) and parent_id(part) == parent if is_space else isinstance(part, SiteSection)


_END_NAMES = {-1: "first", 1: "last"}


@dataclass(frozen=True)
class SelectedSitePart:
    """The selected part of a site, for the commands that move it."""

    site: Model
    site_ref: SiteRef
    structure: SiteStructure | None
    """The structure that the table shows. None if the table shows other items."""
    part: MovablePart | None

    def why_not_movable(self) -> str | None:
        """Return why the part cannot be moved. None if it can."""
        if self.part is None:
            return "Select a section, section group, or space first."
        return why_no_permission((self.site,), "edit", "move content on this site", "site")

    def why_no_step(self, step: Literal[-1, 1]) -> str | None:
        """Return why the part cannot be moved up (-1) or down (1). None if it can be moved."""
        if (why := self.why_not_movable()) is not None or self.part is None or self.structure is None:
            return why
        if position_after_step(self.structure, self.part, step) is None:
            return f"{title_of(self.part)} is already the {_END_NAMES[step]} item at this level. To move it to another section or group, press M."
        return None


def selected_site_part(
    resource: Resource[Any], arguments: Arguments, parent: Model, response: Any, row: Any
) -> SelectedSitePart:
    """Return the target of the commands that move site parts: the site, its structure, and the part in `row`. The
    structure is None if the table shows other items. The part is None if `row` shows none that can be moved."""
    structure = response if isinstance(response, SiteStructure) and resource.list is site_structure.Get else None
    part = row.part if isinstance(row, SitePartRow) and not isinstance(row.part, UnknownPart) else None
    return SelectedSitePart(parent, arguments["at"], structure, part)


def _move_step(step: Literal[-1, 1]) -> Callable[[Shell, SelectedSitePart], None]:
    def move(app: Shell, target: SelectedSitePart) -> None:
        if target.part is not None:
            message = f"Moved {title_of(target.part)} {'up' if step < 0 else 'down'}."
            _move(app, target, target.part, partial(position_after_step, step=step), message)

    return move


def _choose_parent(app: Shell, target: SelectedSitePart) -> None:
    if (part := target.part) is None or (structure := target.structure) is None:
        return
    current_parent_id = parent_id(part)
    choices = []
    for parent in possible_parents(structure, part):
        empty_reason = f"This destination is empty. The server can place a {noun_of(part)} only next to another item."
        right = "current" if parent.id == current_parent_id else ""
        disabled_reason = "" if parent.children else empty_reason
        title = f"{'  ' * parent.depth}{parent.title}"
        choices.append(Choice(parent, title, right=right, disabled_reason=disabled_reason))

    selected = next((choice.value for choice in choices if choice.value.id == current_parent_id), None)
    empty_text = "This site has no other sections or groups."
    picker = Picker(f"Move {title_of(part)} to", choices, empty=empty_text, initial=selected)
    app.ask(picker, lambda destination: _choose_position(app, target, part, destination))


def _choose_position(app: Shell, target: SelectedSitePart, part: MovablePart, destination: PossibleParent) -> None:
    siblings = [(title_of(each), pointer_to(each)) for each in destination.children]
    choices = [
        Choice(Position(after=siblings[-1][1]), "Last"),
        Choice(Position(before=siblings[0][1]), "First"),
        *(Choice(Position(after=pointer), f"After {title}") for title, pointer in siblings[:-1]),
    ]
    location = f"in {destination.title}" if destination.id is not None else "at the top level of the site"

    picker = Picker(f"Choose a position for {title_of(part)} {location}", choices)
    app.ask(picker, lambda position: _move(app, target, part, lambda *_: position, f"Moved {title_of(part)}."))


def _move(
    app: Shell,
    target: SelectedSitePart,
    part: MovablePart,
    find_position: Callable[[SiteStructure, MovablePart], Position | None],
    message: str,
) -> None:
    """Move `part` to the position that `find_position` returns, unless this is None. Then show `message`."""
    live, list_op, name = app.session.live, site_structure.Get(at=target.site_ref), title_of(part)
    undo: DirectUndo | str = (
        f"You cannot undo this move by pressing u because {name} was the only item in its section or group."
    )

    async def send() -> SendResult[Any]:
        nonlocal undo
        # An earlier move may have changed the structure since the key was pressed.
        structure = live.peek(list_op).value or SiteStructure()
        parts = (each for each, _ in walk_parts(structure) if not isinstance(each, UnknownPart))
        current = next((each for each in parts if each.id == part.id), part)
        position, old_position = find_position(structure, current), current_position(structure, current)
        sort_to = partial(site_structure.Sort, at=target.site_ref, item=pointer_to(part))
        if position is None or move_part(structure, sort := sort_to(position=position)) == structure:
            return SendResult("same", f"{name} is already in this position.")
        if old_position is not None:
            undo = _undo_with(app, sort_to(position=old_position), f"move {name}", f"Moved {name} back.")
        cache_edit = list_op, lambda cached: move_part(cached, sort)
        return await send_unchecked(live, sort, f"Could not move {name}", cache_edit)

    app.writes.send(f"move {name}", send(), message=message, make_undo=lambda _: undo, is_visible=True)


def _undo_with(app: Shell, reverse: Operation[Any], title: str, message: str) -> DirectUndo:
    undo_write = partial(send_unchecked, app.session.live, reverse, f"Could not undo “{title}”")
    return DirectUndo(f"undo “{title}”", undo_write, message)


def make_default(app: Shell, selection: Selection) -> None:
    """Make the selected section or space the default, which visitors see first."""
    part, site_ref = selection.first_item, selection.arguments["at"]
    list_operation = site_structure.Get(at=site_ref)
    structure = app.session.live.peek(list_operation).value
    if structure is None or not isinstance(part, SiteSection | SiteSpace):
        return
    name, old_default = title_of(part), replaced_default(structure, part)
    cache_edit = (list_operation, lambda cached: with_default(cached, part))
    parent = parent_id(part) if isinstance(part, SiteSpace) else None
    parent_title = next((title_of(each) for each, _ in walk_parts(structure) if each.id == parent), None)
    location = parent_title or getattr(selection.parent, "title", "") or "the site"
    message = f"Visitors to {location} now see {name} first."
    title, undo = f"set {name} as default", None
    if old_default is not None:
        undo_message = f"Restored {title_of(old_default)} as the default."
        undo = _undo_with(app, set_default_operation(site_ref, old_default), title, undo_message)
    send_task = send_unchecked(
        app.session.live, set_default_operation(site_ref, part), f"Could not {title}", cache_edit
    )
    make_undo = None if undo is None else lambda _: undo
    app.writes.send(title, send_task, message=message, make_undo=make_undo, is_visible=True)


def set_default_operation(site_ref: SiteRef, part: MovablePart) -> Operation[Any]:
    """Return the operation that makes a section the site's default, or a space the default of its section or site."""
    if isinstance(part, SiteSection):
        return sites.Update(at=site_ref, default_site_section=part.id)
    if (section := parent_id(part)) is not None:
        return site_structure.UpdateSection(at=site_ref, site_section_id=section, default_site_space=part.id)
    return sites.Update(at=site_ref, default_site_space=part.id)


def choose_new_part(app: Shell, table: CurrentTable) -> None:
    """Ask which kind of part to add to a site, and open its form."""
    structure = app.session.live.peek(site_structure.Get(at=table.arguments["at"])).value or SiteStructure()
    section, group = _containers(structure, table.row.part if isinstance(table.row, SitePartRow) else None)
    choices: list[Choice[Callable[[], object]]] = []

    def add(kind: str, title: str, detail: str, **ids: str) -> None:
        resource = replace(table.resource.row_resources[kind], create_title=f"Add {as_clause(title)}")
        opener = partial(resource_forms.open_create_form, app, resource, {**table.arguments, **ids}, table.on_created)
        assert resource.create is not None, "every part must have a create operation"
        choices.append(
            Choice(
                opener,
                title,
                detail,
                disabled_reason=app.session.live.availability.why_unavailable(resource.create) or "",
            )
        )

    if section is not None:
        detail = "visitors can switch between the spaces in a section"
        add("space", f"Space in {title_of(section)}", detail, section_id=section.id)
    else:
        add("space", "Space", "a space in the organization")
    add("section", "Section", "a new section at the end of the site, with one space")
    if group is not None:
        add("group", f"Section group in {title_of(group)}", "a group of sections under one title", parent=group.id)
    else:
        add("group", "Section group", "a group of sections under one title")

    app.ask(Picker("Add to the site", choices), lambda opener: opener())


def _containers(structure: SiteStructure, part: SitePart | None) -> tuple[SiteSection | None, SectionGroup | None]:
    """Return the section and the group that contain `part`. A section or group contains itself. Each may be None."""
    parts = {each.id: each for each, _ in walk_parts(structure)}
    parent = parts.get(parent_id(part) or "") if isinstance(part, SiteSpace) else None
    section = part if isinstance(part, SiteSection) else parent if isinstance(parent, SiteSection) else None
    child = part if section is None else section
    group = child if isinstance(child, SectionGroup) else parts.get(parent_id(child) or "") if child else None
    return section, group if isinstance(group, SectionGroup) else None


def _has_structure(app: Shell, target: SelectedSitePart) -> bool:
    return target.structure is not None


STRUCTURE_COMMANDS: Commands[SelectedSitePart] = Commands(
    "structure",
    (
        Command("move", "M", "Move", "Move the item to another section or group", writes=True, is_available=_has_structure,
                run=_choose_parent, why_not=lambda _, target: target.why_not_movable()),
        Command("move_up", "alt+up", "Move up", "Move the section, group, or space up", writes=True, shown=False, is_available=_has_structure,
                run=_move_step(-1), why_not=lambda _, target: target.why_no_step(-1)),
        Command("move_down", "alt+down", "Move down", "Move the section, group, or space down", writes=True, shown=False, is_available=_has_structure,
                run=_move_step(1), why_not=lambda _, target: target.why_no_step(1)),
    ),
    context="site structure",
)  # fmt: skip
