"""Keys that open every view and every dialog, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tests.journeys.stage import Run
from tests.key_binding_checks import key_clashes


class Stop(NamedTuple):
    """A screen: the keys that lead to it from the previous stop, and texts that it shows.

    A key `type:...` pastes the text after the colon."""

    name: str
    keys: Sequence[str] = ()
    words: Sequence[str] = ()


READING = (
    Stop("content", (), ("Measured and predicted",)),
    Stop("content-filter", ("/", *"web"), ("Webhooks",)),
    Stop("content-page", ("escape", "escape", "g", "j", "j", "enter"), ("› Quickstart", "Choose how you ask")),
    Stop("content-find", ("/", *"level"), ("level",)),
    Stop("content-source", ("escape", "g", "\\"), ("{% ",)),
    Stop("content-links", ("\\", "f"), ("› Quickstart",)),
    Stop("content-aside", ("escape", "O"), ("› Quickstart",)),
    Stop("content-zoom", ("O", "z"), ("› Quickstart",)),
    Stop("content-spaces", ("z", "escape", "escape"), ("SPACES", "Handbook")),
    Stop("content-other-space", ("escape", "/", *"hand", "enter", "enter", "1", "2"), ("Handbook",)),
)
SPACE = (
    Stop("files", ("F",), ("4 of 4", "USED 4 TIMES")),
    Stop("links", ("escape", "L"), ("1 of 1", "tide-clock.md", "enter opens the page at the block")),
    Stop("links-outside", ("]", "]", "]"), ("11 of 11", "console.saltmarsh.example")),
    Stop("history", ("escape", "H"), ("checked revisions", "Measured and predicted")),
    Stop("export", ("escape", "ctrl+e"), ("This page as PDF",)),
    Stop(
        "record",
        ("escape", "/", *"errors", "enter", "enter", "/", *"too-many", "enter", "enter"),
        ("11 of 13", "after Retry-After"),
    ),
    Stop(
        "blame",
        ("escape", "escape", "escape", "/", *"retr", "enter", "enter", "I"),
        ("21 of 21 · 1 change request", "Created on main"),
    ),
)
TALKING = (
    Stop("thread", ("j", "j", "enter", "t", "enter"), ("1 of 2", "Elisa Moretti")),
    Stop("react", ("+",), ("agreed",)),
    Stop("composer", ("escape", "c", "type:It took me **four**.\n\n* one\n* two"), ("Reply to Elisa", "draft saved")),
    Stop("composer-preview", ("ctrl+r",), ("• two", "draft saved")),
    Stop("undo", ("ctrl+r", "ctrl+s"), ("Sending reply…",)),
    Stop("activity", ("escape", "!"), ("IN PROGRESS", "sending soon")),
)
REVIEWING = (
    Stop("changes", (), ("7 of 7", "PAGES", "~ Word list")),
    Stop("changes-merged", ("]", "]"), ("4 of 4", "✓ Merged by Mara")),
    Stop("change-request", ("[", "[", "j", "enter"), ("0 of 2 viewed", "page 1 of 2", "− All times")),
    Stop("change-request-diff", ("enter", "n"), ("change 2 of 2",)),
    Stop("approve", ("a",), ("Approve #7",)),
    Stop("ask-for-changes", ("escape", "A"), ("Request changes on #7",)),
    Stop("merge", ("escape", "m"), ("checked just now",)),
    Stop("archive", ("escape", "L"), ("Archive #7",)),
    Stop("subject", ("escape", "E"), ("Edit the details of #7",)),
    Stop("new-change-request", ("escape", "ctrl+n"), ("New change request",)),
    Stop(
        "merge-conflicts",
        ("escape", "escape", "escape", "j", "j", "j", "m"),
        ("To merge anyway, type the number", "request (4)"),
    ),
    Stop("update", ("escape", "U"), ("Update #4",)),
)
COMMENTS = (
    Stop("comments", (), ("72 of 72", "↳ Mara Lindqvist")),
    Stop("comments-thread", ("enter", "j"), ("72 of 72",)),
    Stop("comments-resolved", ("escape", "]", "]"), ("17 of 17",)),
    Stop("delete", ("[", "enter", "X"), ("Delete this comment",)),
)
AROUND = (
    Stop("inbox", (), ("17 of 17", "REVIEW REQUESTED", "Show what a refused")),
    Stop("inbox-thread", ("]", "]", "]"), ("11 of 11", "NEW REPLIES", "Ruta")),
    Stop("snooze", ("w",), ("Until tomorrow",)),
    Stop("organizations", ("escape", "ctrl+o"), ("Creator · 4 spaces · 7 open chan",)),
    Stop("search", ("escape", "s", "type:cable"), ("results in all spaces", "Limpet manual")),
    Stop("search-nothing", ("ctrl+a", "type: xylophone"), ("No results for",)),
    Stop("help", ("escape", "?"), ("Help",)),
    Stop("palette", ("escape", ":"), ("Command palette",)),
    Stop("palette-typed", (*"comm",), ("Comments",)),
    Stop("theme", ("escape", "f2"), ("Theme",)),
)
SITES = (
    Stop("sites", (), ("Sites · 1", "Saltmarsh Docs")),
    Stop("site", ("enter",), ("Saltmarsh Docs › Structure · 4", "Limpet manual")),
    Stop("site-section", ("enter",), ("Saltmarsh Docs › Structure · 4", "▌ Instruments")),
)
ADMIN = (
    Stop("admin", (), ("Members · 306", "Deepa Uchida", "joined")),
    Stop("admin-sorted", ("S", *"name", "enter"), ("sorted by name",)),
    Stop("admin-columns", ("F",), ("Choose columns for members",)),
    Stop("admin-ticked", ("escape", "x", "x"), ("2 selected",)),
    Stop("admin-teams", ("]",), ("Teams · 4", "Harbour software")),
    Stop("admin-team", ("enter",), ("Harbour software › Members · 4",)),
)
TOURS = {
    "content": READING,
    "space": SPACE,
    "talking": TALKING,
    "changes": REVIEWING,
    "comments": COMMENTS,
    "inbox": AROUND,
    "sites": SITES,
    "admin": ADMIN,
}


async def go(run: Run, stop: Stop) -> None:
    """Go from the previous stop to this one."""
    for key in stop.keys:
        if key.startswith("type:"):
            await run.type(key.removeprefix("type:"))
        else:
            await run.press(key)
    await run.see(*stop.words)


def ambiguous_keys(run: Run) -> list[str]:
    """Return keys with two meanings on this screen."""
    places = {active.node for active in run.app.screen.active_bindings.values()}
    return key_clashes(run.app.screen) + [
        f"{type(place).__name__}: {key} is {' and '.join(sorted(ids))}"
        for place in places
        for key, bindings in place._bindings.key_to_bindings.items()
        if len(ids := {binding.id or binding.action for binding in bindings}) > 1
        # In the list of changed pages, C comments on the whole change request.
        and ids != {"change.comment", "comment.page"}
    ]
