"""Every kind that is managed, by being declared: one of it made, changed and deleted by keys, wherever it is listed.

That is much, and done for a few kinds in every run: what long runs show to be pressed is in `pressed.tsv` too.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from octavo.api.errors import NotFound
from octavo.tui.resources import acting, organization_resources, site_resources
from octavo.tui.resources.browser import Level
from octavo.tui.resources.form import FormDialog
from octavo.tui.resources.form_inputs import FieldRow
from octavo.tui.resources.form_state import FormState
from octavo.tui.resources.form_values import same
from octavo.tui.resources.resource import Resource
from octavo.tui.widgets.confirm import ConfirmDialog
from octavo.tui.widgets.picker import Picker
from octavo.tui.widgets.text_inputs import TextEditor
from tests.journeys.managed import BARE, NOOR, TELLING, Forms, Written, changes
from tests.journeys.stage import Run, Stage
from tests.journeys.test_resources import browser, is_answered, open_kind
from tests.tui.resources.test_declarations import all_of

PARTS = {"section": "Section", "group": "Section group", "space": "Space"}
"""What adding a part of a site is called, by its kind."""
VIEWS = {"sites": site_resources.KINDS, "admin": organization_resources.KINDS}
VERBS = ("create", "update", "delete")
OFTEN = {
    "sites": {"sites.List", "share_links.List", "adaptive_schema.Get"},
    "admin": {"teams.List", "collections.List", "fonts.List", "organizations.Get"},
}
"""Kinds that are gone through in every run: one that has something in it, one there is one of at most, one made of a file
and one that can only be changed among them. The others are gone through in long runs."""


def writable(kind: Resource[Any]) -> list[str]:
    """What can be done with things of a kind."""
    return [f"{verb} {kind.name} {kind.many}" for verb in VERBS if getattr(kind, verb) is not None]


@dataclass
class Managing:
    """Goes wherever things are listed, and makes, changes and deletes one of each kind there."""

    run: Run
    forms: Forms
    font: Path
    kinds: set[str]
    """The names of those it goes to."""
    done: set[str] = field(default_factory=set)
    places: set[tuple[str, str]] = field(default_factory=set)
    """The kinds that were gone through, and in what."""

    async def level(self) -> None:
        """Where one is, and in one thing of each kind there whatever is in no other."""
        view = browser(self.run)
        level = view.level
        for kind in level.kinds:
            if not kind.children and not self.is_new(kind, level):
                continue
            await open_kind(self.run, kind.many)
            if self.is_new(kind, level):
                await self.kind(kind)
                self.places.add(place(kind, level))
            for thing in telling(kind, view.rows.items):
                if self.is_new_in(level.into(thing)):
                    await self.into(kind, thing)

    def is_new(self, kind: Resource[Any], level: Level) -> bool:
        return self.is_wanted(kind) and place(kind, level) not in self.places

    def is_wanted(self, kind: Resource[Any]) -> bool:
        return kind.name in self.kinds and writable_in(kind)

    def is_new_in(self, level: Level) -> bool:
        """Whether there is anything in a thing that was gone through nowhere, as far as that is known before."""
        below = [each for kind in level.kinds for each in kind.children]
        seen = {name for name, _ in self.places}
        return any(self.is_new(kind, level) for kind in level.kinds) or any(
            self.is_wanted(kind) and kind.name not in seen for kind in below
        )

    async def into(self, kind: Resource[Any], thing: Any) -> None:
        view = browser(self.run)
        depth = len(view.levels)
        assert view.rows.go_to(kind.key(thing))
        view.rows.focus()
        await self.run.press("enter")
        await self.run.until(lambda: len(view.levels) == depth + 1, f"go into {kind.title(thing)}")
        await self.level()
        view.rows.focus()
        while len(view.levels) > depth:
            await self.run.press("escape")
        await self.run.until(lambda: view.level.kind is kind and is_answered(view), f"come back to {kind.many}")

    async def kind(self, kind: Resource[Any]) -> None:
        """Make one, change it and delete it. Of what there is one at most, one is made where there is none, else changed."""
        rows = browser(self.run).rows
        rows.focus()
        for name, part in (kind.parts or {"": kind}).items():
            row = next((each for each in rows.items if kind.itself(each)[0] is part), None)
            if part.create is not None and (row is None or not kind.single):
                row = await self.make(kind, part, name)
                if kind.single:
                    return
            if row is not None and part.update is not None:
                row = await self.change(kind, row)
            if row is not None and part.delete is not None:
                await self.delete(kind, row)

    async def there(self, kind: Resource[Any]) -> dict[str, Any]:
        """What the server has of a kind, by its key."""
        try:
            answered = await self.run.ask(kind.list_op(browser(self.run).level.known), NOOR)
        except NotFound:
            return {}
        return {kind.key(each): each for each in kind.items(answered)}

    async def make(self, kind: Resource[Any], part: Resource[Any], name: str) -> Any:
        """What stands in the row of what was made, where the list tells."""
        view = browser(self.run)
        before = await self.there(kind)
        await self.run.press("ctrl+n")
        if (screen := self.run.app.screen) is not view and isinstance(screen, Picker):
            offered = next(each.title for each in screen.choices() if each.title.startswith(PARTS[name]))
            await self.run.type(offered)
            await self.run.press("enter")
        state = self.form().state
        await self.fill(part, self.forms.to_make(part, state.form.known))
        after = await self.there(kind)
        assert after != before, f"{kind.many}: none was made"
        await self.run.until(lambda: set(view.rows.keys) == after.keys(), f"list {kind.many} as they are")
        self.did("create", part)
        new = [each for key, each in after.items() if key not in before and kind.itself(each)[0] is part]
        return next(iter(new or after.values()))

    async def change(self, kind: Resource[Any], row: Any) -> Any:
        """What stands in the row then."""
        view, (part, thing) = browser(self.run), kind.itself(row)
        known = view.level.known
        await self.on(kind, row)
        await self.run.press("e")
        state = self.form().state
        tried = (
            ({**state.begin, name: value}, op) async for name, value, op in self.forms.to_change(part, known, thing)
        )
        await self.fill(part, tried)
        now = (await self.there(kind))[kind.key(row)]
        assert kind.itself(now)[1] != thing, f"{part.one}: it was not changed"
        await self.run.until(lambda: view.rows.item == now, f"see the {part.one} as it is")
        self.did("update", part)
        return now

    async def delete(self, kind: Resource[Any], row: Any) -> None:
        view, (part, thing) = browser(self.run), kind.itself(row)
        await self.on(kind, row)
        await self.run.press("X")
        assert isinstance(self.run.app.screen, ConfirmDialog), self.run.text
        if part.as_it_was(view.level.known, thing) is None:
            await self.run.type(acting.to_type(part.verb.lower(), part, (thing,)))
            await self.run.press("enter")
        else:
            await self.run.press("y")
        await self.run.until(lambda: kind.key(row) not in view.rows.keys, f"see the {part.one} go")
        assert kind.key(row) not in await self.there(kind)
        self.did("delete", part)

    async def on(self, kind: Resource[Any], row: Any) -> None:
        """Put the cursor on a row."""
        rows = browser(self.run).rows
        rows.focus()
        if rows.key != kind.key(row):
            assert rows.go_to(kind.key(row))
            await self.run.settle()

    def did(self, verb: str, part: Resource[Any]) -> None:
        self.done.add(f"{verb} {part.name} {part.many}")

    def form(self) -> FormDialog:
        dialog = self.run.app.screen
        assert isinstance(dialog, FormDialog), self.run.text
        return dialog

    async def fill(self, part: Resource[Any], tried: AsyncIterator[tuple[Written, Any]]) -> None:
        """Write in the form on show, as people do, what the platform takes and what changes something, and send it."""
        dialog, listed = self.form(), browser_below(self.run)
        state = dialog.state
        async for each, op in tried:
            if changes(self.run.platform.world, op, listed.level.kind.list_op(listed.level.known)):
                written = each
                break
        else:
            raise AssertionError(f"{part.many}: nothing that can be written is taken")
        for row in dialog.query(FieldRow):
            if row.display and not same(state.written[row.field.name], written[row.field.name]):
                await self.write(part, state, row, written[row.field.name])
        await self.run.press("ctrl+s")
        await self.run.until(lambda: self.run.app.screen is not dialog, f"send the form of {part.many}")

    async def write(self, part: Resource[Any], state: FormState, row: FieldRow, text: str | None) -> None:
        run, dialog, name = self.run, self.run.app.screen, row.field.name
        row.input.focus()
        if row.field.kind == "yes or no":
            await run.press("enter")
        elif row.is_picked:
            await run.press("enter")
            await run.until(lambda: run.app.screen is not dialog, f"see what {name} can be")
            await run.type(await self.forms.called(part, state.form.known, row.field, text or ""))
            await run.press("enter")
            if run.app.screen is not dialog:
                await run.press("escape")
        else:
            if row.field.file == "customization_font" and text:  # people write where the file is, not how it was sent
                text = re.sub(r"(?<=storageKey: ).*", str(self.font), text)
            if state.written[name]:
                await run.pilot.press(*(("f7", "delete") if isinstance(row.input, TextEditor) else ("end", "ctrl+u")))
            await run.type(text or "")
        assert same(state.written[name], text), f"{name}: {state.written[name]!r}"


def browser_below(run: Run) -> Any:
    """The tables below the form on show."""
    return run.app.screen_stack[-2]


def place(kind: Resource[Any], level: Level) -> tuple[str, str]:
    """A kind, and in what it is: it is gone through once there."""
    is_bare = kind.single and level.title == BARE
    return kind.name, f"{'bare ' if is_bare else ''}{type(level.known['at']).__name__}"


def writable_in(kind: Resource[Any]) -> bool:
    """Whether anything can be done with what is listed as that."""
    return any(writable(each) for each in kind.parts.values()) or bool(writable(kind))


def telling(kind: Resource[Any], things: Sequence[Any]) -> Sequence[Any]:
    """What there is most in, of what has anything in it; else the first."""
    found = [each for each in things if {kind.key(each), kind.title(each)} & TELLING]
    return (found or things[:1]) if kind.children else ()


@pytest.mark.parametrize("start", VIEWS)
async def test_one_of_some_kinds_is_made_changed_and_deleted_by_keys(furnished_stage: Stage, start: str) -> None:
    await manage(furnished_stage, start, OFTEN[start])


@pytest.mark.long
@pytest.mark.parametrize("start", VIEWS)
async def test_one_of_every_kind_is_made_changed_and_deleted_by_keys(furnished_stage: Stage, start: str) -> None:
    await manage(furnished_stage, start, {kind.name for _, kind in all_of(VIEWS[start])})


async def manage(furnished_stage: Stage, start: str, kinds: set[str]) -> None:
    font = furnished_stage.folder / "tide.woff2"
    font.write_bytes(b"wOF2" + bytes(60))
    async with furnished_stage.play(NOOR, start=start) as run:
        managing = Managing(run, Forms(run.app, lambda op: run.ask(op, NOOR), run.platform.world), font, kinds)
        await managing.level()
    assert managing.done == {each for _, kind in all_of(VIEWS[start]) if kind.name in kinds for each in writable(kind)}
