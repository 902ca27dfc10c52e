"""Base class of all views (`View`) and the bars around each: the top bar, the next step of the tour, the status bar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult, RenderResult
from textual.content import Content
from textual.events import Click, DescendantFocus, Event
from textual.message import Message
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget

from octavo.api.errors import ApiError, NotSent
from octavo.api.operation import Discussion, Model, Operation
from octavo.data.live import Live, Snapshot
from octavo.tui.core.connection import ConnectionStatus
from octavo.tui.core.shell import Shell, shell_of, stop_subscriptions, subscriptions_of
from octavo.tui.widgets.bars import KeyBar, ListTabs
from octavo.tui.widgets.commands import HasCommands
from octavo.tui.widgets.dialog import prepare_screen
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.notices import Notices
from octavo.tui.widgets.short_texts import offline_since, plural, shorten

if TYPE_CHECKING:
    from octavo.api.comments import Comment
    from octavo.tui.widgets.row_list import RowList
    from octavo.tui.widgets.tree import Tree

VIEWS = (
    ("1", "inbox", "Inbox"),
    ("2", "content", "Content"),
    ("3", "changes", "Changes"),
    ("4", "comments", "Comments"),
    ("5", "sites", "Sites"),
    ("6", "admin", "Admin"),
)

_TabTexts: TypeAlias = Literal["names and counts", "names", "current name"]
"""Texts that the top bar shows for the tabs of views, in addition to their keys."""


class _TopBarLayout(NamedTuple):
    """Layout of the left part of the top bar. Layouts differ in how much text they show."""

    tab_texts: _TabTexts
    is_tight: bool
    """True if only the current tab has spaces around it."""
    title_length: int
    """Maximum length of the organization's title. 0 if the title is not shown."""


_TOP_BAR_LAYOUTS = (
    _TopBarLayout("names and counts", False, 24),
    _TopBarLayout("names and counts", False, 14),
    _TopBarLayout("names and counts", True, 8),
    _TopBarLayout("names and counts", True, 0),
    _TopBarLayout("names", True, 0),
    _TopBarLayout("current name", False, 14),
    _TopBarLayout("current name", False, 8),
    _TopBarLayout("current name", True, 8),
    _TopBarLayout("current name", True, 0),
)
"""Layouts that the top bar tries, the widest first. It uses the first that fits."""
_LAYOUTS_WITH_ACCOUNT = (*_TOP_BAR_LAYOUTS[:2], _TopBarLayout("names and counts", False, 8))
"""Layouts that the top bar tries first, with the account. With `_TOP_BAR_LAYOUTS`, it may leave out the account."""

_PATH_SEPARATOR = " › "
_MIN_NAME_WIDTH = 4
"""Minimum width in cells to which a name in a path is shortened."""

TextPiece = str | tuple[str, str]


class _Bar(Widget):
    """A bar with one line of text. It is repainted only if the text has changed."""

    shell = cached_property(shell_of)

    _painted_line = Content("")
    _needs_paint = False

    def _repaint_if_changed(self) -> None:
        # On a hidden screen, the text is not compared, because `render` computes it later.
        if not self._needs_paint and not (self.screen.is_current and self._line().is_same(self._painted_line)):
            self._needs_paint = True
            self.refresh()

    def render(self) -> RenderResult:
        self._painted_line, self._needs_paint = self._line(), False
        return self._painted_line

    def _line(self) -> Content:
        return Content("")


