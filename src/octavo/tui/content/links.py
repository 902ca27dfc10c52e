"""Two views: the links of a space or the backlinks of a page, and the files of a space with their uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from octavo.api import content, links
from octavo.api.content import File, PageTree
from octavo.api.folding import fold
from octavo.api.links import Link, Location
from octavo.api.operation import ListPage
from octavo.api.spaces import Space
from octavo.data.live import Snapshot
from octavo.documents.links import BrokenLink
from octavo.tui.core.external_links import copy_text
from octavo.tui.core.file_dialogs import save_file
from octavo.tui.core.item_labels import file_kind, format_dimensions, format_size
from octavo.tui.core.list_view import TAB_COMMANDS, ListView
from octavo.tui.core.routes import ToPage
from octavo.tui.core.shell import Shell
from octavo.tui.render.deferred import LinkContext, LinkTargets
from octavo.tui.review.request_preview import SELECTION_DELAY
from octavo.tui.widgets.bars import ListTab, ListTabs
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.delay import Delay
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Column, Row, RowHeading, RowList
from octavo.tui.widgets.short_texts import as_clause, join_texts, plural
from octavo.tui.widgets.text_widgets import ChangingText

NAMES = {
    "broken": "Broken",
    "in-app": "GitBook app links",
    "internal": "Internal",
    "external": "External",
    "backlinks": "Backlinks",
}
_SIGNS = {
    "broken": ("✗", "$error"),
    "in-app": ("!", "$warning"),
    "internal": ("→", "$primary"),
    "external": ("↗", "$octavo-muted"),
    "backlinks": ("←", "$primary"),
}
_KINDS = {"reusable-content": "reusable content", "openapi": "OpenAPI specification", "user": "member"}


@dataclass(frozen=True)
class LinkLocation:
    """Row of the list: a link, and one page or block that contains it."""

    location: Location
    section: str
    """Key of the tab that shows the link, such as `broken`."""
    target: str = ""
    kind: str = ""
    url: str = ""
    is_embedded: bool = False
    """True if the page embeds the target, instead of linking to it."""

    @property
    def key(self) -> str:
        return f"{location_key(self.location)} {self.kind} {self.target} {self.url}"


def target_in_page(location: Location) -> str:
    """Return the key of the block, or the anchor of the heading, that contains a link. Empty if it is unknown."""
    internal_location = location.internal_location
    return (internal_location.node or internal_location.anchor or "") if internal_location is not None else ""


def location_key(location: Location) -> str:
    """Return a key for the page and block that contain a link or file. The key is the same for all links in a block."""
    return f"{location.page.id if location.page else ''} {target_in_page(location)}"


def page_title(location: Location) -> str:
    return (location.page.title if location.page else "") or "Untitled"


def page_trails(tree: PageTree) -> dict[str, str]:
    """Return the titles of each page's ancestors by page ID, such as `Guides › Setup`. Empty for top-level pages."""
    trails: dict[str, str] = {}
    unvisited = [(page, "") for page in tree.pages]
    while unvisited:
        page, trail = unvisited.pop()
        trails[page.id] = trail
        title = page.title or "Untitled"
        unvisited += [(child, f"{trail} › {title}" if trail else title) for child in page.pages]
    return trails


def open_location(app: Shell, space_id: str, location: Location) -> None:
    """Open the page of a location at its block or heading. If the page cannot be opened, show a message."""
    page = location.page
    if page is None:
        app.say("Could not open the page: the server did not return the page. Press r to refresh.", tone="care")
    elif page.type != "document":
        app.say(
            f"“{page_title(location)}” is not a page, so it cannot be opened. Edit the item in the table of contents.",
            tone="care",
        )
    else:
        app.go(ToPage(space_id, page.id, target_in_page(location)))


def _why_no_url(app: Shell, item: LinkLocation) -> str | None:
    return None if item.url else f"This link points to “{item.target}” by ID, so there is no URL to copy."


LINK: Commands[LinkLocation] = Commands(
    "link",
    (
        Command("copy", "y", "Copy link", "Copy the URL of the link", why_not=_why_no_url,
                run=lambda app, item: copy_text(app, item.url, "Copied the link.")),
    ),
    no_target="Select a link first.",
    find_target=lambda view: view.rows.item,
)  # fmt: skip
LINKS: Commands[LinksScreen] = Commands(
    "links", (Command("up", "escape", "Back", "Go back", run=lambda _, view: view.go_up_or_back(), shown=False),)
)


