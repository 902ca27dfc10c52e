"""Texts and scroll views that avoid layouts, which repaint the whole screen. Also messages in lists without items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

from textual.app import RenderResult
from textual.content import Content
from textual.geometry import Size
from textual.reactive import Reactive
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.timer import Timer
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Static

from octavo.tui.terminal.textual_internals import update_scroll_bars
from octavo.tui.widgets.commands import HasCommands, commands_after_failure
from octavo.tui.widgets.short_texts import InfoRow, Mark, plural, safe, safe_lines

_MARKS: dict[Mark, tuple[str, str]] = {
    "ok": ("✓", "$success"),
    "care": ("!", "bold $warning"),
    "bad": ("✗", "bold $error"),
    "asking": ("…", "$octavo-muted"),
    "note": (" ", ""),
}
_MAX_LABEL_WIDTH = 24


class InfoTable(Widget):
    """Draws rows in columns: mark, label and text. If no row has a mark, the labels are muted."""

    DEFAULT_CSS = "InfoTable { height: auto; width: 1fr; }"

    def __init__(self, rows: Sequence[InfoRow] = (), *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._rows = tuple(rows)
        self._cache: tuple[tuple[InfoRow, ...], int, list[Content]] = ((), 0, [])
        """Rows, width in cells, and the rendered lines for these rows in this width."""
        self.min_height = 0
        """Minimum height in lines. It prevents a layout when there are fewer rows than before."""

    @property
    def rows(self) -> tuple[InfoRow, ...]:
        return self._rows

    @rows.setter
    def rows(self, rows: Sequence[InfoRow]) -> None:
        width = self.size.width
        old_height = self.get_content_height(self.size, self.size, width)
        self._rows = tuple(rows)
        self.display = bool(self._rows)
        # Request a layout only if the height changes, because a layout repaints the whole screen.
        self.refresh(layout=not width or old_height != self.get_content_height(self.size, self.size, width))

    def on_mount(self) -> None:
        self.display = bool(self._rows)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(self.min_height, len(self._lines(width)))

    def render(self) -> RenderResult:
        return Content("\n").join(self._lines(self.size.width))

    def _lines(self, width: int) -> list[Content]:
        if self._cache[0] is not self._rows or self._cache[1] != width:
            self._cache = (self._rows, width, self._make_lines(width))
        return self._cache[2]

    def _make_lines(self, width: int) -> list[Content]:
        labels = [safe(row.label).truncate(_MAX_LABEL_WIDTH, ellipsis=True) for row in self._rows]
        label_width = max((label.cell_length for label in labels), default=0)
        has_marks = any(row.mark != "note" for row in self._rows)
        label_style, text_style = ("", "$octavo-muted") if has_marks else ("$octavo-muted", "")
        lines: list[Content] = []
        for row, label in zip(self._rows, labels, strict=True):
            line_start = label.pad_right(label_width - label.cell_length).stylize_before(label_style)
            if has_marks:
                line_start = Content.assemble(_MARKS[row.mark], "  ", line_start)
            text = safe_lines(row.text)
            if not text:
                lines.append(line_start)
                continue
            line_start = line_start.pad_right(3) if label_width else line_start
            for number, line in enumerate(text.wrap(max(width - line_start.cell_length, 10))):
                prefix = line_start if number == 0 else Content(" " * line_start.cell_length)
                lines.append(prefix + line.stylize_before(text_style))
        return lines


class ChangingText(Static):
    """A `Static` that ignores an update with equal content. It requests a layout only if its size changes."""

    # With width 0, the text would have no height, and a scroll bar would appear and disappear forever.
    DEFAULT_CSS = "ChangingText { min-width: 1; }"

    def update(self, content: VisualType = "", *, layout: bool = True) -> None:
        new_content = Content(content) if isinstance(content, str) else content
        old_content = self.content
        if isinstance(new_content, Content) and isinstance(old_content, Content) and new_content.is_same(old_content):
            return
        old_size = self._content_size()
        super().update(new_content, layout=False)
        if layout and (old_size is None or old_size != self._content_size()):
            self.refresh(layout=True)

    def on_resize(self) -> None:
        # The text may have changed since Textual computed its size for the layout.
        if self.styles.auto_dimensions and self._content_size() not in (None, self.content_size):
            self.refresh(layout=True)

    def _content_size(self) -> Size | None:
        width = self.content_size.width
        if not width:
            return None
        rules, is_auto_width = self.styles.get_rules(), self.styles.width is not None and self.styles.width.is_auto
        text_width = self.visual.get_optimal_width(rules, width) if is_auto_width else width
        return Size(text_width, self.visual.get_height(rules, width))


class ScrollWidget(HasCommands, ScrollView):
    """A scroll view that needs no layout if the size of its content changes, unless its own size is automatic.
    Commands that need lines, such as `down`, wait until the first lines are there."""

    DELAYED_COMMANDS: ClassVar[frozenset[str]] = frozenset()
    """Names of the commands, such as `down`, that wait until the first lines are there."""
    waiting_commands: tuple[Callable[[], object], ...] = ()
    """Delayed commands that the user has already called, as functions that run them."""
    virtual_size = Reactive(Size(0, 0))

    def watch_virtual_size(self, size: Size) -> None:
        update_scroll_bars(self, size)
        if self.styles.auto_dimensions:
            self.refresh(layout=True)

    @property
    def is_waiting_for_lines(self) -> bool:
        """True while the first lines are being loaded or prepared."""
        return False

    def action_command(self, id: str) -> object:
        if self.is_waiting_for_lines and id.partition(".")[2] in self.DELAYED_COMMANDS:
            self.waiting_commands += (partial(self.action_command, id),)
            return None
        self.run_waiting_commands()
        return super().action_command(id)

    def run_waiting_commands(self) -> None:
        """Run the waiting commands in order. Do nothing while the widget waits for its first lines."""
        if self.waiting_commands and not self.is_waiting_for_lines:
            commands, self.waiting_commands = self.waiting_commands, ()
            for run in commands:
                run()


def scroll_by_page(pane: Widget, direction: int) -> bool:
    """Scroll a pane one page down (1) or up (-1). Return False if the pane is hidden, or cannot scroll further."""
    is_at_end = pane.scroll_y >= pane.max_scroll_y if direction > 0 else pane.scroll_y <= 0
    if is_at_end or not pane.display:
        return False
    pane.scroll_relative(y=direction * max(1, pane.size.height - 2), animate=False)
    return True


SKELETON_AFTER = 0.15
MESSAGE_AFTER = 1.0
_SKELETON = (19, 11, 15)


class LoadingMessage:
    """Lines of a loading list: `titles` at once. Without titles, gray bars after 150 ms. A message after 1 s."""

    def __init__(self, widget: Widget, subject: str, titles: Sequence[str] = ()) -> None:
        self.subject, self._titles = subject, titles
        self._step = 0
        self._widget = widget
        self._timers: list[Timer] = []
        if widget.is_running:
            self._timers = [widget.set_timer(seconds, self._advance) for seconds in (SKELETON_AFTER, MESSAGE_AFTER)]

    def _advance(self) -> None:
        self._step += 1
        self._widget.refresh()

    def stop(self) -> None:
        for timer in self._timers:
            timer.stop()

    def lines(self) -> list[Content]:
        lines = [Content("")]
        if self._titles:
            lines += [Content(f"  {title}").stylize("$octavo-muted") for title in self._titles]
        elif self._step >= 1:
            lines += [Content.assemble("  ", ("░" * cells, "$panel")) for cells in _SKELETON]
        if self._step >= 2:
            message = Content.assemble("  Loading ", safe(self.subject), "…").stylize("$octavo-muted")
            lines = [message, *lines[1:]] if self._titles else [*lines, Content(""), message]
        return lines


def empty_lines(sentence: str, hint: str) -> list[Content]:
    """Return the lines of an empty list. `sentence` says that the list is empty, `hint` what the user can do."""
    lines = [Content(""), Content("  ") + safe(sentence)]
    if hint:
        lines.append((Content("  ") + safe(hint)).stylize("$octavo-muted"))
    return lines


def no_match_lines(total: int, query: str) -> list[Content]:
    """Return the lines of a list in which no item matches the filter."""
    short_query = safe(query).truncate(60, ellipsis=True)
    return [
        Content(""),
        Content.assemble(f"  0 of {total} match “", (short_query.plain, "bold"), "”."),
        Content.assemble("  ", ("esc", "$primary"), (" clear the filter", "$octavo-muted")),
    ]


def failure_lines(message: str, cause: str, screen: Screen[Any], *, item_count: int = 0) -> list[Content]:
    """Return lines that say why loading failed, and which keys help. `item_count` items loaded earlier are shown."""
    bound_keys = {active.binding.key for active in screen.active_bindings.values()}
    keys_and_labels = [
        *([("r", "retry")] if "r" in bound_keys else []),
        *commands_after_failure(screen.app),
        *([("!", "activity")] if "exclamation_mark" in bound_keys else []),
    ]
    pieces = [Content.assemble((key, "$primary"), (f" {name}", "$octavo-muted")) for key, name in keys_and_labels]
    keys = Content("   ").join(pieces)
    title = Content.assemble(("  ✗ ", "$error"), safe(message))
    cause_line = Content.assemble("    ", safe(cause)).stylize("$octavo-muted")
    if item_count:
        note = Content.styled(f"    Showing {plural(item_count, 'item')} loaded earlier   ", "$octavo-muted")
        return [Content.assemble(title, (" · ", "$octavo-muted"), safe(cause).stylize("$octavo-muted")), note + keys]
    return [Content(""), title, cause_line, Content("    ") + keys]


def age_line(text: str) -> Content:
    """Return the line below a list that may be outdated: `text`, and the key that tries to update it."""
    keys = Content.assemble(("r", "$primary"), (" retry", "$octavo-muted"))
    return Content.assemble((f"  {text}   ", "$octavo-muted"), keys)


def wrap_lines(lines: Iterable[Content], width: int) -> list[Content]:
    """Return `lines`, each wrapped to `width` with its indentation in every piece. Do not wrap if `width` is 0."""
    wrapped_lines: list[Content] = []
    for line in lines:
        if not width or line.cell_length <= width:
            wrapped_lines.append(line)
            continue
        indent = len(line.plain) - len(line.plain.lstrip())
        wrapped_lines += [Content(" " * indent) + piece for piece in line[indent:].wrap(max(8, width - indent))]
    return wrapped_lines


def limit_lines(lines: list[Content], max_lines: int) -> list[Content]:
    """Return the first `max_lines` lines. If some are left out, the last line ends with “…”."""
    if len(lines) <= max_lines:
        return lines
    last_line = lines[max_lines - 1]
    return [*lines[: max_lines - 1], last_line[: max(0, len(last_line.plain) - 1)] + Content("…")]
