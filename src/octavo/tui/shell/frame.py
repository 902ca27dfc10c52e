"""The frame: a line above with the views, a line below with where we are and what waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rich.cells import cell_len
from textual.app import RenderResult
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

VIEWS = (
    ("1", "inbox", "Inbox"),
    ("2", "content", "Content"),
    ("3", "changes", "Changes"),
    ("4", "comments", "Comments"),
    ("5", "sites", "Sites"),
    ("6", "admin", "Admin"),
)

_WAYS = (
    (True, False, 24),
    (True, False, 14),
    (True, True, 8),
    (True, True, 0),
    (False, False, 14),
    (False, False, 8),
    (False, True, 8),
    (False, True, 0),
)
"""How the top bar is put, the first that has room: whether views are named, whether they stand close, and how many letters
of the organization are shown."""

_WITH_ACCOUNT = ((True, False, 24), (True, False, 14), (True, False, 8))
"""Layouts that also show the account, tried first. On a server, the age of the data is shortened before the organization."""

_BETWEEN, _LEAST_NAME = " › ", 4
"""The separator of the names of a path, and the cells that each name keeps."""

Piece = str | tuple[str, str]


class TopBar(Widget):
    """The organization, the views with their counts, the state of the link and the account."""

    DEFAULT_CSS = "TopBar { height: 2; dock: top; background: $background; color: $octavo-muted; border-bottom: solid $octavo-line; }"

    class ViewWanted(Message):
        """A view was clicked; `organization` stands for the switcher."""

        def __init__(self, view: str) -> None:
            super().__init__()
            self.view = view

    def __init__(self, view: str) -> None:
        super().__init__()
        self._view = view
        self._spans: list[tuple[int, int, str]] = []
        self._shown = Content("")
        self._is_late = False

    @property
    def shell(self) -> Shell:
        return cast("Shell", self.app)

    def on_mount(self) -> None:
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._changed())
        self.shell.workspace.inbox.changed.subscribe(self, lambda _: self._changed())
        self.set_interval(5, self._look_again)

    def _look_again(self) -> None:
        self.shell.workspace.look_at_link()
        self._changed()

    def _changed(self) -> None:
        # What is not on show is reckoned when it is.
        if not self._is_late and not (self.screen.is_current and self._line().is_same(self._shown)):
            self._is_late = True
            self.refresh()

    def render(self) -> RenderResult:
        self._shown, self._is_late = self._line(), False
        return self._shown

    def _line(self) -> Content:
        width = self.content_size.width
        left, link = Content(""), self.shell.workspace.link
        whole = self._right(link, wide=True)
        with_account = [whole, self._right(link, wide=True, short=True)]
        rights = [whole, self._right(link), self._right(link, short=True)]
        if self._is_demo:
            # That it is the demo is worth more than the age of the data.
            with_account, rights = [whole], [whole, self._right(link, short=True)]
            if link[0].startswith("● "):
                rights.append(self._right(("●", "●", link[2])))
        ways = (
            (_WITH_ACCOUNT[0], [self._right(link, wide=True, person=True)]),
            *((way, with_account) for way in _WITH_ACCOUNT),
            *((way, rights) for way in _WAYS),
        )
        for (is_named, is_tight, letters), beside in ways:
            left = self._left(letters, is_named=is_named, is_tight=is_tight)
            for right in beside:
                if (gap := width - left.cell_length - right.cell_length) > 0:
                    return left + Content(" " * gap) + right
        return left.truncate(width, ellipsis=True)

    def _left(self, letters: int, *, is_named: bool, is_tight: bool) -> Content:
        """The organization in so many letters, and the views: with their names or only that of the one on show."""
        between = Content("" if is_tight else " ")
        left = Content.assemble(" ", ("◆", "$primary"), " ")
        title = self.shell.workspace.organization.title if self.shell.workspace.organization else "Octavo"
        self._spans = []
        name = Content.styled(f"{_cut(title, letters)} ", "bold $foreground") if letters else Content("")
        left = self._add(left, Content.assemble(name, "▾"), "organization") + Content(" ")
        for key, view, name_of_view in VIEWS:
            label = Content.assemble((key, "$primary"), f" {name_of_view}" if is_named or view == self._view else "")
            if (count := self.shell.workspace.counts.get(view)) and is_named:
                label = label + Content(f" {count}")
            label = Content.assemble(" " if view == self._view else between, label, " ")
            if view == self._view:
                label = label.stylize("bold $foreground on $panel")
            left = self._add(left, label, view)
        return left

    def _add(self, line: Content, piece: Content, view: str) -> Content:
        self._spans.append((line.cell_length, line.cell_length + piece.cell_length, view))
        return line + piece

    def _right(
        self, link: tuple[str, str, str], *, wide: bool = False, short: bool = False, person: bool = False
    ) -> Content:
        """The state of the link, and with `wide` the account. `person`: with the name of the user, where the account is the
        demo. The demo is always named."""
        words, in_short, style = link
        pieces: list[Piece | Content] = [(in_short if short else words, style), " "]
        if self._is_demo:
            label, me = self.shell.session.label, self.shell.workspace.me
            if person and me is not None:
                pieces += [(me.name, "$octavo-muted"), "  "]
            pieces += [(label if wide else "DEMO", "bold $warning"), " "]
        elif wide and self.shell.has_session:
            pieces += [(self.shell.session.label, "$octavo-muted"), " "]
        return Content.assemble(*pieces)

    @property
    def _is_demo(self) -> bool:
        return self.shell.has_session and self.shell.session.kind == "demo"

    def on_click(self, event: Click) -> None:
        for start, end, view in self._spans:
            if start <= event.x < end:
                self.post_message(self.ViewWanted(view))


class TourStrip(Widget):
    """Names the next step of the tour below the top bar. Hidden while no tour is on."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    TourStrip { height: 1; dock: top; margin-top: 2; padding: 0 1; background: $panel; color: $foreground; display: none; }
    """

    @property
    def shell(self) -> Shell:
        return cast("Shell", self.app)

    def on_mount(self) -> None:
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._changed())
        self._changed()

    def _changed(self) -> None:
        self.display = bool(self.shell.workspace.tour.words)
        self.refresh()

    def render(self) -> RenderResult:
        words, leave = self.shell.workspace.tour.words, self.shell.workspace.tour.way_out
        gap = self.content_size.width - len(words) - len(leave)
        return Content.assemble((words, "bold $primary"), " " * max(gap, 2), (leave, "$octavo-muted"))


class StatusBar(Widget):
    """Where we are on the left; on the right what is known about it, what others did meanwhile, writes under way last."""

    DEFAULT_CSS = """
    StatusBar { height: 2; dock: bottom; background: $background; color: $octavo-muted; border-top: solid $octavo-line; margin-bottom: 1; }
    """

    crumbs = reactive("")
    facts = reactive("")
    _shown = Content("")
    _is_late = False

    @property
    def shell(self) -> Shell:
        return cast("Shell", self.app)

    def on_mount(self) -> None:
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._changed())
        self.shell.workspace.unsent.changed.subscribe(self, lambda _: self._changed())

    def _changed(self) -> None:
        # What is not on show is reckoned when it is.
        if not self._is_late and not (self.screen.is_current and self._line().is_same(self._shown)):
            self._is_late = True
            self.refresh()

    def render(self) -> RenderResult:
        self._shown, self._is_late = self._line(), False
        return self._shown

    def _line(self) -> Content:
        width = self.content_size.width
        left = Content(f" {self.crumbs}")
        right = self._right(self.facts)
        if self.shell.workspace.news.words and left.cell_length + right.cell_length + 2 > width:
            right = self._right("")  # what is known can be seen again any time
        # However much there is to say, where we are is still to be seen.
        right = right.truncate(max(width - left.cell_length - 2, width * 2 // 3), ellipsis=True)
        left = Content(f" {path_in(self.crumbs, max(width - right.cell_length - 3, 0))}")
        gap = width - left.cell_length - right.cell_length
        if gap < 0:
            return right.truncate(width, ellipsis=True)
        return left + Content(" " * gap) + right

    def _right(self, facts: str) -> Content:
        workspace = self.shell.workspace
        read_only = "read-only" if self.shell.has_session and self.shell.session.read_only else ""
        said = [
            (workspace.unsent.trouble, "bold $error"),
            (facts, ""),
            (workspace.news.words, "$primary"),
            (workspace.waiting, "$warning"),
            (read_only, "bold $warning"),
        ]
        pieces = [Content.assemble(each) for each in said if each[0]]
        return Content("  ").join(pieces) + Content(" ") if pieces else Content("")


def path_in(crumbs: str, width: int) -> str:
    """Cut the longest names of a path such as "Handbook › Guides › Alerts" with `…` until the path fits `width` cells, so
    that each name still begins in it."""
    names, between = crumbs.split(_BETWEEN), cell_len(_BETWEEN)
    while (over := sum(map(cell_len, names)) + between * (len(names) - 1) - width) > 0:
        at = max(range(len(names)), key=lambda index: cell_len(names[index]))
        others = [cell_len(name) for index, name in enumerate(names) if index != at]
        length = max(cell_len(names[at]) - over, max(others, default=0) - 1, _LEAST_NAME)
        if length >= cell_len(names[at]):
            break
        names[at] = Content(names[at]).truncate(length, ellipsis=True).plain
    return Content(_BETWEEN.join(names)).truncate(width, ellipsis=True).plain


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
