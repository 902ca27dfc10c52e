"""Notifications about the results of actions. At most two are shown at the lower right, with the time left for an undo.
Start at `NoticeBoard.say`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from time import monotonic
from typing import Literal, NamedTuple

from textual.content import Content
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from octavo.tui.terminal.textual_internals import is_being_removed
from octavo.tui.widgets.short_texts import fit, safe, safe_lines

Tone = Literal["done", "care", "failed"]

MAX_NOTICES = 2
_BAR_CELLS = 10
_MAX_LINES = 3
_ROWS_BELOW = 2
"""Rows that stay free below the notifications, for the status bar and the key bar."""
_MARKS: dict[Tone, tuple[str, str]] = {
    "done": ("", ""),
    "care": ("! ", "bold $warning"),
    "failed": ("✗ ", "bold $error"),
}
_SECONDS: dict[Tone, float] = {"done": 5.0, "care": 6.0, "failed": 12.0}
SEVERITIES: dict[Tone, Literal["information", "warning", "error"]] = {
    "done": "information",
    "care": "warning",
    "failed": "error",
}
"""Severity of a Textual notification for each tone."""


class Notice(NamedTuple):
    """A notification with a sentence. With `offers_undo`, it also offers to undo the last action."""

    number: int
    text: str
    tone: Tone
    seconds: float
    started_at: float
    offers_undo: bool

    def seconds_left(self, now: float) -> float:
        """Return how many more seconds the notification is shown. 0 if its time is over."""
        return max(0.0, self.started_at + self.seconds - now)


class NoticeBoard:
    """The notifications that are shown now. `clock` returns seconds. `listeners` are called after each change."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._numbers = count(1)
        self._notices: list[Notice] = []
        self.listeners: set[Callable[[], None]] = set()

    def say(self, text: str, tone: Tone = "done", *, seconds: float | None = None, undo: bool = False) -> int:
        """Show a notification for `seconds` (if None, the time for its `tone`), and return its number. Remove
        earlier ones with this text, and the oldest above `MAX_NOTICES`. `undo` offers to undo the last action."""
        self._notices = [notice for notice in self._notices if notice.text != text][1 - MAX_NOTICES :]
        number = next(self._numbers)
        duration = _SECONDS[tone] if seconds is None else seconds
        self._notices.append(Notice(number, text, tone, duration, self._clock(), undo))
        self._notify_changed()
        return number

    def close(self, number: int) -> None:
        """Remove the notification with this number. Do nothing if there is no such notification."""
        old_count = len(self._notices)
        self._notices = [notice for notice in self._notices if notice.number != number]
        if len(self._notices) != old_count:
            self._notify_changed()

    def close_text(self, text: str) -> bool:
        """Remove all notifications with this text. Return False if there is no such notification."""
        numbers = [notice.number for notice in self.shown() if notice.text == text]
        for number in numbers:
            self.close(number)
        return bool(numbers)

    def shown(self) -> tuple[Notice, ...]:
        """Remove the notifications whose time is over. Return the others, the oldest first."""
        now = self._clock()
        self._notices = [notice for notice in self._notices if notice.seconds_left(now) > 0]
        return tuple(self._notices)

    def seconds_left(self, notice: Notice) -> float:
        """Return how many more seconds a notification is shown. 0 if its time is over."""
        return notice.seconds_left(self._clock())

    def _notify_changed(self) -> None:
        for each in tuple(self.listeners):
            each()


