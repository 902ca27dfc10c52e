"""What is done once the first screen is painted, so that nothing makes the person wait later."""

from __future__ import annotations

from importlib import import_module
from threading import Thread

from octavo.tui.garbage import Garbage

AFTER = 0.6
"""Seconds after the first screen. Sooner it would take time from the first keys."""
_MODULES = (
    "documents.parse",
    "documents.diff",
    "tui.screens.home",
    "tui.screens.content",
    "tui.screens.changes",
    "tui.screens.change_request",
    "tui.screens.comments",
    "tui.screens.search",
    "tui.screens.composer",
    "tui.screens.confirm",
    "tui.screens.help",
    "tui.screens.palette",
    "tui.screens.thread",
    "tui.screens.files",
    "tui.screens.links",
    "tui.screens.note",
    "tui.screens.page_history",
    "tui.screens.picture",
    "tui.screens.record",
    "tui.widgets.preview",
    "tui.review.merging",
    "tui.page.highlight",
    "tui.page.openapi",
    "tui.page.operations",
    "tui.page.records",
)
"""What the other views need: a tenth of a second each when a key asks for it, nothing when it is there."""


def warm_up(garbage: Garbage) -> None:
    """Import what other views need, in a thread that holds nothing up."""
    Thread(target=_run, args=(garbage,), daemon=True, name="octavo-warming").start()


def _run(garbage: Garbage) -> None:
    for name in _MODULES:
        import_module(f"octavo.{name}")
    garbage.begin()
