"""Messages that a list shows instead of items or below them: loading, empty, failed, filtered, partially loaded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from textual.app import App
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from octavo.tui.widgets.commands import offered_commands
from octavo.tui.widgets.short_texts import plural, safe

SKELETON_AFTER = 0.15
MESSAGE_AFTER = 1.0
HINT_AFTER = 5.0
_SKELETON = (19, 11, 15)


class LoadingMessage:
    """A first load: blank for 150 ms, then three gray bars, after 1 s a message, after 5 s the key that cancels."""

    def __init__(self, widget: Widget, subject: str, cancel: str = "") -> None:
        self.subject, self._cancel = subject, cancel
        self._step = 0
        self._widget = widget
        self._timers: list[Timer] = []
        if widget.is_running:
            self._timers = [
                widget.set_timer(after, self._advance) for after in (SKELETON_AFTER, MESSAGE_AFTER, HINT_AFTER)
            ]

    def _advance(self) -> None:
        self._step += 1
        self._widget.refresh()

    def stop(self) -> None:
        """Stop the timers."""
        for timer in self._timers:
            timer.stop()

    def lines(self) -> list[Content]:
        """Return the lines to draw now."""
        lines = [Content("")]
        if self._step >= 1:
            lines += [Content.assemble("  ", ("░" * cells, "$panel")) for cells in _SKELETON]
        if self._step >= 2:
            words = Content.assemble("  Loading ", safe(self.subject), "…")
            if self._step >= 3 and self._cancel:
                words = Content.assemble(words, "  ", safe(self._cancel))
            lines += [Content(""), words.stylize("$octavo-muted")]
        return lines


def empty_lines(sentence: str, hint: str) -> list[Content]:
    """Return the lines of an empty list: why the list is empty, and the key to press next."""
    lines = [Content(""), Content("  ") + safe(sentence)]
    if hint:
        lines.append((Content("  ") + safe(hint)).stylize("$octavo-muted"))
    return lines


def no_match_lines(total: int, query: str) -> list[Content]:
    """Return the lines of a list whose filter hides all items."""
    short_query = safe(query).truncate(60, ellipsis=True)
    return [
        Content(""),
        Content.assemble(f"  0 of {total} match “", (short_query.plain, "bold"), "”."),
        Content.assemble("  ", ("esc", "$primary"), (" clear the filter", "$octavo-muted")),
    ]


def failure_lines(message: str, cause: str, app: App[Any], *, item_count: int = 0) -> list[Content]:
    """Return the lines of a failed load: the message, its cause and the keys. `item_count` is the number of older items still
    shown."""
    keys_and_labels = (("r", "retry"), *offered_commands(app), ("!", "activity"))
    pieces = [Content.assemble((key, "$primary"), (f" {name}", "$octavo-muted")) for key, name in keys_and_labels]
    keys = Content("   ").join(pieces)
    first = Content.assemble(("  ✗ ", "$error"), safe(message))
    why = Content.assemble("    ", safe(cause)).stylize("$octavo-muted")
    if item_count:
        older = Content.styled(f"    Showing {plural(item_count, 'item')} loaded earlier   ", "$octavo-muted")
        return [Content.assemble(first, (" · ", "$octavo-muted"), safe(cause).stylize("$octavo-muted")), older + keys]
    return [Content(""), first, why, Content("    ") + keys]


def age_line(text: str) -> Content:
    """Return the line below a list that was loaded before the connection was lost: `text`, which says how old the
    list is, and the key that retries."""
    keys = Content.assemble(("r", "$primary"), (" retry", "$octavo-muted"))
    return Content.assemble((f"  {text}   ", "$octavo-muted"), keys)


def wrap_lines(lines: Iterable[Content], width: int) -> list[Content]:
    """Wrap long lines and keep their indentation. The lines stay as they are if `width` is 0, which means unknown."""
    out: list[Content] = []
    for line in lines:
        if not width or line.cell_length <= width:
            out.append(line)
            continue
        indent = len(line.plain) - len(line.plain.lstrip())
        out += [Content(" " * indent) + piece for piece in line[indent:].wrap(max(8, width - indent))]
    return out


def limit_lines(lines: list[Content], most: int) -> list[Content]:
    """Return the first `most` lines. The last one ends with “…” if lines were cut."""
    if len(lines) <= most:
        return lines
    last = lines[most - 1]
    return [*lines[: most - 1], last[: max(0, len(last.plain) - 1)] + Content("…")]


def partial_line(loaded: str) -> Content:
    """Return the last line of a list that is loaded in part: how much is loaded, and the key that loads more."""
    return Content.assemble((f"  {loaded}   ", "$octavo-muted"), ("G", "$primary"), (" load more", "$octavo-muted"))
