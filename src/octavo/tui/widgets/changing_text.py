"""Words on the screen that are put anew often, and seldom are others."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size
from textual.visual import VisualType
from textual.widgets import Static


class ChangingText(Static):
    """Says the same until it is told something else. Only what takes other room has all around it laid out anew."""

    # In no width it would take no height: a scroll bar that leaves it none would come and go for ever.
    DEFAULT_CSS = "ChangingText { min-width: 1; }"

    def update(self, content: VisualType = "", *, layout: bool = True) -> None:
        words = Content(content) if isinstance(content, str) else content
        before = self.content
        if isinstance(words, Content) and isinstance(before, Content) and words.is_same(before):
            return
        room = self._room()
        super().update(words, layout=False)
        if layout and (room is None or room != self._room()):
            self.refresh(layout=True)

    def on_resize(self) -> None:
        # Textual goes by what it took when there was as much room the last time, and its words may be others since.
        if self.styles.auto_dimensions and self._room() not in (None, self.content_size):
            self.refresh(layout=True)

    def _room(self) -> Size | None:
        """What the words take in the width there is. None: that is not known yet."""
        width = self.content_size.width
        if not width:
            return None
        rules, fits = self.styles.get_rules(), self.styles.width is not None and self.styles.width.is_auto
        wide = self.visual.get_optimal_width(rules, width) if fits else width
        return Size(wide, self.visual.get_height(rules, width))
