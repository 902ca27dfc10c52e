"""Status of a space that is available offline, as text."""

from __future__ import annotations

from octavo.data.offline_spaces import OfflineSpace
from octavo.tui.widgets.wording import long_age, plural


def is_first_download(kept: OfflineSpace) -> bool:
    """True if a space is being downloaded for the first time."""
    return kept.state == "reading" and kept.read_at is None


def download_progress(kept: OfflineSpace) -> str:
    """Return the progress of a download, such as `12/340`."""
    return f"{kept.read + len(kept.failed)}/{kept.of}" if kept.of else "…"


def offline_mark(kept: OfflineSpace) -> str:
    """Return the status for a row, in one to three words."""
    if kept.state == "lost":
        return "offline copy only"
    if kept.read_at is not None:
        return "offline"
    return f"↓ {download_progress(kept)}" if kept.state == "reading" else "↓ queued"


def offline_summary(kept: OfflineSpace) -> str:
    """Return status, size and age: `available offline, 12 MB, updated 3 minutes ago`."""
    size, age = format_megabytes(kept.bytes), long_age(kept.read_at)
    updated = f"updated {age}" if age else ""
    failed = f"{plural(len(kept.failed), 'item')} could not be downloaded" if kept.failed else ""
    match kept.state:
        case "lost":
            parts = ["offline copy of a space you can no longer access", size, updated, kept.why]
        case "reading" if kept.read_at is None:
            parts = [f"downloading, {download_progress(kept)}", size]
        case "waiting" if kept.read_at is None:
            parts = [f"waiting, {download_progress(kept)} downloaded", size, kept.why]
        case _:
            parts = ["available offline", size, updated, kept.why]
    return ", ".join(filter(None, (*parts, failed)))


def format_megabytes(size: int) -> str:
    """Return a size, such as `12 MB` or `340 kB`."""
    return (
        f"{size / 1_000_000:.0f} MB"
        if size >= 10_000_000
        else f"{size / 1_000_000:.1f} MB"
        if size >= 1_000_000
        else f"{size / 1000:.0f} kB"
    )
