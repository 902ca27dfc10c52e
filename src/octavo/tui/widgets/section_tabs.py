"""A line of tabs with counts, of which one is active: `▌Open 6▐  Drafts 3   Merged`."""

from __future__ import annotations

from dataclasses import dataclass

from textual.app import RenderResult
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget


@dataclass(frozen=True)
class Section:
    """A tab. `count` is shown after its name unless it is None or 0."""

    key: str
    name: str
    count: int | None = None


class SectionTabs(Widget):
    """The tabs of a view. They never have the focus; the keys `[` and `]` of the screen switch tabs."""

    DEFAULT_CSS = "SectionTabs { height: 1; padding: 0 1; background: $background; color: $octavo-muted; }"

    current: reactive[str] = reactive("")
    sections: reactive[tuple[Section, ...]] = reactive(())
    note: reactive[str] = reactive("")
    """Text at the right end, such as a filter or a hint."""

    class Switched(Message):
        """The user switched to another tab."""

        def __init__(self, sections: SectionTabs, key: str) -> None:
            super().__init__()
            self.sections = sections
            self.key = key

        @property
        def control(self) -> SectionTabs:
            return self.sections

    def __init__(self, sections: tuple[Section, ...], current: str, id: str | None = None) -> None:
        super().__init__(id=id)
        self.set_reactive(SectionTabs.sections, sections)
        self.set_reactive(SectionTabs.current, current)
        self._spans: list[tuple[int, int, str]] = []

    def switch(self, step: int) -> None:
        """Switch by `step` tabs, continuing at the other end."""
        keys = [section.key for section in self.sections]
        self.choose(keys[(keys.index(self.current) + step) % len(keys)])

    def choose(self, key: str) -> None:
        """Switch to a tab, and post `Switched` if it was not active."""
        if key != self.current:
            self.current = key
            self.post_message(self.Switched(self, key))

    def render(self) -> RenderResult:
        line, self._spans = Content(""), []
        for section in self.sections:
            words = Content(f" {section.name} {section.count} " if section.count else f" {section.name} ")
            if section.key == self.current:
                words = words.stylize("bold $foreground on $panel")
            self._spans.append((line.cell_length, line.cell_length + words.cell_length, section.key))
            line = line + words + Content(" ")
        width = self.content_size.width
        gap_width = width - line.cell_length - len(self.note)
        return (
            line + Content(" " * gap_width + self.note)
            if self.note and gap_width > 0
            else line.truncate(width, ellipsis=True)
        )

    def on_click(self, event: Click) -> None:
        for start, end, key in self._spans:
            if start <= event.x - 1 < end:
                self.choose(key)
