"""Commands that change the structure of a site: add or move a part, or set the default part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from octavo.api import site_structure, sites
from octavo.api.operation import Model, Operation
from octavo.api.places import SiteRef
from octavo.api.site_structure import OtherPart, Part, Position, SectionGroup, SiteSection, SiteSpace, SiteStructure
from octavo.data.writes.direct import send_plain
from octavo.tui.core.permissions import why_no_permission
from octavo.tui.core.shell import Shell
from octavo.tui.core.write_queue import DirectUndo
from octavo.tui.resources import resource_forms, site_tree
from octavo.tui.resources.resource import Arguments, Resource
from octavo.tui.resources.resource_commands import CreateTarget, Selection
from octavo.tui.resources.site_tree import MovablePart, MoveTarget, PartRow, title_of
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.picker import Picker

_END_NAMES = {-1: "first", 1: "last"}


@dataclass(frozen=True)
class StructureTarget:
    """A visible site structure and the selected part."""

    site: Model
    site_ref: SiteRef
    structure: SiteStructure | None
    """The structure in the table. None if the table shows something else."""
    part: MovablePart | None

    def why_not_moved(self) -> str | None:
        """Return why the part cannot be moved. None if it can be moved."""
        if self.part is None:
            return "Select a section, section group, or space first."
        return why_no_permission((self.site,), "edit", "move content on this site", "site")

    def why_no_step(self, step: Literal[-1, 1]) -> str | None:
        """Return why the part cannot swap places with the next or previous part. None if it can."""
        if (why := self.why_not_moved()) is not None or self.part is None or self.structure is None:
            return why
        if site_tree.step_position(self.structure, self.part, step) is None:
            return f"{title_of(self.part)} is already the {_END_NAMES[step]} item at this level. To move it to another section or group, press M."
        return None


def structure_target(
    kind: Resource[Any], arguments: Arguments, parent: Model, response: Any, row: Any
) -> StructureTarget:
    """Return the target of the structure commands, given the selected table and row."""
    structure = response if isinstance(response, SiteStructure) and kind.list is site_structure.Get else None
    part = row.part if isinstance(row, PartRow) and not isinstance(row.part, OtherPart) else None
    return StructureTarget(parent, arguments["at"], structure, part)


def _move_step(step: Literal[-1, 1]) -> Callable[[Shell, StructureTarget], None]:
    def move(app: Shell, target: StructureTarget) -> None:
        if target.structure is None or target.part is None:
            return
        position = site_tree.step_position(target.structure, target.part, step)
        if position is not None:
            message = f"Moved {title_of(target.part)} {'up' if step < 0 else 'down'}."
            _move(app, target, target.structure, target.part, position, message)

    return move


def _choose_parent(app: Shell, target: StructureTarget) -> None:
    """Ask for the section or group to move the part to, and for a position there."""

    if (part := target.part) is None or (structure := target.structure) is None:
        return
    now = site_tree.parent_id(part)
    choices = []
    for each in site_tree.move_targets(structure, part):
        empty = (
            f"This destination is empty. The server can place a {site_tree.noun_of(part)} only next to another item."
        )
        right, off = "current" if each.id == now else "", "" if each.children else empty
        choices.append(Choice(each, f"{'  ' * each.depth}{each.title}", right=right, disabled_reason=off))

    def chosen(destination: MoveTarget | None) -> None:
        if destination is not None:
            _choose_position(app, target, structure, part, destination)

    selected = next((each.value for each in choices if each.value.id == now), None)
    empty_text = "This site has no other sections or groups."
    app.push_screen(Picker(f"Move {title_of(part)} to", choices, empty=empty_text, initial=selected), chosen)


def _choose_position(
    app: Shell, target: StructureTarget, structure: SiteStructure, part: MovablePart, destination: MoveTarget
) -> None:
    row = [(title_of(each), site_tree.pointer_to(each)) for each in destination.children]
    choices = [
        Choice(Position(after=row[-1][1]), "Last"),
        Choice(Position(before=row[0][1]), "First"),
        *(Choice(Position(after=each), f"After {title}") for title, each in row[:-1]),
    ]
    where = f"in {destination.title}" if destination.id is not None else "at the top level of the site"

    def chosen(position: Position | None) -> None:
        if position is not None:
            _move(app, target, structure, part, position, f"Moved {title_of(part)}.")

    app.push_screen(Picker(f"Choose a position for {title_of(part)} {where}", choices), chosen)


def _move(
    app: Shell, target: StructureTarget, structure: SiteStructure, part: MovablePart, position: Position, message: str
) -> None:
    previous, name = site_tree.current_position(structure, part), title_of(part)
    item = site_tree.pointer_to(part)
    sort = site_structure.Sort(at=target.site_ref, item=item, position=position)
    cache_edit = (site_structure.Get(at=target.site_ref), lambda now: site_tree.move_part(now, sort))
    if site_tree.move_part(structure, sort) == structure:
        app.say(f"{name} is already in this position.")
        return
    reverse, final = None, ""
    if previous is None:
        final = f"You cannot undo this move by pressing u because {name} was the only item in its section or group."
    else:
        reverse = site_structure.Sort(at=target.site_ref, item=item, position=previous)
    sending = send_plain(app.session.live, sort, f"Could not move {name}", cache_edit)
    undo = _undo_with(app, reverse, f"move {name}", f"Moved {name} back.")
    app.writes.send(f"move {name}", sending, message=message, make_undo=undo, no_undo_reason=final, is_visible=True)


def _undo_with(
    app: Shell, reverse: Operation[Any] | None, title: str, message: str
) -> Callable[[Any], DirectUndo] | None:
    """Return an undo that sends the operation `reverse`. None if `reverse` is None."""
    if reverse is None:
        return None
    undo_write = partial(send_plain, app.session.live, reverse, f"Could not undo “{title}”")
    undo = DirectUndo(f"undo “{title}”", undo_write, message)
    return lambda _: undo


# The default part


def make_default(app: Shell, selection: Selection) -> None:
    """Make a section or space the default, where visitors start."""
    part, site_ref = selection.first_item, selection.arguments["at"]
    list_operation = site_structure.Get(at=site_ref)
    structure = app.session.live.peek(list_operation).value
    if structure is None or not isinstance(part, SiteSection | SiteSpace):
        return
    name, previous = title_of(part), site_tree.sibling_default(structure, part)
    cache_edit = (list_operation, lambda now: site_tree.set_default(now, part))
    message = f"Visitors to {_parent_title(structure, selection.parent, part)} now see {name} first."
    title, undo = f"set {name} as default", None
    if previous is not None:
        undo_message = f"Restored {title_of(previous)} as the default."
        undo = _undo_with(app, set_default_operation(site_ref, previous), title, undo_message)
    sending = send_plain(app.session.live, set_default_operation(site_ref, part), f"Could not {title}", cache_edit)
    app.writes.send(title, sending, message=message, make_undo=undo, is_visible=True)


def set_default_operation(site_ref: SiteRef, part: MovablePart) -> Operation[Any]:
    """Return the operation that makes a part the default."""
    if isinstance(part, SiteSection):
        return sites.Update(at=site_ref, default_site_section=part.id)
    if (section := site_tree.parent_id(part)) is not None:
        return site_structure.UpdateSection(at=site_ref, site_section_id=section, default_site_space=part.id)
    return sites.Update(at=site_ref, default_site_space=part.id)


def _parent_title(structure: SiteStructure, site: Model, part: MovablePart) -> str:
    parent = site_tree.parent_id(part) if isinstance(part, SiteSpace) else None
    title = next((title_of(each) for each, _ in site_tree.walk_parts(structure) if each.id == parent), None)
    return title or getattr(site, "title", "") or "the site"


# Adding


def choose_new_part(app: Shell, target: CreateTarget) -> None:
    """Ask whether to add a section, a section group or a space, and open its form."""
    structure = app.session.live.peek(site_structure.Get(at=target.arguments["at"])).value or SiteStructure()
    section, group = _containers(structure, target.row.part if isinstance(target.row, PartRow) else None)
    choices: list[Choice[Callable[[], object]]] = []

    def offer(kind: str, title: str, detail: str, **more: str) -> None:
        resource = replace(target.resource.row_resources[kind], create_title=title)
        make = partial(resource_forms.open_create_form, app, resource, {**target.arguments, **more}, target.on_created)
        assert resource.create is not None, "every part must have a create operation"
        choices.append(Choice(make, title, detail, disabled_reason=app.session.live.unavailable(resource.create) or ""))

    if section is not None:
        detail = "visitors can switch between the spaces in a section"
        offer("space", f"Space in {title_of(section)}", detail, section_id=section.id)
    else:
        offer("space", "Space", "a space in the organization")
    offer("section", "Section", "a new section at the end of the site, with one space")
    if group is not None:
        offer("group", f"Section group in {title_of(group)}", "a group of sections under one title", parent=group.id)
    else:
        offer("group", "Section group", "a group of sections under one title")

    def chosen(make: Callable[[], object] | None) -> None:
        if make is not None:
            make()

    app.push_screen(Picker("Add to the site", choices), chosen)


def _containers(structure: SiteStructure, part: Part | None) -> tuple[SiteSection | None, SectionGroup | None]:
    """Return the section and the section group that a part belongs to. The part itself can be one of them."""
    parts = {each.id: each for each, _ in site_tree.walk_parts(structure)}
    parent = parts.get(site_tree.parent_id(part) or "") if isinstance(part, SiteSpace) else None
    section = part if isinstance(part, SiteSection) else parent if isinstance(parent, SiteSection) else None
    inner = part if section is None else section
    group = inner if isinstance(inner, SectionGroup) else parts.get(site_tree.parent_id(inner) or "") if inner else None
    return section, group if isinstance(group, SectionGroup) else None


def _has_structure(app: Shell, target: StructureTarget) -> bool:
    return target.structure is not None


STRUCTURE_COMMANDS: Commands[StructureTarget] = Commands(
    "structure",
    (
        Command("move", "M", "Move", "Move the item to another section or group", writes=True, is_available=_has_structure,
                run=_choose_parent, why_not=lambda _, target: target.why_not_moved()),
        Command("move_up", "alt+up", "Move up", "Move the section, group, or space up", writes=True, shown=False, is_available=_has_structure,
                run=_move_step(-1), why_not=lambda _, target: target.why_no_step(-1)),
        Command("move_down", "alt+down", "Move down", "Move the section, group, or space down", writes=True, shown=False, is_available=_has_structure,
                run=_move_step(1), why_not=lambda _, target: target.why_no_step(1)),
    ),
    context="site structure",
)  # fmt: skip
"""Commands that move the selected part of a site."""