class TopBar(_Bar):
    """Bar with the organization, the tabs of the views with their counts, the connection status and the account."""

    DEFAULT_CSS = "TopBar { height: 2; dock: top; background: $background; color: $octavo-muted; border-bottom: solid $octavo-line; }"

    @dataclass
    class ViewRequested(Message):
        """Posted when the user clicks a tab. `view` is a mode, or `organization` for the menu of organizations."""

        view: str

    def __init__(self, view: str) -> None:
        super().__init__()
        self._view = view
        self._tab_spans: list[tuple[int, int, str]] = []

    def on_mount(self) -> None:
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._repaint_if_changed())
        self.shell.workspace.inbox.changed.subscribe(self, lambda _: self._repaint_if_changed())
        self.set_interval(5, self._refresh_connection)

    def _refresh_connection(self) -> None:
        self.shell.workspace.connection.update()
        self._repaint_if_changed()

    def _line(self) -> Content:
        width = self.content_size.width
        left, status = Content(""), self.shell.workspace.connection.status
        full_part = self._right_part(status, shows_account=True)
        parts_with_account = [full_part, self._right_part(status, shows_account=True, is_short=True)]
        right_parts = shortest_parts = [full_part, self._right_part(status), self._right_part(status, is_short=True)]
        if self._is_demo:
            # The label of the demo matters more than the age of the data.
            parts_with_account, right_parts = [full_part], [full_part, self._right_part(status, is_short=True)]
            status_symbol = self._right_part(status._replace(text=status.text[0]))
            # A connection problem matters more than the title of the organization, but less than the tabs.
            shortest_parts = [*right_parts, status_symbol]
            if status.text.startswith(("● ", "○ cached ")):
                right_parts = shortest_parts
        layouts = (
            (_LAYOUTS_WITH_ACCOUNT[0], [self._right_part(status, shows_account=True, shows_user=True)]),
            *((layout, parts_with_account) for layout in _LAYOUTS_WITH_ACCOUNT),
            *((layout, right_parts if layout.title_length else shortest_parts) for layout in _TOP_BAR_LAYOUTS),
        )
        for layout, candidates in layouts:
            left = self._left_part(layout)
            for right in candidates:
                gap_width = width - left.cell_length - right.cell_length
                if gap_width > 0 or (gap_width == 0 and not layout.title_length):
                    return left + Content(" " * gap_width) + right
        return left.truncate(width, ellipsis=True)

    def _left_part(self, layout: _TopBarLayout) -> Content:
        """Return the organization and the tabs, and record where each can be clicked."""
        is_after_current, counts = False, self.shell.workspace.attention_counts
        left = Content.assemble(" ", ("◆", "$primary"), " ")
        title = self.shell.workspace.organization.title if self.shell.workspace.organization else "Octavo"
        self._tab_spans = []
        title = f"{shorten(title, layout.title_length)} " if layout.title_length else ""
        left = self._append_tab(left, Content.assemble((title, "bold $foreground"), "▾"), "organization") + Content(" ")
        for key, view, name_of_view in VIEWS:
            label = Content.assemble(
                (key, "$primary"),
                f" {name_of_view}" if layout.tab_texts != "current name" or view == self._view else "",
            )
            if (count := counts.get(view)) and layout.tab_texts == "names and counts":
                label = label + Content(f" {count}")
            is_current = view == self._view
            label = Content.assemble(" " if is_current or is_after_current or not layout.is_tight else "", label, " ")
            if is_current:
                label = label.stylize("bold $foreground on $panel")
            left, is_after_current = self._append_tab(left, label, view), is_current
        return left

    def _append_tab(self, line: Content, piece: Content, view: str) -> Content:
        self._tab_spans.append((line.cell_length, line.cell_length + piece.cell_length, view))
        return line + piece

    def _right_part(
        self, status: ConnectionStatus, *, shows_account: bool = False, is_short: bool = False, shows_user: bool = False
    ) -> Content:
        text = status.short_text if is_short else status.text
        pieces: list[TextPiece | Content] = [(text, status.style), " "]
        if self._is_demo:
            label, me = self.shell.session.label, self.shell.workspace.me
            if shows_user and me is not None:
                pieces += [(me.name, "$octavo-muted"), "  "]
            pieces += [(label if shows_account else "DEMO", "bold $warning"), " "]
        elif shows_account and self.shell.has_session:
            pieces += [(self.shell.session.label, "$octavo-muted"), " "]
        return Content.assemble(*pieces)

    @property
    def _is_demo(self) -> bool:
        return self.shell.has_session and self.shell.session.kind == "demo"

    def on_click(self, event: Click) -> None:
        for start, end, view in self._tab_spans:
            if start <= event.x < end:
                self.post_message(self.ViewRequested(view))


