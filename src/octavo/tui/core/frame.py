"""Bars around every view: the top bar with the tabs of the views, the next step of the tour, and the status bar."""

from __future__ import annotations

from rich.cells import cell_len
from textual.app import RenderResult
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from octavo.tui.core.shell import Shell, shell_of

VIEWS = (
    ("1", "inbox", "Inbox"),
    ("2", "content", "Content"),
    ("3", "changes", "Changes"),
    ("4", "comments", "Comments"),
    ("5", "sites", "Sites"),
    ("6", "admin", "Admin"),
)

_LAYOUTS = (
    (True, False, 24),
    (True, False, 14),
    (True, True, 8),
    (True, True, 0),
    (False, False, 14),
    (False, False, 8),
    (False, True, 8),
    (False, True, 0),
)
"""Layouts of the top bar, widest first. The first value is True if all tabs have names, the second is True if there are no
gaps between tabs, and the third is the number of letters in the title of the organization."""

_ACCOUNT_LAYOUTS = ((True, False, 24), (True, False, 14), (True, False, 8))
"""Layouts of the top bar that include the account, in the format of `_LAYOUTS`. They are tried first."""

_PATH_SEPARATOR, _MIN_NAME_WIDTH = " › ", 4
"""Separator between the names in a path, and the smallest width of a name in cells."""

TextPiece = str | tuple[str, str]


class TopBar(Widget):
    """Bar with the organization, the tabs of the views with their counts, the connection status and the account."""

    DEFAULT_CSS = "TopBar { height: 2; dock: top; background: $background; color: $octavo-muted; border-bottom: solid $octavo-line; }"

    class ViewRequested(Message):
        """Posted when the user clicks a tab. The view `organization` means the organization switcher."""

        def __init__(self, view: str) -> None:
            super().__init__()
            self.view = view

    def __init__(self, view: str) -> None:
        super().__init__()
        self._view = view
        self._spans: list[tuple[int, int, str]] = []
        self._painted = Content("")
        self._needs_paint = False

    @property
    def shell(self) -> Shell:
        return shell_of(self)

    def on_mount(self) -> None:
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._repaint_if_changed())
        self.shell.workspace.inbox.changed.subscribe(self, lambda _: self._repaint_if_changed())
        self.set_interval(5, self._refresh_connection)

    def _refresh_connection(self) -> None:
        self.shell.workspace.connection.update()
        self._repaint_if_changed()

    def _repaint_if_changed(self) -> None:
        # A bar on another screen is computed when its screen is shown.
        if not self._needs_paint and not (self.screen.is_current and self._line().is_same(self._painted)):
            self._needs_paint = True
            self.refresh()

    def render(self) -> RenderResult:
        self._painted, self._needs_paint = self._line(), False
        return self._painted

    def _line(self) -> Content:
        width = self.content_size.width
        left, link = Content(""), self.shell.workspace.connection.status
        full = self._right_part(link, show_account=True)
        with_account = [full, self._right_part(link, show_account=True, is_short=True)]
        right_parts = [full, self._right_part(link), self._right_part(link, is_short=True)]
        if self._is_demo:
            # The label of the demo is more important than the age of the data.
            with_account, right_parts = [full], [full, self._right_part(link, is_short=True)]
            if link[0].startswith("● "):
                right_parts.append(self._right_part(("●", "●", link[2])))
        layouts = (
            (_ACCOUNT_LAYOUTS[0], [self._right_part(link, show_account=True, show_user=True)]),
            *((layout, with_account) for layout in _ACCOUNT_LAYOUTS),
            *((layout, right_parts) for layout in _LAYOUTS),
        )
        for (has_all_names, is_tight, title_length), candidates in layouts:
            left = self._left_part(title_length, has_all_names=has_all_names, is_tight=is_tight)
            for right in candidates:
                if (gap := width - left.cell_length - right.cell_length) > 0:
                    return left + Content(" " * gap) + right
        return left.truncate(width, ellipsis=True)

    def _left_part(self, title_length: int, *, has_all_names: bool, is_tight: bool) -> Content:
        """Return the title of the organization, shortened to `title_length` letters, and the tabs. Without
        `has_all_names`, only the current tab has a name. With `is_tight`, there are no gaps between the tabs,
        except around the current tab."""
        is_after_current = False
        left = Content.assemble(" ", ("◆", "$primary"), " ")
        title = self.shell.workspace.organization.title if self.shell.workspace.organization else "Octavo"
        self._spans = []
        name = Content.styled(f"{_shorten(title, title_length)} ", "bold $foreground") if title_length else Content("")
        left = self._append_tab(left, Content.assemble(name, "▾"), "organization") + Content(" ")
        for key, view, name_of_view in VIEWS:
            label = Content.assemble(
                (key, "$primary"), f" {name_of_view}" if has_all_names or view == self._view else ""
            )
            if (count := self.shell.workspace.counts.get(view)) and has_all_names:
                label = label + Content(f" {count}")
            is_current = view == self._view
            label = Content.assemble(" " if is_current or is_after_current or not is_tight else "", label, " ")
            if is_current:
                label = label.stylize("bold $foreground on $panel")
            left, is_after_current = self._append_tab(left, label, view), is_current
        return left

    def _append_tab(self, line: Content, piece: Content, view: str) -> Content:
        self._spans.append((line.cell_length, line.cell_length + piece.cell_length, view))
        return line + piece

    def _right_part(
        self, link: tuple[str, str, str], *, show_account: bool = False, is_short: bool = False, show_user: bool = False
    ) -> Content:
        """Return the connection status, then the account if `show_account` is set. With `show_user`, the demo also
        shows the name of the user. The label of the demo is always shown."""
        text, short_text, style = link
        pieces: list[TextPiece | Content] = [(short_text if is_short else text, style), " "]
        if self._is_demo:
            label, user = self.shell.session.label, self.shell.workspace.me
            if show_user and user is not None:
                pieces += [(user.name, "$octavo-muted"), "  "]
            pieces += [(label if show_account else "DEMO", "bold $warning"), " "]
        elif show_account and self.shell.has_session:
            pieces += [(self.shell.session.label, "$octavo-muted"), " "]
        return Content.assemble(*pieces)

    @property
    def _is_demo(self) -> bool:
        return self.shell.has_session and self.shell.session.kind == "demo"

    def on_click(self, event: Click) -> None:
        for start, end, view in self._spans:
            if start <= event.x < end:
                self.post_message(self.ViewRequested(view))


