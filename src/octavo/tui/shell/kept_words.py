"""What is said of a space that is kept for offline."""

from __future__ import annotations

from octavo.data.offline import KeptSpace
from octavo.tui.widgets.wording import long_age, plural


def is_new(kept: KeptSpace) -> bool:
    """Whether it is read for the first time just now."""
    return kept.state == "reading" and kept.read_at is None


def progress_of(kept: KeptSpace) -> str:
    """How far reading it got: `12/340`."""
    return f"{kept.read + len(kept.failed)}/{kept.of}" if kept.of else "…"


def mark_of(kept: KeptSpace) -> str:
    """How it stands, in a word for a row."""
    if kept.state == "lost":
        return "kept, gone"
    if kept.read_at is not None:
        return "kept"
    return f"↓ {progress_of(kept)}" if kept.state == "reading" else "↓ waits"


def said_of(kept: KeptSpace) -> str:
    """How it stands, how large and how old it is: `kept, 12 MB, 3 minutes ago`."""
    size, age = megabytes(kept.bytes), long_age(kept.read_at)
    failed = f"{plural(len(kept.failed), 'part')} could not be read" if kept.failed else ""
    match kept.state:
        case "lost":
            said = ["kept, but not to be seen any more", size, f"as it was {age}" if age else "", kept.why]
        case "reading" if kept.read_at is None:
            said = [f"being read, {progress_of(kept)}", size]
        case "waiting" if kept.read_at is None:
            said = [f"waits, {progress_of(kept)} is here", size, kept.why]
        case _:
            said = ["kept", size, age, kept.why]
    return ", ".join(filter(None, (*said, failed)))


def megabytes(size: int) -> str:
    """`12 MB`, `340 kB`."""
    return (
        f"{size / 1_000_000:.0f} MB"
        if size >= 10_000_000
        else f"{size / 1_000_000:.1f} MB"
        if size >= 1_000_000
        else f"{size / 1000:.0f} kB"
    )
