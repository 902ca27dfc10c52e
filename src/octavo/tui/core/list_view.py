"""Base class of views that have a list and a preview beside it: start at `ListView`. Also the commands that copy the
title or the link of the selected item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from math import inf
from time import monotonic
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar

from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.operation import ListPage
from octavo.api.organizations import Organization
from octavo.api.spaces import Space
from octavo.data.live import Snapshot
from octavo.tui.core.external_links import confirm_link, copy_text, missing_link_reason
from octavo.tui.core.shell import Shell
from octavo.tui.core.view import View, is_covered, show_load_error
from octavo.tui.terminal.textual_internals import is_fully_mounted
from octavo.tui.widgets.bars import ListTab, ListTabs
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import STILL_LOADING
from octavo.tui.widgets.row_list import ListFilter, RowList
from octavo.tui.widgets.short_texts import as_clause
from octavo.tui.widgets.text_widgets import scroll_by_page

T = TypeVar("T")


N = TypeVar("N", bound=ListFilter)

REPLACEMENT_SECONDS = 0.7
"""A key pressed within this many seconds after the selected item was removed is probably meant for that item."""
OWN_ACTION_SECONDS = 1.0
"""An item that is removed within this many seconds after a command was probably removed by the command."""


class ActiveFilters(Generic[N]):
    """The filters that the user has applied to a list, at most one of each kind."""

    def __init__(self, view: View, on_change: Callable[[], None]) -> None:
        self._view, self._on_change = view, on_change
        self.filters: tuple[N, ...] = ()

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.filters]

    def replace(self, *filters: N) -> None:
        """Make `filters` the only active filters, and update the list."""
        self.filters = filters
        self._on_change()

    def open_picker(
        self, title: str, available_filters: Iterable[tuple[N, str]], save: Callable[[], None] | None = None
    ) -> None:
        """Ask which filter to add or remove. `available_filters` has pairs of a filter and its number of matches.
        `save` saves the filters as a tab. If `save` is None, the filters cannot be saved."""
        current_filters = self.filters
        choices: list[Choice[N | Callable[[], None]]] = [
            Choice(each, each.name, right="press enter to remove", group="CURRENT FILTER") for each in current_filters
        ]
        choices += [Choice(each, each.name, right=count, group=each.kind.upper()) for each, count in available_filters]

        if save is not None:
            choices.append(Choice(save, "Save this filter as a tab", group="SAVE"))

        def on_chosen(choice: N | Callable[[], None]) -> None:
            if callable(choice):
                choice()
            else:
                other_filters = (each for each in current_filters if each.kind != choice.kind)
                self.replace(*other_filters, *(() if choice in current_filters else (choice,)))

        self._view.shell.ask(Picker(title, choices, empty="You cannot filter this list."), on_chosen)  # type: ignore[misc]  # mypy infers no union


class Preview:
    """The panes beside a list, which preview the selected item. The user can hide, move or zoom them."""

    def __init__(self, view: View, rows: Widget, panes: Sequence[Widget]) -> None:
        self.view, self._rows, self._panes = view, rows, panes
        self.find_scrolled_pane: Callable[[], Widget] = lambda: panes[0]
        """Returns the preview pane that the keys space and `b` scroll."""

    @property
    def has_focus(self) -> bool:
        return any(each.has_focus_within for each in self._panes)

    def toggle(self) -> None:
        """Show or hide the preview."""
        self.view.remove_class("-only-preview")
        self.view.toggle_class("-no-preview")
        if self.has_focus:
            self._rows.focus()

    def move(self) -> None:
        """Move the preview from beside the list to below it, or back."""
        self.view.remove_class("-only-preview", "-no-preview")
        self.view.toggle_class("-below")

    def zoom(self) -> None:
        """Show only the focused pane: the list or the preview. If either is already hidden, show both."""
        if self.view.has_class("-no-preview") or self.view.has_class("-only-preview"):
            self.view.remove_class("-no-preview", "-only-preview")
        else:
            self.view.add_class("-only-preview" if self.has_focus else "-no-preview")


class ListView(View, Generic[T]):
    """A view with a list of `T`, optional tabs, and a preview. A subclass calls `list_with_preview` in its `body`, and
    includes `TAB_COMMANDS` and `PREVIEW_COMMANDS`."""

    LIST_ORDERS: ClassVar[Mapping[str, str]] = {}
    """Labels of the sort orders by key. The first order is the default. Empty if the list has only one order."""
    ORDER_KEY: ClassVar[str] = ""
    """Key under which the sort order is stored for the next start."""

    _acted_at = -inf
    """Time, as by `time.monotonic`, of the last command of this view."""
    rows: RowList[T]
    tabs: ListTabs
    preview: Preview
    active_filters: ActiveFilters[Any]
    """The filters that the user has applied. Missing in views that have no filters."""

    def list_with_preview(
        self, rows: RowList[T], *panes: Widget, tabs: tuple[ListTab, ...] = (), initial_tab: str = ""
    ) -> Iterable[Widget]:
        """Yield the widgets of the view, and set `rows`, `preview` and `tabs`. The tab with the key `initial_tab` is
        selected. If `initial_tab` is empty, the first tab is selected."""
        self.rows, self.preview = rows, Preview(self, rows, panes)
        self.tabs = ListTabs(tabs, initial_tab or (tabs[0].key if tabs else ""))
        if tabs:
            yield self.tabs
        with Horizontal():
            with Vertical(classes="hairline", id="left"):
                yield rows
            yield from panes

    @property
    def selected_rows(self) -> list[T]:
        """The selected rows, in the order of the list."""
        return self.rows.selection.items

    def action_command(self, id: str) -> object:
        if is_fully_mounted(self):
            acted_at, self._acted_at = self._acted_at, monotonic()
            replaced_at, self.rows.replaced_at = self.rows.replaced_at, -inf
            earliest_time = max(acted_at + OWN_ACTION_SECONDS, self._acted_at - REPLACEMENT_SECONDS)
            # If the selected item was just removed, the key was meant for that item.
            if self._commands_by_id[id][1].acts_at_once and replaced_at > earliest_time:
                self.shell.explain("The list has just changed, and another item is selected now. Press the key again.")
                return None
        return super().action_command(id)

    def why_not(self, id: str) -> str | None:
        reason = super().why_not(id)
        is_loading = reason is not None and self.rows.state.shows_loading and not self.rows.keys
        return STILL_LOADING if is_loading else reason

    def redraw_list(self) -> None:
        self.rows.redraw()

    def show_response(self, snapshot: Snapshot[Any], items_name: str, waits_for: str) -> None:
        """If `snapshot` has no value, remove the rows, and show that `waits_for` is loading. If `snapshot` has an
        error, show that `items_name` could not be loaded."""
        if snapshot.value is None:
            if self.rows.counts.loaded:
                self.rows.show(())
            self.rows.state.show_loading(waits_for)
        if snapshot.error is not None:
            show_load_error(self.rows, f"Could not load {as_clause(items_name)}", snapshot.error)

    def show_list_page(self, page: ListPage[Any], items: Sequence[T]) -> None:
        """Replace the rows by `items`, which come from `page`. A note below says if `page` is not the whole list."""
        loaded_count = len(page.items) + page.unreadable
        is_counted = page.next is not None and (page.count or 0) > loaded_count
        has_uncounted = page.next is not None and not is_counted
        self.rows.show(
            items,
            total=page.count if is_counted else None,
            partial_note=f"Only the first {loaded_count} items are loaded" if has_uncounted else "",
        )
        self.rows.state.show_unreadable(page.unreadable)

    @cached_property
    def list_order(self) -> str:
        """Key of the current sort order in `LIST_ORDERS`."""
        key = self.shell.session.state.get_value(self.ORDER_KEY)
        return key if isinstance(key, str) and key in self.LIST_ORDERS else next(iter(self.LIST_ORDERS))

    def choose_list_order(self, title: str) -> None:
        """Ask the user for the sort order, and store it."""

        def on_chosen(key: str) -> None:
            self.list_order = key
            self.shell.session.state.set_value(self.ORDER_KEY, key)
            self.redraw_list()

        choices = [
            Choice(key, name, right="current" if key == self.list_order else "")
            for key, name in self.LIST_ORDERS.items()
        ]
        self.shell.ask(Picker(title, choices, initial=self.list_order), on_chosen)

    def go_up(self) -> bool:
        """Leave the preview for the list, and end a zoom. Return False if the preview does not have the focus."""
        if not self.preview.has_focus:
            return False
        self.remove_class("-only-preview")
        self.rows.focus()
        return True


TAB_COMMANDS: Commands[ListView[Any]] = Commands(
    "list",
    (
        Command("previous_section", "left_square_bracket,left", "Previous tab", "Go to the previous tab",
                key_display="[", shown=False, run=lambda _, view: view.tabs.switch(-1)),
        Command("next_section", "right_square_bracket,right", "Next tab", "Go to the next tab",
                key_display="]", run=lambda _, view: view.tabs.switch(1)),
    ),
)  # fmt: skip
"""Commands that switch between the tabs of a list."""


def back_to_list(_: Shell, view: ListView[Any]) -> None:
    """Focus the list. If the list already has the focus, remove its filters. Without filters, go back."""
    if not view.rows.has_focus:
        view.rows.focus()
    elif view.active_filters.filters:
        view.active_filters.replace()
    else:
        view.go_up_or_back()


def _scroll_preview(view: ListView[Any], step: int) -> None:
    pane = view.preview.find_scrolled_pane()
    if is_covered(view, pane) or not scroll_by_page(pane, step):
        view.rows.move(step)


def browse_commands(noun: str) -> tuple[Command[Any], ...]:
    """Return the commands that scroll the preview, and select the next and previous item (`noun` in their help)."""
    return (
        Command("read_on", "space", "Scroll", f"Scroll down; at the end, go to the next {noun}", run=lambda _, view: _scroll_preview(view, 1),
                applies=lambda _, view: not view.rows.is_empty, shown=False),
        Command("read_back", "b", "Scroll back", f"Scroll up; at the top, go to the previous {noun}", run=lambda _, view: _scroll_preview(view, -1), shown=False),
        Command("next", "J", "Next", f"Go to the next {noun}", run=lambda _, view: view.rows.move(1), shown=False),
        Command("previous", "K", "Previous", f"Go to the previous {noun}", run=lambda _, view: view.rows.move(-1), shown=False),
    )  # fmt: skip


_TOO_NARROW = "The terminal is too narrow for a preview beside the list."
PREVIEW_COMMANDS: Commands[Preview] = Commands(
    "pane",
    (
        Command("preview", "p", "Preview", "Show or hide the preview", run=lambda _, preview: preview.toggle(), shown=False),
        Command("side", "P", "Move preview", "Move the preview below or beside the list", run=lambda _, preview: preview.move(),
                why_not=lambda _, preview: _TOO_NARROW if preview.view.has_class("-tiny") or preview.view.has_class("-narrow") else None, shown=False),
        Command("zoom", "z", "Zoom", "Show only the focused pane, or both panes", run=lambda _, preview: preview.zoom(), shown=False),
    ),
    context="list and preview",
    find_target=lambda view: view.preview,
)  # fmt: skip


LinkedItem = Organization | Space | ChangeRequest | Comment


_KIND_NAMES: Mapping[type[LinkedItem], str] = MappingProxyType(
    {ChangeRequest: "change request", Space: "space", Organization: "organization", Comment: "comment"}
)


def _url(item: LinkedItem) -> str:
    return item.urls.app or (item.urls.published or "" if isinstance(item, Comment) else "")


def _copy_title(app: Shell, item: LinkedItem) -> None:
    if isinstance(item, Comment):
        copy_text(app, item.body.text, "Copied the comment.")
        return
    number = f"#{item.number} " if isinstance(item, ChangeRequest) else ""
    copy_text(app, f"{number}{item.title}", f"Copied the title of the {_KIND_NAMES[type(item)]}.")


def _why_no_url(app: Shell, item: LinkedItem) -> str | None:
    return missing_link_reason(app, _KIND_NAMES[type(item)]) if not _url(item) or app.session.is_embedded else None


LINK_COMMANDS: Commands[LinkedItem] = Commands(
    "thing",
    (
        Command("yank", "y", "Copy", "Copy the title, or the text of the comment", run=_copy_title, shown=False),
        Command("yank_url", "Y", "Copy link", "Copy a link to the selected item", why_not=_why_no_url, shown=False,
                run=lambda app, item: copy_text(app, _url(item), f"Copied a link to the {_KIND_NAMES[type(item)]}.")),
        Command("open_browser", "o", "Open in browser", "Open the selected item in the browser",
                run=lambda app, item: confirm_link(app, _url(item)), why_not=_why_no_url, shown=False),
    ),
    context="selected item",
    no_target="First, select an item that has a title and a link.",
    find_target=lambda view: next((each for each in view.selected_items[:1] if isinstance(each, LinkedItem)), None),
)  # fmt: skip
"""Commands for the selected item of a view, if the item has a title and a link."""
