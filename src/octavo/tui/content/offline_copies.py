"""Makes spaces available offline, removes offline copies, and lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api.spaces import Space
from octavo.tui.core.item_labels import format_size, offline_mark, offline_summary
from octavo.tui.core.routes import ToPage
from octavo.tui.core.shell import opening
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.confirm import ConfirmDialog
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.data.offline_spaces import OfflineSpace
    from octavo.tui.core.shell import Shell


def download(app: Shell, space: Space) -> None:
    """Download a space for offline use, or update its offline copy. Ask first if the space is large."""
    offline = app.session.offline
    if offline.get(space.id) is not None:
        offline.add(space)
        app.say(f"Checking {space.title or 'this space'} for updates…")
    else:
        app.background(_ask_and_download(app, space))


async def _ask_and_download(app: Shell, space: Space) -> None:
    title, offline = space.title or "this space", app.session.offline
    with opening(app, f"Computing the size of {title}…", f"Could not make {title} available offline"):
        size = await offline.estimate_size(space.ref)

    def start_download() -> None:
        offline.add(space)
        pages_text = f"{plural(size.page_count, 'page')} (about {format_size(size.byte_count)})"
        app.say(
            f"Downloading {title}: {pages_text}, plus comment threads and open change requests. Press ! to see the progress."
        )

    if not size.is_large:
        start_download()
        return

    app.ask(
        ConfirmDialog(
            f"Make {title} available offline?",
            verb="Download",
            intro=f"Octavo will download {size.page_count:,} pages (about {format_size(size.byte_count)}), their threads, and the open change requests.",
            after="The download will run in the background. If you quit Octavo, the download will continue when you start Octavo again.",
        ),
        lambda _: start_download(),
    )


def remove(app: Shell, space_id: str) -> None:
    """Delete the offline copy of a space, and say how much disk space this freed."""
    offline = app.session.offline
    if (copy := offline.get(space_id)) is not None:
        offline.remove(space_id)
        app.say(f"Removed the offline copy of {copy.title} and freed {format_size(copy.bytes)}.")


def confirm_remove(app: Shell, copy: OfflineSpace) -> None:
    """Ask for confirmation, then delete the offline copy of a space."""
    after = "Your drafts and queued changes will be kept."
    app.ask(
        ConfirmDialog(
            f"Remove the offline copy of {copy.title}?", verb="Remove", intro=f"{offline_summary(copy)}.", after=after
        ),
        lambda _: remove(app, copy.id),
    )


def show_offline_spaces(app: Shell) -> None:
    """Open a picker with the spaces that are available offline and the failed downloads. A row opens its space."""
    copies = app.session.offline.all
    choices = [
        Choice(copy.id, copy.title, detail=offline_summary(copy), right=offline_mark(copy), group="SPACES")
        for copy in copies
    ]
    choices += [
        Choice(copy.id, each.label, detail=each.reason, group=f"FAILED DOWNLOADS FROM {copy.title.upper()}")
        for copy in copies
        for each in copy.failed
    ]

    empty_text = (
        "No spaces are available offline. To add a space, press 2 to go to Content, select the space, press :, and choose "
        "Make available offline."
    )
    app.ask(Picker("Offline spaces", choices, empty=empty_text), lambda space: app.go(ToPage(space)))