class TourStrip(Widget):
    """Line below the top bar with the next step of the tour. Hidden while no tour is active."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    TourStrip { height: 1; dock: top; margin-top: 2; padding: 0 1; background: $panel; color: $foreground; display: none; }
    """

    @property
    def shell(self) -> Shell:
        return shell_of(self)

    def on_mount(self) -> None:
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._repaint_if_changed())
        self._repaint_if_changed()

    def _repaint_if_changed(self) -> None:
        self.display = bool(self.shell.workspace.tour.instruction)
        self.refresh()

    def render(self) -> RenderResult:
        instruction, exit_hint = self.shell.workspace.tour.instruction, self.shell.workspace.tour.exit_hint
        gap = self.content_size.width - len(instruction) - len(exit_hint)
        return Content.assemble((instruction, "bold $primary"), " " * max(gap, 2), (exit_hint, "$octavo-muted"))


class StatusBar(Widget):
    """Bar with the current location on the left, and facts, news from other people and queued writes on the right."""

    DEFAULT_CSS = """
    StatusBar { height: 2; dock: bottom; background: $background; color: $octavo-muted; border-top: solid $octavo-line; margin-bottom: 1; }
    """

    crumbs = reactive("")
    facts = reactive("")
    _painted = Content("")
    _needs_paint = False

    @property
    def shell(self) -> Shell:
        return shell_of(self)

    def on_mount(self) -> None:
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._repaint_if_changed())
        self.shell.workspace.unsent.changed.subscribe(self, lambda _: self._repaint_if_changed())

    def _repaint_if_changed(self) -> None:
        # A bar on another screen is computed when its screen is shown.
        if not self._needs_paint and not (self.screen.is_current and self._line().is_same(self._painted)):
            self._needs_paint = True
            self.refresh()

    def render(self) -> RenderResult:
        self._painted, self._needs_paint = self._line(), False
        return self._painted

    def _line(self) -> Content:
        width = self.content_size.width
        left = Content(f" {self.crumbs}")
        right = self._right_part(self.facts)
        if self.shell.workspace.news.summary and left.cell_length + right.cell_length + 2 > width:
            right = self._right_part("")  # The facts come back as soon as the news is dismissed.
        # The location keeps at least a third of the width.
        right = right.truncate(max(width - left.cell_length - 2, width * 2 // 3), ellipsis=True)
        left = Content(f" {shorten_path(self.crumbs, max(width - right.cell_length - 3, 0))}")
        gap = width - left.cell_length - right.cell_length
        if gap < 0:
            return right.truncate(width, ellipsis=True)
        return left + Content(" " * gap) + right

    def _right_part(self, facts: str) -> Content:
        workspace = self.shell.workspace
        read_only = "read-only" if self.shell.has_session and self.shell.session.read_only else ""
        parts = [
            (workspace.unsent.why_not_saved, "bold $error"),
            (facts, ""),
            (workspace.news.summary, "$primary"),
            (workspace.outbox_summary, "$warning"),
            (read_only, "bold $warning"),
        ]
        pieces = [Content.assemble(part) for part in parts if part[0]]
        return Content("  ").join(pieces) + Content(" ") if pieces else Content("")


def shorten_path(crumbs: str, width: int) -> str:
    """Shorten a path such as "Handbook › Guides › Alerts" to `width` cells, longest names first. Each shortened name
    ends in `…`."""
    names, separator_width = crumbs.split(_PATH_SEPARATOR), cell_len(_PATH_SEPARATOR)
    while (excess := sum(map(cell_len, names)) + separator_width * (len(names) - 1) - width) > 0:
        longest = max(range(len(names)), key=lambda index: cell_len(names[index]))
        other_widths = [cell_len(name) for index, name in enumerate(names) if index != longest]
        length = max(cell_len(names[longest]) - excess, max(other_widths, default=0) - 1, _MIN_NAME_WIDTH)
        if length >= cell_len(names[longest]):
            break
        names[longest] = Content(names[longest]).truncate(length, ellipsis=True).plain
    return Content(_PATH_SEPARATOR.join(names)).truncate(width, ellipsis=True).plain


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
