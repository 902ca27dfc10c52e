"""Keeping spaces for offline: asked for, let go, and listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api.errors import ApiError
from octavo.api.spaces import Space
from octavo.tui.shell.kept_words import mark_of, megabytes, said_of
from octavo.tui.shell.routes import ToPage
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.picker import Picker
from octavo.tui.widgets.wording import in_a_line, plural

if TYPE_CHECKING:
    from octavo.data.offline import KeptSpace
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed


def keep(app: Shell, space: Space) -> None:
    """Keep a space, or look whether what is kept of it is still so. With many pages that is asked first."""
    offline = app.session.offline
    if offline.of(space.id) is not None:
        offline.keep(space)
        app.say(f"Looking what moved in {space.title or 'this space'}.")
    else:
        app.background(_ask_and_keep(app, space))


async def _ask_and_keep(app: Shell, space: Space) -> None:
    title, offline = space.title or "this space", app.session.offline
    try:
        size = await offline.size(space.ref)
    except ApiError as error:
        app.say(f"{title} cannot be kept: {in_a_line(str(error))}.", tone="failed")
        return

    def begin() -> None:
        offline.keep(space)
        pages = f"{plural(size.pages, 'page')}, about {megabytes(size.bytes)}"
        app.say(f"Keeping {title} for offline: {pages}, its threads and its open change requests. ! shows how far.")

    if not size.is_large:
        begin()
        return
    from octavo.tui.widgets.confirm import Confirm

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            begin()

    app.push_screen(
        Confirm(
            f"Keep {title} for offline?",
            verb="Keep",
            intro=f"It has {size.pages:,} pages, about {megabytes(size.bytes)}, and its threads and open change requests.",
            after="It is read behind everything else, two questions at a time, and goes on after a restart.",
        ),
        decided,
    )


def let_go(app: Shell, space_id: str) -> None:
    """Keep a space no longer."""
    offline = app.session.offline
    if (kept := offline.of(space_id)) is not None:
        offline.let_go(space_id)
        app.say(f"{kept.title} is not kept for offline any more: {megabytes(kept.bytes)} are free.")


def ask_to_let_go(app: Shell, kept: KeptSpace) -> None:
    """Ask, and keep a space no longer: without the server there is no way back."""
    from octavo.tui.widgets.confirm import Confirm

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            let_go(app, kept.id)

    after = "What was read of it ahead is thrown away. What you wrote, and what waits to be sent, stays."
    app.push_screen(Confirm(f"Let go of {kept.title}?", verb="Let go", intro=f"{said_of(kept)}.", after=after), decided)


def show_kept(app: Shell) -> None:
    """List what is kept. Enter goes there."""
    choices: list[Choice[str]] = []
    for kept in app.session.offline.all:
        choices.append(Choice(kept.id, kept.title, detail=said_of(kept), right=mark_of(kept), group="SPACES"))
    for kept in app.session.offline.all:
        choices += [
            Choice(kept.id, each.what, detail=each.why, group=f"COULD NOT BE READ OF {kept.title.upper()}")
            for each in kept.failed
        ]

    def chosen(space: str | None) -> None:
        if space is not None:
            app.go(ToPage(space))

    nothing = "No space is kept. Put the cursor on one in Content (2) and choose Keep offline in the palette (:)."
    app.push_screen(Picker("Offline: what is kept", choices, empty=nothing), chosen)
