"""Closed dialogs and views are freed: no object of them exists after a garbage collection."""

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
from octavo.api.operation import OrganizationRef, SpaceRef
from octavo.data.state_db import NotSaved
from octavo.server.demo.library import SITE
from octavo.tui.content.content_screen import ContentScreen
from octavo.tui.core.dialog_draft import DialogDraft
from octavo.tui.editing.page_drafts import PageDraftKey
from octavo.tui.reader.link_opening import follow_link
from octavo.tui.render.layout import LinkFollowed
from octavo.tui.resources.form import open_form
from octavo.tui.resources.form_state import FormRequest
from octavo.tui.resources.resource import ReferenceList
from octavo.tui.resources.site_checks import open_condition
from octavo.tui.widgets.chooser import Choice
from tests.data.connections import refuse_to_save
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_images_and_info import open_first_image
from tests.journeys.test_suggestions import suggest_utc

HARBOUR = SpaceRef(space_id="harbour-api")

Steps = Sequence[str | Callable[[Run], Awaitable[None]]]
"""Keys, pasted texts (`type:`), and actions of other users."""


async def open_image(run: Run) -> None:
    await open_first_image(run, "concepts/water-levels")


async def open_footnote(run: Run) -> None:
    screen = run.app.screen
    assert isinstance(screen, ContentScreen)
    assert screen.open_space.pages is not None
    screen.open_space.open_page(
        next(page.id for page in screen.open_space.pages.walk() if page.path == "look-up/reference/levels")
    )
    await run.until(lambda: screen.page_view.contents.is_fully_parsed)
    follow_link(screen.open_space.shown_page, LinkFollowed("gap", False, "note"))
    await run.see("Footnote gap")


async def open_team_form(run: Run) -> None:
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
            on_sent=lambda sent: None,
        )
    )
    await run.see("New team")
    await run.type("Divers")


async def open_condition_test(run: Run) -> None:
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


async def suggest_to_seven(run: Run) -> None:
    await suggest_utc(run)


async def save_conflicting_draft(run: Run) -> None:
    """Save a draft for a page of #4 that conflicts with main."""
    listed = (await run.ask(change_requests.List(at=HARBOUR), MARA)).items
    four = next(each for each in listed if each.number == 4)
    tree = await run.ask(content.ListPages(at=four.ref(HARBOUR)), MARA)
    page = next(page for page in tree.walk() if page.title == "Retries")
    revision = (await run.ask(content.Get(at=four.ref(HARBOUR)), MARA)).id
    name = PageDraftKey(HARBOUR.space_id, page.id, revision, four.id).stored_key
    await DialogDraft(run.app, name).save("# Retries\n\n<<<<<<< theirs\nOnce.\n=======\nTwice.\n>>>>>>> mine\n")


async def open_unsaved_drafts(run: Run) -> None:
    allow = refuse_to_save(run.app.session.state)
    with suppress(NotSaved):
        await run.app.session.drafts.save("claims tried nowhere", "{}")
    await run.app.action_quit()
    allow()
    await run.settle()


STEPS_BY_SCREEN: dict[str, dict[str, Steps]] = {
    "content": {
        "HelpScreen": ("?",),
        "PaletteScreen": (":",),
        "SearchScreen": ("s", "type:battery"),
        "ActivityScreen": ("!",),
        "Picker": ("f2",),
        "ConfirmDialog": ("ctrl+n", "enter", "enter"),
        "FormDialog": (open_team_form,),
        "Picker of a form": (open_team_form, "tab", "enter"),
        "ConditionTest": (open_condition_test,),
        "UnsavedDrafts": (open_unsaved_drafts,),
        "PageForm": ("M", "down", "down", "enter", "enter"),
        "InfoScreen": ("i",),
        "OrganizationMenu": ("ctrl+o",),
        "FilesScreen": ("F",),
        "LinksScreen": ("L",),
        "PageHistoryScreen": ("H",),
        "BlameScreen": ("I",),
        "Composer": ("C", "type:Well."),
        "Autocomplete": ("C", "type: ", "@"),
        "ThreadDialog": ("g", "j", "j", "enter", "t", "enter"),
        "ReactionPicker": (*("g", "j", "j", "enter", "t", "enter"), "+"),
        "TableRowDialog": ("escape", "/", *"errors", "enter", "enter", "/", *"too-many", "enter", "enter"),
        "ImageScreen": (open_image,),
        "TextDialog": (open_footnote,),
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
        "SuggestionPreviewScreen": ("enter", suggest_to_seven, "r", "%"),
        "CheckedDialog to merge": ("enter", "m"),
        "CheckedDialog to undo": ("enter", merge_seven, "Z"),
        "TermScreen": ("/", *"classic", "enter", "enter", "#", "enter"),
        "RequestListScreen": ("3",),
    },
    "conflicts": {
        "CheckedDialog to update": ("/", *"retry", "enter", "enter", "U"),
        "IncomingChangesScreen": ("U", "d"),
        "ConflictsScreen": ("U", "y"),
        "MergedPreviewScreen": ("enter", "R", "b", "p"),
        "DraftConflictsScreen": ("enter", save_conflicting_draft, "e", "enter"),
    },
}
"""The steps that open each screen after the previous screen closed. The words after the class name distinguish
several uses of a class."""
ONLY_IN_LONG_RUNS = {
    *("PaletteScreen", "ActivityScreen", "Picker of a form", "ConditionTest", "PageForm", "OrganizationMenu"),
    "UnsavedDrafts",
    *(
        "FilesScreen",
        "PageHistoryScreen",
        "BlameScreen",
        "Autocomplete",
        "ReactionPicker",
        "TableRowDialog",
        "ImageScreen",
        "BrowserScreen",
    ),
    *(
        "MergeSeveralDialog",
        "CheckedDialog to undo",
        "IncomingChangesScreen",
        "MergedPreviewScreen",
        "DraftConflictsScreen",
    ),
}
"""Screens that only long runs open, because every run opens similar screens."""
ABSTRACT_BASES = {"Dialog", "Chooser"}
"""Base classes that are never shown."""
CONCRETE_BASES = {"ConflictsScreen", "ConfirmDialog"}
"""Base classes that are also shown."""
WITHOUT_SESSION = {"SignInScreen"}
"""Screens that are shown only before there is a session."""


