"""Imports the modules of other views after the first paint, so that opening a view for the first time is fast."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from threading import Thread
from typing import Any

from textual.app import App

from octavo.tui.app.garbage_collection import Garbage

DELAY, LONGEST_DELAY = 0.6, 6.0
"""Seconds after the first paint. The delay leaves time for the first keys and for the first responses."""
FOR_PAGES = (
    "octavo.documents.source_reader",
    "octavo.tui.render.formulas",
    "octavo.tui.render.deferred",
    "octavo.tui.render.openapi",
    "octavo.tui.render.tables",
)
"""Modules that pages need, but not the first paint. Each takes 10 to 30 ms to load."""
_MODULES = (
    *FOR_PAGES,
    "octavo.data.polling",
    "octavo.documents.diff",
    "octavo.tui.content.content_screen",
    "octavo.tui.review.request_list",
    "octavo.tui.review.request_view",
    "octavo.tui.comments.comments_screen",
    "octavo.tui.inbox.inbox_screen",
    "octavo.tui.content.search",
    "octavo.tui.comments.composer",
    "octavo.tui.widgets.confirm",
    "octavo.tui.widgets.command_palette",
    "octavo.tui.comments.thread_dialog",
    "octavo.tui.resources.organization_resources",
    "octavo.tui.resources.site_resources",
    "octavo.tui.content.files",
    "octavo.tui.content.links",
    "octavo.tui.reader.page_dialogs",
    "octavo.tui.content.page_history",
    "octavo.tui.app.destinations",
    "octavo.tui.reader.image_screen",
    "octavo.tui.review.merge_dialog",
    "octavo.tui.review.update_from_main",
)
"""Modules that are loaded early. Each of these views takes a tenth of a second to load."""


def run_when_idle(app: App[Any], is_loading: Callable[[], bool], run: Callable[[], None], delay: float = DELAY) -> None:
    """Call `run` when `is_loading` returns False, but at most `LONGEST_DELAY` later."""

    def check() -> None:
        if is_loading() and delay < LONGEST_DELAY:
            run_when_idle(app, is_loading, run, delay + DELAY)
        else:
            run()

    app.set_timer(DELAY, check)


def preload(garbage: Garbage) -> None:
    """Import the modules in a background thread, then start the garbage collection."""
    Thread(target=_import_modules_and_start, args=(garbage,), daemon=True, name="octavo-preload").start()


def _import_modules_and_start(garbage: Garbage) -> None:
    for name in _MODULES:
        import_module(name)
    garbage.start()
