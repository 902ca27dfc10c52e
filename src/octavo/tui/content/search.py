"""Search everywhere: pages of all spaces, change requests and spaces, as one types."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static

from octavo.api import search
from octavo.api.change_requests import ChangeRequest, ListOfOrganization
from octavo.api.operation import ListPage
from octavo.api.organizations import Organization
from octavo.api.places import OrganizationRef, SpaceRef
from octavo.data.live import Snapshot
from octavo.tui.shell.routes import ToChangeRequest, ToPage
from octavo.tui.shell.view import Subscriptions
from octavo.tui.widgets.changing_text import ChangingText
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.dialog import STYLES, Dialog, Frame
from octavo.tui.widgets.line_list import Lines
from octavo.tui.widgets.row_list import Heading, Row, Rows
from octavo.tui.widgets.safe_text import marked
from octavo.tui.widgets.text_inputs import LineInput
from octavo.tui.widgets.wording import short_age

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

ASK_AFTER = 0.15
"""Seconds after the last key before the server is asked."""
LONGEST = 512
MOST_CHANGES, MOST_SPACES = 8, 5
"""As many are shown of what is looked for here."""
_KINDS = {"page": "PAGES", "change request": "CHANGE REQUESTS", "space": "SPACES"}


@dataclass(frozen=True)
class Hit:
    """Something that was found."""

    kind: Literal["page", "change request", "space"]
    space: str
    id: str
    title: str
    where: str
    words: str = ""
    anchor: str = ""
    right: str = ""
    address: str = ""

    @property
    def key(self) -> str:
        return f"{self.kind} {self.space} {self.id} {self.anchor}"


def _why_no_address(app: Shell, view: SearchScreen) -> str | None:
    hit = view.rows.item
    if hit is None:
        return "There is no result under the cursor."
    if not hit.address or app.session.is_here:
        from octavo.tui.shell.outside import said_without_address

        return said_without_address(app, hit.kind)
    return None


def _open_outside(app: Shell, view: SearchScreen) -> None:
    from octavo.tui.shell.outside import open_outside

    if (hit := view.rows.item) is not None:
        open_outside(app, hit.address)


SEARCH: Commands[SearchScreen] = Commands(
    "search",
    (
        Command("next", "down,ctrl+n", "Next", "Next result", run=lambda _, view: view.move(1), shown=False, priority=True),
        Command("previous", "up", "Before", "Result before", run=lambda _, view: view.move(-1), shown=False, priority=True),
        Command("open", "enter", "Open", "Open the result", run=lambda _, view: view.open(), priority=True),
        Command("scope", "tab", "Scope", "This space only, or all of them", run=lambda _, view: view.change_scope(), priority=True),
        Command("open_browser", "ctrl+o", "In the browser", "Open the result in the browser",
                run=_open_outside, why_not=_why_no_address, shown=False, priority=True),
        Command("close", "escape", "Close", "Close", run=lambda _, view: view.dismiss(None), priority=True),
    ),
    find=lambda view: view,
)  # fmt: skip


class SearchScreen(Dialog[None]):
    """One line to type in; pages, change requests and spaces below. Tab asks only the space one is in."""

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [
        STYLES / "dialog.tcss",
        PurePath(__file__).with_name("search.tcss"),
    ]
    CONTEXT: ClassVar[str] = "search"
    IS_STOP: ClassVar[bool] = True
    HELP: ClassVar[str] = (
        "Type words; the last may be the beginning of one. Enter opens, tab searches this space only or all of them."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (SEARCH,)

    def __init__(self, organization: Organization, words: str = "") -> None:
        """`words`: what is searched until something else is typed."""
        super().__init__()
        self._words = words
        self._organization = organization
        self._subscriptions = Subscriptions(self)
        self._pages: Snapshot[ListPage[search.SpaceHit]] = Snapshot()
        self._of_space: Snapshot[ListPage[search.PageHit]] = Snapshot()
        self._changes: dict[str, Snapshot[ListPage[ChangeRequest]]] = {}
        self._only_space: SpaceRef | None = None
        self._asked = ""
        """The words that the server was asked for last."""
        self._timer: Timer | None = None
        self._chose = False
        self._cut: dict[str, str] = {}
        """By kind: how many of those found are shown, where that is not all."""

    @property
    def shell(self) -> Shell:
        return cast("Shell", self.app)

    def compose(self) -> ComposeResult:
        rows: Rows[Hit] = Rows(
            self._draw,
            key=lambda hit: hit.key,
            groups=lambda hit: [Heading(_KINDS[hit.kind], self._cut.get(hit.kind, ""))],
            two_lines=True,
            empty="Type to search.",
            id="hits",
        )
        rows.can_focus = False
        with Frame() as frame:
            frame.name_it("Search everywhere", "enter open · tab scope · esc close")
            yield LineInput(self._words, placeholder="words on a page, a subject, a space", id="query")
            yield ChangingText("", id="scope")
            yield rows

    @property
    def rows(self) -> Rows[Hit]:
        return self.query_one("#hits", Rows)

    @property
    def words(self) -> str:
        """What is typed."""
        return self.query_one("#query", LineInput).value.strip()[:LONGEST]

    def on_mount(self) -> None:
        at = OrganizationRef(organization_id=self._organization.id)
        for status in ("open", "draft", "merged"):
            op = ListOfOrganization(at=at, status=status, limit=100)

            def show(snapshot: Snapshot[ListPage[ChangeRequest]], status: str = status) -> None:
                self._changes[status] = snapshot
                if self.words:
                    self._show()

            self._subscriptions.follow(status, op, show)
        self.query_one("#query", LineInput).focus()
        self._say_scope()
        if self._words:
            self._ask()

    def on_unmount(self) -> None:
        self._subscriptions.stop()

    @on(Input.Changed)
    def _typed(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(ASK_AFTER, self._ask)
        self._chose = False
        self._show()

    def _ask(self) -> None:
        words = self._asked = self.words
        if not words:
            self._subscriptions.follow("pages", None)
            self._subscriptions.follow("pages of a space", None)
            self._pages, self._of_space = Snapshot(), Snapshot()
        elif self._only_space is not None:
            self._subscriptions.follow("pages", None)
            self._pages = Snapshot()
            op = search.InSpace(at=self._only_space, query=words, limit=30)
            self._subscriptions.follow("pages of a space", op, self._found_in_space)
        else:
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

    def _show(self) -> None:
        if not self.words:
            self.rows.state.empty = "Type to search."
            self.rows.show(())
            return
        changes, spaces = self._change_hits(), self._space_hits()
        hits = [*self._page_hits(), *changes[:MOST_CHANGES], *spaces[:MOST_SPACES]]
        self._cut = {
            "change request": f"{MOST_CHANGES} of {len(changes)}" if len(changes) > MOST_CHANGES else "",
            "space": f"{MOST_SPACES} of {len(spaces)}" if len(spaces) > MOST_SPACES else "",
        }
        # Change requests and spaces are looked for here, among those that are known.
        of: list[Snapshot[Any]] = [self._pages, self._of_space, self.shell.workspace.spaces, *self._changes.values()]
        error = next((each.error for each in of if each.error is not None), None)
        loading = self._asked != self.words or any(each.loading and each.value is None for each in of)
        unread = any(each.value is not None and each.value.next is not None for each in of)
        among = " of what is loaded here, and there is more on the server" if unread else ""
        self.rows.state.empty = "Searching…" if loading else f"Nothing{among} holds “{self.words[:60]}”."
        self.rows.show(hits)
        if not loading:
            self.rows.state.lacks(sum(getattr(each.value, "unreadable", 0) for each in of))
        if not self._chose:
            # What the server finds comes later than what is known here: the cursor waits at the top for it.
            self.rows.go_to_first()
        if error is not None:
            self.rows.state.fail("Not everything could be searched", str(error))
        self._say_scope(("1 result" if len(hits) == 1 else f"{len(hits)} results") if hits else "")

    def _page_hits(self) -> list[Hit]:
        hits: list[Hit] = []
        for space in self._pages.value.items if self._pages.value else ():
            for page in space.pages:
                hits += self._hits_of(page, space.id, space.title)
        if self._only_space is not None:
            known = self.shell.workspace.space(self._only_space.space_id)
            for page in self._of_space.value.items if self._of_space.value else ():
                hits += self._hits_of(page, self._only_space.space_id, known.title if known else "")
        return hits

    def _hits_of(self, page: search.PageHit, space: str, title: str) -> list[Hit]:
        sections = page.sections[:3]
        if not sections:
            about = page.description or ""
            return [Hit("page", space, page.id, page.title, title, about, address=page.urls.app or "")]
        return [
            Hit(
                "page",
                space,
                page.id,
                page.title if not each.title or each.title == page.title else f"{page.title} › {each.title}",
                title,
                " ".join(each.body.split()),
                each.path.partition("#")[2],
                address=page.urls.app or "",
            )
            for each in sections
        ]

    def _change_hits(self) -> list[Hit]:
        words = self.words.lower().split()
        found = [each for known in self._changes.values() if known.value for each in known.value.items]
        return [
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
            if each.space and all(word in f"#{each.number} {each.title}".lower() for word in words)
        ]

    def _space_hits(self) -> list[Hit]:
        words = self.words.lower().split()
        spaces = self.shell.workspace.spaces.value.items if self.shell.workspace.spaces.value else ()
        return [
            Hit("space", each.id, each.id, each.title, "space", address=each.urls.app or "")
            for each in spaces
            if all(word in each.title.lower() for word in words)
        ]

    def _draw(self, hit: Hit) -> Row:
        words = tuple(self.words.lower().split())
        return Row(
            text=marked(Content(hit.title).stylize("bold"), words, "$primary"),
            right=Content.styled(hit.right or (hit.where if hit.kind == "page" else ""), "$octavo-muted"),
            below=marked(Content(hit.words or (hit.where if hit.kind != "page" else "")), words, "$primary"),
        )

    def _say_scope(self, found: str = "") -> None:
        where = "all spaces"
        if self._only_space is not None:
            known = self.shell.workspace.space(self._only_space.space_id)
            where = known.title if known else "this space"
        self.query_one("#scope", Static).update(Content.assemble((f"{where}   {found}", "$octavo-muted")))

    def change_scope(self) -> None:
        """Search the space one is in only, or all of them again."""
        last = self.shell.session.state.recall("space")
        self._only_space = SpaceRef(space_id=str(last)) if last and self._only_space is None else None
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
        if hit.kind == "change request":
            from octavo.api.places import ChangeRequestRef

            self.shell.go(ToChangeRequest(ChangeRequestRef(space_id=hit.space, change_request_id=hit.id)))
        else:
            self.shell.go(ToPage(hit.space, hit.id if hit.kind == "page" else None, part=hit.anchor))

    @on(Lines.Chosen)
    def _clicked(self) -> None:
        self.open()