def screens() -> set[str]:
    """Return the names of all screens that Octavo can show."""
    for module in walk_packages(tui.__path__, "octavo.tui."):
        if "__main__" not in module.name:
            import_module(module.name)
    found: list[type[Screen[Any]]] = [Screen]
    for each in found:
        found += [below for below in each.__subclasses__() if below not in found]
    ours = [each for each in found if each.__module__.startswith("octavo.tui.")]
    made_from = {below for each in ours for below in each.__mro__[1:]}
    shown = [each for each in ours if each not in made_from or each.__name__ in CONCRETE_BASES]
    return {each.__name__ for each in shown} - ABSTRACT_BASES


def test_every_screen_has_steps_in_the_table() -> None:
    names = {name for ways in STEPS_BY_SCREEN.values() for name in ways}
    assert screens() - WITHOUT_SESSION == {name.split()[0] for name in names}
    assert names > ONLY_IN_LONG_RUNS


@pytest.mark.before_release("changes-often", "content-often", "conflicts-often")
@pytest.mark.parametrize(
    "included", [set(), pytest.param(ONLY_IN_LONG_RUNS, marks=pytest.mark.long)], ids=["often", "all"]
)
@pytest.mark.parametrize("start", STEPS_BY_SCREEN)
async def test_closed_screens_are_freed(
    stage: Stage, start: str, included: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLORTERM", "truecolor")
    async with stage.play(start="content" if start == "content" else "changes") as run:
        nodes = LiveNodes(run)
        for name, steps in STEPS_BY_SCREEN[start].items():
            if name in ONLY_IN_LONG_RUNS - included:
                continue
            await nodes.follow(steps)
            assert type(run.app.screen).__name__ == name.split()[0], run.text
            await nodes.leave()
        await run.press("4", "2")
        run.app.history.clear()  # The history keeps the screens that the user can go back to.
        # A request of a closed screen may still have a deadline, or the clock of the screen may tick once more.
        await run.until(lambda: not nodes.still_alive(), f"free the closed screens: {nodes.still_alive()}")


@pytest.mark.before_release
async def test_notification_does_not_keep_its_dialog_in_memory(stage: Stage) -> None:
    async with stage.play() as run:
        nodes = LiveNodes(run)
        await nodes.follow(("i",))
        run.app.screen.call_later(run.app.notices.say, "Copied the link.")
        await run.see("Copied the link.")
        await nodes.leave()
        run.app.history.clear()
        await run.until(lambda: not nodes.still_alive(), f"free the closed dialog: {nodes.still_alive()}")
        assert "Copied the link." in run.text


class LiveNodes:
    """The screens that were shown, with all their children, as far as the objects still exist."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._nodes: WeakSet[DOMNode] = WeakSet()

    async def follow(self, steps: Steps) -> None:
        """Take the steps, and remember the screens that appear."""
        for step in steps:
            if not isinstance(step, str):
                await step(self._run)
            elif step.startswith("type:"):
                await self._run.type(step.removeprefix("type:"))
            else:
                await self._run.press(step)
            self.note()

    def note(self) -> None:
        """Remember all nodes of all screens that are open now."""
        self._nodes.update(self._shown())

    async def leave(self) -> None:
        """Close the screen as a user does."""
        for _ in range(9):
            if len(self._run.app.screen_stack) > 1:
                await self._run.press("escape")
        assert len(self._run.app.screen_stack) == 1, self._run.text

    def still_alive(self) -> set[str]:
        """Return the class names of closed nodes that still exist after a garbage collection."""
        assert self._run.text  # A widget that was painted last may keep references to the widgets below it.
        # The event loop keeps canceled timers, and the objects that set them, until the timers are due. These tests
        # set timers of 45 s.
        timers = asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]  # private to asyncio
        timers[:] = sorted(each for each in timers if not each.cancelled())
        self._run.app.teardown.garbage.wake()
        # The app runs two collections with some time between them. This test only asks whether anything still refers
        # to the nodes.
        gc.collect()
        return {type(node).__name__ for node in self._nodes - set(self._shown())}

    def _shown(self) -> Iterator[DOMNode]:
        stacks = self._run.app._screen_stacks.values()
        return (node for stack in stacks for screen in stack for node in screen.walk_children(with_self=True))
