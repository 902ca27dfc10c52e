"""Making spaces available offline, removing the offline copies, and listing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api.errors import ApiError
from octavo.api.spaces import Space
from octavo.tui.shell.item_labels import format_megabytes, offline_mark, offline_summary
from octavo.tui.shell.routes import ToPage
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.picker import Picker
from octavo.tui.widgets.wording import as_clause, plural

if TYPE_CHECKING:
    from octavo.data.offline_spaces import OfflineSpace
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed


def keep(app: Shell, space: Space) -> None:
    """Download a space for offline use, or update its offline copy. Ask first if the space is large."""
    offline = app.session.offline
    if offline.get(space.id) is not None:
        offline.add(space)
        app.say(f"Checking {space.title or 'this space'} for updates…")
    else:
        app.background(_ask_and_keep(app, space))


async def _ask_and_keep(app: Shell, space: Space) -> None:
    title, offline = space.title or "this space", app.session.offline
    try:
        size = await offline.size(space.ref)
    except ApiError as error:
        app.say(f"Could not make {title} available offline: {as_clause(str(error))}.", tone="failed")
        return

    def begin() -> None:
        offline.add(space)
        pages = f"{plural(size.pages, 'page')} (about {format_megabytes(size.bytes)})"
        app.say(
            f"Downloading {title}: {pages}, plus comment threads and open change requests. Press ! to see the progress."
        )

    if not size.is_large:
        begin()
        return
    from octavo.tui.widgets.confirm import ConfirmDialog

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            begin()

    app.push_screen(
        ConfirmDialog(
            f"Make {title} available offline?",
            verb="Download",
            intro=f"Octavo will download {size.pages:,} pages (about {format_megabytes(size.bytes)}), their threads, and the open change requests.",
            after="The download will run in the background. If you quit Octavo, the download will continue when you start Octavo again.",
        ),
        decided,
    )


def let_go(app: Shell, space_id: str) -> None:
    """Delete the offline copy of a space."""
    offline = app.session.offline
    if (kept := offline.get(space_id)) is not None:
        offline.remove(space_id)
        app.say(f"Removed the offline copy of {kept.title} and freed {format_megabytes(kept.bytes)}.")


def ask_to_let_go(app: Shell, kept: OfflineSpace) -> None:
    """Delete the offline copy of a space after a confirmation: it cannot be downloaded again without the server."""
    from octavo.tui.widgets.confirm import ConfirmDialog

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            let_go(app, kept.id)

    after = "Your drafts and queued changes will be kept."
    app.push_screen(
        ConfirmDialog(
            f"Remove the offline copy of {kept.title}?", verb="Remove", intro=f"{offline_summary(kept)}.", after=after
        ),
        decided,
    )


def show_kept(app: Shell) -> None:
    """List the spaces available offline. The chosen space is opened."""
    choices: list[Choice[str]] = []
    for kept in app.session.offline.all:
        choices.append(
            Choice(kept.id, kept.title, detail=offline_summary(kept), right=offline_mark(kept), group="SPACES")
        )
    for kept in app.session.offline.all:
        choices += [
            Choice(kept.id, each.what, detail=each.why, group=f"FAILED DOWNLOADS FROM {kept.title.upper()}")
            for each in kept.failed
        ]

    def chosen(space: str | None) -> None:
        if space is not None:
            app.go(ToPage(space))

    nothing = (
        "No spaces are available offline. To add a space, press 2 to go to Content, select the space, press :, and choose "
        "Make available offline."
    )
    app.push_screen(Picker("Offline spaces", choices, empty=nothing), chosen)
