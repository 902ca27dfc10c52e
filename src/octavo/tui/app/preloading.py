"""What is done once the first screen is painted, so that nothing makes the person wait later."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from threading import Thread
from typing import Any

from textual.app import App

from octavo.tui.app.garbage_collection import Garbage

AFTER, AT_THE_LATEST = 0.6, 6.0
"""Seconds after the first screen. Sooner it would take time from the first keys, and from the answers that make it live:
for those it is waited, but not for ever."""
FOR_PAGES = (
    "octavo.documents.parse",
    "octavo.tui.render.formulas",
    "octavo.tui.render.highlight",
    "octavo.tui.render.openapi",
    "octavo.tui.render.page_operations",
    "octavo.tui.render.tables",
)
"""What a page needs that is not there for the first frame: 10 to 30 ms each for the page that is the first to need it."""
_MODULES = (
    *FOR_PAGES,
    "octavo.data.polling",
    "octavo.documents.diff",
    "octavo.tui.content.content",
    "octavo.tui.review.change_requests",
    "octavo.tui.review.change_request",
    "octavo.tui.comments.all_threads",
    "octavo.tui.inbox.inbox",
    "octavo.tui.content.search",
    "octavo.tui.comments.composer",
    "octavo.tui.widgets.confirm",
    "octavo.tui.widgets.help",
    "octavo.tui.widgets.command_palette",
    "octavo.tui.comments.thread_sheet",
    "octavo.tui.resources.organization_resources",
    "octavo.tui.resources.site_resources",
    "octavo.tui.content.files",
    "octavo.tui.content.links",
    "octavo.tui.reader.page_dialogs",
    "octavo.tui.content.page_history",
    "octavo.tui.app.destinations",
    "octavo.tui.reader.image_screen",
    "octavo.tui.review.merge_dialog",
)
"""What the other views need: a tenth of a second each when a key asks for it, nothing when it is there."""


def soon(app: App[Any], is_awaited: Callable[[], bool], do: Callable[[], None], waited: float = AFTER) -> None:
    """Do something that can wait, once nothing `is_awaited` any more."""

    def look() -> None:
        if is_awaited() and waited < AT_THE_LATEST:
            soon(app, is_awaited, do, waited + AFTER)
        else:
            do()

    app.set_timer(AFTER, look)


def warm_up(garbage: Garbage) -> None:
    """Import what other views need, in a thread that holds nothing up."""
    Thread(target=_run, args=(garbage,), daemon=True, name="octavo-warming").start()


def _run(garbage: Garbage) -> None:
    for name in _MODULES:
        import_module(name)
    garbage.begin()