class Notices(Widget):
    """Draws the notifications at the right of the topmost screen, where they hide the least."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Notices {
        layer: notices;
        overlay: screen;
        position: absolute;
        width: auto;
        max-width: 70%;
        height: auto;
        display: none;
        background: $panel;
        padding: 0 1;
        color: $foreground;
    }
    """

    class UndoRequested(Message):
        """Posted when the user clicks the notifications and an action can be undone."""

    def __init__(self, board: NoticeBoard, *, top: int = 2, uncovered: type[Widget] | None = None) -> None:
        """The first `top` rows of the screen stay free. Notifications avoid widgets of the type `uncovered`. If there
        is no free place, only the newest notification is shown, in one row."""
        super().__init__()
        self._board, self._top, self._uncovered = board, top, uncovered
        self._is_short = False
        """True if there is room for only one row, which shows the newest notification."""
        self._timer: Timer | None = None
        """Timer that updates the time left each second. None while no notifications are shown."""
        self._layout_size = Size()
        """Size for which the last layout was requested."""
        self._painted_content = Content("")
        """Content for which the last repaint was requested."""

    def on_mount(self) -> None:
        self._board.listeners.add(self._update)
        # Update before the first frame of the screen.
        self.app.screen_change_signal.subscribe(self, lambda _: self._update(), immediate=True)
        self._update()

    def on_unmount(self) -> None:
        self._board.listeners.discard(self._update)
        self.app.screen_change_signal.unsubscribe(self)

    def _update(self) -> None:
        if is_being_removed(self):
            return
        notices = self._board.shown() if self.screen.is_active else ()
        self.display = bool(notices)
        if notices and self._timer is None:
            # Once a second is enough, because the bar that shows the time left moves in steps.
            self._timer = self.set_interval(1.0, self._update)
        elif not notices and self._timer is not None:
            self._timer.stop()
            self._timer = None
        if notices:
            self._place()
            self.call_after_refresh(self._place)  # A dialog that is opening has a size only after the layout.

    def on_resize(self) -> None:
        self._place()

    def _place(self) -> None:
        if is_being_removed(self):
            return
        if self.styles.dock == "none":  # Docked notices have their own rows, so they hide nothing.
            for self._is_short in (False, True):
                offset, covered_cells = self._best_offset()
                if not covered_cells:
                    break
            self.styles.offset = offset
        if (size := self._own_size()) != self._layout_size:
            self._layout_size = size
            self.refresh(layout=True)
        elif not (content := self.render()).is_same(self._painted_content):
            self._painted_content = content
            self.refresh()

    def _best_offset(self) -> tuple[tuple[int, int], int]:
        """Return the offset at which the notifications hide the least. Also return how many cells of the widgets that
        should stay visible are hidden there."""
        screen, size = self.screen.size, self._own_size() + self.gutter.totals
        x = max(0, screen.width - size.width - 1)
        lowest_row = max(0, screen.height - size.height - _ROWS_BELOW)
        cursor_regions = [getattr(self.screen.focused, "cursor_region", Region())]
        uncovered = [each.region for each in self.screen.query(self._uncovered)] if self._uncovered is not None else []

        def hidden_area(y: int, regions: list[Region]) -> int:
            return sum(Region(x, y, size.width, size.height).intersection(region).area for region in regions if region)

        # The row `lowest_row + 1` covers the status line, so it is tried last.
        rows = (lowest_row, *range(min(self._top, lowest_row), lowest_row), lowest_row + 1)
        y = min(rows, key=lambda y: (hidden_area(y, uncovered), hidden_area(y, cursor_regions)))
        y = lowest_row + 1 if hidden_area(y, uncovered) else y
        return (x, y), hidden_area(y, uncovered)

    def _own_size(self) -> Size:
        screen = self.screen.size
        width = self.get_content_width(screen, screen)
        return Size(width, self.get_content_height(screen, screen, width))

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return max((line.cell_length for line in self._lines(max(20, int(viewport.width * 0.7) - 2))), default=0)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines(width))

    def render(self) -> Content:
        return Content("\n").join(fit(line, self.size.width) for line in self._lines(self.size.width))

    def _lines(self, width: int) -> list[Content]:
        lines: list[Content] = []
        for notice in self._board.shown()[-1:] if self._is_short else self._board.shown():
            mark, style = _MARKS[notice.tone]
            text, text_width = safe_lines(notice.text), width - len(mark)
            undo_label = self._undo_label(notice, text_width - text.cell_length) if notice.offers_undo else Content("")
            text_lines = list(text.wrap(max(10, text_width)))
            max_lines = 1 if self._is_short else _MAX_LINES
            last_width = text_width - undo_label.cell_length if self._is_short else text_width
            if len(text_lines) > max_lines or (self._is_short and text_lines[0].cell_length > last_width):
                text_lines[max_lines - 1 :] = [
                    (text_lines[max_lines - 1] + Content(" …")).truncate(max(1, last_width), ellipsis=True)
                ]
            if text_lines[-1].cell_length + undo_label.cell_length > text_width:
                text_lines.append(Content(""))
            text_lines[-1] += undo_label
            for number, line in enumerate(text_lines):
                prefix = Content.styled(mark, style) if mark and number == 0 else Content(" " * len(mark))
                lines.append(prefix + line)
        return lines

    def _undo_label(self, notice: Notice, available_width: int) -> Content:
        """Return the undo key, such as `u undo`. If animations are on, add the seconds left, and a bar if it fits."""
        seconds_left = self._board.seconds_left(notice)
        key_label = Content.assemble("   ", ("u", "$primary"), " undo  ")
        if self.app.animation_level == "none":
            return key_label
        full_cells = min(_BAR_CELLS, round(_BAR_CELLS * seconds_left / notice.seconds))
        bar = Content.styled("▓" * full_cells, "$primary")
        empty_bar = Content.styled("░" * (_BAR_CELLS - full_cells), "$octavo-muted")
        seconds = safe(f" {max(1, round(seconds_left)):>2} s")
        label = key_label + bar + empty_bar + seconds
        return label if label.cell_length <= available_width else key_label.rstrip() + seconds

    def on_click(self, event: Click) -> None:
        event.stop()
        if any(notice.offers_undo for notice in self._board.shown()):
            self.post_message(self.UndoRequested())
