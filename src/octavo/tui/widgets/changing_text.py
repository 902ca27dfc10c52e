"""A text widget for content that is set often but rarely changes."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size
from textual.visual import VisualType
from textual.widgets import Static


class ChangingText(Static):
    """A `Static` that ignores an update with equal content, and requests a layout only if its size changes."""

    # A text without width would have no height: a scroll bar that takes its last cell would appear and disappear
    # forever.
    DEFAULT_CSS = "ChangingText { min-width: 1; }"

    def update(self, content: VisualType = "", *, layout: bool = True) -> None:
        words = Content(content) if isinstance(content, str) else content
        before = self.content
        if isinstance(words, Content) and isinstance(before, Content) and words.is_same(before):
            return
        room = self._content_size()
        super().update(words, layout=False)
        if layout and (room is None or room != self._content_size()):
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
        rules, fits = self.styles.get_rules(), self.styles.width is not None and self.styles.width.is_auto
        wide = self.visual.get_optimal_width(rules, width) if fits else width
        return Size(wide, self.visual.get_height(rules, width))
