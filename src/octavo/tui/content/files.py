"""Files of a space: what they are, how large, and where pages speak of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from octavo.api import content, links
from octavo.api.content import File, PageTree
from octavo.api.links import Link, Location
from octavo.api.operation import ListPage
from octavo.api.spaces import Space
from octavo.data.live import Snapshot
from octavo.tui.content.link_locations import go_to, key_of, title_of, trails
from octavo.tui.review.request_summary import ASK_AFTER
from octavo.tui.shell.exporting import save_file
from octavo.tui.shell.file_facts import kind_of, pixels_of, size_in_words
from octavo.tui.shell.view import View
from octavo.tui.terminal import clipboard
from octavo.tui.widgets.changing_text import ChangingText
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.line_list import Lines
from octavo.tui.widgets.picker import Picker
from octavo.tui.widgets.row_list import Column, Row, Rows
from octavo.tui.widgets.safe_text import joined
from octavo.tui.widgets.wording import plural

ORDERS = {"name": "by name", "size": "largest first", "kind": "by kind", "used": "least used first"}


class FilesScreen(View):
    """The files on the left, the places where the one under the cursor is used on the right."""

    VIEW = "content"
    CONTEXT = "files"
    HELP = (
        "Files of the space. Enter goes to the places where a file is used, and from there to the page. "
        "w saves a file to a folder, y copies its address, S sorts, / filters."
    )
    CSS_PATH = "files.tcss"
    KEYBAR: ClassVar[tuple[str, ...]] = ("list.open", "file.save", "file.copy", "file.sort", "list.filter")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("w", "save", "Save", tooltip="Save the file to a folder of this machine", id="file.save"),
        Binding("y", "copy", "Copy address", tooltip="Copy the address of the file", id="file.copy"),
        Binding("S", "sort", "Sort", tooltip="Choose the order of the files", id="file.sort"),
        Binding("escape", "up", "Back", show=False, tooltip="To the files, then back to the page", id="files.up"),
    ]  # fmt: skip

    def __init__(self, space: Space) -> None:
        super().__init__()
        self.space = space
        self._files: Snapshot[ListPage[File]] = Snapshot()
        self._used: Counter[str] | None = None
        """How often each file is used, once all links of the space are known."""
        self._trails: dict[str, str] = {}
        self._asking: Timer | None = None

    def body(self) -> Iterable[Widget]:
        files: Rows[File] = Rows(
            self._draw,
            key=lambda file: file.id,
            search=lambda file: f"{file.name} {kind_of(file)}",
            columns=(Column("NAME"), Column("KIND", 12, drop=2), Column("SIZE", 9, right=True, drop=1), Column("USED", 5, right=True)),
            empty="This space has no files.",
            hint="Pages bring them along: pictures, attachments.",
            id="files",
        )  # fmt: skip
        uses: Rows[Location] = Rows(
            self._draw_use,
            key=key_of,
            two_lines=True,
            empty="No page of this space uses it.",
            id="uses",
        )
        with Horizontal():
            with Vertical(classes="hairline", id="left"):
                yield files
            with Vertical(id="detail") as detail:
                detail.visible = False
                yield ChangingText("", id="about")
                yield ChangingText("USED ON", classes="pane-title", id="uses-title")
                yield uses

    @property
    def rows(self) -> Rows[File]:
        return self.query_one("#files", Rows)

    @property
    def uses(self) -> Rows[Location]:
        return self.query_one("#uses", Rows)

    def on_mount(self) -> None:
        self.rows.wait_for(f"the files of {self.space.title}")
        self.follow("tree", content.ListPages(at=self.space.ref), self._show_tree)
        self.follow_whole("files", content.ListFiles(at=self.space.ref, limit=200), self._show_files)
        self.follow_whole("links", links.ListOfSpace(at=self.space.ref, limit=200), self._show_links)
        self.rows.focus()

    # What arrives

    def _show_files(self, snapshot: Snapshot[ListPage[File]]) -> None:
        self._files = snapshot
        self._arrange()

    def _show_links(self, snapshot: Snapshot[ListPage[Link]]) -> None:
        value = snapshot.value
        if value is None:
            return
        if value.next is not None or value.unreadable:
            self._used = None  # a number that is too small would be worse than none
            return self._arrange()
        self._used = Counter()
        for link in value.items:
            if (target := link.target_reference) is not None and target.file is not None:
                self._used[target.file.id] += len(link.location_references)
        self._arrange()

    def _show_tree(self, snapshot: Snapshot[PageTree]) -> None:
        if snapshot.value is not None:
            self._trails = trails(snapshot.value)
            self.uses.redraw()

    def _arrange(self) -> None:
        snapshot, used = self._files, self._used or Counter()
        if snapshot.value is not None:
            orders = {
                "name": lambda file: (file.name.lower(),),
                "size": lambda file: (-file.size, file.name.lower()),
                "kind": lambda file: (kind_of(file).lower(), file.name.lower()),
                "used": lambda file: (used[file.id], file.name.lower()),
            }
            self.rows.show_page(snapshot.value, sorted(snapshot.value.items, key=orders[self._order]))
        if snapshot.error is not None:
            self.rows.fail("Files did not load", str(snapshot.error))
        self._draw_about()
        self._say_where()

    @on(Lines.Filtered, "#files")
    def _say_where(self) -> None:
        files = self._files.value.items if self._files.value else ()
        total = size_in_words(sum(file.size for file in files)) if files else ""
        facts = " · ".join(each for each in (ORDERS[self._order], total, self.rows.loaded if files else "") if each)
        self.status(f"{self.space.title} › Files", facts)

    @property
    def _order(self) -> str:
        kept = self.shell.session.state.recall("order of files")
        return kept if kept in ORDERS else "name"

    # Drawing

    def _draw(self, file: File) -> Row:
        used = "" if self._used is None else str(self._used[file.id] or "–")
        name = Content(file.name or "Unnamed")
        return Row(cells=(name, Content.styled(kind_of(file), "$octavo-muted"), size_in_words(file.size), used))

    def _draw_use(self, place: Location) -> Row:
        page = place.page.id if place.page else ""
        same = [key_of(each) for each in self.uses.items if each.page is not None and each.page.id == page]
        which = f"{same.index(key_of(place)) + 1} of {len(same)}" if len(same) > 1 else ""
        return Row(
            text=title_of(place),
            right=Content.styled(which, "$octavo-muted"),
            below=self._trails.get(page) or self.space.title,
        )

    def _draw_about(self) -> None:
        file = self.rows.item
        about = self.query_one("#about", Static)
        if file is None:
            about.update("")
            return
        facts = (kind_of(file), pixels_of(file), size_in_words(file.size))
        about.update(
            Content("\n").join(
                [
                    Content.styled(file.name or "Unnamed", "bold"),
                    joined(facts).stylize("$octavo-muted"),
                ]
            )
        )

    # Where the file under the cursor is used

    @on(Lines.Highlighted, "#files")
    def _other_file(self) -> None:
        self.query_one("#detail").visible = self.rows.item is not None
        self._draw_about()
        self.follow("uses", None)
        self.uses.show(())
        self.query_one("#uses-title", Static).update("USED ON")
        if self._asking is not None:
            self._asking.stop()
        if self.rows.item is not None:
            self.uses.wait_for("where it is used")
            self._asking = self.set_timer(ASK_AFTER, self._ask)

    def _ask(self) -> None:
        if (file := self.rows.item) is not None:
            op = links.ListToFile(at=self.space.ref, file_id=file.id, limit=200)
            self.follow_whole("uses", op, self._show_uses)

    def _show_uses(self, snapshot: Snapshot[ListPage[Location]]) -> None:
        if snapshot.value is not None:
            places = {key_of(each): each for each in snapshot.value.items}
            pages = {each.page.id for each in places.values() if each.page}
            self.uses.show(list(places.values()))
            self.uses.lacks(snapshot.value.unreadable)
            self.query_one("#uses-title", Static).update(
                f"USED ON {plural(len(pages), 'page')}" if pages else "USED ON"
            )
        if snapshot.error is not None:
            self.uses.fail("Where it is used did not load", str(snapshot.error))

    # Messages and actions

    @on(Lines.MoreWanted, "#files")
    def _more(self) -> None:
        self.background(self.live.more(content.ListFiles(at=self.space.ref, limit=200)))

    @on(Lines.Chosen, "#files")
    def _chosen(self) -> None:
        if self.rows.item is not None:
            self.open_file(self.rows.item)

    def open_file(self, file: File) -> None:
        """Go to the places where it is used."""
        self.uses.focus()

    @on(Lines.Chosen, "#uses")
    def _use_chosen(self) -> None:
        if self.uses.item is not None:
            go_to(self.shell, self.space.id, self.uses.item)

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action in ("save", "copy") and self.is_mounted:
            file = self.rows.item
            if file is None:
                return "There is no file here."
            if not file.download_url:
                return f"The server gives no address for {file.name or 'this file'}."
        return super().why_not(action, parameters)

    def action_save(self) -> None:
        if self.rows.item is not None:
            save_file(self.shell, self.rows.item)

    def action_copy(self) -> None:
        if self.rows.item is not None and self.rows.item.download_url:
            clipboard.copy(self.shell, self.rows.item.download_url, f"Copied the address of {self.rows.item.name}.")

    def action_sort(self) -> None:
        def chosen(order: str | None) -> None:
            if order is not None:
                self.shell.session.state.remember("order of files", order)
                self._arrange()

        choices = [Choice(key, words.capitalize()) for key, words in ORDERS.items()]
        self.app.push_screen(Picker("Sort files", choices, now=self._order), chosen)

    def go_up(self) -> bool:
        return self.climb(self.rows, when=self.focused is self.uses)