class TourStrip(Widget):
    """Line below the top bar with the next step of the tour. Hidden while no tour is active."""

    shell = cached_property(shell_of)

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    TourStrip { height: 1; dock: top; margin-top: 2; padding: 0 1; background: $panel; color: $foreground; display: none; }
    """

    def on_mount(self) -> None:
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._repaint_if_changed())
        self._repaint_if_changed()

    def _repaint_if_changed(self) -> None:
        self.display = bool(self.shell.workspace.tour.instruction_text)
        self.refresh()

    def render(self) -> RenderResult:
        instruction, exit_hint = self.shell.workspace.tour.instruction_text, self.shell.workspace.tour.exit_hint
        gap_width = self.content_size.width - len(instruction) - len(exit_hint)
        return Content.assemble((instruction, "bold $primary"), " " * max(gap_width, 2), (exit_hint, "$octavo-muted"))


class StatusBar(_Bar):
    """Bar with the path of the current item, a summary such as `14 of 14`, news from others, and queued writes."""

    DEFAULT_CSS = """
    StatusBar { height: 2; dock: bottom; background: $background; color: $octavo-muted; border-top: solid $octavo-line; margin-bottom: 1; }
    """

    crumbs = reactive("")
    summary = reactive("")

    def on_mount(self) -> None:
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._repaint_if_changed())
        self.shell.workspace.unsent.changed.subscribe(self, lambda _: self._repaint_if_changed())

    def _line(self) -> Content:
        width = self.content_size.width
        left = Content(f" {self.crumbs}")
        right = self._right_part(self.summary)
        max_width = max(width - left.cell_length - 2, width * 2 // 3)  # The path keeps at least a third of the width.
        if (excess_width := right.cell_length - max_width) > 0:
            # Unsent writes and news matter more than the summary.
            right = self._right_part(shorten(self.summary, max(len(self.summary) - excess_width, 1)))
        right = right.truncate(max_width, ellipsis=True)
        left = Content(f" {shorten_path(self.crumbs, max(width - right.cell_length - 3, 0))}")
        gap_width = width - left.cell_length - right.cell_length
        if gap_width < 0:
            return right.truncate(width, ellipsis=True)
        return left + Content(" " * gap_width) + right

    def _right_part(self, summary: str) -> Content:
        workspace = self.shell.workspace
        read_only_label = "read-only" if self.shell.has_session and self.shell.session.read_only_reason else ""
        parts = [
            (workspace.unsent.why_not_saved, "bold $error"),
            (summary, ""),
            (workspace.news.summary, "$primary"),
            (workspace.outbox_summary, "$warning"),
            (read_only_label, "bold $warning"),
        ]
        pieces = [Content.assemble(part) for part in parts if part[0]]
        return Content("  ").join(pieces) + Content(" ") if pieces else Content("")


def shorten_path(crumbs: str, width: int) -> str:
    """Shorten a path such as `Handbook › Guides › Alerts` to at most `width` cells. The longest names are cut first."""
    names, separator_width = crumbs.split(_PATH_SEPARATOR), cell_len(_PATH_SEPARATOR)
    while (excess_width := sum(map(cell_len, names)) + separator_width * (len(names) - 1) - width) > 0:
        longest_index = max(range(len(names)), key=lambda index: cell_len(names[index]))
        other_widths = [cell_len(name) for index, name in enumerate(names) if index != longest_index]
        length = max(cell_len(names[longest_index]) - excess_width, max(other_widths, default=0) - 1, _MIN_NAME_WIDTH)
        if length >= cell_len(names[longest_index]):
            break
        names[longest_index] = Content(names[longest_index]).truncate(length, ellipsis=True).plain
    return Content(_PATH_SEPARATOR.join(names)).truncate(width, ellipsis=True).plain


T = TypeVar("T")


def show_load_error(items: LineList, message: str, error: ApiError) -> None:
    """Show why `items` could not be loaded. While offline, one line below the loaded items says how old they are."""
    if isinstance(error, NotSent) and items.counts.loaded:
        items.state.show_age(str(error).removesuffix("."))
    else:
        items.state.fail(message, str(error))


def report_missing_threads(rows: RowList[Any], snapshots: Sequence[Snapshot[Any]]) -> None:
    """Say below `rows` why threads of `snapshots` are missing. While offline, say how old the loaded threads are."""
    errors = [each.error for each in snapshots if each.error is not None]
    if rows.counts.loaded and errors and all(isinstance(each, NotSent) for each in errors):
        oldest_time = min((each.fetched_at for each in snapshots if each.fetched_at is not None), default=None)
        missing_count = sum(each.value is None for each in snapshots)
        suffix = " · some threads not loaded yet" if missing_count else ""
        rows.state.show_age(f"{offline_since(oldest_time)}{suffix}")
    elif errors:
        suffix = f" (and {plural(len(errors) - 1, 'more error')})" if len(errors) > 1 else ""
        rows.state.fail("Could not load some threads", f"{errors[0]}{suffix}")
    elif any(each.value is None for each in snapshots):
        rows.state.show_loading("threads")
    else:
        rows.state.show_unreadable(sum(getattr(each.value, "unreadable", 0) for each in snapshots))


def is_covered(view: View, pane: Widget) -> bool:
    """Return True if `pane` is hidden, because the terminal is too narrow for two panes and shows another pane."""
    if not view.has_class("-tiny"):
        return False
    ancestors = [each for each in pane.ancestors_with_self if isinstance(each, Widget)]
    is_in_main = view.has_class("-aside") and all(each.id != "aside" for each in ancestors)
    return is_in_main or any(each.has_class("hairline") for each in ancestors) != view.has_class("-on-left")


def focus_if(pane: Widget, condition: bool) -> bool:
    """Focus `pane` if `condition` is True. Return `condition`, for use in an expression."""
    if condition:
        pane.focus()
    return condition


def current_view(app: Shell) -> View | None:
    """Return the current view, even if a dialog covers it. None on the sign-in screen."""
    return next((screen for screen in reversed(app.screen_stack) if isinstance(screen, View)), None)


class View(HasCommands, Screen[None]):
    """A screen with the top bar, a body, the status bar and the key bar. Subclasses define `body`."""

    shell = cached_property(shell_of)
    subscriptions = cached_property(subscriptions_of)
    on_unmount = stop_subscriptions

    HELP: ClassVar[str] = ""
    """One or two sentences that begin the help of this view."""

    MODE: str = ""
    """Textual mode of this view, such as `changes`. Its tab is highlighted in the top bar."""

    IN_HISTORY: ClassVar[bool] = True
    """True if the user can go back to this view."""

    QUIT_LISTS: ClassVar[frozenset[str]] = frozenset()
    """IDs of the lists in which `q` quits the app, although `esc` would go up one level."""

    body: Callable[[], Iterable[Widget]]
    """Returns the widgets between the top bar and the status bar. Defined by each view."""

    def __init__(self) -> None:
        super().__init__()
        self._status_bar = StatusBar()

    @property
    def fallback_pane(self) -> Widget | None:
        """Pane that gets the keys which the focused list does not use. None without a focused list, or if covered."""
        pane = self.main_pane if isinstance(self.focused, LineList) else None
        return None if pane is None or is_covered(self, pane) else pane

    async def on_event(self, event: Event) -> None:
        if prepare_screen(self, event):
            await super().on_event(event)

    def compose(self) -> ComposeResult:
        self.show_location(self.MODE.capitalize())  # Shown until the view knows its location.
        yield TopBar(self.MODE)
        yield from self.body()
        yield TourStrip()
        yield self._status_bar
        yield KeyBar()
        yield Notices(self.shell.notices, uncovered=ListTabs)

    @property
    def selected_items(self) -> Sequence[Model]:
        """The selected item, then the items that contain it, such as page and space. Empty if none is selected."""
        return ()

    @property
    def live(self) -> Live:
        return self.shell.session.live

    @property
    def main_pane(self) -> Widget | None:
        """Pane with the content of this view. None by default. The pane's keys also work while a list has the focus."""
        return None

    def follow(
        self,
        slot: str,
        op: Operation[T] | None,
        show: Callable[[Snapshot[T]], None] | None = None,
        *,
        refetch: bool = True,
    ) -> None:
        """Call `Subscriptions.follow`, which ends the subscription of `slot` if `op` is None. After the end of the
        session, ignore an `op` that is not None."""
        if op is not None and not self.shell.has_session:
            return  # A callback called `follow` after the end of the session.
        self.subscriptions.follow(slot, op, show, refetch=refetch)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """In a narrow terminal, show the pane that gets the focus."""
        is_on_left = any(
            isinstance(ancestor, Widget) and ancestor.has_class("hairline")
            for ancestor in event.widget.ancestors_with_self
        )
        # Only narrow layouts have styles for this class. Wide layouts do not need the style update.
        self.set_class(is_on_left, "-on-left", update=self.has_class("-tiny") or self.has_class("-narrow"))

    def go_up(self) -> bool:
        """Go up one level inside this view, such as from a page to the spaces. Return False at the top level."""
        return False

    def go_to_thread(self, at: Discussion, comment: Comment | None) -> bool:
        """Select the thread of `comment` (None if deleted). Return False if this view has no such thread."""
        return False

    def go_to_block(self, at: Discussion, page_id: str | None, block_key: str) -> bool:
        """Go to the block with the key `block_key`. Return False if this view does not show the page."""
        return False

    def go_up_or_back(self) -> None:
        """Go up one level. At the top level, close this view and go back to the previous view, or say how to quit."""
        if not self.go_up() and not self.shell.history.close_screen():
            self.shell.explain("You are at the top level. Press q twice to quit.")

    def show_no_organization(self, rows: RowList[Any] | Tree, items_name: str) -> bool:
        """If an organization is selected, return False. Otherwise, empty `rows` and show the reason there, or that
        `items_name` are loading while organizations are loading. Return True."""
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
        """Fetch all data of this screen again. The current data stays visible until the responses arrive."""
        for op in dict.fromkeys((*self.shell.workspace.operations, *self.subscriptions.operations())):
            self.shell.background(self.live.refresh(op))

    def show_location(self, crumbs: str, summary: str = "") -> None:
        """Show in the status bar a path such as `Handbook › Guides`, and a summary such as `14 of 14`."""
        self._status_bar.crumbs, self._status_bar.summary = crumbs, summary

    @on(Notices.UndoRequested)
    def _on_undo_requested(self) -> None:
        self.shell.undo()

    @on(TopBar.ViewRequested)
    def _on_view_requested(self, message: TopBar.ViewRequested) -> None:
        self.shell.show_view(message.view)
