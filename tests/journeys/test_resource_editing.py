"""Items of every declared resource are created, edited and deleted with keys, in every table that lists the
resource.

Ordinary runs cover a few resources, and long runs cover all resources. `requests.tsv` also has rows of long runs."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from octavo.api import sites
from octavo.api.errors import NotFound
from octavo.tui.resources import organization_resources, resource_commands, site_resources
from octavo.tui.resources.form import FormDialog
from octavo.tui.resources.form_inputs import FieldRow
from octavo.tui.resources.form_state import FormState
from octavo.tui.resources.form_values import is_same_text
from octavo.tui.resources.resource import Resource
from octavo.tui.resources.resource_browser import BrowserLevel
from octavo.tui.widgets.chooser import Picker
from octavo.tui.widgets.confirm import ConfirmDialog
from octavo.tui.widgets.text_inputs import TextEditor
from tests.journeys.resource_samples import ALWAYS_CHECKED_KEYS, BARE_SITE_TITLE, NOOR, FieldTexts, Forms, changes
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_resources import browser, is_loaded, open_table
from tests.tui.resources.test_declarations import all_of

PARTS = {"section": "Section", "group": "Section group", "space": "Space"}
"""Titles of the choices that add a part to a site, by the name of the part."""
VIEWS = {"sites": site_resources.TABLES, "admin": organization_resources.TABLES}
VERBS = ("create", "update", "delete")
RESOURCES_IN_EVERY_RUN = {
    "sites": {"sites.List", "share_links.List", "adaptive_schema.Get"},
    "admin": {"teams.List", "collections.List", "fonts.List", "organizations.Get"},
}
"""Resources that every run covers: with children, with a single item, with a file, and without a command to create
an item."""


def writable(kind: Resource[Any]) -> list[str]:
    """Return the writes that a resource supports."""
    return [f"{verb} {kind.name} {kind.plural}" for verb in VERBS if getattr(kind, verb) is not None]


@dataclass
class TableVisitor:
    """A visitor of all tables, who creates, edits and deletes an item in each table."""

    run: Run
    forms: Forms
    font: Path
    kinds: set[str]
    """Names of the resources to cover."""
    done: set[str] = field(default_factory=set)
    places: set[tuple[str, str]] = field(default_factory=set)
    """Resources that are covered, with the types of their places."""

    async def cover_level(self) -> None:
        """Cover the tables of the open level. In each table, open one item whose children are not covered yet."""
        view = browser(self.run)
        level = view.level
        for kind in level.resources:
            if not kind.children and not self.is_new(kind, level):
                continue
            await open_table(self.run, kind.plural)
            if self.is_new(kind, level):
                await self.cover_resource(kind)
                self.places.add(place(kind, level))
            for thing in items_to_open(kind, view.rows.items):
                if self.is_new_in(level.child_level(thing)):
                    await self.cover_children(kind, thing)

    def is_new(self, kind: Resource[Any], level: BrowserLevel) -> bool:
        return self.is_wanted(kind) and place(kind, level) not in self.places

    def is_wanted(self, kind: Resource[Any]) -> bool:
        return kind.name in self.kinds and writable_in(kind)

    def is_new_in(self, level: BrowserLevel) -> bool:
        """Return whether an item contains a table that is not covered yet, according to the declarations."""
        below = [each for kind in level.resources for each in kind.children]
        seen = {name for name, _ in self.places}
        return any(self.is_new(kind, level) for kind in level.resources) or any(
            self.is_wanted(kind) and kind.name not in seen for kind in below
        )

    async def cover_children(self, kind: Resource[Any], thing: Any) -> None:
        view = browser(self.run)
        depth = len(view.levels)
        assert view.rows.go_to(kind.key(thing))
        view.rows.focus()
        await self.run.press("enter")
        await self.run.until(lambda: len(view.levels) == depth + 1, f"open {kind.title(thing)}")
        await self.cover_level()
        view.rows.focus()
        while len(view.levels) > depth:
            await self.run.press("escape")
        await self.run.until(
            lambda: view.level.resource is kind and is_loaded(view), f"return to the table of {kind.plural}"
        )

    async def cover_resource(self, kind: Resource[Any]) -> None:
        """Create, edit and delete an item. If the resource has only one item, create or edit the item."""
        rows = browser(self.run).rows
        rows.focus()
        for name, part in (kind.row_resources or {"": kind}).items():
            row = next((each for each in rows.items if kind.item_of(each)[0] is part), None)
            if part.create is not None and (row is None or not kind.is_single):
                row = await self.create_item(kind, part, name)
                if kind.is_single:
                    return
            if row is not None and part.update is not None:
                row = await self.edit_item(kind, row)
            if row is not None and part.delete is not None:
                await self.delete_item(kind, row)

    async def items_on_server(self, kind: Resource[Any]) -> dict[str, Any]:
        """Return the items on the server by key."""
        try:
            answered = await self.run.ask(kind.list_operation(browser(self.run).level.arguments), NOOR)
        except NotFound:
            return {}
        return {kind.key(each): each for each in kind.items(answered)}

    async def create_item(self, kind: Resource[Any], part: Resource[Any], name: str) -> Any:
        """Create an item, and return the row of the item."""
        view = browser(self.run)
        before = await self.items_on_server(kind)
        await self.run.press("ctrl+n")
        if (screen := self.run.app.screen) is not view and isinstance(screen, Picker):
            offered = next(each.title for each in screen.choices() if each.title.startswith(PARTS[name]))
            await self.run.type(offered)
            await self.run.press("enter")
        state = self.form().state
        await self.fill(part, self.forms.to_make(part, state.form.arguments))
        after = await self.items_on_server(kind)
        assert after != before, f"{kind.plural}: the server has no new item"
        await self.run.until(lambda: set(view.rows.keys) == after.keys(), f"list the {kind.plural} of the server")
        self.note_done("create", part)
        new = [each for key, each in after.items() if key not in before and kind.item_of(each)[0] is part]
        return next(iter(new or after.values()))

    async def edit_item(self, kind: Resource[Any], row: Any) -> Any:
        """Edit an item, and return the row of the item."""
        view, (part, thing) = browser(self.run), kind.item_of(row)
        known = view.level.arguments
        await self.select_row(kind, row)
        await self.run.press("e")
        state = self.form().state
        tried = (
            ({**state.initial_texts, name: value}, op)
            async for name, value, op in self.forms.to_change(part, known, thing)
        )
        await self.fill(part, tried)
        now = (await self.items_on_server(kind))[kind.key(row)]
        assert kind.item_of(now)[1] != thing, f"{part.singular}: the server has the old values"
        await self.run.until(lambda: view.rows.item == now, f"show the {part.singular} with the new values")
        self.note_done("update", part)
        return now

    async def delete_item(self, kind: Resource[Any], row: Any) -> None:
        view, (part, thing) = browser(self.run), kind.item_of(row)
        await self.select_row(kind, row)
        await self.run.press("X")
        assert isinstance(self.run.app.screen, ConfirmDialog), self.run.text
        if part.recreate_operation(view.level.arguments, thing) is None:
            await self.run.type(resource_commands.confirmation_text(part.delete_label.lower(), part, (thing,)))
            await self.run.press("enter")
        else:
            await self.run.press("y")
        await self.run.until(lambda: kind.key(row) not in view.rows.keys, f"remove the {part.singular} from the table")
        assert kind.key(row) not in await self.items_on_server(kind)
        self.note_done("delete", part)

    async def select_row(self, kind: Resource[Any], row: Any) -> None:
        """Move the cursor to a row."""
        rows = browser(self.run).rows
        rows.focus()
        if rows.key != kind.key(row):
            assert rows.go_to(kind.key(row))
            await self.run.settle()

    def note_done(self, verb: str, part: Resource[Any]) -> None:
        self.done.add(f"{verb} {part.name} {part.plural}")

    def form(self) -> FormDialog:
        dialog = self.run.app.screen
        assert isinstance(dialog, FormDialog), self.run.text
        return dialog

    async def fill(self, part: Resource[Any], tried: AsyncIterator[tuple[FieldTexts, Any]]) -> None:
        """Fill in the open form with texts that the server accepts and that change the item, and send the form."""
        dialog, listed = self.form(), browser_below(self.run)
        state = dialog.state
        async for each, op in tried:
            if changes(self.run.platform.context, op, listed.level.resource.list_operation(listed.level.arguments)):
                written = each
                break
        else:
            raise AssertionError(f"{part.plural}: nothing that can be written is taken")
        for row in dialog.query(FieldRow):
            if row.display and not is_same_text(state.texts[row.field.name], written[row.field.name]):
                await self.write(part, state, row, written[row.field.name])
        await self.run.press("ctrl+s")
        await self.run.until(lambda: self.run.app.screen is not dialog, f"close the form of {part.plural}")

    async def write(self, part: Resource[Any], state: FormState, row: FieldRow, text: str | None) -> None:
        run, dialog, name = self.run, self.run.app.screen, row.field.name
        row.input.focus()
        if row.field.kind == "yes or no":
            await run.press("enter")
        elif row.is_picked:
            await run.press("enter")
            await run.until(lambda: run.app.screen is not dialog, f"open the choices of {name}")
            await run.type(await self.forms.called(part, state.form.arguments, row.field, text or ""))
            await run.press("enter")
            if run.app.screen is not dialog:
                await run.press("escape")
        else:
            # Users type the path of the file and not the storage key.
            if row.field.upload_kind == "customization_font" and text:
                text = re.sub(r"(?<=storageKey: ).*", str(self.font), text)
            if state.texts[name]:
                await run.pilot.press(*(("f7", "delete") if isinstance(row.input, TextEditor) else ("end", "ctrl+u")))
            await run.type(text or "")
        assert is_same_text(state.texts[name], text), f"{name} contains {state.texts[name]!r}"


def browser_below(run: Run) -> Any:
    """Return the tables below the open form."""
    return run.app.screen_stack[-2]


def place(kind: Resource[Any], level: BrowserLevel) -> tuple[str, str]:
    """Return the name of a resource and the type of its place. The visitor covers each such pair once."""
    is_bare = kind.is_single and level.title == BARE_SITE_TITLE
    return kind.name, f"{'bare ' if is_bare else ''}{type(level.arguments['at']).__name__}"


def writable_in(kind: Resource[Any]) -> bool:
    """Return whether any row of a table can be created, edited or deleted."""
    return any(writable(each) for each in kind.row_resources.values()) or bool(writable(kind))


def items_to_open(kind: Resource[Any], things: Sequence[Any]) -> Sequence[Any]:
    """Return the items with the most children, else the first item."""
    found = [each for each in things if {kind.key(each), kind.title(each)} & ALWAYS_CHECKED_KEYS]
    return (found or things[:1]) if kind.children else ()


@pytest.mark.before_release("admin", "sites")
@pytest.mark.parametrize("start", VIEWS)
async def test_items_of_some_tables_are_created_edited_and_deleted(full_stage: Stage, start: str) -> None:
    await manage(full_stage, start, RESOURCES_IN_EVERY_RUN[start])


@pytest.mark.long
@pytest.mark.parametrize("start", VIEWS)
async def test_items_of_every_table_are_created_edited_and_deleted(full_stage: Stage, start: str) -> None:
    await manage(full_stage, start, {kind.name for _, kind in all_of(VIEWS[start])})


async def manage(full_stage: Stage, start: str, kinds: set[str]) -> None:
    font = full_stage.folder / "tide.woff2"
    font.write_bytes(b"wOF2" + bytes(60))
    async with full_stage.play(NOOR, start=start) as run:
        visitor = TableVisitor(run, Forms(run.app, lambda op: run.ask(op, NOOR), run.platform.context), font, kinds)
        await visitor.cover_level()
    assert visitor.done == {each for _, kind in all_of(VIEWS[start]) if kind.name in kinds for each in writable(kind)}


async def test_undo_of_a_creation_says_if_the_creator_may_not_delete(stage: Stage) -> None:
    async with stage.play(MARA, start="sites") as run:
        await run.press("ctrl+n")
        await run.see("New site")
        await run.type("Tides")
        await run.press("ctrl+s")
        await run.hear("Created Tides.")
        await run.press("u")
        await run.hear("You need the Admin role in Tides to delete sites. Ask an organization admin for access.")
        assert not run.gate.sent(sites.Delete)
