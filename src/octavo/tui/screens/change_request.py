"""One change request: what it changes page by page, who looked, what people say, and the way to merge it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from octavo.api import change_requests, comments, content, reviews
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.content import Change, Changes
from octavo.api.errors import ApiError
from octavo.api.operation import ListPage
from octavo.api.places import ChangeRequestRef, ContentRef, RevisionRef, SpaceRef
from octavo.api.reviews import RequestedReviewer, Review
from octavo.data.live import Snapshot
from octavo.documents.blocks import Block, Document
from octavo.documents.diff import diff
from octavo.documents.parse import parse
from octavo.tui import standing
from octavo.tui.checks import name, sign
from octavo.tui.discussing import Discussing
from octavo.tui.page.diff_view import DiffView
from octavo.tui.pages import page_as_written, page_there, text_of
from octavo.tui.proposing import Proposing
from octavo.tui.rail import thread_lines
from octavo.tui.reading import anchored, open_counts, under
from octavo.tui.standing import in_words, key_of
from octavo.tui.widgets.lines import Lines
from octavo.tui.widgets.rows import Row, Rows

SIGN_STYLES = {"+": "$success", "−": "$error", "→": "$warning", "~": "$primary"}


class ChangeRequestScreen(Discussing, Proposing):
    """On the left what is changed and how it stands, on the right the diff of the page under the cursor."""

    VIEW = "changes"
    CONTEXT = "change request"
    HELP = (
        "Pages on the left, the diff on the right. n and N go through the changes, J and K through the pages, x marks a page "
        "as looked at, c comments on the block under the cursor, a approves, m merges after showing what goes live."
    )
    CSS_PATH = "change_request.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("J", "read_on(1)", "Next page", show=False, tooltip="Next changed page", id="change.next_page"),
        Binding("K", "read_on(-1)", "Page before", show=False, tooltip="Changed page before", id="change.previous_page"),
        Binding("x", "viewed", "Viewed", tooltip="Mark this page as looked at; kept per revision", id="change.viewed"),
        Binding("t", "thread(1)", "Thread", tooltip="Open the threads of this change request", id="change.threads"),
        Binding("escape", "up", "Back", show=False, tooltip="To the pages, then back to the list", id="change.up"),
    ]  # fmt: skip

    def __init__(self, change_request: ChangeRequest, space: SpaceRef) -> None:
        super().__init__()
        self._change_request = change_request
        self._space = space
        self.at: ChangeRequestRef = change_request.ref(space)
        self._changes: Changes | None = None
        self._reviews: tuple[Review, ...] = ()
        self._requested: tuple[RequestedReviewer, ...] = ()
        self._threads: tuple[Comment, ...] = ()
        self._shown = ""
        self._sides: tuple[Document, Document] | None = None
        self._fetched_changes_limit = 100

    def body(self) -> Iterable[Widget]:
        rows: Rows[Change] = Rows(
            self._draw_change,
            key=key_of,
            search=name,
            empty="Nothing is changed yet.",
            hint="Edit its pages, then r.",
            id="changes",
        )
        yield Static("", id="head")
        with Horizontal():
            with Vertical(id="left", classes="hairline"):
                yield Static("PAGES", classes="pane-title", id="changes-title")
                yield rows
                yield Static("", id="standing")
            yield DiffView(ascii=self.octavo.settings.ascii, id="diff")
            yield Static("", id="words")

    @property
    def rows(self) -> Rows[Change]:
        return self.query_one("#changes", Rows)

    @property
    def view(self) -> DiffView:
        return self.query_one(DiffView)

    def on_mount(self) -> None:
        self.rows.wait_for("what it changes")
        self.follow("change request", change_requests.Get(at=self.at), self._show_change_request)
        self._follow_changes()
        self.follow("reviews", reviews.List(at=self.at, format="markdown", limit=100), self._show_reviews)
        self.follow("requested", reviews.ListRequested(at=self.at, limit=100), self._show_requested)
        threads = comments.List(at=self.at, status="all", format="markdown", limit=200)
        self.follow_whole("threads", threads, self._show_threads)
        self.octavo.known.spaces_changed.subscribe(self, lambda _: self.refresh_bindings())
        self._draw_head()
        self.rows.focus()

    def on_resize(self) -> None:
        self._draw_head()

    def _follow_changes(self) -> None:
        self.follow("changes", content.ListChanges(at=self.at, limit=self._fetched_changes_limit), self._show_changes)

    # What arrives

    def _show_change_request(self, snapshot: Snapshot[ChangeRequest]) -> None:
        if snapshot.value is None:
            return
        before, self._change_request = self._change_request, snapshot.value
        if before.revision != snapshot.value.revision or before.base != snapshot.value.base:
            self._shown = ""
            self._show_diff()
        self._draw_head()
        self.refresh_bindings()

    def _show_changes(self, snapshot: Snapshot[Changes]) -> None:
        if snapshot.error is not None:
            self.rows.fail("What it changes did not load", str(snapshot.error))
        if snapshot.value is None:
            return
        self._changes = snapshot.value
        self.rows.show(snapshot.value.changes)
        if snapshot.value.more and self._fetched_changes_limit < 1000:
            # A page must never be hidden from its reviewer: ask until nothing is left out.
            self._fetched_changes_limit = 1000
            self.call_later(self._follow_changes)
        self._draw_title()
        self._show_diff()

    def _show_reviews(self, snapshot: Snapshot[ListPage[Review]]) -> None:
        self._reviews = snapshot.value.items if snapshot.value else ()
        self._draw_head()

    def _show_requested(self, snapshot: Snapshot[ListPage[RequestedReviewer]]) -> None:
        self._requested = snapshot.value.items if snapshot.value else ()
        self._draw_head()

    def _show_threads(self, snapshot: Snapshot[ListPage[Comment]]) -> None:
        if snapshot.value is not None:
            self._threads = snapshot.value.items
            self.rows.redraw()
            self._draw_threads()
            self._draw_head()

    # The head and the left

    def _draw_head(self) -> None:
        if not self.is_mounted:
            return
        about, space = self._change_request, self.octavo.known.space(self._space.space_id)
        still_open = sum(thread.is_open for thread in self._threads)
        width = max(20, self.size.width)
        head = standing.head(about, space.title if space else "", self._reviews, still_open, width)
        self.query_one("#head", Static).update(head)
        self.query_one("#standing", Static).update(standing.reviewers(about, self._reviews, self._requested))
        self._say_where()

    def _draw_title(self) -> None:
        changes = self._changes.changes if self._changes else ()
        viewed = self._viewed()
        seen = sum(key_of(each) in viewed for each in changes)
        title = f"PAGES  {seen} of {len(changes)} viewed"
        if self._changes and self._changes.more:
            title += f" · {self._changes.more} more not listed by the server"
        self.query_one("#changes-title", Static).update(Content(title))

    def _draw_change(self, change: Change) -> Row:
        mark = sign(change)
        count = open_counts(self._threads).get(change.page.id, 0) if change.page else 0
        seen = key_of(change) in self._viewed()
        return Row(
            text=Content.assemble((mark, SIGN_STYLES[mark]), " ", name(change)),
            right=Content.styled(f"●{count}", "$octavo-note") if count else "",
            sign=Content.styled("✓", "$success") if seen else " ",
            dim=seen,
        )

    def _say_where(self) -> None:
        about = self._change_request
        changes = self._changes.changes if self._changes else ()
        index = next((number for number, each in enumerate(changes, 1) if key_of(each) == self.rows.key), 0)
        place = f"page {index} of {len(changes)}" if index else ""
        space = self.octavo.known.space(self._space.space_id)
        where = f"{space.title} › " if space is not None else ""
        self.status(
            f"Changes › {where}#{about.number} {about.title}",
            " · ".join(each for each in (place, self.view.facts) if each),
        )

    # The diff

    @property
    def _is_comparing(self) -> bool:
        """Whether the diff of the page under the cursor is not there yet."""
        return self._sides is None and not self.has_class("-words")

    @on(Lines.Highlighted, "#changes")
    def _other_page(self) -> None:
        self._show_diff()

    def _show_diff(self) -> None:
        change = self.rows.item
        if change is None:
            return
        key = f"{key_of(change)} {self._change_request.revision} {self._change_request.base}"
        if key == self._shown:
            return
        self._shown = key
        if change.page is None or change.page.type != "document":
            self._sides = None
            self.workers.cancel_group(self, "diff")
            self.query_one("#words", Static).update(Content(f"{sign(change)} {name(change)}\n\n{in_words(change)}"))
            self.add_class("-words")
        else:
            self.remove_class("-words")
            self._sides = None
            self.view.wait_for(name(change))
            self.run_worker(self._compare(change, key), exclusive=True, group="diff")
        self._say_where()
        self.refresh_bindings()

    async def _compare(self, change: Change, key: str) -> None:
        assert change.page is not None
        base = RevisionRef(space_id=self._space.space_id, revision_id=self._change_request.base or "")
        now: ContentRef = self.at
        if self._change_request.revision:
            now = RevisionRef(space_id=self._space.space_id, revision_id=self._change_request.revision)
        try:
            pages = await asyncio.gather(
                *(page_there(self.live, page_as_written(at, change.page.id)) for at in (base, now))
            )
        except ApiError as error:
            self.view.fail(f"{name(change)} did not load", str(error))
            self._shown = ""
            return
        before, after = map(text_of, pages)
        old, new = await asyncio.to_thread(lambda: (parse(before), parse(after)))
        found = await asyncio.to_thread(diff, old, new)
        if key == self._shown:
            self._sides = (old, new)
            self.view.show(found, old=before, new=after, title=name(change), key=key)
            self._draw_threads()
            self._say_where()

    def _draw_threads(self) -> None:
        if self._sides is not None:
            self.view.set_threads(thread_lines(self._hanging(), self.octavo.known.on_its_way))

    def _hanging(self) -> dict[str, list[Comment]]:
        """The threads of the page by block: of the new side, else of the old one, else the page as a whole."""
        if self._sides is None:
            return {}
        old, new = self._sides
        found = anchored(new, self._page_threads())
        for key, threads in anchored(old, found.pop("", [])).items():
            found.setdefault(key, []).extend(threads)
        return found

    def _page_threads(self) -> tuple[Comment, ...]:
        change = self.rows.item
        if change is None or change.page is None:
            return ()
        page = change.page.id
        return tuple(thread for thread in self._threads if thread.target.page and thread.target.page.id == page)

    @on(DiffView.Moved)
    def _diff_moved(self) -> None:
        self._say_where()

    @on(Lines.Chosen, "#changes")
    def _chosen(self) -> None:
        self.view.focus()

    # What Discussing and Proposing ask

    @property
    def change_request(self) -> ChangeRequest | None:
        return self._change_request

    @property
    def space_ref(self) -> SpaceRef | None:
        return self._space

    @property
    def discussion(self) -> ChangeRequestRef:
        return self.at

    @property
    def page_on_show(self) -> tuple[str, str] | None:
        change = self.rows.item if self.is_mounted else None
        return (change.page.id, change.page.title) if change and change.page else None

    @property
    def block_on_show(self) -> Block | None:
        stop = self.view.cursor_stop() if self._sides is not None else None
        return stop[3] if stop is not None and stop[3].kind != "fold" else None

    def threads_on(self, block: Block) -> list[Comment]:
        return under(block, self._hanging())

    @property
    def known_threads(self) -> tuple[Comment, ...]:
        here = self._page_threads()
        return here + tuple(thread for thread in self._threads if thread not in here)

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action == "thread" and not self._threads:
            return "Nobody has commented on this change request. c comments on a block, C on all of it."
        if action == "comment_page" and self.is_mounted and self.focused is not self.view:
            return super().why_not("comment_whole", parameters)
        if action == "comment" and self.is_mounted and self._is_comparing:
            return f"{name(self.rows.item)} is still loading." if self.rows.item else None
        if action == "viewed" and self.is_mounted and self.rows.item is None:
            return "There is no page here."
        return super().why_not(action, parameters)

    # Actions

    def action_comment_page(self) -> None:
        """From the diff the page is meant, from the list of pages the change request as a whole."""
        if self.focused is self.view:
            super().action_comment_page()
        else:
            self.action_comment_whole()

    def _viewed(self) -> set[str]:
        kept = self.octavo.session.state.recall(f"viewed {self._change_request.id}", {})
        return set(kept.get("keys", ())) if kept.get("revision") == self._change_request.revision else set()

    def action_viewed(self) -> None:
        change = self.rows.item
        if change is None:
            return
        viewed = self._viewed() ^ {key_of(change)}
        kept = {"revision": self._change_request.revision, "keys": sorted(viewed)}
        self.octavo.session.state.remember(f"viewed {self._change_request.id}", kept)
        self.rows.redraw()
        self._draw_title()
        if key_of(change) in viewed:
            self.action_read_on(1)

    def action_read_on(self, step: int) -> None:
        self.rows.action_move(step)

    def action_thread(self, step: int) -> None:
        order = [thread for thread in self.known_threads if thread.is_open] or list(self.known_threads)
        if order:
            self.open_thread(order[0].id)

    def action_up(self) -> None:
        if self.focused is self.view:
            self.rows.focus()
        else:
            self.app.pop_screen()