class LinksScreen(ListView[LinkLocation]):
    """List of the links in a space, grouped by page, with the details of the selected link beside it."""

    MODE = "content"
    HELP_NAME = "links"
    HELP = (
        "This view shows the links in this space: broken links, links to the GitBook app, internal links, external links, and "
        "backlinks. Press enter to open the page that contains the link, y to copy the URL of the link, [ or ] to switch tabs, "
        "or / to filter the links. Press esc to go back to the page."
    )
    CSS_PATH = "links.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (TAB_COMMANDS, LINK, LINKS)

    def __init__(self, space: Space, page: tuple[str, str] | None, *, first_section: str = "broken") -> None:
        """`page` has the ID and title of the page whose backlinks are shown. If `page` is None, there is no tab for
        backlinks. `first_section` is the key of the tab that is shown first."""
        super().__init__()
        self.space, self.page = space, page
        self._first_section = first_section
        self._locations_by_section: dict[str, list[LinkLocation]] = {}
        self._tree: PageTree | None = None
        self._page_trails: dict[str, str] = {}
        self._link_context = LinkContext(PageTree(pages=()), space.ref)

    def body(self) -> Iterable[Widget]:
        rows: RowList[LinkLocation] = RowList(
            self._draw,
            key=lambda item: item.key,
            search=lambda item: f"{item.target} {item.url} {item.kind} {page_title(item.location)}",
            groups=self._headings,
            empty="No links of this kind in this space.",
            hint="Press [ or ] to switch tabs.",
            id="links",
        )
        names = {key: name for key, name in NAMES.items() if key != "backlinks" or self.page is not None}
        tabs = tuple(ListTab(key, name) for key, name in names.items())
        detail = Vertical(ChangingText("", id="about"), id="detail")
        yield from self.list_with_preview(rows, detail, tabs=tabs, initial_tab=self._first_section)

    def on_mount(self) -> None:
        self.shell.workspace.spaces_changed.subscribe(self, lambda _: self._show_status())
        self.follow("tree", content.ListPages(at=self.space.ref), self._show_tree)
        self.subscriptions.follow_whole("links", links.ListOfSpace(at=self.space.ref, limit=200), self._show_links)
        if self.page is not None:
            op = links.ListToPage(at=self.space.ref, page_id=self.page[0], limit=200)
            self.subscriptions.follow_whole("backlinks", op, self._show_backlinks)
        self.rows.focus()

    def _show_links(self, snapshot: Snapshot[ListPage[Link]]) -> None:
        for section in ("broken", "in-app", "internal", "external"):
            self._locations_by_section[section] = []
        for link in snapshot.value.items if snapshot.value else ():
            target_location = link.target_reference or Location()
            section = _section_of(link, target_location)
            title, url = _target_title(target_location, self.space.id), target_location.url or ""
            kind = _KINDS.get(target_location.kind, target_location.kind)
            is_embedded = link.relation == "dependsOn"
            self._locations_by_section[section] += [
                LinkLocation(each, section, title, kind, url, is_embedded) for each in link.location_references
            ]
        self.redraw_list()

    def _show_backlinks(self, snapshot: Snapshot[ListPage[Location]]) -> None:
        target = self.page[1] if self.page else ""
        self._locations_by_section["backlinks"] = [
            LinkLocation(each, "backlinks", target, "page") for each in (snapshot.value.items if snapshot.value else ())
        ]
        self.redraw_list()

    def _show_tree(self, snapshot: Snapshot[PageTree]) -> None:
        if snapshot.value is not None and snapshot.value is not self._tree:
            self._tree, self._page_trails = snapshot.value, page_trails(snapshot.value)
            self._link_context = LinkContext(snapshot.value, self.space.ref)
            if self.page is not None and (page := snapshot.value.find(self.page[0])) is not None:
                self.page = page.id, page.title or self.page[1]
                self._show_backlinks(self.subscriptions.snapshot("backlinks"))
            self.redraw_list()

    def redraw_list(self) -> None:
        section = self.tabs.current
        self.tabs.tabs = tuple(
            ListTab(each.key, each.name, len({item.key for item in self._locations_by_section.get(each.key, ())}))
            for each in self.tabs.tabs
        )
        snapshot = self._links_of_tab
        order = {page.id: number for number, page in enumerate(self._tree.walk())} if self._tree is not None else {}
        items = {item.key: item for item in self._locations_by_section.get(section, ())}
        if snapshot.value is not None:
            self.rows.state.empty = _EMPTY[section]
            self.rows.show(sorted(items.values(), key=lambda item: order.get(self._page_of(item), len(order))))
            self.rows.state.show_unreadable(snapshot.value.unreadable)
        self.show_response(snapshot, "Links", f"the links in {self.space.title}")
        self._draw_details()
        self._show_status()

    @property
    def _links_of_tab(self) -> Snapshot[ListPage[Any]]:
        return self.subscriptions.snapshot("backlinks" if self.tabs.current == "backlinks" else "links")

    @on(LineList.FilterChanged, "#links")
    def _show_status(self) -> None:
        section = self.tabs.current
        name = f"links to {self.page[1]}" if section == "backlinks" and self.page else NAMES[section]
        value = self._links_of_tab.value
        more_note = " · more links on the server" if value is not None and value.next else ""
        self.show_location(
            f"{self.shell.workspace.current_title(self.space)} › Links · {name}", self.rows.counts.summary + more_note
        )

    def _headings(self, item: LinkLocation) -> Sequence[RowHeading]:
        page = self._page_of(item)
        return [RowHeading(page_title(item.location), self._page_trails.get(page, ""), page)]

    def _page_of(self, item: LinkLocation) -> str:
        return item.location.page.id if item.location.page else ""

    def _draw(self, item: LinkLocation) -> Row:
        title = item.target or item.url or "no target"
        kind = "embedded" if item.is_embedded else item.kind if item.kind not in ("page", "url") else ""
        return Row(
            text=Content(title), right=Content.styled(kind, "$octavo-muted"), sign=Content.styled(*_SIGNS[item.section])
        )

    @on(LineList.Highlighted, "#links")
    def _draw_details(self) -> None:
        item, about = self.rows.item, self.query_one("#about", Static)
        if item is None:
            about.update("")
            return
        sign, style = _SIGNS[item.section]
        page = self._page_of(item)
        space_title = self.shell.workspace.current_title(self.space)
        path = [name for name in (space_title, self._page_trails.get(page, ""), page_title(item.location)) if name]
        same_target = [
            other for other in self._locations_by_section[item.section] if self._target(other) == self._target(item)
        ]
        lines = [
            Content.assemble((f"{sign} ", style), (item.target or item.url or "no target", "bold")),
            Content.styled(self._explanation(item), style if item.section == "broken" else "$octavo-muted"),
            Content(""),
        ]
        if item.url and item.target and item.url != item.target:
            lines += [Content(item.url), Content("")]
        lines += [Content.styled("LOCATION", "bold $octavo-muted"), Content(" › ".join(path))]
        if item.section != "backlinks" and len(same_target) > 1:
            count = len({self._page_of(other) for other in same_target})
            lines.append(Content.styled(f"used {len(same_target)} times on {plural(count, 'page')}", "$octavo-muted"))
        lines += [
            Content(""),
            Content.assemble(
                ("enter", "$primary"),
                (
                    " opens the page at the block that contains this link"
                    if target_in_page(item.location)
                    else " opens the page that contains this link",
                    "$octavo-muted",
                ),
            ),
        ]
        about.update(Content("\n").join(lines))

    @staticmethod
    def _target(item: LinkLocation) -> tuple[str, str, str]:
        return item.kind, item.target, item.url

    def _explanation(self, item: LinkLocation) -> str:
        match item.section:
            case "broken" if item.is_embedded:
                return "Broken: the content that this page embeds does not exist."
            case "broken":
                target = LinkTargets(self._link_context, self._page_of(item)).resolve(item.url)
                reason = target.reason if isinstance(target, BrokenLink) else "The target does not exist."
                return f"Broken: {as_clause(reason)}."
            case "in-app":
                return "This link contains a GitBook app URL. Link directly to the page or space instead, so that the link still works if the URL changes."
            case "external" if item.url.startswith("mailto:"):
                return "This link opens a new email."
            case "external" if "://" not in item.url:
                return "This link leads out of this space."
            case "external":
                return "This link goes to an external site."
            case "backlinks":
                return f"This link goes to {item.target or 'this page'}."
            case _:
                return f"This link works: the {item.kind or 'page'} exists."

    @on(ListTabs.Switched)
    def _on_tab_switched(self) -> None:
        self.redraw_list()
        self.rows.go_to_first()

    @on(LineList.Opened, "#links")
    def _open_page(self) -> None:
        if self.rows.item is not None:
            open_location(self.shell, self.space.id, self.rows.item.location)


