"""Comments: every thread of the organization in one list, the one under the cursor beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget

from octavo.api import change_requests, comments
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.operation import ListPage
from octavo.api.organizations import Organization
from octavo.api.places import ChangeRequestRef, Discussion, OrganizationRef
from octavo.data.live import Snapshot
from octavo.tui.ages import short_age
from octavo.tui.screen import View
from octavo.tui.widgets.lines import Lines
from octavo.tui.widgets.rows import Heading, Row, Rows
from octavo.tui.widgets.sections import Section, Sections
from octavo.tui.widgets.thread import ThreadView


@dataclass(frozen=True)
class Thread:
    """A comment, where it is, and what that place is called."""

    comment: Comment
    at: Discussion
    place: str

    @property
    def key(self) -> str:
        return f"{self.place} {self.comment.id}"

    @property
    def page(self) -> str:
        """The page it is on."""
        page = self.comment.target.page
        return (page.title or page.path or "A page") if page else "As a whole"


class CommentsScreen(View):
    """Threads grouped by space or change request and by page; reading and answering them on the right."""

    VIEW = "comments"
    CONTEXT = "comments"
    HELP = (
        "Every thread here, grouped by space and page. Enter goes to the thread: c replies, d is done. "
        "d works on the list as well, u takes it back. [ and ] choose open, mine or resolved ones."
    )
    CSS_PATH = "comments.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "resolve", "Done", tooltip="Resolve the thread; reopen it when it is resolved", id="comments.resolve"),
        Binding("c", "reply", "Reply", tooltip="Reply to the thread", id="comments.reply"),
        Binding("D", "reply_resolve", "Reply, done", show=False, tooltip="Reply, and resolve when the reply is sent", id="comments.reply_resolve"),
        Binding("plus", "react", "React", key_display="+", show=False, tooltip="React with an emoji", id="comments.react"),
        Binding("left_square_bracket", "section(-1)", "Before", key_display="[", show=False, tooltip="Section before", id="list.previous_section"),
        Binding("right_square_bracket", "section(1)", "Next section", key_display="]", tooltip="Next section", id="list.next_section"),
        Binding("at", "mine", "Only mine", key_display="@", show=False, tooltip="Only those I began, or all", id="list.mine"),
        Binding("J", "next(1)", "Next thread", show=False, tooltip="Next thread, also from beside the list", id="comments.next"),
        Binding("K", "next(-1)", "Thread before", show=False, tooltip="Thread before, also from beside the list", id="comments.previous"),
        Binding("escape", "back_to_list", "List", show=False, tooltip="Back to the list", id="comments.list"),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._found: dict[str, tuple[Discussion, str, Snapshot[ListPage[Comment]]]] = {}
        self._listing: set[str] = set()
        """The lists of change requests that are not here yet: each of those has threads."""
        self._complete = False

    def body(self) -> Iterable[Widget]:
        rows: Rows[Thread] = Rows(
            self._draw,
            key=lambda thread: thread.key,
            search=lambda thread: (
                f"{thread.comment.body.text} {thread.comment.posted_by.name} {thread.page} {thread.place}"
            ),
            groups=lambda thread: [Heading(thread.place), Heading(thread.page)],
            empty="No thread is open here.",
            hint="] shows resolved ones   2 content   3 change requests",
            id="list",
        )
        yield Sections(
            (Section("open", "Open"), Section("mine", "Mine"), Section("resolved", "Resolved"), Section("all", "All")),
            "open",
        )
        with Horizontal():
            with Vertical(classes="hairline", id="left"):
                yield rows
            yield ThreadView(id="thread")

    @property
    def rows(self) -> Rows[Thread]:
        return self.query_one("#list", Rows)

    @property
    def thread(self) -> ThreadView:
        return self.query_one(ThreadView)

    def on_mount(self) -> None:
        self.octavo.known.organization_changed.subscribe(self, self._enter)
        self.octavo.known.spaces_changed.subscribe(self, lambda _: self._follow_places())
        if self.octavo.known.organization is not None:
            self._enter(self.octavo.known.organization)
        self.rows.focus()

    def _enter(self, organization: Organization) -> None:
        self.following.stop()
        self._found.clear()
        self._complete = False
        self.rows.wait_for("threads")
        at = OrganizationRef(organization_id=organization.id)
        for status in ("open", "draft"):
            op = change_requests.ListOfOrganization(at=at, status=status, limit=100)
            self.follow(f"{status} change requests", op, partial(self._show_change_requests, status))
        self._follow_places()

    def _follow_places(self) -> None:
        spaces = self.octavo.known.spaces.value.items if self.octavo.known.spaces.value else ()
        for space in spaces:
            op = comments.List(at=space.ref, status="all", format="markdown", limit=200)
            self.follow_whole(
                f"space {space.id}", op, partial(self._show, f"space {space.id}", space.ref, space.title.upper())
            )

    def _show_change_requests(self, status: str, snapshot: Snapshot[ListPage[ChangeRequest]]) -> None:
        (self._listing.add if snapshot.loading else self._listing.discard)(status)
        for each in snapshot.value.items if snapshot.value else ():
            if each.space is None:
                continue
            at = ChangeRequestRef(space_id=each.space, change_request_id=each.id)
            op = comments.List(at=at, status="all", format="markdown", limit=200)
            key = f"change request {each.id}"
            space = self.octavo.known.space(each.space)
            where = f"{space.title.upper()} · " if space is not None else ""
            self.follow_whole(key, op, partial(self._show, key, at, f"{where}#{each.number} {each.title}"))

    def _show(self, key: str, at: Discussion, place: str, snapshot: Snapshot[ListPage[Comment]]) -> None:
        self._found[key] = (at, place, snapshot)
        self._draw_list()

    def _threads(self) -> list[Thread]:
        """Those of the section on show, by place and page, the newest first."""
        threads = [
            Thread(comment, at, place)
            for at, place, snapshot in self._found.values()
            for comment in (snapshot.value.items if snapshot.value else ())
        ]
        return sorted(threads, key=lambda each: (each.place, each.page))

    def _belongs(self, thread: Thread, section: str) -> bool:
        me = self.octavo.known.me.id if self.octavo.known.me else ""
        match section:
            case "open":
                return thread.comment.is_open
            case "mine":
                return thread.comment.posted_by.id == me and thread.comment.is_open
            case "resolved":
                return not thread.comment.is_open
            case _:
                return True

    def _draw_list(self) -> None:
        threads = self._threads()
        sections = self.query_one(Sections)
        sections.sections = tuple(
            Section(each.key, each.name, sum(self._belongs(thread, each.key) for thread in threads))
            for each in sections.sections
        )
        self.rows.show([thread for thread in threads if self._belongs(thread, sections.current)])
        if not self._complete:
            # Places arrive one by one: until all are here the cursor waits at the top.
            self.rows.action_first()
            self._complete = not self._listing and not any(snapshot.loading for _, _, snapshot in self._found.values())
        loading = any(snapshot.loading and snapshot.value is None for _, _, snapshot in self._found.values())
        failed = [snapshot.error for _, _, snapshot in self._found.values() if snapshot.error is not None]
        if loading and not threads:
            self.rows.wait_for("threads")
        if failed:
            more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
            self.rows.fail("Some threads did not load", f"{failed[0]}{more}")
        self._say_where()
        self._draw_thread()

    @on(Lines.Filtered, "#list")
    def _say_where(self) -> None:
        more_there = any(snapshot.value.next for _, _, snapshot in self._found.values() if snapshot.value)
        places = sum(snapshot.value is not None for _, _, snapshot in self._found.values())
        known = f"{places} of {len(self._found)} places loaded" if places < len(self._found) else self.rows.loaded
        self.status(
            f"Comments · {self.query_one(Sections).current} · all spaces",
            known + (" · more on the server" if more_there else ""),
        )

    def _draw(self, thread: Thread) -> Row:
        comment = thread.comment
        gone = bool(comment.target.page and comment.target.page.outdated)
        sign = ("✓", "$success") if not comment.is_open else ("○", "$octavo-note") if gone else ("●", "$octavo-note")
        words = " ".join(comment.body.text.split())
        age = self.octavo.known.on_its_way(comment.id) or short_age(comment.posted_at)
        return Row(
            text=Content.assemble((comment.posted_by.name, "bold"), "  ", Content(words)),
            right=Content.styled(f"{age}{f' ↳{comment.replies}' if comment.replies else ''}", "$octavo-muted"),
            sign=Content.styled(*sign),
        )

    def _draw_thread(self) -> None:
        item = self.rows.item
        if item is None:
            self.thread.clear()
        else:
            self.thread.show(item.at, item.comment)
        self.refresh_bindings()

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action in ("resolve", "reply", "reply_resolve", "react") and self.is_mounted:
            return self.thread.why_not(action, parameters)
        return super().why_not(action, parameters)

    @on(Lines.Highlighted, "#list")
    def _other(self) -> None:
        self._draw_thread()

    @on(Lines.Chosen, "#list")
    def _chosen(self) -> None:
        self.thread.focus()

    @on(Sections.Chosen)
    def _other_section(self) -> None:
        self._draw_list()

    @on(ThreadView.PlaceWanted)
    def _place_wanted(self) -> None:
        item = self.rows.item
        if item is None:
            return
        if isinstance(item.at, ChangeRequestRef):
            self.octavo.show_change_request(item.at)
        elif item.comment.target.page is not None:
            self.octavo.open_space(item.at.space_id, item.comment.target.page.id, self._node(item.comment))
        else:
            self.octavo.open_space(item.at.space_id)

    def _node(self, comment: Comment) -> str:
        return comment.target.node.id if comment.target.node else ""

    @on(ThreadView.Changed)
    def _thread_changed(self) -> None:
        self.refresh_bindings()

    def action_refresh(self) -> None:
        # Places that did not load come one by one again.
        self._complete = all(snapshot.value for _, _, snapshot in self._found.values())
        super().action_refresh()
        self.thread.ask_again()

    def action_section(self, step: int) -> None:
        self.query_one(Sections).go(step)

    def action_mine(self) -> None:
        sections = self.query_one(Sections)
        sections.choose("open" if sections.current == "mine" else "mine")

    def action_next(self, step: int) -> None:
        self.rows.action_move(step)

    def action_back_to_list(self) -> None:
        self.rows.focus()

    def action_resolve(self) -> None:
        self.thread.action_resolve()

    def action_reply(self) -> None:
        self.thread.action_reply()

    def action_reply_resolve(self) -> None:
        self.thread.action_reply_resolve()

    def action_react(self) -> None:
        self.thread.action_react()


SCREEN = CommentsScreen
