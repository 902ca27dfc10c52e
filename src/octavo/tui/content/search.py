"""Search everywhere: pages of all spaces, threads, change requests and spaces, while you type.

What was read on this machine is found at once, and alone where the server cannot be asked (`data/search_index.py`). What the server
finds of pages takes its place, in the server's order, when it comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static

from octavo.api import search, urls
from octavo.api.change_requests import ChangeRequest, Status
from octavo.api.errors import ApiError, Unreachable
from octavo.api.folding import Range, fold
from octavo.api.operation import ListPage
from octavo.api.organizations import List as ListOrganizations
from octavo.api.organizations import Organization
from octavo.api.places import OrganizationRef, SpaceRef
from octavo.api.searchable import mentioned_urls, with_titles
from octavo.data.live import Snapshot
from octavo.data.queries import UNDECIDED, change_requests_of
from octavo.data.search_index import IndexedCounts, PageName
from octavo.data.search_text import SearchTerms
from octavo.documents import anchors, links
from octavo.tui.shell.routes import ToChangeRequest, ToCollection, ToPage, ToThread
from octavo.tui.shell.view import Subscriptions
from octavo.tui.terminal.textual_internals import is_being_removed
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.dialog import STYLES, Dialog, DialogFrame
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Heading, Row, RowList
from octavo.tui.widgets.text_inputs import LineInput
from octavo.tui.widgets.text_widgets import ChangingText
from octavo.tui.widgets.wording import as_clause, long_age, plural, short_age

if TYPE_CHECKING:
    from octavo.data import search_index
    from octavo.tui.shell.shell import Shell

ASK_AFTER = 0.15
"""Seconds after the last key before the server is asked."""
LONGEST = 512
MOST_THREADS, MOST_CHANGES, MOST_SPACES = 8, 8, 5
"""As many are shown of what is looked for here."""
MOST_HERE = 60
"""Hits of all kinds that are looked for in what was read here."""
LONGEST_PATH = 32
"""Characters shown of the path of a page whose title other pages have, too."""
SHOWN = 160
"""Characters shown of the words around a hit."""
_KINDS = {
    "page": "PAGES",
    "thread": "THREADS",
    "change request": "CHANGE REQUESTS",
    "space": "SPACES",
    "collection": "COLLECTIONS",
}
_IN = {"reply": "in a reply", "quote": "in the quoted text"}
"""Names of the parts of a thread that matched, other than its first comment."""


@dataclass(frozen=True)
class Hit:
    """Something that was found."""

    kind: Literal["page", "thread", "change request", "space", "collection"]
    space: str
    id: str
    title: str
    where: str
    words: str = ""
    anchor: str = ""
    right: str = ""
    address: str = ""
    marks: tuple[Range, ...] = ()
    """Ranges of the searched words in `words`."""
    page: str = ""
    """The title of a page, without that of the section."""
    path: str = ""
    """Where a page lies in its space."""
    here: search_index.Hit | None = None
    """The result of the index of this machine. None for a result of the server."""

    @property
    def key(self) -> str:
        part = f"{self.here.place} {self.here.snippet}" if self.here is not None and self.kind == "thread" else ""
        return f"{self.kind} {self.space} {self.id} {self.anchor}{part}"


class PageTitles:
    """How the pages of a space are called that others mention."""

    def __init__(self, space: str, pages: Iterable[PageName]) -> None:
        self._pages = {page.id: page for page in pages}
        paths = ((page.id, page.path.rstrip("/"), page.file or None) for page in self._pages.values())
        self._places = links.LinkTargets(links.ids_by_path(paths), frozenset(self._pages), None, space)

    def title(self, page: str) -> str | None:
        """Return the title of the page with an id or at a path. None if there is no such page."""
        found = self._pages.get(page) or self._pages.get(self._places.page(page.strip("/")) or "")
        return found.title if found is not None else None

    def target(self, address: str, page: str) -> links.Target:
        """Return where `address` leads from the page with an id."""
        here = self._pages.get(page)
        return links.resolve(address, (here.file or here.path) if here is not None else "", self._places)


def _why_no_address(app: Shell, view: SearchScreen) -> str | None:
    hit = view.rows.item
    if hit is None:
        return "Select a result first."
    if not hit.address or app.session.is_embedded:
        from octavo.tui.shell.external_links import missing_link_reason

        return missing_link_reason(app, hit.kind)
    return None


def _open_outside(app: Shell, view: SearchScreen) -> None:
    from octavo.tui.shell.external_links import confirm_link

    if (hit := view.rows.item) is not None:
        confirm_link(app, hit.address)


SEARCH: Commands[SearchScreen] = Commands(
    "search",
    (
        Command("next", "down,ctrl+n", "Next", "Go to the next result", run=lambda _, view: view.move(1), shown=False, priority=True),
        Command("previous", "up", "Previous", "Go to the previous result", run=lambda _, view: view.move(-1), shown=False, priority=True),
        Command("open", "enter", "Open", "Open the result", run=lambda _, view: view.open(), priority=True),
        Command("scope", "tab", "Scope", "Switch between one space and all spaces", run=lambda _, view: view.change_scope(),
                is_available=lambda _, view: view.last_space is not None, priority=True),
        Command("open_browser", "ctrl+o", "Open in browser", "Open the result in the browser",
                run=_open_outside, why_not=_why_no_address, shown=False, priority=True),
        Command("close", "escape", "Close", "Close the search", run=lambda _, view: view.dismiss(None), priority=True),
    ),
    find=lambda view: view,
)  # fmt: skip


class SearchScreen(Dialog[None]):
    """Search dialog: an input line, and the matching pages, threads, change requests and spaces below it."""

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [
        STYLES / "dialog.tcss",
        PurePath(__file__).with_name("search.tcss"),
    ]
    CONTEXT: ClassVar[str] = "search"
    IN_HISTORY: ClassVar[bool] = True
    HELP: ClassVar[str] = (
        "Search for pages, threads, change requests, and spaces, or paste a link. Press enter to open a result, or tab to switch "
        "between the space that you opened last and all spaces. Results from this computer appear first and are also available "
        "offline. Press esc to close the search."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (SEARCH,)

    def __init__(self, words: str = "") -> None:
        """`words`: what is searched until something else is typed."""
        super().__init__()
        self._words = words
        self._organization: Organization | None = None
        """None: it is not known yet. What is typed meanwhile is looked for in what was read here, and asked for then."""
        self._organizations: Snapshot[ListPage[Organization]] = Snapshot()
        self._subscriptions = Subscriptions(self)
        self._pages: Snapshot[ListPage[search.SpaceHit]] = Snapshot()
        self._of_space: Snapshot[ListPage[search.PageHit]] = Snapshot()
        self._at_address: Snapshot[urls.Content] = Snapshot()
        self._changes: dict[str, Snapshot[ListPage[ChangeRequest]]] = {}
        self._only_space: SpaceRef | None = None
        self._here: tuple[search_index.Hit, ...] = ()
        """Results from this machine for the last search."""
        self._known = IndexedCounts()
        """How much that is."""
        self._titles: dict[str, PageTitles] = {}
        """By space: the titles of its pages, once a result has a mention."""
        self._looking = self._look_again = False
        self._asked = ""
        """The words that the server was asked for last."""
        self._timer: Timer | None = None
        self._chose = False
        self._cut: dict[str, str] = {}
        """By kind: how many of those found are shown, where that is not all."""

    @property
    def shell(self) -> Shell:
        return cast("Shell", self.app)

    def body(self) -> ComposeResult:
        rows: RowList[Hit] = RowList(
            self._draw,
            key=lambda hit: hit.key,
            groups=lambda hit: [Heading(_KINDS[hit.kind], self._cut.get(hit.kind, ""))],
            two_lines=True,
            empty="Type to search.",
            id="hits",
        )
        rows.can_focus = False
        with DialogFrame() as frame:
            frame.set_border_texts("Search everywhere", self._foot)
            yield LineInput(self._words, placeholder="Search pages, comments, change requests, and spaces", id="query")
            yield ChangingText("", id="scope")
            yield ChangingText("", id="note")
            yield rows

    @property
    def rows(self) -> RowList[Hit]:
        return self.query_one("#hits", RowList)

    @property
    def last_space(self) -> SpaceRef | None:
        """Return the space that a search can be limited to: the last one read in. None if there is none."""
        last = self.shell.session.state.get_fact("space")
        return SpaceRef(space_id=str(last)) if last else None

    @property
    def _foot(self) -> str:
        last = self.last_space
        other = self._title_of(last if self._only_space is None else None)
        return " · ".join(["enter open", *([] if last is None else [f"tab {other}"]), "esc close"])

    def _title_of(self, space: SpaceRef | None) -> str:
        known = self.shell.workspace.space(space.space_id) if space is not None else None
        return "all spaces" if space is None else known.title if known else "the space you opened last"

    @property
    def words(self) -> str:
        """Return the typed search."""
        return self.query_one("#query", LineInput).value.strip()[:LONGEST]

    def on_mount(self) -> None:
        self.query_one("#query", LineInput).focus()
        self._say_scope()
        if self._words:
            self._look_here()
        self._subscriptions.follow("organizations", ListOrganizations(), self._organizations_read)
        self.shell.workspace.with_organization(self._search_in)

    def _organizations_read(self, snapshot: Snapshot[ListPage[Organization]]) -> None:
        self._organizations = snapshot
        if self._organization is None:
            self._show()

    def _search_in(self, organization: Organization) -> None:
        if is_being_removed(self):
            return
        self._organization = organization
        statuses: tuple[Status, ...] = (*UNDECIDED, "merged")
        for status in statuses:
            op = change_requests_of(organization.id, status)

            def show(snapshot: Snapshot[ListPage[ChangeRequest]], status: str = status) -> None:
                self._changes[status] = snapshot
                if self.words:
                    self._show()

            self._subscriptions.follow(status, op, show)
        if self.words:
            self._ask()

    def on_unmount(self) -> None:
        self._subscriptions.stop()

    @on(Input.Changed)
    def _typed(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(ASK_AFTER, self._ask)
        self._chose = False
        self._look_here()
        self._show()

    def _look_here(self) -> None:
        """Look in what was read here, and for what was typed meanwhile once that is done."""
        if self._looking:
            self._look_again = True
        elif self.words:
            self._looking = True
            self.shell.background(self._find_here())

    async def _find_here(self) -> None:
        known = self.shell.session.search_index
        try:
            while not is_being_removed(self) and self.words:
                self._look_again = False
                words, spaces = self.words, self._spaces()
                hits = await known.search(words, limit=MOST_HERE, spaces=spaces, length=SHOWN)
                hits = tuple([await self._titled(hit) for hit in hits])
                extent = await known.counts(spaces)
                if is_being_removed(self):
                    return
                if not self._look_again:
                    self._here, self._known = hits, extent
                    self._show()
                    return
        finally:
            self._looking = False

    async def _titled(self, hit: search_index.Hit) -> search_index.Hit:
        """Return a result whose words have the titles of the pages that they mention."""
        titles: dict[str, str | None] = {}
        for address in mentioned_urls(hit.snippet):
            match (await self._titles_of(hit.space)).target(address, hit.id):
                case links.ToPage(page=page):
                    titles[address] = (await self._titles_of(hit.space)).title(page)
                case links.ToSpace(space=space, page=page) if page:
                    titles[address] = (await self._titles_of(space)).title(page)
        snippet, marks = with_titles(hit.snippet, titles.get, hit.marks)
        return replace(hit, snippet=snippet, marks=marks)

    async def _titles_of(self, space: str) -> PageTitles:
        if space not in self._titles:
            pages = await self.shell.session.search_index.pages(space)
            self._titles[space] = await asyncio.to_thread(PageTitles, space, pages)  # spaces may have 50 000 pages
        return self._titles[space]

    def _spaces(self) -> tuple[str, ...] | None:
        """The spaces that are searched. None: nobody knows which there are."""
        if self._only_space is not None:
            return (self._only_space.space_id,)
        known = self.shell.workspace.spaces.value
        return tuple(space.id for space in known.items) if known is not None else None

    def _ask(self) -> None:
        words = self._asked = self.words
        address = urls.GetContent(url=words) if words.startswith(("https://", "http://")) else None
        self._at_address = Snapshot()
        self._subscriptions.follow("address", address, self._found_at_address)
        if not words or address is not None:
            self._subscriptions.follow("pages", None)
            self._subscriptions.follow("pages of a space", None)
            self._pages, self._of_space = Snapshot(), Snapshot()
        elif self._only_space is not None:
            self._subscriptions.follow("pages", None)
            self._pages = Snapshot()
            op = search.InSpace(at=self._only_space, query=words, limit=30)
            self._subscriptions.follow("pages of a space", op, self._found_in_space)
        elif self._organization is not None:
            self._subscriptions.follow("pages of a space", None)
            self._of_space = Snapshot()
            at = OrganizationRef(organization_id=self._organization.id)
            self._subscriptions.follow("pages", search.InOrganization(at=at, query=words, limit=30), self._found)
        self._show()

    def _found(self, snapshot: Snapshot[ListPage[search.SpaceHit]]) -> None:
        self._pages = snapshot
        self._show()

    def _found_in_space(self, snapshot: Snapshot[ListPage[search.PageHit]]) -> None:
        self._of_space = snapshot
        self._show()

    def _found_at_address(self, snapshot: Snapshot[urls.Content]) -> None:
        self._at_address = snapshot
        self._show()

    def _show(self) -> None:
        if not self.words:
            self.rows.state.empty = "Type to search."
            self.rows.show(())
            self._say_note("")
            self._say_scope()
            return
        sought = SearchTerms(self.words)
        pages, threads, changes, spaces = (
            self._page_hits(sought), self._thread_hits(), self._change_hits(), self._space_hits(),
        )  # fmt: skip
        hits = [*self._address_hits(), *pages, *threads[:MOST_THREADS], *changes[:MOST_CHANGES], *spaces[:MOST_SPACES]]
        self._cut = {
            "thread": f"{MOST_THREADS} of {len(threads)}" if len(threads) > MOST_THREADS else "",
            "change request": f"{MOST_CHANGES} of {len(changes)}" if len(changes) > MOST_CHANGES else "",
            "space": f"{MOST_SPACES} of {len(spaces)}" if len(spaces) > MOST_SPACES else "",
        }
        # Change requests and spaces are looked for here, among those that are known.
        of: list[Snapshot[Any]] = [
            self._pages,
            self._of_space,
            self._at_address,
            self.shell.workspace.spaces,
            *self._changes.values(),
        ]
        if self._organization is None:
            of.append(self._organizations)
        error = next((each.error for each in of if each.error is not None), None)
        unsearched = self._pages.error or self._of_space.error
        nowhere = self._organization is None and not self._organizations.loading
        if nowhere:
            unsearched = unsearched or self._organizations.error
        loading = self._asked != self.words or any(each.loading and each.value is None for each in of)
        unread = any(getattr(each.value, "next", None) is not None for each in of)
        among = " in the content loaded so far. The server has more content" if unread else ""
        among = " on this computer" if unsearched is not None or nowhere else among
        self.rows.state.empty = (
            "Searching…" if loading or self._looking else f"No results for “{self.words[:60]}”{among}."
        )
        other = "use fewer words" if " " in self.words else "try another word"
        self.rows.state.hint = "" if loading or self._looking else f"Check the spelling, or {other}."
        self.rows.show(hits)
        if not loading:
            self.rows.state.show_unreadable(sum(getattr(each.value, "unreadable", 0) for each in of))
        if not self._chose:
            # What the server finds comes later than what is known here: the cursor waits at the top for it.
            self.rows.go_to_first()
        if unsearched is None and error is not None:
            self.rows.state.fail("Could not search all content", str(error))
        self._say_note(self._said_without_server(unsearched) if unsearched is not None and not loading else "")
        self._say_scope(f"{plural(len(hits), 'result')}{' so far' if loading else ''}" if hits else "")

    def _said_without_server(self, error: ApiError) -> str:
        """Return why the server was not searched, and what was searched instead."""
        notice = self.shell.session.search_index.notice
        known = self._known
        counts = ((known.pages, "page", ""), (known.threads, "thread", ""), (known.replies, "reply", "replies"))
        said = ", ".join(plural(count, one, many) for count, one, many in counts if count)
        here = (
            notice.removesuffix(".")
            or (f"searched only local copies ({said}, last updated {long_age(known.latest)})" if said else "")
            or "there is nothing to search on this computer yet"
        )
        if isinstance(error, Unreachable):
            return f"Offline: {as_clause(here)}."
        return f"{here[:1].upper()}{here[1:]}. {error}"

    def _say_note(self, said: str) -> None:
        note = self.query_one("#note", ChangingText)
        note.update(Content.styled(said, "$octavo-note"))
        note.display = bool(said)

    def _address_hits(self) -> list[Hit]:
        """Return the results for a pasted link."""
        named = self._at_address.value
        if named is None:
            return []
        if named.collection is not None:
            return [Hit("collection", "", named.collection.id, named.collection.title, "collection")]
        if named.space is None:
            return []
        space, change, page = named.space, named.change_request, named.page
        if change is not None:
            return [Hit("change request", space.id, change.id, f"#{change.number}  {change.title}", space.title)]
        if page is not None:
            return [Hit("page", space.id, page.id, page.title, space.title)]
        return [Hit("space", space.id, space.id, space.title, "space")]

    def _page_hits(self, sought: SearchTerms) -> list[Hit]:
        """Return the pages found by the server in its order, then other pages found on this machine."""
        hits: list[Hit] = []
        for space in self._pages.value.items if self._pages.value else ():
            for page in space.pages:
                hits += _hits_of(page, space.id, space.title, sought)
        if self._only_space is not None:
            known = self.shell.workspace.space(self._only_space.space_id)
            for page in self._of_space.value.items if self._of_space.value else ():
                hits += _hits_of(page, self._only_space.space_id, known.title if known else "", sought)
        named = {(hit.space, hit.id) for hit in hits}
        hits += [
            Hit(
                "page",
                each.space,
                each.id,
                f"{each.title} › {each.path[-1]}" if each.path else each.title,
                self._called(each.space),
                each.snippet,
                _anchor(each),
                marks=each.marks,
                page=each.title,
                path=each.page_path.strip("/"),
                here=each,
            )
            for each in self._here
            if each.kind == "page" and (each.space, each.id) not in named
        ]
        alike: dict[tuple[str, str], set[str]] = {}
        for hit in hits:
            alike.setdefault((hit.page, hit.where), set()).add(hit.id)
        return [
            replace(hit, where=" · ".join(filter(None, (_end(hit.path), hit.where))))
            if len(alike[hit.page, hit.where]) > 1
            else hit
            for hit in hits
        ]

    def _thread_hits(self) -> list[Hit]:
        hits = []
        for each in self._here:
            if each.kind == "thread":
                about = each.title or ("a change request" if each.change_request else "the whole space")
                where = " · ".join(
                    filter(None, (_IN.get(each.part, ""), "resolved" if each.about == "resolved" else ""))
                )
                title = f"{each.author} on {about}" if each.part != "reply" else f"{each.author} in a thread on {about}"
                hits.append(
                    Hit("thread", each.space, each.id, title, self._called(each.space), each.snippet, marks=each.marks,
                        right=" · ".join(filter(None, (where, short_age(each.at)))), here=each)
                )  # fmt: skip
        return hits

    def _called(self, space: str) -> str:
        known = self.shell.workspace.space(space)
        return known.title if known is not None else ""

    def _change_hits(self) -> list[Hit]:
        """Return the change requests whose titles match, then those whose descriptions match."""
        words = fold(self.words).split()
        found = [each for known in self._changes.values() if known.value for each in known.value.items]
        hits = [
            Hit(
                "change request",
                each.space or "",
                each.id,
                f"#{each.number}  {each.title}",
                f"{each.status} · {each.created_by.name if each.created_by else ''}",
                right=short_age(each.updated_at),
                address=each.urls.app or "",
            )
            for each in found
            if each.space and all(word in fold(f"#{each.number} {each.title}") for word in words)
        ]
        named = {hit.id for hit in hits}
        return hits + [
            Hit("change request", each.space, each.id, f"#{each.number}  {each.title}", "", each.snippet, marks=each.marks,
                right=f"{each.about} · {short_age(each.at)}", here=each)
            for each in self._here
            if each.kind == "change request" and each.id not in named
        ]  # fmt: skip

    def _space_hits(self) -> list[Hit]:
        words = fold(self.words).split()
        spaces = self.shell.workspace.spaces.value.items if self.shell.workspace.spaces.value else ()
        return [
            Hit("space", each.id, each.id, each.title, "space", address=each.urls.app or "")
            for each in spaces
            if all(word in fold(each.title) for word in words)
        ]

    def _draw(self, hit: Hit) -> Row:
        right = hit.right or (hit.where if hit.kind == "page" else "")
        if hit.here is not None and hit.kind == "page" and (self._pages.error or self._of_space.error):
            right += f" · {short_age(hit.here.known_at)}" if hit.here.known_at else " · title only"
        words, marks = hit.words, hit.marks
        if not words and hit.kind != "page":
            words, marks = hit.where, ()
        return Row(
            text=_shown(hit.title, SearchTerms(self.words).ranges(hit.title)).stylize_before("bold"),
            right=Content.styled(right, "$octavo-muted"),
            second_line=_shown(words, marks),
        )

    def _say_scope(self, found: str = "") -> None:
        where = self._title_of(self._only_space)
        self.query_one(DialogFrame).set_border_texts("Search everywhere", self._foot)
        said = f"{found} in {where}" if found else where
        self.query_one("#scope", Static).update(Content.styled(said, "$octavo-muted"))

    def change_scope(self) -> None:
        """Search the space one is in only, or all of them again."""
        self._only_space = self.last_space if self._only_space is None else None
        self._here = ()
        self._look_here()
        self._ask()

    def move(self, step: int) -> None:
        """Go so many results down, or up."""
        self._chose = True
        self.rows.move(step)

    def open(self) -> None:
        """Go to what was found."""
        hit = self.rows.item
        if hit is None:
            return
        if hit.kind == "thread" and hit.here is not None:
            self._open_thread(hit.here)
        elif hit.kind == "change request":
            from octavo.api.places import ChangeRequestRef

            self.shell.go(ToChangeRequest(ChangeRequestRef(space_id=hit.space, change_request_id=hit.id)))
        elif hit.kind == "collection":
            self.shell.go(ToCollection(hit.id))
        else:
            self.shell.go(ToPage(hit.space, hit.id if hit.kind == "page" else None, part=hit.anchor))

    def _open_thread(self, hit: search_index.Hit) -> None:
        """Go to a thread where it is: on its page, or where all are. This closes before, for one does not go from it; what
        came with a click is handled by this screen, which cannot wait for its own end."""
        from octavo.api import comments

        shell = self.shell
        op = comments.List(at=hit.place, status="all", format="markdown", limit=200)
        known = shell.session.live.peek(op).value
        thread = next((each for each in known.items if each.id == hit.id), None) if known is not None else None
        self.dismiss(None)
        shell.go(ToThread(hit.place, thread, hit.page or None, hit.node, "" if hit.page else "comments"))

    @on(LineList.Opened)
    def _clicked(self) -> None:
        self.open()


def _hits_of(page: search.PageHit, space: str, title: str, sought: SearchTerms) -> list[Hit]:
    """Return up to three sections of a page as results."""
    made = partial(Hit, "page", space, page.id, address=page.urls.app or "", page=page.title, path=page.path)
    sections = page.sections[:3]
    if not sections:
        words, marks = sought.excerpt(page.description or "", SHOWN)
        return [made(page.title, title, words, marks=marks)]
    hits = []
    for each in sections:
        words, marks = sought.excerpt(each.body, SHOWN)
        named = page.title if not each.title or each.title == page.title else f"{page.title} › {each.title}"
        hits.append(made(named, title, words, each.path.partition("#")[2], marks=marks))
    return hits


def _end(path: str) -> str:
    """Return the end of a path, which says more than the beginning."""
    return path if len(path) <= LONGEST_PATH else f"…{path[1 - LONGEST_PATH :]}"


def _anchor(hit: search_index.Hit) -> str:
    """What the heading is linked by under which something was found."""
    if not hit.path or hit.anchor:
        return hit.anchor
    return anchors.slug(hit.path[-1]) + (f"-{hit.nth}" if hit.nth else "")


def _shown(text: str, marks: tuple[Range, ...]) -> Content:
    """`text` with the words that were looked for."""
    content = Content(text)
    for start, end in marks:
        content = content.stylize("$primary", start, end)
    return content
