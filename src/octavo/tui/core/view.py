"""Base class of all views. Views show API responses inside the frame. Start at `View`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.events import DescendantFocus, Event
from textual.screen import Screen
from textual.widget import Widget

from octavo.api.errors import NotSent
from octavo.api.operation import Model, Operation
from octavo.data.live import Live, Snapshot
from octavo.tui.core.connection import Subscriptions
from octavo.tui.core.frame import StatusBar, TopBar, TourStrip
from octavo.tui.core.shell import Shell, shell_of
from octavo.tui.widgets.commands import HasCommands
from octavo.tui.widgets.dialog import prepare_screen
from octavo.tui.widgets.key_bar import KeyBar
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.notices import Notices
from octavo.tui.widgets.section_tabs import SectionTabs
from octavo.tui.widgets.short_texts import offline_since, plural

if TYPE_CHECKING:
    from octavo.api.comments import Comment
    from octavo.api.places import Discussion
    from octavo.tui.widgets.row_list import RowList
    from octavo.tui.widgets.tree import Tree

T = TypeVar("T")


def report_missing_parts(rows: RowList[Any], items_name: str, snapshots: Sequence[Snapshot[Any]]) -> None:
    """Show in `rows` that some of the responses that make up the list are missing, incomplete or failed."""
    failed = [each.error for each in snapshots if each.error is not None]
    if rows.counts.loaded and failed and all(isinstance(each, NotSent) for each in failed):
        oldest = min((each.fetched_at for each in snapshots if each.fetched_at is not None), default=None)
        missing = sum(each.value is None for each in snapshots)
        suffix = f" · some {items_name} not loaded yet" if missing else ""
        rows.state.show_age(f"{offline_since(oldest)}{suffix}")
    elif failed:
        suffix = f" (and {plural(len(failed) - 1, 'more error')})" if len(failed) > 1 else ""
        rows.state.fail(f"Could not load some {items_name}", f"{failed[0]}{suffix}")
    elif any(each.value is None for each in snapshots):
        rows.state.show_loading(items_name)
    else:
        rows.state.show_unreadable(sum(getattr(each.value, "unreadable", 0) for each in snapshots))


def is_covered(view: View, pane: Widget) -> bool:
    """True if the terminal is so narrow that it shows one pane, and that pane is not `pane`."""
    if not view.has_class("-tiny"):
        return False
    ancestors = [each for each in pane.ancestors_with_self if isinstance(each, Widget)]
    is_in_main = view.has_class("-aside") and all(each.id != "aside" for each in ancestors)
    return is_in_main or any(each.has_class("hairline") for each in ancestors) != view.has_class("-on-left")


def focus_if(pane: Widget, condition: bool) -> bool:
    """Focus `pane` if `condition` is True. Return `condition`."""
    if condition:
        pane.focus()
    return condition


def current_view(app: Shell) -> View | None:
    """Return the current view, also if a dialog covers it. None before you sign in."""
    return next((screen for screen in reversed(app.screen_stack) if isinstance(screen, View)), None)


class View(HasCommands, Screen[None]):
    """A screen inside the frame, with a top bar, a body, a status bar and a key bar."""

    HELP: ClassVar[str] = ""
    """First sentences of the help text of this view."""

    MODE: str = ""
    """Mode of the tab that is highlighted in the top bar."""

    IN_HISTORY: ClassVar[bool] = True
    """True if the navigation history can return to this view."""

    QUIT_LISTS: ClassVar[frozenset[str]] = frozenset()
    """Ids of lists in which `q` quits the app, although `esc` goes up one level."""

    body: Callable[[], Iterable[Widget]]
    """Returns the widgets between the top bar and the status bar. Defined by each view."""

    @property
    def fallback_pane(self) -> Widget | None:
        """The main pane, which receives keys that the focused list does not handle. None if no list has the focus, or if
        the pane is not visible."""
        pane = self.main_pane if isinstance(self.focused, LineList) else None
        return None if pane is None or is_covered(self, pane) else pane

    async def on_event(self, event: Event) -> None:
        if prepare_screen(self, event):
            await super().on_event(event)

    def compose(self) -> ComposeResult:
        yield TopBar(self.MODE)
        yield from self.body()
        yield TourStrip()
        yield StatusBar()
        yield KeyBar()
        yield Notices(self.shell.notices, uncovered=SectionTabs)

    @property
    def selected_items(self) -> Sequence[Model]:
        """The selected item, followed by its parents. The details dialog shows all of them. Other commands use the
        first."""
        return ()

    @property
    def shell(self) -> Shell:
        return shell_of(self)

    @cached_property
    def subscriptions(self) -> Subscriptions:
        """The API responses that this view shows."""
        return Subscriptions(self, self.shell.workspace.connection)

    @property
    def live(self) -> Live:
        return self.shell.session.live

    @property
    def main_pane(self) -> Widget | None:
        """The pane with the content of this view, whose keys also work in its lists. None if there is no such pane."""
        return None

    def follow(
        self,
        slot: str,
        op: Operation[T] | None,
        show: Callable[[Snapshot[T]], None] | None = None,
        *,
        refetch: bool = True,
    ) -> None:
        """Call `show` with the response to `op`, now and whenever the response changes. `slot` names the
        subscription. It ends when the view follows another operation, or None, with the same `slot`. Without
        `refetch`, a response that another widget follows is not fetched again."""
        if op is not None and not self.shell.has_session:
            return  # The session has ended, and a late callback asks to follow something.
        self.subscriptions.follow(slot, op, show, refetch=refetch)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Remember the pane that has the focus, because a narrow terminal shows only that pane."""
        on_left = any(
            isinstance(ancestor, Widget) and ancestor.has_class("hairline")
            for ancestor in event.widget.ancestors_with_self
        )
        # Only narrow layouts have styles for this class, so wide layouts need no style update.
        self.set_class(on_left, "-on-left", update=self.has_class("-tiny") or self.has_class("-narrow"))

    def on_unmount(self) -> None:
        self.subscriptions.stop()

    def go_up(self) -> bool:
        """Go up one level inside this view, such as from a page to its list. Return False if this is the top level."""
        return False

    def go_to_thread(self, at: Discussion, comment: Comment | None) -> bool:
        """Select a thread, or its block if the thread was deleted. Return False if this view does not contain it."""
        return False

    def go_to_block(self, at: Discussion, page: str | None, node: str) -> bool:
        """Go to a block of a page. Return False if this view does not show the page in this space or change request."""
        return False

    def go_up_or_back(self) -> None:
        """Go up one level. From the top level, go back to the screen that opened this view."""
        if not self.go_up():
            self.shell.history.close_screen()

    def show_no_organization(self, rows: RowList[Any] | Tree, items_name: str) -> bool:
        """Show in a list that the organizations are loading, or why none is selected. Return False if one is selected."""
        if self.shell.workspace.organization is not None:
            return False
        if rows.keys:
            rows.show(())
        if (reason := self.shell.workspace.no_organization_reason) is not None:
            rows.state.fail(*reason)
        else:
            rows.state.show_loading(items_name)
        return True

    def refresh_data(self) -> None:
        """Fetch all data of this screen again. The current data stays until the responses arrive."""
        for op in dict.fromkeys((*self.shell.workspace.operations, *self.subscriptions.operations())):
            self.shell.background(self.live.refresh(op))

    def show_location(self, crumbs: str, facts: str = "") -> None:
        """Show the current location, and facts about it, in the status bar."""
        for bar in self.query(StatusBar):
            bar.crumbs, bar.facts = crumbs, facts

    @on(Notices.UndoRequested)
    def _on_undo_requested(self) -> None:
        self.shell.undo()

    @on(TopBar.ViewRequested)
    def _on_view_requested(self, message: TopBar.ViewRequested) -> None:
        self.shell.show_view(message.view)
