"""Parts of Markdown files that programs write, between two markers."""

from __future__ import annotations


def between(text: str, begin: str, end: str, part: str) -> str:
    """Return `text` with `part` between two markers. Raises ValueError if a marker is missing."""
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"The file has no place for this: {begin} and {end}")
    return f"{before}{begin}\n\n{part}\n\n{end}{after}"
