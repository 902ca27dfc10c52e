"""The history of a page: the revisions that changed it, each to be read, and compared with how the page reads now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from textual import on
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from octavo.api import content
from octavo.api.content import Page, PageTree
from octavo.api.errors import ApiError
from octavo.api.places import ContentRef
from octavo.api.spaces import Space
from octavo.data.live import Snapshot
from octavo.documents import links
from octavo.tui.comments.page_discussion import COMMENTING, THREAD_HERE
from octavo.tui.content.page_revisions import RevisionWalk, Version
from octavo.tui.reader import link_following
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.record import open_row
from octavo.tui.reader.showing_pages import show_page
from octavo.tui.render.comparison import compare
from octavo.tui.render.link_targets import LinkContext, Targets
from octavo.tui.render.page_parts import AddressWanted, LinkFollowed
from octavo.tui.review.request_summary import ASK_AFTER
from octavo.tui.shell.page_queries import page_as_written, page_there, page_to_read, text_of
from octavo.tui.shell.routes import ToPage
from octavo.tui.shell.view import View
from octavo.tui.terminal import clipboard
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import Lines
from octavo.tui.widgets.row_list import Row, Rows
from octavo.tui.widgets.safe_text import joined
from octavo.tui.widgets.wording import long_age, plural, short_age

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

Side = Literal["", "now", "before"]
"""What the version on show is compared with, if it is."""
_NO_ADDRESS = "A page of a revision has no address of its own. esc goes back to the page as it is."

_TAKES_NO_COMMENTS = (
    "A revision never changes and takes no comments. Comment on the page as it is: esc goes back to it."
)


def _why_not_compared(app: Shell, view: PageHistoryScreen) -> str | None:
    return "There is no revision here to compare." if view.rows.item is None else None


HISTORY: Commands[PageHistoryScreen] = Commands(
    "history",
    (
        Command("now", "B", "Compare with now", "What is different now, or the old page again",
                run=lambda _, view: view.compare_with("now"), why_not=_why_not_compared),
        Command("before", "V", "What it changed", "What this revision changed, or the old page again",
                run=lambda _, view: view.compare_with("before"), why_not=_why_not_compared),
        Command("more", "m", "Further back", "Look through older revisions of the space",
                run=lambda _, view: view.look_further(), why_not=lambda _, view: view.why_not_further()),
        Command("older", "J", "Older", "The revision before", run=lambda _, view: view.rows.move(1), shown=False),
        Command("newer", "K", "Newer", "The revision after", run=lambda _, view: view.rows.move(-1), shown=False),
        Command("up", "escape", "Back", "To the revisions, then back to the page", run=lambda _, view: view.go_up_or_leave(), shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip


class PageHistoryScreen(View):
    """On the left the revisions that changed the page, the newest first; on the right the page as one of them has it."""

    VIEW = "content"
    CONTEXT = "page history"
    HELP = (
        "The revisions that changed this page. Enter reads one, B compares it with the page as it is now, "
        "V shows what it changed itself, m looks further back."
    )
    CSS_PATH = "page_history.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        *(group.about(lambda view: None, nothing=_TAKES_NO_COMMENTS) for group in (COMMENTING, THREAD_HERE)),
        HISTORY,
    )
    KEYBAR: ClassVar[tuple[str, ...]] = ("history.now", "history.before", "history.more")

    def __init__(self, space: Space, page_id: str, title: str) -> None:
        super().__init__()
        self.space, self.page_id, self.title_now = space, page_id, title
        self._walk: RevisionWalk | None = None
        self._walking = False
        self._tree: PageTree | None = None
        self._side: Side = ""
        self._asking: Timer | None = None

    def body(self) -> Iterable[Widget]:
        rows: Rows[Version] = Rows(
            self._draw,
            key=lambda version: version.revision,
            search=lambda version: f"{version.name} {version.who} {version.did}",
            two_lines=True,
            empty="No revision changed this page.",
            hint="m looks further back",
            id="versions",
        )
        with Horizontal():
            with Vertical(classes="hairline", id="left"):
                yield rows
            with Vertical(id="version"):
                yield Static("", id="banner")
                yield PageView(ascii=self.shell.settings.ascii, id="page")
                yield DiffView(ascii=self.shell.settings.ascii, id="diff")

    @property
    def rows(self) -> Rows[Version]:
        return self.query_one("#versions", Rows)

    @property
    def view(self) -> PageView | DiffView:
        """The page, or what is different."""
        return self.query_one("#diff", DiffView) if self._side else self.query_one("#page", PageView)

    def on_mount(self) -> None:
        for pane in (self.query_one("#page", PageView), self.query_one("#diff", DiffView)):
            pane.cursor_block.why_no_comment_here = lambda: _TAKES_NO_COMMENTS  # nobody comments on what was
        self._walk = RevisionWalk(self.live, self.space, self.page_id)
        self.follow("tree", content.ListPages(at=self.space.ref), self._show_tree)
        self.rows.focus()
        self.look_further()

    def _show_tree(self, snapshot: Snapshot[PageTree]) -> None:
        if (tree := snapshot.value) is not None and tree is not self._tree:
            view, self._tree = self.query_one("#page", PageView), tree
            view.contents.sources.targets = Targets(LinkContext(tree, self.space.ref), self.page_id)
            view.reset()

    # The revisions

    async def _look(self, walk: RevisionWalk) -> None:
        """Look through some revisions, showing each that changed the page when it is found."""
        self._walking = True
        self.rows.state.wait_for(f"the history of {self.title_now}")
        self._say_where()
        try:
            async for _ in walk.versions():
                self.rows.show(tuple(walk.found))
                self._say_where()
            self.rows.show(tuple(walk.found))
        except ApiError as error:
            self.rows.state.fail("The history did not load", str(error))
        finally:
            self._walking = False
        self._say_where()
        self.refresh_bindings()

    def _say_where(self) -> None:
        walk = self._walk
        looked = f"{plural(walk.looked, 'revision')} looked through" if walk is not None and walk.looked else ""
        more = "" if walk is None or self._walking or walk.is_at_end else "m looks further back"
        whole = walk is None or walk.is_at_end
        looked_at = "" if walk is None or whole else f" of the {plural(walk.looked, 'revision')} looked through"
        self.rows.state.empty = f"{'None' if looked_at else 'No revision'}{looked_at} changed this page."
        self.rows.state.hint = "" if whole else "m looks further back"
        facts = (self.view.facts if self.view.has_focus else "", looked, "looking …" if self._walking else more)
        self.status(f"{self.space.title} › {self.title_now} › History", " · ".join(each for each in facts if each))

    def _draw(self, version: Version) -> Row:
        first = self.rows.items[0].revision == version.revision if self.rows.items else False
        number = Content.styled(f"#{version.number}  ", "$octavo-muted") if version.number else Content("")
        return Row(
            text=number + Content.styled(version.name, "bold"),
            right=Content.styled(short_age(version.moment), "$octavo-muted"),
            below=joined([version.who, version.did]),
            sign=Content.styled("●", "$success") if first else Content.styled("○", "$octavo-muted"),
        )

    # The page as one of them has it

    @on(Lines.Highlighted, "#versions")
    def _other_version(self) -> None:
        if self._asking is not None:
            self._asking.stop()
        self._draw_banner()
        self._asking = self.set_timer(ASK_AFTER, self._show_version)
        self.refresh_bindings()

    def _show_version(self) -> None:
        version = self.rows.item
        if version is None:
            return
        self._draw_banner()
        self.set_class(bool(self._side), "-comparing")
        self.view.state.wait_for(self.title_now)
        work = self._compare(version, self._side) if self._side else self._read(version)
        self.run_worker(work, exclusive=True, group="version")

    async def _read(self, version: Version) -> None:
        view = self.query_one("#page", PageView)
        try:
            page = await page_there(self.live, page_to_read(version.at, self.page_id))
        except ApiError as error:
            view.clear()
            view.state.fail("This revision did not load", str(error))
            return
        if page is None:
            view.clear()
            view.state.fail("The page is not in this revision", "It was deleted in it, or was not there yet.")
            return
        show_page(view, page, f"{version.revision} {self.page_id}")

    async def _compare(self, version: Version, side: Side) -> None:
        view = self.query_one("#diff", DiffView)
        sides: tuple[ContentRef | None, ContentRef] = (
            (version.at, self.space.ref) if side == "now" else (version.before, version.at)
        )
        try:
            pages = await asyncio.gather(*(self._as_written(at) for at in sides))
        except ApiError as error:
            view.clear()
            view.state.fail("This revision did not load", str(error))
            return
        compared = await asyncio.to_thread(compare, *map(text_of, pages))
        title = next((page.title for page in reversed(pages) if page is not None), self.title_now)
        view.show(compared, title=title, key=f"{side} {version.revision}")
        self._say_where()

    async def _as_written(self, at: ContentRef | None) -> Page | None:
        return await page_there(self.live, page_as_written(at, self.page_id)) if at is not None else None

    def _draw_banner(self) -> None:
        version, banner = self.rows.item, self.query_one("#banner", Static)
        banner.display = version is not None
        if version is None:
            return
        newest = self.rows.items[0] is version
        whose = joined([long_age(version.moment), f"#{version.number}" if version.number else "", version.who])
        match self._side:
            case "now":
                words = Content.assemble(("SINCE THEN ", "bold $warning"), " what is different now from ", whose)
            case "before":
                words = Content.assemble(("THIS CHANGE ", "bold $primary"), " what changed ", whose)
            case _ if newest:
                words = Content.assemble(("NEWEST REVISION ", "bold $success"), " how the page reads now · ", whose)
            case _:
                words = Content.assemble(("OLD REVISION ", "bold $warning"), " how the page read ", whose)
        banner.update(words)

    @on(PageView.Moved)
    @on(DiffView.Moved)
    def _moved(self) -> None:
        self._say_where()

    @on(Lines.Chosen, "#versions")
    def _chosen(self) -> None:
        self.view.focus()

    @on(LinkFollowed)
    def _link_followed(self, message: LinkFollowed) -> None:
        view = self.query_one("#page", PageView)
        if message.kind == "page":
            self.shell.say(_NO_ADDRESS, tone="care")
        elif not link_following.open_part(self.shell, view, message, self._link_followed):
            self._follow(view, message)

    def _follow(self, view: PageView, message: LinkFollowed) -> None:
        targets = view.contents.sources.targets
        if targets is None:
            self.shell.say("The pages of this space are still loading: try again in a moment.", tone="care")
            return
        match targets.target(message.href):
            case links.ToPage(page=page_id, anchor=anchor):
                self.shell.go(ToPage(self.space.id, page_id, anchor or ""))
            case links.ToAnchor(anchor=anchor):
                if not self.view.place.go_to_anchor(anchor) and self._side:
                    self.shell.say(f"The page has no heading “{anchor}” now.", tone="care")
            case links.ToShared() as target if (version := self.rows.item) is not None:
                places = [version.at, self.space.ref if self._side == "now" else version.before]
                pages = [page_to_read(place, self.page_id) for place in places if place is not None]
                sources = view.contents.sources
                shown = link_following.show_shared(self.shell, target, pages, sources, self._link_followed)
                self.shell.background(shown)
            case target:
                link_following.leave(self.shell, target, href=message.href, words=message.words, at=self.space.ref)

    @on(AddressWanted)
    def _address_wanted(self, message: AddressWanted) -> None:
        targets = self.query_one("#page", PageView).contents.sources.targets
        target = targets.target(message.href) if targets is not None and message.kind != "page" else None
        if isinstance(target, links.ToUrl):
            clipboard.copy(self.shell, target.url, "Copied the address of the link.")
        else:
            self.shell.say(_NO_ADDRESS, tone="care")

    @on(Reader.ReadOn)
    def _end_reached(self) -> None:
        self.rows.move(1)

    @on(PageView.RowWanted)
    def _row_wanted(self, message: PageView.RowWanted) -> None:
        open_row(self.app, message)

    @on(Reader.Copied)
    def _copied(self, message: Reader.Copied) -> None:
        self.shell.say(f"Copied the {message.what}.")

    # What its keys do

    def compare_with(self, side: Side) -> None:
        """Show what is different on one side, or the page of the revision again."""
        had_focus = self.view.has_focus
        self._side = "" if self._side == side else side
        self._show_version()
        if had_focus:
            self.call_after_refresh(self.view.focus)

    def why_not_further(self) -> str | None:
        """Why older revisions cannot be looked through now, in a sentence."""
        if self._walking:
            return "Older revisions are being looked through."
        if self._walk is not None and self._walk.is_at_end:
            return "There is nothing further back: this is where the page began."
        return None

    def look_further(self) -> None:
        """Look through older revisions."""
        if self._walk is not None and not self._walking:
            self.run_worker(self._look(self._walk), exclusive=True, group="walk")

    def ask_again(self) -> None:
        super().ask_again()
        if not self._walking:
            self._walk = RevisionWalk(self.live, self.space, self.page_id)
            self.look_further()

    def go_up(self) -> bool:
        return self.climb(self.rows, when=self.view.has_focus)
