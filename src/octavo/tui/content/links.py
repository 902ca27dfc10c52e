"""Links of a space, broken links first, each with its page; and the backlinks of the open page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from octavo.api import content, links
from octavo.api.content import PageTree
from octavo.api.links import Link, Location
from octavo.api.operation import ListPage
from octavo.api.spaces import Space
from octavo.data.live import Snapshot
from octavo.documents.links import BrokenLink
from octavo.tui.content.link_locations import go_to, key_of, part_of, title_of, trails
from octavo.tui.render.link_targets import LinkContext, LinkTargets
from octavo.tui.shell.list_view import TAB_COMMANDS, ListView
from octavo.tui.shell.shell import Shell
from octavo.tui.terminal import clipboard
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Heading, Row, RowList
from octavo.tui.widgets.section_tabs import Section, SectionTabs
from octavo.tui.widgets.text_widgets import ChangingText
from octavo.tui.widgets.wording import as_clause, plural

NAMES = {
    "broken": "Broken",
    "in-app": "GitBook app links",
    "inside": "Internal",
    "outside": "External",
    "here": "Backlinks",
}
_SIGNS = {
    "broken": ("✗", "$error"),
    "in-app": ("!", "$warning"),
    "inside": ("→", "$primary"),
    "outside": ("↗", "$octavo-muted"),
    "here": ("←", "$primary"),
}
_KINDS = {"reusable-content": "reusable content", "openapi": "OpenAPI specification", "user": "member"}


@dataclass(frozen=True)
class Place:
    """One link at one place."""

    place: Location
    sort: str
    """Which section it belongs to."""
    target: str = ""
    kind: str = ""
    address: str = ""
    is_part: bool = False
    """Whether the page embeds the target instead of linking to it."""

    @property
    def key(self) -> str:
        return f"{key_of(self.place)} {self.kind} {self.target} {self.address}"


def _why_no_address(app: Shell, each: Place) -> str | None:
    return None if each.address else f"This link points to “{each.target}” by ID, so there is no URL to copy."


LINK: Commands[Place] = Commands(
    "link",
    (
        Command("copy", "y", "Copy link", "Copy the URL of the link", why_not=_why_no_address,
                run=lambda app, each: clipboard.copy(app, each.address, "Copied the link.")),
    ),
    no_target="Select a link first.",
    find=lambda view: view.rows.item,
)  # fmt: skip
LINKS: Commands[LinksScreen] = Commands(
    "links",
    (Command("up", "escape", "Back", "Go back", run=lambda _, view: view.go_up_or_back(), shown=False),),
    find=lambda view: view,
)


class LinksScreen(ListView[Place]):
    """The links grouped by page on the left, the details of the selected link on the right."""

    MODE = "content"
    CONTEXT = "links"
    HELP = (
        "This view shows the links in this space: broken links, links to the GitBook app, internal links, external links, and "
        "backlinks. Press enter to open the page that contains the link, y to copy the URL of the link, [ or ] to switch tabs, "
        "or / to filter the links. Press esc to go back to the page."
    )
    CSS_PATH = "links.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (TAB_COMMANDS, LINK, LINKS)

    def __init__(self, space: Space, page: tuple[str, str] | None, *, begin: str = "broken") -> None:
        """`page` is the id and title of the page one comes from; `begin` the section shown first."""
        super().__init__()
        self.space, self.page = space, page
        self._begin = begin
        self._links: Snapshot[ListPage[Link]] = Snapshot(loading=True)
        self._here: Snapshot[ListPage[Location]] = Snapshot(loading=True)
        self._places: dict[str, list[Place]] = {}
        self._tree: PageTree | None = None
        self._trails: dict[str, str] = {}
        self._ground = LinkContext(PageTree(pages=()), space.ref)

    def body(self) -> Iterable[Widget]:
        rows: RowList[Place] = RowList(
            self._draw,
            key=lambda each: each.key,
            search=lambda each: f"{each.target} {each.address} {each.kind} {title_of(each.place)}",
            groups=lambda each: [Heading(title_of(each.place), self._trails.get(self._page_of(each), ""))],
            empty="No links of this kind in this space.",
            hint="Press [ or ] to switch tabs.",
            id="links",
        )
        names = {key: name for key, name in NAMES.items() if key != "here" or self.page is not None}
        sections = tuple(Section(key, name) for key, name in names.items())
        detail = Vertical(ChangingText("", id="about"), id="detail")
        yield from self.list_with_preview(rows, detail, sections=sections, initial_tab=self._begin)

    def on_mount(self) -> None:
        self.follow("tree", content.ListPages(at=self.space.ref), self._show_tree)
        self.subscriptions.follow_whole("links", links.ListOfSpace(at=self.space.ref, limit=200), self._show_links)
        if self.page is not None:
            op = links.ListToPage(at=self.space.ref, page_id=self.page[0], limit=200)
            self.subscriptions.follow_whole("here", op, self._show_here)
        self.rows.focus()

    # What arrives

    def _show_links(self, snapshot: Snapshot[ListPage[Link]]) -> None:
        self._links = snapshot
        for sort in ("broken", "in-app", "inside", "outside"):
            self._places[sort] = []
        for link in snapshot.value.items if snapshot.value else ():
            target = link.target_reference or Location()
            sort = _sort_of(link, target)
            words, address = _words_of(target, self.space.id), target.url or ""
            kind = _KINDS.get(target.kind, target.kind)
            is_part = link.relation == "dependsOn"
            self._places[sort] += [
                Place(each, sort, words, kind, address, is_part) for each in link.location_references
            ]
        self.redraw_list()

    def _show_here(self, snapshot: Snapshot[ListPage[Location]]) -> None:
        self._here = snapshot
        target = self.page[1] if self.page else ""
        self._places["here"] = [
            Place(each, "here", target, "page") for each in (snapshot.value.items if snapshot.value else ())
        ]
        self.redraw_list()

    def _show_tree(self, snapshot: Snapshot[PageTree]) -> None:
        if snapshot.value is not None and snapshot.value is not self._tree:
            self._tree, self._trails = snapshot.value, trails(snapshot.value)
            self._ground = LinkContext(snapshot.value, self.space.ref)
            self.redraw_list()

    def redraw_list(self) -> None:
        section = self.sections.current
        self.sections.sections = tuple(
            Section(each.key, each.name, len({place.key for place in self._places.get(each.key, ())}))
            for each in self.sections.sections
        )
        snapshot: Snapshot[ListPage[Link]] | Snapshot[ListPage[Location]]
        snapshot = self._here if section == "here" else self._links
        order = {page.id: number for number, page in enumerate(self._tree.walk())} if self._tree is not None else {}
        places = {each.key: each for each in self._places.get(section, ())}
        if snapshot.value is not None:
            self.rows.state.empty = _NOTHING[section]
            self.rows.show(sorted(places.values(), key=lambda each: order.get(self._page_of(each), len(order))))
            self.rows.state.show_unreadable(snapshot.value.unreadable)
        self.show_response(snapshot, "Links", f"the links in {self.space.title}")
        self._draw_about()
        self._say_where()

    @on(LineList.FilterChanged, "#links")
    def _say_where(self) -> None:
        section = self.sections.current
        name = f"links to {self.page[1]}" if section == "here" and self.page else NAMES[section]
        value = self._here.value if section == "here" else self._links.value
        more = " · more links on the server" if value is not None and value.next else ""
        self.show_location(f"{self.space.title} › Links · {name}", self.rows.counts.summary + more)

    # Drawing

    def _page_of(self, each: Place) -> str:
        return each.place.page.id if each.place.page else ""

    def _draw(self, each: Place) -> Row:
        words = each.target or each.address or "no target"
        kind = "embedded" if each.is_part else each.kind if each.kind not in ("page", "url") else ""
        return Row(
            text=Content(words),
            right=Content.styled(kind, "$octavo-muted"),
            sign=Content.styled(*_SIGNS[each.sort]),
        )

    def _draw_about(self) -> None:
        each, about = self.rows.item, self.query_one("#about", Static)
        if each is None:
            about.update("")
            return
        sign, style = _SIGNS[each.sort]
        page = self._page_of(each)
        where = [name for name in (self.space.title, self._trails.get(page, ""), title_of(each.place)) if name]
        same = [other for other in self._places.get(each.sort, ()) if self._target(other) == self._target(each)]
        lines = [
            Content.assemble((f"{sign} ", style), (each.target or each.address or "no target", "bold")),
            Content.styled(self.why(each), style if each.sort == "broken" else "$octavo-muted"),
            Content(""),
        ]
        if each.address and each.target and each.address != each.target:
            lines += [Content(each.address), Content("")]
        lines += [Content.styled("LOCATION", "bold $octavo-muted"), Content(" › ".join(where))]
        if each.sort != "here" and len(same) > 1:
            pages = len({self._page_of(other) for other in same})
            lines.append(Content.styled(f"used {len(same)} times on {plural(pages, 'page')}", "$octavo-muted"))
        lines += [
            Content(""),
            Content.assemble(
                ("enter", "$primary"),
                (
                    " opens the page at the block that contains this link"
                    if part_of(each.place)
                    else " opens the page that contains this link",
                    "$octavo-muted",
                ),
            ),
        ]
        about.update(Content("\n").join(lines))

    @staticmethod
    def _target(each: Place) -> tuple[str, str, str]:
        return each.kind, each.target, each.address

    def why(self, each: Place) -> str:
        """Return the state of a link, in a sentence."""
        match each.sort:
            case "broken" if each.is_part:
                return "Broken: the content that this page embeds does not exist."
            case "broken":
                found = LinkTargets(self._ground, self._page_of(each)).resolve(each.address)
                reason = found.reason if isinstance(found, BrokenLink) else "The target does not exist."
                return f"Broken: {as_clause(reason)}."
            case "in-app":
                return "This link contains a GitBook app URL. Link directly to the page or space instead, so that the link still works if the URL changes."
            case "outside" if each.address.startswith("mailto:"):
                return "This link opens a new email."
            case "outside":
                return "This link goes to an external site."
            case "here":
                return f"This link goes to {each.target or 'this page'}."
            case _:
                return f"This link works: the {each.kind or 'page'} exists."

    # Messages and actions

    @on(LineList.Highlighted, "#links")
    def _other(self) -> None:
        self._draw_about()

    @on(SectionTabs.Switched)
    def _other_section(self) -> None:
        self.redraw_list()
        self.rows.go_to_first()

    @on(LineList.Opened, "#links")
    def _chosen(self) -> None:
        if self.rows.item is not None:
            go_to(self.shell, self.space.id, self.rows.item.place)


_NOTHING = {
    "broken": "No broken links in this space.",
    "in-app": "No links to the GitBook app in this space.",
    "inside": "No internal links in this space.",
    "outside": "No external links in this space.",
    "here": "No other page links to this page.",
}


def _sort_of(link: Link, target: Location) -> str:
    if link.status in ("broken", "in-app"):
        return link.status
    return "outside" if target.kind == "url" else "inside"


def _words_of(target: Location, here: str) -> str:
    """Return the name of what a link of the space `here` leads to. Empty for a URL."""
    part = target.internal_location.anchor if target.internal_location else None
    titled = target.page or target.collection or target.reusable_content
    if titled is not None:
        space = f"{target.space.title} › " if target.space is not None and target.space.id != here else ""
        return f"{space}{titled.title or 'Untitled'}" + (f" #{part}" if part else "")
    if target.file is not None:
        return target.file.name
    if target.openapi_spec is not None:
        return target.openapi_spec.slug
    if target.user is not None:
        return target.user.name
    return target.space.title if target.space is not None and target.kind == "space" else ""
