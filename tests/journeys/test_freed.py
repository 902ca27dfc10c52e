"""Closed dialogs and views are freed: after a garbage collection, nothing of them is left."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pkgutil import walk_packages
from typing import Any
from weakref import WeakSet

import pytest
from textual.dom import DOMNode
from textual.screen import Screen

from octavo import tui
from octavo.api import adaptive_schema, change_requests, content, organizations, teams
from octavo.api.places import OrganizationRef, SpaceRef
from octavo.data.state_db import NotSaved
from octavo.server.demo.library import SITE
from octavo.tui.content.content_screen import ContentScreen
from octavo.tui.core.dialog_draft import DialogDraft
from octavo.tui.editing.page_drafts import PageDraftKey
from octavo.tui.reader.link_opening import follow_link
from octavo.tui.render.page_parts import LinkFollowed
from octavo.tui.resources.form import open_form
from octavo.tui.resources.form_state import FormRequest
from octavo.tui.resources.reference_lists import ReferenceList
from octavo.tui.resources.site_checks import open_condition
from octavo.tui.widgets.chooser import Choice
from tests.data.sends import refuse_to_save
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_looking import look

HARBOUR = SpaceRef(space_id="harbour-api")

Way = Sequence[str | Callable[[Run], Awaitable[None]]]
"""Keys, pasted text (`type:`), and actions of other users."""


async def a_picture(run: Run) -> None:
    await look(run, "concepts/water-levels")


async def a_note(run: Run) -> None:
    screen = run.app.screen
    assert isinstance(screen, ContentScreen)
    assert screen.open_space.pages is not None
    screen.open_space.open_page(
        next(page.id for page in screen.open_space.pages.walk() if page.path == "look-up/reference/levels")
    )
    await run.until(lambda: screen.view.contents.is_whole)
    follow_link(screen.open_space, LinkFollowed("gap", False, "note"))
    await run.see("Footnote gap")


async def a_form(run: Run) -> None:
    here = OrganizationRef(organization_id="saltmarsh")
    people = ReferenceList(organizations.ListMembers(at=here, limit=1000), lambda each: Choice(each.id, each.user.name))
    known, picked = {"at": here}, {"members": people}
    open_form(
        FormRequest(
            run.app,
            teams.Create,
            title="New team",
            arguments=known,
            reference_lists=picked,
            draft_name="a form",
            on_sent=lambda op, answer: None,
        )
    )
    await run.see("New team")
    await run.type("Divers")


async def a_condition(run: Run) -> None:
    of_the_site = adaptive_schema.TemplateCondition(condition='visitor.claims.plan == "pro"', description="Pro")
    open_condition(run.app, {"at": SITE}, of_the_site)
    await run.see("Test a condition")
    await run.type("{}")


async def merge_seven(run: Run) -> None:
    await run.press("m")
    await run.see("checked just now")
    await run.later(seconds=1)
    await run.press("y")
    await run.hear("Merged #7.")


async def write_into_four(run: Run) -> None:
    """Edit a page of #4 so that it conflicts with main."""
    listed = (await run.ask(change_requests.List(at=HARBOUR), MARA)).items
    four = next(each for each in listed if each.number == 4)
    tree = await run.ask(content.ListPages(at=four.ref(HARBOUR)), MARA)
    page = next(page for page in tree.walk() if page.title == "Retries")
    revision = (await run.ask(content.Get(at=four.ref(HARBOUR)), MARA)).id
    name = PageDraftKey(HARBOUR.space_id, page.id, revision, four.id).text
    await DialogDraft(run.app, name).save("# Retries\n\n<<<<<<< theirs\nOnce.\n=======\nTwice.\n>>>>>>> mine\n")


async def an_unsaved_text(run: Run) -> None:
    allow = refuse_to_save(run.app.session.state)
    with suppress(NotSaved):
        await run.app.session.drafts.save("claims tried nowhere", "{}")
    await run.app.action_quit()
    allow()
    await run.settle()


