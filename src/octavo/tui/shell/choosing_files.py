"""Asking for a file of this machine: its path, completed while it is typed, and looked at before it is taken."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, cast

from octavo.data.writes import uploads
from octavo.data.writes.uploads import NotSendable
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed, Field

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

_LAST = "file chosen last"
_ABOUT = {
    "customization_font": "A WOFF2 or WOFF font file. Octavo reads the font weight from the file name.",
    "import_file": "A Markdown, HTML, or DOCX file, or a ZIP archive.",
    "text": "A UTF-8 text file.",
}


def ask_for_file(
    app: Shell, title: str, kind: str, then: Callable[[str], None], *, written: str = "", trouble: str = ""
) -> None:
    """Ask for a file that is sent as `kind`, or whose `text` is. `then` gets its path as it was typed. `trouble`: why
    `written` was not taken."""
    last = app.session.state.get_fact(_LAST)
    begin = written or (last if isinstance(last, str) else "~/")

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.background(_look(app, title, kind, then, answer.text))

    field = Field("Path (press tab to complete)", begin, required_error="Enter the path to a file.", is_path=True)
    about = _ABOUT.get(kind, "")
    app.push_screen(
        ConfirmDialog(f"{title}: choose a file", verb="Choose", intro=about, after=trouble, field=field), decided
    )


async def _look(app: Shell, title: str, kind: str, then: Callable[[str], None], written: str) -> None:
    try:
        if kind == "text":
            await asyncio.to_thread(uploads.read_text, written)
        else:
            await asyncio.to_thread(
                uploads.check_file, written, cast(Literal["customization_font", "import_file"], kind)
            )
    except NotSendable as error:
        ask_for_file(app, title, kind, then, written=written, trouble=str(error))
        return
    app.session.state.set_fact(_LAST, f"{written.rpartition('/')[0]}/")
    then(written)
