"""Dialog that asks for a local file: the path is completed while typing, and the file is checked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, cast

from octavo.data.writes import uploads
from octavo.data.writes.uploads import NotSendable
from octavo.tui.widgets.confirm import Confirm, Confirmed, Field

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

_FOLDER_FACT = "file chosen last"
_HINTS = {
    "customization_font": "A WOFF2 or WOFF font file. Octavo reads the font weight from the file name.",
    "import_file": "A Markdown, HTML, or DOCX file, or a ZIP archive.",
    "text": "A UTF-8 text file.",
}


def ask_for_file(
    app: Shell, title: str, kind: str, then: Callable[[str], None], *, written: str = "", problem: str = ""
) -> None:
    """Ask for a local file and call `then` with its path as typed. `kind` is the kind of upload, or `text`. `problem`
    says why the path `written` was rejected."""
    folder = app.session.state.get_fact(_FOLDER_FACT)
    initial = written or (folder if isinstance(folder, str) else "~/")

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.background(_check(app, title, kind, then, answer.text))

    field = Field("Path (press tab to complete)", initial, required="Enter the path to a file.", is_path=True)
    hint = _HINTS.get(kind, "")
    app.push_screen(Confirm(f"{title}: choose a file", verb="Choose", intro=hint, after=problem, field=field), decided)


async def _check(app: Shell, title: str, kind: str, then: Callable[[str], None], written: str) -> None:
    try:
        if kind == "text":
            await asyncio.to_thread(uploads.read_text, written)
        else:
            await asyncio.to_thread(
                uploads.check_file, written, cast(Literal["customization_font", "import_file"], kind)
            )
    except NotSendable as error:
        ask_for_file(app, title, kind, then, written=written, problem=str(error))
        return
    app.session.state.set_fact(_FOLDER_FACT, f"{written.rpartition('/')[0]}/")
    then(written)
