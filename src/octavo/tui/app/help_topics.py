"""The help topics in the app: choose one, and read it over the view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.documents.blocks import Block
from octavo.documents.parse import parse
from octavo.help import TOPICS, text_of
from octavo.tui.reader.page_dialogs import TextDialog
from octavo.tui.render.deferred import DeferredContent
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.picker import Picker

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell


def choose_topic(app: Shell) -> None:
    """Show the list of help topics, and the chosen topic."""

    def show(topic: str | None) -> None:
        if topic is not None:
            blocks = parse(text_of(topic)).blocks
            app.push_screen(TextDialog(Block("note", children=blocks, key=topic), DeferredContent(), f"Help: {topic}"))

    app.push_screen(Picker("Help topics", [Choice(name, name, detail=about) for name, about in TOPICS.items()]), show)
