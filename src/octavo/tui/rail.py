"""Threads as a diff shows them, on the rail below the block they hang on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from octavo.api.comments import Comment
from octavo.tui.ages import short_age
from octavo.tui.page.threads import ThreadLine


def thread_lines(
    threads: Mapping[str, Sequence[Comment]], on_its_way: Callable[[str], str]
) -> dict[str, list[ThreadLine]]:
    """Threads by block as a diff shows them. `on_its_way` says of an id how far it got that is not there yet."""
    return {
        key: [
            ThreadLine(
                author=thread.posted_by.name,
                age=on_its_way(thread.id) or short_age(thread.posted_at),
                text=thread.body.text,
                replies=thread.replies,
                open=thread.is_open,
            )
            for thread in hanging
        ]
        for key, hanging in threads.items()
    }
