"""The structure of a site, changed where it is shown: parts added, moved by keys and by choosing a place, made the default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from octavo.api import site_structure, sites
from octavo.api.operation import Model, Operation
from octavo.api.places import SiteRef
from octavo.api.site_structure import OtherPart, Part, Position, SectionGroup, SiteSection, SiteSpace, SiteStructure
from octavo.data.writes.direct import send_plain
from octavo.tui.resources import site_tree
from octavo.tui.resources.resource import Known, Resource
from octavo.tui.resources.site_tree import Holder, Movable, Standing, title_of
from octavo.tui.shell.permissions import why_no_permission
from octavo.tui.shell.shell import Shell
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.tui.resources.acting import AtHand, Place

FIRST_AND_LAST = {-1: "first", 1: "last"}


@dataclass(frozen=True)
class Arranged:
    """The structure of a site on show, and the part under the cursor."""

    site: Model
    at: SiteRef
    structure: SiteStructure | None
    """None: no structure is on show."""
    part: Movable | None

    def why_not_moved(self) -> str | None:
        """Why the part cannot be moved anywhere, in a sentence."""
        if self.part is None:
            return "Select a section, section group, or space first."
        return why_no_permission((self.site,), "edit", "move content on this site", "site")

    def why_no_step(self, step: Literal[-1, 1]) -> str | None:
        """Why the part cannot change places with its neighbour, in a sentence."""
        if (why := self.why_not_moved()) is not None or self.part is None or self.structure is None:
            return why
        if site_tree.a_step(self.structure, self.part, step) is None:
            return f"{title_of(self.part)} is already the {FIRST_AND_LAST[step]} item at this level. To move it to another section or group, press M."
        return None


def arranged(kind: Resource[Any], known: Known, inside: Model, answer: Any, row: Any) -> Arranged:
    """What the keys of a structure are about, where one is on show."""
    structure = answer if isinstance(answer, SiteStructure) and kind.list is site_structure.Get else None
    part = row.part if isinstance(row, Standing) and not isinstance(row.part, OtherPart) else None
    return Arranged(inside, known["at"], structure, part)


def _step(step: Literal[-1, 1]) -> Callable[[Shell, Arranged], None]:
    def move(app: Shell, here: Arranged) -> None:
        if (
            here.structure is None
            or here.part is None
            or (position := site_tree.a_step(here.structure, here.part, step)) is None
        ):
            return
        _move(
            app,
            here,
            here.structure,
            here.part,
            position,
            f"Moved {title_of(here.part)} {'up' if step < 0 else 'down'}.",
        )

    return move


def _choose_holder(app: Shell, here: Arranged) -> None:
    """Ask for the section or group to move the part to, and for its position there."""
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    if (part := here.part) is None or (structure := here.structure) is None:
        return
    now = site_tree.holder_of(part)
    choices = []
    for each in site_tree.holders_for(structure, part):
        off = (
            ""
            if each.row
            else f"This destination is empty. The server can place a {_kind(part)} only next to another item."
        )
        right = "current" if each.id == now else ""
        choices.append(Choice(each, f"{'  ' * each.depth}{each.title}", right=right, disabled_reason=off))

    def chosen(holder: Holder | None) -> None:
        if holder is not None:
            _choose_neighbour(app, here, structure, part, holder)

    app.push_screen(
        Picker(
            f"Move {title_of(part)} to",
            choices,
            empty="This site has no other sections or groups.",
            initial=next((each.value for each in choices if each.value.id == now), None),
        ),
        chosen,
    )


def _choose_neighbour(app: Shell, here: Arranged, structure: SiteStructure, part: Movable, holder: Holder) -> None:
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    row = [(title_of(each), site_tree.pointer(each)) for each in holder.row]
    choices = [
        Choice(Position(after=row[-1][1]), "Last"),
        Choice(Position(before=row[0][1]), "First"),
        *(Choice(Position(after=each), f"After {title}") for title, each in row[:-1]),
    ]
    where = f"in {holder.title}" if holder.id is not None else "at the top level of the site"

    def chosen(position: Position | None) -> None:
        if position is not None:
            _move(app, here, structure, part, position, f"Moved {title_of(part)}.")

    app.push_screen(Picker(f"Choose a position for {title_of(part)} {where}", choices), chosen)


def _move(app: Shell, here: Arranged, structure: SiteStructure, part: Movable, position: Position, said: str) -> None:
    before, name = site_tree.place_of(structure, part), title_of(part)
    item = site_tree.pointer(part)
    sort = site_structure.Sort(at=here.at, item=item, position=position)
    shown = (site_structure.Get(at=here.at), lambda now: site_tree.moved(now, sort))
    if site_tree.moved(structure, sort) == structure:
        app.say(f"{name} is already in this position.")
        return
    if before is None:
        final = f"You cannot undo this move by pressing u because {name} was the only item in its section or group."
        sending = send_plain(app.session.live, sort, f"Could not move {name}", shown)
        app.writes.send(f"move {name}", sending, message=said, no_undo_reason=final, is_visible=True)
        return
    back = site_structure.Sort(at=here.at, item=item, position=before)
    _write(app, f"move {name}", sort, shown, said=said, back=back, said_back=f"Moved {name} back.")


def _write(
    app: Shell, doing: str, op: Operation[Any], *edits: Any, said: str, back: Operation[Any], said_back: str
) -> None:
    from octavo.tui.shell.write_queue import DirectUndo

    undone = partial(send_plain, app.session.live, back, f"Could not undo “{doing}”")
    undo = DirectUndo(f"undo “{doing}”", undone, said_back)
    sending = send_plain(app.session.live, op, f"Could not {doing}", *edits)
    app.writes.send(doing, sending, message=said, make_undo=lambda _: undo, is_visible=True)


# Where visitors begin


def make_default(app: Shell, at: AtHand) -> None:
    """Make a section or space the default, where visitors start."""
    part, where = at.thing, at.known["at"]
    shown = site_structure.Get(at=where)
    structure = app.session.live.peek(shown).value
    if structure is None or not isinstance(part, SiteSection | SiteSpace):
        return
    name, before = title_of(part), site_tree.default_beside(structure, part)
    edit = (shown, lambda now: site_tree.beginning_at(now, part))
    said = f"Visitors to {_whose(structure, at.inside, part)} now see {name} first."
    op = beginning(where, part)
    if before is None:
        doing = f"set {name} as default"
        app.writes.send(
            doing, send_plain(app.session.live, op, f"Could not {doing}", edit), message=said, is_visible=True
        )
    else:
        back = beginning(where, before)
        said_back = f"Restored {title_of(before)} as the default."
        _write(app, f"set {name} as default", op, edit, said=said, back=back, said_back=said_back)


def beginning(at: SiteRef, part: Movable) -> Operation[Any]:
    """What makes a part the default one."""
    if isinstance(part, SiteSection):
        return sites.Update(at=at, default_site_section=part.id)
    if (section := site_tree.holder_of(part)) is not None:
        return site_structure.UpdateSection(at=at, site_section_id=section, default_site_space=part.id)
    return sites.Update(at=at, default_site_space=part.id)


def _whose(structure: SiteStructure, site: Model, part: Movable) -> str:
    holder = site_tree.holder_of(part) if isinstance(part, SiteSpace) else None
    found = next((title_of(each) for each, _ in site_tree.walk(structure) if each.id == holder), None)
    return found or getattr(site, "title", "") or "the site"


# Adding


def add(app: Shell, place: Place) -> None:
    """Ask whether to add a section, a section group or a space, and open its form."""
    from octavo.tui.resources import filling  # tables are looked at without forms
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    structure = app.session.live.peek(site_structure.Get(at=place.known["at"])).value or SiteStructure()
    section, group = _around(structure, place.row.part if isinstance(place.row, Standing) else None)
    choices: list[Choice[Callable[[], object]]] = []

    def offer(kind: str, title: str, detail: str, **more: str) -> None:
        resource = replace(place.resource.parts[kind], new=title)
        make = partial(filling.create, app, resource, {**place.known, **more}, place.then)
        assert resource.create is not None, "every part must have a create operation"
        choices.append(Choice(make, title, detail, disabled_reason=app.session.live.unavailable(resource.create) or ""))

    if section is not None:
        offer(
            "space",
            f"Space in {title_of(section)}",
            "visitors can switch between the spaces in a section",
            section_id=section.id,
        )
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


def _around(structure: SiteStructure, part: Part | None) -> tuple[SiteSection | None, SectionGroup | None]:
    """The section a part is or stands in, and the group that, or it, is or stands in."""
    parts = {each.id: each for each, _ in site_tree.walk(structure)}
    holder = parts.get(site_tree.holder_of(part) or "") if isinstance(part, SiteSpace) else None
    section = part if isinstance(part, SiteSection) else holder if isinstance(holder, SiteSection) else None
    inner = part if section is None else section
    group = inner if isinstance(inner, SectionGroup) else parts.get(site_tree.holder_of(inner) or "") if inner else None
    return section, group if isinstance(group, SectionGroup) else None


def _kind(part: Movable) -> str:
    return site_tree.kind_of(part)


def _is_there(app: Shell, here: Arranged) -> bool:
    return here.structure is not None


STRUCTURE_KEYS: Commands[Arranged] = Commands(
    "structure",
    (
        Command("move", "M", "Move", "Move the item to another section or group", writes=True, is_available=_is_there,
                run=_choose_holder, why_not=lambda _, here: here.why_not_moved()),
        Command("move_up", "alt+up", "Move up", "Move the section, group, or space up", writes=True, shown=False, is_available=_is_there,
                run=_step(-1), why_not=lambda _, here: here.why_no_step(-1)),
        Command("move_down", "alt+down", "Move down", "Move the section, group, or space down", writes=True, shown=False, is_available=_is_there,
                run=_step(1), why_not=lambda _, here: here.why_no_step(1)),
    ),
    context="site structure",
)  # fmt: skip
"""Keys that move the selected part of a site."""
