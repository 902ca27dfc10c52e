"""The version history of a page: the revisions that changed the page, which the user can read and compare."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from octavo.api import content
from octavo.api.content import Change, Changes, Page, PageTree, Revision
from octavo.api.errors import ApiError, NotFound
from octavo.api.operation import ContentRef, RevisionRef
from octavo.api.spaces import Space
from octavo.data.block_origins import load_current_revision, load_summary
from octavo.data.live import Live, Snapshot
from octavo.data.loaders import find_page, page_markdown, page_source_op, page_to_read_op
from octavo.data.writes.change_request_kinds import change_request_in
from octavo.documents import links
from octavo.tui.comments.page_comments import COMMENTING, THREAD_HERE
from octavo.tui.core.external_links import copy_text
from octavo.tui.core.item_labels import revision_label
from octavo.tui.core.list_view import ListView
from octavo.tui.core.routes import ToPage
from octavo.tui.reader import link_opening
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.page_view import PageView, show_page
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.viewport import PaneMoved
from octavo.tui.render.comparison import compare
from octavo.tui.render.deferred import LinkContext, LinkTargets
from octavo.tui.render.layout import CopyUrlRequested, LinkFollowed
from octavo.tui.review.request_preview import SELECTION_DELAY
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.delay import Delay
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Row, RowList
from octavo.tui.widgets.short_texts import join_texts, long_age, plural, short_age

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell


BATCH = 40
"""Number of revisions of a space that are checked in one step. The user can then check older revisions."""
_PAGE_ATTRIBUTES = {
    "document": "edited",
    "title": "renamed",
    "description": "description changed",
    "slug": "slug changed",
    "cover": "cover changed",
    "emoji": "icon changed",
    "icon": "icon changed",
    "layout": "layout changed",
    "hidden": "visibility changed",
}


@dataclass(frozen=True)
class PageVersion:
    """Row of the list: a revision that changed the page, or may have if the server did not list all its changes."""

    at: RevisionRef
    before: RevisionRef | None
    """Previous revision of the space. None if this is the first revision."""
    created_at: datetime | None
    name: str
    """Title of the change request whose merge created the revision. For other revisions, a label of their kind."""
    number: int = 0
    """Number of the change request that was merged. 0 if the revision is no merge."""
    author: str = ""
    changes_label: str = ""

    @property
    def revision(self) -> str:
        return self.at.revision_id


class PageRevisionFinder:
    """Finds the revisions that changed a page, from the current revision of the space back along the parents."""

    def __init__(self, live: Live, space: Space, page_id: str) -> None:
        self._live, self._space, self._page = live, space, page_id
        self._next_revision: RevisionRef | None = None
        self._is_started = False
        self._checked_ids: set[str] = set()
        """IDs of the revisions that were checked for changes of the page."""
        self.page_versions: list[PageVersion] = []
        """Revisions that changed the page, newest first."""
        self.checked_count = 0

    @property
    def is_at_end(self) -> bool:
        """True if there are no older revisions to check, such as when the last checked revision created the page."""
        return self._is_started and self._next_revision is None

    async def check_batch(self, size: int) -> AsyncIterator[None]:
        """Check up to `size` more revisions, newest first. Fill `page_versions`. Yield after each. Raises ApiError."""
        if not self._is_started:
            self._next_revision = self._ref(await load_current_revision(self._live, self._space.ref))
            self._is_started = True
        for _ in range(size):
            if self._next_revision is None:
                return
            at = self._next_revision
            try:
                revision, changes = await load_summary(self._live, at)
            except NotFound:  # The user has no access to older revisions.
                self._next_revision = None
                return
            self.checked_count += 1
            version = self._version(revision, changes)
            if version is not None and revision.id not in self._checked_ids:
                self.page_versions.append(version)
            self._checked_ids |= {at.revision_id, revision.id}
            has_created_page = any(change.type == "page_created" for change in self._changes_of_page(changes))
            parent = revision.parents[0] if revision.parents and not has_created_page else ""
            self._next_revision = self._ref(parent) if parent and parent not in self._checked_ids else None
            yield

    def _ref(self, revision_id: str) -> RevisionRef:
        return RevisionRef(space_id=self._space.id, revision_id=revision_id)

    def _changes_of_page(self, changes: Changes) -> list[Change]:
        return [change for change in changes.changes if change.page is not None and change.page.id == self._page]

    def _version(self, revision: Revision, all_changes: Changes) -> PageVersion | None:
        changes = self._changes_of_page(all_changes)
        if not changes and not all_changes.missing_count:
            return None
        is_new = revision.type == "edits" and any(change.type == "page_created" for change in changes)
        merged_request = change_request_in(revision.merged_from) or change_request_in(all_changes.merged_from)
        return PageVersion(
            at=self._ref(revision.id),
            before=self._ref(revision.parents[0]) if revision.parents else None,
            created_at=revision.created_at,
            name=merged_request.title if merged_request else revision_label(revision.type, is_first=is_new),
            number=merged_request.number if merged_request else 0,
            author=merged_request.author_name if merged_request else "",
            changes_label=_describe_changes(changes)
            if changes
            else f"{plural(all_changes.missing_count, 'more change')} not listed",
        )


def _describe_changes(changes: list[Change]) -> str:
    phrases: list[str] = []
    for change in changes:
        kind = change.type.rpartition("_")[2]
        attributes = change.attributes if isinstance(change.attributes, dict) else {}
        if kind == "edited":
            phrases += [_PAGE_ATTRIBUTES.get(name, f"{name} changed") for name in attributes] or ["edited"]
        else:
            phrases.append(f"page {kind}")
    return ", ".join(dict.fromkeys(phrases))


ComparedWith = Literal["", "now", "before"]
"""Version with which the selected revision is compared: `now` is the current page, `before` the previous revision.
Empty if nothing is compared."""
_NO_LINK = "You cannot open or copy a link to a page in an old revision. Press esc to go back to the current page."

_NO_COMMENTS = "You cannot comment on an old revision. Press esc to go back to the current page and comment there."


def _why_no_revision(app: Shell, view: PageHistoryScreen) -> str | None:
    return "Select a revision first." if view.rows.item is None else None


HISTORY: Commands[PageHistoryScreen] = Commands(
    "history",
    (
        Command("now", "B", "Compare", "Compare with the current page, or stop comparing",
                run=lambda _, view: view.toggle_comparison("now"), why_not=_why_no_revision,
                applies=lambda _, view: not view.shows_newest),
        Command("before", "V", "Changes", "Show or hide what this revision changed",
                run=lambda _, view: view.toggle_comparison("before"), why_not=_why_no_revision),
        Command("more", "m", "Load older", "Load older revisions",
                run=lambda _, view: view.load_older(BATCH), why_not=lambda _, view: view.why_no_older(),
                applies=lambda _, view: view.has_older),
        Command("older", "J", "Older", "Go to the next older revision", run=lambda _, view: view.rows.move(1), shown=False),
        Command("newer", "K", "Newer", "Go to the next newer revision", run=lambda _, view: view.rows.move(-1), shown=False),
        Command("up", "escape", "Back", "Go back", run=lambda _, view: view.go_up_or_back(), shown=False),
    ),
)  # fmt: skip


class PageHistoryScreen(ListView[PageVersion]):
    """List of the revisions that changed a page, with the page at the selected revision beside the list."""

    MODE = "content"
    HELP_NAME = "page history"
    HELP = (
        "This view shows the revisions that changed this page, newest first. Press enter to read the page as it was in the "
        "selected revision, B to compare the revision with the current page, V to show what the revision changed, or m to load "
        "older revisions. Press esc to go back to the page."
    )
    CSS_PATH = "page_history.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        *(group.for_target(lambda view: None, no_target=_NO_COMMENTS) for group in (COMMENTING, THREAD_HERE)),
        HISTORY,
    )
    KEYBAR: ClassVar[tuple[str, ...]] = ("history.now", "history.before", "history.more")

    _finder: PageRevisionFinder

    def __init__(self, space: Space, page_id: str, title: str) -> None:
        super().__init__()
        self.space, self.page_id, self.current_title = space, page_id, title
        self._is_loading = False
        self._tree: PageTree | None = None
        self._compared_with: ComparedWith = ""
        self._selection_delay = Delay(self)
        self._newest_id = ""
        """ID of the newest revision that changed the page. Empty until such a revision is found."""

    def body(self) -> Iterable[Widget]:
        rows: RowList[PageVersion] = RowList(
            self._draw,
            key=lambda version: version.revision,
            search=lambda version: f"{version.name} {version.author} {version.changes_label}",
            two_lines=True,
            empty="No revision changed this page.",
            hint="Press m to load older revisions.",
            id="versions",
        )
        page = PageView(ascii=self.shell.settings.ascii, id="page")
        diff = DiffView(ascii=self.shell.settings.ascii, id="diff")
        yield from self.list_with_preview(rows, Vertical(Static("", id="banner"), page, diff, id="version"))

    @property
    def shows_newest(self) -> bool:
        """True if the page of the newest revision is shown, and not a comparison."""
        return self.rows.key == self._newest_id and not self._compared_with

    @property
    def view(self) -> PageView | DiffView:
        """The visible pane: the page, or the diff while revisions are compared."""
        return self.query_one("#diff", DiffView) if self._compared_with else self.query_one("#page", PageView)

    def on_mount(self) -> None:
        for pane in (self.query_one("#page", PageView), self.query_one("#diff", DiffView)):
            pane.block_commands.why_no_comment_here = lambda: _NO_COMMENTS
        self._start(BATCH)
        self.follow("tree", content.ListPages(at=self.space.ref), self._show_tree)
        self.shell.workspace.spaces_changed.subscribe(self, lambda _: self._show_status())
        self.rows.focus()

    def _start(self, count: int) -> None:
        self._finder = PageRevisionFinder(self.live, self.space, self.page_id)
        self.load_older(count)

    def _show_tree(self, snapshot: Snapshot[PageTree]) -> None:
        if (tree := snapshot.value) is not None and tree is not self._tree:
            current_page = tree.find(self.page_id)
            self.current_title = (current_page.title if current_page is not None else "") or self.current_title
            view, self._tree = self.query_one("#page", PageView), tree
            context = LinkContext(tree, self.space.ref, folder_root=self.shell.session.folder_root())
            view.contents.deferred.targets = LinkTargets(context, self.page_id)
            view.reset_lines()
            self._show_status()

    async def _load_batch(self, finder: PageRevisionFinder, size: int) -> None:
        self._is_loading = True
        self.rows.state.show_loading(f"the version history of {self.current_title}")
        self._show_status()
        try:
            async for _ in finder.check_batch(size):
                if len(finder.page_versions) >= len(self.rows.items):  # A refresh must not remove the selected row.
                    self._show_versions(finder)
            self._show_versions(finder)
        except ApiError as error:
            self.rows.state.fail("Could not load the version history", str(error))
        finally:
            self._is_loading = False
        self._show_status()
        self.refresh_bindings()

    def _show_versions(self, finder: PageRevisionFinder) -> None:
        versions = tuple(finder.page_versions)
        self._newest_id = versions[0].revision if versions else ""
        self.rows.show(versions)
        self._show_status()

    @on(PaneMoved)
    def _show_status(self) -> None:
        finder = self._finder
        checked_label = ""
        if finder.checked_count:
            checked_label = (
                f"changed in {len(finder.page_versions)} of {plural(finder.checked_count, 'checked revision')}"
            )
        more_note = "" if self._is_loading or finder.is_at_end else "press m to load older revisions"
        checked_note = "" if finder.is_at_end else f" in the last {plural(finder.checked_count, 'revision')}"
        self.rows.state.empty = f"No changes to this page{checked_note}."
        self.rows.state.hint = "" if finder.is_at_end else "Press m to load older revisions."
        notes = (
            self.view.status_text if self.view.has_focus else "",
            checked_label,
            "loading…" if self._is_loading else more_note,
        )
        space_title = self.shell.workspace.current_title(self.space)
        self.show_location(
            f"{space_title} › {self.current_title} › Version history", " · ".join(each for each in notes if each)
        )

    def _draw(self, version: PageVersion) -> Row:
        number = Content.styled(f"#{version.number}  ", "$octavo-muted") if version.number else Content("")
        return Row(
            text=number + Content.styled(version.name, "bold"),
            right=Content.styled(short_age(version.created_at), "$octavo-muted"),
            second_line=join_texts([version.author, version.changes_label]),
            sign=Content.styled("●", "$success")
            if version.revision == self._newest_id
            else Content.styled("○", "$octavo-muted"),
        )

    @on(LineList.Highlighted, "#versions")
    def _on_version_selected(self) -> None:
        self._draw_banner()
        self._selection_delay.start(SELECTION_DELAY, self._show_version)
        self.refresh_bindings()

    def _show_version(self) -> None:
        version = self.rows.item
        if version is None:
            return
        self._draw_banner()
        self.set_class(bool(self._compared_with), "-comparing")
        self.view.state.show_loading(self.current_title)
        work = self._compare(version, self._compared_with) if self._compared_with else self._read(version)
        self.run_worker(work, exclusive=True, group="version")

    async def _read(self, version: PageVersion) -> None:
        view, op = self.query_one("#page", PageView), page_to_read_op(version.at, self.page_id)
        if self.live.peek(op).value is None:
            view.clear()  # The page of another revision must not stay below the banner of this revision.
            view.state.show_loading(self.current_title)
        try:
            page = await find_page(self.live, op)
        except ApiError as error:
            view.clear()
            view.state.fail("Could not load this revision", str(error))
            return
        if page is None:
            view.clear()
            view.state.fail("This revision does not contain the page", "The page was deleted, or did not exist yet.")
            return
        show_page(view, page, f"{version.revision} {self.page_id}")

    async def _compare(self, version: PageVersion, compared_with: ComparedWith) -> None:
        view = self.query_one("#diff", DiffView)
        refs: tuple[ContentRef | None, ContentRef] = (
            (version.at, self.space.ref) if compared_with == "now" else (version.before, version.at)
        )
        try:
            pages = await asyncio.gather(*(self._source_page(at) for at in refs))
        except ApiError as error:
            view.clear()
            view.state.fail("Could not load this revision", str(error))
            return
        compared = await asyncio.to_thread(compare, *map(page_markdown, pages))
        title = next((page.title for page in reversed(pages) if page is not None), self.current_title)
        view.show(compared, title=title, key=f"{compared_with} {version.revision}")
        self._show_status()

    async def _source_page(self, at: ContentRef | None) -> Page | None:
        return await find_page(self.live, page_source_op(at, self.page_id)) if at is not None else None

    def _draw_banner(self) -> None:
        version, banner = self.rows.item, self.query_one("#banner", Static)
        banner.display = version is not None
        if version is None:
            return
        details = join_texts(
            [long_age(version.created_at), f"#{version.number}" if version.number else "", version.author]
        )
        match self._compared_with:
            case "now":
                banner_text = Content.assemble(("CHANGES SINCE THIS REVISION ", "bold $warning"), details)
            case "before":
                banner_text = Content.assemble(("CHANGES IN THIS REVISION ", "bold $primary"), details)
            case _ if version.revision == self._newest_id:
                banner_text = Content.assemble(("CURRENT REVISION ", "bold $success"), details)
            case _:
                banner_text = Content.assemble(("OLD REVISION ", "bold $warning"), details)
        banner.update(banner_text)

    @on(LineList.Opened, "#versions")
    def _on_version_opened(self) -> None:
        self.view.focus()

    @on(LinkFollowed)
    def _on_link_followed(self, message: LinkFollowed) -> None:
        view = self.query_one("#page", PageView)
        if message.kind == "page":
            self.shell.say(_NO_LINK, tone="care")
        elif not link_opening.open_link_without_page(self.shell, view, message, self._on_link_followed):
            self._follow(view, message)

    def _follow(self, view: PageView, message: LinkFollowed) -> None:
        targets = view.contents.deferred.targets
        if targets is None:
            self.shell.say("The pages of this space are still loading. Try again in a moment.", tone="care")
            return
        match targets.resolve(message.href):
            case links.PageLink(page_id=page_id, anchor=anchor):
                self.shell.go(ToPage(self.space.id, page_id, anchor or ""))
            case links.AnchorLink(anchor=anchor):
                if not self.view.navigation.go_to_anchor(anchor) and self._compared_with:
                    self.shell.say(f"This diff does not contain the heading “{anchor}”.", tone="care")
            case links.ReusableContentLink() as target if (version := self.rows.item) is not None:
                revisions = [version.at, self.space.ref if self._compared_with == "now" else version.before]
                pages = [page_to_read_op(ref, self.page_id) for ref in revisions if ref is not None]
                sources = view.contents.deferred
                shown = link_opening.show_reusable_content(self.shell, target, pages, sources, self._on_link_followed)
                self.shell.background(shown)
            case target:
                link_opening.open_target(self.shell, target, href=message.href, text=message.text, at=self.space.ref)

    @on(CopyUrlRequested)
    def _on_copy_url_requested(self, message: CopyUrlRequested) -> None:
        targets = self.query_one("#page", PageView).contents.deferred.targets
        target = targets.resolve(message.href) if targets is not None and message.kind != "page" else None
        if isinstance(target, links.UrlLink):
            copy_text(self.shell, target.url, "Copied the link.")
        else:
            self.shell.say(_NO_LINK, tone="care")

    @on(Reader.NextPageRequested)
    def _on_next_page_requested(self) -> None:
        self.rows.move(1)

    def toggle_comparison(self, compared_with: ComparedWith) -> None:
        """Compare the selected revision with `compared_with`. If this comparison is already shown, end it."""
        had_focus = self.view.has_focus
        self._compared_with = "" if self._compared_with == compared_with else compared_with
        self._show_version()
        if had_focus:
            self.call_after_refresh(self.view.focus)

    @property
    def has_older(self) -> bool:
        """True if there may be older revisions to load."""
        return not self._finder.is_at_end

    def why_no_older(self) -> str | None:
        """Return the reason why older revisions cannot be loaded now. None if they can be loaded."""
        if self._is_loading:
            return "Older revisions are already loading."
        return None if self.has_older else "There are no older revisions of this page."

    def load_older(self, count: int) -> None:
        """Check `count` older revisions for changes of the page. While revisions are loading, do nothing."""
        if not self._is_loading:
            self.run_worker(self._load_batch(self._finder, count), exclusive=True, group="walk")

    def refresh_data(self) -> None:
        super().refresh_data()
        if not self._is_loading:
            self._start(max(BATCH, self._finder.checked_count))
