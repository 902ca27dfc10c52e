"""Bars of one line: the tabs above a list, such as `▌Open 6▐  Drafts 3   Merged`, and the key bar at the bottom."""

from __future__ import annotations

from dataclasses import dataclass

from textual.app import RenderResult
from textual.content import Content
from textual.events import Click
from textual.geometry import Region
from textual.message import Message
from textual.messages import Update
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from octavo.tui.terminal.textual_internals import is_being_removed
from octavo.tui.widgets.commands import ActiveCommand, key_bar
from octavo.tui.widgets.short_texts import safe


@dataclass(frozen=True)
class ListTab:
    """A tab above a list. `count`, the number of its items, is displayed after its name unless it is 0 or None."""

    key: str
    name: str
    count: int | None = None


class ListTabs(Widget):
    """The tabs above a list. They never have the focus: the keys `[` and `]` switch to the previous and next tab."""

    DEFAULT_CSS = "ListTabs { height: 1; padding: 0 1; background: $background; color: $octavo-muted; }"

    current: reactive[str] = reactive("")
    tabs: reactive[tuple[ListTab, ...]] = reactive(())

    @dataclass
    class Switched(Message):
        """Posted when the user has switched to another tab."""

        tabs: ListTabs
        key: str

        @property
        def control(self) -> ListTabs:
            return self.tabs

    def __init__(self, tabs: tuple[ListTab, ...], current: str) -> None:
        super().__init__()
        self.set_reactive(ListTabs.tabs, tabs)
        self.set_reactive(ListTabs.current, current)
        self._tab_spans: list[tuple[int, int, str]] = []

    def switch(self, step: int) -> None:
        """Switch to the next tab (1) or the previous tab (-1). After the last tab comes the first."""
        keys = [tab.key for tab in self.tabs]
        self.choose(keys[(keys.index(self.current) + step) % len(keys)])

    def choose(self, key: str) -> None:
        """Switch to the tab with this key, and post `Switched`. Do nothing if it is already the current tab."""
        if key != self.current:
            self.current = key
            self.post_message(self.Switched(self, key))

    def render(self) -> RenderResult:
        line, self._tab_spans = Content(""), []
        for tab in self.tabs:
            label = Content(f" {tab.name} {tab.count} " if tab.count else f" {tab.name} ")
            if tab.key == self.current:
                label = label.stylize("bold $foreground on $panel")
            self._tab_spans.append((line.cell_length, line.cell_length + label.cell_length, tab.key))
            line = line + label + Content(" ")
        return line.truncate(self.content_size.width, ellipsis=True)

    def on_click(self, event: Click) -> None:
        for start, end, key in self._tab_spans:
            if start <= event.x - 1 < end:
                self.choose(key)


_HELP = "app.help"
_MAX_COMMANDS = 8


class KeyBar(Widget):
    """A line that shows up to eight commands with their keys, and the help key. A click runs a command."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "KeyBar { height: 1; dock: bottom; background: $background; color: $octavo-muted; }"

    def __init__(self) -> None:
        super().__init__()
        self._command_spans: list[tuple[int, int, ActiveCommand]] = []
        self._shown_commands: list[ActiveCommand] = []
        self._is_outdated = True
        """True if key bindings may have changed since the commands were last computed."""

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self._on_bindings_changed(), immediate=True)

    def _on_bindings_changed(self) -> None:
        self._is_outdated = True
        self.screen.post_message(Update(self))

    def before_paint(self) -> None:
        self._refresh_if_changed()

    def _refresh_if_changed(self) -> None:
        # Textual often announces unchanged bindings, so compare. A screen that is being removed has incomplete widgets.
        if self._is_outdated and self.is_attached and not is_being_removed(self.screen):
            self._is_outdated = False
            commands_before, self._shown_commands = self._shown_commands, key_bar(self.screen)
            if self._shown_commands != commands_before:
                self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        self._refresh_if_changed()
        return super().render_lines(crop)

    def render(self) -> RenderResult:
        help_command = next((command for command in self._shown_commands if command.id == _HELP), None)
        other_commands = [command for command in self._shown_commands if command.id != _HELP]
        help_label = self._label([help_command]) if help_command else Content("")
        free_width = self.size.width - 2 - (help_label.cell_length + 2 if help_command else 0)
        line = Content(" ")
        self._command_spans = []
        for group in _group_commands(other_commands)[:_MAX_COMMANDS]:
            label = self._label(group)
            if line.cell_length + label.cell_length > free_width:
                break
            line = self._add(line, label, group[0])
        if help_command:
            line = self._add(line, help_label, help_command)
        return line

    def _add(self, line: Content, label: Content, command: ActiveCommand) -> Content:
        start = line.cell_length
        self._command_spans.append((start, start + label.cell_length, command))
        return line + label + Content("  ")

    def _label(self, group: list[ActiveCommand]) -> Content:
        command = group[0]
        keys = "/".join(command.key for command in group)
        title = command.group.description if command.group and command.group.description else command.title
        label = title[:1].lower() + title[1:] if title[1:2].islower() else title
        if not any(command.is_enabled for command in group):
            return safe(f"{keys} {label}").stylize("$octavo-muted 55%")
        return safe(keys).stylize("$primary") + Content(" ") + safe(label)

    def on_click(self, event: Click) -> None:
        for start, end, command in self._command_spans:
            if start <= event.x < end:
                event.stop()
                # The app runs the command, because closing this screen would wait for this handler.
                self.app.call_later(command.run)


def _group_commands(commands: list[ActiveCommand]) -> list[list[ActiveCommand]]:
    groups: list[list[ActiveCommand]] = []
    for command in commands:
        if groups and command.group is not None and groups[-1][0].group == command.group:
            groups[-1].append(command)
        else:
            groups.append([command])
    return groups