_EMPTY = {
    "broken": "No broken links in this space.",
    "in-app": "No links to the GitBook app in this space.",
    "internal": "No internal links in this space.",
    "external": "No external links in this space.",
    "backlinks": "No other page links to this page.",
}


def _section_of(link: Link, target: Location) -> str:
    if link.status in ("broken", "in-app"):
        return link.status
    return "external" if target.kind == "url" else "internal"


def _target_title(target: Location, space_id: str) -> str:
    """Return the title of a link target, such as `Guide › Install`. Empty for a URL or an unknown target."""
    anchor = target.internal_location.anchor if target.internal_location else None
    item = target.page or target.collection or target.reusable_content
    if item is not None:
        space = f"{target.space.title} › " if target.space is not None and target.space.id != space_id else ""
        return f"{space}{item.title or 'Untitled'}" + (f" #{anchor}" if anchor else "")
    if target.file is not None:
        return target.file.name
    if target.openapi_spec is not None:
        return target.openapi_spec.slug
    if target.user is not None:
        return target.user.name
    return target.space.title if target.space is not None and target.kind == "space" else ""


def _why_no_file_url(app: Shell, file: File) -> str | None:
    return None if file.download_url else f"The server did not return a link to {file.name or 'this file'}."


FILE: Commands[File] = Commands(
    "file",
    (
        Command("save", "w", "Download", "Save the file to disk", run=save_file, why_not=_why_no_file_url),
        Command("copy", "y", "Copy link", "Copy a link to the file", why_not=_why_no_file_url,
                run=lambda app, file: copy_text(app, file.download_url or "", f"Copied the link to {file.name or 'the file'}.")),
    ),
    no_target="Select a file first.",
    find_target=lambda view: view.rows.item,
)  # fmt: skip
FILES: Commands[FilesScreen] = Commands(
    "files",
    (
        Command("sort", "S", "Sort", "Sort files", run=lambda _, view: view.choose_list_order("Sort files"), id="file.sort"),
        Command("up", "escape", "Back", "Go back", run=lambda _, view: view.go_up_or_back(), shown=False),
    ),
)  # fmt: skip