WAYS: dict[str, dict[str, Way]] = {
    "content": {
        "HelpScreen": ("?",),
        "PaletteScreen": (":",),
        "SearchScreen": ("s", "type:battery"),
        "ActivityScreen": ("!",),
        "Picker": ("f2",),
        "ConfirmDialog": ("ctrl+n", "enter", "enter"),
        "FormDialog": (a_form,),
        "Picker of a form": (a_form, "tab", "enter"),
        "ConditionTest": (a_condition,),
        "UnsavedDrafts": (an_unsaved_text,),
        "PageForm": ("M", "down", "down", "enter", "enter"),
        "InfoScreen": ("i",),
        "OrganizationMenu": ("ctrl+o",),
        "FilesScreen": ("F",),
        "LinksScreen": ("L",),
        "PageHistoryScreen": ("H",),
        "Composer": ("C", "type:Well."),
        "Autocomplete": ("C", "type: ", "@"),
        "ThreadDialog": ("g", "j", "j", "enter", "t", "enter"),
        "ReactionPicker": (*("g", "j", "j", "enter", "t", "enter"), "+"),
        "TableRowDialog": ("escape", "/", *"errors", "enter", "enter", "/", *"too-many", "enter", "enter"),
        "ImageScreen": (a_picture,),
        "TextDialog": (a_note,),
        "InboxScreen": ("1",),
        "CommentsScreen": ("4",),
        "BrowserScreen": ("6", "enter"),
        "ContentScreen": ("2",),
    },
    "changes": {
        "ReviewersScreen": ("V",),
        "MergeSeveralDialog": ("j", "x", "j", "x", "m"),
        "ChangeRequestScreen": ("escape", "escape", "/", *"refused", "enter", "enter"),
        "PendingCommentsScreen": ("enter", "c", "type:Say which.", "ctrl+t", "H"),
        "CheckedDialog to merge": ("enter", "m"),
        "CheckedDialog to undo": ("enter", merge_seven, "Z"),
        "ChangesScreen": ("3",),
    },
    "conflicts": {
        "CheckedDialog to update": ("/", *"retry", "enter", "enter", "U"),
        "IncomingChanges": ("U", "d"),
        "ConflictsScreen": ("U", "y"),
        "MergedPreviewScreen": ("enter", "R", "b", "p"),
        "DraftConflictsScreen": ("enter", write_into_four, "e", "enter"),
    },
}
"""Keys that open each screen after the previous is closed. A suffix of the name tells its uses apart."""
SELDOM = {
    *("PaletteScreen", "ActivityScreen", "Picker of a form", "ConditionTest", "PageForm", "OrganizationMenu"),
    "UnsavedDrafts",
    *(
        "FilesScreen",
        "PageHistoryScreen",
        "Autocomplete",
        "ReactionPicker",
        "TableRowDialog",
        "ImageScreen",
        "BrowserScreen",
    ),
    *("MergeSeveralDialog", "CheckedDialog to undo", "IncomingChanges", "MergedPreviewScreen", "DraftConflictsScreen"),
}
"""Left to long runs: in every run others are opened that are made of the same."""
PARTS = {"Dialog", "Chooser"}
"""Base classes that are never shown."""
SHOWN_ITSELF = {"ConflictsScreen", "ConfirmDialog"}
"""Base classes that are also shown."""
FIRST = {"SignInScreen"}
"""Shown once, before there is a session."""


def screens() -> set[str]:
    """All that can be on show."""
    for module in walk_packages(tui.__path__, "octavo.tui."):
        if "__main__" not in module.name:
            import_module(module.name)
    found: list[type[Screen[Any]]] = [Screen]
    for each in found:
        found += [below for below in each.__subclasses__() if below not in found]
    ours = [each for each in found if each.__module__.startswith("octavo.tui.")]
    made_from = {below for each in ours for below in each.__mro__[1:]}
    shown = [each for each in ours if each not in made_from or each.__name__ in SHOWN_ITSELF]
    return {each.__name__ for each in shown} - PARTS


def test_each_screen_has_keys_in_the_table() -> None:
    names = {name for ways in WAYS.values() for name in ways}
    assert screens() - FIRST == {name.split()[0] for name in names}
    assert names > SELDOM


@pytest.mark.parametrize("seldom", [set(), pytest.param(SELDOM, marks=pytest.mark.long)], ids=["often", "all"])
@pytest.mark.parametrize("start", WAYS)
async def test_closed_screens_are_freed(
    stage: Stage, start: str, seldom: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLORTERM", "truecolor")
    async with stage.play(start="content" if start == "content" else "changes") as run:
        opened = Opened(run)
        for name, way in WAYS[start].items():
            if name in SELDOM - seldom:
                continue
            await opened.go(way)
            assert type(run.app.screen).__name__ == name.split()[0], run.text
            await opened.leave()
        await run.press("4", "2")
        run.app.history.clear()  # what one came from or back from is kept as it was left
        # A question that was asked of it may have a deadline in seconds, or its clock tick once more.
        await run.until(lambda: not opened.left(), f"leave nothing of what was closed: {opened.left()}")


@pytest.mark.before_release
async def test_notice_does_not_keep_its_dialog_in_memory(stage: Stage) -> None:
    async with stage.play() as run:
        opened = Opened(run)
        await opened.go(("i",))
        run.app.screen.call_later(run.app.notices.say, "Copied the link.")
        await run.see("Copied the link.")
        await opened.leave()
        run.app.history.clear()
        await run.until(lambda: not opened.left(), f"leave nothing of what was closed: {opened.left()}")
        assert "Copied the link." in run.text


class Opened:
    """All that was ever on show, as far as it is not gone."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._nodes: WeakSet[DOMNode] = WeakSet()

    async def go(self, way: Way) -> None:
        """Go there, and remember what comes on show."""
        for step in way:
            if not isinstance(step, str):
                await step(self._run)
            elif step.startswith("type:"):
                await self._run.type(step.removeprefix("type:"))
            else:
                await self._run.press(step)
            self.note()

    def note(self) -> None:
        """Remember what is on show."""
        self._nodes.update(self._shown())

    async def leave(self) -> None:
        """Close it as people do."""
        for _ in range(9):
            if len(self._run.app.screen_stack) > 1:
                await self._run.press("escape")
        assert len(self._run.app.screen_stack) == 1, self._run.text

    def left(self) -> set[str]:
        """Return the closed screens that still exist after a garbage collection."""
        assert self._run.text  # whoever drew last knows what was below it
        # The loop keeps timers that were cancelled until they are due, with who set them: these tests set some for 45 s.
        timers = asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]  # private to asyncio
        timers[:] = sorted(each for each in timers if not each.cancelled())
        self._run.app.teardown.garbage.wake()
        gc.collect()  # the app looks twice, some time apart: what is asked here is whether anything holds it
        return {type(node).__name__ for node in self._nodes - set(self._shown())}

    def _shown(self) -> Iterator[DOMNode]:
        stacks = self._run.app._screen_stacks.values()
        return (node for stack in stacks for screen in stack for node in screen.walk_children(with_self=True))
