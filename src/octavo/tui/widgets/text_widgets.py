"""Text widgets that request a layout only if the size of their content changes."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import RenderResult
from textual.content import Content
from textual.geometry import Size
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Static

from octavo.tui.widgets.short_texts import Fact, Mark, safe, safe_lines

_MARKS: dict[Mark, tuple[str, str]] = {
    "ok": ("✓", "$success"),
    "care": ("!", "bold $warning"),
    "bad": ("✗", "bold $error"),
    "asking": ("…", "$octavo-muted"),
    "note": (" ", ""),
}
_MAX_LABEL_WIDTH = 18


class FactList(Widget):
    """Draws facts below each other, with the labels in a column. Long texts wrap within their own column."""

    DEFAULT_CSS = "FactList { height: auto; width: 1fr; }"

    def __init__(self, facts: Sequence[Fact] = (), *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._facts = tuple(facts)
        self._cache: tuple[tuple[Fact, ...], int, list[Content]] = ((), 0, [])
        """Cached lines, with the facts and the width they were made for."""
        self.min_height = 0
        """Smallest height in lines while there are facts, so that fewer facts need no new layout."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that are shown."""
        return self._facts

    @facts.setter
    def facts(self, facts: Sequence[Fact]) -> None:
        width = self.size.width
        old_height = self.get_content_height(self.size, self.size, width)
        self._facts = tuple(facts)
        self.display = bool(self._facts)
        # A layout repaints the whole screen, so it is requested only if the height changes.
        self.refresh(layout=not width or old_height != self.get_content_height(self.size, self.size, width))

    def on_mount(self) -> None:
        self.display = bool(self._facts)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(self.min_height, len(self._lines(width)))

    def render(self) -> RenderResult:
        return Content("\n").join(self._lines(self.size.width))

    def _lines(self, width: int) -> list[Content]:
        if self._cache[0] is not self._facts or self._cache[1] != width:
            self._cache = (self._facts, width, self._make_lines(width))
        return self._cache[2]

    def _make_lines(self, width: int) -> list[Content]:
        labels = [safe(fact.label).truncate(_MAX_LABEL_WIDTH, ellipsis=True) for fact in self._facts]
        column = max((label.cell_length for label in labels), default=0)
        lines: list[Content] = []
        for fact, label in zip(self._facts, labels, strict=True):
            sign, style = _MARKS[fact.mark]
            head = Content.assemble((sign, style), "  ", label.pad_right(column - label.cell_length))
            text = safe_lines(fact.text)
            if not text:
                lines.append(head)
                continue
            room = max(width - column - 6, 10)
            for number, line in enumerate(text.wrap(room)):
                left = head + Content("   ") if number == 0 else Content(" " * (column + 6))
                lines.append(left + line.stylize_before("$octavo-muted"))
        return lines


class ChangingText(Static):
    """A `Static` that ignores an update with equal content, and requests a layout only if its size changes."""

    # A text without width has no height. Without this minimum, a scroll bar that takes the last cell of the text would
    # appear and disappear forever.
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
        # Textual reuses the size it measured for this container size, but the content may have changed since.
        if self.styles.auto_dimensions and self._content_size() not in (None, self.content_size):
            self.refresh(layout=True)

    def _content_size(self) -> Size | None:
        """Return the size of the content at the current width. None while the width is unknown."""
        width = self.content_size.width
        if not width:
            return None
        rules, is_auto_width = self.styles.get_rules(), self.styles.width is not None and self.styles.width.is_auto
        text_width = self.visual.get_optimal_width(rules, width) if is_auto_width else width
        return Size(text_width, self.visual.get_height(rules, width))
