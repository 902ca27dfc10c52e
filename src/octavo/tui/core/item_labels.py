"""Texts that describe files, types of revisions, and the offline status of spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.tui.widgets.short_texts import long_age, plural

if TYPE_CHECKING:
    from octavo.api.content import File
    from octavo.data.offline_spaces import OfflineSpace

REVISION_TYPES = {
    "edits": "Edited on main",
    "merge": "Merged",
    "rollback": "Rolled back to an earlier revision",
    "update": "Updated",
    "computed": "Generated",
}
"""Labels for the types of revisions."""
_FORMATS = {
    "svg+xml": "SVG",
    "jpeg": "JPEG",
    "plain": "text",
    "octet-stream": "",
    "markdown": "Markdown",
    "mpeg": "MPEG",
}


def format_name(file: File) -> str:
    """Return a format such as `PNG` or `PDF`. Empty if neither the MIME type nor the file name shows the format."""
    kind = _mime_type(file)[1]
    ending = file.name.rpartition(".")[2][:8].upper() if "." in file.name else ""
    return _FORMATS.get(kind, kind.removeprefix("x-").upper() if len(kind) <= 6 else "") or ending


def file_kind(file: File) -> str:
    """Return the kind of a file, such as `PNG image`, `PDF` or `CSV text`."""
    family, name = _mime_type(file)[0], format_name(file)
    if family in ("image", "audio", "video", "text", "font") and name.lower() != family:
        return f"{name} {family}".strip()
    return name or family or "file"


def format_dimensions(file: File) -> str:
    """Return the dimensions of an image, such as `640 × 480`. Empty for other files."""
    sides = file.dimensions
    return f"{sides.width:.0f} × {sides.height:.0f}" if sides is not None else ""


def file_summary(file: File) -> str:
    """Return format and size, such as `PDF, 1.2 MB`. For an image, also its dimensions."""
    facts = (format_name(file), format_dimensions(file), format_size(file.size) if file.size else "")
    return ", ".join(filter(None, facts))


def format_size(size: int) -> str:
    """Return a size, such as `812 bytes`, `3.4 kB` or `12 MB`."""
    if size < 1000:
        return "1 byte" if size == 1 else f"{size} bytes"
    amount = float(size)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.5 or unit == "GB":
            break
    return f"{amount:.1f} {unit}" if amount < 9.95 else f"{amount:.0f} {unit}"


def _mime_type(file: File) -> tuple[str, str]:
    family, _, kind = file.content_type.partition(";")[0].strip().lower().partition("/")
    return family, kind


def is_first_download(space: OfflineSpace) -> bool:
    """True if a space is being downloaded for the first time."""
    return space.state == "reading" and space.read_at is None


def download_progress(space: OfflineSpace) -> str:
    """Return the progress of a download, such as `12/340`."""
    return f"{space.read + len(space.failed)}/{space.of}" if space.of else "…"


def offline_mark(space: OfflineSpace) -> str:
    """Return the offline status of a space in one to three words, for a row."""
    if space.state == "lost":
        return "offline copy only"
    if space.read_at is not None:
        return "offline"
    return f"↓ {download_progress(space)}" if space.state == "reading" else "↓ queued"


def offline_summary(space: OfflineSpace) -> str:
    """Return the offline status of a space with size and age: `available offline, 12 MB, updated 3 minutes ago`."""
    size, age = format_megabytes(space.bytes), long_age(space.read_at)
    updated = f"updated {age}" if age else ""
    failed = f"{plural(len(space.failed), 'item')} could not be downloaded" if space.failed else ""
    match space.state:
        case "lost":
            parts = ["offline copy of a space you can no longer access", size, updated, space.why]
        case "reading" if space.read_at is None:
            parts = [f"downloading, {download_progress(space)}", size]
        case "waiting" if space.read_at is None:
            parts = [f"waiting, {download_progress(space)} downloaded", size, space.why]
        case _:
            parts = ["available offline", size, updated, space.why]
    return ", ".join(filter(None, (*parts, failed)))


def format_megabytes(size: int) -> str:
    """Return a size in MB, such as `12 MB` or `1.2 MB`. Below 1 MB, in kB, such as `340 kB`."""
    return (
        f"{size / 1_000_000:.0f} MB"
        if size >= 10_000_000
        else f"{size / 1_000_000:.1f} MB"
        if size >= 1_000_000
        else f"{size / 1000:.0f} kB"
    )