class FilesScreen(ListView[File]):
    """List of the files in a space, with the pages that use the selected file beside it."""

    MODE = "content"
    HELP_NAME = "files"
    HELP = (
        "This view shows the files in this space and the pages that use the selected file. Press enter to go to the list of "
        "those pages, w to download the file, y to copy a link to the file, or S to sort the files. Press esc to go back to "
        "the page."
    )
    CSS_PATH = "files.tcss"
    KEYBAR: ClassVar[tuple[str, ...]] = ("list.open", "file.save", "file.copy", "file.sort", "list.filter")
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (FILE, FILES)
    LIST_ORDERS: ClassVar[Mapping[str, str]] = {
        "name": "By name",
        "size": "Largest first",
        "kind": "By type",
        "used": "Least used first",
    }
    ORDER_KEY = "order of files"

    def __init__(self, space: Space) -> None:
        super().__init__()
        self.space = space
        self._use_counts: Counter[str] | None = None
        """Number of uses of each file, by file ID. None until all uses are known."""
        self._page_trails: dict[str, str] = {}
        self._selection_delay = Delay(self)

    def body(self) -> Iterable[Widget]:
        files: RowList[File] = RowList(
            self._draw,
            key=lambda file: file.id,
            search=lambda file: f"{file.name} {file_kind(file)}",
            columns=(
                Column("NAME"), Column("TYPE", 12, drop_priority=2),
                Column("SIZE", 9, align_right=True, drop_priority=1), Column("USED", 5, align_right=True),
            ),
            empty="This space has no files.",
            hint="Images and attachments on pages are listed here.",
            id="files",
        )  # fmt: skip
        uses: RowList[Location] = RowList(
            self._draw_use, key=location_key, two_lines=True, empty="No page in this space uses this file.", id="uses"
        )
        self.uses = uses
        title = ChangingText("USED ON", classes="pane-title", id="uses-title")
        detail = Vertical(ChangingText("", id="about"), title, uses, id="detail")
        detail.visible = False
        yield from self.list_with_preview(files, detail)

    def on_mount(self) -> None:
        self.rows.state.show_loading(f"the files in {self.space.title}")
        self.shell.workspace.spaces_changed.subscribe(self, lambda _: self._show_status())
        self.follow("tree", content.ListPages(at=self.space.ref), self._show_tree)
        files = content.ListFiles(at=self.space.ref, limit=200)
        self.subscriptions.follow_whole("files", files, lambda _: self.redraw_list())
        self.subscriptions.follow_whole("links", links.ListOfSpace(at=self.space.ref, limit=200), self._count_uses)
        self.rows.focus()

    @property
    def _files(self) -> Snapshot[ListPage[File]]:
        return self.subscriptions.snapshot("files")

    def _count_uses(self, snapshot: Snapshot[ListPage[Link]]) -> None:
        value = snapshot.value
        if value is None:
            return
        if value.next is not None or value.unreadable:
            self._use_counts = None  # Counts from an incomplete list would be wrong.
            return self.redraw_list()
        self._use_counts = Counter()
        for link in value.items:
            if (target := link.target_reference) is not None and target.file is not None:
                self._use_counts[target.file.id] += len(link.location_references)
        self.redraw_list()

    def _show_tree(self, snapshot: Snapshot[PageTree]) -> None:
        if snapshot.value is not None:
            self._page_trails = page_trails(snapshot.value)
            self.uses.redraw()

    def redraw_list(self) -> None:
        snapshot, use_counts = self._files, self._use_counts or Counter()
        if snapshot.value is not None:
            orders = {
                "name": lambda file: (fold(file.name),),
                "size": lambda file: (-file.size, fold(file.name)),
                "kind": lambda file: (file_kind(file).lower(), fold(file.name)),
                "used": lambda file: (use_counts[file.id], fold(file.name)),
            }
            self.show_list_page(snapshot.value, sorted(snapshot.value.items, key=orders[self.list_order]))
        self.show_response(snapshot, "Files", f"the files in {self.space.title}")
        self._draw_details()
        self._show_status()

    @on(LineList.FilterChanged, "#files")
    def _show_status(self) -> None:
        files = self._files.value.items if self._files.value else ()
        total = format_size(sum(file.size for file in files)) if files else ""
        details_text = " · ".join(
            each
            for each in (self.LIST_ORDERS[self.list_order].lower(), total, self.rows.counts.summary if files else "")
            if each
        )
        self.show_location(f"{self.shell.workspace.current_title(self.space)} › Files", details_text)

    def _draw(self, file: File) -> Row:
        use_count = "" if self._use_counts is None else str(self._use_counts[file.id] or "–")
        name = Content(file.name or "Unnamed")
        return Row(cells=(name, Content.styled(file_kind(file), "$octavo-muted"), format_size(file.size), use_count))

    def _draw_use(self, location: Location) -> Row:
        page = location.page.id if location.page else ""
        keys = [location_key(each) for each in self.uses.items if each.page is not None and each.page.id == page]
        index_label = f"{keys.index(location_key(location)) + 1} of {len(keys)}" if len(keys) > 1 else ""
        return Row(
            text=page_title(location),
            right=Content.styled(index_label, "$octavo-muted"),
            second_line=self._page_trails.get(page) or self.shell.workspace.current_title(self.space),
        )

    def _draw_details(self) -> None:
        file = self.rows.item
        about = self.query_one("#about", Static)
        if file is None:
            about.update("")
            return
        details = (file_kind(file), format_dimensions(file), format_size(file.size))
        about.update(
            Content("\n").join(
                [Content.styled(file.name or "Unnamed", "bold"), join_texts(details).stylize("$octavo-muted")]
            )
        )

    @on(LineList.Highlighted, "#files")
    def _on_file_selected(self) -> None:
        self.query_one("#detail").visible = self.rows.item is not None
        self._draw_details()
        self.follow("uses", None)
        self.uses.show(())
        self.query_one("#uses-title", Static).update("USED ON")
        self._selection_delay.stop()
        if self.rows.item is not None:
            self.uses.state.show_loading("the pages that use this file")
            self._selection_delay.start(SELECTION_DELAY, self._load_uses)

    def _load_uses(self) -> None:
        if (file := self.rows.item) is not None:
            op = links.ListToFile(at=self.space.ref, file_id=file.id, limit=200)
            self.subscriptions.follow_whole("uses", op, self._show_uses)

    def _show_uses(self, snapshot: Snapshot[ListPage[Location]]) -> None:
        if snapshot.value is not None:
            locations = {location_key(each): each for each in snapshot.value.items}
            ids = {each.page.id for each in locations.values() if each.page}
            self.uses.show(list(locations.values()))
            self.uses.state.show_unreadable(snapshot.value.unreadable)
            title = f"used {plural(len(locations), 'time')} on {plural(len(ids), 'page')}" if ids else "used on"
            self.query_one("#uses-title", Static).update(title.upper())
        if snapshot.error is not None:
            self.uses.state.fail("Could not load the pages that use this file", str(snapshot.error))

    @on(LineList.MoreRequested, "#files")
    def _load_more(self) -> None:
        self.shell.background(self.live.fetch_next_page(content.ListFiles(at=self.space.ref, limit=200)))

    @on(LineList.Opened, "#files")
    def _on_file_chosen(self) -> None:
        if self.rows.item is not None:
            self.uses.focus()

    @on(LineList.Opened, "#uses")
    def _on_use_chosen(self) -> None:
        if self.uses.item is not None:
            open_location(self.shell, self.space.id, self.uses.item)
