"""Actions on the rows of a table: the selected rows, else the row with the cursor."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from octavo.api.operation import Model, Operation
from octavo.api.sites import Site
from octavo.data.availability import why_frozen
from octavo.tui.resources import writing
from octavo.tui.resources.exports import FORMATS
from octavo.tui.resources.references import listed_for
from octavo.tui.resources.resource import Action, Column, Known, Names, Resource
from octavo.tui.resources.table import Table
from octavo.tui.shell.permissions import has_permission, why_no_permission
from octavo.tui.shell.shell import Shell
from octavo.tui.terminal import clipboard
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.wording import plural

MOST_NAMED = 12
"""Number of titles listed before several things are deleted together."""
MOST_TYPED = 60
"""Characters of the longest title that must be typed. A longer title, or one that is not ASCII, is replaced by a verb."""


@dataclass(frozen=True)
class AtHand:
    """Things the keys are about, and where they are."""

    resource: Resource[Any]
    known: Known
    inside: Model
    """What they are in: a site, a team; at the top the organization."""
    things: tuple[Any, ...]
    """Those that are ticked, else the one under the cursor."""
    untick: Callable[[], None]

    @property
    def thing(self) -> Any:
        """The first of them."""
        return self.things[0]

    @property
    def known_of_first(self) -> Known:
        """What names it to operations."""
        return self.resource.known_of(self.known, self.thing)

    @property
    def called(self) -> str:
        """What they are called: by name when it is one."""
        return writing.many_of(self.resource, self.things)

    def why_may_not(self, app: Shell, right: str, deed: str) -> str | None:
        """Why what takes a right cannot be done, in a sentence."""
        return why_no_permission(self._owners(app), right, f"{deed} {self.resource.many}", self.resource.one)

    def _owners(self, app: Shell) -> Sequence[Any]:
        """What says what one may do with each of them. None: that is not known yet."""
        resource, rights = self.resource, self.resource.rights
        if rights.of_thing:
            return [resource.holder(each) for each in self.things]
        if not rights.places:
            return (self.inside,)
        listed = {name: listed_for(app, self.known, resource.references, name) for name in rights.places}
        places = {name: None if found is None else {each.id: each for each in found} for name, found in listed.items()}
        return [self._owner(each, places) for each in self.things]

    def _owner(self, thing: Any, places: Mapping[str, Mapping[str, Any] | None]) -> Any:
        for name, found in places.items():
            if (named := getattr(thing, name, None)) is not None:
                return None if found is None else found.get(named, self.inside)
        return self.inside

    def is_leaving(self, user: str) -> bool:
        """Whether a person who deletes this leaves: it is about nobody else."""
        about = [self.resource.known_of(self.known, each).get("user_id") for each in self.things]
        return self.resource.rights.one_leaves and about == [user]


def _why_not_there(app: Shell, operation: type[Operation[Any]], inside: Model) -> str | None:
    """Why the server does not have an operation, or the plan does not include it, as far as it said so."""
    frozen = why_frozen(inside, operation) if isinstance(inside, Site) else None
    return frozen or app.session.live.unavailable(operation)


# Deleting


def _why_not_deleted(app: Shell, at: AtHand) -> str | None:
    verb = at.resource.verb.lower()
    if at.resource.delete is None:
        return at.resource.elsewhere or f"The server's API has no way to {verb} {at.resource.many}."
    if why := _why_not_there(app, at.resource.delete, at.inside):
        return why
    me = app.workspace.me
    return None if me is not None and at.is_leaving(me.id) else at.why_may_not(app, at.resource.rights.delete, verb)


def _delete(app: Shell, at: AtHand) -> None:
    from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed
    from octavo.tui.widgets.text_widgets import Fact

    resource, things = at.resource, at.things
    verb, done = resource.verbs
    whence = f" from the {resource.out_of}" if resource.out_of else ""
    title, button = f"{verb} {at.called}{whence}", resource.verb
    live = app.session.live
    back = writing.putting_back(live, resource, at.known, things)
    typed = "" if back is not None else to_type(button.lower(), resource, things)
    effects = list(dict.fromkeys(said for thing in things for said in resource.hangs_on(thing)))
    facts = [Fact("care", "", said) for said in first_of(effects, "more effects")]
    if len(things) > 1:
        named = first_of([resource.title(each) for each in things], "more")
        facts = [*(Fact("note", "", said) for said in named), *facts]

    def decided(answer: Confirmed | None) -> None:
        if answer is None:
            return
        at.untick()
        app.writes.send(
            title,
            writing.delete(live, resource, at.known, things),
            message=f"{done[:1].upper()}{done[1:]} {at.called}{whence}.",
            make_undo=None if back is None else lambda _: back,
        )

    app.push_screen(
        ConfirmDialog(
            f"{title[:1].upper()}{title[1:]}?",
            verb=button,
            intro="" if back is None else "You can undo this by pressing u.",
            facts=facts,
            word=typed,
            word_reason=f"This cannot be undone. Type {typed} to confirm.",
        ),
        decided,
    )


def first_of(names: Sequence[str], more: str) -> list[str]:
    """Return the first names or sentences. The last item counts those that are not shown, and calls them `more`."""
    rest = len(names) - MOST_NAMED
    return [*names[:MOST_NAMED], f"and {rest} {more}"] if rest > 0 else list(names)


def to_type(verb: str, resource: Resource[Any], things: Sequence[Any]) -> str:
    """Return what must be typed to confirm: the name of one thing, or the verb and the count of several."""
    if len(things) > 1:
        return f"{verb} {len(things)}"
    name = " ".join(resource.title(things[0]).split())
    return name if name == resource.title(things[0]) and name.isascii() and 0 < len(name) <= MOST_TYPED else verb


# Making and changing


def _change(app: Shell, at: AtHand) -> None:
    from octavo.tui.resources import filling  # tables are looked at without it

    if len(at.things) == 1:
        filling.change(app, at.resource, at.known, at.thing)
    else:
        filling.change_all(app, at.resource, at.known, at.things, at.untick)


def _why_not_changed(app: Shell, at: AtHand) -> str | None:
    if at.resource.update is None:
        return at.resource.elsewhere or f"The server's API has no way to change {at.resource.many}."
    why = _why_not_there(app, at.resource.update, at.inside)
    return why or at.why_may_not(app, at.resource.rights.change, "change")


@dataclass(frozen=True)
class Place:
    """Where one more thing can be made."""

    resource: Resource[Any]
    known: Known
    inside: Model
    then: Callable[[str], None]
    """Told the key of what was made."""
    row: Any = None
    """What the cursor is on."""


def _create(app: Shell, place: Place) -> None:
    if place.resource.add is not None:
        place.resource.add(app, place)
        return
    from octavo.tui.resources import filling  # as above

    filling.create(app, place.resource, place.known, place.then)


def _why_not_created(app: Shell, place: Place) -> str | None:
    resource = place.resource
    if resource.single and place.row is not None:
        return f"The {resource.one} already exists. Press e to edit it."
    if resource.create is None and resource.add is None:
        return resource.elsewhere or f"The server's API has no way to create {resource.many}."
    if resource.create is not None and (why := _why_not_there(app, resource.create, place.inside)):
        return why
    lacks = why_no_permission((place.inside,), resource.rights.create, f"create {resource.many}", resource.one)
    return lacks and (None if _may_be_made_in_one(app, place) else lacks)


def _may_be_made_in_one(app: Shell, place: Place) -> bool:
    """Whether one may make it in a space or collection, if not where it is listed. What is not known the server says."""
    for name, right in place.resource.rights.places.items():
        found = listed_for(app, place.known, place.resource.references, name)
        if found is None or any(has_permission(each, right) for each in found):
            return True
    return False


def _why_not_asked(app: Shell, place: Place) -> str | None:
    return None if (ask := place.resource.ask) is None else _why_not_there(app, ask.operation, place.inside)


def _ask(app: Shell, place: Place) -> None:
    if place.resource.ask is not None:
        place.resource.ask.ask(app, place)


# What else can be done


def _why_no_action(app: Shell, at: AtHand) -> str | None:
    if not at.resource.actions:
        return f"There are no other actions for {at.resource.many}."
    return at.why_may_not(app, at.resource.rights.change, "change")


def why_not_acted(app: Shell, at: AtHand, action: Action[Any]) -> str | None:
    """Why something else cannot be done with a thing, in a sentence."""
    why = action.why_not(at.thing) or _why_not_there(app, action.operation, at.inside)
    return why or at.why_may_not(app, action.right(at.thing) or at.resource.rights.change, "change")


def _act(app: Shell, at: AtHand) -> None:
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    choices = [
        Choice(
            each,
            each.name,
            detail=each.help,
            disabled_reason=why_not_acted(app, at, each) or "",
        )
        for each in at.resource.actions
    ]

    def chosen(action: Action[Any] | None) -> None:
        if action is not None and action.ask is not None:
            action.ask(app, at)
        elif action is not None:
            _confirm_action(app, at, action)

    app.push_screen(Picker(at.resource.title(at.thing), choices), chosen)


def fill_in_first(app: Shell, at: AtHand) -> None:
    """Let be filled in what the first action of its kind is done with."""
    from octavo.tui.resources import filling  # as above

    filling.act(app, at.resource, at.known, at.thing, at.resource.actions[0])


def _confirm_action(app: Shell, at: AtHand, action: Action[Any]) -> None:
    from octavo.tui.shell.write_queue import DirectUndo
    from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed

    resource, known, thing, live = at.resource, at.known, at.thing, app.session.live
    title = resource.title(thing)
    back = partial(writing.act, live, action, resource, known, thing, back=True)
    undo = DirectUndo(f"undo “{action.name}” for {title}", back, f"Undid “{action.name}” for {title}.")

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.writes.send(
                f"{action.name.lower()} {title}",
                writing.act(live, action, resource, known, thing),
                message=f"{title} {action.done}.",
                make_undo=None if action.back is None else lambda _: undo,
            )

    app.push_screen(ConfirmDialog(f"{action.name} {title}?", verb=action.name, intro=action.help), decided)


# Copying and opening


def _address(at: AtHand) -> str:
    urls = getattr(at.thing, "urls", None)
    named = (getattr(urls, name, "") for name in ("app", "published", "public"))
    return at.resource.address(at.thing) or next(filter(None, named), "") or ""


def _why_no_address(app: Shell, at: AtHand) -> str | None:
    if not _address(at):
        return f"{at.resource.title(at.thing)} has no link."
    return None


def _why_not_opened(app: Shell, at: AtHand) -> str | None:
    if app.session.is_embedded:
        from octavo.tui.shell.external_links import missing_link_reason

        return missing_link_reason(app, at.resource.one)
    return _why_no_address(app, at)


def _open(app: Shell, at: AtHand) -> None:
    from octavo.tui.shell.external_links import confirm_link

    confirm_link(app, _address(at))


def _copy(app: Shell, at: AtHand) -> None:
    names = "\n".join(at.resource.title(each) for each in at.things)
    what = f"the name of {at.called}" if len(at.things) == 1 else f"the names of {at.called}"
    clipboard.copy(app, names, f"Copied {what}.")


def _called_new(resource: Resource[Any]) -> str | None:
    return None if resource.create is None and resource.add is None else resource.called_new


PLACE: Commands[Place] = Commands(
    "resource",
    (
        Command("create", "ctrl+n", "New", "Create an item", run=_create, why_not=_why_not_created, writes=True,
                title_now=lambda _, place: _called_new(place.resource)),
        Command("ask", "t", "Test", "Test a link on the site, or search the site", run=_ask, why_not=_why_not_asked,
                is_available=lambda _, place: place.resource.ask is not None,
                title_now=lambda _, place: None if place.resource.ask is None else place.resource.ask.name),
    ),
)  # fmt: skip
"""What can be done where things are."""
THING: Commands[AtHand] = Commands(
    "resource",
    (
        Command("change", "e", "Edit", "Edit the selected items", run=_change, why_not=_why_not_changed, writes=True,
                title_now=lambda _, at: "Edit" + (f" ({len(at.things)})" if len(at.things) > 1 else "")),
        Command("delete", "X", "Delete", "Delete the selected items (asks for confirmation)",
                run=_delete, why_not=_why_not_deleted, writes=True, title_now=lambda _, at: _called_delete(at)),
        Command("act", "a", "More…", "Show more actions for the selected item", run=_act, why_not=_why_no_action, writes=True,
                is_available=lambda _, at: bool(at.resource.actions)),
        Command("yank", "y", "Copy name", "Copy the names of the selected items", run=_copy, shown=False),
        Command("yank_url", "Y", "Copy link", "Copy the link to the selected item", shown=False, why_not=_why_no_address,
                run=lambda app, at: clipboard.copy(app, _address(at), f"Copied the link to {at.resource.title(at.thing)}.")),
        Command("open_browser", "o", "Open in browser", "Open the selected item in the browser", run=_open, why_not=_why_not_opened, shown=False),
    ),
    context="selected items",
    no_target="Select an item first.",
)  # fmt: skip
"""What can be done with the things at hand."""


def _called_delete(at: AtHand) -> str:
    whence = f" from {at.resource.out_of}" if at.resource.out_of else ""
    return f"{at.resource.verb}{whence}" + (f" ({len(at.things)})" if len(at.things) > 1 else "")


# The table itself


def choose_order(app: Shell, table: Table, changed: Callable[[], None]) -> None:
    """Ask by which column to sort."""
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    as_listed = "Default order"
    choices: list[Choice[Column[Any] | str]] = [
        Choice(each, f"{each.name[:1].upper()}{each.name[1:]}", right=_order_of(table, each))
        for each in table.resource.columns
    ]
    choices.append(Choice(as_listed, as_listed, right="" if table.by is not None else "current"))

    def chosen(by: Column[Any] | str | None) -> None:
        if by is not None:
            table.sort(None if isinstance(by, str) else by)
            changed()

    app.push_screen(Picker(f"Sort {table.resource.many}", choices, initial=table.by or as_listed), chosen)


def _order_of(table: Table, column: Column[Any]) -> str:
    return "" if column is not table.by else "current · press enter to reverse the order"


def choose_columns(app: Shell, table: Table, changed: Callable[[], None], now: Column[Any] | None = None) -> None:
    """Ask which columns are to be shown, until that is closed."""
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    choices = [
        Choice(each, f"{each.name[:1].upper()}{each.name[1:]}", right="shown" if each in table.columns else "")
        for each in table.resource.columns
    ]

    def chosen(column: Column[Any] | None) -> None:
        if column is not None:
            table.toggle(column)
            changed()
            choose_columns(app, table, changed, column)

    app.push_screen(Picker(f"Choose columns for {table.resource.many}", choices, initial=now), chosen)


def export(app: Shell, table: Table, things: Sequence[Any], names: Names) -> None:
    """Ask as what, and where to, some things are to be saved."""
    from octavo.tui.shell.file_dialogs import Export, ask_for_path, slug
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    resource = table.resource
    what = plural(len(things), resource.one, resource.many)

    async def content(ending: str) -> AsyncIterator[bytes]:
        written = await asyncio.to_thread(FORMATS[ending][1], table.columns, things, names, resource.secrets)
        yield written.encode("utf-8", "replace")

    def chosen(ending: str | None) -> None:
        if ending is not None:
            ask_for_path(app, Export(what, f"{slug(resource.many)}.{ending}", partial(content, ending)))

    details = {
        "json": "all fields",
        "csv": "the visible columns",
        "md": "a table with the visible columns",
    }
    choices = [Choice(ending, name, detail=details[ending]) for ending, (name, _) in FORMATS.items()]
    app.push_screen(Picker(f"Export {what}", choices), chosen)
