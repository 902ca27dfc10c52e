"""Files of a space: their types, sizes and the pages that use them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from octavo.api import content, links
from octavo.api.content import File, PageTree
from octavo.api.folding import fold
from octavo.api.links import Link, Location
from octavo.api.operation import ListPage
from octavo.api.spaces import Space
from octavo.data.live import Snapshot
from octavo.tui.content.links import location_key, open_location, page_title, page_trails
from octavo.tui.core.external_links import copy_text
from octavo.tui.core.file_dialogs import save_file
from octavo.tui.core.item_labels import file_kind, format_dimensions, format_size
from octavo.tui.core.list_view import ListView
from octavo.tui.core.shell import Shell
from octavo.tui.review.request_preview import SELECTION_DELAY
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Column, Row, RowList
from octavo.tui.widgets.short_texts import join_texts, plural
from octavo.tui.widgets.text_widgets import ChangingText


def _why_no_url(app: Shell, file: File) -> str | None:
    return None if file.download_url else f"The server did not return a link to {file.name or 'this file'}."


FILE: Commands[File] = Commands(
    "file",
    (
        Command("save", "w", "Download", "Save the file to disk", run=save_file, why_not=_why_no_url),
        Command("copy", "y", "Copy link", "Copy a link to the file", why_not=_why_no_url,
                run=lambda app, file: copy_text(app, file.download_url or "", f"Copied the link to {file.name or 'the file'}.")),
    ),
    no_target="Select a file first.",
    find=lambda view: view.rows.item,
)  # fmt: skip
FILES: Commands[FilesScreen] = Commands(
    "files",
    (
        Command("sort", "S", "Sort", "Sort files", run=lambda _, view: view.choose_list_order("Sort files"), id="file.sort"),
        Command("up", "escape", "Back", "Go back", run=lambda _, view: view.go_up_or_back(), shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip


class FilesScreen(ListView[File]):
    """The files on the left, the pages that use the selected file on the right."""

    MODE = "content"
    CONTEXT = "files"
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
    ORDER_FACT = "order of files"

    def __init__(self, space: Space) -> None:
        super().__init__()
        self.space = space
        self._files: Snapshot[ListPage[File]] = Snapshot()
        self._use_counts: Counter[str] | None = None
        """Number of uses of each file. None until all links of the space are loaded."""
        self._page_trails: dict[str, str] = {}
        self._timer: Timer | None = None

    def body(self) -> Iterable[Widget]:
        files: RowList[File] = RowList(
            self._draw,
            key=lambda file: file.id,
            search=lambda file: f"{file.name} {file_kind(file)}",
            columns=(Column("NAME"), Column("TYPE", 12, drop_order=2), Column("SIZE", 9, right=True, drop_order=1), Column("USED", 5, right=True)),
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
        self.follow("tree", content.ListPages(at=self.space.ref), self._show_tree)
        self.subscriptions.follow_whole("files", content.ListFiles(at=self.space.ref, limit=200), self._show_files)
        self.subscriptions.follow_whole("links", links.ListOfSpace(at=self.space.ref, limit=200), self._show_links)
        self.rows.focus()

    # Loaded data

    def _show_files(self, snapshot: Snapshot[ListPage[File]]) -> None:
        self._files = snapshot
        self.redraw_list()

    def _show_links(self, snapshot: Snapshot[ListPage[Link]]) -> None:
        value = snapshot.value
        if value is None:
            return
        if value.next is not None or value.unreadable:
            self._use_counts = None  # With an incomplete list, show no number rather than a wrong number.
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
        facts = " · ".join(
            each
            for each in (self.LIST_ORDERS[self.list_order].lower(), total, self.rows.counts.summary if files else "")
            if each
        )
        self.show_location(f"{self.space.title} › Files", facts)

    # Drawing

    def _draw(self, file: File) -> Row:
        use_counts = "" if self._use_counts is None else str(self._use_counts[file.id] or "–")
        name = Content(file.name or "Unnamed")
        return Row(cells=(name, Content.styled(file_kind(file), "$octavo-muted"), format_size(file.size), use_counts))

    def _draw_use(self, location: Location) -> Row:
        page = location.page.id if location.page else ""
        same_page = [location_key(each) for each in self.uses.items if each.page is not None and each.page.id == page]
        index_label = f"{same_page.index(location_key(location)) + 1} of {len(same_page)}" if len(same_page) > 1 else ""
        return Row(
            text=page_title(location),
            right=Content.styled(index_label, "$octavo-muted"),
            second_line=self._page_trails.get(page) or self.space.title,
        )

    def _draw_details(self) -> None:
        file = self.rows.item
        about = self.query_one("#about", Static)
        if file is None:
            about.update("")
            return
        facts = (file_kind(file), format_dimensions(file), format_size(file.size))
        about.update(
            Content("\n").join(
                [Content.styled(file.name or "Unnamed", "bold"), join_texts(facts).stylize("$octavo-muted")]
            )
        )

    # Pages that use the selected file

    @on(LineList.Highlighted, "#files")
    def _on_file_selected(self) -> None:
        self.query_one("#detail").visible = self.rows.item is not None
        self._draw_details()
        self.follow("uses", None)
        self.uses.show(())
        self.query_one("#uses-title", Static).update("USED ON")
        if self._timer is not None:
            self._timer.stop()
        if self.rows.item is not None:
            self.uses.state.show_loading("the pages that use this file")
            self._timer = self.set_timer(SELECTION_DELAY, self._load_uses)

    def _load_uses(self) -> None:
        if (file := self.rows.item) is not None:
            op = links.ListToFile(at=self.space.ref, file_id=file.id, limit=200)
            self.subscriptions.follow_whole("uses", op, self._show_uses)

    def _show_uses(self, snapshot: Snapshot[ListPage[Location]]) -> None:
        if snapshot.value is not None:
            places = {location_key(each): each for each in snapshot.value.items}
            pages = {each.page.id for each in places.values() if each.page}
            self.uses.show(list(places.values()))
            self.uses.state.show_unreadable(snapshot.value.unreadable)
            times, on = plural(len(places), "time"), plural(len(pages), "page")
            self.query_one("#uses-title", Static).update(
                f"USED {times.upper()} ON {on.upper()}" if pages else "USED ON"
            )
        if snapshot.error is not None:
            self.uses.state.fail("Could not load the pages that use this file", str(snapshot.error))

    # Messages and actions

    @on(LineList.MoreRequested, "#files")
    def _load_more(self) -> None:
        self.shell.background(self.live.fetch_next_page(content.ListFiles(at=self.space.ref, limit=200)))

    @on(LineList.Opened, "#files")
    def _on_file_chosen(self) -> None:
        if self.rows.item is not None:
            self.focus_uses(self.rows.item)

    def focus_uses(self, file: File) -> None:
        """Focus the list of pages that use the file."""
        self.uses.focus()

    @on(LineList.Opened, "#uses")
    def _on_use_chosen(self) -> None:
        if self.uses.item is not None:
            open_location(self.shell, self.space.id, self.uses.item)
